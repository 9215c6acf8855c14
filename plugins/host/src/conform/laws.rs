//! Laws that hold for states of any size, through the core, with no memory for a state in the host.

use std::{f64::consts::TAU, sync::Arc};

use ketgrad_core::{
    circuit::{Circuit, CircuitError},
    hybrid::{Expectation, HybridError},
    kernel::{ExecuteError, Executors, SimdFloat, Threads},
    observable::{Pauli, PauliString, PauliSum},
    simulate::{SimulateError, Simulator, StateHandle},
};
use num_complex::Complex;

use super::compare::{largest, ours};
use crate::device::Device;

const SHOTS: usize = 200;

/// Returns a simulator that uses the device alone.
fn simulator<E: SimdFloat>(device: &Device) -> Simulator {
    let mut executors = Executors::new();
    executors.insert::<Complex<E>>(Arc::new(Device::new(device.backend().clone(), true)));
    Simulator::new().with_executors(executors).with_memory_limit(0)
}

fn run<E: SimdFloat>(device: &Device, circuit: &Circuit) -> Result<StateHandle<E>, ExecuteError> {
    simulator::<E>(device).run_to_handle(circuit, &[]).map_err(from_simulator)
}

fn from_simulator(error: SimulateError) -> ExecuteError {
    match error {
        SimulateError::Execute(error) => error,
        other => ours(other),
    }
}

fn from_hybrid(error: HybridError) -> ExecuteError {
    match error {
        HybridError::Simulate(error) => from_simulator(error),
        other => ours(other),
    }
}

fn sum(terms: &[(f64, &[(usize, Pauli)])]) -> Result<PauliSum, ExecuteError> {
    let mut sum = PauliSum::default();
    for (coefficient, factors) in terms {
        sum.push(*coefficient, factors.iter().copied()).map_err(ours)?;
    }
    Ok(sum)
}

/// Returns the angle of a qubit.
fn angle(q: usize) -> f64 {
    TAU * ((q as f64 + 1.0) * 0.618_033_988_749_895).fract()
}

/// `(|0…0> + |1…1>)/sqrt 2`: `Z_i Z_j` and `X…X` are 1, `Z_i` is 0, and only two outcomes occur.
pub(super) fn ghz<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let build = || -> Result<Circuit, CircuitError> {
        let mut c = Circuit::new(n);
        c.h(0)?;
        // From the last to the first, so that controls are above and below their targets.
        c.cx(0, n - 1)?;
        for q in (1..n - 1).rev() {
            c.cx(q + 1, q)?;
        }
        Ok(c)
    };
    let state = run::<E>(device, &build().map_err(ours)?)?;
    let value = |observable: &PauliSum| -> Result<f64, ExecuteError> {
        Ok(state.expectation(observable, &Threads::serial()).map_err(from_simulator)?.into())
    };
    let xs = PauliString::new((0..n).map(|q| (q, Pauli::X))).map_err(ours)?;
    let (low, high) = ((0, Pauli::Z), (n - 1, Pauli::Z));
    let mut errors = vec![
        value(&sum(&[(1.0, &[low, high])])?)? - 1.0,
        value(&PauliSum::from(xs))? - 1.0,
        value(&sum(&[(1.0, &[low]), (1.0, &[high])])?)?,
    ];
    let counts = state.sample_counts(SHOTS, 1, &Threads::serial()).map_err(from_simulator)?;
    let ones: u64 = counts.iter().filter(|c| c.0 + 1 == 1 << n).map(|c| c.1).sum();
    let zeros: u64 = counts.iter().filter(|c| c.0 == 0).map(|c| c.1).sum();
    let fair = ones + zeros == SHOTS as u64 && ones.min(zeros) > SHOTS as u64 / 4;
    errors.push(if fair { 0.0 } else { 1.0 });
    Ok(largest(errors.into_iter().map(f64::abs)))
}

/// `RY(t_q)` and a phase on each qubit: `<Z_q> = cos t_q`, and of `sum_q Z_q / n` the derivative by
/// `t_q` is `-sin(t_q) / n`.
pub(super) fn product<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let build = || -> Result<Circuit, CircuitError> {
        let mut c = Circuit::new(n);
        for q in 0..n {
            let t = c.param(&format!("t{q}"));
            c.ry(q, t)?;
        }
        for q in 0..n - 1 {
            c.rzz(q, q + 1, 0.3)?;
        }
        Ok(c)
    };
    let mut of_all = PauliSum::default();
    for q in 0..n {
        of_all.push(1.0 / n as f64, [(q, Pauli::Z)]).map_err(ours)?;
    }
    let highest = sum(&[(1.0, &[(n - 1, Pauli::Z)])])?;
    let of = Expectation::new(build().map_err(ours)?, [of_all, highest]).map_err(from_hybrid)?;
    let of = of.with_simulator(simulator::<E>(device));
    let at: Vec<E> = (0..n).map(|q| E::round_from(angle(q))).collect();
    let (values, gradient) =
        of.vjp(&at, &[E::round_from(1.0), E::round_from(0.0)]).map_err(from_hybrid)?;
    let mean = (0..n).map(|q| angle(q).cos()).sum::<f64>() / n as f64;
    let mut errors: Vec<f64> = gradient
        .into_iter()
        .enumerate()
        .map(|(q, slope)| Into::<f64>::into(slope) + angle(q).sin() / n as f64)
        .collect();
    errors.push(Into::<f64>::into(values[0]) - mean);
    errors.push(Into::<f64>::into(values[1]) - angle(n - 1).cos());
    Ok(largest(errors.into_iter().map(f64::abs)))
}

/// Gates of every kind, and then their inverses: every shot gives all zeros, every qubit is in |0>.
pub(super) fn inverse<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let build = || -> Result<Circuit, CircuitError> {
        let mut c = Circuit::new(n);
        for q in 0..n {
            c.h(q)?;
            c.rx(q, angle(q))?;
        }
        for q in 0..n {
            let (a, b) = (q, (q + n / 2) % n);
            c.cx(a, b)?;
            c.cp(b, (a + 1) % n, angle(q) / 3.0)?;
            c.t(a)?;
        }
        c.swap(0, n - 1)?;
        c.ccx(1, n - 1, 0)?;
        c.iswap(2, n - 2)?;
        let back = c.dagger()?;
        c.append(&back, &(0..n).collect::<Vec<_>>())?;
        Ok(c)
    };
    let state = run::<E>(device, &build().map_err(ours)?)?;
    let counts = state.sample_counts(SHOTS, 3, &Threads::serial()).map_err(from_simulator)?;
    let elsewhere = if counts.iter().all(|c| c.0 == 0) { 0.0 } else { 1.0 };
    let one = |q: usize| -> Result<f64, ExecuteError> {
        let z = sum(&[(1.0, &[(q, Pauli::Z)])])?;
        let value: f64 = state.expectation(&z, &Threads::serial()).map_err(from_simulator)?.into();
        Ok((value - 1.0).abs())
    };
    let errors = [one(0)?, one(n / 2)?, one(n - 1)?, elsewhere];
    Ok(largest(errors.into_iter()))
}
