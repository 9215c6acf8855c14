//! Noise as pragmas of Amazon Braket, and readout errors as pragmas of this library.
//!
//! ```text
//! #pragma braket noise depolarizing(0.125) q[0]
//! #pragma braket noise kraus([[1.0, 0], [0, 0.6im]], [[0, 0.8], [0, 0]]) q[1]
//! #pragma ketgrad readout_error(0.01, 0.02) c[0]
//! #pragma ketgrad readout_error(0, 0, 0.1, 0, 0, 0, 0, 0, 0, 0.1, 0, 0) c[0], c[1]
//! ```
//! In a Kraus operator of a pragma the first qubit is the most significant bit of a row number, in
//! a circuit it is the least: the qubits go in the opposite order.
//!
//! Braket takes numbers with a point alone, so `pi/20` is `0.15707963267948966`, and 0 is `0.0`. It
//! has no flip of bit and phase: that is a `pauli_channel(0.0, p, 0.0)`.

use num_complex::Complex;

use super::{
    PrintError,
    text::{ParamTexts, decimal},
};
use crate::{
    channel::{Channel, ChannelKind},
    matrix::Matrix,
    param::Angle,
};

/// Returns the pragma of a channel on qubits, in the order of the circuit. The text ends with its
/// line.
pub(super) fn pragma(
    channel: &Channel,
    params: &ParamTexts,
    mut qubits: Vec<String>,
) -> Result<String, PrintError> {
    let (name, args): (_, Vec<String>) = match (channel.kind(), channel.params()) {
        (Some(ChannelKind::BitPhaseFlip), [p]) => {
            let none = Angle::zero();
            (ChannelKind::PauliChannel.name(), numbers(&[none.clone(), p.clone(), none], params)?)
        }
        (Some(kind), angles) => (kind.name(), numbers(angles, params)?),
        (None, _) => {
            qubits.reverse();
            (channel.name(), channel.operators().iter().map(matrix).collect())
        }
    };
    Ok(format!("#pragma braket noise {name}({}) {}", args.join(", "), qubits.join(", ")))
}

/// Constants as decimals.
fn numbers(angles: &[Angle], params: &ParamTexts) -> Result<Vec<String>, PrintError> {
    let text = |angle: &Angle| match angle.constant().filter(|value| value.is_finite()) {
        Some(value) => Ok(decimal(value)),
        None => params.angle(angle),
    };
    angles.iter().map(text).collect()
}

/// Returns the pragma of a readout error of bits. The text ends with its line.
pub(super) fn readout_error(
    probabilities: &[Angle],
    params: &ParamTexts,
    bits: &[String],
) -> Result<String, PrintError> {
    let probabilities =
        probabilities.iter().map(|p| params.angle(p)).collect::<Result<Vec<_>, _>>()?;
    Ok(format!("#pragma ketgrad readout_error({}) {}", probabilities.join(", "), bits.join(", ")))
}

/// Returns true if a statement ends with its line.
pub(super) fn is_pragma(statement: &str) -> bool {
    statement.starts_with('#')
}

/// A list of rows.
fn matrix(matrix: &Matrix<Complex<f64>>) -> String {
    let rows = matrix.entries().chunks(matrix.dim()).map(|row| {
        let entries: Vec<String> = row.iter().map(number).collect();
        format!("[{}]", entries.join(", "))
    });
    format!("[{}]", rows.collect::<Vec<_>>().join(", "))
}

/// A complex number that reads back the same.
fn number(z: &Complex<f64>) -> String {
    match (z.re == 0.0, z.im == 0.0) {
        (true, true) => "0".to_owned(),
        (false, true) => decimal(z.re),
        (true, false) => format!("{}im", decimal(z.im)),
        (false, false) => {
            let sign = if z.im < 0.0 { '-' } else { '+' };
            format!("{} {sign} {}im", decimal(z.re), decimal(z.im.abs()))
        }
    }
}
