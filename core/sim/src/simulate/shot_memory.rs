//! Outcomes of shots in their order.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use num_complex::Complex;

use super::{
    Bits, SimulateError, Simulator, constants, final_measurements, program::BoundCircuit,
    trajectory::lock, with_results,
};
use crate::{
    basis::bitstring,
    circuit::{Circuit, Compact},
    param::Values,
    scalar::{Real, Scalar},
    state::StateError,
};

/// Outcomes of shots in their order. Memory: the different outcomes, and 4 bytes a shot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShotMemory<K> {
    /// Ascending; each occurs.
    outcomes: Vec<K>,
    /// Position of the outcome of each shot.
    shots: Vec<u32>,
}

impl<K: Ord> ShotMemory<K> {
    /// Returns the memory of these outcomes, one a shot. O(shots log(outcomes)).
    ///
    /// ```
    /// use ketgrad_core::simulate::ShotMemory;
    /// let memory = ShotMemory::new(["11", "00", "11"])?;
    /// assert_eq!(memory.counts().collect::<Vec<_>>(), [(&"00", 1), (&"11", 2)]);
    /// assert_eq!(memory.iter().collect::<Vec<_>>(), [&"11", &"00", &"11"]);
    /// # Ok::<(), ketgrad_core::state::StateError>(())
    /// ```
    ///
    /// # Errors
    /// [`StateError::Shots`] for more different outcomes than 32 bits count, or too little memory.
    pub fn new(outcomes: impl IntoIterator<Item = K>) -> Result<ShotMemory<K>, StateError> {
        let mut builder = MemoryBuilder { numbers: BTreeMap::new(), shots: Vec::new() };
        for outcome in outcomes {
            builder.shots.try_reserve(1).map_err(|_| builder.too_many())?;
            let number = builder.number_of(outcome)?;
            builder.shots.push(number);
        }
        Ok(builder.finish())
    }

    /// Returns the memory with other names of outcomes; those of one name become one.
    #[must_use]
    pub fn map<L: Ord>(&self, name: impl FnMut(&K) -> L) -> ShotMemory<L> {
        let mut builder = MemoryBuilder { numbers: BTreeMap::new(), shots: Vec::new() };
        let names = self.outcomes.iter().map(name);
        // There are no more names than outcomes.
        let numbers: Vec<u32> =
            names.map(|name| builder.number_of(name).unwrap_or_default()).collect();
        builder.shots.extend(self.shots.iter().map(|&shot| numbers[shot as usize]));
        builder.finish()
    }
}

impl<K> ShotMemory<K> {
    /// The number of shots.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shots.len()
    }

    /// Returns true if there are no shots.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shots.is_empty()
    }

    /// The different outcomes, ascending.
    #[must_use]
    pub fn outcomes(&self) -> &[K] {
        &self.outcomes
    }

    /// The outcome of each shot, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &K> + Clone {
        self.shots.iter().map(|&shot| &self.outcomes[shot as usize])
    }

    /// The number of shots of each different outcome, ascending. O(shots).
    pub fn counts(&self) -> impl ExactSizeIterator<Item = (&K, u64)> {
        let mut counts = vec![0u64; self.outcomes.len()];
        self.shots.iter().for_each(|&shot| counts[shot as usize] += 1);
        self.outcomes.iter().zip(counts)
    }
}

/// A memory that grows: outcomes have numbers in the order in which they come.
struct MemoryBuilder<K> {
    numbers: BTreeMap<K, u32>,
    shots: Vec<u32>,
}

impl<K: Ord> MemoryBuilder<K> {
    fn too_many(&self) -> StateError {
        StateError::Shots { shots: self.shots.len() }
    }

    fn number_of(&mut self, outcome: K) -> Result<u32, StateError> {
        if let Some(number) = self.numbers.get(&outcome) {
            return Ok(*number);
        }
        let number = u32::try_from(self.numbers.len()).map_err(|_| self.too_many())?;
        self.numbers.insert(outcome, number);
        Ok(number)
    }

    /// Orders the outcomes.
    fn finish(self) -> ShotMemory<K> {
        let MemoryBuilder { numbers, mut shots } = self;
        let mut places = vec![0u32; numbers.len()];
        let mut outcomes = Vec::with_capacity(numbers.len());
        for (place, (outcome, number)) in (0..).zip(numbers) {
            places[number as usize] = place;
            outcomes.push(outcome);
        }
        shots.iter_mut().for_each(|shot| *shot = places[*shot as usize]);
        ShotMemory { outcomes, shots }
    }
}

