//! Expressions and recordings: laws against plain numbers, and hard cases.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Ordering;

use ketgrad_core::{
    adjoint,
    circuit::Circuit,
    emit::{emit_latex, emit_rust, emit_text},
    exec::{Datum, Derivatives, DeriveError, RunError},
    ir::{self, Compare, Editor, InsertionPoint, Kind, Number1, Number2, Op, Program},
    pass::{Level, optimize_all},
    recordable,
    rules::Rules,
    scalar::{Conj, Ordered, Real, Ring, Scalar, Uncertain},
    simulate::Simulator,
    state::StateVector,
    text::parse_program,
    trace::{
        Cached, Callee, ComplexExpr, Expr, Record, Recording, TraceError, Traced, trace, trace_at,
    },
};
use num_complex::Complex;
use num_dual::Dual64;

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-14;
/// Rounding of a few hundred operations.
const CIRCUIT: f64 = 1e-12;

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

fn g<S: Scalar>(a: &S, b: &S) -> S {
    a * b
}
fn h<S: Scalar>(x: &S) -> S {
    x.sin()
}
/// The running example of the tape documents.
fn f<S: Scalar>(x1: &S, x2: &S) -> S {
    g(x1, x2) + h(x1)
}

fn example() -> Recording {
    trace_at("f", &["x1", "x2"], (2.0_f64, 3.0), |(a, b)| f(&a, &b)).unwrap()
}

fn symbols(n: usize) -> Vec<Expr> {
    (0..n).map(|k| Expr::symbol(&format!("t{k}"))).collect()
}

fn real(x: f64) -> Datum<f64> {
    Datum::Real(x)
}

#[test]
fn the_gradient_of_a_chain_is_the_product_of_its_slopes() {
    // x -> y -> z
    let chain = trace("chain", &["x"], |x: Expr| x.sin().exp()).unwrap();
    let mut d = chain.derivatives::<f64>().unwrap();
    let (z, bars) = d.vjp(&[real(0.7)], real(1.0)).unwrap();
    close(*z.real().unwrap(), 0.7f64.sin().exp(), ROUNDING);
    close(*bars[0].real().unwrap(), 0.7f64.sin().exp() * 0.7f64.cos(), ROUNDING);
}

#[test]
fn a_recording_holds_the_operations_of_inlined_calls() {
    let tape = example();
    let ops: Vec<Op> = tape.function().insts.values().map(|i| i.op).collect();
    assert_eq!(
        ops,
        [Op::Number2(Number2::Mul), Op::Number1(Number1::Sin), Op::Number2(Number2::Add)],
        "g and h are inlined"
    );
    let y = tape.derivatives::<f64>().unwrap().value(&[real(2.0), real(3.0)]).unwrap();
    assert_eq!(y, real(6.909297426825682));
    // Without values the same program.
    let symbolic = trace("f", &["x1", "x2"], |(a, b): (Expr, Expr)| f(&a, &b)).unwrap();
    assert_eq!(symbolic.program(), tape.program());
}

fn rules() -> Program {
    parse_program(
        "rule softplus(x) { ln(1.0 + exp(x)) } pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }
         fn plain(x) { x * x }",
    )
    .unwrap()
}

#[test]
fn a_primitive_is_what_has_a_rule() {
    let rules = Rules::from_program(rules());
    assert!(rules.has_rule("softplus") && rules.has_rule("mul") && !rules.has_rule("plain"));
    let softplus = Callee::registered(&rules, "softplus").unwrap();
    assert_eq!(softplus.name(), "softplus");
    let tape = trace("f", &["x"], |x: Expr| softplus.call(&[x])).unwrap();
    // A call, which is not opened.
    let ops: Vec<Op> = tape.function().insts.values().map(|i| i.op).collect();
    assert!(matches!(ops.as_slice(), [Op::Call(_)]), "{ops:?}");
    let e = Callee::new(rules.program(), "softpuls").unwrap_err();
    assert!(e.to_string().contains("did you mean `softplus`?"), "{e}");
    let e = softplus.call(&[1.0, 2.0]).unwrap_err();
    assert_eq!(e.to_string(), "`softplus` takes 1 arguments, but 2 were given");
}

#[test]
fn the_rule_of_a_recorded_call_is_used() {
    let softplus = Callee::new(&rules(), "softplus").unwrap();
    fn f<S: Record>(x: &S, softplus: &Callee) -> Result<S, TraceError> {
        Ok(softplus.call(&[x * x])? * x)
    }
    let tape = trace_at("f", &["x"], 0.8_f64, |x| f(&x, &softplus)).unwrap();
    let (y, bars) = tape.derivatives::<f64>().unwrap().vjp(&[real(0.8)], real(1.0)).unwrap();
    close(*y.real().unwrap(), f(&0.8, &softplus).unwrap(), ROUNDING);
    let dual = f(&Dual64::new(0.8, 1.0), &softplus).unwrap();
    close(*bars[0].real().unwrap(), dual.eps, ROUNDING);
    // The adjoint calls the pullback that was given, not one derived from the body.
    let mut program = tape.program().clone();
    let id = program.lookup("f").unwrap();
    adjoint::reverse(&mut program, id).unwrap();
    assert!(program.to_string().contains("call @softplus.pullback"), "{program}");
    // The same on formulas.
    let x = Expr::symbol("x");
    let slope = f(&x, &softplus).unwrap().gradient(&["x"]).unwrap().remove(0);
    close(slope.evaluate(&[("x", 0.8)]).unwrap(), dual.eps, ROUNDING);
}

