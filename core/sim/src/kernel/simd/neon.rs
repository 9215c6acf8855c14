//! The registers of 64-bit ARM: four numbers each, two registers of the processor for doubles.
//!
//! Lanes move by the processor's look-up in a table of bytes.
#![expect(unsafe_code, reason = "vector instructions")]

use std::{
    arch::{aarch64::*, asm},
    array::from_fn,
};

use super::{Simd, Task};

/// Four floats.
#[derive(Clone, Copy)]
pub(crate) struct F32x4(float32x4_t);

/// Four doubles.
#[derive(Clone, Copy)]
pub(crate) struct F64x4(float64x2_t, float64x2_t);

/// Byte numbers for a look-up: lane j of `SIZE` bytes takes lane `from(j)`.
///
/// # Safety
/// The processor has NEON.
#[inline(always)]
unsafe fn bytes<const SIZE: usize>(from: impl Fn(usize) -> usize) -> uint8x16_t {
    let numbers: [u8; 16] = from_fn(|k| (from(k / SIZE) * SIZE + k % SIZE) as u8);
    // SAFETY: the array is 16 bytes.
    unsafe { vld1q_u8(numbers.as_ptr()) }
}

/// Items that are the same for both register types.
macro_rules! common {
    ($E:ident) => {
        type Elem = $E;
        const LANE_BITS: usize = 2;

        unsafe fn vectorize<T: Task<$E>>(task: T) -> T::Output {
            #[inline(never)]
            #[target_feature(enable = "neon")]
            fn enabled<S: Simd, T: Task<S::Elem>>(task: T) -> T::Output {
                // SAFETY: this is the function that enables the instructions.
                unsafe { task.run::<S>() }
            }
            // SAFETY: the caller promises that the processor has them.
            unsafe { enabled::<Self, T>(task) }
        }
        #[inline(always)]
        unsafe fn stream(self, to: *mut $E) {
            // SAFETY: the caller promises that the numbers can be written.
            unsafe { self.store(to) }
        }
        #[inline(always)]
        fn fence() {}
        #[inline(always)]
        fn prefetch(from: *const $E) {
            // SAFETY: a hint, which changes nothing and never faults.
            unsafe { asm!("prfm pldl1keep, [{}]", in(reg) from, options(nostack, preserves_flags, readonly)) }
        }
        #[inline(always)]
        fn prefetch_soon(from: *const $E) {
            // SAFETY: a hint, which changes nothing and never faults.
            unsafe { asm!("prfm pldl2keep, [{}]", in(reg) from, options(nostack, preserves_flags, readonly)) }
        }
    };
}

impl Simd for F32x4 {
    common!(f32);
    type Index = uint8x16_t;
    type PairIndex = uint8x16_t;
    type Mask = uint32x4_t;
    const ROW_QUBITS: usize = 3;

    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises that the numbers can be read.
        F32x4(unsafe { vld1q_f32(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises that the numbers can be written.
        unsafe { vst1q_f32(to, self.0) }
    }
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the caller is within `vectorize`.
        F32x4(unsafe { vdupq_n_f32(x) })
    }
    #[inline(always)]
    unsafe fn index(from: impl Fn(usize) -> usize) -> uint8x16_t {
        // SAFETY: the caller is within `vectorize`.
        unsafe { bytes::<4>(from) }
    }
    #[inline(always)]
    unsafe fn pair_index(from: impl Fn(usize) -> usize) -> uint8x16_t {
        // SAFETY: the caller is within `vectorize`.
        unsafe { bytes::<4>(from) }
    }
    #[inline(always)]
    unsafe fn mask(second: impl Fn(usize) -> bool) -> uint32x4_t {
        let lanes: [u32; 4] = from_fn(|j| if second(j) { u32::MAX } else { 0 });
        // SAFETY: the array has four numbers.
        unsafe { vld1q_u32(lanes.as_ptr()) }
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vaddq_f32(self.0, b.0) })
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vsubq_f32(self.0, b.0) })
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vmulq_f32(self.0, b.0) })
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vfmaq_f32(c.0, self.0, b.0) })
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vfmsq_f32(c.0, self.0, b.0) })
    }
    #[inline(always)]
    fn permute(self, index: uint8x16_t) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vreinterpretq_f32_u8(vqtbl1q_u8(vreinterpretq_u8_f32(self.0), index)) })
    }
    #[inline(always)]
    fn permute2(self, second: Self, index: uint8x16_t) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe {
            let both = uint8x16x2_t(vreinterpretq_u8_f32(self.0), vreinterpretq_u8_f32(second.0));
            F32x4(vreinterpretq_f32_u8(vqtbl2q_u8(both, index)))
        }
    }
    #[inline(always)]
    fn blend(self, second: Self, mask: uint32x4_t) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vbslq_f32(mask, second.0, self.0) })
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        F32x4(unsafe { vrev64q_f32(self.0) })
    }
    #[inline(always)]
    fn deinterleave(self, second: Self) -> (Self, Self) {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { (F32x4(vuzp1q_f32(self.0, second.0)), F32x4(vuzp2q_f32(self.0, second.0))) }
    }
    #[inline(always)]
    fn interleave(self, im: Self) -> (Self, Self) {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { (F32x4(vzip1q_f32(self.0, im.0)), F32x4(vzip2q_f32(self.0, im.0))) }
    }
}

