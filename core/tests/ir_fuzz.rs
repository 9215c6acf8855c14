//! Programs broken at random in their data: the verifier says why not, or they mean on every
//! executor what an interpreter that shares nothing with core says.
//!
//! `KETGRAD_FUZZ` asks for more rounds.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::{
    cmp::Ordering,
    panic::{AssertUnwindSafe, catch_unwind},
};

use ketgrad_core::{
    adjoint, emit,
    entity::{Block, FuncId, Inst, PrimitiveId, Table, Value},
    exec::{
        Bytecode, CallError, Datum, Derivatives, Executable, Limits, Machine, NoHost, RunError,
        inspect,
    },
    ir::{
        ArrayOp, Compare, CustomRule, Element, Function, InstData, Int1, Int2, Kind, Literal,
        Mixed, Number1, Number2, Op, Param, Program, Real1, Real2, Target, Terminator, parse,
        verify, verify_reachable,
    },
    pass::{Level, optimize_all},
    text::parse_program,
};
use smallvec::SmallVec;
use support::random::Rng;

use crate::{
    programs::Generator,
    reference::{self, C, Val, Why, sample},
};

const LIMITS: Limits = Limits::new()
    .with_steps(20_000)
    .with_work(10_000_000)
    .with_depth(50)
    .with_array(200)
    .with_memory(1 << 24);

const CORPUS: [&str; 9] = [
    "fn f(x, n: int) { let mut s = x; for i in 0..n { s = sin(s) * x + 1; } s }",
    "struct P { u, v } fn g(p: P) { sqrt(p.u * p.u + p.v * p.v + 0.5) } fn f(x, n: int) { let p = P { u: x, v: 2 }; sin(g(p)) }",
    "fn f(x, n: int) { let mut s = [x; 3]; for i in 0..n { if x < 1e-3 && i > 2 { break; } s[i % 3] += real(i) * x; } sum(s) }",
    "fn f(x, n: int) { let (mut a, b) = (x, 3); while a < 10 || !(a > 2) { a *= 2; if a == 8 { continue; } else if a != 4 { return a; } } a - real(b) }",
    "fn f(x, n: int) { let z = complex(x, 1); let w = if n > 0 { z * conj(z) } else { exp(z) / 2 }; abs2(w) + re(select(x > 1, z, w)) }",
    "rule r(x) { exp(x) } pullback(x, y, b) { b * y } fn f(x, n: int) { r(x) * min(x, 1) + max(abs(x), floor(x)) }",
    "fn f(x, n: int) { if n <= 0 { 1 } else { x * f(x, n - 1) } } fn h(xs: array, t: (real, int)) -> array<real> { let mut ys = xs; ys[t.1] = t.0; ys + xs * 2 }",
    "fn f(a: array, b: array) { dot(a, b) + sum(a * b) + norm(a - 1) + real(len(a)) * a[0] + sum(cumsum(concat(a, b, 0), 0)) }",
    "fn g(z: complex) { z * z } fn f(z: complex, w: complex) { let mut s = z; for i in 0..3 { s = s * w + g(z); } s }",
];

/// A switch, a loop with two ways in, and a tape.
const IR: &str = "\
fn f(x, k) -> real {
block0(v0: real, v1: int):
    v18: real = real -0.25
    v2: int = int 0
    v3: int = imax v1, v2
    v4: int = int 2
    v5: int = imin v3, v4
    expect.less v18, v0
    switch v5, block1, block2(v0), block3(v0, v1)
block1:
    v6: real = sin v0
    push.0.0 v6
    jump block2(v6)
block2(v7: real):
    v8: bool = lt v7, v0
    v9: real = mul v7, v7
    v10: int = isub v1, v4
    branch v8, block3(v9, v10), block4(v7)
block3(v11: real, v12: int):
    v13: bool = igt v12, v2
    v14: int = int 1
    v15: int = isub v12, v14
    v16: real = add v11, v0
    branch v13, block3(v16, v15), block4(v16)
block4(v17: real):
    return v17
}
";

fn corpus() -> Vec<Program> {
    let mut all: Vec<Program> = CORPUS.iter().map(|s| parse_program(s).unwrap()).collect();
    all.push(parse(IR).unwrap());
    all.extend((0..4).map(|seed| parse_program(&Generator::real(seed)).unwrap()));
    all.push(parse_program(&Generator::complex(1)).unwrap());
    // What is made of them: tapes, tuples, calls with many results.
    for k in 0..all.len() {
        let mut derived = all[k].clone();
        let f = derived.lookup("f").unwrap();
        let Ok(adjoint::Reverse { primal, adjoint }) = adjoint::reverse(&mut derived, f) else {
            continue;
        };
        if k % 2 == 0 {
            optimize_all(&mut derived, primal, Level::Strict);
            optimize_all(&mut derived, adjoint, Level::Strict);
        }
        if adjoint::value_and_pullback(&mut derived, f).is_ok() {
            all.push(derived);
        }
    }
    all
}

