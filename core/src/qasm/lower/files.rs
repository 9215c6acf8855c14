//! Included files: the built-in ones by name, others through the caller.

use super::{Lower, Lowering};
use crate::qasm::{SourceText, Version, ast::Span, diagnostic::Problem, lexer::MAX_SOURCE, parser};

/// The most files that one file may include, directly or not.
const MAX_INCLUDES: usize = 256;

impl Lowering<'_> {
    pub(super) fn include(&mut self, quoted: Span) -> Lower<()> {
        let text = self.text(quoted);
        let name = text.get(1..text.len().saturating_sub(1)).unwrap_or_default().to_owned();
        let belongs = match name.rsplit('/').next().unwrap_or_default() {
            "qelib1.inc" | "hqslib1.inc" | "hqslib1_dev.inc" => Some(Version::V2),
            "stdgates.inc" | "stdgates.qasm" => Some(Version::V3),
            _ => None,
        };
        if let Some(belongs) = belongs {
            if belongs != self.version {
                let problem = Problem::ForeignInclude { name, belongs, version: self.version };
                self.warn(problem, quoted);
            }
            self.standard_gates(belongs);
            return Ok(());
        }
        if self.open.iter().any(|&s| s != 0 && self.sources[s as usize].name == name)
            || name == self.options.file
        {
            return self.fail(Problem::IncludeCycle { name }, quoted);
        }
        if self.sources.len() > MAX_INCLUDES || self.open.len() > MAX_INCLUDES / 4 {
            return self.fail(Problem::TooManyIncludes { limit: MAX_INCLUDES }, quoted);
        }
        let Some(resolve) = self.options.include else {
            let reason = "only `qelib1.inc` and `stdgates.inc` can be read here".to_owned();
            return self.fail(Problem::Include { name, reason }, quoted);
        };
        match resolve(&name) {
            Ok(text) if text.len() > MAX_SOURCE => {
                let problem = Problem::SourceTooLong { bytes: text.len(), limit: MAX_SOURCE };
                self.fail(problem, quoted)
            }
            Ok(text) => {
                self.included(name, text);
                Ok(())
            }
            Err(reason) => self.fail(Problem::Include { name, reason }, quoted),
        }
    }

    /// Parses and lowers a further source in place.
    pub(super) fn included(&mut self, name: String, text: String) {
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        let program =
            parser::program(&text, source, Some(self.version), &mut self.interner, &mut self.diagnostics);
        self.sources.push(SourceText { name, text });
        let outer = std::mem::replace(&mut self.source, source);
        self.open.push(source);
        self.list(&program.statements, &program.statements);
        self.open.pop();
        self.source = outer;
    }
}
