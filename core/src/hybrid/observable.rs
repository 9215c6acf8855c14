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
    basis::odd,
    kernel::{BLOCK, Threads, tree_sum, walsh_hadamard},
    observable::{Pauli, PauliString, PauliSum},
    scalar::{Real, Scalar},
    state::StateVector,
};

/// The most qubits of an outcome that is written as Pauli strings.
const MOST_OUTCOME_QUBITS: usize = 12;

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
    /// The same operator as a sum of Pauli strings, where it is one of few terms: an outcome of k qubits is the
    /// product of `(1 + Z)/2` and `(1 - Z)/2`, 2^k strings.
    pub(super) fn pauli_sum(&self) -> Option<PauliSum> {
        match self {
            Observable::Pauli(sum) => Some(sum.clone()),
            Observable::Outcome(bits) if bits.len() <= MOST_OUTCOME_QUBITS => {
                let weight = f64::from(1u32 << bits.len()).recip();
                let term = |subset: u32| {
                    let chosen =
                        bits.iter().enumerate().filter(|(k, _)| subset >> k & 1 == 1).map(|(_, b)| b);
                    let sign = if chosen.clone().filter(|b| b.1).count() % 2 == 0 { weight } else { -weight };
                    Some((sign, PauliString::new(chosen.map(|b| (b.0, Pauli::Z))).ok()?))
                };
                PauliSum::new((0..1u32 << bits.len()).map(term).collect::<Option<Vec<_>>>()?).ok()
            }
            Observable::Outcome(_) | Observable::Overlap(_) => None,
        }
    }

    /// Its strings `c i^|x & z| X^x Z^z` as (c, x, z), if it is given by them.
    pub(super) fn masks(&self) -> Option<Vec<(f64, usize, usize)>> {
        let Observable::Pauli(sum) = self else { return None };
        Some(sum.terms().iter().map(|(c, string)| (*c, string.x_mask(), string.z_mask())).collect())
    }

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

/// Adds `weight * sum |psi>` to `out`, block by block, so that `out` passes through the cache once. O(2^n) for each
/// distinct x, and O(11 2^n) for each of them that has signs.
fn add_pauli<T: Real>(
    observable: &PauliSum,
    weight: &T,
    psi: &StateVector<Complex<T>>,
    out: &mut StateVector<Complex<T>>,
    threads: &Threads,
) {
    let mut passes: BTreeMap<usize, [Vec<(usize, f64)>; 2]> = BTreeMap::new();
    for (c, string) in observable.terms() {
        let (x, z) = (string.x_mask(), string.z_mask());
        // i^{#Y}: 1, i, -1, -i
        let quarters = (x & z).count_ones() as usize % 4;
        let c = if quarters < 2 { *c } else { -c };
        passes.entry(x).or_default()[quarters % 2].push((z, c));
    }
    let psi = psi.amplitudes();
    threads.chunks(out.amplitudes_mut(), BLOCK, |number, part| {
        let mut factors = Vec::new();
        for (&x, parts) in &passes {
            let inside = part.len() - 1;
            let start = (number * BLOCK) ^ (x & !inside);
            let from = &psi[start..start + part.len()];
            for (k, strings) in parts.iter().enumerate().filter(|(_, strings)| !strings.is_empty()) {
                signed_sums(strings, start, part.len(), weight, &mut factors);
                match k {
                    0 => add_exchanged(part, from, &factors, x & inside, add_real),
                    _ => add_exchanged(part, from, &factors, x & inside, add_imaginary),
                }
            }
        }
    });
}

/// `weight * sum_k c_k (-1)^{|i & z_k|}` for the indices i of a block: the Walsh-Hadamard transform of the
/// coefficients. One number if it is the same for all.
fn signed_sums<T: Real>(
    strings: &[(usize, f64)],
    start: usize,
    len: usize,
    weight: &T,
    factors: &mut Vec<T>,
) {
    let signed = |(z, c): &(usize, f64)| if odd(start & z) { -c } else { *c };
    factors.clear();
    if strings.iter().all(|(z, _)| z & (len - 1) == 0) {
        factors.push(weight.clone() * T::lit(strings.iter().map(signed).sum()));
        return;
    }
    let mut sums = vec![0.0; len];
    strings.iter().for_each(|string| sums[string.0 & (len - 1)] += signed(string));
    walsh_hadamard(&mut sums);
    factors.extend(sums.into_iter().map(|sum| weight.clone() * T::lit(sum)));
}

fn add_real<T: Real>(z: &mut Complex<T>, w: &Complex<T>, c: &T) {
    *z += times(w, c);
}

/// Adds `i c w`.
fn add_imaginary<T: Real>(z: &mut Complex<T>, w: &Complex<T>, c: &T) {
    *z += Complex::new(-(w.im.clone() * c), w.re.clone() * c);
}

/// `add(out[k], from[k ^ x], factors[k ^ x])` for all k: in runs as long as the lowest bit of x.
#[inline(always)]
fn add_exchanged<T: Real>(
    out: &mut [Complex<T>],
    from: &[Complex<T>],
    factors: &[T],
    x: usize,
    add: impl Fn(&mut Complex<T>, &Complex<T>, &T),
) {
    let run = if x == 0 { out.len() } else { x & x.wrapping_neg() };
    for (k, out) in out.chunks_exact_mut(run).enumerate() {
        let at = (k * run) ^ x;
        let from = &from[at..at + run];
        match factors {
            [factor] => out.iter_mut().zip(from).for_each(|(z, w)| add(z, w, factor)),
            _ => {
                let factors = &factors[at..at + run];
                out.iter_mut().zip(from).zip(factors).for_each(|((z, w), c)| add(z, w, c));
            }
        }
    }
}
