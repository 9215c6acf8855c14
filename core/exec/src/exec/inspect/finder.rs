//! Finder of the first NaN or infinity and its operands.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::{Find, Finder, Inspection}}, text::parse_program};
//!
//! let program = parse_program("fn f(x) {\n  let y = x - 2;\n  ln(y) * 0 + x\n}")?;
//! let mut finder = Finder::new(Find::Nan);
//! let _ = Inspection::<f64>::new(&program, "f")?.run(&[Datum::Real(1.0)], &mut finder);
//! let found = finder.found().ok_or("nothing found")?;
//! assert_eq!((found.at.line, found.op), (3, "ln"));
//! assert_eq!(found.operands[0].1.real(), Some(&-1.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::fmt;

use crate::{
    entity::Value,
    ir::Position,
    scalar::{Real, Scalar},
};

use super::{
    super::Datum,
    event::Event,
    interceptor::{Interceptor, Interrupt},
    moment::Moment,
};

/// Kind of number to look for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Find {
    /// NaN.
    Nan,
    /// An infinity or NaN.
    NonFinite,
}

/// Stops a run at the first instruction that gives a NaN (or an infinity). Numbers that carry
/// derivatives count by their value.
#[derive(Clone, Debug)]
pub struct Finder<S: Scalar> {
    what: Find,
    found: Option<Found<S>>,
}

/// An instruction that gave a NaN or an infinity.
#[derive(Clone, Debug)]
pub struct Found<S: Scalar> {
    /// The function.
    pub function: String,
    /// Position in the source.
    pub at: Position,
    /// The operation's name.
    pub op: &'static str,
    /// The instruction as it is printed.
    pub text: String,
    /// Its operands with their names: of parameters their own, of others as printed.
    pub operands: Vec<(String, Datum<S>)>,
    /// Value that it gave.
    pub result: Datum<S>,
    /// True if an operand was bad already: then an argument of the run was.
    pub inherited: bool,
}

impl<S: Scalar> Finder<S> {
    /// Creates a finder that has found nothing yet.
    #[must_use]
    pub fn new(what: Find) -> Finder<S> {
        Finder { what, found: None }
    }
    /// Returns the instruction that it has found.
    #[must_use]
    pub fn found(&self) -> Option<&Found<S>> {
        self.found.as_ref()
    }
}

impl<T: Real, S: Scalar<Real = T>> Interceptor<S> for Finder<S> {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        self.found = found(event, self.what);
        match &self.found {
            Some(found) => Err(Interrupt(found.to_string())),
            None => Ok(()),
        }
    }
}

/// Returns the instruction that has run, if its result is of the kind that is looked for.
pub(super) fn found<T: Real, S: Scalar<Real = T>>(
    event: &Event<'_, S>,
    what: Find,
) -> Option<Found<S>> {
    let Moment::After(_) = event.moment() else { return None };
    let (inst, result) = (event.inst()?, event.result()?);
    if !is_bad(&result, what) {
        return None;
    }
    let values = event.operands();
    Some(Found {
        function: event.function().name.clone(),
        at: event.position(),
        op: inst.op.name(),
        text: event.text(),
        inherited: values.iter().any(|v| is_bad(v, what)),
        operands: inst.args.iter().map(|&v| name(event, v)).zip(values).collect(),
        result,
    })
}

fn name<S: Scalar>(event: &Event<'_, S>, v: Value) -> String {
    let f = event.function();
    let param = f.param_values().iter().position(|&p| p == v).and_then(|k| f.params.get(k));
    param.map_or_else(|| v.to_string(), |p| p.name.clone())
}

/// Returns true if a number in a value is of the kind that is looked for.
pub(super) fn is_bad<T: Real, S: Scalar<Real = T>>(value: &Datum<S>, what: Find) -> bool {
    let real = |x: &T| {
        x.primal().is_some_and(|x| match what {
            Find::Nan => x.is_nan(),
            Find::NonFinite => !x.is_finite(),
        })
    };
    let complex = |z: &S| real(&z.re()) || real(&z.im());
    match value {
        Datum::Real(x) => real(x),
        Datum::Complex(z) => complex(z),
        Datum::Reals(xs) => xs.iter().any(real),
        Datum::Complexes(zs) => zs.iter().any(complex),
        Datum::Tuple(fields) => fields.iter().any(|f| is_bad(f, what)),
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => false,
    }
}

impl<S: Scalar> fmt::Display for Found<S> {
    /// Writes `3:3 in f: ln gave NaN for v4 = -1.0`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}: {} gave {}", self.at, self.function, self.op, self.result)?;
        for (k, (name, value)) in self.operands.iter().enumerate() {
            write!(f, "{}{name} = {value}", if k == 0 { " for " } else { ", " })?;
        }
        Ok(())
    }
}
