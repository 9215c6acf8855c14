//! Numbers with uncertainty: linear error propagation that knows correlations.
//!
//! Each measurement is a source of error of its own. A number computed from measurements carries
//! its value and, for each source, by how much it moves when that source moves by one standard
//! deviation; a function multiplies these contributions by its slope. Numbers that share a source
//! are correlated, and stay so:
//!
//! ```
//! use ketgrad_core::scalar::{Scalar, Uncertain};
//!
//! let x = Uncertain::new(1.23, 0.04);
//! assert_eq!(x.to_string(), "1.23 ± 0.04");
//! assert_eq!((&x - &x).to_string(), "0 ± 0"); // the same measurement
//! let y = Uncertain::new(1.23, 0.03); // another one
//! assert_eq!((&x - &y).to_string(), "0.00 ± 0.05");
//! assert_eq!((x.sin() / x.cos() - x.tan()).sigma() < 1e-15, true);
//! ```
//!
//! The propagation is of first order: it is good where functions are nearly straight over a few
//! standard deviations. It says nothing at a kink or a pole (`abs` at 0 and `hypot` at the origin
//! have no uncertainty, `sqrt` at 0 an infinite one).
//!
//! Cost: an operation on numbers of n and m sources is O(n + m).
//!
//! The idea is that of Measurements.jl (M. Giordano, "Uncertainty propagation with functionally
//! correlated quantities", arXiv:1610.08716).

use std::{
    cmp::Ordering,
    fmt,
    sync::atomic::{AtomicU64, Ordering as Memory},
};

use num_traits::{One, Zero};

use super::{Conj, Ordered, Real, Ring, Scalar, Undecided, slope};

/// A measured number: a value and what each independent source of error contributes to it.
///
/// Two numbers are equal (`==`) if they agree in value and in every contribution: two measurements
/// with the same value and error are different numbers. Comparisons of [`Ordered`] go by value.
#[derive(Clone, Debug, PartialEq)]
pub struct Uncertain {
    value: f64,
    /// (source, change of the number per standard deviation of the source), sorted by source; no
    /// contribution is zero.
    parts: Vec<(u64, f64)>,
}

/// The next source of error. Two measurements never share one, in whatever thread they are made.
/// Only that the numbers differ matters, so no result depends on the order of counting.
static NEXT_SOURCE: AtomicU64 = AtomicU64::new(0);

impl Uncertain {
    /// Returns a measurement `value ± sigma`, independent of every other. The sign of `sigma` does
    /// not matter; with `sigma = 0` the number is [exact](Uncertain::exact).
    #[must_use]
    pub fn new(value: f64, sigma: f64) -> Uncertain {
        if sigma == 0.0 {
            return Uncertain::exact(value);
        }
        let source = NEXT_SOURCE.fetch_add(1, Memory::Relaxed);
        Uncertain { value, parts: vec![(source, sigma.abs())] }
    }

    /// Returns a number without error.
    #[must_use]
    pub fn exact(value: f64) -> Uncertain {
        Uncertain { value, parts: Vec::new() }
    }

    /// Returns a number that was computed elsewhere from others, by its value and its slope along
    /// each of them.
    ///
    /// ```
    /// use ketgrad_core::scalar::Uncertain;
    /// let x = Uncertain::new(3.0, 0.1);
    /// let square = Uncertain::linear(9.0, [(6.0, &x)]);
    /// assert!((square - &x * &x).sigma() < 1e-15);
    /// ```
    #[must_use]
    pub fn linear<'a>(
        value: f64,
        slopes: impl IntoIterator<Item = (f64, &'a Uncertain)>,
    ) -> Uncertain {
        let terms = slopes.into_iter().map(|(slope, of)| of.map(0.0, slope));
        Uncertain { value, ..Uncertain::sum(terms) }
    }

