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
/// An array in the shape of another: the elements behind its own are 0.
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
/// How many elements are before an axis, along it and behind it.
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
fn array_place<T>(a: &Array<T>, indices: &[i64]) -> i64 {
    let shape = a.shape();
    let inside = |(i, n): (&i64, &usize)| usize::try_from(*i).is_ok_and(|i| i < *n);
    let fits = indices.len() == shape.len() && indices.iter().zip(&shape).all(inside);
    assert!(fits, "`place`: the element at {indices:?} of an array of shape {shape:?}");
    indices.iter().zip(&shape).fold(0, |at, (i, n)| at * *n as i64 + i)
}
//-
/// How many elements a shape has.
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
/// The elements of the first in the shape of the second, cut off or followed by zeros.
fn array_like<T: Copy + Default, U>(a: &Array<T>, b: &Array<U>) -> Array<T> {
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
fn array_embed<T: Copy + Default>(part: &Array<T>, whole: &Array<T>, axis: i64, start: i64) -> Array<T> {
    let (shape, own) = (whole.shape(), part.shape());
    let axis = array_axis("embed", axis, &shape);
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
/// What stands at the given indices along the first axis.
fn array_take<T: Copy>(a: &Array<T>, indices: &[i64]) -> Array<T> {
    let mut shape = a.shape();
    let (rows, inner) = (shape[0], shape[1..].iter().product::<usize>());
    shape[0] = indices.len();
    let mut items = Vec::with_capacity(inner * indices.len());
    for &k in indices {
        assert!(k >= 0 && k < rows as i64, "`take`: index {k} along an axis of {rows}");
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
fn array_spread_number<T: Copy, U>(x: T, b: &Array<U>) -> Array<T> {
    Array { lengths: b.lengths.clone(), items: vec![x; b.len()] }
}
//-
/// Repeated to the shape of the second.
fn array_spread<T: Copy, U>(a: &Array<T>, b: &Array<U>) -> Array<T> {
    let (from, to) = (a.shape(), b.shape());
    let fits = array_broadcast(&from, &to).as_ref() == Some(&to);
    assert!(fits, "`spread`: an array of shape {from:?} cannot be repeated to {to:?}");
    let places = array_places(&to, &array_repeated(&from, &to));
    Array::new(&to, places.into_iter().map(|k| a.items[k]).collect())
}
//-
/// What was repeated summed, to the shape of the second.
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
/// The sums along an axis, whose length becomes 1.
fn array_sum_keep<T: Number>(a: &Array<T>, axis: i64) -> Array<T> {
    let mut shape = a.shape();
    let axis = array_axis("sum_keep", axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    shape[axis] = 1;
    let mut items = Vec::with_capacity(outer * inner);
    for k in 0..outer {
        let block = &a.items[k * along * inner..(k + 1) * along * inner];
        if inner == 1 {
            items.push(sum(block));
            continue;
        }
        let first = items.len();
        items.resize(first + inner, T::default());
        for row in block.chunks_exact(inner.max(1)) {
            items[first..].iter_mut().zip(row).for_each(|(s, x)| *s += *x);
        }
    }
    Array::new(&shape, items)
}
//-
/// The sums up to each element along an axis, or from it on.
fn array_cumulative<T: Number>(op: &str, a: &Array<T>, axis: i64, back: bool) -> Array<T> {
    let shape = a.shape();
    let (outer, along, inner) = array_split(&shape, array_axis(op, axis, &shape));
    let mut a = a.clone();
    for k in 0..outer {
        for step in 1..along {
            let (to, from) = if back { (along - 1 - step, along - step) } else { (step, step - 1) };
            for i in 0..inner {
                let before = a.items[(k * along + from) * inner + i];
                a.items[(k * along + to) * inner + i] += before;
            }
        }
    }
    a
}
//-
/// The sums up to each element along an axis.
fn array_cumsum<T: Number>(a: &Array<T>, axis: i64) -> Array<T> {
    array_cumulative("cumsum", a, axis, false)
}
//-
/// The sums from each element on along an axis.
fn array_cumsum_back<T: Number>(a: &Array<T>, axis: i64) -> Array<T> {
    array_cumulative("cumsum_back", a, axis, true)
}
//-
/// The product of all elements, in four chains.
fn array_prod<T: Number>(a: &[T]) -> T {
    let mut chains = [T::of(1.0); 4];
    for four in a.chunks(4) {
        chains.iter_mut().zip(four).for_each(|(p, x)| *p = *p * *x);
    }
    (chains[0] * chains[1]) * (chains[2] * chains[3])
}
//-
/// For each element the product of all others.
fn array_prod_others<T: Number>(a: &Array<T>) -> Array<T> {
    let mut to = a.clone();
    let (mut before, mut after) = (T::of(1.0), T::of(1.0));
    for (p, x) in to.items.iter_mut().zip(&a.items) {
        *p = before;
        before = before * *x;
    }
    for (p, x) in to.items.iter_mut().zip(&a.items).rev() {
        *p = *p * after;
        after = after * *x;
    }
    to
}
//-
/// The second derivative of the product, times v.
fn array_prod_pairs<T: Number>(x: &Array<T>, v: &Array<T>) -> Array<T> {
    assert!(x.shape() == v.shape(), "`prod_pairs` takes two arrays of one shape");
    let step = |(p, d): (T, T), x: T, v: T| (p * x, d * x + p * v);
    let (mut before, mut state) = (Vec::new(), (T::of(1.0), T::default()));
    for (x, v) in x.items.iter().zip(&v.items) {
        before.push(state);
        state = step(state, *x, *v);
    }
    let (mut to, mut after) = (x.clone(), (T::of(1.0), T::default()));
    for k in (0..x.len()).rev() {
        to.items[k] = before[k].1 * after.0 + before[k].0 * after.1;
        after = step(after, x.items[k], v.items[k]);
    }
    to
}
//-
/// The place of the greatest element; of a NaN if there is one.
fn array_argmax(a: &[f64]) -> i64 {
    assert!(!a.is_empty(), "`argmax` of an array without elements");
    let better = |best: usize, k: usize| !a[best].is_nan() && (a[k].is_nan() || a[k] > a[best]);
    (1..a.len()).fold(0, |best, k| if better(best, k) { k } else { best }) as i64
}
//-
/// The place of the least element; of a NaN if there is one.
fn array_argmin(a: &[f64]) -> i64 {
    assert!(!a.is_empty(), "`argmin` of an array without elements");
    let better = |best: usize, k: usize| !a[best].is_nan() && (a[k].is_nan() || a[k] < a[best]);
    (1..a.len()).fold(0, |best, k| if better(best, k) { k } else { best }) as i64
}
//-
/// The places of the elements of a vector in ascending order; NaNs come last.
fn array_argsort(a: &Array<f64>) -> Array<i64> {
    assert!(a.lengths.is_empty(), "`argsort` takes a vector, given {:?}", a.shape());
    let mut order: Vec<usize> = (0..a.len()).collect();
    order.sort_by(|i, j| {
        let (x, y) = (a.items[*i], a.items[*j]);
        x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()))
    });
    Array::from(order.into_iter().map(|k| k as i64).collect::<Vec<_>>())
}
//-
/// The square root of the sum of the squared moduli.
fn array_norm<T: Number>(a: &Array<T>) -> f64 {
    let sums: Vec<f64> =
        a.items.chunks(128).map(|s| sum(&s.iter().map(|x| x.square()).collect::<Vec<_>>())).collect();
    sums.into_iter().fold(0.0, |total, s| total + s).sqrt()
}
//-
/// The greatest finite element, by which exponents are lessened.
fn array_shift(a: &[f64]) -> f64 {
    let greatest = a.iter().copied().reduce(|g, x| if x < g { g } else { x });
    greatest.filter(|x| x.is_finite()).unwrap_or(0.0)
}
//-
/// The lines of an array along an axis, one behind the other.
fn array_lines(op: &str, a: &Array<f64>, axis: i64) -> (usize, Vec<Vec<f64>>) {
    let shape = a.shape();
    let axis = array_axis(op, axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    let line = |k: usize| (0..along).map(|j| a.items[(k / inner * along + j) * inner + k % inner]).collect();
    (axis, (0..outer * inner).map(line).collect())
}
//-
/// The greatest finite elements along an axis, whose length becomes 1.
fn array_shift_keep(a: &Array<f64>, axis: i64) -> Array<f64> {
    let (axis, lines) = array_lines("shift_keep", a, axis);
    let mut shape = a.shape();
    shape[axis] = 1;
    Array::new(&shape, lines.iter().map(|line| array_shift(line)).collect())
}
//-
/// `exp x / sum exp x` along an axis.
fn array_softmax(a: &Array<f64>, axis: i64) -> Array<f64> {
    let (axis, lines) = array_lines("softmax", a, axis);
    let (_, along, inner) = array_split(&a.shape(), axis);
    let mut y = a.clone();
    for (k, line) in lines.iter().enumerate() {
        let m = array_shift(line);
        let exps: Vec<f64> = line.iter().map(|x| (x - m).exp()).collect();
        let part = 1.0 / exps.iter().fold(0.0, |s, x| s + x);
        for (j, x) in exps.into_iter().enumerate() {
            y.items[(k / inner * along + j) * inner + k % inner] = x * part;
        }
    }
    y
}
//-
/// 1 where the first is at least the second, else 0.
fn array_step(a: f64, b: f64) -> f64 {
    if a >= b {
        1.0
    } else if a < b {
        0.0
    } else {
        f64::NAN
    }
}
//-
/// The sum of products, in 32 columns.
fn array_dot<T: Number>(a: &Array<T>, b: &Array<T>) -> T {
    let (p, q) = (a.shape(), b.shape());
    assert!(p == q, "`dot` takes two arrays of one shape, given {p:?} and {q:?}");
    let mut columns = [T::default(); 32];
    let whole = a.len() / 8 * 8;
    let mut rest = T::default();
    for (k, (x, y)) in a.items.iter().zip(&b.items).enumerate() {
        if k < whole {
            columns[k % 32] += *x * *y;
        } else {
            rest += *x * *y;
        }
    }
    sum(&columns) + rest
}
//-
/// `A B` for matrices or stacks of them, with the adjoint of the first or of the second.
fn array_product<T: Number>(op: &str, a: &Array<T>, b: &Array<T>, first: bool, second: bool) -> Array<T> {
    let ((a0, a1), (b0, b1)) = (array_matrix(op, a), array_matrix(op, b));
    let (m, k) = if first { (a1, a0) } else { (a0, a1) };
    let (l, n) = if second { (b1, b0) } else { (b0, b1) };
    let (p, q) = (a.shape(), b.shape());
    let (a_stack, b_stack) = (&p[..p.len() - 2], &q[..q.len() - 2]);
    let Some(stack) = array_broadcast(a_stack, b_stack).filter(|_| k == l) else {
        panic!("`{op}` takes matrices m x k and k x n, given {p:?} and {q:?}");
    };
    let mut shape = stack.clone();
    shape.extend([m, n]);
    let mut items = vec![T::default(); shape.iter().product()];
    let places = array_places(&stack, &array_repeated(a_stack, &stack));
    let places = places.into_iter().zip(array_places(&stack, &array_repeated(b_stack, &stack)));
    for (s, (i, j)) in places.enumerate() {
        let (a, b) = (&a.items[i * m * k..(i + 1) * m * k], &b.items[j * k * n..(j + 1) * k * n]);
        for row in 0..m {
            for l in 0..k {
                let x = if first { a[l * m + row].conjugate() } else { a[row * k + l] };
                for column in 0..n {
                    let y = if second { b[column * k + l].conjugate() } else { b[l * n + column] };
                    items[(s * m + row) * n + column] += x * y;
                }
            }
        }
    }
    Array::new(&shape, items)
}
//-
/// `A B`.
fn array_matmul<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    array_product("matmul", a, b, false, false)
}
//-
/// `A B^H`.
fn array_matmul_nh<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    array_product("matmul_nh", a, b, false, true)
}
//-
/// `A^H B`.
fn array_matmul_hn<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    array_product("matmul_hn", a, b, true, false)
}
//-
/// `tr(A B)` without the product.
fn array_trace_product<T: Number>(a: &Array<T>, b: &Array<T>) -> T {
    let ((m, n), other) = (array_matrix("trace_product", a), array_matrix("trace_product", b));
    assert!(other == (n, m), "`trace_product` takes matrices m x n and n x m, given {:?} and {other:?}", (m, n));
    let mut total = T::default();
    for i in 0..m {
        for j in 0..n {
            total += a.items[i * n + j] * b.items[j * m + i];
        }
    }
    total
}
//-
/// Sums of products over the labels of axes that `result` lacks.
fn array_contracted<T: Number>(
    op: &str,
    a: (&Array<T>, &[i64]),
    b: (&Array<T>, &[i64]),
    result: &[i64],
    like: Option<&Array<T>>,
) -> Array<T> {
    let mut lengths: Vec<(i64, usize)> = Vec::new();
    let all = [(a.0.shape(), a.1), (b.0.shape(), b.1)];
    let wanted = like.map(|like| (like.shape(), result));
    for (shape, labels) in all.iter().chain(&wanted) {
        for (label, n) in labels.iter().zip(shape) {
            match lengths.iter().find(|l| l.0 == *label) {
                Some(known) => assert_eq!(known.1, *n, "`{op}`: the lengths of the label {label}"),
                None => lengths.push((*label, *n)),
            }
        }
    }
    let summed = lengths.iter().map(|l| l.0).filter(|l| !result.contains(l));
    let order: Vec<i64> = result.iter().copied().chain(summed).collect();
    let length = |label: &i64| lengths.iter().find(|l| l.0 == *label).map_or(1, |l| l.1);
    let whole: Vec<usize> = order.iter().map(length).collect();
    let places = |k: usize| {
        let steps = array_steps(&all[k].0);
        let step = |l: &i64| all[k].1.iter().position(|x| x == l).map_or(0, |k| steps[k]);
        array_places(&whole, &order.iter().map(step).collect::<Vec<_>>())
    };
    let shape: Vec<usize> = result.iter().map(length).collect();
    let each = whole[result.len()..].iter().product::<usize>();
    let mut items = vec![T::default(); shape.iter().product()];
    for (k, (i, j)) in places(0).into_iter().zip(places(1)).enumerate() {
        items[k / each] += a.0.items[i] * b.0.items[j];
    }
    Array::new(&shape, items)
}
//-
/// The labels of two arrays of so many axes and of the result: one list behind the other, or three lists that have to
/// fit, with the least integer between them.
fn array_labels(labels: &[i64], first: usize, second: usize) -> [&[i64]; 3] {
    let parts: Vec<&[i64]> = labels.split(|l| *l == i64::MIN).collect();
    if let [p, q, o] = parts[..] {
        let fits = p.len() == first && q.len() == second;
        assert!(fits, "`einsum` of arrays of {first} and {second} axes with the labels {p:?}, {q:?}, {o:?}");
        return [p, q, o];
    }
    let (p, rest) = labels.split_at(first);
    let (q, o) = rest.split_at(second);
    [p, q, o]
}
//-
/// Sums of products of elements of two arrays over the labels of their axes that the result lacks.
fn array_contract<T: Number>(a: &Array<T>, b: &Array<T>, labels: &[i64]) -> Array<T> {
    let [p, q, o] = array_labels(labels, a.shape().len(), b.shape().len());
    array_contracted("contract", (a, p), (b, q), o, None)
}
//-
/// What the first factor gets from the result and the second.
fn array_contract_first<T: Number>(y: &Array<T>, b: &Array<T>, a: &Array<T>, labels: &[i64]) -> Array<T> {
    let [p, q, o] = array_labels(labels, a.shape().len(), b.shape().len());
    array_contracted("contract_first", (y, o), (b, q), p, Some(a))
}
//-
/// What the second factor gets from the first and the result.
fn array_contract_second<T: Number>(a: &Array<T>, y: &Array<T>, b: &Array<T>, labels: &[i64]) -> Array<T> {
    let [p, q, o] = array_labels(labels, a.shape().len(), b.shape().len());
    array_contracted("contract_second", (a, p), (y, o), q, Some(b))
}
//-
/// The full convolution of two vectors.
fn array_convolve<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    let fits = a.lengths.is_empty() && b.lengths.is_empty() && !a.is_empty() && !b.is_empty();
    assert!(fits, "`convolve` takes two vectors of at least one element");
    let mut items = vec![T::default(); a.len() + b.len() - 1];
    for (i, x) in a.items.iter().enumerate() {
        items[i..].iter_mut().zip(&b.items).for_each(|(c, y)| *c += *x * *y);
    }
    Array::from(items)
}
//-
/// Wherever the second fits into the first.
fn array_correlate<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    let fits = a.lengths.is_empty() && b.lengths.is_empty() && !b.is_empty() && b.len() <= a.len();
    assert!(fits, "`correlate` takes a vector and one of at least one element that is not longer");
    let mut items = vec![T::default(); a.len() - b.len() + 1];
    for (i, y) in b.items.iter().enumerate() {
        items.iter_mut().zip(&a.items[i..]).for_each(|(c, x)| *c += *x * y.conjugate());
    }
    Array::from(items)
}
//-
/// `P A = L U`: both in one, the rows of A in their order, whether that is odd, and the column without a pivot.
fn array_factors<T: Number>(n: usize, a: &[T]) -> (Vec<T>, Vec<usize>, bool, Option<usize>) {
    let (mut lu, mut rows, mut odd) = (a.to_vec(), (0..n).collect::<Vec<_>>(), false);
    for c in 0..n {
        let mut best: Option<(usize, f64)> = None;
        for r in c..n {
            let size = lu[r * n + c].square();
            if size.is_nan() || size > best.map_or(0.0, |b| b.1) {
                best = Some((r, size));
            }
        }
        let Some((p, _)) = best else { return (lu, rows, odd, Some(c)) };
        if p != c {
            (0..n).for_each(|k| lu.swap(c * n + k, p * n + k));
            rows.swap(c, p);
            odd = !odd;
        }
        let inverse = lu[c * n + c].reciprocal();
        for r in c + 1..n {
            let factor = lu[r * n + c] * inverse;
            for k in c + 1..n {
                lu[r * n + k] = lu[r * n + k] - factor * lu[c * n + k];
            }
            lu[r * n + c] = factor;
        }
    }
    (lu, rows, odd, None)
}
//-
/// `A^-1 b` for `m` columns.
fn array_solved<T: Number>(op: &str, n: usize, a: &[T], b: &[T], m: usize) -> Vec<T> {
    let (lu, rows, _, stopped) = array_factors(n, a);
    if let Some(column) = stopped {
        panic!("`{op}`: the matrix is singular: no pivot in column {column} of {n}");
    }
    let mut x: Vec<T> = rows.iter().flat_map(|r| b[r * m..(r + 1) * m].iter().copied()).collect();
    for i in 1..n {
        for k in 0..i {
            for c in 0..m {
                x[i * m + c] = x[i * m + c] - lu[i * n + k] * x[k * m + c];
            }
        }
    }
    for i in (0..n).rev() {
        for k in i + 1..n {
            for c in 0..m {
                x[i * m + c] = x[i * m + c] - lu[i * n + k] * x[k * m + c];
            }
        }
        let inverse = lu[i * n + i].reciprocal();
        (0..m).for_each(|c| x[i * m + c] = x[i * m + c] * inverse);
    }
    x
}
//-
/// `A^-1 B`.
fn array_solve<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    let (n, shape) = (array_square("solve", a), b.shape());
    let fits = shape.len() < 3 && shape[0] == n;
    assert!(fits, "`solve` takes a square matrix and a vector or matrix with as many rows, given {:?} and {shape:?}", a.shape());
    Array::new(&shape, array_solved("solve", n, &a.items, &b.items, shape.get(1).copied().unwrap_or(1)))
}
//-
/// `(A^H)^-1 B`.
fn array_solve_adjoint<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    let n = array_square("solve_adjoint", a);
    array_solve(&Array::new(&[n, n], (0..n * n).map(|k| a.items[k % n * n + k / n].conjugate()).collect()), b)
}
//-
/// The solution of a system with a triangular matrix.
fn array_triangular<T: Number>(op: &str, a: &Array<T>, b: &Array<T>, upper: bool) -> Array<T> {
    let n = array_square(op, a);
    let shape = b.shape();
    assert!(
        shape.len() <= 2 && shape[0] == n,
        "`{op}` takes a matrix n x n and a vector of n or a matrix n x m, given {:?} and {shape:?}",
        a.shape()
    );
    let m = shape.get(1).copied().unwrap_or(1);
    let mut x = b.clone();
    for step in 0..n {
        let i = if upper { n - 1 - step } else { step };
        let d = a.items[i * (n + 1)];
        assert!(d.square() > 0.0, "`{op}`: the matrix is singular: no pivot in column {i} of {n}");
        for c in 0..m {
            let known = if upper { i + 1..n } else { 0..i };
            let sum = known.fold(T::default(), |s, k| s + a.items[i * n + k] * x.items[k * m + c]);
            x.items[i * m + c] = (x.items[i * m + c] + -sum) / d;
        }
    }
    x
}
//-
/// `L^-1 B` for the lower triangle of a matrix.
fn array_solve_lower<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    array_triangular("solve_lower", a, b, false)
}
//-
/// `U^-1 B` for the upper triangle of a matrix.
fn array_solve_upper<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    array_triangular("solve_upper", a, b, true)
}
//-
/// The inverse.
fn array_inv<T: Number>(a: &Array<T>) -> Array<T> {
    let n = array_square("inv", a);
    let unit: Vec<T> = (0..n * n).map(|k| T::of(if k % (n + 1) == 0 { 1.0 } else { 0.0 })).collect();
    Array::new(&[n, n], array_solved("inv", n, &a.items, &unit, n))
}
//-
/// The determinant.
fn array_det<T: Number>(a: &Array<T>) -> T {
    let n = array_square("det", a);
    let (lu, _, odd, stopped) = array_factors(n, &a.items);
    if stopped.is_some() {
        return T::default();
    }
    let product = array_prod(&(0..n).map(|k| lu[k * (n + 1)]).collect::<Vec<_>>());
    if odd { -product } else { product }
}
//-
/// `det A / |det A|`; 0 for a singular matrix.
fn array_signdet<T: Number>(a: &Array<T>) -> T {
    let n = array_square("signdet", a);
    let (lu, _, odd, stopped) = array_factors(n, &a.items);
    if stopped.is_some() {
        return T::default();
    }
    (0..n).fold(T::of(if odd { -1.0 } else { 1.0 }), |sign, k| {
        let pivot = lu[k * (n + 1)];
        let scale = array_inverse_size(pivot.real_part().abs().max(pivot.imaginary_part().abs()));
        let pivot = pivot * T::of(scale);
        sign * pivot * T::of(1.0 / pivot.square().sqrt())
    })
}
//-
/// `ln |det A|`.
fn array_logabsdet<T: Number>(a: &Array<T>) -> f64 {
    let n = array_square("logabsdet", a);
    let (lu, _, _, stopped) = array_factors(n, &a.items);
    if stopped.is_some() {
        return f64::NEG_INFINITY;
    }
    (0..n).fold(0.0, |s, k| s + lu[k * (n + 1)].square().ln()) * 0.5
}
//-
/// The lower triangular L with `L L^H = A`.
fn array_cholesky<T: Number>(a: &Array<T>) -> Array<T> {
    let n = array_square("cholesky", a);
    let mut l = vec![T::default(); n * n];
    for i in 0..n {
        for j in 0..=i {
            let dot = (0..j).fold(T::default(), |s, k| s + l[i * n + k] * l[j * n + k].conjugate());
            let rest = a.items[i * n + j] - dot;
            l[i * n + j] = if i == j {
                let square = rest.real_part();
                assert!(!(square <= 0.0), "`cholesky`: the matrix is not positive definite, in row {i} of {n}");
                T::of(square.sqrt())
            } else {
                rest / l[j * n + j]
            };
        }
    }
    Array::new(&[n, n], l)
}
//-
/// For `A = Q R` the orthonormal columns Q, and below them the upper triangular R with a diagonal that is not negative.
fn array_qr<T: Number>(a: &Array<T>) -> Array<T> {
    let (m, n) = match a.lengths.as_slice() {
        [m, n] if m >= n => (*m, *n),
        _ => panic!("`qr` takes a matrix with at least as many rows as columns, given {:?}", a.shape()),
    };
    let size = |s: f64, x: &T| s.hypot(x.real_part()).hypot(x.imaginary_part());
    let scale = array_inverse_size(a.items.iter().fold(0.0, size));
    let mut columns: Vec<T> = (0..m * n).map(|k| a.items[k % m * n + k / m] * T::of(scale)).collect();
    let (mut signs, mut diagonal, mut factors) = (vec![1.0; n], vec![0.0; n], vec![T::default(); n]);
    let reflect = |v: &[T], t: T, x: &mut [T]| {
        let factor = t * array_inner(v, x);
        x.iter_mut().zip(v).for_each(|(x, v)| *x = *x - factor * *v);
    };
    for k in 0..n {
        let (done, rest) = columns.split_at_mut((k + 1) * m);
        let v = &mut done[k * m + k..];
        let sign = if v[0].real_part() < 0.0 { -1.0 } else { 1.0 };
        let below = v[1..].iter().fold(0.0, |s, x| s + x.square());
        if below == 0.0 && v[0].imaginary_part() == 0.0 {
            (signs[k], diagonal[k]) = (sign, v[0].real_part() * sign);
            v[0] = T::of(1.0);
            continue;
        }
        let element = -((v[0].square() + below).sqrt() * sign);
        let away = v[0] - T::of(element);
        let inverse = away.reciprocal();
        v[1..].iter_mut().for_each(|x| *x = *x * inverse);
        v[0] = T::of(1.0);
        (signs[k], diagonal[k], factors[k]) = (-sign, element * -sign, away * T::of(-(1.0 / element)));
        let back = factors[k].conjugate();
        rest.chunks_exact_mut(m).for_each(|x| reflect(v, back, &mut x[k..]));
    }
    let mut items = vec![T::default(); (m + n) * n];
    for j in 0..n {
        let mut x = vec![T::default(); m];
        x[j] = T::of(signs[j]);
        for k in (0..=j).rev().filter(|k| factors[*k].square() != 0.0) {
            reflect(&columns[k * m + k..(k + 1) * m], factors[k], &mut x[k..]);
        }
        (0..m).for_each(|i| items[i * n + j] = x[i]);
        (0..j).for_each(|k| items[(m + k) * n + j] = columns[j * m + k] * T::of(signs[k]) * T::of(1.0 / scale));
        items[(m + j) * n + j] = T::of(diagonal[j]) * T::of(1.0 / scale);
    }
    Array::new(&[m + n, n], items)
}
//-
/// A power of two near `1 / x`, by which products are exact; 1 for 0.
fn array_inverse_size(x: f64) -> f64 {
    if x == 0.0 {
        return 1.0;
    }
    let exponent = (x.to_bits() >> 52 & 0x7ff) as i64 - 1023;
    let most = if exponent.abs() < 150 { 126 } else { 1022 };
    f64::from_bits(((1023 - exponent.clamp(-most, most)) as u64) << 52)
}
//-
/// The sum of all columns, by halves.
fn array_columns<T: Number>(mut sums: [T; 16]) -> T {
    for half in [8, 4, 2, 1] {
        for k in 0..half {
            let other = sums[k + half];
            sums[k] += other;
        }
    }
    sums[0]
}
//-
/// `u^H x`, in 16 columns.
fn array_inner<T: Number>(u: &[T], x: &[T]) -> T {
    let mut sums = [T::default(); 16];
    for (k, (u, x)) in u.iter().zip(x).enumerate() {
        sums[k % 16] += u.conjugate() * *x;
    }
    array_columns(sums)
}
//-
/// The reflection `1 - t u u^H` that leaves a row its last element alone: that element, and `t`. The row becomes `u`.
fn array_reflection<T: Number>(x: &mut [T]) -> (f64, T) {
    let greatest = |m: f64, x: &T| m.max(x.real_part().abs()).max(x.imaginary_part().abs());
    let scale = array_inverse_size(x.iter().fold(0.0, greatest));
    x.iter_mut().for_each(|x| *x = T::of(scale) * *x);
    let (last, others) = x.split_last_mut().expect("a row has elements");
    let rest = others.iter().fold(0.0, |s, x| s + x.square());
    let alpha = *last;
    if rest == 0.0 && alpha.imaginary_part() == 0.0 {
        return (alpha.real_part() / scale, T::default());
    }
    let length = (alpha.square() + rest).sqrt();
    let beta = if alpha.real_part() < 0.0 { length } else { -length };
    let away = alpha - T::of(beta);
    let by = away * T::of(1.0 / away.square());
    others.iter_mut().for_each(|x| *x = x.conjugate() * by);
    *last = T::of(1.0);
    (beta / scale, away.conjugate() * T::of(-1.0 / beta))
}
//-
/// A Hermitian matrix, of which the lower triangle is given, by reflections to a tridiagonal one: its diagonal, what is
/// beside it, and the factors of the reflections, whose vectors take the place of the rows.
fn array_reduced<T: Number>(n: usize, m: &mut [T]) -> (Vec<f64>, Vec<f64>, Vec<T>) {
    let (mut diagonal, mut beside, mut factors) = (vec![0.0; n], vec![0.0; n], vec![T::default(); n]);
    let (mut w, mut old, mut late) = (vec![T::default(); n], vec![T::default(); n], false);
    for i in (0..n).rev() {
        let (above, below) = m.split_at_mut(i * n);
        let row = &mut below[..n];
        for k in 0..=i {
            row[k] = row[k] - (w[i] * old[k].conjugate() + old[i] * w[k].conjugate());
        }
        diagonal[i] = row[i].real_part();
        if i == 0 {
            break;
        }
        (beside[i - 1], factors[i]) = array_reflection(&mut row[..i]);
        let t = factors[i];
        let new = t.square() != 0.0;
        if !new && !late {
            continue;
        }
        let u: Vec<T> = row[..i].iter().map(|u| if new { *u } else { T::default() }).collect();
        let mut p = vec![T::default(); n];
        for (r, line) in above.chunks_exact_mut(n).enumerate() {
            let mut sums = [T::default(); 16];
            for k in 0..r {
                line[k] = line[k] - (w[r] * old[k].conjugate() + old[r] * w[k].conjugate());
                sums[k % 16] += line[k] * u[k];
                p[k] += line[k].conjugate() * u[r];
            }
            line[r] = T::of(line[r].real_part() - 2.0 * (w[r] * old[r].conjugate()).real_part());
            p[r] += array_columns(sums) + line[r] * u[r];
        }
        p[..i].iter_mut().for_each(|p| *p = t * *p);
        let half = T::of(0.5 * (t.conjugate() * array_inner(&u, &p)).real_part());
        p.iter_mut().zip(&u).for_each(|(p, u)| *p = *p - half * *u);
        old[..i].copy_from_slice(&u);
        old[i..].fill(T::default());
        (w, late) = (p, new);
    }
    (diagonal, beside, factors)
}
//-
/// `(x / r, y / r, r)` with `r^2 = x^2 + y^2`; of zeros the turn by no angle.
fn array_rotation(x: f64, y: f64) -> (f64, f64, f64) {
    if y == 0.0 {
        return (1.0, 0.0, x);
    }
    let scale = array_inverse_size(x.abs().max(y.abs()));
    let (x, y) = (x * scale, y * scale);
    let r = (x * x + y * y).sqrt();
    (x / r, y / r, r / scale)
}
//-
/// The end of the block that begins at `from`.
fn array_block(d: &[f64], e: &[f64], from: usize) -> usize {
    let size = |k: usize| d[k].abs().sqrt() * d[k + 1].abs().sqrt();
    let apart = |k: &usize| e[*k].abs() <= f64::EPSILON * size(*k) || e[*k].abs() <= 1.5e-154;
    (from..d.len() - 1).find(apart).unwrap_or(d.len() - 1)
}
//-
/// Makes a block of a tridiagonal matrix diagonal by implicit QL steps with shifts.
fn array_ql(d: &mut [f64], e: &mut [f64], mut turn: impl FnMut(usize, f64, f64)) {
    let mut steps = 60 * d.len();
    for l in 0..d.len() {
        loop {
            let m = array_block(d, e, l);
            e[m] = 0.0;
            if m == l {
                break;
            }
            assert!(steps > 0, "`eigen` does not converge");
            steps -= 1;
            let half = (d[l + 1] - d[l]) / (2.0 * e[l]);
            let root = if half.abs() < 1e100 { (half * half + 1.0).sqrt() } else { half.abs() };
            let mut g = d[m] - d[l] + e[l] / (half + root.copysign(half));
            let (mut sin, mut cos, mut p) = (1.0, 1.0, 0.0);
            for i in (l..m).rev() {
                let (f, b) = (sin * e[i], cos * e[i]);
                let r;
                (cos, sin, r) = array_rotation(g, f);
                if i + 1 < m {
                    e[i + 1] = r;
                }
                g = d[i + 1] - p;
                let change = (d[i] - g) * sin + 2.0 * cos * b;
                p = sin * change;
                d[i + 1] = g + p;
                g = cos * change - b;
                turn(i, cos, sin);
            }
            d[l] -= p;
            e[l] = g;
        }
    }
}
//-
/// The eigenvectors, one behind the other, of a tridiagonal matrix, whose diagonal becomes its eigenvalues.
fn array_turned(d: &mut [f64], e: &mut [f64]) -> Vec<f64> {
    let n = d.len();
    let mut z = vec![0.0; n * n];
    (0..n).for_each(|k| z[k * (n + 1)] = 1.0);
    let mut from = 0;
    while from < n {
        let last = array_block(d, e, from);
        let (d, e) = (&mut d[from..=last], &mut e[from..=last]);
        let len = d.len();
        e[len - 1] = 0.0;
        let down = d[0].abs() > d[len - 1].abs();
        let reverse = |d: &mut [f64], e: &mut [f64]| {
            if down {
                d.reverse();
                e[..len - 1].reverse();
            }
        };
        reverse(d, e);
        array_ql(d, e, |k, cos, sin| {
            let (k, sin) = if down { (from + len - 2 - k, -sin) } else { (from + k, sin) };
            let (x, y) = z[k * n..(k + 2) * n].split_at_mut(n);
            for (x, y) in x.iter_mut().zip(y) {
                (*x, *y) = (cos * *x - sin * *y, sin * *x + cos * *y);
            }
        });
        reverse(d, e);
        from = last + 1;
    }
    z
}
//-
/// Where the first of the greatest elements of a vector stands.
fn array_first_of_greatest<T: Number>(x: &[T]) -> usize {
    let most = x.iter().fold(0.0, |m: f64, x| m.max(x.square()));
    x.iter().position(|x| x.square() >= 0.81 * most).expect("a singular vector is not zero")
}
//-
/// The number of modulus 1 that makes another one real and positive.
fn array_against<T: Number>(x: T) -> T {
    if x.imaginary_part() == 0.0 {
        T::of(1f64.copysign(x.real_part()))
    } else {
        x.conjugate() * T::of(1.0 / x.square().sqrt())
    }
}
//-
/// The greatest real or imaginary part, all of which must be finite.
fn array_greatest<T: Number>(op: &str, a: &Array<T>) -> f64 {
    a.items.iter().fold(0.0, |m: f64, x| {
        let (re, im) = (x.real_part().abs(), x.imaginary_part().abs());
        let finite = re.is_finite() && im.is_finite();
        assert!(finite, "`{op}` does not converge: has the matrix infinite or undefined elements?");
        m.max(re).max(im)
    })
}
//-
/// Of the Hermitian part of a matrix: the eigenvalues, ascending, and below them the eigenvectors as columns. Of each
/// the first among the greatest elements is real and positive.
fn array_eigen<T: Number>(a: &Array<T>) -> Array<T> {
    let n = array_square("eigen", a);
    let scale = array_inverse_size(array_greatest("eigen", a));
    let half = |k: usize| T::of(0.5 * scale) * a.items[k] + T::of(0.5 * scale) * a.items[k % n * n + k / n].conjugate();
    let mut m: Vec<T> = (0..n * n).map(half).collect();
    let (mut values, mut beside, factors) = array_reduced(n, &mut m);
    let z = array_turned(&mut values, &mut beside);
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].partial_cmp(&values[j]).unwrap_or(std::cmp::Ordering::Equal));
    let mut y = vec![T::default(); (n + 1) * n];
    for (column, &k) in order.iter().enumerate() {
        let mut x: Vec<T> = z[k * n..(k + 1) * n].iter().map(|x| T::of(*x)).collect();
        for i in (1..n).filter(|i| factors[*i].square() != 0.0) {
            let u = &m[i * n..i * n + i];
            let factor = factors[i] * array_inner(u, &x[..i]);
            x.iter_mut().zip(u).for_each(|(x, u)| *x = *x - factor * *u);
        }
        let first = array_first_of_greatest(&x);
        let (phase, modulus) = (array_against(x[first]), x[first].square().sqrt());
        x.iter_mut().for_each(|x| *x = *x * phase);
        x[first] = T::of(modulus);
        y[column] = T::of(values[k] / scale);
        x.iter().enumerate().for_each(|(row, x)| y[(row + 1) * n + column] = *x);
    }
    Array::new(&[n + 1, n], y)
}
//-
/// Turns two vectors so that their first `m` elements become orthogonal; whether that was to be done.
fn array_orthogonal<T: Number>(x: &mut [T], y: &mut [T], m: usize) -> bool {
    let (u, v) = (&x[..m], &y[..m]);
    let (a, b, c) = (array_inner(u, u).real_part(), array_inner(v, v).real_part(), array_inner(u, v));
    let size = c.square().sqrt();
    let small = 1e-15f64.max(f64::EPSILON * (m as f64).sqrt());
    if size <= small * a.sqrt() * b.sqrt() || a.min(b) <= 1e-200 {
        return false;
    }
    let d = (b - a) / (2.0 * size);
    let t = 1f64.copysign(d) / (d.abs() + (1.0 + d * d).sqrt());
    let cos = 1.0 / (1.0 + t * t).sqrt();
    let (sin, cos) = (c * T::of(t * cos / size), T::of(cos));
    for (x, y) in x.iter_mut().zip(y) {
        (*x, *y) = (cos * *x - sin.conjugate() * *y, sin * *x + cos * *y);
    }
    true
}
//-
/// Adds vectors of length `m` to orthonormal ones until there are so many.
fn array_complete<T: Number>(m: usize, count: usize, vectors: &mut Vec<Vec<T>>) {
    let mut covered: Vec<f64> = vec![0.0; m];
    let cover = |covered: &mut [f64], x: &[T]| covered.iter_mut().zip(x).for_each(|(c, x)| *c += x.square());
    vectors.iter().for_each(|x| cover(&mut covered, x));
    while vectors.len() < count {
        let k = (1..m).fold(0, |best, k| if covered[k] < covered[best] { k } else { best });
        let mut new = vec![T::default(); m];
        new[k] = T::of(1.0);
        for x in vectors.iter().chain(vectors.iter()) {
            let along = array_inner(x, &new);
            new.iter_mut().zip(x).for_each(|(y, x)| *y += -along * *x);
        }
        let inverse = T::of(1.0 / array_inner(&new, &new).real_part().sqrt());
        new.iter_mut().for_each(|x| *x = *x * inverse);
        cover(&mut covered, &new);
        vectors.push(new);
    }
}
//-
/// The singular values of a matrix, descending, and below them the left and the right singular vectors as columns.
fn array_svd<T: Number>(a: &Array<T>) -> Array<T> {
    let (rows, across) = match a.lengths.as_slice() {
        [m, n] => (*m, *n),
        _ => panic!("`svd` takes a matrix, given {:?}", a.shape()),
    };
    let scale = array_inverse_size(array_greatest("svd", a));
    let wide = rows < across;
    let (m, n) = if wide { (across, rows) } else { (rows, across) };
    let element = |k: usize| if wide { a.items[k].conjugate() } else { a.items[k % m * n + k / m] };
    let columns: Vec<T> = (0..m * n).map(|k| element(k) * T::of(scale)).collect();
    let column = |k: usize| &columns[k * m..(k + 1) * m];
    let gram = (0..n * n).map(|e| array_inner(column(e / n), column(e % n))).collect();
    let spectrum = array_eigen(&Array::new(&[n, n], gram));
    let mut pairs: Vec<Vec<T>> = Vec::new();
    for k in (0..n).rev() {
        let mut pair = vec![T::default(); m];
        for j in 0..n {
            let x = spectrum.items[(j + 1) * n + k];
            pair.iter_mut().zip(column(j)).for_each(|(y, c)| *y += x * *c);
        }
        pair.extend((0..n).map(|j| spectrum.items[(j + 1) * n + k]));
        pairs.push(pair);
    }
    for sweep in 0.. {
        assert!(sweep < 60, "`svd` does not converge");
        let mut turned = false;
        for q in 1..n {
            for p in 0..q {
                let (head, tail) = pairs.split_at_mut(q);
                turned |= array_orthogonal(&mut head[p], &mut tail[0], m);
            }
        }
        if !turned {
            break;
        }
    }
    let square = |x: &Vec<T>| array_inner(&x[..m], &x[..m]).real_part();
    let mut order: Vec<(f64, Vec<T>)> = pairs.into_iter().map(|x| (square(&x), x)).collect();
    order.sort_by(|x, y| y.0.partial_cmp(&x.0).unwrap_or(std::cmp::Ordering::Equal));
    let (mut values, mut left, mut right) = (Vec::new(), Vec::new(), Vec::new());
    for (square, mut pair) in order {
        let k = m + array_first_of_greatest(&pair[m..]);
        let (x, modulus) = (pair[k], pair[k].square().sqrt());
        let phase = array_against(x);
        pair.iter_mut().for_each(|x| *x = *x * phase);
        pair[k] = T::of(modulus);
        let length = if square > 1e-200 { square.sqrt() } else { 0.0 };
        if length > 0.0 {
            left.push(pair[..m].iter().map(|x| *x * T::of(1.0 / length)).collect());
        }
        values.push(T::of(length / scale));
        right.push(pair[m..].to_vec());
    }
    array_complete(m, n, &mut left);
    let (first, second) = if wide { (right, left) } else { (left, right) };
    let mut items = values;
    (0..rows * n).for_each(|e| items.push(first[e % n][e / n]));
    (0..across * n).for_each(|e| items.push(second[e % n][e / n]));
    Array::new(&[1 + m + n, n], items)
}
//-
/// The pseudoinverse, `V diag(1 / s) U^H` of the singular values that are not negligible.
fn array_pinv<T: Number>(a: &Array<T>) -> Array<T> {
    let (m, n) = match a.lengths.as_slice() {
        [m, n] => (*m, *n),
        _ => panic!("`pinv` takes a matrix, given {:?}", a.shape()),
    };
    let (k, y) = (m.min(n), array_svd(a));
    let values: Vec<f64> = y.items[..k].iter().map(|s| s.real_part()).collect();
    let least = values.first().map_or(0.0, |s| s * m.max(n) as f64 * f64::EPSILON);
    let rank = values.iter().take_while(|s| **s > least).count();
    let (u, v) = (&y.items[k..], &y.items[k * (1 + m)..]);
    let term = |i: usize, j: usize, p: usize| v[i * k + p] * T::of(1.0 / values[p]) * u[j * k + p].conjugate();
    let element = |e: usize| (0..rank).fold(T::default(), |s, p| s + term(e / m, e % m, p));
    Array::new(&[n, m], (0..n * m).map(element).collect())
}
//-
/// The least x that makes the norm of `A x - b` least.
fn array_lstsq<T: Number>(a: &Array<T>, b: &Array<T>) -> Array<T> {
    let (lengths, shape) = (a.shape(), b.shape());
    assert!(
        lengths.len() == 2 && shape.len() <= 2 && shape[0] == lengths[0],
        "`lstsq` takes a matrix m x n and a vector of m or a matrix m x k, given {lengths:?} and {shape:?}"
    );
    let count = shape.get(1).copied().unwrap_or(1);
    let columns = Array::new(&[lengths[0], count], b.items.clone());
    let x = array_matmul(&array_pinv(a), &columns);
    if shape.len() == 1 { Array::from(x.items) } else { x }
}
//-
/// The exponential of a square matrix, by scaling, a Pade approximation of order 6 and squaring.
fn array_expm<T: Number>(a: &Array<T>) -> Array<T> {
    let n = array_square("expm", a);
    let sums = a.items.chunks(n.max(1)).map(|row| row.iter().map(|x| x.square().sqrt()).sum::<f64>());
    let norm = sums.fold(0.0, |m: f64, x| if x.is_nan() { x } else { m.max(x) });
    assert!(norm.is_finite(), "`expm` does not converge: has the matrix infinite or undefined elements?");
    let squarings = (2.0 * norm).log2().ceil().clamp(0.0, 1100.0) as i32;
    let x = array_map(a, |x| x * T::of(0.5f64.powi(squarings)));
    let unit: Vec<T> = (0..n * n).map(|k| T::of(if k % n == k / n { 1.0 } else { 0.0 })).collect();
    let mut power = Array::new(&[n, n], unit);
    let (mut top, mut bottom) = (power.clone(), power.clone());
    let mut c = 1.0;
    for k in 0..6 {
        c *= (6 - k) as f64 / ((12 - k) * (k + 1)) as f64;
        power = array_matmul(&power, &x);
        for (j, x) in power.items.iter().enumerate() {
            let term = T::of(c) * *x;
            bottom.items[j] += if k % 2 == 0 { -term } else { term };
            top.items[j] += term;
        }
    }
    let mut y = array_solve(&bottom, &top);
    for _ in 0..squarings {
        y = array_matmul(&y, &y);
    }
    y
}
//-
/// The derivative of the exponential of A along E: the upper right block of `exp [[A, E], [0, A]]`.
fn array_expm_along<T: Number>(a: &Array<T>, e: &Array<T>) -> Array<T> {
    let n = array_square("expm_along", a);
    assert!(
        a.lengths == e.lengths,
        "`expm_along` takes two square matrices of one order, given {:?} and {:?}",
        a.shape(),
        e.shape()
    );
    let element = |k: usize| match (k / (2 * n), k % (2 * n)) {
        (i, j) if i < n && j < n => a.items[i * n + j],
        (i, j) if i < n => e.items[i * n + j - n],
        (_, j) if j < n => T::default(),
        (i, j) => a.items[(i - n) * n + j - n],
    };
    let whole = array_expm(&Array::new(&[2 * n, 2 * n], (0..4 * n * n).map(element).collect()));
    Array::new(&[n, n], (0..n * n).map(|k| whole.items[k / n * 2 * n + n + k % n]).collect())
}
//-
/// `sum_j x_j e^(-+2 pi i j k / n)` of every `step`-th element, by the least prime factor of their number.
fn array_transform(a: &[Complex], step: usize, n: usize, sign: f64) -> Vec<Complex> {
    if n <= 1 {
        return a.iter().take(n).copied().collect();
    }
    let p = (2..).take_while(|p| p * p <= n).find(|p| n % p == 0).unwrap_or(n);
    let parts: Vec<Vec<Complex>> =
        (0..p).map(|r| array_transform(&a[r * step..], step * p, n / p, sign)).collect();
    let root = |k: usize| {
        let angle = std::f64::consts::TAU * ((k % n) as f64 / n as f64);
        Complex::new(angle.cos(), sign * angle.sin())
    };
    let roots: Vec<Complex> = (0..n).map(root).collect();
    let sum = |k: usize| {
        let terms = parts.iter().enumerate().map(|(r, part)| part[k % (n / p)] * roots[r * k % n]);
        terms.fold(Complex::default(), |s, x| s + x)
    };
    (0..n).map(sum).collect()
}
//-
/// The discrete Fourier transform along the last axis.
fn array_fft(a: &Array<Complex>) -> Array<Complex> {
    let n = a.shape().last().copied().unwrap_or(0).max(1);
    let items = a.items.chunks(n).flat_map(|line| array_transform(line, 1, line.len(), -1.0)).collect();
    Array { lengths: a.lengths.clone(), items }
}
//-
/// n times its inverse.
fn array_fft_back(a: &Array<Complex>) -> Array<Complex> {
    let n = a.shape().last().copied().unwrap_or(0).max(1);
    let items = a.items.chunks(n).flat_map(|line| array_transform(line, 1, line.len(), 1.0)).collect();
    Array { lengths: a.lengths.clone(), items }
}
