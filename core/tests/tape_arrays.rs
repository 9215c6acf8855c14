//! Arrays on tapes: every method against duals, and hard cases.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]
#![allow(unused_variables, reason = "each formula of a table names all inputs")]

use ketgrad_core::{
    array::Array,
    exec::{Datum, Derivatives},
    tape::{ArrayOperator, ArrayVariable, Tape, TapeError, Variable},
};
use num_complex::Complex;
use num_dual::Dual64;

type C = Complex<f64>;

#[track_caller]
fn close(a: f64, b: f64, tolerance: f64) {
    assert!((a - b).abs() <= tolerance * (1.0 + b.abs()), "{a} is not {b}");
}

fn matrix<T>(m: usize, n: usize, f: impl Fn(f64) -> T) -> Array<T> {
    Array::new(&[m, n], (0..m * n).map(|k| f(k as f64)).collect()).unwrap()
}

/// A vector of four, a matrix of 3 rows, a positive definite one with a gap between eigenvalues, a
/// stack.
const SHAPES: [&[usize]; 4] = [&[4], &[3, 4], &[4, 4], &[2, 3, 4]];

fn point(k: usize) -> Array<f64> {
    let n: usize = SHAPES[k].iter().product();
    let mut items: Vec<f64> =
        (0..n).map(|i| (1.3 * (i * (k + 2)) as f64 + k as f64).sin() * 0.4).collect();
    match k {
        2 => (0..4).for_each(|i| items[5 * i] += 2.0 + i as f64),
        _ => items.iter_mut().for_each(|x| *x += 1.5),
    }
    Array::new(SHAPES[k], items).unwrap()
}

fn direction(k: usize) -> Array<f64> {
    let mut i = k as f64;
    point(k).map(|_| {
        i += 1.7;
        i.cos()
    })
}

/// Real number of a number or an array, by weights, so that every element counts.
trait Weighed<'t, S: ketgrad_core::scalar::Scalar> {
    fn weighed(self) -> Variable<'t, S>;
}
impl<'t, T: ketgrad_core::scalar::Real> Weighed<'t, T> for Variable<'t, T> {
    fn weighed(self) -> Variable<'t, T> {
        self
    }
}
impl<'t, T: ketgrad_core::scalar::Real> Weighed<'t, T> for ArrayVariable<'t, T> {
    fn weighed(self) -> Variable<'t, T> {
        let mut k = 0.0;
        let weights = self.value().map(|_| {
            k += 1.0;
            T::lit(0.5 + (2.1f64 * k).sin())
        });
        self.dot(&weights)
    }
}

/// Each formula on a tape of floats: gradient times direction, and the same by the frozen function;
/// on a tape of dual numbers: the tangent. All three agree.
macro_rules! agree {
    ($($name:literal: |$v:ident, $m:ident, $a:ident, $t:ident| $formula:expr;)*) => {$({
        let tape = Tape::new();
        let names = ["v", "m", "a", "t"];
        let [$v, $m, $a, $t] = std::array::from_fn(|k| tape.array(names[k], point(k)));
        let y = Weighed::weighed($formula);
        y.backward().unwrap_or_else(|e| panic!("{}: {e}", $name));
        let along: f64 = [$v, $m, $a, $t].iter().enumerate()
            .map(|(k, x)| x.gradient().iter().zip(direction(k).iter()).map(|(g, d)| g * d).sum::<f64>())
            .sum();

        let frozen = y.freeze("f").unwrap();
        let args: Vec<Datum<f64>> = (0..4).map(|k| Datum::reals_of(SHAPES[k], point(k).into_items()).unwrap()).collect();
        let (value, gradient) = frozen.derivatives().unwrap().value_and_gradient(&args).unwrap();
        assert!((value - y.value()).abs() <= 1e-13 * (1.0 + value.abs()), "{}: the frozen value", $name);
        for (x, g) in [$v, $m, $a, $t].iter().zip(&gradient) {
            let Datum::Reals(g) = g else { panic!("{}: {}", $name, g.describe()) };
            for (a, b) in x.gradient().iter().zip(g.iter()) {
                assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{}: {a} and frozen {b}", $name);
            }
        }

        let tape = Tape::<Dual64>::default();
        let [$v, $m, $a, $t] = std::array::from_fn(|k| {
            let items = point(k).iter().zip(direction(k).iter()).map(|(x, d)| Dual64::new(*x, *d)).collect();
            tape.array(names[k], Array::new(SHAPES[k], items).unwrap())
        });
        let dual = Weighed::weighed($formula).value();
        assert!((dual.re - value).abs() <= 1e-12 * (1.0 + value.abs()), "{}", $name);
        assert!((dual.eps - along).abs() <= 1e-9 * (1.0 + along.abs()), "{}: {along} and dual {}", $name, dual.eps);
    })*};
}

