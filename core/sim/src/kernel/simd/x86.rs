//! The registers of AVX-512 and of AVX2 with FMA.
#![expect(unsafe_code, reason = "vector instructions")]

use std::arch::x86_64::*;

use super::{Simd, Task};

/// Returns a number for each lane. (`array::from_fn` is compiled to four functions for each that it
/// is called with.)
#[inline(always)]
fn lanes<I: Copy + Default, const N: usize>(of: impl Fn(usize) -> I) -> [I; N] {
    let mut lanes = [I::default(); N];
    for (j, lane) in lanes.iter_mut().enumerate() {
        *lane = of(j);
    }
    lanes
}

/// A register type: its lanes, the instructions that need no thought, and then the others.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $Name:ident($Reg:ident) of $E:ident, bits $bits:literal, rows $rows:literal, features $features:literal,
        indices ($Index:ty, $PairIndex:ty, $Mask:ty),
        $load:ident $store:ident $stream:ident $splat:ident $add:ident $sub:ident $mul:ident $fmadd:ident $fnmadd:ident
        { $($rest:item)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(crate) struct $Name($Reg);

        impl Simd for $Name {
            type Elem = $E;
            type Index = $Index;
            type PairIndex = $PairIndex;
            type Mask = $Mask;
            const LANE_BITS: usize = $bits;
            const ROW_QUBITS: usize = $rows;

            unsafe fn vectorize<T: Task<$E>>(task: T) -> T::Output {
                #[inline(never)]
                #[target_feature(enable = $features)]
                fn enabled<T: Task<$E>>(task: T) -> T::Output {
                    // SAFETY: this is the function that enables the instructions.
                    unsafe { task.run::<$Name>() }
                }
                // SAFETY: the caller promises that the processor has them.
                unsafe { enabled(task) }
            }
            #[inline(always)]
            unsafe fn load(from: *const $E) -> Self {
                // SAFETY: the caller promises that the numbers can be read.
                $Name(unsafe { $load(from) })
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $E) {
                // SAFETY: the caller promises that the numbers can be written.
                unsafe { $store(to, self.0) }
            }
            #[inline(always)]
            unsafe fn stream(self, to: *mut $E) {
                // SAFETY: the caller promises that the numbers can be written, and where.
                unsafe { $stream(to, self.0) }
            }
            #[inline(always)]
            fn fence() {
                // SAFETY: any x86-64 processor has this instruction.
                unsafe { _mm_sfence() }
            }
            #[inline(always)]
            fn prefetch(from: *const $E) {
                // SAFETY: a hint, which changes nothing and never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
            }
            #[inline(always)]
            fn prefetch_soon(from: *const $E) {
                // SAFETY: a hint, which changes nothing and never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
            }
            #[inline(always)]
            unsafe fn splat(x: $E) -> Self {
                // SAFETY: the caller is within `vectorize`.
                $Name(unsafe { $splat(x) })
            }
            #[inline(always)]
            fn add(self, b: Self) -> Self {
                // SAFETY: a value exists only within `vectorize`.
                $Name(unsafe { $add(self.0, b.0) })
            }
            #[inline(always)]
            fn sub(self, b: Self) -> Self {
                // SAFETY: a value exists only within `vectorize`.
                $Name(unsafe { $sub(self.0, b.0) })
            }
            #[inline(always)]
            fn mul(self, b: Self) -> Self {
                // SAFETY: a value exists only within `vectorize`.
                $Name(unsafe { $mul(self.0, b.0) })
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: a value exists only within `vectorize`.
                $Name(unsafe { $fmadd(self.0, b.0, c.0) })
            }
            #[inline(always)]
            fn neg_mul_add(self, b: Self, c: Self) -> Self {
                // SAFETY: a value exists only within `vectorize`.
                $Name(unsafe { $fnmadd(self.0, b.0, c.0) })
            }
            $(#[inline(always)] $rest)*
        }
    };
}

