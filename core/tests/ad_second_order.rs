//! Second derivatives where first ones are special: at the origin of lengths, and where eigenvalues
//! or singular values are equal.
//!
//! Forward over reverse, reverse over reverse, gradients on dual numbers and values on hyper-dual
//! ones are all finite and equal, or none is finite. Where a function has a second derivative, that
//! is what comes out, or NaN.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    exec::{Batch, Bytecode, Datum, Derivatives, DeriveError, Executable, Limits, Machine, NoHost},
    pass::Level,
    scalar::Real,
    text::parse_program,
};
use num_complex::Complex;
use num_dual::{Dual64, HyperDual64};

/// Two ways of computing the same number, of size 1.
const TOLERANCE: f64 = 1e-11;

fn unit(n: usize, k: usize) -> impl Iterator<Item = f64> {
    (0..n).map(move |j| f64::from(u8::from(j == k)))
}

fn numbers<T: Real>(d: &Datum<Complex<T>>) -> Vec<T> {
    match d {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{other:?} is no array"),
    }
}

/// The Hessian of `f(a: array)` by every way.
fn hessians(source: &str, at: &[f64]) -> Vec<(&'static str, Vec<Vec<f64>>)> {
    let ways = ways(source, at).into_iter();
    ways.map(|(way, found)| (way, found.unwrap_or_else(|e| panic!("{source}: {e}")))).collect()
}

/// Result of a method.
type Found = Result<Vec<Vec<f64>>, DeriveError>;

/// The same, where some may fail.
fn ways(source: &str, at: &[f64]) -> Vec<(&'static str, Found)> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    let (n, data) = (at.len(), [Datum::reals(at.to_vec())]);
    let of = |level| Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_level(level);
    let mut all = vec![("forward over reverse", of(Level::Strict).hessian(&data))];
    all.push(("the same without passes", of(Level::None).hessian(&data)));
    #[cfg(feature = "jit")]
    all.push(("the same compiled", of(Level::Strict).with_jit().hessian(&data)));
    let mut p = program.clone();
    let f = p.lookup("f").unwrap();
    let second = adjoint::second(&mut p, f).unwrap();
    let code = Bytecode::compile(&p, second).unwrap();
    let row = |k: usize| {
        let weights =
            Datum::Tuple(vec![Datum::Real(0.0), Datum::reals(unit(n, k).collect::<Vec<_>>())]);
        let args = [data[0].clone(), weights];
        let given = code.call(&mut Machine::new(), &NoHost, &Limits::default(), &args)?;
        let mut row = numbers(&given.fields()[1]);
        row.resize(n, 0.0);
        Ok(row)
    };
    all.push(("reverse over reverse", (0..n).map(row).collect()));
    let mut duals = Derivatives::<Complex<Dual64>>::new(&program, "f").unwrap();
    let mut on_duals = |k: usize| {
        let at: Vec<Dual64> = at.iter().zip(unit(n, k)).map(|(&x, d)| Dual64::new(x, d)).collect();
        let g = duals.gradient(&[Datum::reals(at)])?;
        Ok(numbers(&g[0]).iter().map(|x| x.eps).collect::<Vec<f64>>())
    };
    all.push(("gradients on duals", (0..n).map(&mut on_duals).collect()));
    let mut hyper = Derivatives::<Complex<HyperDual64>>::new(&program, "f").unwrap();
    let mut entry = |k: usize, l: usize| {
        let with = |((&x, d), e): ((&f64, f64), f64)| HyperDual64::new(x, d, e, 0.0);
        let at: Vec<HyperDual64> = at.iter().zip(unit(n, k)).zip(unit(n, l)).map(with).collect();
        Ok(hyper.value(&[Datum::reals(at)])?.real().unwrap().eps1eps2)
    };
    all.push(("hyper-duals", (0..n).map(|k| (0..n).map(|l| entry(k, l)).collect()).collect()));
    all
}

fn agree(a: f64, b: f64) -> bool {
    if a.is_finite() { (a - b).abs() <= TOLERANCE * (1.0 + a.abs()) } else { !b.is_finite() }
}

