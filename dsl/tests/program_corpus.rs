//! One text, two front ends: `program/corpus.rs` is compiled by `program!` and read by the text
//! parser.
//!
//! The printed IR is equal but for two things, which [`canonical`] evens out: rustc tells a macro
//! the position of an expression, not of its operator, so positions are compared apart; and
//! constants, fields and arrays of elements written out are written where they are first used,
//! since a Rust variable cannot tell when it is named.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "program/corpus.rs"]
mod corpus;

use corpus::{self as c, Pair, Point, Sample, Segment};
use ketgrad::{
    array::Array,
    entity::Inst,
    exec::{Datum, Derivatives},
    ir::{Function, Op, Position, Program, compact, verify},
    pass::Level,
    scalar::Ordered,
    text::parse_program,
};
use num_complex::Complex;
use num_dual::Dual64;

/// Text between the braces of `program! { … }`, with everything before it blanked: positions
/// stay.
fn text() -> String {
    let source = include_str!("program/corpus.rs");
    let start = source.find("program! {").unwrap() + "program! {".len();
    let end = source.rfind('}').unwrap();
    let blank = source[..start].chars().map(|c| if c == '\n' { c } else { ' ' });
    blank.chain(source[start..end].chars()).collect()
}

/// Without positions, and with constants, fields and written arrays where they are first used in
/// their block.
fn canonical(f: &Function) -> Function {
    let mut f = f.clone();
    for inst in f.insts.values_mut() {
        inst.at = Position::default();
    }
    let definitions = f.definitions();
    let late = |f: &Function, i: Inst| {
        f.insts[i].op.is_constant() || matches!(f.insts[i].op, Op::Field(_) | Op::Array)
    };
    for block in f.blocks.keys().collect::<Vec<_>>() {
        f.blocks[block].end_at = Position::default();
        let old = std::mem::take(&mut f.blocks[block].insts);
        let mut new: Vec<Inst> = Vec::new();
        let place = |f: &Function, new: &mut Vec<Inst>, values: &[ketgrad::entity::Value]| {
            // Operands before what uses them.
            let mut work: Vec<_> = values.iter().rev().map(|v| (*v, false)).collect();
            while let Some((v, ready)) = work.pop() {
                let Some(i) = definitions[v.index()] else { continue };
                if !old.contains(&i) || !late(f, i) || new.contains(&i) {
                    continue;
                }
                if ready {
                    new.push(i);
                } else {
                    work.push((v, true));
                    work.extend(f.insts[i].args.iter().rev().map(|a| (*a, false)));
                }
            }
        };
        for &i in old.iter().filter(|&&i| !late(&f, i)) {
            place(&f, &mut new, &f.insts[i].args);
            new.push(i);
        }
        let end = f.blocks[block].end.clone();
        let mut last: Vec<_> = end.operand().into_iter().collect();
        last.extend(end.targets().iter().flat_map(|t| t.args.iter().copied()));
        place(&f, &mut new, &last);
        let rest: Vec<Inst> = old.iter().copied().filter(|i| !new.contains(i)).collect();
        new.extend(rest);
        f.blocks[block].insts = new;
    }
    compact(&f)
}

#[test]
fn text_and_macro_give_the_same_ir() {
    let from_text = parse_program(&text()).unwrap();
    let from_macro = c::relu::ir();
    assert_eq!(verify(&from_macro), []);
    assert_eq!(from_text.functions.len(), from_macro.functions.len());
    for ((_, a), (_, b)) in from_text.functions.iter().zip(from_macro.functions.iter()) {
        assert_eq!(print(&from_text, a), print(&from_macro, b));
    }
    for (f, name) in from_text.functions.iter().map(|(id, f)| (id, &f.name)) {
        assert_eq!(from_text.rule(f), from_macro.rule(f), "{name}");
    }
    assert_eq!(c::distance::ir(), from_macro, "every function gives the whole program");
}

