//! Expressions over classical bits: what `if` asks for and what assignments store.
//!
//! A circuit knows conditions, not arithmetic. So an expression is a value that is known, some bits in order
//! (a register, a slice, a concatenation, what `words` computes), or a condition on bits.

use std::cmp::Ordering;

use super::{
    Lower, Lowering, Picks, Scope, Value,
    choice::{self, Choice},
    evaluate::unary,
    functions,
    integer::IntType,
    names::Entry,
    variables::State,
    words,
};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{Base, BaseType, BinaryOp, Expr, ExprKind, Index, Operand, Span, Type, UnaryOp},
        diagnostic::Problem,
        lexer::radix,
    },
};

/// How large all conditions together may be: one for each bit that is read, ten for each operator.
const MAX_SIZE: u64 = 1 << 26;

/// The most digits of an integer in a comparison.
const MAX_DIGITS: usize = 10_000;

/// What an expression over classical bits stands for.
#[derive(Clone, Debug)]
pub(super) enum Classical {
    Value(Value),
    /// A constant too wide for a [`Value`], least significant bit first. A bit string has a width.
    Digits {
        digits: Vec<bool>,
        width: Option<usize>,
    },
    /// The number in some bits, least significant first; the last is its sign if it is signed. An integer has a
    /// type, which may be wider.
    Word {
        bits: Vec<u32>,
        signed: bool,
        ty: Option<IntType>,
    },
    Truth(Condition),
    /// An angle in so many bits.
    Turn(Vec<u32>),
    /// Another number, one of some values.
    Choice(Choice),
}

/// A truth value.
#[derive(Clone, Debug)]
pub(super) enum Truth {
    Constant(bool),
    Open(Condition),
}

impl Classical {
    /// The bits of a register.
    pub(super) fn register(bits: Vec<u32>) -> Classical {
        Classical::Word { bits, signed: false, ty: None }
    }
}

impl Truth {
    pub(super) fn not(self) -> Truth {
        match self {
            Truth::Constant(holds) => Truth::Constant(!holds),
            Truth::Open(condition) => Truth::Open(negate(condition)),
        }
    }

    /// Both, or one of both.
    pub(super) fn join(self, other: Truth, and: bool) -> Truth {
        match (self, other) {
            (Truth::Constant(holds), other) | (other, Truth::Constant(holds)) => {
                if holds == and {
                    other
                } else {
                    Truth::Constant(holds)
                }
            }
            (Truth::Open(a), Truth::Open(b)) if and => Truth::Open(a.and(b)),
            (Truth::Open(Condition::Any(mut any)), Truth::Open(b)) => {
                any.push(b);
                Truth::Open(Condition::Any(any))
            }
            (Truth::Open(a), Truth::Open(b)) => Truth::Open(Condition::Any(vec![a, b])),
        }
    }

    pub(super) fn classical(self) -> Classical {
        match self {
            Truth::Constant(holds) => Classical::Value(Value::Bool(holds)),
            Truth::Open(condition) => Classical::Truth(condition),
        }
    }
}

/// The opposite of a condition.
pub(super) fn negate(condition: Condition) -> Condition {
    match condition {
        Condition::Bit { bit, value } => Condition::Bit { bit, value: !value },
        Condition::Compare { bits, relation, value } => {
            let relation = match relation {
                Relation::Equal => Relation::NotEqual,
                Relation::NotEqual => Relation::Equal,
                Relation::Less => Relation::GreaterEqual,
                Relation::LessEqual => Relation::Greater,
                Relation::Greater => Relation::LessEqual,
                Relation::GreaterEqual => Relation::Less,
            };
            Condition::Compare { bits, relation, value }
        }
        Condition::Not(inner) => *inner,
        other => Condition::Not(Box::new(other)),
    }
}

/// What a condition costs in memory.
pub(super) fn size(condition: &Condition) -> u64 {
    let list = |list: &[Condition]| list.iter().map(size).fold(10, u64::saturating_add);
    match condition {
        Condition::Bit { .. } => 10,
        Condition::Compare { bits, value, .. } => 10 + bits.len() as u64 + value.len() as u64,
        Condition::Not(inner) => 10 + size(inner),
        Condition::All(all) => list(all),
        Condition::Any(any) => list(any),
    }
}