/// Expected Hessian: this, or this wherever it is finite.
#[derive(Clone, Copy, PartialEq)]
enum Known {
    Right,
    OrUndefined,
}

#[track_caller]
fn hessian_is(body: &str, at: &[f64], right: &[&[f64]], known: Known) {
    let source = format!("fn f(a: array) {{ {body} }}");
    let all = hessians(&source, at);
    for (way, found) in &all {
        for (j, (row, right)) in found.iter().zip(right).enumerate() {
            for (k, (&x, &y)) in row.iter().zip(*right).enumerate() {
                let holds = agree(y, x) || known == Known::OrUndefined && !x.is_finite();
                assert!(holds, "{body} at {at:?}, {way}: {x} at ({j}, {k}), not {y}");
            }
        }
    }
}

#[test]
fn squares_of_lengths_are_smooth_at_the_origin() {
    let id: [&[f64]; 2] = [&[2.0, 0.0], &[0.0, 2.0]];
    for body in [
        "let r = norm(a); r * r",
        "norm(a) * norm(a)",
        "powi(norm(a), 2)",
        "let r = norm([complex(a[0], a[1]), complex(0.0, 0.0)]); r * r",
        "let h = hypot(a[0], a[1]); h * h",
        "let z = abs(complex(a[0], a[1])); z * z",
        "let r = norm(a); 2 - 2 * exp(-0.5 * powi(r, 2)) + powi(r, 4)",
        "sum(powi(abs(a), 2))",
        "let r = norm(a); 2 * r * r - r * (3.0 * r) / 3",
        "let s = 0.5; let r = norm(a); s * s * powi(-r / s, 2)",
        "let t = sqrt(5.0) * norm(a); t * t / 5",
        "let h = hypot(a, 0.0); sum(h * h)",
        "sum(powi(abs(complex(a, 0.0)), 2))",
    ] {
        hessian_is(body, &[0.0, 0.0], &id, Known::Right);
    }
    hessian_is(
        "let r = norm(a); exp(-r * r)",
        &[0.0, 0.0],
        &[&[-2.0, 0.0], &[0.0, -2.0]],
        Known::Right,
    );
    // Least squares at a solution: 2 A^T A.
    hessian_is(
        "let m = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]; let r = norm(matvec(m, a) - [5.0, 11.0, 17.0]); r * r",
        &[1.0, 2.0],
        &[&[70.0, 88.0], &[88.0, 112.0]],
        Known::Right,
    );
}

/// A vector that does not overflow or vanish as a length does not as the square of one that is
/// scaled.
#[test]
fn squares_of_scaled_lengths_stay_in_range() {
    for body in [
        "let r = hypot(a[0], a[1]) / s; r * r",
        "powi(hypot(a[0], a[1]) / s, 4)",
        "let r = abs(complex(a[0], a[1])) / s; r * r",
        "let r = abs(complex(a[0], a[1])); (r / s) * (r / s)",
        "sum(powi(abs(a) / s, 2))",
        "sum(powi(-hypot(a, 0.0) / s, 2))",
    ] {
        for scale in ["1e200", "1e-200"] {
            let program = format!("fn f(a: array) {{ let s = {scale}; {body} }}");
            let program = parse_program(&program).unwrap_or_else(|e| panic!("{body}: {}", e[0]));
            let at = scale.parse::<f64>().unwrap();
            let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
            let value = f.value(&[Datum::reals([0.6 * at, 0.8 * at])]).unwrap();
            assert!((value.real().unwrap() - 1.0).abs() < 1e-12, "{body}, {scale}: {value:?}");
        }
    }
}