impl Simulator {
    /// Runs a circuit for `shots` shots, as [`Simulator::run_shots`] does with the same seed, and
    /// returns their outcomes in order.
    ///
    /// # Errors
    /// Those of [`Simulator::run_shots`].
    pub fn run_memory<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        shots: usize,
        seed: u64,
    ) -> Result<ShotMemory<String>, SimulateError> {
        type RunMemoryFn<T> =
            fn(&Simulator, &Circuit, &[T], usize, u64) -> Result<ShotMemory<String>, SimulateError>;
        compiled!(T: RunMemoryFn = [f32, f64] Simulator::run_memory_any)(
            self, circuit, inputs, shots, seed,
        )
    }

    fn run_memory_any<T: Real>(
        &self,
        circuit: &Circuit,
        inputs: &[T],
        shots: usize,
        seed: u64,
    ) -> Result<ShotMemory<String>, SimulateError> {
        let values = circuit.param_values(inputs)?;
        let lean = circuit.lean();
        let circuit = lean.as_ref().map_or(circuit, Compact::circuit);
        let bound = BoundCircuit::<Complex<T>>::new(circuit, &Values(&values))?;
        if let Some(operators) = bound.operators() {
            let state = self.placed(circuit.n_qubits(), operators)?;
            let ends = state.sample(shots, seed, &self.threads, &mut |_, _| {})?;
            let ends = ShotMemory::new(ends)?;
            let n_qubits = circuit.n_qubits();
            return Ok(match (FinalReadout::new(circuit)?, &lean) {
                (Some(readout), _) => ends.map(|&end| readout.bits(end).text(circuit)),
                (None, Some(compact)) => ends.map(|&end| compact.bitstring(end)),
                (None, None) => ends.map(|&end| bitstring(end, n_qubits)),
            });
        }
        let (circuit, bound) = with_results(circuit, lean.as_ref(), bound, &values)?;
        Ok(self.trajectory_memory(&bound, shots, seed)?.map(|bits| bits.text(&circuit)))
    }

    /// Returns the outcomes that [`Simulator::trajectory_counts`] counts in the order of the shots.
    ///
    /// # Errors
    /// Those of [`Simulator::trajectory_counts`].
    pub fn trajectory_memory<T: Real, S: Scalar<Real = T>>(
        &self,
        circuit: &BoundCircuit<S>,
        shots: usize,
        seed: u64,
    ) -> Result<ShotMemory<Bits>, SimulateError> {
        let mut all = Vec::new();
        all.try_reserve_exact(shots).map_err(|_| StateError::Shots { shots })?;
        all.resize(shots, 0);
        let builder = Mutex::new(MemoryBuilder { numbers: BTreeMap::new(), shots: all });
        self.for_each_outcome(circuit, shots, seed, &|bits, shots| {
            let mut builder = lock(&builder);
            let number = builder.number_of(bits)?;
            shots.iter().for_each(|&shot| builder.shots[shot] = number);
            self.check_outcomes(circuit.n_bits, builder.numbers.len())
        })?;
        let builder = builder.into_inner().unwrap_or_else(PoisonError::into_inner);
        Ok(builder.finish())
    }
}

/// Classical bits after the final measurements of a static circuit.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct FinalReadout {
    constant: Bits,
    finals: BTreeMap<u32, u32>,
}

impl FinalReadout {
    /// Returns `None` for a circuit without results.
    ///
    /// # Errors
    /// [`SimulateError::Dynamic`] for a circuit that is not static.
    pub fn new(circuit: &Circuit) -> Result<Option<FinalReadout>, SimulateError> {
        let finals = final_measurements(circuit)?;
        if !circuit.has_results() {
            return Ok(None);
        }
        let mut constant = Bits::zero(circuit.n_bits());
        constants(circuit).into_iter().for_each(|(bit, value)| constant.set(bit, value));
        Ok(Some(FinalReadout { constant, finals }))
    }

    /// Returns the bits where the measurements find a basis state.
    #[must_use]
    pub fn bits(&self, index: usize) -> Bits {
        let mut bits = self.constant.clone();
        for (&bit, &qubit) in &self.finals {
            bits.set(bit, index >> qubit & 1 == 1);
        }
        bits
    }
}
