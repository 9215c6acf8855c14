//! The verb `run`: reads a circuit, simulates it, gives what was asked for.
//!
//! Order of work: everything that can be refused without computing (the circuit, its parameters,
//! the observables, the memory, the place of the output) is looked at first; then the states are
//! computed; then files are written; the answer is printed last.

mod answer;
mod errors;
mod marginal;
mod task;

use std::{sync::Mutex, time::Instant};

use ketgrad_core::{
    circuit::{Circuit, Compact},
    kernel::Operator,
    simulate::{Simulator, final_measurements, has_final_state, rounds_in_seconds},
    state::bytes_needed,
};
use num_complex::Complex;
use num_dual::DualNum;

use crate::{
    backend::stays_there,
    expectation::parametric_of,
    files::{check_writable, write_whole},
    given::Given,
    input::{check_width, read_input},
    memory::Needs,
    noise::{Unwritten, note_readings, read_noisy},
    npy::{self, Number},
    observables,
    options::{Common, Noisy, Precision, Run},
    params::Points,
    progress::Progress,
    report::Failure,
    terminal::{Answer, Terminal},
};
use answer::Results;
use marginal::Marginal;
use task::SweepTask;

/// Number of qubits up to which circuits with noise are run on density matrices, unless told
/// otherwise: 16 MiB.
const SMALL: usize = 10;

/// The most qubits of a register whose basis states are written, a bit for each.
const MOST_NAMED: usize = 1 << 16;

/// Bytes that a shot takes while shots are drawn and sorted: its number twice, and its outcome.
const BYTES_PER_SHOT: u128 = 40;

/// Bytes that an entry of the counts takes besides its text.
const BYTES_PER_COUNT: u128 = 80;

/// Bytes that an instruction takes as data besides its operator.
const BYTES_PER_INSTRUCTION: u128 = 200;

/// Bytes that the results of one run of a sweep take besides its states and counts.
const BYTES_PER_RUN: u128 = 200;

/// Runs `run`.
///
/// # Errors
/// [`Failure`] if anything is at fault; nothing was printed or written then.
pub(crate) fn run(
    mut args: Run,
    config: &Run,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let noisy = args.settle(config)?;
    let args = &args;
    let unwritten = if args.shots.is_some() { Unwritten::IfNoOther } else { Unwritten::None };
    let (circuit, given) = read_noisy(&args.file, &args.values, unwritten, common, terminal)?;
    if !args.observables.is_empty() || args.probabilities || args.keeps_state() {
        note_readings(&circuit, false, terminal);
    }
    match common.precision() {
        Precision::F64 => simulate::<f64>((args, noisy), common, terminal, &circuit, &given),
        Precision::F32 => simulate::<f32>((args, noisy), common, terminal, &circuit, &given),
    }
}

