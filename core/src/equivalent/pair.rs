//! Two circuits over one list of parameters, their decimals made exact where they are.

use std::collections::BTreeSet;

use num_traits::ToPrimitive;

use super::{EquivalentError, Means, On, Report, Settings, Verdict};
use crate::{
    circuit::{Circuit, Instruction, Operation, ParamDef},
    gate::Gate,
    normal::Normal,
    param::{Angle, BindError, ParamExpr, ParamId, Q},
    simulate::{SimulateError, final_measurements},
    trace::Expr,
};

/// Digits up to which a decimal is the fraction that it says.
const SHORT: usize = 12;
/// Digits from which a decimal may be a rounded multiple of pi.
const TELLING: usize = 6;
/// Denominators of pi that are looked for.
const DENOMINATORS: i64 = 64;
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
    /// A decimal that is rounded.
    rounded: Option<f64>,
    notes: BTreeSet<String>,
    /// The parameters of both as expressions, as far as they were needed.
    values: Vec<Expr>,
    /// Computed parameters by their normal forms.
    known: Vec<(Normal, Angle)>,
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
            rounded: None,
            notes: BTreeSet::new(),
            values: Vec::new(),
            known: Vec::new(),
        };
        let gates = [pair.translate(a, &mut table, settings)?, pair.translate(b, &mut table, settings)?];
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
                Some(expr) => self.computed(table, expr.substitute(|id| angles[id.index()].clone())),
            });
        }
        let mut gates = Vec::with_capacity(circuit.instructions().len());
        for instruction in circuit.instructions() {
            let mut instruction = instruction.clone();
            match &mut instruction.operation {
                Operation::Gate(gate) => *gate = self.exact_gate(gate, &angles, settings, circuit)?,
                Operation::Unitary(_) => {}
                _ => continue,
            }
            self.rounding += ROUNDING_PER_GATE * if settings.single { SINGLE } else { 1.0 };
            gates.push(instruction);
        }
        Ok(gates)
    }

    /// A computed parameter; those of the same normal form are the same.
    fn computed(&mut self, table: &mut Circuit, expr: ParamExpr) -> Angle {
        for param in &table.params()[self.values.len()..] {
            let value = param.definition.as_ref().and_then(|e| e.evaluate(&self.values).ok());
            self.values.push(value.unwrap_or_else(|| Expr::symbol(&param.name)));
        }
        let normal = expr.evaluate(&self.values).ok().and_then(|e: Expr| e.normal().ok());
        if let Some((_, angle)) = self.known.iter().find(|(known, _)| Some(known) == normal.as_ref()) {
            return angle.clone();
        }
        let angle = table.expression(expr);
        self.known.extend(normal.map(|normal| (normal, angle.clone())));
        angle
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
            let angle = angle.substitute(|id| angles[id.index()].clone());
            self.exact_angle(angle, settings.snap)
        }))
    }

    /// Radians become a multiple of the first parameter, or of pi if they are to be snapped.
    fn exact_angle(&mut self, angle: Angle, snap: bool) -> Angle {
        let radians = angle.radian_part();
        if radians == 0.0 {
            return angle;
        }
        let decimal = Decimal::new(radians);
        if let Some(pi) = decimal.multiple_of_pi() {
            if snap {
                self.notes.insert(format!("{radians} is taken for {pi}"));
                return angle - radians + pi;
            }
            self.notes.insert(format!("{radians} looks like {pi}, but is not taken for it without snapping"));
        }
        match decimal.fraction() {
            Some(q) => angle - radians + Angle::theta(RADIAN) * q,
            None => {
                self.rounding += 0.5 * decimal.unit();
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
            format!(
                "the angle {x} has more than {SHORT} digits or no short fraction, so it is taken for rounded"
            )
        })
    }

    /// All gates.
    pub(super) fn instructions(&self) -> impl Iterator<Item = &Instruction> {
        self.circuits.iter().flat_map(Circuit::instructions)
    }

    /// Whether a gate uses a computed parameter.
    pub(super) fn has_computed(&self) -> bool {
        let params = self.circuits[0].params();
        self.instructions()
            .filter_map(|i| match &i.operation {
                Operation::Gate(gate) => Some(gate.params()),
                _ => None,
            })
            .flatten()
            .flat_map(Angle::terms)
            .any(|(id, _)| *id != RADIAN && params[id.index()].definition.is_some())
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

/// A finite number as the shortest decimal that reads back the same.
struct Decimal {
    value: f64,
    /// `digits 10^exponent`, without zeros at either end.
    digits: String,
    exponent: i32,
}

impl Decimal {
    fn new(value: f64) -> Decimal {
        let text = format!("{:e}", value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let digits = mantissa.replace('.', "");
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let places = i32::try_from(digits.len()).unwrap_or(i32::MAX) - 1;
        Decimal { value, digits, exponent: exponent - places }
    }

    /// The unit in the last place.
    fn unit(&self) -> f64 {
        10f64.powi(self.exponent)
    }

    /// The fraction, if the decimal is short and its parts are small.
    fn fraction(&self) -> Option<Q> {
        let places = u32::try_from(-self.exponent.min(0)).ok()?;
        let scale = u32::try_from(self.exponent.max(0)).ok()?;
        let digits: i64 = self.digits.parse().ok()?;
        if self.digits.len() > SHORT || places > 12 || scale > 5 || self.value.abs() > 1e6 {
            return None;
        }
        let sign = if self.value < 0.0 { -1 } else { 1 };
        Some(Q::new(sign * digits * 10i64.pow(scale), 10i64.pow(places)))
    }

    /// The multiple of pi with a small denominator that it is to all its digits.
    fn multiple_of_pi(&self) -> Option<Angle> {
        if self.digits.len() < TELLING || self.value.abs() > 1e3 {
            return None;
        }
        let turns = self.value / std::f64::consts::PI;
        let near = self.unit().max(4.0 * f64::EPSILON * self.value.abs());
        (1..=DENOMINATORS).chain((7..=20).map(|k| 1 << k)).find_map(|d| {
            let n = (turns * d.to_f64()?).round().to_i64()?;
            let angle = Angle::pi(n, d);
            let off = (angle.constant()? - self.value).abs();
            // A large denominator needs more digits to be told.
            let telling = d <= DENOMINATORS || self.digits.len() > SHORT;
            (n != 0 && off <= near && telling).then_some(angle)
        })
    }
}