#[test]
fn other_functions_of_lengths_are_right_or_undefined_at_the_origin() {
    let third = -5.0 / 3.0;
    for (body, x) in [
        ("cosh(norm(a))", 1.0),
        ("let t = sqrt(5.0) * norm(a); (1 + t + t * t / 3) * exp(-t)", third),
        ("let r = norm(a); r * r * r", 0.0),
        ("powi(norm(a), 3)", 0.0),
        ("let h = hypot(a[0], a[1]); 1 - cos(h)", 1.0),
        ("cosh(abs(complex(a[0], a[1])))", 1.0),
    ] {
        hessian_is(body, &[0.0, 0.0], &[&[x, 0.0], &[0.0, x]], Known::OrUndefined);
    }
    // Away from it nothing changes.
    let (x, y) = (3.0, 4.0);
    hessian_is(
        "norm(a) + hypot(a[0], a[1]) + abs(complex(a[0], a[1]))",
        &[x, y],
        &[&[3.0 * 16.0 / 125.0, -3.0 * 12.0 / 125.0], &[-3.0 * 12.0 / 125.0, 3.0 * 9.0 / 125.0]],
        Known::Right,
    );
    hessian_is("norm(a)", &[0.0, 2.0], &[&[0.5, 0.0], &[0.0, 0.0]], Known::Right);
}

#[test]
fn lengths_that_are_not_chosen_have_no_part() {
    for length in
        ["norm(a)", "hypot(a[0], a[1])", "abs(complex(a[0], a[1]))", "norm(complex(a, a))"]
    {
        for body in [
            format!("let r = {length}; select(r > 0, r, dot(a, a))"),
            format!("let r = {length}; if r > 0 {{ r }} else {{ dot(a, a) }}"),
            format!("let p = ({length}, dot(a, a)); p.1"),
            format!("0 * select(a[0] > 1, {length}, 0) + dot(a, a)"),
        ] {
            hessian_is(&body, &[0.0, 0.0], &[&[2.0, 0.0], &[0.0, 2.0]], Known::Right);
        }
    }
}

/// Points side by side, of which some are the origin: each has the gradient that it has alone, and
/// the same Hessian.
#[test]
fn points_side_by_side_have_what_they_have_alone() {
    let points = [
        [0.0, 0.0],
        [3.0, -4.0],
        [0.0, 2.0],
        [0.0, 0.0],
        [1e-3, 0.0],
        [-0.0, 0.0],
        [5.0, 12.0],
        [0.0, -0.0],
    ];
    for length in ["hypot(a[0], a[1])", "norm(a)", "sum(hypot(a, 2.0 * a))"] {
        let mut p =
            parse_program(&format!("fn f(a: array) {{ let r = {length}; r + cos(r) }}")).unwrap();
        let f = p.lookup("f").unwrap();
        let along = adjoint::hessian_vector(&mut p, f).unwrap();
        let code = Bytecode::compile(&p, along).unwrap();
        let arguments: Vec<Vec<Datum<f64>>> = points
            .iter()
            .map(|x| vec![Datum::reals(x.to_vec()), Datum::reals([0.5, -2.0])])
            .collect();
        let together = Batch::<f64, 8>::new(code.clone()).call(&arguments);
        for (args, found) in arguments.iter().zip(together) {
            let alone = code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap();
            let (alone, found) = (format!("{alone:?}"), format!("{:?}", found.unwrap()));
            assert_eq!(alone, found, "{length} at {args:?}");
        }
    }
}

/// As [`hessian_is`], to 1e-9; a gradient that is reversed once more may be NaN.
#[track_caller]
fn smooth_hessian_is(body: &str, at: &[f64], right: &[&[f64]]) {
    let source = format!("fn f(a: array) {{ {body} }}");
    for (way, found) in hessians(&source, at) {
        for (j, (row, right)) in found.iter().zip(right).enumerate() {
            for (k, (&x, &y)) in row.iter().zip(*right).enumerate() {
                let may_be_undefined = way == "reverse over reverse";
                let holds =
                    (x - y).abs() <= 1e-9 * (1.0 + y.abs()) || may_be_undefined && !x.is_finite();
                assert!(holds, "{body} at {at:?}, {way}: {x} at ({j}, {k}), not {y}");
            }
        }
    }
}

