//! Comparison of a device with the kernels of this program.

use ketgrad_core::{
    basis::odd,
    kernel::{
        DeviceStateVector, DeviceStates, ExecuteError, Executor, Operator, OverlapProbe, SimdFloat,
        StateHint, Threads,
    },
    matrix::Matrix,
    observable::{Pauli, PauliString, PauliSum},
    plan::Fast,
    state::StateVector,
};
use num_complex::Complex;

use crate::{device::Device, executor::HostKernels};

pub(super) type HostState<E> = StateVector<Complex<E>>;

/// Number of operators of each kind.
const ROUNDS: usize = 6;

/// Largest number of targets that is tried.
const MOST_TARGETS: usize = 5;

/// Wraps an error of this side.
pub(super) fn ours(error: impl std::fmt::Display) -> ExecuteError {
    ExecuteError::new("the suite", error.to_string())
}

pub(super) fn number<E: SimdFloat>(re: f64, im: f64) -> Complex<E> {
    Complex::new(E::round_from(re), E::round_from(im))
}

/// Deterministic pseudo-random numbers (SplitMix64).
pub(super) struct SplitMix64(pub(super) u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    /// Returns a number in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// Returns a number from -1 to 1.
    fn real(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
    fn phase(&mut self) -> Complex<f64> {
        Complex::cis(std::f64::consts::PI * self.real())
    }
    /// Returns different qubits of n; the first and the last of the state are often among them.
    fn qubits(&mut self, n: usize, count: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..n).collect();
        let first = self.below(3);
        if first > 0 {
            all.swap(0, if first == 1 { n - 1 } else { 0 });
        }
        for k in first.min(1)..count {
            let other = k + self.below(n - k);
            all.swap(k, other);
        }
        all.truncate(count);
        all
    }
    /// Returns a unitary matrix on k qubits: random rows made orthonormal (Gram-Schmidt).
    fn unitary(&mut self, k: usize) -> Matrix<Complex<f64>> {
        let dim = 1usize << k;
        let mut rows: Vec<Vec<Complex<f64>>> = Vec::new();
        while rows.len() < dim {
            let mut row: Vec<_> =
                (0..dim).map(|_| Complex::new(self.real(), self.real())).collect();
            for _ in 0..2 {
                for other in &rows {
                    let along: Complex<f64> =
                        other.iter().zip(&row).map(|(a, b)| a.conj() * b).sum();
                    row.iter_mut().zip(other).for_each(|(x, a)| *x -= along * a);
                }
            }
            let norm = row.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
            if norm > 0.1 {
                row.iter_mut().for_each(|x| *x /= norm);
                rows.push(row);
            }
        }
        Matrix::from_fn(k, |i, j| rows[i][j])
    }
}

/// Returns a matrix of each shape on k qubits.
pub(super) fn matrices(k: usize, dice: &mut SplitMix64) -> Vec<Matrix<Complex<f64>>> {
    let (zero, one) = (Complex::new(0.0, 0.0), Complex::new(1.0, 0.0));
    let dim = 1usize << k;
    let phases: Vec<Complex<f64>> = (0..dim).map(|_| dice.phase()).collect();
    let diagonal = |entry: &dyn Fn(usize) -> Complex<f64>| {
        Matrix::from_fn(k, |i, j| if i == j { entry(i) } else { zero })
    };
    let moves = |to: &dyn Fn(usize) -> usize, factor: &dyn Fn(usize) -> Complex<f64>| {
        Matrix::from_fn(k, |i, j| if i == to(j) { factor(j) } else { zero })
    };
    vec![
        dice.unitary(k),
        diagonal(&|i| phases[i]),
        diagonal(&|i| if i + 1 == dim { phases[i] } else { one }),
        diagonal(&|_| phases[0]),
        moves(&|j| j ^ (dim - 1), &|_| one),
        moves(&|j| (j + 1) % dim, &|j| phases[j]),
        // The exchange of two states; all of X for one qubit.
        moves(&|j| if j + 1 == dim || j + 2 == dim { 2 * dim - 3 - j } else { j }, &|_| one),
    ]
}

