//! Shape inference of each operation, for known shapes.

use crate::array::{self, ArrayError, Shape, broadcast, checked_axis, checked_count, flat_index};

use super::{
    arrays::ArrayOp,
    op::{Int1, Mixed, Op},
    shapes::{AbstractValue, compared, is_empty},
};

type ShapeRuleResult = Result<AbstractValue, ArrayError>;

/// Returns the abstract value of the result of an operation, from those of its operands and from
/// which of them are arrays.
///
/// An array of more than `limit` elements is never made, so its abstract value is unknown: the
/// product and the sums of known lengths do not overflow.
pub(super) fn result(
    op: Op,
    args: &[&AbstractValue],
    arrays: &[bool],
    limit: usize,
) -> ShapeRuleResult {
    Ok(bounded(unbounded(op, args, arrays, limit)?, limit))
}

/// Returns an unknown value in place of an array of more than `limit` elements.
pub(super) fn bounded(known: AbstractValue, limit: usize) -> AbstractValue {
    match &known {
        AbstractValue::Array(shape) | AbstractValue::ArrayOrEmpty(shape)
            if checked_count(shape, limit).is_err() =>
        {
            AbstractValue::Any
        }
        _ => known,
    }
}

fn unbounded(op: Op, args: &[&AbstractValue], arrays: &[bool], limit: usize) -> ShapeRuleResult {
    let int = |k: usize| match args.get(k) {
        Some(AbstractValue::Int(n)) => Some(*n),
        _ => None,
    };
    let shape = |k: usize| args.get(k).and_then(|a| a.shape());
    Ok(match op {
        Op::Int(n) => AbstractValue::Int(n),
        Op::Bool(b) => AbstractValue::Bool(b),
        Op::Int1(Int1::Neg) => {
            int(0).and_then(i64::checked_neg).map_or(AbstractValue::Any, AbstractValue::Int)
        }
        Op::Int2(op) => int(0)
            .zip(int(1))
            .and_then(|(a, b)| op.value(a, b))
            .map_or(AbstractValue::Any, AbstractValue::Int),
        Op::CompareInt(op) => {
            int(0).zip(int(1)).map_or(AbstractValue::Any, |(a, b)| compared(op, a, b))
        }
        Op::Mixed(op @ (Mixed::Not | Mixed::And | Mixed::Or)) => match (op, args) {
            (Mixed::Not, [AbstractValue::Bool(a)]) => AbstractValue::Bool(!a),
            (Mixed::And, [AbstractValue::Bool(a), AbstractValue::Bool(b)]) => {
                AbstractValue::Bool(*a && *b)
            }
            (Mixed::Or, [AbstractValue::Bool(a), AbstractValue::Bool(b)]) => {
                AbstractValue::Bool(*a || *b)
            }
            _ => AbstractValue::Any,
        },
        Op::Array => {
            let items: Option<Vec<i64>> = (0..args.len()).map(int).collect();
            items.filter(|list| !list.is_empty()).map_or_else(
                || AbstractValue::Array(Shape::from_slice(&[args.len()])),
                AbstractValue::Ints,
            )
        }
        Op::Fill => match int(1).and_then(|n| usize::try_from(n).ok()) {
            Some(n) => AbstractValue::Array(Shape::from_slice(&[n])),
            None => AbstractValue::Any,
        },
        Op::Len => shape(0).map_or(AbstractValue::Any, |s| AbstractValue::Int(long(elements(&s)))),
        Op::Get => match (args.first(), int(1)) {
            (Some(AbstractValue::Ints(list)), Some(i)) => usize::try_from(i)
                .ok()
                .and_then(|i| list.get(i))
                .map_or(AbstractValue::Any, |n| AbstractValue::Int(*n)),
            _ => AbstractValue::Any,
        },
        Op::Set => shape(0).map_or(AbstractValue::Any, AbstractValue::Array),
        Op::Put | Op::AddAt => match (shape(0), int(1).and_then(|k| usize::try_from(k).ok())) {
            (Some(shape), Some(k)) if k < elements(&shape) => AbstractValue::Array(shape),
            _ => AbstractValue::Any,
        },
        Op::Accumulate => match (args[0], args[1]) {
            (AbstractValue::ArrayOrEmpty(a), b) | (b, AbstractValue::ArrayOrEmpty(a)) => {
                match b.shape() {
                    Some(b) if is_empty(&b) => AbstractValue::ArrayOrEmpty(a.clone()),
                    Some(b) if b == *a => AbstractValue::Array(b),
                    None if *b == AbstractValue::ArrayOrEmpty(a.clone()) => b.clone(),
                    _ => AbstractValue::Any,
                }
            }
            (a, b) => match (a.shape(), b.shape()) {
                (Some(a), Some(b)) if *a == [0] => AbstractValue::Array(b),
                (Some(a), Some(b)) if a == b || is_empty(&b) => AbstractValue::Array(a),
                (Some(a), Some(b)) if is_empty(&a) => AbstractValue::Array(b),
                _ => AbstractValue::Any,
            },
        },
        Op::OnArrays(op) => return on_arrays(op, args, arrays, limit),
        op if op.is_elementwise() => return elementwise(op.name(), args, arrays),
        _ => AbstractValue::Any,
    })
}

