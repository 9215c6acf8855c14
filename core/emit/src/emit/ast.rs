//! Structured programs, which the emitters print.
//!
//! A function as a tree of statements with `if`, loops and labels. Rust, the program language and
//! LaTeX differ in their syntax, not in the tree.
//!
//! A [`Var`] is a variable of the output; one variable may hold several values of the function,
//! such as an array before and after an element was replaced. A value that is a number and is used
//! once has no variable: its expression is inlined where it is used.

use crate::ir::{Kind, Op};

/// A variable: an index into [`StructuredBody::vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Var(pub(super) usize);

/// The name of a loop or block: an index into [`StructuredBody::labels`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct JumpLabel(pub(super) usize);

#[derive(Clone, PartialEq, Debug)]
pub(super) enum EmitExpr {
    Real(f64),
    Int(i64),
    Bool(bool),
    /// Read, borrowed, or moved.
    Var(Var),
    /// A copy of an array or of a tuple with one, which is used again.
    Clone(Var),
    /// An operation, and the kind of its result.
    Op(Op, Vec<EmitExpr>, Kind),
}

impl EmitExpr {
    pub(super) fn not(self) -> EmitExpr {
        let op = Op::Mixed(crate::ir::Mixed::Not);
        match self {
            EmitExpr::Op(o, mut args, _) if o == op && args.len() == 1 => args.remove(0),
            EmitExpr::Op(Op::CompareInt(c), args, kind) => {
                EmitExpr::Op(Op::CompareInt(opposite(c)), args, kind)
            }
            other => EmitExpr::Op(op, vec![other], Kind::Bool),
        }
    }

    /// Returns the number of operations and leaves.
    pub(super) fn size(&self) -> usize {
        match self {
            EmitExpr::Op(_, args, _) => 1 + args.iter().map(EmitExpr::size).sum::<usize>(),
            _ => 1,
        }
    }

    pub(super) fn reads(&self, var: Var) -> bool {
        let mut found = false;
        self.each_var(&mut |v| found |= v == var);
        found
    }

    pub(super) fn each_var(&self, f: &mut impl FnMut(Var)) {
        match self {
            EmitExpr::Var(v) | EmitExpr::Clone(v) => f(*v),
            EmitExpr::Op(_, args, _) => args.iter().for_each(|a| a.each_var(f)),
            EmitExpr::Real(_) | EmitExpr::Int(_) | EmitExpr::Bool(_) => {}
        }
    }

    fn each_var_mut(&mut self, f: &mut impl FnMut(&mut Var)) {
        match self {
            EmitExpr::Var(v) | EmitExpr::Clone(v) => f(v),
            EmitExpr::Op(_, args, _) => args.iter_mut().for_each(|a| a.each_var_mut(f)),
            EmitExpr::Real(_) | EmitExpr::Int(_) | EmitExpr::Bool(_) => {}
        }
    }

    pub(super) fn each_op(&self, f: &mut impl FnMut(Op, &[EmitExpr], &Kind)) {
        if let EmitExpr::Op(op, args, kind) = self {
            f(*op, args, kind);
            args.iter().for_each(|a| a.each_op(f));
        }
    }
}

/// Returns the negated comparison of integers, which are ordered; `!(a < b)` of numbers is not
/// `a >= b` where one is NaN.
fn opposite(c: crate::ir::Compare) -> crate::ir::Compare {
    use crate::ir::Compare::{Eq, Ge, Gt, Le, Lt, Ne};
    match c {
        Lt => Ge,
        Le => Gt,
        Gt => Le,
        Ge => Lt,
        Eq => Ne,
        Ne => Eq,
    }
}

