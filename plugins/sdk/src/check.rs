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
/// on arrays agrees with central differences. The kernel is called as the host calls it, with what the
/// [signature](RuleDef::signature) says: each number is one of the point's in order, an array gets all that
/// the numbers leave over, and several arrays get equal parts of it. So a rule `(a, xs: array)` at `[2.0, 0.3, 0.5]` has
/// the inputs 2, of shape `[]`, and `[0.3, 0.5]`, of shape `[2]`. Without a signature all inputs are numbers.
///
/// ```
/// use ketgrad_plugin_sdk::{RuleDef, check_rule};
/// let product = || RuleDef::new("product", 2).f64(|x| x[0] * x[1]);
/// check_rule(&product(), &[2.0, 0.3])?;
/// assert!(check_rule(&product(), &[2.0]).is_err());
/// # Ok::<(), ketgrad_plugin_sdk::Error>(())
/// ```
///
/// Pullbacks on complex arrays, and the program, are compared where programs can run: `ketgrad plugins verify`.
///
/// # Errors
/// What does not agree, in words.
pub fn check_rule(rule: &RuleDef, point: &[f64]) -> Result<()> {
    let name = &rule.name;
    let signature = Signature::of(rule)?;
    let inputs = signature.inputs(name, point)?;
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
        Kernel::DenseF64(dense) => differences(name, dense.as_ref(), &signature, &inputs)?,
        Kernel::DenseC64(_) | Kernel::None => {}
    }
    Ok(())
}

/// What stands at one place of a signature.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Int,
    Array,
}

/// What a rule takes and gives, as far as shapes go.
struct Signature {
    inputs: Vec<Kind>,
    gives_array: bool,
}

impl Signature {
    fn of(rule: &RuleDef) -> Result<Signature> {
        let text = rule.signature.trim();
        let n = rule.n_in as usize;
        if text.is_empty() {
            return Ok(Signature { inputs: vec![Kind::Number; n], gives_array: false });
        }
        let wrong = || {
            Error::new(format!("the signature `{text}` is not of the form `(x, n: int, xs: array) -> real`"))
        };
        let (inputs, result) = text.split_once("->").map_or((text, None), |(i, r)| (i.trim_end(), Some(r)));
        let inputs = inputs.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or_else(wrong)?;
        let inputs = inputs.split(',').map(str::trim).filter(|t| !t.is_empty());
        let kind_of = |input: &str| input.split_once(':').map_or(Some(Kind::Number), |(_, k)| kind(k));
        let inputs: Vec<Kind> = inputs.map(kind_of).collect::<Option<_>>().ok_or_else(wrong)?;
        if inputs.len() != n {
            let given = inputs.len();
            return Err(Error::new(format!("the signature `{text}` has {given} inputs, the rule {n}")));
        }
        let result = result.map_or(Some(Kind::Number), kind).ok_or_else(wrong)?;
        Ok(Signature { inputs, gives_array: result == Kind::Array })
    }

    /// The point's numbers, input by input.
    fn inputs<'p>(&self, name: &str, point: &'p [f64]) -> Result<Vec<Input<'p>>> {
        let arrays = self.inputs.iter().filter(|k| **k == Kind::Array).count();
        let numbers = self.inputs.len() - arrays;
        let wrong = |takes: String| {
            Error::new(format!("`{name}` takes {takes}; the point {point:?} has {} numbers", point.len()))
        };
        let left = point.len().checked_sub(numbers);
        let length = match (arrays, left) {
            (0, Some(0)) => 0,
            (0, _) => {
                return Err(wrong(format!("{numbers} numbers, and arrays where its signature says `array`")));
            }
            (_, Some(left)) if left % arrays == 0 => left / arrays,
            _ => return Err(wrong(format!("{numbers} numbers and {arrays} arrays of one length"))),
        };
        let mut rest = point;
        let mut inputs = Vec::new();
        for kind in &self.inputs {
            let (data, after) = rest.split_at(if *kind == Kind::Array { length } else { 1 });
            rest = after;
            if *kind == Kind::Int && data[0].fract() != 0.0 {
                return Err(Error::new(format!("`{name}` takes an int where the point has {}", data[0])));
            }
            let shape = if *kind == Kind::Array { vec![length as u64] } else { vec![] };
            inputs.push(Input { shape, data, moves: *kind != Kind::Int });
        }
        Ok(inputs)
    }
}

fn kind(text: &str) -> Option<Kind> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Some(match compact.as_str() {
        "real" | "complex" => Kind::Number,
        "int" => Kind::Int,
        "array" | "array<real>" | "array<complex>" => Kind::Array,
        _ => return None,
    })
}

/// An input of a call.
struct Input<'p> {
    shape: Vec<u64>,
    data: &'p [f64],
    /// Whether there is a derivative by it.
    moves: bool,
}

/// The pullback of a sum of the results against central differences.
fn differences(
    name: &str,
    dense: &dyn ErasedDense<f64>,
    signature: &Signature,
    inputs: &[Input<'_>],
) -> Result<()> {
    let shape_at = |x: &[View<'_, f64>]| -> Result<Vec<u64>> {
        let shape = dense.shape(x)?;
        let expected = usize::from(signature.gives_array);
        if shape.len() != expected {
            return Err(Error::new(format!(
                "`{name}` says that its result has {} dimensions; its signature says {expected}",
                shape.len()
            )));
        }
        Ok(shape)
    };
    let sum = |moved: &[Vec<f64>]| -> Result<f64> {
        let x: Vec<View<'_, f64>> =
            inputs.iter().zip(moved).map(|(input, data)| View { shape: &input.shape, data }).collect();
        let shape = shape_at(&x)?;
        let mut y = vec![0.0; count(&shape)];
        dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
        Ok(y.iter().sum())
    };
    let x: Vec<View<'_, f64>> =
        inputs.iter().map(|input| View { shape: &input.shape, data: input.data }).collect();
    let shape = shape_at(&x)?;
    let mut y = vec![0.0; count(&shape)];
    let tape = dense.forward(&x, ViewMut { shape: &shape, data: &mut y })?;
    if let Some(y) = y.iter().find(|y| !y.is_finite()) {
        return Err(Error::new(format!("`{name}` gives {y}")));
    }
    let y_bar = vec![1.0; y.len()];
    let mut bars: Vec<Vec<f64>> = inputs.iter().map(|x| vec![0.0; x.data.len()]).collect();
    let mut views: Vec<ViewMut<'_, f64>> =
        bars.iter_mut().zip(inputs).map(|(data, input)| ViewMut { shape: &input.shape, data }).collect();
    let of = |data| View { shape: &shape, data };
    dense.pullback(tape.as_ref(), &x, of(&y), of(&y_bar), &mut views)?;
    for (k, input) in inputs.iter().enumerate().filter(|(_, input)| input.moves) {
        for i in 0..input.data.len() {
            let mut moved: Vec<Vec<f64>> = inputs.iter().map(|x| x.data.to_vec()).collect();
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