fn simulate<T: Number + DualNum>(
    (args, noisy): (&Run, Noisy),
    common: &Common,
    terminal: &Terminal,
    circuit: &Circuit,
    given: &Given,
) -> Result<Box<dyn Answer>, Failure> {
    let observables = observables::read_all(&args.observables, circuit, given, false)?;
    let points = Points::read_with(circuit, observables::own_params(&observables, circuit), given)?;
    let sources = errors::sources(args, circuit, &points, given)?;
    // From another state than |0…0> no qubit is idle, and nothing is known.
    let compact = match &args.input {
        Some(_) => {
            check_width(circuit.n_qubits())?;
            Compact::whole(circuit.clone())
        }
        None => circuit.folded().compact(),
    };
    let (declared, whole, circuit) = (circuit.n_qubits(), circuit, compact.circuit());
    let n_qubits = circuit.n_qubits();
    let executors = common.executors::<T>(circuit, terminal)?;
    let here = !stays_there::<T>(&executors, circuit);
    let density = on_density_matrices(args, noisy, circuit)?;
    let over_shots = !density && !has_final_state(circuit);
    if over_shots {
        refuse_means(args, sources.is_some())?;
        if circuit.has_channels() && !args.qubits.is_empty() && args.probabilities {
            let message = "--qubits: the noise of this circuit is drawn shot by shot, so that there are no probabilities";
            return Err(Failure::input(message)
                .help("--shots counts the outcomes, --method density computes them exactly"));
        }
    }
    let marginal = match args.qubits.as_slice() {
        [] => None,
        qubits => Some(Marginal::new(qubits, declared, &compact)?),
    };
    // A list or a file of all amplitudes has those of idle qubits, too.
    let spreads = !compact.is_whole() && (common.json || args.output.is_some());
    let mut needs = needs::<T>(args, &compact, points.len(), here, density);
    let names = args.shots.is_some() && !circuit.has_results()
        || !common.json && (args.amplitudes || args.probabilities);
    if names && marginal.is_none() && declared > MOST_NAMED {
        let message = format!(
            "basis states of {declared} qubits have names of as many bits: at most {MOST_NAMED} are written"
        );
        return Err(Failure::input(message).help("measure the qubits whose outcomes are asked for"));
    }
    if marginal.is_some() && args.probabilities {
        let each = bytes_needed::<T>(args.qubits.len());
        let what = format_args!("the probabilities of {} qubits", args.qubits.len());
        needs.add(what, each.saturating_mul(points.len() as u128));
    }
    if spreads && marginal.is_none() && (args.keeps_state() || args.probabilities) {
        let state = bytes_needed::<Complex<T>>(declared);
        needs.add(
            format_args!("the amplitudes of {declared} qubits"),
            state.saturating_mul(points.len() as u128),
        );
    }
    let available = needs.check(
        &format!("a run of {n_qubits} {}", if n_qubits == 1 { "qubit" } else { "qubits" }),
        common.memory_limit,
    )?;
    if let Some(path) = &args.output {
        check_writable(path)?;
    }
    let start_state = match &args.input {
        Some(path) => Some(read_input::<T>(path, n_qubits)?),
        None => None,
    };
    let (threads, memory_limit) = (common.start_threads()?, Some(available));
    // A density matrix has the amplitudes of twice as many qubits.
    let width = if density { n_qubits.saturating_mul(2) } else { n_qubits };
    let max_rounds = common.max_steps.unwrap_or_else(|| rounds_in_seconds(width));
    let simulator = Simulator::new()
        .with_executors(executors)
        .with_threads(threads)
        .with_memory_limit(memory_limit)
        .with_max_rounds(max_rounds);
    let progress = Mutex::new(Progress::new(terminal, "gates"));
    let mut task = SweepTask {
        args,
        common,
        whole,
        compact: &compact,
        simulator,
        observables: &observables,
        constant: None,
        density,
        marginal: marginal.as_ref(),
        progress,
    };
    if observables.iter().all(|observable| observable.sum.params().is_empty()) {
        task.constant = Some(task.observables(&points, 0)?.into_owned());
    }

    let start = Instant::now();
    let (mut computed, backend) =
        task.points(&points, start_state).map_err(|e| points.located(e))?;
    if let Some(sources) = &sources {
        let energy = parametric_of::<T>(
            whole.clone(),
            &observables,
            args.input.as_deref(),
            common,
            terminal,
        )?;
        errors::add(&mut computed, sources, &energy, &points)?;
    }
    let seconds = start.elapsed().as_secs_f64();
    let SweepTask { simulator, progress, .. } = task;
    drop(progress);
    common.note_passed_over(&simulator.executors, terminal);
    if over_shots && args.keeps_state() {
        let rest = if args.observables.is_empty() {
            ""
        } else {
            "; expectation values are means over shots"
        };
        terminal
            .note(&format!("note: amplitudes and probabilities are those of the first shot{rest}"));
    }

    let mut results = Results {
        n_qubits: declared,
        precision: common.precision().name(),
        backend,
        observables: observables.into_iter().map(|o| o.text).collect(),
        points: computed,
        sweep: points.sweep,
        shots: args.shots,
        amplitudes: args.amplitudes,
        probabilities: args.probabilities,
        variance: args.variance,
        covariance: args.covariance,
        marginal,
        seconds,
        json: common.json,
        compact,
    };
    if spreads && results.marginal.is_none() {
        results.spread()?;
    }
    if let Some((count, first)) = results.nonfinite() {
        if !common.allow_nonfinite {
            return Err(Failure::input(first).help("--allow-nonfinite prints null instead"));
        }
        let all = if count > 1 { format!(", the first of {count}") } else { String::new() };
        terminal.note(&format!("note: {first}{all}; null stands for it in JSON"));
    }
    if let Some(path) = &args.output {
        let states: Vec<_> =
            results.points.iter().filter_map(|point| point.state.as_ref()).collect();
        let rows = points.sweep.then_some(points.len());
        write_whole(path, |out| npy::write_states(&states, declared, rows, out))?;
        if !args.prints_state() {
            results.points.iter_mut().for_each(|point| point.state = None);
        }
    }
    Ok(Box::new(results))
}

