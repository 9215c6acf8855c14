//! Construction of expressions: the rewrite rules that are applied at once.
//!
//! | rule | |
//! |---|---|
//! | exact constants are computed | `1/2 + 1/3 = 5/6`, `sqrt(1/2)^2 = 1/2`, `cos(pi/4) = sqrt(2)/2` |
//! | 0 and 1 vanish | `x + 0 = x`, `1 x = x`, `0 x = 0`, `0 / x = 0`, `x^1 = x` |
//! | the same parts cancel | `x - x = 0` |
//! | signs move outwards | `(-x) y = -(x y)`, `x + (-y) = x - y`, `sin(-x) = -sin x`, `cos(-x) = cos x` |
//! | constant factors come first and are collected | `x/3 = 1/3 x`, `2 (3 x) = 6 x`, `2 x + 3 x = 5 x` |
//! | parts of complex numbers are known | `re(a + b i) = a`, `re z + i im z = z`, `conj(conj z) = z` |
//!
//! They hold for real and complex numbers. In floats `0 x = 0` and `x - x = 0` also where x is
//! infinite or NaN, and collected constant factors may differ in the last digit from the program as
//! it was written. Nothing else is rewritten: `x + x` stays a sum, `(x + y) - y` stays as it is.
//! Each rule looks at a fixed number of parts, so an operation costs O(1).

use crate::ir::{Compare, Kind, Literal, Mixed, Number1, Number2, Op, Real1, Real2};

use super::{constant::Constant, node::Sym};

/// Returns a constant as a number of the given kind.
pub(super) fn like(c: Constant, kind: &Kind) -> Sym {
    promoted(Sym::Const(c), kind)
}

fn promoted(x: Sym, kind: &Kind) -> Sym {
    if *kind == Kind::Complex { Sym::op(Op::Mixed(Mixed::Promote), &[x], Kind::Complex) } else { x }
}

pub(super) fn is_zero(x: &Sym) -> bool {
    x.constant().is_some_and(Constant::is_zero)
}

/// Splits off a constant factor: `3 x` is (3, x).
fn split_coefficient(x: &Sym) -> (Constant, Sym) {
    if let Some([c, rest]) = x.args_of(Op::Number2(Number2::Mul))
        && let Some(c) = c.constant().filter(|c| c.is_exact())
    {
        return (c, rest.clone());
    }
    match x.args_of(Op::Number1(Number1::Neg)) {
        Some([rest]) => (Constant::int(-1), rest.clone()),
        _ => (Constant::ONE, x.clone()),
    }
}

/// Returns `-x` for an `x` with a negative sign.
fn negated(x: &Sym) -> Option<Sym> {
    let negative =
        x.constant().map_or_else(|| split_coefficient(x).0.is_negative(), Constant::is_negative);
    negative.then(|| neg(x))
}

fn neg(x: &Sym) -> Sym {
    if let Some(c) = x.constant() {
        return like(c.neg(), &x.kind());
    }
    if let Some((re, im)) = cartesian(x) {
        return complex(neg(&re), neg(&im));
    }
    match split_coefficient(x) {
        (c, rest) if c.is_int(1) => Sym::op(Op::Number1(Number1::Neg), &[rest], x.kind()),
        (c, rest) => scale(c.neg(), rest),
    }
}

/// Returns `c x` for a constant that is exact or a float.
fn scale(c: Constant, x: Sym) -> Sym {
    if c.is_zero() {
        return like(Constant::ZERO, &x.kind());
    }
    if c.is_int(1) {
        return x;
    }
    if c.is_int(-1) {
        return Sym::op(Op::Number1(Number1::Neg), std::slice::from_ref(&x), x.kind());
    }
    let kind = x.kind();
    Sym::op(Op::Number2(Number2::Mul), &[like(c, &kind), x], kind)
}

/// Returns the parts of a complex number that is written with them.
fn cartesian(z: &Sym) -> Option<(Sym, Sym)> {
    if let Some([x]) = z.args_of(Op::Mixed(Mixed::Promote)) {
        return Some((x.clone(), Sym::int(0)));
    }
    match z.args_of(Op::Mixed(Mixed::Complex)) {
        Some([x, y]) => Some((x.clone(), y.clone())),
        _ => None,
    }
}

/// Returns `x + i y`.
pub(super) fn complex(x: Sym, y: Sym) -> Sym {
    if let (Some([z]), Some([w])) =
        (x.args_of(Op::Mixed(Mixed::Re)), y.args_of(Op::Mixed(Mixed::Im)))
        && z.key() == w.key()
    {
        return z.clone();
    }
    match y {
        Sym::Const(c) if c.is_exact() && c.is_zero() => promoted(x, &Kind::Complex),
        y => Sym::op(Op::Mixed(Mixed::Complex), &[x, y], Kind::Complex),
    }
}

