//! The shapes of the results, for known shapes of the operands.

use crate::array::{
    self, ArrayError, Shape, broadcast, checked_axis, checked_permutation, flat_index,
};

use super::super::{
    shape_rules::{elements, elementwise, long},
    shapes::AbstractValue,
};

/// A shape rule: a function of what is known of the operands.
pub(super) type ShapeRule = fn(&KnownOperands<'_>) -> Inferred;

type Inferred = Result<AbstractValue, NoShape>;

/// Why a rule gives nothing.
pub(super) enum NoShape {
    /// Too little is known.
    Unknown,
    /// The operands do not fit.
    Wrong(ArrayError),
}

impl From<ArrayError> for NoShape {
    fn from(error: ArrayError) -> NoShape {
        NoShape::Wrong(error)
    }
}

/// What is known of the operands.
pub(super) struct KnownOperands<'a> {
    /// Name of the operation, for errors.
    pub(super) op: &'static str,
    pub(super) args: &'a [&'a AbstractValue],
    /// Which of them are arrays.
    pub(super) arrays: &'a [bool],
    /// Maximum number of elements of an array.
    pub(super) limit: usize,
}

impl KnownOperands<'_> {
    /// Returns the shape of the k-th operand.
    fn shape(&self, k: usize) -> Result<Shape, NoShape> {
        self.args.get(k).and_then(|a| a.shape()).ok_or(NoShape::Unknown)
    }

    /// Returns the value of the k-th operand, an int.
    fn int(&self, k: usize) -> Result<i64, NoShape> {
        match self.args.get(k) {
            Some(AbstractValue::Int(n)) => Ok(*n),
            _ => Err(NoShape::Unknown),
        }
    }

    /// Returns the elements of the k-th operand, a list of ints.
    fn list(&self, k: usize) -> Result<&[i64], NoShape> {
        match self.args.get(k) {
            Some(AbstractValue::Ints(list)) => Ok(list),
            _ => Err(NoShape::Unknown),
        }
    }

    /// Returns the axis of an array that the k-th operand names.
    fn axis(&self, k: usize, shape: &[usize]) -> Result<usize, NoShape> {
        Ok(checked_axis(self.op, self.int(k)?, shape)?)
    }

    /// Returns the error that other shapes were expected.
    fn wrong<T>(&self, expected: &'static str, shapes: &[&[usize]]) -> Result<T, NoShape> {
        Err(ArrayError::shape(self.op, expected, shapes).into())
    }
}

fn array(shape: &[usize]) -> Inferred {
    Ok(AbstractValue::Array(Shape::from_slice(shape)))
}

/// A number, or an int that shapes do not determine.
pub(super) fn number(_: &KnownOperands<'_>) -> Inferred {
    Ok(AbstractValue::Any)
}

/// The shape of the first operand.
pub(super) fn same(x: &KnownOperands<'_>) -> Inferred {
    array(&x.shape(0)?)
}

/// The shape of the second operand.
pub(super) fn as_second(x: &KnownOperands<'_>) -> Inferred {
    array(&x.shape(1)?)
}

/// The shape of the third operand.
pub(super) fn as_third(x: &KnownOperands<'_>) -> Inferred {
    array(&x.shape(2)?)
}

/// The shape of the first operand, which has the axis that the second names.
pub(super) fn same_along(x: &KnownOperands<'_>) -> Inferred {
    let shape = x.shape(0)?;
    if let Some(AbstractValue::Int(axis)) = x.args.get(1) {
        checked_axis(x.op, *axis, &shape)?;
    }
    array(&shape)
}

/// The shape of two arrays.
pub(super) fn both_same(x: &KnownOperands<'_>) -> Inferred {
    let (a, b) = (x.shape(0)?, x.shape(1)?);
    if a == b { array(&a) } else { x.wrong("two arrays of one shape", &[&a, &b]) }
}

/// The shape of a vector.
pub(super) fn vector(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        [n] => array(&[*n]),
        shape => x.wrong("a vector", &[shape]),
    }
}

/// The shape of a matrix.
pub(super) fn matrix(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        shape @ [_, _] => array(shape),
        shape => x.wrong("a matrix", &[shape]),
    }
}

