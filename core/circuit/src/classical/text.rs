//! Expressions as text in OpenQASM 3.
//!
//! A conversion that the rules of operands make anyway is not written: `a + 1` for
//! `a + uint[4](1)` with a `uint[4] a`.

use super::{
    VariableId,
    evaluate::{ExprBits, ExprStep},
    expr::{ClassicalExpr, ExprKind},
    operator::Arithmetic,
    types::ClassicalType,
    typing::{self, Meeting, Typing},
    word::{self, Word},
};
use crate::{
    notation::{Infix, Precedence, atom, parenthesized},
    param::Angle,
};

/// Names of what an expression reads.
#[doc(hidden)]
pub trait PlaceNames {
    /// The name of a bit.
    fn bit(&self, bit: u32) -> String;
    /// The name of some bits in order, the first one bit 0.
    fn bits(&self, bits: &[u32]) -> String;
    /// The name of a variable.
    fn variable(&self, variable: VariableId) -> String;
    /// The text of an angle over parameters.
    fn angle(&self, angle: &Angle) -> String;
}

/// Names of a circuit that is not at hand: `c[3]`, `v0`.
pub(crate) struct CircuitNames;

impl PlaceNames for CircuitNames {
    fn bit(&self, bit: u32) -> String {
        format!("c[{bit}]")
    }

    fn bits(&self, bits: &[u32]) -> String {
        let bits: Vec<String> = bits.iter().rev().map(|bit| format!("c[{bit}]")).collect();
        format!("{{{}}}", bits.join(", "))
    }

    fn variable(&self, variable: VariableId) -> String {
        format!("v{}", variable.index())
    }

    fn angle(&self, angle: &Angle) -> String {
        angle.to_string()
    }
}

/// Text of a part, and what it is.
#[derive(Clone)]
struct TextPart {
    text: Infix,
    typing: Typing,
    /// The same without the conversion that is its outermost operation.
    bare: Option<Box<TextPart>>,
}

impl TextPart {
    fn new(text: Infix, ty: ClassicalType) -> TextPart {
        TextPart { text, typing: Typing::Typed(ty), bare: None }
    }

    /// This part and, first, what it is without its conversion. One before that is not left out:
    /// `int[3](c)` in an `int` has a sign, and `c` has none.
    fn forms(&self) -> impl Iterator<Item = &TextPart> {
        self.bare.as_deref().into_iter().chain([self])
    }

    /// The part without the conversion to its type.
    fn barest(&self) -> &TextPart {
        self.bare.as_deref().unwrap_or(self)
    }
}

impl ClassicalExpr {
    /// The text of the expression, with these names.
    #[doc(hidden)]
    #[must_use]
    pub fn text(&self, names: &dyn PlaceNames) -> String {
        match &self.kind {
            ExprKind::Literal(value) => literal(*value).0,
            ExprKind::Typed { steps, .. } => part(steps, names).text.0,
        }
    }

    /// The text of the expression where its type is known, in an assignment or a condition: with
    /// its precedence, and without the outermost conversion if that is one between numbers.
    #[doc(hidden)]
    #[must_use]
    pub fn converted_text(&self, names: &dyn PlaceNames) -> Infix {
        match &self.kind {
            ExprKind::Literal(value) => literal(*value),
            ExprKind::Typed { ty, steps } => {
                let part = part(steps, names);
                match part.bare {
                    Some(bare) if is_implied(bare.typing, *ty) => bare.text,
                    _ => part.text,
                }
            }
        }
    }
}

/// A part for a table that is not well-formed, which none is by construction.
fn nothing() -> TextPart {
    TextPart::new(atom("false".to_owned()), ClassicalType::Bool)
}

