//! The verb `optimize`: a variational job, from a file to the parameters with the least energy.
//!
//! Order of work: the job and all files that it names are read; the state of the last checkpoint is
//! taken up, if that is asked for; then iterations, with a checkpoint every few of them and one at
//! the end; then the curve; the answer is printed last.

mod checkpoint;
mod hamiltonian;
mod inputs;
mod job;

use std::time::Instant;

use ketgrad_core::{
    circuit::Circuit,
    draw,
    hybrid::HybridError,
    optimize::{
        Answer as Found, Energy, Measured, Objective, OptimizeError, Optimizer, State, StopReason,
        Within,
    },
    simulate::{Simulator, final_measurements},
    state::bytes_needed,
};
use num_complex::Complex;
use num_dual::DualNum;
use serde_json::{Map, Value};

use crate::{
    answer::{Numbers, answer, in_text},
    backend::stays_there,
    expectation::expectation_of,
    files::{check_writable, write_whole},
    memory::Needs,
    npy::Number,
    options::{Common, Optimize, Precision},
    progress::Progress,
    report::Failure,
    terminal::{Answer, Terminal},
};
use checkpoint::JobFingerprints;
use job::Job;

/// The most terms of a Hamiltonian times amplitudes for which the lowest eigenvalue is shown beside
/// the value: some tenths of a second.
const MOST_WORK_OF_LOWEST: usize = 1 << 21;

/// Chemical accuracy in hartree, 1 kcal/mol: what a value may be below the lowest level for the
/// digits of the integrals.
const CHEMICAL_ACCURACY: f64 = 1.6e-3;

/// Runs `optimize`.
///
/// # Errors
/// [`Failure`] if the job or a file that it names is at fault, or the minimisation cannot go on;
/// the last checkpoint exists then.
pub(crate) fn optimize(
    args: &Optimize,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    match common.precision() {
        Precision::F64 => run::<f64>(args, common, terminal),
        Precision::F32 => run::<f32>(args, common, terminal),
    }
}

/// Runs the job with states of the given numbers; the optimizer itself computes in double
/// precision.
fn run<T: Number + DualNum>(
    args: &Optimize,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let job = Job::read(args, common, terminal)?;
    if job.shots.is_some() && common.precision() != Precision::F64 {
        return Err(Failure::usage("a job with shots computes in double precision"));
    }
    let energy =
        expectation_of::<T>(job.circuit.clone(), job.hamiltonian.clone(), common, terminal)?;
    let duals = matches!(job.optimizer, Optimizer::NewtonCg(_) | Optimizer::NaturalGradient(_));
    if duals {
        common.note_duals("the optimizer", terminal);
    }
    if duals || !stays_there::<T>(energy.executors(), energy.circuit()) {
        needs::<T>(&job, energy.circuit()).check("the job", common.memory_limit)?;
    }
    check_writable(&job.curve)?;
    let marks = JobFingerprints::from_job(&job, common.precision());
    let executors = energy.executors().clone();
    let taken_up = if args.resume {
        checkpoint::load(&job.checkpoint, &marks, job.start.len())?
    } else {
        None
    };
    match &taken_up {
        Some(state) => terminal.note(&format!("resumed after iteration {}", state.iterations)),
        None if args.resume => {
            terminal.note("there is no checkpoint yet: the job begins at its start")
        }
        None => {}
    }

    let clock = Instant::now();
    let within = job.intervals.clone();
    let (state, stop, found) = match job.shots {
        None => {
            let energy = Within::new(Energy::<T>::new(energy), within);
            iterate(&energy, &job, taken_up, &marks, terminal)?
        }
        Some(shots) => {
            let energy = Within::new(Measured { energy: &energy, shots }, within);
            iterate(&energy, &job, taken_up, &marks, terminal)?
        }
    };
    common.note_passed_over(&executors, terminal);

    let iterations = state.iterations;
    let title =
        format!("{}: {:.9} after {iterations} iterations", args.file.display(), found.end.value);
    let picture = draw::curve(&state.values, &title, "iteration", "value");
    write_whole(&job.curve, |out| out.write_all(picture.as_bytes()))?;
    if job.start.is_empty() {
        terminal.note("note: the circuit has no parameters: there was nothing to optimise");
    }
    if !stop.converged() {
        terminal.note(&format!("note: ended because {stop}"));
    }

    let Found { x, end, .. } = &found;
    if end.stderr.is_some() && iterations > 0 && !found.is_below_start() {
        let start = found.start.value;
        terminal.note(&format!(
            "note: the end is not below the start, {start}, within its standard error"
        ));
    }
    let x = job.intervals.inputs(x);
    let mut numbers = Numbers::default();
    let named = job.circuit.inputs().zip(x);
    let parameters: Map<String, Value> =
        named.map(|(name, x)| (name.to_owned(), numbers.real(x, name))).collect();
    let lowest = lowest(&job, common)?;
    let mut object = vec![("value", numbers.real(end.value, "the value"))];
    if let Some(stderr) = end.stderr {
        object.push(("stderr", numbers.real(stderr, "the standard error")));
        object.push(("below_start", found.is_below_start().into()));
    }
    object.extend([
        ("parameters", Value::Object(parameters)),
        ("iterations", iterations.into()),
        ("converged", stop.converged().into()),
        ("reason", stop.name().into()),
    ]);
    let mut text: String = object.iter().map(|(key, value)| in_text(key, value)).collect();
    if let Some(lowest) = lowest {
        text.push_str(&beside(&job, end.value, lowest));
        object.push(("lowest", numbers.real(lowest, "the lowest energy")));
    }
    numbers.report(common, terminal)?;
    Ok(answer(common, clock, text, object))
}

