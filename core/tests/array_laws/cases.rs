//! Functions of arrays with every operation of the table, and shapes to try them on.

use support::random::Rng;

use super::laws::{Case, Shapes};

const PLAIN: Case = Case { source: "", shapes: &[], complex: true, shift: 0.0, diagonal: false };

const fn case(source: &'static str, shapes: Shapes) -> Case {
    Case { source, shapes, ..PLAIN }
}
const fn real(source: &'static str, shapes: Shapes) -> Case {
    Case { source, shapes, complex: false, ..PLAIN }
}
const fn shifted(shift: f64, source: &'static str, shapes: Shapes) -> Case {
    Case { source, shapes, shift, ..PLAIN }
}
/// With square matrices whose diagonal is great.
const fn dominant(shift: f64, source: &'static str, shapes: Shapes) -> Case {
    Case { source, shapes, shift, diagonal: true, ..PLAIN }
}

const PAIRS: Shapes = &[
    &[&[3], &[3]],
    &[&[2, 3], &[3]],
    &[&[3], &[2, 3]],
    &[&[2, 1], &[3]],
    &[&[1], &[2, 2]],
    &[&[2, 1, 2], &[3, 1]],
    &[&[1], &[1]],
    &[&[0], &[0]],
    &[&[0], &[1]],
    &[&[2, 0], &[1, 1]],
];
const ANY: Shapes = &[&[&[5]], &[&[2, 3]], &[&[2, 1, 3]], &[&[1]], &[&[0]], &[&[0, 2]]];
const MATRICES: Shapes = &[&[&[2, 3]], &[&[3, 3]], &[&[1, 1]], &[&[2, 2, 3]], &[&[0, 2]]];
const SQUARE: Shapes = &[&[&[3, 3]], &[&[1, 1]], &[&[4, 4]]];
const TALL: Shapes = &[&[&[3, 3]], &[&[1, 1]], &[&[4, 2]], &[&[5, 1]]];
const VECTORS: Shapes = &[&[&[4]], &[&[1]]];
const SAME: Shapes = &[&[&[4], &[4]], &[&[2, 3], &[2, 3]], &[&[9], &[9]], &[&[0], &[0]]];

