//! Error functions, the gamma function and its relatives, logistic functions: values against those
//! of 60 digits, derivatives to third order by every way, and what happens far out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    array::Array,
    emit::{emit_latex, emit_rust, emit_text},
    exec::{Batch, Bytecode, Datum, Derivatives},
    scalar::{Lanes, Real, Scalar, Uncertain},
    tape::Tape,
    text::parse_program,
    trace::Expr,
};
use num_dual::{Dual3_64, Dual64, HyperDual64};

/// A few units in the last place of the greatest number that is added.
const ROUNDING: f64 = 4e-15;
/// Derivatives of formulas that are built differently.
const SLOPES: f64 = 1e-12;
/// The rounding of 32-bit floats, of the value and of the argument.
const SINGLE: f64 = 1e-5;

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64, what: &str) {
    let same = a == b || (a.is_nan() && b.is_nan());
    assert!(same || (a - b).abs() <= tolerance * b.abs().max(1e-300), "{what}: {a:e} is not {b:e}");
}

/// x, erf(x), erfc(x)
const ERROR_FUNCTIONS: [(f64, f64, f64); 14] = [
    (0.0, 0.0, 1.0),
    (1e-8, 1.1283791670955126e-8, 0.9999999887162083),
    (0.3, 0.3286267594591274, 0.6713732405408726),
    (0.84375, 0.7672256612323416, 0.23277433876765838),
    (1.0, 0.8427007929497149, 0.15729920705028513),
    (1.5, 0.9661051464753108, 0.033894853524689274),
    (2.3, 0.9988568234026434, 0.0011431765973566525),
    (3.9, 0.9999999652077514, 3.4792248597231765e-8),
    (-0.7, -0.6778011938374184, 1.6778011938374184),
    (-2.5, -0.999593047982555, 1.999593047982555),
    (5.9, 0.9999999999999999, 7.190409783550478e-17),
    (10.0, 1.0, 2.088487583762545e-45),
    (20.0, 1.0, 5.395865611607901e-176),
    (26.0, 1.0, 5.663192408856143e-296),
];

/// x, lgamma(x), polygamma(0, x) to polygamma(3, x)
const GAMMA: [(f64, f64, [f64; 4]); 15] = [
    (
        1e-10,
        23.025850929882736,
        [-10000000000.577215, 1e20, -1.9999999999999998e30, 5.999999999999999e40],
    ),
    (
        0.1,
        2.252712651734206,
        [-10.423754940411076, 101.43329915079275, -2001.8614573783436, 60004.51287679026],
    ),
    (
        0.5,
        0.5723649429247001,
        [-1.9635100260214235, 4.934802200544679, -16.82879664423432, 97.40909103400244],
    ),
    (
        0.9,
        0.06637623973474295,
        [-0.7549269499470513, 1.9225399594772035, -3.20179704379472, 9.739014093776728],
    ),
    (
        1.3,
        -0.10817480950786047,
        [-0.16919088886679962, 1.1342534349966193, -1.1984625146519565, 2.4010239143089263],
    ),
    (
        1.999,
        -0.0004224618006921073,
        [0.4221391988923556, 0.6453384277720445, -0.40460818920162894, 0.4948267099767592],
    ),
    (
        2.0001,
        4.2281658112919945e-5,
        [0.4228488264846654, 0.6448936579371437, -0.4040644168099456, 0.49385078605932026],
    ),
    (
        3.5,
        1.2009736023470743,
        [1.103156640645243, 0.3303577561002349, -0.1082040516417274, 0.07030584881725205],
    ),
    (
        10.25,
        13.368023671476045,
        [2.277704790686724, 0.10247452151799187, -0.010491898534015283, 0.0021465780199769065],
    ),
    (
        171.0,
        706.5730622457874,
        [5.138736730024483, 0.005865085826483471, -3.439913314523675e-5, 4.035054231897967e-7],
    ),
    (
        1e6,
        12815504.569147611,
        [13.815510057964191, 1.0000005000001667e-6, -1.0000010000005e-12, 2.000003000002e-18],
    ),
    (
        -0.5,
        1.2655121234846454,
        [0.03648997397857652, 8.934802200544679, -0.82879664423432, 193.40909103400244],
    ),
    (
        -1.25,
        1.3664317612369763,
        [3.714139120213528, 19.181879647671607, 123.72136678366236, 1558.2209125348506],
    ),
    (
        -3.7,
        -1.3797399049658245,
        [-0.8450768588704194, 14.84242186412428, -68.89345468867354, 768.994649440866],
    ),
    (
        -20.3,
        -41.887292480135244,
        [5.317549924239749, 15.03134603262623, 68.8352336578373, 769.0206923407153],
    ),
];

