//! Comparison of the pullback of a kernel on arrays with central differences.

use std::fmt::Debug;

use crate::{
    C64, Error, Result,
    rule::{Element, ErasedDense, View, ViewMut},
};

/// Longest step of central differences, relative to the larger of 1 and the argument.
const STEP: f64 = 1e-4;
/// Largest allowed distance of a derivative from extrapolated differences.
const TOLERANCE: f64 = 1e-7;
/// Largest allowed distance of two extrapolations where a function is smooth.
const DOUBT: f64 = 1e-4;

/// Number made of one or two real parts.
pub(super) trait RealParts: Element {
    /// Number of real parts.
    const PARTS: usize;
    fn from_parts(re: f64, im: f64) -> Self;
    /// Returns the parts; the second of a real number is zero.
    fn parts(self) -> [f64; 2];
    /// Returns the number with a part moved.
    fn moved(self, part: usize, by: f64) -> Self {
        let mut parts = self.parts();
        parts[part] += by;
        Self::from_parts(parts[0], parts[1])
    }
}

impl RealParts for f64 {
    const PARTS: usize = 1;
    fn from_parts(re: f64, _: f64) -> f64 {
        re
    }
    fn parts(self) -> [f64; 2] {
        [self, 0.0]
    }
}

impl RealParts for C64 {
    const PARTS: usize = 2;
    fn from_parts(re: f64, im: f64) -> C64 {
        C64::new(re, im)
    }
    fn parts(self) -> [f64; 2] {
        [self.re, self.im]
    }
}

/// Input of a call.
#[derive(Clone, Debug)]
pub(super) struct Input<T> {
    pub(super) shape: Vec<u64>,
    pub(super) data: Vec<T>,
    /// True if the kernel has a derivative by it.
    pub(super) moves: bool,
}

/// Kernel under test with its name; `gives_array` is true if its result is an array.
struct DenseUnderTest<'a, T> {
    name: &'a str,
    dense: &'a dyn ErasedDense<T>,
    gives_array: bool,
}

impl<T: RealParts> DenseUnderTest<'_, T> {
    fn views(inputs: &[Input<T>]) -> Vec<View<'_, T>> {
        inputs.iter().map(|input| View { shape: &input.shape, data: &input.data }).collect()
    }

    /// Returns the shape of the result, and the result.
    fn value(&self, inputs: &[Input<T>]) -> Result<(Vec<u64>, Vec<T>)> {
        let x = Self::views(inputs);
        let shape = self.shape(&x)?;
        let mut y = vec![T::default(); count(&shape)];
        self.dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
        Ok((shape, y))
    }

    fn shape(&self, x: &[View<'_, T>]) -> Result<Vec<u64>> {
        let shape = self.dense.shape(x)?;
        if self.gives_array == shape.is_empty() {
            let expected = if self.gives_array { "an array, of at least 1" } else { "0" };
            return Err(Error::new(format!(
                "`{}` says that its result has {} dimensions; its signature says {expected}",
                self.name,
                shape.len()
            )));
        }
        Ok(shape)
    }

    /// Returns the cotangents of the inputs, as the host asks for them.
    fn pullback(&self, inputs: &[Input<T>], y_bar: &[T]) -> Result<Vec<Vec<T>>> {
        let x = Self::views(inputs);
        let shape = self.shape(&x)?;
        let mut y = vec![T::default(); count(&shape)];
        let tape = self.dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
        let mut bars: Vec<Vec<T>> =
            inputs.iter().map(|x| vec![T::default(); x.data.len()]).collect();
        let mut views: Vec<ViewMut<'_, T>> = bars
            .iter_mut()
            .zip(inputs)
            .map(|(data, input)| ViewMut { shape: &input.shape, data })
            .collect();
        let of = |data| View { shape: &shape, data };
        self.dense.pullback(tape.as_ref(), &x, of(&y), of(y_bar), &mut views)?;
        Ok(bars)
    }
}

