//! Registers of several real numbers, and the choice of instruction set while the program runs.
//!
//! A kernel is written once, as a [`Task`] over any [`Simd`] register type. [`InstructionSet`] says
//! what the processor has; [`SimdFloat::dispatch`] runs a task with the register type of that set:
//!
//! | set | `f64` | `f32` | fallback for |
//! |---|---|---|---|
//! | AVX-512 (F, DQ, VL) | 8 lanes | 16 | |
//! | AVX2 and FMA | 4 | 8 | older x86 |
//! | NEON | 4, in two registers | 4 | |
//! | portable: arrays, which the compiler vectorizes as it may | 4 | 4 | any other processor |
//!
//! # Safety
//! A value of a register type is proof that its instructions may run: the functions that make one
//! from nothing (`load`, `splat`, …) are unsafe and promise so, and those that take one are safe.
//! Everything here is `inline(always)`, so that it takes the instruction set of the one function it
//! ends up in, `vectorize`, which is compiled for it. (The scheme is that of the crate pulp.)
#![expect(unsafe_code, reason = "vector instructions are unsafe where the processor lacks them")]

/// A loop over 0, 1, … up to a constant, written out, so that arrays of registers that are indexed
/// by its counter stay registers. (Loops that the compiler finds too long to unroll go through
/// memory.)
///
/// The largest value of the constant is given: the body is written down that many times. Iterations
/// beyond the count are left out before code is generated, which nested loops would otherwise make
/// a thousandfold.
macro_rules! unroll {
    ($i:ident in $from:tt..$count:expr, at most $most:tt => $body:block) => {
        unroll!(@ $from, $most, $i, $count, $body)
    };
    (@ 0, 2, $($loop:tt)*) => { unroll!(@@ [0 1] $($loop)*) };
    (@ 0, 4, $($loop:tt)*) => { unroll!(@@ [0 1 2 3] $($loop)*) };
    (@ 1, 4, $($loop:tt)*) => { unroll!(@@ [1 2 3] $($loop)*) };
    (@ 0, 8, $($loop:tt)*) => { unroll!(@@ [0 1 2 3 4 5 6 7] $($loop)*) };
    (@@ [$($number:literal)*] $i:ident, $count:expr, $body:block) => {
        $(if const { $number < $count } {
            let $i: usize = $number;
            $body
        })*
    };
}
pub(crate) use unroll;

#[cfg(target_arch = "aarch64")]
mod neon;
mod observe;
mod pauli;
mod portable;
mod readout;
mod single;
#[cfg(target_arch = "x86_64")]
mod x86;

use std::fmt;

use num_complex::Complex;

pub(crate) use observe::PauliMap;
pub(crate) use pauli::{FlipProduct, NORM_BITS, block_norms, expectation};
use portable::Lanes4;
pub(crate) use readout::{probabilities, project};
pub(crate) use single::apply;

use crate::scalar::Ordered;

/// Vector instructions that kernels know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum InstructionSet {
    /// AVX-512 F, DQ and VL.
    Avx512,
    /// AVX2 and FMA.
    Avx2,
    /// NEON, of 64-bit ARM.
    Neon,
    /// Whatever the compiler makes of plain arrays.
    Portable,
}

impl InstructionSet {
    /// All sets, fastest first.
    pub const ALL: [InstructionSet; 4] = [
        InstructionSet::Avx512,
        InstructionSet::Avx2,
        InstructionSet::Neon,
        InstructionSet::Portable,
    ];

    /// Returns the fastest set that this processor has.
    #[must_use]
    pub fn detect() -> InstructionSet {
        InstructionSet::ALL
            .into_iter()
            .find(|set| set.is_available())
            .unwrap_or(InstructionSet::Portable)
    }

