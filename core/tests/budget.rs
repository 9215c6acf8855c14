//! The gradient of ordinary programs with long loops, in a budget of bytes: it is the gradient of
//! the whole, and stays in the budget, or the reason is told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};

fn derivatives(source: &str) -> Derivatives<'static, f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]));
    Derivatives::new(&program, "f").unwrap()
}

fn numbers(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(all) => all.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

/// The gradient in the budget beside that of the whole.
fn agree(source: &str, args: &[Datum<f64>], budget: usize) {
    let mut whole = derivatives(source);
    let (value, expected) = whole.value_and_gradient(args).unwrap();
    let mut little =
        derivatives(source).with_memory(budget).unwrap_or_else(|e| panic!("{source}: {e}"));
    for _ in 0..2 {
        let (same, found) =
            little.value_and_gradient(args).unwrap_or_else(|e| panic!("{source}: {e}"));
        assert_eq!(value, same, "{source}");
        assert_eq!(expected.len(), found.len(), "{source}");
        for (a, b) in expected.iter().zip(&found) {
            let (a, b) = (numbers(a), numbers(b));
            assert_eq!(a.len(), b.len(), "{source}");
            a.iter().zip(&b).for_each(|(a, b)| {
                assert!((a - b).abs() <= 1e-11 * a.abs().max(1.0), "{source}: {a} {b}")
            });
        }
        assert!(little.memory() <= budget, "{source}: {}", little.memory());
    }
    assert!(whole.memory() > 4 * budget, "{source}: {} bytes anyway", whole.memory());
}

const PENDULUM: &str = "fn f(x0, friction, n: int) {
    let mut x = x0 * 2.0;
    let h = 0.01 * friction + 0.01;
    let mut v = 0.0;
    for i in 0..n {
        x += h * v;
        v -= h * (sin(x) + friction * v + 0.1 * cos(0.01 * real(i)));
    }
    let energy = 0.5 * v * v - cos(x);
    energy * x0 * h
}";

#[test]
fn a_long_loop_is_differentiated_in_the_budget() {
    agree(PENDULUM, &[Datum::Real(0.5), Datum::Real(0.1), Datum::Int(20_000)], 60_000);
    // No rounds, and one.
    for n in [0, 1] {
        let args = [Datum::Real(0.5), Datum::Real(0.1), Datum::Int(n)];
        let (value, expected) = derivatives(PENDULUM).value_and_gradient(&args).unwrap();
        let mut little = derivatives(PENDULUM).with_memory(60_000).unwrap();
        let (same, found) = little.value_and_gradient(&args).unwrap();
        assert_eq!(value, same);
        expected
            .iter()
            .zip(&found)
            .for_each(|(a, b)| assert!((numbers(a)[0] - numbers(b)[0]).abs() < 1e-14));
    }
}

#[test]
fn loops_of_many_forms() {
    // A counter from elsewhere, an inclusive range, `continue`, branches and a loop inside.
    agree(
        "fn f(a, n: int) {
            let mut x = a;
            for i in 3..=5000 {
                if i % 3 == 0 { x += 0.001 * a; continue; }
                let mut s = 0.0;
                for j in 0..i % 4 { s += sin(x * real(j)); }
                if s > 1.0 { x -= 0.001 * s; } else { x += 0.002 * cos(x) * a; }
            }
            x * x + real(n)
        }",
        &[Datum::Real(0.7), Datum::Int(2)],
        30_000,
    );
    // Two loops one after the other, in a function that is called.
    agree(
        "fn decay(x, k, n: int) { let mut y = x; for i in 0..n { y *= 1.0 - 0.001 * k * y; } y }
        fn f(x, k) { let a = decay(x, k, 40000); let b = decay(a + k, a, 30000); a * b + x }",
        &[Datum::Real(0.8), Datum::Real(1.3)],
        60_000,
    );
    // A state with arrays, and structs.
    agree(
        "struct Body { place: array, speed: array }
        fn f(start: array, mass) {
            let mut b = Body { place: start, speed: 0.1 * start };
            for i in 0..12000 {
                b.place += 0.01 * b.speed;
                b.speed -= 0.01 / mass * b.place / (1.0 + dot(b.place, b.place));
            }
            sum(b.place * b.speed) * mass
        }",
        &[Datum::reals([1.0, -0.5, 0.25, 2.0]), Datum::Real(1.5)],
        100_000,
    );
}

