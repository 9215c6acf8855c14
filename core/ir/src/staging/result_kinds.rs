//! Kinds of the results of operations, by the kinds of their operands.
//!
//! The rules are those of the [`StagingBuilder`], and said only there: for each combination of
//! kinds an operation is built once, in a function that is thrown away, and the kind of its value
//! is kept.

use std::collections::HashMap;

use crate::ir::{Element, Kind, Op};

use super::{Builtin, InferredKind, InfixOperator, StagedOperand, StagingBuilder};

/// Operation whose result has a kind that depends on its operands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum StagedOperation {
    /// `a + b`
    Infix(InfixOperator),
    /// `-a`
    Negative,
    /// An element of an array.
    Element,
    /// `[a, b]`
    Array,
    /// `[a; n]`, of `a`.
    Repeat,
    /// `sin(a)`
    Builtin(Builtin),
}

/// Kinds of results that were asked for.
#[derive(Debug, Default)]
pub(crate) struct ResultKinds(HashMap<(StagedOperation, Vec<InferredKind>), InferredKind>);

impl ResultKinds {
    /// Returns the kind of the result for operands of known kinds; if they do not fit, which
    /// lowering reports, the join of their kinds.
    pub(crate) fn result(
        &mut self,
        operation: StagedOperation,
        mut operands: Vec<InferredKind>,
    ) -> InferredKind {
        let is_written = |known: &InferredKind| matches!(known, InferredKind::Literal(Some(_)));
        let has_values = matches!(operation, StagedOperation::Infix(_) | StagedOperation::Negative);
        if has_values && operands.iter().all(is_written) {
            return built(operation, &operands);
        }
        // No operation takes a tuple, whose kind may be large.
        if operands.iter().any(InferredKind::is_tuple) {
            return InferredKind::common(operands);
        }
        for known in operands.iter_mut().filter(|known| is_written(known)) {
            *known = InferredKind::Literal(Some(1));
        }
        if operation == StagedOperation::Array {
            operands.dedup();
        }
        let key = (operation, operands);
        self.0.entry(key).or_insert_with_key(|(of, operands)| built(*of, operands)).clone()
    }
}

/// Returns the kind of the value of an operation that is built for operands of these kinds.
fn built(operation: StagedOperation, operands: &[InferredKind]) -> InferredKind {
    let mut stage = StagingBuilder::new("", Vec::new(), Kind::Real);
    let given: Vec<StagedOperand> = operands.iter().map(|known| stage.example(known)).collect();
    let one = StagedOperand::Literal(1);
    let value = match (operation, &given[..]) {
        (StagedOperation::Infix(op), &[a, b]) => stage.binary(op, a, b),
        (StagedOperation::Negative, &[a]) => stage.negative(a),
        (StagedOperation::Element, &[xs]) => stage.index(xs, one),
        (StagedOperation::Array, items) => stage.array(items, None),
        (StagedOperation::Repeat, &[x]) => stage.fill(x, one, None),
        (StagedOperation::Builtin(f), args) => stage.builtin(f, args),
        _ => return InferredKind::Nothing,
    };
    match value {
        Ok(value) => stage.known(value),
        Err(_) => InferredKind::common(operands.iter().cloned()),
    }
}

impl StagingBuilder {
    /// Builds some operand of the kind.
    fn example(&mut self, known: &InferredKind) -> StagedOperand {
        match known {
            InferredKind::Literal(Some(n)) => StagedOperand::Literal(*n),
            InferredKind::Literal(None) => {
                let n = self.b.int(1);
                self.computed(n, known.clone())
            }
            InferredKind::Literals(true) => {
                let list = self.literal_list(&[StagedOperand::Literal(1)]);
                list.unwrap_or(StagedOperand::Nothing)
            }
            InferredKind::Literals(false) => {
                let list = self.b.inst(Op::Array, &[], Kind::Array(Element::Int));
                self.computed(list, known.clone())
            }
            // Written out, as `einsum` takes its labels.
            InferredKind::Kind(kind @ Kind::Array(Element::Int)) => {
                StagedOperand::Value(self.b.inst(Op::Array, &[], kind.clone()))
            }
            InferredKind::Kind(kind) => {
                let entry = self.b.current();
                StagedOperand::Value(self.b.block_param(entry, kind.clone()))
            }
            InferredKind::Tuple(_) | InferredKind::Nothing => StagedOperand::Nothing,
        }
    }
}
