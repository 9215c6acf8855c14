//! Names and hints are the same wherever they are written: LaTeX of identifiers, operators between
//! their operands, and names that were probably meant.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use ketgrad_core::{
    circuit::{After, Circuit},
    draw,
    emit::emit_latex,
    exact::{ClosedForm, Form},
    exec::Derivatives,
    ir::Program,
    normal::ExprExt,
    notation::{did_you_mean, nearest_name},
    qasm::{QasmOptions, parse},
    scalar::{Real, Scalar},
    text::parse_program,
    trace::{Callee, Expr},
};

/// An identifier, and its LaTeX.
const NAMES: &[(&str, &str)] = &[
    ("x", r"x"),
    ("x1", r"x_{1}"),
    ("x_1", r"x_{1}"),
    ("x12", r"x_{12}"),
    ("x1_2", r"x_{1,2}"),
    ("x_1_2", r"x_{1,2}"),
    ("x_", r"x"),
    ("_x", r"\mathrm{\_x}"),
    ("theta_1", r"\theta_{1}"),
    ("theta1", r"\theta_{1}"),
    ("theta_phi", r"\theta_{\phi}"),
    ("upsilon", r"\upsilon"),
    ("omicron", r"o"),
    ("varphi", r"\varphi"),
    ("Gamma", r"\Gamma"),
    ("Gamma_2", r"\Gamma_{2}"),
    ("Omega", r"\Omega"),
    ("Alpha", r"\mathrm{A}"),
    ("Chi3", r"\mathrm{X}_{3}"),
    ("step_size", r"\mathrm{step}_{size}"),
    ("layer1_theta", r"\mathrm{layer}_{1,\theta}"),
    ("x_bar", r"\bar{x}"),
    ("x_bar_3", r"\bar{x}_{3}"),
    ("theta_dot", r"\dot{\theta}"),
    ("x_1_bar", r"\bar{x_{1}}"),
    ("x_bar_dot", r"\dot{\bar{x}}"),
    ("α", r"\alpha"),
    ("Γ_1", r"\Gamma_{1}"),
    ("Α", r"\mathrm{A}"),
    ("x_θ", r"x_{\theta}"),
    ("θφ", r"\text{$\theta$$\phi$}"),
    ("é", r"\text{é}"),
    ("größe_2", r"\text{größe}_{2}"),
];

fn in_amplitudes(name: &str) -> String {
    let mut circuit = Circuit::new(1);
    let angle = circuit.param(name);
    circuit.ry(0, angle * 2).unwrap();
    let text = ClosedForm::from_circuit(&circuit).unwrap().amplitude(0).unwrap().text(Form::Latex);
    let argument = text.strip_prefix(r"\cos\left(").and_then(|rest| rest.strip_suffix(r"\right)"));
    argument.unwrap_or_else(|| panic!("{text}")).to_owned()
}

fn in_drawings(name: &str) -> String {
    let mut circuit = Circuit::new(1);
    let angle = circuit.param(name);
    circuit.ry(0, angle).unwrap();
    let picture = draw::latex(&circuit, None);
    let (_, gate) = picture.split_once(r"\gate{R_{Y}(").unwrap();
    gate.split_once(")} & ").unwrap().0.to_owned()
}

fn in_programs(name: &str) -> String {
    let program = parse_program(&format!("fn f({name}) {{ {name} }}")).unwrap();
    let text = emit_latex(&program, program.lookup("f").unwrap()).unwrap();
    let (head, value) = text.lines().nth(1).unwrap().split_once(" &= ").unwrap();
    assert_eq!(head, format!("f({value})"));
    value.to_owned()
}

#[test]
fn an_identifier_has_the_same_latex_in_every_printer() {
    for &(name, latex) in NAMES {
        assert_eq!(in_amplitudes(name), latex, "{name} in an amplitude");
        assert_eq!(Expr::symbol(name).normal().unwrap().latex(), latex, "{name} in a normal form");
        assert_eq!(in_drawings(name), latex, "{name} in a drawing");
        // Emitted programs have other names for those that Rust may not have.
        if name.is_ascii() && !name.starts_with('_') {
            assert_eq!(in_programs(name), latex, "{name} in a program");
        }
    }
    // Program text has no brackets in names.
    for (name, latex) in [("w[2]", r"w_{2}"), ("theta_1[0]", r"\theta_{1,0}")] {
        assert_eq!(in_amplitudes(name), latex);
        assert_eq!(in_drawings(name), latex);
    }
}