#[test]
fn a_recording_prints_as_a_list_and_as_a_formula() {
    let tape = example();
    assert_eq!(
        tape.plain(),
        "\
f(x1, x2)
  x1 = 2.0
  x2 = 3.0
  t1 = mul(x1, x2) = 6.0
  t2 = sin(x1) = 0.9092974268256817
  t3 = add(t1, t2) = 6.909297426825682
  return t3
"
    );
    assert_eq!(tape.compact(), "f(x1, x2) = x1*x2 + sin(x1)");
    assert_eq!(format!("{tape:?}"), tape.compact());
}

#[test]
fn a_pullback_scales_with_its_seed() {
    let mut d = example().derivatives::<f64>().unwrap();
    let mut pulled = d.pullback(&[real(2.0), real(3.0)]).unwrap();
    for seed in [1.0, -2.0, 0.25] {
        let bars = pulled.call(real(seed)).unwrap();
        close(*bars[0].real().unwrap(), seed * 2.5838531634528574, ROUNDING);
        close(*bars[1].real().unwrap(), seed * 2.0, ROUNDING);
    }
}

#[test]
fn the_gradient_adds_up_over_all_paths() {
    let tape = trace("f", &["x"], |x: Expr| {
        let y = x.sin();
        &y * &y + &y * &x + &y
    })
    .unwrap();
    let (_, bars) = tape.derivatives::<f64>().unwrap().value_and_gradient(&[real(0.4)]).unwrap();
    let (s, c) = 0.4f64.sin_cos();
    close(*bars[0].real().unwrap(), 2.0 * s * c + c * 0.4 + s + c, ROUNDING);
}

#[test]
fn the_gradient_of_a_recording_is_that_of_central_differences() {
    let mut d = example().derivatives::<f64>().unwrap();
    let (y, bars) = d.value_and_gradient(&[real(2.0), real(3.0)]).unwrap();
    assert_eq!(y, 6.909297426825682);
    // A function has no cotangent of its own here: what it captures is constant.
    assert_eq!(bars, vec![real(2.5838531634528574), real(2.0)]);
    let h = 1e-6;
    let slope =
        |a: f64, b: f64| (f(&(2.0 + a), &(3.0 + b)) - f(&(2.0 - a), &(3.0 - b))) / (2.0 * h);
    for (bar, numerical, reference) in [
        (&bars[0], slope(h, 0.0), 2.583853163452614),
        (&bars[1], slope(0.0, h), 2.0000000000001696),
    ] {
        close(numerical, reference, 1e-6);
        close(*bar.real().unwrap(), reference, 1e-6);
    }
}

#[test]
fn an_operation_of_a_recording_is_replaced() {
    let tape = example();
    assert_eq!(
        tape.function().params.iter().map(|p| p.name.as_str()).collect::<Vec<_>>(),
        ["x1", "x2"]
    );
    assert_eq!(tape.function().result, Kind::Real);
    let mut program = tape.into_program();
    let id = program.lookup("f").unwrap();
    let mut editor = Editor::new(&mut program, id).unwrap();
    let (sine, inst) = editor.find(|inst| inst.op == Op::Number1(Number1::Sin)).unwrap();
    let x1 = editor.inst(inst).unwrap().args[0];
    let cosine =
        editor.insert(InsertionPoint::Before(inst), Op::Number1(Number1::Cos), &[x1]).unwrap();
    assert_eq!(editor.replace_uses(sine, cosine), Ok(1));
    optimize_all(&mut program, id, Level::Strict);
    assert!(ir::verify(&program).is_empty());
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    assert_eq!(d.value(&[real(2.0), real(3.0)]).unwrap(), real(6.0 + 2f64.cos()));
    assert_eq!(Expr::from_program(&program, "f").unwrap().to_string(), "x1*x2 + cos(x1)");
}

struct Point<S> {
    x: S,
    y: S,
}
recordable!(Point { x, y });

fn distance<S: Scalar>(p: &Point<S>, q: &Point<S>) -> S {
    let (dx, dy) = (p.x.clone() - &q.x, p.y.clone() - &q.y);
    (&dx * &dx + &dy * &dy).sqrt()
}

