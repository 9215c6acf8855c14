//! Shapes that are known before a program runs, against those that run: every operation, over
//! shapes, ints and lists of all sorts, right and wrong.
//!
//! - Code for certain shapes gives the values, gradients and errors of the program as it is
//!   written.
//! - A shape that is known is the one that comes out.
//! - What does not fit before the run does not fit when it runs.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives, Limits},
    ir::{
        ArrayOp, Element, FunctionBuilder, Kind, Mixed, Number1, Number2, Op, Param, Program,
        Real2, verify,
    },
    pass::Level,
    text::parse_program,
};
use num_complex::Complex;
use support::random::Rng;

type C = Complex<f64>;

/// Sums that are taken in another order.
const TOLERANCE: f64 = 1e-9;
/// Draws for each operation.
const DRAWN: usize = 60;

const REALS: Kind = Kind::Array(Element::Real);
const COMPLEXES: Kind = Kind::Array(Element::Complex);
const INTS: Kind = Kind::Array(Element::Int);

/// Every operation that takes or gives an array.
fn operations() -> Vec<Op> {
    let mut all: Vec<Op> = ArrayOp::ALL.iter().copied().map(Op::OnArrays).collect();
    all.extend([
        Op::Fill,
        Op::Sum,
        Op::Len,
        Op::Get,
        Op::Set,
        Op::Peek,
        Op::Put,
        Op::AddAt,
        Op::Accumulate,
    ]);
    all.extend([
        Op::Array,
        Op::Number1(Number1::Sin),
        Op::Number2(Number2::Mul),
        Op::Number2(Number2::Scale),
    ]);
    all.extend([Op::Real2(Real2::Max), Op::Mixed(Mixed::PowiReal), Op::Mixed(Mixed::Complex)]);
    all
}

/// The kinds of operands that an operation takes, at most four.
fn signatures(op: Op) -> Vec<(Vec<Kind>, Kind)> {
    let kinds = [REALS, COMPLEXES, INTS, Kind::Real, Kind::Complex, Kind::Int];
    let arities = match op {
        Op::OnArrays(op) => op.arity()..=op.arity(),
        _ => 1..=3,
    };
    let mut found = Vec::new();
    for n in arities {
        for mut code in 0..kinds.len().pow(n as u32) {
            let mut operands = Vec::new();
            for _ in 0..n {
                operands.push(kinds[code % kinds.len()].clone());
                code /= kinds.len();
            }
            let array = |k: &Kind| matches!(k, Kind::Array(_));
            match op.result(&operands) {
                Ok(Some(result)) if array(&result) || operands.iter().any(array) => {
                    found.push((operands, result));
                }
                _ => {}
            }
        }
    }
    found
}

fn shape(rng: &mut Rng, before: &[Vec<usize>]) -> Vec<usize> {
    match rng.integer(0, 5) {
        0 | 1 if !before.is_empty() => before[rng.between(0, before.len() - 1)].clone(),
        2 => vec![rng.integer(0, 3) as usize; 2],
        _ => (0..rng.integer(1, 3)).map(|_| rng.integer(0, 3) as usize).collect(),
    }
}

fn numbers(rng: &mut Rng, shape: &[usize]) -> Vec<f64> {
    (0..shape.iter().product()).map(|_| rng.signed()).collect()
}

fn argument(rng: &mut Rng, kind: &Kind, shapes: &mut Vec<Vec<usize>>) -> Datum<C> {
    let mut next = |rng: &mut Rng| {
        let shape = shape(rng, shapes);
        shapes.push(shape.clone());
        shape
    };
    match kind {
        Kind::Real => Datum::Real(rng.signed()),
        Kind::Complex => Datum::Complex(C::new(rng.signed(), rng.signed())),
        Kind::Int => Datum::Int(rng.integer(-1, 3)),
        Kind::Array(Element::Real) => {
            let shape = next(rng);
            let items = numbers(rng, &shape);
            Datum::reals_of(&shape, items).unwrap()
        }
        Kind::Array(Element::Complex) => {
            let shape = next(rng);
            of_shape(rng, kind, &shape)
        }
        _ => {
            let shape = match rng.integer(0, 3) {
                0 => vec![rng.integer(0, 2) as usize, rng.integer(0, 2) as usize],
                _ => vec![rng.integer(0, 3) as usize],
            };
            let n = shape.iter().product::<usize>();
            Datum::ints_of(&shape, (0..n).map(|_| rng.integer(-1, 3)).collect()).unwrap()
        }
    }
}