    /// Returns true if this processor has it.
    #[inline]
    #[must_use]
    pub fn is_available(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx512 => {
                is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx2")
                    && is_x86_feature_detected!("fma")
            }
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
            }
            #[cfg(not(target_arch = "x86_64"))]
            InstructionSet::Avx512 | InstructionSet::Avx2 => false,
            #[cfg(target_arch = "aarch64")]
            InstructionSet::Neon => std::arch::is_aarch64_feature_detected!("neon"),
            #[cfg(not(target_arch = "aarch64"))]
            InstructionSet::Neon => false,
            InstructionSet::Portable => true,
        }
    }
}

impl fmt::Display for InstructionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            InstructionSet::Avx512 => "avx512",
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Neon => "neon",
            InstructionSet::Portable => "portable",
        })
    }
}

/// Work that can be done with any register type for numbers of type `E`.
pub trait Task<E> {
    /// Result of the work.
    type Output;
    /// Does the work.
    ///
    /// # Safety
    /// Only `S::vectorize` may call this: it runs where the instructions of `S` are enabled.
    unsafe fn run<S: Simd<Elem = E>>(self) -> Self::Output;
}

/// Real numbers that registers hold: `f32` and `f64`.
pub trait SimdFloat: Ordered<Real = Self> + Copy + Into<f64> + private::Sealed {
    /// The distance from 1 to the next number.
    const EPSILON: Self;
    /// Rounds to this type.
    fn round_from(x: f64) -> Self;
    /// Runs a task with a set that the processor has.
    ///
    /// # Safety
    /// `set.is_available()`.
    #[doc(hidden)]
    unsafe fn dispatch<T: Task<Self>>(set: InstructionSet, task: T) -> T::Output;
}

mod private {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
}

macro_rules! element {
    ($E:ident, $Avx512:ident, $Avx2:ident, $Neon:ident) => {
        impl SimdFloat for $E {
            const EPSILON: $E = $E::EPSILON;
            #[inline(always)]
            fn round_from(x: f64) -> $E {
                x as $E
            }
            unsafe fn dispatch<T: Task<$E>>(set: InstructionSet, task: T) -> T::Output {
                // SAFETY: the caller promises that the processor has the set.
                unsafe {
                    match set {
                        #[cfg(target_arch = "x86_64")]
                        InstructionSet::Avx512 => x86::$Avx512::vectorize(task),
                        #[cfg(target_arch = "x86_64")]
                        InstructionSet::Avx2 => x86::$Avx2::vectorize(task),
                        #[cfg(target_arch = "aarch64")]
                        InstructionSet::Neon => neon::$Neon::vectorize(task),
                        _ => Lanes4::<$E>::vectorize(task),
                    }
                }
            }
        }
    };
}
element!(f32, F32x16, F32x8, F32x4);
element!(f64, F64x8, F64x4, F64x4);

