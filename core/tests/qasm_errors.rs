//! Errors are told with their position and what would be right.

#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::qasm::{Failed, QasmOptions, QasmProblem, Severity, parse};

fn fail(source: &str) -> Failed {
    match parse(source, &QasmOptions::default()) {
        Err(failed) => failed,
        Ok(parsed) => panic!("accepted:\n{source}\n{}", parsed.circuit),
    }
}

/// The errors of a file, one per line as `line:column message`, and the help in brackets.
fn errors(source: &str) -> String {
    let failed = fail(source);
    let mut lines = Vec::new();
    for error in failed.diagnostics.iter().filter(|d| d.severity == Severity::Error) {
        let at = error.labels.first().map_or(String::new(), |label| {
            let (line, column) = failed.sources[label.source].line_column(label.span.start);
            format!("{line}:{column} ")
        });
        let help = error.help.as_ref().map_or(String::new(), |h| format!(" [{h}]"));
        lines.push(format!("{at}{}{help}", error.message));
    }
    lines.join("\n")
}

fn v2(body: &str) -> String {
    errors(&format!(
        "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[3]; qreg r[2]; creg c[2];\n{body}"
    ))
}

fn v3(body: &str) -> String {
    errors(&format!(
        "OPENQASM 3.0; include \"stdgates.inc\"; qubit[3] q; qubit a; bit[2] c; input float theta;\n{body}"
    ))
}

/// Arrays take memory for each element, whatever their shape is.
#[test]
fn arrays_beyond_what_is_kept() {
    let limit = "elements: at most 1048576 are kept";
    assert_eq!(v3("array[int[8], 3000, 3000] t;"), format!("2:15 an array of 3000 x 3000 {limit}"));
    assert_eq!(v3("array[float, 1048577] t;"), format!("2:14 an array of 1048577 {limit}"));
    assert_eq!(
        v3("array[bool, 4294967296, 4294967296] t;"),
        format!("2:13 an array of 4294967296 x 4294967296 {limit}")
    );
    assert_eq!(v3("array[int, -1] t;"), format!("2:12 an array of -1 {limit}"));
    let many: String = (0..9).map(|k| format!("array[int, 700000] t{k}; ")).collect();
    assert!(v3(&many).contains("elements in all"), "{}", v3(&many));
}

/// Declarations of a block are counted before they take memory.
#[test]
fn registers_in_blocks_beyond_the_limit() {
    for (body, count) in [
        ("for int i in [0:0] { bit[4000000000] a; }", 4_000_000_000u64),
        ("{ bit[4000000000] a; }", 4_000_000_000),
        ("c[0] = measure a; if (c[0]) { bit[4000000000] d; }", 4_000_000_001),
        ("int k = 1; while (k > 0) { bit[4000000000] d; k = 0; }", 4_000_000_000),
        ("def f(qubit p) { bit[4000000000] d; } f(a);", 4_000_000_000),
        ("for int i in [0:3] { bit[4000000000] a; }", 16_000_000_000),
        ("for int i in [0:2] { { bit[2] b; } bit[4000000000] d; }", 12_000_000_006),
    ] {
        let message = format!("{count} operations after expansion; at most 100000000 are allowed");
        let given = v3(body);
        assert!(given.contains(&message), "{body}: {given}");
    }
    let text = "OPENQASM 3; qubit q; for int i in [0:0] { bit[5000] a; }";
    let few = parse(text, &QasmOptions::default().with_max_gates(1000)).unwrap_err();
    assert!(few.to_string().contains("5000 operations after expansion; at most 1000"), "{few}");
    assert!(parse(text, &QasmOptions::default().with_max_gates(5000)).is_ok());
}

/// Arrays that measurements decide have a copy for each of their values.
#[test]
fn values_of_arrays_are_counted() {
    let text = "array[int, 100000] t; for int i in [0:9] { c[0] = measure a; if (c[0]) { t[i] = 1; } } rx(t[3]) a;";
    assert!(v3(text).contains("elements in all"), "{}", v3(text));
    let ones = "1, ".repeat(200);
    assert!(v3(&format!("array[int, {ones}1] t;")).contains("at most 16 dimensions"));
    let copies: String = (0..9).map(|k| format!("array[float, 700000] t{k} = n; ")).collect();
    assert!(v3(&format!("array[int, 700000] n; {copies}")).contains("elements in all"));
}

