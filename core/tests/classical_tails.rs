//! Classical tails: circuits whose last measurements are followed by classical instructions alone
//! have the outcomes that they have where every measurement is made in the middle of a run.
//!
//! A gate on each qubit at the very end, which changes no outcome, forces that: no measurement can
//! wait for the end then.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Condition},
    classical::{Arithmetic, ClassicalExpr, ClassicalType, IntType, Relation, VariableId},
    kernel::Threads,
    param::Values,
    scalar::Real,
    simulate::{Bits, BoundCircuit, SimulateError, Simulator},
};
use num_complex::Complex;
use support::random::Rng;

const INT: ClassicalType = ClassicalType::Int(IntType::INT);

fn bound<T: Real>(circuit: &Circuit) -> BoundCircuit<Complex<T>> {
    BoundCircuit::new(circuit, &Values::<T>(&[])).unwrap()
}

/// The same circuit with a gate on each qubit after its end.
fn forced(circuit: &Circuit) -> Circuit {
    let mut forced = circuit.clone();
    for q in 0..circuit.n_qubits() {
        forced.x(q).unwrap();
    }
    forced
}

/// A random circuit: gates, measurements, and what is computed from their outcomes in between.
struct Generator {
    rng: Rng,
    circuit: Circuit,
    /// Shown variables, a hidden one, that of loops.
    variables: Vec<VariableId>,
    counter: VariableId,
}

type Built<'c> = Result<&'c mut Circuit, CircuitError>;

impl Generator {
    fn new(seed: u64, n_qubits: usize) -> Generator {
        let mut circuit = Circuit::new(n_qubits);
        circuit.add_register("c", n_qubits).unwrap();
        let mut variables: Vec<VariableId> =
            ["m", "n"].map(|name| circuit.add_variable(name, INT).unwrap()).into();
        variables.push(circuit.hidden_variable("h", INT).unwrap());
        let counter = circuit.hidden_variable("i", INT).unwrap();
        Generator { rng: Rng::new(seed), circuit, variables, counter }
    }

    fn gates(&mut self) {
        let n = self.circuit.n_qubits();
        for _ in 0..1 + self.rng.below(2 * n) {
            let (q, angle) = (self.rng.below(n), self.rng.signed() * 3.0);
            match self.rng.below(4) {
                0 => self.circuit.h(q),
                1 => self.circuit.ry(q, angle),
                2 => self.circuit.rx(q, angle),
                _ if n == 1 => self.circuit.x(q),
                _ => self.circuit.cx(q, (q + 1 + self.rng.below(n - 1)) % n),
            }
            .unwrap();
        }
    }

    fn variable(&mut self) -> VariableId {
        self.variables[self.rng.below(self.variables.len())]
    }

    fn condition(&mut self) -> Condition {
        let n = self.circuit.n_qubits();
        if self.rng.below(2) == 0 {
            let bit = self.rng.below(n) as u32;
            return Condition::Bit { bit, value: self.rng.below(2) == 1 };
        }
        let id = self.variable();
        let value = self.circuit.value_of(id).unwrap();
        value.compare(Relation::Greater, self.rng.integer(-1, 2)).unwrap().into()
    }

