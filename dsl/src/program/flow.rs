//! Control flow of the staged body: what the macro writes around the user's expressions.

use ketgrad_core::staging::{
    Branches, CountedLoop, LoopBody, LoopHeader, ShortCircuit, StagedOperand,
};

use super::staged::{Bind, Ex, Fit, Handle, fitted, value_of, with};

/// `a && b || c`: the right operand runs only if it decides.
#[derive(Debug)]
pub struct Logic(Option<ShortCircuit>);

impl Logic {
    /// Begins a condition with its first operand.
    pub fn begin(first: Ex<bool>) -> Logic {
        let first = fitted::<Ex<bool>>(first);
        Logic(with(|b| b.stage.begin_short(first).ok()))
    }
    /// Begins the next operand.
    pub fn next(&mut self, and: bool) {
        if let Some(short) = &self.0 {
            with(|b| b.stage.next_short(short, and));
        }
    }
    /// Adds the next operand.
    pub fn give(&mut self, operand: Ex<bool>) {
        let operand = fitted::<Ex<bool>>(operand);
        if let Some(short) = &mut self.0 {
            // An `Ex<bool>` is a truth value.
            let _ = with(|b| b.stage.give_short(short, operand));
        }
    }
    /// Ends the condition and returns its value.
    pub fn end(self) -> Ex<bool> {
        value_of(with(|b| self.0.map_or(StagedOperand::Nothing, |s| b.stage.end_short(s))))
    }
}

/// `if c { … } else if d { … } else { … }`, with values of type `T`; `()` for a statement.
#[derive(Debug)]
pub struct If<T> {
    branches: Option<Branches>,
    last: Option<StagedOperand>,
    of: std::marker::PhantomData<fn() -> T>,
}

impl<T> If<T> {
    /// Begins an `if`, before the first condition.
    #[expect(clippy::new_without_default, reason = "it opens a block")]
    pub fn new() -> If<T> {
        let branches = Some(with(|b| b.stage.begin_if()));
        If { branches, last: None, of: std::marker::PhantomData }
    }
    /// Begins an arm, after a condition.
    pub fn arm(&mut self, condition: Ex<bool>) {
        let condition = fitted::<Ex<bool>>(condition);
        if let Some(branches) = &mut self.branches {
            let _ = with(|b| b.stage.arm(branches, condition));
        }
    }
    /// Ends the block of an arm.
    pub fn end_arm(&mut self) {
        let given = self.last.take().unwrap_or(StagedOperand::Nothing);
        if let Some(branches) = &mut self.branches {
            with(|b| b.stage.end_arm(branches, given));
        }
    }
    fn end(&mut self, hint: Option<&ketgrad_core::ir::Kind>) -> StagedOperand {
        let otherwise = self.last.take().unwrap_or(StagedOperand::Nothing);
        match self.branches.take() {
            Some(branches) => {
                with(|b| super::staged::sure(b.stage.end_if(branches, otherwise, hint)))
            }
            None => StagedOperand::Nothing,
        }
    }
}

impl If<()> {
    /// Ends a statement, after its last block.
    pub fn done(mut self) {
        self.end(None);
    }
}

impl<T: Handle> If<T> {
    /// Begins an `if` with values as that variable holds.
    pub fn like(_: &T) -> If<T> {
        If::new()
    }
    /// Sets the value of a block.
    pub fn give(&mut self, x: impl Bind<Out = T>) {
        self.last = Some(x.given(None));
    }
    /// Sets the value of a block, of a kind that is known.
    pub fn give_as(&mut self, x: impl Fit<T>) {
        self.last = Some(x.given(Some(&T::kind())));
    }
    /// Returns the value of the `if`, after the last block.
    pub fn value(mut self) -> T {
        let given = self.end(Some(&T::kind()));
        T::of(super::staged::node(given))
    }
}

/// The value of a block.
#[derive(Debug)]
pub struct Last<T>(StagedOperand, std::marker::PhantomData<fn() -> T>);

impl<T: Handle> Last<T> {
    /// Begins a block with a value.
    #[expect(clippy::new_without_default, reason = "it opens a block")]
    pub fn new() -> Last<T> {
        Last(StagedOperand::Nothing, std::marker::PhantomData)
    }
    /// Sets the value, the last expression of the block.
    pub fn give(&mut self, x: impl Bind<Out = T>) {
        self.0 = x.given(None);
    }
    /// Returns the value, after the block.
    pub fn value(self) -> T {
        T::of(super::staged::node(self.0))
    }
}

/// The value of a function whose arms have all returned is not asked for.
pub fn give_if<T: Handle>(value: If<T>) {
    let value = value.value();
    if !with(|b| b.stage.b.is_closed()) {
        super::staged::give::<T>(HandleOperand(value));
    }
}

/// A handle as what it is.
struct HandleOperand<T>(T);
impl<T: Handle> super::staged::Operand for HandleOperand<T> {
    fn given(self, hint: Option<&ketgrad_core::ir::Kind>) -> StagedOperand {
        self.0.given(hint)
    }
    fn handle(&self) -> Option<u32> {
        self.0.handle()
    }
}
impl<T: Handle> Fit<T> for HandleOperand<T> {}

/// `while c { … }`
#[derive(Debug)]
pub struct While {
    head: Option<LoopHeader>,
    inside: Option<LoopBody>,
}

/// The condition of a loop. `true` is none.
pub trait Condition {
    /// Returns the value of the condition.
    fn condition(self) -> Option<StagedOperand>;
}
impl Condition for Ex<bool> {
    fn condition(self) -> Option<StagedOperand> {
        Some(fitted::<Ex<bool>>(self))
    }
}
/// `while true`
#[derive(Clone, Copy, Debug)]
pub struct Always;
impl Condition for Always {
    fn condition(self) -> Option<StagedOperand> {
        None
    }
}

impl While {
    /// Begins a loop, before the condition.
    pub fn begin() -> While {
        While { head: Some(with(|b| b.stage.begin_loop())), inside: None }
    }
    /// Enters the loop, after the condition.
    pub fn enter(&mut self, condition: impl Condition) {
        let condition = condition.condition();
        if let Some(head) = self.head.take() {
            self.inside = with(|b| b.stage.enter_loop(head, condition).ok());
        }
    }
    /// Ends the loop, after the block.
    pub fn end(self) {
        if let Some(inside) = self.inside {
            with(|b| b.stage.end_loop(inside));
        }
    }
}

/// `for i in a..b { … }`
#[derive(Debug)]
pub struct For(Option<CountedLoop>);

impl For {
    /// Begins a loop over a range; `inclusive` is true if the second bound belongs to it.
    pub fn begin(from: impl Fit<Ex<i64>>, to: impl Fit<Ex<i64>>, inclusive: bool) -> For {
        let (from, to) = (from.given(None), to.given(None));
        For(with(|b| b.stage.begin_for(from, to, inclusive).ok()))
    }
    /// Returns the variable of the loop.
    pub fn variable(&self) -> Ex<i64> {
        let given =
            self.0.as_ref().map_or(StagedOperand::Nothing, |c| StagedOperand::Value(c.value));
        super::staged::declare(value_of::<i64>(given))
    }
    /// Ends the loop, after the block.
    pub fn end(self) {
        if let Some(counter) = self.0 {
            with(|b| b.stage.end_for(counter));
        }
    }
}

/// Writes `break;` and `continue;`. Outside of a loop rustc complains about them in the native
/// body.
pub fn leave(again: bool) {
    with(|b| if again { b.stage.continue_loop() } else { b.stage.break_loop() });
}
