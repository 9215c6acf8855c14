//! Inference of kinds that are not decided yet.
//!
//! A literal takes the kind that fits, and so does a value that consists of literals alone. If one
//! of several expressions is the value, as for the arms of an `if`, their kinds are
//! [joined](Known::join): literals take the kind of the others, real numbers become complex.

use crate::ir::{Element, Kind, MAX_KIND_DEPTH};

use super::MAX_LEAVES;

/// Inferred kind of a value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Known {
    /// Unknown.
    Nothing,
    /// It consists of literal integers, and fits where a number is expected; with its value, if
    /// that is a literal again.
    Literal(Option<i64>),
    /// Array of such literals.
    Literals,
    /// Tuple of parts.
    Tuple(Vec<Known>),
    /// Decided kind.
    Kind(Kind),
}

impl Known {
    /// Returns the join of two kinds: that of a value which has one or the other.
    pub(crate) fn join(self, other: Known) -> Known {
        use Known::{Literal, Literals, Nothing, Tuple};
        match (self, other) {
            (Nothing, k) | (k, Nothing) => k,
            (Literal(_), Literal(_)) => Literal(None),
            (Literal(_), k) | (k, Literal(_)) => k,
            (Literals, k) | (k, Literals) => k,
            (Tuple(a), Tuple(b)) if a.len() == b.len() => {
                Tuple(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect())
            }
            (Tuple(a), Known::Kind(b)) | (Known::Kind(b), Tuple(a))
                if is_plain_tuple(&b, a.len()) =>
            {
                Tuple(a.into_iter().zip(parts(&b)).map(|(a, b)| a.join(b)).collect())
            }
            (Known::Kind(a), Known::Kind(b)) if a != b && is_plain_tuple(&a, b.fields().len()) => {
                Tuple(parts(&a).collect()).join(Known::Kind(b))
            }
            (Known::Kind(Kind::Real), b @ Known::Kind(Kind::Complex))
            | (
                Known::Kind(Kind::Array(Element::Real)),
                b @ Known::Kind(Kind::Array(Element::Complex)),
            ) => b,
            (a, _) => a,
        }
    }

    /// Builds a tuple of parts; one that is nested too deep is unknown, and lowering reports it.
    pub(crate) fn tuple(parts: Vec<Known>) -> Known {
        let fits = parts.iter().all(|part| part.depth() < MAX_KIND_DEPTH);
        if fits { Known::Tuple(parts) } else { Known::Nothing }
    }

    fn depth(&self) -> usize {
        match self {
            Known::Tuple(parts) => 1 + parts.iter().map(Known::depth).max().unwrap_or(0),
            Known::Kind(kind) => kind.depth(),
            _ => 0,
        }
    }

    /// Returns the kind as that of a variable: literals are ints.
    pub(crate) fn settled(self) -> Known {
        match self {
            Known::Literal(_) => Known::Kind(Kind::Int),
            Known::Literals => Known::Kind(Kind::Array(Element::Int)),
            Known::Tuple(items) => {
                let kinds: Option<Vec<Kind>> =
                    items.into_iter().map(|k| k.settled().kind().cloned()).collect();
                // Lowering reports one that is too large.
                let fits = |k: &Vec<Kind>| k.iter().map(Kind::extent).sum::<usize>() <= MAX_LEAVES;
                kinds.filter(fits).map_or(Known::Nothing, |k| Known::Kind(Kind::tuple(k)))
            }
            known => known,
        }
    }

    /// Returns the kind, if it is decided.
    pub(crate) fn kind(&self) -> Option<&Kind> {
        match self {
            Known::Kind(k) => Some(k),
            _ => None,
        }
    }

    /// Returns true if literals in it may still become other numbers.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Known::Literal(_) | Known::Literals => true,
            Known::Tuple(parts) => parts.iter().any(Known::is_open),
            Known::Nothing | Known::Kind(_) => false,
        }
    }
}

/// Returns true if it is a tuple of `n` values, and not a struct.
pub(super) fn is_plain_tuple(kind: &Kind, n: usize) -> bool {
    let fields = kind.fields();
    !fields.is_empty() && fields.len() == n && fields.iter().all(|f| f.name.is_none())
}

fn parts(tuple: &Kind) -> impl Iterator<Item = Known> {
    tuple.fields().iter().map(|f| Known::Kind(f.kind.clone()))
}
