//! Lowering from the syntax tree to a circuit.
//!
//! There are three steps, so that nothing is built before its size is known:
//!
//! 1. *Plan*: walk the statements in order, resolve every name, check every operand and evaluate
//!    every constant. The result is a list of [`LoweredItem`]s, still with whole registers and
//!    calls of defined gates. Errors are collected here.
//! 2. *Count* the operations after expansion, saturating; refuse too many.
//! 3. *Build*: expand registers, definitions and powers into a [`Circuit`].
//!
//! The plan is also where OpenQASM 3 is executed: loops are unrolled, except for those that a
//! measurement ends (`repeat`), subroutines are inlined where they are called, and variables have
//! their values at that point (`variables`, `flow`, `frames`, `subroutine`).
//!
//! A name that was declared with an error is kept as broken: its uses are silent.

mod angle_bits;
mod angle_value;
mod arguments;
mod arithmetic;
mod bit_vector;
mod build;
mod call;
mod case_split;
mod cast;
mod classical;
mod compare;
mod conditional;
mod control;
mod declare;
mod define;
mod digits;
mod duration;
mod evaluate;
mod files;
mod fixed_point;
mod flow;
mod frames;
mod functions;
mod input;
mod instantiate;
mod integer;
mod join;
mod lookup;
mod memory;
mod memory_access;
mod names;
mod open_power;
mod operands;
mod power;
mod pragma;
mod repeat;
mod report;
mod runtime;
mod scratch;
mod select;
mod subroutine;
mod truth;
mod unitary;
mod value;
mod value_set;
mod value_set_flow;
mod variables;
mod walk;

use std::collections::{HashMap, HashSet};

use super::{
    Failed, Parsed, QasmOptions, SourceText, Version,
    ast::{
        Declaration, FileSpan, Ident, InternedName, Interner, QasmExpr, QasmSpan, QasmStmt,
        QasmStmtKind,
    },
    diagnostic::{Diagnostic, QasmProblem, Severity},
    lexer::MAX_SOURCE,
    parser::{self, ErrorReported, QasmProgram},
};
use crate::{
    circuit::{Circuit, ClassicalRegister, Condition, DelayLength},
    classical::{ClassicalExpr, VariableId},
    param::Angle,
    stack::deep,
};
pub(super) use build::InstructionSpans;
use call::PlannedCall;
use conditional::PlannedBranch;
use control::{BlockFrames, BlockHead};
use define::GateTemplate;
use frames::{ExitFrame, FrameKind};
use memory::VariableStore;
use names::{GateEntry, GateNames, ScopedNames};
use operands::IndexSet;
use pragma::PlannedChannel;
use subroutine::{CallReturn, Definable};
use value::QasmValue;
use variables::{QasmVariable, ScopeLocals, VariableChange};

/// The gates of `qelib1.inc` that are not a line of the gate table.
const QELIB1: &str = include_str!("../qelib1.inc");

/// Definitions of extra gates that no standard file of OpenQASM 3 has, but files use.
const EXTRA_GATES: &str = include_str!("../usual.inc");

/// Item of the plan.
#[derive(Debug)]
enum LoweredItem {
    Call(PlannedCall),
    Measure {
        qubits: IndexSet,
        bits: IndexSet,
        place: FileSpan,
    },
    /// A measurement whose result is not stored; and the qubits of it that are `kept`, since the
    /// measurement changes later operations.
    Discard {
        qubits: IndexSet,
        kept: Vec<u32>,
        place: FileSpan,
    },
    Reset {
        qubits: IndexSet,
        place: FileSpan,
    },
    Channel(PlannedChannel),
    /// A readout error of each of the bits, or of all of them together.
    ReadoutError {
        probabilities: Box<[QasmValue]>,
        bits: IndexSet,
        together: bool,
        place: FileSpan,
    },
    /// Sets the scratch bit of a frame at one of its exits.
    Leave {
        bit: u32,
        frame: u64,
        exit: u64,
        place: FileSpan,
    },
    /// Assigns values to bits, one each.
    Assign {
        bits: IndexSet,
        values: Box<[bool]>,
        place: FileSpan,
    },
    Barrier {
        qubits: Vec<IndexSet>,
    },
    Delay {
        length: DelayLength,
        qubits: Vec<IndexSet>,
        place: FileSpan,
    },
    /// Loop: the items up to its end run while a condition holds.
    While {
        condition: Condition,
        place: FileSpan,
    },
    EndWhile,
    /// Stores the truth value of an `if` in its scratch bit.
    Store {
        number: u32,
    },
    /// Clears the scratch bit of an `if`.
    Forget {
        number: u32,
    },
    /// Beginning of a block, which ends at the next `Close` that belongs to it.
    Open {
        head: BlockHead,
        frames: BlockFrames,
    },
    Close,
    /// Leaves a frame, or ends the run.
    Exit {
        frame: u64,
        exit: usize,
        ends: bool,
    },
    /// Leaves the innermost loop.
    BreakLoop,
    /// Writes to a variable, or an element of an array, in memory.
    Write {
        slot: VariableId,
        indices: Vec<ClassicalExpr>,
        value: Box<ClassicalExpr>,
        place: FileSpan,
    },
    WriteBits {
        bits: IndexSet,
        value: Box<ClassicalExpr>,
        place: FileSpan,
    },
    /// Writes to one of some bits.
    WriteBitAt {
        bits: IndexSet,
        index: Box<ClassicalExpr>,
        value: Box<ClassicalExpr>,
        place: FileSpan,
    },
}

