//! The stage planner: groups operations that run together in one pass over memory (cache blocking).
//!
//! A stage has a set Q of qubits. It runs every operation that moves amplitudes only along Q and
//! that no operation left for later holds back. Operations that only read a qubit (phases,
//! controls) commute with each other there, and may read qubits outside of Q: within a tile they
//! are constants.
//!
//! ```text
//! for each operation in order:   moving in Q, and nothing in its way?   -> runs in this stage
//!                                else it waits, and is in the way of what it does not commute with
//! ```
//! The planner is greedy: it tries some sets, each grown from a seed by whatever operation comes
//! next until it is full, and takes the one whose stage does most work. The lowest qubits always
//! belong to Q, so that whole cache lines are read. A dense block needs its qubits as they are, not
//! as sums of others, so it also waits for the next stage where a CX of this one has touched its
//! qubits.
//!
//! A qubit that nothing has moved yet is |0> if the state began as |0…0>: all tiles where it is 1
//! are zero and stay so. So a stage at the start goes over few tiles if it leaves qubits alone, and
//! the planner begins with such stages:
//! ```text
//! n = 22, tiles of 13 qubits      may be 1 afterwards      tiles
//! stage 0                              13 qubits           1 of 512
//! stage 1                              18 qubits          32 of 512
//! stage 2                              20 qubits         128 of 512
//! stage 3                              22 qubits         all
//! ```
//! A stage looks as far as anything can still run in it, and past a number of operations that wait
//! ([`Cut::lookahead`](super::Cut)); the next one begins with those that it has passed over. Cost:
//! O(n) for each operation that a stage considers.
//!
//! Where the operations take a state back to |0…0>, and all that is wanted are inner products with
//! it on the way, stages are planned from the last operation to the first, and the last ones go
//! over few tiles.

use super::lower::PrimitiveOp;
use crate::kernel::StateHint;

/// Operations that run in one pass.
#[derive(Clone, Debug)]
pub enum Stage {
    /// Operations on tiles with these qubits.
    Tile {
        /// The set Q.
        qubits: usize,
        /// Qubits that may be 1 before it, or after it where the state ends as |0…0>.
        active_qubits: usize,
        /// The numbers of the operations in the list, in order.
        ops: Vec<usize>,
    },
    /// The operator of this number, by itself.
    Plain {
        /// Its number in the list that was lowered.
        operator: usize,
        /// Qubits that may be 1 before it, or after it where the state ends as |0…0>.
        active_qubits: usize,
    },
}

impl Stage {
    /// Returns the qubits that may be 1 before it, or after it where the state ends as |0…0>: the
    /// amplitudes of all other indices are zero there, and its tiles differ in these qubits only.
    #[must_use]
    pub fn active_qubits(&self) -> usize {
        match self {
            Stage::Tile { active_qubits: live, .. } | Stage::Plain { active_qubits: live, .. } => {
                *live
            }
        }
    }
}

/// Qubits that stages at the start leave |0>, as long as that leaves them something to do: a pass
/// over a sixteenth of the state, or a fourth.
const SPARED: [usize; 2] = [4, 2];

/// Smallest work of such a stage, in products per amplitude: what its tables cost.
const WORTH: f64 = 2.0;

/// Largest number of rotations of a stage. Each multiplies the norm by up to sqrt 2 before the
/// stage scales it back: 2^50 in all, so that products of two amplitudes are far enough from the
/// limits of `f32`.
const MAX_ROTATIONS: usize = 100;

/// Returns the work that one operation saves later passes, in products per amplitude.
fn weight(op: &PrimitiveOp) -> f64 {
    match op {
        PrimitiveOp::Rotation { .. }
        | PrimitiveOp::PauliRotation { .. }
        | PrimitiveOp::Swap(..) => 1.0,
        PrimitiveOp::Phase { .. } | PrimitiveOp::Pauli { .. } => 0.01,
        PrimitiveOp::Cx { .. } | PrimitiveOp::Probe { .. } => 0.3,
        PrimitiveOp::Dense { .. } => 4.0,
        PrimitiveOp::Plain { .. } => 0.0,
    }
}

/// An operation with its qubits, which are needed for every set that is tried.
struct ScheduledOp<'a> {
    op: &'a PrimitiveOp,
    /// The qubits along which it moves amplitudes.
    moving: usize,
    /// Qubits that it only reads.
    reading: usize,
}

