//! A tree-walking interpreter of the intermediate representation over floats, which shares nothing
//! with core but the data.
//!
//! It says what a program means as the documentation of the operations does, one value at a time.
//! What it does not know (a decomposition, a special function) it says too, so that nobody takes
//! that for a disagreement.

mod arrays;
mod numbers;

use std::collections::HashMap;

use ketgrad_core::{
    entity::{Block, FuncId, Value},
    exec::Datum,
    ir::{Element, Function, InstData, Kind, Op, Program, Terminator},
};
use num_complex::Complex;

/// A complex number.
pub(crate) type C = Complex<f64>;

/// An array: its elements in row-major order, and the length along each axis.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Array<T> {
    pub(crate) shape: Vec<usize>,
    pub(crate) items: Vec<T>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Val {
    Real(f64),
    Complex(C),
    Int(i64),
    Bool(bool),
    Handle(u32),
    Reals(Array<f64>),
    Complexes(Array<C>),
    Ints(Array<i64>),
    Tuple(Vec<Val>),
}

/// Reason why there is no value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Why {
    /// The program fails here, on every executor.
    Fails(String),
    /// It takes from a tape what belongs to another slot, or leaves something there.
    Tapes,
    /// This interpreter does not know.
    Unknown,
    /// Too many steps, or calls inside calls.
    Long,
}

pub(crate) type Got<T> = Result<T, Why>;

pub(crate) fn fails<T>(why: impl Into<String>) -> Got<T> {
    Err(Why::Fails(why.into()))
}

/// Contents of the tapes: for each tape the leaves of each sort, the last one last, with the slot
/// that pushed it.
type Tapes = HashMap<(u32, usize), Vec<(u32, Val)>>;

/// Runs a function.
pub(crate) fn run(
    program: &Program,
    f: FuncId,
    args: Vec<Val>,
    steps: usize,
    limit: usize,
) -> Got<Val> {
    let mut machine = Machine { program, tapes: HashMap::new(), crossed: false, steps, limit };
    let value = machine.call(f, args, 0)?;
    let left = machine.tapes.iter().filter(|(_, items)| !items.is_empty()).map(|(list, _)| *list);
    if left.into_iter().any(|list| machine.is_popped(f, list)) || machine.crossed {
        return Err(Why::Tapes);
    }
    Ok(value)
}

struct Machine<'a> {
    program: &'a Program,
    tapes: Tapes,
    /// True if a pop took what another slot pushed.
    crossed: bool,
    steps: usize,
    limit: usize,
}

