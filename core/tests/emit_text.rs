//! Source in, derivative source out: the text that is emitted reads back and gives the same values.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    check::{Settings, dot_test, gradcheck, test_rule},
    emit::{EmitError, emit_latex, emit_text},
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    pass::{Level, optimize_all},
    rules::Rules,
    text::{entry, parse_program},
};
use num_complex::Complex;

type Value = Datum<Complex<f64>>;

fn real(x: f64) -> Value {
    Datum::Real(x)
}

/// The gradient of `f`, by way of text and directly.
fn both_ways(source: &str, args: &[Value]) -> (Value, Value, String) {
    let mut program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let g = adjoint::gradient(&mut program, f).unwrap();
    optimize_all(&mut program, g, Level::Strict);
    let text = emit_text(&program, g).unwrap_or_else(|e| panic!("{e}\n{}", program.print(g)));
    let again = parse_program(&text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
    assert_eq!(entry(&again, &Rules::new()), Some("f_gradient"));
    let h = again.lookup("f_gradient").unwrap();
    let run = |p, f| {
        let code = Bytecode::compile(p, f).unwrap();
        code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap()
    };
    (run(&program, g), run(&again, h), text)
}

/// Between literals the language takes an inexact quotient for a real number; constants in
/// variables are ints.
#[test]
fn constant_ints_stay_ints_in_text() {
    for (body, expected) in [
        ("let k = 7; let m = 2; real(k / m) * x", Some(3.0)),
        ("let k = -7; let m = 2; real(k / m + k % m) * x", Some(-4.0)),
        ("let m = 4 / 4 + 3; let k = m / 3; real(k % 9 + n) * x", Some(3.0)),
        ("let k = 6; let m = 2; real(k / m) * x + real(k) / real(m)", Some(6.0)),
        ("let k = 7; let m = 0; if n > 3 { real(k / m) * x } else { x }", Some(1.0)),
        ("let k = 7; let m = 0; real(k / m) * x", None),
        ("let k = 9223372036854775807; real(k + 1) * x", None),
        ("let k = -9223372036854775807 - 1; let m = -1; real(k / m) * x", None),
        ("let k = 9223372036854775807; let m = k - 1; real(k - m + m / k) * x", Some(1.0)),
    ] {
        let source = format!("fn f(x, n: int) {{ {body} }}");
        let program = parse_program(&source).unwrap();
        let f = program.lookup("f").unwrap();
        let text = emit_text(&program, f).unwrap();
        let again = parse_program(&text).unwrap_or_else(|e| panic!("{}\n{text}", e[0]));
        for program in [&program, &again] {
            let code = Bytecode::compile(program, program.lookup("f").unwrap()).unwrap();
            let args = [real(1.0), Datum::Int(2)];
            let y = code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args);
            assert_eq!(y.ok(), expected.map(real), "{source}\n{text}");
        }
    }
}

#[test]
fn the_gradient_as_program_text_reads_back_and_runs() {
    let programs: &[(&str, &[Value])] = &[
        ("fn f(a, b) { a / (1 + b * b) }", &[real(1.0), real(2.0)]),
        ("fn f(x) { 3 * x * x + 2 * x + 1 }", &[real(5.0)]),
        ("fn f(a, b) { if a > b { a * sin(b) } else { b } }", &[real(2.0), real(0.5)]),
        (
            "fn f(x, y, n: int) { let mut s = x; for i in 0..n { for j in i..n { s = sin(s) * y + x * real(j); } s *= 0.5; } s }",
            &[real(0.3), real(0.7), Value::Int(5)],
        ),
        (
            "fn f(x, y, n: int) { let mut s = x; for i in 0..n { s = sin(s) * y + x; } s }",
            &[real(0.3), real(0.7), Datum::Int(40)],
        ),
        (
            "fn f(x, y, n: int) { let mut s = x; for i in 0..n { if s > 1 { s *= 0.5; } else { s += x * y; } } s }",
            &[real(0.3), real(0.7), Datum::Int(40)],
        ),
        (
            "fn f(a) { let mut x = a; for i in 0..50 { let y = 0.5 * (x + a / x); let d = y - x; x = y; if d * d < 1e-24 { break; } } x }",
            &[real(2.0)],
        ),
        (
            "fn f(z: complex, x) { abs2(sin(z) * z + x) + im(z) }",
            &[Datum::Complex(Complex::new(0.3, 0.7)), real(0.2)],
        ),
    ];
    for (source, args) in programs {
        let (direct, by_text, text) = both_ways(source, args);
        assert_eq!(format!("{direct}"), format!("{by_text}"), "{text}");
    }
    let (_, y, text) = both_ways(programs[0].0, programs[0].1);
    assert_eq!(y.fields()[1].real(), Some(&0.2), "{text}");
}

