//! Laws of a number type that kernels and engines rely on, those of a [`Ring`].

use crate::scalar::{Conj, Ring};

/// A law that a number type breaks, with the numbers that show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{law} does not hold for {}: the left side is {left}, the right side {right}", named(at))]
#[non_exhaustive]
pub struct LawError {
    /// The law, as a formula in a, b and c.
    pub law: &'static str,
    /// The samples a, b and c, as far as the law has them.
    pub at: Vec<String>,
    /// The value of the left side.
    pub left: String,
    /// The value of the right side.
    pub right: String,
}

fn named(at: &[String]) -> String {
    let names = ["a", "b", "c"].into_iter().zip(at);
    names.map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join(", ")
}

/// Checks the laws of a commutative ring for all pairs and triples of samples, exactly: two numbers
/// are the same if their difference [is zero](Ring::is_exact_zero). Also that the operators on
/// values and references agree with the assigning ones, and that `dot2`, `mul_add_assign`, `scale`
/// and `sum` are what they are documented to be. Samples should hold 0, 1, and numbers of every
/// sort that the type has; n of them take n^3 steps. For numbers that round see [`ring_laws_by`].
///
/// ```
/// use ketgrad_core::{check::ring_laws, field::Fp};
///
/// let samples = [0, 1, 2, 7, 1 << 40].map(Fp::new);
/// ring_laws(&samples)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// A law does not hold: the first one, with the samples.
pub fn ring_laws<R: Ring>(samples: &[R]) -> Result<(), LawError> {
    ring_laws_by(samples, |a, b| (a.clone() - b).is_exact_zero())
}

/// Checks the laws of [`ring_laws`], where `same` says which numbers count as equal: those within
/// rounding, say.
///
/// ```
/// use ketgrad_core::check::ring_laws_by;
///
/// ring_laws_by(&[0.0, 1.0, -0.1, 3e5], |a: &f64, b: &f64| (a - b).abs() <= 1e-15 * (1.0 + a.abs()))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`ring_laws`].
pub fn ring_laws_by<R: Ring>(samples: &[R], same: impl Fn(&R, &R) -> bool) -> Result<(), LawError> {
    let (zero, one) = (R::zero(), R::one());
    let check = |law: &'static str, at: &[&R], left: R, right: R| match same(&left, &right) {
        true => Ok(()),
        false => Err(broken(law, at, &left, &right)),
    };
    let is_true = |law: &'static str, at: &[&R], holds: bool| match holds {
        true => Ok(()),
        false => {
            Err(LawError { law, at: shown(at), left: "false".to_owned(), right: "true".to_owned() })
        }
    };
    is_true("`zero().is_exact_zero()`", &[], zero.is_exact_zero())?;
    is_true("`one().is_exact_one()`", &[], one.is_exact_one())?;
    is_true("`!one().is_exact_zero()`", &[], !one.is_exact_zero())?;
    for a in samples {
        let at = [a];
        check("a + 0 = a", &at, a.clone() + &zero, a.clone())?;
        check("1 a = a", &at, one.clone() * a, a.clone())?;
        check("a 1 = a", &at, a.clone() * &one, a.clone())?;
        check("0 a = 0", &at, zero.clone() * a, zero.clone())?;
        check("a - a = 0", &at, a.clone() - a, zero.clone())?;
        check("a + -a = 0", &at, a.clone() + &-a.clone(), zero.clone())?;
        check("`-&a` = -a", &at, -a, -a.clone())?;
        is_true("`is_exact_zero` of a - a", &at, (a.clone() - a).is_exact_zero())?;
        for b in samples {
            let at = [a, b];
            check("a + b = b + a", &at, a.clone() + b, b.clone() + a)?;
            check("a b = b a", &at, a.clone() * b, b.clone() * a)?;
            check("a - b = a + -b", &at, a.clone() - b, a.clone() + &-b.clone())?;
            check("`a + b` = `&a + &b`", &at, a.clone() + b.clone(), a + b)?;
            check("`a - b` = `&a - &b`", &at, a.clone() - b.clone(), a - b)?;
            check("`a * b` = `&a * &b`", &at, a.clone() * b.clone(), a * b)?;
            check("`&a + b` = `&a + &b`", &at, a + b.clone(), a + b)?;
            check("`&a - b` = `&a - &b`", &at, a - b.clone(), a - b)?;
            check("`&a * b` = `&a * &b`", &at, a * b.clone(), a * b)?;
            let assigned = |assign: fn(&mut R, R)| {
                let mut x = a.clone();
                assign(&mut x, b.clone());
                x
            };
            check("`a += b` = a + b", &at, assigned(|a, b| *a += b), a + b)?;
            check("`a -= b` = a - b", &at, assigned(|a, b| *a -= b), a - b)?;
            check("`a *= b` = a b", &at, assigned(|a, b| *a *= b), a * b)?;
            check("`scale(a, b)` = a b", &at, R::scale(a, b), a * b)?;
            for c in samples {
                let at = [a, b, c];
                check("(a + b) + c = a + (b + c)", &at, (a + b) + c, a + (b + c))?;
                check("(a b) c = a (b c)", &at, (a * b) * c, a * (b * c))?;
                check("a (b + c) = a b + a c", &at, a * (b + c), a * b + &(a * c))?;
                check(
                    "`dot2(a, b, c, a)` = a b + c a",
                    &at,
                    R::dot2(a, b, c, a),
                    a * b + &(c * a),
                )?;
                let mut sum = a.clone();
                sum.mul_add_assign(b, c);
                check("`a.mul_add_assign(b, c)` = a + b c", &at, sum, a + &(b * c))?;
                check(
                    "`sum([a, b, c])` = (a + b) + c",
                    &at,
                    R::sum([a, b, c].map(Clone::clone)),
                    (a + b) + c,
                )?;
            }
        }
    }
    Ok(())
}

/// Checks that conjugation is its own inverse and goes through sums and products, for all pairs of
/// samples; `same` as in [`ring_laws_by`].
///
/// # Errors
/// A law does not hold: the first one, with the samples.
pub fn conj_laws<R: Conj>(samples: &[R], same: impl Fn(&R, &R) -> bool) -> Result<(), LawError> {
    let check = |law: &'static str, at: &[&R], left: R, right: R| match same(&left, &right) {
        true => Ok(()),
        false => Err(broken(law, at, &left, &right)),
    };
    check("conj 1 = 1", &[], R::one().conj(), R::one())?;
    for a in samples {
        check("conj conj a = a", &[a], a.conj().conj(), a.clone())?;
        for b in samples {
            check("conj(a + b) = conj a + conj b", &[a, b], (a + b).conj(), a.conj() + &b.conj())?;
            check("conj(a b) = conj a conj b", &[a, b], (a * b).conj(), a.conj() * &b.conj())?;
        }
    }
    Ok(())
}

fn shown<R: Ring>(at: &[&R]) -> Vec<String> {
    at.iter().map(|x| format!("{x:?}")).collect()
}

fn broken<R: Ring>(law: &'static str, at: &[&R], left: &R, right: &R) -> LawError {
    LawError { law, at: shown(at), left: format!("{left:?}"), right: format!("{right:?}") }
}
