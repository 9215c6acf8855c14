//! Number types of one's own: floats of 256 bits, on which circuits, programs and linear algebra
//! keep their digits; and what is no commutative ring, refused.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{cell::RefCell, cmp::Ordering};

use astro_float_num::{BigFloat, Consts, RoundingMode};
use ketgrad_core::{
    array::{Array, eigh, expm, expm_along, lstsq, matmul, pinv, solve, svd},
    check::{conj_laws, ring_laws, ring_laws_by},
    circuit::Circuit,
    exec::{Datum, Derivatives},
    num_complex::Complex,
    num_for_complex,
    num_traits::{One, Zero},
    ring_ops,
    scalar::{Conj, Lanes, Real, Ring, Scalar, Uncertain, Undecided},
    simulate::Simulator,
    text::parse_program,
};
use num_dual::{Dual64, HyperDual64};

/// Bits of the significand.
pub(crate) const BITS: usize = 256;
const TO_NEAREST: RoundingMode = RoundingMode::ToEven;

/// A float of 256 bits.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wide(BigFloat);

thread_local! {
    static CONSTANTS: RefCell<Consts> = RefCell::new(Consts::new().unwrap());
}

fn with_constants(f: impl FnOnce(&mut Consts) -> BigFloat) -> Wide {
    Wide(CONSTANTS.with(|c| f(&mut c.borrow_mut())))
}

impl Wide {
    /// The decimal that a text is.
    pub(crate) fn parse(text: &str) -> Wide {
        with_constants(|c| BigFloat::parse(text, astro_float_num::Radix::Dec, BITS, TO_NEAREST, c))
    }
    /// The distance to another number, as a float.
    pub(crate) fn distance(&self, other: &Wide) -> f64 {
        (self - other).primal().unwrap().abs()
    }
}

ring_ops!(Wide {
    Add add AddAssign add_assign = |x: &Wide, y: &Wide| Wide(x.0.add(&y.0, BITS, TO_NEAREST));
    Sub sub SubAssign sub_assign = |x: &Wide, y: &Wide| Wide(x.0.sub(&y.0, BITS, TO_NEAREST));
    Mul mul MulAssign mul_assign = |x: &Wide, y: &Wide| Wide(x.0.mul(&y.0, BITS, TO_NEAREST));
    Div div DivAssign div_assign = |x: &Wide, y: &Wide| Wide(x.0.div(&y.0, BITS, TO_NEAREST));
    Rem rem RemAssign rem_assign = |x: &Wide, y: &Wide| Wide(x.0.rem(&y.0));
    - = |x: &Wide| Wide(x.0.clone().neg());
});
num_for_complex!(Wide);

impl Zero for Wide {
    fn zero() -> Wide {
        Wide(BigFloat::from_f64(0.0, BITS))
    }
    fn is_zero(&self) -> bool {
        self.0.is_zero()
    }
}
impl One for Wide {
    fn one() -> Wide {
        Wide(BigFloat::from_f64(1.0, BITS))
    }
}
impl Ring for Wide {
    fn is_exact_zero(&self) -> bool {
        self.0.is_zero()
    }
}
impl Conj for Wide {
    fn conj(&self) -> Wide {
        self.clone()
    }
}

macro_rules! functions {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Wide { with_constants(|c| self.0.$f(BITS, TO_NEAREST, c)) }
    )*};
}

