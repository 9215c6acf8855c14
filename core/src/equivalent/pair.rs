//! Two circuits over one list of parameters, their decimals made exact where they are.

use std::collections::BTreeSet;

use num_traits::ToPrimitive;

use super::{EquivalentError, Means, On, Report, Settings, Verdict};
use crate::{
    circuit::{Circuit, Instruction, Operation, ParamDef, param_id},
    gate::Gate,
    normal::{Basis, Combination, NormalError, Place},
    param::{Angle, BindError, Decimal, ParamExpr, ParamId, Q, SHORT_DECIMAL},
    scalar::Real,
    simulate::{SimulateError, final_measurements},
    trace::Expr,
};

/// The largest short decimal, and the finest, that has an exact image in fields.
const LARGEST_DECIMAL: f64 = 1e6;
const FINEST_DECIMAL: i128 = 10i128.pow(12);
/// The largest number in the factor of a computed parameter.
const LARGEST_FACTOR: i64 = 1000;
/// What rounding adds to the distance at most per gate: a few units of 2^-53 for each of its products.
const ROUNDING_PER_GATE: f64 = 4e-15;
/// How much coarser single precision is.
const SINGLE: f64 = (1u64 << 29) as f64;

/// The parameter that stands for one radian: always the first.
pub(super) const RADIAN: ParamId = ParamId(0);

/// Two circuits that can be compared.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) n_qubits: usize,
    /// Over the same parameters, without measurements.
    pub(super) circuits: [Circuit; 2],
    /// The half units in the last place of all decimals that are rounded, and the rounding of the gates.
    pub(super) rounding: f64,
    /// The first part of it: what is not known of the angles.
    pub(super) angle_rounding: f64,
    /// A decimal that is rounded.
    rounded: Option<f64>,
    notes: BTreeSet<String>,
    /// The parameters of both as expressions, as far as they were needed.
    values: Vec<Expr>,
    /// The normal forms of one radian, pi, inputs and computed parameters, and the angles that they are.
    basis: Basis,
    known: Vec<Angle>,
    /// Sums of them whose factors are too large for the arithmetic to come, and the parameters that stand for them.
    free: Vec<(Combination, Angle)>,
}

impl Pair {
    pub(super) fn new(a: &Circuit, b: &Circuit, settings: &Settings) -> Result<Pair, EquivalentError> {
        let n_qubits = a.n_qubits();
        if n_qubits != b.n_qubits() {
            return Err(EquivalentError::Qubits { left: n_qubits, right: b.n_qubits() });
        }
        match settings.on {
            On::Unitary { ancillas } if ancillas > n_qubits => {
                return Err(EquivalentError::Ancillas { given: ancillas, n_qubits });
            }
            _ => {}
        }
        if !(0.0..=2.0).contains(&settings.tolerance) {
            return Err(EquivalentError::Tolerance { given: settings.tolerance });
        }
        for (circuit, which) in [(a, "first"), (b, "second")] {
            final_measurements(circuit).map_err(|_| EquivalentError::Dynamic { which })?;
        }
        let mut table = Circuit::new(n_qubits);
        let one = ParamExpr::from(Angle::rad(1.0));
        table.push_param(ParamDef { name: "1".to_owned(), definition: Some(one) });
        let mut pair = Pair {
            n_qubits,
            circuits: [Circuit::new(0), Circuit::new(0)],
            rounding: 0.0,
            angle_rounding: 0.0,
            rounded: None,
            notes: BTreeSet::new(),
            values: Vec::new(),
            basis: Basis::default(),
            known: Vec::new(),
            free: Vec::new(),
        };
        pair.learn(&<Expr as Real>::pi(), Angle::pi(1, 1));
        let gates = [pair.translate(a, &mut table, settings)?, pair.translate(b, &mut table, settings)?];
        pair.rounding += pair.angle_rounding;
        pair.note_names(a, b);
        for (circuit, gates) in pair.circuits.iter_mut().zip(gates) {
            *circuit = table.clone();
            for instruction in gates {
                circuit.push(instruction).map_err(SimulateError::from)?;
            }
        }
        Ok(pair)
    }

