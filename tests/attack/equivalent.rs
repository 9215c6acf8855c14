//! Verdicts on pairs of circuits: a circuit and its printed form read again, and a circuit and
//! itself with a gate more or less, beside the states of the reference.

use ketgrad_core::{
    circuit::Circuit,
    equivalent::{EquivalenceSettings, On, Verdict, equivalent},
    print,
    qasm::{self, parse},
    simulate::Simulator,
};
use support::{
    dense::{C, DenseState},
    pools::{Pool, PoolAngle, PoolCircuit, PoolGate},
    random::Rng,
};

use crate::finding::{Checked, Finding, guarded, minimal};

/// States that the reference finds closer than this, for each gate, are the same.
const SAME: f64 = 1e-13;
/// States that are further apart are different, whatever the bound.
const APART: f64 = 1e-4;

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let pool = Pool::ALL[rng.below(Pool::ALL.len())];
    let (n, len) = match rng.below(80) {
        0 => (15 + rng.below(3), 10 + rng.below(60)),
        1..10 => (5 + rng.below(5), 10 + rng.below(60)),
        _ => (1 + rng.below(4), 1 + rng.below(30)),
    };
    let drawn = PoolCircuit::draw(pool, n, len, rng.bits());
    let choice = rng.bits();
    let of = |gates: &[PoolGate]| {
        let circuit = PoolCircuit { n_qubits: n, gates: gates.to_vec() };
        guarded(&circuit, || laws(&circuit, pool, choice))
    };
    let budget = if n > 12 { 20 } else { 200 };
    of(&drawn.gates).map_err(|found| minimal(&drawn.gates, found, budget, of))
}

fn laws(drawn: &PoolCircuit, pool: Pool, choice: u64) -> Checked {
    let mut rng = Rng::new(choice);
    let circuit = drawn.circuit();
    if drawn.n_qubits < 10 {
        printed(drawn, &circuit, pool)?;
    }
    let mut changed = drawn.clone();
    let at = rng.below(drawn.gates.len() + 1);
    let gate = match rng.below(3) {
        0 if at < drawn.gates.len() => {
            changed.gates.remove(at);
            "without a gate"
        }
        1 => {
            let q = rng.below(drawn.n_qubits);
            changed.gates.insert(at, PoolGate::new("rx", &[PoolAngle::Radians(0.3)], &[q]));
            "with a rotation more"
        }
        _ => {
            let q = rng.below(drawn.n_qubits);
            let [one, two] = [PoolAngle::Pi(1, 3), PoolAngle::Pi(-1, 3)];
            changed.gates.splice(
                at..at,
                [PoolGate::new("ry", &[one], &[q]), PoolGate::new("ry", &[two], &[q])],
            );
            "with a rotation and its inverse more"
        }
    };
    // A decimal with many digits on both sides, so that numbers decide.
    let mut both = [drawn.clone(), changed];
    let numbers = rng.below(3) == 0;
    if numbers {
        let q = rng.below(drawn.n_qubits);
        let angle = PoolAngle::Radians(0.1234567890123456);
        both.iter_mut().for_each(|c| c.gates.push(PoolGate::new("ry", &[angle], &[q])));
    }
    let on = if drawn.n_qubits > 9 || rng.below(2) == 0 {
        On::State
    } else {
        On::Unitary { ancillas: 0 }
    };
    let settings = EquivalenceSettings::default()
        .with_on(on)
        .with_exact_ring(rng.below(2) == 0)
        .with_seed(choice);
    let [one, two] = &both;
    let given = [one.circuit(), two.circuit()];
    let input = || format!("{one}// and {gate}, on {on:?}\n{two}");
    let report = equivalent(&given[0], &given[1], &settings, &Simulator::new())
        .map_err(|e| Finding::new("circuits are compared", e.to_string(), input()))?;
    let apart = match on {
        On::State => up_to_phase(&[(one.reference(), two.reference())]),
        _ => up_to_phase(&columns(one).into_iter().zip(columns(two)).collect::<Vec<_>>()),
    };
    let fine = SAME * (drawn.gates.len() as f64 + 10.0);
    let equal = matches!(report.verdict, Verdict::Equal | Verdict::EqualUpToPhase);
    let detail =
        || format!("{:?}, but the reference says {apart:e} apart: {report:?}", report.verdict);
    if equal && apart > APART {
        return Err(Finding::new(
            format!("equal circuits are equal ({pool:?})"),
            detail(),
            input(),
        ));
    }
    // Exact methods tell a rotation by 1e-17 from nothing; numbers don't.
    if report.verdict == Verdict::Different && apart < fine && numbers {
        return Err(Finding::new(
            format!("different circuits differ ({pool:?})"),
            detail(),
            input(),
        ));
    }
    Ok(())
}

