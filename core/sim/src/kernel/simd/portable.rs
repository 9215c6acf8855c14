//! Four numbers in an array, for processors without a register type of their own here.
#![expect(unsafe_code, reason = "implements an unsafe interface")]

use super::{Simd, SimdFloat, Task};

/// Four numbers. The compiler puts them into whatever registers it has (SSE2, NEON, …).
#[derive(Clone, Copy)]
#[repr(align(16))]
pub(crate) struct Lanes4<E>([E; 4]);

impl<E: SimdFloat> Lanes4<E> {
    #[inline(always)]
    fn zip(self, b: Self, f: impl Fn(E, E) -> E) -> Self {
        let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (self.0, b.0);
        Lanes4([f(a0, b0), f(a1, b1), f(a2, b2), f(a3, b3)])
    }
}

impl<E: SimdFloat> Simd for Lanes4<E> {
    type Elem = E;
    type Index = [u8; 4];
    type PairIndex = [u8; 4];
    type Mask = [bool; 4];
    const LANE_BITS: usize = 2;
    const ROW_QUBITS: usize = 1;

    #[inline(never)]
    unsafe fn vectorize<T: Task<E>>(task: T) -> T::Output {
        // SAFETY: this is `vectorize`; the register type needs no instructions of its own.
        unsafe { task.run::<Self>() }
    }
    #[inline(always)]
    unsafe fn load(from: *const E) -> Self {
        // SAFETY: the caller promises that four numbers can be read.
        Lanes4(unsafe { from.cast::<[E; 4]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut E) {
        // SAFETY: the caller promises that four numbers can be written.
        unsafe { to.cast::<[E; 4]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn stream(self, to: *mut E) {
        // SAFETY: the caller promises that four numbers can be written.
        unsafe { self.store(to) }
    }
    #[inline(always)]
    fn fence() {}
    #[inline(always)]
    fn prefetch(_from: *const E) {}
    #[inline(always)]
    fn prefetch_soon(_from: *const E) {}
    #[inline(always)]
    unsafe fn splat(x: E) -> Self {
        Lanes4([x; 4])
    }
    #[inline(always)]
    unsafe fn index(from: impl Fn(usize) -> usize) -> [u8; 4] {
        [from(0) as u8, from(1) as u8, from(2) as u8, from(3) as u8]
    }
    #[inline(always)]
    unsafe fn pair_index(from: impl Fn(usize) -> usize) -> [u8; 4] {
        [from(0) as u8, from(1) as u8, from(2) as u8, from(3) as u8]
    }
    #[inline(always)]
    unsafe fn mask(second: impl Fn(usize) -> bool) -> [bool; 4] {
        [second(0), second(1), second(2), second(3)]
    }
    #[inline(always)]
    fn add(self, b: Self) -> Self {
        self.zip(b, |x, y| x + y)
    }
    #[inline(always)]
    fn sub(self, b: Self) -> Self {
        self.zip(b, |x, y| x - y)
    }
    #[inline(always)]
    fn mul(self, b: Self) -> Self {
        self.zip(b, |x, y| x * y)
    }
    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // Two roundings: without the instruction, one rounding is a slow library call.
        self.mul(b).add(c)
    }
    #[inline(always)]
    fn neg_mul_add(self, b: Self, c: Self) -> Self {
        c.sub(self.mul(b))
    }
    #[inline(always)]
    fn permute(self, index: [u8; 4]) -> Self {
        let [i, j, k, l] = index;
        let lane = |i: u8| self.0[usize::from(i) % 4];
        Lanes4([lane(i), lane(j), lane(k), lane(l)])
    }
    #[inline(always)]
    fn permute2(self, second: Self, index: [u8; 4]) -> Self {
        let [i, j, k, l] = index;
        let lane =
            |i: u8| if i < 4 { self.0[usize::from(i)] } else { second.0[usize::from(i) % 4] };
        Lanes4([lane(i), lane(j), lane(k), lane(l)])
    }
    #[inline(always)]
    fn blend(self, second: Self, mask: [bool; 4]) -> Self {
        let lane = |j: usize| if mask[j] { second.0[j] } else { self.0[j] };
        Lanes4([lane(0), lane(1), lane(2), lane(3)])
    }
    #[inline(always)]
    fn swap_pairs(self) -> Self {
        let [a, b, c, d] = self.0;
        Lanes4([b, a, d, c])
    }
    #[inline(always)]
    fn deinterleave(self, second: Self) -> (Self, Self) {
        let ([a, b, c, d], [e, f, g, h]) = (self.0, second.0);
        (Lanes4([a, c, e, g]), Lanes4([b, d, f, h]))
    }
    #[inline(always)]
    fn interleave(self, im: Self) -> (Self, Self) {
        let ([a, c, e, g], [b, d, f, h]) = (self.0, im.0);
        (Lanes4([a, b, c, d]), Lanes4([e, f, g, h]))
    }
}
