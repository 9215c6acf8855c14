//! Products, sums and groups of Pauli strings.
//!
//! Strings are multiplied and compared qubit by qubit, by [`PauliMasks`]. They commute if they have
//! different operators on an even number of qubits where both act; else they anticommute. The part
//! of a product of two observables with a real factor is half their anticommutator, the rest half
//! their commutator.

use std::{
    collections::HashMap,
    ops::{Add, Neg, Sub},
};

use super::{ObservableError, PauliString, PauliSum, finite};
use crate::pauli::{PauliMasks, PauliPhase};

impl PauliString {
    /// The product `self other` as `(k, R)`: it is `i^k R`, with k from 0 to 3.
    ///
    /// ```
    /// use ketgrad_core::observable::{Pauli, PauliString};
    /// let [x, y, z] = [Pauli::X, Pauli::Y, Pauli::Z].map(|p| PauliString::new([(0, p)]).unwrap());
    /// assert_eq!(x.times(&y), (1, z.clone())); // X Y = i Z
    /// assert_eq!(y.times(&x), (3, z));
    /// ```
    #[must_use]
    pub fn times(&self, other: &PauliString) -> (u32, PauliString) {
        let mut phase = PauliPhase::ONE;
        let mut factors = Vec::with_capacity(self.factors.len() + other.factors.len());
        self.meet(other, |qubit, p, q| {
            let (turn, product) = p.times(q);
            phase = phase * turn;
            factors.extend(product.letter(0).map(|letter| (qubit, letter)));
        });
        (phase.exponent(), PauliString { factors })
    }

    /// Returns true if the strings commute; two strings that do not commute anticommute.
    #[must_use]
    pub fn commutes(&self, other: &PauliString) -> bool {
        let mut commute = true;
        self.meet(other, |_, p, q| commute ^= !p.commutes(q));
        commute
    }

    /// Returns true if the operators commute on each qubit: where both strings have one, it is the
    /// same. Such strings are measured together by rotating single qubits.
    #[must_use]
    pub fn commutes_qubit_wise(&self, other: &PauliString) -> bool {
        let mut all = true;
        self.meet(other, |_, p, q| all &= p.commutes(q));
        all
    }

    /// Calls `f` with each qubit of either string, in ascending order, and the operators of both
    /// there, as if on qubit 0.
    fn meet(&self, other: &PauliString, mut f: impl FnMut(usize, PauliMasks, PauliMasks)) {
        let (mut a, mut b) = (self.factors.iter().peekable(), other.factors.iter().peekable());
        loop {
            let (p, q) = (a.peek().map(|f| f.0), b.peek().map(|f| f.0));
            let Some(qubit) = p.into_iter().chain(q).min() else { return };
            let [p, q] = [&mut a, &mut b].map(|factors| {
                let letter = factors.next_if(|f| f.0 == qubit).map(|f| f.1);
                letter.map_or_else(PauliMasks::default, |letter| PauliMasks::single(0, letter))
            });
            f(qubit, p, q);
        }
    }
}

impl PauliSum {
    /// Collects equal strings in one term, in the order of their first occurrence; terms of zero
    /// are left out.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let sum: PauliSum = "Z0 + 2 X1 - 3 Z0 - 2 X1".parse()?;
    /// assert_eq!(sum.collected()?.to_string(), "-2*Z0");
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is beyond the largest float.
    pub fn collected(&self) -> Result<PauliSum, ObservableError> {
        collect(self.terms.iter().cloned())
    }

    /// Multiplies all coefficients by a factor.
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is not finite.
    pub fn scaled(&self, factor: f64) -> Result<PauliSum, ObservableError> {
        PauliSum::new(self.terms.iter().map(|(c, string)| (c * factor, string.clone())))
    }

    /// Returns `{A, B} = A B + B A`, collected. `A.anticommutator(&A)` is twice the square of A,
    /// which variances are computed from. O(a b) for a and b terms.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let h: PauliSum = "Z0 Z1 + 2 X0".parse()?;
    /// assert_eq!(h.anticommutator(&h)?.to_string(), "10"); // Z0 Z1 and X0 anticommute
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is beyond the largest float.
    pub fn anticommutator(&self, other: &PauliSum) -> Result<PauliSum, ObservableError> {
        // i^0 = 1 and i^2 = -1
        self.products(other, |k| [Some(2.0), None, Some(-2.0), None][k])
    }

