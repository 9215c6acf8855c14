//! Writing NumPy files.

use std::io::{self, Write};

use ketgrad_core::state::StateVector;
use num_complex::Complex;

use super::number::{Number, shape_text};

/// Writes the header before the numbers, which begin at a multiple of 64 bytes.
fn write_header(code: &str, shape: &str, out: &mut dyn Write) -> io::Result<()> {
    let header = format!("{{'descr': '<{code}', 'fortran_order': False, 'shape': {shape}, }}");
    // It ends with a new line.
    let length = (10 + header.len() + 1).next_multiple_of(64) - 10;
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes())?;
    writeln!(out, "{header:<width$}", width = length - 1)
}

/// Writes states of n qubits: complex128 (complex64 in single precision) in basis order. Shape
/// `(2^n,)`, or `(rows, 2^n)` for a sweep, one row a state.
///
/// # Errors
/// Fails with the error of the operating system.
pub(crate) fn write_states<T: Number>(
    states: &[&StateVector<Complex<T>>],
    n_qubits: usize,
    rows: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let dim = 1u128 << n_qubits.min(127);
    let shape = rows.map_or(format!("({dim},)"), |rows| format!("({rows}, {dim})"));
    write_header(T::COMPLEX, &shape, out)?;
    for a in states.iter().flat_map(|state| state.amplitudes()) {
        a.re.write_to(out)?;
        a.im.write_to(out)?;
    }
    Ok(())
}

/// Writes an array of real numbers, the last axis fastest: float64, or float32 in single precision.
///
/// # Errors
/// Fails with the error of the operating system.
pub(crate) fn write_reals<T: Number>(
    numbers: impl IntoIterator<Item = T>,
    shape: &[usize],
    out: &mut dyn Write,
) -> io::Result<()> {
    let shape: Vec<u64> = shape.iter().map(|&length| length as u64).collect();
    write_header(T::REAL, &shape_text(&shape), out)?;
    numbers.into_iter().try_for_each(|x| x.write_to(out))
}
