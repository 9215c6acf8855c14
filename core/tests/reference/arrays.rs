//! Operations that may see arrays: element by element, and on some as wholes.

use ketgrad_core::ir::{ArrayOp, Element, Kind, Op};

use super::{Array, C, Got, Val, Why, fails, numbers};

/// Result of an operation without effects.
pub(super) fn apply(op: Op, args: &[Val], result: Option<&Kind>, limit: usize) -> Got<Val> {
    let array = |x: &Val| matches!(x, Val::Reals(_) | Val::Complexes(_) | Val::Ints(_));
    if op.is_elementwise() && args.iter().any(array) {
        return elementwise(op, args, result, limit);
    }
    let value = scalar(op, args);
    if value != Err(Why::Unknown) || op.is_elementwise() {
        return value;
    }
    match result {
        Some(Kind::Array(Element::Real)) => Ok(Val::Reals(structural(op, args, limit, &REALS)?)),
        Some(Kind::Array(Element::Complex)) => {
            Ok(Val::Complexes(structural(op, args, limit, &COMPLEXES)?))
        }
        Some(Kind::Array(Element::Int)) => Ok(Val::Ints(structural(op, args, limit, &INTS)?)),
        _ => number(op, args),
    }
}

fn scalar(op: Op, args: &[Val]) -> Got<Val> {
    Ok(match (op, args) {
        (Op::Number1(op), [Val::Real(x)]) => Val::Real(numbers::number1(op, *x)),
        (Op::Number1(op), [Val::Complex(z)]) => Val::Complex(numbers::complex1(op, *z)?),
        (Op::Number2(op), [Val::Real(x), Val::Real(y)]) => Val::Real(numbers::number2(op, *x, *y)),
        (Op::Number2(op), [Val::Complex(x), Val::Complex(y)]) => {
            Val::Complex(numbers::complex2(op, *x, *y)?)
        }
        (Op::Real1(op), [Val::Real(x)]) => Val::Real(numbers::real1(op, *x)?),
        (Op::Real2(op), [Val::Real(x), Val::Real(y)]) => Val::Real(numbers::real2(op, *x, *y)?),
        (Op::Int1(op), [Val::Int(n)]) => Val::Int(numbers::int1(op, *n)?),
        (Op::Int2(op), [Val::Int(a), Val::Int(b)]) => Val::Int(numbers::int2(op, *a, *b)?),
        (Op::Compare(op), [Val::Real(x), Val::Real(y)]) => Val::Bool(numbers::compare(op, x, y)),
        (Op::CompareInt(op), [Val::Int(a), Val::Int(b)]) => Val::Bool(numbers::compare(op, a, b)),
        (Op::Mixed(op), args) => numbers::mixed(op, args)?,
        _ => return Err(Why::Unknown),
    })
}

/// Access to arrays of one element kind, and the numbers that they start from.
struct Sort<T> {
    of: fn(&Val) -> Option<&Array<T>>,
    item: fn(&Val) -> Option<T>,
    zero: T,
    add: fn(&T, &T) -> Option<T>,
}

const REALS: Sort<f64> = Sort {
    of: |x| if let Val::Reals(a) = x { Some(a) } else { None },
    item: |x| if let Val::Real(x) = x { Some(*x) } else { None },
    zero: 0.0,
    add: |a, b| Some(a + b),
};
const COMPLEXES: Sort<C> = Sort {
    of: |x| if let Val::Complexes(a) = x { Some(a) } else { None },
    item: |x| if let Val::Complex(x) = x { Some(*x) } else { None },
    zero: C::new(0.0, 0.0),
    add: |a, b| Some(a + b),
};
const INTS: Sort<i64> = Sort {
    of: |x| if let Val::Ints(a) = x { Some(a) } else { None },
    item: |x| if let Val::Int(x) = x { Some(*x) } else { None },
    zero: 0,
    // What the sum of integers on a tape is when it overflows is left open.
    add: |_, _| None,
};

/// Elements at an index; none where that is no index.
fn at(index: i64, len: usize) -> Got<usize> {
    match usize::try_from(index) {
        Ok(k) if k < len => Ok(k),
        _ => fails("index"),
    }
}

