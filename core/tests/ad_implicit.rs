//! Solutions differentiated by their equation, and Gauss-Newton products.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint::{DiffError, implicit},
    exec::{Datum, Derivatives},
    ir::Program,
    text::parse_program,
};

type D = Datum<f64>;

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]))
}

fn with_equation(source: &str) -> Program {
    let mut program = program(source);
    let (root, residual) = (program.lookup("root").unwrap(), program.lookup("residual").unwrap());
    implicit(&mut program, root, residual).unwrap();
    program
}

fn numbers(d: &[D]) -> Vec<f64> {
    d.iter()
        .flat_map(|d| match d {
            Datum::Real(x) => vec![*x],
            Datum::Reals(xs) => xs.to_vec(),
            other => panic!("{}", other.describe()),
        })
        .collect()
}

#[track_caller]
fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (a, b) in a.iter().zip(b) {
        assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
    }
}

/// A root found by halving an interval: what is differentiated is the equation alone.
const CUBE: &str = "
    fn root(a, b) {
        let mut low = -10.0; let mut high = 10.0;
        for k in 0..80 {
            let mid = 0.5 * (low + high);
            if powi(mid, 3) + b * mid > a { high = mid; } else { low = mid; }
        }
        0.5 * (low + high)
    }
    fn residual(x, a, b) { powi(x, 3) + b * x - a }
    fn f(a, b) { let x = root(a * b, b); x * x + a }";

#[test]
fn a_bisected_root_has_all_derivatives() {
    let program = with_equation(CUBE);
    let at = [D::Real(3.0), D::Real(0.7)];
    // x^3 + b x = c with c = a b: dx/dc = 1/(3 x^2 + b), dx/db = -x/(3 x^2 + b).
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let (value, gradient) = f.value_and_gradient(&at).unwrap();
    let exact = |a: f64, b: f64| {
        let (mut x, c) = (1.0f64, a * b);
        (0..60).for_each(|_| x -= (x.powi(3) + b * x - c) / (3.0 * x * x + b));
        let slope = 1.0 / (3.0 * x * x + b);
        (x * x + a, [2.0 * x * slope * b + 1.0, 2.0 * x * slope * (a - x)])
    };
    let (y, g) = exact(3.0, 0.7);
    close(&[value], &[y], 1e-13);
    close(&numbers(&gradient), &g, 1e-12);
    // Forwards, and twice, by both orders of the two.
    let dots = [D::Real(0.3), D::Real(-1.1)];
    let (_, y_dot) = f.jvp(&at, &dots).unwrap();
    close(&numbers(&[y_dot]), &[0.3 * g[0] - 1.1 * g[1]], 1e-12);
    let hessian = f.hessian(&at).unwrap();
    let h = 1e-5;
    for (k, row) in hessian.iter().enumerate() {
        let [up, down] = [h, -h].map(|h| {
            exact(3.0 + if k == 0 { h } else { 0.0 }, 0.7 + if k == 1 { h } else { 0.0 }).1
        });
        close(row, &[(up[0] - down[0]) / (2.0 * h), (up[1] - down[1]) / (2.0 * h)], 1e-8);
    }
    close(&[hessian[0][1]], &[hessian[1][0]], 1e-12);
    // Without the equation, halving has no derivative by the parameters of the root.
    let bare = self::program(CUBE);
    let bare = Derivatives::<f64>::new(&bare, "f").unwrap().gradient(&at).unwrap();
    close(&numbers(&bare), &[1.0, 0.0], 0.0);
}

/// x + 0.1 x^3 + M x = p by enough rounds of Newton's method; M is a matrix.
const SYSTEM: &str = "
    fn root(m: array, p: array, c) {
        let mut x = p;
        for k in 0..12 {
            let r = residual(x, m, p, c);
            let jacobian = m + diagonal_matrix(1 + 3 * c * x * x);
            x = x - solve(jacobian, r);
        }
        x
    }
    fn residual(x: array, m: array, p: array, c) -> array { x + c * x * x * x + matvec(m, x) - p }
    fn f(m: array, p: array, c) { let x = root(m, p, c); dot(x, x) + x[0] * x[2] }";

