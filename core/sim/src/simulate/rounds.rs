//! Rounds of the loops around a step, which order branches in time.
//!
//! Branches of one round of a loop meet if those that have come least far go on first. With a
//! counter among the variables the step alone does not tell: a branch at the first step of round 7
//! has come further than one at the last step of round 2.

use smallvec::SmallVec;

/// Place of a branch in time: for each loop around, from the outermost on, its head and the round;
/// then the step. A branch that is less has come less far.
pub(super) type RunPosition = SmallVec<[u64; 4]>;

/// The loops around a step, outermost first.
#[derive(Clone, Debug, Default)]
pub(super) struct LoopRounds(SmallVec<[LoopRound; 1]>);

#[derive(Clone, Copy, Debug)]
struct LoopRound {
    head: usize,
    end: usize,
    round: u64,
}

impl LoopRounds {
    /// A round of the loop begins whose first step is `head`, and which ends before `end`.
    pub(super) fn begin(&mut self, head: usize, end: usize) {
        self.leave(head);
        match self.0.last_mut() {
            Some(last) if last.head == head => last.round += 1,
            _ => self.0.push(LoopRound { head, end, round: 1 }),
        }
    }

    /// Drops the loops that a step is not in.
    fn leave(&mut self, step: usize) {
        let is_around = |around: &LoopRound| (around.head..around.end).contains(&step);
        self.0.truncate(self.0.iter().take_while(|around| is_around(around)).count());
    }

    /// The position of a branch at a step.
    pub(super) fn position(&mut self, step: usize) -> RunPosition {
        self.leave(step);
        let around = self.0.iter().flat_map(|around| [around.head as u64, around.round]);
        around.chain([step as u64]).collect()
    }
}