#[test]
fn functions_of_equal_eigenvalues_have_second_derivatives() {
    let e = 1f64.exp();
    for (g, x) in [
        ("sum(exp(w))", 2.0 * e),
        ("sum(ln(w))", -2.0),
        ("sum(w)", 0.0),
        ("sum(w * w)", 4.0),
        ("sum(w * w * w)", 12.0),
        ("prod(w)", -2.0),
        ("ln(sum(exp(w)))", 1.0),
        ("logsumexp(w)", 1.0),
        ("-sum(w * ln(w))", -2.0),
        ("w[0] * w[1] + norm(w) * norm(w)", 2.0),
    ] {
        let f = format!("let w = eigvalsh([[1 + a[0], a[1]], [a[1], 1 - a[0]]]); {g}");
        smooth_hessian_is(&f, &[0.0, 0.0], &[&[x, 0.0], &[0.0, x]]);
        // The same in another basis, where rounding would tell the values apart.
        let f = format!(
            "let (c, s) = (cos(0.4), sin(0.4)); let q = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]];
             let r = [[1.0, 0.0, 0.0], [0.0, cos(1.1), sin(1.1)], [0.0, -sin(1.1), cos(1.1)]];
             let m = matmul(matmul(q, r), [[1 + a[0], a[1], 0.0], [a[1], 1 - a[0], 0.0], [0.0, 0.0, 3.0]]);
             let all = eigvalsh(matmul(m, transpose(matmul(q, r)))); let w = slice(all, 0, 0, 2); {g}"
        );
        smooth_hessian_is(&f, &[0.0, 0.0], &[&[x, 0.0], &[0.0, x]]);
    }
    // Complex ones, with a third that is apart.
    let f = "let z = complex(0.0, 1.0) * a[1];
             sum(exp(eigvalsh([[1 + a[0], z, 0.0], [conj(z), 1 - a[0], 0.0], [0.0, 0.0, 5.0]])))";
    smooth_hessian_is(f, &[0.0, 0.0], &[&[2.0 * e, 0.0], &[0.0, 2.0 * e]]);
    // By all elements: of the sum of the squares, 2 tr(A_dot^2) of the Hermitian part.
    let f = "let w = eigvalsh(reshape(a, [2, 2])); sum(w * w)";
    let right: [&[f64]; 4] = [
        &[2.0, 0.0, 0.0, 0.0],
        &[0.0, 1.0, 1.0, 0.0],
        &[0.0, 1.0, 1.0, 0.0],
        &[0.0, 0.0, 0.0, 2.0],
    ];
    smooth_hessian_is(f, &[2.0, 0.0, 0.0, 2.0], &right);
    smooth_hessian_is(f, &[0.0; 4], &right);
}

#[test]
fn functions_of_equal_singular_values_have_second_derivatives() {
    let unit = [1.0, 0.0, 0.0, 1.0];
    let f = |g: &str| format!("let s = svdvals(reshape(a, [2, 2])); {g}");
    let middle = |x: f64, y: f64, z: f64| {
        [[x, 0.0, 0.0, y], [0.0, z, y, 0.0], [0.0, y, z, 0.0], [y, 0.0, 0.0, x]]
    };
    for (g, [first, last], block) in [
        ("sum(s * s)", [2.0, 0.0], [2.0, 0.0]),
        ("sum(powi(s, 4))", [12.0, 0.0], [8.0, 4.0]),
        ("sum(ln(s))", [-1.0, 0.0], [0.0, -1.0]),
    ] {
        let mut right = middle(first, last, block[0]);
        (right[1][2], right[2][1]) = (block[1], block[1]);
        let right: Vec<&[f64]> = right.iter().map(|row| &row[..]).collect();
        smooth_hessian_is(&f(g), &unit, &right);
    }
    // All that is 0, also of a matrix that is not square.
    let id: Vec<Vec<f64>> =
        (0..6).map(|k| (0..6).map(|j| if j == k { 2.0 } else { 0.0 }).collect()).collect();
    let id: Vec<&[f64]> = id.iter().map(Vec::as_slice).collect();
    for shape in ["[2, 3]", "[3, 2]", "[6, 1]", "[1, 6]"] {
        let f = format!("let s = svdvals(reshape(a, {shape})); sum(s * s)");
        smooth_hessian_is(&f, &[0.0; 6], &id);
        smooth_hessian_is(&f, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0], &id);
        smooth_hessian_is(&f, &[1.0, 0.5, -1.0, 2.0, 1.0, -2.0], &id);
    }
}

