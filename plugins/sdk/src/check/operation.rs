//! Comparison of an operation with central differences: every unit cotangent of the results, and
//! mixed ones.

use crate::{
    C64, Error, Result,
    operation::{ErasedOperation, Value, ValueMut},
    rule::{View, ViewMut},
    signature::Signature,
};

use super::derivative::{Input, difference, mixed};

/// Largest allowed distance of a derivative from differences, and of a sum from its parts.
const TOLERANCE: f64 = 1e-7;

/// Input or result as a flat list of real numbers, of which complex numbers have two each.
#[derive(Clone, Debug)]
struct FlatValue {
    shape: Vec<u64>,
    is_complex: bool,
    /// True if the kernel has a derivative by it.
    moves: bool,
    parts: Vec<f64>,
}

/// Numbers in the form in which a kernel receives them.
enum OwnedValue {
    Real(Vec<f64>),
    Complex(Vec<C64>),
}

impl FlatValue {
    fn zeros(shape: Vec<u64>, is_complex: bool) -> FlatValue {
        let count = usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX);
        let parts = vec![0.0; if is_complex { 2 * count } else { count }];
        FlatValue { shape, is_complex, moves: true, parts }
    }
    fn owned(&self) -> OwnedValue {
        match self.is_complex {
            false => OwnedValue::Real(self.parts.clone()),
            true => OwnedValue::Complex(
                self.parts.chunks_exact(2).map(|z| C64::new(z[0], z[1])).collect(),
            ),
        }
    }
    fn with(&self, parts: Vec<f64>) -> FlatValue {
        FlatValue { parts, ..self.clone() }
    }
}

impl OwnedValue {
    fn view<'a>(&'a self, shape: &'a [u64]) -> Value<'a> {
        match self {
            OwnedValue::Real(data) => Value::Real(View { shape, data }),
            OwnedValue::Complex(data) => Value::Complex(View { shape, data }),
        }
    }
    fn view_mut<'a>(&'a mut self, shape: &'a [u64]) -> ValueMut<'a> {
        match self {
            OwnedValue::Real(data) => ValueMut::Real(ViewMut { shape, data }),
            OwnedValue::Complex(data) => ValueMut::Complex(ViewMut { shape, data }),
        }
    }
    fn parts(&self) -> Vec<f64> {
        match self {
            OwnedValue::Real(data) => data.clone(),
            OwnedValue::Complex(data) => data.iter().flat_map(|z| [z.re, z.im]).collect(),
        }
    }
}

struct OperationUnderTest<'a> {
    name: &'a str,
    kernel: &'a dyn ErasedOperation,
    signature: &'a Signature,
}

impl OperationUnderTest<'_> {
    /// Returns the results, and the cotangents of the inputs if cotangents of the results are
    /// given.
    fn run(
        &self,
        x: &[FlatValue],
        y_bar: Option<&[FlatValue]>,
    ) -> Result<(Vec<FlatValue>, Vec<Vec<f64>>)> {
        let inputs: Vec<OwnedValue> = x.iter().map(FlatValue::owned).collect();
        let views: Vec<Value<'_>> =
            inputs.iter().zip(x).map(|(data, x)| data.view(&x.shape)).collect();
        let mut y = self.results(&views)?;
        let mut filled: Vec<OwnedValue> = y.iter().map(FlatValue::owned).collect();
        let mut room: Vec<_> =
            filled.iter_mut().zip(&y).map(|(data, y)| data.view_mut(&y.shape)).collect();
        let tape = self.kernel.forward(&views, &mut room)?;
        let mut bars: Vec<OwnedValue> =
            x.iter().map(|x| x.with(vec![0.0; x.parts.len()]).owned()).collect();
        if let Some(y_bar) = y_bar {
            let seeds: Vec<OwnedValue> = y_bar.iter().map(FlatValue::owned).collect();
            let of = |all: &[OwnedValue]| -> Vec<Value<'_>> { Vec::with_capacity(all.len()) };
            let (mut values, mut cotangents) = (of(&filled), of(&seeds));
            values.extend(filled.iter().zip(&y).map(|(data, y)| data.view(&y.shape)));
            cotangents.extend(seeds.iter().zip(&y).map(|(data, y)| data.view(&y.shape)));
            let mut room: Vec<_> =
                bars.iter_mut().zip(x).map(|(data, x)| data.view_mut(&x.shape)).collect();
            self.kernel.pullback(tape.as_ref(), &views, &values, &cotangents, &mut room)?;
        }
        for (y, filled) in y.iter_mut().zip(&filled) {
            y.parts = filled.parts();
        }
        Ok((y, bars.iter().map(OwnedValue::parts).collect()))
    }

    /// Returns zeros in the shapes of the results.
    fn results(&self, x: &[Value<'_>]) -> Result<Vec<FlatValue>> {
        let (name, kinds) = (self.name, &self.signature.results);
        let shapes = self.kernel.shapes(x)?;
        if shapes.len() != kinds.len() {
            let (given, expected) = (shapes.len(), kinds.len());
            return Err(Error::new(format!(
                "`{name}` says {given} shapes; its signature has {expected} results"
            )));
        }
        for (k, (shape, kind)) in shapes.iter().zip(kinds).enumerate() {
            if kind.is_array() == shape.is_empty() {
                let (given, kind) =
                    (shape.len(), if kind.is_array() { "an array" } else { "a number" });
                return Err(Error::new(format!(
                    "`{name}` says that its result {k} has {given} dimensions; its signature says {kind}"
                )));
            }
        }
        let one = |(shape, kind): (Vec<u64>, &crate::signature::Kind)| {
            FlatValue::zeros(shape, kind.is_complex())
        };
        Ok(shapes.into_iter().zip(kinds).map(one).collect())
    }
}

