//! Observables from matrices and projectors.
//!
//! A matrix H on n qubits is a sum of the `4^n` Pauli strings with the coefficients
//! `tr(P H) / 2^n`. A string with the masks x (bits that it flips) and z (bits that give a sign),
//! its symplectic form, has entries at `(j + x, j)` alone, `i^{|x z|} (-1)^{j.z}` (+ for bits that
//! differ), so
//!
//! ```text
//! c(x, z) = 2^-n (-i)^{|x z|} sum_j (-1)^{j.z} H(j + x, j):
//! ```
//!
//! a Walsh-Hadamard transform for each x at which H has entries. O(n 2^n) for each.

use std::collections::BTreeMap;

use num_complex::Complex;

use super::{ObservableError, ObservableProblem, Pauli, PauliString, PauliSum};
use crate::{
    basis::{MAX_QUBITS, walsh_hadamard},
    pauli::PauliMasks,
};

/// Limit on the strings that a matrix or projector may be a sum of.
pub(super) const MOST_TERMS: usize = 1 << 22;
/// Tolerance for the difference of entries on both sides of the diagonal, relative to the largest:
/// the rounding errors of the tool that computed them.
const ASYMMETRY: f64 = 1e-12;
/// Part of the largest entry below which a coefficient is rounding error.
const ROUNDING: f64 = 1e-15;

impl PauliSum {
    /// Returns the observable with these entries `(row, column, value)`; others are zero, and those
    /// at one position are added. Qubit 0 is the least significant bit of rows and columns.
    /// Coefficients that are rounding errors of the largest entry, below 1e-15 of it, are left out.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// use num_complex::Complex;
    /// // |01><10| + |10><01|
    /// let hop = [(0b01, 0b10, Complex::from(1.0)), (0b10, 0b01, Complex::from(1.0))];
    /// assert_eq!(PauliSum::from_entries(2, hop)?.to_string(), "0.5*X0 X1 + 0.5*Y0 Y1");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableProblem::NotHermitian`], [`ObservableProblem::Entry`] for one that is not finite
    /// or not within the matrix, and [`ObservableProblem::TooManyTerms`].
    pub fn from_entries(
        n_qubits: usize,
        entries: impl IntoIterator<Item = (usize, usize, Complex<f64>)>,
    ) -> Result<PauliSum, ObservableError> {
        let failed = |problem| ObservableError { column: None, problem };
        if n_qubits >= MAX_QUBITS {
            return Err(failed(ObservableProblem::TooManyTerms { limit: MOST_TERMS }));
        }
        let dim = 1usize << n_qubits;
        // By the bits that differ, then by column.
        let mut diagonals: BTreeMap<usize, BTreeMap<usize, Complex<f64>>> = BTreeMap::new();
        for (row, column, value) in entries {
            if row >= dim || column >= dim || !value.is_finite() {
                return Err(failed(ObservableProblem::Entry {
                    row,
                    column,
                    value: value.to_string(),
                    dim,
                }));
            }
            *diagonals.entry(row ^ column).or_default().entry(column).or_default() += value;
        }
        let largest =
            diagonals.values().flat_map(BTreeMap::values).map(|z| z.norm()).fold(0.0, f64::max);
        if diagonals.len().max(1).saturating_mul(dim) > MOST_TERMS {
            return Err(failed(ObservableProblem::TooManyTerms { limit: MOST_TERMS }));
        }
        let mut terms = Vec::new();
        let mut signs = vec![Complex::new(0.0, 0.0); dim];
        for (x, entries) in diagonals {
            signs.fill(Complex::new(0.0, 0.0));
            for (&column, &value) in &entries {
                let row = column ^ x;
                let other = entries.get(&row).copied().unwrap_or_default();
                if (value - other.conj()).norm() > ASYMMETRY * largest {
                    let [value, other] = [value, other].map(|z| z.to_string());
                    return Err(failed(ObservableProblem::NotHermitian {
                        row,
                        column,
                        value,
                        other,
                    }));
                }
                signs[column] = value;
            }
            walsh_hadamard(&mut signs);
            for (z, sum) in signs.iter().enumerate() {
                // The product is real.
                let c = PauliMasks { x, z }.y_phase().conj().times(*sum).re / dim as f64;
                if c.abs() > ROUNDING * largest {
                    terms.push((c, PauliString::from_masks(x, z)?));
                }
            }
        }
        PauliSum::new(terms)
    }

