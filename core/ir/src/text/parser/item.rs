//! Parsing of structs, functions, rules, and kinds.

use super::super::ast::{FunctionSyntax, Items, KindExpr, KindSyntax, RulePart, Struct};
use super::{TextParseResult, TextParser};

impl TextParser<'_> {
    /// Parses a struct, a function or a rule.
    pub(super) fn item(&mut self, items: &mut Items) -> TextParseResult<()> {
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
        items.functions.push(FunctionSyntax {
            name,
            params,
            result,
            body,
            is_rule,
            pullback,
            pushforward,
        });
        Ok(())
    }

    fn rule_part(&mut self) -> TextParseResult<RulePart> {
        let span = self.next();
        self.expect("(")?;
        let params = self.list(")", |p| {
            let name = p.name("the name of a parameter")?;
            if p.is_mark(":") {
                return p.unexpected(
                    "`,` or `)` (here the parameters have the kinds that the rule says)",
                );
            }
            Ok(name)
        })?;
        Ok(RulePart { span, params, body: self.block()? })
    }

    /// Parses a kind, as after `:`.
    pub(super) fn kind(&mut self) -> TextParseResult<KindExpr> {
        self.nested(|p| {
            let span = p.span();
            if p.eat("(") {
                return Ok(KindExpr {
                    span,
                    kind: KindSyntax::Tuple(p.list(")", TextParser::kind)?),
                });
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
}
