//! From the places of a stage (see `plan::layout`) to loops over a tile.
//!
//! # Order
//! Operations fall into levels: all phases that commute with what is before them, then rotations
//! that commute, then dense blocks. Rotations along up to three row vectors and three lane vectors
//! share a sweep; the phases before them are multiplied as the first of these sweeps loads. Those
//! along one vector are taken together, see `multiplex`.

use num_complex::Complex;

use super::{
    block::DenseBlock,
    buffer::{Buffer, TileBuffers},
    frame::{FrameSigns, StageExit, exit},
    multiplex::Multiplexed,
    phases::Phases,
    probes::ProbeSet,
    rows::{row_offsets, table},
    transfer::ENTRIES_PER_GATHER,
};
use crate::{
    basis::{deposit, extend, odd, reduce},
    kernel::{SimdFloat, simd},
    plan::layout::{Layout, Line, Obstacles, Placed, PlacedPhase, PlacedProbe},
    plan::{BinaryAngle, PlanOptions},
};

/// Lane rotations in one sweep.
const MAX_LANE_ROTATIONS: usize = 3;

/// A stage ready to run on every tile.
pub(in crate::plan) struct TileStage<E> {
    /// log2 of the amplitudes of a tile.
    pub(super) bits: usize,
    /// Index bits outside of the tile.
    pub(super) outside: usize,
    /// The index bits in which the tiles differ that are worked on: where another bit is 1 outside
    /// of the tile, it is zero.
    tiles: usize,
    /// Index bits within the tile where amplitudes are zero before the stage.
    pub(super) collapsed: usize,
    /// The index of the first amplitude of each row, within the tile.
    pub(super) row_offsets: Vec<usize>,
    pub(super) steps: Vec<TileStep<E>>,
    /// Phases of whole tiles: (outer parity, angle).
    pub(super) constants: Vec<(usize, BinaryAngle)>,
    /// The order in which tiles are worked through: those that use the same variants of tables
    /// follow each other. Empty for the order of their indices.
    pub(super) order: Vec<u32>,
    /// Factor of all amplitudes.
    pub(super) scale: Complex<f64>,
    /// Place that each logical index is read from; `None` if nothing has moved.
    pub(super) exit: Option<StageExit>,
    pub(super) signs: FrameSigns,
    /// Products and sums per amplitude.
    flops: f64,
    /// Phases that are constant in a tile and belong to no table, by their numbers in the layout.
    pub(super) whole: Vec<usize>,
    /// The tolerance up to which a dense block is written as factors.
    pub(super) factors: Option<f64>,
    /// The operations in terms of places, for other numbers.
    pub(super) layout: Layout,
}

pub(super) enum TileStep<E> {
    Sweep(RotationSweep<E>),
    Multiplexed(Multiplexed<E>),
    Dense(DenseBlock<E>),
    Probes(ProbeSet),
}

/// Rotations along `rows` row vectors and some lane vectors, after phases.
pub(super) struct RotationSweep<E> {
    pub(super) rows: usize,
    /// Rows that the sets of row vectors lead to, and the lanes that they exchange.
    pub(super) row_offsets: [usize; 8],
    pub(super) row_flips: [usize; 8],
    /// True if a row vector also exchanges lanes.
    pub(super) crossed: bool,
    pub(super) rotations: Vec<SweepRotation>,
    /// Tangents of the lanes, for each rotation and each sign of its logical bit.
    pub(super) tangents: Buffer<E>,
    /// Rows to start from, with the signs of the rotations above `SIGN_SHIFT`.
    pub(super) table: Vec<u32>,
    pub(super) phases: Option<Phases<E>>,
}

/// A rotation of a sweep.
pub(super) struct SweepRotation {
    /// Number of the operation in the layout.
    pub(super) source: usize,
    /// The bits of its line in the tile.
    pub(super) inner: usize,
    pub(super) outer: usize,
    pub(super) flip: bool,
    /// Lanes that it exchanges, for a rotation along lanes.
    pub(super) lanes: usize,
}

/// An operation and its number in the layout.
pub(super) type NumberedOp<'a> = (usize, &'a Placed);

