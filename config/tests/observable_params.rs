//! Observables whose coefficients have parameters: values, derivatives, sweeps, error bars, and
//! what is refused.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use ketgrad_core::observable::{ParametricSum, PauliSum};
use serde_json::Value;

use crate::support::{Folder, npy};

/// `<Z0> = cos(a)`, `<X0> = sin(a) sin(b)`, `<Z1> = cos(a) cos(b)`, beside an idle qubit.
const TWO: &str = "OPENQASM 3.0;\ninclude \"stdgates.inc\";\ninput float a;\ninput float b;\nqubit[3] q;\nry(a) q[0];\n\
    ry(b) q[1];\ncx q[0], q[1];\n";
const NOISE: &str = "[[noise]]\nwidth = 1\nchannel = \"depolarizing\"\nparameters = [\"p\"]\n";

fn folder() -> Folder {
    let folder = Folder::new();
    folder.file("two.qasm", TWO);
    folder.file("noise.toml", NOISE);
    folder
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap()
}

#[track_caller]
fn near(found: &Value, expected: f64, off: f64) {
    let found = number(found);
    assert!((found - expected).abs() <= off, "{found} {expected}");
}

/// `verb` with values of parameters.
fn call(folder: &Folder, args: &[&str], values: &[(&str, f64)]) -> Value {
    let set: Vec<String> = values.iter().map(|(name, x)| format!("{name}={x:?}")).collect();
    let set = set.iter().flat_map(|word| ["--set", word.as_str()]);
    let args: Vec<&str> = args.iter().copied().chain(set).chain(["--json"]).collect();
    folder.run(&args).json()
}

/// Numbers that look random, the same each time.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// Between -2 and 2, a short decimal.
    fn real(&mut self) -> f64 {
        (self.below(401) as f64 - 200.0) / 100.0
    }

    /// Coefficients in these names, `1`, `J` and `h` say, with the operators of up to `n` qubits.
    fn observable(&mut self, names: &[&str], n: u64) -> String {
        let terms = (0..2 + self.below(4)).map(|_| {
            let name = names[self.below(names.len() as u64) as usize];
            let other = names[self.below(names.len() as u64) as usize];
            let (c, d) = (self.real(), self.real());
            let coefficient = match self.below(6) {
                0 => format!("({c})"),
                1 => format!("({c}*{name})"),
                2 => format!("{name} * {other} / 3"),
                3 => format!("({name} - ({d})*{other})**2"),
                4 => format!("({c} + {name}) * pi"),
                _ => format!("{name}^3"),
            };
            let letter = |random: &mut Random| ["X", "Y", "Z"][random.below(3) as usize];
            let mut word = format!("{}0", letter(self));
            if n > 1 && self.below(2) == 0 {
                word += &format!(" {}1", letter(self));
            }
            format!("{coefficient}*{word}")
        });
        terms.collect::<Vec<_>>().join(if self.below(2) == 0 { " + " } else { " - " })
    }
}

