//! Random circuits with variables, expressions, assignments and blocks, against an interpreter that
//! goes through the statements one by one and shares nothing with the library.
//!
//! Gates turn qubits by angles that are expressions, whole half turns where that shows. So qubits
//! hold 0 or 1 throughout: what is random is a coin, `reset q; h q; measure q -> bit`. So
//! the interpreter takes every sequence of coins in turn, and has the exact distribution of all
//! bits and variables at the end.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{cmp::Ordering, collections::BTreeMap, f64::consts::TAU};

use ketgrad_core::{
    circuit::{
        Circuit, CircuitError, ClassicalAssignment, ClassicalTarget, Condition, Instruction,
    },
    circuit::{Operation, Relation},
    classical::{Arithmetic, ClassicalExpr, ClassicalFunction, ClassicalType, FloatType, IntType},
    classical::{ClassicalMemory, MemoryLayout, VariableId, VariableType},
    gate::GateKind,
    param::Values,
    scalar::Real,
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;

/// Number of programs for each law.
const PROGRAMS: u64 = 1000;
/// Number of memories, each of which 100 expressions read.
const EXPRESSIONS: u64 = 2000;
/// Programs with more sequences of coins, or more steps in one, are left out.
const MOST_PATHS: usize = 256;
const MOST_STEPS: usize = 2000;

/// Angles with more bits are made of no numbers: the reference has 64 digits of a turn.
const LONGEST_ANGLE_OF_NUMBER: u32 = 32;

// ---- Values ------------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq)]
enum Type {
    Bool,
    Bits(u32),
    Int(u32),
    Uint(u32),
    Angle(u32),
    Float(u32),
}
use Type::{Angle, Bits, Bool, Float, Int, Uint};

#[derive(Clone, Copy, Debug, PartialEq)]
enum Value {
    /// An integer without a type.
    Literal(i128),
    /// A value of a type: of a float the bits of the f64, else that many bits.
    Of(Type, u128),
}
use Value::{Literal, Of};

fn ones(width: u32) -> u128 {
    u128::MAX >> (128 - width)
}

fn float(width: u32, x: f64) -> Value {
    let x = if width == 32 { f64::from(x as f32) } else { x };
    Of(Float(width), u128::from(if x.is_nan() { f64::NAN } else { x }.to_bits()))
}

impl Value {
    fn ty(self) -> Option<Type> {
        match self {
            Literal(_) => None,
            Of(ty, _) => Some(ty),
        }
    }
    fn word(self) -> u128 {
        match self {
            Literal(x) => x as u128,
            Of(_, word) => word,
        }
    }
    fn is_negative(self) -> bool {
        match self {
            Literal(x) => x < 0,
            Of(Int(n), word) => word >> (n - 1) == 1,
            _ => false,
        }
    }
    /// A whole number modulo 2^128.
    fn whole(self) -> Option<u128> {
        match self {
            Of(Int(n), word) if self.is_negative() => Some(word | !ones(n)),
            Of(Angle(_) | Float(_), _) => None,
            other => Some(other.word()),
        }
    }
    fn number(self) -> f64 {
        match (self, self.whole()) {
            (Of(Float(_), word), _) => f64::from_bits(word as u64),
            (Of(Angle(n), word), _) => word as f64 / 2f64.powi(n as i32) * TAU,
            (_, Some(whole)) if self.is_negative() => -(whole.wrapping_neg() as f64),
            (_, whole) => whole.unwrap_or(0) as f64,
        }
    }
    fn is_true(self) -> bool {
        match self {
            Of(Float(_), _) => self.number() != 0.0,
            _ => self.word() != 0,
        }
    }
    /// A place among `n`, negative ones counting from the end, if there is one; `None` for what is
    /// no whole number.
    fn place(self, n: usize) -> Option<Option<usize>> {
        let whole = self.whole()?;
        let place = if self.is_negative() { whole.wrapping_add(n as u128) } else { whole };
        Some(usize::try_from(place).ok().filter(|place| *place < n))
    }
}

/// The nearest of `2^n` parts of a turn.
fn nearest_angle(x: f64, n: u32) -> Option<u128> {
    if n > LONGEST_ANGLE_OF_NUMBER {
        return None;
    }
    // 2^128 over the float that a turn is.
    const OVER_TURN: u128 = 0x28be_60db_9391_05bc_f13a_9a6d_74f8_4c58;
    let rest = if x.is_finite() { x.abs() % TAU } else { 0.0 };
    let part = (rest.fract() * 2f64.powi(64)) as u128;
    let turns = (rest as u128).wrapping_mul(OVER_TURN).wrapping_add(part * (OVER_TURN >> 64));
    Some(resized(if x < 0.0 { turns.wrapping_neg() } else { turns }, 128, n))
}

fn resized(angle: u128, from: u32, to: u32) -> u128 {
    if to >= from {
        return angle << (to - from);
    }
    let (kept, rest) = (angle >> (from - to), angle & ones(from - to));
    let up = match rest.cmp(&(1 << (from - to - 1))) {
        Ordering::Equal => kept & 1,
        order => u128::from(order.is_gt()),
    };
    (kept + up) & ones(to)
}

/// The explicit conversion; `None` if there is none.
fn convert(value: Value, to: Type) -> Option<Value> {
    let word = match (value.ty(), to) {
        (Some(from), _) if from == to => value.word(),
        (_, Bool) => u128::from(value.is_true()),
        (Some(Float(_)), Int(n)) => {
            let most = (ones(n) >> 1) as i128;
            (value.number() as i128).clamp(-most - 1, most) as u128 & ones(n)
        }
        (Some(Float(_)), Uint(n)) => (value.number() as u128).min(ones(n)),
        (_, Int(n) | Uint(n)) => value.whole()? & ones(n),
        (Some(Bits(_)), Float(_)) | (Some(Bool), Angle(_)) => return None,
        (_, Float(width)) => return Some(float(width, value.number())),
        (Some(Bits(m) | Angle(m)), Bits(n)) | (Some(Bits(m)), Angle(n)) => {
            return (m == n).then(|| Of(to, value.word()));
        }
        (_, Bits(n)) => value.whole()? & ones(n),
        (Some(Angle(m)), Angle(n)) => resized(value.word(), m, n),
        (_, Angle(n)) => nearest_angle(value.number(), n)?,
    };
    Some(Of(to, word))
}

fn holds(ty: Type, x: i128) -> bool {
    match ty {
        Int(n) => x >> (n - 1) == 0 || x >> (n - 1) == -1,
        Uint(n) | Bits(n) => x >= 0 && x as u128 <= ones(n),
        _ => false,
    }
}

/// The value that an assignment to a type stores.
fn assigned(value: Value, to: Type) -> Option<Value> {
    match (value, to) {
        (Literal(x), Int(_) | Uint(_)) if !holds(to, x) => None,
        _ => convert(value, to),
    }
}

/// An `int` of a number of bits, or the longest `uint`.
fn int_of(bits: u32) -> Type {
    if bits > 128 { Uint(128) } else { Int(bits.max(32)) }
}

/// An `int` that holds a number.
fn int_for(x: i128) -> Type {
    int_of(129 - if x < 0 { x.leading_ones() } else { x.leading_zeros() })
}

/// The type without an operand beside it; of bits an `int`.
fn int_alone(value: Value) -> Option<Type> {
    match value {
        Literal(x) => Some(int_for(x)),
        Of(Bool, _) => Some(int_of(2)),
        Of(Bits(n), _) => Some(int_of(n + 1)),
        Of(ty @ (Int(_) | Uint(_)), _) => Some(ty),
        _ => None,
    }
}

/// The type that two operands are converted to, if they are integers or bits.
fn common(a: Value, b: Value) -> Option<Type> {
    let wider = |s: Type, t: Type| match (s, t) {
        (Int(m), Int(n)) => Int(m.max(n)),
        (Uint(m), Uint(n)) => Uint(m.max(n)),
        (Int(m), Uint(n)) | (Uint(n), Int(m)) => {
            if m > n {
                Int(m)
            } else {
                Uint(n)
            }
        }
        _ => s,
    };
    let unsigned = |ty: Type| match ty {
        Bool => Uint(1),
        Bits(n) => Uint(n),
        ty => ty,
    };
    let is_int = |v: Value| matches!(v, Of(Int(_) | Uint(_), _));
    let (s, t) = (int_alone(a)?, int_alone(b)?);
    Some(match (a, b) {
        (Literal(x), other) | (other, Literal(x)) => {
            let ty = int_alone(other)?;
            let own = width(ty)? + u32::from(matches!(ty, Uint(_)));
            let need = width(int_for(x))?;
            if holds(ty, x) { ty } else { Int(own.max(need).clamp(32, 128)) }
        }
        _ if is_int(a) || is_int(b) => wider(unsigned(a.ty()?), unsigned(b.ty()?)),
        _ => wider(s, t),
    })
}

// ---- Expressions -------------------------------------------------------------------------------

#[derive(Clone, Copy, Debug, PartialEq)]
enum Op {
    Plain(Arithmetic),
    Modulo,
}

#[derive(Clone, Debug)]
enum Expr {
    Constant(Value),
    Variable(usize),
    Element(usize, Vec<Expr>),
    Bits(Vec<usize>),
    Binary(Op, Box<[Expr; 2]>),
    Compare(Relation, Box<[Expr; 2]>),
    /// `||` if true, else `&&`.
    Either(bool, Box<[Expr; 2]>),
    Shift(bool, Box<[Expr; 2]>),
    Rotate(bool, Box<[Expr; 2]>),
    BitAt(Box<[Expr; 2]>),
    Concat(Box<[Expr; 2]>),
    Pick(Box<Expr>, Vec<u32>),
    Cast(Type, Box<Expr>),
    Call(ClassicalFunction, Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    Invert(Box<Expr>),
    Popcount(Box<Expr>),
}

#[derive(Clone, Debug)]
struct Cells {
    ty: Type,
    shape: Vec<usize>,
    words: Vec<u128>,
}

/// What a program reads and writes besides qubits.
#[derive(Clone, Debug, Default)]
struct Memory {
    bits: Vec<bool>,
    variables: Vec<Cells>,
}

impl Memory {
    /// The place of an element in the order of rows, if there is one.
    fn place(&self, variable: usize, indices: &[Expr]) -> Option<Option<usize>> {
        let shape = &self.variables[variable].shape;
        indices.iter().zip(shape).try_fold(Some(0), |at, (index, &n)| {
            let place = self.value(index)?.place(n)?;
            Some(at.zip(place).map(|(at, place)| at * n + place))
        })
    }

    fn number(&self, bits: &[usize]) -> u128 {
        bits.iter().enumerate().map(|(k, &bit)| u128::from(self.bits[bit]) << k).sum()
    }

    /// The value of an expression; `None` if it has no meaning, whatever is in the memory.
    fn value(&self, expr: &Expr) -> Option<Value> {
        let pair = |pair: &[Expr; 2]| Some((self.value(&pair[0])?, self.value(&pair[1])?));
        Some(match expr {
            Expr::Constant(value) => *value,
            Expr::Variable(k) => Of(self.variables[*k].ty, self.variables[*k].words[0]),
            Expr::Element(k, indices) => {
                let (place, cells) = (self.place(*k, indices)?, &self.variables[*k]);
                Of(cells.ty, place.map_or(0, |place| cells.words[place]))
            }
            Expr::Bits(bits) => Of(Bits(bits.len() as u32), self.number(bits)),
            Expr::Binary(op, operands) => {
                let (a, b) = pair(operands)?;
                match op {
                    Op::Plain(op) => binary(*op, a, b)?,
                    Op::Modulo => modulo(a, b)?,
                }
            }
            Expr::Compare(relation, operands) => {
                let (a, b) = pair(operands)?;
                let order = compare(*relation, a, b)?;
                Of(Bool, u128::from(is_so(*relation, order)))
            }
            Expr::Either(either, operands) => {
                let first = self.value(&operands[0])?.is_true();
                let is_true =
                    if first == *either { first } else { self.value(&operands[1])?.is_true() };
                Of(Bool, u128::from(is_true))
            }
            Expr::Shift(left, operands) => {
                let (a, places) = pair(operands)?;
                shift(*left, a, places)?
            }
            Expr::Rotate(left, operands) => {
                let (a, places) = pair(operands)?;
                rotate(*left, a, places)?
            }
            Expr::BitAt(operands) => {
                let (a, index) = pair(operands)?;
                let place = index.place(width(a.ty()?)? as usize)?;
                Of(Bits(1), place.map_or(0, |place| a.word() >> place & 1))
            }
            Expr::Concat(operands) => match pair(operands)? {
                (Of(Bits(m), low), Of(Bits(n), high)) if m + n <= 128 => {
                    Of(Bits(m + n), high << m | low)
                }
                _ => return None,
            },
            Expr::Pick(of, bits) => {
                let a = self.value(of)?;
                let n = width(a.ty()?)?;
                let inside = (1..=128).contains(&bits.len()) && bits.iter().all(|&bit| bit < n);
                let picked = bits.iter().enumerate().map(|(k, &bit)| (a.word() >> bit & 1) << k);
                Of(Bits(bits.len() as u32), inside.then(|| picked.sum())?)
            }
            Expr::Cast(to, of) => convert(self.value(of)?, *to)?,
            Expr::Call(function, of) => call(*function, self.value(of)?)?,
            Expr::Not(of) => Of(Bool, u128::from(!self.value(of)?.is_true())),
            Expr::Negate(of) => match self.value(of)? {
                Literal(x) => Literal(x.checked_neg()?),
                a @ Of(Bool | Bits(_), _) => binary(Arithmetic::Sub, Literal(0), a)?,
                a @ Of(Float(width), _) => float(width, -a.number()),
                Of(ty, word) => Of(ty, word.wrapping_neg() & ones(width(ty)?)),
            },
            Expr::Invert(of) => {
                let a = alone(self.value(of)?)?;
                Of(a.ty()?, a.word() ^ ones(width(a.ty()?)?))
            }
            Expr::Popcount(of) => {
                let a = alone(self.value(of)?)?;
                width(a.ty()?)?;
                Of(Uint(32), u128::from(a.word().count_ones()))
            }
        })
    }
}

/// The number of bits.
fn width(ty: Type) -> Option<u32> {
    match ty {
        Bool => Some(1),
        Bits(n) | Int(n) | Uint(n) | Angle(n) => Some(n),
        Float(_) => None,
    }
}

/// An integer without a type as an `int`.
fn alone(value: Value) -> Option<Value> {
    match value {
        Literal(x) => convert(value, int_for(x)),
        other => Some(other),
    }
}

/// `x op y` of integers without a type.
fn exact(op: Arithmetic, x: i128, y: i128) -> Option<i128> {
    match op {
        Arithmetic::Add => x.checked_add(y),
        Arithmetic::Sub => x.checked_sub(y),
        Arithmetic::Mul => x.checked_mul(y),
        Arithmetic::Div => x.checked_div(y),
        Arithmetic::Rem => x.checked_rem(y),
        Arithmetic::Power => x.checked_pow(u32::try_from(y).ok()?),
        Arithmetic::BitAnd => Some(x & y),
        Arithmetic::BitOr => Some(x | y),
        Arithmetic::BitXor => Some(x ^ y),
    }
}

fn bitwise(op: Arithmetic, x: u128, y: u128) -> Option<u128> {
    match op {
        Arithmetic::BitAnd => Some(x & y),
        Arithmetic::BitOr => Some(x | y),
        Arithmetic::BitXor => Some(x ^ y),
        _ => None,
    }
}

fn binary(op: Arithmetic, a: Value, b: Value) -> Option<Value> {
    use Arithmetic::{Add, BitAnd, BitOr, BitXor, Div, Mul, Power, Sub};
    let is_bitwise = matches!(op, BitAnd | BitOr | BitXor);
    match (a, b) {
        (Literal(x), Literal(y)) => return exact(op, x, y).map(Literal),
        (Of(s, x), Of(t, y)) if is_bitwise => match (s, t) {
            (Bool, Bool | Bits(1)) | (Bits(1), Bool) => return Some(Of(Bool, bitwise(op, x, y)?)),
            (Bits(m), Bits(n)) if m == n => return Some(Of(s, bitwise(op, x, y)?)),
            (Angle(m), Angle(n)) => {
                let n = m.max(n);
                let (x, y) = (convert(a, Angle(n))?.word(), convert(b, Angle(n))?.word());
                return Some(Of(Angle(n), bitwise(op, x, y)?));
            }
            (Bool | Bits(_), Bool | Bits(_)) => return None,
            _ => {}
        },
        (Literal(x), Of(ty @ Bits(_), y)) | (Of(ty @ Bits(_), y), Literal(x))
            if is_bitwise && holds(ty, x) =>
        {
            return Some(Of(ty, bitwise(op, x as u128, y)?));
        }
        (Of(Angle(m), x), Of(Angle(k), y)) => {
            let n = m.max(k);
            let (p, q) = (resized(x, m, n), resized(y, k, n));
            return Some(match op {
                Add => Of(Angle(n), p.wrapping_add(q) & ones(n)),
                Sub => Of(Angle(n), p.wrapping_sub(q) & ones(n)),
                Div => Of(Uint(n), p.checked_div(q).unwrap_or(ones(n))),
                _ => floats(op, 64, a, b)?,
            });
        }
        (Of(Angle(n), x), other) | (other, Of(Angle(n), x)) => {
            let angle_first = matches!(a, Of(Angle(_), _));
            let other = alone(other)?;
            return match (op, other.ty()?) {
                (_, Bool | Bits(_)) => None,
                (Add | Sub, _) => binary(op, convert(a, Angle(n))?, convert(b, Angle(n))?),
                (Mul, Int(_) | Uint(_)) => {
                    Some(Of(Angle(n), x.wrapping_mul(other.whole()?) & ones(n)))
                }
                (Div, Int(_) | Uint(_)) if angle_first => {
                    let by = other.whole()?;
                    Some(Of(
                        Angle(n),
                        match other.is_negative() {
                            true => (x / by.wrapping_neg()).wrapping_neg() & ones(n),
                            false => x.checked_div(by).unwrap_or(ones(n)),
                        },
                    ))
                }
                (_, Float(width)) => floats(op, width, a, b),
                _ => floats(op, 64, a, b),
            };
        }
        _ => {}
    }
    match (a.ty(), b.ty()) {
        (Some(Float(m)), Some(Float(n))) => return floats(op, m.max(n), a, b),
        (Some(Float(n)), Some(Int(_) | Uint(_)) | None)
        | (Some(Int(_) | Uint(_)) | None, Some(Float(n))) => return floats(op, n, a, b),
        _ => {}
    }
    if op == Power {
        let ty = common(a, b)?;
        return int_power(convert(a, ty)?, convert(b, int_alone(b)?)?);
    }
    let ty = common(a, b)?;
    integers(op, ty, convert(a, ty)?, convert(b, ty)?)
}

/// A quotient by 0 has all bits 1 and leaves the dividend.
fn integers(op: Arithmetic, ty: Type, a: Value, b: Value) -> Option<Value> {
    let (x, y, all) = (a.whole()?, b.whole()?, ones(width(ty)?));
    let is_signed = matches!(ty, Int(_));
    let word = match op {
        Arithmetic::Add => x.wrapping_add(y),
        Arithmetic::Sub => x.wrapping_sub(y),
        Arithmetic::Mul => x.wrapping_mul(y),
        Arithmetic::Div if y == 0 => all,
        Arithmetic::Rem if y == 0 => x,
        Arithmetic::Div if is_signed => (x as i128).wrapping_div(y as i128) as u128,
        Arithmetic::Rem if is_signed => (x as i128).wrapping_rem(y as i128) as u128,
        Arithmetic::Div => x / y,
        Arithmetic::Rem => x % y,
        _ => bitwise(op, x, y)?,
    };
    Some(Of(ty, word & all))
}

/// A negative power is the whole part of the quotient, which by 0 has all bits 1.
fn int_power(base: Value, exponent: Value) -> Option<Value> {
    let ty = base.ty()?;
    let (x, mut n, all) = (base.whole()?, exponent.whole()?, ones(width(ty)?));
    let minus_one = base.is_negative() && x == u128::MAX;
    if exponent.is_negative() {
        return Some(Of(
            ty,
            match x {
                0 => all,
                1 => 1,
                _ if minus_one => {
                    if n & 1 == 0 {
                        1
                    } else {
                        all
                    }
                }
                _ => 0,
            },
        ));
    }
    let (mut power, mut square) = (1u128, x);
    while n > 0 {
        power = if n & 1 == 1 { power.wrapping_mul(square) } else { power };
        (square, n) = (square.wrapping_mul(square), n >> 1);
    }
    Some(Of(ty, power & all))
}

fn floats(op: Arithmetic, width: u32, a: Value, b: Value) -> Option<Value> {
    let in_type = |v: Value| Some(convert(v, Float(width))?.number());
    let (x, y) = (in_type(a)?, in_type(b)?);
    Some(float(
        width,
        match op {
            Arithmetic::Add => x + y,
            Arithmetic::Sub => x - y,
            Arithmetic::Mul => x * y,
            Arithmetic::Div => x / y,
            Arithmetic::Rem => x % y,
            Arithmetic::Power => x.powf(y),
            _ => return None,
        },
    ))
}

/// The remainder with the sign of the divisor.
fn modulo(a: Value, b: Value) -> Option<Value> {
    let rest = binary(Arithmetic::Rem, a, b)?;
    match rest {
        Literal(x) => {
            let Literal(y) = b else { return None };
            Some(Literal(if x != 0 && (x < 0) != (y < 0) { x + y } else { x }))
        }
        Of(Float(n), _) => {
            let (x, y) = (rest.number(), convert(b, Float(n))?.number());
            Some(if x != 0.0 && (x < 0.0) != (y < 0.0) { float(n, x + y) } else { rest })
        }
        Of(ty, word) => {
            let by = convert(b, ty)?;
            let other_sign = word != 0 && by.word() != 0 && rest.is_negative() != by.is_negative();
            if other_sign { integers(Arithmetic::Add, ty, rest, by) } else { Some(rest) }
        }
    }
}

fn is_so(relation: Relation, order: Option<Ordering>) -> bool {
    match relation {
        Relation::Equal => order == Some(Ordering::Equal),
        Relation::NotEqual => order != Some(Ordering::Equal),
        Relation::Less => order == Some(Ordering::Less),
        Relation::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        Relation::Greater => order == Some(Ordering::Greater),
        Relation::GreaterEqual => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
    }
}

/// The order of two values; `None` inside if one is NaN.
fn compare(relation: Relation, a: Value, b: Value) -> Option<Option<Ordering>> {
    let in_type = |ty| Some(Some(convert(a, ty)?.word().cmp(&convert(b, ty)?.word())));
    match (a.ty(), b.ty()) {
        (None, None) => Some(Some((a.word() as i128).cmp(&(b.word() as i128)))),
        (Some(Bool), Some(Bool)) => in_type(Bool),
        (Some(Bits(_)), Some(Bits(_))) => Some(Some(a.word().cmp(&b.word()))),
        (Some(Angle(m)), Some(Angle(n))) => in_type(Angle(m.max(n))),
        (Some(Angle(n)), Some(Int(_) | Uint(_) | Float(_)) | None)
        | (Some(Int(_) | Uint(_) | Float(_)) | None, Some(Angle(n))) => match relation {
            Relation::Equal | Relation::NotEqual => in_type(Angle(n)),
            _ => Some(a.number().partial_cmp(&b.number())),
        },
        (Some(Float(_)), Some(Int(_) | Uint(_) | Float(_)) | None)
        | (Some(Int(_) | Uint(_)) | None, Some(Float(_))) => {
            Some(a.number().partial_cmp(&b.number()))
        }
        _ => {
            let ty = common(a, b)?;
            let (a, b) = (convert(a, ty)?, convert(b, ty)?);
            // Negative ones first; among those of one sign the order is that of the words.
            Some(Some((!a.is_negative(), a.word()).cmp(&(!b.is_negative(), b.word()))))
        }
    }
}

fn shift(left: bool, a: Value, places: Value) -> Option<Value> {
    let (a, places) = (alone(a)?, alone(places)?);
    let (ty, n) = (a.ty()?, width(a.ty()?)?);
    let few = (!places.is_negative()).then_some(places.whole()?).filter(|k| *k < u128::from(n));
    let word = match few {
        Some(k) if left => a.word() << k,
        Some(k) if a.is_negative() => (a.whole()? as i128 >> k) as u128,
        Some(k) => a.word() >> k,
        None if !left && a.is_negative() => u128::MAX,
        None => 0,
    };
    Some(Of(ty, word & ones(n)))
}

fn rotate(left: bool, a: Value, places: Value) -> Option<Value> {
    let (a, places) = (alone(a)?, alone(places)?);
    let (ty, n) = (a.ty()?, width(a.ty()?)?);
    let whole = places.whole()?;
    let (k, left) = match places.is_negative() {
        true => (whole.wrapping_neg(), !left),
        false => (whole, left),
    };
    let mut word = a.word();
    for _ in 0..k % u128::from(n) {
        word = match left {
            true => word << 1 & ones(n) | word >> (n - 1),
            false => word >> 1 | (word & 1) << (n - 1),
        };
    }
    Some(Of(ty, word))
}

/// Of the functions those whose value is exact.
fn call(function: ClassicalFunction, a: Value) -> Option<Value> {
    let of = |x: f64| match function {
        ClassicalFunction::Abs => x.abs(),
        ClassicalFunction::Floor => x.floor(),
        ClassicalFunction::Ceiling => x.ceil(),
        _ => x.sqrt(),
    };
    match (function, a) {
        (ClassicalFunction::Abs, Literal(x)) => x.checked_abs().map(Literal),
        (ClassicalFunction::Abs, Of(Uint(_) | Angle(_), _)) => Some(a),
        (ClassicalFunction::Abs, Of(Int(n), word)) if a.is_negative() => {
            Some(Of(Int(n), word.wrapping_neg() & ones(n)))
        }
        (ClassicalFunction::Abs, Of(Int(_), _)) => Some(a),
        (
            ClassicalFunction::Floor | ClassicalFunction::Ceiling,
            Literal(_) | Of(Int(_) | Uint(_), _),
        ) => Some(a),
        (_, Of(Float(n), _)) => Some(float(n, of(a.number()))),
        (_, Of(Bool | Bits(_), _)) => None,
        _ => Some(float(64, of(a.number()))),
    }
}

// ---- Statements --------------------------------------------------------------------------------

#[derive(Clone, Debug)]
enum Test {
    Expr(Expr),
    Bit(usize, bool),
    Compare(Vec<usize>, Relation, u128),
    Not(Box<Test>),
    All(Vec<Test>),
    Any(Vec<Test>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Axis {
    X,
    Y,
    Z,
    /// Z with another phase.
    Phase,
}

#[derive(Clone, Debug)]
enum Statement {
    Assign(usize, Expr),
    AssignElement(usize, Vec<Expr>, Expr),
    AssignBits(Vec<usize>, Expr),
    AssignBitAt(Vec<usize>, Expr, Expr),
    AssignBit(usize, bool),
    X(usize),
    Y(usize),
    /// X if the control has the value.
    Cx(usize, bool, usize),
    /// A rotation of a qubit by an angle that is computed, where the control has the value: half
    /// turns about an axis that is not Z.
    Turn(Axis, Option<(usize, bool)>, usize, Expr),
    Reset(usize),
    Measure(usize, usize),
    Coin(usize, usize),
    If(Test, Vec<Statement>, Vec<Statement>),
    While(Test, Vec<Statement>),
    For(usize, [Expr; 3], Vec<Statement>),
    ForEach(usize, Vec<Expr>, Vec<Statement>),
    /// Cases, of which the one without values is the default.
    Switch(Expr, Vec<(Vec<i128>, Vec<Statement>)>),
    Block(Vec<Statement>),
    Break(u32),
    Continue(u32),
    End,
    /// Each statement under a condition, which a block tests once.
    When(Test, Vec<Statement>),
}

#[derive(Clone, Debug)]
struct Program {
    n_qubits: usize,
    /// All 0.
    memory: Memory,
    body: Vec<Statement>,
}

/// Bits, and the words of each variable.
type Outcome = (Vec<bool>, Vec<Vec<u128>>);

/// How a run goes on after a statement.
enum Flow {
    Next,
    Break(u32),
    Continue(u32),
    End,
    /// There is no coin, or no step left.
    Stuck,
}

struct Run<'p> {
    qubits: Vec<bool>,
    memory: Memory,
    coins: &'p [bool],
    steps: usize,
}

impl Run<'_> {
    fn holds(&self, test: &Test) -> bool {
        match test {
            Test::Expr(expr) => self.memory.value(expr).unwrap().is_true(),
            Test::Bit(bit, value) => self.memory.bits[*bit] == *value,
            Test::Compare(bits, relation, value) => {
                is_so(*relation, Some(self.memory.number(bits).cmp(value)))
            }
            Test::Not(test) => !self.holds(test),
            Test::All(tests) => tests.iter().all(|test| self.holds(test)),
            Test::Any(tests) => tests.iter().any(|test| self.holds(test)),
        }
    }

    fn stored(&self, expr: &Expr, ty: Type) -> u128 {
        assigned(self.memory.value(expr).unwrap(), ty).unwrap().word()
    }

    fn all(&mut self, statements: &[Statement]) -> Flow {
        for statement in statements {
            match self.one(statement) {
                Flow::Next => {}
                other => return other,
            }
        }
        Flow::Next
    }

    /// A round of a loop; how the loop goes on, if it is left.
    fn round(&mut self, body: &[Statement]) -> Option<Flow> {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Some(Flow::Stuck);
        }
        match self.all(body) {
            Flow::Next | Flow::Continue(1) => None,
            other => Some(left(other)),
        }
    }

    fn one(&mut self, statement: &Statement) -> Flow {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            return Flow::Stuck;
        }
        match statement {
            Statement::Assign(k, expr) => {
                self.memory.variables[*k].words[0] =
                    self.stored(expr, self.memory.variables[*k].ty);
            }
            Statement::AssignElement(k, indices, expr) => {
                let word = self.stored(expr, self.memory.variables[*k].ty);
                if let Some(place) = self.memory.place(*k, indices).unwrap() {
                    self.memory.variables[*k].words[place] = word;
                }
            }
            Statement::AssignBits(bits, expr) => {
                let word = self.stored(expr, Bits(bits.len() as u32));
                bits.iter().enumerate().for_each(|(k, &bit)| {
                    self.memory.bits[bit] = word >> k & 1 == 1;
                });
            }
            Statement::AssignBitAt(bits, index, expr) => {
                let word = self.stored(expr, Bits(1));
                let place = self.memory.value(index).unwrap().place(bits.len()).unwrap();
                if let Some(place) = place {
                    self.memory.bits[bits[place]] = word == 1;
                }
            }
            Statement::AssignBit(bit, value) => self.memory.bits[*bit] = *value,
            Statement::X(q) | Statement::Y(q) => self.qubits[*q] ^= true,
            Statement::Cx(control, value, q) => {
                self.qubits[*q] ^= self.qubits[*control] == *value;
            }
            Statement::Turn(axis, control, q, angle) => {
                let acts = control.is_none_or(|(control, value)| self.qubits[control] == value);
                let half_turns = match self.memory.value(angle).unwrap() {
                    Of(Angle(n), parts) => parts as f64 / 2f64.powi(n as i32 - 1),
                    // As many radians, about an axis that changes no 0 or 1.
                    _ => 0.0,
                };
                if acts && matches!(axis, Axis::X | Axis::Y) {
                    assert_eq!(half_turns.fract(), 0.0, "{angle:?}");
                    self.qubits[*q] ^= half_turns == 1.0;
                }
            }
            Statement::Reset(q) => self.qubits[*q] = false,
            Statement::Measure(q, bit) => self.memory.bits[*bit] = self.qubits[*q],
            Statement::Coin(q, bit) => {
                let Some((&coin, rest)) = self.coins.split_first() else { return Flow::Stuck };
                self.coins = rest;
                (self.qubits[*q], self.memory.bits[*bit]) = (coin, coin);
            }
            Statement::If(test, then, otherwise) => {
                return if self.holds(test) { self.all(then) } else { self.all(otherwise) };
            }
            Statement::While(test, body) => {
                while self.holds(test) {
                    if let Some(flow) = self.round(body) {
                        return flow;
                    }
                }
            }
            Statement::For(k, range, body) => {
                let [start, step, end] = range.each_ref().map(|e| self.memory.value(e).unwrap());
                // The longest integers are as many as those with a sign, 2^127 higher.
                let is_longest = common(start, end) == Some(Uint(128));
                let up = if is_longest { 1 << 127 } else { 0 };
                let whole = |value: Value| value.whole().unwrap();
                let [start, end] = [start, end].map(|value| (whole(value) ^ up) as i128);
                let step = whole(step) as i128;
                let mut next = Some(start).filter(|_| step != 0);
                while let Some(x) = next.filter(|&x| if step > 0 { x <= end } else { x >= end }) {
                    let cells = &mut self.memory.variables[*k];
                    let value = Literal((x as u128 ^ up) as i128);
                    cells.words[0] = convert(value, cells.ty).unwrap().word();
                    if let Some(flow) = self.round(body) {
                        return flow;
                    }
                    next = x.checked_add(step);
                }
            }
            Statement::ForEach(k, values, body) => {
                for expr in values {
                    let ty = self.memory.variables[*k].ty;
                    let value = self.memory.value(expr).unwrap();
                    self.memory.variables[*k].words[0] = convert(value, ty).unwrap().word();
                    if let Some(flow) = self.round(body) {
                        return flow;
                    }
                }
            }
            Statement::Switch(subject, cases) => {
                let subject = self.memory.value(subject).unwrap();
                let ty = subject.ty().unwrap();
                let is_label = |&x: &i128| convert(Literal(x), ty) == Some(subject);
                let chosen =
                    cases.iter().find(|case| case.0.is_empty() || case.0.iter().any(is_label));
                return chosen.map_or(Flow::Next, |case| self.all(&case.1));
            }
            Statement::Block(body) => {
                return match self.all(body) {
                    Flow::Next => Flow::Next,
                    other => left(other),
                };
            }
            Statement::Break(levels) => return Flow::Break(*levels),
            Statement::Continue(levels) => return Flow::Continue(*levels),
            Statement::End => return Flow::End,
            Statement::When(test, statements) => {
                for statement in statements {
                    if self.holds(test) {
                        match self.one(statement) {
                            Flow::Next => {}
                            other => return other,
                        }
                    }
                }
            }
        }
        Flow::Next
    }
}