#[test]
fn messages_do_not_repeat_long_names() {
    let long = "a".repeat(200_000);
    for text in [
        format!("x {long};"),
        format!("{long} q[0];"),
        format!("gate {long} b {{ rx({long}) b; }}"),
    ] {
        let given = v3(&text);
        assert!(given.len() < 20_000 && given.contains('…'), "{}", given.len());
    }
}

#[test]
fn widths_of_types_are_looked_at_where_they_are_declared() {
    for width in ["0", "129", "4000000000", "-1"] {
        for (before, ty, after) in [
            ("", "angle", " t;"),
            ("", "angle", " t; t[0] = measure a;"),
            ("", "angle", " t = pi;"),
            ("", "int", " t;"),
            ("", "uint", " t = 1;"),
            ("input ", "angle", " t;"),
            ("const ", "angle", " t = 1;"),
            ("def f(", "angle", " t) { }"),
            ("def f(", "int", " t) { }"),
            ("def f() -> ", "angle", " { return 1.0; }"),
            ("array[", "angle", ", 2] t;"),
            ("input array[", "angle", ", 2] t;"),
            ("def f(readonly array[", "angle", ", 2] t) { }"),
        ] {
            let line = format!("{before}{ty}[{width}]{after}");
            let given = v3(&line);
            let first = given.lines().next().unwrap();
            assert!(first.starts_with("2:"), "{line}: {given}");
            assert!(first.contains(&format!("1 to 128 bits, not {width}")), "{line}: {given}");
        }
    }
    for line in ["float[0] t;", "float[17] t;", "input float[8] t;", "def f(float[31] t) { }"] {
        assert!(v3(line).contains("a float of 16, 32, 64 or more"), "{line}: {}", v3(line));
    }
}

#[test]
fn arrays_without_elements_have_no_other_length_beyond_the_limit() {
    for line in ["array[int, 0, 4000000000] t;", "array[int, 4000000000, 0] t;"] {
        assert!(v3(line).contains("at most 1048576 are kept"), "{line}: {}", v3(line));
    }
}

#[test]
fn a_measured_divisor_is_warned_of() {
    let warnings = |line: &str| {
        let source = format!("OPENQASM 3; qubit[3] q; bit[3] c; c = measure q; int z = 0; {line}");
        let parsed = parse(&source, &QasmOptions::default()).unwrap();
        parsed.warnings.iter().filter(|w| *w.problem == QasmProblem::MeasuredDivisor).count()
    };
    assert_eq!(warnings("z = 3 / int[4](c);"), 1);
    assert_eq!(warnings("z = 3 % (int[4](c) + 1);"), 1);
    assert_eq!(warnings("z = int[4](c) / 3;"), 0);
}

#[test]
fn syntax() {
    assert_eq!(
        errors(""),
        "1:1 the file is empty [a circuit begins with `OPENQASM 3.0;` and declares `qubit[2] q;`]"
    );
    assert!(errors("// nothing\n").starts_with("1:1 the file is empty"));
    assert_eq!(v2("h q[0]\ncx q[0],q[1];"), "2:7 missing `;`");
    assert_eq!(v2("h q[0] cx q[0],q[1];"), "2:8 expected `;`, found `cx`");
    assert_eq!(v2("h q[0;"), "2:6 expected `]`, found `;`");
    assert_eq!(v2("rx(0.1 q[0];"), "2:8 expected `)`, found `q`");
    assert_eq!(v2("rx() q[0];"), "2:1 `rx` takes 1 parameter, not 0");
    assert_eq!(v2("gate g a { h a; "), "2:10 `{` is never closed");
    assert_eq!(v2("} h q[0];"), "2:1 expected a statement, found `}`");
    assert_eq!(v2("/* h q[0];"), "2:1 the comment has no closing `*/`");
    assert_eq!(v2("include \"x.inc;\nh q;"), "2:9 the string has no closing quote");
    assert_eq!(v2("h \u{1}\u{2} q;"), "2:3 unexpected character '\\u{1}'");
    assert_eq!(v2("rx(0x) q[0];"), "2:4 `0x` is not a number");
    assert_eq!(v3("qubit gate;"), "2:7 `gate` is a keyword and cannot be a name");
    assert_eq!(
        errors("OPENQASM 4.2; qubit q;"),
        "1:10 OpenQASM 4.2 is not known here; 2.0, 3.0 and 3.1 are"
    );
    assert_eq!(v2("OPENQASM 2.0;"), "2:1 the `OPENQASM` line must come first, and only once");
    assert_eq!(
        v2("qubit[2] x;"),
        "2:1 gate `qubit` is not defined [`qubit` is OpenQASM 3, but this file is OpenQASM 2: change the first line]"
    );
}

