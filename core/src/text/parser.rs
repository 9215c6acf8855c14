//! Tokens to tree, by recursive descent.
//!
//! Ranks from loosest to tightest: `||`, `&&`, comparisons (not chained), `+ -`, `* / %`, unary `- !`, postfix.
//! After an error the parser goes on at the next item, so each item reports its first error.

use crate::ir::Compare;

use super::{
    ast::{
        Binary, Block, Expr, ExprKind, Function, Items, KindExpr, KindSyntax, Name, Pattern, RulePart, Span,
        Statement, StatementKind, Struct,
    },
    error::{TextError, TextErrorKind},
    lexer::{Token, error, lex},
};

type Parsed<T> = Result<T, TextError>;

/// How deep expressions, blocks and kinds may nest.
const MAX_DEPTH: usize = 100;

/// Words that are no names.
const WORDS: [&str; 17] = [
    "fn", "struct", "rule", "let", "mut", "if", "else", "while", "for", "in", "break", "continue", "return",
    "true", "false", "none", "loop",
];

pub(super) fn parse(source: &str) -> Result<Items, Vec<TextError>> {
    let mut p = Parser { tokens: lex(source)?, place: 0, depth: 0, plain: false };
    let mut items = Items::default();
    let mut errors = Vec::new();
    while *p.peek() != Token::End {
        let start = p.place;
        if let Err(e) = p.item(&mut items) {
            errors.push(e);
            p.recover(start);
        }
    }
    if errors.is_empty() { Ok(items) } else { Err(errors) }
}

struct Parser {
    tokens: Vec<(Token, Span)>,
    place: usize,
    depth: usize,
    /// In a condition: `{` starts the block, not a struct.
    plain: bool,
}

