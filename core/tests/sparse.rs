//! Jacobians and Hessians with many zeros, as partial differential equations have them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{
        Colouring, Datum, Derivatives,
        inspect::{Pattern, hessian_pattern, jacobian_pattern},
    },
    ir::Program,
    text::parse_program,
};
use num_complex::Complex;
use support::random::Rng;

fn program(source: &str) -> Program {
    parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]))
}

/// Bratu's equation `u'' + e^u = 0`, `u(0) = u(1) = 0`, on n points inside: once by operations on
/// arrays, once by a loop over elements.
const BRATU: &str = "
    fn whole(u: array) {
        let n = len(u);
        let h = 1.0 / real(n + 1);
        let wide = concat([0.0], concat(u, [0.0], 0), 0);
        (slice(wide, 0, 0, n) - 2 * u + slice(wide, 0, 2, n)) / (h * h) + exp(u)
    }
    fn point(u: array, i: int) { if i < 0 { 0.0 } else if i >= len(u) { 0.0 } else { u[i] } }
    fn by_elements(u: array) {
        let n = len(u);
        let h = 1.0 / real(n + 1);
        let mut f = [0.0; n];
        for i in 0..n { f[i] = (point(u, i - 1) - 2 * u[i] + point(u, i + 1)) / (h * h) + exp(u[i]); }
        f
    }";

/// Solves a tridiagonal system given by its rows; elimination without pivots.
fn tridiagonal(rows: &[Vec<f64>], b: &[f64]) -> Vec<f64> {
    let n = b.len();
    let (mut diagonal, mut x) = (vec![0.0; n], b.to_vec());
    for i in 0..n {
        diagonal[i] = rows[i][i];
        if i > 0 {
            let factor = rows[i][i - 1] / diagonal[i - 1];
            diagonal[i] -= factor * rows[i - 1][i];
            x[i] -= factor * x[i - 1];
        }
    }
    for i in (0..n).rev() {
        let above = if i + 1 < n { rows[i][i + 1] * x[i + 1] } else { 0.0 };
        x[i] = (x[i] - above) / diagonal[i];
    }
    x
}

#[test]
fn newton_solves_bratus_equation_with_three_products_a_step() {
    let program = program(BRATU);
    for name in ["whole", "by_elements"] {
        let n = 99;
        let at = |u: &[f64]| [Datum::reals(u.to_vec())];
        let mut u = vec![0.0; n];
        let colouring = Colouring::new(jacobian_pattern(&program, name, &at(&u)).unwrap());
        assert_eq!((colouring.pattern().len(), colouring.products()), (3 * n - 2, 3), "{name}");
        let mut f = Derivatives::<f64>::new(&program, name).unwrap();
        for _ in 0..6 {
            let Datum::Reals(residual) = f.value(&at(&u)).unwrap() else { panic!("an array") };
            let jacobian = f.sparse_jacobian(&at(&u), &colouring).unwrap().dense();
            let h = 1.0 / (n as f64 + 1.0);
            for (i, row) in jacobian.iter().enumerate() {
                assert!((row[i] - (u[i].exp() - 2.0 / (h * h))).abs() < 1e-9, "{name}");
                assert!(i == 0 || (row[i - 1] - 1.0 / (h * h)).abs() < 1e-9, "{name}");
            }
            let step = tridiagonal(&jacobian, &residual);
            u.iter_mut().zip(&step).for_each(|(u, d)| *u -= d);
        }
        // The solution is 2 ln(cosh t / cosh(t (1 - 2 x))) with t = sqrt(2) cosh(t) / 4;
        // differences are off by h^2.
        let t = (0..100).fold(0.5f64, |t, _| 2f64.sqrt() / 4.0 * t.cosh());
        assert!((u[n / 2] - 2.0 * t.cosh().ln()).abs() < 2e-6, "{name}: {}", u[n / 2]);
    }
}

