//! Circuits of the pools, run by every executor on every number, beside the reference.

use ketgrad_core::{
    circuit::Circuit,
    kernel::{Executors, InstructionSet, StateHint, Threads},
    observable::{Pauli, PauliString, PauliSum},
    param::Values,
    plan::{Plan, PlanOptions},
    simulate::{BoundCircuit, Simulator},
    state::StateVector,
};
use num_complex::Complex;
use num_dual::Dual64;
use support::{
    dense::DenseState,
    pools::{Pool, PoolCircuit, PoolGate},
    random::Rng,
};

use crate::finding::{Checked, Finding, guarded, minimal};

/// Rounding in double precision, for each gate.
const ROUNDING: f64 = 2e-15;
/// The same in single precision, and for an angle of some radians.
const ROUNDING_F32: f64 = 4e-6;

/// Circuit and questions that are drawn from a seed.
struct Draw {
    pool: Pool,
    circuit: PoolCircuit,
    /// Seed of what else is chosen.
    choice: u64,
}

fn draw(seed: u64) -> Draw {
    let mut rng = Rng::new(seed);
    let pool = Pool::ALL[rng.below(Pool::ALL.len())];
    // Plans begin at 15 qubits; below 8 qubits a seed takes a millisecond.
    let (n, len) = match rng.below(40) {
        0 => (15 + rng.below(3), 20 + rng.below(300)),
        1 | 2 => (9 + rng.below(5), 50 + rng.below(300)),
        3 => (2 + rng.below(3), 2000),
        4..15 => (5 + rng.below(4), 20 + rng.below(150)),
        _ => (1 + rng.below(5), 1 + rng.below(60)),
    };
    Draw { pool, circuit: PoolCircuit::draw(pool, n, len, rng.bits()), choice: rng.bits() }
}

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let Draw { pool, circuit, choice } = draw(seed);
    let n = circuit.n_qubits;
    let of = |gates: &[PoolGate]| {
        let circuit = PoolCircuit { n_qubits: n, gates: gates.to_vec() };
        guarded(&circuit, || laws(&circuit, pool, choice))
    };
    let budget = if n > 12 { 60 } else { 600 };
    of(&circuit.gates).map_err(|found| minimal(&circuit.gates, found, budget, of))
}

fn laws(drawn: &PoolCircuit, pool: Pool, choice: u64) -> Checked {
    let (n, circuit, reference) = (drawn.n_qubits, drawn.circuit(), drawn.reference());
    let mut rng = Rng::new(choice);
    let gates = drawn.gates.len() as f64 + 10.0;
    let near = |way: &str, amplitudes: &[Complex<f64>], tolerance: f64| {
        let off = reference.distance(amplitudes);
        let law = || format!("states are right {way} ({pool:?})");
        if off <= tolerance {
            return Ok(());
        }
        Err(Finding::new(
            law(),
            format!("{n} qubits: off by {off:e}, {tolerance:e} is fine"),
            drawn,
        ))
    };
    let failed =
        |error: &dyn std::fmt::Display| Finding::new("circuits run", error.to_string(), drawn);
    let fine = ROUNDING * gates;
    let state = Simulator::new().run::<f64>(&circuit, &[]).map_err(|e| failed(&e))?;
    near("by default", state.amplitudes(), fine)?;
    expectations(drawn, &state, &reference, &mut rng, fine)?;
    if n <= 10 {
        let generic = Simulator::new().with_executors(Executors::new());
        let state = generic.run::<f64>(&circuit, &[]).map_err(|e| failed(&e))?;
        near("by the generic kernels", state.amplitudes(), fine)?;
    }
    near("by a plan", &planned::<f64>(&circuit, &mut rng), fine)?;
    let points =
        Simulator::new().run_points::<f64>(&circuit, &[vec![], vec![]]).map_err(|e| failed(&e))?;
    near("by several points", points[1].amplitudes(), fine)?;
    single(drawn, pool, &mut rng)?;
    if n <= 7 && gates < 300.0 {
        let state = Simulator::new().run::<Dual64>(&circuit, &[]).map_err(|e| failed(&e))?;
        let real: Vec<_> =
            state.amplitudes().iter().map(|z| Complex::new(z.re.re, z.im.re)).collect();
        near("on duals", &real, fine)?;
    }
    if n <= 4 && gates < 300.0 {
        density(drawn, &circuit, &reference, fine)?;
    }
    Ok(())
}

