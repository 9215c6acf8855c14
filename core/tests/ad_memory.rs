//! A run stays within its memory limit, and says so where it cannot.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    array::ArrayError,
    exec::{
        Bytecode, Datum, Derivatives, DeriveError, Executable, Host, HostError, Limits, Machine,
        RunError,
    },
    ir::{Element, Kind, Primitive},
    pass::Level,
    rules::Rules,
    scalar::Scalar,
    text::{parse_program, parse_program_with},
};

const MB: usize = 1_000_000;

fn limited(source: &str, memory: usize) -> Derivatives<'static, f64> {
    let program = parse_program(source).unwrap();
    let limits = Limits::new().with_memory(memory);
    Derivatives::new(&program, "f").unwrap().with_limits(limits)
}

fn point(n: i64) -> [Datum<f64>; 2] {
    [Datum::Real(0.5), Datum::Int(n)]
}

/// True if it is the error of an array; with it the bytes in use and the limit that it tells.
fn of_memory(error: DeriveError) -> (bool, usize, usize) {
    match error {
        DeriveError::Run(RunError::Array {
            source: ArrayError::Memory { used, limit, .. },
            ..
        }) => (true, used, limit),
        DeriveError::Run(RunError::Memory { used, limit, .. }) => (false, used, limit),
        other => panic!("{other}"),
    }
}

/// A loop over arrays runs in the memory of two; its gradient keeps one for each round.
const LOOP: &str = "fn f(x, n: int) {
    let mut xs = [x; 100000];
    for i in 0..n { xs = sin(xs); }
    sum(xs)
}";

#[test]
fn arrays_on_the_tape_are_counted() {
    let mut f = limited(LOOP, 50 * MB);
    // 1000 arrays would be 800 MB.
    assert!(f.value(&point(1000)).is_ok());
    for _ in 0..3 {
        let error = f.gradient(&point(1000)).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("an array of 781 KiB does not fit into the memory limit of 47.7 MiB")
        );
        assert_eq!(error.to_string().split(':').next(), Some("3"), "{error}");
        let (of_array, used, limit) = of_memory(error);
        assert!(of_array && used <= limit && used > limit - 2 * MB, "{used} of {limit}");
        assert!(f.memory() <= limit + MB, "{}", f.memory());
        // Failed runs hold no memory.
        let few = f.gradient(&point(50)).unwrap();
        assert_eq!(few, limited(LOOP, usize::MAX).gradient(&point(50)).unwrap());
    }
}

#[test]
fn a_run_that_fits_goes_on_fitting() {
    let mut unlimited = limited(LOOP, usize::MAX);
    let expected = unlimited.value_and_gradient(&point(20)).unwrap();
    let mut f = limited(LOOP, unlimited.memory() + MB);
    for _ in 0..20 {
        assert_eq!(f.value_and_gradient(&point(20)).unwrap(), expected);
    }
    // Also with lengths that change from run to run, for which earlier buffers are of no use.
    let source = "fn f(x, n: int) { let mut xs = [x; n]; for i in 0..5 { xs = sin(xs); } sum(xs) }";
    let mut f = limited(source, 40 * MB);
    for n in (1..50).map(|k| 10_200 * k) {
        assert!(f.gradient(&point(n)).is_ok(), "{n}");
        assert!(f.memory() <= 41 * MB);
    }
}

#[test]
fn numbers_on_the_tape_are_counted() {
    let source = "fn f(x, n: int) { let mut y = x; for i in 0..n { y = sin(y); } y }";
    let mut f = limited(source, 100 * MB);
    assert!(f.gradient(&point(1_000_000)).is_ok());
    let error = f.gradient(&point(100_000_000)).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("in use, beyond the memory limit of 95.4 MiB") && text.starts_with("1:"),
        "{text}"
    );
    let (of_array, used, limit) = of_memory(error);
    assert!(!of_array && used > limit && used < limit + 40 * MB, "{used} of {limit}");
}