#[test]
fn values_and_derivatives_are_those_of_the_formula() {
    let folder = folder();
    // J/2 cos(a) + (J - 2 h) sin(a) sin(b) + (J^2 h + a) cos(a) cos(b) - h
    let observable = "0.5*J*Z0 + (J - 2*h) X0 + J**2*h*Z1 + a Z1 - h";
    let (a, b, j, h) = (0.3f64, 0.7f64, 2.0f64, -0.4f64);
    let values = [("a", a), ("b", b), ("J", j), ("h", h)];
    let ([sa, ca], [sb, cb]) = ([a.sin(), a.cos()], [b.sin(), b.cos()]);
    let (k, m) = (j - 2.0 * h, j * j * h + a);
    let value = 0.5 * j * ca + k * sa * sb + m * ca * cb - h;
    let gradient = [
        ("a", -0.5 * j * sa + k * ca * sb - m * sa * cb + ca * cb),
        ("b", k * sa * cb - m * ca * sb),
        ("J", 0.5 * ca + sa * sb + 2.0 * j * h * ca * cb),
        ("h", -2.0 * sa * sb + j * j * ca * cb - 1.0),
    ];
    let hessian = [
        ("a", "a", -0.5 * j * ca - k * sa * sb - m * ca * cb - 2.0 * sa * cb),
        ("a", "b", k * ca * cb + m * sa * sb - ca * sb),
        ("b", "b", -k * sa * sb - m * ca * cb),
        ("a", "J", -0.5 * sa + ca * sb - 2.0 * j * h * sa * cb),
        ("a", "h", -2.0 * ca * sb - j * j * sa * cb),
        ("b", "J", sa * cb - 2.0 * j * h * ca * sb),
        ("b", "h", -2.0 * sa * cb - j * j * ca * sb),
        ("J", "J", 2.0 * h * ca * cb),
        ("J", "h", 2.0 * j * ca * cb),
        ("h", "h", 0.0),
    ];
    let ran = call(&folder, &["run", "two.qasm", "--observable", observable], &values);
    near(&ran["expectations"][0]["value"], value, 1e-14);
    for method in ["adjoint", "forward", "shift", "difference", "symbolic"] {
        for (precision, off) in [("f64", 1e-8), ("f32", 3e-2)] {
            let rest =
                ["--method", method, "--precision", precision, "--hessian", "--observable", "Z0"];
            let args = [&["grad", "two.qasm", "--observable", observable][..], &rest].concat();
            let found = call(&folder, &args, &values);
            let found = &found["expectations"][0];
            near(&found["value"], value, off);
            for (name, slope) in gradient {
                near(&found["gradient"][name], slope, off);
            }
            for (x, y, entry) in hessian {
                near(&found["hessian"][x][y], entry, off);
                near(&found["hessian"][y][x], entry, off);
            }
        }
    }
    // An observable without them does not depend on them.
    let both = ["grad", "two.qasm", "--observable", "Z0", "--observable", "J*X0"];
    let found = call(&folder, &both, &values[..3]);
    near(&found["expectations"][0]["gradient"]["J"], 0.0, 0.0);
    near(&found["expectations"][1]["gradient"]["J"], sa * sb, 1e-15);
    let checked = call(&folder, &["check", "two.qasm", "--observable", observable], &values);
    assert_eq!(checked["agree"], true);
    near(&checked["engines"][0]["gradient"]["J"], gradient[2].1, 1e-14);
    near(&checked["engines"][3]["gradient"]["J"], gradient[2].1, 1e-10);
    let single = ["check", "two.qasm", "--observable", observable, "--precision", "f32"];
    assert_eq!(call(&folder, &single, &values)["agree"], true);
    let text = call(&folder, &["amplitudes", "two.qasm", "--observable", "2*J*Z0"], &[("J", 0.25)]);
    assert_eq!(text["expectations"][0]["value"], "cos(a)/2");
}

#[test]
fn random_observables_agree_with_differences_of_runs() {
    let folder = folder();
    let mut random = Random(7);
    for round in 0..6 {
        let observable = random.observable(&["J", "h", "a", "g_1"], 2);
        let noise = round % 2 == 1;
        // Of observables that have them all.
        let observable = format!("{observable} + 0.1*J*h*g_1");
        let mut values: Vec<(&str, f64)> =
            ["a", "b", "J", "h", "g_1"].map(|n| (n, random.real())).to_vec();
        let mut file = vec!["two.qasm", "--observable", observable.as_str()];
        if noise {
            file.extend(["--noise", "noise.toml"]);
            values.push(("p", 0.1));
        }
        let run = |values: &[(&str, f64)]| {
            let ran = call(&folder, &[&["run"], &file[..]].concat(), values);
            number(&ran["expectations"][0]["value"])
        };
        let methods: &[&str] = if noise {
            &["adjoint", "forward"]
        } else {
            &["adjoint", "forward", "shift", "difference"]
        };
        let method = methods[random.below(methods.len() as u64) as usize];
        let found = call(&folder, &[&["grad"], &file[..], &["--method", method]].concat(), &values);
        let scale = 1.0 + number(&found["value"]).abs();
        near(&found["value"], run(&values), 1e-12 * scale);
        let gradient = |values: &[(&str, f64)], rest: &[&str]| {
            call(&folder, &[&["grad"], &file[..], rest].concat(), values)
        };
        let curved = gradient(&values, &["--hessian", "--method", methods[round / 2 % 2]]);
        let single =
            call(&folder, &[&["grad"], &file[..], &["--precision", "f32"]].concat(), &values);
        for k in 0..values.len() {
            let beside = |step: f64| {
                let mut moved = values.clone();
                moved[k].1 += step;
                run(&moved)
            };
            let slope = (beside(1e-5) - beside(-1e-5)) / 2e-5;
            let name = values[k].0;
            near(&found["gradient"][name], slope, 1e-6 * scale.max(slope.abs()));
            near(&single["gradient"][name], slope, 1e-3 * scale.max(slope.abs()));
        }
        // A row of second derivatives.
        let k = random.below(values.len() as u64) as usize;
        let [above, below] = [1e-5, -1e-5].map(|step| {
            let mut moved = values.clone();
            moved[k].1 += step;
            gradient(&moved, &[])
        });
        for (name, _) in &values {
            let [above, below] = [&above, &below].map(|found| number(&found["gradient"][name]));
            let (row, slope) = (&curved["hessian"][values[k].0], (above - below) / 2e-5);
            near(&row[name], slope, 1e-6 * scale.max(slope.abs()));
            near(
                &row[name],
                number(&curved["hessian"][name][values[k].0]),
                1e-10 * scale.max(slope.abs()),
            );
        }
    }
}

