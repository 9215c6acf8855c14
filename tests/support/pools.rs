//! Pools of random circuits from a seed, each gate known twice: as a gate of a `Circuit`, and to
//! the reference.
//!
//! Each [`Pool`] is a kind of circuit that asks for other parts of a simulator: long words of a few
//! gates, angles of every size, products that come back to a diagonal within rounding.
//!
//! ```
//! use support::pools::{Pool, PoolCircuit};
//! let drawn = PoolCircuit::draw(Pool::CliffordT, 3, 20, 7);
//! assert_eq!(drawn.circuit().n_qubits(), 3);
//! assert!((drawn.reference().norm2() - 1.0).abs() < 1e-14);
//! ```

use std::{f64::consts::PI, fmt};

use ketgrad_core::{
    circuit::Circuit,
    gate::{Gate, NamedGate},
    matrix::Matrix,
    param::Angle,
};

use crate::{
    dense::{DenseState, NAMES, Rows, kron, named, product, rotation},
    random::Rng,
};

/// An angle that both sides hold without rounding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PoolAngle {
    /// A fraction of pi: numerator, denominator.
    Pi(i64, i64),
    /// Radians.
    Radians(f64),
}

impl PoolAngle {
    /// The radians, whole turns of 4 pi left out of fractions.
    #[must_use]
    pub fn radians(self) -> f64 {
        match self {
            PoolAngle::Pi(n, d) => (n % (4 * d)) as f64 * PI / d as f64,
            PoolAngle::Radians(x) => x,
        }
    }

    /// The angle of a circuit.
    #[must_use]
    pub fn angle(self) -> Angle {
        match self {
            PoolAngle::Pi(n, d) => Angle::pi(n, d),
            PoolAngle::Radians(x) => Angle::rad(x),
        }
    }
}

impl fmt::Display for PoolAngle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PoolAngle::Pi(n, d) => write!(f, "{n}*pi/{d}"),
            PoolAngle::Radians(x) => write!(f, "{x:?}"),
        }
    }
}

/// A gate by its name, or a unitary matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolGate {
    /// The name; `unitary` with a matrix.
    pub name: &'static str,
    /// The angles.
    pub angles: Vec<PoolAngle>,
    /// The qubits, controls of the name first.
    pub qubits: Vec<usize>,
    /// Further controls: qubit and value.
    pub controls: Vec<(usize, bool)>,
    /// The matrix of a unitary.
    pub matrix: Option<Rows>,
}

impl PoolGate {
    /// A gate of [`NAMES`].
    #[must_use]
    pub fn new(name: &'static str, angles: &[PoolAngle], qubits: &[usize]) -> PoolGate {
        let (angles, qubits) = (angles.to_vec(), qubits.to_vec());
        PoolGate { name, angles, qubits, controls: Vec::new(), matrix: None }
    }

    /// A unitary matrix on qubits.
    #[must_use]
    pub fn unitary(matrix: Rows, qubits: &[usize]) -> PoolGate {
        PoolGate { matrix: Some(matrix), ..PoolGate::new("unitary", &[], qubits) }
    }

    /// Applies it to a state of the reference.
    pub fn apply(&self, state: &mut DenseState) {
        if let Some(matrix) = &self.matrix {
            return state.apply(matrix, &self.qubits, &self.controls);
        }
        let angles: Vec<f64> = self.angles.iter().map(|a| a.radians()).collect();
        let gate = named(self.name, &angles);
        let (own, targets) = self.qubits.split_at(gate.n_controls);
        let controls: Vec<_> =
            own.iter().map(|&q| (q, true)).chain(self.controls.iter().copied()).collect();
        state.apply(&gate.matrix, targets, &controls);
    }

    /// Appends it to a circuit.
    ///
    /// # Panics
    /// If the circuit refuses it.
    pub fn push(&self, circuit: &mut Circuit) {
        let angles: Vec<Angle> = self.angles.iter().map(|a| a.angle()).collect();
        self.push_with(circuit, &angles);
    }

    /// Appends it with other angles.
    ///
    /// # Panics
    /// If the circuit refuses it.
    pub fn push_with(&self, circuit: &mut Circuit, angles: &[Angle]) {
        let pushed = if let Some(rows) = &self.matrix {
            let dim = rows.len().isqrt();
            let matrix = Matrix::from_fn(self.qubits.len(), |i, j| rows[i * dim + j]);
            circuit.unitary(matrix, &self.qubits, &self.controls).map(|_| ())
        } else {
            let Some(known) = NamedGate::find(self.name) else { panic!("no gate {}", self.name) };
            let (own, targets) = self.qubits.split_at(known.n_controls);
            let controls: Vec<_> =
                own.iter().map(|&q| (q, true)).chain(self.controls.iter().copied()).collect();
            match Gate::new(known.kind, angles.iter().cloned()) {
                Ok(gate) => circuit.gate(gate, targets, &controls).map(|_| ()),
                Err(error) => panic!("{error}"),
            }
        };
        if let Err(error) = pushed {
            panic!("{self}: {error}");
        }
    }
}

