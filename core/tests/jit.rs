//! Machine code and bytecode: the same bits, the same errors.

#![cfg(feature = "jit")]
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Ordering;

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost, RunError},
    ir::Program,
    scalar::{Ordered, Real, Scalar},
    text::parse_program,
    trace::{Traced, trace_at},
};
use num_complex::Complex;
use num_dual::Dual64;

use crate::programs::{Dice, Generator};

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{}\n{source}", e[0]))
}

fn compiled(source: &str) -> (Bytecode, Bytecode) {
    let program = program(source);
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let jit = code.clone().jit().unwrap();
    (code, jit)
}

/// A value whose numbers are their bits; all NaN are one.
fn bits(x: f64) -> u64 {
    if x.is_nan() { f64::NAN.to_bits() } else { x.to_bits() }
}

fn leaves(datum: &Datum<f64>, out: &mut Vec<u64>) {
    match datum {
        Datum::Real(x) | Datum::Complex(x) => out.push(bits(*x)),
        Datum::Int(n) => out.push(n.cast_unsigned()),
        Datum::Bool(b) => out.push(u64::from(*b)),
        Datum::Reals(xs) | Datum::Complexes(xs) => out.extend(xs.iter().map(|x| bits(*x))),
        Datum::Ints(ns) => out.extend(ns.iter().map(|n| n.cast_unsigned())),
        Datum::Tuple(fields) => fields.iter().for_each(|field| leaves(field, out)),
        Datum::Handle(h) => out.push(u64::from(*h)),
    }
}

fn all_bits(data: &[Datum<f64>]) -> Vec<u64> {
    let mut out = vec![];
    data.iter().for_each(|datum| leaves(datum, &mut out));
    out
}

fn run(code: &Bytecode, limits: &Limits, args: &[Datum<f64>]) -> Result<Vec<u64>, RunError> {
    code.call(&mut Machine::new(), &NoHost, limits, args).map(|y| all_bits(&[y]))
}

/// Both ways give the same, which is returned.
#[track_caller]
fn same(source: &str, args: &[Datum<f64>]) -> Result<Vec<u64>, RunError> {
    let (code, jit) = compiled(source);
    assert!(jit.is_jit() && !code.is_jit(), "nothing to compare: {source}");
    let (a, b) = (run(&code, &Limits::default(), args), run(&jit, &Limits::default(), args));
    assert_eq!(a, b, "{source}\n{args:?}");
    b
}

/// The value, the gradient, along a direction, of a cotangent, the Hessian along a direction, at
/// points made at random.
#[track_caller]
fn same_derivatives(source: &str, seed: u64) {
    let program = program(source);
    let mut dice = Dice::new(seed + 1_000_000);
    let mut point = |size: f64| reals(&[(); 3].map(|()| dice.between(-size, size)));
    let mut code = Derivatives::<f64>::new(&program, "f").unwrap();
    let mut jit = Derivatives::<f64>::new(&program, "f").unwrap().with_jit();
    // Twice: the second time tapes have their room.
    for _ in 0..2 {
        let (x, dots) = (point(1.5), point(1.0));
        let [a, b] = [&mut code, &mut jit].map(|d| {
            let mut found = vec![d.value(&x).unwrap()];
            let (y, gradient) = d.value_and_gradient(&x).unwrap();
            found.push(Datum::Real(y));
            found.extend(gradient);
            let (y, dot) = d.jvp(&x, &dots).unwrap();
            found.extend([y, dot]);
            found.extend(d.pullback(&x).unwrap().call(Datum::Real(0.7)).unwrap());
            found.extend(d.hvp(&x, &dots).unwrap().1);
            all_bits(&found)
        });
        assert_eq!(a, b, "{seed}\n{source}");
    }
}

fn reals(xs: &[f64]) -> Vec<Datum<f64>> {
    xs.iter().map(|&x| Datum::Real(x)).collect()
}

#[test]
fn random_programs_and_their_derivatives_have_the_same_bits() {
    let mut any = 0;
    for seed in 0..60 {
        let source = Generator::real(seed);
        same_derivatives(&source, seed);
        any += usize::from(compiled(&source).1.is_jit());
    }
    assert!(any > 45, "machine code for {any} programs only");
}

