//! The computing part of `run`: one circuit with its values, from binding to results.
//!
//! A static circuit (measurements only at its end) has one final state, from which everything is
//! taken. Any other circuit is run shot by shot along trajectories: counts and means are over the
//! shots, and the state asked for is that of the first shot.

use ketgrad_core::{
    circuit::Circuit,
    kernel::{Executor, Operator},
    param::Values,
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::StateVector,
};
use num_complex::Complex;

use super::answer::{Expectation, Point};
use crate::{
    npy::Number,
    observables::Named,
    options::{Common, DEFAULT_SHOTS, Run},
    params::Points,
    progress::Progress,
    report::Failure,
};

/// All that the runs of a sweep share.
pub(super) struct Task<'a> {
    pub(super) args: &'a Run,
    pub(super) common: &'a Common,
    pub(super) circuit: &'a Circuit,
    pub(super) simulator: Simulator,
    pub(super) observables: &'a [Named],
    pub(super) progress: Progress,
    /// The backend that ran last.
    pub(super) backend: String,
}

impl Task<'_> {
    /// Computes one run, from |0…0> or a given state.
    pub(super) fn point<T: Number>(
        &mut self,
        points: &Points,
        row: usize,
        state: Option<StateVector<Complex<T>>>,
    ) -> Result<Point<T>, Failure> {
        let circuit = points.circuit(self.circuit, row)?;
        let values = circuit.param_values::<T>(&[]).map_err(Failure::input)?;
        let bound = BoundCircuit::<Complex<T>>::new(&circuit, &Values(&values)).map_err(Failure::input)?;
        let gates = bound.operators().map_or(circuit.instructions().len(), <[_]>::len);
        let executor: &dyn Executor<Complex<T>> = self.simulator.executors.best(circuit.n_qubits(), gates);
        executor.name().clone_into(&mut self.backend);
        let keep = self.args.keeps_state();
        match bound.operators() {
            Some(operators) => {
                let state = match state {
                    Some(state) => state,
                    None => StateVector::zero(circuit.n_qubits()).map_err(Failure::input)?,
                };
                let share = (row, points.len());
                self.one_state(&circuit, operators, state, share, keep).map_err(Failure::input)
            }
            None => self.many_trajectories(&circuit, bound, state, keep).map_err(Failure::input),
        }
    }

    fn one_state<T: Number>(
        &mut self,
        circuit: &Circuit,
        operators: &[Operator<Complex<T>>],
        mut state: StateVector<Complex<T>>,
        (row, rows): (usize, usize),
        keep: bool,
    ) -> Result<Point<T>, SimulateError> {
        let (before, all) = ((row * operators.len()) as u64, (rows * operators.len()) as u64);
        let progress = &mut self.progress;
        let mut report = |done, _| progress.report(before + done as u64, all);
        self.simulator.execute(operators, &mut state, &mut report)?;

        let threads = &self.simulator.threads;
        let expectation = |o: &Named| {
            let value = state.expectation(&o.sum, threads)?;
            Ok(Expectation { value, stderr: None })
        };
        let expectations = self.observables.iter().map(expectation).collect::<Result<_, SimulateError>>()?;
        let counts = match self.args.shots {
            Some(shots) => {
                let shots = usize::try_from(shots).unwrap_or(usize::MAX);
                Some(self.simulator.counts(circuit, &state, shots, self.common.seed)?)
            }
            None => None,
        };
        Ok(Point { counts, expectations, state: keep.then_some(state) })
    }

    fn many_trajectories<T: Number>(
        &self,
        circuit: &Circuit,
        mut bound: BoundCircuit<Complex<T>>,
        start: Option<StateVector<Complex<T>>>,
        keep: bool,
    ) -> Result<Point<T>, SimulateError> {
        if let Some(state) = &start {
            bound = bound.starting_from(state.clone())?;
        }
        let bound = &bound;
        let seed = self.common.seed;
        let shots = usize::try_from(self.args.shots.unwrap_or(DEFAULT_SHOTS)).unwrap_or(usize::MAX);
        let mut point = Point { counts: None, expectations: Vec::new(), state: None };
        if self.args.shots.is_some() {
            // A circuit that resets but measures nothing has all its qubits measured.
            let all = if circuit.has_measurements() { None } else { Some(measuring_all(circuit, start)?) };
            let (circuit, bound) = all.as_ref().map_or((circuit, bound), |(c, b)| (c, b));
            let counts = self.simulator.trajectory_counts(bound, shots, seed)?;
            point.counts =
                Some(counts.into_iter().map(|(bits, count)| (bits.text(circuit), count)).collect());
        }
        if !self.observables.is_empty() {
            let sums: Vec<_> = self.observables.iter().map(|o| o.sum.clone()).collect();
            let means = self.simulator.trajectory_expectations(bound, &sums, shots, seed)?;
            point.expectations = means
                .into_iter()
                .map(|m| Expectation { value: T::lit(m.value), stderr: m.stderr.map(T::lit) })
                .collect();
        }
        if keep {
            let states = self.simulator.trajectories(bound, 1, seed, |t| Ok(t.state.clone()))?;
            point.state = states.into_iter().next().map(|(_, state)| state);
        }
        Ok(point)
    }
}

