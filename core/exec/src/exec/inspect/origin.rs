//! Origin of a derivative that is not finite.

use crate::{
    adjoint,
    entity::Value,
    ir::{Function, Kind, Number2, Op},
    scalar::{Real, Scalar},
};

use super::{
    super::{
        Datum, Derivatives, DeriveError,
        host_with_constants::HostWithConstants,
        tangents::{count, seeded},
    },
    event::Event,
    finder::{Find, Found, found, is_bad},
    inspection::Inspection,
    interceptor::{Interceptor, Interrupt},
};

impl<T: Real, S: Scalar<Real = T>> Derivatives<'_, S> {
    /// Finds the first instruction at which the value (order 0), a first derivative or a second one
    /// becomes NaN, or infinite if none is NaN: it gives such a number of finite ones, in the
    /// function or in its derivative, whose instructions have the positions of the operations that
    /// they are derivatives of. `None` if all are finite. The derivatives are those of the function
    /// as it is written, not optimised; a number that a choice or a mask drops at once is passed
    /// over.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
    ///
    /// let program = parse_program("fn f(x) {\n  let y = sqrt(x);\n  cos(y)\n}")?;
    /// let f = Derivatives::<f64>::new(&program, "f")?;
    /// let found = f.origin_of_nan(&[Datum::Real(0.0)], 1)?.ok_or("none")?;
    /// // Zero times the infinite slope of the root.
    /// assert_eq!((found.at.line, found.op), (2, "mul"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of the derivative.
    pub fn origin_of_nan(
        &self,
        args: &[Datum<S>],
        order: usize,
    ) -> Result<Option<Found<S>>, DeriveError> {
        let mut program = self.program.clone();
        let f = self.f;
        let is_real = program.functions[f].result == Kind::Real;
        let (id, is_along) = match order {
            0 => (f, false),
            1 if is_real => (adjoint::gradient(&mut program, f)?, false),
            1 => (adjoint::forward(&mut program, f)?, true),
            _ => (adjoint::hessian_vector(&mut program, f)?, true),
        };
        let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
        let directions = if is_along { zeros.iter().map(count).sum() } else { 1 };
        let holding = HostWithConstants { host: &*self.host, constants: &self.constants };
        for what in [Find::Nan, Find::NonFinite] {
            let mut inspection = Inspection::<S>::for_function(&program, id)?
                .with_host(&holding)
                .with_limits(self.limits);
            for k in 0..directions {
                let mut members = (0..directions).map(|j| j == k);
                let dots = zeros.iter().filter(|_| is_along).map(|d| seeded(d, &mut members));
                let all: Vec<Datum<S>> = args.iter().cloned().chain(dots).collect();
                let mut origin = Origin { what, found: None, passed_over: None };
                let result = inspection.run(&all, &mut origin)?;
                if is_bad(&result, what)
                    && let Some(found) = origin.found
                {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

/// Keeps the first number that is not finite and goes on.
struct Origin<S: Scalar> {
    what: Find,
    found: Option<Found<S>>,
    /// The last one that may be dropped, and the value that it gave.
    passed_over: Option<(Value, Found<S>)>,
}

impl<T: Real, S: Scalar<Real = T>> Interceptor<S> for Origin<S> {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        if self.found.is_some() {
            return Ok(());
        }
        let Some((found, inst)) = found(event, self.what).zip(event.inst()) else { return Ok(()) };
        match inst.result.filter(|v| is_dropped(event.function(), *v)) {
            Some(v) => self.passed_over = Some((v, found)),
            // An operand that was not dropped after all is the origin.
            None => {
                let is_operand = |(v, by): &(Value, Found<S>)| {
                    inst.args.contains(v) && by.function == found.function
                };
                let before = self.passed_over.take().filter(is_operand);
                self.found = Some(before.map_or(found, |(_, before)| before));
            }
        }
        Ok(())
    }
}

/// Returns true if every use of a value may drop it: a choice, or a factor that may be zero.
fn is_dropped(Function { blocks, insts, .. }: &Function, v: Value) -> bool {
    let mut used = false;
    for block in blocks.values() {
        for inst in block.insts.iter().map(|i| &insts[*i]) {
            for (k, _) in inst.args.iter().enumerate().filter(|(_, a)| **a == v) {
                used = true;
                match inst.op {
                    Op::Number2(Number2::Guard | Number2::Scale) if k == 0 => {}
                    Op::Select if k > 0 => {}
                    _ => return false,
                }
            }
        }
        if block.end.operand() == Some(v) || block.end.targets().iter().any(|t| t.args.contains(&v))
        {
            return false;
        }
    }
    used
}