/// Refuses what is exact of a circuit that is run shot by shot.
fn refuse_means(args: &Run, error_bars: bool) -> Result<(), Failure> {
    let what = match args {
        Run { variance: true, .. } => "--variance",
        Run { covariance: true, .. } => "--covariance",
        _ if error_bars => "error bars of inputs",
        _ => return Ok(()),
    };
    let message = format!(
        "{what}: expectation values of this circuit are means over shots, of which there is none"
    );
    Err(Failure::input(message).help("--method density computes them exactly"))
}

/// Returns true if density matrices run the circuit: they are asked for, or it has noise and they
/// are small.
fn on_density_matrices(args: &Run, noisy: Noisy, circuit: &Circuit) -> Result<bool, Failure> {
    let asks_for_state = args.amplitudes || args.output.is_some();
    match noisy {
        Noisy::Density if asks_for_state => {
            let message = "a density matrix has no amplitudes: --amplitudes and --output go with --method trajectories";
            Err(Failure::usage(message))
        }
        Noisy::Density => Ok(true),
        _ if !circuit.has_channels() => Ok(false),
        Noisy::Auto => Ok(!asks_for_state && circuit.n_qubits() <= SMALL),
        Noisy::Trajectories => Ok(false),
    }
}

/// Returns the memory that the run will allocate; `here` is true if states are computed in the
/// host's memory. Output is written as it is made and takes nothing.
fn needs<T: Number>(
    args: &Run,
    compact: &Compact,
    runs: usize,
    here: bool,
    density: bool,
) -> Needs {
    let circuit = compact.circuit();
    let n_qubits = circuit.n_qubits();
    let state = bytes_needed::<Complex<T>>(n_qubits);
    let kept = match args.keeps_state() {
        true => runs,
        // A state to start from is read here, wherever it goes then.
        false => usize::from(here || args.input.is_some()),
    };
    // A measurement that splits the shots splits the state.
    let is_split = final_measurements(circuit).is_err();
    let split = usize::from(is_split);
    // A sweep and trajectories start again from the same state.
    let inputs =
        usize::from(args.input.is_some() && runs > 1) + split * usize::from(args.input.is_some());
    let mut needs = Needs::default();
    // Results of applying observables to the state: one of each pair in place, the other beside it.
    let applied = if args.covariance { 2 } else { usize::from(args.variance) };
    let states = (kept + inputs + split + applied) as u128;
    // Whatever was asked for, a circuit with one final state is run on that.
    if density && is_split {
        let matrix = bytes_needed::<Complex<T>>(n_qubits.saturating_mul(2));
        let count = if applied > 0 { 3 } else { 2 };
        needs.add(format_args!("{count} density matrices"), matrix.saturating_mul(count));
    } else {
        let what = if states == 1 { "the state".to_owned() } else { format!("{states} states") };
        needs.add(what, state.saturating_mul(states));
    }
    if runs > 1 {
        needs.add(format_args!("the results of {runs} runs"), runs as u128 * BYTES_PER_RUN);
    }
    let each = size_of::<Operator<Complex<T>>>() as u128 + BYTES_PER_INSTRUCTION;
    needs.add("the gates", each * circuit.instructions().len() as u128);
    if let Some(shots) = args.shots.map(u128::from) {
        needs.add(format_args!("drawing {shots} shots"), shots * BYTES_PER_SHOT);
        let text = if circuit.has_results() { circuit.n_bits() } else { compact.n_qubits() };
        let outcomes = shots.min(bytes_needed::<u8>(n_qubits));
        let counts = outcomes
            .saturating_mul(text as u128 + circuit.registers().len() as u128 + BYTES_PER_COUNT);
        needs.add("the counts", counts.saturating_mul(runs as u128));
    }
    needs
}
