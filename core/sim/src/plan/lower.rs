//! From operators to a few primitive ones that a tile can do cheaply.
//!
//! ```text
//! any 1-qubit unitary   = e^{i a} diag(1, e^{i b}) c [1 -t; t 1] diag(1, e^{i g}) [after Z] [then X],  |t| <= 1, see `zyz`
//! any diagonal          = phases e^{i a} on parities of bits: the Walsh-Hadamard transform of its angles
//! a permutation of bits = X, CX, SWAP, if it is affine over GF(2): it moves nothing, see `tile`
//! controlled U          = V (controlled diagonal) V^dagger   with U = V diagonal V^dagger
//! CCX, CSWAP, MCX       = the same with V = H, for CSWAP between two CX
//! controlled rotations  = rotations about the string with and without Z on the controls
//! Pauli rotation        = c [1 -t; t 1] along the qubits with X or Y, between S and S^dagger if Y is on an even number
//! any 2-qubit matrix    = a dense 4x4 block, which takes in 1-qubit gates next to it and gives those at its end to
//!                         the blocks that follow
//! ```
//! Clifford gates that close around rotations make these rotations about other strings, see
//! `entries`. Neighbouring 1-qubit gates are fused. Other operators stay as they are
//! ([`PrimitiveOp::Plain`]): dense matrices on 3 qubits and more, 1-qubit matrices that are not
//! unitary to rounding, phases on many bits. Each block that is written as something else is
//! multiplied out again and compared with the product of the gates that it replaces
//! ([`Cut::tolerance`](super::Cut)).
//!
//! The tan form of a rotation takes 2 products for each amplitude instead of 8; its real factor
//! `c = 1/sqrt(1 + t^2)` is left to be applied once for many gates. Whether Z and X are beside it
//! is a matter of its numbers: they cost nothing (see `layout`), and so all angles of a gate are
//! the same operations but where one vanishes.

mod clifford;
mod entries;
mod fit;
mod kinds;
mod matrices;
mod permutations;
mod rotations;
mod zyz;

use num_complex::Complex;
use smallvec::SmallVec;

use clifford::Clifford;
use entries::{LoweringEntries, LoweringEntry};
use kinds::{EntryKind, on_one, string};
use matrices::{M2, SmallComplex, dagger, eigen, is_unitary, local, multiply2, multiply4, widen};
pub(in crate::plan) use matrices::{M4, distance, exchanged};
use zyz::Zyz;

pub(in crate::plan) use crate::matrix::canonical::CanonicalFactors;
use crate::{
    basis::{deposit, odd, walsh_hadamard},
    kernel::{Operator, OperatorShape, OverlapProbe, SimdFloat},
    matrix::canonical::split,
    pauli::{PauliMasks, PhasedPauli},
    plan::BinaryAngle,
};

/// Indices with factors, and the bits of an operator; few, so that they stay on the stack.
type OffsetFactors = SmallVec<[(usize, SmallComplex); 4]>;
type OperatorBits = SmallVec<[usize; 6]>;

/// Largest number of bits that a controlled phase may depend on: it becomes up to 2^bits phases of
/// parities.
const MAX_PHASE_BITS: u32 = 5;

/// Angles below this are rounding errors: of sums and differences of angles, or of a transform of
/// angles below 2 pi. What is left out of them counts in the deviation.
pub(in crate::plan) const NO_ANGLE: f64 = 1e-15;

/// A primitive operation.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a list of them is made anew for each binding, in the same memory"
)]
pub(in crate::plan) enum PrimitiveOp {
    /// Z if `sign`, then `[1 -tan; tan 1]` on a qubit, times `1/sqrt(1 + tan^2)`, then X if `flip`;
    /// |tan| <= 1.
    Rotation { qubit: usize, tan: f64, sign: bool, flip: bool },
    /// `[1 -tan; tan 1]` between the indices apart by x, the first being the one where z is even,
    /// times `1/sqrt(1 + tan^2)`, then `X^x Z^z` if `flip`; |tan| <= 1. An odd number of qubits has
    /// Y.
    PauliRotation { string: PauliMasks, tan: f64, flip: bool },
    /// `e^{i angle}` where the bits in `mask` have odd parity.
    Phase { mask: usize, angle: BinaryAngle },
    /// Z if `sign`, then X if `flip`.
    Pauli { qubit: usize, sign: bool, flip: bool },
    /// CX.
    Cx { control: usize, target: usize },
    /// SWAP.
    Swap(usize, usize),
    /// A 4x4 matrix; bit 0 of a row is qubit `a`, bit 1 qubit `b`.
    Dense { a: usize, b: usize, matrix: M4 },
    /// Inner product of this number in the list, with a Pauli string; it changes nothing.
    Probe { number: usize, pauli: PhasedPauli },
    /// The operator of this number in the list that was lowered, as it is, on these qubits.
    Plain { operator: usize, qubits: usize },
}