/// In-place update of an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InPlaceUpdate {
    Set,
    Put,
    AddAt,
    /// Like `AddAt`, to an element that exists.
    Add,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum EmitStmt {
    /// A variable without a value yet.
    Declare(Var),
    /// A new variable.
    Let(Var, EmitExpr),
    /// New values for variables, all at once (a parallel move).
    Assign(Vec<(Var, EmitExpr)>),
    /// The fields of a tuple as variables, `None` for unused ones; with true if the variables are
    /// new.
    Open(bool, Vec<Option<Var>>, EmitExpr),
    Change(InPlaceUpdate, Var, EmitExpr, EmitExpr),
    /// A call for its effect.
    Effect(EmitExpr),
    Push(u32, EmitExpr),
    If(EmitExpr, Vec<EmitStmt>, Vec<EmitStmt>),
    /// A switch to the arm of the integer's value.
    Switch(EmitExpr, Vec<Vec<EmitStmt>>),
    Loop(JumpLabel, Vec<EmitStmt>),
    While(JumpLabel, EmitExpr, Vec<EmitStmt>),
    For(JumpLabel, ForRange, Vec<EmitStmt>),
    /// Statements that `break` leaves.
    Block(JumpLabel, Vec<EmitStmt>),
    Break(JumpLabel),
    Continue(JumpLabel),
    Return(EmitExpr),
}

/// `var` in `from..to`, or `from..=to`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ForRange {
    pub(super) var: Var,
    pub(super) from: EmitExpr,
    pub(super) to: EmitExpr,
    pub(super) inclusive: bool,
}

impl EmitStmt {
    /// Returns the nested lists of statements.
    pub(super) fn parts(&self) -> Vec<&Vec<EmitStmt>> {
        match self {
            EmitStmt::If(_, a, b) => vec![a, b],
            EmitStmt::Switch(_, arms) => arms.iter().collect(),
            EmitStmt::Loop(_, s)
            | EmitStmt::While(_, _, s)
            | EmitStmt::For(_, _, s)
            | EmitStmt::Block(_, s) => {
                vec![s]
            }
            _ => vec![],
        }
    }

    pub(super) fn parts_mut(&mut self) -> Vec<&mut Vec<EmitStmt>> {
        match self {
            EmitStmt::If(_, a, b) => vec![a, b],
            EmitStmt::Switch(_, arms) => arms.iter_mut().collect(),
            EmitStmt::Loop(_, s)
            | EmitStmt::While(_, _, s)
            | EmitStmt::For(_, _, s)
            | EmitStmt::Block(_, s) => {
                vec![s]
            }
            _ => vec![],
        }
    }

    /// Returns the expressions of this statement alone.
    pub(super) fn exprs(&self) -> Vec<&EmitExpr> {
        match self {
            EmitStmt::Let(_, e)
            | EmitStmt::Open(_, _, e)
            | EmitStmt::Effect(e)
            | EmitStmt::Push(_, e)
            | EmitStmt::Return(e) => {
                vec![e]
            }
            EmitStmt::If(e, ..) | EmitStmt::Switch(e, _) | EmitStmt::While(_, e, _) => vec![e],
            EmitStmt::Assign(pairs) => pairs.iter().map(|p| &p.1).collect(),
            EmitStmt::Change(_, _, i, x) => vec![i, x],
            EmitStmt::For(_, c, _) => vec![&c.from, &c.to],
            _ => vec![],
        }
    }

    /// Returns the variables that this statement alone assigns.
    pub(super) fn writes(&self) -> Vec<Var> {
        match self {
            EmitStmt::Let(v, _) | EmitStmt::Declare(v) | EmitStmt::Change(_, v, ..) => vec![*v],
            EmitStmt::Assign(pairs) => pairs.iter().map(|p| p.0).collect(),
            EmitStmt::Open(_, vars, _) => vars.iter().flatten().copied().collect(),
            EmitStmt::For(_, c, _) => vec![c.var],
            _ => vec![],
        }
    }

