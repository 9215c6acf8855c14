//! Arrays as wholes in `program!`: the native function on duals, the IR in reverse mode and a tape
//! give the same gradients, one program for each family of operations; what does not fit is told
//! with the operation, the shapes and the line.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
};

use ketgrad::{
    array::Array,
    exec::{Datum, Derivatives},
    program,
    tape::{ArrayVariable, Tape, Variable},
};
use num_complex::Complex;
use num_dual::Dual64;

program! {
    fn network(x: array, w: array, b: array) { let y = tanh(matmul(x, w) + b); mean(y * y) }
    fn arithmetic(a: array, b: array) { sum((2.0 * a - b / (1.0 + b * b)) * -a + 3.0 / b) }
    fn each(a: array, b: array) { sum(sin(a) * exp(-b) + pow(abs(a) + 1.0, 1.5) + powi(b, 3) * max(a, b) + hypot(a, b)) }
    fn shaped(a: array, b: array) {
        let c = concat(transpose(a), reshape(b, [3, 2]), 1);
        let d = slice(c, 1, 1, 2) * permute(row(insert_axis(a, 0), 0), [1, 0]);
        sum(d * d) + sum(gather(c, [2, 0, 2]) * 0.5) * sum(tril(matmul(a, transpose(b)), 0))
    }
    fn reduced(a: array, b: array) {
        let s = sum(sum_axis(a, 0) * mean_axis(b, 0)) + prod(a) + norm(b) + logsumexp(a * b);
        s + sum(softmax(a, 1) * cumsum(b, 0)) + sum(logsumexp_axis(b, 1)) * maximum(a)
    }
    fn multiplied(a: array, b: array) {
        let c = einsum(a, b, [0, 1], [2, 1], [0, 2]);
        dot(a, b) * trace(c) + sum(kron(a, c)) + sum(outer(row(a, 0), row(b, 1)) * 2.0) + trace_product(c, c)
    }
    fn linear(m: array, v: array) {
        let spd = matmul(m, transpose(m)) + eye(2);
        dot(solve(spd, v), v) + det(m) * logabsdet(spd) + sum(cholesky(spd)) + sum(expm(m)) + sum(eigvalsh(spd) * v)
            + sum(matvec(inv(spd), v))
    }
    fn orthogonal(m: array, v: array) {
        let x = lstsq(m, v);
        dot(x, x) + sum(qr_q(m) * m) + sum(qr_r(m)) + sum(svdvals(m) * v) + sum(qr(m))
            + sum(matmul_nh(svd_u(m), svd_v(m)) * m) + svd(m)[0] + sum(pinv(m)) + signdet(m) * sum(expm_along(m, m))
            + sum(solve_lower(m, v)) + sum(solve_upper(m, v))
    }
    fn convolved(a: array, b: array) { let c = convolve(a, b); dot(c, c) }
    fn spectrum(a: array) { let z = fft(a); sum(abs2(z) * [1.0, 2.0, 3.0, 4.0]) + sum(re(ifft(z * z))) }
    fn grown(m: array, n: int) {
        let mut v = full(1.0, [2]);
        for i in 0..n {
            let w = matvec(m, &v);
            v = w / norm(w);
            if v[0] > 0.9 { v[1] *= 0.5; }
        }
        dot(&v, matvec(m, &v))
    }
    fn placed(m: array, x) {
        let mut c = m;
        c[(0, 1)] = x * c[(1, 0)];
        c[(1, 1)] += c[(0, 1)] * c[(0, 0)];
        sum(&c * [[1.0, 2.0], [3.0, 4.0]]) + trace(matmul(c, m))
    }
    fn pendulum(start: array, n: int) {
        let mut y = start;
        for i in 0..n {
            let force = sin(y[0]) + 0.1 * y[1];
            let slope = [y[1], -force];
            y += 0.01 * slope;
        }
        dot(&y, &y)
    }
    fn known(n: int) {
        let a = full(1.0, [2, 3]);
        sum(matmul(a, a))
    }
    fn misfit(a: array, b: array) {
        let c = a + 1.0;
        sum(matmul(c, b))
    }
}

