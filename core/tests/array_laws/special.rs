//! Code compiled for arrays of certain shapes gives what is compiled for any: drawn programs
//! with loops and branches, on shapes that change from call to call; values, derivatives, and
//! errors.

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError},
    ir::Program,
    pass::Level,
    text::parse_program,
};

use support::random::Rng;

/// Statements of an iteration of the loop: s and x have n elements, g and w are [m, n], t is a
/// number, i the iteration.
const STATEMENTS: &[&str] = &[
    "s = tanh(s * row(w, i) + x);",
    "s = s + 0.1 * exp(row(g, i) * -0.5);",
    "g = with_row(g, s * x, i);",
    "t += dot(s, row(g, i));",
    "t = t * 0.5 + 0.1 * sum(s * s);",
    "if t > 0.1 { s = s * 0.5; } else { s = s + row(w, 0); }",
    "s = s - 0.1 * t * x;",
    "let o = outer(s, x); t += 0.1 * o[0, 0]; s = s + 0.01 * matvec(o, x);",
    "t += max(s[0], x[len(x) - 1]) / (1.0 + abs(t));",
    "s = concat(slice(s, 0, 1, len(s) - 1), [0.3 * t], 0);",
    "g = 0.5 * g + insert_axis(s, 0);",
    "s = 0.1 * sum_axis(g, 0) + s;",
    "s = s + 0.1 * reshape(transpose(reshape(s, [1, len(s)])), [len(s)]);",
    "let mut b = s; b[0] = 0.1 * t; b[len(b) - 1] += x[0]; s = b * x;",
    "g = 0.9 * g + dynamic_update_slice(insert_axis(x, 0), w, 0, i);",
    "s = s + 0.05 * matvec(transpose(matmul(g, transpose(w))), sum_axis(w, 1))[0] * x;",
    "let mut j = 0; while j < i { s = s * 0.9 + 0.1 * row(g, j); j += 1; }",
    "s = twice(s, i);",
];

fn program(rng: &mut Rng) -> String {
    let body: Vec<&str> =
        (0..rng.between(2, 6)).map(|_| STATEMENTS[rng.between(0, STATEMENTS.len() - 1)]).collect();
    format!(
        "fn twice(s: array, k: int) {{ if k <= 0 {{ return s * s; }} twice(s * 0.5, k - 1) + s }}
        fn run(x: array, w: array) {{
            let mut s = x; let mut g = w; let mut t = 0.0;
            for i in 0..dim(w, 0) {{ {} }}
            (s, g, t)
        }}
        fn all(x: array, w: array) {{ let r = run(x, w); concat(r.0 + r.2, sum_axis(r.1, 1), 0) }}
        fn loss(x: array, w: array) {{ let r = run(x, w); r.2 + sum(r.0) + sum(r.1 * w) }}",
        body.join(" ")
    )
}

fn args(rng: &mut Rng, m: usize, n: usize) -> [Datum<f64>; 2] {
    let mut some = |n: usize| (0..n).map(|_| rng.signed()).collect::<Vec<f64>>();
    [Datum::reals(some(n)), Datum::reals_of(&[m, n], some(m * n)).unwrap()]
}

/// Everything that is asked of a function at a point.
fn everything(
    all: &mut Derivatives<'_, f64>,
    loss: &mut Derivatives<'_, f64>,
    at: &[Datum<f64>],
) -> Result<Everything, DeriveError> {
    let dots = at.to_vec();
    let (y, y_dot) = all.jvp(at, &dots)?;
    let (_, bars) = all.vjp(at, y.clone())?;
    let (value, gradient) = loss.value_and_gradient(at)?;
    let (_, second) = loss.hvp(at, &dots)?;
    let found =
        [vec![y, y_dot, Datum::Real(value), loss.value(at)?], bars, gradient, second].concat();
    Ok((found, all.jacobian(at)?))
}

type Everything = (Vec<Datum<f64>>, Vec<Vec<f64>>);

/// Equal to rounding, with the same shapes.
#[track_caller]
fn near(a: &Everything, b: &Everything, source: &str) {
    let numbers = |d: &Datum<f64>| match d {
        Datum::Reals(xs) => (xs.shape().to_vec(), xs.to_vec()),
        other => (vec![], other.real().copied().into_iter().collect()),
    };
    let all = |e: &Everything| {
        e.0.iter().map(numbers).chain(e.1.iter().map(|r| (vec![r.len()], r.clone()))).collect()
    };
    let (a, b): (Vec<_>, Vec<_>) = (all(a), all(b));
    assert_eq!(a.len(), b.len(), "{source}");
    for ((shape, x), (other, y)) in a.iter().zip(&b) {
        assert_eq!(shape, other, "{source}");
        let size = x.iter().chain(y).fold(1.0, |s: f64, x| s.max(x.abs()));
        assert!(
            x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-12 * size),
            "{source}:\n{x:?}\n{y:?}"
        );
    }
}

