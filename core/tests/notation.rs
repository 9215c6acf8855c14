//! Hints are the same wherever they are written: names that were probably meant.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use ketgrad_core::{
    circuit::After,
    exec::Derivatives,
    ir::Program,
    notation::{did_you_mean, nearest_name},
    qasm::{QasmOptions, parse},
    text::parse_program,
    trace::Callee,
};

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
