//! Recognition of `while` and `for` loops.

use crate::{
    entity::Block,
    ir::{Compare, Int2, Op},
};

use super::{
    ast::{EmitExpr, EmitStmt, ForRange, JumpLabel, Var, leaves, mentions},
    structure::Structurer,
};

/// Returns the statement for a loop whose head is `header`, and the statements that run as it is
/// left; the start of a counter is taken out of `before`.
pub(super) fn counted(
    w: &Structurer<'_>,
    header: Block,
    after: Option<Block>,
    label: JumpLabel,
    mut body: Vec<EmitStmt>,
    before: &mut Vec<EmitStmt>,
) -> (EmitStmt, Vec<EmitStmt>) {
    let leave = [EmitStmt::Break(label)];
    let last = leaving(&mut body, label);
    let (condition, mut body) = match body.as_mut_slice() {
        [EmitStmt::If(c, yes, no)] if *no == leave => (c.clone(), std::mem::take(yes)),
        [EmitStmt::If(c, yes, no)] if *yes == leave => (c.clone().not(), std::mem::take(no)),
        _ => return (EmitStmt::Loop(label, body), last),
    };
    let found = counter(w, header, after, &condition, &body, before, &last);
    let statement = match found.or_else(|| countdown(w, header, &condition, &body, before)) {
        Some(counter) => {
            drop_steps(&mut body, counter.var);
            EmitStmt::For(label, counter, body)
        }
        None => EmitStmt::While(label, condition, body),
    };
    (statement, last)
}

/// Takes out the statements that a loop which is left at its head only runs then:
///
/// ```text
/// loop { if c { x = y; break } … }        loop { if c { break } … } x = y
/// ```
fn leaving(body: &mut [EmitStmt], label: JumpLabel) -> Vec<EmitStmt> {
    let [EmitStmt::If(_, yes, no)] = body else { return vec![] };
    let at_head = |arm: &[EmitStmt], other: &[EmitStmt]| {
        arm.split_last()
            .is_some_and(|(end, rest)| *end == EmitStmt::Break(label) && !leaves(rest, label))
            && !leaves(other, label)
    };
    let arm = match (at_head(yes, no), at_head(no, yes)) {
        (true, _) => yes,
        (_, true) => no,
        _ => return vec![],
    };
    let end = arm.len() - 1;
    arm.drain(..end).collect()
}

/// Returns the range of a loop `while i < n { …; i += 1 }` whose `i` is not used afterwards.
fn counter(
    w: &Structurer<'_>,
    header: Block,
    after: Option<Block>,
    condition: &EmitExpr,
    body: &[EmitStmt],
    before: &mut Vec<EmitStmt>,
    last: &[EmitStmt],
) -> Option<ForRange> {
    let EmitExpr::Op(Op::CompareInt(compare @ (Compare::Lt | Compare::Le)), operands, _) =
        condition
    else {
        return None;
    };
    let [EmitExpr::Var(i), to] = operands.as_slice() else { return None };
    if w.flow.joins[header.index()] > 1 {
        return None;
    }
    let param = *w.f.blocks[header].params.iter().find(|p| w.var_of[p.index()] == Some(*i))?;
    let mut assigned = Vec::new();
    collect(body, &mut assigned);
    let steps = assigned.iter().filter(|(v, _)| v == i);
    let fixed = match to {
        EmitExpr::Int(_) => true,
        EmitExpr::Var(n) => assigned.iter().all(|(v, _)| v != n),
        _ => false,
    };
    if last.iter().any(|s| mentions(s, *i)) {
        return None;
    }
    if !fixed || !steps.clone().all(|(_, e)| is_step(e.as_ref(), *i)) || steps.count() == 0 {
        return None;
    }
    // It is not read after the loop.
    let inside = |b: &Block| w.flow.loops.get(&header).is_some_and(|l| l.contains(b));
    if w.readers[param.index()].iter().any(|b| !inside(b) && w.comes_after(after, *b)) {
        return None;
    }
    // Its start is among the assignments directly before the loop.
    let at = before.iter().rposition(|s| s.writes() == [*i])?;
    let EmitStmt::Assign(pairs) = &before[at] else { return None };
    let from = pairs[0].1.clone();
    // An array that it reads may be moved from there.
    let reads_array = of_array(&from);
    let quiet = before[at + 1..].iter().all(|s| {
        matches!(s, EmitStmt::Assign(_))
            && s.writes().iter().all(|v| !from.reads(*v) && to != &EmitExpr::Var(*v))
            && s.exprs().iter().all(|e| !e.reads(*i) && !reads_array)
    });
    if !quiet {
        return None;
    }
    before.remove(at);
    Some(ForRange { var: *i, from, to: to.clone(), inclusive: *compare == Compare::Le })
}

