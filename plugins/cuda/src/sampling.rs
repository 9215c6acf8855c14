//! Sampling of basis states by inversion of the cumulative distribution.
//!
//! The device adds up |amplitude|^2 over chunks of 2^12; the host merges the cumulative sums of
//! chunks and the ascending uniform numbers, so each shot has its chunk and the rest of its number;
//! the device finds the index inside. O(2^n + shots).
#![expect(unsafe_code, reason = "kernels are launched here")]

use ketgrad_plugin_sdk::{Error, Result};

use crate::{
    driver::{Arg, Buffer, KernelId, LaunchConfig, Packed, launch},
    paulis::{BLOCK, SHARED, blocks},
    state::CudaState,
};

/// log2 of the amplitudes of a chunk.
const CHUNK_LOG2: u32 = 12;
/// Number of shots that are sent to the device at once.
const SHOTS: usize = 1 << 24;

/// Chunks that contain shots, and the shots of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ChunkShots {
    /// Chunks with a shot, ascending.
    pub(crate) chunk: Vec<u64>,
    /// Index of the first shot of each, and at the end the number of shots.
    pub(crate) first: Vec<u32>,
    /// Sum that must be exceeded inside the chunk, for each shot.
    pub(crate) residual: Vec<f64>,
}

/// Assigns each uniform number the first chunk whose cumulative sum exceeds it times the total;
/// where rounding leaves none, the last chunk that is not zero. One merge.
///
/// # Errors
/// The numbers do not ascend within [0, 1), or the sums have no positive total.
pub(crate) fn assign(sums: &[f64], uniforms: &[f64]) -> Result<ChunkShots> {
    let total: f64 = sums.iter().sum();
    let last = sums.iter().rposition(|sum| *sum > 0.0).filter(|_| total.is_finite());
    let last = last
        .ok_or_else(|| Error::new(format!("a state of squared norm {total} cannot be sampled")))?;
    if !uniforms.is_sorted() || uniforms.iter().any(|u| !(0.0..1.0).contains(u)) {
        return Err(Error::new("numbers for sampling that do not ascend within [0, 1)"));
    }
    let mut picks = ChunkShots::default();
    let (mut chunk, mut before) = (0, 0.0);
    for (shot, u) in (0u32..).zip(uniforms) {
        let wanted = u * total;
        while chunk < last && before + sums[chunk] <= wanted {
            before += sums[chunk];
            chunk += 1;
        }
        if picks.chunk.last() != Some(&(chunk as u64)) {
            picks.chunk.push(chunk as u64);
            picks.first.push(shot);
        }
        picks.residual.push(wanted - before);
    }
    picks.first.push(picks.residual.len() as u32);
    Ok(picks)
}

/// Finds for each uniform number u, which ascend, the first index whose cumulative probability
/// exceeds u times the total.
///
/// # Errors
/// The numbers or sums are invalid for [`assign`], the lists are of different length, or the device
/// fails.
pub(crate) fn sample(state: &CudaState, uniforms: &[f64], indices: &mut [u64]) -> Result<()> {
    if uniforms.len() != indices.len() {
        return Err(Error::new(format!(
            "{} numbers for {} samples",
            uniforms.len(),
            indices.len()
        )));
    }
    if uniforms.is_empty() {
        return Ok(());
    }
    let chunk_log2 = CHUNK_LOG2.min(state.n_qubits());
    let sums = norms(state, chunk_log2)?;
    for (uniforms, indices) in uniforms.chunks(SHOTS).zip(indices.chunks_mut(SHOTS)) {
        pick(state, chunk_log2, &assign(&sums, uniforms)?, indices)?;
    }
    Ok(())
}

/// Computes the sum of |amplitude|^2 over each chunk.
fn norms(state: &CudaState, chunk_log2: u32) -> Result<Vec<f64>> {
    let chunks = state.count() >> chunk_log2;
    let sums = Buffer::<f64>::new(state.driver(), chunks as usize)?;
    let grid = blocks(&**state.driver(), chunks, 1);
    let args = [
        Arg::At(state.address()),
        Arg::U64(state.count()),
        Arg::U32(chunk_log2),
        Arg::At(sums.address()),
    ];
    let what = LaunchConfig {
        kernel: KernelId::Named("norms"),
        precision: state.precision(),
        grid,
        block: BLOCK,
        shared_bytes: SHARED,
    };
    // SAFETY: the state has `count` amplitudes, and the sums are one a chunk.
    unsafe { launch(&**state.driver(), what, &args) }?;
    let mut out = vec![0.0; sums.len()];
    sums.read(0, &mut out)?;
    Ok(out)
}

/// Finds the index of each shot inside its chunk.
fn pick(state: &CudaState, chunk_log2: u32, picks: &ChunkShots, indices: &mut [u64]) -> Result<()> {
    let mut packed = Packed::default();
    let chunk = packed.push(&picks.chunk);
    let residual = packed.push(&picks.residual);
    let first = packed.push(&picks.first);
    let packed = packed.upload(state.driver())?;
    let found = Buffer::<u64>::new(state.driver(), indices.len())?;
    // No more chunks than shots, of which there are at most 2^24.
    let chunks = picks.chunk.len() as u32;
    let args = [
        Arg::At(state.address()),
        Arg::U32(chunk_log2),
        Arg::At(packed.address() + chunk),
        Arg::At(packed.address() + first),
        Arg::U32(chunks),
        Arg::At(packed.address() + residual),
        Arg::At(found.address()),
    ];
    let what = LaunchConfig {
        kernel: KernelId::Named("pick"),
        precision: state.precision(),
        grid: chunks,
        block: BLOCK,
        shared_bytes: SHARED,
    };
    // SAFETY: every chunk is one of the state; there are a residual and room for an index for each
    // shot.
    unsafe { launch(&**state.driver(), what, &args) }?;
    found.read(0, indices)
}

