//! Small rewrites of structured statements that keep their meaning.
//!
//! ```text
//! if c { } else { … }            ->  if !c { … }
//! if c { …; break } else { … }   ->  if c { …; break } …
//! …; break 'a } (end of 'a)      ->  … }
//! ```

use super::ast::{Expr, Label, Stmt, diverge};

pub(super) fn tidy(list: &mut Vec<Stmt>) {
    for s in list.iter_mut() {
        s.parts_mut().into_iter().for_each(tidy);
        if let Stmt::If(c, yes, no) = s
            && yes.is_empty()
        {
            let condition = std::mem::replace(c, Expr::Bool(true)).not();
            *s = Stmt::If(condition, std::mem::take(no), vec![]);
        }
    }
    // The code after an arm that diverges needs no `else`.
    let mut k = 0;
    while k < list.len() {
        if let Stmt::If(c, yes, no) = &mut list[k]
            && !no.is_empty()
        {
            let rest = if diverge(yes) {
                std::mem::take(no)
            } else if diverge(no) {
                let condition = std::mem::replace(c, Expr::Bool(true)).not();
                *c = condition;
                std::mem::swap(yes, no);
                std::mem::take(no)
            } else {
                vec![]
            };
            list.splice(k + 1..k + 1, rest);
        }
        k += 1;
    }
    for s in list.iter_mut() {
        if let Stmt::Loop(label, body) | Stmt::While(label, _, body) | Stmt::For(label, _, body) = s
            && body.last() == Some(&Stmt::Continue(*label))
        {
            body.pop();
        }
    }
}

/// Returns true if a jump to the label is inside another loop or block, so that it has to be named.
pub(super) fn is_named(body: &[Stmt], label: Label) -> bool {
    fn walk(list: &[Stmt], label: Label, inner: bool) -> bool {
        list.iter().any(|s| match s {
            Stmt::Break(l) | Stmt::Continue(l) => inner && *l == label,
            Stmt::Loop(..) | Stmt::While(..) | Stmt::For(..) | Stmt::Block(..) => {
                s.parts().iter().any(|p| walk(p, label, true))
            }
            _ => s.parts().iter().any(|p| walk(p, label, inner)),
        })
    }
    walk(body, label, false)
}
