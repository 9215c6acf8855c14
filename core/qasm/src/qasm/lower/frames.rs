//! Early exits: from iterations and loops, subroutines, the file.
//!
//! Under a condition on bits, `break`, `continue`, `return` and `end` set a scratch bit, and the
//! rest of the statements that they skip runs where that bit is 0:
//!
//! ```text
//! for int k in [1:2] {              c = measure q;
//!     c = measure q;                if (c) left = 1;
//!     if (c) break;                 if (!left) x q;
//!     x q;                          if (!left) c = measure q;
//! }                                 if (!left && c) left = 1;
//!                                   if (!left) x q;
//!                                   left = 0;
//! ```
//!
//! If nothing is left to run, the bit is not needed and not set.
//!
//! A variable may have other values at an early exit than after the construct. Its state at the
//! exit is recorded when it changes. Where it matters, the variable goes to bits, which get these
//! values at the exits.

use std::collections::HashMap;

use super::{
    Guard, IndexSet, Lower, LoweredItem, Planned, QasmLowering, conditional::PlannedBranch,
    scratch::ones, variables::VariableState,
};
use crate::{
    circuit::Condition,
    qasm::{ast::QasmSpan, diagnostic::QasmProblem},
};

/// Kind of a construct that has early exits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// The file, by `end`.
    File,
    /// A subroutine, by `return`.
    Subroutine,
    /// A loop, by `break`.
    Loop,
    /// One iteration of it, by `continue`.
    Round,
}

/// Construct with early exits that is open.
#[derive(Clone, Debug)]
pub(super) struct ExitFrame {
    pub(super) kind: FrameKind,
    /// Branch in which it began, and the length of the plan at that point.
    pub(super) guard: Option<Guard>,
    pub(super) start: usize,
    /// Serial number of the frame.
    pub(super) number: u64,
    /// True for the rounds of a loop that runs in the circuit.
    pub(super) in_circuit: bool,
    /// States of the variables outside at each exit that the circuit takes.
    pub(super) exits: Vec<Vec<VariableState>>,
    /// Scratch bit that is 1 after an exit under a condition.
    pub(super) bit: Option<u32>,
    /// Number of branches around the list whose rest runs where that bit is 0; and true if it was
    /// left again in branches within. These may keep their condition, and not read the bit anew.
    guarded: Option<usize>,
    again: bool,
    /// True if anything reads the bit.
    pub(super) read: bool,
    /// Number of exits under a condition.
    pub(super) left: u64,
    /// Number of variables when it began.
    pub(super) variables: usize,
    /// Past states of those at the exits, each up to the exit before which the variable changed;
    /// later exits have the present state.
    past: HashMap<usize, Vec<(u64, VariableState)>>,
    /// Values that bits get at the exits, by the number of the exit.
    fills: Vec<(u64, ExitFill)>,
}

/// Bits and their values, at an exit.
type ExitFill = (IndexSet, Box<[bool]>);

impl ExitFrame {
    /// Returns the bit that says if it was left, if a list in that many branches must read it from
    /// here on.
    fn unguarded(&self, depth: usize) -> Option<u32> {
        self.bit.filter(|_| self.guarded.is_none_or(|at| self.again && at != depth))
    }

    /// Returns true if it was left and the variable is still in scope after it. After the end of
    /// the file no variable is read.
    fn leaves(&self, variable: usize) -> bool {
        self.left > 0 && variable < self.variables && self.kind != FrameKind::File
    }

    /// Returns the states of a variable at the exits, one for each.
    fn states<'a>(
        &'a self,
        variable: usize,
        present: &'a VariableState,
    ) -> impl Iterator<Item = &'a VariableState> {
        let past = self.past.get(&variable).map_or(&[][..], Vec::as_slice);
        (0..self.left).map(move |exit| {
            let at = past.partition_point(|(before, _)| *before <= exit);
            past.get(at).map_or(present, |(_, state)| state)
        })
    }
}

