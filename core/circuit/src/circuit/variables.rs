//! Classical variables of a circuit: declarations, values in expressions, assignments.

use std::sync::Arc;

use super::{
    BitRange, Circuit, CircuitError, ClassicalAssignment, ClassicalTarget, ForHeader, ForValues,
    Operation,
};
use crate::classical::{
    ClassicalExpr, ClassicalType, ClassicalVariable, IntType, MAX_WIDTH, PendingExpr, ReadPlace,
    ScalarVariable, VariableId, VariableType,
};

/// Limit on the words of 64 bits that all variables of a circuit have together: 128 MiB.
const MAX_WORDS: usize = 1 << 24;

impl Circuit {
    /// The classical variables in order of declaration; a [`VariableId`] is a position in this
    /// list.
    #[must_use]
    pub fn variables(&self) -> &[ClassicalVariable] {
        &self.variables
    }

    /// Declares a classical variable, which is 0 at first.
    ///
    /// # Errors
    /// [`CircuitError::DuplicateRegister`] if the name is taken,
    /// [`CircuitError::Classical`] for a type that does not exist,
    /// [`CircuitError::VariableSize`] if all variables together have more than 2^24 words of 64
    /// bits, 128 MiB.
    pub fn add_variable(
        &mut self,
        name: &str,
        ty: impl Into<VariableType>,
    ) -> Result<VariableId, CircuitError> {
        self.declare_variable(name, ty.into(), false)
    }

    /// Declares a variable for intermediate values, which is no result: where outcomes are shown it
    /// is left out, and in OpenQASM 3 it is not an output.
    ///
    /// # Errors
    /// Those of [`Circuit::add_variable`].
    pub fn hidden_variable(
        &mut self,
        name: &str,
        ty: impl Into<VariableType>,
    ) -> Result<VariableId, CircuitError> {
        self.declare_variable(name, ty.into(), true)
    }

    fn declare_variable(
        &mut self,
        name: &str,
        ty: VariableType,
        hidden: bool,
    ) -> Result<VariableId, CircuitError> {
        if self.classical_names().any(|taken| taken == name) {
            return Err(CircuitError::DuplicateRegister { name: name.to_owned() });
        }
        ty.check()?;
        let others = self.variables.iter().map(|variable| variable.ty.words());
        let words = others.fold(ty.words(), usize::saturating_add);
        if words > MAX_WORDS {
            return Err(CircuitError::VariableSize { name: name.to_owned() });
        }
        let id = VariableId::new(u32::try_from(self.variables.len()).unwrap_or(u32::MAX));
        self.variables.push(ClassicalVariable { name: name.to_owned(), ty, hidden });
        Ok(id)
    }

    fn variable(&self, id: VariableId) -> Result<&ClassicalVariable, CircuitError> {
        let n_variables = self.variables.len();
        self.variables
            .get(id.index())
            .ok_or(CircuitError::NoSuchVariable { given: id.index(), n_variables })
    }

    /// The value of a variable, for expressions.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchVariable`], [`CircuitError::Indices`] for an array.
    pub fn value_of(&self, id: VariableId) -> Result<ClassicalExpr, CircuitError> {
        let ty = self.scalar_type(id, 0)?;
        Ok(ClassicalExpr::variable(id, ty))
    }

    /// Returns a variable with its type, for formulas: see [`PendingExpr`].
    ///
    /// # Errors
    /// Those of [`Circuit::value_of`].
    pub fn scalar(&self, id: VariableId) -> Result<ScalarVariable, CircuitError> {
        Ok(ScalarVariable::new(id, self.scalar_type(id, 0)?))
    }

    /// The element of an array at an index for each axis, negative ones counting from the end; 0
    /// outside of it.
    ///
    /// # Errors
    /// [`CircuitError::NoSuchVariable`], [`CircuitError::Indices`] for another number of indices,
    /// or one that is no integer.
    pub fn element_of(
        &self,
        id: VariableId,
        indices: impl IntoIterator<Item = ClassicalExpr>,
    ) -> Result<ClassicalExpr, CircuitError> {
        let indices: Vec<ClassicalExpr> = indices.into_iter().collect();
        let ty = self.scalar_type(id, indices.len())?;
        let variable = self.variable(id)?;
        let wrong = CircuitError::Indices {
            name: variable.name.clone(),
            given: indices.len(),
            expected: variable.ty.shape.len(),
        };
        ClassicalExpr::element(id, (ty, &variable.ty.shape), indices).ok_or(wrong)
    }

