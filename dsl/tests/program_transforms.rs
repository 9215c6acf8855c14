//! `f::grad(x)` and the other transforms in `program!`: natively and as IR, against the same text
//! read by the parser, against formulas and against each other.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ketgrad::{
    array::Array,
    exec::{Datum, Derivatives},
    ir::{Program, verify},
    program,
    rules::{RuleError, Rules},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{Dual2_64, Dual64};

/// A program, and its text.
macro_rules! both {
    ($($tokens:tt)*) => {
        program! { $($tokens)* }
        const TEXT: &str = stringify!($($tokens)*);
    };
}

mod everything {
    use super::*;
    both! {
        struct Point { x, at: array, w: complex }
        fn wave(x) { sin(x) * exp(x) }
        fn slope(x) { wave::grad(x) }
        fn third(x) { slope::hessian(x) + slope::jvp(x, 0.5).1 - 0.5 * slope::grad(x) }
        fn power(n: int, x, y) { powi(x, n) * y }
        fn products(n: int, x, y) -> (real, real, real) {
            let (value, tangent) = power::jvp(n, x, y, 1.0, 0.25);
            let (by_x, by_y) = power::vjp(n + 1, x, y, 2);
            (value * tangent, by_x, by_y)
        }
        fn quartic(a: array, b) { dot(a, a) * dot(a, a) * b + a[0] * a[1] }
        fn curvature(a: array, b) {
            let h = quartic::hessian(a, b);
            let (value, g) = quartic::value_and_grad(a, b);
            let (again, along) = quartic::jvp(a, b, a, 0.5);
            let (by_a, by_b) = quartic::vjp(a, b, 3.0);
            trace(h) * h[(0, 1)] + value * sum(g) + again * along + dot(by_a, g) * by_b
        }
        fn energy(p: Point) { p.x * sum(p.at * p.at) + abs2(p.w) * p.x }
        fn force(p: Point) {
            let d = energy::grad(p);
            d.x * dot(d.at, p.at) + re(d.w) * im(d.w)
        }
        fn rotated(z: complex) -> complex { z * z * exp(z) }
        fn holomorphic(z: complex) -> complex {
            let (w, dw) = rotated::jvp(z, 1.0);
            w + dw * rotated::vjp(z, dw)
        }
        fn root(x) { sqrt(x) }
        fn square_root(a: array) -> array { root::matrix_function(a) }
        rule steep(x) { x } pullback(x, y, bar) { 7.0 * bar * x }
        fn by_rule(x) { steep::grad(x) + steep::hessian(x) + steep::jvp(x, 2.0).1 }
        fn newton(x) {
            let mut y = x;
            for k in 0..20 { y -= wave::grad(y) / wave::hessian(y); }
            y
        }
        fn pair(x, y) -> (real, real) { (x * y, x + y) }
        fn of_pairs(x, y) {
            let (value, tangent) = pair::jvp(x, y, 1.0, 2.0);
            let (p, s) = value;
            let (dp, ds) = tangent;
            let (bx, by) = pair::vjp(x, y, (s, p));
            dp * ds + bx * by
        }
    }

