//! The lowest energies of a sum of Pauli strings and their states, without building a matrix: the
//! reference for variational results.
//!
//! The method is that of Lanczos: with `b_{j+1} v_{j+1} = H v_j - a_j v_j - b_j v_{j-1}`, H is a
//! tridiagonal matrix in the space of `v, H v, H^2 v, ...`. The vectors are not kept (Cullum,
//! Willoughby, Lanczos Algorithms for Large Symmetric Eigenvalue Computations (1985)): one run
//! finds the matrix, a second the combination of the vectors that its lowest eigenvector says. They
//! stay orthogonal until a level has been found, at either end of the spectrum; what that spoils,
//! the true residual shows, and the state found so far starts another run. A level that is found is
//! deflated: the search for the next is orthogonal to it, so that a level comes as often as it is
//! degenerate. Where each string has an even number of Y, all vectors are real: half the memory and
//! half the time.

use num_complex::Complex;

use super::{SimulateError, Simulator};
use crate::{
    array::{Array, eigh},
    kernel::{Threads, tree_sum},
    observable::PauliSum,
    pauli::PauliPhase,
    scalar::{Real, WideLoop, wide},
    state::{Amplitude, GroupedPauliSum, StateVector},
};

/// Largest number of vectors of a run.
const MOST_VECTORS: usize = 200;

/// Largest residual of a level that counts as found: `|H v - E v|` over the sum of the moduli of
/// the coefficients.
const TOLERANCE: f64 = 1e-11;

/// Largest number of products of H and a state for a level.
const MOST_PRODUCTS: usize = 20_000;

/// Amplitudes that a thread takes at a time.
const CHUNK: usize = 1 << 12;

/// A stationary state of a Hamiltonian.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Eigenstate {
    /// Its energy E, in the units of the Hamiltonian.
    pub energy: f64,
    /// The state.
    pub state: StateVector<Complex<f64>>,
    /// `|H v - E v|`: some eigenvalue is no further from E than this, and by the distance d to the
    /// next level at most `residual^2 / d`.
    pub residual: f64,
}

impl Simulator {
    /// Returns the lowest levels of a Hamiltonian on n qubits, ascending; a degenerate level as
    /// often as it is.
    ///
    /// Each is exact to a [residual](Eigenstate::residual) of 1e-11 of the sum of the moduli of the
    /// coefficients. Cost: some 100 to 1000 times that of [`applied`](StateVector::applied) for a
    /// level, the more the closer the next one is; memory for four states besides those found. If
    /// each string has an even number of Y, it is half of both.
    ///
    /// ```
    /// use ketgrad_core::{problem, simulate::Simulator};
    ///
    /// let ground = &Simulator::new().lowest(&problem::h2(), 4, 1)?[0];
    /// assert!((ground.energy + 1.137_270_175).abs() < 1e-8); // hartree
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`SimulateError`] if it acts on other qubits, if there are fewer levels, if the memory does
    /// not do, or if a level is not found in 20 000 products.
    pub fn lowest(
        &self,
        hamiltonian: &PauliSum,
        n_qubits: usize,
        count: usize,
    ) -> Result<Vec<Eigenstate>, SimulateError> {
        self.lowest_levels(hamiltonian, n_qubits, count, None)
    }

    /// Returns the lowest levels of a Hamiltonian on the space of the basis states that `keeps`
    /// keeps, such as those with some number of electrons: where the Hamiltonian conserves that
    /// number, the lowest ones that have it, however low the others are. Of a Hamiltonian that
    /// leads to other basis states, the levels of its block.
    ///
    /// ```
    /// use ketgrad_core::simulate::Simulator;
    ///
    /// // X0 X1 + Y0 Y1 moves a one to the other qubit, and Z0 + Z1 prefers two.
    /// let sum = "X0 X1 + Y0 Y1 + 5 Z0 + 5 Z1".parse()?;
    /// let one = Simulator::new().lowest_among(&sum, 2, 1, &|state| state.count_ones() == 1)?;
    /// assert!((one[0].energy + 2.0).abs() < 1e-9);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Simulator::lowest`].
    pub fn lowest_among(
        &self,
        hamiltonian: &PauliSum,
        n_qubits: usize,
        count: usize,
        keeps: &(dyn Fn(usize) -> bool + Sync),
    ) -> Result<Vec<Eigenstate>, SimulateError> {
        self.lowest_levels(hamiltonian, n_qubits, count, Some(keeps))
    }

    fn lowest_levels(
        &self,
        hamiltonian: &PauliSum,
        n_qubits: usize,
        count: usize,
        keeps: Option<&(dyn Fn(usize) -> bool + Sync)>,
    ) -> Result<Vec<Eigenstate>, SimulateError> {
        self.check_memory_of::<Complex<f64>>(n_qubits, count.saturating_add(4))?;
        let all = 1usize << n_qubits;
        if count > all {
            return Err(SimulateError::Levels { given: count, n_qubits });
        }
        if let Some(keeps) = keeps {
            let available = (0..all).filter(|&state| keeps(state)).count();
            if count > available {
                return Err(SimulateError::LevelsAmong { given: count, available });
            }
        }
        StateVector::<f64>::check_acts(n_qubits, hamiltonian)?;
        let size: f64 = hamiltonian.terms().iter().map(|term| term.0.abs()).sum();
        let unit = size.inverse_size(&0.0).unwrap_or(1.0);
        let search = Lanczos {
            hamiltonian: GroupedPauliSum::new(hamiltonian.terms(), PauliPhase::ONE),
            unit,
            scale: size * unit,
            n_qubits,
            keeps,
            threads: &self.threads,
        };
        let mut levels = if search.hamiltonian.is_real() {
            search.levels::<f64>(count)?
        } else {
            search.levels::<Complex<f64>>(count)?
        };
        levels.sort_by(|a, b| a.energy.total_cmp(&b.energy));
        Ok(levels)
    }
}

