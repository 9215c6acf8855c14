//! `--noise`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, data};

/// Rounding of a few gates.
const ROUNDING: f64 = 1e-12;

/// Depolarizing of a strength that is an input, and readings that are wrong.
const MODEL: &str = r#"
[[noise]]
width = 2
channel = "depolarizing"
parameters = ["p"]

[[reading]]
qubits = [1]
p1 = 0.5
"#;

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("noise.toml", MODEL);
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

/// Of a Bell pair whose qubits are both depolarized: `<Z0 Z1> = (1 - 4p/3)^2`.
fn zz(p: f64) -> f64 {
    (1.0 - 4.0 / 3.0 * p).powi(2)
}

#[test]
fn run_is_exact_or_shot_by_shot() {
    let folder = folder();
    let run = |rest: &[&str]| {
        let first = [
            "run",
            "bell.qasm",
            "--noise",
            "noise.toml",
            "--set",
            "p=0.12",
            "--observable",
            "Z0 Z1",
        ];
        folder.run(&[&first[..], &["--json"], rest].concat()).json()
    };
    let exact = run(&["--probabilities", "--shots", "20000"]);
    let expectation = &exact["expectations"][0];
    assert!((number(&expectation["value"]) - zz(0.12)).abs() < ROUNDING, "{exact}");
    assert_eq!(expectation.get("stderr"), None);
    let p: Vec<f64> = exact["probabilities"].as_array().unwrap().iter().map(number).collect();
    assert!(
        (p[0] - (1.0 + zz(0.12)) / 4.0).abs() < ROUNDING
            && (p.iter().sum::<f64>() - 1.0).abs() < ROUNDING
    );
    // Qubit 1 is read as 0 half of the times that it is 1.
    let counts = &exact["counts"];
    let of = |bits: &str| counts[bits].as_f64().unwrap_or(0.0) / 20_000.0;
    for (bits, expected) in [
        ("00", p[0] + p[2] / 2.0),
        ("01", p[1] + p[3] / 2.0),
        ("10", p[2] / 2.0),
        ("11", p[3] / 2.0),
    ] {
        assert!(
            (of(bits) - expected).abs() < 5.0 * (expected * (1.0 - expected) / 2e4).sqrt(),
            "{bits}: {counts}"
        );
    }
    let shots = run(&["--method", "trajectories", "--shots", "4000"]);
    let expectation = &shots["expectations"][0];
    let (value, stderr) = (number(&expectation["value"]), number(&expectation["stderr"]));
    assert!((value - zz(0.12)).abs() < 5.0 * stderr && stderr < 0.02, "{shots}");
    assert_eq!(shots["counts"].as_object().unwrap().values().map(number).sum::<f64>(), 4000.0);
    // The same seed, on any number of threads.
    assert_eq!(
        run(&["--shots", "50", "--threads", "1"])["counts"],
        run(&["--shots", "50", "--threads", "2"])["counts"]
    );
    // A state is that of one shot, and that is said.
    let given =
        ["run", "bell.qasm", "--noise", "noise.toml", "--set", "p=0.12", "--observable", "Z0"];
    let one = folder.run(&[&given[..], &["--amplitudes"]].concat()).done();
    assert!(
        one.err.contains(
            "note: amplitudes and probabilities are those of the first shot; expectation"
        ),
        "{}",
        one.err
    );
    let all = folder.run(&[&given[..], &["--probabilities"]].concat()).done();
    assert!(!all.err.contains("first shot"), "{}", all.err);
}

#[test]
fn derivatives_by_the_strength_of_noise() {
    let folder = folder();
    let slope = -8.0 / 3.0 * (1.0 - 4.0 / 3.0 * 0.12);
    for method in ["adjoint", "forward", "difference"] {
        let given = [
            "--noise",
            "noise.toml",
            "--set",
            "p=0.12",
            "--observable",
            "Z0 Z1",
            "--method",
            method,
        ];
        let grad = folder.run(&[&["grad", "bell.qasm", "--json"][..], &given].concat()).json();
        assert!((number(&grad["value"]) - zz(0.12)).abs() < ROUNDING, "{grad}");
        assert!((number(&grad["gradient"]["p"]) - slope).abs() < 1e-8, "{grad}");
    }
    let given = [
        "check",
        "bell.qasm",
        "--noise",
        "noise.toml",
        "--set",
        "p=0.12",
        "--observable",
        "Z0 Z1",
        "--json",
    ];
    let check = folder.run(&given).json();
    assert_eq!(check["agree"], json!(true));
    assert_eq!(check["engines"].as_array().unwrap().len(), 3, "{check}");
    let single = folder.run(&[&given[..], &["--precision", "f32"]].concat()).json();
    assert_eq!(single["engines"].as_array().unwrap().len(), 3, "{single}");
    // On the edge of what is a probability.
    let edge = given.map(|word| if word == "p=0.12" { "p=0" } else { word });
    assert_eq!(folder.run(&edge).json()["agree"], json!(true));
}