fn print(program: &Program, f: &Function) -> String {
    let mut program = program.clone();
    let id = program.add(canonical(f));
    program.print(id)
}

/// An operator has the position where its expression begins, a call or a method where its name
/// does: as in the text but for the operator.
#[test]
fn instructions_know_line_and_column() {
    let (from_text, from_macro) = (parse_program(&text()).unwrap(), c::relu::ir());
    let mut compared = 0;
    for ((_, a), (_, b)) in from_text.functions.iter().zip(from_macro.functions.iter()) {
        let named = |f: &Function| -> Vec<(Op, Position)> {
            let all = f.blocks.values().flat_map(|b| &b.insts).map(|&i| &f.insts[i]);
            let named = all.filter(|i| {
                matches!(
                    i.op,
                    Op::Number1(_)
                        | Op::Real1(_)
                        | Op::Call(_)
                        | Op::Sum
                        | Op::Mixed(_)
                        | Op::Real2(_)
                ) && !i.op.name().starts_with("neg")
                    && i.op.name() != "promote"
                    && i.op.name() != "not"
            });
            named.map(|i| (i.op, i.at)).collect()
        };
        let (a, b) = (named(a), named(b));
        compared += a.len();
        for ((op, at), (_, macro_at)) in a.iter().zip(&b) {
            // The method `x.sin()` has the position of `sin` for both; so does the call `sin(x)`.
            assert_eq!(at, macro_at, "{op:?}");
        }
        assert_eq!(a.len(), b.len());
    }
    assert!(compared > 40);
    let distance = &from_macro.functions[from_macro.lookup("distance").unwrap()];
    let sub = distance.insts.values().find(|i| i.op.name() == "sub").unwrap();
    let line = text().lines().position(|l| l.contains("let dx = p.x - q.x")).unwrap();
    // `p.x - q.x` begins in column 18 of its line.
    assert_eq!(sub.at, Position::new(u32::try_from(line + 1).unwrap(), 18));
}

/// Instructions that the macro writes itself have the position of the instruction before them,
/// never that of `program!`.
#[test]
fn conditions_and_elements_stand_among_their_operands() {
    let program = c::relu::ir();
    let text = text();
    let line = |name: &str, word: &str| {
        let lines =
            text.lines().enumerate().skip_while(|(_, l)| !l.contains(&format!("fn {name}(")));
        u32::try_from(lines.map(|(k, l)| (k + 1, l)).find(|(_, l)| l.contains(word)).unwrap().0)
            .unwrap()
    };
    for (name, op, word) in [
        ("newton", "lt", "d * d < 1e-24"),
        ("collatz", "ieq", "m % 2 == 0"),
        ("scaled", "set", "ys[i] = ys[i] + real(i)"),
        ("sided", "not", "!positive(-x)"),
    ] {
        let f = &program.functions[program.lookup(name).unwrap()];
        let found = f.insts.values().filter(|i| i.op.name() == op).map(|i| i.at.line);
        let found: Vec<u32> = found.collect();
        assert!(found.contains(&line(name, word)), "{name}: {op} in {found:?}");
    }
    let first = line("quotient", "fn quotient");
    for f in program.functions.values().filter(|f| !f.name.contains("pullback")) {
        let not = f.insts.values().filter(|i| i.op.name() == "not");
        assert!(not.into_iter().all(|i| !i.at.is_known() || i.at.line >= first), "{}", f.name);
    }
}

// The native function and the IR give the same bits.

