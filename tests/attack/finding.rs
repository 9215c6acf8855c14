//! Findings of an attack: a law that does not hold, with the least input that shows it.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
};

/// A law that does not hold.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// The law, in few words and without numbers: findings with the same words have one cause,
    /// perhaps.
    pub(crate) law: String,
    /// Computed and expected value.
    pub(crate) detail: String,
    /// The least input that shows it.
    pub(crate) input: String,
}

impl Finding {
    /// A law, what was seen, and the input.
    pub(crate) fn new(
        law: impl Into<String>,
        detail: impl Into<String>,
        input: impl ToString,
    ) -> Finding {
        Finding { law: law.into(), detail: detail.into(), input: input.to_string() }
    }
}

/// The result of a check.
pub(crate) type Checked = Result<(), Finding>;

/// The signature of a target: the input is a function of the seed.
pub(crate) type Check = fn(u64) -> Checked;

thread_local! {
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Keeps panics from the terminal; their messages become findings.
pub(crate) fn quiet_panics() {
    panic::set_hook(Box::new(|info| PLACE.set(info.to_string())));
}

/// Runs `f`; a panic is a finding with its message and place.
pub(crate) fn guarded(input: &dyn ToString, f: impl FnOnce() -> Checked) -> Checked {
    panic::catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|_| {
        let message = PLACE.take();
        // Without numbers but those of the place.
        let law = message.lines().next().unwrap_or_default().to_owned();
        Err(Finding::new(format!("no panic: {law}"), message, input.to_string()))
    })
}

/// Drops parts of a list, larger pieces first, as long as `check` finds the same law broken. Gives
/// up after a number of checks.
pub(crate) fn minimal<T: Clone>(
    parts: &[T],
    found: Finding,
    budget: usize,
    check: impl Fn(&[T]) -> Checked,
) -> Finding {
    let (mut parts, mut found, mut left) = (parts.to_vec(), found, budget);
    let mut size = parts.len().div_ceil(2).max(1);
    loop {
        let mut start = 0;
        let before = parts.len();
        while start < parts.len() && left > 0 {
            let mut fewer = parts.clone();
            fewer.drain(start..(start + size).min(parts.len()));
            left -= 1;
            match check(&fewer) {
                Err(same) if same.law == found.law => (parts, found) = (fewer, same),
                _ => start += size,
            }
        }
        match size {
            _ if left == 0 => return found,
            1 if parts.len() == before => return found,
            1 => {}
            _ => size = size.div_ceil(2),
        }
    }
}

/// [`minimal`] of the lines of a text.
pub(crate) fn minimal_text(
    text: &str,
    found: Finding,
    budget: usize,
    check: impl Fn(&str) -> Checked,
) -> Finding {
    let lines: Vec<&str> = text.lines().collect();
    minimal(&lines, found, budget, |lines| check(&lines.join("\n")))
}