#[test]
fn arrays_that_grow_are_written_along() {
    let source =
        "fn f(xs: array, n: int) { let mut s = 0.0; for i in 0..n { s += xs[i] * xs[0]; } s }";
    let args = [Datum::reals([2.0, 3.0]), Datum::Int(2)];
    let (direct, by_text, text) = both_ways(source, &args);
    assert_eq!(format!("{direct}"), format!("{by_text}"), "{text}");
}

/// Cotangents of arrays are collected element by element, and given away as arrays of their shape.
#[test]
fn gradients_in_text_have_the_shapes_that_the_engine_gives() {
    let vector = || Datum::reals([1.0, 2.0, 3.0]);
    let matrix = || Datum::reals_of(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap();
    let zs = || Datum::complexes([Complex::new(1.0, 2.0), Complex::new(0.5, -1.0)]);
    let corpus: &[(&str, Vec<Value>)] = &[
        ("fn f(xs: array) { xs[0] * xs[0] }", vec![vector()]),
        ("fn f(xs: array) { sum(xs) * sum(xs) }", vec![matrix()]),
        ("fn f(xs: array, x) { x * x }", vec![matrix(), real(2.0)]),
        ("fn f(xs: array) { xs[1, 0] * xs[0, 1] }", vec![matrix()]),
        ("fn f(xs: array, ys: array) { sum(sin(xs) * ys) + xs[2] }", vec![vector(), vector()]),
        (
            "fn f(xs: array, n: int) { let mut s = 0.0; for i in 0..n { s += xs[i] * xs[0]; } s }",
            vec![vector(), Datum::Int(2)],
        ),
        (
            "fn f(xs: array, n: int) { let mut s = 1.0; for i in 0..n { s = sin(s) * xs[i]; } s }",
            vec![vector(), Datum::Int(2)],
        ),
        (
            "fn f(xs: array) { let mut ys = xs; ys[1] = ys[0] * ys[0]; ys[1] * ys[0] }",
            vec![vector()],
        ),
        ("fn f(xs: array) { if xs[0] > 0.5 { return xs[1]; } sum(xs) }", vec![vector()]),
        ("fn f(m: array) { sum(row(m, 1)) * m[0, 0] }", vec![matrix()]),
        ("fn f(zs: array<complex>, x) { abs2(zs[0] * x) }", vec![zs(), real(2.0)]),
        (
            "struct P { w: array, b, n: int } fn f(p: P, x) { p.w[1] * x + p.b }",
            vec![Datum::Tuple(vec![vector(), real(2.0), Datum::Int(3)]), real(0.5)],
        ),
        (
            "struct P { b, w: array } fn g(p: P) { p.w[0] * p.b } fn f(p: P, q: (array, real)) { g(p) * q.1 + q.0[1] * q.0[1] }",
            vec![Datum::Tuple(vec![real(2.0), matrix()]), Datum::Tuple(vec![vector(), real(3.0)])],
        ),
    ];
    for (source, args) in corpus {
        let (_, by_text, text) = both_ways(source, args);
        let program = parse_program(source).unwrap();
        let mut d = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
        let (y, gradient) = d.value_and_gradient(args).unwrap();
        let expected = Datum::Tuple([vec![real(y)], gradient].concat());
        assert_eq!(format!("{expected:?}"), format!("{by_text:?}"), "{text}");
        // The formula says so, too.
        let mut program = parse_program(source).unwrap();
        let f = program.lookup("f").unwrap();
        let g = adjoint::gradient(&mut program, f).unwrap();
        assert!(emit_latex(&program, g).unwrap().contains("reshape\\_like"), "{source}");
    }
}

#[test]
fn a_tape_between_functions_is_an_error_with_a_remedy() {
    let source = "fn f(x, n: int) { if n == 0 { 1.0 } else { x * f(x, n - 1) } }";
    let mut program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let g = adjoint::gradient(&mut program, f).unwrap();
    let error = emit_text(&program, g).unwrap_err();
    assert!(
        matches!(&error, EmitError::Unspeakable { what, .. } if what.contains("emit Rust")),
        "{error}"
    );
}

#[test]
fn latex_keeps_precedence_and_names() {
    let latex = |source: &str| {
        let program = parse_program(source).unwrap();
        emit_latex(&program, program.lookup("f").unwrap()).unwrap()
    };
    let line = |source: &str| latex(source).lines().nth(1).unwrap().to_owned();
    assert_eq!(
        line("fn f(a, b) { (a + b) * (a - b) / 2 }"),
        r"f(a, b) &= \frac{\left(a + b\right) \left(a - b\right)}{2}"
    );
    assert_eq!(
        line("fn f(theta) { pow(sin(theta), 2) }"),
        r"f(\theta) &= \sin\left(\theta\right)^{2}"
    );
    assert_eq!(line("fn f(a, b) { a - (b - 1) }"), r"f(a, b) &= a - \left(b - 1\right)");
    assert_eq!(line("fn f(x) { powi(x + 1, 3) }"), r"f(x) &= \left(x + 1\right)^{3}");
    assert_eq!(line("fn f(x1) { sqrt(x1) * 2 }"), r"f(x_{1}) &= \sqrt{x_{1}} \cdot 2");
    // A sign after an operator is in parentheses, and so is a fraction under a power.
    assert_eq!(line("fn f(x) { x * -2.0 }"), r"f(x) &= x \left(-2\right)");
    assert_eq!(
        line("fn f(x, y) { x * -(y + 2) }"),
        r"f(x, y) &= x \left(-\left(y + 2\right)\right)"
    );
    assert_eq!(
        line("fn f(x) { sin(x) - -cos(x) }"),
        r"f(x) &= \sin\left(x\right) - \left(-\cos\left(x\right)\right)"
    );
    assert_eq!(line("fn f(x, y) { pow(y / x, 2) }"), r"f(x, y) &= \left(\frac{y}{x}\right)^{2}");
    let newton = latex("fn f(x, n: int) { let mut p = 1.0; for i in 0..n { p *= x; } p }");
    assert!(newton.contains(r"\textbf{for } i = 0, \dots, n - 1\text{:}"), "{newton}");
    for (head, last) in [
        ("for i in 0..4 {", "3"),
        ("for i in 0..=4 {", "4"),
        ("let mut i = 0; while i <= 4 { i += 1;", "4"),
        ("let mut i = 0; while i <= n { i += 1;", "n"),
    ] {
        let text = latex(&format!("fn f(x, n: int) {{ let mut p = 1.0; {head} p *= x; }} p }}"));
        let expected = format!(r"\textbf{{for }} i = 0, \dots, {last}\text{{:}}");
        assert!(text.contains(&expected), "{head} {text}");
    }
}

/// True if a subscript or a power follows directly on another one, which TeX refuses.
fn stands_on_another(latex: &str) -> bool {
    let mut open: Vec<Option<char>> = Vec::new();
    let mut before = ' ';
    let mut closed = None;
    latex.chars().any(|c| {
        let again = matches!(c, '_' | '^') && before == '}' && closed == Some(c);
        match c {
            '{' => open.push(Some(before).filter(|b| matches!(b, '_' | '^'))),
            '}' => closed = open.pop().flatten(),
            _ => {}
        }
        before = c;
        again
    })
}

#[test]
fn latex_puts_no_subscript_on_a_subscript() {
    assert!(
        stands_on_another(r"x_{1}_{2}") && !stands_on_another(r"{x_{1}}_{2} + \bar{x}_{3}^{2}")
    );
    for source in [
        "fn f(x, n: int) { let mut ys = [x; n]; for i in 1..n { ys[i] = ys[i - 1] * ys[i]; ys[0] += ys[i]; } sum(ys) }",
        "fn g(x) { (x, x * x) } fn f(x, y) { let t = g(x); let u = select(x > y, t, g(y)); u.0 * u.1 * t.1 }",
        "fn f(x1) { pow(pow(x1, 2), 3) * powi(powi(x1, 2), 3) }",
    ] {
        let mut program = parse_program(source).unwrap();
        let f = program.lookup("f").unwrap();
        let g = adjoint::gradient(&mut program, f).unwrap();
        for (f, level) in
            [(f, Level::None), (g, Level::None), (f, Level::Strict), (g, Level::Strict)]
        {
            optimize_all(&mut program, f, level);
            let latex = emit_latex(&program, f).unwrap();
            assert!(!stands_on_another(&latex), "{latex}");
        }
    }
}

#[test]
fn gradcheck_finds_steps_that_fit_and_wrong_rules_where_the_usual_one_does_not() {
    let source = "rule wrong(x) { 1 / x } pullback(x, y, y_bar) { (-1.01 * y * y * y_bar,) }
        fn inverse(x) { 1 / x } fn log(x) { ln(x) } fn size(x) { abs(x) } fn root(x) { sqrt(x) * sin(1e5 * x) }
        fn steep(x) { exp(1e4 * x) } fn pole(x) { 1 / (1 - x) } fn far(x) { sin(x) } fn high(x) { x + 1e16 } fn g(x) { wrong(x) }";
    let program = parse_program(source).unwrap();
    let agree = |name: &str, x: f64| {
        let report = gradcheck(&program, name, &[real(x)], &NoHost, Settings::default()).unwrap();
        let single =
            gradcheck(&program, name, &[Datum::Real(x as f32)], &NoHost, Settings::single())
                .unwrap();
        // No step of single precision fits these.
        let same = report.agree == single.agree
            || ["root", "pole", "far"].contains(&name)
            || x as f32 == 0.0;
        assert!(same, "{name} at {x}: {report:?} {single:?}");
        report.agree
    };
    for (name, x) in [
        ("inverse", 1e-5),
        ("inverse", -1e-9),
        ("inverse", 1e5),
        ("log", 1e-300),
        ("log", 1e-20),
        ("size", 1e-7),
        ("size", -3e-6),
        ("root", 1e-6),
        ("root", 0.5),
        ("steep", 1e-3),
        ("size", 1e-100),
        ("pole", 1.0000001),
        ("far", 1e8),
        // No step tells anything of it.
        ("high", 1.0),
    ] {
        assert!(agree(name, x), "{name} at {x}");
    }
    assert!(!agree("g", 1e-5) && !agree("g", 1e-9) && !agree("g", 0.5));
    for x in [1e-9, 1e-5, 0.5] {
        assert_eq!(
            test_rule(&program, "wrong", &[real(x)], &NoHost, Settings::default()).unwrap().len(),
            1
        );
    }
    // What is wrong by a sign or a thousandth shows in small derivatives, too.
    let source = "rule sign(x) { x * x } pullback(x, y, y_bar) { (-2 * x * y_bar,) }
        rule near(x) { x * x } pullback(x, y, y_bar) { (2.002 * x * y_bar,) }
        fn f(x) { sign(x) } fn g(x) { near(x) }";
    let program = parse_program(source).unwrap();
    for (name, x) in [("f", 1e-8), ("f", 1e-6), ("g", 1e-4), ("g", 1.0)] {
        let report = gradcheck(&program, name, &[real(x)], &NoHost, Settings::default()).unwrap();
        assert!(!report.agree, "{name} at {x}: {report:?}");
    }
}

#[test]
fn gradcheck_has_no_number_where_there_is_no_derivative() {
    for (body, x, differences) in [
        ("sqrt(x * x)", 0.0, None),
        ("sqrt(x * x) * cos(x) + x", 0.0, None),
        ("cbrt(abs(x - 1) * (x - 1) * 0.5 + abs(x - 1))", 1.0, None),
        // A zero that nothing leads to is a constant.
        ("sqrt(0.0) + abs(x)", 0.0, Some(0.0)),
        // There is one, which no engine finds.
        ("cbrt(x * x * x)", 0.0, Some(1.0)),
    ] {
        let program = parse_program(&format!("fn f(x) {{ {body} }}")).unwrap();
        for single in [false, true] {
            let report = if single {
                gradcheck(&program, "f", &[Datum::Real(x as f32)], &NoHost, Settings::single())
                    .unwrap()
            } else {
                gradcheck(&program, "f", &[real(x)], &NoHost, Settings::default()).unwrap()
            };
            let [engines @ .., difference] = report.engines.as_slice() else {
                panic!("no engines")
            };
            let said = report.to_string();
            let is_known = body.starts_with("sqrt(0.0)");
            assert_eq!(report.agree, is_known, "{body}: {said}");
            assert!(engines.iter().all(|e| e.gradient[0].is_nan() != is_known), "{body}: {said}");
            let found = difference.gradient[0];
            match differences {
                Some(right) => assert!((found - right).abs() < 1e-2, "{body}: {said}"),
                None => assert!(
                    found.is_nan() && said.ends_with("there is no derivative"),
                    "{body}: {said}"
                ),
            }
        }
    }
}

#[test]
fn functions_whose_names_differ_in_points_only_stay_apart() {
    let source = "fn f_gradient(x, n: int) { if n < 1 { x } else { f_gradient(x * x, n - 1) } }
        fn f(x) { f_gradient(x, 2) + x }";
    let mut program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let along = adjoint::forward(&mut program, f).unwrap();
    let gradient = program.fresh_name("f.gradient");
    program.functions[along].name = gradient;
    let text = emit_text(&program, along).unwrap();
    let again = parse_program(&text).unwrap_or_else(|e| panic!("{}: {text}", e[0]));
    let code = Bytecode::compile(&again, again.lookup("f_gradient").unwrap()).unwrap();
    let args = [real(2.0), real(1.0)];
    let value = code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args).unwrap();
    assert_eq!(value.fields(), [real(18.0), real(33.0)]);
}