/// The gradient of a program by all its arrays in reverse, beside the native function on duals.
fn agree(
    name: &str,
    arrays: &[Array<f64>],
    more: &[Datum<Complex<f64>>],
    native: &dyn Fn(Vec<Array<Dual64>>) -> Dual64,
) -> Vec<Array<f64>> {
    let args: Vec<Datum<Complex<f64>>> =
        arrays.iter().map(|a| Datum::Reals(a.clone().into())).chain(more.iter().cloned()).collect();
    let (value, gradient) =
        Derivatives::new(&network::ir(), name).unwrap().value_and_gradient(&args).unwrap();
    let mut all = Vec::new();
    for (k, array) in arrays.iter().enumerate() {
        let Datum::Reals(slopes) = &gradient[k] else { panic!("an array") };
        assert!(slopes.same_shape(array), "{name}");
        for i in 0..array.len() {
            let mut j = 0;
            let duals = arrays.iter().enumerate().map(|(l, a)| {
                j = 0;
                a.map(|x| {
                    let seed = if (l, j) == (k, i) { 1.0 } else { 0.0 };
                    j += 1;
                    Dual64::new(*x, seed)
                })
            });
            let dual = native(duals.collect());
            close(name, dual.re, value);
            close(name, dual.eps, slopes[i]);
        }
        all.push((**slopes).clone());
    }
    all
}

fn close(name: &str, a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-11 * b.abs().max(1.0), "{name}: {a} {b}");
}

/// The same formula by operators on a tape.
fn on_tape(
    name: &str,
    arrays: &[Array<f64>],
    expected: &[Array<f64>],
    formula: impl for<'t> Fn(&[ArrayVariable<'t>]) -> Variable<'t>,
) {
    let tape = Tape::new();
    let x: Vec<ArrayVariable<'_>> = arrays.iter().map(|a| tape.array("x", a.clone())).collect();
    formula(&x).backward().unwrap();
    for (x, expected) in x.iter().zip(expected) {
        x.gradient().iter().zip(expected.iter()).for_each(|(a, b)| close(name, *a, *b));
    }
}

macro_rules! of_two {
    ($f:ident, $arrays:expr, |$x:ident| $formula:expr) => {{
        let arrays: &[Array<f64>] = &$arrays;
        let expected = agree(stringify!($f), arrays, &[], &|mut x| {
            let b = x.pop().unwrap();
            $f(x.pop().unwrap(), b)
        });
        on_tape(stringify!($f), arrays, &expected, |$x| $formula);
    }};
}

fn wide() -> Array<f64> {
    Array::from_rows([[0.3, -0.7, 1.1], [0.9, 0.2, -0.4]])
}
fn other() -> Array<f64> {
    Array::from_rows([[1.3, 0.6, -0.8], [0.25, -1.2, 0.5]])
}
fn square() -> Array<f64> {
    Array::from_rows([[0.8, -0.3], [0.4, 1.2]])
}

#[test]
fn arithmetic_and_functions_of_numbers() {
    of_two!(arithmetic, [wide(), other()], |x| {
        let (a, b) = (x[0], x[1]);
        ((2.0 * a - b / (1.0 + b * b)) * -a + 3.0 / b).sum()
    });
    of_two!(each, [wide(), other()], |x| {
        let (a, b) = (x[0], x[1]);
        (a.sin() * (-b).exp() + (a.abs() + 1.0).pow(1.5) + b.powi(3) * a.max(b) + a.hypot(b)).sum()
    });
}

#[test]
fn networks() {
    let arrays =
        [wide(), Array::from_rows([[0.5, 0.1], [-0.2, 0.7], [0.3, 0.9]]), Array::from([0.1, -0.3])];
    let expected =
        agree("network", &arrays, &[], &|x| network(x[0].clone(), x[1].clone(), x[2].clone()));
    on_tape("network", &arrays, &expected, |x| {
        let y = (x[0].matmul(x[1]) + x[2]).tanh();
        (y * y).mean()
    });
}

#[test]
fn shapes_and_parts() {
    of_two!(shaped, [wide(), other()], |x| {
        let (a, b) = (x[0], x[1]);
        let c = a.transpose().concat(b.reshape(&[3, 2]), 1);
        let d = c.slice(1, 1..3) * a.insert_axis(0).row(0).permute(&[1, 0]);
        let ones = a.tape().constant_array(&Array::from_rows([[1.0, 0.0], [1.0, 1.0]]));
        (d * d).sum() + (c.gather(&[2, 0, 2]) * 0.5).sum() * (a.matmul(b.transpose()) * ones).sum()
    });
}

#[test]
fn reductions() {
    of_two!(reduced, [wide(), other()], |x| {
        let (a, b) = (x[0], x[1]);
        let s = (a.sum_axis(0) * b.mean_axis(0)).sum() + a.prod() + b.norm() + (a * b).logsumexp();
        s + (a.softmax(1) * b.cumsum(0)).sum() + b.logsumexp_axis(1).sum() * a.maximum()
    });
}

#[test]
fn products() {
    of_two!(multiplied, [wide(), other()], |x| {
        let (a, b) = (x[0], x[1]);
        let c = a.einsum(b, &[0, 1], &[2, 1], &[0, 2]);
        a.dot(b) * c.trace()
            + a.kron(c).sum()
            + (a.row(0).outer(b.row(1)) * 2.0).sum()
            + c.trace_product(c)
    });
}

