//! Assignment: `x = e`, `xs[i] += e`, `p.x = e`, `p.xs[i] *= e`.
//!
//! Values have no places of their own, so an assignment to a part makes a new whole: down from the
//! variable to the part, which keeps what lies on the way, and out again. As in Rust the value is
//! computed first, then the indices of the place, then the old value is read.

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

/// What is assigned to: a variable, or a part of one.
#[derive(Debug)]
pub struct Place {
    variable: Variable,
    /// The wholes on the way, and the step into each.
    path: Vec<(Value, Step)>,
    /// The old value of the part; of an element, its array.
    old: Value,
}

impl Stage {
    /// A variable as something to assign to.
    pub fn place(&mut self, variable: Variable) -> Place {
        let old = self.b.use_variable(variable);
        Place { variable, path: Vec::new(), old }
    }

    /// The kind of what is assigned.
    #[must_use]
    pub fn place_kind(&self, place: &Place) -> Kind {
        let kind = self.b.kind(place.old);
        match (place.path.last(), kind) {
            (Some((_, Step::Index(_))), Kind::Array(e)) => e.kind(),
            _ => kind.clone(),
        }
    }

    /// Into the k-th field.
    ///
    /// # Errors
    /// There is none.
    pub fn into_field(&mut self, place: &mut Place, k: usize) -> Result<(), Misfit> {
        let whole = self.part(place);
        let Given::Value(field) = self.field(Given::Value(whole), k)? else { return Ok(()) };
        place.path.push((whole, Step::Field(k)));
        place.old = field;
        Ok(())
    }

    /// Into an element.
    ///
    /// # Errors
    /// There is no array (operand 0), or the index is no int (operand 1).
    pub fn into_element(&mut self, place: &mut Place, index: Given) -> Result<(), Misfit> {
        let whole = self.part(place);
        if !matches!(self.b.kind(whole), Kind::Array(_)) {
            return Err(Misfit::new(self.b.kind(whole), "an array"));
        }
        let index = self.fit(index, &Kind::Int).map_err(|e| e.of(1))?;
        place.path.push((whole, Step::Index(index)));
        Ok(())
    }

    /// Into the element with the given indices, one for each axis.
    ///
    /// # Errors
    /// There is no array (operand 0), or an index is no int (operand 1 and on).
    pub fn into_element_at(&mut self, place: &mut Place, indices: &[Given]) -> Result<(), Misfit> {
        let whole = self.part(place);
        let flat = self.place_of(Given::Value(whole), indices)?;
        place.path.push((whole, Step::Index(flat)));
        Ok(())
    }

    /// The old value of the part. An element is read only when asked for.
    fn part(&mut self, place: &Place) -> Value {
        match place.path.last() {
            Some((xs, Step::Index(i))) => self.b.get(*xs, *i),
            _ => place.old,
        }
    }

    /// Assigns: `place = value`, or `place op= value`.
    ///
    /// # Errors
    /// The value does not fit.
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
