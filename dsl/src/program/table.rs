//! The functions of the language, by what they take: for the readers in `native` and `staged`.

/// The functions of one number, of one real number and of two, with the ops of the table that they
/// are. They work on arrays element by element.
macro_rules! for_each_function {
    ($reader:ident) => {
        $reader! {
            number1 {
                recip Recip sqrt Sqrt cbrt Cbrt exp Exp exp_m1 ExpM1 ln Ln ln_1p Ln1p log2 Log2 log10 Log10 sin Sin
                cos Cos tan Tan asin Asin acos Acos atan Atan sinh Sinh cosh Cosh tanh Tanh asinh Asinh
                acosh Acosh atanh Atanh
            }
            real1 {
                sign Sign floor Floor ceil Ceil round Round trunc Trunc detach Detach
                erf Erf erfc Erfc lgamma Lgamma sigmoid Sigmoid softplus Softplus
            }
            real2 { atan2 Atan2 hypot Hypot ratio Ratio rem Rem logaddexp LogAddExp }
        }
    };
}

/// The functions of arrays: of one, two or three arrays of real or complex numbers, of real ones,
/// and of complex ones; what else they take, and what they give, where `Number` and `Array` are of
/// the elements' kind.
macro_rules! for_each_array_function {
    ($reader:ident) => {
        $reader! {
            one {
                transpose() -> Array; diagonal() -> Array; diagonal_matrix() -> Array; exclusive_prod() -> Array;
                inv() -> Array; cofactors() -> Array; pinv() -> Array; cholesky() -> Array; qr() -> Array; qr_q() -> Array; qr_r() -> Array;
                svd() -> Array; svd_along() -> Array; svd_u() -> Array; svd_v() -> Array;
                eigen() -> Array; eigen_along() -> Array; spectral() -> Array; eigvecsh() -> Array; expm() -> Array;
                reshape(shape: Ints) -> Array; insert_axis(axis: Int) -> Array; drop_axis(axis: Int) -> Array;
                permute(axes: Ints) -> Array; unpermute(axes: Ints) -> Array;
                slice(axis: Int, start: Int, len: Int) -> Array; gather(indices: Ints) -> Array; row(k: Int) -> Array;
                simple(k: Int) -> Array; tril(k: Int) -> Array; triu(k: Int) -> Array;
                sum_keep(axis: Int) -> Array; sum_axis(axis: Int) -> Array; mean_axis(axis: Int) -> Array;
                cumsum(axis: Int) -> Array; reverse_cumsum(axis: Int) -> Array;
                flip(axis: Int) -> Array; gather_along(indices: Ints, axis: Int) -> Array;
                prod_axis(axis: Int) -> Array; cumprod(axis: Int) -> Array;
                var() -> Real; std() -> Real;
                var_axis(axis: Int) -> Reals; std_axis(axis: Int) -> Reals; norm_axis(axis: Int) -> Reals;
                prod() -> Number; mean() -> Number; trace() -> Number; det() -> Number; signdet() -> Number;
                norm() -> Real; logabsdet() -> Real; eigvalsh() -> Reals; svdvals() -> Reals;
                // Earlier names.
                take(indices: Ints) -> Array; take_along(indices: Ints, axis: Int) -> Array; prod_others() -> Array; cumsum_back(axis: Int) -> Array;
            }
            two {
                matmul() -> Array; matmul_nh() -> Array; matmul_hn() -> Array; matvec() -> Array; outer() -> Array;
                kron() -> Array; convolve() -> Array; correlate() -> Array; solve() -> Array;
                solve_adjoint() -> Array; solve_lower() -> Array; solve_upper() -> Array; lstsq() -> Array;
                expm_along() -> Array; cofactors_along() -> Array; reshape_like() -> Array; sum_like() -> Array;
                prod_pairs() -> Array;
                concat(axis: Int) -> Array; pad(axis: Int, start: Int) -> Array;
                dynamic_update_slice(axis: Int, start: Int) -> Array; with_row(k: Int) -> Array; scatter(indices: Ints) -> Array;
                contract(labels: Ints) -> Array; einsum(first: Ints, second: Ints, result: Ints) -> Array;
                linear_recurrence(axis: Int) -> Array; scatter_along(indices: Ints, axis: Int) -> Array;
                dot() -> Number; trace_product() -> Number;
                // Earlier names.
                like() -> Array; embed(axis: Int, start: Int) -> Array; paste(axis: Int, start: Int) -> Array;
            }
            three {
                contract_first(labels: Ints) -> Array; contract_second(labels: Ints) -> Array; masked() -> Array;
            }
            real {
                maximum() -> Real; minimum() -> Real; logsumexp() -> Real; shift() -> Real; sort() -> Reals;
                softmax(axis: Int) -> Reals; log_softmax(axis: Int) -> Reals; logsumexp_keep(axis: Int) -> Reals; logsumexp_axis(axis: Int) -> Reals;
                shift_keep(axis: Int) -> Reals;
                maximum_axis(axis: Int) -> Reals; minimum_axis(axis: Int) -> Reals; norm_keep(axis: Int) -> Reals;
                argmax_axis(axis: Int) -> Ints; argmin_axis(axis: Int) -> Ints;
                argmax() -> Int; argmin() -> Int; argsort() -> Ints;
            }
            complex { fft() -> Complexes; fft_back() -> Complexes; ifft() -> Complexes; }
        }
    };
}

#[cfg(test)]
mod tests {
    use ketgrad_core::{ir::ArrayOp, staging::Composed};

    macro_rules! names {
        ($($sort:ident { $($f:ident($($operand:tt)*) -> $r:ident;)* })*) => {
            [$($(stringify!($f)),*),*]
        };
    }

    /// Names that are written in the modules themselves.
    const BY_HAND: [&str; 10] = [
        "shape",
        "dim",
        "ravel_multi_index",
        "count",
        "full",
        "eye",
        "broadcast_to",
        "step",
        "rand",
        "randn",
    ];

    /// Earlier names that are in the table.
    const EARLIER: [&str; 7] =
        ["take", "take_along", "prod_others", "cumsum_back", "like", "embed", "paste"];

    #[test]
    fn every_function_of_arrays_is_there() {
        let table = for_each_array_function!(names);
        let mut here: Vec<&str> = table.into_iter().chain(BY_HAND).collect();
        let ops = ArrayOp::ALL.iter().map(|op| op.name());
        let composed = Composed::ALL.iter().map(|f| f.name());
        let mut all: Vec<&str> = ops.chain(composed).chain(EARLIER).collect();
        here.sort_unstable();
        all.sort_unstable();
        assert_eq!(here, all);
    }
}
