//! The stage planner: which operations run together in one pass over memory.
//!
//! A stage has a set Q of qubits. It runs every operation that moves amplitudes only along Q and that no
//! operation left for later holds back. Operations that only read a qubit (phases, controls) commute with
//! each other there, and may read qubits outside of Q: within a tile they are constants.
//!
//! ```text
//! for each operation in order:   moving in Q, and nothing in its way?   -> runs in this stage
//!                                else it waits, and is in the way of what it does not commute with
//! ```
//! The planner is greedy: it tries some sets, each grown from a seed by whatever operation comes next
//! until it is full, and takes the one whose stage does most work. The lowest qubits always belong to Q,
//! so that whole cache lines are read. A dense block wants its qubits as they are, not as sums of others,
//! so it also waits for the next stage where a CX of this one has touched its qubits.

use super::lower::Op;

/// Operations that run in one pass.
#[derive(Clone, Debug)]
pub enum Stage {
    /// On tiles with these qubits.
    Tile {
        /// The set Q.
        qubits: usize,
        /// The numbers of the operations in the list, in order.
        ops: Vec<usize>,
    },
    /// The operator of this number, by itself.
    Plain {
        /// Its number in the list that was lowered.
        operator: usize,
    },
}

/// The most rotations of a stage. Each multiplies the norm by up to sqrt 2 before the stage scales it back:
/// 2^50 in all, so that products of two amplitudes are far enough from the limits of `f32`.
const MAX_ROTATIONS: usize = 100;

/// The work that one operation saves later passes, in products per amplitude.
fn weight(op: &Op) -> f64 {
    match op {
        Op::Rotation { .. } | Op::Swap(..) => 1.0,
        Op::Phase { .. } | Op::Pauli { .. } => 0.01,
        Op::Cx { .. } | Op::Inner { .. } => 0.3,
        Op::Dense { .. } => 4.0,
        Op::Plain { .. } => 0.0,
    }
}

/// What is in the way while a list of operations is walked.
#[derive(Default)]
struct Walk {
    /// Qubits along which something that waits moves amplitudes.
    moving: usize,
    /// Qubits that something that waits reads.
    reading: usize,
    /// Qubits that a CX of the stage has touched.
    mixed: usize,
    rotations: usize,
}

impl Walk {
    /// Whether an operation can go before those that wait.
    fn free(&self, op: &Op) -> bool {
        let (moving, reading) = (op.moving(), op.reading());
        let dense_on_mixed = matches!(op, Op::Dense { .. }) && moving & self.mixed != 0;
        let too_large = matches!(op, Op::Rotation { .. }) && self.rotations >= MAX_ROTATIONS;
        moving & (self.moving | self.reading) == 0
            && reading & self.moving == 0
            && !dense_on_mixed
            && !too_large
            && !matches!(op, Op::Plain { .. })
    }

    fn take(&mut self, op: &Op) {
        match *op {
            Op::Cx { control, target } => self.mixed |= 1 << control | 1 << target,
            Op::Swap(a, b) => {
                let differ = (self.mixed >> a ^ self.mixed >> b) & 1;
                self.mixed ^= differ << a | differ << b;
            }
            Op::Rotation { .. } => self.rotations += 1,
            _ => {}
        }
    }

    fn leave(&mut self, op: &Op) {
        self.moving |= op.moving();
        self.reading |= op.reading();
    }
}

/// The work of the stage that grows from a set of qubits, and the set it ends with.
fn grow(all: &[Op], ops: &[usize], mut qubits: usize, size: u32, everything: usize) -> (f64, usize) {
    let mut walk = Walk::default();
    let mut work = 0.0;
    for op in ops.iter().map(|&number| &all[number]) {
        let wanted = qubits | op.moving();
        if walk.free(op) && wanted.count_ones() <= size {
            qubits = wanted;
            work += weight(op);
            walk.take(op);
        } else {
            walk.leave(op);
            if walk.moving == everything {
                break;
            }
        }
    }
    (work, qubits)
}

/// Cuts operations on n qubits into stages on up to `size` qubits, among them the `low` lowest.
pub(super) fn stages(n_qubits: usize, all: &[Op], size: usize, low: usize) -> Vec<Stage> {
    let mut ops: Vec<usize> = (0..all.len()).collect();
    let size = size.min(n_qubits) as u32;
    let everything = (1usize << n_qubits) - 1;
    let low = (1usize << low.min(size as usize)) - 1;
    let mut stages = Vec::new();
    while !ops.is_empty() {
        let qubits =
            if size as usize == n_qubits { everything } else { choose(n_qubits, all, &ops, size, low) };
        let mut walk = Walk::default();
        let (taken, rest): (Vec<usize>, Vec<usize>) = ops.into_iter().partition(|&number| {
            let op = &all[number];
            let runs = op.moving() & !qubits == 0 && walk.free(op);
            if runs {
                walk.take(op)
            } else {
                walk.leave(op)
            }
            runs
        });
        let (taken, rest) = defer(all, taken, rest, qubits);
        ops = rest;
        if !taken.is_empty() {
            stages.push(Stage::Tile { qubits, ops: taken });
        } else if let Op::Plain { operator, .. } = all[ops[0]] {
            // Nothing can run before it, so it is the first.
            stages.push(Stage::Plain { operator });
            ops.remove(0);
        } else {
            unreachable!("the first operation fits any tile of {size} qubits");
        }
    }
    stages
}

/// Leaves phases at the end of a stage to the next one, where they join the phases that it begins with.
fn defer(all: &[Op], taken: Vec<usize>, rest: Vec<usize>, qubits: usize) -> (Vec<usize>, Vec<usize>) {
    // What stays plain has no phases to join.
    if rest.is_empty() || rest.iter().any(|&number| matches!(all[number], Op::Plain { .. })) {
        return (taken, rest);
    }
    let mut moved = 0;
    let mut late = vec![false; taken.len()];
    for (late, &number) in late.iter_mut().zip(&taken).rev() {
        match all[number] {
            // Outside of the tile a phase costs nothing.
            Op::Phase { mask, .. } => *late = mask & moved == 0 && mask & qubits != 0,
            ref op => moved |= op.moving(),
        }
    }
    if late.iter().all(|late| *late) {
        return (taken, rest);
    }
    let of = |wanted: bool| {
        taken.iter().zip(&late).filter(move |(_, late)| **late == wanted).map(|(number, _)| *number)
    };
    (of(false).collect(), of(true).chain(rest.iter().copied()).collect())
}

/// The set of qubits whose stage does most.
fn choose(n_qubits: usize, all: &[Op], ops: &[usize], size: u32, low: usize) -> usize {
    let everything = (1usize << n_qubits) - 1;
    let mut best = grow(all, ops, low, size, everything);
    for first in 0..n_qubits {
        let mut window = low;
        for k in 0..n_qubits {
            if window.count_ones() < size {
                window |= 1 << ((first + k) % n_qubits);
            }
        }
        for seed in [window, low | 1 << first] {
            let found = grow(all, ops, seed, size, everything);
            if found.0 > best.0 + 1e-9 {
                best = found;
            }
        }
    }
    let mut qubits = best.1;
    for q in 0..n_qubits {
        if qubits.count_ones() < size {
            qubits |= 1 << q;
        }
    }
    qubits
}
