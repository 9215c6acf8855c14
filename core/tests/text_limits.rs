//! Limits of texts and of what becomes of them: errors that give the position and the limit, in the
//! time that the text takes to be read.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    rules::Rules,
    text::{TextErrorKind, TextLimits, parse_program, parse_program_within},
};

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

/// The one error of a text.
fn refused(source: &str, limits: TextLimits) -> String {
    let errors = parse_program_within(source, &Rules::new(), &limits).unwrap_err();
    assert_eq!(errors.len(), 1, "{errors}");
    assert!(matches!(errors[0].kind, TextErrorKind::TooLarge { .. }), "{errors}");
    errors.to_string()
}

#[test]
fn a_program_of_a_hundred_thousand_lines_is_read() {
    let source =
        format!("fn f(x) {{ let mut y = x;\n{} y }}", "y = y * x + sin(y);\n".repeat(100_000));
    let program = parse_program(&source).unwrap();
    assert!(program.functions.values().map(|f| f.size()).sum::<usize>() >= 300_000);
}

#[test]
fn each_limit_is_named_where_it_is_met() {
    let source = "fn f(x) {\n    x * x + x\n}";
    let small = TextLimits::new();
    let error = refused(source, small.with_bytes(17));
    assert_eq!(error, "2:9: more than 17 bytes of text: split it, or raise `TextLimits::bytes`");
    assert_eq!(
        refused(source, small.with_tokens(8)),
        "2:9: more than 8 tokens of text: split it, or raise `TextLimits::tokens`"
    );
    let error = refused(source, small.with_size(2));
    assert!(error.starts_with("2:13: more than 2 instructions and operands: "), "{error}");
    assert!(error.ends_with("or raise `TextLimits::size`"), "{error}");
    // Exactly as much is read.
    let just = small.with_bytes(source.len()).with_tokens(13).with_size(16);
    assert!(parse_program_within(source, &Rules::new(), &just).is_ok());
}

/// The result of a line may be as large as all that came before.
#[test]
fn what_is_made_is_limited_where_the_text_is_short() {
    let fields = vec!["x"; 1000].join(", ");
    let tuple = format!(
        "fn f(x) {{ let mut t = ({fields});\n{} t.0 }}",
        lines(5000, |k| format!("t.{} = x;\n", k % 1000))
    );
    let wrapped = format!(
        "fn f(x) {{ let t = ({fields});\n{} x }}",
        lines(10_000, |k| format!("let a{k} = (t,);\n"))
    );
    let variables = lines(2000, |k| format!("let mut v{k} = x;\n"));
    let sum = (0..2000).map(|k| format!("v{k}")).collect::<Vec<_>>().join(" + ");
    let set = lines(2000, |k| format!("v{k} = 2.0 * x;\n"));
    let breaks = lines(2000, |k| format!("if x > {k}.0 {{ break; }}\n"));
    let joined = format!("fn f(x) {{ {variables} while x > 0.0 {{ {set}{breaks} }} {sum} }}");
    let returns = lines(20_000, |k| format!("if x > {k}.0 {{ return x; }}\n"));
    let looked_for = format!("fn f(x) {{ {variables}{returns}{sum} }}");
    let limits = TextLimits::new().with_size(2_000_000);
    for source in [tuple, wrapped, joined, looked_for] {
        let error = refused(&source, limits);
        assert!(error.contains("more than 2000000 instructions and operands"), "{error}");
    }
}

#[test]
fn structs_that_hold_each_other_are_settled_in_any_order() {
    let backwards =
        lines(20_000, |k| format!("struct S{k} {{ a: S{} }}\n", k + 1)) + "struct S20000 { x }";
    let error = parse_program(&backwards).unwrap_err().to_string();
    assert!(error.contains("structs inside each other: more than 64"), "{error}");
    let few = lines(60, |k| format!("struct S{k} {{ a: S{} }}\n", k + 1))
        + "struct S60 { x } fn f(s: S0) -> real { 1.0 }";
    assert!(parse_program(&few).is_ok());
    // Without a number in them, and with as many parts as a number can be of.
    let empty =
        lines(62, |k| format!("struct S{} {{ a: S{k}, b: S{k} }}\n", k + 1)) + "struct S0 { }";
    let error = parse_program(&empty).unwrap_err().to_string();
    assert!(error.contains("numbers in a struct: more than 10000"), "{error}");
    let tuples = format!(
        "fn f(x) {{ let a0 = ();\n{} x }}",
        lines(40, |k| format!("let a{} = (a{k}, a{k});\n", k + 1))
    );
    let error = parse_program(&tuples).unwrap_err().to_string();
    assert!(error.contains("at most 10000"), "{error}");
    // Many that hold the same one.
    let fields = lines(9_000, |k| format!("a{k}, "));
    let many =
        format!("struct S {{ {fields} }} {}", lines(2000, |k| format!("struct T{k} {{ s: S }}\n")));
    assert!(refused(&many, TextLimits::new()).contains("instructions and operands"));
}

#[test]
fn names_and_numbers_have_a_length() {
    let long = "a".repeat(1_000_000);
    assert_eq!(
        refused(&format!("fn {long}(x) {{ x }}"), TextLimits::new()),
        "1:4: more than 2000 bytes in a name: write a shorter one"
    );
    let digits = "1".repeat(1_000_000);
    let errors = parse_program(&format!("fn f(x) {{ x * {digits} + 0.{digits} }}")).unwrap_err();
    assert_eq!(
        errors[0].to_string(),
        "1:15: more than 2000 digits in a number: write a shorter one"
    );
    assert!(errors.to_string().len() < 1000);
    // As long as a number of 64 bits can be.
    let least = format!("{:.1074}", f64::from_bits(1));
    assert!(parse_program(&format!("fn f(x) {{ x * {least} }}")).is_ok());
}

#[test]
fn a_hundred_errors_are_told() {
    let texts = [
        "$".repeat(1_000_000),
        "fn ".repeat(100_000),
        format!("fn f(x) {{ {} x }}", "x + true;".repeat(10_000)),
        format!(
            "fn f(x) {{ {} {} x }}",
            lines(20_000, |k| format!("let name{k} = x;")),
            lines(20_000, |k| format!("let b{k} = nama{k};"))
        ),
        lines(10_000, |_| "fn f(x) { x }".to_owned()),
        lines(10_000, |k| format!("fn f{k}(x: reel) {{ x }}")),
        lines(10_000, |k| format!("fn f{k}() -> reel {{ 1.0 }}")),
        lines(10_000, |k| format!("struct S{k} {{ x: reel }}")),
        lines(10_000, |k| format!("fn f{k}(x: array) {{ sum([1.0, 2.0] + [1.0, 2.0, 3.0]) }}\n")),
    ];
    for text in texts {
        let errors = parse_program(&text).unwrap_err();
        assert_eq!(errors.len(), 101, "{}", errors[0]);
        assert!(
            errors[100].to_string().ends_with("more than 99 errors: mend these first"),
            "{}",
            errors[100]
        );
    }
}
