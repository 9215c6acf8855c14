//! Parsing of blocks and statements.

use crate::staging::InfixOperator;

use super::super::ast::{BlockSyntax, PatternSyntax, Statement, StatementKind};
use super::{TextParseResult, TextParser};

impl TextParser<'_> {
    /// Parses `{ … }`.
    pub(super) fn block(&mut self) -> TextParseResult<BlockSyntax> {
        self.nested(|p| {
            let plain = std::mem::replace(&mut p.plain, false);
            p.expect("{")?;
            let mut block = BlockSyntax::default();
            loop {
                if p.is_mark("}") {
                    block.end = p.next();
                    break;
                }
                p.statement(&mut block)?;
            }
            p.plain = plain;
            Ok(block)
        })
    }

    fn statement(&mut self, block: &mut BlockSyntax) -> TextParseResult<()> {
        let span = self.span();
        if self.eat(";") {
            return Ok(());
        }
        let kind = if self.eat_word("let") {
            let pattern = if self.eat("(") {
                PatternSyntax::Tuple(self.list(")", |p| {
                    let mutable = p.eat_word("mut");
                    Ok((p.name("a variable")?, mutable))
                })?)
            } else {
                let mutable = self.eat_word("mut");
                PatternSyntax::Name { name: self.name("a variable")?, mutable }
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
            let inclusive = self.is_mark("..=");
            if !self.eat("..=") && !self.eat("..") {
                return self.unexpected("`..` or `..=`");
            }
            let to = self.condition()?;
            StatementKind::For { variable, from, to, inclusive, body: self.block()? }
        } else if self.eat_word("break") {
            self.end_statement()?;
            StatementKind::Break
        } else if self.eat_word("continue") {
            self.end_statement()?;
            StatementKind::Continue
        } else if self.eat_word("return") {
            let value =
                if self.is_mark(";") || self.is_mark("}") { None } else { Some(self.expr()?) };
            self.end_statement()?;
            StatementKind::Return(value)
        } else if self.is_word("if") || self.is_mark("{") {
            // A statement ends with its block: a `-` after it starts a new expression.
            let value = self.nested(TextParser::atom)?;
            if self.is_mark("}") {
                block.tail = Some(Box::new(value));
                return Ok(());
            }
            StatementKind::Expr(value)
        } else {
            let value = self.expr()?;
            let op = [
                ("=", None),
                ("+=", Some(InfixOperator::Add)),
                ("-=", Some(InfixOperator::Sub)),
                ("*=", Some(InfixOperator::Mul)),
                ("/=", Some(InfixOperator::Div)),
            ];
            let assign = op.iter().find(|(mark, _)| self.is_mark(mark)).map(|(_, op)| *op);
            if let Some(op) = assign {
                self.next();
                let right = self.expr()?;
                self.end_statement()?;
                StatementKind::Assign { target: value, op, value: right }
            } else if self.is_mark("}") {
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

    /// Parses the `;`, which the last statement of a block does not need.
    fn end_statement(&mut self) -> TextParseResult<()> {
        if !self.is_mark("}") {
            self.expect(";")?;
        }
        Ok(())
    }
}
