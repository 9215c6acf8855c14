//! Two circuits over one list of parameters, their decimals made exact where they are.

use std::collections::BTreeSet;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use super::{EquivalenceReport, EquivalenceSettings, EquivalentError, Means, Verdict, rounding};
use crate::{
    circuit::{Circuit, Instruction, Operation, ParamDef, param_id},
    gate::Gate,
    normal::{BasisMembership, ExprExt, NormalError, RationalBasis, RationalCombination},
    param::{
        Angle, BindError, Decimal, ParamExpr, ParamId, Q, Rounded, SHORT_DECIMAL, Step, UNIT, widen,
    },
    scalar::Real,
    simulate::SimulateError,
    trace::Expr,
};

/// The largest short decimal, and the finest, that has an exact image in fields.
const LARGEST_DECIMAL: f64 = 1e6;
const FINEST_DECIMAL: i128 = 10i128.pow(12);
/// The largest number in the factor of a computed parameter.
const LARGEST_FACTOR: i64 = 1000;
/// Ratio of the rounding units of single and double precision.
const SINGLE: f64 = (1u64 << 29) as f64;

/// The parameter that stands for one radian: always the first.
pub(super) const RADIAN: ParamId = ParamId::new(0);

/// Two circuits that can be compared.
#[derive(Debug)]
pub(super) struct CircuitPair {
    pub(super) n_qubits: usize,
    /// Circuits over the same parameters, without measurements.
    pub(super) circuits: [Circuit; 2],
    /// Half a unit in the last place of 1 in the precision of numbers.
    unit: f64,
    /// Errors that the gates of each circuit add to its image in numbers, in units, but for that of
    /// their angles, which is in [`CircuitPair::angle_rounding_bound`].
    gates: [f64; 2],
    /// An angle that is rounded, or a number in one.
    rounded: Option<Angle>,
    notes: BTreeSet<String>,
    /// The parameters of both as expressions, as far as they were needed.
    values: Vec<Expr>,
    /// The normal forms of one radian, pi, inputs and computed parameters, and the angles that they
    /// are.
    basis: RationalBasis,
    known: Vec<Angle>,
    /// Sums of them whose factors are too large for the arithmetic to come, and the parameters that
    /// stand for them.
    free: Vec<(RationalCombination, Angle)>,
}

impl CircuitPair {
    /// Circuits of gates on equally many qubits.
    pub(super) fn new(
        a: &Circuit,
        b: &Circuit,
        settings: &EquivalenceSettings,
    ) -> Result<CircuitPair, EquivalentError> {
        let n_qubits = a.n_qubits();
        let mut table = Circuit::new(n_qubits);
        let one = ParamExpr::from(Angle::rad(1.0));
        table.push_param(ParamDef { name: "1".to_owned(), definition: Some(one) });
        let mut pair = CircuitPair {
            n_qubits,
            circuits: [Circuit::new(0), Circuit::new(0)],
            unit: if settings.single { UNIT * SINGLE } else { UNIT },
            gates: [0.0; 2],
            rounded: None,
            notes: BTreeSet::new(),
            values: Vec::new(),
            basis: RationalBasis::default(),
            known: Vec::new(),
            free: Vec::new(),
        };
        pair.learn(&<Expr as Real>::pi(), Angle::pi(1, 1));
        let gates =
            [pair.translate(a, &mut table, settings)?, pair.translate(b, &mut table, settings)?];
        pair.note_names(a, b);
        let of_gate = |instruction: &Instruction| {
            let kind = match &instruction.operation {
                Operation::Gate(gate) => Some(gate.kind()),
                _ => None,
            };
            rounding::of_gate(kind, instruction.targets.len())
        };
        let units = |gates: &Vec<Instruction>| gates.iter().map(of_gate).sum();
        pair.gates = gates.each_ref().map(units);
        for (circuit, gates) in pair.circuits.iter_mut().zip(gates) {
            *circuit = table.clone();
            for instruction in gates {
                circuit.push(instruction).map_err(SimulateError::from)?;
            }
        }
        pair.rounded = pair.rounded_angle();
        Ok(pair)
    }