/// Returns the parts of complex constants; `None` if a part is not a constant.
fn constants(a: &Sym, b: &Sym) -> Option<[Constant; 4]> {
    let ((x, y), (u, v)) = (cartesian(a)?, cartesian(b)?);
    Some([x.constant()?, y.constant()?, u.constant()?, v.constant()?])
}

fn cartesian_constants(op: Number2, a: &Sym, b: &Sym) -> Option<Sym> {
    let [x, y, u, v] = constants(a, b)?;
    let (re, im) = match op {
        Number2::Add => (x.add(u)?, y.add(v)?),
        Number2::Sub => (x.add(u.neg())?, y.add(v.neg())?),
        Number2::Mul => (x.mul(u)?.add(y.mul(v)?.neg())?, x.mul(v)?.add(y.mul(u)?)?),
        _ => return None,
    };
    Some(complex(Sym::Const(re), Sym::Const(im)))
}

fn add(a: &Sym, b: &Sym, subtract: bool) -> Sym {
    let kind = a.kind();
    let (op, sign) = if subtract { (Number2::Sub, -1) } else { (Number2::Add, 1) };
    if is_zero(b) {
        return a.clone();
    }
    if is_zero(a) {
        return if subtract { neg(b) } else { b.clone() };
    }
    if let (Some(x), Some(y)) = (a.constant(), b.constant()) {
        let y = if subtract { y.neg() } else { y };
        if let Some(sum) = x.add(y) {
            return like(sum, &kind);
        }
    }
    if let Some(sum) = cartesian_constants(op, a, b) {
        return sum;
    }
    let ((c, x), (d, y)) = (split_coefficient(a), split_coefficient(b));
    if x.key() == y.key() {
        if subtract && c.key() == d.key() || !subtract && c.key() == d.neg().key() {
            return like(Constant::ZERO, &kind);
        }
        let plain = c.is_int(1) && d.is_int(1);
        let d = if subtract { d.neg() } else { d };
        if let (false, Some(sum)) = (plain, c.add(d)) {
            return scale(sum, x);
        }
    }
    if let Some(positive) = negated(b) {
        return add(a, &positive, !subtract);
    }
    if let Some(positive) = negated(a) {
        // (-x) + y = y - x, (-x) - y = -(x + y).
        return if sign == 1 { add(b, &positive, true) } else { neg(&add(&positive, b, false)) };
    }
    Sym::op(Op::Number2(op), &[a.clone(), b.clone()], kind)
}

fn mul(a: &Sym, b: &Sym) -> Sym {
    let kind = a.kind();
    if is_zero(a) || is_zero(b) {
        return like(Constant::ZERO, &kind);
    }
    if let Some(product) = cartesian_constants(Number2::Mul, a, b) {
        return product;
    }
    let factor = |x: &Sym| match x.constant().filter(|c| c.is_exact()) {
        Some(c) => (c, None),
        None => {
            let (c, rest) = split_coefficient(x);
            (c, Some(rest))
        }
    };
    let ((c, x), (d, y)) = (factor(a), factor(b));
    let Some(both) = c.mul(d) else {
        return Sym::op(Op::Number2(Number2::Mul), &[a.clone(), b.clone()], kind);
    };
    match (x, y) {
        (Some(x), Some(y)) if y.constant().is_some() => {
            scale(both, Sym::op(Op::Number2(Number2::Mul), &[y, x], kind))
        }
        (Some(x), Some(y)) => scale(both, Sym::op(Op::Number2(Number2::Mul), &[x, y], kind)),
        (Some(rest), None) | (None, Some(rest)) => scale(both, rest),
        (None, None) => like(both, &kind),
    }
}

fn div(a: &Sym, b: &Sym) -> Sym {
    let kind = a.kind();
    if let (Some(x), Some(y)) = (a.constant(), b.constant())
        && let Some(quotient) = x.div(y)
    {
        return like(quotient, &kind);
    }
    if let Some(inverse) = b.constant().and_then(Constant::recip) {
        return mul(&like(inverse, &kind), a);
    }
    if is_zero(a) && !is_zero(b) {
        return like(Constant::ZERO, &kind);
    }
    if a.constant().is_some_and(|c| c.is_int(1)) {
        return number1(Number1::Recip, b);
    }
    match (negated(a), negated(b)) {
        (Some(x), Some(y)) => div(&x, &y),
        (Some(x), None) => neg(&div(&x, b)),
        (None, Some(y)) => neg(&div(a, &y)),
        (None, None) => Sym::op(Op::Number2(Number2::Div), &[a.clone(), b.clone()], kind),
    }
}

