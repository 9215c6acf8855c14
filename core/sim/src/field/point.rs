//! Evaluation point in a prime field: the residues of the roots of unity and of the parameters.

use num_complex::Complex;
use num_traits::ToPrimitive;

use super::Modular;
use crate::{
    param::{Angle, BindError, Binding, Q},
    state::stream,
};

/// The streams of the seed that the root and the parameters are drawn from.
const ROOT: u64 = u64::MAX - 1;
const PARAMETERS: u64 = u64::MAX - 2;

/// Bits of an exponent that one look into a table covers.
const WINDOW: u32 = 6;

/// A random point: `e^{2 pi i / N}` is an element of order `N`, and `e^{i theta_k / m_k}` any
/// element but 0. Binds gates whose angles are whole multiples of `2 pi / N` and `theta_k / m_k`;
/// whatever else occurs is refused by name.
///
/// Gates halve their angles, so `m_k` must be twice the least common denominator of the
/// coefficients of `theta_k`, and `N` four times that of the fractions of pi, and a multiple of 8.
#[derive(Clone, Debug)]
pub struct Point<R: Modular> {
    field: R::Field,
    /// N.
    order: u64,
    /// `table[j][i]` is the root to the power `i 2^(WINDOW j)`.
    table: Vec<Vec<R>>,
    /// Element of each parameter, with its `m_k` and its inverse.
    params: Vec<(i64, R, R)>,
    half: R,
    sqrt_half: R,
}

impl<R: Modular> Point<R> {
    /// Returns a point drawn uniformly: the root among all elements of order `order`, each
    /// parameter among all elements but 0. `steps` holds `m_k`, which are positive. `None` unless
    /// `order` is a multiple of 8 and divides p - 1.
    #[must_use]
    pub fn random(field: R::Field, order: u64, steps: &[i64], seed: u64) -> Option<Point<R>> {
        let p = R::characteristic(&field);
        if order == 0 || !order.is_multiple_of(8) || !(p - 1).is_multiple_of(order) {
            return None;
        }
        let mut rng = stream(seed, ROOT);
        let primes = prime_factors(order);
        let one = R::element(&field, 1);
        // At least one in about 5 elements will do.
        let root = (0..1000).find_map(|_| {
            let root = R::draw_unit(&field, &mut rng).power((p - 1) / order);
            primes.iter().all(|q| root.power(order / q) != one).then_some(root)
        })?;
        let mut rng = stream(seed, PARAMETERS);
        let params = steps.iter().map(|&m| {
            let z = R::draw_unit(&field, &mut rng);
            (m, z, z.inverse(&field))
        });
        let half = R::element(&field, 2).inverse(&field);
        let eighth = root.power(order / 8);
        let sqrt_half = (eighth + eighth.inverse(&field)) * half;
        let params = params.collect();
        let table = powers(&field, root, order);
        Some(Point { field, order, table, params, half, sqrt_half })
    }

    /// Returns the field.
    #[must_use]
    pub fn field(&self) -> &R::Field {
        &self.field
    }

    fn root_power(&self, mut e: u64) -> R {
        let mut out: Option<R> = None;
        for row in &self.table {
            let digit = (e & ((1 << WINDOW) - 1)) as usize;
            e >>= WINDOW;
            if digit != 0 {
                out = Some(out.map_or(row[digit], |x| x * row[digit]));
            }
        }
        out.unwrap_or_else(|| R::element(&self.field, 1))
    }

