//! Sums of Pauli strings on states: inner products and application.
//!
//! A string is `P = i^|x & z| X^x Z^z`, so `(P b)[i] = i^|x & z| (-1)^{|(i ^ x) & z|} b[i ^ x]`. Terms of the same `x` read
//! the same amplitudes: they are one launch, in which each amplitude is loaded once and meets the sum of their weights.
//! Sums of blocks are added here in order, so that a result does not depend on how the blocks were scheduled.
#![expect(unsafe_code, reason = "kernels are launched here")]

use ketgrad_plugin_sdk::{C64, Error, PauliTerm, Result};

use crate::{
    driver::{Arg, Buffer, Driver, Launch, Packed, Which, launch},
    state::State,
};

/// Threads of a block.
pub(crate) const BLOCK: u32 = 256;
/// Dynamic shared memory of a block: a complex number a thread.
pub(crate) const SHARED: u32 = BLOCK * 16;
/// Blocks a multiprocessor: as many as it holds at once.
const BLOCKS_A_MULTIPROCESSOR: u32 = 8;

/// The blocks for a loop over `count` items, a thread an item or several.
pub(crate) fn blocks(driver: &dyn Driver, count: u64, items_a_block: u64) -> u32 {
    let most = driver.properties().multiprocessors.saturating_mul(BLOCKS_A_MULTIPROCESSOR).max(1);
    u32::try_from(count.div_ceil(items_a_block)).map_or(most, |wanted| wanted.clamp(1, most))
}

/// Terms by their `x`, ascending; within one in the order given.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Groups {
    /// The `x` of each group.
    pub(crate) x: Vec<u64>,
    /// Where each group begins among the terms, and at the end where the last one ends.
    pub(crate) first: Vec<u32>,
    /// The `z` of each term.
    pub(crate) z: Vec<u64>,
    /// The weight of each term, `coefficient i^|x & z|`: real and imaginary part.
    pub(crate) weights: Vec<f64>,
}

impl Groups {
    /// Groups the terms of a sum on so many qubits.
    ///
    /// # Errors
    /// A term acts on a qubit that is not there, or there are more than 2^32.
    pub(crate) fn of(terms: &[PauliTerm], n_qubits: u32) -> Result<Groups> {
        let beyond = u64::MAX.checked_shl(n_qubits).unwrap_or(0);
        if let Some(term) = terms.iter().find(|t| (t.x | t.z) & beyond != 0) {
            let qubit = ((term.x | term.z) & beyond).trailing_zeros();
            return Err(Error::new(format!(
                "a Pauli string on qubit {qubit} of a state of {n_qubits} qubits"
            )));
        }
        let position = |k: usize| {
            u32::try_from(k).map_err(|_| Error::new(format!("{} Pauli strings; at most 2^32", terms.len())))
        };
        let mut sorted: Vec<&PauliTerm> = terms.iter().collect();
        sorted.sort_by_key(|term| term.x);
        let mut groups = Groups::default();
        for (k, term) in sorted.into_iter().enumerate() {
            if groups.x.last() != Some(&term.x) {
                groups.x.push(term.x);
                groups.first.push(position(k)?);
            }
            groups.z.push(term.z);
            groups.weights.extend(weight(term));
        }
        groups.first.push(position(terms.len())?);
        Ok(groups)
    }
}

/// `coefficient i^|x & z|`.
fn weight(term: &PauliTerm) -> [f64; 2] {
    let c = term.coefficient;
    match (term.x & term.z).count_ones() % 4 {
        0 => [c, 0.0],
        1 => [0.0, c],
        2 => [-c, 0.0],
        _ => [0.0, -c],
    }
}

