//! The table of array operations: one line for each.
//!
//! Operations on numbers work element by element on arrays as they are (`add`, `sin`, …, with
//! [broadcasting](crate::array)); the operations here see arrays as wholes. Each is linear, or its
//! derivative is written with operations of both tables, so derivatives of any order stay inside
//! them. The rules are in [`rules`](crate::rules), the values in [`array`](crate::array).
//!
//! ```text
//! SumKeep "sum_keep" (Array, Int) -> Array, "The sums along an axis, whose length becomes 1.";
//! │        │          │               │      └ documentation
//! │        │          │               └ result
//! │        │          └ operands
//! │        └ name in text; after a `|` an earlier name, which is still read
//! └ variant
//! ```
//!
//! | operand or result | is |
//! |---|---|
//! | `Array`, `Number`, `Either` | an array, a number, or any of both: all of one element kind, real or complex |
//! | `Reals`, `Real`, `EitherReal` | the same, real |
//! | `Complexes` | an array of complex numbers |
//! | `Form` | an array next to an array, or its shape as an array of ints: only the shape counts |
//! | `Any` | an array, of ints too |
//! | `Ints`, `Int` | an array of ints, an int |
//!
//! Shapes are known when a program runs. Shapes that do not fit are an error, which names the
//! operation, the shapes and the position in the source. Axes are counted from 0.

use super::kind::{Element, Kind};