/// Converts a length or a number of elements. No array has more than `i64::MAX`.
fn long(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Returns the number of elements of an array of a known shape: see [`result`] for why it does not
/// overflow.
fn elements(shape: &[usize]) -> usize {
    shape.iter().product()
}

/// Infers the shape of operations on numbers, element by element.
fn elementwise(op: &'static str, args: &[&AbstractValue], arrays: &[bool]) -> ShapeRuleResult {
    let shapes: Vec<Shape> = args.iter().filter_map(|a| a.shape()).collect();
    Ok(match shapes.as_slice() {
        [a, b] => AbstractValue::Array(broadcast(a, b).ok_or_else(|| {
            let expected =
                "arrays whose shapes are equal or 1 along each axis, counted from the last";
            ArrayError::shape(op, expected, &[a, b])
        })?),
        // The other operand, if there is one, is a number.
        [a] if arrays.iter().filter(|a| **a).count() == 1 => AbstractValue::Array(a.clone()),
        _ => AbstractValue::Any,
    })
}

/// Shape of the k-th operand; an unknown one ends the inference.
macro_rules! known {
    ($args:expr, $k:expr) => {
        match $args.get($k).and_then(|a| a.shape()) {
            Some(shape) => shape,
            None => return Ok(AbstractValue::Any),
        }
    };
}
/// Value of the k-th operand, an int.
macro_rules! int {
    ($args:expr, $k:expr) => {
        match $args.get($k) {
            Some(AbstractValue::Int(n)) => *n,
            _ => return Ok(AbstractValue::Any),
        }
    };
}
/// Elements of the k-th operand, a list.
macro_rules! list {
    ($args:expr, $k:expr) => {
        match $args.get($k) {
            Some(AbstractValue::Ints(list)) => list.as_slice(),
            _ => return Ok(AbstractValue::Any),
        }
    };
}

fn on_arrays(
    op: ArrayOp,
    args: &[&AbstractValue],
    arrays: &[bool],
    limit: usize,
) -> ShapeRuleResult {
    use ArrayOp as A;
    let name = op.name();
    let wrong = |expected: &'static str, shapes: &[&[usize]]| {
        Err(ArrayError::shape(name, expected, shapes))
    };
    let array = |shape: &[usize]| Ok(AbstractValue::Array(Shape::from_slice(shape)));
    match op {
        A::Count => {
            let list = list!(args, 0);
            Ok(array::count(list, limit).map_or(AbstractValue::Any, AbstractValue::Int))
        }
        A::Uniform | A::Normal => Ok(array::random_shape(list!(args, 1), limit)
            .map_or(AbstractValue::Any, AbstractValue::Array)),
        A::Dim => {
            let shape = known!(args, 0);
            let axis = checked_axis(name, int!(args, 1), &shape)?;
            Ok(AbstractValue::Int(long(shape[axis])))
        }
        A::RavelMultiIndex => flat_index(&known!(args, 0), list!(args, 1)).map(AbstractValue::Int),
        A::Shape => Ok(AbstractValue::Ints(known!(args, 0).iter().map(|&n| long(n)).collect())),
        A::Reshape => reshaped(known!(args, 0), list!(args, 1)),
        A::ReshapeLike => array(&known!(args, 1)),
        A::Simple => match known!(args, 0).as_slice() {
            shape @ [_, _] => array(shape),
            shape => wrong("a matrix", &[shape]),
        },
        A::Spectral => {
            let (m, a, y) = (known!(args, 0), known!(args, 1), known!(args, 2));
            let (d, slope) = (known!(args, 3), known!(args, 4));
            array::spectral_order([&m, &a, &y, &d, &slope])?;
            array(&m)
        }
        // The start does not matter for the shape.
        A::Pad | A::DynamicUpdateSlice => {
            let whole = known!(args, 1);
            match (args[0].shape(), args[2], args[3]) {
                (Some(part), AbstractValue::Int(axis), AbstractValue::Int(start)) => {
                    embedded(name, &part, &whole, *axis, *start)
                }
                _ => array(&whole),
            }
        }
        A::Scatter => {
            let (rows, whole) = (known!(args, 0), known!(args, 1));
            // The list of indices may have any shape.
            let (n, inner) = (elements(&known!(args, 2)), elements(&whole[1..]));
            if inner.checked_mul(n) != Some(elements(&rows)) {
                return wrong("a row for each index", &[&rows, &whole, &[n]]);
            }
            array(&whole)
        }
        A::InsertAxis => {
            let (mut shape, axis) = (known!(args, 0), int!(args, 1));
            let found = usize::try_from(axis).ok().filter(|&k| k <= shape.len());
            let k =
                found.ok_or_else(|| ArrayError::Axis { op: name, axis, shape: shape.to_vec() })?;
            shape.insert(k, 1);
            array(&shape)
        }
        A::DropAxis => {
            let mut shape = known!(args, 0);
            let axis = checked_axis(name, int!(args, 1), &shape)?;
            if shape[axis] != 1 || shape.len() < 2 {
                return wrong(
                    "an array of two or more axes, of which that one has length 1",
                    &[&shape],
                );
            }
            shape.remove(axis);
            array(&shape)
        }
        A::Transpose => {
            let mut shape = known!(args, 0);
            let rank = shape.len();
            if rank < 2 {
                return wrong("a matrix or a stack of matrices", &[&shape]);
            }
            shape.swap(rank - 2, rank - 1);
            array(&shape)
        }
        A::Permute | A::Unpermute => {
            permuted(name, &known!(args, 0), list!(args, 1), op == A::Unpermute)
        }
        A::Slice => {
            let mut shape = known!(args, 0);
            let axis = checked_axis(name, int!(args, 1), &shape)?;
            let len = int!(args, 3);
            let start = if let AbstractValue::Int(start) = args[2] { *start } else { 0 };
            in_range(name, start, len, long(shape[axis]), &shape)?;
            shape[axis] = usize::try_from(len).unwrap_or(0);
            array(&shape)
        }
        A::Concat => {
            let (mut shape, other) = (known!(args, 0), known!(args, 1));
            let axis = checked_axis(name, int!(args, 2), &shape)?;
            let same = shape.len() == other.len()
                && (0..shape.len()).all(|k| k == axis || shape[k] == other[k]);
            if !same {
                return wrong("arrays that differ along the one axis only", &[&shape, &other]);
            }
            shape[axis] += other[axis];
            array(&shape)
        }
        A::Gather => {
            let mut shape = known!(args, 0);
            if let Some(AbstractValue::Ints(list)) = args.get(1) {
                in_all(name, list, shape[0], &shape)?;
            }
            // The list of indices may have any shape.
            shape[0] = elements(&known!(args, 1));
            array(&shape)
        }
        A::BroadcastTo => {
            let to = known!(args, 1);
            match args[0].shape() {
                Some(from) if broadcast(&from, &to).as_ref() != Some(&to) => {
                    wrong("an array that can be repeated to the shape of the other", &[&from, &to])
                }
                _ => array(&to),
            }
        }
        A::SumLike => {
            let to = known!(args, 1);
            match args[0].shape() {
                Some(from) if broadcast(&from, &to).as_ref() != Some(&from) => {
                    wrong("an array that the other can be repeated to", &[&from, &to])
                }
                _ => array(&to),
            }
        }
        A::Tril | A::Triu => {
            let shape = known!(args, 0);
            if shape.len() < 2 {
                wrong("a matrix or a stack of matrices", &[&shape])
            } else {
                array(&shape)
            }
        }
        A::Diagonal => match known!(args, 0).as_slice() {
            [m, n] if m == n => array(&[*n]),
            shape => wrong("a square matrix", &[shape]),
        },
        A::DiagonalMatrix => match known!(args, 0).as_slice() {
            [n] => array(&[*n, *n]),
            shape => wrong("a vector", &[shape]),
        },
        A::SumKeep | A::ShiftKeep | A::NormKeep => {
            let mut shape = known!(args, 0);
            let axis = checked_axis(name, int!(args, 1), &shape)?;
            shape[axis] = 1;
            array(&shape)
        }
        A::Cumsum | A::ReverseCumsum | A::Softmax | A::Flip => {
            let shape = known!(args, 0);
            if let Some(AbstractValue::Int(axis)) = args.get(1) {
                checked_axis(name, *axis, &shape)?;
            }
            array(&shape)
        }
        A::ExclusiveProd => array(&known!(args, 0)),
        A::ProdPairs => {
            let (a, b) = (known!(args, 0), known!(args, 1));
            if a == b { array(&a) } else { wrong("two arrays of one shape", &[&a, &b]) }
        }
        A::LinearRecurrence => {
            let (mut shape, other) = (known!(args, 0), known!(args, 1));
            if shape != other {
                return wrong("two arrays of one shape", &[&shape, &other]);
            }
            let axis = checked_axis(name, int!(args, 2), &shape)?;
            shape[axis] += 1;
            array(&shape)
        }
        A::ArgMaxAxis | A::ArgMinAxis => {
            let shape = known!(args, 0);
            let (along, rest) = without(name, int!(args, 1), &shape)?;
            if along == 0 && elements(&rest) > 0 {
                return Err(ArrayError::Empty { op: name });
            }
            array(&rest)
        }
        A::GatherAlong => {
            let shape = known!(args, 0);
            let (along, rest) = chosen(name, &shape, args[1], int!(args, 2))?;
            if let AbstractValue::Ints(list) = args[1] {
                in_all(name, list, along, &shape)?;
            }
            array(&rest)
        }
        A::ScatterAlong => {
            let shape = known!(args, 1);
            let (along, rest) = chosen(name, &shape, args[2], int!(args, 3))?;
            if let Some(given) = args[0].shape().filter(|given| *given != rest) {
                return wrong("an element for each line along the axis", &[&given, &shape]);
            }
            if let AbstractValue::Ints(list) = args[2] {
                in_all(name, list, along, &shape)?;
            }
            array(&shape)
        }
        A::ArgSort => match known!(args, 0).as_slice() {
            [n] => array(&[*n]),
            shape => wrong("a vector", &[shape]),
        },
        A::Step => elementwise(name, args, arrays),
        A::Dot => {
            let (a, b) = (known!(args, 0), known!(args, 1));
            if a == b {
                Ok(AbstractValue::Any)
            } else {
                wrong("two arrays of one shape", &[&a, &b])
            }
        }
        A::MatMul | A::MatMulNh | A::MatMulHn => product(op, &known!(args, 0), &known!(args, 1)),
        A::TraceProduct => match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
            ([m, n], [k, l]) if (m, n) == (l, k) => Ok(AbstractValue::Any),
            (a, b) => wrong("matrices m x n and n x m", &[a, b]),
        },
        A::Contract => contracted(&known!(args, 0), &known!(args, 1), list!(args, 2)),
        A::ContractFirst | A::ContractSecond => array(&known!(args, 2)),
        A::Convolve => match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
            ([m], [n]) if *m > 0 && *n > 0 => array(&[m + n - 1]),
            (a, b) => wrong("two vectors of at least one element", &[a, b]),
        },
        A::Correlate => match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
            ([m], [n]) if *n > 0 && n <= m => array(&[m - n + 1]),
            (a, b) => wrong("a vector and one of at least one element that is not longer", &[a, b]),
        },
        A::Fft | A::FftBack => array(&known!(args, 0)),
        A::Solve | A::SolveAdjoint | A::SolveLower | A::SolveUpper => {
            match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
                ([m, n], b @ ([k] | [k, _])) if m == n && k == n => array(b),
                (a @ [m, n], b) if m == n => {
                    wrong("a matrix n x n and a vector of n or a matrix n x m", &[a, b])
                }
                (a, _) => wrong("a square matrix", &[a]),
            }
        }
        A::Inv
        | A::Cofactors
        | A::Cholesky
        | A::Expm
        | A::Eigen
        | A::Det
        | A::SignDet
        | A::LogAbsDet => match known!(args, 0).as_slice() {
            [m, n] if m == n => match op {
                A::Eigen => array(&[n + 1, *n]),
                A::Det | A::SignDet | A::LogAbsDet => Ok(AbstractValue::Any),
                _ => array(&[*n, *n]),
            },
            shape => wrong("a square matrix", &[shape]),
        },
        A::Lstsq => match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
            ([m, n], [k]) if m == k => array(&[*n]),
            ([m, n], [k, count]) if m == k => array(&[*n, *count]),
            (a, b) => wrong("a matrix m x n and a vector of m or a matrix m x k", &[a, b]),
        },
        A::ExpmAlong | A::CofactorsAlong | A::EigenAlong => {
            match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
                (a @ [m, n], b) if m == n && a == b => match op {
                    A::EigenAlong => array(&[n + 1, *n]),
                    _ => array(a),
                },
                (a, b) => wrong("two square matrices of one order", &[a, b]),
            }
        }
        A::SvdAlong => match (known!(args, 0).as_slice(), known!(args, 1).as_slice()) {
            (a @ [m, n], b) if a == b => array(&[1 + m + n, *m.min(n)]),
            (a, b) => wrong("two matrices of one shape", &[a, b]),
        },
        A::Pinv => match known!(args, 0).as_slice() {
            [m, n] => array(&[*n, *m]),
            shape => wrong("a matrix", &[shape]),
        },
        A::Qr => match known!(args, 0).as_slice() {
            [m, n] if m >= n => array(&[m + n, *n]),
            shape => wrong("a matrix with at least as many rows as columns", &[shape]),
        },
        A::Svd => match known!(args, 0).as_slice() {
            [m, n] => array(&[1 + m + n, *m.min(n)]),
            shape => wrong("a matrix", &[shape]),
        },
        A::Prod | A::Norm | A::ArgMax | A::ArgMin | A::Shift => Ok(AbstractValue::Any),
    }
}

