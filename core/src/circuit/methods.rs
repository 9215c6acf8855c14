//! One method per named gate: `circuit.crx(0, 1, theta)?`, qubits first (controls before targets),
//! then angles.

use crate::{
    circuit::{Circuit, CircuitError},
    gate::{Gate, GateKind, for_each_named_gate},
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
                /// A qubit that does not exist or comes twice.
                pub fn $method(&mut self, $($q: usize,)* $($p: impl Into<Angle>),*) -> Result<&mut Circuit, CircuitError> {
                    let qubits: &[usize] = &[$($q),*];
                    let (controls, targets) = qubits.split_at($controls);
                    let controls: Vec<(usize, bool)> = controls.iter().map(|&q| (q, true)).collect();
                    self.gate(Gate::new(GateKind::$KIND, [$($p.into()),*])?, targets, &controls)
                }
            )*
        }
    };
}
for_each_named_gate!(methods);
