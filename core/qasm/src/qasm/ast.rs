//! The syntax tree of both languages, with a span on every node.
//!
//! Names are [`InternedName`]s: numbers given by one interner for the file and all that it
//! includes. Lists are boxed slices, since a file may have millions of gates. Operators that
//! associate to the left form one flat [`QasmExprKind::Chain`], so that the depth of a tree is
//! bounded by the nesting of the text, never by the length of a sum.

use std::{collections::HashMap, ops::Range, rc::Rc};

use crate::notation::Precedence;

/// A range of bytes in a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub(super) struct QasmSpan {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl QasmSpan {
    pub(super) fn new(start: u32, end: u32) -> QasmSpan {
        QasmSpan { start, end }
    }

    pub(super) fn to(self, last: QasmSpan) -> QasmSpan {
        QasmSpan { start: self.start, end: last.end.max(self.start) }
    }

    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A span in one of the sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct FileSpan {
    pub(super) source: u32,
    pub(super) span: QasmSpan,
}

/// An interned name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct InternedName(u32);

impl InternedName {
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the symbol with a given index.
    pub(super) fn from_index(index: usize) -> InternedName {
        InternedName(u32::try_from(index).unwrap_or(u32::MAX))
    }

    /// Returns the keyword that this name is, if it is one.
    pub(super) fn word(self) -> Option<Keyword> {
        Keyword::ALL.get(self.0 as usize).copied()
    }
}

/// Interner: maps names to numbers; those of [`Keyword`] come first.
#[derive(Debug)]
pub(super) struct Interner {
    numbers: HashMap<Rc<str>, InternedName>,
    names: Vec<Rc<str>>,
}

impl Interner {
    pub(super) fn new() -> Interner {
        let mut interner = Interner { numbers: HashMap::new(), names: Vec::new() };
        for word in Keyword::ALL {
            interner.intern(word.text());
        }
        interner
    }

    pub(super) fn intern(&mut self, name: &str) -> InternedName {
        if let Some(&symbol) = self.numbers.get(name) {
            return symbol;
        }
        // Every name takes at least two bytes of a source of at most 2^32 bytes.
        let symbol = InternedName(u32::try_from(self.names.len()).unwrap_or(u32::MAX));
        let name: Rc<str> = name.into();
        self.names.push(name.clone());
        self.numbers.insert(name, symbol);
        symbol
    }

    pub(super) fn name(&self, symbol: InternedName) -> &str {
        self.names.get(symbol.index()).map_or("", |name| name)
    }
}

macro_rules! words {
    ($($NAME:ident $text:literal $old:ident)*) => {
        /// Keywords of statements. `old` ones are keywords of OpenQASM 2 too.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Keyword { $($NAME),* }

        impl Keyword {
            pub(super) const ALL: &[Keyword] = &[$(Keyword::$NAME),*];

            pub(super) fn text(self) -> &'static str {
                match self { $(Keyword::$NAME => $text),* }
            }

            /// Returns true if it is a keyword of OpenQASM 2.
            pub(super) fn is_old(self) -> bool {
                match self { $(Keyword::$NAME => words!(@ $old)),* }
            }
        }
    };
    (@ old) => { true };
    (@ new) => { false };
}

words! {
    Openqasm "OPENQASM" old
    Include "include" old
    Qreg "qreg" old
    Creg "creg" old
    Gate "gate" old
    Opaque "opaque" old
    Measure "measure" old
    Reset "reset" old
    Barrier "barrier" old
    If "if" old
    Else "else" new
    For "for" new
    In "in" new
    While "while" new
    Break "break" new
    Continue "continue" new
    End "end" new
    Nop "nop" new
    Switch "switch" new
    Case "case" new
    Default "default" new
    Def "def" new
    Return "return" new
    Extern "extern" new
    Let "let" new
    Box "box" new
    Delay "delay" new
    Cal "cal" new
    Defcal "defcal" new
    Defcalgrammar "defcalgrammar" new
    Input "input" new
    Output "output" new
    Const "const" new
    Readonly "readonly" new
    Mutable "mutable" new
    Qubit "qubit" new
    Bit "bit" new
    Bool "bool" new
    Int "int" new
    Uint "uint" new
    Float "float" new
    Angle "angle" new
    Complex "complex" new
    Duration "duration" new
    Stretch "stretch" new
    Array "array" new
    Void "void" new
    Ctrl "ctrl" new
    Negctrl "negctrl" new
    Inv "inv" new
    Pow "pow" new
    Durationof "durationof" new
    True "true" new
    False "false" new
}