/// As OpenQASM 3 writes it; a unitary as a comment with its entries.
impl fmt::Display for PoolGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(matrix) = &self.matrix {
            return write!(
                f,
                "// unitary on {:?} under {:?}: {matrix:?}",
                self.qubits, self.controls
            );
        }
        for (_, value) in &self.controls {
            f.write_str(if *value { "ctrl @ " } else { "negctrl @ " })?;
        }
        f.write_str(self.name)?;
        if !self.angles.is_empty() {
            let angles: Vec<String> = self.angles.iter().map(ToString::to_string).collect();
            write!(f, "({})", angles.join(", "))?;
        }
        let qubits = self.controls.iter().map(|c| c.0).chain(self.qubits.iter().copied());
        let qubits: Vec<String> = qubits.map(|q| format!("q[{q}]")).collect();
        write!(f, "{}{};", if qubits.is_empty() { "" } else { " " }, qubits.join(", "))
    }
}

/// A kind of random circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pool {
    /// Clifford gates, T and Toffoli gates.
    CliffordT,
    /// The basis of IBM's devices: rz, sx, x, cx.
    RzSx,
    /// u3 with angles in radians, and cx.
    U3Cx,
    /// Rotations by fractions of pi.
    Fractions,
    /// Angles of 1e-9 to 1e-5, and of 1e3 to 1e8.
    Extreme,
    /// Up to 3 controls of every value on any gate.
    Controlled,
    /// Unitaries on two qubits that are nearly local, diagonal or a swap.
    NearlyLocal,
    /// Products that are diagonal or antidiagonal within rounding, between Toffoli gates.
    Sandwich,
    /// Many phases of one sign.
    LongPhases,
    /// Some of each.
    Mixed,
}

impl Pool {
    /// All pools.
    pub const ALL: [Pool; 10] = [
        Pool::CliffordT,
        Pool::RzSx,
        Pool::U3Cx,
        Pool::Fractions,
        Pool::Extreme,
        Pool::Controlled,
        Pool::NearlyLocal,
        Pool::Sandwich,
        Pool::LongPhases,
        Pool::Mixed,
    ];
}

/// A random circuit as a list of gates.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolCircuit {
    /// The number of qubits.
    pub n_qubits: usize,
    /// The gates in order.
    pub gates: Vec<PoolGate>,
}

impl PoolCircuit {
    /// A circuit of a pool on some qubits, of about the given number of gates.
    #[must_use]
    pub fn draw(pool: Pool, n_qubits: usize, len: usize, seed: u64) -> PoolCircuit {
        let mut draw = Drawing { rng: Rng::new(seed), n: n_qubits, gates: Vec::new() };
        // Qubit by qubit a superposition, so that phases show.
        if draw.rng.below(2) == 0 {
            (0..n_qubits).for_each(|q| draw.put("h", &[], &[q]));
        }
        while draw.gates.len() < len {
            let pool = if pool == Pool::Mixed { Pool::ALL[draw.rng.below(9)] } else { pool };
            draw.step(pool, len);
        }
        PoolCircuit { n_qubits, gates: draw.gates }
    }

    /// The same gates, the first angles with these radians.
    #[must_use]
    pub fn with_angles(&self, radians: &[f64]) -> PoolCircuit {
        let mut new = self.clone();
        let angles = new.gates.iter_mut().flat_map(|gate| &mut gate.angles);
        angles.zip(radians).for_each(|(angle, x)| *angle = PoolAngle::Radians(*x));
        new
    }

    /// The same gates, with radians that `f32` holds without rounding.
    #[must_use]
    pub fn in_single_precision(&self) -> PoolCircuit {
        let mut new = self.clone();
        for angle in new.gates.iter_mut().flat_map(|gate| &mut gate.angles) {
            if let PoolAngle::Radians(x) = angle {
                *x = f64::from(*x as f32);
            }
        }
        new
    }

    /// As a circuit.
    #[must_use]
    pub fn circuit(&self) -> Circuit {
        let mut circuit = Circuit::new(self.n_qubits);
        self.gates.iter().for_each(|gate| gate.push(&mut circuit));
        circuit
    }

    /// The final state from |0…0> by the reference.
    #[must_use]
    pub fn reference(&self) -> DenseState {
        let mut state = DenseState::zero(self.n_qubits);
        self.gates.iter().for_each(|gate| gate.apply(&mut state));
        state
    }
}

/// A text of OpenQASM 3.
impl fmt::Display for PoolCircuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[{}] q;", self.n_qubits)?;
        self.gates.iter().try_for_each(|gate| writeln!(f, "{gate}"))
    }
}

