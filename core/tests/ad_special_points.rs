//! Derivatives where slopes are infinite: a zero is a number like others, unless nothing leads to
//! it.
//!
//! - Forward and reverse mode, on every engine, are both finite and equal, or neither is finite:
//!   for all compositions `f(g(x))` and products `f(x) g(x)` of the op table, at 0, -0, 1, -1 and
//!   the infinities.
//! - Where the limit of a slope is known, it is what comes out, or NaN, never another finite
//!   number.
//! - What is not chosen, not read or does not move has no part in a derivative, however steep it
//!   is.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir::{FunctionBuilder, Kind, Number1, Number2, Op, Param, Program, Real2},
    pass::Level,
    tape::{Tape, Variable},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{DualSVec64, HyperDual64};

/// Two ways of computing the same slope.
const TOLERANCE: f64 = 1e-12;

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]))
}

fn reals(xs: &[f64]) -> Vec<Datum<f64>> {
    xs.iter().map(|&x| Datum::Real(x)).collect()
}

fn real(d: &Datum<f64>) -> f64 {
    *d.real().unwrap()
}

/// The gradient by each mode and engine: reverse with and without passes, prepared, compiled;
/// forward one input at a time.
fn gradients(source: &str, at: &[f64]) -> Vec<(&'static str, Vec<f64>)> {
    let p = program(source);
    let data = reals(at);
    let of = |level| Derivatives::<f64>::new(&p, "f").unwrap().with_level(level);
    let by = |mut d: Derivatives<'_, f64>| {
        d.gradient(&data).unwrap().iter().map(real).collect::<Vec<f64>>()
    };
    let mut all =
        vec![("reverse", by(of(Level::Strict))), ("reverse without passes", by(of(Level::None)))];
    let mut slopes = vec![0.0; at.len()];
    of(Level::Strict).prepare().unwrap().gradient(at, &mut slopes).unwrap();
    all.push(("prepared", slopes));
    #[cfg(feature = "jit")]
    all.push(("compiled", by(of(Level::Strict).with_jit())));
    let along = |mut d: Derivatives<'_, f64>| {
        let unit = |k: usize| {
            reals(&(0..at.len()).map(|j| f64::from(u8::from(j == k))).collect::<Vec<_>>())
        };
        (0..at.len()).map(|k| real(&d.jvp(&data, &unit(k)).unwrap().1)).collect::<Vec<f64>>()
    };
    all.push(("forward", along(of(Level::Strict))));
    all.push(("forward without passes", along(of(Level::None))));
    // Duals that know a constant from a derivative of 0.
    let mut on_duals = Derivatives::<DualSVec64<1>>::new(&p, "f").unwrap();
    let mut dual = |k: usize| {
        let lifted = at.iter().enumerate().map(|(j, &x)| {
            let x = DualSVec64::<1>::from_re(x);
            Datum::Real(if j == k { x.derivative(0) } else { x })
        });
        let y = on_duals.value(&lifted.collect::<Vec<_>>()).unwrap();
        y.real().unwrap().eps.0.map_or(0.0, |d| d[0])
    };
    all.push(("dual", (0..at.len()).map(&mut dual).collect()));
    all
}

fn agree(a: f64, b: f64) -> bool {
    if a.is_finite() { (a - b).abs() <= TOLERANCE * (1.0 + a.abs()) } else { !b.is_finite() }
}

/// The gradients agree, and are `right` or not finite.
#[track_caller]
fn right_or_undefined(source: &str, at: &[f64], right: &[f64]) {
    for (way, found) in gradients(source, at) {
        for (k, (&x, &y)) in found.iter().zip(right).enumerate() {
            assert!(
                !x.is_finite() || agree(y, x),
                "{source} at {at:?} by {k}, {way}: {x}, not {y}"
            );
        }
    }
    all_agree(source, at);
}

#[track_caller]
fn all_agree(source: &str, at: &[f64]) {
    let all = gradients(source, at);
    for (way, found) in &all[1..] {
        for (k, (&x, &y)) in found.iter().zip(&all[0].1).enumerate() {
            assert!(agree(y, x), "{source} at {at:?} by {k}: {way} {x}, {} {y}", all[0].0);
        }
    }
}

/// The gradients are these, whatever way.
#[track_caller]
fn exactly(source: &str, at: &[f64], right: &[f64]) {
    for (way, found) in gradients(source, at) {
        assert!(
            found.iter().zip(right).all(|(x, y)| x == y),
            "{source} at {at:?}, {way}: {found:?}, not {right:?}"
        );
    }
}

