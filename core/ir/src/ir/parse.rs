//! Parses the text of a program; the inverse of printing.
//!
//! The text is line by line what [`Program`]'s `Display` writes; `//` starts a comment. Errors are
//! collected, one for each line that cannot be parsed. The result is not yet verified.

use std::{cmp::Ordering, collections::HashMap};

use crate::{
    entity::{Block, FuncId, PrimitiveId, Value},
    errors::Errors,
};

use super::{
    function::{
        BlockData, CustomRule, Function, InstData, Param, Position, Primitive, Program, Target,
        Terminator,
    },
    kind::{Element, Field, Kind, MAX_KIND_DEPTH, TupleKind},
    op::{Literal, Op, order_name},
};

/// Error of a line that cannot be parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: expected {expected}, found `{found}`")]
#[non_exhaustive]
pub struct IrParseError {
    /// The line, from 1.
    pub line: u32,
    /// Text that is expected.
    pub expected: String,
    /// Text that was found.
    pub found: String,
}

/// Parses a program.
///
/// # Errors
/// One for every line that cannot be parsed.
pub fn parse(text: &str) -> Result<Program, Errors<IrParseError>> {
    let mut parser = IrParser::default();
    parser.names(text);
    let mut errors = Vec::new();
    for (k, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("").trim();
        let mut line = LineCursor { rest: code };
        if let Err(expected) = parser.line(&mut line) {
            let mut found: String = line.rest.chars().take(30).collect();
            if found.is_empty() {
                found.push_str("the end of the line");
            }
            errors.push(IrParseError { line: k as u32 + 1, expected, found });
        }
    }
    if parser.open.is_some() {
        let line = text.lines().count() as u32;
        errors.push(IrParseError { line, expected: "`}`".into(), found: "the end".into() });
    }
    Errors::none_in(errors)?;
    Ok(parser.finish())
}

/// Cursor over the rest of a line.
struct LineCursor<'a> {
    rest: &'a str,
}

type IrParseResult<T> = Result<T, String>;

impl<'a> LineCursor<'a> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }
    fn eat(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }
    fn expect(&mut self, token: &str) -> IrParseResult<()> {
        if self.eat(token) { Ok(()) } else { Err(format!("`{token}`")) }
    }
    /// Parses letters, digits and `_ . - +`: names and numbers.
    fn word(&mut self) -> IrParseResult<&'a str> {
        self.skip();
        let end = self
            .rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '+')))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        if word.is_empty() {
            return Err("a name".into());
        }
        self.rest = rest;
        Ok(word)
    }
    fn number<T: std::str::FromStr>(&mut self, what: &str) -> IrParseResult<T> {
        let before = self.rest;
        self.word()?.parse().map_err(|_| {
            self.rest = before;
            what.to_owned()
        })
    }
    /// Parses a real number, or a NaN by its bits.
    fn literal(&mut self) -> IrParseResult<Literal> {
        let before = self.rest;
        let bits =
            self.word().ok().and_then(|w| u64::from_str_radix(w.strip_prefix("nan0x")?, 16).ok());
        if let Some(x) = bits.map(f64::from_bits).filter(|x| x.is_nan()) {
            return Ok(Literal(x));
        }
        self.rest = before;
        self.number("a real number").map(Literal)
    }
    fn tagged(&mut self, prefix: &str) -> IrParseResult<usize> {
        let before = self.rest;
        let number = self.word().ok().and_then(|w| w.strip_prefix(prefix)?.parse::<u32>().ok());
        number.map(|n| n as usize).ok_or_else(|| {
            self.rest = before;
            format!("`{prefix}` and a number")
        })
    }
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> IrParseResult<T>,
    ) -> IrParseResult<Vec<T>> {
        let mut items = vec![item(self)?];
        while self.eat(",") {
            items.push(item(self)?);
        }
        Ok(items)
    }
    fn end(&mut self) -> IrParseResult<()> {
        self.skip();
        if self.rest.is_empty() { Ok(()) } else { Err("the end of the line".into()) }
    }
    fn position(&mut self) -> IrParseResult<Position> {
        if !self.eat("@") {
            return Ok(Position::default());
        }
        let line = self.number("a line number")?;
        self.expect(":")?;
        Ok(Position::new(line, self.number("a column number")?))
    }
    fn kind(&mut self, depth: usize) -> IrParseResult<Kind> {
        if depth > MAX_KIND_DEPTH {
            return Err(format!("kinds nested at most {MAX_KIND_DEPTH} deep"));
        }
        if self.eat("(") {
            let mut fields = Vec::new();
            while !self.eat(")") {
                fields.push(Field { name: None, kind: self.kind(depth + 1)? });
                if !self.eat(",") {
                    self.expect(")")?;
                    break;
                }
            }
            return Ok(Kind::Tuple(std::sync::Arc::new(TupleKind { name: None, fields })));
        }
        let before = self.rest;
        let name = self.word().map_err(|_| "a kind".to_owned())?;
        // A struct's brace follows its name at once; after a space it starts a function's body.
        if self.rest.starts_with('{') && self.eat("{") {
            let mut fields = Vec::new();
            while !self.eat("}") {
                let field = self.word()?.to_owned();
                self.expect(":")?;
                fields.push((field, self.kind(depth + 1)?));
                if !self.eat(",") {
                    self.expect("}")?;
                    break;
                }
            }
            return Ok(Kind::structure(name, fields));
        }
        match name {
            "real" => Ok(Kind::Real),
            "complex" => Ok(Kind::Complex),
            "int" => Ok(Kind::Int),
            "bool" => Ok(Kind::Bool),
            "handle" => Ok(Kind::Handle),
            "array" => {
                self.expect("<")?;
                let element = self.kind(depth + 1)?;
                self.expect(">")?;
                Element::from_kind(&element)
                    .map(Kind::Array)
                    .ok_or_else(|| "an element that is a number".into())
            }
            _ => {
                self.rest = before;
                Err("a kind".into())
            }
        }
    }
}

