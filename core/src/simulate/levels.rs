//! The lowest energies of a sum of Pauli strings and their states, without building a matrix: what variational results are
//! measured by.
//!
//! The method is that of Lanczos: with `b_{j+1} v_{j+1} = H v_j - a_j v_j - b_j v_{j-1}`, H is a tridiagonal matrix in the
//! space of `v, H v, H^2 v, ...`. The vectors are not kept (Cullum, Willoughby, Lanczos Algorithms for Large Symmetric
//! Eigenvalue Computations (1985)): one run finds the matrix, a second the combination of the vectors that its lowest
//! eigenvector says. They stay orthogonal until a level has been found, at either end of the spectrum; what that spoils, the
//! true residual shows, and the state found so far starts another run. A level that is found is kept out of the search for
//! the next, so that a level comes as often as it is degenerate.

use num_complex::Complex;

use super::{SimulateError, Simulator};
use crate::{
    array::{Array, eigh},
    kernel::{Threads, tree_sum},
    observable::PauliSum,
    scalar::{Loop, wide},
    state::{Applied, StateVector},
};

type State = StateVector<Complex<f64>>;

/// The most vectors of a run.
const MOST_VECTORS: usize = 200;

/// Where a level counts as found: `|H v - E v|` over the sum of the moduli of the coefficients.
const TOLERANCE: f64 = 1e-11;

/// The most products of H and a state for a level.
const MOST_PRODUCTS: usize = 20_000;

/// A stationary state of a Hamiltonian.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Level {
    /// Its energy E, in the units of the Hamiltonian.
    pub energy: f64,
    /// The state.
    pub state: StateVector<Complex<f64>>,
    /// `|H v - E v|`: some eigenvalue is no further from E than this, and by the distance d to the next level at most
    /// `residual^2 / d`.
    pub residual: f64,
}

impl Simulator {
    /// The lowest levels of a Hamiltonian on n qubits, ascending; a degenerate level as often as it is.
    ///
    /// Each is exact to a [residual](Level::residual) of 1e-11 of the sum of the moduli of the coefficients. Cost: some 100 to
    /// 1000 times that of [`applied`](StateVector::applied) for a level, the more the closer the next one is; memory for
    /// four states besides those found.
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
    /// [`SimulateError`] if it acts on other qubits, if there are fewer levels, if the memory does not do, or if a level is
    /// not found in 20 000 products.
    pub fn lowest(
        &self,
        hamiltonian: &PauliSum,
        n_qubits: usize,
        count: usize,
    ) -> Result<Vec<Level>, SimulateError> {
        self.check_memory_of::<Complex<f64>>(n_qubits, 4 + count)?;
        let available = 1usize << n_qubits;
        if count > available {
            return Err(SimulateError::Levels { given: count, n_qubits });
        }
        State::check_acts(n_qubits, hamiltonian)?;
        let search = Search {
            hamiltonian: Applied::new(hamiltonian.terms(), 0),
            scale: hamiltonian.terms().iter().map(|term| term.0.abs()).sum(),
            n_qubits,
            threads: &self.threads,
        };
        let mut levels: Vec<Level> = Vec::new();
        for _ in 0..count {
            let next = search.next(&levels)?;
            levels.push(next);
        }
        levels.sort_by(|a, b| a.energy.total_cmp(&b.energy));
        Ok(levels)
    }
}

struct Search<'a> {
    hamiltonian: Applied,
    scale: f64,
    n_qubits: usize,
    threads: &'a Threads,
}

