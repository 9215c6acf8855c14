//! Blocks of instructions: loops and branches, their construction, and the circuit in the order of
//! its text.
//!
//! A block is a header, whose operation says how often the block runs, and the number of
//! instructions after it that are its body. Blocks nest.

use std::{ops::Range, sync::Arc};

use super::{
    Circuit, CircuitError, Condition, ForHeader, ForValues, Instruction, IntoCondition, Operation,
    display::operation_name,
};
use crate::classical::{ClassicalExpr, ClassicalType, IntType, PendingExpr, VariableId};

/// A piece of a circuit, in the order of its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// Instructions in a row, at least one, none of which has a body.
    Run(&'a [Instruction]),
    /// The beginning of a loop or another block.
    Open {
        /// The header: an instruction whose operation has a body.
        head: &'a Instruction,
        /// The body; its pieces come next.
        body: &'a [Instruction],
    },
    /// The end of the innermost block.
    Close {
        /// The header of that block.
        head: &'a Instruction,
    },
}

impl Circuit {
    /// Appends the instructions of `body` as a loop: it runs while the condition on classical bits
    /// holds, which is tested before each iteration.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, Condition};
    /// // |+> until a measurement gives 1: two iterations on average.
    /// let mut c = Circuit::new(1);
    /// c.add_register("m", 1)?;
    /// c.while_loop(Condition::Bit { bit: 0, value: false }, |c| c.reset(0)?.h(0)?.measure(0, 0))?;
    /// assert_eq!(c.to_string(), "while (c[0] == 0) {\n  reset q[0]\n  h q[0]\n  measure q[0] -> c[0]\n}\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`, or if a bit does not exist. Nothing is appended then.
    pub fn while_loop(
        &mut self,
        condition: impl IntoCondition,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let condition = condition.into_condition()?;
        self.block_of(Operation::While { body: 0 }, Some(condition), body)
    }

    /// Appends the instructions of `then` as a block that runs if the condition holds, and those of
    /// `otherwise` as one that runs if it does not. Unlike [`when`](Circuit::when) it tests the
    /// condition once.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, Condition};
    /// let mut c = Circuit::new(2);
    /// c.add_register("m", 1)?.h(0)?.measure(0, 0)?;
    /// let one = Condition::Bit { bit: 0, value: true };
    /// c.if_else(one, |c| c.x(1)?.assign(0, false), |c| c.h(1))?;
    /// assert!(c.to_string().ends_with("if (c[0] == 1) {\n  x q[1]\n  assign c[0] = 0\n} else {\n  h q[1]\n}\n"));
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of a body, or if a bit or a variable does not exist. Nothing is appended then.
    pub fn if_else(
        &mut self,
        condition: impl IntoCondition,
        then: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
        otherwise: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let condition = condition.into_condition()?;
        self.all_or_nothing(|circuit| {
            circuit.block_of(Operation::If { body: 0 }, Some(condition), then)?;
            let at = circuit.instructions.len();
            circuit.block_of(Operation::Else { body: 0 }, None, otherwise)?;
            if circuit.instructions.len() == at + 1 {
                circuit.instructions.pop();
            }
            Ok(circuit)
        })
    }

    /// Appends the instructions of `body` as a loop over the integers from `start` to `end`, both
    /// included, in steps of `step`; they are evaluated before the first round.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{ClassicalType, IntType}};
    /// let mut c = Circuit::new(1);
    /// let i = c.hidden_variable("i", ClassicalType::Int(IntType::INT))?;
    /// c.for_loop(i, [1.into(), 1.into(), 10.into()], |c| c.h(0))?;
    /// assert_eq!(c.to_string(), "for i in [1:10] {\n  h q[0]\n}\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`, or if the variable is no integer or a value cannot be converted to its
    /// type. Nothing is appended then.
    pub fn for_loop(
        &mut self,
        variable: impl Into<VariableId>,
        [start, step, end]: [ClassicalExpr; 3],
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let variable = variable.into();
        let values = ForValues::Range { start, step, end };
        let over = Arc::new(ForHeader { variable, values });
        self.block_of(Operation::For { over, body: 0 }, None, body)
    }

