//! Rust emitter.
//!
//! The file is self-contained, or part of a module by `include!`: no dependencies, edition 2021 or
//! later. Its functions compute, to the last bit, the results of the executor over `f64`, and panic
//! where it returns an error; limits are not checked. (A library function of a constant argument
//! may be computed by the compiler, which can differ in the last bit; operations on whole arrays
//! add in another order and compute functions element by element, which can differ in the last
//! bits.)
//!
//! | kind | Rust |
//! |---|---|
//! | real, int, bool, handle | `f64`, `i64`, `bool`, `u32` |
//! | complex | `Complex`, defined in the file |
//! | array | `Vec<f64>`; as a parameter `&[f64]`; where a function of the file does something with arrays as wholes, `Array<f64>`, defined in the file, with a shape |
//! | tuple, struct | tuple, struct; the tangent of a struct with fewer fields is a struct of its own |
//!
//! **Tapes.** The records of a primal go to a `Tape`, a struct of vectors. A function that was
//! asked for, and both records and reads, makes its own. Others take `tape: &mut Tape`: call
//! `f_primal(&mut tape, …)`, then `f_adjoint(&mut tape, y_bar)`, which leaves the tape as it was.
//!
//! **Primitives** become methods of a trait, `Primitives`, that the user implements; functions that
//! need them take `host: &impl Primitives`. **Rules** are ordinary functions.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    fmt::Write,
    rc::Rc,
    sync::Arc,
};

use crate::{
    entity::{FuncId, PrimitiveId},
    ir::{Element, Field, Function, Kind, Op, Program, TupleKind},
};

use super::{
    EmitError,
    ast::{EmitStmt, StructuredBody, Var},
    check, exits,
    names::{NameAllocator, identifier, type_name},
    rust_arrays,
    rust_stmt::{OWN_NAMES, RustWriter},
    structure::structured,
};

/// Lints of the compiler that emitted code may trigger.
const ALLOWED: &str =
    "#[allow(unused_assignments, unused_mut, unused_parens, unused_variables, nonstandard_style)]";

/// Support functions that an emitted file may need, each with its name.
const NUMBERS: [&str; 4] = [
    include_str!("support/numbers.rs"),
    crate::scalar::SPECIAL_SOURCE,
    include_str!("support/error_functions.rs"),
    crate::scalar::RANDOM_SOURCE,
];
/// Complex numbers.
const COMPLEX: &str = include_str!("support/complex.rs");

/// Emits Rust for the given functions and all they call.
///
/// ```
/// use ketgrad_core::{emit::emit_rust, text::parse_program};
///
/// let program = parse_program("fn f(a, b) { a / (1 + b * b) }")?;
/// let f = program.lookup("f").ok_or("no function")?;
/// assert!(emit_rust(&program, &[f])?.ends_with("pub fn f(a: f64, b: f64) -> f64 {\n    a / (1.0 + b * b)\n}\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a function has no body, or its control flow has no structured form.
pub fn emit_rust(program: &Program, roots: &[FuncId]) -> Result<String, EmitError> {
    roots.iter().try_for_each(|&f| check(program, f))?;
    let mut file = RustFile::new(program, roots);
    let mut functions = String::new();
    for &f in &file.order.clone() {
        let body = structured(&program.functions[f], &file.reserved)?;
        let text = file.function(f, &body);
        let _ = write!(functions, "\n{text}");
    }
    Ok(file.finish(&functions))
}

/// Extra parameters of a function besides its arguments.
#[derive(Clone, Default, PartialEq)]
struct ExtraParameters {
    pushes: BTreeSet<u32>,
    pops: BTreeSet<u32>,
    host: bool,
}

/// Layout of a tuple or a struct in Rust.
#[derive(Clone)]
pub(super) struct WrittenTuple {
    /// Owner of the kind, which keeps its address valid.
    _kind: Arc<TupleKind>,
    /// The name of a struct.
    name: Option<String>,
    /// Names of its fields.
    pub(super) fields: Rc<[String]>,
}