impl Lowering<'_> {
    /// The value of an expression that must be a truth value.
    pub(super) fn condition(&mut self, expr: &Expr) -> Lower<Truth> {
        let value = self.classical(expr)?;
        self.truth(value, expr.span)
    }

    /// Counts the size of conditions.
    pub(super) fn spend(&mut self, more: u64, span: Span) -> Lower<()> {
        self.conditions = self.conditions.saturating_add(more);
        if self.conditions > MAX_SIZE {
            return self.fail(Problem::LongCondition { limit: MAX_SIZE }, span);
        }
        Ok(())
    }

    /// The value of an expression that may read bits.
    pub(super) fn classical(&mut self, expr: &Expr) -> Lower<Classical> {
        match &expr.kind {
            ExprKind::Index(base, index)
                if index.iter().any(|at| matches!(at, Index::At(at) if self.may_depend(at)))
                    || self.may_depend(base) && !self.in_bits(base) =>
            {
                self.indexed_by_bits(base, index, expr.span)
            }
            ExprKind::Name(_) | ExprKind::Index(..) => match self.bits_of(expr)? {
                Some(word) => Ok(word),
                None => self.evaluate(expr, Scope::Global).map(Classical::Value),
            },
            ExprKind::Int(None) => self.long_number(expr.span),
            ExprKind::Text => match self.evaluate(expr, Scope::Global)? {
                Value::Other(_) => self.long_string(expr.span),
                value => Ok(Classical::Value(value)),
            },
            ExprKind::Unary(op @ (UnaryOp::Not | UnaryOp::Invert), operand) => {
                let value = match self.classical(operand)? {
                    Classical::Value(value) => {
                        let result = unary(*op, value);
                        return self.check(result, expr.span).map(Classical::Value);
                    }
                    word @ Classical::Word { .. } if *op == UnaryOp::Invert => {
                        return self.inverted(word, expr.span);
                    }
                    other => other,
                };
                self.truth(value, expr.span).map(|t| t.not().classical())
            }
            ExprKind::Unary(UnaryOp::Minus, operand) => match self.classical(operand)? {
                Classical::Value(value) => {
                    let result = unary(UnaryOp::Minus, value);
                    self.check(result, expr.span).map(Classical::Value)
                }
                word => {
                    let zero = Classical::Value(Value::int(0));
                    self.combine(BinaryOp::Sub, zero, word, expr.span)
                }
            },
            ExprKind::Power(operands) => {
                let (base, exponent) = (self.classical(&operands[0])?, self.classical(&operands[1])?);
                self.power_of_bits(base, exponent, expr.span)
            }
            ExprKind::Chain(first, rest) => {
                let mut left = self.classical(first)?;
                for (op, right) in rest {
                    let span = first.span.to(right.span);
                    let right = self.classical(right)?;
                    left = self.combine(*op, left, right, span)?;
                }
                Ok(left)
            }
            ExprKind::Cast(ty, inner) => {
                let value = self.classical(inner)?;
                self.cast_bits(ty, value, expr.span)
            }
            ExprKind::Measure(operand) => {
                let qubits = self.qubits(operand)?;
                let into = self.hidden_bits(qubits.len().unwrap_or(1), self.locals.len(), expr.span)?;
                self.spend(u64::from(into.len().unwrap_or(1)), expr.span)?;
                let bits = into.iter().collect();
                self.measure_into(qubits, into, operand.span, expr.span, expr.span)?;
                Ok(Classical::register(bits))
            }
            ExprKind::Call(name, args) if self.subroutine(name.symbol).is_some() => {
                let number = self.subroutine(name.symbol).unwrap_or_default();
                self.called(number, args, expr.span)
            }
            ExprKind::Call(name, args)
                if functions::NAMES.contains(&self.interner.name(name.symbol))
                    && !words::FUNCTIONS.contains(&self.interner.name(name.symbol))
                    && self.interner.name(name.symbol) != "sizeof"
                    && args.iter().any(|arg| self.may_depend(arg)) =>
            {
                self.function_of_choices(*name, args, expr.span)
            }
            ExprKind::Call(name, args) if words::FUNCTIONS.contains(&self.interner.name(name.symbol)) => {
                self.function_of_bits(*name, args, expr)
            }
            _ => self.evaluate(expr, Scope::Global).map(Classical::Value),
        }
    }

    /// Whether what an expression indexes is a register, or a variable in bits.
    fn in_bits(&self, expr: &Expr) -> bool {
        let mut base = expr;
        while let ExprKind::Index(inner, _) = &base.kind {
            base = inner;
        }
        let ExprKind::Name(symbol) = base.kind else { return false };
        match self.names.get(symbol) {
            Some(Entry::Bits(_)) => true,
            Some(&Entry::Variable(id)) => matches!(self.variables[id].state, State::Bits { .. }),
            _ => false,
        }
    }

    /// `base[index]`, where the index depends on measurements.
    fn indexed_by_bits(&mut self, base: &Expr, index: &[Index], span: Span) -> Lower<Classical> {
        if let (ExprKind::Name(symbol), [Index::At(at)]) = (&base.kind, index)
            && let Some(Entry::Bits(bits)) = self.names.get(*symbol)
        {
            let (bits, name) = (bits.clone(), self.text(base.span).to_owned());
            return self.bit_of_choices(&bits, at, &name, span);
        }
        let name = self.text(base.span).to_owned();
        match self.classical(base)? {
            value @ (Classical::Value(_) | Classical::Choice(_)) => {
                self.element_of_choices(value, index, &name, span)
            }
            Classical::Word { bits, .. } | Classical::Turn(bits) => match index {
                [Index::At(at)] => self.bit_of_choices(&Picks::List(bits.into()), at, &name, span),
                _ => self.refuse("several indices of an integer", span),
            },
            _ => self.refuse("this index of what depends on a measurement", span),
        }
    }

    /// `base ** exponent`: a product, or a power of 2 that is shifted, where one of both depends on a measurement.
    fn power_of_bits(&mut self, base: Classical, exponent: Classical, span: Span) -> Lower<Classical> {
        const MOST_FACTORS: i128 = 128;
        match (base, exponent) {
            (Classical::Value(base), Classical::Value(exponent)) => {
                self.raise(base, exponent, span).map(Classical::Value)
            }
            (Classical::Word { bits, signed, ty }, Classical::Value(Value::Int(n @ 0..=MOST_FACTORS, _))) => {
                let factor = || Classical::Word { bits: bits.clone(), signed, ty };
                let one = Classical::Value(Value::int(1));
                (0..n).try_fold(one, |product, _| self.combine(BinaryOp::Mul, product, factor(), span))
            }
            (Classical::Value(Value::Int(base, ty)), exponent @ Classical::Word { .. })
                if base.count_ones() == 1 && base > 0 =>
            {
                let times = Classical::Value(Value::int(i128::from(base.trailing_zeros())));
                let places = self.combine(BinaryOp::Mul, exponent, times, span)?;
                self.combine(BinaryOp::Shl, Classical::Value(Value::Int(1, ty)), places, span)
            }
            (base, exponent) => self.power_of_choices(base, exponent, span),
        }
    }

    /// The bits that an expression names, if it does: a register, a part of one, or a variable that is kept in bits.
    fn bits_of(&mut self, expr: &Expr) -> Lower<Option<Classical>> {
        let mut base = expr;
        while let ExprKind::Index(inner, _) = &base.kind {
            base = inner;
        }
        let ExprKind::Name(symbol) = base.kind else { return Ok(None) };
        let (picks, number) = match self.names.get(symbol) {
            Some(Entry::Bits(_)) => {
                let Some(operand) = self.as_operand(expr) else { return Ok(None) };
                (self.bits(&operand)?, None)
            }
            Some(&Entry::Variable(id)) => match &self.variables[id].state {
                State::Choice(choice) if matches!(expr.kind, ExprKind::Name(_)) => {
                    return Ok(Some(Classical::Choice(choice.clone())));
                }
                State::Bits { bits, signed } => {
                    let (bits, signed, ty) = (bits.clone(), *signed, self.variables[id].integer);
                    let used = self.variables[id].used.min(bits.len().unwrap_or(1));
                    match self.as_operand(expr) {
                        Some(operand)
                            if matches!(expr.kind, ExprKind::Index(..)) && self.variables[id].has_bits() =>
                        {
                            (self.bits_of_variable(id, &operand)?, None)
                        }
                        _ if matches!(expr.kind, ExprKind::Index(..)) => return Ok(None),
                        _ if ty.is_some() => {
                            (Picks::List(bits.iter().take(used as usize).collect()), Some((signed, ty)))
                        }
                        _ => (bits, Some((signed, ty))),
                    }
                }
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        self.spend(u64::from(picks.len().unwrap_or(1)), expr.span)?;
        let bits = picks.iter().collect();
        Ok(Some(match number {
            Some(_) if self.reads_turn(expr) => Classical::Turn(bits),
            Some((signed, ty)) => Classical::Word { bits, signed, ty },
            None => Classical::register(bits),
        }))
    }

    /// The bits of an integer that is kept in some, or those that an index means.
    pub(super) fn bits_of_variable(&mut self, id: usize, operand: &Operand) -> Lower<Picks> {
        let (State::Bits { bits, .. }, Base::Name(name)) = (&self.variables[id].state, operand.base) else {
            return self.refuse("this part of a variable", operand.span);
        };
        let bits = bits.clone();
        if self.variables[id].integer.is_some_and(|ty| !ty.sized) && !operand.parts().is_empty() {
            let given = "an integer without a size".to_owned();
            return self.fail(Problem::Operands { operator: "[]".to_owned(), given }, operand.span);
        }
        match operand.parts().as_slice() {
            [] => Ok(bits),
            [part] if part.len() == 1 => self.pick(&bits, &part[0], name),
            _ => self.refuse("several indices of an integer", operand.span),
        }
    }

    fn long_number(&mut self, span: Span) -> Lower<Classical> {
        let text = self.text(span).replace('_', "");
        let (radix, digits) = radix(&text);
        match binary(digits, radix) {
            Some(digits) => match number(&digits) {
                Some(value) => Ok(Classical::Value(Value::int(value))),
                None => Ok(Classical::Digits { digits, width: None }),
            },
            None => {
                self.fail(Problem::IntegerOverflow { what: "an integer of this length".to_owned() }, span)
            }
        }
    }

    /// A bit string of more than 128 bits.
    fn long_string(&mut self, span: Span) -> Lower<Classical> {
        let quoted = self.text(span);
        let text = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
        let digits = || text.bytes().rev().filter(|&b| b != b'_');
        if text.is_empty() || !digits().all(|b| matches!(b, b'0' | b'1')) {
            let (given, expected) = ("a string".to_owned(), "a bit string".to_owned());
            return self.fail(Problem::WrongType { given, expected }, span);
        }
        let digits: Vec<bool> = digits().map(|b| b == b'1').collect();
        let width = Some(digits.len());
        Ok(Classical::Digits { digits, width })
    }

    /// A value as a truth value.
    fn truth(&mut self, value: Classical, span: Span) -> Lower<Truth> {
        let given = match value {
            Classical::Truth(condition) => return Ok(Truth::Open(condition)),
            Classical::Word { bits, .. } | Classical::Turn(bits) => return Ok(Truth::Open(nonzero(bits))),
            Classical::Value(Value::Bool(holds)) => return Ok(Truth::Constant(holds)),
            Classical::Value(Value::Bits { bits, .. }) => return Ok(Truth::Constant(bits != 0)),
            Classical::Value(Value::Int(i, _)) => return Ok(Truth::Constant(i != 0)),
            Classical::Value(other) => other.describe(),
            Classical::Digits { .. } => "an integer",
            Classical::Choice(choice) => choice.describe(),
        };
        let (given, expected) = (given.to_owned(), "a condition".to_owned());
        self.fail(Problem::WrongType { given, expected }, span)
    }

    /// A value as that of one bit, if it can be.
    fn one_bit(&self, value: Classical) -> Result<Truth, Classical> {
        match value {
            Classical::Truth(condition) => Ok(Truth::Open(condition)),
            Classical::Word { bits, .. } if bits.len() == 1 => Ok(Truth::Open(nonzero(bits))),
            Classical::Value(Value::Bool(holds)) => Ok(Truth::Constant(holds)),
            Classical::Value(Value::Int(i @ 0..=1, _)) => Ok(Truth::Constant(i == 1)),
            Classical::Value(Value::Bits { width: 1, bits }) => Ok(Truth::Constant(bits == 1)),
            other => Err(other),
        }
    }

    /// `left op right`.
    pub(super) fn combine(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: Span,
    ) -> Lower<Classical> {
        use BinaryOp::*;
        if choice::chooses(op, &left, &right) {
            return self.combine_choices(op, left, right, span);
        }
        if matches!(left, Classical::Turn(_)) || matches!(right, Classical::Turn(_)) {
            return self.combine_turns(op, left, right, span);
        }
        if let (Classical::Value(a), Classical::Value(b)) = (&left, &right) {
            return self.binary(op, a.clone(), b.clone(), span).map(Classical::Value);
        }
        match op {
            And | Or => {
                let (a, b) = (self.truth(left, span)?, self.truth(right, span)?);
                Ok(a.join(b, op == And).classical())
            }
            Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => {
                self.compare(op, left, right, span).map(Truth::classical)
            }
            BitAnd | BitOr | BitXor => match (self.one_bit(left), self.one_bit(right)) {
                (Ok(a), Ok(b)) if op == BitXor => self.differ(a, b, span).map(Truth::classical),
                (Ok(a), Ok(b)) => Ok(a.join(b, op == BitAnd).classical()),
                (left, right) => {
                    let [left, right] =
                        [left, right].map(|side| side.map_or_else(|other| other, Truth::classical));
                    self.computed(op, left, right, span)
                }
            },
            Concat => match (left, right) {
                (Classical::Word { mut bits, .. }, Classical::Word { bits: more, .. }) => {
                    bits.extend(more);
                    Ok(Classical::register(bits))
                }
                _ => {
                    let (operator, given) = (op.text().to_owned(), "these operands".to_owned());
                    self.fail(Problem::Operands { operator, given }, span)
                }
            },
            Add | Sub | Mul | Div | Rem | Shl | Shr => self.computed(op, left, right, span),
        }
    }

    /// Exactly one of both.
    pub(super) fn differ(&mut self, a: Truth, b: Truth, span: Span) -> Lower<Truth> {
        match (a, b) {
            (Truth::Constant(holds), other) | (other, Truth::Constant(holds)) => {
                Ok(if holds { other.not() } else { other })
            }
            (Truth::Open(a), Truth::Open(b)) => {
                self.spend((size(&a) + size(&b)).saturating_mul(2) + 30, span)?;
                let first = a.clone().and(negate(b.clone()));
                let second = negate(a).and(b);
                Ok(Truth::Open(Condition::Any(vec![first, second])))
            }
        }
    }

    fn compare(&mut self, op: BinaryOp, left: Classical, right: Classical, span: Span) -> Lower<Truth> {
        let (relation, mirrored) = match op {
            BinaryOp::Equal => (Relation::Equal, Relation::Equal),
            BinaryOp::NotEqual => (Relation::NotEqual, Relation::NotEqual),
            BinaryOp::Less => (Relation::Less, Relation::Greater),
            BinaryOp::LessEqual => (Relation::LessEqual, Relation::GreaterEqual),
            BinaryOp::Greater => (Relation::Greater, Relation::Less),
            _ => (Relation::GreaterEqual, Relation::LessEqual),
        };
        match (left, right) {
            (Classical::Word { bits, signed, ty }, c @ (Classical::Value(_) | Classical::Digits { .. })) => {
                self.compare_number((bits, signed, ty), relation, c, span)
            }
            (c @ (Classical::Value(_) | Classical::Digits { .. }), Classical::Word { bits, signed, ty }) => {
                self.compare_number((bits, signed, ty), mirrored, c, span)
            }
            (Classical::Word { bits: a, ty: None, .. }, Classical::Word { bits: b, ty: None, .. })
                if a.len() != b.len() =>
            {
                let (first, second) = (a.len() as u64, b.len() as u64);
                self.fail(Problem::LengthMismatch { first, second }, span)
            }
            (Classical::Word { bits: a, signed: s, .. }, Classical::Word { bits: b, signed: t, .. })
                if a.len().max(b.len()) > 1 =>
            {
                self.compare_words((a, s), (b, t), relation, span)
            }
            (left, right) => match (self.one_bit(left), self.one_bit(right), relation) {
                (Ok(a), Ok(b), Relation::Equal) => Ok(self.differ(a, b, span)?.not()),
                (Ok(a), Ok(b), Relation::NotEqual) => self.differ(a, b, span),
                _ => self.refuse("this comparison", span),
            },
        }
    }

    /// A number in bits compared with a constant. That it has few of them, where its type has more, is no news.
    fn compare_number(
        &mut self,
        (bits, signed, ty): (Vec<u32>, bool, Option<IntType>),
        relation: Relation,
        constant: Classical,
        span: Span,
    ) -> Lower<Truth> {
        let (diagnostics, warnings) = (self.diagnostics.len(), self.warnings);
        let fits = match (&constant, ty) {
            (Classical::Value(Value::Int(i, _)), Some(ty)) => ty.holds(*i),
            _ => false,
        };
        let truth = self.compare_word(bits, signed, relation, constant, span)?;
        if fits {
            self.diagnostics.truncate(diagnostics);
            self.warnings = warnings;
        }
        Ok(truth)
    }

    /// Bits compared with a constant.
    pub(super) fn compare_word(
        &mut self,
        mut bits: Vec<u32>,
        signed: bool,
        relation: Relation,
        constant: Classical,
        span: Span,
    ) -> Lower<Truth> {
        let n = bits.len();
        let (negative, mut digits) = match constant {
            Classical::Value(Value::Int(i, Some(ty))) if ty.unsigned => (false, to_digits(ty.bits_of(i))),
            Classical::Value(Value::Int(i, _)) => (i < 0, to_digits(i.unsigned_abs())),
            Classical::Value(Value::Bool(b)) => (false, vec![b]),
            Classical::Value(Value::Bits { width, bits: value }) => {
                if width as usize != n {
                    let (first, second) = (n as u64, u64::from(width));
                    return self.fail(Problem::LengthMismatch { first, second }, span);
                }
                (false, to_digits(value))
            }
            Classical::Digits { digits, width } => {
                if let Some(width) = width.filter(|&w| w != n) {
                    let (first, second) = (n as u64, width as u64);
                    return self.fail(Problem::LengthMismatch { first, second }, span);
                }
                (false, digits)
            }
            Classical::Value(other) => {
                let (given, expected) = (other.describe().to_owned(), "an integer".to_owned());
                return self.fail(Problem::WrongType { given, expected }, span);
            }
            _ => return self.refuse("this comparison", span),
        };
        trim(&mut digits);
        let below = matches!(relation, Relation::Less | Relation::LessEqual | Relation::NotEqual);
        if !signed {
            if negative {
                return Ok(self.decided(n, relation_of(relation, false), span));
            }
            if digits.len() > n {
                self.warn(Problem::Decided { bits: n, holds: below }, span);
            }
            return Ok(word(bits, relation, digits));
        }
        // In two's complement a number of n bits plus 2^(n-1) is in the order of unsigned numbers,
        // and that inverts the highest bit.
        let Some(sign) = bits.pop() else { return Ok(Truth::Constant(false)) };
        let low = if negative { complement(digits, n - 1) } else { Some(digits) };
        let Some(low) = low.filter(|low| low.len() < n) else {
            return Ok(self.decided(n, relation_of(relation, !negative), span));
        };
        // The highest bit where it agrees with that of the constant.
        let same = Truth::Open(Condition::Bit { bit: sign, value: negative });
        let other = || Truth::Open(Condition::Bit { bit: sign, value: !negative });
        let rest = |relation| {
            if bits.is_empty() {
                let holds = relation_of_equal(relation);
                Truth::Constant(holds)
            } else {
                word(bits.clone(), relation, low.clone())
            }
        };
        // The other sign is below a constant that is not negative, and above one that is.
        let other_holds = match relation {
            Relation::Equal => false,
            Relation::NotEqual => true,
            Relation::Less | Relation::LessEqual => !negative,
            Relation::Greater | Relation::GreaterEqual => negative,
        };
        Ok(if other_holds { other().join(rest(relation), false) } else { same.join(rest(relation), true) })
    }

    /// A comparison whose result is known, with a warning.
    fn decided(&mut self, bits: usize, holds: bool, span: Span) -> Truth {
        self.warn(Problem::Decided { bits, holds }, span);
        Truth::Constant(holds)
    }

    pub(super) fn cast_bits(&mut self, ty: &Type, value: Classical, span: Span) -> Lower<Classical> {
        let unsized_number = ty.size.is_none() && ty.base == BaseType::Angle || ty.base == BaseType::Float;
        let (mut bits, signed, from) = match value {
            Classical::Choice(_) if ty.dims.is_none() => return self.cast_choice(ty, value, span),
            Classical::Word { .. } | Classical::Truth(_) | Classical::Turn(_)
                if unsized_number && ty.dims.is_none() =>
            {
                return self.cast_choice(ty, value, span);
            }
            Classical::Value(value) => return self.explicit_cast(ty, value, span).map(Classical::Value),
            Classical::Truth(condition) if ty.dims.is_none() => {
                return match (ty.base, &ty.size) {
                    (BaseType::Bool | BaseType::Bit, None) => Ok(Classical::Truth(condition)),
                    (BaseType::Int | BaseType::Uint, _) => self.truth_as_integer(condition, ty, span),
                    _ => self.refuse("this cast of classical bits", span),
                };
            }
            Classical::Word { bits, signed, ty: from } if ty.dims.is_none() => (bits, signed, from),
            Classical::Turn(bits) if matches!(ty.base, BaseType::Bool | BaseType::Bit | BaseType::Angle) => {
                (bits, false, None)
            }
            _ => return self.refuse("this cast of classical bits", span),
        };
        let width = match &ty.size {
            Some(size) => Some(self.integer(size, "the width of a type")?),
            None => None,
        };
        let order = width.map(|w| w.cmp(&(bits.len() as i128)));
        let integer = self.integer_type(ty)?;
        let unsigned = ty.base == BaseType::Uint;
        match (ty.base, order) {
            (BaseType::Bool, None) => Ok(Classical::Truth(nonzero(bits))),
            (BaseType::Bit, Some(Ordering::Equal)) => Ok(Classical::register(bits)),
            (BaseType::Angle, Some(Ordering::Equal)) if from.is_none() => Ok(Classical::Turn(bits)),
            (BaseType::Bit, None) if bits.len() == 1 => Ok(Classical::register(bits)),
            // An integer in bits may have fewer digits than its type, or none of its own.
            (BaseType::Bit, Some(_)) if from.is_some_and(|ty| width == Some(ty.bits.into()) || !ty.sized) => {
                let size = width.and_then(|w| usize::try_from(w).ok()).unwrap_or_default();
                let fill = match bits.last() {
                    Some(&sign) if signed => sign,
                    _ if size <= bits.len() => 0,
                    _ => self.scratch_bit(span)?,
                };
                self.spend(size as u64, span)?;
                bits.resize(size, fill);
                Ok(Classical::register(bits))
            }
            // A register has at most as many bits as the integer that it becomes.
            (BaseType::Int | BaseType::Uint, Some(Ordering::Less)) if from.is_none() => {
                self.refuse("this cast of classical bits", span)
            }
            (BaseType::Int | BaseType::Uint, _) => {
                let width = integer.map_or(bits.len(), |ty| ty.bits as usize);
                let narrowed = width <= bits.len();
                bits.truncate(width);
                if signed && unsigned {
                    bits.resize(width, bits.last().copied().unwrap_or_default());
                }
                Ok(Classical::Word { bits, signed: !unsigned && (signed || narrowed), ty: integer })
            }
            _ => self.refuse("this cast of classical bits", span),
        }
    }
}

pub(super) fn is_one(bit: u32) -> Truth {
    Truth::Open(Condition::Bit { bit, value: true })
}

/// Whether a relation holds of a left side that is beyond all right sides, below or above.
fn relation_of(relation: Relation, below: bool) -> bool {
    match relation {
        Relation::Equal => false,
        Relation::NotEqual => true,
        Relation::Less | Relation::LessEqual => below,
        Relation::Greater | Relation::GreaterEqual => !below,
    }
}

/// Whether a relation holds of equal numbers.
fn relation_of_equal(relation: Relation) -> bool {
    matches!(relation, Relation::Equal | Relation::LessEqual | Relation::GreaterEqual)
}

/// Whether some bits are not all 0.
fn nonzero(bits: Vec<u32>) -> Condition {
    match bits.as_slice() {
        &[bit] => Condition::Bit { bit, value: true },
        _ => Condition::Compare { bits: bits.into(), relation: Relation::NotEqual, value: Box::new([]) },
    }
}

/// Bits compared with a number that has no leading zeros.
pub(super) fn word(bits: Vec<u32>, relation: Relation, digits: Vec<bool>) -> Truth {
    match (bits.as_slice(), relation) {
        (_, Relation::Less) if digits.is_empty() => Truth::Constant(false),
        (_, Relation::GreaterEqual) if digits.is_empty() => Truth::Constant(true),
        (&[bit], Relation::Equal | Relation::NotEqual) if digits.len() <= 1 => {
            let value = digits.is_empty() != (relation == Relation::Equal);
            Truth::Open(Condition::Bit { bit, value })
        }
        _ => Truth::Open(Condition::Compare { bits: bits.into(), relation, value: digits.into() }),
    }
}

pub(super) fn to_digits(mut value: u128) -> Vec<bool> {
    let mut digits = Vec::new();
    while value > 0 {
        digits.push(value & 1 == 1);
        value >>= 1;
    }
    digits
}

/// Drops leading zeros.
pub(super) fn trim(digits: &mut Vec<bool>) {
    while digits.last() == Some(&false) {
        digits.pop();
    }
}

/// The number of some digits, if it is an [`i128`].
fn number(digits: &[bool]) -> Option<i128> {
    let fits = digits.len() < 128;
    fits.then(|| digits.iter().rev().fold(0, |sum, &bit| sum << 1 | i128::from(bit)))
}

/// `2^n` minus a positive number; `None` if that is larger.
fn complement(digits: Vec<bool>, n: usize) -> Option<Vec<bool>> {
    if digits.len() > n + 1 || (digits.len() == n + 1 && digits[..n].iter().any(|&b| b)) {
        return None;
    }
    // All bits inverted, plus 1.
    let mut carry = true;
    let mut low: Vec<bool> = (0..n)
        .map(|i| {
            let bit = !digits.get(i).copied().unwrap_or(false);
            let sum = bit != carry;
            carry &= bit;
            sum
        })
        .collect();
    trim(&mut low);
    Some(low)
}

/// The bits of a number without leading zeros, least significant first. `None` if it is no number, or
/// too long.
fn binary(text: &str, radix: u32) -> Option<Vec<bool>> {
    if text.is_empty() || text.len() > MAX_DIGITS {
        return None;
    }
    // Limbs of 32 bits, least significant first.
    let mut limbs: Vec<u32> = Vec::new();
    for c in text.chars() {
        let mut carry = u64::from(c.to_digit(radix)?);
        for limb in &mut limbs {
            let next = u64::from(*limb) * u64::from(radix) + carry;
            // The low half.
            *limb = (next & u64::from(u32::MAX)) as u32;
            carry = next >> 32;
        }
        if carry > 0 {
            limbs.push((carry & u64::from(u32::MAX)) as u32);
        }
    }
    let mut digits: Vec<bool> =
        limbs.iter().flat_map(|limb| (0..32).map(move |i| limb >> i & 1 == 1)).collect();
    trim(&mut digits);
    Some(digits)
}
