//! Algebraic simplification: a table of rewrite rules (`equations.rs`), applied from left to right.
//!
//! ```text
//! v2: real = neg v1
//! v3: real = add v0, v2        ->    v3: real = sub v0, v1
//! ```
//!
//! The strict equations hold in IEEE arithmetic to the last bit, for NaN, infinities and signed
//! zeros, and on every other scalar where it is finite: `x * 1` of a dual number at infinity has a
//! derivative that is NaN, x has not. (One exception: `scale c x` at x = 0, and `scale 1 x` of a
//! complex x, give zeros of the signs that the products have.) A product of complex numbers with -1
//! is not the negative: the sign of a zero imaginary part, which decides the side of a branch cut,
//! is another. The algebraic ones hold for real and complex numbers; in floating point they change
//! roundings and signs of zeros, and what divided by zero may become finite.
//!
//! Cost: O(size x rules) per iteration; each iteration makes the function simpler or is the last.

use std::collections::HashMap;

use smallvec::SmallVec;

use crate::{
    entity::{Inst, Value},
    ir::{Element, Function, InstData, Kind, Literal, Mixed, Number2, Op, compact},
};

use super::{
    Level,
    equations::{ALGEBRAIC, EquationTerm, RewriteRule, STRICT},
};

/// Maximum number of times the table is applied.
const MAX_ROUNDS: usize = 8;

/// Applies the rules of a level.
pub fn simplify(f: &mut Function, level: Level) {
    let tables: &[&[RewriteRule]] = match level {
        Level::None => return,
        Level::Strict => &[STRICT],
        Level::Algebraic => &[STRICT, ALGEBRAIC],
    };
    let mut rules: HashMap<Op, Vec<&RewriteRule>> = HashMap::new();
    for rule in tables.iter().copied().flatten() {
        rules.entry(rule.op).or_default().push(rule);
    }
    for _ in 0..MAX_ROUNDS {
        if !round(f, &rules) {
            break;
        }
    }
}

fn round(f: &mut Function, rules: &HashMap<Op, Vec<&RewriteRule>>) -> bool {
    let mut defs = f.definitions();
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut changed = false;
    for b in f.blocks.keys().collect::<Vec<_>>() {
        let mut place = 0;
        while let Some(&i) = f.blocks[b].insts.get(place) {
            let inst = &mut f.insts[i];
            inst.args.iter_mut().for_each(|v| *v = same.get(v).copied().unwrap_or(*v));
            let inst = f.insts[i].clone();
            if let Some(result) = inst.result
                && let Some(simpler) = structural(f, &defs, &inst)
            {
                same.insert(result, simpler);
                changed = true;
            } else if let (Some(result), Some(list)) = (inst.result, rules.get(&inst.op)) {
                let array = matches!(f.kinds[result], Kind::Array(_));
                for rule in list {
                    // The removed operand may have given an array its shape.
                    if array && !rule.keeps_letters {
                        continue;
                    }
                    let mut names = Substitution::default();
                    if !matches(f, &defs, &rule.left, result, &mut names) {
                        continue;
                    }
                    let mut new = Vec::new();
                    let kind = f.kinds[result].clone();
                    let built = build(f, &rule.right, &names, &kind, &inst, &mut new);
                    let Some(v) = built else { continue };
                    if f.kinds[v] != kind {
                        continue;
                    }
                    defs.resize(f.kinds.len(), None);
                    for &n in &new {
                        if let Some(v) = f.insts[n].result {
                            defs[v.index()] = Some(n);
                        }
                    }
                    let count = new.len();
                    f.blocks[b].insts.splice(place..place, new);
                    place += count;
                    same.insert(result, v);
                    changed = true;
                    break;
                }
            }
            place += 1;
        }
    }
    if changed {
        f.map_uses(|mut v| {
            while let Some(&w) = same.get(&v) {
                v = w;
            }
            v
        });
        // Replaced instructions are dead; only pure ones were replaced.
        for block in f.blocks.values_mut() {
            block.insts.retain(|&i| f.insts[i].result.is_none_or(|v| !same.contains_key(&v)));
        }
        *f = compact(f);
    }
    changed
}

/// Simplifies operations on tuples and arrays whose construction is known.
fn structural(f: &Function, defs: &[Option<Inst>], inst: &InstData) -> Option<Value> {
    let maker = |v: Value| defs[v.index()].map(|i| &f.insts[i]);
    let int = |v: Value| match maker(v)?.op {
        Op::Int(n) => usize::try_from(n).ok(),
        _ => None,
    };
    let empty = |v: Value| maker(v).is_some_and(|m| m.op == Op::Array && m.args.is_empty());
    match inst.op {
        Op::Field(k) => {
            maker(inst.args[0]).filter(|m| m.op == Op::Tuple)?.args.get(k as usize).copied()
        }
        Op::Get | Op::Peek => {
            let k = int(inst.args[1])?;
            maker(inst.args[0]).filter(|m| m.op == Op::Array)?.args.get(k).copied()
        }
        Op::Accumulate if empty(inst.args[0]) => Some(inst.args[1]),
        Op::Accumulate if empty(inst.args[1]) => Some(inst.args[0]),
        _ => None,
    }
}

