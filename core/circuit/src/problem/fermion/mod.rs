//! Operators on fermions: sums of products of ladder operators, with their algebra and their maps
//! to qubits.
//!
//! `a_p` removes a fermion from orbital p, `a_p^dagger` adds one, and
//! ```text
//! {a_p, a_q^dagger} = 1 if p = q, else 0        {a_p, a_q} = 0
//! ```
//! so that order matters up to signs and constants. The text is that of OpenFermion:
//! `a_2^dagger a_0` is `[2^ 0]`.
//!
//! ```
//! use ketgrad_core::problem::{FermionOperator, Mapping};
//!
//! let hop: FermionOperator = "[2^ 0] + [0^ 2]".parse()?;
//! assert_eq!(Mapping::JordanWigner.map(&hop, 3)?.to_string(), "0.5*X0 Z1 X2 + 0.5*Y0 Z1 Y2");
//! let order: FermionOperator = "[0 0^]".parse()?;
//! assert_eq!(order.normal_ordered()?.to_string(), "1 [] +\n-1 [0^ 0]");
//! # Ok::<(), ketgrad_core::problem::FermionError>(())
//! ```

use std::{collections::HashMap, fmt, hash::Hash, ops::Add};

use num_complex::Complex;

use crate::basis::MAX_QUBITS;

mod mapping;
mod text;

pub use mapping::Mapping;

/// Tolerance: a sum whose modulus is below this part of the sum of the moduli is taken for zero. It
/// is far above the rounding of millions of additions, and far below the accuracy of integrals.
const ROUNDING: f64 = 1e-13;

/// A ladder operator. Orbitals are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ladder {
    /// `a_p^dagger`: adds a fermion to orbital p.
    Create(usize),
    /// `a_p`: removes the fermion of orbital p.
    Annihilate(usize),
}

impl Ladder {
    /// The orbital p.
    #[must_use]
    pub fn orbital(self) -> usize {
        match self {
            Ladder::Create(p) | Ladder::Annihilate(p) => p,
        }
    }

    /// Returns the other one of its orbital.
    #[must_use]
    pub fn dagger(self) -> Ladder {
        match self {
            Ladder::Create(p) => Ladder::Annihilate(p),
            Ladder::Annihilate(p) => Ladder::Create(p),
        }
    }
}

/// A complex linear combination of products of ladder operators.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct FermionOperator {
    terms: Vec<(Complex<f64>, Vec<Ladder>)>,
}

impl FermionOperator {
    /// The sum of the given terms.
    ///
    /// # Errors
    /// [`FermionError`] if a coefficient is not finite or an orbital is beyond any state
    /// ([`MAX_QUBITS`]).
    pub fn new(
        terms: impl IntoIterator<Item = (Complex<f64>, Vec<Ladder>)>,
    ) -> Result<FermionOperator, FermionError> {
        let mut sum = FermionOperator::default();
        terms.into_iter().try_for_each(|(c, product)| sum.push(c, product).map(|_| ()))?;
        Ok(sum)
    }

    /// The number of fermions in the orbitals below n, `sum_p a_p^dagger a_p`.
    ///
    /// # Errors
    /// [`FermionError`] for more orbitals than a state can have qubits.
    pub fn number(n_orbitals: usize) -> Result<FermionOperator, FermionError> {
        let term = |p| (Complex::from(1.0), vec![Ladder::Create(p), Ladder::Annihilate(p)]);
        FermionOperator::new((0..n_orbitals).map(term))
    }

    /// Adds a term: a coefficient and its operators, the leftmost first.
    ///
    /// # Errors
    /// Those of [`FermionOperator::new`].
    pub fn push(
        &mut self,
        coefficient: impl Into<Complex<f64>>,
        product: impl IntoIterator<Item = Ladder>,
    ) -> Result<&mut FermionOperator, FermionError> {
        let (coefficient, product) = (finite(coefficient.into())?, Vec::from_iter(product));
        match product.iter().find(|ladder| ladder.orbital() >= MAX_QUBITS) {
            Some(ladder) => {
                Err(FermionProblem::Orbital { text: ladder.orbital().to_string() }.into())
            }
            None => {
                self.terms.push((coefficient, product));
                Ok(self)
            }
        }
    }