fn pick<T: Copy>(of: &[T], rng: &mut Rng) -> T {
    of[rng.below(of.len())]
}

fn kind(rng: &mut Rng) -> Kind {
    match rng.below(10) {
        0 => Kind::Complex,
        1 => Kind::Int,
        2 => Kind::Bool,
        3 => Kind::Handle,
        4 => Kind::Array(Element::Real),
        5 => Kind::Array(Element::Complex),
        6 => Kind::Array(Element::Int),
        7 => Kind::tuple([kind(rng), kind(rng)]),
        8 => Kind::tuple([]),
        _ => Kind::Real,
    }
}

fn number(rng: &mut Rng) -> i64 {
    pick(&[0, 1, 2, 3, -1, 7, 100, i64::MAX, i64::MIN], rng)
}

fn id(rng: &mut Rng, len: usize) -> usize {
    if rng.below(12) == 0 {
        pick(&[len, len + 1, 1 << 20, u32::MAX as usize], rng)
    } else {
        rng.below(len.max(1))
    }
}

/// Any operation.
fn op(p: &Program, rng: &mut Rng) -> Op {
    match rng.below(24) {
        0 => Op::Real(Literal(pick(
            &[0.0, -0.0, 1.0, f64::NAN, -f64::NAN, f64::INFINITY, 1e300, 5e-324],
            rng,
        ))),
        1 => Op::Int(number(rng)),
        2 => Op::Bool(rng.below(2) == 0),
        3 => Op::Number1(pick(Number1::ALL, rng)),
        4 => Op::Number2(pick(Number2::ALL, rng)),
        5 => Op::Real1(pick(Real1::ALL, rng)),
        6 => Op::Real2(pick(Real2::ALL, rng)),
        7 => Op::Int1(pick(Int1::ALL, rng)),
        8 => Op::Int2(pick(Int2::ALL, rng)),
        9 => Op::Compare(pick(Compare::ALL, rng)),
        10 => Op::CompareInt(pick(Compare::ALL, rng)),
        11 => Op::Mixed(pick(Mixed::ALL, rng)),
        12 => Op::Call(FuncId::new(id(rng, p.functions.len()))),
        13 => Op::Primitive(PrimitiveId::new(id(rng, p.primitives.len()))),
        14 => Op::Field(pick(&[0, 1, 2, u32::MAX], rng)),
        15 => Op::Push { tape: pick(&[0, 1, u32::MAX], rng), slot: pick(&[0, 1, u32::MAX], rng) },
        16 => Op::Pop { tape: pick(&[0, 1, u32::MAX], rng), slot: pick(&[0, 1, u32::MAX], rng) },
        17 | 18 => Op::OnArrays(pick(ArrayOp::ALL, rng)),
        _ => pick(
            &[
                Op::Select,
                Op::Tuple,
                Op::Array,
                Op::Fill,
                Op::Sum,
                Op::Len,
                Op::Get,
                Op::Set,
                Op::Peek,
                Op::Put,
                Op::AddAt,
                Op::Accumulate,
                Op::Expect(Some(Ordering::Less)),
                Op::Expect(None),
            ],
            rng,
        ),
    }
}

/// Another operation on the same operands, if there is one.
fn sibling(op: Op, rng: &mut Rng) -> Op {
    match op {
        Op::Real(_) => {
            Op::Real(Literal(pick(&[0.0, -0.0, 1.0, 0.5, f64::NAN, f64::INFINITY, 1e300], rng)))
        }
        Op::Int(_) => Op::Int(number(rng)),
        Op::Bool(b) => Op::Bool(!b),
        Op::Number1(_) | Op::Real1(_) if rng.below(2) == 0 => Op::Real1(pick(Real1::ALL, rng)),
        Op::Number1(_) | Op::Real1(_) => Op::Number1(pick(Number1::ALL, rng)),
        Op::Number2(_) | Op::Real2(_) if rng.below(2) == 0 => Op::Real2(pick(Real2::ALL, rng)),
        Op::Number2(_) | Op::Real2(_) => Op::Number2(pick(Number2::ALL, rng)),
        Op::Int2(_) => Op::Int2(pick(Int2::ALL, rng)),
        Op::Compare(_) => Op::Compare(pick(Compare::ALL, rng)),
        Op::CompareInt(_) => Op::CompareInt(pick(Compare::ALL, rng)),
        Op::Get => Op::Peek,
        Op::Set => Op::Put,
        Op::Put => Op::AddAt,
        Op::Mixed(_) => Op::Mixed(pick(Mixed::ALL, rng)),
        Op::OnArrays(_) => Op::OnArrays(pick(ArrayOp::ALL, rng)),
        op => op,
    }
}

