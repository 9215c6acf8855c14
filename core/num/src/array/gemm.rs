//! Products of large matrices of floats, real or complex, in blocks that fit the caches.
//!
//! The loops are those of `matrixmultiply`, which picks vector instructions when it runs. Each
//! number of a result is one sum along `k`; whether a product and a sum are rounded once or twice
//! is the processor's choice, so the last bits may differ between machines, but not between runs.
#![expect(unsafe_code, reason = "the product takes addresses")]

use num_complex::Complex;

/// A factor of a product: a row-major matrix, or the transpose of one.
#[derive(Clone, Copy)]
pub(super) struct GemmOperand<'a, S> {
    /// The elements as they lie in memory.
    pub items: &'a [S],
    /// The rows and columns of the factor itself.
    pub rows: usize,
    pub columns: usize,
    /// True if the transpose of the factor lies in memory.
    pub transposed: bool,
}

impl<S> GemmOperand<'_, S> {
    /// Returns the strides from one row to the next, and from one column to the next.
    fn steps(&self) -> (isize, isize) {
        let (down, right) = if self.transposed { (1, self.rows) } else { (self.columns, 1) };
        (down.cast_signed(), right.cast_signed())
    }
}

/// Numbers of which there is a product in blocks.
pub(super) trait Blocked: Sized {
    /// True if the numbers are their own conjugates.
    const REAL: bool;
    /// Computes `c = a b`, row-major. Nothing is conjugated.
    fn multiply(a: GemmOperand<'_, Self>, b: GemmOperand<'_, Self>, c: &mut [Self]);
}

/// Returns the sizes `m`, `k` and `n` of a product whose factors and result hold as many elements
/// as they must.
fn checked<S>(a: GemmOperand<'_, S>, b: GemmOperand<'_, S>, c: &[S]) -> (usize, usize, usize) {
    let (m, k, n) = (a.rows, a.columns, b.columns);
    assert_eq!(b.rows, k, "the factors fit");
    assert_eq!(
        (a.items.len(), b.items.len(), c.len()),
        (m * k, k * n, m * n),
        "every element exists"
    );
    (m, k, n)
}

impl Blocked for f64 {
    const REAL: bool = true;

    fn multiply(a: GemmOperand<'_, f64>, b: GemmOperand<'_, f64>, c: &mut [f64]) {
        let (m, k, n) = checked(a, b, c);
        let ((a_down, a_right), (b_down, b_right)) = (a.steps(), b.steps());
        let (a, b, down) = (a.items.as_ptr(), b.items.as_ptr(), n.cast_signed());
        // SAFETY: each matrix is contiguous, with steps of 1 and of the length of a line, so all
        // its elements lie within its slice, whose length `checked` compared; `c` is borrowed
        // alone.
        unsafe {
            let c = c.as_mut_ptr();
            matrixmultiply::dgemm(
                m, k, n, 1.0, a, a_down, a_right, b, b_down, b_right, 0.0, c, down, 1,
            );
        }
    }
}

impl Blocked for Complex<f64> {
    const REAL: bool = false;

    fn multiply(
        a: GemmOperand<'_, Complex<f64>>,
        b: GemmOperand<'_, Complex<f64>>,
        c: &mut [Complex<f64>],
    ) {
        use matrixmultiply::CGemmOption::Standard;
        let (m, k, n) = checked(a, b, c);
        let ((a_down, a_right), (b_down, b_right)) = (a.steps(), b.steps());
        let (a, b, down) = (a.items.as_ptr().cast(), b.items.as_ptr().cast(), n.cast_signed());
        let (zero, one) = ([0.0, 0.0], [1.0, 0.0]);
        // SAFETY: each matrix is contiguous, with steps of 1 and of the length of a line, so all
        // its elements lie in its slice; a complex number is its real and its imaginary part in
        // this order (`repr(C)`).
        unsafe {
            let c = c.as_mut_ptr().cast();
            matrixmultiply::zgemm(
                Standard, Standard, m, k, n, one, a, a_down, a_right, b, b_down, b_right, zero, c,
                down, 1,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whole numbers, whose products are exact in any order.
    fn whole(n: usize, seed: usize) -> Vec<f64> {
        (0..n).map(|k| ((k * 7 + seed * 5) % 13) as f64 - 6.0).collect()
    }

    fn complex(n: usize, seed: usize) -> Vec<Complex<f64>> {
        whole(n, seed)
            .into_iter()
            .zip(whole(n, seed + 4))
            .map(|(x, y)| Complex::new(x, y))
            .collect()
    }

    fn by_hand<S: Copy + std::ops::Mul<Output = S> + std::iter::Sum>(
        a: GemmOperand<'_, S>,
        b: GemmOperand<'_, S>,
    ) -> Vec<S> {
        let at = |x: &GemmOperand<'_, S>, i: usize, j: usize| {
            x.items[if x.transposed { j * x.rows + i } else { i * x.columns + j }]
        };
        let n = b.columns;
        (0..a.rows * n)
            .map(|e| (0..a.columns).map(|l| at(&a, e / n, l) * at(&b, l, e % n)).sum())
            .collect()
    }

    /// All shapes around the blocks of the kernels, each factor as it is and transposed. What lies
    /// after the result in memory stays as it is.
    #[test]
    fn products_are_exact_and_stay_inside() {
        let lengths = [0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 17, 33];
        for (m, k) in lengths.iter().flat_map(|&m| lengths.iter().map(move |&k| (m, k))) {
            for n in lengths {
                for (t, u) in [(false, false), (false, true), (true, false), (true, true)] {
                    let (a, b) = (whole(m * k, 1), whole(k * n, 2));
                    let a = GemmOperand { items: &a, rows: m, columns: k, transposed: t };
                    let b = GemmOperand { items: &b, rows: k, columns: n, transposed: u };
                    let mut c = vec![f64::NAN; m * n + 64];
                    f64::multiply(a, b, &mut c[..m * n]);
                    assert_eq!(c[..m * n], by_hand(a, b), "{m} {k} {n}");
                    assert!(c[m * n..].iter().all(|x| x.is_nan()), "{m} {k} {n}");

                    let (a, b) = (complex(m * k, 1), complex(k * n, 2));
                    let a = GemmOperand { items: &a, rows: m, columns: k, transposed: t };
                    let b = GemmOperand { items: &b, rows: k, columns: n, transposed: u };
                    let mut c = vec![Complex::new(f64::NAN, 0.0); m * n + 64];
                    Complex::multiply(a, b, &mut c[..m * n]);
                    assert_eq!(c[..m * n], by_hand(a, b), "{m} {k} {n}");
                    assert!(c[m * n..].iter().all(|z| z.re.is_nan()), "{m} {k} {n}");
                }
            }
        }
    }
}