/// Returns operators of every shape on low and high qubits, without controls and under some of both
/// values.
pub(super) fn operators<E: SimdFloat>(
    device: &Device,
    n: usize,
    seed: u64,
) -> Result<Vec<Operator<Complex<E>>>, ExecuteError> {
    operators_on(device.max_targets(), n, seed)
}

/// Compares operators on at most that many targets.
fn operators_on<E: SimdFloat>(
    most: usize,
    n: usize,
    seed: u64,
) -> Result<Vec<Operator<Complex<E>>>, ExecuteError> {
    let mut dice = SplitMix64(seed);
    let mut all = Vec::new();
    let most = most.min(MOST_TARGETS).min(n - 1);
    for round in 0..ROUNDS {
        for k in 1..=most {
            for matrix in matrices(k, &mut dice) {
                let count = if round == 0 { 0 } else { dice.below(4).min(n - k) };
                let qubits = dice.qubits(n, k + count);
                let (targets, controls) = qubits.split_at(k);
                let controls: Vec<(usize, bool)> =
                    controls.iter().map(|q| (*q, dice.below(2) == 1)).collect();
                let matrix =
                    Matrix::from_fn(k, |i, j| number::<E>(matrix[(i, j)].re, matrix[(i, j)].im));
                all.push(Operator::new(&matrix, targets, &controls).map_err(ours)?);
            }
        }
    }
    Ok(all)
}

pub(super) fn random<E: SimdFloat>(n: usize, seed: u64) -> Result<HostState<E>, ExecuteError> {
    HostState::<E>::random(n, seed, &Threads::serial()).map_err(ours)
}

pub(super) fn upload<E: SimdFloat>(
    device: &Device,
    state: &HostState<E>,
) -> Result<Box<dyn DeviceStateVector<Complex<E>>>, ExecuteError> {
    DeviceStates::upload(device, state.amplitudes())
}

fn download<E: SimdFloat>(
    from: &dyn DeviceStateVector<Complex<E>>,
) -> Result<Vec<Complex<E>>, ExecuteError> {
    let mut amplitudes = vec![number::<E>(f64::NAN, 0.0); 1 << from.n_qubits()];
    from.download(&mut amplitudes)?;
    Ok(amplitudes)
}

/// Returns the largest difference of two amplitudes; NaN if one is NaN.
pub(super) fn distance<E: SimdFloat>(a: &[Complex<E>], b: &[Complex<E>]) -> f64 {
    let one = |(a, b): (&Complex<E>, &Complex<E>)| {
        let part = |x: E, y: E| Into::<f64>::into(x) - Into::<f64>::into(y);
        part(a.re, b.re).hypot(part(a.im, b.im))
    };
    largest(a.iter().zip(b).map(one))
}

/// Returns the largest number; NaN if one is NaN.
pub(super) fn largest(all: impl Iterator<Item = f64>) -> f64 {
    all.fold(0.0, |most, x| if x > most || x.is_nan() { x } else { most })
}

pub(super) fn moves<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let state = random::<E>(n, 1)?;
    Ok(distance(&download(&*upload(device, &state)?)?, state.amplitudes()))
}

pub(super) fn each_operator<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let start = random::<E>(n, 2)?;
    let mut error = 0.0;
    for operator in operators::<E>(device, n, 3)? {
        let mut there = upload(device, &start)?;
        there.apply(std::slice::from_ref(&operator))?;
        let mut here = start.amplitudes().to_vec();
        operator.apply(&mut here, &Threads::serial());
        error = largest([error, distance(&download(&*there)?, &here)].into_iter());
    }
    Ok(error)
}

pub(super) fn in_a_row<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let start = random::<E>(n, 4)?;
    let operators = operators::<E>(device, n, 5)?;
    let mut here = start.amplitudes().to_vec();
    operators.iter().for_each(|o| o.apply(&mut here, &Threads::serial()));
    let mut there = upload(device, &start)?;
    there.apply(&operators)?;
    // Also as an executor of states in the host's memory.
    let mut moved = start.amplitudes().to_vec();
    Executor::run(device, &operators, &mut moved, &Threads::serial())?;
    Ok(largest([distance(&download(&*there)?, &here), distance(&moved, &here)].into_iter()))
}

