//! Cancellation of Clifford gates that undo each other around rotations, which are conjugated by
//! them:
//!
//! ```text
//! V e^{-i a/2 P} V^dagger = e^{-i a/2 V P V^dagger}
//! h 0; sdg 1; h 1; cx 0,1; rz(a) 1; cx 0,1; h 0; h 1; s 1    =    e^{-i a/2 X0 Y1}
//! ```
//! Each Clifford gate is moved back along the list to one that it can be multiplied with. It passes
//! what it commutes with; rotations and inner products on its way become those of other strings.
//! The product replaces the earlier gate, or nothing does if it is the identity. So nothing is done
//! where gates do not close, and what is around a chain of gates comes out string by string.
//!
//! A gate stays where it is if that would take more rotations along which amplitudes move than it
//! saves, as H around many phases would, or a string on more qubits than a tile has room for; and
//! if nothing is gained, as where it would only go to an earlier gate.
//!
//! Cost: each Clifford gate is compared with those before it, and with [`WINDOW`] entries at most.

use num_complex::Complex;

use super::{
    clifford::Clifford,
    kinds::{EntryKind, string},
};
use crate::{
    kernel::{Operator, OperatorShape, OverlapProbe, SimdFloat},
    pauli::PauliMasks,
    plan::BinaryAngle,
};

/// Number of entries that a gate is moved back at most.
const WINDOW: usize = 128;

/// Entry of a list of operators and inner products.
#[derive(Clone, Debug)]
pub(super) struct LoweringEntry {
    pub(super) kind: EntryKind,
    /// The operator of this number, as it was given; `None` where the kind says all.
    pub(super) given: Option<usize>,
    /// The qubits along which it moves amplitudes.
    moving: usize,
    /// Qubits that it only reads.
    reading: usize,
}

/// The entries of a list of operators, and the phase `e^{i angle}` of gates that are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct LoweringEntries {
    pub(super) list: Vec<LoweringEntry>,
    pub(super) angle: BinaryAngle,
    /// Sum of the distances of operators from the gates that they are recognized as.
    pub(super) deviation: f64,
    /// True for each operator that is a Clifford gate.
    pub(super) clifford: Vec<bool>,
    /// Positions of the Clifford gates.
    gates: Vec<usize>,
}

impl LoweringEntries {
    /// Takes operators, and inner products between them, which are in the order of the operators.
    /// No string gets wider than `widest` qubits with X or Y. Of operators for which `known` says
    /// that they are no Clifford gates an angle may make one, which is not taken for one then: the
    /// entries are those of other angles.
    pub(super) fn collect_from<E: SimdFloat>(
        &mut self,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        widest: usize,
        known: &[bool],
    ) {
        self.list.clear();
        self.gates.clear();
        self.clifford.clear();
        (self.angle, self.deviation) = (BinaryAngle::ZERO, 0.0);
        let mut waiting = inners.iter().enumerate().peekable();
        for (number, operator) in operators.iter().enumerate() {
            while let Some((index, inner)) = waiting.next_if(|(_, inner)| inner.before <= number) {
                self.list.push(LoweringEntry::probe(index, inner));
            }
            let may_be = known.get(number).copied().unwrap_or(true);
            let (entry, deviation) = LoweringEntry::new(number, operator, widest, may_be);
            self.deviation += deviation;
            self.clifford.push(matches!(entry.kind, EntryKind::Clifford(_)));
            if let EntryKind::Clifford(gate) = entry.kind {
                if let Some(angle) = gate.phase() {
                    self.angle += BinaryAngle::from_radians(angle);
                    continue;
                }
                if let Some((k, product)) = self.partner(&gate, widest) {
                    self.multiply(k, &gate, product);
                    continue;
                }
                self.gates.push(self.list.len());
            }
            self.list.push(entry);
        }
        self.list.extend(waiting.map(|(index, inner)| LoweringEntry::probe(index, inner)));
    }

    /// Returns the last gate that a gate at the end can be multiplied with, by its number among the
    /// gates, and their product, if that pays.
    fn partner(&self, gate: &Clifford, widest: usize) -> Option<(usize, Option<Clifford>)> {
        let near = |at: &usize| at + WINDOW >= self.list.len();
        let mut gates = self.gates.iter().enumerate().rev().take_while(|(_, at)| near(at));
        let (k, other, product) = gates.find_map(|(k, at)| {
            let EntryKind::Clifford(other) = &self.list[*at].kind else { return None };
            product(gate, other).map(|product| (k, other, product))
        })?;
        let between = &self.list[self.gates[k] + 1..];
        let mut passed = false;
        // Rotations along which amplitudes move that would be there afterwards, less those that are
        // there now.
        let mut cost = i32::from(product.is_some_and(|p| p.permutes_paulis()))
            - i32::from(gate.permutes_paulis())
            - i32::from(other.permutes_paulis());
        for entry in between.iter().rev().filter(|entry| entry.meets(gate)) {
            match &entry.kind {
                EntryKind::Rotation { pauli, .. } | EntryKind::Probe { pauli, .. } => {
                    let x = gate.conjugate(*pauli).string.x;
                    if x.count_ones() as usize > widest {
                        return None;
                    }
                    if matches!(entry.kind, EntryKind::Rotation { .. }) {
                        cost += i32::from(x != 0) - i32::from(pauli.string.x != 0);
                    }
                    passed = true;
                }
                _ if !entry.commutes(gate) => return None,
                _ => {}
            }
        }
        let simpler = match product {
            None => true,
            Some(p) => {
                p.distance() < gate.distance().max(other.distance())
                    || gate.permutes_paulis() && other.permutes_paulis()
            }
        };
        (cost < 0 || cost == 0 && simpler || !passed).then_some((k, product))
    }

