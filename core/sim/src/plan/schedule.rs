//! Schedules: operators cut into stages, independently of how a stage is run.
//!
//! A [`Schedule`] is the part of a plan that is the same on every machine: the operators lowered to
//! primitive ones, and which of them share a pass over memory. [`Layout`] then says what a stage
//! does to the places of a tile. The tiles of this crate run it in vector registers; a device does
//! the same in its own way.

use num_complex::Complex;

use super::{
    BinaryAngle,
    layout::Layout,
    lower::{self, LoweredOps, PrimitiveOp},
    stages::{self, Stage},
};
use crate::kernel::{Operator, OverlapProbe, SimdFloat, StateHint};

/// Parameters of the cut of operators into tiles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cut {
    /// Qubits of a tile, at least two and at least the qubits with X or Y of any inner product.
    pub tile_qubits: usize,
    /// Number of the lowest qubits that are in every tile, as far as there is room for any
    /// operation beside them.
    pub low_qubits: usize,
    /// True if a dense block on two qubits passes the one-qubit gates at its end on to blocks that
    /// follow on both: the rest of it has 9 angles and a phase, which takes fewer products where a
    /// stage makes use of that.
    pub factor_blocks: bool,
    /// Hint about the state: |0…0> before or after the operators.
    pub state_hint: StateHint,
    /// Largest difference between an entry of the factors of a block and the product of its gates:
    /// this number of eps of the numbers for each of the gates. Where it would differ by more, the
    /// product is kept as it is; below zero it always is.
    pub tolerance: f64,
    /// Largest number of operations that wait while a stage searches for others that commute with
    /// them. So the cost of planning is linear in the operations even where some qubit is hardly
    /// ever used and nothing else ends the search.
    pub lookahead: usize,
}

impl Cut {
    /// The usual tolerance, in eps of the numbers.
    pub const TOLERANCE: f64 = 8.0;
    /// The usual number of operations that wait.
    pub const LOOKAHEAD: usize = 4096;

    fn lowering_options(self, n_qubits: usize, inners: &[OverlapProbe]) -> lower::LoweringOptions {
        let widest = self.widest(n_qubits, widest(inners));
        lower::LoweringOptions {
            factor_blocks: self.factor_blocks,
            widest,
            tolerance: self.tolerance,
        }
    }

    /// Returns the qubits that a string can have X or Y on, if those of inner products have up to
    /// `given`.
    fn widest(self, n_qubits: usize, given: usize) -> usize {
        if n_qubits <= self.tile_qubits {
            n_qubits
        } else {
            given.max(self.tile_qubits.saturating_sub(self.low_qubits))
        }
    }
}

/// Returns the qubits with X or Y of the widest inner product, and not fewer than any operation
/// moves amplitudes along.
pub(super) fn widest(inners: &[OverlapProbe]) -> usize {
    inners.iter().map(|inner| inner.x.count_ones() as usize).fold(2, usize::max)
}

/// Operators on n qubits as primitive ones in stages.
#[derive(Clone, Debug)]
pub struct Schedule {
    n_qubits: usize,
    cut: Cut,
    lowered: LoweredOps,
    /// Memory for the next binding.
    spare: LoweredOps,
    stages: Vec<Stage>,
    /// The qubits that may be 1 at the end.
    active_qubits: usize,
}

