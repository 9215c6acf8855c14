//! The variables of a circuit and where their exponents lie in a key; the binding of gates over
//! [`Exact`].
//!
//! A variable with unit u stands for `e^{i theta / u}`, where u is the least common denominator of
//! all that the circuit asks for. The fields are as wide as the circuit can fill them, twice over:
//! products of two amplitudes, such as probabilities, fit. Plain decimals are exact fractions of
//! one more variable, `e^{i / u}`: powers of it by different fractions are linearly independent
//! over the algebraic numbers (Lindemann-Weierstrass), so the form stays canonical. A decimal of
//! more than 12 digits is taken for a rounded real and refused.
//!
//! ```text
//! bit 127        m fields of roots of unity      odd roots       …     field 1    field 0
//! sign (clear)   e^{i pi j / 2^m}                zeta^w                exponents, two's complement, borrowing upwards
//! ```
//!
//! If angles are multiples of pi with an odd factor below, zeta is `e^{2 pi i / M}` for the
//! least common multiple M of those factors ([`OddRoots`]): a root of unity of any order is one of
//! an order `2^m` times a power of zeta.

use std::sync::Arc;

use num_complex::Complex;
use num_rational::Ratio;
use num_traits::CheckedMul;

use super::{Exact, ExactError, odd::OddRoots, reach::Reaches};
use crate::{
    circuit::{Circuit, CircuitError, Operation},
    gate::GateKind,
    param::{Angle, BindError, Binding, Decimal, ParamId, Q, widen},
    scalar::Real,
};

/// The ring, for people.
const RING: &str = "the exact ring";
/// Roots of unity of the order 2^30 at most, so angles down to pi / 2^29.
const MAX_FINE: u32 = 30;
/// The largest order of odd roots of unity.
const MAX_ODD: i128 = 1 << 20;
/// Entries of given matrices that are exact: whole multiples of 2^-20.
const MAX_HALVINGS: i32 = 20;

/// Exact fractions on the way to whole exponents.
type ExponentRatio = Ratio<i128>;

/// Position of the exponents of one variable within a key.
#[derive(Clone, Debug)]
pub(super) struct ExponentField {
    /// The parameter; `None` is one radian.
    pub(super) variable: Option<ParamId>,
    /// An exponent counts `1 / unit` of the variable.
    pub(super) unit: i64,
    pub(super) shift: u32,
    pub(super) width: u32,
}

/// The symbols of a circuit. As a [`Binding`] it turns its gates into matrices over [`Exact`].
///
/// ```
/// use ketgrad_core::{circuit::Circuit, exact::Symbols, simulate::Simulator};
///
/// let mut circuit = Circuit::new(1);
/// let theta = circuit.param("theta");
/// circuit.rx(0, &theta)?.rx(0, -theta)?;
/// // The same kernels as for floats; the two rotations cancel exactly.
/// let state = Simulator::new().run_bound(&circuit, &Symbols::new(&circuit)?)?;
/// assert_eq!(state.amplitudes()[0], 1.into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Symbols {
    circuit: Arc<Circuit>,
    /// Sorted by variable, one radian last.
    fields: Vec<ExponentField>,
    /// Roots of unity are above this bit: they are multiples of `e^{i pi / 2^(127 - roots)}`.
    roots: u32,
    /// Roots of odd order.
    odd: Option<OddRoots>,
}

impl Symbols {
    /// Collects the symbols of the gates of a circuit.
    ///
    /// # Errors
    /// [`ExactError::Outside`] for an angle that the ring does not hold,
    /// [`ExactError::TooManyAngles`] if the exponents do not fit in a key.
    pub fn new(circuit: &Circuit) -> Result<Symbols, ExactError> {
        Symbols::of_circuits(&[circuit])
    }

    /// Collects the symbols of the gates of several circuits over the same parameters, so that
    /// their numbers can be compared. There is at least one.
    pub(crate) fn of_circuits(circuits: &[&Circuit]) -> Result<Symbols, ExactError> {
        let mut plan = SymbolsPlan::default();
        let mut reaches = Reaches::default();
        let circuit = circuits[0];
        for pass in [SymbolsPlan::units as Note, SymbolsPlan::lengths] {
            for instruction in circuits.iter().flat_map(|c| c.instructions()) {
                let kind = match &instruction.operation {
                    Operation::Gate(gate) => gate.kind(),
                    // The angle is in it as in rotations about one letter, or beside it.
                    Operation::PauliRotation(_) => GateKind::RX,
                    _ => continue,
                };
                for (angle, reach) in instruction.operation.params().iter().zip(reaches.get(kind)?)
                {
                    let outside = || ExactError::outside(circuit, angle);
                    let parts = parts(angle).ok_or_else(outside)?;
                    pass(&mut plan, &parts, reach.as_fractions()).ok_or_else(outside)?;
                }
            }
        }
        plan.symbols(circuit)
    }

