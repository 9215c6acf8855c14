//! Comparisons of arrays, of ints and of real numbers: element by element what Rust says of the
//! elements.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::cmp::Ordering;

use ketgrad_core::{
    array::Array,
    exec::{Datum, Derivatives},
    pass::Level,
    scalar::Real,
    text::parse_program,
};
use num_dual::Dual64;
use support::random::Rng;

/// An operator, and whether it holds of two values in an order.
type Comparison = (&'static str, fn(Ordering) -> bool);

const OPERATORS: [Comparison; 6] = [
    ("<", Ordering::is_lt),
    ("<=", Ordering::is_le),
    (">", Ordering::is_gt),
    (">=", Ordering::is_ge),
    ("==", Ordering::is_eq),
    ("!=", Ordering::is_ne),
];

/// Ints that differ by less than a float does there, and others.
const INTS: [i64; 9] =
    [0, 1, -1, 1 << 24, (1 << 24) + 1, (1 << 53) + 1, 1 << 53, i64::MAX, i64::MIN];

fn mask<T: Real>(source: &str, args: &[Datum<T>], level: Level) -> Vec<f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    let y = Derivatives::<T>::new(&program, "f").unwrap().with_level(level).value(args).unwrap();
    let Datum::Reals(mask) = y else { panic!("{y:?}") };
    mask.iter().map(|x| x.primal().unwrap()).collect()
}

fn ints_are_compared_exactly<T: Real>() {
    let mut rng = Rng::new(5);
    for round in 0..12 {
        let mut pick = || INTS[rng.below(INTS.len())];
        let (a, b): (Vec<i64>, Vec<i64>) = (0..12).map(|_| (pick(), pick())).unzip();
        let data = |ints: &[i64]| Datum::<T>::Ints(Array::from(ints.to_vec()).into());
        let one = b[0];
        for (op, holds) in OPERATORS {
            let say = |order: Ordering| f64::from(u8::from(holds(order)));
            for level in [Level::None, Level::Strict] {
                let both = format!("fn f(a: array<int>, b: array<int>) {{ a {op} b }}");
                let expected: Vec<f64> = a.iter().zip(&b).map(|(a, b)| say(a.cmp(b))).collect();
                assert_eq!(mask(&both, &[data(&a), data(&b)], level), expected, "{op} {round}");
                let number = format!("fn f(a: array<int>, n: int) {{ a {op} n }}");
                let expected: Vec<f64> = a.iter().map(|a| say(a.cmp(&one))).collect();
                assert_eq!(
                    mask(&number, &[data(&a), Datum::Int(one)], level),
                    expected,
                    "{op} {round}"
                );
                let number = format!("fn f(a: array<int>, n: int) {{ n {op} a }}");
                let expected: Vec<f64> = a.iter().map(|a| say(one.cmp(a))).collect();
                assert_eq!(
                    mask(&number, &[data(&a), Datum::Int(one)], level),
                    expected,
                    "{op} {round}"
                );
            }
        }
    }
}

#[test]
fn ints_are_compared_as_ints_on_every_number() {
    ints_are_compared_exactly::<f64>();
    ints_are_compared_exactly::<f32>();
    ints_are_compared_exactly::<Dual64>();
}

#[test]
fn reals_are_compared_by_value_and_masks_are_constants() {
    let values = [0.0, -0.0, 1.0, -1.0, 0.5, f64::INFINITY, f64::NEG_INFINITY, 5e-324];
    let a: Vec<f64> = values.iter().flat_map(|x| values.map(|_| *x)).collect();
    let b: Vec<f64> = values.iter().flat_map(|_| values).collect();
    for (op, holds) in OPERATORS {
        let source = format!("fn f(a: array, b: array) {{ a {op} b }}");
        let at = [
            Datum::<f64>::reals_of(&[8, 8], a.clone()).unwrap(),
            Datum::reals_of(&[8, 8], b.clone()).unwrap(),
        ];
        let expected =
            a.iter().zip(&b).map(|(a, b)| f64::from(u8::from(holds(a.partial_cmp(b).unwrap()))));
        assert_eq!(mask(&source, &at, Level::Strict), expected.collect::<Vec<_>>(), "{op}");
        // A matrix and a vector; NaN is neither.
        let source = format!("fn f(a: array, b: array) {{ a {op} b }}");
        let at = [
            Datum::<f64>::reals_of(&[2, 2], vec![1.0, 2.0, 3.0, f64::NAN]).unwrap(),
            Datum::reals([2.0, 2.0]),
        ];
        let given = mask(&source, &at, Level::Strict);
        let expected = [1.0, 2.0, 3.0].map(|a: f64| f64::from(u8::from(holds(a.total_cmp(&2.0)))));
        assert_eq!(given[..3], expected, "{op}");
        assert!(given[3].is_nan());
        let source = format!(
            "fn f(x) {{ sum(masked([x, 2 * x, 3.0] {op} 2.0, [x * x, x, 5 * x], [x, 3 * x, 4 * x])) }}"
        );
        let program = parse_program(&source).unwrap();
        let gradient =
            Derivatives::<f64>::new(&program, "f").unwrap().gradient(&[Datum::Real(1.0)]).unwrap();
        let slopes = [(1.0, 2.0, 1.0), (2.0, 1.0, 3.0), (3.0, 5.0, 4.0)];
        let slope: f64 = slopes
            .iter()
            .map(|(x, yes, no)| if holds(f64::total_cmp(x, &2.0)) { *yes } else { *no })
            .sum();
        assert_eq!(gradient, [Datum::Real(slope)], "{op}");
    }
}