/// Names give what numbers in their places give.
#[test]
fn sums_with_names_are_those_with_numbers() {
    let mut random = Random(3);
    for _ in 0..200 {
        let text = random.observable(&["J", "w[0]", "_c"], 2);
        let sum =
            ParametricSum::parse_on(&text, 2, &|name| ["J", "w[0]", "_c"].contains(&name)).unwrap();
        let values: Vec<f64> = sum.params().iter().map(|_| random.real()).collect();
        let mut plain = text.clone();
        for (name, value) in sum.params().iter().zip(&values) {
            plain = plain.replace(name.as_str(), &format!("({value})"));
        }
        let no_names =
            ParametricSum::parse_on(&plain, 2, &|_| false).unwrap().evaluate(&[]).unwrap();
        let (found, expected) = (sum.evaluate(&values).unwrap(), no_names.collected().unwrap());
        let difference = (found - expected).collected().unwrap();
        assert!(difference.terms().iter().all(|(c, _)| c.abs() < 1e-12), "{text}: {difference}");
        // Without parameters it is what has always been read.
        if sum.params().is_empty() {
            assert_eq!(sum.evaluate(&[]).unwrap(), text.parse::<PauliSum>().unwrap(), "{text}");
        }
    }
}

#[test]
fn sweeps_have_parameters_of_observables_last() {
    let folder = folder();
    let observables = ["--observable", "h*Z0 + a*J*X0", "--observable", "J*Z1"];
    // a, b, h, J
    folder.file("all.npy", npy("(2, 4)", &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]));
    folder.file("last.npy", npy("(2, 2)", &[0.3, 0.4, 0.7, 0.8]));
    let value = |[a, b, h, j]: [f64; 4]| h * a.cos() + a * j * a.sin() * b.sin();
    for verb in ["run", "grad"] {
        let args =
            [&[verb, "two.qasm", "--params", "all.npy", "--json"][..], &observables].concat();
        let found = folder.run(&args).json();
        for (row, point) in [[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]].into_iter().enumerate() {
            near(&found["expectations"][row][0]["value"], value(point), 1e-14);
            near(
                &found["expectations"][row][1]["value"],
                point[3] * point[0].cos() * point[1].cos(),
                1e-14,
            );
            if verb == "grad" {
                near(&found["expectations"][row][0]["gradient"]["h"], point[0].cos(), 1e-14);
            }
        }
        let rest = ["--params", "last.npy", "--set", "a=0.1", "--set", "b=0.2"];
        let found =
            folder.run(&[&[verb, "two.qasm", "--json"][..], &rest, &observables].concat()).json();
        near(&found["expectations"][1][0]["value"], value([0.1, 0.2, 0.7, 0.8]), 1e-14);
    }
    folder.file("p.json", r#"{"a": 0.1, "b": 0.2, "h": 0.3, "J": "0.4"}"#);
    let found = folder
        .run(&[&["run", "two.qasm", "--params", "p.json", "--json"][..], &observables].concat());
    near(&found.json()["expectations"][0]["value"], value([0.1, 0.2, 0.3, 0.4]), 1e-14);
    let args = ["grad", "two.qasm", "--params", "all.npy", "--output", "g.npy"];
    folder.run(&[&args[..], &observables].concat()).done();
    let bytes = std::fs::read(folder.path("g.npy")).unwrap();
    assert!(String::from_utf8_lossy(&bytes).contains("'shape': (2, 2, 4)"));
    folder.file("short.npy", npy("(3,)", &[0.1, 0.2, 0.3]));
    let args = [
        "run",
        "two.qasm",
        "--params",
        "short.npy",
        "--set",
        "a=0",
        "--set",
        "b=0",
        "--set",
        "h=0",
    ];
    folder.run(&[&args[..], &observables].concat()).fails(1, &["4 parameters", "J"]);
    let args = ["run", "two.qasm", "--params", "all.npy", "--observable", "Z*Z0"];
    folder.run(&args).fails(1, &["expected a qubit number"]);
}

