//! `diff`, by the real program.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use serde_json::{Value, json};

use crate::support::{Folder, keys};

fn diff(source: &str, rest: &[&str]) -> Value {
    let args = [&["diff", "-e", source, "--json"][..], rest].concat();
    Folder::new().run(&args).json()
}

#[test]
fn the_value_and_the_gradient() {
    // F = a / (1 + b^2) at (1, 2).
    let d = diff("fn f(a, b) { a / (1 + b * b) }", &["--at", "a=1,b=2"]);
    assert_eq!(d["value"], json!(0.2));
    assert_eq!(d["gradient"]["a"], json!(0.2));
    assert!((d["gradient"]["b"].as_f64().unwrap() + 0.16).abs() < 1e-15);
}

#[test]
fn the_jacobian_of_any_other_result() {
    // (x^2, x y) and y^3 at (3, 2).
    let source = "struct R { n: int, v: array, z } fn f(x, y) { R { n: 1, v: [x * x, x * y], z: y * y * y } }";
    let d = diff(source, &["--at", "x=3,y=2"]);
    assert_eq!(d["value"], json!({"f.v[0]": 9.0, "f.v[1]": 6.0, "f.z": 8.0}));
    let rows = json!({"f.v[0]": {"x": 6.0, "y": 0.0}, "f.v[1]": {"x": 2.0, "y": 3.0}, "f.z": {"x": 0.0, "y": 12.0}});
    assert_eq!(d["jacobian"], rows);
    let folder = Folder::new();
    folder.file("f.kg", source);
    let checked = folder.run(&["check", "f.kg", "--at", "x=3,y=2"]).done();
    assert!(checked.out.ends_with("all agree\n"), "{}", checked.out);
    let text = folder.run(&["diff", "f.kg", "--at", "x=3,y=2"]).done().out;
    assert!(
        text.ends_with("  f.v[0]  6.0  0.0\n  f.v[1]  2.0  3.0\n  f.z     0.0  12.0\n"),
        "{text}"
    );
    let order = folder.run(&["diff", "f.kg", "--at", "x=3,y=2", "--order", "2"]);
    order.fails(1, &["second derivatives are of a function that gives one real number"]);
    // Cauchy and Riemann: d(z^2) = 2 z dz.
    let d = diff("fn f(z: complex) { z * z }", &["--at", "z=complex(1,2)"]);
    assert_eq!(d["value"], json!({"f": [-3.0, 4.0]}));
    let rows = json!({"f.re": {"z.re": 2.0, "z.im": -4.0}, "f.im": {"z.re": 4.0, "z.im": 2.0}});
    assert_eq!(d["jacobian"], rows);
    // |z^2|^2 = (x^2 + y^2)^2
    let d = diff("fn f(z: complex) { abs2(z * z) }", &["--at", "z=complex(1,2)", "--order", "2"]);
    let hessian =
        json!({"z.re": {"z.re": 28.0, "z.im": 16.0}, "z.im": {"z.re": 16.0, "z.im": 52.0}});
    assert_eq!((&d["gradient"], &d["hessian"]), (&json!({"z": [20.0, 40.0]}), &hessian));
}

#[test]
fn some_parameters_are_constants() {
    let source = "fn f(x, y, ws: array) { x * x * y * sum(ws) }";
    let at = ["--at", "x=3,y=5,ws=[1,2]", "--order", "2"];
    let d = diff(source, &[&at[..], &["--by", "y"]].concat());
    assert_eq!((&d["gradient"], &d["hessian"]), (&json!({"y": 27.0}), &json!({"y": {"y": 0.0}})));
    let d = diff(source, &[&at[..], &["--by", "ws,x"]].concat());
    assert_eq!(d["gradient"], json!({"x": 90.0, "ws[0]": 45.0, "ws[1]": 45.0}));
    let folder = Folder::new();
    for (by, words) in [("w", "no parameter `w`"), ("x,z", "no parameter `z`")] {
        folder.run(&["diff", "-e", source, "--at", at[1], "--by", by]).fails(1, &["--by", words]);
    }
    folder.run(&["diff", "-e", source, "--by", "x", "--emit", "ir"]).fails(2, &["--emit"]);
    let by_int = folder.run(&[
        "diff",
        "-e",
        "fn f(x, n: int) { powi(x, n) }",
        "--at",
        "x=2,n=3",
        "--by",
        "n",
    ]);
    by_int.fails(1, &["no real or complex parameter"]);
}

