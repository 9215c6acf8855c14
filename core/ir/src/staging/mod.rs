//! Semantics of the program language, independent of its syntax: kinds, promotion, control flow,
//! assignment.
//!
//! Program text and other front ends express the same constructs in different ways. All of them go
//! through a [`StagingBuilder`], which decides their meaning and writes the instructions: a literal
//! integer takes the kind that fits, a real number is promoted where it is combined with a complex
//! one, `if` has a value, a loop has targets for `continue` and `break`, `p.xs[i] = e` makes a new
//! `p`. So two front ends that make the same calls build the same function.
//!
//! ```
//! use ketgrad_core::{ir::{Compare, Kind, Param}, staging::{Builtin, StagedOperand, InfixOperator, StagingBuilder}};
//!
//! // fn root(a) { let mut x = a; while abs(x * x - a) > 1e-9 { x = 0.5 * (x + a / x); } x }
//! let mut s = StagingBuilder::new("root", vec![Param::new("a", Kind::Real)], Kind::Real);
//! let a = StagedOperand::Value(s.b.param(0));
//! let x = s.declare(a).unwrap();
//! let head = s.begin_loop();
//! let now = s.read(x);
//! let square = s.binary(InfixOperator::Mul, now, now).unwrap();
//! let off = s.binary(InfixOperator::Sub, square, a).unwrap();
//! let off = s.builtin(Builtin::Abs, &[off]).unwrap();
//! let small = StagedOperand::Value(s.b.real(1e-9));
//! let more = s.binary(InfixOperator::Compare(Compare::Gt), off, small).unwrap();
//! let inside = s.enter_loop(head, Some(more)).unwrap();
//! let now = s.read(x);
//! let quotient = s.binary(InfixOperator::Div, a, now).unwrap();
//! let sum = s.binary(InfixOperator::Add, now, quotient).unwrap();
//! let half = StagedOperand::Value(s.b.real(0.5));
//! let mean = s.binary(InfixOperator::Mul, half, sum).unwrap();
//! let place = s.assignment_target(x);
//! s.assign(place, None, mean).unwrap();
//! s.end_loop(inside);
//! let root = s.read(x);
//! s.return_value(root).unwrap();
//! assert_eq!(s.finish().blocks.len(), 4);
//! ```
//!
//! # Invariants
//! - Operands are lowered first, in the order in which they are written; then the stage converts
//!   them and appends the operation. The position of an instruction is the one set last on
//!   [`StagingBuilder::b`].
//! - A method that fails has appended nothing that matters: the error is a [`TypeMismatch`], which
//!   names the operand by its number, and the front end knows the position of that operand.

mod arithmetic;
mod arrays;
mod assignment;
mod axis;
mod builtin;
mod data;
mod elements;
mod flow;
mod known;
mod linear;
mod matrix_functions;
mod name;
mod result_kinds;
mod squares;
mod untyped;

pub use arithmetic::InfixOperator;
pub use arrays::Composed;
pub use assignment::AssignmentTarget;
pub use builtin::Builtin;
pub(crate) use elements::elementwise_result;
pub use elements::over_arrays;
pub use flow::{Branches, CountedLoop, LoopBody, LoopHeader, ShortCircuit};
pub(crate) use known::InferredKind;
pub use name::is_name;
pub(crate) use result_kinds::{ResultKinds, StagedOperation};
pub use untyped::UntypedLiteral;

use known::is_plain_tuple;

use crate::{
    entity::{Block, Value, Variable},
    ir::{Element, Function, FunctionBuilder, Kind, Mixed, Param},
};

/// Hint for a comparison of arrays that is used as a truth value.
const MASK_AS_BOOL: &str =
    ": arrays are compared element by element, which gives 1 and 0, by which `masked` chooses";

/// Maximum number of leaves of a tuple or a struct.
pub(crate) const MAX_LEAVES: usize = 10_000;

/// Value of an expression.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum StagedOperand {
    /// A literal integer, which takes the kind that fits.
    Literal(i64),
    /// An untyped literal: an array, a tuple or the value of an `if` that consists of literals,
    /// which takes the kind that fits too.
    Untyped(UntypedLiteral),
    /// A value.
    Value(Value),
    /// No value: a statement, or a block that was left.
    Nothing,
}

/// Error of an operand of the wrong kind.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("expected {expected}, given {given}{hint}")]
pub struct TypeMismatch {
    /// Index of the operand, from 0.
    pub operand: usize,
    /// Kind that was given.
    pub given: String,
    /// Kind that is expected.
    pub expected: String,
    /// Hint for a fix; starts with a separator if not empty.
    pub hint: &'static str,
}

