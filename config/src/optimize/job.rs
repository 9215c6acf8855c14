//! The job file: what `optimize` shall do.
//!
//! ```toml
//! seed = 7                        # of the random start; --seed wins
//! # shots = 1000                  # energies from 1000 shots, by spsa, adam or nelder_mead
//! # grouping = "commuting"        # with shots: which terms are measured together; or qubit_wise
//!
//! [ansatz]
//! circuit = "ansatz.qasm"         # its `input` declarations are the parameters
//! # noise = "noise.toml"          # with the noise of a model, as --noise of other verbs
//! # set = ["p=0.01", "n=4"]       # inputs that keep their values, or that the circuit is read for, as --set of other verbs
//! # params = "held.json"          # as --params
//! # name = "hardware_efficient"   # or one by name, with layers, and qubits (or those of the molecule below)
//! # name = "qaoa"                 # with graph, a file of edges (or of Gset, DIMACS), and layers
//! # name = "uccsd"                # with qubits (spin orbitals) and electrons, or those of the molecule below
//!
//! [hamiltonian]
//! file = "h2.txt"                 # one term a line, or an FCIDUMP with the integrals of a molecule; the latter with
//! # mapping = "jordan_wigner"     # or parity, bravyi_kitaev
//! # frozen = [0]                  # orbitals of two electrons that stay there, counted from 0
//! # active = [1, 2, 5]            # the orbitals that are kept, in this order; all but the frozen ones
//! # taper = true                  # without the qubits that symmetries make superfluous
//! # penalty = 1.0                 # times the squares of the electrons of each spin too many or too few; the lowest level is
//! #                               # shown without it, and a weight that is enough where this one is not
//! # terms = "Z0 Z1 - 0.5*X0"      # or here
//! # name = "ising"                # with qubits, coupling = 1, field = 1, periodic = false
//! # name = "heisenberg"           # with qubits, couplings = [1, 1, 1], periodic = false
//! # name = "max_cut"              # with graph
//! # name = "h2"                   # or "lih"
//!
//! [optimizer]                     # lbfgs, unless told otherwise
//! method = "lbfgs"                # memory = 10
//! # method = "newton_cg"          # products = 50
//! # method = "nelder_mead"        # step = 0.25
//! # method = "adam"               # step = 0.05, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8
//! # method = "natural_gradient"   # step = 0.1, damping = 1e-3
//! # method = "spsa"               # reach = 0.15, stability = 20; step and width, which are calibrated unless they are given;
//! #                               # with shots this, unless told otherwise
//!
//! [stopping]
//! iterations = 1000               # at most
//! gradient = 1e-6                 # enough if no derivative is larger and the point is a minimum
//! change = 1e-12                  # enough if three values in a row change by no more, likewise; with shots means over windows
//! #                               # of iterations are compared by their standard errors instead
//!
//! [start]
//! random = 0.1                    # uniform from -0.1 to 0.1 where nothing else is said
//! set = ["theta[0]=pi/4"]         # as --set of other verbs
//! params = "point.json"           # as --params
//!
//! [output]
//! checkpoint = "job.checkpoint.json"
//! every = 10                      # iterations between checkpoints
//! curve = "job.svg"               # a picture in SVG
//! ```
//!
//! A strength of noise that is an input is a parameter, too, and stays a probability.
//!
//! Paths are taken from the folder of the job file; the names of the output are those of the job
//! file with another ending. A key that is not known and a value that does not fit are errors that
//! underline it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use ketgrad_core::{
    ansatz,
    basis::MAX_QUBITS,
    circuit::Circuit,
    observable::PauliSum,
    optimize::{
        Adam, Intervals, Lbfgs, NaturalGradient, NelderMead, NewtonCg, Optimizer, Spsa, Stopping,
        random_start,
    },
    simulate::{Grouping, Shots},
};

use super::{
    hamiltonian::{Electrons, HamiltonianSource, read_graph},
    inputs::{Inputs, same_file},
};
use crate::{
    files::read_text,
    given::Given,
    input::read_circuit,
    noise::{self, Unwritten},
    options::{Common, Optimize, ValueArgs},
    params::Points,
    report::Failure,
    section::{File, Section},
    terminal::Terminal,
};