/// Takes operations as long as those that come next may commute with all taken so far: not where
/// amplitudes move along vectors that span a tile, for then something is in the way of any other,
/// and no more than a window of those that move.
fn refill<'a>(
    rest: &mut Vec<NumberedOp<'a>>,
    waiting: &mut impl Iterator<Item = NumberedOp<'a>>,
    bits: usize,
    window: usize,
) {
    let mut basis: Vec<usize> = Vec::with_capacity(bits);
    let mut moving = 0;
    let mut moves = |op: &Placed| {
        let vectors = match op {
            Placed::Rotation { line, .. } => [line.vector, 0],
            Placed::Dense { low, high, .. } => [1 << low, 1 << high],
            Placed::Phase(_) | Placed::Probe(_) => return false,
        };
        moving += 1;
        for vector in vectors {
            let reduced = reduce(&basis, vector);
            if reduced != 0 {
                extend(&mut basis, reduced);
            }
        }
        basis.len() == bits || moving >= window
    };
    let mut full = false;
    for (_, op) in rest.iter() {
        full |= moves(op);
    }
    while !full && let Some(item) = waiting.next() {
        full = moves(item.1);
        rest.push(item);
    }
}

/// Moves what can go first out of a list: everything that `wanted` takes and that conflicts with
/// nothing left in it, nor with what has been taken (phases never do among themselves).
fn split<'a>(
    ops: Vec<NumberedOp<'a>>,
    looks_change: bool,
    wanted: impl Fn(&Placed) -> bool,
) -> (Vec<NumberedOp<'a>>, Vec<NumberedOp<'a>>) {
    let (mut first, mut rest): (Vec<NumberedOp<'_>>, Vec<NumberedOp<'_>>) =
        (Vec::new(), Vec::new());
    let (mut taken, mut left) = (Obstacles::new(looks_change), Obstacles::new(looks_change));
    for item @ (_, op) in ops {
        if wanted(op) && !left.conflicts(op) && !taken.conflicts(op) {
            if !matches!(op, Placed::Phase(_)) {
                taken.add(op);
            }
            first.push(item);
        } else {
            left.add(op);
            rest.push(item);
        }
    }
    (first, rest)
}

/// Compiles a stage for an instruction set that the processor has. `live`: the tiles that are
/// worked on differ in these qubits only. `found`: within them no others are 1 before the stage;
/// those of the lanes are among them. `looks_change`: whether the order of inner products matters.
pub(in crate::plan) fn compile<E: SimdFloat>(
    layout: Layout,
    (live, found): (usize, usize),
    options: PlanOptions,
    looks_change: bool,
    pool: &mut TileBuffers<E>,
) -> TileStage<E> {
    let (lane_bits, row_qubits) = simd::shape::<E>(options.set);
    let mut stage = TileStage {
        bits: layout.inside.len(),
        outside: layout.outside,
        tiles: layout.outside & live,
        collapsed: layout.inside.iter().map(|q| 1 << q).sum::<usize>() & !found,
        row_offsets: row_offsets(&layout.inside, lane_bits),
        steps: Vec::new(),
        constants: Vec::new(),
        order: Vec::new(),
        scale: layout.angle.cis() * layout.scale,
        exit: None,
        signs: FrameSigns::default(),
        flops: 2.0,
        whole: Vec::new(),
        factors: options.factor_blocks.then_some(options.tolerance),
        layout,
    };
    stage.take_exit(lane_bits);
    stage.steps((lane_bits, row_qubits), options, looks_change, pool);
    stage.settle_constants();
    stage.sort_tiles();
    stage
}

impl<E: SimdFloat> TileStage<E> {
    /// Takes the frame at the end of the operations.
    pub(super) fn take_exit(&mut self, lane_bits: usize) {
        self.signs = FrameSigns::new(&self.layout);
        match &mut self.exit {
            Some(exit) => exit.shift(&self.layout.exit),
            None => self.exit = (!self.layout.stays()).then(|| exit(&self.layout.exit, lane_bits)),
        }
    }

    /// Returns the number of times that the steps let the pipeline gather rows.
    pub(super) fn gather_steps(&self) -> usize {
        let turns = |step: &TileStep<E>| match step {
            TileStep::Sweep(sweep) => sweep.table.len().div_ceil(ENTRIES_PER_GATHER),
            TileStep::Dense(block) => block.table.len().div_ceil(ENTRIES_PER_GATHER),
            TileStep::Multiplexed(group) => group.pieces().count(),
            TileStep::Probes(_) => 0,
        };
        self.steps.iter().map(turns).sum()
    }

