//! Structured programs, which the emitters print.
//!
//! A function as a tree of statements with `if`, loops and labels. Rust, the program language and
//! LaTeX differ in their syntax, not in the tree.
//!
//! A [`Var`] is a variable of the output; one variable may hold several values of the function,
//! such as an array before and after an element was replaced. A value that is a number and is used
//! once has no variable: its expression is inlined where it is used.

use crate::ir::{Kind, Op};

/// A variable: an index into [`Body::vars`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Var(pub(super) usize);

/// The name of a loop or block: an index into [`Body::labels`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Label(pub(super) usize);

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Expr {
    Real(f64),
    Int(i64),
    Bool(bool),
    /// Read, borrowed, or moved.
    Var(Var),
    /// A copy of an array or of a tuple with one, which is used again.
    Clone(Var),
    /// An operation, and the kind of its result.
    Op(Op, Vec<Expr>, Kind),
}

impl Expr {
    pub(super) fn not(self) -> Expr {
        let op = Op::Mixed(crate::ir::Mixed::Not);
        match self {
            Expr::Op(o, mut args, _) if o == op && args.len() == 1 => args.remove(0),
            Expr::Op(Op::CompareInt(c), args, kind) => {
                Expr::Op(Op::CompareInt(opposite(c)), args, kind)
            }
            other => Expr::Op(op, vec![other], Kind::Bool),
        }
    }

    /// Returns the number of operations and leaves.
    pub(super) fn size(&self) -> usize {
        match self {
            Expr::Op(_, args, _) => 1 + args.iter().map(Expr::size).sum::<usize>(),
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
            Expr::Var(v) | Expr::Clone(v) => f(*v),
            Expr::Op(_, args, _) => args.iter().for_each(|a| a.each_var(f)),
            Expr::Real(_) | Expr::Int(_) | Expr::Bool(_) => {}
        }
    }

    fn each_var_mut(&mut self, f: &mut impl FnMut(&mut Var)) {
        match self {
            Expr::Var(v) | Expr::Clone(v) => f(v),
            Expr::Op(_, args, _) => args.iter_mut().for_each(|a| a.each_var_mut(f)),
            Expr::Real(_) | Expr::Int(_) | Expr::Bool(_) => {}
        }
    }

