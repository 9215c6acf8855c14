//! Permutations of indices: X, CX and SWAP where they are affine over GF(2), one exchange of two
//! indices otherwise.

use smallvec::SmallVec;

use super::{
    MAX_PHASE_BITS, OffsetFactors, OperatorBits, PlanLowering, PrimitiveOp, matrices::SmallComplex,
};
use crate::basis::deposit;

impl PlanLowering {
    /// Amplitudes that move along cycles of indices in the bits of `mask`, with factors.
    pub(super) fn permutation(&mut self, mask: usize, cycles: &[OffsetFactors]) -> bool {
        let bits: OperatorBits = (0..usize::BITS as usize).filter(|q| mask >> q & 1 == 1).collect();
        if bits.len() > MAX_PHASE_BITS as usize {
            return false;
        }
        let moved = |from: usize| {
            let found =
                cycles.iter().find_map(|c| c.iter().position(|f| f.0 == from).map(|k| (c, k)));
            found.map_or((from, SmallComplex::new(1.0, 0.0)), |(c, k)| {
                (c[(k + 1) % c.len()].0, c[k].1)
            })
        };
        let origin = moved(0).0;
        let columns: OperatorBits = bits.iter().map(|q| moved(1 << q).0 ^ origin).collect();
        let affine = |x: usize| {
            let image = bits.iter().zip(&columns).filter(|(q, _)| x >> **q & 1 == 1);
            image.fold(origin, |sum, (_, column)| sum ^ column)
        };
        if (0..1 << bits.len()).map(|x| deposit(x, mask)).any(|x| affine(x) != moved(x).0) {
            return self.transposition(mask, cycles);
        }
        let factors: OffsetFactors = cycles.iter().flatten().copied().collect();
        if factors.iter().any(|f| f.1 != SmallComplex::new(1.0, 0.0))
            && !self.diagonal(mask, &factors)
        {
            return false;
        }
        self.flush(mask);
        self.linear(&bits, columns);
        bits.iter()
            .filter(|q| origin >> **q & 1 == 1)
            .for_each(|&qubit| self.push(PrimitiveOp::Pauli { qubit, sign: false, flip: true }));
        true
    }

    /// Lowers one exchange of two indices: CX brings them next to each other, H makes the X between
    /// them a Z.
    fn transposition(&mut self, mask: usize, cycles: &[OffsetFactors]) -> bool {
        let &[(a, fa), (b, fb)] = (match cycles {
            [cycle] => cycle.as_slice(),
            _ => return false,
        }) else {
            return false;
        };
        if [fa, fb] != [SmallComplex::new(1.0, 0.0); 2] {
            return false;
        }
        let pivot = (a ^ b).trailing_zeros() as usize;
        let others = (a ^ b) & !(1 << pivot);
        let with_pivot = if a >> pivot & 1 == 1 { a } else { b };
        let half = SmallComplex::new(0.5f64.sqrt(), 0.0);
        let h = [half, half, half, -half];
        let spread = |this: &mut PlanLowering| {
            this.flush(others | 1 << pivot);
            (0..usize::BITS as usize)
                .filter(|q| others >> q & 1 == 1)
                .for_each(|target| this.push(PrimitiveOp::Cx { control: pivot, target }));
        };
        spread(self);
        self.hold_back(pivot, h, true);
        // The CX have flipped the other bits of the index that has the pivot set.
        let done = self.diagonal(mask, &[(with_pivot ^ others, SmallComplex::new(-1.0, 0.0))]);
        self.hold_back(pivot, h, true);
        spread(self);
        done
    }

    /// Lowers an invertible linear map of bits: `columns[i]` is the image of bit `bits[i]`.
    fn linear(&mut self, bits: &[usize], mut columns: OperatorBits) {
        if columns.iter().all(|c| c.is_power_of_two()) {
            // Bit i goes to place columns[i]: exchanges along each cycle.
            for i in 0..bits.len() {
                while columns[i] != 1 << bits[i] {
                    let to = columns[i].trailing_zeros() as usize;
                    let Some(j) = bits.iter().position(|&q| q == to) else { return };
                    self.push(PrimitiveOp::Swap(bits[i], to));
                    columns.swap(i, j);
                }
            }
            return;
        }
        // Rows are reduced to the identity by adding rows to rows; the map is these steps, last
        // first.
        let mut steps: SmallVec<[(usize, usize); 16]> = SmallVec::new();
        let mut add = |columns: &mut OperatorBits, from: usize, to: usize| {
            columns.iter_mut().for_each(|c| *c ^= (*c >> from & 1) << to);
            steps.push((from, to));
        };
        for (i, &pivot) in bits.iter().enumerate() {
            if columns[i] >> pivot & 1 == 0 {
                let below = bits[i + 1..].iter().find(|&&q| columns[i] >> q & 1 == 1);
                if let Some(&from) = below {
                    add(&mut columns, from, pivot);
                }
            }
            for &to in bits.iter().filter(|&&q| q != pivot) {
                if columns[i] >> to & 1 == 1 {
                    add(&mut columns, pivot, to);
                }
            }
        }
        steps
            .iter()
            .rev()
            .for_each(|&(control, target)| self.push(PrimitiveOp::Cx { control, target }));
    }
}
