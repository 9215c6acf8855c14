//! Values as users see them, and the sum of cotangents.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crate::{
    array::{Array, ArrayError, Shape, reshape_like},
    ir::{Element, Kind},
    scalar::{Real, Scalar},
};

/// A value of a program on the scalar `S`.
#[derive(Clone, Debug)]
pub enum Datum<S: Scalar> {
    /// A real number.
    Real(S::Real),
    /// A complex number.
    Complex(S),
    /// An integer.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// An index into a table of the host.
    Handle(u32),
    /// An array of real numbers.
    Reals(Arc<Array<S::Real>>),
    /// An array of complex numbers.
    Complexes(Arc<Array<S>>),
    /// An array of integers.
    Ints(Arc<Array<i64>>),
    /// A tuple or a struct.
    Tuple(Vec<Datum<S>>),
}

impl<S: Scalar> Datum<S> {
    /// Creates an array of real numbers.
    #[must_use]
    pub fn reals(items: impl IntoIterator<Item = S::Real>) -> Datum<S> {
        Datum::Reals(Arc::new(items.into_iter().collect()))
    }
    /// Creates an array of real numbers with a shape, from its elements in row-major order.
    ///
    /// ```
    /// use ketgrad_core::exec::Datum;
    ///
    /// let a = Datum::<f64>::reals_of(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
    /// assert_eq!(a.to_string(), "[[1.0, 2.0], [3.0, 4.0]]");
    /// # Ok::<(), ketgrad_core::array::ArrayError>(())
    /// ```
    ///
    /// # Errors
    /// The elements do not fill the shape.
    pub fn reals_of(shape: &[usize], items: Vec<S::Real>) -> Result<Datum<S>, ArrayError> {
        Ok(Datum::Reals(Arc::new(Array::new(shape, items)?)))
    }
    /// Creates an array of complex numbers with a shape, from its elements in row-major order.
    ///
    /// # Errors
    /// The elements do not fill the shape.
    pub fn complexes_of(shape: &[usize], items: Vec<S>) -> Result<Datum<S>, ArrayError> {
        Ok(Datum::Complexes(Arc::new(Array::new(shape, items)?)))
    }
    /// Creates an array of complex numbers.
    #[must_use]
    pub fn complexes(items: impl IntoIterator<Item = S>) -> Datum<S> {
        Datum::Complexes(Arc::new(items.into_iter().collect()))
    }
    /// Creates an array of integers.
    #[must_use]
    pub fn ints(items: impl IntoIterator<Item = i64>) -> Datum<S> {
        Datum::Ints(Arc::new(items.into_iter().collect()))
    }
    /// Creates an array of integers with a shape, from its elements in row-major order.
    ///
    /// # Errors
    /// The elements do not fill the shape.
    pub fn ints_of(shape: &[usize], items: Vec<i64>) -> Result<Datum<S>, ArrayError> {
        Ok(Datum::Ints(Arc::new(Array::new(shape, items)?)))
    }
    /// Returns the real number, if it is one.
    #[must_use]
    pub fn real(&self) -> Option<&S::Real> {
        match self {
            Datum::Real(x) => Some(x),
            _ => None,
        }
    }
    /// Returns the complex number, if it is one.
    #[must_use]
    pub fn complex(&self) -> Option<&S> {
        match self {
            Datum::Complex(x) => Some(x),
            _ => None,
        }
    }
    /// Returns the fields of a tuple; any other value is its own only field.
    #[must_use]
    pub fn fields(&self) -> &[Datum<S>] {
        match self {
            Datum::Tuple(fields) => fields,
            one => std::slice::from_ref(one),
        }
    }
    /// Returns the name of its kind.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Datum::Real(_) => "real".into(),
            Datum::Complex(_) => "complex".into(),
            Datum::Int(_) => "int".into(),
            Datum::Bool(_) => "bool".into(),
            Datum::Handle(_) => "handle".into(),
            Datum::Reals(_) => "array<real>".into(),
            Datum::Complexes(_) => "array<complex>".into(),
            Datum::Ints(_) => "array<int>".into(),
            Datum::Tuple(fields) => {
                format!("({})", fields.iter().map(Datum::describe).collect::<Vec<_>>().join(", "))
            }
        }
    }
    /// Returns true if it is of the kind.
    #[must_use]
    pub fn is(&self, kind: &Kind) -> bool {
        match (self, kind) {
            (Datum::Real(_), Kind::Real)
            | (Datum::Complex(_), Kind::Complex)
            | (Datum::Int(_), Kind::Int)
            | (Datum::Bool(_), Kind::Bool)
            | (Datum::Handle(_), Kind::Handle)
            | (Datum::Reals(_), Kind::Array(Element::Real))
            | (Datum::Complexes(_), Kind::Array(Element::Complex))
            | (Datum::Ints(_), Kind::Array(Element::Int)) => true,
            (Datum::Tuple(fields), Kind::Tuple(t)) => {
                fields.len() == t.fields.len()
                    && fields.iter().zip(&t.fields).all(|(v, f)| v.is(&f.kind))
            }
            _ => false,
        }
    }
    /// Returns the zero tangent of a value; `None` if its kind has none.
    #[must_use]
    pub fn zero_tangent(&self) -> Option<Datum<S>> {
        Some(match self {
            Datum::Real(_) => Datum::Real(zero()),
            Datum::Complex(_) => Datum::Complex(S::zero()),
            Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(|_| zero()))),
            Datum::Complexes(xs) => Datum::Complexes(Arc::new(xs.map(|_| S::zero()))),
            Datum::Tuple(fields) => {
                let fields: Vec<_> = fields.iter().filter_map(Datum::zero_tangent).collect();
                if fields.is_empty() {
                    return None;
                }
                Datum::Tuple(fields)
            }
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => return None,
        })
    }
    /// Returns true if its kind has tangents.
    pub(super) fn has_tangent(&self) -> bool {
        match self {
            Datum::Real(_) | Datum::Complex(_) | Datum::Reals(_) | Datum::Complexes(_) => true,
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => false,
            Datum::Tuple(fields) => fields.iter().any(Datum::has_tangent),
        }
    }
    /// Returns the sizes of the first array of a (co)tangent that is too long for the value it
    /// belongs to, and of that value's. Arrays that are `given` from outside must have their shape,
    /// or be a row of at most as many elements.
    pub(super) fn too_long(&self, value: &Datum<S>, given: bool) -> Option<[Shape; 2]> {
        let (own, whole) = match (self, value) {
            (Datum::Reals(d), Datum::Reals(x)) if !d.same_shape(x) => (d.shape(), x.shape()),
            (Datum::Complexes(d), Datum::Complexes(x)) if !d.same_shape(x) => {
                (d.shape(), x.shape())
            }
            (Datum::Tuple(d), Datum::Tuple(x)) => {
                let differentiable = x.iter().filter(|v| v.has_tangent());
                return d.iter().zip(differentiable).find_map(|(d, v)| d.too_long(v, given));
            }
            _ => return None,
        };
        let len = |shape: &Shape| shape.iter().product::<usize>();
        let wrong = len(&own) > len(&whole) || given && own.len() > 1;
        wrong.then_some([own, whole])
    }
    /// Extends the arrays of a (co)tangent with zeros to the shapes of the value it belongs to.
    pub(crate) fn extend_like(&mut self, value: &Datum<S>) {
        match (self, value) {
            (Datum::Reals(d), Datum::Reals(x)) if !d.same_shape(x) && d.len() <= x.len() => {
                reshape_like(Arc::make_mut(d), &x.shape());
            }
            (Datum::Complexes(d), Datum::Complexes(x))
                if !d.same_shape(x) && d.len() <= x.len() =>
            {
                reshape_like(Arc::make_mut(d), &x.shape());
            }
            (Datum::Tuple(d), Datum::Tuple(x)) => {
                let differentiable = x.iter().filter(|v| v.has_tangent());
                d.iter_mut().zip(differentiable).for_each(|(d, v)| d.extend_like(v));
            }
            _ => {}
        }
    }
}

