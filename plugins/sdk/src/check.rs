//! Checks of a rule's kernel, for the plugin's own tests.

mod derivative;
mod operation;

use crate::{
    C64, Error, Result,
    rule::{Kernel, RuleDef},
    signature::Signature,
};

use derivative::{Input, RealParts, derivative};

/// Checks the kernel of a rule at a point: that it gives a finite number, and the same bits in
/// every call, with others between; and that a pullback on arrays agrees with central differences,
/// element by element for each unit cotangent, and is linear in its cotangent. The kernel is called
/// as the host calls it, with what the [signature](RuleDef::signature) says: each number is one of
/// the point's in order, an array gets all that the numbers leave over, and several arrays get
/// equal parts of it. So a rule `(a, xs: array)` at `[2.0, 0.3, 0.5]` has the inputs 2, of shape
/// `[]`, and `[0.3, 0.5]`, of shape `[2]`. Without a signature all inputs are numbers. The numbers
/// of a point are the real parts of complex ones; on arrays half of the next number is the
/// imaginary part, on numbers alone it is zero.
///
/// ```
/// use ketgrad_plugin_sdk::{RuleDef, check_rule};
/// let product = || RuleDef::new("product", 2).f64(|x| x[0] * x[1]);
/// check_rule(&product(), &[2.0, 0.3])?;
/// assert!(check_rule(&product(), &[2.0]).is_err());
/// # Ok::<(), ketgrad_plugin_sdk::Error>(())
/// ```
///
/// The program is compared where programs can run: `ketgrad plugins verify`.
///
/// # Errors
/// The derivatives or results do not agree, in words; or the kernel is not smooth at the point, so
/// that nothing can be compared.
pub fn check_rule(rule: &RuleDef, point: &[f64]) -> Result<()> {
    let name = &rule.name;
    let signature = Signature::from_rule(rule)?;
    match &rule.kernel {
        Kernel::F64(f) => {
            signature.inputs::<f64>(name, point)?;
            number(name, point, &|x| Ok(f(x)), point)
        }
        Kernel::TryF64(f) => {
            signature.inputs::<f64>(name, point)?;
            number(name, point, f, point)
        }
        Kernel::C64(f) => {
            signature.inputs::<C64>(name, point)?;
            number(name, point, &|z| Ok(f(z)), &complex(point))
        }
        Kernel::TryC64(f) => {
            signature.inputs::<C64>(name, point)?;
            number(name, point, f, &complex(point))
        }
        Kernel::DenseF64(dense) => derivative(
            name,
            dense.as_ref(),
            signature.gives_array()?,
            &signature.inputs(name, point)?,
        ),
        Kernel::DenseC64(dense) => derivative(
            name,
            dense.as_ref(),
            signature.gives_array()?,
            &signature.inputs(name, point)?,
        ),
        Kernel::Operation(operation) => {
            operation::check(name, operation.as_ref(), &signature, point)
        }
        Kernel::None => signature.inputs::<f64>(name, point).map(|_| ()),
    }
}

fn complex(point: &[f64]) -> Vec<C64> {
    point.iter().map(|x| (*x).into()).collect()
}

/// Checks a kernel on numbers.
fn number<T: RealParts>(
    name: &str,
    point: &[f64],
    f: &dyn Fn(&[T]) -> Result<T>,
    x: &[T],
) -> Result<()> {
    let value = |x: &[T]| f(x).map_err(|e| Error::new(format!("`{name}` fails at {point:?}: {e}")));
    let y = value(x)?;
    if !y.parts().iter().all(|y| y.is_finite()) {
        return Err(Error::new(format!("`{name}` gives {y:?} at {point:?}")));
    }
    for _ in 0..3 {
        // Another call between.
        let beside: Vec<T> = x.iter().map(|x| x.moved(0, 0.01)).collect();
        // Its result does not matter: the point may be at the end of its domain.
        let _ = f(&beside);
        let again = value(x)?;
        if again.parts().map(f64::to_bits) != y.parts().map(f64::to_bits) {
            return Err(Error::new(format!(
                "`{name}` gives two values at {point:?}: {y:?} and {again:?}"
            )));
        }
    }
    Ok(())
}

impl Signature {
    /// Returns the point's numbers, input by input.
    fn inputs<T: RealParts>(&self, name: &str, point: &[f64]) -> Result<Vec<Input<T>>> {
        let arrays = self.inputs.iter().filter(|k| k.is_array()).count();
        let numbers = self.inputs.len() - arrays;
        let wrong = |takes: String| {
            Error::new(format!(
                "`{name}` takes {takes}; the point {point:?} has {} numbers",
                point.len()
            ))
        };
        let left = point.len().checked_sub(numbers);
        let length = match (arrays, left) {
            (0, Some(0)) => 0,
            (0, _) => {
                return Err(wrong(format!(
                    "{numbers} numbers, and arrays where its signature says `array`"
                )));
            }
            (_, Some(left)) if left % arrays == 0 => left / arrays,
            _ => return Err(wrong(format!("{numbers} numbers and {arrays} arrays of one length"))),
        };
        let mut at = 0;
        let mut inputs = Vec::new();
        for kind in &self.inputs {
            let count = if kind.is_array() { length } else { 1 };
            let places = at..at + count;
            at += count;
            let moves = !kind.is_int();
            if let (false, Some(n)) = (moves, places.clone().next().map(|k| point[k]))
                && n.fract() != 0.0
            {
                return Err(Error::new(format!("`{name}` takes an int where the point has {n}")));
            }
            let imaginary = |k: usize| if moves { 0.5 * point[(k + 1) % point.len()] } else { 0.0 };
            let data = places.map(|k| T::from_parts(point[k], imaginary(k))).collect();
            let shape = if kind.is_array() { vec![length as u64] } else { vec![] };
            inputs.push(Input { shape, data, moves });
        }
        Ok(inputs)
    }
}