/// A value of the kind of another.
fn like(f: &Function, v: Value, rng: &mut Rng) -> Value {
    let same: Vec<Value> =
        f.kinds.keys().filter(|&w| f.kinds.get(v) == Some(&f.kinds[w])).collect();
    if same.is_empty() { v } else { pick(&same, rng) }
}

/// Changes one thing.
fn mutate(p: &mut Program, g: FuncId, rng: &mut Rng) {
    let whole = p.clone();
    let f = &mut p.functions[g];
    if f.blocks.is_empty() || f.insts.is_empty() {
        return;
    }
    let (values, blocks, insts) = (f.kinds.len(), f.blocks.len(), f.insts.len());
    let (b, i, v) =
        (Block::new(rng.below(blocks)), Inst::new(rng.below(insts)), Value::new(id(rng, values)));
    let len = f.blocks[b].insts.len();
    let place = rng.below(len + 1);
    let operands = f.insts[i].args.len();
    match rng.below(36) {
        0 if operands > 1 => f.insts[i].args.swap(0, operands - 1),
        1 if operands > 0 => f.insts[i].args[rng.below(operands)] = v,
        2..=4 if operands > 0 => {
            let k = rng.below(operands);
            f.insts[i].args[k] = like(f, f.insts[i].args[k], rng);
        }
        5..=8 | 30..=35 => f.insts[i].op = sibling(f.insts[i].op, rng),
        9 => f.insts[i].op = op(&whole, rng),
        10 if v.index() < values => f.kinds[v] = kind(rng),
        11 if len > 0 => drop(f.blocks[b].insts.remove(place.min(len - 1))),
        12 => f.blocks[b].insts.insert(place, i),
        13 => {
            // A copy with a result of its own, which something may use.
            let InstData { op, args, result, at } = f.insts[i].clone();
            let kind = result.and_then(|v| f.kinds.get(v).cloned());
            let (copy, fresh) = f.new_inst(op, &args, kind, at);
            f.blocks[b].insts.insert(place, copy);
            let at = f.blocks[b].insts.get(place + 1).copied();
            if let (Some(fresh), Some(at)) = (fresh, at)
                && let Some(slot) = f.insts[at].args.first_mut()
            {
                *slot = fresh;
            }
        }
        14 if len > 1 => f.blocks[b].insts.swap(rng.below(len), rng.below(len)),
        15 => {
            let inst = f.blocks[b].insts.pop();
            let to = Block::new(rng.below(blocks));
            f.blocks[to].insts.extend(inst);
        }
        16 | 17 => {
            let to = Block::new(id(rng, blocks));
            let mut targets = f.blocks[b].end.targets_mut();
            if !targets.is_empty() {
                let k = rng.below(targets.len());
                targets[k].block = to;
            }
        }
        18 | 19 => {
            let mut targets = f.blocks[b].end.targets_mut();
            if targets.is_empty() {
                return;
            }
            let k = rng.below(targets.len());
            let args = &mut targets[k].args;
            match rng.below(3) {
                0 => drop(args.pop()),
                1 => args.push(v),
                _ => {
                    let n = args.len();
                    if n > 0 {
                        args[rng.below(n)] = v;
                    }
                }
            }
        }
        20 => {
            let to = Target::new(Block::new(rng.below(blocks)), vec![]);
            f.blocks[b].end = match rng.below(5) {
                0 => Terminator::Open,
                1 => Terminator::Return(v),
                2 => Terminator::Jump(to),
                3 => Terminator::Switch(
                    v,
                    if rng.below(2) == 0 { vec![] } else { vec![to.clone(), to] },
                ),
                _ => Terminator::Branch(v, to.clone(), to),
            };
        }
        21 => match rng.below(2) {
            0 => drop(f.blocks[b].params.pop()),
            _ => f.blocks[b].params.push(v),
        },
        22 => {
            let keep = rng.below(blocks + 1);
            let mut left = Table::new();
            f.blocks.values().take(keep).for_each(|b| {
                left.push(b.clone());
            });
            f.blocks = left;
        }
        23 => match rng.below(3) {
            0 => f.result = kind(rng),
            1 => drop(f.params.pop()),
            _ => f.params.push(Param::new("more", kind(rng))),
        },
        24 => f.blocks[b].insts.push(Inst::new(id(rng, insts + 1))),
        25 => match rng.below(2) {
            0 => drop(f.insts[i].args.pop()),
            _ => f.insts[i].args.push(v),
        },
        26 => {
            f.insts[i].result = match rng.below(2) {
                0 => None,
                _ => Some(v),
            };
        }
        27 => {
            let g = |rng: &mut Rng| {
                (rng.below(2) == 0).then(|| FuncId::new(id(rng, whole.functions.len())))
            };
            let rule =
                CustomRule { pullback: g(rng), pushforward: g(rng), non_differentiable: false };
            p.set_rule(FuncId::new(rng.below(whole.functions.len())), rule);
        }
        28 => {
            // A branch where a jump was, on any condition.
            if let Terminator::Jump(to) = &f.blocks[b].end {
                let conditions: Vec<Value> =
                    f.kinds.keys().filter(|&v| f.kinds[v] == Kind::Bool).collect();
                if !conditions.is_empty() {
                    let end = Terminator::Branch(pick(&conditions, rng), to.clone(), to.clone());
                    f.blocks[b].end = end;
                }
            }
        }
        _ => f.insts[i].args = SmallVec::from_slice(&[v, v]),
    }
}

