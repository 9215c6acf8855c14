//! A debugger that a program drives.
//!
//! The driver is a closure: it receives a [`Pause`] and returns a [`Command`]. It may prompt on a
//! terminal or read a script.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, inspect::{Command, Debugger, Inspection, Pause}}, text::parse_program};
//!
//! let program = parse_program("fn f(x) {\n  let y = x * x;\n  y + x\n}")?;
//! let mut seen = Vec::new();
//! let mut debugger = Debugger::new(|pause: &Pause<'_, f64>| {
//!     seen.push((pause.event.position().line, pause.event.operands()));
//!     Command::Continue
//! })
//! .with_breakpoint(3);
//! Inspection::<f64>::new(&program, "f")?.run(&[Datum::Real(3.0)], &mut debugger)?;
//! drop(debugger);
//! assert_eq!(seen, [(3, vec![Datum::Real(9.0), Datum::Real(3.0)])]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeSet;

use crate::scalar::Scalar;

use super::{
    super::Datum,
    event::Event,
    interceptor::{Interceptor, Interrupt},
    moment::Moment,
};

/// Next action of the debugger.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// Pause at the next instruction.
    Instruction,
    /// Pause at the next line, also in a function called.
    Step,
    /// Pause at the next line of this function or of one that waits for it.
    Next,
    /// Pause once this function has returned.
    Out,
    /// Run to the next breakpoint.
    Continue,
    /// Set a breakpoint at this line, and call the driver again.
    Break(u32),
    /// Remove the breakpoint of this line, and call the driver again.
    Clear(u32),
    /// End the run.
    Stop,
}

/// Reason why the run pauses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// A breakpoint.
    Breakpoint,
    /// A step is done.
    Step,
}

/// A run that waits: before an instruction.
#[derive(Debug)]
pub struct Pause<'a, S: Scalar> {
    /// Moment at which it pauses, with all values.
    pub event: &'a Event<'a, S>,
    /// Reason of the pause.
    pub reason: Reason,
}

impl<S: Scalar> Pause<'_, S> {
    /// Returns the parameters of the function and their values.
    #[must_use]
    pub fn parameters(&self) -> Vec<(String, Datum<S>)> {
        let f = self.event.function();
        f.params
            .iter()
            .zip(f.param_values())
            .map(|(p, &v)| (p.name.clone(), self.event.value(v)))
            .collect()
    }
}

/// Pauses a run at breakpoints and steps.
#[derive(Clone, Debug)]
pub struct Debugger<F> {
    driver: F,
    breakpoints: BTreeSet<u32>,
    command: Command,
    /// Call depth and line of the last pause.
    paused: (usize, u32),
    /// The line of the last instruction; `None` after a jump, as a loop may come back to the same
    /// line.
    line: Option<(usize, u32)>,
}

impl<F> Debugger<F> {
    /// Creates a debugger that runs to the first breakpoint.
    pub fn new(driver: F) -> Debugger<F> {
        let (breakpoints, command) = (BTreeSet::new(), Command::Continue);
        Debugger { driver, breakpoints, command, paused: (0, 0), line: None }
    }
    /// Adds a breakpoint at a line of the source.
    #[must_use]
    pub fn with_breakpoint(mut self, line: u32) -> Self {
        self.breakpoints.insert(line);
        self
    }
    /// Pauses at the first instruction.
    #[must_use]
    pub fn from_start(mut self) -> Self {
        self.command = Command::Step;
        self
    }

    /// Returns the reason to pause before an instruction in this line, if there is one.
    fn reason(&self, here: (usize, u32)) -> Option<Reason> {
        let ((depth, line), (paused_depth, paused_line)) = (here, self.paused);
        let known = line > 0;
        let step = match self.command {
            Command::Instruction => true,
            Command::Step => known && (line != paused_line || depth != paused_depth),
            Command::Next => {
                known && depth <= paused_depth && (line != paused_line || depth != paused_depth)
            }
            Command::Out => depth < paused_depth,
            _ => false,
        };
        let entered = self.line != Some(here);
        if known && entered && self.breakpoints.contains(&line) {
            return Some(Reason::Breakpoint);
        }
        step.then_some(Reason::Step)
    }
}

impl<S: Scalar, F: FnMut(&Pause<'_, S>) -> Command> Interceptor<S> for Debugger<F> {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        match event.moment() {
            Moment::Before(_) => {}
            Moment::After(_) => return Ok(()),
            Moment::Edge(..) | Moment::Return(_) => {
                self.line = None;
                // Coming back to the same line is a step.
                if event.depth() == self.paused.0 {
                    self.paused.1 = 0;
                }
                return Ok(());
            }
        }
        let here = (event.depth(), event.position().line);
        let reason = self.reason(here);
        self.line = Some(here);
        let Some(reason) = reason else { return Ok(()) };
        self.paused = here;
        loop {
            match (self.driver)(&Pause { event, reason }) {
                Command::Break(line) => {
                    self.breakpoints.insert(line);
                }
                Command::Clear(line) => {
                    self.breakpoints.remove(&line);
                }
                Command::Stop => return Err(Interrupt("by the debugger".into())),
                command => {
                    self.command = command;
                    return Ok(());
                }
            }
        }
    }
}
