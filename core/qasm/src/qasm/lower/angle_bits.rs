//! Angles that depend on a measurement: those with a width are kept in bits.
//!
//! ```text
//! angle[3] c;                     c, in three hidden bits
//! measure q -> c[0];
//! c <<= 1;
//! phase(c) r;                     if (c[0]) phase(pi/4) r; if (c[1]) phase(pi/2) r; if (c[2]) phase(pi) r;
//! ```
//! They are added, subtracted, compared, shifted and multiplied by integers as unsigned integers of
//! their bits. A rotation or a phase by one of them is the product of those by its bits, under
//! modifiers too; for other gates it is a value set.

use super::{
    Lower, LoweredItem, QasmLowering, QasmValue, angle_value::AngleValue, call::PlannedCall,
    classical::Classical, integer::IntegerType, names::SymbolEntry, variables::VariableState,
};
use crate::{
    circuit::Condition,
    qasm::{
        ast::{BinaryOp, QasmExpr, QasmExprKind, QasmSpan},
        diagnostic::QasmProblem,
    },
};

impl QasmLowering<'_> {
    /// Returns true if an expression is an angle that is kept in bits.
    pub(super) fn reads_angle_bits(&self, expr: &QasmExpr) -> bool {
        match &expr.kind {
            QasmExprKind::Name(symbol) => match self.names.get(*symbol) {
                Some(&SymbolEntry::Variable(id)) => {
                    self.variables[id].is_angle()
                        && matches!(self.variables[id].state, VariableState::Bits { .. })
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// `left op right`, one of which is an angle in bits.
    pub(super) fn combine_turns(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        use BinaryOp::*;
        let width = |side: &Classical| match side {
            Classical::AngleBits(bits) => u32::try_from(bits.len()).ok(),
            _ => None,
        };
        let widths = (width(&left), width(&right));
        let ty = IntegerType::sized(widths.0.or(widths.1).unwrap_or(1), true);
        let places = matches!(op, Shl | Shr);
        let left = self.turn_as_integer(op, left, ty, false)?;
        let right = self.turn_as_integer(op, right, ty, places)?;
        let takes = match (op, widths) {
            (Add | Sub | Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual, _) => true,
            (Mul, widths) => widths.0.is_none() || widths.1.is_none(),
            (Shl | Shr, (Some(_), None)) | (Div, (Some(_), _)) => true,
            _ => false,
        };
        let (true, Some(a), Some(b)) = (takes, left, right) else {
            let operator = op.text().to_owned();
            let given = "an angle that depends on a measurement".to_owned();
            return self.fail(QasmProblem::Operands { operator, given }, span);
        };
        Ok(match (self.combine(op, a, b, span)?, op, widths) {
            // The integer quotient of two angles.
            (ratio, Div, (_, Some(_))) => ratio,
            (Classical::BitVector { bits, .. }, ..) => Classical::AngleBits(bits),
            (other, ..) => other,
        })
    }

    /// Returns an operand of an angle in bits as an unsigned integer of the same width; `None` if
    /// it is neither an angle nor a factor.
    fn turn_as_integer(
        &mut self,
        op: BinaryOp,
        value: Classical,
        ty: IntegerType,
        places: bool,
    ) -> Lower<Option<Classical>> {
        use BinaryOp::*;
        let known = |i: i128| Some(Classical::Value(QasmValue::Int(ty.wrap(i), Some(ty))));
        Ok(match value {
            value if places => Some(value),
            Classical::AngleBits(bits) if bits.len() == ty.bits as usize => {
                Some(Classical::BitVector { bits, signed: false, ty: Some(ty) })
            }
            Classical::Value(QasmValue::Int(i, _)) if op == Mul => known(i),
            Classical::Value(QasmValue::Int(i, _)) if op == Div && ty.holds(i) => known(i),
            Classical::Value(value) if !matches!(op, Mul | Div) => {
                match AngleValue::from_value(value, Some(ty.bits)) {
                    Ok(QasmValue::AngleValue(AngleValue::Bits { bits, .. })) => {
                        known(bits.cast_signed())
                    }
                    _ => None,
                }
            }
            _ => None,
        })
    }

    /// Plans a call of a rotation or a phase by an angle in bits: one gate for each bit.
    pub(super) fn call_by_bits(&mut self, bits: &[u32], call: PlannedCall) -> Lower<()> {
        let PlannedCall { gate, qubits, times, span, source } = call;
        let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
        for (at, &bit) in (0u32..).zip(bits) {
            let turn = AngleValue::Bits { width, bits: 1 << at };
            let mut gate = gate.clone();
            gate.args = [self.check(QasmValue::linear(turn.radians()), span)?].into();
            let mut planned =
                Some(PlannedCall { gate, qubits: qubits.clone(), times, span, source });
            self.add_count(u64::from(times), span);
            self.branches(Condition::Bit { bit, value: true }, span, |lowering, _| {
                if let Some(planned) = planned.take() {
                    lowering.push(LoweredItem::Call(planned));
                }
            })?;
        }
        Ok(())
    }
}