    /// A sum of two variables or numbers.
    fn store<'c>(&mut self, c: &'c mut Circuit) -> Built<'c> {
        let (to, from) = (self.variable(), self.variable());
        let step = self.rng.integer(-2, 3);
        let next = c.value_of(from)?.binary(Arithmetic::Add, step)?;
        c.store(to, next)
    }

    /// A classical statement.
    fn statement(&mut self, depth: usize, c: &mut Circuit) -> Result<(), CircuitError> {
        let choice = if depth == 0 { self.rng.below(2) } else { self.rng.below(7) };
        let condition = self.condition();
        match choice {
            0 => {
                self.store(c)?;
            }
            1 => {
                let bit = self.rng.below(c.n_qubits());
                let value = self.rng.below(2) == 1;
                c.when(condition, |c| c.assign(bit, value))?;
            }
            2 => {
                let mut otherwise = self.fork();
                c.if_else(
                    condition,
                    |c| self.body(depth - 1, c),
                    |c| otherwise.body(depth - 1, c),
                )?;
            }
            3 => {
                let counter = self.counter;
                let range = [1, 1, self.rng.integer(0, 3)].map(ClassicalExpr::from);
                c.for_loop(counter, range, |c| {
                    self.body(0, c)?;
                    c.when(condition, |c| c.break_out(1))
                })?;
            }
            4 => {
                let of = self.variables[0];
                let positive = c.value_of(of)?.compare(Relation::Greater, 0)?;
                c.while_loop(positive, |c| {
                    self.store(c)?;
                    let less = c.value_of(of)?.binary(Arithmetic::Sub, 5)?;
                    c.store(of, less)
                })?;
            }
            5 => {
                let subject = c.value_of(self.variable())?;
                let mut default = self.fork();
                c.switch(subject, |s| {
                    s.case([0, 2], |c| self.body(depth - 1, c))?
                        .default(|c| default.body(depth - 1, c))
                })?;
            }
            _ => {
                c.when(condition, |c| self.store(c))?;
            }
        }
        Ok(())
    }

    fn fork(&mut self) -> Generator {
        Generator {
            rng: Rng::new(self.rng.bits()),
            circuit: self.circuit.clone(),
            variables: self.variables.clone(),
            counter: self.counter,
        }
    }

    fn body<'c>(&mut self, depth: usize, c: &'c mut Circuit) -> Built<'c> {
        for _ in 0..1 + self.rng.below(2) {
            self.statement(depth, c)?;
        }
        Ok(c)
    }

    fn statements(&mut self, count: usize) {
        let mut circuit = self.circuit.clone();
        (0..count).for_each(|_| self.statement(2, &mut circuit).unwrap());
        self.circuit = circuit;
    }

    /// The run ends here under a condition.
    fn exit(&mut self) {
        let condition = self.condition();
        self.circuit.when(condition, Circuit::end_run).unwrap();
    }

    /// Measurements of all qubits in random order, with readout errors, statements and an end of
    /// the run in between.
    fn finish(mut self) -> Circuit {
        let n = self.circuit.n_qubits();
        for q in self.rng.permutation(n) {
            self.circuit.measure(q, q).unwrap();
            if self.rng.below(4) == 0 {
                self.circuit.readout_error(q, 0.1, 0.3).unwrap();
                if self.rng.below(2) == 0 {
                    self.circuit.measure(q, q).unwrap();
                }
            }
            let count = self.rng.below(2);
            self.statements(count);
            if self.rng.below(12) == 0 {
                self.exit();
            }
        }
        self.statements(2);
        if self.rng.below(3) == 0 {
            self.exit();
        }
        self.statements(1);
        self.circuit
    }
}

/// A random circuit with a tail; sometimes with a measurement or noise in the middle, too.
fn random(seed: u64, n_qubits: usize) -> Circuit {
    let mut g = Generator::new(seed, n_qubits);
    g.gates();
    match g.rng.below(4) {
        0 => {
            g.circuit.measure(0, 0).unwrap();
            g.statements(1);
            let condition = g.condition();
            g.circuit.when(condition, |c| c.h(0)).unwrap();
            g.gates();
        }
        1 => {
            g.circuit.depolarizing(n_qubits - 1, 0.2).unwrap();
        }
        _ => {}
    }
    g.finish()
}

/// The circuits of the laws: every number of qubits up to 5.
fn circuits() -> impl Iterator<Item = (u64, Circuit)> {
    (0..200).map(|seed| (seed, random(seed, 1 + seed as usize % 5)))
}

fn distribution<T: Real>(circuit: &Circuit) -> Result<BTreeMap<Bits, f64>, SimulateError> {
    let found =
        Simulator::new().with_max_rounds(500).distribution(&bound::<T>(circuit), 1 << 12)?;
    Ok(found.into_iter().map(|(bits, p)| (bits, p.primal().unwrap())).collect())
}

/// Checks that two distributions agree; what is less likely than the tolerance may be missing.
fn check_close(
    found: &BTreeMap<Bits, f64>,
    expected: &BTreeMap<Bits, f64>,
    tolerance: f64,
    circuit: &Circuit,
) {
    for bits in found.keys().chain(expected.keys()) {
        let [p, q] = [found, expected].map(|all| all.get(bits).copied().unwrap_or(0.0));
        let text = bits.text(circuit);
        assert!((p - q).abs() < tolerance, "{text}: {p} instead of {q} of\n{circuit}");
    }
}

#[test]
fn tails_have_the_distribution_of_measurements_in_the_middle() {
    let mut n_checked = 0;
    for (seed, circuit) in circuits() {
        let expected = match distribution::<f64>(&forced(&circuit)) {
            Ok(expected) => expected,
            // Loops that never end are found by either.
            Err(SimulateError::Endless { .. } | SimulateError::NeverEnds { .. }) => {
                assert!(distribution::<f64>(&circuit).is_err(), "seed {seed}\n{circuit}");
                continue;
            }
            Err(e) => panic!("seed {seed}: {e}\n{circuit}"),
        };
        check_close(&distribution::<f64>(&circuit).unwrap(), &expected, 1e-12, &circuit);
        check_close(&distribution::<f32>(&circuit).unwrap(), &expected, 1e-5, &circuit);
        n_checked += 1;
    }
    assert!(n_checked > 100, "{n_checked} circuits");
}

