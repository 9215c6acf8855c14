//! Static texts: gate definitions with parameters, modifiers on them, loops, broadcasts. The
//! reference multiplies the matrices of the gates by the rules of the language.

use std::fmt::Write;

use ketgrad_core::{
    print,
    qasm::{QasmOptions, parse},
    simulate::Simulator,
};
use support::{
    dense::{C, DenseState, NAMES, Rows, dagger, named},
    pools::PoolAngle,
    random::Rng,
};

use crate::finding::{Checked, Finding, guarded, minimal};

/// Through some hundred gates.
const ROUNDING: f64 = 1e-11;
/// Largest number of gates that a case may take.
const MOST: usize = 4000;

/// A matrix on targets under controls.
#[derive(Clone, Debug)]
struct Act {
    matrix: Rows,
    targets: Vec<usize>,
    controls: Vec<(usize, bool)>,
}

/// An angle in a definition: `factor * parameter + constant`.
#[derive(Clone, Debug)]
struct Slope(Option<(usize, i64)>, PoolAngle);

impl Slope {
    fn text(&self) -> String {
        match self.0 {
            Some((k, n)) => format!("{n} * t{k} + {}", self.1),
            None => self.1.to_string(),
        }
    }
    fn value(&self, params: &[f64]) -> f64 {
        self.1.radians() + self.0.map_or(0.0, |(k, n)| n as f64 * params[k])
    }
}

/// A modifier.
#[derive(Clone, Copy, Debug)]
enum Modifier {
    Inv,
    Pow(i64),
    Ctrl(bool),
}

/// A gate by its name, or a definition by its number, with modifiers.
#[derive(Clone, Debug)]
struct Call {
    modifiers: Vec<Modifier>,
    what: Result<&'static str, usize>,
    angles: Vec<Slope>,
    /// Those of controls first.
    qubits: Vec<usize>,
    /// In a loop, with its number of iterations.
    rounds: usize,
}

#[derive(Clone, Debug)]
struct Definition {
    n_params: usize,
    n_qubits: usize,
    body: Vec<Call>,
}

#[derive(Clone, Debug)]
struct Text {
    version: u8,
    n_qubits: usize,
    definitions: Vec<Definition>,
    calls: Vec<Call>,
}

/// Names of both standard files.
const BOTH: [&str; 22] = [
    "x", "y", "z", "h", "s", "sdg", "t", "tdg", "sx", "rx", "ry", "rz", "p", "u3", "cx", "cz",
    "ch", "crz", "cu", "swap", "ccx", "cswap",
];

fn arity(name: &str) -> (usize, usize) {
    NAMES.iter().find(|n| n.0 == name).map_or((0, 1), |n| (n.1, n.2))
}

impl Text {
    fn draw(rng: &mut Rng) -> Text {
        let version = 2 + (rng.below(3) > 0) as u8;
        let n_qubits = 2 + rng.below(4);
        let mut text = Text { version, n_qubits, definitions: Vec::new(), calls: Vec::new() };
        for _ in 0..rng.below(4) {
            let (n_params, n) = (rng.below(3), 1 + rng.below(n_qubits.min(3)));
            let mut body = Vec::new();
            for _ in 0..1 + rng.below(4) {
                body.extend(text.call(rng, n, n_params));
            }
            text.definitions.push(Definition { n_params, n_qubits: n, body });
        }
        for _ in 0..1 + rng.below(12) {
            text.calls.extend(text.call(rng, n_qubits, 0));
        }
        text
    }

