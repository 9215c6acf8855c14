//! Idle or known parts cost nothing and change nothing: circuits with qubits that nothing
//! touches, resets of fresh qubits, conditions on bits that nothing has written and noise of
//! probability 0, against the circuits without them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use ketgrad_core::{
    circuit::{Circuit, CircuitError, Condition, Relation},
    equivalent::{EquivalenceSettings, On, Verdict, equivalent},
    exact::ClosedForm,
    hybrid::{Expectation, Method, Observable},
    observable::{Pauli, PauliString, PauliSum},
    param::{Angle, Values},
    simulate::{BoundCircuit, Shots, Simulator},
};
use num_complex::Complex;
use support::random::Rng;

const BITS: usize = 4;

/// A random condition on the bits.
fn condition(rng: &mut Rng, depth: usize) -> Condition {
    match rng.below(if depth == 0 { 2 } else { 5 }) {
        0 => Condition::Bit { bit: rng.below(BITS) as u32, value: rng.below(2) == 1 },
        1 => {
            let relations = [
                Relation::Equal,
                Relation::NotEqual,
                Relation::Less,
                Relation::LessEqual,
                Relation::Greater,
                Relation::GreaterEqual,
            ];
            let bits: Vec<usize> =
                rng.permutation(BITS).into_iter().take(1 + rng.below(3)).collect();
            Condition::compare(&bits, relations[rng.below(6)], rng.integer(0, 7)).unwrap()
        }
        2 => Condition::Not(Box::new(condition(rng, depth - 1))),
        3 => Condition::All((0..2).map(|_| condition(rng, depth - 1)).collect()),
        _ => Condition::Any((0..2).map(|_| condition(rng, depth - 1)).collect()),
    }
}

/// Appends random instructions: gates, some under controls, measurements, resets, constants, noise,
/// loops that end.
fn fill(rng: &mut Rng, c: &mut Circuit, len: usize, depth: usize) -> Result<(), CircuitError> {
    let n = c.n_qubits();
    for _ in 0..len {
        let (q, bit) = (rng.below(n), rng.below(BITS));
        let chance = [0.0, 0.0, 0.3][rng.below(3)];
        match rng.below(13) {
            0 => drop(c.reset(q)?),
            1 => drop(c.measure(q, bit)?),
            2 => drop(c.assign(bit, rng.below(2) == 1)?),
            3 => drop(c.readout_error(bit, chance, chance * 0.5)?),
            4 => drop(c.bit_flip(q, chance)?),
            5 => drop(c.amplitude_damping(q, chance)?),
            6 => drop(c.barrier(&[q])?),
            7 if depth > 0 => {
                let when = condition(rng, 2);
                let mut inner = Ok(());
                c.when(when, |c| {
                    inner = fill(rng, c, 2, 0);
                    Ok(c)
                })?;
                inner?;
            }
            8 if depth > 0 => {
                let mut inner = Ok(());
                c.while_loop(Condition::Bit { bit: bit as u32, value: true }, |c| {
                    inner = fill(rng, c, 3, depth - 1);
                    c.assign(bit, false)
                })?;
                inner?;
            }
            9 => drop(c.under(q, rng.below(2) == 1, |c| c.ry((q + 1) % n, 0.7))?),
            10 => drop(c.cx(q, (q + 1) % n)?),
            11 => drop(c.h(q)?),
            _ => drop(c.rx(q, Angle::rad(rng.signed()))?),
        }
    }
    Ok(())
}

fn dynamic(rng: &mut Rng, n: usize, len: usize) -> Circuit {
    let mut c = Circuit::new(n);
    c.add_register("c", 3).unwrap();
    c.hidden_register("h", BITS - 3).unwrap();
    fill(rng, &mut c, len, 2).unwrap();
    c
}

/// The probabilities of all outcomes by their text, and the average density matrix, of a circuit as
/// it is.
fn exactly(c: &Circuit) -> (BTreeMap<String, f64>, Vec<Complex<f64>>) {
    let simulator = Simulator::new();
    let bound = BoundCircuit::<Complex<f64>>::new(c, &Values::<f64>(&[])).unwrap();
    let mut outcomes = BTreeMap::new();
    for (bits, p) in simulator.distribution(&bound, 1 << 16).unwrap() {
        *outcomes.entry(bits.text(c)).or_insert(0.0) += p;
    }
    outcomes.retain(|_, p| *p > 1e-14);
    let rho = simulator.average(&bound).unwrap();
    let side = 1 << c.n_qubits();
    (outcomes, (0..side * side).map(|k| *rho.entry(k / side, k % side)).collect())
}

