//! Clifford gates that undo each other around rotations are taken out:
//!
//! ```text
//! V e^{-i a/2 P} V^dagger = e^{-i a/2 V P V^dagger}
//! h 0; sdg 1; h 1; cx 0,1; rz(a) 1; cx 0,1; h 0; h 1; s 1    =    e^{-i a/2 X0 Y1}
//! ```
//! Each Clifford gate looks back along the list for one that it can be multiplied with. It passes what it commutes with;
//! rotations and inner products on its way become those of other strings. The product stands where the earlier gate stood,
//! or nothing if it is the identity. So nothing is done where gates do not close, and what is around a chain of gates comes
//! out string by string.
//!
//! A gate stays where it is if that would take more rotations along which amplitudes move than it saves, as H around many
//! phases would, or a string on more qubits than a tile has room for; and if nothing is gained, as where it would only go
//! to an earlier gate.
//!
//! Cost: each Clifford gate looks at those before it, and at [`WINDOW`] entries at most.

use num_complex::Complex;

use super::{
    clifford::{Clifford, Pauli},
    matrices::{C, M2, is_unitary},
};
use crate::{
    kernel::{Element, Inner, Operator, Shape},
    scalar::Ring,
};

/// How far a gate goes back.
const WINDOW: usize = 128;

/// One of a list of operators and inner products.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// The operator of this number, as it was given; `None` where the kind says all.
    pub(super) given: Option<usize>,
    /// The qubits along which it moves amplitudes.
    moving: usize,
    /// Those that it only reads.
    reading: usize,
}

/// What an entry is to others.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Clifford(Clifford),
    /// `e^{i phase} e^{-i angle/2 P}`.
    Rotation {
        pauli: Pauli,
        angle: f64,
        phase: f64,
    },
    /// The inner product of this number.
    Inner {
        number: usize,
        pauli: Pauli,
    },
    /// Anything else that was given.
    Other,
}

/// The entries of a list of operators, and the phase `e^{i angle}` of gates that are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct Entries {
    pub(super) list: Vec<Entry>,
    pub(super) angle: f64,
    /// Which operators are Clifford gates.
    pub(super) clifford: Vec<bool>,
    /// Where Clifford gates stand.
    gates: Vec<usize>,
}

