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

use super::super::recipe::{From, Output, Recipe, Step, View};

/// A message, and where it is from if not from the instruction as a whole.
pub(super) type Fault = (Option<Position>, ArrayError);

/// Key of a plan: what it depends on of an operand.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Seen {
    /// A number of any value.
    Number,
    Int(i64),
    Shape(Shape),
}

/// Loops of a kernel for operands that match its keys.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) recipe: Arc<Recipe>,
    pub(super) seen: Vec<Seen>,
    /// Loops; the last one gives the results, every other one an additional operand.
    pub(super) sweeps: Vec<Sweep>,
}

/// Loop over elements.
#[derive(Debug)]
pub(super) struct Sweep {
    pub(super) shape: Shape,
    pub(super) len: usize,
    pub(super) sources: Vec<Source>,
    pub(super) works: Vec<Work>,
    pub(super) outputs: Vec<Wanted>,
    /// Number of slots for chunks that its steps need.
    pub(super) slots: usize,
}

/// Operand of a loop.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) operand: usize,
    pub(super) reading: Reading,
}

/// Access pattern of an operand.
#[expect(clippy::large_enum_variant, reason = "a sweep has a handful, which every run walks")]
#[derive(Clone, Debug)]
pub(super) enum Reading {
    /// A number, or an array element by element.
    Plain,
    Repeated(Again),
    /// A view of the kernel, and the index of its elements.
    Moved(usize, Moved),
}

/// Cursor through the elements of a broadcast operand, from the start and at the current position.
#[derive(Clone, Debug)]
pub(super) struct Again {
    start: Repeated,
    pub(super) now: Repeated,
}

impl Again {
    fn new(from: &[usize], to: &[usize]) -> Again {
        let start = Repeated::new(from, to);
        Again { now: start.clone(), start }
    }

    /// Goes back to the start.
    pub(super) fn restart(&mut self) {
        self.now.clone_from(&self.start);
    }
}

/// Step of a loop.
#[derive(Clone, Debug)]
pub(super) struct Work {
    pub(super) op: Op,
    /// Second operation of arithmetic that is fused into the step, if there is one.
    pub(super) twice: Option<Twice>,
    /// Inputs; the third is that of the second operation.
    pub(super) from: [Place; 3],
    pub(super) complex: bool,
    /// Slot that it writes to.
    pub(super) slot: usize,
    /// True if the whole result is an output: the slot then holds the whole array.
    pub(super) kept: bool,
    pub(super) at: Position,
}

/// Input of a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Source(usize),
    Work(usize),
}

/// A result.
#[expect(clippy::large_enum_variant, reason = "a sweep has a handful, which every run walks")]
#[derive(Clone, Debug)]
pub(super) enum Wanted {
    /// Whole array, perhaps written over an operand that is read element by element.
    All(Place, Option<usize>),
    /// An operand as it is.
    Operand(usize),
    Sum(Place),
    /// Sums over broadcast axes to this shape; the cursor of the results, if there are elements.
    Sums(Place, Shape, Option<Again>),
    /// Array of another result.
    Same(usize),
    /// A shape without elements, of complex numbers or of real ones.
    Hollow(bool, Shape),
}

impl Work {
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

impl Wanted {
    /// Returns the input that it is made from.
    fn place(&self) -> Option<Place> {
        match *self {
            Wanted::All(place, _) | Wanted::Sum(place) | Wanted::Sums(place, ..) => Some(place),
            _ => None,
        }
    }
    fn place_mut(&mut self) -> Option<&mut Place> {
        match self {
            Wanted::All(place, _) | Wanted::Sum(place) | Wanted::Sums(place, ..) => Some(place),
            _ => None,
        }
    }
}

impl Plan {
    /// Finds it.
    pub(super) fn new(recipe: &Arc<Recipe>, seen: Vec<Seen>, limit: usize) -> Result<Plan, Fault> {
        let shapes = Shapes::of(recipe, &seen, limit)?;
        let whole = shapes.whole(recipe);
        let operands = seen.len();
        let mut maker =
            Maker { recipe, seen: &seen, shapes, operands, places: Vec::new(), sweeps: Vec::new() };
        let sweep = maker.last(Sweep::new(&whole)).map_err(|source| (None, source))?;
        let mut sweeps = maker.sweeps;
        sweeps.push(sweep);
        Ok(Plan { recipe: recipe.clone(), seen, sweeps })
    }

