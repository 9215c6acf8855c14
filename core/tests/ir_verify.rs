//! The verifier: each invariant of the intermediate representation, broken by one edit of a program
//! that keeps them all.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    adjoint::{self, DiffError},
    emit::{self, EmitError},
    entity::{Block, FuncId, Inst, PrimitiveId, Value},
    exec::{Bytecode, CallError, Datum, Derivatives, DeriveError, inspect::Inspection},
    ir::{
        Function, FunctionBuilder, Kind, Number2, Op, Param, Position, Primitive, Program,
        Terminator, parse, verify,
    },
};

/// One of everything that has an invariant: calls, tuples, edges with arguments, a branch, a
/// switch, rules.
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
        assert_eq!(WHOLE.matches(before).count(), 1, "{before} occurs once");
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

/// An invariant, what is said, and the edit that breaks it.
type Broken = (u8, &'static str, fn(&mut Function));

/// Programs that texts cannot say, or would not: with ids that nothing has.
const WRONG_IDS: &[Broken] = &[
    (4, "v99 is defined nowhere", |f| f.insts[Inst::new(0)].args[0] = Value::new(99)),
    (4, "v99 is defined nowhere", |f| f.blocks[Block::new(0)].params.push(Value::new(99))),
    (4, "v99 is defined nowhere", |f| {
        f.blocks[Block::new(2)].end = Terminator::Return(Value::new(99))
    }),
    (4, "inst99 does not exist", |f| f.blocks[Block::new(0)].insts.push(Inst::new(99))),
    (4, "is in two places", |f| {
        let first = f.blocks[Block::new(0)].insts[0];
        f.blocks[Block::new(1)].insts.push(first);
    }),
    (9, "block99 does not exist", |f| {
        f.blocks[Block::new(1)].end.targets_mut()[0].block = Block::new(99);
    }),
    (10, "a switch without targets", |f| {
        f.blocks[Block::new(2)].end = Terminator::Switch(Value::new(1), vec![]);
    }),
    (11, "fn99 does not exist", |f| f.insts[Inst::new(1)].op = Op::Call(FuncId::new(99))),
    (11, "primitive99 does not exist", |f| {
        f.insts[Inst::new(1)].op = Op::Primitive(PrimitiveId::new(99))
    }),
    (13, "tape 4294967295: expected one below 4096", |f| {
        f.insts[Inst::new(0)].op = Op::Pop { tape: u32::MAX, slot: 0 };
    }),
    // One that is in no block is met by loops over all instructions.
    (4, "v99 is defined nowhere", |f| {
        f.new_inst(Op::Sum, &[Value::new(99)], Some(Kind::Real), Default::default());
    }),
];

/// `if n == 0 { x * x } else { x + x }`, with a parameter where the ways meet.
#[test]
fn parameters_of_built_blocks_are_what_each_jump_passes() {
    let params = vec![Param::new("x", Kind::Real), Param::new("n", Kind::Int)];
    let mut b = FunctionBuilder::new("f", params, Kind::Real);
    let (x, n) = (b.param(0), b.param(1));
    let [square, twice, end] = [(); 3].map(|()| b.create_block());
    let met = b.block_param(end, Kind::Real);
    let at = Position::new(3, 5);
    b.set_position(at);
    assert_eq!((b.position(), b.function().name.as_str()), (at, "f"));
    let bound = b.bind(x);
    b.switch(n, &[square, twice]);
    for (block, op) in [(square, Number2::Mul), (twice, Number2::Add)] {
        b.seal(block);
        b.switch_to(block);
        let z = b.use_variable(bound);
        let y = b.number2(op, x, z);
        b.jump(end, &[y]);
    }
    b.seal(end);
    b.switch_to(end);
    b.ret(met);
    let mut program = Program::new();
    program.add(b.finish());
    assert_eq!(verify(&program), []);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    for (n, expected) in [(0, [9.0, 6.0]), (1, [6.0, 2.0])] {
        let at = [Datum::Real(3.0), Datum::Int(n)];
        let found = [f.value(&at).unwrap(), f.gradient(&at).unwrap().swap_remove(0)];
        assert_eq!(found, expected.map(Datum::Real));
    }
}

/// Each entry refuses what the verifier does, in its words; nothing panics, printing neither.
#[test]
fn broken_programs_are_refused_wherever_they_enter() {
    for (invariant, what, edit) in WRONG_IDS {
        let mut program = parse(WHOLE).unwrap();
        let f = program.lookup("f").unwrap();
        edit(&mut program.functions[f]);
        let found = verify(&program);
        let violation = found.iter().find(|v| v.invariant == *invariant && v.what.contains(what));
        assert!(violation.is_some_and(|v| v.function == "f"), "{what}: {found:?}");
        assert!(!program.to_string().is_empty() && !emit::emit_dot(&program, f).is_empty());
        refused_everywhere(&program, f, what);
    }
}

fn refused_everywhere(program: &Program, f: FuncId, what: &str) {
    let said = |text: String| assert!(text.contains(what), "{text}, expected {what}");
    let mut own = program.clone();
    for error in [
        adjoint::gradient(&mut own, f).unwrap_err(),
        adjoint::value_and_pullback(&mut own, f).unwrap_err(),
        adjoint::forward(&mut own, f).unwrap_err(),
        adjoint::reverse(&mut own, f).unwrap_err(),
    ] {
        assert!(matches!(error, DiffError::Program(_)), "{error}");
        said(error.to_string());
    }
    for error in [
        Derivatives::<f64>::new(program, "f").map(drop).unwrap_err(),
        Inspection::<f64>::new(program, "f").map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, DeriveError::Program(_)), "{error}");
        said(error.to_string());
    }
    let error = Bytecode::compile(program, f).unwrap_err();
    assert!(matches!(error, CallError::Program(_)), "{error}");
    said(error.to_string());
    for text in
        [emit::emit_rust(program, &[f]), emit::emit_text(program, f), emit::emit_latex(program, f)]
    {
        assert!(matches!(text, Err(EmitError::Program(_))), "{text:?}");
        said(text.unwrap_err().to_string());
    }
    assert!(emit::emit_dot(program, f).contains(what));
}

