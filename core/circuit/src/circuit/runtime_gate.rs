//! Gates whose angles are computed when the gate runs, from classical variables and bits.

use std::collections::HashSet;

use super::{
    BitRange, Circuit, CircuitError, ClassicalAssignment, ClassicalTarget, ForValues, Operation,
    display::Names,
};
use crate::{
    classical::{
        ClassicalExpr, ClassicalType, PendingExpr, ReadMemory, ReadPlace, Renumber, ScalarVariable,
        VariableId,
    },
    gate::{Gate, GateKind},
    param::{Angle, ParamId},
};

/// Angle of a gate: known before the run, up to parameters, or computed when the gate runs.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, classical::ClassicalType};
/// let mut c = Circuit::new(1);
/// let t = c.add_variable("t", ClassicalType::FLOAT)?;
/// let half = c.value_of(t)? / 2;
/// c.rx(0, 0.5)?.rz(0, -half)?;
/// assert_eq!(c.to_string(), "rx(0.5) q[0]\nrz(-(t / 2.0)) q[0]\n");
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum GateAngle {
    /// An angle over parameters.
    Angle(Angle),
    /// The value of an expression when the gate runs: a float or an integer is in radians, and an
    /// `angle[n]` is that fraction of a turn.
    Expr(PendingExpr),
}

impl<T: Into<Angle>> From<T> for GateAngle {
    fn from(angle: T) -> GateAngle {
        GateAngle::Angle(angle.into())
    }
}

macro_rules! expressions {
    ($($T:ty)*) => {$(
        /// The value when the gate runs.
        impl From<$T> for GateAngle {
            fn from(expr: $T) -> GateAngle {
                GateAngle::Expr(expr.into())
            }
        }

        /// The value when the gate runs.
        impl From<&$T> for GateAngle {
            fn from(expr: &$T) -> GateAngle {
                GateAngle::Expr(expr.clone().into())
            }
        }
    )*};
}
expressions! { ClassicalExpr PendingExpr ScalarVariable BitRange }

/// A gate of the table with an angle that is computed when the gate runs.
#[derive(Clone, Debug, PartialEq)]
pub struct RuntimeGate {
    /// The gate, with 0 in place of the computed angles.
    gate: Gate,
    /// The expressions of the computed angles, of which there is one at least. Each has a type of
    /// floats or of angles.
    exprs: Box<[Option<ClassicalExpr>]>,
}

impl Operation {
    /// Returns a gate of the table with these angles: an [`Operation::Gate`] if they are known
    /// before the run, up to parameters, and an [`Operation::RuntimeGate`] otherwise.
    ///
    /// # Errors
    /// [`CircuitError::Params`] for the wrong number of angles, [`CircuitError::Classical`] for an
    /// expression without a meaning, or one that is no real number or angle.
    pub fn gate(
        kind: GateKind,
        angles: impl IntoIterator<Item = GateAngle>,
    ) -> Result<Operation, CircuitError> {
        let (mut known, mut exprs) = (Vec::new(), Vec::new());
        for angle in angles {
            let (angle, expr) = match angle {
                GateAngle::Angle(angle) => (angle, None),
                GateAngle::Expr(expr) => parts(angle_valued(expr.into_result()?)?),
            };
            known.push(angle);
            exprs.push(expr);
        }
        Ok(RuntimeGate::operation(Gate::new(kind, known)?, exprs))
    }
}

/// Returns an expression as a float or an `angle[n]`.
fn angle_valued(expr: ClassicalExpr) -> Result<ClassicalExpr, CircuitError> {
    match expr.ty() {
        Some(ClassicalType::Angle(_) | ClassicalType::Float(_)) => Ok(expr),
        _ => Ok(expr.cast(ClassicalType::FLOAT)?),
    }
}

/// Returns the angle of an expression that is known before the run; for others 0 and the
/// expression.
fn parts(expr: ClassicalExpr) -> (Angle, Option<ClassicalExpr>) {
    match expr.known_angle() {
        Some(angle) => (angle, None),
        None => (Angle::zero(), Some(expr)),
    }
}

impl RuntimeGate {
    fn operation(gate: Gate, exprs: Vec<Option<ClassicalExpr>>) -> Operation {
        match exprs.iter().all(Option::is_none) {
            true => Operation::Gate(gate),
            false => Operation::RuntimeGate(Box::new(RuntimeGate { gate, exprs: exprs.into() })),
        }
    }

    /// Returns the row of the gate table.
    #[must_use]
    pub fn kind(&self) -> GateKind {
        self.gate.kind()
    }