impl TypeMismatch {
    /// Creates the error of a value of kind `given` where something else is expected.
    pub(crate) fn new(given: &Kind, expected: impl Into<String>) -> TypeMismatch {
        let expected = expected.into();
        let hint = match given {
            Kind::Int if expected == "real" || expected == "complex" => ": write `real(n)`",
            Kind::Complex if expected == "real" => ": take `re`, `im`, `abs` or `abs2` of it",
            Kind::Array(Element::Int)
                if expected.starts_with("array") || expected.starts_with("an array of real") =>
            {
                ": write `real(ns)`"
            }
            _ => "",
        };
        TypeMismatch { operand: 0, given: given.to_string(), expected, hint }
    }

    /// Creates the error of a missing value.
    pub(crate) fn nothing() -> TypeMismatch {
        TypeMismatch { operand: 0, given: "nothing".into(), expected: "a value".into(), hint: "" }
    }

    /// Returns the error of an assignment to a variable or an element that holds `kind`.
    fn assigned(self, kind: &Kind, element: bool) -> TypeMismatch {
        let hint = match (kind, self.given.as_str()) {
            (Kind::Int, "real" | "complex") if element => {
                ": an array of whole numbers holds ints, one of real numbers starts as `[0.0; n]`"
            }
            (Kind::Int, "real" | "complex") => {
                ": a variable that starts with a whole number holds ints, one that starts with `0.0` real numbers"
            }
            (Kind::Real, "complex") if element => {
                ": take `re`, `im`, `abs` or `abs2` of it, or start with `[complex(0.0, 0.0); n]`"
            }
            (Kind::Real, "complex") => {
                ": take `re`, `im`, `abs` or `abs2` of it, or start with `complex(0.0, 0.0)`"
            }
            (Kind::Real | Kind::Complex, "array<real>" | "array<complex>") if element => {
                ": `x[k]` is a number; `x = with_row(x, y, k)` puts a row"
            }
            _ => self.hint,
        };
        TypeMismatch { hint, ..self }
    }

    /// Returns the same error for another operand.
    pub(crate) fn at_operand(self, operand: usize) -> TypeMismatch {
        TypeMismatch { operand, ..self }
    }
}

/// Targets of `continue` and `break`.
#[derive(Clone, Copy, Debug)]
struct LoopTargets {
    continue_to: Block,
    exit: Block,
}

/// Builder of a function, in terms of the language.
#[derive(Debug)]
pub struct StagingBuilder {
    /// The underlying builder, for instructions that need no decision: constants, positions, calls
    /// of known kinds.
    pub b: FunctionBuilder,
    result: Kind,
    loops: Vec<LoopTargets>,
    open: Vec<untyped::WrittenLiteral>,
}

impl StagingBuilder {
    /// Starts a function.
    #[must_use]
    pub fn new(name: impl Into<String>, params: Vec<Param>, result: Kind) -> StagingBuilder {
        let b = FunctionBuilder::new(name, params, result.clone());
        StagingBuilder { b, result, loops: Vec::new(), open: Vec::new() }
    }

    /// Returns the kind of the result.
    #[must_use]
    pub fn result(&self) -> &Kind {
        &self.result
    }

    /// Sets the kind of the result, where it was not known at the start.
    pub fn set_result(&mut self, kind: Kind) {
        self.b.set_result(kind.clone());
        self.result = kind;
    }

    // Kinds.

    /// Converts to a value; literals are ints, alone and as parts.
    ///
    /// # Errors
    /// If there is no value.
    pub fn value(&mut self, given: StagedOperand) -> Result<Value, TypeMismatch> {
        match given {
            StagedOperand::Literal(n) => Ok(self.b.int(n)),
            StagedOperand::Untyped(open) => {
                let kind = self.kind(given).ok_or_else(TypeMismatch::nothing)?;
                self.decide(open, &kind)
            }
            StagedOperand::Value(v) => Ok(v),
            StagedOperand::Nothing => Err(TypeMismatch::nothing()),
        }
    }

