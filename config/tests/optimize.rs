//! `optimize`, by the real program: jobs, checkpoints, kills.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::{
    path::Path,
    process::Stdio,
    thread::sleep,
    time::{Duration, Instant},
};

use ::support::random::Rng;
use serde_json::Value;

use crate::support::{Folder, keys};

/// `<Z0> = cos(theta) cos(w[0])` and `<Z1> = cos(w[1])`: the minimum of the sum is -2.
const TURNS: &str = "[ansatz]\ncircuit = 'ansatz.qasm'\n[hamiltonian]\nterms = 'Z0 + Z1'\n";

/// A file that a job reads is never written, by whatever path it is named.
#[test]
fn a_job_does_not_write_over_what_it_reads() {
    let folder = Folder::new();
    let circuit = std::fs::read_to_string(folder.path("ansatz.qasm")).unwrap();
    folder.file("sum.txt", "Z0\nZ1\n");
    let job = TURNS.replace("terms = 'Z0 + Z1'", "file = 'sum.txt'");
    for key in ["checkpoint", "curve"] {
        for file in ["ansatz.qasm", "./ansatz.qasm", "sum.txt", "../NAME/sum.txt", "./job.toml"] {
            let name = folder.path("").canonicalize().unwrap();
            let file = file.replace("NAME", name.file_name().unwrap().to_str().unwrap());
            folder.file("job.toml", format!("{job}[output]\n{key} = '{file}'\n"));
            folder
                .run(&["optimize", "job.toml"])
                .fails(1, &["job.toml:6:", "another file of the job"]);
        }
    }
    folder.file("job.toml", format!("{job}[output]\ncheckpoint = 'x.svg'\ncurve = './x.svg'\n"));
    folder.run(&["optimize", "job.toml"]).fails(1, &["job.toml:6:", "another file of the job"]);
    folder.file("job.toml", format!("{job}[output]\ncheckpoint = '.'\n"));
    folder.run(&["optimize", "job.toml"]).fails(1, &["job.toml:6:14", "exists and is no file"]);
    assert_eq!(std::fs::read_to_string(folder.path("ansatz.qasm")).unwrap(), circuit);
    assert_eq!(std::fs::read_to_string(folder.path("sum.txt")).unwrap(), "Z0\nZ1\n");
}

