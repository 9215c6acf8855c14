//! Operations on whole arrays.
//!
//! Operations on numbers work element by element on arrays as they are (`add`, `sin`, …, with
//! [broadcasting](crate::array)); the operations here see arrays as wholes. Each is linear, or its
//! derivative is written with operations of both tables, so derivatives of any order stay inside
//! them. [`array`](crate::array) computes the values, [`rules`](crate::rules) applies the rules.
//!
//! The table has an entry for each, which states all that is known of it:
//!
//! ```text
//! ┌ variant
//! │      ┌ name in text
//! │      │      ┌ operands                      ┌ result
//! │      │      │                               │      ┌ an earlier name, which is still read
//! Gather gather (x: Array, indices: Ints) -> Array, earlier take {
//!     doc: "`x[i_0], x[i_1], …` along the first axis.",
//!     shape: gather, class: Own,
//!     elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
//!     value: new(
//!         |x| x.count(&[x.list().len(), x.a().len() / x.a().shape()[0].max(1)]),
//!         |x, out| array::gather(x.a(), x.list(), out)
//!     ),
//!     pull: [|r, bar| r.array_op(Scatter, &[bar, x, indices])],
//! }
//! ```
//!
//! | operand or result | is |
//! |---|---|
//! | `Array`, `Number`, `Either` | an array, a number, or any of both: all of one element kind, real or complex |
//! | `Reals`, `Real`, `EitherReal` | the same, real |
//! | `Complexes` | an array of complex numbers |
//! | `Like` | an array of which only the shape counts |
//! | `Form` | the same, next to an array, or its shape as an array of ints |
//! | `Any` | an array, of ints too |
//! | `Ints`, `Int` | an array of ints, an int |
//!
//! | fact | says |
//! |---|---|
//! | `shape` | the shape of the result for operands of known shapes: a function of `shape_rules`, or a closure |
//! | `class` | how that shape follows from those of the operands where they are unknown |
//! | `elements` | which elements of the operands an element of the result depends on |
//! | `used` | the operands all of whose elements the result depends on |
//! | `derivative` | whether it is zero, that of a linear map, or has a rule of its own, and how steep it may be |
//! | `failure` | whether known shapes and ints rule out that it fails |
//! | `work` | floating-point operations and cost |
//! | `value` | how the result is made: see `values.rs` |
//! | `pull` | the cotangents of the operands: closures that emit them from that of the result |
//! | `push` | the tangent of the result: closures that emit what those of the operands add to it |
//!
//! `facts.rs` explains the words of those from `class` to `work`. There is no `pull` where
//! `derivative` is `Zero`, and a `push` only where it is `Curved`, `Steep` or `Degenerate`. Each is
//! a list of closures, one for each operand that is not of ints, or `zero` where the (co)tangent is
//! that; or one closure for all operands, which gets the number of the operand, or the tangents of
//! all. The operands have their names there, and the result is `r.y`.
//!
//! Shapes are known when a program runs. Shapes that do not fit are an error, which names the
//! operation, the shapes and the position in the source. Axes are counted from 0.

#[macro_use]
mod table;
mod facts;
mod shape_rules;
mod values;

use crate::array::ArrayError;

use super::{
    kind::{Element, Kind},
    shapes::AbstractValue,
};

pub(crate) use facts::{ArrayDerivative, ClassRule, FailureCause};
use facts::{ArrayFacts, UsedOperands};
#[doc(hidden)]
pub use facts::{ElementFlow, WorkFormula};
#[doc(hidden)]
pub use values::{ValueForm, ValueOperands};

use shape_rules::{KnownOperands, NoShape, ShapeRule};

/// Kind of an operand or a result of an array operation: see [the table](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Any,
    Array,
    Like,
    Form,
    Number,
    Either,
    Reals,
    Real,
    EitherReal,
    Complexes,
    Ints,
    Int,
}

