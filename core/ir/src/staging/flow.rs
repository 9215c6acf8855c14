//! Control flow: short-circuit logic, `if` with a value, `while`, `for`, `break`, `continue`.
//!
//! A front end calls these methods in the order of the text; each construct is a small state that
//! one call returns and the next takes, so that no construct can be left open or closed twice:
//!
//! | construct | calls |
//! |---|---|
//! | `a && b` | [`begin_short`](StagingBuilder::begin_short) `(a)`, [`next_short`](StagingBuilder::next_short), lower `b`, [`give_short`](StagingBuilder::give_short) `(b)`, [`end_short`](StagingBuilder::end_short) |
//! | `if c { a } else { b }` | [`begin_if`](StagingBuilder::begin_if), lower `c`, [`arm`](StagingBuilder::arm), lower `a`, [`end_arm`](StagingBuilder::end_arm), lower `b`, [`end_if`](StagingBuilder::end_if) |
//! | `while c { … }` | [`begin_loop`](StagingBuilder::begin_loop), lower `c`, [`enter_loop`](StagingBuilder::enter_loop), lower the body, [`end_loop`](StagingBuilder::end_loop) |
//! | `for i in a..b { … }` | lower `a`, `b`, [`begin_for`](StagingBuilder::begin_for), lower the body, [`end_for`](StagingBuilder::end_for) |

use crate::{
    entity::{Block, Value, Variable},
    ir::{Compare, Int2, Kind, Op, Position},
};

use super::{LoopTargets, StagedOperand, StagingBuilder, TypeMismatch};

/// Short-circuit expression `a && b || c` under construction.
#[derive(Debug)]
pub struct ShortCircuit {
    variable: Variable,
    last: Value,
    exit: Block,
}

/// An `if` under construction.
#[derive(Debug)]
pub struct Branches {
    merge: Block,
    /// Block of the next arm.
    next: Option<Block>,
    arms: usize,
    /// Arms that reach the end: their number, last block and value.
    ends: Vec<(usize, Block, StagedOperand)>,
}

/// Loop before its condition.
#[derive(Debug)]
pub struct LoopHeader(Block);

/// Loop inside its body.
#[derive(Debug)]
pub struct LoopBody {
    header: Block,
    exit: Block,
}

/// Counted loop inside its body.
#[derive(Debug)]
pub struct CountedLoop {
    /// Counter in this iteration.
    pub value: Value,
    variable: Variable,
    inside: LoopBody,
    step: Block,
    /// Bound, if it is compared with after an iteration and not before.
    last: Option<Value>,
    at: Position,
}

impl StagingBuilder {
    // Logic: the right operand is evaluated only if it decides, since it may fail otherwise.

    /// Starts a short-circuit expression with the first operand.
    ///
    /// # Errors
    /// If it is not a truth value.
    pub fn begin_short(&mut self, first: StagedOperand) -> Result<ShortCircuit, TypeMismatch> {
        let last = self.fit(first, &Kind::Bool)?;
        let variable = self.b.declare(Kind::Bool);
        self.b.define(variable, last);
        Ok(ShortCircuit { variable, last, exit: self.b.create_block() })
    }

    /// Continues with the next operand, after `&&` (`and`) or `||`.
    pub fn next_short(&mut self, short: &ShortCircuit, and: bool) {
        let next = self.b.create_block();
        let (yes, no) = if and { (next, short.exit) } else { (short.exit, next) };
        self.b.branch(short.last, yes, no);
        self.b.seal(next);
        self.b.switch_to(next);
    }

    /// Sets the value of the operand.
    ///
    /// # Errors
    /// If it is not a truth value.
    pub fn give_short(
        &mut self,
        short: &mut ShortCircuit,
        given: StagedOperand,
    ) -> Result<(), TypeMismatch> {
        short.last = self.fit(given, &Kind::Bool)?;
        self.b.define(short.variable, short.last);
        Ok(())
    }

