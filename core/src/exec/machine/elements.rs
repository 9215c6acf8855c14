//! Operations element by element: recipes run over stretches that stay in fast memory.
//!
//! Each step goes over [`STRETCH`] elements before the next one does; only the last one writes to memory. So the
//! dispatch is paid once for a stretch, each step is a plain loop over slices, and nothing in between is ever stored
//! as a whole. An operand of a smaller shape is repeated stretch by stretch. A step whose own shape is smaller than
//! that of the result (`exp(b)` in `a * exp(b)`, `b` a row) is computed first, as an array.
//!
//! Sums are taken stretch by stretch in eight columns, so their order depends on the length alone.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::{
    array::{ArrayError, Repeated, Shape, broadcast, sum},
    ir::{Mixed, Number1, Number2, Op, Position, Real1, Real2},
    scalar::{Real, Scalar, Undecided},
};

use super::{
    super::{
        Limits,
        code::{Bank, Slot},
        recipe::{From, Recipe, Step},
    },
    array_bank::{ArrayBank, Held},
    banks::{Banks, Base},
};

/// How many elements a step goes over at once.
pub(super) const STRETCH: usize = 512;

/// The results of steps for one stretch, and operands repeated for one.
#[derive(Debug)]
pub(super) struct Scratch<S: Scalar> {
    reals: Vec<Vec<S::Real>>,
    complexes: Vec<Vec<S>>,
}

impl<S: Scalar> Scratch<S> {
    pub(super) fn new() -> Scratch<S> {
        Scratch { reals: Vec::new(), complexes: Vec::new() }
    }
}

/// An operand.
enum Operand<S: Scalar> {
    Real(S::Real),
    Complex(S),
    Int(i64),
    Reals(Held<S::Real>),
    Complexes(Held<S>),
    Ints(Held<i64>),
}

