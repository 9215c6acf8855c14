//! Loops of every shape, backwards: counted up and down, by steps, left in the middle, nested, not
//! run at all.
//!
//! The reverse transform treats each of them in a way of its own (counters run backwards, values
//! recorded at exits, values computed again), so each is compared with forward mode, with the
//! transform on programs that were not optimised, and at second order reverse over reverse with
//! forward over reverse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir,
    pass::{Level, optimize_all},
    text::parse_program,
};

/// Two ways of summing the same terms.
const TOLERANCE: f64 = 1e-11;

/// Functions of two real numbers.
const LOOPS: &[&str] = &[
    // Counters: up, down, by steps, up to and with, from a parameter of the loop around, two at
    // once.
    "let mut s = x; for i in 0..7 { s = sin(s) * y + real(i); } s",
    "let mut s = x; for i in 2..=5 { s = s * y + real(i) * x; } s",
    "let mut s = x; let mut n = 6; while n > 0 { n -= 1; s = s * y + real(n); } s",
    "let mut s = x; let mut n = 11; while n >= 2 { s = cos(s) * real(n) * y; n -= 3; } s * real(n)",
    "let mut s = x; let (mut i, mut j) = (0, 10); while i < j { s = s * y + real(i * j); i += 1; j -= 2; } s + real(i) * y",
    "let mut s = x; for i in 0..4 { for j in i..4 { for k in j..=i + 1 { s = s * y + real(i + j * k) * x; } } } s",
    // No counter at all.
    "let mut s = x; while s < 20 { s = s * 1.5 + y * y; } s * y",
    "let mut s = x; let mut t = y; while t < 5 { if t > 2 { t += 1.3; continue; } s *= t; t += 0.4 + 0.1 * x * x; } s * t",
    // Left early: break, continue, return, out of two loops.
    "let mut s = x; for i in 0..9 { if s > 3 { break; } s = s * y + 1.0; } s * s",
    "let mut s = x; for i in 0..9 { if i % 3 == 1 { continue; } s = sin(s * y) + real(i); } s",
    "let mut s = x; for i in 0..5 { for j in 0..5 { s = s * y + 0.3; if s > 4 { return s * real(i + 1) * x; } } } s",
    "let mut s = x; for i in 0..5 { for j in 0..5 { if j > i { break; } if s < 0.1 { continue; } s = s * 0.9 + y * s * s * 0.01; } s = s * x; } s",
    // Values that the adjoint may compute again or must record: of this turn, of the turn around,
    // of the end.
    "let xs = [x, y, x * y, 2.0]; let mut s = 0.0; for i in 0..8 { s += xs[(3 * i + 1) % 4] * xs[i % 4]; } s",
    "let mut xs = [x, y, 1.0]; for i in 0..6 { xs[i % 3] = xs[(i + 1) % 3] * sin(xs[i % 3] + y); } xs[0] + xs[1] * xs[2]",
    "let mut s = x; for i in 0..4 { let a = s * y; let mut t = a; for j in 0..3 { t = t * a + real(j); } s = sin(t) + a; } s",
    "let mut s = x; for i in 0..4 { let a = exp(-s * s); let b = a * a; let c = b * y + a; if c > 0.5 { s = s + b * c; } else { s = s - a * c * c; } } s",
    "let mut s = x; for i in 0..4 { if s > y { s = s * y; } else if s > 0.2 { s = s * s; } else { s = s + 0.7 * x; } } s",
    // Parts of an array: along either axis, beside elements, of an array that is written.
    "let m = [[x, y, x * y], [1.0, x, y]]; let mut s = 0.0; for i in 0..2 { s += sum(row(m, i) * row(m, i)) * (m[i, 0] + y); } s",
    "let m = [[x, y, x * y], [1.0, x, y]]; let mut s = 0.0; for j in 0..2 { s += sum(slice(m, 1, j, 2) * slice(m, 1, 1 - j, 1)) + m[1, j] * x; } s",
    "let m = [[x, y], [y, x], [2.0, x * y]]; let mut s = m[0, 1]; for i in 0..2 { let r = slice(m, 0, i, 2); s = s * sum(r) + m[2, i] * prod(row(m, 2 - i)); } s",
    "let mut v = [x, y, x + y, 1.0]; for i in 0..3 { let p = slice(v, 0, i, 2); v[i] = v[i] * sum(p * p); v[3] = v[3] + p[1]; } sum(v * v)",
    // Nothing flows through it; it runs zero times; what does not change in it.
    "let mut n = 0; for i in 0..5 { n += i * i; } let mut s = x; for i in 0..n - 27 { s *= y; } s",
    "let mut s = x; for i in 3..3 { s = s * y; } for i in 5..2 { s = s + y; } s * y",
    "let mut s = x; for i in 0..3 { s = s * exp(x * y) + sin(x) * y; for j in 0..2 { s = s + s * cos(y); } } s",
    // Uses that nothing flows through, of what a branch or a loop before them uses.
    "let mut v = y; if y > 0.7 { v = v + x; } v + 0.0 * x",
    "let mut v = y; if y > 0.7 { v = v * x; } v * sign(x) + ceil(x)",
    "let mut v = y; for i in 0..3 { v = v * x; } v + floor(x)",
    "let mut v = y; for i in 0..5 { if v > 1 { break; } v = v * x + 0.5; } v + round(x) * y",
    "let mut v = y; for i in 0..4 { if i % 2 == 0 { v = v * x; } v = v + trunc(x) * y; } v",
    "let a = [x, y]; let mut v = [y, x * y]; if x > 1 { v = v * a; } sum(reshape_like(v, a))",
    "let xs = [x, y, x * y]; let v = xs - x; if y > 1 { return x * x; } dot(xs, v) * x",
];

