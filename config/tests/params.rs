//! Values of parameters: `--set`, JSON, NumPy, sweeps.

use crate::support::{Folder, data};

const SET: [&str; 6] = ["--set", "theta=0.3", "--set", "w[0]=0.1", "--set", "w[1]=-0.2"];

#[allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]
fn value(folder: &Folder, args: &[&str]) -> f64 {
    let call = [&["run", "ansatz.qasm", "--observable", "Z0 + 2 Z1", "--json"][..], args].concat();
    folder.run(&call).json()["expectations"][0]["value"].as_f64().unwrap()
}

#[test]
fn all_ways_give_the_same() {
    let folder = Folder::new();
    let expected = value(&folder, &SET);
    let exact = 0.3f64.cos() * 0.1f64.cos() + 2.0 * 0.2f64.cos();
    assert!((expected - exact).abs() < 1e-15);
    folder.file("nested.json", r#"{"theta": 0.3, "w": [0.1, "-0.2"]}"#);
    folder.file("flat.json", r#"{"w[1]": -0.2, "w[0]": 0.1, "theta": "0.3"}"#);
    folder.file("half.json", r#"{"w[1]": -0.2, "theta": 5}"#);
    for params in ["nested.json", "flat.json", &data("point.npy")] {
        assert_eq!(value(&folder, &["--params", params]), expected, "{params}");
    }
    // --set wins, and fills in.
    let set = &SET[..4];
    assert_eq!(value(&folder, &[&["--params", "half.json"][..], set].concat()), expected);
}

#[test]
fn multiples_of_pi_are_exact() {
    let folder = Folder::new();
    let args =
        ["--set", "theta=pi", "--set", "w[0]=0", "--set", "w[1]=0", "--probabilities", "--json"];
    let ran = folder.run(&[&["run", "ansatz.qasm"][..], &args].concat()).done();
    assert!(ran.out.contains("\"probabilities\":[0.0,1.0,0.0,0.0]"), "{}", ran.out);
}

#[test]
fn a_table_is_a_sweep() {
    let folder = Folder::new();
    let args = ["--observable", "Z0", "--shots", "10", "--probabilities", "--json"];
    for params in ["sweep.npy", "point.npy"] {
        let path = data(params);
        let call = [&["run", "ansatz.qasm", "--params", &path][..], &args].concat();
        let json = folder.run(&call).json();
        if params == "point.npy" {
            assert!(json["counts"].is_object());
            continue;
        }
        for key in ["counts", "expectations", "probabilities"] {
            assert_eq!(json[key].as_array().unwrap().len(), 2, "{key}");
        }
        assert_eq!(json["expectations"][1][0]["value"], 1.0);
        assert_eq!(json["counts"][1], serde_json::json!({"00": 10}));
        assert_eq!(json["probabilities"][1], serde_json::json!([1.0, 0.0, 0.0, 0.0]));
    }
    let text = folder
        .run(&["run", "ansatz.qasm", "--params", &data("sweep.npy"), "--observable", "Z0"])
        .done();
    assert!(text.out.starts_with("row 0\nexpectation values\n  Z0  "), "{}", text.out);
    // By columns it is the same table.
    let values = |path: &str| {
        let json = folder
            .run(&["run", "ansatz.qasm", "--params", path, "--observable", "Z0", "--json"])
            .json();
        json["expectations"].clone()
    };
    let (one, other) = (values(&data("sweep.npy")), values(&data("sweep_fortran.npy")));
    for row in 0..2 {
        let value = |of: &serde_json::Value| of[row][0]["value"].as_f64().unwrap();
        assert!((value(&one) - value(&other)).abs() < 1e-7, "{one} {other}");
    }
}

#[test]
fn tables_of_integers_are_read() {
    let folder = Folder::new();
    let table = |descr: &str, numbers: &[u8]| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (3,), }}");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
        bytes.extend_from_slice(header.as_bytes());
        bytes.extend_from_slice(numbers);
        folder.file("ints.npy", bytes);
        folder.run(&["run", "ansatz.qasm", "--params", "ints.npy", "--amplitudes", "--json"])
    };
    let sets = ["--set", "theta=-2", "--set", "w[0]=3", "--set", "w[1]=0"];
    let expected =
        folder.run(&[&["run", "ansatz.qasm", "--amplitudes", "--json"][..], &sets].concat()).json();
    let eight: Vec<u8> = [-2i64, 3, 0].iter().flat_map(|n| n.to_le_bytes()).collect();
    let two: Vec<u8> = [-2i16, 3, 0].iter().flat_map(|n| n.to_be_bytes()).collect();
    for (descr, numbers) in [("<i8", &eight[..]), (">i2", &two), ("|i1", &[0xfe, 3, 0])] {
        assert_eq!(table(descr, numbers).json()["amplitudes"], expected["amplitudes"], "{descr}");
    }
    let unsigned = table("|u1", &[0xfe, 3, 0]).json();
    assert_ne!(unsigned["amplitudes"], expected["amplitudes"]);
    table("|b1", &[1, 1, 0]).fails(1, &["|b1", "real numbers"]);
    table("<i8", &eight[..16]).fails(1, &["cut off"]);
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_text() {
    let folder = Folder::new();
    folder.file("point.json", "\u{feff}{\"theta\": 1, \"w\": [2, 3]}");
    folder.file("h.txt", "\u{feff}Z0 Z1\n");
    folder.run(&["grad", "ansatz.qasm", "--params", "point.json", "--observable", "@h.txt"]).done();
    folder.file("edges.txt", "\u{feff}0 1\n1 2\n");
    folder.file(
        "job.toml",
        "[ansatz]\nname = 'qaoa'\ngraph = 'edges.txt'\nlayers = 1\n\
         [hamiltonian]\nname = 'max_cut'\ngraph = 'edges.txt'\n",
    );
    folder.run(&["optimize", "job.toml"]).done();
}

#[test]
fn a_comment_hides_no_part_of_a_value() {
    let folder = Folder::new();
    for value in ["theta=1//2", "theta=1/*2*/"] {
        folder
            .run(&["run", "ansatz.qasm", "--set", value])
            .fails(1, &["--set theta:1:2", "without comments"]);
    }
}

#[test]
fn the_states_of_a_sweep_are_rows_of_one_file() {
    let folder = Folder::new();
    for (precision, code, width) in [("f64", "<c16", 8), ("f32", "<c8", 4)] {
        let path = data("sweep.npy");
        let args = [
            "run",
            "ansatz.qasm",
            "--params",
            &path,
            "--output",
            "s.npy",
            "--precision",
            precision,
        ];
        let json = folder.run(&[&args[..], &["--probabilities", "--json"]].concat()).json();
        let bytes = std::fs::read(folder.path("s.npy")).unwrap();
        let header = String::from_utf8_lossy(&bytes[10..128]).into_owned();
        assert!(header.starts_with(&format!(
            "{{'descr': '{code}', 'fortran_order': False, 'shape': (2, 4), }}"
        )));
        assert_eq!(bytes.len(), 128 + 2 * 4 * 2 * width);
        let number = |i: usize| {
            let at = &bytes[128 + i * width..128 + (i + 1) * width];
            if width == 8 {
                f64::from_le_bytes(at.try_into().unwrap())
            } else {
                f32::from_le_bytes(at.try_into().unwrap()).into()
            }
        };
        for row in 0..2 {
            for i in 0..4 {
                let at = 2 * (4 * row + i);
                let expected = json["probabilities"][row][i].as_f64().unwrap();
                assert!((number(at).powi(2) + number(at + 1).powi(2) - expected).abs() < 1e-6);
            }
        }
    }
}

#[test]
fn a_sweep_gives_the_same_bits_for_any_threads() {
    let folder = Folder::new();
    let path = data("sweep.npy");
    let run = |threads| {
        let args = [
            "run",
            "ansatz.qasm",
            "--params",
            &path,
            "--amplitudes",
            "--observable",
            "X0 Z1",
            "--json",
        ];
        let json =
            folder.run(&[&args[..], &["--shots", "50", "--threads", threads]].concat()).json();
        ["amplitudes", "expectations", "counts"].map(|key| json[key].clone())
    };
    assert_eq!(run("1"), run("2"));
    assert_eq!(run("1"), run("3"));
}

#[test]
fn unset_parameters_are_all_listed() {
    let folder = Folder::new();
    folder.run(&["run", "ansatz.qasm"]).fails(1, &["no value for 3 parameters: theta, w[0], w[1]"]);
    folder.run(&["run", "ansatz.qasm", "--set", "w[0]=1"]).fails(1, &["2 parameters: theta, w[1]"]);
}

#[test]
fn faulty_values_are_refused() {
    let folder = Folder::new();
    let run = |args: &[&str]| folder.run(&[&["run", "ansatz.qasm"][..], args].concat());
    run(&["--set", "thet=1"]).fails(1, &["no parameter `thet`", "`theta`"]);
    run(&["--set", "theta=1", "--set", "theta = 2"]).fails(1, &["`theta` twice"]);
    run(&["--set", "theta"]).fails(2, &["NAME=VALUE"]);
    run(&["--set", "=1"]).fails(2, &["NAME=VALUE"]);
    for bad in
        ["theta=", "theta=foo", "theta=1/0", "theta=1e999", "theta=nan", "theta=((((", "theta=é"]
    {
        run(&["--set", bad]).fails(1, &["--set theta:1:"]);
    }
    folder.run(&["run", "bell.qasm", "--set", "a=1"]).fails(1, &["no parameters at all"]);
    for (text, words) in [
        ("", &["[p.json:1:1]"][..]),
        ("{\"theta\": }", &["[p.json:1:11]"]),
        ("[1]", &["expected an object"]),
        ("{\"theta\": 1, \"theta\": 2}", &["`theta` twice"]),
        ("{\"w\": [1], \"w[0]\": 2}", &["`w[0]` twice"]),
        ("{\"w\": 1}", &["no parameter `w`", "`w[0]`"]),
        ("{\"theta\": {\"a\": 1}}", &["is an object"]),
        ("{\"theta\": true}", &["p.json"]),
        ("{\"theta\": 1e999}", &["p.json"]),
        ("{\"theta\": \"foo\"}", &["p.json: theta:1:1"]),
    ] {
        folder.file("p.json", text);
        run(&["--params", "p.json"]).fails(1, words);
    }
    folder.file("deep.json", "[".repeat(100_000));
    run(&["--params", "deep.json"]).fails(1, &["deep.json"]);
    run(&["--params", "no.json"]).fails(1, &["cannot read no.json"]);
    run(&["--params", &data("state_c16.npy")]).fails(1, &["type <c16", "float64"]);
    folder
        .run(&["run", "bell.qasm", "--params", &data("point.npy")])
        .fails(1, &["3 values", "0 parameters"]);
}

/// A circuit whose size and form are inputs.
const SIZED: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput uint[4] n;\ninput bit[3] mask;\ninput bool flip;\n\
    input float angle_;\nqubit[n] q;\nfor uint i in [0:n - 1] { if (mask[i]) { ry(angle_) q[i]; } }\nif (flip) x q[0];\n";

#[test]
fn inputs_that_are_no_parameters_are_given_like_them() {
    let folder = Folder::new();
    folder.file("sized.qasm", SIZED);
    folder.file(
        "plain.qasm",
        "OPENQASM 3.0; include \"stdgates.inc\"; input float angle_; qubit[3] q; ry(angle_) q[0]; ry(angle_) q[1]; x q[0];",
    );
    folder.file("all.json", r#"{"n": 3, "mask": "011", "flip": true, "angle_": 0.4}"#);
    folder.file("form.json", r#"{"n": 3.0, "mask": "011", "flip": true}"#);
    folder.file(
        "job.toml",
        "[ansatz]\ncircuit = \"sized.qasm\"\nset = [\"n=3\", \"mask=011\"]\nparams = \"form.json\"\n\
         [hamiltonian]\nterms = \"Z0 Z1\"\n",
    );
    let set = ["--set", "n=2 + 1", "--set", "mask=011", "--set", "flip=1"];
    let with = |words: &[&'static str]| [words, &set[..]].concat();
    // -cos(t)^2 with the flip.
    let call =
        with(&["grad", "sized.qasm", "--observable", "Z0 Z1", "--set", "angle_=0.4", "--json"]);
    let json = folder.run(&call).json();
    assert!((json["value"].as_f64().unwrap() + 0.4f64.cos().powi(2)).abs() < 1e-14);
    assert!((json["gradient"]["angle_"].as_f64().unwrap() - 0.8f64.sin()).abs() < 1e-14);
    assert_eq!(json["gradient"].as_object().unwrap().len(), 1);
    folder.run(&["check", "sized.qasm", "--observable", "Z0", "--params", "all.json"]).done();
    let ran = folder.run(&[
        "run",
        "sized.qasm",
        "--params",
        "all.json",
        "--set",
        "flip=false",
        "--observable",
        "Z0",
        "--json",
    ]);
    let value = ran.json()["expectations"][0]["value"].as_f64().unwrap();
    assert!((value - 0.4f64.cos()).abs() < 1e-14);
    // What is not given stays a parameter, of the circuit that the rest decides.
    let text = folder.run(&with(&["convert", "sized.qasm", "--to", "qasm3"])).done().out;
    assert!(text.contains("input float[64] angle_;") && text.contains("qubit[3] q;"), "{text}");
    assert!(folder.run(&with(&["draw", "sized.qasm"])).done().out.contains("RY(angle_)"));
    assert!(folder.run(&with(&["amplitudes", "sized.qasm"])).done().out.contains("angle_"));
    folder.run(&with(&["equivalent", "sized.qasm", "plain.qasm"])).done();
    folder.run(&with(&["equivalent", "sized.qasm", "plain.qasm", "--set", "angle_=0.3"])).done();
    folder.run(&["equivalent", "plain.qasm", "sized.qasm", "--params", "form.json"]).done();
    let other =
        ["equivalent", "plain.qasm", "sized.qasm", "--params", "form.json", "--set", "mask=111"];
    assert_eq!(folder.run(&other).status, Some(3));
    folder.run(&["optimize", "job.toml", "--quiet"]).done();
}

#[test]
fn inputs_that_are_no_parameters_are_missed_and_checked() {
    let folder = Folder::new();
    folder.file("sized.qasm", SIZED);
    folder.file("job.toml", "[ansatz]\ncircuit = \"sized.qasm\"\n[hamiltonian]\nterms = \"Z0\"\n");
    let missing = [
        "no value for the input `uint[4] n`, which must be known when the file is read",
        "sized.qasm:3:15",
        "`bit[3] mask`",
        "`bool flip`",
    ];
    for verb in [
        &["run", "sized.qasm"][..],
        &["grad", "sized.qasm", "--observable", "Z0"],
        &["draw", "sized.qasm"],
    ] {
        let ran =
            folder.run(&[verb, &["--params", &data("point.npy")]].concat()).fails(1, &missing);
        assert!(ran.err.contains("give it with --set 'n=…' or --params FILE.json"), "{}", ran.err);
    }
    folder.run(&["equivalent", "sized.qasm", "sized.qasm"]).fails(1, &missing);
    folder
        .run(&["optimize", "job.toml"])
        .fails(1, &[missing[0], "give it in [ansatz]: set = [\"n=…\"]"]);
    let set = ["--set", "n=3", "--set", "mask=011", "--set", "flip=1", "--set", "angle_=1"];
    let with = |words: &[&'static str]| [&["run", "sized.qasm"][..], &set, words].concat();
    folder
        .run(&with(&["--set", "unheard_of=1"]))
        .fails(1, &["no parameter `unheard_of`", "it has angle_, n, mask, flip"]);
    folder.run(&with(&["--set", "n=4"])).fails(1, &["--set gives `n` twice"]);
    for (value, words) in [
        ("n=17", ["an integer from 0 to 15, not `17`", "the value of n:1:1"]),
        ("n=2.5", ["an integer from 0 to 15, not `2.5`", "declared here"]),
        ("n=", ["found nothing", "sized.qasm:3:15"]),
        ("n=q", ["`q` is not declared", "the value of n:1:1"]),
    ] {
        let call = [&["run", "sized.qasm", "--set", value][..], &set[2..]].concat();
        folder.run(&call).fails(1, &words);
    }
    folder.file("truth.json", r#"{"angle_": true, "n": 3, "mask": "011", "flip": false}"#);
    folder
        .run(&["run", "sized.qasm", "--params", "truth.json"])
        .fails(1, &["truth.json: angle_", "`true` is not declared"]);
    folder
        .run(&["equivalent", "sized.qasm", "sized.qasm", "--params", "x.npy"])
        .fails(2, &["a JSON file"]);
    folder.file(
        "plain.qasm",
        "OPENQASM 3.0; include \"stdgates.inc\"; input float theta; qubit q; rx(theta) q;",
    );
    folder
        .run(&["equivalent", "plain.qasm", "plain.qasm", "--set", "thet=1"])
        .fails(1, &["neither circuit has a parameter `thet`", "did you mean `theta`?"]);
}
