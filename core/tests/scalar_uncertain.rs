//! Numbers with uncertainty: propagation against the first-order formula and against simulation.

use ketgrad_core::scalar::{N, Ordered, ParseScalarError, Real, Ring, Scalar, Uncertain};
use nalgebra::Const;
use num_dual::DualSVec64;
use num_traits::Num;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// A few roundings on two routes to the same number.
const ROUNDINGS: f64 = 1e-13;

fn assert_near(got: f64, expected: f64, tolerance: f64, what: &str) {
    assert!(
        (got - expected).abs() <= tolerance * expected.abs().max(1e-3),
        "{what}: {got}, not {expected}"
    );
}

#[test]
fn one_measurement_is_fully_correlated_with_itself_and_not_with_another() {
    let (x, y) = (Uncertain::new(2.0, 0.5), Uncertain::new(2.0, 0.5));
    assert!((&x - &x).is_exact_zero());
    assert_eq!((&x / &x).sigma(), 0.0);
    assert_eq!((&x + &x).sigma(), 1.0);
    assert_eq!((&x - &y).sigma(), 0.5_f64.sqrt());
    assert_ne!(x, y);
    assert_eq!(x.clone(), x);
    assert_eq!((x.covariance(&x), x.covariance(&y)), (0.25, 0.0));
    assert_eq!((x.correlation(&x), x.correlation(&-&x), x.correlation(&y)), (1.0, -1.0, 0.0));
    let sum = &x + &y;
    assert_near(sum.correlation(&x), 0.5_f64.sqrt(), ROUNDINGS, "correlation of x + y with x");
    assert_near(sum.covariance(&x), 0.25, ROUNDINGS, "covariance of x + y with x");
    assert!(x.correlation(&Uncertain::exact(1.0)).is_nan());
}

#[test]
fn a_negative_or_zero_sigma() {
    assert_eq!(Uncertain::new(1.0, -0.5).sigma(), 0.5);
    assert_eq!(Uncertain::new(1.0, 0.0), Uncertain::exact(1.0));
    assert!(Uncertain::new(1.0, f64::NAN).sigma().is_nan());
}

/// Compares one formula on measurements with the gradient that duals give for it.
macro_rules! first_order {
    ($(|$x:ident, $y:ident| $formula:expr;)*) => {$({
        fn formula<S: Real>($x: &N<S>, $y: &N<S>) -> N<S> {
            $formula
        }
        let (x, y, sx, sy) = (0.6, 0.35, 0.02, 0.03);
        let measured = formula(&N(Uncertain::new(x, sx)), &N(Uncertain::new(y, sy))).0;
        let dual = |v: f64, i| N(DualSVec64::<2>::from_re(v).derivative(i));
        let exact = formula(&dual(x, 0), &dual(y, 1)).0;
        let d = exact.eps.unwrap_generic(Const::<2>, Const::<1>);
        assert_near(measured.value(), exact.re, ROUNDINGS, stringify!($formula));
        assert_near(measured.sigma(), (d[0] * sx).hypot(d[1] * sy), ROUNDINGS, stringify!($formula));
        assert!(measured.sigma() > 0.0);
    })*};
}

#[test]
fn uncertainties_are_those_of_the_first_order_formula() {
    first_order! {
        |x, y| x + 2 * y;
        |x, y| x - y;
        |x, y| x * y + x;
        |x, y| x / y - x;
        |x, y| -x / (1 + y * y);
        |x, y| x.recip() + y.sqrt() * x.cbrt();
        |x, y| x.exp() * y.exp_m1();
        |x, y| x.ln() + y.ln_1p() * x;
        |x, y| x.log2() / y.log10();
        |x, y| x.sin() * y.cos() + x.tan();
        |x, y| x.asin() + y.acos() * x.atan();
        |x, y| x.sinh() * y.cosh() - x.tanh();
        |x, y| x.asinh() + y.atanh() * (x + 1).acosh();
        |x, y| x.pow(y) + y.powi(-3) * x.powi(0);
        |x, y| y.atan2(x) * x.hypot(y);
    }
}