/// How a run goes on after a loop or a block that is left.
fn left(flow: Flow) -> Flow {
    match flow {
        Flow::Break(1) => Flow::Next,
        Flow::Break(levels) => Flow::Break(levels - 1),
        Flow::Continue(levels) => Flow::Continue(levels - 1),
        other => other,
    }
}

impl Program {
    /// The exact distribution; `None` if there is too much to do.
    fn distribution(&self) -> Option<BTreeMap<Outcome, f64>> {
        let (mut distribution, mut paths) = (BTreeMap::new(), 0);
        let mut waiting = vec![Vec::new()];
        while let Some(coins) = waiting.pop() {
            let mut run = Run {
                qubits: vec![false; self.n_qubits],
                memory: self.memory.clone(),
                coins: &coins,
                steps: 0,
            };
            if let Flow::Stuck = run.all(&self.body) {
                if run.steps > MOST_STEPS || waiting.len() + paths >= MOST_PATHS {
                    return None;
                }
                waiting.extend([false, true].map(|coin| [&coins[..], &[coin]].concat()));
                continue;
            }
            paths += 1;
            let words = run.memory.variables.into_iter().map(|cells| cells.words).collect();
            let p = 0.5f64.powi(coins.len() as i32);
            *distribution.entry((run.memory.bits, words)).or_insert(0.0) += p;
        }
        Some(distribution)
    }
}