register! {
    /// Eight doubles of AVX-512.
    F64x8(__m512d) of f64, bits 3, rows 3, features "avx512f,avx512dq,avx512vl,avx2,fma",
    indices (__m512i, __m512i, __mmask8),
    _mm512_loadu_pd _mm512_storeu_pd _mm512_stream_pd _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd
    _mm512_fmadd_pd _mm512_fnmadd_pd
    {
        unsafe fn index(from: impl Fn(usize) -> usize) -> __m512i {
            let lanes = lanes::<i64, 8>(|j| from(j) as i64);
            // SAFETY: the caller is within `vectorize`; the array is 64 bytes.
            unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
        }
        unsafe fn pair_index(from: impl Fn(usize) -> usize) -> __m512i {
            // SAFETY: the caller is within `vectorize`.
            unsafe { F64x8::index(from) }
        }
        unsafe fn mask(second: impl Fn(usize) -> bool) -> __mmask8 {
            (0..8).fold(0, |mask, j| mask | u8::from(second(j)) << j)
        }
        fn permute(self, index: __m512i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x8(unsafe { _mm512_permutexvar_pd(index, self.0) })
        }
        fn permute2(self, second: Self, index: __m512i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x8(unsafe { _mm512_permutex2var_pd(self.0, index, second.0) })
        }
        fn blend(self, second: Self, mask: __mmask8) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x8(unsafe { _mm512_mask_blend_pd(mask, self.0, second.0) })
        }
        fn swap_pairs(self) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x8(unsafe { _mm512_permute_pd::<0x55>(self.0) })
        }
        fn deinterleave(self, second: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let even = _mm512_set_epi64(14, 12, 10, 8, 6, 4, 2, 0);
                let odd = _mm512_set_epi64(15, 13, 11, 9, 7, 5, 3, 1);
                (self.permute2(second, even), self.permute2(second, odd))
            }
        }
        fn interleave(self, im: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let low = _mm512_set_epi64(11, 3, 10, 2, 9, 1, 8, 0);
                let high = _mm512_set_epi64(15, 7, 14, 6, 13, 5, 12, 4);
                (self.permute2(im, low), self.permute2(im, high))
            }
        }
    }
}

register! {
    /// Sixteen floats of AVX-512.
    F32x16(__m512) of f32, bits 4, rows 3, features "avx512f,avx512dq,avx512vl,avx2,fma",
    indices (__m512i, __m512i, __mmask16),
    _mm512_loadu_ps _mm512_storeu_ps _mm512_stream_ps _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps
    _mm512_fmadd_ps _mm512_fnmadd_ps
    {
        unsafe fn index(from: impl Fn(usize) -> usize) -> __m512i {
            let lanes = lanes::<i32, 16>(|j| from(j) as i32);
            // SAFETY: the caller is within `vectorize`; the array is 64 bytes.
            unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) }
        }
        unsafe fn pair_index(from: impl Fn(usize) -> usize) -> __m512i {
            // SAFETY: the caller is within `vectorize`.
            unsafe { F32x16::index(from) }
        }
        unsafe fn mask(second: impl Fn(usize) -> bool) -> __mmask16 {
            (0..16).fold(0, |mask, j| mask | u16::from(second(j)) << j)
        }
        fn permute(self, index: __m512i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x16(unsafe { _mm512_permutexvar_ps(index, self.0) })
        }
        fn permute2(self, second: Self, index: __m512i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x16(unsafe { _mm512_permutex2var_ps(self.0, index, second.0) })
        }
        fn blend(self, second: Self, mask: __mmask16) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x16(unsafe { _mm512_mask_blend_ps(mask, self.0, second.0) })
        }
        fn swap_pairs(self) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x16(unsafe { _mm512_permute_ps::<0xB1>(self.0) })
        }
        fn deinterleave(self, second: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
                let odd = _mm512_set_epi32(31, 29, 27, 25, 23, 21, 19, 17, 15, 13, 11, 9, 7, 5, 3, 1);
                (self.permute2(second, even), self.permute2(second, odd))
            }
        }
        fn interleave(self, im: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let low = _mm512_set_epi32(23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
                let high = _mm512_set_epi32(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8);
                (self.permute2(im, low), self.permute2(im, high))
            }
        }
    }
}

