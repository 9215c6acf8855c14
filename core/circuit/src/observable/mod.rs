//! Observables: real combinations of Pauli strings, with their algebra.
//!
//! ```
//! use ketgrad_core::observable::PauliSum;
//!
//! let energy: PauliSum = "0.5*Z0 Z1 - 1e-3 X2 + 2".parse()?;
//! assert_eq!(energy.terms().len(), 3);
//! assert_eq!(energy.to_string(), "0.5*Z0 Z1 - 0.001*X2 + 2");
//! assert_eq!("Z0 Z0".parse::<PauliSum>().unwrap_err().to_string(), "column 4: qubit 0 comes twice in a term");
//! # Ok::<(), ketgrad_core::observable::ObservableError>(())
//! ```
//!
//! # Grammar
//! A sum of terms joined by `+` or `-`; a term is an optional real coefficient, an optional `*`,
//! then Pauli letters with qubit numbers, separated by spaces. `I`, `I3` or a bare number is a
//! constant.
//!
//! The syntax of other tools is read, too. Operators are `Z0`, `z0`, `Z(0)`, `PauliZ(0)`,
//! `Z(q(0))`, or words such as `XIZ`, in which qubit 0 is the last letter, as in Qiskit and in
//! bitstrings; all words of a text have one number of letters. They are multiplied by `*`, `@` or
//! nothing, may be in `( )` or `[ ]`, and a qubit occurs once in a product. Coefficients are
//! products and quotients of numbers and `pi`, and may be written as complex numbers that are real,
//! `(0.5+0j)`.
//!
//! | of | is read |
//! |---|---|
//! | OpenFermion | `(0.5+0j) [Z0 Z1] +`, `QubitOperator('Z0 Z1', 0.5)` |
//! | Qiskit | `SparsePauliOp(['ZZ', 'XI'], coeffs=[1.+0.j, 0.5+0.j])`, `[('ZZ', 1.0), ('XI', 0.5)]`, `[('ZX', [0, 2], 1.0)]` |
//! | PennyLane | `0.5 * (Z(0) @ Z(1)) + X(0)`, `qml.PauliZ(0)` |
//! | Cirq | `0.500*Z(q(0))*Z(q(1))` |
//! | CUDA-Q | `0.5 * spin.z(0) * spin.z(1)` |
//!
//! Projectors are `|01><01|`, with a bit for each qubit, qubit 0 the last, or PennyLane's
//! `Projector([0, 1], wires=[0, 2])` on some qubits. Matrices are read by
//! [`PauliSum::from_entries`] and [`PauliSum::from_matrix_market`].
//!
//! Coefficients of a [`ParametricSum`] are polynomials in named parameters, too.
//!
//! # Algebra
//! Sums and differences are `+` and `-`; the real parts of products are the
//! [anticommutator](PauliSum::anticommutator) `A B + B A` and the
//! [commutator](PauliSum::commutator) `i (A B - B A)`. Terms that can be measured together come
//! from [`PauliSum::commuting_groups`] and [`PauliSum::qubit_wise_groups`].

use std::fmt;

use crate::{basis::MAX_QUBITS, pauli::PauliMasks};

mod algebra;
mod coefficient;
mod foreign;
mod matrix;
mod parametric;
mod read;
mod text;

pub use crate::pauli::Pauli;
pub use parametric::{Monomial, ParametricSum};

/// The highest number of a qubit in a circuit.
const HIGHEST: usize = u32::MAX as usize;

impl Pauli {
    /// Returns the letter as a word of a text, followed by a space.
    #[doc(hidden)]
    pub fn word(self) -> &'static str {
        match self {
            Pauli::X => "X ",
            Pauli::Y => "Y ",
            Pauli::Z => "Z ",
        }
    }

    /// The operator and the qubit that a word such as `Z0` names; `None` for the identity `I`.
    ///
    /// ```
    /// use ketgrad_core::observable::Pauli;
    /// const FACTOR: Option<(usize, Pauli)> = Pauli::named("Z12"); // at compile time
    /// assert_eq!(FACTOR, Some((12, Pauli::Z)));
    /// assert_eq!(Pauli::named("I"), None);
    /// ```
    ///
    /// # Panics
    /// On any other word: this is for words in a program's text. [`PauliSum`] parses those of
    /// users.
    #[must_use]
    pub const fn named(word: &str) -> Option<(usize, Pauli)> {
        let bytes = word.as_bytes();
        let pauli = match bytes {
            [b'I', ..] => None,
            [b'X', _, ..] => Some(Pauli::X),
            [b'Y', _, ..] => Some(Pauli::Y),
            [b'Z', _, ..] => Some(Pauli::Z),
            _ => panic!(
                "expected a Pauli operator and its qubit, such as Z0 or Z[q], or a coefficient before `*`"
            ),
        };
        let mut qubit = 0;
        let mut i = 1;
        while i < bytes.len() {
            assert!(
                bytes[i].is_ascii_digit(),
                "expected a qubit number after X, Y or Z, such as Z0 or Z[q]"
            );
            qubit = qubit * 10 + (bytes[i] - b'0') as usize;
            assert!(qubit <= HIGHEST, "the qubit is beyond any circuit");
            i += 1;
        }
        match pauli {
            Some(pauli) => Some((qubit, pauli)),
            None => None,
        }
    }
}