/// Part of a list that runs if no exit was taken.
pub(super) struct Rest {
    guard: Option<Guard>,
    mark: usize,
    /// Frames that have exits, and their guards before.
    frames: Vec<(usize, Option<usize>)>,
    span: QasmSpan,
}

impl QasmLowering<'_> {
    pub(super) fn enter_frame(&mut self, kind: FrameKind) {
        self.n_frames += 1;
        self.frames.push(ExitFrame {
            kind,
            guard: self.guard,
            start: self.plan.len(),
            number: self.n_frames,
            in_circuit: false,
            exits: Vec::new(),
            bit: None,
            guarded: None,
            again: false,
            read: false,
            left: 0,
            variables: self.variables.len(),
            past: HashMap::new(),
            fills: Vec::new(),
        });
    }

    /// Continues after a frame.
    pub(super) fn leave_frame(&mut self, span: QasmSpan) {
        self.join_exits(span);
        let Some(frame) = self.frames.pop() else { return };
        let reached = self.leaving.is_none_or(|at| at == self.frames.len());
        self.close_frame(&frame, reached, span);
        if self.leaving == Some(self.frames.len()) || !frame.exits.is_empty() {
            self.leaving = None;
        }
        let Some(bit) = frame.bit else { return };
        if !frame.read || !frame.fills.is_empty() {
            self.finish_exits(&frame);
        }
        if frame.read {
            self.add_count(1, span);
            self.clear(bit, 1);
        } else {
            self.spare.entry(1).or_default().push(bit);
        }
    }

    /// Moves variables that had other values at the exits of the innermost frame to bits, or loses
    /// them.
    fn join_exits(&mut self, span: QasmSpan) {
        let Some(frame) = self.frames.last() else { return };
        let mut ids: Vec<usize> = frame.past.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(state) = self.variables.get(id).map(|variable| &variable.state) else {
                continue;
            };
            let same =
                self.frames.last().is_none_or(|frame| frame.states(id, state).all(|s| s == state));
            if same || matches!(state, VariableState::Bits { .. } | VariableState::Lost(_)) {
                continue;
            }
            let joined = match self.variables[id].chooses() {
                true => self.join_numbers(id, span),
                false => self.spill(id, span).map(|bits| bits.is_some()),
            };
            if !matches!(joined, Ok(true)) {
                self.lose(id, span);
            }
        }
    }

    /// Joins the values of a number at the exits of the innermost frame with that of the path that
    /// did not leave it, as a value set. Returns false if it cannot.
    fn join_numbers(&mut self, id: usize, span: QasmSpan) -> Lower<bool> {
        let (at, present) = (self.frames.len() - 1, self.variables[id].state.clone());
        let exits: Vec<VariableState> = self.frames[at].states(id, &present).cloned().collect();
        // Where all paths have left, there are no values besides those at the exits.
        let unreached = present == VariableState::Empty && self.leaving == Some(at);
        let mut states = if unreached { Vec::new() } else { vec![present] };
        let mut numbers = Vec::with_capacity(exits.len());
        for exit in exits {
            numbers.push(states.iter().position(|known| *known == exit).unwrap_or(states.len()));
            if numbers.last() == Some(&states.len()) {
                states.push(exit);
            }
        }
        let depth = self.variables[id].depth;
        let Some((joint, which)) = self.any_of(&states, depth, span)? else { return Ok(false) };
        for (exit, number) in (0..).zip(numbers) {
            let digits: Vec<bool> =
                (0..which.len().unwrap_or(1)).map(|bit| number >> bit & 1 == 1).collect();
            if let (bits, Some(ones)) = ones(&which, &digits) {
                self.add_count(digits.len() as u64, span);
                self.fill_where_left(at, exit, &bits, ones);
            }
        }
        self.set(id, joint);
        Ok(true)
    }

    /// Inserts the assignments at the exits of a frame: bits get the values that they are to have
    /// after it. The bit that marks an exit is not set where nothing reads it.
    fn finish_exits(&mut self, frame: &ExitFrame) {
        let mut fills: HashMap<u64, Vec<&ExitFill>> = HashMap::new();
        for (exit, fill) in &frame.fills {
            fills.entry(*exit).or_default().push(fill);
        }
        for planned in self.plan.split_off(frame.start) {
            if let LoweredItem::Leave { frame: number, exit, place, .. } = planned.item
                && number == frame.number
            {
                for (bits, values) in fills.remove(&exit).into_iter().flatten().cloned() {
                    let item = LoweredItem::Assign { bits, values, place };
                    self.plan.push(Planned { item, guard: planned.guard });
                }
                if !frame.read {
                    continue;
                }
            }
            self.plan.push(planned);
        }
    }

    /// `break`, `continue`, `return`, `end`.
    pub(super) fn leave(&mut self, kind: FrameKind, span: QasmSpan) -> Lower<()> {
        let mut at = None;
        for (number, frame) in self.frames.iter().enumerate().rev() {
            if frame.kind == kind {
                at = Some(number);
                break;
            }
            if frame.kind == FrameKind::Subroutine && kind != FrameKind::File {
                break;
            }
        }
        let Some(at) = at else {
            let (word, place) = match kind {
                FrameKind::Subroutine => ("return", "a subroutine"),
                FrameKind::Loop => ("break", "a loop"),
                _ => ("continue", "a loop"),
            };
            return self.fail(QasmProblem::Misplaced { word, place }, span);
        };
        if self.has_memory() {
            let inner = self.frames[at + 1..].iter().any(|frame| !frame.exits.is_empty());
            if inner || self.guard != self.frames[at].guard {
                self.leave_in_circuit(at, span);
            }
            self.leaving = Some(at);
            return Ok(());
        }
        if self.guard != self.frames[at].guard {
            let bit = match self.frames[at].bit {
                Some(bit) => bit,
                None => self.scratch_bits(1, 0, span)?.get(0),
            };
            self.frames[at].bit = Some(bit);
            self.frames[at].again = true;
            let (frame, exit) = (self.frames[at].number, self.frames[at].left);
            self.frames[at].left += 1;
            self.add_count(1, span);
            self.push(LoweredItem::Leave { bit, frame, exit, place: self.file_span(span) });
        }
        self.leaving = Some(at);
        Ok(())
    }

    /// Returns true if the current statement is in a branch of the innermost frame of a kind.
    pub(super) fn under_condition(&self, kind: FrameKind) -> bool {
        self.frames.iter().rev().find(|f| f.kind == kind).is_some_and(|f| f.guard != self.guard)
    }

    /// Returns true if a frame around was left under a condition that does not guard the current
    /// statements yet.
    pub(super) fn left_somewhere(&self) -> bool {
        self.leaving.is_none() && self.frames.iter().any(|f| f.unguarded(self.depth).is_some())
    }

    /// Guards the statements from here to the end of the list: they run if no exit was taken.
    pub(super) fn guard_rest(&mut self, span: QasmSpan) -> Lower<Rest> {
        let left = |(number, f): (usize, &ExitFrame)| Some((number, f.unguarded(self.depth)?));
        let bits: Vec<(usize, u32)> = self.frames.iter().enumerate().filter_map(left).collect();
        let mut all: Vec<Condition> =
            bits.iter().map(|&(_, bit)| Condition::Bit { bit, value: false }).collect();
        let condition = if all.len() == 1 { all.remove(0) } else { Condition::All(all) };
        let size = self.spend_branch(&condition, self.guard, span)?;
        let mut frames = Vec::with_capacity(bits.len());
        for (number, _) in bits {
            let frame = &mut self.frames[number];
            frames.push((number, frame.guarded.replace(self.depth)));
            (frame.again, frame.read) = (false, true);
        }
        let rest = Rest { guard: self.guard, mark: self.mark, frames, span };
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        // A frame that is left once stays left, so each instruction reads the bit anew.
        self.branches.push(PlannedBranch {
            parent: self.guard,
            condition: Some(condition),
            stored: false,
            size,
        });
        self.guard = Some(Guard { number, otherwise: false });
        self.mark = self.log.len();
        Ok(rest)
    }

    pub(super) fn end_rest(&mut self, rest: Vec<Rest>) {
        for Rest { guard, mark, frames, span } in rest.into_iter().rev() {
            let rest = self.guard;
            let ends = self.end_branch();
            (self.guard, self.mark) = (guard, mark);
            for (number, before) in frames {
                // A path that left before the rest continues after the frame that it left.
                self.leaving = self.leaving.map(|at| at.max(number));
                self.frames[number].guarded = before;
                self.frames[number].again = true;
            }
            // A path that left has the values at its exit.
            let _ = self.adopt(ends, rest, span);
        }
    }

    /// Returns from a branch to its list. If the list is guarded itself, the rest of it reads the
    /// bits anew.
    pub(super) fn leave_branch(&mut self) {
        self.depth -= 1;
        for frame in &mut self.frames {
            frame.again &= frame.guarded != Some(self.depth);
        }
    }

    /// Returns the number of exits under a condition so far, of all open frames.
    pub(super) fn n_left(&self) -> u64 {
        self.frames.iter().map(|f| f.left + f.exits.len() as u64).sum()
    }

    /// Records the present state of a variable, before it changes: that is its state at the exits
    /// so far.
    pub(super) fn remember(&mut self, id: usize) {
        let Some(variable) = self.variables.get(id) else { return };
        for frame in self.frames.iter_mut().filter(|frame| frame.leaves(id)) {
            let past = frame.past.entry(id).or_default();
            if past.last().is_none_or(|(before, _)| *before < frame.left) {
                past.push((frame.left, variable.state.clone()));
            }
        }
    }

    /// Returns the states of a variable at all exits of open frames, with the frame and the number
    /// of the exit.
    pub(super) fn states_where_left(&self, id: usize) -> Vec<(usize, u64, VariableState)> {
        let Some(variable) = self.variables.get(id) else { return Vec::new() };
        let leaves = self.frames.iter().enumerate().filter(|(_, frame)| frame.leaves(id));
        let states = leaves.flat_map(|(at, frame)| {
            (0..)
                .zip(frame.states(id, &variable.state))
                .map(move |(exit, state)| (at, exit, state.clone()))
        });
        states.collect()
    }

    /// Assigns values to bits at an exit of a frame.
    pub(super) fn fill_where_left(
        &mut self,
        frame: usize,
        exit: u64,
        bits: &IndexSet,
        values: Box<[bool]>,
    ) {
        if let Some(frame) = self.frames.get_mut(frame) {
            frame.fills.push((exit, (bits.clone(), values)));
        }
    }

    /// Returns the branch within another for the paths that left no frame after which a variable is
    /// in scope.
    pub(super) fn guard_stayed(
        &mut self,
        id: usize,
        guard: Option<Guard>,
        span: QasmSpan,
    ) -> Lower<Option<Guard>> {
        let mut all = Vec::new();
        for frame in self.frames.iter_mut().filter(|frame| frame.leaves(id)) {
            frame.read = true;
            all.extend(frame.bit.map(|bit| Condition::Bit { bit, value: false }));
        }
        let condition = match all.len() {
            0 => return Ok(guard),
            1 => all.remove(0),
            _ => Condition::All(all),
        };
        let size = self.spend_branch(&condition, guard, span)?;
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        self.branches.push(PlannedBranch {
            parent: guard,
            condition: Some(condition),
            stored: false,
            size,
        });
        Ok(Some(Guard { number, otherwise: false }))
    }
}
