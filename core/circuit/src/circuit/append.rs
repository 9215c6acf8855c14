//! Appending to a circuit: every instruction is checked before it is added.

use std::{ops::Range, sync::Arc};

use num_complex::Complex;
use smallvec::SmallVec;

use super::{
    Circuit, CircuitError, Condition, Control, Instruction, IntoCondition, Operand, Operation,
    UNITARY_TOLERANCE, display::operation_name,
};
use crate::{channel::Channel, gate::Gate, matrix::Matrix, param::Angle};

impl Circuit {
    /// Appends an instruction after checking its qubits.
    ///
    /// # Errors
    /// [`CircuitError`] if the number of targets does not fit, a qubit or bit does not exist or is
    /// used twice, or a parameter is not of this circuit.
    pub fn push(&mut self, instruction: Instruction) -> Result<&mut Circuit, CircuitError> {
        self.check(&instruction)?;
        self.instructions.push(instruction);
        Ok(self)
    }

    /// Applies a gate, with controls.
    ///
    /// # Errors
    /// Those of [`Circuit::push`].
    pub fn gate(
        &mut self,
        gate: Gate,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Gate(gate), targets, controls)
    }

    /// Applies a unitary matrix to any qubits; `targets[0]` is the least significant.
    ///
    /// # Errors
    /// Those of [`Circuit::push`], and if the matrix is not unitary to [`UNITARY_TOLERANCE`].
    pub fn unitary(
        &mut self,
        matrix: Matrix<Complex<f64>>,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        matrix.check_unitary(UNITARY_TOLERANCE)?;
        self.operation(Operation::Unitary(Arc::new(matrix)), targets, controls)
    }

    /// Applies a channel; `targets[0]` is the least significant. Named ones have methods, too:
    /// `circuit.depolarizing(0, 0.01)`.
    ///
    /// # Errors
    /// Those of [`Circuit::push`].
    pub fn channel(
        &mut self,
        channel: Channel,
        targets: &[usize],
    ) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Channel(channel), targets, &[])
    }

    /// X on `target` where every one of `controls` is 1.
    ///
    /// # Errors
    /// Those of [`Circuit::push`].
    pub fn mcx(&mut self, controls: &[usize], target: usize) -> Result<&mut Circuit, CircuitError> {
        let controls: Vec<_> = controls.iter().map(|&q| (q, true)).collect();
        self.gate(Gate::new(crate::gate::GateKind::X, [])?, &[target], &controls)
    }

    /// Measures a qubit into a classical bit, counted over all registers; or the qubits of a list
    /// into the bits of another one.
    ///
    /// # Errors
    /// Those of [`Circuit::push`], and if the number of bits is not that of the qubits. Nothing is
    /// appended then.
    pub fn measure(
        &mut self,
        qubits: impl Operand,
        bits: impl Operand,
    ) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        let bits = bits.numbers(self.n_bits()).map_err(|bit| self.no_such_bit(bit))?.into_vec();
        if qubits.len() != bits.len() {
            return Err(CircuitError::Lengths { given: vec![qubits.len(), bits.len()] });
        }
        self.all_or_nothing(|circuit| {
            for (&qubit, &bit) in qubits.iter().zip(&bits) {
                let bit = u32::try_from(bit).map_err(|_| circuit.no_such_bit(bit))?;
                circuit.operation(Operation::Measure { bit }, &[qubit], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Measures every qubit into a new register called `meas`.
    ///
    /// # Errors
    /// If the circuit has a register of this name.
    pub fn measure_all(&mut self) -> Result<&mut Circuit, CircuitError> {
        let first = self.n_bits();
        self.add_register("meas", self.n_qubits)?;
        for qubit in 0..self.n_qubits {
            self.measure(qubit, first + qubit)?;
        }
        Ok(self)
    }

    /// Resets a qubit, or each of a list, to |0>, whatever its state is.
    ///
    /// # Errors
    /// Those of [`Circuit::push`]. Nothing is appended then.
    pub fn reset(&mut self, qubits: impl Operand) -> Result<&mut Circuit, CircuitError> {
        let qubits = self.qubits(qubits)?;
        self.all_or_nothing(|circuit| {
            for qubit in qubits {
                circuit.operation(Operation::Reset, &[qubit], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Assigns a value to a classical bit.
    ///
    /// # Errors
    /// Those of [`Circuit::push`].
    pub fn assign(&mut self, bit: usize, value: bool) -> Result<&mut Circuit, CircuitError> {
        let bit = u32::try_from(bit).map_err(|_| self.no_such_bit(bit))?;
        self.operation(Operation::Assign { bit, value }, &[], &[])
    }

    /// Appends the instructions of `body`, each under a condition on classical bits. The condition
    /// is tested at each of them: an instruction after a change of its bits within the block sees
    /// the new values. A block in it, but for a loop of [`Circuit::while_loop`], becomes the body
    /// of an `if`, which tests the condition once.
    ///
    /// ```
    /// use ketgrad_core::circuit::{Circuit, Condition};
    /// let mut c = Circuit::new(2);
    /// c.add_register("m", 1)?.h(0)?.measure(0, 0)?;
    /// c.when(Condition::Bit { bit: 0, value: true }, |c| c.x(1))?;
    /// assert!(c.to_string().ends_with("if (c[0] == 1) x q[1]\n"));
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`, or if a bit does not exist. Nothing is appended then.
    pub fn when(
        &mut self,
        condition: impl IntoCondition,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let condition = condition.into_condition()?;
        self.check_condition(&condition)?;
        let first = self.instructions.len();
        self.all_or_nothing(body)?;
        let condition = Arc::new(condition);
        let mut at = first;
        while let Some(instruction) = self.instructions.get(at) {
            let length = 1 + instruction.operation.body().unwrap_or(0) as usize;
            let end = at.saturating_add(length).min(self.instructions.len());
            at = match self.instructions[at..end].iter().all(can_have_condition) {
                true => {
                    self.instructions[at..end].iter_mut().for_each(|i| i.restrict(&condition));
                    end
                }
                // With the `else` that follows it.
                false => {
                    let mut end = end;
                    while let Some(Operation::Else { body }) =
                        self.instructions.get(end).map(|next| &next.operation)
                    {
                        end = (end + 1).saturating_add(*body as usize).min(self.instructions.len());
                    }
                    self.wrap_in_if(at..end, &condition);
                    end + 1
                }
            };
        }
        Ok(self)
    }

    /// Makes some instructions the body of an `if`.
    fn wrap_in_if(&mut self, range: Range<usize>, condition: &Arc<Condition>) {
        let body = u32::try_from(range.len()).unwrap_or(u32::MAX);
        let head = Instruction {
            operation: Operation::If { body },
            targets: SmallVec::new(),
            controls: SmallVec::new(),
            condition: Some(Arc::clone(condition)),
        };
        self.instructions.insert(range.start, head);
        self.calls.insert_before(range.start);
    }

    /// Appends the instructions of `body`, each gate under further controls: all of `controls` must
    /// have `value`.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let mut c = Circuit::new(4);
    /// c.under(0..2, true, |c| c.under(2, false, |c| c.x(3)))?;
    /// assert_eq!(c.to_string(), "c3-x q[0], q[1], !q[2], q[3]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`CircuitError::NotUnitary`] if it measures, resets, assigns or is
    /// noise; [`CircuitError`] if it acts on one of the controls. Nothing is appended then.
    pub fn under(
        &mut self,
        controls: impl Operand,
        value: bool,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let mut new: SmallVec<[Control; 2]> = SmallVec::new();
        for given in self.qubits(controls)? {
            let missing = CircuitError::NoSuchQubit { given, n_qubits: self.n_qubits };
            new.push(Control { qubit: u32::try_from(given).map_err(|_| missing)?, value });
        }
        self.edit_tail("control", body, |circuit, first| {
            for i in first..circuit.instructions.len() {
                if !circuit.instructions[i].operation.does_nothing() {
                    circuit.instructions[i].controls.insert_from_slice(0, &new);
                    circuit.check(&circuit.instructions[i])?;
                }
            }
            Ok(circuit)
        })
    }

    /// Appends the inverse of the instructions of `body`: inverse gates in reverse order.
    ///
    /// ```
    /// use ketgrad_core::circuit::Circuit;
    /// let mut c = Circuit::new(2);
    /// c.undo(|c| c.h(0)?.s(0)?.cx(0, 1))?;
    /// assert_eq!(c.to_string(), "cx q[0], q[1]\nsdg q[0]\nh q[0]\n");
    /// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
    /// ```
    ///
    /// # Errors
    /// The error of `body`; [`CircuitError::NotUnitary`] if it measures, resets, assigns or is
    /// noise. Nothing is appended then.
    pub fn undo(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        self.edit_tail("the inverse", body, |circuit, first| {
            let tail = &mut circuit.instructions[first..];
            tail.reverse();
            tail.iter_mut().for_each(Instruction::invert);
            Ok(circuit)
        })
    }

    /// Runs `body`, then `edit` with the position of the appended instructions, which must be
    /// unitary.
    fn edit_tail(
        &mut self,
        what: &'static str,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
        edit: impl FnOnce(&mut Circuit, usize) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let first = self.instructions.len();
        self.all_or_nothing(|circuit| {
            body(circuit)?;
            if circuit.instructions[first..].iter().any(|i| !i.operation.is_invertible()) {
                return Err(CircuitError::NotUnitary { what });
            }
            edit(circuit, first)
        })
    }

    /// Runs `body`; if it fails, removes the instructions that it appended.
    pub(super) fn all_or_nothing(
        &mut self,
        body: impl FnOnce(&mut Circuit) -> Result<&mut Circuit, CircuitError>,
    ) -> Result<&mut Circuit, CircuitError> {
        let first = self.instructions.len();
        if let Err(error) = body(self) {
            self.instructions.truncate(first);
            return Err(error);
        }
        Ok(self)
    }

    /// Appends a barrier across some qubits.
    ///
    /// # Errors
    /// Those of [`Circuit::push`].
    pub fn barrier(&mut self, qubits: &[usize]) -> Result<&mut Circuit, CircuitError> {
        self.operation(Operation::Barrier, qubits, &[])
    }

    pub(super) fn operation(
        &mut self,
        operation: Operation,
        targets: &[usize],
        controls: &[(usize, bool)],
    ) -> Result<&mut Circuit, CircuitError> {
        let number = |q: usize| {
            u32::try_from(q)
                .map_err(|_| CircuitError::NoSuchQubit { given: q, n_qubits: self.n_qubits })
        };
        let targets = targets.iter().map(|&q| number(q)).collect::<Result<_, _>>()?;
        let controls = controls
            .iter()
            .map(|&(q, value)| number(q).map(|qubit| Control { qubit, value }))
            .collect::<Result<_, _>>()?;
        self.push(Instruction { operation, targets, controls, condition: None })
    }

    pub(super) fn no_such_bit(&self, given: usize) -> CircuitError {
        CircuitError::NoSuchBit { given, n_bits: self.n_bits() }
    }

    pub(super) fn check_condition(&self, condition: &Condition) -> Result<(), CircuitError> {
        self.check_places(|f| condition.for_each_place(f))
    }

    fn check(&self, instruction: &Instruction) -> Result<(), CircuitError> {
        let given = instruction.targets.len();
        if let Some(&bit) =
            instruction.operation.written().iter().find(|b| **b as usize >= self.n_bits())
        {
            return Err(self.no_such_bit(bit as usize));
        }
        if let Operation::ReadoutError { bits, probabilities } = &instruction.operation {
            self.check_readout_error(bits, probabilities)?;
        }
        match &instruction.operation {
            Operation::Gate(gate) => {
                let expected = gate.kind().n_qubits();
                if given != expected {
                    return Err(CircuitError::Targets { gate: gate.to_string(), given, expected });
                }
            }
            Operation::RuntimeGate(gate) if given != gate.kind().n_qubits() => {
                let (gate, expected) = (operation_name(instruction), gate.kind().n_qubits());
                return Err(CircuitError::Targets { gate, given, expected });
            }
            Operation::PauliRotation(rotation) if given != rotation.letters().len() => {
                let (gate, expected) = (operation_name(instruction), rotation.letters().len());
                return Err(CircuitError::Targets { gate, given, expected });
            }
            Operation::Channel(channel) => {
                let (expected, controls) = (channel.n_qubits(), instruction.controls.len());
                if given != expected || controls > 0 {
                    let given = given + controls;
                    return Err(CircuitError::Targets {
                        gate: channel.to_string(),
                        given,
                        expected,
                    });
                }
            }
            Operation::Unitary(matrix) if given != matrix.n_qubits() => {
                let gate = "unitary".to_owned();
                return Err(CircuitError::Targets { gate, given, expected: matrix.n_qubits() });
            }
            Operation::Measure { .. } | Operation::Reset
                if given != 1 || !instruction.controls.is_empty() =>
            {
                let gate = operation_name(instruction);
                return Err(CircuitError::Targets { gate, given, expected: 1 });
            }
            Operation::Delay { length }
                if length.number().is_some_and(|x| !(0.0..f64::INFINITY).contains(&x)) =>
            {
                return Err(CircuitError::DelayLength { length: length.to_string() });
            }
            operation
                if operation.is_classical() && (given > 0 || !instruction.controls.is_empty()) =>
            {
                let gate = operation_name(instruction);
                return Err(CircuitError::Targets {
                    gate,
                    given: instruction.qubits().count(),
                    expected: 0,
                });
            }
            _ => {}
        }
        match &instruction.operation {
            Operation::Store(assignment) => self.check_assignment(assignment)?,
            Operation::For { over, .. } => self.check_loop(over)?,
            _ => {}
        }
        self.check_places(|f| instruction.operation.for_each_read(f))?;
        let params = instruction.operation.params();
        params.iter().flat_map(Angle::terms).try_for_each(|t| self.own(t.0))?;
        let mut seen: SmallVec<[u32; 8]> = SmallVec::new();
        for qubit in instruction.qubits() {
            if qubit as usize >= self.n_qubits {
                return Err(CircuitError::NoSuchQubit {
                    given: qubit as usize,
                    n_qubits: self.n_qubits,
                });
            }
            if seen.len() < 32 && seen.contains(&qubit) {
                return Err(CircuitError::RepeatedQubit { qubit });
            }
            seen.push(qubit);
        }
        if seen.len() > 32 {
            seen.sort_unstable();
            if let Some(pair) = seen.windows(2).find(|w| w[0] == w[1]) {
                return Err(CircuitError::RepeatedQubit { qubit: pair[0] });
            }
        }
        Ok(())
    }
}

/// Returns true if an instruction is one that runs only where its condition holds, or the header of
/// a `while`, whose body may have its condition too.
fn can_have_condition(instruction: &Instruction) -> bool {
    matches!(instruction.operation, Operation::While { .. })
        || instruction.operation.body().is_none()
}
