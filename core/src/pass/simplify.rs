//! Algebraic simplification: a table of rewrite rules, applied from left to right.
//!
//! ```text
//! v2: real = neg v1
//! v3: real = add v0, v2        ->    v3: real = sub v0, v1
//! ```
//!
//! A rule is two terms. A lower-case letter matches any value, `c` a constant that is neither 0 nor
//! infinite nor NaN, `r` a value that is not complex, a number that constant (of either kind of
//! number; `2i` is an integer), `true` itself. Sums and products match in either order.
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

use std::collections::{BTreeSet, HashMap};

use smallvec::SmallVec;

use crate::{
    entity::{Inst, Value},
    ir::{Element, Function, InstData, Kind, Literal, Mixed, Number2, Op, compact},
};

use super::Level;

/// Rules that hold to the last bit.
const STRICT: &[(&str, &str)] = &[
    ("(mul r 1)", "r"),
    ("(div r 1)", "r"),
    ("(mul r -1)", "(neg r)"),
    ("(div r -1)", "(neg r)"),
    ("(sub x 0)", "x"),
    ("(neg (neg x))", "x"),
    ("(neg (add r r))", "(mul r -2)"),
    ("(add x (neg y))", "(sub x y)"),
    ("(sub x (neg y))", "(add x y)"),
    ("(mul (neg x) (neg y))", "(mul x y)"),
    ("(div (neg x) (neg y))", "(div x y)"),
    ("(scale x 0)", "0"),
    ("(scale x c)", "(mul x c)"),
    ("(scale c x)", "(mul c x)"),
    ("(scale 1 x)", "x"),
    ("(guard x 0)", "0"),
    ("(guard x c)", "x"),
    ("(conj (conj z))", "z"),
    ("(re (promote x))", "x"),
    ("(im (promote x))", "0"),
    ("(re (complex x y))", "x"),
    ("(im (complex x y))", "y"),
    ("(re (conj z))", "(re z)"),
    ("(im (conj z))", "(neg (im z))"),
    ("(powi x 1i)", "x"),
    ("(powi x 0i)", "1"),
    ("(powi x 2i)", "(mul x x)"),
    ("(cpowi x 1i)", "x"),
    ("(select true x y)", "x"),
    ("(select false x y)", "y"),
    ("(select b x x)", "x"),
    ("(not (not b))", "b"),
    ("(and b true)", "b"),
    ("(or b false)", "b"),
    ("(iadd n 0i)", "n"),
    ("(isub n 0i)", "n"),
    ("(imul n 1i)", "n"),
];

/// Rules for real and complex numbers.
const ALGEBRAIC: &[(&str, &str)] = &[
    ("(add x 0)", "x"),
    ("(mul x 1)", "x"),
    ("(div x 1)", "x"),
    ("(mul x -1)", "(neg x)"),
    ("(div x -1)", "(neg x)"),
    ("(conj (promote x))", "(promote x)"),
    ("(neg (promote x))", "(promote (neg x))"),
    ("(sub 0 x)", "(neg x)"),
    ("(mul x 0)", "0"),
    ("(div 0 x)", "0"),
    ("(sub x x)", "0"),
    ("(div x x)", "1"),
    ("(neg (mul x y))", "(mul (neg x) y)"),
    ("(div (mul x y) y)", "x"),
    ("(mul (div x y) y)", "x"),
    ("(mul (recip y) y)", "1"),
    ("(mul (mul x (recip y)) y)", "x"),
    ("(mul x (recip y))", "(div x y)"),
    ("(div 1 x)", "(recip x)"),
    ("(recip (recip x))", "x"),
    ("(sub (add x y) y)", "x"),
    ("(add (sub x y) y)", "x"),
    ("(add x (mul x y))", "(mul x (add y 1))"),
    ("(exp (ln x))", "x"),
    ("(ln (exp r))", "r"),
    ("(pow x 1)", "x"),
    ("(pow x 2)", "(mul x x)"),
];

/// Maximum number of times the table is applied.
const MAX_ROUNDS: usize = 8;

