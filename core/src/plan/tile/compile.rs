//! From the places of a stage (see `plan::layout`) to loops over a tile.
//!
//! # Order
//! Operations fall into levels: all phases that commute with what is before them, then rotations that
//! commute, then dense blocks. Rotations along up to three row vectors and three lane vectors share a sweep;
//! the phases before them are multiplied as the first of these sweeps loads.

use num_complex::Complex;

use super::{
    buffer::{Buffer, Pool},
    frame::{Exit, exit},
    inner::Inners,
    phases::Phases,
    rows::{reduce, row_offsets, table},
};
use crate::{
    basis::deposit,
    basis::odd,
    kernel::{Element, InstructionSet, simd},
    plan::layout::{Layout, Line, Look, Phase, Placed},
};

/// Lane rotations in one sweep.
const MAX_LANE_TURNS: usize = 3;

/// A stage ready to run on every tile.
pub(in crate::plan) struct TileStage<E> {
    /// log2 of the amplitudes of a tile.
    pub(super) bits: usize,
    /// Index bits outside of the tile.
    pub(super) outside: usize,
    /// The index of the first amplitude of each row, within the tile.
    pub(super) row_offsets: Vec<usize>,
    pub(super) steps: Vec<Step<E>>,
    /// Phases of whole tiles: (outer parity, angle).
    pub(super) constants: Vec<(usize, f64)>,
    /// The order in which tiles are worked through: those that use the same variants of tables follow each
    /// other. Empty for the order of their indices.
    pub(super) order: Vec<u32>,
    /// What all amplitudes are multiplied by.
    pub(super) scale: Complex<f64>,
    /// Where each logical place is read from; `None` where nothing has moved.
    pub(super) exit: Option<Exit>,
    /// Products and sums per amplitude.
    flops: f64,
}

#[expect(clippy::large_enum_variant, reason = "a stage has a handful of steps")]
pub(super) enum Step<E> {
    Sweep(Sweep<E>),
    Dense(Block<E>),
    Inner(Inners),
}

/// Rotations along `rows` row vectors and some lane vectors, after phases.
pub(super) struct Sweep<E> {
    pub(super) rows: usize,
    /// For each set of row vectors, the row that it leads to and the lanes that it exchanges.
    pub(super) row_offsets: [usize; 8],
    pub(super) row_flips: [usize; 8],
    /// Whether a row vector also exchanges lanes.
    pub(super) crossed: bool,
    pub(super) turns: Vec<Turn>,
    /// For each turn and each sign of its logical bit, the tangents of the lanes.
    pub(super) tangents: Buffer<E>,
    /// Rows to start from, with the signs of the turns above `SIGN_SHIFT`.
    pub(super) table: Vec<u32>,
    pub(super) phases: Option<Phases<E>>,
}

/// A rotation of a sweep.
pub(super) struct Turn {
    pub(super) outer: usize,
    pub(super) flip: bool,
    /// The lanes that it exchanges, for a lane turn.
    pub(super) lanes: usize,
}

/// A dense 4x4 block on tile bits.
pub(super) struct Block<E> {
    /// Its row bits, as row offsets; and its lane bits, as lane exchanges.
    pub(super) row_offsets: Vec<usize>,
    pub(super) lane_flips: Vec<usize>,
    /// For each row, column and lane exchange, the real and the imaginary parts of the lanes' coefficients.
    pub(super) coefficients: Buffer<E>,
    pub(super) table: Vec<u32>,
}

/// Moves what can go first out of a list: everything that `wanted` takes and that conflicts with nothing
/// left behind.
fn split(ops: Vec<Placed>, mut wanted: impl FnMut(&Placed) -> bool) -> (Vec<Placed>, Vec<Placed>) {
    let (mut first, mut rest): (Vec<Placed>, Vec<Placed>) = (Vec::new(), Vec::new());
    for op in ops {
        if wanted(&op) && !rest.iter().any(|r| r.conflicts(&op)) && !needs_alone(&op, &first) {
            first.push(op);
        } else {
            rest.push(op);
        }
    }
    (first, rest)
}

/// Whether an operation conflicts with what has been taken already (phases never do among themselves).
fn needs_alone(op: &Placed, taken: &[Placed]) -> bool {
    !matches!(op, Placed::Phase(_)) && taken.iter().any(|t| t.conflicts(op))
}

