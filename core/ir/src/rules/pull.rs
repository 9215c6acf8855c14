//! Pullbacks and pushforwards of single instructions.
//!
//! ```text
//! y = div a, b      pullback, given a, b, y and y_bar:
//!                       a_bar += scale (recip b), y_bar
//!                       b_bar += scale (neg (div y, b)), y_bar
//! ```
//!
//! Ops of the table share one rule: cotangent times the conjugate of the partial, or tangent times
//! the partial. The rest is listed below, one arm each; operations on whole arrays have a file of
//! their own, and so have elementwise ones. Reading and writing elements is linear: the rules move
//! numbers and compute nothing. (Co)tangents of arrays may be shorter than the array (see
//! [`Kind`]), hence `peek`, `put` and `add_at` instead of `get` and `set`. While they are
//! accumulated, cotangents of the operands of these may be longer, too: elements beyond the end of
//! an array do not belong to it. Rules that use the shape of a cotangent truncate it first; for
//! `fill` and for calls the engine does so.

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, FunctionBuilder, Int2, Kind, Mixed, Number1, Number2, Op, Real2},
};

use super::{Emitter, arrays, elements, partials::partial};

/// Contribution to the cotangent of one operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contribution {
    /// None.
    Zero,
    /// A value to be added to the cotangent.
    Add(Value),
    /// An index and a value to be added to that element of the cotangent.
    At(Value, Value),
}

/// Reach of a (co)tangent: it is zero where no data flow leads: the side of a select that was not
/// taken, elements that are not read, inputs that are constant. Such a zero is never multiplied;
/// every other zero is a number, whose product with an infinite partial is NaN.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reach {
    /// Reached everywhere.
    Always,
    /// Unreached where this number, or this array of numbers of the same kind, is exactly zero.
    Where(Value),
    /// Unreached where the (co)tangent itself is exactly zero.
    Nonzero,
}

/// Emits the contribution to each operand for which `wanted` is true, from the cotangent of the
/// result. `args` and `result` are the primal values, as values of the function under construction.
/// `None` if the op has no rule here.
pub fn pullback(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    result: Value,
    y_bar: Value,
    reach: Reach,
    wanted: &[bool],
) -> Option<Vec<Contribution>> {
    let mut bars = vec![Contribution::Zero; args.len()];
    // The element of a write is read before it becomes zero, and elements appended before it are
    // truncated, so that the cotangent can be updated in place.
    let backwards = matches!(op, Op::Set | Op::Put | Op::OnArrays(ArrayOp::Concat));
    for k in (0..args.len())
        .map(|k| if backwards { args.len() - 1 - k } else { k })
        .filter(|k| wanted[*k])
    {
        bars[k] = pull(b, op, args, result, k, y_bar, reach)?;
    }
    Some(bars)
}

fn pull(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    result: Value,
    k: usize,
    y_bar: Value,
    reach: Reach,
) -> Option<Contribution> {
    use Contribution::{Add, At, Zero};
    if let Op::OnArrays(op) = op {
        return arrays::pull(b, op, args, result, k, y_bar, reach);
    }
    if op.is_elementwise() && elements::is_array(b, result) {
        return elements::pull(b, op, args, result, k, y_bar, reach);
    }
    if let Some(p) = partial(b, op, k, args, result) {
        let p = Emitter::new(b).ex(p).conj().value();
        return Some(term(b, op, k, p, y_bar, reach).map_or(Zero, Add));
    }
    let element = match b.kind(y_bar) {
        Kind::Array(e) => e.kind(),
        other => other.clone(),
    };
    Some(match (op, k) {
        (Op::Mixed(mixed), _) => Add(pull_mixed(b, mixed, args, result, k, y_bar, reach)?),
        // y = [x0, x1, …]
        (Op::Array, _) => {
            let i = b.int(k as i64);
            Add(b.inst(Op::Peek, &[y_bar, i], element))
        }
        // y = [x; n]
        (Op::Fill, 0) => Add(b.inst(Op::Sum, &[y_bar], element)),
        // A vector of the same number of elements, whatever the shape of the array is.
        (Op::Sum, 0) => {
            let n = b.inst(Op::Len, &[args[0]], Kind::Int);
            let kind = b.kind(args[0]).clone();
            Add(b.inst(Op::Fill, &[y_bar, n], kind))
        }
        // y = xs[i]
        (Op::Get | Op::Peek, 0) => At(args[1], y_bar),
        // y = xs with xs[i] = x
        (Op::Set | Op::Put, 0) => {
            let kind = b.kind(y_bar).clone();
            let zero = b.zero(&element);
            Add(b.inst(Op::Put, &[y_bar, args[1], zero], kind))
        }
        (Op::Set | Op::Put | Op::AddAt, 2) => Add(b.inst(Op::Peek, &[y_bar, args[1]], element)),
        (Op::AddAt, 0) | (Op::Accumulate, _) => Add(elements::loose(b, y_bar)),
        _ => return None,
    })
}

