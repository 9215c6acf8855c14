//! The loops of the op table: one operation over one stretch of elements.
//!
//! Each is a plain loop over slices, compiled for the processor's vector instructions; the choice of the operation is
//! made outside of it.

use crate::{
    ir::{Mixed, Number1, Number2, Op, Real1, Real2},
    scalar::{Loop, Real, Ring, Scalar, Undecided, wide},
};

/// A stretch of an operand or of a step: one number for all, or one for each.
pub(super) enum Part<'a, E> {
    One(&'a E),
    Many(&'a [E]),
}

/// What a step reads.
pub(super) enum Parts<'a, T, S> {
    Reals(Part<'a, T>),
    Complexes(Part<'a, S>),
    Ints(Part<'a, i64>),
}

/// One step over one stretch: what it gives is written to `real` or `complex`, which are as long as the stretch.
pub(super) fn run<T: Real, S: Scalar<Real = T>>(
    op: Op,
    a: Parts<'_, T, S>,
    b: Parts<'_, T, S>,
    real: &mut [T],
    complex: &mut [S],
) -> Result<(), Undecided> {
    use Parts::{Complexes, Ints, Reals};
    match (op, a, b) {
        (Op::Number1(op), Reals(a), _) => match (at_once::<T>(op), a) {
            (Some(all), Part::Many(a)) => {
                real.clone_from_slice(a);
                all(real);
            }
            (_, a) => number1(op, a, real),
        },
        (Op::Number1(op), Complexes(a), _) => number1(op, a, complex),
        (Op::Number2(op), Reals(a), Reals(b)) => number2(op, a, b, real),
        (Op::Number2(op), Complexes(a), Complexes(b)) => number2(op, a, b, complex),
        (Op::Real1(op), Reals(a), _) => real1(op, a, real)?,
        (Op::Real2(op), Reals(a), Reals(b)) => real2(op, a, b, real)?,
        (Op::Mixed(op), a, b) => match (op, a, b) {
            (Mixed::Promote, Reals(a), _) => one(a, complex, |x| S::from_real(x.clone())),
            // What a real type cannot hold is NaN; the machine has asked for complex numbers before.
            (Mixed::Complex, Reals(a), Reals(b)) => two(a, b, complex, |x, y| {
                S::from_parts(x.clone(), y.clone()).unwrap_or_else(|| S::lit(f64::NAN))
            }),
            (Mixed::Conj, Complexes(a), _) => one(a, complex, S::conj),
            (Mixed::Re, Complexes(a), _) => one(a, real, S::re),
            (Mixed::Im, Complexes(a), _) => one(a, real, S::im),
            (Mixed::Abs2, Complexes(a), _) => one(a, real, S::abs2),
            (Mixed::Modulus, Complexes(a), _) => one(a, real, |z| z.re().hypot(&z.im())),
            (Mixed::Arg, Complexes(a), _) => one(a, real, |z| z.im().atan2(&z.re())),
            (Mixed::FromInt, Ints(a), _) => one(a, real, |n| T::int(*n)),
            (Mixed::PowiReal, Reals(a), Ints(Part::One(n))) => one(a, real, |x| power(x, *n)),
            (Mixed::PowiComplex, Complexes(a), Ints(Part::One(n))) => one(a, complex, |x| power(x, *n)),
            _ => {}
        },
        _ => {}
    }
    Ok(())
}

fn power<S: Scalar>(x: &S, n: i64) -> S {
    x.powi(i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX }))
}

/// The function for many numbers at once, if there is one.
fn at_once<S: Scalar>(op: Number1) -> Option<fn(&mut [S])> {
    match op {
        Number1::Exp => Some(S::exp_all),
        Number1::ExpM1 => Some(S::exp_m1_all),
        Number1::Ln => Some(S::ln_all),
        Number1::Tanh => Some(S::tanh_all),
        _ => None,
    }
}

#[inline]
fn one<A, B: Ring>(a: Part<'_, A>, out: &mut [B], f: impl Fn(&A) -> B) {
    match a {
        Part::One(x) => out.fill(f(x)),
        Part::Many(a) => wide::<B, _>(One { a, out, f }),
    }
}

#[inline]
fn two<A, B: Ring>(a: Part<'_, A>, b: Part<'_, A>, out: &mut [B], f: impl Fn(&A, &A) -> B) {
    match (a, b) {
        (Part::Many(a), Part::Many(b)) => wide::<B, _>(Two { a, b, out, f }),
        (Part::One(x), Part::Many(b)) => wide::<B, _>(One { a: b, out, f: |y: &A| f(x, y) }),
        (Part::Many(a), Part::One(y)) => wide::<B, _>(One { a, out, f: |x: &A| f(x, y) }),
        (Part::One(x), Part::One(y)) => out.fill(f(x, y)),
    }
}

/// A number from each.
struct One<'a, A, B, F> {
    a: &'a [A],
    out: &'a mut [B],
    f: F,
}

impl<A, B, F: Fn(&A) -> B> Loop for One<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.out.iter_mut().zip(self.a).for_each(|(z, x)| *z = (self.f)(x));
    }
}

/// A number from each two.
struct Two<'a, A, B, F> {
    a: &'a [A],
    b: &'a [A],
    out: &'a mut [B],
    f: F,
}

impl<A, B, F: Fn(&A, &A) -> B> Loop for Two<'_, A, B, F> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.out.iter_mut().zip(self.a.iter().zip(self.b)).for_each(|(z, (x, y))| *z = (self.f)(x, y));
    }
}

/// One loop for each op of the table, so that the choice is made outside of it.
macro_rules! loops {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, $n1_d:tt, $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($($n2_a:ident),*) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, $n2_d:tt, $n2_doc:literal;)* }
        real1 $real1:tt real2 $real2:tt int1 $int1:tt int2 $int2:tt compare $compare:tt mixed $mixed:tt
    ) => {
        fn number1<S: Scalar>(op: Number1, a: Part<'_, S>, out: &mut [S]) {
            match op { $(Number1::$n1 => one(a, out, |x| Number1::$n1.value(x)),)* }
        }
        fn number2<S: Scalar>(op: Number2, a: Part<'_, S>, b: Part<'_, S>, out: &mut [S]) {
            match op { $(Number2::$n2 => two(a, b, out, |x, y| Number2::$n2.value(x, y)),)* }
        }
    };
}
for_each_op!(loops);

fn real1<T: Real>(op: Real1, a: Part<'_, T>, out: &mut [T]) -> Result<(), Undecided> {
    match a {
        Part::One(x) => out.fill(op.value(x)?),
        Part::Many(a) => {
            for (z, x) in out.iter_mut().zip(a) {
                *z = op.value(x)?;
            }
        }
    }
    Ok(())
}

fn real2<T: Real>(op: Real2, a: Part<'_, T>, b: Part<'_, T>, out: &mut [T]) -> Result<(), Undecided> {
    let slice = |part| match part {
        Part::One(x) => std::slice::from_ref(x),
        Part::Many(a) => a,
    };
    let alone = |part: &Part<'_, T>| matches!(part, Part::One(_));
    let (first, second) = (alone(&a), alone(&b));
    let (a, b) = (slice(a), slice(b));
    for (k, z) in out.iter_mut().enumerate() {
        let (x, y) = (&a[if first { 0 } else { k }], &b[if second { 0 } else { k }]);
        *z = op.value(x, y)?;
    }
    Ok(())
}
