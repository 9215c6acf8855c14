//! The verifier: checks that a program is well formed.
//!
//! # Invariants
//! **Functions**
//! 1. The entry block's parameters are the function's, in number and kind.
//! 2. No edge leads to the entry block.
//! 3. Every block has a terminator; a returned value has the result kind.
//!
//! **Values**
//!
//! 4. A value is defined once: by one instruction or as one block's parameter.
//! 5. Every use is dominated by its definition: each path from the entry to the use passes it.
//!
//! **Instructions**
//!
//! 6. Operands and result have the kinds of the op ([`Op::result`]); a call's those of the function
//!    called.
//! 7. A tuple's operands are the fields of its kind. An array without operands has an array kind.
//! 8. An instruction has a result exactly if its op has one.
//!
//! These hold for instructions that are in no block, too.
//!
//! **Edges**
//!
//! 9. An edge passes one argument for each parameter of its target, of the same kind.
//! 10. A condition is a bool, a switch's index an int; a switch has a target.
//!
//! **Programs**
//!
//! 11. Functions, primitives and rules that are named exist, and every function has a body.
//! 12. A pullback takes the inputs, the result and its cotangent, and returns a tuple of the
//!     cotangents of the inputs that have one. A pushforward takes the inputs and their tangents
//!     and returns the result's.
//!
//! **Limits**
//!
//! 13. Tapes have numbers below 4096. Kinds are nested at most 256 deep, and have at most 2^20
//!     leaves.
//!
//! Passes may rely on all of them and must keep them. In debug builds they are checked between
//! passes. Wherever a program enters (`Derivatives`,
//! `Bytecode::compile`, the transforms of
//! [`adjoint`](crate::adjoint), the emitters) the part of it that is used is
//! [checked](verify_reachable) first. Cost: O(size log size).

use std::{collections::HashSet, sync::Arc};

use crate::entity::{Block, FuncId, Inst, PrimitiveId, Value};

use super::{
    function::{ENTRY, Function, InstData, Position, Program, Target, Terminator},
    kind::{Kind, TupleKind},
    op::{Op, join},
    print::PrintedInst,
};

/// Limits of invariant 13.
const MAX_TAPES: u32 = 4096;
const MAX_DEPTH: usize = 256;
const MAX_LEAVES: usize = 1 << 20;

/// Violation of an invariant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}the program is not well formed: in `{function}`{}: {what}", start(*at), parts(*place, text))]
#[non_exhaustive]
pub struct Violation {
    /// The function.
    pub function: String,
    /// The block.
    pub place: Option<Block>,
    /// Text of the instruction or of the terminator, such as `v2: real = add v0, v1`.
    pub text: Option<String>,
    /// Source position of the instruction.
    pub at: Position,
    /// Number of the invariant in the module's documentation.
    pub invariant: u8,
    /// Description: what was found and what was expected.
    pub what: String,
}

/// Formats `3:5: `, if the position is known.
fn start(at: Position) -> String {
    if at.is_known() { format!("{at}: ") } else { String::new() }
}

fn parts(place: Option<Block>, text: &Option<String>) -> String {
    let place = place.map(|p| format!(", {p}")).unwrap_or_default();
    place + &text.as_ref().map(|t| format!(", `{t}`")).unwrap_or_default()
}

/// Checks a program and returns all violations.
#[must_use]
pub fn verify(program: &Program) -> Vec<Violation> {
    let mut all = Vec::new();
    for id in program.functions.keys() {
        all.extend(verify_function(program, id));
        all.extend(verify_rule(program, id));
    }
    for id in program.primitives.keys() {
        all.extend(verify_primitive(program, id));
    }
    all
}

