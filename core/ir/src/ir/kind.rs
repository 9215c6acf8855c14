//! Kinds: the types of the values of a program.
//!
//! `real` and `complex` are different kinds, so a real program has no conjugations and its gradient
//! is real. Structs are tuples with a name and names of their fields:
//!
//! ```
//! use ketgrad_core::ir::Kind;
//!
//! let point = Kind::structure("Point", [("x", Kind::Real), ("n", Kind::Int)]);
//! assert_eq!(point.to_string(), "Point{x: real, n: int}");
//! // A cotangent has the shape of the value, without what cannot have one.
//! assert_eq!(point.tangent().unwrap().to_string(), "Point{x: real}");
//! assert_eq!(Kind::Int.tangent(), None);
//! ```
//!
//! Tangents and cotangents of a kind have the same kind, [`Kind::tangent`]. **A (co)tangent of an
//! array may be shorter than the array; the missing elements are zero.** So the zero of an unknown
//! length is the empty array, and no length has to be recorded. One that is shorter, or was made
//! element by element, may be a vector of the elements in row-major order whatever the shape of the
//! array; one with several axes has all of the array's elements and its shape.

use std::{fmt, sync::Arc};

/// Kind of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Kind {
    /// A real number.
    Real,
    /// A complex number.
    Complex,
    /// An integer of 64 bits.
    Int,
    /// A truth value.
    Bool,
    /// An index into a table of the host.
    Handle,
    /// An array of numbers. Its [shape](crate::array) is known when a program runs.
    Array(Element),
    /// A tuple or a struct.
    Tuple(Arc<TupleKind>),
}

/// Kind of the elements of an array.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Element {
    /// Real numbers.
    Real,
    /// Complex numbers.
    Complex,
    /// Integers.
    Int,
}

/// The fields of a tuple or a struct.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub struct TupleKind {
    /// Name of the struct; `None` for a tuple.
    pub name: Option<String>,
    /// Fields in order.
    pub fields: Vec<Field>,
}

/// Field of a tuple or a struct.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Name; `None` in a tuple.
    pub name: Option<String>,
    /// Kind.
    pub kind: Kind,
}

impl Element {
    /// Returns the kind of one element.
    #[must_use]
    pub fn kind(self) -> Kind {
        match self {
            Element::Real => Kind::Real,
            Element::Complex => Kind::Complex,
            Element::Int => Kind::Int,
        }
    }
    /// Returns the element of the given kind.
    #[must_use]
    pub fn from_kind(kind: &Kind) -> Option<Element> {
        match kind {
            Kind::Real => Some(Element::Real),
            Kind::Complex => Some(Element::Complex),
            Kind::Int => Some(Element::Int),
            _ => None,
        }
    }
}

/// Maximum nesting of structs and tuples, so that no text exhausts the stack.
pub(crate) const MAX_KIND_DEPTH: usize = 64;

impl Kind {
    /// Creates a tuple of the given kinds.
    #[must_use]
    pub fn tuple(kinds: impl IntoIterator<Item = Kind>) -> Kind {
        let fields = kinds.into_iter().map(|kind| Field { name: None, kind }).collect();
        Kind::Tuple(Arc::new(TupleKind { name: None, fields }))
    }

    /// Creates a struct of the given fields.
    #[must_use]
    pub fn structure<N: Into<String>>(
        name: impl Into<String>,
        fields: impl IntoIterator<Item = (N, Kind)>,
    ) -> Kind {
        let fields =
            fields.into_iter().map(|(n, kind)| Field { name: Some(n.into()), kind }).collect();
        Kind::Tuple(Arc::new(TupleKind { name: Some(name.into()), fields }))
    }

    /// Returns the fields of a tuple; none for other kinds.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        match self {
            Kind::Tuple(t) => &t.fields,
            _ => &[],
        }
    }

    /// Returns the kind of its tangents and cotangents; `None` if it has none.
    #[must_use]
    pub fn tangent(&self) -> Option<Kind> {
        match self {
            Kind::Real | Kind::Complex | Kind::Array(Element::Real | Element::Complex) => {
                Some(self.clone())
            }
            Kind::Int | Kind::Bool | Kind::Handle | Kind::Array(Element::Int) => None,
            Kind::Tuple(t) => {
                let fields: Vec<Field> = t
                    .fields
                    .iter()
                    .filter_map(|f| Some(Field { name: f.name.clone(), kind: f.kind.tangent()? }))
                    .collect();
                let some = !fields.is_empty();
                some.then(|| Kind::Tuple(Arc::new(TupleKind { name: t.name.clone(), fields })))
            }
        }
    }

    /// Returns true if it has tangents.
    #[must_use]
    pub fn is_differentiable(&self) -> bool {
        match self {
            Kind::Tuple(t) => t.fields.iter().any(|f| f.kind.is_differentiable()),
            _ => self.tangent().is_some(),
        }
    }

    /// Returns the kinds of the leaves: all tuples in it are flattened, in order.
    #[must_use]
    pub fn leaves(&self) -> Vec<Kind> {
        let mut leaves = Vec::new();
        self.push_leaves(&mut leaves);
        leaves
    }

    fn push_leaves(&self, leaves: &mut Vec<Kind>) {
        match self {
            Kind::Tuple(t) => t.fields.iter().for_each(|f| f.kind.push_leaves(leaves)),
            leaf => leaves.push(leaf.clone()),
        }
    }

    /// Returns the depth of nested structs and tuples.
    pub(crate) fn depth(&self) -> usize {
        match self {
            Kind::Tuple(t) => 1 + t.fields.iter().map(|f| f.kind.depth()).max().unwrap_or(0),
            _ => 0,
        }
    }

    /// Returns the number of leaves, where an empty tuple counts as one: a bound on the cost of
    /// walking over it.
    pub(crate) fn extent(&self) -> usize {
        match self {
            Kind::Tuple(t) => t.fields.iter().map(|f| f.kind.extent()).sum::<usize>().max(1),
            _ => 1,
        }
    }

    /// Returns the number of leaves.
    #[must_use]
    pub fn n_leaves(&self) -> usize {
        match self {
            Kind::Tuple(t) => t.fields.iter().map(|f| f.kind.n_leaves()).sum(),
            _ => 1,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kind::Real => f.write_str("real"),
            Kind::Complex => f.write_str("complex"),
            Kind::Int => f.write_str("int"),
            Kind::Bool => f.write_str("bool"),
            Kind::Handle => f.write_str("handle"),
            Kind::Array(e) => write!(f, "array<{}>", e.kind()),
            Kind::Tuple(t) => {
                let named = t.name.is_some();
                match &t.name {
                    Some(name) => write!(f, "{name}{{")?,
                    None => f.write_str("(")?,
                }
                for (k, field) in t.fields.iter().enumerate() {
                    let comma = if k > 0 { ", " } else { "" };
                    match &field.name {
                        Some(name) => write!(f, "{comma}{name}: {}", field.kind)?,
                        None => write!(f, "{comma}{}", field.kind)?,
                    }
                }
                f.write_str(match (named, t.fields.len()) {
                    (true, _) => "}",
                    (false, 1) => ",)",
                    (false, _) => ")",
                })
            }
        }
    }
}