#[test]
fn slopes_whose_limits_are_known_are_those_or_undefined() {
    for (body, at, limit) in [
        ("cbrt(x) * cbrt(x)", 0.0, f64::INFINITY),
        ("powi(acos(x), 2)", 1.0, -2.0),
        ("let y = acos(x); y * y", 1.0, -2.0),
        ("cos(sqrt(x))", 0.0, -0.5),
        ("sqrt(x) * sqrt(x)", 0.0, 1.0),
        ("let y = sqrt(x); y * y", 0.0, 1.0),
        ("powi(cbrt(x), 3)", 0.0, 1.0),
        ("exp(ln(x))", 0.0, 1.0),
        ("cos(acos(x))", 1.0, 1.0),
        ("sin(asin(x))", 1.0, 1.0),
        ("tanh(atanh(x))", 1.0, 1.0),
        ("1.0 / (1.0 / x)", 0.0, 1.0),
        ("pow(acosh(x), 2.0)", 1.0, 2.0),
        ("cbrt(x * x * x)", 0.0, 1.0),
        ("sqrt(x * x * x * x)", 0.0, 0.0),
        ("let y = cbrt(x); y - y + x", 0.0, 1.0),
        ("abs(sqrt(x))", 0.0, f64::INFINITY),
    ] {
        right_or_undefined(&format!("fn f(x) {{ {body} }}"), &[at], &[limit]);
    }
    // The engines know a constant factor; a product of duals is what num_dual makes of it.
    for (way, found) in gradients("fn f(x) { 0.0 * sqrt(x) + x }", &[0.0]) {
        assert!(found[0] == 1.0 || way == "dual" && found[0].is_nan(), "{way}: {found:?}");
    }
}

#[test]
fn a_number_is_zero_through_calls_and_loops_too() {
    for source in [
        "fn g(y) { y * y } fn f(x) { g(cbrt(x)) }",
        "fn g(y) { cbrt(y) } fn f(x) { g(x) * g(x) }",
        "fn g(y) { cbrt(y) } fn f(x) { let y = g(x); y * y }",
        "fn f(x) { let y = cbrt(x); let mut p = 1.0; for i in 0..2 { p *= y; } p }",
        "fn f(x) { let y = cbrt(x); let mut s = 0.0; for i in 0..3 { s += y * y; } s }",
        "fn f(x) { let y = cbrt(x); if x < 1.0 { y * y } else { 0.0 } }",
        "fn f(x) { let y = cbrt(x); if x < 1.0 { y * y } else { y } }",
        "fn g(y) { if y < 1.0 { cbrt(y) } else { y } } fn f(x) { let y = g(x); y * y }",
    ] {
        right_or_undefined(source, &[0.0], &[f64::INFINITY]);
    }
    for source in [
        "fn g(y) { cbrt(y) } fn f(x) { g(x * x * x) }",
        "fn g(y, z) { cbrt(y) + z } fn f(x) { g(x * x * x, x) - x }",
        "fn f(x) { let mut p = 1.0; for i in 0..3 { p *= x; } cbrt(p) }",
        "fn f(x) { let xs = [x, x, x]; cbrt(prod(xs)) }",
        "fn g(y, n: int) { if n == 0 { cbrt(y) } else { g(y, n - 1) } } fn f(x) { g(x * x * x, 2) }",
    ] {
        right_or_undefined(source, &[0.0], &[1.0]);
    }
}

#[test]
fn what_is_not_chosen_has_no_part() {
    let steep = [
        "sqrt(x)",
        "cbrt(x)",
        "ln(x)",
        "x * ln(x)",
        "1.0 / x",
        "pow(x, 0.5)",
        "x / x",
        "sqrt(x * x * x)",
        "powi(x, -1)",
    ];
    for g in steep {
        for after in ["y", "y * y", "y + y * cos(y)", "exp(y)"] {
            exactly(
                &format!("fn f(x, z) {{ let y = {g}; if x > 0.5 {{ {after} }} else {{ z * z }} }}"),
                &[0.0, 3.0],
                &[0.0, 6.0],
            );
            exactly(
                &format!(
                    "fn g(x) {{ {g} }} fn f(x, z) {{ let y = g(x); if x > 0.5 {{ {after} }} else {{ z * z }} }}"
                ),
                &[0.0, 3.0],
                &[0.0, 6.0],
            );
            exactly(
                &format!(
                    "fn f(x, z) {{ let y = {g}; let mut s = z * z; for i in 0..3 {{ if x > 0.5 {{ s += {after}; }} }} s }}"
                ),
                &[0.0, 3.0],
                &[0.0, 6.0],
            );
            exactly(
                &format!(
                    "fn f(x, z) {{ let y = {g}; let mut s = z * z; for i in 0..0 {{ s += {after}; }} s }}"
                ),
                &[0.0, 3.0],
                &[0.0, 6.0],
            );
            exactly(
                &format!(
                    "fn f(x, z) {{ let ys = [z, {g}]; let mut s = 0.0; for i in 0..1 {{ let y = ys[i]; s += y * y; }} s }}"
                ),
                &[0.0, 3.0],
                &[0.0, 6.0],
            );
        }
        // What does not move.
        exactly(&format!("fn f(x, z) {{ z * z + detach({g}) }}"), &[0.25, 3.0], &[0.0, 6.0]);
    }
}

