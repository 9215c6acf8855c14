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
/// The reflection `1 - t u u^H` that leaves a row its last element alone: that element, and `t`.
/// The row becomes `u`.
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
/// A Hermitian matrix, of which the lower triangle is given, by reflections to a tridiagonal one:
/// its diagonal, what is beside it, and the factors of the reflections, whose vectors take the
/// place of the rows.
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
/// The eigenvectors, one after the other, of a tridiagonal matrix, whose diagonal becomes its
/// eigenvalues.
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
/// The index of the first of the greatest elements of a vector.
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
/// Of the Hermitian part of a matrix: the eigenvalues, ascending, and below them the eigenvectors
/// as columns. Of each the first among the greatest elements is real and positive.
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
    let mut found = Vec::new();
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
        found.push(values[k] / scale);
        x.iter().enumerate().for_each(|(row, x)| y[(row + 1) * n + column] = *x);
    }
    array_settled(a, &mut found, &y[n..]);
    y.iter_mut().zip(found).for_each(|(to, w)| *to = T::of(w));
    Array::new(&[n + 1, n], y)
}
//-
/// Makes eigenvalues equal that rounding alone tells apart.
fn array_settled<T: Number>(a: &Array<T>, w: &mut [f64], v: &[T]) {
    let n = w.len();
    let norm = w.iter().fold(0.0, |m: f64, w| m.max(w.abs()));
    let most = n as f64 * f64::EPSILON;
    let rest = |w: f64, k: usize| {
        let row = |i: usize| {
            let of = |sum: T, j: usize| {
                sum + T::of(0.5) * (a.items[i * n + j] + a.items[j * n + i].conjugate()) * v[j * n + k]
            };
            (0..n).fold(-(T::of(w) * v[i * n + k]), of).square()
        };
        (0..n).map(row).sum::<f64>().sqrt()
    };
    let mut start = 0;
    for k in 1..=n {
        let same = |k: usize| {
            let (x, y) = (w[start], w[k]);
            let gap = y - x;
            gap <= most * norm && (gap <= most * x.abs().max(y.abs()) || rest(x, start) + rest(y, k) >= gap)
        };
        if k < n && same(k) {
            continue;
        }
        let mean = w[start] + w[start..k].iter().map(|x| x - w[start]).sum::<f64>() / (k - start) as f64;
        w[start..k].fill(mean);
        start = k;
    }
}
//-
/// `u_i^H E v_j`.
fn array_between<T: Number>(e: &Array<T>, u: &[Vec<T>], v: &[Vec<T>]) -> Array<T> {
    let mut items = Vec::new();
    for u in u {
        for v in v {
            let rows = e.items.chunks_exact(v.len()).map(|row| {
                row.iter().zip(v).fold(T::default(), |sum, (x, y)| sum + *x * *y)
            });
            let moved: Vec<T> = rows.collect();
            items.push(array_inner(u, &moved));
        }
    }
    Array::new(&[u.len(), v.len()], items)
}
//-
/// Sums of vectors; the factors of each are a column of a matrix with `count` of them.
fn array_combined<T: Number>(vectors: &[Vec<T>], factors: &[T], count: usize) -> Vec<Vec<T>> {
    let sum = |k: usize| {
        let mut sum = vec![T::default(); vectors[0].len()];
        for (i, x) in vectors.iter().enumerate() {
            sum.iter_mut().zip(x).for_each(|(sum, x)| *sum += factors[i * count + k] * *x);
        }
        sum
    };
    (0..count).map(sum).collect()
}
//-
/// The ranges of equal numbers that follow each other.
fn array_runs<T: Number>(w: &[T]) -> Vec<std::ops::Range<usize>> {
    let mut runs = Vec::new();
    let mut start = 0;
    for k in 1..=w.len() {
        if k == w.len() || w[k].real_part() != w[start].real_part() {
            runs.push(start..k);
            start = k;
        }
    }
    runs
}
//-
/// As `array_eigen`; of equal eigenvalues the eigenvectors between which E is diagonal.
fn array_eigen_along<T: Number>(a: &Array<T>, e: &Array<T>) -> Array<T> {
    let mut y = array_eigen(a);
    assert!(
        a.lengths == e.lengths,
        "`eigen_along` takes two square matrices of one order, given {:?} and {:?}",
        a.shape(),
        e.shape()
    );
    let n = a.lengths[1];
    for run in array_runs(&y.items[..n]).into_iter().filter(|run| run.len() > 1) {
        let column = |k: usize| (1..=n).map(|row| y.items[row * n + k]).collect();
        let vectors: Vec<Vec<T>> = run.clone().map(column).collect();
        let b = array_between(e, &vectors, &vectors);
        if b.items.iter().any(|x| x.square() != 0.0) {
            let basis = array_eigen(&b);
            let turned = array_combined(&vectors, &basis.items[run.len()..], run.len());
            for (k, vector) in run.zip(&turned) {
                let phase = array_against(vector[array_first_of_greatest(vector)]);
                vector.iter().enumerate().for_each(|(row, x)| y.items[(row + 1) * n + k] = *x * phase);
            }
        }
    }
    y
}
//-
/// Turns two vectors so that their first `m` elements become orthogonal; whether that was to be
/// done.
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
/// Adds vectors of length `m` to orthonormal ones until there are `count`.
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
fn array_spectral<T: Copy>(m: &Array<T>, _: &Array<T>, _: &Array<T>, _: &Array<T>, _: &Array<T>) -> Array<T> {
    m.clone()
}
//-
fn array_simple<T: Copy>(y: &Array<T>, _: i64) -> Array<T> {
    y.clone()
}
//-
/// The singular values of a matrix, descending, and below them the left and the right singular
/// vectors as columns.
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
    let (mut values, mut left, mut right, mut lengths) = (Vec::new(), Vec::new(), Vec::new(), Vec::<f64>::new());
    for (square, mut pair) in order {
        let k = m + array_first_of_greatest(&pair[m..]);
        let (x, modulus) = (pair[k], pair[k].square().sqrt());
        let phase = array_against(x);
        pair.iter_mut().for_each(|x| *x = *x * phase);
        pair[k] = T::of(modulus);
        let mut length = if square > 1e-200 { square.sqrt() } else { 0.0 };
        // Those that rounding alone tells apart are equal.
        let apart = (m.max(n) as f64) * f64::EPSILON;
        if let Some(x) = lengths.last().filter(|x| **x - length <= apart * **x) {
            length = *x;
        }
        lengths.push(length);
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
/// As `array_svd`; of equal singular values the vectors that E does not mix.
fn array_svd_along<T: Number>(a: &Array<T>, e: &Array<T>) -> Array<T> {
    let mut y = array_svd(a);
    assert!(
        a.lengths == e.lengths,
        "`svd_along` takes two matrices of one shape, given {:?} and {:?}",
        a.shape(),
        e.shape()
    );
    let (m, n) = (a.lengths[0], a.lengths[1]);
    let k = m.min(n);
    let column = |from: usize, length: usize, k0: usize| (from..from + length).map(|row| y.items[row * k + k0]).collect();
    let mut left: Vec<Vec<T>> = (0..k).map(|p| column(1, m, p)).collect();
    let mut right: Vec<Vec<T>> = (0..k).map(|p| column(1 + m, n, p)).collect();
    for run in array_runs(&y.items[..k]) {
        let is_zero = y.items[run.start].real_part() == 0.0;
        if is_zero {
            array_complete(m, m, &mut left);
            array_complete(n, n, &mut right);
        } else if run.len() == 1 {
            continue;
        }
        let (to, count) = (run.start, run.len());
        let (us, vs) = if is_zero { (left.len(), right.len()) } else { (run.end, run.end) };
        let b = array_between(e, &left[to..us], &right[to..vs]);
        if us - to == 1 && vs - to == 1 || b.items.iter().all(|x| x.square() == 0.0) {
            continue;
        }
        let (p, q) = if is_zero {
            let basis = array_svd(&b);
            let split = (1 + us - to) * count;
            (basis.items[count..split].to_vec(), basis.items[split..].to_vec())
        } else {
            let basis = array_eigen(&b);
            // The greatest first.
            let turned: Vec<T> = basis.items[count..].chunks_exact(count).flat_map(|row| row.iter().rev().copied()).collect();
            (turned.clone(), turned)
        };
        let new = (array_combined(&left[to..us], &p, count), array_combined(&right[to..vs], &q, count));
        for (j, (mut u, mut v)) in new.0.into_iter().zip(new.1).enumerate() {
            let shorter = if m < n { &u } else { &v };
            let phase = array_against(shorter[array_first_of_greatest(shorter)]);
            u.iter_mut().chain(&mut v).for_each(|x| *x = *x * phase);
            (left[to + j], right[to + j]) = (u, v);
        }
    }
    for p in 0..k {
        left[p].iter().enumerate().for_each(|(row, x)| y.items[(1 + row) * k + p] = *x);
        right[p].iter().enumerate().for_each(|(row, x)| y.items[(1 + m + row) * k + p] = *x);
    }
    y
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
