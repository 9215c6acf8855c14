//! The differentiation engine by small examples with known numbers, through program text and the
//! public API.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;

use ketgrad_core::{
    adjoint::{self, DiffError},
    entity::Value,
    exec::{
        AccumulateError, Bytecode, Cotangent, Datum, Derivatives, DeriveError, Host, HostError,
        accumulate,
    },
    ir::{
        self, Definition, Editor, InsertionPoint, Kind, Number1, Number2, Op, Pipe, Position,
        Primitive, Program, Terminator,
    },
    pass::{Level, optimize_all},
    rules::{Rules, number2},
    scalar::{N, Scalar},
    text::{parse_program, parse_program_with},
};

type Real = Datum<f64>;

fn program(source: &str) -> Program {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{e:?}"));
    let found = ir::verify(&program);
    assert!(found.is_empty(), "{found:?}\n{program}");
    program
}

fn real(x: f64) -> Real {
    Datum::Real(x)
}

/// The value and the gradient of a function of real numbers.
fn gradient(source: &str, f: &str, args: &[f64]) -> (f64, Vec<f64>) {
    let args: Vec<Real> = args.iter().map(|&x| real(x)).collect();
    gradient_of(source, f, &args)
}

fn gradient_of(source: &str, f: &str, args: &[Real]) -> (f64, Vec<f64>) {
    let program = program(source);
    let mut d = Derivatives::<f64>::new(&program, f).unwrap();
    let (y, g) = d.value_and_gradient(args).unwrap();
    (y, g.iter().flat_map(numbers).collect())
}

fn numbers(d: &Real) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-14;

// Looking up, editing and differentiating programs.

#[test]
fn the_forward_pass_gives_the_value_and_a_pullback() {
    let p = program("fn f(a, b) { a * b + sin(a) }");
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let mut pulled = d.pullback(&[real(2.0), real(3.0)]).unwrap();
    close(*pulled.value.real().unwrap(), 6.0 + 2f64.sin(), ROUNDING);
    let bars = pulled.call(real(1.0)).unwrap();
    close(*bars[0].real().unwrap(), 3.0 + 2f64.cos(), ROUNDING);
    close(*bars[1].real().unwrap(), 2.0, ROUNDING);
}

#[test]
fn a_statement_is_looked_up_by_its_id() {
    let mut p = program(
        "fn f(a) {\n  let b = sin(a);\n  if b > 0 { b } else { let mut s = a; for i in 0..3 { s *= b; } s }\n}",
    );
    let f = p.lookup("f").unwrap();
    assert!(p.functions[f].blocks.len() > 4, "branches and loops are blocks:\n{}", p.print(f));
    let editor = Editor::new(&mut p, f).unwrap();
    let v1 = Value::new(1);
    let Ok(Definition::Inst(sine)) = editor.definition(v1) else {
        panic!("{:?}", editor.definition(v1))
    };
    assert_eq!(editor.inst(sine).unwrap().op, Op::Number1(Number1::Sin));
    assert_eq!(editor.inst(sine).unwrap().at, Position::new(2, 11));
    assert_eq!(editor.uses(v1).len(), 3, "{}", editor.function());
    assert_eq!(p.functions[f].kinds[v1], Kind::Real);
}

#[test]
fn a_program_is_looked_up_by_name_and_signature() {
    let p = program("fn f(a, n: int) { a }");
    assert!(p.lookup_signature("f", &[Kind::Real, Kind::Int]).is_some());
    assert!(p.lookup_signature("f", &[Kind::Real]).is_none());
    assert!(p.lookup("g").is_none());
}

#[test]
fn an_editor_inserts_before_and_after_and_at_the_end() {
    let mut p = program("fn f(a, b) { a * b }");
    let f = p.lookup("f").unwrap();
    let mut editor = Editor::new(&mut p, f).unwrap();
    let (product, inst) = editor.find(|_| true).unwrap();
    let a = editor.inst(inst).unwrap().args[0];
    let s = editor.insert(InsertionPoint::Before(inst), Op::Number1(Number1::Sin), &[a]).unwrap();
    let sum = editor
        .insert(InsertionPoint::After(inst), Op::Number2(Number2::Add), &[product, s])
        .unwrap();
    let (block, _) = editor.index_of(inst).unwrap();
    let last =
        editor.insert(InsertionPoint::End(block), Op::Number1(Number1::Neg), &[sum]).unwrap();
    editor.set_end(block, Terminator::Return(last)).unwrap();
    assert!(ir::verify(&p).is_empty(), "{:?}\n{p}", ir::verify(&p));
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    close(
        *d.value(&[real(2.0), real(3.0)]).unwrap().real().unwrap(),
        -(6.0 + 2f64.sin()),
        ROUNDING,
    );
}