#[test]
fn the_hessian_by_name() {
    let d = diff("fn f(x, y) { x * x * y }", &["--at", "x=3", "--at", "y=5", "--order", "2"]);
    assert_eq!(d["hessian"], json!({"x": {"x": 10.0, "y": 6.0}, "y": {"x": 6.0, "y": 0.0}}));
}

#[test]
fn loops_arrays_structs_and_ints() {
    let source = "struct P { x, y }
        fn f(p: P, xs: array, n: int) {
            let mut s = p.x * p.y;
            for i in 0..n { s += xs[i] * xs[i]; }
            s
        }";
    let d = diff(source, &["--at", "p=(2,3),xs=[1, pi/2],n=2"]);
    assert_eq!(
        d["gradient"],
        json!({"p.x": 3.0, "p.y": 2.0, "xs[0]": 2.0, "xs[1]": std::f64::consts::PI})
    );
}

#[test]
fn arrays_of_several_axes_are_given_row_by_row() {
    let d = diff("fn f(m: array) { det(m) }", &["--at", "m=[[4,2],[2,pi]]", "--order", "2"]);
    let near = |value: &Value, x: f64| (value.as_f64().unwrap() - x).abs() < 1e-14;
    for (name, x) in
        [("m[0,0]", std::f64::consts::PI), ("m[0,1]", -2.0), ("m[1,0]", -2.0), ("m[1,1]", 4.0)]
    {
        assert!(near(&d["gradient"][name], x), "{name}: {d}");
        assert!(
            near(&d["hessian"]["m[0,0]"][name], f64::from(u8::from(name == "m[1,1]"))),
            "{name}: {d}"
        );
    }
    let source =
        "fn f(z: array<complex>, x: array) { abs2(z[0, 0, 1]) + sum(x) * real(dim(z, 2)) }";
    let d = diff(source, &["--at", "z = [ [[1, complex(0,2)]] ], x=[[], []]"]);
    assert_eq!(d["gradient"], json!({"z[0,0,0]": [0.0, 0.0], "z[0,0,1]": [0.0, 4.0]}));
    let folder = Folder::new();
    folder.file("m.kg", "fn f(m: array) { sum(matmul(m, m)) }");
    folder.file("n.kg", "fn f(x, n: array<int>) { x * real(n[1, 0]) }");
    let by_ints = folder.run(&["diff", "n.kg", "--at", "x=2,n=[[1,2],[3,4]]"]).done().out;
    assert!(by_ints.starts_with("value  6.0"), "{by_ints}");
    let checked = folder.run(&["check", "m.kg", "--at", "m=[[1,2],[3,4]]"]).done();
    assert!(checked.out.contains("m[1,0]"), "{}", checked.out);
    let deep = format!("m={}1{}", "[".repeat(40), "]".repeat(40));
    for (at, words) in [
        ("m=[[1,2],[3]]", ["`m`", "2 elements here"]),
        ("m=[[1,2],3]", ["`m`", "[[1, 2], [3, 4]]"]),
        ("m=[1,[2]]", ["`m`", "like its neighbours"]),
        ("m=[[1,x]]", ["`m`", "a list of numbers"]),
        (deep.as_str(), ["`m`", "array"]),
    ] {
        folder.run(&["diff", "m.kg", "--at", at]).fails(1, &words);
    }
}

