//! Gates on states.
#![expect(unsafe_code, reason = "kernels are launched with addresses of device memory")]

use std::sync::{Mutex, PoisonError};

use ketgrad_core::{
    kernel::{Element, Inner, Operator},
    matrix::Matrix,
    plan::Schedule,
};
use ketgrad_plugin_sdk::{C64, Error, Gates, PauliTerm, Precision, Result};
use num_complex::Complex;

use crate::{
    bits::ones,
    driver::{self, Arg, Buffer, Driver, Launch as Kernel, Packed},
    paulis,
    program::{Form, Launch, Program, STAGE_THREADS},
    state::{State, amplitude_bytes},
};

/// Threads of a block of a single operator.
const THREADS: u32 = 256;

/// Threads of a warp.
const WARP: u32 = 32;

/// Shared memory that the system takes of each block.
const RESERVED_SHARED: u32 = 1 << 10;

/// Schedules of earlier runs: a circuit that comes again with other angles is not cut anew. One for each precision.
#[derive(Default)]
pub(crate) struct Schedules([Mutex<Option<Schedule>>; 2]);

impl Schedules {
    /// Applies operators in order.
    ///
    /// # Errors
    /// One does not fit the state, or the device fails.
    pub(crate) fn apply(&self, state: &mut State, gates: Gates<'_>) -> Result<()> {
        self.operate(state, &operators(gates, state.n_qubits())?)
    }

    fn operate(&self, state: &mut State, operators: &[Operator<C64>]) -> Result<()> {
        let program = self.program(state, operators, None);
        Run::new(state, &program)?.all(state)
    }

    /// Applies operators to both states, and gives the inner products on the way.
    ///
    /// # Errors
    /// As [`Schedules::apply`].
    pub(crate) fn apply_pair(
        &self,
        psi: &mut State,
        lambda: &mut State,
        gates: Gates<'_>,
        inners: &[ketgrad_plugin_sdk::Inner],
        values: &mut [f64],
    ) -> Result<()> {
        let of = |inner: &ketgrad_plugin_sdk::Inner| Inner {
            before: usize::try_from(inner.before).unwrap_or(usize::MAX),
            x: inner.x as usize,
            z: inner.z as usize,
        };
        let inners: Vec<Inner> = inners.iter().map(of).collect();
        self.operate_pair(psi, lambda, &operators(gates, psi.n_qubits())?, &inners, values)
    }

    fn operate_pair(
        &self,
        psi: &mut State,
        lambda: &mut State,
        operators: &[Operator<C64>],
        inners: &[Inner],
        values: &mut [f64],
    ) -> Result<()> {
        let program = self.program(psi, operators, Some(inners));
        Run::new(psi, &program)?.pair(psi, lambda, values)
    }

    /// In single precision matrices are rounded first, so that what is unitary up to that rounding counts as such.
    fn program(&self, state: &State, operators: &[Operator<C64>], inners: Option<&[Inner]>) -> Program {
        match state.precision() {
            Precision::Double => self.of(state, operators, inners),
            Precision::Single => {
                let rounded = |o: &Operator<C64>| o.map(|z| Complex::new(z.re as f32, z.im as f32));
                let operators: Vec<Operator<Complex<f32>>> = operators.iter().map(rounded).collect();
                self.of(state, &operators, inners)
            }
        }
    }

    fn of<E: Element>(
        &self,
        state: &State,
        operators: &[Operator<Complex<E>>],
        inners: Option<&[Inner]>,
    ) -> Program {
        let n_qubits = state.n_qubits() as usize;
        let form = form(state);
        if inners.is_some() {
            return Program::new(n_qubits, operators, inners, form, &mut None);
        }
        let kept = &self.0[usize::from(state.precision() == Precision::Single)];
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        Program::new(n_qubits, operators, None, form, &mut kept)
    }
}

fn form(state: &State) -> Form {
    Form::new(state.precision(), state.driver().properties().capability)
}