/// Hands the table to the macro `$reader`.
macro_rules! for_each_array_op {
    ($reader:path) => {
        $reader! {
            // Shapes.
            Dim "dim" (Any, Int) -> Int, "The length along an axis.";
            RavelMultiIndex "ravel_multi_index" | "place" (Any, Ints) -> Int, "The place in row-major order of the element with the given indices, one for each axis.";
            Count "count" (Ints) -> Int, "The number of elements of an array of the given shape.";
            Shape "shape" (Any) -> Ints, "The length along each axis.";
            Reshape "reshape" (Array, Ints) -> Array, "The elements in the same row-major order in another shape; one length may be -1, which means what is left.";
            ReshapeLike "reshape_like" | "like" (Array, Form) -> Array, "The elements of the first in the shape of the second, or in this shape, in row-major order, cut off or followed by zeros. For (co)tangents.";
            InsertAxis "insert_axis" (Array, Int) -> Array, "With a new axis of length 1 at the given place.";
            DropAxis "drop_axis" (Array, Int) -> Array, "Without an axis, whose length must be 1.";
            Transpose "transpose" (Array) -> Array, "The last two axes change places.";
            Permute "permute" (Array, Ints) -> Array, "Axis k of the result is axis `p[k]` of the array.";
            Unpermute "unpermute" (Array, Ints) -> Array, "Axis `p[k]` of the result is axis k of the array.";
            // Parts.
            Slice "slice" (Array, Int, Int, Int) -> Array, "`slice(x, axis, start, len)`: a range along an axis.";
            Pad "pad" | "embed" (Array, Form, Int, Int) -> Array, "`pad(part, x, axis, start)`: a part in its place among zeros, in the shape of x, or in the shape x.";
            DynamicUpdateSlice "dynamic_update_slice" | "paste" (Array, Array, Int, Int) -> Array, "`dynamic_update_slice(part, x, axis, start)`: x, but for a part in its place.";
            Concat "concat" (Array, Array, Int) -> Array, "Two arrays joined along an axis.";
            Gather "gather" | "take" (Array, Ints) -> Array, "`x[i_0], x[i_1], …` along the first axis.";
            Scatter "scatter" (Array, Array, Ints) -> Array, "`scatter(y, x, i)`: the rows of y added to the rows i of zeros in the shape of x.";
            BroadcastTo "broadcast_to" | "spread" (Either, Form) -> Array, "Repeated to the shape of the second; an array also to this shape.";
            SumLike "sum_like" (Array, Form) -> Array, "The sums over the repeated elements, in the shape of the second, or in this shape.";
            Flip "flip" (Array, Int) -> Array, "The elements along an axis in the opposite order.";
            GatherAlong "gather_along" | "take_along" (Array, Ints, Int) -> Array, "`gather_along(x, indices, axis)`: the element of each line along an axis at its index; the axis is lost.";
            ScatterAlong "scatter_along" (Array, Array, Ints, Int) -> Array, "`scatter_along(y, x, indices, axis)`: zeros in the shape of x, but for an element of y in each line along an axis at its index.";
            Tril "tril" (Array, Int) -> Array, "The elements on and below the k-th diagonal of matrices; the others are 0.";
            Triu "triu" (Array, Int) -> Array, "The elements on and above the k-th diagonal of matrices; the others are 0.";
            Diagonal "diagonal" (Array) -> Array, "The main diagonal of a matrix.";
            DiagonalMatrix "diagonal_matrix" (Array) -> Array, "The square matrix with the given diagonal.";
            // Reductions.
            SumKeep "sum_keep" (Array, Int) -> Array, "The sums along an axis, whose length becomes 1.";
            Cumsum "cumsum" (Array, Int) -> Array, "The sums up to each element along an axis.";
            ReverseCumsum "reverse_cumsum" | "cumsum_back" (Array, Int) -> Array, "The sums from each element on along an axis.";
            LinearRecurrence "linear_recurrence" (Array, Array, Int) -> Array, "`y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis, which is one longer than those of a and b.";
            Prod "prod" (Array) -> Number, "The product of all elements; 1 for none.";
            ExclusiveProd "exclusive_prod" | "prod_others" (Array) -> Array, "For each element the product of all others.";
            ProdPairs "prod_pairs" (Array, Array) -> Array, "`y_i = sum_(j != i) v_j prod_(k != i, j) x_k`: the second derivative of the product of x, times v. Its derivative by x takes systems of equations, O(n^2).";
            Norm "norm" (Array) -> Real, "The square root of the sum of the squared moduli of all elements.";
            NormKeep "norm_keep" (Reals, Int) -> Reals, "`norm` along an axis, whose length becomes 1.";
            ArgMaxAxis "argmax_axis" (Reals, Int) -> Ints, "The index of the greatest element of each line along an axis, which is lost; of the first at a tie, of a NaN if there is one.";
            ArgMinAxis "argmin_axis" (Reals, Int) -> Ints, "The index of the least element of each line along an axis, which is lost; of the first at a tie, of a NaN if there is one.";
            ArgMax "argmax" (Reals) -> Int, "The place of the greatest element in row-major order; of the first at a tie, of a NaN if there is one.";
            ArgMin "argmin" (Reals) -> Int, "The place of the least element in row-major order; of the first at a tie, of a NaN if there is one.";
            ArgSort "argsort" (Reals) -> Ints, "The places of the elements of a vector in ascending order; equal ones keep theirs, NaNs come last.";
            Shift "shift" (Reals) -> Real, "The greatest element, by which exponents are lessened so that they do not overflow; 0 if it is not finite. It counts as a constant: its derivative is 0.";
            ShiftKeep "shift_keep" (Reals, Int) -> Reals, "`shift` along an axis, whose length becomes 1.";
            Softmax "softmax" (Reals, Int) -> Reals, "`exp x / sum exp x` along an axis.";
            Step "step" (EitherReal, EitherReal) -> Reals, "1 where the first is at least the second, else 0; element by element.";
            // Random numbers.
            Uniform "rand" (Int, Ints) -> Reals, "`rand(key, shape)`: numbers in [0, 1), all as likely, which the key determines. They count as constants.";
            Normal "randn" (Int, Ints) -> Reals, "`randn(key, shape)`: numbers of the normal distribution with mean 0 and variance 1, which the key determines. They count as constants.";
            // Products.
            Dot "dot" (Array, Array) -> Number, "The sum of the products of the elements of two arrays of one shape; nothing is conjugated.";
            MatMul "matmul" (Array, Array) -> Array, "`A B` for matrices or stacks of them.";
            MatMulNh "matmul_nh" (Array, Array) -> Array, "`A B^H` for matrices or stacks of them.";
            MatMulHn "matmul_hn" (Array, Array) -> Array, "`A^H B` for matrices or stacks of them.";
            TraceProduct "trace_product" (Array, Array) -> Number, "`tr(A B)` without the product.";
            Contract "contract" (Array, Array, Ints) -> Array, "The sum of products of elements of two arrays over the labels of their axes that the result lacks: `contract(a, b, [0, 1, 1, 2, 0, 2])` is `matmul(a, b)`. The labels are those of both arrays and of the result, one list after the other, or with the least integer between the lists, which then have to fit one by one; none occurs twice at one array.";
            ContractFirst "contract_first" (Array, Array, Array, Ints) -> Array, "`contract_first(y, b, a, labels)`: what `contract` does with y in the place of the result, for its first operand, in the shape of a. For cotangents.";
            ContractSecond "contract_second" (Array, Array, Array, Ints) -> Array, "`contract_second(a, y, b, labels)`: what `contract` does with y in the place of the result, for its second operand, in the shape of b. For cotangents.";
            Convolve "convolve" (Array, Array) -> Array, "The full convolution of two vectors.";
            Correlate "correlate" (Array, Array) -> Array, "`y_k = sum_i a_(k+i) conj(b_i)` of two vectors, wherever the second fits into the first.";
            Fft "fft" (Complexes) -> Complexes, "The discrete Fourier transform along the last axis, `sum_j x_j e^(-2 pi i j k / n)`.";
            FftBack "fft_back" (Complexes) -> Complexes, "`sum_j x_j e^(2 pi i j k / n)` along the last axis: n times the inverse of `fft`.";
            // Linear algebra.
            Solve "solve" (Array, Array) -> Array, "`A^-1 B` for a square matrix and a vector or matrix.";
            SolveAdjoint "solve_adjoint" (Array, Array) -> Array, "`(A^H)^-1 B` for a square matrix and a vector or matrix.";
            SolveLower "solve_lower" (Array, Array) -> Array, "`L^-1 B` for the lower triangle L of a square matrix, all that is read of it, and a vector or matrix.";
            SolveUpper "solve_upper" (Array, Array) -> Array, "`U^-1 B` for the upper triangle U of a square matrix, all that is read of it, and a vector or matrix.";
            Lstsq "lstsq" (Array, Array) -> Array, "The x that makes the norm of `A x - b` least, for a matrix A of any shape and a vector or the columns of a matrix b; where there are several, that of least norm. Singular values of A of at most `max(m, n)` times 2^-52 of the greatest count as 0; derivatives are those along which the rank of A stays.";
            Inv "inv" (Array) -> Array, "The inverse of a matrix.";
            Pinv "pinv" (Array) -> Array, "The pseudoinverse of a matrix `m x n`, `n x m`. Singular values of at most `max(m, n)` times 2^-52 of the greatest count as 0; derivatives are those along which the rank stays.";
            Det "det" (Array) -> Number, "The determinant.";
            Cofactors "cofactors" (Array) -> Array, "The derivatives of the determinant of a square matrix by its elements: `det A A^-T`, and what that is in the limit for a singular matrix.";
            CofactorsAlong "cofactors_along" (Array, Array) -> Array, "The derivative of the cofactors of a square matrix A along another one E, `d/dt cofactors(A + t E)` at `t = 0`, of singular matrices too. Its own derivative by A needs the inverse.";
            SignDet "signdet" (Array) -> Number, "`det A / |det A|`, so that `signdet(a) * exp(logabsdet(a))` is the determinant, without overflow; 0 for a singular matrix. Of a real matrix it counts as a constant.";
            LogAbsDet "logabsdet" (Array) -> Real, "`ln |det A|`.";
            Cholesky "cholesky" (Array) -> Array, "The lower triangular L with `L L^H = A`; only the lower triangle of A is read.";
            Qr "qr" (Array) -> Array, "For a matrix with at least as many rows as columns: the matrix Q of orthonormal columns, and below it the upper triangular R, whose diagonal is not negative, with `A = Q R`. Its derivative needs columns that are linearly independent.";
            Svd "svd" (Array) -> Array, "For `A = U diag(s) V^H` the singular values s, descending, as first row, and below them the columns of U and of V, as many as the shorter side of A is long. Vectors of equal singular values, or of 0, are some basis of a space and carry no derivatives of each other: a gradient that needs them, of `U f(s) V^H`, is NaN.";
            SvdAlong "svd_along" (Array, Array) -> Array, "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal singular values the vectors between which the Hermitian part of `U^H E V` is diagonal. By E it has no derivative.";
            Eigen "eigen" (Array) -> Array, "Of the Hermitian part of a matrix: the eigenvalues, ascending, as first row, and below them the eigenvectors as columns. Eigenvectors of eigenvalues that are equal in all digits are some basis of a space, and carry no derivatives of each other: a gradient that needs them, of `V diag(g(w)) V^H`, is NaN.";
            EigenAlong "eigen_along" (Array, Array) -> Array, "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal eigenvalues the eigenvectors between which E is diagonal. By E it has no derivative.";
            Simple "simple" (Array, Int) -> Array, "A decomposition as it is, of `eigen` or, if the number is odd, of `svd`. What leads back through it is NaN for vectors of equal values, of `svd` for those of 0, too: where something leads back to them, or wherever the number is above 1. For second derivatives.";
            Spectral "spectral" (Array, Array, Array, Array, Array) -> Array, "The first, which is `V diag(d) V^H`, as it is, with derivatives as a function `d = g(w)` of the Hermitian matrix that is the second, whose eigenvalues and eigenvectors the third holds. The fourth is d, the last `g'(w)`, which says what is derived between eigenvectors of equal eigenvalues.";
            Expm "expm" (Array) -> Array, "The exponential of a square matrix.";
            ExpmAlong "expm_along" (Array, Array) -> Array, "The derivative of the exponential of a square matrix A along another one E, `d/dt exp(A + t E)` at `t = 0`.";
        }
    };
}

