//! Circuits inside programs: expectation values as primitives that can be differentiated.
//!
//! A program calls `expectation(circuit, inputs)` on a handle and an array, and gets the array of
//! the values. The handle names an [`Expectation`] in a table that the host owns; the executor
//! knows nothing of circuits. Inputs may be any expressions of the program, and whatever is done
//! with the values is differentiated through.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, exec::{Datum, Derivatives}, hybrid::{Circuits, Expectation}, text};
//!
//! let mut circuit = Circuit::new(1);
//! let theta = circuit.param("theta");
//! circuit.rx(0, theta)?;
//! let mut circuits = Circuits::new();
//! let z = circuits.add(Expectation::new(circuit, ["Z0".parse::<ketgrad_core::observable::PauliSum>()?])?);
//!
//! // <Z> = cos(theta) at theta = a b, inside a loss.
//! let source = "fn loss(h: handle, a, b) { let z = expectation(h, [a * b]); (z[0] - 1) * (z[0] - 1) }";
//! let program = text::parse_program_with(source, &Circuits::rules()?)?;
//! let mut loss = Derivatives::<f64>::new(&program, "loss")?.with_host(&circuits);
//! let at = [Datum::Handle(z), Datum::Real(0.6), Datum::Real(0.5)];
//! let (_, gradient) = loss.value_and_gradient(&at)?;
//! let expected = -2.0 * (0.3f64.cos() - 1.0) * 0.3f64.sin() * 0.5;
//! assert!((gradient[0].real().ok_or("no real number")? - expected).abs() < 1e-14);
//! assert_eq!(loss.hessian(&at)?.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Closed under two derivatives
//! | primitive | is | by |
//! |---|---|---|
//! | `expectation(h, x) -> y` | the values | one run |
//! | `expectation_back(h, x, y, w) -> (x_bar)` | `J^T w` | the adjoint method |
//! | `expectation_dot(h, x, v) -> y_dot` | `J v` | a run on duals |
//! | `expectation_back_dot`, `_back_back`, `_dot_back` | `H_w v` and what belongs to it | the adjoint method on duals |
//! | `expectation_dot_dot` | `v^T H u` | a run on hyper-duals |
//!
//! Here `J` is the Jacobian and `H_w` the Hessian of `sum_k w_k y_k`. So gradients, Jacobians,
//! Hessians and Hessian-vector products of programs work in both modes. A third derivative of a
//! program in IR finds no further primitive and says so; on duals as numbers the same program gives
//! it.

use std::sync::Arc;

use num_dual::{DualNum, HyperDual};

use super::{
    Expectation, HybridError,
    tangent::{along_tangent, padded},
};
use crate::{
    array::Array,
    cancel::{Cancelled, is_cancelled},
    exec::{Datum, Host, HostError},
    ir::{Element, Kind, Primitive},
    rules::{RuleError, Rules},
    scalar::{Real, Scalar},
};

/// Expectation values under handles: the host of programs with circuits.
#[derive(Clone, Debug, Default)]
pub struct Circuits(Vec<Expectation>);

impl Circuits {
    /// Returns an empty table.
    #[must_use]
    pub fn new() -> Circuits {
        Circuits::default()
    }

    /// Adds expectation values and returns their handle.
    pub fn add(&mut self, expectation: Expectation) -> u32 {
        self.0.push(expectation);
        // A table of 2^32 circuits does not fit any memory.
        u32::try_from(self.0.len() - 1).unwrap_or(u32::MAX)
    }

    /// Returns the expectation value of a handle.
    #[must_use]
    pub fn get(&self, handle: u32) -> Option<&Expectation> {
        self.0.get(handle as usize)
    }

    /// Returns the primitives with their derivatives, for a reader of programs.
    ///
    /// # Errors
    /// There are none in a new registry.
    pub fn rules() -> Result<Rules, RuleError> {
        let mut rules = Rules::new();
        Circuits::register(&mut rules)?;
        Ok(rules)
    }

