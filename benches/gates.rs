//! Gates on states of 4 to 24 qubits, in bytes per second beside the memory's own speed.
//!
//! `scale-in-place` reads and writes every amplitude once: no kernel that touches all of them is
//! faster on a long vector. Bytes count what a gate must read and write: all amplitudes for X, H
//! and RX, half of them for T and CNOT, a quarter for Toffoli. One thread.
//!
//! ```text
//! cargo bench -p ketgrad-benches -- 'f64/H'
//! ```

use std::{hint::black_box, time::Duration};

use criterion::{
    BenchmarkGroup, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main,
    measurement::WallTime,
};
use ketgrad_core::{kernel::Threads, scalar::Real, state::StateVector};
use num_complex::Complex;
use num_dual::Dual64;
use workload::{GATES, sweep, touched};

const SIZES: [usize; 5] = [4, 10, 16, 20, 24];

/// The bytes that one run over the targets reads and writes.
fn bytes<R>(n: usize, share: f64, gates: usize) -> Throughput {
    Throughput::Bytes((2.0 * share * (size_of::<R>() << n) as f64) as u64 * gates as u64)
}

fn group<'a>(c: &'a mut Criterion, name: &str, n: usize) -> BenchmarkGroup<'a, WallTime> {
    let mut group = c.benchmark_group(name);
    let short = if n >= 24 { 1500 } else { 400 };
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(short));
    group
}

fn gates<T: Real>(c: &mut Criterion, ring: &str, names: &[&str], sizes: &[usize]) {
    for &n in sizes {
        let Ok(mut state) = StateVector::<Complex<T>>::zero(n) else { continue };
        for gate in names {
            let Some(operators) = sweep::<T>(gate, n) else { continue };
            let mut group = group(c, &format!("{ring}/{gate}"), n);
            group.throughput(bytes::<Complex<T>>(n, touched(gate), operators.len()));
            group.bench_function(BenchmarkId::from_parameter(n), |b| {
                b.iter(|| {
                    for operator in &operators {
                        operator.apply(black_box(state.amplitudes_mut()), &Threads::serial());
                    }
                });
            });
        }
    }
}

fn floor<T: Real>(c: &mut Criterion, ring: &str, sizes: &[usize]) {
    for &n in sizes {
        let Ok(mut state) = StateVector::<Complex<T>>::zero(n) else { continue };
        let factor = T::lit(-1.0);
        let mut group = group(c, &format!("{ring}/scale-in-place"), n);
        group.throughput(bytes::<Complex<T>>(n, 1.0, 1));
        group.bench_function(BenchmarkId::from_parameter(n), |b| {
            b.iter(|| {
                for a in black_box(state.amplitudes_mut()) {
                    a.re *= factor.clone();
                    a.im *= factor.clone();
                }
            });
        });
    }
}

fn all(c: &mut Criterion) {
    floor::<f64>(c, "f64", &SIZES);
    gates::<f64>(c, "f64", &GATES, &SIZES);
    floor::<f32>(c, "f32", &[16, 24]);
    gates::<f32>(c, "f32", &["H", "T", "CNOT"], &[16, 24]);
    gates::<Dual64>(c, "dual64", &["H", "T", "CNOT"], &[10, 16]);
}

criterion_group!(benches, all);
criterion_main!(benches);
