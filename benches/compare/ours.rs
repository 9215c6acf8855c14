//! Ketgrad's runs, in both precisions.

use std::{error::Error, hint::black_box, time::Instant};

use ketgrad_core::{
    kernel::{InstructionSet, Operator, SimdFloat, Threads},
    param::Values,
    plan::{Plan, PlanOptions},
    simulate::{BoundCircuit, Simulator},
    state::StateVector,
};
use num_complex::Complex;

use crate::{
    table::{Row, Times},
    work::{SHOTS, Work},
};

/// A simulator with a state of each precision.
pub(crate) struct Ours {
    simulator: Simulator,
    double: StateVector<Complex<f64>>,
    single: StateVector<Complex<f32>>,
}

impl Ours {
    pub(crate) fn new(n: usize, threads: usize) -> Result<Ours, Box<dyn Error>> {
        let simulator = Simulator::new().with_threads(Threads::new(threads)?);
        let (double, single) = (StateVector::zero(n)?, StateVector::zero(n)?);
        Ok(Ours { simulator, double, single })
    }

    /// Adds runs of some precisions to a row, of both if none is named: at least `rounds` each, and
    /// as many as fit the budget.
    pub(crate) fn run(
        &mut self,
        work: &Work,
        row: &mut Row,
        precisions: &[String],
        rounds: usize,
        budget: f64,
    ) -> Result<(), Box<dyn Error>> {
        let times = |precision| move || Times::new("ketgrad", env!("CARGO_PKG_VERSION"), precision);
        let wanted = |precision| precisions.is_empty() || precisions.iter().any(|p| p == precision);
        if wanted("double") {
            let double = row.ours.entry("double").or_insert_with(times("double"));
            repeat(&self.simulator, &mut self.double, work, double, rounds, budget)?;
        }
        if wanted("single") {
            let single = row.ours.entry("single").or_insert_with(times("single"));
            repeat(&self.simulator, &mut self.single, work, single, rounds, budget)?;
        }
        Ok(())
    }
}

fn operators<E: SimdFloat>(
    bound: &BoundCircuit<Complex<E>>,
) -> Result<&[Operator<Complex<E>>], String> {
    bound.operators().ok_or_else(|| "the circuit measures".to_owned())
}

fn repeat<E: SimdFloat>(
    simulator: &Simulator,
    state: &mut StateVector<Complex<E>>,
    work: &Work,
    times: &mut Times,
    rounds: usize,
    budget: f64,
) -> Result<(), Box<dyn Error>> {
    let (mut bind, mut plan, mut gradient) = (None, None, None);
    if let Work::Pauli(circuit, _) | Work::Shots(circuit) = work {
        *state = simulator.run::<E>(circuit, &[])?;
    } else if let Work::Gates(circuit) = work {
        bind = Some(BoundCircuit::<Complex<E>>::new(circuit, &Values::<E>(&[]))?);
    } else if let Work::Plan(circuit) = work {
        let bound = BoundCircuit::<Complex<E>>::new(circuit, &Values::<E>(&[]))?;
        let n = circuit.n_qubits();
        let options = PlanOptions::new(InstructionSet::detect(), n);
        plan = Some(Plan::new(n, operators(&bound)?, options));
    } else if let Work::Gradient(ansatz) = work {
        gradient = Some(ansatz.prepare::<E>(simulator)?);
    }
    // One run of a small plan is too short for the clock.
    let turns = ((1usize << 14) >> state.n_qubits().min(14)).max(1);
    let mut once = || -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        match work {
            Work::Gates(_) => {
                let Some(bound) = &bind else { return Ok(f64::NAN) };
                return gates(simulator, state, operators(bound)?, budget);
            }
            Work::Gradient(_) => return gradient.as_mut().map_or(Ok(f64::NAN), |g| g.once()),
            Work::Circuit(circuit) => {
                simulator.run_into::<E>(circuit, &[], state)?;
            }
            Work::Plan(_) => {
                let Some(plan) = &plan else { return Ok(f64::NAN) };
                (0..turns)
                    .for_each(|_| plan.run(black_box(state.amplitudes_mut()), &simulator.threads));
                return Ok(start.elapsed().as_secs_f64() / turns as f64);
            }
            Work::Pauli(_, sum) => {
                black_box(state.expectation(sum, &simulator.threads)?);
            }
            Work::Shots(_) => {
                black_box(state.sample(SHOTS, 1, &simulator.threads)?);
            }
        }
        Ok(start.elapsed().as_secs_f64())
    };
    once()?;
    let (start, before) = (Instant::now(), times.samples.len());
    // A peer's own repeats fit its budget, too.
    while times.samples.len() < before + rounds
        || (start.elapsed().as_secs_f64() < budget && times.samples.len() < before + 25)
    {
        times.add(once()?);
    }
    Ok(())
}

/// Seconds of one gate, measured as the harness measures its peers: turns over the targets that
/// last a fifth of the budget, one at least, less a run of the first gate alone, over the
/// difference in gates.
fn gates<E: SimdFloat>(
    simulator: &Simulator,
    state: &mut StateVector<Complex<E>>,
    operators: &[Operator<Complex<E>>],
    budget: f64,
) -> Result<f64, Box<dyn Error>> {
    let executor = simulator.executors.best::<Complex<E>>(state.n_qubits(), 1);
    let mut seconds = |operators: &[Operator<Complex<E>>],
                       turns: usize|
     -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        for _ in 0..turns {
            for operator in operators.chunks(1) {
                executor.run(operator, black_box(state.amplitudes_mut()), &simulator.threads)?;
            }
        }
        Ok(start.elapsed().as_secs_f64())
    };
    let turns = (budget / 5.0 / seconds(operators, 1)?).max(1.0) as usize;
    let long = seconds(operators, turns)?;
    let short = seconds(operators.get(..1).unwrap_or_default(), 1)?;
    Ok((long - short) / (turns * operators.len() - 1) as f64)
}