#[cfg(test)]
mod tests {
    use ketgrad_plugin_sdk::{C64, Precision};

    use super::*;
    use crate::testing::{amplitudes, devices, state};

    #[test]
    fn shots_meet_their_chunks_in_one_walk() {
        let picks =
            assign(&[0.25, 0.0, 0.5, 0.25, 0.0], &[0.0, 0.2, 0.25, 0.5, 0.75, 0.9]).unwrap();
        assert_eq!(picks.chunk, [0, 2, 3]);
        assert_eq!(picks.first, [0, 2, 4, 6]);
        assert_eq!(picks.residual, [0.0, 0.2, 0.0, 0.25, 0.0, 0.9 - 0.75]);
    }

    #[test]
    fn the_norm_need_not_be_one() {
        let picks = assign(&[1.0, 3.0], &[0.125, 0.25, 0.5]).unwrap();
        assert_eq!((&picks.chunk[..], &picks.first[..]), (&[0, 1][..], &[0, 1, 3][..]));
        assert_eq!(picks.residual, [0.5, 0.0, 1.0]);
    }

    #[test]
    fn rounding_ends_in_the_last_chunk_that_can_occur() {
        let almost = 1.0f64.next_down();
        // The total rounds up, and so does the product: no prefix exceeds it.
        let sums = [0.1, 0.2, 0.3, 0.0, 0.0];
        assert_eq!(assign(&sums, &[almost]).unwrap().chunk, [2]);
        assert_eq!(assign(&[0.0, 0.0, 1.0], &[0.0]).unwrap().chunk, [2]);
    }

    #[test]
    fn what_cannot_be_sampled_is_refused() {
        for sums in [&[0.0, 0.0][..], &[f64::NAN, 1.0], &[f64::INFINITY], &[]] {
            assert!(assign(sums, &[0.5]).is_err(), "{sums:?}");
        }
        for uniforms in [&[0.5, 0.25][..], &[1.0], &[-0.1], &[f64::NAN]] {
            assert!(assign(&[1.0], uniforms).is_err(), "{uniforms:?}");
        }
    }

    /// The probabilities of a state whose every third amplitude is zero, as the numbers of a
    /// precision.
    fn sparse(n_qubits: u32, precision: Precision) -> Vec<C64> {
        let kept = |(i, a): (usize, C64)| if i % 3 == 0 { C64::new(0.0, 0.0) } else { a };
        let rounded = |a: C64| match precision {
            Precision::Double => a,
            Precision::Single => C64::new(f64::from(a.re as f32), f64::from(a.im as f32)),
        };
        amplitudes(n_qubits, 7).into_iter().enumerate().map(kept).map(rounded).collect()
    }

    #[test]
    fn samples_are_those_of_the_cumulative_sum() {
        for device in devices() {
            for (n, precision) in [
                (0, Precision::Double),
                (5, Precision::Double),
                (13, Precision::Double),
                (14, Precision::Single),
            ] {
                let amplitudes = if n == 0 { vec![C64::i()] } else { sparse(n, precision) };
                let on = state(&device, precision, &amplitudes);
                let uniforms: Vec<f64> = (0..1000).map(|k| f64::from(k) / 1000.0).collect();
                let mut indices = vec![u64::MAX; uniforms.len()];
                sample(&on, &uniforms, &mut indices).unwrap();
                let total: f64 = amplitudes.iter().map(C64::norm_sqr).sum();
                let mut until = 0.0;
                let cumulative: Vec<f64> = amplitudes
                    .iter()
                    .map(|a| {
                        until += a.norm_sqr();
                        until / total
                    })
                    .collect();
                for (u, index) in uniforms.iter().zip(&indices) {
                    let i = *index as usize;
                    let before = if i == 0 { 0.0 } else { cumulative[i - 1] };
                    assert!(
                        amplitudes[i].norm_sqr() > 0.0,
                        "{n} qubits, {u}: index {i} cannot occur"
                    );
                    // The sums are added in another order: an edge may move by rounding.
                    assert!(
                        before <= u + 1e-12 && *u < cumulative[i] + 1e-12,
                        "{n} qubits, {u}: {i}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_basis_state_gives_its_index_to_the_last_shot() {
        for device in devices() {
            for (n, index) in [(3, 5), (13, 0), (13, 8191), (14, 4096)] {
                let mut on = CudaState::zeros(&device, Precision::Single, n).unwrap();
                on.basis(index).unwrap();
                let mut indices = [0; 3];
                sample(&on, &[0.0, 0.5, 1.0f64.next_down()], &mut indices).unwrap();
                assert_eq!(indices, [index; 3]);
            }
        }
    }

    #[test]
    fn a_state_of_zeros_and_lists_of_different_length_are_refused() {
        let device = &devices()[0];
        let zeros = CudaState::zeros(device, Precision::Double, 2).unwrap();
        let said = |uniforms: &[f64], n| {
            sample(&zeros, uniforms, &mut vec![0; n]).unwrap_err().to_string()
        };
        assert_eq!(said(&[0.5], 1), "a state of squared norm 0 cannot be sampled");
        assert_eq!(said(&[0.5], 2), "1 numbers for 2 samples");
    }
}