/// The most layers of an ansatz.
const MOST_LAYERS: u64 = 10_000;

/// A variational job, everything read.
#[derive(Clone, Debug)]
pub(super) struct Job {
    pub(super) circuit: Circuit,
    pub(super) hamiltonian: PauliSum,
    /// Electrons of the Hamiltonian, if it is a molecule.
    pub(super) electrons: Option<Electrons>,
    /// Method of measuring energies; without it they are computed.
    pub(super) shots: Option<Shots>,
    pub(super) optimizer: Optimizer,
    pub(super) stopping: Stopping,
    /// Intervals that strengths of noise stay in.
    pub(super) intervals: Intervals,
    /// The numbers to begin with, which stand for the inputs ([`Intervals::start`]).
    pub(super) start: Vec<f64>,
    pub(super) checkpoint: PathBuf,
    /// Iterations between checkpoints.
    pub(super) every: usize,
    pub(super) curve: PathBuf,
}

impl Job {
    /// Reads a job and the files that it names.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong, in whichever file it is.
    pub(super) fn read(
        args: &Optimize,
        common: &Common,
        terminal: &Terminal,
    ) -> Result<Job, Failure> {
        if args.file == Path::new("-") {
            return Err(Failure::usage(
                "a job is a file: its checkpoints are kept beside it, and paths are taken from there",
            ));
        }
        let (name, text) = read_text(&args.file)?;
        let file = File { name, text };
        let document = file.document()?;
        let mut top = Section::top(&file, document.get_ref());
        // That of the command line or the config file wins.
        let seed = common.seed.or(top.integer("seed", 0, u64::MAX)?).unwrap_or(0);
        let shots = read_shots(&mut top, seed)?;
        let (ansatz, hamiltonian) = (top.section("ansatz")?, top.section("hamiltonian")?);
        let (optimizer, stopping) = (top.section("optimizer")?, top.section("stopping")?);
        let (start, output) = (top.section("start")?, top.section("output")?);
        top.finish()?;

        let folder = args.file.parent().unwrap_or(Path::new(""));
        let inputs = &mut Inputs { folder, files: vec![args.file.clone()] };
        let hamiltonian = HamiltonianSource::read(hamiltonian, inputs)?;
        let electrons = hamiltonian.electrons().cloned();
        let unwritten = if shots.is_some() { Unwritten::All } else { Unwritten::None };
        let circuit = read_noisy_ansatz(
            ansatz,
            inputs,
            hamiltonian.electrons(),
            unwritten,
            common,
            terminal,
        )?;
        noise::note_readings(&circuit, shots.is_some(), terminal);
        let hamiltonian = hamiltonian.sum(inputs, circuit.n_qubits())?;
        let optimizer = read_optimizer(optimizer, circuit.has_channels(), shots.is_some(), seed)?;
        let stopping = read_stopping(stopping)?;
        let intervals = Intervals(circuit.intervals());
        let start = read_start(start, inputs, &circuit, &intervals, seed)?;
        let (checkpoint, every, curve) = read_output(output, &args.file, inputs)?;
        Ok(Job {
            circuit,
            hamiltonian,
            electrons,
            shots,
            optimizer,
            stopping,
            intervals,
            start,
            checkpoint,
            every,
            curve,
        })
    }
}

/// Reads how energies are measured, if they are.
fn read_shots(top: &mut Section<'_, '_>, seed: u64) -> Result<Option<Shots>, Failure> {
    let count = top.integer("shots", 2, u64::from(u32::MAX))?;
    let grouping = match top.string("grouping")?.as_deref() {
        Some(_) if count.is_none() => return Err(top.wrong("grouping", "only with `shots`")),
        None | Some("qubit_wise") => Grouping::QubitWise,
        Some("commuting") => Grouping::Commuting,
        Some(other) => {
            return Err(top.unknown_name("grouping", other, &["qubit_wise", "commuting"]));
        }
    };
    Ok(count.map(|count| Shots { grouping, ..Shots::new(count as usize, seed) }))
}