    /// Returns the gates of a circuit over the common parameters.
    fn translate(
        &mut self,
        circuit: &Circuit,
        table: &mut Circuit,
        settings: &EquivalenceSettings,
    ) -> Result<Vec<Instruction>, EquivalentError> {
        let mut angles: Vec<Angle> = Vec::with_capacity(circuit.params().len());
        for param in circuit.params() {
            angles.push(match &param.definition {
                None => table.param(&param.name),
                Some(expr) => {
                    let expr = expr.substitute(|id| angles[id.index()].clone());
                    let expr = expr.map_angles(|angle| self.snapped(angle, settings.snap));
                    self.computed(table, expr)?
                }
            });
        }
        let mut gates = Vec::with_capacity(circuit.instructions().len());
        for instruction in circuit.decomposed().instructions() {
            let operation = match &instruction.operation {
                Operation::Gate(gate) => {
                    Operation::Gate(self.exact_gate(gate, &angles, settings, circuit, table)?)
                }
                unitary @ Operation::Unitary(_) => unitary.clone(),
                _ => continue,
            };
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
        if let Ok(Ok(BasisMembership::Independent)) =
            value.normal().map(|normal| self.basis.express_or_insert(&normal))
        {
            self.known.push(angle);
        }
    }

    /// Returns the sum of multiples of angles, if the factors are small.
    fn sum(&self, parts: &RationalCombination) -> Option<Angle> {
        let small = |n: &BigInt| n.to_i64().filter(|n| n.abs() <= LARGEST_FACTOR);
        let mut sum = Angle::zero();
        for (&k, q) in parts {
            sum = sum + self.known.get(k)?.clone() * Q::new(small(q.numer())?, small(q.denom())?);
        }
        Some(sum)
    }

    /// Returns a computed parameter. Those whose normal forms are rational combinations of others
    /// are such sums of angles: `-cos(a)`, or `cos(a) + sin(b)` where both occur, in any order.
    fn computed(&mut self, table: &mut Circuit, expr: ParamExpr) -> Result<Angle, EquivalentError> {
        for param in &table.params()[self.values.len()..] {
            let id = param_id(self.values.len());
            // A rounded number is a number of its own.
            let own = || Expr::symbol(&format!("computed_{}", id.number()));
            let value = param.definition.as_ref().and_then(|e| match e.angles().any(is_vague) {
                true => Some(own()),
                false if id == RADIAN => e.evaluate(&[]).ok(),
                false => exact(e).evaluate(&self.values).ok(),
            });
            let value = value.unwrap_or_else(|| Expr::symbol(&param.name));
            if param.definition.is_none() || id == RADIAN {
                self.learn(&value, Angle::theta(id));
            }
            self.values.push(value);
        }
        // A rounded number is no number to calculate with exactly.
        let vague = expr.angles().any(is_vague);
        let normal = match exact(&expr).evaluate(&self.values).map(|e: Expr| e.normal()) {
            Ok(Err(NormalError::DivisionByZero)) => {
                return Err(EquivalentError::DivisionByZero {
                    angle: expr.text(&|id| table.param_name(id)),
                });
            }
            other => other.ok().and_then(Result::ok).filter(|_| !vague),
        };
        let place = normal.and_then(|normal| self.basis.express_or_insert(&normal).ok());
        if let Some(BasisMembership::Dependent(parts)) = &place {
            let free = || {
                self.free.iter().find(|(known, _)| known == parts).map(|(_, angle)| angle.clone())
            };
            if let Some(angle) = self.sum(parts).or_else(free) {
                return Ok(angle);
            }
        }
        let angle = table.expression(expr);
        match place {
            Some(BasisMembership::Independent) => self.known.push(angle.clone()),
            Some(BasisMembership::Dependent(parts)) => self.free.push((parts, angle.clone())),
            None => {}
        }
        Ok(angle)
    }

    fn exact_gate(
        &mut self,
        gate: &Gate,
        angles: &[Angle],
        settings: &EquivalenceSettings,
        circuit: &Circuit,
        table: &mut Circuit,
    ) -> Result<Gate, EquivalentError> {
        if let Some(angle) = gate.params().iter().find(|a| !a.radian_part().is_finite()) {
            let error = circuit.bind_error(BindError::NotFinite { angle: angle.clone() });
            return Err(SimulateError::from(error).into());
        }
        let mut failed = None;
        let gate = gate.map_params(|angle| {
            let angle = match angle.is_constant() {
                true => angle.clone(),
                false => angle.substitute(|id| angles[id.index()].clone()),
            };
            let angle = self.snapped(&angle, settings.snap);
            exact_angle(if settings.snap {
                self.snapped_factors(angle, table, &mut failed)
            } else {
                angle
            })
        });
        failed.map_or(Ok(gate), Err)
    }

    /// Radians that are to all digits a multiple of pi become that if they are to be snapped.
    fn snapped(&mut self, angle: &Angle, snap: bool) -> Angle {
        let radians = angle.radian_part();
        let pi = if radians == 0.0 {
            None
        } else {
            Decimal::new(radians).and_then(|d| d.multiple_of_pi())
        };
        match pi {
            Some(pi) if snap => {
                self.notes.insert(format!("{radians} is taken for {pi}"));
                angle.without_radians() + pi
            }
            Some(pi) => {
                let note =
                    format!("{radians} looks like {pi}, but is not taken for it without snapping");
                self.notes.insert(note);
                angle.clone()
            }
            None => angle.clone(),
        }
    }

    /// Snaps the factors of parameters: `3.141593*a` becomes a computed parameter `pi*a`.
    fn snapped_factors(
        &mut self,
        angle: Angle,
        table: &mut Circuit,
        failed: &mut Option<EquivalentError>,
    ) -> Angle {
        let decimal = |q: Q| {
            let x = q.to_f64()?;
            Some((x, Decimal::new(x).filter(|d| d.fraction() == Some(widen(q)))?.multiple_of_pi()?))
        };
        let Some((id, q, (x, pi))) =
            angle.terms().iter().find_map(|&(id, q)| Some((id, q, decimal(q)?)))
        else {
            return angle;
        };
        self.notes.insert(format!("{x} is taken for {pi}"));
        let product = ParamExpr::from(pi).binary(Step::Mul, Angle::theta(id).into());
        match self.computed(table, product) {
            // One factor less that is no multiple of pi.
            Ok(product) => {
                self.snapped_factors(angle - Angle::theta(id) * q + product, table, failed)
            }
            Err(e) => {
                *failed = Some(e);
                angle
            }
        }
    }

    fn note_names(&mut self, a: &Circuit, b: &Circuit) {
        let [left, right]: [BTreeSet<&str>; 2] = [a.inputs().collect(), b.inputs().collect()];
        for (only, which) in
            [(left.difference(&right), "first"), (right.difference(&left), "second")]
        {
            for name in only {
                self.notes.insert(format!("only the {which} circuit has the parameter `{name}`"));
            }
        }
    }

    /// Returns the reason why no field can decide, if it is known already.
    pub(super) fn obstacle(&self) -> Option<String> {
        self.rounded.as_ref().map(|angle| {
            let (x, text) = (angle.radian_part(), self.circuits[0].angle_text(angle));
            match Decimal::new(x).is_some_and(|decimal| decimal.is_short()) {
                true if angle.rounding_bound() > 0.0 => {
                    format!("the angle {text} was rounded from numbers of more digits")
                }
                true => format!("the angle {x} is too large or too fine to compute with exactly"),
                false => {
                    format!("the angle {x} has more than {SHORT_DECIMAL} digits, so it is taken for rounded")
                }
            }
        })
    }

    /// Returns an angle of a gate, or in a computed parameter of one, that is not known exactly.
    fn rounded_angle(&self) -> Option<Angle> {
        let params = self.circuits[0].params();
        let mut used = vec![false; params.len()];
        self.used_params().for_each(|id| used[id.index()] = true);
        // Definitions are over parameters before them.
        for k in (0..params.len()).rev().filter(|k| *k != RADIAN.index()) {
            let Some(definition) = params[k].definition.as_ref().filter(|_| used[k]) else {
                continue;
            };
            if let Some(angle) = definition.angles().find(|angle| is_vague(angle)) {
                return Some(angle.clone());
            }
            definition.params().for_each(|id| used[id.index()] = true);
        }
        let mut angles = self.gates().flat_map(Gate::params);
        angles.find(|angle| angle.radian_part() != 0.0 || angle.rounding_bound() > 0.0).cloned()
    }

    /// Bounds the sum of the errors of the angles of all gates: what is not known of their
    /// decimals, and what the precision of numbers leaves of products and sums with parameters of
    /// these values. The distance is off by no more, since no angle rotates a vector faster.
    pub(super) fn angle_rounding_bound(&self, inputs: &[f64]) -> f64 {
        let params = self.circuits[0].params();
        let mut inputs = inputs.iter().copied();
        let mut values: Vec<Rounded> = Vec::with_capacity(params.len());
        for param in params {
            values.push(match &param.definition {
                None => Rounded::exact(inputs.next().unwrap_or_default()),
                Some(expr) => Rounded::expression(expr, &values),
            });
        }
        if self.unit > UNIT {
            let single =
                |x: f64| x.to_f32().map_or(f64::INFINITY, |near| (f64::from(near) - x).abs());
            values.iter_mut().for_each(|value| *value = value.off(single(value.value)));
        }
        self.gates().map(|gate| self.gate_rounding_bound(gate, &values)).sum()
    }

    fn gate_rounding_bound(&self, gate: &Gate, values: &[Rounded]) -> f64 {
        let of_angle = |angle: &Angle| {
            let angle = angle.within_two_turns();
            let whole = Rounded::angle(&angle, values);
            // In single precision nearly everything is rounded once more, and every part of a sum.
            let parts = angle.terms().len() + usize::from(*angle.pi_part().numer() != 0);
            let parts = parts + usize::from(angle.radian_part() != 0.0);
            let sizes = Rounded::sizes(&angle, values);
            let coarse = if self.unit > UNIT { 3.0 * self.unit * sizes } else { 0.0 };
            let sums = if parts > 1 {
                parts.to_f64().unwrap_or(f64::INFINITY) * self.unit * sizes
            } else {
                0.0
            };
            (whole.error + coarse + sums, sizes)
        };
        let (errors, sizes) = gate
            .params()
            .iter()
            .map(of_angle)
            .fold((0.0, 0.0), |sum, x| (sum.0 + x.0, sum.1 + x.1));
        // Gates with several angles add them.
        errors + if gate.params().len() > 1 { 2.0 * self.unit * sizes } else { 0.0 }
    }

    /// Error of the distance of two images by rounding, at most, but for that of the angles.
    /// `planned` is what plans measured of their own error.
    pub(super) fn rounding(&self, planned: [f64; 2]) -> f64 {
        rounding::of_images(self.gates, self.unit, planned) + rounding::of_reading(self.n_qubits)
    }

    fn gates(&self) -> impl Iterator<Item = &Gate> {
        self.instructions().filter_map(|i| match &i.operation {
            Operation::Gate(gate) => Some(gate),
            _ => None,
        })
    }

    /// Returns all gates.
    pub(super) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.circuits.iter().flat_map(Circuit::instructions)
    }