/// Runs each operator by kernels in the host's memory.
pub(super) fn each_here(kernels: &HostKernels, n: usize) -> Result<f64, ExecuteError> {
    let start = random::<f64>(n, 2)?;
    let mut error = 0.0;
    for operator in operators_on::<f64>(kernels.max_targets(), n, 3)? {
        let (mut there, mut here) = (start.amplitudes().to_vec(), start.amplitudes().to_vec());
        Executor::run(kernels, std::slice::from_ref(&operator), &mut there, &Threads::serial())?;
        operator.apply(&mut here, &Threads::serial());
        error = largest([error, distance(&there, &here)].into_iter());
    }
    Ok(error)
}

pub(super) fn in_a_row_here(kernels: &HostKernels, n: usize) -> Result<f64, ExecuteError> {
    row(kernels, n, &Threads::serial())
}

pub(super) fn on_threads(kernels: &HostKernels, n: usize) -> Result<f64, ExecuteError> {
    row(kernels, n, &Threads::new(2).map_err(ours)?)
}

fn row(kernels: &HostKernels, n: usize, threads: &Threads) -> Result<f64, ExecuteError> {
    let start = random::<f64>(n, 4)?;
    let operators = operators_on::<f64>(kernels.max_targets(), n, 5)?;
    let (mut there, mut here) = (start.amplitudes().to_vec(), start.amplitudes().to_vec());
    Executor::run(kernels, &operators, &mut there, threads)?;
    operators.iter().for_each(|o| o.apply(&mut here, &Threads::serial()));
    Ok(distance(&there, &here))
}

pub(super) fn basis<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let mut error = 0.0;
    for index in [0, 1, (1 << (n - 1)) | 2, (1 << n) - 1] {
        let expected = HostState::<E>::basis(n, index).map_err(ours)?;
        let there: Box<dyn DeviceStateVector<Complex<E>>> = device.basis(n, index)?;
        error = largest([error, distance(&download(&*there)?, expected.amplitudes())].into_iter());
    }
    Ok(error)
}

pub(super) fn copies<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let start = random::<E>(n, 6)?;
    let mut there = upload(device, &start)?;
    let copy = there.copy()?;
    there.apply(&operators::<E>(device, n, 7)?[..2])?;
    drop(there);
    Ok(distance(&download(&*copy)?, start.amplitudes()))
}

/// Returns sums of few strings, of many, of the identity alone, with X, Y and Z on low and high
/// qubits.
fn observables(n: usize, seed: u64) -> Result<Vec<PauliSum>, ExecuteError> {
    let mut dice = SplitMix64(seed);
    let mut string = |most: usize| {
        let count = dice.below(most + 1);
        let qubits = dice.qubits(n, count);
        let factors =
            qubits.into_iter().map(|q| (q, [Pauli::X, Pauli::Y, Pauli::Z][dice.below(3)]));
        let factors: Vec<_> = factors.collect();
        Ok((dice.real(), PauliString::new(factors).map_err(ours)?))
    };
    let all_z = PauliString::new((0..n).map(|q| (q, Pauli::Z))).map_err(ours)?;
    let all_y = PauliString::new((0..n).map(|q| (q, Pauli::Y))).map_err(ours)?;
    let many = (0..40).map(|_| string(n)).collect::<Result<Vec<_>, ExecuteError>>()?;
    Ok(vec![
        PauliSum::new([(0.7, PauliString::default())]).map_err(ours)?,
        PauliSum::new([(1.0, all_z), (-0.5, all_y)]).map_err(ours)?,
        PauliSum::new((0..6).map(|_| string(3)).collect::<Result<Vec<_>, ExecuteError>>()?)
            .map_err(ours)?,
        // Divided by their number, so that sums are of the size of one.
        PauliSum::new(many.into_iter().map(|(c, s)| (c / 40.0, s))).map_err(ours)?,
        PauliSum::default(),
    ])
}

