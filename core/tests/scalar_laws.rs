//! The laws of the number traits, walked over every number type: ring and field laws, functions and
//! their inverses, identities. Every part of a number is compared, so on a dual number each law
//! also checks the derivatives of both of its sides.

use ketgrad_core::scalar::{Ordered, Real, Ring, Scalar, Uncertain};
use nalgebra::{Const, DVector, Dyn, SVector};
use num_complex::Complex;
use num_dual::{
    Derivative, Dual, Dual2, Dual2_64, Dual3, Dual32, Dual64, DualDVec64, DualSVec64, DualVec,
    HyperDual, HyperDual64, HyperHyperDual,
};

/// A stream of numbers in [-1, 1] that fill it evenly: multiples of the golden ratio.
struct Stream(f64);

impl Stream {
    fn next(&mut self) -> f64 {
        self.0 = (self.0 + 0.618_033_988_749_894_8).fract();
        2.0 * self.0 - 1.0
    }
}

/// Functions that the laws need beyond the traits: numbers to try, and all parts of one to compare.
trait Sample: Scalar {
    /// A number with the given value, whose derivatives (or uncertainties) come from the stream. A
    /// real type ignores `im`.
    fn sample(re: f64, im: f64, stream: &mut Stream) -> Self;
    /// Every part: value, derivatives, contributions.
    fn parts(&self) -> Vec<f64>;
    /// The two sides of a law chain up to ten functions, and the higher derivatives of an inverse
    /// amplify the roundings: some thousand times 2^-53 (2^-24 for `f32`).
    const TOLERANCE: f64 = 5e-13;
    /// Real types take only arguments inside the real domain.
    const COMPLEX: bool = false;
}

impl Sample for f64 {
    fn sample(re: f64, _: f64, _: &mut Stream) -> f64 {
        re
    }
    fn parts(&self) -> Vec<f64> {
        vec![*self]
    }
}

impl Sample for f32 {
    fn sample(re: f64, _: f64, _: &mut Stream) -> f32 {
        f32::lit(re)
    }
    fn parts(&self) -> Vec<f64> {
        vec![f64::from(*self)]
    }
    const TOLERANCE: f64 = 2e-4;
}

impl<T: Real + Sample> Sample for Complex<T> {
    fn sample(re: f64, im: f64, stream: &mut Stream) -> Self {
        Complex::new(T::sample(re, 0.0, stream), T::sample(im, 0.0, stream))
    }
    fn parts(&self) -> Vec<f64> {
        [self.re.parts(), self.im.parts()].concat()
    }
    const TOLERANCE: f64 = T::TOLERANCE;
    const COMPLEX: bool = true;
}

/// One line for each dual number: its fields in the order of `new`.
macro_rules! dual_samples {
    ($($D:ident { $($part:ident)* };)*) => {$(
        impl<T: Real + Sample + num_dual::DualNum> Sample for $D<T> {
            fn sample(re: f64, _: f64, stream: &mut Stream) -> Self {
                let re = T::sample(re, 0.0, stream);
                $(let $part = { let d = stream.next(); T::sample(d, 0.0, stream) };)*
                $D::new(re, $($part),*)
            }
            fn parts(&self) -> Vec<f64> {
                [self.re.parts(), $(self.$part.parts()),*].concat()
            }
            const TOLERANCE: f64 = T::TOLERANCE;
        }
    )*};
}
dual_samples! {
    Dual { eps };
    Dual2 { v1 v2 };
    Dual3 { v1 v2 v3 };
    HyperDual { eps1 eps2 eps1eps2 };
    HyperHyperDual { eps1 eps2 eps3 eps1eps2 eps1eps3 eps2eps3 eps1eps2eps3 };
}

impl Sample for DualVec<f64, Const<2>> {
    fn sample(re: f64, _: f64, stream: &mut Stream) -> Self {
        DualVec::new(re, Derivative::some(SVector::from([stream.next(), stream.next()])))
    }
    fn parts(&self) -> Vec<f64> {
        let d = self.eps.unwrap_generic(Const::<2>, Const::<1>);
        vec![self.re, d[0], d[1]]
    }
}

