//! Exact angles `a pi + b + sum_k q_k theta_k`.

use std::{
    cmp::Ordering,
    fmt,
    hash::{BuildHasher, BuildHasherDefault, DefaultHasher, Hash, Hasher},
    ops::{Add, Div, Mul, Neg, Sub},
};

use num_rational::Ratio;
use num_traits::{CheckedAdd, CheckedMul, ToPrimitive};
use smallvec::SmallVec;

use super::{decimal::Decimal, rounding::UNIT};

/// An exact fraction.
pub type Q = Ratio<i64>;

/// The number of a parameter within its circuit.
///
/// One that comes from a circuit knows its parameter's name as well: another circuit, in which the number means
/// another parameter, refuses it. Ids are compared by their numbers alone.
#[derive(Clone, Copy, Debug)]
pub struct ParamId {
    number: u32,
    name: Name,
}

/// What an id knows of its parameter's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    /// Nothing: it was made of a number.
    Any,
    /// A hash of it.
    Hash(u32),
    /// That two parameters of different names were added, as if they were one. The angle is NaN.
    Several,
}

impl ParamId {
    /// The parameter of this number, whatever its name.
    #[must_use]
    pub const fn new(number: u32) -> ParamId {
        ParamId { number, name: Name::Any }
    }

    /// The parameter of this number and name.
    pub(crate) fn named(number: u32, name: &str) -> ParamId {
        ParamId { number, name: Name::of(name) }
    }

    /// The number.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.number
    }

    /// The position in a list of values.
    #[must_use]
    pub fn index(self) -> usize {
        self.number as usize
    }

    /// Whether a parameter of its number and this name may be what is meant.
    pub(crate) fn may_be(self, name: &str) -> bool {
        self.name == Name::Any || self.name == Name::of(name)
    }
}

impl Name {
    fn of(name: &str) -> Name {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(name);
        // Either half of it is as good.
        Name::Hash((hash >> 32) as u32)
    }

    /// Of an id that stands for both.
    fn and(self, other: Name) -> Name {
        match (self, other) {
            (Name::Any, name) | (name, Name::Any) => name,
            (a, b) if a == b => a,
            _ => Name::Several,
        }
    }
}

impl PartialEq for ParamId {
    fn eq(&self, other: &ParamId) -> bool {
        self.number == other.number
    }
}

impl Eq for ParamId {}

impl PartialOrd for ParamId {
    fn partial_cmp(&self, other: &ParamId) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ParamId {
    fn cmp(&self, other: &ParamId) -> Ordering {
        self.number.cmp(&other.number)
    }
}

impl Hash for ParamId {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.number.hash(state);
    }
}

/// An angle `pi a + b + sum_k q_k theta_k`, in radians, with exact fractions `a` and `q_k`.
///
/// ```
/// use ketgrad_core::param::{Angle, ParamId, Q};
///
/// let theta = Angle::theta(ParamId::new(0));
/// let a = (Angle::pi(1, 2) - theta.clone()) * Q::new(1, 2);
/// assert_eq!(a.to_string(), "pi/4 - 1/2*p0");
/// assert_eq!(a + theta * Q::new(1, 2), Angle::pi(1, 4)); // exact: no rounding anywhere
/// ```
///
/// The part in radians is a float, but decimals of up to 12 digits are added and multiplied by fractions as such:
/// `0.1 + 0.2` is 0.3.
///
/// Angles are added, subtracted, and multiplied or divided by `i64` and `f64`, by value or by
/// reference. With integers all stays exact. With an `f64` the coefficient of a parameter becomes the
/// fraction nearest to it, and a part in pi stays one only if the number is a fraction k/2^m,
/// m at most 20:
///
/// ```
/// use ketgrad_core::param::{Angle, PI, ParamId};
///
/// let theta = &Angle::theta(ParamId::new(0));
/// assert_eq!((2 * theta - PI / 8 + 0.5).to_string(), "-pi/8 + 2*p0 + 0.5");
/// assert_eq!((0.7 * theta / 2).to_string(), "7/20*p0");
/// assert_eq!(PI * 0.75, Angle::pi(3, 4));
/// assert_eq!(PI * 0.1, Angle::rad(0.1 * std::f64::consts::PI));
/// ```
///
/// A fraction that outgrows 64 bits is rounded to the precision of `f64`; the part in pi then
/// becomes radians. A coefficient of a parameter below 2^-63, about 1e-19, is 0; one above 2^63 makes
/// the angle NaN, which every binding refuses.
///
/// An angle knows by how much such roundings may have moved it: its [slack](Angle::slack). Two angles are equal if they
/// are written alike, whatever their slack.
#[derive(Clone, Debug)]
pub struct Angle {
    pi: Q,
    radians: f64,
    /// Few, so that an angle needs no memory of its own.
    terms: SmallVec<[(ParamId, Q); 2]>,
    slack: Slack,
}