/// n, x, polygamma(n, x)
const POLYGAMMA: [(i64, f64, f64); 12] = [
    (5, 0.7, 1025.3283541434719),
    (10, 3.2, -10.634847090477956),
    (20, 0.25, -1.070001618891921e31),
    (20, 25.0, -1.9464147666563566e-11),
    (50, 40.0, -8.417333952828005e-18),
    (100, 7.5, -3.879872527105495e69),
    (200, 3000.0, -1.5e-323),
    (7, -2.3, 76905683.92058922),
    (8, -2.3, 2047472533.0226316),
    (31, -0.6, 4.4576200983659046e46),
    (300, 900.0, -6.401973600891028e-275),
    (1000, 600.0, -5.837036756391904e-214),
];

fn value(source: &str, args: &[Datum<f64>]) -> f64 {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    *Derivatives::<f64>::new(&program, "f").unwrap().value(args).unwrap().real().unwrap()
}

#[test]
fn values_are_those_of_the_tables() {
    for (x, erf, erfc) in ERROR_FUNCTIONS {
        close(Real::erf(&x), erf, ROUNDING, &format!("erf({x})"));
        close(Real::erfc(&x), erfc, ROUNDING, &format!("erfc({x})"));
        close(value("fn f(x) { erf(x) }", &[Datum::Real(x)]), erf, ROUNDING, "erf in a program");
        close(f64::from(Real::erf(&(x as f32))), erf, SINGLE, "erf in single precision");
    }
    for (x, lgamma, psi) in GAMMA {
        // Beside a zero of the function what is right is the error, not the ratio.
        let size = |y: f64| y.abs().max(1.0) / y.abs().max(1e-300);
        close(Real::lgamma(&x), lgamma, ROUNDING * size(lgamma), &format!("lgamma({x})"));
        for (n, psi) in (0..).zip(psi) {
            let what = format!("polygamma({n}, {x})");
            let tolerance = ROUNDING * size(psi) * if x < 0.0 { 10.0 } else { 1.0 };
            close(Real::polygamma(&x, n), psi, tolerance, &what);
            let args = [Datum::Int(n), Datum::Real(x)];
            close(value("fn f(n: int, x) { polygamma(n, x) }", &args), psi, tolerance, &what);
        }
        let digamma = value("fn f(x) { x.digamma() }", &[Datum::Real(x)]);
        close(digamma, psi[0], 10.0 * ROUNDING * size(psi[0]), "digamma in a program");
    }
    for (n, x, y) in POLYGAMMA {
        // As many factors are rounded.
        let tolerance = ROUNDING * (4 + n) as f64;
        let right = if y.abs() < f64::MIN_POSITIVE { 0.5 } else { tolerance };
        close(Real::polygamma(&x, n), y, right, &format!("polygamma({n}, {x})"));
    }
}

#[test]
fn ends_and_poles() {
    let inf = f64::INFINITY;
    for (given, expected) in [
        (Real::sigmoid(&1000.0), 1.0),
        (Real::sigmoid(&-1000.0), 0.0),
        (Real::sigmoid(&-700.0), (-700.0f64).exp()),
        (Real::sigmoid(&0.0), 0.5),
        (Real::softplus(&1000.0), 1000.0),
        (Real::softplus(&-1000.0), 0.0),
        (Real::softplus(&-700.0), (-700.0f64).exp()),
        (Real::softplus(&inf), inf),
        (Real::softplus(&-inf), 0.0),
        (Real::softplus(&f64::NAN), f64::NAN),
        (Real::sigmoid(&f64::NAN), f64::NAN),
        (Real::logaddexp(&-inf, &-inf), -inf),
        (Real::logaddexp(&-inf, &3.0), 3.0),
        (Real::logaddexp(&3.0, &-inf), 3.0),
        (Real::logaddexp(&inf, &-inf), inf),
        (Real::logaddexp(&inf, &inf), inf),
        (Real::logaddexp(&1e4, &-1e4), 1e4),
        (Real::logaddexp(&700.0, &700.0), 700.0 + std::f64::consts::LN_2),
        (Real::logaddexp(&f64::NAN, &1.0), f64::NAN),
        (Real::logaddexp(&1.0, &f64::NAN), f64::NAN),
        (Real::erf(&inf), 1.0),
        (Real::erf(&-inf), -1.0),
        (Real::erfc(&inf), 0.0),
        (Real::lgamma(&0.0), inf),
        (Real::lgamma(&-3.0), inf),
        (Real::lgamma(&inf), inf),
        (Real::polygamma(&0.0, 0), -inf),
        (Real::polygamma(&-0.0, 0), inf),
        (Real::polygamma(&-2.0, 0), f64::NAN),
        (Real::polygamma(&-2.0, 1), inf),
        (Real::polygamma(&0.0, 2), -inf),
        (Real::polygamma(&-0.0, 2), inf),
        (Real::polygamma(&-inf, 1), f64::NAN),
        (Real::polygamma(&1.0, -1), f64::NAN),
    ] {
        close(given, expected, ROUNDING, "at an end");
    }
}

