//! Variables in the memory of a run.
//!
//! A variable is known as long as its value does not depend on what the circuit measures; nothing
//! is written then. Where paths meet that left it with different values, or an iteration of a loop
//! may change it, each path writes its value first, and from there on reads come from memory.
//!
//! Invariant: a variable in the state `Known` has a value without run-time parts, and what its
//! place in memory holds does not matter; in the state `Stored` memory has its value.

use std::rc::Rc;

use super::{
    Lower, LoweredItem, Planned, QasmLowering, QasmValue,
    classical::Classical,
    runtime,
    select::AxisSelection,
    variables::{QasmVariable, VariableState},
};
use crate::{
    circuit::Circuit,
    classical::{ClassicalExpr, ClassicalType, FloatType, IntType, VariableId, VariableType},
    qasm::{
        ast::{BaseType, FileSpan, InternedName, QasmSpan, Type},
        diagnostic::QasmProblem,
    },
};

/// Place of a variable in memory.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    pub(super) id: VariableId,
    /// The name in the file, and true for a variable of the file itself, which is a result.
    pub(super) name: InternedName,
    pub(super) is_global: bool,
    pub(super) is_output: bool,
    /// Where it is declared, and the number of calls around: another variable of the same
    /// declaration uses the place after it.
    declared: (FileSpan, usize),
}

/// Variables in memory.
#[derive(Clone, Debug, Default)]
pub(super) struct VariableStore {
    pub(super) slots: Vec<Slot>,
    /// A circuit with these variables alone: it makes the expressions that read them.
    circuit: Circuit,
    /// Arrays of constants, and their places.
    pub(super) tables: Vec<(Rc<[QasmValue]>, VariableId)>,
}

impl VariableStore {
    pub(super) fn types(&self) -> impl Iterator<Item = (&Slot, &VariableType)> {
        self.slots.iter().zip(self.circuit.variables().iter().map(|variable| &variable.ty))
    }

    pub(super) fn has_outputs(&self) -> bool {
        self.slots.iter().any(|slot| slot.is_output)
    }

    /// The value of a variable.
    fn read(&self, id: VariableId) -> Result<ClassicalExpr, QasmProblem> {
        self.circuit.value_of(id).map_err(circuit_problem)
    }

    /// The element of an array at some indices.
    pub(super) fn element(
        &self,
        id: VariableId,
        indices: Vec<ClassicalExpr>,
    ) -> Result<ClassicalExpr, QasmProblem> {
        self.circuit.element_of(id, indices).map_err(circuit_problem)
    }

    /// Makes a variable an output.
    pub(super) fn set_output(&mut self, id: VariableId) {
        if let Some(slot) = self.slots.get_mut(id.index()) {
            slot.is_output = true;
        }
    }

    /// The number of axes of a variable.
    pub(super) fn rank(&self, id: VariableId) -> Option<usize> {
        self.ty(id).map(|ty| ty.shape.len())
    }

    fn ty(&self, id: VariableId) -> Option<&VariableType> {
        self.circuit.variables().get(id.index()).map(|variable| &variable.ty)
    }
}

pub(super) fn circuit_problem(error: crate::circuit::CircuitError) -> QasmProblem {
    QasmProblem::Circuit { reason: error.to_string() }
}

