//! Moments of a run.

use crate::entity::{Block, Inst};

/// A moment of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moment {
    /// An instruction is about to run.
    Before(Inst),
    /// An instruction has run; a call has returned.
    After(Inst),
    /// A block ends and the run takes its k-th outgoing edge. Parameters do not have their new
    /// values yet.
    Edge(Block, usize),
    /// A block ends and its function returns.
    Return(Block),
}
