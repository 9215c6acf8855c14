//! Assignment: `x = e`, `xs[i] += e`, `p.x = e`, `p.xs[i] *= e`.
//!
//! Values are immutable, so an assignment to a part makes a new whole: down from the variable to
//! the part (which stores the values on the path) and up again. As in Rust the value is computed
//! first, then the indices of the target, then the old value is read.

use crate::{
    entity::{Value, Variable},
    ir::{Kind, Op},
};

use super::{Given, Misfit, Operator, Stage};

#[derive(Clone, Copy, Debug)]
enum Step {
    Field(usize),
    Index(Value),
}

/// Target of an assignment: a variable, or a part of one.
#[derive(Debug)]
pub struct Place {
    variable: Variable,
    /// Wholes on the path from the variable, and the step into each.
    path: Vec<(Value, Step)>,
    /// Old value of the part; of an element, its array.
    old: Value,
}

impl Stage {
    /// Creates the target that is a variable.
    pub fn place(&mut self, variable: Variable) -> Place {
        let old = self.b.use_variable(variable);
        Place { variable, path: Vec::new(), old }
    }

    /// Returns the kind of the assigned part.
    #[must_use]
    pub fn place_kind(&self, place: &Place) -> Kind {
        let kind = self.b.kind(place.old);
        match (place.path.last(), kind) {
            (Some((_, Step::Index(_))), Kind::Array(e)) => e.kind(),
            _ => kind.clone(),
        }
    }

    /// Steps into the k-th field.
    ///
    /// # Errors
    /// If there is no such field.
    pub fn into_field(&mut self, place: &mut Place, k: usize) -> Result<(), Misfit> {
        let whole = self.part(place);
        let Given::Value(field) = self.field(Given::Value(whole), k)? else { return Ok(()) };
        place.path.push((whole, Step::Field(k)));
        place.old = field;
        Ok(())
    }

    /// Steps into an element.
    ///
    /// # Errors
    /// If the target is not an array (operand 0), or the index is not an int (operand 1).
    pub fn into_element(&mut self, place: &mut Place, index: Given) -> Result<(), Misfit> {
        let whole = self.part(place);
        if !matches!(self.b.kind(whole), Kind::Array(_)) {
            return Err(Misfit::new(self.b.kind(whole), "an array"));
        }
        let index = self.fit(index, &Kind::Int).map_err(|e| e.of(1))?;
        place.path.push((whole, Step::Index(index)));
        Ok(())
    }

    /// Steps into the element with the given indices, one for each axis.
    ///
    /// # Errors
    /// If the target is not an array (operand 0), or an index is not an int (operand 1 and on).
    pub fn into_element_at(&mut self, place: &mut Place, indices: &[Given]) -> Result<(), Misfit> {
        let whole = self.part(place);
        let flat = self.place_of(Given::Value(whole), indices)?;
        place.path.push((whole, Step::Index(flat)));
        Ok(())
    }

    /// Returns the old value of the part. An element is read only on request.
    fn part(&mut self, place: &Place) -> Value {
        match place.path.last() {
            Some((xs, Step::Index(i))) => self.b.get(*xs, *i),
            _ => place.old,
        }
    }

    /// Assigns: `target = value`, or `target op= value`.
    ///
    /// # Errors
    /// If the value does not fit.
    pub fn assign(
        &mut self,
        place: Place,
        op: Option<Operator>,
        value: Given,
    ) -> Result<(), Misfit> {
        let kind = self.place_kind(&place);
        let element = matches!(place.path.last(), Some((_, Step::Index(_))));
        let mut new = match op {
            None => self.fit(value, &kind).map_err(|e| e.assigned(&kind, element))?,
            Some(op) => {
                let old = Given::Value(self.part(&place));
                let sum = self.binary(op, old, value)?;
                self.fit(sum, &kind).map_err(|e| e.assigned(&kind, element).of(1))?
            }
        };
        for (whole, step) in place.path.into_iter().rev() {
            let kind = self.b.kind(whole).clone();
            new = match step {
                Step::Index(i) => self.b.inst(Op::Set, &[whole, i, new], kind),
                Step::Field(k) => {
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