/// A product of Pauli operators on different qubits; without any it is the identity.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PauliString {
    factors: Vec<(usize, Pauli)>,
}

impl PauliString {
    /// The product of the given operators.
    ///
    /// # Errors
    /// [`ObservableError`] if a qubit is repeated or its number does not fit in 32 bits, as those
    /// of circuits do.
    pub fn new(
        factors: impl IntoIterator<Item = (usize, Pauli)>,
    ) -> Result<PauliString, ObservableError> {
        let mut factors: Vec<_> = factors.into_iter().collect();
        factors.sort_unstable();
        let error = |problem| Err(ObservableError { column: None, problem });
        if let Some(pair) = factors.windows(2).find(|w| w[0].0 == w[1].0) {
            return error(ObservableProblem::Repeated { qubit: pair[0].0 });
        }
        match factors.last() {
            Some(&(qubit, _)) if qubit > HIGHEST => {
                error(ObservableProblem::Qubit { text: qubit.to_string() })
            }
            _ => Ok(PauliString { factors }),
        }
    }

    /// Returns the string that flips the bits of `x_mask` and gives signs for those of `z_mask`
    /// (its symplectic form); Y where both masks have a bit.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliString;
    /// assert_eq!(PauliString::from_masks(0b011, 0b110)?.to_string(), "X0 Y1 Z2");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] for a bit beyond any state ([`MAX_QUBITS`]).
    pub fn from_masks(x_mask: usize, z_mask: usize) -> Result<PauliString, ObservableError> {
        let highest = (x_mask | z_mask).checked_ilog2().unwrap_or(0) as usize;
        if highest >= MAX_QUBITS {
            return Err(ObservableError {
                column: None,
                problem: ObservableProblem::Qubit { text: highest.to_string() },
            });
        }
        let masks = PauliMasks { x: x_mask, z: z_mask };
        let letters = (0..MAX_QUBITS).filter_map(|q| Some((q, masks.letter(q)?)));
        Ok(PauliString { factors: letters.collect() })
    }

    /// The operators, sorted by qubit.
    #[must_use]
    pub fn factors(&self) -> &[(usize, Pauli)] {
        &self.factors
    }

    /// Returns its symplectic form. Qubits that no state can have ([`MAX_QUBITS`]) are left out:
    /// compare [`PauliSum::n_qubits`] with the state first.
    #[must_use]
    pub fn masks(&self) -> PauliMasks {
        self.factors.iter().copied().collect()
    }

    /// Returns the qubits where it flips the bit (X and Y), as a mask; see
    /// [`masks`](PauliString::masks).
    #[must_use]
    pub fn x_mask(&self) -> usize {
        self.masks().x
    }

    /// The qubits where it gives a sign (Y and Z), as a mask; see [`masks`](PauliString::masks).
    #[must_use]
    pub fn z_mask(&self) -> usize {
        self.masks().z
    }
}

/// A real linear combination of Pauli strings.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct PauliSum {
    terms: Vec<(f64, PauliString)>,
}

impl PauliSum {
    /// The sum of the given terms.
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is not finite.
    pub fn new(
        terms: impl IntoIterator<Item = (f64, PauliString)>,
    ) -> Result<PauliSum, ObservableError> {
        let terms: Vec<_> = terms.into_iter().collect();
        terms.iter().try_for_each(|(c, _)| finite(*c))?;
        Ok(PauliSum { terms })
    }

    /// The terms in the order given.
    #[must_use]
    pub fn terms(&self) -> &[(f64, PauliString)] {
        &self.terms
    }

    /// One past the highest qubit that occurs.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.terms
            .iter()
            .filter_map(|t| t.1.factors.last())
            .map(|f| f.0.saturating_add(1))
            .max()
            .unwrap_or(0)
    }

    /// Adds a term: a coefficient and the operators of its string, in any order.
    ///
    /// ```
    /// use ketgrad_core::observable::{Pauli, PauliSum};
    /// let mut sum = PauliSum::default();
    /// sum.push(0.5, [(0, Pauli::Z), (1, Pauli::Z)])?.push(-2.0, [])?;
    /// assert_eq!(sum.to_string(), "0.5*Z0 Z1 - 2");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a qubit is repeated or is beyond any circuit, or the coefficient is
    /// not finite.
    pub fn push(
        &mut self,
        coefficient: f64,
        factors: impl IntoIterator<Item = (usize, Pauli)>,
    ) -> Result<&mut PauliSum, ObservableError> {
        finite(coefficient)?;
        self.terms.push((coefficient, PauliString::new(factors)?));
        Ok(self)
    }

    /// Adds the terms of another sum.
    pub fn extend(&mut self, other: PauliSum) {
        self.terms.extend(other.terms);
    }
}

impl From<PauliString> for PauliSum {
    fn from(string: PauliString) -> PauliSum {
        PauliSum { terms: vec![(1.0, string)] }
    }
}

