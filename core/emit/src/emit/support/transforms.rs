//-
/// `sum_j x_j e^(-+2 pi i j k / n)` of every `step`-th element, by the least prime factor of their
/// number.
fn array_transform(a: &[Complex], step: usize, n: usize, sign: f64) -> Vec<Complex> {
    if n <= 1 {
        return a.iter().take(n).copied().collect();
    }
    let p = (2..).take_while(|p| p * p <= n).find(|p| n % p == 0).unwrap_or(n);
    if p > 32 {
        return array_chirped(a, step, n, sign);
    }
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
/// The same for any number n in `O(n log n)`, as the convolution of `x_j c_j` with `1 / c_j`, where
/// `c_j = e^(-+pi i j^2 / n)`. Source: Bluestein, *A linear filtering approach to the computation
/// of discrete Fourier transform* (1970).
fn array_chirped(a: &[Complex], step: usize, n: usize, sign: f64) -> Vec<Complex> {
    let chirp = |k: usize, sign: f64| {
        let angle = std::f64::consts::PI * ((k * k % (2 * n)) as f64 / n as f64);
        Complex::new(angle.cos(), sign * angle.sin())
    };
    let m = (2 * n - 1).next_power_of_two();
    let (mut x, mut c) = (vec![Complex::default(); m], vec![Complex::default(); m]);
    for k in 0..n {
        x[k] = a[k * step] * chirp(k, sign);
        c[k] = chirp(k, -sign);
        c[(m - k) % m] = c[k];
    }
    let (x, c) = (array_transform(&x, 1, m, -1.0), array_transform(&c, 1, m, -1.0));
    let products: Vec<Complex> = x.into_iter().zip(c).map(|(x, c)| x * c).collect();
    let all = array_transform(&products, 1, m, 1.0);
    (0..n).map(|k| all[k] * chirp(k, sign) * Complex::new(1.0 / m as f64, 0.0)).collect()
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
