//! What is left early: rounds and loops, subroutines, the file.
//!
//! Under a condition on bits, `break`, `continue`, `return` and `end` set a hidden bit, and the
//! rest of what they leave runs where that bit is 0:
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
//! Where nothing is left to run, the bit is not needed and not set.
//!
//! A variable may have other values where something was left than behind it. What it had then is
//! remembered when it changes. Where it matters, the variable goes to bits, which get these values
//! where they were left.

use std::collections::HashMap;

use super::{
    Guard, Item, Lower, Lowering, Picks, Planned, conditional::Branches, hidden::ones,
    variables::State,
};
use crate::{
    circuit::Condition,
    qasm::{ast::Span, diagnostic::Problem},
};

/// What can be left early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The file, by `end`.
    File,
    /// A subroutine, by `return`.
    Subroutine,
    /// A loop, by `break`.
    Loop,
    /// One round of it, by `continue`.
    Round,
}

/// Something open that can be left early.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    kind: Kind,
    /// Where it began: in which branch, and how long the plan was.
    guard: Option<Guard>,
    start: usize,
    /// Which frame it is of all.
    number: u64,
    /// The hidden bit that is 1 where it was left under a condition.
    pub(super) bit: Option<u32>,
    /// In how many branches the list stands whose rest runs where that bit is 0; and whether it was
    /// left again in branches within. These may keep their condition, and not read the bit anew.
    guarded: Option<usize>,
    again: bool,
    /// Whether anything reads the bit.
    pub(super) read: bool,
    /// How often it was left under a condition.
    pub(super) left: u64,
    /// How many variables there were when it began.
    variables: usize,
    /// The states of those where it was left, up to the exit before which they changed; later ones
    /// have the present.
    past: HashMap<usize, Vec<(u64, State)>>,
    /// What bits get where it was left, by the number of the exit.
    fills: Vec<(u64, Fill)>,
}

/// Bits and their values, where something is left.
type Fill = (Picks, Box<[bool]>);

impl Frame {
    /// The bit that says whether it was left, if a list in so many branches must read it from here
    /// on.
    fn unguarded(&self, depth: usize) -> Option<u32> {
        self.bit.filter(|_| self.guarded.is_none_or(|at| self.again && at != depth))
    }

    /// Whether it was left and a variable is there behind it. Behind the end of the file nothing
    /// reads any.
    fn leaves(&self, variable: usize) -> bool {
        self.left > 0 && variable < self.variables && self.kind != Kind::File
    }

    /// The states of a variable where it was left, one for each exit.
    fn states<'a>(
        &'a self,
        variable: usize,
        present: &'a State,
    ) -> impl Iterator<Item = &'a State> {
        let past = self.past.get(&variable).map_or(&[][..], Vec::as_slice);
        (0..self.left).map(move |exit| {
            let at = past.partition_point(|(before, _)| *before <= exit);
            past.get(at).map_or(present, |(_, state)| state)
        })
    }
}

/// A part of a list that runs where nothing was left.
pub(super) struct Rest {
    guard: Option<Guard>,
    mark: usize,
    /// The frames that were left, and where they were guarded before.
    frames: Vec<(usize, Option<usize>)>,
    span: Span,
}