#[test]
fn structs_tuples_and_arrays_are_recorded() {
    let tape =
        trace("d", &["p", "q"], |(p, q): (Point<Expr>, Point<Expr>)| distance(&p, &q)).unwrap();
    assert_eq!(tape.function().params[0].kind.to_string(), "Point{x: real, y: real}");
    let point = |x, y| Datum::Tuple(vec![real(x), real(y)]);
    let (y, bars) = tape
        .derivatives::<f64>()
        .unwrap()
        .value_and_gradient(&[point(3.0, 0.0), point(0.0, 4.0)])
        .unwrap();
    assert_eq!(y, 5.0);
    for (bar, slope) in bars.iter().flat_map(Datum::fields).zip([0.6, -0.8, -0.6, 0.8]) {
        close(*bar.real().unwrap(), slope, ROUNDING);
    }
    assert_eq!(tape.compact(), "d(p, q) = sqrt((p.x - q.x)*(p.x - q.x) + (p.y - q.y)*(p.y - q.y))");
    // Arrays in and out, a tuple of results, a list at given values.
    let tape = trace("moments", &["xs"], |xs: [Expr; 3]| {
        let sum = Expr::sum(xs.iter().cloned());
        (sum / Expr::int(3), xs.map(|x| x.powi(2)))
    })
    .unwrap();
    assert_eq!(tape.function().result.to_string(), "(real, array<real>)");
    let y = tape.derivatives::<f64>().unwrap().value(&[Datum::reals([1.0, 2.0, 6.0])]).unwrap();
    assert_eq!(y, Datum::Tuple(vec![real(3.0), Datum::reals([1.0, 4.0, 36.0])]));
    let tape = trace_at("dot", &["xs", "ys"], (vec![1.0_f64, 2.0], vec![3.0, 4.0]), |(xs, ys)| {
        Traced::sum(xs.iter().zip(&ys).map(|(x, y)| x * y))
    })
    .unwrap();
    let args = tape.arguments(&(vec![5.0, 6.0], vec![7.0, 8.0])).unwrap();
    let (y, bars) = tape.derivatives::<Complex<f64>>().unwrap().value_and_gradient(&args).unwrap();
    assert_eq!((y, bars), (83.0, vec![Datum::reals([7.0, 8.0]), Datum::reals([5.0, 6.0])]));
    // Another length is another shape.
    assert!(matches!(tape.arguments(&(vec![1.0], vec![1.0])), Err(TraceError::Signature { .. })));
}

#[test]
fn options_are_constants_and_non_differentiable_paths_carry_nothing() {
    let detach = Callee::detach().unwrap();
    fn f<S: Record>(x: &S, power: i64, scale: f64, detach: &Callee) -> Result<S, TraceError> {
        Ok(x.powi(power) * S::lit(scale) + detach.call(&[x.sin()])? * x)
    }
    let tape = trace("f", &["x"], |x: Expr| f(&x, 3, 0.25, &detach)).unwrap();
    let (y, bars) = tape.derivatives::<f64>().unwrap().value_and_gradient(&[real(2.0)]).unwrap();
    close(y, 2.0 + 2f64.sin() * 2.0, ROUNDING);
    close(*bars[0].real().unwrap(), 0.25 * 3.0 * 4.0 + 2f64.sin(), ROUNDING);
}

#[test]
fn a_missing_rule_is_named() {
    let mut rules = Rules::new();
    rules.primitive("mystery", &[Kind::Real], Kind::Real).unwrap();
    let mystery = Callee::registered(&rules, "mystery").unwrap();
    let tape = trace("f", &["x"], |x: Expr| mystery.call(&[x])).unwrap();
    let mut program = tape.into_program();
    let id = program.lookup("f").unwrap();
    let e = adjoint::gradient(&mut program, id).unwrap_err();
    assert!(e.to_string().contains("`mystery` in `f`"), "{e}");
}

/// Newton's iteration with a break that depends on the values.
fn newton<T: Ordered>(a: &T) -> T {
    let mut x = a.clone();
    for _ in 0..50 {
        let next = (&x + a.clone() / &x) * T::ratio(1, 2);
        let step = &next - &x;
        x = next;
        if (&step * &step).cmp_primal(&T::lit(1e-24)) == Some(Ordering::Less) {
            break;
        }
    }
    x
}

#[test]
fn a_recording_is_made_once_for_each_path_and_run_again() {
    let mut roots = Cached::new("root", &["a"], |a: Traced<f64>| newton(&a));
    for a in [2.0, 2.001, 2.002, 900.0] {
        let (y, bars) = roots.value_and_gradient(a).unwrap();
        close(y, f64::sqrt(a), ROUNDING);
        close(*bars[0].real().unwrap(), 0.5 / f64::sqrt(a), 1e-12);
    }
    // 2.0 to 2.002 take the same number of steps.
    assert_eq!(roots.recordings().count(), 2);
    // Shapes are told apart, too.
    let mut sums = Cached::new("sum", &["xs"], |xs: Vec<Traced<f64>>| Traced::sum(xs));
    for n in [1, 2, 2, 3, 1] {
        sums.value(vec![1.0; n]).unwrap();
    }
    assert_eq!(sums.recordings().count(), 3);
}

