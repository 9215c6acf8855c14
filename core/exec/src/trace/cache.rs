//! A function that is recorded once for each path and shape, and then only run.

use std::marker::PhantomData;

use num_complex::Complex;

use crate::{
    exec::{Datum, Derivatives},
    scalar::Ordered,
};

use super::{
    error::TraceError,
    record::{Recording, trace_at},
    shape::{Output, Valued},
};

/// A function with its recordings.
///
/// A call looks for a recording of the same shape whose conditions hold; if there is none, the
/// function runs on [`Traced`](super::Traced) numbers and is recorded. A recording is
/// differentiated and compiled when it is first used. Cost of a later call: the conditions of the
/// recordings that fit in shape, and the program.
///
/// ```
/// use ketgrad_core::{scalar::{Ordered, Scalar}, trace::{Cached, Traced}};
///
/// fn f<T: Ordered>(x: &T) -> T {
///     if x.cmp_primal(&T::zero()).is_some_and(|o| o.is_lt()) { x * x } else { x.exp() }
/// }
/// let mut f = Cached::new("f", &["x"], |x: Traced<f64>| f(&x));
/// for x in [1.0, 2.0, -3.0, -4.0, 0.5] {
///     let (y, slope) = f.value_and_gradient(x)?;
///     assert_eq!(y, if x < 0.0 { x * x } else { x.exp() });
/// }
/// assert_eq!(f.recordings().count(), 2);
/// # Ok::<(), ketgrad_core::trace::TraceError>(())
/// ```
pub struct Cached<R: Ordered, V: Valued<R>, O, F> {
    name: String,
    names: Vec<String>,
    f: F,
    known: Vec<(Recording, Derivatives<'static, Complex<R>>)>,
    types: PhantomData<fn(V) -> O>,
}

impl<R: Ordered, V: Valued<R>, O, F> std::fmt::Debug for Cached<R, V, O, F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} with {} recordings", self.name, self.known.len())
    }
}

impl<R: Ordered, V: Valued<R>, O: Output, F: Fn(V::Traced) -> O> Cached<R, V, O, F> {
    /// Creates a cached function without recordings.
    pub fn new(name: &str, names: &[&str], f: F) -> Cached<R, V, O, F> {
        let names = names.iter().map(|n| (*n).to_owned()).collect();
        Cached { name: name.into(), names, f, known: Vec::new(), types: PhantomData }
    }

    /// Returns the recordings.
    pub fn recordings(&self) -> impl Iterator<Item = &Recording> {
        self.known.iter().map(|(r, _)| r)
    }

    /// Computes the value.
    ///
    /// # Errors
    /// The function cannot be recorded, or fails.
    pub fn value(&mut self, values: V) -> Result<Datum<Complex<R>>, TraceError> {
        let (k, args) = self.find(values)?;
        Ok(self.known[k].1.value(&args)?)
    }

    /// Computes the value and the gradient by each parameter.
    ///
    /// # Errors
    /// Those of [`value`](Cached::value); the result is no real number.
    pub fn value_and_gradient(&mut self, values: V) -> Result<(R, ArgumentList<R>), TraceError> {
        let (k, args) = self.find(values)?;
        Ok(self.known[k].1.value_and_gradient(&args)?)
    }

    /// Returns the index of the recording that holds at these values, which is made if there is
    /// none, and the values as arguments.
    fn find(&mut self, values: V) -> Result<(usize, ArgumentList<R>), TraceError> {
        let datum = values.datum();
        let args = match datum {
            Datum::Tuple(fields) if self.names.len() > 1 => fields,
            one => vec![one],
        };
        for (k, (recording, _)) in self.known.iter().enumerate() {
            if recording.fits(&args) && recording.holds_at(&args)? {
                return Ok((k, args));
            }
        }
        let names: Vec<&str> = self.names.iter().map(String::as_str).collect();
        let recording = trace_at(&self.name, &names, values, &self.f)?;
        let derivatives = recording.derivatives()?;
        self.known.push((recording, derivatives));
        Ok((self.known.len() - 1, args))
    }
}

/// Arguments or cotangents of a recorded function, one for each parameter.
type ArgumentList<R> = Vec<Datum<Complex<R>>>;