#[test]
fn folded_circuits_have_the_same_outcomes_and_states() {
    let mut rng = Rng::new(47);
    let (mut shorter, mut loops) = (0, 0);
    for _ in 0..1000 {
        let (n, len) = (3, 4 + rng.below(14));
        let c = dynamic(&mut rng, n, len);
        let folded = c.folded();
        shorter += usize::from(folded.instructions().len() < c.instructions().len());
        loops += folded.loops().len();
        let ((p, rho), (q, sigma)) = (exactly(&c), exactly(&folded));
        assert!(p.keys().eq(q.keys()), "{c}\n{folded}\n{p:?}\n{q:?}");
        for (text, x) in &p {
            assert!((x - q[text]).abs() < 1e-12, "{text}: {x}, not {}\n{c}\n{folded}", q[text]);
        }
        let far = rho.iter().zip(&sigma).map(|(a, b)| (a - b).norm()).fold(0.0, f64::max);
        assert!(far < 1e-12, "{far}\n{c}\n{folded}");
    }
    assert!(shorter > 700 && loops > 50, "{shorter} shorter, {loops} loops");
}

/// The circuit in a register of 100 qubits, its qubits in ascending places, with what does nothing
/// between its instructions.
fn embedded(rng: &mut Rng, c: &Circuit, places: &[usize]) -> Circuit {
    let mut wide = Circuit::new(100);
    wide.append(c, places).unwrap();
    wide.add_register("unused", 3).unwrap();
    let first = c.n_bits();
    // Instructions before all others are known to do nothing.
    let mut whole = Circuit::new(100);
    for _ in 0..6 {
        let q = rng.below(100);
        match rng.below(4) {
            0 => drop(whole.reset(q).unwrap()),
            1 => drop(whole.bit_flip(q, 0.0).unwrap()),
            2 => drop(whole.under(q, true, |c| c.x((q + 1) % 100)).unwrap()),
            _ => drop(whole.barrier(&(0..100).collect::<Vec<_>>()).unwrap()),
        }
    }
    whole.append(&wide, &(0..100).collect::<Vec<_>>()).unwrap();
    let never = Condition::Bit { bit: (first + rng.below(3)) as u32, value: true };
    whole.when(never, |c| c.h(rng.below(100))?.measure(3, 0)).unwrap();
    whole.depolarizing(rng.below(100), 0.0).unwrap();
    whole
}

fn places(rng: &mut Rng, n: usize) -> Vec<usize> {
    let mut places: Vec<usize> = rng.permutation(100).into_iter().take(n).collect();
    places.sort_unstable();
    places
}

/// An observable on qubits of the wide register, and what it is on those that are used.
fn observables(rng: &mut Rng, places: &[usize]) -> (PauliSum, PauliSum) {
    let (mut wide, mut small) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        let c = rng.signed();
        let mut factors = Vec::new();
        for k in 0..places.len() {
            let pauli = [Pauli::X, Pauli::Y, Pauli::Z][rng.below(3)];
            if rng.below(2) == 0 {
                factors.push((k, pauli));
            }
        }
        let there: Vec<_> = factors.iter().map(|(k, p)| (places[*k], *p)).collect();
        let idle = (0..100).find(|q| !places.contains(q)).unwrap();
        let pauli = [None, Some(Pauli::Z), Some(Pauli::X)][rng.below(3)];
        let with = there.into_iter().chain(pauli.map(|p| (idle, p)));
        wide.push((c, PauliString::new(with).unwrap()));
        if pauli != Some(Pauli::X) {
            small.push((c, PauliString::new(factors).unwrap()));
        }
    }
    (PauliSum::new(wide).unwrap(), PauliSum::new(small).unwrap())
}

