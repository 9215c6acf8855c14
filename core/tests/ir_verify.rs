//! The verifier: each invariant of the intermediate representation, broken by one edit of a program that keeps them all.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::ir::{Kind, parse, verify};

/// One of everything that has an invariant: calls, tuples, edges with arguments, a branch, a switch, rules.
const WHOLE: &str = "\
fn cube(x) -> real {
block0(v0: real):
    v1: real = mul v0, v0
    v2: real = mul v1, v0
    return v2
}

fn cube_back(x, y, bar) -> (real) {
block0(v0: real, v1: real, v2: real):
    v3: real = mul v2, v0
    v4: (real) = tuple v3
    return v4
}

fn cube_forward(x, dx) -> real {
block0(v0: real, v1: real):
    v2: real = mul v1, v0
    return v2
}

rule @cube pullback @cube_back pushforward @cube_forward

fn f(x, k) -> real {
block0(v0: real, v1: int):
    v2: bool = ilt v1, v1
    branch v2, block1, block2(v0)
block1:
    v3: real = call @cube(v0)
    v4: (real, int) = tuple v3, v1
    v5: real = field.0 v4
    jump block2(v5)
block2(v6: real):
    switch v1, block3, block4
block3:
    v7: array<real> = array
    v8: real = sum v7
    return v8
block4:
    return v6
}
";

/// Which invariant breaks where a part of the program is another.
const EDITS: &[(u8, &str, &str)] = &[
    (2, "jump block2(v5)", "jump block0(v0, v1)"),
    (3, "    return v6\n", "    open\n"),
    (3, "return v6", "return v2"),
    (4, "mul v0, v0", "mul v9, v0"),
    (5, "return v6", "return v5"),
    (5, "jump block2(v5)", "jump block2(v8)"),
    (6, "ilt v1, v1", "ilt v1, v0"),
    (6, "ilt v1, v1", "ilt v1"),
    (6, "call @cube(v0)", "call @cube(v1)"),
    (6, "call @cube(v0)", "call @cube(v0, v0)"),
    (6, "v3: real = call", "v3: int = call"),
    (7, "v4: (real, int) = tuple v3, v1", "v4: (real, int) = tuple v3, v3"),
    (7, "v4: (real, int) = tuple v3, v1", "v4: (real, real) = tuple v3, v1"),
    (7, "v7: array<real> = array", "v7: real = array"),
    (8, "v2: bool = ilt", "v2: real = ilt"),
    (8, "v1: real = mul", "mul"),
    (9, "block2(v0)", "block2"),
    (9, "jump block2(v5)", "jump block2(v1)"),
    (9, "block3, block4", "block3, block9"),
    (10, "branch v2", "branch v1"),
    (10, "switch v1", "switch v0"),
    (10, "switch v1", "switch v2"),
    (
        11,
        "fn cube_forward(x, dx) -> real {\nblock0(v0: real, v1: real):\n    v2: real = mul v1, v0\n    return v2\n}",
        "fn cube_forward(x, dx) -> real;",
    ),
    (12, "pullback @cube_back", "pullback @cube_forward"),
    (12, "pushforward @cube_forward", "pushforward @cube"),
];

#[test]
fn every_invariant_is_named_where_it_breaks() {
    assert_eq!(verify(&parse(WHOLE).unwrap()), []);
    for (invariant, before, after) in EDITS {
        assert_eq!(WHOLE.matches(before).count(), 1, "{before} stands there once");
        let broken = WHOLE.replace(before, after);
        let program = parse(&broken).unwrap_or_else(|e| panic!("{before} -> {after}: {e:?}"));
        let found: Vec<u8> = verify(&program).iter().map(|v| v.invariant).collect();
        assert!(found.contains(invariant), "{before} -> {after}: {found:?}, expected {invariant}");
    }
    // A text has the kinds of parameters once, so what declares them is changed by itself.
    let mut program = parse(WHOLE).unwrap();
    let f = program.lookup("f").unwrap();
    program.functions[f].params[0].kind = Kind::Int;
    assert!(verify(&program).iter().any(|v| v.invariant == 1));
}