/// Checks a function with all that it reaches by calls and rules. Of functions without a body only
/// the declarations are checked: a user that needs the body rejects them.
///
/// # Errors
/// The first broken invariant, if any.
pub fn verify_reachable(program: &Program, root: FuncId) -> Result<(), Violation> {
    if program.functions.get(root).is_none() {
        return Err(Violation::in_function(root.to_string(), 11, format!("{root} does not exist")));
    }
    let mut primitives = HashSet::new();
    for id in program.reachable(root) {
        let Some(f) = program.functions.get(id) else { continue };
        let found = if f.is_defined() { verify_function(program, id) } else { Vec::new() };
        if let Some(violation) = found.into_iter().chain(verify_rule(program, id)).next() {
            return Err(violation);
        }
        primitives.extend(f.blocks.values().flat_map(|b| &b.insts).filter_map(|&i| {
            match f.insts[i].op {
                Op::Primitive(p) => Some(p),
                _ => None,
            }
        }));
    }
    // Pullbacks and pushforwards of primitives are primitives of the host too.
    let mut work: Vec<PrimitiveId> = primitives.iter().copied().collect();
    while let Some(p) = work.pop() {
        if let Some(violation) = verify_primitive(program, p).into_iter().next() {
            return Err(violation);
        }
        let Some(p) = program.primitives.get(p) else { continue };
        work.extend(
            [p.pullback, p.pushforward].into_iter().flatten().filter(|q| primitives.insert(*q)),
        );
    }
    Ok(())
}

/// Name, operands and result of a callee.
type CallSignature<'a> = (&'a str, Vec<Kind>, &'a Kind);

/// Checks invariant 12 for a function.
fn verify_rule(program: &Program, id: FuncId) -> Vec<Violation> {
    let signature = |g: FuncId| {
        let g = program.functions.get(g)?;
        Some((g.name.as_str(), g.params.iter().map(|p| p.kind.clone()).collect(), &g.result))
    };
    let (Some(own), Some(rule)) = (signature(id), program.rule(id)) else { return Vec::new() };
    check_rules(own, rule.pullback, rule.pushforward, signature)
}

/// Checks invariant 12 for a primitive.
fn verify_primitive(program: &Program, id: PrimitiveId) -> Vec<Violation> {
    let signature = |p: PrimitiveId| {
        let p = program.primitives.get(p)?;
        Some((p.name.as_str(), p.params.clone(), &p.result))
    };
    let (Some(own), Some(p)) = (signature(id), program.primitives.get(id)) else {
        return Vec::new();
    };
    check_rules(own, p.pullback, p.pushforward, signature)
}

fn check_rules<'a, Id: std::fmt::Display + Copy>(
    (name, inputs, result): CallSignature<'_>,
    pullback: Option<Id>,
    pushforward: Option<Id>,
    signature: impl Fn(Id) -> Option<CallSignature<'a>>,
) -> Vec<Violation> {
    let tangents: Vec<Kind> = inputs.iter().filter_map(Kind::tangent).collect();
    let mut found = Vec::new();
    let mut check = |g: Id, params: Vec<Kind>, result: &Kind| {
        let mut report =
            |what: String| found.push(Violation::in_function(name.to_owned(), 12, what));
        let Some((rule, given, gives)) = signature(g) else {
            return report(format!("its rule {g} does not exist"));
        };
        if given != params {
            report(format!("its rule `{rule}` takes {}, expected {}", join(&given), join(&params)));
        }
        if gives != result {
            report(format!("its rule `{rule}` gives {gives}, expected {result}"));
        }
    };
    if let Some(g) = pullback {
        let given = [Some(result.clone()), result.tangent()].into_iter().flatten();
        check(g, inputs.iter().cloned().chain(given).collect(), &Kind::tuple(tangents.clone()));
    }
    if let Some(g) = pushforward {
        let result = result.tangent().unwrap_or(Kind::tuple([]));
        check(g, inputs.iter().cloned().chain(tangents).collect(), &result);
    }
    found
}

/// Checks one function of a program.
pub(crate) fn verify_function(program: &Program, id: FuncId) -> Vec<Violation> {
    let Some(f) = program.functions.get(id) else {
        return vec![Violation::in_function(id.to_string(), 11, format!("{id} does not exist"))];
    };
    let (found, at) = (Vec::new(), Position::default());
    let mut v = Verifier { program, f, found, block: None, line: VerifiedPoint::None, at };
    v.run();
    v.found
}

impl Violation {
    fn in_function(function: String, invariant: u8, what: String) -> Violation {
        Violation { function, place: None, text: None, at: Position::default(), invariant, what }
    }
}

struct Verifier<'a> {
    program: &'a Program,
    f: &'a Function,
    found: Vec<Violation>,
    block: Option<Block>,
    line: VerifiedPoint,
    at: Position,
}

/// Part of a block that is being checked.
#[derive(Clone, Copy)]
enum VerifiedPoint {
    None,
    Inst(Inst),
    End,
}