/// By how much roundings may have moved an angle, at most: its radians, and the sum of its coefficients.
#[derive(Clone, Copy, Debug, Default)]
struct Slack {
    radians: f32,
    terms: f32,
}

impl Slack {
    const NONE: Slack = Slack { radians: 0.0, terms: 0.0 };

    fn times(self, factor: f64) -> Slack {
        let mut product = Slack::NONE;
        product.add(times(self.radians, factor), times(self.terms, factor));
        product
    }

    fn add(&mut self, radians: f64, terms: f64) {
        if radians == 0.0 && terms == 0.0 {
            return;
        }
        self.radians = upwards(f64::from(self.radians) + radians);
        self.terms = upwards(f64::from(self.terms) + terms);
    }
}

/// Nothing times infinitely much is nothing.
fn times(slack: f32, factor: f64) -> f64 {
    if slack == 0.0 { 0.0 } else { f64::from(slack) * factor }
}

/// The least `f32` that is not below.
fn upwards(x: f64) -> f32 {
    match x.to_f32() {
        Some(near) if f64::from(near) < x => near.next_up(),
        near => near.unwrap_or(f32::INFINITY),
    }
}

impl PartialEq for Angle {
    fn eq(&self, other: &Angle) -> bool {
        (self.pi, self.radians) == (other.pi, other.radians) && self.terms == other.terms
    }
}

/// Half a turn, exactly: `PI / 4` is the fraction 1/4 of pi and no decimal.
///
/// ```
/// use ketgrad_core::param::{Angle, PI};
/// let k: usize = 2;
/// assert_eq!(3 * PI / 4, Angle::pi(3, 4));
/// assert_eq!(PI / (1 << k), Angle::pi(1, 4));
/// assert_eq!((PI / 4).to_string(), "pi/4");
/// ```
pub const PI: Angle =
    Angle { pi: Q::new_raw(1, 1), radians: 0.0, terms: SmallVec::new_const(), slack: Slack::NONE };

impl Angle {
    /// The angle 0.
    #[must_use]
    pub fn zero() -> Angle {
        Angle { pi: Q::new_raw(0, 1), radians: 0.0, terms: SmallVec::new(), slack: Slack::NONE }
    }

    /// The exact angle `pi numerator / denominator`; NaN if the denominator is 0.
    #[must_use]
    pub fn pi(numerator: i64, denominator: i64) -> Angle {
        if denominator == 0 || denominator == i64::MIN || numerator == i64::MIN {
            return Angle::rad(f64::NAN);
        }
        Angle { pi: Q::new(numerator, denominator), ..Angle::zero() }
    }

    /// The angle of so many radians.
    #[must_use]
    pub fn rad(radians: f64) -> Angle {
        Angle { radians, ..Angle::zero() }
    }

