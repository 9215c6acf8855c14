//! Cotangents of primal values while the adjoint is written.
//!
//! Every active value has one variable for each leaf of its cotangent. Pullbacks add to it; at the
//! definition of the value it is read. Whether anything may have been added already is known
//! statically: backwards, a cotangent is *pending* exactly where the primal value is live.
//! Elsewhere it is zero, needs no variable and no addition, and is not carried by a loop. If a
//! block adds nothing to a cotangent that is pending from there on, as for `floor x`, it is set to
//! zero there ([`Cotangents::leave`]).
//!
//! ```text
//! v2 = sin v1        v1 is live here          v1_bar += cos(v1) v2_bar     v1_bar is pending
//! v3 = mul v1, v1    v1 is live here          v1_bar += …                  (the first: v1_bar = …)
//! return …           v1 is dead               v1_bar is zero
//! ```

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block, Value, Variable},
    ir::{Function, FunctionBuilder, Kind, Op, Terminator},
    rules::Reach,
};

use super::{
    canonical::CanonicalFunction,
    leaves::{sum, tangent_leaves},
    sweep::AdjointSweep,
};

/// Liveness of cotangents, which are zero elsewhere: a cotangent is live if an active instruction
/// still uses the value.
#[derive(Debug)]
pub(super) struct LiveCotangents {
    /// Live values at the start of each block, without its parameters.
    pub into: Vec<HashSet<Value>>,
    /// Live values at the end of each block.
    pub out: Vec<HashSet<Value>>,
}

impl LiveCotangents {
    /// Runs the liveness analysis. `passes` says for each instruction whether cotangents flow back
    /// through it. O(uses x blocks between definition and use).
    pub(super) fn analyze(
        n: &CanonicalFunction,
        active: &[bool],
        passes: &[bool],
    ) -> LiveCotangents {
        let f = &n.f;
        let mut live = LiveCotangents {
            into: vec![HashSet::new(); f.blocks.len()],
            out: vec![HashSet::new(); f.blocks.len()],
        };
        for (b, block) in f.blocks.iter() {
            for &i in block.insts.iter().filter(|i| passes[i.index()]) {
                f.insts[i]
                    .args
                    .iter()
                    .filter(|a| active[a.index()])
                    .for_each(|&a| live.used(n, a, b));
            }
            if let Terminator::Return(v) = block.end
                && active[v.index()]
            {
                live.used(n, v, b);
            }
            for target in block.end.targets() {
                for (&a, p) in target.args.iter().zip(&f.blocks[target.block].params) {
                    if active[a.index()] && active[p.index()] {
                        live.out[b.index()].insert(a);
                        live.used(n, a, b);
                    }
                }
            }
        }
        live
    }

    /// Marks a use in a block: the value is live on every path from its definition.
    fn used(&mut self, n: &CanonicalFunction, v: Value, b: Block) {
        let mut work = vec![b];
        while let Some(b) = work.pop() {
            if n.defining_block[v.index()] == b || !self.into[b.index()].insert(v) {
                continue;
            }
            for edge in &n.predecessors[b.index()] {
                self.out[edge.from.index()].insert(v);
                work.push(edge.from);
            }
        }
    }
}

/// Cotangents at the point at which the adjoint is being written.
#[derive(Debug)]
pub(super) struct Cotangents<'a> {
    n: &'a CanonicalFunction,
    f: &'a Function,
    active: &'a [bool],
    variables: HashMap<Value, Vec<Variable>>,
    /// Value of each variable that was defined once.
    given: HashMap<Variable, Option<Value>>,
    pending: HashSet<Value>,
    /// Zero of each kind of leaf, made at the start: paths that set the same variable to zero pass
    /// the same value.
    zeros: HashMap<Kind, Value>,
    /// Zeros that are as long as the arrays whose cotangents they are, by the primal value.
    sized: HashMap<Value, Value>,
    sizes: HashSet<Value>,
}