pub(super) struct RustFile<'a> {
    pub(super) program: &'a Program,
    order: Vec<FuncId>,
    roots: Vec<FuncId>,
    names: HashMap<FuncId, String>,
    needs: HashMap<FuncId, ExtraParameters>,
    called: HashSet<FuncId>,
    pub(super) structs: HashMap<Arc<TupleKind>, String>,
    struct_names: HashSet<String>,
    /// Layouts of tuples seen so far, by their addresses: comparing two takes time proportional to
    /// their fields.
    layouts: HashMap<*const TupleKind, WrittenTuple>,
    reserved: HashSet<String>,
    many_tapes: bool,
    pub(super) primitives: BTreeMap<usize, PrimitiveId>,
    /// The fields of the tape.
    pub(super) tape: BTreeSet<&'static str>,
    pub(super) complex: bool,
    /// True if arrays have shapes.
    pub(super) shaped: bool,
}

impl<'a> RustFile<'a> {
    fn new(program: &'a Program, roots: &[FuncId]) -> RustFile<'a> {
        let mut seen = HashSet::new();
        let mut order: Vec<FuncId> = roots.iter().copied().filter(|f| seen.insert(*f)).collect();
        let roots = order.clone();
        let mut called = HashSet::new();
        let mut next = 0;
        while let Some(&f) = order.get(next) {
            next += 1;
            for g in program.functions[f].callees() {
                called.insert(g);
                if seen.insert(g) {
                    order.push(g);
                }
            }
        }
        let shaped = order.iter().any(|&f| rust_arrays::is_shaped(&program.functions[f]));
        let mut reserved: HashSet<String> =
            TAPE_FIELDS.iter().map(|field| format!("kept_{field}")).collect();
        reserved.extend(OWN_NAMES.map(str::to_owned));
        let mut taken = NameAllocator::beside(&reserved);
        let names =
            order.iter().map(|&f| (f, taken.fresh(&identifier(&program.functions[f].name))));
        let names: HashMap<FuncId, String> = names.collect();
        reserved.extend(names.values().cloned());
        let needs = needs(program, &order);
        let levels: BTreeSet<u32> =
            needs.values().flat_map(|n| n.pushes.iter().chain(&n.pops)).copied().collect();
        let many_tapes = levels.len() > 1;
        for l in &levels {
            reserved.insert(format!("tape{l}"));
            reserved.extend(TAPE_FIELDS.iter().map(|field| format!("kept_{field}{l}")));
        }
        RustFile {
            program,
            order,
            roots,
            names,
            needs,
            called,
            structs: HashMap::new(),
            struct_names: HashSet::new(),
            layouts: HashMap::new(),
            reserved,
            many_tapes,
            primitives: BTreeMap::new(),
            tape: BTreeSet::new(),
            complex: false,
            shaped,
        }
    }

    fn finish(&self, functions: &str) -> String {
        let mut out = String::from("// Written by ketgrad. Edition 2021 or later.\n");
        let mut structs: Vec<_> = self.structs.iter().collect();
        structs.sort_by_key(|s| s.1);
        let mut scratch = RustFile {
            complex: self.complex,
            shaped: self.shaped,
            ..RustFile::new(self.program, &[])
        };
        scratch.structs.clone_from(&self.structs);
        for (kind, name) in structs {
            let copy = if kind.fields.iter().any(|f| super::ast::holds_array(&f.kind)) {
                ""
            } else {
                "Copy, "
            };
            let _ = write!(
                out,
                "\n#[derive(Clone, {copy}Debug, Default, PartialEq)]\n#[allow(nonstandard_style)]\npub struct {name} {{\n"
            );
            for (field, name) in kind.fields.iter().zip(field_names(&kind.fields)) {
                let _ = writeln!(out, "    pub {name}: {},", scratch.kind(&field.kind));
            }
            out.push_str("}\n");
        }
        if !self.primitives.is_empty() {
            out.push_str("\n/// What the program calls and cannot compute itself.\n#[allow(nonstandard_style)]\npub trait Primitives {\n");
            for &id in self.primitives.values() {
                let p = &self.program.primitives[id];
                let params = p
                    .params
                    .iter()
                    .enumerate()
                    .map(|(k, kind)| format!("a{k}: {}", scratch.param(kind)));
                let params: Vec<String> =
                    std::iter::once("&self".to_owned()).chain(params).collect();
                let (name, result) = (identifier(&p.name), scratch.kind(&p.result));
                let _ = writeln!(out, "    fn {name}({}) -> {result};", params.join(", "));
            }
            out.push_str("}\n");
        }
        if !self.tape.is_empty() {
            out.push_str("\n/// Record of a primal for its adjoint.\n#[derive(Clone, Debug, Default)]\npub struct Tape {\n");
            for field in &self.tape {
                let _ = writeln!(out, "    {field}: {},", self.tape_type(field));
            }
            out.push_str("}\n");
        }
        out.push_str(functions);
        let arrays = if self.shaped {
            rust_arrays::support(functions, self.complex || scratch.complex)
        } else {
            String::new()
        };
        let functions = &format!("{functions}{arrays}");
        out.push_str(&arrays);
        for helper in NUMBERS.iter().flat_map(|text| text.split("//-\n")) {
            let name = helper
                .split("fn ")
                .nth(1)
                .and_then(|s| s.split(['(', '<']).next())
                .unwrap_or_default();
            if calls(functions, name) {
                let _ = write!(out, "\n{helper}");
            }
        }
        if self.complex || scratch.complex {
            let _ = write!(out, "\n{COMPLEX}");
        }
        out
    }

    /// Returns the name of a function in the file.
    pub(super) fn name(&self, f: FuncId) -> &str {
        self.names.get(&f).map_or("", String::as_str)
    }

    /// Returns the tapes and the host that a call of `f` passes.
    pub(super) fn extras(&self, f: FuncId) -> Vec<String> {
        let Some(needs) = self.needs.get(&f) else { return vec![] };
        let owned = self.owned(f);
        let levels: BTreeSet<u32> = needs.pushes.union(&needs.pops).copied().collect();
        let mut extras: Vec<String> = needs.host.then(|| "host".to_owned()).into_iter().collect();
        extras.extend(levels.difference(&owned).map(|l| self.tape_name(*l)));
        extras
    }

    /// Returns the tapes that a function makes itself.
    fn owned(&self, f: FuncId) -> BTreeSet<u32> {
        match self.needs.get(&f) {
            Some(n) if self.roots.contains(&f) && !self.called.contains(&f) => {
                n.pushes.intersection(&n.pops).copied().collect()
            }
            _ => BTreeSet::new(),
        }
    }

    pub(super) fn tape_name(&self, level: u32) -> String {
        if self.many_tapes { format!("tape{level}") } else { "tape".to_owned() }
    }

    /// Returns the name of a loop's slice of a vector of a tape.
    pub(super) fn room_name(&self, level: u32, field: &str) -> String {
        if self.many_tapes { format!("kept_{field}{level}") } else { format!("kept_{field}") }
    }

    fn function(&mut self, f: FuncId, body: &StructuredBody) -> String {
        let function = &self.program.functions[f];
        let mut params: Vec<String> = Vec::new();
        for extra in self.extras(f) {
            params.push(if extra == "host" {
                "host: &impl Primitives".to_owned()
            } else {
                format!("{extra}: &mut Tape")
            });
        }
        for (var, param) in body.params.iter().zip(&function.params) {
            params.push(format!("{}: {}", body.vars[var.0].name, self.param(&param.kind)));
        }
        let public = if self.roots.contains(&f) { "pub " } else { "" };
        let (name, result) = (self.name(f).to_owned(), self.kind(&function.result));
        let mut w = RustWriter {
            file: self,
            body,
            out: String::new(),
            depth: 1,
            breakable: vec![],
            rooms: vec![],
            untyped: HashSet::new(),
            lengths: vec![],
            cotangents: if public.is_empty() { vec![] } else { cotangents(function, body) },
        };
        let _ = writeln!(w.out, "{ALLOWED}");
        let _ = writeln!(w.out, "{public}fn {name}({}) -> {result} {{", params.join(", "));
        for level in w.file.owned(f) {
            let tape = w.file.tape_name(level);
            w.line(&format!("let {tape} = &mut Tape::default();"));
        }
        w.remember_lengths();
        match body.statements.split_last() {
            Some((EmitStmt::Return(value), rest)) => {
                w.list(rest);
                let value = w.result(value);
                w.line(&value);
            }
            _ => w.list(&body.statements),
        }
        w.out.push_str("}\n");
        w.out
    }

    /// Returns the type of a value.
    pub(super) fn kind(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Real => "f64".into(),
            Kind::Complex => {
                self.complex = true;
                "Complex".into()
            }
            Kind::Int => "i64".into(),
            Kind::Bool => "bool".into(),
            Kind::Handle => "u32".into(),
            Kind::Array(e) => format!("{}<{}>", self.array(), self.kind(&e.kind())),
            Kind::Tuple(t) if t.name.is_some() => self.structure(t),
            Kind::Tuple(t) => {
                let fields: Vec<String> = t.fields.iter().map(|f| self.kind(&f.kind)).collect();
                if fields.len() == 1 {
                    format!("({},)", fields[0])
                } else {
                    format!("({})", fields.join(", "))
                }
            }
        }
    }

