//! Many states of one size: each alone, and side by side as a matrix of states.
//!
//! ```text
//! cargo bench -p ketgrad-benches --bench batches
//! ```
//! Both apply the same layers of RY, RZ and CX to 64 states. Side by side, below 8 qubits, every
//! run of amplitudes is at least 64 long, whatever the target.
#![allow(clippy::unwrap_used, missing_docs, reason = "a bench stops at the first surprise")]

use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use ketgrad_core::{
    circuit::Circuit,
    kernel::Threads,
    param::Values,
    simulate::{BoundCircuit, Simulator},
    state::{StateBatch, StateVector},
};
use num_complex::Complex;

const STATES: u64 = 64;

fn layers(n: usize) -> Circuit {
    let mut c = Circuit::new(n);
    for k in 0..4 {
        for q in 0..n {
            c.ry(q, 0.1 * (k + q) as f64).unwrap().rz(q, 0.7).unwrap();
        }
        for q in 0..n {
            c.cx(q, (q + 1) % n).unwrap();
        }
    }
    c
}

fn batches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("64 states");
    group
        .sample_size(10)
        .measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(200));
    let (simulator, threads) = (Simulator::new(), Threads::serial());
    for n in [3, 4, 6, 8, 10, 12] {
        let bound = BoundCircuit::<Complex<f64>>::new(&layers(n), &Values::<f64>(&[])).unwrap();
        let operators = bound.operators().unwrap();
        let states: Vec<_> =
            (0..STATES).map(|k| StateVector::random(n, k, &threads).unwrap()).collect();
        group.bench_function(BenchmarkId::new("alone", n), |b| {
            b.iter_batched_ref(
                || states.clone(),
                |states| {
                    for state in states {
                        simulator.execute(operators, state, &mut |_, _| {}).unwrap();
                    }
                },
                BatchSize::LargeInput,
            );
        });
        let batch = StateBatch::new(&states).unwrap();
        group.bench_function(BenchmarkId::new("side by side", n), |b| {
            b.iter_batched_ref(
                || batch.clone(),
                |batch| batch.apply(operators, &simulator.executors, &threads).unwrap(),
                BatchSize::LargeInput,
            );
        });
    }
}

criterion_group!(benches, batches);
criterion_main!(benches);
