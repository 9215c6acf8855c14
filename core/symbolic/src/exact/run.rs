//! Circuits over the exact ring: gate by gate within a budget.

use std::sync::Arc;

use num_rational::Ratio;

use super::{Exact, ExactError, ExactNumberError, Formula, MAX_PAIRS, Symbols, terms::I};
use crate::{
    basis::{BasisError, bitstring, odd},
    circuit::{Circuit, Operation},
    observable::{PauliString, PauliSum},
    param::Decimal,
    pauli::PauliMasks,
    scalar::{Conj, Ring},
    simulate::{BoundCircuit, SimulateError, Simulator},
    state::StateVector,
};

/// Limits on the size of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The most terms of all amplitudes together after a gate, usually 2^21; while a gate of the
    /// table runs there are up to four times as many. A term takes 32 bytes.
    pub terms: usize,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { terms: super::MAX_TERMS / 2 }
    }
}

/// The final state of a circuit that starts in |0…0>, its amplitudes in closed form. Measurements
/// at the end are set aside.
#[derive(Clone, Debug)]
pub struct ClosedForm {
    state: StateVector<Exact>,
    symbols: Arc<Symbols>,
}

impl ClosedForm {
    /// Computes the closed form of a circuit, within the usual budget.
    ///
    /// # Errors
    /// Fails when [`ClosedForm::within`] does.
    pub fn from_circuit(circuit: &Circuit) -> Result<ClosedForm, ExactError> {
        ClosedForm::within(circuit, &Simulator::new(), Budget::default())
    }

    /// Computes the closed form of a circuit, with these executors, threads and limits.
    ///
    /// # Errors
    /// [`ExactError::Outside`], [`ExactError::TooManyAngles`] before anything is computed;
    /// [`ExactError::Budget`] and [`ExactError::Number`] after the gate that went too far;
    /// [`ExactError::Simulate`] for a circuit without one final state.
    pub fn within(
        circuit: &Circuit,
        simulator: &Simulator,
        budget: Budget,
    ) -> Result<ClosedForm, ExactError> {
        let circuit = &circuit.folded();
        let failed = |e: SimulateError| ExactError::of_run(circuit, e);
        simulator.check_memory::<Exact>(circuit.n_qubits()).map_err(SimulateError::from)?;
        let symbols = Symbols::new(circuit)?;
        let bound = BoundCircuit::new(circuit, &symbols).map_err(failed)?;
        let operators = bound.operators().ok_or(SimulateError::Dynamic)?;
        let mut state = StateVector::zero(circuit.n_qubits()).map_err(SimulateError::from)?;
        for (k, operator) in operators.iter().enumerate() {
            simulator
                .execute(std::slice::from_ref(operator), &mut state, &mut |_, _| {})
                .map_err(failed)?;
            for amplitude in state.amplitudes_mut() {
                let number = std::mem::replace(amplitude, Exact::from(0));
                *amplitude = symbols.reduced(number);
            }
            check(circuit, &symbols, &state, k, budget)?;
        }
        Ok(ClosedForm { state, symbols: Arc::new(symbols) })
    }

