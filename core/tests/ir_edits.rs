//! Edits of functions: made as asked, or refused with the reason and nothing changed; read back as
//! printed after each.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    entity::{Block, Inst, Value},
    exec::{Datum, Derivatives},
    ir::{
        Compare, Definition, EditError, Editor, Element, Function, InsertionPoint, Kind, Literal,
        Number1, Number2, Op, Program, Real2, Target, Terminator, Use, parse, verify,
    },
    text::parse_program,
};
use support::random::Rng;

use crate::programs::Generator;

fn program(source: &str) -> Program {
    parse_program(source).unwrap()
}

fn value(p: &Program, args: &[f64]) -> f64 {
    let args: Vec<Datum<f64>> = args.iter().map(|x| Datum::Real(*x)).collect();
    *Derivatives::<f64>::new(p, "f").unwrap().value(&args).unwrap().real().unwrap()
}

const SIN: Op = Op::Number1(Number1::Sin);
const ADD: Op = Op::Number2(Number2::Add);

#[test]
fn instructions_come_go_and_move() {
    let mut p = program("fn g(x) { x * 3.0 } fn f(x, y) { let a = x * y; let b = a + x; b * b }");
    let (f, g) = (p.lookup("f").unwrap(), p.lookup("g").unwrap());
    let mut e = Editor::new(&mut p, f).unwrap();
    let (a, product) = e.find(|i| i.op == Op::Number2(Number2::Mul)).unwrap();
    let (b, sum) = e.find(|i| i.op == ADD).unwrap();
    let square = e.find(|i| i.args[..] == [b, b]).unwrap().1;
    assert_eq!(e.uses(b), [Use::Operand(square, 0), Use::Operand(square, 1)]);
    assert_eq!(e.definition(a), Ok(Definition::Inst(product)));
    assert_eq!(e.definition(Value::new(1)), Ok(Definition::Param(Block::new(0), 1)));
    // A call has the result that its function says.
    let three = e.insert(InsertionPoint::After(product), Op::Call(g), &[a]).unwrap();
    e.set_operand(sum, 0, three).unwrap();
    assert_eq!(value(e.program(), &[2.0, 5.0]), 32.0 * 32.0);
    // Replaced in its place: every use sees it.
    e.replace(sum, Op::Real2(Real2::Max), &[three, a]).unwrap();
    assert_eq!(value(e.program(), &[2.0, 5.0]), 30.0 * 30.0);
    // What is used cannot go, and after it is used no more, it does.
    let before = e.function().clone();
    let error = e.remove(sum).unwrap_err().to_string();
    assert!(
        error.contains("`v4: real = mul v3, v3`: v3 is used where it is not defined"),
        "{error}"
    );
    assert_eq!(*e.function(), before);
    assert_eq!(e.replace_uses(b, a), Ok(2));
    e.remove(sum).unwrap();
    assert_eq!(e.inst(sum).map(drop), Err(EditError::NoInst { function: "f".into(), inst: sum }));
    assert_eq!(value(e.program(), &[2.0, 5.0]), 100.0);
    // Not before its operands.
    assert!(e.move_to(square, InsertionPoint::Start(Block::new(0))).is_err());
    let call = e.find(|i| i.op == Op::Call(g)).unwrap().1;
    e.move_to(call, InsertionPoint::After(square)).unwrap();
    assert_eq!(value(e.program(), &[2.0, 5.0]), 100.0);
    assert_eq!(verify(&p), []);
}

