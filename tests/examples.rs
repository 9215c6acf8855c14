//! Every example runs and prints what it claims.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// The examples, built all at once: with the whole workspace and its libraries, as for the tests,
/// so that nothing is compiled for other features once more.
fn built() -> &'static HashMap<String, PathBuf> {
    static BUILT: OnceLock<HashMap<String, PathBuf>> = OnceLock::new();
    BUILT.get_or_init(|| {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo)
            .args([
                "build",
                "--offline",
                "--workspace",
                "--lib",
                "--examples",
                "--bin=ketgrad-only-programs",
                "--bin=ketgrad-only-circuits",
                "--message-format=json",
            ])
            .current_dir(root())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages = String::from_utf8(output.stdout).unwrap();
        let messages =
            messages.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let example = |m: serde_json::Value| {
            let name = m["target"]["name"].as_str()?.to_owned();
            Some((name, PathBuf::from(m["executable"].as_str()?)))
        };
        messages.filter_map(example).collect()
    })
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Runs an example; what it prints.
fn run(name: &str) -> String {
    let program = built().get(name).unwrap_or_else(|| panic!("no example {name}"));
    let output = Command::new(program).current_dir(root()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[track_caller]
fn assert_lines(output: &str, lines: &[&str]) {
    for line in lines {
        assert!(output.lines().any(|l| l == *line), "no line {line:?} in\n{output}");
    }
}

/// Packages that depend on one half of core alone.
#[test]
fn each_half_alone() {
    let out = run("ketgrad-only-programs");
    assert_lines(&out, &["root(2) = 1.414213562373095, its derivative 0.35355339059327373"]);
    let out = run("ketgrad-only-circuits");
    assert_lines(&out, &["energy(0) = -3.000000", "energy(0.3) = -3.290036", "0000: 675"]);
}

#[test]
fn every_example_is_checked_here() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    let this = include_str!("examples.rs");
    for file in std::fs::read_dir(folder).unwrap().flatten() {
        let name = file.file_name().into_string().unwrap();
        if let Some(name) = name.strip_suffix(".rs").filter(|n| *n != "lib") {
            assert!(
                manifest.contains(&format!("name = \"{name}\"")),
                "{name} is not in the manifest"
            );
            assert!(this.contains(&format!("run(\"{name}\")")), "{name} is not run");
        }
    }
}

#[test]
fn ghz() {
    let out = run("ghz");
    assert_lines(
        &out,
        &["h q[0]", "cx q[3], q[4]", "<Z0> = 0.000", "<Z0 Z4> = 1.000", "<X0 X1 X2 X3 X4> = 1.000"],
    );
    let counts: Vec<(&str, u32)> = out
        .lines()
        .filter_map(|l| l.split_once(": "))
        .filter_map(|(k, v)| Some((k, v.parse().ok()?)))
        .collect();
    assert_eq!(counts.iter().map(|c| c.0).collect::<Vec<_>>(), ["00000", "11111"]);
    assert_eq!(counts.iter().map(|c| c.1).sum::<u32>(), 1000);
}

#[test]
fn qft() {
    let out = run("qft");
    // Period 4 in 64: every 16th frequency, equally likely.
    let lines: Vec<&str> = out.lines().filter(|l| l.starts_with("frequency")).collect();
    let expected = [0, 16, 32, 48].map(|k| format!("frequency {k:2}: probability 0.2500"));
    assert_eq!(lines, expected);
}

#[test]
fn grover() {
    let out = run("grover");
    for line in out.lines() {
        let (_, numbers) = line.split_once("probability ").unwrap();
        let (p, formula) = numbers.split_once(", sin^2((2k + 1) theta) = ").unwrap();
        assert_eq!(p, formula, "{line}");
    }
    assert!(out.contains("6 rounds: found with probability 0.996586"), "{out}");
}

#[test]
fn phase_estimation() {
    let out = run("phase_estimation");
    assert_lines(
        &out,
        &[
            "5/16 of a turn, 4 qubits: 5/16 = 0.312500 with probability 1.0000",
            "5/16 of a turn, 8 qubits: 80/256 = 0.312500 with probability 1.0000",
        ],
    );
    assert!(out.contains("3/10 of a turn, 8 qubits: 77/256 = 0.300781"), "{out}");
}

#[test]
fn seed_circuit() {
    let out = run("seed_circuit");
    // cos(0.4)^2 = 0.848353, sin(0.8) = 0.717356.
    assert_lines(
        &out,
        &[
            "value:      <Z2> = 0.848353",
            "derivative: d<Z2>/d theta = -0.717356, -sin(2 theta) = -0.717356",
            "error bar:  theta = 0.4 ± 0.01 gives <Z2> = 0.848353 ± 0.007174",
            "no parameter values given, the circuit has 1 (theta)",
        ],
    );
}

#[test]
fn teleportation() {
    let out = run("teleportation");
    // sin(0.55)^2 = 0.273202; 10,000 shots are off by less than 0.02 but once in 10^5 seeds.
    let seen = out.lines().find_map(|l| l.strip_prefix("Bob sees 1 with frequency ")).unwrap();
    assert!((seen.parse::<f64>().unwrap() - 0.2732).abs() < 0.02, "{out}");
    assert_eq!(
        out.lines().filter(|l| l.contains(" 00: ") || l.contains(" 11: ")).count(),
        4,
        "{out}"
    );
}

#[test]
fn repeat_until_success() {
    let out = run("repeat_until_success");
    assert_lines(&out, &["a rotation by acos(3/5), undone: {\"0 00\": 1000}"]);
    for rounds in 1..=6 {
        let p = 0.5f64.powi(rounds);
        let line = format!(
            "{rounds} rounds: failed with probability {p:.6}, wrong with probability 0.000000"
        );
        assert_lines(&out, &[&line]);
    }
}

#[test]
fn bit_flip_code() {
    let out = run("bit_flip_code");
    for errors in ["[]", "[0]", "[1]", "[2]"] {
        assert_lines(
            &out,
            &[&format!("flips on {errors}: the state survived 1000 of 1000 cycles")],
        );
    }
    // Two flips become a logical one, which sin(0.9)^2 = 0.6136 of the state survives.
    let two =
        out.lines().find_map(|l| l.strip_prefix("flips on [0, 2]: the state survived ")).unwrap();
    let kept: u32 = two.split(' ').next().unwrap().parse().unwrap();
    assert!((550..680).contains(&kept), "{out}");
}

#[test]
fn point_fit() {
    let out = run("point_fit");
    assert_lines(
        &out,
        &[
            "dual numbers: (0.33427804653861276, 0.4996408206795386)",
            "reverse mode: (0.33427804653861276, 0.4996408206795386)",
        ],
    );
    // The IR of the program follows.
    assert!(out.contains("fn loss(k) -> real {") && out.contains("= call @distance("), "{out}");
}

#[test]
fn sweep() {
    let svg = run("sweep");
    assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n"));
    // The curve starts at a half, peaks at 3/4 for gamma = pi/4 and ends at a half.
    let points = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    let points: Vec<&str> = points.split(' ').collect();
    assert_eq!(
        (points.len(), points[0], points[20], points[80]),
        (81, "60.0,190.0", "190.0,115.0", "580.0,190.0")
    );
}

#[test]
fn closed_forms() {
    let out = run("closed_forms");
    assert_lines(
        &out,
        &[
            "00: sqrt(2)*cos(theta/2)*(cos(phi/2) - i*sin(phi/2))/2",
            "01: -sqrt(2)*i*sin(theta/2)*(cos(phi/2) - i*sin(phi/2))/2",
            "probability of 00: (1 + cos(theta))/4",
            // The arc tangents of 1/sqrt(2) and half of it.
            "maximum at gamma = 0.615480, beta = 0.307740: 2.000000",
        ],
    );
}

#[test]
fn debugger() {
    let out = run("debugger");
    assert_lines(
        &out,
        &[
            "energy = NaN",
            "line 2: x = 1.5, y = 1.0, r = 1.0",
            "line 2: x = 1.5, y = 1.0, r = 2.0",
            "line 2: x = 1.5, y = 1.0, r = 3.0",
            "3 logarithms, 24 floating-point operations",
        ],
    );
    let found = out.lines().find(|l| l.starts_with("found: 10:13 in energy: ln gave NaN for v"));
    assert!(found.is_some_and(|l| l.ends_with(" = -0.75")), "{out}");
}

#[test]
fn trace_a_function() {
    let out = run("trace_a_function");
    assert_lines(
        &out,
        &[
            "f(x1, x2)",
            "  t1 = mul(x1, x2) = 6.0",
            "  t2 = sin(x1) = 0.9092974268256817",
            "  t3 = add(t1, t2) = 6.909297426825682",
            "  return t3",
            "f(x1, x2) = x1*x2 + sin(x1)",
            "value 6.909297426825682, gradient (2.5838531634528574, 2.0)",
            "clipped(x) = min(x*x, 4) at 3: 4.0",
            "huber(x) = x*x, as long as x < 1",
            "|00>: sqrt(2)/2*cos(theta/2)",
            "|11>: sqrt(2)/2*cos(theta/2)",
            "d/dtheta of |00>: -sqrt(2)/4*sin(theta/2)",
        ],
    );
}

#[test]
fn derivative_source() {
    let out = run("derivative_source");
    // 3^4 and 4 * 3^3.
    assert_lines(&out, &["power_gradient(3, 4) = (81.0, 108.0)"]);
    assert_lines(&out, &["pub fn power_gradient(x: f64, n: i64) -> (f64, f64) {"]);
    assert!(out.contains("fn power_gradient(x, n: int) -> (real, real) {"), "{out}");
}

#[test]
fn custom_rule() {
    let out = run("custom_rule");
    assert_lines(&out, &["by w at x = 1000, w = 2: 1000.0", "the rule has 0 faults"]);
    // 1/(1 + e^0.5) in place of 1/(1 + e^-0.5).
    assert!(out.contains("with a wrong sign, the pullback's partial by `x` is 0.3775"), "{out}");
}

#[test]
fn newton() {
    let out = run("newton");
    assert_lines(
        &out,
        &["sqrt(9) = 3.000000000000, slope 0.166666666667, 1/(2 sqrt) = 0.166666666667"],
    );
    let numbers = out.lines().last().unwrap().strip_prefix("second derivative at 2: ").unwrap();
    let (found, formula) = numbers.split_once(", -1/4 2^(-3/2) = ").unwrap();
    assert_eq!(found, formula);
}

#[test]
fn second_order() {
    let out = run("second_order");
    assert_lines(
        &out,
        &[
            "the minimum after 7 steps: (1.000000, 1.000000)",
            "H (1, 0) at the minimum: (802.0, -400.0)",
        ],
    );
}

#[test]
fn equivalence() {
    let out = run("equivalence");
    assert_lines(
        &out,
        &[
            "SWAP is three CX: equal",
            "CCX from Clifford+T: equal",
            "RZZ from CX and RZ: equal",
            "RX from H and RZ: equal",
            "P is RZ up to a phase: equal_up_to_phase, -1/2*theta",
            "controlled RZ from CX and RZ: equal",
            "the wrong optimisation: different",
        ],
    );
    let line = out.lines().find(|l| l.starts_with("at a = ")).unwrap();
    let distance: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
    assert!(distance > 1e-3, "{line}");
}

#[test]
fn vqe_h2() {
    let svg = run("vqe_h2");
    assert!(
        svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains("energy in hartree")
    );
    let points = svg.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(points.split(' ').count() > 3, "{svg}");
}

#[test]
fn adapt_vqe() {
    let out = run("adapt_vqe");
    assert_lines(&out, &["5 of 8 qubits, 132 strings", "no slope is above 0.01"]);
    // PySCF: Hartree-Fock, then the complete active space of two electrons in two orbitals.
    assert!(
        out.contains(" 0 excitations: -2.124260 hartree")
            && out.contains(" 1 excitations: -2.145256 hartree")
    );
    let errors: Vec<f64> =
        out.lines().filter_map(|l| l.split(", ").nth(1)?.split(' ').next()?.parse().ok()).collect();
    assert!(
        errors.windows(2).all(|w| w[1] < w[0]) && errors.last().is_some_and(|e| *e < 1.6e-3),
        "{out}"
    );
}

#[test]
fn qaoa_max_cut() {
    let out = run("qaoa_max_cut");
    assert!(out.starts_with("30 edges; the largest cut has 20, as 1"), "{out}");
    let cuts: Vec<f64> = out
        .lines()
        .filter_map(|l| l.split_once("expected cut ")?.1.split(';').next()?.parse().ok())
        .collect();
    assert_eq!(cuts.len(), 4, "{out}");
    assert!(
        cuts.windows(2).all(|w| w[0] < w[1]) && cuts.iter().all(|c| (15.0..=20.0).contains(c)),
        "{out}"
    );
}

#[test]
fn circuit_in_a_program() {
    let out = run("circuit_in_a_program");
    let first = out.lines().next().unwrap().strip_prefix("d loss / d w[0]: ").unwrap();
    let (reverse, duals) = first.split_once(" in reverse, ").unwrap();
    assert_eq!(Some(reverse), duals.strip_suffix(" on duals"), "{out}");
    let losses: Vec<f64> =
        out.lines().filter_map(|l| l.split_once("loss ")?.1.parse().ok()).collect();
    assert!(losses.len() == 4 && losses[3] < 0.5 * losses[0], "{out}");
}

#[test]
fn dual_check() {
    let out = run("dual_check");
    let value_and_slope = |line: &str| {
        let numbers = line.split_once("value ").unwrap().1;
        numbers.split(", d/db").next().unwrap().to_owned()
    };
    let all: Vec<String> =
        out.lines().filter(|l| l.contains(": value ")).map(value_and_slope).collect();
    assert_eq!(all.len(), 6, "{out}");
    // Differences are off by 1e-10, which is below what is printed.
    assert!(all.iter().all(|one| *one == all[0]), "{out}");
}

#[test]
fn learn_noise() {
    let out = run("learn_noise");
    let last = out.lines().rev().nth(1).unwrap();
    let row: Vec<f64> = last.split_whitespace().map(|x| x.parse().unwrap()).collect();
    // A hundred thousand readings or so say the strengths to a few percent.
    assert!(
        (row[1] - 0.015).abs() < 0.0015 && (row[2] - 0.004).abs() < 0.0004 && row[3] < 0.01,
        "{out}"
    );
}

#[test]
fn dynamics() {
    let out = run("dynamics");
    assert!(out.starts_with("16 strings in 2 groups that are measured together"), "{out}");
    let rows: Vec<Vec<f64>> = out
        .lines()
        .skip(2)
        .map(|l| l.split_whitespace().map(|x| x.parse().unwrap()).collect())
        .collect();
    assert_eq!((rows.len(), &rows[0][..]), (9, &[0.0, 1.0, 1.0, 0.0, 0.0, -8.0][..]), "{out}");
    for row in rows {
        // To the digits that are printed, and what the formula is off by.
        assert!((row[3] - row[4]).abs() < 2e-4 && (row[5] + 8.0).abs() < 1e-3, "{out}");
        assert!(row[0] == 0.0 || row[1] < 1.0 && (row[1] - row[2]).abs() < 1e-4, "{out}");
    }
}

#[test]
fn energy_hessian() {
    let out = run("energy_hessian");
    assert!(out.contains("exact: -1.414214"), "{out}");
    let steps = out.lines().find_map(|l| l.strip_prefix("Newton's steps: ")).unwrap();
    assert!(steps.ends_with("-1.414214]"), "{out}");
}

#[test]
fn symbols() {
    let out = run("symbols");
    assert_lines(
        &out,
        &[
            "<Z0 Z1> = cos(a)*cos(b)",
            "for each of the four outcomes Bob has half of exactly that",
            "x^3 - x*y^2 = x*(x - y)*(x + y)",
        ],
    );
    assert!(out.contains(" = 4*x*y + 1/2\n") && out.contains(" = cos(2*x)\n"), "{out}");
    assert!(out.contains("equal, with an error below"), "{out}");
}

#[test]
fn two_moons() {
    let out = run("two_moons");
    let accuracy = out.lines().find_map(|l| l.strip_prefix("accuracy: ")).unwrap();
    let accuracy: f64 = accuracy.trim_end_matches(" %").parse().unwrap();
    assert!(accuracy > 95.0, "{out}");
}

#[test]
fn lotka_volterra() {
    let out = run("lotka_volterra");
    for rate in ["a = 1.1", "b = 0.4", "c = 0.9", "d = 0.3"] {
        let (name, truth) = rate.split_once(" = ").unwrap();
        let fitted = out.lines().find_map(|l| l.strip_prefix(&format!("{name} = "))).unwrap();
        let fitted: f64 = fitted.split(' ').next().unwrap().parse().unwrap();
        let truth: f64 = truth.parse().unwrap();
        assert!((fitted - truth).abs() < 0.02 * truth, "{out}");
    }
}

#[test]
fn bundle_adjustment() {
    let out = run("bundle_adjustment");
    // What the cameras see has no errors, so that a fit has none either.
    assert!(out.contains("off by less than 0.001 pixels"), "{out}");
}

#[test]
fn gaussian_mixture() {
    let out = run("gaussian_mixture");
    // The heaps as they were made: shares of 150, 90 and 60 points.
    for heap in [
        "0.50 of the points around (-1.9",
        "0.30 of the points around (1.4",
        "0.20 of the points around (1.8",
    ] {
        assert!(out.contains(heap), "{heap}: {out}");
    }
}

#[test]
fn gradient_server() {
    let out = run("gradient_server");
    let lines = [
        "32 of 32 answers are those of a call",
        // By a loop of floats and its differences.
        "pendulum 1 0.1 2000 -> -0.229696 -0.016280 0.724372",
        "8 jobs stopped",
    ];
    assert_lines(&out, &lines);
}

#[test]
fn heat_equation() {
    let out = run("heat_equation");
    assert_lines(&out, &["3998 entries, 3 products instead of 2000"]);
    // Half the time of the plain equation's decay or less: it conducts better where it is hot.
    let middle: f64 =
        out.lines().find_map(|l| l.strip_prefix("in the middle: ")).unwrap().parse().unwrap();
    assert!(middle > 0.7 && middle < (-std::f64::consts::PI.powi(2) * 0.02).exp(), "{out}");
}

#[test]
fn logistic_regression() {
    let out = run("logistic_regression");
    // The textbook's answer.
    assert_lines(&out, &["weights: -4.0777 1.5046", "2 hours pass with probability 0.26"]);
}
