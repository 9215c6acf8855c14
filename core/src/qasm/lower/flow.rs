//! Lists of statements, loops and `switch`, and what leaves them early.
//!
//! Loops are unrolled, but for those that a measurement ends (`repeat`). Under a condition on bits,
//! `break`, `continue`, `return` and `end` set a hidden bit, and the rest of what they leave runs where
//! that bit is 0:
//!
//! ```text
//! for int k in [1:2] {              c = measure q;
//!     c = measure q;                if (c) left = 1;
//!     if (c) break;                 if (!left) x q;
//!     x q;                          if (!left) c = measure q;
//! }                                 if (!left && c) left = 1;
//!                                   if (!left) x q;
//!                                   left = 0;
//! ```
//!
//! Where nothing is left to run, the bit is not needed and not set.

use std::collections::HashSet;

use super::{
    Guard, Item, Lower, Lowering, Picks, Scope, Stop, Value,
    classical::{Classical, Truth},
    conditional::Branches,
    evaluate::Width,
    names::Entry,
    variables::State,
};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{BinaryOp, Case, Expr, ExprKind, ForLoop, Index, Span, Stmt, SwitchCase},
        diagnostic::Problem,
    },
};

/// A case with the values of its labels.
type Labelled<'a> = (Vec<(Value, Span)>, &'a [Stmt]);

/// What can be left early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The file, by `end`.
    File,
    /// A subroutine, by `return`.
    Subroutine,
    /// A loop, by `break`.
    Loop,
    /// One round of it, by `continue`.
    Round,
}

/// Something open that can be left early.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    kind: Kind,
    /// Where it began: in which branch, and how long the plan was.
    guard: Option<Guard>,
    start: usize,
    /// Which frame it is of all.
    number: u64,
    /// The hidden bit that is 1 where it was left under a condition.
    pub(super) bit: Option<u32>,
    /// In how many branches the list stands whose rest runs where that bit is 0; and whether it was left
    /// again in branches within. These may keep their condition, and not read the bit anew.
    guarded: Option<usize>,
    again: bool,
    /// Whether anything reads the bit.
    pub(super) read: bool,
    /// How often it was left under a condition.
    pub(super) left: u64,
    /// Variables with other values where it was left than behind that.
    changed: Vec<usize>,
}

impl Frame {
    /// The bit that says whether it was left, if a list in so many branches must read it from here on.
    fn unguarded(&self, depth: usize) -> Option<u32> {
        self.bit.filter(|_| self.guarded.is_none_or(|at| self.again && at != depth))
    }
}

/// A part of a list that runs where nothing was left.
pub(super) struct Rest {
    guard: Option<Guard>,
    mark: usize,
    /// The frames that were left, and where they were guarded before.
    frames: Vec<(usize, Option<usize>)>,
    span: Span,
}

