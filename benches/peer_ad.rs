//! Gradients of small programs, one JSON row each, to be put beside other tools.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin peer_ad
//! ```
//! Workloads and points are those that such comparisons use: a fraction, gradient descent on a
//! point, Newton's root with a data-dependent number of rounds, the logistic map, Euler steps of
//! Lotka-Volterra; by loops over elements and by operations on arrays Rosenbrock, Speelpenning's
//! product, the logarithm of a sum of exponentials; by operations on arrays the trace of a product,
//! a network of two layers, a Gaussian mixture, a recurrent network, the sum of a function of every
//! element. `seconds` is one gradient by the bytecode, called again; `objective_seconds` one value;
//! `first_seconds` from text to the first gradient. Names of workloads may be given as arguments;
//! figures are in `AD.md`. `long-loop` is a million Euler steps as one program, `long-loop-budget`
//! the same with memory for a thousand states, each with the bytes that it held.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a measurement stops at the first surprise"
)]

use std::{hint::black_box, time::Instant};

use ketgrad_core::{
    exec::{Datum, Derivatives, Steps},
    rules::Rules,
    text::{entry, parse_program},
};
use workload::timing::{noise, time};

#[derive(Clone)]
struct Workload {
    name: &'static str,
    n: usize,
    source: &'static str,
    args: Vec<Datum<f64>>,
    /// Parameters that are held.
    data: Vec<(&'static str, Datum<f64>)>,
}

fn workloads() -> Vec<Workload> {
    let real = |xs: &[f64]| xs.iter().map(|&x| Datum::Real(x)).collect::<Vec<_>>();
    let array = |n: usize, f: &dyn Fn(f64) -> f64| vec![Datum::reals((0..n).map(|k| f(k as f64)))];
    let w = |name, n, source, args| Workload { name, n, source, args, data: vec![] };
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
        Workload { name: "lstm-loop", source: LSTM_LOOP, ..lstm() },
    ]
}

/// A recurrent network of two layers of 14 cells, 1024 steps.
fn lstm() -> Workload {
    Workload {
        name: "lstm",
        n: 266,
        source: include_str!("../examples/programs/lstm.kg"),
        args: vec![tensor(&[4, 4, 14], 0.1), tensor(&[3, 14], 0.2)],
        data: vec![("init", tensor(&[4, 14], 0.3)), ("sequence", tensor(&[1024, 14], 0.4))],
    }
}

/// The same, number by number; `xs[k]` is the k-th in row-major order.
const LSTM_LOOP: &str = "
fn sigmoid(x) { 1 / (1 + exp(-x)) }
fn loss(params: array, extra: array, init: array, sequence: array) {
    let (layers, n, b) = (dim(params, 0) / 2, dim(sequence, 0), dim(sequence, 1));
    let mut state = init;
    let mut total = 0.0;
    for t in 0..n - 1 {
        let mut sum = 2.0;
        let mut along = 0.0;
        let mut golds = 0.0;
        for k in 0..b {
            let mut x = sequence[b * t + k] * extra[k];
            for l in 0..layers {
                let (i, j) = (2 * b * l + k, 2 * b * l + b + k);
                let (p, q) = (8 * b * l + k, 8 * b * l + 4 * b + k);
                let h = state[i];
                let forget = sigmoid(x * params[p] + params[q]);
                let ingate = sigmoid(h * params[p + b] + params[q + b]);
                let outgate = sigmoid(x * params[p + 2 * b] + params[q + 2 * b]);
                let c = state[j] * forget + ingate * tanh(h * params[p + 3 * b] + params[q + 3 * b]);
                x = outgate * tanh(c);
                state[i] = x;
                state[j] = c;
            }
            let y = x * extra[b + k] + extra[2 * b + k];
            sum += exp(y);
            let gold = sequence[b * t + b + k];
            along += gold * y;
            golds += gold;
        }
        total += along - golds * ln(sum);
    }
    -total / real((n - 1) * b)
}";

fn tensor(shape: &[usize], seed: f64) -> Datum<f64> {
    Datum::reals_of(shape, noise(shape.iter().product(), seed)).unwrap()
}

const MLP: &str = "
fn f(w1: array, b1: array, w2: array, b2: array, w3: array, b3: array, x: array, t: array) {
    let h = tanh(matmul(tanh(matmul(x, w1) + b1), w2) + b2);
    let r = matvec(h, w3) + b3 - t;
    mean(r * r)
}";

/// 10 dimensions, 25 components, 1000 points; the last term of a Wishart prior is a constant.
const GMM: &str = "
fn f(alpha: array, mu: array, icf: array, x: array, place: array) {
    let logs = slice(icf, 1, 0, 10);
    let low = slice(icf, 1, 10, 45);
    let diagonals = exp(logs);
    let sums = sum_axis(logs, 1);
    let z = insert_axis(x, 0) - insert_axis(mu, 1);
    let y = insert_axis(diagonals, 1) * z + matmul(z, reshape(matmul(low, place), [25, 10, 10]));
    let inner = insert_axis(alpha + sums, 1) - 0.5 * sum_axis(y * y, 2);
    let data = sum(logsumexp_axis(inner, 0)) - 1000.0 * logsumexp(alpha);
    data + 0.5 * (sum(diagonals * diagonals) + sum(low * low))
}";

