//! Circuits from circuits: compose, repeat, undo, control, bind.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{CallRecord, Circuit, CircuitError, Control, Instruction, QubitRegister};
use crate::{
    classical::{Renumber, VariableId},
    param::{Angle, ParamExpr},
};

impl Circuit {
    /// Appends another circuit, whose qubit k becomes `qubits[k]`. Inputs of the same name become
    /// one; classical registers are added.
    ///
    /// # Errors
    /// [`CircuitError`] if the qubits do not fit or a register of the same name exists. Nothing is
    /// appended then.
    pub fn append(
        &mut self,
        other: &Circuit,
        qubits: &[usize],
    ) -> Result<&mut Circuit, CircuitError> {
        if qubits.len() != other.n_qubits {
            return Err(CircuitError::QubitMap { given: qubits.len(), expected: other.n_qubits });
        }
        let mut map = Vec::with_capacity(qubits.len());
        let mut sorted = qubits.to_vec();
        sorted.sort_unstable();
        for (i, &q) in sorted.iter().enumerate() {
            match u32::try_from(q) {
                Ok(qubit) if q < self.n_qubits => {
                    if i > 0 && sorted[i - 1] == q {
                        return Err(CircuitError::RepeatedQubit { qubit });
                    }
                }
                _ => return Err(CircuitError::NoSuchQubit { given: q, n_qubits: self.n_qubits }),
            }
        }
        for &q in qubits {
            map.push(u32::try_from(q).unwrap_or(u32::MAX));
        }
        let mut names = other.classical_names();
        if let Some(name) = names.find(|name| self.classical_names().any(|own| own == *name)) {
            return Err(CircuitError::DuplicateRegister { name: name.to_owned() });
        }
        let all_bits = self.n_bits().saturating_add(other.n_bits());
        if all_bits > u32::MAX as usize {
            return Err(CircuitError::TooManyBits { given: other.n_bits() });
        }
        let first_bit = u32::try_from(self.n_bits()).unwrap_or(u32::MAX);
        other.registers.iter().for_each(|r| self.push_register(r.clone()));

        let mut angles: Vec<Angle> = Vec::with_capacity(other.params.len());
        for param in &other.params {
            let angle = match &param.definition {
                None => self.param(&param.name),
                Some(expr) => self.expression(expr.substitute(|id| angles[id.index()].clone())),
            };
            angles.push(angle);
        }
        let first_variable = u32::try_from(self.variables.len()).unwrap_or(u32::MAX);
        self.variables.extend(other.variables.iter().cloned());
        let to = Appended { first_bit, first_variable, angles: &angles };
        let first = self.instructions.len();
        self.instructions.extend(other.instructions.iter().map(|instruction| {
            let mut moved = instruction.clone();
            moved.targets.iter_mut().for_each(|q| *q = map[*q as usize]);
            moved.controls.iter_mut().for_each(|c| c.qubit = map[c.qubit as usize]);
            moved.operation =
                moved.operation.map_params(|a| a.substitute(|id| angles[id.index()].clone()));
            moved.operation = moved.operation.renumbered(&to);
            if let Some(condition) = &mut moved.condition {
                *condition = Arc::new(condition.renumbered(&to));
            }
            moved
        }));
        for call in other.calls() {
            let there = |c: &Control| Control { qubit: map[c.qubit as usize], ..*c };
            self.remember_call(CallRecord {
                first: first + call.instructions.start,
                gate: Arc::clone(call.gate),
                args: call
                    .args
                    .iter()
                    .map(|a| a.substitute(|id| angles[id.index()].clone()))
                    .collect(),
                qubits: call.qubits.iter().map(|q| map[*q as usize]).collect(),
                controls: call.controls.iter().map(there).collect(),
                inverse: call.inverse,
            });
        }
        Ok(self)
    }

    /// The circuit run `times` times in a row.
    ///
    /// # Errors
    /// [`CircuitError::NotUnitary`] with measurements, resets or conditions,
    /// [`CircuitError::TooLong`] for more instructions than memory holds.
    pub fn repeat(&self, times: usize) -> Result<Circuit, CircuitError> {
        self.need_unitary("repeating")?;
        let mut out = self.clone();
        if self.instructions.is_empty() {
            return Ok(out);
        }
        Circuit::room_for(self.instructions.len().checked_mul(times))?;
        out.instructions.clear();
        for _ in 0..times {
            out.instructions.extend_from_slice(&self.instructions);
        }
        Ok(out)
    }

    /// Returns room for that many instructions, if there is memory for them; `None` are more than
    /// can be counted.
    pub(crate) fn room_for(instructions: Option<usize>) -> Result<usize, CircuitError> {
        let fits = |n: &usize| Vec::<Instruction>::new().try_reserve_exact(*n).is_ok();
        instructions.filter(fits).ok_or(CircuitError::TooLong { instructions })
    }

    /// The inverse circuit.
    ///
    /// # Errors
    /// [`CircuitError::NotUnitary`] with measurements, resets or conditions.
    pub fn dagger(&self) -> Result<Circuit, CircuitError> {
        self.need_unitary("the inverse")?;
        let mut out = self.clone();
        out.instructions.reverse();
        out.instructions.iter_mut().for_each(Instruction::invert);
        Ok(out)
    }