#[test]
fn calls_inside_calls_are_counted() {
    let source =
        "fn f(x, n: int) { let xs = [x; 10000]; if n > 0 { f(x + 1, n - 1) + xs[n] } else { x } }";
    let mut f = limited(source, 20 * MB);
    assert!(f.value(&point(200)).is_ok());
    assert!(of_memory(f.value(&point(2000)).unwrap_err()).0);
}

#[test]
fn arrays_that_grow_are_counted_and_limited() {
    let double = "fn f(x, n: int) { let mut xs = [x; 1000]; for i in 0..n { xs = concat(xs, xs, 0); } sum(xs) }";
    assert!(of_memory(limited(double, 10 * MB).value(&point(30)).unwrap_err()).0);
    let text = limited(double, usize::MAX).value(&point(30)).unwrap_err().to_string();
    assert!(text.contains("at most 100000000 elements in all"), "{text}");
    for (source, bytes) in [
        ("fn f(x, n: int) { sum(diagonal_matrix([x; n])) }", "7.6 MiB"),
        (
            "fn f(x, n: int) { let a = reshape([x; n], [n, 1]); sum(matmul(a, transpose(a))) }",
            "7.6 MiB",
        ),
        ("fn f(x, n: int) { let a = [x; n]; sum(reshape(a, [n, 1]) + a) + a[0] }", ""),
    ] {
        let outcome = limited(source, MB).value(&point(1000));
        if bytes.is_empty() {
            assert!(outcome.is_ok(), "nothing of it is ever stored");
        } else {
            assert!(outcome.unwrap_err().to_string().contains(bytes));
        }
    }
    let source = "fn f(xs: array) { sum(xs * xs) }";
    let mut f = limited(source, MB);
    let error = f.hessian(&[Datum::reals(vec![1.0; 1000])]).unwrap_err();
    assert!(error.to_string().contains("an array of 7.6 MiB does not fit"), "{error}");
}

/// Gives arrays of its own.
struct Maker;

impl<S: Scalar<Real = f64>> Host<S> for Maker {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        match (primitive.name.as_str(), args) {
            ("same", [xs]) => Ok(xs.clone()),
            (_, [Datum::Reals(xs)]) => Ok(Datum::reals(xs.iter().map(|x| x + 1.0))),
            _ => Err(HostError::unknown(primitive)),
        }
    }
}

/// A loop over a primitive holds the arrays of an iteration or two, its own and the primitive's.
#[test]
fn arrays_of_primitives_are_counted_once() {
    let array = Kind::Array(Element::Real);
    for (name, last) in [("more", 2000.5), ("same", 0.5)] {
        let mut rules = Rules::new();
        rules.primitive(name, std::slice::from_ref(&array), array.clone()).unwrap();
        let source = format!(
            "fn f(x, n: int) {{ let mut xs = [x; 10000]; for i in 0..n {{ xs = {name}(xs); }} xs[1] }}"
        );
        let program = parse_program_with(&source, &rules).unwrap();
        let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
        let mut machine = Machine::<f64>::new();
        let limits = Limits::new().with_memory(MB);
        let value = code.call(&mut machine, &Maker, &limits, &point(2000));
        assert_eq!(value.unwrap(), Datum::Real(last));
        assert!(machine.memory() <= MB, "{} bytes are held", machine.memory());
    }
}