#[test]
fn a_pipe_copies_a_function_with_every_sine_a_cosine() {
    let mut p = program("fn f(a, b) { a * b + sin(a) }");
    let f = p.lookup("f").unwrap();
    // Every sine becomes a cosine, in a copy.
    let copy = Pipe::copy(&p.functions[f], "g", |pipe, inst| match inst.op {
        Op::Number1(Number1::Sin) => {
            let kind = pipe.kind(inst.args[0]).clone();
            Some(pipe.push(Op::Number1(Number1::Cos), &inst.args, kind, inst.at))
        }
        _ => pipe.keep(inst),
    });
    p.add(copy);
    assert!(ir::verify(&p).is_empty(), "{:?}\n{p}", ir::verify(&p));
    let mut d = Derivatives::<f64>::new(&p, "g").unwrap();
    close(*d.value(&[real(2.0), real(3.0)]).unwrap().real().unwrap(), 6.0 + 2f64.cos(), ROUNDING);
}

#[test]
fn the_adjoint_is_a_program_of_reversed_statements() {
    let mut p = program("fn f(x) { exp(sin(x)) }");
    let f = p.lookup("f").unwrap();
    let pair = adjoint::reverse(&mut p, f).unwrap();
    let (primal, adjoint) = (p.print(pair.primal), p.print(pair.adjoint));
    assert!(primal.contains("push") && adjoint.contains("pop"), "{primal}{adjoint}");
    // Forward: sin, then exp. Backward: what belongs to exp (a product with its value) before the
    // cosine.
    assert!(primal.find("= sin").unwrap() < primal.find("= exp").unwrap());
    assert!(adjoint.find("= mul").unwrap() < adjoint.find("= cos").unwrap(), "{adjoint}");
}

#[test]
fn accumulation_adds_cotangents_of_equal_structure() {
    let n = Cotangent::<f64>::Number;
    assert_eq!(accumulate::<f64>([]).unwrap(), Cotangent::None);
    assert_eq!(accumulate([n(1.0)]).unwrap(), n(1.0));
    assert_eq!(accumulate([n(1.0), n(2.0), Cotangent::None, n(3.0)]).unwrap(), n(6.0));
    let t = |a, b| Cotangent::Tuple(vec![n(a), n(b)]);
    assert_eq!(accumulate([t(1.0, 2.0), t(3.0, 4.0)]).unwrap(), t(4.0, 6.0));
    let named = |list: &[(&str, f64)]| {
        Cotangent::Named(
            list.iter().map(|(k, v)| ((*k).to_owned(), n(*v))).collect::<BTreeMap<_, _>>(),
        )
    };
    let (ab, a) = (named(&[("a", 3.0), ("b", 2.0)]), named(&[("a", 1.0)]));
    assert_eq!(accumulate([ab.clone(), a.clone()]).unwrap(), named(&[("a", 4.0), ("b", 2.0)]));
    assert!(matches!(accumulate([a, ab]), Err(AccumulateError::Name { name, .. }) if name == "b"));
}

#[test]
fn a_pullback_is_called_any_number_of_times() {
    let p = program("fn f(x, n: int) { let mut r = 1.0; for i in 0..n { r *= x; } r }");
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    let mut pulled = d.pullback(&[real(3.0), Datum::Int(4)]).unwrap();
    for seed in [1.0, 2.0, -0.5] {
        assert_eq!(pulled.call(real(seed)).unwrap(), vec![real(108.0 * seed)]);
    }
}

#[test]
fn values_are_substituted_when_editing() {
    let mut p = program("fn f(a, b) { a * b }");
    let f = p.lookup("f").unwrap();
    let (a, b) = (p.functions[f].param_values()[0], p.functions[f].param_values()[1]);
    p.functions[f].map_uses(|v| if v == b { a } else { v });
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    assert_eq!(d.value(&[real(3.0), real(5.0)]).unwrap(), real(9.0));
}