impl Scalar for Wide {
    type Real = Wide;
    fn from_real(re: Wide) -> Wide {
        re
    }
    fn re(&self) -> Wide {
        self.clone()
    }
    fn im(&self) -> Wide {
        Wide::zero()
    }
    fn abs2(&self) -> Wide {
        self * self
    }
    fn lit(x: f64) -> Wide {
        Wide(BigFloat::from_f64(x, BITS))
    }
    /// The number as written, not the float next to it.
    fn literal(x: f64) -> Wide {
        if x.is_finite() { Wide::parse(&x.to_string()) } else { Wide::lit(x) }
    }
    fn ratio(n: i64, d: i64) -> Wide {
        Wide(BigFloat::from_i64(n, BITS)) / Wide(BigFloat::from_i64(d, BITS))
    }
    fn recip(&self) -> Wide {
        Wide(self.0.reciprocal(BITS, TO_NEAREST))
    }
    fn sqrt(&self) -> Wide {
        Wide(self.0.sqrt(BITS, TO_NEAREST))
    }
    fn cbrt(&self) -> Wide {
        Wide(self.0.cbrt(BITS, TO_NEAREST))
    }
    fn exp_m1(&self) -> Wide {
        self.exp() - Wide::one()
    }
    fn ln_1p(&self) -> Wide {
        (self + Wide::one()).ln()
    }
    fn powi(&self, n: i64) -> Wide {
        let power = Wide(self.0.powi(n.unsigned_abs() as usize, BITS, TO_NEAREST));
        if n < 0 { power.recip() } else { power }
    }
    fn pow(&self, y: &Wide) -> Wide {
        with_constants(|c| self.0.pow(&y.0, BITS, TO_NEAREST, c))
    }
    functions! { exp ln log2 log10 sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh }
}

impl Real for Wide {
    fn pi() -> Wide {
        with_constants(|c| c.pi(BITS, TO_NEAREST))
    }
    fn atan2(&self, x: &Wide) -> Wide {
        let angle = (self / x).atan();
        match (x.0.is_negative(), self.0.is_negative()) {
            (true, true) => angle - Wide::pi(),
            (true, false) => angle + Wide::pi(),
            _ => angle,
        }
    }
    fn hypot(&self, y: &Wide) -> Wide {
        (self * self + y * y).sqrt()
    }
    fn primal(&self) -> Option<f64> {
        Some(self.0.to_string().parse().unwrap_or(f64::NAN))
    }
    /// It carries no more than its value.
    fn beyond(&self) -> Wide {
        Wide::zero()
    }
    fn finite_value(&self) -> Wide {
        if self.0.is_nan() || self.0.is_inf() { Wide::zero() } else { self.clone() }
    }
    fn try_cmp(&self, other: &Wide) -> Result<Option<Ordering>, Undecided> {
        Ok(self.0.cmp(&other.0).map(|sign| sign.cmp(&0)))
    }
}

/// Two numbers within rounding of 256 bits.
fn is_close(a: &Wide, b: &Wide) -> bool {
    a.distance(b) <= 1e-74 * (1.0 + a.primal().unwrap().abs())
}

#[test]
fn number_types_keep_their_laws() {
    let wide: Vec<Wide> = ["0", "1", "-0.1", "3.7", "1e-9"].map(Wide::parse).to_vec();
    ring_laws_by(&wide, is_close).unwrap();
    conj_laws(&wide, is_close).unwrap();
    let complex: Vec<Complex<Wide>> = wide
        .iter()
        .zip(wide.iter().rev())
        .map(|(x, y)| Complex::new(x.clone(), y.clone()))
        .collect();
    let same =
        |a: &Complex<Wide>, b: &Complex<Wide>| is_close(&a.re, &b.re) && is_close(&a.im, &b.im);
    ring_laws_by(&complex, same).unwrap();
    conj_laws(&complex, same).unwrap();
    // Small integers are exact on every float.
    let integers = [0.0, 1.0, -3.0, 7.0];
    ring_laws(&integers).unwrap();
    ring_laws(&integers.map(|x| Complex::new(x, 2.0 - x))).unwrap();
    ring_laws(&integers.map(|x| Dual64::new(x, 2.0 * x - 1.0))).unwrap();
    ring_laws(&integers.map(|x| HyperDual64::new(x, 1.0, x, 3.0))).unwrap();
    ring_laws(&integers.map(|x| Lanes([x, x + 1.0]))).unwrap();
    ring_laws(&[Uncertain::exact(2.0), Uncertain::exact(0.0), Uncertain::exact(1.0)]).unwrap();
}

/// `a + b i + c j + d k`
#[derive(Clone, Copy, Debug, PartialEq)]
struct Quaternion([i64; 4]);