/// Function being parsed: operands are still numbers of the text.
struct PartialFunction {
    function: Function,
    values: HashMap<usize, Value>,
    /// Operands of each instruction, and values that the terminator of each block mentions.
    args: Vec<Vec<usize>>,
    ends: Vec<Vec<usize>>,
}

#[derive(Default)]
struct IrParser {
    program: Program,
    functions: HashMap<String, FuncId>,
    primitives: HashMap<String, PrimitiveId>,
    /// Number of functions and of primitives.
    count: [usize; 2],
    open: Option<PartialFunction>,
    links: Vec<(PrimitiveId, Option<PrimitiveId>, Option<PrimitiveId>)>,
}

impl IrParser {
    /// Collects the names first, because calls may refer to later functions. Of several functions
    /// of one name the last counts, of several primitives the first.
    fn names(&mut self, text: &str) {
        let (mut functions, mut primitives) = (0, 0);
        for line in text.lines() {
            let mut line = LineCursor { rest: line.trim() };
            if line.eat("fn ") {
                if let Ok(name) = line.word() {
                    self.functions.insert(name.to_owned(), FuncId::new(functions));
                    functions += 1;
                }
            } else if line.eat("primitive ")
                && let Ok(name) = line.word()
            {
                self.primitives.entry(name.to_owned()).or_insert(PrimitiveId::new(primitives));
                primitives += 1;
            }
        }
        self.count = [functions, primitives];
    }

    /// Parses `@name`, or `fn2`.
    fn function(&self, line: &mut LineCursor<'_>) -> IrParseResult<FuncId> {
        reference(line, ["fn", "a function"], self.count[0], FuncId::new, &self.functions)
    }

    /// Parses `@name`, or `primitive2`.
    fn primitive(&self, line: &mut LineCursor<'_>) -> IrParseResult<PrimitiveId> {
        let tag = ["primitive", "a primitive"];
        reference(line, tag, self.count[1], PrimitiveId::new, &self.primitives)
    }

