//! Syntax tree. Every node has its span.

use crate::{adjoint::Transform, ir::Position, staging::Operator};

/// Span in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) at: Position,
}

#[derive(Clone, Debug)]
pub(super) struct Name {
    pub(super) text: String,
    pub(super) span: Span,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) structs: Vec<Struct>,
    pub(super) functions: Vec<Function>,
}

/// `grad(f)` or `f::grad`, `jvp(grad(f))` or `f::grad::jvp`.
#[derive(Clone, Debug)]
pub(super) struct Transformed {
    /// Transforms of the function, in the order of their application.
    pub(super) transforms: Vec<Transform>,
    pub(super) function: Name,
    pub(super) span: Span,
}

impl Transformed {
    /// Returns the mathematical notation.
    pub(super) fn written(&self) -> String {
        self.transforms
            .iter()
            .fold(self.function.text.clone(), |name, t| format!("{}({name})", t.name()))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Struct {
    pub(super) name: Name,
    pub(super) fields: Vec<(Name, Option<KindExpr>)>,
}

/// A function or a rule.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) params: Vec<(Name, Option<KindExpr>)>,
    pub(super) result: Option<KindExpr>,
    pub(super) body: Block,
    pub(super) is_rule: bool,
    pub(super) pullback: Option<RulePart>,
    pub(super) pushforward: Option<RulePart>,
}

/// `pullback(x, y, y_bar) { … }`; the kinds follow from the primal.
#[derive(Clone, Debug)]
pub(super) struct RulePart {
    pub(super) span: Span,
    pub(super) params: Vec<Name>,
    pub(super) body: Block,
}

#[derive(Clone, Debug)]
pub(super) struct KindExpr {
    pub(super) span: Span,
    pub(super) kind: KindSyntax,
}

#[derive(Clone, Debug)]
pub(super) enum KindSyntax {
    Name(String),
    Array(Box<KindExpr>),
    Tuple(Vec<KindExpr>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) statements: Vec<Statement>,
    pub(super) tail: Option<Box<Expr>>,
    pub(super) end: Span,
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) span: Span,
    pub(super) kind: StatementKind,
}

#[derive(Clone, Debug)]
pub(super) enum StatementKind {
    Let {
        pattern: Pattern,
        kind: Option<KindExpr>,
        value: Expr,
    },
    /// `target = value`, or `target op= value`.
    Assign {
        target: Expr,
        op: Option<Operator>,
        value: Expr,
    },
    While {
        condition: Expr,
        body: Block,
    },
    For {
        variable: Name,
        from: Expr,
        to: Expr,
        inclusive: bool,
        body: Block,
    },
    Break,
    Continue,
    Return(Option<Expr>),
    Expr(Expr),
}

#[derive(Clone, Debug)]
pub(super) enum Pattern {
    Name { name: Name, mutable: bool },
    Tuple(Vec<(Name, bool)>),
}

#[derive(Clone, Debug)]
pub(super) struct Expr {
    pub(super) span: Span,
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    Int(i64),
    Real(f64),
    Bool(bool),
    /// `none`, in the value of a pullback.
    None,
    Name(String),
    Neg(Box<Expr>),
    Not(Box<Expr>),
    /// `a + b - c`: operators of one precedence from left to right, so that long sums do not nest.
    /// Each operator has its span.
    Chain(Box<Expr>, Vec<(Operator, Span, Expr)>),
    /// `a && b && c`, or with `||` (`false`) alone.
    Logic(Box<Expr>, Vec<(bool, Span, Expr)>),
    Call(Name, Vec<Expr>),
    /// `grad(f)(x)`
    Apply(Transformed, Vec<Expr>),
    Index(Box<Expr>, Box<Expr>),
    /// An element with several indices.
    Element(Box<Expr>, Vec<Expr>),
    Field(Box<Expr>, Name),
    TupleField(Box<Expr>, usize),
    Array(Vec<Expr>),
    Repeat(Box<Expr>, Box<Expr>),
    Tuple(Vec<Expr>),
    Struct(Name, Vec<(Name, Expr)>),
    /// Arms with conditions, and the one without.
    If(Vec<(Expr, Block)>, Option<Block>),
    Block(Block),
}