#[test]
fn every_method_agrees_with_duals_and_with_the_frozen_function() {
    agree! {
        "sum": |v, m, a, t| v.sum() * m.sum();
        "mean": |v, m, a, t| t.mean() * v.mean();
        "prod": |v, m, a, t| m.prod();
        "norm": |v, m, a, t| t.norm();
        "dot": |v, m, a, t| v.dot(m.row(1));
        "trace": |v, m, a, t| a.matmul(a).trace();
        "trace product": |v, m, a, t| a.trace_product(a.transpose());
        "det": |v, m, a, t| a.det();
        "logabsdet": |v, m, a, t| a.logabsdet();
        "sum over an axis": |v, m, a, t| t.sum_axis(1);
        "sum kept": |v, m, a, t| t.sum_keep(0) * m;
        "mean over an axis": |v, m, a, t| m.mean_axis(0);
        "cumulative sum": |v, m, a, t| m.cumsum(1);
        "cumulative product": |v, m, a, t| t.cumprod(1);
        "product over an axis": |v, m, a, t| m.prod_axis(0);
        "turned round": |v, m, a, t| m.flip(1) * m;
        "recurrence": |v, m, a, t| m.linear_recurrence(m.flip(0), 1);
        "variances": |v, m, a, t| t.var_axis(1) * t.std_axis(1) + m.var() * v.std();
        "norms": |v, m, a, t| t.norm_axis(2);
        "extremes": |v, m, a, t| t.maximum_axis(1) * t.minimum_axis(1);
        "logarithms of probabilities": |v, m, a, t| m.log_softmax(1) * m;
        "one element": |v, m, a, t| m.element(&[2, 1]) * v.get(3) + t.element(&[1, 0, 2]);
        "slice": |v, m, a, t| t.slice(1, 1..3);
        "gather": |v, m, a, t| m.gather(&[2, 0, 2]);
        "reshape": |v, m, a, t| t.reshape(&[4, 6]).matmul(m.reshape(&[6, 2]));
        "permute": |v, m, a, t| t.permute(&[2, 0, 1]);
        "concat": |v, m, a, t| m.concat(a, 0);
        "axes": |v, m, a, t| m.insert_axis(0).drop_axis(0) + v.insert_axis(0);
        "transpose": |v, m, a, t| t.transpose();
        "diagonal": |v, m, a, t| a.diagonal() + v.diagonal_matrix().sum_axis(0);
        "matmul": |v, m, a, t| m.matmul(a);
        "batched matmul": |v, m, a, t| t.matmul(a);
        "matvec": |v, m, a, t| m.matvec(v);
        "outer": |v, m, a, t| v.outer(v);
        "kron": |v, m, a, t| m.kron(a);
        "convolve": |v, m, a, t| v.convolve(m.row(0));
        "solve": |v, m, a, t| a.solve(v);
        "inv": |v, m, a, t| a.inv();
        "cofactors": |v, m, a, t| a.cofactors();
        "cofactors along": |v, m, a, t| a.cofactors_along(a.transpose());
        "cholesky": |v, m, a, t| a.matmul(a.transpose()).cholesky();
        "orthonormal": |v, m, a, t| a.qr_q() + a.qr_r();
        "least squares": |v, m, a, t| m.transpose().lstsq(m.row(1));
        "minimum norm": |v, m, a, t| m.lstsq(m.matvec(v));
        "pseudoinverse": |v, m, a, t| m.pinv();
        "triangular": |v, m, a, t| a.solve_lower(v) + a.solve_upper(v);
        "sign": |v, m, a, t| a.signdet() * v;
        "along": |v, m, a, t| (0.1 * a).expm_along(a);
        "singular values": |v, m, a, t| a.svdvals();
        "singular vectors": |v, m, a, t| m.svd_u().matmul(m.svd_v().transpose());
        "eigenvalues": |v, m, a, t| a.eigvalsh();
        "eigenvectors": |v, m, a, t| a.eigvecsh() * a.eigvecsh();
        "expm": |v, m, a, t| (0.1 * a).expm();
        "maximum": |v, m, a, t| m.maximum() - t.minimum();
        "logsumexp": |v, m, a, t| t.logsumexp();
        "logsumexp over an axis": |v, m, a, t| m.logsumexp_axis(0);
        "softmax": |v, m, a, t| m.softmax(1);
        "sort": |v, m, a, t| v.sort();
        "abs": |v, m, a, t| (v - m).abs();
        "max": |v, m, a, t| m.max(v) - v.min(1.6);
        "angles": |v, m, a, t| m.atan2(v) + m.hypot(v);
        "functions": |v, m, a, t| (v.sin() * m.exp()).tanh() + m.sqrt().ln();
        "powers": |v, m, a, t| m.powi(3) + m.pow(v) + v.powi(-2);
        "broadcast": |v, m, a, t| t * m / v - 2.0 * t + 1.0 / m - (v - 0.5);
        "numbers beside arrays": |v, m, a, t| v.sum() * m - m / v.norm() + (t.mean() - v);
        "assigned": |v, m, a, t| { let mut y = m; y += v; y *= 0.5; y -= v.sum(); y /= v; -y };
        "vector": |v, m, a, t| v.tape_vector();
    }
}