    /// Appends the instructions of `body` as a loop over the integers from `start` to `end`, both
    /// included, as [`Circuit::for_loop`] does with steps of 1.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{ClassicalType, IntType}};
    /// let mut c = Circuit::new(1);
    /// let [n, k] = ["n", "k"].map(|name| c.add_variable(name, ClassicalType::Int(IntType::INT)));
    /// let (n, k) = (c.scalar(n?)?, c.scalar(k?)?);
    /// c.for_range(k, 1, n - 1, |c| c.rx(0, k * 0.5))?;
    /// assert_eq!(c.to_string(), "for k in [1:n - 1] {\n  rx(k * 0.5) q[0]\n}\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Circuit::for_loop`], and [`CircuitError::Classical`] for a formula without a
    /// meaning.
    pub fn for_range(
        &mut self,
        variable: impl Into<VariableId>,
        start: impl Into<PendingExpr>,
        end: impl Into<PendingExpr>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let (start, end) = (start.into().into_result()?, end.into().into_result()?);
        self.for_loop(variable, [start, 1.into(), end], body)
    }

    /// Appends the instructions of `body` as a loop over some values; each is evaluated when its
    /// round begins.
    ///
    /// # Errors
    /// The error of `body`, or if the variable is an array or a value cannot be converted to its
    /// type. Nothing is appended then.
    pub fn for_each(
        &mut self,
        variable: VariableId,
        values: impl IntoIterator<Item = ClassicalExpr>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let values = ForValues::List(values.into_iter().collect());
        let over = Arc::new(ForHeader { variable, values });
        self.block_of(Operation::For { over, body: 0 }, None, body)
    }

    /// Appends a choice by the value of an integer expression: the instructions of the first of the
    /// cases that names it, or those of the default. It does not fall through to the next case.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, classical::{ClassicalType, IntType}};
    /// let mut c = Circuit::new(2);
    /// let n = c.add_variable("n", ClassicalType::Int(IntType::signed(8)))?;
    /// let subject = c.value_of(n)?;
    /// c.switch(subject, |s| s.case([1, 2], |c| c.x(0))?.default(|c| c.h(1)))?;
    /// assert_eq!(
    ///     c.to_string(),
    ///     "switch (n) {\n  case 1, 2 {\n    x q[0]\n  }\n  default {\n    h q[1]\n  }\n}\n"
    /// );
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `cases`, [`CircuitError::SwitchType`] if the expression is no integer. Nothing
    /// is appended then.
    pub fn switch(
        &mut self,
        subject: impl Into<PendingExpr>,
        cases: impl for<'s, 'c> FnOnce(
            &'s mut SwitchCases<'c>,
        ) -> Result<&'s mut SwitchCases<'c>, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let subject = subject.into().into_result()?;
        let ty = match subject.ty() {
            Some(ClassicalType::Int(ty)) => ty,
            None => IntType::INT,
            Some(given) => return Err(CircuitError::SwitchType { given }),
        };
        let subject = Arc::new(subject.assigned_to(ClassicalType::Int(ty))?);
        self.block_of(Operation::Switch { subject, body: 0 }, None, |circuit| {
            cases(&mut SwitchCases { circuit, ty })?;
            Ok(circuit)
        })
    }

    /// Appends the instructions of `body` as a block that [`Circuit::break_out`] leaves.
    ///
    /// # Errors
    /// The error of `body`. Nothing is appended then.
    pub fn block(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        self.block_of(Operation::Block { body: 0 }, None, body)
    }

    /// Leaves that many loops and blocks around, 1 being the innermost. Branches and cases are not
    /// counted.
    ///
    /// # Errors
    /// [`CircuitError::BlockExit`] if fewer are open.
    pub fn break_out(&mut self, levels: u32) -> Result<&mut Circuit, CircuitError> {
        self.exit_from(levels)?;
        self.operation(Operation::Break { levels }, &[], &[])
    }

