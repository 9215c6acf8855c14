//! Shape checking before a program runs, where shapes are known: abstract interpretation.
//!
//! Values are tracked as far as they do not depend on data: ints, lists of ints, and the shapes of
//! arrays.
//!
//! ```text
//! v0: array<real> = array …six numbers…        [6]
//! v3: array<int> = array v1, v2                 the list [2, 3]
//! v4: array<real> = on_arrays reshape v0, v3    [2, 3]
//! v5: array<real> = on_arrays transpose v4      [3, 2]
//! v6: array<real> = add v4, v5                  an error: [2, 3] and [3, 2]
//! ```
//!
//! Blocks are visited as their incoming edges are; where the values of several edges differ, the
//! result is unknown, and a branch on a known comparison is followed to one side only. A call is
//! analyzed with the abstract values of its arguments; a value popped from a tape is the meet of
//! the values of all pushes of its slot. Unknown shapes are checked when the program runs, with the
//! same messages.
//!
//! Cost: O(size x depth of loops) for each function and each set of abstract arguments.

use std::{
    collections::{HashMap, HashSet},
    rc::Rc,
};

use crate::{
    array::{ArrayError, MAX_ELEMENTS, Shape},
    entity::{Block, FuncId, PrimitiveId, Value},
};

use super::{
    function::{ENTRY, Function, InstData, Position, Program, Terminator},
    kind::Kind,
    op::{Compare, Op},
    shape_rules,
};

/// Error of shapes that do not fit, whatever the data are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {source}")]
pub struct ShapeError {
    /// Name of the function.
    pub function: String,
    /// Position in the source.
    pub at: Position,
    /// Shapes that do not fit.
    pub source: ArrayError,
}

/// Abstract value: what is known of a value before the program runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
#[doc(hidden)]
pub enum AbstractValue {
    /// Nothing.
    #[default]
    Any,
    Int(i64),
    Bool(bool),
    /// A list of ints, with its elements.
    Ints(Vec<i64>),
    /// An array, with its shape.
    Array(Shape),
    /// An array of this shape, or the empty vector, which is a cotangent that nothing was added to.
    ArrayOrEmpty(Shape),
    Tuple(Vec<AbstractValue>),
}

impl AbstractValue {
    #[doc(hidden)]
    pub fn shape(&self) -> Option<Shape> {
        match self {
            AbstractValue::Array(shape) => Some(shape.clone()),
            AbstractValue::Ints(list) => Some(Shape::from_slice(&[list.len()])),
            _ => None,
        }
    }

    /// Returns the meet of two abstract values: what holds for both.
    fn meet(self, other: AbstractValue) -> AbstractValue {
        match (self, other) {
            (a, b) if a == b => a,
            (AbstractValue::Tuple(a), AbstractValue::Tuple(b)) if a.len() == b.len() => {
                AbstractValue::Tuple(a.into_iter().zip(b).map(|(a, b)| a.meet(b)).collect())
            }
            (AbstractValue::ArrayOrEmpty(whole), other)
            | (other, AbstractValue::ArrayOrEmpty(whole)) => match other.shape() {
                Some(shape) if shape == whole || is_empty(&shape) => {
                    AbstractValue::ArrayOrEmpty(whole)
                }
                _ => AbstractValue::Any,
            },
            (a, b) => match (a.shape(), b.shape()) {
                (Some(a), Some(b)) if a == b => AbstractValue::Array(a),
                (Some(a), Some(b)) if is_empty(&a) => AbstractValue::ArrayOrEmpty(b),
                (Some(a), Some(b)) if is_empty(&b) => AbstractValue::ArrayOrEmpty(a),
                _ => AbstractValue::Any,
            },
        }
    }
}

/// Returns true if the shape is that of the vector without elements.
pub(super) fn is_empty(shape: &[usize]) -> bool {
    *shape == [0]
}