    /// Takes a gate at the end of the list to the gate of this number, which their product
    /// replaces.
    fn multiply(&mut self, k: usize, gate: &Clifford, product: Option<Clifford>) {
        let at = self.gates[k];
        self.list[at + 1..]
            .iter_mut()
            .filter(|entry| entry.meets(gate))
            .for_each(|entry| entry.conjugate(gate));
        match product {
            Some(product) => self.list[at] = LoweringEntry::from_kind(EntryKind::Clifford(product)),
            None => {
                let gone = self.list.remove(at);
                if let (
                    Clifford::One { matrix: a, .. },
                    EntryKind::Clifford(Clifford::One { matrix: b, .. }),
                ) = (gate, gone.kind)
                {
                    // The identity but for this.
                    self.angle += BinaryAngle::from_radians((a[0] * b[0] + a[1] * b[2]).arg());
                }
                self.gates.remove(k);
                self.gates[k..].iter_mut().for_each(|later| *later -= 1);
            }
        }
    }
}

/// Returns the product `a b` of two gates on the same qubits as one gate, `None` for the identity
/// up to a phase; or nothing if they are not on the same qubits, or of two kinds.
#[expect(clippy::option_option, reason = "no gate is another thing than no product")]
fn product(a: &Clifford, b: &Clifford) -> Option<Option<Clifford>> {
    match (a, b) {
        (Clifford::One { qubit, .. }, Clifford::One { qubit: same, .. }) if qubit == same => {
            let product = a.after(b)?;
            Some(if product.phase().is_some() { None } else { Some(product) })
        }
        (Clifford::Cz(a, b), Clifford::Cz(c, d)) => {
            (1 << a | 1 << b == 1usize << c | 1 << d).then_some(None)
        }
        (Clifford::Cx { .. }, Clifford::Cx { .. }) => (a == b).then_some(None),
        _ => None,
    }
}

impl LoweringEntry {
    /// Classifies an operator; returns its entry and its distance from that.
    fn new<E: SimdFloat>(
        number: usize,
        operator: &Operator<Complex<E>>,
        widest: usize,
        clifford: bool,
    ) -> (LoweringEntry, f64) {
        let (kind, deviation) = match string(operator, widest) {
            Some((turn, 0)) => return (LoweringEntry::from_kind(turn.kind()), turn.deviation),
            _ => EntryKind::classify(operator, clifford),
        };
        let mut entry = LoweringEntry::from_kind(kind);
        if let EntryKind::Other = kind {
            let fixed = operator.fixed();
            (entry.moving, entry.reading) = match operator.shape() {
                OperatorShape::Identity => (0, 0),
                OperatorShape::Phase(_) | OperatorShape::Diagonal(_) => (0, fixed),
                OperatorShape::Swap(..) | OperatorShape::Cycles(_) => (fixed, 0),
                OperatorShape::Parity { .. } => (0, fixed),
                OperatorShape::PauliString { x, .. } => (*x, fixed & !x),
                OperatorShape::Dense { offsets, .. } => {
                    let targets = offsets.iter().fold(0, |mask, o| mask | o);
                    (targets, fixed & !targets)
                }
            };
        }
        entry.given = Some(number);
        (entry, deviation)
    }

    fn probe(number: usize, inner: &OverlapProbe) -> LoweringEntry {
        let pauli = PauliMasks { x: inner.x, z: inner.z }.into();
        LoweringEntry::from_kind(EntryKind::Probe { number, pauli })
    }

    fn from_kind(kind: EntryKind) -> LoweringEntry {
        let (moving, reading) = match &kind {
            EntryKind::Clifford(gate) => gate.qubits(),
            EntryKind::Rotation { pauli, .. } | EntryKind::Probe { pauli, .. } => {
                (pauli.string.x, pauli.string.z & !pauli.string.x)
            }
            EntryKind::Other => (0, 0),
        };
        LoweringEntry { kind, given: None, moving, reading }
    }

    /// Returns true if it has a qubit in common with a gate.
    fn meets(&self, gate: &Clifford) -> bool {
        let (moving, reading) = gate.qubits();
        (self.moving | self.reading) & (moving | reading) != 0
    }

    /// Returns true if its qubits show that it commutes with a gate.
    fn commutes(&self, gate: &Clifford) -> bool {
        if let (EntryKind::Clifford(Clifford::Cx { target, .. }), Clifford::Cx { target: same, .. }) =
            (&self.kind, gate)
            && target == same
        {
            return true;
        }
        let (moving, reading) = gate.qubits();
        moving & (self.moving | self.reading) == 0 && reading & self.moving == 0
    }

    /// Conjugates it by a gate that moves from after it to before it.
    fn conjugate(&mut self, gate: &Clifford) {
        let kind = match self.kind {
            EntryKind::Rotation { pauli, angle, phase } => {
                EntryKind::Rotation { pauli: gate.conjugate(pauli), angle, phase }
            }
            EntryKind::Probe { number, pauli } => {
                EntryKind::Probe { number, pauli: gate.conjugate(pauli) }
            }
            EntryKind::Clifford(_) | EntryKind::Other => return,
        };
        let (EntryKind::Rotation { pauli, .. } | EntryKind::Probe { pauli, .. }) = self.kind else {
            return;
        };
        let (EntryKind::Rotation { pauli: new, .. } | EntryKind::Probe { pauli: new, .. }) = kind
        else {
            return;
        };
        if new != pauli {
            *self = LoweringEntry::from_kind(kind);
        }
    }
}