/// The shape of a matrix or a stack of matrices.
pub(super) fn matrices(x: &KnownOperands<'_>) -> Inferred {
    let shape = x.shape(0)?;
    if shape.len() < 2 {
        return x.wrong("a matrix or a stack of matrices", &[&shape]);
    }
    array(&shape)
}

/// Returns the order of a square matrix.
fn order(x: &KnownOperands<'_>) -> Result<usize, NoShape> {
    match x.shape(0)?.as_slice() {
        [m, n] if m == n => Ok(*n),
        shape => x.wrong("a square matrix", &[shape]),
    }
}

/// Returns the order of two square matrices.
fn order_of_two(x: &KnownOperands<'_>) -> Result<usize, NoShape> {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        (a @ [m, n], b) if m == n && a == b => Ok(*n),
        (a, b) => x.wrong("two square matrices of one order", &[a, b]),
    }
}

/// The shape of a square matrix.
pub(super) fn square(x: &KnownOperands<'_>) -> Inferred {
    let n = order(x)?;
    array(&[n, n])
}

/// A number from a square matrix.
pub(super) fn square_to_number(x: &KnownOperands<'_>) -> Inferred {
    order(x)?;
    Ok(AbstractValue::Any)
}

/// The shape of two square matrices.
pub(super) fn two_square(x: &KnownOperands<'_>) -> Inferred {
    let n = order_of_two(x)?;
    array(&[n, n])
}

/// The first shape, with length 1 along the axis that the second operand names.
pub(super) fn keep_axis(x: &KnownOperands<'_>) -> Inferred {
    let mut shape = x.shape(0)?;
    let axis = x.axis(1, &shape)?;
    shape[axis] = 1;
    array(&shape)
}

// Shapes.

pub(super) fn dim(x: &KnownOperands<'_>) -> Inferred {
    let shape = x.shape(0)?;
    let axis = x.axis(1, &shape)?;
    Ok(AbstractValue::Int(long(shape[axis])))
}

pub(super) fn place(x: &KnownOperands<'_>) -> Inferred {
    Ok(AbstractValue::Int(flat_index(&x.shape(0)?, x.list(1)?)?))
}

pub(super) fn count(x: &KnownOperands<'_>) -> Inferred {
    let list = x.list(0)?;
    Ok(array::count(list, x.limit).map_or(AbstractValue::Any, AbstractValue::Int))
}

pub(super) fn shape_list(x: &KnownOperands<'_>) -> Inferred {
    Ok(AbstractValue::Ints(x.shape(0)?.iter().map(|&n| long(n)).collect()))
}

pub(super) fn reshape(x: &KnownOperands<'_>) -> Inferred {
    Ok(AbstractValue::Array(array::reshaped(&x.shape(0)?, x.list(1)?)?))
}

pub(super) fn insert_axis(x: &KnownOperands<'_>) -> Inferred {
    let (mut shape, axis) = (x.shape(0)?, x.int(1)?);
    let found = usize::try_from(axis).ok().filter(|&k| k <= shape.len());
    let k = found.ok_or_else(|| ArrayError::Axis { op: x.op, axis, shape: shape.to_vec() })?;
    shape.insert(k, 1);
    array(&shape)
}

pub(super) fn drop_axis(x: &KnownOperands<'_>) -> Inferred {
    let mut shape = x.shape(0)?;
    let axis = x.axis(1, &shape)?;
    if shape[axis] != 1 || shape.len() < 2 {
        let expected = "an array of two or more axes, of which that one has length 1";
        return x.wrong(expected, &[&shape]);
    }
    shape.remove(axis);
    array(&shape)
}

pub(super) fn transpose(x: &KnownOperands<'_>) -> Inferred {
    let mut shape = x.shape(0)?;
    let rank = shape.len();
    if rank < 2 {
        return x.wrong("a matrix or a stack of matrices", &[&shape]);
    }
    shape.swap(rank - 2, rank - 1);
    array(&shape)
}

