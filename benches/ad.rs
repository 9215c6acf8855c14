//! Gradients of programs: loops beside hand-written ones, the first gradient, a prepared one.
//!
//! ```text
//! cargo bench -p ketgrad-benches --bench ad
//! ```
//! - `arith`, `branchy`, `trig`: 1,000 rounds; the prepared gradient of the program beside one written by hand.
//! - `first`: from text to the first gradient, everything fresh.
//! - `prepared`: `a / (a + b b)` called again.
//!
//! In the end it prints the ratios, measured in turns, since two benches apart may see another machine.
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
use workload::by_hand::{LOOPS, ROUNDS};

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
    group.sample_size(20).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(300));
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

/// The median time of each of two contenders, in turns.
fn turns(mut a: impl FnMut(), mut b: impl FnMut()) -> [f64; 2] {
    const TURNS: usize = 51;
    const CALLS: u32 = 20;
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..TURNS {
        let contenders: [&mut dyn FnMut(); 2] = [&mut a, &mut b];
        for (k, f) in contenders.into_iter().enumerate() {
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

fn ratios(_: &mut Criterion) {
    println!("\n{ROUNDS} rounds   by hand    program    ratio");
    for l in LOOPS {
        let mut tape = [0.0; ROUNDS];
        let (mut p, mut g) = (prepared(l.source, l.name), [0.0; 2]);
        let [hand, program] = turns(
            || {
                black_box((l.by_hand)(black_box(POINT), &mut tape));
            },
            || {
                black_box(p.gradient(&black_box(POINT), &mut g).unwrap());
            },
        );
        println!("{:11} {:7.2} us {:7.2} us   {:5.2}", l.name, hand * 1e6, program * 1e6, program / hand);
    }
    let (mut p, mut g) = (prepared(FRACTION, "fraction"), [0.0; 2]);
    let [fresh, again] = turns(
        || {
            black_box(first(black_box(FRACTION), "fraction"));
        },
        || {
            black_box(p.gradient(&black_box(POINT), &mut g).unwrap());
        },
    );
    println!("a/(a+b*b): first gradient {:.1} us, prepared {:.1} ns", fresh * 1e6, again * 1e9);
}

criterion_group!(benches, gradients, ratios);
criterion_main!(benches);