fn reals(xs: &[f64]) -> Vec<Datum<f64>> {
    xs.iter().map(|&x| Datum::Real(x)).collect()
}

fn number(d: &Datum<f64>) -> f64 {
    *d.real().unwrap()
}

#[track_caller]
fn close(a: f64, b: f64, context: &str) {
    assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs() + b.abs()), "{a} is not {b}: {context}");
}

#[test]
fn every_loop_runs_backwards() {
    for body in LOOPS {
        let source = format!("fn f(x, y) {{ {body} }}");
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
        let f = program.lookup("f").unwrap();
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        let mut plain = Derivatives::<f64>::new(&program, "f").unwrap().with_level(Level::None);
        let mut second = program.clone();
        let rr = adjoint::second(&mut second, f).unwrap();
        assert_eq!(ir::verify(&second), vec![], "{source}");
        optimize_all(&mut second, rr, Level::Strict);
        let rr = Bytecode::compile(&second, rr).unwrap();
        for at in [[0.8, 0.6], [1.3, 1.1], [-0.4, 0.9]] {
            let context = format!("{source} at {at:?}");
            let args = reals(&at);
            let (y, gradient) = d.value_and_gradient(&args).unwrap();
            close(y, number(&d.value(&args).unwrap()), &context);
            let (y0, gradient0) = plain.value_and_gradient(&args).unwrap();
            close(y0, y, &context);
            for (k, dot) in [[1.0, 0.0], [0.0, 1.0]].iter().enumerate() {
                let dot = reals(dot);
                close(number(&gradient[k]), number(&d.jvp(&args, &dot).unwrap().1), &context);
                close(number(&gradient0[k]), number(&gradient[k]), &context);
                let (_, hv) = d.hvp(&args, &dot).unwrap();
                let weights = [reals(&[0.0]), dot].concat();
                let all = [args.clone(), vec![Datum::Tuple(weights)]].concat();
                let bars = rr.call(&mut Machine::new(), &NoHost, &Limits::default(), &all).unwrap();
                for (bar, h) in bars.fields()[1..].iter().zip(&hv) {
                    close(number(bar), number(h), &context);
                }
            }
        }
    }
}

#[test]
fn a_loop_that_does_not_run_brings_no_nan() {
    // Moved before the loop, the product would meet a cotangent of 0 with an infinite factor.
    let source =
        "fn f(x, y, n: int) { let mut s = y; for i in 0..n { s = s + x * y + exp(x); } s }";
    let program = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let args = [Datum::Real(f64::INFINITY), Datum::Real(2.0), Datum::Int(0)];
    assert_eq!(d.value_and_gradient(&args).unwrap(), (2.0, reals(&[0.0, 1.0])));
    let args = [Datum::Real(0.5), Datum::Real(2.0), Datum::Int(3)];
    let (_, gradient) = d.value_and_gradient(&args).unwrap();
    close(number(&gradient[0]), 3.0 * (2.0 + 0.5f64.exp()), source);
    close(number(&gradient[1]), 2.5, source);
}

/// Number of pushes in the gradient of a function.
fn pushes(source: &str) -> usize {
    let program = parse_program(source).unwrap();
    let texts = Derivatives::<f64>::new(&program, "f").unwrap().adjoint().unwrap();
    texts[2].matches("push.").count()
}

