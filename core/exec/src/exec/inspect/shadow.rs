//! A value with a set in the place of each number.

use std::sync::Arc;

use crate::scalar::Scalar;

use super::{
    super::Datum,
    sets::{SetId, Sets},
};

/// Dependences of a value: a set for each of its numbers.
#[derive(Clone, Debug)]
pub(super) enum Shadow {
    Number(SetId),
    Array(Arc<Vec<SetId>>),
    Tuple(Vec<Shadow>),
}

impl Shadow {
    pub(super) const NONE: Shadow = Shadow::Number(Sets::NONE);

    pub(super) fn array(sets: Vec<SetId>) -> Shadow {
        Shadow::Array(Arc::new(sets))
    }
    pub(super) fn all(&self, sets: &mut Sets) -> SetId {
        match self {
            Shadow::Number(set) => *set,
            Shadow::Array(elements) => sets.all(elements.iter().copied()),
            Shadow::Tuple(fields) => fields.iter().fold(Sets::NONE, |all, f| {
                let field = f.all(sets);
                sets.join(all, field)
            }),
        }
    }
    pub(super) fn elements(&self) -> &[SetId] {
        match self {
            Shadow::Array(elements) => elements,
            _ => &[],
        }
    }
    /// Returns its elements to be written to; they are copied only if they are shared.
    pub(super) fn into_elements(self) -> Arc<Vec<SetId>> {
        match self {
            Shadow::Array(elements) => elements,
            _ => Arc::default(),
        }
    }
    /// Creates the shadow of an argument, each number of which depends on itself.
    pub(super) fn seed<S: Scalar>(
        value: &Datum<S>,
        next: &mut impl FnMut(usize) -> SetId,
    ) -> Shadow {
        match value {
            Datum::Real(_) => Shadow::Number(next(1)),
            Datum::Complex(_) => Shadow::Number(next(2)),
            Datum::Reals(xs) => Shadow::array(xs.iter().map(|_| next(1)).collect()),
            Datum::Complexes(xs) => Shadow::array(xs.iter().map(|_| next(2)).collect()),
            Datum::Ints(xs) => Shadow::array(vec![Sets::NONE; xs.len()]),
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) => Shadow::NONE,
            Datum::Tuple(fields) => {
                Shadow::Tuple(fields.iter().map(|f| Shadow::seed(f, next)).collect())
            }
        }
    }
    /// Creates the shadow of a result, all numbers of which depend on the same set.
    pub(super) fn like<S: Scalar>(value: &Datum<S>, set: SetId) -> Shadow {
        match value {
            Datum::Reals(xs) => Shadow::array(vec![set; xs.len()]),
            Datum::Complexes(xs) => Shadow::array(vec![set; xs.len()]),
            Datum::Ints(xs) => Shadow::array(vec![Sets::NONE; xs.len()]),
            Datum::Tuple(fields) => {
                Shadow::Tuple(fields.iter().map(|f| Shadow::like(f, set)).collect())
            }
            Datum::Real(_) | Datum::Complex(_) => Shadow::Number(set),
            Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) => Shadow::NONE,
        }
    }
    /// Returns the union of two shadows of values of one kind. If arrays differ in length, the
    /// elements of the longer one remain.
    pub(super) fn union(self, other: Shadow, sets: &mut Sets) -> Shadow {
        match (self, other) {
            (Shadow::Number(a), Shadow::Number(b)) => Shadow::Number(sets.join(a, b)),
            (Shadow::Array(a), Shadow::Array(b)) => {
                let (mut long, short) = if a.len() < b.len() { (b, a) } else { (a, b) };
                for (x, y) in Arc::make_mut(&mut long).iter_mut().zip(short.iter()) {
                    *x = sets.join(*x, *y);
                }
                Shadow::Array(long)
            }
            (Shadow::Tuple(a), Shadow::Tuple(b)) => {
                Shadow::Tuple(a.into_iter().zip(b).map(|(a, b)| a.union(b, sets)).collect())
            }
            // A value that was never defined has no shape.
            (a, Shadow::Number(_)) => a,
            (_, b) => b,
        }
    }
}
