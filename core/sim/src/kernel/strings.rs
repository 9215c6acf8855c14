//! Operators about Pauli strings: no matrix is built, however many qubits the string is on.
//!
//! With `W|j> = (-1)^{|j & z|} |j ^ x>`, which is a Pauli string up to a power of i, an operator
//! `a + b W` joins the amplitudes j and j ^ x, and if x is empty it is a factor for each parity of
//! the bits in z:
//!
//! ```text
//! e^{-i t/2 P} = cos t/2 - i sin t/2 P        P = i^{|x & z|} W
//! ```
//!
//! Loops take two products for each amplitude. Runs are those of all qubits but the controls; where
//! x reaches beyond a run, two runs are joined, else two halves of pieces of one.
#![expect(unsafe_code, reason = "takes disjoint slices, see apply.rs")]

use std::{f64::consts::FRAC_1_SQRT_2, ops::Range};

use num_complex::Complex;

use super::{ActsOn, Operator, OperatorShape, SimdFloat, apply::OperatorTask, runs::OperatorRuns};
use crate::{
    basis::{BasisError, odd},
    matrix::Matrix,
    pauli::PauliMasks,
    scalar::Ring,
};

impl<R: Ring> Operator<R> {
    /// Returns `a + b W` with `W|j> = (-1)^{|j & z|} |j ^ x>` for the numbers `[a, b]`; if x is 0
    /// these are the factors of the amplitudes where the bits of z have even and odd parity,
    /// `[a + b, a - b]`. Under controls (qubit, value).
    ///
    /// ```
    /// use ketgrad_core::kernel::{Operator, Threads};
    /// // X0 Z1
    /// let mut amplitudes = [1.0, 2.0, 3.0, 4.0];
    /// Operator::string(0b01, 0b10, [0.0, 1.0], &[])?.apply(&mut amplitudes, &Threads::serial());
    /// assert_eq!(amplitudes, [2.0, 1.0, -4.0, -3.0]);
    /// # Ok::<(), ketgrad_core::basis::BasisError>(())
    /// ```
    ///
    /// # Errors
    /// [`BasisError`] for a control that is listed twice, is in the string, or does not fit an
    /// index.
    pub fn string(
        x: usize,
        z: usize,
        numbers: [R; 2],
        controls: &[(usize, bool)],
    ) -> Result<Operator<R>, BasisError> {
        let on = x | z;
        // Without a second qubit it is a matrix, and so is what the numbers make a multiple of the
        // identity.
        let scalar = if x == 0 { same(&numbers) } else { numbers[1].is_exact_zero() };
        if on == 0 || scalar {
            let [a, _] = numbers;
            let mut operator = Operator::new(&Matrix::from_array([[a]]), &[], controls)?;
            operator.n_qubits = operator.n_qubits.max(above(on));
            return Ok(operator);
        }
        if on.is_power_of_two() {
            return Operator::new(
                &on_one(x, z, numbers),
                &[on.trailing_zeros() as usize],
                controls,
            );
        }
        // What is wrong with the qubits, if anything is, shows without the numbers.
        let qubits: Vec<usize> = (0..usize::BITS as usize).filter(|q| on >> q & 1 == 1).collect();
        let all = || qubits.iter().copied().chain(controls.iter().map(|c| c.0));
        let n_qubits = all().max().map_or(0, |q| q.saturating_add(1));
        crate::basis::bcomspace(n_qubits, all())?;
        let fixed = all().fold(0, |mask, q| mask | 1 << q);
        let value = controls.iter().filter(|c| c.1).fold(0, |v, c| v | 1 << c.0);
        let [a, b] = numbers;
        let shape = match x {
            0 => OperatorShape::Parity { z, factors: [a, b] },
            _ => OperatorShape::PauliString { x, z, diagonal: a, off_diagonal: b },
        };
        Ok(Operator { shape, fixed, value, n_qubits })
    }