    /// Converts to a value of the given kind: a literal as it fits, a real number promoted to
    /// complex, in tuples too.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn fit(&mut self, given: StagedOperand, kind: &Kind) -> Result<Value, TypeMismatch> {
        let value = match (given, kind) {
            (StagedOperand::Literal(n), Kind::Real | Kind::Complex) => {
                return Ok(self.b.number(n as f64, kind));
            }
            (StagedOperand::Untyped(open), _) => return self.decide(open, kind),
            _ => self.value(given)?,
        };
        match (self.b.kind(value), kind) {
            (found, kind) if found == kind => Ok(value),
            (Kind::Real, Kind::Complex)
            | (Kind::Array(Element::Real), Kind::Array(Element::Complex)) => {
                Ok(self.b.mixed(Mixed::Promote, &[value]))
            }
            (found, kind) => {
                let n = found.fields().len();
                let mut misfit = TypeMismatch::new(found, kind.to_string());
                if matches!((found, kind), (Kind::Array(Element::Real), Kind::Bool)) {
                    misfit.hint = MASK_AS_BOOL;
                }
                if !(is_plain_tuple(found, n) && is_plain_tuple(kind, n) && promotes(found, kind)) {
                    return Err(misfit);
                }
                let fields: Vec<StagedOperand> =
                    (0..n).map(|k| StagedOperand::Value(self.b.field(value, k))).collect();
                let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
                let fields = self.fit_all(&fields, &kinds)?;
                Ok(self.b.plain_tuple(&fields))
            }
        }
    }

    /// Converts all of them to values of the given kinds.
    ///
    /// # Errors
    /// If one is of another kind.
    pub(crate) fn fit_all(
        &mut self,
        given: &[StagedOperand],
        kinds: &[Kind],
    ) -> Result<Vec<Value>, TypeMismatch> {
        let all = given.iter().zip(kinds).enumerate();
        all.map(|(k, (g, kind))| self.fit(*g, kind).map_err(|e| e.at_operand(k))).collect()
    }

    /// Converts to numbers, or arrays of numbers, of their common kind of number, which is real or
    /// complex.
    ///
    /// # Errors
    /// If one is not a number of these kinds.
    pub(crate) fn numbers(&mut self, given: &[StagedOperand]) -> Result<Vec<Value>, TypeMismatch> {
        let complex = given.iter().any(|g| self.is_complex(*g));
        let kind = if complex { Kind::Complex } else { Kind::Real };
        given
            .iter()
            .enumerate()
            .map(|(k, g)| self.fit_element(*g, &kind).map_err(|e| e.at_operand(k)))
            .collect()
    }

    /// Converts to a value of the given kind of number, or an array of such.
    ///
    /// # Errors
    /// If it is of another kind.
    pub fn fit_element(
        &mut self,
        given: StagedOperand,
        kind: &Kind,
    ) -> Result<Value, TypeMismatch> {
        match (given, Element::from_kind(kind)) {
            (_, Some(e)) if self.is_array(given) => self.fit(given, &Kind::Array(e)),
            _ => self.fit(given, kind),
        }
    }

    /// Returns true if it is a complex number, or an array of such.
    pub(crate) fn is_complex(&self, given: StagedOperand) -> bool {
        self.known(given).is_complex()
    }

    /// Returns true if it is an array.
    pub(crate) fn is_array(&self, given: StagedOperand) -> bool {
        self.known(given).is_array()
    }

    /// Returns true if it is a value of the given kind.
    pub(crate) fn has_kind(&self, given: StagedOperand, kind: &Kind) -> bool {
        matches!(given, StagedOperand::Value(v) if self.b.kind(v) == kind)
    }

    // Variables.

    /// Declares a variable with its first value; literals are ints.
    ///
    /// # Errors
    /// If there is no value.
    pub fn declare(&mut self, given: StagedOperand) -> Result<Variable, TypeMismatch> {
        let value = self.value(given)?;
        let kind = self.b.kind(value).clone();
        let variable = self.b.declare(kind);
        self.b.define(variable, value);
        Ok(variable)
    }

    /// Returns the current value of a variable.
    pub fn read(&mut self, variable: Variable) -> StagedOperand {
        StagedOperand::Value(self.b.use_variable(variable))
    }

    // The end.

    /// Returns a value, which must fit the result of the function.
    ///
    /// # Errors
    /// If it does not fit.
    pub fn return_value(&mut self, given: StagedOperand) -> Result<(), TypeMismatch> {
        let result = self.result.clone();
        let value = self.fit(given, &result)?;
        self.b.ret(value);
        Ok(())
    }

    /// Returns the finished function. An end that is unreachable, or that is missing, returns zero.
    #[must_use]
    pub fn finish(mut self) -> Function {
        if !self.b.is_closed() {
            let zero = self.b.zero(&self.result);
            self.b.ret(zero);
        }
        self.b.finish()
    }
}

/// Returns true if real numbers in it have to be promoted to complex for it to be of the other
/// kind, and nothing else.
fn promotes(found: &Kind, kind: &Kind) -> bool {
    let (a, b) = (found.fields(), kind.fields());
    match (found, kind) {
        (Kind::Real, Kind::Complex)
        | (Kind::Array(Element::Real), Kind::Array(Element::Complex)) => true,
        _ if a.is_empty() || !is_plain_tuple(found, b.len()) || !is_plain_tuple(kind, a.len()) => {
            found == kind
        }
        _ => a.iter().zip(b).all(|(a, b)| promotes(&a.kind, &b.kind)),
    }
}