#[test]
fn a_system_agrees_with_the_derivative_through_its_iterations() {
    let m = [0.3, -0.2, 0.1, 0.5, 0.7, -0.3, 0.2, 0.1, 0.4];
    let at = [D::reals_of(&[3, 3], m.to_vec()).unwrap(), D::reals([1.0, -0.5, 2.0]), D::Real(0.1)];
    let (equation, loop_of_steps) = (with_equation(SYSTEM), program(SYSTEM));
    let mut by_equation = Derivatives::<f64>::new(&equation, "f").unwrap();
    let mut by_steps = Derivatives::<f64>::new(&loop_of_steps, "f").unwrap();
    let gradient = by_equation.gradient(&at).unwrap();
    close(&numbers(&gradient), &numbers(&by_steps.gradient(&at).unwrap()), 1e-12);
    let dots =
        [D::reals_of(&[3, 3], vec![0.4; 9]).unwrap(), D::reals([0.1, 1.0, -2.0]), D::Real(-0.6)];
    let forward = |d: &mut Derivatives<'_, f64>| numbers(&[d.jvp(&at, &dots).unwrap().1]);
    close(&forward(&mut by_equation), &forward(&mut by_steps), 1e-12);
    let (a, b) = (by_equation.hvp(&at, &dots).unwrap(), by_steps.hvp(&at, &dots).unwrap());
    close(&numbers(&a.1), &numbers(&b.1), 1e-11);
}

#[test]
fn an_equation_that_does_not_fit_is_refused() {
    for (source, expected) in [
        (
            "fn root(a, b) { a } fn residual(x, a) { x - a }",
            "`residual` takes and gives (real, real) -> real, `root` (real, real) -> real: expected",
        ),
        (
            "fn root(a) { (a, a) } fn residual(x, a) { x - a }",
            "expected a solution that is a real number",
        ),
        (
            "fn root(n: int) { 1.0 } fn residual(x, n: int) { x - 1 }",
            "`root` has no real or complex parameter to differentiate by",
        ),
    ] {
        let mut program = program(source);
        let before = program.clone();
        let (root, residual) =
            (program.lookup("root").unwrap(), program.lookup("residual").unwrap());
        let e: DiffError = implicit(&mut program, root, residual).unwrap_err();
        assert!(e.to_string().contains(expected), "{e}");
        assert_eq!(program, before, "what fails changes nothing");
    }
    // A Jacobian without an inverse is an error of the run.
    let singular = "
        fn root(p: array) { 0 * p } fn residual(x: array, p: array) -> array { sum(x) * p }
        fn f(p: array) { sum(root(p)) }";
    let program = with_equation(singular);
    let e = Derivatives::<f64>::new(&program, "f")
        .unwrap()
        .gradient(&[D::reals([1.0, 2.0])])
        .unwrap_err();
    assert!(e.to_string().contains("`solve_adjoint`: the matrix is singular"), "{e}");
}

#[test]
fn gauss_newton_products_are_those_of_the_jacobian() {
    let program = program(
        "fn f(w: array, c) { let x = [0.5, 1.0, 1.5, 2.0]; w[0] * exp(-w[1] * x) + c * x - [1.0, 0.7, 0.5, 0.4] }",
    );
    let at = [D::reals([1.3, 0.4]), D::Real(0.1)];
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let unit = |k: usize| {
        let e = |j: usize| f64::from(j == k);
        [D::reals([e(0), e(1)]), D::Real(e(2))]
    };
    let columns: Vec<Vec<f64>> =
        (0..3).map(|k| numbers(&[f.jvp(&at, &unit(k)).unwrap().1])).collect();
    for k in 0..3 {
        let expected: Vec<f64> =
            columns.iter().map(|c| c.iter().zip(&columns[k]).map(|(a, b)| a * b).sum()).collect();
        close(&numbers(&f.gauss_newton(&at, &unit(k)).unwrap()), &expected, 1e-13);
    }
    // On complex numbers J^H J, which is Hermitian.
    let program = self::program("fn f(z: complex) { [z * z, exp(z)] }");
    let z = num_complex::Complex::new(0.4, -0.8);
    let one = num_complex::Complex::new(1.0, 0.0);
    let mut f = Derivatives::<num_complex::Complex<f64>>::new(&program, "f").unwrap();
    let product = f.gauss_newton(&[Datum::Complex(z)], &[Datum::Complex(one)]).unwrap();
    let expected = (2.0 * z).norm_sqr() + z.exp().norm_sqr();
    assert!((product[0].complex().unwrap() - expected).norm() < 1e-13);
}
