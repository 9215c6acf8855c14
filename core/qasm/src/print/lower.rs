//! Lowering of gates under controls to the gates of OpenQASM 2, which has no controls except for
//! those in a name.
//!
//! ```text
//!  C^n P(t):   ──●─────●─────────●──        rotations and phases have roots: every control
//!              ──●─────●─────────●──        takes one away and halves the angle. A C^m X with
//!              ──●  =  ⊕──●───⊕──●── …      the target idle costs O(m)
//!              ─[P]──────[P†]──[P]──
//! ```
//! - A control of value 0 is between two `x`.
//! - X, Y, H, SX are phases in another basis; a general one-qubit gate is a phase and three
//!   rotations.
//! - A gate on more qubits is its [`definition`] (or its synthesis) with controls on every gate,
//!   but for gates at both ends that undo each other.
//!
//! The result equals the original with its phase, except for a phase of the whole state, which is
//! dropped. n controls on one qubit cost O(n^2) gates, and no further qubits.
//!
//! Source: Barenco et al., "Elementary gates for quantum computation" (1995), lemmas 7.2, 7.4, 7.5.

use std::sync::Arc;

use smallvec::SmallVec;

use super::{PrintError, check_unitary_size, definition::definition, synthesis};
use crate::{
    circuit::{Control, Instruction, Operation, Qubits},
    gate::{Gate, GateKind, NAMED_GATES, NamedGate},
    param::{Angle, Q},
};

/// Gates of the common `qelib1.inc`, by their name in this library. Files must not rely on others.
const QELIB1: &[&str] = &[
    "id", "x", "y", "z", "h", "s", "sdg", "t", "tdg", "sx", "sxdg", "rx", "ry", "rz", "p", "u2",
    "u3", "cx", "cy", "cz", "ch", "csx", "cp", "crx", "cry", "crz", "cu", "swap", "rxx", "rzz",
    "ccx", "cswap", "c3x", "c3sx", "c4x", "rccx",
];

/// Returns the name of a gate under that many controls of value 1 in `qelib1.inc`.
pub(super) fn qelib1(kind: GateKind, n_controls: usize) -> Option<&'static str> {
    let named =
        |g: &&NamedGate| g.kind == kind && g.n_controls == n_controls && QELIB1.contains(&g.name);
    NAMED_GATES.iter().find(named).and_then(|g| g.qasm2.first().copied())
}

/// Returns the circuit in gates of `qelib1.inc`, gates without controls that have a [`definition`],
/// and unitaries without controls on two qubits or more. It is equal up to a phase of the whole
/// state. Conditions are kept; all gates of one instruction have its condition.
///
/// # Errors
/// [`PrintError::UnitaryTooLarge`].
pub(super) fn lower(instructions: &[Instruction]) -> Result<Vec<Instruction>, PrintError> {
    let mut out = PrintLowering { out: Vec::new() };
    for instruction in instructions {
        let first = out.out.len();
        out.instruction(instruction)?;
        if let Some(condition) = &instruction.condition {
            for new in &mut out.out[first..] {
                new.condition = Some(Arc::clone(condition));
            }
        }
    }
    Ok(out.out)
}

struct PrintLowering {
    out: Vec<Instruction>,
}

impl PrintLowering {
    fn emit(
        &mut self,
        kind: GateKind,
        angles: &[&Angle],
        controls: &[u32],
        targets: &[u32],
    ) -> Result<(), PrintError> {
        let gate = Gate::new(kind, angles.iter().map(|&a| a.clone()))?;
        self.out.push(Instruction {
            operation: Operation::Gate(gate),
            targets: Qubits::from_slice(targets),
            controls: controls.iter().map(|&qubit| Control { qubit, value: true }).collect(),
            condition: None,
        });
        Ok(())
    }

    fn plain(&mut self, kind: GateKind, target: u32) -> Result<(), PrintError> {
        self.emit(kind, &[], &[], &[target])
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), PrintError> {
        let controls: SmallVec<[u32; 8]> = instruction.controls.iter().map(|c| c.qubit).collect();
        let flipped: SmallVec<[u32; 8]> =
            instruction.controls.iter().filter(|c| !c.value).map(|c| c.qubit).collect();
        match &instruction.operation {
            Operation::Gate(gate) => {
                flipped.iter().try_for_each(|&q| self.plain(GateKind::X, q))?;
                self.gate(gate, &controls, &instruction.targets)?;
                flipped.iter().try_for_each(|&q| self.plain(GateKind::X, q))
            }
            Operation::Unitary(matrix) => {
                check_unitary_size(matrix)?;
                if controls.is_empty() && matrix.n_qubits() > 1 {
                    self.out.push(instruction.clone());
                    return Ok(());
                }
                flipped.iter().try_for_each(|&q| self.plain(GateKind::X, q))?;
                let circuit = synthesis::synthesize(matrix)?;
                self.body(circuit.instructions(), &controls, &instruction.targets)?;
                flipped.iter().try_for_each(|&q| self.plain(GateKind::X, q))
            }
            _ => {
                self.out.push(instruction.clone());
                Ok(())
            }
        }
    }

