//! Gates on symbols: [`Values`] of expressions bind circuits over `Complex<Expr>`, as of every real
//! number, and over [`ComplexExpr`].

use num_complex::Complex;

use crate::{
    param::{Angle, BindError, Binding, Values},
    scalar::Scalar,
};

use super::expr::{ComplexExpr, Expr};

/// Returns a complex number as one expression.
fn join(z: Complex<Expr>) -> ComplexExpr {
    ComplexExpr::new(z.re, z.im)
}

impl Binding<ComplexExpr> for Values<'_, Expr> {
    fn cis(&self, angle: &Angle) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::cis(self, angle).map(join)
    }
    fn half(&self) -> ComplexExpr {
        ComplexExpr::ratio(1, 2)
    }
    fn sqrt_half(&self) -> ComplexExpr {
        ComplexExpr::ratio(1, 2).sqrt()
    }
    fn number(&self, z: Complex<f64>) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::number(self, z).map(join)
    }
    fn cos(&self, angle: &Angle) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::cos(self, angle).map(join)
    }
    fn i_sin(&self, angle: &Angle) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::i_sin(self, angle).map(join)
    }
    fn probability(&self, p: &Angle) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::probability(self, p).map(join)
    }
    fn value(&self, angle: &Angle) -> Result<ComplexExpr, BindError> {
        Binding::<Complex<Expr>>::value(self, angle).map(join)
    }
    fn root(&self, x: ComplexExpr) -> Result<ComplexExpr, BindError> {
        Ok(x.sqrt())
    }
}