/// Returns the length of an axis, and the shape without it.
fn without(op: &'static str, axis: i64, shape: &[usize]) -> Result<(usize, Shape), ArrayError> {
    let axis = checked_axis(op, axis, shape)?;
    let mut rest = Shape::from_slice(shape);
    let along = rest.remove(axis);
    match rest.is_empty() {
        true => Err(ArrayError::shape(op, "an array of two or more axes", &[shape])),
        false => Ok((along, rest)),
    }
}

/// Returns the length of an axis, and the shape with that axis replaced by the shape of the
/// indices.
fn chosen(
    op: &'static str,
    shape: &[usize],
    indices: &AbstractValue,
    axis: i64,
) -> Result<(usize, Shape), ArrayError> {
    let (along, rest) = without(op, axis, shape)?;
    match indices.shape().filter(|given| *given != rest) {
        Some(given) => {
            let words = "an array, and an index for each line along the axis";
            Err(ArrayError::shape(op, words, &[shape, &given]))
        }
        None => Ok((along, rest)),
    }
}

/// Checks that all indices are within an axis.
fn in_all(op: &'static str, list: &[i64], along: usize, shape: &[usize]) -> Result<(), ArrayError> {
    match list.iter().find(|&&k| usize::try_from(k).map_or(true, |k| k >= along)) {
        Some(index) => {
            let what = format!("index {index} along an axis of {along}");
            Err(ArrayError::Range { op, what, shape: shape.to_vec() })
        }
        None => Ok(()),
    }
}

