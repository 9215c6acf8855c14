//! Assignment: `x = e`, `xs[i] += e`, `p.x = e`, `p.xs[i] *= e`.
//!
//! Values are immutable, so an assignment to a part makes a new whole: down from the variable to
//! the part (which stores the values on the path) and up again. As in Rust the value is computed
//! first, then the indices of the target, then the old value is read.

use crate::{
    entity::{Value, Variable},
    ir::{Kind, Op},
};

use super::{InfixOperator, StagedOperand, StagingBuilder, TypeMismatch};

#[derive(Clone, Copy, Debug)]
enum ProjectionElem {
    Field(usize),
    Index(Value),
}

/// Target of an assignment: a variable, or a part of one.
#[derive(Debug)]
pub struct AssignmentTarget {
    variable: Variable,
    /// Wholes on the path from the variable, and the step into each.
    path: Vec<(Value, ProjectionElem)>,
    /// Old value of the part; of an element, its array.
    old: Value,
}

impl StagingBuilder {
    /// Creates the target that is a variable.
    pub fn assignment_target(&mut self, variable: Variable) -> AssignmentTarget {
        let old = self.b.use_variable(variable);
        AssignmentTarget { variable, path: Vec::new(), old }
    }

    /// Returns the kind of the assigned part.
    pub(crate) fn target_kind(&self, place: &AssignmentTarget) -> Kind {
        let kind = self.b.kind(place.old);
        match (place.path.last(), kind) {
            (Some((_, ProjectionElem::Index(_))), Kind::Array(e)) => e.kind(),
            _ => kind.clone(),
        }
    }

    /// Steps into the k-th field.
    ///
    /// # Errors
    /// If there is no such field.
    pub fn into_field(
        &mut self,
        place: &mut AssignmentTarget,
        k: usize,
    ) -> Result<(), TypeMismatch> {
        let whole = self.part(place);
        let StagedOperand::Value(field) = self.field(StagedOperand::Value(whole), k)? else {
            return Ok(());
        };
        place.path.push((whole, ProjectionElem::Field(k)));
        place.old = field;
        Ok(())
    }

    /// Steps into an element.
    ///
    /// # Errors
    /// If the target is not an array (operand 0), or the index is not an int (operand 1).
    pub fn into_element(
        &mut self,
        place: &mut AssignmentTarget,
        index: StagedOperand,
    ) -> Result<(), TypeMismatch> {
        let whole = self.part(place);
        if !matches!(self.b.kind(whole), Kind::Array(_)) {
            return Err(TypeMismatch::new(self.b.kind(whole), "an array"));
        }
        let index = self.fit(index, &Kind::Int).map_err(|e| e.at_operand(1))?;
        place.path.push((whole, ProjectionElem::Index(index)));
        Ok(())
    }

    /// Steps into the element with the given indices, one for each axis.
    ///
    /// # Errors
    /// If the target is not an array (operand 0), or an index is not an int (operand 1 and on).
    pub fn into_element_at(
        &mut self,
        place: &mut AssignmentTarget,
        indices: &[StagedOperand],
    ) -> Result<(), TypeMismatch> {
        let whole = self.part(place);
        let flat = self.place_of(StagedOperand::Value(whole), indices)?;
        place.path.push((whole, ProjectionElem::Index(flat)));
        Ok(())
    }

    /// Returns the old value of the part. An element is read only on request.
    fn part(&mut self, place: &AssignmentTarget) -> Value {
        match place.path.last() {
            Some((xs, ProjectionElem::Index(i))) => self.b.get(*xs, *i),
            _ => place.old,
        }
    }

    /// Assigns: `target = value`, or `target op= value`.
    ///
    /// # Errors
    /// If the value does not fit.
    pub fn assign(
        &mut self,
        place: AssignmentTarget,
        op: Option<InfixOperator>,
        value: StagedOperand,
    ) -> Result<(), TypeMismatch> {
        let kind = self.target_kind(&place);
        let element = matches!(place.path.last(), Some((_, ProjectionElem::Index(_))));
        let mut new = match op {
            None => self.fit(value, &kind).map_err(|e| e.assigned(&kind, element))?,
            Some(op) => {
                let old = StagedOperand::Value(self.part(&place));
                let sum = self.binary(op, old, value)?;
                self.fit(sum, &kind).map_err(|e| e.assigned(&kind, element).at_operand(1))?
            }
        };
        for (whole, step) in place.path.into_iter().rev() {
            let kind = self.b.kind(whole).clone();
            new = match step {
                ProjectionElem::Index(i) => self.b.inst(Op::Set, &[whole, i, new], kind),
                ProjectionElem::Field(k) => {
                    let n = kind.fields().len();
                    let fields: Vec<Value> =
                        (0..n).map(|j| if j == k { new } else { self.b.field(whole, j) }).collect();
                    self.b.tuple(&fields, kind)
                }
            };
        }
        self.b.define(place.variable, new);
        Ok(())
    }
}