#[test]
fn five_points_of_a_grid_take_few_products() {
    // The Laplacian of u on a torus by shifts of whole arrays, times u: five points each.
    let program = program(
        "fn shifted(u: array, axis: int, k: int) {
            let n = dim(u, axis);
            concat(slice(u, axis, k, n - k), slice(u, axis, 0, k), axis)
        }
        fn f(u: array) {
            let n = dim(u, 0);
            let m = dim(u, 1);
            let around = shifted(u, 0, 1) + shifted(u, 0, n - 1) + shifted(u, 1, 1) + shifted(u, 1, m - 1);
            u * (around - 4 * u)
        }",
    );
    let (n, m) = (6, 10);
    let u =
        [Datum::reals_of(&[n, m], (0..n * m).map(|k| (0.3 * k as f64).sin()).collect()).unwrap()];
    let pattern = jacobian_pattern(&program, "f", &u).unwrap();
    assert_eq!((pattern.rows.len(), pattern.len()), (n * m, 5 * n * m));
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let dense = f.jacobian(&u).unwrap();
    for colouring in [Colouring::by_columns(pattern.clone()), Colouring::by_rows(pattern.clone())] {
        // Five entries in each row; twelve other columns share a row with each, so a greedy choice
        // needs at most 13.
        assert!((5..=13).contains(&colouring.products()), "{}", colouring.products());
        let sparse = f.sparse_jacobian(&u, &colouring).unwrap().dense();
        for (row, expected) in sparse.iter().zip(&dense) {
            row.iter().zip(expected).for_each(|(x, y)| assert!((x - y).abs() < 1e-12, "{x} {y}"));
        }
    }
    // What is dense says so: 4 u_i on the diagonal beside the neighbours.
    assert!((dense[0][1] - 0.0).abs() < 1e-12 && (dense[1][0] - (0.3f64).sin()).abs() < 1e-12);
}

#[test]
fn wide_functions_are_done_by_rows() {
    let program = program("fn f(x: array) { [sum(x * x), prod(x)] }");
    let x = [Datum::reals((1..=30).map(|k| 0.5 + 0.02 * f64::from(k)))];
    let colouring = Colouring::new(jacobian_pattern(&program, "f", &x).unwrap());
    assert_eq!(colouring.products(), 2);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let sparse = f.sparse_jacobian(&x, &colouring).unwrap();
    let product: f64 = (1..=30).map(|k| 0.5 + 0.02 * f64::from(k)).product();
    for (k, d) in sparse.row(0) {
        assert!((d - 2.0 * (0.5 + 0.02 * (k as f64 + 1.0))).abs() < 1e-12);
    }
    for (k, d) in sparse.row(1) {
        let expected = product / (0.5 + 0.02 * (k as f64 + 1.0));
        assert!((d - expected).abs() < 1e-12 * expected.abs());
    }
}

#[test]
fn hessians_of_chains() {
    let program = program(
        "fn f(x: array) {
            let n = len(x) - 1;
            let (a, b) = (slice(x, 0, 0, n), slice(x, 0, 1, n));
            let u = b - a * a;
            sum(100 * u * u + (1 - a) * (1 - a))
        }",
    );
    let x = [Datum::reals((0..20).map(|k| 0.5 + 0.03 * f64::from(k)))];
    let pattern = hessian_pattern(&program, "f", &x).unwrap();
    assert_eq!(pattern.len(), 3 * 20 - 2);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let dense = f.hessian(&x).unwrap();
    for colouring in [Colouring::by_columns(pattern.clone()), Colouring::by_rows(pattern)] {
        assert_eq!(colouring.products(), 3);
        let sparse = f.sparse_hessian(&x, &colouring).unwrap().dense();
        for (row, expected) in sparse.iter().zip(&dense) {
            row.iter().zip(expected).for_each(|(x, y)| assert!((x - y).abs() < 1e-9, "{x} {y}"));
        }
    }
}

#[test]
fn a_pattern_of_another_function_is_an_error() {
    let program = program("fn f(x: array) { x * x }");
    let long = [Datum::<f64>::reals([1.0, 2.0, 3.0])];
    let colouring = Colouring::new(jacobian_pattern(&program, "f", &long).unwrap());
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let error = f.sparse_jacobian(&[Datum::reals([1.0, 2.0])], &colouring).unwrap_err().to_string();
    assert_eq!(error, "`f` takes 3 arguments, given 2");
}

#[test]
fn complex_numbers_are_two_real_ones() {
    // Neither holomorphic nor linear; some results are real.
    let source = "fn f(z: array<complex>, x, w: complex) {
        let a = z[0] * conj(z[1]) + x;
        (re(z[2]) * w, [a * a, z[2]], abs2(w))
    }";
    let program = program(source);
    let c = Complex::new;
    let at = [
        Datum::complexes([c(0.5, 1.0), c(-0.3, 0.2), c(1.5, -0.7)]),
        Datum::Real(0.8),
        Datum::Complex(c(0.1, 0.9)),
    ];
    let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
    let dense = f.jacobian(&at).unwrap();
    let pattern = f.jacobian_pattern(&at).unwrap();
    assert_eq!((pattern.rows.len(), pattern.columns), (7, 9));
    assert_eq!((&pattern.rows[0], &pattern.rows[6]), (&vec![4, 5, 7, 8], &vec![7, 8]));
    for colouring in [Colouring::by_columns(pattern.clone()), Colouring::by_rows(pattern)] {
        assert!(colouring.products() < 7);
        assert_eq!(f.sparse_jacobian(&at, &colouring).unwrap().dense(), dense);
    }
    let real = self::program("fn f(z: array<complex>) { re(z[0] * z[0] * z[1]) + abs2(z[2]) }");
    let mut f = Derivatives::<Complex<f64>>::new(&real, "f").unwrap();
    let colouring = Colouring::by_columns(f.hessian_pattern(&at[..1]).unwrap());
    assert_eq!((colouring.pattern().columns, colouring.products()), (6, 4));
    assert_eq!(
        f.sparse_hessian(&at[..1], &colouring).unwrap().dense(),
        f.hessian(&at[..1]).unwrap()
    );
}

