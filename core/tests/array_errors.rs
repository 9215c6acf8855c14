//! Errors of arrays are told with the operation, the shapes and the position in the source.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::ArrayOp,
    text::parse_program,
};

/// The message of a program `fn f(a: array, b: array)` on arrays of these shapes, counting up
/// from 1.
fn message(body: &str, a: &[usize], b: &[usize]) -> String {
    let source = format!("fn f(a: array, b: array) {{\n  {body}\n}}");
    let program = parse_program(&source).unwrap_or_else(|e| panic!("{}: {source}", e[0]));
    let count = |shape: &[usize]| {
        let n = shape.iter().product::<usize>();
        Datum::reals_of(shape, (1..=n).map(|k| k as f64).collect()).unwrap()
    };
    Derivatives::<f64>::new(&program, "f")
        .unwrap()
        .value(&[count(a), count(b)])
        .unwrap_err()
        .to_string()
}

/// Error of the same before it runs, from the shapes alone.
fn foretold(body: &str, a: &[usize], b: &[usize]) -> Option<String> {
    let program = parse_program(&format!("fn f(a: array, b: array) {{\n  {body}\n}}")).unwrap();
    let f = Derivatives::<f64>::new(&program, "f").unwrap();
    f.with_shapes(&[Some(a), Some(b)]).err().map(|e| e.to_string())
}

