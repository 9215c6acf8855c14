//! Kernels on arrays: their pullbacks as primitives, and what those give numbers with first derivatives.

use std::sync::Arc;

use ketgrad_core::{
    array::Array as Shaped,
    exec::Datum,
    ir::Kind,
    scalar::{Real, Scalar},
};

use crate::{
    array::{Array, Number},
    host::Rule,
};

pub(crate) fn no_plain_number(rule: &Rule) -> String {
    format!("`{}` has no program for its value, and a symbol has no number to compute it at", rule.name)
}

pub(crate) fn needs_program(rule: &Rule) -> String {
    if !rule.has_derivative() {
        return rule.no_derivative();
    }
    format!("`{}` has no program: derivatives above the first need one", rule.name)
}

/// The pullback of the kernel: `(x…, y, y_bar) -> (x_bar…)`.
pub(crate) fn pullback<E: Number, S: Scalar>(rule: &Rule, args: &[Datum<S>]) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    let all: Option<Vec<Array<E>>> = args.iter().map(E::read).collect();
    let mut x = all.ok_or_else(|| needs_program(rule))?;
    let (Some(y_bar), Some(_)) = (x.pop(), x.pop()) else { return Err("no cotangent".to_owned()) };
    let (y, tape) = kernel.forward(&x)?;
    let bars = kernel.pullback(&tape, &x, &y, &y_bar.extended(&y))?;
    let fields = bars.into_iter().zip(&kernel.params).filter(|(_, kind)| kind.is_differentiable());
    let fields: Option<Vec<Datum<S>>> = fields.map(|(bar, kind)| E::write(bar, kind)).collect();
    fields.map(Datum::Tuple).ok_or_else(|| needs_program(rule))
}

/// The pushforward by the kernel's pullback, one for each element of the result.
pub(crate) fn pushforward<E: Number, S: Scalar>(rule: &Rule, args: &[Datum<S>]) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    let all: Option<Vec<Array<E>>> = args.iter().map(E::read).collect();
    let mut x = all.ok_or_else(|| needs_program(rule))?;
    let dots = x.split_off(kernel.params.len());
    let (y, tape) = kernel.forward(&x)?;
    let mut y_dot = y.zeros_like();
    for j in 0..y.data.len() {
        let mut y_bar = y.zeros_like();
        y_bar.data[j] = E::ONE;
        let bars = kernel.pullback(&tape, &x, &y, &y_bar)?;
        let bars =
            bars.iter().zip(&kernel.params).filter(|(_, kind)| kind.is_differentiable()).map(|(b, _)| b);
        for (bar, dot) in bars.zip(&dots) {
            for (&bar, &dot) in bar.data.iter().zip(&dot.data) {
                y_dot.data[j] = y_dot.data[j].plus(E::pair(bar, dot));
            }
        }
    }
    E::write(y_dot, &kernel.result).ok_or_else(|| needs_program(rule))
}

/// A kernel with a pullback and no program, on numbers with first derivatives.
pub(crate) fn linearised<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    if kernel.is_complex() || !kernel.has_pullback() {
        return Err(needs_program(rule));
    }
    let mut x: Vec<Array<f64>> = Vec::new();
    let mut rest: Vec<Vec<T>> = Vec::new();
    let at = |v: &T| v.primal().ok_or_else(|| no_plain_number(rule));
    for datum in args {
        let values: &[T] = match datum {
            Datum::Real(v) => std::slice::from_ref(v),
            Datum::Reals(values) => values,
            Datum::Int(n) => {
                x.push(Array::number(*n as f64));
                rest.push(vec![T::zero()]);
                continue;
            }
            _ => return Err(needs_program(rule)),
        };
        let plain: Vec<f64> = values.iter().map(at).collect::<Result<_, _>>()?;
        rest.push(values.iter().map(T::beyond).collect());
        let shape = match datum {
            Datum::Reals(values) => values.shape().iter().map(|n| *n as u64).collect(),
            _ => vec![],
        };
        x.push(Array { shape, data: plain });
    }
    let parts: Vec<&T> = rest.iter().flatten().filter(|d| !d.is_exact_zero()).collect();
    if parts.iter().enumerate().any(|(i, a)| parts[i..].iter().any(|b| !((*a).clone() * *b).is_exact_zero()))
    {
        return Err(needs_program(rule));
    }
    let (y, tape) = kernel.forward(&x)?;
    let mut out: Vec<T> = y.data.iter().map(|v| T::lit(*v)).collect();
    if !parts.is_empty() {
        for (j, out) in out.iter_mut().enumerate() {
            let mut y_bar = y.zeros_like();
            y_bar.data[j] = 1.0;
            let bars = kernel.pullback(&tape, &x, &y, &y_bar)?;
            for (bar, d) in bars.iter().zip(&rest) {
                for (bar, d) in bar.data.iter().zip(d) {
                    *out += T::scale(&T::lit(*bar), d);
                }
            }
        }
    }
    match kernel.result {
        Kind::Real => Ok(Datum::Real(out.into_iter().next().unwrap_or_else(T::zero))),
        _ => {
            let shape: Vec<usize> = y.shape.iter().map(|n| *n as usize).collect();
            let y = Shaped::new(&shape, out).map_err(|e| e.to_string())?;
            Ok(Datum::Reals(Arc::new(y)))
        }
    }
}
