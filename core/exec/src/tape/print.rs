//! Tapes and formulas as text.

use std::fmt;

use crate::scalar::{Real, Scalar};

use super::{
    node::{Tape, TapeEntry, TapeInner},
    step::TapeOp,
    tape_value::TapeValue,
};

/// Arrays with more elements are printed as their shape.
const MOST_ELEMENTS: usize = 16;
/// Formulas that are longer get a name of their own.
const MAX_INLINE_LEN: usize = 120;

impl<T: Real, S: Scalar<Real = T>> TapeValue<S> {
    fn text(&self) -> String {
        match self {
            TapeValue::Number(x) => format!("{x:?}"),
            TapeValue::Array(d) => {
                let shape = self.shape();
                match shape.iter().product::<usize>() {
                    0..=MOST_ELEMENTS => d.to_string(),
                    _ => format!("array of shape {shape:?}"),
                }
            }
        }
    }
}

fn call<S: Scalar>(entry: &TapeEntry<S>, mut args: Vec<String>) -> String {
    args.extend(entry.op.fixed());
    format!("{}({})", entry.op.name(), args.join(", "))
}

/// Prints one line for each entry but the constants: `v2 = mul(v1, x) = 1.8185948536513634`.
impl<T: Real, S: Scalar<Real = T>> fmt::Display for Tape<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner.borrow();
        let mut names: Vec<String> = Vec::with_capacity(inner.entries.len());
        let mut count = 0;
        for entry in &inner.entries {
            let name = match &entry.op {
                TapeOp::Input(name) => name.clone(),
                TapeOp::Constant => entry.value.text(),
                _ => {
                    count += 1;
                    format!("v{count}")
                }
            };
            match &entry.op {
                TapeOp::Constant => {}
                TapeOp::Input(_) => writeln!(f, "{name} = {}", entry.value.text())?,
                _ => {
                    let args = entry.args.iter().map(|a| names[*a].clone()).collect();
                    writeln!(f, "{name} = {} = {}", call(entry, args), entry.value.text())?;
                }
            }
            names.push(name);
        }
        Ok(())
    }
}

impl<T: Real, S: Scalar<Real = T>> TapeInner<S> {
    /// Returns an entry as nested calls. A part that is used more than once, or is long, has a
    /// name: `matmul(v1, v1) where v1 = sin(x)`.
    pub(super) fn calls(&self, index: usize) -> String {
        let mut uses = vec![0usize; index + 1];
        uses[index] = 1;
        for k in (0..=index).rev() {
            if uses[k] > 0 {
                self.entries[k].args.iter().for_each(|a| uses[*a] += 1);
            }
        }
        let mut texts: Vec<String> = vec![String::new(); index + 1];
        let mut named = Vec::new();
        let mut count = 0;
        for (k, entry) in
            self.entries.iter().enumerate().take(index + 1).filter(|(k, _)| uses[*k] > 0)
        {
            texts[k] = match &entry.op {
                TapeOp::Input(name) => name.clone(),
                TapeOp::Constant => entry.value.text(),
                _ => {
                    let args = entry.args.iter().map(|&a| match uses[a] {
                        1 => std::mem::take(&mut texts[a]),
                        _ => texts[a].clone(),
                    });
                    let text = call(entry, args.collect());
                    if k < index && (uses[k] > 1 || text.len() > MAX_INLINE_LEN) {
                        count += 1;
                        named.push(format!("v{count} = {text}"));
                        format!("v{count}")
                    } else {
                        text
                    }
                }
            };
        }
        let result = std::mem::take(&mut texts[index]);
        if named.is_empty() { result } else { format!("{result} where {}", named.join(", ")) }
    }
}
