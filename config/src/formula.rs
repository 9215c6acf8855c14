//! Circuits and results in closed form: what is refused, and in which words.

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, Operation},
    exact::{ExactError, RESERVED, Symbols},
    normal::{ExprExt, NormalError},
    param::{Angle, Decimal, ParamExpr},
    trace::Expr,
};

use crate::{report::Failure, terminal::Terminal};

/// Refuses a formula with an angle that has no value anywhere.
pub(crate) fn check_computed(circuit: &Circuit) -> Result<(), Failure> {
    let mut values: Vec<Expr> = Vec::new();
    for param in circuit.params() {
        let symbol = || Expr::symbol(&param.name);
        let computed = |expr: &ParamExpr| expr.evaluate(&values).unwrap_or_else(|_| symbol());
        let value = param.definition.as_ref().map_or_else(symbol, computed);
        if matches!(value.normal(), Err(NormalError::DivisionByZero)) {
            return Err(Failure::input(format_args!(
                "the angle {} divides by zero, whatever the parameters are",
                param.name
            )));
        }
        values.push(value);
    }
    Ok(())
}

/// Says which decimals look like multiples of pi; they are taken for the decimals that they are.
pub(crate) fn note_decimals(circuit: &Circuit, terminal: &Terminal) {
    let gates = circuit.instructions().iter().map(|i| &i.operation).filter(|o| o.is_gate());
    let decimals = gates
        .flat_map(Operation::params)
        .map(Angle::radian_part)
        .filter_map(|x| Some((x, Decimal::new(x)?)));
    let alike =
        decimals.filter_map(|(x, decimal)| Some((x.to_string(), decimal.multiple_of_pi()?)));
    for (x, pi) in alike.collect::<BTreeMap<String, Angle>>() {
        terminal.note(&format!("note: {x} looks like {pi}, but is not taken for it"));
    }
}

/// Refuses a parameter called `i`, which reads like the imaginary unit.
pub(crate) fn check_names(symbols: &Symbols) -> Result<(), Failure> {
    let circuit = symbols.circuit();
    let mut names = symbols.params().map(|id| circuit.param_name(id));
    match names.find(|name| RESERVED.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(reserved(&name)),
    }
}

/// Returns the failure of a parameter that has a name of formulas.
pub(crate) fn reserved(name: &str) -> Failure {
    let message =
        format_args!("the parameter `{name}` has a name that means something else in a formula");
    Failure::input(message).help("rename it, or give it a value with --set")
}

/// Returns the failure of a formula, with the way out.
pub(crate) fn failure(error: ExactError) -> Failure {
    let failure = Failure::input(&error);
    match error {
        ExactError::Outside { .. } => failure.help(
            "write pi/4 for a fraction of pi; `ketgrad run --amplitudes` computes with numbers",
        ),
        ExactError::Budget { .. }
        | ExactError::Number { .. }
        | ExactError::TooManyAngles { .. } => failure.help(
            "give values with --set or --params; `ketgrad run --amplitudes` computes with numbers",
        ),
        _ => failure,
    }
}