/// A value of a native signature as one of the executor on complex numbers over `T`.
trait Value<T: Ordered> {
    fn datum(self) -> Datum<Complex<T>>;
}
macro_rules! values {
    ($T:ty: $($V:ty, $x:ident => $e:expr;)*) => {$(
        impl Value<$T> for $V {
            fn datum(self) -> Datum<Complex<$T>> {
                let $x = self;
                $e
            }
        }
    )*};
    ($($T:ty)*) => {$(
        values! { $T:
            $T, x => Datum::Real(x);
            Complex<$T>, z => Datum::Complex(z);
            i64, n => Datum::Int(n);
            bool, b => Datum::Bool(b);
            Array<$T>, xs => Datum::Reals(xs.into());
            Array<Complex<$T>>, zs => Datum::Complexes(zs.into());
            ($T, $T), t => Datum::Tuple(vec![t.0.datum(), t.1.datum()]);
            Point<$T, $T>, p => Datum::Tuple(vec![p.x.datum(), p.y.datum()]);
            Segment<Point<$T, $T>, Point<$T, $T>, $T>, s =>
                Datum::Tuple(vec![s.from.datum(), s.to.datum(), s.weight.datum()]);
            Array<i64>, ns => Datum::Ints(ns.into());
            ($T, i64), t => Datum::Tuple(vec![t.0.datum(), Datum::Int(t.1)]);
            Pair<i64, i64>, p => Datum::Tuple(vec![Datum::Int(p.a), Datum::Int(p.b)]);
            Sample<i64, $T, Array<$T>>, s => Datum::Tuple(vec![Datum::Int(s.n), s.t.datum(), s.xs.datum()]);
        }
    )*};
}
values! { f64 Dual64 }

/// All bits: `{:?}` of a float is the shortest text that gives it back.
macro_rules! same {
    ($program:expr, $T:ty, $f:ident ( $($arg:expr),* )) => {{
        let native: Datum<Complex<$T>> = Value::<$T>::datum(c::$f::<$T>($($arg),*));
        let args = [$(Value::<$T>::datum($arg)),*];
        let mut ir = Derivatives::<Complex<$T>>::new($program, stringify!($f)).unwrap().with_level(Level::None);
        assert_eq!(format!("{native:?}"), format!("{:?}", ir.value(&args).unwrap()), stringify!($f));
    }};
}

macro_rules! all_same {
    ($program:expr, $T:ty, $($f:ident $args:tt;)*) => {$( same!($program, $T, $f $args); )*};
}

macro_rules! native_equals_ir {
    ($program:expr, $T:ty, $x:expr) => {{
    let (program, x): (&Program, fn(f64) -> $T) = ($program, $x);
    let z = |re, im| Complex::new(x(re), x(im));
    let point = |a, b| Point { x: x(a), y: x(b) };
    let segment = || Segment { from: point(0.3, -1.0), to: point(2.0, 0.7), weight: x(1.5) };
    let xs = || Array::from([x(0.5), x(-1.25), x(3.0), x(0.1)]);
    let vector = |a, b| Array::from([x(a), x(b)]);
    let square = |v: f64| Array::from_rows([[x(v), x(0.5)], [x(-0.25), x(1.5)]]);
    let wide = |v: f64| Array::from_rows([[x(v), x(0.5), x(-1.0)], [x(-0.25), x(1.5), x(0.75)]]);
    let tall = |v: f64| Array::from_rows([[x(v), x(0.5)], [x(-0.25), x(1.5)], [x(0.3), x(-0.7)]]);
    let waves = |v: f64| Array::from([z(v, 1.0), z(0.5, -v), z(0.1, 0.2)]);
    for v in [-2.0, 0.3, 1.0, 1.5, 3.0] {
        all_same! { program, $T,
            quotient(x(v), x(2.0)); distance(point(v, 1.0), point(-2.0, v)); power(x(v), 5); newton(x(v * v + 0.1));
            softplus(x(v)); smooth(x(v), x(0.7)); clamp(x(v), x(0.0), x(1.0)); relu(x(v)); factorial(x(v + 2.0));
            even(7, x(v)); odd(4, x(v)); polynomial(xs(), x(v)); scaled(xs(), x(v)); magnitude(xs());
            longer(segment()); length(segment()); sample(Sample { n: 3, t: x(v), xs: xs() }, 4);
            both(x(v), x(2.0)); third(x(v), x(0.25)); rotate(z(v, 1.0), x(0.3)); distances(z(v, 1.0), z(0.5, -v));
            julia(z(v / 4.0, 0.3), 6); phases(5); total(5); collatz(27); forever(x(v * 10.0)); nested(x(v), 6);
            shadow(x(v)); choose(v > 1.0, x(v), x(0.4)); typed(3); table(x(v.abs()));
            swap(Pair { a: 3, b: -1 }); positive(x(v)); sided(x(v)); assembled(x(v)); counted(x(v), 3); countdown(x(v));
            stepped(x(v / 2.0)); turned(z(v, 1.0)); mixed(x(v)); squares(4); picked(5); triangle(x(v));
            looked_up(Array::from([z(v, 1.0), z(0.5, -v)]), Array::from([1, 2])); branches(x(v / 2.0)); deep(x(v)); block(x(v)); copied(x(v));
            flagged(x(v), v > 1.0); changed(xs()); promoted(x(v)); selected(x(v));
            layer(wide(v), tall(v), vector(v, 0.5)); squared(wide(v), tall(v), vector(v, 0.5));
            arithmetic(square(v), vector(0.5, v), x(v)); each(wide(v), wide(0.3)); shaped(wide(v));
            triangles(square(v)); reduced(wide(v)); sorted(xs()); multiplied(wide(v), wide(0.3));
            linear(square(v), vector(v, 0.5)); signals(xs(), vector(v, 0.5)); moduli(waves(v));
            waves(waves(v), Array::from([x(v), x(0.3), x(-1.0)])); placed(square(v), 1); written(x(v));
            rows(vector(v, 0.5), x(v), 2); stacked(square(v), square(0.1)); dominant(square(v), 5); filtered(wide(v), 2);
            counts(Array::from([1, -2]), vector(v, 0.5)); either(vector(v, 0.5), v > 1.0);
            whole(vector(v, 0.5), Array::from([z(v, 1.0), z(0.5, -v)]));
        }
    }
    }};
}

