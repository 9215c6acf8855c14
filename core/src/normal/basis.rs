//! Rational relations between normal forms: which one is a sum of multiples of others.
//!
//! ```text
//! cos a + sin a, cos a           a basis; then sin a = 1 * first - 1 * second, and -cos a = -1 * second
//! ```
//!
//! The products of a normal form are linearly independent (where its converse holds), so this is
//! elimination over the fractions, with products for coordinates.

use std::collections::BTreeMap;

use num_bigint::Sign;
use num_traits::{One, Zero};

use super::{
    Normal, NormalError,
    atoms::Product,
    sum::{Q, Sum, q_product, q_sum},
};

/// Normal forms none of which is a rational combination of the others.
#[derive(Debug, Default)]
pub(crate) struct Basis {
    rows: Vec<Row>,
}

/// Remainder of a form after the rows before it are subtracted.
#[derive(Debug)]
struct Row {
    rest: Sum,
    /// A product in it, which no later row has.
    pivot: Product,
    /// Combination of the forms that gives the rest.
    of: Combination,
}

/// Coefficients by the numbers of forms.
pub(crate) type Combination = BTreeMap<usize, Q>;

/// Relation of a form to a basis.
#[derive(Debug)]
pub(crate) enum Place {
    /// A combination of its forms.
    Sum(Combination),
    /// The form becomes the next form of the basis.
    New,
}

impl Basis {
    /// Finds the place of a form.
    ///
    /// # Errors
    /// [`NormalError::Coefficient`]; the basis is as it was.
    pub(crate) fn place(&mut self, form: &Normal) -> Result<Place, NormalError> {
        let mut rest = form.0.clone();
        let mut of = Combination::new();
        for row in &self.rows {
            let Some(top) = rest.terms().get(&row.pivot) else { continue };
            let Some(pivot) = row.rest.terms().get(&row.pivot) else { continue };
            let factor = q_product(top, &pivot.recip())?;
            rest = rest.minus(&row.rest.times_fraction(&factor)?)?;
            for (&k, q) in &row.of {
                let sum = of.entry(k).or_insert_with(Q::zero);
                *sum = q_sum(sum, &q_product(&factor, q)?)?;
            }
        }
        of.retain(|_, q| q.numer().sign() != Sign::NoSign);
        let Some((pivot, _)) = rest.lead() else { return Ok(Place::Sum(of)) };
        let pivot = pivot.clone();
        of.values_mut().for_each(|q| *q = -std::mem::take(q));
        of.insert(self.rows.len(), Q::one());
        self.rows.push(Row { rest, pivot, of });
        Ok(Place::New)
    }
}
