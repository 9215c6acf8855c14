//! Sums of Pauli strings on states: inner products and application.
//!
//! A string is `P = i^|x & z| X^x Z^z`, so `(P b)[i] = i^|x & z| (-1)^{|(i ^ x) & z|} b[i ^ x]`.
//! Strings are put into families whose `x` span few dimensions: a family moves amplitudes within
//! tiles, and takes one pass over the state. Partial sums of blocks are added here in order, so
//! that a result does not depend on the scheduling of blocks.
#![expect(unsafe_code, reason = "kernels are launched here")]

mod families;

use ketgrad_plugin_sdk::{C64, Error, PauliTerm, Precision, Result};

use self::families::Families;
use crate::{
    driver::{Arg, Buffer, Driver, KernelId, LaunchConfig, Packed, launch},
    program::LaunchGeometry,
    state::{CudaState, amplitude_bytes},
};

/// Threads of a block, as in the kernels.
pub(crate) const BLOCK: u32 = 256;
/// Dynamic shared memory of a block: a complex number a thread.
pub(crate) const SHARED: u32 = BLOCK * 16;
/// Number of blocks for each multiprocessor: as many as are resident at once.
const BLOCKS_A_MULTIPROCESSOR: u32 = 8;

/// Returns the number of blocks for a grid-stride loop over `count` items.
pub(crate) fn blocks(driver: &dyn Driver, count: u64, items_a_block: u64) -> u32 {
    let most = driver.properties().multiprocessors.saturating_mul(BLOCKS_A_MULTIPROCESSOR).max(1);
    u32::try_from(count.div_ceil(items_a_block)).map_or(most, |wanted| wanted.clamp(1, most))
}

/// Strings on the device, and the launch parameters of kernels over them.
struct Strings {
    families: Families,
    /// Lists that the kernels read: vectors, groups, and of each string z, z on places, weight.
    lists: Buffer<u8>,
    starts: [u64; 5],
    tiles: u32,
    /// Bytes of a tile and of the sums of its vectors.
    shared_bytes: u32,
}

impl Strings {
    fn new(terms: &[PauliTerm], state: &CudaState) -> Result<Strings> {
        let (n_qubits, driver) = (state.n_qubits(), state.driver());
        let bits = LaunchGeometry::for_state(state).tile_qubits.min(n_qubits as usize) as u32;
        let families = Families::new(terms, n_qubits, bits)?;
        let mut packed = Packed::default();
        let starts = [
            packed.push(&families.vectors),
            packed.push(families.groups.as_flattened()),
            packed.push(&families.z),
            packed.push(&families.z_on_places),
            match state.precision() {
                Precision::Double => packed.push(&families.weights),
                Precision::Single => {
                    packed.push(&families.weights.iter().map(|w| *w as f32).collect::<Vec<_>>())
                }
            },
        ];
        let lists = packed.upload(driver)?;
        let tiles = u32::try_from(state.count() >> bits).map_err(|_| {
            Error::new(format!(
                "Pauli strings on {n_qubits} qubits: more tiles than a device counts"
            ))
        })?;
        let tile = (amplitude_bytes(state.precision()) << bits) as u32;
        let shared_bytes = tile + (size_of::<u64>() << families.dimensions()) as u32;
        Ok(Strings { families, lists, starts, tiles, shared_bytes })
    }

    /// Returns the common arguments of each family, which follow those of the states.
    fn arguments(&self) -> impl Iterator<Item = [Arg; 9]> + '_ {
        let Families { bits, low, ends, .. } = &self.families;
        let [vectors, groups, z, z_on_places, weights] =
            self.starts.map(|start| self.lists.address() + start);
        let each = 2 * size_of::<u64>() * self.families.dimensions();
        let first = [0].into_iter().chain(ends.iter().copied());
        first.zip(ends).enumerate().map(move |(family, (first, &end))| {
            [
                Arg::U32(self.tiles),
                Arg::U32(*bits),
                Arg::U32(*low),
                Arg::At(vectors + (family * each) as u64),
                Arg::At(groups + (size_of::<[u32; 4]>() * first) as u64),
                Arg::U32((end - first) as u32),
                Arg::At(z),
                Arg::At(z_on_places),
                Arg::At(weights),
            ]
        })
    }

    /// Returns the launch of a kernel that needs that many more bytes of shared memory.
    fn launch(&self, state: &CudaState, kernel: &'static str, more: u32) -> LaunchConfig {
        let shared_bytes = self.shared_bytes + more;
        let grid = state.driver().properties().blocks_at_once(self.tiles, shared_bytes);
        LaunchConfig {
            kernel: KernelId::Named(kernel),
            precision: state.precision(),
            grid,
            block: BLOCK,
            shared_bytes,
        }
    }
}

/// Returns `<a| sum of terms |b>`. O(2^n) times the number of terms, a pass over memory for each
/// family.
///
/// # Errors
/// The states differ in size, kind or device, a term acts beyond them, or the device fails.
pub(crate) fn inner(a: &CudaState, terms: &[PauliTerm], b: &CudaState) -> Result<C64> {
    summed(a, terms, b, true)
}

/// Returns the real part of `<a| sum of terms |b>`, for about half the work: all of it where a is
/// b.
///
/// # Errors
/// The same as for [`inner`].
pub(crate) fn real_inner(a: &CudaState, terms: &[PauliTerm], b: &CudaState) -> Result<f64> {
    Ok(summed(a, terms, b, false)?.re)
}

