//! What is observed: Hermitian operators by their value and by what they make of a state.
//!
//! | observable | operator | value |
//! |---|---|---|
//! | [`Observable::Pauli`] | a sum of Pauli strings | an energy |
//! | [`Observable::Outcome`] | `|bits><bits|` on some qubits | the probability of an outcome |
//! | [`Observable::Overlap`] | `|phi><phi|` | the fidelity with a given state |
//!
//! `P |i> = i^{#Y} (-1)^{|i & z|} |i ^ x>` with the masks x (where a string flips) and z (where it signs), so an
//! amplitude of `O |psi>` is `sum_k c_k i^{#Y} (-1)^{|(i ^ x) & z|} psi[i ^ x]`. Terms that share x share the load.

use std::{collections::BTreeMap, fmt, sync::Arc};

use num_complex::Complex;

use super::HybridError;
use crate::{
    kernel::{BLOCK, Threads, tree_sum},
    observable::PauliSum,
    scalar::{Real, Scalar},
    state::StateVector,
};

/// A Hermitian operator whose mean is a differentiable value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Observable {
    /// A real combination of Pauli strings.
    Pauli(PauliSum),
    /// The projector on the basis states where these qubits have these values: its mean is the probability of that
    /// outcome.
    Outcome(Vec<(usize, bool)>),
    /// The projector on a state: its mean is the fidelity `|<phi|psi>|^2`.
    Overlap(Arc<StateVector<Complex<f64>>>),
}

impl From<PauliSum> for Observable {
    fn from(sum: PauliSum) -> Observable {
        Observable::Pauli(sum)
    }
}

impl fmt::Display for Observable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observable::Pauli(sum) => write!(f, "{sum}"),
            Observable::Outcome(bits) => {
                let text: Vec<String> =
                    bits.iter().map(|(q, v)| format!("q[{q}]={}", u8::from(*v))).collect();
                write!(f, "P({})", text.join(", "))
            }
            Observable::Overlap(phi) => write!(f, "the fidelity with a state of {} qubits", phi.n_qubits()),
        }
    }
}

impl Observable {
    /// Checks that it fits a circuit of n qubits.
    pub(super) fn check(&self, n_qubits: usize) -> Result<(), HybridError> {
        let least = match self {
            Observable::Pauli(sum) => sum.n_qubits(),
            Observable::Outcome(bits) => {
                let mut qubits: Vec<usize> = bits.iter().map(|b| b.0).collect();
                qubits.sort_unstable();
                if let Some(pair) = qubits.windows(2).find(|w| w[0] == w[1]) {
                    return Err(HybridError::RepeatedQubit { observable: self.to_string(), qubit: pair[0] });
                }
                qubits.last().map_or(0, |q| q.saturating_add(1))
            }
            Observable::Overlap(phi) => {
                return super::expectation::expect(
                    "qubits of the state to overlap with",
                    phi.n_qubits(),
                    n_qubits,
                );
            }
        };
        if least > n_qubits {
            return Err(HybridError::Qubit { observable: self.to_string(), qubit: least - 1, n_qubits });
        }
        Ok(())
    }

    /// `<psi|O|psi>`. O(2^n), for a sum of Pauli strings times its distinct sets of flipped qubits.
    pub(super) fn value<T: Real>(
        &self,
        psi: &StateVector<Complex<T>>,
        threads: &Threads,
    ) -> Result<T, HybridError> {
        match self {
            Observable::Pauli(sum) => Ok(psi.expectation(sum, threads)?),
            Observable::Outcome(bits) => {
                let (mask, value) = masks(bits);
                let amplitudes = psi.amplitudes();
                let block = |range: std::ops::Range<usize>| {
                    let inside = range.filter(|i| i & mask == value);
                    inside.fold(T::zero(), |sum, i| sum + amplitudes[i].abs2())
                };
                Ok(tree_sum(amplitudes.len(), threads, block, |x, y| x + y))
            }
            Observable::Overlap(phi) => Ok(overlap(phi, psi, threads).abs2()),
        }
    }

