//! Derivatives of channels by their parameters.
//!
//! Of a channel `sum_k w_k A_k (x) conj(A_k)` the derivative is taken from the channel table
//! itself, on first-order polynomials in the parameter ([`TrigSeries`]).
//!
//! # The edge gamma = 1
//! What damping keeps of an entry off the diagonal is `sqrt(1 - gamma)`, whose slope at 1 is
//! infinite. There the derivative is that at the number next to 1, `gamma = 1 - 2^-53`: finite
//! derivatives, those by a gamma of several channels among them, are right to 1e-8, and one that is
//! infinite is some `5e7` times the entry off the diagonal. It is told by a second `gamma`, four
//! times as near and nearer still for each parameter with a higher number: there it is more than
//! twice as large, and becomes infinite. So does one that depends on the way to a corner where
//! several parameters are 1. The values are those at 1. Duals carry the infinite slope: what
//! depends on such entries is infinite or NaN on them, and so are second derivatives by this
//! method.

use std::cell::Cell;

use num_complex::Complex;
use num_traits::Zero;

use super::harmonics::TrigSeries;
use crate::{
    channel::{Channel, Terms},
    matrix::Matrix,
    param::{Angle, BindError, Binding, ParamId, Q, Values},
    scalar::{Real, Ring, Scalar},
    simulate::superoperator_matrix,
};

/// Returns the derivative of a channel's superoperator by one of its parameters, from terms of
/// which some have negative weights: of `w A (x) conj(A)` it is
/// `w' A (x) conj(A) + w (A' (x) conj(A) + A (x) conj(A'))`, and the sum in parentheses is what
/// `A + A'` gives less what A and A' give alone.
pub(super) fn superoperator_derivative<T: Real>(
    channel: &Channel,
    k: usize,
    values: &[T],
    nearer: bool,
) -> Result<Matrix<Complex<T>>, BindError> {
    // A parameter that no circuit has stands for x.
    let x = ParamId::new(u32::MAX);
    let mut number = 0..;
    let moved = channel
        .map_params(|a| if number.next() == Some(k) { a + Angle::theta(x) } else { a.clone() });
    let mut slopes = Terms::new();
    let binding = PerturbedBinding { values: BoundaryBinding::new(channel, values, nearer), x };
    for (weight, matrix) in moved.terms(&binding)? {
        let [w, w_dot] = [0, 1].map(|degree| weight.coefficient(Q::from(degree)));
        let [a, a_dot] =
            [0, 1].map(|degree| matrix.map(|entry| entry.coefficient(Q::from(degree))));
        if a_dot.entries().iter().any(|z| !z.is_exact_zero()) {
            let both = Matrix::from_fn(a.n_qubits(), |i, j| a[(i, j)].clone() + &a_dot[(i, j)]);
            slopes.extend([(w.clone(), both), (-w.clone(), a.clone()), (-w, a_dot)]);
        }
        slopes.push((w_dot, a));
    }
    let kept =
        moved.kept(&binding)?.into_iter().map(|(i, stays)| (i, stays.coefficient(Q::from(1))));
    Ok(superoperator_matrix(&slopes, &kept.collect::<Vec<_>>()))
}

/// Binding of values that replaces the root of 0 by the root of a number next to 0, so that its
/// derivative is finite.
pub(super) struct BoundaryBinding<'a, T> {
    values: Values<'a, T>,
    /// Value that replaces a 0 under a root, in halves of the rounding unit.
    part: f64,
    met: Cell<bool>,
}

