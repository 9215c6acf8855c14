//! The verb `run`: reads a circuit, simulates it, gives what was asked for.
//!
//! Order of work: everything that can be refused without computing (the circuit, its parameters,
//! the observables, the memory, the place of the output) is looked at first; then the states are
//! computed; then files are written; the answer is printed last.

mod answer;
mod errors;
mod marginal;
mod outputs;
mod shot_outcomes;
mod task;

use std::{path::Path, sync::Mutex, time::Instant};

use ketgrad_core::{
    circuit::{Circuit, Compact},
    kernel::{Executors, Operator},
    simulate::{Simulator, final_measurements, has_final_state, rounds_in_seconds},
    state::{StateVector, bytes_needed},
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
    observables::{self, Parametric},
    options::{Common, Noisy, Precision, Run},
    params::Points,
    progress::Progress,
    report::Failure,
    terminal::{Answer, Terminal},
    uncertainty::Sources,
};
use answer::{Results, RunResult};
use marginal::Marginal;
use outputs::OutputSpec;
use task::SweepTask;

/// Number of qubits up to which circuits with noise are run on density matrices, unless told
/// otherwise: 16 MiB.
const SMALL: usize = 10;

/// The most qubits of a register whose basis states are written, a bit for each.
const MOST_NAMED: usize = 1 << 16;

/// Bytes that a shot takes while shots are drawn and sorted: its number twice, and its outcome.
const BYTES_PER_SHOT: u128 = 40;

/// Bytes that a shot takes in the memory of the shots, and in that of each output.
const BYTES_PER_KEPT_SHOT: u128 = 4;

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
    if args.shots.is_some() {
        note_missing_outputs(&circuit, given.outputs(), terminal);
    }
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
    let compact = compacted(args, circuit)?;
    let (whole, circuit) = (circuit, compact.circuit());
    let n_qubits = circuit.n_qubits();
    let executors = common.executors::<T>(circuit, terminal)?;
    let here = !stays_there::<T>(&executors, circuit);
    let density = on_density_matrices(args, noisy, circuit)?;
    let over_shots = !density && !has_final_state(circuit);
    if over_shots {
        refuse_exact(args, circuit, sources.is_some())?;
    }
    let marginal = match args.qubits.as_slice() {
        [] => None,
        qubits => Some(Marginal::new(qubits, whole.n_qubits(), &compact)?),
    };
    let outputs = match args.shots {
        Some(_) if common.json && marginal.is_none() => {
            OutputSpec::all(compact.circuit(), given.outputs())
        }
        _ => Vec::new(),
    };
    let mut needs = needs::<T>(args, &compact, points.len(), here, density);
    if args.memory {
        let kept = BYTES_PER_KEPT_SHOT * (1 + outputs.len() as u128) * points.len() as u128;
        let shots = u128::from(args.shots.unwrap_or(0));
        needs.add("the memory of the shots", shots.saturating_mul(BYTES_PER_SHOT + kept));
    }
    let setup = RunSetup {
        args,
        common,
        terminal,
        whole,
        compact,
        observables,
        points,
        sources,
        outputs,
        density,
        over_shots,
        marginal,
    };
    setup.check_names()?;
    setup.add_output_needs::<T>(&mut needs);
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
    let task = setup.task(setup.simulator(executors, available)?)?;

    let start = Instant::now();
    let (computed, backend) = setup.compute::<T>(&task, start_state)?;
    let seconds = start.elapsed().as_secs_f64();
    let SweepTask { simulator, progress, .. } = task;
    drop(progress);
    common.note_passed_over(&simulator.executors, terminal);
    setup.note_first_shot();

    let (spreads, rows) = (setup.spreads(), setup.points.sweep.then_some(setup.points.len()));
    let mut results = setup.into_results(computed, backend, seconds);
    if spreads && results.marginal.is_none() {
        results.spread()?;
    }
    report_nonfinite(&results, common, terminal)?;
    if let Some(path) = &args.output {
        write_output(path, &mut results, rows, args.prints_state())?;
    }
    Ok(Box::new(results))
}

/// All that is known of the runs before anything is computed.
struct RunSetup<'a> {
    args: &'a Run,
    common: &'a Common,
    terminal: &'a Terminal,
    /// The circuit.
    whole: &'a Circuit,
    /// The circuit on the qubits that it uses.
    compact: Compact,
    observables: Vec<Parametric>,
    points: Points,
    /// The sources of error, if an input has an error bar.
    sources: Option<Sources>,
    /// The outputs that are asked for.
    outputs: Vec<OutputSpec>,
    /// True if density matrices run the circuit.
    density: bool,
    /// True if the circuit is run shot by shot.
    over_shots: bool,
    /// The qubits that counts and probabilities are of, if not of all.
    marginal: Option<Marginal>,
}