    /// Adds the primitives to a registry.
    ///
    /// # Errors
    /// [`RuleError::Taken`] if one of the names is taken.
    pub fn register(rules: &mut Rules) -> Result<(), RuleError> {
        let reals = Kind::Array(Element::Real);
        let one = || Kind::tuple([reals.clone()]);
        let with = |n: usize, more: &[Kind]| -> Vec<Kind> {
            let first = std::iter::once(Kind::Handle).chain(std::iter::repeat_n(reals.clone(), n));
            first.chain(more.iter().cloned()).collect()
        };
        let tuple = |n: usize| Kind::tuple(std::iter::repeat_n(reals.clone(), n));
        rules.primitive("expectation", &with(1, &[]), reals.clone())?;
        rules.primitive("expectation_back", &with(3, &[]), one())?;
        rules.primitive("expectation_dot", &with(2, &[]), reals.clone())?;
        rules.primitive("expectation_back_dot", &with(6, &[]), one())?;
        rules.primitive("expectation_back_back", &with(3, &[one(), one()]), tuple(3))?;
        rules.primitive("expectation_dot_dot", &with(4, &[]), reals.clone())?;
        rules.primitive("expectation_dot_back", &with(4, &[]), tuple(2))?;
        for name in ["expectation", "expectation_back", "expectation_dot"] {
            rules.primitive_pullback(name, &format!("{name}_back"))?;
            rules.primitive_pushforward(name, &format!("{name}_dot"))?;
        }
        Ok(())
    }
}

type RealArray<T> = Arc<Array<T>>;

impl<T: Real + DualNum, S: Scalar<Real = T>> Host<S> for Circuits {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        let Some(order) = primitive.name.strip_prefix("expectation") else {
            return Err(HostError::unknown(primitive));
        };
        let failed = |reason: String| HostError::Failed { name: primitive.name.clone(), reason };
        let [Datum::Handle(handle), rest @ ..] = args else {
            return Err(HostError::unknown(primitive));
        };
        let of = self.get(*handle).ok_or_else(|| {
            let count = crate::gate::count(self.0.len(), "circuit");
            failed(format!(
                "there is no circuit under handle {handle}: the host has {count}, counted from 0"
            ))
        })?;
        let tuple =
            |fields: Vec<Vec<T>>| Datum::Tuple(fields.into_iter().map(Datum::reals).collect());
        let arrays: Vec<&RealArray<T>> = rest.iter().filter_map(reals).collect();
        let result = || -> Result<Option<Datum<S>>, HybridError> {
            Ok(Some(match (order, arrays.as_slice()) {
                ("", [x]) => Datum::reals(of.values(x)?),
                ("_back", [x, _, w]) => tuple(vec![of.vjp(x, &of.weights(w))?.1]),
                ("_dot", [x, v]) => Datum::reals(of.jvp(x, &padded(v, x.len()))?.1),
                ("_back_dot", [x, _, w, v, _, w_dot]) => {
                    let moved =
                        of.vjp(&along_tangent(x, v), &along_tangent(&of.weights(w), w_dot))?;
                    tuple(vec![moved.1.into_iter().map(|g| g.eps).collect()])
                }
                ("_back_back", [x, _, w, _, v]) => {
                    let (y, g) =
                        of.vjp(&along_tangent(x, v), &along_tangent(&of.weights(w), &[]))?;
                    let (x_bar, w_bar) =
                        (g.into_iter().map(|g| g.eps), y.into_iter().map(|y| y.eps));
                    tuple(vec![x_bar.collect(), Vec::new(), w_bar.collect()])
                }
                ("_dot_dot", [x, v, u, u_dot]) => {
                    let part = |d: &[T]| padded(d, x.len());
                    let (v, u, u_dot) = (part(v), part(u), part(u_dot));
                    let moved = (0..x.len()).map(|k| {
                        HyperDual::new(x[k].clone(), v[k].clone(), u[k].clone(), u_dot[k].clone())
                    });
                    let y = of.values(&moved.collect::<Vec<_>>())?;
                    Datum::reals(y.into_iter().map(|y| y.eps1eps2))
                }
                ("_dot_back", [x, v, _, w]) => {
                    let (_, g) =
                        of.vjp(&along_tangent(x, v), &along_tangent(&of.weights(w), &[]))?;
                    let (v_bar, x_bar) = g.into_iter().map(|g| (g.re, g.eps)).unzip();
                    tuple(vec![x_bar, v_bar])
                }
                _ => return Ok(None),
            }))
        };
        match result() {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(HostError::unknown(primitive)),
            Err(error) if is_cancelled(&error) => Err(Cancelled.into()),
            Err(error) => Err(failed(error.to_string())),
        }
    }
}

/// Returns an array, also as the only field of a tuple.
fn reals<S: Scalar>(datum: &Datum<S>) -> Option<&RealArray<S::Real>> {
    match datum {
        Datum::Reals(xs) => Some(xs),
        Datum::Tuple(fields) => match fields.as_slice() {
            [Datum::Reals(xs)] => Some(xs),
            _ => None,
        },
        _ => None,
    }
}

impl Expectation {
    /// Returns the cotangents with the zeros that they may leave out.
    fn weights<T: Real>(&self, w: &[T]) -> Vec<T> {
        padded(w, self.observables().len())
    }
}