    /// Calls `f` for the variables that this statement alone reads or writes, mutably.
    pub(super) fn each_var_mut(&mut self, f: &mut impl FnMut(&mut Var)) {
        match self {
            EmitStmt::Let(v, e) => {
                f(v);
                e.each_var_mut(f);
            }
            EmitStmt::Declare(v) => f(v),
            EmitStmt::Assign(pairs) => pairs.iter_mut().for_each(|(v, e)| {
                f(v);
                e.each_var_mut(f);
            }),
            EmitStmt::Open(_, vars, e) => {
                vars.iter_mut().flatten().for_each(&mut *f);
                e.each_var_mut(f);
            }
            EmitStmt::Change(_, v, i, x) => {
                f(v);
                i.each_var_mut(f);
                x.each_var_mut(f);
            }
            EmitStmt::For(_, c, _) => {
                f(&mut c.var);
                c.from.each_var_mut(f);
                c.to.each_var_mut(f);
            }
            EmitStmt::Effect(e)
            | EmitStmt::Push(_, e)
            | EmitStmt::Return(e)
            | EmitStmt::If(e, ..)
            | EmitStmt::Switch(e, _)
            | EmitStmt::While(_, e, _) => e.each_var_mut(f),
            EmitStmt::Loop(..)
            | EmitStmt::Block(..)
            | EmitStmt::Break(_)
            | EmitStmt::Continue(_) => {}
        }
    }

    /// Returns true if the code after the statement is unreachable.
    pub(super) fn diverges(&self) -> bool {
        match self {
            EmitStmt::Break(_) | EmitStmt::Continue(_) | EmitStmt::Return(_) => true,
            EmitStmt::If(_, a, b) => diverge(a) && diverge(b),
            EmitStmt::Switch(_, arms) => arms.iter().all(|a| diverge(a)),
            EmitStmt::Loop(label, body) => !leaves(body, *label),
            EmitStmt::Block(label, body) => diverge(body) && !leaves(body, *label),
            _ => false,
        }
    }
}

/// Returns true if the end of a list is unreachable.
pub(super) fn diverge(list: &[EmitStmt]) -> bool {
    list.last().is_some_and(EmitStmt::diverges)
}

/// Returns true if a list holds a jump out of the labelled statement.
pub(super) fn leaves(list: &[EmitStmt], label: JumpLabel) -> bool {
    list.iter().any(|s| *s == EmitStmt::Break(label) || s.parts().iter().any(|p| leaves(p, label)))
}

/// Returns true if a statement reads a variable.
pub(super) fn mentions(s: &EmitStmt, v: Var) -> bool {
    s.exprs().iter().any(|e| e.reads(v))
        || s.parts().iter().any(|p| p.iter().any(|s| mentions(s, v)))
}

/// Properties of a variable.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct VarData {
    pub(super) kind: Kind,
    pub(super) name: String,
    /// True for an array that belongs to the caller.
    pub(super) borrowed: bool,
    /// True if it is assigned more than once.
    pub(super) mutable: bool,
}

/// A function.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct StructuredBody {
    pub(super) params: Vec<Var>,
    pub(super) vars: Vec<VarData>,
    pub(super) labels: usize,
    pub(super) statements: Vec<EmitStmt>,
}

impl StructuredBody {
    /// Returns the kind of a value.
    pub(super) fn kind(&self, e: &EmitExpr) -> Kind {
        match e {
            EmitExpr::Real(_) => Kind::Real,
            EmitExpr::Int(_) => Kind::Int,
            EmitExpr::Bool(_) => Kind::Bool,
            EmitExpr::Var(v) | EmitExpr::Clone(v) => self.vars[v.0].kind.clone(),
            EmitExpr::Op(_, _, kind) => kind.clone(),
        }
    }

    /// Visits every statement.
    pub(super) fn each(&self, f: &mut impl FnMut(&EmitStmt)) {
        fn walk(list: &[EmitStmt], f: &mut impl FnMut(&EmitStmt)) {
            for s in list {
                f(s);
                s.parts().into_iter().for_each(|p| walk(p, f));
            }
        }
        walk(&self.statements, f);
    }
}

/// Returns true if copying a value of the kind copies an array.
pub(super) fn holds_array(kind: &Kind) -> bool {
    match kind {
        Kind::Array(_) => true,
        Kind::Tuple(t) => t.fields.iter().any(|f| holds_array(&f.kind)),
        _ => false,
    }
}