    /// Moves the starts of views to those of the current operands.
    pub(super) fn restart(&mut self) -> Result<(), Fault> {
        let shape =
            |seen: &Seen| if let Seen::Shape(shape) = seen { Some(shape.clone()) } else { None };
        let shapes: Vec<Option<Shape>> = self.seen.iter().map(shape).collect();
        for source in self.sweeps.iter_mut().flat_map(|s| &mut s.sources) {
            if let Reading::Moved(k, moved) = &mut source.reading {
                let view = &self.recipe.views[*k];
                *moved = viewed(view, &shapes, &self.seen).map_err(|e| (Some(view.at), e))?.1;
            }
        }
        Ok(())
    }
}

impl Sweep {
    fn new(shape: &[usize]) -> Sweep {
        let (sources, works, outputs) = (Vec::new(), Vec::new(), Vec::new());
        Sweep {
            shape: Shape::from_slice(shape),
            len: shape.iter().product(),
            sources,
            works,
            outputs,
            slots: 0,
        }
    }

    fn source(&mut self, operand: usize, reading: Reading) -> Place {
        self.sources.push(Source { operand, reading });
        Place::Source(self.sources.len() - 1)
    }

    /// Adds an operand, broadcast if its shape is another one.
    fn operand(&mut self, operand: usize, shape: Option<&Shape>) -> Place {
        let plain = |s: &Source| s.operand == operand && !matches!(s.reading, Reading::Moved(..));
        if let Some(k) = self.sources.iter().position(plain) {
            return Place::Source(k);
        }
        let reading = match shape {
            Some(shape) if *shape != self.shape && self.len > 0 => {
                Reading::Repeated(Again::new(shape, &self.shape))
            }
            _ => Reading::Plain,
        };
        self.source(operand, reading)
    }

    fn work(&mut self, step: &Step, from: [Place; 2]) -> Place {
        let Step { op, complex, at, .. } = *step;
        let [a, b] = from;
        self.works.push(Work {
            op,
            twice: None,
            from: [a, b, b],
            complex,
            slot: 0,
            kept: false,
            at,
        });
        Place::Work(self.works.len() - 1)
    }

