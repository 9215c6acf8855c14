//! A gate as a trigonometric polynomial in one of its angles.
//!
//! Every entry of a gate's matrix is a sum of terms `c e^{i q a}` in each of its angles `a`, with
//! rational frequencies `q`:
//!
//! ```text
//! G(a + x) = sum_q e^{i q x} G_q        RX: q = 1/2, -1/2        P: q = 0, 1
//! ```
//!
//! The matrices `G_q` are all that derivatives need: `dG/da = sum_q i q G_q`, and the differences
//! of the frequencies are those of an expectation value, which decide how many shifts its
//! derivative takes. They come from the gate table itself, which is written over any [`Ring`]: here
//! it runs on [`TrigSeries`], the ring of such sums, and nothing is said twice.
//!
//! Cost: O(4^k) for each frequency of a gate on k qubits; no state is touched.

use std::ops::{Add, AddAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use num_complex::Complex;
use num_traits::{One, Zero};

use crate::{
    gate::Gate,
    matrix::Matrix,
    param::{Angle, BindError, Binding, ParamId, Q},
    scalar::Ring,
};

/// Returns the matrices `G_q` of a gate in its angle number `k`, by ascending frequency.
///
/// # Errors
/// [`BindError`] if the binding has no number for one of the angles.
pub(super) fn harmonics<R: Ring>(
    gate: &Gate,
    k: usize,
    binding: &impl Binding<R>,
) -> Result<Vec<(Q, Matrix<R>)>, BindError> {
    // A parameter that no circuit has stands for x.
    let x = ParamId::new(u32::MAX);
    let mut number = 0..;
    let shifted =
        gate.map_params(|a| if number.next() == Some(k) { a + Angle::theta(x) } else { a.clone() });
    let matrix = shifted.matrix(&ShiftedBinding { binding, x })?;
    let mut frequencies: Vec<Q> =
        matrix.entries().iter().flat_map(|entry| entry.0.iter().map(|t| t.0)).collect();
    frequencies.sort_unstable();
    frequencies.dedup();
    Ok(frequencies.into_iter().map(|q| (q, matrix.map(|entry| entry.coefficient(q)))).collect())
}

/// Binds angles in which x may occur.
struct ShiftedBinding<'b, B> {
    binding: &'b B,
    x: ParamId,
}

impl<B> ShiftedBinding<'_, B> {
    /// Returns the coefficient of x in an angle, and the angle without x.
    fn split(&self, angle: &Angle) -> (Q, Angle) {
        let of_x = angle.terms().iter().find(|t| t.0 == self.x).map_or(Q::zero(), |t| t.1);
        (of_x, angle.substitute(|id| if id == self.x { Angle::zero() } else { Angle::theta(id) }))
    }
}

impl<R: Ring, B: Binding<R>> Binding<TrigSeries<R>> for ShiftedBinding<'_, B> {
    fn cis(&self, angle: &Angle) -> Result<TrigSeries<R>, BindError> {
        let (of_x, rest) = self.split(angle);
        Ok(TrigSeries(vec![(of_x, self.binding.cis(&rest)?)]))
    }
    fn cis_of_sums(
        &self,
        angles: &[&Angle],
        sums: [&[usize]; 4],
    ) -> Result<[TrigSeries<R>; 4], BindError> {
        let (of_x, rests): (Vec<Q>, Vec<Angle>) =
            angles.iter().map(|angle| self.split(angle)).unzip();
        let rests: Vec<&Angle> = rests.iter().collect();
        let [a, b, c, d] = self.binding.cis_of_sums(&rests, sums)?;
        let series =
            |(sum, z): (&[usize], R)| TrigSeries(vec![(sum.iter().map(|&k| of_x[k]).sum(), z)]);
        Ok([(sums[0], a), (sums[1], b), (sums[2], c), (sums[3], d)].map(series))
    }
    fn half(&self) -> TrigSeries<R> {
        TrigSeries::constant(self.binding.half())
    }
    fn sqrt_half(&self) -> TrigSeries<R> {
        TrigSeries::constant(self.binding.sqrt_half())
    }
    fn number(&self, z: Complex<f64>) -> Result<TrigSeries<R>, BindError> {
        Ok(TrigSeries::constant(self.binding.number(z)?))
    }
    // Not by way of `cis`, which would lose the exact zeros and halves of the ring below.
    fn i(&self) -> Result<TrigSeries<R>, BindError> {
        Ok(TrigSeries::constant(self.binding.i()?))
    }
}

/// A sum of terms `c e^{i q x}`, sorted by q, without terms that are exactly zero; or of terms
/// `c x^q`, which add and multiply alike.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct TrigSeries<R>(Vec<(Q, R)>);

