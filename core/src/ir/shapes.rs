//! Shapes where they are known: what does not fit is found before a program runs.
//!
//! A value of a function is followed as far as it does not depend on data: ints, lists of ints, and the shapes of arrays.
//!
//! ```text
//! v0: array<real> = array …six numbers…        [6]
//! v3: array<int> = array v1, v2                 the list [2, 3]
//! v4: array<real> = on_arrays reshape v0, v3    [2, 3]
//! v5: array<real> = on_arrays transpose v4      [3, 2]
//! v6: array<real> = add v4, v5                  an error: [2, 3] and [3, 2]
//! ```
//!
//! Blocks are visited as the edges to them are; where the ways into one disagree, nothing is known, and a branch on a
//! known comparison goes one way. A call is followed into its function with what is known of the arguments. What is not
//! known is checked when the program runs, by the same words.
//!
//! Cost: O(size x depth of loops) for each function and what is known of its arguments.

use std::collections::HashMap;

use crate::{
    array::{ArrayError, Shape},
    entity::{Block, FuncId, Value},
};

use super::{
    function::{ENTRY, Function, InstData, Position, Program, Terminator},
    kind::Kind,
    op::{Compare, Op},
    shape_rules,
};

/// Shapes that do not fit, whatever the data are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {source}")]
pub struct ShapeError {
    /// The function.
    pub function: String,
    /// Where.
    pub at: Position,
    /// What does not fit.
    pub source: ArrayError,
}

/// What is known of a value before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub(super) enum Known {
    /// Nothing.
    #[default]
    Any,
    Int(i64),
    Bool(bool),
    /// A list of ints, with its elements.
    Ints(Vec<i64>),
    /// An array, with its shape.
    Array(Shape),
    Tuple(Vec<Known>),
}

impl Known {
    pub(super) fn shape(&self) -> Option<Shape> {
        match self {
            Known::Array(shape) => Some(shape.clone()),
            Known::Ints(list) => Some(Shape::from_slice(&[list.len()])),
            _ => None,
        }
    }

    /// What holds for both.
    fn meet(self, other: Known) -> Known {
        match (self, other) {
            (a, b) if a == b => a,
            (Known::Tuple(a), Known::Tuple(b)) if a.len() == b.len() => {
                Known::Tuple(a.into_iter().zip(b).map(|(a, b)| a.meet(b)).collect())
            }
            (a, b) => match (a.shape(), b.shape()) {
                (Some(a), Some(b)) if a == b => Known::Array(a),
                _ => Known::Any,
            },
        }
    }
}

/// The shapes that do not fit in a function and what it calls, where those of its parameters are as given; `None` is a
/// parameter of any shape, or none at all. One error for each place.
///
/// ```
/// use ketgrad_core::{array::Shape, ir::check_shapes, text::parse_program};
///
/// let source = "fn f(x: array, w: array) { sum(matmul(x, w)) }";
/// let program = parse_program(source).map_err(|e| e[0].clone())?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let shape = |lengths: &[usize]| Some(Shape::from_slice(lengths));
/// assert_eq!(check_shapes(&program, f, &[shape(&[4, 2]), shape(&[2, 3])]), []);
/// let errors = check_shapes(&program, f, &[shape(&[4, 2]), shape(&[3, 2])]);
/// let words = "1:32: `matmul` takes matrices m x k and k x n, given [4, 2] and [3, 2]";
/// assert_eq!(errors[0].to_string(), words);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn check_shapes(program: &Program, f: FuncId, params: &[Option<Shape>]) -> Vec<ShapeError> {
    let known = |k: usize| params.get(k).cloned().flatten().map_or(Known::Any, Known::Array);
    let n = program.functions[f].params.len();
    let mut all = Analysis { program, done: HashMap::new(), depth: 0 };
    all.function(f, (0..n).map(known).collect()).errors
}

/// Calls are followed so deep.
const MAX_DEPTH: usize = 32;
/// And so many different ones.
const MAX_CALLS: usize = 1000;

/// A block is visited so often at most; the chains of what can be known are short.
const MAX_VISITS: usize = 64;

/// What is found of a call.
#[derive(Clone, Default)]
struct Found {
    result: Known,
    errors: Vec<ShapeError>,
}

struct Analysis<'a> {
    program: &'a Program,
    /// What is found of a function for what is known of its arguments; nothing while it is being found out.
    done: HashMap<(FuncId, Vec<Known>), Found>,
    depth: usize,
}