/// Builds an operation on one number.
pub(super) fn number1(op: Number1, x: &Sym) -> Sym {
    use Number1 as F;
    if op == F::Neg {
        return neg(x);
    }
    if let Some(y) = x.constant().and_then(|c| c.apply(op)) {
        return like(y, &x.kind());
    }
    if let Some(positive) = negated(x) {
        match op {
            F::Sin
            | F::Tan
            | F::Asin
            | F::Atan
            | F::Sinh
            | F::Tanh
            | F::Asinh
            | F::Atanh
            | F::Recip => {
                return neg(&number1(op, &positive));
            }
            F::Cos | F::Cosh => return number1(op, &positive),
            _ => {}
        }
    }
    Sym::op(Op::Number1(op), std::slice::from_ref(x), x.kind())
}

/// Builds an operation on two numbers of one kind.
pub(super) fn number2(op: Number2, a: &Sym, b: &Sym) -> Sym {
    match op {
        Number2::Add => add(a, b, false),
        Number2::Sub => add(a, b, true),
        Number2::Mul => mul(a, b),
        Number2::Div => div(a, b),
        Number2::Scale | Number2::Guard if is_zero(b) => like(Constant::ZERO, &a.kind()),
        Number2::Scale
            if b.constant().is_some() || a.constant().is_some_and(Constant::is_exact) =>
        {
            mul(a, b)
        }
        Number2::Guard if b.constant().is_some() => a.clone(),
        Number2::Pow if is_zero(b) => like(Constant::ONE, &a.kind()),
        Number2::Pow if b.constant().is_some_and(|c| c.is_int(1)) => a.clone(),
        Number2::Scale | Number2::Guard | Number2::Pow => {
            Sym::op(Op::Number2(op), &[a.clone(), b.clone()], a.kind())
        }
    }
}

/// Builds an operation on one real number; of a constant its value.
pub(super) fn real1(op: Real1, x: &Sym) -> Sym {
    if let Sym::Const(c) = x {
        if c.is_exact() && op == Real1::Abs {
            return Sym::Const(if c.is_negative() { c.neg() } else { *c });
        }
        if let Ok(y) = op.value(&c.value())
            && (op.is_constant() || !c.is_exact())
        {
            return Sym::Const(Constant::from_f64(y));
        }
    }
    Sym::op(Op::Real1(op), std::slice::from_ref(x), Kind::Real)
}

/// Builds an operation on two real numbers.
pub(super) fn real2(op: Real2, a: &Sym, b: &Sym) -> Sym {
    if let (Sym::Const(x), Sym::Const(y), Real2::Min | Real2::Max) = (a, b, op)
        && let Some(order) = x.compare(*y)
    {
        let first = if op == Real2::Min { order.is_le() } else { order.is_ge() };
        return if first { a.clone() } else { b.clone() };
    }
    if op == Real2::Hypot && (is_zero(a) || is_zero(b)) {
        return real1(Real1::Abs, if is_zero(a) { b } else { a });
    }
    Sym::op(Op::Real2(op), &[a.clone(), b.clone()], Kind::Real)
}

/// Returns `x^n`.
pub(super) fn powi(x: &Sym, n: i64) -> Sym {
    let kind = x.kind();
    match (n, x.constant().and_then(|c| c.powi(n))) {
        (0, _) => like(Constant::ONE, &kind),
        (1, _) => x.clone(),
        (_, Some(y)) => like(y, &kind),
        _ => {
            let op = if kind == Kind::Complex { Mixed::PowiComplex } else { Mixed::PowiReal };
            let n = Sym::op(Op::Int(n), &[], Kind::Int);
            Sym::op(Op::Mixed(op), &[x.clone(), n], kind)
        }
    }
}

/// Returns the n-th derivative of digamma.
pub(super) fn polygamma(x: &Sym, n: i64) -> Sym {
    let n = Sym::op(Op::Int(n), &[], Kind::Int);
    Sym::op(Op::Mixed(Mixed::Polygamma), &[x.clone(), n], Kind::Real)
}

