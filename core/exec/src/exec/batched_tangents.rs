//! Several tangents or cotangents at one point, side by side.
//!
//! Code runs once for [`TANGENT_LANES`] of them, on [`Lanes`]: each instruction is fetched once,
//! and its arithmetic is a loop over lanes. All lanes are at the same point, so they take the same
//! path, and each has the result that it has alone; only products of matrices of floats are summed
//! in another order. For programs on numbers and small arrays, on `f64`: fetching and dispatching
//! instructions is most of their time.

use std::{any::Any, ops::Range};

use crate::scalar::{Lanes, Scalar};

use super::{
    Bytecode, Executable, Limits, Machine, NoHost, RunError,
    batch::{pack, unpack},
    data::Datum,
    host_with_constants::{BoundConstants, HostWithConstants},
    machine::RecordedTapes,
};

/// Number of tangents that run at once.
pub(super) const TANGENT_LANES: usize = 8;
/// Number of tangents below which they run one after the other.
pub(super) const MIN_BATCH: usize = 4;
/// Maximum number of bytes that a single run works with: with more, the data that all lanes read
/// leave the cache.
pub(super) const MAX_BATCHED_BYTES: usize = 1 << 20;

type TangentLanes = Lanes<f64, TANGENT_LANES>;

/// The memory of such runs, and constants and tapes as they need them.
pub(super) struct BatchedTangents {
    machine: Machine<TangentLanes>,
    constants: Option<BoundConstants<TangentLanes>>,
    tapes: RecordedTapes<TangentLanes>,
}

impl BatchedTangents {
    /// Creates the memory beside a machine for single runs, with its token.
    pub(super) fn new<S: Scalar>(beside: &Machine<S>) -> BatchedTangents {
        let mut machine = beside.another();
        let tapes = machine.take_tapes();
        BatchedTangents { machine, constants: None, tapes }
    }

    /// Makes these the tapes of all lanes; false if they must be read by one after the other.
    pub(super) fn load_tapes<S: Scalar>(&mut self, tapes: &RecordedTapes<S>) -> bool {
        let floats = (tapes as &dyn Any).downcast_ref::<RecordedTapes<f64>>();
        floats.is_some_and(|tapes| tapes.broadcast_to_lanes(MAX_BATCHED_BYTES, &mut self.tapes))
    }

    /// Forgets the constants.
    pub(super) fn forget(&mut self) {
        self.constants = None;
    }

    /// Runs code for the same first arguments and each set of last ones, of which there are at most
    /// [`TANGENT_LANES`], with the tapes [taken](BatchedTangents::load_tapes) if it reads any.
    /// Returns `None` if the sets must run, or had better run, one after the other: also if one of
    /// them fails.
    pub(super) fn run<S: Scalar>(
        &mut self,
        code: &Bytecode,
        reads: bool,
        constants: &BoundConstants<S>,
        limits: &Limits,
        args: &[Datum<S>],
        sets: &[Vec<Datum<S>>],
    ) -> Option<Vec<Datum<S>>> {
        #[cfg(feature = "jit")]
        if code.is_jit() {
            return None;
        }
        let first = sets.first().filter(|_| (MIN_BATCH..=TANGENT_LANES).contains(&sets.len()))?;
        let BatchedTangents { machine, constants: held, tapes } = self;
        if held.is_none() {
            let wide =
                constants.iter().map(|(name, value)| Some((name.clone(), broadcast_lanes(value)?)));
            *held = Some(wide.collect::<Option<_>>()?);
        }
        let mut all = args.iter().map(broadcast_lanes).collect::<Option<Vec<_>>>()?;
        for k in 0..first.len() {
            let lane = |lane: usize| floats(&sets.get(lane).unwrap_or(first)[k]);
            let lanes = (0..TANGENT_LANES).map(lane).collect::<Option<Vec<_>>>()?;
            all.push(pack(&|lane| lanes[lane]));
        }
        if reads {
            machine.put_tapes(tapes);
        }
        let host = HostWithConstants { host: &NoHost, constants: held.as_ref()? };
        let result: Result<Datum<TangentLanes>, RunError> = code.call(machine, &host, limits, &all);
        let result = result.ok()?;
        let lanes = (0..sets.len()).map(|lane| {
            let one: Box<dyn Any> = Box::new(unpack(&result, lane));
            one.downcast::<Datum<S>>().ok().map(|one| *one)
        });
        lanes.collect()
    }
}

/// Splits `0..n` into batches that may run at once. The first batch is `0..1` if `alone`: if there
/// is no code yet, or the memory it takes is not known.
pub(super) fn batches(n: usize, alone: bool) -> impl Iterator<Item = Range<usize>> {
    let first = usize::from(alone && n > 0);
    let rest = (first..n).step_by(TANGENT_LANES).map(move |from| from..n.min(from + TANGENT_LANES));
    (first > 0).then_some(0..1).into_iter().chain(rest)
}

/// Returns a value of floats as one of `f64`.
fn floats<S: Scalar>(value: &Datum<S>) -> Option<&Datum<f64>> {
    (value as &dyn Any).downcast_ref()
}

/// Returns the value with the same numbers in all lanes.
fn broadcast_lanes<S: Scalar>(value: &Datum<S>) -> Option<Datum<TangentLanes>> {
    let value = floats(value)?;
    Some(pack(&|_| value))
}