    /// Adds gates on the qubits `targets`, each under `controls`.
    fn body(
        &mut self,
        body: &[Instruction],
        controls: &[u32],
        targets: &[u32],
    ) -> Result<(), PrintError> {
        let mut ends = 0;
        while 2 * ends + 1 < body.len() && undo(&body[ends], &body[body.len() - 1 - ends]) {
            ends += 1;
        }
        for (i, inner) in body.iter().enumerate() {
            let qubits: Qubits = inner.targets.iter().map(|&q| targets[q as usize]).collect();
            let own = inner.controls.iter().map(|c| targets[c.qubit as usize]);
            let middle = i >= ends && i + ends < body.len();
            let all: SmallVec<[u32; 8]> =
                controls.iter().copied().filter(|_| middle).chain(own).collect();
            if let Operation::Gate(gate) = &inner.operation {
                self.gate(gate, &all, &qubits)?;
            }
        }
        Ok(())
    }

    /// Adds a gate where all of `controls` are 1.
    fn gate(&mut self, gate: &Gate, controls: &[u32], targets: &[u32]) -> Result<(), PrintError> {
        let kind = gate.kind();
        if qelib1(kind, controls.len()).is_some() {
            let angles: Vec<&Angle> = gate.params().iter().collect();
            return self.emit(kind, &angles, controls, targets);
        }
        match (kind, gate.params(), targets) {
            (GateKind::GPHASE, [gamma], _) => self.phase(gamma, controls),
            (GateKind::U | GateKind::UG, [theta, phi, lambda, ..], &[t]) if controls.is_empty() => {
                self.emit(GateKind::U3, &[theta, phi, lambda], &[], &[t])
            }
            (GateKind::SWAP, _, &[a, b]) => {
                self.emit(GateKind::X, &[], &[b], &[a])?;
                let all: Vec<u32> = controls.iter().copied().chain([a]).collect();
                self.mcx(&all, b, &[])?;
                self.emit(GateKind::X, &[], &[b], &[a])
            }
            (_, _, &[t]) => self.one_qubit(gate, controls, t),
            _ if controls.is_empty() => {
                self.out.push(Instruction {
                    operation: Operation::Gate(gate.clone()),
                    targets: Qubits::from_slice(targets),
                    controls: SmallVec::new(),
                    condition: None,
                });
                Ok(())
            }
            _ => {
                let Some(body) = definition(kind)? else {
                    return Err(PrintError::Undefined { gate: kind.name() });
                };
                let body = body.instructions().iter().map(|i| substituted(i, gate.params()));
                self.body(&body.collect::<Vec<_>>(), controls, targets)
            }
        }
    }