/// A job of some iterations by each optimizer that remembers something.
fn long(method: &str) -> String {
    format!(
        "seed = 5\n[ansatz]\nname = 'hardware_efficient'\nqubits = 6\nlayers = 2\n[hamiltonian]\n\
         name = 'heisenberg'\nqubits = 6\n[optimizer]\nmethod = '{method}'\n[stopping]\niterations = 60\n\
         gradient = 0\nchange = 0\n[start]\nrandom = 1.5\n[output]\nevery = 1\n"
    )
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

fn iterations(checkpoint: &Path) -> Option<usize> {
    let text = std::fs::read_to_string(checkpoint).ok()?;
    let value: Value = serde_json::from_str(&text).unwrap();
    Some(value["state"]["iterations"].as_u64().unwrap() as usize)
}

#[test]
fn a_job_ends_at_its_minimum_with_a_curve_and_a_checkpoint() {
    let folder = Folder::new();
    folder.file("turns.toml", TURNS);
    let ran = folder.run(&["optimize", "turns.toml", "--json", "--seed", "3"]);
    assert_eq!(
        keys(&ran.out),
        ["value", "parameters", "iterations", "converged", "reason", "lowest", "seconds"]
    );
    let found = ran.json();
    assert!((number(&found["value"]) + 2.0).abs() < 1e-11);
    assert_eq!(found["converged"], Value::Bool(true));
    assert!(
        found["reason"] == "gradient" && (number(&found["lowest"]) + 2.0).abs() < 1e-11,
        "{found}"
    );
    let parameters = found["parameters"].as_object().unwrap();
    assert_eq!(parameters.keys().collect::<Vec<_>>(), ["theta", "w[0]", "w[1]"]);
    let names = folder.names();
    assert_eq!(
        names,
        ["ansatz.qasm", "bell.qasm", "turns.checkpoint.json", "turns.svg", "turns.toml"]
    );
    let curve = std::fs::read_to_string(folder.path("turns.svg")).unwrap();
    let points = curve.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    let iterations = found["iterations"].as_u64().unwrap() as usize;
    assert!(curve.starts_with("<svg") && curve.contains("-2.000000000 after"));
    assert_eq!(points.split(' ').count(), iterations + 1);
    // A run that is over is not run again.
    let again = folder.run(&["optimize", "turns.toml", "--json", "--seed", "3", "--resume"]);
    assert!(again.err.contains(&format!("resumed after iteration {iterations}")), "{}", again.err);
    let again = again.json();
    assert!(["value", "parameters", "iterations"].iter().all(|key| again[*key] == found[*key]));
    let text = folder.run(&["optimize", "turns.toml", "--quiet"]).done();
    assert!(
        text.out.contains("converged  true\nreason  \"gradient\"\n") && text.err.is_empty(),
        "{text:?}"
    );
    let lowest = text.out.lines().find_map(|line| line.strip_prefix("lowest possible  ")).unwrap();
    let (lowest, below) = lowest.split_once(' ').unwrap();
    assert!(
        (lowest.parse::<f64>().unwrap() + 2.0).abs() < 1e-11 && below.ends_with("below)"),
        "{text:?}"
    );
}

#[test]
fn the_jobs_of_the_examples_are_solved() {
    let jobs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/jobs");
    let folder = Folder::new();
    let library = include_str!("../../core/circuit/src/problem/h2.txt");
    assert_eq!(std::fs::read_to_string(jobs.join("h2.txt")).unwrap(), library);
    for entry in std::fs::read_dir(&jobs).unwrap().flatten() {
        std::fs::copy(entry.path(), folder.path(&entry.file_name().into_string().unwrap()))
            .unwrap();
    }
    // The ground energy in the basis; what two layers reach; free fermions.
    let ring = -2.0 / (std::f64::consts::PI / 8.0).sin();
    for (job, value) in
        [("h2.toml", -1.137_270_175), ("icosahedron.toml", -18.851_739), ("ising.toml", ring)]
    {
        let found = folder.run(&["optimize", job, "--json"]).json();
        assert!((number(&found["value"]) - value).abs() < 1e-6, "{job}: {found}");
        assert_eq!(found["converged"], Value::Bool(true), "{job}");
    }
    // Above the exact energy by less than is called chemical accuracy.
    let above =
        number(&folder.run(&["optimize", "h4.toml", "--json"]).json()["value"]) + 2.180_316_614_324;
    assert!((-1e-9..1.6e-3).contains(&above), "{above}");
}

const H4: &str = include_str!("../../examples/jobs/h4.fcidump");

#[test]
fn molecules_come_from_the_files_of_other_programs() {
    let folder = Folder::new();
    folder.file("h4.fcidump", H4);
    let job = |more: &str| {
        format!(
            "[ansatz]\nname = 'uccsd'\n[hamiltonian]\nfile = 'h4.fcidump'\n{more}\n[start]\nrandom = 0\n"
        )
    };
    let value = |more: &str, rest: &[&str]| {
        folder.file("job.toml", job(more));
        number(&folder.run(&[&["optimize", "job.toml", "--json"], rest].concat()).json()["value"])
    };
    for mapping in ["jordan_wigner", "parity", "bravyi_kitaev"] {
        let none = "[stopping]\niterations = 0";
        // PySCF: the energies of Hartree-Fock and of full configuration interaction; UCCSD is
        // within chemical accuracy.
        let start = value(&format!("mapping = '{mapping}'\n{none}"), &[]);
        assert!((start + 2.124_259_738_973).abs() < 1e-9, "{mapping}: {start}");
        let above = value(&format!("mapping = '{mapping}'"), &[]) + 2.180_316_614_324;
        assert!((-1e-9..1.6e-3).contains(&above), "{mapping}: {above}");
    }
    // Five of the eight qubits are left, and the same energies.
    for mapping in ["jordan_wigner", "parity"] {
        let above = value(&format!("mapping = '{mapping}'\ntaper = true"), &[]) + 2.180_316_614_324;
        assert!((-1e-9..1.6e-3).contains(&above), "{mapping}: {above}");
    }
    // Two electrons in two orbitals are all singles and doubles: exact. CASCI(2, 2) by PySCF.
    let value = value("frozen = [0]\nactive = [1, 2]", &[]);
    assert!((value + 2.145_255_764_231).abs() < 1e-8, "{value}");

    let fails = |more: &str, words: &[&str]| {
        folder.file("job.toml", job(more));
        folder.run(&["optimize", "job.toml"]).fails(1, words);
    };
    fails("mapping = 'jordan'", &["job.toml:5:11", "jordan_wigner, parity, bravyi_kitaev"]);
    fails("frozen = [4]", &["job.toml:5:10", "orbital 4 does not exist: there are 4"]);
    fails("active = [1, 1]", &["job.toml:5:10", "orbital 1 comes twice"]);
    fails("active = [0]", &["job.toml:5:10", "do not fit into 1 orbitals"]);
    fails("active = [-1]", &["job.toml:5:10", "from 0 to"]);
    folder.file("electrons.toml", job("").replace("'uccsd'", "'uccsd'\nelectrons = 4"));
    folder.run(&["optimize", "electrons.toml"]).fails(1, &["electrons.toml:3:13", "says it"]);
    folder.file("terms.txt", "Z0");
    folder.file(
        "terms.toml",
        TURNS.replace("terms = 'Z0 + Z1'", "file = 'terms.txt'\nmapping = 'parity'"),
    );
    folder.run(&["optimize", "terms.toml"]).fails(1, &["terms.toml:5:1", "hamiltonian.mapping"]);
    folder.file("small.toml", TURNS.replace("terms = 'Z0 + Z1'", "file = 'h4.fcidump'"));
    folder.run(&["optimize", "small.toml"]).fails(1, &["small.toml:4:8", "need 8 qubits"]);
    folder.file("wide.fcidump", "&FCI NORB=40,NELEC=2 /\n1 40 40 40 40\n");
    folder.file("job.toml", job("").replace("h4", "wide"));
    folder.run(&["optimize", "job.toml"]).fails(1, &["job.toml:4:8", "40 orbitals", "`active`"]);
    folder.file("h4.fcidump", H4.replace(" 3    3    1    1", " 3    5    1    1"));
    fails("", &["h4.fcidump:31:1", "orbital 5 does not exist: NORB is 4"]);
}

#[test]
fn a_penalty_keeps_the_electrons() {
    let folder = Folder::new();
    folder.file("heh.fcidump", include_str!("../../tests/molecules/heh.fcidump"));
    let run = |more: &str| {
        let ansatz = "[ansatz]\nname = 'hardware_efficient'\nqubits = 4\nlayers = 3\n";
        folder.file(
            "job.toml",
            format!("seed = 3\n{ansatz}[hamiltonian]\nfile = 'heh.fcidump'\n{more}[start]\nrandom = 3.0\n"),
        );
        folder.run(&["optimize", "job.toml"]).done().out
    };
    // The neutral molecule lies lower than the cation, whose energy PySCF gives.
    let exact = "lowest of 2 electrons  -2.85102402";
    let free = run("");
    assert!(free.contains("value  -3.01") && free.contains(exact), "{free}");
    // The weight that it asks for is enough.
    let weight = free.split("`penalty = ").nth(1).and_then(|rest| rest.split('`').next()).unwrap();
    let kept = run(&format!("penalty = {weight}\n"));
    assert!(
        kept.contains("value  -2.851024") && kept.contains(exact) && kept.contains("below"),
        "{kept}"
    );
    folder.file("five.toml", "[ansatz]\nname = 'hardware_efficient'\nqubits = 4\nlayers = 1\n[hamiltonian]\nfile = 'heh.fcidump'\ntaper = true\n");
    folder
        .run(&["optimize", "five.toml"])
        .fails(1, &["five.toml:6:8", "2 orbitals, tapered, need 2 qubits"]);
    folder.file("two.toml", "[ansatz]\nname = 'hardware_efficient'\nlayers = 2\n[hamiltonian]\nfile = 'heh.fcidump'\ntaper = true\npenalty = 1\n");
    let two = folder.run(&["optimize", "two.toml"]).done().out;
    assert!(two.contains("value  -2.851024"), "{two}");
    let kept = run("penalty = 1.0\n");
    assert!(
        kept.contains("value  -2.851024") && kept.contains(exact) && kept.contains("below"),
        "{kept}"
    );
}

#[test]
fn the_lowest_energy_is_that_of_the_electrons_asked_for() {
    let folder = Folder::new();
    // Hydrogen at .74 A in STO-3G; with four electrons its two orbitals are full: 2 h11 + 2 h22 +
    // J11 + J22 + 4 J12 - 2 K12 + E.
    let body = "0.674756 1 1 1 1\n0.181210 2 1 2 1\n0.663711 1 1 2 2\n0.697652 2 2 2 2\n-1.253310 1 1 0 0\n-0.475069 2 2 0 0\n0.715104 0 0 0 0\n";
    let energy = 2.0 * (-1.253_310 - 0.475_069) + 0.674_756 + 0.697_652 + 4.0 * 0.663_711
        - 2.0 * 0.181_210
        + 0.715_104;
    // The triplet: h11 + h22 + J12 - K12 + E.
    let triplet = -1.253_310 - 0.475_069 + 0.663_711 - 0.181_210 + 0.715_104;
    for (header, more, words, energy) in [
        ("NELEC=4", "", "4 electrons", energy),
        ("NELEC=4", "mapping = 'bravyi_kitaev'\n", "4 electrons", energy),
        ("NELEC=4", "taper = true\n", "4 electrons, symmetries of the reference", energy),
        ("NELEC=4", "penalty = 0.1\n", "4 electrons", energy),
        ("NELEC=2,MS2=-2", "mapping = 'parity'\n", "2 electrons, MS2 = -2", triplet),
        ("NELEC=1", "", "1 electron", -1.253_310 + 0.715_104),
    ] {
        folder.file("h2.fcidump", format!("&FCI NORB=2,{header} /   i a j b\n{body}"));
        let ansatz = "[ansatz]\nname = 'hardware_efficient'\nlayers = 1\n";
        folder.file(
            "job.toml",
            format!(
                "{ansatz}[hamiltonian]\nfile = 'h2.fcidump'\n{more}[stopping]\niterations = 1\n"
            ),
        );
        let out = folder.run(&["optimize", "job.toml"]).done().out;
        let found = out
            .lines()
            .find_map(|line| line.strip_prefix(&format!("lowest of {words}  ")))
            .expect(&out);
        let found: f64 = found.split(' ').next().unwrap().parse().unwrap();
        assert!((found - energy).abs() < 1e-9, "{header} {more}: {found} {energy}");
    }
}

#[test]
fn observables_come_from_the_files_of_other_programs() {
    let folder = Folder::new();
    folder.file("h4.fcidump", H4);
    folder.file("hf.qasm", "OPENQASM 3.0; include \"stdgates.inc\"; qubit[8] q; x q[0:3];");
    let found = folder.run(&["run", "hf.qasm", "--observable", "@h4.fcidump", "--json"]).json();
    assert!(
        (number(&found["expectations"][0]["value"]) + 2.124_259_738_973).abs() < 1e-9,
        "{found}"
    );
    folder.file("one.qasm", "OPENQASM 3.0; include \"stdgates.inc\"; qubit q; x q;");
    folder
        .run(&["run", "one.qasm", "--observable", "@h4.fcidump"])
        .fails(1, &["h4.fcidump:1:1", "need 8 qubits"]);
    folder.file("h4.fcidump", "&FCI NORB=1,NELEC=2,IUHF=1 &END");
    folder
        .run(&["run", "one.qasm", "--observable", "@h4.fcidump"])
        .fails(1, &["h4.fcidump:1:1", "IUHF"]);
}

#[test]
fn seeds_and_starts() {
    let folder = Folder::new();
    let job = |more: &str| format!("{TURNS}[stopping]\niterations = 0\n{more}");
    let start = |text: &str, rest: &[&str]| {
        folder.file("job.toml", text);
        folder.run(&[&["optimize", "job.toml", "--json"], rest].concat()).json()["parameters"]
            .clone()
    };
    let (one, two) = (start(&job(""), &["--seed", "1"]), start(&job(""), &["--seed", "2"]));
    assert!(one != two && one == start(&format!("seed = 1\n{}", job("")), &[]));
    assert!(one.as_object().unwrap().values().all(|x| number(x).abs() < 0.1));
    assert_eq!(one, start(&format!("seed = 2\n{}", job("")), &["--seed", "1"]));
    // What is given leaves the rest as it was.
    let given = start(&job("[start]\nset = ['w[0]=pi/2']\n"), &["--seed", "1"]);
    assert_eq!(
        (number(&given["w[0]"]), &given["theta"]),
        (std::f64::consts::FRAC_PI_2, &one["theta"])
    );
    folder.file("point.json", "{\"theta\": 0.25, \"w\": [1, \"pi\"]}");
    let given = start(&job("[start]\nparams = 'point.json'\nset = ['theta=0.5']\n"), &[]);
    assert_eq!((number(&given["theta"]), number(&given["w[0]"])), (0.5, 1.0));
}

/// Contents of the checkpoint of a job that was not disturbed.
fn undisturbed(folder: &Folder, job: &str) -> (Vec<u8>, Value) {
    folder.file("whole.toml", job);
    let found = folder.run(&["optimize", "whole.toml", "--json", "--threads", "1"]).json();
    (std::fs::read(folder.path("whole.checkpoint.json")).unwrap(), found)
}

#[test]
fn a_job_killed_twenty_times_ends_as_if_it_had_not() {
    let folder = Folder::new();
    let job = long("adam").replace("iterations = 60", "iterations = 300");
    let (whole, found) = undisturbed(&folder, &job);
    folder.file("killed.toml", &job);
    let checkpoint = folder.path("killed.checkpoint.json");
    let (mut kills, mut inside, mut before, mut random) = (0, 0, 0, Rng::new(7));
    while kills < 20 {
        let mut child = folder
            .command(&["optimize", "killed.toml", "--resume", "--quiet", "--threads", "1"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        // Up to three iterations further, then up to 2 ms.
        let wanted = before + random.below(4);
        let patience = Instant::now() + Duration::from_secs(20);
        while iterations(&checkpoint).is_none_or(|now| now < wanted) && Instant::now() < patience {
            if child.try_wait().unwrap().is_some() {
                break;
            }
        }
        sleep(Duration::from_micros(random.bits() % 2000));
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        let now = iterations(&checkpoint).unwrap_or(0);
        assert!(now >= before, "an iteration is lost: {now} after {before}");
        inside += usize::from(now > 0 && now < 300);
        before = now;
    }
    assert!(inside > 3, "the job was over before it could be killed");
    // As if the last one had been killed while it wrote.
    folder.file(".killed.checkpoint.json.tmp", "{\"version\":");
    let end =
        folder.run(&["optimize", "killed.toml", "--resume", "--json", "--threads", "1"]).json();
    assert!(
        ["value", "parameters", "iterations", "converged"]
            .iter()
            .all(|key| end[*key] == found[*key])
    );
    assert_eq!(std::fs::read(&checkpoint).unwrap(), whole, "every number of the trajectory");
    // A run that is killed while it writes the curve, or asks whether it can, leaves a file beside
    // that, which nothing can remove any more; no checkpoint is left.
    let litter =
        |name: &String| name.starts_with(".killed.checkpoint.json") && name.ends_with(".tmp");
    assert_eq!(folder.names().into_iter().find(litter), None);
}

#[test]
fn every_optimizer_goes_on_with_the_same_bits() {
    let folder = Folder::new();
    let methods = ["adam", "natural_gradient", "lbfgs", "newton_cg", "nelder_mead", "spsa"];
    let jobs = methods.map(|method| (method, long(method)));
    let measured =
        ["adam", "spsa"].map(|method| (method, format!("shots = 100\n{}", long(method))));
    for (method, job) in jobs.into_iter().chain(measured) {
        let job =
            job.replace("qubits = 6", "qubits = 3").replace("iterations = 60", "iterations = 9");
        let (whole, _) = undisturbed(&folder, &job);
        // First less, then on.
        folder.file("part.toml", job.replace("iterations = 9", "iterations = 4"));
        folder.run(&["optimize", "part.toml", "--quiet"]).done();
        folder.file("part.toml", &job);
        folder.run(&["optimize", "part.toml", "--quiet", "--resume", "--threads", "2"]).done();
        assert_eq!(std::fs::read(folder.path("part.checkpoint.json")).unwrap(), whole, "{method}");
    }
}

/// `Z0 + Z1` of a circuit that is at its maximum of 2 for a = pi, b = 0.
const MAXIMUM: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b;\nqubit[2] q;\nx q[0];\n\
                       rx(a) q[0];\nrx(b) q[1];\n";

#[test]
fn a_maximum_is_no_end() {
    let folder = Folder::new();
    folder.file("max.qasm", MAXIMUM);
    let job = |method: &str, terms: &str, more: &str| {
        format!(
            "[ansatz]\ncircuit = 'max.qasm'\n[hamiltonian]\nterms = '{terms}'\n[optimizer]\nmethod = '{method}'\n\
             [start]\nset = ['a=pi', 'b=0']\n{more}"
        )
    };
    for method in ["lbfgs", "newton_cg", "adam", "natural_gradient", "nelder_mead", "spsa"] {
        folder.file("job.toml", job(method, "Z0 + Z1", ""));
        let found = folder.run(&["optimize", "job.toml", "--json"]).json();
        assert!((number(&found["value"]) + 2.0).abs() < 1e-6, "{method}: {found}");
        assert_eq!(found["converged"], Value::Bool(true), "{method}: {found}");
        assert!(found["reason"] == "gradient" || found["reason"] == "change", "{method}: {found}");
        assert!((number(&found["lowest"]) + 2.0).abs() < 1e-9, "{method}: {found}");
        // What is over stays as it is, to the bit.
        let read = || std::fs::read(folder.path("job.checkpoint.json")).unwrap();
        let before = read();
        folder.run(&["optimize", "job.toml", "--resume", "--quiet"]).done();
        assert_eq!(read(), before, "{method}");
    }
    // No iteration is left to go on, or nothing decides: the end is not said to be a minimum, in
    // text as in JSON.
    let none = "[stopping]\niterations = 0\n";
    for (terms, more, reason, words) in [
        ("Z0 + Z1", none, "stationary_not_minimum", "the point is stationary, not a minimum"),
        ("X0", "", "stationary_undecided", "whether it is a minimum is not decided"),
    ] {
        folder.file("job.toml", job("lbfgs", terms, more));
        let ran = folder.run(&["optimize", "job.toml", "--json"]);
        assert!(ran.err.contains(words), "{ran:?}");
        let found = ran.json();
        assert!(found["reason"] == reason && found["converged"] == Value::Bool(false), "{found}");
        let text = folder.run(&["optimize", "job.toml"]).done();
        assert!(
            text.out.contains(&format!("converged  false\nreason  \"{reason}\"\n")),
            "{text:?}"
        );
    }
}

/// If nothing can be gained, the end is not below the start, which is said.
#[test]
fn an_end_that_is_not_below_the_start_is_said_to_be_none() {
    let folder = Folder::new();
    let job = "shots = 100\n[ansatz]\nname = 'uccsd'\nqubits = 4\nelectrons = 2\n[hamiltonian]\nname = 'h2'\n\
               [stopping]\niterations = 60\n[start]\nset = ['theta[2]=-0.113']\nrandom = 0\n";
    folder.file("job.toml", job);
    let ran = folder.run(&["optimize", "job.toml", "--json"]);
    assert!(ran.err.contains("the end is not below the start"), "{ran:?}");
    let found = ran.json();
    assert!(
        found["below_start"] == Value::Bool(false) && found["converged"] == Value::Bool(false),
        "{found}"
    );
    // Measured anew, so it may be a little below the lowest energy, but no more than its error
    // explains.
    assert!(number(&found["value"]) > -1.137_27 - 4.0 * number(&found["stderr"]), "{found}");
    assert!((number(&found["lowest"]) + 1.137_270_175).abs() < 1e-8, "{found}");
}

#[test]
fn a_job_on_shots_ends_near_its_minimum() {
    let folder = Folder::new();
    folder.file(
        "turns.toml",
        format!("shots = 1000\ngrouping = 'commuting'\n{TURNS}[stopping]\niterations = 300\n"),
    );
    let ran = folder.run(&["optimize", "turns.toml", "--json", "--seed", "3"]);
    let expected = [
        "value",
        "stderr",
        "below_start",
        "parameters",
        "iterations",
        "converged",
        "reason",
        "lowest",
        "seconds",
    ];
    assert_eq!(keys(&ran.out), expected);
    let found = ran.json();
    let (value, error) = (number(&found["value"]), number(&found["stderr"]));
    assert!((value + 2.0).abs() < 0.05 && (0.0..0.02).contains(&error), "{found}");
    // The exact value at the parameters found.
    let at: Vec<String> = found["parameters"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, x)| format!("{name}={x}"))
        .collect();
    let set: Vec<&str> = at.iter().flat_map(|x| ["--set", x.as_str()]).collect();
    let args = [&["grad", "ansatz.qasm", "--observable", "Z0 + Z1", "--json"][..], &set].concat();
    let exact = number(&folder.run(&args).json()["value"]);
    assert!((value - exact).abs() <= 5.0 * error + 1e-3, "{value} {error} {exact}");
    let again =
        folder.run(&["optimize", "turns.toml", "--json", "--seed", "3", "--threads", "2"]).json();
    assert_eq!(again["value"], found["value"]);
    let fails = |text: &str, words: &[&str]| {
        folder.file("bad.toml", text);
        folder.run(&["optimize", "bad.toml"]).fails(1, words);
    };
    fails(&format!("shots = 1\n{TURNS}"), &["bad.toml:1:9", "2"]);
    fails(&format!("grouping = 'commuting'\n{TURNS}"), &["bad.toml:1:", "only with `shots`"]);
    fails(&format!("shots = 9\ngrouping = 'comuting'\n{TURNS}"), &["bad.toml:2:", "commuting"]);
    for method in ["lbfgs", "newton_cg", "natural_gradient"] {
        fails(
            &format!("shots = 9\n{TURNS}[optimizer]\nmethod = '{method}'\n"),
            &["bad.toml:7:", "exact values", "spsa"],
        );
    }
    folder.run(&["optimize", "turns.toml", "--precision", "f32"]).fails(2, &["double precision"]);
    // Shots of a circuit with noise take vectors: a density matrix of 12 qubits would be 256 MiB.
    folder.file(
        "noise.toml",
        "[[noise]]\nwidth = 1\nchannel = 'depolarizing'\nparameters = [0.01]\n",
    );
    let noisy = "[ansatz]\nname = 'hardware_efficient'\nqubits = 12\nlayers = 1\nnoise = 'noise.toml'\n\
                 [hamiltonian]\nterms = 'Z0'\n[stopping]\niterations = 1\n";
    folder.file("noisy.toml", format!("shots = 4\n{noisy}"));
    folder.run(&["optimize", "noisy.toml", "--memory-limit", "16MiB"]).done();
    folder.file("noisy.toml", format!("{noisy}[optimizer]\nmethod = 'spsa'\n"));
    folder.run(&["optimize", "noisy.toml", "--memory-limit", "16MiB"]).fails(1, &["memory"]);
}

#[test]
fn a_checkpoint_of_another_job_is_refused() {
    let folder = Folder::new();
    let write = |from: &str, to: &str| folder.file("job.toml", long("lbfgs").replace(from, to));
    let resume = || folder.run(&["optimize", "job.toml", "--resume", "--json"]);
    write("60", "3");
    let first = resume();
    assert!(first.err.contains("no checkpoint yet"), "{}", first.err);
    first.done();
    for (from, to, what) in [
        ("layers = 2", "layers = 1", "ansatz"),
        ("qubits = 6\n[opt", "qubits = 6\ncouplings = [1, 1, 0.5]\n[opt", "Hamiltonian"),
        ("'lbfgs'", "'lbfgs'\nmemory = 3", "optimizer"),
        ("seed = 5", "seed = 6", "start"),
    ] {
        write(from, to);
        resume().fails(1, &["job.checkpoint.json", "another job", what, "--resume"]);
    }
    write("60", "3");
    let good = std::fs::read_to_string(folder.path("job.checkpoint.json")).unwrap();
    for bad in [
        String::new(),
        good[..good.len() / 2].to_owned(),
        good.replace("\"version\":2", "\"version\":99"),
        good.replace("\"version\":2", "\"version\":1"),
        good.replace("\"spread\":null,", ""),
        good.replace("\"averages\":null", "\"averages\":{\"count\":1}"),
        good.replace("\"shape\":null", "\"shape\":{\"Lower\":[0.5]}"),
        good.replace("\"best\":[[", "\"best\":[[0.5,"),
        good.replace("\"stalled\":false", "\"stalled\":null"),
    ] {
        folder.file("job.checkpoint.json", &bad);
        resume().fails(1, &["job.checkpoint.json is no checkpoint"]);
    }
    folder.run(&["optimize", "job.toml", "--json"]).json();
}

#[test]
fn bad_jobs_are_answered_with_their_place() {
    let folder = Folder::new();
    let fails = |text: &str, words: &[&str]| {
        folder.file("bad.toml", text);
        folder.run(&["optimize", "bad.toml"]).fails(1, words);
    };
    fails("", &["bad.toml", "[ansatz] is missing", "circuit"]);
    fails("[ansatz\n", &["bad.toml:1:"]);
    fails("[ansatz]\nlayers = 1\n", &["bad.toml:1:1", "[ansatz] needs `circuit`"]);
    fails("sede = 1\n", &["bad.toml:1:1", "unknown key `sede`", "`seed`"]);
    fails(&format!("{TURNS}[stoping]\n"), &["bad.toml:5:2", "`stopping`"]);
    fails(
        &format!("{TURNS}[stopping]\niteration = 1\n"),
        &["bad.toml:6:1", "stopping.iteration", "`iterations`"],
    );
    fails(&format!("{TURNS}[stopping]\niterations = 1.5\n"), &["bad.toml:6:14", "whole number"]);
    fails(&format!("{TURNS}[stopping]\ngradient = nan\n"), &["bad.toml:6:12", "finite"]);
    fails(&format!("{TURNS}[stopping]\nchange = -1\n"), &["bad.toml:6:10", "at least 0"]);
    fails(
        &format!("{TURNS}[optimizer]\nmethod = 'lbgfs'\n"),
        &["bad.toml:6:10", "natural_gradient", "`lbfgs`?"],
    );
    fails(
        &format!("{TURNS}[optimizer]\nmethod = 'adam'\nbeta1 = 1\n"),
        &["bad.toml:7:9", "below 1"],
    );
    fails(&format!("{TURNS}[optimizer]\nstep = 0.1\n"), &["bad.toml:6:1", "optimizer.step"]);
    fails(&format!("{TURNS}[start]\nset = ['phi=1']\n"), &["bad.toml:6:7", "no parameter `phi`"]);
    fails(
        &format!("{TURNS}[start]\nset = ['theta']\n"),
        &["bad.toml:6:7", "start.set needs NAME=VALUE"],
    );
    fails(
        &format!("{TURNS}[start]\nparams = 'none.json'\n"),
        &["bad.toml:6:10", "cannot read none.json"],
    );
    fails(&TURNS.replace("Z0 + Z1", "Z0 + foo"), &["bad.toml:4:15", "found `foo`"]);
    fails(&format!("{TURNS}[start]\nset = ['theta=0/0']\n"), &["theta"]);
    fails(&format!("{TURNS}[start]\nrandom = inf\n"), &["bad.toml:6:10", "finite"]);
    fails(&format!("{TURNS}[start]\nrandom = -0.1\n"), &["bad.toml:6:10", "at least 0"]);
    fails(
        &format!("seed = 18446744073709551616\n{TURNS}"),
        &["bad.toml:1:8", "to 18446744073709551615"],
    );
    fails(
        &format!("{TURNS}[output]\ncurve = 'c.png'\n"),
        &["bad.toml:6:9", "SVG, not in png", ".svg"],
    );
    fails(
        &format!("{TURNS}[output]\ncurve = ''\n"),
        &["bad.toml:6:9", "output.curve", "the name of a file"],
    );
    fails(&format!("{TURNS}[output]\ncheckpoint = ''\n"), &["bad.toml:6:14", "the name of a file"]);
    fails(&format!("{TURNS}[output]\nevery = 0\n"), &["bad.toml:6:9", "from 1 to"]);
    fails(
        &format!("{TURNS}[output]\ncheckpoint = 'bad.toml'\n"),
        &["bad.toml:6:14", "another file of the job"],
    );
    fails(&format!("{TURNS}[output]\ncurve = 'no/such/folder/x.svg'\n"), &["cannot write"]);
    fails(
        &TURNS.replace("'ansatz.qasm'", "'none.qasm'"),
        &["bad.toml:2:11", "cannot read none.qasm"],
    );
    fails(&TURNS.replace("circuit", "name"), &["bad.toml:2:8", "hardware_efficient, qaoa, uccsd"]);
    fails(
        "[ansatz]\nname = 'uccsd'\nqubits = 2\nelectrons = 3\n[hamiltonian]\nname = 'h2'\n",
        &["bad.toml:4:13", "3 electrons do not fit into 2 spin orbitals"],
    );
    fails(
        "[ansatz]\nname = 'hardware_efficient'\nqubits = 3\nlayers = 1\n[hamiltonian]\nname = 'h2'\n",
        &["bad.toml:6:8", "acts on 4 qubits, but the ansatz has 3"],
    );
    folder.file("still.qasm", "OPENQASM 3.0; include \"stdgates.inc\"; qubit q; x q;");
    folder.file("still.toml", "[ansatz]\ncircuit = 'still.qasm'\n[hamiltonian]\nterms = 'Z0'\n");
    let still = folder.run(&["optimize", "still.toml"]).done();
    assert!(still.out.contains("-1") && still.err.contains("nothing to optimise"), "{still:#?}");
    folder.run(&["optimize", "nowhere.toml"]).fails(1, &["cannot read nowhere.toml"]);
    folder.run(&["optimize", "-"]).fails(2, &["a job is a file"]);
    folder.run(&["optimize"]).fails(2, &["FILE.toml"]);
    folder.file("job.toml", TURNS);
    folder.run(&["optimize", "job.toml", "--memory-limit", "64"]).fails(1, &["memory"]);
}

#[test]
fn a_job_in_single_precision_ends_near_the_minimum_and_keeps_its_precision() {
    let folder = Folder::new();
    for method in ["lbfgs", "newton_cg", "nelder_mead", "adam", "natural_gradient"] {
        // Derivatives and changes as small as single precision knows them.
        let stopping = "[stopping]\ngradient = 1e-3\nchange = 1e-7\n[start]\nrandom = 1.0\n";
        folder.file("job.toml", format!("{TURNS}[optimizer]\nmethod = '{method}'\n{stopping}"));
        let found = folder
            .run(&["optimize", "job.toml", "--precision", "f32", "--seed", "3", "--json"])
            .json();
        assert!((number(&found["value"]) + 2.0).abs() < 1e-5, "{method}: {found}");
        assert_eq!(found["converged"], Value::Bool(true), "{method}");
        // What was computed was rounded to single precision.
        let value = number(&found["value"]);
        assert_eq!(value, f64::from(value as f32), "{method}");
        let resumed = folder.run(&["optimize", "job.toml", "--seed", "3", "--resume"]);
        resumed.fails(1, &["job.checkpoint.json", "another job", "precision"]);
    }
}

#[test]
fn bad_hamiltonians_and_graphs_are_answered_with_their_line() {
    let folder = Folder::new();
    let job = TURNS.replace("terms = 'Z0 + Z1'", "file = 'h.txt'");
    let fails = |hamiltonian: &str, words: &[&str]| {
        folder.file("job.toml", &job);
        folder.file("h.txt", hamiltonian);
        folder.run(&["optimize", "job.toml"]).fails(1, words);
    };
    fails("0.5 Z0\n# fine\n0.25 Z2\n", &["h.txt:3:6", "qubit 2 does not exist: the circuit has 2"]);
    fails("0.5 Z0\n0.25 Q1\n", &["h.txt:2:6"]);
    fails("Z0 Z0", &["h.txt:1:4", "twice"]);
    fails("Z0\n\n1e999 Z1\n", &["h.txt:3:1", "finite"]);
    fails("nan Z0", &["h.txt:1:1"]);
    fails("# nothing\n", &["h.txt has no terms"]);
    fails("\u{0}\u{1b}[31m", &["h.txt:1:1"]);
    folder.file("job.toml", TURNS.replace("Z1'", "Z1 % Y7'"));
    folder.run(&["optimize", "job.toml"]).fails(1, &["job.toml:4:18"]);
    folder.file(
        "job.toml",
        "[ansatz]\nname = 'qaoa'\ngraph = 'g.txt'\nlayers = 1\n[hamiltonian]\nname = 'max_cut'\ngraph = 'g.txt'\n",
    );
    for (graph, words) in [
        ("0 1\n1 1\n", &["g.txt:2:1", "with itself"][..]),
        ("0 1\n\n0 1 x\n", &["g.txt:3:1", "two vertices and a weight"]),
        ("0 1 # one\n1 0\n", &["g.txt:2:1", "comes twice"]),
        ("# Gset\n4 2\n1 2 1\n", &["g.txt:2:1", "2 edges, but there are 1"]),
        ("4 5\n1 2\n2 3\n3 4\n4 1\n1 3\n", &["g.txt:1:1", "`p edge 4 5`", "`4 5 1`"]),
    ] {
        folder.file("g.txt", graph);
        folder.run(&["optimize", "job.toml"]).fails(1, words);
    }
}

#[test]
fn graphs_come_in_the_formats_of_other_programs() {
    let folder = Folder::new();
    folder.file(
        "job.toml",
        "[ansatz]\nname = 'qaoa'\ngraph = 'g.txt'\nlayers = 1\n[hamiltonian]\nname = 'max_cut'\ngraph = 'g.txt'\n[stopping]\niterations = 1\n",
    );
    // A square and a diagonal: four of five edges are cut.
    for graph in [
        "0 1\n1 2\n2 3\n3 0\n0 2\n",
        "4 5\n1 2 1\n2 3 1\n3 4 1\n4 1 1\n1 3 1\n",
        "c Petersen's is larger\np edge 4 5\ne 1 2\ne 2 3\ne 3 4\ne 4 1\ne 1 3\n",
    ] {
        folder.file("g.txt", graph);
        let out = folder.run(&["optimize", "job.toml"]).done().out;
        assert!(out.contains("lowest possible  -4 ("), "{graph}: {out}");
    }
}

#[test]
fn what_has_no_derivative_is_refused() {
    let folder = Folder::new();
    let head = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\n";
    let fails = |source: &str, words: &[&str]| {
        folder.file("ansatz.qasm", format!("{head}{source}"));
        folder.file("job.toml", TURNS);
        folder.run(&["optimize", "job.toml"]).fails(1, words);
    };
    // A measurement in the middle: there is an average, but no metric of states.
    let feedback =
        "input float a;\nqubit[2] q;\nbit c;\nrx(a) q[0];\nc = measure q[0];\nif (c) x q[1];\n";
    folder.file("ansatz.qasm", format!("{head}{feedback}"));
    for method in ["lbfgs", "newton_cg", "adam"] {
        let job = format!(
            "{TURNS}[optimizer]\nmethod = '{method}'\n[start]\nset = ['a=0.4']\n[stopping]\niterations = 200\n"
        );
        folder.file("job.toml", job);
        let end = folder.run(&["optimize", "job.toml", "--json"]).json();
        assert!((end["value"].as_f64().unwrap() + 2.0).abs() < 1e-6, "{method}: {end}");
    }
    folder.file("job.toml", format!("{TURNS}[optimizer]\nmethod = 'natural_gradient'\n"));
    folder.run(&["optimize", "job.toml"]).fails(1, &["before its end", "no derivative"]);
    // Parameters where only whole numbers and bits go.
    fails("input int n;\nqubit[2] q;\nrx(pi / 2) q[n];\n", &["ansatz.qasm:3:"]);
    fails("input float a;\nqubit[2] q;\nrx(1) q[a];\n", &["ansatz.qasm:5:"]);
    fails("input float a;\nqubit[2] q;\nif (a) x q[0];\n", &["ansatz.qasm:5:"]);
    // Where the function of a parameter ends.
    fails("input float a;\nqubit[2] q;\nrx(sqrt(a - 1)) q[0];\n", &["not a finite number"]);
}
