//! Limits on the size, the results and the time of rules as data, so that a user who loads those of
//! another author has the host back soon.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use ketgrad_core::{
    cancel::CancellationToken,
    entity::FuncId,
    ir::{Op, Program},
    text::TextLimits,
};

/// Limits of a text of rules and of the program made of it: some 5,000 lines. After optimization
/// and differentiation the program is some ten times as large.
pub(crate) const RULE_TEXT: TextLimits =
    TextLimits::new().with_bytes(1 << 20).with_tokens(100_000).with_size(100_000);

/// Size of the largest function that is compared, with all that it calls, in instructions after
/// inlining: a larger one takes too long to be optimized and differentiated for that.
pub(crate) const MOST_COMPARED: usize = 5_000;

/// Size of the largest function that is inlined where it is called, in instructions.
const SMALL: usize = 200;

/// Time in which points of one rule are begun.
const RULE: Duration = Duration::from_secs(5);

/// Further time that the last of them may take.
const MORE: Duration = Duration::from_secs(3);

/// Time in which the rules of one text are compared, all together.
const TEXT: Duration = Duration::from_secs(10);

/// Returns the instructions of a function and of all that it calls, with small functions inlined.
pub(crate) fn inlined_size(program: &Program, root: FuncId) -> usize {
    let mut sizes: HashMap<FuncId, usize> = HashMap::new();
    let mut total = 0_usize;
    for f in program.reachable(root).into_iter().rev() {
        let called = program.functions[f].insts.values().filter_map(|inst| match inst.op {
            Op::Call(g) => sizes.get(&g),
            _ => None,
        });
        let inlined: usize = called.filter(|&&size| size <= SMALL).sum();
        let size = program.functions[f].size() + inlined;
        sizes.insert(f, size);
        total = total.saturating_add(size);
    }
    total
}

/// Time budget in which rules are compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TimeBudget {
    /// End for all rules together, if they have one.
    end: Option<Instant>,
}

impl TimeBudget {
    /// Returns the limit of each rule alone.
    pub(crate) fn each() -> TimeBudget {
        TimeBudget::default()
    }

    /// Returns the limit of the rules of one text together.
    pub(crate) fn of_text() -> TimeBudget {
        TimeBudget { end: Some(Instant::now() + TEXT) }
    }

    /// True if there is no time left.
    pub(crate) fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    /// Starts the clock of a rule.
    pub(crate) fn begin(&self) -> RuleDeadline {
        let now = Instant::now();
        let within = |end: Instant| self.end.map_or(end, |all| all.min(end));
        RuleDeadline { last: within(now + RULE), end: within(now + RULE + MORE) }
    }
}

/// Deadline for the comparison of one rule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuleDeadline {
    last: Instant,
    end: Instant,
}

impl RuleDeadline {
    /// Returns true if no more points are begun.
    pub(crate) fn is_late(&self) -> bool {
        Instant::now() >= self.last
    }

    /// Returns true if no more runs are begun.
    pub(crate) fn is_over(&self) -> bool {
        Instant::now() >= self.end
    }

    /// Returns a token that cancels runs beyond the end.
    pub(crate) fn token(&self) -> CancellationToken {
        let clock = *self;
        CancellationToken::when(move || clock.is_over())
    }
}