/// Random numbers of a shape.
fn of_shape(rng: &mut Rng, kind: &Kind, shape: &[usize]) -> Datum<C> {
    let items = numbers(rng, shape);
    match kind {
        Kind::Array(Element::Complex) => {
            Datum::complexes_of(shape, items.into_iter().map(|x| C::new(x, 0.5 - x)).collect())
                .unwrap()
        }
        _ => Datum::reals_of(shape, items).unwrap(),
    }
}

/// `f(args…) = op args…`, with the operands for which it says so written in the program; then the
/// lengths of the result.
fn program(
    op: Op,
    operands: &[Datum<C>],
    kinds: &[Kind],
    result: &Kind,
    fixed: &[bool],
    axes: Option<usize>,
) -> Program {
    let params = kinds.iter().enumerate().filter(|(k, _)| !fixed[*k]);
    let params = params.map(|(k, kind)| Param::new(format!("x{k}"), kind.clone())).collect();
    let all = match axes {
        Some(n) => Kind::tuple((0..n + 2).map(|_| Kind::Int)),
        None => result.clone(),
    };
    let mut b = FunctionBuilder::new("f", params, all.clone());
    let mut given = b.params().to_vec().into_iter();
    let mut args = Vec::new();
    for (k, datum) in operands.iter().enumerate() {
        args.push(match datum {
            Datum::Int(n) if fixed[k] => b.int(*n),
            Datum::Ints(list) if fixed[k] => {
                let items: Vec<_> = list.iter().map(|&n| b.int(n)).collect();
                b.inst(Op::Array, &items, INTS)
            }
            _ => given.next().unwrap(),
        });
    }
    let y = b.inst(op, &args, result.clone());
    let y = match axes {
        Some(n) => {
            let len = b.inst(Op::Len, &[y], Kind::Int);
            let shape = b.on_arrays(ArrayOp::Shape, &[y]);
            let mut fields = vec![len, b.inst(Op::Len, &[shape], Kind::Int)];
            for k in 0..n {
                let k = b.int(k as i64);
                fields.push(b.on_arrays(ArrayOp::Dim, &[y, k]));
            }
            b.tuple(&fields, all)
        }
        None => y,
    };
    b.ret(y);
    let mut program = Program::new();
    program.add(b.finish());
    assert!(verify(&program).is_empty(), "{op:?}");
    program
}

/// The numbers of a value, with the shapes of its arrays.
fn flat(d: &Datum<C>, shapes: &mut Vec<Vec<usize>>) -> Vec<C> {
    let real = |x: &f64| C::new(*x, 0.0);
    match d {
        Datum::Real(x) => vec![real(x)],
        Datum::Complex(z) => vec![*z],
        Datum::Int(n) => vec![C::new(*n as f64, 0.0)],
        Datum::Reals(xs) => {
            shapes.push(xs.shape().to_vec());
            xs.iter().map(real).collect()
        }
        Datum::Complexes(zs) => {
            shapes.push(zs.shape().to_vec());
            zs.to_vec()
        }
        Datum::Ints(ns) => {
            shapes.push(ns.shape().to_vec());
            ns.iter().map(|&n| C::new(n as f64, 0.0)).collect()
        }
        Datum::Tuple(fields) => fields.iter().flat_map(|f| flat(f, shapes)).collect(),
        _ => vec![],
    }
}

type Outcome = Result<Vec<Datum<C>>, String>;

