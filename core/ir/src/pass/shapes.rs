//! Shape equality: classes of arrays of the same shape, and the operations that are unnecessary
//! because of it.
//!
//! ```text
//! v3: array<real> = mul v1, v1
//! v4: array<real> = spread v2, v3            v4: array<real> = mul v1, v2
//! v5: array<real> = mul v1, v4         ->    v5: array<real> = add v4, v4
//! v6: array<real> = sum_like v5, v1
//! v7: array<real> = accumulate v6, v6
//! ```
//!
//! Lengths are known when a program runs, but equality of shapes often is known statically: arrays
//! get *classes*, so that all of one class have one shape wherever they are available together. A
//! class is named by the operation that computes the shape and the classes and ints that it depends
//! on (value numbering). An array from elsewhere (parameters, calls, loops, cotangents that grow)
//! has a class of its own. If a program is run on arrays of known shapes, a class is its shape.
//!
//! - Summing, broadcasting or reshaping to the shape that an array has already is removed.
//! - The broadcast of a number or array before an operation that broadcasts it anyway is removed.
//! - The trace of a product of which a factor is transposed anyway is the sum of products of two
//!   arrays in order.
//! - Cotangents of one shape are added element by element, so that the addition can be fused with
//!   other such operations.
//!
//! No number changes. Cost: O(size).

use std::collections::{HashMap, HashSet};

use crate::{
    array::{Shape, broadcast},
    entity::{Block, Inst, Value},
    ir::{
        AbstractValue, ArrayOp, ClassRule, Element, Function, InstData, Kind, Number2, Op, compact,
    },
};

use super::order;

/// Class of arrays, all of one shape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[doc(hidden)]
pub struct ShapeClass(u32);

/// Key of a class.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum ShapeClassKey {
    /// An array of unknown shape.
    Own(Value),
    /// A statically known shape.
    Exact(Shape),
    /// Broadcast shape of two classes.
    Broadcast(ShapeClass, ShapeClass),
    /// A shape with length 1 along an axis.
    Reduced(ShapeClass, SymbolicInt),
    /// Shape that an operation computes from shapes and ints.
    Made(ArrayOp, Vec<ShapeClass>, Vec<SymbolicInt>),
}

/// Symbolic int: its value if it is known, else the value of the IR; a list of ints is always the
/// latter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum SymbolicInt {
    Known(i64),
    Symbol(Value),
}

/// Classes of the arrays of a function.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct ShapeClasses<'k> {
    /// Abstract values, by the number of the value.
    known: &'k [AbstractValue],
    classes: HashMap<ShapeClassKey, ShapeClass>,
    of: HashMap<Value, ShapeClass>,
    /// Key of each class.
    keys: Vec<ShapeClassKey>,
}