#[test]
fn sums_of_many_terms_are_those_of_one_after_the_other() {
    let x: Vec<Uncertain> = (0..40).map(|k| Uncertain::new(f64::from(k), 0.1)).collect();
    let terms = || x.iter().chain(&x[10..20]).cloned().chain([-&x[3], &x[5] * &x[6]]);
    let (sum, folded) =
        (Uncertain::sum(terms()), terms().fold(Uncertain::exact(0.0), |s, t| s + t));
    assert_eq!(sum, folded);
    assert_eq!(sum.covariance(&x[3]), 0.0);
}

#[test]
fn remainders_follow_the_steps() {
    let (x, m) = (Uncertain::new(7.5, 0.1), Uncertain::new(2.0, 0.01));
    let r = &x % &m; // 7.5 - 3 * 2.0
    assert_eq!(r.value(), 1.5);
    assert_near(r.sigma(), 0.1_f64.hypot(0.03), ROUNDINGS, "remainder");
    assert_near(r.covariance(&m), -3.0 * 0.01 * 0.01, ROUNDINGS, "remainder");
    let mut r = -x;
    r %= m.clone();
    assert_eq!(r.value(), -1.5);
    assert_near(r.covariance(&m), 3.0 * 0.01 * 0.01, ROUNDINGS, "remainder of a negative number");
}

#[test]
fn reading_a_number_takes_base_ten_only() {
    assert_eq!(Uncertain::from_str_radix("-2.5e3", 10), Ok(Uncertain::exact(-2500.0)));
    assert_eq!(Uncertain::from_str_radix("ff", 16), Err(ParseScalarError::Radix { radix: 16 }));
    assert!(matches!(Uncertain::from_str_radix("two", 10), Err(ParseScalarError::Float(_))));
}

#[test]
fn printing_rounds_to_the_uncertainty() {
    let print = |value: f64, sigma: f64| Uncertain::new(value, sigma).to_string();
    assert_eq!(print(1.23, 0.04), "1.23 ± 0.04");
    assert_eq!(print(1.234_567, 0.042), "1.235 ± 0.042");
    assert_eq!(print(1.234_567, 0.0996), "1.2 ± 0.1");
    assert_eq!(print(-1234.5, 12.0), "-1234 ± 12");
    assert_eq!(print(1234.5, 345.6), "1234 ± 346");
    assert_eq!(print(0.5, 0.0), "0.5 ± 0");
    assert_eq!(print(0.5, f64::INFINITY), "0.5 ± inf");
    assert_eq!(format!("{:.3}", Uncertain::new(1.0, 0.25)), "1.000 ± 0.250");
}

#[test]
fn literals_mix_on_both_sides_and_with_assignments() {
    fn check<S: Scalar>(x: &N<S>) -> [N<S>; 8] {
        let mut a = x.clone();
        a += 1;
        a *= x;
        a -= 0.5;
        a /= x.clone();
        let k: i32 = 3;
        [x + k, x - 2_i64, 2 * x, 1.0 / x, x.clone() * 0.5, -x, 1 - x.clone(), a]
    }
    let expected = [5.0, 0.0, 4.0, 0.5, 1.0, -2.0, -1.0, 2.75];
    assert_eq!(check(&N(2.0)).map(|n| n.0), expected);
    assert_eq!(check(&N(Uncertain::exact(2.0))).map(|n| n.0.value()), expected);
    assert_eq!(
        (N(3.0).hypot(&N(4.0)), N(0.0).atan2(&N(1.0)), N(2.0).powi(3)),
        (N(5.0), N(0.0), N(8.0))
    );
    // ln(e^1 + e^1)
    assert!((N(1.0).logaddexp(&N(1.0)).0 - (1.0 + 2f64.ln())).abs() < 1e-15);
}