impl Verifier<'_> {
    fn report(&mut self, invariant: u8, what: String) {
        let (function, place, at) = (self.f.name.clone(), self.block, self.at);
        let text = match self.line {
            VerifiedPoint::None => None,
            VerifiedPoint::Inst(i) => self
                .f
                .insts
                .get(i)
                .map(|inst| PrintedInst(self.f, inst, Some(self.program)).to_string()),
            VerifiedPoint::End => place.and_then(|b| Some(self.f.blocks.get(b)?.end.to_string())),
        };
        self.found.push(Violation { function, place, text, at, invariant, what });
    }

    fn run(&mut self) {
        let f = self.f;
        if !f.is_defined() {
            return self.report(11, "declared, but without a body".into());
        }
        let entry: Vec<Kind> =
            f.blocks[ENTRY].params.iter().filter_map(|&v| f.kinds.get(v).cloned()).collect();
        let params: Vec<Kind> = f.params.iter().map(|p| p.kind.clone()).collect();
        if entry != params {
            self.report(
                1,
                format!("the entry takes {}, the function {}", join(&entry), join(&params)),
            );
        }
        self.sizes();
        let mut listed = vec![false; f.insts.len()];
        for (b, block) in f.blocks.iter() {
            (self.block, self.line, self.at) = (Some(b), VerifiedPoint::None, Position::default());
            for &p in &block.params {
                self.kind(p);
            }
            for &i in &block.insts {
                let Some(inst) = f.insts.get(i) else {
                    self.report(4, format!("{i} does not exist"));
                    continue;
                };
                (self.line, self.at) = (VerifiedPoint::Inst(i), inst.at);
                if std::mem::replace(&mut listed[i.index()], true) {
                    self.report(4, "the same instruction is in two places".into());
                }
                self.instruction(inst);
            }
            (self.line, self.at) = (VerifiedPoint::End, block.end_at);
            self.end(&block.end);
        }
        // Analyses that iterate over all instructions also visit those that are in no block.
        for (i, inst) in f.insts.iter().filter(|(i, _)| !listed[i.index()]) {
            (self.block, self.line, self.at) = (None, VerifiedPoint::Inst(i), inst.at);
            self.instruction(inst);
        }
        (self.block, self.line, self.at) = (None, VerifiedPoint::None, Position::default());
        if self.found.is_empty() {
            self.dominance();
        }
    }

    /// Checks invariant 13 for kinds.
    fn sizes(&mut self) {
        let mut seen: HashSet<*const TupleKind> = HashSet::new();
        let kinds = self
            .f
            .kinds
            .values()
            .chain(self.f.params.iter().map(|p| &p.kind))
            .chain([&self.f.result]);
        for kind in kinds {
            let Kind::Tuple(t) = kind else { continue };
            if seen.insert(Arc::as_ptr(t)) && !bounded(kind, 0, &mut MAX_LEAVES.clone()) {
                let what = format!(
                    "a kind of more than {MAX_LEAVES} leaves, or nested more than {MAX_DEPTH} deep"
                );
                return self.report(13, what);
            }
        }
    }

    fn kind(&mut self, v: Value) -> Option<Kind> {
        let kind = self.f.kinds.get(v).cloned();
        if kind.is_none() {
            self.report(4, format!("{v} is defined nowhere"));
        }
        kind
    }

    fn instruction(&mut self, inst: &InstData) {
        let Some(args) = inst.args.iter().map(|&v| self.kind(v)).collect::<Option<Vec<Kind>>>()
        else {
            return;
        };
        let result = match inst.result {
            Some(v) => match self.kind(v) {
                Some(k) => Some(k),
                None => return,
            },
            None => None,
        };
        let decided = match inst.op {
            Op::Push { tape, .. } | Op::Pop { tape, .. } if tape >= MAX_TAPES => {
                return self.report(13, format!("tape {tape}: expected one below {MAX_TAPES}"));
            }
            Op::Call(g) => return self.call(g, &args, result),
            Op::Primitive(g) => return self.primitive(g, &args, result),
            Op::Tuple => {
                let fields: Option<Vec<Kind>> =
                    result.as_ref().map(|k| k.fields().iter().map(|f| f.kind.clone()).collect());
                if !matches!(result, Some(Kind::Tuple(_))) || fields.as_deref() != Some(&args[..]) {
                    let given = join(&args);
                    self.report(7, format!("a tuple of {given} as {}", shown(result.as_ref())));
                }
                return;
            }
            Op::Array if args.is_empty() => {
                if !matches!(result, Some(Kind::Array(_))) {
                    self.report(7, format!("an array as {}", shown(result.as_ref())));
                }
                return;
            }
            Op::Pop { .. } => {
                if result.is_none() || !args.is_empty() {
                    self.report(8, "a pop takes nothing and gives a value".into());
                }
                return;
            }
            op => op.result(&args),
        };
        match decided {
            Err(expected) => {
                self.report(6, format!("{} takes {expected}, given {}", inst.op, join(&args)));
            }
            Ok(expected) if expected != result => {
                let (expected, given) = (shown(expected.as_ref()), shown(result.as_ref()));
                self.report(8, format!("{} gives {expected}, not {given}", inst.op));
            }
            Ok(_) => {}
        }
    }

    fn call(&mut self, g: FuncId, args: &[Kind], result: Option<Kind>) {
        let Some(callee) = self.program.functions.get(g) else {
            return self.report(11, format!("{g} does not exist"));
        };
        let params: Vec<Kind> = callee.params.iter().map(|p| p.kind.clone()).collect();
        self.signature(&callee.name, &params, &callee.result, args, result);
    }

    fn primitive(&mut self, g: PrimitiveId, args: &[Kind], result: Option<Kind>) {
        let Some(callee) = self.program.primitives.get(g) else {
            return self.report(11, format!("{g} does not exist"));
        };
        self.signature(&callee.name, &callee.params, &callee.result, args, result);
    }

    fn signature(
        &mut self,
        name: &str,
        params: &[Kind],
        gives: &Kind,
        args: &[Kind],
        result: Option<Kind>,
    ) {
        if params != args {
            self.report(6, format!("{name} takes {}, given {}", join(params), join(args)));
        }
        if result.as_ref() != Some(gives) {
            self.report(6, format!("{name} gives {gives}, not {}", shown(result.as_ref())));
        }
    }

    fn end(&mut self, end: &Terminator) {
        let operand = end.operand().map(|v| self.kind(v));
        match (end, operand.flatten()) {
            (Terminator::Open, _) => self.report(3, "the block does not end".into()),
            (Terminator::Branch(..), Some(k)) if k != Kind::Bool => {
                self.report(10, format!("a condition is a bool, given {k}"));
            }
            (Terminator::Switch(_, targets), _) if targets.is_empty() => {
                self.report(10, "a switch without targets".into());
            }
            (Terminator::Switch(..), Some(k)) if k != Kind::Int => {
                self.report(10, format!("a switch takes an int, given {k}"));
            }
            (Terminator::Return(_), Some(k)) if k != self.f.result => {
                self.report(3, format!("returns {k}, expected {}", self.f.result));
            }
            _ => {}
        }
        for target in end.targets() {
            self.edge(target);
        }
    }

    fn edge(&mut self, target: &Target) {
        let Some(to) = self.f.blocks.get(target.block) else {
            return self.report(9, format!("{} does not exist", target.block));
        };
        if target.block == ENTRY {
            self.report(2, "an edge leads to the entry block".into());
        }
        let Some(args) = target.args.iter().map(|&v| self.kind(v)).collect::<Option<Vec<Kind>>>()
        else {
            return;
        };
        let params: Vec<Kind> =
            to.params.iter().filter_map(|&v| self.f.kinds.get(v).cloned()).collect();
        if args != params {
            self.report(
                9,
                format!("{} takes {}, given {}", target.block, join(&params), join(&args)),
            );
        }
    }

    /// Checks invariants 4 and 5, after everything else holds.
    fn dominance(&mut self) {
        let f = self.f;
        // Definition of each value: block and index in it; parameters before the first instruction.
        let mut defined: Vec<Option<(Block, usize)>> = vec![None; f.kinds.len()];
        for (b, block) in f.blocks.iter() {
            let insts = block.insts.iter().enumerate();
            let results =
                insts.filter_map(|(k, &i): (usize, &Inst)| Some((f.insts[i].result?, k + 1)));
            let params = block.params.iter().map(|&p| (p, 0));
            for (v, place) in params.chain(results) {
                if defined[v.index()].replace((b, place)).is_some() {
                    self.block = Some(b);
                    self.report(4, format!("{v} is defined twice"));
                }
            }
        }
        let tree = DominatorTree::new(f);
        let mut uses: Vec<(Value, Block, usize)> = Vec::new();
        for (b, block) in f.blocks.iter() {
            for (k, &i) in block.insts.iter().enumerate() {
                uses.extend(f.insts[i].args.iter().map(|&v| (v, b, k)));
            }
            let last = block.insts.len();
            let args =
                block.end.targets().into_iter().flat_map(|t| t.args.clone()).collect::<Vec<_>>();
            uses.extend(block.end.operand().into_iter().chain(args).map(|v| (v, b, last)));
        }
        for (v, b, place) in uses {
            // Unreachable blocks are dominated by every block.
            let unreached = b != ENTRY && tree.immediate_dominator(b).is_none();
            let fine = defined[v.index()].is_some_and(|(d, after)| {
                unreached || if d == b { after <= place } else { tree.dominates(d, b) }
            });
            if !fine {
                let block = &f.blocks[b];
                (self.block, self.line, self.at) = match block.insts.get(place) {
                    Some(&i) => (Some(b), VerifiedPoint::Inst(i), f.insts[i].at),
                    None => (Some(b), VerifiedPoint::End, block.end_at),
                };
                self.report(5, format!("{v} is used where it is not defined on every path"));
            }
        }
    }
}