pub(super) fn permute(x: &KnownOperands<'_>) -> Inferred {
    let (shape, order) = permutation(x)?;
    array(&order.iter().map(|&k| shape[k]).collect::<Shape>())
}

pub(super) fn unpermute(x: &KnownOperands<'_>) -> Inferred {
    let (shape, order) = permutation(x)?;
    let mut to = shape.clone();
    order.iter().enumerate().for_each(|(k, &axis)| to[axis] = shape[k]);
    array(&to)
}

/// Returns the shape of the first operand, and the order of its axes that the second states.
fn permutation(x: &KnownOperands<'_>) -> Result<(Shape, Shape), NoShape> {
    let shape = x.shape(0)?;
    let order = checked_permutation(x.op, x.list(1)?, &shape)?;
    Ok((shape, order))
}

// Parts.

pub(super) fn slice(x: &KnownOperands<'_>) -> Inferred {
    let mut shape = x.shape(0)?;
    let axis = x.axis(1, &shape)?;
    let len = x.int(3)?;
    // The start does not matter for the shape.
    let start = x.int(2).unwrap_or(0);
    in_range(x.op, start, len, long(shape[axis]), &shape)?;
    shape[axis] = usize::try_from(len).unwrap_or(0);
    array(&shape)
}

/// The shape of the second operand, in which the first has a place.
pub(super) fn place_part(x: &KnownOperands<'_>) -> Inferred {
    let whole = x.shape(1)?;
    if let (Ok(part), Ok(axis), Ok(start)) = (x.shape(0), x.int(2), x.int(3)) {
        let axis = checked_axis(x.op, axis, &whole)?;
        let mut expected = whole.clone();
        expected[axis] = part.get(axis).copied().unwrap_or(0);
        if expected != part {
            return x.wrong("a part that differs from the whole along one axis", &[&part, &whole]);
        }
        in_range(x.op, start, long(part[axis]), long(whole[axis]), &whole)?;
    }
    array(&whole)
}

pub(super) fn concat(x: &KnownOperands<'_>) -> Inferred {
    let (mut shape, other) = (x.shape(0)?, x.shape(1)?);
    let axis = x.axis(2, &shape)?;
    let same =
        shape.len() == other.len() && (0..shape.len()).all(|k| k == axis || shape[k] == other[k]);
    if !same {
        return x.wrong("arrays that differ along the one axis only", &[&shape, &other]);
    }
    shape[axis] += other[axis];
    array(&shape)
}

pub(super) fn gather(x: &KnownOperands<'_>) -> Inferred {
    let mut shape = x.shape(0)?;
    if let Ok(list) = x.list(1) {
        in_all(x.op, list, shape[0], &shape)?;
    }
    // The list of indices may have any shape.
    shape[0] = elements(&x.shape(1)?);
    array(&shape)
}

pub(super) fn scatter(x: &KnownOperands<'_>) -> Inferred {
    let (rows, whole) = (x.shape(0)?, x.shape(1)?);
    // The list of indices may have any shape.
    let (n, inner) = (elements(&x.shape(2)?), elements(&whole[1..]));
    if inner.checked_mul(n) != Some(elements(&rows)) {
        return x.wrong("a row for each index", &[&rows, &whole, &[n]]);
    }
    array(&whole)
}

pub(super) fn broadcast_to(x: &KnownOperands<'_>) -> Inferred {
    let to = x.shape(1)?;
    match x.shape(0) {
        Ok(from) if broadcast(&from, &to).as_ref() != Some(&to) => {
            x.wrong("an array that can be repeated to the shape of the other", &[&from, &to])
        }
        _ => array(&to),
    }
}

pub(super) fn sum_like(x: &KnownOperands<'_>) -> Inferred {
    let to = x.shape(1)?;
    match x.shape(0) {
        Ok(from) if broadcast(&from, &to).as_ref() != Some(&from) => {
            x.wrong("an array that the other can be repeated to", &[&from, &to])
        }
        _ => array(&to),
    }
}

pub(super) fn gather_along(x: &KnownOperands<'_>) -> Inferred {
    let shape = x.shape(0)?;
    let (along, rest) = chosen(x, &shape, 1)?;
    if let Ok(list) = x.list(1) {
        in_all(x.op, list, along, &shape)?;
    }
    array(&rest)
}