#[test]
fn comparisons_go_by_value() {
    let (x, y) = (Uncertain::new(1.0, 5.0), Uncertain::new(2.0, 5.0));
    assert_eq!(Ordered::max(&x, &y), y);
    assert_eq!(Ordered::min(&x, &y), x);
    assert_eq!(x.primal(), Some(1.0));
}

#[test]
fn exact_numbers_stay_exact_where_a_slope_is_infinite() {
    let zero = Uncertain::exact(0.0);
    assert_eq!((zero.sqrt().sigma(), zero.cbrt().sigma()), (0.0, 0.0));
    assert_eq!(Real::hypot(&zero, &zero).sigma(), 0.0);
    assert_eq!(Uncertain::new(0.0, 0.1).sqrt().sigma(), f64::INFINITY);
    // The base is exact, so the undefined slope along it does not matter.
    assert!(Uncertain::exact(-2.0).pow(&Uncertain::exact(3.0)).sigma() == 0.0);
    assert_eq!(Uncertain::new(-2.0, 0.5).pow(&Uncertain::exact(3.0)).sigma(), 6.0);
}

/// Two independent normal numbers by the method of Box and Muller.
fn normal_pair(rng: &mut ChaCha8Rng) -> (f64, f64) {
    /// Maps 53 random bits to (0, 1].
    const UNIT: f64 = 1.0 / (1_u64 << 53) as f64;
    let mut uniform = || ((rng.next_u64() >> 11) + 1) as f64 * UNIT;
    let (r, angle) = ((-2.0 * uniform().ln()).sqrt(), std::f64::consts::TAU * uniform());
    (r * angle.cos(), r * angle.sin())
}

#[test]
fn simulated_measurements_spread_as_predicted() {
    const SAMPLES: u32 = 200_000;
    /// The relative error of an estimated variance is sqrt(2 / SAMPLES) = 0.3 %; five of those,
    /// plus what the second order adds: (sigma f''/f')^2, about 0.1 % here.
    const SPREAD: f64 = 0.016;
    fn formulas<S: Real>(x: &N<S>, y: &N<S>) -> (S, S) {
        ((x.sin() * y + x / y).0, (x * y - 0.5 * y.exp()).0)
    }
    let (vx, vy, sx, sy) = (2.0, 1.3, 0.0025, 0.005);
    let (f, g) = formulas(&N(Uncertain::new(vx, sx)), &N(Uncertain::new(vy, sy)));

    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut ff, mut gg, mut fg) = (0.0, 0.0, 0.0);
    for _ in 0..SAMPLES {
        let (a, b) = normal_pair(&mut rng);
        let (u, v) = formulas(&N(vx + sx * a), &N(vy + sy * b));
        let (u, v) = (u - f.value(), v - g.value());
        ff += u * u;
        gg += v * v;
        fg += u * v;
    }
    let n = f64::from(SAMPLES);
    let near = |got: f64, expected: f64, scale: f64, what| {
        assert!(
            (got - expected).abs() <= SPREAD * scale,
            "{what}: simulated {got}, predicted {expected}"
        );
    };
    near(ff / n, f.sigma().powi(2), f.sigma().powi(2), "variance of f");
    near(gg / n, g.sigma().powi(2), g.sigma().powi(2), "variance of g");
    near(fg / n, f.covariance(&g), f.sigma() * g.sigma(), "covariance");
    assert!(f.correlation(&g).abs() > 0.1, "the example is a correlated one");
}

#[test]
fn measurements_in_many_threads_are_independent() {
    let make = || (0..100).map(|_| Uncertain::new(0.0, 1.0)).collect::<Vec<_>>();
    let handles: Vec<_> = (0..4).map(|_| std::thread::spawn(make)).collect();
    let all: Vec<Uncertain> = handles.into_iter().flat_map(|h| h.join().unwrap()).collect();
    // 400 independent unit errors: the variance of the sum is 400 only if no two share a source.
    let variance = Uncertain::sum(all).sigma().powi(2);
    assert_near(variance, 400.0, ROUNDINGS, "variance of the sum");
}
