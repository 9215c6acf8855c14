//! Blocks of a circuit as jumps between the steps of a run.
//!
//! ```text
//! if (c) { A } else { B }     branch c → 1;  A;  jump → 2;  1: B;  2:
//! while (c) { A }             1: while c → 2;  A;  back to 1;  2:
//! for i in [a:s:b] { A }      start;  1: next → 2;  A;  jump → 1;  2:
//! switch (x) { case 3 { A } default { B } }
//!                             branch x == 3 → 1;  A;  jump → 2;  1: B;  jump → 2;  2:
//! ```

use std::sync::Arc;

use super::{
    SimulateError,
    classical::{BoundFor, BoundValues, CELL, ClassicalAction},
    program::{Action, SimulationStep},
};
use crate::{
    circuit::{Circuit, CircuitError, Condition, ForValues, Instruction, Operation},
    classical::{ClassicalExpr, IntType, MAX_WIDTH, MemoryLayout, Relation, VariableId},
};

/// Exit of a block, or of the whole.
#[derive(Clone, Copy, Debug)]
enum BlockExit {
    /// To what follows that many loops and blocks.
    After(u32),
    /// To the next round of the loop that is that many loops and blocks around.
    Next(u32),
    /// To the end of the circuit.
    End,
}

/// The blocks around a step.
#[derive(Debug, Default)]
pub(super) struct OpenBlocks {
    open: Vec<OpenBlock>,
    /// Steps that jump to the end of the circuit.
    to_end: Vec<usize>,
    /// The jump at the end of the last `if`, which goes over the `else` that follows.
    last_if: Option<usize>,
}

#[derive(Debug)]
struct OpenBlock {
    kind: BlockKind,
    /// The step that decides whether the body runs, if there is one.
    head: Option<usize>,
    /// Steps that jump to the end of the block.
    to_after: Vec<usize>,
    /// The expression of a `switch`.
    subject: Option<Arc<ClassicalExpr>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum BlockKind {
    While,
    For,
    If,
    Else,
    Switch,
    Case,
    Block,
}

impl BlockKind {
    fn of(operation: &Operation) -> Option<BlockKind> {
        Some(match operation {
            Operation::While { .. } => BlockKind::While,
            Operation::For { .. } => BlockKind::For,
            Operation::If { .. } => BlockKind::If,
            Operation::Else { .. } => BlockKind::Else,
            Operation::Switch { .. } => BlockKind::Switch,
            Operation::Case { .. } => BlockKind::Case,
            Operation::Block { .. } => BlockKind::Block,
            _ => return None,
        })
    }

    /// True if `break` counts it.
    fn can_be_left(self) -> bool {
        matches!(self, BlockKind::While | BlockKind::For | BlockKind::Block)
    }
}

fn classical<R>(action: ClassicalAction, condition: Option<Arc<Condition>>) -> SimulationStep<R> {
    SimulationStep { action: Action::Classical(Box::new(action)), condition }
}

impl OpenBlocks {
    /// Appends the steps of a header.
    pub(super) fn open<R>(
        &mut self,
        circuit: &Circuit,
        head: &Instruction,
        steps: &mut Vec<SimulationStep<R>>,
        layout: &mut MemoryLayout,
    ) -> Result<(), SimulateError> {
        let Some(kind) = BlockKind::of(&head.operation) else { return Ok(()) };
        let condition = head.condition.clone();
        let mut block = OpenBlock { kind, head: None, to_after: Vec::new(), subject: None };
        let branch = ClassicalAction::Branch { otherwise: usize::MAX };
        match &head.operation {
            Operation::While { .. } => {
                block.head = Some(steps.len());
                steps.push(SimulationStep { action: Action::While { end: 0 }, condition });
            }
            Operation::For { over, .. } => {
                let of = bound_loop(circuit, over.variable, &over.values, layout)?;
                steps.push(classical(ClassicalAction::ForStart(of.clone()), condition));
                block.head = Some(steps.len());
                let next = ClassicalAction::ForNext { of, end: usize::MAX };
                steps.push(classical(next, None));
            }
            Operation::If { .. } => {
                block.head = Some(steps.len());
                steps.push(classical(branch, condition));
            }
            Operation::Else { .. } => block.to_after.extend(self.last_if.take()),
            Operation::Switch { subject, .. } => block.subject = Some(Arc::clone(subject)),
            Operation::Case { labels, .. } if !labels.is_empty() => {
                let subject = self.open.last().and_then(|around| around.subject.clone());
                let is_one = labels.iter().map(|&label| equals(subject.as_deref(), label));
                let any = Condition::Any(is_one.collect::<Result<_, CircuitError>>()?);
                block.head = Some(steps.len());
                steps.push(classical(branch, Some(Arc::new(any))));
            }
            _ => {}
        }
        self.open.push(block);
        Ok(())
    }

