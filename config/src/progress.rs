//! A progress bar for what takes longer than a second.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal::Terminal;

/// Longest time that the work may take without a bar.
const SILENT: Duration = Duration::from_secs(1);

/// Shows a bar on the standard error once the work has taken a second, if anyone looks.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    wanted: bool,
    unit: &'static str,
    message: String,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Starts the clock. The work is counted in `unit`, such as gates.
    #[must_use]
    pub(crate) fn new(terminal: &Terminal, unit: &'static str) -> Progress {
        let (start, wanted) = (Instant::now(), terminal.shows_progress());
        Progress { start, wanted, unit, message: String::new(), bar: None }
    }

    /// Counts the work that comes now in another unit, with a bar and a clock of its own.
    pub(crate) fn count_in(&mut self, unit: &'static str) {
        if self.unit == unit {
            return;
        }
        (self.unit, self.start) = (unit, Instant::now());
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    /// Sets the message beside the next report.
    pub(crate) fn tell(&mut self, message: String) {
        self.message = message;
    }

    /// Reports that `done` of `all` is done.
    pub(crate) fn report(&mut self, done: u64, all: u64) {
        if !self.wanted || self.start.elapsed() < SILENT {
            return;
        }
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr());
            let unit = self.unit;
            let template =
                format!("{{bar:30}} {{percent:>3}} % of {{len}} {unit}, {{eta}} left  {{msg}}");
            let style = ProgressStyle::with_template(&template);
            if let Ok(style) = style {
                bar.set_style(style);
            }
            bar.with_elapsed(self.start.elapsed())
        });
        if !self.message.is_empty() {
            bar.set_message(std::mem::take(&mut self.message));
        }
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