#[test]
fn only_what_is_needed_is_recorded() {
    let count = |body: &str| pushes(&format!("fn f(x, y, xs: array, n: int) {{ {body} }}"));
    // Nothing: the counter runs backwards, values from outside are known.
    assert_eq!(count("let mut s = x; for i in 0..n { s = s * 0.999 + x * y; } s"), 0);
    assert_eq!(
        count("let mut s = x; for i in 0..n { s = s + xs[i] * xs[n - 1 - i] * real(i); } s"),
        0
    );
    assert_eq!(count("let mut s = x; for i in 0..n { for j in i..n { s = s * y + xs[j]; } } s"), 1);
    // The condition; the value and its sine.
    assert_eq!(
        count("let mut s = x; for i in 0..n { if s > 1 { s = s * 0.5; } else { s = s + x; } } s"),
        1
    );
    assert_eq!(count("let mut s = x; for i in 0..n { s = sin(s) * y + x; } s"), 2);
    // A condition that the counter decides.
    assert_eq!(
        count(
            "let mut s = x; for i in 0..n { if i % 2 == 0 { s = s * 0.5; } else { s = s + x; } } s"
        ),
        0
    );
    // One value for three that ask, two products from it.
    assert_eq!(count("let mut s = x; for i in 0..n { s = s * s * s * y; } s"), 1);
}

/// If an array is written in a loop, its cotangent is too, in place: nothing reads it as it was
/// before.
#[test]
fn cotangents_of_written_arrays_are_written_in_place() {
    let source = "fn f(u0: array, m: int) {
        let mut u = u0; let mut w = u0;
        for t in 0..m { for i in 1..len(u) - 1 { w[i] = u[i] * u[i + 1]; u[i] = u[i - 1] + sin(w[i]); } }
        sum(u) + sum(w)
    }";
    let texts =
        Derivatives::<f64>::new(&parse_program(source).unwrap(), "f").unwrap().adjoint().unwrap();
    let mut writes = 0;
    for text in &texts[1..] {
        let lines: Vec<&str> = text.lines().collect();
        for (k, line) in lines.iter().enumerate() {
            let Some((_, operands)) = line.split_once(" = put ") else { continue };
            let array = operands.split(',').next().unwrap();
            let block = lines[k + 1..].iter().take_while(|line| !line.starts_with("block"));
            let names =
                |line: &&str| line.split(|c: char| !c.is_alphanumeric()).any(|word| word == array);
            assert_eq!(
                block.copied().find(names),
                None,
                "{array} is read after it is written:\n{text}"
            );
            writes += 1;
        }
    }
    assert!(writes >= 4, "{}", texts.join("\n"));
}

/// A thousand branches one after the other, values that wait for all of them, and sums that grow on
/// one side.
#[test]
fn long_chains_of_branches() {
    let (n, x) = (1000, 0.7);
    let mut source = "fn f(x) {\n  let mut y = x;\n  let mut s = 0.0;\n".to_owned();
    let (mut waiting, mut y, mut y_dot, mut s, mut s_dot) = (String::new(), x, 1.0, 0.0, 0.0);
    let (mut late, mut late_dot) = (0.0, 0.0);
    for k in 0..n {
        let bound = 0.01 * f64::from(k % 300);
        source += &format!("  let a{k} = {k}.5 * x;\n");
        source +=
            &format!("  if y > {bound:?} {{ y += 0.1 * sin(y); }} else {{ s += y; y *= 1.5; }}\n");
        waiting += &format!(" + a{k}");
        (late, late_dot) = (late + (f64::from(k) + 0.5) * x, late_dot + f64::from(k) + 0.5);
        if y > bound {
            (y, y_dot) = (y + 0.1 * y.sin(), y_dot * (1.0 + 0.1 * y.cos()));
        } else {
            (s, s_dot) = (s + y, s_dot + y_dot);
            (y, y_dot) = (1.5 * y, 1.5 * y_dot);
        }
    }
    source += &format!("  y + s{waiting}\n}}");
    let program = parse_program(&source).unwrap();
    let (value, gradient) = Derivatives::<f64>::new(&program, "f")
        .unwrap()
        .value_and_gradient(&[Datum::Real(x)])
        .unwrap();
    let slope = gradient[0].real().unwrap();
    assert!((value - (y + s + late)).abs() < 1e-9 * value.abs(), "{value}");
    assert!((slope - (y_dot + s_dot + late_dot)).abs() < 1e-9 * slope.abs(), "{slope}");
}