/// Functions of matrices, written as `V diag(g(w)) V^H`: the pushforward is right, and the gradient
/// right or NaN.
#[test]
fn vectors_and_equal_values_together_are_right_or_undefined() {
    let e = 2f64.exp();
    for (m, at, right) in [
        (
            "matmul_nh(eigvecsh(a) * exp(eigvalsh(a)), eigvecsh(a))",
            [2.0, 0.0, 0.0, 2.0],
            [e / 2.0, e / 2.0],
        ),
        ("matmul_nh(eigvecsh(a) * eigvalsh(a), eigvecsh(a))", [0.0; 4], [0.5, 0.5]),
        (
            "let v = eigvecsh(a); matmul(v * sqrt(eigvalsh(a)), transpose(v))",
            [4.0, 0.0, 0.0, 4.0],
            [0.125, 0.125],
        ),
        ("matmul_nh(svd_u(a) * svdvals(a), svd_v(a))", [1.0, 0.0, 0.0, 1.0], [1.0, 0.0]),
        ("matmul_nh(svd_u(a) * svdvals(a), svd_v(a))", [0.0; 4], [1.0, 0.0]),
        ("matmul_nh(svd_u(a) * powi(svdvals(a), 3), svd_v(a))", [1.0, 0.0, 0.0, 1.0], [2.0, 1.0]),
    ] {
        let source =
            format!("fn f(a: array) {{ let a = reshape(a, [2, 2]); let m = {{ {m} }}; m[0, 1] }}");
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
        for level in [Level::Strict, Level::None] {
            let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_level(level);
            let data = [Datum::reals(at.to_vec())];
            let gradient = numbers(&f.gradient(&data).unwrap()[0]);
            for (k, right) in [0.0, right[0], right[1], 0.0].into_iter().enumerate() {
                let along = Datum::reals(unit(4, k).collect::<Vec<_>>());
                let (_, dot) = f.jvp(&data, &[along]).unwrap();
                assert!(agree(right, *dot.real().unwrap()), "{m}, {k}: {dot:?}, not {right}");
                let (x, is_known) = (gradient[k], m.contains("eig"));
                assert!(
                    !is_known && !x.is_finite() || agree(right, x),
                    "{m}, {k}: {x}, not {right}"
                );
            }
        }
    }
}