/// Counts of the outcomes.
#[derive(Debug, Default)]
struct Seen {
    refused: usize,
    ran: usize,
    compared: usize,
    gradients: usize,
    slopes: usize,
}

/// Everything that a mutated program is put through; `Err` says what is wrong.
fn answered(p: &Program, of: &[FuncId], rng: &mut Rng, seen: &mut Seen) -> Result<(), String> {
    let violations = verify(p);
    let printed = p.to_string();
    if !violations.is_empty() {
        seen.refused += 1;
        for v in &violations {
            if v.function.is_empty() || v.what.is_empty() || v.to_string().is_empty() {
                return Err(format!("a violation that says nothing: {v:?}"));
            }
        }
        // What is refused is refused at every entry, if it is reached.
        for &f in of {
            let broken = verify_reachable(p, f).is_err();
            let whole = p.functions[f].is_defined();
            let compiled = Bytecode::compile(p, f);
            if broken
                && !matches!(compiled, Err(CallError::Program(_) | CallError::Undefined { .. }))
            {
                return Err(format!("a broken program is compiled, {f}"));
            }
            if broken
                && (adjoint::forward(&mut p.clone(), f).is_ok()
                    || adjoint::reverse(&mut p.clone(), f).is_ok())
            {
                return Err(format!("a broken program is differentiated, {f}"));
            }
            if broken && whole && emit::emit_rust(p, &[f]).is_ok() {
                return Err(format!("a broken program is emitted, {f}"));
            }
            let name = &p.functions[f].name;
            if p.lookup(name) == Some(f) && broken && Derivatives::<f64>::new(p, name).is_ok() {
                return Err(format!("derivatives of a broken program, {f}"));
            }
            drop(emit::emit_dot(p, f));
        }
        return Ok(());
    }
    if parse(&printed).as_ref() != Ok(p) {
        return Err("it is not read as it was printed".into());
    }
    for &f in of {
        of_function(p, f, rng, seen)?;
    }
    Ok(())
}