    /// The terms in the order given.
    #[must_use]
    pub fn terms(&self) -> &[(Complex<f64>, Vec<Ladder>)] {
        &self.terms
    }

    /// One past the highest orbital that occurs.
    #[must_use]
    pub fn n_orbitals(&self) -> usize {
        self.terms.iter().flat_map(|t| &t.1).map(|ladder| ladder.orbital() + 1).max().unwrap_or(0)
    }

    /// Multiplies all coefficients by a factor.
    ///
    /// # Errors
    /// [`FermionError`] if a coefficient is not finite.
    pub fn scaled(&self, factor: impl Into<Complex<f64>>) -> Result<FermionOperator, FermionError> {
        let factor = factor.into();
        FermionOperator::new(self.terms.iter().map(|(c, product)| (c * factor, product.clone())))
    }

    /// Returns the Hermitian conjugate: each product reversed, with the daggers of its operators.
    #[must_use]
    pub fn dagger(&self) -> FermionOperator {
        let back =
            |product: &[Ladder]| product.iter().rev().map(|ladder| ladder.dagger()).collect();
        FermionOperator {
            terms: self.terms.iter().map(|(c, product)| (c.conj(), back(product))).collect(),
        }
    }

    /// The product `self other`, term by term. O(a b) for a and b terms.
    ///
    /// # Errors
    /// [`FermionError`] if a coefficient is beyond the largest float.
    pub fn times(&self, other: &FermionOperator) -> Result<FermionOperator, FermionError> {
        let pairs = self.terms.iter().flat_map(|a| other.terms.iter().map(move |b| (a, b)));
        FermionOperator::new(
            pairs.map(|((c, left), (d, right))| (c * d, [&left[..], right].concat())),
        )
    }

    /// Returns the operator in normal order: all daggers left of all others, in each group the
    /// highest orbital first; equal products are one term, and terms that cancel to rounding are
    /// left out. Terms are sorted.
    ///
    /// Cost: O(l^2) for a product of l operators, and as much for each product that arises where
    /// `a_p` passes `a_p^dagger`, of which there can be 2^(l/2).
    ///
    /// # Errors
    /// [`FermionError`] if a coefficient is beyond the largest float.
    pub fn normal_ordered(&self) -> Result<FermionOperator, FermionError> {
        let mut sums = CoefficientSums::default();
        for (c, product) in &self.terms {
            order(*c, product.clone(), &mut sums);
        }
        FermionOperator::new(sums.sorted().map(|(product, c)| (c, product)))
    }

    /// Returns true if it is its own Hermitian conjugate, to rounding. Cost: that of
    /// [`FermionOperator::normal_ordered`].
    #[must_use]
    pub fn is_hermitian(&self) -> bool {
        let minus = self.dagger().terms.into_iter().map(|(c, product)| (-c, product));
        let mut sums = CoefficientSums::default();
        for (c, product) in self.terms.iter().cloned().chain(minus) {
            order(c, product, &mut sums);
        }
        sums.sorted().next().is_none()
    }
}

impl Add for FermionOperator {
    type Output = FermionOperator;

    /// The terms of both.
    fn add(mut self, other: FermionOperator) -> FermionOperator {
        self.terms.extend(other.terms);
        self
    }
}