// ---- The same program for the library ----------------------------------------------------------

type Built<'c> = Result<&'c mut Circuit, CircuitError>;

fn library_type(ty: Type) -> ClassicalType {
    match ty {
        Bool => ClassicalType::Bool,
        Bits(n) => ClassicalType::Bits(n),
        Int(n) => ClassicalType::Int(IntType::signed(n)),
        Uint(n) => ClassicalType::Int(IntType::unsigned(n)),
        Angle(n) => ClassicalType::Angle(n),
        Float(32) => ClassicalType::Float(FloatType::F32),
        Float(_) => ClassicalType::Float(FloatType::F64),
    }
}

fn id(variable: usize) -> VariableId {
    VariableId::new(variable as u32)
}

fn numbers(bits: &[usize]) -> Vec<u32> {
    bits.iter().map(|&bit| bit as u32).collect()
}

fn library_exprs(c: &Circuit, exprs: &[Expr]) -> Result<Vec<ClassicalExpr>, CircuitError> {
    exprs.iter().map(|expr| library_expr(c, expr)).collect()
}

fn library_expr(c: &Circuit, expr: &Expr) -> Result<ClassicalExpr, CircuitError> {
    let of = |expr: &Expr| library_expr(c, expr);
    let pair = |pair: &[Expr; 2]| Ok::<_, CircuitError>((of(&pair[0])?, of(&pair[1])?));
    Ok(match expr {
        Expr::Constant(Literal(x)) => ClassicalExpr::literal(*x),
        Expr::Constant(Of(ty, word)) => ClassicalExpr::constant(library_type(*ty), *word),
        Expr::Variable(k) => c.value_of(id(*k))?,
        Expr::Element(k, indices) => c.element_of(id(*k), library_exprs(c, indices)?)?,
        Expr::Bits(bits) => ClassicalExpr::bits(&numbers(bits))?,
        Expr::Binary(op, operands) => {
            let (a, b) = pair(operands)?;
            match op {
                Op::Plain(op) => a.binary(*op, b)?,
                Op::Modulo => a.modulo(b)?,
            }
        }
        Expr::Compare(relation, operands) => {
            let (a, b) = pair(operands)?;
            a.compare(*relation, b)?
        }
        Expr::Either(either, operands) => {
            let (a, b) = pair(operands)?;
            if *either { a.or(b) } else { a.and(b) }
        }
        Expr::Shift(left, operands) => {
            let (a, places) = pair(operands)?;
            a.shift(*left, places)?
        }
        Expr::Rotate(left, operands) => {
            let (a, places) = pair(operands)?;
            a.rotate(*left, places)?
        }
        Expr::BitAt(operands) => {
            let (a, index) = pair(operands)?;
            a.bit(index)?
        }
        Expr::Concat(operands) => {
            let (a, b) = pair(operands)?;
            a.concat(b)?
        }
        Expr::Pick(a, bits) => of(a)?.pick(bits)?,
        Expr::Cast(to, a) => of(a)?.cast(library_type(*to))?,
        Expr::Call(function, a) => of(a)?.call(*function)?,
        Expr::Not(a) => of(a)?.not(),
        Expr::Negate(a) => of(a)?.negate()?,
        Expr::Invert(a) => of(a)?.invert()?,
        Expr::Popcount(a) => of(a)?.popcount()?,
    })
}

