//! Rules: functions with derivatives.

use std::{any::Any, fmt};

use ketgrad_plugin_abi as abi;

use crate::{
    C64,
    error::Result,
    operation::{ErasedOperation, Operation},
};

/// Element type of arrays.
pub trait Element: Copy + Default + fmt::Debug + Send + Sync + 'static + sealed::Sealed {
    #[doc(hidden)]
    const DTYPE: u32;
    #[doc(hidden)]
    fn slot(dense: Box<dyn ErasedDense<Self>>) -> Kernel;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for crate::C64 {}
}

impl Element for f64 {
    const DTYPE: u32 = abi::F64;
    fn slot(dense: Box<dyn ErasedDense<f64>>) -> Kernel {
        Kernel::DenseF64(dense)
    }
}
impl Element for C64 {
    const DTYPE: u32 = abi::C64;
    fn slot(dense: Box<dyn ErasedDense<C64>>) -> Kernel {
        Kernel::DenseC64(dense)
    }
}

/// Array, or a single number of no dimensions.
#[derive(Clone, Copy, Debug)]
pub struct View<'a, T> {
    /// Lengths of the dimensions.
    pub shape: &'a [u64],
    /// Elements in row-major order.
    pub data: &'a [T],
}

/// Array to be filled.
#[derive(Debug)]
pub struct ViewMut<'a, T> {
    /// Lengths of the dimensions.
    pub shape: &'a [u64],
    /// Elements in row-major order; zeros at first.
    pub data: &'a mut [T],
}

