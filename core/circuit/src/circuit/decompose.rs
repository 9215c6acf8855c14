//! Rotations about Pauli strings in gates of the table.
//!
//! ```text
//! X ─[H]─────●─────────────●─[H]──────
//! Y ─[S†]─[H]⊕──●───────●──⊕─[H]─[S]─        Z = H X H = (S H)^dagger Y (S H)
//! Z ────────────⊕─[RZ]──⊕─────────────
//! ```
//! Only RZ is under the controls. Strings of up to one letter, and of two equal ones, are gates of
//! the table. Consecutive rotations whose strings are Z alone on the same qubits, as in the chains
//! of Jordan and Wigner, share their CX gates.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Circuit, Condition, Control, Instruction, Operation, Part, PauliRotation, Qubits};
use crate::{
    gate::{Gate, GateKind},
    observable::Pauli,
    param::{Angle, Q},
};

impl Circuit {
    /// Returns the circuit with gates of the table for rotations about Pauli strings: changes of
    /// basis, chains of CX, and RZ. Everything else is unchanged.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let mut c = Circuit::new(2);
    /// c.pauli_rotation(&"X0 Z1".parse()?, 0.5)?;
    /// assert_eq!(c.decomposed().to_string(), "h q[0]\ncx q[0], q[1]\nrz(0.5) q[1]\ncx q[0], q[1]\nh q[0]\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn decomposed(&self) -> Circuit {
        let mut out = Circuit {
            n_qubits: self.n_qubits,
            qubit_registers: self.qubit_registers.clone(),
            params: self.params.clone(),
            registers: self.registers.clone(),
            n_bits: self.n_bits,
            variables: self.variables.clone(),
            instructions: Vec::with_capacity(self.instructions.len()),
            calls: self.calls.clone(),
            open: Vec::new(),
        };
        let mut heads: Vec<usize> = Vec::new();
        for part in self.parts() {
            match part {
                Part::Run(run) => {
                    for alike in run.chunk_by(shares_chain) {
                        GateSink {
                            out: &mut out.instructions,
                            condition: alike[0].condition.as_ref(),
                        }
                        .of_run(alike);
                    }
                }
                Part::Open { head, .. } => {
                    heads.push(out.instructions.len());
                    out.instructions.push(head.clone());
                }
                Part::Close { .. } => {
                    if let Some(at) = heads.pop() {
                        out.set_body(at);
                    }
                }
            }
        }
        out
    }
}

/// Returns the rotation of an instruction, if it is one.
fn rotation(instruction: &Instruction) -> Option<&PauliRotation> {
    match &instruction.operation {
        Operation::PauliRotation(rotation) => Some(rotation),
        _ => None,
    }
}

/// Returns the targets on which a string is Z, if it has no other letters.
fn z_alone<'a>(rotation: &'a PauliRotation, targets: &'a [u32]) -> impl Iterator<Item = u32> + 'a {
    rotation
        .letters()
        .iter()
        .zip(targets)
        .filter(|(letter, _)| **letter == Pauli::Z)
        .map(|(_, &q)| q)
}

/// Returns true if two instructions are rotations about strings of Z alone on the same qubits.
fn shares_chain(a: &Instruction, b: &Instruction) -> bool {
    match (rotation(a), rotation(b)) {
        (Some(r), Some(s)) => {
            z_alone(r, &a.targets).eq(z_alone(s, &b.targets)) && a.condition == b.condition
        }
        _ => false,
    }
}

/// Output of the decomposition.
struct GateSink<'a> {
    out: &'a mut Vec<Instruction>,
    condition: Option<&'a Arc<Condition>>,
}

impl GateSink<'_> {
    fn push(
        &mut self,
        kind: GateKind,
        angle: Option<Angle>,
        targets: &[u32],
        controls: &[Control],
    ) {
        // The kinds here accept the angles that they are given.
        if let Ok(gate) = Gate::new(kind, angle) {
            self.out.push(Instruction {
                operation: Operation::Gate(gate),
                targets: targets.into(),
                controls: controls.into(),
                condition: self.condition.cloned(),
            });
        }
    }

    fn cx(&mut self, control: u32, target: u32) {
        self.push(GateKind::X, None, &[target], &[Control { qubit: control, value: true }]);
    }

    /// Decomposes one instruction, or rotations whose strings are Z alone on the same qubits, whose
    /// parity is computed on the last one.
    fn of_run(&mut self, run: &[Instruction]) {
        let [first, _, ..] = run else {
            return run.iter().for_each(|instruction| match rotation(instruction) {
                Some(rotation) => {
                    self.rotation(rotation, &instruction.targets, &instruction.controls)
                }
                None => self.out.push(instruction.clone()),
            });
        };
        let shared: Qubits =
            rotation(first).into_iter().flat_map(|r| z_alone(r, &first.targets)).collect();
        shared.windows(2).for_each(|pair| self.cx(pair[0], pair[1]));
        let gone = &shared[..shared.len().saturating_sub(1)];
        for instruction in run {
            let Some(rotation) = rotation(instruction) else { continue };
            let factors = rotation.letters().iter().zip(&instruction.targets);
            let (letters, targets): (SmallVec<[Pauli; 16]>, Qubits) =
                factors.filter(|(_, q)| !gone.contains(q)).map(|(letter, q)| (*letter, *q)).unzip();
            let rotation = PauliRotation::new(letters, rotation.angle().clone());
            self.rotation(&rotation, &targets, &instruction.controls);
        }
        shared.windows(2).rev().for_each(|pair| self.cx(pair[0], pair[1]));
    }

    fn rotation(&mut self, rotation: &PauliRotation, targets: &[u32], controls: &[Control]) {
        let angle = rotation.angle();
        let one = match *rotation.letters() {
            [] => {
                let phase = angle.clone() * Q::new_raw(-1, 2);
                return self.push(GateKind::GPHASE, Some(phase), targets, controls);
            }
            [Pauli::X] => Some(GateKind::RX),
            [Pauli::Y] => Some(GateKind::RY),
            [Pauli::Z] => Some(GateKind::RZ),
            [Pauli::X, Pauli::X] => Some(GateKind::RXX),
            [Pauli::Y, Pauli::Y] => Some(GateKind::RYY),
            [Pauli::Z, Pauli::Z] => Some(GateKind::RZZ),
            _ => None,
        };
        if let Some(kind) = one {
            return self.push(kind, Some(angle.clone()), targets, controls);
        }
        let letters = || rotation.letters().iter().zip(targets);
        for (letter, &q) in letters() {
            if *letter == Pauli::Y {
                self.push(GateKind::SDG, None, &[q], &[]);
            }
            if *letter != Pauli::Z {
                self.push(GateKind::H, None, &[q], &[]);
            }
        }
        targets.windows(2).for_each(|pair| self.cx(pair[0], pair[1]));
        self.push(GateKind::RZ, Some(angle.clone()), &targets[targets.len() - 1..], controls);
        targets.windows(2).rev().for_each(|pair| self.cx(pair[0], pair[1]));
        for (letter, &q) in letters() {
            if *letter != Pauli::Z {
                self.push(GateKind::H, None, &[q], &[]);
            }
            if *letter == Pauli::Y {
                self.push(GateKind::S, None, &[q], &[]);
            }
        }
    }
}