/// The numbers of the vectors.
trait LanczosScalar: Amplitude<Real = f64> {
    fn state(amplitudes: StateVector<Self>) -> StateVector<Complex<f64>>;
    fn from_complex(z: Complex<f64>) -> Self;
}

impl LanczosScalar for f64 {
    fn state(real: StateVector<f64>) -> StateVector<Complex<f64>> {
        real.into()
    }
    fn from_complex(z: Complex<f64>) -> f64 {
        z.re
    }
}

impl LanczosScalar for Complex<f64> {
    fn state(state: StateVector<Complex<f64>>) -> StateVector<Complex<f64>> {
        state
    }
    fn from_complex(z: Complex<f64>) -> Complex<f64> {
        z
    }
}

/// A level that is found.
struct RitzPair<S> {
    energy: f64,
    vector: StateVector<S>,
    residual: f64,
}

struct Lanczos<'a> {
    hamiltonian: GroupedPauliSum,
    /// A power of two that makes the Hamiltonian of size 1 or so: all below is of `unit H`.
    unit: f64,
    /// The sum of the moduli of the coefficients.
    scale: f64,
    n_qubits: usize,
    /// The basis states that vectors may have; all without.
    keeps: Option<&'a (dyn Fn(usize) -> bool + Sync)>,
    threads: &'a Threads,
}