#[test]
fn random_programs_on_complex_numbers_have_the_same_bits() {
    for seed in 0..60 {
        let source = Generator::complex(seed);
        let program = program(&source);
        let mut dice = Dice::new(seed + 1_000_000);
        let mut number =
            || Datum::Complex(Complex::new(dice.between(-1.5, 1.5), dice.between(-1.5, 1.5)));
        let x = [number(), number(), number()];
        let mut code = Derivatives::<Complex<f64>>::new(&program, "loss").unwrap();
        let mut jit = Derivatives::<Complex<f64>>::new(&program, "loss").unwrap().with_jit();
        let (a, b) = (code.value_and_gradient(&x).unwrap(), jit.value_and_gradient(&x).unwrap());
        assert_eq!(a, b, "{seed}\n{source}");
    }
}

/// Numbers at which functions are special, and others.
const NUMBERS: [f64; 14] = [
    0.0,
    -0.0,
    0.5,
    -0.5,
    1.0,
    -1.0,
    2.5,
    -3.5,
    1e-310,
    1e300,
    -1e300,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

#[test]
fn operations_on_real_numbers_have_the_same_bits() {
    let one = "neg recip sqrt cbrt exp exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh \
               atanh abs sign floor ceil round trunc detach erf erfc lgamma digamma sigmoid softplus";
    let two = "x + y; x - y; x * y; x / y; pow(x, y); scale(x, y); atan2(x, y); hypot(x, y); min(x, y); max(x, y); rem(x, y); logaddexp(x, y); polygamma(n, x); cmp(i, 1) * x; cmp(i, 2); cmp(3, i); \
               (x + y) + a; (x + y) - a; (x + y) * a; (x - y) + a; (x - y) - a; (x - y) * a; x * y + a; x * y - a; x * y * a; \
               a + (x + y); a - (x + y); a * (x + y); a + (x - y); a - (x - y); a * (x - y); a + x * y; a - x * y; a * (x * y)";
    let call = |name| if name == "neg" { "-x".to_owned() } else { format!("{name}(x)") };
    let formulas =
        one.split_whitespace().map(call).chain(two.split(';').map(|f| f.trim().to_owned()));
    let comparisons = ["<", "<=", ">", ">=", "==", "!="];
    let compared = comparisons.iter().map(|op| format!("(if x {op} y {{ 1.5 }} else {{ -2.5 }})"));
    let kept = comparisons.iter().map(|op| format!("select(x {op} y, x, y)"));
    for formula in formulas.chain(compared).chain(kept) {
        // `a` takes part in the loop, so that nothing is done before it.
        let source = format!(
            "fn f(x0, y0, a0, n: int) {{ let mut x = x0; let mut y = y0; let mut a = a0; let mut s = 0.0;
               for i in 0..n {{ s = {formula}; a = a + 0.25; x = x + 0.0; y = y * 1.0; }} s }}"
        );
        let (code, jit) = compiled(&source);
        assert!(jit.is_jit());
        for x in NUMBERS {
            for y in NUMBERS {
                let args = [x, y, 0.375].map(Datum::Real).into_iter().chain([Datum::Int(3)]);
                let args: Vec<_> = args.collect();
                let (a, b) =
                    (run(&code, &Limits::default(), &args), run(&jit, &Limits::default(), &args));
                assert_eq!(a, b, "{formula} at {x}, {y}");
            }
        }
    }
}