impl ScheduledOp<'_> {
    fn new(op: &PrimitiveOp) -> ScheduledOp<'_> {
        ScheduledOp { op, moving: op.moving(), reading: op.reading() }
    }

    fn qubits(&self) -> usize {
        self.moving | self.reading
    }
}

/// Operations that later ones may not pass, while a list of operations is scanned.
#[derive(Default)]
struct StageScan {
    /// Qubits along which something that waits moves amplitudes.
    moving: usize,
    /// Qubits that something that waits reads.
    reading: usize,
    /// Qubits that a CX of the stage has touched; if the list is walked from its end, those of
    /// dense blocks.
    mixed: usize,
    rotations: usize,
    /// Number of operations that wait.
    waiting: usize,
    /// Largest number of operations that may wait.
    lookahead: usize,
    /// True if the list is scanned from its end.
    backwards: bool,
}

impl StageScan {
    fn new(left: &RemainingOps<'_>) -> StageScan {
        StageScan { backwards: left.backwards, lookahead: left.lookahead, ..StageScan::default() }
    }

    /// Returns true if an operation commutes with those that wait.
    fn free(&self, item: &ScheduledOp<'_>) -> bool {
        let ScheduledOp { op, moving, reading } = *item;
        // A dense block comes before any CX on its qubits.
        let on_mixed = match op {
            PrimitiveOp::Dense { .. } => !self.backwards && moving & self.mixed != 0,
            PrimitiveOp::Cx { .. } => self.backwards && item.qubits() & self.mixed != 0,
            _ => false,
        };
        let too_large =
            matches!(op, PrimitiveOp::Rotation { .. } | PrimitiveOp::PauliRotation { .. })
                && self.rotations >= MAX_ROTATIONS;
        moving & (self.moving | self.reading) == 0
            && reading & self.moving == 0
            && !on_mixed
            && !too_large
            && !matches!(op, PrimitiveOp::Plain { .. })
    }

    fn include(&mut self, item: &ScheduledOp<'_>) {
        match *item.op {
            PrimitiveOp::Cx { .. } if !self.backwards => self.mixed |= item.qubits(),
            PrimitiveOp::Dense { .. } if self.backwards => self.mixed |= item.moving,
            PrimitiveOp::Swap(a, b) => {
                let differ = (self.mixed >> a ^ self.mixed >> b) & 1;
                self.mixed ^= differ << a | differ << b;
            }
            PrimitiveOp::Rotation { .. } | PrimitiveOp::PauliRotation { .. } => self.rotations += 1,
            _ => {}
        }
    }

    fn postpone(&mut self, item: &ScheduledOp<'_>) {
        self.moving |= item.moving;
        self.reading |= item.reading;
        self.waiting += 1;
    }

    /// Returns true if no later operation can run in this stage on these qubits, or the lookahead
    /// is used up.
    fn is_over(&self, qubits: usize) -> bool {
        qubits & !self.moving == 0 || self.waiting >= self.lookahead
    }
}

/// The operations that no stage runs yet, in the order in which they are walked.
struct RemainingOps<'a> {
    all: Vec<ScheduledOp<'a>>,
    backwards: bool,
    lookahead: usize,
    /// Operations that earlier stages have left.
    passed: Vec<usize>,
    /// The position from which on no stage has looked,
    next: usize,
    /// and the qubits of all operations from each position on.
    qubits_from: Vec<usize>,
    /// Number of plain operations.
    plain: usize,
}

