//! Expressions over classical values: every operator against arithmetic in plain Rust.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Condition},
    classical::{
        Arithmetic, ClassicalError, ClassicalExpr, ClassicalFunction, ClassicalOperand,
        ClassicalType, FloatType, IntType, PendingExpr, ReadMemory, Relation, ScalarVariable,
        VariableId, Word,
    },
    param::Angle,
};

/// Bits only.
struct Register(Vec<bool>);

impl ReadMemory for Register {
    fn bit(&self, bit: u32) -> bool {
        self.0[bit as usize]
    }
    fn word(&self, _: VariableId, _: usize) -> Word {
        0
    }
    fn real(&self, _: &Angle) -> f64 {
        0.0
    }
}

/// A value whose bits are read, and the same value as a constant.
fn both(ty: ClassicalType, width: u32, value: Word, first: u32) -> [ClassicalExpr; 2] {
    let bits: Vec<u32> = (first..first + width).collect();
    let read = ClassicalExpr::bits(&bits).unwrap();
    let read = match ty {
        ClassicalType::Bits(_) => read,
        _ => read.cast(ty).unwrap(),
    };
    [ClassicalExpr::constant(ty, value), read]
}

fn number(ty: IntType, value: Word) -> i128 {
    if ty.signed && value >> (ty.bits - 1) & 1 == 1 {
        value as i128 - (1i128 << ty.bits)
    } else {
        value as i128
    }
}

fn wrapped(ty: IntType, value: i128) -> Word {
    value.rem_euclid(1i128 << ty.bits) as Word
}

fn int_types() -> Vec<IntType> {
    (1..=5).flat_map(|bits| [IntType::signed(bits), IntType::unsigned(bits)]).collect()
}

const OPERATORS: [Arithmetic; 8] = [
    Arithmetic::Add,
    Arithmetic::Sub,
    Arithmetic::Mul,
    Arithmetic::Div,
    Arithmetic::Rem,
    Arithmetic::BitAnd,
    Arithmetic::BitOr,
    Arithmetic::BitXor,
];

const RELATIONS: [Relation; 6] = [
    Relation::Equal,
    Relation::NotEqual,
    Relation::Less,
    Relation::LessEqual,
    Relation::Greater,
    Relation::GreaterEqual,
];

/// The result among all integers; a quotient by 0 has all bits 1, and a remainder is the dividend.
fn plain(op: Arithmetic, x: i128, y: i128) -> i128 {
    match op {
        Arithmetic::Add => x + y,
        Arithmetic::Sub => x - y,
        Arithmetic::Mul => x * y,
        Arithmetic::Div if y == 0 => -1,
        Arithmetic::Rem if y == 0 => x,
        Arithmetic::Div => x / y,
        Arithmetic::Rem => x % y,
        Arithmetic::BitAnd => x & y,
        Arithmetic::BitOr => x | y,
        _ => x ^ y,
    }
}