/// Neither where the value itself is undefined: then every slope is that comes after, however flat.
#[test]
fn what_is_not_chosen_may_be_undefined() {
    for undefined in [
        "ln(x)",
        "sqrt(x)",
        "acosh(x)",
        "pow(x, x) + (x - x)",
        "1.0 / (x - x)",
        "sqrt(-1.5) * x",
        "g(x)",
    ] {
        for after in [
            "sin(y)",
            "exp(y)",
            "y * x",
            "y * y",
            "abs(y) + x",
            "max(y, x) * y",
            "hypot(y, x)",
            "cos(y) * tanh(y)",
        ] {
            exactly(
                &format!(
                    "fn g(x) {{ ln(x) + x * x }}
                     fn f(x, z) {{ let y = {undefined}; select(x > 0.5, {after}, z * z) }}"
                ),
                &[-1.5, 3.0],
                &[0.0, 6.0],
            );
        }
    }
}

/// The same element by element.
#[test]
fn elements_that_are_not_chosen_may_be_undefined() {
    for undefined in ["ln(a)", "sqrt(a)", "acosh(a)", "ln(a) + ln(a) * a"] {
        for after in [
            "sin(y)",
            "exp(y)",
            "y * a",
            "y * y",
            "abs(y) + a",
            "y * reshape(reshape(y, [3, 1]), [3])",
        ] {
            let source = format!(
                "fn f(a: array) {{ let y = {undefined}; sum(masked(step(a, 1.5), {after}, a * a)) }}"
            );
            for g in gradient_of_array(&source, &[-1.0, 0.0, 2.0]) {
                assert_eq!(g[..2], [-2.0, 0.0], "{source}");
                assert!(g[2].is_finite(), "{source}");
            }
        }
    }
}

#[test]
fn inputs_that_stay_have_no_part() {
    exactly("fn f(x, z) { max(z * z, sqrt(x)) }", &[0.0, 3.0], &[0.0, 6.0]);
    for g in
        ["sqrt(x)", "sqrt(3.0 * x)", "sqrt(-x)", "sqrt(x * x)", "cbrt(x * x * x)", "cbrt(x + x)"]
    {
        let p = program(&format!("fn f(x, z) {{ {g} + z * z }}"));
        let (_, dot) = Derivatives::<f64>::new(&p, "f")
            .unwrap()
            .jvp(&reals(&[0.0, 3.0]), &reals(&[0.0, 1.0]))
            .unwrap();
        assert_eq!(real(&dot), 6.0, "{g}");
        all_agree(&format!("fn f(x, z) {{ {g} + z * z }}"), &[0.0, 3.0]);
        all_agree(
            &format!("fn g(x, z) {{ {g} + z * z }} fn f(x, z) {{ g(x, z) * z }}"),
            &[0.0, 3.0],
        );
    }
}

fn gradient_of_array(source: &str, at: &[f64]) -> Vec<Vec<f64>> {
    let p = program(source);
    let data = [Datum::reals(at.to_vec())];
    let mut all = Vec::new();
    for level in [Level::None, Level::Strict] {
        let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_level(level);
        let g = d.gradient(&data).unwrap();
        let Datum::Reals(g) = &g[0] else { panic!("no array") };
        all.push(g.to_vec());
        let unit = |k: usize| {
            [Datum::reals((0..at.len()).map(|j| f64::from(u8::from(j == k))).collect::<Vec<_>>())]
        };
        all.push((0..at.len()).map(|k| real(&d.jvp(&data, &unit(k)).unwrap().1)).collect());
    }
    all
}

