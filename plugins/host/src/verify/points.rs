//! Points at which rules are compared.

use std::sync::Arc;

use ketgrad_core::{
    array::Array,
    exec::Datum,
    ir::{Element, Field, Kind},
};
use num_complex::Complex;

pub(super) type PointScalar = Complex<f64>;

/// Real points that are tried, for each input with another shift of the list.
const POINTS: [f64; 16] =
    [0.35, 0.8, 1.7, 0.6, 3.1, 0.25, -0.45, 0.9, -1.3, 0.12, 2.4, -0.2, -0.3, -0.1, 5.5, -2.6];

/// Ints for int inputs at these points.
const INTS: [i64; 8] = [1, 2, 3, 1, 0, 2, 4, -1];

/// Ints at points with a number that is exactly zero.
const POSITIVE_INTS: [i64; 3] = [1, 2, 3];

/// Factors of these points, and lengths of arrays, that are tried where the kernel has no value at
/// any point.
const ELSEWHERE: [(f64, usize); 12] = [
    (1.0, 1),
    (1.0, 2),
    (1.0, 4),
    (1.0, 6),
    (1.0, 8),
    (1.0, 9),
    (1.0, 16),
    (10.0, 3),
    (1e3, 3),
    (1e6, 3),
    (1e-3, 3),
    (1e-6, 3),
];

/// Shapes of the arrays among the inputs: that of the k-th is the k-th of the list, cyclically.
type Shapes = &'static [&'static [usize]];

/// Shapes of one array, or of several alike, and the number of points for each.
const ALIKE: [(Shapes, usize); 10] = [
    (&[&[3]], POINTS.len()),
    (&[&[1]], 2),
    (&[&[2]], 3),
    (&[&[5]], 2),
    (&[&[9]], 1),
    (&[&[17]], 1),
    (&[&[2, 2]], 2),
    (&[&[2, 3]], 2),
    (&[&[3, 3]], 1),
    (&[&[2, 1, 2]], 1),
];

/// Shapes of several arrays that differ.
const UNLIKE: [(Shapes, usize); 7] = [
    (&[&[3], &[2]], 2),
    (&[&[2], &[4]], 2),
    (&[&[1], &[3]], 1),
    (&[&[2, 3], &[3, 2]], 2),
    (&[&[2, 3], &[3]], 2),
    (&[&[2], &[2, 3]], 2),
    (&[&[3], &[3, 3]], 1),
];

/// Kind of a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PointKind {
    /// Point of the list; `alike` if all arrays are rows of one length.
    Usual { shapes: usize, alike: bool },
    /// Point with numbers that are exactly zero: compared only where the function is smooth in
    /// every direction.
    Zero,
    /// Point that the author named.
    Named,
}

/// Point at which a rule is compared.
#[derive(Clone, Debug)]
pub(super) struct TestPoint {
    pub(super) x: Vec<Datum<PointScalar>>,
    pub(super) place: PointKind,
}

/// Returns the points that are tried; `zeros`: also those with numbers that are zero.
pub(super) fn trials(kinds: &[Kind], zeros: bool) -> Vec<TestPoint> {
    let arrays: usize = kinds.iter().map(arrays).sum();
    let (alike, unlike) = match arrays {
        0 => (1, 0),
        1 => (ALIKE.len(), 0),
        _ => (ALIKE.len(), UNLIKE.len()),
    };
    let lists = ALIKE[..alike].iter().chain(&UNLIKE[..unlike]).enumerate();
    let mut all = Vec::new();
    for (k, (shapes, count)) in lists {
        let place =
            PointKind::Usual { shapes: k, alike: shapes.len() == 1 && shapes[0].len() == 1 };
        // Begins elsewhere in the list, so that not all shapes have the same numbers.
        let first = if *count == POINTS.len() { 0 } else { 2 * k };
        all.extend(
            (first..first + count)
                .map(|shift| TestPoint { x: arguments(kinds, shift, shapes, &INTS), place }),
        );
    }
    if zeros {
        all.extend(with_zeros(kinds));
    }
    all
}

/// Returns points where all numbers are zero, and one after the other.
fn with_zeros(kinds: &[Kind]) -> Vec<TestPoint> {
    let at = |shift: usize| arguments(kinds, shift, ALIKE[0].0, &POSITIVE_INTS);
    let movable: Vec<usize> = (0..kinds.len()).filter(|k| kinds[*k].is_differentiable()).collect();
    let mut all: Vec<Vec<Datum<PointScalar>>> = Vec::new();
    for shift in [0, 2, 6] {
        let x = at(shift);
        all.push(x.iter().map(|x| zeroed(x, usize::MAX)).collect());
        for &k in movable.iter().filter(|_| movable.len() > 1) {
            let mut x = x.clone();
            x[k] = zeroed(&x[k], usize::MAX);
            all.push(x);
        }
        // The first number of each input alone.
        if kinds.iter().any(|k| !matches!(k, Kind::Real | Kind::Complex | Kind::Int | Kind::Bool)) {
            all.push(x.iter().map(|x| zeroed(x, 1)).collect());
        }
    }
    all.into_iter().map(|x| TestPoint { x, place: PointKind::Zero }).collect()
}