/// Iterations from the start, or from what was taken up, with checkpoints.
fn iterate(
    energy: &impl Objective<Error = HybridError>,
    job: &Job,
    taken_up: Option<State>,
    marks: &JobFingerprints,
    terminal: &Terminal,
) -> Result<(State, StopReason, Found), Failure> {
    let mut progress = Progress::new(terminal, "iterations");
    let mut state = match taken_up {
        Some(state) => state,
        None => job.optimizer.start(energy, &job.start).map_err(failed)?,
    };
    checkpoint::save(&job.checkpoint, marks, &state)?;
    let stop = loop {
        if let Some(stop) =
            job.optimizer.advance(energy, &mut state, &job.stopping).map_err(failed)?
        {
            break stop;
        }
        if state.iterations % job.every == 0 {
            checkpoint::save(&job.checkpoint, marks, &state)?;
        }
        progress.tell(format!("value {:.9}", state.value));
        progress.report(state.iterations as u64, job.stopping.iterations as u64);
    };
    checkpoint::save(&job.checkpoint, marks, &state)?;
    let found = Found::new(energy, &job.start, &state).map_err(failed)?;
    Ok((state, stop, found))
}

/// Returns the lowest eigenvalue beside the value.
fn beside(job: &Job, value: f64, lowest: f64) -> String {
    let away = value - lowest;
    let Some(electrons) = &job.electrons else {
        return format!("lowest possible  {lowest} ({:.1e} below)\n", away.max(0.0));
    };
    let way = if away < -CHEMICAL_ACCURACY && job.shots.is_none() {
        let penalty =
            electrons.sufficient_penalty().map_or(String::new(), |weight| format!(" = {weight}"));
        format!(
            "{:.1e} above: the state has other electrons, which `penalty{penalty}` in [hamiltonian] avoids",
            -away
        )
    } else {
        format!("{:.1e} below", away.max(0.0))
    };
    format!("lowest of {}  {lowest} ({way})\n", electrons.words())
}

/// Returns the lowest eigenvalue of the Hamiltonian, of a molecule that of its electrons, if it
/// takes no time.
fn lowest(job: &Job, common: &Common) -> Result<Option<f64>, Failure> {
    let n_qubits = job.circuit.n_qubits();
    let is_much = n_qubits > 20 || job.hamiltonian.terms().len() << n_qubits > MOST_WORK_OF_LOWEST;
    if is_much {
        return Ok(None);
    }
    let simulator = Simulator::new()
        .with_threads(common.start_threads()?)
        .with_memory_limit(common.memory_limit);
    // Data that do not fit or do not converge are no error of the job.
    if let Some(electrons) = &job.electrons {
        return Ok(electrons.lowest(&simulator));
    }
    let levels = simulator.lowest(&job.hamiltonian, n_qubits, 1).unwrap_or_default();
    Ok(levels.first().map(|level| level.energy))
}

/// Failure of a minimisation that cannot go on.
fn failed(error: OptimizeError<HybridError>) -> Failure {
    let strength = matches!(&error, OptimizeError::Objective(e) if e.is_no_probability());
    let failure = Failure::input(error);
    if !strength {
        return failure;
    }
    failure
        .help("`set` in [ansatz] keeps an input at its value; a strength such as `sin(p)**2` is always one")
}

/// Returns the states that a step of the optimizer keeps at a time.
fn needs<T>(job: &Job, circuit: &Circuit) -> Needs {
    // Two are kept for gradients.
    let states = match job.optimizer {
        Optimizer::NewtonCg(_) => 6,
        // One state moves along each input.
        Optimizer::NaturalGradient(_) => job.start.len() as u128 + 5,
        _ => 2,
    };
    let mut needs = Needs::default();
    // With noise or feedback they are density matrices, but shots take trajectories of vectors.
    let density =
        job.shots.is_none() && (circuit.has_channels() || final_measurements(circuit).is_err());
    let qubits = circuit.n_qubits() << usize::from(density);
    let bytes = bytes_needed::<Complex<T>>(qubits).saturating_mul(states);
    needs.add(format_args!("{states} states"), bytes);
    needs
}