impl<'a> RemainingOps<'a> {
    fn new(all: &'a [PrimitiveOp], backwards: bool, lookahead: usize) -> RemainingOps<'a> {
        let plain = all.iter().filter(|op| matches!(op, PrimitiveOp::Plain { .. })).count();
        let (passed, qubits_from) = (Vec::new(), Vec::new());
        let all: Vec<ScheduledOp<'_>> = all.iter().map(ScheduledOp::new).collect();
        let mut left =
            RemainingOps { all, backwards, lookahead, passed, next: 0, qubits_from, plain };
        let mut qubits = 0;
        left.qubits_from = vec![0; left.all.len() + 1];
        for position in (0..left.all.len()).rev() {
            qubits |= left.all[left.number(position)].qubits();
            left.qubits_from[position] = qubits;
        }
        left
    }

    /// Returns the number of the operation at a position.
    fn number(&self, position: usize) -> usize {
        if self.backwards { self.all.len() - 1 - position } else { position }
    }

    fn iter(&self) -> impl Iterator<Item = usize> {
        self.passed
            .iter()
            .copied()
            .chain((self.next..self.all.len()).map(|position| self.number(position)))
    }

    fn first(&self) -> Option<usize> {
        self.iter().next()
    }

    /// Returns the qubits of all of them.
    fn qubits(&self) -> usize {
        self.passed
            .iter()
            .fold(self.qubits_from[self.next], |all, &number| all | self.all[number].qubits())
    }

    /// Takes out what can run on some qubits, in order.
    fn extract_stage(&mut self, qubits: usize) -> Vec<usize> {
        let mut walk = StageScan::new(self);
        let all_qubits = self.qubits();
        let (mut taken, mut passed) = (Vec::new(), Vec::new());
        let mut seen = 0;
        for number in self.iter() {
            let item = &self.all[number];
            seen += 1;
            if item.moving & !qubits == 0 && walk.free(item) {
                walk.include(item);
                taken.push(number);
            } else {
                walk.postpone(item);
                passed.push(number);
                if walk.is_over(all_qubits) {
                    break;
                }
            }
        }
        passed.extend(self.passed.iter().skip(seen));
        self.next += seen.saturating_sub(self.passed.len());
        self.passed = passed;
        taken
    }

    /// Takes out the first, a plain one.
    fn take_plain(&mut self) {
        self.plain -= 1;
        match self.passed.is_empty() {
            true => self.next += 1,
            false => _ = self.passed.remove(0),
        }
    }
}

/// Candidates for the qubits of a stage.
#[derive(Clone, Copy)]
struct StageCandidates {
    n_qubits: usize,
    /// Largest number of qubits of a stage.
    size: usize,
    /// Number of the lowest qubits, which are in every stage.
    low: usize,
    /// The qubits that may be 1.
    active_qubits: usize,
    /// Number of qubits that may be 1 afterwards.
    limit: usize,
}

impl StageCandidates {
    fn everything(self) -> usize {
        (1 << self.n_qubits) - 1
    }