/// Assumptions of the analysis besides the arguments.
#[derive(Clone, Debug)]
#[doc(hidden)]
pub struct ShapeAssumptions {
    /// Maximum number of elements of an array: larger ones are never made.
    #[doc(hidden)]
    pub limit: usize,
    /// Results of primitives that are constant.
    #[doc(hidden)]
    pub primitives: HashMap<PrimitiveId, AbstractValue>,
    /// Abstract values that other functions push to tapes, by tape and slot.
    #[doc(hidden)]
    pub slots: HashMap<(u32, u32), AbstractValue>,
    /// Number of instructions that may be visited, repeats included, in a function with all that it
    /// calls.
    #[doc(hidden)]
    pub work: usize,
}

impl Default for ShapeAssumptions {
    fn default() -> ShapeAssumptions {
        ShapeAssumptions {
            limit: MAX_ELEMENTS,
            primitives: HashMap::new(),
            slots: HashMap::new(),
            work: 5_000_000,
        }
    }
}

/// Result of the analysis of a function.
#[derive(Clone, Debug, Default)]
#[doc(hidden)]
pub struct ShapeFacts {
    /// Abstract values, by the number of the value.
    #[doc(hidden)]
    pub values: Vec<AbstractValue>,
    /// Abstract values of the slots of tapes that it pushes to.
    #[doc(hidden)]
    pub slots: HashMap<(u32, u32), AbstractValue>,
}

/// Analyzes a function that is run by itself, for abstract values of its arguments; `None` if
/// shapes do not fit. Values in blocks that are never reached are unknown.
#[doc(hidden)]
pub fn known_values(
    program: &Program,
    f: FuncId,
    args: Vec<AbstractValue>,
    given: &ShapeAssumptions,
) -> Option<ShapeFacts> {
    let mut all = ShapeAnalysis::new(program, given);
    let (found, facts) = all.flow(f, &args);
    found.errors.is_empty().then_some(facts)
}

/// Returns the shapes that do not fit in a function and its callees, for the given shapes of its
/// parameters; `None` is a parameter of any shape, or no array. One error for each position.
///
/// ```
/// use ketgrad_core::{array::Shape, ir::check_shapes, text::parse_program};
///
/// let source = "fn f(x: array, w: array) { sum(matmul(x, w)) }";
/// let program = parse_program(source)?;
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
    check_shapes_within(program, f, params, ShapeAssumptions::default().work)
}

/// Checks the shapes of a function within a number of instructions, each counted as often as it is
/// visited: a function that would take more is assumed to be right, and its result may be of any
/// shape. Every reported error is one in any case. [`check_shapes`] visits at most 5,000,000.
#[must_use]
pub fn check_shapes_within(
    program: &Program,
    f: FuncId,
    params: &[Option<Shape>],
    work: usize,
) -> Vec<ShapeError> {
    let given = ShapeAssumptions { work, ..ShapeAssumptions::default() };
    let known = |k: usize| {
        let shape = params.get(k).cloned().flatten();
        shape.map_or(AbstractValue::Any, |shape| {
            shape_rules::bounded(AbstractValue::Array(shape), given.limit)
        })
    };
    let n = program.functions[f].params.len();
    let mut all = ShapeAnalysis::new(program, &given);
    all.function(f, (0..n).map(known).collect()).errors
}

/// Checks the shapes of several functions, whose parameters are of any shape: each is analyzed by
/// itself, all of them within the same limit.
pub(crate) fn check_all_shapes<'a>(
    program: &'a Program,
    functions: impl IntoIterator<Item = FuncId> + 'a,
) -> impl Iterator<Item = ShapeError> + 'a {
    let given = ShapeAssumptions::default();
    let mut fuel = given.work;
    functions.into_iter().flat_map(move |f| {
        let mut all = ShapeAnalysis::new(program, &given);
        all.fuel = fuel;
        let found = all.function(f, vec![AbstractValue::Any; program.functions[f].params.len()]);
        fuel = all.fuel;
        found.errors
    })
}