/// Places in the transpose of the strict lower triangle of a 10 x 10 matrix, column by column.
fn place() -> Datum<f64> {
    let pairs: Vec<(usize, usize)> =
        (0..10).flat_map(|j| (j + 1..10).map(move |i| (i, j))).collect();
    let mut place = vec![0.0; 45 * 100];
    pairs.iter().enumerate().for_each(|(k, (i, j))| place[k * 100 + j * 10 + i] = 1.0);
    Datum::reals_of(&[45, 100], place).unwrap()
}

/// The workloads by operations on arrays.
fn on_arrays() -> Vec<Workload> {
    let w = |name, n, source, args| Workload { name, n, source, args, data: vec![] };
    let vector = |n: usize, f: &dyn Fn(f64) -> f64| vec![Datum::reals((0..n).map(|k| f(k as f64)))];
    vec![
        w(
            "trace",
            900,
            "fn f(a: array, b: array) { trace(matmul(a, b)) }",
            vec![tensor(&[30, 30], 0.2), tensor(&[30, 30], 0.4)],
        ),
        w(
            "rosenbrock-array",
            1000,
            "fn f(x: array) { let n = len(x) - 1; let a = slice(x, 0, 0, n); let u = slice(x, 0, 1, n) - a * a; let v = 1 - a; sum(100 * u * u + v * v) }",
            vector(1000, &|k| 0.5 + 0.001 * k),
        ),
        w(
            "speelpenning-array",
            1000,
            "fn f(x: array) { prod(x) }",
            vector(1000, &|k| 1.0 + 0.1 * k.cos()),
        ),
        w(
            "logsumexp-array",
            100_000,
            "fn f(x: array) { logsumexp(x) }",
            vector(100_000, &|k| (1.7 * k).sin() * 2.0),
        ),
        Workload {
            name: "mlp",
            n: 337,
            source: MLP,
            args: vec![
                tensor(&[2, 16], 0.1),
                tensor(&[16], 0.2),
                tensor(&[16, 16], 0.3),
                tensor(&[16], 0.4),
                tensor(&[16], 0.5),
                tensor(&[1], 0.6),
            ],
            data: vec![("x", tensor(&[100, 2], 0.3)), ("t", tensor(&[100], 0.7))],
        },
        Workload {
            name: "gmm",
            n: 1650,
            source: GMM,
            args: vec![tensor(&[25], 0.1), tensor(&[25, 10], 0.2), tensor(&[25, 55], 0.3)],
            data: vec![("x", tensor(&[1000, 10], 0.1)), ("place", place())],
        },
        lstm(),
    ]
}

/// The sum of a function of every element, numbers between .05 and .95 that fit the second cache.
fn by_elements() -> Vec<Workload> {
    const N: usize = 20_000;
    let x: Vec<f64> = (0..N).map(|k| 0.05 + 0.9 * (1.7 * k as f64).sin().abs()).collect();
    let w = |(name, source)| Workload {
        name,
        n: N,
        source,
        args: vec![Datum::reals(x.iter().copied())],
        data: vec![],
    };
    [
        ("sum-sqrt", "fn f(x: array) { sum(sqrt(x)) }"),
        ("sum-exp", "fn f(x: array) { sum(exp(x)) }"),
        ("sum-ln", "fn f(x: array) { sum(ln(x)) }"),
        ("sum-ln_1p", "fn f(x: array) { sum(ln_1p(x)) }"),
        ("sum-sin", "fn f(x: array) { sum(sin(x)) }"),
        ("sum-cos", "fn f(x: array) { sum(cos(x)) }"),
        ("sum-tan", "fn f(x: array) { sum(tan(x)) }"),
        ("sum-asin", "fn f(x: array) { sum(asin(x)) }"),
        ("sum-acos", "fn f(x: array) { sum(acos(x)) }"),
        ("sum-atan", "fn f(x: array) { sum(atan(x)) }"),
        ("sum-atan2", "fn f(x: array) { sum(atan2(x, 0.5)) }"),
        ("sum-cbrt", "fn f(x: array) { sum(cbrt(x)) }"),
        ("sum-log2", "fn f(x: array) { sum(log2(x)) }"),
        ("sum-log10", "fn f(x: array) { sum(log10(x)) }"),
        ("sum-sinh", "fn f(x: array) { sum(sinh(x)) }"),
        ("sum-cosh", "fn f(x: array) { sum(cosh(x)) }"),
        ("sum-tanh", "fn f(x: array) { sum(tanh(x)) }"),
        ("sum-asinh", "fn f(x: array) { sum(asinh(x)) }"),
        ("sum-acosh", "fn f(x: array) { sum(acosh(1 + x)) }"),
        ("sum-atanh", "fn f(x: array) { sum(atanh(x)) }"),
        ("sum-hypot", "fn f(x: array) { sum(hypot(x, 0.5)) }"),
        ("sum-pow", "fn f(x: array) { sum(pow(x, 1.5)) }"),
        ("sum-abs", "fn f(x: array) { sum(abs(x)) }"),
        ("sum-max", "fn f(x: array) { sum(max(x, 0.5)) }"),
        ("sum-sigmoid", "fn f(x: array) { sum(1 / (1 + exp(-x))) }"),
    ]
    .map(w)
    .into()
}