#[test]
fn elements_are_chosen_one_by_one() {
    let nan = f64::NAN;
    for (body, at, right) in [
        (
            "-sum(masked(step(a, 1e-300), a * ln(a), 0.0))",
            [0.0, 0.5, 1.0],
            [0.0, 0.5f64.ln().mul_add(-1.0, -1.0), -1.0],
        ),
        ("sum(masked(step(a, 0.1), sqrt(a), 0.0))", [0.0, 0.25, 4.0], [0.0, 1.0, 0.25]),
        ("sum(masked(step(a, 0.1), a, sqrt(a)))", [0.0, 0.25, 4.0], [f64::INFINITY, 1.0, 1.0]),
        ("let s = sqrt(a); s[1] * s[2]", [0.0, 4.0, 4.0], [0.0, 0.5, 0.5]),
        ("let s = cbrt(a); s[0] * s[0]", [0.0, 0.0, 1.0], [nan, 0.0, 0.0]),
        ("sum(cbrt(a) * cbrt(a))", [0.0, 8.0, 1.0], [nan, 1.0 / 3.0, 2.0 / 3.0]),
        ("sum(cbrt(a * a * a))", [0.0, 8.0, 1.0], [nan, 1.0, 1.0]),
        ("sum(slice(sqrt(a), 0, 1, 2))", [0.0, 0.25, 4.0], [0.0, 1.0, 0.25]),
        ("sum(sqrt(slice(a, 0, 1, 2)))", [0.0, 0.25, 4.0], [0.0, 1.0, 0.25]),
        ("sum(gather(sqrt(2.0 * a), [1, 1]))", [0.0, 2.0, 0.0], [0.0, 1.0, 0.0]),
        (
            "let s = sqrt(a); let mut t = 0.0; for i in 1..3 { t += s[i] * s[i]; } t",
            [0.0, 1.0, 4.0],
            [0.0, 1.0, 1.0],
        ),
        ("sum(max(a, sqrt(a)))", [4.0, 9.0, 0.25], [1.0, 1.0, 1.0]),
        (
            "let x = a[0]; let s = broadcast_to(sqrt(x), a); sum(masked(step(a, 5.0), s, 3.0 * a))",
            [0.0, 1.0, 2.0],
            [3.0, 3.0, 3.0],
        ),
    ] {
        let source = format!("fn f(a: array) {{ {body} }}");
        for found in gradient_of_array(&source, &at) {
            for (x, y) in found.iter().zip(&right) {
                assert!(agree(*y, *x), "{source} at {at:?}: {found:?}, not {right:?}");
            }
        }
    }
}

/// Functions of one number `@`.
fn functions() -> Vec<String> {
    let mut fs: Vec<String> = Number1::ALL.iter().map(|f| format!("{}(@)", f.name())).collect();
    fs.extend(
        [
            "abs(@)",
            "pow(@, 0.5)",
            "pow(@, 1.5)",
            "pow(2.0, @)",
            "hypot(@, 0.0)",
            "atan2(@, 0.0)",
            "powi(@, 2)",
            "powi(@, -1)",
            "powi(@, 0)",
        ]
        .map(String::from),
    );
    fs.extend(
        ["max(@, 0.0)", "min(@, 1.0)", "@ * @", "@ / @", "@ - @", "floor(@)"].map(String::from),
    );
    fs
}

/// `f(g(x))` and `f(x) g(x)`.
fn bodies(f: &str, g: &str) -> [String; 2] {
    let of = |f: &str, x: &str| f.replace('@', &format!("({x})"));
    [of(f, &of(g, "x")), format!("({}) * ({})", of(f, "x"), of(g, "x"))]
}