    /// Lowers a one-qubit gate that has no name with that many controls.
    fn one_qubit(&mut self, gate: &Gate, controls: &[u32], t: u32) -> Result<(), PrintError> {
        if let Some(gate) = TextbookGate::new(gate) {
            return self.general(&gate, controls, t);
        }
        let turn =
            |numerator, denominator| Gate::new(GateKind::P, [Angle::pi(numerator, denominator)]);
        match (gate.kind(), gate.params()) {
            (GateKind::I, _) => Ok(()),
            (GateKind::X, _) => self.mcx(controls, t, &[]),
            (GateKind::Y, _) => {
                self.plain(GateKind::SDG, t)?;
                self.mcx(controls, t, &[])?;
                self.plain(GateKind::S, t)
            }
            (GateKind::Z, _) => self.root(&turn(1, 1)?, controls, t),
            (GateKind::S, _) => self.root(&turn(1, 2)?, controls, t),
            (GateKind::SDG, _) => self.root(&turn(-1, 2)?, controls, t),
            (GateKind::T, _) => self.root(&turn(1, 4)?, controls, t),
            (GateKind::TDG, _) => self.root(&turn(-1, 4)?, controls, t),
            // H = RY(pi/4) Z RY(-pi/4), SX = H S H.
            (GateKind::H, _) => {
                self.emit(GateKind::RY, &[&Angle::pi(-1, 4)], &[], &[t])?;
                self.root(&turn(1, 1)?, controls, t)?;
                self.emit(GateKind::RY, &[&Angle::pi(1, 4)], &[], &[t])
            }
            (GateKind::SX | GateKind::SXDG, _) => {
                self.plain(GateKind::H, t)?;
                self.root(
                    &turn(if gate.kind() == GateKind::SX { 1 } else { -1 }, 2)?,
                    controls,
                    t,
                )?;
                self.plain(GateKind::H, t)
            }
            (GateKind::R, [theta, phi]) if !controls.is_empty() => {
                self.emit(GateKind::RZ, &[&-phi], &[], &[t])?;
                self.root(&Gate::new(GateKind::RX, [theta.clone()])?, controls, t)?;
                self.emit(GateKind::RZ, &[phi], &[], &[t])
            }
            _ if !controls.is_empty() && gate.kind().generator().is_some() => {
                self.root(gate, controls, t)
            }
            _ => {
                let angles: Vec<&Angle> = gate.params().iter().collect();
                self.emit(gate.kind(), &angles, controls, &[t])
            }
        }
    }

    /// A general gate on one qubit under controls.
    fn general(
        &mut self,
        TextbookGate { angles: [theta, phi, lambda], gamma }: &TextbookGate,
        controls: &[u32],
        t: u32,
    ) -> Result<(), PrintError> {
        if controls.len() == 1 {
            let sum = precise_sum(gamma);
            let own = sum.clone().unwrap_or_default();
            self.emit(GateKind::UG, &[theta, phi, lambda, &own], controls, &[t])?;
            let others: &[Angle] = if sum.is_some() { &[] } else { gamma };
            return others.iter().try_for_each(|gamma| self.phase(gamma, controls));
        }
        let halves = [phi, lambda].map(|angle| angle * Q::new_raw(1, 2));
        let gamma: SmallVec<[Angle; 4]> = gamma.iter().cloned().chain(halves).collect();
        match precise_sum(&gamma) {
            Some(sum) => self.phase(&sum, controls)?,
            None => gamma.iter().try_for_each(|gamma| self.phase(gamma, controls))?,
        }
        for (kind, angle) in [(GateKind::RZ, lambda), (GateKind::RY, theta), (GateKind::RZ, phi)] {
            self.root(&Gate::new(kind, [angle.clone()])?, controls, t)?;
        }
        Ok(())
    }

    /// `e^{i gamma}` where all of `controls` are 1; nothing without controls.
    fn phase(&mut self, gamma: &Angle, controls: &[u32]) -> Result<(), PrintError> {
        match controls.split_last() {
            Some((&last, rest)) => self.root(&Gate::new(GateKind::P, [gamma.clone()])?, rest, last),
            None => Ok(()),
        }
    }

    /// RX, RY, RZ or P under controls (lemma 7.5).
    fn root(&mut self, gate: &Gate, controls: &[u32], t: u32) -> Result<(), PrintError> {
        let mut gate = gate.clone();
        let mut controls = controls;
        loop {
            let angles: Vec<&Angle> = gate.params().iter().collect();
            match controls {
                [] | [_] => return self.emit(gate.kind(), &angles, controls, &[t]),
                _ if controls.len() <= 4
                    && gate.kind() == GateKind::P
                    && gate.params()[0].eighth_turns() == Some(4) =>
                {
                    self.plain(GateKind::H, t)?;
                    self.emit(GateKind::X, &[], controls, &[t])?;
                    return self.plain(GateKind::H, t);
                }
                [rest @ .., last] => {
                    let root = gate.power(Q::new_raw(1, 2)).unwrap_or(gate);
                    let (angle, back) = (root.params()[0].clone(), -root.params()[0].clone());
                    self.emit(root.kind(), &[&angle], &[*last], &[t])?;
                    self.mcx(rest, *last, &[t])?;
                    self.emit(root.kind(), &[&back], &[*last], &[t])?;
                    self.mcx(rest, *last, &[t])?;
                    gate = root;
                    controls = rest;
                }
            }
        }
    }