/// A stretch of an operand or of a step: one number for all, or one for each.
enum Part<'a, E> {
    One(&'a E),
    Many(&'a [E]),
}

/// What a step reads.
enum Parts<'a, T, S> {
    Reals(Part<'a, T>),
    Complexes(Part<'a, S>),
    Ints(Part<'a, i64>),
}

type Fault = (Option<Position>, ArrayError);

/// Runs a recipe.
pub(super) fn elements<T: Real, S: Scalar<Real = T>>(
    banks: &mut Banks<S>,
    recipe: &Recipe,
    args: &[Slot],
    result: Slot,
    base: Base,
    limits: &Limits,
) -> Result<(), Fault> {
    let on = |slot: Slot| base[slot.bank as usize] + slot.reg as usize;
    let Banks { reals, complexes, ints, arrays } = banks;
    let mut operands: SmallVec<[Operand<S>; 4]> = args
        .iter()
        .map(|&slot| match slot.bank {
            Bank::Real => Operand::Real(reals[on(slot)].clone()),
            Bank::Complex => Operand::Complex(complexes[on(slot)].clone()),
            Bank::Int => Operand::Int(ints[on(slot)]),
            Bank::Reals => Operand::Reals(arrays.reals.read(on(slot), slot.last)),
            Bank::Complexes => Operand::Complexes(arrays.complexes.read(on(slot), slot.last)),
            Bank::Ints => Operand::Ints(arrays.ints.read(on(slot), slot.last)),
        })
        .collect();
    let (real_bank, complex_bank, scratch) = (&mut arrays.reals, &mut arrays.complexes, &mut arrays.scratch);
    let mut run = Run { real_bank, complex_bank, scratch, limit: limits.array };
    let value = run.recipe(recipe, &mut operands);
    for operand in operands {
        match operand {
            Operand::Reals(array) => run.real_bank.recycle(array),
            Operand::Complexes(array) => run.complex_bank.recycle(array),
            Operand::Ints(array) => arrays.ints.recycle(array),
            _ => {}
        }
    }
    match value? {
        Operand::Real(x) => reals[on(result)] = x,
        Operand::Complex(x) => complexes[on(result)] = x,
        Operand::Reals(array) => arrays.reals.store(on(result), array),
        Operand::Complexes(array) => arrays.complexes.store(on(result), array),
        Operand::Int(_) | Operand::Ints(_) => {}
    }
    Ok(())
}

struct Run<'a, S: Scalar> {
    real_bank: &'a mut ArrayBank<S::Real>,
    complex_bank: &'a mut ArrayBank<S>,
    scratch: &'a mut Scratch<S>,
    limit: usize,
}

impl<S: Scalar> Operand<S> {
    /// Its shape; none of a number.
    fn shape(&self) -> Option<Shape> {
        fn of<E>(array: &Held<E>) -> Option<Shape> {
            Some(array.as_ref().map_or_else(|| Shape::from_slice(&[0]), |a| a.shape()))
        }
        match self {
            Operand::Reals(array) => of(array),
            Operand::Complexes(array) => of(array),
            Operand::Ints(array) => of(array),
            _ => None,
        }
    }
}

impl<T: Real, S: Scalar<Real = T>> Run<'_, S> {
    fn recipe(
        &mut self,
        recipe: &Recipe,
        operands: &mut SmallVec<[Operand<S>; 4]>,
    ) -> Result<Operand<S>, Fault> {
        let shapes: SmallVec<[Option<Shape>; 4]> = operands.iter().map(Operand::shape).collect();
        let mut made: SmallVec<[Option<Shape>; 8]> = SmallVec::new();
        for step in &recipe.steps {
            let shape = |from: From| match from {
                From::Operand(k) => shapes[k].as_ref(),
                From::Step(k) => made[k].as_ref(),
            };
            let shape = match step.from.map(shape) {
                [Some(a), Some(b)] if a == b => Some(a.clone()),
                [Some(a), Some(b)] => Some(broadcast(a, b).ok_or_else(|| {
                    let expected =
                        "arrays whose shapes are equal or 1 along each axis, counted from the last";
                    (Some(step.at), ArrayError::shape(step.op.name(), expected, &[a, b]))
                })?),
                [a, b] => a.or(b).cloned(),
            };
            made.push(shape);
        }
        let whole = made.last().or(shapes.first()).cloned().flatten().unwrap_or_default();
        let n: usize = whole.iter().product();
        if n > self.limit {
            let given = whole.iter().map(|&d| i64::try_from(d).unwrap_or(i64::MAX)).collect();
            return Err((None, ArrayError::Lengths { given, limit: self.limit }));
        }
        // Smaller steps become operands.
        let mut places: SmallVec<[From; 8]> = SmallVec::new();
        let mut order: SmallVec<[usize; 8]> = SmallVec::new();
        for (k, shape) in made.iter().enumerate() {
            if shape.as_ref() == Some(&whole) {
                places.push(From::Step(order.len()));
                order.push(k);
                continue;
            }
            let step = renamed(&recipe.steps[k], &places);
            let shape = shape.clone().unwrap_or_default();
            let value = self.stretches(&[step], &shape, operands, false)?;
            places.push(From::Operand(operands.len()));
            operands.push(value);
        }
        let steps: SmallVec<[Step; 8]> = order.iter().map(|&k| renamed(&recipe.steps[k], &places)).collect();
        self.stretches(&steps, &whole, operands, recipe.sum)
    }

    /// Runs steps of one shape.
    fn stretches(
        &mut self,
        steps: &[Step],
        shape: &[usize],
        operands: &[Operand<S>],
        summed: bool,
    ) -> Result<Operand<S>, Fault> {
        let n: usize = shape.iter().product();
        let Some((last, first)) = steps.split_last() else {
            return Ok(match &operands[0] {
                Operand::Reals(array) => Operand::Real(array.as_ref().map_or_else(T::zero, |a| sum(a))),
                Operand::Complexes(array) => {
                    Operand::Complex(array.as_ref().map_or_else(S::zero, |a| sum(a)))
                }
                _ => Operand::Real(T::zero()),
            });
        };
        // Operands of other shapes are repeated: each stretch into a place of its own behind those of the steps.
        let mut repeated: SmallVec<[Option<Repeated>; 4]> = SmallVec::new();
        for (k, operand) in operands.iter().enumerate() {
            let used = steps.iter().any(|s| s.from.contains(&From::Operand(k)));
            let other = operand.shape().filter(|s| used && s.as_slice() != shape);
            repeated.push(other.map(|from| Repeated::new(&from, shape)));
        }
        let places = steps.len() + operands.len();
        let Scratch { reals, complexes } = &mut *self.scratch;
        if reals.len() < places {
            reals.resize_with(places, Vec::new);
            complexes.resize_with(places, Vec::new);
        }
        let (mut real_out, mut complex_out) = (self.real_bank.fresh(), self.complex_bank.fresh());
        let mut sums = (T::zero(), S::zero());
        {
            let (to_real, to_complex) = (Arc::make_mut(&mut real_out), Arc::make_mut(&mut complex_out));
            // Only one of both is written.
            let to_real = if summed || last.complex { to_real.as_vec() } else { to_real.start(shape) };
            let to_complex =
                if summed || !last.complex { to_complex.as_vec() } else { to_complex.start(shape) };
            for start in (0..n).step_by(STRETCH) {
                let len = STRETCH.min(n - start);
                for (k, (operand, repeated)) in operands.iter().zip(&mut repeated).enumerate() {
                    match (repeated, operand) {
                        (Some(r), Operand::Reals(Some(a))) => r.fill(a, len, &mut reals[steps.len() + k]),
                        (Some(r), Operand::Complexes(Some(a))) => {
                            r.fill(a, len, &mut complexes[steps.len() + k])
                        }
                        _ => {}
                    }
                }
                for (k, step) in first.iter().chain([last]).enumerate() {
                    let (real_done, real_rest) = reals.split_at_mut(k);
                    let (complex_done, complex_rest) = complexes.split_at_mut(k);
                    let (Some((real, real_behind)), Some((complex, complex_behind))) =
                        (real_rest.split_first_mut(), complex_rest.split_first_mut())
                    else {
                        continue;
                    };
                    // What is behind: first the steps to come, then the repeated operands.
                    let behind = steps.len() - k - 1;
                    let part = |from: From| match from {
                        From::Step(j) if steps[j].complex => Parts::Complexes(Part::Many(&complex_done[j])),
                        From::Step(j) => Parts::Reals(Part::Many(&real_done[j])),
                        From::Operand(j) => match &operands[j] {
                            Operand::Real(x) => Parts::Reals(Part::One(x)),
                            Operand::Complex(x) => Parts::Complexes(Part::One(x)),
                            Operand::Int(x) => Parts::Ints(Part::One(x)),
                            Operand::Reals(_) if repeated[j].is_some() => {
                                Parts::Reals(Part::Many(&real_behind[behind + j]))
                            }
                            Operand::Complexes(_) if repeated[j].is_some() => {
                                Parts::Complexes(Part::Many(&complex_behind[behind + j]))
                            }
                            Operand::Reals(a) => Parts::Reals(Part::Many(stretch(a, start, len))),
                            Operand::Complexes(a) => Parts::Complexes(Part::Many(stretch(a, start, len))),
                            Operand::Ints(a) => Parts::Ints(Part::Many(stretch(a, start, len))),
                        },
                    };
                    let [a, b] = step.from.map(part);
                    let ends = k == first.len() && !summed;
                    let fault =
                        |source| (Some(step.at), ArrayError::Undecided { op: step.op.name(), source });
                    if !ends {
                        real.clear();
                        complex.clear();
                    }
                    let real: &mut Vec<T> = if ends { &mut *to_real } else { real };
                    let complex: &mut Vec<S> = if ends { &mut *to_complex } else { complex };
                    run(step.op, a, b, real, complex).map_err(fault)?;
                }
                if summed {
                    let k = first.len();
                    if last.complex {
                        sums.1 += sum(&complexes[k]);
                    } else {
                        sums.0 += sum(&reals[k]);
                    }
                }
            }
        }
        let (real_out, complex_out) = (Some(real_out), Some(complex_out));
        Ok(match (summed, last.complex) {
            (false, true) => {
                self.real_bank.recycle(real_out);
                Operand::Complexes(complex_out)
            }
            (false, false) => {
                self.complex_bank.recycle(complex_out);
                Operand::Reals(real_out)
            }
            (true, complex) => {
                self.real_bank.recycle(real_out);
                self.complex_bank.recycle(complex_out);
                if complex { Operand::Complex(sums.1) } else { Operand::Real(sums.0) }
            }
        })
    }
}

/// A step that reads other places.
fn renamed(step: &Step, places: &[From]) -> Step {
    let from = step.from.map(|from| match from {
        From::Step(k) => places[k],
        operand => operand,
    });
    Step { from, ..*step }
}

fn stretch<E>(array: &Held<E>, start: usize, len: usize) -> &[E] {
    array.as_ref().map_or(&[], |a| &a[start..start + len])
}

/// One step over one stretch: what it gives is added to the end of `real` or `complex`.
fn run<T: Real, S: Scalar<Real = T>>(
    op: Op,
    a: Parts<'_, T, S>,
    b: Parts<'_, T, S>,
    real: &mut Vec<T>,
    complex: &mut Vec<S>,
) -> Result<(), Undecided> {
    use Parts::{Complexes, Ints, Reals};
    match (op, a, b) {
        (Op::Number1(Number1::Exp), Reals(Part::Many(a)), _) => {
            let start = real.len();
            real.extend_from_slice(a);
            T::exp_all(&mut real[start..]);
        }
        (Op::Number1(op), Reals(a), _) => number1(op, a, real),
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

#[inline]
fn one<A, B: Clone>(a: Part<'_, A>, out: &mut Vec<B>, f: impl Fn(&A) -> B) {
    match a {
        Part::One(x) => out.push(f(x)),
        Part::Many(a) => out.extend(a.iter().map(f)),
    }
}

#[inline]
fn two<A, B: Clone>(a: Part<'_, A>, b: Part<'_, A>, out: &mut Vec<B>, f: impl Fn(&A, &A) -> B) {
    match (a, b) {
        (Part::Many(a), Part::Many(b)) => out.extend(a.iter().zip(b).map(|(x, y)| f(x, y))),
        (Part::One(x), Part::Many(b)) => out.extend(b.iter().map(|y| f(x, y))),
        (Part::Many(a), Part::One(y)) => out.extend(a.iter().map(|x| f(x, y))),
        (Part::One(x), Part::One(y)) => out.push(f(x, y)),
    }
}

/// One loop for each op of the table, so that the choice is made outside of it.
macro_rules! loops {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, $n1_d:tt, $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($($n2_a:ident),*) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, $n2_d:tt, $n2_doc:literal;)* }
        real1 $real1:tt real2 $real2:tt int1 $int1:tt int2 $int2:tt compare $compare:tt mixed $mixed:tt
    ) => {
        fn number1<S: Scalar>(op: Number1, a: Part<'_, S>, out: &mut Vec<S>) {
            match op { $(Number1::$n1 => one(a, out, |x| Number1::$n1.value(x)),)* }
        }
        fn number2<S: Scalar>(op: Number2, a: Part<'_, S>, b: Part<'_, S>, out: &mut Vec<S>) {
            match op { $(Number2::$n2 => two(a, b, out, |x, y| Number2::$n2.value(x, y)),)* }
        }
    };
}
for_each_op!(loops);

fn real1<T: Real>(op: Real1, a: Part<'_, T>, out: &mut Vec<T>) -> Result<(), Undecided> {
    match a {
        Part::One(x) => out.push(op.value(x)?),
        Part::Many(a) => {
            for x in a {
                out.push(op.value(x)?);
            }
        }
    }
    Ok(())
}

fn real2<T: Real>(op: Real2, a: Part<'_, T>, b: Part<'_, T>, out: &mut Vec<T>) -> Result<(), Undecided> {
    let slice = |part| match part {
        Part::One(x) => std::slice::from_ref(x),
        Part::Many(a) => a,
    };
    let alone = |part: &Part<'_, T>| matches!(part, Part::One(_));
    let (first, second) = (alone(&a), alone(&b));
    let (a, b) = (slice(a), slice(b));
    for k in 0..if first { b.len() } else { a.len() } {
        let (x, y) = (&a[if first { 0 } else { k }], &b[if second { 0 } else { k }]);
        out.push(op.value(x, y)?);
    }
    Ok(())
}
