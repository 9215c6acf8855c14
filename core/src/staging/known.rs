//! What is known of a kind before it is decided.
//!
//! A literal takes the kind that fits, and so does what is made of literals alone. Where several
//! things give one value, as the arms of an `if` do, what is known of them is
//! [joined](Known::join): literals become what stands beside them, real numbers become complex
//! ones.

use crate::ir::{Element, Kind, MAX_KIND_DEPTH};

use super::MAX_LEAVES;

/// What is known of the kind of a value.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Known {
    /// Nothing.
    Nothing,
    /// It is made of literal integers, and fits where a number is asked for; its value, if that is
    /// a literal again.
    Literal(Option<i64>),
    /// An array of such.
    Literals,
    /// A tuple of which each part is known.
    Tuple(Vec<Known>),
    /// Its kind.
    Kind(Kind),
}

impl Known {
    /// What is one or the other.
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

    /// A tuple of parts; one that is nested too deep is not known, and lowering complains about it.
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

    /// As the value of a variable: literals are ints.
    pub(crate) fn settled(self) -> Known {
        match self {
            Known::Literal(_) => Known::Kind(Kind::Int),
            Known::Literals => Known::Kind(Kind::Array(Element::Int)),
            Known::Tuple(items) => {
                let kinds: Option<Vec<Kind>> =
                    items.into_iter().map(|k| k.settled().kind().cloned()).collect();
                // Lowering complains about one that is too large.
                let fits = |k: &Vec<Kind>| k.iter().map(Kind::extent).sum::<usize>() <= MAX_LEAVES;
                kinds.filter(fits).map_or(Known::Nothing, |k| Known::Kind(Kind::tuple(k)))
            }
            known => known,
        }
    }

    /// Its kind, if that is decided.
    pub(crate) fn kind(&self) -> Option<&Kind> {
        match self {
            Known::Kind(k) => Some(k),
            _ => None,
        }
    }

    /// Whether literals in it may still become other numbers.
    pub(super) fn is_open(&self) -> bool {
        match self {
            Known::Literal(_) | Known::Literals => true,
            Known::Tuple(parts) => parts.iter().any(Known::is_open),
            Known::Nothing | Known::Kind(_) => false,
        }
    }
}

/// Whether it is a tuple of so many values, and no struct.
pub(super) fn is_plain_tuple(kind: &Kind, n: usize) -> bool {
    let fields = kind.fields();
    !fields.is_empty() && fields.len() == n && fields.iter().all(|f| f.name.is_none())
}

fn parts(tuple: &Kind) -> impl Iterator<Item = Known> {
    tuple.fields().iter().map(|f| Known::Kind(f.kind.clone()))
}