/// Maximum depth of calls that are analyzed.
const MAX_DEPTH: usize = 32;
/// Maximum number of different calls that are analyzed.
const MAX_CALLS: usize = 1000;

/// Maximum number of iterations over all blocks; the lattice has short chains.
const MAX_ROUNDS: usize = 64;

/// Result of the analysis of a call.
#[derive(Clone, Default)]
struct CallShapes {
    result: AbstractValue,
    errors: Vec<ShapeError>,
}

/// State of the data-flow analysis of one function.
struct ShapeState {
    known: Vec<AbstractValue>,
    /// Meet of the arguments of the edges seen so far, for each block.
    entered: Vec<Option<Vec<AbstractValue>>>,
    tapes: TapeShapes,
    errors: Option<Vec<ShapeError>>,
}

/// Abstract values that the pushes of a function put on tapes, for each tape and slot.
struct TapeShapes {
    pushed: HashMap<(u32, u32), AbstractValue>,
    /// Slots to which other functions, or other calls of this one, push too.
    foreign: ForeignSlots,
}

/// Slots to which the callees of a function push; `None` is all slots, since the function is
/// recursive.
type ForeignSlots = Option<Rc<HashSet<(u32, u32)>>>;

impl TapeShapes {
    fn new(foreign: ForeignSlots) -> TapeShapes {
        TapeShapes { pushed: HashMap::new(), foreign }
    }

    /// Adds a pushed value to the slot. Returns true if less is known of the slot than before.
    fn push(&mut self, slot: (u32, u32), value: &AbstractValue) -> bool {
        let now = match self.pushed.get(&slot) {
            Some(before) => before.clone().meet(value.clone()),
            None => value.clone(),
        };
        self.pushed.insert(slot, now.clone()) != Some(now)
    }

    fn pop(&self, slot: (u32, u32)) -> AbstractValue {
        let known = self.foreign.as_ref().is_some_and(|foreign| !foreign.contains(&slot));
        self.pushed.get(&slot).filter(|_| known).cloned().unwrap_or_default()
    }
}

struct ShapeAnalysis<'a> {
    program: &'a Program,
    given: &'a ShapeAssumptions,
    /// Results for each function and abstract arguments; empty while the function is being
    /// analyzed.
    done: HashMap<(FuncId, Vec<AbstractValue>), CallShapes>,
    /// Foreign slots of the functions that pop from a tape.
    foreign: HashMap<FuncId, ForeignSlots>,
    depth: usize,
    /// Number of instructions that may still be visited; at 0 every value is unknown.
    fuel: usize,
}