/// Kind of an operand or a result of an array operation: see [the table](self).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Any,
    Array,
    Form,
    Number,
    Either,
    Reals,
    Real,
    EitherReal,
    Complexes,
    Ints,
    Int,
}

macro_rules! array_ops {
    ($($op:ident $name:literal $(| $earlier:literal)?
        ($($operand:ident),*) -> $result:ident, $doc:literal;)*) => {
        /// An operation on whole arrays.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum ArrayOp { $(#[doc = $doc] $op,)* }

        impl ArrayOp {
            /// All of them, in the order of the table.
            pub const ALL: &'static [ArrayOp] = &[$(ArrayOp::$op),*];
            /// Returns the name in text.
            #[must_use]
            pub fn name(self) -> &'static str { match self { $(ArrayOp::$op => $name,)* } }
            /// Returns a sentence that says what the operation computes.
            #[must_use]
            pub fn doc(self) -> &'static str { match self { $(ArrayOp::$op => $doc,)* } }
            /// Returns the operation of the given name, or of the name that it had earlier.
            #[must_use]
            pub fn by_name(name: &str) -> Option<ArrayOp> {
                match name { $($name $(| $earlier)? => Some(ArrayOp::$op),)* _ => None }
            }
            fn signature(self) -> (&'static [Sort], Sort) {
                match self { $(ArrayOp::$op => (&[$(Sort::$operand),*], Sort::$result),)* }
            }
        }
    };
}
for_each_array_op!(array_ops);