#[test]
fn operations_on_complex_numbers_have_the_same_bits() {
    let bits = |datum: &Datum<Complex<f64>>| match datum {
        Datum::Tuple(fields) => match &fields[..] {
            [Datum::Complex(z), Datum::Real(x)] => [bits(z.re), bits(z.im), bits(*x)],
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    let one = "recip sqrt cbrt exp exp_m1 ln ln_1p log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh conj";
    let two = "-x; x + y; x - y; x * y; x / y; pow(x, y); scale(x, y); powi(x, n - 6); complex(re(y), im(x)); select(re(x) < im(y), x, y); \
               complex(abs2(x), abs(y)); complex(arg(x), 2); re(x) * y";
    let formulas = one.split_whitespace().map(|name| format!("{name}(x)"));
    for formula in formulas.chain(two.split(';').map(|f| f.trim().to_owned())) {
        let source = format!(
            "fn f(x0: complex, y0: complex, n: int) {{ let mut x = x0; let mut y = y0; let mut s = x0; let mut t = 0.0;
               for i in 0..n {{ s = {formula}; t = t + 0.25 + re(s); x = x * 1.5; y = y + complex(0, 0.5); }} (s, t) }}"
        );
        let (code, jit) = compiled(&source);
        assert!(jit.is_jit());
        for a in NUMBERS {
            for b in NUMBERS {
                let args = [
                    Datum::Complex(Complex::new(a, b)),
                    Datum::Complex(Complex::new(b, 0.7)),
                    Datum::Int(3),
                ];
                let [x, y] = [&code, &jit].map(|code| {
                    let machine = &mut Machine::<Complex<f64>>::new();
                    bits(&code.call(machine, &NoHost, &Limits::default(), &args).unwrap())
                });
                assert_eq!(x, y, "{formula} at {a}, {b}");
            }
        }
    }
}

#[test]
fn arrays_of_complex_numbers_are_read_and_written_in_place() {
    let source = "fn f(zs: array<complex>, w: complex) {
        let mut ys = zs; let mut s = w;
        for i in 0..len(zs) { ys[i] = ys[i] * w + zs[len(zs) - 1 - i]; s = s * 0.5 + ys[i]; }
        abs2(s) + abs2(ys[0])
    }";
    let program = program(source);
    let zs = Datum::complexes(
        (0..40).map(|k| Complex::new(f64::from(k) * 0.1, 1.0 - f64::from(k) * 0.2)),
    );
    let args = [zs, Datum::Complex(Complex::new(0.3, -0.8))];
    let mut code = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
    let mut jit = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_jit();
    for _ in 0..2 {
        assert_eq!(code.value_and_gradient(&args).unwrap(), jit.value_and_gradient(&args).unwrap());
    }
}

#[test]
fn operations_on_integers_have_the_same_values_and_errors() {
    let numbers =
        [0, 1, -1, 2, 3, -7, 1 << 31, -(1 << 31), 1 << 62, i64::MAX, i64::MIN, i64::MIN + 1];
    let formulas = [
        "a + b",
        "a - b",
        "a * b",
        "a / b",
        "a % b",
        "min(a, b)",
        "max(a, b)",
        "-a",
        "-b + 0",
        "(if a < b { 1 } else { 2 })",
        "(if a <= b { 1 } else { 2 })",
        "(if a > b { 1 } else { 2 })",
        "(if a >= b { 1 } else { 2 })",
        "(if a == b { 1 } else { 2 })",
        "(if a != b { 1 } else { 2 })",
        "select(a < b && !(b < 3), a, b)",
        "select(a <= b || b > 3, b, a)",
    ];
    let (mut fine, mut failed) = (0, 0);
    for formula in formulas {
        let source = format!(
            "fn f(a0: int, b0: int, n: int) {{ let mut a = a0; let mut b = b0; let mut s = 0; let mut x = 0.5;
               for i in 0..n {{ s = {formula}; x = x * x + real(a); a = a * 1; b = b * 1; }} (s, x) }}"
        );
        for a in numbers {
            for b in numbers {
                match same(&source, &[Datum::Int(a), Datum::Int(b), Datum::Int(2)]) {
                    Ok(_) => fine += 1,
                    Err(RunError::Integer { .. }) => failed += 1,
                    Err(e) => panic!("{formula}: {e}"),
                }
            }
        }
    }
    assert!(fine > 1000 && failed > 100, "{fine} values, {failed} errors");
}