impl RunSetup<'_> {
    /// Returns true if results are put in their places among those of all qubits: a list or a file
    /// of all amplitudes has those of idle qubits, too.
    fn spreads(&self) -> bool {
        !self.compact.is_whole() && (self.common.json || self.args.output.is_some())
    }

    /// Refuses names of basis states that are too long to be written.
    fn check_names(&self) -> Result<(), Failure> {
        let (args, declared) = (self.args, self.whole.n_qubits());
        let names = args.shots.is_some() && !self.compact.circuit().has_results()
            || !self.common.json && (args.amplitudes || args.probabilities);
        if names && self.marginal.is_none() && declared > MOST_NAMED {
            let message = format!(
                "basis states of {declared} qubits have names of as many bits: at most {MOST_NAMED} are written"
            );
            return Err(
                Failure::input(message).help("measure the qubits whose outcomes are asked for")
            );
        }
        Ok(())
    }

    /// Adds the memory of the probabilities of some qubits, and of the amplitudes of all.
    fn add_output_needs<T: Number>(&self, needs: &mut Needs) {
        let (args, declared, points) = (self.args, self.whole.n_qubits(), &self.points);
        if self.marginal.is_some() && args.probabilities {
            let each = bytes_needed::<T>(args.qubits.len());
            let what = format_args!("the probabilities of {} qubits", args.qubits.len());
            needs.add(what, each.saturating_mul(points.len() as u128));
        }
        if self.spreads() && self.marginal.is_none() && (args.keeps_state() || args.probabilities) {
            let state = bytes_needed::<Complex<T>>(declared);
            needs.add(
                format_args!("the amplitudes of {declared} qubits"),
                state.saturating_mul(points.len() as u128),
            );
        }
    }

    /// Starts the threads, and returns the simulator that may use so many bytes.
    fn simulator(&self, executors: Executors, available: u64) -> Result<Simulator, Failure> {
        let (threads, memory_limit) = (self.common.start_threads()?, Some(available));
        let n_qubits = self.compact.circuit().n_qubits();
        // A density matrix has the amplitudes of twice as many qubits.
        let width = if self.density { n_qubits.saturating_mul(2) } else { n_qubits };
        let max_rounds = self.common.max_steps.unwrap_or_else(|| rounds_in_seconds(width));
        Ok(Simulator::new()
            .with_executors(executors)
            .with_threads(threads)
            .with_memory_limit(memory_limit)
            .with_max_rounds(max_rounds))
    }

    /// Returns the computing part, with the observables if they have no parameters.
    fn task(&self, simulator: Simulator) -> Result<SweepTask<'_>, Failure> {
        let progress = Mutex::new(Progress::new(self.terminal, "gates"));
        let mut task = SweepTask {
            args: self.args,
            common: self.common,
            whole: self.whole,
            compact: &self.compact,
            simulator,
            observables: &self.observables,
            constant: None,
            outputs: &self.outputs,
            density: self.density,
            marginal: self.marginal.as_ref(),
            progress,
        };
        if self.observables.iter().all(|observable| observable.sum.params().is_empty()) {
            task.constant = Some(task.observables(&self.points, 0)?.into_owned());
        }
        Ok(task)
    }

    /// Computes all runs, with the error bars of their expectation values; returns the name of the
    /// backend, too.
    fn compute<T: Number + DualNum>(
        &self,
        task: &SweepTask<'_>,
        start_state: Option<StateVector<Complex<T>>>,
    ) -> Result<(Vec<RunResult<T>>, String), Failure> {
        let points = &self.points;
        let (mut computed, backend) =
            task.points(points, start_state).map_err(|e| points.located(e))?;
        if let Some(sources) = &self.sources {
            let energy = parametric_of::<T>(
                self.whole.clone(),
                &self.observables,
                self.args.input.as_deref(),
                self.common,
                self.terminal,
            )?;
            errors::add(&mut computed, sources, &energy, points)?;
        }
        Ok((computed, backend))
    }

    /// Says that states are those of the first shot, if there are others.
    fn note_first_shot(&self) {
        if self.over_shots && self.args.keeps_state() {
            let rest = if self.args.observables.is_empty() {
                ""
            } else {
                "; expectation values are means over shots"
            };
            self.terminal.note(&format!(
                "note: amplitudes and probabilities are those of the first shot{rest}"
            ));
        }
    }

    /// Returns the results, of what was computed in so many seconds.
    fn into_results<T>(
        self,
        computed: Vec<RunResult<T>>,
        backend: String,
        seconds: f64,
    ) -> Results<T> {
        let RunSetup { args, common, .. } = self;
        Results {
            n_qubits: self.whole.n_qubits(),
            precision: common.precision().name(),
            backend,
            observables: self.observables.into_iter().map(|o| o.text).collect(),
            points: computed,
            sweep: self.points.sweep,
            shots: args.shots,
            amplitudes: args.amplitudes,
            probabilities: args.probabilities,
            variance: args.variance,
            covariance: args.covariance,
            marginal: self.marginal,
            seconds,
            json: common.json,
            compact: self.compact,
        }
    }
}