pub(super) fn scatter_along(x: &KnownOperands<'_>) -> Inferred {
    let shape = x.shape(1)?;
    let (along, rest) = chosen(x, &shape, 2)?;
    if let Some(given) = x.shape(0).ok().filter(|given| *given != rest) {
        return x.wrong("an element for each line along the axis", &[&given, &shape]);
    }
    if let Ok(list) = x.list(2) {
        in_all(x.op, list, along, &shape)?;
    }
    array(&shape)
}

pub(super) fn diagonal(x: &KnownOperands<'_>) -> Inferred {
    array(&[order(x)?])
}

pub(super) fn diagonal_matrix(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        [n] => array(&[*n, *n]),
        shape => x.wrong("a vector", &[shape]),
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

/// Returns the length of an axis of an array, and its shape without that axis, which is that of the
/// indices: the k-th operand, before the axis.
fn chosen(x: &KnownOperands<'_>, shape: &[usize], k: usize) -> Result<(usize, Shape), NoShape> {
    let (along, rest) = without(x.op, x.int(k + 1)?, shape)?;
    match x.shape(k).ok().filter(|given| *given != rest) {
        Some(given) => {
            x.wrong("an array, and an index for each line along the axis", &[shape, &given])
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

// Reductions.

pub(super) fn linear_recurrence(x: &KnownOperands<'_>) -> Inferred {
    let (mut shape, other) = (x.shape(0)?, x.shape(1)?);
    if shape != other {
        return x.wrong("two arrays of one shape", &[&shape, &other]);
    }
    let axis = x.axis(2, &shape)?;
    shape[axis] += 1;
    array(&shape)
}

pub(super) fn choose_along(x: &KnownOperands<'_>) -> Inferred {
    let (along, rest) = without(x.op, x.int(1)?, &x.shape(0)?)?;
    if along == 0 && elements(&rest) > 0 {
        return Err(ArrayError::Empty { op: x.op }.into());
    }
    array(&rest)
}

pub(super) fn step(x: &KnownOperands<'_>) -> Inferred {
    Ok(elementwise(x.op, x.args, x.arrays)?)
}

pub(super) fn random(x: &KnownOperands<'_>) -> Inferred {
    Ok(array::random_shape(x.list(1)?, x.limit).map_or(AbstractValue::Any, AbstractValue::Array))
}

// Products.

pub(super) fn dot(x: &KnownOperands<'_>) -> Inferred {
    let (a, b) = (x.shape(0)?, x.shape(1)?);
    if a == b { number(x) } else { x.wrong("two arrays of one shape", &[&a, &b]) }
}

pub(super) fn matmul(x: &KnownOperands<'_>) -> Inferred {
    product(x, "matrices m x k and k x n", |[m, k], [l, n]| [m, k, l, n])
}

pub(super) fn matmul_nh(x: &KnownOperands<'_>) -> Inferred {
    product(x, "matrices m x k and n x k", |[m, k], [n, l]| [m, k, l, n])
}

pub(super) fn matmul_hn(x: &KnownOperands<'_>) -> Inferred {
    product(x, "matrices k x m and k x n", |[k, m], [l, n]| [m, k, l, n])
}

/// The shape of a product of matrices: `roles` tells from the last two lengths of each operand the
/// rows of the result, the lengths that have to be equal, and the columns of the result.
fn product(
    x: &KnownOperands<'_>,
    expected: &'static str,
    roles: fn([usize; 2], [usize; 2]) -> [usize; 4],
) -> Inferred {
    let (a, b) = (x.shape(0)?, x.shape(1)?);
    if let ([a_stack @ .., a0, a1], [b_stack @ .., b0, b1]) = (&a[..], &b[..]) {
        let [m, k, l, n] = roles([*a0, *a1], [*b0, *b1]);
        if let Some(mut shape) = broadcast(a_stack, b_stack).filter(|_| k == l) {
            shape.extend([m, n]);
            return array(&shape);
        }
    }
    x.wrong(expected, &[&a, &b])
}

pub(super) fn trace_product(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        ([m, n], [k, l]) if (m, n) == (l, k) => number(x),
        (a, b) => x.wrong("matrices m x n and n x m", &[a, b]),
    }
}

pub(super) fn contract(x: &KnownOperands<'_>) -> Inferred {
    let (a, b, labels) = (x.shape(0)?, x.shape(1)?, x.list(2)?);
    let op = array::contraction("contract", labels);
    let bad = |expected: &'static str| {
        let given = [a.len(), b.len()];
        Err(ArrayError::Labels { op, labels: labels.to_vec(), expected, given }.into())
    };
    let Some([p, q, o]) = array::lists(labels, a.len(), b.len()) else { return bad(array::LISTS) };
    let of = |label: &i64| {
        let at =
            |list: &[i64], shape: &[usize]| list.iter().position(|l| l == label).map(|k| shape[k]);
        (at(p, &a), at(q, &b))
    };
    if p.iter().any(|l| matches!(of(l), (Some(m), Some(n)) if m != n)) {
        return Err(ArrayError::shape(op, "axes of one length for each label", &[&a, &b]).into());
    }
    let shape: Option<Shape> = o.iter().map(|l| of(l).0.or(of(l).1)).collect();
    match shape.filter(|s| !s.is_empty()) {
        Some(shape) => array(&shape),
        None => bad("at least one label for the result, and none that no factor has"),
    }
}

pub(super) fn convolve(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        ([m], [n]) if *m > 0 && *n > 0 => array(&[m + n - 1]),
        (a, b) => x.wrong("two vectors of at least one element", &[a, b]),
    }
}

pub(super) fn correlate(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        ([m], [n]) if *n > 0 && n <= m => array(&[m - n + 1]),
        (a, b) => x.wrong("a vector and one of at least one element that is not longer", &[a, b]),
    }
}