#[test]
fn error_bars_and_shots_serve_parameters_of_observables() {
    let folder = folder();
    let set = ["--set", "a=0.3", "--set", "b=0.7", "--set", "J=2+-0.1", "--json"];
    let args = ["two.qasm", "--observable", "J**2*Z0 + X0"];
    let (sigma, slope) = (0.1 * 4.0 * 0.3f64.cos(), -4.0 * 0.3f64.sin());
    let ran = folder.run(&[&["run"], &args[..], &set].concat()).json();
    near(&ran["expectations"][0]["stderr"], sigma, 1e-14);
    for method in ["adjoint", "symbolic"] {
        let found = folder.run(&[&["grad", "--method", method], &args[..], &set].concat()).json();
        near(&found["stderr"], sigma, 1e-14);
        near(&found["gradient_stderr"]["J"], 0.1 * 2.0 * 0.3f64.cos(), 1e-14);
        near(&found["gradient_stderr"]["a"], 0.1 * (slope).abs(), 1e-13);
        near(&found["gradient_stderr"]["b"], 0.0, 1e-15);
    }
    let args = ["grad", "two.qasm", "--observable", "J**2*Z0 + a*X0", "--shots", "20000"];
    let found = call(&folder, &args, &[("a", 0.3), ("b", 0.7), ("J", 2.0)]);
    let (sin, cos) = 0.3f64.sin_cos();
    let exact = [
        ("a", -4.0 * sin + 0.3 * cos * 0.7f64.sin() + sin * 0.7f64.sin()),
        ("b", 0.3 * sin * 0.7f64.cos()),
        ("J", 4.0 * cos),
    ];
    for (name, slope) in exact {
        let error = number(&found["gradient_stderr"][name]);
        assert!(error > 0.0 && error < 0.1, "{name} {error}");
        near(&found["gradient"][name], slope, 5.0 * error);
    }
}

#[test]
fn parameters_without_values_stay_in_formulas() {
    let folder = folder();
    let args = ["two.qasm", "--observable", "0.5*J*Z0 - 2*J**2*h*X0 + a*Z1 - 3*h"];
    let grad = [&["grad", "--method", "symbolic", "--hessian"], &args[..]].concat();
    let found = call(&folder, &grad, &[]);
    let value = "a*cos(a)*cos(b) + J*cos(a)/2 - 2*J^2*h*sin(a)*sin(b) - 3*h";
    let sorted = |text: &Value| {
        let mut terms: Vec<String> =
            text.as_str().unwrap().replace(" - ", " + -").split(" + ").map(str::to_owned).collect();
        terms.sort();
        terms
    };
    assert_eq!(sorted(&found["value"]), sorted(&value.into()));
    assert_eq!(found["gradient"]["h"], "-3 - 2*J^2*sin(a)*sin(b)");
    assert_eq!(found["hessian"]["J"]["b"], "-4*J*h*sin(a)*cos(b)");
    assert_eq!(found["hessian"]["h"]["h"], "0");
    // What has a value is none of them.
    let found = call(&folder, &grad, &[("h", 0.5), ("b", 0.0)]);
    assert_eq!(found["gradient"]["J"], "cos(a)/2");
    assert!(found["gradient"].get("h").is_none());
    let found = call(&folder, &[&["amplitudes"], &args[..]].concat(), &[("h", 0.0)]);
    assert_eq!(found["parameters"], serde_json::json!(["a", "b", "J"]));
    assert_eq!(sorted(&found["expectations"][0]["value"]), ["J*cos(a)/2", "a*cos(a)*cos(b)"]);
    let latex = ["amplitudes", "two.qasm", "--observable", "J*Z0", "--form", "latex"];
    folder.run(&latex).fails(1, &["--form latex", "`J`", "--set J=…"]);
    let typo = ["amplitudes", "two.qasm", "--observable"];
    for (text, what) in [
        ("sin(J)*Z0", "no function `sin`"),
        ("exp*Z0", "found `exp`"),
        ("Hermitian(J)", "PennyLane's constructor"),
        ("Z*Z0", "expected a qubit number"),
    ] {
        folder.run(&[&typo[..], &[text]].concat()).fails(1, &[what]);
    }
}