impl Machine<'_> {
    fn call(&mut self, f: FuncId, args: Vec<Val>, depth: usize) -> Got<Val> {
        let f = &self.program.functions[f];
        if depth > 40 {
            return Err(Why::Long);
        }
        let mut known: HashMap<Value, Val> = HashMap::new();
        let mut block = Block::new(0);
        let mut passed = args;
        loop {
            let data = &f.blocks[block];
            known.extend(data.params.iter().copied().zip(passed));
            for &i in &data.insts {
                self.steps = self.steps.checked_sub(1).ok_or(Why::Long)?;
                let inst = &f.insts[i];
                let args: Vec<Val> = inst.args.iter().map(|v| known[v].clone()).collect();
                let value = self.instruction(f, inst, &args, depth)?;
                if let (Some(v), Some(value)) = (inst.result, value) {
                    known.insert(v, value);
                }
            }
            self.steps = self.steps.checked_sub(1).ok_or(Why::Long)?;
            let target = match &data.end {
                Terminator::Open => return fails("open"),
                Terminator::Jump(t) => t,
                Terminator::Branch(c, yes, no) => {
                    let Val::Bool(c) = known[c] else { return Err(Why::Unknown) };
                    if c { yes } else { no }
                }
                Terminator::Switch(k, targets) => {
                    let Val::Int(k) = known[k] else { return Err(Why::Unknown) };
                    let target = usize::try_from(k).ok().and_then(|k| targets.get(k));
                    let Some(target) = target else { return fails("switch") };
                    target
                }
                Terminator::Return(v) => return Ok(known[v].clone()),
            };
            passed = target.args.iter().map(|v| known[v].clone()).collect();
            block = target.block;
        }
    }

    fn instruction(
        &mut self,
        f: &Function,
        inst: &InstData,
        args: &[Val],
        depth: usize,
    ) -> Got<Option<Val>> {
        let result = inst.result.map(|v| &f.kinds[v]);
        Ok(Some(match (inst.op, args) {
            (Op::Real(x), _) => Val::Real(x.0),
            (Op::Int(n), _) => Val::Int(n),
            (Op::Bool(b), _) => Val::Bool(b),
            (Op::Call(g), args) => self.call(g, args.to_vec(), depth + 1)?,
            (Op::Primitive(_), _) => return fails("no host"),
            (Op::Tuple, args) => Val::Tuple(args.to_vec()),
            (Op::Field(k), [Val::Tuple(fields)]) => fields[k as usize].clone(),
            (Op::Select, [Val::Bool(c), yes, no]) => if *c { yes } else { no }.clone(),
            (Op::Push { tape, slot }, [x]) => {
                for leaf in leaves(x) {
                    self.tapes.entry((tape, sort(&leaf))).or_default().push((slot, leaf));
                }
                return Ok(None);
            }
            (Op::Expect(order), [Val::Real(x), Val::Real(y)]) => {
                return if x.partial_cmp(y) == order { Ok(None) } else { fails("path") };
            }
            (Op::Pop { tape, slot }, []) => {
                let kind = result.ok_or(Why::Unknown)?;
                self.pop(tape, slot, kind)?
            }
            (op, args) => arrays::apply(op, args, result, self.limit)?,
        }))
    }

    /// True if anything that is reached from a function pops from a list.
    fn is_popped(&self, f: FuncId, list: (u32, usize)) -> bool {
        self.program.reachable(f).into_iter().map(|g| &self.program.functions[g]).any(|g| {
            let insts = g.blocks.values().flat_map(|b| &b.insts).map(|&i| &g.insts[i]);
            let pops = insts.filter_map(|i| match i.op {
                Op::Pop { tape, .. } if tape == list.0 => i.result,
                _ => None,
            });
            pops.into_iter()
                .any(|v| leaves(&default(&g.kinds[v])).iter().any(|x| sort(x) == list.1))
        })
    }

    fn pop(&mut self, tape: u32, slot: u32, kind: &Kind) -> Got<Val> {
        if let Kind::Tuple(t) = kind {
            let mut fields = t
                .fields
                .iter()
                .rev()
                .map(|f| self.pop(tape, slot, &f.kind))
                .collect::<Got<Vec<_>>>()?;
            fields.reverse();
            return Ok(Val::Tuple(fields));
        }
        let top = self.tapes.get_mut(&(tape, sort(&default(kind)))).and_then(Vec::pop);
        match top {
            None => fails("empty tape"),
            Some((from, x)) if x.is(kind) => {
                self.crossed |= from != slot;
                Ok(x)
            }
            Some(_) => Err(Why::Unknown),
        }
    }
}

/// Numbers of one sort share a place on the tapes.
fn sort(x: &Val) -> usize {
    match x {
        Val::Real(_) => 0,
        Val::Complex(_) => 1,
        Val::Int(_) | Val::Bool(_) | Val::Handle(_) => 2,
        Val::Reals(_) => 3,
        Val::Complexes(_) => 4,
        Val::Ints(_) => 5,
        Val::Tuple(_) => 6,
    }
}

fn leaves(x: &Val) -> Vec<Val> {
    match x {
        Val::Tuple(fields) => fields.iter().flat_map(leaves).collect(),
        leaf => vec![leaf.clone()],
    }
}

fn default(kind: &Kind) -> Val {
    sample(kind, &mut || 0)
}

/// A value of a kind, of numbers that `draw` gives.
pub(crate) fn sample(kind: &Kind, draw: &mut dyn FnMut() -> i64) -> Val {
    let mut number = || draw() as f64 / 8.0 + 0.0625;
    match kind {
        Kind::Real => Val::Real(number()),
        Kind::Complex => Val::Complex(C::new(number(), number())),
        Kind::Int => Val::Int(draw()),
        Kind::Bool => Val::Bool(draw() % 2 == 0),
        Kind::Handle => Val::Handle(draw().unsigned_abs() as u32),
        Kind::Array(Element::Real) => Val::Reals(Array::vector((0..3).map(|_| number()).collect())),
        Kind::Array(Element::Complex) => {
            Val::Complexes(Array::vector((0..3).map(|_| C::new(number(), number())).collect()))
        }
        Kind::Array(Element::Int) => Val::Ints(Array::vector((0..3).map(|_| draw()).collect())),
        Kind::Tuple(t) => Val::Tuple(t.fields.iter().map(|f| sample(&f.kind, draw)).collect()),
    }
}

