//! Bit-vector arithmetic: integers that depend on measurements, in bits.
//!
//! A circuit has no numbers, so each bit of a result is a condition on bits, stored in a scratch
//! bit where it is needed again:
//!
//! ```text
//! uint[2] n;  n + 1:      sum[0] = !n[0]         carry = n[0]
//!                         sum[1] = n[1] ^ carry
//! ```
//!
//! Results have the type of `integer` and wrap; of a signed one no more bits are computed than it
//! can need. But a register that is shifted, or combined with a number bit by bit, is a register
//! again. A sum takes two bits for each of its own, a product or quotient of n bits n times that.
//! Quotients are rounded to 0. A division by a measured 0 gives all ones, and the dividend as the
//! remainder.

use super::{
    IndexSet, Lower, QasmLowering, QasmValue,
    classical::Classical,
    functions,
    integer::{INT, IntOperandKind, IntegerType, common, with_sign},
    truth::{Truth, is_one},
};
use crate::{
    circuit::{Condition, Relation},
    qasm::{
        ast::{BinaryOp, Ident, QasmExpr, QasmSpan, Type},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// The functions of the language that take measured bits.
pub(super) const FUNCTIONS: &[&str] = &["popcount", "rotl", "rotr"];

/// Digits of a number, least significant first.
type SymbolicBits = Vec<Truth>;

/// Operand: its digits, true if the last is a sign, and its kind for the type of the result. A
/// known number has no more digits than it needs.
struct BitVector {
    digits: SymbolicBits,
    signed: bool,
    kind: IntOperandKind,
}

const ZERO: Truth = Truth::Constant(false);
const ONE: Truth = Truth::Constant(true);

impl BitVector {
    /// The type of an integer.
    fn ty(&self) -> Option<IntegerType> {
        match self.kind {
            IntOperandKind::Typed(ty) => Some(ty),
            _ => None,
        }
    }

    /// Returns the digits as a number of that many bits.
    fn to_width(&self, width: usize) -> SymbolicBits {
        let fill = if self.signed { self.digits.last().cloned().unwrap_or(ZERO) } else { ZERO };
        let mut digits = self.digits.clone();
        digits.resize(width, fill);
        digits
    }

    fn is_known(&self) -> bool {
        self.digits.iter().all(|digit| matches!(digit, Truth::Constant(_)))
    }

    fn is_zero(&self) -> bool {
        self.digits.iter().all(|digit| matches!(digit, Truth::Constant(false)))
    }

    fn is_negative(&self) -> bool {
        self.signed && matches!(self.digits.last(), Some(Truth::Constant(true)))
    }

    fn len(&self) -> u32 {
        u32::try_from(self.digits.len()).unwrap_or(u32::MAX)
    }

    /// Returns the number of digits that it needs with a sign, or without one if it is not
    /// negative.
    fn needs(&self, sign: bool) -> u32 {
        match (self.signed, sign || self.is_negative()) {
            (false, true) => self.len().saturating_add(1),
            (true, false) if self.is_known() => self.len().saturating_sub(1),
            _ => self.len(),
        }
    }
}

impl QasmLowering<'_> {
    /// `left op right` in bits; at least one of both depends on a measurement.
    pub(super) fn computed(
        &mut self,
        op: BinaryOp,
        left: Classical,
        right: Classical,
        span: QasmSpan,
    ) -> Lower<Classical> {
        use BinaryOp::*;
        let registers = [&left, &right].map(register_size);
        let (a, b) = (self.operand(op, left, span)?, self.operand(op, right, span)?);
        if matches!(op, BitAnd | BitOr | BitXor)
            && let [Some(first), Some(second)] = registers
        {
            if first != second {
                let (first, second) = (first as u64, second as u64);
                return self.fail(QasmProblem::LengthMismatch { first, second }, span);
            }
            let digits = self.digit_by_digit(op, a.digits, b.digits, span)?;
            return self.word(digits, None, span);
        }
        // A register that is shifted, or combined with a number bit by bit, is a register again.
        let register = registers[0].filter(|&len| match op {
            Shl | Shr => len > 1,
            BitAnd | BitOr | BitXor => {
                matches!(b.kind, IntOperandKind::Literal { .. }) && b.needs(false) as usize <= len
            }
            _ => false,
        });
        let ty = match register {
            Some(_) => IntegerType::sized(a.len(), true),
            None => Self::type_of(op, &a, &b),
        };
        let width =
            ty.bits.min(if ty.unsigned { enough_unsigned(op, &a, &b) } else { enough(op, &a, &b) });
        let width = width.max(1) as usize;
        let (x, y) = (a.to_width(width), b.to_width(width));
        let digits = match op {
            Add => self.add(x, y, ZERO, span)?.0,
            Sub => self.add(x, not(y), ONE, span)?.0,
            Mul => self.multiply(x, y, span)?,
            Div | Rem if b.is_zero() => return self.fail(QasmProblem::DivisionByZero, span),
            Div | Rem => {
                if !b.digits.iter().any(|digit| matches!(digit, Truth::Constant(true))) {
                    let help = "where it is 0, the quotient is all ones and the remainder the dividend; ask before \
                                with `if (…)`";
                    let warning = Diagnostic::warning(QasmProblem::MeasuredDivisor)
                        .with_label(self.file_span(span), "");
                    self.warning(warning.help(help));
                }
                let (quotient, rest) = self.divide(x, y, !ty.unsigned, span)?;
                if op == Div { quotient } else { rest }
            }
            Shl | Shr if b.is_negative() => {
                let (operator, given) =
                    (op.text().to_owned(), "a negative number of places".to_owned());
                return self.fail(QasmProblem::Operands { operator, given }, span);
            }
            Shl | Shr => {
                let fill = if op == Shr && !ty.unsigned {
                    x.last().cloned().unwrap_or(ZERO)
                } else {
                    ZERO
                };
                self.shift(x, &b.digits, op == Shl, &fill, span)?
            }
            _ => self.digit_by_digit(op, x, y, span)?,
        };
        self.word(digits, register.is_none().then_some(ty), span)
    }

    /// `~word`.
    pub(super) fn inverted(&mut self, word: Classical, span: QasmSpan) -> Lower<Classical> {
        let operand = self.operand(BinaryOp::BitXor, word, span)?;
        if let (None, [one]) = (operand.ty(), operand.digits.as_slice()) {
            return Ok(one.clone().not().classical());
        }
        let width = operand.ty().map_or(operand.digits.len(), |ty| ty.bits as usize);
        self.word(not(operand.to_width(width)), operand.ty(), span)
    }

    /// A measured truth value as an integer, 0 or 1.
    pub(super) fn truth_as_integer(
        &mut self,
        condition: Condition,
        ty: &Type,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let ty = self.integer_type(ty)?;
        // No sign.
        let digits = vec![Truth::Residual(condition), ZERO];
        self.word(digits, ty, span)
    }

    /// Evaluates `popcount`, `rotl` or `rotr`, whose first argument may be measured.
    pub(super) fn function_of_bits(
        &mut self,
        name: Ident,
        args: &[QasmExpr],
        call: &QasmExpr,
    ) -> Lower<Classical> {
        let function = self.name(name.symbol);
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.classical(arg)?);
        }
        let known = |value: &Classical| match value {
            Classical::Value(value) => Some(value.clone()),
            _ => None,
        };
        if let Some(values) = values.iter().map(known).collect::<Option<Vec<_>>>() {
            let value = functions::call(&function, values);
            return self.check(value, call.span).map(Classical::Value);
        }
        let mut values = values.into_iter();
        match (function.as_str(), values.next(), values.next(), values.next()) {
            ("popcount", Some(word), None, None) => {
                let operand = self.operand(BinaryOp::Add, word, call.span)?;
                // It may have fewer digits than its type, of which the last is its sign.
                let digits = match operand.ty() {
                    Some(ty) if operand.signed => operand.to_width(ty.bits as usize),
                    _ => operand.digits,
                };
                let bits = usize::BITS - digits.len().leading_zeros();
                let mut count = vec![ZERO; bits as usize];
                for digit in digits {
                    let mut one = vec![ZERO; bits as usize];
                    one[0] = digit;
                    count = self.add(count, one, ZERO, call.span)?.0;
                    count = self.kept(count, call.span)?;
                }
                self.word(count, Some(IntegerType::plain(true)), call.span)
            }
            ("rotl" | "rotr", Some(word @ Classical::BitVector { .. }), Some(by), None) => {
                let Classical::Value(QasmValue::Int(by, _)) = by else {
                    return self.refuse("a rotation by a measured number", call.span);
                };
                let operand = self.operand(BinaryOp::Shl, word, call.span)?;
                // It may have fewer digits than its type.
                let mut digits = operand
                    .to_width(operand.ty().map_or(operand.digits.len(), |ty| ty.bits as usize));
                let by = usize::try_from(by.rem_euclid(digits.len() as i128)).unwrap_or_default();
                match function.as_str() {
                    "rotl" => digits.rotate_right(by),
                    _ => digits.rotate_left(by),
                }
                self.word(digits, operand.ty(), call.span)
            }
            _ => {
                let (given, expected) = (args.len(), if function == "popcount" { 1 } else { 2 });
                self.fail(QasmProblem::ArgumentCount { name: function, given, expected }, call.span)
            }
        }
    }

    /// Compares two measured numbers, each with its own sign and width.
    pub(super) fn compare_words(
        &mut self,
        (a, a_signed): (Vec<u32>, bool),
        (b, b_signed): (Vec<u32>, bool),
        relation: Relation,
        span: QasmSpan,
    ) -> Lower<Truth> {
        // One digit more holds the sign of both.
        let width = a.len().max(b.len()) + usize::from(a_signed || b_signed);
        let operand = |bits: Vec<u32>, signed| {
            let digits = bits.into_iter().map(is_one).collect();
            BitVector { digits, signed, kind: IntOperandKind::Register(0) }.to_width(width)
        };
        let (mut a, mut b) = (operand(a, a_signed), operand(b, b_signed));
        if let Relation::Equal | Relation::NotEqual = relation {
            let mut same = ONE;
            for (a, b) in a.into_iter().zip(b) {
                same = same.combine(self.differ(a, b, span)?.not(), true);
            }
            return Ok(if relation == Relation::Equal { same } else { same.not() });
        }
        if a_signed || b_signed {
            // A set sign is the smaller one.
            let last = width - 1;
            std::mem::swap(&mut a[last], &mut b[last]);
        }
        if let Relation::Greater | Relation::LessEqual = relation {
            std::mem::swap(&mut a, &mut b);
        }
        // From the lowest digit on: less if less here, or not greater here and less below.
        let mut less = ZERO;
        for (a, b) in a.into_iter().zip(b) {
            let here = a.clone().not().combine(b.clone(), true);
            let not_greater = a.not().combine(b, false);
            less = here.combine(not_greater.combine(less, true), false);
            self.spend(10, span)?;
        }
        let holds = matches!(relation, Relation::Less | Relation::Greater);
        Ok(if holds { less } else { less.not() })
    }

    /// Returns the digits of a number; an error if it is none.
    fn operand(&mut self, op: BinaryOp, value: Classical, span: QasmSpan) -> Lower<BitVector> {
        let of = |number: u128, width: u32| -> SymbolicBits {
            (0..width)
                .map(|at| Truth::Constant(number.checked_shr(at).unwrap_or(0) & 1 == 1))
                .collect()
        };
        let register = |digits: SymbolicBits| {
            let kind = IntOperandKind::Register(u32::try_from(digits.len()).unwrap_or(u32::MAX));
            Ok(BitVector { digits, signed: false, kind })
        };
        let given = match value {
            Classical::BitVector { bits, signed, ty: Some(ty) } => {
                let digits = bits.into_iter().map(is_one).collect();
                return Ok(BitVector { digits, signed, kind: IntOperandKind::Typed(ty) });
            }
            Classical::BitVector { bits, ty: None, .. } => {
                return register(bits.into_iter().map(is_one).collect());
            }
            Classical::Truth(condition) => {
                return register(vec![self.kept_digit(Truth::Residual(condition), span)?]);
            }
            Classical::Value(QasmValue::Int(i @ ..0, Some(ty))) if ty.unsigned => {
                let digits = of(ty.bits_of(i), ty.bits);
                return Ok(BitVector { digits, signed: false, kind: IntOperandKind::Typed(ty) });
            }
            Classical::Value(QasmValue::Int(i, ty)) => {
                let (digits, kind) =
                    (of(i.cast_unsigned(), with_sign(i)), IntOperandKind::from_integer(i, ty));
                return Ok(BitVector { digits, signed: true, kind });
            }
            Classical::Value(QasmValue::Bool(b)) => return register(vec![Truth::Constant(b)]),
            Classical::Value(QasmValue::Bits { width, bits }) => return register(of(bits, width)),
            Classical::Digits { digits, width: Some(_) } => {
                return register(digits.into_iter().map(Truth::Constant).collect());
            }
            Classical::ValueSet(choice) => choice.describe(),
            Classical::Value(other) => other.describe(),
            Classical::Digits { .. } => "an integer of this length",
            Classical::AngleBits(_) => "an angle that depends on a measurement",
        };
        let (operator, given) = (op.text().to_owned(), given.to_owned());
        self.fail(QasmProblem::Operands { operator, given }, span)
    }

    /// Returns the type of a result; for shifts that of the left operand.
    fn type_of(op: BinaryOp, a: &BitVector, b: &BitVector) -> IntegerType {
        let ty = match op {
            BinaryOp::Shl | BinaryOp::Shr => common(&[a.kind]),
            _ => common(&[a.kind, b.kind]),
        };
        ty.unwrap_or(INT)
    }

    /// Returns a number in bits: its digits where they are bits, new bits for the others. Without a
    /// type it is a register.
    pub(super) fn word(
        &mut self,
        digits: SymbolicBits,
        ty: Option<IntegerType>,
        span: QasmSpan,
    ) -> Lower<Classical> {
        let signed = ty.is_some_and(|ty| !ty.unsigned);
        let plain = |digit: &Truth| match digit {
            Truth::Residual(Condition::Bit { bit, value: true }) => Some(*bit),
            _ => None,
        };
        let n_new = digits.iter().filter(|digit| plain(digit).is_none()).count();
        let mut new = match u32::try_from(n_new).unwrap_or(u32::MAX) {
            0 => Vec::new(),
            n => self.scratch_bits(n, self.locals.len(), span)?.iter().collect(),
        };
        let mut bits = Vec::with_capacity(digits.len());
        // From the last on, as they are taken off.
        for digit in digits.into_iter().rev() {
            let bit = match plain(&digit) {
                Some(bit) => bit,
                None => {
                    let bit = new.pop().unwrap_or_default();
                    self.store_digit(bit, digit, span)?;
                    bit
                }
            };
            bits.push(bit);
        }
        bits.reverse();
        self.spend(bits.len() as u64, span)?;
        Ok(Classical::BitVector { bits, signed, ty })
    }

    /// Stores a digit in a fresh bit.
    fn store_digit(&mut self, bit: u32, digit: Truth, span: QasmSpan) -> Lower<()> {
        match digit {
            Truth::Constant(false) => Ok(()),
            Truth::Constant(true) => {
                let one = Classical::Value(QasmValue::Bool(true));
                self.store_number(IndexSet::One(bit), one, span)
            }
            Truth::Residual(condition) => self.store_truth(bit, condition, span, true),
        }
    }

    /// Stores a digit that may be read often, so that it is a constant or a single bit.
    fn kept_digit(&mut self, digit: Truth, span: QasmSpan) -> Lower<Truth> {
        if matches!(digit, Truth::Constant(_) | Truth::Residual(Condition::Bit { .. })) {
            return Ok(digit);
        }
        let bit = self.scratch_bit(span)?;
        self.store_digit(bit, digit, span)?;
        Ok(is_one(bit))
    }

    fn kept(&mut self, digits: SymbolicBits, span: QasmSpan) -> Lower<SymbolicBits> {
        digits.into_iter().map(|digit| self.kept_digit(digit, span)).collect()
    }

    /// Returns `a + b + carry`, with the carry out of it.
    fn add(
        &mut self,
        a: SymbolicBits,
        b: SymbolicBits,
        carry: Truth,
        span: QasmSpan,
    ) -> Lower<(SymbolicBits, Truth)> {
        let mut carry = carry;
        let mut sum = Vec::with_capacity(a.len());
        for (a, b) in a.into_iter().zip(b) {
            let both = a.clone().combine(b.clone(), true);
            let one = a.clone().combine(b.clone(), false);
            let differ = self.differ(a, b, span)?;
            sum.push(self.differ(differ, carry.clone(), span)?);
            carry = self.kept_digit(both.combine(one.combine(carry, true), false), span)?;
        }
        Ok((sum, carry))
    }

    fn multiply(
        &mut self,
        a: SymbolicBits,
        b: SymbolicBits,
        span: QasmSpan,
    ) -> Lower<SymbolicBits> {
        let known = |digits: &SymbolicBits| {
            digits.iter().filter(|d| matches!(d, Truth::Constant(_))).count()
        };
        // Digits of the second that are 0 cost nothing.
        let (a, b) = if known(&a) > known(&b) { (b, a) } else { (a, b) };
        let width = a.len();
        let mut sum = vec![ZERO; width];
        for (at, digit) in b.into_iter().enumerate() {
            if let Truth::Constant(false) = digit {
                continue;
            }
            let shifted = std::iter::repeat_n(ZERO, at).chain(a.iter().cloned()).take(width);
            let part: SymbolicBits = shifted.map(|a| a.combine(digit.clone(), true)).collect();
            let part = self.kept(part, span)?;
            sum = self.add(sum, part, ZERO, span)?.0;
            sum = self.kept(sum, span)?;
        }
        Ok(sum)
    }

    /// Returns the quotient and the remainder.
    fn divide(
        &mut self,
        a: SymbolicBits,
        b: SymbolicBits,
        signed: bool,
        span: QasmSpan,
    ) -> Lower<(SymbolicBits, SymbolicBits)> {
        if !signed {
            return self.divide_unsigned(a, b, span);
        }
        let sign = |digits: &SymbolicBits| digits.last().cloned().unwrap_or(ZERO);
        let (sign_a, sign_b) = (sign(&a), sign(&b));
        let (a, b) = (self.negated_if(&sign_a, a, span)?, self.negated_if(&sign_b, b, span)?);
        let (quotient, rest) = self.divide_unsigned(a, b, span)?;
        let sign = self.differ(sign_a.clone(), sign_b, span)?;
        let sign = self.kept_digit(sign, span)?;
        Ok((self.negated_if(&sign, quotient, span)?, self.negated_if(&sign_a, rest, span)?))
    }

    /// Long division: from the highest digit on, the divisor is subtracted where it fits.
    fn divide_unsigned(
        &mut self,
        a: SymbolicBits,
        b: SymbolicBits,
        span: QasmSpan,
    ) -> Lower<(SymbolicBits, SymbolicBits)> {
        let width = a.len();
        let mut divisor = not(b);
        divisor.push(ONE);
        let mut rest = vec![ZERO; width];
        let mut quotient = Vec::with_capacity(width);
        for digit in a.into_iter().rev() {
            rest.insert(0, digit);
            let (less, fits) = self.add(rest.clone(), divisor.clone(), ONE, span)?;
            rest = self.chosen(&fits, less, rest, span)?;
            rest.truncate(width);
            quotient.push(fits);
        }
        quotient.reverse();
        Ok((quotient, rest))
    }

    /// Shifts by a number; `fill` is shifted in.
    fn shift(
        &mut self,
        digits: SymbolicBits,
        by: &[Truth],
        up: bool,
        fill: &Truth,
        span: QasmSpan,
    ) -> Lower<SymbolicBits> {
        let width = digits.len();
        let mut digits = digits;
        for (at, bit) in by.iter().enumerate() {
            let far = 1usize
                .checked_shl(u32::try_from(at).unwrap_or(u32::MAX))
                .unwrap_or(width)
                .min(width);
            let filler = std::iter::repeat_n(fill.clone(), far);
            let moved: SymbolicBits = if up {
                filler.chain(digits.iter().take(width - far).cloned()).collect()
            } else {
                digits.iter().skip(far).cloned().chain(filler).collect()
            };
            digits = self.chosen(bit, moved, digits, span)?;
        }
        Ok(digits)
    }

    fn negated_if(
        &mut self,
        condition: &Truth,
        digits: SymbolicBits,
        span: QasmSpan,
    ) -> Lower<SymbolicBits> {
        let zero = vec![ZERO; digits.len()];
        let negative = self.add(zero, not(digits.clone()), ONE, span)?.0;
        self.chosen(condition, negative, digits, span)
    }

    /// Returns `condition ? a : b`, stored.
    fn chosen(
        &mut self,
        condition: &Truth,
        a: SymbolicBits,
        b: SymbolicBits,
        span: QasmSpan,
    ) -> Lower<SymbolicBits> {
        let digits = a.into_iter().zip(b).map(|(a, b)| {
            let first = condition.clone().combine(a, true);
            let second = condition.clone().not().combine(b, true);
            first.combine(second, false)
        });
        let digits: SymbolicBits = digits.collect();
        self.kept(digits, span)
    }

    fn digit_by_digit(
        &mut self,
        op: BinaryOp,
        a: SymbolicBits,
        b: SymbolicBits,
        span: QasmSpan,
    ) -> Lower<SymbolicBits> {
        let pairs = a.into_iter().zip(b);
        match op {
            BinaryOp::BitXor => pairs.map(|(a, b)| self.differ(a, b, span)).collect(),
            op => Ok(pairs.map(|(a, b)| a.combine(b, op == BinaryOp::BitAnd)).collect()),
        }
    }
}