#[test]
fn a_recording_reports_the_path_taken() {
    fn relu_sum<T: Ordered>(x: &T, y: &T) -> T {
        let relu = |x: &T| match T::zero().cmp_primal(x) {
            Some(Ordering::Less) => x.clone(),
            _ => T::zero(),
        };
        relu(x) + relu(y)
    }
    let tape = trace_at("f", &["x", "y"], (1.0_f64, -1.0), |(x, y)| relu_sum(&x, &y)).unwrap();
    assert_eq!(tape.compact(), "f(x, y) = x");
    let conditions: Vec<String> = tape.conditions().iter().map(ToString::to_string).collect();
    assert_eq!(conditions, ["0 < x", "0 > y"]);
    assert!(tape.holds(&(5.0, -0.1)).unwrap());
    assert!(!tape.holds(&(5.0, 0.1)).unwrap() && !tape.holds(&(f64::NAN, -1.0)).unwrap());
    // Operators are noted as well, and NaN has a path of its own.
    let tape =
        trace_at("f", &["x"], f64::NAN, |x| if x > Traced::zero_of() { x.clone() } else { -x })
            .unwrap();
    assert_eq!(tape.conditions()[0].order, None);
    assert!(tape.holds(&f64::NAN).unwrap() && !tape.holds(&1.0).unwrap());
}

/// Away from its path a recording fails, with where it compared, and so does all that is made of
/// it.
#[test]
fn a_recording_keeps_to_its_path() {
    let tape = trace_at("f", &["x"], 1.5_f64, |x: Traced<f64>| {
        let square = &x * &x;
        if square < Traced::int(4) { square } else { Traced::int(4) }
    });
    let line = line!() - 2;
    let tape = tape.unwrap();
    let mut f = tape.derivatives::<f64>().unwrap();
    assert_eq!(f.value(&[real(1.9)]).unwrap(), real(1.9 * 1.9));
    assert_eq!(f.gradient(&[real(-1.0)]).unwrap(), [real(-2.0)]);
    let path = |e: DeriveError| match e {
        DeriveError::Run(RunError::Path { expected, left, right, at }) => {
            assert_eq!((expected, at.line), (Some(Ordering::Less), line), "{at}");
            (left, right)
        }
        other => panic!("{other}"),
    };
    let nine = ("9.0".to_owned(), "4.0".to_owned());
    assert_eq!(path(f.value(&[real(3.0)]).unwrap_err()), nine);
    assert_eq!(path(f.gradient(&[real(3.0)]).unwrap_err()), nine);
    assert_eq!(path(f.jvp(&[real(3.0)], &[real(1.0)]).unwrap_err()), nine);
    assert_eq!(path(f.hessian(&[real(3.0)]).unwrap_err()), nine);
    assert_eq!(path(f.pullback(&[real(3.0)]).map(drop).unwrap_err()), nine);
    // At a tie and beside numbers there are other answers, too.
    path(f.value(&[real(2.0)]).unwrap_err());
    path(f.value(&[real(f64::NAN)]).unwrap_err());
    let mut gradient = [0.0];
    assert!(f.prepare().unwrap().gradient(&[3.0], &mut gradient).is_err());
    // The checks are a part of the program: passes, other numbers, text.
    let dual = [Datum::Real(Dual64::new(3.0, 1.0))];
    assert!(tape.derivatives::<Dual64>().unwrap().value(&dual).is_err());
    let x = Expr::symbol("x");
    let open = tape.derivatives::<Expr>().unwrap().value(&[Datum::Real(x)]).unwrap_err();
    assert!(open.to_string().contains("`expect` cannot be decided"), "{open}");
    let text = tape.program().to_string();
    assert!(text.contains(&format!("expect.less v1, v2 @{line}:")), "{text}");
    assert_eq!(ir::parse(&text).as_ref(), Ok(tape.program()));
    let f = tape.program().lookup("f").unwrap();
    let rust = emit_rust(tape.program(), &[f]).unwrap();
    assert!(
        rust.contains("assert!((a).partial_cmp(&(4.0)) == Some(std::cmp::Ordering::Less)"),
        "{rust}"
    );
    assert!(emit_text(tape.program(), f).unwrap_err().to_string().contains("path"));
    assert!(emit_latex(tape.program(), f).unwrap().contains(r"\text{where } "));
}

/// An operation is recorded as one, and right on all sides.
#[test]
fn minima_maxima_and_absolute_values_have_no_path() {
    let f = |x: &Traced<f64>| {
        (x * x).min(&Traced::int(4)) + Traced::int(0).max(x) * (x - Traced::int(1)).abs()
    };
    let tape = trace_at("f", &["x"], 1.5_f64, |x| f(&x)).unwrap();
    assert_eq!(tape.conditions(), []);
    let mut g = tape.derivatives::<f64>().unwrap();
    for x in [-3.0, -1.0, -0.5, 0.25, 1.5, 3.0, 9.0] {
        let y = f64::min(x * x, 4.0) + f64::max(0.0, x) * f64::abs(x - 1.0);
        let (value, bars) = g.value_and_gradient(&[real(x)]).unwrap();
        close(value, y, ROUNDING);
        let steep = if x * x < 4.0 { 2.0 * x } else { 0.0 };
        let other = if x > 0.0 { (x - 1.0).abs() + x * (x - 1.0).signum() } else { 0.0 };
        close(*bars[0].real().unwrap(), steep + other, ROUNDING);
        // The value of the recording is that of the program.
        let mut recorded = 0.0;
        trace_at("f", &["x"], x, |x: Traced<f64>| {
            recorded = *f(&x).value();
            x
        })
        .unwrap();
        assert_eq!(recorded, value);
    }
    assert!(
        trace_at("f", &["x"], f64::NAN, |x: Traced<f64>| x.max(&Traced::int(1)))
            .unwrap()
            .derivatives::<f64>()
            .unwrap()
            .value(&[real(f64::NAN)])
            .unwrap()
            .real()
            .unwrap()
            .is_nan()
    );
}