    /// Goes on with the next round of a loop, the innermost one for 1.
    ///
    /// # Errors
    /// [`CircuitError::BlockExit`] if fewer loops and blocks are open, or it is no loop.
    pub fn continue_loop(&mut self, levels: u32) -> Result<&mut Circuit, CircuitError> {
        match self.exit_from(levels)? {
            true => self.operation(Operation::Continue { levels }, &[], &[]),
            false => Err(CircuitError::BlockExit { levels, open: self.open.len() }),
        }
    }

    /// Ends the run: no instruction comes after it.
    ///
    /// # Errors
    /// None: it returns what all methods that append do.
    pub fn end_run(&mut self) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::End, &[], &[])
    }

    /// Returns whether the block that many levels around is a loop.
    fn exit_from(&self, levels: u32) -> Result<bool, CircuitError> {
        let at = self.open.len().checked_sub(levels as usize).filter(|_| levels > 0);
        let open = at.and_then(|at| self.open.get(at));
        open.copied().ok_or(CircuitError::BlockExit { levels, open: self.open.len() })
    }

    fn block_of(
        &mut self,
        operation: Operation,
        condition: Option<Condition>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        if let Some(condition) = &condition {
            self.check_condition(condition)?;
        }
        let (at, depth) = (self.instructions.len(), self.open.len());
        self.open.extend(counted_by_exits(&operation));
        let result = self.all_or_nothing(|circuit| {
            circuit.operation(operation, &[], &[])?;
            circuit.instructions[at].condition = condition.map(Arc::new);
            body(circuit)?;
            circuit.set_body(at);
            Ok(circuit)
        });
        let result = result.map(|_| ());
        self.open.truncate(depth);
        result.map(|()| self)
    }

    /// Checks that each `else` follows an `if`, that a `switch` consists of cases and they are
    /// nowhere else, that exits leave what is there, and that only what can have a condition has
    /// one. What the methods of this type append is so; [`Circuit::push`] takes what it is given.
    ///
    /// # Errors
    /// [`CircuitError::MisplacedBlock`], [`CircuitError::BlockExit`].
    #[doc(hidden)]
    pub fn check_blocks(&self) -> Result<(), CircuitError> {
        // Whether the blocks around are loops, those that exits count; the ends of all.
        let mut open: Vec<(Option<bool>, bool)> = Vec::new();
        let (mut after_if, mut instruction) = (false, 0);
        let misplaced = |block: &Instruction, instruction, expected| {
            let block = operation_name(block);
            Err(CircuitError::MisplacedBlock { block, instruction, expected })
        };
        for part in self.parts() {
            let is_in_switch = open.last().is_some_and(|around| around.1);
            match part {
                Part::Close { head } => {
                    open.pop();
                    after_if = matches!(head.operation, Operation::If { .. });
                }
                Part::Run([first, ..]) if is_in_switch => {
                    return misplaced(first, instruction, "a `switch` consists of cases");
                }
                Part::Run(run) => {
                    for exit in run {
                        let (levels, continues) = match exit.operation {
                            Operation::Break { levels } => (levels, false),
                            Operation::Continue { levels } => (levels, true),
                            _ => continue,
                        };
                        let counted: Vec<bool> = open.iter().filter_map(|o| o.0).collect();
                        let at = counted.len().checked_sub(levels as usize);
                        match at.and_then(|at| counted.get(at)) {
                            Some(is_loop) if *is_loop || !continues => {}
                            _ => {
                                return Err(CircuitError::BlockExit {
                                    levels,
                                    open: counted.len(),
                                });
                            }
                        }
                    }
                    (after_if, instruction) = (false, instruction + run.len());
                }
                Part::Open { head, .. } => {
                    let operation = &head.operation;
                    let is_case = matches!(operation, Operation::Case { .. });
                    let is_else = matches!(operation, Operation::Else { .. });
                    if is_else && !after_if {
                        return misplaced(
                            head,
                            instruction,
                            "an `else` follows the body of an `if`",
                        );
                    }
                    if is_case != is_in_switch {
                        return misplaced(head, instruction, "a `switch` consists of cases");
                    }
                    let can = matches!(operation, Operation::While { .. } | Operation::If { .. });
                    if head.condition.is_some() && !can {
                        return misplaced(
                            head,
                            instruction,
                            "only `if` and `while` have conditions",
                        );
                    }
                    let is_switch = matches!(operation, Operation::Switch { .. });
                    open.push((counted_by_exits(operation), is_switch));
                    (after_if, instruction) = (false, instruction + 1);
                }
            }
        }
        Ok(())
    }

    /// Turns all instructions after the header at this position into its body.
    #[doc(hidden)]
    pub fn set_body(&mut self, at: usize) {
        let length = self.instructions.len().saturating_sub(at + 1);
        if let Some(header) = self.instructions.get_mut(at) {
            header.operation.set_body(u32::try_from(length).unwrap_or(u32::MAX));
        }
    }

    /// Returns the circuit in pieces: sequences of instructions, and the beginnings and ends of
    /// loops and other blocks. O(instructions).
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        // The headers of the blocks around, and the ends of their bodies.
        let (mut at, mut open): (usize, Vec<(&Instruction, usize)>) = (0, Vec::new());
        std::iter::from_fn(move || {
            if let Some((head, _)) = open.pop_if(|(_, end)| *end == at) {
                return Some(Part::Close { head });
            }
            let around = open.last().map_or(self.instructions.len(), |(_, end)| *end);
            let rest = self.instructions.get(at..around)?;
            let head = rest.first()?;
            if let Some(body) = head.operation.body() {
                let body = &rest[1..rest.len().min((body as usize).saturating_add(1))];
                at += 1;
                open.push((head, at + body.len()));
                return Some(Part::Open { head, body });
            }
            let len = rest.iter().position(|i| i.operation.body().is_some());
            let run = &rest[..len.unwrap_or(rest.len())];
            at += run.len();
            Some(Part::Run(run))
        })
    }

    /// Returns the positions of each loop, from its header to the last instruction of its body; by
    /// first position, outer loops first.
    #[must_use]
    pub fn loops(&self) -> Vec<Range<usize>> {
        let (mut loops, mut at) = (Vec::new(), 0);
        for part in self.parts() {
            at += match part {
                Part::Run(run) => run.len(),
                Part::Open { head, body } => {
                    if matches!(head.operation, Operation::While { .. } | Operation::For { .. }) {
                        loops.push(at..at + 1 + body.len());
                    }
                    1
                }
                Part::Close { .. } => 0,
            };
        }
        loops
    }
}

