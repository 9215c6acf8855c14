//! Meanings of names: registers, constants, variables and inputs in one table, gates in another.
//!
//! There are two tables, since files have registers called `x` and `h`. A gate of a standard file
//! gives way to a definition of the same name anywhere in the text.
//!
//! Blocks open scopes: declarations within shadow those around, and end with the block. The body of
//! a subroutine sees the constants of the file and its own declarations.

use super::{EXTRA_GATES, IndexSet, Lower, QELIB1, QasmLowering, QasmValue};
use crate::{
    gate::{GateKind, NAMED_GATES, NamedGate},
    notation::{did_you_mean, nearest_name},
    qasm::{
        SourceText, Version,
        ast::{FileSpan, Ident, InternedName, QasmSpan, QasmStmtKind},
        diagnostic::{Diagnostic, QasmProblem},
        parser,
    },
};

/// Map from symbols.
#[derive(Clone, Debug)]
pub(super) struct SymbolMap<T>(Vec<Option<T>>);

impl<T> Default for SymbolMap<T> {
    fn default() -> Self {
        SymbolMap(Vec::new())
    }
}

impl<T> SymbolMap<T> {
    pub(super) fn get(&self, symbol: InternedName) -> Option<&T> {
        self.0.get(symbol.index()).and_then(Option::as_ref)
    }

    pub(super) fn insert(&mut self, symbol: InternedName, value: T) {
        self.replace(symbol, Some(value));
    }

    /// Replaces an entry; returns the old one.
    fn replace(&mut self, symbol: InternedName, value: Option<T>) -> Option<T> {
        let index = symbol.index();
        if self.0.len() <= index {
            self.0.resize_with(index + 1, || None);
        }
        std::mem::replace(&mut self.0[index], value)
    }

    fn iter(&self) -> impl Iterator<Item = (InternedName, &T)> + '_ {
        self.0
            .iter()
            .enumerate()
            .filter_map(|(i, entry)| Some((InternedName::from_index(i), entry.as_ref()?)))
    }

    fn symbols(&self) -> impl Iterator<Item = InternedName> + '_ {
        self.iter().map(|(symbol, _)| symbol)
    }
}

/// Meaning of a name other than that of a gate.
#[derive(Clone, Debug)]
pub(super) enum SymbolEntry {
    /// A register of qubits, or an alias of some.
    Qubits(IndexSet),
    /// A register of bits, or an alias of some.
    Bits(IndexSet),
    Const(QasmValue),
    /// A classical variable, by number.
    Variable(usize),
    Input(QasmValue),
    /// Declared with an error, which was reported.
    Broken,
}

impl SymbolEntry {
    pub(super) fn is(&self) -> &'static str {
        match self {
            SymbolEntry::Qubits(_) => "a quantum register",
            SymbolEntry::Bits(_) => "a classical register",
            SymbolEntry::Const(_) => "a constant",
            SymbolEntry::Variable(_) => "a variable",
            SymbolEntry::Input(_) => "an input",
            SymbolEntry::Broken => "broken",
        }
    }
}

/// Name in use: its meaning, the span of its declaration, and the number of scopes around that.
type ScopedEntry = (SymbolEntry, FileSpan, usize);

/// Names that a scope shadows, with their meanings outside.
type ShadowedNames = Vec<(InternedName, Option<ScopedEntry>)>;

/// Names other than those of gates.
#[derive(Debug, Default)]
pub(super) struct ScopedNames {
    table: SymbolMap<ScopedEntry>,
    scopes: Vec<ShadowedNames>,
    /// True while the body of a subroutine is read.
    in_subroutine: bool,
}

/// Scopes around a call that are suspended while the body of a subroutine is read.
pub(super) struct Suspended {
    scopes: Vec<ShadowedNames>,
    entries: ShadowedNames,
    in_subroutine: bool,
}

impl ScopedNames {
    pub(super) fn get(&self, symbol: InternedName) -> Option<&SymbolEntry> {
        let (entry, _, depth) = self.table.get(symbol)?;
        let seen = *depth > 0 || matches!(entry, SymbolEntry::Const(_) | SymbolEntry::Broken);
        (seen || !self.in_subroutine).then_some(entry)
    }

    pub(super) fn break_name(&mut self, symbol: InternedName, place: FileSpan) {
        if self.table.get(symbol).is_none() {
            self.table.insert(symbol, (SymbolEntry::Broken, place, 0));
        }
    }

