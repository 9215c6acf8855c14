//! Loops of the op table: one operation over one chunk of elements.
//!
//! Each is a plain loop over slices, compiled for the processor's vector instructions; the choice
//! of the operation is made outside of it.

use crate::{
    ir::{Mixed, Number1, Number2, Op, Real1, Real2},
    scalar::{Piece, Real, Scalar, Undecided, one, two},
};

/// Operands of a step over one chunk, by their numbers. A number is a slice of length one; the
/// slices of other kinds of numbers are empty.
pub(super) trait StepInputs<T, S> {
    fn reals(&self, k: usize) -> &[T];
    fn complexes(&self, k: usize) -> &[S];
    fn ints(&self, k: usize) -> &[i64];
}

/// Runs one step over one chunk: the result is written to `real`, or to `complex` if that is its
/// kind.
#[inline]
pub(super) fn run<T: Real, S: Scalar<Real = T>>(
    op: Op,
    x: &impl StepInputs<T, S>,
    is_complex: bool,
    real: &mut [T],
    complex: &mut [S],
) -> Result<(), Undecided> {
    match op {
        Op::Number1(op) if is_complex => number1(op, x.complexes(0), complex),
        Op::Number1(op) => match at_once::<T>(op) {
            Some(all) if x.reals(0).len() == real.len() => {
                real.clone_from_slice(x.reals(0));
                all(real);
            }
            _ => number1(op, x.reals(0), real),
        },
        Op::Number2(op) if is_complex => number2(op, x.complexes(0), x.complexes(1), complex),
        Op::Number2(Number2::Pow) => {
            fill(real, x.reals(0));
            T::pow_all(real, x.reals(1));
        }
        Op::Number2(op) => number2(op, x.reals(0), x.reals(1), real),
        Op::Real1(op) => match op.piece() {
            Some(piece) => T::piece_all(piece, [x.reals(0); 2], real)?,
            None => real1(op, x.reals(0), real)?,
        },
        Op::Real2(Real2::Min) => T::piece_all(Piece::Min, [x.reals(0), x.reals(1)], real)?,
        Op::Real2(Real2::Max) => T::piece_all(Piece::Max, [x.reals(0), x.reals(1)], real)?,
        Op::Real2(Real2::Hypot) => {
            fill(real, x.reals(0));
            T::hypot_all(real, x.reals(1));
        }
        Op::Real2(Real2::Atan2) => {
            fill(real, x.reals(0));
            T::atan2_all(real, x.reals(1));
        }
        // Most often the divisor is one number.
        Op::Real2(Real2::Ratio) if matches!(x.reals(1), [y] if y.primal().is_some_and(|y| y != 0.0)) =>
        {
            two(x.reals(0), x.reals(1), real, |x, y| x / y);
        }
        Op::Real2(op) => real2(op, x.reals(0), x.reals(1), real)?,
        Op::Mixed(op) => mixed(op, x, real, complex),
        _ => {}
    }
    Ok(())
}

fn mixed<T: Real, S: Scalar<Real = T>>(
    op: Mixed,
    x: &impl StepInputs<T, S>,
    real: &mut [T],
    complex: &mut [S],
) {
    match op {
        Mixed::Promote => one(x.reals(0), complex, |x| S::from_real(x.clone())),
        // A value that a real type cannot hold is NaN; the machine has asked for complex numbers
        // before.
        Mixed::Complex => two(x.reals(0), x.reals(1), complex, |x, y| {
            S::from_parts(x.clone(), y.clone()).unwrap_or_else(|| S::lit(f64::NAN))
        }),
        Mixed::Conj => one(x.complexes(0), complex, S::conj),
        Mixed::Re => one(x.complexes(0), real, S::re),
        Mixed::Im => one(x.complexes(0), real, S::im),
        Mixed::Abs2 => one(x.complexes(0), real, S::abs2),
        Mixed::Modulus => one(x.complexes(0), real, |z| z.re().hypot(&z.im())),
        Mixed::Arg => one(x.complexes(0), real, |z| z.im().atan2(&z.re())),
        Mixed::FromInt => one(x.ints(0), real, |n| T::int(*n)),
        Mixed::Cmp => two(x.ints(0), x.ints(1), real, |a, b| T::int(a.cmp(b) as i64)),
        Mixed::PowiReal => {
            let n = x.ints(1).first().copied().unwrap_or(0);
            one(x.reals(0), real, |x| x.powi(n));
        }
        Mixed::PowiComplex => {
            let n = x.ints(1).first().copied().unwrap_or(0);
            one(x.complexes(0), complex, |x| x.powi(n));
        }
        Mixed::Polygamma => {
            let n = x.ints(1).first().copied().unwrap_or(0);
            one(x.reals(0), real, |x| x.polygamma(n));
        }
        Mixed::Not | Mixed::And | Mixed::Or => {}
    }
}