#[test]
fn a_complex_parameter_has_a_complex_gradient() {
    // d |z|^2 / dx + i d |z|^2 / dy = 2 z.
    let d = diff("fn f(z: complex) { abs2(z) }", &["--at", "z=complex(3,-4)"]);
    assert_eq!(d["gradient"]["z"], json!([6.0, -8.0]));
}

#[test]
fn a_file_and_its_last_function() {
    let folder = Folder::new();
    folder.file("model.kg", "fn g(x) { x * x }\nfn f(x) { g(x) + 1 }\n");
    let ran = folder.run(&["diff", "model.kg", "--at", "x=3", "--json"]);
    assert_eq!(keys(&ran.out), ["value", "gradient", "seconds"]);
    assert_eq!(ran.json()["value"], json!(10.0));
    let g = folder.run(&["diff", "model.kg", "--at", "x=3", "--function", "g", "--json"]).json();
    assert_eq!(g["value"], json!(9.0));
    let text = folder.run(&["diff", "model.kg", "--at", "x=3"]).done();
    assert_eq!(text.out, "value  10.0\ngradient\n  x  6.0\n");
    folder.run_with_input(&["diff", "-", "--at", "x=3"], "fn f(x) { x }").done();
}

#[test]
fn the_derivative_as_text() {
    let d = diff("fn f(a, b) { a * b }", &["--emit", "ir"]);
    assert!(d["text"].as_str().unwrap().contains("mul"), "{d}");
    let ran =
        Folder::new().run(&["diff", "-e", "fn f(a, b) { a * sin(b) }", "--emit", "adjoint"]).done();
    assert!(ran.out.contains("cos"), "{}", ran.out);
}

#[test]
fn the_program_and_its_derivative_in_other_languages() {
    let source = "fn f(a, theta) { let mut s = a; for i in 0..3 { s = s * theta; } s }";
    let text = |emit: &str| diff(source, &["--emit", emit])["text"].as_str().unwrap().to_owned();
    let rust = text("rust");
    assert!(rust.contains("pub fn f(a: f64, theta: f64) -> f64 {"), "{rust}");
    assert!(rust.contains("pub fn f_gradient(a: f64, theta: f64) -> (f64, f64, f64) {"), "{rust}");
    let latex = text("latex");
    assert!(latex.starts_with("\\begin{align*}\n") && latex.contains("\\theta"), "{latex}");
    assert!(text("dot").starts_with("digraph \"f.gradient\" {\n"));
    let plain =
        Folder::new().run(&["diff", "-e", "fn f(a, b) { a / b }", "--emit", "latex"]).done();
    assert!(plain.out.contains("\\frac{a}{b}"), "{}", plain.out);
    Folder::new().run(&["diff", "-e", source, "--emit", "fortran"]).fails(2, &["rust"]);

    let second = |emit: &str| {
        diff("fn f(a, b) { a * sin(b) }", &["--emit", emit, "--order", "2"])["text"].to_string()
    };
    let along = "pub fn f_gradient_pushforward(a: f64, b: f64, a_dot: f64, b_dot: f64)";
    assert!(
        second("rust").contains("f_gradient(") && second("rust").contains(along),
        "{}",
        second("rust")
    );
    assert!(second("latex").matches("begin{align*}").count() == 3, "{}", second("latex"));
    assert!(
        second("dot").contains("f.gradient.pushforward")
            && second("adjoint").contains("pushforward")
    );
    let ran =
        Folder::new().run(&["diff", "-e", "fn f(x) { (x, x) }", "--emit", "rust", "--order", "2"]);
    ran.fails(1, &["real"]);
}

#[test]
fn zero_keeps_its_sign() {
    // atan2 goes to -pi on the lower side of the cut.
    for (source, at) in [
        ("fn f(x) { atan2(x, -1.0) }", "x=-0.0"),
        ("fn f(xs: array) { atan2(xs[1], -1.0) }", "xs=[0.0, -0.0]"),
        ("fn f(z: complex) { arg(z) }", "z=complex(-1.0, -0.0)"),
    ] {
        assert_eq!(diff(source, &["--at", at])["value"], json!(-std::f64::consts::PI), "{source}");
        assert_eq!(
            diff(source, &["--at", &at.replace("-0.0", "0.0")])["value"],
            json!(std::f64::consts::PI)
        );
    }
}

