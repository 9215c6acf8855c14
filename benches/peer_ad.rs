//! Gradients of small programs, one JSON row each, to be put beside other tools.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin peer_ad
//! ```
//! Workloads and points are those that such comparisons use: a fraction, gradient descent on a point, Newton's
//! root with a data-dependent number of rounds, the logistic map, Euler steps of Lotka-Volterra, Rosenbrock,
//! Speelpenning's product, the logarithm of a sum of exponentials. `seconds` is one gradient by the bytecode,
//! called again; `objective_seconds` one value; `first_seconds` from text to the first gradient.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement stops at the first surprise")]

use std::{hint::black_box, time::Instant};

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};

/// Seconds spent on each number.
const BUDGET: f64 = 0.25;

struct Workload {
    name: &'static str,
    n: usize,
    source: &'static str,
    args: Vec<Datum<f64>>,
}

fn workloads() -> Vec<Workload> {
    let real = |xs: &[f64]| xs.iter().map(|&x| Datum::Real(x)).collect::<Vec<_>>();
    let array = |n: usize, f: &dyn Fn(f64) -> f64| vec![Datum::reals((0..n).map(|k| f(k as f64)))];
    let w = |name, n, source, args| Workload { name, n, source, args };
    vec![
        w("fraction", 2, "fn f(a, b) { a / (a + b * b) }", real(&[2.0, 3.0])),
        w(
            "point",
            2,
            "fn f(u, v) { let dx = u * 2.0 + v * -2.0 - -0.3333333333333333; let dy = u * 3.0 + v * 0.0 - 1.0; sqrt(dx * dx + dy * dy) }",
            real(&[0.1, 0.1]),
        ),
        w(
            "newton",
            1,
            "fn f(a) { let mut x = a; while abs(x * x - a) > 1e-12 { x = 0.5 * (x + a / x); } x }",
            real(&[2.0]),
        ),
        w(
            "logistic",
            1000,
            "fn f(r, x0) { let mut x = x0; for i in 0..1000 { x = r * x * (1 - x); } x }",
            real(&[3.5699456, 0.3]),
        ),
        w(
            "lotka-volterra",
            10_000,
            "fn f(a, b, c, d, x0, y0) { let mut x = x0; let mut y = y0; for i in 0..10000 { let xy = x * y; x = x + 1e-3 * (a * x - b * xy); y = y + 1e-3 * (d * xy - c * y); } x + y }",
            real(&[1.5, 1.0, 3.0, 1.0, 1.0, 1.0]),
        ),
        w(
            "rosenbrock",
            1000,
            "fn f(x: array) { let mut s = 0.0; for i in 0..len(x) - 1 { let u = x[i + 1] - x[i] * x[i]; let v = 1 - x[i]; s += 100 * u * u + v * v; } s }",
            array(1000, &|k| 0.5 + 0.001 * k),
        ),
        w(
            "speelpenning",
            1000,
            "fn f(x: array) { let mut p = 1.0; for i in 0..len(x) { p *= x[i]; } p }",
            array(1000, &|k| 1.0 + 0.1 * k.cos()),
        ),
        w(
            "logsumexp",
            100_000,
            "fn f(x: array) { let mut m = x[0]; for i in 1..len(x) { m = max(m, x[i]); } let mut s = 0.0; for i in 0..len(x) { s += exp(x[i] - m); } m + ln(s) }",
            array(100_000, &|k| (1.7 * k).sin() * 2.0),
        ),
    ]
}

/// The least and the median time of a call.
fn time(mut f: impl FnMut()) -> (f64, f64) {
    let mut calls = 1u32;
    let mut once = |calls: u32| {
        let start = Instant::now();
        (0..calls).for_each(|_| f());
        start.elapsed().as_secs_f64()
    };
    while once(calls) < 1e-3 {
        calls *= 2;
    }
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || start.elapsed().as_secs_f64() < BUDGET {
        times.push(once(calls) / f64::from(calls));
    }
    times.sort_by(f64::total_cmp);
    (times[0], times[times.len() / 2])
}

fn main() {
    for Workload { name, n, source, args } in workloads() {
        let start = Instant::now();
        let program = parse_program(source).unwrap();
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        black_box(d.value_and_gradient(&args).unwrap());
        let first = start.elapsed().as_secs_f64();
        let objective = time(|| drop(black_box(d.value(black_box(&args)).unwrap())));
        let reals: Option<Vec<f64>> = args.iter().map(|a| a.real().copied()).collect();
        let (least, median) = match reals {
            Some(x) => {
                let (mut p, mut g) = (d.prepare().unwrap(), vec![0.0; x.len()]);
                time(|| {
                    black_box(p.gradient(black_box(&x), &mut g).unwrap());
                })
            }
            None => time(|| drop(black_box(d.value_and_gradient(black_box(&args)).unwrap()))),
        };
        println!(
            "{{\"workload\": \"{name}\", \"n\": {n}, \"peer\": \"ketgrad\", \"seconds_min\": {least:.3e}, \"seconds_median\": {median:.3e}, \"objective_seconds_min\": {:.3e}, \"first_seconds\": {first:.3e}}}",
            objective.0
        );
    }
}