    /// Returns the value of the expression.
    pub fn end_short(&mut self, short: ShortCircuit) -> StagedOperand {
        self.b.jump(short.exit, &[]);
        self.b.seal(short.exit);
        self.b.switch_to(short.exit);
        self.read(short.variable)
    }

    // Branches.

    /// Starts an `if`.
    pub fn begin_if(&mut self) -> Branches {
        Branches { merge: self.b.create_block(), next: None, arms: 0, ends: Vec::new() }
    }

    /// Starts the arm that runs if the condition holds.
    ///
    /// # Errors
    /// If it is not a truth value.
    pub fn arm(
        &mut self,
        branches: &mut Branches,
        condition: StagedOperand,
    ) -> Result<(), TypeMismatch> {
        let condition = self.fit(condition, &Kind::Bool)?;
        let (yes, no) = (self.b.create_block(), self.b.create_block());
        self.b.branch(condition, yes, no);
        self.b.seal(yes);
        self.b.seal(no);
        self.b.switch_to(yes);
        branches.next = Some(no);
        Ok(())
    }

    /// Ends the arm with its value. The code after it belongs to `else`.
    pub fn end_arm(&mut self, branches: &mut Branches, given: StagedOperand) {
        self.leave(branches, given);
        if let Some(next) = branches.next.take() {
            self.b.switch_to(next);
        }
    }

    fn leave(&mut self, branches: &mut Branches, given: StagedOperand) {
        if !self.b.is_closed() {
            branches.ends.push((branches.arms, self.b.current(), given));
        }
        branches.arms += 1;
    }

    /// Ends the `if` with the value of `else`, or with [`StagedOperand::Nothing`] without one. It
    /// has a value if all arms that reach the end do; `hint` is the expected kind.
    ///
    /// # Errors
    /// If the arms do not agree; the operand is the number of the arm.
    pub fn end_if(
        &mut self,
        mut branches: Branches,
        otherwise: StagedOperand,
        hint: Option<&Kind>,
    ) -> Result<StagedOperand, TypeMismatch> {
        self.leave(&mut branches, otherwise);
        let Branches { merge, ends, .. } = branches;
        let given: Vec<StagedOperand> = ends.iter().map(|e| e.2).collect();
        if given.is_empty() || given.contains(&StagedOperand::Nothing) {
            for (_, end, _) in &ends {
                self.b.switch_to(*end);
                self.b.jump(merge, &[]);
            }
            self.b.seal(merge);
            self.b.switch_to(merge);
            if ends.is_empty() {
                // Every arm has left: the code after it is unreachable.
                let zero = self.b.zero(&self.result);
                self.b.ret(zero);
            }
            return Ok(StagedOperand::Nothing);
        }
        let (known, kind) = self.common(&given, hint);
        let param = self.b.block_param(merge, kind.clone());
        for (arm, end, given) in ends {
            self.b.switch_to(end);
            let value = self.fit(given, &kind).map_err(|e| e.at_operand(arm))?;
            self.b.jump(merge, &[value]);
        }
        self.b.seal(merge);
        self.b.switch_to(merge);
        Ok(self.computed(param, known))
    }

    // Loops.

    /// Starts a loop: the code after it is evaluated before each iteration.
    pub fn begin_loop(&mut self) -> LoopHeader {
        let head = self.b.create_block();
        self.b.jump(head, &[]);
        self.b.switch_to(head);
        LoopHeader(head)
    }

    /// Starts the body, which is repeated while the condition holds; without one, until it is left.
    ///
    /// # Errors
    /// If it is not a truth value.
    pub fn enter_loop(
        &mut self,
        head: LoopHeader,
        condition: Option<StagedOperand>,
    ) -> Result<LoopBody, TypeMismatch> {
        let condition = condition.map(|c| self.fit(c, &Kind::Bool)).transpose()?;
        let (inside, exit) = (self.b.create_block(), self.b.create_block());
        match condition {
            Some(c) => self.b.branch(c, inside, exit),
            None => self.b.jump(inside, &[]),
        }
        self.b.seal(inside);
        self.b.switch_to(inside);
        self.loops.push(LoopTargets { continue_to: head.0, exit });
        Ok(LoopBody { header: head.0, exit })
    }