#[test]
fn jobs_have_noise() {
    let folder = folder();
    folder.file(
        "ry.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float t;\nqubit[1] q;\nry(t) q[0];\n",
    );
    folder.file("one.toml", "[[noise]]\nchannel = \"phase_damping\"\nparameters = [0.36]\n");
    folder.file(
        "job.toml",
        "[ansatz]\ncircuit = \"ry.qasm\"\nnoise = \"one.toml\"\n[hamiltonian]\nterms = \"X0\"\n[start]\nset = [\"t=-1\"]\n",
    );
    let end = folder.run(&["optimize", "job.toml", "--json"]).json();
    // |-> keeps sqrt(1 - 0.36) of its X.
    assert!((number(&end["value"]) + 0.8).abs() < 1e-9, "{end}");
    // A strength that is an input keeps its value, or is one of the parameters, which stays a
    // probability.
    folder.file("p.toml", "[[noise]]\nchannel = \"phase_damping\"\nparameters = [\"p\"]\n");
    let job = |set: &str| {
        let text = format!(
            "[ansatz]\ncircuit = \"ry.qasm\"\nnoise = \"p.toml\"\n{set}\n[hamiltonian]\nterms = \"X0\"\n[start]\nset = [\"t=-1\"]\n"
        );
        folder.file("job.toml", text);
        folder.run(&["optimize", "job.toml", "--json"])
    };
    let kept = job("set = [\"p=0.36\"]").json();
    assert_eq!((&kept["value"], kept["parameters"].as_object().unwrap().len()), (&end["value"], 1));
    let best = job("").json();
    assert!((number(&best["value"]) + 1.0).abs() < 1e-8, "{best}");
    assert!((0.0..1e-8).contains(&number(&best["parameters"]["p"])), "{best}");
    // Up to where nothing is left, and from a start that is no probability.
    let worst = |start: &str, method: &str| {
        let text = format!(
            "[ansatz]\ncircuit = \"ry.qasm\"\nnoise = \"p.toml\"\nset = [\"t=pi/2\"]\n[hamiltonian]\nterms = \"X0\"\n[start]\nset = [\"p={start}\"]\n[optimizer]\nmethod = \"{method}\"\n"
        );
        folder.file("job.toml", text);
        folder.run(&["optimize", "job.toml", "--json"])
    };
    for method in ["lbfgs", "newton_cg", "nelder_mead", "adam"] {
        let worst = worst("0", method).json();
        let (value, p) = (number(&worst["value"]), number(&worst["parameters"]["p"]));
        assert!(value.abs() < 1e-3 && p <= 1.0 && p > 0.999, "{method}: {worst}");
    }
    worst("0", "natural_gradient")
        .fails(1, &["job.toml:10:10", "metric of state vectors", "lbfgs"]);
    worst("1.5", "lbfgs").fails(1, &["job.toml:8:7", "`p` begins at 1.5", "from 0 to 1"]);
    job("set = [\"p=1.5\"]").fails(1, &["1.5, which is not between 0 and 1"]);
    job("set = [\"q=0.5\"]").fails(1, &["job.toml:4:", "no parameter `q`"]);
}