#[test]
fn nesting_is_limited() {
    let deep = |n: usize| format!("rx({}1{}) q[0];", "(".repeat(n), ")".repeat(n));
    assert_eq!(v2(&deep(5000)), "2:260 nested more than 256 levels deep");
    assert!(
        parse(
            &format!("OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; {}", deep(200)),
            &QasmOptions::default()
        )
        .is_ok()
    );
    assert!(v3(&format!("rx({}1) q[0];", "-".repeat(100_000))).contains("nested more than 256"));
    assert!(v3(&format!("rx(2{}) q[0];", "**2".repeat(100_000))).contains("nested more than 256"));
    assert!(v3(&"{".repeat(100_000)).contains("nested more than 256"));
    assert!(v3(&"if (true) ".repeat(100_000)).contains("nested more than 256"));
    assert!(
        v3(&format!("{} x q[0];", "inv @ ".repeat(100_000))).contains("expected fewer modifiers")
    );
    // Just below the limit all runs, on the small stack of a test.
    let sines = format!("rx({}0.1{}) q[0];", "sin(-".repeat(120), ")".repeat(120));
    let mut tower = format!(
        "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1];\ngate g0(t) a {{ rx(t) a; }}\n{sines}\n"
    );
    for k in 1..256 {
        tower += &format!("gate g{k}(t) a {{ g{}(t/3) a; }}\n", k - 1);
    }
    assert!(parse(&format!("{tower} g255(pi) q[0];"), &QasmOptions::default()).is_ok());
    // Long is not deep.
    let long = format!(
        "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; rx(0{}) q[0];",
        "+1".repeat(100_000)
    );
    assert!(parse(&long, &QasmOptions::default()).is_ok());
    let mut tower = String::from("gate g0 a { x a; }\n");
    for k in 1..400 {
        tower += &format!("gate g{k} a {{ g{} a; }}\n", k - 1);
    }
    assert!(v2(&tower).contains("nested more than 256"));
}

#[test]
fn names() {
    assert_eq!(
        v2("hh q[0]; hh q[1]; hh q[2];"),
        "2:1 gate `hh` is not defined [did you mean `h`?]"
    );
    assert_eq!(v2("h qq[0]; h qq[1];"), "2:3 `qq` is not declared [did you mean `q`?]");
    assert_eq!(
        errors("OPENQASM 2.0; qreg q[1]; h q[0];"),
        "1:26 gate `h` is not defined [it is in a standard file: add `include \"qelib1.inc\";`]"
    );
    assert_eq!(v3("rzzz(0.1) q[0], q[1];"), "2:1 gate `rzzz` is not defined");
    assert_eq!(
        v2("qubit x;"),
        "2:1 gate `qubit` is not defined [`qubit` is OpenQASM 3, but this file is OpenQASM 2: change the first line]"
    );
    assert_eq!(v2("qreg q[1];"), "2:6 `q` is declared twice");
    assert_eq!(v2("gate g a { h a; } gate g a { x a; }"), "2:24 `g` is declared twice");
    assert_eq!(v2("gate g a { g a; }"), "2:12 gate `g` is defined by itself (g -> g)");
    assert_eq!(
        v2("gate f a { g a; } gate g a { k a; } gate k a { f a; }"),
        "2:12 gate `g` is defined by itself (f -> g -> k -> f)\n2:30 gate `k` is defined by itself (g -> k -> f -> g)"
    );
    assert_eq!(v2("f q[0]; gate f a { h a; }"), "2:1 gate `f` is used before it is defined");
    assert_eq!(
        v2("opaque f(x) a; f(1) q[0];"),
        "2:16 gate `f` is opaque: there is no definition to run"
    );
    assert_eq!(v2("q q[0];"), "2:1 `q` is a quantum register, not a gate");
    assert_eq!(v2("h c[0];"), "2:3 `c` is a classical register, not a quantum register");
    assert_eq!(
        v2("measure q[0] -> r[0];"),
        "2:17 `r` is a quantum register, not a classical register"
    );
    assert_eq!(
        v2("gate g(alpha) a { rx(alhpa) a; }"),
        "2:22 `alhpa` is not declared [did you mean `alpha`?]"
    );
    assert_eq!(
        v2("gate g a { h q[0]; }"),
        "2:14 `q` is not declared [a gate definition sees only the qubits that it names itself]"
    );
    assert_eq!(
        v3("gate g x0 { rx(theta) x0; }"),
        "2:16 input `theta` is not visible within a gate definition [make it a parameter of the gate: `gate g(theta) …`]"
    );
    assert_eq!(
        v2("gate g a { measure a -> c[0]; }"),
        "2:12 this is not allowed in a gate definition"
    );
    assert_eq!(v2("gate bad a { nope a; } bad q[0]; bad q;"), "2:14 gate `nope` is not defined");
}