/// Emits the tangent of the result from those of the operands, `None` being zero, and from their
/// reaches. The outer `None` means that the op has no rule here.
pub fn pushforward(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    result: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    if let Op::OnArrays(op) = op {
        return arrays::push(b, op, args, result, dots, reach);
    }
    if op.is_elementwise() && elements::is_array(b, result) {
        return elements::push(b, op, args, result, dots, reach);
    }
    let dot = |k: usize| dots.get(k).copied().flatten();
    let kind = b.kind(result).clone();
    let zero_of =
        |b: &mut FunctionBuilder, v: Option<Value>, kind: &Kind| v.unwrap_or_else(|| b.zero(kind));
    let element = match &kind {
        Kind::Array(e) => e.kind(),
        other => other.clone(),
    };
    Some(match op {
        Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) => {
            push_partials(b, op, args, result, dots, reach)?
        }
        Op::Mixed(mixed) => push_mixed(b, mixed, args, result, dots, reach)?,
        Op::Array => {
            let dots: Vec<Value> = dots.iter().map(|d| zero_of(b, *d, &element)).collect();
            Some(b.inst(Op::Array, &dots, kind))
        }
        Op::Fill => dot(0).map(|d| b.inst(Op::Fill, &[d, args[1]], kind)),
        Op::Sum => dot(0).map(|d| b.inst(Op::Sum, &[d], kind)),
        Op::Get | Op::Peek => dot(0).map(|d| b.inst(Op::Peek, &[d, args[1]], kind)),
        Op::Set | Op::Put | Op::AddAt => {
            let xs = zero_of(b, dot(0), &kind);
            let x = zero_of(b, dot(2), &element);
            let op = if op == Op::AddAt { Op::AddAt } else { Op::Put };
            Some(b.inst(op, &[xs, args[1], x], kind))
        }
        Op::Accumulate => match (dot(0), dot(1)) {
            (Some(x), Some(y)) => Some(b.inst(Op::Accumulate, &[x, y], kind)),
            (x, y) => x.or(y),
        },
        _ => return None,
    })
}

/// Emits the sum of all partials times tangents.
pub(super) fn push_partials(
    b: &mut FunctionBuilder,
    op: Op,
    args: &[Value],
    result: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    let mut sum = None;
    for (k, d) in dots.iter().enumerate().filter_map(|(k, d)| Some((k, (*d)?))) {
        let p = partial(b, op, k, args, result)?;
        let term = term(b, op, k, p, d, reach.get(k).copied().unwrap_or(Reach::Always));
        sum = match (sum, term) {
            (Some(a), Some(t)) => Some(b.number2(Number2::Add, a, t)),
            (a, t) => a.or(t),
        };
    }
    Some(sum)
}

/// Emits the partial `p` of an op by its `k`-th operand, times a (co)tangent `d`. If the op ignores
/// an operand, as `max` the lesser one, nothing is multiplied.
pub(super) fn term(
    b: &mut FunctionBuilder,
    op: Op,
    k: usize,
    p: Value,
    d: Value,
    reach: Reach,
) -> Option<Value> {
    match (op, k) {
        (Op::Number2(Number2::Guard), 0) => Some(b.number2(Number2::Guard, d, p)),
        (Op::Number2(Number2::Scale), 0) | (Op::Real2(Real2::Min | Real2::Max), _) => {
            Some(b.number2(Number2::Scale, d, p))
        }
        // A factor that is constant zero cancels the other, as in `x^y ln x` at 0.
        (Op::Number2(Number2::Scale), 1) => times(b, p, d, Reach::Nonzero),
        _ => times(b, p, d, reach),
    }
}