#[test]
fn linear_algebra_and_signals() {
    of_two!(linear, [square(), Array::from([0.7, -0.2])], |x| {
        let (m, v) = (x[0], x[1]);
        let eye = m.tape().constant_array(&Array::from_rows([[1.0, 0.0], [0.0, 1.0]]));
        let spd = m.matmul(m.transpose()) + eye;
        spd.solve(v).dot(v)
            + m.det() * spd.logabsdet()
            + spd.cholesky().sum()
            + m.expm().sum()
            + (spd.eigvalsh() * v).sum()
            + spd.inv().matvec(v).sum()
    });
    of_two!(orthogonal, [square(), Array::from([0.7, -0.2])], |x| {
        let (m, v) = (x[0], x[1]);
        let (x, q, r) = (m.lstsq(v), m.qr_q(), m.qr_r());
        x.dot(x)
            + (q * m).sum()
            + r.sum()
            + (m.svdvals() * v).sum()
            + q.concat(r, 0).sum()
            + (m.svd_u().matmul(m.svd_v().transpose()) * m).sum()
            + m.svdvals().get(0)
            + m.pinv().sum()
            + m.signdet() * m.expm_along(m).sum()
            + m.solve_lower(v).sum()
            + m.solve_upper(v).sum()
    });
    of_two!(convolved, [Array::from([0.5, -1.0, 2.0]), Array::from([1.0, 0.3])], |x| {
        let c = x[0].convolve(x[1]);
        c.dot(c)
    });
    agree("spectrum", &[Array::from([0.5, -1.0, 2.0, 0.25])], &[], &|x| spectrum(x[0].clone()));
}

#[test]
fn arrays_change_in_loops() {
    agree("grown", &[square()], &[Datum::Int(4)], &|x| grown(x[0].clone(), 4));
    agree("placed", &[square()], &[Datum::Real(0.6)], &|x| placed(x[0].clone(), Dual64::from(0.6)));
}

#[test]
fn long_loops_stay_in_a_budget() {
    let (start, n, budget) = (Array::from([1.0, -0.5]), 5000, 60_000);
    let args = [Datum::Reals(start.clone().into()), Datum::Int(n)];
    let program = pendulum::ir();
    let mut little =
        Derivatives::<f64>::new(&program, "pendulum").unwrap().with_memory(budget).unwrap();
    let (_, gradient) = little.value_and_gradient(&args).unwrap();
    let Datum::Reals(slopes) = &gradient[0] else { panic!("an array") };
    let dual = pendulum(Array::from([Dual64::new(1.0, 1.0), Dual64::from(-0.5)]), n);
    close("pendulum", dual.eps, slopes[0]);
    assert!(little.memory() <= budget, "{}", little.memory());
}

#[test]
fn known_shapes_are_checked_before_anything_runs() {
    let error = Derivatives::<f64>::new(&known::ir(), "known").unwrap_err().to_string();
    assert!(
        error.ends_with("`matmul` takes matrices m x k and k x n, given [2, 3] and [2, 3]"),
        "{error}"
    );
    // Those of arguments too, if they are given.
    let shapes = [Some(&[2, 3][..]), Some(&[2, 3][..])];
    let misfit = Derivatives::<f64>::new(&misfit::ir(), "misfit").unwrap();
    assert!(misfit.with_shapes(&shapes).is_err());
}

#[test]
fn what_does_not_fit_is_told_with_operation_shapes_and_line() {
    let line = 1 + include_str!("program_arrays.rs")
        .lines()
        .position(|l| l.contains("sum(matmul(c, b))"))
        .unwrap();
    let error = Derivatives::<f64>::new(&misfit::ir(), "misfit")
        .and_then(|mut f| {
            f.value_and_gradient(&[Datum::Reals(wide().into()), Datum::Reals(other().into())])
        })
        .unwrap_err()
        .to_string();
    let words = "`matmul` takes matrices m x k and k x n, given [2, 3] and [2, 3]";
    assert_eq!(error, format!("{line}:13: {words}"));
    // The native function panics there, with the same words. The hook belongs to all tests: those
    // on other threads keep what they print.
    thread_local! {
        static WATCHED: Cell<bool> = const { Cell::new(false) };
        static PLACE: Cell<Option<u32>> = const { Cell::new(None) };
    }
    let before = take_hook();
    set_hook(Box::new(move |info| match WATCHED.get() {
        true => PLACE.set(info.location().map(|at| at.line())),
        false => before(info),
    }));
    WATCHED.set(true);
    let native = catch_unwind(AssertUnwindSafe(|| misfit(wide(), other())));
    WATCHED.set(false);
    assert_eq!(native.unwrap_err().downcast_ref::<String>().map(String::as_str), Some(words));
    assert_eq!(PLACE.get().map(|line| line as usize), Some(line));
}