ring_ops!(Quaternion {
    Add add AddAssign add_assign = |x: &Quaternion, y: &Quaternion| Quaternion([0, 1, 2, 3].map(|k| x.0[k] + y.0[k]));
    Sub sub SubAssign sub_assign = |x: &Quaternion, y: &Quaternion| Quaternion([0, 1, 2, 3].map(|k| x.0[k] - y.0[k]));
    Mul mul MulAssign mul_assign = |x: &Quaternion, y: &Quaternion| {
        let ([a, b, c, d], [e, f, g, h]) = (x.0, y.0);
        Quaternion([
            a * e - b * f - c * g - d * h,
            a * f + b * e + c * h - d * g,
            a * g - b * h + c * e + d * f,
            a * h + b * g - c * f + d * e,
        ])
    };
    - = |x: &Quaternion| Quaternion(x.0.map(|a| -a));
});
impl Zero for Quaternion {
    fn zero() -> Quaternion {
        Quaternion([0; 4])
    }
    fn is_zero(&self) -> bool {
        self.0 == [0; 4]
    }
}
impl One for Quaternion {
    fn one() -> Quaternion {
        Quaternion([1, 0, 0, 0])
    }
}
impl Ring for Quaternion {
    fn is_exact_zero(&self) -> bool {
        self.0 == [0; 4]
    }
}

/// Integers that saturate at 100: sums are not associative.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Saturating(i64);

ring_ops!(Saturating {
    Add add AddAssign add_assign = |x: &Saturating, y: &Saturating| Saturating((x.0 + y.0).clamp(-100, 100));
    Sub sub SubAssign sub_assign = |x: &Saturating, y: &Saturating| Saturating((x.0 - y.0).clamp(-100, 100));
    Mul mul MulAssign mul_assign = |x: &Saturating, y: &Saturating| Saturating((x.0 * y.0).clamp(-100, 100));
    - = |x: &Saturating| Saturating(-x.0);
});
impl Zero for Saturating {
    fn zero() -> Saturating {
        Saturating(0)
    }
    fn is_zero(&self) -> bool {
        self.0 == 0
    }
}
impl One for Saturating {
    fn one() -> Saturating {
        Saturating(1)
    }
}
impl Ring for Saturating {
    fn is_exact_zero(&self) -> bool {
        self.0 == 0
    }
}

/// A type that breaks a law is refused by its name, with numbers that show it.
#[test]
fn what_is_no_commutative_ring_is_refused() {
    let i = Quaternion([0, 1, 0, 0]);
    let j = Quaternion([0, 0, 1, 0]);
    let error = ring_laws(&[Quaternion::one(), i, j]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a b = b a does not hold for a = Quaternion([0, 1, 0, 0]), b = Quaternion([0, 0, 1, 0]): the left side is \
         Quaternion([0, 0, 0, 1]), the right side Quaternion([0, 0, 0, -1])"
    );
    // Where nothing shows it, nothing is refused.
    ring_laws(&[Quaternion::one(), i]).unwrap();
    let error = ring_laws(&[90, 1, -60].map(Saturating)).unwrap_err();
    assert_eq!(error.law, "(a + b) + c = a + (b + c)");
    // Floats that round are no ring to the last bit.
    assert!(ring_laws(&[0.1, 0.7, 1e17]).is_err());
}

/// Tolerance of results that are right to 256 bits, for matrices of norm 1 or so.
const CLOSE: f64 = 1e-73;

/// Numbers of the sequence that a seed begins, in [-1, 1), with all their bits.
fn random(seed: u64) -> impl FnMut() -> Wide {
    let mut state = Wide::ratio(seed as i64 * 2 + 1, 1_000_003);
    move || {
        // The logistic map at 4 fills all digits.
        state = Wide::int(4) * &state * (Wide::one() - &state);
        Wide::int(2) * &state - Wide::one()
    }
}

fn real_matrix(m: usize, n: usize, seed: u64) -> Array<Wide> {
    let mut next = random(seed);
    (0..20).for_each(|_| drop(next()));
    Array::new(&[m, n], (0..m * n).map(|_| next()).collect()).unwrap()
}

fn complex_matrix(m: usize, n: usize, seed: u64) -> Array<Complex<Wide>> {
    let (re, im) = (real_matrix(m, n, seed), real_matrix(m, n, seed + 50));
    let entries = re.iter().zip(im.iter()).map(|(x, y)| Complex::new(x.clone(), y.clone()));
    Array::new(&[m, n], entries.collect()).unwrap()
}