/// A recording checks its path in machine code, too: each order, with numbers of each order and
/// NaN.
#[test]
fn paths_are_checked_with_the_same_errors() {
    let numbers = [-1.5, -0.0, 0.0, 2.5, f64::INFINITY, f64::NAN];
    for recorded in [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0), (f64::NAN, 2.0)] {
        let tape = trace_at("f", &["x", "y"], recorded, |(x, y): (Traced<f64>, Traced<f64>)| {
            // So long that it is worth machine code.
            let long = (0..50).fold(&x + &y, |s, _| s * &y + &x);
            match x.cmp_primal(&y) {
                Some(Ordering::Less) => long * &y,
                Some(Ordering::Equal) => long + &y,
                Some(Ordering::Greater) => long.sin(),
                None => long - &y,
            }
        });
        let program = tape.unwrap().into_program();
        let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
        let jit = code.clone().jit().unwrap();
        assert!(jit.is_jit());
        let mut kept = 0;
        for (x, y) in numbers.iter().flat_map(|x| numbers.map(|y| (*x, y))) {
            let (a, b) = (
                run(&code, &Limits::default(), &reals(&[x, y])),
                run(&jit, &Limits::default(), &reals(&[x, y])),
            );
            // NaN is not equal to itself, in the text of an error neither.
            assert_eq!(format!("{a:?}"), format!("{b:?}"), "{recorded:?} at {x}, {y}");
            let same = x.partial_cmp(&y) == recorded.0.partial_cmp(&recorded.1);
            assert_eq!(a.is_ok(), same, "{recorded:?} at {x}, {y}: {a:?}");
            kept += usize::from(same);
        }
        assert!((1..36).contains(&kept));
    }
}

#[test]
fn long_loops_fill_their_tapes() {
    let source = "fn f(r, x0, n: int) { let mut x = x0; let mut k = 0; let mut i = 0;
        while i < n { if x > 0.5 { x = r * x * (1 - x); k += 1; } else { x = x * 1.7; } i += 1; } x + 0.001 * real(k) }";
    let program = program(source);
    let args = [Datum::Real(3.7), Datum::Real(0.3), Datum::Int(30_000)];
    let mut both = [
        Derivatives::<f64>::new(&program, "f").unwrap(),
        Derivatives::<f64>::new(&program, "f").unwrap().with_jit(),
    ];
    for n in [30_000, 100, 50_000] {
        let args = [args[0].clone(), args[1].clone(), Datum::Int(n)];
        let [a, b] = both.each_mut().map(|d| {
            let (y, gradient) = d.value_and_gradient(&args).unwrap();
            all_bits(&[vec![Datum::Real(y)], gradient].concat())
        });
        assert_eq!(a, b, "{n}");
    }
}

#[test]
fn arrays_are_read_and_written_in_place_and_those_of_the_caller_stay() {
    let source = "fn f(xs: array, ks: array<int>) {
        let mut ys = xs; let mut js = ks; let mut s = 0.0;
        for i in 0..len(xs) { ys[i] = ys[i] * 2.0 + xs[js[i]]; js[i] = js[i] + 1; s += ys[i] - xs[i]; }
        (s, xs, ys, js)
    }";
    let args =
        [Datum::reals((0..50).map(|k| f64::from(k) * 0.3)), Datum::ints((0..50).map(|k| k / 2))];
    let before = all_bits(&args);
    same(source, &args).unwrap();
    assert_eq!(all_bits(&args), before);

    // The gradient reads beyond the end of cotangents and adds to them there.
    let program = program(source);
    for _ in 0..2 {
        let y_bar = || {
            Datum::Tuple(vec![
                Datum::Real(1.0),
                Datum::reals([1.0, 2.0]),
                Datum::reals([]),
                Datum::Int(0),
            ])
        };
        let [a, b] = [false, true].map(|jit| {
            let d = Derivatives::<f64>::new(&program, "f").unwrap();
            let mut d = if jit { d.with_jit() } else { d };
            d.vjp(&args, y_bar())
                .map(|(y, bars)| all_bits(&[vec![y], bars].concat()))
                .map_err(|e| e.to_string())
        });
        assert_eq!(a, b);
    }
}

