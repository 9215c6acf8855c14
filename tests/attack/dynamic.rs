//! Measurements, resets, conditions and noise: the exact distribution, density matrices and shots
//! beside branches that are followed by hand.

use std::{collections::BTreeMap, fmt};

use ketgrad_core::{
    circuit::{Circuit, Condition},
    param::{Angle, Values},
    qasm::{self, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use support::{
    dense::{C, DenseState, Rows, pauli, product},
    pools::{Pool, PoolCircuit, PoolGate},
    random::Rng,
};

use crate::{
    circuits::pauli_sum,
    finding::{Checked, Finding, guarded, minimal},
};

const ROUNDING: f64 = 1e-12;
const SHOTS: usize = 3000;
/// Standard deviations that a count may be off: beyond six is once in a billion.
const DEVIATIONS: f64 = 6.5;

/// A step of a circuit.
#[derive(Clone, Debug)]
enum Step {
    /// A gate where these bits have these values.
    Gate(PoolGate, Vec<(usize, bool)>),
    /// A qubit into a bit.
    Measure(usize, usize),
    /// A qubit to |0>.
    Reset(usize),
    /// A channel with a parameter on a qubit.
    Channel(&'static str, f64, usize),
}

const CHANNELS: [&str; 5] =
    ["bit_flip", "phase_flip", "depolarizing", "amplitude_damping", "phase_damping"];

/// `sum A rho A^dagger` by the definitions in Nielsen and Chuang, chapter 8.3.
fn kraus(name: &str, p: f64) -> Vec<Rows> {
    let scaled = |w: f64, m: Rows| m.into_iter().map(|z| z * w.sqrt()).collect::<Rows>();
    let id = || vec![C::ONE, C::ZERO, C::ZERO, C::ONE];
    let matrix = |entries: [f64; 4]| entries.map(C::from).to_vec();
    match name {
        "bit_flip" => vec![scaled(1.0 - p, id()), scaled(p, pauli('X'))],
        "phase_flip" => vec![scaled(1.0 - p, id()), scaled(p, pauli('Z'))],
        "depolarizing" => {
            let third = |letter| scaled(p / 3.0, pauli(letter));
            vec![scaled(1.0 - p, id()), third('X'), third('Y'), third('Z')]
        }
        "amplitude_damping" => {
            vec![matrix([1.0, 0.0, 0.0, (1.0 - p).sqrt()]), matrix([0.0, p.sqrt(), 0.0, 0.0])]
        }
        _ => vec![matrix([1.0, 0.0, 0.0, (1.0 - p).sqrt()]), matrix([0.0, 0.0, 0.0, p.sqrt()])],
    }
}

#[derive(Clone, Debug)]
struct Program {
    n_qubits: usize,
    n_bits: usize,
    steps: Vec<Step>,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "OPENQASM 3.0;\ninclude \"stdgates.inc\";")?;
        writeln!(f, "qubit[{}] q;\nbit[{}] c;", self.n_qubits, self.n_bits)?;
        for step in &self.steps {
            match step {
                Step::Gate(gate, when) if when.is_empty() => writeln!(f, "{gate}")?,
                Step::Gate(gate, when) => {
                    let one =
                        |(bit, value): &(usize, bool)| format!("c[{bit}] == {}", u8::from(*value));
                    let all: Vec<String> = when.iter().map(one).collect();
                    writeln!(f, "if ({}) {{ {gate} }}", all.join(" && "))?;
                }
                Step::Measure(q, bit) => writeln!(f, "c[{bit}] = measure q[{q}];")?,
                Step::Reset(q) => writeln!(f, "reset q[{q}];")?,
                Step::Channel(name, p, q) => {
                    writeln!(f, "#pragma braket noise {name}({p:?}) q[{q}]")?
                }
            }
        }
        Ok(())
    }
}

impl Program {
    fn draw(rng: &mut Rng) -> Program {
        let (n_qubits, n_bits) = (1 + rng.below(3), 1 + rng.below(3));
        let pool = [Pool::CliffordT, Pool::U3Cx, Pool::Fractions][rng.below(3)];
        let gates = PoolCircuit::draw(pool, n_qubits, 4 + rng.below(16), rng.bits()).gates;
        let (mut branching, mut steps) = (rng.below(6), Vec::new());
        for gate in gates {
            let when = match rng.below(3) {
                0 => {
                    let bits = rng.permutation(n_bits);
                    bits[..1 + rng.below(n_bits)].iter().map(|&b| (b, rng.below(2) == 0)).collect()
                }
                _ => Vec::new(),
            };
            steps.push(Step::Gate(gate, when));
            if branching > 0 && rng.below(2) == 0 {
                branching -= 1;
                let q = rng.below(n_qubits);
                steps.push(match rng.below(6) {
                    0 => Step::Reset(q),
                    1 => Step::Channel(CHANNELS[rng.below(5)], rng.unit(), q),
                    _ => Step::Measure(q, rng.below(n_bits)),
                });
            }
        }
        let last = rng.below(n_qubits);
        steps.push(Step::Measure(last, rng.below(n_bits)));
        Program { n_qubits, n_bits, steps }
    }

    fn circuit(&self) -> Option<Circuit> {
        let mut circuit = Circuit::new(self.n_qubits);
        circuit.add_register("c", self.n_bits).ok()?;
        for step in &self.steps {
            match step {
                Step::Gate(gate, when) => {
                    let condition = |(bit, value): &(usize, bool)| Condition::Bit {
                        bit: u32::try_from(*bit).unwrap_or(0),
                        value: *value,
                    };
                    let mut alone = Circuit::new(self.n_qubits);
                    gate.push(&mut alone);
                    let instruction = alone.instructions().first()?.clone();
                    if when.is_empty() {
                        circuit.push(instruction).ok()?;
                    } else {
                        let all = Condition::All(when.iter().map(condition).collect());
                        circuit.when(all, |c| c.push(instruction)).ok()?;
                    }
                }
                Step::Measure(q, bit) => _ = circuit.measure(*q, *bit).ok()?,
                Step::Reset(q) => _ = circuit.reset(*q).ok()?,
                Step::Channel(name, p, q) => {
                    let p = Angle::rad(*p);
                    let _ = match *name {
                        "bit_flip" => circuit.bit_flip(*q, p).ok()?,
                        "phase_flip" => circuit.phase_flip(*q, p).ok()?,
                        "depolarizing" => circuit.depolarizing(*q, p).ok()?,
                        "amplitude_damping" => circuit.amplitude_damping(*q, p).ok()?,
                        _ => circuit.phase_damping(*q, p).ok()?,
                    };
                }
            }
        }
        Some(circuit)
    }

    /// All branches, each a state whose norm is its probability.
    fn branches(&self) -> Vec<(Vec<bool>, DenseState)> {
        let mut branches = vec![(vec![false; self.n_bits], DenseState::zero(self.n_qubits))];
        let to = [vec![C::ONE, C::ZERO, C::ZERO, C::ZERO], vec![C::ZERO, C::ZERO, C::ZERO, C::ONE]];
        for step in &self.steps {
            let after =
                |(bits, mut state): (Vec<bool>, DenseState)| -> Vec<(Vec<bool>, DenseState)> {
                    let split = |q: usize, terms: &[Rows]| {
                        terms
                            .iter()
                            .map(|term| {
                                let mut part = state.clone();
                                part.apply(term, &[q], &[]);
                                part
                            })
                            .collect::<Vec<_>>()
                    };
                    match step {
                        Step::Gate(gate, when) => {
                            if when.iter().all(|&(bit, value)| bits[bit] == value) {
                                gate.apply(&mut state);
                            }
                            vec![(bits, state)]
                        }
                        Step::Measure(q, bit) => (split(*q, &to).into_iter().enumerate())
                            .map(|(value, part)| {
                                let mut bits = bits.clone();
                                bits[*bit] = value == 1;
                                (bits, part)
                            })
                            .collect(),
                        Step::Reset(q) => {
                            let lower = product(&pauli('X'), &to[1]);
                            split(*q, &[to[0].clone(), lower])
                                .into_iter()
                                .map(|p| (bits.clone(), p))
                                .collect()
                        }
                        Step::Channel(name, p, q) => split(*q, &kraus(name, *p))
                            .into_iter()
                            .map(|part| (bits.clone(), part))
                            .collect(),
                    }
                };
            branches =
                branches.into_iter().flat_map(after).filter(|(_, s)| s.norm2() > 1e-15).collect();
        }
        branches
    }
}

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let drawn = Program::draw(&mut rng);
    let choice = rng.bits();
    let of = |steps: &[Step]| {
        let program = Program { steps: steps.to_vec(), ..drawn.clone() };
        guarded(&program, || laws(&program, choice))
    };
    of(&drawn.steps).map_err(|found| minimal(&drawn.steps, found, 300, of))
}