impl ArrayOp {
    /// Returns true if each element of the result is an element of an operand, or 0 (a gather or a
    /// scatter).
    pub(crate) fn moves(self) -> bool {
        use ArrayOp as A;
        matches!(
            self,
            A::ReshapeLike
                | A::Reshape
                | A::InsertAxis
                | A::DropAxis
                | A::Transpose
                | A::Permute
                | A::Unpermute
                | A::Slice
                | A::Pad
                | A::DynamicUpdateSlice
                | A::Concat
                | A::Gather
                | A::BroadcastTo
                | A::Flip
                | A::GatherAlong
                | A::ScatterAlong
                | A::Tril
                | A::Triu
                | A::Diagonal
                | A::DiagonalMatrix
        )
    }

    /// Returns true if the second operand only gives a shape, and may be a list of lengths.
    #[doc(hidden)]
    pub fn takes_shape(self) -> bool {
        self.signature().0.get(1) == Some(&Sort::Form)
    }

    /// Returns the number of operands.
    #[must_use]
    pub fn arity(self) -> usize {
        self.signature().0.len()
    }

    /// Returns the expected kind of the k-th operand, where that does not depend on the others.
    #[must_use]
    pub fn hint(self, k: usize) -> Option<Kind> {
        Some(match self.signature().0.get(k)? {
            Sort::Int => Kind::Int,
            Sort::Ints => Kind::Array(Element::Int),
            Sort::Reals => Kind::Array(Element::Real),
            Sort::Complexes => Kind::Array(Element::Complex),
            _ => return None,
        })
    }