/// Returns the range of a loop `while k != 0 { …; k -= 1 }` in which `k` is not read, like the
/// adjoint of a counted loop. It must start at a non-negative number.
fn countdown(
    w: &Structurer<'_>,
    header: Block,
    condition: &EmitExpr,
    body: &[EmitStmt],
    before: &mut Vec<EmitStmt>,
) -> Option<ForRange> {
    let EmitExpr::Op(Op::CompareInt(Compare::Ne), operands, _) = condition else { return None };
    let [EmitExpr::Var(k), EmitExpr::Int(0)] = operands.as_slice() else { return None };
    let param = *w.f.blocks[header].params.iter().find(|p| w.var_of[p.index()] == Some(*k))?;
    let step = EmitExpr::Op(
        Op::Int2(Int2::Sub),
        vec![EmitExpr::Var(*k), EmitExpr::Int(1)],
        crate::ir::Kind::Int,
    );
    let mut assigned = Vec::new();
    collect(body, &mut assigned);
    let steps: Vec<_> = assigned.iter().filter(|(v, _)| v == k).collect();
    // One use is the comparison, the others are the steps.
    let uses = w.uses[param.index()] as usize;
    let only = !steps.is_empty()
        && steps.iter().all(|(_, e)| e.as_ref() == Some(&step))
        && uses == 1 + steps.len();
    if !only || w.flow.joins[header.index()] > 1 {
        return None;
    }
    let at = before.iter().rposition(|s| s.writes() == [*k])?;
    let EmitStmt::Assign(pairs) = &before[at] else { return None };
    let to = pairs[0].1.clone();
    let positive = match &to {
        EmitExpr::Int(n) => *n >= 0,
        EmitExpr::Op(Op::Int2(Int2::Max), args, _) => {
            args.iter().any(|a| matches!(a, EmitExpr::Int(n) if *n >= 0))
        }
        _ => false,
    };
    let quiet = before[at + 1..].iter().all(|s| {
        matches!(s, EmitStmt::Assign(_))
            && s.writes().iter().all(|v| !to.reads(*v))
            && !of_array(&to)
    });
    if !positive || !quiet {
        return None;
    }
    before.remove(at);
    Some(ForRange { var: *k, from: EmitExpr::Int(0), to, inclusive: false })
}

fn collect(list: &[EmitStmt], out: &mut Vec<(Var, Option<EmitExpr>)>) {
    for s in list {
        match s {
            EmitStmt::Assign(pairs) => out.extend(pairs.iter().map(|(v, e)| (*v, Some(e.clone())))),
            other => out.extend(other.writes().into_iter().map(|v| (v, None))),
        }
        s.parts().iter().for_each(|p| collect(p, out));
    }
}

/// Returns true if a number is read from an array, like its length.
fn of_array(e: &EmitExpr) -> bool {
    match e {
        EmitExpr::Op(op, args, _) => matches!(op, Op::Len | Op::Get) || args.iter().any(of_array),
        _ => false,
    }
}

/// Returns true if it is `i + 1`.
fn is_step(e: Option<&EmitExpr>, i: Var) -> bool {
    matches!(e, Some(EmitExpr::Op(Op::Int2(Int2::Add), args, _))
        if args.as_slice() == [EmitExpr::Var(i), EmitExpr::Int(1)] || args.as_slice() == [EmitExpr::Int(1), EmitExpr::Var(i)])
}

fn drop_steps(list: &mut Vec<EmitStmt>, i: Var) {
    for s in list.iter_mut() {
        if let EmitStmt::Assign(pairs) = s {
            pairs.retain(|p| p.0 != i);
        }
        s.parts_mut().into_iter().for_each(|p| drop_steps(p, i));
    }
    list.retain(|s| *s != EmitStmt::Assign(vec![]));
}