impl Sample for DualVec<f64, Dyn> {
    fn sample(re: f64, _: f64, stream: &mut Stream) -> Self {
        let d: Vec<f64> = (0..3).map(|_| stream.next()).collect();
        DualVec::new(re, Derivative::some(DVector::from_vec(d)))
    }
    fn parts(&self) -> Vec<f64> {
        let d = self.eps.clone().unwrap_generic(Dyn(3), Const::<1>);
        [vec![self.re], d.as_slice().to_vec()].concat()
    }
}

impl Sample for Uncertain {
    fn sample(re: f64, _: f64, stream: &mut Stream) -> Uncertain {
        Uncertain::new(re, 0.1 * stream.next())
    }
    /// The value and the uncertainty: of a difference both vanish only if all contributions agree.
    fn parts(&self) -> Vec<f64> {
        vec![self.value(), self.sigma()]
    }
}

/// The greatest difference in a part, relative to the greatest part of both (or to 1).
fn distance<S: Sample>(a: &S, b: &S) -> f64 {
    let size = |x: &S| x.parts().into_iter().fold(1.0, |m: f64, p| m.max(p.abs()));
    let difference = (a - b)
        .parts()
        .into_iter()
        .fold(0.0, |m: f64, p| if p.is_nan() { p } else { m.max(p.abs()) });
    difference / size(a).max(size(b))
}

/// Asserts that two sides of a law agree in every part.
macro_rules! law {
    ($S:ty: $a:expr => $b:expr; $($at:expr),*) => {{
        let (a, b): ($S, $S) = ($a, $b);
        let d = distance(&a, &b);
        // Not `d > tolerance`: NaN must fail as well.
        assert!(
            d <= <$S as Sample>::TOLERANCE,
            "{}: {} => {}\n at {:?}\n {a:?}\n {b:?}\n distance {d:e}",
            std::any::type_name::<$S>(), stringify!($a), stringify!($b), ($(&$at,)*)
        );
    }};
}

/// Asserts that two sides agree in every bit of every part.
macro_rules! exact_law {
    ($a:expr => $b:expr) => {
        assert_eq!(($a).parts(), ($b).parts(), "{} => {}", stringify!($a), stringify!($b))
    };
}

/// Values in the plane; a real type takes the real parts, which lie on both sides of zero.
const PLANE: [(f64, f64); 8] = [
    (0.75, 0.5),
    (-1.25, 0.875),
    (1.5, -0.25),
    (-0.375, -1.5),
    (2.25, 1.75),
    (-2.5, -0.125),
    (0.125, 2.0),
    (0.5, -0.75),
];

fn samples<S: Sample>(seed: f64) -> Vec<S> {
    let mut stream = Stream(seed);
    PLANE.into_iter().map(|(re, im)| S::sample(re, im, &mut stream)).collect()
}

/// Samples whose real part is mapped by `f` into the domain of a function; complex ones stay where
/// they are.
fn samples_in<S: Sample>(seed: f64, f: impl Fn(f64) -> f64) -> Vec<S> {
    let mut stream = Stream(seed);
    PLANE
        .into_iter()
        .map(|(re, im)| S::sample(if S::COMPLEX { re } else { f(re) }, im, &mut stream))
        .collect()
}

/// Into (0, 3).
fn positive(x: f64) -> f64 {
    x.abs() + 0.1
}

/// Into (-1, 1).
fn inside(x: f64) -> f64 {
    x / 3.0
}

