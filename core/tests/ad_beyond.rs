//! Elements beyond the end of an array, and cotangents that are shorter or longer than theirs.
//!
//! `peek` reads zeros beyond the end, `put`, `add_at` and `accumulate` extend an array with zeros:
//! programs have no words for them, derivatives are made of them, and are differentiated again. All
//! are linear, so
//!
//! - a slope is the change for a step of any size,
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`,
//!
//! wherever the arrays come from and whatever is made of the result.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    entity::Value,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir::{ArrayOp, Element, FunctionBuilder, Kind, Number1, Number2, Op, Param, Program, verify},
    pass::Level,
    text::parse_program,
};

const REALS: Kind = Kind::Array(Element::Real);
/// Sums of a few small numbers.
const TOLERANCE: f64 = 1e-12;

/// `f(x, xs, i)`, as the closure writes it.
fn program(write: impl Fn(&mut FunctionBuilder, Value, Value, Value) -> Value) -> Program {
    let params =
        vec![Param::new("x", Kind::Real), Param::new("xs", REALS), Param::new("i", Kind::Int)];
    let mut b = FunctionBuilder::new("f", params, Kind::Real);
    let (x, xs, i) = (b.param(0), b.param(1), b.param(2));
    let y = write(&mut b, x, xs, i);
    b.ret(y);
    let mut program = Program::new();
    program.add(b.finish());
    assert!(verify(&program).is_empty(), "{:?}", verify(&program));
    program
}

/// An array made of `x` and `xs`.
type Source = (&'static str, fn(&mut FunctionBuilder, Value, Value) -> Value);
const SOURCES: &[Source] = &[
    ("fill 2", |b, x, _| {
        let n = b.int(2);
        b.inst(Op::Fill, &[x, n], REALS)
    }),
    ("fill 0", |b, x, _| {
        let n = b.int(0);
        b.inst(Op::Fill, &[x, n], REALS)
    }),
    ("array", |b, x, _| {
        let twice = b.number2(Number2::Add, x, x);
        b.inst(Op::Array, &[x, twice, x], REALS)
    }),
    ("parameter", |_, _, xs| xs),
    ("product", |b, x, xs| b.lifted(Op::Number2(Number2::Mul), &[xs, x], REALS)),
    ("broadcast_to", |b, x, xs| b.on_arrays(ArrayOp::BroadcastTo, &[x, xs])),
    ("slice", |b, _, xs| {
        let (zero, one) = (b.int(0), b.int(1));
        b.on_arrays(ArrayOp::Slice, &[xs, zero, zero, one])
    }),
    ("accumulate", |b, x, xs| {
        let n = b.int(3);
        let fill = b.inst(Op::Fill, &[x, n], REALS);
        b.inst(Op::Accumulate, &[xs, fill], REALS)
    }),
];

/// Value that is read or written at a place.
type Change = (&'static str, fn(&mut FunctionBuilder, Value, Value, Value, Value) -> Value);
const CHANGES: &[Change] = &[
    ("put", |b, xs, x, i, _| b.inst(Op::Put, &[xs, i, x], REALS)),
    ("add_at", |b, xs, x, i, _| b.inst(Op::AddAt, &[xs, i, x], REALS)),
    ("peek", |b, xs, x, i, _| {
        let y = b.inst(Op::Peek, &[xs, i], Kind::Real);
        b.inst(Op::Array, &[y, x, y], REALS)
    }),
    ("peek alone", |b, xs, _, i, _| {
        let y = b.inst(Op::Peek, &[xs, i], Kind::Real);
        b.inst(Op::Array, &[y], REALS)
    }),
    ("accumulate", |b, xs, _, _, other| b.inst(Op::Accumulate, &[xs, other], REALS)),
    ("accumulate back", |b, xs, _, _, other| b.inst(Op::Accumulate, &[other, xs], REALS)),
    ("put and put", |b, xs, x, i, _| {
        let five = b.int(5);
        let ys = b.inst(Op::Put, &[xs, five, x], REALS);
        b.inst(Op::Put, &[ys, i, x], REALS)
    }),
    ("put and sum", |b, xs, x, i, _| {
        let ys = b.inst(Op::Put, &[xs, i, x], REALS);
        b.inst(Op::Accumulate, &[ys, xs], REALS)
    }),
];

/// A number made of an array, linear in it.
type Reading = (&'static str, fn(&mut FunctionBuilder, Value) -> Value);
const READINGS: &[Reading] = &[
    ("sum", |b, ys| b.inst(Op::Sum, &[ys], Kind::Real)),
    ("sum of an element-by-element product", |b, ys| {
        let two = b.real(2.0);
        let ys = b.lifted(Op::Number2(Number2::Mul), &[ys, two], REALS);
        let ys = b.lifted(Op::Number1(Number1::Neg), &[ys], REALS);
        b.inst(Op::Sum, &[ys], Kind::Real)
    }),
    ("elements", |b, ys| {
        let [zero, one, five] = [0, 1, 5].map(|k| b.int(k));
        let parts = [zero, one, five].map(|k| b.inst(Op::Peek, &[ys, k], Kind::Real));
        let y = b.number2(Number2::Add, parts[0], parts[1]);
        let y = b.number2(Number2::Add, y, parts[1]);
        b.number2(Number2::Add, y, parts[2])
    }),
    ("with ramp", |b, ys| {
        let zero = b.int(0);
        let sums = b.on_arrays(ArrayOp::Cumsum, &[ys, zero]);
        b.inst(Op::Sum, &[sums], Kind::Real)
    }),
];

/// All of them together, at places within and beyond.
fn each(mut check: impl FnMut(&str, &Program, &[Datum<f64>])) {
    for (from, source) in SOURCES {
        for (how, change) in CHANGES {
            for (to, reading) in READINGS {
                let p = program(|b, x, xs, i| {
                    let made = source(b, x, xs);
                    let ys = change(b, made, x, i, xs);
                    reading(b, ys)
                });
                for i in [0, 1, 2, 5, 7] {
                    let args = [Datum::Real(0.7), Datum::reals([0.3, -1.1]), Datum::Int(i)];
                    check(&format!("{from}, {how}, {to} at {i}"), &p, &args);
                }
            }
        }
    }
}

fn value(f: &mut Derivatives<'_, f64>, x: f64, xs: [f64; 2], i: &Datum<f64>) -> f64 {
    *f.value(&[Datum::Real(x), Datum::reals(xs), i.clone()]).unwrap().real().unwrap()
}

#[test]
fn reading_and_writing_beyond_the_end_is_transposed_exactly() {
    let mut failed = Vec::new();
    each(|what, program, args| {
        for level in [Level::None, Level::Strict] {
            let mut f = Derivatives::<f64>::new(program, "f").unwrap().with_level(level);
            // Every function here is linear, or a product of two numbers each of which is changed
            // alone.
            let base = value(&mut f, 0.7, [0.3, -1.1], &args[2]);
            let slopes = [
                value(&mut f, 1.7, [0.3, -1.1], &args[2]) - base,
                value(&mut f, 0.7, [1.3, -1.1], &args[2]) - base,
                value(&mut f, 0.7, [0.3, -0.1], &args[2]) - base,
            ];
            let gradient = match f.gradient(args) {
                Ok(gradient) => gradient,
                Err(e) => return failed.push(format!("{what} {level:?}: {e}")),
            };
            let dots = [Datum::Real(0.4), Datum::reals([-0.9, 0.6])];
            let (_, dot) = f.jvp(args, &dots).unwrap();
            let expected = Datum::<f64>::reals([slopes[1], slopes[2]]);
            let near = |a: f64, b: f64| (a - b).abs() <= TOLERANCE * (1.0 + a.abs());
            let (Datum::Reals(xs_bar), Datum::Reals(all)) = (&gradient[1], &expected) else {
                panic!()
            };
            let right = near(*gradient[0].real().unwrap(), slopes[0])
                && xs_bar.len() == 2
                && xs_bar.iter().zip(all.iter()).all(|(a, b)| near(*a, *b))
                && near(*dot.real().unwrap(), 0.4 * slopes[0] - 0.9 * slopes[1] + 0.6 * slopes[2]);
            if !right {
                failed.push(format!("{what} {level:?}: {gradient:?} and {dot:?}, not {slopes:?}"));
            }
        }
    });
    assert!(failed.is_empty(), "{} wrong: {:#?}", failed.len(), &failed[..failed.len().min(12)]);
}

#[test]
fn derivatives_of_derivatives_beyond_the_end_are_zero_where_nothing_bends() {
    // The gradient by reverse mode, differentiated by reverse mode again.
    let (mut failed, mut number) = (Vec::new(), 0);
    each(|what, program, args| {
        // A part of all is enough: what is new is that rules are differentiated.
        number += 1;
        if number % 7 != 0 {
            return;
        }
        let mut program = program.clone();
        let f = program.lookup("f").unwrap();
        // The square of it bends.
        let mut b = FunctionBuilder::new("square", program.functions[f].params.clone(), Kind::Real);
        let params = b.params().to_vec();
        let y = b.inst(Op::Call(f), &params, Kind::Real);
        let y = b.number2(Number2::Mul, y, y);
        b.ret(y);
        let square = program.add(b.finish());
        let g = adjoint::gradient(&mut program, square).unwrap();
        let mut b = FunctionBuilder::new("along", program.functions[f].params.clone(), Kind::Real);
        let params = b.params().to_vec();
        let result = program.functions[g].result.clone();
        let all = b.inst(Op::Call(g), &params, result);
        let slope = b.field(all, 1);
        b.ret(slope);
        program.add(b.finish());
        let along = std::cell::RefCell::new(Derivatives::<f64>::new(&program, "along").unwrap());
        let slope_of = |x: f64, xs: [f64; 2]| {
            let args = [Datum::Real(x), Datum::reals(xs), args[2].clone()];
            *along.borrow_mut().value(&args).unwrap().real().unwrap()
        };
        let row = along.borrow_mut().gradient(args);
        let row = match row {
            Ok(row) => row,
            Err(e) => return failed.push(format!("{what}: {e}")),
        };
        // A polynomial of degree three at most in each number: symmetric differences of two steps
        // are exact.
        let slope =
            |at: &dyn Fn(f64) -> f64| (8.0 * (at(0.5) - at(-0.5)) - (at(1.0) - at(-1.0))) / 6.0;
        let expected = [
            slope(&|h| slope_of(0.7 + h, [0.3, -1.1])),
            slope(&|h| slope_of(0.7, [0.3 + h, -1.1])),
            slope(&|h| slope_of(0.7, [0.3, -1.1 + h])),
        ];
        let Datum::Reals(xs_bar) = &row[1] else { panic!() };
        let given = [*row[0].real().unwrap(), xs_bar[0], xs_bar[1]];
        let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + a.abs());
        if !given.iter().zip(&expected).all(|(a, b)| near(*a, *b)) {
            failed.push(format!("{what}: {given:?}, not {expected:?}"));
        }
    });
    assert!(failed.is_empty(), "{} wrong: {:#?}", failed.len(), &failed[..failed.len().min(12)]);
}

#[test]
fn what_is_put_beyond_the_end_of_an_array_is_none_of_its_elements() {
    let at = [Datum::Real(0.7), Datum::reals([0.3, -1.1]), Datum::Int(5)];
    let slope = |write: fn(&mut FunctionBuilder, Value, Value, Value) -> Value| {
        let p = program(write);
        let gradient = Derivatives::<f64>::new(&p, "f").unwrap().gradient(&at).unwrap();
        *gradient[0].real().unwrap()
    };
    let put = slope(|b, x, _, i| {
        let n = b.int(2);
        let xs = b.inst(Op::Fill, &[x, n], REALS);
        let ys = b.inst(Op::Put, &[xs, i, x], REALS);
        b.inst(Op::Sum, &[ys], Kind::Real)
    });
    assert_eq!(put, 3.0);
    let peek = slope(|b, x, _, i| {
        let n = b.int(2);
        let xs = b.inst(Op::Fill, &[x, n], REALS);
        let y = b.inst(Op::Peek, &[xs, i], Kind::Real);
        b.number2(Number2::Add, y, x)
    });
    assert_eq!(peek, 1.0);
}

/// The gradient of a function with a rule of its own, by that and by its body.
fn with_and_without(rule: &str, body: &str, f: &str, args: &[Datum<f64>]) {
    let run = |source: &str| {
        let program = parse_program(source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        let gradient = d.gradient(args).unwrap();
        let dots: Vec<Datum<f64>> = gradient.clone();
        (gradient, d.jvp(args, &dots).unwrap())
    };
    let by_rule = run(&format!("rule g({body}\n{rule}\n{f}"));
    let plain = run(&format!("fn g({body}\n{f}"));
    assert_eq!(by_rule, plain, "{f}");
}

#[test]
fn rules_get_cotangents_and_tangents_with_all_elements() {
    let a = [Datum::reals([1.0, 2.0, 3.0])];
    let square = "a: array) { a * a }";
    for rule in
        ["pullback(a, y, y_bar) { 2.0 * a * y_bar }", "pushforward(a, a_dot) { 2.0 * a * a_dot }"]
    {
        for f in [
            "fn f(a: array) { g(a)[0] }",
            "fn f(a: array) { g(a)[1] }",
            "fn f(a: array) { g(g(a))[2] * g(a)[0] }",
            "fn f(a: array) { let mut b = [0.0; 3]; b[1] = a[1] * a[0]; sum(g(b)) }",
            "fn f(a: array) { let mut s = 0.0; for i in 0..2 { s += g(a)[i] * a[2]; } s }",
        ] {
            with_and_without(rule, square, f, &a);
        }
    }
    let m = [Datum::reals_of(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()];
    for rule in
        ["pullback(a, y, y_bar) { 2.0 * a * y_bar }", "pushforward(a, a_dot) { 2.0 * a * a_dot }"]
    {
        with_and_without(rule, square, "fn f(m: array) { g(m)[0, 1] + g(m)[1, 0] * m[0, 0] }", &m);
    }
    // Of a tuple, of which one field is not used and one in part.
    let pair = "a: array, b) { (b * a, a * a, b) }";
    with_and_without(
        "pullback(a, b, y, y_bar) { (y_bar.0 * b + 2.0 * a * y_bar.1, sum(a * y_bar.0) + y_bar.2) }",
        pair,
        "fn f(a: array) { let (p, q, r) = g(a, a[2]); q[1] * r }",
        &a,
    );
}

#[test]
fn what_runs_agrees_with_what_is_written() {
    // Values alone, so that the laws above are about what the operations do.
    let run = |op: Op, xs: &[f64], i: i64| {
        let mut b = FunctionBuilder::new(
            "f",
            vec![Param::new("xs", REALS), Param::new("i", Kind::Int)],
            REALS,
        );
        let (xs_value, i_value, seven) = (b.param(0), b.param(1), b.real(7.0));
        let y = match op {
            Op::Peek => {
                let y = b.inst(op, &[xs_value, i_value], Kind::Real);
                b.inst(Op::Array, &[y], REALS)
            }
            _ => b.inst(op, &[xs_value, i_value, seven], REALS),
        };
        b.ret(y);
        let mut program = Program::new();
        let f = program.add(b.finish());
        let code = Bytecode::compile(&program, f).unwrap();
        let args = [Datum::<f64>::reals(xs.iter().copied()), Datum::Int(i)];
        code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args)
    };
    assert_eq!(run(Op::Peek, &[1.0, 2.0], 1), Ok(Datum::reals([2.0])));
    assert_eq!(run(Op::Peek, &[1.0, 2.0], 2), Ok(Datum::reals([0.0])));
    assert_eq!(run(Op::Put, &[1.0, 2.0], 3), Ok(Datum::reals([1.0, 2.0, 0.0, 7.0])));
    assert_eq!(run(Op::AddAt, &[1.0, 2.0], 1), Ok(Datum::reals([1.0, 9.0])));
    assert_eq!(run(Op::AddAt, &[], 1), Ok(Datum::reals([0.0, 7.0])));
    for op in [Op::Peek, Op::Put, Op::AddAt] {
        assert!(run(op, &[1.0, 2.0], -1).is_err(), "{op:?}");
    }
}
