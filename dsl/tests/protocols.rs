//! Protocols with measurement and feed-forward, written with `circuit!`, against the laws of their
//! outcomes.

use std::{collections::BTreeMap, error::Error};

use ketgrad::{Circuit, Simulator, circuit};

type Outcome = Result<(), Box<dyn Error>>;

const SHOTS: usize = 20_000;
const SEED: u64 = 11;

/// Five standard deviations of a frequency: with the seed above the tests are deterministic, and a
/// wrong law of the size of a per cent is seen.
fn tolerance(p: f64) -> f64 {
    5.0 * (p * (1.0 - p) / SHOTS as f64).sqrt() + 1e-12
}

/// Frequency of each outcome of the register that was declared last, as a fraction of the
/// shots.
fn law(circuit: &Circuit) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let mut law = BTreeMap::new();
    for (text, count) in Simulator::new().run_shots::<f64>(circuit, &[], SHOTS, SEED)? {
        let last = text.split(' ').next().unwrap_or_default().to_owned();
        *law.entry(last).or_insert(0.0) += count as f64 / SHOTS as f64;
    }
    Ok(law)
}

/// Qubit 0 in `RZ(b) RY(a) |0>` goes to qubit 2, whatever Alice reads: undoing its preparation
/// there leaves |0> with certainty, and measuring it gives sin^2(a/2).
#[test]
fn teleportation() -> Outcome {
    let (a, b) = (1.1, 0.7);
    let prepare = circuit! { qubits 1; ry(a) 0; rz(b) 0; }?;
    let teleport = circuit! {
        qubits 3;
        bits alice[2];
        h 1;
        cx 1, 2; // the pair: 1 is Alice's, 2 is Bob's
        cx 0, 1;
        h 0;
        measure 0..2 -> alice;
        when alice[1] { x 2; }
        when alice[0] { z 2; }
    }?;
    let read = |undo: usize| {
        circuit! {
            qubits 3;
            call(prepare) 0;
            call(teleport) ..;
            repeat(undo) dagger call(prepare) 2;
            bits bob;
            measure 2 -> bob;
        }
    };
    assert_eq!(law(&read(1)?)?.keys().collect::<Vec<_>>(), ["0"]);
    let p = (a / 2.0f64).sin().powi(2);
    assert!((law(&read(0)?)?["1"] - p).abs() < tolerance(p));
    Ok(())
}

/// RZ(theta) through an ancilla, repeated until it succeeds: each round applies RZ(phi) or, as
/// likely, RZ(-phi), so after a failure the next round tries twice the angle. After k rounds it has
/// failed with probability 2^-k; wherever it has not, the rotation is exact.
#[test]
fn repeat_until_success() -> Outcome {
    let (a, theta) = (1.3, 0.4);
    for rounds in 1..5 {
        let c = circuit! {
            qubits data[1], ancilla[1];
            ry(a) data;
            bits failed;
            assign failed = true;
            for round in 0..rounds {
                when failed {
                    reset ancilla;
                    h ancilla;
                    rz(theta * 2f64.powi(round)) ancilla;
                    cx data, ancilla;
                    measure ancilla -> failed;
                }
            }
            dagger { ry(a) data; rz(theta) data; }
            bits wrong;
            when !failed { measure data -> wrong; }
        }?;
        let mut failed = 0.0;
        for (text, count) in Simulator::new().run_shots::<f64>(&c, &[], SHOTS, SEED)? {
            assert!(text.starts_with('0'), "{text}: the state after a success is another one");
            failed += if text.ends_with('1') { count as f64 / SHOTS as f64 } else { 0.0 };
        }
        let expected = 0.5f64.powi(rounds);
        assert!((failed - expected).abs() < tolerance(expected), "{rounds} rounds: {failed}");
    }
    Ok(())
}

/// One cycle of the three-qubit code: any single bit flip on a logical state is found by two
/// parities and taken back; two flips are mistaken for the third.
#[test]
fn bit_flip_code() -> Outcome {
    let theta = 0.9;
    let encode = circuit! { qubits 3; ry(theta) 0; cx 0, 1..; }?;
    let cycle = |errors: &[usize]| {
        circuit! {
            qubits data[3], check[2];
            call(encode) data;
            x errors;
            bits syndrome[2];
            cx data[..2], check[0];
            cx data[1..], check[1];
            measure check -> syndrome;
            reset check;
            when syndrome == 0b01 { x data[0]; }
            when syndrome == 0b11 { x data[1]; }
            when syndrome == 0b10 { x data[2]; }
            dagger call(encode) data;
            bits left[3];
            measure data -> left;
        }
    };
    for errors in [&[][..], &[0], &[1], &[2]] {
        let law = law(&cycle(errors)?)?;
        assert_eq!(law.keys().collect::<Vec<_>>(), ["000"], "errors {errors:?}");
    }
    // Two errors become three: a logical X, which the inverse of the encoder sees as
    // |<psi| X |psi>|^2 = sin^2(theta).
    let p = theta.sin().powi(2);
    assert!((law(&cycle(&[0, 2])?)?["000"] - p).abs() < tolerance(p));
    Ok(())
}
