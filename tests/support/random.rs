//! Seeded randomness, and proptest strategies over the whole gate table.

use ketgrad_core::{
    circuit::{Circuit, Control, Instruction, Operation, PauliRotation},
    gate::{Gate, GateKind},
    matrix::Matrix,
    observable::Pauli,
    param::{Angle, Q},
};
use num_complex::Complex;
use proptest::{prelude::*, sample::select};

use crate::close::Parts;

/// Weight of rotations about strings among random gates, where each gate of the table has 1.
const ROTATIONS: usize = 4;

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
#[derive(Clone, Debug)]
pub struct Rng(u64);

impl Rng {
    /// A generator with a seed.
    #[must_use]
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }
    /// 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
    /// A number below `n`.
    pub fn below(&mut self, n: usize) -> usize {
        (self.bits() % n as u64) as usize
    }
    /// An integer from `least` to `most`.
    pub fn integer(&mut self, least: i64, most: i64) -> i64 {
        least + (self.unit() * (most - least + 1) as f64) as i64
    }
    /// A number from `least` to `most`.
    pub fn between(&mut self, least: usize, most: usize) -> usize {
        self.integer(least as i64, most as i64) as usize
    }
    /// A float in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }
    /// A float in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        2.0 * self.unit() - 1.0
    }
    /// A complex number, both parts in [-1, 1).
    pub fn complex(&mut self) -> Complex<f64> {
        Complex::new(self.signed(), self.signed())
    }
    /// The numbers below `n` in random order.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.below(i + 1));
        }
        order
    }
    /// Numbers of a ring, every part random.
    pub fn vector<R: Parts>(&mut self, len: usize) -> Vec<R> {
        (0..len).map(|_| R::draw(&mut || self.signed())).collect()
    }
    /// A random unitary: Gram-Schmidt on random rows.
    pub fn unitary(&mut self, n_qubits: usize) -> Matrix<Complex<f64>> {
        let dim = 1 << n_qubits;
        let mut rows: Vec<Vec<Complex<f64>>> = Vec::new();
        while rows.len() < dim {
            let mut row: Vec<Complex<f64>> = self.vector(dim);
            // Twice is enough to be orthogonal to working precision.
            for other in rows.iter().chain(&rows) {
                let overlap: Complex<f64> = other.iter().zip(&row).map(|(a, b)| a.conj() * b).sum();
                row.iter_mut().zip(other).for_each(|(x, a)| *x -= overlap * a);
            }
            let norm = row.iter().map(Complex::norm_sqr).sum::<f64>().sqrt();
            if norm > 1e-3 {
                rows.push(row.iter().map(|x| x / norm).collect());
            }
        }
        Matrix::from_fn(n_qubits, |i, j| rows[i][j])
    }
    /// Radians: often a multiple of pi/4 or close to one, where gates vanish or become Clifford
    /// gates.
    pub fn special_angle(&mut self) -> f64 {
        let quarter = std::f64::consts::FRAC_PI_4 * (self.below(33) as f64 - 16.0);
        let near = [0.0, 0.0, 1e-16, 1e-12, -1e-9, 1e-6][self.below(6)];
        if self.below(3) == 0 { 6.3 * self.signed() } else { quarter + near }
    }
    /// An angle: an exact multiple of pi/8 or some radians.
    pub fn angle(&mut self) -> Angle {
        match self.below(3) {
            0 => Angle::pi(self.below(33) as i64 - 16, 8),
            _ => Angle::rad(4.0 * self.signed()),
        }
    }
    /// A gate of the table with angles from `angle`.
    pub fn gate(&mut self, kind: GateKind, mut angle: impl FnMut(&mut Rng) -> Angle) -> Gate {
        let params: Vec<Angle> = kind.param_names().iter().map(|_| angle(self)).collect();
        match Gate::new(kind, params) {
            Ok(gate) => gate,
            Err(e) => panic!("{e}"),
        }
    }
    /// Appends a gate on random qubits under up to two random controls, angles from `angle`.
    pub fn push(
        &mut self,
        circuit: &mut Circuit,
        kind: GateKind,
        angle: impl FnMut(&mut Rng) -> Angle,
    ) {
        let (n, k) = (circuit.n_qubits(), kind.n_qubits());
        let gate = self.gate(kind, angle);
        let order = self.permutation(n);
        let n_controls = self.below(n - k + 1).min(2);
        let controls: Vec<_> =
            order[k..k + n_controls].iter().map(|&q| (q, self.bits() & 1 == 1)).collect();
        if let Err(e) = circuit.gate(gate, &order[..k], &controls) {
            panic!("{e}");
        }
    }
    /// Appends a rotation about a random Pauli string, of no letters to one on every qubit, under
    /// up to two random controls.
    pub fn push_rotation(
        &mut self,
        circuit: &mut Circuit,
        mut angle: impl FnMut(&mut Rng) -> Angle,
    ) {
        let n = circuit.n_qubits();
        let order = self.permutation(n);
        let (targets, rest) = order.split_at(self.below(n + 1));
        let letters = targets.iter().map(|_| [Pauli::X, Pauli::Y, Pauli::Z][self.below(3)]);
        let rotation = PauliRotation::new(letters.collect::<Vec<_>>(), angle(self));
        let controls = rest[..self.below(rest.len() + 1).min(2)]
            .iter()
            .map(|&q| Control { qubit: q as u32, value: self.bits() & 1 == 1 });
        let pushed = circuit.push(Instruction {
            operation: Operation::PauliRotation(Box::new(rotation)),
            targets: targets.iter().map(|&q| q as u32).collect(),
            controls: controls.collect(),
            condition: None,
        });
        if let Err(e) = pushed {
            panic!("{e}");
        }
    }
    /// A circuit whose angles the exact ring holds; half of them have parameters `p0`, `p1`, ….
    pub fn symbolic(&mut self, n: usize, len: usize, n_params: usize) -> Circuit {
        let mut circuit = Circuit::new(n);
        let params: Vec<Angle> = (0..n_params).map(|k| circuit.param(&format!("p{k}"))).collect();
        self.fill(&mut circuit, len, |rng| match rng.below(4) {
            0 => Angle::pi(rng.below(17) as i64 - 8, 4),
            1 => Angle::rad([0.25, -0.5, 1.5][rng.below(3)]),
            _ => {
                let q = Q::new([1, -1, 1, 2][rng.below(4)], [1, 1, 2][rng.below(3)]);
                params[rng.below(n_params)].clone() * q + Angle::pi(rng.below(4) as i64, 2)
            }
        });
        circuit
    }
    /// Values of a circuit's inputs.
    pub fn point(&mut self, circuit: &Circuit) -> Vec<f64> {
        circuit.inputs().map(|_| 4.0 * self.signed()).collect()
    }
    /// A circuit of gates of the table on random qubits under random controls, angles from `angle`.
    pub fn circuit(
        &mut self,
        n: usize,
        len: usize,
        angle: impl FnMut(&mut Rng) -> Angle,
    ) -> Circuit {
        let mut circuit = Circuit::new(n);
        self.fill(&mut circuit, len, angle);
        circuit
    }
    /// Appends a number of groups of rotations between Clifford gates, all of which are undone
    /// after them in reverse order, most of them; some gates are in between.
    pub fn conjugated(
        &mut self,
        circuit: &mut Circuit,
        groups: usize,
        mut angle: impl FnMut(&mut Rng) -> Angle,
    ) {
        use GateKind::{H, P, RX, RXX, RYY, RZ, RZZ, S, SDG, SX, SXDG, U, X, Y, Z};
        let n = circuit.n_qubits();
        // Each with its inverse, and its controls.
        let clifford = [
            (H, H, 0),
            (S, SDG, 0),
            (SDG, S, 0),
            (SX, SXDG, 0),
            (Y, Y, 0),
            (X, X, 1),
            (X, X, 1),
            (Z, Z, 1),
        ];
        let rotations = [RZ, RZ, RZ, RZZ, P, RXX, RYY, RX];
        let mut put = |rng: &mut Rng, kind: GateKind, on: &[usize]| {
            let (targets, controls) = on.split_at(kind.n_qubits());
            let controls: Vec<_> = controls.iter().map(|&q| (q, true)).collect();
            if let Err(e) = circuit.gate(rng.gate(kind, &mut angle), targets, &controls) {
                panic!("{e}");
            }
        };
        for _ in 0..groups {
            let mut word: Vec<(GateKind, Vec<usize>)> = Vec::new();
            for _ in 0..1 + self.below(4) {
                for _ in 0..self.below(5) {
                    let (kind, inverse, controls) = clifford[self.below(clifford.len())];
                    if kind.n_qubits() + controls <= n {
                        let on = self.permutation(n)[..kind.n_qubits() + controls].to_vec();
                        put(self, kind, &on);
                        word.push((inverse, on));
                    }
                }
                let kind =
                    if self.below(12) == 0 { U } else { rotations[self.below(rotations.len())] };
                if kind.n_qubits() <= n {
                    let on = self.permutation(n)[..kind.n_qubits()].to_vec();
                    put(self, kind, &on);
                }
                let kept = self.below(word.len() + 1);
                for (kind, on) in word.drain(kept..).rev() {
                    put(self, kind, &on);
                }
            }
            let left = usize::from(self.below(6) == 0).min(word.len());
            for (kind, on) in word.drain(left..).rev() {
                put(self, kind, &on);
            }
        }
    }
    /// Appends gates of the table on random qubits under random controls, angles from `angle`.
    pub fn fill(
        &mut self,
        circuit: &mut Circuit,
        len: usize,
        mut angle: impl FnMut(&mut Rng) -> Angle,
    ) {
        let (n, end) = (circuit.n_qubits(), circuit.instructions().len() + len);
        while circuit.instructions().len() < end {
            let kind = GateKind::ALL[self.below(GateKind::ALL.len())];
            if kind.n_qubits() <= n {
                self.push(circuit, kind, &mut angle);
            }
        }
    }
}

