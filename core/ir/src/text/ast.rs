//! Syntax tree. Every node has its span.

use crate::{adjoint::Transform, ir::Position, staging::InfixOperator};

/// Span in the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct TextSpan {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) at: Position,
}

#[derive(Clone, Debug)]
pub(super) struct NameSyntax {
    pub(super) text: String,
    pub(super) span: TextSpan,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) structs: Vec<Struct>,
    pub(super) functions: Vec<FunctionSyntax>,
}

/// `grad(f)` or `f::grad`, `jvp(grad(f))` or `f::grad::jvp`.
#[derive(Clone, Debug)]
pub(super) struct Transformed {
    /// Transforms of the function, in the order of their application.
    pub(super) transforms: Vec<Transform>,
    pub(super) function: NameSyntax,
    pub(super) span: TextSpan,
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
    pub(super) name: NameSyntax,
    pub(super) fields: Vec<(NameSyntax, Option<KindExpr>)>,
}

/// A function or a rule.
#[derive(Clone, Debug)]
pub(super) struct FunctionSyntax {
    pub(super) name: NameSyntax,
    pub(super) params: Vec<(NameSyntax, Option<KindExpr>)>,
    pub(super) result: Option<KindExpr>,
    pub(super) body: BlockSyntax,
    pub(super) is_rule: bool,
    pub(super) pullback: Option<RulePart>,
    pub(super) pushforward: Option<RulePart>,
}

/// `pullback(x, y, y_bar) { … }`; the kinds follow from the primal.
#[derive(Clone, Debug)]
pub(super) struct RulePart {
    pub(super) span: TextSpan,
    pub(super) params: Vec<NameSyntax>,
    pub(super) body: BlockSyntax,
}

#[derive(Clone, Debug)]
pub(super) struct KindExpr {
    pub(super) span: TextSpan,
    pub(super) kind: KindSyntax,
}

#[derive(Clone, Debug)]
pub(super) enum KindSyntax {
    Name(String),
    Array(Box<KindExpr>),
    Tuple(Vec<KindExpr>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct BlockSyntax {
    pub(super) statements: Vec<Statement>,
    pub(super) tail: Option<Box<ExprSyntax>>,
    pub(super) end: TextSpan,
}

#[derive(Clone, Debug)]
pub(super) struct Statement {
    pub(super) span: TextSpan,
    pub(super) kind: StatementKind,
}

#[derive(Clone, Debug)]
pub(super) enum StatementKind {
    Let {
        pattern: PatternSyntax,
        kind: Option<KindExpr>,
        value: ExprSyntax,
    },
    /// `target = value`, or `target op= value`.
    Assign {
        target: ExprSyntax,
        op: Option<InfixOperator>,
        value: ExprSyntax,
    },
    While {
        condition: ExprSyntax,
        body: BlockSyntax,
    },
    For {
        variable: NameSyntax,
        from: ExprSyntax,
        to: ExprSyntax,
        inclusive: bool,
        body: BlockSyntax,
    },
    Break,
    Continue,
    Return(Option<ExprSyntax>),
    Expr(ExprSyntax),
}

#[derive(Clone, Debug)]
pub(super) enum PatternSyntax {
    Name { name: NameSyntax, mutable: bool },
    Tuple(Vec<(NameSyntax, bool)>),
}

#[derive(Clone, Debug)]
pub(super) struct ExprSyntax {
    pub(super) span: TextSpan,
    pub(super) kind: ExprSyntaxKind,
}

#[derive(Clone, Debug)]
pub(super) enum ExprSyntaxKind {
    Int(i64),
    Real(f64),
    Bool(bool),
    /// `none`, in the value of a pullback.
    None,
    Name(String),
    Neg(Box<ExprSyntax>),
    Not(Box<ExprSyntax>),
    /// `a + b - c`: operators of one precedence from left to right, so that long sums do not nest.
    /// Each operator has its span.
    Chain(Box<ExprSyntax>, Vec<(InfixOperator, TextSpan, ExprSyntax)>),
    /// `a && b && c`, or with `||` (`false`) alone.
    Logic(Box<ExprSyntax>, Vec<(bool, TextSpan, ExprSyntax)>),
    Call(NameSyntax, Vec<ExprSyntax>),
    /// `grad(f)(x)`
    Apply(Transformed, Vec<ExprSyntax>),
    Index(Box<ExprSyntax>, Box<ExprSyntax>),
    /// An element with several indices.
    Element(Box<ExprSyntax>, Vec<ExprSyntax>),
    Field(Box<ExprSyntax>, NameSyntax),
    TupleField(Box<ExprSyntax>, usize),
    Array(Vec<ExprSyntax>),
    Repeat(Box<ExprSyntax>, Box<ExprSyntax>),
    Tuple(Vec<ExprSyntax>),
    Struct(NameSyntax, Vec<(NameSyntax, ExprSyntax)>),
    /// Arms with conditions, and the one without.
    If(Vec<(ExprSyntax, BlockSyntax)>, Option<BlockSyntax>),
    Block(BlockSyntax),
}
