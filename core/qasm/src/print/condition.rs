//! Conditions on classical bits in both languages.
//!
//! OpenQASM 3 has the operators for all of them; a few that all have to hold are nested `if`s. A
//! comparison of bits that are not one whole register in order is written bit by bit:
//! `{c[2], c[0]} < 2` is `!c[2]`, and `x <= 5` on three bits is `!x[2] || !x[1]`. OpenQASM 2 has
//! `c == n` for a whole register and nothing else.

use std::collections::BTreeMap;

use super::{ClassicalNames, RegisterNames};
use crate::{
    circuit::{Condition, Relation},
    notation::{Infix, Precedence, atom, parenthesized},
};

/// The condition in OpenQASM 3.
pub(crate) fn qasm3(condition: &Condition, names: &ClassicalNames) -> String {
    formula(condition, names).0
}

/// Limit on the depth of nested conditions.
const NESTED: usize = 4;

/// Returns the conditions of nested `if`s that are this one together: a few that all have to hold
/// are nested, since not all readers of OpenQASM 3 know `&&`.
pub(crate) fn nested(condition: &Condition, names: &ClassicalNames) -> Vec<String> {
    let all = match condition {
        Condition::All(list) => list.iter().map(|c| formula(c, names)).collect(),
        Condition::Compare { bits: which, relation: Relation::Equal, value }
            if whole_register(which, &names.bits).is_none() && value.len() <= which.len() =>
        {
            equal(which, value, &names.bits)
        }
        _ => Vec::new(),
    };
    let few = (2..=NESTED).contains(&all.len());
    if few { all.into_iter().map(|part| part.0).collect() } else { vec![qasm3(condition, names)] }
}

fn formula(condition: &Condition, names: &ClassicalNames) -> Infix {
    match condition {
        Condition::Bit { bit, value } => literal(*bit, *value, &names.bits),
        Condition::Not(inner) => {
            let inner = parenthesized(formula(inner, names), Precedence::Atom);
            (format!("!{inner}"), Precedence::Prefix)
        }
        Condition::All(list) => join(list.iter().map(|c| formula(c, names)).collect(), true),
        Condition::Any(list) => join(list.iter().map(|c| formula(c, names)).collect(), false),
        Condition::Compare { bits, relation, value } => match whole_register(bits, &names.bits) {
            Some(name) => {
                let (sign, value) = (relation.symbol(), number(value));
                (format!("{name} {sign} {value}"), Precedence::Compare)
            }
            None => compare_bits(bits, *relation, value, &names.bits),
        },
        Condition::Expr(expr) => expr.converted_text(names),
    }
}

/// The formula that a bit has a value.
fn literal(bit: u32, value: bool, bits: &RegisterNames) -> Infix {
    match value {
        true => atom(bits.name(bit)),
        false => (format!("!{}", bits.name(bit)), Precedence::Prefix),
    }
}

/// Formulas joined by `&&` or `||`.
fn join(mut parts: Vec<Infix>, and: bool) -> Infix {
    if parts.len() == 1
        && let Some(only) = parts.pop()
    {
        return only;
    }
    let (sign, binds, empty) =
        if and { (" && ", Precedence::And, "true") } else { (" || ", Precedence::Or, "false") };
    if parts.is_empty() {
        return atom(empty.to_owned());
    }
    let wrap = |part| parenthesized(part, Precedence::Compare);
    (parts.into_iter().map(wrap).collect::<Vec<_>>().join(sign), binds)
}

/// Returns the register that consists of these bits in this order.
pub(super) fn whole_register<'a>(which: &[u32], bits: &RegisterNames<'a>) -> Option<&'a str> {
    let (first, size, name) = bits.register(*which.first()?)?;
    let same =
        which.len() == size && which.iter().enumerate().all(|(i, &b)| b as usize == first + i);
    same.then_some(name)
}

