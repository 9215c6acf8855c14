//! Time evolution: `exp(-i H t) |psi>` for a sum of Pauli strings H, to the accuracy of the
//! numbers.
//!
//! With a bound R of the spectrum's width and `A = H/R`, `x = R t`, the Chebyshev series of the
//! exponential is `sum_k (2 - [k = 0]) J_k(x) (-i)^k T_k(A)` with Bessel functions J (Tal-Ezer,
//! Kosloff, J. Chem. Phys. 81, 3967 (1984)). `u_k = (-i)^k T_k(A) |psi>` follow each other by
//! `u_{k+1} = u_{k-1} - 2 i A u_k`, and the coefficients vanish faster than exponentially after
//! `k = |x|`. No step size is chosen and nothing is split, and since all of it is sums and
//! products, it runs on every real number: a time that is a dual number brings `-i H |psi>` along,
//! one with an error bar the error.

use num_complex::Complex;

use super::{GroupedPauliSum, StateError, StateVector};
use crate::{kernel::Threads, observable::PauliSum, pauli::PauliPhase, scalar::Real};

/// Coefficients smaller than this are left out: a hundredth of what one rounding changes.
const NEGLIGIBLE: f64 = 1e-18;

/// The order of the derivatives for which terms are kept.
const ORDERS: usize = 4;

impl<T: Real> StateVector<Complex<T>> {
    /// Replaces the state by `exp(-i H t)` of it. The time may be negative, and is in units of one
    /// over those of H.
    ///
    /// Cost: about `R |t| + 12 + 6 (R |t|)^(1/3)` times that of [`applied`](StateVector::applied),
    /// where R is the sum of the moduli of the coefficients without the constant; memory for two
    /// more states. A product formula as a circuit, with its parameters:
    /// [`ansatz::evolution`](crate::ansatz::evolution).
    ///
    /// ```
    /// use ketgrad_core::{kernel::Threads, observable::PauliSum, state::StateVector};
    /// use num_complex::Complex;
    ///
    /// // Rabi oscillation: <Z> = cos 2 t.
    /// let (x, z): (PauliSum, PauliSum) = ("X0".parse()?, "Z0".parse()?);
    /// let mut state = StateVector::<Complex<f64>>::zero(1)?;
    /// state.evolve(&x, &0.3, &Threads::serial())?;
    /// assert!((state.expectation(&z, &Threads::serial())? - 0.6f64.cos()).abs() < 1e-15);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`StateError`] if H acts on a qubit that the state does not have, if the time is not finite
    /// or is a symbol, or if the memory is not to be had.
    pub fn evolve(
        &mut self,
        hamiltonian: &PauliSum,
        time: &T,
        threads: &Threads,
    ) -> Result<(), StateError> {
        Self::check_acts(self.n_qubits, hamiltonian)?;
        let (constant, terms): (Vec<_>, Vec<_>) = hamiltonian
            .terms()
            .iter()
            .filter(|term| term.0 != 0.0)
            .partition(|term| term.1.factors().is_empty());
        let constant: f64 = constant.iter().map(|term| term.0).sum();
        let width: f64 = terms.iter().map(|term| term.0.abs()).sum();
        let coefficients = coefficients(&(time.clone() * T::lit(width)))
            .ok_or_else(|| StateError::Time { given: format!("{time:?}") })?;
        let (sin, cos) = (time.clone() * T::lit(-constant)).sin_cos();
        let phase = Complex::new(cos, sin);

        let (mut old, mut new) = (self.clone(), Self::null(self.n_qubits, threads)?);
        let step = GroupedPauliSum::new(terms, PauliPhase::MINUS_I);
        for (k, coefficient) in coefficients.into_iter().enumerate() {
            threads.check()?;
            let factor = phase.clone() * coefficient;
            if k == 0 {
                self.scale(&factor, threads);
                continue;
            }
            let turns = if k == 1 { 1.0 } else { 2.0 };
            step.add(&T::lit(turns / width), &old, &mut new, threads);
            self.axpy(&factor, &new, threads);
            std::mem::swap(&mut old, &mut new);
        }
        Ok(())
    }
}

/// Returns `(2 - [k = 0]) J_k(x)` for k from 0 until they are negligible; `None` if x is not finite
/// or has no value.
fn coefficients<T: Real>(x: &T) -> Option<Vec<T>> {
    let size = x.primal()?.abs();
    if !size.is_finite() {
        return None;
    }
    let mut all = if size < 1.0 { by_series(x) } else { by_recurrence(x, size) };
    let kept = all.iter().rposition(|j| j.primal().is_none_or(|j| j.abs() >= NEGLIGIBLE))?;
    // An m-th derivative is negligible m terms later.
    all.truncate(kept + if x.beyond().is_exact_zero() { 1 } else { 1 + ORDERS });
    all.iter_mut().skip(1).for_each(|j| *j *= T::lit(2.0));
    Some(all)
}

/// Returns `J_k(x) = (x/2)^k/k! sum_m (-x^2/4)^m / (m! (k+1) ... (k+m))` for |x| < 1.
fn by_series<T: Real>(x: &T) -> Vec<T> {
    let half = x.clone() * T::lit(0.5);
    let square = -(half.clone() * &half);
    let mut front = T::one();
    let mut all = Vec::new();
    for k in 0..TERMS {
        let (mut term, mut sum) = (T::one(), T::one());
        for m in 1..TERMS {
            term *= square.clone() * T::lit(1.0 / (m * (k + m)) as f64);
            sum += term.clone();
        }
        all.push(front.clone() * sum);
        front *= half.clone() * T::lit(1.0 / (k + 1) as f64);
    }
    all
}

/// Number of terms of the series at |x| < 1: `0.5^16/16!` is 7e-19.
const TERMS: usize = 17;

/// Miller's algorithm: `J_{k-1} = (2k/x) J_k - J_{k+1}` from where J is some 1e-25 down to 0, which
/// damps what is wrong at the start, scaled by `J_0^2 + 2 sum J_k^2 = 1`, a sum without
/// cancellation.
fn by_recurrence<T: Real>(x: &T, size: f64) -> Vec<T> {
    // Debye: J_k(k / cosh a) is about exp(-k (a - tanh a)).
    let is_small = |k: &usize| {
        let a = (*k as f64 / size).acosh();
        *k as f64 * (a - a.tanh()) > 58.0
    };
    let top = (size.ceil() as usize..).find(is_small).unwrap_or(usize::MAX);
    let (mut above, mut here) = (T::zero(), T::lit(1e-25));
    let mut all = vec![here.clone()];
    let inverse = x.recip() * T::lit(2.0);
    for k in (1..=top).rev() {
        let below = inverse.clone() * T::lit(k as f64) * &here - &above;
        (above, here) = (here, below);
        all.push(here.clone());
    }
    all.reverse();
    let squares = all.iter().skip(1).fold(T::zero(), |sum, j| sum + j.clone() * j);
    let norm = (all[0].clone() * &all[0] + squares * T::lit(2.0)).sqrt();
    // J_top is positive with x.
    let scale =
        if x.primal().is_some_and(|x| x < 0.0) && top % 2 == 1 { -norm } else { norm }.recip();
    all.iter_mut().for_each(|j| *j *= scale.clone());
    all
}
