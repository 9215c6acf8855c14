//! Delays: they are kept with their lengths and do nothing, until a noise model says what they do.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    channel::Channel,
    circuit::{Circuit, CircuitError, Condition, DelayLength, NoiseModel, NoiseRule},
    equivalent::{EquivalenceSettings, Verdict, equivalent},
    hybrid::Expectation,
    observable::PauliSum,
    print::{to_qasm2, to_qasm3},
    qasm::{QasmOptions, parse},
    simulate::Simulator,
};
use support::random::Rng;

fn read(body: &str) -> Circuit {
    let text = format!("OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nbit[1] c;\n{body}");
    let parsed = parse(&text, &QasmOptions::default()).unwrap();
    assert!(parsed.warnings.is_empty(), "{:?}", parsed.warnings);
    parsed.circuit
}

fn message(body: &str) -> String {
    let text = format!("OPENQASM 3.0;\nqubit[3] q;\n{body}");
    parse(&text, &QasmOptions::default()).unwrap_err().diagnostics[0].problem.to_string()
}

#[test]
fn lengths_read_and_print_back() {
    for (length, expected) in [
        ("100ns", DelayLength::Seconds(1e-7)),
        ("0.3us", DelayLength::Seconds(3e-7)),
        ("1.5e3ms", DelayLength::Seconds(1.5)),
        ("1s / 3", DelayLength::Seconds(1.0 / 3.0)),
        ("0ns", DelayLength::Seconds(0.0)),
        ("1ns / 7", DelayLength::Seconds(1e-9 / 7.0)),
        ("160dt", DelayLength::Samples(160.0)),
        ("1.5dt * 3", DelayLength::Samples(4.5)),
        ("2 * t + 5ns", DelayLength::Seconds(4.05e-7)),
        ("s", DelayLength::Open),
    ] {
        let circuit = read(&format!("duration t = 200ns; stretch s; delay[{length}] q[2];"));
        let mut by_hand = Circuit::new(3);
        by_hand.add_register("c", 1).unwrap().delay(2, expected).unwrap();
        assert_eq!(circuit, by_hand, "{length}");
        let text = to_qasm3(&circuit).unwrap();
        assert_eq!(parse(&text, &QasmOptions::default()).unwrap().circuit, circuit, "{text}");
    }
    let circuit = read("delay[1ms] q; if (c[0]) { delay[20ns] q[1], q[0]; } delay[3dt]; x q[0];");
    let expected = "delay[1ms] q[0], q[1], q[2]\nif (c[0] == 1) delay[20ns] q[0], q[1]\n\
                    delay[3.0dt] q[0], q[1], q[2]\nx q[0]\n";
    assert_eq!(circuit.to_string(), expected);
    assert_eq!(
        parse(&to_qasm3(&circuit).unwrap(), &QasmOptions::default()).unwrap().circuit,
        circuit
    );
    assert!(to_qasm2(&circuit).unwrap().contains("// delay[20ns] q[0], q[1];\n"));
    assert_eq!(message("delay[5] q;"), "an integer where a duration such as `100ns` is needed");
    assert_eq!(
        message("delay[-5ns] q;"),
        "a delay of -0.000000005: its length is a number from 0 on"
    );
    let mut circuit = Circuit::new(1);
    for wrong in [f64::NAN, -1.0, f64::INFINITY] {
        let error = circuit.delay(0, DelayLength::Samples(wrong)).unwrap_err();
        assert!(matches!(error, CircuitError::DelayLength { .. }), "{error}");
    }
}

#[test]
fn samples_last_as_long_as_one_of_them_is_said_to() {
    let samples = DelayLength::Samples(160.0);
    assert_eq!((samples.seconds(Some(0.25)), samples.seconds(None)), (Some(40.0), None));
    let seconds = DelayLength::Seconds(1e-7);
    assert_eq!((seconds.seconds(Some(0.25)), seconds.seconds(None)), (Some(1e-7), Some(1e-7)));
    assert_eq!(DelayLength::Open.seconds(Some(0.25)), None);
}

/// The same circuit with and without delays.
fn pair(rng: &mut Rng, n: usize, dynamic: bool) -> [Circuit; 2] {
    let mut pair = [Circuit::new(n), Circuit::new(n)];
    for circuit in &mut pair {
        circuit.add_register("c", 2).unwrap();
    }
    let angles = pair.each_mut().map(|circuit| circuit.param("t"));
    for step in 0..14 {
        let mut piece = Circuit::new(n);
        rng.fill(&mut piece, 2, Rng::angle);
        let qubits: Vec<usize> = (0..n).collect();
        let (at, bit) = (rng.below(n), rng.below(2));
        let targets = rng.permutation(n)[..1 + rng.below(n)].to_vec();
        for (k, circuit) in pair.iter_mut().enumerate() {
            circuit.append(&piece, &qubits).unwrap().ry(at, &angles[k]).unwrap();
            if k == 1 {
                circuit.delay(&targets[..], DelayLength::Seconds(1e-6)).unwrap();
            }
            if dynamic && step % 5 == 2 {
                circuit.measure(at, bit).unwrap();
                circuit
                    .when(Condition::Bit { bit: bit as u32, value: true }, |c| match k {
                        0 => c.x(at),
                        _ => c.x(at)?.delay(at, DelayLength::Open),
                    })
                    .unwrap();
            }
        }
    }
    if !dynamic {
        for (k, circuit) in pair.iter_mut().enumerate() {
            circuit.measure(0, 1).unwrap();
            if k == 1 {
                // A qubit that is measured may wait.
                circuit.delay(0..n, DelayLength::Samples(5.0)).unwrap();
            }
        }
    }
    pair
}

