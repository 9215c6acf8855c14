//! Transforms of functions within a program, such as `grad(f)`.

use super::DiffError;
use crate::ir::{Element, Kind};

/// Transform of a function within a program.
///
/// | | takes | gives |
/// |---|---|---|
/// | `grad` | what `f` takes | the gradient by its first parameter; `f` gives a real number |
/// | `value_and_grad` | what `f` takes | `(value, gradient)` |
/// | `jvp` | what `f` takes, a tangent for each parameter that has one | `(value, tangent)` |
/// | `vjp` | what `f` takes, a cotangent of the result | the cotangent of the parameter, or a tuple of those of several |
/// | `hessian` | what `f` takes | second derivatives by the first parameter, a real number or an array: a number or a matrix |
/// | `matrix_function` | what `f` takes, a matrix for the real number that is the first | `V diag(f(w)) V^T` of the eigenvalues and eigenvectors of its symmetric part |
///
/// Cotangents that are returned have all elements of the arrays that they belong to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Transform {
    /// `grad(f)`
    Grad,
    /// `value_and_grad(f)`
    ValueAndGrad,
    /// `jvp(f)`
    Jvp,
    /// `vjp(f)`
    Vjp,
    /// `hessian(f)`
    Hessian,
    /// `matrix_function(f)`
    MatrixFunction,
}

impl Transform {
    /// All of them.
    pub const ALL: [Transform; 6] = [
        Transform::Grad,
        Transform::ValueAndGrad,
        Transform::Jvp,
        Transform::Vjp,
        Transform::Hessian,
        Transform::MatrixFunction,
    ];

    /// Returns the name in programs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Transform::Grad => "grad",
            Transform::ValueAndGrad => "value_and_grad",
            Transform::Jvp => "jvp",
            Transform::Vjp => "vjp",
            Transform::Hessian => "hessian",
            Transform::MatrixFunction => "matrix_function",
        }
    }

    /// Returns the transform of that name.
    pub(crate) fn by_name(name: &str) -> Option<Transform> {
        Transform::ALL.into_iter().find(|t| t.name() == name)
    }

    /// Returns the parameters and the result of the transform of a function with parameters
    /// `params` and result `result`.
    ///
    /// # Errors
    /// If a function of that signature has no such transform.
    pub(crate) fn signature(
        self,
        params: &[Kind],
        result: &Kind,
    ) -> Result<(Vec<Kind>, Kind), TransformError> {
        let wrong = |given: String, expected| TransformError::Signature {
            transform: self,
            given,
            expected,
        };
        let of_first = || match params.first().map(|kind| (kind, kind.tangent())) {
            Some((_, Some(tangent))) => Ok(tangent),
            Some((kind, None)) => {
                let expected = "a function of a first parameter that can be differentiated by";
                Err(wrong(format!("one of {kind}"), expected))
            }
            None => Err(wrong("one without".into(), "a function with a parameter")),
        };
        let of_result = || {
            let expected = "a function whose result can be differentiated";
            result.tangent().ok_or_else(|| wrong(format!("one that gives {result}"), expected))
        };
        let tangents: Vec<Kind> = params.iter().filter_map(Kind::tangent).collect();
        if matches!(self, Transform::Grad | Transform::ValueAndGrad | Transform::Hessian)
            && *result != Kind::Real
        {
            return Err(wrong(
                format!("one that gives {result}"),
                "a function that gives a real number",
            ));
        }
        if matches!(self, Transform::Jvp | Transform::Vjp) && tangents.is_empty() {
            let expected = "a function with a parameter that can be differentiated by";
            return Err(wrong("one without".into(), expected));
        }
        Ok(match self {
            Transform::Grad => (params.to_vec(), of_first()?),
            Transform::ValueAndGrad => (params.to_vec(), Kind::tuple([Kind::Real, of_first()?])),
            Transform::Jvp => {
                ([params, &tangents].concat(), Kind::tuple([result.clone(), of_result()?]))
            }
            Transform::Vjp => {
                let bars =
                    if tangents.len() == 1 { tangents[0].clone() } else { Kind::tuple(tangents) };
                ([params, &[of_result()?]].concat(), bars)
            }
            Transform::MatrixFunction => match (params, result) {
                ([Kind::Real, rest @ ..], Kind::Real) => {
                    let matrix = Kind::Array(Element::Real);
                    ([std::slice::from_ref(&matrix), rest].concat(), matrix)
                }
                (params, result) => {
                    let list: Vec<String> = params.iter().map(Kind::to_string).collect();
                    let given = format!("one of ({}) that gives {result}", list.join(", "));
                    return Err(wrong(given, "a function of a real number that gives one"));
                }
            },
            Transform::Hessian => match of_first()? {
                kind @ (Kind::Real | Kind::Array(Element::Real)) => (params.to_vec(), kind),
                kind => {
                    let expected = "a function of a real number or an array of such";
                    return Err(wrong(format!("one of {kind}"), expected));
                }
            },
        })
    }
}

/// Error of a function that has no such transform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransformError {
    /// The signature of the function does not fit.
    #[error("expected {expected} in `{}`, given {given}", transform.name())]
    Signature {
        /// The transform.
        transform: Transform,
        /// Signature that was given.
        given: String,
        /// Signature that is expected.
        expected: &'static str,
    },
    /// It cannot be differentiated.
    #[error("`{function}` cannot be differentiated: {source}")]
    Diff {
        /// The function.
        function: String,
        /// Reason.
        source: DiffError,
    },
    /// The derivative is needed to compute itself.
    #[error("`{function}` cannot be differentiated: it asks for this derivative itself")]
    Circular {
        /// The function.
        function: String,
    },
    /// Derivatives of derivatives that become too long.
    #[error("the instructions of derivatives are more than {limit}")]
    TooLarge {
        /// The limit.
        limit: usize,
    },
}