#[test]
fn elements_of_matrices_are_found_by_their_shape() {
    let source = "fn f(a: array, b: array, n: int) {
          let mut c = full(0.0, [n, n, 2]); let mut s = 0.0;
          for i in 0..n { for j in 0..n { for k in 0..n { c[i, j, 1] += a[i, k] * b[k, j]; } s += c[i, j, 1] * a[j, i]; } } s }";
    let matrix = |shape: &[usize], phase: f64| {
        let len = shape.iter().product::<usize>();
        Datum::reals_of(shape, (0..len).map(|k| (k as f64 + phase).sin()).collect()).unwrap()
    };
    let at = |n: i64| [matrix(&[7, 7], 0.0), matrix(&[7, 7], 0.5), Datum::Int(n)];
    same(source, &at(7)).unwrap();
    let program = program(source);
    let mut code = Derivatives::<f64>::new(&program, "f").unwrap();
    let mut jit = Derivatives::<f64>::new(&program, "f").unwrap().with_jit();
    for n in [7, 4] {
        assert_eq!(
            code.value_and_gradient(&at(n)).unwrap(),
            jit.value_and_gradient(&at(n)).unwrap()
        );
    }
    // Beyond the end, below 0, and another number of axes.
    assert!(same(source, &at(8)).is_err());
    let [a, _, n] = at(7);
    assert!(same(source, &[a.clone(), matrix(&[7, 7, 1], 0.0), n.clone()]).is_err());
    assert!(same(source, &[a, matrix(&[49], 0.0), n]).is_err());
    let before = "fn f(a: array, n: int) { let mut s = 0.0; for i in 0..n { for j in 0..n { s += a[i, j - i]; } } s }";
    assert!(same(before, &[matrix(&[3, 3], 0.0), Datum::Int(3)]).is_err());
}

#[test]
fn an_index_that_is_not_there_is_the_same_error() {
    for body in
        ["s += xs[i];", "xs[i] = s; s += 1.0;", "s += xs[i - 4];", "xs[3 - i] = 1.0; s += 0.5;"]
    {
        let source = format!(
            "fn f(xs0: array, n: int) {{ let mut xs = xs0; let mut s = 0.0; for i in 0..n {{ {body} }} s + xs[0] }}"
        );
        for n in [2, 3, 4, 9] {
            let found = same(&source, &[Datum::reals([1.0, 2.0, 3.0]), Datum::Int(n)]);
            if n == 9 {
                assert!(matches!(found, Err(RunError::Index { .. })), "{source}");
            }
        }
    }
}

/// A function that calls itself up to three times, once in a loop, on arguments made at random,
/// which it leaves early at times; with a pair as its value at times.
fn recursive(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let pair = seed.is_multiple_of(3);
    let call = |dice: &mut Dice, k: &str| {
        let first = ["x", "y", "0.5 * x + y", "x * y", "sin(x)", "x - 0.3"][dice.below(6) as usize];
        let second = ["y", "x", "cos(y)", "0.7 * y", "y - x * 0.1", "a"][dice.below(6) as usize];
        let call = format!("g({first}, {second}, {k})");
        if pair { format!("first({call})") } else { call }
    };
    let (mut body, depth) = (String::new(), 2 + dice.below(3));
    for part in 0..1 + dice.below(2) {
        let k = ["k - 1", "k - 2"][part as usize % 2];
        body += &match dice.below(3) {
            0 => format!("a += 0.4 * {};\n", call(&mut dice, k)),
            1 => format!(
                "if x < a {{ a = a * 0.5 - {}; }} else {{ a += y * 0.25; }}\n",
                call(&mut dice, k)
            ),
            _ => format!(
                "for i in 0..2 {{ a = 0.5 * a * y + {}; if a > 3.0 {{ break; }} }}\n",
                call(&mut dice, k)
            ),
        };
    }
    let end = |value: &str| if pair { format!("({value}, x * y)") } else { value.to_owned() };
    let (early, last, kind) =
        (end("x * y + 1.0"), end("a + 0.1 * x"), if pair { "(real, real)" } else { "real" });
    let of_pair = if pair { "fn first(p: (real, real)) { p.0 + 0.5 * p.1 }" } else { "" };
    let value = if pair { "first(g(x, y, n))" } else { "g(x, y, n)" };
    format!(
        "fn g(x, y, k: int) -> {kind} {{ if k <= 0 {{ return {early}; }}
         let mut a = x * 0.5 + sin(y);
         {body} {last} }}
         {of_pair}
         fn f(x, y, z) {{ let n = {depth}; {value} * z }}"
    )
}

#[test]
fn random_functions_that_call_themselves_have_the_same_bits() {
    for seed in 0..60 {
        let source = recursive(seed);
        same_derivatives(&source, seed);
        assert!(compiled(&source).1.is_jit(), "{source}");
    }
}

