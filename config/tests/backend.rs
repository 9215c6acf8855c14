//! `--backend`: who runs circuits, and what that takes.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::Value;

use crate::{
    libraries,
    support::{self, Folder},
};

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-13;

/// Rounding of 2^16 numbers that the mock device adds up one after the other.
const SUMMED: f64 = 1e-11;

const VALUES: [&str; 6] = ["--set", "theta=0.3", "--set", "w[0]=0.2", "--set", "w[1]=-0.5"];

/// A folder with a config that loads the mock device.
fn with_device(options: &str, top: &str) -> Folder {
    let folder = Folder::new();
    let device = libraries::mock_device();
    let device = device.display();
    let text = format!(
        "{top}\n[[plugin]]\nname = 'mock'\npath = '{device}'\n[plugin.options]\n{options}\n"
    );
    folder.file("c.toml", text);
    folder
}

fn run(folder: &Folder, args: &[&str]) -> Value {
    let more = ["--config", "c.toml", "--json"];
    folder.run(&args.iter().copied().chain(VALUES).chain(more).collect::<Vec<_>>()).json()
}

#[test]
fn the_backend_of_that_name_runs() {
    let folder = with_device("", "");
    let ask = [
        "run",
        "ansatz.qasm",
        "--observable",
        "Z0 Z1 - X0",
        "--shots",
        "500",
        "--amplitudes",
        "--seed",
        "3",
    ];
    for (precision, off) in [("f64", ROUNDING), ("f32", 1e-6)] {
        let by = |backend: &str| {
            let more = ["--backend", backend, "--precision", precision];
            run(&folder, &ask.iter().chain(&more).copied().collect::<Vec<_>>())
        };
        let (there, here) = (by("mock"), by("cpu"));
        assert_eq!((&there["backend"], &here["backend"]), (&"mock".into(), &"fast".into()));
        assert_eq!(
            (by("auto")["backend"].as_str(), by("fast")["backend"].as_str()),
            (Some("fast"), Some("fast"))
        );
        assert_eq!(there["counts"], here["counts"]);
        let close = |a: &Value, b: &Value| (a.as_f64().unwrap() - b.as_f64().unwrap()).abs() < off;
        assert!(
            close(&there["expectations"][0]["value"], &here["expectations"][0]["value"]),
            "{there} {here}"
        );
        for (a, b) in there["amplitudes"]
            .as_array()
            .unwrap()
            .iter()
            .zip(here["amplitudes"].as_array().unwrap())
        {
            assert!(close(&a[0], &b[0]) && close(&a[1], &b[1]), "{there} {here}");
        }
    }
    // The key tells the truth without any gate, and for trajectories.
    folder.file("idle.qasm", "OPENQASM 3.0; qubit[2] q;");
    folder.file("twice.qasm", "OPENQASM 3.0; include \"stdgates.inc\"; qubit q; bit[2] c; h q; c[0] = measure q; h q; c[1] = measure q;");
    for file in ["idle.qasm", "twice.qasm"] {
        let json =
            folder.run(&["run", file, "--backend", "mock", "--config", "c.toml", "--json"]).json();
        assert_eq!(json["backend"], "mock", "{json}");
    }
}

#[test]
fn the_config_names_it_and_the_command_line_wins() {
    let folder = with_device("", "backend = 'mock'");
    let ask = ["run", "ansatz.qasm", "--observable", "Z0"];
    assert_eq!(run(&folder, &ask)["backend"], "mock");
    assert_eq!(run(&folder, &[&ask[..], &["--backend", "cpu"]].concat())["backend"], "fast");
    let folder = with_device("", "backend = 'mock'\n[run]\nbackend = 'cpu'");
    assert_eq!(run(&folder, &ask)["backend"], "fast");
}

