//! Definitions of gates that the standard files lack, by gates that they have.
//!
//! One circuit per gate, equal to its matrix with the phase, since a `ctrl @` or a control shows
//! the phase. The printers write it as a `gate` definition, and the lowering adds controls to its
//! gates.

use super::names::UniqueNames;
use crate::{
    circuit::{Circuit, CircuitError},
    gate::GateKind,
    param::{Angle, Q},
};

/// Returns a circuit equal to a gate, phase included, of gates of `stdgates.inc` and earlier
/// definitions. Its inputs are the gate's parameters, its qubits the targets in order. Returns
/// `None` for a gate that is not defined by others.
///
/// # Errors
/// [`CircuitError`] does not occur; it is the type of every method that appends gates.
pub fn definition(kind: GateKind) -> Result<Option<Circuit>, CircuitError> {
    let mut c = Circuit::new(kind.n_qubits());
    let params: Vec<Angle> = kind.param_names().iter().map(|name| c.param(name)).collect();
    let half = |a: &Angle| a.clone() * Q::new_raw(1, 2);
    match (kind, &*params) {
        // The textbook matrix is e^{i(phi + lambda)/2} RZ(phi) RY(theta) RZ(lambda).
        (GateKind::UG, [theta, phi, lambda, gamma]) => {
            c.gphase(gamma + &half(&(phi + lambda)))?.rz(0, lambda)?.ry(0, theta)?.rz(0, phi)?
        }
        (GateKind::R, [theta, phi]) => c.rz(0, -phi)?.rx(0, theta)?.rz(0, phi)?,
        (GateKind::ISWAP, _) => c.s(0)?.s(1)?.h(0)?.cx(0, 1)?.cx(1, 0)?.h(1)?,
        (GateKind::ISWAPDG, _) => c.h(1)?.cx(1, 0)?.cx(0, 1)?.h(0)?.sdg(1)?.sdg(0)?,
        (GateKind::ECR, _) => c.gphase(Angle::pi(-1, 4))?.s(0)?.sx(1)?.cx(0, 1)?.x(0)?,
        (GateKind::DCX, _) => c.cx(0, 1)?.cx(1, 0)?,
        (GateKind::DCXDG, _) => c.cx(1, 0)?.cx(0, 1)?,
        (GateKind::RXX, [theta]) => c.h(0)?.h(1)?.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?.h(1)?.h(0)?,
        (GateKind::RYY, [theta]) => {
            c.sx(0)?.sx(1)?.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?.sxdg(1)?.sxdg(0)?
        }
        (GateKind::RZZ, [theta]) => c.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?,
        (GateKind::RZX, [theta]) => c.h(1)?.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?.h(1)?,
        (GateKind::FSIM, [theta, phi]) => c.rxx(0, 1, theta)?.ryy(0, 1, theta)?.cp(0, 1, -phi)?,
        (GateKind::RCCX, _) => {
            c.h(2)?.t(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?.t(2)?.cx(1, 2)?.tdg(2)?.h(2)?
        }
        _ => return Ok(None),
    };
    Ok(Some(c))
}

/// The names of the parameters and of the qubits in a definition.
pub(super) struct Formals {
    pub(super) params: Vec<String>,
    pub(super) qubits: Vec<String>,
}

impl Formals {
    /// Returns short names: a parameter's own if it is the only one, else `p0`, `p1`, … since some
    /// readers of OpenQASM 3 assign values in alphabetical order; `q0`, `q1`, … for the qubits.
    pub(super) fn usual(body: &Circuit) -> Formals {
        let params = match body.params() {
            [only] => vec![only.name.clone()],
            several => (0..several.len()).map(|i| format!("p{i}")).collect(),
        };
        Formals { params, qubits: (0..body.n_qubits()).map(|i| format!("q{i}")).collect() }
    }

    /// Returns the parameters and qubits of the source, made valid names of the language. For
    /// readers that sort by name, parameters that are not in alphabetical order get their numbers
    /// as a prefix: `p0_theta`, `p1_phi`.
    pub(super) fn own(body: &Circuit, names: &mut UniqueNames, for_alphabet: bool) -> Formals {
        let wanted: Vec<&str> =
            body.params().iter().map(|p| p.name.trim_end_matches(']')).collect();
        let given: Vec<String> = wanted.iter().map(|name| names.allocate(name)).collect();
        let params = match for_alphabet && !given.is_sorted() {
            false => given,
            true => {
                let digits = (wanted.len() - 1).to_string().len();
                let numbered =
                    wanted.iter().enumerate().map(|(k, name)| format!("p{k:0digits$}_{name}"));
                numbered.map(|name| names.allocate(&name)).collect()
            }
        };
        let mut qubits = Vec::with_capacity(body.n_qubits());
        for register in body.qubit_registers() {
            match register.size {
                1 => qubits.push(names.allocate(&register.name)),
                size => qubits
                    .extend((0..size).map(|k| names.allocate(&format!("{}{k}", register.name)))),
            }
        }
        Formals { params, qubits }
    }

    pub(super) fn qubit(&self, number: u32) -> String {
        self.qubits.get(number as usize).cloned().unwrap_or_default()
    }

    /// The first line of a definition of this name.
    pub(super) fn head(&self, name: &str) -> String {
        let params = if self.params.is_empty() {
            String::new()
        } else {
            format!("({})", self.params.join(", "))
        };
        format!("gate {name}{params} {} {{", self.qubits.join(", "))
    }
}