    /// The gates of a circuit over the common parameters.
    fn translate(
        &mut self,
        circuit: &Circuit,
        table: &mut Circuit,
        settings: &Settings,
    ) -> Result<Vec<Instruction>, EquivalentError> {
        let mut angles: Vec<Angle> = Vec::with_capacity(circuit.params().len());
        for param in circuit.params() {
            angles.push(match &param.definition {
                None => table.param(&param.name),
                Some(expr) => self.computed(table, expr.substitute(|id| angles[id.index()].clone()))?,
            });
        }
        let mut gates = Vec::with_capacity(circuit.instructions().len());
        for instruction in circuit.instructions() {
            let operation = match &instruction.operation {
                Operation::Gate(gate) => Operation::Gate(self.exact_gate(gate, &angles, settings, circuit)?),
                unitary @ Operation::Unitary(_) => unitary.clone(),
                _ => continue,
            };
            self.rounding += ROUNDING_PER_GATE * if settings.single { SINGLE } else { 1.0 };
            let Instruction { targets, controls, condition, .. } = instruction;
            gates.push(Instruction {
                operation,
                targets: targets.clone(),
                controls: controls.clone(),
                condition: condition.clone(),
            });
        }
        Ok(gates)
    }

    /// Adds an angle to those of which computed parameters may be sums of multiples.
    fn learn(&mut self, value: &Expr, angle: Angle) {
        if let Ok(Ok(Place::New)) = value.normal().map(|normal| self.basis.place(&normal)) {
            self.known.push(angle);
        }
    }

    /// The sum of multiples of angles, if the factors are small.
    fn sum(&self, parts: &Combination) -> Option<Angle> {
        let small = |n: i128| i64::try_from(n).ok().filter(|n| n.abs() <= LARGEST_FACTOR);
        let mut sum = Angle::zero();
        for (&k, q) in parts {
            sum = sum + self.known.get(k)?.clone() * Q::new(small(*q.numer())?, small(*q.denom())?);
        }
        Some(sum)
    }

    /// A computed parameter. Those whose normal forms are rational combinations of others are such sums of angles:
    /// `-cos(a)`, or `cos(a) + sin(b)` where both are there, in any order.
    fn computed(&mut self, table: &mut Circuit, expr: ParamExpr) -> Result<Angle, EquivalentError> {
        for param in &table.params()[self.values.len()..] {
            let value = param.definition.as_ref().and_then(|e| e.evaluate(&self.values).ok());
            let value = value.unwrap_or_else(|| Expr::symbol(&param.name));
            let id = param_id(self.values.len());
            if param.definition.is_none() || id == RADIAN {
                self.learn(&value, Angle::theta(id));
            }
            self.values.push(value);
        }
        let normal = match expr.evaluate(&self.values).map(|e: Expr| e.normal()) {
            Ok(Err(NormalError::DivisionByZero)) => {
                return Err(EquivalentError::DivisionByZero { angle: expr.text(&|id| table.param_name(id)) });
            }
            other => other.ok().and_then(Result::ok),
        };
        let place = normal.and_then(|normal| self.basis.place(&normal).ok());
        if let Some(Place::Sum(parts)) = &place {
            let free = || self.free.iter().find(|(known, _)| known == parts).map(|(_, angle)| angle.clone());
            if let Some(angle) = self.sum(parts).or_else(free) {
                return Ok(angle);
            }
        }
        let angle = table.expression(expr);
        match place {
            Some(Place::New) => self.known.push(angle.clone()),
            Some(Place::Sum(parts)) => self.free.push((parts, angle.clone())),
            None => {}
        }
        Ok(angle)
    }

    fn exact_gate(
        &mut self,
        gate: &Gate,
        angles: &[Angle],
        settings: &Settings,
        circuit: &Circuit,
    ) -> Result<Gate, EquivalentError> {
        if let Some(angle) = gate.params().iter().find(|a| !a.radian_part().is_finite()) {
            let error = circuit.bind_error(BindError::NotFinite { angle: angle.clone() });
            return Err(SimulateError::from(error).into());
        }
        Ok(gate.map_params(|angle| {
            let angle = match angle.is_constant() {
                true => angle.clone(),
                false => angle.substitute(|id| angles[id.index()].clone()),
            };
            self.exact_angle(angle, settings.snap)
        }))
    }

