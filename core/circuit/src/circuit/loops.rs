//! Loops of instructions: their construction, and the circuit in the order of its text.

use std::{ops::Range, sync::Arc};

use super::{Circuit, CircuitError, Condition, Instruction, Operation};

/// A piece of a circuit, in the order of its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part<'a> {
    /// Instructions in a row, at least one.
    Run(&'a [Instruction]),
    /// The beginning of a loop.
    Loop {
        /// The loop header: an instruction with the condition.
        head: &'a Instruction,
        /// The body; its pieces come next.
        body: &'a [Instruction],
    },
    /// The end of the innermost loop.
    End,
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
        condition: impl Into<Condition>,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let condition = condition.into();
        self.check_condition(&condition)?;
        let at = self.instructions.len();
        self.all_or_nothing(|circuit| {
            circuit.operation(Operation::While { body: 0 }, &[], &[])?;
            circuit.instructions[at].condition = Some(Arc::new(condition));
            body(circuit)?;
            circuit.set_body(at);
            Ok(circuit)
        })
    }

    /// Turns all instructions after the loop header at this position into its body.
    #[doc(hidden)]
    pub fn set_body(&mut self, at: usize) {
        let length = self.instructions.len().saturating_sub(at + 1);
        if let Some(Instruction { operation: Operation::While { body }, .. }) =
            self.instructions.get_mut(at)
        {
            *body = u32::try_from(length).unwrap_or(u32::MAX);
        }
    }

    /// Returns the circuit in pieces: sequences of instructions, and the beginnings and ends of
    /// loops. O(instructions).
    pub fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        // Ends of the bodies around.
        let (mut at, mut open): (usize, Vec<usize>) = (0, Vec::new());
        std::iter::from_fn(move || {
            if open.pop_if(|end| *end == at).is_some() {
                return Some(Part::End);
            }
            let around = open.last().copied().unwrap_or(self.instructions.len());
            let rest = self.instructions.get(at..around)?;
            let head = rest.first()?;
            if let Operation::While { body } = head.operation {
                let body = &rest[1..rest.len().min((body as usize).saturating_add(1))];
                at += 1;
                open.push(at + body.len());
                return Some(Part::Loop { head, body });
            }
            let len = rest.iter().position(|i| matches!(i.operation, Operation::While { .. }));
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
                Part::Loop { body, .. } => {
                    loops.push(at..at + 1 + body.len());
                    1
                }
                Part::End => 0,
            };
        }
        loops
    }
}
