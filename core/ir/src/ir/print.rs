//! Prints programs. [`parse`](super::parse()) is the inverse.

use std::fmt;

use crate::entity::{FuncId, PrimitiveId, Value};

use super::{
    function::{Function, InstData, Program, Target, Terminator},
    op::Op,
};

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for p in self.primitives.values() {
            let params: Vec<String> = p.params.iter().map(ToString::to_string).collect();
            write!(f, "primitive {}({}) -> {}", p.name, params.join(", "), p.result)?;
            if let Some(id) = p.pullback {
                write!(f, " pullback {}", primitive(self, id))?;
            }
            if let Some(id) = p.pushforward {
                write!(f, " pushforward {}", primitive(self, id))?;
            }
            writeln!(f)?;
        }
        for (k, (id, function)) in self.functions.iter().enumerate() {
            if k > 0 || !self.primitives.is_empty() {
                writeln!(f)?;
            }
            write(f, function, Some(self))?;
            if let Some(rule) = self.rule(id) {
                write!(f, "rule {}", named(Some(self), id))?;
                if let Some(g) = rule.pullback {
                    write!(f, " pullback {}", named(Some(self), g))?;
                }
                if let Some(g) = rule.pushforward {
                    write!(f, " pushforward {}", named(Some(self), g))?;
                }
                writeln!(
                    f,
                    "{}",
                    if rule.non_differentiable { " non_differentiable" } else { "" }
                )?;
            }
        }
        Ok(())
    }
}

/// Calls print with ids (`call fn2(v1)`); [`Program::print`] prints names.
impl fmt::Display for Function {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write(f, self, None)
    }
}

impl Program {
    /// Returns the text of one function, with the names of the functions it calls.
    #[must_use]
    pub fn print(&self, id: FuncId) -> String {
        struct PrintedFunction<'a>(&'a Program, &'a Function);
        impl fmt::Display for PrintedFunction<'_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write(f, self.1, Some(self.0))
            }
        }
        PrintedFunction(self, &self.functions[id]).to_string()
    }
}

fn write(
    f: &mut fmt::Formatter<'_>,
    function: &Function,
    program: Option<&Program>,
) -> fmt::Result {
    let params: Vec<&str> = function.params.iter().map(|p| p.name.as_str()).collect();
    write!(f, "fn {}({}) -> {}", function.name, params.join(", "), function.result)?;
    if !function.is_defined() {
        return writeln!(f, ";");
    }
    writeln!(f, " {{")?;
    for (b, block) in function.blocks.iter() {
        write!(f, "{b}")?;
        if !block.params.is_empty() {
            let params: Vec<String> = block.params.iter().map(|&v| defined(function, v)).collect();
            write!(f, "({})", params.join(", "))?;
        }
        writeln!(f, ":")?;
        for &i in &block.insts {
            let Some(inst) = function.insts.get(i) else {
                writeln!(f, "    {i}?")?;
                continue;
            };
            write!(f, "    {}", PrintedInst(function, inst, program))?;
            if inst.at.is_known() {
                write!(f, " @{}", inst.at)?;
            }
            writeln!(f)?;
        }
        write!(f, "    {}", block.end)?;
        if block.end_at.is_known() {
            write!(f, " @{}", block.end_at)?;
        }
        writeln!(f)?;
    }
    writeln!(f, "}}")
}

/// Formats the definition of a value: `v3: real`.
fn defined(function: &Function, v: Value) -> String {
    match function.kinds.get(v) {
        Some(kind) => format!("{v}: {kind}"),
        None => format!("{v}: ?"),
    }
}

/// Printed form of an instruction, without its position: `v3: real = mul v1, v2`.
pub(super) struct PrintedInst<'a>(pub &'a Function, pub &'a InstData, pub Option<&'a Program>);

impl fmt::Display for PrintedInst<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PrintedInst(function, inst, program) = *self;
        if let Some(v) = inst.result {
            write!(f, "{} = ", defined(function, v))?;
        }
        match inst.op {
            Op::Call(g) => write!(f, "call {}({})", named(program, g), list(&inst.args)),
            Op::Primitive(g) => {
                let named = program.map_or_else(|| g.to_string(), |p| primitive(p, g));
                write!(f, "primitive {named}({})", list(&inst.args))
            }
            op if inst.args.is_empty() => write!(f, "{op}"),
            op => write!(f, "{op} {}", list(&inst.args)),
        }
    }
}

/// Returns the name of a function, `@f`, or its number, `fn2`, if its name is that of another one
/// or is unknown.
fn named(program: Option<&Program>, g: FuncId) -> String {
    let name = program.and_then(|p| {
        let name = &p.functions.get(g)?.name;
        (p.lookup(name) == Some(g)).then(|| format!("@{name}"))
    });
    name.unwrap_or_else(|| g.to_string())
}

/// Returns the name of a primitive, or its number; of several of one name the first has the name.
fn primitive(program: &Program, g: PrimitiveId) -> String {
    let name = program.primitives.get(g).map(|p| &p.name);
    let name = name.filter(|name| program.lookup_primitive(name) == Some(g));
    name.map_or_else(|| g.to_string(), |name| format!("@{name}"))
}

impl fmt::Display for Terminator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Terminator::Open => write!(f, "open"),
            Terminator::Jump(t) => write!(f, "jump {}", PrintedTarget(t)),
            Terminator::Branch(c, a, b) => {
                write!(f, "branch {c}, {}, {}", PrintedTarget(a), PrintedTarget(b))
            }
            Terminator::Switch(i, targets) => {
                let targets: Vec<String> =
                    targets.iter().map(|t| PrintedTarget(t).to_string()).collect();
                write!(f, "switch {i}, {}", targets.join(", "))
            }
            Terminator::Return(v) => write!(f, "return {v}"),
        }
    }
}

struct PrintedTarget<'a>(&'a Target);
impl fmt::Display for PrintedTarget<'_> {
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
