//! Gradients of programs: loops beside hand-written ones, the first gradient, a prepared one.
//!
//! ```text
//! cargo bench -p ketgrad-benches --bench ad
//! ```
//! - `arith`, `branchy`, `trig`: 1,000 rounds; the gradient written by hand, emitted as Rust, and
//!   prepared.
//! - `trace`: the same of the trace of a product of two 30 x 30 matrices.
//! - `tree`: a function that calls itself, some 20,000 calls.
//! - `first`: from text to the first gradient, everything fresh.
//! - `prepared`: `a / (a + b b)` called again.
//!
//! In the end it prints the ratios, measured in turns, since two benches apart may see another
//! machine.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench stops at the first surprise")]
#![allow(clippy::print_stdout, reason = "the table is what it is for")]

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use ketgrad_core::{
    exec::{Datum, Derivatives, Prepared},
    text::parse_program,
};
use workload::{
    by_hand::{DEPTH, LOOPS, ROUNDS, ROWS, TRACE, TREE, TREE_CALLS, trace, tree},
    emitted,
};

const POINT: [f64; 2] = [0.7, 0.9];
const FRACTION: &str = "fn fraction(a, b) { a / (a + b * b) }";

fn prepared(source: &str, name: &str) -> Prepared<'static, f64> {
    let program = parse_program(source).unwrap();
    Derivatives::<f64>::new(&program, name).unwrap().prepare().unwrap()
}

fn first(source: &str, name: &str) -> f64 {
    let program = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&program, name).unwrap();
    d.value_and_gradient(&POINT.map(Datum::Real)).unwrap().0
}

fn gradients(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("gradient");
    group
        .sample_size(20)
        .measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300));
    for l in LOOPS {
        let mut tape = [0.0; ROUNDS];
        group.bench_function(BenchmarkId::new(l.name, "by hand"), |b| {
            b.iter(|| (l.by_hand)(black_box(POINT), &mut tape));
        });
        let (mut p, mut g) = (prepared(l.source, l.name), [0.0; 2]);
        group.bench_function(BenchmarkId::new(l.name, "program"), |b| {
            b.iter(|| p.gradient(&black_box(POINT), &mut g).unwrap());
        });
        let (y, by_hand) = (l.by_hand)(POINT, &mut tape);
        assert!((p.gradient(&POINT, &mut g).unwrap() - y).abs() < 1e-12);
        assert!(g.iter().zip(by_hand).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs())));
    }
    group.bench_function("first/fraction", |b| b.iter(|| first(black_box(FRACTION), "fraction")));
    group.bench_function("first/arith", |b| b.iter(|| first(black_box(LOOPS[0].source), "arith")));
    let (mut p, mut g) = (prepared(FRACTION, "fraction"), [0.0; 2]);
    group.bench_function("prepared/fraction", |b| {
        b.iter(|| p.gradient(&black_box(POINT), &mut g).unwrap());
    });
    group.finish();
}

/// The median time of each of the contenders, in turns.
fn turns<const N: usize>(mut contenders: [&mut dyn FnMut(); N]) -> [f64; N] {
    const TURNS: usize = 51;
    const CALLS: u32 = 20;
    let mut times = [const { Vec::new() }; N];
    for _ in 0..TURNS {
        for (k, f) in contenders.iter_mut().enumerate() {
            let start = Instant::now();
            (0..CALLS).for_each(|_| f());
            times[k].push(start.elapsed().as_secs_f64() / f64::from(CALLS));
        }
    }
    times.map(|mut t: Vec<f64>| {
        t.sort_by(f64::total_cmp);
        t[TURNS / 2]
    })
}

fn row(name: &str, [hand, emitted, program]: [f64; 3]) {
    let (us, ratio) = (1e6, |t: f64| t / hand);
    println!(
        "{name:11} {:7.2} us {:7.2} us {:5.2} {:7.2} us {:5.2}",
        hand * us,
        emitted * us,
        ratio(emitted),
        program * us,
        ratio(program)
    );
}

fn recursion() {
    let (program, at) = (parse_program(TREE).unwrap(), [Datum::Real(0.7), Datum::Int(DEPTH)]);
    let mut bytecode = Derivatives::<f64>::new(&program, "tree").unwrap();
    let mut jit = Derivatives::<f64>::new(&program, "tree").unwrap().with_jit();
    let (value, gradient) = jit.value_and_gradient(&at).unwrap();
    let [y, slope] = tree(0.7, DEPTH);
    assert!(
        value == y
            && matches!(gradient[0], Datum::Real(x) if (x - slope).abs() < 1e-12 * slope.abs())
    );
    let times = turns([
        &mut || {
            black_box(tree(black_box(0.7), black_box(DEPTH)));
        },
        &mut || {
            black_box(bytecode.value_and_gradient(black_box(&at)).unwrap());
        },
        &mut || {
            black_box(jit.value_and_gradient(black_box(&at)).unwrap());
        },
    ]);
    let [hand, bytecode, jit] = times.map(|t| t / TREE_CALLS as f64 * 1e9);
    println!(
        "tree, ns a call: by hand {hand:.2}, bytecode {bytecode:.1} ({:.1}), machine code {jit:.2} ({:.2})",
        bytecode / hand,
        jit / hand
    );
}

fn ratios(_: &mut Criterion) {
    println!("\n{ROUNDS} rounds    by hand    emitted ratio    program ratio");
    let rust = [emitted::arith_gradient, emitted::branchy_gradient, emitted::trig_gradient];
    for (l, rust) in LOOPS.iter().zip(rust) {
        let mut tape = [0.0; ROUNDS];
        let (mut p, mut g) = (prepared(l.source, l.name), [0.0; 2]);
        row(
            l.name,
            turns([
                &mut || {
                    black_box((l.by_hand)(black_box(POINT), &mut tape));
                },
                &mut || {
                    black_box(rust(black_box(POINT[0]), black_box(POINT[1])));
                },
                &mut || {
                    black_box(p.gradient(&black_box(POINT), &mut g).unwrap());
                },
            ]),
        );
    }
    let entry = |k: usize| (k as f64 * 0.37).sin();
    let (a, b): (Vec<f64>, Vec<f64>) =
        (0..ROWS * ROWS).map(|k| (entry(k), entry(k + 1000))).unzip();
    let at = [Datum::reals(a.clone()), Datum::reals(b.clone()), Datum::Int(ROWS as i64)];
    let program = parse_program(TRACE).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "trace").unwrap();
    row(
        "trace",
        turns([
            &mut || {
                black_box(trace(black_box(&a), black_box(&b), black_box(ROWS)));
            },
            &mut || {
                black_box(emitted::trace_gradient(
                    black_box(&a),
                    black_box(&b),
                    black_box(ROWS as i64),
                ));
            },
            &mut || {
                black_box(d.value_and_gradient(black_box(&at)).unwrap());
            },
        ]),
    );
    assert_eq!(emitted::trace_gradient(&a, &b, ROWS as i64), trace(&a, &b, ROWS));
    recursion();
    let (mut p, mut g) = (prepared(FRACTION, "fraction"), [0.0; 2]);
    let [fresh, again] = turns([
        &mut || {
            black_box(first(black_box(FRACTION), "fraction"));
        },
        &mut || {
            black_box(p.gradient(&black_box(POINT), &mut g).unwrap());
        },
    ]);
    println!("a/(a+b*b): first gradient {:.1} us, prepared {:.1} ns", fresh * 1e6, again * 1e9);
}

criterion_group!(benches, gradients, ratios);
criterion_main!(benches);