fn library_test(c: &Circuit, test: &Test) -> Result<Condition, CircuitError> {
    let list = |tests: &[Test]| -> Result<Vec<_>, _> {
        tests.iter().map(|test| library_test(c, test)).collect()
    };
    Ok(match test {
        Test::Expr(expr) => library_expr(c, expr)?.into(),
        Test::Bit(bit, value) => Condition::Bit { bit: *bit as u32, value: *value },
        Test::Compare(bits, relation, value) => Condition::compare(bits, *relation, *value)?,
        Test::Not(test) => Condition::Not(Box::new(library_test(c, test)?)),
        Test::All(tests) => Condition::All(list(tests)?),
        Test::Any(tests) => Condition::Any(list(tests)?),
    })
}

fn push_store(c: &mut Circuit, target: ClassicalTarget, value: ClassicalExpr) -> Built<'_> {
    c.push(Instruction {
        operation: Operation::Store(ClassicalAssignment { target, value }.into()),
        targets: [].into_iter().collect(),
        controls: [].into_iter().collect(),
        condition: None,
    })
}

fn append<'c>(c: &'c mut Circuit, statements: &[Statement]) -> Built<'c> {
    for statement in statements {
        append_one(c, statement)?;
    }
    Ok(c)
}

fn append_one<'c>(c: &'c mut Circuit, statement: &Statement) -> Built<'c> {
    match statement {
        Statement::Assign(k, expr) => c.store(id(*k), library_expr(c, expr)?),
        Statement::AssignElement(k, indices, expr) => {
            let value = library_expr(c, expr)?;
            c.store_element(id(*k), library_exprs(c, indices)?, value)
        }
        Statement::AssignBits(bits, expr) => {
            let ty = ClassicalType::Bits(bits.len() as u32);
            let value = library_expr(c, expr)?.assigned_to(ty)?;
            push_store(c, ClassicalTarget::Bits(numbers(bits).into()), value)
        }
        Statement::AssignBitAt(bits, index, expr) => {
            let (index, value) = (library_expr(c, index)?, library_expr(c, expr)?);
            c.store_bit(&numbers(bits), index, value)
        }
        Statement::AssignBit(bit, value) => c.assign(*bit, *value),
        Statement::X(q) => c.x(*q),
        Statement::Y(q) => c.y(*q),
        Statement::Cx(control, value, q) => c.under(*control, *value, |c| c.x(*q)),
        Statement::Turn(axis, control, q, angle) => {
            let kind = match axis {
                Axis::X => GateKind::RX,
                Axis::Y => GateKind::RY,
                Axis::Z => GateKind::RZ,
                Axis::Phase => GateKind::P,
            };
            let angle = library_expr(c, angle)?;
            c.gate_of(kind, [angle.into()], &[*q], control.as_slice())
        }
        Statement::Reset(q) => c.reset(*q),
        Statement::Measure(q, bit) => c.measure(*q, *bit),
        Statement::Coin(q, bit) => c.reset(*q)?.h(*q)?.measure(*q, *bit),
        Statement::If(test, then, otherwise) => {
            let test = library_test(c, test)?;
            c.if_else(test, |c| append(c, then), |c| append(c, otherwise))
        }
        Statement::While(test, body) => {
            let test = library_test(c, test)?;
            c.while_loop(test, |c| append(c, body))
        }
        Statement::For(k, [start, step, end], body) => {
            let range = [library_expr(c, start)?, library_expr(c, step)?, library_expr(c, end)?];
            c.for_loop(id(*k), range, |c| append(c, body))
        }
        Statement::ForEach(k, values, body) => {
            let values = library_exprs(c, values)?;
            c.for_each(id(*k), values, |c| append(c, body))
        }
        Statement::Switch(subject, cases) => {
            let subject = library_expr(c, subject)?;
            c.switch(subject, |s| {
                for (labels, body) in cases {
                    match labels.is_empty() {
                        true => s.default(|c| append(c, body))?,
                        false => s.case(labels.iter().copied(), |c| append(c, body))?,
                    };
                }
                Ok(s)
            })
        }
        Statement::Block(body) => c.block(|c| append(c, body)),
        Statement::Break(levels) => c.break_out(*levels),
        Statement::Continue(levels) => c.continue_loop(*levels),
        Statement::End => c.end_run(),
        Statement::When(test, statements) => {
            let test = library_test(c, test)?;
            c.when(test, |c| append(c, statements))
        }
    }
}