/// Returns the formulas that each bit is that of the value.
fn equal(which: &[u32], value: &[bool], bits: &RegisterNames) -> Vec<Infix> {
    let wanted = |i: usize| value.get(i).copied().unwrap_or(false);
    which.iter().enumerate().map(|(i, &bit)| literal(bit, wanted(i), bits)).collect()
}

/// Returns a comparison bit by bit, the most significant one first.
fn compare_bits(which: &[u32], relation: Relation, value: &[bool], bits: &RegisterNames) -> Infix {
    let constant = |holds: bool| atom(if holds { "true" } else { "false" }.to_owned());
    let literal = |bit: u32, value: bool| literal(bit, value, bits);
    let wanted = |i: usize| value.get(i).copied().unwrap_or(false);
    // A constant with a bit beyond the last one is greater than all that the bits can hold.
    if value.iter().skip(which.len()).any(|&v| v) {
        return constant(matches!(
            relation,
            Relation::NotEqual | Relation::Less | Relation::LessEqual
        ));
    }
    let strict = |less: bool, or_equal: bool| {
        let mut sum = constant(or_equal);
        for (i, &bit) in which.iter().enumerate() {
            // Bit i decides where it differs from the constant's, unless it cannot on this side.
            let decides = wanted(i) == less;
            sum = match (sum.0.as_str(), decides) {
                ("true", true) | ("false", false) => sum,
                ("false", true) | ("true", false) => literal(bit, !less),
                (_, true) => join_flat(literal(bit, !less), sum, false),
                (_, false) => join_flat(literal(bit, !less), sum, true),
            };
        }
        sum
    };
    match relation {
        Relation::Equal => join(equal(which, value, bits), true),
        Relation::NotEqual => {
            join(which.iter().enumerate().map(|(i, &b)| literal(b, !wanted(i))).collect(), false)
        }
        Relation::Less => strict(true, false),
        Relation::LessEqual => strict(true, true),
        Relation::Greater => strict(false, false),
        Relation::GreaterEqual => strict(false, true),
    }
}

/// Joins two formulas; a second one of the same kind needs no parentheses.
fn join_flat(first: Infix, second: Infix, and: bool) -> Infix {
    let (sign, binds) = if and { (" && ", Precedence::And) } else { (" || ", Precedence::Or) };
    let second = if second.1 == binds || second.1 >= Precedence::Compare {
        second.0
    } else {
        format!("({})", second.0)
    };
    (format!("{}{sign}{second}", first.0), binds)
}

/// The decimal number with these bits, least significant first.
fn number(bits: &[bool]) -> String {
    // Digits in base 10^9, least significant first.
    let mut digits: Vec<u64> = vec![0];
    for &bit in bits.iter().rev() {
        let mut carry = u64::from(bit);
        for digit in &mut digits {
            let next = *digit * 2 + carry;
            *digit = next % 1_000_000_000;
            carry = next / 1_000_000_000;
        }
        if carry > 0 {
            digits.push(carry);
        }
    }
    let mut text = digits.pop().unwrap_or(0).to_string();
    for digit in digits.iter().rev() {
        text.push_str(&format!("{digit:09}"));
    }
    text
}

/// The condition as `register == number`, if it fixes every bit of exactly one register.
pub(super) fn qasm2(condition: &Condition, bits: &RegisterNames) -> Option<String> {
    let mut fixed = BTreeMap::new();
    if !fix(condition, &mut fixed) {
        return None;
    }
    let which: Vec<u32> = fixed.keys().copied().collect();
    let name = whole_register(&which, bits)?;
    let values: Vec<bool> = fixed.values().copied().collect();
    Some(format!("{name} == {}", number(&values)))
}