/// Evaluated as programs, they are what is computed with numbers.
#[test]
fn formulas_have_the_values_of_numbers() {
    let folder = folder();
    let mut random = Random(11);
    for _ in 0..4 {
        let observable = random.observable(&["J", "h", "a"], 2) + " + 0.1*J*h";
        let values = ["a", "b", "J", "h"].map(|name| (name, random.real()));
        let args = ["grad", "two.qasm", "--observable", &observable, "--hessian"];
        let numbers = call(&folder, &args, &values);
        let formulas = call(&folder, &[&args[..], &["--method", "symbolic"]].concat(), &[]);
        let at: Vec<String> = values.iter().map(|(name, x)| format!("{name}={x:?}")).collect();
        let evaluated = |text: &Value| {
            let mut text = text.as_str().unwrap().to_owned();
            for name in ["a", "J", "h"] {
                for power in 2..7 {
                    text =
                        text.replace(&format!("{name}^{power}"), &format!("powi({name}, {power})"));
                }
            }
            let program = format!("fn f(a, b, J, h) {{ {text} + 0*(a + b + J + h) }}");
            number(
                &folder.run(&["diff", "-e", &program, "--at", &at.join(","), "--json"]).json()["value"],
            )
        };
        near(&numbers["value"], evaluated(&formulas["value"]), 1e-9);
        for name in ["a", "b", "J", "h"] {
            near(&numbers["gradient"][name], evaluated(&formulas["gradient"][name]), 1e-9);
        }
        for (x, y) in [("a", "a"), ("J", "a"), ("h", "J"), ("b", "h")] {
            near(&numbers["hessian"][x][y], evaluated(&formulas["hessian"][x][y]), 1e-9);
        }
    }
}

#[test]
fn what_no_parameter_is_is_said() {
    let folder = folder();
    let run = |observable: &str, more: &[&str]| {
        let args =
            ["run", "two.qasm", "--observable", observable, "--set", "a=0.3", "--set", "b=1"];
        folder.run(&[&args[..], more].concat())
    };
    run("J*Z0", &[])
        .fails(1, &["expected a number or a Pauli operator such as `Z0`, found `J`", "--set J=…"]);
    run("Z0 + foo", &[]).fails(1, &["found `foo`", "--set foo=…"]);
    run("Z*Z0", &[]).fails(1, &["expected a qubit number"]);
    run("Z0", &["--set", "J=1"]).fails(1, &["the circuit has no parameter `J`"]);
    run("x*Z0", &["--set", "x=1"]).fails(1, &["`x` stands for a Pauli operator or a number"]);
    run("pi*X0*Z1", &["--set", "X0=1"]).fails(1, &["no parameter `X0`"]);
    for (text, found) in [
        ("Z0/a", "no division by a parameter"),
        ("sin(a)*Z0", "no function `sin`"),
        ("a**0.5*Z0", "no power but whole numbers up to 16"),
        ("a**-1*Z0", "no power"),
        ("(a + Z0)**2", "no power of an operator"),
    ] {
        run(text, &[]).fails(1, &["coefficients are polynomials in their parameters", found]);
    }
    run("2J*Z0", &["--set", "J=1"]).fails(1, &["coefficient 0+2i", "write `2*J`"]);
    run("a*i*Z0", &[]).fails(1, &["found `i`", "OpenFermion's"]);
    run("J*J*Z0", &["--set", "J=1e200"]).fails(1, &["inf is not a finite number"]);
    let grad = [
        "grad",
        "two.qasm",
        "--observable",
        "J*J*Z0",
        "--set",
        "a=1",
        "--set",
        "b=1",
        "--set",
        "J=1e200",
    ];
    folder.run(&grad).fails(1, &["inf is not a finite number"]);
    folder.file(
        "job.toml",
        "[ansatz]\ncircuit = 'two.qasm'\n[hamiltonian]\nterms = 'J*Z0'\n[start]\nset = ['a=0', 'b=0']\n",
    );
    folder.run(&["optimize", "job.toml"]).fails(1, &["found `J`", "coefficients are numbers here"]);
}