#[track_caller]
fn same(a: &Outcome, b: &Outcome, what: &str) {
    match (a, b) {
        (Ok(a), Ok(b)) => {
            let (mut p, mut q) = (Vec::new(), Vec::new());
            let (x, y): (Vec<C>, Vec<C>) = (
                a.iter().flat_map(|d| flat(d, &mut p)).collect(),
                b.iter().flat_map(|d| flat(d, &mut q)).collect(),
            );
            assert_eq!(p, q, "{what}: shapes");
            assert_eq!(x.len(), y.len(), "{what}");
            let near = |x: f64, y: f64| {
                x == y || x.is_nan() && y.is_nan() || (x - y).abs() <= TOLERANCE * (1.0 + x.abs())
            };
            let close = x.iter().zip(&y).all(|(x, y)| near(x.re, y.re) && near(x.im, y.im));
            assert!(close, "{what}: {x:?} is not {y:?}");
        }
        (a, b) => {
            // A place that is wrong for `pad` is wrong for the `slice` of its pullback, which may
            // come first.
            let words = |e: &Outcome| e.as_ref().err().map(|e| e.replace("`slice`", "`pad`"));
            assert_eq!(words(a), words(b), "{what}: {a:?} and {b:?}");
        }
    }
}

fn value(program: &Program, level: Level, args: &[Datum<C>]) -> Outcome {
    let mut f = Derivatives::<C>::new(program, "f").map_err(|e| e.to_string())?.with_level(level);
    f.value(args).map(|y| vec![y]).map_err(|e| e.to_string())
}

fn gradient(program: &Program, level: Level, args: &[Datum<C>], y_bar: &Datum<C>) -> Outcome {
    let mut f = Derivatives::<C>::new(program, "f").map_err(|e| e.to_string())?.with_level(level);
    f.vjp(args, y_bar.clone()).map(|(y, bars)| [vec![y], bars].concat()).map_err(|e| e.to_string())
}

#[test]
fn what_is_known_of_shapes_is_what_comes_out() {
    let mut failed = Vec::new();
    for (number, op) in operations().into_iter().enumerate() {
        let result = std::panic::catch_unwind(|| one_operation(number, op));
        if result.is_err() {
            failed.push(op.name());
        }
    }
    assert!(failed.is_empty(), "{failed:?}");
}

fn one_operation(number: usize, op: Op) {
    let mut rng = Rng::new((number as u64).wrapping_mul(0x5851_f42d_4c95_7f2d));
    let signatures = signatures(op);
    assert!(!signatures.is_empty(), "{op:?}");
    let (mut ran, mut tried) = (0, 0);
    // Some take lists that are seldom drawn.
    while tried < DRAWN || ran == 0 && tried < 50 * DRAWN {
        tried += 1;
        let (kinds, result) = signatures[rng.between(0, signatures.len() - 1)].clone();
        let mut shapes = Vec::new();
        let mut operands: Vec<Datum<C>> =
            kinds.iter().map(|k| argument(&mut rng, k, &mut shapes)).collect();
        if op == Op::OnArrays(ArrayOp::Spectral) && tried % 2 == 0 {
            // Five shapes seldom fit by chance.
            let n = rng.between(0, 3);
            let shapes: [&[usize]; 5] = [&[n, n], &[n, n], &[n + 1, n], &[n], &[n]];
            operands = kinds
                .iter()
                .zip(shapes)
                .map(|(kind, shape)| of_shape(&mut rng, kind, shape))
                .collect();
        }
        if matches!(op, Op::OnArrays(ArrayOp::Permute | ArrayOp::Unpermute)) && tried % 2 == 0 {
            // A list is seldom a permutation by chance, of three axes least of all.
            let shape = [1, 2, 3].map(|most| rng.between(0, most));
            let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
            operands =
                vec![of_shape(&mut rng, &kinds[0], &shape), Datum::ints(orders[rng.between(0, 5)])];
        }
        let fixed: Vec<bool> = operands
            .iter()
            .map(|d| match d {
                Datum::Int(_) => rng.integer(0, 1) == 0,
                Datum::Ints(list) => list.is_vector() && rng.integer(0, 1) == 0,
                _ => false,
            })
            .collect();
        let what = format!("{op:?} {operands:?} {fixed:?}");
        let p = program(op, &operands, &kinds, &result, &fixed, None);
        let args: Vec<Datum<C>> =
            operands.iter().zip(&fixed).filter(|(_, f)| !**f).map(|(d, _)| d.clone()).collect();
        let written = value(&p, Level::None, &args);
        same(&written, &value(&p, Level::Strict, &args), &what);
        // What is found before the run.
        let known: Vec<Option<Vec<usize>>> = args
            .iter()
            .map(|d| {
                let mut shapes = Vec::new();
                flat(d, &mut shapes);
                shapes.pop()
            })
            .collect();
        let known: Vec<Option<&[usize]>> = known.iter().map(Option::as_deref).collect();
        if let Err(e) = Derivatives::<C>::new(&p, "f").and_then(|f| f.with_shapes(&known)) {
            let told = written.as_ref().unwrap_err();
            // Of a part whose place is not known the first place is tried.
            let words = |s: &str| s.split(" elements from").next().unwrap().to_owned();
            assert_eq!(words(told), words(&e.to_string()), "{what}");
        }
        let Ok(y) = written else { continue };
        ran += 1;
        let mut lengths = Vec::new();
        flat(&y[0], &mut lengths);
        if let Some(lengths) = lengths.pop() {
            let p = program(op, &operands, &kinds, &result, &fixed, Some(lengths.len()));
            let count = lengths.iter().product::<usize>();
            let all: Vec<Datum<C>> = [count, lengths.len()]
                .into_iter()
                .chain(lengths)
                .map(|n| Datum::Int(n as i64))
                .collect();
            same(&Ok(vec![Datum::Tuple(all)]), &value(&p, Level::Strict, &args), &what);
        }
        if result.is_differentiable() && args.iter().any(|d| d.zero_tangent().is_some()) {
            // The result itself: its squares have that derivative.
            let written = gradient(&p, Level::None, &args, &y[0]);
            same(&written, &gradient(&p, Level::Strict, &args, &y[0]), &what);
        }
    }
    assert!(ran > 0, "{op:?} never ran");
}