    /// An index of an array.
    fn index(&self, index: ClassicalExpr, of: VariableId) -> Result<ClassicalExpr, CircuitError> {
        let VariableType { shape, .. } = &self.variable(of)?.ty;
        let (name, expected) = (self.variable(of)?.name.clone(), shape.len());
        let wrong = CircuitError::Indices { name, given: expected, expected };
        index.into_index().ok_or(wrong)
    }

    /// The type of the values of a variable, which takes that many indices.
    fn scalar_type(&self, id: VariableId, given: usize) -> Result<ClassicalType, CircuitError> {
        let variable = self.variable(id)?;
        let expected = variable.ty.shape.len();
        match given == expected {
            true => Ok(variable.ty.scalar),
            false => Err(CircuitError::Indices { name: variable.name.clone(), given, expected }),
        }
    }

    /// Assigns the value of an expression to a variable, converted to its type.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{Arithmetic, ClassicalType, IntType}};
    /// let mut c = Circuit::new(1);
    /// let n = c.add_variable("n", ClassicalType::Int(IntType::unsigned(8)))?;
    /// let next = c.value_of(n)?.binary(Arithmetic::Add, 1)?;
    /// c.store(n, next)?;
    /// assert_eq!(c.to_string(), "n = n + 1\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// [`CircuitError`] if the variable is an array or does not exist, the value cannot be
    /// converted to its type or reads what does not exist.
    pub fn store(
        &mut self,
        id: impl Into<VariableId>,
        value: impl Into<PendingExpr>,
    ) -> Result<&mut Circuit, CircuitError> {
        let id = id.into();
        let ty = self.scalar_type(id, 0)?;
        let value = value.into().into_result()?.assigned_to(ty)?;
        self.assignment(ClassicalTarget::Variable(id), value)
    }

    /// Assigns to an element of an array; outside of it nothing is written.
    ///
    /// # Errors
    /// Those of [`Circuit::store`], and of [`Circuit::element_of`].
    pub fn store_element(
        &mut self,
        id: VariableId,
        indices: impl IntoIterator<Item = ClassicalExpr>,
        value: impl Into<PendingExpr>,
    ) -> Result<&mut Circuit, CircuitError> {
        let indices: Vec<ClassicalExpr> = indices.into_iter().collect();
        let ty = self.scalar_type(id, indices.len())?;
        let indices = indices.into_iter().map(|index| self.index(index, id));
        let indices = indices.collect::<Result<Vec<_>, _>>()?;
        self.assignment(
            ClassicalTarget::Element(id, indices),
            value.into().into_result()?.assigned_to(ty)?,
        )
    }

    /// Assigns the bits of a value to classical bits, as many as there are.
    ///
    /// # Errors
    /// [`CircuitError`] if a bit does not exist or the value has another number of bits.
    pub fn store_bits(
        &mut self,
        bits: BitRange,
        value: impl Into<PendingExpr>,
    ) -> Result<&mut Circuit, CircuitError> {
        let bits = bits.range().map(|bit| u32::try_from(bit).map_err(|_| self.no_such_bit(bit)));
        let bits: Box<[u32]> = bits.collect::<Result<_, _>>()?;
        let ty = ClassicalType::Bits(u32::try_from(bits.len()).unwrap_or(u32::MAX));
        self.assignment(ClassicalTarget::Bits(bits), value.into().into_result()?.assigned_to(ty)?)
    }