impl Entries {
    /// Takes operators, and inner products between them, which stand in the order of the operators. No string gets wider
    /// than `widest` qubits with X or Y. Of operators for which `known` says that they are no Clifford gates an angle may make
    /// one, which is not taken for one then: the entries are those of other angles.
    pub(super) fn take<E: Element>(
        &mut self,
        operators: &[Operator<Complex<E>>],
        inners: &[Inner],
        widest: usize,
        known: &[bool],
    ) {
        self.list.clear();
        self.gates.clear();
        self.clifford.clear();
        self.angle = 0.0;
        let mut waiting = inners.iter().enumerate().peekable();
        for (number, operator) in operators.iter().enumerate() {
            while let Some((index, inner)) = waiting.next_if(|(_, inner)| inner.before <= number) {
                self.list.push(Entry::inner(index, inner));
            }
            let may_be = known.get(number).copied().unwrap_or(true);
            let entry = Entry::new(number, operator, widest, may_be);
            self.clifford.push(matches!(entry.kind, Kind::Clifford(_)));
            if let Kind::Clifford(gate) = entry.kind {
                if let Some(angle) = gate.phase() {
                    self.angle += angle;
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
        self.list.extend(waiting.map(|(index, inner)| Entry::inner(index, inner)));
    }

    /// The last gate that a gate at the end can be multiplied with, by its number among the gates, and their product, if that
    /// pays.
    fn partner(&self, gate: &Clifford, widest: usize) -> Option<(usize, Option<Clifford>)> {
        let near = |at: &usize| at + WINDOW >= self.list.len();
        let mut gates = self.gates.iter().enumerate().rev().take_while(|(_, at)| near(at));
        let (k, other, product) = gates.find_map(|(k, at)| {
            let Kind::Clifford(other) = &self.list[*at].kind else { return None };
            product(gate, other).map(|product| (k, other, product))
        })?;
        let between = &self.list[self.gates[k] + 1..];
        let mut passed = false;
        // Rotations along which amplitudes move that would be there afterwards, less those that are there now.
        let mut cost = i32::from(product.is_some_and(|p| p.turns()))
            - i32::from(gate.turns())
            - i32::from(other.turns());
        for entry in between.iter().rev().filter(|entry| entry.meets(gate)) {
            match &entry.kind {
                Kind::Rotation { pauli, .. } | Kind::Inner { pauli, .. } => {
                    let x = gate.conjugate(*pauli).x;
                    if x.count_ones() as usize > widest {
                        return None;
                    }
                    if matches!(entry.kind, Kind::Rotation { .. }) {
                        cost += i32::from(x != 0) - i32::from(pauli.x != 0);
                    }
                    passed = true;
                }
                _ if !entry.commutes(gate) => return None,
                _ => {}
            }
        }
        let simpler = match product {
            None => true,
            Some(p) => p.distance() < gate.distance().max(other.distance()) || gate.turns() && other.turns(),
        };
        (cost < 0 || cost == 0 && simpler || !passed).then_some((k, product))
    }

    /// Takes a gate at the end of the list to the gate of this number, which their product replaces.
    fn multiply(&mut self, k: usize, gate: &Clifford, product: Option<Clifford>) {
        let at = self.gates[k];
        self.list[at + 1..]
            .iter_mut()
            .filter(|entry| entry.meets(gate))
            .for_each(|entry| entry.conjugate(gate));
        match product {
            Some(product) => self.list[at] = Entry::of(Kind::Clifford(product)),
            None => {
                let gone = self.list.remove(at);
                if let (Clifford::One { matrix: a, .. }, Kind::Clifford(Clifford::One { matrix: b, .. })) =
                    (gate, gone.kind)
                {
                    // The identity but for this.
                    self.angle += (a[0] * b[0] + a[1] * b[2]).arg();
                }
                self.gates.remove(k);
                self.gates[k..].iter_mut().for_each(|later| *later -= 1);
            }
        }
    }
}

/// The product `a b` of two gates on the same qubits as one gate, `None` for the identity up to a phase; or nothing if
/// they are not on the same qubits, or of two kinds.
#[expect(clippy::option_option, reason = "no gate is another thing than no product")]
fn product(a: &Clifford, b: &Clifford) -> Option<Option<Clifford>> {
    match (a, b) {
        (Clifford::One { qubit, .. }, Clifford::One { qubit: same, .. }) if qubit == same => {
            let product = a.after(b)?;
            Some(if product.phase().is_some() { None } else { Some(product) })
        }
        (Clifford::Cz(a, b), Clifford::Cz(c, d)) => (1 << a | 1 << b == 1usize << c | 1 << d).then_some(None),
        (Clifford::Cx { .. }, Clifford::Cx { .. }) => (a == b).then_some(None),
        _ => None,
    }
}

impl Entry {
    fn new<E: Element>(
        number: usize,
        operator: &Operator<Complex<E>>,
        widest: usize,
        clifford: bool,
    ) -> Entry {
        let kind = match string(operator, widest) {
            Some((turn, 0)) => return Entry::of(turn.kind()),
            _ => Kind::of(operator, clifford),
        };
        let mut entry = Entry::of(kind);
        if let Kind::Other = kind {
            let fixed = operator.fixed();
            (entry.moving, entry.reading) = match operator.shape() {
                Shape::Identity => (0, 0),
                Shape::Phase(_) | Shape::Diagonal(_) => (0, fixed),
                Shape::Swap(..) | Shape::Cycles(_) => (fixed, 0),
                Shape::Parity { .. } => (0, fixed),
                Shape::String { x, .. } => (*x, fixed & !x),
                Shape::Dense { offsets, .. } => {
                    let targets = offsets.iter().fold(0, |mask, o| mask | o);
                    (targets, fixed & !targets)
                }
            };
        }
        entry.given = Some(number);
        entry
    }

    fn inner(number: usize, inner: &Inner) -> Entry {
        let pauli = Pauli { x: inner.x, z: inner.z, negative: false };
        Entry::of(Kind::Inner { number, pauli })
    }

    fn of(kind: Kind) -> Entry {
        let (moving, reading) = match &kind {
            Kind::Clifford(gate) => gate.qubits(),
            Kind::Rotation { pauli, .. } | Kind::Inner { pauli, .. } => (pauli.x, pauli.z & !pauli.x),
            Kind::Other => (0, 0),
        };
        Entry { kind, given: None, moving, reading }
    }

    /// Whether it has a qubit in common with a gate.
    fn meets(&self, gate: &Clifford) -> bool {
        let (moving, reading) = gate.qubits();
        (self.moving | self.reading) & (moving | reading) != 0
    }

    /// Whether its qubits tell that a gate can go past it.
    fn commutes(&self, gate: &Clifford) -> bool {
        if let (Kind::Clifford(Clifford::Cx { target, .. }), Clifford::Cx { target: same, .. }) =
            (&self.kind, gate)
            && target == same
        {
            return true;
        }
        let (moving, reading) = gate.qubits();
        moving & (self.moving | self.reading) == 0 && reading & self.moving == 0
    }

    /// What it becomes when a gate goes from behind it to before it.
    fn conjugate(&mut self, gate: &Clifford) {
        let kind = match self.kind {
            Kind::Rotation { pauli, angle, phase } => {
                Kind::Rotation { pauli: gate.conjugate(pauli), angle, phase }
            }
            Kind::Inner { number, pauli } => Kind::Inner { number, pauli: gate.conjugate(pauli) },
            Kind::Clifford(_) | Kind::Other => return,
        };
        let (Kind::Rotation { pauli, .. } | Kind::Inner { pauli, .. }) = self.kind else { return };
        let (Kind::Rotation { pauli: new, .. } | Kind::Inner { pauli: new, .. }) = kind else { return };
        if new != pauli {
            *self = Entry::of(kind);
        }
    }
}

impl Kind {
    /// What an operator is; a Clifford gate only if it may be one.
    fn of<E: Element>(operator: &Operator<Complex<E>>, clifford: bool) -> Kind {
        let tolerance = 8.0 * Into::<f64>::into(E::EPSILON);
        let fixed = operator.fixed();
        if let Some((qubit, matrix)) = on_one(operator) {
            if clifford && let Some(gate) = Clifford::one(qubit, matrix, tolerance) {
                return Kind::Clifford(gate);
            }
            let diagonal = matches!(operator.shape(), Shape::Phase(_) | Shape::Diagonal(_));
            if diagonal && is_unitary(&matrix, 2, tolerance) {
                let angle = (matrix[3] * matrix[0].conj()).arg();
                return rotation(0, 1 << qubit, angle, matrix[0].arg() + 0.5 * angle);
            }
            return Kind::Other;
        }
        let (value, shape) = (operator.value(), operator.shape());
        match (shape, fixed.count_ones()) {
            (Shape::Phase(f), 2) if clifford && value == fixed && near(wide(f), -1.0, tolerance) => {
                let a = fixed.trailing_zeros() as usize;
                Kind::Clifford(Clifford::Cz(a, (fixed & !(1 << a)).trailing_zeros() as usize))
            }
            (&Shape::Swap(a, b), 2) if clifford && (a ^ b).is_power_of_two() => {
                let (target, control) = (a ^ b, fixed & !(a ^ b));
                match (value | a) & control != 0 {
                    true => Kind::Clifford(Clifford::Cx {
                        control: control.trailing_zeros() as usize,
                        target: target.trailing_zeros() as usize,
                    }),
                    false => Kind::Other,
                }
            }
            (Shape::Diagonal(factors), 2) if factors.len() == 4 => {
                let at = |j: usize| factors.iter().find(|f| f.0 == j).map(|f| wide(&f.1));
                let a = fixed & fixed.wrapping_neg();
                let (Some(even), Some(odd)) = (at(0), at(a)) else { return Kind::Other };
                if at(fixed) != Some(even) || at(fixed & !a) != Some(odd) {
                    return Kind::Other;
                }
                Turned::of_parity(fixed, even, odd, tolerance).map_or(Kind::Other, |turned| turned.kind())
            }
            (Shape::Dense { matrix, offsets }, 2) => {
                exchange(matrix, offsets, tolerance).unwrap_or(Kind::Other)
            }
            _ => Kind::Other,
        }
    }
}

fn rotation(x: usize, z: usize, angle: f64, phase: f64) -> Kind {
    Turned { x, z, angle, phase }.kind()
}

/// `e^{i phase} e^{-i angle/2 P}`.
#[derive(Clone, Copy)]
pub(super) struct Turned {
    x: usize,
    z: usize,
    pub(super) angle: f64,
    pub(super) phase: f64,
}

impl Turned {
    pub(super) fn pauli(&self) -> Pauli {
        Pauli { x: self.x, z: self.z, negative: false }
    }

    fn kind(&self) -> Kind {
        Kind::Rotation { pauli: self.pauli(), angle: self.angle, phase: self.phase }
    }

    /// `a + b P` for the string P with the masks x and z, if it is unitary up to so much.
    fn of_sum(x: usize, z: usize, a: C, b: C, tolerance: f64) -> Option<Turned> {
        if (a.norm_sqr() + b.norm_sqr() - 1.0).abs() > tolerance {
            return None;
        }
        // a = e^{i phase} cos, b = -i e^{i phase} sin; no phase where the angle can say it.
        let phase = if a.im == 0.0 { 0.0 } else { a.arg() };
        let (cosine, sine) = (a * C::cis(-phase), b * C::new(0.0, 1.0) * C::cis(-phase));
        let angle = 2.0 * sine.re.atan2(cosine.re);
        (sine.im.abs() <= tolerance).then_some(Turned { x, z, angle, phase })
    }

    /// The factors of even and odd parity of the bits in z.
    fn of_parity(z: usize, even: C, odd: C, tolerance: f64) -> Option<Turned> {
        let unit = [even, odd].iter().all(|f| (f.norm_sqr() - 1.0).abs() <= tolerance);
        let angle = if odd == even.conj() { 2.0 * odd.arg() } else { (odd * even.conj()).arg() };
        let phase = if odd == even.conj() { 0.0 } else { even.arg() + 0.5 * angle };
        unit.then_some(Turned { x: 0, z, angle, phase })
    }
}

/// An operator about a Pauli string as a rotation, and the qubits that control it; if it is one, and no wider than may be.
pub(super) fn string<E: Element>(operator: &Operator<Complex<E>>, widest: usize) -> Option<(Turned, usize)> {
    let tolerance = 8.0 * Into::<f64>::into(E::EPSILON);
    match operator.shape() {
        Shape::Parity { z, factors: [even, odd] } => {
            let turned = Turned::of_parity(*z, wide(even), wide(odd), tolerance)?;
            Some((turned, operator.fixed() & !z))
        }
        &Shape::String { x, z, ref stay, ref go } if x.count_ones() as usize <= widest => {
            // W = i^{-|x & z|} P
            let b = wide(go) * C::new(0.0, -1.0).powu((x & z).count_ones());
            Some((Turned::of_sum(x, z, wide(stay), b, tolerance)?, operator.fixed() & !(x | z)))
        }
        _ => None,
    }
}

/// `a + b P` with P one of XX, YY, XY, YX, as RXX and RYY are.
fn exchange<E: Element>(matrix: &[Complex<E>], offsets: &[usize], tolerance: f64) -> Option<Kind> {
    let (&[_, low, high, both], &[a, .., _]) = (offsets, matrix) else { return None };
    let at = |row: usize, column: usize| matrix[4 * row + column];
    let b = at(3, 0);
    let elsewhere = |k: &usize| k / 4 != k % 4 && (k / 4) ^ (k % 4) != 3;
    if (1..4).any(|j| at(j, j) != a) || (0..16).filter(elsewhere).any(|k| !matrix[k].is_exact_zero()) {
        return None;
    }
    // P|j> = i^|z| (-1)^{z.j} |3 - j>
    let sign = |j: usize| match at(3 ^ j, j) {
        entry if entry == b => Some(0),
        entry if entry == -b => Some(1),
        _ => None,
    };
    let (first, second) = (sign(1)?, sign(2)?);
    if sign(3)? != first ^ second {
        return None;
    }
    let (a, b) = (wide(&a), wide(&b) * C::new(0.0, -1.0).powu(first + second));
    let z = (first as usize * low) | (second as usize * high);
    Some(Turned::of_sum(both, z, a, b, tolerance)?.kind())
}

/// The qubit and the matrix of an operator on one qubit without controls.
pub(super) fn on_one<E: Element>(operator: &Operator<Complex<E>>) -> Option<(usize, M2)> {
    let (fixed, value) = (operator.fixed(), operator.value());
    if !fixed.is_power_of_two() {
        return None;
    }
    let (one, zero) = (C::new(1.0, 0.0), C::default());
    let mut u = [one, zero, zero, one];
    match operator.shape() {
        Shape::Identity => {}
        Shape::Phase(factor) => u[if value == 0 { 0 } else { 3 }] = wide(factor),
        Shape::Diagonal(factors) => {
            factors.iter().for_each(|(at, factor)| u[if *at == 0 { 0 } else { 3 }] = wide(factor));
        }
        Shape::Swap(..) => u = [zero, one, one, zero],
        Shape::Cycles(cycles) => {
            // One cycle of two, or two of one.
            for cycle in cycles {
                for (k, (from, factor)) in cycle.iter().enumerate() {
                    let (to, _) = cycle[(k + 1) % cycle.len()];
                    let (row, column) = (usize::from(to != 0), usize::from(*from != 0));
                    if cycle.len() == 2 {
                        u[3 * column] = zero;
                    }
                    u[2 * row + column] = wide(factor);
                }
            }
        }
        Shape::Dense { matrix, offsets } if offsets.len() == 2 => {
            u.iter_mut().zip(matrix).for_each(|(to, from)| *to = wide(from));
        }
        Shape::Dense { .. } | Shape::Parity { .. } | Shape::String { .. } => return None,
    }
    Some((fixed.trailing_zeros() as usize, u))
}

fn wide<E: Element>(z: &Complex<E>) -> C {
    Complex::new(z.re.into(), z.im.into())
}

fn near(z: C, x: f64, tolerance: f64) -> bool {
    (z - x).norm() <= tolerance
}