trait ZeroOf {
    fn zero_of() -> Self;
}
impl ZeroOf for Traced<f64> {
    fn zero_of() -> Self {
        Traced::int(0)
    }
}

#[test]
fn a_symbol_decides_nothing() {
    let x = Expr::symbol("x");
    assert!(x.try_cmp(&Expr::int(0)).is_err() && x.primal().is_none());
    assert_eq!(Expr::ratio(1, 3).try_cmp(&Expr::ratio(33, 100)), Ok(Some(Ordering::Greater)));
    // A program with a branch, run on symbols, names the op.
    let p = parse_program("fn f(x) { if x > 0 { x } else { 0.0 - x } }").unwrap();
    let e =
        Derivatives::<Expr>::new(&p, "f").unwrap().value(&[Datum::Real(x.clone())]).unwrap_err();
    assert!(e.to_string().contains("gt"), "{e}");
    assert!(matches!(Expr::from_program(&p, "f"), Err(TraceError::NotAnExpression { .. })));
    // A loop of known length is opened by running it.
    let p = parse_program("fn f(x, n: int) { let mut r = x; for i in 0..n { r = r * x + 1; } r }")
        .unwrap();
    let y = Derivatives::<Expr>::new(&p, "f")
        .unwrap()
        .value(&[Datum::Real(x.clone()), Datum::Int(2)])
        .unwrap();
    assert_eq!(y.real().unwrap().to_string(), "(x*x + 1)*x + 1");
}

#[test]
fn inputs_of_recordings_do_not_mix() {
    let mut leaked = None;
    trace("f", &["x"], |x: Expr| {
        leaked = Some(x.clone());
        x
    })
    .unwrap();
    let leaked = leaked.unwrap();
    let e = trace("g", &["x"], |x: Expr| x * &leaked).unwrap_err();
    assert_eq!(e, TraceError::Foreign { name: "x".into() });
    let e = trace("g", &["x"], |x: Expr| x * Expr::symbol("y")).unwrap_err();
    assert!(matches!(e, TraceError::UnknownInput { name, .. } if name == "y"));
    let e = trace("g", &["x", "x"], |(x, y): (Expr, Expr)| x * y).unwrap_err();
    assert_eq!(e, TraceError::Duplicate { name: "x".into() });
    let e = trace("g", &["x", "y", "z"], |(x, y): (Expr, Expr)| x * y).unwrap_err();
    assert!(matches!(e, TraceError::Arity { given: 3, expected: 2, .. }));
}

#[test]
fn sixty_doublings_and_a_chain_of_a_million_operations_are_linear() {
    let mut y = Expr::symbol("x");
    for _ in 0..60 {
        y = &y + &y;
    }
    assert_eq!(y.size(), 61);
    assert_eq!(y.evaluate(&[("x", 1.0)]).unwrap(), 2f64.powi(60));
    assert_eq!(y.gradient(&["x"]).unwrap()[0].constant(), Some(2f64.powi(60)));
    assert!(y.to_string().len() < 2500, "{y}");
    // A chain of a million operations is built, cloned, lowered and dropped.
    let mut y = Expr::symbol("x");
    for k in 0..1_000_000 {
        y = if k % 2 == 0 { y.sin() } else { y * Expr::symbol("x") };
    }
    let copy = y.clone();
    drop(y);
    assert_eq!(
        copy.function("f", &["x"]).unwrap().functions.values().next().unwrap().size(),
        1_000_000
    );
    drop(copy);
    let y = (0..10_000).fold(Expr::symbol("x"), |y, _| y.sin());
    assert!(y.to_string().ends_with('}'));
}

#[test]
fn equal_parts_are_computed_once() {
    let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    let e = (&x * &y).sin() + (&y * &x).sin() * (&x * &y);
    assert_eq!(e.function("f", &["x", "y"]).unwrap().functions.values().next().unwrap().size(), 4);
    assert_eq!(&x + &y, &y + &x);
    assert_ne!(&x - &y, &y - &x);
    assert_ne!(Expr::symbol("x"), Expr::symbol("xx"));
}

