//! Tree to IR, through the builder.
//!
//! Kinds are checked on the way. A literal integer stays a literal until something says what it should be,
//! and a real number becomes complex where it meets one. Errors are collected: after one in a statement the
//! next statement is read, and names that could not be defined are not complained about again.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Block as BlockId, FuncId, Value, Variable},
    ir::{
        Compare, CustomRule, Element, Field, Function as IrFunction, FunctionBuilder, Int1, Int2, Kind,
        Mixed, Number1, Number2, Op, Param, Program, Real1, Real2,
    },
    rules::Rules,
};

use super::{
    ast::{
        Binary, Block, Expr, ExprKind, Function, Items, KindExpr, KindSyntax, Name, Pattern, Span, Statement,
        StatementKind,
    },
    error::{TextError, TextErrorKind, nearest},
    infer::{Infer, Known},
    lexer::error,
};

/// How many numbers a struct may hold, structs in it opened.
const MAX_LEAVES: usize = 10_000;

/// A function of the language itself.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Builtin {
    Number1(Number1),
    Number2(Number2),
    Real1(Real1),
    Real2(Real2),
    /// On reals and on ints.
    MinMax(Real2, Int2),
    Abs,
    Abs2,
    Re,
    Im,
    Arg,
    Conj,
    Complex,
    Real,
    Powi,
    Select,
    Len,
    Sum,
}

/// The function of the given name.
pub(super) fn builtin(name: &str) -> Option<Builtin> {
    Some(match name {
        "log" => Builtin::Number1(Number1::Ln),
        "abs" | "modulus" => Builtin::Abs,
        "abs2" => Builtin::Abs2,
        "re" => Builtin::Re,
        "im" => Builtin::Im,
        "arg" => Builtin::Arg,
        "conj" => Builtin::Conj,
        "complex" => Builtin::Complex,
        "real" => Builtin::Real,
        "powi" => Builtin::Powi,
        "select" => Builtin::Select,
        "len" => Builtin::Len,
        "sum" => Builtin::Sum,
        "min" => Builtin::MinMax(Real2::Min, Int2::Min),
        "max" => Builtin::MinMax(Real2::Max, Int2::Max),
        _ => Number1::by_name(name)
            .map(Builtin::Number1)
            .or_else(|| Number2::by_name(name).map(Builtin::Number2))
            .or_else(|| Real1::by_name(name).map(Builtin::Real1))
            .or_else(|| Real2::by_name(name).map(Builtin::Real2))?,
    })
}

/// The names of all of them.
fn builtin_names() -> impl Iterator<Item = &'static str> {
    let table = (Number1::ALL.iter().map(|o| o.name()))
        .chain(Number2::ALL.iter().map(|o| o.name()))
        .chain(Real1::ALL.iter().map(|o| o.name()))
        .chain(Real2::ALL.iter().map(|o| o.name()));
    let more = ["log", "abs2", "re", "im", "arg", "conj", "complex", "real", "powi", "select", "len", "sum"];
    table.chain(more)
}