/// Exact multiples of pi, radians, and parameters p0 to p{n-1} with small fractions.
pub fn angle_of(n_params: u32) -> impl Strategy<Value = Angle> {
    let constant = prop_oneof![
        (-16i64..=16, select(vec![1i64, 2, 3, 4, 8])).prop_map(|(n, d)| Angle::pi(n, d)),
        (-7.0..7.0).prop_map(Angle::rad)
    ];
    let term =
        (0..n_params.max(1), -4i64..=4, select(vec![1i64, 2, 4])).prop_map(move |(id, n, d)| {
            if n_params == 0 {
                Angle::zero()
            } else {
                Angle::theta(ketgrad_core::param::ParamId::new(id)) * Q::new(n, d)
            }
        });
    (constant, term).prop_map(|(a, b)| a + b)
}

/// Kind of one gate of a random circuit.
#[derive(Clone, Debug)]
pub struct Draw {
    /// `None` for a rotation about a string with these letters.
    kind: Option<GateKind>,
    letters: Vec<Pauli>,
    angles: Vec<Angle>,
    order: Vec<usize>,
    controls: Vec<bool>,
}

/// One gate on `n` qubits: any kind that fits, any qubits in any order, up to two controls of
/// either value.
pub fn draw(n: usize, n_params: u32) -> impl Strategy<Value = Draw> {
    let kinds = GateKind::ALL.iter().copied().filter(|k| k.n_qubits() <= n).map(Some);
    let kinds: Vec<Option<GateKind>> = kinds.chain([None; ROTATIONS]).collect();
    let letters = proptest::collection::vec(select(vec![Pauli::X, Pauli::Y, Pauli::Z]), 0..=n);
    let order = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
    let controls = proptest::collection::vec(any::<bool>(), 0..=2);
    (select(kinds), letters, proptest::collection::vec(angle_of(n_params), 4), order, controls)
        .prop_map(|(kind, letters, angles, order, controls)| Draw {
            kind,
            letters,
            angles,
            order,
            controls,
        })
}