/// Checks an operation at a point.
pub(super) fn check(
    name: &str,
    kernel: &dyn ErasedOperation,
    signature: &Signature,
    point: &[f64],
) -> Result<()> {
    let called = OperationUnderTest { name, kernel, signature };
    let x = inputs(name, signature, point)?;
    let (y, _) = called.run(&x, None)?;
    if let Some((k, _)) = y.iter().enumerate().find(|(_, y)| !y.parts.iter().all(|y| y.is_finite()))
    {
        return Err(Error::new(format!("result {k} of `{name}` is not finite at {point:?}")));
    }
    let columns = columns(&called, &x, &y)?;
    let total: usize = y.iter().map(|y| y.parts.len()).sum();
    let seeded = |seed: &dyn Fn(usize) -> f64| -> Vec<FlatValue> {
        let mut at = 0..;
        y.iter()
            .map(|y| y.with(y.parts.iter().zip(&mut at).map(|(_, i)| seed(i)).collect()))
            .collect()
    };
    // The unit cotangents, then mixed ones: a pullback is linear.
    for i in 0..total + 3 {
        let scale = [1.0, -20.0, 0.003][(i.max(total) - total) % 3];
        let seed =
            |j: usize| if i < total { f64::from(u8::from(i == j)) } else { scale * mixed(j) };
        let y_bar = seeded(&seed);
        let (_, bars) = called.run(&x, Some(&y_bar))?;
        if called.run(&x, Some(&y_bar))?.1 != bars {
            return Err(Error::new(format!(
                "the pullback of `{name}` gives two answers for one call"
            )));
        }
        for ((input, part), slopes) in &columns {
            let terms = || slopes.iter().enumerate().map(|(j, slope)| slope * seed(j));
            let (expected, size): (f64, f64) = (terms().sum(), terms().map(f64::abs).sum());
            let bar = bars[*input][*part];
            let agrees = (bar - expected).abs() <= TOLERANCE * (scale.abs() + bar.abs().max(size));
            if !agrees {
                return Err(Error::new(format!(
                    "the pullback of `{name}` gives {bar} for real number {part} of input {input}, differences give {expected}: \
                     the cotangents are {:?}",
                    y_bar.iter().map(|y| &y.parts).collect::<Vec<_>>()
                )));
            }
        }
    }
    let again = called.run(&x, None)?.0;
    if again.iter().zip(&y).any(|(a, b)| a.parts != b.parts) {
        return Err(Error::new(format!("the kernel of `{name}` gives two answers for one call")));
    }
    Ok(())
}

/// Returns the point's numbers, input by input.
fn inputs(name: &str, signature: &Signature, point: &[f64]) -> Result<Vec<FlatValue>> {
    let all: Vec<Input<C64>> = signature.inputs(name, point)?;
    let one = |(input, kind): (Input<C64>, &crate::signature::Kind)| {
        let is_complex = signature.crosses_complex(*kind);
        let each = |z: &C64| if is_complex { vec![z.re, z.im] } else { vec![z.re] };
        let parts = input.data.iter().flat_map(each).collect();
        FlatValue { shape: input.shape, is_complex, moves: input.moves, parts }
    };
    Ok(all.into_iter().zip(&signature.inputs).map(one).collect())
}

/// Column of the Jacobian: the indices of an input and of one of its real numbers, and the
/// derivatives of the results' real numbers by it.
type OperationJacobianColumn = ((usize, usize), Vec<f64>);

/// Returns the columns of the Jacobian: the derivatives of all real numbers of the results, by each
/// of the inputs.
fn columns(
    called: &OperationUnderTest<'_>,
    x: &[FlatValue],
    y: &[FlatValue],
) -> Result<Vec<OperationJacobianColumn>> {
    let size = y.iter().flat_map(|y| &y.parts).fold(1.0, |m: f64, y| m.max(y.abs()));
    let mut all = Vec::new();
    for (k, input) in x.iter().enumerate().filter(|(_, x)| x.moves) {
        for part in 0..input.parts.len() {
            let at = |h: f64| -> Result<Vec<f64>> {
                let mut moved = x.to_vec();
                moved[k].parts[part] += h;
                Ok(called.run(&moved, None)?.0.into_iter().flat_map(|y| y.parts).collect())
            };
            let slopes = difference(&at, input.parts[part], size)?.ok_or_else(|| {
                let name = called.name;
                Error::new(format!(
                    "`{name}` is not smooth by real number {part} of input {k}: choose another point"
                ))
            })?;
            all.push(((k, part), slopes));
        }
    }
    Ok(all)
}