/// Returns points further away, and arrays of other lengths.
pub(super) fn elsewhere(kinds: &[Kind]) -> impl Iterator<Item = Vec<Datum<PointScalar>>> {
    ELSEWHERE.into_iter().flat_map(move |(factor, length)| {
        (0..POINTS.len()).map(move |shift| {
            let x = kinds.iter().enumerate().map(|(k, kind)| {
                let shape = &mut |_: usize| vec![length];
                argument(kind, shift + 2 * k, &mut 0, shape, &INTS)
            });
            x.map(|x| scaled(&x, factor)).collect()
        })
    })
}

/// Number of arrays in a value.
fn arrays(kind: &Kind) -> usize {
    match kind {
        Kind::Array(_) => 1,
        Kind::Tuple(_) => kind.fields().iter().map(|f| arrays(&f.kind)).sum(),
        _ => 0,
    }
}

fn arguments(
    kinds: &[Kind],
    shift: usize,
    shapes: Shapes,
    ints: &[i64],
) -> Vec<Datum<PointScalar>> {
    let mut array = 0;
    let mut shape = |k: usize| shapes[k % shapes.len()].to_vec();
    let one =
        |(k, kind): (usize, &Kind)| argument(kind, shift + 2 * k, &mut array, &mut shape, ints);
    kinds.iter().enumerate().map(one).collect()
}

/// Returns an argument of the kind; `array` counts the arrays so far.
fn argument(
    kind: &Kind,
    shift: usize,
    array: &mut usize,
    shape: &mut dyn FnMut(usize) -> Vec<usize>,
    ints: &[i64],
) -> Datum<PointScalar> {
    // Numbers of long arrays differ, too.
    let real = |k: usize| POINTS[k % POINTS.len()] + 0.013 * (k / POINTS.len() / 4) as f64;
    let complex = |k: usize| Complex::new(real(k), 0.5 * real(k + 3));
    match kind {
        Kind::Complex => Datum::Complex(complex(shift)),
        Kind::Int => Datum::Int(ints[shift % ints.len()]),
        Kind::Bool => Datum::Bool(shift.is_multiple_of(2)),
        Kind::Handle => Datum::Handle(0),
        Kind::Tuple(_) => {
            let one = |(k, field): (usize, &Field)| {
                argument(&field.kind, shift + 3 * k, array, shape, ints)
            };
            Datum::Tuple(kind.fields().iter().enumerate().map(one).collect())
        }
        Kind::Array(element) => {
            let shape = shape(*array);
            *array += 1;
            let all = 0..shape.iter().product::<usize>();
            match element {
                Element::Real => Datum::Reals(shaped(&shape, all.map(|k| real(shift + k)))),
                Element::Complex => {
                    Datum::Complexes(shaped(&shape, all.map(|k| complex(shift + k))))
                }
                Element::Int => Datum::Ints(shaped(&shape, all.map(|k| (k + shift) as i64 % 3))),
            }
        }
        Kind::Real => Datum::Real(real(shift)),
    }
}

/// Fills an array of that shape.
fn shaped<T>(shape: &[usize], items: impl Iterator<Item = T>) -> Arc<Array<T>> {
    let items: Vec<T> = items.collect();
    Arc::new(Array::new(shape, items).unwrap_or_else(|_| std::iter::empty().collect()))
}

/// Sets the first numbers to zero, at most that many.
fn zeroed(x: &Datum<PointScalar>, most: usize) -> Datum<PointScalar> {
    let mut left = most;
    let mut is_zero = || {
        let zero = left > 0;
        left = left.saturating_sub(1);
        zero
    };
    map(x, &mut |x| if is_zero() { 0.0 * x.abs() } else { x })
}

/// Multiplies every number by a factor; an int by an integral one.
fn scaled(x: &Datum<PointScalar>, factor: f64) -> Datum<PointScalar> {
    match x {
        Datum::Int(n) => Datum::Int(n.saturating_mul(factor as i64)),
        other => map(other, &mut |x| x * factor),
    }
}

/// Maps every real number; a complex one is two.
fn map(x: &Datum<PointScalar>, f: &mut dyn FnMut(f64) -> f64) -> Datum<PointScalar> {
    match x {
        Datum::Real(x) => Datum::Real(f(*x)),
        Datum::Complex(z) => Datum::Complex(Complex::new(f(z.re), f(z.im))),
        Datum::Reals(xs) => Datum::Reals(Arc::new(xs.map(|x| f(*x)))),
        Datum::Complexes(zs) => {
            Datum::Complexes(Arc::new(zs.map(|z| Complex::new(f(z.re), f(z.im)))))
        }
        Datum::Tuple(fields) => Datum::Tuple(fields.iter().map(|x| map(x, f)).collect()),
        Datum::Int(_) | Datum::Bool(_) | Datum::Handle(_) | Datum::Ints(_) => x.clone(),
    }
}
