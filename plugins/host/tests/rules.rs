//! Loaded rules on every kind of number, against closed forms.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::f64::consts::PI;

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine},
    scalar::{Real, Scalar, Uncertain},
    tape::Tape,
    text::parse_program_with,
    trace::{Callee, Expr, trace},
};
use ketgrad_plugin_host::{Plugins, Request};
use num_complex::Complex;
use num_dual::{Dual2_64, Dual64, HyperDual64};

use crate::support;

/// Rounding of a few operations on numbers around 1.
pub(crate) const ROUNDING: f64 = 1e-13;

pub(crate) fn close(given: f64, expected: f64) {
    let far = (given - expected).abs();
    assert!(far <= ROUNDING * (1.0 + expected.abs()), "{given} instead of {expected}");
}

pub(crate) fn request(name: &str) -> Request {
    Request::default().with_name(name.to_owned()).with_candidates(vec![support::plugin(name)])
}

/// The special functions, and a rule that is a program alone.
pub(crate) fn plugins() -> Plugins {
    let mut plugins = Plugins::new(support::settings());
    plugins.load(&request("ketgrad_special")).unwrap();
    let softplus =
        "rule softplus(x) { ln(1.0 + exp(x)) } pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }";
    plugins.add_program("the config", softplus).unwrap();
    plugins
}

#[test]
fn programs_whose_derivatives_are_wrong_are_refused() {
    let square = |pullback: &str| format!("rule square(x) {{ x * x }} {pullback}");
    let wrong = [
        (square("pullback(x, y, y_bar) { 3 * x * y_bar }"), "pullback"),
        (square("pushforward(x, x_dot) { 3 * x * x_dot }"), "pushforward"),
        (
            "rule product(x, y) { x * y } pullback(x, y, z, z_bar) { (x * z_bar, y * z_bar) }"
                .into(),
            "pullback",
        ),
        (
            "rule turned(z: complex) { z * z } pullback(z, y, y_bar) { 2 * z * y_bar }".into(),
            "pullback",
        ),
        (
            square("pullback(x, y, y_bar) { sqrt(-1 - x * x) * y_bar }"),
            "pullback gives no finite number",
        ),
    ];
    for (source, way) in wrong {
        let mut plugins = Plugins::new(support::settings());
        let error = plugins.add_program("the config", &source).unwrap_err().to_string();
        assert!(error.contains(way) && error.contains("differences give"), "{error}");
        assert!(plugins.rules().program().functions.is_empty());
        let mut plugins = Plugins::new(support::settings().with_verify(false));
        plugins.add_program("the config", &source).unwrap();
        assert!(plugins.verify()[0].disagreement.is_some(), "{source}");
    }
    let right = [
        square("pullback(x, y, y_bar) { 2 * x * y_bar } pushforward(x, x_dot) { 2 * x * x_dot }"),
        "rule turned(z: complex) { z * z } pullback(z, y, y_bar) { 2 * conj(z) * y_bar }".into(),
        "rule length(z: complex) { abs2(z) } pullback(z, y, y_bar) { 2 * z * y_bar }".into(),
        "rule power(x, n: int) { powi(x, n) } pullback(x, n, y, y_bar) { (real(n) * powi(x, n - 1) * y_bar, none) }".into(),
        "rule squares(x: array) { x * x } pullback(x, y, y_bar) { 2 * x * y_bar }".into(),
        "rule endless(x) { while true { } x } pullback(x, y, y_bar) { y_bar }".into(),
    ];
    for source in right {
        let mut plugins = Plugins::new(support::settings());
        plugins.add_program("the config", &source).unwrap();
        let verdict = &plugins.verify()[0];
        assert_eq!(verdict.note.is_some(), source.contains("endless"), "{verdict:?}");
    }
}

/// The value, gradient and Hessian of a program's last function at a point.
pub(crate) fn derivatives(
    plugins: &Plugins,
    source: &str,
    at: &[f64],
) -> (f64, Vec<f64>, Vec<Vec<f64>>) {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let at: Vec<Datum<f64>> = at.iter().map(|x| Datum::Real(*x)).collect();
    let (y, gradient) = f.value_and_gradient(&at).unwrap();
    let gradient = gradient.iter().map(|d| *d.real().unwrap()).collect();
    (y, gradient, f.hessian(&at).unwrap())
}