    /// The angle of so many radians, which were rounded: the number that is meant may be off by `slack`. So it is no
    /// decimal that somebody wrote, however few its digits.
    #[must_use]
    pub fn rounded(radians: f64, slack: f64) -> Angle {
        let mut angle = Angle::rad(radians);
        // Even the least slack is some.
        angle.slack.add(slack.max(f64::from(f32::MIN_POSITIVE)), 0.0);
        angle
    }

    /// The value of a parameter.
    #[must_use]
    pub fn theta(id: ParamId) -> Angle {
        Angle { terms: smallvec::smallvec![(id, Q::new_raw(1, 1))], ..Angle::zero() }
    }

    /// The exact coefficient of pi.
    #[must_use]
    pub fn pi_part(&self) -> Q {
        self.pi
    }

    /// The part in radians.
    #[must_use]
    pub fn radian_part(&self) -> f64 {
        self.radians
    }

    /// How far the angle that is meant may be from this one, because numbers were rounded on the way: at most so many
    /// radians times the largest of 1 and the parameters' absolute values. 0 where nothing was.
    ///
    /// ```
    /// use ketgrad_core::param::Angle;
    ///
    /// assert_eq!((Angle::rad(0.1) + Angle::rad(0.2)).slack(), 0.0); // 0.3
    /// assert!((Angle::rad(0.1) + Angle::rad(1e-20)).slack() > 0.0); // 0.1 again, but not by its meaning
    /// ```
    #[must_use]
    pub fn slack(&self) -> f64 {
        f64::from(self.slack.radians) + f64::from(self.slack.terms)
    }

    /// The slack where the largest parameter has this absolute value.
    pub(crate) fn slack_at(&self, largest: f64) -> f64 {
        let of_terms = f64::from(self.slack.terms);
        f64::from(self.slack.radians) + if of_terms == 0.0 { 0.0 } else { of_terms * largest }
    }

    /// The angle without its part in radians, and without their slack.
    pub(crate) fn without_radians(&self) -> Angle {
        let slack = Slack { radians: 0.0, ..self.slack };
        Angle { pi: self.pi, radians: 0.0, terms: self.terms.clone(), slack }
    }

    /// The angle without pairs of whole turns: half of it, which rotations take, loses whole ones.
    pub(crate) fn within_two_turns(&self) -> Angle {
        Angle { pi: within_turns(self.pi, 2), ..self.clone() }
    }

    /// An upper bound of its absolute value where no parameter is above 1.
    fn size(&self) -> f64 {
        let terms: f64 = self.terms.iter().map(|t| q_to_f64(t.1).abs()).sum();
        q_to_f64(self.pi).abs() * std::f64::consts::PI + self.radians.abs() + terms
    }

    /// The parameters and their coefficients, sorted by id, none of them zero.
    #[must_use]
    pub fn terms(&self) -> &[(ParamId, Q)] {
        &self.terms
    }

    /// Whether no parameter occurs.
    #[must_use]
    pub fn is_constant(&self) -> bool {
        self.terms.is_empty()
    }

