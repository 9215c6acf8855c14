//! Layout of a stage: its operations in terms of the places of a tile.
//!
//! # Frame
//! X, CX and SWAP move nothing: the place p of an amplitude in the tile stays, and what changes is
//! which place means which basis state. Logical qubit b has the value
//! ```text
//! x_b = inner_b . p  +  outer_b . o  +  flip_b      over GF(2)
//! ```
//! for the place p in the tile and the index o of the tile, and it alone changes when p moves by
//! the vector `vector_b`. CX from c to t adds the first line of c to that of t, and `vector_t` to
//! `vector_c`. A rotation of b then couples p and p + vector_b with a sign from x_b; a phase reads
//! a sum of first lines. When the stage is over, the amplitude of logical index y is read from
//! `sum_b (y_b + constants of b) vector_b`.
//!
//! # Signs
//! Z moves nothing either: it is held back as a parity `inner . p + outer . o` of places that are
//! to be negated. A rotation whose vector is odd in it turns the other way, a dense block takes the
//! part on its own bits in, phases do not see it, and what is left at the end of the stage is
//! [`Layout::signs`].

use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    BinaryAngle,
    lower::{M4, PrimitiveOp, exchanged},
};
use crate::{
    basis::{odd, reduce},
    pauli::{PauliMasks, PhasedPauli},
};

/// A logical qubit in terms of places.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Line {
    /// The parity of the place that it reads; bit i of a place is the i-th qubit of the tile.
    pub inner: usize,
    /// The parity of the tile's index that it reads; a bit is a qubit.
    pub outer: usize,
    /// True if 1 is added.
    pub flip: bool,
    /// The places that differ in this qubit alone are apart by this; 0 outside of the tile.
    pub vector: usize,
}

/// Parity `inner . p + outer . o` of the place p in the tile and the tile's index o.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parity {
    /// The parity of the place.
    pub inner: usize,
    /// The parity of the tile's index.
    pub outer: usize,
}

/// `e^{i angle}` where `inner . p + outer . o` is odd, for the place p in the tile and the tile's
/// index o.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedPhase {
    /// The parity of the place.
    pub inner: usize,
    /// The parity of the tile's index.
    pub outer: usize,
    /// The angle.
    pub angle: BinaryAngle,
}

/// The inner product with a Pauli string:
/// `im <lambda|P|psi> = weight sum_p (-1)^{z.p + outer.o} part(conj(lambda[p + x]) psi[p])`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlacedProbe {
    /// Number of the inner product in the list.
    pub number: usize,
    /// The vector between the places.
    pub x: usize,
    /// The parity of the place that gives the sign.
    pub z: usize,
    /// The parity of the tile's index that gives the sign.
    pub outer: usize,
    /// True if the part is the real one; else it is the imaginary one.
    pub real: bool,
    /// Factor of the sum.
    pub weight: f64,
}

/// An operation in terms of places.
#[derive(Clone, Debug, PartialEq)]
pub enum Placed {
    /// `[1 -tan; tan 1]` on the places p and p + vector, the first being the one where the line
    /// is 0.
    Rotation {
        /// The qubit.
        line: Line,
        /// Tangent, at most 1 in absolute value.
        tan: f64,
    },
    /// A diagonal.
    Phase(PlacedPhase),
    /// A 4x4 matrix on two bits of a place; bit 0 of a row is the low one.
    Dense {
        /// The lower bit.
        low: usize,
        /// The higher bit.
        high: usize,
        /// Row by row.
        matrix: Box<[Complex<f64>; 16]>,
    },
    /// Inner product, which changes nothing.
    Probe(PlacedProbe),
}

impl Placed {
    /// Returns the Pauli string that it is a function of, as (vector between places, parity of the
    /// place): two of them commute where the strings do. `None` for a dense block.
    #[must_use]
    pub fn string(&self) -> Option<(usize, usize)> {
        match self {
            Placed::Rotation { line, .. } => Some((line.vector, line.inner)),
            Placed::Phase(phase) => Some((0, phase.inner)),
            Placed::Probe(look) => Some((look.x, look.z)),
            Placed::Dense { .. } => None,
        }
    }

    /// Returns the bits of a place that it reads or changes.
    #[must_use]
    pub fn touched(&self) -> usize {
        match self {
            Placed::Dense { low, high, .. } => 1 << low | 1 << high,
            Placed::Rotation { line, .. } => line.vector | line.inner,
            Placed::Phase(phase) => phase.inner,
            Placed::Probe(look) => look.x | look.z,
        }
    }

    /// Returns the factor that remains on a product of two amplitudes until the stage is scaled
    /// back: `1 / factor`.
    #[must_use]
    pub fn shrinkage(&self) -> f64 {
        if let Placed::Rotation { tan, .. } = self { 1.0 / (1.0 + tan * tan) } else { 1.0 }
    }
}

