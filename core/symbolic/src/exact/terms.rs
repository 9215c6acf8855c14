//! Sorted sums of terms: a key and a coefficient.
//!
//! Multiplying by one term adds to every key; the sorted list then is the same list, rotated where
//! keys pass the top bit. So a product with few terms is a few rotations merged, without sorting.
//!
//! Every function gives `None` where a coefficient does not fit in 128 bits.

use super::ExactNumberError;

/// A key and its coefficient, which is not zero.
pub(super) type ExactTerm = (u128, i128);

/// The key of -1, which is written as a sign instead.
const MINUS_ONE: u128 = 1 << 127;
/// The key of i.
pub(super) const I: u128 = 1 << 126;
/// The key of `e^{i pi/4}`.
pub(super) const EIGHTH: u128 = 1 << 125;

/// Number of rows up to which a product is merged row by row.
const FEW: usize = 8;
/// Number of pairs that are sorted at once: 32 MiB.
const BLOCK: usize = 1 << 20;

/// Computes `a b`; the least number of 128 bits, which has no negative, does not count as fitting.
pub(super) fn mul(a: i128, b: i128) -> Option<i128> {
    a.checked_mul(b).filter(|c| *c != i128::MIN)
}

/// Computes `a + b`, likewise.
pub(super) fn add(a: i128, b: i128) -> Option<i128> {
    a.checked_add(b).filter(|c| *c != i128::MIN)
}

/// Returns a term whose key may have its top bit set.
pub(super) fn normal(key: u128, c: i128) -> ExactTerm {
    if key & MINUS_ONE == 0 { (key, c) } else { (key & !MINUS_ONE, -c) }
}

/// Returns the sum times `c e^{2 pi i key / 2^128}`.
pub(super) fn times(sum: &[ExactTerm], key: u128, c: i128) -> Option<Vec<ExactTerm>> {
    let (key, c) = normal(key, c);
    let wraps = sum.partition_point(|t| t.0 < MINUS_ONE - key);
    let mut out = Vec::with_capacity(sum.len());
    for t in &sum[wraps..] {
        out.push((t.0 - (MINUS_ONE - key), mul(t.1, -c)?));
    }
    for t in &sum[..wraps] {
        out.push((t.0 + key, mul(t.1, c)?));
    }
    Some(out)
}

/// Computes `a + sign b`.
pub(super) fn merged(a: &[ExactTerm], b: &[ExactTerm], sign: i128) -> Option<Vec<ExactTerm>> {
    let mut out = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        if x.0 < y.0 {
            out.push(*x);
            i += 1;
        } else if y.0 < x.0 {
            out.push((y.0, sign * y.1));
            j += 1;
        } else {
            let c = add(x.1, sign * y.1)?;
            if c != 0 {
                out.push((x.0, c));
            }
            (i, j) = (i + 1, j + 1);
        }
    }
    out.extend_from_slice(&a[i..]);
    out.extend(b[j..].iter().map(|y| (y.0, sign * y.1)));
    Some(out)
}

/// Returns the product of two sums, the shorter one first, if it has at most `limit` terms.
pub(super) fn product(
    short: &[ExactTerm],
    long: &[ExactTerm],
    limit: usize,
) -> Result<Vec<ExactTerm>, ExactNumberError> {
    let rows = if short.len() <= FEW { 1 } else { (BLOCK / long.len().max(1)).max(1) };
    let mut product: Vec<ExactTerm> = Vec::new();
    for block in short.chunks(rows) {
        let part = match block {
            [(key, c)] => times(long, *key, *c),
            _ => sorted(block, long),
        };
        let sum = part.and_then(|part| merged(&product, &part, 1));
        product = sum.ok_or(ExactNumberError::Coefficient)?;
        if product.len() > limit {
            return Err(ExactNumberError::Terms);
        }
    }
    Ok(product)
}

/// Returns all pairs, sorted by key.
fn sorted(rows: &[ExactTerm], long: &[ExactTerm]) -> Option<Vec<ExactTerm>> {
    let mut pairs = Vec::with_capacity(rows.len() * long.len());
    for &(key, c) in rows {
        for &(k, d) in long {
            pairs.push(normal(key + k, mul(c, d)?));
        }
    }
    pairs.sort_unstable_by_key(|t| t.0);
    let mut out: Vec<ExactTerm> = Vec::with_capacity(pairs.len() / 4);
    for (key, c) in pairs {
        match out.last_mut() {
            Some(last) if last.0 == key => last.1 = add(last.1, c)?,
            _ => {
                if out.last().is_some_and(|last| last.1 == 0) {
                    out.pop();
                }
                out.push((key, c));
            }
        }
    }
    if out.last().is_some_and(|last| last.1 == 0) {
        out.pop();
    }
    Some(out)
}

/// Returns the complex conjugate: `k` becomes `-k`, which is `2^127 - k` with a sign.
pub(super) fn conjugate(sum: &[ExactTerm]) -> Vec<ExactTerm> {
    let (one, rest) = sum.split_at(sum.partition_point(|t| t.0 == 0));
    one.iter().copied().chain(rest.iter().rev().map(|t| (MINUS_ONE - t.0, -t.1))).collect()
}
