//! Small rewrites of structured statements that keep their meaning.
//!
//! ```text
//! if c { } else { … }            ->  if !c { … }
//! if c { …; break } else { … }   ->  if c { …; break } …
//! …; break 'a } (end of 'a)      ->  … }
//! ```

use super::ast::{EmitExpr, EmitStmt, JumpLabel, diverge};

pub(super) fn tidy(list: &mut Vec<EmitStmt>) {
    for s in list.iter_mut() {
        s.parts_mut().into_iter().for_each(tidy);
        if let EmitStmt::If(c, yes, no) = s
            && yes.is_empty()
        {
            let condition = std::mem::replace(c, EmitExpr::Bool(true)).not();
            *s = EmitStmt::If(condition, std::mem::take(no), vec![]);
        }
    }
    // The code after an arm that diverges needs no `else`.
    let mut k = 0;
    while k < list.len() {
        if let EmitStmt::If(c, yes, no) = &mut list[k]
            && !no.is_empty()
        {
            let rest = if diverge(yes) {
                std::mem::take(no)
            } else if diverge(no) {
                let condition = std::mem::replace(c, EmitExpr::Bool(true)).not();
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
        if let EmitStmt::Loop(label, body)
        | EmitStmt::While(label, _, body)
        | EmitStmt::For(label, _, body) = s
            && body.last() == Some(&EmitStmt::Continue(*label))
        {
            body.pop();
        }
    }
}

/// Returns true if a jump to the label is inside another loop or block, so that it has to be named.
pub(super) fn is_named(body: &[EmitStmt], label: JumpLabel) -> bool {
    fn walk(list: &[EmitStmt], label: JumpLabel, inner: bool) -> bool {
        list.iter().any(|s| match s {
            EmitStmt::Break(l) | EmitStmt::Continue(l) => inner && *l == label,
            EmitStmt::Loop(..) | EmitStmt::While(..) | EmitStmt::For(..) | EmitStmt::Block(..) => {
                s.parts().iter().any(|p| walk(p, label, true))
            }
            _ => s.parts().iter().any(|p| walk(p, label, inner)),
        })
    }
    walk(body, label, false)
}