impl Lanczos<'_> {
    fn levels<S: LanczosScalar>(&self, count: usize) -> Result<Vec<Eigenstate>, SimulateError> {
        let mut found: Vec<RitzPair<S>> = Vec::new();
        for _ in 0..count {
            let next = self.next(&found)?;
            found.push(next);
        }
        let level = |f: RitzPair<S>| Eigenstate {
            energy: f.energy / self.unit,
            state: S::state(f.vector),
            residual: f.residual / self.unit,
        };
        Ok(found.into_iter().map(level).collect())
    }

    /// Returns the lowest level orthogonal to some.
    fn next<S: LanczosScalar>(&self, found: &[RitzPair<S>]) -> Result<RitzPair<S>, SimulateError> {
        let mut state = self.random(found.len() as u64)?;
        self.avoid(found, &mut state);
        self.normalize(&mut state);
        let (mut products, mut residual) = (0, f64::INFINITY);
        while products < MOST_PRODUCTS {
            let (mut diagonal, mut beside, mut lowest) = (Vec::new(), Vec::new(), Vec::new());
            let mut next_check = 4;
            self.run(&state, found, &mut |_, a, b| {
                diagonal.push(a);
                beside.push(b);
                let is_closed = b <= f64::EPSILON * self.scale;
                let n = diagonal.len();
                if n < next_check && !is_closed {
                    return true;
                }
                next_check = n + n.div_ceil(6);
                lowest = lowest_eigenvector(&diagonal, &beside);
                let beyond = b * lowest.last().map_or(0.0, |y: &f64| y.abs());
                !is_closed && n < MOST_VECTORS && beyond > 0.5 * TOLERANCE * self.scale
            })?;
            let mut sum = StateVector::<S>::null(self.n_qubits, self.threads)?;
            let mut weights = lowest.iter();
            self.run(&state, found, &mut |v, _, _| {
                let Some(&y) = weights.next() else { return false };
                sum.axpy(&S::lit(y), v, self.threads);
                weights.len() > 0
            })?;
            self.avoid(found, &mut sum);
            self.normalize(&mut sum);
            state = sum;
            products += 2 * lowest.len() + 1;
            let mut product = StateVector::<S>::null(self.n_qubits, self.threads)?;
            self.add_product(&state, &mut product);
            let energy = self.inner(&state, &product).re();
            product.axpy(&S::lit(-energy), &state, self.threads);
            residual = product.norm2(self.threads).sqrt();
            if residual <= TOLERANCE * self.scale {
                return Ok(RitzPair { energy, vector: state, residual });
            }
        }
        Err(SimulateError::NotConverged { products, residual })
    }

    /// Runs through the vectors `v_j` from a start of length 1, with `a_j` and `b_{j+1}`, as long
    /// as it is told to go on.
    fn run<S: LanczosScalar>(
        &self,
        start: &StateVector<S>,
        found: &[RitzPair<S>],
        each: &mut dyn FnMut(&StateVector<S>, f64, f64) -> bool,
    ) -> Result<(), SimulateError> {
        let (mut old, mut new) =
            (StateVector::<S>::null(self.n_qubits, self.threads)?, start.clone());
        let mut b = 0.0;
        loop {
            self.threads.check()?;
            old.scale(&S::lit(-b), self.threads);
            self.add_product(&new, &mut old);
            let a = self.inner(&new, &old).re();
            old.axpy(&S::lit(-a), &new, self.threads);
            self.avoid(found, &mut old);
            b = self.normalize(&mut old);
            if !each(&new, a, b) {
                return Ok(());
            }
            std::mem::swap(&mut old, &mut new);
        }
    }

    /// Returns a vector that is not orthogonal to any level.
    fn random<S: LanczosScalar>(&self, seed: u64) -> Result<StateVector<S>, SimulateError> {
        let state = StateVector::<Complex<f64>>::random(self.n_qubits, seed, self.threads)?;
        let mut vector = StateVector::<S>::null(self.n_qubits, self.threads)?;
        let pairs = vector.amplitudes_mut().iter_mut().zip(state.amplitudes());
        pairs.for_each(|(x, z)| *x = S::from_complex(*z));
        self.restrict(&mut vector);
        Ok(vector)
    }

    /// Adds the product of the Hamiltonian and a vector.
    fn add_product<S: LanczosScalar>(&self, vector: &StateVector<S>, sum: &mut StateVector<S>) {
        self.hamiltonian.add(&self.unit, vector, sum, self.threads);
        self.restrict(sum);
    }

    /// Takes from a vector what it has along basis states that are not kept.
    fn restrict<S: LanczosScalar>(&self, vector: &mut StateVector<S>) {
        let Some(keeps) = self.keeps else { return };
        self.threads.chunks(vector.amplitudes_mut(), CHUNK, |k, chunk| {
            let states = k * CHUNK..;
            let others = chunk.iter_mut().zip(states).filter(|(_, state)| !keeps(*state));
            others.for_each(|(x, _)| *x = S::zero());
        });
    }

    /// Takes from a vector what it has along levels.
    fn avoid<S: LanczosScalar>(&self, found: &[RitzPair<S>], vector: &mut StateVector<S>) {
        for level in found {
            let along = self.inner(&level.vector, vector);
            vector.axpy(&-along, &level.vector, self.threads);
        }
    }

    /// Brings a vector to length 1, if it has one, and returns its old length.
    fn normalize<S: LanczosScalar>(&self, vector: &mut StateVector<S>) -> f64 {
        let norm = vector.norm2(self.threads).sqrt();
        if norm > 0.0 {
            vector.scale(&S::lit(norm.recip()), self.threads);
        }
        norm
    }

    /// Returns `<v|w>`.
    fn inner<S: LanczosScalar>(&self, v: &StateVector<S>, w: &StateVector<S>) -> S {
        let (v, w) = (v.amplitudes(), w.amplitudes());
        let block = |range: std::ops::Range<usize>| {
            wide::<S, _>(ConjugateDot(&v[range.clone()], &w[range]))
        };
        tree_sum(v.len(), self.threads, block, |a, b| a + b)
    }
}

/// Returns the eigenvector of the lowest eigenvalue of a symmetric tridiagonal matrix; none if it
/// has no numbers.
fn lowest_eigenvector(diagonal: &[f64], beside: &[f64]) -> Vec<f64> {
    let n = diagonal.len();
    let entry = |i: usize, j: usize| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    };
    let items = (0..n * n).map(|k| entry(k / n, k % n)).collect();
    let (mut values, mut vectors) = (Array::default(), Array::default());
    let found = Array::new(&[n, n], items).and_then(|a| eigh(&a, &mut values, &mut vectors));
    found.map_or(Vec::new(), |()| vectors.items().iter().step_by(n).copied().collect())
}

/// `sum conj(v) w`, in columns so that a sum need not wait for the one before.
struct ConjugateDot<'a, S>(&'a [S], &'a [S]);

impl<S: LanczosScalar> WideLoop for ConjugateDot<'_, S> {
    type Output = S;
    #[inline(always)]
    fn run(self) -> S {
        let ((v, v_rest), (w, w_rest)) = (self.0.as_chunks::<8>(), self.1.as_chunks::<8>());
        let mut columns: [S; 8] = std::array::from_fn(|_| S::zero());
        for (v, w) in v.iter().zip(w) {
            for k in 0..8 {
                columns[k] += v[k].conj() * &w[k];
            }
        }
        let rest = v_rest.iter().zip(w_rest).map(|(v, w)| v.conj() * w);
        columns.into_iter().chain(rest).fold(S::zero(), |sum, x| sum + x)
    }
}
