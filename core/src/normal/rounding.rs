//! Running error analysis of first order: a bound on the rounding error of the value of an
//! expression.
//!
//! Each operation adds a few units in the last place of its result, and passes on the errors of its
//! operands, times its partial derivatives there, which dual numbers give. So a cancellation shows:
//! `(x + 1e9) - 1e9` has a bound of some 1e-7.

use std::collections::HashMap;

use num_dual::Dual64;
use num_traits::ToPrimitive;

use super::read::StraightLineProgram;
use crate::{
    entity::Value,
    ir::{InstData, Literal, Mixed, Op, Real1},
    scalar::Scalar,
};

/// Units in the last place that an operation may be off by, and as many for terms of the second
/// order.
const UNITS: f64 = 8.0;

/// A value, and by how much it may be off.
#[derive(Clone, Copy)]
pub(super) struct Bounded {
    pub(super) value: f64,
    pub(super) error: f64,
}

/// Returns the value where the inputs have these values by name; `None` where it is not finite on
/// the way, or an operation has no value in numbers.
pub(super) fn bounded(line: &StraightLineProgram, at: &[(&str, f64)]) -> Option<Bounded> {
    let mut known: HashMap<Value, Bounded> = HashMap::new();
    for (parameter, name) in line.params() {
        let value = at.iter().find(|(known, _)| known == name)?.1;
        known.insert(parameter, Bounded { value, error: 0.0 });
    }
    for (result, inst) in line.instructions() {
        let args: Option<Vec<Bounded>> = inst.args.iter().map(|a| known.get(a).copied()).collect();
        known.insert(result, operation(inst, &args?)?);
    }
    known.get(&line.result).copied()
}

fn operation(inst: &InstData, args: &[Bounded]) -> Option<Bounded> {
    let along = |k: usize| -> Option<Dual64> {
        let unit = |j: usize| f64::from(u8::from(j == k));
        let args: Vec<Dual64> =
            args.iter().enumerate().map(|(j, x)| Dual64::new(x.value, unit(j))).collect();
        value(inst.op, &args)
    };
    let value = along(args.len())?.re;
    // Constants are what they are.
    let mut error = if args.is_empty() { 0.0 } else { UNITS * f64::EPSILON * value.abs() };
    for (k, x) in args.iter().enumerate().filter(|(_, x)| x.error != 0.0) {
        error += along(k)?.eps.abs() * x.error;
    }
    (value.is_finite() && error.is_finite()).then_some(Bounded { value, error })
}

fn value(op: Op, args: &[Dual64]) -> Option<Dual64> {
    Some(match (op, args) {
        (Op::Real(Literal(x)), []) => Dual64::from(x),
        (Op::Int(n), []) => Dual64::from(n.to_f64()?),
        (Op::Mixed(Mixed::FromInt), [x]) => *x,
        (Op::Mixed(Mixed::PowiReal), [x, n]) => Scalar::powi(x, n.re.to_i64()?),
        (Op::Number1(f), [x]) => f.value(x),
        (Op::Number2(f), [x, y]) => f.value(x, y),
        // Near its zeros its error is beyond such units.
        (Op::Real1(Real1::Lgamma), _) => return None,
        (Op::Real1(f), [x]) => f.value(x).ok()?,
        (Op::Real2(f), [x, y]) => f.value(x, y).ok()?,
        _ => return None,
    })
}
