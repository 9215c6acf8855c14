//! The parameters of a circuit: inputs by name, and values computed from them.

use std::collections::HashMap;

use num_complex::Complex;

use super::{Circuit, CircuitError, Instruction, Operation, ParamDef, param_id};
use crate::{
    param::{Angle, BindError, Binding, ParamExpr, ParamId, Values},
    scalar::Real,
};

/// Limit on the text of an expression that serves as the name of a computed parameter, in bytes.
const MAX_NAME: usize = 1000;

impl Circuit {
    /// Returns the input called `name`, which is declared if it does not exist yet.
    pub fn param(&mut self, name: &str) -> Angle {
        let at = self.params.iter().position(|p| p.definition.is_none() && p.name == name);
        self.input(at.map(param_id), name)
    }

    /// Returns the inputs `name[0]`, `name[1]`, …, which are declared if they do not exist yet.
    pub fn param_list(&mut self, name: &str, size: usize) -> Vec<Angle> {
        let inputs = self.params.iter().enumerate().filter(|(_, p)| p.definition.is_none());
        let known: HashMap<String, ParamId> =
            inputs.map(|(i, p)| (p.name.clone(), param_id(i))).collect();
        let names = (0..size).map(|i| format!("{name}[{i}]"));
        names.map(|name| self.input(known.get(&name).copied(), &name)).collect()
    }

    /// Returns the input of this name, which exists (`there`) or is added.
    fn input(&mut self, there: Option<ParamId>, name: &str) -> Angle {
        let new = || ParamDef { name: name.to_owned(), definition: None };
        let id = there.unwrap_or_else(|| self.push_param(new()));
        Angle::theta(ParamId::named(id.number(), name))
    }

    /// Adds a parameter computed from the others. An expression that is an angle already needs
    /// none; one with a parameter of another circuit returns that parameter, which no gate of this
    /// circuit accepts.
    pub fn expression(&mut self, expr: ParamExpr) -> Angle {
        if let [crate::param::Step::Angle(angle)] = expr.steps() {
            return angle.clone();
        }
        if let Some(id) = expr.params().find(|&id| self.own(id).is_err()) {
            return Angle::theta(id);
        }
        // The name of a nested expression would double with every level.
        let text = expr.text(&|id| self.param_name(id));
        let name =
            if text.len() <= MAX_NAME { text } else { format!("computed_{}", self.params.len()) };
        let same = |other: &ParamExpr| {
            *other == expr
                && other
                    .angles()
                    .zip(expr.angles())
                    .all(|(a, b)| a.rounding_bound() == b.rounding_bound())
        };
        let at = self.params.iter().position(|p| p.definition.as_ref().is_some_and(same));
        let id = match at {
            Some(i) => param_id(i),
            None => self.push_param(ParamDef { name, definition: Some(expr) }),
        };
        Angle::theta(
            self.params.get(id.index()).map_or(id, |p| ParamId::named(id.number(), &p.name)),
        )
    }

    /// Checks that a parameter belongs to this circuit.
    pub(super) fn own(&self, id: ParamId) -> Result<(), CircuitError> {
        match self.params.get(id.index()) {
            None => Err(CircuitError::ForeignParam { id }),
            Some(param) if !id.may_be(&param.name) => {
                Err(CircuitError::OtherParam { id, name: param.name.clone() })
            }
            Some(_) => Ok(()),
        }
    }

    /// Adds a parameter without a search for an equal one.
    #[doc(hidden)]
    pub fn push_param(&mut self, def: ParamDef) -> ParamId {
        self.params.push(def);
        param_id(self.params.len() - 1)
    }

    /// The name of a parameter, or its expression in parentheses.
    #[must_use]
    pub fn param_name(&self, id: ParamId) -> String {
        match self.params.get(id.index()) {
            Some(ParamDef { name, definition: None }) => name.clone(),
            Some(ParamDef { name, .. }) => format!("({name})"),
            None => format!("p{}", id.number()),
        }
    }

    /// An angle with the names of this circuit's parameters.
    #[must_use]
    pub fn angle_text(&self, angle: &Angle) -> String {
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = angle.write(&mut text, &|id| self.param_name(id));
        text
    }

