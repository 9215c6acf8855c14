//! Kernels on arrays: their values and pullbacks as primitives, and their results on numbers with
//! first derivatives.
//!
//! A kernel computes in `f64`. On numbers that are plain in another precision its results and first
//! derivatives are rounded to that. Complex numbers are two real ones here: for the cotangent 1 of
//! an element of the result a pullback says by what its real part moves, for the cotangent i by
//! what its imaginary part does, so that a kernel need not be holomorphic.

use ketgrad_core::{
    exec::Datum,
    ir::Kind,
    scalar::{Real, Scalar},
};

use crate::{
    array::{Values, assembled},
    host::Rule,
    kernel::Tape,
};

pub(crate) fn no_plain_number(rule: &Rule) -> String {
    format!(
        "`{}` has no program for its value, and a symbol has no number to compute it at",
        rule.name
    )
}

pub(crate) fn needs_program(rule: &Rule) -> String {
    if !rule.has_derivative() {
        return rule.no_derivative();
    }
    format!("`{}` has no program: derivatives above the first need one", rule.name)
}

pub(crate) fn needs_complex() -> String {
    "it gives a number with an imaginary part: run the program on complex numbers".to_owned()
}

/// Real components of a value.
struct RealComponents<T> {
    shape: Vec<u64>,
    is_complex: bool,
    parts: Vec<T>,
}

impl<T: Real> RealComponents<T> {
    /// Splits a value into its components; `None` for a value of another kind.
    fn from_datum<S: Scalar<Real = T>>(
        datum: &Datum<S>,
        is_complex: bool,
    ) -> Option<RealComponents<T>> {
        let lengths = |shape: &[usize]| shape.iter().map(|n| *n as u64).collect();
        let pair = |z: &S| [z.re(), z.im()];
        let (shape, parts) = match datum {
            Datum::Real(x) => (vec![], vec![x.clone()]),
            Datum::Complex(z) => (vec![], pair(z).to_vec()),
            Datum::Int(n) => (vec![], vec![T::lit(*n as f64)]),
            Datum::Reals(xs) => (lengths(&xs.shape()), xs.items().to_vec()),
            Datum::Complexes(zs) => {
                (lengths(&zs.shape()), zs.items().iter().flat_map(pair).collect())
            }
            Datum::Ints(ns) => {
                (lengths(&ns.shape()), ns.items().iter().map(|n| T::lit(*n as f64)).collect())
            }
            _ => return None,
        };
        // An int among complex numbers.
        let is_pairs = matches!(datum, Datum::Complex(_) | Datum::Complexes(_));
        let parts = match is_complex && !is_pairs {
            true => parts.into_iter().flat_map(|x| [x, T::zero()]).collect(),
            false => parts,
        };
        (shape.len() <= ketgrad_plugin_abi::MAX_NDIM && is_pairs <= is_complex)
            .then_some(RealComponents { shape, is_complex, parts })
    }

    /// Returns the plain numbers; `None` for symbols.
    fn plain(&self) -> Option<Values> {
        let parts = self.parts.iter().map(T::primal).collect::<Option<_>>()?;
        Some(Values::of_parts(self.shape.clone(), parts, self.is_complex))
    }

    fn beyond(&self) -> Vec<T> {
        self.parts.iter().map(T::beyond).collect()
    }
}

/// Returns plain numbers of any precision.
fn plain<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    datum: &Datum<S>,
    is_complex: bool,
) -> Result<Values, String> {
    if let Some(exact) = Values::read(datum, is_complex) {
        return Ok(exact);
    }
    let parts = RealComponents::from_datum(datum, is_complex)
        .filter(|x| x.beyond().iter().all(T::is_exact_zero));
    parts.and_then(|x| x.plain()).ok_or_else(|| needs_program(rule))
}

/// Returns the inputs of a kernel among the arguments of one of its primitives.
fn inputs<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Result<Vec<Values>, String> {
    let kinds = rule.kernel.params.iter();
    args.iter()
        .zip(kinds)
        .map(|(x, kind)| plain(rule, x, rule.kernel.crosses_complex(kind)))
        .collect()
}

/// Joins results: one alone, several to a tuple.
fn joined<S: Scalar>(mut all: Vec<Datum<S>>) -> Datum<S> {
    if all.len() > 1 {
        return Datum::Tuple(all);
    }
    all.pop().unwrap_or(Datum::Tuple(vec![]))
}

/// Returns the value of a kernel at numbers that are `f64`; `None` at others.
pub(crate) fn value<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Option<Result<Datum<S>, String>> {
    let kernel = &rule.kernel;
    let x: Vec<Values> = args
        .iter()
        .zip(&kernel.params)
        .map(|(x, kind)| Values::read(x, kernel.crosses_complex(kind)))
        .collect::<Option<_>>()?;
    let value = kernel.forward(&x).map_err(String::from).and_then(|(y, _)| {
        let all = y.into_iter().zip(&kernel.results).map(|(y, kind)| y.write(kind));
        all.collect::<Option<_>>().map(joined).ok_or_else(needs_complex)
    });
    Some(value)
}