#[test]
fn a_backend_that_is_not_there_or_cannot_is_an_error() {
    let folder = with_device("", "");
    let ask = |folder: &Folder, verb: &[&str], backend: &str| {
        let more = ["--config", "c.toml", "--backend", backend];
        folder.run(&verb.iter().copied().chain(VALUES).chain(more).collect::<Vec<_>>())
    };
    let verbs: [&[&str]; 3] = [
        &["run", "ansatz.qasm"],
        &["grad", "ansatz.qasm", "--observable", "Z0"],
        &["check", "ansatz.qasm", "--observable", "Z0"],
    ];
    for verb in verbs {
        let words = ["there is no backend `mokc`", "auto, cpu, fast, mock", "`mock`"];
        ask(&folder, verb, "mokc").fails(1, &words);
    }
    let declining = with_device("score = '0'", "");
    for verb in verbs {
        let words = ["the backend `mock` cannot run this", "was told to decline", "ketgrad info"];
        ask(&declining, verb, "mock").fails(1, &words);
    }
    // Without a plugin only the built-in ones are known.
    Folder::new()
        .run(&["run", "bell.qasm", "--backend", "cuda:0"])
        .fails(1, &["there are auto, cpu, fast"]);
    folder.file("wide.qasm", "OPENQASM 3.0; include \"stdgates.inc\"; qubit[25] q; h q;");
    ask_wide(&folder).fails(1, &["25 qubits; it takes at most 24"]);
}

fn ask_wide(folder: &Folder) -> support::Ran {
    folder.run(&["run", "wide.qasm", "--backend", "mock", "--config", "c.toml"])
}

/// A state of 16 qubits takes 1 MiB: not here if only values are asked for.
#[test]
fn the_memory_of_the_host_is_asked_for_what_comes_back() {
    let folder = with_device("", "");
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; input float t; qubit[16] q; h q; cx q[0], q[15]; ry(t) q[3];";
    folder.file("wide.qasm", text);
    let ask = |verb: &str, more: &[&str], backend: &str| {
        let rest = [
            "--set",
            "t=0.4",
            "--config",
            "c.toml",
            "--memory-limit",
            "512KiB",
            "--json",
            "--backend",
            backend,
        ];
        folder.run(&[&[verb, "wide.qasm"], more, &rest[..]].concat())
    };
    let values = ["--observable", "Z3", "--shots", "100"];
    let json = ask("run", &values, "mock").json();
    let value = json["expectations"][0]["value"].as_f64().unwrap();
    // H and RY(t) on |0>: <Z> = -sin t.
    assert!((value + 0.4f64.sin()).abs() < SUMMED, "{json}");
    ask("run", &values, "cpu").fails(1, &["a run of 16 qubits needs", "the state: 1 MiB"]);
    for keeps in [&["--amplitudes"][..], &["--output", "o.npy"], &["--probabilities"]] {
        ask("run", keeps, "mock").fails(1, &["a run of 16 qubits needs", "the state: 1 MiB"]);
    }
    let json = ask("grad", &["--observable", "Z3"], "mock").json();
    let slope = json["gradient"]["t"].as_f64().unwrap();
    assert!((slope + 0.4f64.cos()).abs() < SUMMED, "{json}");
    ask("grad", &["--observable", "Z3"], "cpu").fails(1, &["the derivatives needs", "two states"]);
    ask("grad", &["--observable", "Z3", "--method", "forward"], "mock").fails(1, &["two states"]);
}

#[test]
fn derivatives_run_there() {
    let folder = with_device("", "");
    let ask = ["grad", "ansatz.qasm", "--observable", "Z0 + X1 - 0.5*Y0 Z1"];
    let by = |backend: &str, precision: &str| {
        run(&folder, &[&ask[..], &["--backend", backend, "--precision", precision]].concat())
    };
    for (precision, off) in [("f64", ROUNDING), ("f32", 1e-6)] {
        let (there, here) = (by("mock", precision), by("cpu", precision));
        for name in ["theta", "w[0]", "w[1]"] {
            let of = |json: &Value| json["gradient"][name].as_f64().unwrap();
            assert!((of(&there) - of(&here)).abs() < off, "{there} {here}");
        }
    }
    let check = ["check", "ansatz.qasm", "--observable", "Z0 + X1", "--backend", "mock"];
    assert_eq!(run(&folder, &check)["agree"], true);
    // Dual numbers have no kernels there, and it says so.
    let hessian =
        [&ask[..], &VALUES, &["--hessian", "--backend", "mock", "--config", "c.toml"]].concat();
    let ran = folder.run(&hessian).done();
    assert!(ran.err.contains("dual numbers, for which `mock` has no kernels"), "{ran:?}");
    folder
        .file("job.toml", "[ansatz]\ncircuit = 'ansatz.qasm'\n[hamiltonian]\nterms = 'Z0 + Z1'\n");
    let job = ["optimize", "job.toml", "--config", "c.toml", "--json", "--backend"];
    let least = |backend: &str| {
        folder.run(&[&job[..], &[backend]].concat()).json()["value"].as_f64().unwrap()
    };
    assert!((least("mock") - least("cpu")).abs() < 1e-9 && (least("mock") + 2.0).abs() < 1e-9);
}