#[test]
fn operators_stand_in_a_model_and_noise_in_what_is_converted() {
    let folder = folder();
    // Amplitude damping by 0.64, with phases, after the controlled gate and on both of its qubits.
    folder.file(
        "kraus.toml",
        "[[noise]]\nafter = \"cx\"\nkraus = [[[[0, 1], 0], [0, [0, 0.6]]], [[0, [0, 0.8]], [0, 0]]]\n[[reading]]\np0 = 0.25\n",
    );
    let given =
        ["run", "bell.qasm", "--noise", "kraus.toml", "--observable", "Z0 Z1", "--probabilities"];
    let run = folder.run(&[&given[..], &["--shots", "9000", "--json"]].concat()).json();
    // |11> stays with 0.36^2 of its half.
    let p: Vec<f64> = run["probabilities"].as_array().unwrap().iter().map(number).collect();
    let expected =
        [0.5 + 0.5 * 0.64 * 0.64, 0.5 * 0.64 * 0.36, 0.5 * 0.64 * 0.36, 0.5 * 0.36 * 0.36];
    assert!(p.iter().zip(expected).all(|(p, e)| (p - e).abs() < ROUNDING), "{p:?}");
    // As text it runs alike, to the same counts.
    folder.file(
        "measured.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nbit[2] c;\nh q[0];\ncx q[0], q[1];\nc = measure q;\n",
    );
    let noisy = ["measured.qasm", "--noise", "kraus.toml"];
    let text = folder.run(&[&["convert"], &noisy[..], &["--to", "qasm3"]].concat()).done().out;
    assert!(text.contains("#pragma ketgrad readout_error(0.25, 0) c[1]\n"), "{text}");
    folder.file("noisy.qasm", &text);
    let counts = |what: &[&str]| {
        folder.run(&[&["run"], what, &["--shots", "9000", "--json"]].concat()).json()
    };
    assert_eq!(counts(&noisy)["counts"], counts(&["noisy.qasm"])["counts"]);
    folder
        .run(&[&["convert"], &noisy[..], &["--to", "qasm2"]].concat())
        .fails(1, &["no words for"]);
}

#[test]
fn density_matrices_run_what_has_no_noise_too_if_told_so() {
    let folder = Folder::new();
    folder.file(
        "dynamic.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nbit c;\nh q[0];\nc = measure q[0];\nif (c) ry(1.0) q[1];\n",
    );
    let given = ["run", "dynamic.qasm", "--method", "density", "--observable", "Z1", "--json"];
    let run = folder.run(&given).json();
    let value = number(&run["expectations"][0]["value"]);
    assert!((value - (1.0 + 1.0f64.cos()) / 2.0).abs() < ROUNDING, "{run}");
    folder
        .run(&[&given[..], &["--amplitudes"]].concat())
        .fails(2, &["a density matrix has no amplitudes"]);
}

#[test]
fn circuits_with_noise_are_drawn() {
    let drawn = folder().run(&["draw", "bell.qasm", "--noise", "noise.toml"]).done().out;
    assert!(
        drawn.contains("depolarizing(p)") && drawn.contains("readout_error c[1](0, 0.5)"),
        "{drawn}"
    );
}

/// Qubit 0 is one, and flips qubit 1.
const FLIPPED: &str =
    "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nx q[0];\ncx q[0], q[1];\n";

/// The probabilities of the basis states of a circuit under a model.
fn probabilities(folder: &Folder, circuit: &str, model: &str) -> Vec<f64> {
    folder.file("model.toml", model);
    let run = ["run", circuit, "--noise", "model.toml", "--probabilities", "--json"];
    folder.run(&run).json()["probabilities"].as_array().unwrap().iter().map(number).collect()
}