pub(super) fn expectations<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let state = random::<E>(n, 8)?;
    let there = upload(device, &state)?;
    let difference = |sum: &PauliSum| {
        let here: f64 = state.expectation(sum, &Threads::serial()).map_err(ours)?.into();
        Ok((there.expectation(sum)? - here).abs())
    };
    let all =
        observables(n, 9)?.iter().map(difference).collect::<Result<Vec<f64>, ExecuteError>>()?;
    Ok(largest(all.into_iter()))
}

pub(super) fn observed<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let state = random::<E>(n, 10)?;
    let there = upload(device, &state)?;
    let mut error = 0.0;
    for sum in observables(n, 11)? {
        let mut here = vec![Complex::new(0.0, 0.0); 1 << n];
        for (coefficient, string) in sum.terms() {
            let (x, z) = (string.x_mask(), string.z_mask());
            let turn = Complex::new(0.0, 1.0).powu((x & z).count_ones());
            for (i, a) in state.amplitudes().iter().enumerate() {
                let sign = if odd(i & z) { -coefficient } else { *coefficient };
                here[i ^ x] += turn * sign * Complex::<f64>::new(a.re.into(), a.im.into());
            }
        }
        let here: Vec<Complex<E>> = here.into_iter().map(|z| number(z.re, z.im)).collect();
        error = largest([error, distance(&download(&*there.observed(&sum)?)?, &here)].into_iter());
    }
    Ok(largest([error, distance(&download(&*there)?, state.amplitudes())].into_iter()))
}

pub(super) fn inners<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let (a, b) = (random::<E>(n, 12)?, random::<E>(n, 13)?);
    let here = a.inner(&b, &Threads::serial()).map_err(ours)?;
    let (on_a, on_b) = (upload(device, &a)?, upload(device, &b)?);
    let there = on_a.inner(&*on_b)?;
    let norm = on_a.inner(&*on_a)?;
    let own = a.inner(&a, &Threads::serial()).map_err(ours)?;
    let off = |x: Complex<f64>, y: Complex<E>| (x - Complex::new(y.re.into(), y.im.into())).norm();
    Ok(largest([off(there, here), off(norm, own)].into_iter()))
}

pub(super) fn pairs<E: SimdFloat>(device: &Device, n: usize) -> Result<f64, ExecuteError> {
    let (psi, lambda) = (random::<E>(n, 14)?, random::<E>(n, 15)?);
    let operators = operators::<E>(device, n, 16)?;
    let mut dice = SplitMix64(17);
    // Several before the first, several at one place, none at most, some after the last.
    let mut places: Vec<usize> = (0..60).map(|_| dice.below(operators.len() + 2)).collect();
    places.extend([0, 0, operators.len()]);
    places.sort_unstable();
    let inner = |before| OverlapProbe { before, x: dice.below(1 << n), z: dice.below(1 << n) };
    let inners: Vec<OverlapProbe> = places.into_iter().map(inner).collect();

    let fast = Fast::new();
    let pairs = Executor::<Complex<E>>::pair_executor(&fast, n)
        .ok_or_else(|| ours("no kernels for two states"))?;
    let (mut here_psi, mut here_lambda) = (psi.amplitudes().to_vec(), lambda.amplitudes().to_vec());
    let here = pairs.run(
        &operators,
        &inners,
        StateHint::Arbitrary,
        &mut here_psi,
        &mut here_lambda,
        &Threads::serial(),
    )?;

    let (mut on_psi, mut on_lambda) = (upload(device, &psi)?, upload(device, &lambda)?);
    let there = on_psi.apply_pair(&mut *on_lambda, &operators, &inners)?;
    let values = largest(here.iter().zip(&there).map(|(a, b)| (a - b).abs()));
    let states = [
        distance(&download(&*on_psi)?, &here_psi),
        distance(&download(&*on_lambda)?, &here_lambda),
        values,
    ];
    Ok(largest(states.into_iter()))
}
