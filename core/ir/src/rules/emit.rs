//! `Ex`: a number that is the result of an instruction.
//!
//! Its operators and functions append instructions to a function under construction. It mixes with
//! float literals as [`N<S>`](crate::scalar::N) does, so the same formula serves both.
//!
//! ```
//! use ketgrad_core::{ir::{FunctionBuilder, Kind, Param}, rules::Emitter};
//!
//! let mut b = FunctionBuilder::new("f", vec![Param::new("x", Kind::Real)], Kind::Real);
//! let x = b.param(0);
//! let y = {
//!     let emitter = Emitter::new(&mut b);
//!     let x = emitter.ex(x);
//!     (1.0 + &x * &x).recip().value()
//! };
//! b.ret(y);
//! assert!(b.finish().to_string().contains("v4: real = recip v3"));
//! ```
//!
//! A product with the constant 1 is the other factor, with -1 its negative: exact for every number,
//! and both are common in derivatives.

use std::{
    cell::RefCell,
    ops::{Add, Div, Mul, Neg, Sub},
};

use crate::{
    entity::Value,
    ir::{
        ArrayOp, Compare, Element, FunctionBuilder, Kind, Mixed, Number1, Number2, Op, Real1, Real2,
    },
};

use super::Piecewise;

/// Lends a builder to expressions.
#[derive(Debug)]
pub struct Emitter<'b> {
    builder: RefCell<&'b mut FunctionBuilder>,
}

/// A number that is the result of an instruction. Cloning copies the id of the value, not the
/// computation.
#[derive(Clone, Debug)]
pub struct Ex<'e, 'b> {
    emitter: &'e Emitter<'b>,
    value: Value,
}

impl<'b> Emitter<'b> {
    /// Lends the builder for as long as expressions are in use.
    pub fn new(builder: &'b mut FunctionBuilder) -> Emitter<'b> {
        Emitter { builder: RefCell::new(builder) }
    }
    /// Returns a value of the function as an expression.
    #[must_use]
    pub fn ex<'e>(&'e self, value: Value) -> Ex<'e, 'b> {
        Ex { emitter: self, value }
    }
    /// Appends an instruction by hand.
    pub fn with<R>(&self, f: impl FnOnce(&mut FunctionBuilder) -> R) -> R {
        f(&mut self.builder.borrow_mut())
    }
}

impl Ex<'_, '_> {
    /// Returns the value of the function that it represents.
    #[must_use]
    pub fn value(&self) -> Value {
        self.value
    }

    /// Appends the complex conjugate; a real number is returned unchanged.
    #[must_use]
    pub fn conj(&self) -> Self {
        if matches!(self.kind(), Kind::Complex | Kind::Array(Element::Complex)) {
            self.mixed(Mixed::Conj, &[])
        } else {
            self.clone()
        }
    }

    /// Returns its kind, which is real or complex, or an array of such.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.emitter.with(|b| b.kind(self.value).clone())
    }

    /// Appends an op between kinds, with this as first operand.
    #[must_use]
    pub fn mixed(&self, op: Mixed, more: &[Value]) -> Self {
        let args: Vec<Value> = std::iter::once(self.value).chain(more.iter().copied()).collect();
        self.same(|b| b.mixed(op, &args))
    }

    fn same(&self, f: impl FnOnce(&mut FunctionBuilder) -> Value) -> Self {
        Ex { emitter: self.emitter, value: self.emitter.with(f) }
    }
    fn number1(&self, op: Number1) -> Self {
        self.same(|b| b.number1(op, self.value))
    }
    fn number2(&self, op: Number2, y: Value) -> Self {
        self.same(|b| {
            let one = |v| b.constant(v).filter(|x| x.abs() == 1.0);
            match (op, one(self.value), one(y)) {
                (Number2::Mul, Some(1.0), _) => y,
                (Number2::Mul | Number2::Div, _, Some(1.0)) => self.value,
                (Number2::Mul, Some(_), _) => b.number1(Number1::Neg, y),
                (Number2::Mul | Number2::Div, _, Some(_)) => b.number1(Number1::Neg, self.value),
                _ => b.number2(op, self.value, y),
            }
        })
    }
    fn real1(&self, op: Real1) -> Self {
        self.same(|b| b.lifted(Op::Real1(op), &[self.value], Kind::Real))
    }
    /// Appends the angle of the point `(x, self)`.
    #[must_use]
    pub fn atan2(&self, x: &Self) -> Self {
        self.same(|b| b.lifted(Op::Real2(Real2::Atan2), &[self.value, x.value], Kind::Real))
    }
    /// Appends `sqrt(self^2 + y^2)`.
    #[must_use]
    pub fn hypot(&self, y: &Self) -> Self {
        self.same(|b| b.lifted(Op::Real2(Real2::Hypot), &[self.value, y.value], Kind::Real))
    }
    /// Appends `self^y`.
    #[must_use]
    pub fn pow(&self, y: &Self) -> Self {
        self.number2(Number2::Pow, y.value)
    }
}