/// A branch of an `if`, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Guard {
    number: u32,
    otherwise: bool,
}

/// Item of the plan, with the branch that it is in.
#[derive(Debug)]
struct Planned {
    item: LoweredItem,
    guard: Option<Guard>,
}

/// A declared register of qubits or bits; a single one has size 1. Scratch bits have no name.
#[derive(Clone, Copy, Debug)]
struct Register {
    name: Option<InternedName>,
    first: u32,
    size: u32,
    single: bool,
    /// True if it is declared as an output.
    output: bool,
}

/// Names that an expression may refer to.
#[derive(Clone, Copy)]
enum ExprScope<'a> {
    Global,
    /// The parameters of a gate, by position.
    Gate(&'a HashMap<InternedName, u32>),
}

struct QasmLowering<'a> {
    options: &'a QasmOptions<'a>,
    version: Version,
    interner: Interner,
    sources: Vec<SourceText>,
    /// The source that is being lowered.
    source: u32,
    /// Sources that are open, outermost first.
    open: Vec<u32>,
    diagnostics: Vec<Diagnostic>,
    warnings: usize,
    /// Problems that are reported only once.
    reported: HashSet<&'static str>,
    names: ScopedNames,
    gates: GateNames,
    definitions: Vec<GateTemplate>,
    /// Exponents over parameters of definitions, and definitions specialized to arguments for them.
    exponents: Vec<QasmValue>,
    special: HashMap<String, usize>,
    qubits: Vec<Register>,
    n_qubits: u32,
    bits: Vec<Register>,
    n_bits: u32,
    /// Largest hardware qubit and its span.
    hardware: Option<(u32, FileSpan)>,
    declared: Option<FileSpan>,
    inputs: Vec<String>,
    /// Values that are given, by name; those that were used; and the names that the file itself
    /// assigns.
    given: HashMap<&'a str, &'a str>,
    read_for: Vec<String>,
    /// What is declared as an output.
    outputs: Vec<InternedName>,
    assigned: Vec<InternedName>,
    /// True while the exponent of a `pow` is evaluated, where `1/2` is a half.
    in_exponent: bool,
    /// Variables in use, the scopes around, the log of changes in branches, and its start for the
    /// innermost branch.
    variables: Vec<QasmVariable>,
    locals: Vec<ScopeLocals>,
    log: Vec<VariableChange>,
    mark: usize,
    /// Number of scopes around the innermost loop that runs in the circuit.
    around_loop: usize,
    /// Bits that identify the exit that was taken; an iteration that is run again finds them 0.
    exit_bits: Vec<u32>,
    /// Variables of casts, for statements that are planned for each value.
    casts: HashMap<FileSpan, usize>,
    /// Variables in memory, and arrays of constants there.
    memory: VariableStore,
    /// Free scratch bits, by the number of bits that belong together.
    spare: HashMap<u32, Vec<u32>>,
    subroutines: Vec<Definable>,
    /// Definitions of the file by name, those further down included.
    to_come: HashMap<InternedName, FileSpan>,
    /// Gates that have a `defcal`.
    calibrated: HashMap<InternedName, FileSpan>,
    /// Frames that can be left early, outermost first; the number of frames so far; and the frame
    /// that is being left.
    frames: Vec<ExitFrame>,
    n_frames: u64,
    leaving: Option<usize>,
    /// Number of branches around the current statement.
    depth: usize,
    /// Results that the calls are to return, innermost last.
    results: Vec<CallReturn>,
    /// Number of statements in loops and subroutines that were lowered.
    steps: u64,
    plan: Vec<Planned>,
    /// Every `if` so far, and the branch that is being lowered.
    branches: Vec<PlannedBranch>,
    guard: Option<Guard>,
    /// Total size of all conditions, and of all lists of elements.
    conditions: u64,
    elements: u64,
    /// Operations after expansion, saturating, and the statement that passed the limit.
    count: u64,
    passed: Option<FileSpan>,
}