/// Functions of matrices written as products of eigenvectors, against the same written without: all
/// derivatives to second order, whatever eigenvalues are equal, in any basis.
#[test]
fn functions_of_matrices_have_all_derivatives_whatever_eigenvalues_are_equal() {
    let basis = "let (c, s, u, v) = (cos(0.4), sin(0.4), cos(1.1), sin(1.1));
        let q = matmul([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, u, v], [0.0, -v, u]]);";
    let turned = "matmul(matmul(q, WHAT), transpose(q))";
    for (product, plain) in [
        ("matmul_nh(V * exp(W), V)", "expm(m)"),
        ("matmul(V * (1.0 / W), transpose(V))", "inv(m)"),
        ("matmul_nh(exp(-0.5 * W + 0.2) * V, V)", "expm(0.2 * eye(3) - 0.5 * m)"),
        (
            "let d = W * W; matmul(matmul(V, diagonal_matrix(d - 2.0 * W)), transpose(V))",
            "matmul(m, m) - 2.0 * m",
        ),
        ("matmul_nh(V * powi(W, 3), V)", "matmul(m, matmul(m, m))"),
        ("let t = a[0] + 0.3; matmul_nh(V * exp(-t * W), V)", "expm(-(a[0] + 0.3) * m)"),
        ("re(matmul_nh(V * exp(complex(0.0, 1.0) * W), V))", "re(expm(complex(0.0, 1.0) * m))"),
        ("matrix_function(g)(m)", "expm(m)"),
        ("matrix_function(h)(m)", "expm(m)"),
        ("matrix_function(p)(m, a[0])", "expm(-(a[0] + 0.3) * m)"),
        ("matrix_function(grad(p))(m, 1.7)", "-2.0 * expm(-2.0 * m)"),
    ] {
        for (w, at) in [
            ("[[1.5, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 1.5]]", [0.0; 3]),
            ("[[1.5, 0.0, 0.0], [0.0, 1.5, 0.0], [0.0, 0.0, 2.5]]", [0.0; 3]),
            ("[[-1.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]", [0.0; 3]),
            ("[[-1.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]", [0.1, -0.2, 0.3]),
        ] {
            // Three directions that mix all vectors, one of them not symmetric, as only the
            // Hermitian part counts.
            let m = format!(
                "{basis} let x = {w} + a[0] * [[0.3, 1.0, -0.4], [1.0, -0.2, 0.7], [-0.4, 0.7, 0.5]]
                   + a[1] * [[0.0, 0.6, 0.0], [0.6, 0.0, 0.0], [0.0, 0.0, 0.0]] + a[2] * [[1.0, 0.2, 0.1], [0.2, -1.0, 0.3], [0.1, 0.3, 0.0]];
                 let m = {};",
                turned.replace("WHAT", "x")
            );
            let weigh = |what: &str| {
                format!(
                    "{m} let y = {{ {what} }}; sum(y * [[1.0, 2.0, -1.0], [0.5, 1.5, 0.3], [2.0, -0.7, 1.1]])"
                )
            };
            let product = product.replace('V', "eigvecsh(m)").replace('W', "eigvalsh(m)");
            let functions = "fn g(x) { exp(x) } fn p(x, t) { exp(-(t + 0.3) * x) }
                fn h(x) { let mut s = 0.0; for k in 0..30 { s = 1.0 + s * x / real(30 - k); } s }";
            let right = hessians(&format!("fn f(a: array) {{ {} }}", weigh(plain)), &at);
            let found =
                hessians(&format!("{functions} fn f(a: array) {{ {} }}", weigh(&product)), &at);
            let right = &right[0].1;
            for (way, found) in found {
                let is_open = at == [0.0; 3] && way == "reverse over reverse";
                for (x, y) in found.iter().flatten().zip(right.iter().flatten()) {
                    let holds =
                        (x - y).abs() <= 1e-8 * (1.0 + y.abs()) || is_open && !x.is_finite();
                    assert!(holds, "{product} of {w} at {at:?}, {way}: {x}, not {y}");
                }
            }
        }
    }
}

/// Values that rounding to single precision tells apart, too.
#[test]
fn equal_values_in_single_precision() {
    let source = "fn f(a: array) {
        let (c, s, u, v) = (cos(0.4), sin(0.4), cos(1.1), sin(1.1));
        let q = matmul([[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0], [0.0, u, v], [0.0, -v, u]]);
        let m = [[1 + a[0], a[1], 0.0], [a[1], 1 - a[0], 0.0], [0.0, 0.0, 3.0]];
        let m = matmul(matmul(q, m), transpose(q));
        sum(exp(eigvalsh(m))) + 0.1 * sum(powi(svdvals(m), 3)) + matmul_nh(eigvecsh(m) * exp(eigvalsh(m)), eigvecsh(m))[0, 1] }";
    let program = parse_program(source).unwrap();
    let double = Derivatives::<Complex<f64>>::new(&program, "f")
        .unwrap()
        .hessian(&[Datum::reals([0.0; 2])])
        .unwrap();
    let single = Derivatives::<Complex<f32>>::new(&program, "f")
        .unwrap()
        .hessian(&[Datum::reals([0.0f32; 2])])
        .unwrap();
    for (x, y) in single.iter().flatten().zip(double.iter().flatten()) {
        assert!((f64::from(*x) - y).abs() < 1e-4 * (1.0 + y.abs()), "{single:?} {double:?}");
    }
    assert!((double[0][0] - (2.0 * 1f64.exp() + 1.2)).abs() < 3.0, "{double:?}");
}