#[test]
fn a_function_that_calls_itself_keeps_its_limits_and_errors() {
    let source = "fn g(x, n: int) { if n <= 0 { x } else { let mut y = x; for i in 0..3 { y = y * 0.5 + sin(x); } g(y, n - 1) + 0.1 } }
        fn f(x, n: int) { let mut s = x; for i in 0..4 { s = s + g(s, n) * 0.25; } s }";
    let args = [Datum::Real(0.3), Datum::Int(20_000)];
    same(source, &args).unwrap();
    let (code, jit) = compiled(source);
    for depth in [0, 1, 2, 100, 20_000] {
        let limits = Limits::new().with_depth(depth);
        let (a, b) = (run(&code, &limits, &args), run(&jit, &limits, &args));
        assert!(matches!(b, Err(RunError::Depth { .. })));
        assert_eq!(a, b);
    }
    // Deep enough, to the call.
    let limits = Limits::new().with_depth(20_001);
    assert_eq!(run(&code, &limits, &args), run(&jit, &limits, &args));
    assert!(run(&jit, &limits, &args).is_ok());
    for steps in [10, 1_000, 100_000] {
        let limits = Limits::new().with_steps(steps);
        assert!(matches!(run(&jit, &limits, &args), Err(RunError::Steps { .. })));
    }
    // An error far below, at its place.
    let source = "fn g(x, n: int, k: int) { if n == 0 { x * real(k * k) } else { g(x * 0.5, n - 1, k * 2) + g(x, n - 1, k * 3) } }
        fn f(x, n: int) { g(x, n, 1) }";
    same(source, &[Datum::Real(0.3), Datum::Int(10)]).unwrap();
    assert!(matches!(
        same(source, &[Datum::Real(0.3), Datum::Int(40)]),
        Err(RunError::Integer { .. })
    ));
}

#[test]
fn what_a_function_that_calls_itself_leaves_to_the_machine() {
    let args = [Datum::Real(0.7), Datum::Int(300)];
    // Another function that calls it again, and a rule that is not differentiated through.
    let others = "fn odd(x, n: int) { if n <= 0 { 0.5 * x } else { even(sin(x), n - 1) * 0.5 } }
        fn even(x, n: int) { if n <= 0 { x } else { even(x * 0.9, n - 3) + odd(x * 0.99, n - 1) * 0.1 } }
        fn f(x, n: int) { let mut s = 0.0; for i in 0..9 { s += even(x, i); } s }";
    same(others, &args).unwrap();
    // Arrays are handed down.
    let arrays =
        "fn g(xs: array, k: int) { if k >= len(xs) { 1.0 } else { xs[k] * xs[k] + 0.5 * g(xs, k + 1) } }
        fn f(x, n: int) { let mut xs = [0.0; 300]; for i in 0..n { xs[i] = x * 0.01 * real(i); } g(xs, 0) }";
    same(arrays, &args).unwrap();
}

#[test]
fn a_function_that_calls_itself_on_complex_numbers() {
    let source = "fn g(z: complex, k: int, up: bool) -> complex { if k == 0 { return z; }
          let w = if up { g(z * z * 0.5, k - 1, !up) } else { g(0.7 * z + 0.25, k - 1, k % 2 == 0) };
          w * w * 0.3 + 0.5 * g(w, k - 1, up) }
        fn f(z: complex) { abs2(g(z, 7, true)) + re(g(z, 4, false)) }";
    let program = program(source);
    let mut code = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
    let mut jit = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_jit();
    for k in 0..20 {
        let z = [Datum::Complex(Complex::from_polar(0.04 * f64::from(k), f64::from(k)))];
        assert_eq!(code.value_and_gradient(&z).unwrap(), jit.value_and_gradient(&z).unwrap());
        assert_eq!(code.value(&z).unwrap(), jit.value(&z).unwrap());
    }
}