/// Under `auto` the processor replaces a device that has no room for what a gradient needs,
/// and it is said.
#[test]
fn what_a_device_has_no_room_for_runs_here_with_a_note() {
    let device = libraries::mock_device();
    let text = format!(
        "[[plugin]]\nname = 'mock'\npath = '{}'\npriority = 1\n[plugin.options]\nroom = 1\n",
        device.display()
    );
    let folder = Folder::new();
    folder.file("c.toml", text);
    let ask = |verb: &[&str], backend: &str| {
        let more = ["--config", "c.toml", "--json", "--backend", backend];
        folder.run(&verb.iter().copied().chain(VALUES).chain(more).collect::<Vec<_>>())
    };
    let note = "another backend stands in for `mock`: no room on the device for another state";
    let grad = ["grad", "ansatz.qasm", "--observable", "Z0 + X1 - 0.5*Y0 Z1"];
    let (auto, here) = (ask(&grad, "auto").done(), ask(&grad, "cpu").done());
    assert!(auto.err.contains(note) && !here.err.contains("stands in"), "{auto:?}");
    let (auto, here) = (auto.json(), here.json());
    for name in ["theta", "w[0]", "w[1]"] {
        let of = |json: &Value| json["gradient"][name].as_f64().unwrap();
        assert!((of(&auto) - of(&here)).abs() < ROUNDING, "{auto:?} {here:?}");
    }
    let check = ask(&["check", "ansatz.qasm", "--observable", "Z0"], "auto").done();
    assert!(check.err.contains(note), "{check:?}");
    ask(&grad, "mock").fails(1, &["mock: no room on the device"]);
    // One state is all that a run needs.
    let run = ask(&["run", "ansatz.qasm", "--observable", "Z0"], "auto").done();
    assert!(!run.err.contains("stands in"), "{run:?}");
    assert!(
        run.err.contains("device `mock` was checked in part only: operators in a row"),
        "{run:?}"
    );
    assert_eq!(run.json()["backend"], "mock");
    folder
        .file("job.toml", "[ansatz]\ncircuit = 'ansatz.qasm'\n[hamiltonian]\nterms = 'Z0 + Z1'\n");
    let job = folder.run(&["optimize", "job.toml", "--config", "c.toml", "--json"]).done();
    assert!(job.err.contains(note), "{job:?}");
    assert!((job.json()["value"].as_f64().unwrap() + 2.0).abs() < 1e-9);
}

#[test]
fn verify_compares_devices() {
    let verify = ["plugins", "verify", "--config", "c.toml"];
    let json = with_device("", "").run(&[&verify[..], &["--json"]].concat()).json();
    assert_eq!(
        (&json["devices"][0]["name"], &json["devices"][0]["agrees"]),
        (&"mock".into(), &true.into())
    );
    let wrong = with_device("fail = 'conjugate'", "").run(&verify);
    assert_eq!(wrong.status, Some(3), "{wrong:?}");
    assert!(wrong.out.contains("mock  each operator, 12 qubits in f64: off by"), "{wrong:?}");
    let declines = with_device("score = '0'", "").run(&verify).done().out;
    assert!(
        declines.contains("mock  not compared: it declines. a device that is none and was told to"),
        "{declines}"
    );
}