    /// Returns the number of scopes around the current statement; 0 is that of the file.
    pub(super) fn depth(&self) -> usize {
        self.scopes.len()
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(Vec::new());
    }

    /// Leaves a scope.
    pub(super) fn leave(&mut self) {
        for (symbol, outer) in self.scopes.pop().into_iter().flatten().rev() {
            self.table.replace(symbol, outer);
        }
    }

    /// Suspends the scopes: the body of a subroutine does not see them.
    pub(super) fn suspend(&mut self) -> Suspended {
        let scopes = std::mem::take(&mut self.scopes);
        let mut entries = ShadowedNames::new();
        for (symbol, outer) in scopes.iter().rev().flat_map(|hidden| hidden.iter().rev()) {
            entries.push((*symbol, self.table.replace(*symbol, outer.clone())));
        }
        Suspended {
            scopes,
            entries,
            in_subroutine: std::mem::replace(&mut self.in_subroutine, true),
        }
    }

    pub(super) fn resume(&mut self, suspended: Suspended) {
        for (symbol, entry) in suspended.entries.into_iter().rev() {
            self.table.replace(symbol, entry);
        }
        (self.scopes, self.in_subroutine) = (suspended.scopes, suspended.in_subroutine);
    }
}

/// Gate that a call refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GateCallee {
    /// A row of the gate table, and the number of its first qubits that control it.
    Table(GateKind, usize),
    /// A definition, by number.
    Defined(usize),
}

#[derive(Clone, Copy, Debug)]
pub(super) enum GateEntry {
    /// Of the language or a standard file.
    BuiltIn(GateCallee),
    /// Of the source.
    Own(GateCallee, FileSpan),
    /// A subroutine, by number.
    Subroutine(usize, FileSpan),
    /// A function of `extern`, and true if a call of it has no effect.
    External(FileSpan, bool),
    /// A gate that was refused.
    Broken,
}

/// The names of gates.
#[derive(Debug, Default)]
pub(super) struct GateNames {
    table: SymbolMap<GateEntry>,
    /// True for each standard file that is included.
    included: [bool; 2],
}

impl GateNames {
    pub(super) fn get(&self, symbol: InternedName) -> Option<GateEntry> {
        self.table.get(symbol).copied()
    }

    pub(super) fn break_name(&mut self, symbol: InternedName) {
        self.table.insert(symbol, GateEntry::Broken);
    }

    pub(super) fn insert(&mut self, symbol: InternedName, entry: GateEntry) {
        self.table.insert(symbol, entry);
    }

    fn offer(&mut self, symbol: InternedName, callee: GateCallee) {
        if self.table.get(symbol).is_none_or(|e| matches!(e, GateEntry::BuiltIn(_))) {
            self.table.insert(symbol, GateEntry::BuiltIn(callee));
        }
    }
}

/// Names of a gate in the standard file of a language.
fn standard(gate: &NamedGate, version: Version) -> &'static [&'static str] {
    if version == Version::V2 { gate.qasm2 } else { gate.qasm3 }
}

