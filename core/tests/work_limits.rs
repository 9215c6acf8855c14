//! Work on arrays is counted: what costs much is not done at all beyond the limit, whatever the
//! number of steps.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{
        Bytecode, Datum, Derivatives, DeriveError, Executable, Limits, Machine, NoHost, RunError,
    },
    text::parse_program,
};

/// The value of a program on 1000 numbers and their square matrix, with so much work.
fn run(body: &str, work: u64) -> Result<(), RunError> {
    let source = format!("fn f(x: array, a: array, n: int) {{ {body} }}");
    let program = parse_program(&source).unwrap_or_else(|e| panic!("{body}: {e:?}"));
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let items = |n: usize| (0..n).map(|k| 1.0 / (1 + k % 7) as f64).collect::<Vec<f64>>();
    let x = Datum::reals(items(1000));
    let mut matrix = items(60 * 60);
    (0..60).for_each(|k| matrix[61 * k] += 60.0);
    let a = ketgrad_core::array::Array::new(&[60, 60], matrix).unwrap();
    let args = [x, Datum::Reals(a.into()), Datum::Int(10)];
    let limits = Limits::new().with_work(work);
    code.call(&mut Machine::<f64>::new(), &NoHost, &limits, &args).map(|_| ())
}

/// Work that each operation counts: no less than a third, and no more than three times as much.
/// Operands that are read count, too.
#[test]
fn operations_count_their_elements() {
    let cube = 60 * 60 * 60;
    for (body, cost) in [
        ("sum(x * x)", 2000),
        ("sum(sin(x) + cos(x) * x)", 4000),
        ("let mut y = x; for i in 0..n { y = y * x; } y[0]", 10_000),
        ("let mut y = x; let z = y; y[0] = 2.0; y[0] + z[0]", 1000),
        ("sum([x[0]; 5000])", 10_000),
        ("sum(concat(x, x, 0))", 6000),
        ("sum(randn(1, [3000]))", 6000),
        ("dot(x, x)", 2000),
        ("sum(matmul(a, a))", 2 * cube),
        ("sum(matmul(a, transpose(a)))", 2 * cube),
        ("sum(contract(a, a, [0, 1, 1, 2, 0, 2]))", 2 * cube),
        (
            "let s = reshape(x, [10, 10, 10]); sum(contract(s, s, [0, 1, 2, 3, 4, 2, 0, 3]))",
            2 * 100_000,
        ),
        ("sum(convolve(x, x))", 1_000_000),
        ("det(a)", cube),
        ("sum(inv(a))", 4 * cube),
        ("sum(solve(a, a))", 3 * cube),
        ("sum(expm(a))", 30 * cube),
        ("sum(svdvals(a))", 30 * cube),
        ("sum(sort(x))", 12_000),
    ] {
        let few = run(body, cost / 3);
        assert!(matches!(few, Err(RunError::Work { .. })), "{body}: {few:?}");
        run(body, 3 * cost).unwrap_or_else(|e| panic!("{body}: {e}"));
    }
    // Numbers and elements of arrays are no work on arrays, and so tiny arrays are cheap.
    run("let mut s = 0.0; for i in 0..1000 { s += x[i] * sin(s); } s", 0).unwrap();
    run("let mut s = x; for i in 0..1000 { s[i] = 2.0 * s[i]; } s[0]", 1000).unwrap();
}

/// One operation that would take hours is an error at once, and it says where; the limit holds from
/// call to call.
#[test]
fn what_costs_too_much_is_not_done() {
    for body in [
        "let b = reshape([x[0]; 100000000], [10000, 10000]); sum(matmul(b, b))",
        "let b = reshape([x[0]; 4000000], [2000, 2000]); sum(svdvals(b))",
        "let b = [x[0]; 5000000]; sum(convolve(b, b))",
        "let b = reshape([x[0]; 1000000], [100, 100, 100]); sum(contract(b, b, [0, 1, 2, 3, 4, 5, 0, 3]))",
        "let mut y = x; while true { y = y * x; } y[0]",
        "let mut y = x; while true { let z = y; y[0] = 2.0; y[1] = z[0]; } y[0]",
    ] {
        let error = run(body, 400_000_000).unwrap_err();
        assert!(matches!(error, RunError::Work { limit: 400_000_000, .. }), "{body}: {error}");
        assert!(
            error
                .to_string()
                .ends_with("this takes more than 400000000 operations on elements of arrays")
        );
        assert!(
            error.position().is_some_and(|at| at.line == 1 && at.column > 36),
            "{body}: {error}"
        );
    }
    let program = parse_program("fn f(x: array) { sum(x * x) }").unwrap();
    let limits = Limits::new().with_work(50_000);
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap().with_limits(limits);
    for _ in 0..100 {
        f.value_and_gradient(&[Datum::reals(vec![1.0; 1000])]).unwrap();
    }
    let error = f.value_and_gradient(&[Datum::reals(vec![1.0; 100_000])]).unwrap_err();
    assert!(matches!(error, DeriveError::Run(RunError::Work { .. })), "{error}");
}