#[test]
fn operands() {
    assert_eq!(
        v2("h q[3];"),
        "2:3 index 3 is out of range: `q` has 3 elements [indices of `q` are 0 to 2]"
    );
    assert_eq!(
        v3("h q[-4];"),
        "2:5 index -4 is out of range: `q` has 3 elements [indices of `q` are 0 to 2]"
    );
    assert_eq!(v3("h a[0];"), "2:3 `a` is a single qubit and has no index");
    assert_eq!(v3("h q[2:0];"), "2:5 the selection is empty");
    assert_eq!(v3("x q[{2, 0, 2}];"), "2:5 `q[2]` is selected twice");
    assert_eq!(v3("let b = q[0:1] ++ q[1]; x b;"), "2:9 `q[1]` is selected twice");
    assert_eq!(v3("inv(2) @ s q[0];"), "2:4 expected `@`, found `(`");
    assert_eq!(v2("cx q[0],q[0];"), "2:9 qubit q[0] is used twice by `cx`");
    assert_eq!(v2("cx q,q[1];"), "2:6 qubit q[1] is used twice by `cx`");
    assert_eq!(v3("cx q[0:1], q[{2, 1}];"), "2:12 qubit q[1] is used twice by `cx`");
    assert_eq!(v2("cx q,r;"), "2:6 registers of 3 and 2 elements do not go together");
    assert_eq!(v2("measure q -> c;"), "2:9 registers of 3 and 2 elements do not go together");
    assert_eq!(v2("rx(1,2) q[0];"), "2:4 `rx` takes 1 parameter, not 2");
    assert_eq!(v2("ccx q[0],q[1];"), "2:5 `ccx` acts on 3 qubits, not 2");
    assert_eq!(v3("ctrl @ x q[0];"), "2:10 `x` acts on 2 qubits, not 1");
    assert_eq!(
        v3("ctrl(1000000000000) @ x q[0];"),
        "2:6 1000000000000 where a number of controls of at most 16777216 is needed"
    );
    assert_eq!(v3("ctrl(0) @ x q[0];"), "2:6 0 where a positive number of controls is needed");
    assert!(v3("ctrl(16777216) @ ctrl @ x q[0];").contains("at most 16777216"));
    for value in ["3", "nowhere"] {
        assert_eq!(
            v3(&format!("input float t = {value}; rx(t) q[0];")),
            "2:17 expected `;`, found an initial value \
             [an input gets its value from outside; a constant is declared with `const`]"
        );
    }
    // A gate is called what it is called in the file.
    for (call, name) in [("cu(theta, 1, 2, 3) q[0], q[1]", "cu"), ("u3(theta, 1, 2) q[0]", "u3")] {
        let error = v3(&format!("pow(1.5) @ {call};"));
        assert!(error.starts_with(&format!("2:1 `{name}` has no power 1.5")), "{error}");
    }
    assert_eq!(
        v3("h $1;"),
        "2:3 hardware qubits such as `$1` and declared qubits do not go together in one file"
    );
    assert_eq!(v2("qreg z[-1];"), "2:8 a register needs a size from 0 to 4294967295, not -1");
    assert_eq!(
        v2("qreg z[4294967296];"),
        "2:8 a register needs a size from 0 to 4294967295, not 4294967296"
    );
    assert_eq!(
        v2("qreg z[4294967295];"),
        "2:6 4294967300 qubits or bits in all; at most 4294967295 can be numbered"
    );
    assert_eq!(
        v2("qreg z[99999999999999999999999999999999999999999999]; h z;"),
        "2:8 a register needs a size from 0 to 4294967295, not 9999999999999999999999999999999999999999"
    );
}