    /// The projector onto qubits with these values: `product of (1 + Z)/2` for 0 and `(1 - Z)/2`
    /// for 1. Its mean is the probability of finding them.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let both = PauliSum::projector(&[(0, false), (2, true)])?;
    /// assert_eq!(both.to_string(), "0.25 + 0.25*Z0 - 0.25*Z2 - 0.25*Z0 Z2");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableProblem::Repeated`] for a repeated qubit, [`ObservableProblem::TooManyTerms`]
    /// for more than 22 qubits.
    pub fn projector(values: &[(usize, bool)]) -> Result<PauliSum, ObservableError> {
        let failed = |problem| ObservableError { column: None, problem };
        if 1usize
            .checked_shl(u32::try_from(values.len()).unwrap_or(u32::MAX))
            .is_none_or(|n| n > MOST_TERMS)
        {
            return Err(failed(ObservableProblem::TooManyTerms { limit: MOST_TERMS }));
        }
        let weight = (-(values.len() as f64)).exp2();
        let mut terms = Vec::with_capacity(1 << values.len());
        for chosen in 0..1usize << values.len() {
            let of = || {
                values
                    .iter()
                    .enumerate()
                    .filter(|(k, _)| chosen >> k & 1 == 1)
                    .map(|(_, value)| value)
            };
            let sign = if of().filter(|(_, one)| *one).count() % 2 == 1 { -1.0 } else { 1.0 };
            terms.push((
                sign * weight,
                PauliString::new(of().map(|(qubit, _)| (*qubit, Pauli::Z)))?,
            ));
        }
        PauliSum::new(terms)
    }

    /// Reads an observable in the MatrixMarket format, in coordinates or as an array of columns;
    /// symmetric and Hermitian ones have the lower triangle. It has `2^n_qubits` rows, and qubit 0
    /// is the least significant bit of rows and columns.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let text = "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 0.5 0\n2 1 0 1\n";
    /// assert_eq!(PauliSum::from_matrix_market(text, 1)?.to_string(), "0.25 + 0.25*Z0 + Y0");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableProblem::MatrixMarket`] with the line, else as [`PauliSum::from_entries`].
    ///
    /// Source: Boisvert, Pozo and Remington, The Matrix Market exchange formats, NISTIR 5935
    /// (1996).
    pub fn from_matrix_market(text: &str, n_qubits: usize) -> Result<PauliSum, ObservableError> {
        PauliSum::from_entries(n_qubits, market_entries(text, n_qubits)?)
    }
}

/// Symmetry of a stored matrix, from which the entries above the diagonal follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MatrixSymmetry {
    General,
    Symmetric,
    Hermitian,
}

/// Header of a text in the MatrixMarket format.
#[derive(Clone, Copy)]
struct MarketHeader {
    /// True for coordinates, false for an array of columns.
    is_sparse: bool,
    is_complex: bool,
    symmetry: MatrixSymmetry,
}

/// Returns the entries of a text in the MatrixMarket format.
fn market_entries(
    text: &str,
    n_qubits: usize,
) -> Result<Vec<(usize, usize, Complex<f64>)>, ObservableError> {
    let mut lines = text.lines().enumerate();
    let (_, header) = lines.next().unwrap_or((0, ""));
    let header = market_header(header)?;
    let MarketHeader { is_sparse, symmetry, .. } = header;
    let mut lines = lines.filter(|(_, line)| !(line.starts_with('%') || line.trim().is_empty()));
    let mut next =
        || lines.next().map(|(at, line)| (at, line.split_whitespace().collect::<Vec<&str>>()));
    let (at, sizes) = next().ok_or_else(|| market_error(0, "the sizes are missing"))?;
    let (rows, count) = market_sizes(at, &sizes, header, n_qubits)?;
    let mut entries = Vec::new();
    let (mut row, mut column) = (0, 0);
    for _ in 0..count {
        let (at, words) = next().ok_or_else(|| {
            market_error(
                text.lines().count() - 1,
                "the text ends here, before all the entries that it announces",
            )
        })?;
        let (place, numbers) = words.split_at(if is_sparse { 2.min(words.len()) } else { 0 });
        if is_sparse {
            (row, column) = market_place(at, place, rows)?;
        }
        let value = market_value(at, numbers, header)?;
        entries.push((row, column, value));
        if symmetry != MatrixSymmetry::General && row != column {
            let other = if symmetry == MatrixSymmetry::Hermitian { value.conj() } else { value };
            entries.push((column, row, other));
        }
        if !is_sparse {
            row += 1;
            if row == rows {
                column += 1;
                row = if symmetry == MatrixSymmetry::General { 0 } else { column };
            }
        }
    }
    if let Some((at, _)) = next() {
        return Err(market_error(at, "there are more entries than were announced"));
    }
    Ok(entries)
}