pub(crate) const CASES: &[Case] = &[
    case("fn f(a: {k}, b: {k}) { a + b }", PAIRS),
    case("fn f(a: {k}, b: {k}) { a - b * a }", PAIRS),
    case("fn f(a: {k}, b: {k}) { exp(a) * sin(b) + 2.0 }", PAIRS),
    shifted(3.0, "fn f(a: {k}, b: {k}) { a / b }", PAIRS),
    shifted(3.0, "fn f(a: {k}, b: {k}) { pow(a, b) - sqrt(a) }", PAIRS),
    case("fn f(a: {k}) { tanh(-a) * 0.5 + powi(a, 3) }", ANY),
    case("fn f(a: {k}) { let s = a[0]; s * a - a / (2.0 + s * s) }", &[&[&[3]], &[&[2, 2]]]),
    case("fn f(a: {k}) { sum(abs2(a)) * abs(a) + re(a) }", ANY),
    real("fn f(a: {k}, b: {k}) { max(a, b) * min(a, 0.25) + abs(a - b) }", PAIRS),
    real(
        "fn f(a: {k}, b: {k}) { atan2(a, b) + hypot(a, b) + step(a, b) * b + step(0.0, a) * a }",
        PAIRS,
    ),
    case("fn f(a: {k}) { sum(a * a) * a }", ANY),
    case(
        "fn f(a: {k}) { let mut b = a * 2.0; b[0] = a[1]; b[1] += sum(a); b * b }",
        &[&[&[3]], &[&[2, 2]]],
    ),
    case(
        "fn f(a: {k}) { let mut b = a; b[1, 0] = a[0, 1] * a[0, 1]; b * b[0, 0] }",
        &[&[&[2, 2]], &[&[2, 3]]],
    ),
    // Shapes.
    case(
        "fn f(a: {k}) { reshape(a, [-1, 2]) * reshape(a, [2, -1])[0, 1] }",
        &[&[&[2, 2]], &[&[8]]],
    ),
    case(
        "fn f(a: {k}) { let b = insert_axis(a, 1); b * drop_axis(insert_axis(a, 0), 0) }",
        &[&[&[3]], &[&[2, 2]]],
    ),
    case("fn f(a: {k}) { transpose(a * a) }", MATRICES),
    case(
        "fn f(a: {k}) { permute(a, [2, 0, 1]) + unpermute(a * a, [1, 2, 0]) }",
        &[&[&[2, 2, 2]], &[&[3, 3, 3]]],
    ),
    case(
        "fn f(a: {k}) { slice(a, 0, 1, 2) * slice(a * a, 0, 0, 2) }",
        &[&[&[3]], &[&[4, 2]], &[&[3, 1, 2]]],
    ),
    // Parts read in place, by several operations at once, repeated, and over more than one
    // stretch.
    case(
        "fn f(a: {k}) { let u = slice(a, 1, 1, 2) - slice(a, 1, 0, 2) * slice(a, 1, 0, 2); (u - 3) * (u - 0.5 * u) }",
        &[&[&[2, 3]], &[&[1, 4, 2]]],
    ),
    case(
        "fn f(a: {k}) { slice(a, 1, 1, 1) * (a - slice(a, 1, 0, 1)) }",
        &[&[&[2, 3]], &[&[301, 2]]],
    ),
    case(
        "fn f(a: {k}) { slice(a, 0, 1, 600) * slice(a, 0, 0, 600) - 2 * slice(a, 0, 1, 600) }",
        &[&[&[601]], &[&[601, 2]]],
    ),
    // Enough elements for results to take the place of operands.
    case(
        "fn f(a: {k}, b: {k}) { let u = a * b; let v = exp(u) - a; sin(v * v) * (v + u) + v * b * sum(u * v) / 1e4 }",
        &[&[&[5000], &[5000]], &[&[70, 60], &[60]], &[&[4096], &[1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { pad(a * a, b, 1, 1) * b }",
        &[&[&[2, 2], &[2, 4]], &[&[2, 0], &[2, 1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { dynamic_update_slice(a * a, b, 1, 1) * b }",
        &[&[&[2, 2], &[2, 4]], &[&[2, 0], &[2, 1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { dynamic_update_slice(a, b * b, 0, 2) * b }",
        &[&[&[1], &[3]], &[&[2, 2], &[4, 2]]],
    ),
    case(
        "fn f(a: {k}) { with_row(a * a, row(a, 1) * row(a, 0), 0) }",
        &[&[&[2, 3]], &[&[3, 2, 2]]],
    ),
    // Rows that depend on those before them.
    case(
        "fn f(a: {k}) { let mut x = a; for i in 1..dim(a, 0) { x = with_row(x, row(x, i) * row(x, i - 1), i); } x }",
        &[&[&[4, 2]], &[&[3, 2, 1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { masked(step(re(a), re(b)), a * b, 0.5 * b) + masked(step(0.2, re(a)), 3, a) }",
        &[&[&[4], &[4]], &[&[2, 3], &[3]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { concat(a, b * b, 0) }",
        &[&[&[2], &[3]], &[&[2, 2], &[1, 2]], &[&[0], &[1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { concat(a * a, b, 1) }",
        &[&[&[2, 2], &[2, 1]], &[&[2, 3, 1], &[2, 1, 1]]],
    ),
    case("fn f(a: {k}) { let i = [2, 0, 2]; gather(a * a, i) }", &[&[&[3]], &[&[3, 2]]]),
    case(
        "fn f(a: {k}, b: {k}) { let i = [1, 0, 1]; scatter(a * a, b, i) * b }",
        &[&[&[3], &[4]], &[&[3, 2], &[2, 2]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { broadcast_to(a * a, b) + sum_like(b * b, a) }",
        &[&[&[3], &[2, 3]], &[&[2, 1], &[2, 2]], &[&[1], &[3]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { broadcast_to(a * a, shape(b)) + sum_like(b * b, shape(a)) }",
        &[&[&[3], &[2, 3]], &[&[2, 1], &[2, 2]], &[&[1], &[3]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { pad(a * a, shape(b), 1, 1) * b }",
        &[&[&[2, 2], &[2, 4]], &[&[2, 0], &[2, 1]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { reshape_like(a * a, shape(b)) + b }",
        &[&[&[4], &[2, 2]], &[&[2], &[3]], &[&[2, 3], &[2]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { reshape_like(a * a, b) + b }",
        &[&[&[4], &[2, 2]], &[&[2], &[3]], &[&[2, 3], &[2]]],
    ),
    case("fn f(a: {k}) { tril(a * a, 0) + triu(a, 1) - tril(a, -1) }", MATRICES),
    case("fn f(a: {k}) { diagonal_matrix(diagonal(a * a)) * a }", SQUARE),
    case("fn f(a: {k}) { [row(a, 1) * row(a, 0), row(a, 0)] }", &[&[&[2, 3]], &[&[3, 2, 2]]]),
    case("fn f(a: {k}) { let x = sum(a); [[x, x * x], [a[0], 1.0]] }", &[&[&[3]]]),
    case(
        "fn f(a: {k}) { full(a[0] * a[1], [2, 2]) * a[0] + full(2, shape(a)) }",
        &[&[&[2]], &[&[2, 2]]],
    ),
    case("fn f(a: {k}) { a * dim(a, 0).real() + real(len(a)) }", ANY),
    // Reductions.
    case("fn f(a: {k}) { sum_keep(a * a, 0) * a }", ANY),
    case(
        "fn f(a: {k}) { sum_axis(a * a, 1) + mean_axis(a, 1) }",
        &[&[&[2, 3]], &[&[2, 1]], &[&[2, 3, 2]]],
    ),
    case(
        "fn f(a: {k}) { a * sum(complex(re(a), re(a) * 2) * complex(1, 2)) }",
        &[&[&[3]], &[&[2, 2]]],
    ),
    case("fn f(a: {k}) { a * mean(a) + norm(a) }", &[&[&[3]], &[&[2, 2]], &[&[1]]]),
    case("fn f(a: {k}) { cumsum(a * a, 0) * reverse_cumsum(a, 0) }", ANY),
    // Along an axis.
    case("fn f(a: {k}) { flip(a * a, 0) * a }", ANY),
    case("fn f(a: {k}) { flip(a * a, 1) - flip(a, 0) }", &[&[&[2, 3]], &[&[2, 3, 2]], &[&[2, 0]]]),
    case("fn f(a: {k}) { cumprod(a, 0) * a }", ANY),
    case("fn f(a: {k}) { cumprod(a * a, 1) }", &[&[&[2, 3]], &[&[2, 3, 2]], &[&[2, 0]]]),
    case("fn f(a: {k}) { prod_axis(a, 1) }", &[&[&[2, 3]], &[&[2, 1]], &[&[2, 3, 2]], &[&[2, 0]]]),
    case(
        "fn f(a: {k}, b: {k}) { linear_recurrence(a, b * b, 0) }",
        &[&[&[4], &[4]], &[&[3, 2], &[3, 2]], &[&[0], &[0]], &[&[1, 2, 2], &[1, 2, 2]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { linear_recurrence(a, b, 1) }",
        &[&[&[2, 3], &[2, 3]], &[&[2, 3, 2], &[2, 3, 2]]],
    ),
    case("fn f(a: {k}) { a * var(a) + norm_axis([a, a * a], 1)[0] * std(a * a) }", VECTORS),
    case("fn f(a: {k}) { var_axis(a, 1) * std_axis(a, 1) }", &[&[&[2, 3]], &[&[2, 3, 2]]]),
    case(
        "fn f(a: {k}) { norm_axis(a * a, 0) + norm_axis(a, 0) }",
        &[&[&[2, 3]], &[&[2, 3, 2]], &[&[1, 2]]],
    ),
    case(
        "fn f(a: {k}) { let k = [1, 0]; gather_along(a * a, k, 1) * gather_along(a, k, 1) }",
        &[&[&[2, 3]], &[&[2, 2]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { let k = [1, 0]; scatter_along(a * a, b, k, 0) * b }",
        &[&[&[2], &[3, 2]], &[&[2], &[2, 2]]],
    ),
    real(
        "fn f(a: {k}) { maximum_axis(a, 1) * minimum_axis(a * a, 1) }",
        &[&[&[2, 3]], &[&[2, 1]], &[&[2, 3, 2]]],
    ),
    real("fn f(a: {k}) { norm_keep(a * a, 0) * a }", &[&[&[3]], &[&[2, 3]], &[&[2, 3, 2]]]),
    real("fn f(a: {k}) { log_softmax(a * 2.0, 0) * a }", &[&[&[4]], &[&[3, 2]], &[&[1]]]),
    case("fn f(a: {k}) { prod(a) * a }", ANY),
    case("fn f(a: {k}) { exclusive_prod(a) + prod_pairs([0.5, 2.0, -1.0], a) }", &[&[&[3]]]),
    case("fn f(a: {k}) { prod_pairs(a, a * a) }", &[&[&[4]], &[&[2, 2]], &[&[1]], &[&[0]]]),
    real("fn f(a: {k}) { maximum(a) * minimum(a) * sort(a) }", VECTORS),
    real("fn f(a: {k}) { logsumexp(a * 3.0) + a }", &[&[&[4]], &[&[2, 3]], &[&[1]]]),
    real(
        "fn f(a: {k}) { logsumexp_keep(a * a, 0) + a }",
        &[&[&[4]], &[&[2, 3]], &[&[2, 3, 2]], &[&[1]]],
    ),
    // A constant by which exponents are lessened, whatever it is.
    real(
        "fn f(a: {k}) { sum(exp(a - shift(a))) * exp(shift(a)) + a }",
        &[&[&[4]], &[&[2, 3]], &[&[1]]],
    ),
    real("fn f(a: {k}) { logsumexp_axis(a * a, 1) }", &[&[&[2, 3]], &[&[2, 3, 2]]]),
    real("fn f(a: {k}) { softmax(a * 2.0, 0) * a }", &[&[&[4]], &[&[3, 2]], &[&[1]], &[&[0]]]),
    // Products.
    case("fn f(a: {k}, b: {k}) { dot(a, b) * a + dot(a, a) * b }", SAME),
    case(
        "fn f(a: {k}, b: {k}) { matmul(a, b) }",
        &[
            &[&[2, 3], &[3, 4]],
            &[&[1, 1], &[1, 1]],
            &[&[2, 0], &[0, 3]],
            &[&[2, 2, 3], &[3, 2]],
            &[&[2, 3], &[2, 3, 1]],
            &[&[9, 8], &[8, 9]],
            &[&[40, 2], &[2, 16]],
            &[&[40, 16], &[16, 1]],
            &[&[1, 16], &[16, 40]],
        ],
    ),
    case(
        "fn f(a: {k}, b: {k}) { matmul_nh(a, b) }",
        &[&[&[2, 3], &[4, 3]], &[&[2, 2, 3], &[1, 2, 3]], &[&[9, 8], &[9, 8]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { matmul_hn(a, b) }",
        &[&[&[3, 2], &[3, 4]], &[&[2, 3, 2], &[3, 2]], &[&[8, 9], &[8, 9]]],
    ),
    case("fn f(a: {k}, b: {k}) { matvec(a, b) }", &[&[&[2, 3], &[3]], &[&[1, 1], &[1]]]),
    case(
        "fn f(a: {k}, b: {k}) { trace(matmul(a, b)) * a }",
        &[&[&[2, 3], &[3, 2]], &[&[1, 1], &[1, 1]]],
    ),
    case("fn f(a: {k}) { trace(a * a) * a }", SQUARE),
    case("fn f(a: {k}, b: {k}) { outer(a, b) }", &[&[&[2], &[3]], &[&[0], &[2]], &[&[1], &[1]]]),
    case("fn f(a: {k}, b: {k}) { kron(a, b) }", &[&[&[2, 2], &[3, 1]], &[&[1, 2], &[2, 2]]]),
    case(
        "fn f(a: {k}, b: {k}) { einsum(a, b, [0, 1], [1, 2], [2, 0]) }",
        &[&[&[2, 3], &[3, 4]], &[&[0, 2], &[2, 1]], &[&[2, 0], &[0, 2]]],
    ),
    // What one factor has alone is summed or stays.
    case(
        "fn f(a: {k}, b: {k}) { einsum(a * a, b, [7, 3, -1], [3, 5, 7], [5, 7]) }",
        &[&[&[2, 3, 2], &[3, 2, 2]], &[&[1, 2, 3], &[2, 1, 1]], &[&[2, 1, 0], &[1, 2, 2]]],
    ),
    // A site of a matrix product state between two environments.
    case(
        "fn f(a: {k}, b: {k}) { einsum(einsum(a, b, [0, 1], [1, 2, 3], [0, 2, 3]), b, [0, 2, 3], [0, 2, 4], [3, 4]) }",
        &[&[&[2, 2], &[2, 3, 2]], &[&[1, 1], &[1, 2, 3]]],
    ),
    case(
        "fn f(a: {k}, b: {k}) { let l = [0, 1, 1, 0, 0]; contract_first(a, b, b, l) + contract_second(b, a, b, l) }",
        &[&[&[2], &[2, 2]], &[&[3], &[3, 3]]],
    ),
    case("fn f(a: {k}, b: {k}) { convolve(a, b) }", &[&[&[4], &[2]], &[&[1], &[1]], &[&[2], &[3]]]),
    case(
        "fn f(a: {k}, b: {k}) { correlate(a, b) }",
        &[&[&[4], &[2]], &[&[1], &[1]], &[&[3], &[3]]],
    ),
    // Linear algebra.
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { solve(a, b) }",
        &[&[&[3, 3], &[3]], &[&[3, 3], &[3, 2]], &[&[1, 1], &[1]]],
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { solve_adjoint(a, b) }",
        &[&[&[3, 3], &[3]], &[&[2, 2], &[2, 3]]],
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { solve_lower(a, b) }",
        &[&[&[3, 3], &[3]], &[&[2, 2], &[2, 3]]],
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { solve_upper(a, b) }",
        &[&[&[3, 3], &[3]], &[&[2, 2], &[2, 3]]],
    ),
    dominant(2.0, "fn f(a: {k}) { inv(a) }", SQUARE),
    dominant(2.0, "fn f(a: {k}) { cofactors(a) }", SQUARE),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { cofactors_along(a, b * b) }",
        &[&[&[3, 3], &[3, 3]], &[&[1, 1], &[1, 1]], &[&[2, 2], &[2, 2]], &[&[4, 4], &[4, 4]]],
    ),
    dominant(2.0, "fn f(a: {k}) { pinv(a) }", &[&[&[3, 2]], &[&[2, 3]], &[&[1, 1]], &[&[2, 2]]]),
    // Of rank 2.
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { pinv(matmul(a, b)) }",
        &[&[&[3, 2], &[2, 4]], &[&[3, 2], &[2, 3]]],
    ),
    dominant(2.0, "fn f(a: {k}) { det(a) * a }", SQUARE),
    dominant(2.0, "fn f(a: {k}) { logabsdet(a) * a }", SQUARE),
    dominant(2.0, "fn f(a: {k}) { cholesky(matmul_nh(a, a)) }", SQUARE),
    dominant(
        4.0,
        "fn f(a: {k}) { cholesky(a + transpose(conj_(a))) }
        fn conj_(a: {k}) { {c} }",
        SQUARE,
    ),
    dominant(2.0, "fn f(a: {k}) { qr(a) }", TALL),
    dominant(
        2.0,
        "fn f(a: {k}) { matmul(qr_r(a * a), a) + matmul_hn(qr_q(a), qr_q(a * a)) }",
        SQUARE,
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { lstsq(a, b) }",
        &[
            &[&[4, 2], &[4]],
            &[&[3, 3], &[3, 2]],
            &[&[5, 3], &[5, 1]],
            &[&[2, 4], &[2]],
            &[&[1, 3], &[1, 2]],
        ],
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { lstsq(matmul(a, b), matmul(a, a)) }",
        &[&[&[2, 2], &[2, 4]], &[&[1, 1], &[1, 2]]],
    ),
    dominant(
        2.0,
        "fn f(a: {k}, b: {k}) { lstsq(matmul(a, b), a) }",
        &[&[&[4, 2], &[2, 3]], &[&[3, 1], &[1, 2]]],
    ),
    dominant(
        2.0,
        "fn f(a: {k}) { let q = qr_q(a); matmul_hn(q, a * a) - qr_r(a) }",
        &[&[&[2, 3]], &[&[1, 4]], &[&[3, 2]]],
    ),
    dominant(2.0, "fn f(a: {k}) { signdet(a) * a }", SQUARE),
    case("fn f(a: {k}) { svdvals(a) }", &[&[&[3, 2]], &[&[2, 4]], &[&[3, 3]], &[&[1, 1]]]),
    // The phases of singular vectors are free, but the same for both of a pair.
    case("fn f(a: {k}) { abs2(svd(a)) }", &[&[&[3, 2]], &[&[2, 4]], &[&[3, 3]], &[&[1, 1]]]),
    case(
        "fn f(a: {k}) { let u = svd_u(a) * [1.0, 2.0]; matmul_nh(u, svd_v(a)) * sum(svdvals(a)) }",
        &[&[&[3, 2]], &[&[2, 4]], &[&[2, 2]]],
    ),
    case("fn f(a: {k}) { eigvalsh(a) }", SQUARE),
    // The phases of eigenvectors are free: only what does not depend on them has a derivative.
    case("fn f(a: {k}) { let v = eigvecsh(a); abs2(v) }", SQUARE),
    case("fn f(a: {k}) { let v = eigvecsh(a); matmul_nh(v * exp(0.5 * eigvalsh(a)), v) }", SQUARE),
    // What their second operand chooses carries no derivative by it.
    case("fn f(a: {k}) { abs2(eigen_along(a, eye(3) * 1.0)) }", &[&[&[3, 3]]]),
    case("fn f(a: {k}) { abs2(svd_along(a, full(1.0, [3, 2]))) }", &[&[&[3, 2]]]),
    case("fn f(a: {k}) { abs2(simple(svd(a), 1)) }", &[&[&[3, 2]], &[&[3, 3]]]),
    case("fn f(a: {k}) { expm(a * 2.0) }", SQUARE),
    case(
        "fn f(a: {k}, b: {k}) { expm_along(a * 2.0, b) }",
        &[&[&[3, 3], &[3, 3]], &[&[1, 1], &[1, 1]]],
    ),
    case("fn f(a: {k}) { a * sum(eye(3)) }", VECTORS),
];

/// Lengths for several axes.
fn lengths(rng: &mut Rng, axes: usize, least: usize) -> Vec<usize> {
    (0..axes).map(|_| rng.between(least, 3)).collect()
}

/// A shape that broadcasts to the given one.
fn narrower(rng: &mut Rng, to: &[usize]) -> Vec<usize> {
    let lost = rng.between(0, to.len() - 1);
    to[lost..].iter().map(|&n| if rng.between(0, 2) == 0 { 1 } else { n }).collect()
}

/// Shapes of the arguments drawn for a case; `None` where the listed ones must do.
pub(crate) fn drawn(case: &Case, rng: &mut Rng) -> Option<Vec<Vec<usize>>> {
    let called = |name: &str| case.source.contains(name);
    // Long enough for products in blocks now and then.
    let long =
        |rng: &mut Rng| if rng.between(0, 3) == 0 { rng.between(8, 11) } else { rng.between(0, 3) };
    let rank = rng.between(1, 4);
    Some(if case.shapes == PAIRS {
        let to = lengths(rng, rank, 0);
        vec![narrower(rng, &to), narrower(rng, &to)]
    } else if case.shapes == ANY {
        vec![lengths(rng, rank, 0)]
    } else if case.shapes == SAME {
        vec![lengths(rng, rank, 0); 2]
    } else if case.shapes == MATRICES {
        vec![lengths(rng, rank + 1, 0)]
    } else if case.shapes == SQUARE && !called("eig") {
        vec![vec![rng.between(1, 5); 2]]
    } else if case.shapes == VECTORS {
        vec![vec![rng.between(1, 9)]]
    } else if called("permute(") {
        vec![lengths(rng, 3, 0)]
    } else if called("broadcast_to(") {
        let to = lengths(rng, rank, 0);
        vec![narrower(rng, &to), to]
    } else if called("reshape_like(") {
        vec![lengths(rng, rank, 0), lengths(rng, 2, 0)]
    } else if called("concat(a, b * b, 0)") {
        let mut shapes = vec![lengths(rng, rank, 0); 2];
        shapes[1][0] = rng.between(0, 3);
        shapes
    } else if called("_axis(") {
        vec![lengths(rng, rank + 1, 1)]
    } else if called("logsumexp") || called("shift(") {
        vec![lengths(rng, rank, 1)]
    } else if called("{ matmul") {
        let (m, k, n) = (long(rng), long(rng), long(rng));
        let to = lengths(rng, rank, 0);
        let matrix = |rng: &mut Rng, x: usize, y: usize| {
            let stack = if rng.between(0, 1) == 0 { vec![] } else { narrower(rng, &to) };
            [stack, vec![x, y]].concat()
        };
        let (first, second) = (called("matmul_hn"), called("matmul_nh"));
        let a = if first { matrix(rng, k, m) } else { matrix(rng, m, k) };
        vec![a, if second { matrix(rng, n, k) } else { matrix(rng, k, n) }]
    } else if called("trace(matmul") {
        let (m, n) = (rng.between(1, 5), rng.between(1, 5));
        vec![vec![m, n], vec![n, m]]
    } else if called("matvec") {
        let (m, n) = (long(rng), long(rng));
        vec![vec![m, n], vec![n]]
    } else if called("outer") || called("kron") {
        let axes = if called("outer") { 1 } else { 2 };
        vec![lengths(rng, axes, 0), lengths(rng, axes, 0)]
    } else if called("[0, 1], [1, 2], [2, 0]") {
        let (m, k, n) = (long(rng), long(rng), long(rng));
        vec![vec![m, k], vec![k, n]]
    } else if called("[7, 3, -1]") {
        let l = lengths(rng, 4, 0);
        vec![vec![l[0], l[1], l[2]], vec![l[1], l[3], l[0]]]
    } else if called("convolve") || called("correlate") {
        let n = rng.between(1, 9);
        vec![vec![n + rng.between(0, 4)], vec![n]]
    } else if called("solve") {
        let n = rng.between(1, 5);
        let columns = rng.between(0, 3);
        vec![vec![n, n], vec![n, columns]]
    } else {
        return None;
    })
}