    /// Returns the type of arrays.
    fn array(&self) -> &'static str {
        if self.shaped { "Array" } else { "Vec" }
    }

    /// Returns the prefix of the names of the functions that change arrays.
    pub(super) fn prefix(&self) -> &'static str {
        if self.shaped { "array_" } else { "" }
    }

    /// Returns the type of a vector of the tape.
    fn tape_type(&self, field: &str) -> String {
        match field.strip_suffix("_arrays") {
            Some("complex") => format!("Vec<{}<Complex>>", self.array()),
            Some("int") => format!("Vec<{}<i64>>", self.array()),
            Some(_) => format!("Vec<{}<f64>>", self.array()),
            None => match field {
                "complexes" => "Vec<Complex>",
                "ints" => "Vec<i64>",
                "bools" => "Vec<bool>",
                "handles" => "Vec<u32>",
                _ => "Vec<f64>",
            }
            .to_owned(),
        }
    }

    fn param(&mut self, kind: &Kind) -> String {
        match kind {
            Kind::Array(e) if self.shaped => format!("&Array<{}>", self.kind(&e.kind())),
            Kind::Array(e) => format!("&[{}]", self.kind(&e.kind())),
            other => self.kind(other),
        }
    }

    /// Returns the layout of a tuple or a struct.
    pub(super) fn layout(&mut self, t: &Arc<TupleKind>) -> &WrittenTuple {
        let fields = || field_names(&t.fields).into();
        let layout = || WrittenTuple { _kind: t.clone(), name: None, fields: fields() };
        self.layouts.entry(Arc::as_ptr(t)).or_insert_with(layout)
    }

    /// Returns the names of the fields of a tuple or a struct.
    pub(super) fn fields(&mut self, kind: &Kind) -> Rc<[String]> {
        match kind {
            Kind::Tuple(t) => self.layout(t).fields.clone(),
            _ => Rc::new([]),
        }
    }

    /// Returns the name of a struct. Structs of one name may differ: a tangent lacks the fields
    /// that have none.
    pub(super) fn structure(&mut self, t: &Arc<TupleKind>) -> String {
        if let Some(name) = &self.layout(t).name {
            return name.clone();
        }
        let name = match self.structs.get(t) {
            Some(name) => name.clone(),
            None => self.new_structure(t),
        };
        if let Some(layout) = self.layouts.get_mut(&Arc::as_ptr(t)) {
            layout.name = Some(name.clone());
        }
        name
    }

    fn new_structure(&mut self, t: &Arc<TupleKind>) -> String {
        let texts = [&NUMBERS[..], &[COMPLEX], &rust_arrays::TEXTS].concat();
        let base = type_name(t.name.as_deref().unwrap_or("Tuple"), &texts);
        let mut name = base.clone();
        let mut k = 1;
        while self.struct_names.contains(&name) || self.reserved.contains(&name) {
            name = if k == 1 { format!("{base}Tangent") } else { format!("{base}Tangent{k}") };
            k += 1;
        }
        self.structs.insert(t.clone(), name.clone());
        self.struct_names.insert(name.clone());
        for f in &t.fields {
            self.kind(&f.kind);
        }
        name
    }
}