impl QasmLowering<'_> {
    /// Returns true if variables that depend on measurements are kept in memory.
    pub(super) fn has_memory(&self) -> bool {
        self.options.variables
    }

    /// The type of the values of a variable; `None` for one that a circuit has not.
    pub(super) fn scalar_type(&mut self, ty: &Type) -> Lower<Option<ClassicalType>> {
        let size = match &ty.size {
            Some(size) => u32::try_from(self.integer(size, "the width of a type")?).ok(),
            None => None,
        };
        Ok(match ty.base {
            BaseType::Bool => Some(ClassicalType::Bool),
            BaseType::Bit => Some(ClassicalType::Bits(size.unwrap_or(1))),
            BaseType::Int => Some(ClassicalType::Int(IntType::signed(size.unwrap_or(32)))),
            BaseType::Uint => Some(ClassicalType::Int(IntType::unsigned(size.unwrap_or(32)))),
            BaseType::Angle => Some(ClassicalType::Angle(size.unwrap_or(runtime::ANGLE))),
            BaseType::Float => match size {
                Some(32) => Some(ClassicalType::Float(FloatType::F32)),
                Some(..64) => None,
                _ => Some(ClassicalType::FLOAT),
            },
            BaseType::Complex => Some(ClassicalType::Complex(FloatType::F64)),
            BaseType::Qubit | BaseType::Duration | BaseType::Stretch => None,
        })
    }

    /// The type of a variable in memory.
    fn memory_type(
        &mut self,
        id: usize,
        value: Option<&QasmValue>,
        span: QasmSpan,
    ) -> Lower<VariableType> {
        let ty = Rc::clone(&self.variables[id].ty);
        let Some(scalar) = self.scalar_type(&ty)? else {
            let what = format!("`{}` where a measurement decides it", self.name_of(id));
            return self.refuse(&what, span);
        };
        let mut shape = Vec::new();
        let known = match &self.variables[id].state {
            VariableState::Known(known) => Some(known),
            _ => None,
        };
        match (&ty.dims, value.or(known)) {
            // The parameter of a subroutine has the sizes of what it is given.
            (Some(_), Some(value @ QasmValue::Array(_))) => {
                let mut part = Some(value);
                while let Some(QasmValue::Array(items)) = part {
                    shape.push(u32::try_from(items.len()).unwrap_or(u32::MAX));
                    part = items.first();
                }
            }
            (Some(dims), _) => {
                for dim in dims {
                    let size = self.integer(dim, "the size of an array")?;
                    shape.push(u32::try_from(size).unwrap_or(u32::MAX));
                }
            }
            (None, _) => {}
        }
        Ok(VariableType::array(scalar, &shape))
    }

    /// Returns the place of a variable in memory, which it gets now if it has none.
    pub(super) fn slot(&mut self, id: usize, span: QasmSpan) -> Lower<VariableId> {
        self.slot_of(id, None, span)
    }

    /// Returns the place of a variable that is to get a value.
    fn slot_of(
        &mut self,
        id: usize,
        value: Option<&QasmValue>,
        span: QasmSpan,
    ) -> Lower<VariableId> {
        let QasmVariable { name, place, is_global, is_output, slot, .. } = self.variables[id];
        if let Some(slot) = slot {
            return Ok(slot);
        }
        let ty = self.memory_type(id, value, span)?;
        let declared = (place, self.results.len());
        let known = self.memory.slots.iter().find(|slot| {
            slot.declared == declared && self.memory.ty(slot.id) == Some(&ty) && !is_global
        });
        let slot = match known {
            Some(slot) => slot.id,
            None => {
                let number = self.memory.slots.len();
                let added = self.memory.circuit.add_variable(&format!("v{number}"), ty);
                let slot = self.check(added.map_err(circuit_problem), span)?;
                let all = Slot { id: slot, name, is_global, is_output, declared };
                self.memory.slots.push(all);
                slot
            }
        };
        self.variables[id].slot = Some(slot);
        Ok(slot)
    }

    /// Declares the variables of a circuit.
    pub(super) fn declare_memory(
        &mut self,
        circuit: &mut Circuit,
    ) -> Result<(), (QasmProblem, FileSpan)> {
        let has_outputs = self.memory.has_outputs() || self.bits.iter().any(|bits| bits.output);
        for (slot, ty) in self.memory.types() {
            let text = self.interner.name(slot.name);
            let shown = if has_outputs { slot.is_output } else { slot.is_global };
            let is_taken = |name: &str| {
                circuit.registers().iter().any(|register| register.name == name)
                    || circuit.variables().iter().any(|variable| variable.name == name)
            };
            let names = (1u64..).map(|k| format!("{text}_{k}"));
            let free = std::iter::once(text.to_owned()).chain(names).find(|name| !is_taken(name));
            let name = free.unwrap_or_default();
            let added = match shown {
                true => circuit.add_variable(&name, ty.clone()),
                false => circuit.hidden_variable(&name, ty.clone()),
            };
            added.map_err(|error| (circuit_problem(error), slot.declared.0))?;
        }
        Ok(())
    }

    /// What writes the arrays of constants.
    pub(super) fn tables(&mut self) -> Vec<Planned> {
        let plan = std::mem::take(&mut self.plan);
        for (items, slot) in std::mem::take(&mut self.memory.tables) {
            let span = QasmSpan::default();
            let _ = self.write_all(slot, &QasmValue::Array(items), &mut Vec::new(), span);
        }
        std::mem::replace(&mut self.plan, plan)
    }

    /// Returns the place of an array of constants, which is written before all else.
    pub(super) fn table(
        &mut self,
        items: &Rc<[QasmValue]>,
        ty: VariableType,
        span: QasmSpan,
    ) -> Lower<VariableId> {
        let known = self.memory.tables.iter().find(|(known, _)| Rc::ptr_eq(known, items));
        if let Some((_, slot)) = known {
            return Ok(*slot);
        }
        let id = self.add_slot("table", ty, (self.file_span(span), usize::MAX))?;
        self.memory.tables.push((items.clone(), id));
        Ok(id)
    }

    /// Keeps the value of an expression in a variable of its own; returns what reads that.
    pub(super) fn kept_value(
        &mut self,
        expr: ClassicalExpr,
        span: QasmSpan,
    ) -> Lower<ClassicalExpr> {
        let Some(scalar) = expr.ty() else { return Ok(expr) };
        let declared = (self.file_span(span), self.results.len());
        let ty = VariableType::from(scalar);
        let known = self
            .memory
            .slots
            .iter()
            .find(|slot| slot.declared == declared && self.memory.ty(slot.id) == Some(&ty));
        let id = match known {
            Some(slot) => slot.id,
            None => self.add_slot("index", ty, declared)?,
        };
        self.write(id, Vec::new(), QasmValue::Runtime(Box::new(expr)), span)?;
        let value = self.memory.read(id);
        self.check(value, span)
    }

    /// Adds a variable that is no result.
    fn add_slot(
        &mut self,
        name: &str,
        ty: VariableType,
        declared: (FileSpan, usize),
    ) -> Lower<VariableId> {
        let number = self.memory.slots.len();
        let added = self.memory.circuit.add_variable(&format!("v{number}"), ty);
        let id = self.check(added.map_err(circuit_problem), declared.0.span)?;
        let name = self.interner.intern(name);
        self.memory.slots.push(Slot { id, name, is_global: false, is_output: false, declared });
        Ok(id)
    }

    /// Writes a known value of a variable to memory, from where it is read from now on.
    pub(super) fn flush(&mut self, id: usize, span: QasmSpan) -> Lower<()> {
        let state = self.variables[id].state.clone();
        if matches!(state, VariableState::Stored) {
            return Ok(());
        }
        let at = self.plan.len();
        self.write_state(id, &state, at, span)?;
        self.set(id, VariableState::Stored);
        Ok(())
    }

    /// Inserts into the plan what writes the value that a variable has in a state. Returns the
    /// number of items.
    pub(super) fn write_state(
        &mut self,
        id: usize,
        state: &VariableState,
        at: usize,
        span: QasmSpan,
    ) -> Lower<usize> {
        let value = match state {
            VariableState::Known(value) => value.clone(),
            // Memory is 0 at first, but a place may have been used before.
            VariableState::Empty => {
                let slot = self.slot(id, span)?;
                match self.memory.ty(slot) {
                    Some(ty) if ty.shape.is_empty() => {
                        runtime::value(ClassicalExpr::constant(ty.scalar, 0))
                    }
                    _ => return Ok(0),
                }
            }
            _ => return Ok(0),
        };
        let slot = self.slot(id, span)?;
        let tail = self.plan.split_off(at);
        let written = self.write_all(slot, &value, &mut Vec::new(), span);
        let more = self.plan.len() - at;
        self.plan.extend(tail);
        written.map(|()| more)
    }

    /// Inserts into the plan what writes the change from one state to another. Returns the number
    /// of items.
    pub(super) fn write_change(
        &mut self,
        id: usize,
        [before, after]: [&VariableState; 2],
        at: usize,
        span: QasmSpan,
    ) -> Lower<usize> {
        let (VariableState::Known(old), VariableState::Known(new)) = (before, after) else {
            return match before == after {
                true => Ok(0),
                false => self.write_state(id, after, at, span),
            };
        };
        let slot = self.slot(id, span)?;
        let tail = self.plan.split_off(at);
        let written = self.write_changes(slot, [old, new], &mut Vec::new(), span);
        let more = self.plan.len() - at;
        self.plan.extend(tail);
        written.map(|()| more)
    }

    fn write_changes(
        &mut self,
        slot: VariableId,
        [old, new]: [&QasmValue; 2],
        indices: &mut Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<()> {
        match (old, new) {
            _ if old == new => Ok(()),
            (QasmValue::Array(old), QasmValue::Array(new)) if old.len() == new.len() => {
                for (at, (old, new)) in (0i128..).zip(old.iter().zip(new.iter())) {
                    indices.push(ClassicalExpr::literal(at));
                    self.write_changes(slot, [old, new], indices, span)?;
                    indices.pop();
                }
                Ok(())
            }
            _ => self.write_all(slot, new, indices, span),
        }
    }

    /// Writes a value, or all elements of an array.
    fn write_all(
        &mut self,
        slot: VariableId,
        value: &QasmValue,
        indices: &mut Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<()> {
        if let QasmValue::Array(items) = value {
            for (at, item) in (0i128..).zip(items.iter()) {
                indices.push(ClassicalExpr::literal(at));
                self.write_all(slot, item, indices, span)?;
                indices.pop();
            }
            return Ok(());
        }
        self.write(slot, indices.clone(), value.clone(), span)
    }

    /// Writes a value to a place in memory: a variable, or an element of an array.
    pub(super) fn write(
        &mut self,
        slot: VariableId,
        indices: Vec<ClassicalExpr>,
        value: QasmValue,
        span: QasmSpan,
    ) -> Lower<()> {
        let scalar = self.memory.ty(slot).map_or(ClassicalType::Bool, |ty| ty.scalar);
        let value = runtime::expr(value)
            .and_then(|expr| expr.assigned_to(scalar).map_err(runtime::problem));
        let value = self.check(value, span)?;
        self.add_count(1, span);
        if self.passed.is_none() {
            let place = self.file_span(span);
            let item = LoweredItem::Write { slot, indices, value: Box::new(value), place };
            // Branches with it are blocks: no condition of its own.
            self.plan.push(Planned { item, guard: None });
        }
        Ok(())
    }

    /// The value of a variable in memory: for an array that of all elements.
    pub(super) fn read_variable(&mut self, id: usize, span: QasmSpan) -> Lower<QasmValue> {
        let slot = self.slot(id, span)?;
        let shape = self.memory.ty(slot).map(|ty| ty.shape.clone()).unwrap_or_default();
        if shape.is_empty() {
            let expr = self.memory.read(slot);
            return self.check(expr, span).map(runtime::value);
        }
        let all = shape.iter().fold(1u64, |n, &size| n.saturating_mul(u64::from(size)));
        self.spend_elements(all.saturating_mul(super::declare::ELEMENT), span)?;
        self.read_part(slot, &shape, &mut Vec::new(), span)
    }

    fn read_part(
        &mut self,
        slot: VariableId,
        shape: &[u32],
        indices: &mut Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<QasmValue> {
        let Some((&size, rest)) = shape.split_first() else {
            let element = self.memory.element(slot, indices.clone());
            return self.check(element, span).map(runtime::value);
        };
        let mut items = Vec::with_capacity(size as usize);
        for at in 0..size {
            indices.push(ClassicalExpr::literal(i128::from(at)));
            items.push(self.read_part(slot, rest, indices, span)?);
            indices.pop();
        }
        Ok(QasmValue::Array(items.into()))
    }

    /// Returns a value of an expression that may be a number in bits, as one value.
    pub(super) fn valued(&mut self, value: Classical, span: QasmSpan) -> Lower<QasmValue> {
        let expr = match value {
            Classical::Value(value) => return Ok(value),
            Classical::BitVector { bits, ty: None, .. } => {
                ClassicalExpr::bits(&bits).map_err(runtime::problem)
            }
            Classical::Truth(condition) => runtime::of_condition(&condition),
            Classical::Digits { .. } => {
                let what = "an integer of this length".to_owned();
                return self.fail(QasmProblem::IntegerOverflow { what }, span);
            }
            _ => return self.refuse("this value", span),
        };
        self.check(expr, span).map(runtime::value)
    }

    /// `name = value` for a variable that may be in memory.
    pub(super) fn assign_value(
        &mut self,
        id: usize,
        value: Classical,
        span: QasmSpan,
    ) -> Lower<()> {
        let ty = Rc::clone(&self.variables[id].ty);
        let value = self.valued(value, span)?;
        let value = self.cast(&ty, value, span)?;
        if !value.is_runtime() {
            self.set(id, VariableState::Known(value));
            return Ok(());
        }
        self.store_value(id, &value, span)
    }

    /// Writes a value that is known only when the circuit runs to the place of a variable.
    pub(super) fn store_value(
        &mut self,
        id: usize,
        value: &QasmValue,
        span: QasmSpan,
    ) -> Lower<()> {
        let slot = self.slot_of(id, Some(value), span)?;
        self.write_all(slot, value, &mut Vec::new(), span)?;
        self.set(id, VariableState::Stored);
        Ok(())
    }

    /// Assigns to elements at known places of an array in memory.
    pub(super) fn assign_elements(
        &mut self,
        id: usize,
        places: &[AxisSelection],
        value: &QasmValue,
        span: QasmSpan,
    ) -> Lower<()> {
        let slot = self.slot(id, span)?;
        self.write_places(slot, places, value, &mut Vec::new(), span)
    }

    fn write_places(
        &mut self,
        slot: VariableId,
        places: &[AxisSelection],
        value: &QasmValue,
        indices: &mut Vec<ClassicalExpr>,
        span: QasmSpan,
    ) -> Lower<()> {
        let Some((first, rest)) = places.split_first() else {
            return self.write_all(slot, value, indices, span);
        };
        let index = |at: usize| ClassicalExpr::literal(i128::try_from(at).unwrap_or(i128::MAX));
        match first {
            AxisSelection::One(at) => {
                indices.push(index(*at));
                self.write_places(slot, rest, value, indices, span)?;
                indices.pop();
            }
            AxisSelection::Many(many) => {
                let QasmValue::Array(items) = value else {
                    let (given, expected) = (value.describe().to_owned(), "an array".to_owned());
                    return self.fail(QasmProblem::WrongType { given, expected }, span);
                };
                if items.len() != many.len() {
                    let (first, second) = (items.len() as u64, many.len() as u64);
                    return self.fail(QasmProblem::LengthMismatch { first, second }, span);
                }
                for (&at, item) in many.iter().zip(items.iter()) {
                    indices.push(index(at));
                    self.write_places(slot, rest, item, indices, span)?;
                    indices.pop();
                }
            }
        }
        Ok(())
    }
}