    /// Assigns to one of some classical bits, by its index, negative ones counting from the end;
    /// outside nothing is written.
    ///
    /// # Errors
    /// [`CircuitError`] if a bit does not exist, the index is no integer or the value no bit.
    pub fn store_bit(
        &mut self,
        bits: &[u32],
        index: ClassicalExpr,
        value: impl Into<PendingExpr>,
    ) -> Result<&mut Circuit, CircuitError> {
        let expected = ClassicalType::Int(IntType::signed(MAX_WIDTH));
        let wrong = CircuitError::AssignedType { given: given_type(index.ty()), expected };
        let target = ClassicalTarget::BitAt(bits.into(), index.into_index().ok_or(wrong)?);
        self.assignment(target, value.into().into_result()?.assigned_to(ClassicalType::Bits(1))?)
    }

    fn assignment(
        &mut self,
        target: ClassicalTarget,
        value: ClassicalExpr,
    ) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Store(Arc::new(ClassicalAssignment { target, value })), &[], &[])
    }

    /// Returns an error for the first place that does not exist, of those that `each` names.
    pub(super) fn check_places(
        &self,
        each: impl FnOnce(&mut dyn FnMut(ReadPlace<'_>)),
    ) -> Result<(), CircuitError> {
        let mut result = Ok(());
        each(&mut |place| {
            if result.is_ok() {
                result = match place {
                    ReadPlace::Bit(bit) if bit as usize >= self.n_bits => {
                        Err(self.no_such_bit(bit as usize))
                    }
                    ReadPlace::Bit(_) => Ok(()),
                    ReadPlace::Variable(id) => self.variable(id).map(|_| ()),
                    ReadPlace::Angle(angle) => {
                        angle.terms().iter().try_for_each(|term| self.own(term.0))
                    }
                };
            }
        });
        result
    }

    /// Checks what an assignment reads and writes.
    pub(super) fn check_assignment(
        &self,
        assignment: &ClassicalAssignment,
    ) -> Result<(), CircuitError> {
        let ClassicalAssignment { target, value } = assignment;
        self.check_places(|f| value.for_each_place(f))?;
        let given = value.ty();
        let expected = match target {
            ClassicalTarget::Bits(bits) => {
                ClassicalType::Bits(u32::try_from(bits.len()).unwrap_or(u32::MAX))
            }
            ClassicalTarget::BitAt(_, index) => {
                self.check_places(|f| index.for_each_place(f))?;
                check_index(index)?;
                ClassicalType::Bits(1)
            }
            ClassicalTarget::Variable(id) => self.scalar_type(*id, 0)?,
            ClassicalTarget::Element(id, indices) => {
                indices.iter().try_for_each(|i| self.check_places(|f| i.for_each_place(f)))?;
                indices.iter().try_for_each(check_index)?;
                self.scalar_type(*id, indices.len())?
            }
        };
        match given == Some(expected) {
            true => Ok(()),
            false => Err(CircuitError::AssignedType { given: given_type(given), expected }),
        }
    }

    /// Checks the variable of a loop and its values.
    pub(super) fn check_loop(&self, over: &ForHeader) -> Result<(), CircuitError> {
        let ty = self.scalar_type(over.variable, 0)?;
        let is_integer = matches!(ty, ClassicalType::Int(_));
        let values: Vec<&ClassicalExpr> = match &over.values {
            ForValues::Range { .. } if !is_integer => {
                let name = self.variable(over.variable)?.name.clone();
                return Err(CircuitError::LoopVariable { name, given: ty });
            }
            ForValues::Range { start, step, end } => vec![start, step, end],
            ForValues::List(values) => values.iter().collect(),
        };
        values.into_iter().try_for_each(|value| value.clone().cast(ty).map(|_| ()))?;
        Ok(())
    }
}

/// Checks that an index has the type that assignments evaluate.
fn check_index(index: &ClassicalExpr) -> Result<(), CircuitError> {
    let expected = ClassicalType::Int(IntType::signed(MAX_WIDTH));
    match index.ty() {
        Some(ty) if ty == expected => Ok(()),
        ty => Err(CircuitError::AssignedType { given: given_type(ty), expected }),
    }
}

/// A type in an error.
fn given_type(ty: Option<ClassicalType>) -> String {
    ty.map_or_else(|| "an integer without a type".to_owned(), |ty| ty.to_string())
}