    /// Adds X on `t` where all of `controls` are 1. Qubits in `idle` are dirty ancillas: they may
    /// have any state, and it is restored.
    fn mcx(&mut self, controls: &[u32], t: u32, idle: &[u32]) -> Result<(), PrintError> {
        let m = controls.len();
        if qelib1(GateKind::X, m).is_some() {
            return self.emit(GateKind::X, &[], controls, &[t]);
        }
        if idle.len() + 2 >= m {
            // Lemma 7.2: a chain of Toffoli gates, run twice so that the idle qubits come back.
            let toffoli = |i: usize| ([controls[i], idle[i - 2]], idle.get(i - 1).copied());
            for _ in 0..2 {
                let (last, _) = toffoli(m - 1);
                self.emit(GateKind::X, &[], &last, &[t])?;
                let chain = (2..m - 1).rev().chain(1..2).chain(2..m - 1);
                for i in chain {
                    let (pair, onto) = if i == 1 {
                        ([controls[0], controls[1]], Some(idle[0]))
                    } else {
                        toffoli(i)
                    };
                    if let Some(onto) = onto {
                        self.emit(GateKind::X, &[], &pair, &[onto])?;
                    }
                }
            }
            return Ok(());
        }
        if let Some(&helper) = idle.first() {
            // Lemma 7.4: two halves, each with the other one idle.
            let (low, high) = controls.split_at(m.div_ceil(2));
            let high: Vec<u32> = high.iter().copied().chain([helper]).collect();
            let low_idle: Vec<u32> = high[..high.len() - 1].iter().copied().chain([t]).collect();
            for _ in 0..2 {
                self.mcx(low, helper, &low_idle)?;
                self.mcx(&high, t, low)?;
            }
            return Ok(());
        }
        self.plain(GateKind::H, t)?;
        self.root(&Gate::new(GateKind::P, [Angle::pi(1, 1)])?, controls, t)?;
        self.plain(GateKind::H, t)
    }
}

/// A general gate on one qubit: `e^{i gamma}` times the textbook matrix of its angles.
pub(super) struct TextbookGate {
    /// theta, phi and lambda.
    pub(super) angles: [Angle; 3],
    /// The parts of gamma, which is their sum.
    pub(super) gamma: SmallVec<[Angle; 2]>,
}

impl TextbookGate {
    /// Returns `U`, `u2`, `u3` or the general gate in this form; `None` for any other gate.
    pub(super) fn new(gate: &Gate) -> Option<TextbookGate> {
        let half = |angle: &Angle| angle * Q::new_raw(1, 2);
        let of_determinant_1 = |theta: Angle, phi: &Angle, lambda: &Angle| TextbookGate {
            gamma: [-half(phi), -half(lambda)].into_iter().collect(),
            angles: [theta, phi.clone(), lambda.clone()],
        };
        Some(match (gate.kind(), gate.params()) {
            (GateKind::U2, [phi, lambda]) => of_determinant_1(Angle::pi(1, 2), phi, lambda),
            (GateKind::U3, [theta, phi, lambda]) => of_determinant_1(theta.clone(), phi, lambda),
            (GateKind::U, [theta, phi, lambda]) => TextbookGate {
                angles: [theta.clone(), phi.clone(), lambda.clone()],
                gamma: [half(theta)].into_iter().collect(),
            },
            (GateKind::UG, [theta, phi, lambda, gamma]) => TextbookGate {
                angles: [theta.clone(), phi.clone(), lambda.clone()],
                gamma: [gamma.clone()].into_iter().collect(),
            },
            _ => return None,
        })
    }
}

/// Returns the sum of some angles, unless a small one loses digits in it.
pub(super) fn precise_sum(angles: &[Angle]) -> Option<Angle> {
    const PRECISE: f64 = 1e-12;
    let sum = angles.iter().fold(Angle::zero(), |sum, angle| sum + angle);
    let before: f64 = angles.iter().map(|angle| angle.rounding_bound()).sum();
    (sum.rounding_bound() <= before + PRECISE).then_some(sum)
}

/// Returns true if `b` undoes `a`.
fn undo(a: &Instruction, b: &Instruction) -> bool {
    let inverse = matches!((&a.operation, &b.operation), (Operation::Gate(a), Operation::Gate(b)) if a.dagger() == *b);
    inverse && a.targets == b.targets && a.controls == b.controls
}

/// Returns an instruction of a definition, with the given angles substituted.
fn substituted(instruction: &Instruction, angles: &[Angle]) -> Instruction {
    let mut out = instruction.clone();
    if let Operation::Gate(gate) = &mut out.operation {
        *gate = gate
            .map_params(|a| a.substitute(|id| angles.get(id.index()).cloned().unwrap_or_default()));
    }
    out
}