/// `<a| sum of terms |b>`. O(2^n) times the number of terms, a pass over memory for each `x`.
///
/// # Errors
/// The states are not alike, a term acts beyond them, or the device fails.
pub(crate) fn inner(a: &State, terms: &[PauliTerm], b: &State) -> Result<C64> {
    a.expect_alike(b)?;
    let groups = Groups::of(terms, a.n_qubits())?;
    if groups.x.is_empty() {
        return Ok(C64::new(0.0, 0.0));
    }
    let driver = a.driver();
    let mut packed = Packed::default();
    let z = packed.push(&groups.z);
    let weights = packed.push(&groups.weights);
    let packed = packed.upload(driver)?;
    let grid = blocks(&**driver, a.count(), u64::from(BLOCK));
    let sums = 2 * grid as usize;
    let partial = Buffer::<f64>::new(driver, sums * groups.x.len())?;
    for (group, (&x, ends)) in groups.x.iter().zip(groups.first.windows(2)).enumerate() {
        let &[first, end] = ends else { continue };
        let args = [
            Arg::At(a.at()),
            Arg::At(b.at()),
            Arg::U64(a.count()),
            Arg::U64(x),
            Arg::At(packed.at() + z + 8 * u64::from(first)),
            Arg::At(packed.at() + weights + 16 * u64::from(first)),
            Arg::U32(end - first),
            Arg::At(partial.at() + 8 * (sums * group) as u64),
        ];
        let what = Launch {
            kernel: Which::Named("pauli_sum"),
            precision: a.precision(),
            grid,
            block: BLOCK,
            shared_bytes: SHARED,
        };
        // SAFETY: both states have `count` amplitudes and x is below it; z and weights have the terms of the group, partial
        // two sums for each block of it.
        unsafe { launch(&**driver, what, &args) }?;
    }
    let mut sums = vec![0.0; partial.len()];
    partial.read(0, &mut sums)?;
    Ok(sums.chunks_exact(2).map(|s| C64::new(s[0], s[1])).sum())
}

/// `to = sum of terms |from>`. O(2^n) times the number of terms, in one launch.
///
/// # Errors
/// The states are not alike or the same, a term acts beyond them, or the device fails.
pub(crate) fn apply(terms: &[PauliTerm], from: &State, to: &mut State) -> Result<()> {
    from.expect_alike(to)?;
    let groups = Groups::of(terms, from.n_qubits())?;
    let driver = from.driver();
    let mut packed = Packed::default();
    let x = packed.push(&groups.x);
    let z = packed.push(&groups.z);
    let weights = packed.push(&groups.weights);
    let first = packed.push(&groups.first);
    let packed = packed.upload(driver)?;
    let grid = blocks(&**driver, from.count(), u64::from(BLOCK));
    let args = [
        Arg::At(from.at()),
        Arg::At(to.at_mut()),
        Arg::U64(from.count()),
        Arg::At(packed.at() + x),
        Arg::At(packed.at() + first),
        Arg::U32(u32::try_from(groups.x.len()).unwrap_or(u32::MAX)),
        Arg::At(packed.at() + z),
        Arg::At(packed.at() + weights),
    ];
    let what = Launch {
        kernel: Which::Named("pauli_apply"),
        precision: from.precision(),
        grid,
        block: BLOCK,
        shared_bytes: SHARED,
    };
    // SAFETY: two states of `count` amplitudes, of which `to` is borrowed alone; every x is below `count`; the lists are
    // those of the groups, of which there are fewer than 2^32.
    unsafe { launch(&**driver, what, &args) }
}

#[cfg(test)]
mod tests {
    use ketgrad_plugin_sdk::Precision;

    use super::*;
    use crate::testing::{amplitudes, devices, of_state, state, tolerance};

    fn term(coefficient: f64, x: u64, z: u64) -> PauliTerm {
        PauliTerm { coefficient, x, z }
    }

    #[test]
    fn terms_of_one_x_stand_together() {
        // Z0 + 2 X0 + 3 Y0 + 4 Z1 + 5 Y0 Y1, in another order.
        let terms = [term(2.0, 1, 0), term(1.0, 0, 1), term(5.0, 3, 3), term(3.0, 1, 1), term(4.0, 0, 2)];
        let groups = Groups::of(&terms, 2).unwrap();
        assert_eq!(groups.x, [0, 1, 3]);
        assert_eq!(groups.first, [0, 2, 4, 5]);
        assert_eq!(groups.z, [1, 2, 0, 1, 3]);
        // Y = i X Z, and Y Y = i^2 X X Z Z.
        assert_eq!(groups.weights, [1.0, 0.0, 4.0, 0.0, 2.0, 0.0, 0.0, 3.0, -5.0, 0.0]);
    }

    #[test]
    fn the_powers_of_i_go_round() {
        let of = |x_and_z: u64| weight(&term(1.0, x_and_z, x_and_z));
        assert_eq!(
            [of(0), of(1), of(3), of(7), of(15)],
            [[1., 0.], [0., 1.], [-1., 0.], [0., -1.], [1., 0.]]
        );
    }