impl Search<'_> {
    /// The lowest level orthogonal to some.
    fn next(&self, found: &[Level]) -> Result<Level, SimulateError> {
        let mut state = State::random(self.n_qubits, found.len() as u64, self.threads)?;
        self.avoid(found, &mut state);
        self.normalize(&mut state);
        let (mut products, mut residual) = (0, f64::INFINITY);
        while products < MOST_PRODUCTS {
            let (mut diagonal, mut beside, mut lowest) = (Vec::new(), Vec::new(), Vec::new());
            let mut look = 4;
            self.run(&state, found, &mut |_, a, b| {
                diagonal.push(a);
                beside.push(b);
                let is_closed = b <= f64::EPSILON * self.scale;
                let n = diagonal.len();
                if n < look && !is_closed {
                    return true;
                }
                look = n + n.div_ceil(6);
                lowest = lowest_eigenvector(&diagonal, &beside);
                let beyond = b * lowest.last().map_or(0.0, |y: &f64| y.abs());
                !is_closed && n < MOST_VECTORS && beyond > 0.5 * TOLERANCE * self.scale
            })?;
            let mut sum = State::null(self.n_qubits, self.threads)?;
            let mut weights = lowest.iter();
            self.run(&state, found, &mut |v, _, _| {
                let Some(&y) = weights.next() else { return false };
                sum.add_times(&y.into(), v, self.threads);
                weights.len() > 0
            })?;
            self.avoid(found, &mut sum);
            self.normalize(&mut sum);
            state = sum;
            products += 2 * lowest.len() + 1;
            let mut product = State::null(self.n_qubits, self.threads)?;
            self.hamiltonian.add(&1.0, &state, &mut product, self.threads);
            let energy = self.inner(&state, &product).re;
            product.add_times(&(-energy).into(), &state, self.threads);
            residual = product.norm2(self.threads).sqrt();
            if residual <= TOLERANCE * self.scale {
                return Ok(Level { energy, state, residual });
            }
        }
        Err(SimulateError::NotConverged { products, residual })
    }

    /// Runs through the vectors `v_j` from a start of length 1, with `a_j` and `b_{j+1}`, as long as it is told to go on.
    fn run(
        &self,
        start: &State,
        found: &[Level],
        each: &mut dyn FnMut(&State, f64, f64) -> bool,
    ) -> Result<(), SimulateError> {
        let (mut old, mut new) = (State::null(self.n_qubits, self.threads)?, start.clone());
        let mut b = 0.0;
        loop {
            old.scale(&Complex::new(-b, 0.0), self.threads);
            self.hamiltonian.add(&1.0, &new, &mut old, self.threads);
            let a = self.inner(&new, &old).re;
            old.add_times(&(-a).into(), &new, self.threads);
            self.avoid(found, &mut old);
            b = self.normalize(&mut old);
            if !each(&new, a, b) {
                return Ok(());
            }
            std::mem::swap(&mut old, &mut new);
        }
    }

    /// Takes from a state what it has along levels.
    fn avoid(&self, found: &[Level], state: &mut State) {
        for level in found {
            let along = self.inner(&level.state, state);
            state.add_times(&-along, &level.state, self.threads);
        }
    }

    /// Brings a state to length 1, if it has one, and gives what it was.
    fn normalize(&self, state: &mut State) -> f64 {
        let norm = state.norm2(self.threads).sqrt();
        if norm > 0.0 {
            state.scale(&Complex::new(norm.recip(), 0.0), self.threads);
        }
        norm
    }

    /// `<v|w>`.
    fn inner(&self, v: &State, w: &State) -> Complex<f64> {
        let (v, w) = (v.amplitudes(), w.amplitudes());
        let block =
            |range: std::ops::Range<usize>| wide::<Complex<f64>, _>(Dot(&v[range.clone()], &w[range]));
        tree_sum(v.len(), self.threads, block, |a, b| a + b)
    }
}

/// The eigenvector of the lowest eigenvalue of a symmetric tridiagonal matrix; none if it has no numbers.
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
struct Dot<'a>(&'a [Complex<f64>], &'a [Complex<f64>]);

impl Loop for Dot<'_> {
    type Output = Complex<f64>;
    #[inline(always)]
    fn run(self) -> Complex<f64> {
        let ((v, v_rest), (w, w_rest)) = (self.0.as_chunks::<8>(), self.1.as_chunks::<8>());
        let mut columns = [Complex::new(0.0, 0.0); 8];
        for (v, w) in v.iter().zip(w) {
            for k in 0..8 {
                columns[k] += v[k].conj() * w[k];
            }
        }
        let rest = v_rest.iter().zip(w_rest).map(|(v, w)| v.conj() * w);
        columns.into_iter().chain(rest).sum()
    }
}