#[test]
fn constants_are_exact() {
    let show = |e: Expr| e.to_string();
    let x = || Expr::symbol("x");
    assert_eq!(show(Expr::ratio(1, 2) + Expr::ratio(1, 3)), "5/6");
    assert_eq!(show(Expr::ratio(1, 2).sqrt() * Expr::ratio(1, 2).sqrt()), "1/2");
    assert_eq!(show(Expr::ratio(1, 2).sqrt()), "sqrt(2)/2");
    assert_eq!(show(Expr::pi() / Expr::int(4)), "pi/4");
    assert_eq!(show((Expr::pi() * Expr::ratio(3, 4)).cos()), "-sqrt(2)/2");
    assert_eq!(show(Expr::lit(0.1) + Expr::lit(0.2)), "0.1 + 0.2");
    assert_eq!(show(x() * Expr::int(2) * Expr::int(3)), "6*x");
    assert_eq!(show(x() / Expr::int(3)), "x/3");
    assert_eq!(show(x() * Expr::ratio(2, 3)), "2/3*x");
    assert!(
        (x() * Expr::int(0)).is_exact_zero() && (x() - x()).is_exact_zero() && !x().is_exact_zero()
    );
    assert!((Expr::ratio(1, 2) * x() - x() * Expr::ratio(1, 2)).is_exact_zero());
    assert_eq!(show(x() * Expr::ratio(1, 2) + x() * Expr::ratio(1, 2)), "x");
    assert_eq!(show(x() + x()), "x + x");
    assert_eq!(show(-(-x())), "x");
    assert_eq!(show((-x()).sin() + (-x()).cos()), "cos(x) - sin(x)");
    let i = ComplexExpr::i();
    assert_eq!(&i * &i, ComplexExpr::int(-1));
    assert_eq!(i.conj(), -ComplexExpr::i());
}