/// `mul` as a primitive, on every scalar.
struct Product;
impl<S: Scalar> Host<S> for Product {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        match (primitive.name.as_str(), args) {
            ("product", [Datum::Real(a), Datum::Real(b)]) => Ok(Datum::Real(a.clone() * b)),
            ("product_back", [Datum::Real(a), Datum::Real(b), _, Datum::Real(y_bar)]) => {
                let (da, db) = (b.clone() * y_bar, a.clone() * y_bar);
                Ok(Datum::Tuple(vec![Datum::Real(da), Datum::Real(db)]))
            }
            _ => Err(HostError::unknown(primitive)),
        }
    }
}

#[test]
fn a_missing_rule_names_the_operation_and_adding_it_mends_it() {
    let source = "fn f(a, b) {\n  sin(product(a, b))\n}";
    let mut rules = Rules::new();
    rules.primitive("product", &[Kind::Real, Kind::Real], Kind::Real).unwrap();
    let p = parse_program_with(source, &rules).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&Product);
    close(*d.value(&[real(2.0), real(3.0)]).unwrap().real().unwrap(), 6f64.sin(), ROUNDING);
    let e = d.gradient(&[real(2.0), real(3.0)]).unwrap_err();
    assert!(
        matches!(&e, DeriveError::Diff(DiffError::MissingRule { op, at, .. }) if op == "product" && at.line == 2)
    );
    assert!(e.to_string().contains("register one with"), "{e}");

    let four = [Kind::Real, Kind::Real, Kind::Real, Kind::Real];
    rules.primitive("product_back", &four, Kind::tuple([Kind::Real, Kind::Real])).unwrap();
    rules.primitive_pullback("product", "product_back").unwrap();
    let p = parse_program_with(source, &rules).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&Product);
    let g = d.gradient(&[real(2.0), real(3.0)]).unwrap();
    close(*g[0].real().unwrap(), 3.0 * 6f64.cos(), ROUNDING);
}

#[test]
fn the_gradient_of_a_trace_of_a_product_is_the_transpose() {
    // tr(A B) for 30 x 30 without the product; by A it is B^T, by B it is A^T.
    const N: usize = 30;
    let source = "fn f(a: array, b: array, n: int) {
        let mut s = 0.0;
        for i in 0..n { for j in 0..n { s += a[i * n + j] * b[j * n + i]; } }
        s
    }";
    let entry = |k: usize| (k as f64 * 0.37).sin();
    let (a, b): (Vec<f64>, Vec<f64>) = (0..N * N).map(|k| (entry(k), entry(k + 1000))).unzip();
    let transposed = |m: &[f64]| -> Vec<f64> { (0..N * N).map(|k| m[k % N * N + k / N]).collect() };
    let program = parse_program(source).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let args = [Datum::reals(a.clone()), Datum::reals(b.clone()), Datum::Int(N as i64)];
    let (value, gradient) = f.value_and_gradient(&args).unwrap();
    let expected: f64 = a.iter().zip(transposed(&b)).map(|(x, y)| x * y).sum();
    assert!((value - expected).abs() < 1e-12);
    let reals = |d: &Datum<f64>| match d {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!(reals(&gradient[0]), transposed(&b));
    assert_eq!(reals(&gradient[1]), transposed(&a));
}

#[test]
fn captured_values_get_cotangents() {
    // What a closure captures is a struct that the function takes.
    let source = "struct Captured { w, b }\nfn f(self_: Captured, x) { self_.w * x + self_.b }";
    let captured = Datum::Tuple(vec![real(3.0), real(1.0)]);
    assert_eq!(gradient_of(source, "f", &[captured, real(2.0)]), (7.0, vec![2.0, 1.0, 3.0]));
}

#[test]
fn the_adjoint_keeps_line_numbers() {
    let mut p = program("fn f(x) {\n  let y = sin(x);\n  y * y\n}");
    let f = p.lookup("f").unwrap();
    let pair = adjoint::reverse(&mut p, f).unwrap();
    let text = p.print(pair.adjoint);
    assert!(text.lines().any(|l| l.contains("= cos") && l.contains("@2:")), "{text}");
    assert!(text.lines().any(|l| l.contains("= mul") && l.contains("@3:")), "{text}");
}

#[test]
fn each_file_of_the_reverse_transformation_stays_small() {
    let parts = [
        include_str!("../ir/src/adjoint/reverse.rs"),
        include_str!("../ir/src/adjoint/canonical.rs"),
        include_str!("../ir/src/adjoint/induction.rs"),
        include_str!("../ir/src/adjoint/cotangents.rs"),
        include_str!("../ir/src/adjoint/sweep.rs"),
        include_str!("../ir/src/adjoint/pullbacks.rs"),
        include_str!("../ir/src/adjoint/values.rs"),
        include_str!("../ir/src/adjoint/tape_plan.rs"),
        include_str!("../ir/src/adjoint/post_dominators.rs"),
    ];
    let code = |part: &str| {
        let lines =
            part.lines().filter(|l| !l.trim_start().starts_with("//") && !l.trim().is_empty());
        lines.count()
    };
    assert!(parts.iter().all(|part| code(part) < 300), "{:?}", parts.map(code));
}

