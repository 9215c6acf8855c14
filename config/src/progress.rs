//! A progress bar for what takes longer than a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;

/// How long the work may take without a bar.
const SILENT: Duration = Duration::from_secs(1);

/// Shows a bar on the standard error once the work has taken a second, if anyone looks.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts the clock.
    #[must_use]
    pub fn new(terminal: &Terminal) -> Progress {
        Progress { start: Instant::now(), wanted: terminal.shows_progress(), bar: None }
    }

    /// So much of all is done.
    pub fn report(&mut self, done: u64, all: u64) {
        if !self.wanted || self.start.elapsed() < SILENT {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {percent:>3} % of {len} gates, {eta} left");
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.with_elapsed(self.start.elapsed())
        });
        bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