/// An error says which function, block and instruction it is about, and what was expected.
#[test]
fn a_violation_names_its_instruction() {
    let text = "fn f(x, n) -> real {\nblock0(v0: real, v1: int):\n    v2: real = add v0, v1 @3:7\n    return v2\n}\n";
    let program = parse(text).unwrap();
    let error = Derivatives::<f64>::new(&program, "f").map(drop).unwrap_err();
    assert_eq!(
        error.to_string(),
        "3:7: the program is not well formed: in `f`, block0, `v2: real = add v0, v1`: \
         add takes two real or two complex numbers, given (real, int)"
    );
    assert_eq!(error.position().map(|at| (at.line, at.column)), Some((3, 7)));
    let one = parse(&text.replace("add v0, v1", "add v0")).unwrap();
    let error = Derivatives::<f64>::new(&one, "f").map(drop).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "`v2: real = add v0`: add takes two real or two complex numbers, given (real)"
        ),
        "{error}"
    );
    let early =
        text.replace("v0, v1 @", "v0, v0 @").replace("    v2", "    v3: real = sin v2\n    v2");
    let error = Bytecode::compile(&parse(&early).unwrap(), FuncId::new(0)).unwrap_err().to_string();
    assert!(
        error.contains(
            "block0, `v2: real = sin v3`: v3 is used where it is not defined on every path"
        ),
        "{error}"
    );
    let open = parse(&text.replace("v0, v1 @", "v0, v0 @").replace("    return v2\n", "")).unwrap();
    let error = Bytecode::compile(&open, FuncId::new(0)).unwrap_err().to_string();
    assert!(error.ends_with("in `f`, block0, `open`: the block does not end"), "{error}");
}

/// Rules of primitives are held to what those of functions are.
#[test]
fn rules_of_primitives_have_their_signature() {
    let mut program = Program::new();
    let primitive = |name: &str, params: Vec<Kind>, result| Primitive {
        name: name.into(),
        params,
        result,
        pullback: None,
        pushforward: None,
    };
    let back =
        program.primitives.push(primitive("back", vec![Kind::Real; 2], Kind::tuple([Kind::Real])));
    let p = program.primitives.push(primitive("p", vec![Kind::Real], Kind::Real));
    program.primitives[p].pullback = Some(back);
    let params = vec![Param::new("x", Kind::Real)];
    let f = program.add(FunctionBuilder::caller("f", params, Kind::Real, Op::Primitive(p)));
    let expected = "in `p`: its rule `back` takes (real, real), expected (real, real, real)";
    let error = adjoint::gradient(&mut program, f).unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
    program.primitives[p].pullback = Some(PrimitiveId::new(7));
    assert!(
        Bytecode::compile(&program, f)
            .unwrap_err()
            .to_string()
            .contains("its rule primitive7 does not exist")
    );
    program.primitives[back].params.push(Kind::Real);
    program.primitives[p].pullback = Some(back);
    assert_eq!(verify(&program), []);
}

/// A differentiated function takes from its tapes what it leaves there.
#[test]
fn a_half_of_a_derivative_has_no_derivative() {
    let mut program = parse(WHOLE).unwrap();
    let f = program.lookup("f").unwrap();
    let pair = adjoint::reverse(&mut program, f).unwrap();
    let error = adjoint::gradient(&mut program, pair.primal).unwrap_err();
    assert!(matches!(&error, DiffError::Tape { function } if function == "f.primal"), "{error}");
}

/// Several functions and primitives of one name are printed by their numbers, and each NaN by its
/// bits.
#[test]
fn text_is_the_program() {
    let mut program = parse(WHOLE).unwrap();
    let cube = program.functions[program.lookup("cube").unwrap()].clone();
    program.add(cube);
    assert!(program.to_string().contains("call fn0(v0)"));
    assert_eq!(parse(&program.to_string()).as_ref(), Ok(&program));
    for bits in [f64::NAN.to_bits(), (-f64::NAN).to_bits(), 0x7ff0_0000_0000_0001] {
        let mut b = FunctionBuilder::new("nan", vec![], Kind::Real);
        let x = b.real(f64::from_bits(bits));
        b.ret(x);
        let mut program = Program::new();
        program.add(b.finish());
        assert_eq!(parse(&program.to_string()).as_ref(), Ok(&program), "{program}");
    }
    // Numbers of values do not count, what is where does.
    let one = "fn f(x) -> real {\nblock0(v0: real):\n    v1: real = sin v0\n    v2: real = cos v0\n    return v1\n}\n";
    let f = |text: &str| parse(text).unwrap();
    assert_eq!(f(one), f(&one.replace("v1", "v7")));
    assert_ne!(f(one), f(&one.replace("return v1", "return v2")));
}
