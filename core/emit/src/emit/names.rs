//! Names of variables, for people.
//!
//! Parameters keep their names. The cotangent of a parameter `x` that a gradient returns is
//! `x_bar`, and so are the variables in which it is accumulated. Counters are `i`, `j`, `k`; the
//! others are named after their kind, `a` for numbers, `n` for integers, `z` for complex numbers,
//! `xs` for arrays, and numbered where needed.

use std::collections::{HashMap, HashSet};

use crate::ir::{Function, Kind, Op, Terminator};

use super::ast::{EmitStmt, StructuredBody, Var};

/// Words that are reserved in one of the output languages.
const WORDS: &[&str] = &[
    "abstract",
    "array",
    "as",
    "async",
    "await",
    "become",
    "bool",
    "box",
    "break",
    "complex",
    "const",
    "continue",
    "crate",
    "do",
    "dyn",
    "else",
    "enum",
    "extern",
    "false",
    "final",
    "fn",
    "for",
    "gen",
    "handle",
    "if",
    "impl",
    "in",
    "int",
    "len",
    "let",
    "log",
    "loop",
    "macro",
    "match",
    "mod",
    "move",
    "mut",
    "none",
    "override",
    "priv",
    "pub",
    "pullback",
    "pushforward",
    "real",
    "ref",
    "return",
    "rule",
    "select",
    "self",
    "Self",
    "static",
    "struct",
    "sum",
    "super",
    "tape",
    "top",
    "host",
    "trait",
    "true",
    "try",
    "type",
    "typeof",
    "union",
    "unsafe",
    "unsized",
    "use",
    "virtual",
    "where",
    "while",
    "yield",
    "f64",
    "i64",
    "vec",
    "scale",
    "guard",
    "asinh",
    "acosh",
    "atanh",
    "sign",
    "detach",
    "beyond",
    "cmp",
    "min",
    "max",
    "ratio",
    "erf",
    "erfc",
    "lgamma",
    "polygamma",
    "sigmoid",
    "softplus",
    "logaddexp",
    "fold_in",
    "rem",
    "peek",
    "put",
    "add_at",
    "accumulate",
    "pop",
    "push",
    "room",
    "at_full_length",
    "int_add",
    "int_sub",
    "int_mul",
    "int_neg",
    "int_div",
    "int_rem",
    "polar",
    "damp",
    "sign_of",
    "inverse_size",
    "Complex",
    "Array",
    "Number",
    "Tape",
    "Primitives",
    "Vec",
    "Option",
    "Default",
    "Copy",
    "From",
    "Fn",
    "usize",
    "std",
    "Some",
    "None",
    "Ok",
    "Err",
];

/// Returns a name made of letters, digits and underscores that is not a word of a language.
pub(super) fn identifier(name: &str) -> String {
    let mut out: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic()) {
        out.insert(0, 'v');
    }
    let op = Op::by_name(&out).is_some_and(|op| !matches!(op, Op::OnArrays(_)));
    if WORDS.contains(&out.as_str()) || op || out.starts_with("array_") {
        out.push('_');
    }
    out
}

/// Types and traits of Rust that every file knows, and crates.
const TYPES: &[&str] = &[
    "bool",
    "char",
    "str",
    "f32",
    "f64",
    "i8",
    "i16",
    "i32",
    "i64",
    "i128",
    "isize",
    "u8",
    "u16",
    "u32",
    "u64",
    "u128",
    "usize",
    "std",
    "core",
    "alloc",
    "Send",
    "Sized",
    "Sync",
    "Unpin",
    "Drop",
    "FnMut",
    "FnOnce",
    "Box",
    "ToOwned",
    "PartialOrd",
    "Eq",
    "Ord",
    "AsRef",
    "AsMut",
    "Into",
    "Iterator",
    "Extend",
    "IntoIterator",
    "DoubleEndedIterator",
    "ExactSizeIterator",
    "Result",
    "String",
    "ToString",
    "TryFrom",
    "TryInto",
    "FromIterator",
];

/// Returns a name for a struct: an identifier that is not a type, trait or crate of Rust, and not
/// in the texts that a file may hold.
pub(super) fn type_name(name: &str, texts: &[&str]) -> String {
    let mut out = identifier(name);
    // Single letters are type parameters, which shadow items of that name.
    let may_be_word = out.len() > 1 && out.starts_with(char::is_uppercase);
    let code = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| !line.trim_start().starts_with("//"));
    let mut words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    if TYPES.contains(&out.as_str()) || may_be_word && words.any(|word| word == out) {
        out.push('_');
    }
    out
}

/// Allocator of names.
#[derive(Clone, Debug, Default)]
pub(super) struct NameAllocator<'r> {
    /// Names that are reserved from the start, shared by all functions of a file.
    reserved: Option<&'r HashSet<String>>,
    taken: HashSet<String>,
    /// Number from which on a suffix of a base may be free.
    next: HashMap<String, usize>,
}