fn in_range(
    op: &'static str,
    start: i64,
    len: i64,
    along: i64,
    shape: &[usize],
) -> Result<(), ArrayError> {
    if start < 0 || len < 0 || start.checked_add(len).is_none_or(|end| end > along) {
        let what = format!("{len} elements from {start} on along an axis of {along}");
        return Err(ArrayError::Range { op, what, shape: shape.to_vec() });
    }
    Ok(())
}

fn embedded(
    op: &'static str,
    part: &[usize],
    whole: &[usize],
    axis: i64,
    start: i64,
) -> ShapeRuleResult {
    let axis = checked_axis(op, axis, whole)?;
    let mut expected = Shape::from_slice(whole);
    expected[axis] = part.get(axis).copied().unwrap_or(0);
    if expected.as_slice() != part {
        let words = "a part that differs from the whole along one axis";
        return Err(ArrayError::shape(op, words, &[part, whole]));
    }
    in_range(op, start, long(part[axis]), long(whole[axis]), whole)?;
    Ok(AbstractValue::Array(Shape::from_slice(whole)))
}

fn reshaped(from: Shape, lengths: &[i64]) -> ShapeRuleResult {
    array::reshaped(&from, lengths).map(AbstractValue::Array)
}

fn permuted(op: &'static str, shape: &[usize], axes: &[i64], back: bool) -> ShapeRuleResult {
    let mut order = Shape::new();
    for &axis in axes {
        order.push(checked_axis(op, axis, shape)?);
    }
    if order.len() != shape.len() || (0..shape.len()).any(|k| !order.contains(&k)) {
        let what = format!("the axes {axes:?}");
        return Err(ArrayError::Range { op, what, shape: shape.to_vec() });
    }
    let mut to: Shape = order.iter().map(|&k| shape[k]).collect();
    if back {
        order.iter().enumerate().for_each(|(k, &axis)| to[axis] = shape[k]);
    }
    Ok(AbstractValue::Array(to))
}

