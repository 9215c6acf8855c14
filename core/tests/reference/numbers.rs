//! Results of operations on numbers.

use ketgrad_core::ir::{Compare, Int1, Int2, Mixed, Number1, Number2, Real1, Real2};

use super::{C, Got, Val, Why, fails};

pub(super) fn number1(op: Number1, x: f64) -> f64 {
    match op {
        Number1::Neg => -x,
        Number1::Recip => 1.0 / x,
        Number1::Sqrt => x.sqrt(),
        Number1::Cbrt => x.cbrt(),
        Number1::Exp => x.exp(),
        Number1::ExpM1 => x.exp_m1(),
        Number1::Ln => x.ln(),
        Number1::Ln1p => x.ln_1p(),
        Number1::Log2 => x.log2(),
        Number1::Log10 => x.log10(),
        Number1::Sin => x.sin(),
        Number1::Cos => x.cos(),
        Number1::Tan => x.tan(),
        Number1::Asin => x.asin(),
        Number1::Acos => x.acos(),
        Number1::Atan => x.atan(),
        Number1::Sinh => x.sinh(),
        Number1::Cosh => x.cosh(),
        Number1::Tanh => x.tanh(),
        Number1::Asinh => x.asinh(),
        Number1::Acosh => x.acosh(),
        Number1::Atanh => x.atanh(),
    }
}

/// Of functions with branch cuts only inside of a disk where they have none, and of numbers of
/// moderate size.
pub(super) fn complex1(op: Number1, z: C) -> Got<C> {
    let small = z.norm() < 20.0;
    Ok(match op {
        Number1::Neg => -z,
        Number1::Recip if small && z.norm() > 1e-6 => 1.0 / z,
        Number1::Exp if small => z.exp(),
        Number1::Sin if small => z.sin(),
        Number1::Cos if small => z.cos(),
        Number1::Sinh if small => z.sinh(),
        Number1::Cosh if small => z.cosh(),
        Number1::Sqrt if small && z.re > 0.01 => z.sqrt(),
        Number1::Ln if small && z.re > 0.01 => z.ln(),
        _ => return Err(Why::Unknown),
    })
}

pub(super) fn number2(op: Number2, x: f64, y: f64) -> f64 {
    match op {
        Number2::Add => x + y,
        Number2::Sub => x - y,
        Number2::Mul => x * y,
        Number2::Div => x / y,
        Number2::Pow => x.powf(y),
        Number2::Scale => {
            if y == 0.0 {
                0.0
            } else {
                x * y
            }
        }
        Number2::Guard => {
            if y == 0.0 {
                0.0
            } else {
                x
            }
        }
    }
}

pub(super) fn complex2(op: Number2, x: C, y: C) -> Got<C> {
    let finite = x.norm() < 1e100 && y.norm() < 1e100;
    let zero = y == C::new(0.0, 0.0);
    Ok(match op {
        Number2::Add => x + y,
        Number2::Sub => x - y,
        Number2::Mul if finite => x * y,
        Number2::Div if finite && y.norm() > 1e-6 => x / y,
        Number2::Scale if zero => C::new(0.0, 0.0),
        Number2::Scale if finite => x * y,
        Number2::Guard => {
            if zero {
                C::new(0.0, 0.0)
            } else {
                x
            }
        }
        _ => return Err(Why::Unknown),
    })
}

pub(super) fn real1(op: Real1, x: f64) -> Got<f64> {
    let sign = if x > 0.0 {
        1.0
    } else if x < 0.0 {
        -1.0
    } else {
        x
    };
    Ok(match op {
        Real1::Abs => x.abs(),
        Real1::AbsSlope => {
            if x == 0.0 {
                0.0
            } else {
                sign
            }
        }
        Real1::Sign => sign,
        Real1::Floor => x.floor(),
        Real1::Ceil => x.ceil(),
        Real1::Round => x.round(),
        Real1::Trunc => x.trunc(),
        Real1::Detach => x,
        Real1::Beyond => 0.0,
        Real1::Sigmoid => {
            if x < 0.0 {
                x.exp() / (1.0 + x.exp())
            } else {
                1.0 / (1.0 + (-x).exp())
            }
        }
        Real1::Softplus => {
            x.max(0.0) + (-x.abs()).exp().ln_1p() + 0.0 * if x.is_nan() { x } else { 0.0 }
        }
        Real1::Erf | Real1::Erfc | Real1::Lgamma => return Err(Why::Unknown),
    })
}