    /// The value in radians if no parameter occurs.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        self.is_constant().then(|| q_to_f64(self.pi) * std::f64::consts::PI + self.radians)
    }

    /// `k` in 0..8 if the angle is exactly `k pi / 4`, up to whole turns.
    #[must_use]
    pub fn eighth_turns(&self) -> Option<u8> {
        if !self.is_constant() || self.radians != 0.0 || 4 % self.pi.denom() != 0 {
            return None;
        }
        let quarter = self.pi.numer().rem_euclid(2 * self.pi.denom()) * (4 / self.pi.denom());
        u8::try_from(quarter).ok()
    }

    /// Replaces each parameter by the angle that `value` gives for it.
    #[must_use]
    pub fn substitute(&self, mut value: impl FnMut(ParamId) -> Angle) -> Angle {
        let mut start = Angle { terms: SmallVec::new(), ..self.without_radians() };
        (start.radians, start.slack) = (self.radians, Slack { terms: 0.0, ..self.slack });
        let of_terms = f64::from(self.slack.terms);
        self.terms.iter().fold(start, |sum, &(id, q)| {
            let value = value(id);
            let more = if of_terms == 0.0 { 0.0 } else { of_terms * value.size() };
            let mut sum = sum + value * q;
            // The coefficient's slack is on every part of what takes its parameter's place.
            sum.slack.add(more, more);
            sum
        })
    }

    /// Writes the angle with the names that `name` gives.
    pub fn write(&self, f: &mut dyn fmt::Write, name: &dyn Fn(ParamId) -> String) -> fmt::Result {
        let mut first = true;
        let mut sign = |f: &mut dyn fmt::Write, negative: bool| {
            let text = match (std::mem::take(&mut first), negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            f.write_str(text)
        };
        if *self.pi.numer() != 0 {
            sign(f, *self.pi.numer() < 0)?;
            match (self.pi.numer().unsigned_abs(), self.pi.denom()) {
                (1, 1) => f.write_str("pi")?,
                (1, d) => write!(f, "pi/{d}")?,
                (n, 1) => write!(f, "{n}*pi")?,
                (n, d) => write!(f, "{n}*pi/{d}")?,
            }
        }
        for &(id, q) in &self.terms {
            sign(f, *q.numer() < 0)?;
            match (q.numer().unsigned_abs(), q.denom()) {
                (1, 1) => {}
                (n, 1) => write!(f, "{n}*")?,
                (n, d) => write!(f, "{n}/{d}*")?,
            }
            f.write_str(&name(id))?;
        }
        if self.radians != 0.0 {
            sign(f, self.radians < 0.0)?;
            write!(f, "{}", self.radians.abs())?;
        }
        if is_written_as_zero(self) { f.write_str("0") } else { Ok(()) }
    }

    fn poisoned() -> Angle {
        Angle::rad(f64::NAN)
    }

    /// What the part in pi would be, in numbers of so many.
    fn pi_becomes_radians(&mut self, pi: f64) {
        let more = pi * std::f64::consts::PI;
        self.radians += more;
        self.pi = Q::new_raw(0, 1);
        self.slack.add(UNIT * (4.0 * more.abs() + self.radians.abs()), 0.0);
    }
}

/// Whether no part of the angle is written.
fn is_written_as_zero(a: &Angle) -> bool {
    *a.pi.numer() == 0 && a.terms.is_empty() && a.radians == 0.0
}

impl Default for Angle {
    fn default() -> Angle {
        Angle::zero()
    }
}

/// An angle in radians, as it stands: 0.785398 is not taken for pi/4.
impl From<f64> for Angle {
    fn from(radians: f64) -> Angle {
        Angle::rad(radians)
    }
}

impl From<ParamId> for Angle {
    fn from(id: ParamId) -> Angle {
        Angle::theta(id)
    }
}

/// So many radians.
impl From<i32> for Angle {
    fn from(radians: i32) -> Angle {
        Angle::rad(f64::from(radians))
    }
}

/// What is behind a reference, cloned.
impl<T: Clone + Into<Angle>> From<&T> for Angle {
    fn from(angle: &T) -> Angle {
        angle.clone().into()
    }
}

impl fmt::Display for Angle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write(f, &|id| format!("p{}", id.number()))
    }
}

pub(crate) fn q_to_f64(q: Q) -> f64 {
    // A fraction of 64-bit integers always has a nearest f64.
    q.to_f64().unwrap_or(f64::NAN)
}

/// A multiple of pi, less than so many turns from 0.
pub(super) fn within_turns(pi: Q, turns: i64) -> Q {
    let (n, d) = (*pi.numer(), *pi.denom());
    // What is taken off is a multiple of the denominator: the fraction stays in lowest terms.
    d.checked_mul(2 * turns).map_or(pi, |all| Q::new_raw(n % all, d))
}