    /// Returns `i [A, B] = i (A B - B A)`, collected. Under `exp(-i A t)` it is the rate of change
    /// of B: `d<B>/dt = <i [A, B]>`. O(a b) for a and b terms.
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let [x, y]: [PauliSum; 2] = ["X0".parse()?, "Y0".parse()?];
    /// assert_eq!(x.commutator(&y)?.to_string(), "-2*Z0"); // i (X Y - Y X) = i 2 i Z
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    ///
    /// # Errors
    /// [`ObservableError`] if a coefficient is beyond the largest float.
    pub fn commutator(&self, other: &PauliSum) -> Result<PauliSum, ObservableError> {
        // i i^1 = -1 and i i^3 = 1
        self.products(other, |k| [None, Some(-2.0), None, Some(2.0)][k])
    }

    /// Returns the products of all terms for whose power of i `factor` has one, each times that.
    fn products(
        &self,
        other: &PauliSum,
        factor: impl Fn(usize) -> Option<f64>,
    ) -> Result<PauliSum, ObservableError> {
        let pairs = self.terms.iter().flat_map(|a| other.terms.iter().map(move |b| (a, b)));
        collect(pairs.filter_map(|((a, p), (b, q))| {
            let (k, product) = p.times(q);
            Some((factor(k as usize)? * (a * b), product))
        }))
    }

    /// The terms in groups whose strings commute with each other; see
    /// [`PauliSum::qubit_wise_groups`].
    #[must_use]
    pub fn commuting_groups(&self) -> Vec<PauliSum> {
        self.groups(PauliString::commutes)
    }

    /// The terms in groups whose strings commute qubit by qubit, so that each group is measured in
    /// one basis of single qubits.
    ///
    /// By sorted insertion: terms in descending order of their coefficients' sizes, each into the
    /// first group that takes it. O(t^2) for t terms. Source: O. Crawford et al., Quantum 5, 385
    /// (2021).
    ///
    /// ```
    /// use ketgrad_core::observable::PauliSum;
    /// let h: PauliSum = "Z0 Z1 + Z1 Z2 + 0.5 X0 + 0.5 X1".parse()?;
    /// let groups: Vec<String> = h.qubit_wise_groups().iter().map(ToString::to_string).collect();
    /// assert_eq!(groups, ["Z0 Z1 + Z1 Z2", "0.5*X0 + 0.5*X1"]);
    /// # Ok::<(), ketgrad_core::observable::ObservableError>(())
    /// ```
    #[must_use]
    pub fn qubit_wise_groups(&self) -> Vec<PauliSum> {
        self.groups(PauliString::commutes_qubit_wise)
    }

    fn groups(&self, together: impl Fn(&PauliString, &PauliString) -> bool) -> Vec<PauliSum> {
        let mut terms: Vec<_> = self.terms.iter().collect();
        terms.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()));
        let mut groups: Vec<PauliSum> = Vec::new();
        for term in terms {
            let takes = |group: &&mut PauliSum| {
                group.terms.iter().all(|(_, other)| together(&term.1, other))
            };
            match groups.iter_mut().find(takes) {
                Some(group) => group.terms.push(term.clone()),
                None => groups.push(PauliSum { terms: vec![term.clone()] }),
            }
        }
        groups
    }
}

fn collect(terms: impl Iterator<Item = (f64, PauliString)>) -> Result<PauliSum, ObservableError> {
    let mut places = HashMap::new();
    let mut sum: Vec<(f64, PauliString)> = Vec::new();
    for (coefficient, string) in terms {
        let place = *places.entry(string).or_insert_with_key(|string| {
            sum.push((0.0, string.clone()));
            sum.len() - 1
        });
        sum[place].0 += coefficient;
    }
    sum.iter().try_for_each(|(c, _)| finite(*c))?;
    sum.retain(|(c, _)| *c != 0.0);
    Ok(PauliSum { terms: sum })
}

impl Add for PauliSum {
    type Output = PauliSum;

    /// The terms of both; [`PauliSum::collected`] puts equal ones together.
    fn add(mut self, other: PauliSum) -> PauliSum {
        self.extend(other);
        self
    }
}

impl Neg for PauliSum {
    type Output = PauliSum;

    fn neg(mut self) -> PauliSum {
        self.terms.iter_mut().for_each(|(c, _)| *c = -*c);
        self
    }
}

impl Sub for PauliSum {
    type Output = PauliSum;

    /// The terms of the first, and those of the second with the other sign.
    fn sub(self, other: PauliSum) -> PauliSum {
        self + -other
    }
}