register! {
    /// Four doubles of AVX2.
    F64x4(__m256d) of f64, bits 2, rows 2, features "avx2,fma",
    indices (__m256i, (__m256i, __m256d), __m256d),
    _mm256_loadu_pd _mm256_storeu_pd _mm256_stream_pd _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd
    _mm256_fmadd_pd _mm256_fnmadd_pd
    {
        unsafe fn index(from: impl Fn(usize) -> usize) -> __m256i {
            // The instruction moves halves of doubles.
            let lanes = lanes::<i32, 8>(|j| (2 * from(j / 2) + j % 2) as i32);
            // SAFETY: the caller is within `vectorize`; the array is 32 bytes.
            unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
        }
        unsafe fn pair_index(from: impl Fn(usize) -> usize) -> (__m256i, __m256d) {
            // SAFETY: the caller is within `vectorize`.
            unsafe { (F64x4::index(|j| from(j) % 4), F64x4::mask(|j| from(j) >= 4)) }
        }
        unsafe fn mask(second: impl Fn(usize) -> bool) -> __m256d {
            let lanes = lanes::<i64, 4>(|j| -i64::from(second(j)));
            // SAFETY: the caller is within `vectorize`; the array is 32 bytes.
            unsafe { _mm256_loadu_pd(lanes.as_ptr().cast()) }
        }
        fn permute(self, index: __m256i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            unsafe { F64x4(_mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(self.0), index))) }
        }
        fn permute2(self, second: Self, index: (__m256i, __m256d)) -> Self {
            self.permute(index.0).blend(second.permute(index.0), index.1)
        }
        fn blend(self, second: Self, mask: __m256d) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x4(unsafe { _mm256_blendv_pd(self.0, second.0, mask) })
        }
        fn swap_pairs(self) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F64x4(unsafe { _mm256_permute_pd::<0b0101>(self.0) })
        }
        fn deinterleave(self, second: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let (re, im) = (_mm256_unpacklo_pd(self.0, second.0), _mm256_unpackhi_pd(self.0, second.0));
                (F64x4(_mm256_permute4x64_pd::<0xD8>(re)), F64x4(_mm256_permute4x64_pd::<0xD8>(im)))
            }
        }
        fn interleave(self, im: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let (re, im) = (_mm256_permute4x64_pd::<0xD8>(self.0), _mm256_permute4x64_pd::<0xD8>(im.0));
                (F64x4(_mm256_unpacklo_pd(re, im)), F64x4(_mm256_unpackhi_pd(re, im)))
            }
        }
    }
}

register! {
    /// Eight floats of AVX2.
    F32x8(__m256) of f32, bits 3, rows 2, features "avx2,fma",
    indices (__m256i, (__m256i, __m256), __m256),
    _mm256_loadu_ps _mm256_storeu_ps _mm256_stream_ps _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps
    _mm256_fmadd_ps _mm256_fnmadd_ps
    {
        unsafe fn index(from: impl Fn(usize) -> usize) -> __m256i {
            let lanes = lanes::<i32, 8>(|j| from(j) as i32);
            // SAFETY: the caller is within `vectorize`; the array is 32 bytes.
            unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
        }
        unsafe fn pair_index(from: impl Fn(usize) -> usize) -> (__m256i, __m256) {
            // SAFETY: the caller is within `vectorize`.
            unsafe { (F32x8::index(|j| from(j) % 8), F32x8::mask(|j| from(j) >= 8)) }
        }
        unsafe fn mask(second: impl Fn(usize) -> bool) -> __m256 {
            let lanes = lanes::<i32, 8>(|j| -i32::from(second(j)));
            // SAFETY: the caller is within `vectorize`; the array is 32 bytes.
            unsafe { _mm256_loadu_ps(lanes.as_ptr().cast()) }
        }
        fn permute(self, index: __m256i) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x8(unsafe { _mm256_permutevar8x32_ps(self.0, index) })
        }
        fn permute2(self, second: Self, index: (__m256i, __m256)) -> Self {
            self.permute(index.0).blend(second.permute(index.0), index.1)
        }
        fn blend(self, second: Self, mask: __m256) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x8(unsafe { _mm256_blendv_ps(self.0, second.0, mask) })
        }
        fn swap_pairs(self) -> Self {
            // SAFETY: a value exists only within `vectorize`.
            F32x8(unsafe { _mm256_permute_ps::<0xB1>(self.0) })
        }
        fn deinterleave(self, second: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let re = _mm256_castps_pd(_mm256_shuffle_ps::<0x88>(self.0, second.0));
                let im = _mm256_castps_pd(_mm256_shuffle_ps::<0xDD>(self.0, second.0));
                let join = |x| F32x8(_mm256_castpd_ps(_mm256_permute4x64_pd::<0xD8>(x)));
                (join(re), join(im))
            }
        }
        fn interleave(self, im: Self) -> (Self, Self) {
            // SAFETY: a value exists only within `vectorize`.
            unsafe {
                let split = |x| _mm256_castpd_ps(_mm256_permute4x64_pd::<0xD8>(_mm256_castps_pd(x)));
                let (re, im) = (split(self.0), split(im.0));
                (F32x8(_mm256_unpacklo_ps(re, im)), F32x8(_mm256_unpackhi_ps(re, im)))
            }
        }
    }
}