/// The numbers of an array, put together again in another order.
trait Reversed<'t, S: ketgrad_core::scalar::Scalar> {
    fn tape_vector(self) -> ArrayVariable<'t, S>;
}
impl<'t, T: ketgrad_core::scalar::Real> Reversed<'t, T> for ArrayVariable<'t, T> {
    fn tape_vector(self) -> ArrayVariable<'t, T> {
        let items: Vec<Variable<'t, T>> = (0..self.shape()[0]).rev().map(|k| self.get(k)).collect();
        items[0].tape().vector(&items)
    }
}

#[test]
fn a_quadratic_form_prints_its_graph_and_its_gradient() {
    let tape = Tape::new();
    let x = tape.array("x", Array::from(vec![1.0, 2.0]));
    let a = tape.array("A", matrix(2, 2, |k| [2.0, 1.0, 0.0, 3.0][k as usize]));
    let b = tape.array("b", Array::from(vec![-1.0, 4.0]));
    let c = tape.variable("c", 0.5);
    let y = x.dot(a.matvec(x)) + b.dot(x) + c;
    y.backward().unwrap();
    assert_eq!(
        tape.to_string(),
        "x = [1.0, 2.0]\nA = [[2.0, 1.0], [0.0, 3.0]]\nb = [-1.0, 4.0]\nc = 0.5\n\
         v1 = matvec(A, x) = [4.0, 6.0]\nv2 = dot(x, v1) = 16.0\nv3 = dot(b, x) = 7.0\n\
         v4 = add(v2, v3) = 23.0\nv5 = add(v4, c) = 23.5\n"
    );
    assert_eq!(x.gradient().items(), [5.0, 17.0]);
    assert_eq!(a.gradient().to_string(), "[[1.0, 2.0], [2.0, 4.0]]");
    assert_eq!((b.gradient().items(), c.gradient()), (&[1.0, 2.0][..], 1.0));
    // Computed arrays have gradients, and again they add up.
    y.backward().unwrap();
    assert_eq!(x.gradient().items(), [10.0, 34.0]);
    tape.zero_gradients();
    assert_eq!(x.gradient().items(), [0.0, 0.0]);
    // A part that is used twice has a name.
    let s = a.sin();
    assert_eq!(s.matmul(s).to_string(), "matmul(v1, v1) where v1 = sin(A)");
}