/// Errors of a run are drawn like errors of the text: the line, and under it the message.
#[test]
fn errors_of_a_run_are_underlined() {
    let folder = Folder::new();
    let fails = |source: &str, at: &str, rest: &[&str], words: &[&str]| {
        folder.file("g.kg", source);
        let words = [words, &["─"]].concat();
        for verb in ["diff", "check"] {
            folder.run(&[&[verb, "g.kg", "--at", at][..], rest].concat()).fails(1, &words);
        }
        let ran =
            folder.run(&[&["diff", "-e", source, "--at", at, "--order", "2"][..], rest].concat());
        ran.fails(1, &[words[0], "[-e:", words[2]]);
    };
    let called = "fn pick(xs: array, i: int) {\n  let k = i + 1;\n  xs[k]\n}\nfn f(xs: array, n: int) {\n  \
                  let mut s = 0.0;\n  for i in 0..n {\n    s += 2.0 * pick(xs, i);\n  }\n  s\n}\n";
    let index = "  × index 2 of an array of 2 elements\n";
    fails(called, "xs=[1,2],n=5", &[], &[index, "[g.kg:3:3]", "3 │   xs[k]"]);
    let calls = "fn g(xs: array, n: int) {\n  if n == 0 { xs[2] } else { g(xs, n - 1) }\n}\n\
                 fn f(xs: array) { g(xs, 9) }";
    fails(calls, "xs=[1,2]", &[], &[index, "[g.kg:2:15]", "2 │   if n == 0"]);
    let division = "fn f(x, n: int) {\n  x * real(7 / n)\n}";
    fails(
        division,
        "x=1,n=0",
        &[],
        &["  × `idiv` of 7 and 0", "[g.kg:2:14]", "2 │   x * real(7 / n)"],
    );
    let endless = "fn f(x) {\n  let mut y = x;\n  while y > 0 { y += 1; }\n  y\n}";
    fails(
        endless,
        "x=1",
        &["--max-steps", "1e4"],
        &["  × stopped after 10000 steps", "[g.kg:3:", "3 │   while"],
    );
    let deep = "fn f(x) {\n  f(x)\n}";
    fails(deep, "x=1", &[], &["calls deep", "[g.kg:2:3]", "2 │   f(x)"]);
    let shapes = "fn f(xs: array, ys: array) {\n  sum(xs * ys)\n}";
    fails(
        shapes,
        "xs=[1,2],ys=[1,2,3]",
        &[],
        &["  × `mul` takes arrays", "[g.kg:2:10]", "2 │   sum(xs * ys)"],
    );
    // Only the gradient fails.
    let back = "rule g(xs: array) { sum(xs) }\npullback(xs, y, y_bar) {\n  [y_bar, xs[2]]\n}\nfn f(xs: array) { g(xs) }";
    fails(back, "xs=[1,2]", &[], &[index, "[g.kg:3:11]", "3 │   [y_bar, xs[2]]"]);
}