fn product<S: Scalar<Real = Wide>>(a: &Array<S>, b: &Array<S>, adjoint: [bool; 2]) -> Array<S> {
    let mut out = Array::default();
    matmul(a, b, adjoint[0], adjoint[1], &mut out).unwrap();
    out
}

/// The greatest distance between elements.
fn distance<S: Scalar<Real = Wide>>(a: &Array<S>, b: &Array<S>) -> f64 {
    assert_eq!(a.shape(), b.shape());
    let apart =
        a.iter().zip(b.iter()).map(|(x, y)| (x.clone() - y).abs2().sqrt().primal().unwrap());
    apart.fold(0.0, f64::max)
}

fn identity<S: Scalar<Real = Wide>>(n: usize) -> Array<S> {
    let one = |k: usize| if k.is_multiple_of(n + 1) { S::one() } else { S::zero() };
    Array::new(&[n, n], (0..n * n).map(one).collect()).unwrap()
}

fn diagonal<S: Scalar<Real = Wide>>(values: &[Wide]) -> Array<S> {
    let n = values.len();
    let mut out = identity::<S>(n);
    (0..n).for_each(|k| out[k * (n + 1)] = S::from_real(values[k].clone()));
    out
}

fn check_eigen<S: Scalar<Real = Wide>>(a: &Array<S>) {
    let n = a.shape()[0];
    let (mut values, mut vectors) = (Array::default(), Array::default());
    eigh(a, &mut values, &mut vectors).unwrap();
    assert!(values.windows(2).all(|w| w[0].primal() <= w[1].primal()));
    assert!(distance(&product(&vectors, &vectors, [true, false]), &identity(n)) < CLOSE);
    let by_values = product(&vectors, &diagonal(&values), [false; 2]);
    assert!(distance(&product(&by_values, &vectors, [false, true]), a) < CLOSE);
}

fn check_svd<S: Scalar<Real = Wide>>(a: &Array<S>) -> Vec<Wide> {
    let (m, n) = (a.shape()[0], a.shape()[1]);
    let (mut all, k) = (Array::default(), m.min(n));
    svd(a, &mut all).unwrap();
    let values: Vec<Wide> = all[..k].iter().map(S::re).collect();
    let u = Array::new(&[m, k], all[k..(1 + m) * k].to_vec()).unwrap();
    let v = Array::new(&[n, k], all[(1 + m) * k..].to_vec()).unwrap();
    assert!(distance(&product(&u, &u, [true, false]), &identity(k)) < CLOSE);
    assert!(distance(&product(&v, &v, [true, false]), &identity(k)) < CLOSE);
    let by_values = product(&u, &diagonal(&values), [false; 2]);
    assert!(distance(&product(&by_values, &v, [false, true]), a) < CLOSE);
    values
}

#[test]
fn decompositions_keep_all_digits() {
    for n in [1, 2, 3, 5, 8] {
        let a = real_matrix(n, n, n as u64);
        check_eigen(&product(&a, &a, [false, true]));
        let symmetric = (0..n * n).map(|k| a[k].clone() + &a[k % n * n + k / n]);
        check_eigen(&Array::new(&[n, n], symmetric.collect()).unwrap());
        let a = complex_matrix(n, n, n as u64);
        check_eigen(&product(&a, &a, [false, true]));
    }
    // Equal eigenvalues, and a matrix of floats.
    check_eigen(&identity::<Wide>(4));
    let hadamard = [1, 1, 1, -1].map(|x| Wide::int(x) * Wide::ratio(1, 2).sqrt());
    check_eigen(&Array::new(&[2, 2], hadamard.to_vec()).unwrap());
    let floats = Array::new(&[2, 2], [2, 1, 1, 3].map(Wide::int).to_vec()).unwrap();
    let (mut values, mut vectors) = (Array::default(), Array::default());
    eigh(&floats, &mut values, &mut vectors).unwrap();
    let golden = (Wide::int(5) - Wide::int(5).sqrt()) / Wide::int(2);
    assert!(values[0].distance(&golden) < CLOSE);

    for (m, n) in [(1, 1), (2, 2), (4, 4), (5, 3), (3, 5), (7, 2), (1, 4)] {
        check_svd(&real_matrix(m, n, (m + n) as u64));
        check_svd(&complex_matrix(m, n, (m + n) as u64));
    }
    // Of rank 1 and 0.
    let column = real_matrix(4, 1, 9);
    check_svd(&product(&column, &column, [false, true]));
    check_svd(&Array::new(&[3, 2], vec![Wide::zero(); 6]).unwrap());
    // The golden ratio and its inverse.
    let values = check_svd(&Array::new(&[2, 2], [1, 1, 0, 1].map(Wide::int).to_vec()).unwrap());
    let phi = (Wide::one() + Wide::int(5).sqrt()) / Wide::int(2);
    assert!(values[0].distance(&phi) < CLOSE && values[1].distance(&phi.recip()) < CLOSE);
}