    /// Returns the number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.state.n_qubits()
    }

    /// Returns the amplitudes as numbers of the ring.
    #[must_use]
    pub fn state(&self) -> &StateVector<Exact> {
        &self.state
    }

    /// Returns the symbols that they are numbers over.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Returns the terms of all amplitudes.
    #[must_use]
    pub fn n_terms(&self) -> usize {
        self.state.amplitudes().iter().map(Exact::n_terms).sum()
    }

    /// Returns the basis states whose amplitude is not zero for all angles, in order.
    pub fn support(&self) -> impl Iterator<Item = usize> + '_ {
        let amplitudes = self.state.amplitudes().iter().enumerate();
        amplitudes.filter(|(_, a)| !a.is_exact_zero()).map(|(index, _)| index)
    }

    /// Returns the amplitude of a basis state; qubit 0 is bit 0.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`].
    pub fn amplitude(&self, index: usize) -> Result<Formula, ExactError> {
        let amplitudes = self.state.amplitudes();
        let outside = BasisError::OutOfRange { given: index, available: amplitudes.len() };
        Formula::new(amplitudes.get(index).ok_or(outside)?.clone(), &self.symbols, "the amplitude")
    }

    /// Returns the probability of a basis state.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`]; [`ExactError::Number`] if it has too many terms.
    pub fn probability(&self, index: usize) -> Result<Formula, ExactError> {
        let what = || format!("the probability of {}", bitstring(index, self.n_qubits()));
        let amplitude = self.amplitude(index)?;
        let a = amplitude.number();
        Formula::new(a.conj() * a, &self.symbols, &what())
    }

    /// `<psi|O|psi>`. Coefficients are taken as the decimals that they are written as. For each
    /// term of O, a product of two amplitudes for each basis state.
    ///
    /// # Errors
    /// [`BasisError::OutOfRange`] if it acts on a qubit that the state does not have,
    /// [`ExactError::Coefficient`], [`ExactError::Number`] if it has too many terms, before
    /// anything is computed if that would take long.
    pub fn expectation(&self, observable: &PauliSum) -> Result<Formula, ExactError> {
        const WHAT: &str = "the expectation value";
        if observable.n_qubits() > self.n_qubits() {
            let given = observable.n_qubits() - 1;
            return Err(BasisError::OutOfRange { given, available: self.n_qubits() }.into());
        }
        let pairs = observable.terms().iter().map(|(_, string)| self.pairs(string));
        let mut total = Formula::new(Exact::from(0), &self.symbols, "zero")?;
        if pairs.fold(0, usize::saturating_add) > MAX_PAIRS {
            return Err(total.failed(WHAT, ExactNumberError::Pairs));
        }
        for (coefficient, string) in observable.terms() {
            let exact = Decimal::new(*coefficient).and_then(|d| d.fraction());
            let factor = exact.ok_or(ExactError::Coefficient { coefficient: *coefficient })?;
            let value = Formula::new(self.pauli(string), &self.symbols, WHAT)?;
            total = total.plus(&value.scaled(factor)?)?;
        }
        Ok(total)
    }

    /// Returns the pairs of terms that the products of a string's expectation value form.
    fn pairs(&self, string: &PauliString) -> usize {
        let (a, x) = (self.state.amplitudes(), string.x_mask());
        let products = (0..a.len()).filter(|i| *i <= *i ^ x);
        let pairs = products.map(|i| a[i].n_terms().saturating_mul(a[i ^ x].n_terms()));
        pairs.fold(0, usize::saturating_add)
    }

    /// Computes `sum_i conj(a_{i ^ x}) i^{#Y} (-1)^{|i & z|} a_i`; where bits are flipped, i and i
    /// ^ x give complex conjugates.
    fn pauli(&self, string: &PauliString) -> Exact {
        let string @ PauliMasks { x, z } = string.masks();
        let a = self.state.amplitudes();
        let mut phase = Exact::from(1);
        for _ in 0..string.y_phase().exponent() {
            phase *= Exact::monomial(I);
        }
        let mut sum = Exact::from(0);
        for (i, amplitude) in a.iter().enumerate().filter(|(i, _)| *i <= *i ^ x) {
            let product = a[i ^ x].conj() * amplitude;
            if odd(i & z) { sum -= product } else { sum += product }
        }
        sum *= phase;
        if x == 0 { sum } else { sum.conj() + sum }
    }
}

/// Stops a run that went too far.
fn check(
    circuit: &Circuit,
    symbols: &Symbols,
    state: &StateVector<Exact>,
    k: usize,
    budget: Budget,
) -> Result<(), ExactError> {
    let (mut terms, mut fault) = (0usize, None);
    for amplitude in state.amplitudes() {
        terms += amplitude.n_terms();
        fault = fault.or(amplitude.fault());
    }
    let angles = symbols.fields().len();
    let number = k + 1;
    match fault {
        Some(fault) => {
            let what = format!("an amplitude after gate {number}, {},", gate_text(circuit, k));
            Err(ExactError::Number { what, fault, angles })
        }
        None if terms > budget.terms => {
            let gate = gate_text(circuit, k);
            Err(ExactError::Budget { number, gate, terms, angles, limit: budget.terms })
        }
        None => Ok(()),
    }
}

/// Gate number k for people, such as `rx(theta) on qubit 3`.
fn gate_text(circuit: &Circuit, k: usize) -> String {
    let gates = circuit.instructions().iter().filter(|i| i.operation.is_gate());
    let Some(instruction) = gates.into_iter().nth(k) else { return "a gate".to_owned() };
    let name = match &instruction.operation {
        Operation::Gate(gate) => {
            let angles: Vec<String> = gate.params().iter().map(|a| circuit.angle_text(a)).collect();
            let list =
                if angles.is_empty() { String::new() } else { format!("({})", angles.join(", ")) };
            format!("{}{list}", gate.kind().name())
        }
        Operation::PauliRotation(rotation) => {
            format!("pauli_rotation({})", circuit.angle_text(rotation.angle()))
        }
        _ => "a matrix".to_owned(),
    };
    let qubits: Vec<String> = instruction.qubits().map(|q| q.to_string()).collect();
    let plural = if qubits.len() == 1 { "" } else { "s" };
    format!("{name} on qubit{plural} {}", qubits.join(", "))
}

/// Exact fractions of formulas.
pub(super) type FormulaRatio = Ratio<i128>;