/// The operators of a list.
fn operators(gates: Gates<'_>, n_qubits: u32) -> Result<Vec<Operator<C64>>> {
    let one = |gate: ketgrad_plugin_sdk::Gate<'_>| {
        let targets: Vec<usize> = gate.targets.iter().map(|q| *q as usize).collect();
        let (mask, value) = (gate.control_mask as usize, gate.control_value as usize);
        let controls: Vec<(usize, bool)> = ones(mask).map(|q| (q, value >> q & 1 == 1)).collect();
        let zero = C64::new(0.0, 0.0);
        let matrix = Matrix::from_fn(targets.len(), |row, column| match gate.is_diagonal {
            true if row != column => zero,
            true => gate.matrix[row],
            false => gate.matrix[row << targets.len() | column],
        });
        let operator = Operator::new(&matrix, &targets, &controls).map_err(|e| Error::new(e.to_string()))?;
        if operator.n_qubits() > n_qubits as usize {
            let needed = operator.n_qubits();
            return Err(Error::new(format!("an operator on {needed} qubits, a state of {n_qubits}")));
        }
        Ok(operator)
    };
    gates.iter().map(one).collect()
}

/// A program on its device.
struct Run<'a> {
    program: &'a Program,
    precision: Precision,
    /// Words and numbers, which the device reads as long as this lives.
    data: Buffer<u8>,
    numbers: u64,
}