#[test]
fn faulty_programs_and_points_are_1() {
    let folder = Folder::new();
    folder.file("bad.kg", "fn f(x) {\n  sine(x)\n}\n");
    folder.run(&["diff", "bad.kg", "--at", "x=1"]).fails(1, &["bad.kg:2:3", "did you mean `sin`"]);
    for (source, at, words) in [
        ("fn f(x, y) { x * y }", "x=1", &["no value for 1 parameter: y"][..]),
        ("fn f(x) { x }", "x=1,z=2", &["no parameter `z`"]),
        ("fn f(x) { x }", "x=1,x=2", &["twice"]),
        ("fn f(n: int) { real(n) }", "n=1.5", &["whole number"]),
        ("fn f(x: array) { x[3] }", "x=[1,2]", &["3", "2"]),
        ("fn f(x) { x < 2 }", "x=1", &["gives bool"]),
        ("fn f(x) { f(x) }", "x=1", &["deep"]),
        ("fn f(x) { ln(x) }", "x=-1", &["--allow-nonfinite", "`ln` of -1.0 is NaN", "[-e:1:11]"]),
        ("fn f(x) { cos(sqrt(x)) }", "x=0", &["in the derivative, `mul` of", "[-e:1:15]"]),
        ("", "x=1", &["no function"]),
    ] {
        folder.run(&["diff", "-e", source, "--at", at]).fails(1, words);
    }
    let endless = "fn f(x) { let mut y = x; while y > 0 { y += 1; } y }";
    folder.run(&["diff", "-e", endless, "--at", "x=1", "--max-steps", "1e5"]).fails(1, &["steps"]);
    folder.run(&["diff"]).fails(2, &[]);
    folder
        .run(&["diff", "-e", "fn f(x) { x }", "--at", "x=1", "--order", "3"])
        .fails(2, &["order"]);
}

/// Values that a program holds while it runs keep to the limit, and the error has its position.
#[test]
fn the_memory_limit_holds_while_a_program_runs() {
    let array = "fn f(x) {\n  let mut xs = [x; 100000];\n  for i in 0..1000 { xs = sin(xs); }\n  sum(xs)\n}";
    let numbers = "fn f(x) { let mut y = x; for i in 0..100000000 { y = sin(y); } y }";
    let folder = Folder::new();
    folder.file("long.kg", array);
    for verb in ["diff", "check"] {
        let words: &[&str] = &["781 KiB does not fit into the memory limit", "long.kg:3"];
        folder.run(&[verb, "long.kg", "--at", "x=1", "--memory-limit", "60MB"]).fails(1, words);
    }
    let limit = ["--at", "x=1", "--memory-limit", "64MiB"];
    let words = ["beyond the memory limit of 64 MiB", "-e:1:"];
    folder.run(&[&["diff", "-e", numbers][..], &limit].concat()).fails(1, &words);
    folder.run(&["diff", "long.kg", "--at", "x=1", "--memory-limit", "1GB", "--json"]).done();

    let many = format!("xs=[{}]", vec!["1"; 2000].join(","));
    let hessian = ["diff", "-e", "fn f(xs: array) { sum(xs * xs) }", "--order", "2", "--at", &many];
    folder
        .run(&[&hessian[..], &["--memory-limit", "100MB"]].concat())
        .fails(1, &["the Hessian needs 763 MiB"]);
}

#[test]
fn complex_numbers_are_written_as_everywhere() {
    let folder = Folder::new();
    let source = "fn f(z: complex) { abs2(z - complex(3, 4)) + re(z * z) }";
    for (text, z) in [
        ("1+2i", (1.0, 2.0)),
        ("-1.5e-3 - 2e+1j", (-1.5e-3, -20.0)),
        ("complex(1, 2)", (1.0, 2.0)),
        ("i", (0.0, 1.0)),
        ("2-i", (2.0, -1.0)),
        ("3i", (0.0, 3.0)),
        ("-0.5j", (0.0, -0.5)),
        ("pi", (std::f64::consts::PI, 0.0)),
        ("pi/2+0.5i", (std::f64::consts::FRAC_PI_2, 0.5)),
    ] {
        let value = (z.0 - 3.0f64).powi(2) + (z.1 - 4.0f64).powi(2) + z.0 * z.0 - z.1 * z.1;
        let found =
            folder.run(&["diff", "-e", source, "--at", &format!("z={text}"), "--json"]).json();
        assert!((found["value"].as_f64().unwrap() - value).abs() < 1e-12, "{text}: {found}");
    }
    for text in ["1+2k", "1++2i", "xi", "1+2i i", "e5i"] {
        folder.run(&["diff", "-e", source, "--at", &format!("z={text}")]).fails(1, &["--at:1:"]);
    }
}