#[test]
fn arrays_are_evaluated_again() {
    let tape = Tape::new();
    let w = tape.array("w", Array::from(vec![1.0, 2.0, 3.0]));
    let data = Array::from(vec![2.0, 0.0, -1.0]);
    let y = (w * &data).sum();
    assert_eq!(y.value(), -1.0);
    w.set(&Array::from(vec![4.0, 5.0, 6.0]));
    assert_eq!(y.value(), 2.0);
    y.backward().unwrap();
    assert_eq!(w.gradient().items(), data.items());
    // Another shape is refused, and the value stays.
    w.set(&Array::from(vec![1.0]));
    assert_eq!(w.value().items(), [4.0, 5.0, 6.0]);
    let e = y.backward().unwrap_err().to_string();
    assert!(e.starts_with("an array of shape [1] for `w`, which has the shape [3] (at "), "{e}");
}

#[test]
fn wrong_shapes_are_named_with_their_line() {
    type Fault = fn(&Tape);
    let faults: [(&str, Fault); 5] = [
        (
            "`add` failed: `add` takes arrays whose shapes are equal or 1 along each axis, counted from the last, given [3] and [2] (at ",
            |t| {
                let _ = t.array("x", Array::from(vec![0.0; 3]))
                    + t.array("y", Array::from(vec![0.0; 2]));
            },
        ),
        ("matmul", |t| {
            let x = t.array("x", matrix(2, 3, |k| k));
            let _ = x.matmul(x);
        }),
        ("solve", |t| {
            let x = t.array("x", matrix(2, 2, |_| 1.0));
            let _ = x.solve(t.array("b", Array::from(vec![1.0, 2.0])));
        }),
        ("index 7 of an array of 3 elements", |t| {
            let _ = t.array("x", Array::from(vec![0.0; 3])).get(7);
        }),
        ("slice", |t| {
            let _ = t.array("x", Array::from(vec![0.0; 3])).slice(0, 2..5);
        }),
    ];
    for (expected, fault) in faults {
        let tape = Tape::new();
        fault(&tape);
        let x = tape.variable("z", 1.0);
        let e = (x * x).backward().unwrap_err().to_string();
        assert!(e.contains(expected) && e.contains("tape_arrays.rs:"), "{e}");
        assert_eq!(tape.fault().unwrap().to_string(), e);
    }
    // Two tapes, a seed of another shape.
    let (one, two) = (Tape::new(), Tape::new());
    let x = one.array("x", Array::from(vec![1.0]));
    let y = two.array("y", Array::from(vec![1.0])) * x;
    assert!(
        matches!(y.sum().backward(), Err(TapeError::OtherTape { operation }) if operation == "mul")
    );
    let e = (x * x).backward_with(&Array::from(vec![1.0, 2.0])).unwrap_err();
    assert!(
        matches!(e, TapeError::Shape { given, expected, .. } if given == [2] && expected == [1])
    );
}

#[test]
fn custom_operators_act_on_arrays() {
    /// Keeps what is above a level.
    struct Above(f64);
    impl ArrayOperator<f64> for Above {
        fn name(&self) -> &str {
            "above"
        }
        fn arity(&self) -> Option<usize> {
            Some(1)
        }
        fn forward(&self, x: &[Array<f64>]) -> Result<Array<f64>, String> {
            if x[0].is_empty() {
                return Err("nothing to keep".into());
            }
            Ok(x[0].map(|x| if *x > self.0 { *x } else { 0.0 }))
        }
        fn backward(
            &self,
            x: &[Array<f64>],
            _: &Array<f64>,
            y_bar: &Array<f64>,
        ) -> Result<Vec<Array<f64>>, String> {
            let mut bars = y_bar.iter();
            Ok(vec![x[0].map(|x| bars.next().map_or(0.0, |b| if *x > self.0 { *b } else { 0.0 }))])
        }
    }
    let tape = Tape::new();
    let x = tape.array("x", Array::from(vec![-1.0, 0.5, 2.0]));
    let above = tape.array_operator(Above(0.0));
    let y = (tape.apply_to_arrays(&above, &[x]).unwrap() * x).sum();
    y.backward().unwrap();
    assert_eq!((y.value(), x.gradient().items()), (4.25, &[0.0, 1.0, 4.0][..]));
    // The frozen function calls it.
    let frozen = y.freeze("f").unwrap();
    let at = Datum::reals([3.0, -2.0, 1.0]);
    let (value, gradient) = frozen.derivatives().unwrap().value_and_gradient(&[at]).unwrap();
    assert_eq!(value, 10.0);
    assert_eq!(gradient[0], Datum::reals([6.0, 0.0, 2.0]));
    // What it says is wrong is passed on.
    let empty = tape.array("e", Array::from(Vec::new()));
    let e = tape.apply_to_arrays(&above, &[empty]).unwrap_err().to_string();
    assert!(e.starts_with("`above` failed: nothing to keep (at "), "{e}");
    assert!(matches!(
        tape.apply_to_arrays(&above, &[x, x]),
        Err(TapeError::Arity { given: 2, expected: 1, .. })
    ));
}