impl Program {
    /// The circuit, with a noisy qubit that nothing uses if density matrices are to be taken.
    fn circuit(&self, is_noisy: bool) -> Result<Circuit, CircuitError> {
        let mut c = Circuit::new(self.n_qubits + usize::from(is_noisy));
        c.add_register("c", self.memory.bits.len())?;
        for (k, cells) in self.memory.variables.iter().enumerate() {
            let shape: Vec<u32> = cells.shape.iter().map(|&n| n as u32).collect();
            c.add_variable(&format!("v{k}"), VariableType::array(library_type(cells.ty), &shape))?;
        }
        if is_noisy {
            c.depolarizing(self.n_qubits, 0.25)?;
        }
        append(&mut c, &self.body)?;
        Ok(c)
    }

    /// The bits and variables in a memory of the library.
    fn outcome(&self, circuit: &Circuit, memory: &ClassicalMemory) -> Outcome {
        let layout = MemoryLayout::new(circuit.variables());
        let bits = (0..self.memory.bits.len()).map(|bit| memory.get(bit as u32)).collect();
        let variables = self.memory.variables.iter().enumerate();
        let words = |(k, cells): (usize, &Cells)| {
            (0..cells.words.len()).map(|place| memory.variable(&layout, id(k), place)).collect()
        };
        (bits, variables.map(words).collect())
    }
}

