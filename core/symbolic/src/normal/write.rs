//! Normal forms back to expressions.

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{One, ToPrimitive, Zero};

use super::{
    NormalError, NormalResult,
    atoms::{Atom, TrigFactor},
    hyperbolic::collected,
    sum::{BigFraction, NormalSum, rank, whole},
};
use crate::{
    ir::{Real1, Real2},
    param,
    scalar::{Real, Scalar},
    trace::Expr,
};

pub(super) fn expression(sum: &NormalSum) -> NormalResult<Expr> {
    let sum = collected(sum);
    let mut terms: Vec<_> = sum.terms().iter().collect();
    terms.sort_by(|a, b| rank(b.0, a.0));
    let mut out = Expr::zero();
    for (product, q) in terms {
        let (mut above, mut below) = (fraction(q), Vec::new());
        for (atom, e) in &product.powers {
            let (inverted, base) = match atom {
                Atom::Inverse(sum) => (true, expression(sum)?),
                other => (false, value(other)?),
            };
            let n = i64::from(e.unsigned_abs());
            match (inverted, *e > 0) {
                // The power of a sum would be multiplied out when it is read again, that of a
                // quotient is not.
                (true, true) if n > 1 => above *= (Expr::one() / base).powi(n),
                (inverted, positive) if inverted == positive => below.push(base.powi(n)),
                _ => above *= base.powi(n),
            }
        }
        match &product.trig {
            TrigFactor::None => {}
            TrigFactor::Cos(x) => above *= expression(x)?.cos(),
            TrigFactor::Sin(x) => above *= expression(x)?.sin(),
        }
        // One after the other: a product of sums would be multiplied out when it is read again.
        out += below.into_iter().fold(above, |above, factor| above / factor);
    }
    Ok(out)
}

fn fraction(q: &BigFraction) -> Expr {
    match q.numer().to_i64().zip(q.denom().to_i64()) {
        Some((n, d)) => Expr::from_ratio(param::Q::new(n, d)),
        None if q.is_integer() => integer(q.numer()),
        None => integer(q.numer()) / integer(q.denom()),
    }
}

/// Returns a whole number, by Horner's rule to the base 2^62 where it is beyond 64 bits.
fn integer(n: &BigInt) -> Expr {
    let base = BigInt::from(1i64 << 62);
    let (mut digits, mut rest) = (Vec::new(), n.clone());
    while rest.to_i64().is_none() {
        let (above, digit) = rest.div_rem(&base);
        digits.extend(digit.to_i64());
        rest = above;
    }
    let top = Expr::int(rest.to_i64().unwrap_or_default());
    digits.iter().rev().fold(top, |sum, digit| sum * Expr::int(1 << 62) + Expr::int(*digit))
}

fn value(atom: &Atom) -> NormalResult<Expr> {
    Ok(match atom {
        Atom::Symbol(name) => Expr::symbol(name),
        Atom::Pi => Expr::pi(),
        Atom::Float(bits) => Expr::lit(f64::from_bits(*bits)),
        Atom::Root(n) => fraction(&whole(*n)).sqrt(),
        Atom::Inverse(sum) => Expr::one() / expression(sum)?,
        Atom::Call(name, args) => {
            let args = args.iter().map(expression).collect::<NormalResult<Vec<_>>>()?;
            call(name, &args)
                .ok_or_else(|| NormalError::Unsupported { what: format!("`{name}`") })?
        }
    })
}

fn call(name: &str, args: &[Expr]) -> Option<Expr> {
    match args {
        [x] => Some(match name {
            "sqrt" => x.sqrt(),
            "cbrt" => x.cbrt(),
            "exp" => x.exp(),
            "exp_m1" => x.exp_m1(),
            "ln" => x.ln(),
            "ln_1p" => x.ln_1p(),
            "log2" => x.log2(),
            "log10" => x.log10(),
            "sin" => x.sin(),
            "cos" => x.cos(),
            "asin" => x.asin(),
            "acos" => x.acos(),
            "atan" => x.atan(),
            "sinh" => x.sinh(),
            "cosh" => x.cosh(),
            "tanh" => x.tanh(),
            "asinh" => x.asinh(),
            "acosh" => x.acosh(),
            "atanh" => x.atanh(),
            _ => x.real1(Real1::by_name(name)?),
        }),
        [x, y] => match Real2::by_name(name) {
            Some(Real2::Atan2) => Some(x.atan2(y)),
            Some(Real2::Hypot) => Some(x.hypot(y)),
            Some(Real2::Min) => Some(x.min(y)),
            Some(Real2::Max) => Some(x.max(y)),
            Some(Real2::LogAddExp) => Some(x.logaddexp(y)),
            Some(Real2::Ratio) => Some(x.clone() / y.clone()),
            Some(Real2::Rem) => Some(x.clone() % y.clone()),
            None => (name == "pow").then(|| x.pow(y)),
        },
        _ => None,
    }
}