/// Checks the pullback of a kernel, element by element.
pub(super) fn derivative<T: RealParts>(
    name: &str,
    dense: &dyn ErasedDense<T>,
    gives_array: bool,
    inputs: &[Input<T>],
) -> Result<()> {
    let called = DenseUnderTest { name, dense, gives_array };
    let (_, y) = called.value(inputs)?;
    if let Some(y) = y.iter().find(|y| !y.parts().iter().all(|y| y.is_finite())) {
        return Err(Error::new(format!("`{name}` gives {y:?}")));
    }
    let differences = differences(&called, inputs, &y)?;
    let mut rows = Vec::new();
    for i in 0..y.len() * T::PARTS {
        let y_bar = unit::<T>(y.len(), i);
        let row = called.pullback(inputs, &y_bar)?;
        for (place, column) in &differences {
            let (bar, difference) = (place.value_in(&row), column[i]);
            // Not `>`: a NaN is a disagreement too.
            let agrees =
                (bar - difference).abs() <= TOLERANCE * (1.0 + bar.abs().max(difference.abs()));
            if !agrees {
                let seed = if y.len() * T::PARTS == 1 {
                    String::new()
                } else {
                    format!(" for the cotangent {y_bar:?}")
                };
                return Err(Error::new(format!(
                    "the pullback of `{name}` gives {bar} for {}{seed}, differences give {difference}",
                    place.in_words::<T>()
                )));
            }
        }
        rows.push(row);
    }
    linear(&called, inputs, &y, &rows, &differences)?;
    repeated(&called, inputs, &y)
}

/// Index of a real number among the inputs.
#[derive(Clone, Copy)]
struct ComponentIndex {
    input: usize,
    element: usize,
    part: usize,
}

impl ComponentIndex {
    fn value_in<T: RealParts>(self, data: &[Vec<T>]) -> f64 {
        data[self.input][self.element].parts()[self.part]
    }

    fn in_words<T: RealParts>(self) -> String {
        let ComponentIndex { input, element, part } = self;
        let part = match (T::PARTS, part) {
            (1, _) => "",
            (_, 0) => "the real part of ",
            _ => "the imaginary part of ",
        };
        format!("{part}element {element} of input {input}")
    }
}

type DenseJacobianColumn = (ComponentIndex, Vec<f64>);

/// Returns the columns of the Jacobian: the derivatives of all real numbers of the result by each
/// of the inputs.
fn differences<T: RealParts>(
    called: &DenseUnderTest<'_, T>,
    inputs: &[Input<T>],
    y: &[T],
) -> Result<Vec<DenseJacobianColumn>> {
    let size = y.iter().flat_map(|y| y.parts()).fold(1.0, |m: f64, y| m.max(y.abs()));
    let mut columns = Vec::new();
    for (k, input) in inputs.iter().enumerate().filter(|(_, input)| input.moves) {
        for element in 0..input.data.len() {
            for part in 0..T::PARTS {
                let place = ComponentIndex { input: k, element, part };
                let step = STEP * input.data[element].parts()[part].abs().max(1.0);
                let at = |h: f64| -> Result<Vec<f64>> {
                    let mut moved = inputs.to_vec();
                    moved[k].data[element] = moved[k].data[element].moved(part, h);
                    let (_, y) = called.value(&moved)?;
                    Ok(y.iter().flat_map(|y| y.parts().into_iter().take(T::PARTS)).collect())
                };
                let difference = |h: f64| -> Result<Vec<f64>> {
                    Ok(at(h)?
                        .iter()
                        .zip(at(-h)?)
                        .map(|(up, down)| (up - down) / (2.0 * h))
                        .collect())
                };
                let [wide, narrow, narrower] =
                    [difference(step)?, difference(0.5 * step)?, difference(0.25 * step)?];
                let mut column = Vec::with_capacity(wide.len());
                for ((wide, narrow), narrower) in wide.iter().zip(&narrow).zip(&narrower) {
                    let (first, second) =
                        ((4.0 * narrow - wide) / 3.0, (4.0 * narrower - narrow) / 3.0);
                    let is_smooth = (first - second).abs() <= DOUBT * (size + second.abs());
                    if !is_smooth {
                        return Err(Error::new(format!(
                            "`{}` is not smooth by {}: differences give {first} and {second}; choose another point",
                            called.name,
                            place.in_words::<T>()
                        )));
                    }
                    column.push(second);
                }
                columns.push((place, column));
            }
        }
    }
    Ok(columns)
}