/// Compiles a stage for an instruction set that the processor has.
pub(in crate::plan) fn compile<E: Element>(
    layout: Layout,
    set: InstructionSet,
    pool: &mut Pool<E>,
) -> TileStage<E> {
    let (lane_bits, row_qubits) = simd::shape::<E>(set);
    let mut stage = TileStage {
        bits: layout.inside.len(),
        outside: layout.outside,
        row_offsets: row_offsets(&layout.inside, lane_bits),
        steps: Vec::new(),
        constants: Vec::new(),
        order: Vec::new(),
        scale: Complex::cis(layout.angle) * layout.scale,
        exit: (!layout.stays()).then(|| exit(&layout.exit, lane_bits)),
        flops: 2.0,
    };
    stage.steps(layout.ops, (lane_bits, row_qubits), set, pool);
    let constants: f64 = stage.constants.iter().filter(|c| c.0 == 0).map(|c| c.1).sum();
    stage.scale *= Complex::cis(constants);
    stage.constants.retain(|c| c.0 != 0);
    stage.sort_tiles();
    stage
}

impl<E: Element> TileStage<E> {
    /// Products and sums for each amplitude.
    pub(in crate::plan) fn flops(&self) -> f64 {
        self.flops
    }

    /// Gives the memory of the tables back.
    pub(in crate::plan) fn recycle(self, pool: &mut Pool<E>) {
        for step in self.steps {
            if let Step::Sweep(Sweep { phases: Some(phases), .. }) = step {
                phases.recycle(pool);
            }
        }
    }

    /// How often the tile is read and written in its scratch.
    pub(in crate::plan) fn sweeps(&self) -> usize {
        self.steps.len()
    }

    /// Multiplies the stage by `e^{i angle}`.
    pub(in crate::plan) fn turn(&mut self, angle: f64) {
        self.scale *= Complex::cis(angle);
    }

    fn sort_tiles(&mut self) {
        let signs: Vec<usize> = self
            .steps
            .iter()
            .filter_map(|step| if let Step::Sweep(sweep) = step { sweep.phases.as_ref() } else { None })
            .flat_map(Phases::signs)
            .collect();
        if signs.is_empty() {
            return;
        }
        let signature = |tile: u32| {
            let outer = deposit(tile as usize, self.outside);
            signs.iter().fold(0, |all, sign| all << 1 | u64::from(odd(sign & outer)))
        };
        let mut order: Vec<u32> = (0..1 << self.outside.count_ones()).collect();
        order.sort_by_cached_key(|&tile| signature(tile));
        self.order = order;
    }

    fn steps(
        &mut self,
        mut rest: Vec<Placed>,
        (lane_bits, row_qubits): (usize, usize),
        set: InstructionSet,
        pool: &mut Pool<E>,
    ) {
        let mut scale = 1.0;
        while !rest.is_empty() {
            let (looks, after) = split(rest, |op| matches!(op, Placed::Inner(_)));
            let looks =
                looks.into_iter().filter_map(|op| if let Placed::Inner(l) = op { Some(l) } else { None });
            let looks: Vec<Look> = looks.map(|l| Look { weight: l.weight * scale, ..l }).collect();
            if !looks.is_empty() {
                self.flops += 4.0 * looks.len() as f64;
                self.steps.push(Step::Inner(Inners::new(looks, self.bits, lane_bits)));
            }
            rest = after;
            let (level, after) = split(rest, |op| matches!(op, Placed::Phase(_)));
            let level: Vec<Phase> = level
                .iter()
                .filter_map(|op| if let Placed::Phase(p) = op { Some(*p) } else { None })
                .collect();
            let mut phases = Some(Phases::new(self.bits, &level, &mut self.constants, set, pool))
                .filter(|p| !p.is_empty());
            if let Some(p) = &phases {
                self.flops += 6.0 * p.tables() as f64 + if p.has_product() { 12.0 } else { 0.0 };
            }
            let (mut turns, after) = split(after, |op| matches!(op, Placed::Rotation { .. }));
            scale *= turns.iter().map(Placed::shrinkage).product::<f64>();
            while !turns.is_empty() || phases.is_some() {
                let (sweep, left) = self.sweep(turns, phases.take(), lane_bits, row_qubits);
                self.flops += 4.0 * sweep.turns.len() as f64;
                self.steps.push(Step::Sweep(sweep));
                turns = left;
            }
            let (blocks, after) = split(after, |op| matches!(op, Placed::Dense { .. }));
            for block in blocks {
                if let Placed::Dense { low, high, matrix } = block {
                    self.flops += 32.0;
                    self.steps.push(Step::Dense(self.block(low, high, &matrix, lane_bits)));
                }
            }
            rest = after;
        }
    }