impl PrimitiveOp {
    /// Returns the qubits on which it is not diagonal.
    pub(in crate::plan) fn moving(&self) -> usize {
        match *self {
            PrimitiveOp::Rotation { qubit, .. } | PrimitiveOp::Pauli { qubit, flip: true, .. } => {
                1 << qubit
            }
            PrimitiveOp::Phase { .. } | PrimitiveOp::Pauli { .. } => 0,
            PrimitiveOp::Cx { target, .. } => 1 << target,
            PrimitiveOp::Swap(a, b) | PrimitiveOp::Dense { a, b, .. } => 1 << a | 1 << b,
            PrimitiveOp::PauliRotation { string, .. } => string.x,
            PrimitiveOp::Probe { pauli, .. } => pauli.string.x,
            PrimitiveOp::Plain { qubits, .. } => qubits,
        }
    }

    /// Returns true if two operations differ at most in their numbers, so that they can be planned
    /// alike.
    pub(in crate::plan) fn same_structure(&self, other: &PrimitiveOp) -> bool {
        match (self, other) {
            (PrimitiveOp::Rotation { qubit: a, .. }, PrimitiveOp::Rotation { qubit: b, .. }) => {
                a == b
            }
            (
                PrimitiveOp::PauliRotation { string: a, .. },
                PrimitiveOp::PauliRotation { string: b, .. },
            ) => a == b,
            (PrimitiveOp::Phase { mask: a, .. }, PrimitiveOp::Phase { mask: b, .. }) => a == b,
            (PrimitiveOp::Dense { a, b, .. }, PrimitiveOp::Dense { a: c, b: d, .. }) => {
                (a, b) == (c, d)
            }
            (
                PrimitiveOp::Pauli { qubit: a, flip: x, .. },
                PrimitiveOp::Pauli { qubit: b, flip: y, .. },
            ) => (a, x) == (b, y),
            _ => self == other,
        }
    }

    /// Returns the qubits on which it only depends.
    pub(in crate::plan) fn reading(&self) -> usize {
        match *self {
            PrimitiveOp::Phase { mask, .. } => mask,
            PrimitiveOp::Cx { control, .. } => 1 << control,
            PrimitiveOp::Pauli { qubit, flip: false, .. } => 1 << qubit,
            PrimitiveOp::PauliRotation { string, .. } => string.z & !string.x,
            PrimitiveOp::Probe { pauli, .. } => pauli.string.z,
            _ => 0,
        }
    }
}

/// The primitive operations of a list of operators, and the phase `e^{i angle}` left over.
#[derive(Clone, Debug, Default)]
pub(in crate::plan) struct LoweredOps {
    pub(in crate::plan) ops: Vec<PrimitiveOp>,
    pub(in crate::plan) angle: BinaryAngle,
    /// Sum over all blocks of the distance of each from the product of its gates.
    pub(in crate::plan) deviation: f64,
    /// Empty but while something is lowered; its memory is kept.
    pending: Vec<PendingSingleQubit>,
    /// True for each operation that is a dense block with such blocks next on both qubits.
    followed: Vec<bool>,
    entries: LoweringEntries,
}

/// Options of the lowering of operators.
#[derive(Clone, Copy, Debug)]
pub(in crate::plan) struct LoweringOptions {
    /// True if dense blocks are factored.
    pub(in crate::plan) factor_blocks: bool,
    /// Largest number of qubits with X or Y of a string.
    pub(in crate::plan) widest: usize,
    /// Largest distance between the factors of a block and the product of its gates, in eps of the
    /// numbers for each gate.
    pub(in crate::plan) tolerance: f64,
}