impl Schedule {
    /// Lowers operators on n qubits, with inner products between them, and cuts them into stages.
    /// Linear in the operators: some n^2 steps for each, times those that a stage passes over.
    ///
    /// # Panics
    /// If an operator does not fit n qubits.
    #[must_use]
    pub fn new<E: SimdFloat>(
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
        cut: Cut,
    ) -> Schedule {
        assert!(
            operators.iter().all(|o| o.n_qubits() <= n_qubits),
            "operators on more than {n_qubits} qubits"
        );
        if n_qubits < 2 && inners.is_empty() {
            // A block needs two qubits.
            return Schedule::plain(n_qubits, operators.len(), cut);
        }
        let widest = widest(inners);
        let size = cut.tile_qubits.max(widest).min(n_qubits);
        let low = cut.low_qubits.min(size.saturating_sub(widest));
        let form = cut.lowering_options(n_qubits, inners);
        let lowered = lower::lower(n_qubits, operators, inners, form, None, LoweredOps::default());
        let (mut stages, live) = stages::stages(
            n_qubits,
            &lowered.ops,
            (size, low),
            cut.state_hint,
            cut.lookahead.max(1),
        );
        if !stages.iter().any(|s| matches!(s, Stage::Tile { .. }))
            && lowered.angle != BinaryAngle::ZERO
        {
            // Nothing but a phase: a stage that does only that.
            stages.push(Stage::Tile {
                qubits: (1 << size) - 1,
                active_qubits: live,
                ops: Vec::new(),
            });
        }
        Schedule {
            n_qubits,
            cut,
            lowered,
            spare: LoweredOps::default(),
            stages,
            active_qubits: live,
        }
    }

    /// Every operator by itself, for states that are smaller than what a tile is made of.
    #[must_use]
    pub fn plain(n_qubits: usize, operators: usize, cut: Cut) -> Schedule {
        let live = (1 << n_qubits) - 1;
        let stages =
            (0..operators).map(|operator| Stage::Plain { operator, active_qubits: live }).collect();
        let (lowered, spare) = (LoweredOps::default(), LoweredOps::default());
        Schedule { n_qubits, cut, lowered, spare, stages, active_qubits: live }
    }

    /// Puts the numbers of other operators in, with the same inner products. False, and nothing is
    /// changed, if they would be cut otherwise: they are no other binding of the same circuit, or
    /// have a gate that was simpler than usual when they were cut. From the second binding on
    /// nothing is allocated.
    pub fn bind<E: SimdFloat>(
        &mut self,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
    ) -> bool {
        let known = &self.lowered.ops;
        if known.is_empty() || operators.iter().any(|o| o.n_qubits() > self.n_qubits) {
            return false;
        }
        let mut lowered = lower::lower(
            self.n_qubits,
            operators,
            inners,
            self.cut.lowering_options(self.n_qubits, inners),
            Some(&self.lowered),
            std::mem::take(&mut self.spare),
        );
        let same = lowered.fit(known);
        let turns = lowered.angle == BinaryAngle::ZERO
            || self.stages.iter().any(|s| matches!(s, Stage::Tile { .. }));
        self.spare =
            if same && turns { std::mem::replace(&mut self.lowered, lowered) } else { lowered };
        same && turns
    }

    /// Returns the number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_qubits
    }

    /// Returns the parameters of the cut.
    #[must_use]
    pub fn cut(&self) -> Cut {
        self.cut
    }

    /// Returns the stages in order.
    #[must_use]
    pub fn stages(&self) -> &[Stage] {
        &self.stages
    }

    /// Returns the qubits that may be 1 at the end: if the state began as |0…0>, the amplitudes of
    /// all other indices are zero.
    #[must_use]
    pub fn active_qubits(&self) -> usize {
        self.active_qubits
    }

    /// Returns the phase `e^{i angle}` of the whole, which no stage has.
    #[must_use]
    pub fn angle(&self) -> BinaryAngle {
        self.lowered.angle
    }

    /// Bound on the distance between the states that the blocks and the gates make of one of norm
    /// 1, besides what running rounds: four times the sum over all blocks of their largest
    /// difference of an entry, since the norm of a matrix on two qubits is at most four times its
    /// largest entry.
    #[must_use]
    pub fn deviation(&self) -> f64 {
        4.0 * self.lowered.deviation
    }

    /// Returns the layout of some primitive operations, by their numbers, on tiles with the given
    /// qubits.
    #[must_use]
    pub fn layout(&self, qubits: usize, ops: &[usize]) -> Layout {
        Layout::new(self.n_qubits, qubits, self.ops(ops))
    }

    /// Primitive operations by their numbers.
    pub(super) fn ops<'a>(&'a self, numbers: &'a [usize]) -> impl Iterator<Item = &'a PrimitiveOp> {
        numbers.iter().map(|&number| &self.lowered.ops[number])
    }
}
