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
pub(crate) enum Stage {
    /// On tiles with these qubits.
    Tile { qubits: usize, ops: Vec<Op> },
    /// The operator of this number, by itself.
    Plain { operator: usize },
}

/// How far the numbers of a stage may grow before they are scaled back, as a power of two: far enough
/// from the limits of `f32`.
const MAX_GROWTH: f64 = 60.0;

/// The work that one operation saves later passes, in products per amplitude.
fn weight(op: &Op) -> f64 {
    match op {
        Op::Rotation { .. } | Op::Swap(..) => 1.0,
        Op::Phase { .. } | Op::Flip(_) => 0.01,
        Op::Cx { .. } => 0.3,
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
    growth: f64,
}

impl Walk {
    /// Whether an operation can go before those that wait.
    fn free(&self, op: &Op) -> bool {
        let (moving, reading) = (op.moving(), op.reading());
        let dense_on_mixed = matches!(op, Op::Dense { .. }) && moving & self.mixed != 0;
        let too_large = matches!(op, Op::Rotation { .. }) && self.growth >= MAX_GROWTH;
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
            Op::Rotation { tan, .. } => self.growth += 0.5 * (1.0 + tan * tan).log2(),
            _ => {}
        }
    }

    fn leave(&mut self, op: &Op) {
        self.moving |= op.moving();
        self.reading |= op.reading();
    }
}

/// The work of the stage that grows from a set of qubits, and the set it ends with.
fn grow(ops: &[Op], mut qubits: usize, size: u32, everything: usize) -> (f64, usize) {
    let mut walk = Walk::default();
    let mut work = 0.0;
    for op in ops {
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
pub(crate) fn stages(n_qubits: usize, mut ops: Vec<Op>, size: usize, low: usize) -> Vec<Stage> {
    let size = size.min(n_qubits) as u32;
    let everything = (1usize << n_qubits) - 1;
    let low = (1usize << low.min(size as usize)) - 1;
    let mut stages = Vec::new();
    while !ops.is_empty() {
        let qubits = if size as usize == n_qubits { everything } else { choose(n_qubits, &ops, size, low) };
        let mut walk = Walk::default();
        let (taken, rest): (Vec<Op>, Vec<Op>) = ops.into_iter().partition(|op| {
            let runs = op.moving() & !qubits == 0 && walk.free(op);
            if runs {
                walk.take(op)
            } else {
                walk.leave(op)
            }
            runs
        });
        ops = rest;
        if !taken.is_empty() {
            stages.push(Stage::Tile { qubits, ops: taken });
        } else if let Op::Plain { operator, .. } = ops[0] {
            // Nothing can run before it, so it is the first.
            stages.push(Stage::Plain { operator });
            ops.remove(0);
        } else {
            unreachable!("the first operation fits any tile of {size} qubits");
        }
    }
    stages
}

/// The set of qubits whose stage does most.
fn choose(n_qubits: usize, ops: &[Op], size: u32, low: usize) -> usize {
    let everything = (1usize << n_qubits) - 1;
    let mut best = grow(ops, low, size, everything);
    for first in 0..n_qubits {
        let mut window = low;
        for k in 0..n_qubits {
            if window.count_ones() < size {
                window |= 1 << ((first + k) % n_qubits);
            }
        }
        for seed in [window, low | 1 << first] {
            let found = grow(ops, seed, size, everything);
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
