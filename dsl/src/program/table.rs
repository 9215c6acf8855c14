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

/// Passes the functions of arrays to the macro `$reader`: their names, what they take and what they
/// give, where `Number` and `Array` are of the elements' kind. They are the operations of core's
/// table, also by their earlier names, and here the functions that are composed of these.
macro_rules! for_each_array_function {
    ($reader:ident) => {
        ketgrad_core::for_each_array_op! {
            list_functions, $reader, {
                qr_q(a: Array) -> Array; qr_r(a: Array) -> Array; svd_u(a: Array) -> Array;
                svd_v(a: Array) -> Array; eigvecsh(a: Array) -> Array;
                row(a: Array, k: Int) -> Array; sum_axis(a: Array, axis: Int) -> Array;
                mean_axis(a: Array, axis: Int) -> Array; prod_axis(a: Array, axis: Int) -> Array;
                cumprod(a: Array, axis: Int) -> Array; var(a: Array) -> Real;
                std(a: Array) -> Real; var_axis(a: Array, axis: Int) -> Reals;
                std_axis(a: Array, axis: Int) -> Reals; norm_axis(a: Array, axis: Int) -> Reals;
                mean(a: Array) -> Number; trace(a: Array) -> Number; eigvalsh(a: Array) -> Reals;
                svdvals(a: Array) -> Reals;
                matvec(a: Array, b: Array) -> Array; outer(a: Array, b: Array) -> Array;
                kron(a: Array, b: Array) -> Array; with_row(a: Array, b: Array, k: Int) -> Array;
                einsum(a: Array, b: Array, first: Ints, second: Ints, result: Ints) -> Array;
                masked(a: Array, b: Array, c: Array) -> Array;
                maximum(a: Reals) -> Real; minimum(a: Reals) -> Real; logsumexp(a: Reals) -> Real;
                sort(a: Reals) -> Reals; log_softmax(a: Reals, axis: Int) -> Reals;
                logsumexp_keep(a: Reals, axis: Int) -> Reals;
                logsumexp_axis(a: Reals, axis: Int) -> Reals;
                maximum_axis(a: Reals, axis: Int) -> Reals;
                minimum_axis(a: Reals, axis: Int) -> Reals;
                ifft(a: Complexes) -> Complexes;
            }
        }
    };
}

/// Reads core's table, after the functions that are composed.
macro_rules! list_functions {
    (
        $reader:ident { $($composed:tt)* }
        $($op:ident $f:ident $operands:tt -> $result:ident $(, earlier $earlier:ident)? {
            $($facts:tt)*
        })*
    ) => {
        $reader! {
            $($composed)*
            $($f $operands -> $result; $($earlier $operands -> $result;)?)*
        }
    };
}

/// Passes a function to the macro `$to`, after a word for the arrays that it takes: `one`, `two` or
/// `three` of real or complex numbers, one of `real` or of `complex` ones. All others are `other`:
/// they are written by hand in `native` and `staged`.
macro_rules! by_operands {
    ($to:ident $f:ident($a:ident: Array, $b:ident: Array, $c:ident: Array, $d:ident: Array $($more:tt)*) -> $r:ident) => {
        $to! { other $f }
    };
    ($to:ident $f:ident($a:ident: Array, $b:ident: Array, $c:ident: Array $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { three $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Array, $b:ident: Array, $c:ident: Like $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { three $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Array, $b:ident: Array $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { two $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Array, $b:ident: Like $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { two $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Array, $b:ident: Form $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { two $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Array $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { one $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Reals $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { real $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident($a:ident: Complexes $(, $p:ident: $t:ident)*) -> $r:ident) => {
        $to! { complex $f($($p: $t),*) -> $r }
    };
    ($to:ident $f:ident $operands:tt -> $r:ident) => {
        $to! { other $f }
    };
}

#[cfg(test)]
mod tests {
    use ketgrad_core::{ir::ArrayOp, staging::Composed};

    macro_rules! names {
        ($($f:ident $operands:tt -> $result:ident;)*) => {
            const TABLE: &[Option<&str>] = &[$(by_operands! { listed $f $operands -> $result }),*];
        };
    }
    /// The name of a function that is not written by hand.
    macro_rules! listed {
        (other $f:ident) => {
            None
        };
        ($arrays:ident $f:ident($($rest:tt)*) -> $result:ident) => {
            Some(stringify!($f))
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

    /// An operation of the table that derivatives alone need, of five arrays.
    const LACKING: &str = "spectral";

    /// Earlier names that are in the table.
    const EARLIER: [&str; 7] =
        ["take", "take_along", "prod_others", "cumsum_back", "like", "embed", "paste"];

    #[test]
    fn every_function_of_arrays_is_there() {
        for_each_array_function!(names);
        let mut here: Vec<&str> = TABLE.iter().copied().flatten().chain(BY_HAND).collect();
        let ops = ArrayOp::ALL.iter().map(|op| op.name()).filter(|name| *name != LACKING);
        let composed = Composed::ALL.iter().map(|f| f.name());
        let mut all: Vec<&str> = ops.chain(composed).chain(EARLIER).collect();
        here.sort_unstable();
        all.sort_unstable();
        assert_eq!(here, all);
    }
}