fn text(bits: &[bool]) -> String {
    bits.iter().rev().map(|b| if *b { '1' } else { '0' }).collect()
}

fn laws(program: &Program, choice: u64) -> Checked {
    if !program.steps.iter().any(|s| matches!(s, Step::Measure(..))) {
        return Ok(());
    }
    let mut rng = Rng::new(choice);
    let branches = program.branches();
    let mut right: BTreeMap<String, f64> = BTreeMap::new();
    for (bits, state) in &branches {
        *right.entry(text(bits)).or_insert(0.0) += state.norm2();
    }
    let failed = |law: &str, detail: String| Finding::new(law, detail, program);
    let Some(built) = program.circuit() else {
        return Err(failed("circuits are built", String::new()));
    };
    let source = program.to_string();
    let parsed = parse(&source, &qasm::QasmOptions::default());
    let parsed = parsed.map_err(|e| failed("the text is read", e.to_string()))?.circuit;
    let simulator = Simulator::new().with_memory_limit(1 << 30);
    for (way, circuit) in [("built", &built), ("read", &parsed)] {
        let wrong = |e: &dyn fmt::Display| failed("circuits run", format!("{way}: {e}"));
        let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[]))
            .map_err(|e| wrong(&e))?;
        let given = simulator.distribution::<f64, _>(&bound, 1 << 12).map_err(|e| wrong(&e))?;
        let given = by_text(given.iter().map(|(bits, p)| (bits.text(circuit), *p)));
        let keys = given.keys().chain(right.keys());
        for key in keys {
            let (p, r) = (given.get(key).unwrap_or(&0.0), right.get(key).unwrap_or(&0.0));
            if (p - r).abs() > ROUNDING || p.is_nan() {
                let detail =
                    format!("{way}: {key} has {p} instead of {r}: {given:?} instead of {right:?}");
                return Err(failed("exact distributions are right", detail));
            }
        }
        let counts =
            simulator.run_shots::<f64>(circuit, &[], SHOTS, choice).map_err(|e| wrong(&e))?;
        for key in counts.keys().chain(right.keys()) {
            let count = counts.get(key).copied().unwrap_or(0) as f64;
            let p = right.get(key).copied().unwrap_or(0.0);
            let shots = SHOTS as f64;
            let deviation = (shots * p * (1.0 - p)).max(0.0).sqrt();
            if (count - shots * p).abs() > DEVIATIONS * deviation + 3.0 {
                let detail =
                    format!("{way}: {key} {count} times instead of {}: {counts:?}", shots * p);
                return Err(failed("shots are distributed as the probabilities say", detail));
            }
        }
        let rho = simulator.run_density::<f64>(circuit, &[]).map_err(|e| wrong(&e))?;
        // What a final measurement does not change.
        let string: Vec<_> =
            (0..program.n_qubits).filter(|_| rng.below(2) == 0).map(|q| (q, 'Z')).collect();
        let expected: f64 = branches.iter().map(|(_, state)| state.expectation(&string)).sum();
        let given = rho.expectation(&pauli_sum(&string)).map_err(|e| wrong(&e))?;
        if (given - expected).abs() > ROUNDING || given.is_nan() {
            let detail = format!("{way}: {string:?} is {given} instead of {expected}");
            return Err(failed("density matrices are right", detail));
        }
    }
    Ok(())
}

fn by_text(items: impl Iterator<Item = (String, f64)>) -> BTreeMap<String, f64> {
    let mut sums = BTreeMap::new();
    items.for_each(|(key, p)| *sums.entry(key).or_insert(0.0) += p);
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use support::dense::dagger;

    /// The channels of the reference keep the trace.
    #[test]
    fn kraus_operators_sum_to_one() {
        for name in CHANNELS {
            let sum = kraus(name, 0.3).iter().fold(vec![C::ZERO; 4], |sum, k| {
                sum.iter().zip(product(&dagger(k), k)).map(|(a, b)| a + b).collect()
            });
            let off = |k: usize| (sum[k] - [1.0, 0.0, 0.0, 1.0][k]).norm();
            assert!((0..4).all(|k| off(k) < 1e-15), "{name}");
        }
    }
}
