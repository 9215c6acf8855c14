//! `grad(f)(x)`, `jvp`, `vjp`, `hessian` and `value_and_grad` within programs: against formulas,
//! nested, under differentiation from outside, and what cannot be differentiated.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::verify,
    rules::Rules,
    text::{parse_program, parse_program_with},
};
use num_dual::{Dual3_64, Dual64};

const ROUNDING: f64 = 1e-12;

fn reals(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(x) => x.to_vec(),
        Datum::Tuple(all) => all.iter().flat_map(reals).collect(),
        other => panic!("{other:?}"),
    }
}

fn value(source: &str, args: &[Datum<f64>]) -> Datum<f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    assert_eq!(verify(&program), []);
    Derivatives::<f64>::new(&program, "f").unwrap().value(args).unwrap()
}

#[track_caller]
fn close(found: &[f64], right: &[f64], what: &str) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= ROUNDING * (1.0 + b.abs());
    assert!(
        found.len() == right.len() && found.iter().zip(right).all(near),
        "{what}: {found:?}, not {right:?}"
    );
}

#[track_caller]
fn gives(source: &str, args: &[Datum<f64>], right: &[f64]) {
    close(&reals(&value(source, args)), right, source);
}

/// `sin(x) exp(x)` has the derivatives `2^(n/2) sin(x + n pi/4) exp(x)`.
fn known(x: f64, n: i32) -> f64 {
    2f64.sqrt().powi(n) * (x + f64::from(n) * std::f64::consts::FRAC_PI_4).sin() * x.exp()
}

#[test]
fn gradients_nest_to_any_order() {
    let x = 0.7;
    let mut f = "g".to_owned();
    for n in 1..=5 {
        f = format!("grad({f})");
        gives(
            &format!("fn g(x) {{ sin(x) * exp(x) }} fn f(x) {{ {f}(x) }}"),
            &[Datum::Real(x)],
            &[known(x, n)],
        );
    }
    // Through functions that differentiate functions, in any order of definition.
    let source = "fn f(x) { grad(second)(x) } fn second(x) { grad(first)(x) } fn first(y) { grad(g)(y) } fn g(x) { sin(x) * exp(x) }";
    gives(source, &[Datum::Real(x)], &[known(x, 3)]);
    // With what is around it.
    let source =
        "fn g(x) { sin(x) * exp(x) } fn h(x) { x * grad(g)(x * x) } fn f(x) { grad(h)(x) }";
    gives(source, &[Datum::Real(x)], &[known(x * x, 1) + 2.0 * x * x * known(x * x, 2)]);
}

#[test]
fn what_they_give_is_differentiated_from_outside() {
    let source = "fn g(x, n: int) { let mut y = x; for i in 0..n { y = sin(y) * exp(y); } y } fn f(x, n: int) { grad(g)(x, n) * x }";
    let program = parse_program(source).unwrap();
    let by_hand = parse_program(
        "fn f(x, n: int) { let mut y = x; for i in 0..n { y = sin(y) * exp(y); } y }",
    )
    .unwrap();
    let x = 0.4;
    let mut d = Derivatives::<Dual3_64>::new(&by_hand, "f").unwrap();
    let at = Dual3_64::new(x, 1.0, 0.0, 0.0);
    let y = *d.value(&[Datum::Real(at), Datum::Int(2)]).unwrap().real().unwrap();
    let right = [y.v1 * x, y.v1 + x * y.v2, 2.0 * y.v2 + x * y.v3];
    let args = [Datum::Real(x), Datum::Int(2)];
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let found = [
        *d.value(&args).unwrap().real().unwrap(),
        *d.gradient(&args).unwrap()[0].real().unwrap(),
        d.hessian(&args).unwrap()[0][0],
    ];
    close(&found, &right, "reverse");
    let mut d = Derivatives::<Dual64>::new(&program, "f").unwrap();
    let args = [Datum::Real(Dual64::new(x, 1.0)), Datum::Int(2)];
    let (y, g) = d.value_and_gradient(&args).unwrap();
    let g = g[0].real().unwrap();
    close(&[y.re, y.eps, g.re, g.eps], &[right[0], right[1], right[1], right[2]], "duals");
    #[cfg(feature = "jit")]
    {
        let args = [Datum::Real(x), Datum::Int(2)];
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap().with_jit();
        close(&[*d.gradient(&args).unwrap()[0].real().unwrap()], &right[1..2], "compiled");
    }
}