    /// Returns the best value.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.value
    }

    /// Returns the standard deviation, never negative.
    #[must_use]
    pub fn sigma(&self) -> f64 {
        self.parts.iter().fold(0.0, |h: f64, (_, s)| h.hypot(*s))
    }

    /// Returns the covariance with another number: the sum of the products of their contributions
    /// over the sources they share. `x.covariance(&x)` is the variance of `x`.
    #[must_use]
    pub fn covariance(&self, other: &Uncertain) -> f64 {
        let mut sum = 0.0;
        merge(&self.parts, &other.parts, |_, a, b| sum += a * b);
        sum
    }

    /// Returns the correlation with another number, in [-1, 1]; NaN where one of them is exact.
    #[must_use]
    pub fn correlation(&self, other: &Uncertain) -> f64 {
        let (s, t) = (self.sigma(), other.sigma());
        let mut sum = 0.0;
        merge(&self.parts, &other.parts, |_, a, b| sum += (a / s) * (b / t));
        if s == 0.0 || t == 0.0 { f64::NAN } else { sum.clamp(-1.0, 1.0) }
    }

    /// Returns a function of this number alone: its value and its slope.
    fn map(&self, value: f64, slope: f64) -> Uncertain {
        let parts =
            self.parts.iter().map(|&(k, s)| (k, slope * s)).filter(|p| p.1 != 0.0).collect();
        Uncertain { value, parts }
    }

    /// Returns a function of two numbers: its value and its slopes along both.
    fn join(value: f64, a: f64, x: &Uncertain, b: f64, y: &Uncertain) -> Uncertain {
        // An exact number takes no part, even where its slope is infinite.
        if x.parts.is_empty() {
            return y.map(value, b);
        }
        if y.parts.is_empty() {
            return x.map(value, a);
        }
        let mut parts = Vec::with_capacity(x.parts.len() + y.parts.len());
        merge(&x.parts, &y.parts, |k, s, t| {
            // Only present sources are multiplied: an infinite slope times an absent source is
            // nothing.
            let part = if s == 0.0 {
                b * t
            } else if t == 0.0 {
                a * s
            } else {
                a * s + b * t
            };
            if part != 0.0 {
                parts.push((k, part));
            }
        });
        Uncertain { value, parts }
    }

    fn plus(&self, y: &Uncertain) -> Uncertain {
        Uncertain::join(self.value + y.value, 1.0, self, 1.0, y)
    }
    fn minus(&self, y: &Uncertain) -> Uncertain {
        Uncertain::join(self.value - y.value, 1.0, self, -1.0, y)
    }
    fn times(&self, y: &Uncertain) -> Uncertain {
        Uncertain::join(self.value * y.value, y.value, self, self.value, y)
    }
    fn over(&self, y: &Uncertain) -> Uncertain {
        let q = self.value / y.value;
        Uncertain::join(q, y.value.recip(), self, -q / y.value, y)
    }
    fn negated(&self) -> Uncertain {
        self.map(-self.value, -1.0)
    }
    /// `x % y = x - y trunc(x / y)`, so the slopes are 1 and `-trunc(x / y)`.
    fn remainder(&self, y: &Uncertain) -> Uncertain {
        let (x, m) = (self.value, y.value);
        Uncertain::join(x % m, 1.0, self, -(x / m).trunc(), y)
    }
}

/// Walks two lists sorted by source and hands over each source with both contributions, 0 where
/// there is none. O(n + m).
fn merge(x: &[(u64, f64)], y: &[(u64, f64)], mut each: impl FnMut(u64, f64, f64)) {
    let (mut x, mut y) = (x.iter().copied().peekable(), y.iter().copied().peekable());
    loop {
        let order = match (x.peek(), y.peek()) {
            (Some(a), Some(b)) => a.0.cmp(&b.0),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return,
        };
        let a = if order.is_le() { x.next() } else { None };
        let b = if order.is_ge() { y.next() } else { None };
        if let Some((k, _)) = a.or(b) {
            each(k, a.map_or(0.0, |p| p.1), b.map_or(0.0, |p| p.1));
        }
    }
}

ring_ops!(Uncertain {
    Add add AddAssign add_assign = Uncertain::plus;
    Sub sub SubAssign sub_assign = Uncertain::minus;
    Mul mul MulAssign mul_assign = Uncertain::times;
    Div div DivAssign div_assign = Uncertain::over;
    Rem rem RemAssign rem_assign = Uncertain::remainder;
    - = Uncertain::negated;
});
num_for_complex!(Uncertain);

impl Zero for Uncertain {
    fn zero() -> Uncertain {
        Uncertain::exact(0.0)
    }
    fn is_zero(&self) -> bool {
        self.is_exact_zero()
    }
}

impl One for Uncertain {
    fn one() -> Uncertain {
        Uncertain::exact(1.0)
    }
}

impl Ring for Uncertain {
    fn is_exact_zero(&self) -> bool {
        self.value == 0.0 && self.parts.is_empty()
    }