fn of_function(p: &Program, f: FuncId, rng: &mut Rng, seen: &mut Seen) -> Result<(), String> {
    let function = &p.functions[f];
    let args: Vec<Val> =
        function.params.iter().map(|p| sample(&p.kind, &mut || rng.integer(-4, 12))).collect();
    let data: Vec<Datum<C>> = args.iter().map(|x| x.datum().unwrap()).collect();
    let expected = reference::run(p, f, args.clone(), 20_000, LIMITS.array);
    let code = Bytecode::compile(p, f).map_err(|e| format!("{f} verified, not compiled: {e}"))?;
    let value = code.call(&mut Machine::new(), &NoHost, &LIMITS, &data);
    seen.ran += 1;
    seen.compared +=
        usize::from(compare(&expected, &value, 1e-9).map_err(|e| format!("{f}, {args:?}: {e}"))?);
    // Optimised it means the same. (What fails may be dropped.)
    let mut better = p.clone();
    optimize_all(&mut better, f, Level::Strict);
    if let Some(v) = verify(&better).first() {
        return Err(format!("passes break it: {v}"));
    }
    let code =
        Bytecode::compile(&better, f).map_err(|e| format!("{f} optimised, not compiled: {e}"))?;
    let optimised = code.call(&mut Machine::new(), &NoHost, &LIMITS, &data);
    if let (Ok(a), Ok(b)) = (&value, &optimised)
        && !Val::of(a).is_close(&Val::of(b), 0.0)
    {
        return Err(format!("{f}, {args:?}: optimised it gives {b:?}, not {a:?}"));
    }
    #[cfg(feature = "jit")]
    if let Ok(code) = code.jit() {
        let native = code.call(&mut Machine::new(), &NoHost, &LIMITS, &data);
        match (&optimised, &native) {
            (Ok(a), Ok(b)) if Val::of(a).is_close(&Val::of(b), 0.0) => {}
            (Err(a), Err(b)) if a == b => {}
            (Err(RunError::Steps { .. }), _) | (_, Err(RunError::Steps { .. })) => {}
            _ => {
                return Err(format!(
                    "{f}, {args:?}: machine code gives {native:?}, not {optimised:?}"
                ));
            }
        }
    }
    drop((
        emit::emit_rust(p, &[f]),
        emit::emit_text(p, f),
        emit::emit_latex(p, f),
        emit::emit_dot(p, f),
    ));
    let watched = inspect::Inspection::<C>::for_function(p, f)
        .map_err(|e| format!("{f} is not inspected: {e}"))?;
    let watched = watched.with_limits(LIMITS).run(&data, &mut inspect::OpCounter::default());
    if let (Ok(a), Ok(b)) = (&value, &watched)
        && !Val::of(a).is_close(&Val::of(b), 0.0)
    {
        return Err(format!("{f}, {args:?}: watched it gives {b:?}, not {a:?}"));
    }
    derivatives(p, f, &args, &expected, seen)
}

/// True if a value was compared; an error if it is another.
fn compare(
    expected: &Result<Val, Why>,
    value: &Result<Datum<C>, RunError>,
    tolerance: f64,
) -> Result<bool, String> {
    match (expected, value) {
        (_, Err(RunError::Steps { .. } | RunError::Depth { .. } | RunError::Memory { .. })) => {
            Ok(false)
        }
        (Err(Why::Unknown | Why::Long), _) => Ok(false),
        (Err(Why::Fails(_) | Why::Tapes), Err(_)) => Ok(true),
        (Err(Why::Tapes), Ok(d)) => Err(format!("gives {d:?} with tapes out of step")),
        (Err(Why::Fails(why)), Ok(d)) => Err(format!("gives {d:?}, but fails: {why}")),
        (Ok(x), Err(e)) => Err(format!("gives {x:?}, not an error: {e}")),
        (Ok(x), Ok(d)) if x.is_close(&Val::of(d), tolerance) => Ok(true),
        (Ok(x), Ok(d)) => Err(format!("gives {x:?}, not {d:?}")),
    }
}