    fn line(&mut self, line: &mut LineCursor<'_>) -> IrParseResult<()> {
        if line.rest.is_empty() {
            return Ok(());
        }
        if let Some(mut open) = self.open.take() {
            if line.eat("}") {
                self.close(open);
                return line.end();
            }
            let result = self.body(&mut open, line);
            self.open = Some(open);
            return result;
        }
        if line.eat("primitive ") {
            let name = line.word()?.to_owned();
            let Kind::Tuple(params) = line.kind(0)? else {
                return Err("the kinds of the operands".into());
            };
            line.expect("->")?;
            let result = line.kind(0)?;
            let params = params.fields.iter().map(|f| f.kind.clone()).collect();
            let primitive = Primitive { name, params, result, pullback: None, pushforward: None };
            let id = self.program.primitives.push(primitive);
            let pullback = if line.eat("pullback ") { Some(self.primitive(line)?) } else { None };
            let pushforward =
                if line.eat("pushforward ") { Some(self.primitive(line)?) } else { None };
            self.links.push((id, pullback, pushforward));
            return line.end();
        }
        if line.eat("rule ") {
            let f = self.function(line)?;
            let pullback = if line.eat("pullback ") { Some(self.function(line)?) } else { None };
            let pushforward =
                if line.eat("pushforward ") { Some(self.function(line)?) } else { None };
            let non_differentiable = line.eat("non_differentiable");
            self.program.set_rule(f, CustomRule { pullback, pushforward, non_differentiable });
            return line.end();
        }
        if !line.eat("fn ") {
            return Err("`fn`, `rule` or `primitive`".into());
        }
        let name = line.word()?.to_owned();
        line.expect("(")?;
        let names = if line.eat(")") {
            vec![]
        } else {
            let names = line.list(LineCursor::word)?;
            line.expect(")")?;
            names
        };
        line.expect("->")?;
        let result = line.kind(0)?;
        let params = names.into_iter().map(|n| Param::new(n, Kind::Real)).collect();
        let function = Function::declared(name, params, result);
        if line.eat(";") {
            self.program.add(function);
            return line.end();
        }
        line.expect("{")?;
        self.open =
            Some(PartialFunction { function, values: HashMap::new(), args: vec![], ends: vec![] });
        line.end()
    }

    fn body(&mut self, open: &mut PartialFunction, line: &mut LineCursor<'_>) -> IrParseResult<()> {
        if line.rest.starts_with("block") {
            let number = line.tagged("block")?;
            if number != open.function.blocks.len() {
                return Err(format!(
                    "`block{}`: blocks are numbered in order",
                    open.function.blocks.len()
                ));
            }
            let block = open.function.blocks.push(BlockData::default());
            open.ends.push(vec![]);
            if line.eat("(") {
                for (v, kind) in line.list(|l| definition(l))? {
                    let value = open.define(v, kind)?;
                    open.function.blocks[block].params.push(value);
                }
                line.expect(")")?;
            }
            line.expect(":")?;
            return line.end();
        }
        let Some(block) = open.function.blocks.keys().next_back() else {
            return Err("`block0`".into());
        };
        if open.function.blocks[block].end != Terminator::Open {
            return Err("a new block or `}`".into());
        }
        let before = line.rest;
        if let Some(end) = self.terminator(line, &mut open.ends[block.index()])? {
            let data = &mut open.function.blocks[block];
            data.end = end;
            data.end_at = line.position()?;
            return line.end();
        }
        line.rest = before;
        let result = if line.rest.starts_with('v')
            && line.rest[1..].starts_with(|c: char| c.is_ascii_digit())
        {
            let (v, kind) = definition(line)?;
            line.expect("=")?;
            Some(open.define(v, kind)?)
        } else {
            None
        };
        let (op, args) = self.operation(line)?;
        let at = line.position()?;
        let inst = open.function.insts.push(InstData { op, args: Default::default(), result, at });
        open.args.push(args);
        open.function.blocks[block].insts.push(inst);
        line.end()
    }

    fn operation(&self, line: &mut LineCursor<'_>) -> IrParseResult<(Op, Vec<usize>)> {
        let before = line.rest;
        let name = line.word()?;
        let parts: Vec<&str> = name.split('.').collect();
        let number = |s: &str| s.parse::<u32>().map_err(|_| "a number".to_owned());
        let op = match parts.as_slice() {
            ["real"] => return Ok((Op::Real(line.literal()?), vec![])),
            ["int"] => return Ok((Op::Int(line.number("an integer")?), vec![])),
            ["bool"] => return Ok((Op::Bool(line.number("true or false")?), vec![])),
            ["field", k] => Op::Field(number(k)?),
            ["expect", word] => {
                let orders =
                    [Some(Ordering::Less), Some(Ordering::Equal), Some(Ordering::Greater), None];
                let order = orders.into_iter().find(|o| order_name(*o) == *word);
                Op::Expect(
                    order.ok_or_else(|| "`less`, `equal`, `greater` or `unordered`".to_owned())?,
                )
            }
            ["push", tape, slot] => Op::Push { tape: number(tape)?, slot: number(slot)? },
            ["pop", tape, slot] => Op::Pop { tape: number(tape)?, slot: number(slot)? },
            ["call"] => {
                let f = self.function(line)?;
                return Ok((Op::Call(f), operands(line)?));
            }
            ["primitive"] => {
                let f = self.primitive(line)?;
                return Ok((Op::Primitive(f), operands(line)?));
            }
            [name] => Op::by_name(name).ok_or_else(|| {
                line.rest = before;
                "an operation".to_owned()
            })?,
            _ => return Err("an operation".into()),
        };
        line.skip();
        let args = if line.rest.starts_with('v') { line.list(|l| l.tagged("v"))? } else { vec![] };
        Ok((op, args))
    }

