//! Constant expressions, read as angles and computed here: as fractions of 128 bits where they are,
//! else in `f64` with a bound on its error.

use std::f64::consts::PI;

use ketgrad_core::qasm::parse_angle;
use support::random::Rng;

use crate::finding::{Checked, Finding, guarded};

/// A number with what is known about it.
#[derive(Clone, Copy, Debug)]
struct Number {
    value: f64,
    /// The most that `value` may be off.
    error: f64,
    /// The number itself, if it is a short fraction.
    fraction: Option<(i128, i128)>,
}

impl Number {
    fn rounded(value: f64, error: f64) -> Number {
        Number { value, error: error + value.abs() * f64::EPSILON, fraction: None }
    }

    fn exact(n: i128, d: i128) -> Option<Number> {
        let common = gcd(n, d);
        let (n, d) = (n / common * d.signum(), d.checked_abs()? / common);
        let value = n as f64 / d as f64;
        // Longer ones are rounded.
        let short = i64::try_from(n).is_ok() && i64::try_from(d).is_ok();
        Some(Number { value, error: value.abs() * f64::EPSILON, fraction: short.then_some((n, d)) })
    }
}

fn gcd(a: i128, b: i128) -> i128 {
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    i128::try_from(a).unwrap_or(1).max(1)
}

/// Value of an expression.
#[derive(Clone, Copy, Debug)]
enum Worth {
    /// A number.
    Of(Number),
    /// Nothing: a division by zero, a root of a negative number.
    Nothing,
    /// It cannot be told here.
    Unknown,
}

/// An expression of a depth, and its worth.
fn draw(rng: &mut Rng, depth: usize) -> (String, Worth) {
    if depth == 0 || rng.below(6) == 0 {
        return leaf(rng);
    }
    match rng.below(8) {
        0 => {
            let (text, x) = draw(rng, depth - 1);
            (format!("-({text})"), of(x, |x| Worth::Of(negative(x))))
        }
        1 => {
            let name = ["sin", "cos", "tan", "exp", "ln", "sqrt"][rng.below(6)];
            let (text, x) = draw(rng, depth - 1);
            (format!("{name}({text})"), of(x, |x| function(name, x)))
        }
        _ => {
            let op = ["+", "-", "*", "/", "+", "*", "%", "^"][rng.below(8)];
            let (left, a) = draw(rng, depth - 1);
            let (right, b) = if op == "^" { power(rng) } else { draw(rng, depth - 1) };
            (format!("({left}) {op} ({right})"), of(a, |a| of(b, |b| binary(op, a, b))))
        }
    }
}

fn of(x: Worth, f: impl FnOnce(Number) -> Worth) -> Worth {
    match x {
        Worth::Of(x) => f(x),
        other => other,
    }
}

fn power(rng: &mut Rng) -> (String, Worth) {
    let n = rng.below(40) as i128 - 12;
    (n.to_string(), whole(n))
}

fn whole(n: i128) -> Worth {
    Number::exact(n, 1).map_or(Worth::Unknown, Worth::Of)
}

fn leaf(rng: &mut Rng) -> (String, Worth) {
    match rng.below(8) {
        0 => ("pi".to_owned(), Worth::Of(Number::rounded(PI, 0.0))),
        1 | 2 => {
            let n = rng.below(20) as i128;
            (n.to_string(), whole(n))
        }
        3 => {
            let n = i128::from(rng.bits() >> rng.below(64));
            (n.to_string(), whole(n))
        }
        4 => {
            let extremes = [
                "9223372036854775807",
                "9223372036854775808",
                "4294967296",
                "2147483648",
                "0",
                "0.0",
                "1e308",
                "5e-324",
                "1e-300",
                "1e22",
                "0.1",
                "1e-9",
                "2e8",
                "6.28318530718",
                "3e-10",
                "5e9",
            ];
            decimal(extremes[rng.below(extremes.len())])
        }
        _ => {
            let digits = rng.below(10_000_000);
            let text = match rng.below(3) {
                0 => format!("{}.{:07}", rng.below(8), digits),
                1 => format!("{}.{}e{}", rng.below(9), digits, rng.below(24) as i32 - 12),
                _ => format!("{}.{}", rng.below(9), rng.below(100)),
            };
            decimal(&text)
        }
    }
}