impl Simd for F64x4 {
    common!(f64);
    type Index = (uint8x16_t, uint8x16_t);
    type PairIndex = (uint8x16_t, uint8x16_t);
    type Mask = (uint64x2_t, uint64x2_t);
    const ROW_QUBITS: usize = 2;

    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises that the numbers can be read.
        unsafe { F64x4(vld1q_f64(from), vld1q_f64(from.add(2))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises that the numbers can be written.
        unsafe {
            vst1q_f64(to, self.0);
            vst1q_f64(to.add(2), self.1);
        }
    }
    #[inline(always)]
    unsafe fn splat(x: f64) -> Self {
        // SAFETY: the caller is within `vectorize`.
        unsafe { F64x4(vdupq_n_f64(x), vdupq_n_f64(x)) }
    }
    #[inline(always)]
    unsafe fn index(from: impl Fn(usize) -> usize) -> (uint8x16_t, uint8x16_t) {
        // SAFETY: the caller is within `vectorize`.
        unsafe { (bytes::<8>(&from), bytes::<8>(|j| from(j + 2))) }
    }
    #[inline(always)]
    unsafe fn pair_index(from: impl Fn(usize) -> usize) -> (uint8x16_t, uint8x16_t) {
        // SAFETY: the caller is within `vectorize`.
        unsafe { Self::index(from) }
    }
    #[inline(always)]
    unsafe fn mask(second: impl Fn(usize) -> bool) -> (uint64x2_t, uint64x2_t) {
        let lanes: [u64; 4] = from_fn(|j| if second(j) { u64::MAX } else { 0 });
        // SAFETY: the array has four numbers.
        unsafe { (vld1q_u64(lanes.as_ptr()), vld1q_u64(lanes.as_ptr().add(2))) }
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vaddq_f64(self.0, b.0), vaddq_f64(self.1, b.1)) }
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vsubq_f64(self.0, b.0), vsubq_f64(self.1, b.1)) }
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vmulq_f64(self.0, b.0), vmulq_f64(self.1, b.1)) }
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vfmaq_f64(c.0, self.0, b.0), vfmaq_f64(c.1, self.1, b.1)) }
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vfmsq_f64(c.0, self.0, b.0), vfmsq_f64(c.1, self.1, b.1)) }
    }
    #[inline(always)]
    fn permute(self, index: (uint8x16_t, uint8x16_t)) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe {
            let all = uint8x16x2_t(vreinterpretq_u8_f64(self.0), vreinterpretq_u8_f64(self.1));
            let lanes = |index| vreinterpretq_f64_u8(vqtbl2q_u8(all, index));
            F64x4(lanes(index.0), lanes(index.1))
        }
    }
    #[inline(always)]
    fn permute2(self, second: Self, index: (uint8x16_t, uint8x16_t)) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe {
            let all = uint8x16x4_t(
                vreinterpretq_u8_f64(self.0),
                vreinterpretq_u8_f64(self.1),
                vreinterpretq_u8_f64(second.0),
                vreinterpretq_u8_f64(second.1),
            );
            let lanes = |index| vreinterpretq_f64_u8(vqtbl4q_u8(all, index));
            F64x4(lanes(index.0), lanes(index.1))
        }
    }
    #[inline(always)]
    fn blend(self, second: Self, mask: (uint64x2_t, uint64x2_t)) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vbslq_f64(mask.0, second.0, self.0), vbslq_f64(mask.1, second.1, self.1)) }
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        // SAFETY: a value exists only within `vectorize`.
        unsafe { F64x4(vextq_f64::<1>(self.0, self.0), vextq_f64::<1>(self.1, self.1)) }
    }
    #[inline(always)]
    fn deinterleave(self, second: Self) -> (Self, Self) {
        // SAFETY: a value exists only within `vectorize`.
        unsafe {
            let re = F64x4(vuzp1q_f64(self.0, self.1), vuzp1q_f64(second.0, second.1));
            (re, F64x4(vuzp2q_f64(self.0, self.1), vuzp2q_f64(second.0, second.1)))
        }
    }
    #[inline(always)]
    fn interleave(self, im: Self) -> (Self, Self) {
        // SAFETY: a value exists only within `vectorize`.
        unsafe {
            let low = F64x4(vzip1q_f64(self.0, im.0), vzip2q_f64(self.0, im.0));
            (low, F64x4(vzip1q_f64(self.1, im.1), vzip2q_f64(self.1, im.1)))
        }
    }
}
