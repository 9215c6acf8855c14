//! Transposes of matrices of 64-bit floats: blocks of 4 x 4 through vector registers.
#![expect(unsafe_code, reason = "vector registers are read from and written to addresses")]

/// Number of columns that are read at a time, so that the rows that they become stay in the nearest
/// cache.
pub(super) const COLUMNS: usize = 64;

/// Transposes `m x n` numbers, if the processor has the instructions and the matrix a block.
#[cfg(target_arch = "x86_64")]
pub(super) fn flip(a: &[f64], (m, n): (usize, usize), to: &mut [f64]) -> bool {
    let fits =
        m >= 4 && n >= 4 && m.checked_mul(n).is_some_and(|size| size <= a.len().min(to.len()));
    if !fits || !is_x86_feature_detected!("avx") {
        return false;
    }
    // SAFETY: the processor has these instructions, and both hold m n numbers, a block or more.
    unsafe { x86::flip(a, (m, n), to) };
    true
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn flip(_: &[f64], _: (usize, usize), _: &mut [f64]) -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::{
        __m256d, _mm_loadu_pd, _mm256_castpd128_pd256, _mm256_insertf128_pd, _mm256_storeu_pd,
        _mm256_unpackhi_pd, _mm256_unpacklo_pd,
    };

    use super::COLUMNS;

    /// Returns the starts of fours that cover a range; the last one may overlap the one before.
    #[inline(always)]
    fn fours(first: usize, end: usize) -> impl Iterator<Item = usize> {
        (first..end).step_by(4).map(move |k| k.min(end - 4))
    }

    /// # Safety
    /// Both slices hold `m n` numbers or more, and `m` and `n` are 4 or more.
    #[target_feature(enable = "avx")]
    pub(super) unsafe fn flip(a: &[f64], (m, n): (usize, usize), to: &mut [f64]) {
        for first in (0..n).step_by(COLUMNS) {
            let end = n.min(first + COLUMNS);
            for i in fours(0, m) {
                for j in fours(first.min(end - 4), end) {
                    // SAFETY: rows i to i + 3 < m and columns j to j + 3 < n of `a`, the same the
                    // other way round of `to`.
                    unsafe {
                        block(a.as_ptr().add(i * n + j), n, to.as_mut_ptr().add(j * m + i), m)
                    };
                }
            }
        }
    }

    /// # Safety
    /// Four numbers lie at each of `a`, `a + n`, `a + 2 n`, `a + 3 n`, and there is room for as
    /// many at `to`, `to + m`, ….
    #[target_feature(enable = "avx")]
    #[inline]
    unsafe fn block(a: *const f64, n: usize, to: *mut f64, m: usize) {
        for k in [0, 2] {
            // SAFETY: two numbers from column k on in each row; rows k and k + 1 of the result.
            unsafe {
                let (even, odd) = (pairs(a.add(k), 2 * n), pairs(a.add(n + k), 2 * n));
                _mm256_storeu_pd(to.add(k * m), _mm256_unpacklo_pd(even, odd));
                _mm256_storeu_pd(to.add((k + 1) * m), _mm256_unpackhi_pd(even, odd));
            }
        }
    }

    /// Returns the two numbers at an address, and two further on.
    ///
    /// # Safety
    /// The caller guarantees that the numbers are in bounds.
    #[target_feature(enable = "avx")]
    #[inline]
    unsafe fn pairs(at: *const f64, step: usize) -> __m256d {
        // SAFETY: the caller promises that the numbers exist.
        unsafe {
            let low = _mm256_castpd128_pd256(_mm_loadu_pd(at));
            _mm256_insertf128_pd::<1>(low, _mm_loadu_pd(at.add(step)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All shapes around the blocks and the panels of columns.
    #[test]
    fn rows_become_columns() {
        let lengths = [1, 3, 4, 5, 6, 7, 8, 13, 63, 64, 65, 66, 130];
        for (m, n) in lengths.iter().flat_map(|&m| lengths.map(|n| (m, n))) {
            let a: Vec<f64> = (0..m * n).map(|k| k as f64).collect();
            let mut to = vec![f64::NAN; m * n];
            if flip(&a, (m, n), &mut to) {
                let right = (0..m * n).all(|k| to[k] == a[k % m * n + k / m]);
                assert!(right, "{m} x {n}");
            }
        }
    }
}