#[test]
fn arrays_structs_and_several_parameters() {
    let x = [Datum::reals([1.0, -2.0, 0.5])];
    let of = "fn g(x: array) { x[0] * x[0] * x[1] + sum(x) * 2.0 } ";
    gives(
        &format!("{of} fn f(x: array) {{ grad(g)(x) }}"),
        &x,
        &[2.0 * -2.0 + 2.0, 1.0 + 2.0, 2.0],
    );
    gives(
        &format!("{of} fn f(x: array) {{ let (y, d) = value_and_grad(g)(x); y * d }}"),
        &x,
        &[6.0, -9.0, -6.0],
    );
    gives(
        &format!("{of} fn f(x: array) {{ hessian(g)(x) }}"),
        &x,
        &[-4.0, 2.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0],
    );
    // All elements exist, of parts that nothing leads to, too.
    gives(
        "fn g(x: array) { x[0] } fn f(x: array) { grad(g)(x) + grad(g)(2 * x) }",
        &x,
        &[2.0, 0.0, 0.0],
    );
    let m = [Datum::reals_of(&[2, 2], vec![1.0, 2.0, 3.0, 4.0]).unwrap()];
    let found = value("fn g(m: array) { m[1, 0] * m[0, 1] } fn f(m: array) { grad(g)(m) }", &m);
    assert_eq!(found.to_string(), "[[0.0, 3.0], [2.0, 0.0]]");
    gives(
        "fn g(m: array) { det(m) } fn f(m: array) { trace(hessian(g)(m)) + hessian(g)(m)[0, 3] }",
        &m,
        &[1.0],
    );
    // By the first parameter.
    let args = [Datum::Real(3.0), Datum::Real(5.0)];
    gives("fn g(x, y) { x * x * y } fn f(x, y) { grad(g)(x, y) }", &args, &[30.0]);
    gives("fn g(x, y) { x * x * y } fn f(x, y) { grad(grad(g))(x, y) }", &args, &[10.0]);
    gives("fn g(x, y) { x * x * y } fn f(x, y) { hessian(g)(x, y) }", &args, &[10.0]);
    gives("fn g(x, y) { x * x * y } fn f(x, y) { vjp(g)(x, y, 2) }", &args, &[60.0, 18.0]);
    gives("fn g(x, y) { x * x * y } fn f(x, y) { jvp(g)(x, y, 1, 0.5) }", &args, &[45.0, 34.5]);
    gives(
        "fn g(x, n: int) { powi(x, n) } fn f(x, y) { vjp(g)(x, 3, 1.0) + jvp(g)(x, 2, y).1 }",
        &args,
        &[57.0],
    );
    gives(
        "struct P { a, n: int, b: array } fn g(p: P) { p.a * p.b[1] * real(p.n) }
         fn f(x, y) { let p = P { a: x, n: 2, b: [x, y, x] }; let d = grad(g)(p); d.a + sum(d.b) * 10.0 }",
        &args,
        &[10.0 + 60.0],
    );
    // Gradients of functions with rules go by them, and of iterations of them.
    gives(
        "rule r(x) { x } pullback(x, y, y_bar) { 7.0 * y_bar } fn g(x) { r(x) * x } fn f(x, y) { grad(g)(x) }",
        &args,
        &[3.0 + 21.0],
    );
    // Newton's method, and gradient descent, as programs.
    gives(
        "fn g(x) { exp(x) - 2.0 * x }
         fn f(x) { let mut y = x; for i in 0..20 { y -= grad(g)(y) / hessian(g)(y); } y }",
        &args[..1],
        &[2f64.ln()],
    );
}