    /// Takes the phase that all tiles share out of the constants.
    pub(super) fn settle_constants(&mut self) {
        let constants: BinaryAngle = self.constants.iter().filter(|c| c.0 == 0).map(|c| c.1).sum();
        self.scale *= constants.cis();
        self.constants.retain(|c| c.0 != 0);
    }

    /// Products and sums for each amplitude.
    pub(in crate::plan) fn flops(&self) -> f64 {
        self.flops
    }

    /// Returns the number of tiles that are worked on.
    pub(super) fn tile_count(&self) -> usize {
        1 << self.tiles.count_ones()
    }

    /// Returns the index of the first amplitude of a tile, by its number in the order of the stage.
    #[inline(always)]
    pub(super) fn tile_at(&self, number: usize) -> usize {
        let tile = self.order.get(number).map_or(number, |&tile| tile as usize);
        deposit(tile, self.tiles)
    }

    /// Releases the memory of the tables.
    pub(in crate::plan) fn recycle(self, pool: &mut TileBuffers<E>) {
        for step in self.steps {
            if let TileStep::Sweep(RotationSweep { phases: Some(phases), .. }) = step {
                phases.recycle(pool);
            }
        }
    }

    /// Returns the number of times that the tile is read and written in its scratch.
    pub(in crate::plan) fn sweeps(&self) -> usize {
        self.steps.len()
    }

    /// Multiplies the stage by `e^{i angle}`.
    pub(in crate::plan) fn multiply_phase(&mut self, angle: BinaryAngle) {
        self.scale *= angle.cis();
    }

    /// Returns the sum over all steps of their largest distance from the operations that they
    /// replace, by entries.
    pub(in crate::plan) fn deviation(&self) -> f64 {
        let off = |step: &TileStep<E>| match step {
            TileStep::Dense(block) => block.deviation,
            TileStep::Multiplexed(group) => group.deviation(),
            TileStep::Sweep(_) | TileStep::Probes(_) => 0.0,
        };
        self.steps.iter().map(off).sum()
    }

    fn sort_tiles(&mut self) {
        let signs: Vec<usize> = self
            .steps
            .iter()
            .filter_map(|step| {
                if let TileStep::Sweep(sweep) = step { sweep.phases.as_ref() } else { None }
            })
            .flat_map(Phases::signs)
            .collect();
        if signs.is_empty() {
            return;
        }
        let signature = |tile: u32| {
            let outer = deposit(tile as usize, self.tiles);
            signs.iter().fold(0, |all, sign| all << 1 | u64::from(odd(sign & outer)))
        };
        let mut order: Vec<u32> = (0..self.tile_count() as u32).collect();
        order.sort_by_cached_key(|&tile| signature(tile));
        self.order = order;
    }

    fn steps(
        &mut self,
        (lane_bits, row_qubits): (usize, usize),
        options: PlanOptions,
        looks_change: bool,
        pool: &mut TileBuffers<E>,
    ) {
        let ops = std::mem::take(&mut self.layout.ops);
        let mut waiting = ops.iter().enumerate();
        let mut rest: Vec<NumberedOp<'_>> = Vec::new();
        let mut scale = 1.0;
        loop {
            refill(&mut rest, &mut waiting, self.bits, options.window);
            if rest.is_empty() {
                break;
            }
            let (looks, after) = split(rest, looks_change, |op| matches!(op, Placed::Probe(_)));
            let scaled = |look: &PlacedProbe| PlacedProbe { weight: look.weight * scale, ..*look };
            let looks = looks.into_iter().filter_map(|(k, op)| {
                if let Placed::Probe(l) = op { Some((k, scaled(l))) } else { None }
            });
            let looks: Vec<(usize, PlacedProbe)> = looks.collect();
            if !looks.is_empty() {
                self.flops += 4.0 * looks.len() as f64;
                self.steps.push(TileStep::Probes(ProbeSet::new(
                    looks,
                    self.bits,
                    lane_bits,
                    looks_change,
                )));
            }
            rest = after;
            let (level, after) = split(rest, looks_change, |op| matches!(op, Placed::Phase(_)));
            let level: Vec<(usize, PlacedPhase)> = level
                .into_iter()
                .filter_map(|(k, op)| if let Placed::Phase(p) = op { Some((k, *p)) } else { None })
                .collect();
            let mut phases =
                Some(Phases::new(self.bits, &level, &mut self.constants, options.set, pool));
            if phases.as_ref().is_some_and(Phases::is_empty) {
                // Each of them is constant in a tile.
                self.whole.extend(level.iter().map(|(source, _)| *source));
                phases = None;
            }
            if let Some(p) = &phases {
                self.flops += 6.0 * p.tables() as f64 + if p.has_product() { 12.0 } else { 0.0 };
            }
            let (mut turns, after) =
                split(after, looks_change, |op| matches!(op, Placed::Rotation { .. }));
            let mut groups = Vec::new();
            while let Some(mut group) = Multiplexed::extract(&mut turns, self.bits, lane_bits) {
                self.scale *= group.fill(&ops, 1 << lane_bits);
                self.flops += group.flops();
                groups.push(TileStep::Multiplexed(group));
            }
            scale *= turns.iter().map(|t| t.1.shrinkage()).product::<f64>();
            while !turns.is_empty() || phases.is_some() {
                let (sweep, left) = self.sweep(turns, phases.take(), lane_bits, row_qubits);
                self.flops += 4.0 * sweep.rotations.len() as f64;
                self.steps.push(TileStep::Sweep(sweep));
                turns = left;
            }
            self.steps.append(&mut groups);
            let (blocks, after) =
                split(after, looks_change, |op| matches!(op, Placed::Dense { .. }));
            for (source, block) in blocks {
                if let Placed::Dense { low, high, matrix } = block {
                    let mut block = DenseBlock::new(source, [*low, *high], self.bits, lane_bits);
                    let angle = block.fill(matrix, self.factors, lane_bits);
                    self.constants.push((0, BinaryAngle::from_radians(angle)));
                    self.flops += block.flops();
                    self.steps.push(TileStep::Dense(block));
                }
            }
            rest = after;
        }
        self.layout.ops = ops;
    }