/// Emits `p d`; `None` if the partial is the constant 0.
fn times(b: &mut FunctionBuilder, p: Value, d: Value, reach: Reach) -> Option<Value> {
    Some(match (b.constant(p), reach) {
        (Some(0.0), _) => return None,
        (Some(1.0), _) => d,
        (Some(-1.0), _) => b.number1(Number1::Neg, d),
        (_, Reach::Always) => b.number2(Number2::Mul, p, d),
        (Some(p0), _) if p0.is_finite() => b.number2(Number2::Mul, p, d),
        (_, Reach::Nonzero) => b.number2(Number2::Scale, p, d),
        (_, Reach::Where(there)) => {
            let product = b.number2(Number2::Mul, p, d);
            b.number2(Number2::Guard, product, there)
        }
    })
}

/// Emits `p d` of a partial that is not a constant.
pub(super) fn product(b: &mut FunctionBuilder, p: Value, d: Value, reach: Reach) -> Value {
    times(b, p, d, reach).unwrap_or(d)
}

/// Emits `n x^(n-1)`; 0 for n = 0, whatever x is.
fn power_slope(b: &mut FunctionBuilder, op: Mixed, x: Value, n: Value) -> Value {
    let power = power_less_one(b, op, x, n);
    let factor = b.mixed(Mixed::FromInt, &[n]);
    let factor = like(b, factor, power);
    b.number2(Number2::Scale, power, factor)
}

/// Emits `x^(n-1)`; for the least integer n in two factors.
fn power_less_one(b: &mut FunctionBuilder, op: Mixed, x: Value, n: Value) -> Value {
    let one = b.int(1);
    let int2 = |b: &mut FunctionBuilder, op: Int2, p: Value, q: Value| {
        b.inst(Op::Int2(op), &[p, q], Kind::Int)
    };
    if matches!(b.op_of(n), Some(Op::Int(n)) if n > i64::MIN) {
        let less = int2(b, Int2::Sub, n, one);
        return b.mixed(op, &[x, less]);
    }
    // max(n, low) - 1, and 0 or -1.
    let low = b.int(i64::MIN + 1);
    let (upper, lower) = (int2(b, Int2::Max, n, low), int2(b, Int2::Min, n, low));
    let (less, rest) = (int2(b, Int2::Sub, upper, one), int2(b, Int2::Sub, lower, low));
    let (power, rest) = (b.mixed(op, &[x, less]), b.mixed(op, &[x, rest]));
    b.number2(Number2::Scale, power, rest)
}

/// Converts a real number to the kind of another value.
fn like(b: &mut FunctionBuilder, real: Value, other: Value) -> Value {
    if matches!(b.kind(other), Kind::Complex | Kind::Array(Element::Complex)) {
        b.mixed(Mixed::Promote, &[real])
    } else {
        real
    }
}

pub(super) fn pull_mixed(
    b: &mut FunctionBuilder,
    op: Mixed,
    args: &[Value],
    y: Value,
    k: usize,
    y_bar: Value,
    reach: Reach,
) -> Option<Value> {
    let z = args[0];
    Some(match op {
        Mixed::Promote => b.mixed(Mixed::Re, &[y_bar]),
        Mixed::Complex => b.mixed(if k == 0 { Mixed::Re } else { Mixed::Im }, &[y_bar]),
        Mixed::Re => b.mixed(Mixed::Promote, &[y_bar]),
        Mixed::Im => {
            let zero = b.real(0.0);
            b.mixed(Mixed::Complex, &[zero, y_bar])
        }
        Mixed::Conj => b.mixed(Mixed::Conj, &[y_bar]),
        // 2 z y_bar
        Mixed::Abs2 => {
            let twice = b.number2(Number2::Add, y_bar, y_bar);
            let twice = b.mixed(Mixed::Promote, &[twice]);
            b.number2(Number2::Mul, z, twice)
        }
        // z / |z| y_bar, and 0 for z = 0
        Mixed::Modulus => {
            let slope = direction(b, z, y);
            let (bar, reach) = (b.mixed(Mixed::Promote, &[y_bar]), reach.like(b, z));
            product(b, slope, bar, reach)
        }
        // i z / |z|^2 y_bar
        Mixed::Arg => {
            let square = b.mixed(Mixed::Abs2, &[z]);
            let s = over(b, square, y_bar, reach);
            let (x, y) = (b.mixed(Mixed::Re, &[z]), b.mixed(Mixed::Im, &[z]));
            let (p, q) = (b.number2(Number2::Mul, y, s), b.number2(Number2::Mul, x, s));
            let p = b.number1(Number1::Neg, p);
            b.mixed(Mixed::Complex, &[p, q])
        }
        Mixed::PowiReal | Mixed::PowiComplex => {
            let p = power_slope(b, op, z, args[1]);
            let p = Emitter::new(b).ex(p).conj().value();
            product(b, p, y_bar, reach)
        }
        Mixed::Polygamma => {
            let p = next_polygamma(b, z, args[1]);
            product(b, p, y_bar, reach)
        }
        Mixed::FromInt | Mixed::Cmp | Mixed::Not | Mixed::And | Mixed::Or => return None,
    })
}