type Lower<T> = Result<T, ErrorReported>;

pub(super) fn parse(text: &str, options: &QasmOptions) -> Result<Parsed, Failed> {
    let mut lowering = QasmLowering::new(options);
    let program = lowering.read(text);
    if let Some(program) = program {
        lowering.program(&program);
    }
    let circuit = lowering.finish();
    let outputs = lowering.outputs.iter().map(|&name| lowering.name(name)).collect();
    let QasmLowering { diagnostics, sources, version, read_for, .. } = lowering;
    match circuit {
        Some((circuit, places)) => Ok(Parsed {
            circuit,
            version,
            read_for,
            outputs,
            warnings: diagnostics,
            sources,
            places,
        }),
        None => Err(Failed { diagnostics, sources }),
    }
}

pub(super) fn parse_angle(text: &str) -> Result<Angle, Box<Diagnostic>> {
    input::lone(text, Version::V2, ["an angle", "`pi/4` or `0.3`"], |lowering, expr| {
        lowering.angle(expr)
    })
}

impl<'a> QasmLowering<'a> {
    fn new(options: &'a QasmOptions<'a>) -> QasmLowering<'a> {
        QasmLowering {
            options,
            version: Version::V3,
            interner: Interner::new(),
            sources: Vec::new(),
            source: 0,
            open: Vec::new(),
            diagnostics: Vec::new(),
            warnings: 0,
            reported: HashSet::new(),
            names: ScopedNames::default(),
            gates: GateNames::default(),
            definitions: Vec::new(),
            exponents: Vec::new(),
            special: HashMap::new(),
            qubits: Vec::new(),
            n_qubits: 0,
            bits: Vec::new(),
            n_bits: 0,
            hardware: None,
            declared: None,
            inputs: Vec::new(),
            given: options.inputs.iter().copied().collect(),
            read_for: Vec::new(),
            outputs: Vec::new(),
            assigned: Vec::new(),
            in_exponent: false,
            variables: Vec::new(),
            locals: Vec::new(),
            log: Vec::new(),
            mark: 0,
            around_loop: 0,
            exit_bits: Vec::new(),
            casts: HashMap::new(),
            memory: VariableStore::default(),
            spare: HashMap::new(),
            subroutines: Vec::new(),
            to_come: HashMap::new(),
            calibrated: HashMap::new(),
            frames: Vec::new(),
            n_frames: 0,
            leaving: None,
            depth: 0,
            results: Vec::new(),
            steps: 0,
            plan: Vec::new(),
            branches: Vec::new(),
            guard: None,
            conditions: 0,
            elements: 0,
            count: 0,
            passed: None,
        }
    }

    /// Parses the file itself.
    fn read(&mut self, text: &str) -> Option<QasmProgram> {
        let name = self.options.file.to_owned();
        if text.len() > MAX_SOURCE {
            self.sources.push(SourceText { name, text: String::new() });
            let problem = QasmProblem::SourceTooLong { bytes: text.len(), limit: MAX_SOURCE };
            self.diagnostics.push(
                Diagnostic::error(problem).with_label(self.file_span(QasmSpan::default()), ""),
            );
            return None;
        }
        self.sources.push(SourceText { name, text: text.to_owned() });
        let program = parser::program(text, 0, None, &mut self.interner, &mut self.diagnostics);
        self.version = program.version;
        self.open.push(0);
        if program.statements.is_empty() && !program.header && self.diagnostics.is_empty() {
            let help = "a circuit begins with `OPENQASM 3.0;` and declares `qubit[2] q;`";
            let empty = Diagnostic::error(QasmProblem::Empty)
                .with_label(self.file_span(QasmSpan::default()), "")
                .help(help);
            self.diagnostics.push(empty);
            return None;
        }
        Some(program)
    }

    fn program(&mut self, program: &QasmProgram) {
        self.built_in_gates();
        if !program.header {
            let start = program
                .statements
                .first()
                .map_or(QasmSpan::default(), |s| QasmSpan::new(s.span.start, s.span.start));
            let help = format!("begin the file with `OPENQASM {}.0;`", self.version);
            let problem = QasmProblem::NoHeader { version: self.version };
            let place = self.file_span(start);
            self.warning(Diagnostic::warning(problem).with_label(place, "").help(help));
            let includes = |s: &QasmStmt| matches!(s.kind, QasmStmtKind::Include(_));
            if !program.statements.iter().any(includes) {
                self.standard_gates(self.version);
            }
        }
        for statement in &program.statements {
            if let QasmStmtKind::Def(subroutine) = &statement.kind {
                let place = self.file_span(subroutine.name.span);
                self.to_come.entry(subroutine.name.symbol).or_insert(place);
            }
        }
        self.assigned = walk::assigned(&program.statements);
        self.enter_file();
        self.enter_frame(FrameKind::File);
        self.list(&program.statements, &program.statements);
        if self.has_memory() {
            self.write_results();
        }
        self.leave_frame(QasmSpan::default());
        self.leave_locals();
    }

    fn statement(&mut self, statement: &QasmStmt, all: &[QasmStmt]) -> Lower<()> {
        deep(|| self.deep_statement(statement, all))
    }

    fn deep_statement(&mut self, statement: &QasmStmt, all: &[QasmStmt]) -> Lower<()> {
        let span = statement.span;
        if self.has_memory() {
            if let Some(bracket) = self.runtime_bracket(statement) {
                return self.each_bracket(bracket, statement, all);
            }
        } else if let Some(undecided) = self.undecided(statement) {
            return self.each_undecided(undecided, statement, all);
        }
        match &statement.kind {
            QasmStmtKind::Call(call) => self.call(call, span, all),
            QasmStmtKind::Measure(operands) => self.measure(&operands.0, operands.1.as_ref(), span),
            QasmStmtKind::Barrier(operands) => self.barrier(operands, span),
            QasmStmtKind::Reset(operand) => self.reset(operand, span),
            QasmStmtKind::If(conditional) => self.conditional(conditional, span, all),
            QasmStmtKind::Block(statements) => {
                self.block(statements, all);
                Ok(())
            }
            QasmStmtKind::For(f) => self.for_loop(f, all, span),
            QasmStmtKind::While(f) => self.while_loop(&f.0, &f.1, all, span),
            QasmStmtKind::Switch(switch) => self.switch(switch, all),
            QasmStmtKind::Break => self.leave(FrameKind::Loop, span),
            QasmStmtKind::Continue => self.leave(FrameKind::Round, span),
            QasmStmtKind::End => self.leave(FrameKind::File, span),
            QasmStmtKind::Return(value) => self.give_back(value.as_deref(), span),
            QasmStmtKind::Def(subroutine) => self.define_subroutine(subroutine),
            QasmStmtKind::Let(name, value) => self.alias(*name, value),
            QasmStmtKind::Gate(gate) => {
                self.only_in_file("a gate definition", span)
                    .inspect_err(|_| self.gates.break_name(gate.name.symbol))?;
                self.define(gate, span, all)
            }
            QasmStmtKind::Qreg(name, size) => self.declare_qubits(*name, size.as_ref(), span),
            QasmStmtKind::Creg(name, size) => {
                self.declare_bits(*name, size.as_ref(), span).map(|_| ())
            }
            QasmStmtKind::Declare(declaration) if self.has_memory() => {
                match self.declared_by_measured(declaration, span) {
                    Some(assignment) => {
                        let empty = Declaration { value: None, ..(**declaration).clone() };
                        self.declare(&empty, span)?;
                        self.statement(&assignment, all)
                    }
                    None => self.declare(declaration, span),
                }
            }
            QasmStmtKind::Declare(declaration) => match self.value_by_bits(declaration, span) {
                Some(assignment) => {
                    self.declare(&Declaration { value: None, ..(**declaration).clone() }, span)?;
                    self.statement(&assignment, all)
                }
                None => self.declare(declaration, span),
            },
            QasmStmtKind::Input(declaration) => self.declare_input(declaration, span),
            QasmStmtKind::Output(declaration) => self.declare_output(declaration, span),
            QasmStmtKind::Const(declaration) => self.declare_const(declaration),
            QasmStmtKind::Assign(assignment) => self.assign(assignment, span),
            QasmStmtKind::Include(name) => {
                self.only_in_file("`include`", span)?;
                self.include(*name)
            }
            QasmStmtKind::Delay(delay) => self.delay(&delay.0, &delay.1, span),
            QasmStmtKind::Box(statements) => {
                self.block(statements, all);
                Ok(())
            }
            QasmStmtKind::Header => self.fail(QasmProblem::MisplacedHeader, span),
            QasmStmtKind::Pragma(None) => self.ignored("a pragma", span),
            QasmStmtKind::Pragma(Some(pragma)) => self.pragma(pragma, span),
            QasmStmtKind::Annotation => self.ignored("an annotation", span),
            QasmStmtKind::Nop | QasmStmtKind::Empty => Ok(()),
            QasmStmtKind::Expr(expr) => self.classical(expr).map(|_| ()),
            QasmStmtKind::Extern(name, idle) => {
                self.gates
                    .insert(name.symbol, GateEntry::External(self.file_span(name.span), *idle));
                Ok(())
            }
            QasmStmtKind::Cal(pulse) => self.calibrate(*pulse, span),
            QasmStmtKind::Defcal(name) => self.define_calibration(*name, span),
            QasmStmtKind::Defcalgrammar => self.ignored("`defcalgrammar`", span),
        }
    }

    /// Lowers a `cal` block: declarations for hardware are ignored. A statement that sends pulses
    /// acts on qubits, and is an error.
    fn calibrate(&mut self, pulse: Option<QasmSpan>, span: QasmSpan) -> Lower<()> {
        let Some(pulse) = pulse else { return self.ignored("`cal`", span) };
        let word = self.text(pulse).to_owned();
        let error =
            Diagnostic::error(QasmProblem::Pulse { word }).with_label(self.file_span(pulse), "");
        Err(self.report(error.help("say what it does to the qubits by gates")))
    }

    fn define_calibration(&mut self, name: Option<Ident>, span: QasmSpan) -> Lower<()> {
        if let Some(name) = name {
            let place = self.file_span(name.span);
            self.calibrated.entry(name.symbol).or_insert(place);
        }
        self.ignored("`defcal`", span)
    }

    /// Returns an error about a statement that is not allowed in a block.
    fn only_in_file(&mut self, what: &'static str, span: QasmSpan) -> Lower<()> {
        if self.names.depth() == 0 {
            return Ok(());
        }
        self.fail(QasmProblem::WithinBlock { what }, span)
    }

    /// Appends an item to the plan, in the current branch.
    fn push(&mut self, item: LoweredItem) {
        let guard = self.guard;
        self.plan.push(Planned { item, guard });
    }

    /// Adds to the number of operations.
    fn add_count(&mut self, more: u64, span: QasmSpan) {
        self.count = self.count.saturating_add(more);
        if self.count > self.options.max_gates && self.passed.is_none() {
            self.passed = Some(self.file_span(span));
        }
    }

    /// Checks conditions on the whole file, and builds. Returns `None` after an error.
    fn finish(&mut self) -> Option<(Circuit, InstructionSpans)> {
        if let (Some((qubit, place)), Some(declared)) = (self.hardware, self.declared) {
            let mixed = Diagnostic::error(QasmProblem::MixedQubits { qubit });
            self.diagnostics.push(
                mixed
                    .with_label(place, "a hardware qubit")
                    .with_label(declared, "a declared register"),
            );
        }
        if let Some((qubit, _)) = self.hardware {
            self.n_qubits = self.n_qubits.max(qubit.saturating_add(1));
        }
        if self.has_errors() {
            return None;
        }
        if let Some(place) = self.passed {
            let problem =
                QasmProblem::TooManyGates { count: self.count, limit: self.options.max_gates };
            self.diagnostics
                .push(Diagnostic::error(problem).with_label(place, "the limit is passed here"));
            return None;
        }
        let circuit = self.build();
        if self.has_errors() { None } else { circuit }
    }

    fn has_errors(&self) -> bool {
        self.diagnostics.iter().any(|d| d.severity == Severity::Error)
    }

    /// The value of an expression as an angle.
    fn angle(&mut self, expr: &QasmExpr) -> Lower<Angle> {
        let value = self.real(expr, ExprScope::Global)?;
        match value.angle() {
            Some(angle) => Ok(angle),
            None => self.fail(QasmProblem::NotConstant { what: "the angle".to_owned() }, expr.span),
        }
    }

    /// Returns the classical registers, in order of declaration. Hidden ones among them are bits
    /// without a name and, if there are outputs, all other registers.
    fn classical_registers(&self) -> Vec<ClassicalRegister> {
        let mut hidden = self.scratch_names();
        let outputs = self.bits.iter().any(|r| r.output) || self.memory.has_outputs();
        let mut register = |r: &Register| ClassicalRegister {
            name: r.name.map(|name| self.name(name)).or_else(|| hidden.next()).unwrap_or_default(),
            size: r.size as usize,
            hidden: r.name.is_none() || (outputs && !r.output),
        };
        self.bits.iter().map(&mut register).filter(|r| r.size > 0).collect()
    }
}