/// A NumPy file as NumPy writes it.
fn npy(descr: &str, fortran: bool, shape: &str, numbers: impl IntoIterator<Item = f64>) -> Vec<u8> {
    let fortran = if fortran { "True" } else { "False" };
    let header =
        format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend(header.as_bytes());
    for x in numbers {
        if descr == "<i8" {
            bytes.extend((x as i64).to_le_bytes())
        } else {
            bytes.extend(x.to_le_bytes())
        }
    }
    bytes
}

#[test]
fn arrays_of_a_point_come_from_files() {
    let folder = Folder::new();
    let rows = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
    folder.file("rows.npy", npy("<f8", false, "(2, 3)", rows));
    folder.file("columns.npy", npy("<f8", true, "(2, 3)", [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]));
    folder.file("deep.npy", npy("<f8", true, "(2, 1, 2)", [1.0, 3.0, 2.0, 4.0]));
    folder.file("ints.npy", npy("<i8", false, "(2,)", [7.0, -2.0]));
    folder.file("complex.npy", npy("<c16", true, "(1, 2)", [3.0, 4.0, 5.0, 6.0]));
    folder.file("number.npy", npy("<f8", false, "()", [1.0]));
    folder.file("cut.npy", npy("<f8", false, "(2, 3)", [1.0]));
    folder.file("empty.npy", npy("<f8", true, "(1152921504606846976, 0)", []));
    folder.file("large.npy", npy("<i8", false, "(1,)", [18_014_398_509_481_984.0]));
    let run = |source: &str, at: &str| folder.run(&["diff", "-e", source, "--at", at, "--json"]);
    let source = "fn f(m: array) { dot(row(m, 0), row(m, 1)) }";
    let gradient = json!({
        "m[0,0]": 4.0, "m[0,1]": 5.0, "m[0,2]": 6.0, "m[1,0]": 1.0, "m[1,1]": 2.0, "m[1,2]": 3.0,
    });
    let by_hand = run(source, "m=[[1,2,3],[4,5,6]]").json();
    for file in ["rows.npy", "columns.npy"] {
        let d = run(source, &format!("m=@{file}")).json();
        assert_eq!((&d["value"], &d["gradient"]), (&json!(32.0), &by_hand["gradient"]), "{file}");
    }
    assert_eq!(by_hand["gradient"], gradient);
    let d = run("fn f(m: array) { sum(m * [[[1, 10]], [[100, 1000]]]) }", "m=@deep.npy").json();
    assert_eq!(d["value"], json!(4321.0));
    let d = run("fn f(x, ns: array<int>) { x * real(ns[0] + ns[1]) }", "x=3,ns=@ints.npy").json();
    assert_eq!((&d["value"], &d["gradient"]), (&json!(15.0), &json!({"x": 5.0})));
    let source = "fn f(zs: array<complex>) { abs2(row(zs, 0)[0]) + 10.0 * abs2(row(zs, 0)[1]) }";
    assert_eq!(run(source, "zs=@complex.npy").json()["value"], json!(635.0));
    assert_eq!(
        run("fn f(zs: array<complex>) { abs2(zs[1]) }", "zs=@ints.npy").json()["value"],
        json!(4.0)
    );
    // What fits another kind too.
    assert_eq!(run("fn f(xs: array) { sum(xs) }", "xs=@ints.npy").json()["value"], json!(5.0));
    let sum = "fn f(xs: array) { sum(xs) }";
    let of_ints = "fn f(x, ns: array<int>) { x * real(ns[0]) }";
    for (source, at, words) in [
        (sum, "xs=@nowhere.npy", &["nowhere.npy"][..]),
        (sum, "xs=@complex.npy", &["`xs`", "real numbers", "complex.npy"]),
        (sum, "xs=@number.npy", &["`xs`", "an array", "number.npy"]),
        (sum, "xs=@cut.npy", &["cut.npy", "cut off"]),
        (sum, "xs=@empty.npy", &["empty.npy", "at most 268435456 numbers"]),
        (sum, "xs=@@rows.npy", &["cannot read @rows.npy"]),
        (of_ints, "x=1,ns=@rows.npy", &["`ns`", "integers", "rows.npy"]),
        (of_ints, "x=1,ns=@large.npy", &["`ns`", "2^53", "large.npy"]),
        ("fn f(x) { x }", "x=@rows.npy", &["`x`", "a number"]),
    ] {
        run(source, at).fails(1, words);
    }
}