/// A decimal as the fraction that it says.
fn decimal(text: &str) -> (String, Worth) {
    let (digits, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let (before, after) = digits.split_once('.').unwrap_or((digits, ""));
    let exponent = exponent.parse::<i32>().unwrap_or(0) - i32::try_from(after.len()).unwrap_or(0);
    let digits = format!("{before}{after}").parse::<i128>().ok();
    let ten = 10i128.checked_pow(exponent.unsigned_abs());
    let fraction = match (digits, ten) {
        (Some(n), Some(ten)) if exponent >= 0 => {
            n.checked_mul(ten).and_then(|n| Number::exact(n, 1))
        }
        (Some(n), Some(ten)) => Number::exact(n, ten),
        _ => None,
    };
    let value = text.parse::<f64>().unwrap_or(f64::NAN);
    let float = Number::rounded(value, 0.0);
    (text.to_owned(), Worth::Of(fraction.unwrap_or(float)))
}

fn negative(x: Number) -> Number {
    Number { value: -x.value, fraction: x.fraction.map(|(n, d)| (-n, d)), ..x }
}

fn function(name: &str, x: Number) -> Worth {
    let Number { value: v, error: e, .. } = x;
    let slope = match name {
        "sin" | "cos" => 1.0,
        "tan" => 1.0 + (v.tan().abs() + 1e-9).powi(2) * 2.0,
        "exp" => v.exp() * (1.0 + e.exp_m1()),
        "ln" if v - e > 0.0 => 1.0 / (v - e),
        "sqrt" if v - e > 0.0 => 0.5 / (v - e).sqrt(),
        // Is it negative, or rounded to be?
        _ if v + e < 0.0 => return Worth::Nothing,
        _ => return Worth::Unknown,
    };
    let y = match name {
        "sin" => v.sin(),
        "cos" => v.cos(),
        "tan" => v.tan(),
        "exp" => v.exp(),
        "ln" => v.ln(),
        _ => v.sqrt(),
    };
    let error = slope * e + 2.0 * f64::EPSILON * y.abs();
    // A pole of the tangent may lie within the error.
    if name == "tan" && e * slope > 1e-6 || !y.is_finite() || !error.is_finite() {
        return Worth::Unknown;
    }
    Worth::Of(Number::rounded(y, error))
}

fn binary(op: &str, a: Number, b: Number) -> Worth {
    if let (Some(x), Some(y)) = (a.fraction, b.fraction)
        && let Some(worth) = fractions(op, x, y)
    {
        return worth;
    }
    let (v, w, e, f) = (a.value, b.value, a.error, b.error);
    let (value, error) = match op {
        "+" => (v + w, e + f),
        "-" => (v - w, e + f),
        "*" => (v * w, e * w.abs() + f * v.abs() + e * f),
        "/" if w.abs() > 2.0 * f => (v / w, (e + f * (v / w).abs()) / (w.abs() - f)),
        _ => return Worth::Unknown,
    };
    // Near the ends of `f64` an intermediate step of another order may overflow.
    if !value.is_finite() || value.abs() > 1e300 || value != 0.0 && value.abs() < 1e-290 {
        return Worth::Unknown;
    }
    Worth::Of(Number::rounded(value, error))
}

/// `None` where 128 bits are too few.
fn fractions(op: &str, (n, d): (i128, i128), (m, c): (i128, i128)) -> Option<Worth> {
    let number = |n: Option<i128>, d: Option<i128>| Number::exact(n?, d?).map(Worth::Of);
    let across = |sign: i128| n.checked_mul(c)?.checked_add(sign.checked_mul(m.checked_mul(d)?)?);
    match op {
        "+" => number(across(1), d.checked_mul(c)),
        "-" => number(across(-1), d.checked_mul(c)),
        "*" => number(n.checked_mul(m), d.checked_mul(c)),
        "/" | "%" if m == 0 => Some(Worth::Nothing),
        "/" => number(n.checked_mul(c), d.checked_mul(m)),
        // The sign of the first, as C has it.
        "%" => number(Some(n.checked_mul(c)?.checked_rem(m.checked_mul(d)?)?), d.checked_mul(c)),
        _ if c == 1 => {
            if n == 0 && m < 0 {
                return Some(Worth::Nothing);
            }
            let k = u32::try_from(m.unsigned_abs()).ok()?;
            let (up, down) = (n.checked_pow(k), d.checked_pow(k));
            if m < 0 { number(down, up) } else { number(up, down) }
        }
        _ => None,
    }
}

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let depth = 1 + rng.below(4);
    let (text, worth) = draw(&mut rng, depth);
    guarded(&text, || laws(&text, worth))
}

fn laws(text: &str, worth: Worth) -> Checked {
    let angle = parse_angle(text);
    let given = angle
        .as_ref()
        .ok()
        .map(|a| a.radian_part() + *a.pi_part().numer() as f64 / *a.pi_part().denom() as f64 * PI);
    match (worth, given) {
        (Worth::Of(right), Some(given)) if right.value.is_finite() => {
            // Sums of a fraction of pi and a decimal round once more, and their parts may be
            // larger.
            let parts = angle.as_ref().map_or(0.0, |a| a.radian_part().abs() + given.abs());
            let slack = angle.as_ref().map_or(0.0, |a| a.rounding_bound());
            let off = (given - right.value).abs();
            if off.is_nan()
                || off > right.error + slack + 4.0 * f64::EPSILON * (parts + right.value.abs())
            {
                let detail =
                    format!("{given:?} instead of {:?} (within {:e})", right.value, right.error);
                return Err(Finding::new("expressions have their values", detail, text));
            }
        }
        (Worth::Of(right), None) if right.value.abs() < 1e15 && right.fraction.is_some() => {
            let why = angle.as_ref().err().map(|e| e.message.clone()).unwrap_or_default();
            let detail = format!("refused: {why}; it is {:?}", right.value);
            return Err(Finding::new("fractions are accepted", detail, text));
        }
        (Worth::Nothing, Some(given)) if given.is_finite() => {
            let detail = format!("{given:?} where there is no value");
            return Err(Finding::new("expressions without a value are refused", detail, text));
        }
        _ => {}
    }
    if let Ok(angle) = angle
        && given.is_some_and(f64::is_finite)
    {
        let printed = angle.to_string();
        match parse_angle(&printed) {
            Ok(again) if again == angle => {}
            other => {
                let detail = format!("printed as {printed}, which is {other:?} and not {angle:?}");
                return Err(Finding::new("printed angles are read as they were", detail, text));
            }
        }
    }
    Ok(())
}