/// A function of x, and formulas for its first three derivatives.
type Known = (&'static str, fn(f64) -> [f64; 3], &'static [f64]);

/// `2/sqrt(pi) e^(-x^2)` and its first two derivatives.
fn bell(x: f64) -> [f64; 3] {
    let e = std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp();
    [e, -2.0 * x * e, (4.0 * x * x - 2.0) * e]
}

/// The logistic function of x and its first two derivatives, by `s' = 1 / (4 cosh(x/2)^2)`.
fn logistic(x: f64) -> [f64; 3] {
    let (c, t) = ((0.5 * x).cosh(), (0.5 * x).tanh());
    let first = if c.is_finite() { 0.25 / c / c } else { 0.0 };
    [if x < 0.0 { x.exp() / (1.0 + x.exp()) } else { 1.0 / (1.0 + (-x).exp()) }, first, -first * t]
}

const FUNCTIONS: [Known; 7] = [
    ("erf(x)", bell, &[-2.0, 0.0, 0.4, 3.0, 20.0]),
    ("erfc(x)", |x| bell(x).map(|y| -y), &[-2.0, 0.0, 0.4, 3.0, 20.0]),
    (
        "sigmoid(x)",
        |x| {
            let [_, first, second] = logistic(x);
            let t = (0.5 * x).tanh();
            [first, second, first * (1.5 * t * t - 0.5)]
        },
        &[-1000.0, -40.0, -1.5, 0.0, 0.7, 30.0, 1000.0],
    ),
    ("softplus(x)", logistic, &[-1000.0, -40.0, -1.5, 0.0, 0.7, 30.0, 1000.0]),
    ("logaddexp(x, 0.25)", |x| logistic(x - 0.25), &[-1000.0, -1.5, 0.0, 0.25, 0.7, 30.0, 1000.0]),
    ("logaddexp(0.25, x)", |x| logistic(x - 0.25), &[-1000.0, -1.5, 0.0, 0.25, 0.7, 30.0, 1000.0]),
    // From both sides: ln(e^x + e^2x).
    (
        "logaddexp(x, 2 * x)",
        |x| {
            let [s, first, second] = logistic(x);
            [1.0 + s, first, second]
        },
        &[-300.0, -1.5, 0.0, 0.7, 30.0, 400.0],
    ),
];

/// The first three derivatives of `f(x)` by every way: duals of third order; gradient, forward over
/// reverse, and the same on duals; forward mode; compiled; a tape's tape.
fn derivatives(source: &str, x: f64) -> Vec<(&'static str, Vec<f64>)> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    let mut all = Vec::new();
    let mut y = Derivatives::<Dual3_64>::new(&program, "f").unwrap();
    let y = y.value(&[Datum::Real(Dual3_64::from(x).derivative())]).unwrap();
    let y = *y.real().unwrap();
    all.push(("duals", vec![y.v1, y.v2, y.v3]));
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let at = [Datum::Real(x)];
    let one = [Datum::Real(1.0)];
    let gradient = *d.gradient(&at).unwrap()[0].real().unwrap();
    let hessian = d.hessian(&at).unwrap()[0][0];
    all.push(("forward over reverse", vec![gradient, hessian]));
    all.push(("forward", vec![*d.jvp(&at, &one).unwrap().1.real().unwrap()]));
    let mut d = Derivatives::<Dual64>::new(&program, "f").unwrap();
    let third = d.hessian(&[Datum::Real(Dual64::new(x, 1.0))]).unwrap()[0][0];
    all.push(("forward over reverse on duals", vec![gradient, third.re, third.eps]));
    #[cfg(feature = "jit")]
    {
        let mut d = Derivatives::<f64>::new(&program, "f").unwrap().with_jit();
        let gradient = *d.gradient(&at).unwrap()[0].real().unwrap();
        all.push(("compiled", vec![gradient, d.hessian(&at).unwrap()[0][0]]));
    }
    let mut d = Derivatives::<HyperDual64>::new(&program, "f").unwrap();
    let g = d.gradient(&[Datum::Real(HyperDual64::new(x, 1.0, 1.0, 0.0))]).unwrap();
    let g = *g[0].real().unwrap();
    all.push(("gradients on hyper-duals", vec![g.re, g.eps1, g.eps1eps2]));
    all
}

