//! Plan of a fused kernel for operands of certain shapes: made once, kept for the next run.
//!
//! A kernel becomes one loop over elements for each step whose own shape is smaller than that of
//! the results (`exp(b)` in `a * exp(b)`, `b` a row), whose result is then an operand, and one for
//! all others.

use std::sync::Arc;

use crate::{
    array::{ArrayError, Moved, Repeated, Shape, broadcast, checked_count, reduced},
    ir::{ArrayOp, Number2, Op, Position},
    scalar::{Basic, Twice},
};

use super::super::recipe::{FusedKernel, KernelInput, KernelOutput, KernelStep, KernelView};

/// A message, and where it is from if not from the instruction as a whole.
pub(super) type KernelError = (Option<Position>, ArrayError);

/// Key of a plan: what it depends on of an operand.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum ShapeKey {
    /// A number of any value.
    Number,
    Int(i64),
    Shape(Shape),
}

/// Loops of a kernel for operands that match its keys.
#[derive(Debug)]
pub(super) struct KernelPlan {
    pub(super) recipe: Arc<FusedKernel>,
    pub(super) seen: Vec<ShapeKey>,
    /// Loops; the last one gives the results, every other one an additional operand.
    pub(super) sweeps: Vec<ElementLoop>,
}

/// Loop over elements.
#[derive(Debug)]
pub(super) struct ElementLoop {
    pub(super) shape: Shape,
    pub(super) len: usize,
    pub(super) sources: Vec<LoopOperand>,
    pub(super) works: Vec<FusedStep>,
    pub(super) outputs: Vec<OutputSpec>,
    /// Number of slots for chunks that its steps need.
    pub(super) slots: usize,
}

/// Operand of a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopOperand {
    pub(super) operand: usize,
    pub(super) reading: OperandAccess,
}

/// Access pattern of an operand.
#[expect(clippy::large_enum_variant, reason = "a sweep has a handful, which every run walks")]
#[derive(Clone, Debug)]
pub(super) enum OperandAccess {
    /// A number, or an array element by element.
    Plain,
    Repeated(BroadcastCursor),
    /// A view of the kernel, and the index of its elements.
    Moved(usize, Moved),
}

/// Cursor through the elements of a broadcast operand, from the start and at the current position.
#[derive(Clone, Debug)]
pub(super) struct BroadcastCursor {
    start: Repeated,
    pub(super) now: Repeated,
}

impl BroadcastCursor {
    fn new(from: &[usize], to: &[usize]) -> BroadcastCursor {
        let start = Repeated::new(from, to);
        BroadcastCursor { now: start.clone(), start }
    }

    /// Goes back to the start.
    pub(super) fn restart(&mut self) {
        self.now.clone_from(&self.start);
    }
}

/// Step of a loop.
#[derive(Clone, Debug)]
pub(super) struct FusedStep {
    pub(super) op: Op,
    /// Second operation of arithmetic that is fused into the step, if there is one.
    pub(super) twice: Option<Twice>,
    /// Inputs; the third is that of the second operation.
    pub(super) from: [StepInput; 3],
    pub(super) complex: bool,
    /// Slot that it writes to.
    pub(super) slot: usize,
    /// True if the whole result is an output: the slot then holds the whole array.
    pub(super) kept: bool,
    pub(super) at: Position,
}

/// Input of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepInput {
    Source(usize),
    Work(usize),
}

/// A result.
#[expect(clippy::large_enum_variant, reason = "a sweep has a handful, which every run walks")]
#[derive(Clone, Debug)]
pub(super) enum OutputSpec {
    /// Whole array, perhaps written over an operand that is read element by element.
    All(StepInput, Option<usize>),
    /// An operand as it is.
    Operand(usize),
    Sum(StepInput),
    /// Sums over broadcast axes to this shape; the cursor of the results, if there are elements.
    Sums(StepInput, Shape, Option<BroadcastCursor>),
    /// Array of another result.
    Same(usize),
    /// A shape without elements, of complex numbers or of real ones.
    Hollow(bool, Shape),
}