impl<'a> Run<'a> {
    fn new(state: &State, program: &'a Program) -> Result<Run<'a>> {
        let mut packed = Packed::default();
        packed.push(&program.words);
        let numbers = match state.precision() {
            Precision::Double => packed.push(&program.numbers),
            Precision::Single => {
                packed.push(&program.numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>())
            }
        };
        let data = packed.upload(state.driver())?;
        Ok(Run { program, precision: state.precision(), data, numbers })
    }

    fn words_at(&self) -> Arg {
        Arg::At(self.data.at())
    }

    fn numbers_at(&self) -> Arg {
        Arg::At(self.data.at() + self.numbers)
    }

    fn all(&self, state: &mut State) -> Result<()> {
        for launch in &self.program.launches {
            match launch {
                Launch::Stage { at, bits, tiles, groups, .. } => {
                    let shared_bytes = self.shared(*bits, *groups, 1);
                    let (grid, block) = self.grid(state, *tiles, shared_bytes);
                    let args = [
                        Arg::At(state.at()),
                        self.words_at(),
                        self.numbers_at(),
                        Arg::U32(*at),
                        Arg::U32(*tiles),
                    ];
                    self.launch(state, "stage", (grid, block, shared_bytes), &args)?;
                }
                plain => self.plain(state, plain)?,
            }
        }
        Ok(())
    }

    fn pair(&self, psi: &mut State, lambda: &mut State, values: &mut [f64]) -> Result<()> {
        values.fill(0.0);
        let sums = self.sums(psi);
        let out = Buffer::<f64>::new(psi.driver(), sums.max(1))?;
        let mut first = 0;
        for launch in &self.program.launches {
            match launch {
                Launch::Stage { at, bits, tiles, groups, looks } => {
                    let (grid, block, shared_bytes) = self.of_pair(psi, launch).unwrap_or_default();
                    let args = [
                        Arg::At(psi.at()),
                        Arg::At(lambda.at()),
                        self.words_at(),
                        self.numbers_at(),
                        Arg::U32(*at),
                        Arg::U32(*tiles),
                        Arg::At(out.at() + (first * size_of::<f64>()) as u64),
                    ];
                    debug_assert!(shared_bytes >= self.shared(*bits, *groups, 2));
                    self.launch(psi, "stage_pair", (grid, block, shared_bytes), &args)?;
                    first += grid as usize * looks.len();
                }
                Launch::Inner { number, x, z } => {
                    let term = PauliTerm { coefficient: 1.0, x: *x, z: *z };
                    values[*number] += paulis::inner(lambda, &[term], psi)?.im;
                }
                plain => {
                    self.plain(psi, plain)?;
                    self.plain(lambda, plain)?;
                }
            }
        }
        let mut blocks = vec![0.0; sums];
        out.read(0, &mut blocks)?;
        let mut blocks = blocks.as_slice();
        for launch in &self.program.launches {
            let Launch::Stage { looks, .. } = launch else { continue };
            let (grid, ..) = self.of_pair(psi, launch).unwrap_or_default();
            let (these, rest) = blocks.split_at(grid as usize * looks.len());
            blocks = rest;
            for block in these.chunks(looks.len().max(1)) {
                block.iter().zip(looks).for_each(|(sum, (number, weight))| values[*number] += weight * sum);
            }
        }
        Ok(())
    }

    /// The sums of all blocks of all stages.
    fn sums(&self, state: &State) -> usize {
        let of = |launch: &Launch| match launch {
            Launch::Stage { looks, .. } => {
                self.of_pair(state, launch).map_or(0, |(grid, ..)| grid as usize * looks.len())
            }
            _ => 0,
        };
        self.program.launches.iter().map(of).sum()
    }

    /// Blocks, threads and shared memory of a stage on two states.
    fn of_pair(&self, state: &State, launch: &Launch) -> Option<(u32, u32, u32)> {
        let Launch::Stage { bits, tiles, groups, looks, .. } = launch else { return None };
        let sums = (STAGE_THREADS as u32).div_ceil(WARP) * looks.len() as u32 * size_of::<f64>() as u32;
        let shared_bytes = self.shared(*bits, groups.next_multiple_of(2), 2) + sums;
        let (grid, block) = self.grid(state, *tiles, shared_bytes);
        Some((grid, block, shared_bytes))
    }

    /// Bytes of the tiles of some states and the factors of groups.
    fn shared(&self, bits: u32, groups: u32, states: u32) -> u32 {
        ((states << bits) + groups) * amplitude_bytes(self.precision) as u32
    }

    /// As many blocks as run at the same time, which go through all tiles; and their threads.
    fn grid(&self, state: &State, tiles: u32, shared_bytes: u32) -> (u32, u32) {
        let properties = state.driver().properties();
        let each = (properties.shared_per_multiprocessor / (shared_bytes + RESERVED_SHARED)).max(1);
        (tiles.min(properties.multiprocessors * each), STAGE_THREADS as u32)
    }

    fn plain(&self, state: &mut State, launch: &Launch) -> Result<()> {
        let (kernel, middle, groups) = match *launch {
            Launch::Dense { targets, at, matrix, groups } => {
                const DENSE: [&str; 5] = ["dense1", "dense2", "dense3", "dense4", "dense5"];
                let kernel = targets.checked_sub(1).and_then(|k| DENSE.get(k as usize));
                let kernel = *kernel
                    .ok_or_else(|| Error::unsupported(format!("a matrix on {targets} qubits; at most 5")))?;
                (kernel, vec![Arg::U32(at), Arg::U32(matrix)], groups)
            }
            Launch::Diagonal { at, factors, count, groups } => {
                ("diagonal", vec![Arg::U32(at), Arg::U32(factors), Arg::U32(count)], groups)
            }
            Launch::Cycle { at, factors, count, groups } => {
                ("cycle", vec![Arg::U32(at), Arg::U32(factors), Arg::U32(count)], groups)
            }
            Launch::Stage { .. } | Launch::Inner { .. } => return Ok(()),
        };
        let mut args = vec![Arg::At(state.at()), self.words_at(), self.numbers_at()];
        args.extend(middle);
        args.push(Arg::U64(groups));
        let block =
            THREADS.min(groups.next_power_of_two().max(u64::from(WARP)).min(u64::from(THREADS)) as u32);
        let grid = u32::try_from(groups.div_ceil(u64::from(block)))
            .map_err(|_| Error::new(format!("{groups} sets of amplitudes: more than a device counts")))?;
        self.launch(state, kernel, (grid, block, 0), &args)
    }

    fn launch(
        &self,
        state: &State,
        kernel: &'static str,
        (grid, block, shared_bytes): (u32, u32, u32),
        args: &[Arg],
    ) -> Result<()> {
        let launch = Kernel { kernel, precision: self.precision, grid, block, shared_bytes };
        // SAFETY: the states hold 2^n amplitudes each, the program was written for n qubits, and its words and
        // numbers are on the device; the arguments are those of the kernels' signatures.
        unsafe { driver::launch(state.driver().as_ref() as &dyn Driver, launch, args) }
    }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use ketgrad_core::kernel::{Executor, Generic, Threads};

    use super::*;
    use crate::testing;

    /// Numbers that look random.
    struct Random(u64);

    impl Random {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as usize % n
        }
        fn unit(&mut self) -> f64 {
            self.below(1 << 40) as f64 / (1u64 << 40) as f64
        }
        fn qubits(&mut self, n: usize, count: usize) -> Vec<usize> {
            let mut all: Vec<usize> = (0..n).collect();
            (0..count).map(|_| all.swap_remove(self.below(all.len()))).collect()
        }
        /// A random unitary matrix: columns made orthonormal one after the other.
        fn unitary(&mut self, k: usize) -> Matrix<C64> {
            let mut columns: Vec<Vec<C64>> = Vec::new();
            for _ in 0..1 << k {
                let mut v: Vec<C64> =
                    (0..1 << k).map(|_| C64::new(self.unit() - 0.5, self.unit() - 0.5)).collect();
                for u in &columns {
                    let dot: C64 = u.iter().zip(&v).map(|(a, b)| a.conj() * b).sum();
                    v.iter_mut().zip(u).for_each(|(b, a)| *b -= dot * a);
                }
                let norm = v.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
                columns.push(v.iter().map(|z| z / norm).collect());
            }
            Matrix::from_fn(k, |row, column| columns[column][row])
        }
        fn diagonal(&mut self, k: usize) -> Matrix<C64> {
            let entries: Vec<C64> = (0..1 << k).map(|_| C64::cis(self.unit() * TAU)).collect();
            Matrix::from_fn(k, |r, c| if r == c { entries[r] } else { C64::new(0.0, 0.0) })
        }
        fn permutation(&mut self, k: usize) -> Matrix<C64> {
            let to = self.qubits(1 << k, 1 << k);
            let factor = if self.below(2) == 0 { C64::new(1.0, 0.0) } else { C64::cis(self.unit() * TAU) };
            Matrix::from_fn(k, |r, c| if to[c] == r { factor } else { C64::new(0.0, 0.0) })
        }
        /// Everything that an operator may be, mostly what circuits are made of.
        fn operator(&mut self, n: usize) -> Operator<C64> {
            loop {
                let (matrix, controls) = self.matrix(n);
                let k = matrix.n_qubits();
                if k + controls <= n {
                    let qubits = self.qubits(n, k + controls);
                    let (targets, others) = qubits.split_at(k);
                    let controls: Vec<(usize, bool)> =
                        others.iter().map(|q| (*q, self.below(2) == 0)).collect();
                    return Operator::new(&matrix, targets, &controls).unwrap();
                }
            }
        }
        /// The matrix of an operator, and how many controls it has.
        fn matrix(&mut self, n: usize) -> (Matrix<C64>, usize) {
            let one = C64::new(1.0, 0.0);
            let zero = C64::new(0.0, 0.0);
            let not = Matrix::from_fn(1, |r, c| if r == c { zero } else { one });
            match self.below(12) {
                0..=2 => (self.unitary(1), 0),
                3 => (self.diagonal(1), 0),
                4 => (not, 1),
                5 => (self.diagonal(2), 0),
                6 => (self.unitary(2), 0),
                7 => (self.permutation(2), 0),
                8 => (self.diagonal(1), self.below(4)),
                9 => (self.unitary(1), self.below(3)),
                10 => {
                    let k = 1 + self.below(n.min(5));
                    (self.unitary(k), 0)
                }
                _ => (self.permutation(1), self.below(3)),
            }
        }
        /// Pauli strings on up to two qubits, before operators in ascending order and after all.
        fn inners(&mut self, n: usize, count: usize) -> Vec<Inner> {
            let mut inners: Vec<Inner> = (0..count)
                .map(|_| {
                    let two = self.qubits(n, 2).iter().fold(0usize, |m, q| m | 1 << q);
                    let kinds = [(two, 0), (0, two), (two, two), (two & two.wrapping_neg(), two), (0, 0)];
                    let (x, z) = kinds[self.below(5)];
                    Inner { before: self.below(62), x, z }
                })
                .collect();
            inners.sort_by_key(|i| i.before);
            inners
        }
        fn state(&mut self, n: usize) -> Vec<C64> {
            let mut v: Vec<C64> =
                (0..1usize << n).map(|_| C64::new(self.unit() - 0.5, self.unit() - 0.5)).collect();
            let norm = v.iter().map(|z| z.norm_sqr()).sum::<f64>().sqrt();
            v.iter_mut().for_each(|z| *z /= norm);
            v
        }
    }

