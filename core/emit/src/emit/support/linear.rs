//-
/// `P A = L U`: both in one, the rows of A in their order, whether that is odd, and the column
/// without a pivot.
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
/// Steps of elimination with pivots from all rows and columns, in place: the order of the rows and
/// of the columns, and the product of the pivots with the sign of both; `None` at a pivot of 0.
fn array_pivoted<T: Number>(n: usize, steps: usize, lu: &mut [T]) -> Option<(Vec<usize>, Vec<usize>, T)> {
    let (mut rows, mut columns) = ((0..n).collect::<Vec<_>>(), (0..n).collect::<Vec<_>>());
    let mut det = T::of(1.0);
    for c in 0..steps {
        let mut best = (0.0, c, c);
        for (r, k) in (c..n).flat_map(|r| (c..n).map(move |k| (r, k))) {
            let size = lu[r * n + k].square();
            if size.is_nan() || size > best.0 {
                best = (size, r, k);
            }
        }
        let (size, r, k) = best;
        if size == 0.0 {
            return None;
        }
        (0..n).for_each(|j| lu.swap(c * n + j, r * n + j));
        (0..n).for_each(|i| lu.swap(i * n + c, i * n + k));
        rows.swap(c, r);
        columns.swap(c, k);
        det = det * lu[c * (n + 1)] * T::of(if (r != c) == (k != c) { 1.0 } else { -1.0 });
        let inverse = lu[c * (n + 1)].reciprocal();
        for i in c + 1..n {
            let factor = lu[i * n + c] * inverse;
            (c + 1..n).for_each(|j| lu[i * n + j] = lu[i * n + j] - factor * lu[c * n + j]);
            lu[i * n + c] = factor;
        }
    }
    Some((rows, columns, det))
}
//-
/// The derivatives of the determinant by the elements.
fn array_cofactors<T: Number>(a: &Array<T>) -> Array<T> {
    let n = array_square("cofactors", a);
    if array_factors(n, &a.items).3.is_none() {
        let (inverse, det) = (array_inv(a), array_det(a));
        return Array::new(&[n, n], (0..n * n).map(|k| inverse.items[k % n * n + k / n] * det).collect());
    }
    // Without its last row and column, with pivots from all rows and columns:
    // `P A Q = L [[U, w], [0, 0]]`.
    let mut lu = a.items.clone();
    let Some((rows, columns, det)) = array_pivoted(n, n - 1, &mut lu) else {
        return Array::new(&[n, n], vec![T::default(); n * n]);
    };
    let (mut u, mut l) = (vec![T::of(1.0); n], vec![T::of(1.0); n]);
    for i in (0..n - 1).rev() {
        let known = (i + 1..n).fold(T::default(), |s, k| s + lu[i * n + k] * u[k]);
        u[i] = -known * lu[i * (n + 1)].reciprocal();
        l[i] = -(i + 1..n).fold(T::default(), |s, k| s + l[k] * lu[k * n + i]);
    }
    let mut items = vec![T::default(); n * n];
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        items[rows[i] * n + columns[j]] = det * u[j] * l[i];
    }
    Array::new(&[n, n], items)
}
//-
/// `x y` of matrices `m x k` and `k x n`.
fn array_product_of<T: Number>(x: &[T], y: &[T], m: usize, k: usize, n: usize) -> Vec<T> {
    let element = |p: usize| (0..k).fold(T::default(), |s, i| s + x[p / n * k + i] * y[i * n + p % n]);
    (0..m * n).map(element).collect()
}
//-
/// The derivative of the cofactors of A along E, by `P A Q = [[B, C], [D, F]]` with
/// `T = F - D B^-1 C` of order 2.
fn array_cofactors_along<T: Number>(a: &Array<T>, e: &Array<T>) -> Array<T> {
    let n = array_square("cofactors_along", a);
    assert!(
        a.lengths == e.lengths,
        "`cofactors_along` takes two square matrices of one order, given {:?} and {:?}",
        a.shape(),
        e.shape()
    );
    let (zero, one) = (T::default(), T::of(1.0));
    let rank = n.saturating_sub(2);
    let k = n - rank;
    let mut lu = a.items.clone();
    let Some((rows, columns, det)) = array_pivoted(n, rank, &mut lu) else {
        return Array::new(&[n, n], vec![zero; n * n]);
    };
    // `B^-1` beside `B^-1 C`; `[-D B^-1, 1]` and `[-B^-1 C; 1]`.
    let mut z = vec![zero; rank * n];
    for i in 0..rank {
        z[i * n + i] = one;
        for (c, j) in (0..i).flat_map(|c| (0..=c).map(move |j| (c, j))) {
            z[i * n + j] = z[i * n + j] - lu[i * n + c] * z[c * n + j];
        }
        (rank..n).for_each(|j| z[i * n + j] = lu[i * n + j]);
    }
    for i in (0..rank).rev() {
        for (c, j) in (i + 1..rank).flat_map(|c| (0..n).map(move |j| (c, j))) {
            z[i * n + j] = z[i * n + j] - lu[i * n + c] * z[c * n + j];
        }
        (0..n).for_each(|j| z[i * n + j] = z[i * n + j] * lu[i * (n + 1)].reciprocal());
    }
    let g: Vec<T> = (0..rank * rank).map(|p| z[p / rank * n + p % rank]).collect();
    let (mut left, mut right) = (vec![zero; k * n], vec![zero; n * k]);
    for r in 0..k {
        left[r * n + rank + r] = one;
        right[(rank + r) * k + r] = one;
        for j in (0..rank).rev() {
            let known = (j + 1..rank).fold(zero, |s, i| s + left[r * n + i] * lu[i * n + j]);
            left[r * n + j] = -(lu[(rank + r) * n + j] + known);
            right[j * k + r] = -z[j * n + rank + r];
        }
    }
    let e: Vec<T> = (0..n * n).map(|p| e.items[rows[p / n] * n + columns[p % n]]).collect();
    let left_e = array_product_of(&left, &e, k, n, n);
    let e_right = array_product_of(&e, &right, n, n, k);
    let change = array_product_of(&left, &e_right, k, n, k);
    let t = |i: usize, j: usize| lu[(rank + i) * n + rank + j];
    let adjugate = |x: &dyn Fn(usize, usize) -> T| vec![x(1, 1), -x(0, 1), -x(1, 0), x(0, 0)];
    let (det_t, adj_t, second) = match k {
        2 => (t(0, 0) * t(1, 1) - t(0, 1) * t(1, 0), adjugate(&t), adjugate(&|i, j| change[i * 2 + j])),
        1 => (t(0, 0), vec![one], vec![zero]),
        _ => (one, vec![], vec![]),
    };
    let trace = |x: &[T], y: &[T], n: usize| (0..n * n).fold(zero, |s, p| s + x[p] * y[p % n * n + p / n]);
    let e_of_b: Vec<T> = (0..rank * rank).map(|p| e[p / rank * n + p % rank]).collect();
    let (along_b, along_t) = (trace(&g, &e_of_b, rank), trace(&adj_t, &change, k));
    let g_e_g = array_product_of(&array_product_of(&g, &e_of_b, rank, rank, rank), &g, rank, rank, rank);
    let inner: Vec<T> = (0..k * k).map(|p| along_b * adj_t[p] + second[p]).collect();
    let mut inner = array_product_of(&inner, &left, k, k, n);
    let back: Vec<T> = (0..k * rank).map(|p| left_e[p / rank * n + p % rank]).collect();
    let back = array_product_of(&adj_t, &array_product_of(&back, &g, k, rank, rank), k, k, rank);
    for p in 0..k * rank {
        let q = p / rank * n + p % rank;
        inner[q] = inner[q] - back[p];
    }
    let mut y = array_product_of(&right, &inner, n, k, n);
    let above = array_product_of(&g, &e_right[..rank * k], rank, rank, k);
    let above = array_product_of(&above, &array_product_of(&adj_t, &left, k, k, n), rank, k, n);
    for p in 0..rank * n {
        y[p] = y[p] - above[p];
    }
    for p in 0..rank * rank {
        let q = p / rank * n + p % rank;
        y[q] = y[q] + (along_b * det_t + along_t) * g[p] - det_t * g_e_g[p];
    }
    let mut items = vec![zero; n * n];
    for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
        items[rows[i] * n + columns[j]] = det * y[j * n + i];
    }
    Array::new(&[n, n], items)
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
/// For `A = Q R` the orthonormal columns Q, and below them the upper triangular R with a diagonal
/// that is not negative.
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