/// Neighbours in an order without order: the greedy choice in that order takes 10 and 5 groups.
#[test]
fn few_groups_whatever_the_order_of_the_unknowns() {
    let shuffled = |n: usize| (0..n).map(move |k| k * 1_103 % n);
    let chain = |n: usize| {
        let place: Vec<usize> = shuffled(n).collect();
        (0..n).map(|k| (k.saturating_sub(1)..(k + 2).min(n)).map(|j| place[j]).collect()).collect()
    };
    let pattern = |rows: Vec<Vec<usize>>, columns: usize| {
        let rows = rows.into_iter().map(|mut row: Vec<usize>| {
            row.sort_unstable();
            row
        });
        Pattern { rows: rows.collect(), columns }
    };
    assert_eq!(Colouring::by_columns(pattern(chain(3000), 3000)).products(), 3);
    let (w, h) = (50usize, 47usize);
    let place: Vec<usize> = shuffled(w * h).collect();
    let five = |k: usize| {
        let (x, y) = (k % w, k / w);
        let mut row = vec![place[k]];
        row.extend((x > 0).then(|| place[k - 1]));
        row.extend((x + 1 < w).then(|| place[k + 1]));
        row.extend((y > 0).then(|| place[k - w]));
        row.extend((y + 1 < h).then(|| place[k + w]));
        row
    };
    let grid = pattern((0..w * h).map(five).collect(), w * h);
    assert!(Colouring::by_columns(grid.clone()).products() <= 7);
    assert!(Colouring::new(grid).products() <= 7);
}

/// The time grows as the entries do: elements are written in place, and sets of all unknowns are
/// not written down.
#[test]
fn patterns_of_many_unknowns() {
    let program = program(BRATU);
    for name in ["whole", "by_elements"] {
        let n = 20_000;
        let f = Derivatives::<f64>::new(&program, name).unwrap();
        let pattern = f.jacobian_pattern(&[Datum::reals(vec![0.5; n])]).unwrap();
        assert_eq!(pattern.rows[n - 1], [n - 2, n - 1]);
        assert_eq!((pattern.len(), Colouring::new(pattern).products()), (3 * n - 2, 3));
    }
    // The value of a sum over all depends on all; its Hessian does not ask.
    let source =
        "fn f(u: array) { let mut s = 0.0; for i in 1..len(u) { s += u[i] * u[i] * u[i - 1]; } s }";
    let chain = self::program(source);
    let f = Derivatives::<f64>::new(&chain, "f").unwrap();
    let pattern = f.hessian_pattern(&[Datum::reals(vec![0.5; 20_000])]).unwrap();
    assert_eq!((pattern.len(), &pattern.rows[7]), (3 * 20_000 - 2 - 1, &vec![6, 7, 8]));
}

