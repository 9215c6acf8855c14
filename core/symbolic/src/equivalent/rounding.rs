//! Bound on what rounding may add to a distance in numbers: a bound that holds for every circuit,
//! gate by gate.
//!
//! Let u be half a unit in the last place of 1, and `m = 2^k` the rows of the matrix M of a gate on
//! k targets; controls only leave amplitudes alone. A step takes the computed vector x to
//! `fl(M' x)`, where M' is the computed matrix:
//!
//! ```text
//! |M'_ij - M_ij| <= ENTRY u |M_ij|               products of at most three sines, cosines and phases
//! |M' - M| <= ENTRY sqrt(m) u                    since a unitary matrix has the Frobenius norm sqrt(m)
//! |fl(M' x) - M' x|_i <= 2 sqrt2 m u sum_j |M'_ij| |x_j|
//!                                                each part is a sum of 2 m products in any order: 2 m roundings
//! | |M| |x| | <= sqrt(m) |x|                     by the Frobenius norm again
//! ```
//! So a step adds a vector of norm at most `e |x|` with `e = (2 sqrt2 m + ENTRY) sqrt(m) u`; what
//! is of second order in u is within the roundness of ENTRY. Fewer roundings, as fused products
//! have, only help; a gate of zeros and ones adds none. By induction over the gates, from a start
//! of norm 1, the computed image is off by at most `prod_k (1 + e_k) - 1 <= exp(sum_k e_k) - 1`.
//! How well angles are known is another matter: see `CircuitPair::angle_rounding_bound`.
//!
//! The distance is off by no more than both images together, and by what reading it takes: see
//! [`of_reading`].

use crate::gate::GateKind;

/// Units of itself that an entry of a matrix is off by, at most.
const ENTRY: f64 = 12.0;

/// Terms that [`sum`] adds from left to right.
const RUN: usize = 8;

/// Error that a gate on this number of targets adds to an image, at most, in units; `None` is a
/// matrix of numbers.
pub(super) fn of_gate(kind: Option<GateKind>, n_targets: usize) -> f64 {
    if let Some(GateKind::I | GateKind::X | GateKind::SWAP | GateKind::DCX | GateKind::DCXDG) = kind
    {
        return 0.0;
    }
    let m = (n_targets as f64).exp2();
    (2.0 * std::f64::consts::SQRT_2 * m + ENTRY) * m.sqrt()
}

/// Error of the distance of two images, at most: `gates` is the sum of the units of all gates of
/// each, `unit` the precision, and `planned` what plans of other operators measured of their own
/// error; the kernels that take operators one by one have none.
pub(super) fn of_images(gates: [f64; 2], unit: f64, planned: [f64; 2]) -> f64 {
    gates.iter().zip(planned).map(|(units, planned)| (units * unit).exp_m1() + planned).sum()
}

/// Error that reading a distance off two images of n qubits adds to it, in double precision.
/// [`sum`] rounds each term at most `RUN + n` times, so the overlap is off by
/// `2 sqrt2 (RUN + n) u`, and with it the best phase; its modulus, the product and the difference
/// with it by 10 u; the norm of that, which is at most 2, by `(RUN + n) u` of itself.
pub(super) fn of_reading(n_qubits: usize) -> f64 {
    let roundings = (RUN + n_qubits + 2) as f64;
    (3.0 * roundings + 10.0 + 2.0 * roundings) * crate::param::UNIT
}

/// Returns the sum of some terms in a balanced tree: each takes part in at most `RUN + log2 n`
/// additions.
pub(super) fn sum<T: std::iter::Sum + std::ops::Add<Output = T>>(
    n: usize,
    term: &impl Fn(usize) -> T,
) -> T {
    fn part<T: std::iter::Sum + std::ops::Add<Output = T>>(
        first: usize,
        n: usize,
        term: &impl Fn(usize) -> T,
    ) -> T {
        if n <= RUN {
            return (first..first + n).map(term).sum();
        }
        let half = (n / 2).next_power_of_two();
        part(first, half, term) + part(first + half, n - half, term)
    }
    part(0, n, term)
}

/// Returns the decimals of a number that an error leaves: the last one is not below the error. One
/// that is not 0 keeps a digit.
pub(super) fn decimals(x: f64, error: f64) -> String {
    // Sixteen digits are all there are.
    let mut decimals =
        if error > 0.0 { (-error.log10()).floor().clamp(0.0, 16.0) as usize } else { 16 };
    let is_zero = |text: &str| text.bytes().all(|c| !c.is_ascii_digit() || c == b'0');
    let mut text = format!("{x:.decimals$}");
    while is_zero(&text) && decimals < 16 {
        decimals += 1;
        text = format!("{x:.decimals$}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_all_terms() {
        for n in [0, 1, 7, 8, 9, 100, 1 << 10] {
            assert_eq!(sum(n, &|k| k as u64), (0..n as u64).sum());
        }
    }

    #[test]
    fn no_decimal_is_below_the_error() {
        let cases = [
            (-2.8123e-9, 8.8e-11, "-0.0000000028"),
            (std::f64::consts::FRAC_PI_4, 3e-13, "0.785398163397"),
            (std::f64::consts::FRAC_PI_4, 0.0, "0.7853981633974483"),
            (1.5, 10.0, "2"),
            (4.6e-10, 4.4e-10, "0.0000000005"),
        ];
        for (x, error, text) in cases {
            assert_eq!(decimals(x, error), text);
        }
    }
}