    /// A call that fits on a number of qubits.
    fn call(&self, rng: &mut Rng, n: usize, n_params: usize) -> Option<Call> {
        let (what, n_angles, k) = if rng.below(2) == 0 && !self.definitions.is_empty() {
            let which = rng.below(self.definitions.len());
            let Definition { n_params, n_qubits, .. } = self.definitions[which];
            (Err(which), n_params, n_qubits)
        } else {
            let name = BOTH[rng.below(BOTH.len())];
            (Ok(name), arity(name).0, arity(name).1)
        };
        let mut modifiers = Vec::new();
        let mut controls = 0;
        if self.version == 3 {
            for _ in 0..rng.below(6).saturating_sub(2) {
                modifiers.push(match rng.below(4) {
                    0 => Modifier::Inv,
                    1 => Modifier::Pow(rng.below(6) as i64 - 2),
                    _ => {
                        controls += 1;
                        Modifier::Ctrl(rng.below(2) == 0)
                    }
                });
            }
        }
        if k + controls > n {
            return None;
        }
        let angle = |rng: &mut Rng| {
            let constant = match rng.below(2) {
                0 => PoolAngle::Pi(rng.below(17) as i64 - 8, 1 + rng.below(8) as i64),
                _ => PoolAngle::Radians((rng.signed() * 1e3).round() / 256.0),
            };
            let slope = (n_params > 0 && rng.below(2) == 0)
                .then(|| (rng.below(n_params), rng.below(5) as i64 - 2));
            Slope(slope, constant)
        };
        let angles = (0..n_angles).map(|_| angle(rng)).collect();
        let qubits = rng.permutation(n)[..k + controls].to_vec();
        let rounds = if self.version == 3 && rng.below(6) == 0 { rng.below(4) } else { 1 };
        Some(Call { modifiers, what, angles, qubits, rounds })
    }

    fn write_call(&self, out: &mut String, call: &Call, qubit: &dyn Fn(usize) -> String) {
        if call.rounds != 1 {
            // Up to below 0 there is no round.
            let _ = write!(out, "for int i in [1:{}] {{ ", call.rounds);
        }
        for modifier in &call.modifiers {
            let _ = match modifier {
                Modifier::Inv => write!(out, "inv @ "),
                Modifier::Pow(k) => write!(out, "pow({k}) @ "),
                Modifier::Ctrl(value) => {
                    write!(out, "{} @ ", if *value { "ctrl" } else { "negctrl" })
                }
            };
        }
        match call.what {
            Ok(name) => out.push_str(name),
            Err(which) => {
                let _ = write!(out, "g{which}");
            }
        }
        if !call.angles.is_empty() {
            let angles: Vec<String> = call.angles.iter().map(Slope::text).collect();
            let _ = write!(out, "({})", angles.join(", "));
        }
        let qubits: Vec<String> = call.qubits.iter().map(|&q| qubit(q)).collect();
        let _ = write!(out, " {};", qubits.join(", "));
        out.push_str(if call.rounds == 1 { "\n" } else { " }\n" });
    }

    fn source(&self) -> String {
        let mut out = match self.version {
            2 => "OPENQASM 2.0;\ninclude \"qelib1.inc\";\n".to_owned(),
            _ => "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n".to_owned(),
        };
        for (k, definition) in self.definitions.iter().enumerate() {
            let params: Vec<String> = (0..definition.n_params).map(|k| format!("t{k}")).collect();
            let qubits: Vec<String> = (0..definition.n_qubits).map(|q| format!("b{q}")).collect();
            let params =
                if params.is_empty() { String::new() } else { format!("({})", params.join(", ")) };
            let _ = writeln!(out, "gate g{k}{params} {} {{", qubits.join(", "));
            for call in &definition.body {
                out.push_str("  ");
                self.write_call(&mut out, call, &|q| format!("b{q}"));
            }
            out.push_str("}\n");
        }
        let _ = match self.version {
            2 => writeln!(out, "qreg q[{}];", self.n_qubits),
            _ => writeln!(out, "qubit[{}] q;", self.n_qubits),
        };
        for call in &self.calls {
            self.write_call(&mut out, call, &|q| format!("q[{q}]"));
        }
        out
    }

