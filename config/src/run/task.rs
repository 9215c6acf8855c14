//! The computing part of `run`: one circuit with its values, from binding to results.
//!
//! A static circuit (measurements only at its end) has one final state, from which everything is
//! taken. Any other circuit is run shot by shot along trajectories: counts and means are over the
//! shots, and the state asked for is that of the first shot.

use std::{
    borrow::Cow,
    sync::{Mutex, PoisonError},
};

use ketgrad_core::{
    circuit::{Circuit, Compact},
    classical::MemoryLayout,
    kernel::{Executor, Operator, PreparedOperators, SERIAL_BELOW, StateHint, Threads},
    observable::PauliSum,
    param::Values,
    simulate::{
        Bits, BoundCircuit, FinalReadout, ShotMemory, SimulateError, Simulator, StateHandle,
    },
    state::{StateError, StateVector},
};
use num_complex::Complex;

use super::{
    answer::{Expectation, RunResult},
    marginal::Marginal,
    outputs::OutputSpec,
    shot_outcomes::ShotOutcomes,
};
use crate::{
    npy::Number,
    observables::Parametric,
    options::{Common, DEFAULT_SHOTS, Run},
    params::Points,
    progress::Progress,
    report::Failure,
};

/// The most outcomes of a distribution that counts are drawn from.
const MOST_OUTCOMES: usize = 1 << 20;

/// All that the runs of a sweep share.
pub(super) struct SweepTask<'a> {
    pub(super) args: &'a Run,
    pub(super) common: &'a Common,
    /// The circuit.
    pub(super) whole: &'a Circuit,
    /// The circuit on the qubits that it uses.
    pub(super) compact: &'a Compact,
    pub(super) simulator: Simulator,
    pub(super) observables: &'a [Parametric],
    /// The observables on the qubits that the circuit uses, if they have no parameters.
    pub(super) constant: Option<Vec<PauliSum>>,
    /// The outputs that are asked for.
    pub(super) outputs: &'a [OutputSpec],
    /// True if density matrices run the circuit.
    pub(super) density: bool,
    /// The qubits that counts and probabilities are of, if not of all.
    pub(super) marginal: Option<&'a Marginal>,
    pub(super) progress: Mutex<Progress>,
}

/// A circuit with the measurements that are asked for, and bound.
type Measured<T> = (Circuit, BoundCircuit<Complex<T>>);

/// The plan that the runs of a sweep share, once there is one.
type Plan<T> = Option<Box<dyn PreparedOperators<Complex<T>>>>;

