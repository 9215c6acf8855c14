//! Loops compiled for the vector instructions that the processor turns out to have.
//!
//! A [`WideLoop`] is written once, over plain slices. [`wide`] runs it as compiled for AVX-512, for
//! AVX2 with FMA, or for what every processor of the architecture has; the compiler does the rest.
//! Nothing is reordered or contracted: a loop gives the same bits whichever is taken.
#![expect(unsafe_code, reason = "code for a processor that has more than all must have")]

use super::Ring;

/// Work to be compiled several times. `run` must be `inline(always)`, and so must what it calls in
/// its loops.
#[doc(hidden)]
pub trait WideLoop {
    /// Result of the loop.
    type Output;
    /// Runs the loop.
    fn run(self) -> Self::Output;
}

/// Runs a loop over numbers of type `S` with the widest instructions there are, if they gain from
/// it.
#[inline]
#[doc(hidden)]
pub fn wide<S: Ring, L: WideLoop>(work: L) -> L::Output {
    #[cfg(target_arch = "x86_64")]
    if S::WIDE {
        if has_avx512() {
            // SAFETY: the processor has these instructions.
            return unsafe { avx512(work) };
        }
        if has_avx2() {
            // SAFETY: the processor has these instructions.
            return unsafe { avx2(work) };
        }
    }
    work.run()
}

/// Maps each number to the one at its index; one number is used for all.
#[inline]
#[doc(hidden)]
pub fn one<A, B: Ring>(a: &[A], out: &mut [B], f: impl Fn(&A) -> B) {
    match a {
        [x] => out.fill(f(x)),
        a => wide::<B, _>(MapLoop { a, out, f }),
    }
}

/// Maps each two numbers at an index to one; a list of one number is used for all.
#[inline]
#[doc(hidden)]
pub fn two<A, B: Ring>(a: &[A], b: &[A], out: &mut [B], f: impl Fn(&A, &A) -> B) {
    match (a, b) {
        ([x], [y]) => out.fill(f(x, y)),
        ([x], b) => wide::<B, _>(MapLoop { a: b, out, f: |y: &A| f(x, y) }),
        (a, [y]) => wide::<B, _>(MapLoop { a, out, f: |x: &A| f(x, y) }),
        (a, b) if std::ptr::eq(a, b) => wide::<B, _>(MapLoop { a, out, f: |x: &A| f(x, x) }),
        (a, b) => wide::<B, _>(ZipMapLoop { a, b, out, f }),
    }
}

/// A number from each.
struct MapLoop<'a, A, B, F> {
    a: &'a [A],
    out: &'a mut [B],
    f: F,
}

impl<A, B, F: Fn(&A) -> B> WideLoop for MapLoop<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.out.iter_mut().zip(self.a).for_each(|(z, x)| *z = (self.f)(x));
    }
}

/// A number from each two.
struct ZipMapLoop<'a, A, B, F> {
    a: &'a [A],
    b: &'a [A],
    out: &'a mut [B],
    f: F,
}

impl<A, B, F: Fn(&A, &A) -> B> WideLoop for ZipMapLoop<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.out
            .iter_mut()
            .zip(self.a.iter().zip(self.b))
            .for_each(|(z, (x, y))| *z = (self.f)(x, y));
    }
}

/// Returns true if the processor adds a product to a number at once, with one rounding (FMA).
pub(crate) fn fused() -> bool {
    #[cfg(target_arch = "x86_64")]
    return has_avx2();
    #[cfg(not(target_arch = "x86_64"))]
    return cfg!(target_arch = "aarch64");
}

#[cfg(target_arch = "x86_64")]
fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512dq,avx512vl")] // which bring AVX2 and FMA
fn avx512<L: WideLoop>(work: L) -> L::Output {
    work.run()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<L: WideLoop>(work: L) -> L::Output {
    work.run()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scalar::{
        circular::{cos_near, sin_near, tan_near},
        elementary::{acosh, asinh, atanh, cosh, exp, exp_m1, ln, ln_1p, sinh, tanh},
    };

    macro_rules! one_value {
        ($($test:ident $f:ident;)*) => {$(
            #[test]
            fn $test() {
                struct OneValueLoop<'a>(&'a mut [f64]);
                impl WideLoop for OneValueLoop<'_> {
                    type Output = ();
                    #[inline(always)]
                    fn run(self) {
                        self.0.iter_mut().for_each(|x| *x = $f(*x));
                    }
                }
                check($f, |x| wide::<f64, _>(OneValueLoop(x)));
                check($f, |x| OneValueLoop(x).run());
                #[cfg(target_arch = "x86_64")]
                if has_avx2() {
                    // SAFETY: the processor has these instructions.
                    check($f, |x| unsafe { avx2(OneValueLoop(x)) });
                }
            }
        )*};
    }
    one_value! {
        exp_has_one_value exp;
        exp_m1_has_one_value exp_m1;
        tanh_has_one_value tanh;
        ln_has_one_value ln;
        ln_1p_has_one_value ln_1p;
        sinh_has_one_value sinh;
        cosh_has_one_value cosh;
        asinh_has_one_value asinh;
        acosh_has_one_value acosh;
        atanh_has_one_value atanh;
        sin_has_one_value sin_near;
        cos_has_one_value cos_near;
        tan_has_one_value tan_near;
    }

    /// Returns every length, every place in an array.
    fn check(f: fn(f64) -> f64, run: impl Fn(&mut [f64])) {
        let numbers: Vec<f64> = (0..150).map(|k| 0.37 * f64::from(k) - 20.0).collect();
        let alone: Vec<u64> = numbers.iter().map(|&x| f(x).to_bits()).collect();
        for start in 0..20 {
            for end in [start, start + 1, start + 7, start + 8, start + 30, 150] {
                let mut part = numbers[start..end].to_vec();
                run(&mut part);
                let bits: Vec<u64> = part.iter().map(|x| x.to_bits()).collect();
                let same = bits
                    .iter()
                    .zip(&alone[start..end])
                    .zip(&part)
                    .all(|((a, b), x)| a == b || x.is_nan());
                assert!(same, "from {start} to {end}");
            }
        }
    }
}