/// `sum A^k / k!`, as long as terms count.
fn series<S: Scalar<Real = Wide>>(a: &Array<S>) -> Array<S> {
    let n = a.shape()[0];
    let (mut sum, mut term) = (identity::<S>(n), identity::<S>(n));
    for k in 1..400 {
        let divisor = S::ratio(1, k);
        term = product(&term, a, [false; 2]);
        term.iter_mut().for_each(|x| *x *= divisor.clone());
        sum.iter_mut().zip(term.iter()).for_each(|(s, t)| *s += t.clone());
    }
    sum
}

#[test]
fn exponentials_keep_all_digits() {
    for (n, scale) in [(1, "1"), (2, "0.001"), (3, "1"), (4, "0.3"), (3, "12"), (5, "2.5")] {
        let size = Wide::parse(scale);
        let a = real_matrix(n, n, 3).iter().map(|x| x * &size).collect::<Vec<_>>();
        let a = Array::new(&[n, n], a).unwrap();
        let (mut y, mut along) = (Array::default(), Array::default());
        expm(&a, &mut y).unwrap();
        let expected = series(&a);
        let greatest = expected.iter().map(|x| x.primal().unwrap().abs()).fold(1.0, f64::max);
        let apart = distance(&y, &expected);
        assert!(apart < CLOSE * 100.0 * greatest, "{n} {scale}: {apart:e} of {greatest:e}");
        // exp [[A, E], [0, A]] has the derivative in its corner.
        let e = real_matrix(n, n, 8);
        expm_along(&a, &e, &mut along).unwrap();
        let mut both = vec![Wide::zero(); 4 * n * n];
        for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
            both[i * 2 * n + j] = a[i * n + j].clone();
            both[(n + i) * 2 * n + n + j] = a[i * n + j].clone();
            both[i * 2 * n + n + j] = e[i * n + j].clone();
        }
        let whole = series(&Array::new(&[2 * n, 2 * n], both).unwrap());
        let corner = (0..n * n).map(|k| whole[k / n * 2 * n + n + k % n].clone()).collect();
        let apart = distance(&along, &Array::new(&[n, n], corner).unwrap());
        assert!(apart < CLOSE * 1000.0 * greatest, "{n} {scale}: {apart:e}");
    }
    let mut y = Array::default();
    expm(&complex_matrix(3, 3, 4), &mut y).unwrap();
    assert!(distance(&y, &series(&complex_matrix(3, 3, 4))) < 100.0 * CLOSE);
}