fn structural<T: Clone>(op: Op, args: &[Val], limit: usize, sort: &Sort<T>) -> Got<Array<T>> {
    let array = |k: usize| args.get(k).and_then(sort.of).ok_or(Why::Unknown);
    let int =
        |k: usize| if let Some(Val::Int(n)) = args.get(k) { Ok(*n) } else { Err(Why::Unknown) };
    let item = |k: usize| args.get(k).and_then(sort.item).ok_or(Why::Unknown);
    let vector = |k: usize| {
        array(k).and_then(|a| if a.shape.len() == 1 { Ok(a) } else { Err(Why::Unknown) })
    };
    Ok(match op {
        Op::Array => {
            if args.len() > limit {
                return fails("length");
            }
            Array::vector((0..args.len()).map(item).collect::<Got<_>>()?)
        }
        Op::Fill => match usize::try_from(int(1)?) {
            Ok(n) if n <= limit => Array::vector(vec![item(0)?; n]),
            _ => return fails("length"),
        },
        Op::Set => {
            let mut a = array(0)?.clone();
            let k = at(int(1)?, a.items.len())?;
            a.items[k] = item(2)?;
            a
        }
        Op::Put | Op::AddAt => {
            let mut a = vector(0)?.clone();
            let Ok(k) = usize::try_from(int(1)?) else { return fails("index") };
            if k >= limit {
                return fails("length");
            }
            if a.items.len() <= k {
                a.items.resize(k + 1, sort.zero.clone());
                a.shape = vec![k + 1];
            }
            a.items[k] = match op {
                Op::Put => item(2)?,
                _ => (sort.add)(&a.items[k], &item(2)?).ok_or(Why::Unknown)?,
            };
            a
        }
        Op::Accumulate => {
            let (a, b) = (vector(0)?, vector(1)?);
            let (long, short) = if a.items.len() < b.items.len() { (b, a) } else { (a, b) };
            let mut sum = long.clone();
            for (x, y) in sum.items.iter_mut().zip(&short.items) {
                *x = (sort.add)(x, y).ok_or(Why::Unknown)?;
            }
            sum
        }
        Op::OnArrays(ArrayOp::Transpose) if array(0)?.shape.len() == 2 => {
            let a = array(0)?;
            let (m, n) = (a.shape[0], a.shape[1]);
            let items =
                (0..n).flat_map(|j| (0..m).map(move |i| i * n + j)).map(|k| a.items[k].clone());
            Array { shape: vec![n, m], items: items.collect() }
        }
        Op::OnArrays(ArrayOp::Flip) if array(0)?.shape.len() == 1 && int(1)? == 0 => {
            let a = array(0)?;
            Array::vector(a.items.iter().rev().cloned().collect())
        }
        Op::OnArrays(ArrayOp::Slice) if array(0)?.shape.len() == 1 && int(1)? == 0 => {
            let a = array(0)?;
            let (start, len) = (usize::try_from(int(2)?), usize::try_from(int(3)?));
            let (Ok(start), Ok(len)) = (start, len) else { return fails("slice") };
            match start.checked_add(len).and_then(|end| a.items.get(start..end)) {
                Some(part) => Array::vector(part.to_vec()),
                None => return fails("slice"),
            }
        }
        Op::OnArrays(ArrayOp::Concat) if int(2)? == 0 => {
            let (a, b) = (vector(0)?, vector(1)?);
            if a.items.len() + b.items.len() > limit {
                return fails("length");
            }
            Array::vector([&a.items[..], &b.items[..]].concat())
        }
        Op::OnArrays(ArrayOp::Cumsum) if array(0)?.shape.len() == 1 && int(1)? == 0 => {
            let mut sum = sort.zero.clone();
            let mut items = Vec::new();
            for x in &array(0)?.items {
                sum = (sort.add)(&sum, x).ok_or(Why::Unknown)?;
                items.push(sum.clone());
            }
            Array::vector(items)
        }
        _ => return Err(Why::Unknown),
    })
}

