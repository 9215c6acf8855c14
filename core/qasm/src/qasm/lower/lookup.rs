//! Elements at indices that measurements decide.
//!
//! ```text
//! array[float, 4] w = {0, pi, 0.5, 0.25};
//! uint[2] k = c;
//! rx(w[k]) q;                 one of four values, as the bits of k say
//! if (d[k]) x q;              if (k == 0 && d[0] || k == 1 && d[1] || …) x q;
//! ```

use super::{
    IndexSet, Lower, QasmLowering, QasmValue,
    classical::Classical,
    evaluate::position,
    truth::{Truth, is_one},
    value_set::UNDEFINED,
};
use crate::qasm::{
    ast::{Index, QasmExpr, QasmSpan},
    diagnostic::{Diagnostic, QasmProblem},
};

impl QasmLowering<'_> {
    /// Returns an element of a known array, at indices that depend on measurements; it is undefined
    /// where one is out of range.
    pub(super) fn element_of_value_sets(
        &mut self,
        base: Classical,
        index: &[Index],
        name: &str,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let mut choices = vec![self.value_set(base, span)?];
        if !index.iter().any(|at| matches!(at, Index::At(at) if self.may_depend(at))) {
            let parts = self.map(&choices, span, |lowering, operands| {
                let value = operands.into_iter().next().unwrap_or(UNDEFINED);
                lowering.part(&value, index, name, span)
            })?;
            return if parts.is_integer() {
                Ok(parts.classical())
            } else {
                self.canonical_value(parts, span)
            };
        }
        for index in index {
            let Index::At(expr) = index else {
                return self.refuse("this slice by what is measured", span);
            };
            let value = self.classical(expr)?;
            choices.push(self.value_set(value, expr.span)?);
        }
        let elements = self.map(&choices, span, |lowering, operands| {
            let mut operands = operands.into_iter();
            let mut value = operands.next().unwrap_or(UNDEFINED);
            for at in operands {
                let QasmValue::Int(given, _) = at else {
                    let (given, expected) = (at.describe().to_owned(), "an integer".to_owned());
                    return lowering.fail(QasmProblem::WrongType { given, expected }, span);
                };
                match lowering.element(&value, given, span)? {
                    Some(element) => value = element,
                    None => {
                        let name = name.to_owned();
                        let problem = QasmProblem::IndexOutOfRange {
                            name,
                            given,
                            size: lowering.axis(&value, span)?,
                        };
                        let help =
                            "where a measurement makes it so, gates that turn by it are left out";
                        let warning =
                            Diagnostic::warning(problem).with_label(lowering.file_span(span), "");
                        lowering.warning(warning.help(help));
                        return Ok(UNDEFINED);
                    }
                }
            }
            Ok(value)
        })?;
        self.canonical_value(elements, span)
    }

    /// Returns a bit of a register, at an index that depends on measurements; 0 where it is out of
    /// range.
    pub(super) fn bit_of_value_sets(
        &mut self,
        bits: &IndexSet,
        index: &QasmExpr,
        name: &str,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let value = self.classical(index)?;
        let choice = self.value_set(value, index.span)?;
        self.spend(choice.values.len() as u64 * 20, span)?;
        let mut any = Truth::Constant(false);
        for (number, value) in choice.values.iter().enumerate() {
            let size = u64::from(bits.len().unwrap_or(1));
            let at = match value {
                QasmValue::Int(given, _) => {
                    let at = position(*given, size).and_then(|at| u32::try_from(at).ok());
                    if at.is_none() {
                        let name = name.to_owned();
                        let problem = QasmProblem::IndexOutOfRange { name, given: *given, size };
                        let warning =
                            Diagnostic::warning(problem).with_label(self.file_span(index.span), "");
                        self.warning(
                            warning
                                .help("where a measurement makes it so, the bit is taken to be 0"),
                        );
                    }
                    at
                }
                other => {
                    let (given, expected) = (other.describe().to_owned(), "an integer".to_owned());
                    return self.fail(QasmProblem::WrongType { given, expected }, index.span);
                }
            };
            if let Some(at) = at {
                let one = choice.condition(&[number]).combine(is_one(bits.get(at)), true);
                any = any.combine(one, false);
            }
        }
        Ok(any.classical())
    }
}