    /// Creates symbols from fields that are known to fit.
    pub(super) fn of_fields(fields: Vec<ExponentField>) -> Symbols {
        Symbols { circuit: Arc::new(Circuit::new(0)), fields, roots: 127 - MAX_FINE, odd: None }
    }

    /// Returns the circuit, whose parameters these are.
    #[must_use]
    pub fn circuit(&self) -> &Circuit {
        &self.circuit
    }

    /// Returns the parameters that occur in gates, by id.
    pub fn params(&self) -> impl Iterator<Item = ParamId> + '_ {
        self.fields.iter().filter_map(|f| f.variable)
    }

    /// Returns the values of all parameters, given those of the inputs.
    ///
    /// # Errors
    /// [`CircuitError`] if their number is wrong or one of them is not finite.
    #[doc(hidden)]
    pub fn values<T: Real>(&self, inputs: &[T]) -> Result<Vec<T>, CircuitError> {
        let values = self.circuit.param_values(inputs)?;
        let infinite = |value: &T| value.primal().is_some_and(|x| !x.is_finite());
        match values.iter().position(infinite) {
            None => Ok(values),
            Some(k) => {
                Err(CircuitError::NotFinite { angle: self.circuit.params()[k].name.clone() })
            }
        }
    }

    pub(super) fn fields(&self) -> &[ExponentField] {
        &self.fields
    }

    /// Returns the one form of a number: without roots of unity of odd order it has no other, with
    /// them what is computed has many. So two numbers are equal if and only if their reduced ones
    /// are the same. O(terms) without such roots.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, exact::Symbols, param::PI, simulate::Simulator};
    ///
    /// let mut circuit = Circuit::new(1);
    /// circuit.p(0, 2 * PI / 3)?.p(0, PI / 3)?.h(0)?.x(0)?.h(0)?;
    /// let symbols = Symbols::new(&circuit)?;
    /// let matrix = Simulator::new().matrix(&circuit, &symbols)?;
    /// assert_eq!(symbols.reduced(matrix[(1, 1)].clone()), 1.into()); // -e^{2 pi i/3} e^{i pi/3}
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn reduced(&self, number: Exact) -> Exact {
        match &self.odd {
            Some(odd) => odd.reduced(number),
            None => number,
        }
    }

    /// Returns a key as the angle, in turns of pi below 2, of its root of unity, and the exponents
    /// of the variables.
    pub(super) fn split(&self, key: u128) -> (ExponentRatio, impl Iterator<Item = i64> + '_) {
        let mut exponents = vec![0; self.fields.len()];
        let root = self.exponents(key, &mut exponents);
        (self.turns(root), exponents.into_iter())
    }

    /// Writes the exponents of a key, one for each field; what is left stands for the root of
    /// unity.
    pub(super) fn exponents(&self, mut key: u128, exponents: &mut [i64]) -> u128 {
        for (field, e) in self.fields.iter().zip(exponents) {
            *e = field.value(key);
            key = key.wrapping_sub(field.key(*e));
        }
        key
    }

    /// Returns the angle of a root of unity, in turns of pi.
    pub(super) fn turns(&self, root: u128) -> ExponentRatio {
        let (root, odd) = self.odd.as_ref().map_or((root, None), |odd| {
            let (power, rest) = odd.split(root);
            (rest, Some(ExponentRatio::new(2 * i128::from(power), i128::from(odd.order()))))
        });
        let turns = ExponentRatio::new((root >> self.roots) as i128, 1 << (127 - self.roots));
        let Some(odd) = odd else { return turns };
        let (turns, whole) = (turns + odd, ExponentRatio::from_integer(2));
        turns - (turns / whole).floor() * whole
    }

    /// Returns the key of a square root of a root of unity, if it has one.
    pub(super) fn half_turn(&self, root: &Exact) -> Option<u128> {
        let ([(key, c @ (1 | -1))], 0) = (root.terms(), root.roots()) else { return None };
        let whole = if *c < 0 { key | 1 << 127 } else { *key };
        if let Some(odd) = &self.odd {
            // Every power of a root of odd order is a square.
            let (power, rest) = odd.split(whole);
            let half = odd.key(odd.half(power));
            return (rest >> 1 & ((1 << self.roots) - 1) == 0)
                .then_some((rest >> 1).wrapping_add(half));
        }
        (whole >> 1 & ((1 << self.roots) - 1) == 0).then_some(whole >> 1)
    }

    /// Returns the key of `e^{i angle}`, if it has one.
    fn key(&self, angle: &Angle) -> Option<u128> {
        let parts = parts(angle)?;
        let (dyadic, odd) = separated(parts.pi)?;
        let mut key = root_key(dyadic, self.roots)?;
        if *odd.numer() != 0 {
            key = key.wrapping_add(self.odd.as_ref()?.key_of(odd)?);
        }
        for (variable, q) in parts.variables {
            let field = self.fields.iter().find(|f| f.variable == variable)?;
            let e = q.checked_mul(&ExponentRatio::from_integer(field.unit.into()))?;
            let e = i64::try_from(*e.numer()).ok().filter(|_| e.is_integer())?;
            if field.width < 63 && e.unsigned_abs() >> (field.width.saturating_sub(1)) != 0 {
                return None;
            }
            key = key.wrapping_add(field.key(e));
        }
        Some(key)
    }

    fn bound(&self, angle: &Angle) -> Result<Exact, BindError> {
        let outside = || BindError::NotInRing { ring: RING, angle: angle.clone() };
        self.key(angle).map(Exact::monomial).ok_or_else(outside)
    }
}