#[test]
fn the_gradient_of_a_product_plus_a_sine_is_exact() {
    let source = "fn g(a, b) { a * b }\nfn h(x) { sin(x) }\nfn f(x1, x2) { g(x1, x2) + h(x1) }";
    let (y, g) = gradient(source, "f", &[2.0, 3.0]);
    assert_eq!(y, 6.909297426825682);
    assert_eq!(g, vec![2.5838531634528574, 2.0]);
}

#[test]
fn the_gradient_of_a_quotient_is_exact() {
    let (y, g) = gradient("fn f(a, b) { a / (1 + b * b) }", "f", &[1.0, 2.0]);
    assert_eq!(y, 0.2);
    close(g[0], 0.2, ROUNDING);
    close(g[1], -0.16, ROUNDING);
}

#[test]
fn the_ir_and_the_adjoint_are_printed() {
    let p = program("fn f(a, b) { a / (1 + b * b) }");
    let d = Derivatives::<f64>::new(&p, "f").unwrap();
    let expected = "\
fn f(a, b) -> real {
block0(v0: real, v1: real):
    v2: real = mul v1, v1 @1:25
    v3: real = real 1.0 @1:21
    v4: real = add v3, v2 @1:21
    v5: real = div v0, v4 @1:16
    return v5 @1:16
}
";
    let strip = |s: &str| {
        let line = |l: &str| l.split(" @").next().unwrap_or(l).to_owned();
        s.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(strip(&d.ir()), strip(expected));
    let texts = d.adjoint().unwrap();
    assert_eq!(texts.len(), 3);
    // The adjoint is a program: it can be read back.
    assert!(texts[1].starts_with("fn f.adjoint(y_bar) -> (real, real) {"), "{}", texts[1]);
    // Straight-line code needs no tape once primal and adjoint are one function.
    assert!(!texts[2].contains("push") && !texts[2].contains("call"), "{}", texts[2]);
}

#[test]
fn algebra_simplifies_a_quotient_and_only_where_asked() {
    for source in ["fn f(a, b) { (a + a * b) / (1 + b) }", "fn f(a, b) { a * (1 + b) / (1 + b) }"] {
        let p = program(source);
        let f = p.lookup("f").unwrap();
        let algebraic = Derivatives::<f64>::new(&p, "f").unwrap().with_level(Level::Algebraic);
        let text = algebraic.ir();
        assert!(text.contains("return v0") && !text.contains(" = "), "{text}");
        let mut strict = p.clone();
        optimize_all(&mut strict, f, Level::Strict);
        assert!(strict.print(f).contains("= div"), "{}", strict.print(f));
        let mut d = algebraic;
        let (y, g) = d.value_and_gradient(&[real(3.0), real(5.0)]).unwrap();
        assert_eq!((y, g), (3.0, vec![real(1.0), real(0.0)]));
    }
}

#[test]
fn recursive_functions_are_differentiated() {
    let source = "fn power(x, n: int) { if n == 0 { 1.0 } else { x * power(x, n - 1) } }";
    let (y, g) = gradient_of(source, "power", &[real(2.0), Datum::Int(10)]);
    assert_eq!((y, g[0]), (1024.0, 5120.0));
    // Mutual, in any order.
    let source = "fn even(x, n: int) { if n == 0 { x } else { odd(x * x, n - 1) } }
                  fn odd(x, n: int) { if n == 0 { 1.0 } else { x * even(x, n - 1) } }";
    let (y, g) = gradient_of(source, "even", &[real(1.1), Datum::Int(4)]);
    // even(4): odd(x^2, 3) = x^2 even(x^2, 2) = x^2 odd(x^4, 1) = x^2 x^4 even(x^4, 0) = x^10
    close(y, 1.1f64.powi(10), 1e-13);
    close(g[0], 10.0 * 1.1f64.powi(9), 1e-13);
}