/// Rounds to a fraction near `x`, if 64 bits hold one; with what that may be off by where x is rounded itself.
fn round(x: f64) -> Option<(Q, f64)> {
    // As near as 1e-19: of a small number that leaves few digits, of its reciprocal all.
    let as_it_is = Q::approximate_float(x)?;
    let upside_down = Q::approximate_float(x.recip()).filter(|q| *q.numer() != 0).map(|q| q.recip());
    let error = |q: Q| (q_to_f64(q) - x).abs();
    let near = upside_down.filter(|q| error(*q) < error(as_it_is)).unwrap_or(as_it_is);
    Some((near, error(near) + 4.0 * UNIT * x.abs()))
}

/// The product, if 64 bits hold it. Most coefficients are 0 or 1, for which nothing has to be reduced.
fn exact_mul(a: Q, b: Q) -> Option<Q> {
    match ((*a.numer(), *a.denom()), (*b.numer(), *b.denom())) {
        ((1, 1), _) | (_, (0, _)) => Some(b),
        (_, (1, 1)) | ((0, _), _) => Some(a),
        _ => a.checked_mul(&b),
    }
}

/// The fraction that a short decimal says; of any other number what is not known of it.
fn decimal(x: f64) -> Result<Ratio<i128>, f64> {
    let decimal = Decimal::new(x).ok_or(f64::INFINITY)?;
    let short = decimal.is_short();
    decimal.fraction().filter(|_| short).ok_or_else(|| if short { 0.0 } else { decimal.doubt() })
}

/// The same fraction with room for products.
pub(crate) fn widen(q: Q) -> Ratio<i128> {
    Ratio::new_raw(i128::from(*q.numer()), i128::from(*q.denom()))
}

/// The float nearest to a fraction, and what it is off by if the fraction is not the short decimal that the float is.
fn nearest(exact: Ratio<i128>) -> Option<(f64, f64)> {
    let x = exact.to_f64()?;
    Some((x, if decimal(x) == Ok(exact) { 0.0 } else { UNIT * x.abs() }))
}

/// The sum and what it may be off by; of short decimals the float nearest to theirs, which often is a short decimal
/// again: 0.1 + 0.2 = 0.3.
fn add_radians(a: f64, b: f64) -> (f64, f64) {
    if a == 0.0 || b == 0.0 {
        return (a + b, 0.0);
    }
    let (x, y) = (decimal(a), decimal(b));
    let exact = x.as_ref().ok().zip(y.as_ref().ok()).and_then(|(x, y)| nearest(x.checked_add(y)?));
    exact.unwrap_or_else(|| {
        (a + b, UNIT * (a + b).abs() + x.err().unwrap_or_default() + y.err().unwrap_or_default())
    })
}

/// The product, in the same way.
fn multiply_radians(a: f64, q: Q) -> (f64, f64) {
    match (*q.numer(), *q.denom()) {
        (1, 1) => return (a, 0.0),
        (-1, 1) => return (-a, 0.0),
        _ => {}
    }
    let x = decimal(a);
    let exact = x.as_ref().ok().and_then(|x| nearest(x.checked_mul(&widen(q))?));
    exact.unwrap_or_else(|| {
        let factor = q_to_f64(q);
        let product = a * factor;
        (product, 2.0 * UNIT * product.abs() + x.err().unwrap_or_default() * factor.abs())
    })
}

/// The product of an angle without parameters and a decimal, in the same way.
fn multiply_constant(pi: Q, radians: f64, x: f64) -> (f64, f64) {
    let (own, factor) = (decimal(radians), decimal(x));
    let exact = own.as_ref().ok().zip(factor.as_ref().ok()).filter(|_| *pi.numer() == 0);
    exact.and_then(|(own, factor)| nearest(own.checked_mul(factor)?)).unwrap_or_else(|| {
        let of_pi = q_to_f64(pi) * std::f64::consts::PI;
        let all = of_pi + radians;
        let rounding = 4.0 * UNIT * (of_pi.abs() + radians.abs()) * x.abs();
        let doubts = own.err().unwrap_or_default() * x.abs() + factor.err().unwrap_or_default() * all.abs();
        (all * x, rounding + doubts)
    })
}

