//! The exponential of a matrix and its derivative along another one: scaling, a Padé approximation,
//! squaring.
//!
//! ```text
//! exp A = (r(A / 2^s))^(2^s),  r = D^-1 N,  N(X) = sum c_k X^k,  D(X) = N(-X)
//! ```
//!
//! The degree of `N` and `s` are the cheapest for which the error is below rounding, by the norm of
//! `A`. The derivative `L(A, E)` follows by the same steps, each product and each quotient with its
//! own. Sources: Higham, *The scaling and squaring method for the matrix exponential revisited*
//! (2005); Al-Mohy and Higham, *Computing the Fréchet derivative of the matrix exponential* (2009),
//! whose bounds hold for both.

use crate::scalar::{Real, Scalar};

use super::{Array, ArrayError, decompose::size, jacobi::fine_unit, matmul, solve::LuFactors};

/// Degrees, and the norms up to which approximation and derivative are right to within 2^-53.
const DEGREES: [(i64, f64); 5] = [(3, 1.08e-2), (5, 0.2), (7, 0.783), (9, 1.78), (13, 4.74)];
/// Bound on the number of squarings, larger than a float's exponent requires.
const SQUARINGS: f64 = 1100.0;

/// Computes the exponential of a square matrix, on every number type: what numbers carry besides
/// their values goes through the same operations. The error is about 2^-53 in norm (of numbers with
/// more bits, the last of them), times what the squarings of an ill-conditioned matrix make of it.
///
/// ```
/// use ketgrad_core::array::{Array, expm};
///
/// let a = Array::new(&[2, 2], vec![0.0, 1.0, 0.0, 0.0])?;
/// let mut y = Array::default();
/// expm(&a, &mut y)?;
/// assert_eq!(y.to_string(), "[[1.0, 1.0], [0.0, 1.0]]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// Two to six products of matrices, one more for each doubling of the norm beyond 5, and a system
/// of equations.
///
/// # Errors
/// It is no square matrix, has infinite or undefined elements, or numbers without values.
pub fn expm<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    size("expm", a)?;
    *out = exponential("expm", a, None)?.of;
    Ok(())
}

/// Computes the derivative of the exponential of a square matrix `A` along another one `E`,
/// `d/dt exp(A + t E)` at `t = 0`. Three times the cost of the exponential.
///
/// # Errors
/// They are not square matrices of one order, `A` has infinite or undefined elements, or numbers
/// without values.
pub fn expm_along<T: Real, S: Scalar<Real = T>>(
    a: &Array<S>,
    e: &Array<S>,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    if size("expm_along", a).is_err() || !a.same_shape(e) {
        let expected = "two square matrices of one order";
        return Err(ArrayError::shape("expm_along", expected, &[&a.shape(), &e.shape()]));
    }
    if let Some(along) = exponential("expm_along", a, Some(e))?.along {
        *out = along;
    }
    Ok(())
}

/// A matrix, and its derivative where one is asked for.
struct MatrixWithTangent<S> {
    of: Array<S>,
    along: Option<Array<S>>,
}

impl<S: Scalar> MatrixWithTangent<S> {
    /// Returns a function of both, linear in them.
    fn map(&self, f: impl Fn(&Array<S>) -> Array<S>) -> MatrixWithTangent<S> {
        MatrixWithTangent { of: f(&self.of), along: self.along.as_ref().map(f) }
    }

    fn times(&self, other: &MatrixWithTangent<S>) -> Result<MatrixWithTangent<S>, ArrayError> {
        let product = |x: &Array<S>, y: &Array<S>| {
            let mut out = Array::default();
            matmul(x, y, false, false, &mut out).map(|()| out)
        };
        let along = match (&self.along, &other.along) {
            (Some(dx), Some(dy)) => {
                Some(plus(product(dx, &other.of)?, &product(&self.of, dy)?, &S::one()))
            }
            _ => None,
        };
        Ok(MatrixWithTangent { of: product(&self.of, &other.of)?, along })
    }

    /// Computes `self + factor other`
    fn plus(self, other: &MatrixWithTangent<S>, factor: &S) -> MatrixWithTangent<S> {
        let along = self.along.zip(other.along.as_ref()).map(|(x, y)| plus(x, y, factor));
        MatrixWithTangent { of: plus(self.of, &other.of, factor), along }
    }

    /// Adds a number to the diagonal.
    fn with_diagonal(mut self, n: usize, c: &S) -> MatrixWithTangent<S> {
        (0..n).for_each(|k| self.of[k * (n + 1)] += c.clone());
        self
    }

    /// Computes `self^-1 other`
    fn under(
        &self,
        op: &'static str,
        other: &MatrixWithTangent<S>,
        n: usize,
    ) -> Result<MatrixWithTangent<S>, ArrayError> {
        let factors = LuFactors::new(op, n, &self.of)?.regular(op)?;
        let solve = |b: &[S]| {
            let mut x = Vec::with_capacity(n * n);
            factors.solve(b, n, &mut x)?;
            Array::new(&[n, n], x)
        };
        let of = solve(&other.of)?;
        let along = match (&self.along, &other.along) {
            (Some(d), Some(e)) => {
                let mut product = Array::default();
                matmul(d, &of, false, false, &mut product)?;
                Some(solve(&plus(e.clone(), &product, &-S::one()))?)
            }
            _ => None,
        };
        Ok(MatrixWithTangent { of, along })
    }
}