    pub(super) fn each_op(&self, f: &mut impl FnMut(Op, &[Expr], &Kind)) {
        if let Expr::Op(op, args, kind) = self {
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
pub(super) enum Change {
    Set,
    Put,
    AddAt,
    /// Like `AddAt`, to an element that exists.
    Add,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Stmt {
    /// A variable without a value yet.
    Declare(Var),
    /// A new variable.
    Let(Var, Expr),
    /// New values for variables, all at once (a parallel move).
    Assign(Vec<(Var, Expr)>),
    /// The fields of a tuple as variables, `None` for unused ones; with true if the variables are
    /// new.
    Open(bool, Vec<Option<Var>>, Expr),
    Change(Change, Var, Expr, Expr),
    /// A call for its effect.
    Effect(Expr),
    Push(u32, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A switch to the arm of the integer's value.
    Switch(Expr, Vec<Vec<Stmt>>),
    Loop(Label, Vec<Stmt>),
    While(Label, Expr, Vec<Stmt>),
    For(Label, Counter, Vec<Stmt>),
    /// Statements that `break` leaves.
    Block(Label, Vec<Stmt>),
    Break(Label),
    Continue(Label),
    Return(Expr),
}

/// `var` in `from..to`, or `from..=to`.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Counter {
    pub(super) var: Var,
    pub(super) from: Expr,
    pub(super) to: Expr,
    pub(super) inclusive: bool,
}

impl Stmt {
    /// Returns the nested lists of statements.
    pub(super) fn parts(&self) -> Vec<&Vec<Stmt>> {
        match self {
            Stmt::If(_, a, b) => vec![a, b],
            Stmt::Switch(_, arms) => arms.iter().collect(),
            Stmt::Loop(_, s) | Stmt::While(_, _, s) | Stmt::For(_, _, s) | Stmt::Block(_, s) => {
                vec![s]
            }
            _ => vec![],
        }
    }

    pub(super) fn parts_mut(&mut self) -> Vec<&mut Vec<Stmt>> {
        match self {
            Stmt::If(_, a, b) => vec![a, b],
            Stmt::Switch(_, arms) => arms.iter_mut().collect(),
            Stmt::Loop(_, s) | Stmt::While(_, _, s) | Stmt::For(_, _, s) | Stmt::Block(_, s) => {
                vec![s]
            }
            _ => vec![],
        }
    }

    /// Returns the expressions of this statement alone.
    pub(super) fn exprs(&self) -> Vec<&Expr> {
        match self {
            Stmt::Let(_, e)
            | Stmt::Open(_, _, e)
            | Stmt::Effect(e)
            | Stmt::Push(_, e)
            | Stmt::Return(e) => {
                vec![e]
            }
            Stmt::If(e, ..) | Stmt::Switch(e, _) | Stmt::While(_, e, _) => vec![e],
            Stmt::Assign(pairs) => pairs.iter().map(|p| &p.1).collect(),
            Stmt::Change(_, _, i, x) => vec![i, x],
            Stmt::For(_, c, _) => vec![&c.from, &c.to],
            _ => vec![],
        }
    }

    /// Returns the variables that this statement alone assigns.
    pub(super) fn writes(&self) -> Vec<Var> {
        match self {
            Stmt::Let(v, _) | Stmt::Declare(v) | Stmt::Change(_, v, ..) => vec![*v],
            Stmt::Assign(pairs) => pairs.iter().map(|p| p.0).collect(),
            Stmt::Open(_, vars, _) => vars.iter().flatten().copied().collect(),
            Stmt::For(_, c, _) => vec![c.var],
            _ => vec![],
        }
    }

    /// Calls `f` for the variables that this statement alone reads or writes, mutably.
    pub(super) fn each_var_mut(&mut self, f: &mut impl FnMut(&mut Var)) {
        match self {
            Stmt::Let(v, e) => {
                f(v);
                e.each_var_mut(f);
            }
            Stmt::Declare(v) => f(v),
            Stmt::Assign(pairs) => pairs.iter_mut().for_each(|(v, e)| {
                f(v);
                e.each_var_mut(f);
            }),
            Stmt::Open(_, vars, e) => {
                vars.iter_mut().flatten().for_each(&mut *f);
                e.each_var_mut(f);
            }
            Stmt::Change(_, v, i, x) => {
                f(v);
                i.each_var_mut(f);
                x.each_var_mut(f);
            }
            Stmt::For(_, c, _) => {
                f(&mut c.var);
                c.from.each_var_mut(f);
                c.to.each_var_mut(f);
            }
            Stmt::Effect(e)
            | Stmt::Push(_, e)
            | Stmt::Return(e)
            | Stmt::If(e, ..)
            | Stmt::Switch(e, _)
            | Stmt::While(_, e, _) => e.each_var_mut(f),
            Stmt::Loop(..) | Stmt::Block(..) | Stmt::Break(_) | Stmt::Continue(_) => {}
        }
    }

    /// Returns true if the code after the statement is unreachable.
    pub(super) fn diverges(&self) -> bool {
        match self {
            Stmt::Break(_) | Stmt::Continue(_) | Stmt::Return(_) => true,
            Stmt::If(_, a, b) => diverge(a) && diverge(b),
            Stmt::Switch(_, arms) => arms.iter().all(|a| diverge(a)),
            Stmt::Loop(label, body) => !leaves(body, *label),
            Stmt::Block(label, body) => diverge(body) && !leaves(body, *label),
            _ => false,
        }
    }
}

/// Returns true if the end of a list is unreachable.
pub(super) fn diverge(list: &[Stmt]) -> bool {
    list.last().is_some_and(Stmt::diverges)
}

/// Returns true if a list holds a jump out of the labelled statement.
pub(super) fn leaves(list: &[Stmt], label: Label) -> bool {
    list.iter().any(|s| *s == Stmt::Break(label) || s.parts().iter().any(|p| leaves(p, label)))
}

/// Returns true if a statement reads a variable.
pub(super) fn mentions(s: &Stmt, v: Var) -> bool {
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
pub(super) struct Body {
    pub(super) params: Vec<Var>,
    pub(super) vars: Vec<VarData>,
    pub(super) labels: usize,
    pub(super) statements: Vec<Stmt>,
}

impl Body {
    /// Returns the kind of a value.
    pub(super) fn kind(&self, e: &Expr) -> Kind {
        match e {
            Expr::Real(_) => Kind::Real,
            Expr::Int(_) => Kind::Int,
            Expr::Bool(_) => Kind::Bool,
            Expr::Var(v) | Expr::Clone(v) => self.vars[v.0].kind.clone(),
            Expr::Op(_, _, kind) => kind.clone(),
        }
    }

    /// Visits every statement.
    pub(super) fn each(&self, f: &mut impl FnMut(&Stmt)) {
        fn walk(list: &[Stmt], f: &mut impl FnMut(&Stmt)) {
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