    /// Appends the steps at the end of the innermost block.
    pub(super) fn close<R>(&mut self, steps: &mut Vec<SimulationStep<R>>) {
        let Some(block) = self.open.pop() else { return };
        let jump = |to| classical(ClassicalAction::Jump { to }, None);
        match (block.kind, block.head) {
            (BlockKind::While, Some(head)) => {
                steps.push(SimulationStep { action: Action::BackEdge { head }, condition: None });
                steps[head].action = Action::While { end: steps.len() };
            }
            (BlockKind::For, Some(head)) => {
                steps.push(jump(head));
                let end = steps.len();
                set_target(&mut steps[head], end);
            }
            (BlockKind::If | BlockKind::Case, head) => {
                // Over the `else` that may follow, or to the end of the `switch`.
                let over = steps.len();
                steps.push(jump(over + 1));
                let end = steps.len();
                // A default has none.
                if let Some(head) = head {
                    set_target(&mut steps[head], end);
                }
                match block.kind {
                    BlockKind::Case => {
                        if let Some(switch) = self.open.last_mut() {
                            switch.to_after.push(over);
                        }
                    }
                    _ => self.last_if = Some(over),
                }
            }
            _ => {}
        }
        let end = steps.len();
        block.to_after.iter().for_each(|&at| set_target(&mut steps[at], end));
    }

    /// Returns the jump of an exit, at the step that comes next; `None` for another operation.
    pub(super) fn exit_of<R>(
        &mut self,
        operation: &Operation,
        at: usize,
    ) -> Result<Option<Action<R>>, SimulateError> {
        let exit = match operation {
            Operation::Break { levels } => BlockExit::After(*levels),
            Operation::Continue { levels } => BlockExit::Next(*levels),
            Operation::End => BlockExit::End,
            _ => return Ok(None),
        };
        self.exit(exit, at).map(Some)
    }

    fn exit<R>(&mut self, exit: BlockExit, at: usize) -> Result<Action<R>, SimulateError> {
        let levels = match exit {
            BlockExit::End => {
                self.to_end.push(at);
                return Ok(jump_to(usize::MAX));
            }
            BlockExit::After(levels) | BlockExit::Next(levels) => levels,
        };
        let open = self.open.iter().filter(|block| block.kind.can_be_left()).count();
        let wrong = CircuitError::BlockExit { levels, open };
        let mut around = self.open.iter_mut().rev().filter(|block| block.kind.can_be_left());
        let place = (levels as usize).checked_sub(1);
        let Some(block) = place.and_then(|place| around.nth(place)) else {
            return Err(wrong.into());
        };
        match (exit, block.head) {
            (BlockExit::Next(_), None) => Err(wrong.into()),
            (BlockExit::Next(_), Some(head)) => Ok(jump_to(head)),
            _ => {
                block.to_after.push(at);
                Ok(jump_to(usize::MAX))
            }
        }
    }

    /// Sets the targets of the jumps to the end.
    pub(super) fn finish<R>(&self, steps: &mut [SimulationStep<R>]) {
        let end = steps.len();
        self.to_end.iter().for_each(|&at| set_target(&mut steps[at], end));
    }
}

fn jump_to<R>(to: usize) -> Action<R> {
    Action::Classical(Box::new(ClassicalAction::Jump { to }))
}

/// Sets the step that an action goes on with, where it does not go on with the next.
fn set_target<R>(step: &mut SimulationStep<R>, target: usize) {
    if let Action::Classical(action) = &mut step.action {
        match &mut **action {
            ClassicalAction::Branch { otherwise: to }
            | ClassicalAction::Jump { to }
            | ClassicalAction::ForNext { end: to, .. } => *to = target,
            ClassicalAction::Store(_) | ClassicalAction::ForStart(_) => {}
        }
    }
}

/// `subject == label`.
fn equals(subject: Option<&ClassicalExpr>, label: i128) -> Result<Condition, CircuitError> {
    let Some(subject) = subject else { return Ok(Condition::Any(Vec::new())) };
    Ok(subject.clone().compare(Relation::Equal, label)?.into())
}

/// Returns a loop with its cells, which are added to the layout.
fn bound_loop(
    circuit: &Circuit,
    variable: VariableId,
    values: &ForValues,
    layout: &mut MemoryLayout,
) -> Result<BoundFor, SimulateError> {
    let cells = [(); 3].map(|()| layout.add(&CELL.into()));
    let ty = circuit.value_of(variable)?.ty().unwrap_or(CELL);
    let in_cell = |expr: &ClassicalExpr| expr.clone().cast(CELL).map_err(CircuitError::from);
    let is_longest = match values {
        ForValues::Range { start, end, .. } => {
            start.common_int(end) == Some(IntType::unsigned(MAX_WIDTH))
        }
        ForValues::List(_) => false,
    };
    let values = match values {
        ForValues::Range { start, step, end } => {
            BoundValues::Range(Box::new([in_cell(start)?, in_cell(step)?, in_cell(end)?]))
        }
        ForValues::List(values) => {
            let cast = |expr: &ClassicalExpr| expr.clone().cast(ty).map_err(CircuitError::from);
            BoundValues::List(values.iter().map(cast).collect::<Result<_, _>>()?)
        }
    };
    Ok(BoundFor { variable, ty, cells, values, is_longest })
}