/// Returns the circuit with its noise; inputs that keep their values are bound.
fn read_noisy_ansatz(
    mut section: Section<'_, '_>,
    inputs: &mut Inputs<'_>,
    electrons: Option<&Electrons>,
    unwritten: Unwritten,
    common: &Common,
    terminal: &Terminal,
) -> Result<Circuit, Failure> {
    let (model, values) = (section.string("noise")?, read_values(&mut section, inputs)?);
    let mut kept =
        Given::read(&values, "ansatz.set").map_err(|e| caused_by(&section, &values, e))?;
    let mut circuit = read_ansatz(&mut section, inputs, &mut kept, electrons, common, terminal)?;
    if let Some(path) = model {
        let noisy = noise::add(&inputs.path(path), &circuit, unwritten, terminal);
        circuit = noisy.map_err(|e| section.caused("noise", e))?;
    }
    Points::read_some(&circuit, &kept).map_err(|e| caused_by(&section, &values, e))
}

/// Values of inputs: `set` and `params`.
fn read_values(
    section: &mut Section<'_, '_>,
    inputs: &mut Inputs<'_>,
) -> Result<ValueArgs, Failure> {
    let set = section.strings("set")?;
    let params = section.string("params")?.map(|path| inputs.path(path)).into_iter().collect();
    Ok(ValueArgs { noise: None, set, params })
}

/// Attributes a failure of the values to the place of their cause.
fn caused_by(section: &Section<'_, '_>, values: &ValueArgs, failure: Failure) -> Failure {
    section.caused(if values.set.is_empty() { "params" } else { "set" }, failure)
}

fn read_ansatz(
    section: &mut Section<'_, '_>,
    inputs: &mut Inputs<'_>,
    given: &mut Given,
    electrons: Option<&Electrons>,
    common: &Common,
    terminal: &Terminal,
) -> Result<Circuit, Failure> {
    let (path, name) = (section.string("circuit")?, section.string("name")?);
    let layers = |section: &mut Section<'_, '_>| section.count("layers", 0, MOST_LAYERS);
    let made = match (path, name.as_deref()) {
        (Some(path), None) => {
            section.finish()?;
            return read_circuit(&inputs.path(path), given, common, terminal)
                .map_err(|e| section.caused("circuit", e));
        }
        (None, Some("hardware_efficient")) => {
            // A molecule says how many.
            let qubits = match (section.integer("qubits", 1, MAX_QUBITS as u64)?, electrons) {
                (Some(qubits), _) => qubits as usize,
                (None, Some(electrons)) => electrons.n_qubits(),
                (None, None) => section.qubits("qubits")?,
            };
            let layers = layers(section)?;
            section.finish()?;
            check_gates((2 * qubits as u64).saturating_mul(layers as u64 + 1), common, section)?;
            ansatz::hardware_efficient(qubits, layers)
        }
        (None, Some("qaoa")) => {
            let graph = read_graph(section, inputs)?;
            let layers = layers(section)?;
            section.finish()?;
            let gates = ((graph.edges().len() + graph.n_vertices()) as u64) * layers as u64;
            check_gates(gates, common, section)?;
            ansatz::qaoa(&graph, layers)
        }
        (None, Some("uccsd")) => {
            let (spin_orbitals, filled) = read_electrons(section, electrons)?;
            section.finish()?;
            // Doubles of any spin have 8 strings each, singles 2: an instruction each.
            let pairs = |n: u64| n * n.saturating_sub(1) / 2;
            let (n, occupied) = (spin_orbitals as u64, filled as u64);
            let empty = n.saturating_sub(occupied);
            let gates = 2 * occupied * empty + 8 * pairs(occupied) * pairs(empty);
            check_gates(gates, common, section)?;
            match electrons {
                Some(electrons) => electrons.uccsd(),
                None => ansatz::uccsd(spin_orbitals, filled),
            }
        }
        (None, Some(other)) => {
            return Err(section.unknown_name(
                "name",
                other,
                &["hardware_efficient", "qaoa", "uccsd"],
            ));
        }
        (Some(_), Some(_)) => {
            return Err(section.wrong("name", "an ansatz has a `circuit` or a `name`, not both"));
        }
        (None, None) => {
            return Err(section.incomplete("`circuit` with a file in OpenQASM, or `name`"));
        }
    };
    made.map_err(|e| section.wrong("name", e))
}