#[test]
fn refusals_say_what_is_wrong() {
    let mut p = program("fn f(x, n: int) { if x > 0 { x } else { sin(x) } }");
    let f = p.lookup("f").unwrap();
    let mut e = Editor::new(&mut p, f).unwrap();
    let (x, n) = (Value::new(0), Value::new(1));
    let (sine, inst) = e.find(|i| i.op == SIN).unwrap();
    let (inside, _) = e.index_of(inst).unwrap();
    let entry = Block::new(0);
    let before = e.function().clone();
    let said = [
        (
            e.insert(InsertionPoint::End(entry), ADD, &[x, n]).map(drop),
            "`add` takes two real or two complex numbers, given (real, int)",
        ),
        (e.insert(InsertionPoint::End(entry), ADD, &[x]).map(drop), "given (real)"),
        (
            e.insert(InsertionPoint::End(entry), ADD, &[x, Value::new(77)]).map(drop),
            "v77 is defined nowhere in `f`",
        ),
        (
            e.insert(InsertionPoint::End(entry), SIN, &[sine]).map(drop),
            "is used where it is not defined on every path",
        ),
        (
            e.insert(InsertionPoint::End(entry), Op::Push { tape: 0, slot: 0 }, &[x]).map(drop),
            "`push.0.0` does not say of what kind",
        ),
        (
            e.insert(InsertionPoint::End(Block::new(9)), SIN, &[x]).map(drop),
            "`f` has no block9: expected one below block",
        ),
        (
            e.insert(InsertionPoint::After(Inst::new(99)), SIN, &[x]).map(drop),
            "inst99 is nowhere in `f`",
        ),
        (e.replace(inst, Op::Compare(Compare::Lt), &[x, x]), "lt gives bool, not real"),
        (e.set_operand(inst, 0, n), "sin takes a real or complex number, given (int)"),
        (e.set_operand(inst, 3, x), "has 1 operands, none with number 3"),
        (e.replace_uses(x, n).map(drop), "given (int"),
        (e.replace_uses(x, sine).map(drop), "is used where it is not defined on every path"),
        (e.remove_block(entry), "block0 is the entry of `f`"),
        (e.remove_block(inside), &format!("leads to {inside}: let it end otherwise first")),
        (e.add_param(entry, Kind::Int, &[]).map(drop), "its parameters are those of the function"),
        (e.add_param(inside, Kind::Int, &[]).map(drop), "has 1 edges into it, given 0 arguments"),
        (e.add_param(inside, Kind::Int, &[x]).map(drop), "takes (int), given (real)"),
        (e.remove_param(inside, 0), "has 0 parameters, none with number 0"),
        (e.set_end(inside, Terminator::Return(n)), "returns int, expected real"),
        (e.set_end(inside, Terminator::Open), "the block does not end"),
        (
            e.set_end(inside, Terminator::Jump(Target::new(entry, vec![x, n]))),
            "an edge leads to the entry block",
        ),
    ];
    for (result, what) in said {
        let error = result.unwrap_err().to_string();
        assert!(error.contains(what), "{error}, expected {what}");
    }
    assert_eq!(*e.function(), before);
    assert_eq!(
        Editor::new(&mut p, ketgrad_core::entity::FuncId::new(5)).unwrap_err().to_string(),
        "fn5 does not exist"
    );
    p.functions[f].insts[inst].args[0] = n;
    assert!(matches!(Editor::new(&mut p, f), Err(EditError::Breaks(_))));
}

#[test]
fn blocks_and_their_parameters_come_and_go() {
    let mut p = program("fn f(x, y) { let a = x * y; sin(a) }");
    let f = p.lookup("f").unwrap();
    let mut e = Editor::new(&mut p, f).unwrap();
    let (a, _) = e.find(|i| i.op != SIN).unwrap();
    let (sine, inst) = e.find(|i| i.op == SIN).unwrap();
    let entry = Block::new(0);
    let last = e.split(inst).unwrap();
    assert_eq!(e.function().blocks.len(), 2);
    // if x < y { sin(a) } else { sin(y) }
    let v = e.add_param(last, Kind::Real, &[a]).unwrap();
    e.set_operand(inst, 0, v).unwrap();
    let (x, y) = (Value::new(0), Value::new(1));
    let less = e.insert(InsertionPoint::End(entry), Op::Compare(Compare::Lt), &[x, y]).unwrap();
    let other = e.add_block(&[], Terminator::Jump(Target::new(last, vec![y]))).unwrap();
    let end = Terminator::Branch(less, Target::new(last, vec![a]), Target::new(other, vec![]));
    e.set_end(entry, end).unwrap();
    assert_eq!(
        (value(e.program(), &[2.0, 3.0]), value(e.program(), &[3.0, 2.0])),
        (6f64.sin(), 2f64.sin())
    );
    assert!(matches!(e.remove_block(other), Err(EditError::Reached { from, .. }) if from == entry));
    assert!(e.remove_param(last, 0).unwrap_err().to_string().contains(&format!("{v} is used")));
    e.set_end(entry, Terminator::Jump(Target::new(last, vec![a]))).unwrap();
    e.remove_block(other).unwrap();
    e.replace_uses(v, a).unwrap();
    e.remove_param(last, 0).unwrap();
    assert_eq!(value(e.program(), &[3.0, 2.0]), 6f64.sin());
    // Many changes at once, or none.
    let failed: Result<(), EditError> = e.apply(|f| {
        f.blocks[last].insts.clear();
        Ok(())
    });
    assert!(failed.unwrap_err().to_string().contains("is used where"));
    e.apply(|f| {
        f.blocks[last].insts.clear();
        f.blocks[last].end = Terminator::Return(a);
        Ok(())
    })
    .unwrap();
    assert!(e.uses(sine).is_empty());
    e.compact();
    assert_eq!(parse(&p.to_string()).as_ref(), Ok(&p));
    assert_eq!(value(&p, &[3.0, 2.0]), 6.0);
}

