//! Lists of operators as kernels receive them in real use: long ones, and on states large enough
//! for blocks, vector registers and several threads.
//!
//! Every target is tried with every shape of operator on one qubit, alone and under a control of
//! either value, and in pairs with others in both orders. A difference is traced operator by
//! operator, so that the message names the one at fault.

use std::ops::Range;

use ketgrad_core::{
    kernel::{ExecuteError, Executor, Operator, OperatorShape, SimdFloat, Threads},
    matrix::Matrix,
};
use num_complex::Complex;

use super::compare::{SplitMix64, distance, matrices, number, ours, random};

/// List on states of some size.
#[derive(Clone, Copy)]
pub(super) struct List {
    pub(super) n_qubits: usize,
    /// Number of matrices of one qubit for each target, of the seven shapes.
    pub(super) shapes: usize,
    /// Number of matrices of two qubits.
    pub(super) pairs: usize,
    pub(super) threads: usize,
    pub(super) what: &'static str,
}

const fn list(n_qubits: usize, shapes: usize, pairs: usize, threads: usize) -> List {
    let what = match threads {
        1 => "each target in a long list",
        2 => "each target in a long list on two threads",
        _ => "each target in a long list on three threads",
    };
    List { n_qubits, shapes, pairs, threads, what }
}

/// Lists that run at load: a thousand operators on few qubits, and fewer the more there are.
pub(super) const SHORT: [List; 7] = [
    list(5, 63, 28, 1),
    list(7, 7, 7, 1),
    list(11, 7, 3, 1),
    list(12, 7, 2, 3),
    list(13, 2, 1, 1),
    list(14, 2, 1, 2),
    list(16, 1, 0, 3),
];

/// Lists that run on request.
pub(super) const LONG: [List; 10] = [
    list(5, 63, 28, 1),
    list(8, 21, 14, 2),
    list(11, 7, 7, 1),
    list(11, 7, 7, 2),
    list(12, 7, 7, 3),
    list(13, 7, 7, 1),
    list(14, 7, 3, 2),
    list(15, 3, 1, 3),
    list(16, 2, 1, 1),
    list(16, 2, 1, 3),
];

impl List {
    /// Returns the operators on at most that many targets.
    fn operators<E: SimdFloat>(
        &self,
        most: usize,
    ) -> Result<Vec<Operator<Complex<E>>>, ExecuteError> {
        let n = self.n_qubits;
        let mut dice = SplitMix64(31 + n as u64);
        let mut all = Vec::new();
        let mut add =
            |matrix: &Matrix<Complex<f64>>, targets: &[usize], controls: &[(usize, bool)]| {
                let k = targets.len();
                let matrix =
                    Matrix::from_fn(k, |i, j| number::<E>(matrix[(i, j)].re, matrix[(i, j)].im));
                all.push(Operator::new(&matrix, targets, controls).map_err(ours)?);
                Ok::<(), ExecuteError>(())
            };
        for target in 0..n {
            let other = |dice: &mut SplitMix64, taken: &[usize]| loop {
                let q = dice.below(n);
                if !taken.contains(&q) {
                    return q;
                }
            };
            for k in 0..self.shapes {
                let matrix = &matrices(1, &mut dice)[k % 7];
                add(matrix, &[target], &[])?;
                for value in [false, true] {
                    let q = other(&mut dice, &[target]);
                    add(matrix, &[target], &[(q, value)])?;
                }
            }
            for k in 0..self.pairs {
                if most < 2 {
                    break;
                }
                let matrix = &matrices(2, &mut dice)[k % 7];
                let second = other(&mut dice, &[target]);
                add(matrix, &[target, second], &[])?;
                let (p, q) = (other(&mut dice, &[target, second]), dice.below(2) == 1);
                add(matrix, &[second, target], &[(p, q)])?;
            }
        }
        Ok(all)
    }

    /// Returns the largest difference, and its place in words if it is above the bound.
    pub(super) fn run<E: SimdFloat>(
        &self,
        executor: &dyn Executor<Complex<E>>,
        most: usize,
        bound: f64,
    ) -> Result<(f64, Option<String>), ExecuteError> {
        let threads = Threads::new(self.threads).map_err(ours)?;
        let operators = self.operators::<E>(most)?;
        let start = random::<E>(self.n_qubits, 30)?;
        let mut here = start.amplitudes().to_vec();
        operators.iter().for_each(|o| o.apply(&mut here, &Threads::serial()));
        let mut there = start.amplitudes().to_vec();
        executor.run(&operators, &mut there, &threads)?;
        let error = distance(&there, &here);
        if error <= bound {
            return Ok((error, None));
        }
        Ok((error, Some(found(executor, &operators, start.amplitudes(), &threads, bound)?)))
    }
}