/// A register of `LANES` numbers.
pub trait Simd: Copy + Send + Sync + 'static {
    /// Type of a lane.
    type Elem: SimdFloat;
    /// Lane to take, for each lane.
    type Index: Copy;
    /// Lane of two registers to take, for each lane.
    type PairIndex: Copy;
    /// Register to take of two, for each lane.
    type Mask: Copy;
    /// log2 of the number of lanes.
    const LANE_BITS: usize;
    /// The number of lanes.
    const LANES: usize = 1 << Self::LANE_BITS;
    /// Number k of row qubits of a tile that fit in the registers at a time: 2 x 2^k of them.
    const ROW_QUBITS: usize;

    /// Runs a task in a function compiled for this register type.
    ///
    /// # Safety
    /// The processor has the instructions.
    unsafe fn vectorize<T: Task<Self::Elem>>(task: T) -> T::Output;
    /// Reads a register from any address.
    ///
    /// # Safety
    /// Called within `vectorize`; `LANES` numbers can be read from `from`.
    unsafe fn load(from: *const Self::Elem) -> Self;
    /// Writes a register to any address.
    ///
    /// # Safety
    /// `LANES` numbers can be written to `to`.
    unsafe fn store(self, to: *mut Self::Elem);
    /// Writes a register to an address that is a multiple of its size, past the caches where the
    /// processor can. Others see it after [`Simd::fence`].
    ///
    /// # Safety
    /// As `store`, and `to` is a multiple of the register's size.
    unsafe fn stream(self, to: *mut Self::Elem);
    /// Ends a series of `stream`.
    fn fence();
    /// Prefetches a cache line that will be needed at once, into the first cache; any address will
    /// do.
    fn prefetch(from: *const Self::Elem);
    /// Prefetches a cache line that will be needed soon, into the second cache; any address will
    /// do.
    fn prefetch_soon(from: *const Self::Elem);
    /// Returns a register with this number in every lane.
    ///
    /// # Safety
    /// Called within `vectorize`.
    unsafe fn splat(x: Self::Elem) -> Self;
    /// Lane j will take lane `from(j)`.
    ///
    /// # Safety
    /// Called within `vectorize`; `from(j) < LANES`.
    unsafe fn index(from: impl Fn(usize) -> usize) -> Self::Index;
    /// Lane j will take lane `from(j)` of two registers in a row.
    ///
    /// # Safety
    /// Called within `vectorize`; `from(j) < 2 LANES`.
    unsafe fn pair_index(from: impl Fn(usize) -> usize) -> Self::PairIndex;
    /// Lane j will take the second register if `second(j)`.
    ///
    /// # Safety
    /// Called within `vectorize`.
    unsafe fn mask(second: impl Fn(usize) -> bool) -> Self::Mask;

    /// Returns `self + b`.
    fn add(self, b: Self) -> Self;
    /// Returns `self - b`.
    fn sub(self, b: Self) -> Self;
    /// Returns `self b`.
    fn mul(self, b: Self) -> Self;
    /// Returns `self b + c`.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// Returns `c - self b`.
    fn neg_mul_add(self, b: Self, c: Self) -> Self;
    /// Moves lanes.
    fn permute(self, index: Self::Index) -> Self;
    /// Moves lanes of two registers.
    fn permute2(self, second: Self, index: Self::PairIndex) -> Self;
    /// Chooses between two registers.
    fn blend(self, second: Self, mask: Self::Mask) -> Self;
    /// Exchanges each even lane with the odd one after it: real and imaginary parts.
    fn swap_pairs(self) -> Self;
    /// Separates two registers `re im re im …` into one of real and one of imaginary parts.
    fn deinterleave(self, second: Self) -> (Self, Self);
    /// Returns the inverse of `deinterleave`.
    fn interleave(self, im: Self) -> (Self, Self);
}

/// log2 of the lanes of a set's register, and how many row qubits fit its registers.
pub(crate) fn shape<E: SimdFloat>(set: InstructionSet) -> (usize, usize) {
    struct RegisterShape;
    impl<E: SimdFloat> Task<E> for RegisterShape {
        type Output = (usize, usize);
        unsafe fn run<S: Simd<Elem = E>>(self) -> (usize, usize) {
            (S::LANE_BITS, S::ROW_QUBITS)
        }
    }
    assert!(set.is_available(), "this processor has no {set}");
    // SAFETY: the set is available.
    unsafe { E::dispatch(set, RegisterShape) }
}

/// Returns the amplitudes as plain numbers: re, im, re, im, ….
pub(crate) fn as_reals<E: SimdFloat>(amplitudes: &mut [Complex<E>]) -> *mut E {
    amplitudes.as_mut_ptr().cast()
}

/// A pointer that threads may share. The caller keeps their parts disjoint.
pub(crate) struct SharedPtr<E>(*mut E);

impl<E> Clone for SharedPtr<E> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<E> Copy for SharedPtr<E> {}

// SAFETY: a pointer to numbers that are `Send`; each use says why its parts are disjoint.
unsafe impl<E: Send> Sync for SharedPtr<E> {}
// SAFETY: a pointer to numbers that are `Send`; each use says why its parts are disjoint.
unsafe impl<E: Send> Send for SharedPtr<E> {}