#[test]
fn compositions_and_products_of_the_op_table_agree_in_both_modes() {
    let fs = functions();
    // An infinite number times what a choice leaves out is another question than an infinite slope.
    let is_choice = |f: &str| ["max", "min", "floor"].iter().any(|name| f.starts_with(name));
    let points = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, f64::NEG_INFINITY, 0.5];
    let mut wrong = Vec::new();
    for (f, g) in fs.iter().flat_map(|f| fs.iter().map(move |g| (f, g))) {
        for body in bodies(f, g) {
            let p = program(&format!("fn f(x) {{ {body} }}"));
            let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
            for x in points {
                let back = real(&d.gradient(&reals(&[x])).unwrap()[0]);
                let (y, along) = d.jvp(&reals(&[x]), &reals(&[1.0])).unwrap();
                let (y, along) = (real(&y), real(&along));
                let exempt = (is_choice(f) || is_choice(g)) && !(x.is_finite() && y.is_finite());
                if !exempt && !agree(back, along) {
                    wrong
                        .push(format!("{body} at {x}: value {y}, reverse {back}, forward {along}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}

/// The first two derivatives by central differences of three lengths, if these tend to something.
fn differences(f: &mut dyn FnMut(f64) -> f64, x: f64) -> Option<[f64; 2]> {
    let here = f(x);
    let mut by = |h: f64| {
        let (up, down) = (f(x + h), f(x - h));
        [(up - down) / (2.0 * h), (up - 2.0 * here + down) / (h * h)]
    };
    let all = [1e-3, 5e-4, 2.5e-4].map(&mut by);
    let limit = |k: usize| {
        // Two steps of Richardson's.
        let [a, b, c] = all.map(|d| d[k]);
        let (first, last) = ((4.0 * b - a) / 3.0, (4.0 * c - b) / 3.0);
        let near = |x: f64, y: f64, t: f64| (x - y).abs() <= t * (1.0 + y.abs());
        (near(first, last, 1e-5) && near(a, c, 1e-3)).then_some(last)
    };
    Some([limit(0)?, limit(1)?]).filter(|_| here.abs() < 1e3)
}

/// For a smooth function, which its differences tell, the first two derivatives are what these
/// tend to, or undefined: the first by both modes, the second by forward and by reverse mode over
/// reverse mode, by duals and by hyper-duals.
#[test]
fn smooth_compositions_of_the_op_table_have_the_derivatives_of_their_differences() {
    let fs = functions();
    let (mut wrong, mut smooth, mut defined) = (Vec::new(), 0, 0);
    // To a hyper-dual number a zero of which no first derivative is left is a constant.
    let hides = |body: &str| {
        let is_square = body.contains("(powi((x), 2))") || body.contains("((x) * (x))");
        is_square && (body.starts_with("abs") || body.starts_with("hypot"))
    };
    for (f, g) in fs.iter().flat_map(|f| fs.iter().map(move |g| (f, g))) {
        for body in bodies(f, g) {
            let p = program(&format!("fn f(x) {{ {body} }}"));
            let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
            let mut values = Derivatives::<f64>::new(&p, "f").unwrap();
            let mut value = |x: f64| real(&values.value(&reals(&[x])).unwrap());
            let mut second = None;
            let mut hyper = Derivatives::<HyperDual64>::new(&p, "f").unwrap();
            let mut duals = Derivatives::<DualSVec64<1>>::new(&p, "f").unwrap();
            for x in [0.0, -0.0, 1.0, -1.0, 0.5] {
                let Some([slope, curvature]) = differences(&mut value, x) else { continue };
                // At a tie the first is chosen.
                if f.starts_with("max") && value(x) == 0.0
                    || f.starts_with("min") && value(x) == 1.0
                {
                    continue;
                }
                let code = second.get_or_insert_with(|| {
                    let mut p = p.clone();
                    let f = p.lookup("f").unwrap();
                    let second = adjoint::second(&mut p, f).unwrap();
                    Bytecode::compile(&p, second).unwrap()
                });
                let at = reals(&[x]);
                let (gradient, hv) = d.hvp(&at, &reals(&[1.0])).unwrap();
                let weights = Datum::Tuple(reals(&[0.0, 1.0]));
                let args = [at[0].clone(), weights];
                let back =
                    code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args).unwrap();
                let on_hyper =
                    hyper.value(&[Datum::Real(HyperDual64::new(x, 1.0, 1.0, 0.0))]).unwrap();
                let lifted = DualSVec64::<1>::from_re(x).derivative(0);
                let on_duals = duals.gradient(&[Datum::Real(lifted)]).unwrap();
                let on_duals = on_duals[0].real().unwrap().eps.0.map_or(0.0, |d| d[0]);
                let hyper = *on_hyper.real().unwrap();
                let along = real(&d.jvp(&at, &reals(&[1.0])).unwrap().1);
                let found = [
                    ("reverse", real(&gradient[0]), slope),
                    ("forward", along, slope),
                    ("first of hyper-duals", hyper.eps1, slope),
                    ("forward over reverse", real(&hv[0]), curvature),
                    ("reverse over reverse", real(&back.fields()[1]), curvature),
                    ("gradient on duals", on_duals, curvature),
                    ("hyper-duals", hyper.eps1eps2, curvature),
                ];
                smooth += 1;
                defined += usize::from(hv[0].real().unwrap().is_finite());
                for (way, found, right) in found {
                    let is_exempt = way.contains("hyper-duals") && hides(&body);
                    if !is_exempt
                        && found.is_finite()
                        && (found - right).abs() > 1e-4 * (1.0 + right.abs())
                    {
                        wrong.push(format!("{body} at {x:?}, {way}: {found}, not {right}"));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        smooth > 3000 && defined > smooth / 2,
        "{smooth} smooth points, {defined} with second derivatives"
    );
}

#[test]
fn complex_numbers_too() {
    let of = |source: &str| {
        let p = program(source);
        let at = [Datum::Complex(Complex::new(0.0, 0.0))];
        let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap();
        let g = d.gradient(&at).unwrap()[0].clone();
        let (_, dot) = d.jvp(&at, &[Datum::Complex(Complex::new(1.0, 0.0))]).unwrap();
        (*g.complex().unwrap(), *dot.real().unwrap())
    };
    for body in ["re(sqrt(z) * sqrt(z))", "abs2(cbrt(z))", "re(exp(ln(z)))", "re(cbrt(z * z * z))"]
    {
        let (g, dot) = of(&format!("fn f(z: complex) {{ {body} }}"));
        assert!(!g.re.is_finite() && !dot.is_finite(), "{body}: {g}, {dot}");
    }
    let (g, dot) = of(
        "fn f(z: complex) { let w = sqrt(z); if abs2(z) > 1.0 { abs2(w) } else { 2.0 * re(z) } }",
    );
    assert_eq!((g, dot), (Complex::new(2.0, 0.0), 2.0));
}

#[test]
fn tapes_know_a_number_from_nothing() {
    type OfOne = for<'t> fn(Variable<'t, f64>) -> Variable<'t, f64>;
    let slope = |f: OfOne, x: f64| {
        let tape = Tape::<f64>::new();
        let x = tape.variable("x", x);
        f(x).backward().unwrap();
        x.gradient()
    };
    assert!(!slope(|x| x.cbrt() * x.cbrt(), 0.0).is_finite());
    assert!(!slope(|x| x.sqrt().cos(), 0.0).is_finite());
    assert!(!slope(|x| x.acos().powi(2), 1.0).is_finite());
    assert_eq!(slope(|x| x.sqrt().max(x + 1.0), 0.0), 1.0);
}

/// Constants that are zero, infinite or NaN beside operations of two operands: what simplification
/// leaves has the same values and derivatives, bit by bit.
#[test]
fn simplification_keeps_what_special_constants_do() {
    let special = [0.0, -0.0, 1.0, -1.0, 2.0, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300];
    let numbers = Number2::ALL.iter().map(|op| Op::Number2(*op));
    for op in numbers.chain(Real2::ALL.iter().map(|op| Op::Real2(*op))) {
        // Signs of zeros that are scaled are those of products.
        let bits = |x: f64| match x {
            x if x.is_nan() => f64::NAN.to_bits(),
            x if op == Op::Number2(Number2::Scale) => (x + 0.0).to_bits(),
            x => x.to_bits(),
        };
        for (c, is_first) in special.into_iter().flat_map(|c| [(c, true), (c, false)]) {
            let mut b = FunctionBuilder::new("f", vec![Param::new("x", Kind::Real)], Kind::Real);
            let (x, constant) = (b.param(0), b.real(c));
            let y = b.inst(op, &if is_first { [constant, x] } else { [x, constant] }, Kind::Real);
            b.ret(y);
            let mut program = Program::new();
            program.add(b.finish());
            for x in special {
                let of = |level| {
                    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_level(level);
                    let value = f.value(&[Datum::Real(x)]).unwrap();
                    let (y, dot) = f.jvp(&[Datum::Real(x)], &[Datum::Real(1.0)]).unwrap();
                    let slopes = f.gradient(&[Datum::Real(x)]).unwrap();
                    [&value, &y, &dot, &slopes[0]].map(|d| bits(*d.real().unwrap()))
                };
                let (plain, simpler) = (of(Level::None), of(Level::Strict));
                let (a, b) = (plain.map(f64::from_bits), simpler.map(f64::from_bits));
                assert_eq!(
                    plain,
                    simpler,
                    "{}, {c:?} is first: {is_first}, at {x:?}: {a:?} {b:?}",
                    op.name()
                );
            }
        }
    }
}