/// Finds the operator, or else the shortest list, that goes wrong, and describes it.
fn found<E: SimdFloat>(
    executor: &dyn Executor<Complex<E>>,
    operators: &[Operator<Complex<E>>],
    start: &[Complex<E>],
    threads: &Threads,
    bound: f64,
) -> Result<String, ExecuteError> {
    let mut here = start.to_vec();
    for operator in operators {
        let mut there = here.clone();
        executor.run(std::slice::from_ref(operator), &mut there, threads)?;
        operator.apply(&mut here, &Threads::serial());
        let off = distance(&there, &here);
        if off > bound || off.is_nan() {
            return Ok(format!("{}: {}", in_words(operator), difference(&there, &here)));
        }
    }
    // Each alone is right: the shortest list that is wrong, if longer ones are, too.
    let both = |n: usize| {
        let (mut there, mut here) = (start.to_vec(), start.to_vec());
        executor.run(&operators[..n], &mut there, threads)?;
        operators[..n].iter().for_each(|o| o.apply(&mut here, &Threads::serial()));
        Ok::<_, ExecuteError>((there, here))
    };
    let Range { start: mut right, end: mut wrong } = 0..operators.len();
    while wrong - right > 1 {
        let middle = right.midpoint(wrong);
        let (there, here) = both(middle)?;
        if distance(&there, &here) <= bound { right = middle } else { wrong = middle }
    }
    let (there, here) = both(wrong)?;
    let last = operators.get(right).map(in_words).unwrap_or_default();
    Ok(format!(
        "a list of {wrong} operators, each alone right, that ends with {last}: {}",
        difference(&there, &here)
    ))
}

/// Describes the amplitude with the largest difference.
fn difference<E: SimdFloat>(there: &[Complex<E>], here: &[Complex<E>]) -> String {
    let off = |k: &usize| distance(&there[*k..=*k], &here[*k..=*k]);
    let order = |a: &usize, b: &usize| off(a).total_cmp(&off(b));
    let Some(k) = (0..here.len().min(there.len())).max_by(order) else {
        return "no amplitudes".to_owned();
    };
    let shown = |z: &Complex<E>| Complex::<f64>::new(z.re.into(), z.im.into()).to_string();
    format!("amplitude {k} is {}, expected {}", shown(&there[k]), shown(&here[k]))
}

/// Describes an operator and the bits that it acts on.
fn in_words<E: SimdFloat>(operator: &Operator<Complex<E>>) -> String {
    let (fixed, value) = operator.controls();
    let bits = |mask: usize| (0..usize::BITS as usize).filter(move |b| mask >> b & 1 == 1);
    let list = |mask: usize| bits(mask).map(|b| b.to_string()).collect::<Vec<_>>().join(", ");
    let (what, targets) = match operator.shape() {
        OperatorShape::Identity => ("an identity", 0),
        OperatorShape::Phase(_) => ("a phase", 0),
        OperatorShape::Diagonal(factors) => {
            ("a diagonal operator", factors.iter().fold(0, |t, (o, _)| t | o))
        }
        OperatorShape::Swap(a, b) => ("an exchange", a | b),
        OperatorShape::Cycles(cycles) => {
            ("a permutation", cycles.iter().flatten().fold(0, |t, (o, _)| t | o))
        }
        OperatorShape::Parity { z, .. } => ("a parity", *z),
        OperatorShape::PauliString { x, z, .. } => ("a Pauli string", x | z),
        OperatorShape::Dense { offsets, .. } => {
            ("a dense operator", offsets.last().copied().unwrap_or(0))
        }
    };
    let controls = fixed & !targets;
    let on = if targets == 0 { String::new() } else { format!(" on qubits [{}]", list(targets)) };
    let under: Vec<String> = bits(controls).map(|q| format!("{q} = {}", value >> q & 1)).collect();
    let under =
        if under.is_empty() { String::new() } else { format!(" where qubit {}", under.join(", ")) };
    format!("{what}{on}{under}")
}