macro_rules! array_ops {
    ($($op:ident $name:ident ($($operand:ident: $sort:ident),*) -> $result:ident
        $(, earlier $earlier:ident)? {
            doc: $doc:literal,
            shape: $shape:expr, class: $class:expr,
            elements: $elements:ident, used: $used:expr, derivative: $derivative:ident,
            failure: $failure:ident, work: $work:expr,
            value: $form:ident($($value:tt)*),
            $($rules:tt)*
        })*) => {
        /// An operation on whole arrays.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ArrayOp { $(#[doc = $doc] $op,)* }

        impl ArrayOp {
            /// All of them, in the order of the table.
            pub const ALL: &'static [ArrayOp] = &[$(ArrayOp::$op),*];
            /// Returns the name in text.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(ArrayOp::$op => stringify!($name),)* }
            }
            /// Returns a sentence that says what the operation computes.
            #[must_use]
            pub fn doc(self) -> &'static str { match self { $(ArrayOp::$op => $doc,)* } }
            /// Returns the operation of the given name, or of the name that it had earlier.
            #[must_use]
            pub fn by_name(name: &str) -> Option<ArrayOp> {
                match name {
                    $(stringify!($name) $(| stringify!($earlier))? => Some(ArrayOp::$op),)*
                    _ => None,
                }
            }
            fn signature(self) -> (&'static [Sort], Sort) {
                match self { $(ArrayOp::$op => (&[$(Sort::$sort),*], Sort::$result),)* }
            }
            fn shape_rule(self) -> ShapeRule {
                use shape_rules::*;
                match self { $(ArrayOp::$op => $shape,)* }
            }
            fn facts(self) -> &'static ArrayFacts {
                use crate::array::Contracted;
                use {ClassRule::*, UsedOperands::*, WorkFormula::*};
                match self {
                    $(ArrayOp::$op => const {
                        &ArrayFacts {
                            class: $class,
                            elements: ElementFlow::$elements,
                            used: $used,
                            derivative: ArrayDerivative::$derivative,
                            failure: FailureCause::$failure,
                            work: $work,
                        }
                    },)*
                }
            }
        }
    };
}
for_each_array_op!(array_ops);

impl ArrayOp {
    /// Infers the shape of the result, and more if it is an int or a list, from what is known of
    /// the operands and from which of them are arrays.
    pub(super) fn infer(
        self,
        args: &[&AbstractValue],
        arrays: &[bool],
        limit: usize,
    ) -> Result<AbstractValue, ArrayError> {
        match self.shape_rule()(&KnownOperands { op: self.name(), args, arrays, limit }) {
            Ok(known) => Ok(known),
            Err(NoShape::Unknown) => Ok(AbstractValue::Any),
            Err(NoShape::Wrong(error)) => Err(error),
        }
    }

    /// Returns how the shape of the result follows from those of the operands.
    pub(crate) fn class_rule(self) -> ClassRule {
        self.facts().class
    }

    /// Returns how the elements of the result depend on those of the operands.
    #[doc(hidden)]
    #[must_use]
    pub fn elements(self) -> ElementFlow {
        self.facts().elements
    }

    /// Returns true if each element of the result is an element of an operand, or 0 (a gather or a
    /// scatter).
    pub(crate) fn moves(self) -> bool {
        self.elements() == ElementFlow::Moved
    }

    /// Returns true if the result depends on all elements of the k-th operand.
    pub(crate) fn uses_all_of(self, k: usize) -> bool {
        match self.facts().used {
            UsedOperands::All => self.shape_operand() != Some(k),
            UsedOperands::Nothing => false,
            UsedOperands::Only(operands) => operands.contains(&k),
        }
    }

    /// Returns what the derivative is.
    pub(crate) fn derivative(self) -> ArrayDerivative {
        self.facts().derivative
    }

    /// Returns what can make the operation fail.
    pub(crate) fn failure(self) -> FailureCause {
        self.facts().failure
    }

    /// Returns the formula of its floating-point operations and of its cost.
    #[doc(hidden)]
    #[must_use]
    pub fn work(self) -> WorkFormula {
        self.facts().work
    }

    /// Returns the operand of which only the shape is read.
    pub(crate) fn shape_operand(self) -> Option<usize> {
        self.signature().0.iter().position(|sort| matches!(sort, Sort::Like | Sort::Form))
    }

    /// Returns true if an operand is a list of ints whose elements are read.
    pub(crate) fn reads_list(self) -> bool {
        self.signature().0.iter().any(|sort| matches!(sort, Sort::Ints | Sort::Form))
    }

    /// Returns true if the second operand only gives a shape, and may be a list of lengths.
    #[doc(hidden)]
    pub fn takes_shape(self) -> bool {
        self.signature().0.get(1) == Some(&Sort::Form)
    }

    /// Returns the number of operands.
    #[must_use]
    pub fn arity(self) -> usize {
        self.signature().0.len()
    }

    /// Returns the expected kind of the k-th operand, where that does not depend on the others.
    #[must_use]
    pub fn hint(self, k: usize) -> Option<Kind> {
        Some(match self.signature().0.get(k)? {
            Sort::Int => Kind::Int,
            Sort::Ints => Kind::Array(Element::Int),
            Sort::Reals => Kind::Array(Element::Real),
            Sort::Complexes => Kind::Array(Element::Complex),
            _ => return None,
        })
    }