/// Builds a real-valued or conjugating operation on a complex number.
pub(super) fn of_complex(op: Mixed, z: &Sym) -> Sym {
    let conjugated = z.args_of(Op::Mixed(Mixed::Conj)).map(|a| &a[0]);
    match (op, cartesian(z), conjugated) {
        (Mixed::Re, Some((x, _)), _) => x,
        (Mixed::Im, Some((_, y)), _) => y,
        (Mixed::Conj, Some((x, y)), _) => complex(x, neg(&y)),
        (Mixed::Conj, _, Some(w)) => w.clone(),
        (Mixed::Re | Mixed::Abs2 | Mixed::Modulus, _, Some(w)) => of_complex(op, w),
        (Mixed::Im, _, Some(w)) => neg(&of_complex(op, w)),
        (Mixed::Abs2, Some((x, y)), _) => add(&mul(&x, &x), &mul(&y, &y), false),
        (Mixed::Modulus, Some((x, y)), _) => real2(Real2::Hypot, &x, &y),
        (Mixed::Arg, Some((x, y)), _) => real2(Real2::Atan2, &y, &x),
        (Mixed::Conj, ..) => Sym::op(Op::Mixed(op), std::slice::from_ref(z), Kind::Complex),
        _ => Sym::op(Op::Mixed(op), std::slice::from_ref(z), Kind::Real),
    }
}

/// Builds any operation, as the instructions of a function name them; `None` for one that
/// expressions do not have.
pub(super) fn apply(op: Op, args: &[Sym], kind: &Kind) -> Option<Sym> {
    Some(match (op, args) {
        (Op::Real(Literal(x)), []) => Sym::Const(Constant::from_f64(x)),
        (Op::Int(_) | Op::Bool(_), []) => Sym::op(op, args, kind.clone()),
        (Op::Number1(op), [x]) => number1(op, x),
        (Op::Number2(op), [a, b]) => number2(op, a, b),
        (Op::Real1(op), [x]) => real1(op, x),
        (Op::Real2(op), [a, b]) => real2(op, a, b),
        (Op::Compare(op), [a, b]) => compare(op, a, b),
        (Op::Select, [c, a, b]) => select(c, a, b),
        (Op::Mixed(Mixed::Promote), [x]) => promoted(x.clone(), &Kind::Complex),
        (Op::Mixed(Mixed::Complex), [x, y]) => complex(x.clone(), y.clone()),
        (Op::Mixed(Mixed::FromInt), [n]) => match integer(n) {
            Some(n) => Sym::int(n),
            None => Sym::op(op, args, Kind::Real),
        },
        (Op::Mixed(Mixed::Cmp), _) => Sym::op(op, args, Kind::Real),
        (Op::Mixed(Mixed::PowiReal | Mixed::PowiComplex), [x, n]) => match integer(n) {
            Some(n) => powi(x, n),
            None => Sym::op(op, args, kind.clone()),
        },
        (Op::Mixed(Mixed::Polygamma), _) => Sym::op(op, args, Kind::Real),
        (Op::Mixed(Mixed::Not | Mixed::And | Mixed::Or), _) => Sym::op(op, args, Kind::Bool),
        (Op::Mixed(op), [z]) => of_complex(op, z),
        (Op::Int1(f), [a]) => match integer(a).and_then(|a| f.value(a)) {
            Some(n) => Sym::op(Op::Int(n), &[], Kind::Int),
            None => Sym::op(op, args, Kind::Int),
        },
        (Op::Int2(f), [a, b]) => {
            match integer(a).zip(integer(b)).and_then(|(a, b)| f.value(a, b)) {
                Some(n) => Sym::op(Op::Int(n), &[], Kind::Int),
                None => Sym::op(op, args, Kind::Int),
            }
        }
        _ => return None,
    })
}

pub(super) fn integer(n: &Sym) -> Option<i64> {
    match n.node()?.node_kind {
        super::node::NodeKind::Op(Op::Int(n)) => Some(n),
        _ => None,
    }
}

/// Builds a comparison; of constants its result.
pub(super) fn compare(op: Compare, a: &Sym, b: &Sym) -> Sym {
    match (a, b) {
        (Sym::Const(x), Sym::Const(y)) => {
            Sym::op(Op::Bool(op.holds(x.compare(*y))), &[], Kind::Bool)
        }
        _ => Sym::op(Op::Compare(op), &[a.clone(), b.clone()], Kind::Bool),
    }
}

/// Returns `a` if the condition holds, else `b`.
pub(super) fn select(c: &Sym, a: &Sym, b: &Sym) -> Sym {
    match c.node().map(|n| &n.node_kind) {
        Some(super::node::NodeKind::Op(Op::Bool(true))) => a.clone(),
        Some(super::node::NodeKind::Op(Op::Bool(false))) => b.clone(),
        _ if a.key() == b.key() => a.clone(),
        _ => Sym::op(Op::Select, &[c.clone(), a.clone(), b.clone()], a.kind()),
    }
}