    /// The angles, 0 in place of those that are computed.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        self.gate.params()
    }

    /// The expressions of the angles that are computed; `None` for the others.
    #[must_use]
    pub fn exprs(&self) -> &[Option<ClassicalExpr>] {
        &self.exprs
    }

    /// Returns the gate with each angle replaced, but for those that are computed.
    #[must_use]
    pub fn map_params(&self, mut f: impl FnMut(&Angle) -> Angle) -> RuntimeGate {
        let params = self.params().iter().zip(&self.exprs).map(|(angle, expr)| {
            let mapped = f(angle);
            if expr.is_none() { mapped } else { Angle::zero() }
        });
        let mut params = params.collect::<Vec<_>>().into_iter();
        let gate = self.gate.map_params(|_| params.next().unwrap_or_default());
        RuntimeGate { gate, exprs: self.exprs.clone() }
    }

    /// Returns the gate of the table that it is, given what its expressions read.
    ///
    /// # Errors
    /// The number of the angle that is NaN or infinite, and its value.
    pub fn gate_at(&self, memory: &dyn ReadMemory) -> Result<Gate, (usize, f64)> {
        let mut wrong = None;
        let mut exprs = self.exprs.iter().enumerate();
        let gate = self.gate.map_params(|known| match exprs.next() {
            Some((k, Some(expr))) => {
                let angle = expr.angle_at(memory);
                let value = angle.constant().filter(|value| !value.is_finite());
                wrong = wrong.or(value.map(|value| (k, value)));
                angle
            }
            _ => known.clone(),
        });
        wrong.map_or(Ok(gate), Err)
    }

    /// Returns the gate with a parameter in place of each angle: parameter k for angle k.
    #[doc(hidden)]
    #[must_use]
    pub fn with_placeholders(&self) -> Gate {
        let mut ids = (0..).map(ParamId::new);
        self.gate.map_params(|_| ids.next().map(Angle::theta).unwrap_or_default())
    }

    /// Returns a gate over the [placeholders](Self::with_placeholders) with the angles of this one
    /// in their place.
    #[doc(hidden)]
    #[must_use]
    pub fn in_place_of(&self, placeholders: &Gate) -> Operation {
        let is_computed = |id: ParamId| self.exprs.get(id.index()).is_some_and(Option::is_some);
        // The angles that are computed apart from the others.
        let of_angle = |angle: &Angle| {
            let rest = angle.substitute(|id| match is_computed(id) {
                true => Angle::zero(),
                false => self.params().get(id.index()).cloned().unwrap_or_default(),
            });
            let terms = angle
                .terms()
                .iter()
                .filter_map(|&(id, factor)| Some((factor, self.exprs.get(id.index())?.as_ref()?)));
            match ClassicalExpr::angle_sum(terms, &rest) {
                None => (rest, None),
                Some(sum) => parts(sum),
            }
        };
        let (known, exprs): (Vec<_>, Vec<_>) = placeholders.params().iter().map(of_angle).unzip();
        let mut known = known.into_iter();
        let gate = placeholders.map_params(|_| known.next().unwrap_or_default());
        RuntimeGate::operation(gate, exprs)
    }

    /// The inverse.
    pub(super) fn dagger(&self) -> Operation {
        self.in_place_of(&self.with_placeholders().dagger())
    }

    /// Calls a function with every place that the expressions read.
    pub(super) fn for_each_place(&self, f: &mut dyn FnMut(ReadPlace<'_>)) {
        self.exprs.iter().flatten().for_each(|expr| expr.for_each_place(f));
    }

    /// Returns the gate that reads other places.
    pub(super) fn renumbered(&self, to: &dyn Renumber) -> Operation {
        let renumbered = |expr: &ClassicalExpr| parts(expr.renumbered(to).folded());
        let of_angle = |(angle, expr): (&Angle, &Option<ClassicalExpr>)| match expr {
            Some(expr) => renumbered(expr),
            None => (angle.clone(), None),
        };
        let (known, exprs): (Vec<_>, Vec<_>) =
            self.params().iter().zip(&self.exprs).map(of_angle).unzip();
        let mut known = known.into_iter();
        RuntimeGate::operation(self.gate.map_params(|_| known.next().unwrap_or_default()), exprs)
    }
}