pub(super) fn lower(items: &Items, rules: &Rules) -> Result<Program, Vec<TextError>> {
    let mut errors = Vec::new();
    let structs = structs(items, &mut errors);
    let mut program = rules.program().clone();
    let mut seen = HashSet::new();
    for f in &items.functions {
        if !seen.insert(&f.name.text) {
            let (what, name) = ("function", f.name.text.clone());
            errors.push(error(f.name.span, TextErrorKind::Duplicate { what, name }));
        }
        let mut params = HashSet::new();
        for (p, _) in &f.params {
            if !params.insert(&p.text) {
                let (what, name) = ("parameter", p.text.clone());
                errors.push(error(p.span, TextErrorKind::Duplicate { what, name }));
            }
        }
    }
    let results = infer_results(items, &structs, &program, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    // Names first, so that calls go in any direction.
    let mut ids = Vec::new();
    for f in &items.functions {
        let mut params = Vec::new();
        for (name, kind) in &f.params {
            match kind.as_ref().map_or(Ok(Kind::Real), |k| resolve(k, &structs)) {
                Ok(kind) => params.push(Param::new(&name.text, kind)),
                Err(e) => errors.push(e),
            }
        }
        let result = results.get(&f.name.text).cloned().unwrap_or(Kind::Real);
        ids.push(program.add(IrFunction::declared(&f.name.text, params, result)));
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    for (f, &id) in items.functions.iter().zip(&ids) {
        let declared = program.functions[id].clone();
        let body = Lowerer::run(&program, &structs, &mut errors, &declared, f.name.span, &f.body, None);
        program.functions[id] = body;
        rule(f, id, &declared, &mut program, &structs, &mut errors);
    }
    if errors.is_empty() { Ok(program) } else { Err(errors) }
}

/// The pullback and the pushforward of a rule.
fn rule(
    f: &Function,
    id: FuncId,
    declared: &IrFunction,
    program: &mut Program,
    structs: &HashMap<String, Kind>,
    errors: &mut Vec<TextError>,
) {
    if !f.is_rule {
        return;
    }
    let inputs: Vec<Kind> = declared.params.iter().map(|p| p.kind.clone()).collect();
    let tangents: Vec<Kind> = inputs.iter().filter_map(Kind::tangent).collect();
    let result = declared.result.clone();
    let mut custom = CustomRule::default();
    let pullback: Vec<Kind> =
        inputs.iter().cloned().chain([result.clone()]).chain(result.tangent()).collect();
    let pushforward: Vec<Kind> = inputs.iter().chain(&tangents).cloned().collect();
    let parts = [
        (&f.pullback, "pullback", pullback, Kind::tuple(tangents), Some(inputs.as_slice())),
        (&f.pushforward, "pushforward", pushforward, result.tangent().unwrap_or(Kind::tuple([])), None),
    ];
    for (part, name, kinds, gives, bars) in parts {
        let Some(part) = part else { continue };
        if part.params.len() != kinds.len() {
            let (expected, given) = (kinds.len(), part.params.len());
            let name = format!("the {name} of {}", f.name.text);
            errors.push(error(part.span, TextErrorKind::Arity { name, expected, given }));
            continue;
        }
        let params = part.params.iter().zip(kinds).map(|(p, k)| Param::new(&p.text, k)).collect();
        let declared = IrFunction::declared(format!("{}.{name}", f.name.text), params, gives);
        let body = Lowerer::run(program, structs, errors, &declared, part.span, &part.body, bars);
        let part_id = program.add(body);
        match bars {
            Some(_) => custom.pullback = Some(part_id),
            None => custom.pushforward = Some(part_id),
        }
    }
    program.set_rule(id, custom);
}

/// The kinds of all structs. One that holds itself, or too much, is an error.
fn structs(items: &Items, errors: &mut Vec<TextError>) -> HashMap<String, Kind> {
    let mut known: HashMap<String, Kind> = HashMap::new();
    let mut names = HashSet::new();
    for s in &items.structs {
        if !names.insert(s.name.text.as_str()) {
            let (what, name) = ("struct", s.name.text.clone());
            errors.push(error(s.name.span, TextErrorKind::Duplicate { what, name }));
        }
    }
    // Each round settles those whose fields are known.
    loop {
        let before = known.len();
        for s in &items.structs {
            if known.contains_key(&s.name.text) {
                continue;
            }
            let fields: Result<Vec<Field>, TextError> = (s.fields.iter())
                .map(|(n, k)| {
                    let kind = k.as_ref().map_or(Ok(Kind::Real), |k| resolve(k, &known))?;
                    Ok(Field { name: Some(n.text.clone()), kind })
                })
                .collect();
            let Ok(fields) = fields else { continue };
            let kind =
                Kind::structure(&s.name.text, fields.into_iter().filter_map(|f| Some((f.name?, f.kind))));
            if kind.n_leaves() > MAX_LEAVES {
                let what = "numbers in a struct:";
                errors.push(error(s.name.span, TextErrorKind::TooDeep { what, limit: MAX_LEAVES }));
                return known;
            }
            known.insert(s.name.text.clone(), kind);
        }
        if known.len() == before {
            break;
        }
    }
    for s in items.structs.iter().filter(|s| !known.contains_key(&s.name.text)) {
        for kind in s.fields.iter().filter_map(|(_, k)| k.as_ref()) {
            if let Err(mut e) = resolve(kind, &known) {
                let itself = |name: &String| names.contains(name.as_str());
                if let TextErrorKind::Unknown { name, .. } = &e.kind
                    && itself(name)
                {
                    let given = format!("`{name}` inside itself");
                    e.kind = TextErrorKind::Kind { given, expected: "a kind of known size".into(), hint: "" };
                }
                errors.push(e);
            }
        }
    }
    known
}

fn resolve(kind: &KindExpr, structs: &HashMap<String, Kind>) -> Result<Kind, TextError> {
    Ok(match &kind.kind {
        KindSyntax::Name(name) => match name.as_str() {
            "real" => Kind::Real,
            "complex" => Kind::Complex,
            "int" => Kind::Int,
            "bool" => Kind::Bool,
            "handle" => Kind::Handle,
            name => match structs.get(name) {
                Some(kind) => kind.clone(),
                None => {
                    let basic = ["real", "complex", "int", "bool", "array", "handle"].into_iter();
                    let nearest = nearest(name, basic.chain(structs.keys().map(String::as_str)));
                    let (what, name) = ("kind", name.to_owned());
                    return Err(error(kind.span, TextErrorKind::Unknown { what, name, nearest }));
                }
            },
        },
        KindSyntax::Array(element) => {
            let given = resolve(element, structs)?;
            match Element::of(&given) {
                Some(e) => Kind::Array(e),
                None => return Err(mismatch(element.span, &given, "real, complex or int elements")),
            }
        }
        KindSyntax::Tuple(kinds) => {
            let kinds = kinds.iter().map(|k| resolve(k, structs)).collect::<Result<Vec<_>, _>>()?;
            Kind::tuple(kinds)
        }
    })
}

fn infer_results(
    items: &Items,
    structs: &HashMap<String, Kind>,
    program: &Program,
    errors: &mut Vec<TextError>,
) -> HashMap<String, Kind> {
    let mut results: HashMap<String, Known> = HashMap::new();
    for f in program.functions.values() {
        results.insert(f.name.clone(), Known::Kind(f.result.clone()));
    }
    for p in program.primitives.values() {
        results.insert(p.name.clone(), Known::Kind(p.result.clone()));
    }
    for f in &items.functions {
        let given = f.result.as_ref().map(|k| resolve(k, structs));
        let known = match given {
            Some(Ok(kind)) => Known::Kind(kind),
            Some(Err(e)) => {
                errors.push(e);
                Known::Nothing
            }
            None => Known::Nothing,
        };
        results.insert(f.name.text.clone(), known);
    }
    let kinds = |k: &KindExpr| resolve(k, structs).ok();
    for _ in 0..items.functions.len() + 2 {
        let mut changed = false;
        for f in items.functions.iter().filter(|f| f.result.is_none()) {
            let mut infer = Infer { results: &results, structs, scopes: vec![], returned: Known::Nothing };
            let known = infer.function(f, &kinds);
            if results.get(&f.name.text) != Some(&known) {
                results.insert(f.name.text.clone(), known);
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    let mut kinds = HashMap::new();
    for f in &items.functions {
        let kind = match results.remove(&f.name.text) {
            Some(Known::Kind(kind)) => kind,
            Some(Known::Literal) => Kind::Int,
            // An error in the body says more than that nothing follows from it.
            _ => Kind::Real,
        };
        kinds.insert(f.name.text.clone(), kind);
    }
    kinds
}

fn mismatch(span: Span, given: &Kind, expected: &str) -> TextError {
    let hint = match given {
        Kind::Int if expected == "real" || expected == "complex" => ": write `real(n)`",
        Kind::Complex if expected == "real" => ": take `re`, `im`, `abs` or `abs2` of it",
        _ => "",
    };
    error(span, TextErrorKind::Kind { given: given.to_string(), expected: expected.into(), hint })
}

/// What an expression gives.
#[derive(Clone, Debug)]
enum Given {
    /// A literal integer.
    Literal(i64),
    Value(Value),
    /// No value: a statement, or a block that was left.
    Nothing,
}

type Lowered<T> = Result<T, TextError>;

#[derive(Clone)]
struct Local {
    variable: Variable,
    mutable: bool,
}

struct Loop {
    again: BlockId,
    exit: BlockId,
}

struct Lowerer<'a> {
    program: &'a Program,
    structs: &'a HashMap<String, Kind>,
    errors: &'a mut Vec<TextError>,
    b: FunctionBuilder,
    scopes: Vec<HashMap<String, Local>>,
    poisoned: HashSet<String>,
    loops: Vec<Loop>,
    result: Kind,
    /// In a pullback: the kinds of the inputs, to each of which the value gives a cotangent.
    bars: Option<&'a [Kind]>,
}

impl<'a> Lowerer<'a> {
    fn run(
        program: &'a Program,
        structs: &'a HashMap<String, Kind>,
        errors: &'a mut Vec<TextError>,
        declared: &IrFunction,
        span: Span,
        body: &Block,
        bars: Option<&'a [Kind]>,
    ) -> IrFunction {
        let (name, params, result) =
            (declared.name.clone(), declared.params.clone(), declared.result.clone());
        let mut l = Lowerer {
            program,
            structs,
            errors,
            b: FunctionBuilder::new(name, params, result.clone()),
            scopes: vec![HashMap::new()],
            poisoned: HashSet::new(),
            loops: vec![],
            result,
            bars,
        };
        for (k, p) in declared.params.iter().enumerate() {
            let value = l.b.param(k);
            l.bind(&p.name, value, false);
        }
        let errors_before = l.errors.len();
        let end = l.body(body);
        match end {
            Ok(_) if l.b.is_closed() => {}
            Ok(Some(value)) => l.b.ret(value),
            Ok(None) => {
                if l.errors.len() == errors_before {
                    let name = declared.name.clone();
                    l.errors.push(error(span, TextErrorKind::NoValue { name }));
                }
            }
            Err(e) => l.errors.push(e),
        }
        if !l.b.is_closed() {
            let zero = l.b.zero(&declared.result);
            l.b.ret(zero);
        }
        l.b.finish()
    }

    /// The function's block, with its value as the result.
    fn body(&mut self, body: &Block) -> Lowered<Option<Value>> {
        self.scopes.push(HashMap::new());
        for statement in &body.statements {
            self.statement(statement);
        }
        let value = match &body.tail {
            Some(tail) => self.result_value(tail)?,
            None => None,
        };
        self.scopes.pop();
        Ok(value)
    }

    /// An expression as the function's result. `None`: it was left before its end.
    fn result_value(&mut self, e: &Expr) -> Lowered<Option<Value>> {
        if self.bars.is_some() {
            return self.cotangents(e).map(Some);
        }
        let result = self.result.clone();
        match self.expr(e, Some(&result))? {
            Given::Nothing => Ok(None),
            given => self.fit(given, &result, e.span).map(Some),
        }
    }

    /// The value of a pullback: one cotangent for each input.
    fn cotangents(&mut self, e: &Expr) -> Lowered<Value> {
        let inputs = self.bars.unwrap_or(&[]);
        let mut fields = Vec::new();
        match &e.kind {
            ExprKind::Tuple(items) if items.len() == inputs.len() => {
                for (item, input) in items.iter().zip(inputs) {
                    fields.extend(self.cotangent(item, input)?);
                }
            }
            _ if inputs.len() == 1 => fields.extend(self.cotangent(e, &inputs[0])?),
            _ => {
                let given = self.expr(e, None)?;
                let value = self.value(given, e.span)?;
                let given = self.b.kind(value).clone();
                if given.fields().len() != inputs.len() {
                    let expected = format!("one cotangent for each of the {} inputs", inputs.len());
                    return Err(mismatch(e.span, &given, &expected));
                }
                for (k, input) in inputs.iter().enumerate() {
                    if let Some(kind) = input.tangent() {
                        let field = self.b.field(value, k);
                        fields.push(self.fit(Given::Value(field), &kind, e.span)?);
                    }
                }
            }
        }
        let result = self.result.clone();
        Ok(self.b.tuple(&fields, result))
    }

    fn cotangent(&mut self, e: &Expr, input: &Kind) -> Lowered<Option<Value>> {
        match (&e.kind, input.tangent()) {
            (ExprKind::None, None) => Ok(None),
            (ExprKind::None, Some(kind)) => Ok(Some(self.b.zero(&kind))),
            (_, Some(kind)) => {
                let given = self.expr(e, Some(&kind))?;
                self.fit(given, &kind, e.span).map(Some)
            }
            (_, None) => Err(error(
                e.span,
                TextErrorKind::Kind {
                    given: "a cotangent".into(),
                    expected: format!("`none`: {input} has no cotangent"),
                    hint: "",
                },
            )),
        }
    }

    // Scopes.

    fn bind(&mut self, name: &str, value: Value, mutable: bool) {
        let kind = self.b.kind(value).clone();
        let variable = self.b.declare(kind);
        self.b.define(variable, value);
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), Local { variable, mutable });
        }
    }

    fn local(&self, name: &str, span: Span) -> Lowered<Local> {
        if let Some(local) = self.scopes.iter().rev().find_map(|s| s.get(name)) {
            return Ok(local.clone());
        }
        let names = self.scopes.iter().flat_map(|s| s.keys().map(String::as_str));
        let nearest = nearest(name, names);
        Err(error(span, TextErrorKind::Unknown { what: "variable", name: name.to_owned(), nearest }))
    }

    /// Whether an error follows from an earlier one.
    fn follows(&self, e: &TextError) -> bool {
        matches!(&e.kind, TextErrorKind::Unknown { what: "variable", name, .. } if self.poisoned.contains(name))
    }

    // Kinds.

    /// A value: literals are ints.
    fn value(&mut self, given: Given, span: Span) -> Lowered<Value> {
        match given {
            Given::Literal(n) => Ok(self.b.int(n)),
            Given::Value(v) => Ok(v),
            Given::Nothing => Err(error(
                span,
                TextErrorKind::Kind { given: "nothing".into(), expected: "a value".into(), hint: "" },
            )),
        }
    }

    /// A value of the given kind.
    fn fit(&mut self, given: Given, kind: &Kind, span: Span) -> Lowered<Value> {
        match (&given, kind) {
            (Given::Literal(n), Kind::Real | Kind::Complex) => return Ok(self.b.number(*n as f64, kind)),
            (Given::Value(v), Kind::Complex) if *self.b.kind(*v) == Kind::Real => {
                return Ok(self.b.mixed(Mixed::Promote, &[*v]));
            }
            _ => {}
        }
        let value = self.value(given, span)?;
        let found = self.b.kind(value).clone();
        if found == *kind { Ok(value) } else { Err(mismatch(span, &found, &kind.to_string())) }
    }

    /// The numbers as values of their common kind, which is real or complex.
    fn numbers(&mut self, given: Vec<(Given, Span)>) -> Lowered<Vec<Value>> {
        let complex = given.iter().any(|(g, _)| self.is(g, &Kind::Complex));
        let kind = if complex { Kind::Complex } else { Kind::Real };
        given.into_iter().map(|(g, span)| self.fit(g, &kind, span)).collect()
    }

    fn is(&self, given: &Given, kind: &Kind) -> bool {
        matches!(given, Given::Value(v) if self.b.kind(*v) == kind)
    }

    // Statements.

    /// Lowers a statement; an error is collected.
    fn statement(&mut self, s: &Statement) {
        self.b.set_position(s.span.at);
        if let Err(e) = self.try_statement(s) {
            if !self.follows(&e) {
                self.errors.push(e);
            }
            if let StatementKind::Let { pattern, .. } = &s.kind {
                let names: Vec<&Name> = match pattern {
                    Pattern::Name { name, .. } => vec![name],
                    Pattern::Tuple(names) => names.iter().map(|(n, _)| n).collect(),
                };
                for name in names {
                    self.poisoned.insert(name.text.clone());
                    for scope in &mut self.scopes {
                        scope.remove(&name.text);
                    }
                }
            }
        }
    }

    fn try_statement(&mut self, s: &Statement) -> Lowered<()> {
        match &s.kind {
            StatementKind::Let { pattern, kind, value } => {
                let kind = kind.as_ref().map(|k| resolve(k, self.structs)).transpose()?;
                let given = self.expr(value, kind.as_ref())?;
                let v = match &kind {
                    Some(kind) => self.fit(given, kind, value.span)?,
                    None => self.value(given, value.span)?,
                };
                match pattern {
                    Pattern::Name { name, mutable } => self.bind(&name.text, v, *mutable),
                    Pattern::Tuple(names) => {
                        let kind = self.b.kind(v).clone();
                        if kind.fields().len() != names.len() {
                            let expected = format!("a tuple of {} values", names.len());
                            return Err(mismatch(value.span, &kind, &expected));
                        }
                        for (k, (name, mutable)) in names.iter().enumerate() {
                            let field = self.b.field(v, k);
                            self.bind(&name.text, field, *mutable);
                        }
                    }
                }
            }
            StatementKind::Assign { target, op, value } => self.assign(target, *op, value)?,
            StatementKind::While { condition, body } => {
                let (head, inside, exit) =
                    (self.b.create_block(), self.b.create_block(), self.b.create_block());
                self.b.jump(head, &[]);
                self.b.switch_to(head);
                self.condition(condition, inside, exit)?;
                self.b.seal(inside);
                self.b.switch_to(inside);
                self.loops.push(Loop { again: head, exit });
                self.scope(body);
                self.loops.pop();
                if !self.b.is_closed() {
                    self.b.jump(head, &[]);
                }
                self.b.seal(head);
                self.b.seal(exit);
                self.b.switch_to(exit);
            }
            StatementKind::For { variable, from, to, inclusive, body } => {
                let from = self.expect(from, &Kind::Int)?;
                let to = self.expect(to, &Kind::Int)?;
                let i = self.b.declare(Kind::Int);
                self.b.define(i, from);
                let [head, inside, step, exit] = [(); 4].map(|()| self.b.create_block());
                self.b.jump(head, &[]);
                self.b.switch_to(head);
                let now = self.b.use_variable(i);
                let compare = Op::CompareInt(if *inclusive { Compare::Le } else { Compare::Lt });
                let more = self.b.inst(compare, &[now, to], Kind::Bool);
                self.b.branch(more, inside, exit);
                self.b.seal(inside);
                self.b.switch_to(inside);
                self.loops.push(Loop { again: step, exit });
                self.scopes.push(HashMap::new());
                let now = self.b.use_variable(i);
                self.bind(&variable.text, now, false);
                self.scope(body);
                self.scopes.pop();
                self.loops.pop();
                if !self.b.is_closed() {
                    self.b.jump(step, &[]);
                }
                self.b.seal(step);
                self.b.switch_to(step);
                self.b.set_position(s.span.at);
                let (now, one) = (self.b.use_variable(i), self.b.int(1));
                let next = self.b.inst(Op::Int2(Int2::Add), &[now, one], Kind::Int);
                self.b.define(i, next);
                self.b.jump(head, &[]);
                self.b.seal(head);
                self.b.seal(exit);
                self.b.switch_to(exit);
            }
            StatementKind::Break | StatementKind::Continue => {
                let leaves = matches!(s.kind, StatementKind::Break);
                let what = if leaves { "break" } else { "continue" };
                let target = self.loops.last().map(|l| if leaves { l.exit } else { l.again });
                let misplaced = TextErrorKind::Misplaced { what, expected: "a loop" };
                let target = target.ok_or_else(|| error(s.span, misplaced))?;
                self.b.jump(target, &[]);
            }
            StatementKind::Return(value) => {
                let name = self.b.function().name.clone();
                let value = value.as_ref().ok_or_else(|| error(s.span, TextErrorKind::NoValue { name }))?;
                if let Some(v) = self.result_value(value)? {
                    self.b.ret(v);
                }
            }
            StatementKind::Expr(e) => {
                self.expr(e, None)?;
            }
        }
        Ok(())
    }

    /// A block of statements whose value nobody asks for.
    fn scope(&mut self, block: &Block) {
        self.scopes.push(HashMap::new());
        for s in &block.statements {
            self.statement(s);
        }
        if let Some(tail) = &block.tail
            && let Err(e) = self.expr(tail, None)
            && !self.follows(&e)
        {
            self.errors.push(e);
        }
        self.scopes.pop();
    }

    /// Branches on a condition.
    fn condition(&mut self, e: &Expr, yes: BlockId, no: BlockId) -> Lowered<()> {
        if let ExprKind::Bool(true) = e.kind {
            self.b.jump(yes, &[]);
            return Ok(());
        }
        let c = self.expect(e, &Kind::Bool)?;
        self.b.set_position(e.span.at);
        self.b.branch(c, yes, no);
        Ok(())
    }

    fn expect(&mut self, e: &Expr, kind: &Kind) -> Lowered<Value> {
        let given = self.expr(e, Some(kind))?;
        self.fit(given, kind, e.span)
    }

    /// `x = e`, `xs[i] = e`, `p.x = e`, `p.xs[i] += e`.
    fn assign(&mut self, target: &Expr, op: Option<Binary>, value: &Expr) -> Lowered<()> {
        enum Step {
            Field(usize),
            Index(Value),
        }
        // Down to the variable …
        let mut path = Vec::new();
        let mut at = target;
        let local = loop {
            match &at.kind {
                ExprKind::Name(name) => {
                    let local = self.local(name, at.span)?;
                    if !local.mutable {
                        return Err(error(at.span, TextErrorKind::Immutable { name: name.clone() }));
                    }
                    break local;
                }
                ExprKind::Field(of, _) | ExprKind::TupleField(of, _) | ExprKind::Index(of, _) => {
                    path.push(at);
                    at = of;
                }
                _ => {
                    let (given, expected) = ("a value".into(), "a variable, an element or a field".into());
                    return Err(error(target.span, TextErrorKind::Unexpected { given, expected }));
                }
            }
        };
        // … up to what is replaced …
        let mut old = self.b.use_variable(local.variable);
        let mut values = Vec::new();
        let mut steps = Vec::new();
        for place in path.iter().rev() {
            let of = old;
            let kind = self.b.kind(of).clone();
            let (step, inner) = match &place.kind {
                ExprKind::Index(_, index) => {
                    if !matches!(kind, Kind::Array(_)) {
                        return Err(mismatch(place.span, &kind, "an array"));
                    }
                    let i = self.expect(index, &Kind::Int)?;
                    self.b.set_position(place.span.at);
                    // Read only where the old value is asked for.
                    let inner = if op.is_some() { self.b.get(of, i) } else { of };
                    (Step::Index(i), inner)
                }
                _ => {
                    let k = self.field_number(&kind, place)?;
                    (Step::Field(k), self.b.field(of, k))
                }
            };
            steps.push(step);
            values.push(of);
            old = inner;
        }
        let mut kind = self.b.kind(old).clone();
        if let (Some(Step::Index(_)), None, Kind::Array(e)) = (steps.last(), op, &kind) {
            kind = e.kind();
        }
        let mut new = match op {
            None => self.expect(value, &kind)?,
            Some(op) => {
                let right = self.expr(value, Some(&kind))?;
                self.b.set_position(target.span.at);
                let sum =
                    self.binary(op, target.span, (Given::Value(old), target.span), (right, value.span))?;
                self.fit(sum, &kind, value.span)?
            }
        };
        // … and out again.
        self.b.set_position(target.span.at);
        for (step, of) in steps.into_iter().zip(values).rev() {
            let kind = self.b.kind(of).clone();
            new = match step {
                Step::Index(i) => self.b.inst(Op::Set, &[of, i, new], kind),
                Step::Field(k) => {
                    let mut fields = Vec::new();
                    for j in 0..kind.fields().len() {
                        fields.push(if j == k { new } else { self.b.field(of, j) });
                    }
                    self.b.tuple(&fields, kind)
                }
            };
        }
        self.b.define(local.variable, new);
        Ok(())
    }

    fn field_number(&self, kind: &Kind, place: &Expr) -> Lowered<usize> {
        match &place.kind {
            ExprKind::Field(_, name) => {
                let names = kind.fields().iter().filter_map(|f| f.name.as_deref());
                let found = kind.fields().iter().position(|f| f.name.as_deref() == Some(&name.text));
                found.ok_or_else(|| {
                    let (nearest, name) = (nearest(&name.text, names), name.text.clone());
                    error(place.span, TextErrorKind::Unknown { what: "field", name, nearest })
                })
            }
            ExprKind::TupleField(_, k) if *k < kind.fields().len() => Ok(*k),
            ExprKind::TupleField(_, k) => {
                Err(mismatch(place.span, kind, &format!("a tuple with a field {k}")))
            }
            _ => Ok(0),
        }
    }

    // Expressions.

    /// Lowers an expression. `hint`: what it should be, for literals in it.
    fn expr(&mut self, e: &Expr, hint: Option<&Kind>) -> Lowered<Given> {
        self.b.set_position(e.span.at);
        let value = match &e.kind {
            ExprKind::Int(n) => return Ok(Given::Literal(*n)),
            ExprKind::Real(x) => self.b.real(*x),
            ExprKind::Bool(c) => self.b.boolean(*c),
            ExprKind::None => {
                let (what, expected) = ("none", "the value of a pullback");
                return Err(error(e.span, TextErrorKind::Misplaced { what, expected }));
            }
            ExprKind::Name(name) => {
                let local = self.local(name, e.span)?;
                self.b.use_variable(local.variable)
            }
            ExprKind::Neg(x) => match self.expr(x, hint)? {
                Given::Literal(n) => return Ok(Given::Literal(n.wrapping_neg())),
                given => {
                    let v = self.value(given, x.span)?;
                    self.b.set_position(e.span.at);
                    match self.b.kind(v) {
                        Kind::Int => self.b.inst(Op::Int1(Int1::Neg), &[v], Kind::Int),
                        Kind::Real | Kind::Complex => self.b.number1(Number1::Neg, v),
                        other => return Err(mismatch(x.span, &other.clone(), "a number")),
                    }
                }
            },
            ExprKind::Not(x) => {
                let v = self.expect(x, &Kind::Bool)?;
                self.b.mixed(Mixed::Not, &[v])
            }
            ExprKind::Chain(first, more) => return self.chain(first, more, hint),
            ExprKind::Call(name, args) => return self.call(name, args, e.span),
            ExprKind::Index(xs, i) => {
                let given = self.expr(xs, None)?;
                let array = self.value(given, xs.span)?;
                let kind = self.b.kind(array).clone();
                if !matches!(kind, Kind::Array(_)) {
                    return Err(mismatch(xs.span, &kind, "an array"));
                }
                let index = self.expect(i, &Kind::Int)?;
                self.b.set_position(e.span.at);
                self.b.get(array, index)
            }
            ExprKind::Field(of, _) | ExprKind::TupleField(of, _) => {
                let given = self.expr(of, None)?;
                let tuple = self.value(given, of.span)?;
                let k = self.field_number(&self.b.kind(tuple).clone(), e)?;
                self.b.field(tuple, k)
            }
            ExprKind::Array(items) => self.array(items, hint)?,
            ExprKind::Repeat(x, n) => {
                let element = match hint {
                    Some(Kind::Array(e)) => Some(e.kind()),
                    _ => None,
                };
                let given = self.expr(x, element.as_ref())?;
                let v = match element {
                    Some(kind) => self.fit(given, &kind, x.span)?,
                    None => self.value(given, x.span)?,
                };
                let kind = self.b.kind(v).clone();
                let element = Element::of(&kind).ok_or_else(|| mismatch(x.span, &kind, "a number"))?;
                let n = self.expect(n, &Kind::Int)?;
                self.b.set_position(e.span.at);
                self.b.inst(Op::Fill, &[v, n], Kind::Array(element))
            }
            ExprKind::Tuple(items) => {
                let mut values = Vec::new();
                for (k, item) in items.iter().enumerate() {
                    let hint = hint.and_then(|h| h.fields().get(k)).map(|f| &f.kind);
                    let given = self.expr(item, hint)?;
                    values.push(match hint {
                        Some(kind) => self.fit(given, kind, item.span)?,
                        None => self.value(given, item.span)?,
                    });
                }
                self.b.plain_tuple(&values)
            }
            ExprKind::Struct(name, fields) => self.structure(name, fields, e.span)?,
            ExprKind::If(arms, last) => return self.if_else(arms, last.as_ref(), hint, e.span),
            ExprKind::Block(block) => return self.block_value(block, hint),
        };
        Ok(Given::Value(value))
    }

    fn block_value(&mut self, block: &Block, hint: Option<&Kind>) -> Lowered<Given> {
        self.scopes.push(HashMap::new());
        for s in &block.statements {
            self.statement(s);
        }
        let given = match &block.tail {
            Some(tail) => self.expr(tail, hint),
            None => Ok(Given::Nothing),
        };
        self.scopes.pop();
        given
    }

    fn array(&mut self, items: &[Expr], hint: Option<&Kind>) -> Lowered<Value> {
        let element = match hint {
            Some(Kind::Array(e)) => Some(e.kind()),
            _ => None,
        };
        let mut given = Vec::new();
        for item in items {
            given.push((self.expr(item, element.as_ref())?, item.span));
        }
        let all_literal = given.iter().all(|(g, _)| matches!(g, Given::Literal(_)));
        let ints = given.iter().any(|(g, _)| self.is(g, &Kind::Int));
        let kind = match element {
            Some(kind) => kind,
            None if given.is_empty() => Kind::Real,
            None if ints || all_literal => Kind::Int,
            None if given.iter().any(|(g, _)| self.is(g, &Kind::Complex)) => Kind::Complex,
            None => Kind::Real,
        };
        let mut values = Vec::new();
        for (g, span) in given {
            values.push(self.fit(g, &kind, span)?);
        }
        let element = Element::of(&kind).unwrap_or(Element::Real);
        Ok(self.b.inst(Op::Array, &values, Kind::Array(element)))
    }

    fn structure(&mut self, name: &Name, fields: &[(Name, Expr)], span: Span) -> Lowered<Value> {
        let Some(kind) = self.structs.get(&name.text).cloned() else {
            let nearest = nearest(&name.text, self.structs.keys().map(String::as_str));
            let (what, name) = ("struct", name.text.clone());
            return Err(error(span, TextErrorKind::Unknown { what, name, nearest }));
        };
        let names = || kind.fields().iter().filter_map(|f| f.name.as_deref());
        let mut values: Vec<Option<Value>> = vec![None; kind.fields().len()];
        for (field, value) in fields {
            let Some(k) = names().position(|n| n == field.text) else {
                let (nearest, name) = (nearest(&field.text, names()), field.text.clone());
                return Err(error(field.span, TextErrorKind::Unknown { what: "field", name, nearest }));
            };
            if values[k].is_some() {
                let (what, name) = ("field", field.text.clone());
                return Err(error(field.span, TextErrorKind::Duplicate { what, name }));
            }
            values[k] = Some(self.expect(value, &kind.fields()[k].kind)?);
        }
        let given = values.iter().flatten().count();
        if given < values.len() {
            let (name, expected) = (name.text.clone(), values.len());
            return Err(error(span, TextErrorKind::Arity { name, expected, given }));
        }
        let values: Vec<Value> = values.into_iter().flatten().collect();
        self.b.set_position(span.at);
        Ok(self.b.tuple(&values, kind))
    }

    fn chain(&mut self, first: &Expr, more: &[(Binary, Span, Expr)], hint: Option<&Kind>) -> Lowered<Given> {
        if let [(Binary::Or | Binary::And, ..), ..] = more {
            return self.logic(first, more);
        }
        let mut sum = (self.expr(first, hint)?, first.span);
        for (op, span, e) in more {
            let right = (self.expr(e, hint)?, e.span);
            self.b.set_position(span.at);
            sum = (self.binary(*op, *span, sum, right)?, *span);
        }
        Ok(sum.0)
    }

    /// `a && b`: b only if a holds, for b may not be defined otherwise.
    fn logic(&mut self, first: &Expr, more: &[(Binary, Span, Expr)]) -> Lowered<Given> {
        let variable = self.b.declare(Kind::Bool);
        let mut c = self.expect(first, &Kind::Bool)?;
        self.b.define(variable, c);
        let exit = self.b.create_block();
        for (op, span, e) in more {
            let next = self.b.create_block();
            self.b.set_position(span.at);
            let (yes, no) = if *op == Binary::And { (next, exit) } else { (exit, next) };
            self.b.branch(c, yes, no);
            self.b.seal(next);
            self.b.switch_to(next);
            c = self.expect(e, &Kind::Bool)?;
            self.b.define(variable, c);
        }
        self.b.jump(exit, &[]);
        self.b.seal(exit);
        self.b.switch_to(exit);
        Ok(Given::Value(self.b.use_variable(variable)))
    }

    fn binary(
        &mut self,
        op: Binary,
        span: Span,
        left: (Given, Span),
        right: (Given, Span),
    ) -> Lowered<Given> {
        if let (Given::Literal(a), Given::Literal(b)) = (&left.0, &right.0) {
            let folded = match op {
                Binary::Add => a.checked_add(*b),
                Binary::Sub => a.checked_sub(*b),
                Binary::Mul => a.checked_mul(*b),
                Binary::Rem => a.checked_rem(*b),
                Binary::Div if *b != 0 && a % b == 0 => a.checked_div(*b),
                _ => None,
            };
            if let Some(n) = folded {
                return Ok(Given::Literal(n));
            }
        }
        let int = self.is(&left.0, &Kind::Int) || self.is(&right.0, &Kind::Int);
        let literals = matches!((&left.0, &right.0), (Given::Literal(_), Given::Literal(_)));
        if int || op == Binary::Rem || literals && matches!(op, Binary::Compare(_)) {
            let a = self.fit_int(left)?;
            let b = self.fit_int(right)?;
            return Ok(Given::Value(match op {
                Binary::Compare(c) => self.b.inst(Op::CompareInt(c), &[a, b], Kind::Bool),
                op => self.b.inst(Op::Int2(int_op(op)), &[a, b], Kind::Int),
            }));
        }
        let number = match op {
            Binary::Add => Number2::Add,
            Binary::Sub => Number2::Sub,
            Binary::Mul => Number2::Mul,
            Binary::Div => Number2::Div,
            Binary::Compare(c) => {
                let a = self.fit(left.0, &Kind::Real, left.1)?;
                let b = self.fit(right.0, &Kind::Real, right.1)?;
                self.b.set_position(span.at);
                return Ok(Given::Value(self.b.inst(Op::Compare(c), &[a, b], Kind::Bool)));
            }
            Binary::Rem | Binary::And | Binary::Or => return Ok(Given::Nothing),
        };
        let args = self.numbers(vec![left, right])?;
        self.b.set_position(span.at);
        Ok(Given::Value(self.b.number2(number, args[0], args[1])))
    }

    /// An int; a real number that meets one is an error that says how to convert.
    fn fit_int(&mut self, given: (Given, Span)) -> Lowered<Value> {
        let (given, span) = given;
        if let Given::Value(v) = given
            && *self.b.kind(v) == Kind::Real
        {
            let (given, expected) = ("real".into(), "int".into());
            let hint = ": an int meets a real number through `real(n)`";
            return Err(error(span, TextErrorKind::Kind { given, expected, hint }));
        }
        self.fit(given, &Kind::Int, span)
    }

    fn if_else(
        &mut self,
        arms: &[(Expr, Block)],
        last: Option<&Block>,
        hint: Option<&Kind>,
        span: Span,
    ) -> Lowered<Given> {
        let merge = self.b.create_block();
        // Where each arm ends, and what it gives.
        let mut ends: Vec<(BlockId, Given, Span)> = Vec::new();
        let tail = |b: &Block| b.tail.as_ref().map_or(b.end, |t| t.span);
        for (condition, body) in arms {
            let (yes, no) = (self.b.create_block(), self.b.create_block());
            self.condition(condition, yes, no)?;
            self.b.seal(yes);
            self.b.seal(no);
            self.b.switch_to(yes);
            let given = self.block_value(body, hint)?;
            if !self.b.is_closed() {
                ends.push((self.b.current(), given, tail(body)));
            }
            self.b.switch_to(no);
        }
        let given = match last {
            Some(body) => self.block_value(body, hint)?,
            None => Given::Nothing,
        };
        if !self.b.is_closed() {
            ends.push((self.b.current(), given, last.map_or(span, tail)));
        }
        let empty = ends.iter().any(|(_, g, _)| matches!(g, Given::Nothing));
        if empty || ends.is_empty() {
            for (end, ..) in &ends {
                self.b.switch_to(*end);
                self.b.jump(merge, &[]);
            }
            self.b.seal(merge);
            self.b.switch_to(merge);
            if ends.is_empty() {
                // Every arm has left: what follows is never reached.
                let zero = self.b.zero(&self.result.clone());
                self.b.ret(zero);
            }
            return Ok(Given::Nothing);
        }
        let value_of = |g: &Given| match g {
            Given::Value(v) => Some(*v),
            _ => None,
        };
        let first = ends.iter().find_map(|(_, g, _)| value_of(g));
        let kind = match (first, hint) {
            (_, Some(Kind::Complex)) => Kind::Complex,
            (Some(_), _) if ends.iter().any(|(_, g, _)| self.is(g, &Kind::Complex)) => Kind::Complex,
            (Some(v), _) => self.b.kind(v).clone(),
            (None, Some(kind @ Kind::Real)) => kind.clone(),
            (None, _) => Kind::Int,
        };
        let param = self.b.block_param(merge, kind.clone());
        for (end, given, span) in ends {
            self.b.switch_to(end);
            let value = self.fit(given, &kind, span)?;
            self.b.jump(merge, &[value]);
        }
        self.b.seal(merge);
        self.b.switch_to(merge);
        Ok(Given::Value(param))
    }

    // Calls.

    fn call(&mut self, name: &Name, args: &[Expr], span: Span) -> Lowered<Given> {
        let signature = |params: Vec<Kind>, result: Kind, op: Op| (params, result, op);
        let program = self.program;
        let callee = match program.lookup(&name.text) {
            Some(id) => {
                let f = &program.functions[id];
                let params = f.params.iter().map(|p| p.kind.clone()).collect();
                Some(signature(params, f.result.clone(), Op::Call(id)))
            }
            None => program.lookup_primitive(&name.text).map(|id| {
                let p = &program.primitives[id];
                signature(p.params.clone(), p.result.clone(), Op::Primitive(id))
            }),
        };
        if let Some((params, result, op)) = callee {
            self.arity(name, params.len(), args.len(), span)?;
            let mut values = Vec::new();
            for (arg, kind) in args.iter().zip(&params) {
                values.push(self.expect(arg, kind)?);
            }
            self.b.set_position(span.at);
            return Ok(Given::Value(self.b.inst(op, &values, result)));
        }
        let Some(builtin) = builtin(&name.text) else {
            let names =
                program.functions.values().map(|f| f.name.as_str()).chain(builtin_names().map(|n: &str| n));
            let nearest = nearest(&name.text, names);
            let (what, name) = ("function", name.text.clone());
            return Err(error(span, TextErrorKind::Unknown { what, name, nearest }));
        };
        let n = match builtin {
            Builtin::Number2(_)
            | Builtin::Real2(_)
            | Builtin::MinMax(..)
            | Builtin::Complex
            | Builtin::Powi => 2,
            Builtin::Select => 3,
            _ => 1,
        };
        self.arity(name, n, args.len(), span)?;
        self.builtin(builtin, args, span)
    }

    fn arity(&self, name: &Name, expected: usize, given: usize, span: Span) -> Lowered<()> {
        let name = name.text.clone();
        if expected == given {
            Ok(())
        } else {
            Err(error(span, TextErrorKind::Arity { name, expected, given }))
        }
    }

    fn builtin(&mut self, builtin: Builtin, args: &[Expr], span: Span) -> Lowered<Given> {
        let real = |l: &mut Self, k: usize| l.expect(&args[k], &Kind::Real);
        let value = match builtin {
            Builtin::Number1(_) | Builtin::Number2(_) => {
                let mut given = Vec::new();
                for a in args {
                    given.push((self.expr(a, None)?, a.span));
                }
                let values = self.numbers(given)?;
                self.b.set_position(span.at);
                match builtin {
                    Builtin::Number1(op) => self.b.number1(op, values[0]),
                    Builtin::Number2(op) => self.b.number2(op, values[0], values[1]),
                    _ => values[0],
                }
            }
            Builtin::Real1(op) => {
                let a = real(self, 0)?;
                self.b.set_position(span.at);
                self.b.inst(Op::Real1(op), &[a], Kind::Real)
            }
            Builtin::Real2(op) => {
                let (a, b) = (real(self, 0)?, real(self, 1)?);
                self.b.set_position(span.at);
                self.b.inst(Op::Real2(op), &[a, b], Kind::Real)
            }
            Builtin::MinMax(on_reals, on_ints) => {
                let (a, b) = (self.expr(&args[0], None)?, self.expr(&args[1], None)?);
                let literals = matches!((&a, &b), (Given::Literal(_), Given::Literal(_)));
                if literals || self.is(&a, &Kind::Int) || self.is(&b, &Kind::Int) {
                    let a = self.fit(a, &Kind::Int, args[0].span)?;
                    let b = self.fit(b, &Kind::Int, args[1].span)?;
                    self.b.inst(Op::Int2(on_ints), &[a, b], Kind::Int)
                } else {
                    let a = self.fit(a, &Kind::Real, args[0].span)?;
                    let b = self.fit(b, &Kind::Real, args[1].span)?;
                    self.b.set_position(span.at);
                    self.b.inst(Op::Real2(on_reals), &[a, b], Kind::Real)
                }
            }
            Builtin::Abs | Builtin::Abs2 | Builtin::Re => {
                let given = self.expr(&args[0], None)?;
                let complex = self.is(&given, &Kind::Complex);
                let kind = if complex { Kind::Complex } else { Kind::Real };
                let a = self.fit(given, &kind, args[0].span)?;
                self.b.set_position(span.at);
                match (builtin, complex) {
                    (Builtin::Abs, true) => self.b.mixed(Mixed::Modulus, &[a]),
                    (Builtin::Abs, false) => self.b.inst(Op::Real1(Real1::Abs), &[a], Kind::Real),
                    (Builtin::Abs2, true) => self.b.mixed(Mixed::Abs2, &[a]),
                    (Builtin::Abs2, false) => self.b.number2(Number2::Mul, a, a),
                    (_, true) => self.b.mixed(Mixed::Re, &[a]),
                    (_, false) => a,
                }
            }
            Builtin::Im | Builtin::Arg | Builtin::Conj => {
                let z = self.expect(&args[0], &Kind::Complex)?;
                let op = match builtin {
                    Builtin::Im => Mixed::Im,
                    Builtin::Arg => Mixed::Arg,
                    _ => Mixed::Conj,
                };
                self.b.set_position(span.at);
                self.b.mixed(op, &[z])
            }
            Builtin::Complex => {
                let (a, b) = (real(self, 0)?, real(self, 1)?);
                self.b.set_position(span.at);
                self.b.mixed(Mixed::Complex, &[a, b])
            }
            Builtin::Real => match self.expr(&args[0], None)? {
                Given::Value(n) if *self.b.kind(n) == Kind::Int => self.b.mixed(Mixed::FromInt, &[n]),
                given => self.fit(given, &Kind::Real, args[0].span)?,
            },
            Builtin::Powi => {
                let given = self.expr(&args[0], None)?;
                let complex = self.is(&given, &Kind::Complex);
                let kind = if complex { Kind::Complex } else { Kind::Real };
                let x = self.fit(given, &kind, args[0].span)?;
                let n = self.expect(&args[1], &Kind::Int)?;
                self.b.set_position(span.at);
                self.b.mixed(if complex { Mixed::PowiComplex } else { Mixed::PowiReal }, &[x, n])
            }
            Builtin::Select => {
                let c = self.expect(&args[0], &Kind::Bool)?;
                let (a, b) = (self.expr(&args[1], None)?, self.expr(&args[2], None)?);
                let (spans, given) = ([args[1].span, args[2].span], [a, b]);
                let complex = given.iter().any(|g| self.is(g, &Kind::Complex));
                let first = given.iter().find_map(|g| match g {
                    Given::Value(v) => Some(self.b.kind(*v).clone()),
                    _ => None,
                });
                let kind = if complex { Kind::Complex } else { first.unwrap_or(Kind::Int) };
                let [a, b] = given;
                let a = self.fit(a, &kind, spans[0])?;
                let b = self.fit(b, &kind, spans[1])?;
                self.b.set_position(span.at);
                self.b.inst(Op::Select, &[c, a, b], kind)
            }
            Builtin::Len | Builtin::Sum => {
                let given = self.expr(&args[0], None)?;
                let xs = self.value(given, args[0].span)?;
                let kind = self.b.kind(xs).clone();
                self.b.set_position(span.at);
                match (builtin, &kind) {
                    (Builtin::Len, Kind::Array(_)) => self.b.inst(Op::Len, &[xs], Kind::Int),
                    (Builtin::Sum, Kind::Array(e @ (Element::Real | Element::Complex))) => {
                        self.b.inst(Op::Sum, &[xs], e.kind())
                    }
                    (Builtin::Len, _) => return Err(mismatch(args[0].span, &kind, "an array")),
                    _ => return Err(mismatch(args[0].span, &kind, "an array of real or complex numbers")),
                }
            }
        };
        Ok(Given::Value(value))
    }
}

fn int_op(op: Binary) -> Int2 {
    match op {
        Binary::Sub => Int2::Sub,
        Binary::Mul => Int2::Mul,
        Binary::Div => Int2::Div,
        Binary::Rem => Int2::Rem,
        _ => Int2::Add,
    }
}