    /// Other numbers about the same string under the same controls, as [`Operator::string`].
    /// Nothing is allocated where it was about a string, or on one qubit as
    /// [`Operator::update_parameters`] says.
    ///
    /// # Errors
    /// Those of [`Operator::string`].
    pub fn update_string_parameters(
        &mut self,
        x: usize,
        z: usize,
        numbers: [R; 2],
        controls: &[(usize, bool)],
    ) -> Result<(), BasisError> {
        let on = x | z;
        if on == 0 {
            let [a, _] = numbers;
            return self.update_parameters(&Matrix::from_array([[a]]), &[], controls);
        }
        if on.is_power_of_two() {
            return self.update_parameters(
                &on_one(x, z, numbers),
                &[on.trailing_zeros() as usize],
                controls,
            );
        }
        match &mut self.shape {
            OperatorShape::Parity { factors, .. } => *factors = numbers,
            OperatorShape::PauliString { diagonal, off_diagonal, .. } => {
                [*diagonal, *off_diagonal] = numbers
            }
            _ => *self = Operator::string(x, z, numbers, controls)?,
        }
        Ok(())
    }
}

impl<E: SimdFloat> Operator<Complex<E>> {
    /// Returns an operator about a Pauli string as gates on one and two qubits, in order, for
    /// executors that know no strings: a change of basis, a chain of CX, a diagonal on one qubit
    /// under the controls, and the inverses of the first two. `None` for any other operator.
    #[must_use]
    pub fn without_string(&self) -> Option<Vec<Operator<Complex<E>>>> {
        let string @ PauliMasks { x, z } = self.shape.string()?;
        let controls = self.fixed & !string.support();
        let on = |bit: usize, shape: OperatorShape<Complex<E>>| Operator {
            shape,
            fixed: bit,
            value: 0,
            n_qubits: above(bit),
        };
        let number = |re: f64, im: f64| Complex::new(E::round_from(re), E::round_from(im));
        let s = number(FRAC_1_SQRT_2, 0.0);
        let hadamard = |bit| {
            on(bit, OperatorShape::Dense { matrix: vec![s, s, s, -s], offsets: vec![0, bit] })
        };
        let quarter =
            |bit, sign| Operator { value: bit, ..on(bit, OperatorShape::Phase(number(0.0, sign))) };
        let cx = |(control, target): (usize, usize)| Operator {
            value: control,
            ..on(control | target, OperatorShape::Swap(0, target))
        };
        let mut out = Vec::new();
        for bit in bits(x) {
            if z & bit != 0 {
                out.push(quarter(bit, -1.0));
            }
            out.push(hadamard(bit));
        }
        let chain = || bits(string.support()).zip(bits(string.support()).skip(1));
        out.extend(chain().map(cx));
        let (even, odd) = match &self.shape {
            OperatorShape::Parity { factors: [even, odd], .. } => (*even, *odd),
            OperatorShape::PauliString { diagonal, off_diagonal, .. } => {
                // W is i^{-|x & z|} times the string.
                let off_diagonal = string.y_phase().conj().times(*off_diagonal);
                (*diagonal + off_diagonal, *diagonal - off_diagonal)
            }
            _ => return None,
        };
        let last = bits(string.support()).last()?;
        let fixed = controls | last;
        let shape = OperatorShape::Diagonal(vec![(0, even), (last, odd)]);
        out.push(Operator { shape, fixed, value: self.value, n_qubits: above(fixed) });
        let back: Vec<_> = chain().map(cx).collect();
        out.extend(back.into_iter().rev());
        for bit in bits(x) {
            out.push(hadamard(bit));
            if z & bit != 0 {
                out.push(quarter(bit, 1.0));
            }
        }
        Some(out)
    }
}

impl<R> OperatorShape<R> {
    /// Returns the Pauli string that it is about.
    pub(in crate::kernel) fn string(&self) -> Option<PauliMasks> {
        match *self {
            OperatorShape::Parity { z, .. } => Some(PauliMasks { x: 0, z }),
            OperatorShape::PauliString { x, z, .. } => Some(PauliMasks { x, z }),
            _ => None,
        }
    }
}

/// Returns the matrix of an operator about one letter.
fn on_one<R: Ring>(x: usize, z: usize, [a, b]: [R; 2]) -> Matrix<R> {
    Matrix::from_array(match (x, z) {
        (0, _) => [[a, R::zero()], [R::zero(), b]],
        (_, 0) => [[a.clone(), b.clone()], [b, a]],
        _ => [[a.clone(), -b.clone()], [b, a]],
    })
}

fn same<R: Ring>([a, b]: &[R; 2]) -> bool {
    (a.clone() - b).is_exact_zero()
}