/// `f(x)` on any scalar.
pub(crate) fn value<T: Real, S: Scalar<Real = T>>(
    plugins: &Plugins,
    source: &str,
    x: Datum<S>,
) -> Datum<S> {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    code.call(&mut Machine::new(), &*plugins.host(), &Limits::default(), &[x]).unwrap()
}

#[test]
fn value_gradient_and_hessian_equal_the_closed_forms() {
    let plugins = plugins();
    let slope = |x: f64| 2.0 / PI.sqrt() * (-x * x).exp();

    // erf(a b) + softplus(a)
    let (a, b) = (0.7, -0.4);
    let (y, gradient, hessian) =
        derivatives(&plugins, "fn f(a, b) { erf(a * b) + softplus(a) }", &[a, b]);
    let (t, sigmoid) = (a * b, 1.0 / (1.0 + (-a).exp()));
    close(y, libm_erf(t) + a.exp().ln_1p());
    close(gradient[0], slope(t) * b + sigmoid);
    close(gradient[1], slope(t) * a);
    let second = -2.0 * t * slope(t);
    close(hessian[0][0], second * b * b + sigmoid * (1.0 - sigmoid));
    close(hessian[0][1], second * t + slope(t));
    close(hessian[1][0], hessian[0][1]);
    close(hessian[1][1], second * a * a);

    // Gamma(3) = 2, Gamma'(3) = 2 psi(3), Gamma'' = Gamma (psi^2 + psi')
    let (y, gradient, hessian) = derivatives(&plugins, "fn f(x) { gamma(x) }", &[3.0]);
    let psi = 1.5 - 0.577_215_664_901_532_9;
    close(y, 2.0);
    close(gradient[0], 2.0 * psi);
    close(hessian[0][0], 2.0 * (psi * psi + PI * PI / 6.0 - 1.25));

    // x^2 J0'' + x J0' + x^2 J0 = 0, and the same of Y2 with x^2 - 4
    for (name, n) in [("bessel_j", 0), ("bessel_y", 2)] {
        let x = 1.7;
        let (y, gradient, hessian) =
            derivatives(&plugins, &format!("fn f(x) {{ {name}({n}, x) }}"), &[x]);
        let rest = x * x * hessian[0][0] + x * gradient[0] + (x * x - f64::from(n * n)) * y;
        assert!(rest.abs() < ROUNDING * 10.0, "{name}: {rest}");
    }

    // W e^W = x: W' = W / (x (1 + W)), W'' = -W^2 (W + 2) / (x^2 (1 + W)^3)
    for (name, x) in [("lambert_w", 0.8), ("lambert_w", -0.2), ("lambert_w_minus", -0.2)] {
        let (w, gradient, hessian) =
            derivatives(&plugins, &format!("fn f(x) {{ {name}(x) }}"), &[x]);
        close(w * w.exp(), x);
        close(gradient[0], w / (x * (1.0 + w)));
        close(hessian[0][0], -w * w * (w + 2.0) / (x * x * (1.0 + w).powi(3)));
    }
}

pub(crate) fn libm_erf(x: f64) -> f64 {
    // erf(x) = x sum (-1)^k x^(2k) / (k! (2k+1)) 2/sqrt(pi), for small x.
    let mut term = x;
    let mut sum = 0.0;
    for k in 0..30 {
        let k = f64::from(k);
        sum += term / (2.0 * k + 1.0);
        term *= -x * x / (k + 1.0);
    }
    2.0 / PI.sqrt() * sum
}