#[test]
fn a_point_may_be_infinite_if_it_is_said_so() {
    let d = diff("fn f(x, y) { 2.0 * x + min(y, 3.0) }", &["--at", "x=1,y=inf"]);
    assert_eq!((&d["value"], &d["gradient"]), (&json!(5.0), &json!({"x": 2.0, "y": 0.0})));
    let d = diff("fn f(xs: array) { select(xs[1] < 0.0, xs[0], 7.0) }", &["--at", "xs=[2,-inf]"]);
    assert_eq!(d["value"], json!(2.0));
    let d = diff("fn f(x, y) { select(y == y, 1.0, 2.0 * x) }", &["--at", "x=4,y=nan"]);
    assert_eq!(d["value"], json!(8.0));
    for at in ["x=1e999", "x=-1e999", "x=infinite", "x=NaNs"] {
        Folder::new()
            .run(&["diff", "-e", "fn f(x) { x }", "--at", at])
            .fails(1, &["a number such as"]);
    }
}

#[test]
fn long_loops_are_differentiated_in_a_budget_of_memory() {
    let source =
        "fn f(x, k, n: int) { let mut y = x; for i in 0..n { y = y + 0.001 * sin(y * k); } y * y }";
    let at = ["--at", "x=0.4,k=1.5,n=20000"];
    let whole = diff(source, &at);
    let little = diff(source, &[&at[..], &["--memory-budget", "40KB"]].concat());
    assert_eq!(whole["value"], little["value"]);
    for by in ["x", "k"] {
        let [a, b] = [&whole, &little].map(|d| d["gradient"][by].as_f64().unwrap());
        assert!((a - b).abs() < 1e-9 * a.abs(), "{by}: {a}, {b}");
    }
    assert!(
        little["memory"].as_u64().unwrap() <= 40_000
            && little["repeated_rounds"].as_u64().unwrap() > 0
    );
    // Constants, and parameters of which no derivative is asked.
    let one = diff(source, &[&at[..], &["--memory-budget", "40KB", "--by", "k"]].concat());
    assert_eq!(
        (&one["gradient"]["k"], &one["gradient"]["x"]),
        (&little["gradient"]["k"], &json!(null))
    );
    let folder = Folder::new();
    let run = |rest: &[&str]| folder.run(&[&["diff", "-e", source][..], &at, rest].concat());
    run(&["--memory-budget", "100"]).fails(1, &["more than the budget of 100"]);
    run(&["--memory-budget", "1MB", "--order", "2"]).fails(2, &["leave out --order 2"]);
    let none =
        folder.run(&["diff", "-e", "fn f(x) { x * x }", "--at", "x=1", "--memory-budget", "1MB"]);
    none.fails(1, &["`f` has no loop of its own"]);
    let pair =
        folder.run(&["diff", "-e", "fn f(x) { (x, x) }", "--at", "x=1", "--memory-budget", "1MB"]);
    pair.fails(1, &["--memory-budget is for a function that gives one real number"]);
}

