//! The verb `amplitudes`: the amplitudes of a circuit, and expectation values, as formulas in its
//! parameters.

use std::time::Instant;

use ketgrad_core::{
    circuit::Circuit,
    exact::{Budget, ClosedForm, Exact, Form, Formula},
    simulate::Simulator,
    state::bytes_needed,
};
use serde_json::{Map, Value, json};

use crate::{
    answer::answer,
    formula::{check_computed, check_names, failure, note_decimals},
    memory::Needs,
    noise::{Unwritten, read_noisy},
    observables::{self, Parametric},
    options::{Amplitudes, Common},
    params::Points,
    polynomial::Polynomial,
    report::Failure,
    terminal::{Answer, Terminal},
};

/// Bytes for each term that a run may end with: four times as many while a gate runs, each of 32
/// bytes, and the list of pairs that a product sorts.
const BYTES_PER_TERM: u64 = 256;

/// Runs `amplitudes`.
///
/// # Errors
/// [`Failure`] if the circuit, its parameters or the basis states are at fault, or a formula grows
/// too long.
pub(crate) fn amplitudes(
    args: &Amplitudes,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let form = args.settle()?;
    let (circuit, given) = read_noisy(&args.file, &args.values, Unwritten::None, common, terminal)?;
    given.refuse_errors("`amplitudes`")?;
    let observables = observables::read_all(&args.observables, &circuit, &given, true)?;
    let own = observables::own_params(&observables, &circuit);
    let points = Points::one_known(&circuit, own, &given)?;
    let observables = points.bound(&observables)?;
    let circuit = points.circuit(&circuit, 0).map_err(|e| points.located(e))?;
    check_computed(&circuit)?;
    note_decimals(&circuit, terminal);
    let n_qubits = circuit.n_qubits();
    args.basis.iter().try_for_each(|bits| check_basis(bits, n_qubits))?;
    let names = parameters(&circuit, &observables);
    let compact = circuit.folded().compact();
    let circuit = compact.circuit();
    let mut needs = Needs::default();
    needs.add("the amplitudes", bytes_needed::<Exact>(circuit.n_qubits()));
    let memory = needs.check("a state in closed form", common.memory_limit)?;
    let simulator =
        Simulator::new().with_threads(common.start_threads()?).with_memory_limit(memory);
    let room = usize::try_from(memory / BYTES_PER_TERM).unwrap_or(usize::MAX);
    let budget = Budget { terms: Budget::default().terms.min(room) };

    let start = Instant::now();
    let state = ClosedForm::within(circuit, &simulator, budget).map_err(failure)?;
    check_names(state.symbols())?;
    let written = |formula: &Formula| {
        if args.expand { formula.expanded(form) } else { formula.text(form) }
    };
    let mut object =
        vec![("n_qubits", n_qubits.into()), ("parameters", names), ("exact", true.into())];
    let mut text = String::new();
    let mut expectations: Vec<Value> = Vec::new();
    for Parametric { text: observable, sum } in &observables {
        if let (Form::Latex, Some(name)) = (form, sum.params().first()) {
            let message =
                format_args!("--form latex: the parameter `{name}` of the observable has no value");
            return Err(
                Failure::input(message).help(format_args!("give it one with --set {name}=…"))
            );
        }
        let value = Polynomial::from_observable(sum, |sum| {
            let sum = compact.observable(&sum).map_err(Failure::input)?;
            state.expectation(&sum).map_err(failure)
        });
        let value = value?.text(written);
        text += &format!("{observable}: {value}\n");
        expectations.push(json!({"observable": observable, "value": value}));
    }
    if !expectations.is_empty() {
        object.push(("expectations", expectations.into()));
    }
    // Of a circuit with observables those amplitudes that are asked for.
    if args.basis.is_empty() && !observables.is_empty() {
        return Ok(answer(common, start, text, object));
    }
    let all = || state.support().map(|index| compact.bitstring(index)).collect();
    let asked: Vec<String> = if args.basis.is_empty() { all() } else { args.basis.clone() };
    let mut formulas = Map::new();
    for bits in asked {
        // Nothing is where an idle qubit is 1.
        let formula = compact
            .index(&bits)
            .map(|index| state.amplitude(index).map_err(failure))
            .transpose()?;
        if !common.json {
            text += &format!("{bits}: {}\n", formula.as_ref().map_or("0".to_owned(), written));
        } else if let Some(formula) = formula.filter(|formula| !formula.is_zero()) {
            formulas.insert(bits, written(&formula).into());
        }
    }
    object.push(("amplitudes", Value::Object(formulas)));
    Ok(answer(common, start, text, object))
}

/// Returns the names of the parameters that are still open.
fn parameters(circuit: &Circuit, observables: &[Parametric]) -> Value {
    let own = observables::own_params(observables, circuit);
    circuit.inputs().map(Value::from).chain(own.iter().map(|name| name.as_str().into())).collect()
}

/// Checks that bits name a basis state, qubit 0 rightmost.
fn check_basis(bits: &str, n_qubits: usize) -> Result<(), Failure> {
    if bits.len() == n_qubits && bits.bytes().all(|b| matches!(b, b'0' | b'1')) {
        return Ok(());
    }
    let plural = if n_qubits == 1 { "bit" } else { "bits" };
    Err(Failure::input(format_args!(
        "--basis needs {n_qubits} {plural}, one for each qubit, not `{bits}`"
    ))
    .help("qubit 0 is the rightmost bit, such as 01 for qubit 0 in 1 and qubit 1 in 0"))
}
