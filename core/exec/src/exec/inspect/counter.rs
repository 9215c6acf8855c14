//! Counts of the operations that ran.

use std::{collections::BTreeMap, fmt};

use crate::scalar::Scalar;

use super::{
    event::Event,
    flops::flops,
    interceptor::{Interceptor, Interrupt},
    moment::Moment,
};

/// Counter of the operations that run.
///
/// Floating-point operations: one for each operation on real numbers, elementary functions
/// included; for complex numbers 2 for a sum or difference, 6 for a product, 11 for a quotient and
/// 1 for anything else. On arrays element by element as many for each element; on whole arrays by
/// the usual formulas: `2 m k n` for a product of matrices, `2/3 n^3 + 2 n^2 m` for a system with m
/// right sides. Comparisons, integers and copies cost none.
///
/// ```
/// use ketgrad_core::{exec::{Datum, inspect::{OpCounter, Inspection}}, text::parse_program};
///
/// let program = parse_program("fn f(a: array, b: array) { sum(matmul(a, b)) }")?;
/// let a = Datum::reals_of(&[50, 50], vec![0.5; 2500])?;
/// let mut counter = OpCounter::default();
/// Inspection::<f64>::new(&program, "f")?.run(&[a.clone(), a], &mut counter)?;
/// assert_eq!(counter.flops, 2 * 50_u64.pow(3) + 2500); // 252 500
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct OpCounter {
    /// Number of times that each operation ran, by its name in text.
    pub operations: BTreeMap<&'static str, u64>,
    /// Floating-point operations.
    pub flops: u64,
}

impl OpCounter {
    /// Returns the number of times that the operation of that name ran.
    #[must_use]
    pub fn count(&self, name: &str) -> u64 {
        self.operations.get(name).copied().unwrap_or(0)
    }
}

impl<S: Scalar> Interceptor<S> for OpCounter {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        match (event.moment(), event.inst()) {
            (Moment::Before(_), Some(inst)) => {
                *self.operations.entry(inst.op.name()).or_default() += 1
            }
            (Moment::After(_), Some(inst)) => {
                if let Some(result) = event.result() {
                    self.flops += flops(inst.op, &event.operands(), &result);
                }
            }
            _ => {}
        }
        Ok(())
    }
}

impl fmt::Display for OpCounter {
    /// Writes the operations, the commonest first, and the sum.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut operations: Vec<_> = self.operations.iter().collect();
        operations.sort_by_key(|o| std::cmp::Reverse(*o.1));
        for (name, count) in operations {
            writeln!(f, "{count:>12}  {name}")?;
        }
        writeln!(f, "{:>12}  floating-point operations", self.flops)
    }
}