impl FusedStep {
    /// Returns the operation of arithmetic on real numbers that it is, if it is a single one.
    fn basic(&self) -> Option<Basic> {
        match self.op {
            Op::Number2(op) if !self.complex && self.twice.is_none() => match op {
                Number2::Add => Some(Basic::Add),
                Number2::Sub => Some(Basic::Sub),
                Number2::Mul => Some(Basic::Mul),
                _ => None,
            },
            _ => None,
        }
    }
}

impl OutputSpec {
    /// Returns the input that it is made from.
    fn place(&self) -> Option<StepInput> {
        match *self {
            OutputSpec::All(place, _) | OutputSpec::Sum(place) | OutputSpec::Sums(place, ..) => {
                Some(place)
            }
            _ => None,
        }
    }
    fn place_mut(&mut self) -> Option<&mut StepInput> {
        match self {
            OutputSpec::All(place, _) | OutputSpec::Sum(place) | OutputSpec::Sums(place, ..) => {
                Some(place)
            }
            _ => None,
        }
    }
}

impl KernelPlan {
    /// Finds it.
    pub(super) fn new(
        recipe: &Arc<FusedKernel>,
        seen: Vec<ShapeKey>,
        limit: usize,
    ) -> Result<KernelPlan, KernelError> {
        let shapes = KernelShapes::of(recipe, &seen, limit)?;
        let whole = shapes.whole(recipe);
        let operands = seen.len();
        let mut maker = KernelPlanner {
            recipe,
            seen: &seen,
            shapes,
            operands,
            places: Vec::new(),
            sweeps: Vec::new(),
        };
        let sweep = maker.last(ElementLoop::new(&whole)).map_err(|source| (None, source))?;
        let mut sweeps = maker.sweeps;
        sweeps.push(sweep);
        Ok(KernelPlan { recipe: recipe.clone(), seen, sweeps })
    }

    /// Moves the starts of views to those of the current operands.
    pub(super) fn restart(&mut self) -> Result<(), KernelError> {
        let shape = |seen: &ShapeKey| {
            if let ShapeKey::Shape(shape) = seen { Some(shape.clone()) } else { None }
        };
        let shapes: Vec<Option<Shape>> = self.seen.iter().map(shape).collect();
        for source in self.sweeps.iter_mut().flat_map(|s| &mut s.sources) {
            if let OperandAccess::Moved(k, moved) = &mut source.reading {
                let view = &self.recipe.views[*k];
                *moved = viewed(view, &shapes, &self.seen).map_err(|e| (Some(view.at), e))?.1;
            }
        }
        Ok(())
    }
}

impl ElementLoop {
    fn new(shape: &[usize]) -> ElementLoop {
        let (sources, works, outputs) = (Vec::new(), Vec::new(), Vec::new());
        ElementLoop {
            shape: Shape::from_slice(shape),
            len: shape.iter().product(),
            sources,
            works,
            outputs,
            slots: 0,
        }
    }

    fn source(&mut self, operand: usize, reading: OperandAccess) -> StepInput {
        self.sources.push(LoopOperand { operand, reading });
        StepInput::Source(self.sources.len() - 1)
    }

    /// Adds an operand, broadcast if its shape is another one.
    fn operand(&mut self, operand: usize, shape: Option<&Shape>) -> StepInput {
        let plain = |s: &LoopOperand| {
            s.operand == operand && !matches!(s.reading, OperandAccess::Moved(..))
        };
        if let Some(k) = self.sources.iter().position(plain) {
            return StepInput::Source(k);
        }
        let reading = match shape {
            Some(shape) if *shape != self.shape && self.len > 0 => {
                OperandAccess::Repeated(BroadcastCursor::new(shape, &self.shape))
            }
            _ => OperandAccess::Plain,
        };
        self.source(operand, reading)
    }

    fn work(&mut self, step: &KernelStep, from: [StepInput; 2]) -> StepInput {
        let KernelStep { op, complex, at, .. } = *step;
        let [a, b] = from;
        self.works.push(FusedStep {
            op,
            twice: None,
            from: [a, b, b],
            complex,
            slot: 0,
            kept: false,
            at,
        });
        StepInput::Work(self.works.len() - 1)
    }