/// A count is compared after others have looked at it, or at what it counts by: they see it as it
/// is written.
#[test]
fn what_stands_between_a_count_and_its_comparison_sees_the_count() {
    type Oracle = fn(f64, i64) -> f64;
    let cases: [(&str, Oracle); 6] = [
        (
            "let mut i = 0; let mut j = 0; let mut s = x; while i < n { i = i + 2; j = i; s = 0.9 * s + real(j) * x; } s + real(j)",
            |x, n| {
                let (mut i, mut j, mut s) = (0, 0, x);
                while i < n {
                    i += 2;
                    j = i;
                    s = 0.9 * s + j as f64 * x;
                }
                s + j as f64
            },
        ),
        (
            "let mut i = 0; let mut j = 0; let mut s = x; while i < n { s = 0.9 * s + real(j) * x; i = i + 1; j = i; } s * real(j)",
            |x, n| {
                let (mut i, mut j, mut s) = (0, 0, x);
                while i < n {
                    s = 0.9 * s + j as f64 * x;
                    i += 1;
                    j = i;
                }
                s * j as f64
            },
        ),
        (
            "let mut i = 1; let mut k = 1; let mut s = x; while i < n { s = 0.5 * s + real(k) * x; let j = i; i = i + k; k = j; } s * real(i)",
            |x, n| {
                let (mut i, mut k, mut s) = (1, 1, x);
                while i < n {
                    s = 0.5 * s + k as f64 * x;
                    (i, k) = (i + k, i);
                }
                s * i as f64
            },
        ),
        (
            "let mut i = 0; let mut k = 3; let mut s = x; while i < n { s = sin(s) + real(k) * x; i = i + k; k = 1; } s * real(i)",
            |x, n| {
                let (mut i, mut k, mut s) = (0, 3, x);
                while i < n {
                    s = s.sin() + k as f64 * x;
                    i += k;
                    k = 1;
                }
                s * i as f64
            },
        ),
        (
            "let mut i = n; let mut j = 0; let mut s = x; while i != 0 { s = sin(s) + real(j) * x; i = i - 1; j = i; } s * real(j + 1)",
            |x, n| {
                let (mut i, mut j, mut s) = (n, 0, x);
                while i != 0 {
                    s = s.sin() + j as f64 * x;
                    i -= 1;
                    j = i;
                }
                s * (j + 1) as f64
            },
        ),
        (
            "let mut i = 0; let mut m = n; let mut s = x; while i < m { s = s * cos(s) + real(m) * x; i = i + 1; m = n - 1; } s + real(i)",
            |x, n| {
                let (mut i, mut m, mut s) = (0, n, x);
                while i < m {
                    s = s * s.cos() + m as f64 * x;
                    i += 1;
                    m = n - 1;
                }
                s + i as f64
            },
        ),
    ];
    for (body, oracle) in cases {
        let source = format!("fn f(x, n: int) {{ {body} }}");
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
        for n in 0..9 {
            for level in [Level::None, Level::Strict, Level::Algebraic] {
                let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_level(level);
                let at = |x: f64| [Datum::Real(x), Datum::Int(n)];
                let (value, slopes) = f.value_and_gradient(&at(0.3)).unwrap();
                let right = oracle(0.3, n);
                assert!(
                    (value - right).abs() <= 1e-12 * right.abs().max(1.0),
                    "{body}, {n}: {value}, not {right}"
                );
                let h = 1e-6;
                let right = (oracle(0.3 + h, n) - oracle(0.3 - h, n)) / (2.0 * h);
                let slope = *slopes[0].real().unwrap();
                assert!(
                    (slope - right).abs() <= 1e-6 * right.abs().max(1.0),
                    "{body}, {n}: {slope}, not {right}"
                );
                let (_, dot) = f.jvp(&at(0.3), &[Datum::Real(1.0)]).unwrap();
                assert!(
                    (dot.real().unwrap() - slope).abs() <= 1e-10 * slope.abs().max(1.0),
                    "{body}, {n}"
                );
            }
        }
    }
}

/// A count that is recorded before it is compared.
#[test]
fn a_count_is_recorded_as_it_is() {
    let text = "fn f(x, n) -> real {
block0(v0: real, v1: int):
    v2: int = int 0
    v3: int = int 2
    jump block1(v2)
block1(v4: int):
    v5: int = iadd v4, v3
    push.0.0 v5
    v6: bool = ilt v5, v1
    branch v6, block1(v5), block2(v2)
block2(v7: int):
    v8: int = pop.0.0
    v9: int = iadd v7, v8
    v10: bool = ilt v3, v8
    branch v10, block2(v9), block3
block3:
    v11: real = real_of_int v9
    v12: real = mul v0, v11
    return v12
}
";
    let program = ir::parse(text).unwrap();
    let f = program.lookup("f").unwrap();
    let code = Bytecode::compile(&program, f).unwrap();
    for (n, sum) in [(1, 2.0), (2, 2.0), (3, 6.0), (9, 30.0)] {
        let args: [Datum<f64>; 2] = [Datum::Real(1.5), Datum::Int(n)];
        let y = code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args).unwrap();
        assert_eq!(y, Datum::Real(1.5 * sum), "{n}");
    }
}