impl<'a> ShapeAnalysis<'a> {
    fn new(program: &'a Program, given: &'a ShapeAssumptions) -> ShapeAnalysis<'a> {
        let (done, foreign) = (HashMap::new(), HashMap::new());
        ShapeAnalysis { program, given, done, foreign, depth: 0, fuel: given.work }
    }

    /// Returns the slots to which callees push. All callees are walked over, so this is computed
    /// only for functions that pop.
    fn foreign(&mut self, f: FuncId) -> ForeignSlots {
        let program = self.program;
        if !program.functions[f].insts.values().any(|inst| matches!(inst.op, Op::Pop { .. })) {
            return None;
        }
        let found = self.foreign.entry(f).or_insert_with(|| {
            let mut others: HashSet<FuncId> = HashSet::new();
            let mut work = program.functions[f].callees();
            while let Some(g) = work.pop() {
                if others.insert(g) {
                    work.extend(program.functions[g].callees());
                }
            }
            let slot = |inst: &InstData| match inst.op {
                Op::Push { tape, slot } => Some((tape, slot)),
                _ => None,
            };
            let pushes = |g: &FuncId| program.functions[*g].insts.values().filter_map(slot);
            (!others.contains(&f)).then(|| Rc::new(others.iter().flat_map(pushes).collect()))
        });
        found.clone()
    }

    fn function(&mut self, f: FuncId, args: Vec<AbstractValue>) -> CallShapes {
        let key = (f, args);
        if let Some(found) = self.done.get(&key) {
            return found.clone();
        }
        let function = &self.program.functions[f];
        if self.depth >= MAX_DEPTH
            || self.done.len() >= MAX_CALLS
            || self.fuel == 0
            || !function.is_defined()
        {
            return CallShapes::default();
        }
        self.done.insert(key.clone(), CallShapes::default());
        self.depth += 1;
        let (found, _) = self.flow(f, &key.1);
        self.depth -= 1;
        self.done.insert(key, found.clone());
        found
    }

    /// Analyzes a function: returns the result of the call, and the abstract values.
    fn flow(&mut self, id: FuncId, args: &[AbstractValue]) -> (CallShapes, ShapeFacts) {
        let f = &self.program.functions[id];
        let mut flow = ShapeState {
            known: vec![AbstractValue::Any; f.kinds.len()],
            entered: vec![None; f.blocks.len()],
            tapes: TapeShapes::new(self.foreign(id)),
            errors: None,
        };
        flow.entered[ENTRY.index()] = Some(args.to_vec());
        let mut rounds = 0;
        let size = 1 + f.size();
        self.fuel = self.fuel.saturating_sub(2 * size);
        while self.round(f, &mut flow) {
            rounds += 1;
            self.fuel = self.fuel.saturating_sub(size);
            if rounds > MAX_ROUNDS || self.fuel == 0 {
                let values = vec![AbstractValue::Any; f.kinds.len()];
                return (CallShapes::default(), ShapeFacts { values, ..ShapeFacts::default() });
            }
        }
        // Once more, at the fixed point.
        flow.errors = Some(Vec::new());
        self.round(f, &mut flow);
        let reached = f.blocks.iter().filter(|(b, _)| flow.entered[b.index()].is_some());
        let results = reached.filter_map(|(_, block)| match &block.end {
            Terminator::Return(v) => Some(flow.known[v.index()].clone()),
            _ => None,
        });
        let result = results.reduce(AbstractValue::meet).unwrap_or_default();
        let facts = ShapeFacts { values: flow.known, slots: flow.tapes.pushed };
        (CallShapes { result, errors: flow.errors.unwrap_or_default() }, facts)
    }

    /// Visits all reachable blocks once. Returns true if an abstract value has changed.
    fn round(&mut self, f: &Function, flow: &mut ShapeState) -> bool {
        let mut changed = false;
        for b in f.blocks.keys() {
            if flow.entered[b.index()].is_none() {
                continue;
            }
            changed |= self.block(f, b, flow);
            for target in live_targets(&f.blocks[b].end, &flow.known) {
                let handed: Vec<AbstractValue> =
                    target.args.iter().map(|v| flow.known[v.index()].clone()).collect();
                let entered = &mut flow.entered[target.block.index()];
                let now: Vec<AbstractValue> = match &*entered {
                    Some(before) => {
                        before.iter().cloned().zip(handed).map(|(a, b)| a.meet(b)).collect()
                    }
                    None => handed,
                };
                changed |= entered.as_ref() != Some(&now);
                *entered = Some(now);
            }
        }
        changed
    }

    /// Visits one block. Returns true if an abstract value has changed.
    fn block(&mut self, f: &Function, b: Block, flow: &mut ShapeState) -> bool {
        let (block, mut changed) = (&f.blocks[b], false);
        let given = flow.entered[b.index()].iter().flatten();
        block.params.iter().zip(given).for_each(|(p, k)| flow.known[p.index()] = k.clone());
        for &i in &block.insts {
            let inst = &f.insts[i];
            let value = match inst.op {
                Op::Push { tape, slot } => {
                    changed |= flow.tapes.push((tape, slot), &flow.known[inst.args[0].index()]);
                    continue;
                }
                Op::Pop { tape, slot } => {
                    let before = self.given.slots.get(&(tape, slot));
                    before.cloned().unwrap_or_else(|| flow.tapes.pop((tape, slot)))
                }
                _ => self.value(f, inst, &flow.known, &mut flow.errors).unwrap_or_else(|source| {
                    let source = inst.at.explain(source);
                    note(
                        &mut flow.errors,
                        ShapeError { function: f.name.clone(), at: inst.at, source },
                    );
                    AbstractValue::Any
                }),
            };
            if let Some(v) = inst.result {
                changed |= flow.known[v.index()] != value;
                flow.known[v.index()] = value;
            }
        }
        changed
    }

    fn value(
        &mut self,
        f: &Function,
        inst: &InstData,
        known: &[AbstractValue],
        errors: &mut Option<Vec<ShapeError>>,
    ) -> Result<AbstractValue, ArrayError> {
        let of = |v: &Value| known[v.index()].clone();
        match inst.op {
            Op::Call(g) => {
                let found = self.function(g, inst.args.iter().map(of).collect());
                found.errors.into_iter().for_each(|e| note(errors, e));
                Ok(found.result)
            }
            Op::Primitive(p) => Ok(self.given.primitives.get(&p).cloned().unwrap_or_default()),
            Op::Tuple => Ok(AbstractValue::Tuple(inst.args.iter().map(of).collect())),
            Op::Field(k) => Ok(match &known[inst.args[0].index()] {
                AbstractValue::Tuple(fields) => fields.get(k as usize).cloned().unwrap_or_default(),
                _ => AbstractValue::Any,
            }),
            Op::Select => Ok(of(&inst.args[1]).meet(of(&inst.args[2]))),
            op => {
                let mut args: Vec<&AbstractValue> =
                    inst.args.iter().map(|v| &known[v.index()]).collect();
                let form;
                if let Some(list) = inst.shape_list(f) {
                    form = as_shape(&known[list.index()]);
                    args[1] = &form;
                }
                let arrays: Vec<bool> =
                    inst.args.iter().map(|v| matches!(f.kinds[*v], Kind::Array(_))).collect();
                shape_rules::result(op, &args, &arrays, self.given.limit)
            }
        }
    }
}

