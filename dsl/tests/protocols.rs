//! Protocols with measurement and feed-forward, written with `circuit!`, against the laws of their
//! outcomes.

use std::{collections::BTreeMap, error::Error};

use std::f64::consts::{PI, TAU};

use ketgrad::{
    Circuit, Simulator, circuit, num_complex::Complex, param::Values, simulate::BoundCircuit,
};

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

/// Exact distribution of the bits and variables at the end, as their text.
fn distribution(circuit: &Circuit) -> Result<BTreeMap<String, f64>, Box<dyn Error>> {
    let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[]))?;
    let all = Simulator::new().distribution(&bound, 1 << 10)?;
    Ok(all.into_iter().map(|(memory, p)| (memory.text(circuit), p)).collect())
}

/// Teleportation in which Bob turns his qubit by angles that are Alice's bits: half a turn for
/// a 1.
#[test]
fn teleportation_by_angles() -> Outcome {
    let prepare = circuit! { qubits 1; ry(1.1) 0; rz(0.7) 0; }?;
    let c = circuit! {
        qubits 3;
        bits alice[2], bob;
        angle[1] about_x, about_z;
        call(prepare) 0;
        h 1;
        cx 1, 2; // the pair: 1 is Alice's, 2 is Bob's
        cx 0, 1;
        h 0;
        measure 0..2 -> alice;
        about_z = alice.bit(0);
        about_x = alice.bit(1);
        rx(about_x) 2;
        rz(about_z) 2;
        dagger call(prepare) 2;
        measure 2 -> bob;
    }?;
    let outcomes = distribution(&c)?;
    // Each pair of Alice's bits is as likely, and Bob has the state whatever they are.
    let expected = |text: &str| if text.starts_with("0 ") { 0.25 } else { 0.0 };
    assert_eq!(outcomes.keys().filter(|text| expected(text) > 0.0).count(), 4, "{outcomes:?}");
    for (text, p) in outcomes {
        assert!((p - expected(&text)).abs() < 1e-15, "{text}: {p}");
    }
    Ok(())
}

/// A preparation that succeeds with probability s = sin^2(a/2), tried up to ten times: the counter
/// is geometric, and the state after a success is the one that was wanted.
#[test]
fn repeat_until_success_with_a_counter() -> Outcome {
    let (a, b) = (0.8, 1.9);
    let c = circuit! {
        qubits data[1], ancilla[1];
        bits success, wrong;
        uint[8] rounds;
        int k;
        for_loop k in 1, 10 {
            reset 0..2;
            ry(a) ancilla;
            ctrl(ancilla[0]) ry(b) data;
            measure ancilla -> success;
            rounds += 1;
            when success { break_loop; }
        }
        when !success { rounds = 0; }
        else {
            dagger ry(b) data;
            measure data -> wrong;
        }
    }?;
    let s = (a / 2.0f64).sin().powi(2);
    let outcomes = distribution(&c)?;
    assert_eq!(outcomes.len(), 11, "{outcomes:?}");
    for round in 1..=10 {
        let p = outcomes[&format!("0 1 rounds={round} k={round}")];
        assert!((p - s * (1.0 - s).powi(round - 1)).abs() < 1e-15, "{round}: {p}");
    }
    assert!((outcomes["0 0 rounds=0 k=10"] - (1.0 - s).powi(10)).abs() < 1e-15);
    Ok(())
}

/// Iterative phase estimation: the digits of a phase from the last one on, each after a rotation
/// by those that are known. A phase of four binary digits comes out with certainty.
#[test]
fn iterative_phase_estimation() -> Outcome {
    for sixteenths in 0..16 {
        let turn = TAU * f64::from(sixteenths) / 16.0;
        let c = circuit! {
            qubits eigenstate[1], ancilla[1];
            bits digit;
            uint[8] power = 8;
            float phase; // of a turn: the digits that are known
            int k;
            x eigenstate;
            for_loop k in 1, 4 {
                reset ancilla;
                h ancilla;
                cp(power * turn) ancilla, eigenstate;
                p(-PI * phase) ancilla;
                h ancilla;
                measure ancilla -> digit;
                when digit { phase += 1; }
                phase /= 2;
                power /= 2;
            }
        }?;
        let outcomes = distribution(&c)?;
        let (text, p) = outcomes.iter().next().ok_or("no outcome")?;
        let expected = format!("phase={}", f64::from(sixteenths) / 16.0);
        assert!(text.contains(&expected) && (p - 1.0).abs() < 1e-12, "{text}: {p}");
        assert_eq!(outcomes.len(), 1, "{outcomes:?}");
    }
    Ok(())
}

/// Every form of variables once, against numbers.
#[test]
fn variables_of_a_run() -> Outcome {
    let c = circuit! {
        qubits 1;
        bits c[3];
        uint[8] n = 250, m;
        int[4] k = 7;
        int i = -3;
        float x = 1.5;
        float[32] y;
        bool b = true;
        angle[4] a;
        assign c[1] = true;
        n += 10; // wraps
        m = c * 3 + c.bit(1);
        k -= 1;
        k *= 2;
        i <<= 2;
        i |= 1;
        x /= 4;
        x = -x / 2 + n;
        y = 0.1;
        a += PI / 2.0;
        when n + 1 == m - 2 && !(i > 0) && b { b = !b; } else { i = 0; }
        when b || x < 3.5 { m %= 4; } else when m != 0 { m = 100; } else { m = 200; }
        when c == 2 && c[1] && !c[0] { n ^= 5; }
        for_loop k in n - 1, 4 {
            when k == 0 { continue_loop; }
            n += k;
            when k >= 3 { break_loop; }
        }
    }?;
    let outcomes = distribution(&c)?;
    let texts: Vec<&String> = outcomes.keys().collect();
    // n = 250 + 10 - 256 = 4, m = 7, x = -0.1875 + 4; then m = 100 and n = 1, to which the loop
    // adds 1, 2 and 3.
    assert_eq!(
        texts,
        ["010 n=7 m=100 k=3 i=-11 x=3.8125 y=0.10000000149011612 b=false a=1.5707963267948966"]
    );
    Ok(())
}