/// Computes the pullback of the kernel: `(x…, y, y_bar) -> (x_bar…)`.
pub(crate) fn pullback<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    let n = kernel.params.len();
    let x = inputs(rule, &args[..n.min(args.len())])?;
    let bars = match args.last() {
        Some(Datum::Tuple(bars)) if kernel.results.len() > 1 => bars.as_slice(),
        Some(bar) => std::slice::from_ref(bar),
        None => return Err("no cotangent".to_owned()),
    };
    let (y, tape) = kernel.forward(&x)?;
    let y_bar: Vec<Values> = bars
        .iter()
        .zip(&y)
        .map(|(bar, y)| Ok(plain(rule, bar, y.is_complex())?.extended(y)))
        .collect::<Result<_, String>>()?;
    let bars = kernel.pullback(&tape, &x, &y, &y_bar)?;
    let fields = bars.into_iter().zip(&kernel.params).filter(|(_, kind)| kind.is_differentiable());
    let fields: Option<Vec<Datum<S>>> = fields.map(|(bar, kind)| bar.write(kind)).collect();
    fields.map(Datum::Tuple).ok_or_else(|| needs_program(rule))
}

/// Applies `moved` to each row of the Jacobian, one for each real component of the results: it
/// receives the cotangents of the inputs.
fn by_rows<T: Real>(
    rule: &Rule,
    tape: &Tape<'_>,
    (x, y): (&[Values], &[Values]),
    moved: &dyn Fn(&[Vec<f64>]) -> T,
) -> Result<Vec<Vec<T>>, String> {
    let zeros: Vec<Vec<f64>> = y.iter().map(|y| vec![0.0; y.parts().len()]).collect();
    let mut all = Vec::with_capacity(y.len());
    for k in 0..y.len() {
        let mut row = Vec::with_capacity(zeros[k].len());
        for j in 0..zeros[k].len() {
            let mut seeds = zeros.clone();
            seeds[k][j] = 1.0;
            let seed = |(y, parts): (&Values, Vec<f64>)| {
                Values::of_parts(y.shape().to_vec(), parts, y.is_complex())
            };
            let y_bar: Vec<Values> = y.iter().zip(seeds).map(seed).collect();
            let bars = rule.kernel.pullback(tape, x, y, &y_bar)?;
            row.push(moved(&bars.iter().map(Values::parts).collect::<Vec<_>>()));
        }
        all.push(row);
    }
    Ok(all)
}

/// Computes the pushforward by the kernel's pullback, one call for each real component of the
/// results.
pub(crate) fn pushforward<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    let (x, dots) = args.split_at(kernel.params.len().min(args.len()));
    let x = inputs(rule, x)?;
    let moving: Vec<usize> =
        (0..x.len()).filter(|&k| kernel.params[k].is_differentiable()).collect();
    let dots: Vec<(usize, Vec<f64>)> = moving
        .iter()
        .zip(dots)
        .map(|(&k, dot)| Ok((k, plain(rule, dot, x[k].is_complex())?.parts())))
        .collect::<Result<_, String>>()?;
    let (y, tape) = kernel.forward(&x)?;
    let product = |bars: &[Vec<f64>]| -> f64 {
        let pairs = dots.iter().flat_map(|(k, dot)| bars[*k].iter().zip(dot));
        pairs.map(|(bar, dot)| bar * dot).sum()
    };
    let rows = by_rows(rule, &tape, (&x, &y), &product)?;
    let dot = |((row, y), kind): ((Vec<f64>, &Values), &Kind)| {
        Values::of_parts(y.shape().to_vec(), row, y.is_complex()).write(kind)
    };
    let all = rows.into_iter().zip(&y).zip(&kernel.results).map(dot);
    all.collect::<Option<_>>().map(joined).ok_or_else(|| needs_program(rule))
}

/// Evaluates a kernel with a pullback and no program, on numbers of another precision or with first
/// derivatives: its linearisation.
pub(crate) fn linearised<T: Real, S: Scalar<Real = T>>(
    rule: &Rule,
    args: &[Datum<S>],
) -> Result<Datum<S>, String> {
    let kernel = &rule.kernel;
    let (mut x, mut rest): (Vec<Values>, Vec<Vec<T>>) = (Vec::new(), Vec::new());
    for (datum, kind) in args.iter().zip(&kernel.params) {
        let parts = RealComponents::from_datum(datum, kernel.crosses_complex(kind))
            .ok_or_else(|| needs_program(rule))?;
        x.push(parts.plain().ok_or_else(|| no_plain_number(rule))?);
        rest.push(parts.beyond());
    }
    let parts: Vec<&T> = rest.iter().flatten().filter(|d| !d.is_exact_zero()).collect();
    let is_second =
        |(i, a): (usize, &&T)| parts[i..].iter().any(|b| !((*a).clone() * *b).is_exact_zero());
    if !parts.is_empty() && (!kernel.has_pullback() || parts.iter().enumerate().any(is_second)) {
        return Err(needs_program(rule));
    }
    let (y, tape) = kernel.forward(&x)?;
    let mut out: Vec<Vec<T>> =
        y.iter().map(|y| y.parts().iter().map(|v| T::lit(*v)).collect()).collect();
    if !parts.is_empty() {
        let moved = |bars: &[Vec<f64>]| {
            let mut sum = T::zero();
            for (bar, d) in bars.iter().zip(&rest).flat_map(|(bar, rest)| bar.iter().zip(rest)) {
                sum += T::scale(&T::lit(*bar), d);
            }
            sum
        };
        let rows = by_rows(rule, &tape, (&x, &y), &moved)?;
        for (out, moved) in out.iter_mut().flatten().zip(rows.into_iter().flatten()) {
            *out += moved;
        }
    }
    let all = out.into_iter().zip(&y).zip(&kernel.results);
    let all = all.map(|((out, y), kind)| assembled(kind, y.shape(), out)).collect::<Option<_>>();
    all.map(joined).ok_or_else(needs_complex)
}