/// Lowers operators on n qubits, and inner products between them, which are in the order of the
/// operators. As far as possible the operations have the structure of `known`, which are those of
/// other angles. The memory of `spare` is reused.
pub(in crate::plan) fn lower<E: SimdFloat>(
    n_qubits: usize,
    operators: &[Operator<Complex<E>>],
    inners: &[OverlapProbe],
    form: LoweringOptions,
    known: Option<&LoweredOps>,
    mut spare: LoweredOps,
) -> LoweredOps {
    let eps = Into::<f64>::into(E::EPSILON);
    let (mut waiting, mut entries) =
        (std::mem::take(&mut spare.pending), std::mem::take(&mut spare.entries));
    waiting.resize(n_qubits, PendingSingleQubit::default());
    entries.collect_from(
        operators,
        inners,
        form.widest,
        known.map_or(&[], |known| &known.entries.clifford),
    );
    spare.ops.clear();
    (spare.angle, spare.deviation) = (entries.angle, entries.deviation);
    let mut lowering = PlanLowering { out: spare, pending: waiting, eps, form };
    for entry in &entries.list {
        lowering.entry(entry, operators);
    }
    lowering.flush(usize::MAX);
    if form.factor_blocks {
        lowering.factor_blocks();
    }
    let PlanLowering { mut out, pending: mut waiting, .. } = lowering;
    waiting.clear();
    (out.pending, out.entries) = (waiting, entries);
    out
}

/// Returns true if most operators are Clifford gates that surround few rotations, judged by a
/// sample of them.
pub(in crate::plan) fn collapses<E: SimdFloat>(operators: &[Operator<Complex<E>>]) -> bool {
    const SAMPLE: usize = 512;
    let Some(some) = operators.get(operators.len() / 2..operators.len() / 2 + SAMPLE) else {
        return false;
    };
    let mut entries = LoweringEntries::default();
    entries.collect_from(some, &[], usize::BITS as usize, &[]);
    4 * entries.list.len() <= SAMPLE
}

/// Gates that are held back on a qubit.
#[derive(Clone, Debug, Default)]
struct PendingSingleQubit {
    /// The product of 1-qubit gates that are not out yet,
    matrix: Option<M2>,
    /// and their number.
    gates: usize,
    /// True if one of them is not diagonal at other angles either.
    moving: bool,
    /// The dense block that was the last operation on this qubit.
    dense: Option<usize>,
}

impl PendingSingleQubit {
    /// Multiplies a gate onto the product.
    fn multiply(&mut self, u: M2) {
        self.gates = if self.matrix.is_some() { self.gates + 1 } else { 1 };
        self.matrix = Some(self.matrix.map_or(u, |v| multiply2(&u, &v)));
    }

    /// Takes the product out, with the number of its gates.
    fn take_product(&mut self) -> Option<(M2, usize)> {
        self.matrix.take().map(|u| (u, self.gates))
    }
}

struct PlanLowering {
    out: LoweredOps,
    pending: Vec<PendingSingleQubit>,
    /// The precision of the numbers.
    eps: f64,
    form: LoweringOptions,
}

impl PlanLowering {
    /// Distance from a unitary matrix up to which a matrix counts as unitary.
    fn unitary(&self) -> f64 {
        64.0 * self.eps
    }

    /// Returns true if the factors of a block equal the product of this number of gates, up to
    /// rounding.
    fn agrees(&mut self, written: &[SmallComplex], product: &[SmallComplex], gates: usize) -> bool {
        let off = distance(written, product);
        let agrees = off <= self.form.tolerance * self.eps * gates as f64;
        if agrees {
            self.out.deviation += off;
        }
        agrees
    }

    fn entry<E: SimdFloat>(&mut self, entry: &LoweringEntry, operators: &[Operator<Complex<E>>]) {
        match (entry.given, entry.kind) {
            (Some(number), _) => {
                if !self.operator(&operators[number]) {
                    let qubits = operators[number].fixed();
                    self.flush(qubits);
                    self.push(PrimitiveOp::Plain { operator: number, qubits });
                }
            }
            (None, EntryKind::Clifford(gate)) => {
                // Those on two qubits are as they were given, or gone.
                if let Clifford::One { qubit, matrix, .. } = gate {
                    self.hold_back(qubit, matrix, gate.moves());
                }
            }
            (None, EntryKind::Rotation { pauli, angle, phase }) => {
                self.out.angle += BinaryAngle::from_radians(phase);
                self.rotation(pauli, angle);
            }
            (None, EntryKind::Probe { number, pauli }) => self.probe(number, pauli),
            (None, EntryKind::Other) => {}
        }
    }