/// Angles that are computed when gates run, and what they depend on.
impl Circuit {
    /// Appends a gate of the table whose angles may be computed when it runs, with controls. The
    /// methods of its name do the same: `c.rz(0, expr)`.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{ClassicalExpr, ClassicalType}, gate::GateKind};
    /// let mut c = Circuit::new(2);
    /// let phase = c.add_variable("phase", ClassicalType::Angle(8))?;
    /// let angle = c.value_of(phase)?;
    /// c.gate_of(GateKind::P, [angle.into()], &[1], &[(0, true)])?;
    /// assert_eq!(c.to_string(), "cp(phase) q[0], q[1]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Operation::gate`] and [`Circuit::push`].
    pub fn gate_of(
        &mut self,
        kind: GateKind,
        angles: impl IntoIterator<Item = GateAngle>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::gate(kind, angles)?, targets, controls)
    }

    /// Returns the text of an angle of a gate, with the names of this circuit.
    #[doc(hidden)]
    #[must_use]
    pub fn runtime_angle_text(&self, gate: &RuntimeGate, k: usize) -> String {
        match (gate.exprs.get(k), gate.params().get(k)) {
            (Some(Some(expr)), _) => expr.text(&Names(self)),
            (_, Some(angle)) => self.angle_text(angle),
            _ => String::new(),
        }
    }

    /// Returns for each instruction true if a value that it computes may become a part of the angle
    /// of a gate, through variables that hold fractions: a derivative by what it reads would have
    /// to go through that value. Empty if no gate has such an angle.
    #[doc(hidden)]
    #[must_use]
    pub fn feeds_angles(&self) -> Vec<bool> {
        let is_runtime = |operation: &Operation| matches!(operation, Operation::RuntimeGate(_));
        if !self.instructions().iter().any(|i| is_runtime(&i.operation)) {
            return Vec::new();
        }
        let mut variables: HashSet<VariableId> = HashSet::new();
        let feeds = |operation: &Operation, variables: &HashSet<VariableId>| {
            let is_read = || operation.written_variable().is_some_and(|id| variables.contains(&id));
            is_runtime(operation) || is_read()
        };
        // Until all variables are known that others are computed from.
        loop {
            let before = variables.len();
            for operation in self.instructions().iter().map(|i| &i.operation) {
                if feeds(operation, &variables) {
                    for_each_value(operation, &mut |expr| {
                        expr.for_each_place(&mut |place| {
                            if let ReadPlace::Variable(id) = place
                                && self.holds_fractions(id)
                            {
                                variables.insert(id);
                            }
                        });
                    });
                }
            }
            if variables.len() == before {
                break;
            }
        }
        self.instructions().iter().map(|i| feeds(&i.operation, &variables)).collect()
    }

    /// Returns the first angle over parameters that a gate depends on through expressions that are
    /// evaluated during the run, which carry no derivatives.
    #[doc(hidden)]
    #[must_use]
    pub fn runtime_parameter(&self) -> Option<Angle> {
        let feeds = self.feeds_angles();
        let mut operations =
            self.instructions().iter().zip(feeds).filter(|(_, feeds)| *feeds).map(|(i, _)| i);
        operations.find_map(|i| i.operation.value_angles().into_iter().next())
    }

    /// Returns true if a variable holds numbers with fractions.
    fn holds_fractions(&self, id: VariableId) -> bool {
        self.variables().get(id.index()).is_some_and(|variable| {
            matches!(
                variable.ty.scalar,
                ClassicalType::Float(_) | ClassicalType::Complex(_) | ClassicalType::Angle(_)
            )
        })
    }
}

impl Operation {
    /// Returns the angles over parameters in the values that it computes.
    #[doc(hidden)]
    #[must_use]
    pub fn value_angles(&self) -> Vec<Angle> {
        let mut angles = Vec::new();
        for_each_value(self, &mut |expr| {
            expr.for_each_place(&mut |place| {
                if let ReadPlace::Angle(angle) = place {
                    angles.push(angle.clone());
                }
            });
        });
        angles
    }
}

/// Calls a function with the expressions of the values that an operation computes; not with
/// indices and conditions.
fn for_each_value<'o>(operation: &'o Operation, f: &mut dyn FnMut(&'o ClassicalExpr)) {
    match operation {
        Operation::RuntimeGate(gate) => gate.exprs.iter().flatten().for_each(f),
        Operation::Store(assignment) => {
            let ClassicalAssignment { target, value } = &**assignment;
            if matches!(target, ClassicalTarget::Variable(_) | ClassicalTarget::Element(..)) {
                f(value);
            }
        }
        Operation::For { over, .. } => {
            if let ForValues::List(values) = &over.values {
                values.iter().for_each(f);
            }
        }
        _ => {}
    }
}