    /// Adds `weight * O |psi>` to `out`. O(2^n), as [`Observable::value`].
    pub(super) fn add<T: Real>(
        &self,
        weight: &T,
        psi: &StateVector<Complex<T>>,
        out: &mut StateVector<Complex<T>>,
        threads: &Threads,
    ) {
        match self {
            Observable::Pauli(sum) => add_pauli(sum, weight, psi, out, threads),
            Observable::Outcome(bits) => {
                let (mask, value) = masks(bits);
                let psi = psi.amplitudes();
                threads.chunks(out.amplitudes_mut(), BLOCK, |number, part| {
                    for (k, amplitude) in part.iter_mut().enumerate() {
                        let i = number * BLOCK + k;
                        if i & mask == value {
                            *amplitude += times(&psi[i], weight);
                        }
                    }
                });
            }
            Observable::Overlap(phi) => {
                let factor = times(&overlap(phi, psi, threads), weight);
                let phi = phi.amplitudes();
                threads.chunks(out.amplitudes_mut(), BLOCK, |number, part| {
                    for (amplitude, z) in part.iter_mut().zip(&phi[number * BLOCK..]) {
                        *amplitude += Complex::new(T::lit(z.re), T::lit(z.im)) * &factor;
                    }
                });
            }
        }
    }
}

fn masks(bits: &[(usize, bool)]) -> (usize, usize) {
    bits.iter().fold((0, 0), |(mask, value), &(q, v)| (mask | 1 << q, value | usize::from(v) << q))
}

fn times<T: Real>(z: &Complex<T>, x: &T) -> Complex<T> {
    Complex::new(z.re.clone() * x, z.im.clone() * x)
}

/// `<phi|psi>`, in a fixed order.
fn overlap<T: Real>(
    phi: &StateVector<Complex<f64>>,
    psi: &StateVector<Complex<T>>,
    threads: &Threads,
) -> Complex<T> {
    let (a, b) = (phi.amplitudes(), psi.amplitudes());
    let block = |range: std::ops::Range<usize>| {
        let term = |i: usize| Complex::new(T::lit(a[i].re), T::lit(-a[i].im)) * &b[i];
        range.fold(Complex::from_real(T::zero()), |sum, i| sum + term(i))
    };
    tree_sum(a.len(), threads, block, |x, y| x + y)
}

/// Adds `weight * sum |psi>` to `out`. O(2^n) for each distinct x, with a sign for each term.
fn add_pauli<T: Real>(
    observable: &PauliSum,
    weight: &T,
    psi: &StateVector<Complex<T>>,
    out: &mut StateVector<Complex<T>>,
    threads: &Threads,
) {
    // (z, coefficient of 1, coefficient of i)
    let mut passes: BTreeMap<usize, Vec<(usize, f64, f64)>> = BTreeMap::new();
    for (c, string) in observable.terms() {
        let (x, z) = (string.x_mask(), string.z_mask());
        let (re, im) = match (x & z).count_ones() % 4 {
            0 => (*c, 0.0),
            1 => (0.0, *c),
            2 => (-c, 0.0),
            _ => (0.0, -c),
        };
        passes.entry(x).or_default().push((z, re, im));
    }
    let psi = psi.amplitudes();
    for (x, terms) in passes {
        threads.chunks(out.amplitudes_mut(), BLOCK, |number, part| {
            for (k, amplitude) in part.iter_mut().enumerate() {
                let from = (number * BLOCK + k) ^ x;
                let sum = terms.iter().fold((0.0, 0.0), |(re, im), (z, a, b)| {
                    let sign = if (from & z).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                    (re + sign * a, im + sign * b)
                });
                let w = &psi[from];
                if sum.0 != 0.0 {
                    let c = weight.clone() * T::lit(sum.0);
                    *amplitude += Complex::new(w.re.clone() * &c, c * &w.im);
                }
                if sum.1 != 0.0 {
                    let c = weight.clone() * T::lit(sum.1);
                    *amplitude += Complex::new(-(w.im.clone() * &c), c * &w.re);
                }
            }
        });
    }
}