/// Several tangents and cotangents run side by side on floats; what comes out is that of one after
/// the other.
#[test]
fn products_side_by_side_are_those_one_by_one() {
    let source = "
    fn chain(x: array) {
        let mut s = 0.0;
        for i in 1..len(x) { let a = x[i] - x[i - 1] * x[i - 1]; s += 100 * a * a + select(a > 0, sin(a), a); }
        s
    }
    fn twice(x: array, n: int) { if n == 0 { x } else { twice(tanh(x * x + 0.1), n - 1) } }
    fn net(w: array, u: array) {
        let mut h = slice(w, 0, 0, 4);
        for i in 0..3 { h = tanh(matvec(reshape(w, [4, 4]), h)) + twice(h, 2); }
        matvec(u, h)
    }
    fn norms(w: array, u: array) { let y = net(w, u); dot(y, y) + norm(slice(w, 0, 4, 4)) }
    fn deep(w: array, u: array) { twice(sin(w), 3) }";
    let program = program(source);
    let w = Datum::reals((0..16).map(|k| (0.3 * f64::from(k)).sin()));
    let u = |rows: usize| {
        let elements = (0..4 * rows).map(|k| (0.7 * k as f64).cos()).collect();
        Datum::reals_of(&[rows, 4], elements).unwrap()
    };
    let unit = |n: usize, k: usize| Datum::reals((0..n).map(|j| f64::from(u8::from(j == k))));
    let of = |d: &Datum<f64>| match d {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{other}"),
    };
    let at = [w];
    for (name, rows) in [("net", 30), ("net", 9), ("deep", 1)] {
        let mut f =
            Derivatives::<f64>::new(&program, name).unwrap().with_constant("u", u(rows)).unwrap();
        let y = of(&f.value(&at).unwrap()).len();
        let jacobian = f.jacobian(&at).unwrap();
        assert_eq!((jacobian.len(), jacobian[0].len()), (y, 16));
        for k in 0..16 {
            let column = of(&f.jvp(&at, &[unit(16, k)]).unwrap().1);
            let given: Vec<f64> = jacobian.iter().map(|row| row[k]).collect();
            assert!(close(&given, &column), "{name} {rows}, column {k}: {given:?} {column:?}");
        }
        let mut pulled = f.pullback(&at).unwrap();
        let by_rows: Vec<Vec<f64>> =
            (0..y).map(|k| of(&pulled.call(unit(y, k)).unwrap()[0])).collect();
        assert!(jacobian.iter().zip(&by_rows).all(|(a, b)| close(a, b)), "{name} {rows}");
    }
    for name in ["chain", "norms"] {
        let mut f = Derivatives::<f64>::new(&program, name).unwrap();
        if name == "norms" {
            f = f.with_constant("u", u(5)).unwrap();
        }
        let hessian = f.hessian(&at).unwrap();
        for (k, row) in hessian.iter().enumerate() {
            let product = of(&f.hvp(&at, &[unit(16, k)]).unwrap().1[0]);
            // Sums over elements of arrays are taken in another order.
            let same = if name == "chain" { row == &product } else { close(row, &product) };
            assert!(same, "{name} {k}: {row:?} {product:?}");
        }
    }
    // What one lane alone cannot do is said as it is.
    let source =
        "fn f(x: array) { let mut s = 0.0; for i in 0..len(x) + 1 { s += x[i] * x[i]; } [s, s] }";
    let mut f = Derivatives::<f64>::new(&self::program(source), "f").unwrap();
    let error = f.jacobian(&at).unwrap_err().to_string();
    assert!(error.contains("index 16 of an array of 16 elements"), "{error}");
}

fn close(a: &[f64], b: &[f64]) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-13 * (1.0 + a.abs()))
}

#[test]
fn patterns_hold_where_numbers_choose_otherwise() {
    let sources = [
        "fn f(u: array) { sort(u) * [1.0, 2.0, 3.0] }",
        "fn f(u: array) { [select(u[0] > u[1], u[0], u[1] * u[2]), u[argmax(u)], u[0]] }",
        "fn f(u: array) { let k = argsort(u); [u[k[0]] * 2, u[k[2]], sum(gather(u, [k[1]]))] }",
        "fn f(u: array) { let mut v = [0.0; 3]; v[argmin(u)] = u[0] * u[1]; v }",
        "fn f(u: array) { let m = reshape(u, [3, 1]); let r = transpose(m); [m[argmax(u), 0], r[0, argmin(u)], u[1]] }",
        "fn f(u: array) { let mut m = reshape(u * u, [1, 3]); m[0, argmax(u)] = u[0]; [m[0, 0], m[0, 1], m[0, 2]] }",
        "fn f(u: array) { let p = if u[0] > 0.0 { (u[1], 1) } else { (u[1], 1) }; [select(u[2] > u[1], p.0, u[2]), u[p.1], u[0] * u[0]] }",
    ];
    let points = [[1.0, 2.0, -3.0], [3.0, 2.0, 5.0], [0.5, 0.1, 0.7], [2.0, 1.0, 0.3]];
    for source in sources {
        let program = program(source);
        let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
        let pattern = f.jacobian_pattern(&[Datum::reals(points[0])]).unwrap();
        for at in points {
            let at = [Datum::reals(at)];
            let dense = f.jacobian(&at).unwrap();
            for colouring in
                [Colouring::by_columns(pattern.clone()), Colouring::by_rows(pattern.clone())]
            {
                assert_eq!(
                    f.sparse_jacobian(&at, &colouring).unwrap().dense(),
                    dense,
                    "{source} {at:?}"
                );
            }
        }
    }
    // Indices that no number decides stay sparse.
    let fixed = program(
        "fn f(u: array) { let n = len(u); let mut v = [0.0; n]; for i in 0..n { v[n - 1 - i] = u[i] * u[i]; } v }",
    );
    let pattern = jacobian_pattern(&fixed, "f", &[Datum::<f64>::reals([1.0, 2.0, 3.0])]).unwrap();
    assert_eq!(pattern.rows, [vec![2], vec![1], vec![0]]);
    let pattern = jacobian_pattern(&fixed, "f", &[Datum::<f64>::reals([0.0; 3])]).unwrap();
    assert_eq!(pattern.len(), 3);
}

