//! Operators between their operands: precedence, and the parentheses that follow from it.

/// Precedence of the outermost operator of an expression, loosest first. It covers Rust, the
/// program language, OpenQASM and formulas; a language has some of the levels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[doc(hidden)]
pub enum Precedence {
    /// An expression that is no operand without parentheses, such as `if … else …`.
    #[default]
    Lowest,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    /// `==` and `!=`, where they bind weaker than other comparisons.
    Equality,
    Compare,
    Shift,
    Sum,
    Product,
    /// A sign before its operand.
    Prefix,
    Power,
    /// A name, a number, a call, an index, or anything in parentheses.
    Atom,
}

/// Text of an expression, and the precedence of its outermost operator.
#[doc(hidden)]
pub type Infix = (String, Precedence);

impl Precedence {
    const LEVELS: [Precedence; 14] = [
        Precedence::Lowest,
        Precedence::Or,
        Precedence::And,
        Precedence::BitOr,
        Precedence::BitXor,
        Precedence::BitAnd,
        Precedence::Equality,
        Precedence::Compare,
        Precedence::Shift,
        Precedence::Sum,
        Precedence::Product,
        Precedence::Prefix,
        Precedence::Power,
        Precedence::Atom,
    ];

    /// Returns the next level; that of an atom is the last.
    #[doc(hidden)]
    pub fn tighter(self) -> Precedence {
        let next = Precedence::LEVELS.into_iter().find(|level| *level > self);
        next.unwrap_or(Precedence::Atom)
    }

    /// Returns the least precedence that the left and the right operand of an operator need
    /// without parentheses: operators associate to the left, but comparisons do not chain, and the
    /// operands of a power are atoms, since languages differ in how powers associate.
    #[doc(hidden)]
    pub fn operands(self) -> (Precedence, Precedence) {
        match self {
            Precedence::Compare | Precedence::Power => (self.tighter(), self.tighter()),
            _ => (self, self.tighter()),
        }
    }
}

/// Returns the text of an [`Atom`](Precedence::Atom).
#[doc(hidden)]
pub fn atom(text: String) -> Infix {
    (text, Precedence::Atom)
}

/// Returns the text of an operand, in parentheses if it binds weaker than `least`.
#[doc(hidden)]
pub fn parenthesized((text, precedence): Infix, least: Precedence) -> String {
    if precedence < least { format!("({text})") } else { text }
}

/// Returns the sign before a term of a sum, which is written without its own.
#[doc(hidden)]
pub fn sign_of_term(is_first: bool, is_negative: bool) -> &'static str {
    match (is_first, is_negative) {
        (true, false) => "",
        (true, true) => "-",
        (false, false) => " + ",
        (false, true) => " - ",
    }
}