impl ExponentField {
    /// Returns the exponent in a key whose lower fields are 0.
    fn value(&self, key: u128) -> i64 {
        let up = 128 - self.width;
        // Two's complement of `width` bits, at most 64.
        ((key >> self.shift << up) as i128 >> up) as i64
    }

    /// Returns the summand that an exponent adds to a key.
    pub(super) fn key(&self, exponent: i64) -> u128 {
        (i128::from(exponent) as u128) << self.shift
    }
}

impl Binding<Exact> for Symbols {
    fn cis(&self, angle: &Angle) -> Result<Exact, BindError> {
        self.bound(angle)
    }
    fn half(&self) -> Exact {
        Exact::half()
    }
    fn sqrt_half(&self) -> Exact {
        Exact::sqrt_half()
    }
    fn number(&self, z: Complex<f64>) -> Result<Exact, BindError> {
        let outside = || BindError::NumberNotInRing { ring: RING, number: z };
        let part = |x: f64| {
            let scaled = x * f64::from(MAX_HALVINGS).exp2();
            let whole = scaled.fract() == 0.0 && scaled.abs() < f64::from(i32::MAX);
            whole.then(|| Exact::constant(scaled as i128, 2 * MAX_HALVINGS)).ok_or_else(outside)
        };
        Ok(part(z.re)? + part(z.im)? * self.bound(&Angle::pi(1, 2))?)
    }
}

/// An angle as exact fractions.
struct AngleParts {
    pi: Q,
    variables: Vec<(Option<ParamId>, ExponentRatio)>,
}

fn parts(angle: &Angle) -> Option<AngleParts> {
    if angle.rounding_bound() > 0.0 {
        return None;
    }
    let mut variables: Vec<_> = angle.terms().iter().map(|&(id, q)| (Some(id), widen(q))).collect();
    if angle.radian_part() != 0.0 {
        let short = Decimal::new(angle.radian_part()).filter(|d| d.is_short())?;
        variables.push((None, short.fraction()?));
    }
    Some(AngleParts { pi: angle.pi_part(), variables })
}

/// Splits `a = u / 2^k + 2 w / M` with an odd M, as `u / 2^k` and `w / M`, where w is as small as
/// it can be.
fn separated(a: Q) -> Option<(ExponentRatio, ExponentRatio)> {
    let (n, d) = (i128::from(*a.numer()), i128::from(*a.denom()));
    let fine = d.trailing_zeros();
    let m = d >> fine;
    // 2^(k + 1) w = n modulo M: 2 is a unit there, (M + 1) / 2 its inverse.
    let half = (m + 1) / 2;
    let mut w = n.rem_euclid(m);
    for _ in 0..=fine {
        w = w.checked_mul(half)? % m;
    }
    let w = if 2 * w > m { w - m } else { w };
    let u = n.checked_sub(w.checked_mul(2)?.checked_mul(1 << fine)?)? / m;
    Some((ExponentRatio::new(u, 1 << fine), ExponentRatio::new(w, m)))
}