#[test]
fn integers_of_all_types_meet_in_the_greater_one_and_wrap() {
    for a in int_types() {
        for b in int_types() {
            let common = match (a.bits, b.bits) {
                (m, n) if m > n => a,
                (m, n) if m < n => b,
                _ if a.signed => b,
                _ => a,
            };
            for x in 0..1u128 << a.bits {
                for y in 0..1u128 << b.bits {
                    let memory = Register(
                        (0..a.bits)
                            .map(|k| x >> k & 1 == 1)
                            .chain((0..b.bits).map(|k| y >> k & 1 == 1))
                            .collect(),
                    );
                    let left = both(ClassicalType::Int(a), a.bits, x, 0);
                    let right = both(ClassicalType::Int(b), b.bits, y, a.bits);
                    // Both as numbers of the common type.
                    let (p, q) = (
                        number(common, wrapped(common, number(a, x))),
                        number(common, wrapped(common, number(b, y))),
                    );
                    for (l, r) in [(0, 0), (1, 1), (0, 1), (1, 0)] {
                        let operands = || (left[l].clone(), right[r].clone());
                        for op in OPERATORS {
                            let (l, r) = operands();
                            let result = l.binary(op, r).unwrap();
                            assert_eq!(result.ty(), Some(ClassicalType::Int(common)));
                            let expected = wrapped(common, plain(op, p, q));
                            assert_eq!(
                                result.evaluate(&memory),
                                expected,
                                "{x}: {a} {op:?} {y}: {b}"
                            );
                        }
                        for relation in RELATIONS {
                            let (l, r) = operands();
                            let result = l.compare(relation, r).unwrap();
                            let expected = match relation {
                                Relation::Equal => p == q,
                                Relation::NotEqual => p != q,
                                Relation::Less => p < q,
                                Relation::LessEqual => p <= q,
                                Relation::Greater => p > q,
                                Relation::GreaterEqual => p >= q,
                            };
                            assert_eq!(result.evaluate(&memory), Word::from(expected));
                        }
                        let (l, r) = operands();
                        let shifted = l.shift(true, r).unwrap();
                        let places = number(b, y);
                        let expected =
                            if places < 0 { 0 } else { wrapped(a, number(a, x) << places) };
                        assert_eq!(shifted.evaluate(&memory), expected, "{x}: {a} << {places}");
                        let (l, r) = operands();
                        let shifted = l.shift(false, r).unwrap();
                        let places = if places < 0 { 100 } else { places };
                        assert_eq!(shifted.evaluate(&memory), wrapped(a, number(a, x) >> places));
                        let (l, r) = operands();
                        let rotated = l.rotate(true, r).unwrap();
                        let by = number(b, y).rem_euclid(i128::from(a.bits)) as u32;
                        let turned =
                            (0..a.bits).fold(0, |sum, k| sum | (x >> k & 1) << ((k + by) % a.bits));
                        assert_eq!(rotated.evaluate(&memory), turned);
                        let (l, r) = operands();
                        let back = l.rotate(true, r.clone()).unwrap().rotate(false, r).unwrap();
                        assert_eq!(back.evaluate(&memory), x);
                    }
                }
            }
        }
    }
}

#[test]
fn literals_take_the_type_beside_them() {
    for ty in int_types() {
        for value in -40i128..40 {
            let x = ClassicalExpr::constant(ClassicalType::Int(ty), 1);
            let sum = x.binary(Arithmetic::Add, ClassicalExpr::literal(value)).unwrap();
            let (low, high) = match ty.signed {
                true => (-(1i128 << (ty.bits - 1)), (1i128 << (ty.bits - 1)) - 1),
                false => (0, (1i128 << ty.bits) - 1),
            };
            let fits = (low..=high).contains(&value);
            let expected = if fits { ty } else { IntType::INT };
            assert_eq!(sum.ty(), Some(ClassicalType::Int(expected)), "{ty} {value}");
            let one = number(ty, 1 & ((1 << ty.bits) - 1));
            assert_eq!(sum.value().unwrap(), wrapped(expected, one + value));
        }
    }
    let long = ClassicalExpr::from(1u8).binary(Arithmetic::Add, 1i64 << 40).unwrap();
    assert_eq!((long.ty(), long.value()), (None, Some((1 << 40) + 1)));
    let x = ClassicalExpr::constant(ClassicalType::Int(IntType::unsigned(8)), 255);
    let sum = x.binary(Arithmetic::Add, 1i64 << 40).unwrap();
    assert_eq!(sum.ty(), Some(ClassicalType::Int(IntType::signed(42))));
    // The `int` holds the values of the type beside the number, too.
    let x = ClassicalExpr::constant(ClassicalType::Int(IntType::unsigned(64)), 1 << 63);
    let sum = x.binary(Arithmetic::Add, -1i32).unwrap();
    assert_eq!(sum.ty(), Some(ClassicalType::Int(IntType::signed(65))));
    assert_eq!(sum.value(), Some((1 << 63) - 1));
    assert_eq!(
        ClassicalExpr::literal(i128::MAX).binary(Arithmetic::Add, 1i32),
        Err(ClassicalError::TooLong)
    );
    assert_eq!(
        ClassicalExpr::literal(3).binary(Arithmetic::Rem, 0i32),
        Err(ClassicalError::DivisionByZero)
    );
}

