//! Placement of variable declarations.
//!
//! A variable is declared in the innermost list of statements that holds all its mentions, directly
//! before the first of them, or by it. It is `mut` if it is updated in place, or is assigned inside
//! a loop after its declaration.

use super::ast::{EmitStmt, JumpLabel, StructuredBody, Var};

/// Path to a list of statements: the index of each statement, and of its part.
type StmtPath = Vec<(usize, usize)>;

#[derive(Clone, Default)]
struct DeclarationSite {
    /// Path to the first mention.
    first: StmtPath,
    /// Index of the statement that mentions it first, in that list.
    index: usize,
    /// Length of the common prefix of the paths of all mentions.
    shared: usize,
    seen: bool,
    /// True if it belongs to the function, or to a `for` that is being visited: outside of that
    /// another variable has its name.
    given: bool,
}

pub(super) fn declare(body: &mut StructuredBody) {
    let mut places = vec![DeclarationSite::default(); body.vars.len()];
    body.params.iter().for_each(|p| places[p.0].given = true);
    visit(&body.statements, &mut Vec::new(), &mut places);
    let mut at: std::collections::HashMap<(StmtPath, usize), Vec<Var>> =
        std::collections::HashMap::new();
    let mut depth = vec![0; body.vars.len()];
    for (k, p) in places.iter().enumerate().filter(|(_, p)| p.seen && !p.given) {
        let path = p.first[..p.shared].to_vec();
        let index = p.first.get(p.shared).map_or(p.index, |s| s.0);
        depth[k] = p.shared;
        at.entry((path, index)).or_default().push(Var(k));
    }
    let mut mutable = vec![false; body.vars.len()];
    changes(&body.statements, 0, &mut Vec::new(), 0, &depth, &mut mutable);
    for (v, m) in body.vars.iter_mut().zip(mutable) {
        v.mutable = m;
    }
    let list = std::mem::take(&mut body.statements);
    body.statements = insert(list, &mut Vec::new(), &mut at);
}

fn visit(list: &[EmitStmt], path: &mut StmtPath, places: &mut [DeclarationSite]) {
    for (index, s) in list.iter().enumerate() {
        let counter = match s {
            EmitStmt::For(_, counter, _) => Some((counter.var.0, places[counter.var.0].given)),
            _ => None,
        };
        if let Some((var, _)) = counter {
            places[var].given = true;
        }
        let mut mention = |v: Var| {
            let p = &mut places[v.0];
            if p.given {
                return;
            }
            if p.seen {
                let same = p.first.iter().zip(&*path).take_while(|(a, b)| a == b).count();
                p.shared = p.shared.min(same);
            } else {
                *p = DeclarationSite {
                    first: path.clone(),
                    index,
                    shared: path.len(),
                    seen: true,
                    given: false,
                };
            }
        };
        s.writes().into_iter().for_each(&mut mention);
        s.exprs().into_iter().for_each(|e| e.each_var(&mut mention));
        for (k, part) in s.parts().into_iter().enumerate() {
            path.push((index, k));
            visit(part, path, places);
            path.pop();
        }
        if let Some((var, given)) = counter {
            places[var].given = given;
        }
    }
}

/// Finds the variables that are assigned in a loop after their declaration. `around`: enclosing
/// loops and blocks, with the depths of the bodies of the innermost loops; `again`: number of them
/// that may return to a list after its end.
fn changes(
    list: &[EmitStmt],
    here: usize,
    around: &mut Vec<(JumpLabel, usize)>,
    again: usize,
    depth: &[usize],
    mutable: &mut [bool],
) {
    let mut again = if list.last().is_some_and(|s| back(s, around).is_some()) { 0 } else { again };
    for s in list.iter().rev() {
        let after = again;
        again = again.max(farthest(s, around));
        let inside = around[..again].last().map_or(0, |a| a.1);
        match s {
            EmitStmt::Change(_, v, ..) => mutable[v.0] = true,
            EmitStmt::For(..) => {}
            _ => s.writes().iter().for_each(|v| mutable[v.0] |= depth[v.0] < inside),
        }
        let (label, after) = match s {
            EmitStmt::Loop(l, _) | EmitStmt::While(l, ..) | EmitStmt::For(l, ..) => {
                (Some((*l, here + 1)), around.len() + 1)
            }
            EmitStmt::Block(l, _) => (Some((*l, around.last().map_or(0, |a| a.1))), after),
            _ => (None, after),
        };
        around.extend(label);
        s.parts().into_iter().for_each(|p| changes(p, here + 1, around, after, depth, mutable));
        around.truncate(around.len() - usize::from(label.is_some()));
    }
}

/// Returns the number of enclosing statements to which a jump may return: to a loop that it
/// continues, and to those around one that it leaves. `None` if it is not a jump, or jumps to a
/// label further in.
fn back(s: &EmitStmt, around: &[(JumpLabel, usize)]) -> Option<usize> {
    let place = |l: &JumpLabel| around.iter().position(|a| a.0 == *l);
    match s {
        EmitStmt::Break(l) => place(l),
        EmitStmt::Continue(l) => place(l).map(|p| p + 1),
        EmitStmt::Return(_) => Some(0),
        _ => None,
    }
}

/// Returns the maximum of [`back`] over the jumps in a statement.
fn farthest(s: &EmitStmt, around: &[(JumpLabel, usize)]) -> usize {
    let inner = s.parts().into_iter().flatten().map(|s| farthest(s, around)).max();
    back(s, around).max(inner).unwrap_or(0)
}

fn insert(
    list: Vec<EmitStmt>,
    path: &mut StmtPath,
    at: &mut std::collections::HashMap<(StmtPath, usize), Vec<Var>>,
) -> Vec<EmitStmt> {
    let mut out = Vec::with_capacity(list.len());
    for (index, mut s) in list.into_iter().enumerate() {
        for (k, part) in s.parts_mut().into_iter().enumerate() {
            path.push((index, k));
            *part = insert(std::mem::take(part), path, at);
            path.pop();
        }
        let mut fresh = at.remove(&(path.clone(), index)).unwrap_or_default();
        match &mut s {
            EmitStmt::Assign(pairs) if pairs.len() == 1 && fresh.contains(&pairs[0].0) => {
                if let Some((var, value)) = pairs.pop() {
                    fresh.retain(|v| *v != var);
                    s = EmitStmt::Let(var, value);
                }
            }
            EmitStmt::Open(new, vars, _) if vars.iter().flatten().all(|v| fresh.contains(v)) => {
                *new = true;
                fresh.retain(|v| !vars.contains(&Some(*v)));
            }
            _ => {}
        }
        out.extend(fresh.into_iter().map(EmitStmt::Declare));
        out.push(s);
    }
    out
}