#[test]
fn points_come_from_one_file() {
    let folder = Folder::new();
    let source = "struct P { s: real, w: array } fn f(x, n: int, flag: bool, z: complex, p: P, q: (real, real), m: array) {
        let y = if flag { x } else { 0.0 }; y * real(n) * p.s + sum(p.w) + q.0 * q.1 + abs2(z) + sum(m) }";
    folder.file("f.kg", source);
    folder.file(
        "at.json",
        r#"{"x": 2, "n": 3, "flag": true, "z": "1+2i", "p": {"w": [1, "pi"], "s": 0.5}, "q": [3, -1.5e0], "m": [[1, 2], [3, 4]]}"#,
    );
    let by_hand = [
        "diff",
        "f.kg",
        "--json",
        "--at",
        "x=2,n=3,flag=true,z=1+2i,p=(0.5,[1,pi]),q=(3,-1.5),m=[[1,2],[3,4]]",
    ];
    let by_hand = folder.run(&by_hand).json();
    let from_file = folder.run(&["diff", "f.kg", "--json", "--params", "at.json"]).json();
    assert_eq!(
        (&from_file["value"], &from_file["gradient"]),
        (&by_hand["value"], &by_hand["gradient"])
    );
    assert_eq!(from_file["gradient"]["p.s"], json!(6.0));
    // --at wins.
    let run = |rest: &[&str]| {
        folder.run(&[&["diff", "f.kg", "--json", "--params", "at.json"], rest].concat())
    };
    assert_eq!(run(&["--at", "x=4,q=(0,0)"]).json()["gradient"]["p.s"], json!(12.0));
    folder.run(&["check", "f.kg", "--params", "at.json"]).done();
    // NumPy: real numbers in order, what --at gives left out; or the one array.
    folder.file("three.npy", npy("<f8", false, "(3,)", [1.0, 2.0, 3.0]));
    folder.file("rows.npy", npy("<f8", false, "(3, 1)", [1.0, 2.0, 3.0]));
    let numbers = "fn f(a, b, n: int, c) { a + 10.0 * b + 100.0 * c + real(n) }";
    let table = |source: &str, file: &str, at: &str| {
        folder.run(&["diff", "-e", source, "--params", file, "--at", at, "--json"])
    };
    assert_eq!(table(numbers, "three.npy", "n=1000").json()["value"], json!(1321.0));
    let array = "fn f(x, m: array) { x * sum(m) * real(dim(m, 0)) }";
    assert_eq!(table(array, "rows.npy", "x=2").json()["value"], json!(36.0));
    table(numbers, "three.npy", "a=1").fails(1, &["three.npy", "`n` is of kind int", "JSON"]);
    table(numbers, "three.npy", "a=1,n=2").fails(1, &["[3]", "expected 2 real numbers"]);
    table(numbers, "rows.npy", "n=2").fails(1, &["[3, 1]", "expected 3 real numbers"]);
    for (text, words) in [
        (r#"{"x": 1, "x": 2}"#, &["twice", "`x`"][..]),
        (r#"{"y": 1}"#, &["no parameter `y`"]),
        (r#"{"x": 1}"#, &["no value for 6 parameters: n, flag, z, p, q, m", "--params"]),
        (r#"{"p": {"s": 1}}"#, &["`p` has no field `w`"]),
        (r#"{"p": {"s": 1, "w": [], "t": 1}}"#, &["`p`", "no other field `t`"]),
        (r#"{"x": {"s": 1}}"#, &["`x`", "no other field `s`"]),
        (r#"{"x": "one"}"#, &["bad.json", "`x` is of kind real"]),
        (r#"{"n": 1.5}"#, &["`n` is of kind int"]),
        (r#"{"m": [[1, 2], [3]]}"#, &["`m`", "2 elements here"]),
        ("[1, 2]", &["bad.json", "expected an object"]),
        (r#"{"x": "#, &["bad.json"]),
    ] {
        folder.file("bad.json", text);
        folder.run(&["diff", "f.kg", "--params", "bad.json"]).fails(1, words);
    }
    folder.run(&["diff", "f.kg", "--params", "missing.json"]).fails(1, &["missing.json"]);
    folder.run(&["check", "f.kg", "--params", "missing.json"]).fails(1, &["missing.json"]);
}
