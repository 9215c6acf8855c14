//! Observables: Hermitian operators by their value and by their action on a state.
//!
//! | observable | operator | value |
//! |---|---|---|
//! | [`Observable::Pauli`] | a sum of Pauli strings | an energy |
//! | [`Observable::Outcome`] | `|bits><bits|` on some qubits | the probability of an outcome |
//! | [`Observable::Overlap`] | `|phi><phi|` | the fidelity with a given state |

use std::{fmt, sync::Arc};

use num_complex::Complex;

use super::HybridError;
use crate::{
    circuit::Compact,
    kernel::{BLOCK, Threads, tree_sum},
    observable::{Pauli, PauliString, PauliSum},
    pauli::{PauliMasks, PauliPhase},
    scalar::{Real, Scalar},
    state::{GroupedPauliSum, StateVector},
};

/// Largest number of qubits of an outcome that is written as Pauli strings.
const MOST_OUTCOME_QUBITS: usize = 12;

/// A Hermitian operator whose mean is a differentiable value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Observable {
    /// A real combination of Pauli strings.
    Pauli(PauliSum),
    /// The projector on the basis states where these qubits have these values: its mean is the
    /// probability of that outcome.
    Outcome(Vec<(usize, bool)>),
    /// The projector on a state: its mean is `|<phi|psi>|^2`, the fidelity. A phi of norm sqrt(w),
    /// by [`StateVector::from_vector`], gives w times that: the penalty by which variational
    /// deflation finds excited states (O. Higgott, D. Wang, S. Brierley, Quantum 3, 156 (2019)).
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
            Observable::Overlap(phi) => {
                write!(f, "the fidelity with a state of {} qubits", phi.n_qubits())
            }
        }
    }
}

impl Observable {
    /// Returns the operator as a sum of Pauli strings, if it has few terms: an outcome of k qubits
    /// is the product of `(1 + Z)/2` and `(1 - Z)/2`, 2^k strings.
    pub(super) fn pauli_sum(&self) -> Option<PauliSum> {
        match self {
            Observable::Pauli(sum) => Some(sum.clone()),
            Observable::Outcome(bits) if bits.len() <= MOST_OUTCOME_QUBITS => {
                let weight = f64::from(1u32 << bits.len()).recip();
                let term = |subset: u32| {
                    let chosen = bits
                        .iter()
                        .enumerate()
                        .filter(|(k, _)| subset >> k & 1 == 1)
                        .map(|(_, b)| b);
                    let sign = if chosen.clone().filter(|b| b.1).count() % 2 == 0 {
                        weight
                    } else {
                        -weight
                    };
                    Some((sign, PauliString::new(chosen.map(|b| (b.0, Pauli::Z))).ok()?))
                };
                PauliSum::new((0..1u32 << bits.len()).map(term).collect::<Option<Vec<_>>>()?).ok()
            }
            Observable::Outcome(_) | Observable::Overlap(_) => None,
        }
    }

    /// Returns its strings with their coefficients, if it is given by them.
    pub(super) fn masks(&self) -> Option<Vec<(f64, PauliMasks)>> {
        let Observable::Pauli(sum) = self else { return None };
        Some(sum.terms().iter().map(|(c, string)| (*c, string.masks())).collect())
    }

    /// Returns it on the qubits of a compact circuit, where the others are |0>; `None` for an
    /// overlap.
    pub(super) fn placed(&self, compact: &Compact) -> Option<Observable> {
        Some(Observable::Pauli(match self {
            Observable::Pauli(sum) => compact.observable(sum).ok()?,
            Observable::Outcome(bits) => {
                let is_idle = |q: usize| compact.position_of(q).is_none();
                let constant =
                    if bits.iter().any(|(q, value)| *value && is_idle(*q)) { 0.0 } else { 1.0 };
                let placed: Vec<_> = bits
                    .iter()
                    .filter_map(|(q, value)| Some((compact.position_of(*q)?, *value)))
                    .collect();
                if constant != 0.0 && !placed.is_empty() {
                    return Some(Observable::Outcome(placed));
                }
                PauliSum::new([(constant, PauliString::default())]).ok()?
            }
            Observable::Overlap(_) => return None,
        }))
    }

    /// Returns a bound of the moduli of its values.
    pub(super) fn size(&self) -> f64 {
        match self {
            Observable::Pauli(sum) => sum.terms().iter().map(|term| term.0.abs()).sum(),
            Observable::Outcome(_) => 1.0,
            Observable::Overlap(phi) => phi.amplitudes().iter().map(Complex::norm_sqr).sum(),
        }
    }

    /// Checks that it fits a circuit of n qubits.
    pub(super) fn check(&self, n_qubits: usize) -> Result<(), HybridError> {
        let least = match self {
            Observable::Pauli(sum) => sum.n_qubits(),
            Observable::Outcome(bits) => {
                let mut qubits: Vec<usize> = bits.iter().map(|b| b.0).collect();
                qubits.sort_unstable();
                if let Some(pair) = qubits.windows(2).find(|w| w[0] == w[1]) {
                    return Err(HybridError::RepeatedQubit {
                        observable: self.to_string(),
                        qubit: pair[0],
                    });
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
            return Err(HybridError::Qubit {
                observable: self.to_string(),
                qubit: least - 1,
                n_qubits,
            });
        }
        Ok(())
    }

    /// Returns `<psi|O|psi>`. O(2^n), for a sum of Pauli strings times its distinct sets of flipped
    /// qubits.
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
            Observable::Pauli(sum) => {
                GroupedPauliSum::new(sum.terms(), PauliPhase::ONE).add(weight, psi, out, threads)
            }
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

    /// Adds `weight * O` to a matrix, entry (row, column) at `row | column << n`. O(2^n) for each
    /// Pauli string, O(4^n) for an overlap.
    pub(super) fn add_entries<T: Real>(
        &self,
        weight: &T,
        n_qubits: usize,
        entries: &mut [Complex<T>],
    ) {
        let dim = 1usize << n_qubits;
        match self {
            Observable::Pauli(sum) => {
                for (c, string) in sum.terms() {
                    let string = string.masks();
                    let c = T::lit(*c) * weight;
                    for j in 0..dim {
                        let entry = &mut entries[(j ^ string.x) | j << n_qubits];
                        match string.entry(j).exponent() {
                            0 => entry.re += c.clone(),
                            1 => entry.im += c.clone(),
                            2 => entry.re -= c.clone(),
                            _ => entry.im -= c.clone(),
                        }
                    }
                }
            }
            Observable::Outcome(bits) => {
                let (mask, value) = masks(bits);
                for j in (0..dim).filter(|j| j & mask == value) {
                    entries[j | j << n_qubits].re += weight.clone();
                }
            }
            Observable::Overlap(phi) => {
                let phi = phi.amplitudes();
                for (column, b) in entries.chunks_exact_mut(dim).zip(phi) {
                    for (entry, a) in column.iter_mut().zip(phi) {
                        let z = a * b.conj();
                        *entry += times(&Complex::new(T::lit(z.re), T::lit(z.im)), weight);
                    }
                }
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

/// Returns `<phi|psi>`, in a fixed order.
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