#[test]
fn limits_hold() {
    let source = "fn f(x, n: int) { let mut y = x; for i in 0..n { y = y * 0.5 + 1.0; } y }";
    let (_, jit) = compiled(source);
    let args = [Datum::Real(0.3), Datum::Int(1_000_000)];
    let limits = Limits::new().with_steps(100_000);
    assert!(matches!(run(&jit, &limits, &args), Err(RunError::Steps { limit: 100_000, .. })));
    // Without an end, too, and more often than what is counted at once.
    let forever = "fn f(x) { let mut y = x; while y < 2.0 { y = y * 0.5 + 1.0 - 0.5 * y; } y }";
    let (_, jit) = compiled(forever);
    let limits = Limits::new().with_steps(50_000_000);
    assert!(matches!(run(&jit, &limits, &args[..1]), Err(RunError::Steps { .. })));

    let limits = Limits::new().with_memory(4 << 20);
    let squares = "fn f(x, n: int) { let mut y = x; for i in 0..n { y = y * y * 0.5; } y }";
    let program = program(squares);
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap().with_limits(limits).with_jit();
    let error = d.value_and_gradient(&[Datum::Real(0.3), Datum::Int(10_000_000)]).unwrap_err();
    assert!(error.to_string().contains("memory") || error.to_string().contains("bytes"), "{error}");
    // And the machine can be used again.
    let (y, _) = d.value_and_gradient(&[Datum::Real(2.0), Datum::Int(3)]).unwrap();
    assert_eq!(y, 2.0);
}

#[test]
fn other_numbers_run_the_same_program_as_bytecode() {
    fn on<T: Real, S: Scalar<Real = T>>(code: &Bytecode, args: &[Datum<S>]) -> Datum<S> {
        code.call(&mut Machine::<S>::new(), &NoHost, &Limits::default(), args).unwrap()
    }
    let (code, jit) =
        compiled("fn f(x, n: int) { let mut y = x; for i in 0..n { y = sin(y) * 1.5 + x; } y }");
    let single: [Datum<f32>; 2] = [Datum::Real(0.3), Datum::Int(20)];
    assert_eq!(on(&code, &single), on(&jit, &single));
    let dual: [Datum<Dual64>; 2] = [Datum::Real(Dual64::new(0.3, 1.0)), Datum::Int(20)];
    assert_eq!(on(&code, &dual), on(&jit, &dual));
    // Over complex numbers the real ones are f64.
    let complex: [Datum<Complex<f64>>; 2] = [Datum::Real(0.3), Datum::Int(20)];
    assert_eq!(on(&code, &complex), on(&jit, &complex));
}

#[test]
fn machine_code_outlives_the_bytecode_that_it_was_made_from_and_goes_between_threads() {
    let (code, jit) =
        compiled("fn f(x, n: int) { let mut y = x; for i in 0..n { y = sin(y) * 1.5 + x; } y }");
    let args = [Datum::Real(0.3), Datum::Int(1000)];
    let expected = run(&code, &Limits::default(), &args).unwrap();
    let copies: Vec<Bytecode> = (0..4).map(|_| jit.clone()).collect();
    drop(jit);
    std::thread::scope(|scope| {
        for copy in copies {
            let (args, expected) = (&args, &expected);
            scope.spawn(move || {
                assert_eq!(&run(&copy, &Limits::default(), args).unwrap(), expected)
            });
        }
    });
}

#[test]
fn very_long_straight_code_has_the_same_bits() {
    // Thousands of numbers that are all read at the end, with ways out between them.
    let mut source = String::from("fn f(xs: array, x) { let mut s = x;\n");
    for k in 0..1500 {
        source.push_str(&format!(
            "let v{k} = xs[{}] * s + {k}.5; s = s * 0.5 + v{k} * 0.001;\n",
            k % 7
        ));
    }
    source.push_str("let mut t = s;\n");
    for k in 0..1500 {
        source.push_str(&format!("t = t * 0.9 + v{k};\n"));
    }
    source.push_str("t }");
    let args = [Datum::reals((0..7).map(|k| f64::from(k) * 0.1 - 0.3)), Datum::Real(0.4)];
    same(&source, &args).unwrap();
    let program = program(&source);
    let [a, b] = [false, true].map(|jit| {
        let d = Derivatives::<f64>::new(&program, "f").unwrap();
        let mut d = if jit { d.with_jit() } else { d };
        all_bits(&d.gradient(&args).unwrap())
    });
    assert_eq!(a, b);
}

#[test]
fn where_there_is_nothing_to_gain_there_is_no_machine_code() {
    let (_, jit) = compiled("fn f(a: array, b: array) { sum(a * b) }");
    assert!(!jit.is_jit());
    let args = [Datum::reals([1.0, 2.0]), Datum::reals([3.0, 4.0])];
    assert_eq!(run(&jit, &Limits::default(), &args).unwrap(), [11f64.to_bits()]);
}