/// Copies numbers, or repeats a single one.
fn fill<T: Clone>(out: &mut [T], from: &[T]) {
    match from {
        [one] => out.fill(one.clone()),
        all => out.clone_from_slice(all),
    }
}

/// Returns the function for many numbers at once, if there is one.
fn at_once<S: Scalar>(op: Number1) -> Option<fn(&mut [S])> {
    match op {
        Number1::Exp => Some(S::exp_all),
        Number1::ExpM1 => Some(S::exp_m1_all),
        Number1::Ln => Some(S::ln_all),
        Number1::Ln1p => Some(S::ln_1p_all),
        Number1::Log2 => Some(S::log2_all),
        Number1::Log10 => Some(S::log10_all),
        Number1::Cbrt => Some(S::cbrt_all),
        Number1::Sin => Some(S::sin_all),
        Number1::Cos => Some(S::cos_all),
        Number1::Tan => Some(S::tan_all),
        Number1::Asin => Some(S::asin_all),
        Number1::Acos => Some(S::acos_all),
        Number1::Atan => Some(S::atan_all),
        Number1::Sinh => Some(S::sinh_all),
        Number1::Cosh => Some(S::cosh_all),
        Number1::Tanh => Some(S::tanh_all),
        Number1::Asinh => Some(S::asinh_all),
        Number1::Acosh => Some(S::acosh_all),
        Number1::Atanh => Some(S::atanh_all),
        _ => None,
    }
}

/// One loop for each op of the table, so that the choice is made outside of it.
macro_rules! loops {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, $n1_d:tt, $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($($n2_a:ident),*) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, $n2_d:tt, $n2_doc:literal;)* }
        real1 $real1:tt real2 $real2:tt int1 $int1:tt int2 $int2:tt compare $compare:tt mixed $mixed:tt
    ) => {
        fn number1<S: Scalar>(op: Number1, a: &[S], out: &mut [S]) {
            match op { $(Number1::$n1 => one(a, out, |x| Number1::$n1.value(x)),)* }
        }
        fn number2<S: Scalar>(op: Number2, a: &[S], b: &[S], out: &mut [S]) {
            match op { $(Number2::$n2 => two(a, b, out, |x, y| Number2::$n2.value(x, y)),)* }
        }
    };
}
for_each_op!(loops);

fn real1<T: Real>(op: Real1, a: &[T], out: &mut [T]) -> Result<(), Undecided> {
    let step = usize::from(a.len() > 1);
    for (k, z) in out.iter_mut().enumerate() {
        *z = op.value(&a[step * k])?;
    }
    Ok(())
}

fn real2<T: Real>(op: Real2, a: &[T], b: &[T], out: &mut [T]) -> Result<(), Undecided> {
    let step = |x: &[T]| usize::from(x.len() > 1);
    let (i, j) = (step(a), step(b));
    for (k, z) in out.iter_mut().enumerate() {
        *z = op.value(&a[i * k], &b[j * k])?;
    }
    Ok(())
}