/// Gate kernels in the host's memory are compared as devices are, and a score that panics is said
/// wherever it counts.
#[test]
fn gate_kernels_are_compared_and_their_faults_said() {
    let hostile = libraries::plugin("ketgrad_hostile");
    let with = |how: &str| {
        let folder = Folder::new();
        let text = format!(
            "[[plugin]]\nname = 'evil'\npath = '{}'\nrules = {{ only = [] }}\n[plugin.options]\nkernel = '{how}'\n",
            hostile.display()
        );
        folder.file("c.toml", text);
        folder
    };
    let verify = ["plugins", "verify", "--config", "c.toml"];
    let json = with("ok").run(&[&verify[..], &["--json"]].concat()).json();
    let kernels = &json["kernels"][0];
    assert_eq!(
        (&kernels["name"], &kernels["plugin"], &kernels["agrees"]),
        (&"plain_here".into(), &"evil".into(), &true.into())
    );
    assert!(json["devices"].as_array().unwrap().is_empty(), "{json}");
    let json = with("declines").run(&[&verify[..], &["--json"]].concat()).json();
    assert_eq!(json["kernels"][0]["agrees"], Value::Null, "{json}");
    for (how, words) in [
        ("nothing", "plain_here  each operator, 2 qubits in f64: off by"),
        ("error", "plain_here: does not want (plugin `evil`)"),
        ("score", "plain_here  its score failed: it panicked: a panic of the score at "),
    ] {
        let ran = with(how).run(&verify);
        assert_eq!(ran.status, Some(3), "{ran:?}");
        assert!(ran.out.contains(words), "{how}: {ran:?}");
    }
    let ask = |how: &str, more: &[&str]| {
        let run = ["run", "ansatz.qasm", "--observable", "Z0", "--config", "c.toml"];
        with(how).run(&[&run[..], &VALUES, more].concat())
    };
    let backend = ["--backend", "plain_here"];
    ask("error", &backend).fails(1, &["plain_here: does not want (plugin `evil`)"]);
    let words = ["a panic of the score at ", "kernels.rs:", "(plugin `evil`)"];
    ask("score", &backend).fails(1, &words);
    let auto = ask("score", &[]).done();
    assert!(auto.err.contains("note: `plain_here` is left out: its score failed"), "{auto:?}");
    assert!(words.iter().all(|word| auto.err.contains(word)), "{auto:?}");
    let info = with("score").run(&["info", "--config", "c.toml"]).done().out;
    assert!(words.iter().all(|word| info.contains(word)), "{info}");
}

#[test]
fn info_says_what_each_is_and_why() {
    let of = |folder: &Folder, more: &[&str], precision: &str| -> (Value, String) {
        let json = folder.run(&[&["info", "--config", "c.toml", "--json"], more].concat()).json();
        let all = json["backends"].as_array().unwrap().clone();
        let found =
            all.into_iter().find(|b| b["name"] == "mock" && b["precision"] == precision).unwrap();
        (found.clone(), found["reason"].as_str().unwrap().to_owned())
    };
    let folder = with_device("", "");
    for precision in ["f64", "f32"] {
        let (mock, reason) = of(&folder, &[], precision);
        assert_eq!(
            (&mock["chosen"], mock["description"].as_str()),
            (&false.into(), Some("a device that is none, in the host's own memory"))
        );
        assert!(reason.contains("score (1)") && reason.contains("another comes first"), "{reason}");
        let (mock, reason) = of(&folder, &["--backend", "mock"], precision);
        assert!(mock["chosen"] == true && reason.contains("asked for by name"), "{reason}");
    }
    let better = with_device("score = '1000'", "");
    assert!(of(&better, &[], "f32").1.contains("it comes first"));
    assert!(of(&better, &["--backend", "cpu"], "f64").1.contains("`cpu` has no devices"));
    let declining = with_device("score = '0'", "");
    assert!(of(&declining, &[], "f64").1.contains("it declines"));
    let text = declining.run(&["info", "--config", "c.toml"]).done().out;
    assert!(text.contains("was told to decline"), "{text}");
}