impl<'a> Cotangents<'a> {
    /// Creates cotangents that are all zero. The builder must be at the start of the adjoint.
    pub(super) fn new(
        b: &mut FunctionBuilder,
        n: &'a CanonicalFunction,
        active: &'a [bool],
    ) -> Cotangents<'a> {
        let (f, mut zeros) = (&n.f, HashMap::new());
        for (_, kind) in f.kinds.iter().filter(|(v, _)| active[v.index()]) {
            for leaf in tangent_leaves(kind) {
                zeros.entry(leaf.clone()).or_insert_with(|| b.zero(&leaf));
            }
        }
        let (variables, given, pending, sized, sizes) = Default::default();
        Cotangents { n, f, active, variables, given, pending, zeros, sized, sizes }
    }

    /// Initializes the cotangent of an array with `n` zeros, so that it need not grow with each
    /// element that is added to.
    pub(super) fn size(&mut self, b: &mut FunctionBuilder, v: Value, n: Value) {
        let kind = &self.f.kinds[v];
        if let Kind::Array(element) = kind {
            let zero = b.zero(&element.kind());
            let zeros = b.inst(Op::Fill, &[zero, n], kind.clone());
            self.sized.insert(v, zeros);
            self.sizes.insert(zeros);
        }
    }

    /// Returns the initial value of a leaf of a value's cotangent.
    fn zero_of(&self, b: &mut FunctionBuilder, v: Value, kind: &Kind) -> Value {
        self.sized.get(&v).copied().unwrap_or_else(|| self.zero(b, kind))
    }

    /// Returns true if a cotangent still is the zero that it was initialized with.
    fn is_zero(&self, b: &FunctionBuilder, v: Value) -> bool {
        b.constant(v) == Some(0.0) || b.is_empty_array(v) || self.sizes.contains(&v)
    }

    fn zero(&self, b: &mut FunctionBuilder, kind: &Kind) -> Value {
        self.zeros.get(kind).copied().unwrap_or_else(|| b.zero(kind))
    }

    /// Moves to a point at which the cotangents of these values are pending.
    pub(super) fn enter(&mut self, live: &HashSet<Value>) {
        self.pending = live.iter().copied().filter(|v| self.active[v.index()]).collect();
    }

    /// Moves on to a point at which these are pending: cotangents that are not yet pending are set
    /// to zero.
    pub(super) fn leave(&mut self, b: &mut FunctionBuilder, live: &HashSet<Value>) {
        let fresh = live.difference(&self.pending).copied().filter(|v| self.active[v.index()]);
        let mut fresh: Vec<Value> = fresh.collect();
        fresh.sort();
        fresh.into_iter().for_each(|v| self.start(b, v));
    }

    /// Returns the cotangent of a value, leaf by leaf, and resets it to zero.
    pub(super) fn take_cotangent(&mut self, b: &mut FunctionBuilder, v: Value) -> Vec<Value> {
        if self.pending.remove(&v) {
            // It was defined on every path that leads here. All additions are done: uses come after
            // the definition and are visited before it, except over the back edge of a loop. So if
            // it was defined once, no block parameter is needed.
            let variables = self.variables(b, v).to_vec();
            let done = self.n.runs_at_most_once(self.n.defining_block[v.index()]);
            let one = |variable| self.given.get(&variable).copied().flatten().filter(|_| done);
            return variables
                .into_iter()
                .map(|x| one(x).unwrap_or_else(|| b.use_variable(x)))
                .collect();
        }
        tangent_leaves(&self.f.kinds[v]).iter().map(|k| self.zero(b, k)).collect()
    }

    /// Adds to the leaves of a value's cotangent, from the `start`-th on.
    pub(super) fn add(&mut self, b: &mut FunctionBuilder, v: Value, start: usize, bars: &[Value]) {
        self.update(b, v, start, bars.len(), |b, k, old| match old {
            Some(old) => sum(b, old, bars[k]),
            None => bars[k],
        });
    }

    /// Adds to one element of an array's cotangent.
    pub(super) fn add_at(&mut self, b: &mut FunctionBuilder, v: Value, index: Value, bar: Value) {
        let kind = self.f.kinds[v].clone();
        let zero = self.zero_of(b, v, &kind);
        self.update(b, v, 0, 1, |b, _, old| {
            let old = old.unwrap_or(zero);
            b.inst(Op::AddAt, &[old, index, bar], kind.clone())
        });
    }

    /// Changes `n` leaves of a value's cotangent; a zero is given as `None`.
    fn update(
        &mut self,
        b: &mut FunctionBuilder,
        v: Value,
        start: usize,
        n: usize,
        mut change: impl FnMut(&mut FunctionBuilder, usize, Option<Value>) -> Value,
    ) {
        if !self.active[v.index()] {
            return;
        }
        if !self.pending.contains(&v) {
            self.start(b, v);
        }
        let variables = self.variables(b, v)[start..start + n].to_vec();
        for (k, variable) in variables.into_iter().enumerate() {
            let old = b.use_variable(variable);
            let old = Some(old).filter(|&old| !self.is_zero(b, old));
            let new = change(b, k, old);
            self.define(b, variable, new);
        }
    }

    /// Makes a cotangent pending that is zero so far.
    fn start(&mut self, b: &mut FunctionBuilder, v: Value) {
        for variable in self.variables(b, v).to_vec() {
            let kind = b.variable_kind(variable).clone();
            let zero = self.zero_of(b, v, &kind);
            self.define(b, variable, zero);
        }
        self.pending.insert(v);
    }

    fn define(&mut self, b: &mut FunctionBuilder, variable: Variable, value: Value) {
        self.given.entry(variable).and_modify(|given| *given = None).or_insert(Some(value));
        b.define(variable, value);
    }

    fn variables(&mut self, b: &mut FunctionBuilder, v: Value) -> &[Variable] {
        let kind = &self.f.kinds[v];
        let declare = || tangent_leaves(kind).into_iter().map(|leaf| b.declare(leaf)).collect();
        self.variables.entry(v).or_insert_with(declare)
    }
}

impl AdjointSweep<'_> {
    /// Returns the cotangent of a value, leaf by leaf, and its reach, and resets both to zero.
    pub(super) fn take_cotangent_and_reach(&mut self, v: Value) -> (Vec<Value>, Vec<Reach>) {
        let bars = self.bars.take_cotangent(&mut self.b, v);
        let reach = if self.analysis.reached.wanted[v.index()] {
            self.there.take_cotangent(&mut self.b, v).into_iter().map(Reach::Where).collect()
        } else {
            vec![Reach::Always; bars.len()]
        };
        (bars, reach)
    }

    /// Adds to the reaches of the leaves of a value's cotangent, from the `start`-th on, if it has
    /// reaches.
    pub(super) fn add_reach(&mut self, v: Value, start: usize, bars: &[Value], reach: &[Reach]) {
        if self.analysis.reached.wanted[v.index()] {
            let b = &mut self.b;
            let there: Vec<Value> =
                reach.iter().zip(bars).map(|(r, &bar)| r.value(b, bar)).collect();
            self.there.add(b, v, start, &there);
        }
    }

    pub(super) fn take_cotangent(&mut self, v: Value) -> Vec<Value> {
        self.take_cotangent_and_reach(v).0
    }

    pub(super) fn add(&mut self, v: Value, start: usize, bars: &[Value]) {
        self.bars.add(&mut self.b, v, start, bars);
    }
}