/// Returns true if a kind stays within the limits; `leaves` is the number of leaves it may have.
fn bounded(kind: &Kind, depth: usize, leaves: &mut usize) -> bool {
    let Some(left) = leaves.checked_sub(1) else { return false };
    // A tuple counts as well, so that many empty ones are limited too.
    *leaves = left;
    depth <= MAX_DEPTH && kind.fields().iter().all(|f| bounded(&f.kind, depth + 1, leaves))
}

fn shown(kind: Option<&Kind>) -> String {
    kind.map_or("nothing".to_owned(), ToString::to_string)
}

/// Dominator tree with preorder and postorder numbers, so that a dominance query is one comparison.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct DominatorTree {
    parents: Vec<Option<Block>>,
    /// Times at which a depth-first search enters and leaves each block.
    spans: Vec<(usize, usize)>,
}

impl DominatorTree {
    #[doc(hidden)]
    pub fn new(f: &Function) -> DominatorTree {
        let parents = dominators(f);
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); parents.len()];
        let mut stack = Vec::new();
        for (b, parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => below[parent.index()].push(b),
                None => stack.push((b, false)),
            }
        }
        let (mut spans, mut time) = (vec![(0, 0); parents.len()], 0);
        while let Some((b, leaves)) = stack.pop() {
            time += 1;
            if leaves {
                spans[b].1 = time;
            } else {
                spans[b].0 = time;
                stack.push((b, true));
                stack.extend(below[b].iter().map(|b| (*b, false)));
            }
        }
        DominatorTree { parents, spans }
    }

    /// Returns the immediate dominator of a block; `None` for the entry and for unreachable blocks.
    #[doc(hidden)]
    pub fn immediate_dominator(&self, b: Block) -> Option<Block> {
        self.parents[b.index()]
    }

    /// Returns true if `a` dominates `b`: it is on every path from the entry to `b`.
    #[doc(hidden)]
    pub fn dominates(&self, a: Block, b: Block) -> bool {
        let (a, b) = (self.spans[a.index()], self.spans[b.index()]);
        a.0 <= b.0 && b.1 <= a.1
    }
}

