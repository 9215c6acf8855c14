//! Analysis of the statements of a body: variables that they write and values that they return,
//! found without planning them.

use crate::qasm::ast::{Base, Expr, ExprKind, PragmaKind, Stmt, StmtKind, Symbol};

/// Calls `f` with every statement, those of blocks too, and with the names that are declared around
/// it within.
pub(super) fn walk<'s>(
    statements: &'s [Stmt],
    local: &mut Vec<Symbol>,
    f: &mut impl FnMut(&'s Stmt, &[Symbol]),
) {
    let outside = local.len();
    for statement in statements {
        f(statement, local);
        match &statement.kind {
            StmtKind::Declare(declaration) | StmtKind::Const(declaration) => {
                local.push(declaration.name.symbol)
            }
            StmtKind::Creg(name, _) | StmtKind::Let(name, _) => local.push(name.symbol),
            StmtKind::If(c) => {
                walk(&c.then, local, f);
                walk(c.otherwise.as_deref().unwrap_or_default(), local, f);
            }
            StmtKind::For(l) => {
                local.push(l.name.symbol);
                walk(&l.body, local, f);
                local.pop();
            }
            StmtKind::While(l) => walk(&l.1, local, f),
            StmtKind::Block(body) | StmtKind::Box(body) => walk(body, local, f),
            StmtKind::Switch(s) => {
                s.cases.iter().for_each(|(_, body)| walk(body, local, f));
                walk(s.default.as_deref().unwrap_or_default(), local, f);
            }
            _ => {}
        }
    }
    local.truncate(outside);
}

/// Returns the names of outer variables that a body writes to.
pub(super) fn assigned(body: &[Stmt]) -> Vec<Symbol> {
    let mut names = Vec::new();
    walk(body, &mut Vec::new(), &mut |statement, local| {
        let targets = match &statement.kind {
            StmtKind::Assign(assignment) => std::slice::from_ref(&assignment.target),
            StmtKind::Measure(operands) => operands.1.as_slice(),
            StmtKind::Pragma(Some(pragma)) if pragma.kind == PragmaKind::Misread => {
                &*pragma.operands
            }
            _ => &[],
        };
        let written = targets.iter().filter_map(|target| match target.base {
            Base::Name(name) => Some(name.symbol),
            _ => None,
        });
        names.extend(written.filter(|name| !local.contains(name)));
    });
    names
}

/// Returns the name that every `return` of a body returns.
pub(super) fn returned(body: &[Stmt]) -> Option<Symbol> {
    let mut names = Vec::new();
    walk(body, &mut Vec::new(), &mut |statement, _| {
        if let StmtKind::Return(value) = &statement.kind {
            names.push(match value.as_deref() {
                Some(Expr { kind: ExprKind::Name(symbol), .. }) => Some(*symbol),
                _ => None,
            });
        }
    });
    let first = names.first().copied().flatten()?;
    names.iter().all(|&name| name == Some(first)).then_some(first)
}