impl<'r> NameAllocator<'r> {
    /// Creates an allocator with reserved names.
    pub(super) fn beside(reserved: &'r HashSet<String>) -> NameAllocator<'r> {
        NameAllocator { reserved: Some(reserved), ..NameAllocator::default() }
    }

    fn is_free(&self, name: &str) -> bool {
        !self.taken.contains(name) && self.reserved.is_none_or(|reserved| !reserved.contains(name))
    }

    fn reserve(&mut self, name: &str) -> bool {
        self.is_free(name) && self.taken.insert(name.to_owned())
    }

    /// Allocates a name that is not taken: `base`, or `base2`, `base3`, …
    pub(super) fn fresh(&mut self, base: &str) -> String {
        if self.reserve(base) {
            return base.to_owned();
        }
        let digit = base.ends_with(|c: char| c.is_ascii_digit());
        let mut next = self.next.get(base).copied().unwrap_or(2);
        loop {
            let name = format!("{base}{}{next}", if digit { "_" } else { "" });
            next += 1;
            if self.reserve(&name) {
                self.next.insert(base.to_owned(), next);
                return name;
            }
        }
    }
}

/// Names all variables, with names that are not reserved.
pub(super) fn name(
    body: &mut StructuredBody,
    f: &Function,
    var_of: &[Option<Var>],
    reserved: &HashSet<String>,
) {
    let mut hints: Vec<Option<String>> = vec![None; body.vars.len()];
    let mut values: Vec<Option<String>> = vec![None; f.kinds.len()];
    bars(f, &mut values);
    for (v, hint) in values.into_iter().enumerate() {
        if let (Some(var), Some(hint)) = (var_of[v], hint) {
            hints[var.0].get_or_insert(hint);
        }
    }
    let mut counters = HashSet::new();
    body.each(&mut |s| {
        if let EmitStmt::For(_, c, _) = s {
            counters.insert(c.var);
        }
    });
    let mut taken = NameAllocator::beside(reserved);
    for (var, param) in body.params.iter().zip(&f.params) {
        body.vars[var.0].name = taken.fresh(&identifier(&param.name));
    }
    let mut order = Vec::new();
    body.each(&mut |s| {
        order.extend(s.writes());
    });
    for var in order {
        if !body.vars[var.0].name.is_empty() {
            continue;
        }
        let name = match &hints[var.0] {
            Some(hint) => taken.fresh(&identifier(hint)),
            None if counters.contains(&var) => {
                let free = ["i", "j", "k", "l"].into_iter().find(|n| taken.is_free(n));
                taken.fresh(free.unwrap_or("i"))
            }
            None => taken.fresh(letter(&body.vars[var.0].kind)),
        };
        body.vars[var.0].name = name;
    }
    // A variable that is read and never written is a value of a path that is never taken.
    for v in body.vars.iter_mut().filter(|v| v.name.is_empty()) {
        v.name = taken.fresh(letter(&v.kind));
    }
}

fn letter(kind: &Kind) -> &'static str {
    match kind {
        Kind::Real => "a",
        Kind::Complex => "z",
        Kind::Int => "n",
        Kind::Bool => "is",
        Kind::Handle => "h",
        Kind::Array(_) => "xs",
        Kind::Tuple(_) => "t",
    }
}

/// Names the cotangents that a gradient returns, and the variables in which they are accumulated.
fn bars(f: &Function, names: &mut [Option<String>]) {
    let derivative = [".gradient", ".pullback"].iter().any(|s| f.name.contains(s));
    if !derivative || f.name.contains("pushforward") {
        return;
    }
    let inputs: Vec<&str> = f
        .params
        .iter()
        .filter(|p| p.kind.is_differentiable() && p.name != "y_bar")
        .map(|p| p.name.as_str())
        .collect();
    let definitions = f.definitions();
    for block in f.blocks.values() {
        let Terminator::Return(v) = block.end else { continue };
        let Some(inst) = definitions[v.index()].map(|i| &f.insts[i]) else { continue };
        if inst.op != Op::Tuple || inst.args.len() != inputs.len() + 1 {
            continue;
        }
        names[inst.args[0].index()].get_or_insert("y".to_owned());
        for (&v, name) in inst.args[1..].iter().zip(&inputs) {
            names[v.index()].get_or_insert(format!("{name}_bar"));
        }
    }
    // Backwards along the edges, a few times: cotangents flow around nested loops.
    for _ in 0..4 {
        for target in f.blocks.values().rev().flat_map(|b| b.end.targets()) {
            for (&arg, param) in target.args.iter().zip(&f.blocks[target.block].params) {
                if let (None, Some(name)) = (&names[arg.index()], names[param.index()].clone()) {
                    names[arg.index()] = Some(name);
                }
            }
        }
    }
}
