//! Inference of kinds that are not decided yet.
//!
//! A literal takes the kind that fits, and so does a value that consists of literals alone. If one
//! of several expressions is the value, as for the arms of an `if`, their kinds are
//! [joined](InferredKind::join): literals take the kind of the others, real numbers become complex.

use crate::ir::{Element, Kind, MAX_KIND_DEPTH};

use super::MAX_LEAVES;

/// Inferred kind of a value.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum InferredKind {
    /// Unknown.
    Nothing,
    /// It consists of literal integers, and fits where a number is expected; with its value, if
    /// that is a literal again.
    Literal(Option<i64>),
    /// Array of such literals; true if it is written out, as `[1, 2]` or `[0; n]`.
    Literals(bool),
    /// Tuple of parts.
    Tuple(Vec<InferredKind>),
    /// Decided kind.
    Kind(Kind),
}

impl InferredKind {
    /// Returns the join of two kinds: that of a value which has one or the other.
    pub(crate) fn join(self, other: InferredKind) -> InferredKind {
        use InferredKind::{Literal, Literals, Nothing, Tuple};
        match (self, other) {
            (Nothing, k) | (k, Nothing) => k,
            (Literal(_), Literal(_)) => Literal(None),
            (Literal(_), k) | (k, Literal(_)) => k,
            (Literals(_), Literals(_)) => Literals(false),
            (Literals(_), k) | (k, Literals(_)) => k,
            (Tuple(a), Tuple(b)) if a.len() == b.len() => {
                Tuple(a.into_iter().zip(b).map(|(a, b)| a.join(b)).collect())
            }
            (Tuple(a), InferredKind::Kind(b)) | (InferredKind::Kind(b), Tuple(a))
                if is_plain_tuple(&b, a.len()) =>
            {
                Tuple(a.into_iter().zip(parts(&b)).map(|(a, b)| a.join(b)).collect())
            }
            (InferredKind::Kind(a), InferredKind::Kind(b))
                if a != b && is_plain_tuple(&a, b.fields().len()) =>
            {
                Tuple(parts(&a).collect()).join(InferredKind::Kind(b))
            }
            (InferredKind::Kind(Kind::Real), b @ InferredKind::Kind(Kind::Complex))
            | (
                InferredKind::Kind(Kind::Array(Element::Real)),
                b @ InferredKind::Kind(Kind::Array(Element::Complex)),
            ) => b,
            (a, _) => a,
        }
    }

    /// Returns the join of several kinds; that of none is unknown.
    pub(crate) fn common(kinds: impl IntoIterator<Item = InferredKind>) -> InferredKind {
        kinds.into_iter().fold(InferredKind::Nothing, InferredKind::join)
    }

    /// Returns the kind where another is expected, which literals take if they can.
    pub(super) fn expected(self, kind: &Kind) -> InferredKind {
        use InferredKind::{Literal, Literals, Tuple};
        match self {
            Literal(_) if Element::from_kind(kind).is_none() => self,
            Literals(_) if !matches!(kind, Kind::Array(_)) => self,
            Tuple(parts) if is_plain_tuple(kind, parts.len()) => {
                let parts = parts.into_iter().zip(kind.fields());
                Tuple(parts.map(|(part, field)| part.expected(&field.kind)).collect())
            }
            known => known.join(InferredKind::Kind(kind.clone())),
        }
    }

    /// Builds a tuple of parts; one that is nested too deep is unknown, and lowering reports it.
    pub(crate) fn tuple(parts: Vec<InferredKind>) -> InferredKind {
        let fits = parts.iter().all(|part| part.depth() < MAX_KIND_DEPTH);
        if fits { InferredKind::Tuple(parts) } else { InferredKind::Nothing }
    }

    fn depth(&self) -> usize {
        match self {
            InferredKind::Tuple(parts) => {
                1 + parts.iter().map(InferredKind::depth).max().unwrap_or(0)
            }
            InferredKind::Kind(kind) => kind.depth(),
            _ => 0,
        }
    }

    /// Returns the kind as that of a variable: literals are ints.
    pub(crate) fn settled(self) -> InferredKind {
        match self {
            InferredKind::Literal(_) => InferredKind::Kind(Kind::Int),
            InferredKind::Literals(_) => InferredKind::Kind(Kind::Array(Element::Int)),
            InferredKind::Tuple(items) => {
                let kinds: Option<Vec<Kind>> =
                    items.into_iter().map(|k| k.settled().kind().cloned()).collect();
                // Lowering reports one that is too large.
                let fits = |k: &Vec<Kind>| k.iter().map(Kind::extent).sum::<usize>() <= MAX_LEAVES;
                kinds
                    .filter(fits)
                    .map_or(InferredKind::Nothing, |k| InferredKind::Kind(Kind::tuple(k)))
            }
            known => known,
        }
    }

    /// Returns the kind, if it is decided.
    pub(crate) fn kind(&self) -> Option<&Kind> {
        match self {
            InferredKind::Kind(k) => Some(k),
            _ => None,
        }
    }

    /// Returns the kind of the k-th field of a tuple or a struct.
    pub(crate) fn field(self, k: usize) -> InferredKind {
        let field = match self {
            InferredKind::Tuple(parts) => parts.into_iter().nth(k),
            InferredKind::Kind(kind) => {
                kind.fields().get(k).map(|f| InferredKind::Kind(f.kind.clone()))
            }
            _ => None,
        };
        field.unwrap_or(InferredKind::Nothing)
    }

    /// Returns true if it is a tuple or a struct.
    pub(super) fn is_tuple(&self) -> bool {
        matches!(self, InferredKind::Tuple(_) | InferredKind::Kind(Kind::Tuple(_)))
    }

    /// Returns true if it is an array.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self, InferredKind::Literals(_) | InferredKind::Kind(Kind::Array(_)))
    }

    /// Returns true if it is a complex number, or an array of such.
    pub(crate) fn is_complex(&self) -> bool {
        matches!(self, InferredKind::Kind(Kind::Complex | Kind::Array(Element::Complex)))
    }

    /// Returns true if literals in it may still become other numbers.
    pub(super) fn is_open(&self) -> bool {
        match self {
            InferredKind::Literal(_) | InferredKind::Literals(_) => true,
            InferredKind::Tuple(parts) => parts.iter().any(InferredKind::is_open),
            InferredKind::Nothing | InferredKind::Kind(_) => false,
        }
    }
}

/// Returns true if it is a tuple of `n` values, and not a struct.
pub(super) fn is_plain_tuple(kind: &Kind, n: usize) -> bool {
    let fields = kind.fields();
    !fields.is_empty() && fields.len() == n && fields.iter().all(|f| f.name.is_none())
}

fn parts(tuple: &Kind) -> impl Iterator<Item = InferredKind> {
    tuple.fields().iter().map(|f| InferredKind::Kind(f.kind.clone()))
}