#[test]
fn idle_qubits_change_nothing() {
    let mut rng = Rng::new(100);
    let simulator = Simulator::new();
    for round in 0..500 {
        // All three qubits are used.
        let mut c = Circuit::new(3);
        let (a, b) = (c.param("a"), c.param("b"));
        c.h(0..3).unwrap().rx(0, &a).unwrap().rzz(1, 2, &b).unwrap();
        rng.fill(&mut c, 8, |rng| Angle::rad(rng.signed()));
        let noisy = round % 3 == 1;
        if noisy {
            c.amplitude_damping(1, 0.2).unwrap();
        }
        let places = places(&mut rng, 3);
        let wide = embedded(&mut rng, &c, &places);
        let compact = wide.folded().compact();
        assert_eq!(compact.qubits(), places);
        let alike = |c: &Circuit| {
            c.instructions()
                .iter()
                .filter(|i| !i.operation.is_unitary() || i.operation.is_gate())
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(alike(compact.circuit()), alike(&c));

        // Values and derivatives, whatever way.
        let (far, near) = observables(&mut rng, &places);
        let outcome = |p: &[usize; 2]| Observable::Outcome(vec![(p[0], true), (p[1], false)]);
        let idle = (0..100).find(|q| !places.contains(q)).unwrap();
        let of = |circuit: &Circuit, sum: &PauliSum, at: [usize; 2], more: &[(usize, bool)]| {
            let mut all = vec![Observable::Pauli(sum.clone()), outcome(&at)];
            all.extend(more.iter().map(|bit| Observable::Outcome(vec![*bit])));
            Expectation::new(circuit.clone(), all).unwrap()
        };
        let one = of(&wide, &far, [places[0], places[2]], &[(idle, false), (idle, true)]);
        let other = of(&c, &near, [0, 2], &[]);
        let at = [rng.signed(), rng.signed()];
        let values = one.values(&at).unwrap();
        let expected = other.values(&at).unwrap();
        for (x, y) in values.iter().zip(expected.iter().chain(&[1.0, 0.0])) {
            assert!((x - y).abs() < 1e-13, "{values:?} {expected:?}");
        }
        assert_eq!(one.methods(), other.methods());
        for method in one.methods() {
            let ((v, g), (w, h)) =
                (one.gradient_by(method, &at).unwrap(), other.gradient_by(method, &at).unwrap());
            let off =
                g.iter().zip(&h).map(|(g, h)| (g - h).abs()).fold((v - w - 1.0).abs(), f64::max);
            let tolerance = if method == Method::Difference { 1e-8 } else { 1e-12 };
            assert!(off < tolerance, "{method}: {off}");
        }
        // Single precision, too.
        let singles = one.values(&at.map(|x| x as f32)).unwrap();
        assert!(singles.iter().zip(&values).all(|(x, y)| (f64::from(*x) - y).abs() < 1e-5));

        // Shots: the same, in the bits of the register.
        let [wide_shots, shots] = [&wide, &c].map(|c| simulator.run_shots(c, &at, 50, 7).unwrap());
        let text = |bits: &str| -> String {
            let place = |q| places.iter().position(|p| *p == q);
            let bit = |q| place(q).map_or('0', |k| bits.as_bytes()[2 - k].into());
            (0..100).rev().map(bit).collect()
        };
        let spread: BTreeMap<String, u64> =
            shots.iter().map(|(bits, n)| (text(bits), *n)).collect();
        assert_eq!(wide_shots, spread);
        let [x, y] = [(&wide, &far), (&c, &near)]
            .map(|(c, sum)| simulator.measure(c, &at, sum, Shots::new(200, 3)).unwrap());
        assert!((x.value - y.value).abs() < 1e-12, "{x:?} {y:?}");
    }
}

#[test]
fn equivalence_is_decided_on_the_qubits_that_either_circuit_uses() {
    let mut rng = Rng::new(3);
    let simulator = Simulator::new();
    for _ in 0..40 {
        let mut small = Circuit::new(3);
        let t = small.param("t");
        small.ry(0, &t).unwrap().cx(0, 1).unwrap().h(2).unwrap();
        rng.fill(&mut small, 6, |rng| Angle::pi(rng.integer(-7, 7), 8));
        let other = small.dagger().unwrap().dagger().unwrap();
        let places = places(&mut rng, 3);
        let wide = |c: &Circuit| {
            let mut wide = Circuit::new(100);
            wide.append(c, &places).unwrap();
            wide
        };
        let settings = EquivalenceSettings::default();
        let compare = |a: &Circuit, b: &Circuit, settings| {
            equivalent(a, b, &settings, &simulator).unwrap().verdict
        };
        assert_eq!(compare(&wide(&small), &wide(&other), settings), Verdict::Equal);
        // A gate on an idle qubit is one.
        let mut more = wide(&other);
        let idle = (0..100).find(|q| !places.contains(q)).unwrap();
        more.x(idle).unwrap();
        assert_eq!(compare(&wide(&small), &more, settings), Verdict::Different);
        more.x(idle).unwrap();
        assert_eq!(compare(&wide(&small), &more, settings), Verdict::Equal);
        // From |0…0> a reset before all is nothing; as unitaries a circuit with one is none.
        let mut reset = Circuit::new(100);
        reset.reset(..).unwrap().append(&wide(&other), &(0..100).collect::<Vec<_>>()).unwrap();
        let state = settings.with_on(On::State);
        assert_eq!(compare(&wide(&small), &reset, state), Verdict::Equal);
        assert!(equivalent(&wide(&small), &reset, &settings, &simulator).is_err());
    }
    // Ancillas are the last qubits of the whole.
    let [mut a, mut b] = [Circuit::new(90), Circuit::new(90)];
    a.h(3).unwrap().cx(89, 3).unwrap();
    b.h(3).unwrap();
    let with = |ancillas| EquivalenceSettings::default().with_on(On::Unitary { ancillas });
    assert_eq!(equivalent(&a, &b, &with(1), &simulator).unwrap().verdict, Verdict::Equal);
    assert_eq!(equivalent(&a, &b, &with(0), &simulator).unwrap().verdict, Verdict::Different);
}

#[test]
fn closed_forms_and_static_runs_know_what_is_known() {
    let mut c = Circuit::new(2);
    c.add_register("c", 1).unwrap();
    let t = c.param("t");
    c.reset(0).unwrap().ry(0, &t).unwrap().bit_flip(1, 0.0).unwrap();
    c.when(Condition::Bit { bit: 0, value: false }, |c| c.cx(0, 1)).unwrap();
    let state = ClosedForm::within(&c, &Simulator::new(), Default::default()).unwrap();
    assert_eq!(state.amplitude(0).unwrap().to_string(), "cos(t/2)");
    assert_eq!(state.amplitude(3).unwrap().to_string(), "sin(t/2)");
    let simulator = Simulator::new();
    let state = simulator.run(&c, &[0.6]).unwrap();
    assert!((state.amplitudes()[3].re - 0.3f64.sin()).abs() < 1e-15);
    let points = simulator.run_points(&c, &[vec![0.6], vec![0.2]]).unwrap();
    assert_eq!(points[0].amplitudes(), state.amplitudes());
    let mut again = simulator.run(&Circuit::new(2), &[0.0; 0]).unwrap();
    simulator.run_into(&c, &[0.6], &mut again).unwrap();
    assert_eq!(again.amplitudes(), state.amplitudes());
    // What uses a measured qubit or bit stays, so that the measurement is no final one, which
    // states are looked at before.
    for never in ["x q[0]", "measure q[1] -> c[0]", "x q[1] if c[0] == 1 && c[1] == 1"] {
        let mut c = Circuit::new(2);
        c.add_register("c", 2).unwrap();
        c.h(0).unwrap().measure(0, 0).unwrap();
        let off = Condition::Bit { bit: 1, value: true };
        match never {
            "x q[0]" => c.when(off, |c| c.x(0)).unwrap(),
            "measure q[1] -> c[0]" => c.when(off, |c| c.measure(1, 0)).unwrap(),
            _ => c.when(Condition::Bit { bit: 0, value: true }.and(off), |c| c.x(1)).unwrap(),
        };
        assert_eq!(c.folded(), c, "{never}");
        let x: PauliSum = "X0".parse().unwrap();
        assert!(
            Expectation::new(c, [x]).unwrap().value(&[0.0f64; 0]).unwrap().abs() < 1e-15,
            "{never}"
        );
    }
    // A bit that is given a value is a result; one that nothing writes is none.
    let mut c = Circuit::new(70);
    c.add_register("c", 3).unwrap();
    c.assign(2, true).unwrap().x(69).unwrap().measure(69, 0).unwrap().measure(5, 1).unwrap();
    assert_eq!(
        simulator.run_shots(&c, &[0.0; 0], 9, 1).unwrap(),
        BTreeMap::from([("101".to_owned(), 9)])
    );
}