impl Piecewise for Ex<'_, '_> {
    fn lit(&self, x: f64) -> Self {
        let kind = self.kind();
        self.same(|b| b.number(x, &kind))
    }
    fn abs_slope(&self) -> Self {
        self.real1(Real1::AbsSlope)
    }
    fn sign(&self) -> Self {
        self.real1(Real1::Sign)
    }
    fn trunc(&self) -> Self {
        self.real1(Real1::Trunc)
    }
    fn step(&self, y: &Self) -> Self {
        let array = |x: &Self| matches!(x.kind(), Kind::Array(_));
        if array(self) || array(y) {
            return self.same(|b| b.on_arrays(ArrayOp::Step, &[self.value, y.value]));
        }
        self.same(|b| {
            let at_least = b.inst(Op::Compare(Compare::Ge), &[self.value, y.value], Kind::Bool);
            let (one, zero) = (b.real(1.0), b.real(0.0));
            b.inst(Op::Select, &[at_least, one, zero], Kind::Real)
        })
    }
    fn scale(&self, d: &Self) -> Self {
        self.number2(Number2::Scale, d.value)
    }
    fn guard(&self, d: &Self) -> Self {
        self.number2(Number2::Guard, d.value)
    }
    fn ratio(&self, y: &Self) -> Self {
        self.same(|b| b.lifted(Op::Real2(Real2::Ratio), &[self.value, y.value], Kind::Real))
    }
    fn sigmoid(&self) -> Self {
        self.real1(Real1::Sigmoid)
    }
    fn polygamma(&self, n: i64) -> Self {
        let n = self.emitter.with(|b| b.int(n));
        self.mixed(Mixed::Polygamma, &[n])
    }
}

macro_rules! functions {
    ($($f:ident $Op:ident)*) => {
        impl Ex<'_, '_> {
            $(
                #[doc = concat!("As [`Scalar::", stringify!($f), "`](crate::scalar::Scalar::", stringify!($f), ").")]
                #[must_use]
                pub fn $f(&self) -> Self { self.number1(Number1::$Op) }
            )*
        }
    };
}
functions! { recip Recip sqrt Sqrt exp Exp ln Ln sin Sin cos Cos sinh Sinh cosh Cosh }

macro_rules! operators {
    ($($Op:ident $op:ident)*) => {$(
        impl<'e, 'b> $Op for &Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: Self) -> Ex<'e, 'b> { self.number2(Number2::$Op, y.value) }
        }
        impl<'e, 'b> $Op for Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: Self) -> Ex<'e, 'b> { self.number2(Number2::$Op, y.value) }
        }
        impl<'e, 'b> $Op<&Ex<'e, 'b>> for Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: &Ex<'e, 'b>) -> Ex<'e, 'b> { self.number2(Number2::$Op, y.value) }
        }
        impl<'e, 'b> $Op<Ex<'e, 'b>> for &Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: Ex<'e, 'b>) -> Ex<'e, 'b> { self.number2(Number2::$Op, y.value) }
        }
        impl<'e, 'b> $Op<f64> for &Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: f64) -> Ex<'e, 'b> { self.number2(Number2::$Op, self.lit(y).value) }
        }
        impl<'e, 'b> $Op<f64> for Ex<'e, 'b> {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: f64) -> Ex<'e, 'b> { self.number2(Number2::$Op, self.lit(y).value) }
        }
        impl<'e, 'b> $Op<&Ex<'e, 'b>> for f64 {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: &Ex<'e, 'b>) -> Ex<'e, 'b> { y.lit(self).number2(Number2::$Op, y.value) }
        }
        impl<'e, 'b> $Op<Ex<'e, 'b>> for f64 {
            type Output = Ex<'e, 'b>;
            fn $op(self, y: Ex<'e, 'b>) -> Ex<'e, 'b> { y.lit(self).number2(Number2::$Op, y.value) }
        }
    )*};
}
operators! { Add add Sub sub Mul mul Div div }

impl Neg for Ex<'_, '_> {
    type Output = Self;
    fn neg(self) -> Self {
        self.number1(Number1::Neg)
    }
}
impl<'e, 'b> Neg for &Ex<'e, 'b> {
    type Output = Ex<'e, 'b>;
    fn neg(self) -> Ex<'e, 'b> {
        self.number1(Number1::Neg)
    }
}
