//! The suite `gradient`: an energy of an ansatz with all its derivatives.

use std::{error::Error, time::Instant};

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, PreparedGradient},
    kernel::SimdFloat,
    observable::PauliSum,
    simulate::Simulator,
};
use serde_json::Value;

use crate::work::{list, number, terms};

/// A circuit with a parameter for each rotation, an observable, and where to differentiate.
pub(crate) struct Ansatz {
    circuit: Circuit,
    observable: PauliSum,
    at: Vec<f64>,
}

impl Ansatz {
    /// From what the harness says, as `Work::read`.
    pub(crate) fn read(n: usize, said: &Value) -> Result<Ansatz, String> {
        let mut circuit = Circuit::new(n);
        let mut at = Vec::new();
        for gate in list(&said["gates"])? {
            let qubits: Vec<usize> = list(&gate[1])?
                .iter()
                .map(|q| q.as_u64().map_or(usize::MAX, |q| q as usize))
                .collect();
            let added = match (gate[0].as_str().unwrap_or_default(), qubits.as_slice()) {
                ("CNOT", &[a, b]) => circuit.cx(a, b),
                (name @ ("RX" | "RY" | "RZ"), &[q]) => {
                    let angle = circuit.param(&format!("theta{}", at.len()));
                    at.push(number(&gate[2][0])?);
                    match name {
                        "RX" => circuit.rx(q, angle),
                        "RY" => circuit.ry(q, angle),
                        _ => circuit.rz(q, angle),
                    }
                }
                _ => return Err(format!("the harness's gate {gate} is not known in an ansatz")),
            };
            added.map_err(|e| e.to_string())?;
        }
        Ok(Ansatz { circuit, observable: terms(said)?, at })
    }

    /// Prepares the gradient, as an optimizer does before its first step.
    pub(crate) fn prepare<E: SimdFloat>(
        &self,
        simulator: &Simulator,
    ) -> Result<Gradient<E>, Box<dyn Error>> {
        let energy = Expectation::new(self.circuit.clone(), [self.observable.clone()])?;
        let prepared = energy.with_simulator(simulator.clone()).prepare::<E>()?;
        let at: Vec<E> = self.at.iter().map(|x| E::round_from(*x)).collect();
        Ok(Gradient { prepared, out: at.clone(), at })
    }
}

/// A gradient that is wanted often.
pub(crate) struct Gradient<E: SimdFloat> {
    prepared: PreparedGradient<E>,
    at: Vec<E>,
    out: Vec<E>,
}

impl<E: SimdFloat> Gradient<E> {
    /// Seconds of the value with all derivatives, binding included.
    pub(crate) fn once(&mut self) -> Result<f64, Box<dyn Error>> {
        let start = Instant::now();
        self.prepared.value_and_gradient(&self.at, &mut self.out)?;
        Ok(start.elapsed().as_secs_f64())
    }
}