// ---- Random programs ---------------------------------------------------------------------------

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
struct Rng(u64);

impl Rng {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    fn is_one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
    fn flag(&mut self) -> bool {
        self.is_one_in(2)
    }
    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
    fn integer(&mut self, least: i64, most: i64) -> i64 {
        least + self.below((most - least + 1) as usize) as i64
    }
}

const N_QUBITS: usize = 3;
const N_BITS: usize = 8;
/// The first variables count rounds: nothing else is assigned to them.
const N_COUNTERS: usize = 3;
const OPERATORS: [Op; 10] = [
    Op::Plain(Arithmetic::Add),
    Op::Plain(Arithmetic::Sub),
    Op::Plain(Arithmetic::Mul),
    Op::Plain(Arithmetic::Div),
    Op::Plain(Arithmetic::Rem),
    Op::Plain(Arithmetic::Power),
    Op::Plain(Arithmetic::BitAnd),
    Op::Plain(Arithmetic::BitOr),
    Op::Plain(Arithmetic::BitXor),
    Op::Modulo,
];
const RELATIONS: [Relation; 6] = [
    Relation::Equal,
    Relation::NotEqual,
    Relation::Less,
    Relation::LessEqual,
    Relation::Greater,
    Relation::GreaterEqual,
];

struct Generator {
    rng: Rng,
    memory: Memory,
    /// For each loop or block around, whether it is a loop.
    open: Vec<bool>,
    counters: usize,
    coins: usize,
}

fn literal(x: i64) -> Expr {
    Expr::Constant(Literal(x.into()))
}

impl Generator {
    fn new(seed: u64) -> Generator {
        let mut rng = Rng(seed);
        let coins = 2 + rng.below(6);
        let counter = Cells { ty: Uint(8), shape: vec![], words: vec![0] };
        let memory = Memory { bits: vec![false; N_BITS], variables: vec![counter; N_COUNTERS] };
        let mut g = Generator { rng, memory, open: vec![], counters: 0, coins };
        for _ in 0..2 + g.rng.below(4) {
            let variable = g.variable();
            g.memory.variables.push(variable);
        }
        g
    }

    fn ty(&mut self) -> Type {
        let n = match self.rng.below(3) {
            0 => self.rng.of(&[32, 64, 128]),
            _ => 1 + self.rng.below(12) as u32,
        };
        match self.rng.below(12) {
            0 => Bool,
            1 | 2 => Bits(n),
            3..6 => Int(n),
            6..9 => Uint(n),
            9 => Angle(n),
            _ => Float(self.rng.of(&[32, 64, 64])),
        }
    }

    fn variable(&mut self) -> Cells {
        let sizes = self.rng.of(&[0, 0, 0, 1, 2]);
        let shape: Vec<usize> = (0..sizes).map(|_| 1 + self.rng.below(3)).collect();
        Cells { ty: self.ty(), words: vec![0; shape.iter().product()], shape }
    }

    fn constant(&mut self, ty: Type) -> Expr {
        let wide = u128::from(self.rng.bits()) << 64 | u128::from(self.rng.bits());
        let small = self.rng.below(9) as u128;
        let value = match (ty, width(ty)) {
            (Float(width), _) => {
                let x =
                    self.rng.of(&[0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.75, 6.5, 1e6, 1e-3, 1e300]);
                float(
                    width,
                    if self.rng.flag() {
                        x
                    } else {
                        wide as i64 as f64 / 10f64.powi(self.rng.integer(9, 20) as i32)
                    },
                )
            }
            (_, Some(n)) => {
                let edge = 1u128 << (n - 1);
                let all = [small, wide, edge, edge - 1, ones(n), ones(n) - 1];
                Of(ty, self.rng.of(&all) & ones(n))
            }
            (_, None) => Of(ty, 0),
        };
        Expr::Constant(value)
    }

    fn some_literal(&mut self) -> Expr {
        match self.rng.below(12) {
            0 => Expr::Constant(Literal(i128::from(self.rng.bits() as i64) * 5)),
            1 => Expr::Constant(Literal((self.rng.bits() >> self.rng.below(64)).into())),
            _ => literal(self.rng.integer(-4, 9)),
        }
    }

    fn some_bits(&mut self, most: usize) -> Vec<usize> {
        let first = self.rng.below(N_BITS);
        let step = self.rng.of(&[1, 1, N_BITS - 1]);
        (0..=self.rng.below(most)).map(|k| (first + k * step) % N_BITS).collect()
    }

    fn leaf(&mut self) -> Expr {
        match self.rng.below(8) {
            0 => Expr::Bits(self.some_bits(4)),
            1 => self.some_literal(),
            2 => {
                let ty = self.ty();
                self.constant(ty)
            }
            _ => {
                let k = self.rng.below(self.memory.variables.len());
                match self.memory.variables[k].shape.len() {
                    0 => Expr::Variable(k),
                    _ => Expr::Element(k, self.indices(k)),
                }
            }
        }
    }

    /// A number that chooses one of `n`, or none.
    fn index(&mut self, n: usize) -> Expr {
        let near = literal(self.rng.integer(-(n as i64) - 1, n as i64));
        if self.rng.flag() { near } else { self.whole(1) }
    }

    fn indices(&mut self, variable: usize) -> Vec<Expr> {
        let shape = self.memory.variables[variable].shape.clone();
        shape.into_iter().map(|n| self.index(n)).collect()
    }

    /// An expression that is a whole number.
    fn whole(&mut self, depth: usize) -> Expr {
        for _ in 0..6 {
            let expr = self.expr(depth);
            if self.memory.value(&expr).unwrap().whole().is_some() {
                return expr;
            }
        }
        self.some_literal()
    }

    fn candidate(&mut self, depth: usize) -> Expr {
        let one = |g: &mut Generator| Box::new(g.expr(depth - 1));
        let two = |g: &mut Generator| Box::new([g.expr(depth - 1), g.expr(depth - 1)]);
        let first = |g: &mut Generator, second: Expr| Box::new([g.expr(depth - 1), second]);
        match self.rng.below(24) {
            0..9 => Expr::Binary(self.rng.of(&OPERATORS), two(self)),
            9..12 => Expr::Compare(self.rng.of(&RELATIONS), two(self)),
            12 => Expr::Either(self.rng.flag(), two(self)),
            13 => {
                let places = self.index(12);
                Expr::Shift(self.rng.flag(), first(self, places))
            }
            14 => {
                let places = self.index(40);
                Expr::Rotate(self.rng.flag(), first(self, places))
            }
            15 => {
                let index = self.index(5);
                Expr::BitAt(first(self, index))
            }
            16 => Expr::Concat(two(self)),
            17 => {
                let n = 1 + self.rng.below(4);
                let bits = (0..n).map(|_| self.rng.below(6) as u32).collect();
                Expr::Pick(one(self), bits)
            }
            18 | 19 => Expr::Cast(self.ty(), one(self)),
            20 => {
                let functions = [
                    ClassicalFunction::Abs,
                    ClassicalFunction::Floor,
                    ClassicalFunction::Ceiling,
                    ClassicalFunction::Sqrt,
                ];
                Expr::Call(self.rng.of(&functions), one(self))
            }
            21 => Expr::Not(one(self)),
            22 => Expr::Negate(one(self)),
            _ if self.rng.flag() => Expr::Invert(one(self)),
            _ => Expr::Popcount(one(self)),
        }
    }

    fn expr(&mut self, depth: usize) -> Expr {
        for _ in 0..if depth == 0 { 0 } else { 8 } {
            let expr = self.candidate(depth);
            if self.memory.value(&expr).is_some() {
                return expr;
            }
        }
        self.leaf()
    }

    /// An expression that can be assigned to a type.
    fn for_type(&mut self, ty: Type) -> Expr {
        for _ in 0..6 {
            let expr = self.expr(2);
            let value = self.memory.value(&expr).unwrap();
            if assigned(value, ty).is_some() {
                return expr;
            }
        }
        self.constant(ty)
    }