/// A million steps, all recorded and in the memory of a thousand states.
const LONG: &str = "
fn step(k: int, s: (real, real), a, b, c, d) {
    let xy = s.0 * s.1;
    (s.0 + 1e-5 * (a * s.0 - b * xy), s.1 + 1e-5 * (d * xy - c * s.1))
}
fn whole(a, b, c, d, x0, y0) {
    let mut s = (x0, y0);
    for k in 0..1000000 { s = step(k, s, a, b, c, d); }
    s.0 + s.1
}";

fn long_loops() {
    let program = parse_program(LONG).unwrap();
    let at = [1.5, 1.0, 3.0, 1.0, 1.0, 1.0].map(Datum::Real);
    let mut whole = Derivatives::<f64>::new(&program, "whole").unwrap();
    let (value, gradient) = whole.value_and_gradient(&at).unwrap();
    let row = |name: &str, (least, median): (f64, f64), memory: usize| {
        println!(
            "{{\"workload\": \"{name}\", \"n\": 1000000, \"peer\": \"ketgrad\", \"seconds_min\": {least:.3e}, \"seconds_median\": {median:.3e}, \"bytes\": {memory}}}"
        );
    };
    let seconds = time(|| drop(black_box(whole.value_and_gradient(black_box(&at)).unwrap())));
    row("long-loop", seconds, whole.memory());

    let [a, b, c, d, x, y] = at;
    let (start, parameters) = (Datum::Tuple(vec![x, y]), [a, b, c, d]);
    let state = 3 * size_of::<Datum<f64>>();
    let mut steps = Steps::<f64>::new(&program, "step").unwrap().with_memory(1000 * state);
    let one = || Datum::Tuple(vec![Datum::Real(1.0), Datum::Real(1.0)]);
    let mut run = || steps.vjp(1_000_000, start.clone(), &parameters, |_| one()).unwrap();
    let found = run();
    let sum: f64 = found.end.fields().iter().filter_map(Datum::real).sum();
    assert!((sum - value).abs() < 1e-9);
    for (a, b) in found.parameters.iter().zip(&gradient) {
        assert!(
            (a.real().unwrap() - b.real().unwrap()).abs() < 1e-9 * (1.0 + b.real().unwrap().abs())
        );
    }
    let seconds = time(|| drop(black_box(run())));
    row("long-loop-budget", seconds, found.memory);
    eprintln!(
        "{} steps together, {} states kept, {} steps repeated",
        found.together, found.snapshots, found.repeated
    );
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if wanted.is_empty() || wanted.iter().any(|w| w.starts_with("long-loop")) {
        long_loops();
    }
    // Machine code is for numbers one by one: operations on arrays have loops of their own.
    let by_numbers = workloads().into_iter().flat_map(|w| [(w.clone(), false), (w, true)]);
    let by_arrays = on_arrays().into_iter().chain(by_elements()).map(|w| (w, false));
    for (workload, jit) in by_numbers.chain(by_arrays) {
        if wanted.is_empty() || wanted.iter().any(|w| w == workload.name) {
            row(&workload, jit);
        }
    }
}

/// Measures a workload by bytecode, or by machine code.
fn row(Workload { name, n, source, args, data }: &Workload, jit: bool) {
    let start = Instant::now();
    let program = parse_program(source).unwrap();
    let entry = entry(&program, &Rules::new()).unwrap();
    let mut d = Derivatives::<f64>::new(&program, entry).unwrap();
    for (name, value) in data {
        d = d.with_constant(name, value.clone()).unwrap();
    }
    if jit {
        d = d.with_jit();
    }
    black_box(d.value_and_gradient(args).unwrap());
    let first = start.elapsed().as_secs_f64();
    let (objective, _) = time(|| drop(black_box(d.value(black_box(args)).unwrap())));
    let reals: Option<Vec<f64>> = args.iter().map(|a| a.real().copied()).collect();
    let mut p = d.prepare().unwrap();
    let (least, median) = match reals {
        Some(x) => {
            let mut g = vec![0.0; x.len()];
            time(|| {
                black_box(p.gradient(black_box(&x), &mut g).unwrap());
            })
        }
        None => {
            let mut g = Vec::new();
            time(|| {
                black_box(p.value_and_gradient(black_box(args), &mut g).unwrap());
            })
        }
    };
    let peer = if jit { "ketgrad-jit" } else { "ketgrad" };
    println!(
        "{{\"workload\": \"{name}\", \"n\": {n}, \"peer\": \"{peer}\", \"seconds_min\": {least:.3e}, \"seconds_median\": {median:.3e}, \"objective_seconds_min\": {objective:.3e}, \"first_seconds\": {first:.3e}}}"
    );
}
