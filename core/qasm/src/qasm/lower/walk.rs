//! Analysis of the statements of a body: variables that they write and values that they return,
//! found without planning them.

use crate::qasm::ast::{
    InternedName, OperandBase, PragmaKind, QasmExpr, QasmExprKind, QasmStmt, QasmStmtKind,
};

/// Calls `f` with every statement, those of blocks too, and with the names that are declared around
/// it within.
pub(super) fn walk<'s>(
    statements: &'s [QasmStmt],
    local: &mut Vec<InternedName>,
    f: &mut impl FnMut(&'s QasmStmt, &[InternedName]),
) {
    let outside = local.len();
    for statement in statements {
        f(statement, local);
        match &statement.kind {
            QasmStmtKind::Declare(declaration) | QasmStmtKind::Const(declaration) => {
                local.push(declaration.name.symbol)
            }
            QasmStmtKind::Creg(name, _) | QasmStmtKind::Let(name, _) => local.push(name.symbol),
            QasmStmtKind::If(c) => {
                walk(&c.then, local, f);
                walk(c.otherwise.as_deref().unwrap_or_default(), local, f);
            }
            QasmStmtKind::For(l) => {
                local.push(l.name.symbol);
                walk(&l.body, local, f);
                local.pop();
            }
            QasmStmtKind::While(l) => walk(&l.1, local, f),
            QasmStmtKind::Block(body) | QasmStmtKind::Box(body) => walk(body, local, f),
            QasmStmtKind::Switch(s) => {
                s.cases.iter().for_each(|(_, body)| walk(body, local, f));
                walk(s.default.as_deref().unwrap_or_default(), local, f);
            }
            _ => {}
        }
    }
    local.truncate(outside);
}

/// Returns the names of outer variables that a body writes to.
pub(super) fn assigned(body: &[QasmStmt]) -> Vec<InternedName> {
    let mut names = Vec::new();
    walk(body, &mut Vec::new(), &mut |statement, local| {
        let targets = match &statement.kind {
            QasmStmtKind::Assign(assignment) => std::slice::from_ref(&assignment.target),
            QasmStmtKind::Measure(operands) => operands.1.as_slice(),
            QasmStmtKind::Pragma(Some(pragma)) if pragma.kind == PragmaKind::ReadoutError => {
                &*pragma.operands
            }
            _ => &[],
        };
        let written = targets.iter().filter_map(|target| match target.base {
            OperandBase::Name(name) => Some(name.symbol),
            _ => None,
        });
        names.extend(written.filter(|name| !local.contains(name)));
    });
    names
}

/// Returns the name that every `return` of a body returns.
pub(super) fn returned(body: &[QasmStmt]) -> Option<InternedName> {
    let mut names = Vec::new();
    walk(body, &mut Vec::new(), &mut |statement, _| {
        if let QasmStmtKind::Return(value) = &statement.kind {
            names.push(match value.as_deref() {
                Some(QasmExpr { kind: QasmExprKind::Name(symbol), .. }) => Some(*symbol),
                _ => None,
            });
        }
    });
    let first = names.first().copied().flatten()?;
    names.iter().all(|&name| name == Some(first)).then_some(first)
}