/// Some elements of the vectors are no function of the matrix: nothing is asked of their product
/// but its own shape.
#[test]
fn a_part_of_the_vectors_is_a_product_like_others() {
    let source = "fn f(a: array) { let y = eigen(reshape(a, [2, 2])); let v = slice(y, 0, 1, 1);
        let m = matmul_nh(v * exp(eigvalsh(reshape(a, [2, 2]))), v); m[0, 0] }";
    let program = parse_program(source).unwrap();
    let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
    // The element [0, 0] of exp(a), and its derivatives for a diagonal matrix.
    let (value, slopes) = f.value_and_gradient(&[Datum::reals([1.0, 0.0, 0.0, 2.0])]).unwrap();
    assert!((value - 1f64.exp()).abs() < 1e-14, "{value}");
    let right = [1f64.exp(), 0.0, 0.0, 0.0];
    assert!(
        numbers(&slopes[0]).iter().zip(right).all(|(x, y)| (x - y).abs() < 1e-13),
        "{slopes:?}"
    );
}

/// The second derivative of a function of one number at 0 by central differences, if they tend to
/// something.
fn curvature(f: &mut dyn FnMut(f64) -> f64) -> Option<f64> {
    let here = f(0.0);
    let all = [2e-3, 1e-3, 5e-4].map(|h: f64| (f(h) - 2.0 * here + f(-h)) / (h * h));
    let [first, last] = [0, 1].map(|k| (4.0 * all[k + 1] - all[k]) / 3.0);
    let near = |x: f64, y: f64, t: f64| (x - y).abs() <= t * (1.0 + y.abs());
    (near(first, last, 1e-5) && near(all[0], all[2], 1e-3)).then_some(last)
}

