//! One variable in place of two that hand a value to each other.
//!
//! ```text
//! t = e; v = t                          ->  v = e                     if nobody else reads t
//! x = y; …x…; y = x                     ->  …y…                       if nobody else reads x, nor … y
//! ```
//!
//! The first is what a loop does at its end, the second what a loop in a loop does around itself. Both are left
//! over from block parameters. Without them arrays stay where they are, and `y = y + x` can be `y += x`.
//!
//! Invariant: no jump leads out of what stands between the two assignments of the second form, so nobody sees
//! `y` change early. Cost: O(size x pairs of such assignments).

use super::ast::{Body, Expr, Label, Stmt, Var, mentions};

/// Merges variables.
pub(super) fn coalesce(body: &mut Body) {
    let mut list = std::mem::take(&mut body.statements);
    let mut uses = vec![0; body.vars.len()];
    count(&list, &mut uses);
    merge(&mut list, &mut uses);
    body.statements = list;
}

/// How often each variable is read or written.
fn count(list: &[Stmt], uses: &mut [u32]) {
    for s in list {
        s.writes().into_iter().for_each(|v| uses[v.0] += 1);
        s.exprs().into_iter().for_each(|e| e.each_var(&mut |v| uses[v.0] += 1));
        s.parts().into_iter().for_each(|p| count(p, uses));
    }
}

fn merge(list: &mut Vec<Stmt>, uses: &mut [u32]) {
    for s in list.iter_mut() {
        s.parts_mut().into_iter().for_each(|p| merge(p, uses));
    }
    let mut k = 0;
    while k < list.len() {
        if !(handed_on(list, k, uses) || around(list, k, uses)) {
            k += 1;
        }
    }
}

/// `t = e; …; v = t`, where nothing but plain assignments stands between.
fn handed_on(list: &mut Vec<Stmt>, k: usize, uses: &mut [u32]) -> bool {
    let Some((t, _)) = assignment(&list[k]).filter(|(t, _)| uses[t.0] == 2) else { return false };
    let rest = list[k + 1..].iter();
    let end = k + 1 + rest.take_while(|s| assignment(s).is_some_and(|(_, e)| *e != Expr::Var(t))).count();
    let Some((v, Expr::Var(_))) = list.get(end).and_then(assignment) else { return false };
    if list[k + 1..end].iter().any(|s| touches(s, v)) {
        return false;
    }
    let Stmt::Assign(pairs) = &mut list[k] else { return false };
    pairs[0].0 = v;
    list.remove(end);
    uses[t.0] = 0;
    true
}

/// `x = y; …; y = x`.
fn around(list: &mut Vec<Stmt>, k: usize, uses: &mut [u32]) -> bool {
    let Some((x, Expr::Var(y))) = assignment(&list[k]) else { return false };
    let (x, y) = (x, *y);
    if x == y {
        return false;
    }
    let back = |s: &Stmt| assignment(s) == Some((y, &Expr::Var(x)));
    let Some(end) = list[k + 1..].iter().position(back).map(|n| k + 1 + n) else { return false };
    let between = &list[k + 1..end];
    let mut inside = vec![0; uses.len()];
    count(between, &mut inside);
    if inside[y.0] > 0 || inside[x.0] + 2 != uses[x.0] || leads_out(between, &mut Vec::new()) {
        return false;
    }
    rename(&mut list[k + 1..end], x, y);
    list.remove(end);
    list.remove(k);
    uses[y.0] += inside[x.0];
    uses[y.0] -= 2;
    uses[x.0] = 0;
    true
}

fn assignment(s: &Stmt) -> Option<(Var, &Expr)> {
    match s {
        Stmt::Assign(pairs) => match pairs.as_slice() {
            [(v, e)] => Some((*v, e)),
            _ => None,
        },
        _ => None,
    }
}

fn touches(s: &Stmt, v: Var) -> bool {
    s.writes().contains(&v) || mentions(s, v)
}

/// Whether a jump leaves a list; `inner` are the labels in it.
fn leads_out(list: &[Stmt], inner: &mut Vec<Label>) -> bool {
    list.iter().any(|s| match s {
        Stmt::Break(l) | Stmt::Continue(l) => !inner.contains(l),
        _ => {
            let label = match s {
                Stmt::Loop(l, _) | Stmt::While(l, ..) | Stmt::For(l, ..) | Stmt::Block(l, _) => Some(*l),
                _ => None,
            };
            inner.extend(label);
            s.parts().iter().any(|p| leads_out(p, inner))
        }
    })
}

fn rename(list: &mut [Stmt], x: Var, y: Var) {
    for s in list {
        s.each_var_mut(&mut |v| {
            if *v == x {
                *v = y;
            }
        });
        s.parts_mut().into_iter().for_each(|p| rename(p, x, y));
    }
}