/// Computes the immediate dominator of each block; `None` for the entry and for unreachable blocks.
///
/// Source: L. Georgiadis, R. Tarjan, R. Werneck, "Finding dominators in practice" (2006):
/// semidominators as those of T. Lengauer and R. Tarjan, from which the nearest common ancestors
/// follow.
fn dominators(f: &Function) -> Vec<Option<Block>> {
    let n = f.blocks.len();
    // Depth-first numbers of the blocks, and their parents in the spanning tree. From here on
    // blocks are numbers.
    let mut number = vec![usize::MAX; n];
    let (mut blocks, mut parents) = (vec![ENTRY], vec![0]);
    number[ENTRY.index()] = 0;
    let mut stack = vec![(ENTRY, 0)];
    while let Some((b, k)) = stack.pop() {
        let Some(to) = f.blocks[b].end.targets().get(k).map(|t| t.block) else { continue };
        stack.push((b, k + 1));
        if number[to.index()] == usize::MAX {
            number[to.index()] = blocks.len();
            blocks.push(to);
            parents.push(number[b.index()]);
            stack.push((to, 0));
        }
    }
    let edges = f.predecessors();
    let mut found = parents.clone();
    let mut walk = LinkEvalForest {
        semi: (0..blocks.len()).collect(),
        labels: (0..blocks.len()).collect(),
        ancestors: parents,
    };
    for w in (1..blocks.len()).rev() {
        let mut semi = found[w];
        for from in edges[blocks[w].index()].iter().map(|e| number[e.from.index()]) {
            if from != usize::MAX {
                let u = walk.eval(from, w + 1);
                semi = semi.min(walk.semi[u]);
            }
        }
        walk.semi[w] = semi;
    }
    for w in 1..blocks.len() {
        while found[w] > walk.semi[w] {
            found[w] = found[found[w]];
        }
    }
    let mut dominators = vec![None; n];
    for w in 1..blocks.len() {
        dominators[blocks[w].index()] = Some(blocks[found[w]]);
    }
    dominators
}