/// Operations that others may not pass. An operation that commutes with a list of strings commutes
/// with all their products: a basis of each list is enough, so that the cost does not depend on how
/// many there are.
#[derive(Clone, Debug)]
pub struct Obstacles {
    /// True if the order of inner products matters.
    ordered_probes: bool,
    /// Phases and rotations, as vectors of twice the bits of a place: see [`Placed::string`].
    strings: SmallVec<[u64; 16]>,
    /// Inner products, likewise.
    probes: SmallVec<[u64; 16]>,
    /// The bits that dense blocks touch, and the bits that the others do.
    dense: usize,
    sparse: usize,
}

impl Obstacles {
    /// Creates an empty list. `looks_change`: true if the order of inner products matters.
    #[must_use]
    pub fn new(looks_change: bool) -> Self {
        Obstacles {
            ordered_probes: looks_change,
            strings: SmallVec::new(),
            probes: SmallVec::new(),
            dense: 0,
            sparse: 0,
        }
    }

    /// Adds an operation.
    pub fn add(&mut self, op: &Placed) {
        let Some((x, z)) = op.string() else {
            self.dense |= op.touched();
            return;
        };
        self.sparse |= op.touched();
        let basis =
            if matches!(op, Placed::Probe(_)) { &mut self.probes } else { &mut self.strings };
        // Without the highest bits of those before it, so that taking these out one after the other
        // takes them all out.
        let reduced = reduce(basis, (x as u64) << u32::BITS | z as u64);
        if reduced != 0 {
            basis.push(reduced);
        }
    }

    /// Returns true if the order of an operation and one of these matters.
    #[must_use]
    pub fn conflicts(&self, op: &Placed) -> bool {
        let touched = op.touched();
        let meets = (self.dense | self.sparse) & touched != 0;
        let Some((x, z)) = op.string().filter(|_| meets) else { return meets };
        // A string against (x, z) is a product with (z, x).
        let turned = (z as u64) << u32::BITS | x as u64;
        let anticommutes = |basis: &[u64]| basis.iter().any(|string| odd(string & turned));
        let with_looks = self.ordered_probes || !matches!(op, Placed::Probe(_));
        self.dense & touched != 0
            || anticommutes(&self.strings)
            || with_looks && anticommutes(&self.probes)
    }
}

/// A stage in terms of places.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The tile's qubits in ascending order: bit i of a place is qubit `inside[i]`.
    pub inside: Vec<usize>,
    /// The other qubits, as bits of an index.
    pub outside: usize,
    /// Operations, in order. The weights of looks do not include the rotations before them, see
    /// [`Placed::shrinkage`].
    pub ops: Vec<Placed>,
    /// The logical qubits of the tile at the end.
    pub exit: Vec<Line>,
    /// The phase of the whole tile at the end,
    pub angle: BinaryAngle,
    /// and its factor: rotations are without their `1/sqrt(1 + tan^2)`.
    pub scale: f64,
    /// The places that are negated at the end.
    pub signs: Parity,
    /// Logical qubits at the end, all of them.
    lines: Vec<Line>,
}