/// The sum and what it is off by.
fn q_add(a: Q, b: Q) -> Option<(Q, f64)> {
    a.checked_add(&b).map(|sum| (sum, 0.0)).or_else(|| round(q_to_f64(a) + q_to_f64(b)))
}

fn q_mul(a: Q, b: Q) -> Option<(Q, f64)> {
    exact_mul(a, b).map(|product| (product, 0.0)).or_else(|| round(q_to_f64(a) * q_to_f64(b)))
}

/// The product of a coefficient with a decimal.
fn q_times(q: Q, x: f64) -> Option<(Q, f64)> {
    let (near, off) = round(q_to_f64(q) * x)?;
    let exact = decimal(x).map(|x| x.checked_mul(&widen(q)));
    let doubt = exact.as_ref().err().copied().unwrap_or_default();
    let off = if exact == Ok(Some(widen(near))) { 0.0 } else { off + doubt * q_to_f64(q).abs() };
    Some((near, off))
}

impl Add for Angle {
    type Output = Angle;
    fn add(mut self, other: Angle) -> Angle {
        let (radians, off) = add_radians(self.radians, other.radians);
        self.radians = radians;
        self.slack.add(f64::from(other.slack.radians) + off, f64::from(other.slack.terms));
        match self.pi.checked_add(&other.pi) {
            Some(pi) => self.pi = pi,
            None => self.pi_becomes_radians(q_to_f64(self.pi) + q_to_f64(other.pi)),
        }
        for (id, q) in other.terms {
            match self.terms.binary_search_by_key(&id, |t| t.0) {
                Ok(i) => match q_add(self.terms[i].1, q) {
                    Some((sum, off)) => {
                        self.slack.add(0.0, off);
                        let name = self.terms[i].0.name.and(id.name);
                        self.terms[i].0.name = name;
                        if name == Name::Several {
                            self.radians = f64::NAN;
                        } else if *sum.numer() == 0 {
                            self.terms.remove(i);
                        } else {
                            self.terms[i].1 = sum;
                        }
                    }
                    None => return Angle::poisoned(),
                },
                Err(i) => self.terms.insert(i, (id, q)),
            }
        }
        self
    }
}

impl Mul<Q> for Angle {
    type Output = Angle;
    fn mul(mut self, q: Q) -> Angle {
        if *q.numer() == 0 {
            return if self.radians.is_finite() { Angle::zero() } else { Angle::poisoned() };
        }
        if self.slack() > 0.0 {
            self.slack = self.slack.times(q_to_f64(q).abs());
        }
        if self.radians != 0.0 {
            let (radians, off) = multiply_radians(self.radians, q);
            self.radians = radians;
            self.slack.add(off, 0.0);
        }
        match exact_mul(self.pi, q) {
            Some(pi) => self.pi = pi,
            None => self.pi_becomes_radians(q_to_f64(self.pi) * q_to_f64(q)),
        }
        for term in &mut self.terms {
            match q_mul(term.1, q) {
                Some((product, off)) => {
                    term.1 = product;
                    self.slack.add(0.0, off);
                }
                None => return Angle::poisoned(),
            }
        }
        self.terms.retain(|t| *t.1.numer() != 0);
        self
    }
}

impl Neg for Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        self * Q::new_raw(-1, 1)
    }
}

impl Sub for Angle {
    type Output = Angle;
    fn sub(self, other: Angle) -> Angle {
        self + -other
    }
}