/// Kernel on arrays and numbers.
///
/// ```
/// use ketgrad_plugin_sdk::{Dense, Result, RuleDef, View, ViewMut};
///
/// /// The squared length of an array.
/// struct Norm2;
/// impl Dense<f64> for Norm2 {
///     type Tape = ();
///     fn shape(&self, _: &[View<'_, f64>]) -> Result<Vec<u64>> { Ok(vec![]) }
///     fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
///         y.data[0] = x[0].data.iter().map(|x| x * x).sum();
///         Ok(())
///     }
///     fn pullback(&self, _: &(), x: &[View<'_, f64>], _: View<'_, f64>, y_bar: View<'_, f64>, x_bar: &mut [ViewMut<'_, f64>]) -> Result<()> {
///         x_bar[0].data.iter_mut().zip(x[0].data).for_each(|(d, x)| *d = 2.0 * x * y_bar.data[0]);
///         Ok(())
///     }
/// }
/// let rule = RuleDef::new("norm2", 1).signature("(xs: array) -> real").dense(Norm2);
/// ketgrad_plugin_sdk::check_rule(&rule, &[1.5])?;
/// # Ok::<(), ketgrad_plugin_sdk::Error>(())
/// ```
pub trait Dense<T: Element>: Send + Sync + 'static {
    /// Data that the pullback needs from the forward pass.
    type Tape: Send + Sync + 'static;
    /// Shape of the result.
    ///
    /// # Errors
    /// The shapes of the inputs do not match.
    fn shape(&self, x: &[View<'_, T>]) -> Result<Vec<u64>>;
    /// Computes the result.
    ///
    /// # Errors
    /// The kernel has no value at the inputs, or fails.
    fn forward(&self, x: &[View<'_, T>], y: ViewMut<'_, T>) -> Result<Self::Tape>;
    /// Computes the cotangents of the inputs. On complex numbers the derivative is conjugated.
    ///
    /// # Errors
    /// The kernel has no derivative at the inputs, or fails.
    fn pullback(
        &self,
        tape: &Self::Tape,
        x: &[View<'_, T>],
        y: View<'_, T>,
        y_bar: View<'_, T>,
        x_bar: &mut [ViewMut<'_, T>],
    ) -> Result<()>;
}

/// [`Dense`] with its tape as any type.
#[doc(hidden)]
pub trait ErasedDense<T>: Send + Sync {
    fn shape(&self, x: &[View<'_, T>]) -> Result<Vec<u64>>;
    fn forward(&self, x: &[View<'_, T>], y: ViewMut<'_, T>) -> Result<Box<dyn Any + Send + Sync>>;
    fn pullback(
        &self,
        tape: &(dyn Any + Send + Sync),
        x: &[View<'_, T>],
        y: View<'_, T>,
        y_bar: View<'_, T>,
        x_bar: &mut [ViewMut<'_, T>],
    ) -> Result<()>;
}

impl<T: Element, D: Dense<T>> ErasedDense<T> for D {
    fn shape(&self, x: &[View<'_, T>]) -> Result<Vec<u64>> {
        Dense::shape(self, x)
    }
    fn forward(&self, x: &[View<'_, T>], y: ViewMut<'_, T>) -> Result<Box<dyn Any + Send + Sync>> {
        Ok(Box::new(Dense::forward(self, x, y)?))
    }
    fn pullback(
        &self,
        tape: &(dyn Any + Send + Sync),
        x: &[View<'_, T>],
        y: View<'_, T>,
        y_bar: View<'_, T>,
        x_bar: &mut [ViewMut<'_, T>],
    ) -> Result<()> {
        let tape = tape.downcast_ref().ok_or("the tape is of another rule")?;
        Dense::pullback(self, tape, x, y, y_bar, x_bar)
    }
}

/// Kernel on numbers.
pub(crate) type ScalarKernel<T> = Box<dyn Fn(&[T]) -> T + Send + Sync>;

/// Kernel on numbers that returns an error where it has no value.
pub(crate) type FallibleScalarKernel<T> = Box<dyn Fn(&[T]) -> Result<T> + Send + Sync>;

/// Compiled part of a rule.
#[doc(hidden)]
pub enum Kernel {
    None,
    F64(ScalarKernel<f64>),
    C64(ScalarKernel<C64>),
    TryF64(FallibleScalarKernel<f64>),
    TryC64(FallibleScalarKernel<C64>),
    DenseF64(Box<dyn ErasedDense<f64>>),
    DenseC64(Box<dyn ErasedDense<C64>>),
    Operation(Box<dyn ErasedOperation>),
}

/// Rule to be registered. Two of one name, one on real and one on complex numbers, share the name:
/// a program that calls it with a complex number gets the second.
pub struct RuleDef {
    pub(crate) name: String,
    pub(crate) n_in: u32,
    /// Number of results; known when it is registered.
    pub(crate) n_out: u32,
    pub(crate) signature: String,
    pub(crate) program: String,
    pub(crate) kernel: Kernel,
}

impl RuleDef {
    /// Name under which programs call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of inputs.
    #[must_use]
    pub fn n_in(&self) -> usize {
        self.n_in as usize
    }

    /// Returns a rule of that many inputs, without a kernel or a program.
    #[must_use]
    pub fn new(name: &str, n_in: u32) -> RuleDef {
        RuleDef {
            name: name.to_owned(),
            n_in,
            n_out: 1,
            signature: String::new(),
            program: String::new(),
            kernel: Kernel::None,
        }
    }
    /// Sets the kinds of the inputs and results, in the words of the program language:
    /// `(n: int, x) -> real`, of several results `(zs: array<complex>) -> (complex, array)`.
    /// Without one: numbers.
    #[must_use]
    pub fn signature(mut self, signature: &str) -> RuleDef {
        signature.clone_into(&mut self.signature);
        self
    }
    /// Sets the rule as text: `rule name(x) { … } pullback(x, y, y_bar) { … }`, and functions that
    /// it needs before it. In it `kernel(…)` is the kernel.
    #[must_use]
    pub fn program(mut self, text: &str) -> RuleDef {
        text.clone_into(&mut self.program);
        self
    }
    /// Sets the kernel on real numbers. An int among the inputs is passed as a number.
    #[must_use]
    pub fn f64(mut self, kernel: impl Fn(&[f64]) -> f64 + Send + Sync + 'static) -> RuleDef {
        self.kernel = Kernel::F64(Box::new(kernel));
        self
    }
    /// Sets the kernel on complex numbers.
    #[must_use]
    pub fn c64(mut self, kernel: impl Fn(&[C64]) -> C64 + Send + Sync + 'static) -> RuleDef {
        self.kernel = Kernel::C64(Box::new(kernel));
        self
    }
    /// Sets the kernel on real numbers, of a function that has no value at some points. An error is
    /// reported to the user of the program, with the rule, its plugin and the arguments; a kernel
    /// that gives NaN there reports nothing. Each call costs a comparison more than with
    /// [`RuleDef::f64`].
    ///
    /// ```
    /// use ketgrad_plugin_sdk::{RuleDef, check_rule};
    /// let rule = RuleDef::new("log1p", 1)
    ///     .try_f64(|x| if x[0] > -1.0 { Ok(x[0].ln_1p()) } else { Err("log1p needs an argument above -1".into()) })
    ///     .program("rule log1p(x) { kernel(x) } pullback(x, y, y_bar) { y_bar / (1.0 + x) }");
    /// check_rule(&rule, &[0.5])?;
    /// assert!(check_rule(&rule, &[-2.0]).unwrap_err().to_string().contains("above -1"));
    /// # Ok::<(), ketgrad_plugin_sdk::Error>(())
    /// ```
    #[must_use]
    pub fn try_f64(
        mut self,
        kernel: impl Fn(&[f64]) -> Result<f64> + Send + Sync + 'static,
    ) -> RuleDef {
        self.kernel = Kernel::TryF64(Box::new(kernel));
        self
    }
    /// Sets the kernel on complex numbers, of a function that has no value at some points; see
    /// [`RuleDef::try_f64`].
    #[must_use]
    pub fn try_c64(
        mut self,
        kernel: impl Fn(&[C64]) -> Result<C64> + Send + Sync + 'static,
    ) -> RuleDef {
        self.kernel = Kernel::TryC64(Box::new(kernel));
        self
    }
    /// Sets the kernel on arrays, with its pullback.
    #[must_use]
    pub fn dense<T: Element>(mut self, kernel: impl Dense<T>) -> RuleDef {
        self.kernel = T::slot(Box::new(kernel));
        self
    }
    /// Sets the kernel of several results, or of real and complex numbers together, with its
    /// pullback. It needs a [signature](RuleDef::signature).
    #[must_use]
    pub fn operation(mut self, kernel: impl Operation) -> RuleDef {
        self.kernel = Kernel::Operation(Box::new(kernel));
        self
    }
}

impl fmt::Debug for RuleDef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rule {}", self.name)
    }
}
