//! One method per named gate and channel: `circuit.crx(0, 1, theta)?`, qubits first (controls
//! before targets), then angles. A qubit may be a list of qubits: see [`Operand`]. An angle may be
//! computed when the gate runs: see [`GateAngle`].

use crate::{
    channel::{Channel, ChannelKind, for_each_named_channel},
    circuit::{Circuit, CircuitError, GateAngle, Numbers, Operand, Operation},
    gate::{GateKind, for_each_named_gate},
    param::Angle,
};

macro_rules! methods {
    ($($name:literal $method:ident ($($q:ident),*) $KIND:ident($($p:ident),*) $controls:literal
        qasm2[$($two:literal),*] qasm3[$($three:literal),*];)*) => {
        impl Circuit {
            $(
                #[doc = concat!("Appends `", $name, "`: [`GateKind::", stringify!($KIND), "`] under ", $controls, " controls.")]
                ///
                /// # Errors
                /// If a qubit does not exist or is repeated, or the lists do not pair up; if the
                /// expression of an angle has no meaning. Nothing is appended then.
                pub fn $method(&mut self, $($q: impl Operand,)* $($p: impl Into<GateAngle>),*) -> Result<&mut Circuit, CircuitError> {
                    let operands = [$(self.numbers($q)?),*];
                    let gate = Operation::gate(GateKind::$KIND, [$($p.into()),*])?;
                    self.broadcast(&gate, &operands, $controls)
                }
            )*
        }
    };
}
for_each_named_gate!(methods);

macro_rules! channel_methods {
    ($(
        $(#[$doc:meta])*
        $KIND:ident $method:ident ($($q:ident),*) ($($p:ident),*) |$b:ident| $terms:expr, $mixture:literal, $kept:expr;
    )*) => {
        impl Circuit {
            $(
                #[doc = concat!("Appends [`ChannelKind::", stringify!($KIND), "`]:")]
                $(#[$doc])*
                ///
                /// # Errors
                /// If a qubit does not exist or is repeated, or the lists do not pair up. Nothing
                /// is appended then. The parameters are checked to be probabilities when they have
                /// values.
                pub fn $method(&mut self, $($q: impl Operand,)* $($p: impl Into<Angle>),*) -> Result<&mut Circuit, CircuitError> {
                    let operands = [$(self.numbers($q)?),*];
                    let params: [Angle; _] = [$($p.into()),*];
                    let channel = Channel::new(ChannelKind::$KIND, params)?;
                    self.broadcast(&Operation::Channel(channel), &operands, 0)
                }
            )*
        }
    };
}
for_each_named_channel!(channel_methods);

impl Circuit {
    /// Appends an operation once for each row of its operands, controls first.
    fn broadcast(
        &mut self,
        operation: &Operation,
        operands: &[Numbers],
        n_controls: usize,
    ) -> Result<&mut Circuit, CircuitError> {
        let rows = rows(operands)?;
        self.all_or_nothing(|circuit| {
            for row in 0..rows {
                let qubits: Vec<usize> =
                    operands.iter().map(|numbers| element(numbers, row)).collect();
                let (controls, targets) = qubits.split_at(n_controls);
                let controls: Vec<(usize, bool)> = controls.iter().map(|&q| (q, true)).collect();
                circuit.operation(operation.clone(), targets, &controls)?;
            }
            Ok(circuit)
        })
    }
}

/// The common length of the lists; 1 if there is none.
fn rows(operands: &[Numbers]) -> Result<usize, CircuitError> {
    let lengths: Vec<usize> = operands
        .iter()
        .filter_map(|numbers| match numbers {
            Numbers::One(_) => None,
            Numbers::Many(list) => Some(list.len()),
        })
        .collect();
    if lengths.windows(2).any(|w| w[0] != w[1]) {
        return Err(CircuitError::Lengths { given: lengths });
    }
    Ok(lengths.first().copied().unwrap_or(1))
}

fn element(numbers: &Numbers, row: usize) -> usize {
    match numbers {
        Numbers::One(number) => *number,
        Numbers::Many(list) => list[row],
    }
}
