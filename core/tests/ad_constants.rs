//! Parameters held at values: what is left has the derivatives that it has beside them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Colouring, Datum, Derivatives},
    ir::Program,
    text::parse_program,
};

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]))
}

const MODELS: &str = "
    struct Data { x: array, n: int, scale }
    fn series(a, b, d: Data) {
        let mut s = 0.0;
        for i in 0..d.n { let r = a * d.x[i] * d.scale + b * b - a / b; s += r * r; }
        s
    }
    fn power(a, b, d: Data) { if d.n == 0 { a + b } else { a * power(a, b * d.scale, Data { x: d.x, n: d.n - 1, scale: d.scale }) } }
    rule ruled(a, b, d: Data) { a * b * d.x[0] } pullback(a, b, d, y, y_bar) { (3 * y_bar, 5 * y_bar, Data { x: d.x, scale: 0.0 }) }
";

fn at() -> [Datum<f64>; 3] {
    let data = Datum::Tuple(vec![Datum::reals([0.5, -1.0, 2.0]), Datum::Int(3), Datum::Real(0.7)]);
    [Datum::Real(1.3), Datum::Real(0.8), data]
}

#[test]
fn derivatives_are_those_by_what_is_left() {
    let program = program(MODELS);
    for name in ["series", "power", "ruled"] {
        let [a, b, data] = at();
        let mut whole = Derivatives::<f64>::new(&program, name).unwrap();
        let (value, gradient) = whole.value_and_gradient(&at()).unwrap();
        let of = || Derivatives::<f64>::new(&program, name).unwrap();
        let mut by_both = of().with_constant("d", data.clone()).unwrap();
        let both = [a.clone(), b.clone()];
        assert_eq!(
            by_both.value_and_gradient(&both).unwrap(),
            (value, gradient[..2].to_vec()),
            "{name}"
        );
        // One after the other, in any order.
        let by_b =
            of().with_constant("d", data.clone()).unwrap().with_constant("a", a.clone()).unwrap();
        let swapped = of().with_constant("a", a.clone()).unwrap().with_constant("d", data).unwrap();
        for mut f in [by_b, swapped] {
            let found = f.value_and_gradient(std::slice::from_ref(&b)).unwrap();
            assert_eq!(found, (value, gradient[1..2].to_vec()), "{name}");
            let mut prepared = f.prepare().unwrap();
            let mut slope = [0.0];
            assert_eq!(prepared.gradient(&[0.8], &mut slope).unwrap(), value);
            assert_eq!(Datum::Real(slope[0]), gradient[1]);
            assert_eq!(
                f.jvp(std::slice::from_ref(&b), &[Datum::Real(1.0)]).unwrap().0,
                Datum::Real(value)
            );
        }
        if name != "ruled" {
            let hessian = whole.hessian(&at()).unwrap();
            let part: Vec<Vec<f64>> = hessian[..2].iter().map(|row| row[..2].to_vec()).collect();
            assert_eq!(by_both.hessian(&both).unwrap(), part, "{name}");
        }
    }
}

#[test]
fn nothing_is_computed_for_constants() {
    let program = program("fn loss(x: array, w: array) { sum(tanh(matmul(x, w))) }");
    let products = |f: &Derivatives<'_, f64>| f.adjoint().unwrap()[2].matches("matmul").count();
    let whole = Derivatives::<f64>::new(&program, "loss").unwrap();
    let held = Derivatives::<f64>::new(&program, "loss").unwrap();
    let held = held.with_constant("x", Datum::reals_of(&[1, 2], vec![1.0, 2.0]).unwrap()).unwrap();
    assert_eq!((products(&whole), products(&held)), (3, 2));
}

#[test]
fn patterns_are_of_what_is_left() {
    let program = program(
        "fn f(u: array, w: array) { let n = len(u); (slice(u, 0, 1, n - 1) - slice(u, 0, 0, n - 1)) * w }",
    );
    let u = [Datum::reals([1.0, 2.0, 4.0, 8.0])];
    let w = Datum::reals([1.0, -2.0, 3.0]);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_constant("w", w).unwrap();
    let colouring = Colouring::new(f.jacobian_pattern(&u).unwrap());
    assert_eq!(
        (colouring.pattern().columns, colouring.pattern().len(), colouring.products()),
        (4, 6, 2)
    );
    let expected = [[-1.0, 1.0, 0.0, 0.0], [0.0, 2.0, -2.0, 0.0], [0.0, 0.0, -3.0, 3.0]];
    assert_eq!(f.sparse_jacobian(&u, &colouring).unwrap().dense(), expected);
}

#[test]
fn what_cannot_be_held() {
    let program = program(MODELS);
    let of = || Derivatives::<f64>::new(&program, "series").unwrap();
    let error = of().with_constant("c", Datum::Real(1.0)).unwrap_err().to_string();
    assert_eq!(error, "`series` has no parameter `c`: it has `a`, `b`, `d`");
    let error = of().with_constant("a", Datum::Int(1)).unwrap_err().to_string();
    assert_eq!(error, "`a` of `series` is real, given int");
    let twice =
        of().with_constant("a", Datum::Real(1.0)).unwrap().with_constant("a", Datum::Real(1.0));
    assert_eq!(
        twice.unwrap_err().to_string(),
        "`series.held` has no parameter `a`: it has `b`, `d`"
    );
}