#[test]
fn floats_are_those_of_ieee_754() {
    let float = |x: f64| ClassicalExpr::from(x);
    let value = |e: ClassicalExpr| f64::from_bits(e.value().unwrap() as u64);
    let mut sum = float(0.0);
    for _ in 0..10 {
        sum = sum.binary(Arithmetic::Add, 0.1).unwrap();
    }
    assert_eq!(value(sum.clone()), 0.9999999999999999);
    assert_eq!(sum.compare(Relation::Equal, 1.0).unwrap().value(), Some(0));
    for (function, x) in [
        (ClassicalFunction::Arccos, 3.0),
        (ClassicalFunction::Log, -1.0),
        (ClassicalFunction::Sqrt, -1.0),
    ] {
        let nan = float(x).call(function).unwrap();
        assert!(value(nan.clone()).is_nan());
        assert_eq!(nan.clone().compare(Relation::Equal, nan.clone()).unwrap().value(), Some(0));
        assert_eq!(nan.clone().compare(Relation::NotEqual, nan.clone()).unwrap().value(), Some(1));
        assert_eq!(nan.clone().truth().value(), Some(1));
        assert_eq!(nan.cast(ClassicalType::Int(IntType::INT)).unwrap().value(), Some(0));
    }
    assert_eq!(value(float(1.0).binary(Arithmetic::Div, 0i32).unwrap()), f64::INFINITY);
    let single = float(0.1).cast(ClassicalType::Float(FloatType::F32)).unwrap();
    assert_eq!(value(single.clone()), f64::from(0.1f32));
    let sum = single.clone().binary(Arithmetic::Add, single).unwrap();
    assert_eq!(value(sum), f64::from(0.1f32 + 0.1f32));
    for (x, ty, expected) in [
        (2.7, IntType::signed(8), 2),
        (-2.7, IntType::signed(8), 0xfe),
        (300.0, IntType::signed(8), 127),
        (-300.0, IntType::signed(8), 128),
        (-1.0, IntType::unsigned(8), 0),
        (1e300, IntType::unsigned(128), u128::MAX),
        (f64::NEG_INFINITY, IntType::signed(128), 1 << 127),
    ] {
        let cast = float(x).cast(ClassicalType::Int(ty)).unwrap();
        assert_eq!(cast.value(), Some(expected), "{x} {ty}");
    }
}

#[test]
fn angles_are_parts_of_a_turn() {
    use std::f64::consts::TAU;
    let of = |x: f64, n: u32| {
        ClassicalExpr::from(x).cast(ClassicalType::Angle(n)).unwrap().value().unwrap()
    };
    // The float nearest to 2 pi is a turn, however many of them there are.
    assert_eq!(of(389_726.562_243_669_8, 32), 3_903_417_853);
    assert_eq!(of(-TAU / 4.0, 128), 3 << 126);
    // The example of the specification.
    assert_eq!(of(TAU * (127.0 / 512.0), 8), 0b0100_0000);
    for n in 1..=20u32 {
        for k in 0..(1u128 << n).min(64) {
            let x = TAU * k as f64 / (1u64 << n) as f64;
            assert_eq!((of(x, n), of(x + TAU, n), of(x - 3.0 * TAU, n)), (k, k, k), "{n} {k}");
            let angle = ClassicalExpr::constant(ClassicalType::Angle(n), k);
            let back = angle.cast(ClassicalType::FLOAT).unwrap().value().unwrap();
            assert!((f64::from_bits(back as u64) - x).abs() < 1e-15);
        }
    }
    // Halfway between two: the even one. (These multiples of a turn are floats.)
    for (parts, expected) in [(0.5, 0), (1.5, 2), (2.5, 2), (3.5, 4)] {
        assert_eq!(of(parts * TAU / 16.0, 4), expected, "{parts}");
        let fine = ClassicalExpr::constant(ClassicalType::Angle(9), (parts * 32.0) as Word);
        assert_eq!(fine.cast(ClassicalType::Angle(4)).unwrap().value(), Some(expected));
    }
    let angle = |k: Word| ClassicalExpr::constant(ClassicalType::Angle(4), k);
    let of = |e: Result<ClassicalExpr, ClassicalError>| {
        let e = e.unwrap();
        (e.ty().unwrap().to_string(), e.value().unwrap())
    };
    assert_eq!(of(angle(9).binary(Arithmetic::Add, angle(9))), ("angle[4]".to_owned(), 2));
    assert_eq!(of(angle(3).binary(Arithmetic::Mul, -2i32)), ("angle[4]".to_owned(), 10));
    assert_eq!(
        of(ClassicalExpr::from(6i32).binary(Arithmetic::Mul, angle(3))),
        ("angle[4]".to_owned(), 2)
    );
    assert_eq!(of(angle(9).binary(Arithmetic::Div, 2i32)), ("angle[4]".to_owned(), 4));
    assert_eq!(of(angle(9).binary(Arithmetic::Div, angle(2))), ("uint[4]".to_owned(), 4));
    assert_eq!(of(angle(9).binary(Arithmetic::BitXor, angle(15))), ("angle[4]".to_owned(), 6));
    assert_eq!(of(angle(9).invert()), ("angle[4]".to_owned(), 6));
    assert_eq!(of(angle(9).rotate(true, 1i32)), ("angle[4]".to_owned(), 3));
    assert_eq!(of(angle(4).compare(Relation::Equal, TAU / 4.0)), ("bool".to_owned(), 1));
    assert_eq!(of(angle(15).compare(Relation::Less, 7.0)), ("bool".to_owned(), 1));
}