    /// Fuses two operations of arithmetic if only the second reads the result of the first.
    fn pair(&mut self) {
        let mut readers = vec![0; self.works.len()];
        let read = self.works.iter().flat_map(|w| w.from[..2].to_vec());
        for place in read.chain(self.outputs.iter().filter_map(OutputSpec::place)) {
            if let StepInput::Work(k) = place {
                readers[k] += 1;
            }
        }
        let mut gone = vec![false; self.works.len()];
        for k in 0..self.works.len() {
            let [a, b, _] = self.works[k].from;
            let found =
                [(a, b, false), (b, a, true)].into_iter().find_map(|(inner, other, back)| {
                    let StepInput::Work(j) = inner else { return None };
                    let (first, second) = (self.works[j].basic()?, self.works[k].basic()?);
                    (readers[j] == 1).then_some((j, other, Twice { first, second, back }))
                });
            if let Some((j, other, twice)) = found {
                let [a, b, _] = self.works[j].from;
                gone[j] = true;
                (self.works[k].from, self.works[k].twice) = ([a, b, other], Some(twice));
            }
        }
        let mut places = Vec::new();
        let mut next = 0;
        for gone in &gone {
            places.push(next);
            next += usize::from(!gone);
        }
        let moved = |place: &mut StepInput| {
            if let StepInput::Work(k) = place {
                *k = places[*k];
            }
        };
        let mut left = gone.iter().map(|gone| !gone);
        self.works.retain(|_| left.next().unwrap_or(true));
        self.works.iter_mut().flat_map(|w| &mut w.from).for_each(moved);
        self.outputs.iter_mut().filter_map(OutputSpec::place_mut).for_each(moved);
    }

    /// Finds operands in whose memory results may be written: each is read once, element by
    /// element, and is no result itself.
    fn replace(&mut self) {
        let plain = |s: &LoopOperand| matches!(s.reading, OperandAccess::Plain);
        let mut free: Vec<usize> =
            self.sources.iter().filter(|s| plain(s)).map(|s| s.operand).collect();
        free.retain(|&operand| {
            let given =
                self.outputs.iter().any(|o| matches!(o, OutputSpec::Operand(k) if *k == operand));
            !given && self.sources.iter().filter(|s| s.operand == operand).count() == 1
        });
        for output in &mut self.outputs {
            if let OutputSpec::All(StepInput::Work(_), over) = output {
                *over = free.pop();
            }
        }
    }

    /// Assigns a slot to each step (linear-scan allocation). A step whose readers are done frees
    /// its slot, so that few stay in the nearest cache; an output keeps its own.
    fn settle(&mut self) {
        let mut last = vec![0; self.works.len()];
        for (k, work) in self.works.iter().enumerate() {
            for from in work.from {
                if let StepInput::Work(j) = from {
                    last[j] = k;
                }
            }
        }
        for output in &self.outputs {
            if let OutputSpec::All(StepInput::Work(k), _)
            | OutputSpec::Sum(StepInput::Work(k))
            | OutputSpec::Sums(StepInput::Work(k), ..) = *output
            {
                last[k] = self.works.len();
                self.works[k].kept |= matches!(output, OutputSpec::All(..));
            }
        }
        let mut free: Vec<usize> = Vec::new();
        for k in 0..self.works.len() {
            let slot = if self.works[k].kept { None } else { free.pop() };
            self.works[k].slot = slot.unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            });
            let from = self.works[k].from;
            for (place, &read) in from.iter().enumerate() {
                if let StepInput::Work(j) = read
                    && last[j] == k
                    && !from[..place].contains(&read)
                {
                    free.push(self.works[j].slot);
                }
            }
        }
    }
}

/// Returns true if an operand is an int that shapes depend on.
pub(super) fn measures(recipe: &FusedKernel, k: usize) -> bool {
    recipe.views.iter().any(|v| v.args.contains(&k))
        || recipe.outputs.iter().any(|o| matches!(o, KernelOutput::SumKeep(_, axis) if *axis == k))
}

/// Returns true if an operand determines nothing but the starts of views.
pub(super) fn begins(recipe: &FusedKernel, k: usize) -> bool {
    let other = |v: &KernelView| {
        let start = if v.op == ArrayOp::Slice { 2 } else { 3 };
        v.args.iter().enumerate().any(|(place, &arg)| arg == k && place != start)
    };
    let axis = |o: &KernelOutput| matches!(o, KernelOutput::SumKeep(_, axis) if *axis == k);
    measures(recipe, k) && !recipe.views.iter().any(other) && !recipe.outputs.iter().any(axis)
}