#[test]
fn every_greek_letter_has_its_latex_by_name_and_as_a_character() {
    const LETTERS: &str = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi \
        omicron pi rho sigma tau upsilon phi chi psi omega";
    // Letters that look like Latin ones have no command.
    const LATIN: &str = "Alpha=A Beta=B Epsilon=E Zeta=Z Eta=H Iota=I Kappa=K Mu=M Nu=N Omicron=O \
        Rho=P Tau=T Chi=X";
    let latin = |name: &str| {
        let mut pairs = LATIN.split_whitespace().filter_map(|pair| pair.split_once('='));
        pairs.find(|(letter, _)| *letter == name).map(|pair| format!("\\mathrm{{{}}}", pair.1))
    };
    // In Unicode the final sigma lies between rho and sigma; there is no capital of it.
    let characters = |first: char| {
        let letters = (0..25).filter(|k| *k != 17);
        letters.map(move |k| char::from_u32(u32::from(first) + k).unwrap())
    };
    // With an index, since `pi` alone is the constant of formulas.
    let indexed = |letter: char| {
        let symbol = Expr::symbol(&format!("{letter}_1"));
        symbol.normal().unwrap().latex()
    };
    for (name, (small, large)) in
        LETTERS.split_whitespace().zip(characters('α').zip(characters('Α')))
    {
        let expected = if name == "omicron" { "o".to_owned() } else { format!("\\{name}") };
        assert_eq!(in_programs(name), expected);
        assert_eq!(indexed(small), format!("{expected}_{{1}}"), "{small}");
        let capital = name[..1].to_uppercase() + &name[1..];
        let expected = latin(&capital).unwrap_or_else(|| format!("\\{capital}"));
        assert_eq!(in_programs(&capital), expected);
        assert_eq!(indexed(large), format!("{expected}_{{1}}"), "{large}");
    }
    for name in ["varepsilon", "vartheta", "varpi", "varrho", "varsigma", "varphi"] {
        assert_eq!(in_programs(name), format!("\\{name}"));
    }
}

#[test]
fn a_function_has_the_same_latex_in_every_printer() {
    let x = Expr::symbol("x");
    for (name, of_x, latex) in [
        ("asin", x.asin(), r"\arcsin"),
        ("atan", x.atan(), r"\arctan"),
        ("asinh", x.asinh(), r"\operatorname{arsinh}"),
        ("log2", x.log2(), r"\log_2"),
        ("sinh", x.sinh(), r"\sinh"),
        ("erf", x.erf(), r"\operatorname{erf}"),
    ] {
        let expected = format!(r"{latex}\left(x\right)");
        let program = parse_program(&format!("fn f(x) {{ {name}(x) }}")).unwrap();
        let text = emit_latex(&program, program.lookup("f").unwrap()).unwrap();
        assert!(text.contains(&format!("&= {expected}\n")), "{text}");
        assert_eq!(of_x.normal().unwrap().latex(), expected);
    }
}

#[test]
fn the_parentheses_of_logic_in_latex_are_those_that_it_needs() {
    let line = |body: &str| {
        let source = format!("fn f(a: bool, b: bool, c: bool) {{ {body} }}");
        let program = parse_program(&source).unwrap();
        let text = emit_latex(&program, program.lookup("f").unwrap()).unwrap();
        text.lines().nth(1).unwrap().split_once(" &= ").unwrap().1.to_owned()
    };
    assert_eq!(line("and(or(a, b), c)"), r"\left(a \lor b\right) \land c");
    assert_eq!(line("and(c, or(a, b))"), r"c \land \left(a \lor b\right)");
    assert_eq!(line("or(and(a, b), c)"), r"a \land b \lor c");
    assert_eq!(line("or(c, and(a, b))"), r"c \lor a \land b");
    assert_eq!(line("not(or(a, b))"), r"\lnot \left(a \lor b\right)");
}