impl Layout {
    /// Follows the frame through operations on n qubits.
    pub(super) fn new<'a>(
        n_qubits: usize,
        qubits: usize,
        ops: impl Iterator<Item = &'a PrimitiveOp>,
    ) -> Layout {
        let inside: Vec<usize> = (0..n_qubits).filter(|q| qubits >> q & 1 == 1).collect();
        let mut layout = Layout {
            exit: Vec::with_capacity(inside.len()),
            inside,
            outside: ((1 << n_qubits) - 1) & !qubits,
            ops: Vec::new(),
            angle: BinaryAngle::ZERO,
            scale: 1.0,
            signs: Parity::default(),
            lines: vec![Line::default(); n_qubits],
        };
        layout.follow(ops);
        layout
    }

    /// Follows the frame through other operations on the same qubits. Nothing is allocated for as
    /// many of the same kinds.
    pub(super) fn follow<'a>(&mut self, ops: impl Iterator<Item = &'a PrimitiveOp>) {
        for (q, line) in self.lines.iter_mut().enumerate() {
            *line = match self.inside.binary_search(&q) {
                Ok(i) => Line { inner: 1 << i, vector: 1 << i, ..Line::default() },
                Err(_) => Line { outer: 1 << q, ..Line::default() },
            };
        }
        (self.angle, self.scale, self.signs) = (BinaryAngle::ZERO, 1.0, Parity::default());
        let mut placed = 0;
        for op in ops {
            self.apply_op(op, placed);
            placed += usize::from(!matches!(
                op,
                PrimitiveOp::Pauli { .. } | PrimitiveOp::Cx { .. } | PrimitiveOp::Swap(..)
            ));
        }
        self.ops.truncate(placed);
        self.exit.clear();
        self.exit.extend(self.inside.iter().map(|&q| self.lines[q]));
    }

    /// Follows the frame through an operation. What it places becomes operation number `at`.
    fn apply_op(&mut self, op: &PrimitiveOp, at: usize) {
        let (lines, signs) = (self.lines.as_mut_slice(), self.signs);
        let new = match *op {
            PrimitiveOp::Rotation { qubit, tan, sign, flip } => {
                self.scale /= (1.0 + tan * tan).sqrt();
                if sign {
                    self.negate(qubit);
                }
                let line = self.lines[qubit];
                self.lines[qubit].flip ^= flip;
                let tan = if odd(self.signs.inner & line.vector) { -tan } else { tan };
                Placed::Rotation { line, tan }
            }
            PrimitiveOp::PauliRotation { string: PauliMasks { x, z }, tan, flip } => {
                self.scale /= (1.0 + tan * tan).sqrt();
                let line = Line { vector: sum(lines, x).vector, ..sum(lines, z) };
                if flip {
                    ones(z).for_each(|q| self.negate(q));
                    ones(x).for_each(|q| self.lines[q].flip ^= true);
                }
                let tan = if odd(signs.inner & line.vector) { -tan } else { tan };
                Placed::Rotation { line, tan }
            }
            PrimitiveOp::Phase { mask, angle: by } => {
                let sum = sum(lines, mask);
                // [x + 1 odd] = 1 - [x odd]
                let by = if sum.flip {
                    self.angle += by;
                    -by
                } else {
                    by
                };
                Placed::Phase(PlacedPhase { inner: sum.inner, outer: sum.outer, angle: by })
            }
            PrimitiveOp::Dense { a, b, ref matrix } => {
                let (low, high) = (lines[a], lines[b]);
                let flips = usize::from(low.flip) | usize::from(high.flip) << 1;
                // The block takes in the signs on its bits.
                let sign_bits = usize::from(signs.inner & low.inner != 0)
                    | usize::from(signs.inner & high.inner != 0) << 1;
                self.signs.inner &= !(low.inner | high.inner);
                let matrix: M4 = std::array::from_fn(|i| {
                    let entry = matrix[i ^ (flips << 2 | flips)];
                    if odd(i & sign_bits) { -entry } else { entry }
                });
                let (low, high) =
                    (low.inner.trailing_zeros() as usize, high.inner.trailing_zeros() as usize);
                let (low, high, matrix) =
                    if low < high { (low, high, matrix) } else { (high, low, exchanged(&matrix)) };
                if let Some(Placed::Dense { low: old_low, high: old_high, matrix: old }) =
                    self.ops.get_mut(at)
                {
                    (*old_low, *old_high, **old) = (low, high, matrix);
                    return;
                }
                Placed::Dense { low, high, matrix: Box::new(matrix) }
            }
            PrimitiveOp::Probe { number, pauli } => {
                let mut look = place_probe(lines, number, pauli);
                if odd(look.x & signs.inner) {
                    look.weight = -look.weight;
                }
                Placed::Probe(look)
            }
            PrimitiveOp::Pauli { qubit, sign, flip } => {
                if sign {
                    self.negate(qubit);
                }
                self.lines[qubit].flip ^= flip;
                return;
            }
            PrimitiveOp::Cx { control, target } => {
                let c = lines[control];
                let t = &mut lines[target];
                (t.inner, t.outer, t.flip) =
                    (t.inner ^ c.inner, t.outer ^ c.outer, t.flip ^ c.flip);
                let moved = t.vector;
                if lines[control].vector != 0 {
                    lines[control].vector ^= moved;
                }
                return;
            }
            PrimitiveOp::Swap(a, b) => return lines.swap(a, b),
            PrimitiveOp::Plain { .. } => unreachable!("a tile stage has no plain operators"),
        };
        match self.ops.get_mut(at) {
            Some(old) => *old = new,
            None => self.ops.push(new),
        }
    }

    /// Z on a qubit.
    fn negate(&mut self, qubit: usize) {
        let Line { inner, outer, flip, .. } = self.lines[qubit];
        self.signs = Parity { inner: self.signs.inner ^ inner, outer: self.signs.outer ^ outer };
        if flip {
            self.angle += BinaryAngle::HALF_TURN;
        }
    }

    /// Returns true if every place means at the end what it meant at the beginning: the frame is
    /// the identity.
    #[must_use]
    pub fn stays(&self) -> bool {
        let still = |(i, l): (usize, &Line)| l.inner == 1 << i && l.outer == 0 && !l.flip;
        self.exit.iter().enumerate().all(still)
    }
}

/// Returns the bits that are set.
fn ones(mut mask: usize) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = (mask != 0).then(|| mask.trailing_zeros() as usize);
        mask &= mask.wrapping_sub(1);
        first
    })
}

/// Returns the sum of the lines of some qubits.
fn sum(lines: &[Line], mask: usize) -> Line {
    ones(mask).fold(Line::default(), |sum, q| Line {
        inner: sum.inner ^ lines[q].inner,
        outer: sum.outer ^ lines[q].outer,
        flip: sum.flip ^ lines[q].flip,
        vector: sum.vector ^ lines[q].vector,
    })
}

/// Returns a Pauli string in terms of places.
fn place_probe(
    lines: &[Line],
    number: usize,
    PhasedPauli { phase, string }: PhasedPauli,
) -> PlacedProbe {
    let phase = phase * string.y_phase();
    let line = sum(lines, string.z);
    PlacedProbe {
        number,
        x: sum(lines, string.x).vector,
        z: line.inner,
        outer: line.outer,
        real: phase.is_imaginary(),
        weight: if phase.is_negative() ^ line.flip { -1.0 } else { 1.0 },
    }
}