/// Functions that were called with other shapes before, so that these shapes have no code of their
/// own.
fn used(program: &Program, m: usize, n: usize) -> [Derivatives<'static, f64>; 2] {
    let [mut all, mut loss] = ["all", "loss"].map(|name| Derivatives::new(program, name).unwrap());
    everything(&mut all, &mut loss, &args(&mut Rng::new(5), m + 1, n + 1)).unwrap();
    [all, loss]
}

#[test]
fn code_for_shapes_agrees_with_code_for_any() {
    for seed in 0..24 {
        let rng = &mut Rng::new(seed * 0x1234_5678_9abc + 1);
        let source = program(rng);
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
        let (m, n) = (rng.between(1, 4), rng.between(1, 5));
        let [mut all, mut loss] = used(&program, m, n);
        let [mut own_all, mut own_loss] =
            ["all", "loss"].map(|name| Derivatives::new(&program, name).unwrap());
        for _ in 0..2 {
            let at = args(rng, m, n);
            let general =
                everything(&mut all, &mut loss, &at).unwrap_or_else(|e| panic!("{e}: {source}"));
            let special = everything(&mut own_all, &mut own_loss, &at)
                .unwrap_or_else(|e| panic!("{e}: {source}"));
            near(&general, &special, &source);
            // As it is written, with whole arrays on its tapes.
            let [mut plain_all, mut plain_loss] = ["all", "loss"]
                .map(|name| Derivatives::new(&program, name).unwrap().with_level(Level::None));
            let plain = everything(&mut plain_all, &mut plain_loss, &at)
                .unwrap_or_else(|e| panic!("{e}: {source}"));
            near(&general, &plain, &source);
        }
    }
}

/// The same function on shapes that come and go, more of them than have code of their own.
#[test]
fn shapes_change_from_call_to_call() {
    let rng = &mut Rng::new(77);
    let source = program(rng);
    let program = parse_program(&source).unwrap();
    let [mut all, mut loss] = ["all", "loss"].map(|name| Derivatives::new(&program, name).unwrap());
    let mut prepared = loss.prepare().unwrap();
    let mut out = Vec::new();
    for round in 0..40 {
        let (m, n) = if round % 3 == 0 { (2, 3) } else { (1 + round % 4, 2 + round % 5) };
        let at = args(rng, m, n);
        let [mut fresh_all, mut fresh_loss] =
            ["all", "loss"].map(|name| Derivatives::new(&program, name).unwrap());
        let expected = if round % 5 == 0 {
            Some(everything(&mut fresh_all, &mut fresh_loss, &at).unwrap())
        } else {
            None
        };
        let found = everything(&mut all, &mut loss, &at).unwrap();
        let value = prepared.value_and_gradient(&at, &mut out).unwrap();
        let (again, gradient) = loss.value_and_gradient(&at).unwrap();
        assert_eq!(value, again);
        near(&(out.clone(), vec![]), &(gradient, vec![]), &source);
        if let Some(expected) = expected {
            near(&found, &expected, &source);
        }
    }
}

#[test]
fn errors_are_the_same() {
    for (source, sizes) in [
        (
            "fn f(x: array, w: array) { let mut s = x; for i in 0..3 { s = s * row(w, i) + s; } s }",
            (2, 3),
        ),
        (
            "fn f(x: array, w: array) { let y = x * 2; for i in 0..9 { if y[i] > 7 { return y; } } y }",
            (2, 3),
        ),
        ("fn f(x: array, w: array) { let y = x * 2; y * w + transpose(w) }", (2, 3)),
        (
            "fn f(x: array, w: array) { let mut y = x * 2; for i in 0..4 { y[i] = y[i] * 2; } y }",
            (2, 3),
        ),
        (
            "fn f(x: array, w: array) { let y = x * 2; dynamic_update_slice(insert_axis(y * y, 0), w, 0, len(x)) }",
            (2, 3),
        ),
        ("fn f(x: array, w: array) { let k = argmax(x) + 2; slice(x * x, 0, k, 2) * 2 }", (1, 4)),
    ] {
        let program = parse_program(source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
        let at = args(&mut Rng::new(3), sizes.0, sizes.1);
        let [mut general, mut special] =
            [(), ()].map(|()| Derivatives::<f64>::new(&program, "f").unwrap());
        let _ = general.value(&args(&mut Rng::new(4), 9, 9));
        let _ = general.jvp(&args(&mut Rng::new(4), 9, 9), &args(&mut Rng::new(4), 9, 9));
        let _ = general.vjp(&args(&mut Rng::new(4), 9, 9), Datum::reals([]));
        let seed = Datum::reals([]);
        let words = |f: &mut Derivatives<'_, f64>| {
            [
                f.value(&at).err(),
                f.jvp(&at, &at).err(),
                f.vjp(&at, seed.clone()).err(),
                f.jacobian(&at).err(),
            ]
            .map(|e| e.map(|e| (e.to_string(), e.position())))
        };
        let expected = words(&mut general);
        assert!(expected[0].is_some(), "{source}");
        assert_eq!(words(&mut special), expected, "{source}");
    }
}
