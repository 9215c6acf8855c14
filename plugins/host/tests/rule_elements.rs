//! Rules of numbers that are called with arrays, against closed forms.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{f64::consts::PI, sync::Arc};

use ketgrad_core::{
    array::Array,
    exec::{Datum, Derivatives},
    text::parse_program_with,
};
use ketgrad_plugin_host::Plugins;
use num_complex::Complex;
use num_dual::Dual64;

use crate::rules::{ROUNDING, close, derivatives, libm_erf, plugins, value};

/// The Jacobian of `f(xs)` by both modes, and the second derivatives of a function of numbers.
fn jacobian(
    plugins: &Plugins,
    source: &str,
    x: &Datum<f64>,
    n: usize,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let host = plugins.host();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let xs = std::slice::from_ref(x);
    let value = f.value(xs).unwrap();
    let array = |y: &Datum<f64>| match y {
        Datum::Reals(y) => y.clone(),
        other => panic!("{other:?}"),
    };
    let reals = |y: &Datum<f64>| array(y).items().to_vec();
    let unit = |like: &Datum<f64>, i: usize| {
        let shape = array(like).shape();
        let items = (0..n).map(|k| f64::from(u8::from(k == i))).collect();
        Datum::Reals(Arc::new(Array::new(&shape, items).unwrap()))
    };
    let mut by_columns = vec![vec![0.0; n]; n];
    let mut rows = Vec::new();
    for k in 0..n {
        let column = reals(&f.jvp(xs, &[unit(x, k)]).unwrap().1);
        by_columns.iter_mut().zip(column).for_each(|(row, d)| row[k] = d);
        rows.push(reals(&f.vjp(xs, unit(&value, k)).unwrap().1[0]));
    }
    for (a, b) in rows.iter().flatten().zip(by_columns.iter().flatten()) {
        close(*a, *b);
    }
    (reals(&value), rows)
}

