//! Failures and how they look: the message, where it is (`file:line:column`), the text underlined.
//!
//! ```text
//!   × qubit 7 of `q` does not exist
//!    ╭─[bell.qasm:3:5]
//!  2 │ qubit[2] q;
//!  3 │ x q[7];
//!    ·     ┬
//!    ·     ╰── `q` has 2 qubits
//!    ╰────
//!   help: qubits are counted from 0
//! ```
//!
//! Everything that can go wrong becomes one [`Failure`]: an exit [`Status`] and a list of
//! [`Remark`]s, which is also what the OpenQASM front end's diagnostics become. Text from outside
//! is made safe before it is drawn: control characters become `?`, spans are moved to character
//! boundaries, and lines too long for a screen are not drawn at all.

use std::{fmt, ops::Range, process::ExitCode};

use ketgrad_core::{
    notation::{did_you_mean, nearest_name},
    qasm::{Diagnostic, Failed, Label, Severity, SourceText},
};
use miette::{GraphicalReportHandler, GraphicalTheme, LabeledSpan, NamedSource};

/// Remarks drawn at most; the rest are counted.
const MAX_DRAWN: usize = 20;

/// The longest line that is drawn, in bytes.
const MAX_LINE: usize = 400;

/// The most lines that are underlined; of longer places the first line is.
const MAX_LINES: usize = 20;

/// The longest message, in bytes.
const MAX_MESSAGE: usize = 2 << 10;

/// The longest name in a message, and the longest path, in characters.
const MAX_NAME: usize = 80;
const MAX_PATH: usize = 400;

/// Exit status of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Status {
    /// 0: done.
    Done,
    /// 1: the input or the config is at fault.
    Input,
    /// 2: wrong usage.
    Usage,
    /// 3: a check says no.
    Refused,
    /// 4: a check cannot decide.
    Undecided,
}

impl Status {
    /// Returns the exit code for the operating system.
    pub(crate) fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Input => 1,
            Status::Usage => 2,
            Status::Refused => 3,
            Status::Undecided => 4,
        }
    }
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> ExitCode {
        ExitCode::from(status.code())
    }
}

/// Something to say about texts that were read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Remark {
    /// Severity of the remark.
    pub(crate) severity: Severity,
    /// Message of the remark.
    pub(crate) message: String,
    /// Advice on how to fix it.
    pub(crate) help: Option<String>,
    /// Locations of the error.
    pub(crate) labels: Vec<Label>,
}

impl From<Diagnostic> for Remark {
    fn from(d: Diagnostic) -> Remark {
        Remark { severity: d.severity, message: d.message, help: d.help, labels: d.labels }
    }
}

/// Failure: the reason why the program ends without a result.
#[derive(Clone, Debug)]
pub struct Failure {
    /// Exit status of the program.
    pub(crate) status: Status,
    /// Errors; labels point into `sources`.
    pub(crate) remarks: Vec<Remark>,
    /// The texts that were read.
    pub(crate) sources: Vec<SourceText>,
}

impl Failure {
    /// Something is wrong with the input; no text to point at.
    pub(crate) fn input(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Input, message)
    }

    /// Returns a failure of a wrong use of the command line.
    pub(crate) fn usage(message: impl fmt::Display) -> Failure {
        Failure::new(Status::Usage, message)
    }

    fn new(status: Status, message: impl fmt::Display) -> Failure {
        Failure {
            status,
            remarks: vec![Remark {
                severity: Severity::Error,
                message: message.to_string(),
                help: None,
                labels: Vec::new(),
            }],
            sources: Vec::new(),
        }
    }

    /// Underlines a part of a text in every remark that has no place yet.
    pub(crate) fn with_label(
        mut self,
        name: &str,
        text: &str,
        span: Range<usize>,
        label: &str,
    ) -> Failure {
        let source = self.sources.len();
        self.sources.push(SourceText { name: name.to_owned(), text: text.to_owned() });
        for remark in self.remarks.iter_mut().filter(|d| d.labels.is_empty()) {
            remark.labels.push(Label { source, span: span.clone(), text: label.to_owned() });
        }
        self
    }

    /// Underlines a line, counted from 1, as [`Failure::with_label`].
    pub(crate) fn at_line(self, name: &str, text: &str, line: usize) -> Failure {
        let start: usize =
            text.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum();
        let length = text[start..].lines().next().map_or(0, |line| line.trim_end().len());
        self.with_label(name, text, start..start + length, "")
    }

    /// Adds advice to the first remark.
    pub(crate) fn help(mut self, help: impl fmt::Display) -> Failure {
        if let Some(first) = self.remarks.first_mut() {
            first.help = Some(help.to_string());
        }
        self
    }

    /// Adds the nearest of some names as advice, if one is near.
    pub(crate) fn nearest<'a>(
        self,
        given: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Failure {
        match nearest_name(given, known) {
            Some(name) => self.help(did_you_mean(name)),
            None => self,
        }
    }

    /// Returns the failure as text, with colour or without.
    pub(crate) fn render(&self, color: bool) -> String {
        render(&self.remarks, &self.sources, color)
    }
}