impl Mul<f64> for Angle {
    type Output = Angle;
    fn mul(mut self, x: f64) -> Angle {
        if let Some(q) = dyadic(x) {
            return self * q;
        }
        self.slack = self.slack.times(x.abs());
        let (radians, off) = multiply_constant(self.pi, self.radians, x);
        (self.radians, self.pi) = (radians, Q::new_raw(0, 1));
        self.slack.add(off, 0.0);
        for term in &mut self.terms {
            match q_times(term.1, x) {
                Some((product, off)) => {
                    term.1 = product;
                    self.slack.add(0.0, off);
                }
                None => return Angle::poisoned(),
            }
        }
        self.terms.retain(|t| *t.1.numer() != 0);
        self
    }
}

impl Div<Q> for Angle {
    type Output = Angle;
    fn div(self, q: Q) -> Angle {
        if *q.numer() == 0 { Angle::poisoned() } else { self * q.recip() }
    }
}

impl Div<f64> for Angle {
    type Output = Angle;
    fn div(self, x: f64) -> Angle {
        match dyadic(x) {
            Some(q) => self / q,
            None => self * x.recip(),
        }
    }
}

/// The number as a fraction k/2^m with m <= 20, if it is one. Large floats always are: there it must be what the decimal
/// says, too.
fn dyadic(x: f64) -> Option<Q> {
    const SCALE: i64 = 1 << 20;
    const TELLING: f64 = (1u64 << 40) as f64;
    let scaled = x * Q::from_integer(SCALE).to_f64()?;
    let numerator = if scaled.fract() == 0.0 { scaled.to_i64()? } else { return None };
    let q = (numerator != i64::MIN).then(|| Q::new(numerator, SCALE))?;
    let told = || Decimal::new(x).and_then(|decimal| decimal.fraction()) == Some(widen(q));
    (scaled.abs() < TELLING || told()).then_some(q)
}

// One integer type only: with two, the type of `PI / 4` would stay open and `(PI / 4).clone()` would
// not compile.
impl Mul<i64> for Angle {
    type Output = Angle;
    fn mul(self, n: i64) -> Angle {
        if n == i64::MIN { Angle::poisoned() } else { self * Q::from_integer(n) }
    }
}

impl Div<i64> for Angle {
    type Output = Angle;
    fn div(self, n: i64) -> Angle {
        if n == i64::MIN { Angle::poisoned() } else { self / Q::from_integer(n) }
    }
}

/// The factor on the left, and every form with a reference.
macro_rules! factor_forms {
    ($($T:ty)*) => {$(
        impl Mul<Angle> for $T {
            type Output = Angle;
            fn mul(self, angle: Angle) -> Angle {
                angle * self
            }
        }
        impl Mul<&Angle> for $T {
            type Output = Angle;
            fn mul(self, angle: &Angle) -> Angle {
                angle.clone() * self
            }
        }
        impl Mul<$T> for &Angle {
            type Output = Angle;
            fn mul(self, factor: $T) -> Angle {
                self.clone() * factor
            }
        }
        impl Div<$T> for &Angle {
            type Output = Angle;
            fn div(self, factor: $T) -> Angle {
                self.clone() / factor
            }
        }
    )*};
}
factor_forms!(Q f64 i64);

impl Neg for &Angle {
    type Output = Angle;
    fn neg(self) -> Angle {
        -self.clone()
    }
}

macro_rules! sum_forms {
    ($($Op:ident $op:ident: $Left:ty, $Right:ty;)*) => {$(
        impl $Op<$Right> for $Left {
            type Output = Angle;
            fn $op(self, other: $Right) -> Angle {
                Angle::from(self).$op(Angle::from(other))
            }
        }
    )*};
}
sum_forms! {
    Add add: Angle, &Angle;
    Add add: Angle, f64;
    Add add: &Angle, Angle;
    Add add: &Angle, &Angle;
    Add add: &Angle, f64;
    Add add: f64, Angle;
    Add add: f64, &Angle;
    Sub sub: Angle, &Angle;
    Sub sub: Angle, f64;
    Sub sub: &Angle, Angle;
    Sub sub: &Angle, &Angle;
    Sub sub: &Angle, f64;
    Sub sub: f64, Angle;
    Sub sub: f64, &Angle;
}
