//! Pushes and pops that do not belong together are found at the end of a run, whatever runs them.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost, RunError},
    ir::{Program, parse, verify},
    text::parse_program,
};

/// Result of the code of `f`, which is the same on every executor.
fn run(program: &Program, args: &[Datum<f64>]) -> Result<Datum<f64>, RunError> {
    let f = program.lookup("f").unwrap();
    assert_eq!(verify(program), []);
    let code = Bytecode::compile(program, f).unwrap();
    let call = |code: &Bytecode| code.call(&mut Machine::new(), &NoHost, &Limits::default(), args);
    let result = call(&code);
    #[cfg(feature = "jit")]
    assert_eq!(result, call(&code.jit().unwrap()));
    result
}

fn out_of_step(of: u32) -> Result<Datum<f64>, RunError> {
    Err(RunError::TapeOrder { function: "f".to_owned(), tape: of })
}

/// A loop that pushes under two slots, and one that pops them: which slots, and how often more.
fn loops(first: u32, second: u32, more: u32) -> Program {
    let text = format!(
        "\
fn f(x, n) -> real {{
block0(v0: real, v1: int):
    v2: int = int 0
    jump block1(v2, v0)
block1(v3: int, v4: real):
    v5: bool = ilt v3, v1
    branch v5, block2, block3(v1, v4)
block2:
    push.0.1 v4
    v6: real = mul v4, v4
    push.0.2 v6
    v7: int = int 1
    v8: int = iadd v3, v7
    jump block1(v8, v6)
block3(v9: int, v10: real):
    v11: int = int {more}
    v12: bool = ilt v11, v9
    branch v12, block4, block5
block4:
    v13: real = pop.0.{first}
    v14: real = pop.0.{second}
    v15: real = add v10, v13
    v16: real = add v15, v14
    v17: int = int 1
    v18: int = isub v9, v17
    jump block3(v18, v16)
block5:
    return v10
}}
"
    );
    parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

#[test]
fn pops_undo_the_pushes_of_their_slots() {
    let args = [Datum::Real(1.5), Datum::Int(3)];
    let sum = run(&loops(2, 1, 0), &args).unwrap();
    let values: Vec<f64> = (0..4).map(|k| 1.5f64.powi(1 << k)).collect();
    let expected = values[3] + values[0] + values[3] + 2.0 * (values[1] + values[2]);
    let Datum::Real(sum) = sum else { panic!("{sum:?}") };
    assert!((sum - expected).abs() < 1e-12 * expected, "{sum} {expected}");
    // In the order of the pushes, one slot twice, and too few pops.
    for (program, what) in [
        (loops(1, 2, 0), "order"),
        (loops(2, 2, 0), "slot"),
        (loops(2, 3, 0), "stranger"),
        (loops(2, 1, 1), "few"),
    ] {
        assert_eq!(run(&program, &args), out_of_step(0), "{what}");
        let value = Derivatives::<f64>::new(&program, "f").unwrap().value(&args);
        assert!(value.unwrap_err().to_string().contains("tape 0 out of step"), "{what}");
        // Nothing is pushed, and nothing popped.
        assert_eq!(
            run(&program, &[Datum::Real(1.5), Datum::Int(0)]),
            Ok(Datum::Real(1.5)),
            "{what}"
        );
    }
}

#[test]
fn a_tape_that_nothing_pops_is_left_alone() {
    let text = "fn f(x) -> real {\nblock0(v0: real):\n    push.2.1 v0\n    return v0\n}\n";
    assert_eq!(run(&parse(text).unwrap(), &[Datum::Real(2.0)]), Ok(Datum::Real(2.0)));
}

#[test]
fn a_machine_is_as_good_as_new_after_an_error() {
    let (right, wrong) = (loops(2, 1, 0), loops(1, 2, 0));
    let code = |p: &Program| Bytecode::compile(p, p.lookup("f").unwrap()).unwrap();
    let (right, wrong) = (code(&right), code(&wrong));
    let args = [Datum::Real(1.5), Datum::Int(3)];
    let mut machine = Machine::new();
    let expected = right.call(&mut Machine::new(), &NoHost, &Limits::default(), &args).unwrap();
    for _ in 0..3 {
        let failed: Result<Datum<f64>, _> =
            wrong.call(&mut machine, &NoHost, &Limits::default(), &args);
        assert_eq!(failed, out_of_step(0));
        assert_eq!(
            right.call(&mut machine, &NoHost, &Limits::default(), &args),
            Ok(expected.clone())
        );
    }
}

/// A derivative with calls, recursion, loops and arrays, in whose text one slot after the other
/// becomes another.
#[test]
fn an_adjoint_that_was_changed_alone_gives_no_number() {
    let source = "
        fn power(x, n: int) { if n == 0 { 1.0 } else { x * power(x, n - 1) } }
        fn f(x, n: int) {
            let mut y = x;
            let mut s = 0.0;
            for k in 0..n {
                if y > 2.0 { y /= 3.0; s += power(y, 3); } else { y = y * y + 0.5; s += sin(y); }
            }
            s
        }";
    let mut program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let back = adjoint::value_and_pullback(&mut program, f).unwrap();
    let args = [Datum::Real(1.2), Datum::Int(7), Datum::Real(1.0)];
    let call = |program: &Program, name: &str| {
        let code = Bytecode::compile(program, program.lookup(name).unwrap()).unwrap();
        let result = code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args);
        #[cfg(feature = "jit")]
        assert_eq!(
            result,
            code.jit().unwrap().call(&mut Machine::new(), &NoHost, &Limits::default(), &args)
        );
        result
    };
    let name = program.functions[back].name.clone();
    let expected: Result<Datum<f64>, RunError> = call(&program, &name);
    assert!(expected.is_ok(), "{expected:?}");
    let text = program.to_string();
    let pops: Vec<usize> = text.match_indices("= pop.").map(|(at, _)| at).collect();
    assert!(pops.len() >= 4, "{text}");
    let mut found = 0;
    for at in pops {
        let end = at + text[at..].find('\n').unwrap();
        let dot = at + text[at..end].rfind('.').unwrap();
        let changed = format!("{}.977{}", &text[..dot], &text[end..]);
        let program = parse(&changed).unwrap();
        let result = call(&program, &name);
        match result {
            Err(RunError::TapeOrder { .. }) => found += 1,
            // A way that is not taken here.
            other => assert_eq!(other, expected, "{}", &text[at..end]),
        }
    }
    assert!(found >= 4, "{found}");
}