    /// The matrices of a call, in order; `None` if they are too many.
    fn acts(&self, call: &Call, params: &[f64], qubits: &[usize]) -> Option<Vec<Act>> {
        let on: Vec<usize> = call.qubits.iter().map(|&q| qubits[q]).collect();
        let controls = call.modifiers.iter().filter(|m| matches!(m, Modifier::Ctrl(_))).count();
        let (control_qubits, targets) = on.split_at(controls);
        let angles: Vec<f64> = call.angles.iter().map(|a| a.value(params)).collect();
        let mut acts = match call.what {
            Ok(name) => {
                let gate = named(name, &angles);
                let (own, targets) = targets.split_at(gate.n_controls);
                let controls = own.iter().map(|&q| (q, true)).collect();
                vec![Act { matrix: gate.matrix, targets: targets.to_vec(), controls }]
            }
            Err(which) => {
                let mut acts = Vec::new();
                for inner in &self.definitions[which].body {
                    acts.extend(self.acts(inner, &angles, targets)?);
                }
                acts
            }
        };
        // The innermost modifier is the last; controls are in order of the text.
        let mut next = controls;
        for modifier in call.modifiers.iter().rev() {
            match modifier {
                Modifier::Inv => acts = inverse(&acts),
                Modifier::Pow(k) => {
                    let once = if *k < 0 { inverse(&acts) } else { acts };
                    acts = Vec::new();
                    for _ in 0..k.unsigned_abs() {
                        acts.extend(once.iter().cloned());
                    }
                }
                Modifier::Ctrl(value) => {
                    next -= 1;
                    acts.iter_mut()
                        .for_each(|act| act.controls.push((control_qubits[next], *value)));
                }
            }
            if acts.len() > MOST {
                return None;
            }
        }
        let all: Vec<Act> = (0..call.rounds).flat_map(|_| acts.clone()).collect();
        (all.len() <= MOST).then_some(all)
    }

    fn reference(&self) -> Option<DenseState> {
        let mut state = DenseState::zero(self.n_qubits);
        // Not on |0…0> alone, where controls do nothing.
        (0..self.n_qubits).for_each(|q| state.apply(&start(q), &[q], &[]));
        let qubits: Vec<usize> = (0..self.n_qubits).collect();
        let mut count = 0;
        for call in &self.calls {
            for Act { matrix, targets, controls } in self.acts(call, &[], &qubits)? {
                state.apply(&matrix, &targets, &controls);
                count += 1;
            }
        }
        (count <= MOST).then_some(state)
    }
}

/// The rotation that each qubit begins with.
fn start(q: usize) -> Rows {
    named("ry", &[0.5 + 0.4 * q as f64]).matrix
}

fn inverse(acts: &[Act]) -> Vec<Act> {
    acts.iter().rev().map(|act| Act { matrix: dagger(&act.matrix), ..act.clone() }).collect()
}

/// One seed.
pub(crate) fn check(rng: &mut Rng) -> Checked {
    let drawn = Text::draw(rng);
    let of = |calls: &[Call]| {
        let text = Text { calls: calls.to_vec(), ..drawn.clone() };
        guarded(&text.source(), || laws(&text))
    };
    of(&drawn.calls).map_err(|found| minimal(&drawn.calls, found, 200, of))
}

fn laws(text: &Text) -> Checked {
    let Some(reference) = text.reference() else { return Ok(()) };
    // The rotations at the beginning, after the declaration.
    let source = text.source();
    let starts: String =
        (0..text.n_qubits).map(|q| format!("ry({:?}) q[{q}];\n", 0.5 + 0.4 * q as f64)).collect();
    let declared =
        source.find("] q;\n").map(|at| at + 5).or_else(|| source.find("];\n").map(|at| at + 3));
    let at = declared.unwrap_or(source.len());
    let whole = format!("{}{starts}{}", &source[..at], &source[at..]);
    let version = text.version;
    let failed = |law: &str, detail: String| {
        Finding::new(format!("{law} (OpenQASM {version})"), detail, &whole)
    };
    let read = |source: &str| {
        let parsed = parse(source, &QasmOptions::default().with_max_gates(100_000));
        parsed.map(|p| p.circuit).map_err(|e| e.to_string())
    };
    let run = |circuit: &ketgrad_core::circuit::Circuit| -> Result<Vec<C>, String> {
        let state = Simulator::new().run::<f64>(circuit, &[]).map_err(|e| e.to_string())?;
        Ok(state.into_amplitudes())
    };
    let circuit = read(&whole).map_err(|e| failed("texts are read", e))?;
    let state = run(&circuit).map_err(|e| failed("circuits run", e))?;
    let off = reference.distance(&state);
    if off > ROUNDING {
        return Err(failed("texts mean their matrices", format!("off by {off:e}")));
    }
    let again =
        print::to_qasm3(&circuit).map_err(|e| failed("circuits are printed", e.to_string()))?;
    let off = read(&again).and_then(|c| run(&c)).map(|state| reference.distance(&state));
    match off {
        Ok(off) if off <= ROUNDING => Ok(()),
        other => Err(failed("printed texts mean the same", format!("{other:?}\n{again}"))),
    }
}
