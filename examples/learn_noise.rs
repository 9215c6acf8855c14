//! Noise of a device, learned from its counts: circuits of growing depth are measured on a
//! device whose parameters are unknown, and the strengths of a noise model are fitted to what they
//! show. The model's values and their derivatives by the strengths come from density matrices, by
//! the adjoint method.
//!
//! ```text
//! cargo run -p ketgrad-examples --example learn_noise
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Circuit, Simulator,
    channel::{Channel, ChannelKind},
    circuit::{After, CircuitError, NoiseModel},
    hybrid::Expectation,
    observable::PauliSum,
};

/// The strengths of the device: of depolarizing after each CX, and of amplitude damping after each
/// gate.
const DEVICE: [f64; 2] = [0.015, 0.004];
const SHOTS: usize = 20_000;

fn model() -> Result<NoiseModel, CircuitError> {
    let mut model = NoiseModel::new();
    let (p, gamma) = (model.param("p"), model.param("gamma"));
    model.add(After::Gates(2), Channel::new(ChannelKind::TwoQubitDepolarizing, [p])?);
    model.add(After::AllGates, Channel::new(ChannelKind::AmplitudeDamping, [gamma])?);
    Ok(model)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Without noise each circuit gives 111, or by way of a superposition that is undone.
    let mut circuits = Vec::new();
    for depth in [2, 4, 8, 12] {
        circuits.push(Circuit::build(3, |c| {
            (0..depth).try_fold(c.x(0..3)?, |c, _| c.cx(0, 1)?.cx(1, 2)?.cx(1, 2)?.cx(0, 1))
        })?);
        circuits.push(Circuit::build(3, |c| {
            (0..depth)
                .try_fold(c.h(0..3)?, |c, _| c.cx(0, 1)?.cx(1, 2)?.cx(1, 2)?.cx(0, 1))?
                .h(0..3)
        })?);
    }
    let observables = ["Z0", "Z1", "Z2"].map(|text| text.parse::<PauliSum>());
    let observables = observables.into_iter().collect::<Result<Vec<_>, _>>()?;

    // What the device shows: the mean of each Z over its shots.
    let mut data = Vec::new();
    for (seed, circuit) in circuits.iter().enumerate() {
        let mut measured = model()?.apply(circuit)?;
        measured.measure_all()?;
        let counts = Simulator::new().run_shots(&measured, &DEVICE, SHOTS, seed as u64)?;
        for q in 0..3 {
            let sign = |bits: &str| if bits.as_bytes()[2 - q] == b'1' { -1.0 } else { 1.0 };
            data.push(
                counts.iter().map(|(bits, n)| sign(bits) * *n as f64).sum::<f64>() / SHOTS as f64,
            );
        }
    }

    // Gauss-Newton steps from a guess: J^T J d = J^T r for two strengths.
    let energies = circuits
        .iter()
        .map(|circuit| Ok(Expectation::new(model()?.apply(circuit)?, observables.clone())?))
        .collect::<Result<Vec<_>, Box<dyn std::error::Error>>>()?;
    let mut at = [0.05, 0.05];
    println!("step        p    gamma  misfit");
    for step in 0..6 {
        let (mut residuals, mut jacobian) = (Vec::new(), Vec::new());
        for energy in &energies {
            residuals.extend(energy.values(&at)?);
            for k in 0..3 {
                let one: Vec<f64> = (0..3).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
                jacobian.push(energy.vjp(&at, &one)?.1);
            }
        }
        residuals.iter_mut().zip(&data).for_each(|(value, shown)| *value = shown - *value);
        let misfit = (residuals.iter().map(|r| r * r).sum::<f64>() / residuals.len() as f64).sqrt();
        println!("{step:4}  {:.5}  {:.5}  {misfit:.5}", at[0], at[1]);
        let entry = |i: usize, j: usize| jacobian.iter().map(|row| row[i] * row[j]).sum::<f64>();
        let right =
            |i: usize| jacobian.iter().zip(&residuals).map(|(row, r)| row[i] * r).sum::<f64>();
        let determinant = entry(0, 0) * entry(1, 1) - entry(0, 1).powi(2);
        let by = [
            (right(0) * entry(1, 1) - right(1) * entry(0, 1)) / determinant,
            (right(1) * entry(0, 0) - right(0) * entry(0, 1)) / determinant,
        ];
        // Strengths are probabilities.
        (0..2).for_each(|k| at[k] = (at[k] + by[k]).clamp(0.0, 0.5));
    }
    println!("the device has {} and {}", DEVICE[0], DEVICE[1]);
    Ok(())
}