#[test]
fn casts_to_the_other_sign_come_back() {
    for bits in [1u32, 3, 8, 31, 32, 64, 127, 128] {
        let mut x = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c834u128;
        for _ in 0..200 {
            x = x.wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645).wrapping_add(1);
            let value = if bits == 128 { x } else { x >> 7 & ((1 << bits) - 1) };
            let start = ClassicalExpr::constant(ClassicalType::Int(IntType::signed(bits)), value);
            let there = start.cast(ClassicalType::Int(IntType::unsigned(bits))).unwrap();
            let back = there.cast(ClassicalType::Int(IntType::signed(bits))).unwrap();
            assert_eq!(back.value(), Some(value));
            let text = back.cast(ClassicalType::Bits(bits)).unwrap();
            assert_eq!(text.popcount().unwrap().value(), Some(Word::from(value.count_ones())));
        }
    }
}

#[test]
fn logic_reads_the_right_side_only_if_it_must() {
    let memory = |a: bool, b: bool| Register(vec![a, b]);
    let bit = |k: u32| ClassicalExpr::bits(&[k]).unwrap();
    for a in [false, true] {
        for b in [false, true] {
            let m = memory(a, b);
            assert_eq!(bit(0).and(bit(1)).evaluate(&m), Word::from(a && b));
            assert_eq!(bit(0).or(bit(1)).evaluate(&m), Word::from(a || b));
            assert_eq!(bit(0).not().evaluate(&m), Word::from(!a));
            let nested = bit(0).and(bit(1).or(bit(0).not())).or(bit(1).and(bit(0)));
            assert_eq!(nested.evaluate(&m), Word::from(a && b));
            assert_eq!(
                bit(0).binary(Arithmetic::BitXor, bit(1)).unwrap().evaluate(&m),
                Word::from(a ^ b)
            );
        }
    }
    // What does not matter is not read: reading bit 1 of one bit would panic.
    let short = Register(vec![true]);
    assert_eq!(bit(0).or(bit(1)).evaluate(&short), 1);
    assert_eq!(bit(0).not().and(bit(1)).evaluate(&short), 0);
}