/// Returns true if a text calls a function.
pub(super) fn calls(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(k, _)| {
        let before = text[..k].chars().next_back();
        text[k + name.len()..].starts_with('(')
            && !before.is_some_and(|c| c.is_alphanumeric() || "_.:".contains(c))
    })
}

/// Returns the names of the fields of a tuple or a struct.
pub(super) fn field_names(fields: &[Field]) -> Vec<String> {
    let mut taken = NameAllocator::default();
    let one = |(k, f): (usize, &Field)| match &f.name {
        Some(name) => taken.fresh(&identifier(name)),
        None => k.to_string(),
    };
    fields.iter().enumerate().map(one).collect()
}

/// Returns the fields of the result that are cotangents, as they are written, and the parameters
/// they belong to.
fn cotangents(f: &Function, body: &StructuredBody) -> Vec<(String, Var)> {
    let text =
        |path: exits::FieldPath| path.iter().map(usize::to_string).collect::<Vec<_>>().join(".");
    exits::cotangents(f).into_iter().map(|(path, of)| (text(path), body.params[of])).collect()
}

/// Computes the extra parameters of functions, those of all their callees included.
fn needs(program: &Program, order: &[FuncId]) -> HashMap<FuncId, ExtraParameters> {
    let mut all: HashMap<FuncId, ExtraParameters> = HashMap::new();
    for &f in order {
        let mut n = ExtraParameters::default();
        let function = &program.functions[f];
        for &i in function.blocks.values().flat_map(|b| &b.insts) {
            match function.insts[i].op {
                Op::Push { tape, .. } => {
                    n.pushes.insert(tape);
                }
                Op::Pop { tape, .. } => {
                    n.pops.insert(tape);
                }
                Op::Primitive(_) => n.host = true,
                _ => {}
            }
        }
        all.insert(f, n);
    }
    // From callees to callers.
    let mut callers: HashMap<FuncId, Vec<FuncId>> = HashMap::new();
    for &f in order {
        program.functions[f]
            .callees()
            .into_iter()
            .for_each(|g| callers.entry(g).or_default().push(f));
    }
    let mut work = order.to_vec();
    while let Some(g) = work.pop() {
        let callee = all.get(&g).cloned().unwrap_or_default();
        for &f in callers.get(&g).into_iter().flatten() {
            let n = all.entry(f).or_default();
            let before = (n.pushes.len(), n.pops.len(), n.host);
            n.pushes.extend(&callee.pushes);
            n.pops.extend(&callee.pops);
            n.host |= callee.host;
            if before != (n.pushes.len(), n.pops.len(), n.host) {
                work.push(f);
            }
        }
    }
    all
}