fn pick<T: Copy>(of: &[T], rng: &mut Rng) -> Option<T> {
    (!of.is_empty()).then(|| of[rng.below(of.len())])
}

/// One edit at random, mostly of ids that exist.
fn edit(e: &mut Editor<'_>, rng: &mut Rng) -> Result<(), EditError> {
    let f: &Function = e.function();
    let values: Vec<Value> = f.kinds.keys().collect();
    let insts: Vec<Inst> = f.blocks.values().flat_map(|b| b.insts.clone()).collect();
    let blocks = f.blocks.len();
    let (Some(v), Some(w), Some(i)) = (pick(&values, rng), pick(&values, rng), pick(&insts, rng))
    else {
        return Ok(());
    };
    let (b, to) = (Block::new(rng.below(blocks)), Block::new(rng.below(blocks + 1)));
    let place = match rng.below(4) {
        0 => InsertionPoint::Before(i),
        1 => InsertionPoint::After(i),
        2 => InsertionPoint::Start(b),
        _ => InsertionPoint::End(b),
    };
    let kind = f.kinds[v].clone();
    let like: Vec<Value> = f.kinds.iter().filter(|(_, k)| **k == kind).map(|(v, _)| v).collect();
    let same = pick(&like, rng).unwrap_or(v);
    let args: Vec<Value> = f.blocks.get(to).map(|b| b.params.clone()).unwrap_or_default();
    match rng.below(16) {
        0 => e.insert(place, SIN, &[v]).map(drop),
        1 => e.insert(place, ADD, &[v, same]).map(drop),
        2 => e.insert(place, Op::Real(Literal(rng.signed())), &[]).map(drop),
        3 => e.insert_as(place, Op::Array, &[], Kind::Array(Element::Real)).map(drop),
        4 => e.insert(place, Op::Tuple, &[v, w]).map(drop),
        5 => e.effect(place, Op::Expect(None), &[v, same]).map(drop),
        6 => e.replace(i, ADD, &[v, same]),
        7 => e.set_operand(i, rng.below(3), same),
        8 => e.remove(i),
        9 => e.move_to(i, place),
        10 => e.replace_uses(v, same).map(drop),
        11 => e.split(i).map(drop),
        12 => e.add_block(&[kind], Terminator::Return(w)).map(drop),
        13 => match rng.below(3) {
            0 => e.set_end(b, Terminator::Jump(Target::new(to, args))),
            1 => e.set_end(
                b,
                Terminator::Branch(v, Target::new(to, args.clone()), Target::new(to, args)),
            ),
            _ => e.set_end(b, Terminator::Return(w)),
        },
        14 => match rng.below(3) {
            0 => {
                let edges = f.predecessors().get(to.index()).map_or(0, Vec::len);
                e.add_param(to, kind, &vec![same; edges]).map(drop)
            }
            _ => e.remove_param(to, rng.below(3)),
        },
        _ => e.remove_block(to),
    }
}

#[test]
fn after_random_edits_programs_are_well_formed_and_read_as_printed() {
    let rounds = std::env::var("KETGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(60_u64);
    let mut corpus = vec![
        program(
            "fn f(x, n: int) { let mut s = x; for i in 0..n { if s > 1 { s = sin(s); } else { s = s + x; } } s }",
        ),
        program(
            "fn g(x, y) { (x * y, x) } fn f(x, y) { let (a, b) = g(x, y); let mut z = [a, b]; z[0] = 2.0; sum(z) + b }",
        ),
    ];
    corpus.extend((0..3).map(|seed| program(&Generator::real(seed))));
    let (mut made, mut refused) = (0, 0);
    for round in 0..rounds {
        let mut rng = Rng::new(round);
        let mut p = corpus[rng.below(corpus.len())].clone();
        let f = pick(&p.functions.keys().collect::<Vec<_>>(), &mut rng).unwrap();
        let mut e = Editor::new(&mut p, f).unwrap();
        for step in 0..40 {
            let before = e.function().clone();
            match edit(&mut e, &mut rng) {
                Ok(()) => made += 1,
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                    assert_eq!(*e.function(), before, "{round}, {step}: {error}");
                }
            }
            let p = e.program();
            assert_eq!(verify(p), [], "{round}, {step}");
            assert_eq!(parse(&p.to_string()).as_ref(), Ok(p), "{round}, {step}\n{p}");
        }
        e.compact();
        assert_eq!(verify(&p), [], "{round}");
    }
    assert!(made > 5 * rounds && refused > 5 * rounds, "{made} {refused}");
}
