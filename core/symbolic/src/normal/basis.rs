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
    atoms::AtomProduct,
    sum::{BigFraction, NormalSum, q_product, q_sum},
};

/// Normal forms none of which is a rational combination of the others.
#[derive(Debug, Default)]
pub(crate) struct RationalBasis {
    rows: Vec<Row>,
}

/// Remainder of a form after the rows before it are subtracted.
#[derive(Debug)]
struct Row {
    rest: NormalSum,
    /// A product in it, which no later row has.
    pivot: AtomProduct,
    /// Combination of the forms that gives the rest.
    of: RationalCombination,
}

/// Coefficients by the numbers of forms.
pub(crate) type RationalCombination = BTreeMap<usize, BigFraction>;

/// Relation of a form to a basis.
#[derive(Debug)]
pub(crate) enum BasisMembership {
    /// A combination of its forms.
    Dependent(RationalCombination),
    /// The form becomes the next form of the basis.
    Independent,
}

impl RationalBasis {
    /// Finds the place of a form.
    ///
    /// # Errors
    /// [`NormalError::Coefficient`]; the basis is as it was.
    pub(crate) fn express_or_insert(
        &mut self,
        form: &Normal,
    ) -> Result<BasisMembership, NormalError> {
        let mut rest = form.0.clone();
        let mut of = RationalCombination::new();
        for row in &self.rows {
            let Some(top) = rest.terms().get(&row.pivot) else { continue };
            let Some(pivot) = row.rest.terms().get(&row.pivot) else { continue };
            let factor = q_product(top, &pivot.recip())?;
            rest = rest.minus(&row.rest.times_fraction(&factor)?)?;
            for (&k, q) in &row.of {
                let sum = of.entry(k).or_insert_with(BigFraction::zero);
                *sum = q_sum(sum, &q_product(&factor, q)?)?;
            }
        }
        of.retain(|_, q| q.numer().sign() != Sign::NoSign);
        let Some((pivot, _)) = rest.lead() else { return Ok(BasisMembership::Dependent(of)) };
        let pivot = pivot.clone();
        of.values_mut().for_each(|q| *q = -std::mem::take(q));
        of.insert(self.rows.len(), BigFraction::one());
        self.rows.push(Row { rest, pivot, of });
        Ok(BasisMembership::Independent)
    }
}
