//! Lines along an axis: extremes, norms, products, statistics and recurrences against loops, and
//! derivatives where formulas that divide would fail.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::Dual64;

const ROUNDING: f64 = 1e-13;

/// Reads elements of a `[2, 3, 2]` array along the middle axis.
fn lines(x: &[f64]) -> Vec<Vec<f64>> {
    (0..4).map(|l| (0..3).map(|k| x[(l / 2 * 3 + k) * 2 + l % 2]).collect()).collect()
}

const X: [f64; 12] = [0.5, -1.0, 2.0, 0.25, 1.5, -3.0, 0.75, 0.1, -0.2, 1.25, 0.0, 4.0];

fn value(body: &str, at: &[Datum<f64>]) -> Datum<f64> {
    let source = format!("fn f(x: array) {{ {body} }}");
    let program = parse_program(&source).unwrap_or_else(|e| panic!("{body}: {}", e[0]));
    Derivatives::<f64>::new(&program, "f").unwrap().value(at).unwrap()
}

fn reals(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(x) => x.to_vec(),
        Datum::Ints(n) => n.iter().map(|n| *n as f64).collect(),
        Datum::Real(x) => vec![*x],
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_are_those_of_loops() {
    let at = [Datum::reals_of(&[2, 3, 2], X.to_vec()).unwrap()];
    let mean = |l: &[f64]| l.iter().sum::<f64>() / l.len() as f64;
    let var = |l: &[f64]| l.iter().map(|x| (x - mean(l)).powi(2)).sum::<f64>() / l.len() as f64;
    let first = |l: &[f64], better: fn(f64, f64) -> bool| {
        (0..l.len()).fold(0, |best, k| if better(l[k], l[best]) { k } else { best })
    };
    type OfLine<'a> = (&'a str, &'a dyn Fn(&[f64]) -> f64);
    let by_line: [OfLine<'_>; 8] = [
        ("maximum_axis(x, 1)", &|l| l.iter().copied().fold(f64::MIN, f64::max)),
        ("minimum_axis(x, 1)", &|l| l.iter().copied().fold(f64::MAX, f64::min)),
        ("argmax_axis(x, 1)", &|l| first(l, |a, b| a > b) as f64),
        ("argmin_axis(x, 1)", &|l| first(l, |a, b| a < b) as f64),
        ("prod_axis(x, 1)", &|l| l.iter().product()),
        ("norm_axis(x, 1)", &|l| l.iter().map(|x| x * x).sum::<f64>().sqrt()),
        ("var_axis(x, 1)", &|l| var(l)),
        ("std_axis(x, 1)", &|l| var(l).sqrt()),
    ];
    for (body, of_line) in by_line {
        let found = value(body, &at);
        for (found, line) in reals(&found).iter().zip(lines(&X)) {
            let right = of_line(&line);
            assert!(
                (found - right).abs() <= ROUNDING * (1.0 + right.abs()),
                "{body}: {found} {right}"
            );
        }
        assert!(
            found.to_string().starts_with("[[") && found.to_string().matches(',').count() == 3,
            "{found}"
        );
    }
    assert!((reals(&value("var(x)", &at))[0] - var(&X)).abs() < ROUNDING);
    assert!((reals(&value("std(x)", &at))[0] - var(&X).sqrt()).abs() < ROUNDING);
    // NumPy: np.var([1, 2, 3, 4]) = 1.25, np.std([1, 2, 3, 4]) = 1.118033988749895
    let four = [Datum::reals([1.0, 2.0, 3.0, 4.0])];
    assert_eq!(reals(&value("var(x)", &four)), [1.25]);
    assert!((reals(&value("std(x)", &four))[0] - 1.118033988749895).abs() < 1e-15);
    let flipped = reals(&value("flip(x, 1)", &at));
    let products = reals(&value("cumprod(x, 1)", &at));
    let states = reals(&value("linear_recurrence(x, 0.5 * x, 1)", &at));
    for (l, line) in lines(&X).iter().enumerate() {
        let (mut product, mut state) = (1.0, 0.0);
        for k in 0..3 {
            let place = |n: usize| (l / 2 * n + k) * 2 + l % 2;
            product *= line[k];
            assert_eq!(flipped[place(3)], line[2 - k]);
            assert_eq!(products[place(3)], product);
            assert_eq!(states[place(4)], state);
            state = line[k] * state + 0.5 * line[k];
        }
    }
    // Of no elements.
    let none = [Datum::reals_of(&[2, 0], vec![]).unwrap()];
    assert_eq!(reals(&value("prod_axis(x, 1)", &none)), [1.0, 1.0]);
    assert_eq!(reals(&value("norm_axis(x, 1)", &none)), [0.0, 0.0]);
    assert!(reals(&value("var_axis(x, 1)", &none)).iter().all(|x| x.is_nan()));
    // A NaN is not overlooked, and the first of several counts.
    let odd = [Datum::reals_of(&[2, 3], vec![1.0, f64::NAN, 2.0, 5.0, 5.0, 0.0]).unwrap()];
    assert_eq!(reals(&value("argmax_axis(x, 1)", &odd)), [1.0, 0.0]);
    assert!(reals(&value("maximum_axis(x, 1)", &odd))[0].is_nan());
}

/// An operation along an axis gives for each line what it gives for that line alone, however many
/// lines there are before and beside it.
#[test]
fn lines_are_independent_of_the_lines_around_them() {
    let ops = "sum_axis mean_axis maximum_axis minimum_axis argmax_axis argmin_axis prod_axis \
               norm_axis var_axis std_axis logsumexp_axis softmax log_softmax cumsum cumprod flip";
    let number = |k: usize| ((k * k * 7 + k * 13) % 101) as f64 / 40.0 - 1.2;
    for (outer, along, inner) in [(1, 3, 2), (2, 3, 1), (3, 4, 5), (2, 3, 300), (40, 2, 3)] {
        let x: Vec<f64> = (0..outer * along * inner).map(number).collect();
        let at = [Datum::reals_of(&[outer, along, inner], x.clone()).unwrap()];
        for op in ops.split_whitespace() {
            let all = reals(&value(&format!("{op}(x, 1)"), &at));
            let after = all.len() / (outer * inner);
            for (i, j) in (0..outer).flat_map(|i| (0..inner).map(move |j| (i, j))) {
                let line = (0..along).map(|k| x[(i * along + k) * inner + j]).collect();
                let line = [Datum::reals_of(&[1, along], line).unwrap()];
                let alone = reals(&value(&format!("{op}(x, 1)"), &line));
                assert_eq!(alone.len(), after, "{op}");
                for (k, right) in alone.iter().enumerate() {
                    let found = all[(i * after + k) * inner + j];
                    let close = (found - right).abs() <= ROUNDING * (1.0 + right.abs());
                    assert!(close, "{op}, line {i}, {j} of [{outer}, {along}, {inner}]");
                }
            }
        }
    }
}

/// Products of three elements have the derivatives of polynomials, whichever of them vanish.
#[test]
fn products_have_their_derivatives_at_zeros() {
    for at in [[0.5, -2.0, 3.0], [0.0, -2.0, 3.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.0]] {
        let [a, b, c] = at;
        let data = [Datum::reals_of(&[1, 3], at.to_vec()).unwrap()];
        let program = parse_program(
            "fn product(x: array) { prod_axis(x, 1)[0] }
             fn sums(x: array) { sum(cumprod(x, 1) * [1.0, 2.0, 4.0]) }",
        )
        .unwrap();
        let cases = [
            ("product", [b * c, a * c, a * b], [[0.0, c, b], [c, 0.0, a], [b, a, 0.0]], 1.0),
            (
                "sums",
                [1.0 + 2.0 * b + 4.0 * b * c, 2.0 * a + 4.0 * a * c, 4.0 * a * b],
                [
                    [0.0, 2.0 + 4.0 * c, 4.0 * b],
                    [2.0 + 4.0 * c, 0.0, 4.0 * a],
                    [4.0 * b, 4.0 * a, 0.0],
                ],
                4.0,
            ),
        ];
        for (name, gradient, hessian, third) in cases {
            let mut d = Derivatives::<f64>::new(&program, name).unwrap();
            assert_eq!(reals(&d.gradient(&data).unwrap()[0]), gradient, "{name} at {at:?}");
            assert_eq!(d.hessian(&data).unwrap(), hessian, "{name} at {at:?}");
            // The third derivative along the first element, on duals.
            let mut d = Derivatives::<Dual64>::new(&program, name).unwrap();
            let duals: Vec<Dual64> = at
                .iter()
                .enumerate()
                .map(|(k, x)| Dual64::new(*x, if k == 0 { 1.0 } else { 0.0 }))
                .collect();
            let h = d.hessian(&[Datum::reals_of(&[1, 3], duals).unwrap()]).unwrap();
            assert_eq!(
                (h[1][2].eps, h[0][1].eps, h[2][2].eps),
                (third, 0.0, 0.0),
                "{name} at {at:?}"
            );
        }
    }
}

#[test]
fn lengths_and_deviations_of_zero_have_the_derivative_zero() {
    let program = parse_program(
        "fn norms(x: array) { sum(norm_axis(x, 1) * [2.0, 3.0]) }
         fn deviations(x: array) { sum(std_axis(x, 1) * [2.0, 3.0]) }
         fn deviation(x: array) { std(x) }
         fn complex_norms(x: array) { sum(norm_axis(complex(x, 0.0 * x), 1)) }",
    )
    .unwrap();
    let gradient = |name: &str, x: [f64; 4]| {
        let mut d = Derivatives::<Complex<f64>>::new(&program, name).unwrap();
        let g = d.gradient(&[Datum::reals_of(&[2, 2], x.to_vec()).unwrap()]).unwrap();
        let Datum::Reals(g) = &g[0] else { panic!("an array") };
        g.to_vec()
    };
    let g = gradient("norms", [0.0, 0.0, 3.0, 4.0]);
    assert!(
        g[..2] == [0.0, 0.0] && (g[2] - 1.8).abs() < ROUNDING && (g[3] - 2.4).abs() < ROUNDING,
        "{g:?}"
    );
    assert_eq!(gradient("deviation", [2.0; 4]), [0.0; 4]);
    let g = gradient("deviations", [1.0, 1.0, 0.0, 4.0]);
    assert_eq!((g[0], g[1]), (0.0, 0.0));
    assert!((g[2] + 1.5).abs() < ROUNDING && (g[3] - 1.5).abs() < ROUNDING, "{g:?}");
    let g = gradient("complex_norms", [0.0, 0.0, 3.0, 4.0]);
    assert!((g[2] - 0.6).abs() < ROUNDING && (g[3] - 0.8).abs() < ROUNDING && g[0] == 0.0, "{g:?}");
}

/// A chosen length of zeros has no part in second derivatives.
#[test]
fn lengths_that_are_not_chosen_have_no_part() {
    let source =
        "fn f(a: array) { let r = norm_axis([a, 2.0 * a], 1); select(r[0] > 0, r[1], dot(a, a)) }";
    let program = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    assert_eq!(d.hessian(&[Datum::reals([0.0, 0.0])]).unwrap(), [[2.0, 0.0], [0.0, 2.0]]);
}

/// At a tie the first element gets all of the cotangent.
#[test]
fn ties_go_to_the_first() {
    let program = parse_program("fn f(x: array) { sum(maximum_axis(x, 1) * [2.0, 3.0]) }").unwrap();
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let g = d.gradient(&[Datum::reals_of(&[2, 2], vec![1.0, 1.0, 0.0, 4.0]).unwrap()]).unwrap();
    assert_eq!(reals(&g[0]), [2.0, 0.0, 0.0, 3.0]);
}