/// Returns the abstract array whose shape a list gives.
fn as_shape(list: &AbstractValue) -> AbstractValue {
    let AbstractValue::Ints(list) = list else { return AbstractValue::Any };
    let lengths: Option<Shape> = list.iter().map(|&n| usize::try_from(n).ok()).collect();
    lengths.filter(|lengths| !lengths.is_empty()).map_or(AbstractValue::Any, AbstractValue::Array)
}

/// Maximum number of errors that are recorded for a function, its callees included.
const MOST_ERRORS: usize = 100;

/// Records an error once, if errors are collected.
fn note(errors: &mut Option<Vec<ShapeError>>, error: ShapeError) {
    if let Some(all) = errors
        && all.len() < MOST_ERRORS
        && !all.contains(&error)
    {
        all.push(error);
    }
}

/// Returns the targets that may be taken, given the known condition.
fn live_targets<'f>(
    end: &'f Terminator,
    known: &[AbstractValue],
) -> Vec<&'f super::function::Target> {
    match end {
        Terminator::Branch(c, yes, no) => match known[c.index()] {
            AbstractValue::Bool(true) => vec![yes],
            AbstractValue::Bool(false) => vec![no],
            _ => vec![yes, no],
        },
        other => other.targets().to_vec(),
    }
}

/// Returns the result of a comparison of known ints.
pub(super) fn compared(op: Compare, a: i64, b: i64) -> AbstractValue {
    AbstractValue::Bool(op.holds(Some(a.cmp(&b))))
}