fn product(op: ArrayOp, a: &[usize], b: &[usize]) -> ShapeRuleResult {
    let expected = match op {
        ArrayOp::MatMul => "matrices m x k and k x n",
        ArrayOp::MatMulNh => "matrices m x k and n x k",
        _ => "matrices k x m and k x n",
    };
    let wrong = || ArrayError::shape(op.name(), expected, &[a, b]);
    let ([a_stack @ .., a0, a1], [b_stack @ .., b0, b1]) = (a, b) else { return Err(wrong()) };
    let (m, k, l, n) = match op {
        ArrayOp::MatMul => (a0, a1, b0, b1),
        ArrayOp::MatMulNh => (a0, a1, b1, b0),
        _ => (a1, a0, b0, b1),
    };
    let mut shape = broadcast(a_stack, b_stack).filter(|_| k == l).ok_or_else(wrong)?;
    shape.extend([*m, *n]);
    Ok(AbstractValue::Array(shape))
}

fn contracted(a: &[usize], b: &[usize], labels: &[i64]) -> ShapeRuleResult {
    let op = array::contraction("contract", labels);
    let bad = |expected: &'static str| {
        Err(ArrayError::Labels { op, labels: labels.to_vec(), expected, given: [a.len(), b.len()] })
    };
    let Some([p, q, o]) = array::lists(labels, a.len(), b.len()) else { return bad(array::LISTS) };
    let of = |label: &i64| {
        let at =
            |list: &[i64], shape: &[usize]| list.iter().position(|l| l == label).map(|k| shape[k]);
        (at(p, a), at(q, b))
    };
    if p.iter().any(|l| matches!(of(l), (Some(m), Some(n)) if m != n)) {
        return Err(ArrayError::shape(op, "axes of one length for each label", &[a, b]));
    }
    let shape: Option<Shape> = o.iter().map(|l| of(l).0.or(of(l).1)).collect();
    match shape.filter(|s| !s.is_empty()) {
        Some(shape) => Ok(AbstractValue::Array(shape)),
        None => bad("at least one label for the result, and none that no factor has"),
    }
}