fn part(steps: &[ExprStep], names: &dyn PlaceNames) -> TextPart {
    let mut stack: Vec<TextPart> = Vec::new();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        at += 1;
        let mut pop = || stack.pop().unwrap_or_else(nothing);
        let made = match step {
            ExprStep::Constant(..)
            | ExprStep::Real(_)
            | ExprStep::Bits(_)
            | ExprStep::Variable(..) => place(step, names),
            ExprStep::Element { variable, ty, shape } => {
                let indices = stack.split_off(stack.len().saturating_sub(shape.len()));
                let indices: Vec<&str> =
                    indices.iter().map(|index| index.barest().text.0.as_str()).collect();
                let name = names.variable(*variable);
                TextPart::new(atom(format!("{name}[{}]", indices.join(", "))), *ty)
            }
            ExprStep::Skip { on, steps: skipped } => {
                let end = at.saturating_add(*skipped as usize).min(steps.len());
                let (left, right) = (pop(), part(&steps[at..end], names));
                at = end;
                let (sign, precedence) =
                    if *on { ("||", Precedence::Or) } else { ("&&", Precedence::And) };
                infix(sign, precedence, left.barest(), right.barest(), ClassicalType::Bool)
            }
            ExprStep::Cast { .. }
            | ExprStep::Saturate
            | ExprStep::Negate(_)
            | ExprStep::Invert(_)
            | ExprStep::Pick(_)
            | ExprStep::Popcount
            | ExprStep::Call(..)
            | ExprStep::Part(_)
            | ExprStep::Norm(_) => of_one(step, pop()),
            _ => {
                let (right, left) = (pop(), pop());
                of_two(step, &left, &right)
            }
        };
        stack.push(made);
    }
    stack.pop().unwrap_or_else(nothing)
}

/// The text of a constant or a place.
fn place(step: &ExprStep, names: &dyn PlaceNames) -> TextPart {
    match step {
        ExprStep::Constant(ty, value) => constant(*ty, *value),
        ExprStep::Real(angle) => {
            let text = names.angle(angle);
            let is_atom = text.chars().all(|c| c.is_alphanumeric() || "._[]".contains(c));
            let precedence = if is_atom { Precedence::Atom } else { Precedence::Sum };
            TextPart::new((text, precedence), ClassicalType::FLOAT)
        }
        ExprStep::Bits(source) => {
            let bits = source.to_vec();
            let name = match bits.as_slice() {
                [bit] => names.bit(*bit),
                bits => names.bits(bits),
            };
            let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
            TextPart::new(atom(name), ClassicalType::Bits(width))
        }
        ExprStep::Variable(variable, ty) => TextPart::new(atom(names.variable(*variable)), *ty),
        _ => nothing(),
    }
}

/// The text of a step on one value.
fn of_one(step: &ExprStep, inner: TextPart) -> TextPart {
    match step {
        ExprStep::Cast { to, .. } => {
            let text = atom(format!("{to}({})", inner.barest_for_cast().text.0));
            TextPart { text, typing: Typing::Typed(*to), bare: Some(Box::new(inner)) }
        }
        ExprStep::Saturate => inner,
        ExprStep::Negate(ty) => prefixed("-", &inner, *ty),
        ExprStep::Invert(_) => match inner.typing {
            Typing::Typed(ClassicalType::Bool) => {
                prefixed("!", inner.barest(), ClassicalType::Bool)
            }
            typing => prefixed("~", &inner, typing.own()),
        },
        ExprStep::Pick(bits) => {
            let value = parenthesized(inner.text, Precedence::Atom);
            let width = u32::try_from(bits.len()).unwrap_or(u32::MAX);
            TextPart::new(atom(format!("{value}{}", picked(bits))), ClassicalType::Bits(width))
        }
        ExprStep::Popcount => {
            called("popcount", &[&inner], ClassicalType::Int(super::IntType::UINT))
        }
        ExprStep::Call(function, ty) => called(function.name(), &[inner.barest_number()], *ty),
        ExprStep::Part(imaginary) => {
            called(if *imaginary { "imag" } else { "real" }, &[&inner], ClassicalType::FLOAT)
        }
        ExprStep::Norm(float) => called("abs", &[&inner], ClassicalType::Float(*float)),
        _ => nothing(),
    }
}