#[test]
fn the_printed_gradient_reads_back_and_runs() {
    let p = program("fn f(x) { 3 * x * x + 2 * x + 1 }");
    let d = Derivatives::<f64>::new(&p, "f").unwrap();
    let source = &d.adjoint().unwrap()[2];
    let derivative = ir::parse(source).unwrap();
    assert!(ir::verify(&derivative).is_empty());
    let mut run = Derivatives::<f64>::new(&derivative, "f.gradient").unwrap();
    assert_eq!(run.value(&[real(5.0)]).unwrap(), Datum::Tuple(vec![real(86.0), real(32.0)]));
}

#[test]
fn the_gradient_of_a_polynomial_is_exact() {
    assert_eq!(gradient("fn f(x) { 3 * x * x + 2 * x + 1 }", "f", &[5.0]), (86.0, vec![32.0]));
}

#[test]
fn the_gradient_of_a_quotient_with_a_shared_numerator_is_exact() {
    let (y, g) = gradient("fn f(a, b) { a / (a + b * b) }", "f", &[2.0, 3.0]);
    close(y, 0.18181818181818182, ROUNDING);
    close(g[0], 0.0743801652892562, ROUNDING);
    close(g[1], -0.09917355371900827, ROUNDING);
}

#[test]
fn operations_and_rules_have_rules_and_plain_functions_have_none() {
    let rules = Rules::from_program(program(
        "fn f(x) { x }\nrule r(x) { x } pullback(x, y, y_bar) { y_bar }",
    ));
    assert!(rules.has_rule("add") && !rules.has_rule("f") && rules.has_rule("r"));
    let [a, b] = number2(Number2::Add, &N(1.0), &N(2.0), &N(3.0));
    assert_eq!((Number2::Add.value(&1.0, &2.0), a.0, b.0), (3.0, 1.0, 1.0));
}

#[test]
fn functions_without_a_rule_are_decomposed_with_their_control_flow() {
    let source =
        "fn inner(x) { if x > 0 { x * x } else { 0.0 - x } }\nfn f(x) { inner(x) + inner(-x) }";
    assert_eq!(gradient(source, "f", &[3.0]), (12.0, vec![7.0]));
}

#[test]
fn non_differentiable_functions_are_constants_and_a_removed_rule_counts_no_more() {
    let mut rules = Rules::from_program(program("fn noise(x) { 5 * x }"));
    rules.non_differentiable("noise").unwrap();
    let p = parse_program_with("fn f(x) { x + noise(x) }", &rules).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    assert_eq!(d.value_and_gradient(&[real(2.0)]).unwrap(), (12.0, vec![real(1.0)]));
    // A rule that is taken away: the body counts again.
    let source = "rule odd(x) { x * x } pullback(x, y, y_bar) { 100 * y_bar }";
    let mut rules = Rules::from_program(program(source));
    let with = parse_program_with("fn f(x) { odd(x) }", &rules).unwrap();
    assert_eq!(
        Derivatives::<f64>::new(&with, "f").unwrap().gradient(&[real(2.0)]).unwrap(),
        vec![real(100.0)]
    );
    rules.no_rrule("odd").unwrap();
    let without = parse_program_with("fn f(x) { odd(x) }", &rules).unwrap();
    assert_eq!(
        Derivatives::<f64>::new(&without, "f").unwrap().gradient(&[real(2.0)]).unwrap(),
        vec![real(4.0)]
    );
}

#[test]
fn unused_cotangents_are_removed() {
    // Nothing of b's slope is left where only a is active.
    let mut p = program("fn f(a, n: int) { a * exp(real(n)) }");
    let f = p.lookup("f").unwrap();
    let pair = adjoint::reverse(&mut p, f).unwrap();
    let text = p.print(pair.adjoint);
    assert_eq!(text.matches("= mul").count(), 1, "{text}");
    assert_eq!(text.matches("pop").count(), 1, "{text}");
}

#[test]
fn the_gradient_of_a_chain_is_the_chain_rule() {
    let source = "fn f(x) { sin(cos(x)) }";
    for (x, y, d) in [(0.9, 0.5823, -0.6368), (0.6, 0.73477, -0.38300)] {
        let (value, g) = gradient(source, "f", &[x]);
        close(value, y, 1e-4);
        close(g[0], d, 1e-4);
        close(g[0], -x.sin() * x.cos().cos(), ROUNDING);
    }
}

#[test]
fn a_value_that_is_not_used_has_no_slope() {
    assert_eq!(
        gradient("fn f(x) { let y = exp(x); let z = y * y; 2 * x }", "f", &[3.0]),
        (6.0, vec![2.0])
    );
    assert_eq!(gradient("fn f(x) { 7.0 }", "f", &[3.0]), (7.0, vec![0.0]));
}