    #[test]
    fn text_and_macro_give_the_same_functions() {
        let (program, text) = (slope::ir(), parse_program(TEXT).unwrap());
        assert_eq!(verify(&program), []);
        let names = |p: &Program| p.functions.values().map(|f| f.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&program), names(&text));
        for name in
            ["wave.grad", "slope.hessian", "power.jvp", "quartic.vjp", "root.matrix_function"]
        {
            // But for places, which the text lost.
            let print = |p: &Program| {
                let text = p.print(p.lookup(name).unwrap());
                text.split_whitespace()
                    .filter(|word| !word.starts_with('@') || word.contains('.'))
                    .collect::<String>()
            };
            assert_eq!(print(&program), print(&text));
        }
        // Applied to a function, as in text alone, it is the same.
        let applied = TEXT
            .replace("wave::grad(x)", "grad(wave)(x)")
            .replace("wave :: grad(x)", "grad(wave)(x)");
        assert_ne!(applied, TEXT);
        assert_eq!(names(&parse_program(&applied).unwrap()), names(&text));
    }

    /// Result of the IR of both, which is the native one to the last bit.
    #[track_caller]
    fn value(name: &str, args: &[Datum<f64>]) -> Vec<f64> {
        let [a, b] = [slope::ir(), parse_program(TEXT).unwrap()].map(|program| {
            let mut f = Derivatives::<f64>::new(&program, name).unwrap();
            flat(&f.value(args).unwrap())
        });
        assert_eq!(a, b, "{name}");
        a
    }

    fn flat(d: &Datum<f64>) -> Vec<f64> {
        match d {
            Datum::Real(x) => vec![*x],
            Datum::Reals(x) => x.to_vec(),
            Datum::Tuple(all) => all.iter().flat_map(flat).collect(),
            other => panic!("{other:?}"),
        }
    }

    /// `sin(x) exp(x)` has the derivatives `2^(n/2) sin(x + n pi/4) exp(x)`.
    fn known(x: f64, n: i32) -> f64 {
        2f64.sqrt().powi(n) * (x + f64::from(n) * std::f64::consts::FRAC_PI_4).sin() * x.exp()
    }

    #[track_caller]
    fn close(found: f64, right: f64) {
        assert!((found - right).abs() <= 1e-12 * (1.0 + right.abs()), "{found}, not {right}");
    }

    #[test]
    fn numbers() {
        let x = 0.7;
        assert_eq!(value("slope", &[Datum::Real(x)]), [slope(x)]);
        close(slope(x), known(x, 1));
        assert_eq!(value("third", &[Datum::Real(x)]), [third(x)]);
        close(third(x), known(x, 3));
        let at = newton(2.0);
        assert_eq!(value("newton", &[Datum::Real(2.0)]), [at]);
        close(at, 3.0 * std::f64::consts::FRAC_PI_4);
        let (a, b, c) = products(3, 2.0, 5.0);
        assert_eq!(
            value("products", &[Datum::Int(3), Datum::Real(2.0), Datum::Real(5.0)]),
            [a, b, c]
        );
        assert_eq!([a, b, c], [40.0 * 62.0, 2.0 * 4.0 * 8.0 * 5.0, 2.0 * 16.0]);
        // 7 x, its derivative, and 2 * 7 x.
        assert_eq!(by_rule(0.5), 3.5 + 7.0 + 7.0);
        assert_eq!(value("by_rule", &[Datum::Real(0.5)]), [17.5]);
        // p = 6, s = 5: dp = y + 2 x, ds = 3; the cotangents of x and y are s y + p and s x + p.
        assert_eq!(of_pairs(2.0, 3.0), 7.0 * 3.0 + 21.0 * 16.0);
        assert_eq!(
            value("of_pairs", &[Datum::Real(2.0), Datum::Real(3.0)]),
            [7.0 * 3.0 + 21.0 * 16.0]
        );
    }

    #[test]
    fn natively_on_every_number_type() {
        // Single precision, and duals, which are derivatives of one order more.
        assert!((slope(0.7f32) - known(0.7, 1) as f32).abs() < 1e-5);
        let dual = slope(Dual64::new(0.7, 1.0));
        close(dual.re, known(0.7, 1));
        close(dual.eps, known(0.7, 2));
        let second = third(Dual2_64::new(0.7, 1.0, 0.0));
        close(second.v1, known(0.7, 4));
        close(second.v2, known(0.7, 5));
        let program = slope::ir();
        let mut f = Derivatives::<f64>::new(&program, "third").unwrap();
        close(f.gradient(&[Datum::Real(0.7)]).unwrap()[0].real().copied().unwrap(), known(0.7, 4));
    }

    #[test]
    fn arrays_structs_and_complex_numbers() {
        let (a, b) = ([1.0, -2.0, 0.5], 0.25);
        let native = curvature(Array::from(a), b);
        assert_eq!(value("curvature", &[Datum::reals(a), Datum::Real(b)]), [native]);
        // n = a a: H = 4 b (n 1 + 2 a a^T) and the cross term, g = 4 b n a and the cross term.
        let n: f64 = a.iter().map(|x| x * x).sum();
        let g = [4.0 * b * n * a[0] + a[1], 4.0 * b * n * a[1] + a[0], 4.0 * b * n * a[2]];
        let value_of = n * n * b + a[0] * a[1];
        let along = g.iter().zip(&a).map(|(g, a)| g * a).sum::<f64>() + 0.5 * n * n;
        let trace = 4.0 * b * (3.0 * n + 2.0 * n);
        let gg: f64 = g.iter().map(|g| g * g).sum();
        let right = trace * (8.0 * b * a[0] * a[1] + 1.0)
            + value_of * g.iter().sum::<f64>()
            + value_of * along
            + 3.0 * gg * 3.0 * n * n;
        close(native, right);

        let w = Complex::new(0.5, -1.5);
        let at = Point { x: 2.0, at: Array::from(a), w };
        // d.x = n + |w|^2, d.at = 2 x at, d.w = 2 x w.
        close(force(at), (n + w.norm_sqr()) * 4.0 * n + 16.0 * w.re * w.im);
        let at = Datum::Tuple(vec![Datum::Real(2.0), Datum::reals(a), Datum::Complex(w)]);
        for program in [slope::ir(), parse_program(TEXT).unwrap()] {
            let mut f = Derivatives::<Complex<f64>>::new(&program, "force").unwrap();
            let found = f.value(std::slice::from_ref(&at)).unwrap();
            close(*found.real().unwrap(), (n + w.norm_sqr()) * 4.0 * n + 16.0 * w.re * w.im);
        }

        let z: Complex<f64> = Complex::new(0.3, 0.4);
        let (f, d) = (z * z * z.exp(), (z * z + 2.0 * z) * z.exp());
        let found = holomorphic(z);
        let right = f + d * d.conj() * d;
        assert!((found - right).norm() < 1e-12, "{found}, not {right}");

        let m = Array::from_rows([[2.0, 1.0], [1.0, 3.0]]);
        let r = square_root(m.clone());
        for (i, j) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            close(r[2 * i] * r[j] + r[2 * i + 1] * r[2 + j], m[2 * i + j]);
        }
    }
}