pub(super) fn real2(op: Real2, x: f64, y: f64) -> Got<f64> {
    Ok(match op {
        Real2::Atan2 => x.atan2(y),
        Real2::Hypot => x.hypot(y),
        Real2::Min | Real2::Max if x.is_nan() || y.is_nan() => f64::NAN,
        Real2::Min => {
            if y < x {
                y
            } else {
                x
            }
        }
        Real2::Max => {
            if y > x {
                y
            } else {
                x
            }
        }
        Real2::Ratio => {
            if x == 0.0 && y == 0.0 {
                0.0
            } else {
                x / y
            }
        }
        Real2::LogAddExp if x.is_finite() && y.is_finite() => {
            x.max(y) + (-(x - y).abs()).exp().ln_1p()
        }
        Real2::LogAddExp => return Err(Why::Unknown),
        Real2::Rem if y == 0.0 || !x.is_finite() || !y.is_finite() => return Err(Why::Unknown),
        // Beside a multiple of y rounding decides.
        Real2::Rem if (x / y).abs() > 1e9 || (x / y - (x / y).round()).abs() < 1e-9 => {
            return Err(Why::Unknown);
        }
        Real2::Rem => x % y,
    })
}

pub(super) fn int1(op: Int1, n: i64) -> Got<i64> {
    match op {
        Int1::Neg => n.checked_neg().map_or_else(|| fails("overflow"), Ok),
    }
}

pub(super) fn int2(op: Int2, a: i64, b: i64) -> Got<i64> {
    let value = match op {
        Int2::Add => a.checked_add(b),
        Int2::Sub => a.checked_sub(b),
        Int2::Mul => a.checked_mul(b),
        Int2::Div if b != 0 => a.checked_div(b),
        Int2::Rem if b != 0 => a.checked_rem(b),
        Int2::Div | Int2::Rem => None,
        Int2::Min => Some(a.min(b)),
        Int2::Max => Some(a.max(b)),
        Int2::FoldIn => return Err(Why::Unknown),
    };
    value.map_or_else(|| fails("overflow"), Ok)
}

pub(super) fn compare<T: PartialOrd>(op: Compare, a: T, b: T) -> bool {
    match op {
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Eq => a == b,
        Compare::Ne => a != b,
    }
}

pub(super) fn mixed(op: Mixed, args: &[Val]) -> Got<Val> {
    Ok(match (op, args) {
        (Mixed::Promote, [Val::Real(x)]) => Val::Complex(C::new(*x, 0.0)),
        (Mixed::Complex, [Val::Real(x), Val::Real(y)]) => Val::Complex(C::new(*x, *y)),
        (Mixed::Re, [Val::Complex(z)]) => Val::Real(z.re),
        (Mixed::Im, [Val::Complex(z)]) => Val::Real(z.im),
        (Mixed::Abs2, [Val::Complex(z)]) => Val::Real(z.re * z.re + z.im * z.im),
        (Mixed::Modulus, [Val::Complex(z)]) => Val::Real(z.re.hypot(z.im)),
        (Mixed::Arg, [Val::Complex(z)]) => Val::Real(z.im.atan2(z.re)),
        (Mixed::Conj, [Val::Complex(z)]) => Val::Complex(z.conj()),
        (Mixed::FromInt, [Val::Int(n)]) => Val::Real(*n as f64),
        (Mixed::Cmp, [Val::Int(a), Val::Int(b)]) => Val::Real(f64::from(a.cmp(b) as i8)),
        (Mixed::PowiReal, [Val::Real(x), Val::Int(n)]) => match i32::try_from(*n) {
            Ok(n) if n.abs() < 1000 => Val::Real(x.powi(n)),
            _ => return Err(Why::Unknown),
        },
        (Mixed::PowiComplex, [Val::Complex(z), Val::Int(n)]) if n.abs() < 50 && z.norm() > 1e-3 => {
            Val::Complex(z.powi(*n as i32))
        }
        (Mixed::Not, [Val::Bool(a)]) => Val::Bool(!a),
        (Mixed::And, [Val::Bool(a), Val::Bool(b)]) => Val::Bool(*a && *b),
        (Mixed::Or, [Val::Bool(a), Val::Bool(b)]) => Val::Bool(*a || *b),
        _ => return Err(Why::Unknown),
    })
}