    /// Lowers one operator; false if it has to stay as it is.
    fn operator<E: SimdFloat>(&mut self, operator: &Operator<Complex<E>>) -> bool {
        let wide = |z: &Complex<E>| Complex::new(z.re.into(), z.im.into());
        let (fixed, value) = (operator.fixed(), operator.value());
        if let OperatorShape::Identity = operator.shape() {
            return true;
        }
        if let Some((qubit, u)) = on_one(operator) {
            let unitary = is_unitary(&u, 2, self.unitary());
            if unitary {
                self.hold_back(
                    qubit,
                    u,
                    !matches!(
                        operator.shape(),
                        OperatorShape::Phase(_) | OperatorShape::Diagonal(_)
                    ),
                );
            }
            return unitary;
        }
        match operator.shape() {
            OperatorShape::Identity => true,
            OperatorShape::Phase(factor) => self.diagonal(fixed, &[(value, wide(factor))]),
            OperatorShape::Diagonal(factors) => {
                let factors: OffsetFactors =
                    factors.iter().map(|(o, f)| (value | o, wide(f))).collect();
                self.diagonal(fixed, &factors)
            }
            OperatorShape::Swap(a, b) => {
                let one = Complex::new(1.0, 0.0);
                let (a, b) = (value | a, value | b);
                self.permutation(fixed, &[OffsetFactors::from_slice(&[(a, one), (b, one)])])
            }
            OperatorShape::Cycles(cycles) => {
                let cycle = |c: &Vec<(usize, Complex<E>)>| {
                    c.iter().map(|(o, f)| (value | o, wide(f))).collect()
                };
                let cycles: SmallVec<[OffsetFactors; 2]> = cycles.iter().map(cycle).collect();
                self.permutation(fixed, &cycles)
            }
            OperatorShape::Parity { .. } | OperatorShape::PauliString { .. } => {
                match string(operator, self.form.widest) {
                    Some((turned, controls)) => self.controlled_rotation(&turned, controls, value),
                    None => false,
                }
            }
            OperatorShape::Dense { matrix, offsets } => {
                let controls = offsets.iter().fold(fixed, |mask, o| mask & !o);
                let matrix: SmallVec<[SmallComplex; 16]> = matrix.iter().map(wide).collect();
                match (offsets.as_slice(), matrix.as_slice()) {
                    (&[_, bit], &[a, b, c, d]) => self.controlled(
                        [a, b, c, d],
                        bit.trailing_zeros() as usize,
                        controls,
                        value,
                    ),
                    (&[_, a, b, _], matrix) if controls == 0 => {
                        self.dense(
                            a.trailing_zeros() as usize,
                            b.trailing_zeros() as usize,
                            matrix,
                        );
                        true
                    }
                    _ => false,
                }
            }
        }
    }

    /// Lowers an inner product. It is taken of the state as it is, so the gates that are held back
    /// go first.
    fn probe(&mut self, number: usize, pauli: PhasedPauli) {
        self.flush_seen(pauli.string);
        self.push(PrimitiveOp::Probe { number, pauli });
    }

    /// Puts out what waits on the qubits of a string; but Z does not see diagonals.
    fn flush_seen(&mut self, string: PauliMasks) {
        let unseen = |q: &usize| {
            string.x >> q & 1 == 0 && self.pending[*q].matrix.is_some() && !self.pending[*q].moving
        };
        let diagonal = (0..self.pending.len()).filter(unseen).fold(0, |mask, q| mask | 1 << q);
        self.flush(string.support() & !diagonal);
    }