/// Image of each basis state.
fn columns(circuit: &PoolCircuit) -> Vec<DenseState> {
    let column = |index| {
        let mut state = DenseState::basis(circuit.n_qubits, index);
        circuit.gates.iter().for_each(|gate| gate.apply(&mut state));
        state
    };
    (0..1usize << circuit.n_qubits).map(column).collect()
}

/// Distance of pairs of states from each other up to one phase, at most.
fn up_to_phase(pairs: &[(DenseState, DenseState)]) -> f64 {
    let overlap: C = pairs
        .iter()
        .flat_map(|(a, b)| a.amplitudes.iter().zip(&b.amplitudes).map(|(x, y)| y.conj() * x))
        .sum();
    let phase = if overlap.norm() > 1e-9 { overlap / overlap.norm() } else { C::new(1.0, 0.0) };
    let of = |(a, b): &(DenseState, DenseState)| {
        let turned: Vec<C> = b.amplitudes.iter().map(|y| y * phase).collect();
        a.distance(&turned)
    };
    pairs.iter().map(of).fold(0.0, f64::max)
}

/// Both languages out and in again.
fn printed(drawn: &PoolCircuit, circuit: &Circuit, pool: Pool) -> Checked {
    let reference = drawn.reference();
    let fine = 20.0 * SAME * (drawn.gates.len() as f64 + 10.0);
    let versions =
        [("OpenQASM 3", print::to_qasm3(circuit)), ("OpenQASM 2", print::to_qasm2(circuit))];
    for (language, text) in versions {
        let failed = |what: &str, error: String| {
            Finding::new(format!("{language} {what} ({pool:?})"), error, format!("{drawn}"))
        };
        let text = text.map_err(|e| failed("is printed", e.to_string()))?;
        let parsed = parse(&text, &qasm::QasmOptions::default().with_max_gates(1_000_000));
        let parsed =
            parsed.map_err(|e| failed("that was printed is read", format!("{e}\n{text}")))?;
        let state = Simulator::new().run::<f64>(&parsed.circuit, &[]);
        let state = state.map_err(|e| failed("that was printed runs", e.to_string()))?;
        let given = DenseState::clone(&reference);
        let mut other = DenseState::zero(drawn.n_qubits);
        if other.amplitudes.len() != state.amplitudes().len() {
            return Err(failed("keeps the qubits", text));
        }
        other.amplitudes.copy_from_slice(state.amplitudes());
        let off = if language == "OpenQASM 3" {
            given.distance(state.amplitudes())
        } else {
            up_to_phase(&[(given, other)])
        };
        if off > fine {
            return Err(failed("means the same", format!("off by {off:e}:\n{text}")));
        }
        let report = equivalent(
            circuit,
            &parsed.circuit,
            &EquivalenceSettings::default(),
            &Simulator::new(),
        );
        let report = report.map_err(|e| failed("is compared", e.to_string()))?;
        let exact = language == "OpenQASM 3" && report.verdict == Verdict::EqualUpToPhase;
        if report.verdict == Verdict::Different || exact && report.exact {
            return Err(failed("is equivalent", format!("{report:?}\n{text}")));
        }
    }
    Ok(())
}