/// A circuit of up to `len` gates of the table and rotations about strings on `n` qubits with
/// inputs `a`, `b`, … .
pub fn circuits(n: usize, n_params: u32, len: usize) -> impl Strategy<Value = Circuit> {
    proptest::collection::vec(draw(n, n_params), 0..=len).prop_map(move |draws| {
        let mut circuit = Circuit::new(n);
        for name in ["a", "b", "c", "d"].iter().take(n_params as usize) {
            circuit.param(name);
        }
        for d in draws {
            let k = d.kind.map_or(d.letters.len(), GateKind::n_qubits);
            let params =
                d.angles.iter().take(d.kind.map_or(0, |kind| kind.param_names().len())).cloned();
            let controls = d.order[k..].iter().zip(d.controls);
            let rotation = || PauliRotation::new(d.letters.clone(), d.angles[0].clone());
            let operation = match d.kind {
                Some(kind) => Gate::new(kind, params).map(Operation::Gate),
                None => Ok(Operation::PauliRotation(Box::new(rotation()))),
            };
            let added = operation.map(|operation| {
                let pushed = circuit.push(Instruction {
                    operation,
                    targets: d.order[..k].iter().map(|&q| q as u32).collect(),
                    controls: controls
                        .map(|(&q, value)| Control { qubit: q as u32, value })
                        .collect(),
                    condition: None,
                });
                pushed.map(|_| ())
            });
            assert!(matches!(added, Ok(Ok(()))), "{added:?}");
        }
        circuit
    })
}