/// Returns one past the highest bit.
fn above(mask: usize) -> usize {
    (usize::BITS - mask.leading_zeros()) as usize
}

/// Returns the bits of a mask, one by one.
fn bits(mask: usize) -> impl Iterator<Item = usize> {
    (0..usize::BITS).map(|q| 1 << q).filter(move |bit| mask & bit != 0)
}

/// Returns the runs of an operator about a string: they go over all of its qubits but one, if x
/// reaches beyond a run.
pub(super) fn runs<R>(operator: &Operator<R>, n_qubits: usize) -> Option<OperatorRuns> {
    let string = operator.shape.string()?;
    let (x, controls) = (string.x, operator.fixed & !string.support());
    let runs = OperatorRuns::new(n_qubits, controls, operator.value);
    if x < runs.run_length() {
        return Some(runs);
    }
    Some(OperatorRuns::new(n_qubits, controls | 1 << x.ilog2(), operator.value))
}

impl<R: ActsOn<A>, A: Clone + Send + Sync> OperatorTask<'_, R, A> {
    #[inline(always)]
    pub(super) fn parity(&self, part: Range<usize>, z: usize, factors: &[R; 2]) {
        let factors = &factors.clone();
        let within = z & (self.runs.run_length() - 1);
        for base in self.runs.starts(part) {
            // SAFETY: the only slice of the run.
            let run = unsafe { self.slice::<0>(base, 0) };
            let first = usize::from(odd(base & z));
            if within == 0 {
                let factor = &factors[first];
                run.iter_mut().for_each(|x| *x = factor.act(x));
                continue;
            }
            for (i, x) in run.iter_mut().enumerate() {
                *x = factors[first ^ usize::from(odd(i & within))].act(x);
            }
        }
    }

    #[inline(always)]
    pub(super) fn string(
        &self,
        part: Range<usize>,
        (x, z): (usize, usize),
        diagonal: &R,
        off_diagonal: &R,
    ) {
        let (diagonal, off_diagonal) =
            (&diagonal.clone(), &[off_diagonal.clone(), -off_diagonal.clone()]);
        let length = self.runs.run_length();
        let top = 1 << x.ilog2();
        let turned = usize::from(odd(x & z));
        for base in self.runs.starts(part) {
            let sign = |at: usize| usize::from(odd(at & z));
            if x >= length {
                let other = base ^ (x & !(length - 1));
                // SAFETY: the other run differs in the highest bit of x, which is 0 in every base
                // that a thread is given.
                let (low, high) = unsafe { (self.slice::<0>(base, 0), self.slice::<0>(other, 0)) };
                join(
                    diagonal,
                    off_diagonal,
                    (low, high),
                    x & (length - 1),
                    z,
                    (sign(base), turned),
                );
                continue;
            }
            // SAFETY: the only slice of the run.
            let run = unsafe { self.slice::<0>(base, 0) };
            for (k, piece) in run.chunks_exact_mut(2 * top).enumerate() {
                let (low, high) = piece.split_at_mut(top);
                let sign = sign(base | (2 * k * top));
                join(diagonal, off_diagonal, (low, high), x & (top - 1), z, (sign, turned));
            }
        }
    }
}

/// Joins amplitude i of `low` with `i ^ flip` of `high`. `sign` is that of the first of `low`, and
/// another if `turned`, that of its partner.
#[inline(always)]
fn join<R: ActsOn<A>, A>(
    diagonal: &R,
    off_diagonal: &[R; 2],
    (low, high): (&mut [A], &mut [A]),
    flip: usize,
    z: usize,
    (sign, turned): (usize, usize),
) {
    let within = z & (low.len() - 1);
    if flip == 0 && within == 0 {
        let (up, down) = (&off_diagonal[sign], &off_diagonal[sign ^ turned]);
        for (a, b) in low.iter_mut().zip(high) {
            let new = R::act2(diagonal, a, down, b);
            *b = R::act2(up, a, diagonal, b);
            *a = new;
        }
        return;
    }
    for (i, a) in low.iter_mut().enumerate() {
        let sign = sign ^ usize::from(odd(i & within));
        let (up, down) = (&off_diagonal[sign], &off_diagonal[sign ^ turned]);
        let b = &mut high[i ^ flip];
        let new = R::act2(diagonal, a, down, b);
        *b = R::act2(up, a, diagonal, b);
        *a = new;
    }
}
