//! The two streams: results on the standard output, all else on the standard error.

use std::io::{self, BufWriter, IsTerminal, Write};

use ketgrad_core::qasm::{Severity, SourceText};

use crate::report::{Failure, Remark, Status, render, shortened};

/// A finished result that can be printed; all that can fail has been done.
pub(crate) trait Answer {
    /// Writes it.
    ///
    /// # Errors
    /// Fails with the error of the operating system.
    fn write(&self, out: &mut dyn Write) -> io::Result<()>;

    /// Returns the exit status once it is written.
    fn status(&self) -> Status {
        Status::Done
    }

    /// Something to add on the standard error once it is written.
    fn note(&self) -> Option<String> {
        None
    }
}

/// Destination of messages.
#[derive(Clone, Copy, Debug)]
pub struct Terminal {
    /// Say nothing but errors.
    pub(crate) quiet: bool,
    color: bool,
    interactive: bool,
}

impl Terminal {
    /// Looks at the standard error and at `NO_COLOR` (<https://no-color.org>).
    #[must_use]
    pub fn new(quiet: bool) -> Terminal {
        let interactive = io::stderr().is_terminal();
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|v| v != "dumb");
        Terminal { quiet, color: interactive && wanted && able, interactive }
    }

    /// Returns true if progress is visible to a user.
    pub(crate) fn shows_progress(&self) -> bool {
        self.interactive && !self.quiet
    }

    /// Prints a failure; its warnings only if quiet is not asked for.
    pub(crate) fn error(&self, failure: &Failure) {
        let shown = failure.remarks.iter().filter(|r| !self.quiet || r.severity == Severity::Error);
        let shown: Vec<Remark> = shown.cloned().collect();
        write_error(&render(&shown, &failure.sources, self.color));
    }

    /// Prints a line for people, unless `--quiet` is given.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            write_error(&format!("{}\n", shortened(text)));
        }
    }

    /// Prints warnings, unless `--quiet` is given.
    pub(crate) fn warn(&self, remarks: &[Remark], sources: &[SourceText]) {
        if !self.quiet {
            write_error(&render(remarks, sources, self.color));
        }
    }

    /// Prints a result. A closed pipe ends quietly; any other trouble is an error.
    pub(crate) fn print(&self, answer: &dyn Answer) -> Status {
        let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
        match answer.write(&mut out).and_then(|()| out.flush()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => answer.status(),
            Err(e) => {
                self.error(&crate::files::cannot("write to", "the standard output", &e));
                Status::Input
            }
            Ok(()) => {
                if let Some(note) = answer.note() {
                    self.note(&note);
                }
                answer.status()
            }
        }
    }
}

/// A standard error that is closed cannot be told about it.
pub(crate) fn write_error(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}