#[test]
fn without_noise_nothing_happens() {
    let mut rng = Rng::new(4);
    let z: PauliSum = "Z0 Z1 + X2".parse().unwrap();
    for turn in 0..12 {
        let [plain, waits] = pair(&mut rng, 3, turn % 2 == 1);
        let shots = |c: &Circuit| Simulator::new().run_shots(c, &[0.3], 500, 9).unwrap();
        assert_eq!(shots(&plain), shots(&waits));
        let density = |c: &Circuit| Simulator::new().run_density(c, &[0.3]).unwrap();
        assert_eq!(density(&plain), density(&waits));
        if turn % 2 == 0 {
            let state = |c: &Circuit| Simulator::new().run(c, &[0.3]).unwrap();
            assert_eq!(state(&plain).amplitudes(), state(&waits).amplitudes());
            let gradient = |c: &Circuit| {
                Expectation::new(c.clone(), [z.clone()])
                    .unwrap()
                    .value_and_gradient(&[0.3])
                    .unwrap()
            };
            assert_eq!(gradient(&plain), gradient(&waits));
        }
    }
    let [a, b] = [0, 1].map(|k| {
        Circuit::build(2, |c| {
            let t = c.param("t");
            c.rx(0, t)?;
            if k == 1 { c.delay(.., DelayLength::Open)?.cx(0, 1) } else { c.cx(0, 1) }
        })
        .unwrap()
    });
    let report = equivalent(&a, &b, &EquivalenceSettings::default(), &Simulator::new()).unwrap();
    assert_eq!(report.verdict, Verdict::Equal);
    // Delays alone use no qubit, and are no part of an inverse or a control but themselves.
    let waiting = Circuit::build(40, |c| c.h(3)?.delay(.., DelayLength::Seconds(1.0))).unwrap();
    assert_eq!(waiting.compact().qubits(), [3]);
    let mut under = Circuit::new(2);
    under.under(0, true, |c| c.x(1)?.delay(1, DelayLength::Open)).unwrap();
    assert_eq!(under.to_string(), "cx q[0], q[1]\ndelay[?] q[1]\n");
}

#[test]
fn relaxation_lasts_as_long_as_the_delay() {
    let mut rng = Rng::new(6);
    for _ in 0..10 {
        let (t1, share, dt) = (rng.unit() + 0.1, rng.unit() + 0.5, 0.01);
        let (t2, seconds, samples) = (t1 * share, rng.unit(), (rng.unit() * 100.0).round());
        let mut model = NoiseModel::new();
        model.push(NoiseRule::delay_relaxation(t1, t2, Some(dt)).unwrap());
        let mut start = Circuit::new(2);
        rng.fill(&mut start, 8, Rng::angle);
        let mut waits = start.clone();
        waits
            .delay(0..2, DelayLength::Seconds(seconds))
            .unwrap()
            .delay(1, DelayLength::Samples(samples))
            .unwrap();
        for (qubit, time) in [(0, seconds), (1, seconds), (1, samples * dt)] {
            for channel in Channel::relaxation(time, t1, t2).unwrap() {
                start.channel(channel, &[qubit]).unwrap();
            }
        }
        let noisy = model.apply(&waits).unwrap();
        let density = |c: &Circuit| Simulator::new().run_density(c, &[] as &[f64]).unwrap();
        assert_eq!(density(&noisy), density(&start));
    }
    let mut model = NoiseModel::new();
    model.push(NoiseRule::delay_relaxation(1.0, 1.0, None).unwrap());
    let open =
        |length| model.apply(Circuit::new(2).delay(0..2, length).unwrap()).unwrap_err().to_string();
    assert!(open(DelayLength::Samples(3.0)).ends_with("does not say how long a `dt` is"));
    assert!(open(DelayLength::Open).contains("a delay of 2 qubits: it is open"));
    for (t1, t2, dt) in
        [(0.0, 1.0, None), (1.0, 2.1, None), (1.0, 1.0, Some(0.0)), (1.0, 1.0, Some(f64::NAN))]
    {
        assert!(NoiseRule::delay_relaxation(t1, t2, dt).is_err(), "{t1} {t2} {dt:?}");
    }
}