impl<R: Ring> TrigSeries<R> {
    pub(super) fn constant(c: R) -> TrigSeries<R> {
        if c.is_exact_zero() { TrigSeries(Vec::new()) } else { TrigSeries(vec![(Q::zero(), c)]) }
    }
    /// Returns the coefficient of a frequency.
    pub(super) fn coefficient(&self, q: Q) -> R {
        self.0.iter().find(|t| t.0 == q).map_or_else(R::zero, |t| t.1.clone())
    }
    pub(super) fn push(&mut self, q: Q, c: R) {
        match self.0.binary_search_by(|t| t.0.cmp(&q)) {
            Ok(i) => {
                self.0[i].1 += c;
                if self.0[i].1.is_exact_zero() {
                    self.0.remove(i);
                }
            }
            Err(_) if c.is_exact_zero() => {}
            Err(i) => self.0.insert(i, (q, c)),
        }
    }
    fn negated(&self) -> TrigSeries<R> {
        TrigSeries(self.0.iter().map(|(q, c)| (*q, -c.clone())).collect())
    }
    fn plus(&self, other: &TrigSeries<R>) -> TrigSeries<R> {
        let mut sum = self.clone();
        other.0.iter().for_each(|(q, c)| sum.push(*q, c.clone()));
        sum
    }
    fn minus(&self, other: &TrigSeries<R>) -> TrigSeries<R> {
        self.plus(&other.negated())
    }
    fn times(&self, other: &TrigSeries<R>) -> TrigSeries<R> {
        let mut product = TrigSeries(Vec::new());
        for (p, a) in &self.0 {
            other.0.iter().for_each(|(q, b)| product.push(p + q, a.clone() * b));
        }
        product
    }
}

macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident $f:ident)*) => {$(
        impl<R: Ring> $Op for TrigSeries<R> {
            type Output = TrigSeries<R>;
            fn $op(self, y: TrigSeries<R>) -> TrigSeries<R> { self.$f(&y) }
        }
        impl<R: Ring> $Op<&TrigSeries<R>> for TrigSeries<R> {
            type Output = TrigSeries<R>;
            fn $op(self, y: &TrigSeries<R>) -> TrigSeries<R> { self.$f(y) }
        }
        impl<R: Ring> $Op<TrigSeries<R>> for &TrigSeries<R> {
            type Output = TrigSeries<R>;
            fn $op(self, y: TrigSeries<R>) -> TrigSeries<R> { self.$f(&y) }
        }
        impl<R: Ring> $Op for &TrigSeries<R> {
            type Output = TrigSeries<R>;
            fn $op(self, y: &TrigSeries<R>) -> TrigSeries<R> { self.$f(y) }
        }
        impl<R: Ring> $Assign for TrigSeries<R> {
            fn $assign(&mut self, y: TrigSeries<R>) { *self = self.$f(&y); }
        }
    )*};
}
operators! {
    Add add AddAssign add_assign plus
    Sub sub SubAssign sub_assign minus
    Mul mul MulAssign mul_assign times
}

impl<R: Ring> Neg for TrigSeries<R> {
    type Output = TrigSeries<R>;
    fn neg(self) -> TrigSeries<R> {
        self.negated()
    }
}
impl<R: Ring> Neg for &TrigSeries<R> {
    type Output = TrigSeries<R>;
    fn neg(self) -> TrigSeries<R> {
        self.negated()
    }
}
impl<R: Ring> Zero for TrigSeries<R> {
    fn zero() -> TrigSeries<R> {
        TrigSeries(Vec::new())
    }
    fn is_zero(&self) -> bool {
        self.0.is_empty()
    }
}
impl<R: Ring> One for TrigSeries<R> {
    fn one() -> TrigSeries<R> {
        TrigSeries::constant(R::one())
    }
}
impl<R: Ring> Ring for TrigSeries<R> {
    fn is_exact_zero(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;
    use crate::{gate::GateKind, param::Values};

    /// A few roundings of numbers of size 1.
    const ROUNDING: f64 = 1e-15;

    #[test]
    fn the_harmonics_of_every_gate_add_up_to_it() {
        let values = [0.3, -1.1, 0.7, 2.1];
        for &kind in GateKind::ALL {
            let n = kind.param_names().len();
            let gate =
                Gate::new(kind, (0..n as u32).map(|k| Angle::theta(ParamId::new(k)))).unwrap();
            for k in 0..n {
                let parts = harmonics::<Complex<f64>>(&gate, k, &Values(&values)).unwrap();
                for x in [0.0, 0.4, 2.5] {
                    let mut moved = values;
                    moved[k] += x;
                    let whole = gate.matrix::<Complex<f64>>(&Values(&moved)).unwrap();
                    for (i, entry) in whole.entries().iter().enumerate() {
                        let sum: Complex<f64> = parts
                            .iter()
                            .map(|(q, part)| {
                                let q = *q.numer() as f64 / *q.denom() as f64;
                                Complex::cis(q * x) * part.entries()[i]
                            })
                            .sum();
                        assert!(
                            (sum - entry).norm() < ROUNDING,
                            "{kind:?} by its angle {k} at {x}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn frequencies_are_those_of_the_formulas() {
        let frequencies = |kind, k, n: u32| -> Vec<Q> {
            let gate = Gate::new(kind, (0..n).map(|k| Angle::theta(ParamId::new(k)))).unwrap();
            let parts = harmonics::<Complex<f64>>(&gate, k, &Values(&[0.3, 0.2])).unwrap();
            parts.into_iter().map(|p| p.0).collect()
        };
        let half = Q::new(1, 2);
        assert_eq!(frequencies(GateKind::RX, 0, 1), [-half, half]);
        assert_eq!(frequencies(GateKind::P, 0, 1), [Q::zero(), Q::one()]);
        assert_eq!(frequencies(GateKind::R, 1, 2), [-Q::one(), Q::zero(), Q::one()]);
        assert_eq!(frequencies(GateKind::FSIM, 0, 2), [-Q::one(), Q::zero(), Q::one()]);
    }
}