#[test]
fn native_and_ir_give_the_same_bits() {
    let program = c::relu::ir();
    native_equals_ir!(&program, f64, |v| v);
    // Natively a rule is its function.
    let mut bodies = program.clone();
    for f in program.functions.keys() {
        bodies.remove_rule(f);
    }
    native_equals_ir!(&bodies, Dual64, |v| Dual64::new(v, 1.0));
    // Programs of real numbers on the real executor.
    let mut newton = Derivatives::<f64>::new(&program, "newton").unwrap();
    assert_eq!(newton.value(&[Datum::Real(2.0)]).unwrap().real(), Some(&c::newton(2.0)));
}

#[test]
fn loops_and_returns_are_differentiated() {
    let program = c::relu::ir();
    let gradient = |name: &str, args: &[Datum<f64>]| {
        let (_, g) = Derivatives::new(&program, name).unwrap().value_and_gradient(args).unwrap();
        *g[0].real().unwrap()
    };
    let slope = |y: Dual64| y.eps;
    let x = |v| Dual64::new(v, 1.0);
    // The native function on duals is forward mode, the IR's gradient reverse mode.
    let close = |a: f64, b: f64| assert!((a - b).abs() <= 1e-13 * b.abs().max(1.0), "{a} {b}");
    for v in [0.3, 1.5, 3.0] {
        close(gradient("newton", &[Datum::Real(v)]), slope(c::newton(x(v))));
        close(gradient("nested", &[Datum::Real(v), Datum::Int(6)]), slope(c::nested(x(v), 6)));
        close(gradient("factorial", &[Datum::Real(v)]), slope(c::factorial(x(v))));
        close(gradient("power", &[Datum::Real(v), Datum::Int(5)]), slope(c::power(x(v), 5)));
        close(
            gradient("smooth", &[Datum::Real(v), Datum::Real(2.0)]),
            slope(c::smooth(x(v), Dual64::from(2.0))),
        );
        close(gradient("even", &[Datum::Int(7), Datum::Real(v)]), slope(c::even(7, x(v))));
    }
}