    /// All contributions are sorted once: O(n log n) in their number, where adding one term after
    /// the other would be quadratic.
    fn sum(terms: impl IntoIterator<Item = Uncertain>) -> Uncertain {
        let (mut value, mut all) = (0.0, Vec::new());
        for mut term in terms {
            value += term.value;
            all.append(&mut term.parts);
        }
        all.sort_by_key(|p| p.0);
        let mut parts: Vec<(u64, f64)> = Vec::new();
        for (k, s) in all {
            match parts.last_mut() {
                Some(last) if last.0 == k => last.1 += s,
                _ => parts.push((k, s)),
            }
        }
        parts.retain(|p| p.1 != 0.0);
        Uncertain { value, parts }
    }
}

impl Conj for Uncertain {
    fn conj(&self) -> Uncertain {
        self.clone()
    }
}

/// The functions of one argument.
macro_rules! propagated {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Uncertain {
            let y = f64::$f(self.value);
            self.map(y, slope::$f(&self.value, &y))
        }
    )*};
}

/// The special functions.
macro_rules! propagated_special {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Uncertain {
            let y = Real::$f(&self.value);
            self.map(y, slope::$f(&self.value, &y))
        }
    )*};
}

/// The functions of two arguments.
macro_rules! propagated2 {
    ($($Trait:ident::$f:ident)*) => {$(
        fn $f(&self, other: &Uncertain) -> Uncertain {
            let z = $Trait::$f(&self.value, &other.value);
            let (a, b) = slope::$f(&self.value, &other.value, &z);
            Uncertain::join(z, a, self, b, other)
        }
    )*};
}

impl Scalar for Uncertain {
    type Real = Uncertain;
    fn from_real(re: Uncertain) -> Uncertain {
        re
    }
    fn re(&self) -> Uncertain {
        self.clone()
    }
    fn im(&self) -> Uncertain {
        Uncertain::exact(0.0)
    }
    fn abs2(&self) -> Uncertain {
        self.times(self)
    }
    fn lit(x: f64) -> Uncertain {
        Uncertain::exact(x)
    }
    fn ratio(n: i64, d: i64) -> Uncertain {
        Uncertain::exact(f64::ratio(n, d))
    }
    fn powi(&self, n: i64) -> Uncertain {
        let y = Scalar::powi(&self.value, n);
        self.map(y, slope::powi(&self.value, &y, n))
    }
    propagated2!(Scalar::pow);
    unary_functions!(propagated);
}

impl Real for Uncertain {
    const ORDER: usize = 1;
    fn pi() -> Uncertain {
        Uncertain::exact(std::f64::consts::PI)
    }
    propagated2!(Real::atan2 Real::hypot Real::logaddexp);
    special_functions!(propagated_special);
    fn polygamma(&self, n: i64) -> Uncertain {
        self.map(Real::polygamma(&self.value, n), slope::polygamma(&self.value, n))
    }
    fn primal(&self) -> Option<f64> {
        Some(self.value)
    }
    fn beyond(&self) -> Uncertain {
        Uncertain { value: 0.0, ..self.clone() }
    }
    fn try_cmp(&self, other: &Uncertain) -> Result<Option<Ordering>, Undecided> {
        Ok(self.cmp_primal(other))
    }
}

impl Ordered for Uncertain {
    fn cmp_primal(&self, other: &Uncertain) -> Option<Ordering> {
        self.value.partial_cmp(&other.value)
    }
}

/// Prints as `1.23 ± 0.04`: as many decimals as show two significant digits of the error, one if
/// the second is a zero. A precision (`{:.3}`) sets the decimals of both.
impl fmt::Display for Uncertain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, sigma) = (self.value, self.sigma());
        match f.precision().or_else(|| decimals(sigma)) {
            Some(d) => write!(f, "{value:.d$} ± {sigma:.d$}"),
            None => write!(f, "{value} ± {sigma}"),
        }
    }
}

/// Returns the number of decimals that show two significant digits of `sigma`, without a zero at
/// the end. `None` where there is nothing to round: zero, infinite, NaN.
fn decimals(sigma: f64) -> Option<usize> {
    if sigma == 0.0 || !sigma.is_finite() {
        return None;
    }
    // "4.0e-2": the digits and the exponent after rounding.
    let text = format!("{sigma:.1e}");
    let (digits, exponent) = text.split_once('e')?;
    let last = if digits.ends_with('0') { 0 } else { 1 };
    Some(usize::try_from(last - exponent.parse::<i32>().ok()?).unwrap_or(0))
}