/// Formulas with Rust's operators are the expressions of the methods, and keep the first error.
#[test]
fn formulas_are_the_expressions_of_their_operators() {
    let mut c = Circuit::new(1);
    let bits = c.bit_register("b", 4).unwrap();
    let n = c.add_variable("n", ClassicalType::Int(IntType::signed(7))).unwrap();
    let t = c.add_variable("t", ClassicalType::FLOAT).unwrap();
    let (n, t) = (c.scalar(n).unwrap(), c.scalar(t).unwrap());
    let [x, y] = [n, t].map(ClassicalExpr::from);
    let b = ClassicalExpr::bits(&[0, 1, 2, 3]).unwrap();
    let is = |formula: PendingExpr, expr: Result<ClassicalExpr, ClassicalError>| {
        assert_eq!(formula.into_result(), expr);
    };
    let binary = |op, x: &ClassicalExpr, y: &ClassicalExpr| x.clone().binary(op, y.clone());
    let (three, half) = (ClassicalExpr::from(3), ClassicalExpr::from(0.5));
    is(n + t, binary(Arithmetic::Add, &x, &y));
    is(t - 0.5, binary(Arithmetic::Sub, &y, &half));
    is(0.5 - t, binary(Arithmetic::Sub, &half, &y));
    is(n * 3, binary(Arithmetic::Mul, &x, &three));
    is(3 * n, binary(Arithmetic::Mul, &three, &x));
    is(3 / n, binary(Arithmetic::Div, &three, &x));
    is(n % bits, binary(Arithmetic::Rem, &x, &b));
    is(n & 3, binary(Arithmetic::BitAnd, &x, &three));
    is(bits | n, binary(Arithmetic::BitOr, &b, &x));
    is(3 ^ n, binary(Arithmetic::BitXor, &three, &x));
    is(n << 3, x.clone().shift(true, 3));
    is(bits >> n, b.clone().shift(false, x.clone()));
    is(-t, y.clone().negate());
    is(!n, Ok(x.clone().not()));
    is(bits.bit(2) + 0, binary(Arithmetic::Add, &ClassicalExpr::bits(&[2]).unwrap(), &0.into()));
    is(n.to_power(3), binary(Arithmetic::Power, &x, &three));
    is(t.cast_to(ClassicalType::Bool), y.clone().cast(ClassicalType::Bool));
    is(t.apply(ClassicalFunction::Sin), y.clone().call(ClassicalFunction::Sin));
    is(
        n.less_than(3).and_also(t),
        Ok(x.clone().compare(Relation::Less, 3).unwrap().and(y.clone())),
    );
    is(n.at_most(3).or_else(t), Ok(x.clone().compare(Relation::LessEqual, 3).unwrap().or(y)));
    type Comparison = fn(ScalarVariable, i32) -> PendingExpr;
    let relations: [(Relation, Comparison); 6] = [
        (Relation::Equal, |n, k| n.equals(k)),
        (Relation::NotEqual, |n, k| n.differs_from(k)),
        (Relation::Less, |n, k| n.less_than(k)),
        (Relation::LessEqual, |n, k| n.at_most(k)),
        (Relation::Greater, |n, k| n.greater_than(k)),
        (Relation::GreaterEqual, |n, k| n.at_least(k)),
    ];
    for (relation, formula) in relations {
        is(formula(n, 3), x.clone().compare(relation, 3));
        // What holds of no two numbers and their opposite, whatever they are.
        for number in 0..128u128 {
            let holds = |relation| {
                let number = ClassicalExpr::constant(n.ty(), number);
                number.compare(relation, 3).unwrap().value()
            };
            assert_ne!(holds(relation), holds(relation.negated()), "{relation:?}");
        }
    }
    // The first error counts.
    let error = (t << 1) + (t & 1);
    assert_eq!(
        error.clone().into_result().unwrap_err().to_string(),
        "`<<` does not work on float[64] and 1"
    );
    let refused = |result: Result<&mut Circuit, CircuitError>| result.unwrap_err();
    let expected = CircuitError::Classical(error.clone().into_result().unwrap_err());
    assert_eq!(refused(c.store(n, error.clone())), expected);
    assert_eq!(refused(c.store_bits(bits, error.clone())), expected);
    assert_eq!(refused(c.when(error.clone(), |c| c.x(0))), expected);
    assert_eq!(refused(c.if_else(error.clone(), |c| c.x(0), |c| c.x(0))), expected);
    assert_eq!(refused(c.while_loop(error.clone(), |c| c.x(0))), expected);
    assert_eq!(refused(c.switch(error.clone(), |s| s.default(|c| c.x(0)))), expected);
    assert_eq!(refused(c.for_range(n, 1, error.clone(), |c| c.x(0))), expected);
    assert_eq!(refused(c.rx(0, error)), expected);
    assert!(c.instructions().is_empty());
}

/// A negated condition holds where the condition does not.
#[test]
fn negated_conditions_are_the_others() {
    use Relation::{Equal, Greater, GreaterEqual, Less, LessEqual, NotEqual};
    let compare = |relation| Condition::compare(&[0, 1, 2], relation, 3).unwrap();
    let bit = |bit, value| Condition::Bit { bit, value };
    let expr = ClassicalExpr::bits(&[0, 2]).unwrap().compare(Equal, 2).unwrap();
    let mut conditions: Vec<Condition> = vec![
        bit(1, true),
        bit(2, false),
        Condition::Not(Box::new(bit(0, true))),
        Condition::All(vec![]),
        Condition::Any(vec![]),
        expr.into(),
    ];
    let relations = [Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual];
    conditions.extend(relations.map(compare));
    conditions.push(Condition::All(vec![bit(0, true), compare(Less)]));
    conditions.push(Condition::Any(vec![bit(0, true), Condition::All(vec![compare(Greater)])]));
    for condition in conditions {
        let negated = condition.clone().negated();
        for value in 0..8u32 {
            let bits = |bit: u32| value >> bit & 1 == 1;
            assert_ne!(condition.holds(&bits), negated.holds(&bits), "{condition} at {value}");
        }
    }
}