/// Emits `polygamma(n + 1, x)`; the largest order is NaN, as is the one that would follow it.
fn next_polygamma(b: &mut FunctionBuilder, x: Value, n: Value) -> Value {
    let next = match b.op_of(n) {
        Some(Op::Int(n)) => b.int(n.saturating_add(1)),
        _ => {
            let one = b.int(1);
            let largest = b.int(i64::MAX - 1);
            let n = b.inst(Op::Int2(Int2::Min), &[n, largest], Kind::Int);
            b.inst(Op::Int2(Int2::Add), &[n, one], Kind::Int)
        }
    };
    b.mixed(Mixed::Polygamma, &[x, next])
}

pub(super) fn push_mixed(
    b: &mut FunctionBuilder,
    op: Mixed,
    args: &[Value],
    y: Value,
    dots: &[Option<Value>],
    reach: &[Reach],
) -> Option<Option<Value>> {
    let dot = |k: usize| dots.get(k).copied().flatten();
    let reach = reach.first().copied().unwrap_or(Reach::Always);
    let z = args[0];
    if matches!(op, Mixed::FromInt | Mixed::Cmp | Mixed::Not | Mixed::And | Mixed::Or) {
        return Some(None);
    }
    if op == Mixed::Complex {
        let parts = [dot(0), dot(1)].map(|d| d.unwrap_or_else(|| b.real(0.0)));
        return Some(Some(b.mixed(op, &parts)));
    }
    let Some(d) = dot(0) else { return Some(None) };
    Some(Some(match op {
        Mixed::Abs2 => {
            let z = b.mixed(Mixed::Conj, &[z]);
            let product = b.number2(Number2::Mul, z, d);
            let half = b.mixed(Mixed::Re, &[product]);
            b.number2(Number2::Add, half, half)
        }
        // re(conj(z) z_dot) / |z|, and 0 for z = 0
        Mixed::Modulus => {
            let slope = direction(b, z, y);
            let slope = b.mixed(Mixed::Conj, &[slope]);
            let product = product(b, slope, d, reach);
            b.mixed(Mixed::Re, &[product])
        }
        // im(conj(z) z_dot / |z|^2), and 0 for a tangent of 0
        Mixed::Arg => {
            let square = b.mixed(Mixed::Abs2, &[z]);
            let r = b.number1(Number1::Recip, square);
            let (r, z) = (b.mixed(Mixed::Promote, &[r]), b.mixed(Mixed::Conj, &[z]));
            let z = b.number2(Number2::Mul, z, r);
            let product = product(b, z, d, reach);
            b.mixed(Mixed::Im, &[product])
        }
        Mixed::PowiReal | Mixed::PowiComplex => {
            let p = power_slope(b, op, z, args[1]);
            product(b, p, d, reach)
        }
        Mixed::Polygamma => {
            let p = next_polygamma(b, z, args[1]);
            product(b, p, d, reach)
        }
        linear => b.mixed(linear, &[d]),
    }))
}

/// Emits `x / y` of numbers `x` whose length is `y`; 0 where that is 0.
pub(super) fn direction(b: &mut FunctionBuilder, x: Value, y: Value) -> Value {
    let over =
        |b: &mut FunctionBuilder, x: Value| b.lifted(Op::Real2(Real2::Ratio), &[x, y], Kind::Real);
    if !matches!(b.kind(x), Kind::Complex | Kind::Array(Element::Complex)) {
        return over(b, x);
    }
    let parts = [Mixed::Re, Mixed::Im].map(|part| {
        let x = b.mixed(part, &[x]);
        over(b, x)
    });
    b.mixed(Mixed::Complex, &parts)
}

/// Emits `d / x`.
fn over(b: &mut FunctionBuilder, x: Value, d: Value, reach: Reach) -> Value {
    let r = b.number1(Number1::Recip, x);
    product(b, r, d, reach)
}