fn ring_laws<S: Sample>() {
    let (xs, ys, zs) = (samples::<S>(0.1), samples::<S>(0.2), samples::<S>(0.3));
    for ((x, y), z) in xs.iter().zip(&ys).zip(&zs) {
        law!(S: x + y => y + x; x, y);
        law!(S: (x + y) + z => x + (y + z); x, y, z);
        law!(S: x * y => y * x; x, y);
        law!(S: (x * y) * z => x * (y * z); x, y, z);
        law!(S: x * (y + z) => x * y + x * z; x, y, z);
        law!(S: x - y => x + (-y); x, y);
        law!(S: S::dot2(x, y, z, x) => x * y + z * x; x, y, z);
        law!(S: S::sum([x.clone(), y.clone(), z.clone(), x.clone()]) => x + y + z + x; x, y, z);
        exact_law!(x + S::zero() => x);
        exact_law!(x * S::one() => x);
        exact_law!(-(-x) => x);
        assert!((x - x.clone()).is_exact_zero());
        assert!((x * S::zero()).is_exact_zero());
        assert!(!x.is_exact_zero() && !x.is_exact_one());
        // Value and reference on either side, and the assigning forms.
        let sum = x + y;
        exact_law!(x.clone() + y => sum);
        exact_law!(x + y.clone() => sum);
        exact_law!(x.clone() + y.clone() => sum);
        let (mut a, mut s, mut m, mut d, mut f) =
            (x.clone(), x.clone(), x.clone(), x.clone(), x.clone());
        a += y.clone();
        s -= y.clone();
        m *= y.clone();
        d /= y.clone();
        f.mul_add_assign(y, z);
        exact_law!(a => sum);
        exact_law!(s => x - y);
        law!(S: m => x * y; x, y);
        law!(S: d => x / y; x, y);
        law!(S: f => x + y * z; x, y, z);
    }
    assert!(S::zero().is_exact_zero() && S::one().is_exact_one() && S::int(1).is_exact_one());
    law!(S: S::ratio(3, 4) => S::lit(0.75););
    law!(S: S::ratio(1, 3) * S::int(3) => S::one(););
    law!(S: S::int(-7) => S::zero() - S::lit(7.0););
}

fn conjugation_laws<S: Sample>()
where
    S::Real: Sample,
{
    for (x, y) in samples::<S>(0.15).iter().zip(&samples::<S>(0.25)) {
        exact_law!(x.conj().conj() => x);
        law!(S: (x * y).conj() => x.conj() * y.conj(); x, y);
        law!(S: (x + y).conj() => x.conj() + y.conj(); x, y);
        law!(S: S::from_real(x.abs2()) => x * x.conj(); x);
        law!(S: S::from_real(x.re()) * S::int(2) => x + x.conj(); x);
        law!(S::Real: x.abs2() => x.re() * x.re() + x.im() * x.im(); x);
        exact_law!(S::from_real(x.re()).re() => x.re());
        // NaN where there is no such number, so that the law fails.
        let parts = |re, im| S::from_parts(re, im).unwrap_or_else(|| S::lit(f64::NAN));
        exact_law!(parts(x.re(), x.im()) => x);
        exact_law!(parts(x.re(), S::Real::int(0)) => S::from_real(x.re()));
        assert_eq!(S::from_parts(x.re(), S::Real::int(1)).is_some(), S::COMPLEX);
    }
}

fn field_laws<S: Sample>() {
    let (xs, ys) = (samples::<S>(0.4), samples::<S>(0.5));
    for (x, y) in xs.iter().zip(&ys) {
        law!(S: x / y * y => x.clone(); x, y);
        law!(S: x.recip() * x => S::one(); x);
        law!(S: x / y => x * y.recip(); x, y);
        law!(S: x.quotient(y) => x / y; x, y);
        law!(S: x.clone() / y.clone() => x / y; x, y);
        law!(S: x.clone() / y => x / y.clone(); x, y);
        law!(S: x.powi(0) => S::one(); x);
        law!(S: x.powi(1) => x.clone(); x);
        law!(S: x.powi(2) => x * x; x);
        law!(S: x.powi(3) => x * x * x; x);
        law!(S: x.powi(7) => x * x * x * x * x * x * x; x);
        law!(S: x.powi(-1) => x.recip(); x);
        law!(S: x.powi(-4) => x.powi(4).recip(); x);
    }
}