/// Returns the derivative of several numbers by one that is `x` now, by Richardson extrapolation;
/// `None` where they are not smooth. `size`: of the numbers.
pub(super) fn difference(
    at: &dyn Fn(f64) -> Result<Vec<f64>>,
    x: f64,
    size: f64,
) -> Result<Option<Vec<f64>>> {
    let step = STEP * x.abs().max(1.0);
    let one = |h: f64| -> Result<Vec<f64>> {
        Ok(at(h)?.iter().zip(at(-h)?).map(|(up, down)| (up - down) / (2.0 * h)).collect())
    };
    let [wide, narrow, narrower] = [one(step)?, one(0.5 * step)?, one(0.25 * step)?];
    let all = wide.iter().zip(&narrow).zip(&narrower).map(|((wide, narrow), narrower)| {
        let (first, second) = ((4.0 * narrow - wide) / 3.0, (4.0 * narrower - narrow) / 3.0);
        ((first - second).abs() <= DOUBT * (size + second.abs())).then_some(second)
    });
    Ok(all.collect())
}

/// Checks that the pullback of mixed cotangents, of other sizes and signs, is the sum of those of
/// unit ones.
fn linear<T: RealParts>(
    called: &DenseUnderTest<'_, T>,
    inputs: &[Input<T>],
    y: &[T],
    rows: &[Vec<Vec<T>>],
    places: &[DenseJacobianColumn],
) -> Result<()> {
    for scale in [1.0, -20.0, 0.003] {
        let factors: Vec<f64> = (0..rows.len()).map(|i| scale * mixed(i)).collect();
        let all = |i: usize| factors.get(i).copied().unwrap_or(0.0);
        let part = |i: usize| T::from_parts(all(T::PARTS * i), all(T::PARTS * i + T::PARTS - 1));
        let y_bar: Vec<T> = (0..y.len()).map(part).collect();
        let bars = called.pullback(inputs, &y_bar)?;
        for (place, _) in places {
            let terms = || rows.iter().zip(&factors).map(|(row, r)| place.value_in(row) * r);
            let (sum, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
            let bar = place.value_in(&bars);
            let agrees = (bar - sum).abs() <= TOLERANCE * size + 1e-12 * scale.abs();
            if !agrees {
                return Err(Error::new(format!(
                    "the pullback of `{}` gives {bar} for {} and the cotangent {y_bar:?}, and {sum} as the sum of what it \
                     gives for the parts: it is not linear",
                    called.name,
                    place.in_words::<T>()
                )));
            }
        }
    }
    Ok(())
}

/// Checks that the same calls give the same bits, with others between.
fn repeated<T: RealParts>(
    called: &DenseUnderTest<'_, T>,
    inputs: &[Input<T>],
    y: &[T],
) -> Result<()> {
    let y_bar: Vec<T> =
        (0..y.len()).map(|i| T::from_parts(mixed(2 * i), mixed(2 * i + 1))).collect();
    let bits =
        |data: &[T]| data.iter().flat_map(|x| x.parts().map(f64::to_bits)).collect::<Vec<_>>();
    let first = called.pullback(inputs, &y_bar)?;
    for _ in 0..3 {
        let mut beside = inputs.to_vec();
        beside
            .iter_mut()
            .filter(|x| x.moves)
            .flat_map(|x| &mut x.data)
            .for_each(|x| *x = x.moved(0, STEP));
        called.pullback(&beside, y)?;
        let (value, bars) = (called.value(inputs)?.1, called.pullback(inputs, &y_bar)?);
        let two = |what: &str, a: &dyn Debug, b: &dyn Debug| {
            Err(Error::new(format!(
                "{what} `{}` gives two answers for one call: {a:?} and {b:?}",
                called.name
            )))
        };
        if bits(&value) != bits(y) {
            return two("the kernel of", &y, &value);
        }
        if bars.iter().zip(&first).any(|(a, b)| bits(a) != bits(b)) {
            return two("the pullback of", &first, &bars);
        }
    }
    Ok(())
}

/// Returns one of several numbers of mixed sizes and signs, none of them 0 or 1.
pub(super) fn mixed(i: usize) -> f64 {
    const NUMBERS: [f64; 7] = [-2.3, 0.37, 11.5, -0.06, 0.71, -5.2, 3.4];
    NUMBERS[(3 * i + i / 7) % 7]
}

/// Returns a cotangent that is 1 in one real number.
fn unit<T: RealParts>(n: usize, i: usize) -> Vec<T> {
    let mut all = vec![T::default(); n];
    all[i / T::PARTS] = T::default().moved(i % T::PARTS, 1.0);
    all
}

fn count(shape: &[u64]) -> usize {
    usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX)
}