#[test]
fn text_is_read_back_as_the_same_expression() {
    let (x, y, z) = (Expr::symbol("x"), Expr::symbol("y"), Expr::symbol("z"));
    let two = || Expr::int(2);
    let cases = [
        (&x - (&y - &z), "x - (y - z)"),
        (&x - &y - &z, "x - y - z"),
        (&x + (&y + &z), "x + (y + z)"),
        (&x * (&y * &z), "x*(y*z)"),
        (&x / (&y * &z), "x/(y*z)"),
        (&x / &y * &z, "x/y*z"),
        (&x / (&y / &z), "x/(y/z)"),
        ((&x + &y) * (&x - &y), "(x + y)*(x - y)"),
        (-(&x + &y), "-(x + y)"),
        (-(&x * &y), "-x*y"),
        (&z - &x * &y, "z - x*y"),
        (-(&x * &y) * (-&z), "x*y*z"),
        (x.pow(&y).powi(-3), "powi(pow(x, y), -3)"),
        ((&x + &y).recip(), "1/(x + y)"),
        (&z * x.recip(), "z*(1/x)"),
        ((&x / two()).sin() * Expr::ratio(1, 2).sqrt(), "sqrt(2)/2*sin(x/2)"),
        (&x * Expr::ratio(-2, 3) + Expr::lit(1e-300), "1e-300 - 2/3*x"),
        (&x * Expr::lit(-0.1), "-0.1*x"),
        (x.sin() * Expr::ratio(-1, 8).abs().sqrt() * Expr::int(-1), "-sqrt(2)/4*sin(x)"),
        ((&x + &y) * Expr::int(-3) * &z, "-3*((x + y)*z)"),
        (Expr::pi() * &x / Expr::int(4), "pi/4*x"),
        (x.max(&y).abs().atan2(&z), "atan2(abs(max(x, y)), z)"),
        (x.select(Compare::Lt, &y, &(&x + &y), &z), "select(x < y, x + y, z)"),
        (Expr::lit(f64::INFINITY) * &x, "1.0/0.0*x"),
    ];
    for (e, text) in cases {
        assert_eq!(e.to_string(), text);
        let program = e.program_text("f", &["x", "y", "z"]).unwrap();
        let parsed = parse_program(&program).unwrap_or_else(|e| panic!("{program}{e:?}"));
        let back = Expr::from_program(&parsed, "f").unwrap();
        let values = [("x", 0.7), ("y", 1.3), ("z", -0.4)];
        let (a, b): (f64, f64) = (e.evaluate(&values).unwrap(), back.evaluate(&values).unwrap());
        assert!(a == b || (a - b).abs() < ROUNDING * a.abs(), "{text}: {a}, {b}");
        if !text.contains("/0.0") {
            assert_eq!(back, e, "{text}");
        }
    }
    // Complex ones, and one with named parts.
    let (w, v) = (ComplexExpr::symbol("w"), ComplexExpr::symbol("v"));
    let mut e = (&w * ComplexExpr::i() + ComplexExpr::new(x.sin(), x.cos())) / v.conj()
        - ComplexExpr::from(v.abs2());
    for _ in 0..10 {
        e = &e * &e + &w;
    }
    let program = e.program_text("f", &["w", "v", "x"]).unwrap();
    assert!(program.contains("let t1 = "), "{program}");
    let parsed = parse_program(&program).unwrap_or_else(|e| panic!("{program}{e:?}"));
    assert_eq!(ComplexExpr::from_program(&parsed, "f").unwrap(), e, "{program}");
    // What the language cannot call so is no text of it.
    let product = Expr::symbol("a[0]") * Expr::symbol("x");
    assert_eq!(product.evaluate(&[("a[0]", 2.0), ("x", 3.0)]), Ok(6.0));
    for (e, name, inputs, words) in [
        (
            &product,
            "f",
            ["a[0]", "x"].as_slice(),
            "`a[0]` is no name of the program language for an input",
        ),
        (&Expr::symbol("let"), "f", &["let"], "`let` is no name"),
        (&x.sin(), "sin", &["x"], "`sin` is no name of the program language for a function"),
        (&x.sin(), "fn", &["x"], "`fn` is no name"),
    ] {
        let error = e.program_text(name, inputs).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn real_and_complex_inputs_are_different() {
    let z = ComplexExpr::symbol("z");
    let program = z.sin().function("f", &["z"]).unwrap();
    let f = program.functions.values().next().unwrap();
    assert_eq!((&f.params[0].kind, &f.result, f.size()), (&Kind::Complex, &Kind::Complex, 1));
    // One name, two kinds: refused.
    let mixed = z.sin() * ComplexExpr::from(Expr::symbol("z"));
    assert!(mixed.function("f", &["z"]).is_err());
    // A traced complex function keeps complex instructions; on Complex<Expr> it is real arithmetic.
    fn f_<S: Scalar>(z: &S) -> S {
        (z * z).exp() / z
    }
    let whole = trace("f", &["z"], |z: ComplexExpr| f_(&z)).unwrap();
    let parts = trace("f", &["z"], |z: Complex<Expr>| f_(&z)).unwrap();
    assert_eq!(whole.function().size(), 3);
    let z = Complex::new(0.3, -0.8);
    let reference = f_(&z);
    for tape in [&whole, &parts] {
        let mut d = tape.derivatives::<Complex<f64>>().unwrap();
        let y = d.value(&[Datum::Complex(z)]).unwrap();
        let y = y.complex().unwrap();
        assert!((y - reference).norm() < ROUNDING, "{y} {reference}");
        // The pullback of a holomorphic function multiplies by conj(f').
        let slope = (f_(&(z + 1e-6)) - f_(&(z - 1e-6))) / 2e-6;
        let (_, bars) =
            d.vjp(&[Datum::Complex(z)], Datum::Complex(Complex::new(1.0, 0.0))).unwrap();
        assert!((bars[0].complex().unwrap() - slope.conj()).norm() < 1e-8);
    }
    let slope = f_(&ComplexExpr::symbol("z")).derivative("z").unwrap();
    let exact = f_(&z) * (2.0 * z) - (z * z).exp() / (z * z);
    assert!((slope.evaluate(&[("z", z)]).unwrap() - exact).norm() < ROUNDING);
}

/// Every function of one argument, at a point inside its domain.
macro_rules! functions {
    ($($f:ident $at:expr;)*) => {
        #[test]
        fn every_function_is_recorded_and_differentiated() {
            $(
                let x = Expr::symbol("x");
                let y = Scalar::$f(&x);
                let dual = Scalar::$f(&Dual64::new($at, 1.0));
                assert_eq!(y.evaluate(&[("x", $at)]).unwrap(), Scalar::$f(&$at), stringify!($f));
                close(y.derivative("x").unwrap().evaluate(&[("x", $at)]).unwrap(), dual.eps, ROUNDING);
                let slope = y.gradient(&["x"]).unwrap().remove(0);
                close(slope.evaluate(&[("x", $at)]).unwrap(), dual.eps, ROUNDING);
                // The second derivative is the derivative of a formula.
                let second = slope.derivative("x").unwrap().evaluate(&[("x", $at)]).unwrap();
                let step = 1e-5;
                let slope_at = |x: f64| Scalar::$f(&Dual64::new(x, 1.0)).eps;
                close(second, (slope_at($at + step) - slope_at($at - step)) / (2.0 * step), 1e-6);
                // Tracing at a value gives the value of the number itself.
                let mut value = 0.0;
                trace_at("f", &["x"], $at, |x| { value = *Scalar::$f(&x).value(); x }).unwrap();
                assert_eq!(value, Scalar::$f(&$at));
            )*
        }
    };
}
functions! {
    recip 0.4; sqrt 0.4; cbrt 0.4; exp 0.4; exp_m1 0.4; ln 0.4; ln_1p 0.4; log2 0.4; log10 0.4; sin 0.4; cos 0.4;
    tan 0.4; asin 0.4; acos 0.4; atan 0.4; sinh 0.4; cosh 0.4; tanh 0.4; asinh 0.4; acosh 1.4; atanh 0.4;
}

#[test]
fn evaluation_on_every_scalar() {
    let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    let e = x.hypot(&y) * x.atan2(&y) + (&x % &y) + x.min(&y);
    let (a, b) = (2.5, 0.7);
    let reference = f64::hypot(a, b) * f64::atan2(a, b) + a % b + b;
    close(e.evaluate(&[("x", a), ("y", b)]).unwrap(), reference, ROUNDING);
    let dual = e.evaluate(&[("x", Dual64::new(a, 1.0)), ("y", b.into())]).unwrap();
    close(e.derivative("x").unwrap().evaluate(&[("x", a), ("y", b)]).unwrap(), dual.eps, ROUNDING);
    let measured =
        (&x - &x.clone() * Expr::int(2)).evaluate(&[("x", Uncertain::new(1.0, 0.1))]).unwrap();
    close(measured.sigma(), 0.1, ROUNDING);
    // Substitution is evaluation on expressions, and reaches what evaluation cannot decide.
    let shifted = e.substitute(&[("x", &y + Expr::int(1))]);
    assert_eq!(shifted.symbols(), ["y"]);
    close(
        shifted.evaluate(&[("y", 1.5)]).unwrap(),
        e.evaluate(&[("x", 2.5), ("y", 1.5)]).unwrap(),
        ROUNDING,
    );
    let missing = e.evaluate(&[("x", 1.0)]).unwrap_err();
    assert_eq!(
        missing.to_string(),
        "the expression depends on `y`, which is none of its inputs (x)"
    );
}

/// A circuit with every kind of parametrised gate, on n qubits.
fn ansatz(n: usize, layers: usize) -> Circuit {
    let mut c = Circuit::new(n);
    for layer in 0..layers {
        for q in 0..n {
            let theta = c.param(&format!("t{}", layer * n + q));
            match (layer + q) % 3 {
                0 => c.ry(q, theta).unwrap(),
                1 => c.rx(q, theta).unwrap(),
                _ => c.rz(q, theta).unwrap(),
            };
        }
        for q in 0..n {
            c.cx(q, (q + 1) % n).unwrap();
            c.h(q).unwrap().t(q).unwrap();
        }
    }
    c
}

#[test]
fn amplitudes_of_a_circuit_are_formulas() {
    let circuit = ansatz(3, 2);
    let angles: Vec<f64> = (0..6).map(|k| 0.3 + 0.41 * f64::from(k)).collect();
    let names: Vec<String> = (0..6).map(|k| format!("t{k}")).collect();
    let values: Vec<(&str, f64)> =
        names.iter().map(String::as_str).zip(angles.iter().copied()).collect();
    let numbers = Simulator::new().run(&circuit, &angles).unwrap();
    let formulas = Simulator::new().run(&circuit, &symbols(6)).unwrap();
    for (z, e) in numbers.amplitudes().iter().zip(formulas.amplitudes()) {
        close(e.re.evaluate(&values).unwrap(), z.re, CIRCUIT);
        close(e.im.evaluate(&values).unwrap(), z.im, CIRCUIT);
    }
    // Complex expressions are amplitudes as well.
    let params = circuit.param_values(&symbols(6)).unwrap();
    let binding = ketgrad_core::param::Values(&params);
    let state: StateVector<ComplexExpr> = Simulator::new().run_bound(&circuit, &binding).unwrap();
    let complex: Vec<(&str, Complex<f64>)> =
        values.iter().map(|(n, x)| (*n, Complex::from(*x))).collect();
    for (z, e) in numbers.amplitudes().iter().zip(state.amplitudes()) {
        assert!((e.evaluate(&complex).unwrap() - z).norm() < CIRCUIT);
    }
    // The derivative of an expectation value, as a formula.
    let z0 = formulas.expectation(&"Z0".parse().unwrap(), &Default::default()).unwrap();
    let slope = z0.gradient(&["t1"]).unwrap().remove(0).evaluate(&values).unwrap();
    let duals: Vec<Dual64> =
        angles.iter().enumerate().map(|(k, &x)| Dual64::new(x, f64::from(k == 1))).collect();
    let state = Simulator::new().run(&circuit, &duals).unwrap();
    close(
        slope,
        state.expectation(&"Z0".parse().unwrap(), &Default::default()).unwrap().eps,
        CIRCUIT,
    );
}

#[test]
fn hadamards_cancel_exactly_in_formulas() {
    let mut c = Circuit::new(1);
    let theta = c.param("theta");
    c.h(0).unwrap().h(0).unwrap().rx(0, theta).unwrap();
    let state = Simulator::new().run(&c, &[Expr::symbol("theta")]).unwrap();
    let shown: Vec<String> =
        state.amplitudes().iter().flat_map(|a| [a.re.to_string(), a.im.to_string()]).collect();
    assert_eq!(shown, ["cos(theta/2)", "0", "0", "-sin(theta/2)"]);
}

#[test]
fn complex_formulas_have_a_modulus_and_an_angle() {
    let [x, y] = ["x", "y"].map(Expr::symbol);
    let z = ComplexExpr::new(x.clone(), y);
    for (a, b) in [(3.0, 4.0), (-1.0, 2.0), (-2.0, -0.5), (0.0, -1.0)] {
        let at = [("x", a), ("y", b)];
        close(z.modulus().evaluate(&at).unwrap(), f64::hypot(a, b), ROUNDING);
        close(z.arg().evaluate(&at).unwrap(), f64::atan2(b, a), ROUNDING);
        let sign = if a == 0.0 { 0.0 } else { a.signum() };
        assert_eq!(x.sign().evaluate(&at[..1]).unwrap(), sign);
    }
    // (z^2 + i z) / z, simplified, is still z + i.
    let z = ComplexExpr::symbol("z");
    let short = ((&z * &z + &z * ComplexExpr::i()) / &z).simplified(Level::Algebraic).unwrap();
    let value = short.evaluate(&[("z", Complex::new(0.3, -1.2))]).unwrap();
    assert!((value - Complex::new(0.3, -0.2)).norm() < ROUNDING, "{value}");
}

#[test]
fn simplification_is_the_passes() {
    let (a, b) = (Expr::symbol("a"), Expr::symbol("b"));
    let e = (&a + &a * &b) / (Expr::int(1) + &b);
    assert_eq!(e.simplified(Level::Strict).unwrap(), e);
    assert_eq!(e.simplified(Level::Algebraic).unwrap(), a);
}