#[test]
fn a_matrix_product_state_is_contracted() {
    // <psi|psi> of three sites with bonds of two, and its gradient: twice what is left when a site
    // is taken out.
    let tape = Tape::new();
    let site = |name: &str, shape: &[usize], phase: f64| {
        let n: usize = shape.iter().product();
        let items = (0..n).map(|k| (phase + 0.9 * k as f64).sin()).collect();
        tape.array(name, Array::new(shape, items).unwrap())
    };
    let (a, b, c) = (site("a", &[2, 2], 0.1), site("b", &[2, 2, 2], 0.7), site("c", &[2, 2], 1.9));
    // psi[i, j, k] = a[i, p] b[p, j, q] c[q, k]
    let psi =
        a.einsum(b, &[0, 1], &[1, 2, 3], &[0, 2, 3]).einsum(c, &[0, 1, 2], &[2, 3], &[0, 1, 3]);
    let norm = psi.dot(psi);
    norm.backward().unwrap();
    let state = psi.value();
    close(norm.value(), state.iter().map(|x| x * x).sum(), 1e-14);
    for (name, x) in [("a", a), ("b", b), ("c", c)] {
        // The norm is quadratic in each site: x . dx = 2 norm.
        let along: f64 = x.value().iter().zip(x.gradient().iter()).map(|(x, g)| x * g).sum();
        assert!((along - 2.0 * norm.value()).abs() < 1e-12, "{name}");
    }
}

#[test]
fn the_trace_of_a_product_is_fused_and_its_gradient_is_the_transpose() {
    let tape = Tape::new();
    let (x, y) =
        (tape.array("x", matrix(30, 30, f64::sin)), tape.array("y", matrix(30, 30, f64::cos)));
    let trace = x.matmul(y).trace();
    let fused = x.trace_product(y);
    close(trace.value(), fused.value(), 1e-13);
    fused.backward().unwrap();
    for i in 0..30 {
        for j in 0..30 {
            assert_eq!(x.gradient()[30 * i + j], y.value()[30 * j + i]);
        }
    }
}

#[test]
fn complex_arrays_follow_the_convention() {
    // L = |F x|^2: dL/dx + i dL/dy = 2 n x, by Parseval.
    let tape = Tape::<C>::default();
    let items: Vec<C> = (0..6).map(|k| C::new((k as f64).cos(), 0.3 * k as f64 - 1.0)).collect();
    let x = tape.array("x", Array::from(items.clone()));
    let loss = x.fft().abs2().sum();
    loss.backward().unwrap();
    for (g, z) in x.gradient().iter().zip(&items) {
        assert!((g - 12.0 * z).norm() < 1e-12);
    }
    // The same through numbers, conjugates and parts.
    tape.zero_gradients();
    let loss = (x.fft() * x.fft().conj()).re().sum();
    loss.backward().unwrap();
    for (g, z) in x.gradient().iter().zip(&items) {
        assert!((g - 12.0 * z).norm() < 1e-12);
    }
    // Matrices: tr(A^H A) by its parts.
    tape.zero_gradients();
    let a = tape.array("a", matrix(2, 3, |k| C::new(k, 1.0 - k)));
    let loss = a.conj().transpose().matmul(a).trace();
    loss.backward().unwrap();
    for (g, z) in a.gradient().iter().zip(a.value().iter()) {
        assert!((g - 2.0 * z).norm() < 1e-12);
    }
    let back = x.fft().ifft().value();
    assert!(back.iter().zip(&items).all(|(a, b)| (a - b).norm() < 1e-14));
}

