//! The laws of arrays: every operation of the table, and what is made of them, over shapes of all
//! sorts, listed and drawn.
//!
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`
//! - The pushforward is what dual numbers and difference quotients say.
//! - The Hessian times a vector is the gradient on dual numbers.
//! - On real and on complex numbers, for empty arrays, single elements, and both ways of
//!   broadcasting.
//! - A complex program on real numbers gives what the real program does.
//! - Code for certain shapes gives what code for any does.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cases;
mod laws;
mod special;

use std::collections::BTreeSet;

use ketgrad_core::ir::{ArrayOp, Op};
use support::random::Rng;

use cases::{CASES, drawn};
use laws::{Case, Shapes, complex_programs_contain_real_ones, kind, laws};

/// Shapes drawn for each case.
const DRAWN: u64 = 12;

/// The listed shapes, and drawn ones.
fn shapes(case: &Case) -> Vec<Vec<Vec<usize>>> {
    let listed = case.shapes.iter().map(|args| args.iter().map(|s| s.to_vec()).collect());
    listed
        .chain((0..DRAWN).filter_map(|seed| drawn(case, &mut Rng::new(seed * 0x1234_5678_9abc))))
        .collect()
}

/// All cases, so that one failure does not hide others.
fn all(cases: impl Iterator<Item = Case>, check: impl Fn(&Case) + std::panic::RefUnwindSafe) {
    let failed: Vec<&str> = cases
        .filter(|case| std::panic::catch_unwind(|| check(case)).is_err())
        .map(|c| c.source)
        .collect();
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn real_arrays_obey_the_laws() {
    all(CASES.iter().copied(), |case| laws(case, &shapes(case), false));
}

#[test]
fn complex_arrays_obey_the_laws() {
    all(CASES.iter().copied().filter(|c| c.complex), |case| laws(case, &shapes(case), true));
}

#[test]
fn complex_programs_on_real_numbers_agree_with_real_ones() {
    all(CASES.iter().copied().filter(|c| c.complex), |case| {
        complex_programs_contain_real_ones(case, &shapes(case));
    });
}

#[test]
fn the_fourier_transform_obeys_the_laws() {
    let listed: Shapes =
        &[&[&[1]], &[&[2]], &[&[6]], &[&[7]], &[&[12]], &[&[2, 8]], &[&[0]], &[&[2, 0]]];
    for source in [
        "fn f(a: {k}) { fft(a * a) }",
        "fn f(a: {k}) { fft_back(a) * a }",
        "fn f(a: {k}) { ifft(fft(a) * fft(a)) }",
    ] {
        let case = Case { source, shapes: listed, complex: true, shift: 0.0, diagonal: false };
        laws(&case, &shapes(&case), true);
    }
}

#[test]
fn every_operation_is_in_a_case() {
    // What random numbers are depends on ints alone.
    let mut seen: BTreeSet<&str> = BTreeSet::from(["fft", "fft_back", "rand", "randn"]);
    for case in CASES {
        let program = kind(case.source, false);
        let insts = program.functions.values().flat_map(|f| f.insts.values());
        seen.extend(insts.filter(|i| matches!(i.op, Op::OnArrays(_))).map(|i| i.op.name()));
    }
    let missing: Vec<&str> =
        ArrayOp::ALL.iter().map(|o| o.name()).filter(|n| !seen.contains(n)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