/// Returns whether a block is a loop, if `break` and `continue` count it.
fn counted_by_exits(operation: &Operation) -> Option<bool> {
    match operation {
        Operation::While { .. } | Operation::For { .. } => Some(true),
        Operation::Block { .. } => Some(false),
        _ => None,
    }
}

/// The cases of a choice, in order: see [`Circuit::switch`].
pub struct SwitchCases<'c> {
    circuit: &'c mut Circuit,
    /// The type of the expression.
    ty: IntType,
}

impl<'c> SwitchCases<'c> {
    /// Appends a case: the instructions of `body` run if the expression has one of the values.
    ///
    /// # Errors
    /// The error of `body`, [`CircuitError::Classical`] for a value that the type does not have.
    pub fn case(
        &mut self,
        values: impl IntoIterator<Item = i128>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut SwitchCases<'c>, CircuitError> {
        let labels: Arc<[i128]> = values.into_iter().collect();
        let ty = ClassicalType::Int(self.ty);
        for label in &*labels {
            ClassicalExpr::literal(*label).assigned_to(ty)?;
        }
        if !labels.is_empty() {
            self.circuit.block_of(Operation::Case { labels, body: 0 }, None, body)?;
        }
        Ok(self)
    }

    /// Appends the default: the instructions of `body` run if no case before it has the value. No
    /// case after it is reached.
    ///
    /// # Errors
    /// The error of `body`.
    pub fn default(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut SwitchCases<'c>, CircuitError> {
        let labels: Arc<[i128]> = Arc::new([]);
        self.circuit.block_of(Operation::Case { labels, body: 0 }, None, body)?;
        Ok(self)
    }
}