    /// Returns a sweep for as many rotations as fit.
    fn sweep<'a>(
        &self,
        ops: Vec<NumberedOp<'a>>,
        phases: Option<Phases<E>>,
        lane_bits: usize,
        row_qubits: usize,
    ) -> (RotationSweep<E>, Vec<NumberedOp<'a>>) {
        let lanes = 1usize << lane_bits;
        let (mut on_rows, mut on_lanes, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut basis: Vec<usize> = Vec::new();
        for item @ (source, op) in ops {
            let Placed::Rotation { line, tan } = *op else {
                left.push(item);
                continue;
            };
            let row = line.vector >> lane_bits;
            let reduced = reduce(&basis, row);
            // They commute; but a sweep takes signs from the row that it starts with.
            let signed = |other: &(usize, Line, f64)| odd(other.1.vector & line.inner);
            if on_rows.iter().chain(&on_lanes).any(signed) {
                left.push(item);
            } else if row == 0 && on_lanes.len() < MAX_LANE_ROTATIONS {
                on_lanes.push((source, line, tan));
            } else if row != 0 && reduced != 0 && on_rows.len() < row_qubits {
                extend(&mut basis, reduced);
                on_rows.push((source, line, tan));
            } else {
                left.push(item);
            }
        }
        let (mut row_offsets, mut row_flips) = ([0; 8], [0; 8]);
        for set in 0..1usize << on_rows.len() {
            for (_, (_, line, _)) in on_rows.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
                row_offsets[set] ^= line.vector >> lane_bits;
                row_flips[set] ^= line.vector & (lanes - 1);
            }
        }
        let rows = on_rows.len();
        let all: Vec<(usize, Line, f64)> = on_rows.into_iter().chain(on_lanes).collect();
        let vectors: Vec<usize> =
            all[..rows].iter().map(|(_, line, _)| line.vector >> lane_bits).collect();
        let signs: Vec<usize> = all.iter().map(|(_, line, _)| line.inner >> lane_bits).collect();
        let mut sweep = RotationSweep {
            rows,
            row_offsets,
            row_flips,
            crossed: row_flips.iter().any(|&f| f != 0),
            rotations: all
                .iter()
                .map(|(source, line, _)| SweepRotation {
                    source: *source,
                    inner: line.inner,
                    outer: line.outer,
                    flip: line.flip,
                    lanes: line.vector & (lanes - 1),
                })
                .collect(),
            tangents: Buffer::zeros(all.len() * 2 * lanes),
            table: table(1 << (self.bits - lane_bits), &vectors, &signs),
            phases,
        };
        all.iter().enumerate().for_each(|(turn, (_, _, tan))| sweep.set_tangent(turn, *tan, lanes));
        (sweep, left)
    }
}