/// Collects the bits that a condition fixes; returns false if it requires anything else.
fn fix(condition: &Condition, fixed: &mut BTreeMap<u32, bool>) -> bool {
    let mut set = |bit: u32, value: bool| *fixed.entry(bit).or_insert(value) == value;
    match condition {
        Condition::Bit { bit, value } => set(*bit, *value),
        Condition::Not(inner) => match &**inner {
            Condition::Bit { bit, value } => set(*bit, !value),
            Condition::Not(inner) => fix(inner, fixed),
            _ => false,
        },
        Condition::Compare { bits, relation: Relation::Equal, value } => {
            let fits = !value.iter().skip(bits.len()).any(|&v| v);
            fits && bits
                .iter()
                .enumerate()
                .all(|(i, &b)| set(b, value.get(i).copied().unwrap_or(false)))
        }
        Condition::All(list) => list.iter().all(|c| fix(c, fixed)),
        Condition::Any(list) if list.len() == 1 => list.iter().all(|c| fix(c, fixed)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of a formula over `c[0]`, `c[1]`, …: the rest of the text and the value.
    fn value(text: &str, c: usize) -> bool {
        fn atom(text: &str, c: usize) -> (bool, &str) {
            let text = text.trim_start();
            if let Some(rest) = text.strip_prefix('!') {
                let (value, rest) = atom(rest, c);
                (!value, rest)
            } else if let Some(rest) = text.strip_prefix('(') {
                let (value, rest) = or(rest, c);
                (value, rest.trim_start().strip_prefix(')').unwrap())
            } else if let Some(rest) = text.strip_prefix("c[") {
                let (index, rest) = rest.split_once(']').unwrap();
                (c >> index.parse::<usize>().unwrap() & 1 == 1, rest)
            } else if let Some(rest) = text.strip_prefix("true") {
                (true, rest)
            } else {
                (false, text.strip_prefix("false").unwrap())
            }
        }
        fn and(text: &str, c: usize) -> (bool, &str) {
            let (mut all, mut rest) = atom(text, c);
            while let Some(more) = rest.trim_start().strip_prefix("&&") {
                let (value, after) = atom(more, c);
                (all, rest) = (all & value, after);
            }
            (all, rest)
        }
        fn or(text: &str, c: usize) -> (bool, &str) {
            let (mut any, mut rest) = and(text, c);
            while let Some(more) = rest.trim_start().strip_prefix("||") {
                let (value, after) = and(more, c);
                (any, rest) = (any | value, after);
            }
            (any, rest)
        }
        let (value, rest) = or(text, c);
        assert_eq!(rest, "", "{text}");
        value
    }

    #[test]
    fn comparisons_bit_by_bit_hold_where_they_should() {
        let registers = [("c".to_owned(), 5)];
        let names = ClassicalNames::new(&registers, Vec::new(), |_| String::new());
        let relations = [
            Relation::Equal,
            Relation::NotEqual,
            Relation::Less,
            Relation::LessEqual,
            Relation::Greater,
            Relation::GreaterEqual,
        ];
        for which in [&[1, 2, 0, 3][..], &[4, 0, 2], &[3], &[]] {
            for (relation, number) in relations.iter().flat_map(|&r| (0..32).map(move |n| (r, n))) {
                let condition = Condition::Compare {
                    bits: which.into(),
                    relation,
                    value: (0..5).map(|i| number >> i & 1 == 1).collect(),
                };
                let text = qasm3(&condition, &names);
                for c in 0..32 {
                    let expected = condition.holds(&|bit| c >> bit & 1 == 1);
                    assert_eq!(
                        value(&text, c),
                        expected,
                        "{which:?} {relation:?} {number} at {c}: {text}"
                    );
                }
            }
        }
    }

    #[test]
    fn numbers_of_any_width() {
        assert_eq!(number(&[]), "0");
        assert_eq!(number(&[false, true, true]), "6");
        let mut bits = vec![false; 100];
        bits[99] = true;
        assert_eq!(number(&bits), (1u128 << 99).to_string());
        assert_eq!(number(&[true; 128]), u128::MAX.to_string());
    }
}
