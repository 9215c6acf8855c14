//! Gradients and Hessians of circuits with parameters: every method, and differences of the
//! reference.

use ketgrad_core::{
    circuit::Circuit,
    hybrid::{Expectation, Method},
    observable::PauliSum,
    param::{Angle, Q},
};
use support::{
    dense::DenseState,
    pools::{Pool, PoolAngle, PoolCircuit, PoolGate},
    random::Rng,
};

use crate::{
    circuits::{pauli_sum, random_string},
    finding::{Checked, Finding, guarded, minimal},
};

/// Methods that are right to rounding may differ by this, for each gate.
const ROUNDING: f64 = 1e-13;
/// Central differences of waves with many coefficients up to 3, relative to the largest slope.
const DIFFERENCES: f64 = 1e-5;

/// A gate whose angles may have parameters: for each angle `coefficient * parameter` to add to it.
#[derive(Clone, Debug)]
pub(crate) struct Slotted {
    /// The gate and its constants.
    pub(crate) gate: PoolGate,
    /// The parameter of each angle, if any, and its coefficient as a fraction.
    pub(crate) slots: Vec<Option<(usize, i64, i64)>>,
}

/// A circuit with parameters `p0`, `p1`, ….
#[derive(Clone, Debug)]
pub(crate) struct Parametrised {
    /// The number of qubits.
    pub(crate) n_qubits: usize,
    /// The number of parameters.
    pub(crate) n_params: usize,
    /// The gates.
    pub(crate) gates: Vec<Slotted>,
}

impl Parametrised {
    /// Parameters put into some angles of a circuit.
    pub(crate) fn draw(circuit: &PoolCircuit, n_params: usize, rng: &mut Rng) -> Parametrised {
        let slot = |rng: &mut Rng| {
            (rng.below(3) > 0).then(|| {
                (rng.below(n_params), [1, 1, -1, 2, 3][rng.below(5)], [1, 1, 1, 2][rng.below(4)])
            })
        };
        let gates = circuit.gates.iter().map(|gate| {
            let slots = gate.angles.iter().map(|_| slot(rng)).collect();
            // Special points, where waves are stationary, are worth half of the tries.
            let constant =
                |angle: &PoolAngle| if rng.below(2) == 0 { PoolAngle::Pi(0, 1) } else { *angle };
            let angles = gate.angles.iter().map(constant).collect();
            Slotted { gate: PoolGate { angles, ..gate.clone() }, slots }
        });
        Parametrised { n_qubits: circuit.n_qubits, n_params, gates: gates.collect() }
    }

    /// As a circuit.
    pub(crate) fn circuit(&self) -> Circuit {
        let mut circuit = Circuit::new(self.n_qubits);
        let params: Vec<Angle> =
            (0..self.n_params).map(|k| circuit.param(&format!("p{k}"))).collect();
        for Slotted { gate, slots } in &self.gates {
            let angles: Vec<Angle> = (gate.angles.iter().zip(slots))
                .map(|(constant, slot)| match slot {
                    Some((k, n, d)) => params[*k].clone() * Q::new(*n, *d) + constant.angle(),
                    None => constant.angle(),
                })
                .collect();
            gate.push_with(&mut circuit, &angles);
        }
        circuit
    }

    /// The final state by the reference.
    pub(crate) fn reference(&self, at: &[f64]) -> DenseState {
        let mut state = DenseState::zero(self.n_qubits);
        for Slotted { gate, slots } in &self.gates {
            let angles = gate.angles.iter().zip(slots).map(|(constant, slot)| match slot {
                Some((k, n, d)) => {
                    PoolAngle::Radians(at[*k] * *n as f64 / *d as f64 + constant.radians())
                }
                None => *constant,
            });
            PoolGate { angles: angles.collect(), ..gate.clone() }.apply(&mut state);
        }
        state
    }
}

/// Text of OpenQASM 3.
impl std::fmt::Display for Parametrised {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "OPENQASM 3.0;\ninclude \"stdgates.inc\";")?;
        (0..self.n_params).try_for_each(|k| writeln!(f, "input float p{k};"))?;
        writeln!(f, "qubit[{}] q;", self.n_qubits)?;
        for Slotted { gate, slots } in &self.gates {
            let mut text = gate.to_string();
            if let Some((head, rest)) = text.split_once('(')
                && let Some((_, tail)) = rest.rsplit_once(')')
                && gate.matrix.is_none()
            {
                let angles = gate.angles.iter().zip(slots).map(|(constant, slot)| match slot {
                    Some((k, n, d)) => format!("{n}*p{k}/{d} + {constant}"),
                    None => constant.to_string(),
                });
                text = format!("{head}({}){tail}", angles.collect::<Vec<_>>().join(", "));
            }
            writeln!(f, "{text}")?;
        }
        Ok(())
    }
}