/// `f(args…)` with all ways to run it: as it is written, for any shapes, for those that it is
/// called with, with algebra.
fn agree(source: &str, args: &[Datum<C>]) -> Outcome {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
    let run = |level: Level, warm: bool| -> Outcome {
        let mut f =
            Derivatives::<C>::new(&program, "f").map_err(|e| e.to_string())?.with_level(level);
        if warm {
            // Other shapes before, so that code for any shapes runs.
            let other: Vec<Datum<C>> = args
                .iter()
                .map(|d| match d {
                    Datum::Reals(_) => Datum::reals_of(&[7, 7], vec![0.5; 49]).unwrap(),
                    other => other.clone(),
                })
                .collect();
            let _ = f.value_and_gradient(&other);
        }
        f.value_and_gradient(args)
            .map(|(y, bars)| [vec![Datum::Real(y)], bars].concat())
            .map_err(|e| e.to_string())
    };
    let written = run(Level::None, false);
    for (level, warm) in [(Level::Strict, false), (Level::Strict, true), (Level::Algebraic, false)]
    {
        same(&written, &run(level, warm), &format!("{source} {args:?} {level:?} {warm}"));
    }
    written
}

#[test]
fn indices_out_of_range_are_errors_in_code_for_certain_shapes_too() {
    const SOURCES: &[&str] = &[
        "sum(row(m, n) * row(m, 0))",
        "sum(row(m, n))",
        "sum(slice(m, 0, n, k))",
        "sum(slice(m, 1, n, k))",
        "sum(slice(a, 0, n, 3))",
        "sum(sin(slice(a, 0, n, 3)) * a)",
        "sum(slice(a, 0, n, len(a)))",
        "sum(gather(a, [n, k, n]))",
        "sum(gather(m, [k, n]))",
        "sum(gather(a * a, [n]))",
        "a[n] * a[k]",
        "m[n, k] * m[k, n]",
        "{ let mut b = a; b[n] = a[k] * a[0]; sum(b * b) }",
        "{ let mut b = m; b[n, k] += a[0]; sum(b * b) }",
        "sum(with_row(m, row(m, 0) * 2.0, n))",
        "sum(with_row(m, row(m, n), k))",
        "sum(dynamic_update_slice(slice(a, 0, 0, k), a, 0, n) * a)",
        "sum(dynamic_update_slice(a * a, a, 0, n))",
        "sum(dynamic_update_slice(m, m, n, 0))",
        "sum(pad(a, a, 0, n))",
        "sum(pad(slice(a, 0, 0, 1), a, 0, n) * a)",
        "sum(scatter([a[0], a[1]], a, [n, k]) * a)",
        "sum(reshape(m, [n, k]))",
        "sum(reshape(a, [n, -1]))",
        "sum(full(a[0], [n, k]))",
        "sum(concat(m, m * m, n))",
        "sum(cumsum(m, n))",
        "sum(flip(m, n) * m)",
        "sum(cumprod(m, n))",
        "sum(prod_axis(m, n))",
        "sum(linear_recurrence(m, m * m, n))",
        "sum(linear_recurrence(slice(m, 0, 0, k), m, n))",
        "sum(norm_axis(m, n) * var_axis(m, n))",
        "sum(maximum_axis(m, n))",
        "sum(gather_along(reshape(a, [1, -1]), [n], 1)) * a[0]",
        "sum(scatter_along([a[0], a[0]], [a, a], [n, k], 1) * [a, a])",
        "sum(sum_keep(m, n) * m)",
        "sum(softmax(m, n) * m)",
        "sum(insert_axis(m, n))",
        "sum(drop_axis(insert_axis(m, k), n))",
        "sum(permute(m, [n, k]))",
        "sum(tril(m, n) * triu(m, k))",
        "sum([a[0]; n])",
        "real(dim(m, n)) * a[0]",
        // Only the shape is asked for, of what is not there.
        "real(len(slice(a, 0, n, 2))) * a[0]",
        "real(dim(row(m, n), 0)) * a[0]",
        "real(len(sin(slice(a, 0, n, 2)) * 2.0)) * a[0]",
        "{ let s = slice(a, 0, n, 2); let mut y = a[0]; for i in 0..len(s) { y = y * a[i]; } y }",
        "{ let mut y = a[0]; let s = slice(a, 0, n, 2); for i in 0..2 { y += sum(broadcast_to(y, s)); } y }",
        "{ let mut y = a[0]; for i in 0..n { y += sum(row(m, i)); } y }",
        "{ let mut y = a[0]; for i in 0..k { y += sum(slice(a, 0, n, 2) * y); } y }",
        "{ let mut y = a[0]; for i in 0..k { y += sum(broadcast_to(y, slice(a, 0, n, 2))); } y }",
        "{ let mut b = a; for i in 0..n { b = dynamic_update_slice(slice(b, 0, k, 1), b, 0, i); } sum(b * b) }",
        "{ let mut b = m; for i in 0..n { b = with_row(b, row(b, k) * row(b, i), i); } sum(b) }",
    ];
    let mut rng = Rng::new(17);
    let mut failed = Vec::new();
    for body in SOURCES {
        let source = format!("fn f(a: array, m: array, n: int, k: int) {{ {body} }}");
        let (mut right, mut wrong) = (0, 0);
        for n in -1..5 {
            let (len, rows, columns) = (rng.integer(1, 4), rng.integer(1, 3), rng.integer(1, 3));
            for (k, len) in [(rng.integer(-1, 3), len), (1, 3), (2, 3)] {
                let shape = [rows as usize, columns as usize];
                let a =
                    Datum::reals_of(&[len as usize], numbers(&mut rng, &[len as usize])).unwrap();
                let m = Datum::reals_of(&shape, numbers(&mut rng, &shape)).unwrap();
                let args = [a, m, Datum::Int(n), Datum::Int(k)];
                match std::panic::catch_unwind(|| agree(&source, &args)) {
                    Ok(Ok(_)) => right += 1,
                    Ok(Err(_)) => wrong += 1,
                    Err(_) => failed.push(format!("{body} {args:?}")),
                }
            }
        }
        if !body.contains("tril")
            && (right == 0 || wrong == 0)
            && !failed.iter().any(|f| f.starts_with(body))
        {
            failed.push(format!("{body}: {right} right, {wrong} wrong"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

fn reals(items: &[f64]) -> Datum<C> {
    Datum::reals(items.iter().copied())
}

#[test]
fn indices_of_any_shape_are_counted() {
    let ks = Datum::ints_of(&[1, 3], vec![0, 1, 2]).unwrap();
    let args = [reals(&[1.0, 2.0, 3.0]), ks];
    let source = "fn f(a: array, ks: array<int>) { let m = gather(a, ks); real(dim(m, 0)) * m[2] }";
    assert_eq!(agree(source, &args), Ok(vec![Datum::Real(9.0), reals(&[0.0, 0.0, 3.0])]));
    let source = "fn f(a: array, ks: array<int>) { sum(gather(a, ks)) }";
    assert_eq!(agree(source, &args), Ok(vec![Datum::Real(6.0), reals(&[1.0, 1.0, 1.0])]));
    let source = "fn f(a: array, ks: array<int>) { sum(scatter(a * a, [0.0; 4], ks)) }";
    assert_eq!(agree(source, &args), Ok(vec![Datum::Real(14.0), reals(&[2.0, 4.0, 6.0])]));
}

#[test]
fn more_elements_than_there_may_be_are_an_error_where_they_would_be_made() {
    let two = [Datum::Real(2.0)];
    for n in ["4294967296", "4294967297", "20000", "3037000500"] {
        let source = format!("fn f(x) {{ x * real(len(eye({n}))) }}");
        let error = agree(&source, &two).unwrap_err();
        assert!(error.contains("100000000"), "{error}");
    }
    for lengths in
        ["[0, 4294967296, 4294967296]", "[4294967296, 4294967296, 0]", "[9223372036854775807, 2]"]
    {
        let error = agree(&format!("fn f(x) {{ sum(full(x, {lengths})) }}"), &two).unwrap_err();
        assert!(error.contains("100000000"), "{error}");
        let source = format!("fn f(x, n: int) {{ sum(reshape([x; n], {lengths})) }}");
        let error = agree(&source, &[Datum::Real(2.0), Datum::Int(0)]).unwrap_err();
        assert!(error.contains("`reshape`: the shape"), "{error}");
    }
    // Three factors whose lengths multiply to 2^66.
    let source = "fn f(x) {
        let a = full(x, [4194304]);
        let (b, c) = (insert_axis(insert_axis(a, 1), 2), insert_axis(a, 1));
        sum(b * c * a)
    }";
    let error = agree(source, &two).unwrap_err();
    assert!(error.contains("100000000"), "{error}");
    for op in [
        "sum(step(insert_axis(a, 1), a))",
        "sum(insert_axis(a, 1) * a)",
        "sum(lstsq(insert_axis(a, 0), insert_axis(a, 0)))",
    ] {
        let error =
            agree(&format!("fn f(x) {{ let a = full(x, [20000]); {op} }}"), &two).unwrap_err();
        assert!(error.contains("100000000"), "{op}: {error}");
    }
}

#[test]
fn the_limit_of_elements_holds_in_code_for_certain_shapes() {
    let program = parse_program("fn f(x) { x * real(len(eye(20))) }").unwrap();
    let limits = |array: usize| Limits::new().with_array(array);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    assert_eq!(f.value(&[Datum::Real(2.0)]), Ok(Datum::Real(800.0)));
    f = f.with_limits(limits(399));
    let error = f.value(&[Datum::Real(2.0)]).unwrap_err().to_string();
    assert!(error.contains("at most 399 elements"), "{error}");
    f = f.with_limits(limits(400));
    assert_eq!(f.value(&[Datum::Real(2.0)]), Ok(Datum::Real(800.0)));
}

#[test]
fn what_never_runs_fails_nothing() {
    for unit in
        ["eye(4294967296)", "eye(4294967297)", "eye(20000)", "full(1.0, [9223372036854775807, 4])"]
    {
        let source = format!(
            "fn f(x, n: int) {{ let mut s = x; for i in 0..n {{ s += sum(broadcast_to(x, {unit})); }} s }}"
        );
        let never = agree(&source, &[Datum::Real(2.0), Datum::Int(0)]);
        assert_eq!(never, Ok(vec![Datum::Real(2.0), Datum::Real(1.0)]), "{unit}");
        let error = agree(&source, &[Datum::Real(2.0), Datum::Int(1)]).unwrap_err();
        assert!(error.contains("100000000"), "{error}");
    }
    // Zeros that are made once for a shape are not made beyond the limit either.
    let source = "fn f(x, n: int) { let mut s = x; for i in 0..n { s += sum(broadcast_to(x, eye(20))); } s }";
    let program = parse_program(source).unwrap();
    let limits = Limits::new().with_array(100);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_limits(limits);
    assert_eq!(f.value(&[Datum::Real(2.0), Datum::Int(0)]), Ok(Datum::Real(2.0)));
}