impl From<Failed> for Failure {
    fn from(failed: Failed) -> Failure {
        let remarks = failed.diagnostics.into_iter().map(Remark::from).collect();
        Failure { status: Status::Input, remarks, sources: failed.sources }
    }
}

/// Remarks as text.
pub(crate) fn render(remarks: &[Remark], sources: &[SourceText], color: bool) -> String {
    let theme = if color { GraphicalTheme::unicode() } else { GraphicalTheme::unicode_nocolor() };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_wrap_lines(false)
        .with_context_lines(1)
        .without_syntax_highlighting();
    let mut out = String::new();
    for remark in remarks.iter().take(MAX_DRAWN) {
        let mut drawn = String::new();
        if handler.render_report(&mut drawn, &Drawn::new(remark, sources)).is_err() {
            drawn = format!("  × {}\n", shortened(&remark.message));
        }
        out.push_str(drawn.trim_start_matches('\n'));
    }
    if remarks.len() > MAX_DRAWN {
        out.push_str(&format!("  … and {} more\n", remarks.len() - MAX_DRAWN));
    }
    out
}

/// A remark in miette's form: labels in one source; those in others follow as notes.
#[derive(Debug)]
struct Drawn {
    message: String,
    help: Option<String>,
    severity: miette::Severity,
    source: Option<NamedSource<String>>,
    labels: Vec<LabeledSpan>,
    related: Vec<Drawn>,
}

impl Drawn {
    fn new(remark: &Remark, sources: &[SourceText]) -> Drawn {
        let mut order: Vec<usize> = Vec::new();
        for label in &remark.labels {
            if label.source < sources.len() && !order.contains(&label.source) {
                order.push(label.source);
            }
        }
        let mut parts = order.into_iter().map(|index| {
            let labels: Vec<&Label> = remark.labels.iter().filter(|l| l.source == index).collect();
            Drawn::part(&sources[index], &labels)
        });
        let mut drawn = parts.next().unwrap_or_else(Drawn::empty);
        drawn.related = parts.collect();
        for part in &mut drawn.related {
            part.severity = miette::Severity::Advice;
            if part.message.is_empty() {
                part.message = "see also".to_owned();
            }
        }
        let place = std::mem::take(&mut drawn.message);
        drawn.message = format!("{place}{}", shortened(&remark.message));
        drawn.help = remark.help.as_deref().map(shortened);
        drawn.severity = match remark.severity {
            Severity::Warning => miette::Severity::Warning,
            _ => miette::Severity::Error,
        };
        drawn
    }

    fn empty() -> Drawn {
        Drawn {
            message: String::new(),
            help: None,
            severity: miette::Severity::Error,
            source: None,
            labels: Vec::new(),
            related: Vec::new(),
        }
    }

    /// Returns the labels of one source. Where a line is too long to draw, the place goes into the
    /// message.
    fn part(source: &SourceText, labels: &[&Label]) -> Drawn {
        let mut drawn = Drawn::empty();
        let text = &source.text;
        let spans: Vec<Range<usize>> =
            labels.iter().map(|l| few_lines(text, boundaries(text, &l.span))).collect();
        let first = spans.iter().map(|s| s.start).min().unwrap_or(0);
        let last = spans.iter().map(|s| s.end).max().unwrap_or(0);
        // miette draws one more line on each side.
        let above = line_start(text, line_start(text, first).saturating_sub(1));
        let below = line_end(text, (line_end(text, last) + 1).min(text.len()));
        let name = shortened(&source.name);
        let region = text.get(above..below).unwrap_or("");
        if region.lines().any(|line| line.len() > MAX_LINE) {
            let start = labels.first().map_or(0, |l| boundaries(text, &l.span).start);
            let (line, column) = line_column(text, start);
            drawn.message = format!("{name}:{line}:{column}: ");
            return drawn;
        }
        drawn.source = Some(NamedSource::new(name, clean_source(text)));
        drawn.labels = labels
            .iter()
            .zip(spans)
            .map(|(label, span)| {
                let words = (!label.text.is_empty()).then(|| shortened(&label.text));
                LabeledSpan::new(words, span.start, span.len())
            })
            .collect();
        drawn
    }
}