impl SweepTask<'_> {
    /// Computes all runs, each from |0…0> or a given state; with the name of the backend. Small
    /// states share the threads among runs.
    pub(super) fn points<T: Number>(
        &self,
        points: &Points,
        start: Option<StateVector<Complex<T>>>,
    ) -> Result<(Vec<RunResult<T>>, String), Failure> {
        let rows = points.len();
        let (Simulator { threads, .. }, mut start) = (&self.simulator, start);
        let runs: Vec<(RunResult<T>, String)> =
            if rows > 1 && 1usize << self.compact.circuit().n_qubits() < SERIAL_BELOW {
                let one = self.simulator.clone().with_threads(self.simulator.threads.to_serial());
                let run = |row| self.point(&one, points, row, start.clone(), &mut None);
                threads.map(rows, run).into_iter().collect::<Result<_, _>>()?
            } else {
                let mut plan = None;
                let mut run = |row| {
                    let state = if row + 1 == rows { start.take() } else { start.clone() };
                    self.point(&self.simulator, points, row, state, &mut plan)
                };
                (0..rows).map(&mut run).collect::<Result<_, _>>()?
            };
        let backend = runs.last().map(|run| run.1.clone()).unwrap_or_default();
        Ok((runs.into_iter().map(|run| run.0).collect(), backend))
    }

    /// Returns the observables of a run, on the qubits that the circuit uses.
    pub(super) fn observables(
        &self,
        points: &Points,
        row: usize,
    ) -> Result<Cow<'_, [PauliSum]>, Failure> {
        if let Some(constant) = &self.constant {
            return Ok(Cow::Borrowed(constant));
        }
        let mut observables = points.observables(self.observables, row)?;
        for observable in &mut observables {
            *observable = self.compact.observable(observable).map_err(Failure::input)?;
        }
        Ok(Cow::Owned(observables))
    }

    fn point<T: Number>(
        &self,
        simulator: &Simulator,
        points: &Points,
        row: usize,
        state: Option<StateVector<Complex<T>>>,
        plan: &mut Plan<T>,
    ) -> Result<(RunResult<T>, String), Failure> {
        let circuit = points.circuit(self.compact.circuit(), row)?;
        let observables = &*self.observables(points, row)?;
        let values = circuit.param_values::<T>(&[]).map_err(Failure::input)?;
        let bound =
            BoundCircuit::<Complex<T>>::new(&circuit, &Values(&values)).map_err(Failure::input)?;
        let gates = bound.operators().map_or(circuit.instructions().len(), <[_]>::len);
        let executor: &dyn Executor<Complex<T>> =
            simulator.executors.best(circuit.n_qubits(), gates);
        let keep = self.args.keeps_state();
        let in_use = || simulator.executors.in_use::<Complex<T>>(circuit.n_qubits(), gates);
        let Some(operators) = bound.gates_before_readout() else {
            if self.marginal.is_some() && self.args.shots.is_some() && circuit.has_readout_errors()
            {
                let message = "--qubits: readings of this circuit may be wrong, and qubits are not read at its end";
                return Err(Failure::input(message)
                    .help("leave out --qubits: the counts are those of the classical registers"));
            }
            let point = if self.density {
                self.density_matrices(simulator, &circuit, bound, state, observables)
            } else {
                self.many_trajectories(simulator, &circuit, bound, state, (keep, observables))
            };
            let point = point.map_err(|error| match error {
                SimulateError::Endless { .. } => {
                    Failure::input(error).help("--max-steps allows more iterations")
                }
                SimulateError::State(StateError::Memory { .. })
                | SimulateError::Branches { .. }
                    if self.density =>
                {
                    Failure::input(error).help("--method trajectories takes state vectors")
                }
                error => Failure::input(error),
            });
            return Ok((point?, in_use()));
        };
        let from = if state.is_some() { StateHint::Arbitrary } else { StateHint::StartsAtZero };
        // Shots that may be read wrongly are run by themselves.
        let shots = match bound.is_static() || self.args.shots.is_none() {
            true => None,
            false => Some(match &state {
                Some(state) => {
                    bound.clone().starting_from(state.clone()).map_err(Failure::input)?
                }
                None => bound.clone(),
            }),
        };
        let placed = match state {
            Some(state) => simulator.upload(state, operators),
            None => simulator.zero(circuit.n_qubits(), operators),
        };
        let mut state = placed.map_err(Failure::input)?;
        match plan {
            Some(plan) => plan.bind(operators),
            None if points.len() > 1 => {
                *plan = executor.prepare(circuit.n_qubits(), operators, from)
            }
            None => {}
        }
        let share = (row * gates, points.len() * gates);
        self.evolve(simulator, operators, &mut state, plan, share).map_err(Failure::input)?;
        let alone = points.len() == 1;
        let point = self.read_out(simulator, state, (keep, observables), alone && shots.is_none());
        let mut point = point.map_err(Failure::input)?;
        if let Some(bound) = shots {
            let drawn = self.draw_shots(simulator, &bound).map_err(Failure::input)?;
            match self.marginal {
                Some(marginal) => set_counts(&mut point, drawn.map(marginal.reader(self.whole)?)),
                None => self.set_outcomes(&mut point, &circuit, &drawn),
            }
        }
        Ok((point, in_use()))
    }

    /// Applies the gates of a run, which come after `before` of all.
    fn evolve<T: Number>(
        &self,
        simulator: &Simulator,
        operators: &[Operator<Complex<T>>],
        state: &mut StateHandle<T>,
        plan: &Plan<T>,
        (before, all): (usize, usize),
    ) -> Result<(), SimulateError> {
        let mut report = |done, _| {
            let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
            progress.report((before + done) as u64, all as u64);
        };
        let (Some(plan), StateHandle::Host(state)) = (plan, &mut *state) else {
            return simulator.evolve(operators, state, &mut report);
        };
        plan.run(state.amplitudes_mut(), &simulator.threads)?;
        report(operators.len(), operators.len());
        Ok(())
    }

    /// Reads the requested results from a final state. Shots are reported only where there are no
    /// further runs, which would go on with gates.
    fn read_out<T: Number>(
        &self,
        simulator: &Simulator,
        state: StateHandle<T>,
        (keep, observables): (bool, &[PauliSum]),
        alone: bool,
    ) -> Result<RunResult<T>, SimulateError> {
        let expectation = |o: &PauliSum| {
            let value = state.expectation(o, &simulator.threads)?;
            Ok(Expectation { value, stderr: None })
        };
        let expectations =
            observables.iter().map(expectation).collect::<Result<_, SimulateError>>()?;
        let mut point = RunResult { expectations, ..RunResult::new() };
        if let Some(shots) = self.args.shots
            // These are read one by one.
            && !self.compact.circuit().has_readout_errors()
        {
            let mut report = |done, all| {
                if alone {
                    let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
                    progress.count_in("shots");
                    progress.report(done as u64, all as u64);
                }
            };
            self.sample_state(simulator, &state, shots, &mut report, &mut point)?;
        }
        let marginal = self.marginal.filter(|_| self.args.probabilities);
        let scatters = self.args.variance || self.args.covariance;
        if !(keep || scatters || marginal.is_some()) {
            return Ok(point);
        }
        let threads = &simulator.threads;
        let state = state.into_state(threads)?;
        if self.args.variance {
            let variance = |o: &PauliSum| state.variance(o, threads);
            point.variances = observables.iter().map(variance).collect::<Result<_, _>>()?;
        }
        if self.args.covariance {
            point.covariances = covariances(observables, |a, b| state.covariance(a, b, threads))?;
        }
        point.diagonal = marginal.map(|marginal| marginal.of_state(&state, threads)).transpose()?;
        point.state = keep.then_some(state);
        Ok(point)
    }

    /// Returns the circuit with the measurements that counts are of, where it has others, or none.
    fn measured<T: Number>(
        &self,
        circuit: &Circuit,
        start: Option<StateVector<Complex<T>>>,
    ) -> Result<Option<Measured<T>>, SimulateError> {
        let measured = match self.marginal {
            Some(marginal) => self.compact.measuring(circuit, marginal.qubits().iter().copied())?,
            // A circuit that keeps no result has all its qubits measured.
            None if circuit.has_results() => return Ok(None),
            None => self.compact.measuring_all(circuit)?,
        };
        let bound = BoundCircuit::new(&measured, &Values::<T>(&[]))?;
        let bound = match start {
            Some(state) => bound.starting_from(state)?,
            None => bound,
        };
        Ok(Some((measured, bound)))
    }

    /// Everything exact but the counts, which are drawn from the exact distribution.
    fn density_matrices<T: Number>(
        &self,
        simulator: &Simulator,
        circuit: &Circuit,
        mut bound: BoundCircuit<Complex<T>>,
        start: Option<StateVector<Complex<T>>>,
        observables: &[PauliSum],
    ) -> Result<RunResult<T>, SimulateError> {
        if let Some(state) = &start {
            bound = bound.starting_from(state.clone())?;
        }
        let mut point = RunResult::new();
        if let Some(shots) = self.args.shots {
            let all = self.measured(circuit, start)?;
            let bound = all.as_ref().map_or(&bound, |(_, bound)| bound);
            let (bits, p): (Vec<Bits>, Vec<T>) =
                simulator.distribution(bound, MOST_OUTCOMES)?.into_iter().unzip();
            let shots = usize::try_from(shots).unwrap_or(usize::MAX);
            let drawn = self.draw_from(p, shots, &simulator.threads)?.map(|&k| bits[k].clone());
            self.set_results(&mut point, circuit, all.as_ref().map(|(c, _)| c), &drawn);
        }
        if !observables.is_empty() || self.args.probabilities {
            let threads = &simulator.threads;
            let rho = simulator.average(&bound)?;
            let expectation =
                |o: &PauliSum| Ok(Expectation { value: rho.expectation(o)?, stderr: None });
            point.expectations =
                observables.iter().map(expectation).collect::<Result<_, SimulateError>>()?;
            if self.args.variance {
                let variance = |o: &PauliSum| rho.variance(o, threads);
                point.variances = observables.iter().map(variance).collect::<Result<_, _>>()?;
            }
            if self.args.covariance {
                point.covariances = covariances(observables, |a, b| rho.covariance(a, b, threads))?;
            }
            point.diagonal = match self.marginal.filter(|_| self.args.probabilities) {
                Some(marginal) => Some(marginal.of_density(&rho)?),
                None => self.args.probabilities.then(|| rho.probabilities()),
            };
        }
        Ok(point)
    }

    /// Samples the final state of a static circuit.
    fn sample_state<T: Number>(
        &self,
        simulator: &Simulator,
        state: &StateHandle<T>,
        shots: u64,
        report: &mut dyn FnMut(usize, usize),
        point: &mut RunResult<T>,
    ) -> Result<(), SimulateError> {
        let (shots, seed) = (usize::try_from(shots).unwrap_or(usize::MAX), self.common.seed());
        let is_plain = self.marginal.is_none() && !self.args.memory && self.outputs.is_empty();
        if is_plain {
            point.counts = Some(simulator.counts_in(self.compact, state, shots, seed, report)?);
            return Ok(());
        }
        let threads = &simulator.threads;
        let drawn = match self.args.memory {
            true => {
                ShotOutcomes::Memory(ShotMemory::new(state.sample(shots, seed, threads, report)?)?)
            }
            false => {
                ShotOutcomes::Counts(state.sample_counts_reporting(shots, seed, threads, report)?)
            }
        };
        let circuit = self.compact.circuit();
        match (self.marginal, FinalReadout::new(circuit)?) {
            (Some(marginal), _) => {
                set_counts(point, drawn.map(|&state| marginal.name_of_state(state)));
            }
            (None, Some(readout)) => {
                self.set_outcomes(point, circuit, &drawn.map(|&state| readout.bits(state)));
            }
            (None, None) => set_counts(point, drawn.map(|&state| self.compact.bitstring(state))),
        }
        Ok(())
    }

    /// Draws outcomes by their probabilities.
    fn draw_from<T: Number>(
        &self,
        p: Vec<T>,
        shots: usize,
        threads: &Threads,
    ) -> Result<ShotOutcomes<usize>, SimulateError> {
        // A state whose squares they are. Rounding may leave less than nothing.
        let root = |p: T| {
            if p.primal().is_some_and(|p| p > 0.0) { p.sqrt() } else { T::lit(0.0) }
        };
        let mut roots: Vec<T> = p.into_iter().map(root).collect();
        roots.resize(roots.len().next_power_of_two(), T::lit(0.0));
        let (state, seed) = (StateVector::from_vector(roots)?, self.common.seed());
        Ok(match self.args.memory {
            true => ShotOutcomes::Memory(ShotMemory::new(state.sample(shots, seed, threads)?)?),
            false => ShotOutcomes::Counts(state.sample_counts(shots, seed, threads)?),
        })
    }

    /// Draws the classical bits and variables of shots that are run one by one.
    fn draw_shots<T: Number>(
        &self,
        simulator: &Simulator,
        bound: &BoundCircuit<Complex<T>>,
    ) -> Result<ShotOutcomes<Bits>, SimulateError> {
        let shots = usize::try_from(self.args.shots.unwrap_or(DEFAULT_SHOTS)).unwrap_or(usize::MAX);
        let seed = self.common.seed();
        Ok(match self.args.memory {
            true => ShotOutcomes::Memory(simulator.trajectory_memory(bound, shots, seed)?),
            false => {
                let counts = simulator.trajectory_counts(bound, shots, seed)?;
                ShotOutcomes::Counts(counts.into_iter().collect())
            }
        })
    }

    /// Sets counts, memory and outputs to those of outcomes of a circuit.
    fn set_outcomes<T: Number>(
        &self,
        point: &mut RunResult<T>,
        circuit: &Circuit,
        drawn: &ShotOutcomes<Bits>,
    ) {
        let layout = MemoryLayout::new(circuit.variables());
        let outputs = self.outputs.iter().map(|output| output.values(drawn, &layout));
        point.outputs = outputs.collect();
        // Outcomes that differ in hidden registers only are the same text.
        set_counts(point, drawn.map(|bits| bits.text(circuit)));
    }

    /// Sets the results of outcomes of the circuit, or of another one that measures what is asked
    /// for.
    fn set_results<T: Number>(
        &self,
        point: &mut RunResult<T>,
        circuit: &Circuit,
        measured: Option<&Circuit>,
        drawn: &ShotOutcomes<Bits>,
    ) {
        match measured {
            Some(measured) => set_counts(point, drawn.map(|bits| bits.text(measured))),
            None => self.set_outcomes(point, circuit, drawn),
        }
    }

    fn many_trajectories<T: Number>(
        &self,
        simulator: &Simulator,
        circuit: &Circuit,
        mut bound: BoundCircuit<Complex<T>>,
        start: Option<StateVector<Complex<T>>>,
        (keep, observables): (bool, &[PauliSum]),
    ) -> Result<RunResult<T>, SimulateError> {
        if let Some(state) = &start {
            bound = bound.starting_from(state.clone())?;
        }
        let bound = &bound;
        let seed = self.common.seed();
        let shots = usize::try_from(self.args.shots.unwrap_or(DEFAULT_SHOTS)).unwrap_or(usize::MAX);
        let mut point = RunResult::new();
        if self.args.shots.is_some() {
            let all = self.measured(circuit, start.clone())?;
            let bound = all.as_ref().map_or(bound, |(_, bound)| bound);
            let drawn = self.draw_shots(simulator, bound)?;
            self.set_results(&mut point, circuit, all.as_ref().map(|(c, _)| c), &drawn);
        }
        if !observables.is_empty() {
            let means = simulator.trajectory_expectations(bound, observables, shots, seed)?;
            point.expectations = means
                .into_iter()
                .map(|m| Expectation { value: T::lit(m.value), stderr: m.stderr.map(T::lit) })
                .collect();
        }
        if let Some(marginal) = self.marginal.filter(|_| self.args.probabilities) {
            // Over all outcomes of what is measured on the way.
            if let Some((measured, bound)) = self.measured(circuit, start)? {
                let distribution = simulator.distribution(&bound, MOST_OUTCOMES)?;
                point.diagonal = Some(marginal.of_bits(&measured, distribution));
            }
        }
        if keep {
            let states = simulator.trajectories(bound, 1, seed, |t| Ok(t.state.clone()))?;
            point.state = states.into_iter().next().map(|(_, state)| state);
        }
        Ok(point)
    }
}

