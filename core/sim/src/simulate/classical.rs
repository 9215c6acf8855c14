//! Classical actions of a bound circuit: assignments, and jumps over instructions.

use smallvec::SmallVec;

use super::Bits;
use crate::{
    circuit::{ClassicalAssignment, ClassicalTarget},
    classical::{ClassicalExpr, ClassicalType, IntType, MemoryLayout, VariableId, Word},
};

/// Type of the cells of a `For`: every integer is one but for the upper half of `uint[128]`, whose
/// bits the cells have.
pub(super) const CELL: ClassicalType = ClassicalType::Int(IntType::signed(128));

/// An action on classical bits and variables alone.
#[derive(Clone, Debug)]
pub(super) enum ClassicalAction {
    /// Assigns the value of an expression.
    Store(ClassicalAssignment),
    /// Goes on at a step if the condition does not hold.
    Branch { otherwise: usize },
    /// Goes on at a step if the condition holds.
    Jump { to: usize },
    /// Evaluates the values of a loop.
    ForStart(BoundFor),
    /// Gives the variable of a loop its next value, or goes on after the loop if there is none.
    ForNext { of: BoundFor, end: usize },
}

/// A loop over values.
#[derive(Clone, Debug)]
pub(super) struct BoundFor {
    pub(super) variable: VariableId,
    pub(super) ty: ClassicalType,
    /// The cells of the next value, or of its position in the list; of the step; of the end.
    pub(super) cells: [VariableId; 3],
    pub(super) values: BoundValues,
    /// True for a range of `uint[128]`: the cells are unsigned.
    pub(super) is_longest: bool,
}

/// Values of a loop, as expressions of the type of the cells.
#[derive(Clone, Debug)]
pub(super) enum BoundValues {
    /// Start, step and end.
    Range(Box<[ClassicalExpr; 3]>),
    /// These, of the type of the variable.
    List(Vec<ClassicalExpr>),
}

impl ClassicalAction {
    /// The end of a loop, if this is the beginning of a round.
    pub(super) fn end_of_round(&self) -> Option<usize> {
        match self {
            ClassicalAction::ForNext { end, .. } => Some(*end),
            _ => None,
        }
    }

    /// Runs the action at a step and returns the step to go on with.
    pub(super) fn run(
        &self,
        (at, holds): (usize, bool),
        memory: &mut Bits,
        layout: &MemoryLayout,
    ) -> usize {
        let next = at + 1;
        match self {
            ClassicalAction::Branch { otherwise } if !holds => *otherwise,
            _ if !holds => next,
            ClassicalAction::Branch { .. } => next,
            ClassicalAction::Jump { to } => *to,
            ClassicalAction::Store(assignment) => {
                store(assignment, memory, layout);
                next
            }
            ClassicalAction::ForStart(of) => {
                of.start(memory, layout);
                next
            }
            ClassicalAction::ForNext { of, end } => {
                if of.advance(memory, layout) {
                    next
                } else {
                    *end
                }
            }
        }
    }
}

impl BoundFor {
    fn start(&self, memory: &mut Bits, layout: &MemoryLayout) {
        if let BoundValues::Range(range) = &self.values {
            let values: SmallVec<[Word; 3]> =
                range.iter().map(|expr| expr.evaluate(&memory.read(layout))).collect();
            for (cell, value) in self.cells.iter().zip(values) {
                memory.set_variable(layout, *cell, 0, value);
            }
        } else {
            memory.set_variable(layout, self.cells[0], 0, 0);
        }
    }

    /// Gives the variable its next value; returns false if there is none.
    fn advance(&self, memory: &mut Bits, layout: &MemoryLayout) -> bool {
        let [next, step, end] = self.cells.map(|cell| memory.variable(layout, cell, 0));
        let (value, after) = match &self.values {
            BoundValues::Range(_) => {
                let step = step.cast_signed();
                // Beyond the last number there is no other.
                let (order, after) = match self.is_longest {
                    true => (next.cmp(&end), next.checked_add_signed(step)),
                    false => {
                        let number = next.cast_signed();
                        let after = number.checked_add(step).map(i128::cast_unsigned);
                        (number.cmp(&end.cast_signed()), after)
                    }
                };
                if !(step > 0 && order.is_le() || step < 0 && order.is_ge()) {
                    return false;
                }
                if after.is_none() {
                    memory.set_variable(layout, self.cells[1], 0, 0);
                }
                let value = ClassicalExpr::constant(CELL, next);
                let value = value.cast(self.ty).ok().and_then(|value| value.value());
                (value.unwrap_or_default(), after.unwrap_or(next))
            }
            BoundValues::List(values) => {
                let Some(expr) = usize::try_from(next).ok().and_then(|k| values.get(k)) else {
                    return false;
                };
                (expr.evaluate(&memory.read(layout)), next + 1)
            }
        };
        memory.set_variable(layout, self.variable, 0, value);
        memory.set_variable(layout, self.cells[0], 0, after);
        true
    }
}

fn store(assignment: &ClassicalAssignment, memory: &mut Bits, layout: &MemoryLayout) {
    let reader = memory.read(layout);
    let value = assignment.value.evaluate(&reader);
    match &assignment.target {
        ClassicalTarget::Bits(bits) => {
            for (k, &bit) in bits.iter().enumerate() {
                memory.set(bit, value >> k & 1 == 1);
            }
        }
        ClassicalTarget::BitAt(bits, index) => {
            let index = index.evaluate(&reader).cast_signed();
            let size = bits.len() as i128;
            let index = if index < 0 { index.saturating_add(size) } else { index };
            if let Some(&bit) = usize::try_from(index).ok().and_then(|k| bits.get(k)) {
                memory.set(bit, value == 1);
            }
        }
        ClassicalTarget::Variable(variable) => memory.set_variable(layout, *variable, 0, value),
        ClassicalTarget::Element(variable, indices) => {
            let indices: SmallVec<[Word; 4]> =
                indices.iter().map(|index| index.evaluate(&reader)).collect();
            if let Some(place) = layout.element(*variable, &indices) {
                memory.set_variable(layout, *variable, place, value);
            }
        }
    }
}