impl Lowering<'_> {
    /// Statements in a row, up to one that leaves them.
    pub(super) fn list(&mut self, statements: &[Stmt], all: &[Stmt]) {
        let mut rest = Vec::new();
        for (statement, behind) in statements.iter().zip((0..statements.len()).rev()) {
            if self.full() || self.leaving.is_some() || self.step_limit(statement.span) {
                break;
            }
            // An error was reported; the next statement may still have its own.
            let _ = self.statement(statement, all);
            if behind > 0 && self.left_somewhere() {
                rest.extend(self.guard_rest(statement.span));
            }
        }
        self.end_rest(rest);
    }

    /// The statements of a block, with names of its own.
    pub(super) fn block(&mut self, statements: &[Stmt], all: &[Stmt]) {
        self.enter_scope();
        self.list(statements, all);
        self.leave_scope();
    }

    /// Counts a statement, where statements may run more than once.
    fn step_limit(&mut self, span: Span) -> bool {
        if self.frames.len() > 1 {
            self.steps += 1;
        }
        self.passed_steps(span)
    }

    /// Counts a statement of a loop in a gate definition.
    pub(super) fn count_step(&mut self, span: Span) -> Lower<()> {
        self.steps += 1;
        if self.passed_steps(span) { Err(Stop) } else { Ok(()) }
    }

    fn passed_steps(&mut self, span: Span) -> bool {
        let limit = self.options.max_gates;
        if self.steps > limit && !self.reported.contains("steps") {
            self.reported.insert("steps");
            let _: Lower<()> = self.fail(Problem::TooManySteps { limit }, span);
        }
        self.steps > limit
    }

    pub(super) fn enter_frame(&mut self, kind: Kind) {
        self.n_frames += 1;
        self.frames.push(Frame {
            kind,
            guard: self.guard,
            start: self.plan.len(),
            number: self.n_frames,
            bit: None,
            guarded: None,
            again: false,
            read: false,
            left: 0,
            changed: Vec::new(),
        });
    }

    /// Goes on behind what was left.
    pub(super) fn leave_frame(&mut self, span: Span) {
        let Some(frame) = self.frames.pop() else { return };
        if self.leaving == Some(self.frames.len()) {
            self.leaving = None;
        }
        for id in frame.changed {
            // Hidden bits have the value wherever it was left.
            if !self.variables.get(id).is_some_and(|v| matches!(v.state, State::Bits { .. })) {
                self.lose(id, span);
            }
        }
        let (Some(bit), frame_number) = (frame.bit, frame.number) else { return };
        if frame.read {
            self.clear(bit, 1);
        } else {
            let tail = self.plan.split_off(frame.start);
            let sets = |item: &Item| matches!(item, Item::Leave { frame, .. } if *frame == frame_number);
            self.plan.extend(tail.into_iter().filter(|planned| !sets(&planned.item)));
            self.spare.entry(1).or_default().push(bit);
        }
    }

    /// `break`, `continue`, `return`, `end`.
    pub(super) fn leave(&mut self, kind: Kind, span: Span) -> Lower<()> {
        let mut at = None;
        for (number, frame) in self.frames.iter().enumerate().rev() {
            if frame.kind == kind {
                at = Some(number);
                break;
            }
            if frame.kind == Kind::Subroutine && kind != Kind::File {
                break;
            }
        }
        let Some(at) = at else {
            let (word, place) = match kind {
                Kind::Subroutine => ("return", "a subroutine"),
                Kind::Loop => ("break", "a loop"),
                _ => ("continue", "a loop"),
            };
            return self.fail(Problem::Misplaced { word, place }, span);
        };
        if self.guard != self.frames[at].guard {
            let bit = match self.frames[at].bit {
                Some(bit) => bit,
                None => self.hidden_bits(1, 0, span)?.get(0),
            };
            self.frames[at].bit = Some(bit);
            self.frames[at].again = true;
            self.frames[at].left += 1;
            self.add_count(1, span);
            self.push(Item::Leave { bit, frame: self.frames[at].number });
        }
        self.leaving = Some(at);
        Ok(())
    }

    /// Whether the walk stands in a branch of the innermost frame of a kind.
    pub(super) fn under_condition(&self, kind: Kind) -> bool {
        self.frames.iter().rev().find(|f| f.kind == kind).is_some_and(|f| f.guard != self.guard)
    }

    /// Whether something around was left under a condition that is not the walk's yet.
    pub(super) fn left_somewhere(&self) -> bool {
        self.leaving.is_none() && self.frames.iter().any(|f| f.unguarded(self.depth).is_some())
    }

    /// From here to the end of the list statements run where nothing was left.
    pub(super) fn guard_rest(&mut self, span: Span) -> Lower<Rest> {
        let left = |(number, f): (usize, &Frame)| Some((number, f.unguarded(self.depth)?));
        let bits: Vec<(usize, u32)> = self.frames.iter().enumerate().filter_map(left).collect();
        let mut all: Vec<Condition> =
            bits.iter().map(|&(_, bit)| Condition::Bit { bit, value: false }).collect();
        let condition = if all.len() == 1 { all.remove(0) } else { Condition::All(all) };
        let size = self.spend_branch(&condition, span)?;
        let mut frames = Vec::with_capacity(bits.len());
        for (number, _) in bits {
            let frame = &mut self.frames[number];
            frames.push((number, frame.guarded.replace(self.depth)));
            (frame.again, frame.read) = (false, true);
        }
        let rest = Rest { guard: self.guard, mark: self.mark, frames, span };
        let number = u32::try_from(self.branches.len()).unwrap_or(u32::MAX);
        // What is left once is left for good, so the bit is read anew by each instruction.
        self.branches.push(Branches { parent: self.guard, condition: Some(condition), stored: false, size });
        self.guard = Some(Guard { number, otherwise: false });
        self.mark = self.log.len();
        Ok(rest)
    }

    pub(super) fn end_rest(&mut self, rest: Vec<Rest>) {
        for Rest { guard, mark, frames, span } in rest.into_iter().rev() {
            let ends = self.end_branch();
            (self.guard, self.mark) = (guard, mark);
            for (number, before) in frames {
                // Whoever left before the rest goes on behind what was left then.
                self.leaving = self.leaving.map(|at| at.max(number));
                self.frames[number].guarded = before;
                self.frames[number].again = true;
            }
            for (id, state) in ends {
                if self.variables.get(id).is_some_and(|v| v.state != state) {
                    self.lose(id, span);
                }
            }
        }
    }

    /// Back from a branch to its list. Where that is guarded itself, all that it runs reads the bits anew.
    pub(super) fn leave_branch(&mut self) {
        self.depth -= 1;
        for frame in &mut self.frames {
            frame.again &= frame.guarded != Some(self.depth);
        }
    }

    /// How often anything around was left under a condition so far.
    pub(super) fn n_left(&self) -> u64 {
        self.frames.iter().map(|f| f.left).sum()
    }

    /// Whether a variable has another value where something around was left.
    pub(super) fn differs_where_left(&self, id: usize) -> bool {
        self.frames.iter().any(|f| f.changed.contains(&id))
    }

    /// Remembers what a branch changed that left, or whose other side did.
    pub(super) fn leave_changed(&mut self, frame: usize, ends: &super::variables::Ends) {
        if let Some(frame) = self.frames.get_mut(frame) {
            for (id, _) in ends {
                if !frame.changed.contains(id) {
                    frame.changed.push(*id);
                }
            }
        }
    }

    /// Rounds of a loop while `next`, which may declare a variable, says so.
    fn rounds(
        &mut self,
        body: &[Stmt],
        all: &[Stmt],
        span: Span,
        mut next: impl FnMut(&mut Self) -> Lower<bool>,
    ) -> Lower<()> {
        let errors = self.n_errors();
        let mut rest = Vec::new();
        self.enter_frame(Kind::Loop);
        let result = loop {
            self.enter_scope();
            let goes_on = next(self);
            if let Ok(true) = goes_on {
                self.enter_frame(Kind::Round);
                self.list(body, all);
                self.leave_frame(span);
            }
            self.leave_scope();
            match goes_on {
                Ok(true) if self.n_errors() > errors => break Err(Stop),
                Ok(true) if self.leaving.is_some() || self.step_limit(span) => break Ok(()),
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(Stop) => break Err(Stop),
            }
            if self.left_somewhere() {
                rest.extend(self.guard_rest(span));
            }
        };
        self.end_rest(rest);
        self.leave_frame(span);
        result
    }

    /// A loop is unrolled while its condition is known; from where it is not, a measurement ends it.
    pub(super) fn while_loop(
        &mut self,
        condition: &Expr,
        body: &[Stmt],
        all: &[Stmt],
        span: Span,
    ) -> Lower<()> {
        if !matches!(condition.kind, ExprKind::Bool(true)) {
            return self.unroll(condition, body, all, span, false).map(|_| ());
        }
        // What `while (true)` counts may say when it ends, or be a mere number of rounds.
        let (start, errors) = (self.checkpoint(), self.n_errors());
        if !self.unroll(condition, body, all, span, true)? {
            return Ok(());
        }
        self.back_to(&start);
        let result =
            self.rounds(body, all, span, |lowering| lowering.repeat(None, body, all, span).map(|()| false));
        if result.is_ok() && self.n_errors() == errors {
            return Ok(());
        }
        self.back_to(&start);
        self.unroll(condition, body, all, span, false).map(|_| ())
    }

    /// Plans the rounds of a loop whose condition is known, and the rest as a loop. Gives up, with `true`, where one
    /// that is to `probe` is left under a condition in a round that changes what is known.
    fn unroll(
        &mut self,
        condition: &Expr,
        body: &[Stmt],
        all: &[Stmt],
        span: Span,
        probe: bool,
    ) -> Lower<bool> {
        let always = matches!(condition.kind, ExprKind::Bool(true));
        let left = self.n_left();
        let (mut before, mut undecided) = (None, false);
        self.rounds(body, all, span, |lowering| {
            let start = lowering.plan.len();
            let known = match lowering.condition(condition)? {
                Truth::Constant(false) => return Ok(false),
                Truth::Constant(true) => Some(lowering.known(body)),
                Truth::Open(_) => None,
            };
            // Where a round changes nothing that is known, all later ones are the same.
            let same =
                known.as_ref().is_none_or(|now| before.as_ref() == Some(now) || (probe && now.is_empty()));
            if same {
                lowering.plan.truncate(start);
                return lowering.repeat((!always).then_some(condition), body, all, span).map(|()| false);
            }
            undecided = probe && before.is_some() && lowering.n_left() > left;
            before = known;
            Ok(!undecided)
        })?;
        Ok(undecided)
    }

    pub(super) fn for_loop(&mut self, f: &ForLoop, all: &[Stmt], span: Span) -> Lower<()> {
        let ForLoop { ty, name, over, body } = f;
        match self.range(over, Scope::Global)? {
            Range::Integers { mut next, step, end } => self.rounds(body, all, span, |lowering| {
                let Some(now) = next.filter(|now| if step > 0 { *now <= end } else { *now >= end }) else {
                    return Ok(false);
                };
                next = now.checked_add(step);
                let value = Classical::Value(Value::Int(now));
                lowering.declare_variable(*name, ty, Some((value, index_span(over)))).map(|()| true)
            }),
            Range::Values(values) => {
                let mut values = values.into_iter();
                self.rounds(body, all, span, |lowering| {
                    let Some((value, at)) = values.next() else { return Ok(false) };
                    lowering.declare_variable(*name, ty, Some((Classical::Value(value), at))).map(|()| true)
                })
            }
            Range::Bits(bits) => {
                let mut bits = bits.into_iter();
                self.rounds(body, all, span, |lowering| {
                    let Some(bit) = bits.next() else { return Ok(false) };
                    lowering.declare_name(*name, Entry::Bits(Picks::One(bit))).map(|()| true)
                })
            }
        }
    }

    /// An expression that a `for` runs over. A gate definition sees no bits.
    fn elements(&mut self, expr: &Expr, scope: Scope) -> Lower<Classical> {
        match scope {
            Scope::Global => self.classical(expr),
            Scope::Gate(_) => self.evaluate(expr, scope).map(Classical::Value),
        }
    }

    /// What a `for` runs over.
    pub(super) fn range(&mut self, over: &Index, scope: Scope) -> Lower<Range> {
        match over {
            Index::Range { start, step, end, span } => {
                let (Some(start), Some(end)) = (start, end) else {
                    let (expected, given) = ("both ends of the range".to_owned(), "one missing".to_owned());
                    return self.fail(Problem::Expected { expected, given }, *span);
                };
                let next = Some(self.integer_in(start, "the start of a range", scope)?);
                let step = match step {
                    Some(step) => self.integer_in(step, "the step of a range", scope)?,
                    None => 1,
                };
                let end = self.integer_in(end, "the end of a range", scope)?;
                if step == 0 {
                    return self.fail(Problem::EmptySelection, *span);
                }
                Ok(Range::Integers { next, step, end })
            }
            Index::Set(_, items) => {
                let mut values = Vec::with_capacity(items.len());
                for item in items {
                    values.push((self.evaluate(item, scope)?, item.span));
                }
                Ok(Range::Values(values))
            }
            Index::At(expr) => match self.elements(expr, scope)? {
                Classical::Word { bits, .. } => Ok(Range::Bits(bits)),
                Classical::Value(Value::Array(items)) => {
                    Ok(Range::Values(items.iter().map(|item| (item.clone(), expr.span)).collect()))
                }
                Classical::Value(Value::Bits { width, bits }) => {
                    let bit = |at| Value::Bits { width: 1, bits: bits >> at & 1 };
                    Ok(Range::Values((0..width).map(|at| (bit(at), expr.span)).collect()))
                }
                _ => {
                    let expected = "a range in brackets, a set in braces or an array".to_owned();
                    let given = "another expression".to_owned();
                    self.fail(Problem::Expected { expected, given }, expr.span)
                }
            },
        }
    }

    pub(super) fn switch(&mut self, switch: &SwitchCase, all: &[Stmt]) -> Lower<()> {
        let SwitchCase { subject, cases, default } = switch;
        let default = default.as_deref().unwrap_or_default();
        let cases = self.labels(cases)?;
        match self.classical(subject)? {
            Classical::Value(value @ (Value::Int(_) | Value::Bits { .. })) => {
                for (labels, body) in &cases {
                    for (label, span) in labels {
                        let same = self.binary(BinaryOp::Equal, value.clone(), label.clone(), *span)?;
                        if same == Value::Bool(true) {
                            self.block(body, all);
                            return Ok(());
                        }
                    }
                }
                self.block(default, all);
                Ok(())
            }
            Classical::Word { bits, signed, .. } => self.cases(&bits, signed, &cases, default, all),
            _ => {
                let (given, expected) = ("this".to_owned(), "an integer".to_owned());
                self.fail(Problem::WrongType { given, expected }, subject.span)
            }
        }
    }

    /// The labels of cases worked out: whole numbers, each of them once.
    fn labels<'a>(&mut self, cases: &'a [Case]) -> Lower<Vec<Labelled<'a>>> {
        let mut seen = HashSet::new();
        let mut all = Vec::with_capacity(cases.len());
        for (exprs, body) in cases {
            let mut labels = Vec::with_capacity(exprs.len());
            for expr in exprs {
                let label = self.evaluate(expr, Scope::Global)?;
                let value = match &label {
                    Value::Int(value) => *value,
                    Value::Bits { bits, .. } => bits.cast_signed(),
                    other => {
                        let (given, expected) = (other.describe().to_owned(), "an integer".to_owned());
                        return self.fail(Problem::WrongType { given, expected }, expr.span);
                    }
                };
                if !seen.insert(value) {
                    return self.fail(Problem::RepeatedCase { value }, expr.span);
                }
                labels.push((label, expr.span));
            }
            all.push((labels, &**body));
        }
        Ok(all)
    }

    /// `if` one case `else` the others.
    fn cases(
        &mut self,
        bits: &[u32],
        signed: bool,
        cases: &[Labelled<'_>],
        default: &[Stmt],
        all: &[Stmt],
    ) -> Lower<()> {
        let Some(((labels, body), others)) = cases.split_first() else {
            self.block(default, all);
            return Ok(());
        };
        let mut holds = Truth::Constant(false);
        for (label, span) in labels {
            let label = Classical::Value(label.clone());
            let same = self.compare_word(bits.to_vec(), signed, Relation::Equal, label, *span)?;
            holds = holds.join(same, false);
        }
        let span = labels.first().map_or(Span::default(), |label| label.1);
        match holds {
            Truth::Constant(true) => {
                self.block(body, all);
                Ok(())
            }
            Truth::Constant(false) => self.cases(bits, signed, others, default, all),
            Truth::Open(condition) => {
                let mut result = Ok(());
                self.branches(condition, span, |lowering, otherwise| {
                    if otherwise {
                        result = lowering.cases(bits, signed, others, default, all);
                    } else {
                        lowering.block(body, all);
                    }
                })?;
                result
            }
        }
    }

    /// The places in an array that indices mean, outermost first; the last may be a bit of an integer of this width.
    pub(super) fn positions(
        &mut self,
        whole: &Value,
        width: Option<Width>,
        parts: &[Box<[Index]>],
    ) -> Lower<Vec<(usize, Span)>> {
        const BIT: Value = Value::Bool(false);
        let mut at = Vec::new();
        let mut value = whole;
        for index in parts.iter().flat_map(|part| part.iter()) {
            let Index::At(expr) = index else {
                return self.refuse("an assignment to a part of an array", index_span(index));
            };
            let (size, name) = match (value, width) {
                (Value::Array(items), _) => (items.len() as u64, "the array"),
                (Value::Int(_), Some(width)) => (u64::from(width.bits), "the integer"),
                _ => {
                    let given = value.describe().to_owned();
                    return self.fail(Problem::Operands { operator: "[]".to_owned(), given }, expr.span);
                }
            };
            let given = self.integer(expr, "an index")?;
            let position = super::evaluate::position(given, size).and_then(|at| usize::try_from(at).ok());
            let Some(position) = position else {
                let name = name.to_owned();
                return self.fail(Problem::IndexOutOfRange { name, given, size }, expr.span);
            };
            at.push((position, expr.span));
            value = match value {
                Value::Array(items) => &items[position],
                _ => &BIT,
            };
        }
        Ok(at)
    }
}

/// What a `for` runs over.
pub(super) enum Range {
    Integers { next: Option<i128>, step: i128, end: i128 },
    Values(Vec<(Value, Span)>),
    Bits(Vec<u32>),
}

impl Range {
    /// The values that are known, in order; `at` is where the range stands.
    pub(super) fn values(self, at: Span) -> Box<dyn Iterator<Item = (Value, Span)>> {
        match self {
            Range::Integers { next, step, end } => {
                let all = std::iter::successors(next, move |now| now.checked_add(step));
                let within = move |now: &i128| if step > 0 { *now <= end } else { *now >= end };
                Box::new(all.take_while(within).map(move |now| (Value::Int(now), at)))
            }
            Range::Values(values) => Box::new(values.into_iter()),
            Range::Bits(_) => Box::new(std::iter::empty()),
        }
    }
}

pub(super) fn index_span(index: &Index) -> Span {
    match index {
        Index::At(expr) => expr.span,
        Index::Range { span, .. } | Index::Set(span, _) => *span,
    }
}