#[test]
fn derivatives_to_third_order_are_those_of_formulas() {
    for (body, formula, points) in FUNCTIONS {
        for &x in points {
            for (way, found) in derivatives(&format!("fn f(x) {{ {body} }}"), x) {
                for (order, (&d, right)) in found.iter().zip(formula(x)).enumerate() {
                    let what = format!("{body} at {x}, order {}, {way}", order + 1);
                    // Sums of terms that cancel, and numbers that vanish.
                    assert!(
                        (d - right).abs() <= SLOPES * right.abs() + 1e-16,
                        "{what}: {d:e} is not {right:e}"
                    );
                }
            }
        }
    }
    for (x, _, psi) in GAMMA {
        for (way, found) in derivatives("fn f(x) { lgamma(x) }", x) {
            for (&d, right) in found.iter().zip(psi) {
                close(d, right, SLOPES, &format!("lgamma at {x}, {way}"));
            }
        }
        for (way, found) in derivatives("fn f(x) { digamma(x) }", x) {
            for (&d, right) in found.iter().zip(&psi[1..]) {
                close(d, *right, SLOPES, &format!("digamma at {x}, {way}"));
            }
        }
    }
    // Of an order that is known when it runs.
    let source = "fn f(x) { let mut s = 0.0; for n in 0..4 { s += polygamma(n, x); } s }";
    for (way, found) in derivatives(source, 1.3) {
        for (order, d) in (1..).zip(found) {
            let right: f64 = (0..4).map(|n| Real::polygamma(&1.3, n + order)).sum();
            close(d, right, SLOPES, &format!("{way}, order {order}"));
        }
    }
}

#[test]
fn numbers_of_every_type_have_them() {
    let at = [0.3, 1.7];
    type OfReal<T> = fn(&T) -> T;
    fn all<T: Real>() -> [(&'static str, OfReal<T>); 7] {
        [
            ("erf", T::erf),
            ("erfc", T::erfc),
            ("lgamma", T::lgamma),
            ("sigmoid", T::sigmoid),
            ("softplus", T::softplus),
            ("polygamma", |x| x.polygamma(1)),
            ("logaddexp", |x| x.logaddexp(&T::lit(0.5))),
        ]
    }
    let functions = all::<f64>().into_iter().zip(all::<Lanes<f64, 2>>()).zip(all::<Dual64>());
    let functions = functions.zip(all::<Uncertain>()).zip(all::<Lanes<Dual64, 2>>());
    for (((((name, f), (_, lanes)), (_, dual)), (_, uncertain)), (_, dual_lanes)) in functions {
        assert_eq!(lanes(&Lanes(at)).0, at.map(|x| f(&x)), "{name}");
        let both = dual_lanes(&Lanes(at.map(|x| Dual64::new(x, 1.0)))).0;
        for (x, lane) in at.into_iter().zip(both) {
            let d = dual(&Dual64::new(x, 1.0));
            assert_eq!((d.re, d.eps), (f(&x), lane.eps), "{name}");
            let u = uncertain(&Uncertain::new(x, 0.01));
            close(u.sigma(), 0.01 * d.eps.abs(), ROUNDING, name);
            close((f(&(x + 1e-6)) - f(&(x - 1e-6))) / 2e-6, d.eps, 1e-8, name);
            // A constant stays one, also where the slope is infinite.
            assert_eq!(dual(&Dual64::new(x, 0.0)).eps, 0.0);
        }
    }
    assert_eq!(Real::lgamma(&Dual64::new(0.0, 0.0)).eps, 0.0);
    // Symbols stay symbols, and constants among them exact.
    let x = Expr::symbol("x");
    assert_eq!(x.sigmoid().to_string(), "sigmoid(x)");
    assert_eq!(x.polygamma(0).to_string(), "digamma(x)");
    assert_eq!((x.clone() * &x).polygamma(2).to_string(), "polygamma(2, x*x)");
    assert_eq!(Expr::int(2).lgamma().to_string(), "lgamma(2)");
    assert_eq!(x.logaddexp(&Expr::int(1)).to_string(), "logaddexp(x, 1)");
    assert_eq!(x.lgamma().gradient(&["x"]).unwrap()[0].to_string(), "digamma(x)");
    // Complex numbers have none of them.
    let errors = parse_program("fn f(z: complex) -> complex { erf(z) }").unwrap_err();
    assert!(errors[0].to_string().contains("expected real, given complex"), "{}", errors[0]);
}

const ALL: &str = "fn f(x: array, y: array) {
    let z = erf(x) + erfc(y) * lgamma(x + 2) + digamma(x + 3) * polygamma(2, y + 2);
    let w = sigmoid(x) * softplus(y) + logaddexp(x, y);
    sum(z * w) + sum(log_softmax(z, 0) * w)
}";