/// Sums up the normal-ordered form of a product, by insertion of each operator into those before
/// it.
fn order(coefficient: Complex<f64>, product: Vec<Ladder>, sums: &mut CoefficientSums<Vec<Ladder>>) {
    // Products on the worklist, and the length of the ordered part of each.
    let mut left = vec![(coefficient, product, 1)];
    'products: while let Some((mut c, mut product, from)) = left.pop() {
        for i in from..product.len() {
            for j in (1..=i).rev() {
                let (before, after) = (product[j - 1], product[j]);
                match (before, after) {
                    _ if before == after => continue 'products,
                    // a a^dagger = 1 - a^dagger a
                    (Ladder::Annihilate(p), Ladder::Create(q)) if p == q => {
                        let rest = [&product[..j - 1], &product[j + 1..]].concat();
                        left.push((c, rest, i - 1));
                    }
                    (Ladder::Annihilate(_), Ladder::Create(_)) => {}
                    (Ladder::Create(_), Ladder::Annihilate(_)) => break,
                    _ if before.orbital() > after.orbital() => break,
                    _ => {}
                }
                product.swap(j - 1, j);
                c = -c;
            }
        }
        sums.add(product, c);
    }
}

/// Coefficients by key, each with the sum of the moduli that went into it.
struct CoefficientSums<K>(HashMap<K, (Complex<f64>, f64)>);

impl<K> Default for CoefficientSums<K> {
    fn default() -> Self {
        CoefficientSums(HashMap::new())
    }
}

impl<K: Hash + Ord> CoefficientSums<K> {
    fn add(&mut self, key: K, c: Complex<f64>) {
        let (sum, size) = self.0.entry(key).or_default();
        *sum += c;
        *size += c.norm();
    }

    /// Returns the terms that are not zero to rounding, by key; parts that are pure rounding are
    /// set to 0.
    fn sorted(self) -> impl Iterator<Item = (K, Complex<f64>)> {
        let mut kept: Vec<_> = self.0.into_iter().collect();
        kept.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        kept.into_iter().filter_map(|(key, (sum, size))| {
            let part = |x: f64| if x.abs() <= ROUNDING * size { 0.0 } else { x };
            let sum = Complex::new(part(sum.re), part(sum.im));
            (sum != Complex::default()).then_some((key, sum))
        })
    }
}

fn finite(c: Complex<f64>) -> Result<Complex<f64>, FermionError> {
    if c.is_finite() {
        return Ok(c);
    }
    Err(FermionProblem::Coefficient { text: text::coefficient(c) }.into())
}

/// Error of an operator on fermions, with its position in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct FermionError {
    /// The column, counted from 1 through all lines, if it came from text.
    pub column: Option<usize>,
    /// Cause of the error.
    pub problem: FermionProblem,
}

impl From<FermionProblem> for FermionError {
    fn from(problem: FermionProblem) -> FermionError {
        FermionError { column: None, problem }
    }
}

/// Cause of an error of an operator on fermions.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FermionProblem {
    /// Something that does not belong there.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// Texts that are valid there.
        expected: &'static str,
        /// Text that was found.
        found: String,
    },
    /// A coefficient that is not a finite number.
    #[error("the coefficient {text} is not a finite number")]
    Coefficient {
        /// Its text.
        text: String,
    },
    /// An orbital too high for any state.
    #[error("orbital {text} is beyond any state")]
    Orbital {
        /// Its text.
        text: String,
    },
    /// An orbital that there is no qubit for.
    #[error("orbital {orbital} does not exist: there are {n_orbitals}, counted from 0")]
    NoSuchOrbital {
        /// The orbital.
        orbital: usize,
        /// Number of orbitals.
        n_orbitals: usize,
    },
    /// An operator that is not Hermitian.
    #[error("it is not Hermitian: {string} has the coefficient {coefficient}")]
    NotHermitian {
        /// A Pauli string of it.
        string: String,
        /// The coefficient of the string, which is not real.
        coefficient: String,
    },
    /// A product that is a sum of too many Pauli strings.
    #[error(
        "a product acts on {given} orbitals, more than {limit}: it is a sum of 2^{given} Pauli strings"
    )]
    Long {
        /// The number of orbitals.
        given: usize,
        /// Limit.
        limit: usize,
    },
}

impl fmt::Display for FermionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(column) = self.column {
            write!(f, "column {column}: ")?;
        }
        self.problem.fmt(f)
    }
}
impl std::error::Error for FermionError {}