/// A number made of an array `u`, an array `v` and its value before, `a`, `b` and `w`, with
/// choices by numbers.
fn choosing(rng: &mut Rng) -> String {
    let mut body = String::from("let mut a = u[0]; let mut b = v[1] * u[2]; let mut w = u * 1.0; ");
    for _ in 0..2 + rng.below(4) {
        let (i, j) = (rng.below(4), rng.below(3));
        body += &match rng.below(12) {
            0 => format!("a = select(u[{i}] > b, a * u[{i}], b + v[{j}]); "),
            1 => format!("let s = sort(w); b = s[{i}] * v[{j}] + s[3]; "),
            2 => "a = a + w[argmax(w)] * w[argmin(u)]; ".into(),
            3 => format!("let k = argsort(u); b = b + w[k[{i}]] * v[{j}]; "),
            4 => format!("w = gather(w, argsort(u)) * v[{j}]; "),
            5 => format!("w[argmax(v)] = a * u[{i}]; "),
            6 => format!("w[{i}] = w[{i}] * b; "),
            7 => "b = maximum(w) * minimum(v) + a; ".into(),
            8 => format!("a = max(a, u[{i}]) * min(b, v[{j}]); "),
            9 => format!("a = a + sum(masked(step(u, {}), w * w, u)); ", rng.signed()),
            10 => format!(
                "let wide = concat(w, v, 0); a = a + wide[argmin(wide)] * wide[{}]; ",
                i + j
            ),
            _ => "let p = select(a > b, (a, b), (b * u[1], a)); a = p.0; b = p.1 * v[0]; ".into(),
        };
    }
    format!(
        "fn f(u: array, v: array) {{ {body} a * b + sum(w) }}\nfn g(u: array, v: array) {{ {body} concat(w, [a, b], 0) }}"
    )
}

#[test]
fn patterns_of_random_programs_hold_at_other_points() {
    let mut rng = Rng::new(47);
    for round in 0..200 {
        let source = choosing(&mut rng);
        let program = program(&source);
        let mut point = || {
            [4, 3].map(|n| Datum::reals((0..n).map(|_| rng.signed() * 2.0).collect::<Vec<f64>>()))
        };
        let points = [point(), point(), point()];
        let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
        let mut g = Derivatives::<f64>::new(&program, "g").unwrap();
        let (of_f, of_g) =
            (f.hessian_pattern(&points[0]).unwrap(), g.jacobian_pattern(&points[0]).unwrap());
        for at in &points {
            let what = format!("{round}: {source}\n{at:?}");
            let (hessian, jacobian) = (f.hessian(at).unwrap(), g.jacobian(at).unwrap());
            for group in [Colouring::by_columns, Colouring::by_rows] {
                let found = f.sparse_hessian(at, &group(of_f.clone())).unwrap().dense();
                assert!(
                    found.iter().zip(&hessian).all(|(a, b)| close(a, b)),
                    "{what}\n{found:?}\n{hessian:?}"
                );
                let found = g.sparse_jacobian(at, &group(of_g.clone())).unwrap().dense();
                assert!(
                    found.iter().zip(&jacobian).all(|(a, b)| close(a, b)),
                    "{what}\n{found:?}\n{jacobian:?}"
                );
            }
        }
    }
}

#[test]
fn hessian_patterns_have_a_row_for_each_number_of_each_array() {
    // The gradient by x ends where nothing more flows back.
    let program = program("fn f(x: array, y: array) { x[0] * x[0] + y[1] * y[1] * x[0] }");
    let at = [Datum::<f64>::reals([1.0, 2.0]), Datum::reals([3.0, 4.0])];
    let pattern = hessian_pattern(&program, "f", &at).unwrap();
    assert_eq!(pattern.rows, [vec![0, 3], vec![], vec![], vec![0, 3]]);
    assert_eq!(pattern.columns, 4);
}
