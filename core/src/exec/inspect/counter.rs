//! Which operations ran, and how often.

use std::{collections::BTreeMap, fmt};

use crate::{
    ir::{InstData, Kind, Number2, Op},
    scalar::Scalar,
};

use super::{Datum, Event, Interceptor, Moment, Stop};

/// Counts what runs.
///
/// Floating-point operations: one for each operation on real numbers, elementary functions included; for
/// complex numbers 2 for a sum or difference, 6 for a product, 11 for a quotient and 1 for anything else; one
/// for each element that `sum` and `accumulate` add. Comparisons, integers and copies cost none.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counter {
    /// How often each operation ran, by its name in text.
    pub operations: BTreeMap<&'static str, u64>,
    /// Floating-point operations.
    pub flops: u64,
}

impl Counter {
    /// How often the operation of that name ran.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.operations.get(name).copied().unwrap_or(0)
    }
}

impl<S: Scalar> Interceptor<S> for Counter {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Stop> {
        if let (Moment::Before(_), Some(inst)) = (event.moment(), event.inst()) {
            *self.operations.entry(inst.op.name()).or_default() += 1;
            self.flops += flops(event, inst);
        }
        Ok(())
    }
}

fn flops<S: Scalar>(event: &Event<'_, S>, inst: &InstData) -> u64 {
    let complex = inst.args.first().is_some_and(|&v| event.function().kinds[v] == Kind::Complex);
    let elements = |k: usize| match inst.args.get(k).map(|&v| event.value(v)) {
        Some(Datum::Reals(xs)) => xs.len() as u64,
        Some(Datum::Complexes(xs)) => 2 * xs.len() as u64,
        _ => 0,
    };
    match inst.op {
        Op::Number2(Number2::Add | Number2::Sub) if complex => 2,
        Op::Number2(Number2::Mul) if complex => 6,
        Op::Number2(Number2::Div) if complex => 11,
        Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) => 1,
        Op::Sum => elements(0),
        Op::Accumulate => elements(0).min(elements(1)),
        _ => 0,
    }
}

impl fmt::Display for Counter {
    /// The operations, the commonest first, and the sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operations: Vec<_> = self.operations.iter().collect();
        operations.sort_by_key(|o| std::cmp::Reverse(*o.1));
        for (name, count) in operations {
            writeln!(f, "{count:>12}  {name}")?;
        }
        writeln!(f, "{:>12}  floating-point operations", self.flops)
    }
}