/// P(1, x) = 1 - e^-x, and by a at a = 1 the integral of its derivative; I_x(1, b) = 1 - (1-x)^b,
/// I_x(a, 1) = x^a.
#[test]
fn incomplete_functions_have_all_their_derivatives() {
    let plugins = plugins();
    let x: f64 = 0.6;
    let (y, gradient, hessian) = derivatives(&plugins, "fn f(a, x) { gamma_p(a, x) }", &[1.0, x]);
    close(y, 1.0 - (-x).exp());
    close(gradient[1], (-x).exp());
    close(hessian[1][1], -(-x).exp());
    // By x and a: e^-x (ln x - psi(1)).
    close(hessian[0][1], (-x).exp() * (x.ln() + 0.577_215_664_901_532_9));
    let (q, other, _) = derivatives(&plugins, "fn f(a, x) { gamma_q(a, x) }", &[1.0, x]);
    close(q, 1.0 - y);
    close(other[0], -gradient[0]);

    for x in [0.2, 0.9] {
        let (y, gradient, hessian) =
            derivatives(&plugins, "fn f(a, b, x) { beta_inc(a, b, x) }", &[1.0, 2.5, x]);
        let rest = 1.0 - x;
        close(y, 1.0 - rest.powf(2.5));
        close(gradient[1], -rest.powf(2.5) * rest.ln());
        close(gradient[2], 2.5 * rest.powf(1.5));
        close(hessian[1][2], rest.powf(1.5) * (1.0 + 2.5 * rest.ln()));
        let (y, gradient, _) =
            derivatives(&plugins, "fn f(a, b, x) { beta_inc(a, b, x) }", &[1.7, 1.0, x]);
        close(y, x.powf(1.7));
        close(gradient[0], x.powf(1.7) * x.ln());
    }
}

#[test]
fn derivatives_of_rules_have_a_limit() {
    let second = |size| {
        let mut plugins = Plugins::new(support::settings().with_derivative_size(size));
        plugins.load(&request("ketgrad_special")).unwrap();
        let program = parse_program_with("fn f(x) { erf(x) }", plugins.rules()).unwrap();
        let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
        let at = [Datum::Real(Dual2_64::new(0.7, 1.0, 0.0))];
        code.call(&mut Machine::<Dual2_64>::new(), &*plugins.host(), &Limits::default(), &at)
    };
    let error = second(5).unwrap_err().to_string();
    assert!(error.contains("derivative of order 1 takes more than 5 instructions"), "{error}");
    assert!(
        error.contains("`Settings::derivative_size`") && error.contains("plugin `ketgrad_special`"),
        "{error}"
    );
    let most = second(support::settings().derivative_size).unwrap();
    close(most.real().unwrap().v1, 2.0 / PI.sqrt() * (-0.49f64).exp());
    assert_eq!(second(10_000), Ok(most));
}

#[test]
fn numbers_that_carry_derivatives_get_them() {
    let plugins = plugins();
    let source = "fn f(x) { x * erf(x) }";
    let (x, slope) = (0.7, |x: f64| 2.0 / PI.sqrt() * (-x * x).exp());
    let first = libm_erf(x) + x * slope(x);
    let second = 2.0 * slope(x) - 2.0 * x * x * slope(x);

    let Datum::Real(y) = value::<_, Dual64>(&plugins, source, Datum::Real(Dual64::new(x, 1.0)))
    else {
        panic!()
    };
    close(y.eps, first);
    let at = Dual2_64::new(x, 1.0, 0.0);
    let Datum::Real(y) = value::<_, Dual2_64>(&plugins, source, Datum::Real(at)) else { panic!() };
    close(y.v1, first);
    close(y.v2, second);
    let at = HyperDual64::new(x, 1.0, 1.0, 0.0);
    let Datum::Real(y) = value::<_, HyperDual64>(&plugins, source, Datum::Real(at)) else {
        panic!()
    };
    close(y.eps1eps2, second);
    let Datum::Real(y) = value::<_, f32>(&plugins, source, Datum::Real(0.7f32)) else { panic!() };
    assert!((f64::from(y) - x * libm_erf(x)).abs() < 1e-6);
    let at = Uncertain::new(x, 0.01);
    let Datum::Real(y) = value::<_, Uncertain>(&plugins, source, Datum::Real(at)) else { panic!() };
    close(y.sigma(), 0.01 * first.abs());

    // An infinite argument has a value on all of them.
    let source = "fn f(x) { erf(x) }";
    let endless = f64::INFINITY;
    assert_eq!(value::<_, f32>(&plugins, source, Datum::Real(f32::INFINITY)), Datum::Real(1.0));
    let at = Dual64::new(endless, 1.0);
    let Datum::Real(y) = value::<_, Dual64>(&plugins, source, Datum::Real(at)) else { panic!() };
    assert_eq!((y.re, y.eps), (1.0, 0.0));
    let at = Uncertain::exact(-endless);
    assert_eq!(
        value::<_, Uncertain>(&plugins, source, Datum::Real(at)),
        Datum::Real(Uncertain::exact(-1.0))
    );
}