impl<'a, T: Real> BoundaryBinding<'a, T> {
    /// Creates the binding for a channel; a strength without parameters keeps its value.
    pub(super) fn new(channel: &Channel, values: &'a [T], nearer: bool) -> BoundaryBinding<'a, T> {
        let ids = channel
            .params()
            .iter()
            .flat_map(|angle| angle.terms().iter().map(|term| term.0.index()));
        let part = match ids.min() {
            None => 0.0,
            Some(_) if !nearer => 1.0,
            Some(id) => 0.25 / (id + 1) as f64,
        };
        BoundaryBinding { values: Values(values), part, met: Cell::new(false) }
    }

    /// Returns true if there was a root of 0.
    pub(super) fn met(&self) -> bool {
        self.met.get()
    }
}

impl<T: Real> Binding<Complex<T>> for BoundaryBinding<'_, T> {
    fn root(&self, x: Complex<T>) -> Result<Complex<T>, BindError> {
        if !x.is_exact_zero() || self.part == 0.0 {
            return self.values.root(x);
        }
        self.met.set(true);
        self.values.root(Complex::from_real(T::lit(self.part * epsilon::<T>() / 2.0)))
    }
    fn probability(&self, p: &Angle) -> Result<Complex<T>, BindError> {
        self.values.probability(p)
    }
    fn cis(&self, angle: &Angle) -> Result<Complex<T>, BindError> {
        self.values.cis(angle)
    }
    fn half(&self) -> Complex<T> {
        self.values.half()
    }
    fn sqrt_half(&self) -> Complex<T> {
        self.values.sqrt_half()
    }
    fn number(&self, z: Complex<f64>) -> Result<Complex<T>, BindError> {
        self.values.number(z)
    }
}

/// Returns the distance of the numbers above 1.
fn epsilon<T: Real>() -> f64 {
    let is_single = (T::one() + T::lit(1e-12) - T::one()).is_exact_zero();
    if is_single { f64::from(f32::EPSILON) } else { f64::EPSILON }
}

/// Derivatives at the edge from those beside it and nearer to it: those that are finite, of
/// observables of some size, are the same to the root of the rounding unit.
pub(super) fn derivatives_at_edge<T: Real>(beside: Vec<T>, nearer: &[T], size: f64) -> Vec<T> {
    let most = 64.0 * epsilon::<T>().sqrt() * size;
    let pairs = beside.into_iter().zip(nearer);
    let derivative = |(beside, nearer): (T, &T)| {
        let change = nearer.clone() - &beside;
        let grows = change.primal().is_some_and(|change| change.abs() > most);
        if grows { change * T::lit(f64::INFINITY) } else { beside }
    };
    pairs.map(derivative).collect()
}

/// Binds parameters in which x may occur, to polynomials `c + s x` without higher powers.
struct PerturbedBinding<'a, T> {
    values: BoundaryBinding<'a, T>,
    x: ParamId,
}

impl<T: Real> Binding<TrigSeries<Complex<T>>> for PerturbedBinding<'_, T> {
    fn probability(&self, p: &Angle) -> Result<TrigSeries<Complex<T>>, BindError> {
        let by_x = p.terms().iter().find(|t| t.0 == self.x).map_or_else(Q::zero, |t| t.1);
        let rest = p.substitute(|id| if id == self.x { Angle::zero() } else { Angle::theta(id) });
        let mut all = TrigSeries::constant(self.values.probability(&rest)?);
        all.push(Q::from(1), Complex::from_real(T::from_ratio(by_x)));
        Ok(all)
    }
    fn root(&self, square: TrigSeries<Complex<T>>) -> Result<TrigSeries<Complex<T>>, BindError> {
        let root = self.values.root(square.coefficient(Q::from(0)))?.re;
        let slope = square.coefficient(Q::from(1)).re / (root.clone() * T::int(2));
        let mut all = TrigSeries::constant(Complex::from_real(root));
        all.push(Q::from(1), Complex::from_real(slope));
        Ok(all)
    }
    // Channels have no angles.
    fn cis(&self, angle: &Angle) -> Result<TrigSeries<Complex<T>>, BindError> {
        Ok(TrigSeries::constant(self.values.cis(angle)?))
    }
    fn half(&self) -> TrigSeries<Complex<T>> {
        TrigSeries::constant(Complex::ratio(1, 2))
    }
    fn sqrt_half(&self) -> TrigSeries<Complex<T>> {
        TrigSeries::constant(self.values.sqrt_half())
    }
    fn number(&self, z: Complex<f64>) -> Result<TrigSeries<Complex<T>>, BindError> {
        Ok(TrigSeries::constant(self.values.number(z)?))
    }
}