    /// A gate on one qubit where others have these values.
    fn controlled(&mut self, u: M2, qubit: usize, controls: usize, value: usize) -> bool {
        if !is_unitary(&u, 2, self.unitary()) || controls.count_ones() >= MAX_PHASE_BITS {
            return false;
        }
        let (v, values) = eigen(&u);
        let zero = SmallComplex::default();
        let product = multiply2(&multiply2(&v, &[values[0], zero, zero, values[1]]), &dagger(&v));
        if !self.agrees(&product, &u, 1) {
            return false;
        }
        self.hold_back(qubit, dagger(&v), true);
        let done = self.diagonal(
            controls | 1 << qubit,
            &[(value, values[0]), (value | 1 << qubit, values[1])],
        );
        self.hold_back(qubit, v, true);
        done
    }

    /// Factors of modulus 1 where the bits in `mask` have the given values.
    fn diagonal(&mut self, mask: usize, factors: &[(usize, SmallComplex)]) -> bool {
        let unitary = self.unitary();
        if !factors.iter().all(|(_, f)| (f.norm_sqr() - 1.0).abs() <= unitary) {
            return false;
        }
        if mask.count_ones() > MAX_PHASE_BITS {
            return false;
        }
        let mut angles = [0.0; 1 << MAX_PHASE_BITS];
        let angles = &mut angles[..1 << mask.count_ones()];
        let mut wanted = [BinaryAngle::ZERO; 1 << MAX_PHASE_BITS];
        for (x, (angle, wanted)) in angles.iter_mut().zip(&mut wanted).enumerate() {
            let at = deposit(x, mask);
            *angle = factors.iter().find(|f| f.0 == at).map_or(0.0, |f| f.1.arg());
            *wanted = BinaryAngle::from_radians(*angle);
        }
        let scale = -2.0 / angles.len() as f64;
        walsh_hadamard(angles);
        let mut phases = [BinaryAngle::ZERO; 1 << MAX_PHASE_BITS];
        for (phase, angle) in phases.iter_mut().zip(&*angles).skip(1) {
            *phase = BinaryAngle::from_radians(scale * angle);
        }
        phases
            .iter_mut()
            .filter(|phase| phase.abs() <= NO_ANGLE)
            .for_each(|phase| *phase = BinaryAngle::ZERO);
        // What the phases give each index, less what it is to have.
        let count = angles.len();
        let off = |x: usize| {
            let sum: BinaryAngle = (1..count).filter(|y| odd(x & y)).map(|y| phases[y]).sum();
            (wanted[0] + sum - wanted[x]).abs()
        };
        let off = (0..count).map(off).fold(0.0, f64::max);
        if off > self.form.tolerance * self.eps {
            return false;
        }
        self.out.deviation += off;
        self.flush(mask);
        self.out.angle += wanted[0];
        for (x, phase) in phases[..count].iter().enumerate().skip(1) {
            self.phase(deposit(x, mask), *phase);
        }
        true
    }

    fn dense(&mut self, a: usize, b: usize, matrix: &[SmallComplex]) {
        let mut new: M4 = [SmallComplex::default(); 16];
        new.copy_from_slice(matrix);
        for (bit, qubit) in [(0, a), (1, b)] {
            if let Some((u, _)) = self.pending[qubit].take_product() {
                new = multiply4(&new, &widen(&u, bit));
            }
        }
        if let (Some(i), Some(j)) = (self.pending[a].dense, self.pending[b].dense)
            && i == j
            && let PrimitiveOp::Dense { a: first, matrix, .. } = &mut self.out.ops[i]
        {
            let new = if *first == a { new } else { exchanged(&new) };
            *matrix = multiply4(&new, matrix);
            return;
        }
        self.push(PrimitiveOp::Dense { a, b, matrix: new });
        let at = Some(self.out.ops.len() - 1);
        (self.pending[a].dense, self.pending[b].dense) = (at, at);
    }