/// Computes `x + factor y`
fn plus<S: Scalar>(mut x: Array<S>, y: &Array<S>, factor: &S) -> Array<S> {
    x.iter_mut().zip(y.iter()).for_each(|(x, y)| *x += factor * y);
    x
}

fn exponential<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    a: &Array<S>,
    e: Option<&Array<S>>,
) -> Result<MatrixWithTangent<S>, ArrayError> {
    let n = a.shape()[0];
    let norm = norm(op, n, a)?;
    let (degree, most) = match fine_unit::<T>() {
        Some(unit) => (fine_degree(unit), HALF),
        None => {
            let found = DEGREES.iter().find(|(_, most)| norm <= *most);
            *found.unwrap_or(&DEGREES[DEGREES.len() - 1])
        }
    };
    let squarings = (norm / most).log2().ceil().clamp(0.0, SQUARINGS) as i32;
    let scale = S::lit(0.5f64.powi(squarings));
    let x = MatrixWithTangent { of: a.clone(), along: e.cloned() }.map(|x| x.map(|x| x * &scale));
    let (odd, even) = halves(&x, n, degree)?;
    let top = even.map(Array::clone).plus(&odd, &S::one());
    let mut y = even.plus(&odd, &-S::one()).under(op, &top, n)?;
    for _ in 0..squarings {
        y = y.times(&y)?;
    }
    Ok(y)
}

/// The norm up to which numbers of more bits than 53 are approximated.
const HALF: f64 = 0.5;

/// Returns the degree for which the approximation of matrices of norm up to 1/2 is right to a
/// distance from 1 to the next number: the relative error is at most
/// `2^(3-2q) q!^2 / ((2q)! (2q+1)!)` (Golub and Van Loan, *Matrix Computations*, section 9.3),
/// taken for the derivative, too, with a quarter of it in hand.
fn fine_degree(unit: f64) -> i64 {
    let mut bound = 8.0; // q = 0
    (1..)
        .find(|&q| {
            let k = q as f64;
            bound *= 0.25 * k * k / ((2.0 * k - 1.0) * 2.0 * k) / (2.0 * k * (2.0 * k + 1.0));
            bound * 4.0 <= unit
        })
        .unwrap_or(1)
        .max(3)
}

/// Returns the odd and the even terms of `N`.
fn halves<S: Scalar>(
    x: &MatrixWithTangent<S>,
    n: usize,
    degree: i64,
) -> Result<(MatrixWithTangent<S>, MatrixWithTangent<S>), ArrayError> {
    let mut coefficients = vec![S::one()];
    for k in 0..degree {
        let next =
            coefficients[k as usize].clone() * S::ratio(degree - k, (2 * degree - k) * (k + 1));
        coefficients.push(next);
    }
    // X^2, X^4, …: of degree 13 up to X^6 only, of higher ones as many as half of the terms need.
    let half = degree as usize / 2;
    let most = if degree == 13 { 3 } else { 4.max(half.div_ceil(2)) };
    let mut powers = vec![x.times(x)?];
    while powers.len() < half.min(most) {
        powers.push(powers[powers.len() - 1].times(&powers[0])?);
    }
    let count = powers.len();
    let sum = |parity: usize| -> Result<MatrixWithTangent<S>, ArrayError> {
        let c = |k: usize| coefficients.get(2 * k + parity);
        // The terms of some powers of X^2 on, without the one before them.
        let terms = |from: usize| {
            let all =
                powers.iter().enumerate().filter_map(|(k, power)| Some((power, c(from + k + 1)?)));
            all.fold(None, |sum: Option<MatrixWithTangent<S>>, (power, c)| {
                Some(match sum {
                    Some(sum) => sum.plus(power, c),
                    None => power.map(|x| x.map(|x| x * c)),
                })
            })
        };
        let low = terms(0);
        let high = terms(count).map(|high| high.times(&powers[count - 1])).transpose()?;
        let all = match (low, high) {
            (Some(low), Some(high)) => low.plus(&high, &S::one()),
            (Some(low), None) => low,
            _ => powers[0].map(|x| x.map(|_| S::zero())),
        };
        Ok(all.with_diagonal(n, &coefficients[parity]))
    };
    Ok((x.times(&sum(1)?)?, sum(0)?))
}

/// Returns the greatest sum of the moduli in a row, by value.
fn norm<T: Real, S: Scalar<Real = T>>(
    op: &'static str,
    n: usize,
    a: &Array<S>,
) -> Result<f64, ArrayError> {
    let mut greatest = 0f64;
    for row in a.chunks_exact(n.max(1)) {
        let mut sum = 0.0;
        for x in row {
            let square = x.abs2();
            let Some(value) = square.primal() else {
                // Why there is none.
                let source = square.try_cmp(&T::zero()).err();
                let undecided = |source| ArrayError::Undecided { op, source };
                return Err(source.map_or(ArrayError::Diverges { op }, undecided));
            };
            sum += value.sqrt();
        }
        greatest = if sum.is_nan() { sum } else { greatest.max(sum) };
        if !greatest.is_finite() {
            return Err(ArrayError::Diverges { op });
        }
    }
    Ok(greatest)
}
