//! Plan of a fused kernel for operands of certain shapes: made once, kept for the next run.
//!
//! A kernel becomes one loop over elements for each step whose own shape is smaller than that of
//! the results (`exp(b)` in `a * exp(b)`, `b` a row), whose result is then an operand, and one for
//! all others.

use std::sync::Arc;

use crate::{
    array::{ArrayError, Repeated, RunCopy, Shape, broadcast, checked_count, reduced},
    ir::{ArrayOp, Number2, Op, Position},
    scalar::{Basic, Twice},
};

use super::super::fused_kernel::{FusedKernel, KernelInput, KernelOutput, KernelStep, KernelView};

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
    pub(super) kernel: Arc<FusedKernel>,
    pub(super) keys: Vec<ShapeKey>,
    /// Loops; the last one gives the results, every other one an additional operand.
    pub(super) loops: Vec<ElementLoop>,
}

/// Loop over elements.
#[derive(Debug)]
pub(super) struct ElementLoop {
    pub(super) shape: Shape,
    pub(super) len: usize,
    pub(super) operands: Vec<LoopOperand>,
    pub(super) steps: Vec<FusedStep>,
    pub(super) outputs: Vec<OutputSpec>,
    /// Number of slots for chunks that its steps need.
    pub(super) slots: usize,
}

/// Operand of a loop.
#[derive(Clone, Debug)]
pub(super) struct LoopOperand {
    pub(super) operand: usize,
    pub(super) access: OperandAccess,
}

/// Access pattern of an operand.
#[expect(clippy::large_enum_variant, reason = "a loop has few, which every run visits")]
#[derive(Clone, Debug)]
pub(super) enum OperandAccess {
    /// A number, or an array element by element.
    Elementwise,
    Broadcast(BroadcastCursor),
    /// A view of the kernel, and the index of its elements.
    View(usize, RunCopy),
}

/// Cursor through the elements of a broadcast operand, from the start and at the current position.
#[derive(Clone, Debug)]
pub(super) struct BroadcastCursor {
    start: Repeated,
    pub(super) cursor: Repeated,
}

impl BroadcastCursor {
    fn new(from: &[usize], to: &[usize]) -> BroadcastCursor {
        let start = Repeated::new(from, to);
        BroadcastCursor { cursor: start.clone(), start }
    }

    /// Goes back to the start.
    pub(super) fn restart(&mut self) {
        self.cursor.clone_from(&self.start);
    }
}

/// Step of a loop.
#[derive(Clone, Debug)]
pub(super) struct FusedStep {
    pub(super) op: Op,
    /// Second operation of arithmetic that is fused into the step, if there is one.
    pub(super) pair: Option<Twice>,
    /// Inputs; the third is that of the second operation.
    pub(super) from: [StepInput; 3],
    pub(super) complex: bool,
    /// Slot that it writes to.
    pub(super) slot: usize,
    /// True if the whole result is an output: the slot then holds the whole array.
    pub(super) is_output: bool,
    pub(super) at: Position,
}

/// Input of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum StepInput {
    Operand(usize),
    Step(usize),
}

/// A result.
#[expect(clippy::large_enum_variant, reason = "a loop has few, which every run visits")]
#[derive(Clone, Debug)]
pub(super) enum OutputSpec {
    /// Whole array, perhaps written over an operand that is read element by element.
    Array(StepInput, Option<usize>),
    /// An operand as it is.
    Operand(usize),
    Sum(StepInput),
    /// Sums over broadcast axes to this shape; the cursor of the results, if there are elements.
    Sums(StepInput, Shape, Option<BroadcastCursor>),
    /// Array of another result.
    Duplicate(usize),
    /// A shape without elements, of complex numbers or of real ones.
    ShapeOnly(bool, Shape),
}