    /// Returns true if a cotangent can flow through the operation.
    #[must_use]
    pub fn is_differentiable(self) -> bool {
        !matches!(self.signature().1, Sort::Int | Sort::Ints)
            && !matches!(
                self,
                ArrayOp::Shift
                    | ArrayOp::ShiftKeep
                    | ArrayOp::Step
                    | ArrayOp::Uniform
                    | ArrayOp::Normal
            )
    }

    /// Returns the kind of the result for operands of the given kinds.
    ///
    /// # Errors
    /// The operands that are expected, in words, if the given ones do not fit.
    pub fn result(self, operands: &[Kind]) -> Result<Kind, String> {
        let (sorts, result) = self.signature();
        let mut common = None;
        let mut same = |e: Element| e != Element::Int && *common.get_or_insert(e) == e;
        let fits = sorts.len() == operands.len()
            && sorts.iter().zip(operands).all(|(sort, kind)| match (sort, kind) {
                (Sort::Any, Kind::Array(_)) => true,
                (Sort::Form, Kind::Array(Element::Int)) => matches!(operands[0], Kind::Array(_)),
                (Sort::Array | Sort::Form | Sort::Either, Kind::Array(e)) => same(*e),
                (Sort::Number | Sort::Either, Kind::Real) => same(Element::Real),
                (Sort::Number | Sort::Either, Kind::Complex) => same(Element::Complex),
                (Sort::Reals | Sort::EitherReal, Kind::Array(Element::Real)) => same(Element::Real),
                (Sort::Real | Sort::EitherReal, Kind::Real) => same(Element::Real),
                (Sort::Complexes, Kind::Array(Element::Complex)) => same(Element::Complex),
                (Sort::Ints, Kind::Array(Element::Int)) | (Sort::Int, Kind::Int) => true,
                _ => false,
            });
        // `step` of two numbers would be a number.
        let some = !sorts.contains(&Sort::EitherReal)
            || operands.iter().any(|k| matches!(k, Kind::Array(_)));
        if !fits || !some {
            return Err(self.expected());
        }
        let element = common.unwrap_or(Element::Real);
        Ok(match result {
            Sort::Array | Sort::Form | Sort::Either | Sort::Any => Kind::Array(element),
            Sort::Number => element.kind(),
            Sort::Reals | Sort::EitherReal => Kind::Array(Element::Real),
            Sort::Real => Kind::Real,
            Sort::Complexes => Kind::Array(Element::Complex),
            Sort::Ints => Kind::Array(Element::Int),
            Sort::Int => Kind::Int,
        })
    }

    /// Its operands in words.
    fn expected(self) -> String {
        let word = |sort: &Sort| match sort {
            Sort::Any | Sort::Array | Sort::Form => "array",
            Sort::Number => "number",
            Sort::Either => "array or number",
            Sort::Reals => "array<real>",
            Sort::Real => "real",
            Sort::EitherReal => "array<real> or real",
            Sort::Complexes => "array<complex>",
            Sort::Ints => "array<int>",
            Sort::Int => "int",
        };
        let words: Vec<&str> = self.signature().0.iter().map(word).collect();
        let numbers = self
            .signature()
            .0
            .iter()
            .filter(|s| matches!(s, Sort::Array | Sort::Form | Sort::Either))
            .count();
        format!("({}){}", words.join(", "), if numbers > 1 { " of one kind of number" } else { "" })
    }
}