/// Shapes of the inputs and results of a kernel; none of numbers.
struct KernelShapes {
    operands: Vec<Option<Shape>>,
    views: Vec<(Shape, Moved)>,
    steps: Vec<Option<Shape>>,
}

impl KernelShapes {
    fn of(
        recipe: &FusedKernel,
        seen: &[ShapeKey],
        limit: usize,
    ) -> Result<KernelShapes, KernelError> {
        let shape = |seen: &ShapeKey| {
            if let ShapeKey::Shape(shape) = seen { Some(shape.clone()) } else { None }
        };
        let mut shapes = KernelShapes {
            operands: seen.iter().map(shape).collect(),
            views: Vec::new(),
            steps: Vec::new(),
        };
        for view in &recipe.views {
            let view = viewed(view, &shapes.operands, seen).map_err(|e| (Some(view.at), e))?;
            shapes.views.push(view);
        }
        for step in &recipe.steps {
            let shape = match step.from.map(|from| shapes.at(from)) {
                [Some(a), Some(b)] if a == b => Some(a.clone()),
                [Some(a), Some(b)] => {
                    let shape = broadcast(a, b).ok_or_else(|| {
                        let expected =
                            "arrays whose shapes are equal or 1 along each axis, counted from the last";
                        (Some(step.at), ArrayError::shape(step.op.name(), expected, &[a, b]))
                    })?;
                    // The only step that may have more elements than any operand.
                    checked_count(&shape, limit).map_err(|e| (Some(step.at), e))?;
                    Some(shape)
                }
                [a, b] => a.or(b).cloned(),
            };
            shapes.steps.push(shape);
        }
        Ok(shapes)
    }

    fn at(&self, from: KernelInput) -> Option<&Shape> {
        match from {
            KernelInput::Operand(k) => self.operands[k].as_ref(),
            KernelInput::View(k) => Some(&self.views[k].0),
            KernelInput::Step(k) => self.steps[k].as_ref(),
        }
    }

    /// Returns the one shape of the arrays that results are made or summed from.
    fn whole(&self, recipe: &FusedKernel) -> Shape {
        let shape = recipe.outputs.iter().find_map(|output| match *output {
            KernelOutput::Array(k) => self.steps[k].as_ref(),
            KernelOutput::Shape(_) => None,
            KernelOutput::Sum(from)
            | KernelOutput::SumKeep(from, _)
            | KernelOutput::SumLike(from, _) => self.at(from),
        });
        shape.cloned().unwrap_or_default()
    }
}

fn viewed(
    view: &KernelView,
    shapes: &[Option<Shape>],
    seen: &[ShapeKey],
) -> Result<(Shape, Moved), ArrayError> {
    let shape = |k: usize| shapes[view.args[k]].clone().unwrap_or_default();
    let int = |k: usize| if let ShapeKey::Int(n) = seen[view.args[k]] { n } else { -1 };
    match view.op {
        ArrayOp::Slice => Moved::slice(&shape(0), int(1), int(2), int(3)),
        _ => Ok((shape(1), Moved::embed("embed", &shape(0), &shape(1), int(2), int(3))?)),
    }
}

/// Location of the result of a step.
enum StepLocation {
    /// Result in the last loop.
    Here(StepInput),
    /// Result in an operand.
    Before(usize),
}

struct KernelPlanner<'a> {
    recipe: &'a FusedKernel,
    seen: &'a [ShapeKey],
    shapes: KernelShapes,
    /// Number of operands, with those that loops give.
    operands: usize,
    places: Vec<StepLocation>,
    sweeps: Vec<ElementLoop>,
}