fn exponential_laws<S: Sample>() {
    let ys = samples::<S>(0.65);
    for (x, y) in samples::<S>(0.6).iter().zip(&ys) {
        law!(S: (x + y).exp() => x.exp() * y.exp(); x, y);
        law!(S: x.exp().ln() => x.clone(); x); // |im| < pi in all samples
        law!(S: x.exp_m1() => x.exp() - S::one(); x);
        law!(S: x.exp().recip() => (-x).exp(); x);
    }
    for (x, y) in samples_in::<S>(0.7, positive).iter().zip(&ys) {
        law!(S: x.ln().exp() => x.clone(); x);
        law!(S: x.ln_1p() => (S::one() + x).ln(); x);
        law!(S: x.log2() * S::int(2).ln() => x.ln(); x);
        law!(S: x.log10() * S::int(10).ln() => x.ln(); x);
        law!(S: x.sqrt() * x.sqrt() => x.clone(); x);
        law!(S: x.pow(y) => (x.ln() * y).exp(); x, y);
        law!(S: x.pow(&S::ratio(1, 2)) => x.sqrt(); x);
        law!(S: x.pow(&S::int(3)) => x.powi(3); x);
        law!(S: x.pow(&S::int(-2)) => x.powi(-2); x);
        law!(S: x.pow(&S::zero()) => S::one(); x);
        law!(S: x.pow(y) * x.pow(&(S::one() - y)) => x.clone(); x, y);
    }
    for x in samples::<S>(0.75) {
        law!(S: x.cbrt() * x.cbrt() * x.cbrt() => x.clone(); x); // real: both signs
    }
    law!(S: S::int(8).log2() => S::int(3););
    law!(S: S::int(1000).log10() => S::int(3););
    law!(S: S::int(27).cbrt() => S::int(3););
    law!(S: S::int(2).sqrt().powi(2) => S::int(2););
    law!(S: S::zero().pow(&S::zero()) => S::one(););
    law!(S: S::zero().pow(&S::ratio(5, 2)) => S::zero(););
    law!(S: S::zero().powi(0) => S::one(););
    law!(S: S::zero().sqrt() => S::zero(););
    law!(S: S::zero().cbrt() => S::zero(););
}

fn circular_laws<S: Sample>() {
    let (two, ys) = (S::int(2), samples::<S>(0.85));
    for (x, y) in samples::<S>(0.8).iter().zip(&ys) {
        let (s, c) = (x.sin(), x.cos());
        law!(S: &s * &s + &c * &c => S::one(); x);
        law!(S: x.tan() => s.clone() / &c; x);
        law!(S: (x + y).sin() => &s * y.cos() + &c * y.sin(); x, y);
        law!(S: (x + y).cos() => &c * y.cos() - &s * y.sin(); x, y);
        let (sh, ch, up, down) = (x.sinh(), x.cosh(), x.exp(), (-x).exp());
        law!(S: &sh * &two => &up - &down; x);
        law!(S: &ch * &two => &up + &down; x);
        law!(S: &ch * &ch - &sh * &sh => S::one(); x);
        law!(S: x.tanh() => &sh / &ch; x);
        law!(S: x.atan().tan() => x.clone(); x);
        law!(S: x.asinh().sinh() => x.clone(); x);
    }
    for x in samples_in::<S>(0.9, inside) {
        law!(S: x.asin().sin() => x.clone(); x);
        law!(S: x.acos().cos() => x.clone(); x);
        law!(S: x.atanh().tanh() => x.clone(); x);
        law!(S: x.asin() + x.acos() => S::from_real(S::Real::pi()) / &two; x);
        law!(S: x.atanh() * &two => (S::one() + &x).ln() - (S::one() - &x).ln(); x);
    }
    for x in samples_in::<S>(0.95, |x| 1.0 + positive(x)) {
        law!(S: x.acosh().cosh() => x.clone(); x);
        law!(S: x.acosh() => (&x + (&x - S::one()).sqrt() * (&x + S::one()).sqrt()).ln(); x);
    }
    law!(S: (S::from_real(S::Real::pi()) / S::int(6)).sin() => S::ratio(1, 2););
}

fn real_laws<T: Sample + Real>() {
    let ys = samples::<T>(0.35);
    // `ys` in another order, so that all four quadrants occur.
    for (x, y) in samples::<T>(0.45).iter().zip(ys.iter().cycle().skip(3)) {
        let (h, angle) = (x.hypot(y), y.atan2(x));
        law!(T: &h * &h => x * x + y * y; x, y);
        law!(T: &h * angle.sin() => y.clone(); x, y);
        law!(T: &h * angle.cos() => x.clone(); x, y);
        law!(T: angle.sin_cos().0 => angle.sin(); x, y);
        law!(T: angle.sin_cos().1 => angle.cos(); x, y);
        law!(T: x.abs2() => x * x; x);
        exact_law!(x.re() => x);
        assert!(x.im().is_exact_zero());
        assert_eq!(x.primal(), Some(x.parts()[0]));
        assert_eq!(x.try_cmp(y), Ok(x.parts()[0].partial_cmp(&y.parts()[0])));
    }
    law!(T: T::from_ratio(num_rational::Ratio::new(-6, 8)) => T::lit(-0.75););
}