/// Vectors of a tape.
const TAPE_FIELDS: [&str; 8] = [
    "reals",
    "complexes",
    "ints",
    "bools",
    "handles",
    "real_arrays",
    "complex_arrays",
    "int_arrays",
];

/// Returns the vector of the tape that stores a kind.
pub(super) fn tape_field(kind: &Kind) -> &'static str {
    match kind {
        Kind::Real | Kind::Tuple(_) => "reals",
        Kind::Complex => "complexes",
        Kind::Int => "ints",
        Kind::Bool => "bools",
        Kind::Handle => "handles",
        Kind::Array(Element::Real) => "real_arrays",
        Kind::Array(Element::Complex) => "complex_arrays",
        Kind::Array(Element::Int) => "int_arrays",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_function_of_a_program_is_called_as_one_of_the_small_functions() {
        let texts = NUMBERS.into_iter().chain([COMPLEX, rust_arrays::ARRAYS]);
        let names = texts.flat_map(str::lines).filter_map(|line| {
            line.strip_prefix("fn ").and_then(|rest| rest.split(['(', '<']).next())
        });
        let names: Vec<&str> = names.collect();
        assert!(names.len() > 40 && names.contains(&"at_full_length"), "{names:?}");
        for name in names {
            assert_ne!(identifier(name), name);
        }
    }
}
