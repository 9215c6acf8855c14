//! Prints programs. [`parse`](super::parse()) is the inverse.

use std::fmt;

use crate::entity::Value;

use super::{
    function::{Function, Program, Target, Terminator},
    op::Op,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for p in self.primitives.values() {
            let params: Vec<String> = p.params.iter().map(ToString::to_string).collect();
            write!(f, "primitive {}({}) -> {}", p.name, params.join(", "), p.result)?;
            if let Some(id) = p.pullback {
                write!(f, " pullback @{}", self.primitives[id].name)?;
            }
            if let Some(id) = p.pushforward {
                write!(f, " pushforward @{}", self.primitives[id].name)?;
            }
            writeln!(f)?;
        }
        for (k, (id, function)) in self.functions.iter().enumerate() {
            if k > 0 || !self.primitives.is_empty() {
                writeln!(f)?;
            }
            write(f, function, Some(self))?;
            if let Some(rule) = self.rule(id) {
                write!(f, "rule @{}", function.name)?;
                if let Some(g) = rule.pullback {
                    write!(f, " pullback @{}", self.functions[g].name)?;
                }
                if let Some(g) = rule.pushforward {
                    write!(f, " pushforward @{}", self.functions[g].name)?;
                }
                writeln!(f, "{}", if rule.non_differentiable { " non_differentiable" } else { "" })?;
            }
        }
        Ok(())
    }
}

/// Calls print with ids (`call fn2`) where the program is not at hand; [`Program::print`] prints names.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self, None)
    }
}

impl Program {
    /// The text of one function, with the names of the functions it calls.
    #[must_use]
    pub fn print(&self, id: crate::entity::FuncId) -> String {
        struct Named<'a>(&'a Program, &'a Function);
        impl fmt::Display for Named<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.1, Some(self.0))
            }
        }
        Named(self, &self.functions[id]).to_string()
    }
}

fn write(f: &mut fmt::Formatter<'_>, function: &Function, program: Option<&Program>) -> fmt::Result {
    let params: Vec<&str> = function.params.iter().map(|p| p.name.as_str()).collect();
    write!(f, "fn {}({}) -> {}", function.name, params.join(", "), function.result)?;
    if !function.is_defined() {
        return writeln!(f, ";");
    }
    writeln!(f, " {{")?;
    for (b, block) in function.blocks.iter() {
        write!(f, "{b}")?;
        if !block.params.is_empty() {
            let params: Vec<String> =
                block.params.iter().map(|&v| format!("{v}: {}", function.kinds[v])).collect();
            write!(f, "({})", params.join(", "))?;
        }
        writeln!(f, ":")?;
        for &i in &block.insts {
            let inst = &function.insts[i];
            f.write_str("    ")?;
            if let Some(v) = inst.result {
                write!(f, "{v}: {} = ", function.kinds[v])?;
            }
            match (inst.op, program) {
                (Op::Call(g), Some(p)) => {
                    write!(f, "call @{}({})", p.functions[g].name, list(&inst.args))?;
                }
                (Op::Call(g), None) => write!(f, "call {g}({})", list(&inst.args))?,
                (Op::Primitive(g), Some(p)) => {
                    write!(f, "primitive @{}({})", p.primitives[g].name, list(&inst.args))?;
                }
                (Op::Primitive(g), None) => write!(f, "primitive {g}({})", list(&inst.args))?,
                (op, _) if inst.args.is_empty() => write!(f, "{op}")?,
                (op, _) => write!(f, "{op} {}", list(&inst.args))?,
            }
            if inst.at.is_known() {
                write!(f, " @{}", inst.at)?;
            }
            writeln!(f)?;
        }
        match &block.end {
            Terminator::Open => write!(f, "    open")?,
            Terminator::Jump(t) => write!(f, "    jump {}", Shown(t))?,
            Terminator::Branch(c, a, b) => write!(f, "    branch {c}, {}, {}", Shown(a), Shown(b))?,
            Terminator::Switch(i, targets) => {
                let targets: Vec<String> = targets.iter().map(|t| Shown(t).to_string()).collect();
                write!(f, "    switch {i}, {}", targets.join(", "))?;
            }
            Terminator::Return(v) => write!(f, "    return {v}")?,
        }
        if block.end_at.is_known() {
            write!(f, " @{}", block.end_at)?;
        }
        writeln!(f)?;
    }
    writeln!(f, "}}")
}

struct Shown<'a>(&'a Target);
impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.args.as_slice() {
            [] => write!(f, "{}", self.0.block),
            args => write!(f, "{}({})", self.0.block, list(args)),
        }
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