/// The text of a step on two values.
fn of_two(step: &ExprStep, left: &TextPart, right: &TextPart) -> TextPart {
    match step {
        ExprStep::Arithmetic(op, ty) => arithmetic(*op, left, right, Meeting::Both(*ty)),
        ExprStep::IntPower { ty, exponent } => {
            let meeting = Meeting::IntPower { base: *ty, exponent: *exponent };
            arithmetic(Arithmetic::Power, left, right, meeting)
        }
        ExprStep::AngleTimes { width, by } => {
            let meeting = Meeting::AngleTimes { width: *width, by: *by, angle_first: true };
            arithmetic(Arithmetic::Mul, left, right, meeting)
        }
        ExprStep::AngleOver { width } => {
            let meeting = Meeting::AngleOver { width: *width };
            arithmetic(Arithmetic::Div, left, right, meeting)
        }
        ExprStep::AngleOverInt { width, by } => {
            let meeting = Meeting::AngleOverInt { width: *width, by: *by };
            arithmetic(Arithmetic::Div, left, right, meeting)
        }
        ExprStep::Shift { left: up, ty, places } => {
            let (value, by) =
                fewest(left, right, |value, by| typing::moved(value, by) == Some((*ty, *places)));
            let sign = if *up { "<<" } else { ">>" };
            infix(sign, Precedence::Shift, value, by, *ty)
        }
        ExprStep::Rotate { left: up, ty, places } => {
            let (value, by) =
                fewest(left, right, |value, by| typing::moved(value, by) == Some((*ty, *places)));
            let name = if *up { "rotl" } else { "rotr" };
            TextPart::new(atom(format!("{name}({}, {})", value.text.0, by.text.0)), *ty)
        }
        ExprStep::Compare(relation, ty) => {
            let (left, right) = fewest(left, right, |left, right| {
                typing::comparison(*relation, left, right) == Some(*ty)
            });
            let precedence = match relation.symbol() {
                "==" | "!=" => Precedence::Equality,
                _ => Precedence::Compare,
            };
            infix(relation.symbol(), precedence, left, right, ClassicalType::Bool)
        }
        ExprStep::Concat(low) => {
            let high = super::operator::width(right.typing.own());
            infix("++", Precedence::Sum, left, right, ClassicalType::Bits(low + high))
        }
        ExprStep::BitAt { .. } => {
            let value = parenthesized(left.text.clone(), Precedence::Atom);
            let text = format!("{value}[{}]", right.barest().text.0);
            TextPart::new(atom(text), ClassicalType::Bits(1))
        }
        ExprStep::Modulo(ty) => {
            let (left, right) = fewest(left, right, |left, right| {
                typing::meeting(Arithmetic::Rem, left, right) == Some(Meeting::Both(*ty))
            });
            called("mod", &[left, right], *ty)
        }
        _ => nothing(),
    }
}

impl TextPart {
    /// What a conversion is written around: of an integer without a type its digits.
    fn barest_for_cast(&self) -> &TextPart {
        match self.bare.as_deref() {
            Some(bare) if matches!(bare.typing, Typing::Literal(_)) => bare,
            _ => self,
        }
    }

    /// The argument of a function of floats: an integer or an angle is one anyway.
    fn barest_number(&self) -> &TextPart {
        let is_implied = |bare: &TextPart| {
            matches!(bare.typing.own(), ClassicalType::Int(_) | ClassicalType::Angle(_))
        };
        match self.bare.as_deref() {
            Some(bare) if is_implied(bare) => bare,
            _ => self,
        }
    }
}

/// Returns true for a conversion that an assignment makes anyway.
fn is_implied(from: Typing, to: ClassicalType) -> bool {
    use ClassicalType::*;
    match (from, to) {
        (Typing::Literal(_), Int(_) | Float(_)) => true,
        (Typing::Typed(from), to) => matches!(
            (from, to),
            (Bool | Int(_), Int(_) | Float(_))
                | (Float(_), Float(_))
                | (Bits(1) | Int(_), Bool)
                | (Bool, Bits(1))
        ),
        _ => false,
    }
}

/// An integer without a type.
fn literal(value: i128) -> Infix {
    let precedence = if value < 0 { Precedence::Prefix } else { Precedence::Atom };
    (value.to_string(), precedence)
}

