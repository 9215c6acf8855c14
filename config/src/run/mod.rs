//! The verb `run`: reads a circuit, simulates it, gives what was asked for.
//!
//! Order of work: everything that can be refused without computing (the circuit, its parameters,
//! the observables, the memory, the place of the output) is looked at first; then the states are
//! computed; then files are written; the answer is printed last.

mod answer;
mod errors;
mod marginal;
mod task;

use std::{path::Path, sync::Mutex, time::Instant};

use ketgrad_core::{
    basis::MAX_QUBITS,
    circuit::{Circuit, Compact},
    kernel::Operator,
    qasm,
    scalar::Scalar,
    simulate::{Simulator, final_measurements, has_final_state, rounds_in_seconds},
    state::{StateVector, bytes_needed, bytes_text},
};
use num_complex::Complex;
use num_dual::DualNum;

use crate::{
    backend::stays_there,
    files::{cannot, check_writable, open, read_included, read_text, write_whole},
    given::Given,
    grad::parametric_of,
    memory::{self, Needs},
    noise::{Unwritten, note_readings, read_noisy},
    npy::{self, Number},
    observables,
    options::{Common, Noisy, Precision, Run},
    params::Points,
    progress::Progress,
    report::{Failure, Remark},
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

/// Bytes that an operation takes while a circuit is read: itself, its angles, and a list that grows
/// by doubling.
const BYTES_PER_OPERATION: u64 = 480;

/// Number of operations that are read whatever the memory: their size is compared with the rest of
/// the work.
const ALWAYS_READ: u64 = 100_000;

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

/// Reads a circuit from a file or, for `-`, from the standard input, for those of the values that
/// decide what it is; they are taken. Files that it includes are looked for beside it.
///
/// # Errors
/// [`Failure`] with everything that is wrong with it.
pub(crate) fn read_circuit(
    path: &Path,
    given: &mut Given,
    common: &Common,
    terminal: &Terminal,
) -> Result<Circuit, Failure> {
    let (name, text) = read_text(path)?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let include = |file: &str| {
        let first = |f: Failure| f.remarks.first().map(|r| r.message.clone()).unwrap_or_default();
        read_included(&folder.join(file)).map_err(first)
    };
    let (available, why) = memory::available(common.memory_limit);
    let fit = (available / BYTES_PER_OPERATION).max(ALWAYS_READ);
    let max_gates = common.max_gates().min(fit);
    let inputs = given.texts();
    let options = qasm::QasmOptions::default()
        .with_file(&name)
        .with_max_gates(max_gates)
        .with_include(Some(&include))
        .with_inputs(&inputs);
    let parsed = qasm::parse(&text, &options).map_err(|mut failed| {
        for diagnostic in &mut failed.diagnostics {
            match &*diagnostic.problem {
                qasm::QasmProblem::TooManyGates { limit, .. } if *limit < common.max_gates() => {
                    let available = bytes_text(available.into());
                    diagnostic.help = Some(format!("more do not fit into {available} ({why})"));
                }
                qasm::QasmProblem::TooManySteps { .. } => {
                    let help =
                        "if the loops end after all, --max-gates allows more, where memory does";
                    diagnostic.help = Some(help.to_owned());
                }
                qasm::QasmProblem::MissingInput { name, .. } => {
                    diagnostic.help = Some(given.how(name, "FILE.json"));
                }
                _ => {}
            }
        }
        failed
    })?;
    given.keep(&parsed);
    given.remove_structural(parsed.read_for)?;
    let warnings: Vec<Remark> = parsed.warnings.into_iter().map(Remark::from).collect();
    terminal.warn(&warnings, &parsed.sources);
    if parsed.circuit.n_qubits() == 0 && parsed.circuit.instructions().is_empty() {
        return Err(Failure::input(format_args!(
            "{name} declares no qubits: there is nothing to run"
        )));
    }
    Ok(parsed.circuit)
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

/// Returns a state to start from.
///
/// # Errors
/// [`Failure`] if the file has none of this number of qubits.
pub(crate) fn read_input<T: Number>(
    path: &Path,
    n_qubits: usize,
) -> Result<StateVector<Complex<T>>, Failure> {
    check_width(n_qubits)?;
    let name = path.display().to_string();
    let file = open(path).map_err(|e| cannot("read", &name, &e))?;
    let file = std::io::BufReader::new(file);
    npy::read_state(file, n_qubits).map_err(|e| Failure::input(format_args!("{name}: {e}")))
}

/// Refuses states that no file holds.
pub(crate) fn check_width(n_qubits: usize) -> Result<(), Failure> {
    let message = format_args!("no file holds a state of {n_qubits} qubits");
    if n_qubits > MAX_QUBITS { Err(Failure::input(message)) } else { Ok(()) }
}

/// Returns the squared modulus, as a result.
pub(crate) fn probability<T: Number>(amplitude: &Complex<T>) -> T {
    amplitude.abs2()
}