/// Identifier: a name and its span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ident {
    pub(super) symbol: InternedName,
    pub(super) span: QasmSpan,
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct QasmExpr {
    pub(super) span: QasmSpan,
    pub(super) kind: QasmExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum QasmExprKind {
    /// An integer; `None` if it has more than 64 bits (its digits are in the source).
    Int(Option<u64>),
    /// The nearest float, and true if the text is another decimal: it is for 0.1000000000000000001,
    /// which reads as 0.1.
    Float {
        value: f64,
        rounded: bool,
    },
    Bool(bool),
    /// A string, within its quotes: a bit string in a classical context.
    Text,
    /// A sign alone.
    Label,
    /// A number with a unit of time.
    Duration,
    /// A number with the unit `im`.
    Imaginary(f64),
    Name(InternedName),
    /// `$0`.
    Hardware,
    Unary(UnaryOp, Box<QasmExpr>),
    /// `x ** y`.
    Power(Box<[QasmExpr; 2]>),
    /// A first operand and what is applied to it, left to right, all of one precedence.
    Chain(Box<QasmExpr>, Vec<(BinaryOp, QasmExpr)>),
    Call(Ident, Box<[QasmExpr]>),
    /// `float[64](x)`.
    Cast(Box<Type>, Box<QasmExpr>),
    Index(Box<QasmExpr>, Box<[Index]>),
    /// `{a, b}`.
    List(Box<[QasmExpr]>),
    /// `measure q` as a value.
    Measure(Box<QasmOperand>),
    /// `durationof({ … })`.
    Durationof,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnaryOp {
    Minus,
    Not,
    Invert,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinaryOp {
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Shl,
    Shr,
    Add,
    Sub,
    Concat,
    Mul,
    Div,
    Rem,
}

impl BinaryOp {
    pub(super) fn precedence(self) -> Precedence {
        use BinaryOp::*;
        match self {
            Or => Precedence::Or,
            And => Precedence::And,
            BitOr => Precedence::BitOr,
            BitXor => Precedence::BitXor,
            BitAnd => Precedence::BitAnd,
            Equal | NotEqual => Precedence::Equality,
            Less | LessEqual | Greater | GreaterEqual => Precedence::Compare,
            Shl | Shr => Precedence::Shift,
            Add | Sub | Concat => Precedence::Sum,
            Mul | Div | Rem => Precedence::Product,
        }
    }

    pub(super) fn text(self) -> &'static str {
        use BinaryOp::*;
        match self {
            Or => "||",
            And => "&&",
            BitOr => "|",
            BitXor => "^",
            BitAnd => "&",
            Equal => "==",
            NotEqual => "!=",
            Less => "<",
            LessEqual => "<=",
            Greater => ">",
            GreaterEqual => ">=",
            Shl => "<<",
            Shr => ">>",
            Add => "+",
            Sub => "-",
            Concat => "++",
            Mul => "*",
            Div => "/",
            Rem => "%",
        }
    }
}

/// Indices between the brackets, one entry per comma.
#[derive(Clone, Debug)]
pub(super) enum Index {
    At(QasmExpr),
    /// `start : step : end`, each optional.
    Range {
        span: QasmSpan,
        start: Option<QasmExpr>,
        step: Option<QasmExpr>,
        end: Option<QasmExpr>,
    },
    /// `{0, 2}`.
    Set(QasmSpan, Box<[QasmExpr]>),
}

/// A register, a part of it, or a hardware qubit.
#[derive(Clone, Debug)]
pub(super) struct QasmOperand {
    pub(super) span: QasmSpan,
    pub(super) base: OperandBase,
    pub(super) select: Select,
}

impl QasmOperand {
    /// Returns each pair of brackets in order.
    pub(super) fn parts(&self) -> Vec<Box<[Index]>> {
        match &self.select {
            Select::All => Vec::new(),
            Select::One(at) => {
                let kind = QasmExprKind::Int(Some(*at));
                vec![Box::new([Index::At(QasmExpr { span: self.span, kind })])]
            }
            Select::Parts(parts) => parts.to_vec(),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) enum OperandBase {
    Name(Ident),
    Hardware(Option<u32>),
}

#[derive(Clone, Debug)]
pub(super) enum Select {
    /// No index.
    All,
    /// A literal index, the usual case.
    One(u64),
    /// Each pair of brackets in order.
    Parts(Box<[Box<[Index]>]>),
}

/// The type of a classical variable, or of qubits.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) span: QasmSpan,
    pub(super) base: BaseType,
    /// The designator: bits of a number, elements of a register.
    pub(super) size: Option<QasmExpr>,
    /// Dimensions of an array of the base type, if it is one.
    pub(super) dims: Option<Box<[QasmExpr]>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BaseType {
    Qubit,
    Bit,
    Bool,
    Int,
    Uint,
    Float,
    Angle,
    Complex,
    Duration,
    Stretch,
}

/// A gate modifier.
#[derive(Clone, Debug)]
pub(super) struct Modifier {
    pub(super) span: QasmSpan,
    pub(super) kind: ModifierKind,
}

#[derive(Clone, Debug)]
pub(super) enum ModifierKind {
    Inv,
    Pow(QasmExpr),
    Ctrl(Option<QasmExpr>),
    Negctrl(Option<QasmExpr>),
}

/// A gate applied to operands; also `gphase`.
#[derive(Clone, Debug)]
pub(super) struct GateCall {
    pub(super) modifiers: Box<[Modifier]>,
    pub(super) name: Ident,
    pub(super) args: Box<[QasmExpr]>,
    pub(super) operands: Box<[QasmOperand]>,
    /// True if a duration in brackets follows the name.
    pub(super) timed: bool,
}

/// Effect of a pragma on its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PragmaKind {
    /// A channel: `#pragma braket noise name(args) operands`.
    Noise,
    /// A matrix: `#pragma braket unitary(rows) operands`.
    Unitary,
    /// A readout error: `#pragma ketgrad readout_error(p0, p1) bits`.
    ReadoutError,
}

/// A pragma with an effect. A matrix among its arguments is a list of rows.
#[derive(Clone, Debug)]
pub(super) struct Pragma {
    pub(super) kind: PragmaKind,
    pub(super) name: Ident,
    pub(super) args: Box<[QasmExpr]>,
    pub(super) operands: Box<[QasmOperand]>,
}

/// A gate definition, or an `opaque` declaration.
#[derive(Clone, Debug)]
pub(super) struct GateDef {
    pub(super) name: Ident,
    pub(super) params: Box<[Ident]>,
    pub(super) qubits: Box<[Ident]>,
    /// `None` if opaque.
    pub(super) body: Option<Box<[QasmStmt]>>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct QasmStmt {
    pub(super) span: QasmSpan,
    pub(super) kind: QasmStmtKind,
}

#[derive(Clone, Debug)]
pub(super) enum QasmStmtKind {
    /// `OPENQASM 3.0;` elsewhere than at the top.
    Header,
    Include(QasmSpan),
    /// `None` if it has no effect here.
    Pragma(Option<Box<Pragma>>),
    Annotation,
    Qreg(Ident, Option<QasmExpr>),
    Creg(Ident, Option<QasmExpr>),
    Gate(Box<GateDef>),
    Call(Box<GateCall>),
    /// `measure q -> c` or `measure q`.
    Measure(Box<(QasmOperand, Option<QasmOperand>)>),
    Barrier(Box<[QasmOperand]>),
    Reset(Box<QasmOperand>),
    If(Box<Conditional>),
    /// A variable or qubits, with an initial value.
    Declare(Box<Declaration>),
    Input(Box<Declaration>),
    Output(Box<Declaration>),
    Const(Box<Declaration>),
    Assign(Box<Assignment>),
    Let(Ident, Box<QasmExpr>),
    For(Box<ForLoop>),
    While(Box<(QasmExpr, Box<[QasmStmt]>)>),
    Switch(Box<SwitchCase>),
    Def(Rc<Subroutine>),
    /// True if a call has no effect here: it returns nothing, and takes neither qubits nor mutable
    /// arrays.
    Extern(Ident, bool),
    Return(Option<Box<QasmExpr>>),
    Break,
    Continue,
    End,
    Nop,
    Box(Box<[QasmStmt]>),
    Delay(Box<(QasmExpr, Box<[QasmOperand]>)>),
    Block(Box<[QasmStmt]>),
    /// An expression, whose value is not used.
    Expr(Box<QasmExpr>),
    /// Span of the first statement that plays or captures a pulse.
    Cal(Option<QasmSpan>),
    /// The gate that it is for, unless that name is a keyword.
    Defcal(Option<Ident>),
    Defcalgrammar,
    /// A lone `;`.
    Empty,
}

#[derive(Clone, Debug)]
pub(super) struct Conditional {
    pub(super) condition: QasmExpr,
    pub(super) then: Box<[QasmStmt]>,
    pub(super) otherwise: Option<Box<[QasmStmt]>>,
}

#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub(super) ty: Type,
    pub(super) name: Ident,
    pub(super) value: Option<QasmExpr>,
}

/// `target = value`; `a += b` is read as `a = a + b`.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) target: QasmOperand,
    pub(super) value: QasmExpr,
}

#[derive(Clone, Debug)]
pub(super) struct ForLoop {
    pub(super) ty: Type,
    pub(super) name: Ident,
    pub(super) over: Index,
    pub(super) body: Box<[QasmStmt]>,
}

/// The values of a case and its block.
pub(super) type Case = (Box<[QasmExpr]>, Box<[QasmStmt]>);

#[derive(Clone, Debug)]
pub(super) struct SwitchCase {
    pub(super) subject: QasmExpr,
    pub(super) cases: Box<[Case]>,
    pub(super) default: Option<Box<[QasmStmt]>>,
}

/// Parameter of a subroutine.
#[derive(Clone, Debug)]
pub(super) struct Parameter {
    pub(super) ty: Type,
    /// `#dim = n`: an array with that many axes, of any sizes. Its type has no sizes then.
    pub(super) rank: Option<QasmExpr>,
    pub(super) name: Ident,
    /// True if the parameter is passed by reference: what is written to it is written to the
    /// argument.
    pub(super) mutable: bool,
}

/// `def name(params) -> result { body }`.
#[derive(Clone, Debug)]
pub(super) struct Subroutine {
    pub(super) name: Ident,
    pub(super) params: Box<[Parameter]>,
    pub(super) result: Option<Type>,
    pub(super) body: Box<[QasmStmt]>,
}