/// A matrix with singular values down to 1e-40: of full rank here, where floats of 53 bits see
/// rank 1.
#[test]
fn systems_keep_all_digits() {
    let n = 4;
    let (mut left, mut right) = (Array::default(), Array::default());
    let a = real_matrix(n, n, 21);
    eigh(&product(&a, &a, [false, true]), &mut Array::default(), &mut left).unwrap();
    eigh(&product(&a, &a, [true, false]), &mut Array::default(), &mut right).unwrap();
    let s = ["1", "1e-12", "1e-25", "1e-40"].map(Wide::parse);
    let a = product(&product(&left, &diagonal(&s), [false; 2]), &right, [false, true]);
    let (mut inverse, mut x) = (Array::default(), Array::default());
    pinv(&a, &mut inverse).unwrap();
    assert!(distance(&product(&a, &inverse, [false; 2]), &identity(n)) < 1e-33);
    let solution = real_matrix(n, 1, 5);
    let b = product(&a, &solution, [false; 2]);
    lstsq(&a, &b, &mut x).unwrap();
    assert!(distance(&x, &solution) < 1e-33);
    solve(&a, &b, false, &mut x).unwrap();
    assert!(distance(&x, &solution) < 1e-33);
    // The least norm and the least squares of A^+.
    let high = real_matrix(5, 3, 2);
    pinv(&high, &mut inverse).unwrap();
    assert!(distance(&product(&inverse, &high, [false; 2]), &identity(3)) < CLOSE * 100.0);
}

/// Literals are those of the text, and derivatives have all digits.
#[test]
fn programs_keep_all_digits() {
    let value = |source: &str, args: &[Datum<Wide>]| {
        let program = parse_program(source).unwrap();
        let mut f = Derivatives::<Wide>::new(&program, "f").unwrap();
        let (y, gradient) = f.value_and_gradient(args).unwrap();
        (y, gradient.iter().filter_map(|g| g.real().cloned()).collect::<Vec<_>>())
    };
    let x = Datum::Real(Wide::parse("0.7"));
    let (third, slope) = value("fn f(x) { 1.0 / 3.0 * x }", std::slice::from_ref(&x));
    assert!(third.distance(&(Wide::int(7) / Wide::int(30))) < CLOSE);
    assert!(slope[0].distance(&Wide::ratio(1, 3)) < CLOSE);
    let (tenth, _) = value("fn f(x) { 0.1 + 0.0 * x }", std::slice::from_ref(&x));
    assert!(tenth.distance(&Wide::ratio(1, 10)) < CLOSE);
    let (y, slope) = value("fn f(x) { exp(sin(x)) / (1e-3 + x) }", &[x]);
    let at = Wide::parse("0.7");
    let below = Wide::parse("0.701");
    let expected = at.sin().exp() / &below;
    assert!(y.distance(&expected) < CLOSE);
    let derivative = &expected * (at.cos() - below.recip());
    assert!(slope[0].distance(&derivative) < CLOSE);
    // d/dt ln det(A + t 1) = tr A^-1, and that of the sum of singular values.
    let source = "fn f(t, a: array) { let b = a + t * eye(3); logabsdet(b) + sum(svdvals(b)) + sum(expm(b)) }";
    let a = real_matrix(3, 3, 11);
    let data = Datum::reals_of(&[3, 3], a.to_vec()).unwrap();
    let difference = |h: &Wide| {
        let at = |t: Wide| value(source, &[Datum::Real(t), data.clone()]).0;
        (at(h.clone()) - at(-h)) / (h + h)
    };
    let (_, slope) = value(source, &[Datum::Real(Wide::zero()), data.clone()]);
    // Extrapolated differences of a step of 1e-12 are right to 1e-47.
    let h = Wide::parse("1e-12");
    let half = &h / Wide::int(2);
    let expected = (difference(&half) * Wide::int(4) - difference(&h)) / Wide::int(3);
    assert!(slope[0].distance(&expected) < 1e-44, "{:e}", slope[0].distance(&expected));
}

#[test]
fn circuits_keep_all_digits() {
    let mut circuit = Circuit::new(3);
    let theta = circuit.param("theta");
    circuit.h(0).unwrap().ry(1, theta).unwrap().cx(0, 1).unwrap().t(1).unwrap().cx(1, 2).unwrap();
    let angle = Wide::parse("0.3");
    let state = Simulator::new().run(&circuit, std::slice::from_ref(&angle)).unwrap();
    let p = state.probabilities();
    // cos^2(theta/2) / 2 in |000>
    let half = &angle / Wide::int(2);
    assert!(p[0].distance(&(half.cos().powi(2) / Wide::int(2))) < CLOSE);
    assert!(Wide::sum(p.iter().cloned()).distance(&Wide::one()) < CLOSE);
}