#[test]
fn arrays_go_element_by_element() {
    let (x, y) = ([0.3, -0.7, 1.25], [0.5, 2.0, -1.0]);
    let program = parse_program(ALL).unwrap();
    let args = [Datum::reals(x), Datum::reals(y)];
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let (found, gradient) = d.value_and_gradient(&args).unwrap();
    // The same by hand, on duals.
    let by_hand = |at: &[Dual64]| {
        let (x, y) = at.split_at(3);
        let lit = |x: f64| Dual64::from(x);
        let z: Vec<Dual64> = (0..3)
            .map(|k| {
                Real::erf(&x[k])
                    + Real::erfc(&y[k]) * Real::lgamma(&(x[k] + 2.0))
                    + Real::polygamma(&(x[k] + 3.0), 0) * Real::polygamma(&(y[k] + 2.0), 2)
            })
            .collect();
        let total = z.iter().fold(lit(0.0), |s, z| s + Scalar::exp(z));
        (0..3).fold(lit(0.0), |s, k| {
            let w = Real::sigmoid(&x[k]) * Real::softplus(&y[k]) + Real::logaddexp(&x[k], &y[k]);
            s + (z[k] + z[k] - Scalar::ln(&total)) * w
        })
    };
    let at: Vec<f64> = x.iter().chain(&y).copied().collect();
    let (Datum::Reals(g), Datum::Reals(h)) = (&gradient[0], &gradient[1]) else { panic!("arrays") };
    let gradient: Vec<f64> = g.iter().chain(h.iter()).copied().collect();
    for (k, g) in gradient.iter().enumerate() {
        let duals: Vec<Dual64> = at
            .iter()
            .enumerate()
            .map(|(j, &x)| Dual64::new(x, f64::from(u8::from(j == k))))
            .collect();
        let right = by_hand(&duals);
        close(found, right.re, 1e-13, "value");
        close(*g, right.eps, 1e-12, &format!("gradient {k}"));
    }
    // On a tape.
    let tape = Tape::new();
    let (x, y) =
        (tape.array("x", Array::from(x.to_vec())), tape.array("y", Array::from(y.to_vec())));
    let z = x.erf() + y.erfc() * (x + 2.0).lgamma() + (x + 3.0).digamma() * (y + 2.0).polygamma(2);
    let w = x.sigmoid() * y.softplus() + x.logaddexp(y);
    let total = (z * w).sum() + (z.log_softmax(0) * w).sum();
    total.backward().unwrap();
    close(total.value(), found, 1e-14, "on a tape");
    let on_tape: Vec<f64> = x.gradient().iter().chain(y.gradient().iter()).copied().collect();
    on_tape.iter().zip(&gradient).for_each(|(a, b)| close(*a, *b, 1e-13, "gradient on a tape"));
    let tape = Tape::new();
    let x = tape.variable("x", 0.3);
    let y = x.erf() * x.erfc()
        + x.lgamma() * x.sigmoid()
        + x.softplus().logaddexp(x) * x.digamma()
        + x.polygamma(1);
    y.backward().unwrap();
    let source = "fn f(x) { erf(x) * erfc(x) + lgamma(x) * sigmoid(x) + logaddexp(softplus(x), x) * digamma(x) + polygamma(1, x) }";
    let known = derivatives(source, 0.3);
    assert!(known.len() > 4);
    known.iter().for_each(|(way, d)| close(d[0], x.gradient(), 1e-13, way));
    close(y.value(), value(source, &[Datum::Real(0.3)]), 1e-14, "value on a tape");
    // Several points at once, side by side.
    let program = parse_program(source).unwrap();
    let points: Vec<f64> = (0..37).map(|k| 0.05 + 0.11 * f64::from(k)).collect();
    let mut batch =
        Batch::<f64, 4>::new(Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap());
    let arguments: Vec<Vec<Datum<f64>>> = points.iter().map(|&x| vec![Datum::Real(x)]).collect();
    for (arguments, y) in arguments.iter().zip(batch.call(&arguments)) {
        assert_eq!(*y.unwrap().real().unwrap(), value(source, arguments));
    }
}

