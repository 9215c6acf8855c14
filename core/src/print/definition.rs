//! Gates that the standard files lack, from gates that they have.
//!
//! One circuit per gate, equal to its matrix with the phase, since a `ctrl @` or a control shows the
//! phase. The printers write it as a `gate` definition, and the lowering adds controls to its gates.

use crate::{
    circuit::{Circuit, CircuitError},
    gate::GateKind,
    param::{Angle, Q},
};

/// A circuit equal to a gate, phase included, from gates of `stdgates.inc` and earlier definitions.
/// Its inputs are the gate's parameters, its qubits the targets in order. `None` for a gate that is
/// not defined by others.
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
        (GateKind::RYY, [theta]) => c.sx(0)?.sx(1)?.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?.sxdg(1)?.sxdg(0)?,
        (GateKind::RZZ, [theta]) => c.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?,
        (GateKind::RZX, [theta]) => c.h(1)?.cx(0, 1)?.rz(1, theta)?.cx(0, 1)?.h(1)?,
        (GateKind::FSIM, [theta, phi]) => c.rxx(0, 1, theta)?.ryy(0, 1, theta)?.cp(0, 1, -phi)?,
        (GateKind::RCCX, _) => c.h(2)?.t(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?.t(2)?.cx(1, 2)?.tdg(2)?.h(2)?,
        _ => return Ok(None),
    };
    Ok(Some(c))
}

/// The names of a definition's parameters: the gate's own, or `p0`, `p1`, … where there are several,
/// since some readers of OpenQASM 3 give values in the order of the alphabet.
pub(super) fn formals(body: &Circuit) -> Vec<String> {
    match body.params() {
        [only] => vec![only.name.clone()],
        several => (0..several.len()).map(|i| format!("p{i}")).collect(),
    }
}