struct Question {
    at: Vec<f64>,
    string: Vec<(usize, char)>,
    pool: Pool,
    second: bool,
}

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let pools = [
        Pool::RzSx,
        Pool::U3Cx,
        Pool::Fractions,
        Pool::Fractions,
        Pool::Controlled,
        Pool::Sandwich,
    ];
    let pool = pools[rng.below(pools.len())];
    let (n, len) = match rng.below(60) {
        0 => (15, 12 + rng.below(20)),
        1..10 => (5 + rng.below(4), 10 + rng.below(30)),
        _ => (1 + rng.below(4), 1 + rng.below(14)),
    };
    let drawn = PoolCircuit::draw(pool, n, len, rng.bits());
    let n_params = 1 + rng.below(3);
    let circuit = Parametrised::draw(&drawn, n_params, &mut rng);
    let coordinate = |rng: &mut Rng| match rng.below(4) {
        0 => 0.0,
        1 => std::f64::consts::PI * [1.0, 0.5, -0.5, 2.0][rng.below(4)],
        _ => 3.0 * rng.signed(),
    };
    let at = (0..n_params).map(|_| coordinate(&mut rng)).collect();
    let question = Question { at, string: random_string(n, &mut rng), pool, second: n < 8 };
    let of = |gates: &[Slotted]| {
        let circuit = Parametrised { gates: gates.to_vec(), ..circuit.clone() };
        guarded(&circuit, || laws(&circuit, &question))
    };
    let budget = if n > 12 { 20 } else { 300 };
    of(&circuit.gates).map_err(|found| minimal(&circuit.gates, found, budget, of))
}

fn laws(drawn: &Parametrised, question: &Question) -> Checked {
    let Question { at, string, pool, second } = question;
    let input = || format!("{drawn}// {string:?} at {at:?}");
    let failed = |what: &str, error: &dyn std::fmt::Display| {
        Finding::new(format!("{what} exist ({pool:?})"), error.to_string(), input())
    };
    let compare = |what: &str, given: &[f64], right: &[f64], tolerance: f64| {
        let off = given.iter().zip(right).map(|(a, b)| (a - b).abs());
        let worst = off.fold(0.0, |m: f64, d| if d.is_nan() { f64::INFINITY } else { m.max(d) });
        let largest = right.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        if given.len() == right.len() && worst <= tolerance * largest {
            return Ok(());
        }
        let detail = format!("{given:?} instead of {right:?}: off by {worst:e}");
        Err(Finding::new(format!("{what} is right ({pool:?})"), detail, input()))
    };
    let exact = ROUNDING * (drawn.gates.len() as f64 + 10.0);
    let observable: PauliSum = pauli_sum(string);
    let energy =
        Expectation::new(drawn.circuit(), [observable]).map_err(|e| failed("values", &e))?;
    let (value, gradient) = energy.value_and_gradient(at).map_err(|e| failed("gradients", &e))?;
    compare("the value", &[value], &[drawn.reference(at).expectation(string)], exact)?;
    let slope = |k: usize| {
        let h = 1e-5;
        let moved = |step: f64| {
            let mut moved = at.clone();
            moved[k] += step;
            drawn.reference(&moved).expectation(string)
        };
        (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h)
    };
    let slopes: Vec<f64> = (0..at.len()).map(slope).collect();
    compare("the gradient by adjoint", &gradient, &slopes, DIFFERENCES)?;
    for method in [Method::Forward, Method::Shift, Method::Difference] {
        let (v, g) = energy.gradient_by(method, at).map_err(|e| failed("gradients", &e))?;
        let tolerance = if method == Method::Difference { DIFFERENCES } else { exact };
        compare(&format!("the gradient by {method}"), &g, &gradient, tolerance)?;
        compare(&format!("the value by {method}"), &[v], &[value], exact)?;
    }
    let mut prepared = energy.prepare::<f64>().map_err(|e| failed("prepared gradients", &e))?;
    let mut by_plan = vec![0.0; at.len()];
    // Another point before, so that a prepared plan has to change its numbers.
    let elsewhere: Vec<f64> = at.iter().map(|x| x + 0.5).collect();
    for point in [&elsewhere, at] {
        prepared
            .value_and_gradient(point, &mut by_plan)
            .map_err(|e| failed("prepared gradients", &e))?;
    }
    compare("a prepared gradient", &by_plan, &gradient, exact)?;
    let several =
        energy.gradients(&[elsewhere, at.clone()]).map_err(|e| failed("gradients", &e))?;
    compare("the gradient at several points", &several[1].1, &gradient, exact)?;
    if !second {
        return Ok(());
    }
    let hessian = energy.hessian(at).map_err(|e| failed("Hessians", &e))?.concat();
    for method in [Method::Forward, Method::Shift, Method::Difference] {
        let other = energy.hessian_by(method, at).map_err(|e| failed("Hessians", &e))?.concat();
        let tolerance =
            if method == Method::Difference { 10.0 * DIFFERENCES } else { 10.0 * exact };
        compare(&format!("the Hessian by {method}"), &other, &hessian, tolerance)?;
    }
    Ok(())
}