/// In single precision, with angles that it holds.
fn single(drawn: &PoolCircuit, pool: Pool, rng: &mut Rng) -> Checked {
    let drawn = drawn.in_single_precision();
    let (circuit, reference) = (drawn.circuit(), drawn.reference());
    let tolerance = ROUNDING_F32 * (drawn.gates.len() as f64 + 10.0);
    let state = Simulator::new().run::<f32>(&circuit, &[]);
    let state = state.map_err(|e| Finding::new("circuits run", e.to_string(), &drawn))?;
    let ways = [("", state.into_amplitudes()), (" by a plan", planned::<f32>(&circuit, rng))];
    for (way, amplitudes) in ways {
        let wide: Vec<_> =
            amplitudes.iter().map(|z| Complex::new(z.re.into(), z.im.into())).collect();
        let off = reference.distance(&wide);
        if off > tolerance {
            let law = format!("states are right in single precision{way} ({pool:?})");
            let detail = format!("off by {off:e}, {tolerance:e} is fine");
            return Err(Finding::new(law, detail, &drawn));
        }
    }
    Ok(())
}

/// The state by a plan with tiles of a random size.
fn planned<E: ketgrad_core::kernel::SimdFloat + ketgrad_core::scalar::Real>(
    circuit: &Circuit,
    rng: &mut Rng,
) -> Vec<Complex<E>> {
    let n = circuit.n_qubits();
    let Ok(bound) = BoundCircuit::<Complex<E>>::new(circuit, &Values::<E>(&[])) else {
        return Vec::new();
    };
    let Some(operators) = bound.operators() else { return Vec::new() };
    let tile_qubits = 3 + rng.below(n.max(3) - 2);
    let set = InstructionSet::detect();
    let way = if rng.below(2) == 0 { StateHint::StartsAtZero } else { StateHint::Arbitrary };
    let options = PlanOptions::new(set, n)
        .with_tile_qubits(tile_qubits)
        .with_low_qubits(2 + rng.below(3))
        .with_state_hint(way);
    let Ok(zero) = StateVector::<Complex<E>>::zero(n) else { return Vec::new() };
    let mut state = zero.into_amplitudes();
    Plan::new(n, operators, options).run(&mut state, &Threads::serial());
    state
}

/// A string of random letters on some qubits.
pub(crate) fn random_string(n: usize, rng: &mut Rng) -> Vec<(usize, char)> {
    let qubits = rng.permutation(n);
    let count = 1 + rng.below(n.min(3));
    qubits[..count].iter().map(|&q| (q, ['X', 'Y', 'Z'][rng.below(3)])).collect()
}

/// The string of the library.
pub(crate) fn pauli_sum(string: &[(usize, char)]) -> PauliSum {
    let letter = |c: char| match c {
        'X' => Pauli::X,
        'Y' => Pauli::Y,
        _ => Pauli::Z,
    };
    PauliString::new(string.iter().map(|&(q, c)| (q, letter(c))))
        .map(PauliSum::from)
        .unwrap_or_default()
}

fn expectations(
    drawn: &PoolCircuit,
    state: &StateVector<Complex<f64>>,
    reference: &DenseState,
    rng: &mut Rng,
    tolerance: f64,
) -> Checked {
    for _ in 0..3 {
        let string = random_string(drawn.n_qubits, rng);
        let right = reference.expectation(&string);
        let given = state.expectation(&pauli_sum(&string), &Threads::serial());
        let given =
            given.map_err(|e| Finding::new("expectation values exist", e.to_string(), drawn))?;
        let off = (given - right).abs();
        if off.is_nan() || off > 4.0 * tolerance {
            let detail = format!("{string:?}: {given} instead of {right}");
            return Err(Finding::new("expectation values are right", detail, drawn));
        }
    }
    Ok(())
}

fn density(
    drawn: &PoolCircuit,
    circuit: &Circuit,
    reference: &DenseState,
    tolerance: f64,
) -> Checked {
    let failed =
        |error: &dyn std::fmt::Display| Finding::new("circuits run", error.to_string(), drawn);
    let rho = Simulator::new().run_density::<f64>(circuit, &[]).map_err(|e| failed(&e))?;
    let a = &reference.amplitudes;
    for row in 0..a.len() {
        for column in 0..a.len() {
            let off = (rho.entry(row, column) - a[row] * a[column].conj()).norm();
            if off.is_nan() || off > 2.0 * tolerance {
                let detail = format!("entry ({row}, {column}) is off by {off:e}");
                return Err(Finding::new("density matrices are right", detail, drawn));
            }
        }
    }
    Ok(())
}