/// Pearson's statistic of counts, its mean and its variance.
fn statistic(
    counts: &BTreeMap<Bits, u64>,
    expected: &BTreeMap<Bits, f64>,
    shots: usize,
) -> [f64; 3] {
    // What rounding has left cannot occur.
    let likely: Vec<(&Bits, f64)> =
        expected.iter().map(|(bits, p)| (bits, *p)).filter(|(_, p)| *p > 1e-12).collect();
    let (n, k) = (shots as f64, likely.len() as f64);
    let mut sums = [0.0, k - 1.0, 2.0 * (k - 1.0) - (k * k + 2.0 * k - 2.0) / n];
    for (bits, p) in likely {
        let count = counts.get(bits).map_or(0.0, |&count| count as f64);
        sums[0] += (count - n * p).powi(2) / (n * p);
        sums[2] += 1.0 / p / n;
    }
    sums
}

#[test]
fn shots_of_tails_have_the_distribution_for_any_number_of_threads() {
    const SHOTS: usize = 300;
    let mut sums = [[0.0; 3]; 2];
    for (seed, circuit) in circuits() {
        let Ok(expected) = distribution::<f64>(&forced(&circuit)) else { continue };
        let counts = |threads: usize| {
            let simulator = Simulator::new().with_threads(Threads::new(threads).unwrap());
            simulator.trajectory_counts(&bound::<f64>(&circuit), SHOTS, seed).unwrap()
        };
        let one = counts(1);
        assert!([2, 3].iter().all(|&n| counts(n) == one), "seed {seed}\n{circuit}");
        let short = Simulator::new().trajectory_counts(&bound::<f32>(&circuit), SHOTS, seed);
        for (counts, sums) in [one, short.unwrap()].iter().zip(&mut sums) {
            assert_eq!(counts.values().sum::<u64>(), SHOTS as u64);
            let unknown = counts.keys().find(|bits| !expected.contains_key(bits));
            assert!(unknown.is_none(), "seed {seed}: {unknown:?}\n{circuit}");
            let own = statistic(counts, &expected, SHOTS);
            (0..3).for_each(|k| sums[k] += own[k]);
        }
    }
    for [statistic, mean, variance] in sums {
        assert!((statistic - mean).abs() < 5.0 * variance.sqrt(), "{statistic} instead of {mean}");
    }
}

/// Measures qubits in |+>; the second circuit counts the ones.
fn counted(n_qubits: usize) -> [Circuit; 2] {
    let mut plain = Circuit::new(n_qubits);
    plain.add_register("c", n_qubits).unwrap();
    let n = plain.add_variable("n", INT).unwrap();
    for q in 0..n_qubits {
        plain.h(q).unwrap().measure(q, q).unwrap();
    }
    let mut with_tail = plain.clone();
    for bit in 0..n_qubits as u32 {
        let next = with_tail.value_of(n).unwrap().binary(Arithmetic::Add, 1).unwrap();
        with_tail
            .if_else(Condition::Bit { bit, value: true }, |c| c.store(n, next), |c| Ok(c))
            .unwrap();
    }
    [plain, with_tail]
}