    /// Passes the one-qubit gates at the end of dense blocks on to the blocks that follow: see
    /// `canonical`.
    fn factor_blocks(&mut self) {
        let (unitary, tolerance) = (self.unitary(), self.form.tolerance * self.eps);
        let LoweredOps { ops, followed, deviation, .. } = &mut self.out;
        // The qubits on which a block comes next.
        let mut next = 0;
        followed.clear();
        followed.extend(ops.iter().rev().map(|op| {
            let qubits = op.moving() | op.reading();
            let block = matches!(op, PrimitiveOp::Dense { .. });
            let followed = block && next & qubits == qubits;
            next = if block { next | qubits } else { next & !qubits };
            followed
        }));
        for (op, followed) in ops.iter_mut().zip(followed.iter().rev()) {
            let &mut PrimitiveOp::Dense { a, b, ref mut matrix } = op else { continue };
            for (bit, qubit) in [(0, a), (1, b)] {
                if let Some((u, _)) = self.pending[qubit].take_product() {
                    *matrix = multiply4(matrix, &widen(&u, bit));
                }
            }
            if *followed && is_unitary(matrix, 4, unitary) {
                let (factored, after) = split(matrix);
                let off = distance(&multiply4(&local(&after), &factored), matrix);
                if off <= tolerance {
                    *deviation += off;
                    *matrix = factored;
                    self.pending[a].multiply(after[0]);
                    self.pending[b].multiply(after[1]);
                }
            }
        }
    }

    /// Multiplies a 1-qubit gate, one of a kind that is diagonal or not, onto those that wait.
    fn hold_back(&mut self, qubit: usize, u: M2, moves: bool) {
        let waiting = &mut self.pending[qubit];
        waiting.moving = moves || waiting.matrix.is_some() && waiting.moving;
        waiting.multiply(u);
    }

    /// Puts out the 1-qubit gates that wait on some qubits.
    fn flush(&mut self, qubits: usize) {
        for qubit in 0..self.pending.len() {
            if qubits >> qubit & 1 == 1
                && let Some((u, gates)) = self.pending[qubit].take_product()
            {
                self.put_out(qubit, &u, gates);
            }
        }
    }

    /// Emits the product of this number of gates on one qubit.
    fn put_out(&mut self, qubit: usize, u: &M2, gates: usize) {
        if let Some(i) = self.pending[qubit].dense
            && let PrimitiveOp::Dense { a, matrix, .. } = &mut self.out.ops[i]
        {
            *matrix = multiply4(&widen(u, usize::from(*a != qubit)), matrix);
            return;
        }
        let zyz = Zyz::new(u);
        if !self.agrees(&zyz.product(), u, gates) {
            if self.pending.len() > 1 {
                // As it is, in a block with any other qubit.
                self.dense(qubit, usize::from(qubit == 0), &widen(u, 0));
                return;
            }
            self.out.deviation += distance(&zyz.product(), u);
        }
        let Zyz { phase, before, tan, after, flip } = zyz;
        self.out.angle += phase;
        if tan == 0.0 {
            let (rest, odd) = without_sign(before);
            // A sign alone; beside a phase it would come and go with the angle.
            let sign = odd && rest.abs() <= NO_ANGLE;
            match sign {
                true => self.out.deviation += rest.abs(),
                false => self.phase(1 << qubit, before),
            }
            if sign || flip {
                self.push(PrimitiveOp::Pauli { qubit, sign, flip });
            }
        } else {
            let (before, sign_before) = without_sign(before);
            let (after, sign_after) = without_sign(after);
            // Z [1 -t; t 1] = [1 t; -t 1] Z
            let tan = if sign_after { -tan } else { tan };
            self.phase(1 << qubit, before);
            self.push(PrimitiveOp::Rotation { qubit, tan, sign: sign_before ^ sign_after, flip });
            if flip {
                // X diag(1, z) = z diag(1, 1/z) X
                self.out.angle += after;
                self.phase(1 << qubit, -after);
            } else {
                self.phase(1 << qubit, after);
            }
        }
    }

    fn phase(&mut self, mask: usize, angle: BinaryAngle) {
        match angle.abs() > NO_ANGLE {
            true => self.push(PrimitiveOp::Phase { mask, angle }),
            false => self.out.deviation += angle.abs(),
        }
    }

    fn push(&mut self, op: PrimitiveOp) {
        let qubits = op.moving() | op.reading();
        for (qubit, waiting) in self.pending.iter_mut().enumerate() {
            if qubits >> qubit & 1 == 1 {
                waiting.dense = None;
            }
        }
        self.out.ops.push(op);
    }
}

/// Returns the phase `e^{i angle}` as one between -pi/2 and pi/2, and true if it is to be negated.
fn without_sign(angle: BinaryAngle) -> (BinaryAngle, bool) {
    match angle.abs() < std::f64::consts::FRAC_PI_2 {
        true => (angle, false),
        false => (angle - BinaryAngle::HALF_TURN, true),
    }
}