impl FusedStep {
    /// Returns the operation of arithmetic on real numbers that it is, if it is a single one.
    fn basic(&self) -> Option<Basic> {
        match self.op {
            Op::Number2(op) if !self.complex && self.pair.is_none() => match op {
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
    fn input(&self) -> Option<StepInput> {
        match *self {
            OutputSpec::Array(place, _) | OutputSpec::Sum(place) | OutputSpec::Sums(place, ..) => {
                Some(place)
            }
            _ => None,
        }
    }
    fn input_mut(&mut self) -> Option<&mut StepInput> {
        match self {
            OutputSpec::Array(place, _) | OutputSpec::Sum(place) | OutputSpec::Sums(place, ..) => {
                Some(place)
            }
            _ => None,
        }
    }
}

impl KernelPlan {
    /// Finds it.
    pub(super) fn new(
        kernel: &Arc<FusedKernel>,
        keys: Vec<ShapeKey>,
        limit: usize,
    ) -> Result<KernelPlan, KernelError> {
        let shapes = KernelShapes::infer(kernel, &keys, limit)?;
        let whole = shapes.whole(kernel);
        let operands = keys.len();
        let mut maker = KernelPlanner {
            kernel,
            keys: &keys,
            shapes,
            operands,
            places: Vec::new(),
            loops: Vec::new(),
        };
        let element_loop =
            maker.result_loop(ElementLoop::new(&whole)).map_err(|source| (None, source))?;
        let mut loops = maker.loops;
        loops.push(element_loop);
        Ok(KernelPlan { kernel: kernel.clone(), keys, loops })
    }

    /// Moves the starts of views to those of the current operands.
    pub(super) fn move_views(&mut self) -> Result<(), KernelError> {
        let shape = |key: &ShapeKey| {
            if let ShapeKey::Shape(shape) = key { Some(shape.clone()) } else { None }
        };
        let shapes: Vec<Option<Shape>> = self.keys.iter().map(shape).collect();
        for source in self.loops.iter_mut().flat_map(|s| &mut s.operands) {
            if let OperandAccess::View(k, moved) = &mut source.access {
                let view = &self.kernel.views[*k];
                *moved = viewed(view, &shapes, &self.keys).map_err(|e| (Some(view.at), e))?.1;
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
            operands: sources,
            steps: works,
            outputs,
            slots: 0,
        }
    }

    fn source(&mut self, operand: usize, reading: OperandAccess) -> StepInput {
        self.operands.push(LoopOperand { operand, access: reading });
        StepInput::Operand(self.operands.len() - 1)
    }

    /// Adds an operand, broadcast if its shape is another one.
    fn operand(&mut self, operand: usize, shape: Option<&Shape>) -> StepInput {
        let plain =
            |s: &LoopOperand| s.operand == operand && !matches!(s.access, OperandAccess::View(..));
        if let Some(k) = self.operands.iter().position(plain) {
            return StepInput::Operand(k);
        }
        let reading = match shape {
            Some(shape) if *shape != self.shape && self.len > 0 => {
                OperandAccess::Broadcast(BroadcastCursor::new(shape, &self.shape))
            }
            _ => OperandAccess::Elementwise,
        };
        self.source(operand, reading)
    }

    fn work(&mut self, step: &KernelStep, from: [StepInput; 2]) -> StepInput {
        let KernelStep { op, complex, at, .. } = *step;
        let [a, b] = from;
        self.steps.push(FusedStep {
            op,
            pair: None,
            from: [a, b, b],
            complex,
            slot: 0,
            is_output: false,
            at,
        });
        StepInput::Step(self.steps.len() - 1)
    }

    /// Fuses two operations of arithmetic if only the second reads the result of the first.
    fn fuse_pairs(&mut self) {
        let mut readers = vec![0; self.steps.len()];
        let read = self.steps.iter().flat_map(|w| w.from[..2].to_vec());
        for place in read.chain(self.outputs.iter().filter_map(OutputSpec::input)) {
            if let StepInput::Step(k) = place {
                readers[k] += 1;
            }
        }
        let mut gone = vec![false; self.steps.len()];
        for k in 0..self.steps.len() {
            let [a, b, _] = self.steps[k].from;
            let found =
                [(a, b, false), (b, a, true)].into_iter().find_map(|(inner, other, back)| {
                    let StepInput::Step(j) = inner else { return None };
                    let (first, second) = (self.steps[j].basic()?, self.steps[k].basic()?);
                    (readers[j] == 1).then_some((j, other, Twice { first, second, back }))
                });
            if let Some((j, other, twice)) = found {
                let [a, b, _] = self.steps[j].from;
                gone[j] = true;
                (self.steps[k].from, self.steps[k].pair) = ([a, b, other], Some(twice));
            }
        }
        let mut places = Vec::new();
        let mut next = 0;
        for gone in &gone {
            places.push(next);
            next += usize::from(!gone);
        }
        let moved = |place: &mut StepInput| {
            if let StepInput::Step(k) = place {
                *k = places[*k];
            }
        };
        let mut left = gone.iter().map(|gone| !gone);
        self.steps.retain(|_| left.next().unwrap_or(true));
        self.steps.iter_mut().flat_map(|w| &mut w.from).for_each(moved);
        self.outputs.iter_mut().filter_map(OutputSpec::input_mut).for_each(moved);
    }

    /// Finds operands in whose memory results may be written: each is read once, element by
    /// element, and is no result itself.
    fn reuse_operands(&mut self) {
        let plain = |s: &LoopOperand| matches!(s.access, OperandAccess::Elementwise);
        let mut free: Vec<usize> =
            self.operands.iter().filter(|s| plain(s)).map(|s| s.operand).collect();
        free.retain(|&operand| {
            let given =
                self.outputs.iter().any(|o| matches!(o, OutputSpec::Operand(k) if *k == operand));
            !given && self.operands.iter().filter(|s| s.operand == operand).count() == 1
        });
        for output in &mut self.outputs {
            if let OutputSpec::Array(StepInput::Step(_), over) = output {
                *over = free.pop();
            }
        }
    }

    /// Assigns a slot to each step (linear-scan allocation). A step whose readers are done frees
    /// its slot, so that few stay in the nearest cache; an output keeps its own.
    fn assign_slots(&mut self) {
        let mut last = vec![0; self.steps.len()];
        for (k, work) in self.steps.iter().enumerate() {
            for from in work.from {
                if let StepInput::Step(j) = from {
                    last[j] = k;
                }
            }
        }
        for output in &self.outputs {
            if let OutputSpec::Array(StepInput::Step(k), _)
            | OutputSpec::Sum(StepInput::Step(k))
            | OutputSpec::Sums(StepInput::Step(k), ..) = *output
            {
                last[k] = self.steps.len();
                self.steps[k].is_output |= matches!(output, OutputSpec::Array(..));
            }
        }
        let mut free: Vec<usize> = Vec::new();
        for k in 0..self.steps.len() {
            let slot = if self.steps[k].is_output { None } else { free.pop() };
            self.steps[k].slot = slot.unwrap_or_else(|| {
                self.slots += 1;
                self.slots - 1
            });
            let from = self.steps[k].from;
            for (place, &read) in from.iter().enumerate() {
                if let StepInput::Step(j) = read
                    && last[j] == k
                    && !from[..place].contains(&read)
                {
                    free.push(self.steps[j].slot);
                }
            }
        }
    }
}

/// Returns true if an operand is an int that shapes depend on.
pub(super) fn determines_shape(kernel: &FusedKernel, k: usize) -> bool {
    kernel.views.iter().any(|v| v.args.contains(&k))
        || kernel.outputs.iter().any(|o| matches!(o, KernelOutput::SumKeep(_, axis) if *axis == k))
}

/// Returns true if an operand determines nothing but the starts of views.
pub(super) fn is_view_start(kernel: &FusedKernel, k: usize) -> bool {
    let other = |v: &KernelView| {
        let start = if v.op == ArrayOp::Slice { 2 } else { 3 };
        v.args.iter().enumerate().any(|(place, &arg)| arg == k && place != start)
    };
    let axis = |o: &KernelOutput| matches!(o, KernelOutput::SumKeep(_, axis) if *axis == k);
    determines_shape(kernel, k)
        && !kernel.views.iter().any(other)
        && !kernel.outputs.iter().any(axis)
}

/// Shapes of the inputs and results of a kernel; none of numbers.
struct KernelShapes {
    operands: Vec<Option<Shape>>,
    views: Vec<(Shape, RunCopy)>,
    steps: Vec<Option<Shape>>,
}

impl KernelShapes {
    fn infer(
        kernel: &FusedKernel,
        keys: &[ShapeKey],
        limit: usize,
    ) -> Result<KernelShapes, KernelError> {
        let shape = |key: &ShapeKey| {
            if let ShapeKey::Shape(shape) = key { Some(shape.clone()) } else { None }
        };
        let mut shapes = KernelShapes {
            operands: keys.iter().map(shape).collect(),
            views: Vec::new(),
            steps: Vec::new(),
        };
        for view in &kernel.views {
            let view = viewed(view, &shapes.operands, keys).map_err(|e| (Some(view.at), e))?;
            shapes.views.push(view);
        }
        for step in &kernel.steps {
            let shape = match step.from.map(|from| shapes.shape_of(from)) {
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

    fn shape_of(&self, from: KernelInput) -> Option<&Shape> {
        match from {
            KernelInput::Operand(k) => self.operands[k].as_ref(),
            KernelInput::View(k) => Some(&self.views[k].0),
            KernelInput::Step(k) => self.steps[k].as_ref(),
        }
    }

    /// Returns the one shape of the arrays that results are made or summed from.
    fn whole(&self, kernel: &FusedKernel) -> Shape {
        let shape = kernel.outputs.iter().find_map(|output| match *output {
            KernelOutput::Array(k) => self.steps[k].as_ref(),
            KernelOutput::Shape(_) => None,
            KernelOutput::Sum(from)
            | KernelOutput::SumKeep(from, _)
            | KernelOutput::SumLike(from, _) => self.shape_of(from),
        });
        shape.cloned().unwrap_or_default()
    }
}

fn viewed(
    view: &KernelView,
    shapes: &[Option<Shape>],
    keys: &[ShapeKey],
) -> Result<(Shape, RunCopy), ArrayError> {
    let shape = |k: usize| shapes[view.args[k]].clone().unwrap_or_default();
    let int = |k: usize| if let ShapeKey::Int(n) = keys[view.args[k]] { n } else { -1 };
    match view.op {
        ArrayOp::Slice => RunCopy::slice(&shape(0), int(1), int(2), int(3)),
        _ => Ok((shape(1), RunCopy::pad("pad", &shape(0), &shape(1), int(2), int(3))?)),
    }
}

/// Location of the result of a step.
enum StepLocation {
    /// Result in the last loop.
    Local(StepInput),
    /// Result in an operand.
    Operand(usize),
}

struct KernelPlanner<'a> {
    kernel: &'a FusedKernel,
    keys: &'a [ShapeKey],
    shapes: KernelShapes,
    /// Number of operands, with those that loops give.
    operands: usize,
    places: Vec<StepLocation>,
    loops: Vec<ElementLoop>,
}

impl KernelPlanner<'_> {
    /// Plans the loop that gives the results, after those before it.
    fn result_loop(&mut self, mut element_loop: ElementLoop) -> Result<ElementLoop, ArrayError> {
        let kernel = self.kernel;
        for (k, step) in kernel.steps.iter().enumerate() {
            let shape = self.shapes.steps[k].clone().unwrap_or_default();
            let made = if shape == element_loop.shape {
                let from = step.from.map(|from| self.input_of(from, &mut element_loop));
                StepLocation::Local(element_loop.work(step, from))
            } else {
                let mut small = ElementLoop::new(&shape);
                let from = step.from.map(|from| self.input_of(from, &mut small));
                let place = small.work(step, from);
                StepLocation::Operand(self.operand_loop(small, place))
            };
            self.places.push(made);
        }
        let mut whole: Vec<(KernelInput, usize)> = Vec::new();
        for (k, output) in kernel.outputs.iter().enumerate() {
            let wanted = match self.wanted(*output, &mut element_loop)? {
                Ok(wanted) => wanted,
                Err(from) => match whole.iter().find(|s| s.0 == from) {
                    Some(&(_, first)) => OutputSpec::Duplicate(first),
                    None => {
                        whole.push((from, k));
                        self.all(from, &mut element_loop)
                    }
                },
            };
            element_loop.outputs.push(wanted);
        }
        element_loop.fuse_pairs();
        element_loop.assign_slots();
        element_loop.reuse_operands();
        Ok(element_loop)
    }

    /// Returns the specification of an output, or `Err` of the input if all of it is the output.
    fn wanted(
        &mut self,
        output: KernelOutput,
        element_loop: &mut ElementLoop,
    ) -> Result<Result<OutputSpec, KernelInput>, ArrayError> {
        let (from, to) = match output {
            KernelOutput::Array(k) => return Ok(Err(KernelInput::Step(k))),
            KernelOutput::Shape(k) => {
                let shape = self.shapes.steps[k].clone().unwrap_or_default();
                return Ok(Ok(OutputSpec::ShapeOnly(self.kernel.steps[k].complex, shape)));
            }
            KernelOutput::Sum(from) => {
                return Ok(Ok(OutputSpec::Sum(self.input_of(from, element_loop))));
            }
            KernelOutput::SumKeep(from, axis) => {
                let axis = if let ShapeKey::Int(axis) = self.keys[axis] { axis } else { -1 };
                (from, reduced("sum_keep", axis, &element_loop.shape)?.1)
            }
            KernelOutput::SumLike(from, like) => {
                let like = self.shapes.shape_of(like).cloned().unwrap_or_default();
                if broadcast(&element_loop.shape, &like).as_ref() != Some(&element_loop.shape) {
                    let words = "an array that the other can be repeated to";
                    return Err(ArrayError::shape(
                        "sum_like",
                        words,
                        &[&element_loop.shape, &like],
                    ));
                }
                if like == element_loop.shape {
                    return Ok(Err(from));
                }
                (from, like)
            }
        };
        let runs = (element_loop.len > 0).then(|| BroadcastCursor::new(&to, &element_loop.shape));
        Ok(Ok(OutputSpec::Sums(self.input_of(from, element_loop), to, runs)))
    }

    fn all(&mut self, from: KernelInput, element_loop: &mut ElementLoop) -> OutputSpec {
        match from {
            KernelInput::Operand(k) => OutputSpec::Operand(k),
            KernelInput::Step(k) => match self.places[k] {
                StepLocation::Operand(operand) => OutputSpec::Operand(operand),
                StepLocation::Local(place) => OutputSpec::Array(place, None),
            },
            KernelInput::View(_) => OutputSpec::Array(self.input_of(from, element_loop), None),
        }
    }

    /// Returns the input of a loop that holds the operand of a step.
    fn input_of(&mut self, from: KernelInput, element_loop: &mut ElementLoop) -> StepInput {
        match from {
            KernelInput::Operand(k) => element_loop.operand(k, self.shapes.operands[k].as_ref()),
            KernelInput::Step(k) => match self.places[k] {
                StepLocation::Local(place) => place,
                StepLocation::Operand(operand) => {
                    element_loop.operand(operand, self.shapes.steps[k].as_ref())
                }
            },
            KernelInput::View(k) => {
                let (operand, (shape, moved)) =
                    (self.kernel.views[k].args[0], self.shapes.views[k].clone());
                if shape == element_loop.shape {
                    return element_loop.source(operand, OperandAccess::View(k, moved));
                }
                let mut small = ElementLoop::new(&shape);
                let place = small.source(operand, OperandAccess::View(k, moved));
                let operand = self.operand_loop(small, place);
                element_loop.operand(operand, Some(&shape))
            }
        }
    }

    /// Plans a loop whose result becomes an operand; returns its number.
    fn operand_loop(&mut self, mut element_loop: ElementLoop, place: StepInput) -> usize {
        element_loop.outputs.push(OutputSpec::Array(place, None));
        element_loop.assign_slots();
        self.loops.push(element_loop);
        self.operands += 1;
        self.operands - 1
    }
}