impl Analysis<'_> {
    fn function(&mut self, f: FuncId, args: Vec<Known>) -> Found {
        let key = (f, args);
        if let Some(found) = self.done.get(&key) {
            return found.clone();
        }
        let function = &self.program.functions[f];
        if self.depth >= MAX_DEPTH || self.done.len() >= MAX_CALLS || !function.is_defined() {
            return Found::default();
        }
        self.done.insert(key.clone(), Found::default());
        self.depth += 1;
        let found = self.flow(function, &key.1);
        self.depth -= 1;
        self.done.insert(key, found.clone());
        found
    }

    fn flow(&mut self, f: &Function, args: &[Known]) -> Found {
        let mut known = vec![Known::Any; f.kinds.len()];
        // What the edges seen so far hand to each block.
        let mut entered: HashMap<Block, Vec<Known>> = HashMap::from([(ENTRY, args.to_vec())]);
        let mut visits: HashMap<Block, usize> = HashMap::new();
        let mut work = vec![ENTRY];
        while let Some(b) = work.pop() {
            let visited = visits.entry(b).or_default();
            *visited += 1;
            let first = *visited == 1;
            if *visited > MAX_VISITS {
                return Found::default();
            }
            let changed = self.block(f, b, &entered, &mut known, &mut None);
            for target in ways(&f.blocks[b].end, &known) {
                let handed: Vec<Known> = target.args.iter().map(|v| known[v.index()].clone()).collect();
                let before = entered.get(&target.block);
                let now: Vec<Known> = match before {
                    Some(before) => before.iter().cloned().zip(handed).map(|(a, b)| a.meet(b)).collect(),
                    None => handed,
                };
                if first || changed || before != Some(&now) {
                    entered.insert(target.block, now);
                    work.push(target.block);
                }
            }
        }
        // Once more through the blocks that are reached, with what holds on all ways.
        let (mut errors, mut result) = (Some(Vec::new()), None);
        for (b, block) in f.blocks.iter().filter(|(b, _)| visits.contains_key(b)) {
            self.block(f, b, &entered, &mut known, &mut errors);
            if let Terminator::Return(v) = &block.end {
                let value = known[v.index()].clone();
                result = Some(match result {
                    Some(before) => value.meet(before),
                    None => value,
                });
            }
        }
        Found { result: result.unwrap_or_default(), errors: errors.unwrap_or_default() }
    }

    /// One block: whether anything is known that was not, or not any more.
    fn block(
        &mut self,
        f: &Function,
        b: Block,
        entered: &HashMap<Block, Vec<Known>>,
        known: &mut [Known],
        errors: &mut Option<Vec<ShapeError>>,
    ) -> bool {
        let (block, mut changed) = (&f.blocks[b], false);
        let given = entered.get(&b).into_iter().flatten();
        block.params.iter().zip(given).for_each(|(p, k)| known[p.index()] = k.clone());
        for &i in &block.insts {
            let inst = &f.insts[i];
            let value = self.value(f, inst, known, errors).unwrap_or_else(|source| {
                let source = inst.at.explain(source);
                let error = ShapeError { function: f.name.clone(), at: inst.at, source };
                note(errors, error);
                Known::Any
            });
            if let Some(v) = inst.result {
                changed |= known[v.index()] != value;
                known[v.index()] = value;
            }
        }
        changed
    }

    fn value(
        &mut self,
        f: &Function,
        inst: &InstData,
        known: &[Known],
        errors: &mut Option<Vec<ShapeError>>,
    ) -> Result<Known, ArrayError> {
        let of = |v: &Value| known[v.index()].clone();
        match inst.op {
            Op::Call(g) => {
                let found = self.function(g, inst.args.iter().map(of).collect());
                found.errors.into_iter().for_each(|e| note(errors, e));
                Ok(found.result)
            }
            Op::Tuple => Ok(Known::Tuple(inst.args.iter().map(of).collect())),
            Op::Field(k) => Ok(match of(&inst.args[0]) {
                Known::Tuple(fields) => fields.get(k as usize).cloned().unwrap_or_default(),
                _ => Known::Any,
            }),
            Op::Select => Ok(of(&inst.args[1]).meet(of(&inst.args[2]))),
            op => {
                let args: Vec<&Known> = inst.args.iter().map(|v| &known[v.index()]).collect();
                let arrays: Vec<bool> =
                    inst.args.iter().map(|v| matches!(f.kinds[*v], Kind::Array(_))).collect();
                shape_rules::result(op, &args, &arrays)
            }
        }
    }
}

/// Notes an error once, if errors are asked for.
fn note(errors: &mut Option<Vec<ShapeError>>, error: ShapeError) {
    if let Some(all) = errors
        && !all.contains(&error)
    {
        all.push(error);
    }
}

/// The targets that a block may go on to.
fn ways<'f>(end: &'f Terminator, known: &[Known]) -> Vec<&'f super::function::Target> {
    match end {
        Terminator::Branch(c, yes, no) => match known[c.index()] {
            Known::Bool(true) => vec![yes],
            Known::Bool(false) => vec![no],
            _ => vec![yes, no],
        },
        other => other.targets().to_vec(),
    }
}

/// A comparison of known ints.
pub(super) fn compared(op: Compare, a: i64, b: i64) -> Known {
    Known::Bool(op.holds(Some(a.cmp(&b))))
}