mod many {
    ketgrad::program! {
        fn polynomial(a, b, c, d, e, n: int, f: real, g: array,) { a * b * c * d * e * f * sum(g) * real(n) }
        fn along(x, g: array) { polynomial::jvp(x, x, x, x, x, 2, x, g, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, g).1 }
        fn back(x, g: array) {
            let (a, b, c, d, e, f, by) = polynomial::vjp(x, 2.0 * x, x, x, x, 2, x, g, 1.0);
            a + 10.0 * b + c + d + e + f + 1000.0 * sum(by)
        }
    }

    /// The names of parameters do not meet those that the macro gives.
    #[test]
    fn parameters_of_any_name_and_number() {
        let g = super::Array::from([1.0, 2.0]);
        // Each slope is 2 * 3, and along g the value is 6 again.
        assert_eq!(along(1.0, g.clone()), 6.0 * (1.0 + 2.0 + 3.0 + 4.0 + 5.0 + 6.0) + 6.0);
        assert_eq!(back(1.0, g), 12.0 + 60.0 + 4.0 * 12.0 + 1000.0 * 8.0);
    }
}

mod library {
    ketgrad::program! {
        fn cubic(x, n: int) { x * x * x * real(n) }
        fn slope(x) { cubic::grad(x, 2) }
    }
}

mod across {
    ketgrad::program! {
        use super::library::cubic;
        use super::library::slope;
        fn bend(x) { slope::grad(x) + cubic::hessian(x, 1) }
    }
}

#[test]
fn of_functions_of_other_programs() {
    assert_eq!(across::bend(2.0), 24.0 + 12.0);
    let mut f = Derivatives::<f64>::new(&across::bend::ir(), "bend").unwrap();
    assert_eq!(f.value_and_gradient(&[Datum::Real(2.0)]).unwrap(), (36.0, vec![Datum::Real(18.0)]));
}

mod with_ints {
    use super::*;
    both! {
        rule scaled(n: int, x, k: array<int>) { powi(x, n) * real(k[0]) }
            pushforward(n, x, k, d) { 10.0 * d * real(n) }
        fn tangent(x) { scaled::jvp(3, x, [2], 0.5).1 }
    }

    /// A tangent for each parameter that has one, in rules too.
    #[test]
    fn rules_push_what_has_tangents() {
        let (program, text) = (tangent::ir(), parse_program(TEXT).unwrap());
        assert_eq!(tangent(2.0), 15.0);
        for program in [&program, &text] {
            let mut f = Derivatives::<f64>::new(program, "tangent").unwrap();
            assert_eq!(f.value(&[Datum::Real(2.0)]).unwrap(), Datum::Real(15.0));
            let mut f = Derivatives::<f64>::new(program, "scaled").unwrap();
            let args = [Datum::Int(3), Datum::Real(2.0), Datum::ints([2])];
            let (y, dot) = f.pushforward(&args, &[Datum::Real(1.0)]).unwrap();
            assert_eq!((y, dot), (Datum::Real(16.0), Datum::Real(30.0)));
        }
    }
}

mod hosted {
    fn opaque<S>(x: S) -> S {
        x
    }
    ketgrad::program! {
        primitive secret(x) = super::opaque;
        fn uses(x) { secret(x) * x }
        fn slope(x) { uses::grad(x) }
        fn plain(x) { x * x }
        fn other(x) { plain::grad(x) }
    }

    use super::*;

    #[test]
    fn primitives_need_their_rules() {
        let error = slope::ir_with(&Rules::new()).unwrap_err();
        assert!(matches!(&error, RuleError::Transform { .. }));
        let message = error.to_string();
        assert!(
            message.contains("`uses` cannot be differentiated: `secret` in `uses`"),
            "{message}"
        );
        let panics = std::panic::catch_unwind(slope::ir).unwrap_err();
        let said = panics.downcast_ref::<String>().unwrap();
        assert!(said.contains("`ir_with`") && said.contains(&message), "{said}");
        // Natively only what is called is made.
        assert_eq!(other(3.0), 6.0);
        let panics = std::panic::catch_unwind(|| slope(1.0)).unwrap_err();
        assert!(panics.downcast_ref::<String>().unwrap().contains("`secret`"));
        // With a rule, all of it exists.
        let rules =
            parse_program("rule secret(x) { x } pullback(x, y, bar) { 5.0 * bar }").unwrap();
        let program = slope::ir_with(&Rules::from_program(rules)).unwrap();
        let mut f = Derivatives::<f64>::new(&program, "slope").unwrap();
        assert_eq!(f.value(&[Datum::Real(3.0)]).unwrap(), Datum::Real(15.0 + 3.0));
    }
}

mod circular {
    ketgrad::program! {
        fn f(x) { x * g(x) }
        fn g(x) { f::grad(x) }
    }

    #[test]
    fn what_needs_its_own_derivative_is_refused() {
        let error = f::ir_with(&super::Rules::new()).unwrap_err().to_string();
        assert!(error.contains("it asks for this derivative itself"), "{error}");
    }
}
