//! The verb `equivalent`: whether two circuits are equal for all values of their parameters.

use std::{
    io::{self, Write},
    time::Instant,
};

use ketgrad_core::{
    circuit::Circuit,
    equivalent::{
        EquivalenceReport, EquivalenceSettings, Verdict, Witness, compared_qubits,
        equivalent as compare,
    },
    simulate::Simulator,
    state::bytes_needed,
};
use num_complex::Complex;
use serde_json::{Map, Value, json};

use crate::{
    given::Given,
    input::read_circuit,
    memory::Needs,
    options::{Common, Equivalent, Precision},
    params::Points,
    report::{Failure, Status},
    terminal::{Answer, Terminal},
};

struct EquivalenceOutcome {
    report: EquivalenceReport,
    seconds: f64,
    json: bool,
}

impl Answer for EquivalenceOutcome {
    fn status(&self) -> Status {
        match self.report.verdict {
            Verdict::Equal | Verdict::EqualUpToPhase => Status::Done,
            Verdict::Different => Status::Refused,
            Verdict::Unknown => Status::Undecided,
        }
    }

    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            serde_json::to_writer(&mut *out, &self.object())?;
            return writeln!(out);
        }
        self.text(out)
    }

    fn note(&self) -> Option<String> {
        let lines: Vec<String> = self.report.notes.iter().map(|n| format!("note: {n}")).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

impl EquivalenceOutcome {
    fn object(&self) -> Value {
        let r = &self.report;
        // A phase with parameters in it is a formula.
        let phase = r.phase.as_ref().map(|p| p.value.map_or_else(|| json!(p.text), |x| json!(x)));
        let witness = r
            .witness
            .as_ref()
            .map(|w| json!({"params": params(w), "distance": w.distance, "error_bound": w.error}));
        json!({
            "verdict": r.verdict.name(),
            "method": r.method.name(),
            "exact": r.exact,
            "error_bound": r.error_bound,
            "phase": phase,
            "witness": witness,
            "max_difference": r.max_difference,
            "reason": r.reason,
            "seconds": self.seconds,
        })
    }

    fn text(&self, out: &mut dyn Write) -> io::Result<()> {
        let r = &self.report;
        writeln!(out, "{}", r.verdict.name().replace('_', " "))?;
        if let Some(phase) = &r.phase {
            writeln!(out, "the first circuit is exp(i*({})) times the second", phase.text)?;
        }
        if let Some(witness) = &r.witness {
            let at: Vec<String> =
                witness.params.iter().map(|(name, x)| format!("{name}={x:?}")).collect();
            let place =
                if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
            writeln!(out, "distance {}{place}", distance(witness))?;
        }
        let exact = if r.exact { "exact" } else { "not exact" };
        write!(
            out,
            "by {}, {exact}, error bound {:.1e}",
            r.method.name().replace('_', " "),
            r.error_bound
        )?;
        match r.max_difference {
            Some(x) => writeln!(out, ", largest difference seen {x:.1e}")?,
            None => writeln!(out)?,
        }
        match &r.reason {
            Some(reason) => writeln!(out, "{reason}"),
            None => Ok(()),
        }
    }
}

/// Returns the digits of a distance that its error leaves, four at most.
fn distance(witness: &Witness) -> String {
    let Witness { distance, error, .. } = witness;
    let digits = (distance / error).log10().floor();
    // Not a number where both are 0.
    if digits.is_nan() || digits < 0.0 {
        return format!("at most {:.1e}", distance + error);
    }
    format!("{distance:.*e}", digits.min(3.0) as usize)
}

fn params(witness: &Witness) -> Map<String, Value> {
    witness.params.iter().map(|(name, x)| (name.clone(), json!(x))).collect()
}

/// Reads both circuits for the values that are given, and gives these to the parameters of each.
fn read_both(
    args: &Equivalent,
    common: &Common,
    terminal: &Terminal,
) -> Result<(Circuit, Circuit), Failure> {
    let all = Given::read(&args.values(), "--set")?;
    all.refuse_errors("`equivalent`")?;
    if !all.tables.is_empty() {
        let message = "--params takes a JSON file here: two circuits need not declare their inputs in one order";
        return Err(Failure::usage(message));
    }
    let (mut of_first, mut of_second) = (all.clone(), all.clone());
    let first = read_circuit(&args.first, &mut of_first, common, terminal)?;
    let second = read_circuit(&args.second, &mut of_second, common, terminal)?;
    let used = |given: &Given, circuit: &Circuit, name: &str| {
        circuit.inputs().any(|input| input == name)
            || given.read_for().iter().any(|other| other == name)
    };
    let (in_first, in_second) =
        (|name: &str| used(&of_first, &first, name), |name: &str| used(&of_second, &second, name));
    for (name, _) in all.texts() {
        if !in_first(name) && !in_second(name) {
            let inputs = first.inputs().chain(second.inputs());
            return Err(Failure::input(format_args!("neither circuit has a parameter `{name}`"))
                .nearest(name, inputs));
        }
    }
    Ok((
        Points::read_some(&first, &of_first.only(in_first))?,
        Points::read_some(&second, &of_second.only(in_second))?,
    ))
}

/// Runs `equivalent`.
///
/// # Errors
/// [`Failure`] if a circuit is at fault or the two cannot be compared.
pub(crate) fn equivalent(
    args: &Equivalent,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let on = args.settle()?;
    let (first, second) = read_both(args, common, terminal)?;
    let settings = EquivalenceSettings::default()
        .with_on(on)
        .with_tolerance(args.tolerance)
        .with_snap(args.snap)
        .with_ignore_measurements(args.ignore_measurements)
        .with_single(common.precision() == Precision::F32)
        .with_seed(common.seed());
    let mut needs = Needs::default();
    let state = bytes_needed::<Complex<f64>>(compared_qubits(&first, &second, &settings));
    needs.add("three vectors", state.saturating_mul(3));
    let memory = needs.check("the comparison", common.memory_limit)?;
    let simulator =
        Simulator::new().with_threads(common.start_threads()?).with_memory_limit(memory);

    let start = Instant::now();
    let report = compare(&first, &second, &settings, &simulator).map_err(Failure::input)?;
    Ok(Box::new(EquivalenceOutcome {
        report,
        seconds: start.elapsed().as_secs_f64(),
        json: common.json,
    }))
}
