//! Graph of a function, for Graphviz.
//!
//! One box for each block, with its instructions; dashed arrows are control, with the condition
//! that takes them, solid arrows are values that go from where they are computed to where they are
//! used.

use std::fmt::Write;

use crate::{
    entity::{FuncId, Value},
    ir::{Function, Op, Program, Terminator, verify_reachable},
};

/// Returns the control-flow and data-flow graph of a function as a `digraph`; for a program that is
/// not well formed one box with the violation.
///
/// ```
/// use ketgrad_core::{emit::emit_dot, text::parse_program};
///
/// let program = parse_program("fn f(a, b) { a * sin(b) }")?;
/// let f = program.lookup("f").ok_or("no function")?;
/// let dot = emit_dot(&program, f);
/// assert!(dot.contains("v2 [label=\"sin\"]") && dot.contains("v1 -> v2;"), "{dot}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn emit_dot(program: &Program, function: FuncId) -> String {
    if let Err(violation) = verify_reachable(program, function) {
        return format!(
            "digraph \"{function}\" {{\n    \"{}\" [shape=box];\n}}\n",
            quoted(&violation.to_string())
        );
    }
    let f = &program.functions[function];
    let mut out = format!(
        "digraph \"{}\" {{\n    compound=true;\n    node [shape=box, fontname=\"monospace\"];\n",
        quoted(&f.name)
    );
    for (b, block) in f.blocks.iter() {
        let _ = writeln!(out, "    subgraph cluster_{b} {{\n        label=\"{b}\";");
        for (k, &v) in block.params.iter().enumerate() {
            let name = f
                .params
                .get(k)
                .filter(|_| b.index() == 0)
                .map_or(v.to_string(), |p| p.name.clone());
            let _ = writeln!(
                out,
                "        {v} [label=\"{}: {}\", shape=ellipse];",
                quoted(&name),
                quoted(&f.kinds[v].to_string())
            );
        }
        for &i in &block.insts {
            let node = f.insts[i].result.map_or(i.to_string(), |v| v.to_string());
            let _ = writeln!(
                out,
                "        {node} [label=\"{}\"];",
                quoted(&label(program, f.insts[i].op))
            );
        }
        let end = match &block.end {
            Terminator::Return(_) => "return",
            Terminator::Branch(..) => "branch",
            Terminator::Switch(..) => "switch",
            Terminator::Jump(_) => "jump",
            Terminator::Open => "open",
        };
        let _ = writeln!(out, "        {b}_end [label=\"{end}\", shape=plaintext];\n    }}");
    }
    arrows(f, &mut out);
    out.push_str("}\n");
    out
}

fn arrows(f: &Function, out: &mut String) {
    for (b, block) in f.blocks.iter() {
        for &i in &block.insts {
            let node = f.insts[i].result.map_or(i.to_string(), |v| v.to_string());
            for v in &f.insts[i].args {
                let _ = writeln!(out, "    {v} -> {node};");
            }
        }
        let value = |out: &mut String, v: Value| {
            let _ = writeln!(out, "    {v} -> {b}_end;");
        };
        block.end.operand().into_iter().for_each(|v| value(out, v));
        for (k, target) in block.end.targets().into_iter().enumerate() {
            for (v, p) in target.args.iter().zip(&f.blocks[target.block].params) {
                let _ = writeln!(out, "    {v} -> {p} [color=gray];");
            }
            let when = match (&block.end, k) {
                (Terminator::Branch(..), 0) => "true".to_owned(),
                (Terminator::Branch(..), _) => "false".to_owned(),
                (Terminator::Switch(..), k) => k.to_string(),
                _ => String::new(),
            };
            let _ = writeln!(
                out,
                "    {b}_end -> {0}_end [lhead=cluster_{0}, style=dashed, label=\"{when}\"];",
                target.block
            );
        }
    }
}

fn label(program: &Program, op: Op) -> String {
    match op {
        Op::Call(g) => format!("call {}", program.functions[g].name),
        Op::Primitive(p) => format!("primitive {}", program.primitives[p].name),
        op => op.to_string(),
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}