impl<'k> ShapeClasses<'k> {
    /// Classifies the arrays of a function, given the abstract values.
    #[doc(hidden)]
    pub fn analyze(f: &Function, known: &'k [AbstractValue]) -> ShapeClasses<'k> {
        let mut shapes = ShapeClasses { known, ..ShapeClasses::default() };
        for b in order(f) {
            for i in &f.blocks[b].insts {
                shapes.visit(f, &f.insts[*i]);
            }
        }
        shapes
    }

    /// Returns the class of an array.
    #[doc(hidden)]
    pub fn class(&mut self, v: Value) -> ShapeClass {
        match self.of.get(&v) {
            Some(class) => *class,
            None => {
                let class = self.exact(v).unwrap_or_else(|| self.named(ShapeClassKey::Own(v)));
                self.of.insert(v, class);
                class
            }
        }
    }

    /// Returns the class of an array whose shape is known.
    fn exact(&mut self, v: Value) -> Option<ShapeClass> {
        let shape = self.known_shape(v)?;
        Some(self.named(ShapeClassKey::Exact(shape)))
    }

    fn known_shape(&self, v: Value) -> Option<Shape> {
        self.known.get(v.index())?.shape()
    }

    fn named(&mut self, key: ShapeClassKey) -> ShapeClass {
        let next = ShapeClass(u32::try_from(self.keys.len()).unwrap_or(u32::MAX));
        let class = *self.classes.entry(key.clone()).or_insert(next);
        if class == next {
            self.keys.push(key);
        }
        class
    }

    fn key(&self, class: ShapeClass) -> &ShapeClassKey {
        &self.keys[class.0 as usize]
    }

    /// Returns true if arrays of the first class are broadcast to the shape of the second.
    fn fits(&self, small: ShapeClass, large: ShapeClass) -> bool {
        let inside = |of: ShapeClass| of == large || self.fits(of, large);
        if let (ShapeClassKey::Exact(small), ShapeClassKey::Exact(large)) =
            (self.key(small), self.key(large))
        {
            return broadcast(small, large).as_ref() == Some(large);
        }
        small == large
            || matches!(self.key(large), ShapeClassKey::Broadcast(a, b) if self.fits(small, *a) || self.fits(small, *b))
            || matches!(self.key(small), ShapeClassKey::Reduced(whole, _) if inside(*whole))
    }

    fn both(&mut self, a: ShapeClass, b: ShapeClass) -> ShapeClass {
        if self.fits(a, b) {
            b
        } else if self.fits(b, a) {
            a
        } else {
            self.named(ShapeClassKey::Broadcast(a.min(b), a.max(b)))
        }
    }

    /// Returns the class whose elements the arrays of a class have, in another shape.
    fn elements(&self, class: ShapeClass) -> ShapeClass {
        let ShapeClassKey::Made(op, from, _) = self.key(class) else { return class };
        match op.class_rule() {
            ClassRule::Rearranged(_) | ClassRule::Undoes(..) => {
                from.first().map_or(class, |&c| self.elements(c))
            }
            _ => class,
        }
    }

    /// Assigns a class to the result of an instruction.
    fn visit(&mut self, f: &Function, inst: &InstData) {
        let Some(v) = inst.result.filter(|&v| is_array(f, v)) else { return };
        if let Some(class) = self.exact(v) {
            self.of.insert(v, class);
            return;
        }
        let arrays: Vec<Value> = inst.args.iter().copied().filter(|&a| is_array(f, a)).collect();
        let class = match inst.op {
            op if op.is_elementwise() => {
                let classes: Vec<ShapeClass> = arrays.iter().map(|&a| self.class(a)).collect();
                classes.into_iter().reduce(|a, b| self.both(a, b))
            }
            Op::Set => Some(self.class(inst.args[0])),
            // The shape that a list states is unknown.
            Op::OnArrays(_) if inst.shape_list(f).is_some() => None,
            Op::OnArrays(op) => self.made(f, op, inst, &arrays),
            _ => None,
        };
        let class = class.unwrap_or_else(|| self.named(ShapeClassKey::Own(v)));
        self.of.insert(v, class);
    }

    fn made(
        &mut self,
        f: &Function,
        op: ArrayOp,
        inst: &InstData,
        arrays: &[Value],
    ) -> Option<ShapeClass> {
        let classes: Vec<ShapeClass> = arrays.iter().map(|&a| self.class(a)).collect();
        let first = classes.first().copied()?;
        let ints = |places: &[usize]| places.iter().map(|&k| known(f, inst.args[k])).collect();
        Some(match op.class_rule() {
            ClassRule::Own => return None,
            ClassRule::Like(k) => self.class(inst.args[k]),
            ClassRule::Broadcast => classes.into_iter().reduce(|a, b| self.both(a, b))?,
            ClassRule::Reduced => self.named(ShapeClassKey::Reduced(first, known(f, inst.args[1]))),
            ClassRule::Undoes(back, places) => {
                let ints: Vec<SymbolicInt> = ints(places);
                match self.key(first) {
                    ShapeClassKey::Made(other, from, at) if *other == back && *at == ints => {
                        from[0]
                    }
                    _ => self.named(ShapeClassKey::Made(op, classes, ints)),
                }
            }
            ClassRule::Computed(places) | ClassRule::Rearranged(places) => {
                let numbers = |v: &Value| f.kinds[*v] != Kind::Array(Element::Int);
                let classes = arrays.iter().zip(classes).filter(|(a, _)| numbers(a));
                let classes = classes.map(|(_, class)| class).collect();
                self.named(ShapeClassKey::Made(op, classes, ints(places)))
            }
        })
    }
}

fn is_array(f: &Function, v: Value) -> bool {
    matches!(f.kinds[v], Kind::Array(_))
}

fn known(f: &Function, v: Value) -> SymbolicInt {
    match f.definition(v).map(|d| d.op) {
        Some(Op::Int(n)) => SymbolicInt::Known(n),
        _ => SymbolicInt::Symbol(v),
    }
}

/// Removes operations that equal shapes make unnecessary.
pub fn shapes(f: &mut Function) {
    shapes_of(f, &[]);
}

/// Runs [`shapes`] with abstract values, by the number of the value.
pub(super) fn shapes_of(f: &mut Function, known: &[AbstractValue]) {
    if !f.is_defined() || !f.kinds.values().any(|k| matches!(k, Kind::Array(_))) {
        return;
    }
    let mut known = ShapeClasses { known, ..ShapeClasses::default() };
    let mut same: HashMap<Value, Value> = HashMap::new();
    let mut changed = false;
    let mut definitions: HashMap<Value, Inst> = HashMap::new();
    for b in order(f) {
        changed |= traces(f, b);
        for i in f.blocks[b].insts.clone() {
            let inst = &mut f.insts[i];
            inst.args.iter_mut().for_each(|v| *v = same.get(v).copied().unwrap_or(*v));
            let Some(v) = f.insts[i].result else { continue };
            definitions.insert(v, i);
            if let Some(x) = needless(f, &mut known, &f.insts[i]) {
                same.insert(v, x);
            } else if let Some(new) = shorter(f, &mut known, &definitions, &f.insts[i]) {
                f.insts[i] = new;
                changed = true;
            }
            known.visit(f, &f.insts[i]);
        }
    }
    if same.is_empty() && !changed {
        return;
    }
    f.map_uses(|mut v| {
        while let Some(&w) = same.get(&v) {
            v = w;
        }
        v
    });
    let gone: HashSet<Value> = same.into_keys().collect();
    for block in f.blocks.values_mut() {
        block.insts.retain(|&i| f.insts[i].result.is_none_or(|v| !gone.contains(&v)));
    }
    *f = compact(f);
}

/// Rewrites `tr(A B)` in a block that transposes one of the factors: the transpose comes first. (A
/// second transpose is left to CSE.)
fn traces(f: &mut Function, b: Block) -> bool {
    use ArrayOp as A;
    let insts = f.blocks[b].insts.clone();
    let transposed: HashSet<Value> = insts
        .iter()
        .filter(|&&i| f.insts[i].op == Op::OnArrays(A::Transpose))
        .map(|&i| f.insts[i].args[0])
        .collect();
    let mut changed = false;
    for i in insts {
        let InstData { op: Op::OnArrays(A::TraceProduct), ref args, at, .. } = f.insts[i] else {
            continue;
        };
        let [x, y] = args[..] else { continue };
        let Some(factor) = [y, x].into_iter().find(|v| transposed.contains(v)) else { continue };
        let other = if factor == y { x } else { y };
        let kind = f.kinds[factor].clone();
        let (inst, Some(t)) = f.new_inst(Op::OnArrays(A::Transpose), &[factor], Some(kind), at)
        else {
            continue;
        };
        if let Some(place) = f.blocks[b].insts.iter().position(|&j| j == i) {
            f.blocks[b].insts.insert(place, inst);
        }
        f.insts[i].op = Op::OnArrays(A::Dot);
        f.insts[i].args = [other, t].into_iter().collect();
        changed = true;
    }
    changed
}

/// Returns the operand that equals the result.
fn needless(f: &Function, shapes: &mut ShapeClasses<'_>, inst: &InstData) -> Option<Value> {
    use ArrayOp as A;
    let Op::OnArrays(A::SumLike | A::ReshapeLike | A::BroadcastTo) = inst.op else { return None };
    let [x, other] = inst.args[..] else { return None };
    if inst.shape_list(f).is_some() {
        return None;
    }
    (is_array(f, x) && shapes.class(x) == shapes.class(other)).then_some(x)
}

/// Returns a cheaper operation with the same result.
fn shorter(
    f: &Function,
    shapes: &mut ShapeClasses<'_>,
    definitions: &HashMap<Value, Inst>,
    inst: &InstData,
) -> Option<InstData> {
    use ArrayOp as A;
    let maker = |v: Value| definitions.get(&v).map(|&i| &f.insts[i]);
    match inst.op {
        Op::Accumulate if shapes.class(inst.args[0]) == shapes.class(inst.args[1]) => {
            let number =
                !matches!(inst.result.map(|v| &f.kinds[v]), Some(Kind::Array(Element::Int)));
            // An array that is mostly zeros is reduced to its other elements.
            let part = |v: Value| {
                let embed = maker(v).filter(|m| m.op == Op::OnArrays(A::Pad))?;
                let count = |v| shapes.known_shape(v).map(|s| s.iter().product::<usize>());
                count(embed.args[0]).zip(count(v))
            };
            let little =
                inst.args.iter().filter_map(|&v| part(v)).any(|(part, whole)| 2 * part <= whole);
            (number && !little).then(|| InstData { op: Op::Number2(Number2::Add), ..inst.clone() })
        }
        // One number in another shape.
        Op::OnArrays(A::ReshapeLike) if inst.shape_list(f).is_none() => {
            let fill = maker(inst.args[0])?;
            let whole = match fill.op {
                Op::Fill => maker(fill.args[1]).filter(|m| m.op == Op::Len)?.args[0],
                Op::OnArrays(A::BroadcastTo) if !is_array(f, fill.args[0]) => fill.args[1],
                _ => return None,
            };
            let (a, b) = (shapes.class(whole), shapes.class(inst.args[1]));
            let mut new = InstData { op: Op::OnArrays(A::BroadcastTo), ..inst.clone() };
            new.args[0] = fill.args[0];
            (shapes.elements(a) == shapes.elements(b)).then_some(new)
        }
        op if op.is_elementwise() && inst.args.len() == 2 => {
            let [a, b] = [inst.args[0], inst.args[1]];
            let repeated = |shapes: &mut ShapeClasses<'_>, v: Value, beside: Value| {
                let spread = maker(v).filter(|m| m.op == Op::OnArrays(A::BroadcastTo))?;
                let needless = is_array(f, beside)
                    && shapes.class(beside) == shapes.class(spread.args[1])
                    && is_array(f, v);
                needless.then_some(spread.args[0])
            };
            let mut new = inst.clone();
            if let Some(x) = repeated(shapes, a, b) {
                new.args[0] = x;
            } else {
                new.args[1] = repeated(shapes, b, a)?;
            }
            Some(new)
        }
        _ => None,
    }
}