fn order_laws<T: Sample + Ordered>() {
    for (x, y) in samples::<T>(0.45).iter().zip(samples::<T>(0.55).iter().cycle().skip(3)) {
        let x_is_greater = x.parts()[0] > y.parts()[0];
        assert_eq!(x.cmp_primal(y).map(std::cmp::Ordering::is_gt), Some(x_is_greater));
        exact_law!(x.max(y) => if x_is_greater { x } else { y });
        exact_law!(x.min(y) => if x_is_greater { y } else { x });
    }
    let nan = T::lit(f64::NAN);
    assert_eq!(nan.cmp_primal(&T::one()), None);
}

/// All laws for one type, each a test of its own.
macro_rules! all_laws {
    ($($name:ident: $S:ty, $($more:ident)*;)*) => {$(
        mod $name {
            use super::*;
            #[test]
            fn ring() { ring_laws::<$S>() }
            #[test]
            fn conjugation() { conjugation_laws::<$S>() }
            #[test]
            fn field() { field_laws::<$S>() }
            #[test]
            fn exponential() { exponential_laws::<$S>() }
            #[test]
            fn circular() { circular_laws::<$S>() }
            $(#[test]
            fn $more() { super::$more::<$S>() })*
        }
    )*};
}
all_laws! {
    float32: f32, real_laws order_laws;
    float64: f64, real_laws order_laws;
    complex32: Complex<f32>, ;
    complex64: Complex<f64>, ;
    dual32: Dual32, real_laws order_laws;
    dual64: Dual64, real_laws order_laws;
    dual2: Dual2_64, real_laws order_laws;
    dual3: Dual3<f64>, real_laws order_laws;
    hyperdual: HyperDual64, real_laws order_laws;
    hyperhyperdual: HyperHyperDual<f64>, real_laws order_laws;
    static_gradient: DualSVec64<2>, real_laws order_laws;
    dynamic_gradient: DualDVec64, real_laws order_laws;
    nested: Dual<Dual64>, real_laws order_laws;
    second_of_first: Dual2<Dual64>, real_laws order_laws;
    complex_dual: Complex<Dual64>, ;
    complex_nested: Complex<Dual<Dual64>>, ;
    complex_gradient: Complex<DualSVec64<2>>, ;
    uncertain: Uncertain, real_laws order_laws;
    complex_uncertain: Complex<Uncertain>, ;
}

#[test]
fn a_number_with_a_derivative_is_neither_zero_nor_one() {
    assert!(!Dual64::new(0.0, 1.0).is_exact_zero() && !Dual64::new(1.0, 1.0).is_exact_one());
    assert!(Dual64::new(0.0, 0.0).is_exact_zero() && Dual64::new(1.0, 0.0).is_exact_one());
    assert!(!Dual2_64::new(0.0, 0.0, 1.0).is_exact_zero());
    assert!(!Dual3::new(0.0, 0.0, 0.0, 1.0).is_exact_zero());
    assert!(!HyperDual64::new(0.0, 0.0, 0.0, 1.0).is_exact_zero());
    assert!(!HyperHyperDual::new(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0).is_exact_zero());
    assert!(!Dual::new(Dual64::new(0.0, 0.0), Dual64::new(0.0, 1.0)).is_exact_zero());
    assert!(!DualSVec64::<2>::from_re(0.0).derivative(1).is_exact_zero());
    assert!(DualSVec64::<2>::new(0.0, Derivative::some(SVector::from([0.0, 0.0]))).is_exact_zero());
    assert!(
        !DualDVec64::from_re(0.0).derivative(3, 2).is_exact_zero()
            && DualDVec64::from_re(0.0).is_exact_zero()
    );
    assert!(!Complex::new(Dual64::new(0.0, 0.0), Dual64::new(0.0, 1.0)).is_exact_zero());
    assert!(!Uncertain::new(0.0, 0.1).is_exact_zero() && Uncertain::new(0.0, 0.0).is_exact_zero());
}
