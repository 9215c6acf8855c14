//! Kernels for state vectors in the host's memory.

use std::{fmt, marker::PhantomData};

use ketgrad_plugin_abi as abi;

use crate::{C64, Par, error::Result, glue};

/// Kinds of operators besides dense ones, as bits for [`HostKernels::gates`].
pub mod gate_kinds {
    /// Diagonal operators, phases among them.
    pub const DIAGONAL: u32 = 1 << ketgrad_plugin_abi::GATE_DIAGONAL;
}

/// Type of the real and imaginary parts of amplitudes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Precision {
    /// Amplitudes of two `f32`.
    Single,
    /// Amplitudes of two `f64`.
    Double,
}

impl Precision {
    pub(crate) fn dtype(self) -> u32 {
        match self {
            Precision::Single => abi::C32,
            Precision::Double => abi::C64,
        }
    }
    pub(crate) fn from_dtype(dtype: u32) -> Option<Precision> {
        [Precision::Single, Precision::Double].into_iter().find(|p| p.dtype() == dtype)
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Precision::Single => "single",
            Precision::Double => "double",
        })
    }
}

/// Run that a score is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Query {
    /// Number of qubits of the state.
    pub n_qubits: u32,
    /// Number of threads that may be used.
    pub threads: u32,
    /// Approximate number of operators.
    pub n_gates: u64,
    /// Precision of the amplitudes.
    pub precision: Precision,
}

/// Kernels for states of [`C64`] in the host's memory.
pub trait HostKernels: Send + Sync + 'static {
    /// Name, for people and for the config.
    fn name(&self) -> String;
    /// Score of the backend: the built-in kernels are 100, 0 is not at all. Cheap.
    fn score(&self, query: &Query) -> i32;
    /// Kinds of operators that it takes besides dense ones; see [`gate_kinds`].
    fn gates(&self) -> u32 {
        0
    }
    /// Largest number of targets of a dense operator, at least 2; operators of more are not passed
    /// to it.
    fn max_targets(&self) -> u32 {
        2
    }
    /// Applies the operators in order. Amplitude i belongs to the basis state whose bits are those
    /// of i, qubit 0 the least significant.
    ///
    /// # Errors
    /// The kernels fail; the amplitudes are then undefined.
    fn apply(&self, par: &Par<'_>, amplitudes: &mut [C64], gates: Gates<'_>) -> Result<()>;
}

/// Operators in order.
#[derive(Clone, Copy, Debug)]
pub struct Gates<'a> {
    pub(crate) list: abi::GateList,
    pub(crate) of: PhantomData<&'a ()>,
}

/// Operator on some qubits.
#[derive(Clone, Copy, Debug)]
pub struct Gate<'a> {
    /// True if `matrix` is a diagonal.
    pub is_diagonal: bool,
    /// Qubits that it acts on; the first is the least significant bit of a row.
    pub targets: &'a [u32],
    /// Control qubits, as bits of an index.
    pub control_mask: u64,
    /// Values of the control qubits.
    pub control_value: u64,
    /// Entries of the matrix, 2^t x 2^t row by row, or the 2^t entries of the diagonal.
    pub matrix: &'a [C64],
}

impl Gate<'_> {
    /// Offset of each row of the matrix into a state: `sum_k row_k 2^targets_k` for the bits of the
    /// number of the row.
    #[must_use]
    pub fn offsets(&self) -> Vec<usize> {
        let targets = self.targets.iter().enumerate();
        let offset = |row: usize| targets.clone().fold(0, |at, (k, t)| at | (row >> k & 1) << t);
        (0..1 << self.targets.len()).map(offset).collect()
    }
}

impl<'a> Gates<'a> {
    /// Number of operators.
    #[must_use]
    pub fn len(&self) -> usize {
        self.list.len
    }
    /// Returns true if there are no operators.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.len == 0
    }
    /// Iterates over the operators in order.
    pub fn iter(&self) -> impl Iterator<Item = Gate<'a>> + use<'a> {
        let gates = *self;
        (0..self.list.len).map(move |k| glue::gate(&gates, k))
    }
}