impl fmt::Display for Drawn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}
impl std::error::Error for Drawn {}
impl miette::Diagnostic for Drawn {
    fn severity(&self) -> Option<miette::Severity> {
        Some(self.severity)
    }
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.source.as_ref().map(|s| s as &dyn miette::SourceCode)
    }
    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        (!self.labels.is_empty()).then(|| Box::new(self.labels.iter().cloned()) as Box<_>)
    }
    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn miette::Diagnostic> + 'a>> {
        let items = self.related.iter().map(|d| d as &dyn miette::Diagnostic);
        (!self.related.is_empty()).then(|| Box::new(items) as Box<_>)
    }
}

/// Returns the span within the text, on boundaries of characters.
fn boundaries(text: &str, span: &Range<usize>) -> Range<usize> {
    let mut start = span.start.min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = span.end.clamp(start, text.len());
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Returns the span, or what is on its first line if there are many.
fn few_lines(text: &str, span: Range<usize>) -> Range<usize> {
    let lines =
        text.as_bytes()[span.clone()].iter().filter(|&&b| b == b'\n').take(MAX_LINES).count();
    if lines < MAX_LINES { span } else { span.start..line_end(text, span.start) }
}

fn line_start(text: &str, at: usize) -> usize {
    text.as_bytes()[..at].iter().rposition(|&b| b == b'\n').map_or(0, |i| i + 1)
}

fn line_end(text: &str, at: usize) -> usize {
    text.as_bytes()[at..].iter().position(|&b| b == b'\n').map_or(text.len(), |i| at + i)
}

/// Line and column of a byte, counted from 1; columns count characters.
fn line_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    (line, text[line_start(text, at)..at].chars().count() + 1)
}

/// Returns a text for the terminal: control characters are shown, not sent, and it has an end.
pub(crate) fn clean(text: &str) -> String {
    // Room for a long list of names.
    const MOST: usize = 1 << 18;
    let mut out = String::with_capacity(text.len().min(MOST));
    for c in text.chars() {
        match c {
            '\n' => out.push('\n'),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
        if out.len() > MOST {
            out.push('…');
            break;
        }
    }
    out
}

/// Returns a message for the terminal, as [`clean`]: names in it are cut after 80 characters, paths
/// after 400, all of it after 2 KiB.
pub(crate) fn shortened(text: &str) -> String {
    let mut out = String::new();
    for word in text.split_inclusive(char::is_whitespace) {
        let most = if word.contains(['/', '\\']) { MAX_PATH } else { MAX_NAME };
        match word.char_indices().nth(most) {
            // Quotes and what ends a sentence stay, and a few characters more than allowed do no
            // harm.
            Some((at, _)) if word[at..].chars().any(char::is_alphanumeric) => {
                let closing = word.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
                let closing = word
                    .char_indices()
                    .rev()
                    .take(4)
                    .map(|(i, _)| i)
                    .last()
                    .unwrap_or(0)
                    .max(closing);
                out.push_str(&word[..at]);
                out.push('…');
                out.push_str(&word[closing..]);
            }
            _ => out.push_str(word),
        }
        if out.len() > MAX_MESSAGE {
            let mut end = MAX_MESSAGE;
            while !out.is_char_boundary(end) {
                end -= 1;
            }
            out.truncate(end);
            out.push('…');
            break;
        }
    }
    clean(&out)
}

/// Returns the lines of a text, each as [`shortened`].
pub(crate) fn shortened_lines(text: &str) -> String {
    text.split_inclusive('\n').map(shortened).collect()
}

/// Cleans text like [`clean`], but every byte keeps its place: a control character becomes `?` for
/// each byte.
fn clean_source(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_control() && !matches!(c, '\n' | '\r' | '\t') {
            out.extend(std::iter::repeat_n('?', c.len_utf8()));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_and_label_are_drawn() {
        let failure = Failure::input("no such qubit").with_label(
            "a.qasm",
            "qubit q;\nx r;\n",
            11..12,
            "here",
        );
        let text = failure.render(false);
        assert!(text.contains("no such qubit"), "{text}");
        assert!(text.contains("[a.qasm:2:3]"), "{text}");
        assert!(text.contains("x r;"), "{text}");
        assert!(text.contains("here"), "{text}");
        assert!(!text.contains('\x1b'), "{text}");
    }

    #[test]
    fn any_span_in_any_text_is_drawn() {
        let texts =
            ["", "\n", "é\u{1b}x\r\n\tz", "🦀🦀", "a\n\n\nb", &"x".repeat(5000), "\u{85}\u{0}"];
        for text in texts {
            for start in (0..12).chain([4000, usize::MAX]) {
                for end in (0..12).chain([4000, usize::MAX]) {
                    let out = Failure::input("m\u{7}")
                        .with_label("n", text, start..end, "l")
                        .render(true);
                    assert!(out.contains("m\\u{7}"), "{out}");
                }
            }
        }
    }
}
