//! Signature of a rule: the kinds of its inputs and results.

use ketgrad_plugin_abi as abi;

use crate::{
    error::{Error, Result},
    rule::{Kernel, RuleDef},
};

/// Kind of an input or a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Real,
    Complex,
    Int,
    Reals,
    Complexes,
    Ints,
}

impl Kind {
    pub(crate) fn is_array(self) -> bool {
        matches!(self, Kind::Reals | Kind::Complexes | Kind::Ints)
    }
    pub(crate) fn is_int(self) -> bool {
        matches!(self, Kind::Int | Kind::Ints)
    }
    pub(crate) fn is_complex(self) -> bool {
        matches!(self, Kind::Complex | Kind::Complexes)
    }
    fn is_real(self) -> bool {
        matches!(self, Kind::Real | Kind::Reals)
    }

    fn read(text: &str) -> Option<Kind> {
        let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        Some(match compact.as_str() {
            "real" => Kind::Real,
            "complex" => Kind::Complex,
            "int" => Kind::Int,
            "array" | "array<real>" => Kind::Reals,
            "array<complex>" => Kind::Complexes,
            "array<int>" => Kind::Ints,
            _ => return None,
        })
    }
}

/// Kinds of the inputs and results of a rule.
pub(crate) struct Signature {
    pub(crate) inputs: Vec<Kind>,
    pub(crate) results: Vec<Kind>,
}

impl Signature {
    pub(crate) fn from_rule(rule: &RuleDef) -> Result<Signature> {
        let text = rule.signature.trim();
        let n = rule.n_in as usize;
        let number = match rule.kernel {
            Kernel::C64(_) | Kernel::TryC64(_) | Kernel::DenseC64(_) => Kind::Complex,
            _ => Kind::Real,
        };
        if text.is_empty() {
            return Ok(Signature { inputs: vec![number; n], results: vec![number] });
        }
        let wrong = || {
            Error::new(format!(
                "the signature `{text}` is not of the form `(x, n: int, xs: array) -> real`"
            ))
        };
        let (inputs, result) =
            text.split_once("->").map_or((text, None), |(i, r)| (i.trim_end(), Some(r)));
        let inputs =
            inputs.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or_else(wrong)?;
        let inputs = inputs.split(',').map(str::trim).filter(|t| !t.is_empty());
        let kind_of =
            |input: &str| input.split_once(':').map_or(Some(number), |(_, k)| Kind::read(k));
        let inputs: Vec<Kind> = inputs.map(kind_of).collect::<Option<_>>().ok_or_else(wrong)?;
        if inputs.len() != n {
            let given = inputs.len();
            return Err(Error::new(format!(
                "the signature `{text}` has {given} inputs, the rule {n}"
            )));
        }
        let results = result.map(str::trim).map_or(Some(vec![number]), |r| {
            let several = r.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
            several
                .map_or(vec![r], |r| r.split(',').collect())
                .into_iter()
                .map(Kind::read)
                .collect()
        });
        Ok(Signature { inputs, results: results.ok_or_else(wrong)? })
    }

    /// Returns true if the only result is an array.
    ///
    /// # Errors
    /// The rule has several results.
    pub(crate) fn gives_array(&self) -> Result<bool> {
        match self.results[..] {
            [one] => Ok(one.is_array()),
            _ => Err(Error::new(format!(
                "{} results; a kernel of several is an `operation`",
                self.results.len()
            ))),
        }
    }

    /// Returns true if ints cross as complex numbers, as all others do.
    fn is_all_complex(&self) -> bool {
        let all = || self.inputs.iter().chain(&self.results);
        all().any(|k| k.is_complex()) && !all().any(|k| k.is_real())
    }

    /// Returns true if an input of that kind crosses as complex numbers.
    pub(crate) fn crosses_complex(&self, kind: Kind) -> bool {
        kind.is_complex() || self.is_all_complex()
    }

    /// Returns the kinds of numbers as a mask.
    pub(crate) fn dtypes(&self) -> u32 {
        let bit = |kind: &Kind| 1 << if self.crosses_complex(*kind) { abi::C64 } else { abi::F64 };
        self.inputs.iter().chain(&self.results).map(bit).fold(0, |all, bit| all | bit)
    }
}