/// A circuit that is being drawn.
struct Drawing {
    rng: Rng,
    n: usize,
    gates: Vec<PoolGate>,
}

const CLIFFORD_T: [&str; 13] =
    ["h", "x", "y", "z", "s", "sdg", "t", "tdg", "sx", "cx", "cz", "swap", "ccx"];
const ROTATIONS: [&str; 14] =
    ["rx", "ry", "rz", "p", "cp", "rzz", "rxx", "ryy", "crx", "cry", "crz", "rzx", "r", "fsim"];

/// The number of angles and of qubits of a gate.
fn arity(name: &str) -> (usize, usize) {
    NAMES.iter().find(|n| n.0 == name).map_or((0, 0), |n| (n.1, n.2))
}

impl Drawing {
    fn put(&mut self, name: &'static str, angles: &[PoolAngle], qubits: &[usize]) {
        self.gates.push(PoolGate::new(name, angles, qubits));
    }

    /// Appends a gate with this name on random qubits, if there are enough.
    fn put_anywhere(&mut self, name: &'static str, mut angle: impl FnMut(&mut Rng) -> PoolAngle) {
        let (n_angles, k) = arity(name);
        if k <= self.n {
            let angles: Vec<_> = (0..n_angles).map(|_| angle(&mut self.rng)).collect();
            let qubits = self.rng.permutation(self.n)[..k].to_vec();
            self.put(name, &angles, &qubits);
        }
    }