/// Returns the numbers of spin orbitals and of electrons: those of the molecule, if the Hamiltonian
/// is one.
fn read_electrons(
    section: &mut Section<'_, '_>,
    electrons: Option<&Electrons>,
) -> Result<(usize, usize), Failure> {
    if let Some(Electrons { molecule, .. }) = electrons {
        for key in ["qubits", "electrons"] {
            if section.integer(key, 0, u64::MAX)?.is_some() {
                return Err(section
                    .wrong(key, "the molecule of [hamiltonian] says it")
                    .help("leave it out"));
            }
        }
        return Ok((2 * molecule.n_orbitals(), molecule.n_electrons()));
    }
    let (qubits, electrons) = (section.qubits("qubits")?, section.count("electrons", 0, 63)?);
    if electrons > qubits {
        let message =
            format!("{electrons} electrons do not fit into {qubits} spin orbitals, one a qubit");
        return Err(section.wrong("electrons", message));
    }
    Ok((qubits, electrons))
}

/// Refuses an ansatz of too many gates before it is built.
fn check_gates(gates: u64, common: &Common, section: &Section<'_, '_>) -> Result<(), Failure> {
    if gates > common.max_gates() {
        let message =
            format!("the ansatz may have {gates} gates, more than {}", common.max_gates());
        return Err(section.wrong("name", message).help("--max-gates allows more"));
    }
    Ok(())
}

fn read_optimizer(
    mut section: Section<'_, '_>,
    noise: bool,
    shots: bool,
    seed: u64,
) -> Result<Optimizer, Failure> {
    let set = |section: &mut Section<'_, '_>, key, value: &mut f64| -> Result<(), Failure> {
        *value = section.number(key)?.unwrap_or(*value);
        Ok(())
    };
    let method = section.string("method")?;
    let usual = if shots { "spsa" } else { "lbfgs" };
    let optimizer: Optimizer = match method.as_deref().unwrap_or(usual) {
        exact @ ("lbfgs" | "newton_cg" | "natural_gradient") if shots => {
            let message = format_args!("{exact} takes exact values, not those of shots");
            return Err(section
                .wrong("method", message)
                .help("spsa, adam and nelder_mead run on shots"));
        }
        "lbfgs" => {
            let memory = section.integer("memory", 1, 1000)?;
            memory
                .map_or(Lbfgs::default(), |memory| Lbfgs::default().with_memory(memory as usize))
                .into()
        }
        "newton_cg" => {
            let products = section.integer("products", 1, 1_000_000)?;
            products
                .map_or(NewtonCg::default(), |products| {
                    NewtonCg::default().with_products(products as usize)
                })
                .into()
        }
        "nelder_mead" => {
            let mut settings = NelderMead::default();
            set(&mut section, "step", &mut settings.step)?;
            settings.into()
        }
        "adam" => {
            let mut settings = Adam::default();
            set(&mut section, "step", &mut settings.step)?;
            set(&mut section, "beta1", &mut settings.beta1)?;
            set(&mut section, "beta2", &mut settings.beta2)?;
            set(&mut section, "epsilon", &mut settings.epsilon)?;
            settings.into()
        }
        "natural_gradient" if noise => {
            let message = "the natural gradient takes the metric of state vectors, which a circuit with noise does not have";
            return Err(section
                .wrong("method", message)
                .help("lbfgs, adam, newton_cg, nelder_mead and spsa run it"));
        }
        "natural_gradient" => {
            let mut settings = NaturalGradient::default();
            set(&mut section, "step", &mut settings.step)?;
            set(&mut section, "damping", &mut settings.damping)?;
            settings.into()
        }
        "spsa" => {
            let mut settings = Spsa::default().with_seed(seed);
            settings.step = section.number("step")?;
            settings.width = section.number("width")?;
            set(&mut section, "reach", &mut settings.reach)?;
            set(&mut section, "stability", &mut settings.stability)?;
            settings.into()
        }
        other => {
            let known = ["lbfgs", "newton_cg", "nelder_mead", "adam", "natural_gradient", "spsa"];
            return Err(section.unknown_name("method", other, &known));
        }
    };
    section.finish()?;
    if let Some((key, value, expected)) = optimizer.fault() {
        return Err(section.wrong(key, format_args!("it is {value}, expected {expected}")));
    }
    Ok(optimizer)
}