#[test]
fn empty_and_single_arrays() {
    let tape = Tape::new();
    let empty = tape.array("e", Array::from(Vec::new()));
    let one = tape.array("o", Array::from(vec![3.0]));
    let y = empty.sum() + one.sum() * (one + empty).sum() + one.prod() + empty.prod();
    assert_eq!(y.value(), 4.0);
    y.backward().unwrap();
    assert_eq!((one.gradient().items(), empty.gradient().len()), (&[1.0][..], 0));
    assert_eq!((one.argmax(), empty.argmax()), (Some(0), None));
    assert_eq!(tape.array("z", Array::from(vec![1.0, 4.0, 4.0])).argmax(), Some(1));
    let nan = |x: [f64; 3]| tape.array("n", Array::from(x.to_vec())).argmax();
    assert_eq!((nan([1.0, f64::NAN, 3.0]), nan([f64::NAN, 4.0, f64::NAN])), (Some(1), Some(0)));
}

#[test]
fn a_network_learns() {
    // Two layers, exclusive or, gradient descent by setting the inputs again.
    let tape = Tape::new();
    let x = Array::new(&[4, 2], vec![0.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0]).unwrap();
    let t = Array::from(vec![0.0, 1.0, 1.0, 0.0]);
    let w = tape.array("w", matrix(2, 6, |k| (3.7 * k + 1.0).sin()));
    let b = tape.array("b", Array::from(vec![0.0; 6]));
    let v = tape
        .array("v", Array::from((0..6).map(|k| (2.3 * f64::from(k)).cos()).collect::<Vec<_>>()));
    let hidden = (tape.constant_array(&x).matmul(w) + b).tanh();
    let loss = (hidden.matvec(v) - &t).powi(2).mean();
    let first = loss.value();
    for _ in 0..1500 {
        tape.zero_gradients();
        loss.backward().unwrap();
        for p in [w, b, v] {
            let items =
                p.value().iter().zip(p.gradient().iter()).map(|(x, g)| x - 0.2 * g).collect();
            p.set(&Array::new(&p.shape(), items).unwrap());
        }
    }
    assert!(first > 0.2 && loss.value() < 1e-3, "{first} to {}", loss.value());
}

/// Elements and ranges are read one by one, in any number, and their cotangents meet in the array.
#[test]
fn parts_of_an_array_are_read_one_by_one() {
    let n = 3000;
    let tape = Tape::new();
    let x = tape.array("x", (0..n).map(|k| 0.01 * k as f64).collect());
    let mut y = tape.constant(0.0);
    for k in 0..n {
        y += x.get(k) * x.get(n - 1 - k);
    }
    y.backward().unwrap();
    let g = x.gradient();
    assert!((0..n).all(|k| (g[k] - 2.0 * 0.01 * (n - 1 - k) as f64).abs() < 1e-12));
    // Ranges along both axes, which overlap; a part of a part.
    let m = Array::new(&[3, 4], (0..12).map(f64::from).collect()).unwrap();
    let a = tape.array("a", m.clone());
    let s =
        a.slice(1, 1..3).sum() * 2.0 + a.slice(0, 1..3).slice(1, 0..2).get(3) + a.element(&[0, 3]);
    s.backward().unwrap();
    assert_eq!(a.gradient().items(), [0.0, 2.0, 2.0, 1.0, 0.0, 2.0, 2.0, 0.0, 0.0, 3.0, 2.0, 0.0]);
    assert_eq!(a.slice(1, 1..3).value().items(), [1.0, 2.0, 5.0, 6.0, 9.0, 10.0]);
    // As a function, and for complex numbers.
    let frozen = s.freeze("f").unwrap();
    let mut f = Derivatives::<f64>::new(frozen.program(), "f").unwrap();
    let inputs = [
        Datum::reals((0..n).map(|k| 0.01 * k as f64).collect::<Vec<_>>()),
        Datum::Reals(std::sync::Arc::new(m)),
    ];
    assert_eq!(f.value(&inputs).unwrap(), Datum::Real(s.value()));
    let complex = Tape::<Complex<f64>>::default();
    let z =
        complex.array("z", [Complex::new(1.0, 2.0), Complex::new(0.0, -1.0)].into_iter().collect());
    let y = z.get(0) * z.get(1) + z.slice(0, 1..2).sum();
    y.backward_with(Complex::new(1.0, 0.0)).unwrap();
    assert_eq!(z.gradient().items(), [Complex::new(0.0, 1.0), Complex::new(2.0, -2.0)]);
    // What is not there is named.
    let tape = Tape::new();
    let x = tape.array("x", Array::from(vec![1.0, 2.0]));
    let y = x.get(2);
    assert!(y.value().is_nan());
    assert!(tape.fault().unwrap().to_string().contains("index 2 of an array of 2 elements"));
    let tape = Tape::new();
    let _ = tape.array("x", Array::from(vec![1.0, 2.0])).slice(0, 1..4);
    assert!(tape.fault().unwrap().to_string().contains("slice"));
}