impl Lowering<'_> {
    pub(super) fn enter_frame(&mut self, kind: Kind) {
        self.n_frames += 1;
        self.frames.push(Frame {
            kind,
            guard: self.guard,
            start: self.plan.len(),
            number: self.n_frames,
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

    /// Goes on behind what was left.
    pub(super) fn leave_frame(&mut self, span: Span) {
        self.join_exits(span);
        let Some(frame) = self.frames.pop() else { return };
        if self.leaving == Some(self.frames.len()) {
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

    /// Variables that had other values where the innermost frame was left go to bits, or are lost.
    fn join_exits(&mut self, span: Span) {
        let Some(frame) = self.frames.last() else { return };
        let mut ids: Vec<usize> = frame.past.keys().copied().collect();
        ids.sort_unstable();
        for id in ids {
            let Some(state) = self.variables.get(id).map(|variable| &variable.state) else {
                continue;
            };
            let same =
                self.frames.last().is_none_or(|frame| frame.states(id, state).all(|s| s == state));
            if same || matches!(state, State::Bits { .. } | State::Lost(_)) {
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

    /// A number becomes one of its values where the innermost frame was left, or that of who did
    /// not leave it. Whether it can.
    fn join_numbers(&mut self, id: usize, span: Span) -> Lower<bool> {
        let (at, present) = (self.frames.len() - 1, self.variables[id].state.clone());
        let exits: Vec<State> = self.frames[at].states(id, &present).cloned().collect();
        // Where all have left, there is no value besides theirs.
        let unreached = present == State::Empty && self.leaving == Some(at);
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

    /// Where a frame was left, bits get what they are to have behind it. Where nothing reads the
    /// bit that says so, it is not set.
    fn finish_exits(&mut self, frame: &Frame) {
        let mut fills: HashMap<u64, Vec<&Fill>> = HashMap::new();
        for (exit, fill) in &frame.fills {
            fills.entry(*exit).or_default().push(fill);
        }
        for planned in self.plan.split_off(frame.start) {
            if let Item::Leave { frame: number, exit, place, .. } = planned.item
                && number == frame.number
            {
                for (bits, values) in fills.remove(&exit).into_iter().flatten().cloned() {
                    let item = Item::Assign { bits, values, place };
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
    pub(super) fn leave(&mut self, kind: Kind, span: Span) -> Lower<()> {
        let mut at = None;
        for (number, frame) in self.frames.iter().enumerate().rev() {
            if frame.kind == kind {
                at = Some(number);
                break;
            }
            if frame.kind == Kind::Subroutine && kind != Kind::File {
                break;
            }
        }
        let Some(at) = at else {
            let (word, place) = match kind {
                Kind::Subroutine => ("return", "a subroutine"),
                Kind::Loop => ("break", "a loop"),
                _ => ("continue", "a loop"),
            };
            return self.fail(Problem::Misplaced { word, place }, span);
        };
        if self.guard != self.frames[at].guard {
            let bit = match self.frames[at].bit {
                Some(bit) => bit,
                None => self.hidden_bits(1, 0, span)?.get(0),
            };
            self.frames[at].bit = Some(bit);
            self.frames[at].again = true;
            let (frame, exit) = (self.frames[at].number, self.frames[at].left);
            self.frames[at].left += 1;
            self.add_count(1, span);
            self.push(Item::Leave { bit, frame, exit, place: self.place(span) });
        }
        self.leaving = Some(at);
        Ok(())
    }

    /// Whether the walk stands in a branch of the innermost frame of a kind.
    pub(super) fn under_condition(&self, kind: Kind) -> bool {
        self.frames.iter().rev().find(|f| f.kind == kind).is_some_and(|f| f.guard != self.guard)
    }

    /// Whether something around was left under a condition that is not the walk's yet.
    pub(super) fn left_somewhere(&self) -> bool {
        self.leaving.is_none() && self.frames.iter().any(|f| f.unguarded(self.depth).is_some())
    }

    /// From here to the end of the list statements run where nothing was left.
    pub(super) fn guard_rest(&mut self, span: Span) -> Lower<Rest> {
        let left = |(number, f): (usize, &Frame)| Some((number, f.unguarded(self.depth)?));
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
        // What is left once is left for good, so the bit is read anew by each instruction.
        self.branches.push(Branches {
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
                // Whoever left before the rest goes on behind what was left then.
                self.leaving = self.leaving.map(|at| at.max(number));
                self.frames[number].guarded = before;
                self.frames[number].again = true;
            }
            // Whoever left has the values of then.
            let _ = self.adopt(ends, rest, span);
        }
    }

    /// Back from a branch to its list. Where that is guarded itself, all that it runs reads the
    /// bits anew.
    pub(super) fn leave_branch(&mut self) {
        self.depth -= 1;
        for frame in &mut self.frames {
            frame.again &= frame.guarded != Some(self.depth);
        }
    }

    /// How often anything around was left under a condition so far.
    pub(super) fn n_left(&self) -> u64 {
        self.frames.iter().map(|f| f.left).sum()
    }

    /// Remembers the state that a variable has so far: it is that where something around was left.
    pub(super) fn remember(&mut self, id: usize) {
        let Some(variable) = self.variables.get(id) else { return };
        for frame in self.frames.iter_mut().filter(|frame| frame.leaves(id)) {
            let past = frame.past.entry(id).or_default();
            if past.last().is_none_or(|(before, _)| *before < frame.left) {
                past.push((frame.left, variable.state.clone()));
            }
        }
    }

    /// The states of a variable wherever something around was left: in which frame, at which exit.
    pub(super) fn states_where_left(&self, id: usize) -> Vec<(usize, u64, State)> {
        let Some(variable) = self.variables.get(id) else { return Vec::new() };
        let leaves = self.frames.iter().enumerate().filter(|(_, frame)| frame.leaves(id));
        let states = leaves.flat_map(|(at, frame)| {
            (0..)
                .zip(frame.states(id, &variable.state))
                .map(move |(exit, state)| (at, exit, state.clone()))
        });
        states.collect()
    }

    /// Bits get values where a frame was left.
    pub(super) fn fill_where_left(
        &mut self,
        frame: usize,
        exit: u64,
        bits: &Picks,
        values: Box<[bool]>,
    ) {
        if let Some(frame) = self.frames.get_mut(frame) {
            frame.fills.push((exit, (bits.clone(), values)));
        }
    }

    /// The branch within another that is for those who left nothing that a variable goes on behind.
    pub(super) fn guard_stayed(
        &mut self,
        id: usize,
        guard: Option<Guard>,
        span: Span,
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
        self.branches.push(Branches {
            parent: guard,
            condition: Some(condition),
            stored: false,
            size,
        });
        Ok(Some(Guard { number, otherwise: false }))
    }
}