/// Strings that one insertion, deletion, substitution or swap of neighbours leads to.
fn edited(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let mut all = Vec::new();
    for k in 0..=letters.len() {
        let (before, after) = letters.split_at(k);
        let mut push = |middle: &[char], rest: &[char]| {
            all.push([before, middle, rest].concat().iter().collect::<String>());
        };
        for c in ['a', 'b', 'c'] {
            push(&[c], after);
            if let [_, rest @ ..] = after {
                push(&[c], rest);
            }
        }
        if let [first, second, rest @ ..] = after {
            push(&[*second, *first], rest);
        }
        if let [_, rest @ ..] = after {
            push(&[], rest);
        }
    }
    all
}

#[test]
fn a_name_is_near_within_a_third_of_its_length_in_edits() {
    let words = |n: u32| (0..3u32.pow(n)).map(move |code| word(code, n));
    fn word(code: u32, n: u32) -> String {
        (0..n).map(|k| ['a', 'b', 'c'][(code / 3u32.pow(k) % 3) as usize]).collect()
    }
    for given in (1..=3).flat_map(words).chain(words(6).step_by(41)) {
        let length = given.len();
        let once: HashSet<String> = edited(&given).into_iter().collect();
        let mut near = once.clone();
        if length == 6 {
            near.extend(once.iter().flat_map(|word| edited(word)));
        }
        for known in (1..=5).flat_map(words).chain(words(6).step_by(5)).chain(words(8).step_by(11))
        {
            let expected = known != given
                && (near.contains(&known) && (length > 1 || known.len() > 1)
                    || length > 1 && known.starts_with(&given));
            let found = nearest_name(&given, [&known]).is_some();
            assert_eq!(found, expected, "{given} and {known}");
        }
    }
}

#[test]
fn the_nearest_name_is_the_one_that_was_meant() {
    let known = ["theta", "phi", "lambda", "w[0]", "w[1]", "cnot", "beta", "zeta"];
    for (given, meant) in [
        ("tehta", Some("theta")),
        ("Theta", Some("theta")),
        ("CNOT", Some("cnot")),
        ("lam", Some("lambda")),
        ("labmda", Some("lambda")),
        ("w", Some("w[0]")),
        ("bta", Some("beta")),
        // Of two as near, the one that begins alike, then the first in the alphabet.
        ("zbeta", Some("zeta")),
        ("eta", Some("beta")),
        ("theta", None),
        ("l", None),
        ("momentum", None),
        ("", None),
    ] {
        assert_eq!(nearest_name(given, known), meant, "{given}");
        let reversed = known.into_iter().rev();
        assert_eq!(nearest_name(given, reversed), meant, "{given}, in another order");
    }
    // Names too long to compare.
    let long = "x".repeat(1 << 20);
    assert_eq!(nearest_name(&long, [long.clone() + "y"]), None);
}

#[test]
fn every_front_end_gives_the_same_hint_and_none_for_a_name_far_from_all() {
    let hints = |name: &str| -> Vec<String> {
        let program: Program = parse_program("fn measure(reset) { reset }").unwrap();
        let variable = parse_program(&format!("fn f(measure) {{ {name} }}")).unwrap_err();
        let function = parse_program(&format!("fn measure(x) {{ {name}(x) }}")).unwrap_err();
        let derivative = Derivatives::<f64>::new(&program, name).err().unwrap();
        let callee = Callee::new(&program, name).unwrap_err();
        let instruction = After::named([name]).unwrap_err();
        let text = format!(
            "OPENQASM 3.0;\nqubit q;\ngate measured a {{ U(0, 0, 0) a; }}\n{name}d q;\nreset q;\n"
        );
        let gate = parse(&text, &QasmOptions::default()).unwrap_err();
        let gate = gate.diagnostics[0].help.clone().unwrap_or_default().replace("ured`", "ure`");
        vec![
            variable.to_string(),
            function.to_string(),
            derivative.to_string(),
            callee.to_string(),
            instruction.to_string(),
            gate,
        ]
    };
    for hint in hints("mesure") {
        assert!(hint.ends_with(&did_you_mean("measure")), "{hint}");
    }
    for hint in hints("qqqqqqqq") {
        assert!(!hint.contains("did you mean"), "{hint}");
    }
}