    /// Returns the circuit under further controls, which become the qubits n, n+1, … and act at the
    /// given values.
    ///
    /// # Errors
    /// [`CircuitError::NotUnitary`] with measurements, resets or conditions.
    pub fn controlled(&self, values: &[bool]) -> Result<Circuit, CircuitError> {
        self.need_unitary("control")?;
        let mut out = self.clone();
        out.n_qubits += values.len();
        if !out.qubit_registers.is_empty() && !values.is_empty() {
            let is_free = |name: &String| out.qubit_registers.iter().all(|r| r.name != *name);
            let numbered =
                std::iter::once("control".to_owned()).chain((1..).map(|k| format!("control_{k}")));
            let name = numbered.into_iter().find(is_free).unwrap_or_default();
            out.qubit_registers.push(QubitRegister { name, size: values.len() });
        }
        let controls: Vec<Control> = (self.n_qubits..)
            .zip(values)
            .map(|(q, &value)| Control { qubit: u32::try_from(q).unwrap_or(u32::MAX), value })
            .collect();
        for instruction in &mut out.instructions {
            if !instruction.operation.does_nothing() {
                instruction.controls.extend(controls.iter().copied());
            }
        }
        Ok(out)
    }

    /// Binds some inputs to values; the rest stay open. A value may be an angle over inputs that
    /// stay open, by their ids in this circuit.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchParam`] for an unknown name, [`CircuitError::NotFinite`] if a computed
    /// parameter becomes NaN or infinite, [`CircuitError::OtherParam`] or
    /// [`CircuitError::ForeignParam`] for an angle over another circuit's parameters.
    pub fn bind(&self, values: &[(&str, Angle)]) -> Result<Circuit, CircuitError> {
        let inputs: BTreeSet<&str> = self.inputs().collect();
        if let Some((name, _)) = values.iter().find(|(name, _)| !inputs.contains(name)) {
            return Err(CircuitError::NoSuchParam { name: (*name).to_owned() });
        }
        values.iter().flat_map(|(_, angle)| angle.terms()).try_for_each(|t| self.own(t.0))?;
        // Of the values of a repeated name the last one counts.
        let values: BTreeMap<&str, &Angle> =
            values.iter().map(|(name, angle)| (*name, angle)).collect();
        let mut out = Circuit { params: Vec::new(), instructions: Vec::new(), ..self.clone() };
        // Open inputs first, so that a value may refer to any of them.
        let open: Vec<Option<Angle>> = self
            .params
            .iter()
            .map(|p| {
                let bound = p.definition.is_some() || values.contains_key(p.name.as_str());
                (!bound).then(|| out.param(&p.name))
            })
            .collect();
        let mut angles: Vec<Angle> = Vec::with_capacity(self.params.len());
        for (param, free) in self.params.iter().zip(&open) {
            let angle = match (free, &param.definition) {
                (Some(angle), _) => angle.clone(),
                (None, Some(expr)) => {
                    let expr = expr.substitute(|id| angles[id.index()].clone());
                    out.computed(expr)?
                }
                (None, None) => {
                    let value =
                        values.get(param.name.as_str()).map_or_else(Angle::zero, |&a| a.clone());
                    value.substitute(|id| {
                        open.get(id.index()).cloned().flatten().unwrap_or_else(poisoned)
                    })
                }
            };
            angles.push(angle);
        }
        out.instructions = self.instructions.clone();
        let to = Substituted(&angles);
        for instruction in &mut out.instructions {
            instruction.operation = instruction.operation.map_params(|a| to.angle(a));
            // Conditions that read no parameter stay shared.
            if instruction.reads_angles() {
                instruction.operation = instruction.operation.renumbered(&to);
                if let Some(condition) = &mut instruction.condition {
                    *condition = Arc::new(condition.renumbered(&to));
                }
            }
        }
        out.calls = self.calls.map_params(|a| a.substitute(|id| angles[id.index()].clone()));
        Ok(out)
    }

    /// Returns the angle of an expression: its value if no parameter is left in it.
    fn computed(&mut self, expr: ParamExpr) -> Result<Angle, CircuitError> {
        if expr.params().next().is_some() || expr.steps().len() == 1 {
            return Ok(self.expression(expr));
        }
        let value: f64 = expr.evaluate(&[]).map_err(|e| self.bind_error(e))?;
        if value.is_finite() {
            return Ok(expr.folded());
        }
        Err(CircuitError::NotFinite { angle: expr.text(&|id| self.param_name(id)) })
    }

    fn need_unitary(&self, what: &'static str) -> Result<(), CircuitError> {
        let is_invertible = |i: &Instruction| i.condition.is_none() && i.operation.is_invertible();
        match self.instructions.iter().all(is_invertible) {
            true => Ok(()),
            false => Err(CircuitError::NotUnitary { what }),
        }
    }
}

/// Numbers of a circuit's classical places where it is appended, and angles for its parameters.
struct Appended<'a> {
    first_bit: u32,
    first_variable: u32,
    angles: &'a [Angle],
}

impl Renumber for Appended<'_> {
    fn bit(&self, bit: u32) -> u32 {
        bit + self.first_bit
    }

    fn variable(&self, variable: VariableId) -> VariableId {
        variable.moved(self.first_variable)
    }

    fn angle(&self, angle: &Angle) -> Angle {
        angle.substitute(|id| self.angles[id.index()].clone())
    }
}

/// Angles for the parameters of a circuit.
struct Substituted<'a>(&'a [Angle]);

impl Renumber for Substituted<'_> {
    fn bit(&self, bit: u32) -> u32 {
        bit
    }

    fn variable(&self, variable: VariableId) -> VariableId {
        variable
    }

    fn angle(&self, angle: &Angle) -> Angle {
        angle.substitute(|id| self.0[id.index()].clone())
    }
}

/// Returns the placeholder of a parameter that is bound itself: not a finite angle, so that it is
/// refused later.
fn poisoned() -> Angle {
    Angle::rad(f64::NAN)
}
