//! User-defined operators: a value and a gradient, with state of their own.

use std::{fmt, sync::Arc};

use crate::{array::Array, scalar::Scalar};

/// An operation with a gradient of its own.
///
/// ```
/// use ketgrad_core::tape::{ScalarOperator, Tape};
///
/// /// `w . x + b` with fixed weights, and a choice.
/// struct Linear { weights: Vec<f64>, bias: f64, rectified: bool }
/// impl ScalarOperator<f64> for Linear {
///     fn name(&self) -> &str { "linear" }
///     fn arity(&self) -> Option<usize> { Some(self.weights.len()) }
///     fn forward(&self, x: &[f64]) -> Result<f64, String> {
///         let y = x.iter().zip(&self.weights).fold(self.bias, |s, (x, w)| s + w * x);
///         Ok(if self.rectified { y.max(0.0) } else { y })
///     }
///     fn backward(&self, _: &[f64], y: &f64, y_bar: &f64) -> Result<Vec<f64>, String> {
///         let on = if self.rectified && *y <= 0.0 { 0.0 } else { 1.0 };
///         Ok(self.weights.iter().map(|w| w * y_bar * on).collect())
///     }
/// }
///
/// let tape = Tape::new();
/// let (a, b) = (tape.variable("a", 1.0), tape.variable("b", 2.0));
/// let layer = tape.operator(Linear { weights: vec![3.0, -1.0], bias: 0.5, rectified: true });
/// let y = tape.apply(&layer, &[a, b])?;
/// y.backward()?;
/// assert_eq!((y.value(), a.gradient(), b.gradient()), (1.5, 3.0, -1.0));
/// # Ok::<(), ketgrad_core::tape::TapeError>(())
/// ```
///
/// Two closures do as well: see `from_closures` below.
pub trait ScalarOperator<S: Scalar>: Send + Sync {
    /// Returns its name, for messages and prints.
    fn name(&self) -> &str;
    /// Returns the number of inputs it takes; `None`: any number.
    fn arity(&self) -> Option<usize>;
    /// Computes the value.
    ///
    /// # Errors
    /// There is no value; the message is the reason.
    fn forward(&self, inputs: &[S]) -> Result<S, String>;
    /// Computes the cotangents of the inputs, one for each in order, from the cotangent of the
    /// output. On complex numbers the derivative is conjugated, see [`rules`](crate::rules).
    ///
    /// # Errors
    /// There are no cotangents; the message is the reason.
    fn backward(&self, inputs: &[S], output: &S, cotangent: &S) -> Result<Vec<S>, String>;
}

/// An operation on arrays with a gradient of its own.
///
/// ```
/// use ketgrad_core::{array::Array, tape::{ArrayOperator, Tape}};
///
/// /// Each element minus the mean of all.
/// struct Centred;
/// impl ArrayOperator<f64> for Centred {
///     fn name(&self) -> &str { "centred" }
///     fn arity(&self) -> Option<usize> { Some(1) }
///     fn forward(&self, x: &[Array<f64>]) -> Result<Array<f64>, String> {
///         let mean = x[0].iter().sum::<f64>() / x[0].len() as f64;
///         Ok(x[0].map(|x| x - mean))
///     }
///     fn backward(&self, _: &[Array<f64>], _: &Array<f64>, y_bar: &Array<f64>) -> Result<Vec<Array<f64>>, String> {
///         self.forward(std::slice::from_ref(y_bar)).map(|bar| vec![bar])
///     }
/// }
///
/// let tape = Tape::new();
/// let x = tape.array("x", Array::from(vec![1.0, 2.0, 6.0]));
/// let centred = tape.array_operator(Centred);
/// let y = tape.apply_to_arrays(&centred, &[x])?;
/// (y * y).sum().backward()?;
/// assert_eq!(y.value().items(), [-2.0, -1.0, 3.0]);
/// assert_eq!(x.gradient().items(), [-4.0, -2.0, 6.0]);
/// # Ok::<(), ketgrad_core::tape::TapeError>(())
/// ```
pub trait ArrayOperator<S: Scalar>: Send + Sync {
    /// Returns its name, for messages and prints.
    fn name(&self) -> &str;
    /// Returns the number of inputs it takes; `None`: any number.
    fn arity(&self) -> Option<usize>;
    /// Computes the value.
    ///
    /// # Errors
    /// There is no value; the message is the reason.
    fn forward(&self, inputs: &[Array<S>]) -> Result<Array<S>, String>;
    /// Computes the cotangents of the inputs, one for each in order and of its shape, from the
    /// cotangent of the output. On complex numbers the derivative is conjugated, see
    /// [`rules`](crate::rules).
    ///
    /// # Errors
    /// There are no cotangents; the message is the reason.
    fn backward(
        &self,
        inputs: &[Array<S>],
        output: &Array<S>,
        cotangent: &Array<S>,
    ) -> Result<Vec<Array<S>>, String>;
}

impl<S: Scalar> dyn ScalarOperator<S> {
    /// Creates an operator of two functions: the value, and the cotangents of the inputs from
    /// (inputs, output, cotangent).
    ///
    /// ```
    /// use ketgrad_core::tape::{ScalarOperator, Tape};
    ///
    /// let tape = Tape::new();
    /// let cube = <dyn ScalarOperator<f64>>::from_closures("cube", 1, |x| x[0].powi(3), |x, _, y_bar| vec![3.0 * x[0] * x[0] * y_bar]);
    /// let x = tape.variable("x", 2.0);
    /// let y = tape.apply(&cube, &[x])?;
    /// y.backward()?;
    /// assert_eq!((y.value(), x.gradient()), (8.0, 12.0));
    /// # Ok::<(), ketgrad_core::tape::TapeError>(())
    /// ```
    pub fn from_closures(
        name: &str,
        arity: usize,
        forward: impl Fn(&[S]) -> S + Send + Sync + 'static,
        backward: impl Fn(&[S], &S, &S) -> Vec<S> + Send + Sync + 'static,
    ) -> Arc<dyn ScalarOperator<S>> {
        Arc::new(ClosureOperator { name: name.to_owned(), arity, forward, backward })
    }
}

struct ClosureOperator<F, B> {
    name: String,
    arity: usize,
    forward: F,
    backward: B,
}

impl<S, F, B> ScalarOperator<S> for ClosureOperator<F, B>
where
    S: Scalar,
    F: Fn(&[S]) -> S + Send + Sync,
    B: Fn(&[S], &S, &S) -> Vec<S> + Send + Sync,
{
    fn name(&self) -> &str {
        &self.name
    }
    fn arity(&self) -> Option<usize> {
        Some(self.arity)
    }
    fn forward(&self, inputs: &[S]) -> Result<S, String> {
        Ok((self.forward)(inputs))
    }
    fn backward(&self, inputs: &[S], output: &S, cotangent: &S) -> Result<Vec<S>, String> {
        Ok((self.backward)(inputs, output, cotangent))
    }
}

impl<S: Scalar> fmt::Debug for dyn ScalarOperator<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
