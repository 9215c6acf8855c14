//! Readout errors: the probabilities with which some bits, read together, are replaced by others.
//!
//! The readout matrix of k bits has a row for each true outcome and a column for each outcome that
//! is read; the first bit is the least significant of their numbers. Its rows add up to 1, so a
//! circuit stores only the off-diagonal entries of each row, in order:
//!
//! ```text
//!          read 0   read 1
//! true 0 [ 1 - p0   p0     ]
//! true 1 [ p1       1 - p1 ]      kept: p0, p1
//! ```

use std::sync::Arc;

use smallvec::SmallVec;

use super::{Circuit, CircuitError, Operand, Operation};
use crate::param::Angle;

/// Limit on the bits that are read together: their matrix has 4^k entries.
pub const MAX_READOUT_BITS: usize = 8;

/// Tolerance of the sum of a row of a readout matrix around 1. The diagonal takes what is missing.
const ROW_TOLERANCE: f64 = 1e-8;

/// The bits that are read together.
pub type ReadoutBitList = SmallVec<[u32; 2]>;

/// Returns the number of off-diagonal probabilities of a readout matrix of that many bits.
#[doc(hidden)]
pub fn n_readout_probabilities(n_bits: usize) -> usize {
    let dim = 1 << n_bits.min(MAX_READOUT_BITS);
    dim * (dim - 1)
}

/// Returns the off-diagonal entries of a readout matrix, row by row.
pub(super) fn off_diagonal(rows: &[Vec<f64>], n_bits: usize) -> Result<Arc<[Angle]>, CircuitError> {
    if !(1..=MAX_READOUT_BITS).contains(&n_bits) {
        return Err(CircuitError::ReadoutBits { given: n_bits, limit: MAX_READOUT_BITS });
    }
    let dim = 1 << n_bits;
    if let Some(row) = rows.iter().find(|row| rows.len() != dim || row.len() != dim) {
        return Err(CircuitError::ReadoutSize { rows: rows.len(), columns: row.len(), n_bits });
    }
    if rows.is_empty() {
        return Err(CircuitError::ReadoutSize { rows: 0, columns: 0, n_bits });
    }
    for (row, probabilities) in rows.iter().enumerate() {
        let sum = probabilities.iter().sum::<f64>();
        let are_probabilities = probabilities.iter().all(|p| (0.0..=1.0).contains(p));
        if !are_probabilities || (sum - 1.0).abs() > ROW_TOLERANCE {
            return Err(CircuitError::ReadoutRow { row });
        }
    }
    let beside = rows.iter().enumerate().flat_map(|(row, probabilities)| {
        probabilities
            .iter()
            .enumerate()
            .filter(move |(column, _)| *column != row)
            .map(|(_, &p)| Angle::rad(p))
    });
    Ok(beside.collect())
}

impl Circuit {
    /// Applies a readout error to classical bits: each 0 becomes 1 with probability `p0`, each 1
    /// becomes 0 with probability `p1`. After a measurement it is the error of its readout; the
    /// state of the qubit is unchanged.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
    /// let mut c = Circuit::new(1);
    /// c.add_register("m", 1)?.measure(0, 0)?.readout_error(0, 0.25, 0.0)?;
    /// let counts = Simulator::new().run_shots(&c, &[] as &[f64], 1000, 7)?;
    /// assert!((200..300).contains(&counts["1"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Circuit::push`]. Nothing is appended then. The parameters are checked to be
    /// probabilities when they have values.
    pub fn readout_error(
        &mut self,
        bits: impl Operand,
        p0: impl Into<Angle>,
        p1: impl Into<Angle>,
    ) -> Result<&mut Circuit, CircuitError> {
        let bits = self.bits(bits)?;
        let probabilities: Arc<[Angle]> = Arc::new([p0.into(), p1.into()]);
        self.all_or_nothing(|circuit| {
            for bit in bits {
                let (bits, probabilities) =
                    (SmallVec::from_slice(&[bit]), Arc::clone(&probabilities));
                circuit.operation(Operation::ReadoutError { bits, probabilities }, &[], &[])?;
            }
            Ok(circuit)
        })
    }

    /// Applies a readout error to classical bits together, with a readout matrix: `rows[i][j]` is
    /// the probability that outcome i is read as j. The first bit is the least significant of both
    /// numbers.
    ///
    /// ```
    /// use ketgrad_core::{circuit::Circuit, simulate::Simulator};
    /// let mut c = Circuit::new(2);
    /// c.add_register("m", 2)?.x(0)?.measure(0..2, 0..2)?;
    /// // 01, where bit 0 is 1, is read as 10; all else is read rightly.
    /// let rows = [[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
    /// c.readout_matrix(0..2, &rows.map(Vec::from))?;
    /// let counts = Simulator::new().run_shots(&c, &[] as &[f64], 100, 7)?;
    /// assert_eq!(counts["10"], 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Circuit::push`]; [`CircuitError::ReadoutBits`], [`CircuitError::ReadoutSize`]
    /// or [`CircuitError::ReadoutRow`] for rows that do not form a readout matrix.
    pub fn readout_matrix(
        &mut self,
        bits: impl Operand,
        rows: &[Vec<f64>],
    ) -> Result<&mut Circuit, CircuitError> {
        let bits: ReadoutBitList = self.bits(bits)?.into();
        let probabilities = off_diagonal(rows, bits.len())?;
        self.operation(Operation::ReadoutError { bits, probabilities }, &[], &[])
    }

    /// The numbers of classical bits.
    fn bits(&self, bits: impl Operand) -> Result<Vec<u32>, CircuitError> {
        let bits = bits.numbers(self.n_bits()).map_err(|bit| self.no_such_bit(bit))?.into_vec();
        let number = |bit: usize| u32::try_from(bit).map_err(|_| self.no_such_bit(bit));
        bits.into_iter().map(number).collect()
    }

    /// Checks the bits and the number of probabilities of a readout error.
    pub(super) fn check_readout_error(
        &self,
        bits: &[u32],
        probabilities: &[Angle],
    ) -> Result<(), CircuitError> {
        if !(1..=MAX_READOUT_BITS).contains(&bits.len()) {
            return Err(CircuitError::ReadoutBits { given: bits.len(), limit: MAX_READOUT_BITS });
        }
        if let Some(k) = (1..bits.len()).find(|&k| bits[..k].contains(&bits[k])) {
            return Err(CircuitError::RepeatedBit { bit: bits[k] });
        }
        let (given, expected) = (probabilities.len(), n_readout_probabilities(bits.len()));
        if given != expected {
            return Err(CircuitError::ReadoutProbabilities { given, expected, n_bits: bits.len() });
        }
        Ok(())
    }
}