// Linear algebra.

pub(super) fn solve(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        ([m, n], b @ ([k] | [k, _])) if m == n && k == n => array(b),
        (a @ [m, n], b) if m == n => {
            x.wrong("a matrix n x n and a vector of n or a matrix n x m", &[a, b])
        }
        (a, _) => x.wrong("a square matrix", &[a]),
    }
}

pub(super) fn lstsq(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        ([m, n], [k]) if m == k => array(&[*n]),
        ([m, n], [k, count]) if m == k => array(&[*n, *count]),
        (a, b) => x.wrong("a matrix m x n and a vector of m or a matrix m x k", &[a, b]),
    }
}

pub(super) fn pinv(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        [m, n] => array(&[*n, *m]),
        shape => x.wrong("a matrix", &[shape]),
    }
}

pub(super) fn qr(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        [m, n] if m >= n => array(&[m + n, *n]),
        shape => x.wrong("a matrix with at least as many rows as columns", &[shape]),
    }
}

pub(super) fn svd(x: &KnownOperands<'_>) -> Inferred {
    match x.shape(0)?.as_slice() {
        [m, n] => array(&[1 + m + n, *m.min(n)]),
        shape => x.wrong("a matrix", &[shape]),
    }
}

pub(super) fn svd_along(x: &KnownOperands<'_>) -> Inferred {
    match (x.shape(0)?.as_slice(), x.shape(1)?.as_slice()) {
        (a @ [m, n], b) if a == b => array(&[1 + m + n, *m.min(n)]),
        (a, b) => x.wrong("two matrices of one shape", &[a, b]),
    }
}

pub(super) fn eigen(x: &KnownOperands<'_>) -> Inferred {
    let n = order(x)?;
    array(&[n + 1, n])
}

pub(super) fn eigen_along(x: &KnownOperands<'_>) -> Inferred {
    let n = order_of_two(x)?;
    array(&[n + 1, n])
}

pub(super) fn spectral(x: &KnownOperands<'_>) -> Inferred {
    let (m, a, y) = (x.shape(0)?, x.shape(1)?, x.shape(2)?);
    let (d, slope) = (x.shape(3)?, x.shape(4)?);
    array::spectral_order([&m, &a, &y, &d, &slope])?;
    array(&m)
}