    /// Ends the body.
    pub fn end_loop(&mut self, inside: LoopBody) {
        self.loops.pop();
        if !self.b.is_closed() {
            self.b.jump(inside.header, &[]);
        }
        self.b.seal(inside.header);
        self.b.seal(inside.exit);
        self.b.switch_to(inside.exit);
    }

    /// Starts the body of a loop over `from..to`, or `from..=to`. The counter must not exceed the
    /// largest integer, which may be the bound of an inclusive range: unless the bound is a smaller
    /// literal, such a loop ends after the iteration in which the counter is the bound.
    ///
    /// # Errors
    /// If a bound is not an int.
    pub fn begin_for(
        &mut self,
        from: StagedOperand,
        to: StagedOperand,
        inclusive: bool,
    ) -> Result<CountedLoop, TypeMismatch> {
        let bounds = self.fit_all(&[from, to], &[Kind::Int, Kind::Int])?;
        let at = self.b.position();
        let variable = self.b.declare(Kind::Int);
        self.b.define(variable, bounds[0]);
        let compare = Op::CompareInt(if inclusive { Compare::Le } else { Compare::Lt });
        let last = bounds[1];
        let beyond = !inclusive || matches!(to, StagedOperand::Literal(n) if n < i64::MAX);
        let head = beyond.then(|| self.begin_loop());
        let [body, step, exit] = [(); 3].map(|()| self.b.create_block());
        let now = self.b.use_variable(variable);
        let more = self.b.inst(compare, &[now, last], Kind::Bool);
        self.b.branch(more, body, exit);
        self.b.seal(body);
        self.b.switch_to(body);
        let LoopHeader(head) = head.unwrap_or_else(|| self.begin_loop());
        self.loops.push(LoopTargets { continue_to: step, exit });
        let inside = LoopBody { header: head, exit };
        let value = self.b.use_variable(variable);
        Ok(CountedLoop { value, variable, inside, step, last: (!beyond).then_some(last), at })
    }

    /// Ends the body.
    pub fn end_for(&mut self, counter: CountedLoop) {
        let CountedLoop { variable, inside, step, last, at, .. } = counter;
        if !self.b.is_closed() {
            self.b.jump(step, &[]);
        }
        self.b.seal(step);
        self.b.switch_to(step);
        self.b.set_position(at);
        let now = self.b.use_variable(variable);
        if let Some(last) = last {
            let next = self.b.create_block();
            let done = self.b.inst(Op::CompareInt(Compare::Eq), &[now, last], Kind::Bool);
            self.b.branch(done, inside.exit, next);
            self.b.seal(next);
            self.b.switch_to(next);
        }
        let one = self.b.int(1);
        let next = self.b.inst(Op::Int2(Int2::Add), &[now, one], Kind::Int);
        self.b.define(variable, next);
        self.end_loop(inside);
    }

    /// Breaks out of the innermost loop. Returns false outside of loops.
    #[must_use]
    pub fn break_loop(&mut self) -> bool {
        self.go_to(|l| l.exit)
    }

    /// Continues with the next iteration of the innermost loop. Returns false outside of loops.
    #[must_use]
    pub fn continue_loop(&mut self) -> bool {
        self.go_to(|l| l.continue_to)
    }

    fn go_to(&mut self, place: impl Fn(&LoopTargets) -> Block) -> bool {
        let target = self.loops.last().map(place);
        if let Some(target) = target {
            self.b.jump(target, &[]);
        }
        target.is_some()
    }
}