    fn terminator(
        &self,
        line: &mut LineCursor<'_>,
        mentions: &mut Vec<usize>,
    ) -> IrParseResult<Option<Terminator>> {
        let Ok(word) = line.word() else { return Ok(None) };
        // Values are stored as indices into the mentions, and replaced when the function is
        // complete.
        let mut value = |line: &mut LineCursor<'_>| {
            mentions.push(line.tagged("v")?);
            Ok(Value::new(mentions.len() - 1))
        };
        let target =
            |line: &mut LineCursor<'_>,
             value: &mut dyn FnMut(&mut LineCursor<'_>) -> IrParseResult<Value>| {
                let block = Block::new(line.tagged("block")?);
                let args = if line.eat("(") {
                    let args = line.list(|l| value(l))?;
                    line.expect(")")?;
                    args
                } else {
                    vec![]
                };
                Ok::<Target, String>(Target { block, args })
            };
        Ok(Some(match word {
            "open" => Terminator::Open,
            "jump" => Terminator::Jump(target(line, &mut value)?),
            "return" => Terminator::Return(value(line)?),
            "branch" => {
                let c = value(line)?;
                line.expect(",")?;
                let a = target(line, &mut value)?;
                line.expect(",")?;
                Terminator::Branch(c, a, target(line, &mut value)?)
            }
            "switch" => {
                let i = value(line)?;
                line.expect(",")?;
                Terminator::Switch(i, line.list(|l| target(l, &mut value))?)
            }
            _ => return Ok(None),
        }))
    }

    fn close(&mut self, open: PartialFunction) {
        let PartialFunction { mut function, values, args, ends } = open;
        // A value that is used and never defined gets an unused number; the verifier names it.
        let undefined = Value::new(function.kinds.len());
        let value = |v: usize| values.get(&v).copied().unwrap_or(undefined);
        for (inst, args) in function.insts.values_mut().zip(args) {
            inst.args = args.into_iter().map(value).collect();
        }
        for (block, mentions) in function.blocks.values_mut().zip(ends) {
            block.end.map_values(|place| value(mentions[place.index()]));
        }
        let kinds: Vec<Kind> =
            function.param_values().iter().map(|&v| function.kinds[v].clone()).collect();
        for (param, kind) in function.params.iter_mut().zip(kinds) {
            param.kind = kind;
        }
        self.program.add(function);
    }

    fn finish(mut self) -> Program {
        for (id, pullback, pushforward) in self.links {
            self.program.primitives[id].pullback = pullback;
            self.program.primitives[id].pushforward = pushforward;
        }
        self.program
    }
}

impl PartialFunction {
    fn define(&mut self, v: usize, kind: Kind) -> IrParseResult<Value> {
        let value = self.function.new_value(kind);
        match self.values.insert(v, value) {
            None => Ok(value),
            Some(_) => Err(format!("a value other than v{v}, which is defined already")),
        }
    }
}

/// Parses `@name` of a table, or its tag and a number below `count`; `what` is for errors.
fn reference<I: Copy + std::fmt::Display>(
    line: &mut LineCursor<'_>,
    [tag, what]: [&str; 2],
    count: usize,
    id: fn(usize) -> I,
    table: &HashMap<String, I>,
) -> IrParseResult<I> {
    if let Ok(number) = line.tagged(tag) {
        let id = id(number);
        return if number < count { Ok(id) } else { Err(format!("{what} before {id}")) };
    }
    line.expect("@")?;
    table.get(line.word()?).copied().ok_or_else(|| what.into())
}

/// Parses `v3: real`.
fn definition(line: &mut LineCursor<'_>) -> IrParseResult<(usize, Kind)> {
    let v = line.tagged("v")?;
    line.expect(":")?;
    Ok((v, line.kind(0)?))
}

/// Parses `(v1, v2)`.
fn operands(line: &mut LineCursor<'_>) -> IrParseResult<Vec<usize>> {
    line.expect("(")?;
    if line.eat(")") {
        return Ok(vec![]);
    }
    let args = line.list(|l| l.tagged("v"))?;
    line.expect(")")?;
    Ok(args)
}