/// Returns the key of `e^{i pi a}` with roots from this bit on, for a with a power of two below.
fn root_key(a: ExponentRatio, roots: u32) -> Option<u128> {
    let fine = a.denom().trailing_zeros();
    (fine <= 127 - roots).then(|| (*a.numer() as u128) << (127 - fine))
}

/// Requirements of a circuit, found in two passes: first the units, then how far the exponents go.
#[derive(Default)]
struct SymbolsPlan {
    /// Variable, unit, and the largest exponent in units.
    variables: Vec<(Option<ParamId>, i128, i128)>,
    /// The finest angle is pi / 2^fine.
    fine: u32,
    /// The order of the odd roots of unity; 0 without.
    odd: i128,
    /// The largest power of one, in roots of that order.
    power: i128,
}

/// One pass over an angle; `None` if it is outside the ring.
type Note = fn(&mut SymbolsPlan, &AngleParts, (i64, i64, i64)) -> Option<()>;

impl SymbolsPlan {
    fn units(&mut self, parts: &AngleParts, (_, step, steps): (i64, i64, i64)) -> Option<()> {
        let step = ExponentRatio::new(step.into(), steps.into());
        let pi = widen(parts.pi).checked_mul(&step)?;
        let fine = pi.denom().trailing_zeros();
        self.fine = self.fine.max(fine);
        let odd = pi.denom() >> fine;
        if odd > 1 {
            self.odd = lcm(self.odd.max(1), odd)?;
        }
        for (variable, q) in &parts.variables {
            let unit = *q.checked_mul(&step)?.denom();
            match self.variables.iter_mut().find(|v| v.0 == *variable) {
                Some(known) => known.1 = lcm(known.1, unit)?,
                None => self.variables.push((*variable, unit, 0)),
            }
        }
        let fits =
            fine <= MAX_FINE && self.odd <= MAX_ODD && self.variables.iter().all(|v| v.1 < 1 << 60);
        fits.then_some(())
    }

    fn lengths(&mut self, parts: &AngleParts, (most, step, steps): (i64, i64, i64)) -> Option<()> {
        if !(i128::from(*parts.pi.denom()) >> parts.pi.denom().trailing_zeros()).eq(&1) {
            // A power up to half the order for each step at most.
            let count = i128::from(most.checked_div(step).unwrap_or(0));
            self.power = self.power.checked_add(count.checked_mul(self.odd)?)?;
        }
        let most = ExponentRatio::new(most.into(), steps.into());
        for (variable, q) in &parts.variables {
            let known = self.variables.iter_mut().find(|v| v.0 == *variable)?;
            let length =
                q.checked_mul(&most)?.checked_mul(&ExponentRatio::from_integer(known.1))?;
            known.2 = known.2.checked_add(length.ceil().to_integer().abs())?;
        }
        Some(())
    }

    fn symbols(mut self, circuit: &Circuit) -> Result<Symbols, ExactError> {
        // One radian last.
        self.variables.sort_by_key(|v| (v.0.is_none(), v.0));
        // i and e^{i pi/4} are always there.
        let room = 127 - self.fine.max(2);
        let (mut fields, mut shift) = (Vec::new(), 0);
        for &(variable, unit, length) in &self.variables {
            // Twice the length to either side.
            let width = 130 - length.leading_zeros();
            // Units are below 2^60.
            fields.push(ExponentField {
                variable,
                unit: unit as i64,
                shift: shift.min(127),
                width: width.min(64),
            });
            shift += width;
            if width > 60 {
                shift = u32::MAX / 2;
                break;
            }
        }
        let mut odd = None;
        if self.odd > 1 {
            let width = 130 - self.power.leading_zeros();
            odd = Some(OddRoots::new(self.odd as u64, shift.min(127), width.min(64)));
            shift = shift.saturating_add(width);
        }
        if shift > room {
            return Err(ExactError::TooManyAngles {
                given: self.variables.len(),
                needed: shift,
                room,
            });
        }
        let mut names = Circuit::new(0);
        for param in circuit.params() {
            names.push_param(param.clone());
        }
        Ok(Symbols { circuit: Arc::new(names), fields, roots: room, odd })
    }
}

fn lcm(a: i128, b: i128) -> Option<i128> {
    // b / gcd(a, b), from a / b in lowest terms.
    a.checked_mul(*ExponentRatio::new(a, b).denom())
}