    fn pick(&mut self, names: &[&'static str]) -> &'static str {
        let fitting: Vec<_> = names.iter().filter(|name| arity(name).1 <= self.n).collect();
        fitting[self.rng.below(fitting.len())]
    }

    fn step(&mut self, pool: Pool, len: usize) {
        match pool {
            Pool::CliffordT => {
                let name = self.pick(&CLIFFORD_T);
                self.put_anywhere(name, fraction);
            }
            Pool::RzSx => {
                let name = self.pick(&["rz", "rz", "sx", "x", "cx"]);
                self.put_anywhere(name, either);
            }
            Pool::U3Cx => {
                let name = self.pick(&["u3", "u3", "cx"]);
                self.put_anywhere(name, radians);
            }
            Pool::Fractions => {
                let name = self.pick(&ROTATIONS);
                self.put_anywhere(name, fraction);
            }
            Pool::Extreme => {
                let names: Vec<_> = ROTATIONS
                    .into_iter()
                    .chain(["U", "u3", "u2", "cu", "gphase", "h", "cx"])
                    .collect();
                let name = self.pick(&names);
                self.put_anywhere(name, extreme);
            }
            Pool::Controlled => self.controlled(),
            Pool::NearlyLocal => self.nearly_local(),
            Pool::Sandwich => self.sandwich(),
            Pool::LongPhases => self.long_phases(len),
            Pool::Mixed => {}
        }
    }

    fn controlled(&mut self) {
        let names: Vec<_> = NAMES.iter().filter(|name| name.2 <= self.n).collect();
        let &&(name, n_angles, k) = &names[self.rng.below(names.len())];
        let angles: Vec<_> = (0..n_angles).map(|_| either(&mut self.rng)).collect();
        let order = self.rng.permutation(self.n);
        let count = self.rng.below(4).min(self.n - k);
        let controls = order[k..k + count].iter().map(|&q| (q, self.rng.below(2) == 0)).collect();
        self.gates.push(PoolGate { controls, ..PoolGate::new(name, &angles, &order[..k]) });
    }

    fn nearly_local(&mut self) {
        if self.n < 2 || self.rng.below(3) == 0 {
            let name = self.pick(&CLIFFORD_T);
            return self.put_anywhere(name, fraction);
        }
        let rng = &mut self.rng;
        let local = |rng: &mut Rng| kron(&random_single(rng), &random_single(rng));
        let mut matrix = match rng.below(4) {
            0 => local(rng),
            1 => kron(
                &named("p", &[rng.signed()]).matrix,
                &named("rz", &[7.0 * rng.signed()]).matrix,
            ),
            2 => product(&local(rng), &named("swap", &[]).matrix),
            _ => product(
                &named("rzz", &[4.0 * rng.signed()]).matrix,
                &kron(&pauli_or_id(rng), &pauli_or_id(rng)),
            ),
        };
        // A word and its inverse, and a rotation between that is hardly there.
        let word = product(&local(rng), &product(&rotation("XX", 3.0 * rng.signed()), &local(rng)));
        let tiny = 10f64.powf(-17.0 + 9.0 * rng.unit());
        let letters = ["XX", "YY", "ZZ", "XZ", "ZX", "YX"][rng.below(6)];
        let undone =
            product(&crate::dense::dagger(&word), &product(&rotation(letters, tiny), &word));
        matrix =
            if rng.below(2) == 0 { product(&matrix, &undone) } else { product(&undone, &matrix) };
        let order = rng.permutation(self.n);
        let controls = order[2..].iter().take(rng.below(5).saturating_sub(2));
        let controls = controls.map(|&q| (q, q % 2 == 0)).collect();
        self.gates.push(PoolGate { controls, ..PoolGate::unitary(matrix, &order[..2]) });
    }

    /// A word that comes back to a diagonal or an antidiagonal, between gates with many controls.
    fn sandwich(&mut self) {
        let order = self.rng.permutation(self.n);
        let target = order[0];
        let fence = |draw: &mut Drawing| {
            if draw.n >= 3 {
                draw.put("ccx", &[], &[order[1], order[2], target]);
            } else if draw.n == 2 {
                draw.put("cx", &[], &[order[1], target]);
            }
        };
        fence(self);
        if self.rng.below(4) == 0 {
            // By hand: known to come back.
            for name in ["h", "s", "t", "t", "s", "h", "h"] {
                self.put(name, &[], &[target]);
            }
        } else {
            let mut word: Vec<(&'static str, Vec<PoolAngle>)> = Vec::new();
            for _ in 0..1 + self.rng.below(5) {
                let name = ["h", "s", "t", "sx", "rx", "ry", "rz", "p"][self.rng.below(8)];
                word.push((name, (0..arity(name).0).map(|_| either(&mut self.rng)).collect()));
            }
            for (name, angles) in &word {
                self.put(name, angles, &[target]);
            }
            // The gates inside make the product a diagonal up to the word around it.
            let inner = ["z", "x", "t", "id", "y"][self.rng.below(5)];
            if self.rng.below(2) == 0 {
                self.put(inner, &[], &[target]);
            }
            for (name, angles) in word.iter().rev() {
                let inverse = match *name {
                    "s" => "sdg",
                    "t" => "tdg",
                    "sx" => "sxdg",
                    same => same,
                };
                let angles: Vec<_> = angles.iter().map(|a| opposite(*a)).collect();
                self.put(inverse, &angles, &[target]);
            }
            let outer = ["p", "rz", "rx", "x", "s"][self.rng.below(5)];
            let angles: Vec<_> = (0..arity(outer).0).map(|_| fraction(&mut self.rng)).collect();
            self.put(outer, &angles, &[target]);
        }
        fence(self);
        if self.rng.below(2) == 0 {
            let name = self.pick(&["h", "cx", "t", "ry"]);
            self.put_anywhere(name, either);
        }
    }

    fn long_phases(&mut self, len: usize) {
        let name = self.pick(&["cp", "rzz", "crz", "p", "rz", "crx", "cu", "U"]);
        let (n_angles, k) = arity(name);
        let angles: Vec<_> =
            (0..n_angles).map(|_| PoolAngle::Radians(3.2 * self.rng.unit())).collect();
        let qubits = self.rng.permutation(self.n)[..k].to_vec();
        for _ in 0..1 + self.rng.below(len.max(2)) {
            self.put(name, &angles, &qubits);
        }
        let name = self.pick(&["h", "cx", "ry"]);
        self.put_anywhere(name, either);
    }
}

fn opposite(angle: PoolAngle) -> PoolAngle {
    match angle {
        PoolAngle::Pi(n, d) => PoolAngle::Pi(-n, d),
        PoolAngle::Radians(x) => PoolAngle::Radians(-x),
    }
}

fn fraction(rng: &mut Rng) -> PoolAngle {
    let d = 1 + rng.below(12) as i64;
    PoolAngle::Pi(rng.below(8 * d as usize + 1) as i64 - 4 * d, d)
}

fn radians(rng: &mut Rng) -> PoolAngle {
    PoolAngle::Radians(7.0 * rng.signed())
}

fn either(rng: &mut Rng) -> PoolAngle {
    if rng.below(2) == 0 { fraction(rng) } else { radians(rng) }
}

fn extreme(rng: &mut Rng) -> PoolAngle {
    let exponent = if rng.below(2) == 0 { -9.0 + 4.0 * rng.unit() } else { 3.0 + 5.0 * rng.unit() };
    PoolAngle::Radians(rng.signed().signum() * 10f64.powf(exponent))
}

fn random_single(rng: &mut Rng) -> Rows {
    let name = ["h", "s", "t", "sx", "x", "u3", "ry"][rng.below(7)];
    let angles: Vec<f64> = (0..arity(name).0).map(|_| 4.0 * rng.signed()).collect();
    named(name, &angles).matrix
}

fn pauli_or_id(rng: &mut Rng) -> Rows {
    named(["id", "x", "y", "z"][rng.below(4)], &[]).matrix
}