#[test]
fn what_cannot_be_kept_in_a_budget_says_why() {
    let refused = |source: &str| derivatives(source).with_memory(1000).unwrap_err().to_string();
    let start = "the loop in `f` cannot be differentiated in a memory budget: ";
    for (source, why) in [
        (
            "fn f(x, n: int) { let mut y = x; for i in 0..n { y = sin(y); if y < 0.1 { break; } } y }",
            "it is left by `break` or `return`, or its range is `a..=b` with a computed bound",
        ),
        (
            "fn f(x) { let mut y = x; while y > 0.1 { y *= 0.5; } y }",
            "it is no `for` over a range `a..b`",
        ),
        (
            "fn f(x, n: int) { if x < 0.0 { return x; } let mut y = x; for i in 0..n { y = sin(y); } y }",
            "not every way through the function passes it",
        ),
        (
            "fn f(x, n: int) { let mut k = 0; for i in 0..n { k += i; } x * real(k) }",
            "no iteration hands a number to the next one",
        ),
    ] {
        let error = refused(source);
        assert!(
            error.contains(start) && error.ends_with(why) && error.starts_with("1:"),
            "{error}"
        );
    }
    let none = refused("fn f(x) { x * x }");
    assert_eq!(
        none,
        "`f` has no loop of its own: its memory does not depend on a number of iterations"
    );

    let grows = "fn f(x, n: int) { let mut xs = [x]; for i in 0..n { xs = concat(xs, 0.5 * xs, 0); } sum(xs) }";
    let error = derivatives(grows).with_memory(100_000).unwrap();
    let error =
        { error }.value_and_gradient(&[Datum::Real(1.0), Datum::Int(5)]).unwrap_err().to_string();
    assert!(error.contains("only states that do not grow can be kept in a budget"), "{error}");

    let mut tight = derivatives(PENDULUM).with_memory(500).unwrap();
    let args = [Datum::Real(0.5), Datum::Real(0.1), Datum::Int(100)];
    let error = tight.value_and_gradient(&args).unwrap_err().to_string();
    assert!(error.contains("more than the budget of 500"), "{error}");
}

/// The least budget is told, and every budget from there on runs.
#[test]
fn any_budget_above_the_least_is_enough() {
    let source = "fn f(x: array, n: int) { let mut y = x; for i in 0..n { y = y + 0.01 * sin(y * x); } sum(y) }";
    let two = "fn f(x: array, n: int) {
        let mut y = x; let z = 2.0 * x;
        for i in 0..n { y = y + 0.01 * sin(y * x); }
        let mut s = sum(y);
        for i in 0..n / 2 { s += 0.1 * cos(s) * z[0]; }
        s * sum(z)
    }";
    for (source, sizes) in [(source, [1, 8, 100, 2000]), (two, [1, 8, 100, 500])] {
        for n in sizes {
            let args = [
                Datum::reals((0..n).map(|k| 0.1 + 0.01 * f64::from(k)).collect::<Vec<_>>()),
                Datum::Int(100),
            ];
            let (value, expected) = derivatives(source).value_and_gradient(&args).unwrap();
            let none =
                derivatives(source).with_memory(0).unwrap().value_and_gradient(&args).unwrap_err();
            let none = none.to_string();
            let words: Vec<&str> = none.split(' ').collect();
            let least: usize =
                words[words.iter().position(|w| *w == "takes").unwrap() + 1].parse().unwrap();
            let state = 8 * n as usize;
            let steps = [
                0,
                1,
                state / 2,
                state,
                2 * state + 50,
                5 * state,
                20 * state,
                60 * state,
                500 * state,
            ];
            for budget in steps.map(|more| least + more).into_iter().chain([
                least * 3 / 2,
                least * 2,
                least * 10,
            ]) {
                let mut little = derivatives(source).with_memory(budget).unwrap();
                for _ in 0..2 {
                    let (same, found) = little
                        .value_and_gradient(&args)
                        .unwrap_or_else(|e| panic!("{n}, {budget}: {e}"));
                    assert!(
                        (value - same).abs() <= 1e-12 * value.abs(),
                        "{n}, {budget}: {value}, {same}"
                    );
                    let (a, b) = (numbers(&expected[0]), numbers(&found[0]));
                    assert!(
                        a.iter().zip(&b).all(|(a, b)| (a - b).abs() <= 1e-11 * a.abs().max(1.0)),
                        "{n}, {budget}"
                    );
                    assert!(little.memory() <= budget, "{n}, {budget}: {}", little.memory());
                }
            }
            // More memory, fewer rounds again.
            let again = |budget: usize| {
                let mut little = derivatives(source).with_memory(budget).unwrap();
                little.value_and_gradient(&args).unwrap();
                little.repeated()
            };
            assert!(again(least + 60 * state) < again(least + 2 * state), "{n}");
        }
    }
}