/// Substitution: the values that are bound to the variables of a rule; there are few.
#[derive(Clone, Debug, Default)]
struct Substitution(SmallVec<[(char, Value); 4]>);

impl Substitution {
    fn get(&self, name: char) -> Option<Value> {
        self.0.iter().find(|n| n.0 == name).map(|n| n.1)
    }
    /// Returns the value of a variable, which is bound to the given one if it is free.
    fn get_or(&mut self, name: char, value: Value) -> Value {
        self.get(name).unwrap_or_else(|| {
            self.0.push((name, value));
            value
        })
    }
}

/// Returns the number that a value is.
fn number(f: &Function, defs: &[Option<Inst>], v: Value) -> Option<f64> {
    let inst = &f.insts[defs[v.index()]?];
    match inst.op {
        Op::Real(Literal(x)) => Some(x),
        Op::Mixed(Mixed::Promote) => number(f, defs, inst.args[0]),
        _ => None,
    }
}

fn matches(
    f: &Function,
    defs: &[Option<Inst>],
    term: &EquationTerm,
    v: Value,
    names: &mut Substitution,
) -> bool {
    let inst = || defs[v.index()].map(|i| &f.insts[i]);
    match term {
        EquationTerm::Any(name) => {
            if *name == 'c' && !number(f, defs, v).is_some_and(|x| x != 0.0 && x.is_finite()) {
                return false;
            }
            if *name == 'r' && matches!(f.kinds[v], Kind::Complex | Kind::Array(Element::Complex)) {
                return false;
            }
            names.get_or(*name, v) == v
        }
        // A negative zero is a different number.
        EquationTerm::Number(x) => number(f, defs, v)
            .is_some_and(|y| y == *x && y.is_sign_negative() == x.is_sign_negative()),
        EquationTerm::Int(n) => inst().is_some_and(|i| i.op == Op::Int(*n)),
        EquationTerm::Bool(b) => inst().is_some_and(|i| i.op == Op::Bool(*b)),
        EquationTerm::Op(op, args) => {
            let Some(inst) = inst().filter(|i| i.op == *op && i.args.len() == args.len()) else {
                return false;
            };
            let mut try_order = |order: &[usize]| {
                let mut trial = names.clone();
                let fits = args
                    .iter()
                    .zip(order)
                    .all(|(t, &k)| matches(f, defs, t, inst.args[k], &mut trial));
                if fits {
                    *names = trial;
                }
                fits
            };
            let commutes = matches!(inst.op, Op::Number2(Number2::Add | Number2::Mul));
            match args.len() {
                2 => try_order(&[0, 1]) || commutes && try_order(&[1, 0]),
                n => try_order(&(0..n).collect::<Vec<_>>()),
            }
        }
    }
}

/// Appends the instructions of a term and returns its value.
fn build(
    f: &mut Function,
    term: &EquationTerm,
    names: &Substitution,
    kind: &Kind,
    like: &InstData,
    new: &mut Vec<Inst>,
) -> Option<Value> {
    let mut push = |f: &mut Function, op: Op, args: &[Value], kind: Kind| {
        let (inst, v) = f.new_inst(op, args, Some(kind), like.at);
        new.push(inst);
        v
    };
    match term {
        EquationTerm::Any(name) => names.get(*name),
        EquationTerm::Number(x) => {
            let v = push(f, Op::Real(Literal(*x)), &[], Kind::Real)?;
            if *kind == Kind::Complex {
                push(f, Op::Mixed(Mixed::Promote), &[v], Kind::Complex)
            } else {
                Some(v)
            }
        }
        EquationTerm::Int(n) => push(f, Op::Int(*n), &[], Kind::Int),
        EquationTerm::Bool(b) => push(f, Op::Bool(*b), &[], Kind::Bool),
        EquationTerm::Op(op, args) => {
            // Inner numbers have the kind of the operation: complex in a complex sum, real below
            // `promote`.
            let inner = match op {
                Op::Mixed(_) => Kind::Real,
                _ => kind.clone(),
            };
            let mut values = Vec::new();
            for arg in *args {
                values.push(build(f, arg, names, &inner, like, new)?);
            }
            let kinds: Vec<Kind> = values.iter().map(|&v| f.kinds[v].clone()).collect();
            let kind = op.result(&kinds).ok()??;
            let (inst, v) = f.new_inst(*op, &values, Some(kind), like.at);
            new.push(inst);
            v
        }
    }
}