    /// Returns the image of `e^{i angle}`, or its inverse.
    fn image(&self, angle: &Angle, inverted: bool) -> Result<R, BindError> {
        let refuse = || Point::<R>::refuse(angle);
        if angle.radian_part() != 0.0 {
            return Err(refuse());
        }
        let turn = whole(self.order / 2, angle.pi_part(), inverted).ok_or_else(refuse)?;
        let mut out = self.root_power(match turn {
            0 => 0,
            // Below the order.
            e => e.rem_euclid(i128::from(self.order)) as u64,
        });
        for &(id, q) in angle.terms() {
            let (steps, z, inverse) =
                self.params.get(id.index()).ok_or(BindError::Unbound { id })?;
            let e = whole(steps.unsigned_abs(), q, inverted).ok_or_else(refuse)?;
            let size = u64::try_from(e.unsigned_abs()).map_err(|_| refuse())?;
            out *= (if e < 0 { inverse } else { z }).power(size);
        }
        Ok(out)
    }

    fn refuse(angle: &Angle) -> BindError {
        BindError::NotInRing { ring: R::NAME, angle: angle.clone() }
    }
}

fn prime_factors(mut n: u64) -> Vec<u64> {
    let mut primes = Vec::new();
    let mut d = 2;
    while d * d <= n {
        if n.is_multiple_of(d) {
            primes.push(d);
            while n.is_multiple_of(d) {
                n /= d;
            }
        }
        d += 1;
    }
    if n > 1 {
        primes.push(n);
    }
    primes
}

/// Returns the powers of a root by windows of its exponent.
fn powers<R: Modular>(field: &R::Field, root: R, order: u64) -> Vec<Vec<R>> {
    let windows = (u64::BITS - order.leading_zeros()).div_ceil(WINDOW);
    let mut base = root;
    let mut table = Vec::new();
    for _ in 0..windows {
        let mut row = vec![R::element(field, 1)];
        for _ in 1..1 << WINDOW {
            row.push(row[row.len() - 1] * base);
        }
        base = row[row.len() - 1] * base;
        table.push(row);
    }
    table
}

/// Returns `unit q`, or `-unit q`, where it is whole.
fn whole(unit: u64, q: Q, negated: bool) -> Option<i128> {
    // Fractions are in lowest terms, with a positive denominator.
    let (n, d) = (i128::from(*q.numer()), q.denom().unsigned_abs());
    unit.is_multiple_of(d).then(|| if negated { -n } else { n } * i128::from(unit / d))
}

impl<R: Modular> Binding<R> for Point<R> {
    fn cis(&self, angle: &Angle) -> Result<R, BindError> {
        self.image(angle, false)
    }
    fn cos(&self, angle: &Angle) -> Result<R, BindError> {
        self.cos_i_sin(angle).map(|(cos, _)| cos)
    }
    fn i_sin(&self, angle: &Angle) -> Result<R, BindError> {
        self.cos_i_sin(angle).map(|(_, i_sin)| i_sin)
    }
    fn cos_i_sin(&self, angle: &Angle) -> Result<(R, R), BindError> {
        let (z, inverse) = (self.image(angle, false)?, self.image(angle, true)?);
        Ok(((z + inverse) * self.half, (z - inverse) * self.half))
    }
    fn half(&self) -> R {
        self.half
    }
    fn sqrt_half(&self) -> R {
        self.sqrt_half
    }
    /// Parts that are fractions with the denominator `2^20`; a rounded decimal is none.
    fn number(&self, z: Complex<f64>) -> Result<R, BindError> {
        let part = |x: f64| {
            let scaled = x * f64::from(1 << DYADIC);
            let size = if scaled.fract() == 0.0 { scaled.abs().to_u64() } else { None };
            let size = size.filter(|s| *s < 1 << 52).map(|s| {
                let unit = self.half.power(u64::from(DYADIC));
                R::element(&self.field, s) * unit
            })?;
            Some(if x < 0.0 { -size } else { size })
        };
        match (part(z.re), part(z.im)) {
            (Some(re), Some(im)) => Ok(re + im * self.root_power(self.order / 4)),
            _ => Err(BindError::NumberNotInRing { ring: R::NAME, number: z }),
        }
    }
}

/// Binary digits of the numbers in a given matrix.
#[doc(hidden)]
pub const DYADIC: u32 = 20;
