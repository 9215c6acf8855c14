//! Recursive-descent parser: tokens to syntax tree.
//!
//! Precedence from loosest to tightest: `||`, `&&`, comparisons (not chained), `+ -`, `* / %`,
//! unary `- !`, postfix. After an error the parser continues at the next item (error recovery), so
//! each item reports its first error.
//!
//! | file | reads |
//! |---|---|
//! | `item` | structs, functions, rules, kinds |
//! | `statement` | blocks and statements |
//! | `expression` | expressions |
//! | `foreign` | what to write for what other languages have |

mod expression;
mod foreign;
mod item;
mod statement;

pub(super) use foreign::own_name;

use super::{
    ast::{Items, NameSyntax, TextSpan},
    error::{TextError, TextErrorKind},
    lexer::{TextToken, error},
    limits::is_full,
};
use crate::{errors::Errors, stack::deep, staging::is_name};

type TextParseResult<T> = Result<T, TextError>;

/// Maximum nesting of expressions, blocks and kinds. The stack of WebAssembly does not grow.
const MAX_DEPTH: usize = if cfg!(target_arch = "wasm32") { 64 } else { 1000 };

/// Maximum height of a tree: its nesting, and the links of `x.f().g()` on top.
const MAX_HEIGHT: usize = MAX_DEPTH + 100;

/// Parses the tokens of a text, of which [`TextToken::End`] is the last.
pub(super) fn parse(tokens: &[(TextToken, TextSpan)]) -> Result<Items, Errors<TextError>> {
    let mut p = TextParser { tokens, place: 0, depth: 0, height: 0, plain: false };
    let mut items = Items::default();
    let mut errors = Vec::new();
    while *p.peek() != TextToken::End && !is_full(&mut errors) {
        let start = p.place;
        if let Err(e) = p.item(&mut items) {
            errors.push(e);
            p.recover(start);
        }
    }
    Errors::none_in(errors).map(|()| items)
}

struct TextParser<'a> {
    tokens: &'a [(TextToken, TextSpan)],
    place: usize,
    /// Number of open levels.
    depth: usize,
    /// Height of the highest tree that was parsed on this level.
    height: usize,
    /// True in a condition: `{` starts the block, not a struct.
    plain: bool,
}

impl TextParser<'_> {
    fn peek(&self) -> &TextToken {
        &self.tokens[self.place].0
    }
    fn span(&self) -> TextSpan {
        self.tokens[self.place].1
    }
    fn next(&mut self) -> TextSpan {
        let span = self.span();
        self.place = (self.place + 1).min(self.tokens.len() - 1);
        span
    }
    fn is_mark(&self, mark: &str) -> bool {
        matches!(self.peek(), TextToken::Mark(m) if *m == mark)
    }
    fn eat(&mut self, mark: &str) -> bool {
        let found = self.is_mark(mark);
        if found {
            self.next();
        }
        found
    }
    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), TextToken::Name(n) if n == word)
    }
    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }
    fn unexpected<T>(&self, expected: &str) -> TextParseResult<T> {
        let given = self.peek().describe();
        let before = self.place.checked_sub(1).map_or(&TextToken::End, |k| &self.tokens[k].0);
        let after = self.tokens.get(self.place + 1).map_or(&TextToken::End, |t| &t.0);
        let expected =
            foreign::advice(before, self.peek(), after, expected).unwrap_or(expected).to_owned();
        Err(error(self.span(), TextErrorKind::Unexpected { given, expected }))
    }
    fn expect(&mut self, mark: &str) -> TextParseResult<TextSpan> {
        if self.is_mark(mark) { Ok(self.next()) } else { self.unexpected(&format!("`{mark}`")) }
    }
    fn name(&mut self, what: &str) -> TextParseResult<NameSyntax> {
        match self.peek() {
            TextToken::Name(n) if is_name(n) => {
                let text = n.clone();
                let span = self.next();
                Ok(NameSyntax { text, span })
            }
            _ => self.unexpected(what),
        }
    }
    /// Runs `f` one level deeper.
    fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> TextParseResult<T>) -> TextParseResult<T> {
        if self.depth >= MAX_DEPTH {
            return self.too_deep(MAX_DEPTH);
        }
        self.depth += 1;
        let result = deep(|| {
            self.growing(|p| {
                let result = f(p)?;
                p.grow()?;
                Ok(result)
            })
        });
        self.depth -= 1;
        result
    }
    /// Runs `f` on a separate tree next to those already parsed.
    fn growing<T>(
        &mut self,
        f: impl FnOnce(&mut Self) -> TextParseResult<T>,
    ) -> TextParseResult<T> {
        let others = std::mem::replace(&mut self.height, 0);
        let result = f(self);
        self.height = self.height.max(others);
        result
    }
    /// Adds a node on top of the tree that was just parsed.
    fn grow(&mut self) -> TextParseResult<()> {
        self.height += 1;
        if self.height > MAX_HEIGHT { self.too_deep(MAX_HEIGHT) } else { Ok(()) }
    }
    fn too_deep<T>(&self, limit: usize) -> TextParseResult<T> {
        Err(error(self.span(), TextErrorKind::TooDeep { what: "nested", limit }))
    }
    /// Skips to the next item.
    fn recover(&mut self, start: usize) {
        self.depth = 0;
        self.height = 0;
        self.plain = false;
        if self.place == start {
            self.next();
        }
        let item = |t: &TextToken| matches!(t, TextToken::Name(n) if ["fn", "struct", "rule"].contains(&n.as_str()));
        while *self.peek() != TextToken::End && !item(self.peek()) {
            self.next();
        }
    }

    /// Parses `item, item, …` up to the closing mark.
    fn list<T>(
        &mut self,
        close: &str,
        mut item: impl FnMut(&mut Self) -> TextParseResult<T>,
    ) -> TextParseResult<Vec<T>> {
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
}