    #[test]
    fn no_terms_are_no_groups() {
        assert_eq!(Groups::of(&[], 3).unwrap(), Groups { first: vec![0], ..Groups::default() });
    }

    #[test]
    fn a_string_beyond_the_state_is_refused() {
        let said = |x, z| Groups::of(&[term(1.0, 1, 1), term(1.0, x, z)], 3).unwrap_err().to_string();
        assert_eq!(said(8, 0), "a Pauli string on qubit 3 of a state of 3 qubits");
        assert_eq!(said(1, 16), "a Pauli string on qubit 4 of a state of 3 qubits");
        assert!(Groups::of(&[term(1.0, 1 << 63, 0)], 64).is_ok());
    }

    /// The sum of the terms on amplitudes, by a plain loop.
    fn applied(terms: &[PauliTerm], b: &[C64]) -> Vec<C64> {
        let of = |i: usize| {
            let parts = terms.iter().map(|t| {
                let from = i ^ t.x as usize;
                let sign = if (from as u64 & t.z).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                b[from] * C64::i().powu((t.x & t.z).count_ones()) * sign * t.coefficient
            });
            parts.sum()
        };
        (0..b.len()).map(of).collect()
    }

    /// Terms of three groups, the last qubit among them.
    fn some_terms(n_qubits: u32) -> Vec<PauliTerm> {
        let top = 1 << (n_qubits - 1);
        vec![
            term(0.5, 0, 0),
            term(-1.25, top | 1, 1),
            term(0.75, 0, top | 1),
            term(2.0, top | 1, top),
            term(0.3, top, top),
            term(1.5, top | 1, top | 1),
        ]
    }

    const SIZES: [u32; 4] = [1, 3, 9, 12];
    const BOTH: [Precision; 2] = [Precision::Double, Precision::Single];

    #[test]
    fn inner_products_are_those_of_a_plain_loop() {
        for (device, n, precision) in cases() {
            let (a, b) = (amplitudes(n, 1), amplitudes(n, 2));
            let (on_a, on_b) = (state(&device, precision, &a), state(&device, precision, &b));
            for terms in [some_terms(n), vec![term(1.0, 0, 0)], vec![term(-0.5, 1, 1)], vec![]] {
                let got = inner(&on_a, &terms, &on_b).unwrap();
                let expected: C64 = a.iter().zip(applied(&terms, &b)).map(|(a, b)| a.conj() * b).sum();
                let scale = (1u64 << n) as f64;
                assert!((got - expected).norm() < scale * tolerance(precision), "{n}: {got} {expected}");
                assert_eq!(got, inner(&on_a, &terms, &on_b).unwrap(), "the same once more");
            }
        }
    }

    #[test]
    fn sums_are_applied_as_by_a_plain_loop() {
        for (device, n, precision) in cases() {
            let from = amplitudes(n, 3);
            let on = state(&device, precision, &from);
            for terms in [some_terms(n), vec![]] {
                // Fresh memory holds no numbers: all of it must be written.
                let mut to = state(&device, precision, &amplitudes(n, 4));
                apply(&terms, &on, &mut to).unwrap();
                for (got, expected) in of_state(&to).iter().zip(applied(&terms, &from)) {
                    assert!((got - expected).norm() < 20.0 * tolerance(precision), "{n}: {got} {expected}");
                }
            }
        }
    }

    fn cases() -> impl Iterator<Item = (std::sync::Arc<dyn Driver>, u32, Precision)> {
        devices().into_iter().flat_map(|device| {
            SIZES.into_iter().flat_map(move |n| {
                let device = device.clone();
                BOTH.into_iter().map(move |precision| (device.clone(), n, precision))
            })
        })
    }

    #[test]
    fn states_that_are_not_alike_are_refused() {
        let device = &devices()[0];
        let a = state(device, Precision::Double, &amplitudes(3, 1));
        let said = |b: &State| inner(&a, &[], b).unwrap_err().to_string();
        assert_eq!(
            said(&state(device, Precision::Double, &amplitudes(2, 1))),
            "a state of 3 qubits in double precision beside one of 2 in double precision"
        );
        assert_eq!(
            said(&state(device, Precision::Single, &amplitudes(3, 1))),
            "a state of 3 qubits in double precision beside one of 3 in single precision"
        );
        let other = state(&crate::testing::device(), Precision::Double, &amplitudes(3, 1));
        assert_eq!(said(&other), "two states on different devices");
    }
}