impl<E> SharedPtr<E> {
    pub(crate) fn new(start: *mut E) -> SharedPtr<E> {
        SharedPtr(start)
    }
    pub(crate) fn get(&self) -> *mut E {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use std::marker::PhantomData;

    use super::*;

    /// Every operation of a register type, on small integers, against the same on arrays.
    struct Laws<E>(PhantomData<E>);

    fn lanes<S: Simd>(x: S) -> Vec<f64> {
        let mut out = vec![S::Elem::round_from(0.0); S::LANES];
        // SAFETY: there is room for all lanes, and a value exists only within `vectorize`.
        unsafe { x.store(out.as_mut_ptr()) };
        out.into_iter().map(Into::into).collect()
    }

    impl<E: SimdFloat> Task<E> for Laws<E> {
        type Output = ();

        unsafe fn run<S: Simd<Elem = E>>(self) {
            let n = S::LANES;
            let [a, b, c] =
                [3.0, -2.0, 5.0].map(|k| (0..n).map(|j| k * j as f64 - 7.0).collect::<Vec<f64>>());
            let both = [a.clone(), b.clone()].concat();
            let of = |f: &dyn Fn(usize) -> f64| (0..n).map(f).collect::<Vec<f64>>();
            let from = |x: &[f64]| {
                let x: Vec<E> = x.iter().map(|&x| E::round_from(x)).collect();
                // SAFETY: all lanes can be read, and this is `vectorize`.
                unsafe { S::load(x.as_ptr()) }
            };
            let (x, y, z) = (from(&a), from(&b), from(&c));
            assert_eq!(lanes(x), a);
            assert_eq!(lanes(x.add(y)), of(&|j| a[j] + b[j]));
            assert_eq!(lanes(x.sub(y)), of(&|j| a[j] - b[j]));
            assert_eq!(lanes(x.mul(y)), of(&|j| a[j] * b[j]));
            assert_eq!(lanes(x.mul_add(y, z)), of(&|j| a[j] * b[j] + c[j]));
            assert_eq!(lanes(x.neg_mul_add(y, z)), of(&|j| c[j] - a[j] * b[j]));
            assert_eq!(lanes(x.swap_pairs()), of(&|j| a[j ^ 1]));
            let (even, odd) = x.deinterleave(y);
            assert_eq!((lanes(even), lanes(odd)), (of(&|j| both[2 * j]), of(&|j| both[2 * j + 1])));
            let (low, high) = x.interleave(y);
            let woven = |j: usize| if j.is_multiple_of(2) { a[j / 2] } else { b[j / 2] };
            assert_eq!((lanes(low), lanes(high)), (of(&woven), of(&|j| woven(n + j))));
            for k in 0..2 * n {
                let one = move |j: usize| (5 * j + k) % n;
                let two = move |j: usize| (3 * j + k) % (2 * n);
                let second = move |j: usize| (j ^ k).is_multiple_of(3);
                // SAFETY: this is `vectorize`, and the indices are below the bounds.
                unsafe {
                    assert_eq!(lanes(S::splat(E::round_from(k as f64))), vec![k as f64; n]);
                    assert_eq!(lanes(x.permute(S::index(one))), of(&|j| a[one(j)]));
                    assert_eq!(lanes(x.permute2(y, S::pair_index(two))), of(&|j| both[two(j)]));
                    let expected = of(&|j| if second(j) { b[j] } else { a[j] });
                    assert_eq!(lanes(x.blend(y, S::mask(second))), expected);
                }
            }
        }
    }

    #[test]
    fn registers_of_every_set_compute_as_arrays_do() {
        for set in InstructionSet::ALL.into_iter().filter(|set| set.is_available()) {
            // SAFETY: the set is available.
            unsafe {
                f32::dispatch(set, Laws(PhantomData));
                f64::dispatch(set, Laws(PhantomData));
            }
        }
    }
}