fn zero<T: num_traits::Zero>() -> T {
    T::zero()
}

impl<T: Real, S: Scalar<Real = T> + PartialEq> PartialEq for Datum<S>
where
    T: PartialEq,
{
    fn eq(&self, other: &Datum<S>) -> bool {
        match (self, other) {
            (Datum::Real(a), Datum::Real(b)) => a == b,
            (Datum::Complex(a), Datum::Complex(b)) => a == b,
            (Datum::Int(a), Datum::Int(b)) => a == b,
            (Datum::Bool(a), Datum::Bool(b)) => a == b,
            (Datum::Handle(a), Datum::Handle(b)) => a == b,
            (Datum::Reals(a), Datum::Reals(b)) => a == b,
            (Datum::Complexes(a), Datum::Complexes(b)) => a == b,
            (Datum::Ints(a), Datum::Ints(b)) => a == b,
            (Datum::Tuple(a), Datum::Tuple(b)) => a == b,
            _ => false,
        }
    }
}

/// A cotangent that may be absent, a number, a tuple, or a tuple with names.
#[derive(Clone, Debug, PartialEq)]
pub enum Cotangent<R> {
    /// No cotangent: zero of the value it belongs to.
    None,
    /// A number.
    Number(R),
    /// Cotangents of the elements.
    Tuple(Vec<Cotangent<R>>),
    /// Cotangents by name; those of other names are `None`.
    Named(BTreeMap<String, Cotangent<R>>),
}