    /// Fuses two operations of arithmetic if only the second reads the result of the first.
    fn pair(&mut self) {
        let mut readers = vec![0; self.works.len()];
        let read = self.works.iter().flat_map(|w| w.from[..2].to_vec());
        for place in read.chain(self.outputs.iter().filter_map(Wanted::place)) {
            if let Place::Work(k) = place {
                readers[k] += 1;
            }
        }
        let mut gone = vec![false; self.works.len()];
        for k in 0..self.works.len() {
            let [a, b, _] = self.works[k].from;
            let found =
                [(a, b, false), (b, a, true)].into_iter().find_map(|(inner, other, back)| {
                    let Place::Work(j) = inner else { return None };
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
        let moved = |place: &mut Place| {
            if let Place::Work(k) = place {
                *k = places[*k];
            }
        };
        let mut left = gone.iter().map(|gone| !gone);
        self.works.retain(|_| left.next().unwrap_or(true));
        self.works.iter_mut().flat_map(|w| &mut w.from).for_each(moved);
        self.outputs.iter_mut().filter_map(Wanted::place_mut).for_each(moved);
    }

    /// Finds operands in whose memory results may be written: each is read once, element by
    /// element, and is no result itself.
    fn replace(&mut self) {
        let plain = |s: &Source| matches!(s.reading, Reading::Plain);
        let mut free: Vec<usize> =
            self.sources.iter().filter(|s| plain(s)).map(|s| s.operand).collect();
        free.retain(|&operand| {
            let given =
                self.outputs.iter().any(|o| matches!(o, Wanted::Operand(k) if *k == operand));
            !given && self.sources.iter().filter(|s| s.operand == operand).count() == 1
        });
        for output in &mut self.outputs {
            if let Wanted::All(Place::Work(_), over) = output {
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
                if let Place::Work(j) = from {
                    last[j] = k;
                }
            }
        }
        for output in &self.outputs {
            if let Wanted::All(Place::Work(k), _)
            | Wanted::Sum(Place::Work(k))
            | Wanted::Sums(Place::Work(k), ..) = *output
            {
                last[k] = self.works.len();
                self.works[k].kept |= matches!(output, Wanted::All(..));
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
                if let Place::Work(j) = read
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
pub(super) fn measures(recipe: &Recipe, k: usize) -> bool {
    recipe.views.iter().any(|v| v.args.contains(&k))
        || recipe.outputs.iter().any(|o| matches!(o, Output::SumKeep(_, axis) if *axis == k))
}

/// Returns true if an operand determines nothing but the starts of views.
pub(super) fn begins(recipe: &Recipe, k: usize) -> bool {
    let other = |v: &View| {
        let start = if v.op == ArrayOp::Slice { 2 } else { 3 };
        v.args.iter().enumerate().any(|(place, &arg)| arg == k && place != start)
    };
    let axis = |o: &Output| matches!(o, Output::SumKeep(_, axis) if *axis == k);
    measures(recipe, k) && !recipe.views.iter().any(other) && !recipe.outputs.iter().any(axis)
}

/// Shapes of the inputs and results of a kernel; none of numbers.
struct Shapes {
    operands: Vec<Option<Shape>>,
    views: Vec<(Shape, Moved)>,
    steps: Vec<Option<Shape>>,
}

impl Shapes {
    fn of(recipe: &Recipe, seen: &[Seen], limit: usize) -> Result<Shapes, Fault> {
        let shape =
            |seen: &Seen| if let Seen::Shape(shape) = seen { Some(shape.clone()) } else { None };
        let mut shapes = Shapes {
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

    fn at(&self, from: From) -> Option<&Shape> {
        match from {
            From::Operand(k) => self.operands[k].as_ref(),
            From::View(k) => Some(&self.views[k].0),
            From::Step(k) => self.steps[k].as_ref(),
        }
    }

    /// Returns the one shape of the arrays that results are made or summed from.
    fn whole(&self, recipe: &Recipe) -> Shape {
        let shape = recipe.outputs.iter().find_map(|output| match *output {
            Output::Array(k) => self.steps[k].as_ref(),
            Output::Shape(_) => None,
            Output::Sum(from) | Output::SumKeep(from, _) | Output::SumLike(from, _) => {
                self.at(from)
            }
        });
        shape.cloned().unwrap_or_default()
    }
}

fn viewed(
    view: &View,
    shapes: &[Option<Shape>],
    seen: &[Seen],
) -> Result<(Shape, Moved), ArrayError> {
    let shape = |k: usize| shapes[view.args[k]].clone().unwrap_or_default();
    let int = |k: usize| if let Seen::Int(n) = seen[view.args[k]] { n } else { -1 };
    match view.op {
        ArrayOp::Slice => Moved::slice(&shape(0), int(1), int(2), int(3)),
        _ => Ok((shape(1), Moved::embed("embed", &shape(0), &shape(1), int(2), int(3))?)),
    }
}

/// Location of the result of a step.
enum Made {
    /// Result in the last loop.
    Here(Place),
    /// Result in an operand.
    Before(usize),
}

struct Maker<'a> {
    recipe: &'a Recipe,
    seen: &'a [Seen],
    shapes: Shapes,
    /// Number of operands, with those that loops give.
    operands: usize,
    places: Vec<Made>,
    sweeps: Vec<Sweep>,
}

impl Maker<'_> {
    /// Plans the loop that gives the results, after those before it.
    fn last(&mut self, mut sweep: Sweep) -> Result<Sweep, ArrayError> {
        let recipe = self.recipe;
        for (k, step) in recipe.steps.iter().enumerate() {
            let shape = self.shapes.steps[k].clone().unwrap_or_default();
            let made = if shape == sweep.shape {
                let from = step.from.map(|from| self.place(from, &mut sweep));
                Made::Here(sweep.work(step, from))
            } else {
                let mut small = Sweep::new(&shape);
                let from = step.from.map(|from| self.place(from, &mut small));
                let place = small.work(step, from);
                Made::Before(self.before(small, place))
            };
            self.places.push(made);
        }
        let mut whole: Vec<(From, usize)> = Vec::new();
        for (k, output) in recipe.outputs.iter().enumerate() {
            let wanted = match self.wanted(*output, &mut sweep)? {
                Ok(wanted) => wanted,
                Err(from) => match whole.iter().find(|s| s.0 == from) {
                    Some(&(_, first)) => Wanted::Same(first),
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
        output: Output,
        sweep: &mut Sweep,
    ) -> Result<Result<Wanted, From>, ArrayError> {
        let (from, to) = match output {
            Output::Array(k) => return Ok(Err(From::Step(k))),
            Output::Shape(k) => {
                let shape = self.shapes.steps[k].clone().unwrap_or_default();
                return Ok(Ok(Wanted::Hollow(self.recipe.steps[k].complex, shape)));
            }
            Output::Sum(from) => return Ok(Ok(Wanted::Sum(self.place(from, sweep)))),
            Output::SumKeep(from, axis) => {
                let axis = if let Seen::Int(axis) = self.seen[axis] { axis } else { -1 };
                (from, reduced("sum_keep", axis, &sweep.shape)?.1)
            }
            Output::SumLike(from, like) => {
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
        let runs = (sweep.len > 0).then(|| Again::new(&to, &sweep.shape));
        Ok(Ok(Wanted::Sums(self.place(from, sweep), to, runs)))
    }

    fn all(&mut self, from: From, sweep: &mut Sweep) -> Wanted {
        match from {
            From::Operand(k) => Wanted::Operand(k),
            From::Step(k) => match self.places[k] {
                Made::Before(operand) => Wanted::Operand(operand),
                Made::Here(place) => Wanted::All(place, None),
            },
            From::View(_) => Wanted::All(self.place(from, sweep), None),
        }
    }

    /// Returns the input of a loop that holds the operand of a step.
    fn place(&mut self, from: From, sweep: &mut Sweep) -> Place {
        match from {
            From::Operand(k) => sweep.operand(k, self.shapes.operands[k].as_ref()),
            From::Step(k) => match self.places[k] {
                Made::Here(place) => place,
                Made::Before(operand) => sweep.operand(operand, self.shapes.steps[k].as_ref()),
            },
            From::View(k) => {
                let (operand, (shape, moved)) =
                    (self.recipe.views[k].args[0], self.shapes.views[k].clone());
                if shape == sweep.shape {
                    return sweep.source(operand, Reading::Moved(k, moved));
                }
                let mut small = Sweep::new(&shape);
                let place = small.source(operand, Reading::Moved(k, moved));
                let operand = self.before(small, place);
                sweep.operand(operand, Some(&shape))
            }
        }
    }

    /// Plans a loop whose result becomes an operand; returns its number.
    fn before(&mut self, mut sweep: Sweep, place: Place) -> usize {
        sweep.outputs.push(Wanted::All(place, None));
        sweep.settle();
        self.sweeps.push(sweep);
        self.operands += 1;
        self.operands - 1
    }
}
