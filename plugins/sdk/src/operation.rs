//! Kernels of several results and of mixed kinds of numbers.

use std::any::Any;

use crate::{
    C64,
    error::{Error, Result},
    rule::{View, ViewMut},
};

/// Argument, result or cotangent of an [`Operation`].
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// Real numbers, and ints as such.
    Real(View<'a, f64>),
    /// Complex numbers.
    Complex(View<'a, C64>),
}

impl<'a> Value<'a> {
    /// Returns the real numbers.
    ///
    /// # Errors
    /// They are complex: the signature and the kernel differ.
    pub fn real(&self) -> Result<View<'a, f64>> {
        match self {
            Value::Real(view) => Ok(*view),
            Value::Complex(_) => {
                Err(Error::new("expected real numbers, given complex ones: see the signature"))
            }
        }
    }
    /// Returns the complex numbers.
    ///
    /// # Errors
    /// They are real: the signature and the kernel differ.
    pub fn complex(&self) -> Result<View<'a, C64>> {
        match self {
            Value::Complex(view) => Ok(*view),
            Value::Real(_) => {
                Err(Error::new("expected complex numbers, given real ones: see the signature"))
            }
        }
    }
    /// Lengths of the dimensions.
    #[must_use]
    pub fn shape(&self) -> &'a [u64] {
        match self {
            Value::Real(view) => view.shape,
            Value::Complex(view) => view.shape,
        }
    }
}

/// Result or cotangent that an [`Operation`] fills.
#[derive(Debug)]
pub enum ValueMut<'a> {
    /// Real numbers.
    Real(ViewMut<'a, f64>),
    /// Complex numbers.
    Complex(ViewMut<'a, C64>),
}

impl<'a> ValueMut<'a> {
    /// Returns the real numbers.
    ///
    /// # Errors
    /// They are complex: the signature and the kernel differ.
    pub fn real(&mut self) -> Result<&mut ViewMut<'a, f64>> {
        match self {
            ValueMut::Real(view) => Ok(view),
            ValueMut::Complex(_) => {
                Err(Error::new("expected real numbers, given complex ones: see the signature"))
            }
        }
    }
    /// Returns the complex numbers.
    ///
    /// # Errors
    /// They are real: the signature and the kernel differ.
    pub fn complex(&mut self) -> Result<&mut ViewMut<'a, C64>> {
        match self {
            ValueMut::Complex(view) => Ok(view),
            ValueMut::Real(_) => {
                Err(Error::new("expected complex numbers, given real ones: see the signature"))
            }
        }
    }
}

/// Kernel of several results, or of real and complex numbers together, as the
/// [signature](crate::RuleDef::signature) says. Programs get several results as a tuple. Since
/// version 1.3 of the interface.
///
/// ```
/// use ketgrad_plugin_sdk::{C64, Operation, Result, RuleDef, Value, ValueMut};
///
/// /// The sum of complex numbers, and that of their squared moduli.
/// struct Sums;
/// impl Operation for Sums {
///     type Tape = ();
///     fn shapes(&self, _: &[Value<'_>]) -> Result<Vec<Vec<u64>>> { Ok(vec![vec![], vec![]]) }
///     fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<()> {
///         let z = x[0].complex()?;
///         y[0].complex()?.data[0] = z.data.iter().sum();
///         y[1].real()?.data[0] = z.data.iter().map(C64::norm_sqr).sum();
///         Ok(())
///     }
///     fn pullback(&self, _: &(), x: &[Value<'_>], _: &[Value<'_>], y_bar: &[Value<'_>], x_bar: &mut [ValueMut<'_>]) -> Result<()> {
///         let (z, sum, squares) = (x[0].complex()?, y_bar[0].complex()?.data[0], y_bar[1].real()?.data[0]);
///         x_bar[0].complex()?.data.iter_mut().zip(z.data).for_each(|(bar, z)| *bar = sum + 2.0 * squares * z);
///         Ok(())
///     }
/// }
/// let rule = RuleDef::new("sums", 1).signature("(zs: array<complex>) -> (complex, real)").operation(Sums);
/// # assert_eq!(rule.name(), "sums");
/// ```
pub trait Operation: Send + Sync + 'static {
    /// Data that the pullback needs from the forward pass.
    type Tape: Send + Sync + 'static;
    /// Shapes of the results: no lengths for a number, 1 to 8 for an array.
    ///
    /// # Errors
    /// The shapes of the inputs do not match.
    fn shapes(&self, x: &[Value<'_>]) -> Result<Vec<Vec<u64>>>;
    /// Computes the results.
    ///
    /// # Errors
    /// The kernel has no value at the inputs, or fails.
    fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<Self::Tape>;
    /// Computes the cotangents of the inputs, which are zeros at first. The cotangent of a complex
    /// number `u + iv` is `dL/du + i dL/dv` of a real loss L; that of an int is not read.
    ///
    /// # Errors
    /// The kernel has no derivative at the inputs, or fails.
    fn pullback(
        &self,
        tape: &Self::Tape,
        x: &[Value<'_>],
        y: &[Value<'_>],
        y_bar: &[Value<'_>],
        x_bar: &mut [ValueMut<'_>],
    ) -> Result<()>;
}

type OperationTape = Box<dyn Any + Send + Sync>;

/// [`Operation`] with its tape as any type.
#[doc(hidden)]
pub trait ErasedOperation: Send + Sync {
    fn shapes(&self, x: &[Value<'_>]) -> Result<Vec<Vec<u64>>>;
    fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<OperationTape>;
    fn pullback(
        &self,
        tape: &(dyn Any + Send + Sync),
        x: &[Value<'_>],
        y: &[Value<'_>],
        y_bar: &[Value<'_>],
        x_bar: &mut [ValueMut<'_>],
    ) -> Result<()>;
}

impl<O: Operation> ErasedOperation for O {
    fn shapes(&self, x: &[Value<'_>]) -> Result<Vec<Vec<u64>>> {
        Operation::shapes(self, x)
    }
    fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<OperationTape> {
        Ok(Box::new(Operation::forward(self, x, y)?))
    }
    fn pullback(
        &self,
        tape: &(dyn Any + Send + Sync),
        x: &[Value<'_>],
        y: &[Value<'_>],
        y_bar: &[Value<'_>],
        x_bar: &mut [ValueMut<'_>],
    ) -> Result<()> {
        let tape = tape.downcast_ref().ok_or("the tape is of another rule")?;
        Operation::pullback(self, tape, x, y, y_bar, x_bar)
    }
}