#[test]
fn shapes_that_do_not_fit() {
    let mut wrong = Vec::new();
    let cases = [
        (
            "a + b",
            &[2][..],
            &[3][..],
            "`add` takes arrays whose shapes are equal or 1 along each axis, counted from the last, given [2] and [3]",
        ),
        ("let c = exp(a); sum(c * b)", &[2, 3], &[2], "`mul` takes arrays"),
        (
            "matmul(a, b)",
            &[2, 3],
            &[2, 3],
            "2:3: `matmul` takes matrices m x k and k x n, given [2, 3] and [2, 3]",
        ),
        ("matmul(a, b)", &[3], &[3, 1], "given [3] and [3, 1]"),
        ("matmul_nh(a, b)", &[2, 3], &[3, 2], "`matmul_nh` takes matrices m x k and n x k"),
        ("matmul_hn(a, b)", &[2, 3], &[3, 2], "`matmul_hn` takes matrices k x m and k x n"),
        ("trace(matmul(a, b))", &[2, 3], &[2, 3], "`trace_product` takes matrices m x n and n x m"),
        ("dot(a, b)", &[2], &[3], "`dot` takes two arrays of one shape, given [2] and [3]"),
        (
            "transpose(a)",
            &[2],
            &[1],
            "`transpose` takes a matrix or a stack of matrices, given [2]",
        ),
        ("reshape(a, [2, 2])", &[3], &[1], "`reshape`: the shape [2, 2] of an array of shape [3]"),
        ("reshape(a, [-1, -1])", &[3], &[1], "`reshape`: the shape [-1, -1]"),
        (
            "permute(a, [0, 0])",
            &[2, 2],
            &[1],
            "`permute`: the axes [0, 0] of an array of shape [2, 2]",
        ),
        (
            "concat(a, b, 0)",
            &[2, 2],
            &[2, 3],
            "`concat` takes arrays that differ along the one axis only",
        ),
        ("[a, b]", &[2], &[3], "`concat` takes arrays that differ along the one axis only"),
        ("slice(a, 0, 1, 3)", &[3], &[1], "`slice`: 3 elements from 1 on along an axis of 3"),
        (
            "slice(a, 1, 0, 1)",
            &[3],
            &[1],
            "`slice` along axis 1 of an array of shape [3]: expected 0",
        ),
        (
            "insert_axis(a, 5)",
            &[3],
            &[1],
            "`insert_axis` along axis 5 of an array of shape [3]: expected 0 to 1",
        ),
        ("gather(a, [0, 3])", &[3], &[1], "`gather`: index 3 along an axis of 3"),
        ("pad(a, b, 0, 2)", &[2], &[3], "`pad`: 2 elements from 2 on along an axis of 3"),
        (
            "dynamic_update_slice(a, b, 0, 2)",
            &[2],
            &[3],
            "`dynamic_update_slice`: 2 elements from 2 on along an axis of 3",
        ),
        (
            "dynamic_update_slice(a, b, 0, 0)",
            &[2],
            &[2, 2],
            "`dynamic_update_slice` takes a part that differs from the whole along one axis",
        ),
        (
            "with_row(b, a, 0)",
            &[2],
            &[3, 3],
            "`with_row`: `dynamic_update_slice` takes a part that differs from the whole",
        ),
        (
            "with_row(b, a, 3)",
            &[3],
            &[3, 3],
            "`with_row`: `dynamic_update_slice`: 1 elements from 3 on along an axis of 3",
        ),
        ("scatter(a, b, [0])", &[2], &[3], "`scatter` takes a row for each index"),
        (
            "broadcast_to(a, b)",
            &[2],
            &[3],
            "`broadcast_to` takes an array that can be repeated to the shape of the other",
        ),
        (
            "sum_like(a, b)",
            &[2],
            &[3],
            "`sum_like` takes an array that the other can be repeated to",
        ),
        (
            "sum_keep(a, 2)",
            &[2, 2],
            &[1],
            "`sum_keep` along axis 2 of an array of shape [2, 2]: expected 0 to 1",
        ),
        ("flip(a, 1)", &[2], &[1], "`flip` along axis 1 of an array of shape [2]"),
        (
            "linear_recurrence(a, b, 0)",
            &[2],
            &[3],
            "`linear_recurrence` takes two arrays of one shape",
        ),
        ("linear_recurrence(a, b, 1)", &[2], &[2], "`linear_recurrence` along axis 1"),
        ("cumprod(a, 2)", &[2, 2], &[1], "`cumprod`: `sum_keep` along axis 2"),
        ("norm_keep(a, 1)", &[2], &[1], "`norm_keep` along axis 1"),
        (
            "maximum_axis(a, 0)",
            &[2],
            &[1],
            "`maximum_axis`: `argmax_axis` takes an array of two or more axes",
        ),
        (
            "maximum_axis(a, 1)",
            &[2, 0],
            &[1],
            "`maximum_axis`: `argmax_axis` of an array without elements",
        ),
        ("minimum_axis(a, 2)", &[2, 2], &[1], "`minimum_axis`: `argmin_axis` along axis 2"),
        (
            "gather_along(a, [0, 1], 0)",
            &[2, 3],
            &[1],
            "`gather_along` takes an array, and an index for each line along the axis",
        ),
        (
            "gather_along(a, [0, 1], 0)",
            &[2],
            &[1],
            "`gather_along` takes an array of two or more axes",
        ),
        (
            "scatter_along(a, b, [0, 1], 0)",
            &[3],
            &[2, 2],
            "`scatter_along` takes an element for each line along the axis",
        ),
        ("rand(3, [2, -1])", &[1], &[1], "a shape of [2, -1]"),
        ("randn(3, [1, -2])", &[1], &[1], "a shape of [1, -2]"),
        ("cumsum(a, -1)", &[2], &[1], "`cumsum` along axis -1"),
        (
            "drop_axis(a, 0)",
            &[2, 1],
            &[1],
            "`drop_axis` takes an array of two or more axes, of which that one has length 1",
        ),
        ("insert_axis(a, 3)", &[2], &[1], "`insert_axis` along axis 3"),
        ("diagonal(a)", &[2, 3], &[1], "`diagonal` takes a square matrix, given [2, 3]"),
        ("diagonal_matrix(a)", &[2, 2], &[1], "`diagonal_matrix` takes a vector"),
        ("tril(a, 0)", &[2], &[1], "`tril` takes a matrix"),
        (
            "convolve(a, b)",
            &[0],
            &[2],
            "`convolve` takes two vectors of at least one element, given [0] and [2]",
        ),
        (
            "correlate(a, b)",
            &[2],
            &[3],
            "`correlate` takes a vector and one of at least one element that is not longer",
        ),
        ("solve(a, b)", &[2, 3], &[2], "`solve` takes a square matrix, given [2, 3]"),
        ("solve(a, b)", &[2, 2], &[3], "given [2, 2] and [3]"),
        ("inv(a)", &[3], &[1], "`inv` takes a square matrix"),
        (
            "cofactors_along(a, b)",
            &[2, 2],
            &[2, 3],
            "`cofactors_along` takes two square matrices of one order, given [2, 2] and [2, 3]",
        ),
        ("cofactors(a)", &[3], &[1], "`cofactors` takes a square matrix"),
        ("full(det(a), [1])", &[2, 3], &[1], "`det` takes a square matrix"),
        ("full(1.0, [-2])", &[1], &[1], "a shape of [-2]: expected lengths of at least 0"),
        ("cholesky(a)", &[2], &[1], "`cholesky` takes a square matrix"),
        ("expm(a)", &[2], &[1], "`expm` takes a square matrix"),
        (
            "qr(a)",
            &[2, 3],
            &[1],
            "`qr` takes a matrix with at least as many rows as columns, given [2, 3]",
        ),
        (
            "lstsq(a, b)",
            &[3],
            &[3],
            "`lstsq` takes a matrix m x n and a vector of m or a matrix m x k, given [3] and [3]",
        ),
        ("lstsq(a, b)", &[3, 2], &[6], "given [3, 2] and [6]"),
        ("pinv(a)", &[3], &[1], "`pinv` takes a matrix, given [3]"),
        ("solve_lower(a, b)", &[2, 3], &[2], "`solve_lower` takes a square matrix, given [2, 3]"),
        (
            "solve_upper(a, b)",
            &[2, 2],
            &[3],
            "`solve_upper` takes a matrix n x n and a vector of n",
        ),
        (
            "expm_along(a, b)",
            &[2, 2],
            &[4],
            "`expm_along` takes two square matrices of one order, given [2, 2] and [4]",
        ),
        ("svd(a)", &[3], &[1], "`svd` takes a matrix, given [3]"),
        (
            "svd_along(a, b)",
            &[2, 3],
            &[3, 2],
            "`svd_along` takes two matrices of one shape, given [2, 3] and [3, 2]",
        ),
        (
            "eigen_along(a, b)",
            &[2, 2],
            &[4],
            "`eigen_along` takes two square matrices of one order, given [2, 2] and [4]",
        ),
        ("simple(a, 0)", &[3], &[1], "`simple` takes a matrix, given [3]"),
        (
            "spectral(a, a, a, b, b)",
            &[2, 2],
            &[2],
            "`spectral` takes two matrices n x n, one (n + 1) x n and two vectors of n, given [2, 2] and [2, 2] and [2, 2] and [2] and [2]",
        ),
        ("eigvalsh(a)", &[2, 3], &[1], "`eigvalsh`: `eigen` takes a square matrix"),
        ("sort(a)", &[2, 2], &[1], "`sort`: `argsort` takes a vector, given [2, 2]"),
        ("step(a, b)", &[2], &[3], "`step` takes arrays"),
        ("full(maximum(a), [1])", &[0], &[1], "`maximum`: `argmax` of an array without elements"),
        (
            "full(a[1, 2], [1])",
            &[2, 2],
            &[1],
            "`ravel_multi_index`: the element at [1, 2] of an array of shape [2, 2]",
        ),
        ("full(a[1], [1])", &[1], &[1], "index 1 of an array of 1 elements"),
        ("prod_pairs(a, b)", &[2], &[3], "`prod_pairs` takes two arrays of one shape"),
        (
            "full(dim(a, 1).real(), [1])",
            &[2],
            &[1],
            "`dim` along axis 1 of an array of shape [2]: expected 0",
        ),
        (
            "unpermute(a, [0, 0])",
            &[2, 2],
            &[1],
            "`unpermute`: the axes [0, 0] of an array of shape [2, 2]",
        ),
        ("triu(a, 0)", &[2], &[1], "`triu` takes a matrix"),
        ("reverse_cumsum(a, 1)", &[2], &[1], "`reverse_cumsum` along axis 1"),
        ("logsumexp_keep(a, 1)", &[2], &[1], "`logsumexp_keep`: `shift_keep` along axis 1"),
        (
            "matvec(a, b)",
            &[2, 3],
            &[4],
            "`matvec`: `matmul` takes matrices m x k and k x n, given [2, 3] and [4, 1]",
        ),
        ("kron(a, b)", &[2, 2], &[4], "`kron`: `dim` along axis 1 of an array of shape [4]"),
        ("softmax(a, 1)", &[2], &[1], "`softmax` along axis 1"),
        ("full(minimum(a), [1])", &[0], &[1], "`argmin` of an array without elements"),
        ("full(logabsdet(a), [1])", &[2, 3], &[1], "`logabsdet` takes a square matrix"),
        ("full(signdet(a), [1])", &[2, 3], &[1], "`signdet` takes a square matrix"),
        (
            "solve_adjoint(a, b)",
            &[2, 2],
            &[3],
            "`solve_adjoint` takes a matrix n x n and a vector of n",
        ),
        (
            "einsum(a, b, [0, 1], [1, 2], [0, 2])",
            &[2, 3],
            &[2, 3],
            "`einsum` takes axes of one length for each label, given [2, 3] and [2, 3]",
        ),
        (
            "contract(a, b, [0, 0, 0, 1, 1])",
            &[2, 2],
            &[2, 2],
            "`contract` of arrays of 2 and 2 axes with the labels [0, 0, 0, 1, 1]: expected a label for each axis",
        ),
        (
            "einsum(a, b, [0, 0], [0, 1], [1])",
            &[2, 2],
            &[2, 2],
            "`einsum` of arrays of 2 and 2 axes with the labels [0, 0], [0, 1], [1]: expected a label for each axis",
        ),
        // Lists that would fit if they were one: an outer product, a product of matrices.
        (
            "einsum(a, b, [0, 1], [0], [1])",
            &[3],
            &[3],
            "`einsum` of arrays of 1 and 1 axes with the labels [0, 1], [0], [1]: expected a label for each axis",
        ),
        (
            "einsum(a, b, [0], [1, 1, 2], [0, 2])",
            &[2, 2],
            &[2, 2],
            "`einsum` of arrays of 2 and 2 axes with the labels [0], [1, 1, 2], [0, 2]: expected a label for each axis",
        ),
        (
            "einsum(a, b, [0, 1], [1, 2], [3])",
            &[2, 2],
            &[2, 2],
            "at least one label for the result, and none that no factor has",
        ),
        (
            "contract_first(a, b, a, [0, 1, 1, 2])",
            &[2],
            &[2],
            "`contract_first` of arrays of 1 and 1 axes with the labels [0, 1, 1, 2]",
        ),
        (
            "contract_second(a, b, a, [0, 0, 0])",
            &[2],
            &[3],
            "`contract_second` takes axes of one length for each label, given [2] and [3] and [2]",
        ),
    ];
    for (body, a, b, expected) in cases {
        let found = message(body, a, b);
        if !found.contains(expected) || !found.starts_with("2:") {
            wrong.push(format!("{body}: {found}\nexpected {expected}"));
        }
        // Known shapes are told in the same words before it runs; what needs the elements is not. A
        // product of which only the trace is asked is not computed, but its shapes are those of a
        // product.
        let later = [
            "`trace_product`",
            "`argmax`",
            "`argmin`",
            "index 1",
            "a shape of",
            "`contract_first`",
            "`contract_second`",
        ];
        let early = (!later.iter().any(|op| expected.contains(op))).then_some(found);
        let foretold = foretold(body, a, b).filter(|_| !expected.contains("`trace_product`"));
        if foretold != early {
            wrong.push(format!("{body}: before it runs {foretold:?}, expected {early:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));

    // Each operation of the table that asks something of its operands' shapes is named by one of
    // them. The others take any, and `count` gives the lengths instead.
    let takes_any = [
        "count",
        "shape",
        "reshape_like",
        "prod",
        "exclusive_prod",
        "norm",
        "shift",
        "rand",
        "randn",
        "fft",
        "fft_back",
    ];
    let named =
        |op: &&str| cases.iter().any(|(.., expected)| expected.contains(&format!("`{op}`")));
    let missing: Vec<&str> =
        ArrayOp::ALL.iter().map(|op| op.name()).filter(|op| !named(op)).collect();
    assert_eq!(missing, takes_any);
}

#[test]
fn products_too_large_to_hold_are_refused_beforehand() {
    // A column times a row, and an outer product by labels: 10^10 elements.
    for body in ["matmul(a, b)", "einsum(drop_axis(a, 1), drop_axis(b, 0), [0], [1], [0, 1])"] {
        let found = message(body, &[100_000, 1], &[1, 100_000]);
        assert!(found.contains("a shape of [100000, 100000]"), "{found}");
    }
}

#[test]
fn matrices_without_a_result() {
    // [[1, 2, 3], …] counts up, so its rows lie in a plane.
    let singular = message("inv(a - a)", &[2, 2], &[1]);
    assert!(
        singular.contains("`inv`: the matrix is singular: no pivot in column 0 of 2"),
        "{singular}"
    );
    let singular = message("solve_upper(triu(a, 1), b)", &[2, 2], &[2]);
    assert!(
        singular.contains("`solve_upper`: the matrix is singular: no pivot in column 0 of 2"),
        "{singular}"
    );
    let undefined = message("lstsq(a / 0.0, b)", &[2, 2], &[2]);
    assert!(undefined.contains("`lstsq` does not converge"), "{undefined}");
    let negative = message("cholesky(-a)", &[2, 2], &[1]);
    assert!(
        negative.contains("the square of diagonal element 0 of 2 is not positive"),
        "{negative}"
    );
    let undefined = message("expm(a / 0.0)", &[2, 2], &[1]);
    assert!(
        undefined
            .contains("`expm` does not converge: has the matrix infinite or undefined elements?"),
        "{undefined}"
    );
    let infinite = message("eigvalsh(a / 0.0)", &[2, 2], &[1]);
    assert!(infinite.contains("`eigen` does not converge"), "{infinite}");
    let infinite = message("svdvals(a / 0.0)", &[2, 3], &[1]);
    assert!(infinite.contains("`svd` does not converge"), "{infinite}");
}

#[test]
fn kinds_that_do_not_fit_are_found_in_the_text() {
    for (source, expected) in [
        (
            "fn f(a: array) { matmul(a, 2.0) }",
            "expected (array, array) of one kind of number, given (array<real>, real)",
        ),
        ("fn f(a: array, n: int) { a + n }", "expected int, given array<real>"),
        ("fn f(a: array<int>) { sin(a) }", "array<int>"),
        ("fn f(a: array<complex>) { logsumexp(a) }", "expected array<real>, given array<complex>"),
        (
            "fn f(a: array) { if a > 0 { 1.0 } else { sum(a) } }",
            "expected bool, given array<real>: arrays are compared element by element, which gives 1 and 0",
        ),
        ("fn f(x) { x[0, 1] }", "expected an array, given real"),
        ("fn f(a: array) { reshape(a, 2) }", "expected array<int>, given int"),
    ] {
        let found = parse_program(source).unwrap_err()[0].to_string();
        assert!(found.contains(expected), "{source}: {found}");
    }
}

#[test]
fn shapes_that_are_known_are_checked_when_a_program_is_read() {
    let first = |source: &str| {
        parse_program(source).map(|_| String::new()).unwrap_or_else(|e| e[0].to_string())
    };
    let add = "`add` takes arrays whose shapes are equal or 1 along each axis, counted from the last, given";
    for (source, expected) in [
        (
            "fn f() -> array { [[1.0, 2.0], [3.0, 4.0]] + full(1.0, [3]) }",
            format!("1:44: {add} [2, 2] and [3]"),
        ),
        // Through variables, calls, tuples and structs.
        (
            "fn g(x: array) -> array { x + [1.0, 2.0] }\nfn f() -> array { let y = [1.0, 2.0, 3.0]; g(y) }",
            format!("1:29: {add} [3] and [2]"),
        ),
        (
            "struct P { n: int, x: array } fn f() -> array { let p = P { n: 1, x: eye(2) }; let q = (p, 1.0); q.0.x + eye(3) }",
            format!("1:104: {add} [2, 2] and [3, 3]"),
        ),
        // With lengths that are computed, on both arms, and after a loop that keeps the shape.
        (
            "fn f(c: bool) -> array { let n = 2 * 2 - 1; let mut x = full(1.0, [n, n + 1]); if c { x = transpose(transpose(x)); } for i in 0..3 { x = 2 * x; x[0] = 1.0; } x + eye(n) }",
            format!("1:161: {add} [3, 4] and [3, 3]"),
        ),
        // What is not known is checked when it runs.
        ("fn f(x: array) -> array { x + [1.0, 2.0] }", String::new()),
        (
            "fn f(n: int) -> array { let mut x = [1.0]; for i in 0..n { x = concat(x, x, 0); } x + [1.0, 2.0, 3.0] }",
            String::new(),
        ),
        (
            "fn f(c: bool) -> array { let x = if c { [1.0, 2.0] } else { [1.0, 2.0, 3.0] }; x + [1.0, 2.0] }",
            String::new(),
        ),
        // A branch that is not taken is not looked at; neither is a recursion that ends.
        (
            "fn g(x: array) -> array { if len(x) == 3 { x + [1.0, 2.0, 3.0] } else { x } } fn f() -> array { g([1.0, 2.0]) }",
            String::new(),
        ),
        (
            "fn g(x: array, n: int) -> array { if n == 0 { x } else { g(concat(x, x, 0), n - 1) } } fn f() -> array { g([1.0], 40) + [1.0, 2.0] }",
            String::new(),
        ),
    ] {
        assert_eq!(first(source), expected, "{source}");
    }
    // All of them, not the first alone.
    let errors =
        parse_program("fn f() {\n  sum(eye(2) + eye(3))\n}\nfn g() {\n  dot([1.0], [1.0, 2.0])\n}")
            .unwrap_err();
    let lines: Vec<u32> = errors.iter().map(|e| e.at.line).collect();
    assert_eq!(lines, [2, 5]);
}

/// Elements that were not chosen have no part in derivatives, where another language gives NaN.
#[test]
fn what_is_not_chosen_does_not_count() {
    let program =
        parse_program("fn f(x: array) { sum(masked(step(x, 0), sqrt(x) + 1 / x, x * x)) }")
            .unwrap();
    let mut f = Derivatives::<f64>::new(&program, "f").unwrap();
    let x = [Datum::reals([4.0, -1.0, -9.0])];
    let (value, gradient) = f.value_and_gradient(&x).unwrap();
    assert_eq!((value, &gradient[0]), (84.25, &Datum::reals([0.25 - 0.0625, -2.0, -18.0])));
    let tangent = [Datum::reals([1.0, 1.0, 1.0])];
    assert_eq!(f.jvp(&x, &tangent).unwrap().1, Datum::Real(0.1875 - 20.0));
}