#[test]
fn loops_early_returns_and_breaks_are_differentiated() {
    let source = "
fn for_loop(x) { let mut r = x; for i in 1..3 { r = r * x; } r }
fn nested(x) {
    let mut outer = x;
    for i in 1..3 {
        outer = outer * x;
        let mut inner = outer;
        let mut j = 1;
        while j < 3 { inner = inner + x; j += 1; }
        outer = inner;
    }
    outer
}
fn s4(x) { let mut r = 10.0; for i in 0..100 { if i == 10 { return r; } r *= x; } r }
fn power(x, n: int) { let mut n = n; let mut r = 1.0; while n > 0 { n -= 1; r *= x; } r }
fn newton(a) { let mut x = a; for i in 0..50 { let y = 0.5 * (x + a / x); let d = y - x; x = y; if d * d < 1e-24 { break; } } x }
";
    assert_eq!(gradient(source, "for_loop", &[2.0]), (8.0, vec![12.0]));
    assert_eq!(gradient(source, "for_loop", &[3.0]), (27.0, vec![27.0]));
    assert_eq!(gradient(source, "nested", &[2.0]), (20.0, vec![22.0]));
    assert_eq!(gradient(source, "nested", &[4.0]), (104.0, vec![66.0]));
    assert_eq!(gradient(source, "s4", &[1.0]), (10.0, vec![100.0]));
    assert_eq!(gradient_of(source, "power", &[real(3.0), Datum::Int(4)]), (81.0, vec![108.0]));
    let (y, g) = gradient(source, "newton", &[2.0]);
    close(y, 2f64.sqrt(), ROUNDING);
    close(g[0], 0.35355339059327373, 1e-12);
    let p = program(source);
    let mut d = Derivatives::<f64>::new(&p, "power").unwrap();
    assert_eq!(d.hessian(&[real(3.0), Datum::Int(4)]).unwrap(), vec![vec![108.0]]);
}

#[test]
fn derivatives_of_any_order() {
    // The gradient of the gradient of the gradient of x^5.
    let mut p = program("fn f(x) { let mut r = 1.0; for i in 0..5 { r *= x; } r }");
    let mut f = p.lookup("f").unwrap();
    for order in 1..=3 {
        let g = adjoint::gradient(&mut p, f).unwrap();
        let name = format!("d{order}");
        let result = p.functions[g].clone();
        let mut b = ir::FunctionBuilder::new(name.as_str(), result.params.clone(), Kind::Real);
        let x = b.param(0);
        let pair = b.inst(Op::Call(g), &[x], result.result.clone());
        let d = b.field(pair, 1);
        b.ret(d);
        f = p.add(b.finish());
        assert!(ir::verify(&p).is_empty(), "{:?}", ir::verify(&p));
    }
    let expected = [5.0 * 16.0, 20.0 * 8.0, 60.0 * 4.0];
    for (k, y) in expected.into_iter().enumerate() {
        let name = format!("d{}", k + 1);
        let mut d = Derivatives::<f64>::new(&p, &name).unwrap();
        assert_eq!(d.value(&[real(2.0)]).unwrap(), real(y), "order {}", k + 1);
    }
    assert!(!Bytecode::compile(&p, f).unwrap().is_empty());
}

#[test]
fn a_point_is_fitted_to_the_last_digit() {
    let source = "
struct Point { x, y }
fn distance(p: Point, q: Point) { let dx = p.x - q.x; let dy = p.y - q.y; sqrt(dx * dx + dy * dy) }
fn loss(k1, k2, p1: Point, p2: Point, p: Point) {
    distance(Point { x: k1 * p1.x + k2 * p2.x, y: k1 * p1.y + k2 * p2.y }, p)
}
fn fit(k1, k2) { loss(k1, k2, Point { x: 2, y: 3 }, Point { x: -2, y: 0 }, Point { x: -1.0 / 3.0, y: 1 }) }";
    let p = program(source);
    let mut prepared = Derivatives::<f64>::new(&p, "fit").unwrap().prepare().unwrap();
    let (mut k, mut g) = ([0.1, 0.1], [0.0; 2]);
    for _ in 0..1000 {
        prepared.gradient(&k, &mut g).unwrap();
        k.iter_mut().zip(&g).for_each(|(k, g)| *k -= 1e-3 * g);
    }
    assert_eq!(k, [0.33427804653861276, 0.4996408206795386]);
}