/// Descent on a quadratic, differentiated by its rate: `x (1 - 2 r)^n` has the slope
/// `-2 n x (1 - 2 r)^(n - 1)`.
#[test]
fn descent_is_differentiated_by_its_rate() {
    let source = "fn loss(x: array) { dot(x, x) }
         fn f(r) { let mut x = [1.0, 3.0]; for i in 0..5 { x -= r * grad(loss)(x); } sum(x) }";
    let program = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let (y, g) = d.value_and_gradient(&[Datum::Real(0.1)]).unwrap();
    close(&[y, *g[0].real().unwrap()], &[4.0 * 0.8f64.powi(5), -40.0 * 0.8f64.powi(4)], "descent");
}

#[test]
fn what_cannot_be_differentiated_is_told() {
    for (source, message) in [
        ("fn f(x) { grad(g)(x) }", "1:16: no function `g`"),
        (
            "fn gain(x) { x } fn f(x) { grad(gian)(x) }",
            "1:33: no function `gian`: did you mean `gain`?",
        ),
        (
            "fn f(x) { grad(sin)(x) }",
            "1:16: expected a function of the text, such as `fn g(x) { … }`, given `sin`, which the language has: let one call it",
        ),
        (
            "fn g(x) { [x] } fn f(x) { grad(g)(x) }",
            "1:27: expected a function that gives a real number in `grad`, given one that gives array<real>",
        ),
        (
            "fn g(n: int, x) { x } fn f(x) { grad(g)(1, x) }",
            "1:33: expected a function of a first parameter that can be differentiated by in `grad`, given one of int",
        ),
        (
            "fn g() { 1.0 } fn f(x) { vjp(g)(x) }",
            "1:26: expected a function with a parameter that can be differentiated by in `vjp`, given one without",
        ),
        ("fn g(x) { x } fn f(x) { grad(g)(x, x) }", "1:25: `grad(g)` takes 1 argument, given 2"),
        (
            "fn g(x) { x } fn f(x) { jvp(grad(g))(x) }",
            "1:25: `jvp(grad(g))` takes 2 arguments, given 1",
        ),
        (
            "fn g(x) { x } fn f(x) { grad(g) }",
            "1:25: expected a call of the derivative, `grad(f)(x)` of a function f of the text, given `grad` without a call",
        ),
        (
            "fn f(x) { x * grad(f)(x - 1) }",
            "1:15: `f` cannot be differentiated: `f` asks for this derivative itself",
        ),
        (
            "fn g(x) { f(x) } fn f(x) { grad(g)(x) }",
            "1:28: `g` cannot be differentiated: `g` asks for this derivative itself",
        ),
        ("fn g(z: complex) { abs2(z) } fn f(x) { hessian(g)(x) }", "given one of complex"),
        ("fn g(x) { x } fn f(x) { g(x)(x) }", "1:29: expected"),
    ] {
        let errors = parse_program(source).unwrap_err();
        assert!(errors[0].to_string().contains(message), "{source}: {}", errors[0]);
    }
    // What would take too long is not begun.
    let mut source = "fn f0(x) { sin(x) * exp(x) * x }".to_owned();
    for k in 1..40 {
        source += &format!(" fn f{k}(x) {{ grad(f{})(x) * x * sin(x) }}", k - 1);
    }
    let errors = parse_program(&source).unwrap_err();
    assert!(
        errors[0].to_string().contains("the instructions of derivatives are more than"),
        "{}",
        errors[0]
    );
}

/// A function that is registered under a name does not replace the function of the text, nor does
/// its derivative.
#[test]
fn functions_of_the_text_go_before_registered_ones() {
    let registered = parse_program("fn g(x) { x * x } rule used(x) { grad(g)(x) }").unwrap();
    let rules = Rules::from_program(registered);
    let read = |source: &str| {
        let program =
            parse_program_with(source, &rules).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        let (y, g) = d.value_and_gradient(&[Datum::Real(3.0)]).unwrap();
        [y, *g[0].real().unwrap()]
    };
    assert_eq!(read("fn f(x) { used(x) + grad(g)(x) }"), [12.0, 4.0]);
    assert_eq!(read("fn g(x) { 5.0 * x } fn f(x) { used(x) + grad(g)(x) }"), [11.0, 2.0]);
    assert_eq!(read("fn f(x) { grad(used)(x) * x }"), [6.0, 2.0]);
}

