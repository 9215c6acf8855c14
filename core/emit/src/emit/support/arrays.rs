/// Numbers with a shape, in row-major order. A list of no lengths is that of a vector.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array<T> {
    lengths: Vec<usize>,
    items: Vec<T>,
}
#[allow(dead_code)]
impl<T> Array<T> {
    /// The elements in row-major order, with a length for each axis.
    pub fn new(shape: &[usize], items: Vec<T>) -> Array<T> {
        assert!(
            !shape.is_empty() && shape.iter().product::<usize>() == items.len(),
            "{} elements cannot have the shape {shape:?}",
            items.len()
        );
        Array { lengths: if shape.len() > 1 { shape.to_vec() } else { Vec::new() }, items }
    }
    /// The length along each axis.
    pub fn shape(&self) -> Vec<usize> {
        if self.lengths.is_empty() { vec![self.items.len()] } else { self.lengths.clone() }
    }
    /// The elements in row-major order.
    pub fn items(&self) -> &[T] {
        &self.items
    }
}
impl<T> From<Vec<T>> for Array<T> {
    fn from(items: Vec<T>) -> Array<T> {
        Array { lengths: Vec::new(), items }
    }
}
impl<T> std::ops::Deref for Array<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.items
    }
}
impl<T> std::ops::DerefMut for Array<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}
//-
/// The numbers that arrays are of.
#[allow(dead_code)]
trait Number:
    Copy
    + Default
    + std::ops::Neg<Output = Self>
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
    + std::ops::Div<Output = Self>
    + std::ops::AddAssign
{
    fn of(x: f64) -> Self;
    fn conjugate(self) -> Self;
    fn square(self) -> f64;
    fn real_part(self) -> f64;
    fn imaginary_part(self) -> f64;
    fn reciprocal(self) -> Self;
}
impl Number for f64 {
    fn of(x: f64) -> f64 {
        x
    }
    fn conjugate(self) -> f64 {
        self
    }
    fn square(self) -> f64 {
        self * self
    }
    fn real_part(self) -> f64 {
        self
    }
    fn imaginary_part(self) -> f64 {
        0.0
    }
    fn reciprocal(self) -> f64 {
        1.0 / self
    }
}
//-
/// Replaces an element of an array that is first extended with zeros where needed.
fn array_put<T: Copy + Default>(xs: &mut Array<T>, i: i64, x: T) {
    let i = usize::try_from(i).expect("an index is negative");
    if i >= xs.items.len() {
        xs.items.resize(i + 1, T::default());
        xs.lengths.clear();
    }
    xs.items[i] = x;
}
//-
/// Adds to an element of an array that is first extended with zeros where needed.
fn array_add_at<T: Copy + Default + std::ops::AddAssign>(xs: &mut Array<T>, i: i64, x: T) {
    let i = usize::try_from(i).expect("an index is negative");
    if i >= xs.items.len() {
        xs.items.resize(i + 1, T::default());
        xs.lengths.clear();
    }
    xs.items[i] += x;
}
//-
/// An array in the shape of another: the elements after its own are 0.
fn array_at_full_length<T: Copy + Default, U>(mut xs: Array<T>, like: &Array<U>) -> Array<T> {
    xs.items.resize(like.items.len(), T::default());
    xs.lengths.clone_from(&like.lengths);
    xs
}
//-
/// The sum of two arrays; the shorter one counts as extended with zeros.
fn array_accumulate<T: Copy + std::ops::AddAssign>(xs: Array<T>, ys: &Array<T>) -> Array<T> {
    let (mut long, short) = if xs.len() >= ys.len() { (xs, ys.clone()) } else { (ys.clone(), xs) };
    if !short.is_empty() {
        long.items.iter_mut().zip(&short.items).for_each(|(x, y)| *x += *y);
        if long.lengths.is_empty() && !short.lengths.is_empty() {
            assert_eq!(long.len(), short.len(), "a vector stands for an array of another length");
            long.lengths = short.lengths;
        }
    }
    long
}
//-
/// An array of the same shape, from each element.
fn array_map<T: Copy, U>(xs: &Array<T>, f: impl Fn(T) -> U) -> Array<U> {
    Array { lengths: xs.lengths.clone(), items: xs.items.iter().map(|x| f(*x)).collect() }
}
//-
/// Element by element, with broadcasting.
fn array_zip<A: Copy, B: Copy, T>(op: &str, a: &Array<A>, b: &Array<B>, f: impl Fn(A, B) -> T) -> Array<T> {
    if a.lengths == b.lengths && a.len() == b.len() {
        let items = a.items.iter().zip(&b.items).map(|(x, y)| f(*x, *y)).collect();
        return Array { lengths: a.lengths.clone(), items };
    }
    let (p, q) = (a.shape(), b.shape());
    let Some(shape) = array_broadcast(&p, &q) else {
        panic!(
            "`{op}` takes arrays whose shapes are equal or 1 along each axis, counted from the last, given {p:?} and {q:?}"
        );
    };
    let places = array_places(&shape, &array_repeated(&p, &shape));
    let items = places.into_iter().zip(array_places(&shape, &array_repeated(&q, &shape)));
    Array::new(&shape, items.map(|(i, j)| f(a.items[i], b.items[j])).collect())
}
//-
/// The shape that two shapes broadcast to.
fn array_broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let length = |s: &[usize], k: usize| (k + s.len()).checked_sub(rank).map_or(1, |j| s[j]);
    (0..rank)
        .map(|k| match (length(a, k), length(b, k)) {
            (x, y) if x == y => Some(x),
            (1, y) => Some(y),
            (x, 1) => Some(x),
            _ => None,
        })
        .collect()
}
//-
/// The steps along each axis of what is in row-major order.
fn array_steps(shape: &[usize]) -> Vec<usize> {
    let mut steps = vec![1; shape.len()];
    for k in (1..shape.len()).rev() {
        steps[k - 1] = steps[k] * shape[k];
    }
    steps
}
//-
/// The steps of an array repeated to a larger shape.
fn array_repeated(from: &[usize], to: &[usize]) -> Vec<usize> {
    let (more, steps) = (to.len() - from.len(), array_steps(from));
    (0..to.len()).map(|k| if k < more || from[k - more] == 1 { 0 } else { steps[k - more] }).collect()
}
//-
/// The places of all elements of a shape, in order, by the steps along each axis.
fn array_places(shape: &[usize], steps: &[usize]) -> Vec<usize> {
    let mut places = vec![0];
    for (n, step) in shape.iter().zip(steps) {
        places = places.iter().flat_map(|at| (0..*n).map(move |i| at + i * step)).collect();
    }
    places
}
//-
/// An axis that an array has.
fn array_axis(op: &str, axis: i64, shape: &[usize]) -> usize {
    match usize::try_from(axis) {
        Ok(k) if k < shape.len() => k,
        _ => panic!("`{op}` along axis {axis} of an array of shape {shape:?}"),
    }
}
//-
/// The numbers of elements before an axis, along it and after it.
fn array_split(shape: &[usize], axis: usize) -> (usize, usize, usize) {
    (shape[..axis].iter().product(), shape[axis], shape[axis + 1..].iter().product())
}
//-
/// The lengths of the last two axes.
fn array_matrix<T>(op: &str, a: &Array<T>) -> (usize, usize) {
    match a.lengths.as_slice() {
        [.., m, n] => (*m, *n),
        _ => panic!("`{op}` takes a matrix, given {:?}", a.shape()),
    }
}
//-
/// The order of a square matrix.
fn array_square<T>(op: &str, a: &Array<T>) -> usize {
    match a.lengths.as_slice() {
        [m, n] if m == n => *n,
        _ => panic!("`{op}` takes a square matrix, given {:?}", a.shape()),
    }
}
//-
/// The length along an axis.
fn array_dim<T>(a: &Array<T>, axis: i64) -> i64 {
    let shape = a.shape();
    shape[array_axis("dim", axis, &shape)] as i64
}
//-
/// The place of the element with the given indices.
fn array_ravel_multi_index<T>(a: &Array<T>, indices: &[i64]) -> i64 {
    let shape = a.shape();
    let inside = |(i, n): (&i64, &usize)| usize::try_from(*i).is_ok_and(|i| i < *n);
    let fits = indices.len() == shape.len() && indices.iter().zip(&shape).all(inside);
    assert!(fits, "`ravel_multi_index`: the element at {indices:?} of an array of shape {shape:?}");
    indices.iter().zip(&shape).fold(0, |at, (i, n)| at * *n as i64 + i)
}
//-
/// The number of elements of a shape.
fn array_count(shape: &[i64]) -> i64 {
    assert!(shape.iter().all(|n| *n >= 0), "a shape of {shape:?}");
    shape.iter().product()
}
//-
/// The length along each axis.
fn array_shape<T>(a: &Array<T>) -> Array<i64> {
    Array::from(a.shape().into_iter().map(|n| n as i64).collect::<Vec<_>>())
}
//-
/// The same elements in another shape.
fn array_reshape<T: Clone>(a: &Array<T>, shape: &[i64]) -> Array<T> {
    let known: usize = shape.iter().filter(|n| **n != -1).map(|n| *n as usize).product();
    let rest = a.len().checked_div(known).unwrap_or(0);
    let shape: Vec<usize> = shape.iter().map(|n| if *n == -1 { rest } else { *n as usize }).collect();
    let fits = !shape.is_empty() && shape.iter().product::<usize>() == a.len();
    assert!(fits, "`reshape`: the shape {shape:?} of an array of shape {:?}", a.shape());
    Array::new(&shape, a.items.clone())
}
//-
/// An array without elements of its own, for its shape.
fn array_form(lengths: &Array<i64>) -> Array<()> {
    let shape: Vec<usize> = lengths.items.iter().map(|&n| n as usize).collect();
    Array::new(&shape, vec![(); shape.iter().product()])
}
//-
/// The elements of the first in the shape of the second, cut off or followed by zeros.
fn array_reshape_like<T: Copy + Default, U>(a: &Array<T>, b: &Array<U>) -> Array<T> {
    let mut items = a.items.clone();
    items.resize(b.len(), T::default());
    Array { lengths: b.lengths.clone(), items }
}
//-
/// A new axis of length 1.
fn array_insert_axis<T: Clone>(a: &Array<T>, axis: i64) -> Array<T> {
    let mut shape = a.shape();
    let fits = usize::try_from(axis).is_ok_and(|k| k <= shape.len());
    assert!(fits, "`insert_axis` along axis {axis} of an array of shape {shape:?}");
    shape.insert(axis as usize, 1);
    Array::new(&shape, a.items.clone())
}
//-
/// Without an axis of length 1.
fn array_drop_axis<T: Clone>(a: &Array<T>, axis: i64) -> Array<T> {
    let mut shape = a.shape();
    let axis = array_axis("drop_axis", axis, &shape);
    assert!(shape[axis] == 1 && shape.len() > 1, "`drop_axis` {axis} of an array of shape {shape:?}");
    shape.remove(axis);
    Array::new(&shape, a.items.clone())
}
//-
/// The last two axes change places.
fn array_transpose<T: Copy>(a: &Array<T>) -> Array<T> {
    array_matrix("transpose", a);
    let (mut shape, rank) = (a.shape(), a.lengths.len());
    let mut steps = array_steps(&shape);
    shape.swap(rank - 2, rank - 1);
    steps.swap(rank - 2, rank - 1);
    let items = array_places(&shape, &steps).into_iter().map(|k| a.items[k]).collect();
    Array::new(&shape, items)
}
//-
/// Axis k of the result is axis `axes[k]`.
fn array_permute<T: Copy>(a: &Array<T>, axes: &[i64]) -> Array<T> {
    let shape = a.shape();
    let axes: Vec<usize> = axes.iter().map(|k| array_axis("permute", *k, &shape)).collect();
    let each = axes.len() == shape.len() && (0..shape.len()).all(|k| axes.contains(&k));
    assert!(each, "`permute`: the axes {axes:?} of an array of shape {shape:?}");
    let steps = array_steps(&shape);
    let to: Vec<usize> = axes.iter().map(|k| shape[*k]).collect();
    let steps: Vec<usize> = axes.iter().map(|k| steps[*k]).collect();
    Array::new(&to, array_places(&to, &steps).into_iter().map(|k| a.items[k]).collect())
}
//-
/// Axis `axes[k]` of the result is axis k.
fn array_unpermute<T: Copy>(a: &Array<T>, axes: &[i64]) -> Array<T> {
    let place = |k: usize| axes.iter().position(|axis| *axis == k as i64).map_or(-1, |k| k as i64);
    array_permute(a, &(0..axes.len()).map(place).collect::<Vec<_>>())
}
//-
/// A range along an axis.
fn array_slice<T: Copy>(a: &Array<T>, axis: i64, start: i64, len: i64) -> Array<T> {
    let mut shape = a.shape();
    let axis = array_axis("slice", axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    let fits = start >= 0 && len >= 0 && start.checked_add(len).is_some_and(|end| end <= along as i64);
    assert!(fits, "`slice`: {len} elements from {start} on along an axis of {along}");
    let (start, len) = (start as usize, len as usize);
    shape[axis] = len;
    let rows = (0..outer).map(|k| (k * along + start) * inner);
    Array::new(&shape, rows.flat_map(|from| a.items[from..from + len * inner].iter().copied()).collect())
}
//-
/// A part in its place among zeros.
fn array_pad<T: Copy + Default, U>(part: &Array<T>, whole: &Array<U>, axis: i64, start: i64) -> Array<T> {
    let (shape, own) = (whole.shape(), part.shape());
    let axis = array_axis("pad", axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    let (start, len) = (start as usize, own[axis]);
    let mut items = vec![T::default(); whole.len()];
    for k in 0..outer {
        let from = (k * along + start) * inner;
        items[from..from + len * inner].copy_from_slice(&part.items[k * len * inner..(k + 1) * len * inner]);
    }
    Array::new(&shape, items)
}
//-
/// An array, but for a part in its place.
fn array_dynamic_update_slice<T: Copy>(part: &Array<T>, whole: &Array<T>, axis: i64, start: i64) -> Array<T> {
    let (shape, own) = (whole.shape(), part.shape());
    let axis = array_axis("dynamic_update_slice", axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    let mut expected = shape.clone();
    expected[axis] = own.get(axis).copied().unwrap_or(0);
    assert!(expected == own, "`dynamic_update_slice` takes a part that differs from the whole along one axis, given {own:?} and {shape:?}");
    let len = own[axis];
    let fits = start >= 0 && start.checked_add(len as i64).is_some_and(|end| end <= along as i64);
    assert!(fits, "`dynamic_update_slice`: {len} elements from {start} on along an axis of {along}");
    let mut items = whole.items.clone();
    for k in 0..outer {
        let from = (k * along + start as usize) * inner;
        items[from..from + len * inner].copy_from_slice(&part.items[k * len * inner..(k + 1) * len * inner]);
    }
    Array::new(&shape, items)
}
//-
/// Two arrays joined along an axis.
fn array_concat<T: Copy>(a: &Array<T>, b: &Array<T>, axis: i64) -> Array<T> {
    let (mut shape, other) = (a.shape(), b.shape());
    let axis = array_axis("concat", axis, &shape);
    let same = shape.len() == other.len() && (0..shape.len()).all(|k| k == axis || shape[k] == other[k]);
    assert!(same, "`concat` takes arrays that differ along the one axis only, given {shape:?} and {other:?}");
    let (outer, m, inner) = array_split(&shape, axis);
    let n = other[axis];
    shape[axis] = m + n;
    let mut items = Vec::with_capacity(a.len() + b.len());
    for k in 0..outer {
        items.extend_from_slice(&a.items[k * m * inner..(k + 1) * m * inner]);
        items.extend_from_slice(&b.items[k * n * inner..(k + 1) * n * inner]);
    }
    Array::new(&shape, items)
}
//-
/// The rows at the given indices along the first axis.
fn array_gather<T: Copy>(a: &Array<T>, indices: &[i64]) -> Array<T> {
    let mut shape = a.shape();
    let (rows, inner) = (shape[0], shape[1..].iter().product::<usize>());
    shape[0] = indices.len();
    let mut items = Vec::with_capacity(inner * indices.len());
    for &k in indices {
        assert!(k >= 0 && k < rows as i64, "`gather`: index {k} along an axis of {rows}");
        items.extend_from_slice(&a.items[k as usize * inner..(k as usize + 1) * inner]);
    }
    Array::new(&shape, items)
}
//-
/// Rows added to zeros in the shape of the second.
fn array_scatter<T: Copy + Default + std::ops::AddAssign>(
    rows: &Array<T>,
    whole: &Array<T>,
    indices: &[i64],
) -> Array<T> {
    let shape = whole.shape();
    let inner = shape[1..].iter().product::<usize>();
    let mut items = vec![T::default(); whole.len()];
    for (j, k) in indices.iter().enumerate() {
        for i in 0..inner {
            items[*k as usize * inner + i] += rows.items[j * inner + i];
        }
    }
    Array::new(&shape, items)
}
//-
/// One number everywhere, in the shape of an array.
fn array_broadcast_to_number<T: Copy, U>(x: T, b: &Array<U>) -> Array<T> {
    Array { lengths: b.lengths.clone(), items: vec![x; b.len()] }
}
//-
/// Repeated to the shape of the second.
fn array_broadcast_to<T: Copy, U>(a: &Array<T>, b: &Array<U>) -> Array<T> {
    let (from, to) = (a.shape(), b.shape());
    let fits = array_broadcast(&from, &to).as_ref() == Some(&to);
    assert!(fits, "`broadcast_to`: an array of shape {from:?} cannot be repeated to {to:?}");
    let places = array_places(&to, &array_repeated(&from, &to));
    Array::new(&to, places.into_iter().map(|k| a.items[k]).collect())
}
//-
/// The sums over the repeated elements, in the shape of the second.
fn array_sum_like<T: Copy + Default + std::ops::AddAssign, U>(a: &Array<T>, b: &Array<U>) -> Array<T> {
    let (from, to) = (a.shape(), b.shape());
    let fits = array_broadcast(&from, &to).as_ref() == Some(&from);
    assert!(fits, "`sum_like`: an array of shape {to:?} cannot be repeated to {from:?}");
    let mut items = vec![T::default(); b.len()];
    for (x, k) in a.items.iter().zip(array_places(&from, &array_repeated(&to, &from))) {
        items[k] += *x;
    }
    Array::new(&to, items)
}
//-
/// The elements below the k-th diagonal of matrices, or above it; the others are 0.
fn array_triangle<T: Copy + Default>(op: &str, a: &Array<T>, k: i64, upper: bool) -> Array<T> {
    let (m, n) = array_matrix(op, a);
    let mut a = a.clone();
    for (place, x) in a.items.iter_mut().enumerate() {
        let (i, j) = (place / n % m, place % n);
        let edge = (i as i64).saturating_add(k);
        if if upper { (j as i64) < edge } else { j as i64 > edge } {
            *x = T::default();
        }
    }
    a
}
//-
/// On and below the k-th diagonal.
fn array_tril<T: Copy + Default>(a: &Array<T>, k: i64) -> Array<T> {
    array_triangle("tril", a, k, false)
}
//-
/// On and above the k-th diagonal.
fn array_triu<T: Copy + Default>(a: &Array<T>, k: i64) -> Array<T> {
    array_triangle("triu", a, k, true)
}
//-
/// The main diagonal.
fn array_diagonal<T: Copy>(a: &Array<T>) -> Array<T> {
    let n = array_square("diagonal", a);
    Array::from((0..n).map(|k| a.items[k * (n + 1)]).collect::<Vec<_>>())
}
//-
/// The square matrix with the given diagonal.
fn array_diagonal_matrix<T: Copy + Default>(a: &Array<T>) -> Array<T> {
    assert!(a.lengths.is_empty(), "`diagonal_matrix` takes a vector, given {:?}", a.shape());
    let n = a.len();
    let mut items = vec![T::default(); n * n];
    a.items.iter().enumerate().for_each(|(k, x)| items[k * (n + 1)] = *x);
    Array::new(&[n, n], items)
}
//-
/// Numbers in [0, 1), all as likely, which a key determines.
fn array_rand(key: i64, lengths: &Array<i64>) -> Array<f64> {
    let shape = array_form(lengths).shape();
    let key = fold_in(key, -1);
    Array::new(&shape, (0..shape.iter().product::<usize>() as i64).map(|k| array_uniform(key, k)).collect())
}
//-
/// Normal numbers, which a key determines.
fn array_randn(key: i64, lengths: &Array<i64>) -> Array<f64> {
    let shape = array_form(lengths).shape();
    let key = fold_in(key, -2);
    let normal = |k: i64| {
        let (u, v) = (array_uniform(key, 2 * k), array_uniform(key, 2 * k + 1));
        (-2.0 * (-u).ln_1p()).sqrt() * (std::f64::consts::TAU * v).cos()
    };
    Array::new(&shape, (0..shape.iter().product::<usize>() as i64).map(normal).collect())
}
//-
/// A multiple of `2^-53` in [0, 1).
fn array_uniform(key: i64, counter: i64) -> f64 {
    (fold_in(key, counter) as u64 >> 11) as f64 * f64::EPSILON / 2.0
}