/// Of equal eigenvalues a tape has the gradient by the values, or by the space of the vectors; of
/// both together it has none, and says so. The frozen function has it.
#[test]
fn equal_eigenvalues_and_their_vectors_together_have_no_gradient_on_a_tape() {
    let unit = |x: f64| Array::new(&[2, 2], vec![x, 0.0, 0.0, x]).unwrap();
    let tape = Tape::new();
    let a = tape.array("a", unit(2.0));
    let y =
        a.eigvalsh().exp().sum() + a.eigvecsh().matmul(a.eigvecsh().transpose()).element(&[0, 1]);
    assert!(y.backward().unwrap_err().to_string().contains("`eigvalsh`"), "{y}");
    a.eigvalsh().exp().sum().backward().unwrap();
    assert_eq!(a.gradient().items(), [2f64.exp(), 0.0, 0.0, 2f64.exp()]);
    let v = a.eigvecsh();
    let power = (v * a.eigvalsh().exp()).matmul(v.transpose()).element(&[0, 1]);
    let said = power.backward().unwrap_err().to_string();
    assert!(said.contains("both used") && said.contains("tape_arrays.rs"), "{said}");
    let frozen = power.freeze("f").unwrap();
    let mut f = Derivatives::<f64>::new(frozen.program(), "f").unwrap();
    let gradient = f.gradient(&[Datum::Reals(std::sync::Arc::new(unit(2.0)))]).unwrap();
    let Datum::Reals(gradient) = &gradient[0] else { panic!("{gradient:?}") };
    let right = [0.0, 0.5 * 2f64.exp(), 0.5 * 2f64.exp(), 0.0];
    assert!(gradient.iter().zip(right).all(|(x, y)| (x - y).abs() < 1e-14), "{gradient:?}");
    // Singular values, and those that are 0 of a matrix that is not square.
    let tape = Tape::new();
    for a in [unit(1.0), Array::new(&[1, 2], vec![0.0, 0.0]).unwrap()] {
        let a = tape.array("a", a);
        let y = (a.svd_u() * a.svdvals()).matmul(a.svd_v().transpose()).sum();
        assert!(y.backward().unwrap_err().to_string().contains("both used"));
        a.svdvals().sum().backward().unwrap();
    }
    // Apart they are as ever.
    let a = tape.array("a", Array::new(&[2, 2], vec![2.0, 0.0, 0.0, 3.0]).unwrap());
    let v = a.eigvecsh();
    (v * a.eigvalsh().exp()).matmul(v.transpose()).element(&[0, 1]).backward().unwrap();
    let x = 0.5 * (3f64.exp() - 2f64.exp());
    assert!(a.gradient().items().iter().zip([0.0, x, x, 0.0]).all(|(a, b)| (a - b).abs() < 1e-13));
}