/// A tail takes part in no draw: the bits are those of the circuit without it, shot by shot.
#[test]
fn measurements_before_a_tail_are_sampled_at_once() {
    let [plain, with_tail] = counted(12);
    let counts = |circuit: &Circuit| {
        let all = Simulator::new().trajectory_counts(&bound::<f64>(circuit), 2000, 5).unwrap();
        let bits = |bits: &Bits| (0..12).fold(0u32, |all, k| all | u32::from(bits.get(k)) << k);
        all.iter().map(|(memory, count)| (bits(memory), *count)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(counts(&plain), counts(&with_tail));
    assert_ne!(counts(&plain), counts(&forced(&with_tail)));
    // One state is enough, where branches have one each.
    let little = Simulator::new().with_memory_limit(16 << 12);
    let outcomes = little.distribution(&bound::<f64>(&with_tail), 1 << 12).unwrap();
    assert_eq!(outcomes.len(), 1 << 12);
    assert!(little.distribution(&bound::<f64>(&forced(&with_tail)), 1 << 12).is_err());
    // Fewer outcomes than the final measurements have values: branches are followed then.
    let mut ghz = Circuit::new(12);
    ghz.add_register("c", 12).unwrap();
    let n = ghz.add_variable("n", INT).unwrap();
    ghz.h(0).unwrap();
    for q in 1..12 {
        ghz.cx(0, q).unwrap();
    }
    for q in 0..12 {
        ghz.measure(q, q).unwrap();
    }
    let all: Vec<usize> = (0..12).collect();
    let some = Condition::compare(&all, Relation::NotEqual, 0).unwrap();
    ghz.if_else(some, |c| c.store(n, 9), |c| Ok(c)).unwrap();
    let outcomes = Simulator::new().distribution(&bound::<f64>(&ghz), 64).unwrap();
    let texts: Vec<String> = outcomes.keys().map(|memory| memory.text(&ghz)).collect();
    assert_eq!(texts, ["000000000000 n=0", "111111111111 n=9"]);
}

/// Expectation values and states are those after the measurements, as if nothing waited.
#[test]
fn states_of_circuits_with_a_tail_have_been_measured() {
    let [_, circuit] = counted(2);
    let x = "X0".parse().unwrap();
    let means = Simulator::new().trajectory_expectations(&bound::<f64>(&circuit), &[x], 100, 1);
    assert!(means.unwrap()[0].value.abs() < 1e-12);
}

#[test]
fn loops_of_tails_that_never_end_are_found() {
    let mut c = Circuit::new(1);
    c.add_register("c", 1).unwrap();
    let n = c.add_variable("n", INT).unwrap();
    c.h(0).unwrap().measure(0, 0).unwrap();
    let one = Condition::Bit { bit: 0, value: true };
    let shots = |c: &Circuit| Simulator::new().trajectory_counts(&bound::<f64>(c), 100, 1);
    let mut repeats = c.clone();
    repeats
        .while_loop(one.clone(), |c| {
            let other = c.value_of(n)?.binary(Arithmetic::BitXor, 1)?;
            c.store(n, other)
        })
        .unwrap();
    let error = shots(&repeats).unwrap_err();
    assert!(matches!(error, SimulateError::NeverEnds { .. }), "{error}");
    let mut counts = c;
    counts
        .while_loop(one, |c| {
            let next = c.value_of(n)?.binary(Arithmetic::Add, 1)?;
            c.store(n, next)
        })
        .unwrap();
    let error = shots(&counts).unwrap_err();
    assert!(matches!(error, SimulateError::Endless { .. }), "{error}");
}

/// The memory of the shots of a circuit has its counts, whatever runs it, and that of fewer shots
/// is its beginning.
#[test]
fn memories_have_the_counts_of_their_shots() {
    fn check<T: Real>(circuit: &Circuit, seed: u64) {
        let simulator = Simulator::new().with_max_rounds(500);
        let run = |simulator: &Simulator, shots| {
            simulator.run_memory::<T>(circuit, &[], shots, seed).unwrap()
        };
        let Ok(counts) = simulator.run_shots::<T>(circuit, &[], 50, seed) else {
            assert!(simulator.run_memory::<T>(circuit, &[], 50, seed).is_err(), "{circuit}");
            return;
        };
        let memory = run(&simulator, 50);
        let by_outcome: BTreeMap<String, u64> =
            memory.counts().map(|(outcome, n)| (outcome.clone(), n)).collect();
        assert_eq!(by_outcome, counts, "seed {seed}\n{circuit}");
        let mut one_by_one = BTreeMap::new();
        memory.iter().for_each(|outcome| *one_by_one.entry(outcome.clone()).or_insert(0) += 1);
        assert_eq!(one_by_one, counts, "seed {seed}\n{circuit}");
        assert!(memory.iter().take(20).eq(run(&simulator, 20).iter()), "seed {seed}\n{circuit}");
        let threads = simulator.with_threads(Threads::new(2).unwrap());
        assert_eq!(run(&threads, 50), memory, "seed {seed}\n{circuit}");
        assert!(run(&threads, 0).is_empty());
    }
    for (seed, circuit) in circuits() {
        check::<f64>(&circuit, seed);
        check::<f32>(&circuit, seed);
        // Without results, with hidden ones alone, and with measurements at the end.
        let n = circuit.n_qubits();
        let mut g = Generator::new(seed, n);
        g.gates();
        check::<f64>(&g.circuit, seed);
        let mut hidden = g.circuit.clone();
        let bit = hidden.hidden_register("aux", 1).unwrap();
        hidden.measure(0, bit).unwrap().h(0).unwrap();
        check::<f64>(&hidden, seed);
        g.circuit.measure(n - 1, 0).unwrap();
        check::<f64>(&g.circuit, seed);
        g.circuit.readout_error(0, 0.2, 0.1).unwrap();
        check::<f64>(&g.circuit, seed);
    }
}