    /// The values of all parameters, given those of the inputs in order.
    ///
    /// # Errors
    /// [`CircuitError::Inputs`] if their number is wrong.
    pub fn param_values<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, CircuitError> {
        let expected = self.inputs().count();
        if inputs.len() != expected {
            return Err(CircuitError::Inputs {
                given: inputs.len(),
                names: self.inputs().map(str::to_owned).collect(),
            });
        }
        let mut inputs = inputs.iter();
        let mut values: Vec<T> = Vec::with_capacity(self.params.len());
        for param in &self.params {
            let value = match &param.definition {
                Some(expr) => expr.evaluate(&values).map_err(|e| self.bind_error(e))?,
                None => inputs.next().cloned().unwrap_or_else(T::zero),
            };
            values.push(value);
        }
        Ok(values)
    }

    /// Returns, for each input, the interval in which the probabilities of noise that depend on it
    /// alone (`p`, `1 - p/3`) are valid; `None` if there are no such probabilities.
    #[must_use]
    pub fn intervals(&self) -> Vec<Option<[f64; 2]>> {
        let mut intervals = vec![None; self.params.len()];
        let noise = |i: &&Instruction| {
            matches!(i.operation, Operation::Channel(_) | Operation::ReadoutError { .. })
        };
        for strength in self.instructions.iter().filter(noise).flat_map(|i| i.operation.params()) {
            let rest = strength.substitute(|_| Angle::zero()).constant();
            if let (&[(id, q)], Some(rest)) = (strength.terms(), rest) {
                let ends =
                    [0.0, 1.0].map(|p| (p - rest) * *q.denom() as f64 / *q.numer() as f64 + 0.0);
                let [low, high] =
                    intervals[id.index()].unwrap_or([f64::NEG_INFINITY, f64::INFINITY]);
                intervals[id.index()] =
                    Some([ends[0].min(ends[1]).max(low), ends[0].max(ends[1]).min(high)]);
            }
        }
        let of_inputs =
            self.params.iter().zip(intervals).filter(|(param, _)| param.definition.is_none());
        of_inputs.map(|(_, interval)| interval).collect()
    }

    /// Returns the first instruction that has no value for these inputs, with the error: an angle
    /// is not finite, or a probability is not one. Returns `None` if there is none.
    #[must_use]
    pub fn fault<T: Real>(&self, inputs: &[T]) -> Option<(usize, CircuitError)> {
        let mut inputs = inputs.iter();
        let mut values: Vec<T> = Vec::with_capacity(self.params.len());
        let mut faults: Vec<Option<CircuitError>> = Vec::with_capacity(self.params.len());
        for param in &self.params {
            let value = match &param.definition {
                None => Ok(inputs.next().cloned().unwrap_or_else(T::zero)),
                Some(expr) => {
                    match expr.params().find_map(|id| faults.get(id.index()).cloned().flatten()) {
                        Some(fault) => Err(fault),
                        None => match expr.evaluate(&values) {
                            Ok(x) if x.primal().is_some_and(|x| !x.is_finite()) => {
                                Err(CircuitError::NotFinite { angle: param.name.clone() })
                            }
                            value => value.map_err(|error| self.bind_error(error)),
                        },
                    }
                }
            };
            faults.push(value.as_ref().err().cloned());
            values.push(value.unwrap_or_else(|_| T::zero()));
        }
        let values = Values(&values);
        let of = |instruction: &Instruction| {
            let is_strength = matches!(
                instruction.operation,
                Operation::Channel(_) | Operation::ReadoutError { .. }
            );
            instruction.operation.params().iter().find_map(|angle| {
                let inside = angle
                    .terms()
                    .iter()
                    .find_map(|(id, _)| faults.get(id.index()).cloned().flatten());
                inside.or_else(|| {
                    let error = match is_strength {
                        true => Binding::<Complex<T>>::probability(&values, angle).err(),
                        false => values.radians(angle).err(),
                    };
                    error.map(|error| self.bind_error(error))
                })
            })
        };
        self.instructions.iter().enumerate().find_map(|(k, i)| Some((k, of(i)?)))
    }

    /// Replaces numbers by names in an error of a binding.
    #[must_use]
    pub fn bind_error(&self, error: BindError) -> CircuitError {
        match error {
            BindError::Unbound { id } => CircuitError::Unbound { names: vec![self.param_name(id)] },
            BindError::NotFinite { angle } => {
                CircuitError::NotFinite { angle: self.angle_text(&angle) }
            }
            BindError::NoProbability { angle, value } => {
                CircuitError::NoProbability { text: self.angle_text(&angle), value }
            }
            BindError::NotANumber { angle } => {
                CircuitError::NotANumber { text: self.angle_text(&angle) }
            }
            other => CircuitError::Bind(other),
        }
    }
}