    fn holds(self, qubits: usize) -> bool {
        let count = |set: usize| set.count_ones() as usize;
        count(qubits) <= self.size && count(qubits | self.active_qubits) <= self.limit
    }
}

/// Returns the work of the stage that grows from a set of qubits, and the set it ends with.
fn grow(
    left: &RemainingOps<'_>,
    all_qubits: usize,
    mut qubits: usize,
    room: StageCandidates,
) -> (f64, usize) {
    let mut walk = StageScan::new(left);
    let mut work = 0.0;
    for item in left.iter().map(|number| &left.all[number]) {
        let wanted = qubits | item.moving;
        if walk.free(item) && room.holds(wanted) {
            qubits = wanted;
            work += weight(item.op);
            walk.include(item);
        } else {
            walk.postpone(item);
            if walk.is_over(all_qubits) {
                break;
            }
        }
    }
    (work, qubits)
}

/// Cuts operations on n qubits into stages on up to `size` qubits, among them the `low` lowest.
/// With the qubits that may be 1 at the end, or at the beginning on the way to |0…0>.
pub(super) fn stages(
    n_qubits: usize,
    all: &[PrimitiveOp],
    (size, low): (usize, usize),
    hint: StateHint,
    lookahead: usize,
) -> (Vec<Stage>, usize) {
    let backwards = hint == StateHint::EndsAtZero;
    let mut left = RemainingOps::new(all, backwards, lookahead);
    let size = size.min(n_qubits);
    let low = (1usize << low.min(size)) - 1;
    let mut room = StageCandidates { n_qubits, size, low, active_qubits: low, limit: n_qubits };
    let everything = room.everything();
    if hint == StateHint::Arbitrary || size == n_qubits {
        room.active_qubits = everything;
    }
    let mut stages = Vec::new();
    while let Some(first) = left.first() {
        let (qubits, live) = (choose(&left, room), room.active_qubits);
        let mut taken = left.extract_stage(qubits);
        if !taken.is_empty() {
            room.active_qubits |=
                taken.iter().fold(0, |moved, &number| moved | left.all[number].moving);
            if backwards {
                taken.reverse();
            } else if left.first().is_some() && left.plain == 0 {
                // What stays plain has no phases to join.
                let late = defer(all, &mut taken, qubits);
                left.passed.splice(0..0, late);
            }
            stages.push(Stage::Tile { qubits, active_qubits: live, ops: taken });
        } else if let PrimitiveOp::Plain { operator, .. } = all[first] {
            // Nothing can run before it, so it is the first; walked from the end, the last.
            stages.push(Stage::Plain { operator, active_qubits: live });
            room.active_qubits = everything;
            left.take_plain();
        } else {
            unreachable!("the first operation fits any tile of {size} qubits");
        }
    }
    if backwards {
        stages.reverse();
        defer_all(all, &mut stages);
    }
    (stages, room.active_qubits)
}

/// Takes the phases at the end of a stage out of it, for the next one, where they join the phases
/// that it begins with.
fn defer(all: &[PrimitiveOp], taken: &mut Vec<usize>, qubits: usize) -> Vec<usize> {
    let mut moved = 0;
    let mut late = vec![false; taken.len()];
    for (late, &number) in late.iter_mut().zip(&*taken).rev() {
        match all[number] {
            // Outside of the tile a phase costs nothing.
            PrimitiveOp::Phase { mask, .. } => *late = mask & moved == 0 && mask & qubits != 0,
            ref op => moved |= op.moving(),
        }
    }
    if late.iter().all(|late| *late) {
        return Vec::new();
    }
    let of = |wanted: bool| {
        let them = taken.iter().zip(&late).filter(move |(_, late)| **late == wanted);
        them.map(|(number, _)| *number).collect()
    };
    let (first, last) = (of(false), of(true));
    *taken = first;
    last
}

/// Applies [`defer`] to stages that are complete.
fn defer_all(all: &[PrimitiveOp], stages: &mut [Stage]) {
    for k in 1..stages.len() {
        let (before, after) = stages.split_at_mut(k);
        if let (Some(Stage::Tile { qubits, ops: taken, .. }), [Stage::Tile { ops: rest, .. }, ..]) =
            (before.last_mut(), after)
        {
            let late = defer(all, taken, *qubits);
            rest.splice(0..0, late);
        }
    }
}

/// Returns the qubits of the next stage: those whose stage does most, at the start among those that
/// spare tiles.
fn choose(left: &RemainingOps<'_>, room: StageCandidates) -> usize {
    if room.size == room.n_qubits {
        return room.everything();
    }
    let limits = SPARED.into_iter().map(|spared| room.n_qubits.saturating_sub(spared));
    let limits =
        limits.filter(|&limit| limit >= room.size && room.active_qubits != room.everything());
    let mut sparing = limits.map(|limit| choose_in(left, StageCandidates { limit, ..room }));
    let found = sparing.find(|(work, _)| *work >= WORTH);
    let (_, mut qubits) = found.unwrap_or_else(|| choose_in(left, room));
    // It has room for more, first of all for qubits that make the pass no longer.
    let live = (0..room.n_qubits).filter(|q| room.active_qubits >> q & 1 == 1);
    for q in live.chain(0..room.n_qubits) {
        if (qubits.count_ones() as usize) < room.size {
            qubits |= 1 << q;
        }
    }
    qubits
}

/// Returns the set of qubits whose stage does most, with its work.
fn choose_in(left: &RemainingOps<'_>, room: StageCandidates) -> (f64, usize) {
    let all_qubits = left.qubits();
    let mut best = (0.0, room.low);
    let mut seeds = vec![room.low];
    for first in 0..room.n_qubits {
        let mut window = room.low;
        for k in 0..room.n_qubits {
            let wider = window | 1 << ((first + k) % room.n_qubits);
            if room.holds(wider) {
                window = wider;
            }
        }
        seeds.extend([window, room.low | 1 << first]);
    }
    for seed in seeds.into_iter().filter(|seed| room.holds(*seed)) {
        let found = grow(left, all_qubits, seed, room);
        if found.0 > best.0 + 1e-9 {
            best = found;
        }
    }
    best
}