/// Link-eval forest of Lengauer and Tarjan, with path compression.
struct LinkEvalForest {
    semi: Vec<usize>,
    /// Vertex of least semidominator on the path to the ancestor.
    labels: Vec<usize>,
    ancestors: Vec<usize>,
}

impl LinkEvalForest {
    /// Returns the vertex of least semidominator among `v` and its ancestors with numbers from
    /// `first` on. Compresses the path.
    fn eval(&mut self, v: usize, first: usize) -> usize {
        let mut path = Vec::new();
        let mut at = v;
        while self.ancestors[at] >= first {
            path.push(at);
            at = self.ancestors[at];
        }
        while let Some(below) = path.pop() {
            self.ancestors[below] = self.ancestors[at];
            if self.semi[self.labels[at]] < self.semi[self.labels[below]] {
                self.labels[below] = self.labels[at];
            }
            at = below;
        }
        self.labels[v]
    }
}

#[cfg(test)]
mod tests {
    use support::random::Rng;

    use super::*;
    use crate::ir::{BlockData, Kind};

    /// Blocks that branch to two blocks each, but for the last, which returns.
    fn branching(targets: &[[usize; 2]]) -> Function {
        let mut f = Function::declared("f", vec![], Kind::Bool);
        let c = f.new_value(Kind::Bool);
        for [yes, no] in targets {
            let target = |b: &usize| Target::new(Block::new(*b), vec![]);
            let end = Terminator::Branch(c, target(yes), target(no));
            f.blocks.push(BlockData { end, ..BlockData::default() });
        }
        f.blocks.push(BlockData { end: Terminator::Return(c), ..BlockData::default() });
        f
    }

    /// Returns the blocks that the entry reaches without passing `without`.
    fn reached(f: &Function, without: Option<Block>) -> Vec<bool> {
        let mut reached = vec![false; f.blocks.len()];
        let mut work = vec![ENTRY];
        while let Some(b) = work.pop() {
            if Some(b) != without && !std::mem::replace(&mut reached[b.index()], true) {
                work.extend(f.blocks[b].end.targets().iter().map(|t| t.block));
            }
        }
        reached
    }

    #[test]
    fn who_dominates_lies_on_every_path() {
        let mut rng = Rng::new(1);
        for n in 2..40 {
            let targets: Vec<[usize; 2]> =
                (1..n).map(|_| [1 + rng.below(n - 1), 1 + rng.below(n - 1)]).collect();
            let f = branching(&targets);
            let (tree, all) = (DominatorTree::new(&f), reached(&f, None));
            for a in f.blocks.keys().filter(|a| all[a.index()]) {
                let without = reached(&f, Some(a));
                for b in f.blocks.keys().filter(|b| all[b.index()]) {
                    assert_eq!(
                        tree.dominates(a, b),
                        !without[b.index()],
                        "{a} and {b} of {targets:?}"
                    );
                }
                assert_eq!(tree.immediate_dominator(a).is_none(), a == ENTRY, "{a} of {targets:?}");
            }
        }
    }
}