/// Functions of arrays where elements are equal, zero, or both, and of matrices that are singular
/// or have equal values: along each line on which they are smooth, which their differences tell,
/// the second derivative is what these tend to, by every way, or undefined.
#[test]
fn second_derivatives_of_array_functions_at_special_points_are_those_of_differences() {
    let of_vectors = [
        "norm(a)",
        "norm(a) * norm(a)",
        "cosh(norm(a))",
        "exp(-norm(a))",
        "sum(abs(a))",
        "sum(cos(abs(a)))",
        "prod(a)",
        "sum(cumprod(a, 0))",
        "sum(sort(a) * [1.0, 2.0, 4.0, 8.0])",
        "maximum(a)",
        "maximum(a) + minimum(a)",
        "sum(sort(a) * sort(a))",
        "sum(softmax(a, 0) * a)",
        "logsumexp(a)",
        "var(a)",
        "std(a)",
        "std(a) * std(a)",
        "sum(a * a * a) / (1.0 + norm(a))",
        "sum(sqrt(a * a))",
        "sum(powi(a, 2))",
        "sum(pow(a * a, 1.5))",
        "sum(hypot(a, 0.0))",
        "sum(hypot(a * a, a))",
        "sum(ratio(a * a * a, a))",
        "sum(cbrt(a * a * a))",
        "sum(log_softmax(a, 0))",
        "sum(linear_recurrence(a, a, 0))",
        "dot(a, flip(a, 0))",
        "sum(abs(a * a))",
        "sum(masked(a < 0.5, a * a, a * a))",
        "norm(a * a)",
        "sum(max(a, 0.0) * max(a, 0.0) * max(a, 0.0))",
        "sum(softplus(a))",
        "sum(erf(abs(a)))",
        "abs(sum(a))",
        "cos(abs(sum(a)))",
        "sum(exp(-powi(abs(a), 3)))",
        "sum(a * step(a, 0.0) * a * a)",
    ];
    let of_matrices = [
        "det(a)",
        "det(a) * det(a)",
        "trace(matmul(a, a))",
        "sum(expm(a))",
        "sum(eigvalsh(a))",
        "sum(exp(eigvalsh(a)))",
        "prod(eigvalsh(a))",
        "sum(powi(eigvalsh(a), 3))",
        "maximum(eigvalsh(a))",
        "sum(svdvals(a))",
        "sum(powi(svdvals(a), 2))",
        "sum(powi(svdvals(a), 4))",
        "prod(svdvals(a))",
        "sum(cofactors(a))",
        "norm(a)",
        "norm(matmul(a, a))",
        "sum(matmul_nh(eigvecsh(a) * exp(eigvalsh(a)), eigvecsh(a)))",
        "sum(inv(a + [[3.0, 0.0], [0.0, 3.0]]))",
        "logabsdet(a + [[3.0, 0.0], [0.0, 3.0]])",
        "sum(norm_axis(a, 0))",
        "sum(powi(norm_axis(a, 1), 2))",
        "sum(prod_axis(a, 0))",
        "sum(var_axis(a, 0))",
        "sum(std_axis(a, 1))",
        "sum(maximum_axis(a, 0))",
        "sum(qr_r(a + [[3.0, 0.0], [0.0, 3.0]]))",
        "sum(cholesky(matmul_nh(a, a) + [[3.0, 0.0], [0.0, 3.0]]))",
        "sum(pinv(a + [[3.0, 0.0], [0.0, 3.0]]))",
        "sum(svdvals(matmul(a, a)))",
    ];
    let vectors: [[f64; 4]; 6] = [
        [0.0; 4],
        [1.0; 4],
        [0.0, 1.0, 1.0, -1.0],
        [0.0, 0.0, 2.0, -0.5],
        [-0.0, 0.5, 0.0, 0.5],
        [2.0, 1.0, 2.0, 1.0],
    ];
    let matrices: [[f64; 4]; 6] = [
        [0.0; 4],
        [1.0, 0.0, 0.0, 1.0],
        [1.0; 4],
        [2.0, 0.0, 0.0, -2.0],
        [0.0, 1.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 0.0],
    ];
    // To a dual number a zero of which no first derivative is left is a constant: there these are
    // flat, not lengths.
    let hides =
        ["abs(a * a)", "norm(a * a)", "norm(matmul(a, a))", "svdvals(a)", "svdvals(matmul(a, a))"];
    let hides = |way: &str, body: &str| {
        way.contains("duals") && hides.iter().any(|part| body.contains(part))
    };
    // The modulus of the determinant: smooth along some lines, but there are kinks between them.
    let has_kinks = |body: &str, at: &[f64; 4]| body == "prod(svdvals(a))" && *at == [0.0; 4];
    let both = [(&of_vectors[..], &vectors[..], false), (&of_matrices[..], &matrices[..], true)];
    let (mut wrong, mut smooth, mut defined) = (Vec::new(), 0, 0);
    for (bodies, points, is_matrix) in both {
        for body in bodies {
            let inner = if is_matrix { "let a = reshape(b, [2, 2]);" } else { "let a = b;" };
            let source = format!("fn f(b: array) {{ {inner} {body} }}");
            let program = parse_program(&source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
            let mut values = Derivatives::<f64>::new(&program, "f").unwrap();
            for at in points {
                let all = ways(&source, at);
                for (i, j) in (0..4).flat_map(|i| (i..4).map(move |j| (i, j))) {
                    let mut line = |t: f64| {
                        let mut x = at.to_vec();
                        x[i] += t;
                        if j != i {
                            x[j] += t;
                        }
                        *values.value(&[Datum::reals(x)]).unwrap().real().unwrap()
                    };
                    let Some(right) = curvature(&mut line) else { continue };
                    smooth += 1;
                    for (way, h) in &all {
                        let Ok(h) = h else { continue };
                        let found =
                            if i == j { h[i][i] } else { h[i][i] + h[i][j] + h[j][i] + h[j][j] };
                        defined += usize::from(*way == "forward over reverse" && found.is_finite());
                        let is_exempt = hides(way, body) || has_kinks(body, at);
                        if !is_exempt
                            && found.is_finite()
                            && (found - right).abs() > 1e-4 * (1.0 + right.abs())
                        {
                            wrong.push(format!(
                                "{body} at {at:?} along ({i}, {j}), {way}: {found}, not {right}"
                            ));
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(
        smooth > 1000 && 2 * defined > smooth,
        "{smooth} smooth lines, {defined} with a second derivative"
    );
}