fn summed(a: &CudaState, terms: &[PauliTerm], b: &CudaState, complex: bool) -> Result<C64> {
    a.expect_alike(b)?;
    if terms.is_empty() {
        return Ok(C64::new(0.0, 0.0));
    }
    let strings = Strings::new(terms, a)?;
    let driver = a.driver();
    let what = strings.launch(a, "pauli_sum", SHARED);
    let sums = 2 * what.grid as usize;
    let partial = Buffer::<f64>::new(driver, sums * strings.families.ends.len())?;
    for (family, lists) in strings.arguments().enumerate() {
        let mut args = vec![Arg::At(a.address()), Arg::At(b.address())];
        args.extend(lists);
        args.push(Arg::U32(u32::from(complex)));
        args.push(Arg::At(partial.address() + (size_of::<f64>() * sums * family) as u64));
        // SAFETY: both states have as many amplitudes as the tiles; the lists are those of the
        // families, and partial has two sums for each block of each.
        unsafe { launch(&**driver, what, &args) }?;
    }
    let mut sums = vec![0.0; partial.len()];
    partial.read(0, &mut sums)?;
    Ok(sums.chunks_exact(2).map(|s| C64::new(s[0], s[1])).sum())
}

/// Computes `to = sum of terms |from>`. O(2^n) times the number of terms, a pass over both for each
/// family.
///
/// # Errors
/// The states differ in size, kind or device, or are the same, a term acts beyond them, or the
/// device fails.
pub(crate) fn apply(terms: &[PauliTerm], from: &CudaState, to: &mut CudaState) -> Result<()> {
    from.expect_alike(to)?;
    if terms.is_empty() {
        return to.clear();
    }
    let strings = Strings::new(terms, from)?;
    let what = strings.launch(from, "pauli_apply", 0);
    for (family, lists) in strings.arguments().enumerate() {
        let mut args = vec![Arg::At(from.address()), Arg::At(to.address_mut())];
        args.extend(lists);
        args.push(Arg::U32(u32::from(family > 0)));
        // SAFETY: two states of as many amplitudes as the tiles, of which `to` is borrowed alone;
        // the lists are those of the families.
        unsafe { launch(&**from.driver(), what, &args) }?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{amplitudes, devices, of_state, state, tolerance};

    fn term(coefficient: f64, x: u64, z: u64) -> PauliTerm {
        PauliTerm { coefficient, x, z }
    }

    /// Applies the sum of the terms to amplitudes, by a plain loop.
    fn applied(terms: &[PauliTerm], b: &[C64]) -> Vec<C64> {
        let of = |i: usize| {
            let parts = terms.iter().map(|t| {
                let from = i ^ t.x as usize;
                let sign =
                    if (from as u64 & t.z).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
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

    /// X and Y on each qubit, Z beside it, chains over all, and half of all pairs: several families
    /// on 14 qubits.
    fn many_terms(n_qubits: u32) -> Vec<PauliTerm> {
        let n = n_qubits;
        let singles = (0..n).flat_map(|q| {
            let (q, next) = (1u64 << q, 1u64 << ((q + 1) % n));
            [
                term(0.3, q, 0),
                term(-0.7, q, q),
                term(0.2, q, next),
                term(0.9, 0, q | next),
                term(0.4, q | next, next),
            ]
        });
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| (1u64 << a, 1u64 << b)));
        let pairs = pairs
            .enumerate()
            .filter(|(k, _)| k % 2 == 0)
            .map(|(k, (a, b))| term(0.01 * k as f64 - 0.3, a | b, [0, a, a | b, 1][k / 2 % 4]));
        let all = (1u64 << n) - 1;
        singles.chain(pairs).chain([term(0.5, all, all), term(1.5, all, all >> 1)]).collect()
    }

    const SIZES: [u32; 5] = [1, 3, 9, 12, 14];
    const BOTH: [Precision; 2] = [Precision::Double, Precision::Single];

    #[test]
    fn inner_products_are_those_of_a_plain_loop() {
        for (device, n, precision) in cases() {
            let (a, b) = (amplitudes(n, 1), amplitudes(n, 2));
            let (on_a, on_b) = (state(&device, precision, &a), state(&device, precision, &b));
            for terms in [
                some_terms(n),
                many_terms(n),
                vec![term(1.0, 0, 0)],
                vec![term(-0.5, 1, 1)],
                vec![],
            ] {
                let got = inner(&on_a, &terms, &on_b).unwrap();
                let expected: C64 =
                    a.iter().zip(applied(&terms, &b)).map(|(a, b)| a.conj() * b).sum();
                let scale = (1u64 << n) as f64;
                assert!(
                    (got - expected).norm() < scale * tolerance(precision),
                    "{n}: {got} {expected}"
                );
                assert_eq!(got, inner(&on_a, &terms, &on_b).unwrap(), "the same once more");
                assert_eq!(got.re, real_inner(&on_a, &terms, &on_b).unwrap());
            }
        }
    }

    #[test]
    fn sums_are_applied_as_by_a_plain_loop() {
        for (device, n, precision) in cases() {
            let from = amplitudes(n, 3);
            let on = state(&device, precision, &from);
            for terms in [some_terms(n), many_terms(n), vec![]] {
                // Fresh memory holds no numbers: all of it must be written.
                let mut to = state(&device, precision, &amplitudes(n, 4));
                apply(&terms, &on, &mut to).unwrap();
                for (got, expected) in of_state(&to).iter().zip(applied(&terms, &from)) {
                    assert!(
                        (got - expected).norm() < 20.0 * tolerance(precision),
                        "{n}: {got} {expected}"
                    );
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
        let said = |b: &CudaState| inner(&a, &[], b).unwrap_err().to_string();
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