impl QasmLowering<'_> {
    /// The gates that need no include.
    pub(super) fn built_in_gates(&mut self) {
        let (u, cx) = match self.version {
            Version::V2 => (GateKind::U3, Some(("CX", GateCallee::Table(GateKind::X, 1)))),
            Version::V3 => (GateKind::U, Some(("gphase", GateCallee::Table(GateKind::GPHASE, 0)))),
        };
        for (name, callee) in [("U", GateCallee::Table(u, 0))].into_iter().chain(cx) {
            let symbol = self.interner.intern(name);
            self.gates.offer(symbol, callee);
        }
    }

    /// The gates of `qelib1.inc` (2) or `stdgates.inc` (3).
    pub(super) fn standard_gates(&mut self, version: Version) {
        let which = usize::from(version == Version::V3);
        if std::mem::replace(&mut self.gates.included[which], true) {
            return;
        }
        // The definitions of the file are not visible in the standard ones.
        let before = std::mem::take(&mut self.gates.table);
        for gate in NAMED_GATES {
            for &name in standard(gate, version) {
                // The built-in U of each language does not come from the file.
                if name != "U" {
                    let symbol = self.interner.intern(name);
                    self.gates.offer(symbol, GateCallee::Table(gate.kind, gate.n_controls));
                }
            }
        }
        if version == Version::V2 {
            self.included("qelib1.inc".to_owned(), QELIB1.to_owned());
        }
        let standard = std::mem::replace(&mut self.gates.table, before);
        for (symbol, entry) in standard.iter() {
            if let GateEntry::BuiltIn(callee) | GateEntry::Own(callee, _) = *entry {
                self.gates.offer(symbol, callee);
            }
        }
    }

    /// Resolves a gate that is not defined to the well-known one of that name, with a warning. In
    /// OpenQASM 2 these are `gphase` and `mcx`, `mcz`, `mcphase` with any number of controls, which
    /// exporters write.
    pub(super) fn lend_gate(&mut self, name: Ident) {
        let (text, place) = (self.name(name.symbol), self.file_span(name.span));
        if self.names.get(name.symbol).is_some() {
            return;
        }
        if self.version == Version::V2 {
            if text == "gphase" {
                self.gates.offer(name.symbol, GateCallee::Table(GateKind::GPHASE, 0));
                let problem = QasmProblem::LentGate { name: text, from: "that of OpenQASM 3" };
                let help = "OpenQASM 2 has no global phase; on a state it does not show";
                self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
            }
            return;
        }
        let (mut standard, mut others) = (None, None);
        for gate in NamedGate::called(&text) {
            let known =
                if gate.qasm3.contains(&text.as_str()) { &mut standard } else { &mut others };
            known.get_or_insert(gate);
        }
        if let Some(gate) = standard {
            self.gates.offer(name.symbol, GateCallee::Table(gate.kind, gate.n_controls));
            let problem = QasmProblem::LentGate { name: text, from: "that of `stdgates.inc`" };
            let help = "add `include \"stdgates.inc\";`";
            return self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
        }
        let Some(line) = extra_gate_line(&text) else { return };
        match others {
            Some(gate) => {
                self.gates.offer(name.symbol, GateCallee::Table(gate.kind, gate.n_controls))
            }
            None => self.define_extra_gate(name.symbol, line),
        }
        let problem = QasmProblem::LentGate { name: text, from: "the usual one" };
        let help = format!("`stdgates.inc` lacks it: write `{line}`");
        self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
    }

    /// Defines a gate by its line, as if the file did.
    fn define_extra_gate(&mut self, name: InternedName, line: &str) {
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        let program = parser::program(
            line,
            source,
            Some(Version::V3),
            &mut self.interner,
            &mut self.diagnostics,
        );
        self.sources.push(SourceText { name: "usual.inc".to_owned(), text: line.to_owned() });
        if let Some(callee) = self.define_apart(source, &program, name) {
            self.gates.offer(name, callee);
        }
    }

    /// Lowers the definitions of a source of its own, over the standard gates alone; returns the
    /// gate of this name.
    pub(super) fn define_apart(
        &mut self,
        source: u32,
        program: &parser::QasmProgram,
        name: InternedName,
    ) -> Option<GateCallee> {
        let before = std::mem::take(&mut self.gates.table);
        for gate in NAMED_GATES {
            for name in gate.names().filter(|name| *name != "U") {
                let symbol = self.interner.intern(name);
                if self.gates.get(symbol).is_none() {
                    self.gates.offer(symbol, GateCallee::Table(gate.kind, gate.n_controls));
                }
            }
        }
        let gphase = self.interner.intern("gphase");
        self.gates.offer(gphase, GateCallee::Table(GateKind::GPHASE, 0));
        let outer = std::mem::replace(&mut self.source, source);
        for statement in &program.statements {
            if let QasmStmtKind::Gate(gate) = &statement.kind {
                // Its lines have no errors, as a test checks.
                let _ = self.define(gate, statement.span, &[]);
            }
        }
        self.source = outer;
        let defined = std::mem::replace(&mut self.gates.table, before);
        match defined.get(name) {
            Some(GateEntry::Own(callee, _)) => Some(*callee),
            _ => None,
        }
    }

    /// Declares a name; a name that exists in the same scope is an error.
    pub(super) fn declare_name(&mut self, name: Ident, entry: SymbolEntry) -> Lower<()> {
        let place = self.file_span(name.span);
        let depth = self.names.depth();
        if let Some((old, before, _)) =
            self.names.table.get(name.symbol).filter(|(.., d)| *d == depth)
        {
            let (broken, before) = (matches!(old, SymbolEntry::Broken), *before);
            if broken {
                return Ok(());
            }
            let twice =
                Diagnostic::error(QasmProblem::DeclaredTwice { name: self.name(name.symbol) });
            return Err(self.report(
                twice.with_label(place, "again here").with_label(before, "declared here"),
            ));
        }
        let outer = self.names.table.replace(name.symbol, Some((entry, place, depth)));
        if let Some(scope) = self.names.scopes.last_mut() {
            scope.push((name.symbol, outer));
        }
        Ok(())
    }

    /// Reports a name that is not declared, once per name.
    pub(super) fn unknown_name<T>(&mut self, symbol: InternedName, span: QasmSpan) -> Lower<T> {
        let place = self.file_span(span);
        let name = self.name(symbol);
        let hidden = self.names.table.get(symbol).is_some();
        // Later uses are silent.
        self.names.break_name(symbol, place);
        let help = if hidden {
            Some(format!(
                "a subroutine sees only the constants of the file: pass `{name}` as an argument"
            ))
        } else {
            let others =
                self.names.table.symbols().filter(|&s| s != symbol && self.names.get(s).is_some());
            nearest_name(&name, others.map(|s| self.name(s))).map(did_you_mean)
        };
        let error = Diagnostic::error(QasmProblem::UnknownName { name })
            .with_label(place, "")
            .maybe_help(help);
        Err(self.report(error))
    }

    /// Reports a gate that is not defined, once per name.
    pub(super) fn unknown_gate<T>(&mut self, name: Ident) -> Lower<T> {
        let place = self.file_span(name.span);
        let text = self.name(name.symbol);
        if let Some(entry) = self.names.get(name.symbol)
            && !matches!(entry, SymbolEntry::Broken)
        {
            let problem = QasmProblem::WrongKind { name: text, is: entry.is(), expected: "a gate" };
            self.gates.break_name(name.symbol);
            return Err(self.report(Diagnostic::error(problem).with_label(place, "")));
        }
        let help = self.gate_help(name.symbol, &text);
        self.gates.break_name(name.symbol);
        let calibrated = self.calibrated.get(&name.symbol).copied();
        let example = format!(
            "a `defcal` says how hardware does it: say what it does, `gate {text} … {{ … }}`"
        );
        let error =
            Diagnostic::error(QasmProblem::UnknownGate { name: text }).with_label(place, "");
        Err(self.report(match calibrated {
            Some(there) => error.with_label(there, "calibrated here").help(example),
            None => error.maybe_help(help),
        }))
    }

    fn gate_help(&self, symbol: InternedName, name: &str) -> Option<String> {
        if self.version == Version::V2 && symbol.word().is_some_and(|w| !w.is_old()) {
            return Some(format!(
                "`{name}` is OpenQASM 3, but this file is OpenQASM 2: change the first line"
            ));
        }
        if multi_controlled(name).is_some() {
            return Some(format!(
                "name each of its qubits, the target last: `{name} … q[0], q[1], q[2];`"
            ));
        }
        let own = match self.version {
            Version::V2 => ("qelib1.inc", self.gates.included[0]),
            Version::V3 => ("stdgates.inc", self.gates.included[1]),
        };
        let in_own = |gate: &NamedGate| standard(gate, self.version).contains(&name);
        if !own.1 && NamedGate::called(name).any(in_own) {
            return Some(format!("it is in a standard file: add `include \"{}\";`", own.0));
        }
        nearest_name(name, self.gates.table.symbols().map(|s| self.name(s))).map(did_you_mean)
    }
}

/// Returns the gate that is written with any number of controls before its target, in both
/// languages without a definition.
pub(super) fn multi_controlled(name: &str) -> Option<GateKind> {
    match name {
        "mcx" => Some(GateKind::X),
        "mcz" => Some(GateKind::Z),
        "mcp" | "mcphase" => Some(GateKind::P),
        _ => None,
    }
}

/// Returns the definition of an extra gate, which files use without one.
fn extra_gate_line(name: &str) -> Option<&'static str> {
    EXTRA_GATES.lines().find(|line| {
        let rest = line.strip_prefix("gate ").and_then(|line| line.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with([' ', '(']))
    })
}