#[test]
fn a_rule_acts_on_the_qubits_that_it_names_of_a_wider_instruction() {
    let folder = Folder::new();
    folder.file("flipped.qasm", FLIPPED);
    let flip = "after = [\"cx\"]\nchannel = \"bit_flip\"\nparameters = [1]\n";
    let p =
        |rest: &str| probabilities(&folder, "flipped.qasm", &format!("[[noise]]\n{flip}{rest}"));
    assert_eq!(p("qubits = [0]"), [0.0, 0.0, 1.0, 0.0]);
    // A qubit that is not in the circuit does not matter.
    assert_eq!(p("qubits = [1, 7]"), [0.0, 1.0, 0.0, 0.0]);
    // The direction: controls come first.
    assert_eq!(p("gate_qubits = [[0, 1]]\nqubits = [1]"), [0.0, 1.0, 0.0, 0.0]);
    assert_eq!(p("gate_qubits = [[1, 0]]\nqubits = [1]"), [0.0, 0.0, 0.0, 1.0]);
    // Rates of each qubit, and of each pair.
    let each = "[[noise]]\nafter = [\"cx\"]\nqubits = [1, 0]\nchannel = \"bit_flip\"\nparameters = [[0, 1]]";
    assert_eq!(probabilities(&folder, "flipped.qasm", each), [0.0, 0.0, 1.0, 0.0]);
    let pairs = |list: &str| {
        let model = format!(
            "[[noise]]\nwidth = 2\ngate_qubits = {list}\nchannel = \"two_qubit_depolarizing\"\nparameters = [[0.9375, 0]]"
        );
        probabilities(&folder, "flipped.qasm", &model)
    };
    assert!(pairs("[[0, 1], [1, 0]]").iter().all(|p| (p - 0.25).abs() < ROUNDING));
    assert_eq!(pairs("[[1, 0], [0, 1]]"), [0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn relaxation_with_the_times_of_each_qubit() {
    let folder = Folder::new();
    folder.file("flipped.qasm", FLIPPED);
    let model = |time: &str, t1: &str, t2: &str| {
        format!(
            "[[noise]]\nafter = \"cx\"\nqubits = [0, 1]\nrelaxation = {{ time = {time}, t1 = {t1}, t2 = {t2} }}\n"
        )
    };
    let p = probabilities(&folder, "flipped.qasm", &model("300", "[50e3, 60e3]", "[70e3, 40e3]"));
    let fall = |t1: f64| -(-300.0 / t1).exp_m1();
    let (a, b) = (fall(50e3), fall(60e3));
    let expected = [a * b, (1.0 - a) * b, a * (1.0 - b), (1.0 - a) * (1.0 - b)];
    assert!(p.iter().zip(expected).all(|(p, e)| (p - e).abs() < ROUNDING), "{p:?}");
    let digits = [2.98355e-5, 0.004_957_685_3, 0.005_952_200_4, 0.989_060_278_8];
    assert!(p.iter().zip(digits).all(|(p, e)| (p - e).abs() < 1e-9), "{p:?}");
    // Without decay nothing falls.
    let p = probabilities(&folder, "flipped.qasm", &model("300", "inf", "[70e3, inf]"));
    assert_eq!(p, [0.0, 0.0, 0.0, 1.0]);
    folder.file("bad.toml", model("300", "[50e3]", "70e3"));
    folder.run(&["run", "flipped.qasm", "--noise", "bad.toml"]).fails(
        1,
        &["`noise.relaxation`: a list has a value for each of `qubits`: 2, not 1", "bad.toml:4:14"],
    );
}

#[test]
fn shots_that_measure_all_qubits_by_themselves_have_readout_errors() {
    let folder = Folder::new();
    let text = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nbit[3] unused;\nqubit[2] q;\nry(.7) q[0];\ncx q[0], q[1];\n";
    folder.file("ry.qasm", text);
    folder.file("reading.toml", "[[reading]]\np0 = 0.1\np1 = 0.3\n");
    folder.file(
        "both.toml",
        "[[reading]]\np0 = 0.1\np1 = 0.3\n[[noise]]\nchannel = \"phase_flip\"\nparameters = [0.5]\n",
    );
    for model in ["reading.toml", "both.toml"] {
        let shots = 100_000.0;
        let run =
            folder.run(&["run", "ry.qasm", "--noise", model, "--shots", "100000", "--json"]).json();
        for (bits, p) in [("00", 0.72534), ("01", 0.10411), ("10", 0.10411), ("11", 0.06644)] {
            let share = number(&run["counts"][bits]) / shots;
            let error = (p * (1.0 - p) / shots).sqrt();
            assert!((share - p).abs() < 5.0 * error, "{model}: {bits}: {share}");
        }
    }
    // A state is that of all shots, and values are not those of readings.
    let run = ["run", "ry.qasm", "--noise", "reading.toml", "--shots", "10", "--observable", "Z0"];
    let run = folder.run(&[&run[..], &["--amplitudes"]].concat()).done();
    assert!(
        run.err.contains("values are those of the state") && !run.err.contains("first shot"),
        "{}",
        run.err
    );
    assert!(run.out.contains("Z0  0.76484218728448"), "{}", run.out);
}

#[test]
fn means_over_shots_have_readout_errors() {
    let folder = Folder::new();
    let text = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float t;\nqubit[2] q;\nry(t) q[0];\ncx q[0], q[1];\n";
    folder.file("ry.qasm", text);
    folder.file("reading.toml", "[[reading]]\np0 = 0.1\np1 = 0.3\n");
    let given = [
        "grad",
        "ry.qasm",
        "--noise",
        "reading.toml",
        "--set",
        "t=.7",
        "--observable",
        "Z0",
        "--json",
    ];
    let measured = folder.run(&[&given[..], &["--shots", "200000"]].concat()).done();
    assert!(measured.err.contains("readings that may be wrong count"), "{}", measured.err);
    let measured = measured.json();
    // (1 - p0 - p1) <Z> + p1 - p0, and its derivative.
    for (value, stderr, expected) in [
        (&measured["value"], &measured["stderr"], 0.6 * 0.7f64.cos() + 0.2),
        (&measured["gradient"]["t"], &measured["gradient_stderr"]["t"], -0.6 * 0.7f64.sin()),
    ] {
        assert!((number(value) - expected).abs() < 5.0 * number(stderr), "{measured}");
        assert!(number(stderr) < 0.004, "{measured}");
    }
    let exact = folder.run(&given).done();
    assert!(!exact.err.contains("note"), "nothing is measured: {}", exact.err);
    assert!(exact.err.contains("this reading acts nowhere"), "{}", exact.err);
    assert!((number(&exact.json()["value"]) - 0.7f64.cos()).abs() < ROUNDING);
    // Readings that the circuit itself says, of a measurement at its end.
    folder.file(
        "own.qasm",
        format!("{text}bit c;\nc = measure q[1];\n#pragma ketgrad readout_error(0.5, 0.5) c\n"),
    );
    let own = [
        "grad",
        "own.qasm",
        "--set",
        "t=.7",
        "--observable",
        "Z0 + Z1",
        "--shots",
        "100000",
        "--json",
    ];
    let own = folder.run(&own).json();
    assert!((number(&own["value"]) - 0.7f64.cos()).abs() < 5.0 * number(&own["stderr"]), "{own}");
    // A job with shots: the smallest value that readings allow, p0 - p1 less than -(1 - p0 - p1).
    folder.file(
        "job.toml",
        "shots = 20000\n[ansatz]\ncircuit = \"ry.qasm\"\nnoise = \"reading.toml\"\n[hamiltonian]\nterms = \"Z0\"\n[start]\nset = [\"t=2.5\"]\n",
    );
    let job = folder.run(&["optimize", "job.toml", "--json"]).done();
    assert!(job.err.contains("readings that may be wrong count"), "{}", job.err);
    assert!((number(&job.json()["value"]) + 0.4).abs() < 0.03);
}

#[test]
fn a_rule_that_acts_nowhere_is_a_warning_with_its_place() {
    let folder = Folder::new();
    folder.file("flipped.qasm", FLIPPED);
    let rule =
        |rest: &str| format!("\n[[noise]]\n{rest}\nchannel = \"bit_flip\"\nparameters = [0.1]\n");
    let warns = |model: String, words: &[&str]| {
        folder.file("model.toml", model);
        let ran =
            folder.run(&["run", "flipped.qasm", "--noise", "model.toml", "--probabilities"]).done();
        for word in words {
            assert!(ran.err.contains(word), "{word} is missing\n{}", ran.err);
        }
        assert_eq!(ran.err.contains("acts nowhere"), !words.is_empty(), "{}", ran.err);
    };
    let nowhere = ["this noise acts nowhere", "[model.toml:2:1]"];
    warns(rule("after = [\"cx\", \"h\"]"), &[]);
    warns(rule("after = \"h\""), &nowhere);
    warns(rule("width = 3"), &nowhere);
    warns(rule("qubits = [2]"), &nowhere);
    warns(rule("after = \"x\"\nqubits = [1]"), &nowhere);
    warns(rule("after = \"cx\"\ngate_qubits = [[1, 0]]"), &nowhere);
    warns(rule("after = \"cx\"\ngate_qubits = [[1, 0], [0, 1]]"), &[]);
    warns(
        "\n[[reading]]\np0 = 0.1\n".to_owned(),
        &["this reading acts nowhere", "[model.toml:2:1]", "--shots"],
    );
    // What can never act is an error.
    let fails = |rest: &str, word: &str| {
        folder.file("model.toml", rule(rest));
        folder.run(&["run", "flipped.qasm", "--noise", "model.toml"]).fails(1, &[word]);
    };
    fails("qubits = []", "expected a list of qubits");
    fails("qubits = [0, 0]", "qubit 0 occurs twice");
    fails("gate_qubits = [0, 1]", "expected a list of qubits");
    fails("gate_qubits = [[0, 1]]\nqubits = [0, 1, 2]\nwidth = 2\nafter = \"cx\"", "one of both");
}

/// `aer.json` was written by Qiskit Aer 0.18.2, which gave these probabilities, too: errors of all
/// qubits and of some, of depolarizing, damping, thermal relaxation and Pauli strings, and
/// readings.
#[test]
fn models_of_qiskit_aer_are_read() {
    let folder = Folder::new();
    folder.file(
        "three.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[3] q;\nh q[0];\nh q[1];\nry(.7) q[2];\ncx q[0], q[1];\n\
         cx q[2], q[1];\ncx q[1], q[0];\nh q[2];\n",
    );
    let model = data("aer.json");
    let run =
        ["run", "three.qasm", "--noise", &model, "--probabilities", "--shots", "100000", "--json"];
    let run = folder.run(&run).json();
    let exact = [
        0.211_287_559_366_978_68,
        0.132_662_968_540_104_12,
        0.125_077_957_776_386_47,
        0.198_937_813_676_702_88,
        0.105_770_304_719_782_17,
        0.066_891_464_418_129_43,
        0.061_834_790_575_651_02,
        0.097_537_140_926_264_98,
    ];
    let p: Vec<f64> = run["probabilities"].as_array().unwrap().iter().map(number).collect();
    assert!(p.iter().zip(exact).all(|(p, e)| (p - e).abs() < ROUNDING), "{p:?}");
    let read = [
        0.213_370_3,
        0.122_198_2,
        0.118_405_7,
        0.097_000_5,
        0.174_475_4,
        0.099_923_4,
        0.096_130_9,
        0.078_495_5,
    ];
    for (k, p) in read.into_iter().enumerate() {
        let share = number(&run["counts"][format!("{k:03b}")]) / 1e5;
        assert!((share - p).abs() < 5.0 * (p * (1.0 - p) / 1e5f64).sqrt(), "{k}: {share}");
    }
    let fails = |errors: &str, words: &[&str]| {
        folder.file("bad.json", format!("{{\"errors\": [{errors}]}}"));
        folder.run(&["run", "three.qasm", "--noise", "bad.json"]).fails(1, words);
    };
    fails("1", &["errors[0].operations", "to_dict"]);
    fails("{]", &["bad.json:1:", "key must be a string"]);
    let error = |what: &str, sequence: &str, p: &str| {
        format!(
            "{{\"type\": \"qerror\", \"operations\": [\"{what}\"], \"probabilities\": [{p}], \"instructions\": [[{sequence}]]}}"
        )
    };
    let x = "{\"name\": \"x\", \"qubits\": [0]}";
    fails(&error("measure", x, "1"), &["errors[0].operations", "before it"]);
    fails(&error("hh", x, "1"), &["no instruction is called `hh`"]);
    fails(&error("h", x, "0.5"), &["errors[0]: ", "do not keep the trace"]);
    fails(&error("h", x, "0.5, 0.5"), &["errors[0].probabilities", "for each of `instructions`"]);
    fails(
        &error("h", "{\"name\": \"rx\", \"qubits\": [0]}", "1"),
        &["errors[0].instructions[0][0]", "`rx`"],
    );
    fails(
        &error("h", "{\"name\": \"x\", \"qubits\": [0, 1]}", "1"),
        &["`x` does not act on 2 qubits"],
    );
    let reading = "{\"type\": \"roerror\", \"operations\": [\"measure\"], \"probabilities\": ";
    fails(
        &format!("{reading}[[1, 0], [0.5, 0.4]]}}"),
        &["errors[0].probabilities", "whose sum is 1"],
    );
    fails(
        &format!("{reading}[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]}}"),
        &["several qubits"],
    );
}

#[test]
fn qubits_relax_during_delays() {
    let folder = Folder::new();
    let circuit = |delay: &str| {
        format!(
            "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nx q[0];\nstretch s;\ndelay[{delay}] q[0];\n"
        )
    };
    let model = |rest: &str| {
        format!("[[noise]]\nafter = [\"delay\"]\nrelaxation = {{ time = \"delay\", {rest} }}\n")
    };
    folder.file("model.toml", model("t1 = 50, t2 = 70, unit = \"us\", dt = 0.5e-3"));
    folder.file(
        "list.toml",
        model("t1 = [50e3], t2 = [70e3], unit = \"ns\", dt = 0.5")
            .replace("relax", "qubits = [0]\nrelax"),
    );
    let remains = (-0.4f64).exp();
    for delay in ["20us", "40000dt", "2 * 10000ns"] {
        folder.file("waits.qasm", circuit(delay));
        for model in ["model.toml", "list.toml"] {
            let run = ["run", "waits.qasm", "--noise", model, "--probabilities", "--json"];
            let run = folder.run(&run).done();
            assert!(!run.err.contains("warning"), "{}", run.err);
            let p = number(&run.json()["probabilities"][1]);
            assert!((p - remains).abs() < ROUNDING, "{delay}: {p}");
        }
        let plain = folder.run(&["run", "waits.qasm", "--probabilities", "--json"]).json();
        assert_eq!(number(&plain["probabilities"][1]), 1.0);
    }
    let fails = |delay: &str, rest: &str, words: &[&str]| {
        folder.file("waits.qasm", circuit(delay));
        folder.file("bad.toml", model(rest));
        folder.run(&["run", "waits.qasm", "--noise", "bad.toml"]).fails(1, words);
    };
    let times = "t1 = 50, t2 = 70, unit = \"us\"";
    fails(
        "5dt",
        times,
        &["bad.toml: relaxation needs the length of a delay of 1 qubit", "how long a `dt` is"],
    );
    fails("s", times, &["it is open until the circuit is compiled"]);
    fails("1ns", "t1 = 50, t2 = 70", &["[relaxation] needs t1, t2 and their unit"]);
    fails("1ns", "t1 = 50, t2 = 70, unit = \"h\"", &["it is one of s, ms, us, ns, not `h`"]);
    fails("1ns", "t1 = 50, t2 = 170, unit = \"us\"", &["noise.relaxation", "bad.toml:3:14"]);
    folder.file("bad.toml", model(times).replace("delay\"]", "x\"]"));
    folder
        .run(&["run", "waits.qasm", "--noise", "bad.toml"])
        .fails(1, &["after = [\"delay\"] alone"]);
}

#[test]
fn qubits_are_read_together() {
    let folder = Folder::new();
    let text = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[2] q;\nx q[0];\n";
    folder.file("one.qasm", text);
    folder.file(
        "measured.qasm",
        format!("{text}bit[2] c;\nc[0] = measure q[0];\nc[1] = measure q[1];\n"),
    );
    // 01, where qubit 0 is 1, is read as 00, 01, 10, 11 with these.
    let rows = "[[1, 0, 0, 0], [0.1, 0.2, 0.3, 0.4], [0, 0, 1, 0], [0, 0, 0, 1]]";
    folder.file("model.toml", format!("[[reading]]\nqubits = [0, 1]\nmatrix = {rows}\n"));
    folder.file(
        "model.json",
        format!(
            "{{\"errors\": [{{\"type\": \"roerror\", \"operations\": [\"measure\"], \"gate_qubits\": [[0, 1]], \"probabilities\": {rows}}}]}}"
        ),
    );
    for (circuit, model) in [
        ("one.qasm", "model.toml"),
        ("one.qasm", "model.json"),
        ("measured.qasm", "model.toml"),
        ("measured.qasm", "model.json"),
    ] {
        let run =
            folder.run(&["run", circuit, "--noise", model, "--shots", "20000", "--json"]).json();
        for (bits, p) in [("00", 0.1f64), ("01", 0.2), ("10", 0.3), ("11", 0.4)] {
            let (share, error) = (number(&run["counts"][bits]) / 2e4, (p * (1.0 - p) / 2e4).sqrt());
            assert!((share - p).abs() < 4.5 * error, "{circuit} {model} {bits}: {share}");
        }
    }
    let converted = folder
        .run(&["convert", "measured.qasm", "--to", "qasm3", "--noise", "model.toml"])
        .done()
        .out;
    let pragma =
        "#pragma ketgrad readout_error(0, 0, 0, 0.1, 0.3, 0.4, 0, 0, 0, 0, 0, 0) c[0], c[1]\n";
    assert!(converted.contains(pragma), "{converted}");
    let drawn = folder.run(&["draw", "measured.qasm", "--noise", "model.toml"]).done().out;
    assert!(drawn.contains("readout_error c[0], c[1]"), "{drawn}");
    let mean = [
        "grad",
        "one.qasm",
        "--noise",
        "model.toml",
        "--observable",
        "Z0 Z1",
        "--shots",
        "20000",
        "--json",
    ];
    let mean = folder.run(&mean).json();
    assert!(number(&mean["value"]).abs() < 5.0 * number(&mean["stderr"]), "{mean}");

    let fails = |model: &str, words: &[&str]| {
        folder.file("bad.toml", format!("[[reading]]\n{model}\n"));
        folder.run(&["run", "one.qasm", "--noise", "bad.toml", "--shots", "5"]).fails(1, words);
    };
    fails(&format!("matrix = {rows}"), &["`qubits` says which", "bad.toml:2:10"]);
    fails(
        &format!("qubits = [0]\nmatrix = {rows}"),
        &["the readout matrix of 1 bit is 2 x 2, not 4 x 4", "bad.toml:3:10"],
    );
    fails("qubits = [0]\nmatrix = [[1, 0], [0.2, 0.7]]", &["row 1", "whose sum is 1"]);
    fails(&format!("qubits = [0, 1]\np0 = 0.1\nmatrix = {rows}"), &["unknown key `reading.p0`"]);
    fails(
        &format!("qubits = [0, 2]\nmatrix = {rows}"),
        &["qubits 0, 2 are read together", "does not measure 2"],
    );
}

#[test]
fn what_is_wrong_is_said_at_its_place() {
    let folder = folder();
    let fails = |model: &str, expected: &str| {
        folder.file("bad.toml", model);
        folder.run(&["run", "bell.qasm", "--noise", "bad.toml"]).fails(1, &[expected]);
    };
    let rule = |rest: &str| format!("[[noise]]\n{rest}\n");
    let good = "channel = \"depolarizing\"\nparameters = [0.1]";
    fails(&rule("channel = \"depolarising\"\nparameters = [0.1]"), "did you mean `depolarizing`?");
    fails(
        &rule("channel = \"depolarizing\"\nparameters = [1.5]"),
        "expected a number from 0 to 1, not 1.5",
    );
    fails(
        &rule("channel = \"depolarizing\"\nparameters = [0.1, 0.2]"),
        "depolarizing takes 1 parameter (p), not 2",
    );
    fails(&rule(&format!("{good}\nafter = [\"cnott\"]")), "did you mean `cnot`?");
    fails(&rule(&format!("{good}\nafter = [\"cx\"]\nwidth = 2")), "one of both");
    fails(&rule(&format!("{good}\nwith = 2")), "unknown key `noise.with`");
    fails(&rule("relaxation = { time = 1, t1 = 1, t2 = 3 }"), "T2 <= 2 T1");
    fails(&rule("width = 1"), "needs one of `channel`");
    fails(
        &rule("kraus = [[[1, 0], [0, 1]]]\nchannel = \"bit_flip\"\nparameters = [0.1]"),
        "needs one of",
    );
    fails(&rule("kraus = [[[1, 0], [0, 0.5]]]"), "do not keep the trace: entry (1, 1)");
    fails(&rule("kraus = [[[1, 0], [0]]]"), "row 1 has 1 entries");
    fails(&rule("kraus = [[[1, 0], [0, [1, 2, 3]]]]"), "a list of its real and its imaginary part");
    fails(&rule("kraus = [[1, 0], [0, 1]]"), "expected a row, a list of entries");
    fails(&rule("kraus = 1"), "expected a list");
    fails("[reading]\np0 = 0.1\n", "expected tables");
    fails("[[reading]]\np0 = true\n", "expected a number from 0 to 1, or the name of an input");
    fails(
        &rule("width = 1\nchannel = \"two_qubit_dephasing\"\nparameters = [0.1]"),
        "two_qubit_dephasing(0.1) acts on 2 qubits: it cannot follow h on 1",
    );
    fails(&rule("channel = \"pauli_channel\"\nparameters = [0.5, 0.4, 0.3]"), "bad.toml:3:");
    let unset = folder.run(&["run", "bell.qasm", "--noise", "noise.toml"]);
    unset.fails(1, &["p"]);
    let usage = ["run", "bell.qasm", "--noise", "noise.toml", "--set", "p=0.1"];
    folder
        .run(&[&usage[..], &["--method", "exact"]].concat())
        .fails(2, &["--method is one of auto"]);
    let both = folder.run(&[&usage[..], &["--method", "density", "--amplitudes"]].concat());
    both.fails(2, &["trajectories"]);
    // 40 qubits: trajectories by themselves, and too much memory in words otherwise.
    folder.file(
        "wide.qasm",
        "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[18] q;\nbit c;\nh q;\nc = measure q[0];\n",
    );
    folder.file("one.toml", "[[noise]]\nchannel = \"bit_flip\"\nparameters = [0.01]\n");
    let wide = ["run", "wide.qasm", "--noise", "one.toml", "--shots", "5", "--json"];
    assert_eq!(folder.run(&wide).json()["n_qubits"], json!(18));
    let density = folder.run(&[&wide[..], &["--method", "density"]].concat());
    density.fails(1, &["GiB"]);
    // Without noise it has one final state, which is what is run.
    let pure = folder.run(&["run", "wide.qasm", "--method", "density", "--shots", "5", "--json"]);
    assert_eq!(pure.json()["n_qubits"], json!(18));
}