/// Loops in which each round reads or writes a part of an array that all rounds share, or makes it
/// longer: what the gradient keeps is what a round reads, so that its memory is linear in the
/// rounds where the array grows with them.
const PARTS: [&str; 11] = [
    "fn f(x, n: int) { let p = full(x, [n, 3]); let mut s = 0.0; for i in 0..n { s += sum(sin(row(p, i))); } s }",
    "fn f(x, n: int) { let p = full(x, [n, 3]); let mut s = 0.0; for i in 0..n { s += sum(sin(slice(p, 0, i, 1))); } s }",
    "fn f(x, n: int) { let p = full(x, [n, 3]); let mut s = 0.0; let mut i = 0;
        while i < n { s += sum(sin(row(p, i))) * x; i += 1; } s }",
    "fn f(x, n: int) { let p = full(x, [3, n]); let mut s = 0.0;
        for i in 0..n { s += sum(sin(transpose(slice(p, 1, i, 1)))); } s }",
    "fn f(x, n: int) { let mut p = full(0.0, [n, 4]); let mut y = full(x, [4]);
        for i in 0..n { y = sin(y); p = with_row(p, y, i); } sum(p) }",
    "fn f(x, n: int) { let mut p = full(x, [4, n]); let mut y = full(x, [4, 1]);
        for i in 0..n { y = sin(y) * slice(p, 1, n - 1 - i, 1); p = dynamic_update_slice(y, p, 1, i); } sum(p * p) }",
    "fn f(x, n: int) { let mut p = [x]; let mut y = x; for i in 0..n { y = sin(y); p = concat(p, [y], 0); } sum(p) }",
    "fn f(x, n: int) { let mut p = full(x, [1, 2]); let mut y = full(x, [1, 2]);
        for i in 0..n { y = sin(y); p = concat(p, y, 0); } sum(p * p) }",
    "fn f(x, n: int) { let mut p = [x]; for i in 0..n { p = concat(p, [sin(p[i]) + x], 0); } sum(p) }",
    "fn f(x, n: int) { let mut p = [x, 2.0 * x];
        for i in 0..n { let y = cos(p[i] * p[i + 1]) + sin(p[i]); p = concat(p, [y * x], 0); } sum(p) }",
    "fn f(x, n: int) { let mut p = full(x, [n + 1]); let mut q = [x];
        for i in 0..n { p[i + 1] = sin(p[i]) * x; q = concat([p[i + 1] * q[0]], q, 0); } sum(p) + sum(q) }",
];

#[test]
fn parts_of_arrays_are_kept_and_not_the_arrays() {
    for source in PARTS {
        let mut before = 0;
        for n in [400, 800, 1600] {
            let mut f = limited(source, usize::MAX);
            let (value, gradient) = f.value_and_gradient(&point(n)).unwrap();
            let most = f.memory();
            assert!(before == 0 || most < before * 5 / 2, "{source}: {before} bytes, then {most}");
            before = most;
            if n == 400 {
                let program = parse_program(source).unwrap();
                let mut plain =
                    Derivatives::<f64>::new(&program, "f").unwrap().with_level(Level::None);
                let (same, expected) = plain.value_and_gradient(&point(n)).unwrap();
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-12 * b.abs();
                assert!(close(value, same), "{source}: {value}, {same}");
                let slope = |g: &[Datum<f64>]| *g[0].real().unwrap();
                assert!(
                    close(slope(&gradient), slope(&expected)),
                    "{source}: {gradient:?}, {expected:?}"
                );
                // Forward mode keeps nothing.
                let (_, dot) = plain.jvp(&point(n), &[Datum::Real(1.0)]).unwrap();
                assert!(
                    close(slope(&gradient), *dot.real().unwrap()),
                    "{source}: {gradient:?}, {dot:?}"
                );
                // Second derivatives go through shapes on tapes of tapes.
                let step = 1e-6;
                let along = f.hvp(&point(n), &[Datum::Real(1.0)]).unwrap();
                let mut at = |x: f64| slope(&f.gradient(&[Datum::Real(x), Datum::Int(n)]).unwrap());
                let difference = (at(0.5 + step) - at(0.5 - step)) / (2.0 * step);
                let second = *along.1[0].real().unwrap();
                assert!(
                    (second - difference).abs() < 1e-6 * (1.0 + second.abs()),
                    "{source}: {second}, {difference}"
                );
            }
        }
    }
}