/// The circuit with a measurement of every qubit at its end, from the given state.
fn measuring_all<T: Number>(
    circuit: &Circuit,
    start: Option<StateVector<Complex<T>>>,
) -> Result<(Circuit, BoundCircuit<Complex<T>>), SimulateError> {
    let mut measured = circuit.clone();
    measured.measure_all()?;
    let bound = BoundCircuit::new(&measured, &Values::<T>(&[]))?;
    let bound = match start {
        Some(state) => bound.starting_from(state)?,
        None => bound,
    };
    Ok((measured, bound))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{args::Precision, observables, terminal::Terminal};

    /// Measures in the middle and goes on.
    #[test]
    fn trajectories_give_counts_means_and_the_first_state() {
        let mut circuit = Circuit::new(2);
        circuit.add_register("c", 2).unwrap();
        circuit.h(0).unwrap().measure(0, 0).unwrap().cx(0, 1).unwrap().h(0).unwrap();
        circuit.measure(1, 1).unwrap();
        let args = Run {
            file: "-".into(),
            shots: Some(400),
            observables: Vec::new(),
            amplitudes: true,
            probabilities: false,
            input: None,
            output: None,
            values: crate::args::ValueArgs::default(),
        };
        let common = Common {
            threads: 1,
            precision: Precision::F64,
            seed: 1,
            quiet: true,
            memory_limit: None,
            max_steps: 0,
            max_gates: 0,
            json: false,
            allow_nonfinite: false,
        };
        let observables = [observables::read("Z1", 2).unwrap()];
        let mut task = Task {
            args: &args,
            common: &common,
            circuit: &circuit,
            simulator: Simulator::new(),
            observables: &observables,
            progress: Progress::new(&Terminal::new(true)),
            backend: String::new(),
        };
        let points = Points::read(&circuit, &crate::args::ValueArgs::default()).unwrap();
        let point = task.point::<f64>(&points, 0, None).unwrap();
        let counts = point.counts.unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["00", "11"]);
        assert_eq!(counts.values().sum::<u64>(), 400);
        let mean = (counts["00"] as f64 - counts["11"] as f64) / 400.0;
        assert!((point.expectations[0].value - mean).abs() < 1e-12);
        let error = point.expectations[0].stderr.unwrap();
        assert!((error - ((1.0 - mean * mean) / 399.0).sqrt()).abs() < 1e-12);
        assert_eq!(point.state.unwrap().n_qubits(), 2);
        // From |10> qubit 1 ends where CX takes it, the other way round.
        let start = StateVector::basis(2, 0b10).unwrap();
        let counts = task.point::<f64>(&points, 0, Some(start)).unwrap().counts.unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["01", "10"]);
    }
}