/// The same name on complex numbers: erf(i) and its derivative.
#[test]
fn complex_numbers_take_the_complex_rule() {
    let plugins = plugins();
    let source = "fn f(z: complex) { erf(z) }";
    let z = Complex::new(0.3, 0.8);
    let slope = |z: Complex<f64>| (-z * z).exp() * (2.0 / PI.sqrt());
    let Datum::Complex(y) = value::<f64, Complex<f64>>(&plugins, source, Datum::Complex(z)) else {
        panic!()
    };
    // The series converges everywhere.
    let mut term = z;
    let mut sum = Complex::new(0.0, 0.0);
    for k in 0..40 {
        sum += term / (2.0 * f64::from(k) + 1.0);
        term = -term * z * z / (f64::from(k) + 1.0);
    }
    assert!((y - sum * (2.0 / PI.sqrt())).norm() < ROUNDING, "{y}");

    // On complex duals the series about z.
    let dual = Complex::new(Dual64::new(z.re, 1.0), Dual64::new(z.im, 0.0));
    let Datum::Complex(y) =
        value::<Dual64, Complex<Dual64>>(&plugins, source, Datum::Complex(dual))
    else {
        panic!()
    };
    assert!((Complex::new(y.re.eps, y.im.eps) - slope(z)).norm() < ROUNDING);

    // abs2(erf(z)) has the gradient 2 erf(z) conj(erf'(z)).
    let program = parse_program_with("fn f(z: complex) { abs2(erf(z)) }", plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_host(&*host);
    let gradient = f.gradient(&[Datum::Complex(z)]).unwrap();
    let expected = sum * (2.0 / PI.sqrt()) * slope(z).conj() * 2.0;
    assert!((gradient[0].complex().unwrap() - expected).norm() < ROUNDING * 10.0);
}

/// The rules of complex numbers, as programs: functional equations, and derivatives that are those
/// of the closed forms.
#[test]
fn complex_rules_have_their_values_and_derivatives() {
    let plugins = plugins();
    let host = plugins.host();
    let z = Complex::new(-0.6, 0.8);
    let one = Complex::new(1.0, 0.0);
    let near = |given: Complex<f64>, expected: Complex<f64>, what: &str| {
        assert!(
            (given - expected).norm() < 20.0 * ROUNDING * (1.0 + expected.norm()),
            "{what}: {given} {expected}"
        );
    };
    // The value, and the first and second derivatives by z: of a holomorphic function they come
    // from duals.
    let at = |source: &str, z: Complex<f64>| {
        let seed = |re: f64| Dual2_64::new(re, 0.0, 0.0);
        let moved = Complex::new(Dual2_64::new(z.re, 1.0, 0.0), seed(z.im));
        let program = format!("fn f(z: complex) {{ {source} }}");
        let given = value::<Dual2_64, Complex<Dual2_64>>(&plugins, &program, Datum::Complex(moved));
        let Datum::Complex(y) = given else { panic!() };
        (
            Complex::new(y.re.re, y.im.re),
            Complex::new(y.re.v1, y.im.v1),
            Complex::new(y.re.v2, y.im.v2),
        )
    };
    // Gamma(z+1) = z Gamma(z), with its derivatives; psi = Gamma' / Gamma, psi' = (ln Gamma)''
    let (g, g1, g2) = at("gamma(z)", z);
    let (next, next1, _) = at("gamma(z)", z + one);
    near(next, z * g, "Gamma(z+1)");
    near(next1, g + z * g1, "Gamma'(z+1)");
    let (psi, psi1, psi2) = at("digamma(z)", z);
    near(g1, g * psi, "Gamma'");
    near(g2, g * (psi * psi + psi1), "Gamma''");
    let (l, l1, l2) = at("lgamma(z)", z);
    near(l.exp(), g, "ln Gamma");
    near(l1, psi, "ln Gamma'");
    near(l2, psi1, "ln Gamma''");
    let (p, p1, _) = at("polygamma(1, z)", z);
    near(p, psi1, "psi'");
    near(p1, psi2, "psi''");
    // Bessel's equation, and the Wronskian J Y' - J' Y = 2 / (pi z)
    let (j, j1, j2) = at("bessel_j(2, z)", z);
    near(z * z * j2 + z * j1 + (z * z - 4.0 * one) * j, Complex::new(0.0, 0.0), "J2");
    let (y, y1, y2) = at("bessel_y(2, z)", z);
    near(z * z * y2 + z * y1 + (z * z - 4.0 * one) * y, Complex::new(0.0, 0.0), "Y2");
    near(j * y1 - j1 * y, (z * PI).inv() * 2.0, "Wronskian");
    // w e^w = z, w' = w / (z (1 + w))
    for (name, below) in [("lambert_w", false), ("lambert_w_minus", true)] {
        let (w, w1, w2) = at(&format!("{name}(z)"), z);
        near(w * w.exp(), z, name);
        near(w1, w / (z * (one + w)), name);
        near(w2, -w * w * (w + 2.0) / (z * z * (one + w).powi(3)), name);
        assert_eq!(w.im < -1.0, below, "{w}");
    }
    // Backwards: |f|^2 has the gradient 2 f conj(f').
    for source in [
        "gamma(z)",
        "lgamma(z)",
        "digamma(z)",
        "polygamma(2, z)",
        "bessel_j(1, z)",
        "bessel_y(0, z)",
        "lambert_w(z)",
        "lambert_w_minus(z)",
    ] {
        let program =
            parse_program_with(&format!("fn f(z: complex) {{ abs2({source}) }}"), plugins.rules())
                .unwrap();
        let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_host(&*host);
        let gradient = f.gradient(&[Datum::Complex(z)]).unwrap();
        let (value, slope, _) = at(source, z);
        near(*gradient[0].complex().unwrap(), 2.0 * value * slope.conj(), source);
    }
    // Left of zero the real rules have derivatives, too: psi'(-1/2) = pi^2 / 2 + 4.
    let (_, gradient, _) = derivatives(&plugins, "fn f(x) { digamma(x) }", &[-0.5]);
    close(gradient[0], PI * PI / 2.0 + 4.0);
}

#[test]
fn symbols_record_the_call_and_differentiate_it() {
    let plugins = plugins();
    let erf = Callee::registered(plugins.rules(), "erf").unwrap().with_host(plugins.host());
    // On numbers it runs by the kernel.
    assert_eq!(erf.call(&[0.5]).unwrap(), libm_like(&plugins, 0.5));
    let recorded = trace("f", &["x"], |x: Expr| erf.call(&[x.clone() * &x])).unwrap();
    assert_eq!(recorded.compact(), "f(x) = erf(x*x)");
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(recorded.program(), "f").unwrap().with_host(&*host);
    let x = 0.6f64;
    let (_, gradient) = f.value_and_gradient(&[Datum::Real(x)]).unwrap();
    close(*gradient[0].real().unwrap(), 2.0 * x * 2.0 / PI.sqrt() * (-x.powi(4)).exp());
}

fn libm_like(plugins: &Plugins, x: f64) -> f64 {
    let Datum::Real(y) = value::<_, f64>(plugins, "fn f(x) { erf(x) }", Datum::Real(x)) else {
        panic!()
    };
    y
}

#[test]
fn a_tape_takes_rules() {
    let plugins = plugins();
    let erf = plugins.operator::<f64>("erf").unwrap();
    let tape = Tape::new();
    let x = tape.variable("x", 0.7);
    let y = tape.apply(&erf, std::slice::from_ref(&x)).unwrap();
    y.backward().unwrap();
    close(y.value(), libm_erf(0.7));
    close(x.gradient(), 2.0 / PI.sqrt() * (-0.49f64).exp());
    assert!(plugins.operator::<f64>("bessel_j").unwrap_err().contains("numbers"));
}

fn native_erf<S: ketgrad::Number>(_: S) -> S {
    S::lit(f64::NAN)
}

ketgrad::program! {
    primitive erf(x) -> real = super::native_erf;
    fn scaled(a, b) { a * erf(a * b) }
}

#[test]
fn programs_inside_rust_call_rules() {
    let plugins = plugins();
    let program = scaled::ir_with(plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "scaled").unwrap().with_host(&*host);
    let (a, b) = (0.5, 0.9);
    let (y, gradient) = f.value_and_gradient(&[Datum::Real(a), Datum::Real(b)]).unwrap();
    close(y, a * libm_erf(a * b));
    close(*gradient[1].real().unwrap(), a * a * 2.0 / PI.sqrt() * (-a * b * a * b).exp());
}

mod over {
    use ketgrad::array::Array;

    fn native_erfs<S: ketgrad::Number>(x: Array<S>) -> Array<S> {
        x.map(|_| S::lit(f64::NAN))
    }

    ketgrad::program! {
        primitive erf(x: array) -> array = super::native_erfs;
        pub fn total(a, b) { sum(erf([a, a * b])) }
    }
}

/// A primitive over arrays is the rule of that name, element by element.
#[test]
fn programs_inside_rust_call_rules_over_arrays() {
    let plugins = plugins();
    let program = over::total::ir_with(plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "total").unwrap().with_host(&*host);
    let (a, b) = (0.5, 0.9);
    let (y, gradient) = f.value_and_gradient(&[Datum::Real(a), Datum::Real(b)]).unwrap();
    close(y, libm_erf(a) + libm_erf(a * b));
    close(*gradient[1].real().unwrap(), a * 2.0 / PI.sqrt() * (-a * b * a * b).exp());
}

/// Arrays by a kernel with a pullback and no program: first derivatives in both modes, and an error
/// above.
#[test]
fn array_kernels_have_first_derivatives() {
    let mut plugins = Plugins::new(support::settings().with_verify(false));
    plugins.load(&request("ketgrad_hostile")).unwrap();
    let source = "fn f(a, b) { let s = scan([a, b, a * b]); s[1] * s[2] + norm2(s) }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let (a, b) = (0.5, 2.0);
    let at = [Datum::Real(a), Datum::Real(b)];
    let (y, gradient) = f.value_and_gradient(&at).unwrap();
    let (s, t) = (a + b, a + b + a * b);
    close(y, s * t + a * a + s * s + t * t);
    let by_a = t + s * (1.0 + b) + 2.0 * a + 2.0 * s + 2.0 * t * (1.0 + b);
    close(*gradient[0].real().unwrap(), by_a);
    let (_, dot) = f.jvp(&at, &[Datum::Real(1.0), Datum::Real(0.0)]).unwrap();
    close(*dot.real().unwrap(), by_a);
    let error = f.hessian(&at).unwrap_err().to_string();
    assert!(error.contains("pullback") || error.contains("pushforward"), "{error}");

    // Dual numbers get the first derivative, second-order ones an error.
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let at = [Datum::Real(Dual64::new(a, 1.0)), Datum::Real(Dual64::new(b, 0.0))];
    let y = code.call(&mut Machine::<Dual64>::new(), &*host, &Limits::default(), &at).unwrap();
    close(y.real().unwrap().eps, by_a);
    let at = [Datum::Real(Dual2_64::new(a, 1.0, 0.0)), Datum::Real(Dual2_64::new(b, 0.0, 0.0))];
    let error =
        code.call(&mut Machine::<Dual2_64>::new(), &*host, &Limits::default(), &at).unwrap_err();
    assert!(error.to_string().contains("derivatives above the first need"), "{error}");
}

/// With a program for the value too, kernel and program are the same function.
#[test]
fn a_program_serves_what_the_kernel_does_not() {
    let mut plugins = Plugins::new(support::settings().with_verify(false));
    plugins.load(&request("ketgrad_hostile")).unwrap();
    let Datum::Real(y) = value::<_, Dual2_64>(
        &plugins,
        "fn f(x) { cube(x) }",
        Datum::Real(Dual2_64::new(2.0, 1.0, 0.0)),
    ) else {
        panic!()
    };
    assert_eq!((y.re, y.v1, y.v2), (8.0, 12.0, 12.0));
    let Datum::Real(y) =
        value::<_, Expr>(&plugins, "fn f(x) { cube(x) }", Datum::Real(Expr::symbol("x")))
    else {
        panic!()
    };
    assert_eq!(y.to_string(), "x*x*x");
    let (_, gradient, hessian) = derivatives(&plugins, "fn f(x) { cube(x) }", &[2.0]);
    assert_eq!((gradient[0], hessian[0][0]), (12.0, 12.0));
}

/// Every shipped rule agrees with its program and with differences.
#[test]
fn the_shipped_rules_verify() {
    let verdicts = plugins().verify();
    assert!(verdicts.len() > 15, "{}", verdicts.len());
    for verdict in verdicts {
        assert_eq!((verdict.disagreement, verdict.note), (None, None), "{}", verdict.rule);
        assert!(verdict.points >= 3, "{}: {} points", verdict.rule, verdict.points);
    }
}