impl Parser {
    fn peek(&self) -> &Token {
        &self.tokens[self.place].0
    }
    fn span(&self) -> Span {
        self.tokens[self.place].1
    }
    fn next(&mut self) -> (Token, Span) {
        let token = self.tokens[self.place].clone();
        self.place = (self.place + 1).min(self.tokens.len() - 1);
        token
    }
    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Token::Mark(m) if *m == mark)
    }
    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is(mark);
        if found {
            self.next();
        }
        found
    }
    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(n) if n == word)
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }
    fn unexpected<T>(&self, expected: &str) -> Parsed<T> {
        let given = self.peek().describe();
        let expected = match self.peek() {
            Token::Mark("^" | "**") => {
                "`pow(x, y)` or `powi(x, n)`: there is no operator for powers".to_owned()
            }
            _ => expected.to_owned(),
        };
        Err(error(self.span(), TextErrorKind::Unexpected { given, expected }))
    }
    fn expect(&mut self, mark: &str) -> Parsed<Span> {
        if self.is(mark) { Ok(self.next().1) } else { self.unexpected(&format!("`{mark}`")) }
    }
    fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.peek() {
            Token::Name(n) if !WORDS.contains(&n.as_str()) => {
                let text = n.clone();
                let span = self.next().1;
                Ok(Name { text, span })
            }
            _ => self.unexpected(what),
        }
    }
    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(error(self.span(), TextErrorKind::TooDeep { what: "nested", limit: MAX_DEPTH }));
        }
        self.depth += 1;
        let result = f(self);
        self.depth -= 1;
        result
    }
    /// To the next item.
    fn recover(&mut self, start: usize) {
        self.depth = 0;
        self.plain = false;
        if self.place == start {
            self.next();
        }
        let item = |t: &Token| matches!(t, Token::Name(n) if ["fn", "struct", "rule"].contains(&n.as_str()));
        while *self.peek() != Token::End && !item(self.peek()) {
            self.next();
        }
    }
    /// `item, item, …` up to the closing mark.
    fn list<T>(&mut self, close: &str, mut item: impl FnMut(&mut Self) -> Parsed<T>) -> Parsed<Vec<T>> {
        let mut items = Vec::new();
        while !self.eat(close) {
            items.push(item(self)?);
            if !self.eat(",") {
                self.expect(close)?;
                break;
            }
        }
        Ok(items)
    }

    fn item(&mut self, items: &mut Items) -> Parsed<()> {
        if self.eat_word("struct") {
            let name = self.name("the name of the struct")?;
            self.expect("{")?;
            let fields = self.list("}", |p| {
                let name = p.name("the name of a field")?;
                let kind = if p.eat(":") { Some(p.kind()?) } else { None };
                Ok((name, kind))
            })?;
            items.structs.push(Struct { name, fields });
            return Ok(());
        }
        let is_rule = self.is_word("rule");
        if !self.eat_word("fn") && !self.eat_word("rule") {
            return self.unexpected("`fn`, `struct` or `rule`");
        }
        let name = self.name("the name of the function")?;
        self.expect("(")?;
        let params = self.list(")", |p| {
            let name = p.name("the name of a parameter")?;
            let kind = if p.eat(":") { Some(p.kind()?) } else { None };
            Ok((name, kind))
        })?;
        let result = if self.eat("->") { Some(self.kind()?) } else { None };
        let body = self.block()?;
        let (mut pullback, mut pushforward) = (None, None);
        loop {
            if is_rule && self.is_word("pullback") && pullback.is_none() {
                pullback = Some(self.rule_part()?);
            } else if is_rule && self.is_word("pushforward") && pushforward.is_none() {
                pushforward = Some(self.rule_part()?);
            } else {
                break;
            }
        }
        items.functions.push(Function { name, params, result, body, is_rule, pullback, pushforward });
        Ok(())
    }

    fn rule_part(&mut self) -> Parsed<RulePart> {
        let span = self.next().1;
        self.expect("(")?;
        let params = self.list(")", |p| p.name("the name of a parameter"))?;
        Ok(RulePart { span, params, body: self.block()? })
    }

    fn kind(&mut self) -> Parsed<KindExpr> {
        self.nested(|p| {
            let span = p.span();
            if p.eat("(") {
                return Ok(KindExpr { span, kind: KindSyntax::Tuple(p.list(")", Parser::kind)?) });
            }
            let name = p.name("a kind")?;
            let kind = if name.text == "array" {
                let real = KindExpr { span, kind: KindSyntax::Name("real".into()) };
                let element = if p.eat("<") {
                    let element = p.kind()?;
                    p.expect(">")?;
                    element
                } else {
                    real
                };
                KindSyntax::Array(Box::new(element))
            } else {
                KindSyntax::Name(name.text)
            };
            Ok(KindExpr { span: name.span, kind })
        })
    }

    fn block(&mut self) -> Parsed<Block> {
        self.nested(|p| {
            let plain = std::mem::replace(&mut p.plain, false);
            p.expect("{")?;
            let mut block = Block::default();
            loop {
                if p.is("}") {
                    block.end = p.next().1;
                    break;
                }
                p.statement(&mut block)?;
            }
            p.plain = plain;
            Ok(block)
        })
    }

    fn statement(&mut self, block: &mut Block) -> Parsed<()> {
        let span = self.span();
        if self.eat(";") {
            return Ok(());
        }
        let kind = if self.eat_word("let") {
            let pattern = if self.eat("(") {
                Pattern::Tuple(self.list(")", |p| {
                    let mutable = p.eat_word("mut");
                    Ok((p.name("a variable")?, mutable))
                })?)
            } else {
                let mutable = self.eat_word("mut");
                Pattern::Name { name: self.name("a variable")?, mutable }
            };
            let kind = if self.eat(":") { Some(self.kind()?) } else { None };
            self.expect("=")?;
            let value = self.expr()?;
            self.expect(";")?;
            StatementKind::Let { pattern, kind, value }
        } else if self.eat_word("while") {
            let condition = self.condition()?;
            StatementKind::While { condition, body: self.block()? }
        } else if self.eat_word("for") {
            let variable = self.name("the variable of the loop")?;
            if !self.eat_word("in") {
                return self.unexpected("`in`");
            }
            let from = self.condition()?;
            let inclusive = self.is("..=");
            if !self.eat("..=") && !self.eat("..") {
                return self.unexpected("`..` or `..=`");
            }
            let to = self.condition()?;
            StatementKind::For { variable, from, to, inclusive, body: self.block()? }
        } else if self.eat_word("break") {
            self.expect(";")?;
            StatementKind::Break
        } else if self.eat_word("continue") {
            self.expect(";")?;
            StatementKind::Continue
        } else if self.eat_word("return") {
            let value = if self.is(";") || self.is("}") { None } else { Some(self.expr()?) };
            if !self.is("}") {
                self.expect(";")?;
            }
            StatementKind::Return(value)
        } else if self.is_word("if") || self.is("{") {
            // As a statement it ends with its block: a `-` after it starts something new.
            let value = self.nested(Parser::atom)?;
            if self.is("}") {
                block.tail = Some(Box::new(value));
                return Ok(());
            }
            StatementKind::Expr(value)
        } else {
            let value = self.expr()?;
            let op = [
                ("=", None),
                ("+=", Some(Binary::Add)),
                ("-=", Some(Binary::Sub)),
                ("*=", Some(Binary::Mul)),
                ("/=", Some(Binary::Div)),
            ];
            let assign = op.iter().find(|(mark, _)| self.is(mark)).map(|(_, op)| *op);
            if let Some(op) = assign {
                self.next();
                let right = self.expr()?;
                self.expect(";")?;
                StatementKind::Assign { target: value, op, value: right }
            } else if self.is("}") {
                block.tail = Some(Box::new(value));
                return Ok(());
            } else {
                if !self.eat(";") {
                    return self.unexpected("an operator, `;` or `}`");
                }
                StatementKind::Expr(value)
            }
        };
        block.statements.push(Statement { span, kind });
        Ok(())
    }

    /// An expression before a block.
    fn condition(&mut self) -> Parsed<Expr> {
        let plain = std::mem::replace(&mut self.plain, true);
        let value = self.expr();
        self.plain = plain;
        value
    }

    fn expr(&mut self) -> Parsed<Expr> {
        self.nested(|p| p.chain(0))
    }

    /// Operators of the given rank.
    fn chain(&mut self, rank: usize) -> Parsed<Expr> {
        if rank == 5 {
            return self.unary();
        }
        let first = self.chain(rank + 1)?;
        let mut more = Vec::new();
        while let Some(op) = self.operator(rank) {
            let span = self.next().1;
            more.push((op, span, self.chain(rank + 1)?));
            if rank == 2 && self.operator(2).is_some() {
                return self.unexpected("`&&`: comparisons are not chained");
            }
        }
        if more.is_empty() {
            return Ok(first);
        }
        Ok(Expr { span: first.span, kind: ExprKind::Chain(Box::new(first), more) })
    }

    fn operator(&self, rank: usize) -> Option<Binary> {
        let Token::Mark(mark) = self.peek() else { return None };
        Some(match (rank, *mark) {
            (0, "||") => Binary::Or,
            (1, "&&") => Binary::And,
            (2, "<") => Binary::Compare(Compare::Lt),
            (2, "<=") => Binary::Compare(Compare::Le),
            (2, ">") => Binary::Compare(Compare::Gt),
            (2, ">=") => Binary::Compare(Compare::Ge),
            (2, "==") => Binary::Compare(Compare::Eq),
            (2, "!=") => Binary::Compare(Compare::Ne),
            (3, "+") => Binary::Add,
            (3, "-") => Binary::Sub,
            (4, "*") => Binary::Mul,
            (4, "/") => Binary::Div,
            (4, "%") => Binary::Rem,
            _ => return None,
        })
    }

    fn unary(&mut self) -> Parsed<Expr> {
        let span = self.span();
        if self.eat("-") {
            let e = self.nested(Parser::unary)?;
            return Ok(Expr { span, kind: ExprKind::Neg(Box::new(e)) });
        }
        if self.eat("!") {
            let e = self.nested(Parser::unary)?;
            return Ok(Expr { span, kind: ExprKind::Not(Box::new(e)) });
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Parsed<Expr> {
        let mut e = self.atom()?;
        let mut links = 0;
        loop {
            links += 1;
            if links > MAX_DEPTH {
                return Err(error(self.span(), TextErrorKind::TooDeep { what: "nested", limit: MAX_DEPTH }));
            }
            if self.eat("[") {
                let index = self.free(Parser::expr)?;
                self.expect("]")?;
                e = Expr { span: e.span, kind: ExprKind::Index(Box::new(e), Box::new(index)) };
            } else if self.eat(".") {
                if let Token::Int(k) = *self.peek() {
                    let span = self.next().1;
                    let Ok(k) = usize::try_from(k) else { return self.unexpected("the number of a field") };
                    e = Expr { span, kind: ExprKind::TupleField(Box::new(e), k) };
                    continue;
                }
                let name = self.name("a field or a function")?;
                if self.eat("(") {
                    let more = self.free(|p| p.list(")", Parser::expr))?;
                    let args = std::iter::once(e).chain(more).collect();
                    e = Expr { span: name.span, kind: ExprKind::Call(name, args) };
                } else {
                    e = Expr { span: name.span, kind: ExprKind::Field(Box::new(e), name) };
                }
            } else {
                return Ok(e);
            }
        }
    }

    /// Inside brackets: structs may be written again.
    fn free<T>(&mut self, f: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let plain = std::mem::replace(&mut self.plain, false);
        let result = f(self);
        self.plain = plain;
        result
    }

    fn atom(&mut self) -> Parsed<Expr> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Int(n) => {
                self.next();
                ExprKind::Int(n)
            }
            Token::Real(x) => {
                self.next();
                ExprKind::Real(x)
            }
            Token::Mark("(") => {
                self.next();
                let mut items = Vec::new();
                let mut tuple = self.is(")");
                self.free(|p| {
                    while !p.eat(")") {
                        items.push(p.expr()?);
                        if p.eat(",") {
                            tuple = true;
                        } else {
                            p.expect(")")?;
                            break;
                        }
                    }
                    Ok(())
                })?;
                if !tuple && let Some(one) = items.pop() {
                    return Ok(one);
                }
                ExprKind::Tuple(items)
            }
            Token::Mark("[") => {
                self.next();
                return self.free(|p| p.array(span));
            }
            Token::Mark("{") => ExprKind::Block(self.block()?),
            Token::Name(name) => match name.as_str() {
                "true" | "false" => {
                    self.next();
                    ExprKind::Bool(name == "true")
                }
                "none" => {
                    self.next();
                    ExprKind::None
                }
                "if" => self.if_else()?,
                _ => {
                    let name = self.name("an expression")?;
                    if self.eat("(") {
                        let args = self.free(|p| p.list(")", Parser::expr))?;
                        ExprKind::Call(name, args)
                    } else if self.is("{") && !self.plain {
                        self.next();
                        let fields = self.list("}", |p| {
                            let field = p.name("the name of a field")?;
                            let value = if p.eat(":") {
                                p.expr()?
                            } else {
                                Expr { span: field.span, kind: ExprKind::Name(field.text.clone()) }
                            };
                            Ok((field, value))
                        })?;
                        ExprKind::Struct(name, fields)
                    } else {
                        ExprKind::Name(name.text)
                    }
                }
            },
            _ => return self.unexpected("an expression"),
        };
        Ok(Expr { span, kind })
    }

    fn array(&mut self, span: Span) -> Parsed<Expr> {
        if self.eat("]") {
            return Ok(Expr { span, kind: ExprKind::Array(vec![]) });
        }
        let first = self.expr()?;
        if self.eat(";") {
            let n = self.expr()?;
            self.expect("]")?;
            return Ok(Expr { span, kind: ExprKind::Repeat(Box::new(first), Box::new(n)) });
        }
        let mut items = vec![first];
        if self.eat(",") {
            items.extend(self.list("]", Parser::expr)?);
        } else {
            self.expect("]")?;
        }
        Ok(Expr { span, kind: ExprKind::Array(items) })
    }

    fn if_else(&mut self) -> Parsed<ExprKind> {
        let mut arms = Vec::new();
        loop {
            self.next();
            let condition = self.condition()?;
            arms.push((condition, self.block()?));
            if !self.eat_word("else") {
                return Ok(ExprKind::If(arms, None));
            }
            if !self.is_word("if") {
                return Ok(ExprKind::If(arms, Some(self.block()?)));
            }
        }
    }
}