    /// Returns the parameters in the angles of gates, as often as they occur.
    pub(super) fn used_params(&self) -> impl Iterator<Item = ParamId> + '_ {
        self.gates().flat_map(Gate::params).flat_map(Angle::terms).map(|t| t.0)
    }

    /// Returns true if a gate uses a computed parameter.
    pub(super) fn has_computed(&self) -> bool {
        let params = self.circuits[0].params();
        self.used_params().any(|id| id != RADIAN && params[id.index()].definition.is_some())
    }

    /// Returns a report that says nothing yet.
    pub(super) fn report(&self, method: Means, error_bound: f64) -> EquivalenceReport {
        EquivalenceReport {
            verdict: Verdict::Unknown,
            method,
            exact: false,
            error_bound,
            phase: None,
            witness: None,
            by_readout: false,
            max_difference: None,
            reason: None,
            notes: self.notes.iter().cloned().collect(),
        }
    }
}

/// Returns true if an angle within a computed parameter is no number to calculate with exactly.
fn is_vague(angle: &Angle) -> bool {
    let short = || Decimal::new(angle.radian_part()).is_some_and(|d| d.is_short());
    angle.rounding_bound() > 0.0 || (angle.radian_part() != 0.0 && !short())
}

/// Returns an expression whose short decimals are fractions, for normal forms, which know no
/// others.
fn exact(expr: &ParamExpr) -> ParamExpr {
    expr.map_angles(|angle| exact_angle(angle.clone()))
}

/// Radians become a multiple of the first parameter, unless they are rounded.
fn exact_angle(angle: Angle) -> Angle {
    let radians = angle.radian_part();
    if radians == 0.0 || angle.rounding_bound() > 0.0 {
        return angle;
    }
    // Angles that are not finite have been refused.
    let fraction = Decimal::new(radians).and_then(|decimal| short_fraction(&decimal, radians));
    fraction.map_or_else(|| angle.clone(), |q| angle.without_radians() + Angle::theta(RADIAN) * q)
}

/// Returns the fraction that a decimal says, if it is short and its parts are small.
fn short_fraction(decimal: &Decimal, value: f64) -> Option<Q> {
    let q = decimal.fraction().filter(|_| decimal.is_short() && value.abs() <= LARGEST_DECIMAL)?;
    let fine = *q.denom() <= FINEST_DECIMAL;
    fine.then(|| Some(Q::new(q.numer().to_i64()?, q.denom().to_i64()?))).flatten()
}