/// Cotangents that do not add up.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AccumulateError {
    /// A name that the first does not have.
    #[error("no field `{name}` to add to: expected one of {expected:?}")]
    Name {
        /// The name.
        name: String,
        /// The names there are.
        expected: Vec<String>,
    },
    /// Tuples of different lengths.
    #[error("a tuple of {given} elements cannot be added to one of {expected}")]
    Length {
        /// Length of the second.
        given: usize,
        /// Length of the first.
        expected: usize,
    },
    /// A number and a tuple.
    #[error("{given} cannot be added to {expected}")]
    Shape {
        /// The second.
        given: &'static str,
        /// The first.
        expected: &'static str,
    },
}

impl<R> Cotangent<R> {
    fn shape(&self) -> &'static str {
        match self {
            Cotangent::None => "none",
            Cotangent::Number(_) => "a number",
            Cotangent::Tuple(_) => "a tuple",
            Cotangent::Named(_) => "a named tuple",
        }
    }
}

/// Sums any number of cotangents. Tuples add element by element, named ones name by name.
///
/// # Errors
/// They have different shapes, or a later one has a name that the first does not have.
pub fn accumulate<R: Scalar>(
    cotangents: impl IntoIterator<Item = Cotangent<R>>,
) -> Result<Cotangent<R>, AccumulateError> {
    cotangents.into_iter().try_fold(Cotangent::None, |sum, c| add(sum, c))
}

fn add<R: Scalar>(a: Cotangent<R>, b: Cotangent<R>) -> Result<Cotangent<R>, AccumulateError> {
    Ok(match (a, b) {
        (Cotangent::None, c) | (c, Cotangent::None) => c,
        (Cotangent::Number(a), Cotangent::Number(b)) => Cotangent::Number(a + &b),
        (Cotangent::Tuple(a), Cotangent::Tuple(b)) if a.len() == b.len() => Cotangent::Tuple(
            a.into_iter().zip(b).map(|(a, b)| add(a, b)).collect::<Result<_, _>>()?,
        ),
        (Cotangent::Tuple(a), Cotangent::Tuple(b)) => {
            return Err(AccumulateError::Length { given: b.len(), expected: a.len() });
        }
        (Cotangent::Named(mut a), Cotangent::Named(b)) => {
            for (name, c) in b {
                let Some(old) = a.get_mut(&name) else {
                    return Err(AccumulateError::Name { name, expected: a.into_keys().collect() });
                };
                let sum = add(std::mem::replace(old, Cotangent::None), c)?;
                *old = sum;
            }
            Cotangent::Named(a)
        }
        (a, b) => return Err(AccumulateError::Shape { given: b.shape(), expected: a.shape() }),
    })
}

impl<S: Scalar> fmt::Display for Datum<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Datum::Real(x) => write!(f, "{x:?}"),
            Datum::Complex(x) => write!(f, "{x:?}"),
            Datum::Int(n) => write!(f, "{n}"),
            Datum::Bool(b) => write!(f, "{b}"),
            Datum::Handle(h) => write!(f, "handle {h}"),
            Datum::Reals(xs) => write!(f, "{xs}"),
            Datum::Complexes(xs) => write!(f, "{xs}"),
            Datum::Ints(xs) => write!(f, "{xs}"),
            Datum::Tuple(fields) => {
                f.write_str("(")?;
                for (k, field) in fields.iter().enumerate() {
                    write!(f, "{}{field}", if k > 0 { ", " } else { "" })?;
                }
                f.write_str(")")
            }
        }
    }
}