#[test]
fn values() {
    assert_eq!(v2("rx(1/0) q[0];"), "2:4 division by zero");
    assert_eq!(v2("rx(pi/(1-1)) q[0];"), "2:4 division by zero");
    assert_eq!(v2("gate g(t) a { rx(pi/t) a; } g(0) q[0];"), "2:29 division by zero");
    assert_eq!(v2("rx(ln(0)) q[0];"), "2:4 the value is not a finite number");
    assert_eq!(v2("rx(1e999) q[0];"), "2:4 the value is not a finite number");
    assert_eq!(v2("rx(sqrt(-1)) q[0];"), "2:4 the value is not a finite number");
    assert_eq!(v3("rx(2**200) q[0];"), "2:4 the power does not fit");
    assert_eq!(v3("const int[8] n = 300;"), "2:18 300 in 8 bits does not fit");
    assert_eq!(v3("rx(\"01\") q[0];"), "2:4 a bit string where an angle is needed");
    assert_eq!(v3("rx(foo(1)) q[0];"), "2:4 function `foo` is not known");
    assert_eq!(v3("rx(sinn(1)) q[0];"), "2:4 function `sinn` is not known [did you mean `sin`?]");
    assert_eq!(v3("rx(sin(1, 2)) q[0];"), "2:4 `sin` takes 1 argument, not 2");
    assert_eq!(
        v3("rx(pi^2) q[0];"),
        "2:4 `^` does not work on an angle and an integer [in OpenQASM 3 `^` is exclusive or; a power is `**`]"
    );
    assert_eq!(v3("rx(floor(theta)) q[0];"), "2:4 the argument of `floor` must be a constant");
    assert_eq!(v3("const float x = theta; rx(x) q[0];"), "2:17 `x` must be a constant");
    assert!(
        v3("pow(theta) @ U(0.1, 0.2, 0.3) q[0];")
            .starts_with("2:1 `U` has no power whose exponent is a parameter")
    );
    assert_eq!(v3("qubit[theta] z;"), "2:7 the size of a register must be a constant");
    assert_eq!(
        v3("pow(0.5) @ U(theta, 0, 0) q[0];"),
        "2:1 `U` has no power 0.5: only rotations keep their parameters under a fractional power"
    );
}

#[test]
fn what_does_not_run_is_named() {
    for call in ["f(1);", "if (f(1) == 2) x a;", "rx(f(1)) a;", "c[0] = f(c);", "int k = f(q[0]);"]
    {
        let message = v3(&format!("extern f(int) -> int; {call}"));
        assert!(
            message.contains("`f` is an external function: there is nothing to run"),
            "{call}: {message}"
        );
    }
    for (text, what) in [
        ("c = rotl(c, c);", "2:5 a rotation by a measured number"),
        ("if (int[1](c) == 0) x a;", "2:5 this cast of classical bits"),
        ("gate g a { if (c == 1) x a; }", "2:12 `if` in a gate definition"),
    ] {
        assert_eq!(
            v3(text).split(" [").next().unwrap(),
            format!("{what} is not in this version"),
            "{text}"
        );
    }
}

#[test]
fn what_is_written_in_other_languages_is_named() {
    let error = v3("float x = c[0] ? 0.5 : 0.25;");
    assert!(
        error.contains("unexpected character '?' [OpenQASM has no `a ? b : c`: declare a variable"),
        "{error}"
    );
}

