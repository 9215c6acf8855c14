//! Vectorised (SIMD) product of two runs of amplitudes with a 2x2 matrix.
//!
//! A register holds amplitudes with interleaved real and imaginary parts. A product with a constant
//! `m = p + i q` is `p x` plus `q` times the swapped `x` with the sign of the real parts changed:
//! one `fmaddsub`.
#![expect(unsafe_code, reason = "loads and stores of vector registers")]

use std::arch::x86_64::*;

use ketgrad_plugin_sdk::C64;

macro_rules! kernel {
    (
        $name:ident, $inner:ident, $features:literal, $lanes:literal,
        $set1:ident $load:ident $store:ident $swap:ident($imm:literal) $mul:ident $fmadd:ident $fmaddsub:ident
    ) => {
        /// Computes `(x, y) = (a x + b y, c x + d y)` along two runs whose length is a multiple of
        /// the register's.
        ///
        /// # Safety
        /// The processor has the features.
        pub(crate) unsafe fn $name(zeros: &mut [C64], ones: &mut [C64], matrix: [C64; 4]) {
            assert!(
                zeros.len() == ones.len() && zeros.len() % $lanes == 0,
                "two runs of whole registers"
            );
            // SAFETY: the caller promises that the processor has the features.
            unsafe { $inner(zeros, ones, matrix) }
        }

        #[target_feature(enable = $features)]
        fn $inner(zeros: &mut [C64], ones: &mut [C64], [a, b, c, d]: [C64; 4]) {
            let (ar, ai, br, bi) = ($set1(a.re), $set1(a.im), $set1(b.re), $set1(b.im));
            let (cr, ci, dr, di) = ($set1(c.re), $set1(c.im), $set1(d.re), $set1(d.im));
            let real = a.im == 0.0 && b.im == 0.0 && c.im == 0.0 && d.im == 0.0;
            // Such as a rotation about X.
            let crossed = a.im == 0.0 && b.re == 0.0 && c.re == 0.0 && d.im == 0.0;
            for (xs, ys) in zeros.chunks_exact_mut($lanes).zip(ones.chunks_exact_mut($lanes)) {
                let (at_x, at_y) = (xs.as_mut_ptr().cast::<f64>(), ys.as_mut_ptr().cast::<f64>());
                // SAFETY: each chunk is a register of amplitudes, which are pairs of f64.
                let (x, y) = unsafe { ($load(at_x), $load(at_y)) };
                let (u, v) = if real {
                    ($fmadd(br, y, $mul(ar, x)), $fmadd(dr, y, $mul(cr, x)))
                } else if crossed {
                    let (sx, sy) = ($swap::<$imm>(x), $swap::<$imm>(y));
                    ($fmaddsub(ar, x, $mul(bi, sy)), $fmaddsub(dr, y, $mul(ci, sx)))
                } else {
                    let (sx, sy) = ($swap::<$imm>(x), $swap::<$imm>(y));
                    let u = $fmaddsub(ar, x, $fmadd(bi, sy, $mul(ai, sx)));
                    let v = $fmaddsub(cr, x, $fmadd(di, sy, $mul(ci, sx)));
                    ($fmadd(br, y, u), $fmadd(dr, y, v))
                };
                // SAFETY: each chunk is a register of amplitudes, which are pairs of f64, and ours
                // alone.
                unsafe {
                    $store(at_x, u);
                    $store(at_y, v);
                }
            }
        }
    };
}

kernel! {
    avx512, avx512_inner, "avx512f", 4,
    _mm512_set1_pd _mm512_loadu_pd _mm512_storeu_pd _mm512_permute_pd(0x55) _mm512_mul_pd _mm512_fmadd_pd
    _mm512_fmaddsub_pd
}
kernel! {
    avx2, avx2_inner, "avx2,fma", 2,
    _mm256_set1_pd _mm256_loadu_pd _mm256_storeu_pd _mm256_permute_pd(0x5) _mm256_mul_pd _mm256_fmadd_pd
    _mm256_fmaddsub_pd
}