/// Applies the rules of a level.
pub fn simplify(f: &mut Function, level: Level) {
    let tables: &[&[(&str, &str)]] = match level {
        Level::None => return,
        Level::Strict => &[STRICT],
        Level::Algebraic => &[STRICT, ALGEBRAIC],
    };
    // The name of the outermost op is the index of its rules.
    let mut equations: HashMap<String, Vec<(EquationTerm, EquationTerm)>> = HashMap::new();
    for (left, right) in tables.iter().flat_map(|t| t.iter()) {
        if let (Some(EquationTerm::Op(name, args)), Some(right)) = (term(left), term(right)) {
            equations.entry(name.clone()).or_default().push((EquationTerm::Op(name, args), right));
        }
    }
    for _ in 0..MAX_ROUNDS {
        if !round(f, &equations) {
            break;
        }
    }
}

fn round(f: &mut Function, equations: &HashMap<String, Vec<(EquationTerm, EquationTerm)>>) -> bool {
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
            } else if let (Some(result), Some(list)) = (inst.result, equations.get(inst.op.name()))
            {
                let array = matches!(f.kinds[result], Kind::Array(_));
                for (left, right) in list {
                    // The removed operand may have given an array its shape.
                    if array && !left.letters().is_subset(&right.letters()) {
                        continue;
                    }
                    let mut names = Substitution::default();
                    if !matches(f, &defs, left, result, &mut names) {
                        continue;
                    }
                    let mut new = Vec::new();
                    let kind = f.kinds[result].clone();
                    let Some(v) = build(f, right, &names, &kind, &inst, &mut new) else { continue };
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

/// Pattern: one side of a rule.
#[derive(Clone, Debug)]
enum EquationTerm {
    Any(char),
    Number(f64),
    Int(i64),
    Bool(bool),
    Op(String, Vec<EquationTerm>),
}

impl EquationTerm {
    /// Returns the names of its variables.
    fn letters(&self) -> BTreeSet<char> {
        match self {
            EquationTerm::Any(name) => BTreeSet::from([*name]),
            EquationTerm::Op(_, args) => args.iter().flat_map(EquationTerm::letters).collect(),
            _ => BTreeSet::new(),
        }
    }
}

/// Parses a term. `None` if it cannot be parsed; a test parses the whole table.
fn term(text: &str) -> Option<EquationTerm> {
    fn parse(tokens: &mut std::vec::IntoIter<String>) -> Option<EquationTerm> {
        let token = tokens.next()?;
        if token == "(" {
            let name = tokens.next()?;
            let mut args = Vec::new();
            while tokens.as_slice().first().is_some_and(|t| t != ")") {
                args.push(parse(tokens)?);
            }
            tokens.next()?;
            return Some(EquationTerm::Op(name, args));
        }
        Some(match token.as_str() {
            "true" => EquationTerm::Bool(true),
            "false" => EquationTerm::Bool(false),
            t if t.len() == 1 && t.chars().all(char::is_alphabetic) => {
                EquationTerm::Any(t.chars().next()?)
            }
            t => match t.strip_suffix('i') {
                Some(n) => EquationTerm::Int(n.parse().ok()?),
                None => EquationTerm::Number(t.parse().ok()?),
            },
        })
    }
    let spaced = text.replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    parse(&mut tokens.into_iter())
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
        EquationTerm::Op(name, args) => {
            let Some(inst) = inst().filter(|i| i.op.name() == name && i.args.len() == args.len())
            else {
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
        EquationTerm::Op(name, args) => {
            let op = Op::by_name(name)?;
            // Inner numbers have the kind of the operation: complex in a complex sum, real below
            // `promote`.
            let inner = match op {
                Op::Mixed(_) => Kind::Real,
                _ => kind.clone(),
            };
            let mut values = Vec::new();
            for arg in args {
                values.push(build(f, arg, names, &inner, like, new)?);
            }
            let kinds: Vec<Kind> = values.iter().map(|&v| f.kinds[v].clone()).collect();
            let kind = op.result(&kinds).ok()??;
            let (inst, v) = f.new_inst(op, &values, Some(kind), like.at);
            new.push(inst);
            v
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_equation_can_be_read_and_names_real_ops() {
        fn ops(t: &EquationTerm) -> bool {
            match t {
                EquationTerm::Op(name, args) => Op::by_name(name).is_some() && args.iter().all(ops),
                _ => true,
            }
        }
        for (left, right) in STRICT.iter().chain(ALGEBRAIC) {
            for side in [left, right] {
                assert!(term(side).is_some_and(|t| ops(&t)), "{side}");
            }
        }
    }
}