    /// Returns true if a cotangent can flow through the operation.
    #[must_use]
    pub fn is_differentiable(self) -> bool {
        self.derivative() != ArrayDerivative::Zero
    }

    /// Returns the kind of the result for operands of the given kinds.
    ///
    /// # Errors
    /// The operands that are expected, in words, if the given ones do not fit.
    pub fn result(self, operands: &[Kind]) -> Result<Kind, String> {
        let (sorts, result) = self.signature();
        let mut common = None;
        let mut same = |e: Element| e != Element::Int && *common.get_or_insert(e) == e;
        let fits = sorts.len() == operands.len()
            && sorts.iter().zip(operands).all(|(sort, kind)| match (sort, kind) {
                (Sort::Any, Kind::Array(_)) => true,
                (Sort::Form, Kind::Array(Element::Int)) => matches!(operands[0], Kind::Array(_)),
                (Sort::Array | Sort::Like | Sort::Form | Sort::Either, Kind::Array(e)) => same(*e),
                (Sort::Number | Sort::Either, Kind::Real) => same(Element::Real),
                (Sort::Number | Sort::Either, Kind::Complex) => same(Element::Complex),
                (Sort::Reals | Sort::EitherReal, Kind::Array(Element::Real)) => same(Element::Real),
                (Sort::Real | Sort::EitherReal, Kind::Real) => same(Element::Real),
                (Sort::Complexes, Kind::Array(Element::Complex)) => same(Element::Complex),
                (Sort::Ints, Kind::Array(Element::Int)) | (Sort::Int, Kind::Int) => true,
                _ => false,
            });
        // `step` of two numbers would be a number.
        let some = !sorts.contains(&Sort::EitherReal)
            || operands.iter().any(|k| matches!(k, Kind::Array(_)));
        if !fits || !some {
            return Err(self.expected());
        }
        let element = common.unwrap_or(Element::Real);
        Ok(match result {
            Sort::Array | Sort::Like | Sort::Form | Sort::Either | Sort::Any => {
                Kind::Array(element)
            }
            Sort::Number => element.kind(),
            Sort::Reals | Sort::EitherReal => Kind::Array(Element::Real),
            Sort::Real => Kind::Real,
            Sort::Complexes => Kind::Array(Element::Complex),
            Sort::Ints => Kind::Array(Element::Int),
            Sort::Int => Kind::Int,
        })
    }

    /// Its operands in words.
    fn expected(self) -> String {
        let word = |sort: &Sort| match sort {
            Sort::Any | Sort::Array | Sort::Like | Sort::Form => "array",
            Sort::Number => "number",
            Sort::Either => "array or number",
            Sort::Reals => "array<real>",
            Sort::Real => "real",
            Sort::EitherReal => "array<real> or real",
            Sort::Complexes => "array<complex>",
            Sort::Ints => "array<int>",
            Sort::Int => "int",
        };
        let words: Vec<&str> = self.signature().0.iter().map(word).collect();
        let numbers = self
            .signature()
            .0
            .iter()
            .filter(|s| matches!(s, Sort::Array | Sort::Like | Sort::Form | Sort::Either))
            .count();
        format!("({}){}", words.join(", "), if numbers > 1 { " of one kind of number" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_of_an_operation_fit_its_operands() {
        for &op in ArrayOp::ALL {
            let (operands, result) = op.signature();
            let is_int = |sort: &Sort| matches!(sort, Sort::Int | Sort::Ints);
            assert!(!(is_int(&result) && op.is_differentiable()), "{op:?} of ints");
            let ints: &[usize] = match op.class_rule() {
                ClassRule::Own | ClassRule::Broadcast => &[],
                ClassRule::Like(k) => {
                    assert!(operands.get(k).is_some_and(|sort| !is_int(sort)), "{op:?}");
                    &[]
                }
                ClassRule::Reduced => &[1],
                ClassRule::Computed(ints) | ClassRule::Rearranged(ints) => ints,
                ClassRule::Undoes(back, ints) => {
                    assert_eq!(back.class_rule(), ClassRule::Undoes(op, ints));
                    ints
                }
            };
            assert!(ints.iter().all(|&k| operands.get(k).is_some_and(is_int)), "{op:?}");
            // What moves elements depends on shapes and places alone, linearly.
            if op.moves() {
                assert_eq!(op.failure(), FailureCause::ByShapes, "{op:?}");
                let rule = op.derivative();
                assert!(matches!(rule, ArrayDerivative::Linear | ArrayDerivative::Joint), "{op:?}");
            }
        }
    }
}