/// Returns the error of a line, counted from 0, of a text in the MatrixMarket format.
fn market_error(line: usize, why: &str) -> ObservableError {
    ObservableError {
        column: None,
        problem: ObservableProblem::MatrixMarket { line: line + 1, why: why.to_owned() },
    }
}

/// Reads the first line of a text in the MatrixMarket format.
fn market_header(line: &str) -> Result<MarketHeader, ObservableError> {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let [
        _,
        "matrix",
        format @ ("coordinate" | "array"),
        kind @ ("real" | "integer" | "complex"),
        symmetry,
    ] = words[..]
    else {
        let expected = "expected `%%MatrixMarket matrix`, `coordinate` or `array`, `real`, `integer` or `complex`, and `general`, \
                            `symmetric` or `hermitian`";
        return Err(market_error(0, expected));
    };
    let symmetry = match symmetry {
        "general" => MatrixSymmetry::General,
        "symmetric" => MatrixSymmetry::Symmetric,
        "hermitian" => MatrixSymmetry::Hermitian,
        _ => return Err(market_error(0, "an observable is `general`, `symmetric` or `hermitian`")),
    };
    Ok(MarketHeader { is_sparse: format == "coordinate", is_complex: kind == "complex", symmetry })
}

/// Reads the line of the sizes, and returns the numbers of rows and of stored entries.
fn market_sizes(
    at: usize,
    sizes: &[&str],
    header: MarketHeader,
    n_qubits: usize,
) -> Result<(usize, usize), ObservableError> {
    let sizes: Option<Vec<usize>> = sizes.iter().map(|word| word.parse().ok()).collect();
    let (rows, columns, count) = match (sizes.as_deref(), header.is_sparse) {
        (Some(&[rows, columns, count]), true) => (rows, columns, count),
        (Some(&[rows, columns]), false) => {
            let below = rows.saturating_mul(rows.saturating_add(1)) / 2;
            (
                rows,
                columns,
                if header.symmetry == MatrixSymmetry::General {
                    rows.saturating_mul(columns)
                } else {
                    below
                },
            )
        }
        _ => {
            return Err(market_error(
                at,
                "expected the numbers of rows and columns, and in coordinates that of entries",
            ));
        }
    };
    if rows != columns
        || u32::try_from(n_qubits).ok().and_then(|n| 1usize.checked_shl(n)) != Some(rows)
    {
        let why = format!(
            "{rows} rows and {columns} columns are not 2^{n_qubits} of each, as {n_qubits} qubits have"
        );
        return Err(market_error(at, &why));
    }
    Ok((rows, count))
}

/// Reads the row and the column of an entry in coordinates, and returns them counted from 0.
fn market_place(at: usize, place: &[&str], rows: usize) -> Result<(usize, usize), ObservableError> {
    let index =
        |k: usize| place.get(k)?.parse::<usize>().ok()?.checked_sub(1).filter(|i| *i < rows);
    index(0).zip(index(1)).ok_or_else(|| {
        market_error(at, "expected a row and a column, counted from 1, within the matrix")
    })
}

/// Reads the value of an entry: one number, or two for a complex one.
fn market_value(
    at: usize,
    numbers: &[&str],
    header: MarketHeader,
) -> Result<Complex<f64>, ObservableError> {
    let number = |k: usize| numbers.get(k)?.parse::<f64>().ok();
    let value = match (header.is_complex, numbers.len()) {
        (true, 2) => number(0).zip(number(1)).map(|(re, im)| Complex::new(re, im)),
        (false, 1) => number(0).map(Complex::from),
        _ => None,
    };
    value.ok_or_else(|| market_error(at, "expected a number, or two for a complex one"))
}