/// A function of such a name of one's own is one.
/// `f::grad(x)`, as in Rust.
#[test]
fn paths_are_transforms() {
    let x = 0.7;
    let g = "fn g(x) { sin(x) * exp(x) }";
    gives(&format!("{g} fn f(x) {{ g::grad(x) }}"), &[Datum::Real(x)], &[known(x, 1)]);
    gives(
        &format!("{g} fn f(x) {{ g::hessian(x) + 2 * g::grad::jvp(x, 1).1 }}"),
        &[Datum::Real(x)],
        &[3.0 * known(x, 2)],
    );
    // Both ways of writing it are one function.
    let program = parse_program(&format!("{g} fn f(x) {{ g::grad(x) + grad(g)(x) }}")).unwrap();
    assert_eq!(program.functions.values().filter(|f| f.name.starts_with("g.grad")).count(), 2);
    for (source, message) in [
        ("fn g(x) { x } fn f(x) { g::gradient(x) }", "1:28: expected `grad`, `value_and_grad`"),
        ("fn g(x) { x } fn f(x) { g::grad }", "1:33: expected `(`"),
        ("fn g(x) { x } fn f(x) { g::grad(x, x) }", "1:25: `grad(g)` takes 1 argument, given 2"),
        ("fn f(x) { sin::grad(x) }", "which the language has"),
        ("fn f(x) { h::grad(x) }", "1:11: no function `h`"),
    ] {
        let errors = parse_program(source).unwrap_err();
        let all = errors[0].to_string();
        assert!(all.contains(message), "{source}: {all}");
    }
}

#[test]
fn names_of_derivatives_are_free() {
    gives("fn grad(x) { 2 * x } fn f(x) { grad(x) }", &[Datum::Real(3.0)], &[6.0]);
    gives("fn f(x) { let jvp = x; jvp * x }", &[Datum::Real(3.0)], &[9.0]);
}

#[test]
fn functions_of_matrices_say_what_they_take() {
    for (source, words) in [
        (
            "fn g(x: array) { sum(x) } fn f(a: array) { sum(matrix_function(g)(a)) }",
            "a function of a real number that gives one",
        ),
        (
            "fn g(x) { (x, x) } fn f(a: array) { sum(matrix_function(g)(a)) }",
            "a function of a real number that gives one",
        ),
        ("fn g(x) { x } fn f(a) { matrix_function(g)(a) }", "array"),
        ("fn g(x) { x } fn f(a: array) { sum(matrix_function(g)(a, 1.0)) }", "matrix_function(g)"),
        ("fn g(x) { x } fn f(a: array) { sum(matrix_function(g)) }", "matrix_function(f)(x)"),
        ("fn f(a: array) { sum(matrix_function(sqrt)(a)) }", "sqrt"),
    ] {
        let errors = parse_program(source).unwrap_err();
        assert!(errors.iter().any(|e| e.to_string().contains(words)), "{source}: {errors:?}");
    }
    // The root of a matrix, squared; one of no rows; one that is not square.
    let root =
        "fn root(x) { sqrt(x) } fn f(a: array) { let r = matrix_function(root)(a); matmul(r, r) }";
    let a = Datum::reals_of(&[2, 2], vec![2.0, 1.0, 1.0, 3.0]).unwrap();
    close(&reals(&value(root, &[a])), &[2.0, 1.0, 1.0, 3.0], root);
    let empty = Datum::reals_of(&[0, 0], vec![]).unwrap();
    assert_eq!(reals(&value(root, &[empty])), Vec::<f64>::new());
    let wide = Datum::reals_of(&[1, 2], vec![2.0, 1.0]).unwrap();
    let program = parse_program(root).unwrap();
    let said =
        Derivatives::<f64>::new(&program, "f").unwrap().value(&[wide]).unwrap_err().to_string();
    assert!(said.contains("square matrix"), "{said}");
}
