//! A rule's kernel, tested in the plugin's own tests.

use crate::{
    Error, Result,
    rule::{ErasedDense, Kernel, RuleDef, View, ViewMut},
};

/// The step of central differences.
const STEP: f64 = 1e-6;
/// How far a derivative may be from the difference: rounding over the step.
const TOLERANCE: f64 = 1e-7;

/// Checks the kernel of a rule at a point: that it gives a finite number and the same one twice, and that a pullback
/// on arrays agrees with central differences. An array among the inputs is given the point's numbers from there on as
/// one array of that length; several inputs get one number each.
///
/// The program is compared with the kernel where programs can run: `ketgrad plugins verify`.
///
/// # Errors
/// What does not agree, in words.
pub fn check_rule(rule: &RuleDef, point: &[f64]) -> Result<()> {
    let name = &rule.name;
    match &rule.kernel {
        Kernel::F64(f) => {
            let y = f(point);
            if !y.is_finite() {
                return Err(Error::new(format!("`{name}` gives {y} at {point:?}")));
            }
            if f(point).to_bits() != y.to_bits() {
                return Err(Error::new(format!("`{name}` gives two values at {point:?}")));
            }
        }
        Kernel::C64(f) => {
            let z: Vec<_> = point.iter().map(|x| (*x).into()).collect();
            let y = f(&z);
            if !(y.re.is_finite() && y.im.is_finite()) {
                return Err(Error::new(format!("`{name}` gives {y} at {point:?}")));
            }
        }
        Kernel::DenseF64(dense) => {
            let inputs: Vec<&[f64]> = match rule.n_in {
                1 => vec![point],
                _ => point.chunks(1).collect(),
            };
            differences(name, dense.as_ref(), &inputs)?;
        }
        Kernel::DenseC64(_) | Kernel::None => {}
    }
    Ok(())
}

/// The pullback of a sum of the results against central differences.
fn differences(name: &str, dense: &dyn ErasedDense<f64>, inputs: &[&[f64]]) -> Result<()> {
    let shapes: Vec<[u64; 1]> = inputs.iter().map(|x| [x.len() as u64]).collect();
    let sum = |inputs: &[Vec<f64>]| -> Result<f64> {
        let x: Vec<View<'_, f64>> =
            inputs.iter().zip(&shapes).map(|(data, shape)| View { shape, data }).collect();
        let shape = dense.shape(&x)?;
        let mut y = vec![0.0; count(&shape)];
        dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
        Ok(y.iter().sum())
    };
    let x: Vec<View<'_, f64>> =
        inputs.iter().zip(&shapes).map(|(data, shape)| View { shape, data }).collect();
    let shape = dense.shape(&x)?;
    let mut y = vec![0.0; count(&shape)];
    let tape = dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
    let y_bar = vec![1.0; y.len()];
    let mut bars: Vec<Vec<f64>> = inputs.iter().map(|x| vec![0.0; x.len()]).collect();
    let mut views: Vec<ViewMut<'_, f64>> =
        bars.iter_mut().zip(&shapes).map(|(data, shape)| ViewMut { shape, data }).collect();
    let of = |data| View { shape: &shape, data };
    dense.pullback(tape.as_ref(), &x, of(&y), of(&y_bar), &mut views)?;
    for k in 0..inputs.len() {
        for i in 0..inputs[k].len() {
            let mut moved: Vec<Vec<f64>> = inputs.iter().map(|x| x.to_vec()).collect();
            moved[k][i] += STEP;
            let up = sum(&moved)?;
            moved[k][i] -= 2.0 * STEP;
            let difference = (up - sum(&moved)?) / (2.0 * STEP);
            let bar = bars[k][i];
            // Not `>`: a NaN is a disagreement too.
            let agrees = (bar - difference).abs() <= TOLERANCE * (1.0 + bar.abs().max(difference.abs()));
            if !agrees {
                return Err(Error::new(format!(
                    "the pullback of `{name}` gives {bar} for element {i} of input {k}, differences give {difference}"
                )));
            }
        }
    }
    Ok(())
}

fn count(shape: &[u64]) -> usize {
    usize::try_from(shape.iter().product::<u64>()).unwrap_or(usize::MAX)
}