fn read_stopping(mut section: Section<'_, '_>) -> Result<Stopping, Failure> {
    let default = Stopping::default();
    let gradient = section.size("gradient")?.unwrap_or(default.gradient);
    let change = section.size("change")?.unwrap_or(default.change);
    let iterations = section.integer("iterations", 0, u64::from(u32::MAX))?;
    section.finish()?;
    Ok(Stopping::default()
        .with_iterations(iterations.map_or(default.iterations, |n| n as usize))
        .with_gradient(gradient)
        .with_change(change))
}

/// Reads the values that are given and draws random numbers for the rest; these do not depend on
/// what is given.
fn read_start(
    mut section: Section<'_, '_>,
    inputs: &mut Inputs<'_>,
    circuit: &Circuit,
    intervals: &Intervals,
    seed: u64,
) -> Result<Vec<f64>, Failure> {
    let width = section.size("random")?.unwrap_or(0.1);
    let values = read_values(&mut section, inputs)?;
    section.finish()?;
    let given = Given::read(&values, "start.set").and_then(|given| Points::some(circuit, &given));
    let given = given.map_err(|e| caused_by(&section, &values, e))?;
    let random = intervals.inputs(&random_start(given.len(), width, seed));
    let start: Vec<f64> =
        given.into_iter().zip(random).map(|(x, random)| x.unwrap_or(random)).collect();
    intervals.start(&start).map_err(|outside| {
        let name = circuit.inputs().nth(outside.input).unwrap_or_default();
        let [low, high] = outside.interval;
        let message = format!(
            "`{name}` begins at {}, but noise is defined from {low} to {high} only",
            outside.value
        );
        caused_by(&section, &values, Failure::input(message))
    })
}

fn read_output(
    mut section: Section<'_, '_>,
    file: &Path,
    inputs: &Inputs<'_>,
) -> Result<(PathBuf, usize, PathBuf), Failure> {
    let mut path = |key, ending: &str| -> Result<PathBuf, Failure> {
        Ok(match section.string(key)? {
            Some(path) if path.is_empty() => {
                return Err(section.wrong(key, "expected the name of a file, given none"));
            }
            Some(path) => inputs.folder.join(path),
            None => file.with_extension(ending),
        })
    };
    let (checkpoint, curve) = (path("checkpoint", "checkpoint.json")?, path("curve", "svg")?);
    let every = section.integer("every", 1, u64::from(u32::MAX))?.map_or(10, |n| n as usize);
    section.finish()?;
    for (key, written) in [("checkpoint", &checkpoint), ("curve", &curve)] {
        if let Some(read) = inputs.files.iter().find(|read| same_file(read, written)) {
            let message = format_args!("{} is another file of the job", read.display());
            return Err(section.wrong(key, message).help("it would be overwritten"));
        }
    }
    // A checkpoint is renamed into its place: a device there would be gone.
    if fs::metadata(&checkpoint).is_ok_and(|there| !there.is_file()) {
        let message = format_args!("{} exists and is no file", checkpoint.display());
        return Err(section.wrong("checkpoint", message));
    }
    if same_file(&checkpoint, &curve) {
        let message = format_args!("{} is another file of the job", curve.display());
        return Err(section.wrong("checkpoint", message));
    }
    if let Some(ending) = curve.extension().filter(|ending| !ending.eq_ignore_ascii_case("svg")) {
        let message = format_args!("the curve is a picture in SVG, not in {}", ending.display());
        return Err(section.wrong("curve", message).help("give it a name that ends in .svg"));
    }
    Ok((checkpoint, every, curve))
}
