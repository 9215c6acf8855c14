//! Copy coalescing: one variable in place of two of which one is assigned to the other.
//!
//! ```text
//! t = e; v = t                          ->  v = e                     if nothing else reads t
//! x = y; …x…; y = x                     ->  …y…                       if nothing else reads x, nor … y
//! ```
//!
//! The first is written by a loop at its end, the second by a loop in a loop around itself. Both
//! come from block parameters. Without them arrays are not moved, and `y = y + x` can be `y += x`.
//!
//! Invariant: no jump leads out of the statements between the two assignments of the second form,
//! so the early change of `y` is not observed. Cost: O(size x pairs of such assignments).

use std::collections::HashSet;

use super::ast::{EmitExpr, EmitStmt, JumpLabel, StructuredBody, Var, mentions};

/// Merges variables.
pub(super) fn coalesce(body: &mut StructuredBody) {
    let mut list = std::mem::take(&mut body.statements);
    let mut uses = vec![0; body.vars.len()];
    each_use(&list, &mut |v| uses[v.0] += 1);
    merge(&mut list, &mut uses);
    body.statements = list;
}

/// Visits each variable that is read or written, once per use.
fn each_use(list: &[EmitStmt], each: &mut impl FnMut(Var)) {
    for s in list {
        s.writes().into_iter().for_each(&mut *each);
        s.exprs().into_iter().for_each(|e| e.each_var(each));
        s.parts().into_iter().for_each(|p| each_use(p, each));
    }
}

fn merge(list: &mut Vec<EmitStmt>, uses: &mut [u32]) {
    for s in list.iter_mut() {
        s.parts_mut().into_iter().for_each(|p| merge(p, uses));
    }
    let mut copies = CopyAssignments::default();
    list.iter().for_each(|s| copies.insert(s));
    let mut k = 0;
    while k < list.len() {
        if !(handed_on(list, k, uses, &mut copies) || around(list, k, uses, &mut copies)) {
            k += 1;
        }
    }
    list.retain(|s| !is_gone(s));
}

/// Assignments of variables to variables in a list, and perhaps some that were removed: pairs that
/// are not among them need not be searched for.
#[derive(Default)]
struct CopyAssignments {
    pairs: HashSet<(Var, Var)>,
    from: HashSet<Var>,
}

impl CopyAssignments {
    fn insert(&mut self, s: &EmitStmt) {
        if let Some((to, EmitExpr::Var(from))) = assignment(s) {
            self.pairs.insert((to, *from));
            self.from.insert(*from);
        }
    }
}

/// Returns true for a statement that was removed: no others move for that.
fn is_gone(s: &EmitStmt) -> bool {
    matches!(s, EmitStmt::Assign(pairs) if pairs.is_empty())
}

fn take_out(s: &mut EmitStmt) {
    *s = EmitStmt::Assign(Vec::new());
}

/// Coalesces `t = e; …; v = t`, with only plain assignments in between.
fn handed_on(
    list: &mut [EmitStmt],
    k: usize,
    uses: &mut [u32],
    copies: &mut CopyAssignments,
) -> bool {
    let Some((t, _)) =
        assignment(&list[k]).filter(|(t, _)| uses[t.0] == 2 && copies.from.contains(t))
    else {
        return false;
    };
    let plain =
        |s: &&EmitStmt| is_gone(s) || assignment(s).is_some_and(|(_, e)| *e != EmitExpr::Var(t));
    let end = k + 1 + list[k + 1..].iter().take_while(plain).count();
    let Some((v, EmitExpr::Var(_))) = list.get(end).and_then(assignment) else { return false };
    if list[k + 1..end].iter().any(|s| touches(s, v)) {
        return false;
    }
    let EmitStmt::Assign(pairs) = &mut list[k] else { return false };
    pairs[0].0 = v;
    copies.insert(&list[k]);
    take_out(&mut list[end]);
    uses[t.0] = 0;
    true
}

/// Coalesces `x = y; …; y = x`.
fn around(list: &mut [EmitStmt], k: usize, uses: &mut [u32], copies: &mut CopyAssignments) -> bool {
    let Some((x, EmitExpr::Var(y))) = assignment(&list[k]) else { return false };
    let (x, y) = (x, *y);
    if x == y || !copies.pairs.contains(&(y, x)) {
        return false;
    }
    let back = |s: &EmitStmt| assignment(s) == Some((y, &EmitExpr::Var(x)));
    let Some(end) = list[k + 1..].iter().position(back).map(|n| k + 1 + n) else { return false };
    let between = &list[k + 1..end];
    let mut inside = [0, 0];
    each_use(between, &mut |v| {
        inside[0] += u32::from(v == x);
        inside[1] += u32::from(v == y);
    });
    if inside[1] > 0 || inside[0] + 2 != uses[x.0] || leads_out(between, &mut Vec::new()) {
        return false;
    }
    rename(&mut list[k + 1..end], x, y);
    list[k + 1..end].iter().for_each(|s| copies.insert(s));
    take_out(&mut list[end]);
    take_out(&mut list[k]);
    uses[y.0] += inside[0];
    uses[y.0] -= 2;
    uses[x.0] = 0;
    true
}

fn assignment(s: &EmitStmt) -> Option<(Var, &EmitExpr)> {
    match s {
        EmitStmt::Assign(pairs) => match pairs.as_slice() {
            [(v, e)] => Some((*v, e)),
            _ => None,
        },
        _ => None,
    }
}

fn touches(s: &EmitStmt, v: Var) -> bool {
    s.writes().contains(&v) || mentions(s, v)
}

/// Returns true if a jump leaves a list; `inner` are the labels in it.
fn leads_out(list: &[EmitStmt], inner: &mut Vec<JumpLabel>) -> bool {
    list.iter().any(|s| match s {
        EmitStmt::Break(l) | EmitStmt::Continue(l) => !inner.contains(l),
        _ => {
            let label = match s {
                EmitStmt::Loop(l, _)
                | EmitStmt::While(l, ..)
                | EmitStmt::For(l, ..)
                | EmitStmt::Block(l, _) => Some(*l),
                _ => None,
            };
            inner.extend(label);
            s.parts().iter().any(|p| leads_out(p, inner))
        }
    })
}

fn rename(list: &mut [EmitStmt], x: Var, y: Var) {
    for s in list {
        s.each_var_mut(&mut |v| {
            if *v == x {
                *v = y;
            }
        });
        s.parts_mut().into_iter().for_each(|p| rename(p, x, y));
    }
}