    /// A sweep for as many rotations as fit.
    fn sweep(
        &self,
        ops: Vec<Placed>,
        phases: Option<Phases<E>>,
        lane_bits: usize,
        row_qubits: usize,
    ) -> (Sweep<E>, Vec<Placed>) {
        let lanes = 1usize << lane_bits;
        let (mut on_rows, mut on_lanes, mut left) = (Vec::new(), Vec::new(), Vec::new());
        let mut basis: Vec<usize> = Vec::new();
        for op in ops {
            let Placed::Rotation { line, tan } = op else {
                left.push(op);
                continue;
            };
            let row = line.vector >> lane_bits;
            let reduced = reduce(&basis, row);
            if row == 0 && on_lanes.len() < MAX_LANE_TURNS {
                on_lanes.push((line, tan));
            } else if row != 0 && reduced != 0 && on_rows.len() < row_qubits {
                basis.iter_mut().for_each(|b| *b = reduce(&[reduced], *b));
                basis.push(reduced);
                on_rows.push((line, tan));
            } else {
                left.push(Placed::Rotation { line, tan });
            }
        }
        let (mut row_offsets, mut row_flips) = ([0; 8], [0; 8]);
        for set in 0..1usize << on_rows.len() {
            for (_, (line, _)) in on_rows.iter().enumerate().filter(|(i, _)| set >> i & 1 == 1) {
                row_offsets[set] ^= line.vector >> lane_bits;
                row_flips[set] ^= line.vector & (lanes - 1);
            }
        }
        let rows = on_rows.len();
        let all: Vec<(Line, f64)> = on_rows.into_iter().chain(on_lanes).collect();
        let tangents = Buffer::from_fn(all.len() * 2 * lanes, |i| {
            let (turn, sign, lane) = (i / (2 * lanes), i / lanes % 2 == 1, i % lanes);
            let (line, tan) = all[turn];
            let negative = odd(line.inner & lane) ^ sign ^ (turn >= rows);
            E::round_from(if negative { -tan } else { tan })
        });
        let vectors: Vec<usize> = all[..rows].iter().map(|(line, _)| line.vector >> lane_bits).collect();
        let signs: Vec<usize> = all.iter().map(|(line, _)| line.inner >> lane_bits).collect();
        let sweep = Sweep {
            rows,
            row_offsets,
            row_flips,
            crossed: row_flips.iter().any(|&f| f != 0),
            turns: all
                .iter()
                .map(|(line, _)| Turn {
                    outer: line.outer,
                    flip: line.flip,
                    lanes: line.vector & (lanes - 1),
                })
                .collect(),
            tangents,
            table: table(1 << (self.bits - lane_bits), &vectors, &signs),
            phases,
        };
        (sweep, left)
    }

    /// A dense block on tile bits low < high.
    fn block(&self, low: usize, high: usize, matrix: &[Complex<f64>; 16], lane_bits: usize) -> Block<E> {
        let lanes = 1usize << lane_bits;
        let bits = [low, high];
        let on = |row: bool| -> Vec<usize> {
            (0..4usize)
                .filter(|set| (0..2).all(|i| set >> i & 1 == 0 || (bits[i] >= lane_bits) == row))
                .collect()
        };
        let spread = |set: usize| (set & 1) << low | (set >> 1) << high;
        let (row_sets, lane_sets) = (on(true), on(false));
        let per_row = lane_sets.len() * 2 * lanes;
        let coefficients = Buffer::from_fn(row_sets.len() * row_sets.len() * per_row, |i| {
            let (e, f) = (i / per_row / row_sets.len(), i / per_row % row_sets.len());
            let (flip, part, lane) = (i / (2 * lanes) % lane_sets.len(), i / lanes % 2, i % lanes);
            // The lane's own bits of the block.
            let own = (0..2)
                .fold(0, |set, k| if bits[k] < lane_bits { set | (lane >> bits[k] & 1) << k } else { set });
            let z = matrix[4 * (row_sets[e] | own) + (row_sets[f] | own ^ lane_sets[flip])];
            E::round_from(if part == 0 { z.re } else { z.im })
        });
        let row_offsets: Vec<usize> = row_sets.iter().map(|&set| spread(set) >> lane_bits).collect();
        let vectors: Vec<usize> =
            bits.iter().filter(|&&b| b >= lane_bits).map(|b| 1 << b >> lane_bits).collect();
        Block {
            row_offsets,
            lane_flips: lane_sets.iter().map(|&set| spread(set)).collect(),
            coefficients,
            table: table(1 << (self.bits - lane_bits), &vectors, &[]),
        }
    }
}
