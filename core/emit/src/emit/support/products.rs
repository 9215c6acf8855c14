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
/// The labels of two arrays, by their numbers of axes, and of the result: one list after the other,
/// or three lists that have to fit, with the least integer between them.
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
/// The contribution to the first factor from the result and the second.
fn array_contract_first<T: Number>(y: &Array<T>, b: &Array<T>, a: &Array<T>, labels: &[i64]) -> Array<T> {
    let [p, q, o] = array_labels(labels, a.shape().len(), b.shape().len());
    array_contracted("contract_first", (y, o), (b, q), p, Some(a))
}
//-
/// The contribution to the second factor from the first and the result.
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
