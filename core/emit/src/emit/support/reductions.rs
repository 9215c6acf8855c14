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
fn array_reverse_cumsum<T: Number>(a: &Array<T>, axis: i64) -> Array<T> {
    array_cumulative("reverse_cumsum", a, axis, true)
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
fn array_exclusive_prod<T: Number>(a: &Array<T>) -> Array<T> {
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
/// The lines of an array along an axis, one after the other.
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
/// The elements along an axis in the opposite order.
fn array_flip<T: Copy>(a: &Array<T>, axis: i64) -> Array<T> {
    let shape = a.shape();
    let (outer, along, inner) = array_split(&shape, array_axis("flip", axis, &shape));
    let mut items = Vec::with_capacity(a.len());
    for block in 0..outer {
        for k in (0..along).rev() {
            let from = (block * along + k) * inner;
            items.extend_from_slice(&a.items[from..from + inner]);
        }
    }
    Array::new(&shape, items)
}
//-
/// `y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis.
fn array_linear_recurrence<T: Number>(a: &Array<T>, b: &Array<T>, axis: i64) -> Array<T> {
    let mut shape = a.shape();
    assert!(shape == b.shape(), "`linear_recurrence` takes two arrays of one shape");
    let axis = array_axis("linear_recurrence", axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    shape[axis] += 1;
    let mut items = Vec::with_capacity(a.len() + outer * inner);
    for block in 0..outer {
        items.resize(items.len() + inner, T::default());
        for k in 0..along {
            let (from, last) = ((block * along + k) * inner, items.len() - inner);
            for i in 0..inner {
                let next = a.items[from + i] * items[last + i] + b.items[from + i];
                items.push(next);
            }
        }
    }
    Array::new(&shape, items)
}
//-
/// The norms along an axis, whose length becomes 1.
fn array_norm_keep(a: &Array<f64>, axis: i64) -> Array<f64> {
    let squares = Array::new(&a.shape(), a.items.iter().map(|x| x * x).collect());
    let mut sums = array_sum_keep(&squares, axis);
    sums.items.iter_mut().for_each(|x| *x = x.sqrt());
    sums
}
//-
/// The index of the element of each line along an axis that is better than all others, or NaN.
fn array_arg_axis(op: &str, a: &Array<f64>, axis: i64, better: fn(f64, f64) -> bool) -> Array<i64> {
    let mut shape = a.shape();
    let axis = array_axis(op, axis, &shape);
    let (outer, along, inner) = array_split(&shape, axis);
    shape.remove(axis);
    assert!(along > 0 || outer * inner == 0, "`{op}` of an array without elements");
    let mut items = Vec::with_capacity(outer * inner);
    for block in 0..outer {
        for i in 0..inner {
            let x = |k: usize| a.items[(block * along + k) * inner + i];
            let next = |best: usize, k: usize| !x(best).is_nan() && (x(k).is_nan() || better(x(k), x(best)));
            items.push((1..along).fold(0, |best, k| if next(best, k) { k } else { best }) as i64);
        }
    }
    Array::new(&shape, items)
}
//-
/// The index of the greatest element of each line along an axis.
fn array_argmax_axis(a: &Array<f64>, axis: i64) -> Array<i64> {
    array_arg_axis("argmax_axis", a, axis, |x, y| x > y)
}
//-
/// The index of the least element of each line along an axis.
fn array_argmin_axis(a: &Array<f64>, axis: i64) -> Array<i64> {
    array_arg_axis("argmin_axis", a, axis, |x, y| x < y)
}
//-
/// The places of the elements that indices choose, one in each line along an axis.
fn array_chosen(op: &str, shape: &[usize], indices: &Array<i64>, axis: i64) -> (Vec<usize>, Vec<usize>) {
    let axis = array_axis(op, axis, shape);
    let (_, along, inner) = array_split(shape, axis);
    let mut rest = shape.to_vec();
    rest.remove(axis);
    assert!(indices.shape() == rest, "`{op}` takes an index for each line along the axis");
    let place = |(line, k): (usize, &i64)| {
        assert!(*k >= 0 && *k < along as i64, "`{op}`: index {k} along an axis of {along}");
        (line / inner * along + *k as usize) * inner + line % inner
    };
    (indices.items.iter().enumerate().map(place).collect(), rest)
}
//-
/// The element of each line along an axis at its index.
fn array_gather_along<T: Copy>(a: &Array<T>, indices: &Array<i64>, axis: i64) -> Array<T> {
    let (places, rest) = array_chosen("gather_along", &a.shape(), indices, axis);
    Array::new(&rest, places.into_iter().map(|place| a.items[place]).collect())
}
//-
/// Zeros, but for an element of each line along an axis at its index.
fn array_scatter_along<T: Copy + Default>(y: &Array<T>, whole: &Array<T>, indices: &Array<i64>, axis: i64) -> Array<T> {
    let (places, _) = array_chosen("scatter_along", &whole.shape(), indices, axis);
    let mut items = vec![T::default(); whole.len()];
    places.into_iter().zip(&y.items).for_each(|(place, x)| items[place] = *x);
    Array::new(&whole.shape(), items)
}
