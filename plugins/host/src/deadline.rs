//! Time limit for calls of a plugin's code.
//!
//! A library's code cannot be stopped from outside, so the call runs in a thread of its own, and
//! the waiting thread gives up. The other thread goes on for as long as the plugin does; its later
//! results are discarded.
//!
//! A constructor that does not end is worse than a function: the system runs it inside its loader,
//! which is locked meanwhile. No other library can be loaded then, so every later plugin is refused
//! at once, and an ordinary end of the process would wait for the lock: see [`exit_past_loader`].
//! The first use of a thread-local variable with a destructor takes that lock, too: the waiting
//! thread uses none, and while the loader is held no new thread is started.
#![cfg_attr(unix, expect(unsafe_code, reason = "ends the process"))]

use std::{
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::error::Fault;

/// Stack of the thread that loads: as much as the main thread of a process usually has.
const STACK: usize = 8 << 20;

/// Progress of work that calls plugins.
#[derive(Clone, Debug, Default)]
pub(crate) struct Progress(Arc<Mutex<ProgressState>>);

#[derive(Clone, Debug, Default)]
struct ProgressState {
    stage: Stage,
    /// True if the caller has given up waiting.
    is_left: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Stage {
    #[default]
    Begun,
    /// System's loader, for a plugin.
    Loading(String),
    /// Elsewhere, described in words.
    At(String),
    Done,
}

impl Progress {
    /// Records that the system's loader is about to run code. Returns false if the caller has given
    /// up, and then it must not run.
    #[must_use]
    pub(crate) fn loading(&self, plugin: &str) -> bool {
        let mut state = self.state();
        if !state.is_left {
            state.stage = Stage::Loading(plugin.to_owned());
        }
        !state.is_left
    }

    /// Records another activity.
    pub(crate) fn report_activity(&self, words: String) {
        self.set(Stage::At(words));
    }

    fn set(&self, stage: Stage) {
        self.state().stage = stage;
    }

    /// Records that the caller gives up; returns the activity in words.
    fn leave(&self) -> String {
        let mut state = self.state();
        state.is_left = true;
        match &state.stage {
            Stage::Loading(_) => "while it is loaded".to_owned(),
            Stage::At(words) => words.clone(),
            Stage::Begun | Stage::Done => "at its begin".to_owned(),
        }
    }

    fn state(&self) -> MutexGuard<'_, ProgressState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Work that was given up and has not returned.
static LEFT: Mutex<Vec<Progress>> = Mutex::new(Vec::new());

/// Runs work, with a time limit if one is given.
pub(crate) fn within<R: Send + 'static>(
    limit: Option<Duration>,
    work: impl FnOnce(&Progress) -> R + Send + 'static,
) -> Result<R, Fault> {
    let progress = Progress::default();
    let limit = limit.filter(|_| holds_loader().is_none());
    let Some(limit) = limit else { return Ok(work(&progress)) };
    // No channel: it has variables of the thread that waits.
    let done = Arc::new((Mutex::new(None), Condvar::new()));
    let (its, its_progress) = (done.clone(), progress.clone());
    let builder = thread::Builder::new().name("ketgrad-plugin".to_owned()).stack_size(STACK);
    let thread = builder.spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(|| work(&its_progress)));
        its_progress.set(Stage::Done);
        *its.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
        its.1.notify_one();
    });
    thread.map_err(|e| Fault::Init { reason: format!("there is no thread for it: {e}") })?;
    let result = done.0.lock().unwrap_or_else(PoisonError::into_inner);
    let (mut result, _) = done
        .1
        .wait_timeout_while(result, limit, |r| r.is_none())
        .unwrap_or_else(PoisonError::into_inner);
    match result.take() {
        Some(Ok(result)) => Ok(result),
        Some(Err(panic)) => resume_unwind(panic),
        None => {
            let at = progress.leave();
            LEFT.lock().unwrap_or_else(PoisonError::into_inner).push(progress);
            Err(Fault::Overdue { limit, at })
        }
    }
}

/// Returns the plugin in whose constructors a thread is that was given up.
pub(crate) fn holds_loader() -> Option<String> {
    let mut left = LEFT.lock().unwrap_or_else(PoisonError::into_inner);
    left.retain(|progress| progress.state().stage != Stage::Done);
    left.iter().find_map(|progress| match &progress.state().stage {
        Stage::Loading(plugin) => Some(plugin.clone()),
        _ => None,
    })
}

/// Ends the process at once if a plugin's constructor, which was given up after
/// [`load_timeout`](crate::Settings::load_timeout), still holds the system's loader: an ordinary
/// end would wait for it. Functions registered for the end of a process do not run, and the
/// standard output must be flushed before. Otherwise it does nothing.
pub fn exit_past_loader(status: u8) {
    if holds_loader().is_some() {
        #[cfg(unix)]
        // SAFETY: ends the process.
        unsafe {
            libc::_exit(status.into())
        }
        #[cfg(not(unix))]
        std::process::exit(status.into());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

    use std::{sync::mpsc, time::Instant};

    use super::*;

    #[test]
    fn work_is_given_up_where_it_is() {
        let caller = thread::current().id();
        assert_eq!(within(None, |_| thread::current().id()), Ok(caller));
        let long = Duration::from_secs(600);
        assert_ne!(within(Some(long), |_| thread::current().id()).unwrap(), caller);
        // It goes on until the other end of a channel is dropped.
        let (sender, receiver) = mpsc::channel::<()>();
        let (start, limit) = (Instant::now(), Duration::from_secs(2));
        let overdue = within(Some(limit), move |progress| {
            assert!(progress.loading("a"));
            let _ = receiver.recv();
            progress.report_activity("later".to_owned());
        });
        assert_eq!(overdue, Err(Fault::Overdue { limit, at: "while it is loaded".to_owned() }));
        assert!(start.elapsed() >= limit && start.elapsed() < long);
        assert_eq!(holds_loader(), Some("a".to_owned()));
        drop(sender);
        while holds_loader().is_some() {
            thread::yield_now();
        }
        let overdue = within(Some(Duration::from_secs(2)), |progress| {
            progress.report_activity("in rule `f`".to_owned());
            thread::sleep(Duration::from_secs(60));
        });
        assert!(matches!(overdue, Err(Fault::Overdue { at, .. }) if at == "in rule `f`"));
        assert_eq!(holds_loader(), None);
    }

    /// Work that begins late, as on a busy machine, does not enter the loader after it was given
    /// up.
    #[test]
    fn what_was_given_up_is_not_loaded() {
        let (sender, receiver) = mpsc::channel::<()>();
        let (said, heard) = mpsc::channel();
        let overdue = within(Some(Duration::from_millis(20)), move |progress| {
            let _ = receiver.recv();
            said.send(progress.loading("b")).unwrap();
        });
        assert!(matches!(overdue, Err(Fault::Overdue { at, .. }) if at == "at its begin"));
        drop(sender);
        assert_eq!(heard.recv(), Ok(false));
        assert_ne!(holds_loader(), Some("b".to_owned()));
    }

    #[test]
    fn a_panic_goes_on_in_the_waiting_thread() {
        let caught = catch_unwind(|| within(Some(Duration::from_secs(600)), |_| panic!("here")));
        assert_eq!(caught.unwrap_err().downcast_ref::<&str>(), Some(&"here"));
    }
}