#[test]
fn gradcheck_knows_how_far_differences_are_off() {
    // Rounding x * x turns the sine by more than a step does.
    let smooth =
        "fn f(x) { sin(x * x) } fn wide(x) { sin(1e4 * x * x) } fn close(x) { (x + 1e10) - 1e10 }
        fn lost(x) { (1 - cos(x)) / (x * x) }
        fn cubic(x) { x * x * x - 3e4 * x }";
    // Primitives could be so: both rules are wrong, and only differences tell.
    let wrong = "rule r(x) { sin(x * x) } pullback(x, y, b) { 2.004 * x * cos(x * x) * b } pushforward(x, d) { 2.004 * x * cos(x * x) * d }
        rule s(x) { exp(x) } pullback(x, y, b) { 1.002 * y * b } pushforward(x, d) { 1.002 * exp(x) * d }";
    let program = parse_program(&format!("{smooth} {wrong}")).unwrap();
    for x in [0.7, 1.0, 12.3, 54.0, 100.0] {
        for name in ["f", "wide", "close", "cubic"] {
            let double =
                gradcheck(&program, name, &[real(x)], &NoHost, Settings::default()).unwrap();
            assert!(double.agree, "{name} at {x}: {double}");
            // In single precision one is constant, and the sine of what is off by a whole turn is
            // noise.
            if name == "close" || name == "wide" && x > 1.0 {
                continue;
            }
            let single =
                gradcheck(&program, name, &[Datum::Real(x as f32)], &NoHost, Settings::single())
                    .unwrap();
            assert!(single.agree, "{name} at {x}: {single}");
        }
    }
    for x in [1e-2, 1e-3, 1e-4] {
        let report = gradcheck(&program, "lost", &[real(x)], &NoHost, Settings::default()).unwrap();
        assert!(report.agree, "at {x}: {report}");
    }
    for (name, x) in [("r", 0.7), ("r", 12.3), ("r", 100.0), ("s", -3.0), ("s", 0.5), ("s", 9.0)] {
        let faults = test_rule(&program, name, &[real(x)], &NoHost, Settings::default()).unwrap();
        let rules: Vec<&str> = faults.iter().map(|f| f.rule).collect();
        assert_eq!(rules, ["pullback", "pushforward"], "{name} at {x}");
    }
}