/// A constant: an integer with its type, and without.
fn constant(ty: ClassicalType, value: Word) -> TextPart {
    let literal =
        |value: i128| TextPart { text: literal(value), typing: Typing::Literal(value), bare: None };
    match ty {
        ClassicalType::Bool => TextPart::new(atom((value == 1).to_string()), ty),
        ClassicalType::Bits(width) => {
            let digits = format!("{value:0width$b}", width = width as usize);
            TextPart::new(atom(format!("\"{digits}\"")), ty)
        }
        // Of an unsigned number beyond 2^127 there is no such integer.
        ClassicalType::Int(int) => match int.signed || i128::try_from(value).is_ok() {
            true => {
                let bare = literal(word::int_value(int, value));
                let text = atom(format!("{ty}({})", bare.text.0));
                TextPart { text, typing: Typing::Typed(ty), bare: Some(Box::new(bare)) }
            }
            false => TextPart::new(atom(format!("{ty}({value})")), ty),
        },
        ClassicalType::Angle(width) => {
            let digits = format!("{value:0width$b}", width = width as usize);
            TextPart::new(atom(format!("{ty}(\"{digits}\")")), ty)
        }
        ClassicalType::Float(_) => {
            let x = word::float_value(value);
            let text = float(x);
            let precedence = if x.is_sign_negative() || text.contains('/') {
                Precedence::Product
            } else {
                Precedence::Atom
            };
            let plain = TextPart::new((text, precedence), ClassicalType::FLOAT);
            match ty == ClassicalType::FLOAT {
                true => plain,
                false => TextPart {
                    text: atom(format!("{ty}({})", plain.text.0)),
                    typing: Typing::Typed(ty),
                    bare: Some(Box::new(plain)),
                },
            }
        }
        ClassicalType::Complex(_) => {
            let z = word::complex_value(value);
            let (re, im) = (float(z.re), float(z.im));
            TextPart::new(atom(format!("({re} + {im} * 1im)")), ty)
        }
    }
}

/// The shortest decimal that reads back as a float.
fn float(x: f64) -> String {
    match x {
        x if x.is_nan() => "(0.0/0.0)".to_owned(),
        f64::INFINITY => "(1.0/0.0)".to_owned(),
        f64::NEG_INFINITY => "(-1.0/0.0)".to_owned(),
        x => format!("{x:?}"),
    }
}

/// Returns the forms of two operands with the fewest conversions that still meet as they must.
fn fewest<'p>(
    left: &'p TextPart,
    right: &'p TextPart,
    is_right: impl Fn(Typing, Typing) -> bool,
) -> (&'p TextPart, &'p TextPart) {
    let pairs = || left.forms().flat_map(|l| right.forms().map(move |r| (l, r)));
    pairs().find(|(l, r)| is_right(l.typing, r.typing)).unwrap_or((left, right))
}

fn arithmetic(op: Arithmetic, left: &TextPart, right: &TextPart, meeting: Meeting) -> TextPart {
    let (left, right) = fewest(left, right, |l, r| typing::meeting(op, l, r) == Some(meeting));
    let precedence = match op {
        Arithmetic::Add | Arithmetic::Sub => Precedence::Sum,
        Arithmetic::Mul | Arithmetic::Div | Arithmetic::Rem => Precedence::Product,
        Arithmetic::Power => Precedence::Power,
        Arithmetic::BitAnd => Precedence::BitAnd,
        Arithmetic::BitOr => Precedence::BitOr,
        Arithmetic::BitXor => Precedence::BitXor,
    };
    infix(op.symbol(), precedence, left, right, meeting.result())
}

fn infix(
    sign: &str,
    precedence: Precedence,
    left: &TextPart,
    right: &TextPart,
    ty: ClassicalType,
) -> TextPart {
    let (least_left, least_right) = precedence.operands();
    let left = parenthesized(left.text.clone(), least_left);
    let right = parenthesized(right.text.clone(), least_right);
    let space = if precedence == Precedence::Power { "" } else { " " };
    TextPart::new((format!("{left}{space}{sign}{space}{right}"), precedence), ty)
}

fn prefixed(sign: &str, inner: &TextPart, ty: ClassicalType) -> TextPart {
    let inner = parenthesized(inner.text.clone(), Precedence::Prefix);
    TextPart::new((format!("{sign}{inner}"), Precedence::Prefix), ty)
}

fn called(name: &str, args: &[&TextPart], ty: ClassicalType) -> TextPart {
    let args: Vec<&str> = args.iter().map(|arg| arg.text.0.as_str()).collect();
    TextPart::new(atom(format!("{name}({})", args.join(", "))), ty)
}

/// An index of several bits: a range if they are one.
fn picked(bits: &[u8]) -> String {
    match bits {
        [bit] => format!("[{bit}]"),
        [first, .., last] if bits.windows(2).all(|pair| pair[0] + 1 == pair[1]) => {
            format!("[{first}:{last}]")
        }
        bits => {
            let bits: Vec<String> = bits.iter().map(ToString::to_string).collect();
            format!("[{{{}}}]", bits.join(", "))
        }
    }
}

impl ExprBits {
    pub(super) fn to_vec(&self) -> Vec<u32> {
        match self {
            ExprBits::Range { first, len } => (0..*len).map(|k| first + k).collect(),
            ExprBits::List(bits) => bits.to_vec(),
        }
    }
}