    fn distance(a: &[C64], b: &[C64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max)
    }

    const SIZES: [usize; 9] = [1, 2, 5, 8, 9, 11, 12, 13, 15];

    #[test]
    fn random_operators_do_what_the_generic_kernels_do() {
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let schedules = Schedules::default();
        for device in testing::devices() {
            for (precision, rounding) in [(Precision::Double, 1e-13), (Precision::Single, 1e-5)] {
                for (n, count) in SIZES.into_iter().flat_map(|n| [1, 2, 20, 150].map(|count| (n, count))) {
                    let operators: Vec<_> = (0..count).map(|_| random.operator(n)).collect();
                    let mut expected = random.state(n);
                    let mut state = testing::state(&device, precision, &expected);
                    Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
                    schedules.operate(&mut state, &operators).unwrap();
                    let off = distance(&expected, &testing::of_state(&state));
                    assert!(off < rounding, "{precision:?}, {count} operators on {n} qubits: {off:e}");
                }
            }
        }
    }

    /// A circuit with other angles takes the schedule of the one before.
    #[test]
    fn other_angles_run_on_the_schedule_of_the_first() {
        let mut random = Random(77);
        let schedules = Schedules::default();
        let (n, device) = (13, testing::device());
        for _ in 0..3 {
            let mut operators = Vec::new();
            for q in 0..n {
                operators.push(Operator::new(&random.unitary(1), &[q], &[]).unwrap());
                operators.push(Operator::new(&random.diagonal(2), &[q, (q + 5) % n], &[]).unwrap());
            }
            let mut expected = random.state(n);
            let mut state = testing::state(&device, Precision::Double, &expected);
            Generic.run(&operators, &mut expected, &Threads::serial()).unwrap();
            schedules.operate(&mut state, &operators).unwrap();
            assert!(distance(&expected, &testing::of_state(&state)) < 1e-13);
        }
    }