/// Returns the number of digits of a signed result that can differ from the last one.
fn enough(op: BinaryOp, a: &BitVector, b: &BitVector) -> u32 {
    use BinaryOp::*;
    let (m, n) = (a.needs(true), b.needs(true));
    match op {
        Add | Sub | Div | Rem => m.max(n).saturating_add(1),
        Mul => m.saturating_add(n),
        Shl => {
            // At most by the sum of all of its digits.
            let far = |(at, digit): (u32, &Truth)| match digit {
                Truth::Constant(false) => 0,
                _ => 1u32.checked_shl(at).unwrap_or(u32::MAX),
            };
            (0..).zip(&b.digits).map(far).fold(m, u32::saturating_add)
        }
        Shr => m,
        _ => m.max(n),
    }
}

/// Returns the number of digits of an unsigned result that can be other than 0.
fn enough_unsigned(op: BinaryOp, a: &BitVector, b: &BitVector) -> u32 {
    use BinaryOp::*;
    let negative =
        |operand: &BitVector| operand.signed && (!operand.is_known() || operand.is_negative());
    if negative(a) || negative(b) {
        return u32::MAX;
    }
    let (m, n) = (a.needs(false), b.needs(false));
    match op {
        Add => m.max(n).saturating_add(1),
        Div | Rem | BitAnd | BitOr | BitXor => m.max(n),
        Mul => m.saturating_add(n),
        Shr => m,
        // A difference may be below 0, which wraps.
        _ => u32::MAX,
    }
}

/// Returns the length of a register or bit string; `None` for numbers.
fn register_size(value: &Classical) -> Option<usize> {
    match value {
        Classical::BitVector { bits, ty: None, .. } => Some(bits.len()),
        Classical::Digits { digits, width: Some(_) } => Some(digits.len()),
        Classical::Value(QasmValue::Bits { width, .. }) => Some(*width as usize),
        _ => None,
    }
}

fn not(digits: SymbolicBits) -> SymbolicBits {
    digits.into_iter().map(Truth::not).collect()
}