fn finite(coefficient: f64) -> Result<(), ObservableError> {
    if coefficient.is_finite() {
        return Ok(());
    }
    Err(ObservableError {
        column: None,
        problem: ObservableProblem::Coefficient { text: coefficient.to_string() },
    })
}

/// Error of an observable, with its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservableError {
    /// The column, counted from 1, if it came from text.
    pub column: Option<usize>,
    /// Cause of the error.
    pub problem: ObservableProblem,
}

impl ObservableError {
    /// Returns the part of the text, which gave this error, that is wrong, in bytes; empty at its
    /// end.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    ///
    /// let text = "0.5*Z0 + foo";
    /// assert_eq!(text.parse::<PauliSum>().unwrap_err().span(text), 9..12);
    /// ```
    #[must_use]
    pub fn span(&self, text: &str) -> std::ops::Range<usize> {
        let column = self.column.unwrap_or(1);
        let start = text.char_indices().nth(column - 1).map_or(text.trim_end().len(), |(at, _)| at);
        let length = match &self.problem {
            ObservableProblem::Coefficient { text } | ObservableProblem::Qubit { text } => {
                text.len()
            }
            _ => text::word(text[start..].trim_end()).len(),
        };
        start..(start + length).min(text.len())
    }
}

/// Cause of an error of an observable.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ObservableProblem {
    /// A qubit is repeated in one term.
    #[error("qubit {qubit} comes twice in a term")]
    Repeated {
        /// The qubit.
        qubit: usize,
    },
    /// Something that does not belong there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Tokens that are valid there.
        expected: &'static str,
        /// Text that was found.
        found: String,
    },
    /// A coefficient that is not a finite number.
    #[error("the coefficient {} is not a finite number", text::shown(text))]
    Coefficient {
        /// Its text.
        text: String,
    },
    /// A coefficient that is not real: an observable must be Hermitian.
    #[error("`{term}` has the coefficient {coefficient}, which is not real")]
    NotReal {
        /// The Pauli string.
        term: String,
        /// Its coefficient.
        coefficient: String,
    },
    /// A qubit that does not exist.
    #[error("qubit {qubit} does not exist: there are {n_qubits}, counted from 0")]
    NoSuchQubit {
        /// The qubit.
        qubit: usize,
        /// Number of qubits.
        n_qubits: usize,
    },
    /// A word such as `XIZ` that is not a letter for each qubit.
    #[error(
        "the word has {letters} letters where {expected} are needed, one for each qubit, qubit 0 the last"
    )]
    WordLength {
        /// Number of letters of the word.
        letters: usize,
        /// Number of qubits, or number of letters of the words before.
        expected: usize,
    },
    /// Syntax of another tool that is not supported.
    #[error("{format} is not read as an observable: {instead}")]
    Foreign {
        /// Name of the syntax.
        format: &'static str,
        /// Advice on what to write instead.
        instead: &'static str,
    },
    /// A coefficient that is not a polynomial.
    #[error(
        "coefficients are polynomials in their parameters, such as `(J - h/2)**2`: there is no {found}"
    )]
    NotPolynomial {
        /// Text that was found.
        found: String,
    },
    /// A parameter with the name of an operator.
    #[error(
        "`{name}` stands for a Pauli operator or a number in an observable, never for a parameter"
    )]
    ReservedName {
        /// The name.
        name: String,
    },
    /// Lists of Pauli strings and of coefficients of different lengths.
    #[error("{strings} Pauli strings have {coefficients} coefficients")]
    Coefficients {
        /// The number of strings.
        strings: usize,
        /// The number of coefficients.
        coefficients: usize,
    },
    /// Parentheses that are nested too deeply.
    #[error("parentheses are nested more than {limit} deep")]
    TooDeep {
        /// Maximum depth.
        limit: usize,
    },
    /// A product of sums with too many terms.
    #[error("the product has more than {limit} terms")]
    TooManyTerms {
        /// Maximum number of terms.
        limit: usize,
    },
    /// An entry of a matrix that is not finite, or not within it.
    #[error(
        "the entry {value} in row {row}, column {column}, counted from 0, is no finite number of a matrix of {dim} rows"
    )]
    Entry {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The entry.
        value: String,
        /// The number of rows.
        dim: usize,
    },
    /// A matrix that is not Hermitian.
    #[error(
        "the matrix is not Hermitian: row {row}, column {column}, counted from 0, is {value}, and row {column}, column {row} is {other}"
    )]
    NotHermitian {
        /// The row.
        row: usize,
        /// The column.
        column: usize,
        /// The entry there.
        value: String,
        /// The entry on the other side of the diagonal.
        other: String,
    },
    /// A text that is not a matrix in the MatrixMarket format.
    #[error("line {line}: {why}")]
    MatrixMarket {
        /// The line, counted from 1.
        line: usize,
        /// Reason.
        why: String,
    },
    /// A qubit number too large for any state.
    #[error("qubit {} is beyond any circuit", text::shown(text))]
    Qubit {
        /// Its text.
        text: String,
    },
}

impl fmt::Display for ObservableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        self.problem.fmt(f)
    }
}
impl std::error::Error for ObservableError {}