#[test]
fn gradcheck_compares_the_engines_and_calls_twice() {
    let program = parse_program(
        "fn f(x, n: int) { let mut s = x; for i in 0..n { s = sin(s) * x; } s }
         rule bad(x) { x * x } pullback(x, y, y_bar) { x * y_bar } pushforward(x, x_dot) { 2 * x * x_dot }
         fn g(x) { bad(x) }
         fn h(x, y) { (x * y, sin(x)) }",
    )
    .unwrap();
    let settings = Settings::default();
    assert_eq!((settings.eps, settings.absolute, settings.relative), (1e-6, 1e-5, 1e-3));
    let fine = gradcheck(&program, "f", &[real(0.7), Datum::Int(5)], &NoHost, settings).unwrap();
    assert!(fine.agree && fine.reentrant, "{fine:?}");
    assert_eq!(fine.engines.len(), 5);
    assert!(fine.engines.iter().all(|e| e.max_difference < 1e-8), "{fine:?}");
    let wrong = gradcheck(&program, "g", &[real(3.0)], &NoHost, settings).unwrap();
    assert!(!wrong.agree, "{wrong:?}");
    let faults = test_rule(&program, "bad", &[real(3.0)], &NoHost, settings).unwrap();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert_eq!((faults[0].rule, faults[0].by.as_str(), faults[0].given), ("pullback", "x", 3.0));
    let (a, b) = dot_test(&program, "h", &[real(0.3), real(0.7)], &NoHost, settings).unwrap();
    assert!(a != 0.0 && (a - b).abs() < 1e-14, "{a} {b}");
}