/// Returns the covariance of each pair of observables: a matrix that is symmetric.
fn covariances<T: Number>(
    observables: &[PauliSum],
    of: impl Fn(&PauliSum, &PauliSum) -> Result<T, StateError>,
) -> Result<Vec<Vec<T>>, StateError> {
    let mut rows: Vec<Vec<T>> = Vec::new();
    for a in observables {
        let row = (0..=rows.len()).map(|k| of(a, &observables[k]));
        let row: Vec<T> = row.collect::<Result<_, _>>()?;
        rows.iter_mut().zip(&row).for_each(|(upper, x)| upper.push(*x));
        rows.push(row);
    }
    Ok(rows)
}

/// Sets the counts of outcomes, and if they are in order, the memory.
fn set_counts<T>(point: &mut RunResult<T>, drawn: ShotOutcomes<String>) {
    let (counts, memory) = drawn.into_counts();
    point.counts = Some(counts);
    point.memory = memory;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{given::Given, options::ValueArgs, terminal::Terminal};

    /// Measures in the middle and goes on.
    #[test]
    fn trajectories_give_counts_means_and_the_first_state() {
        let mut circuit = Circuit::new(2);
        circuit.add_register("c", 2).unwrap();
        circuit.h(0).unwrap().measure(0, 0).unwrap().cx(0, 1).unwrap().h(0).unwrap();
        circuit.measure(1, 1).unwrap();
        let args = Run { shots: Some(400), amplitudes: true, ..Run::default() };
        let common = Common { threads: Some(1), seed: Some(1), ..Common::default() };
        let constant = Some(vec![PauliSum::parse_on("Z1", 2).unwrap()]);
        let task = SweepTask {
            args: &args,
            common: &common,
            whole: &circuit,
            compact: &Compact::whole(circuit.clone()),
            simulator: Simulator::new(),
            observables: &[],
            constant,
            outputs: &[],
            density: false,
            marginal: None,
            progress: Mutex::new(Progress::new(&Terminal::new(true), "gates")),
        };
        let given = Given::read(&ValueArgs::default(), "--set").unwrap();
        let points = Points::read_with(&circuit, Vec::new(), &given).unwrap();
        let point = task.points::<f64>(&points, None).unwrap().0.remove(0);
        let counts = point.counts.unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["00", "11"]);
        assert_eq!(counts.values().sum::<u64>(), 400);
        let mean = (counts["00"] as f64 - counts["11"] as f64) / 400.0;
        assert!((point.expectations[0].value - mean).abs() < 1e-12);
        let error = point.expectations[0].stderr.unwrap();
        assert!((error - ((1.0 - mean * mean) / 399.0).sqrt()).abs() < 1e-12);
        assert_eq!(point.state.unwrap().n_qubits(), 2);
        // From |10> qubit 1 ends where CX takes it, the other way round.
        let start = StateVector::<Complex<f64>>::basis(2, 0b10).unwrap();
        let counts = task.points(&points, Some(start)).unwrap().0.remove(0).counts.unwrap();
        assert_eq!(counts.keys().collect::<Vec<_>>(), ["01", "10"]);
    }
}