    #[test]
    fn two_states_and_their_inner_products_are_those_of_the_processor() {
        let mut random = Random(0x1234_5678);
        let schedules = Schedules::default();
        for device in testing::devices() {
            for (precision, rounding) in [(Precision::Double, 1e-13), (Precision::Single, 1e-5)] {
                for n in [3, 8, 9, 12, 14] {
                    let operators: Vec<_> = (0..60).map(|_| random.operator(n)).collect();
                    let inners = random.inners(n, 40);
                    let (mut psi, mut lambda) = (random.state(n), random.state(n));
                    let [mut on_psi, mut on_lambda] =
                        [&psi, &lambda].map(|v| testing::state(&device, precision, v));
                    let mut values = vec![f64::NAN; inners.len()];
                    schedules
                        .operate_pair(&mut on_psi, &mut on_lambda, &operators, &inners, &mut values)
                        .unwrap();
                    let expected = one_by_one(&operators, &inners, &mut psi, &mut lambda);
                    for (k, (value, expected)) in values.iter().zip(&expected).enumerate() {
                        let off = (value - expected).abs();
                        assert!(off < rounding, "{:?} of {n}: {value} {expected}", inners[k]);
                    }
                    assert!(distance(&psi, &testing::of_state(&on_psi)) < rounding);
                    assert!(distance(&lambda, &testing::of_state(&on_lambda)) < rounding);
                }
            }
        }
    }

    fn one_by_one(
        operators: &[Operator<C64>],
        inners: &[Inner],
        psi: &mut [C64],
        lambda: &mut [C64],
    ) -> Vec<f64> {
        let look = |inner: &Inner, psi: &[C64], lambda: &[C64]| {
            let i = C64::new(0.0, 1.0).powu((inner.x & inner.z).count_ones());
            let term = |(j, p): (usize, &C64)| {
                let sign = if (j & inner.z).count_ones() % 2 == 1 { -1.0 } else { 1.0 };
                lambda[j ^ inner.x].conj() * p * sign
            };
            (i * psi.iter().enumerate().map(term).sum::<C64>()).im
        };
        let mut values = Vec::new();
        for k in 0..=operators.len() {
            let last = k == operators.len();
            let here = inners.iter().filter(|i| i.before == k || (last && i.before > k));
            values.extend(here.map(|i| look(i, psi, lambda)));
            if let Some(operator) = operators.get(k) {
                operator.apply(psi, &Threads::serial());
                operator.apply(lambda, &Threads::serial());
            }
        }
        values
    }
}