#[test]
fn one_register_is_measured() {
    assert_eq!(
        v3("c = measure q ++ a;"),
        "2:15 expected one register to measure; `let all = a ++ b;` makes one of two, found `++`"
    );
}

#[test]
fn pulses_are_named() {
    assert_eq!(
        v3("cal { waveform w = constant(1.0, 8dt);\n play(drive($0), w); }"),
        "3:2 `play` sends pulses, which are not simulated [say what it does to the qubits by gates]"
    );
    assert!(v3("cal { bit b = capture_v2(m, w); }").contains("`capture_v2` sends pulses"));
    assert_eq!(
        v3("defcal x90 $0 { play(d0, w); }\nx90 a;"),
        "3:1 gate `x90` is not defined [a `defcal` says how hardware does it: say what it does, `gate x90 … { … }`]"
    );
}

#[test]
fn some_statements_stand_in_no_block() {
    for (text, what) in [
        ("if (c == 1) { gate g a { x a; } }", "2:15 a gate definition"),
        ("if (c == 1) { qubit d; }", "2:15 a declaration of qubits"),
        ("{ include \"stdgates.inc\"; }", "2:3 `include`"),
        ("{ def f() { } }", "2:7 a subroutine"),
        ("for int i in [0:2] { input angle t; }", "2:22 an input"),
    ] {
        assert_eq!(v3(text), format!("{what} is not allowed within a block"), "{text}");
    }
}

#[test]
fn conditions() {
    assert_eq!(v3("if (d == 1) x a;"), "2:5 `d` is not declared");
    assert_eq!(v3("if (q == 1) x a;"), "2:5 `q` is a quantum register, not a value");
    assert_eq!(
        v3("if (c[2] == 1) x a;").split(" [").next().unwrap(),
        "2:7 index 2 is out of range: `c` has 2 elements"
    );
    assert_eq!(
        v3("if (c == \"011\") x a;"),
        "2:5 registers of 2 and 3 elements do not go together"
    );
    assert_eq!(v3("if (c == 0.5) x a;"), "2:5 `==` does not work on a bit string and a number");
    assert_eq!(
        v3("if (theta) x a;"),
        "2:5 an expression in parameters where a condition is needed"
    );
    assert_eq!(v3("if (1.5) x a;"), "2:5 a number where a condition is needed");
    assert_eq!(v3("if (c == 1) { h a[0]; foo a; } else { x q[7]; }").lines().count(), 3);
    assert_eq!(v3("if (nope) { foo a; } else { bar a; }").lines().count(), 1);
    assert_eq!(v3("if (sin(c) == 1) x a;"), "2:5 a bit string where a number is needed");
    assert!(v2(&format!("if (c == {}) x q[0];", "9".repeat(10_001))).contains("does not fit"));
    assert!(v3("c = 4;").contains("2:5 this number in 2 bits does not fit"), "{}", v3("c = 4;"));
    assert_eq!(v3("c = true;"), "2:5 registers of 1 and 2 elements do not go together");
    assert_eq!(v3("c[0] = c;"), "2:8 registers of 2 and 1 elements do not go together");
    assert_eq!(v3("q = 1;"), "2:1 `q` is a quantum register, not a classical register");
    assert_eq!(v3("const int n = 1; n = 2;"), "2:18 `n` is a constant, not a classical register");
    assert_eq!(v3("let z = q ++ c;"), "2:9 `++` does not work on qubits and classical bits");
    assert_eq!(v3("let z = q + q;"), "2:9 `+` does not work on registers");
    assert_eq!(
        v3("let z = q[0:5]; h z;").split(" [").next().unwrap(),
        "2:13 index 5 is out of range: `q` has 3 elements"
    );
    assert_eq!(
        v3("let z = 3;").split(", found").next().unwrap(),
        "2:9 expected registers, parts of them or concatenations"
    );
    assert_eq!(v3("let z = q; let z = q;"), "2:16 `z` is declared twice");
    // What never can be is a warning.
    let text = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1]; creg c[2]; if (c == 4) x q[0];";
    let parsed = parse(text, &QasmOptions::default()).unwrap();
    let messages: Vec<&str> = parsed.warnings.iter().map(|w| w.message.as_str()).collect();
    assert_eq!(messages, ["2 bits cannot hold this number: the comparison is always false"]);
    assert_eq!(parsed.circuit.instructions().len(), 1);
}