impl<T: Clone> Array<T> {
    pub(crate) fn vector(items: Vec<T>) -> Array<T> {
        Array { shape: vec![items.len()], items }
    }
}

impl Val {
    pub(crate) fn is(&self, kind: &Kind) -> bool {
        match (self, kind) {
            (Val::Tuple(fields), Kind::Tuple(t)) => {
                fields.len() == t.fields.len()
                    && fields.iter().zip(&t.fields).all(|(x, f)| x.is(&f.kind))
            }
            (Val::Real(_), Kind::Real)
            | (Val::Complex(_), Kind::Complex)
            | (Val::Int(_), Kind::Int)
            | (Val::Bool(_), Kind::Bool)
            | (Val::Handle(_), Kind::Handle)
            | (Val::Reals(_), Kind::Array(Element::Real))
            | (Val::Complexes(_), Kind::Array(Element::Complex))
            | (Val::Ints(_), Kind::Array(Element::Int)) => true,
            _ => false,
        }
    }

    /// As core takes it.
    pub(crate) fn datum(&self) -> Option<Datum<C>> {
        Some(match self {
            Val::Real(x) => Datum::Real(*x),
            Val::Complex(z) => Datum::Complex(*z),
            Val::Int(n) => Datum::Int(*n),
            Val::Bool(b) => Datum::Bool(*b),
            Val::Handle(h) => Datum::Handle(*h),
            Val::Reals(a) => Datum::reals_of(&a.shape, a.items.clone()).ok()?,
            Val::Complexes(a) => Datum::complexes_of(&a.shape, a.items.clone()).ok()?,
            Val::Ints(a) => Datum::ints_of(&a.shape, a.items.clone()).ok()?,
            Val::Tuple(fields) => {
                Datum::Tuple(fields.iter().map(Val::datum).collect::<Option<_>>()?)
            }
        })
    }

    /// As core gives it.
    pub(crate) fn of(d: &Datum<C>) -> Val {
        fn array<T: Clone>(a: &ketgrad_core::array::Array<T>) -> Array<T> {
            Array { shape: a.shape().to_vec(), items: a.items().to_vec() }
        }
        match d {
            Datum::Real(x) => Val::Real(*x),
            Datum::Complex(z) => Val::Complex(*z),
            Datum::Int(n) => Val::Int(*n),
            Datum::Bool(b) => Val::Bool(*b),
            Datum::Handle(h) => Val::Handle(*h),
            Datum::Reals(a) => Val::Reals(array(a)),
            Datum::Complexes(a) => Val::Complexes(array(a)),
            Datum::Ints(a) => Val::Ints(array(a)),
            Datum::Tuple(fields) => Val::Tuple(fields.iter().map(Val::of).collect()),
        }
    }

    /// The real and imaginary parts in it, in order.
    pub(crate) fn parts(&self, out: &mut Vec<f64>) {
        match self {
            Val::Real(x) => out.push(*x),
            Val::Complex(z) => out.extend([z.re, z.im]),
            Val::Reals(a) => out.extend(&a.items),
            Val::Complexes(a) => a.items.iter().for_each(|z| out.extend([z.re, z.im])),
            Val::Tuple(fields) => fields.iter().for_each(|x| x.parts(out)),
            _ => {}
        }
    }

    /// The same but for numbers, which are close.
    pub(crate) fn is_close(&self, other: &Val, tolerance: f64) -> bool {
        let close = |a: &[f64], b: &[f64]| {
            a.len() == b.len()
                && a.iter().zip(b).all(|(a, b)| {
                    a == b
                        || a.is_nan() && b.is_nan()
                        || (a - b).abs() <= tolerance * (1.0 + a.abs().max(b.abs()))
                })
        };
        let parts = |x: &Val| {
            let mut parts = Vec::new();
            x.parts(&mut parts);
            parts
        };
        match (self, other) {
            (Val::Reals(a), Val::Reals(b)) if a.shape != b.shape => false,
            (Val::Complexes(a), Val::Complexes(b)) if a.shape != b.shape => false,
            (Val::Tuple(a), Val::Tuple(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_close(b, tolerance))
            }
            (Val::Int(_) | Val::Bool(_) | Val::Handle(_) | Val::Ints(_), _) => self == other,
            _ => sort(self) == sort(other) && close(&parts(self), &parts(other)),
        }
    }
}