/// The adjoint and the pushforward: well formed, with the same value, and adjoint to each other.
fn derivatives(
    p: &Program,
    f: FuncId,
    args: &[Val],
    expected: &Result<Val, Why>,
    seen: &mut Seen,
) -> Result<(), String> {
    // A recording that nothing reads may be dropped, and with it the error.
    let dropped = Err(Why::Unknown);
    let expected = if *expected == Err(Why::Tapes) { &dropped } else { expected };
    let mut program = p.clone();
    let back = adjoint::value_and_pullback(&mut program, f);
    let along = adjoint::forward(&mut program, f);
    if let Some(v) = verify(&program).first() {
        return Err(format!("derivatives are not well formed: {v}"));
    }
    let function = &p.functions[f];
    let one = |kind: &Kind| sample(kind, &mut || 8);
    let run = |g: FuncId, more: Vec<Val>| {
        let data = args.iter().chain(&more).map(|x| x.datum().unwrap()).collect::<Vec<_>>();
        let code = Bytecode::compile(&program, g).map_err(|e| e.to_string())?;
        Ok::<_, String>(code.call(&mut Machine::new(), &NoHost, &LIMITS, &data))
    };
    let fields = |d: &Datum<C>| if let Datum::Tuple(all) = d { all.clone() } else { vec![] };
    let mut bars = None;
    if let (Ok(g), Some(kind)) = (&back, function.result.tangent()) {
        let got = run(*g, vec![one(&kind)])?;
        if let Ok(d) = &got {
            let all = fields(d);
            let value = all.first().cloned().ok_or("no value")?;
            compare(expected, &Ok(value), 1e-9)
                .map_err(|e| format!("{f}, {args:?}: beside the pullback: {e}"))?;
            seen.gradients += 1;
            bars = Some(all[1..].iter().map(Val::of).collect::<Vec<_>>());
        }
    }
    let mut dot = None;
    if let Ok(g) = &along {
        let more =
            function.params.iter().filter_map(|p| p.kind.tangent()).map(|k| one(&k)).collect();
        if let Ok(d) = &run(*g, more)? {
            let all = fields(d);
            let value = all.first().cloned().ok_or("no value")?;
            compare(expected, &Ok(value), 1e-9)
                .map_err(|e| format!("{f}, {args:?}: beside the tangent: {e}"))?;
            dot = all.get(1).map(Val::of);
        }
    }
    // <y_bar, J x_dot> = <J^H y_bar, x_dot>, with all parts of seeds the same number. Not if the
    // value has more elements than its cotangent, which is zero beyond its end: `put` makes arrays
    // longer.
    let n_parts = |x: &Val| {
        let mut parts = Vec::new();
        x.parts(&mut parts);
        parts.len()
    };
    let seed = function.result.tangent().map(|kind| n_parts(&one(&kind)));
    if let (Some(bars), Some(dot)) = (bars, dot)
        && seed == Some(n_parts(&dot))
        && program
            .reachable(f)
            .iter()
            .all(|&g| program.rule(g).is_none() && !on_tape(&p.functions[g]))
    {
        let total = |all: &[Val]| {
            let mut parts = Vec::new();
            all.iter().for_each(|x| x.parts(&mut parts));
            (parts.iter().sum::<f64>(), parts.iter().map(|x| x.abs()).sum::<f64>())
        };
        let ((a, size), (b, other)) = (total(&bars), total(&[dot]));
        if a.is_finite() && b.is_finite() && size.max(other) < 1e6 {
            seen.slopes += 1;
            if (a - b).abs() > 1e-6 * (1.0 + size.max(other)) {
                return Err(format!("{f}, {args:?}: the pullback gives {a}, the pushforward {b}"));
            }
        }
    }
    Ok(())
}

/// True if the function uses tapes: leaves of tapes belong to no function alone.
fn on_tape(f: &Function) -> bool {
    f.insts.values().any(|i| matches!(i.op, Op::Push { .. } | Op::Pop { .. }))
}

#[test]
fn broken_programs_are_refused_or_mean_what_they_say() {
    let rounds = std::env::var("KETGRAD_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(250);
    let first = std::env::var("KETGRAD_FUZZ_FIRST").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    let corpus = corpus();
    let mut seen = Seen::default();
    let mut found: Vec<String> = Vec::new();
    for p in &corpus {
        let all: Vec<FuncId> = p.functions.keys().collect();
        let said = answered(p, &all, &mut Rng::new(1), &mut seen);
        assert_eq!(said, Ok(()), "{p}");
    }
    for seed in first..first + rounds {
        let mut rng = Rng::new(seed);
        let mut p = corpus[rng.below(corpus.len())].clone();
        let f = FuncId::new(rng.below(p.functions.len()));
        for _ in 0..1 + rng.below(4) / 2 {
            mutate(&mut p, f, &mut rng);
        }
        // With what calls it, perhaps: the last function of a program with derivatives.
        let last = p.functions.keys().next_back().filter(|&g| g != f && rng.below(4) == 0);
        let of: Vec<FuncId> = [f].into_iter().chain(last).collect();
        let said = catch_unwind(AssertUnwindSafe(|| answered(&p, &of, &mut rng, &mut seen)));
        let said = said.unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| (*s).to_owned()));
            Err(format!("panics: {}", text.unwrap_or_default()))
        });
        if let Err(what) = said {
            let text = catch_unwind(AssertUnwindSafe(|| p.to_string())).unwrap_or_default();
            found.push(format!("{seed}: {what}\n{text}"));
            if found.len() >= 20 {
                break;
            }
        }
    }
    assert!(found.is_empty(), "{}\n{seen:?}", found.join("\n---\n"));
    assert!(
        seen.compared > rounds as usize / 10 && seen.refused > rounds as usize / 10,
        "{seen:?}"
    );
}
