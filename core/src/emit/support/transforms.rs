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
