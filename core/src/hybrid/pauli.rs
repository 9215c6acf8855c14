//! A sum of Pauli strings applied to a state: `|out> = sum_k c_k P_k |psi>`.
//!
//! `P |i> = i^{#Y} (-1)^{|i & z|} |i ^ x>` with the masks x (where the string flips) and z (where it signs), so an
//! amplitude of the result is `sum_k c_k i^{#Y} (-1)^{|(i ^ x) & z|} psi[i ^ x]`. Terms that share x share the load.

use std::collections::BTreeMap;

use num_complex::Complex;

use crate::{
    kernel::{BLOCK, Threads}, observable::PauliSum, scalar::Real, state::StateVector};

/// Adds `weight * O |psi>` to `out`. O(2^n) for each distinct x, with a sign for each term.
pub(super) fn add_observable<T: Real>(
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