#[test]
fn log_softmax_of_numbers_that_are_far_apart() {
    let program = parse_program(
        "fn f(x: array) -> array { log_softmax(x, 0) }
        fn g(x: array, k: int) { log_softmax(x, 0)[k] }",
    )
    .unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let at = Datum::reals([1e4, 0.0, -1e4, 1e4 - 2.0]);
    let Datum::Reals(y) = d.value(std::slice::from_ref(&at)).unwrap() else { panic!("an array") };
    let rest = (-2.0f64).exp().ln_1p();
    for (y, right) in y.iter().zip([-rest, -1e4 - rest, -2e4 - rest, -2.0 - rest]) {
        close(*y, right, ROUNDING, "log_softmax");
    }
    // Of numbers that are large and near each other no digits are lost.
    let near = Datum::reals([1e8, 1e8 + 1.0]);
    let Datum::Reals(y) = d.value(&[near]).unwrap() else { panic!("an array") };
    close(y[0], -1.0 - (-1.0f64).exp().ln_1p(), ROUNDING, "beside 1e8");
    // Its gradient is `e_k - softmax`, its Hessian that of `-logsumexp`.
    let mut d = Derivatives::<f64>::new(&program, "g").unwrap();
    let softmax =
        [1.0 / (1.0 + (-2.0f64).exp()), 0.0, 0.0, (-2.0f64).exp() / (1.0 + (-2.0f64).exp())];
    for k in 0..4 {
        let at = [at.clone(), Datum::Int(k)];
        let gradient = d.gradient(&at).unwrap();
        let Datum::Reals(g) = &gradient[0] else { panic!("an array") };
        let hessian = d.hessian(&at).unwrap();
        for i in 0..4 {
            let one = |on: bool| f64::from(u8::from(on));
            let right = one(i as i64 == k) - softmax[i];
            assert!((g[i] - right).abs() < 1e-15, "{k}, {i}: {} {right}", g[i]);
            for j in 0..4 {
                let right = softmax[i] * (softmax[j] - one(i == j));
                assert!(
                    (hessian[i][j] - right).abs() < 1e-15,
                    "{i}, {j}: {} {right}",
                    hessian[i][j]
                );
            }
        }
    }
    // Along each axis, and what is impossible has no part.
    let source = "fn f(x: array) { let y = exp(log_softmax(reshape(x, [2, 3]), 1)); sum(sum_axis(y, 1) * [2.0, 3.0]) }";
    close(
        value(source, &[Datum::reals([1.0, -1e4, 2.0, f64::NEG_INFINITY, 1.0, 3.0])]),
        5.0,
        ROUNDING,
        "rows",
    );
}

#[test]
fn written_out_they_are_read_again() {
    let source = "fn f(x, n: int) { erf(x) + lgamma(x) * digamma(x) + polygamma(n, sigmoid(x)) / logaddexp(x, softplus(x)) + erfc(x) }";
    let program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let text = emit_text(&program, f).unwrap();
    let at = [Datum::Real(0.8), Datum::Int(2)];
    close(value(&text, &at), value(source, &at), 1e-14, &text);
    let latex = emit_latex(&program, f).unwrap();
    assert!(latex.contains("\\psi^{(0)}") && latex.contains("\\ln\\Gamma"), "{latex}");
    let rust = emit_rust(&program, &[f]).unwrap();
    for helper in ["erf", "erfc", "lgamma", "polygamma", "sigmoid", "softplus", "logaddexp"] {
        assert_eq!(rust.matches(&format!("\nfn {helper}(")).count(), 1, "{helper}");
    }
    // A function of the user goes before one of the language.
    assert_eq!(value("fn sigmoid(x) { 2 * x } fn f(x) { sigmoid(x) }", &[Datum::Real(4.0)]), 8.0);
}