    /// Radians become a multiple of the first parameter, or of pi if they are to be snapped.
    fn exact_angle(&mut self, angle: Angle, snap: bool) -> Angle {
        let radians = angle.radian_part();
        if radians == 0.0 {
            return angle;
        }
        // Angles that are not finite have been refused.
        let Some(decimal) = Decimal::new(radians) else { return angle };
        if let Some(pi) = decimal.multiple_of_pi() {
            if snap {
                self.notes.insert(format!("{radians} is taken for {pi}"));
                return angle - radians + pi;
            }
            self.notes.insert(format!("{radians} looks like {pi}, but is not taken for it without snapping"));
        }
        match short_fraction(&decimal, radians) {
            Some(q) => angle - radians + Angle::theta(RADIAN) * q,
            None => {
                self.angle_rounding += unknown(&decimal, radians);
                self.rounded = Some(radians);
                angle
            }
        }
    }

    fn note_names(&mut self, a: &Circuit, b: &Circuit) {
        let [left, right]: [BTreeSet<&str>; 2] = [a.inputs().collect(), b.inputs().collect()];
        for (only, which) in [(left.difference(&right), "first"), (right.difference(&left), "second")] {
            for name in only {
                self.notes.insert(format!("only the {which} circuit has the parameter `{name}`"));
            }
        }
    }

    /// Why no field can decide, if that is known already.
    pub(super) fn obstacle(&self) -> Option<String> {
        self.rounded.map(|x| {
            match Decimal::new(x).is_some_and(|decimal| decimal.n_digits() <= SHORT_DECIMAL) {
                true => format!("the angle {x} is too large or too fine to compute with exactly"),
                false => {
                    format!("the angle {x} has more than {SHORT_DECIMAL} digits, so it is taken for rounded")
                }
            }
        })
    }

    /// All gates.
    pub(super) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.circuits.iter().flat_map(Circuit::instructions)
    }

    /// The parameters in the angles of gates, as often as they occur.
    pub(super) fn used_params(&self) -> impl Iterator<Item = ParamId> + '_ {
        let gates = self.instructions().filter_map(|i| match &i.operation {
            Operation::Gate(gate) => Some(gate.params()),
            _ => None,
        });
        gates.flatten().flat_map(Angle::terms).map(|t| t.0)
    }

    /// Whether a gate uses a computed parameter.
    pub(super) fn has_computed(&self) -> bool {
        let params = self.circuits[0].params();
        self.used_params().any(|id| id != RADIAN && params[id.index()].definition.is_some())
    }

    /// A report that says nothing yet.
    pub(super) fn report(&self, method: Means, error_bound: f64) -> Report {
        Report {
            verdict: Verdict::Unknown,
            method,
            exact: false,
            error_bound,
            phase: None,
            witness: None,
            max_difference: None,
            reason: None,
            notes: self.notes.iter().cloned().collect(),
        }
    }
}

/// How far the number that was meant may be from the float: what the last of many digits leaves open; of few digits, what
/// the float does.
fn unknown(decimal: &Decimal, value: f64) -> f64 {
    const ALL_WHOLE: f64 = 1.0 / f64::EPSILON;
    if decimal.n_digits() > SHORT_DECIMAL {
        return 0.5 * decimal.unit();
    }
    let is_exact = value.fract() == 0.0 && value.abs() < ALL_WHOLE;
    if is_exact { 0.0 } else { 0.5 * f64::EPSILON * value.abs() }
}

/// The fraction that a decimal says, if it is short and its parts are small.
fn short_fraction(decimal: &Decimal, value: f64) -> Option<Q> {
    let q = decimal
        .fraction()
        .filter(|_| decimal.n_digits() <= SHORT_DECIMAL && value.abs() <= LARGEST_DECIMAL)?;
    let fine = *q.denom() <= FINEST_DECIMAL;
    fine.then(|| Some(Q::new(q.numer().to_i64()?, q.denom().to_i64()?))).flatten()
}