/// Says which outputs the circuit does not compute.
fn note_missing_outputs(circuit: &Circuit, declared: &[String], terminal: &Terminal) {
    let registers = circuit.registers().iter().map(|register| &register.name);
    let known: Vec<&String> =
        registers.chain(circuit.variables().iter().map(|variable| &variable.name)).collect();
    let missing = declared.iter().filter(|name| !known.contains(name));
    let missing: Vec<String> = missing.map(|name| format!("`{name}`")).collect();
    if !missing.is_empty() {
        let (names, plural) = (missing.join(", "), if missing.len() == 1 { "" } else { "s" });
        terminal.note(&format!(
            "note: the output{plural} {names} of the file: outputs that are no bits are left out"
        ));
    }
}

/// Returns the circuit on the qubits that it uses.
fn compacted(args: &Run, circuit: &Circuit) -> Result<Compact, Failure> {
    // From another state than |0…0> no qubit is idle, and nothing is known.
    match &args.input {
        Some(_) => {
            check_width(circuit.n_qubits())?;
            Ok(Compact::whole(circuit.clone()))
        }
        None => Ok(circuit.folded().compact()),
    }
}

/// Refuses numbers that are not finite, or notes that null replaces them.
fn report_nonfinite<T: Number>(
    results: &Results<T>,
    common: &Common,
    terminal: &Terminal,
) -> Result<(), Failure> {
    if let Some((count, first)) = results.nonfinite() {
        if !common.allow_nonfinite {
            return Err(Failure::input(first).help("--allow-nonfinite prints null instead"));
        }
        let all = if count > 1 { format!(", the first of {count}") } else { String::new() };
        terminal.note(&format!("note: {first}{all}; null stands for it in JSON"));
    }
    Ok(())
}

/// Writes the states to a file, in rows if there are several, and drops those that are not printed.
fn write_output<T: Number>(
    path: &Path,
    results: &mut Results<T>,
    rows: Option<usize>,
    prints_state: bool,
) -> Result<(), Failure> {
    let states: Vec<_> = results.points.iter().filter_map(|point| point.state.as_ref()).collect();
    write_whole(path, |out| npy::write_states(&states, results.n_qubits, rows, out))?;
    if !prints_state {
        results.points.iter_mut().for_each(|point| point.state = None);
    }
    Ok(())
}

/// Refuses what is exact of a circuit that is run shot by shot, the probabilities of some qubits
/// included where noise is drawn.
fn refuse_exact(args: &Run, circuit: &Circuit, error_bars: bool) -> Result<(), Failure> {
    refuse_means(args, error_bars)?;
    if circuit.has_channels() && !args.qubits.is_empty() && args.probabilities {
        let message = "--qubits: the noise of this circuit is drawn shot by shot, so that there are no probabilities";
        return Err(Failure::input(message)
            .help("--shots counts the outcomes, --method density computes them exactly"));
    }
    Ok(())
}

/// Refuses what is exact about expectation values of a circuit that is run shot by shot.
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
        let text = if circuit.has_results() { text_length(circuit) } else { compact.n_qubits() };
        let outcomes = shots.min(bytes_needed::<u8>(n_qubits));
        let counts = outcomes
            .saturating_mul(text as u128 + circuit.registers().len() as u128 + BYTES_PER_COUNT);
        needs.add("the counts", counts.saturating_mul(runs as u128));
    }
    needs
}

/// Returns about how many bytes the text of an outcome has.
fn text_length(circuit: &Circuit) -> usize {
    let shown = circuit.variables().iter().filter(|variable| !variable.hidden);
    // A number with its separator, in an array.
    let each = shown.map(|v| v.name.len() + v.ty.n_elements().saturating_mul(24));
    each.fold(circuit.n_bits(), usize::saturating_add)
}
