//! Constant folding: computes ops on constants.
//!
//! ```text
//! v1: real = real 2.0
//! v2: real = mul v1, v1        ->    v2: real = real 4.0
//! v3: bool = lt v1, v2               v3: bool = bool true
//! ```
//!
//! A program runs on any scalar, also on exact ones and on floats of other sizes. At
//! [`Level::Strict`] a sum, a product or a quotient is folded only if `f64` computes it without
//! rounding, so that every scalar gets the number it would have computed. At [`Level::Algebraic`]
//! every op is folded in `f64`, functions too.
//!
//! Cost: O(size).

use std::collections::HashMap;

use crate::{
    entity::Value,
    ir::{Function, Literal, Mixed, Number1, Number2, Op},
};

use super::Level;

/// Folds constants.
pub fn fold(f: &mut Function, level: Level) {
    let mut known: HashMap<Value, Op> = HashMap::new();
    let Function { blocks, insts, .. } = f;
    for block in blocks.values() {
        for &i in &block.insts {
            let inst = &mut insts[i];
            let Some(result) = inst.result else { continue };
            if inst.op.is_constant() {
                known.insert(result, inst.op);
                continue;
            }
            let args: Option<Vec<Op>> = inst.args.iter().map(|a| known.get(a).copied()).collect();
            if let Some(op) = args.and_then(|args| value(inst.op, &args, level)) {
                inst.op = op;
                inst.args.clear();
                known.insert(result, op);
            }
        }
    }
}

/// Returns the constant result of an op on constant operands.
fn value(op: Op, args: &[Op], level: Level) -> Option<Op> {
    let real = |x: f64| Op::Real(Literal(x));
    Some(match (op, args) {
        (Op::Number1(Number1::Neg), [Op::Real(a)]) => real(-a.0),
        (Op::Number1(op), [Op::Real(a)]) if level == Level::Algebraic => real(op.value(&a.0)),
        (Op::Number2(op), [Op::Real(a), Op::Real(b)]) => {
            let y = op.value(&a.0, &b.0);
            if level != Level::Algebraic && !is_exact(op, a.0, b.0, y) {
                return None;
            }
            real(y)
        }
        (Op::Real1(op), [Op::Real(a)]) if op.piece().is_some() || level == Level::Algebraic => {
            real(op.value(&a.0).ok()?)
        }
        (Op::Real2(op), [Op::Real(a), Op::Real(b)]) if level == Level::Algebraic => {
            real(op.value(&a.0, &b.0).ok()?)
        }
        (Op::Int1(op), [Op::Int(a)]) => Op::Int(op.value(*a)?),
        (Op::Int2(op), [Op::Int(a), Op::Int(b)]) => Op::Int(op.value(*a, *b)?),
        (Op::Compare(op), [Op::Real(a), Op::Real(b)]) => Op::Bool(op.holds(a.0.partial_cmp(&b.0))),
        (Op::CompareInt(op), [Op::Int(a), Op::Int(b)]) => Op::Bool(op.holds(Some(a.cmp(b)))),
        (Op::Mixed(Mixed::Not), [Op::Bool(a)]) => Op::Bool(!a),
        (Op::Mixed(Mixed::And), [Op::Bool(a), Op::Bool(b)]) => Op::Bool(*a && *b),
        (Op::Mixed(Mixed::Or), [Op::Bool(a), Op::Bool(b)]) => Op::Bool(*a || *b),
        (Op::Mixed(Mixed::Cmp), [Op::Int(a), Op::Int(b)]) => real(f64::from(a.cmp(b) as i8)),
        // Every integer up to 2^53 is a float.
        (Op::Mixed(Mixed::FromInt), [Op::Int(n)]) if n.unsigned_abs() <= 1 << 53 => real(*n as f64),
        _ => return None,
    })
}

/// Returns true if `y`, which is `a op b` rounded, equals `a op b`.
fn is_exact(op: Number2, a: f64, b: f64, y: f64) -> bool {
    if !y.is_finite() {
        return false;
    }
    match op {
        // The error of a sum is a float itself: Knuth's two-sum.
        Number2::Add | Number2::Sub => {
            let b = if op == Number2::Sub { -b } else { b };
            let part = y - a;
            (a - (y - part)) + (b - part) == 0.0
        }
        Number2::Mul | Number2::Scale => {
            a.mul_add(b, -y) == 0.0 && (y != 0.0 || a == 0.0 || b == 0.0)
        }
        Number2::Div => y.mul_add(b, -a) == 0.0 && (y != 0.0 || a == 0.0),
        Number2::Guard => true,
        Number2::Pow => false,
    }
}