/// Operations whose result is a number.
fn number(op: Op, args: &[Val]) -> Got<Val> {
    let items = |a: &Val| match a {
        Val::Reals(a) => Ok(a.items.len()),
        Val::Complexes(a) => Ok(a.items.len()),
        Val::Ints(a) => Ok(a.items.len()),
        _ => Err(Why::Unknown),
    };
    let element = |a: &Val, k: usize| match a {
        Val::Reals(a) => Val::Real(a.items[k]),
        Val::Complexes(a) => Val::Complex(a.items[k]),
        Val::Ints(a) => Val::Int(a.items[k]),
        other => other.clone(),
    };
    Ok(match (op, args) {
        (Op::Sum, [Val::Reals(a)]) => Val::Real(a.items.iter().sum()),
        (Op::Sum, [Val::Complexes(a)]) => Val::Complex(a.items.iter().sum()),
        (Op::Len, [a]) => Val::Int(items(a)? as i64),
        (Op::Get, [a, Val::Int(k)]) => element(a, at(*k, items(a)?)?),
        (Op::Peek, [a, Val::Int(k)]) => match (usize::try_from(*k), a) {
            (Ok(k), a) if k < items(a)? => element(a, k),
            (Ok(_), Val::Reals(_)) => Val::Real(0.0),
            (Ok(_), Val::Complexes(_)) => Val::Complex(C::new(0.0, 0.0)),
            (Ok(_), Val::Ints(_)) => Val::Int(0),
            _ => return Err(Why::Unknown),
        },
        (Op::OnArrays(ArrayOp::Dot), [Val::Reals(a), Val::Reals(b)]) => {
            if a.shape != b.shape {
                return fails("shapes");
            }
            Val::Real(a.items.iter().zip(&b.items).map(|(x, y)| x * y).sum())
        }
        (Op::OnArrays(ArrayOp::Prod), [Val::Reals(a)]) => Val::Real(a.items.iter().product()),
        (Op::OnArrays(ArrayOp::Norm), [Val::Reals(a)]) => {
            Val::Real(a.items.iter().fold(0.0, |n: f64, x| n.hypot(*x)))
        }
        _ => return Err(Why::Unknown),
    })
}

/// Shapes aligned at their last axes, lengths of 1 repeated.
fn elementwise(op: Op, args: &[Val], result: Option<&Kind>, limit: usize) -> Got<Val> {
    let shape_of = |x: &Val| match x {
        Val::Reals(a) => a.shape.clone(),
        Val::Complexes(a) => a.shape.clone(),
        Val::Ints(a) => a.shape.clone(),
        _ => vec![],
    };
    let mut shape: Vec<usize> = vec![];
    for arg in args {
        let other = shape_of(arg);
        let n = shape.len().max(other.len());
        let length = |s: &[usize], k: usize| if k + s.len() < n { 1 } else { s[k + s.len() - n] };
        let mut both = Vec::new();
        for k in 0..n {
            match (length(&shape, k), length(&other, k)) {
                (a, b) if a == b || b == 1 => both.push(a),
                (1, b) => both.push(b),
                _ => return fails("shapes"),
            }
        }
        shape = both;
    }
    let count: usize = shape.iter().product();
    if count > limit {
        return fails("length");
    }
    let place = |own: &[usize], mut k: usize| {
        let (mut place, mut stride) = (0, 1);
        for (axis, &len) in shape.iter().enumerate().rev() {
            let index = k % len;
            k /= len;
            if let Some(own_axis) = (axis + own.len()).checked_sub(shape.len()) {
                place += stride * if own[own_axis] == 1 { 0 } else { index };
                stride *= own[own_axis];
            }
        }
        place
    };
    let mut items = Vec::new();
    for k in 0..count {
        let each = args.iter().map(|x| match x {
            Val::Reals(a) => Val::Real(a.items[place(&a.shape, k)]),
            Val::Complexes(a) => Val::Complex(a.items[place(&a.shape, k)]),
            Val::Ints(a) => Val::Int(a.items[place(&a.shape, k)]),
            other => other.clone(),
        });
        let each: Vec<Val> = each.collect();
        items.push(scalar(op, &each)?);
    }
    let of = |items: Vec<Val>, shape: Vec<usize>| match result {
        Some(Kind::Array(Element::Real)) => {
            let items = items.iter().map(|x| (REALS.item)(x)).collect::<Option<_>>()?;
            Some(Val::Reals(Array { shape, items }))
        }
        Some(Kind::Array(Element::Complex)) => {
            let items = items.iter().map(|x| (COMPLEXES.item)(x)).collect::<Option<_>>()?;
            Some(Val::Complexes(Array { shape, items }))
        }
        _ => None,
    };
    of(items, shape).ok_or(Why::Unknown)
}
