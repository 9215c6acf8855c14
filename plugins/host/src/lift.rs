//! Taylor series: a function known at plain numbers, on numbers that carry derivatives.
//!
//! A dual number is `x0 + d` with a nilpotent `d`: its powers vanish from some order on. So the
//! Taylor series
//!
//! ```text
//! f(x0 + d) = sum over multi-indices a of  (D^a f)(x0) / a!  d^a
//! ```
//!
//! is a finite sum and exact, on `Dual`, `HyperDual`, their vectors and nests alike, whatever their
//! order. Numbers without derivatives have `d = 0`.

use ketgrad_core::scalar::Ring;

/// Highest order of a term.
const MAX_ORDER: u32 = 12;

/// Returns `f(x0)` and its derivatives `D^a f / a!` summed over the powers of `d`.
pub(crate) fn series<N: Ring>(
    value: N,
    d: &[N],
    coefficient: &mut dyn FnMut(&[u32]) -> Result<N, String>,
) -> Result<N, String> {
    let mut sum = value;
    terms(&mut sum, &N::one(), 0, &mut vec![0; d.len()], d, coefficient)?;
    Ok(sum)
}

/// Adds the terms whose powers are `monomial` times further factors from number `from` on, each
/// once.
fn terms<N: Ring>(
    sum: &mut N,
    monomial: &N,
    from: usize,
    index: &mut Vec<u32>,
    d: &[N],
    coefficient: &mut dyn FnMut(&[u32]) -> Result<N, String>,
) -> Result<(), String> {
    for k in from..d.len() {
        let power = monomial * &d[k];
        if power.is_exact_zero() {
            continue;
        }
        index[k] += 1;
        if index.iter().sum::<u32>() > MAX_ORDER {
            return Err(format!(
                "derivatives above order {MAX_ORDER} of a number that is not finite"
            ));
        }
        *sum += coefficient(index)? * &power;
        terms(sum, &power, k, index, d, coefficient)?;
        index[k] -= 1;
    }
    Ok(())
}

/// Returns `a!` of a multi-index.
pub(crate) fn factorial(index: &[u32]) -> f64 {
    index.iter().map(|&a| (1..=a).map(f64::from).product::<f64>()).product()
}

#[cfg(test)]
mod tests {
    use num_dual::Dual2_64;

    use super::*;

    /// `x^2 y` at (2, 3) along (1, 1): 12, then 2xy + x^2 = 16, then 2y + 4x = 14.
    #[test]
    fn each_term_stands_once() {
        let one = Dual2_64::new(0.0, 1.0, 0.0);
        let partial = |a: &[u32]| match a {
            [1, 0] => 12.0,
            [0, 1] | [1, 1] => 4.0,
            [2, 0] => 6.0,
            _ => 0.0,
        };
        let y = series(Dual2_64::from(12.0), &[one, one], &mut |a| {
            Ok(Dual2_64::from(partial(a) / factorial(a)))
        });
        let y = y.unwrap();
        assert_eq!((y.re, y.v1, y.v2), (12.0, 16.0, 14.0));
    }

    #[test]
    fn a_number_that_never_vanishes_has_no_series() {
        assert!(series(1.0, &[0.5], &mut |_| Ok(1.0)).unwrap_err().contains("order 12"));
        assert_eq!(factorial(&[3, 2]), 12.0);
    }
}