    fn test(&mut self, depth: usize) -> Test {
        match self.rng.below(if depth == 0 { 6 } else { 9 }) {
            0..3 => Test::Expr(self.expr(2)),
            3 | 4 => Test::Bit(self.rng.below(N_BITS), self.rng.flag()),
            5 => {
                let value = self.rng.below(9) as u128;
                Test::Compare(self.some_bits(4), self.rng.of(&RELATIONS), value)
            }
            6 => Test::Not(Box::new(self.test(depth - 1))),
            7 => Test::All((0..2).map(|_| self.test(depth - 1)).collect()),
            _ => Test::Any((0..2).map(|_| self.test(depth - 1)).collect()),
        }
    }

    /// A variable that may be assigned, if one of a kind is drawn.
    fn assigned(&mut self, is_right: impl Fn(&Cells) -> bool) -> Option<usize> {
        let k = N_COUNTERS + self.rng.below(self.memory.variables.len() - N_COUNTERS);
        is_right(&self.memory.variables[k]).then_some(k)
    }

    fn gate(&mut self) -> Statement {
        let (q, p) = (self.rng.below(N_QUBITS), 1 + self.rng.below(N_QUBITS - 1));
        match self.rng.below(6) {
            0 => Statement::Y(q),
            1 => Statement::Cx((q + p) % N_QUBITS, self.rng.flag(), q),
            2 | 3 => {
                let control = self.rng.flag().then(|| ((q + p) % N_QUBITS, self.rng.flag()));
                let axis = self.rng.of(&[Axis::X, Axis::X, Axis::Y, Axis::Z, Axis::Phase]);
                Statement::Turn(axis, control, q, self.angle(axis))
            }
            _ => Statement::X(q),
        }
    }

    /// The angle of a rotation: half turns about an axis that is not Z.
    fn angle(&mut self, axis: Axis) -> Expr {
        let times = |angle: Expr, number: Expr| {
            Expr::Binary(Op::Plain(Arithmetic::Mul), Box::new([angle, number]))
        };
        let some = Box::new(self.expr(2));
        let angle = match (axis, self.rng.flag()) {
            (Axis::X | Axis::Y, true) => Expr::Cast(Angle(1), some),
            (Axis::X | Axis::Y, false) => times(Expr::Constant(Of(Angle(8), 128)), *some),
            (_, true) => Expr::Cast(Angle(1 + self.rng.below(70) as u32), some),
            (_, false) => Expr::Cast(Int(40), some),
        };
        let is_angle = |value: Value| matches!(value.ty(), Some(Angle(_) | Int(_)));
        match self.memory.value(&angle).is_some_and(is_angle) {
            true => angle,
            false => Expr::Constant(Of(Angle(4), 8)),
        }
    }

    fn assignment(&mut self) -> Statement {
        if self.rng.is_one_in(4) {
            let bits = self.some_bits(4);
            return match self.rng.below(3) {
                0 => Statement::AssignBit(bits[0], self.rng.flag()),
                1 => {
                    let (index, value) = (self.index(bits.len()), self.for_type(Bits(1)));
                    Statement::AssignBitAt(bits, index, value)
                }
                _ => {
                    let value = self.for_type(Bits(bits.len() as u32));
                    Statement::AssignBits(bits, value)
                }
            };
        }
        let Some(k) = self.assigned(|_| true) else { return self.gate() };
        let value = self.for_type(self.memory.variables[k].ty);
        match self.memory.variables[k].shape.len() {
            0 => Statement::Assign(k, value),
            _ => {
                let indices = self.indices(k);
                Statement::AssignElement(k, indices, value)
            }
        }
    }

    /// A statement without a body.
    fn simple(&mut self) -> Statement {
        let (q, bit) = (self.rng.below(N_QUBITS), self.rng.below(N_BITS));
        match self.rng.below(12) {
            0..3 => self.gate(),
            3 => Statement::Reset(q),
            4 | 5 => Statement::Measure(q, bit),
            6 | 7 if self.coins > 0 => {
                self.coins -= 1;
                Statement::Coin(q, bit)
            }
            _ => self.assignment(),
        }
    }

    /// A way out of what is around.
    fn exit(&mut self) -> Statement {
        if self.open.is_empty() || self.rng.is_one_in(20) {
            return if self.rng.is_one_in(3) { Statement::End } else { self.gate() };
        }
        let levels = 1 + self.rng.below(self.open.len());
        match self.open[self.open.len() - levels] && self.rng.flag() {
            true => Statement::Continue(levels as u32),
            false => Statement::Break(levels as u32),
        }
    }

    /// Statements, often with gates at both ends.
    fn body(&mut self, depth: usize, is_loop: Option<bool>) -> Vec<Statement> {
        self.open.extend(is_loop);
        let mut body = Vec::new();
        for _ in 0..self.rng.below(5) {
            if self.rng.flag() {
                body.push(self.gate());
            }
            self.add(depth, &mut body);
        }
        match self.rng.below(6) {
            0 => body.push(self.exit()),
            1 => {}
            _ => body.push(self.gate()),
        }
        self.open.truncate(self.open.len() - usize::from(is_loop.is_some()));
        body
    }

    /// Adds a statement, or a loop after its counter.
    fn add(&mut self, depth: usize, to: &mut Vec<Statement>) {
        let kind = self.rng.below(if depth == 0 { 6 } else { 16 });
        let small = |g: &mut Generator| literal(g.rng.integer(-3, 6));
        let statement = match kind {
            0..4 => self.simple(),
            4 => Statement::When(self.test(1), (0..2).map(|_| self.simple()).collect()),
            5 => Statement::When(self.test(1), vec![self.exit()]),
            6 | 7 => {
                let otherwise = if self.rng.flag() { self.body(depth - 1, None) } else { vec![] };
                Statement::If(self.test(1), self.body(depth - 1, None), otherwise)
            }
            8 | 9 if self.counters < N_COUNTERS => {
                let counter = self.counters;
                self.counters += 1;
                to.push(Statement::Assign(counter, literal(0)));
                let most = literal(self.rng.integer(1, 4));
                let most = Box::new([Expr::Variable(counter), most]);
                let mut test = Test::Expr(Expr::Compare(Relation::Less, most));
                if self.rng.flag() {
                    test = Test::All(vec![test, self.test(0)]);
                }
                let next = Box::new([Expr::Variable(counter), literal(1)]);
                let next = Expr::Binary(Op::Plain(Arithmetic::Add), next);
                let mut body = vec![Statement::Assign(counter, next)];
                body.extend(self.body(depth - 1, Some(true)));
                self.counters -= 1;
                Statement::While(test, body)
            }
            10 => {
                let is_int = |c: &Cells| matches!(c.ty, Int(_) | Uint(_)) && c.shape.is_empty();
                let Some(k) = self.assigned(is_int) else { return self.add(depth, to) };
                let end = if self.rng.flag() { small(self) } else { self.whole(1) };
                let step = literal(self.rng.of(&[1, 1, 1, 2, -1, -2, 0]));
                let range = match self.rng.below(12) {
                    0 => [i128::MAX - 3, 2, i128::MAX].map(|x| Expr::Constant(Literal(x))),
                    1 => [self.whole(1), self.whole(0), end],
                    _ => [small(self), step, end],
                };
                Statement::For(k, range, self.body(depth - 1, Some(true)))
            }
            11 => {
                let Some(k) = self.assigned(|c| c.shape.is_empty()) else {
                    return self.add(depth, to);
                };
                let ty = self.memory.variables[k].ty;
                let values = (0..self.rng.below(4)).map(|_| self.for_type(ty)).collect();
                Statement::ForEach(k, values, self.body(depth - 1, Some(true)))
            }
            12 | 13 => {
                let subject = self.whole(2);
                let ty = match self.memory.value(&subject).and_then(Value::ty) {
                    Some(ty @ (Int(_) | Uint(_))) => ty,
                    _ => return self.add(depth, to),
                };
                let mut cases = Vec::new();
                for _ in 0..self.rng.below(4) {
                    let labels = (0..1 + self.rng.below(2)).map(|_| self.rng.integer(-2, 5));
                    let labels = labels.map(i128::from).filter(|&x| holds(ty, x));
                    let labels: Vec<i128> = labels.collect();
                    if !labels.is_empty() {
                        cases.push((labels, self.body(depth - 1, None)));
                    }
                }
                if self.rng.flag() {
                    cases.push((vec![], self.body(depth - 1, None)));
                }
                Statement::Switch(subject, cases)
            }
            14 => {
                // Instructions in a loop of a condition, or under one, would test this one each.
                let mut under = Vec::new();
                self.add(depth - 1, &mut under);
                let each = |one: &_| matches!(one, Statement::While(..) | Statement::When(..));
                match under.iter().any(each) {
                    true => Statement::If(self.test(1), under, vec![]),
                    false => Statement::When(self.test(1), under),
                }
            }
            _ => Statement::Block(self.body(depth - 1, Some(false))),
        };
        to.push(statement);
    }
}