impl KernelPlanner<'_> {
    /// Plans the loop that gives the results, after those before it.
    fn last(&mut self, mut sweep: ElementLoop) -> Result<ElementLoop, ArrayError> {
        let recipe = self.recipe;
        for (k, step) in recipe.steps.iter().enumerate() {
            let shape = self.shapes.steps[k].clone().unwrap_or_default();
            let made = if shape == sweep.shape {
                let from = step.from.map(|from| self.place(from, &mut sweep));
                StepLocation::Here(sweep.work(step, from))
            } else {
                let mut small = ElementLoop::new(&shape);
                let from = step.from.map(|from| self.place(from, &mut small));
                let place = small.work(step, from);
                StepLocation::Before(self.before(small, place))
            };
            self.places.push(made);
        }
        let mut whole: Vec<(KernelInput, usize)> = Vec::new();
        for (k, output) in recipe.outputs.iter().enumerate() {
            let wanted = match self.wanted(*output, &mut sweep)? {
                Ok(wanted) => wanted,
                Err(from) => match whole.iter().find(|s| s.0 == from) {
                    Some(&(_, first)) => OutputSpec::Same(first),
                    None => {
                        whole.push((from, k));
                        self.all(from, &mut sweep)
                    }
                },
            };
            sweep.outputs.push(wanted);
        }
        sweep.pair();
        sweep.settle();
        sweep.replace();
        Ok(sweep)
    }

    /// Returns the specification of an output, or `Err` of the input if all of it is the output.
    fn wanted(
        &mut self,
        output: KernelOutput,
        sweep: &mut ElementLoop,
    ) -> Result<Result<OutputSpec, KernelInput>, ArrayError> {
        let (from, to) = match output {
            KernelOutput::Array(k) => return Ok(Err(KernelInput::Step(k))),
            KernelOutput::Shape(k) => {
                let shape = self.shapes.steps[k].clone().unwrap_or_default();
                return Ok(Ok(OutputSpec::Hollow(self.recipe.steps[k].complex, shape)));
            }
            KernelOutput::Sum(from) => return Ok(Ok(OutputSpec::Sum(self.place(from, sweep)))),
            KernelOutput::SumKeep(from, axis) => {
                let axis = if let ShapeKey::Int(axis) = self.seen[axis] { axis } else { -1 };
                (from, reduced("sum_keep", axis, &sweep.shape)?.1)
            }
            KernelOutput::SumLike(from, like) => {
                let like = self.shapes.at(like).cloned().unwrap_or_default();
                if broadcast(&sweep.shape, &like).as_ref() != Some(&sweep.shape) {
                    let words = "an array that the other can be repeated to";
                    return Err(ArrayError::shape("sum_like", words, &[&sweep.shape, &like]));
                }
                if like == sweep.shape {
                    return Ok(Err(from));
                }
                (from, like)
            }
        };
        let runs = (sweep.len > 0).then(|| BroadcastCursor::new(&to, &sweep.shape));
        Ok(Ok(OutputSpec::Sums(self.place(from, sweep), to, runs)))
    }

    fn all(&mut self, from: KernelInput, sweep: &mut ElementLoop) -> OutputSpec {
        match from {
            KernelInput::Operand(k) => OutputSpec::Operand(k),
            KernelInput::Step(k) => match self.places[k] {
                StepLocation::Before(operand) => OutputSpec::Operand(operand),
                StepLocation::Here(place) => OutputSpec::All(place, None),
            },
            KernelInput::View(_) => OutputSpec::All(self.place(from, sweep), None),
        }
    }

    /// Returns the input of a loop that holds the operand of a step.
    fn place(&mut self, from: KernelInput, sweep: &mut ElementLoop) -> StepInput {
        match from {
            KernelInput::Operand(k) => sweep.operand(k, self.shapes.operands[k].as_ref()),
            KernelInput::Step(k) => match self.places[k] {
                StepLocation::Here(place) => place,
                StepLocation::Before(operand) => {
                    sweep.operand(operand, self.shapes.steps[k].as_ref())
                }
            },
            KernelInput::View(k) => {
                let (operand, (shape, moved)) =
                    (self.recipe.views[k].args[0], self.shapes.views[k].clone());
                if shape == sweep.shape {
                    return sweep.source(operand, OperandAccess::Moved(k, moved));
                }
                let mut small = ElementLoop::new(&shape);
                let place = small.source(operand, OperandAccess::Moved(k, moved));
                let operand = self.before(small, place);
                sweep.operand(operand, Some(&shape))
            }
        }
    }

    /// Plans a loop whose result becomes an operand; returns its number.
    fn before(&mut self, mut sweep: ElementLoop, place: StepInput) -> usize {
        sweep.outputs.push(OutputSpec::All(place, None));
        sweep.settle();
        self.sweeps.push(sweep);
        self.operands += 1;
        self.operands - 1
    }
}
