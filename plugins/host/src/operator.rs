//! Operators of a tape for loaded rules.

use std::sync::Arc;

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Executable, Machine},
    ir::{Kind, Program},
    scalar::{Real, Scalar},
    tape::ScalarOperator,
};

use crate::{error::placeless, host::Loaded, lower::caller};

/// Operator of a tape for a rule: `tape.apply(&tape.operator(rule), …)`.
pub struct RuleOperator {
    name: String,
    arity: usize,
    complex: bool,
    host: Arc<Loaded>,
    value: Bytecode,
    pullback: Bytecode,
}

impl RuleOperator {
    /// Makes the operator of the rule of that name.
    pub(crate) fn new(
        program: &Program,
        name: &str,
        host: Arc<Loaded>,
    ) -> Result<RuleOperator, String> {
        let f = program.lookup(name).ok_or_else(|| format!("no rule `{name}`"))?;
        let function = &program.functions[f];
        let number = &function.result;
        let complex = match number {
            Kind::Real => false,
            Kind::Complex => true,
            other => return Err(format!("`{name}` gives {other}; a tape holds numbers")),
        };
        if function.params.iter().any(|p| p.kind != *number) {
            return Err(format!(
                "`{name}` takes something else than {number} numbers; a tape holds numbers"
            ));
        }
        let arity = function.params.len();
        let mut program = program.clone();
        let f = caller(&mut program, f);
        let missing = |e| host.missing_derivative(&e).unwrap_or_else(|| placeless(&e));
        let both = adjoint::value_and_pullback(&mut program, f).map_err(missing)?;
        let compile = |f| Bytecode::compile(&program, f).map_err(|e| placeless(&e));
        let (value, pullback) = (compile(f)?, compile(both)?);
        Ok(RuleOperator { name: name.to_owned(), arity, complex, host, value, pullback })
    }

    fn run<T: Real, S: Scalar<Real = T>>(
        &self,
        code: &Bytecode,
        x: &[S],
    ) -> Result<Datum<S>, String> {
        let datum =
            |x: &S| if self.complex { Datum::Complex(x.clone()) } else { Datum::Real(x.re()) };
        let args: Vec<Datum<S>> = x.iter().map(datum).collect();
        let limits = self.host.limits();
        code.call(&mut Machine::new(), &*self.host, limits, &args).map_err(|e| placeless(&e))
    }
}

fn to_number<T: Real, S: Scalar<Real = T>>(datum: &Datum<S>) -> Result<S, String> {
    match datum {
        Datum::Real(x) => Ok(S::from_real(x.clone())),
        Datum::Complex(z) => Ok(z.clone()),
        other => Err(format!("it gives {}", other.describe())),
    }
}

impl<T: Real, S: Scalar<Real = T>> ScalarOperator<S> for RuleOperator {
    fn name(&self) -> &str {
        &self.name
    }
    fn arity(&self) -> Option<usize> {
        Some(self.arity)
    }
    fn forward(&self, inputs: &[S]) -> Result<S, String> {
        to_number(&self.run(&self.value, inputs)?)
    }
    fn backward(&self, inputs: &[S], _: &S, cotangent: &S) -> Result<Vec<S>, String> {
        let all: Vec<S> = inputs.iter().chain([cotangent]).cloned().collect();
        let both = self.run(&self.pullback, &all)?;
        both.fields().iter().skip(1).map(to_number).collect()
    }
}