/// `erf(xs)` is `[erf(xs[0]), …]`, as `sin(xs)` is: values and derivatives in both modes, of
/// vectors and matrices, numbers among the arguments, and arrays that are repeated.
#[test]
fn rules_of_numbers_go_over_arrays() {
    let plugins = plugins();
    let slope = |x: f64| 2.0 / PI.sqrt() * (-x * x).exp();
    let numbers = [0.3, -0.7, 0.0, 0.9, 0.2, -0.4];
    for shape in [&[6][..], &[2, 3]] {
        let array = Array::new(shape, numbers.to_vec()).unwrap();
        let x = Datum::Reals(Arc::new(array));
        let (y, rows) = jacobian(&plugins, "fn f(xs: array) { erf(xs) }", &x, 6);
        for (i, row) in rows.iter().enumerate() {
            close(y[i], libm_erf(numbers[i]));
            row.iter()
                .enumerate()
                .for_each(|(k, d)| close(*d, if i == k { slope(numbers[k]) } else { 0.0 }));
        }
        // Twice the same array, a literal, a rule that is a program alone, and an int for all.
        let (y, rows) =
            jacobian(&plugins, "fn f(xs: array) { softplus(xs) * erf(2.0 * xs) }", &x, 6);
        for (i, v) in numbers.into_iter().enumerate() {
            let (soft, sigmoid) = (v.exp().ln_1p(), 1.0 / (1.0 + (-v).exp()));
            close(y[i], soft * libm_erf(2.0 * v));
            close(rows[i][i], sigmoid * libm_erf(2.0 * v) + soft * 2.0 * slope(2.0 * v));
        }
    }

    // Second derivatives, through sums: d2/da2 of sum erf(a x_i).
    let source = "fn f(a, b) { let xs = [0.3, 0.7, b]; sum(erf(a * xs)) }";
    let (a, b) = (0.6, 0.8);
    let (y, gradient, hessian) = derivatives(&plugins, source, &[a, b]);
    let xs = [0.3, 0.7, b];
    close(y, xs.iter().map(|x| libm_erf(a * x)).sum());
    close(gradient[0], xs.iter().map(|x| x * slope(a * x)).sum());
    close(hessian[0][0], xs.iter().map(|x| -2.0 * a * x * x * x * slope(a * x)).sum());
    close(hessian[0][1], slope(a * b) - 2.0 * a * a * b * b * slope(a * b));
    close(hessian[1][1], -2.0 * a * a * a * b * slope(a * b));

    // Numbers beside arrays: I_x(a, 1) = x^a for several a, and for several x; columns meet rows.
    let (y, gradient, _) =
        derivatives(&plugins, "fn f(x) { sum(beta_inc([1.5, 2.0, 3.0], 1, x)) }", &[0.4]);
    close(y, 0.4f64.powf(1.5) + 0.16 + 0.064);
    close(gradient[0], 1.5 * 0.4f64.sqrt() + 0.8 + 0.48);
    let source = "fn f(x) { let p = beta_inc([[1.5], [2.0]], 1, [x, 0.5, 0.2]); p[1, 0] + 10.0 * p[0, 2] + real(len(p)) }";
    let (y, gradient, _) = derivatives(&plugins, source, &[0.4]);
    close(y, 0.16 + 10.0 * 0.2f64.powf(1.5) + 6.0);
    close(gradient[0], 0.8);
    // J0' = -J1
    let (y, gradient, _) =
        derivatives(&plugins, "fn f(x) { sum(bessel_j(0, [x, 2.0 * x])) }", &[0.5]);
    let (j0, _, _) =
        derivatives(&plugins, "fn f(x) { bessel_j(0, x) + bessel_j(0, 2.0 * x) }", &[0.5]);
    let (j1, _, _) =
        derivatives(&plugins, "fn f(x) { -bessel_j(1, x) - 2.0 * bessel_j(1, 2.0 * x) }", &[0.5]);
    close(y, j0);
    close(gradient[0], j1);

    // Complex arrays take the complex rule.
    let source = "fn f(z: complex) { let w = erf([z, 2.0 * z]); w[0] + w[1] }";
    let z = Complex::new(0.3, 0.8);
    let Datum::Complex(y) = value::<f64, Complex<f64>>(&plugins, source, Datum::Complex(z)) else {
        panic!()
    };
    let source = "fn f(z: complex) { erf(z) + erf(2.0 * z) }";
    let Datum::Complex(one) = value::<f64, Complex<f64>>(&plugins, source, Datum::Complex(z))
    else {
        panic!()
    };
    assert!((y - one).norm() < ROUNDING);
    let Datum::Real(y) = value::<_, Dual64>(
        &plugins,
        "fn f(x) { sum(erf([x, x * x])) }",
        Datum::Real(Dual64::new(0.7, 1.0)),
    ) else {
        panic!()
    };
    close(y.eps, slope(0.7) + 1.4 * slope(0.49));
    // No elements, no calls.
    let (y, _, _) = derivatives(&plugins, "fn f(x) { x + sum(erf([x; 0])) }", &[0.5]);
    close(y, 0.5);
}

#[test]
fn shapes_of_arguments_that_do_not_match_are_an_error() {
    let plugins = plugins();
    let host = plugins.host();
    let source = "fn f(a: array, b: array) { sum(gamma_p(a, b)) }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_host(&*host);
    let at = [Datum::reals([1.0, 2.0]), Datum::reals([1.0, 2.0, 3.0])];
    let error = f.value(&at).unwrap_err().to_string();
    assert!(error.contains("[2]") && error.contains("[3]") && error.starts_with("1:32"), "{error}");
    // A function of the text takes numbers if it says so, and a rule no array of another kind.
    let said = |source: &str| parse_program_with(source, plugins.rules()).unwrap_err().to_string();
    let error = said("fn g(x) { erf(x) } fn f(xs: array) { sum(g(xs)) }");
    assert!(error.contains("expected real, given array<real>"), "{error}");
    let error = said("fn f(xs: array) { sum(bessel_j(xs, 1.0)) }");
    assert!(error.contains("expected int, given array<real>"), "{error}");
    let error = said("fn f(n: array<int>) { sum(erf(n)) }");
    assert!(error.contains("expected array<real>, given array<int>: write `real(ns)`"), "{error}");
}