fn program(seed: u64) -> Program {
    let mut g = Generator::new(seed);
    let mut body = Vec::new();
    for k in N_COUNTERS..g.memory.variables.len() {
        let Cells { ty, shape, .. } = g.memory.variables[k].clone();
        let first = shape.iter().map(|_| literal(0)).collect();
        let value = g.constant(ty);
        body.push(match shape.len() {
            0 => Statement::Assign(k, value),
            _ => Statement::AssignElement(k, first, value),
        });
    }
    for _ in 0..2 {
        body.push(Statement::Coin(g.rng.below(N_QUBITS), g.rng.below(N_BITS)));
    }
    for _ in 0..2 + g.rng.below(7) {
        g.add(3, &mut body);
        body.push(g.gate());
    }
    if !g.rng.is_one_in(4) {
        body.extend((0..N_QUBITS).map(|q| Statement::Measure(q, q)));
    }
    Program { n_qubits: N_QUBITS, memory: g.memory, body }
}

// ---- Smaller programs with the same fault ------------------------------------------------------

/// All programs with one statement less, or one block less around its body.
fn smaller(statements: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    for (k, statement) in statements.iter().enumerate() {
        let mut put = |new: &[Statement]| {
            all.push([&statements[..k], new, &statements[k + 1..]].concat());
        };
        put(&[]);
        for body in bodies(statement) {
            put(body);
            for (place, other) in bodies(statement).into_iter().enumerate() {
                if std::ptr::eq(body, other) {
                    for less in smaller(body) {
                        put(&[with_body(statement, place, less)]);
                    }
                }
            }
        }
    }
    all
}

fn bodies(statement: &Statement) -> Vec<&Vec<Statement>> {
    match statement {
        Statement::If(_, then, otherwise) => vec![then, otherwise],
        Statement::Switch(_, cases) => cases.iter().map(|case| &case.1).collect(),
        Statement::While(_, body)
        | Statement::For(_, _, body)
        | Statement::ForEach(_, _, body)
        | Statement::Block(body)
        | Statement::When(_, body) => vec![body],
        _ => vec![],
    }
}

fn with_body(statement: &Statement, place: usize, new: Vec<Statement>) -> Statement {
    let mut statement = statement.clone();
    match &mut statement {
        Statement::If(_, then, otherwise) => *[then, otherwise][place] = new,
        Statement::Switch(_, cases) => cases[place].1 = new,
        Statement::While(_, body)
        | Statement::For(_, _, body)
        | Statement::ForEach(_, _, body)
        | Statement::Block(body)
        | Statement::When(_, body) => *body = new,
        _ => {}
    }
    statement
}

/// A law of a program: an error says what is wrong, and `None` that there is too much to do.
type Law<'l> = &'l dyn Fn(u64, &Program) -> Option<Result<(), String>>;

fn check(law: Law<'_>) {
    let mut n_checked = 0;
    for seed in 0..PROGRAMS {
        let mut program = program(seed);
        if let Err(e) = program.circuit(false) {
            panic!("seed {seed}: {e}\n{:?}", program.body);
        }
        let Some(result) = law(seed, &program) else { continue };
        n_checked += 1;
        let Err(mut why) = result else { continue };
        while let Some((body, reason)) = smaller(&program.body).into_iter().find_map(|body| {
            let less = Program { body: body.clone(), ..program.clone() };
            less.circuit(false).ok()?;
            Some((body, law(seed, &less)?.err()?))
        }) {
            (program.body, why) = (body, reason);
        }
        let types: Vec<_> = program.memory.variables.iter().map(|v| (v.ty, &v.shape)).collect();
        let circuit = program.circuit(false).unwrap();
        panic!("seed {seed}: {why}\n{types:?}\n{circuit}\n{:?}", program.body);
    }
    assert!(n_checked > PROGRAMS / 2, "{n_checked} programs");
}

// ---- Laws --------------------------------------------------------------------------------------

fn bound<T: Real>(circuit: &Circuit) -> BoundCircuit<Complex<T>> {
    BoundCircuit::new(circuit, &Values::<T>(&[])).unwrap()
}

/// Compares the library's distribution of a circuit with the reference's of its program.
fn compare_distribution<T: Real>(
    program: &Program,
    circuit: &Circuit,
    tolerance: f64,
) -> Option<Result<(), String>> {
    let expected = program.distribution()?;
    let found = match Simulator::new().distribution(&bound::<T>(circuit), 1 << 12) {
        Ok(found) => found,
        Err(e) => return Some(Err(e.to_string())),
    };
    let mut given: BTreeMap<Outcome, f64> = BTreeMap::new();
    for (memory, p) in &found {
        *given.entry(program.outcome(circuit, memory)).or_insert(0.0) += p.primal().unwrap();
    }
    let is_close = given.len() == expected.len()
        && given.iter().zip(&expected).all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() < tolerance);
    if !is_close {
        return Some(Err(format!("expected {expected:?}\ngot      {given:?}")));
    }
    if found.len() != given.len() {
        return Some(Err(format!("{} outcomes are {} entries", given.len(), found.len())));
    }
    Some(Ok(()))
}

#[test]
fn random_expressions_have_the_values_of_the_reference() {
    for seed in 0..EXPRESSIONS {
        let mut g = Generator::new(seed);
        let circuit = Program { n_qubits: 0, memory: g.memory.clone(), body: vec![] };
        let circuit = circuit.circuit(false).unwrap();
        let layout = MemoryLayout::new(circuit.variables());
        let mut memory = ClassicalMemory::with_variables(N_BITS, &layout);
        for bit in 0..N_BITS {
            g.memory.bits[bit] = g.rng.flag();
            memory.set(bit as u32, g.memory.bits[bit]);
        }
        for k in 0..g.memory.variables.len() {
            for place in 0..g.memory.variables[k].words.len() {
                let Expr::Constant(Of(_, word)) = g.constant(g.memory.variables[k].ty) else {
                    continue;
                };
                g.memory.variables[k].words[place] = word;
                memory.set_variable(&layout, id(k), place, word);
            }
        }
        for _ in 0..100 {
            let expr = g.expr(3);
            let expected = g.memory.value(&expr).unwrap();
            let built = library_expr(&circuit, &expr).unwrap();
            let given = (built.ty(), built.evaluate(&memory.read(&layout)));
            let same = given == (expected.ty().map(library_type), expected.word());
            assert!(same, "seed {seed}: {expr:?}\nexpected {expected:?}, got {given:?}");
        }
    }
}

#[test]
fn random_programs_do_what_the_reference_does() {
    check(&|_, program| compare_distribution::<f64>(program, &program.circuit(false).ok()?, 1e-12));
}

#[test]
fn density_matrices_give_the_same_distribution() {
    check(&|_, program| compare_distribution::<f64>(program, &program.circuit(true).ok()?, 1e-12));
}

#[test]
fn shorter_floats_give_the_same_distribution() {
    check(&|_, program| compare_distribution::<f32>(program, &program.circuit(false).ok()?, 1e-5));
}

#[test]
fn folded_circuits_have_the_same_distribution() {
    check(&|_, program| {
        compare_distribution::<f64>(program, &program.circuit(false).ok()?.folded(), 1e-12)
    });
}

#[test]
fn shots_have_the_probabilities_of_the_reference() {
    const SHOTS: usize = 64;
    // Pearson's statistic of all programs, its mean and its variance.
    let sums = std::cell::Cell::new([0.0; 3]);
    check(&|seed, program| {
        let expected = program.distribution()?;
        let circuit = program.circuit(false).ok()?;
        let bound = bound::<f64>(&circuit);
        let shots = || Simulator::new().trajectory_counts(&bound, SHOTS, seed);
        let counts = match shots() {
            Ok(counts) => counts,
            Err(e) => return Some(Err(e.to_string())),
        };
        if shots().unwrap() != counts {
            return Some(Err("other shots for the same seed".into()));
        }
        let mut given: BTreeMap<Outcome, u64> = BTreeMap::new();
        for (memory, n) in &counts {
            *given.entry(program.outcome(&circuit, memory)).or_insert(0) += n;
        }
        if let Some(outcome) = given.keys().find(|outcome| !expected.contains_key(outcome)) {
            return Some(Err(format!("{outcome:?} is none of {expected:?}")));
        }
        if given.values().sum::<u64>() != SHOTS as u64 {
            return Some(Err(format!("{given:?} are not {SHOTS} shots")));
        }
        let (n, k) = (SHOTS as f64, expected.len() as f64);
        let [mut statistic, mut mean, mut variance] = sums.get();
        for (outcome, p) in &expected {
            let count = given.get(outcome).map_or(0.0, |&count| count as f64);
            statistic += (count - n * p).powi(2) / (n * p);
            variance += 1.0 / p / n;
        }
        mean += k - 1.0;
        variance += 2.0 * (k - 1.0) - (k * k + 2.0 * k - 2.0) / n;
        sums.set([statistic, mean, variance]);
        Some(Ok(()))
    });
    let [statistic, mean, variance] = sums.get();
    assert!((statistic - mean).abs() < 5.0 * variance.sqrt(), "{statistic} instead of {mean}");
}