#[test]
fn sizes_are_counted_before_anything_is_built() {
    let mut tower = String::from("gate g0 a,b { cx a,b; h a; }\n");
    for k in 1..50 {
        tower += &format!("gate g{k} a,b {{ g{0} a,b; g{0} b,a; }}\n", k - 1);
    }
    assert_eq!(
        v2(&format!("{tower}g49 q[0],q[1];")).lines().last().unwrap(),
        "52:1 1125899906842624 operations after expansion; at most 100000000 are allowed"
    );
    assert!(
        v2(&format!("{tower}g49 q[0],q[1]; {}", "g49 q[0],q[1];".repeat(20_000)))
            .contains("or more operations")
    );
    let wide = "OPENQASM 2.0; include \"qelib1.inc\"; qreg q[1000000000];";
    assert!(parse(wide, &QasmOptions::default()).is_ok());
    for body in [
        "h q;",
        "barrier q;",
        "creg c[1000000000]; measure q -> c;",
        "cx q[0], q;",
        "rx(1) q; h q;",
    ] {
        let failed =
            fail(&format!("{wide} {}", body.replace("cx q[0], q", "qreg r[1]; cx r[0], q")));
        let found = failed
            .diagnostics
            .iter()
            .any(|d| matches!(*d.problem, QasmProblem::TooManyGates { .. }));
        assert!(found, "{body}: {failed}");
    }
    assert!(v3("pow(1000000000000) @ s q[0];").contains("1000000000000 operations"));
    assert!(
        v3("gate e x0 { } gate f x0 { pow(1000000000000000000) @ e x0; } f q[0]; h q[7];")
            .contains("index 7")
    );
    assert!(v3("input array[float, 1000000000000] w;").contains("parameters; at most"));
    let mut squares = String::from("gate g0(t) x0 { rx(t*t) x0; }\n");
    for k in 1..60 {
        squares += &format!("gate g{k}(t) x0 {{ g{}(t*t) x0; }}\n", k - 1);
    }
    assert!(v3(&format!("{squares} g59(theta) q[0];")).contains("more than 65536 characters"));
    let bits = "OPENQASM 3.0; include \"stdgates.inc\"; bit[1000000000] c; bit[1000000000] d; qubit[1000000000] q;";
    for body in [
        "c = 0;",
        "c = d;",
        "reset q;",
        "measure q;",
        "if (c == 0) h q[0];",
        "let e = c ++ d;",
        "if (c[0]) { c = measure q; }",
    ] {
        let failed = fail(&format!("{bits} {body}"));
        let found = failed.diagnostics.iter().any(|d| {
            matches!(
                *d.problem,
                QasmProblem::TooManyGates { .. }
                    | QasmProblem::LongCondition { .. }
                    | QasmProblem::TooManyElements { .. }
            )
        });
        assert!(found, "{body}: {failed}");
    }
    let sums = format!("if (c[0]{} == 1) x a;", " ^ c[1] ^ c[0]".repeat(40));
    assert!(v3(&sums).contains("the conditions, written out, read more than"));
    let few = QasmOptions::default().with_max_gates(3);
    let text = "OPENQASM 3.0; include \"stdgates.inc\"; qubit[2] q; h q; cx q[0], q[1]; z q[1];";
    assert_eq!(
        parse(text, &few).unwrap_err().to_string(),
        "<input>:1:71: 4 operations after expansion; at most 3 are allowed"
    );
}

#[test]
fn many_errors_are_shown_at_once_and_then_no_more() {
    assert_eq!(v2("h q[9];\nfoo q[0];\nrx(1/0) q[0]\nh q[8];").lines().count(), 5);
    assert_eq!(
        fail(&format!("OPENQASM 2.0;{}", "qreg q[0];".repeat(10_000))).diagnostics.len(),
        51
    );
    assert!(fail(&"\u{1} a ".repeat(10_000)).diagnostics.len() < 200);
}
