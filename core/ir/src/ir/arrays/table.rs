//! The table of array operations: an entry for each.

/// Hands the table to the macro `$reader`, after other tokens that are for it.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_array_op {
    ($reader:path $(, $given:tt)*) => {
        $reader! {
            $($given)*
            // Shapes.
            Dim dim (x: Any, axis: Int) -> Int {
                doc: "The length along an axis.",
                shape: dim, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            RavelMultiIndex ravel_multi_index (x: Any, indices: Ints) -> Int, earlier place {
                doc: "The place in row-major order of the element with the given indices, one for each axis.",
                shape: place, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            Count count (shape: Ints) -> Int {
                doc: "The number of elements of an array of the given shape.",
                shape: count, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            Shape shape (x: Any) -> Ints {
                doc: "The length along each axis.",
                shape: shape_list, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            Reshape reshape (x: Array, shape: Ints) -> Array {
                doc: "The elements in the same row-major order in another shape; one length may be -1, which means what is left.",
                shape: reshape, class: Rearranged(&[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::reshape(out, x.list())),
            }
            ReshapeLike reshape_like (x: Array, like: Form) -> Array, earlier like {
                doc: "The elements of the first in the shape of the second, or in this shape, in row-major order, cut off or followed by zeros. For (co)tangents.",
                shape: as_second, class: Like(1),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| {
                    array::reshape_like(out, &x.form(0)?);
                    Ok(())
                }),
            }
            InsertAxis insert_axis (x: Array, axis: Int) -> Array {
                doc: "With a new axis of length 1 at the given place.",
                shape: insert_axis, class: Undoes(ArrayOp::DropAxis, &[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::insert_axis(out, x.int(0))),
            }
            DropAxis drop_axis (x: Array, axis: Int) -> Array {
                doc: "Without an axis, whose length must be 1.",
                shape: drop_axis, class: Undoes(ArrayOp::InsertAxis, &[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::drop_axis(out, x.int(0))),
            }
            Transpose transpose (x: Array) -> Array {
                doc: "The last two axes change places.",
                shape: transpose, class: Rearranged(&[]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::transpose(x.a(), out)),
            }
            Permute permute (x: Array, axes: Ints) -> Array {
                doc: "Axis k of the result is axis `p[k]` of the array.",
                shape: permute, class: Rearranged(&[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::permute(x.a(), x.list(), false, out)),
            }
            Unpermute unpermute (x: Array, axes: Ints) -> Array {
                doc: "Axis `p[k]` of the result is axis k of the array.",
                shape: unpermute, class: Computed(&[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::permute(x.a(), x.list(), true, out)),
            }
            // Parts.
            Slice slice (x: Array, axis: Int, start: Int, len: Int) -> Array {
                doc: "`slice(x, axis, start, len)`: a range along an axis.",
                shape: slice, class: Computed(&[1, 3]),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(
                    // A slice that is kept for the reverse pass keeps its buffer: one of the right
                    // length.
                    |x| Ok(x.lines().saturating_mul(usize::try_from(x.int(2)).unwrap_or(0)).min(x.a().len())),
                    |x, out| array::slice(x.a(), x.int(0), x.int(1), x.int(2), out)
                ),
            }
            Pad pad (part: Array, x: Form, axis: Int, start: Int) -> Array, earlier embed {
                doc: "`pad(part, x, axis, start)`: a part in its place among zeros, in the shape of x, or in the shape x.",
                shape: place_part, class: Like(1),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(given, |x, out| array::pad(x.a(), &x.form(1)?, x.int(0), x.int(1), out)),
            }
            DynamicUpdateSlice dynamic_update_slice (part: Array, x: Array, axis: Int, start: Int) -> Array, earlier paste {
                doc: "`dynamic_update_slice(part, x, axis, start)`: x, but for a part in its place.",
                shape: place_part, class: Like(1),
                elements: Moved, used: Only(&[1]), derivative: Joint, failure: ByShapes, work: Free,
                value: own(),
            }
            Concat concat (a: Array, b: Array, axis: Int) -> Array {
                doc: "Two arrays joined along an axis.",
                shape: concat, class: Computed(&[2]),
                elements: Moved, used: All, derivative: Joint, failure: ByShapes, work: Free,
                value: new(together, |x, out| array::concat(x.a(), x.b(), x.int(0), out)),
            }
            Gather gather (x: Array, indices: Ints) -> Array, earlier take {
                doc: "`x[i_0], x[i_1], …` along the first axis.",
                shape: gather, class: Own,
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(
                    |x| x.count(&[x.list().len(), x.a().len() / x.a().shape()[0].max(1)]),
                    |x, out| array::gather(x.a(), x.list(), out)
                ),
            }
            Scatter scatter (y: Array, x: Like, indices: Ints) -> Array {
                doc: "`scatter(y, x, i)`: the rows of y added to the rows i of zeros in the shape of x.",
                shape: scatter, class: Like(1),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(as_second, |x, out| array::scatter(x.a(), &x.b().shape(), x.list(), out)),
            }
            BroadcastTo broadcast_to (x: Either, like: Form) -> Array, earlier spread {
                doc: "Repeated to the shape of the second; an array also to this shape.",
                shape: broadcast_to, class: Like(1),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(given, |x, out| array::broadcast_to(x.a(), &x.form(1)?, out)),
            }
            SumLike sum_like (x: Array, like: Form) -> Array {
                doc: "The sums over the repeated elements, in the shape of the second, or in this shape.",
                shape: sum_like, class: Like(1),
                elements: Reduced, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(given, |x, out| array::sum_like(x.a(), &x.form(1)?, out)),
            }
            Flip flip (x: Array, axis: Int) -> Array {
                doc: "The elements along an axis in the opposite order.",
                shape: same_along, class: Like(0),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::flip(x.a(), x.int(0), out)),
            }
            GatherAlong gather_along (x: Array, indices: Ints, axis: Int) -> Array, earlier take_along {
                doc: "`gather_along(x, indices, axis)`: the element of each line along an axis at its index; the axis is lost.",
                shape: gather_along, class: Own,
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(lines, |x, out| array::gather_along(x.a(), &x.indices(), x.int(0), out)),
            }
            ScatterAlong scatter_along (y: Array, x: Array, indices: Ints, axis: Int) -> Array {
                doc: "`scatter_along(y, x, indices, axis)`: zeros in the shape of x, but for an element of y in each line along an axis at its index.",
                shape: scatter_along, class: Like(1),
                elements: Moved, used: Only(&[0]), derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_second, |x, out| array::scatter_along(x.a(), &x.b().shape(), &x.indices(), x.int(0), out)),
            }
            Tril tril (x: Array, k: Int) -> Array {
                doc: "The elements on and below the k-th diagonal of matrices; the others are 0.",
                shape: matrices, class: Like(0),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::triangle(out, x.int(0), false)),
            }
            Triu triu (x: Array, k: Int) -> Array {
                doc: "The elements on and above the k-th diagonal of matrices; the others are 0.",
                shape: matrices, class: Like(0),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::triangle(out, x.int(0), true)),
            }
            Diagonal diagonal (x: Array) -> Array {
                doc: "The main diagonal of a matrix.",
                shape: diagonal, class: Computed(&[]),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(
                    |x| Ok(x.a().shape().iter().copied().min().unwrap_or(0)),
                    |x, out| array::diagonal(x.a(), out)
                ),
            }
            DiagonalMatrix diagonal_matrix (x: Array) -> Array {
                doc: "The square matrix with the given diagonal.",
                shape: diagonal_matrix, class: Computed(&[]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(|x| x.count(&[x.a().len(), x.a().len()]), |x, out| array::diagonal_matrix(x.a(), out)),
            }
            // Reductions.
            SumKeep sum_keep (x: Array, axis: Int) -> Array {
                doc: "The sums along an axis, whose length becomes 1.",
                shape: keep_axis, class: Reduced,
                elements: Reduced, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(lines, |x, out| array::sum_keep(x.a(), x.int(0), out)),
            }
            Cumsum cumsum (x: Array, axis: Int) -> Array {
                doc: "The sums up to each element along an axis.",
                shape: same_along, class: Like(0),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: in_place(|x, out| array::cumulative_sum(out, x.int(0), false)),
            }
            ReverseCumsum reverse_cumsum (x: Array, axis: Int) -> Array, earlier cumsum_back {
                doc: "The sums from each element on along an axis.",
                shape: same_along, class: Like(0),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: in_place(|x, out| array::cumulative_sum(out, x.int(0), true)),
            }
            LinearRecurrence linear_recurrence (a: Array, b: Array, axis: Int) -> Array {
                doc: "`y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis, which is one longer than those of a and b.",
                shape: linear_recurrence, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(2),
                value: new(
                    |x| x.count(&[x.a().len() + x.lines()]),
                    |x, out| array::linear_recurrence(x.a(), x.b(), x.int(0), out)
                ),
            }
            Prod prod (x: Array) -> Number {
                doc: "The product of all elements; 1 for none.",
                shape: number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(1),
                value: own(),
            }
            ExclusiveProd exclusive_prod (x: Array) -> Array, earlier prod_others {
                doc: "For each element the product of all others.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(3),
                value: new(as_first, |x, out| {
                    array::exclusive_products(x.a(), out);
                    Ok(())
                }),
            }
            ProdPairs prod_pairs (x: Array, v: Array) -> Array {
                doc: "`y_i = sum_(j != i) v_j prod_(k != i, j) x_k`: the second derivative of the product of x, times v. Its derivative by x takes systems of equations, O(n^2).",
                shape: both_same, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(11),
                value: new(as_first, |x, out| array::product_pairs(x.a(), x.b(), out)),
            }
            Norm norm (x: Array) -> Real {
                doc: "The square root of the sum of the squared moduli of all elements.",
                shape: number, class: Own,
                elements: Mixed, used: All, derivative: Steep, failure: ByShapes, work: PerElement(2),
                value: own(),
            }
            NormKeep norm_keep (x: Reals, axis: Int) -> Reals {
                doc: "`norm` along an axis, whose length becomes 1.",
                shape: keep_axis, class: Reduced,
                elements: Mixed, used: All, derivative: Steep, failure: ByShapes, work: PerElement(2),
                value: own(),
            }
            ArgMaxAxis argmax_axis (x: Reals, axis: Int) -> Ints {
                doc: "The index of the greatest element of each line along an axis, which is lost; of the first at a tie, of a NaN if there is one.",
                shape: choose_along, class: Own,
                elements: Chosen, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            ArgMinAxis argmin_axis (x: Reals, axis: Int) -> Ints {
                doc: "The index of the least element of each line along an axis, which is lost; of the first at a tie, of a NaN if there is one.",
                shape: choose_along, class: Own,
                elements: Chosen, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            ArgMax argmax (x: Reals) -> Int {
                doc: "The place of the greatest element in row-major order; of the first at a tie, of a NaN if there is one.",
                shape: number, class: Own,
                elements: Chosen, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            ArgMin argmin (x: Reals) -> Int {
                doc: "The place of the least element in row-major order; of the first at a tie, of a NaN if there is one.",
                shape: number, class: Own,
                elements: Chosen, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            ArgSort argsort (x: Reals) -> Ints {
                doc: "The places of the elements of a vector in ascending order; equal ones keep theirs, NaNs come last.",
                shape: vector, class: Own,
                elements: Chosen, used: Nothing, derivative: Zero, failure: ByData, work: Sort,
                value: own(),
            }
            Shift shift (x: Reals) -> Real {
                doc: "The greatest element, by which exponents are lessened so that they do not overflow; 0 if it is not finite. It counts as a constant: its derivative is 0.",
                shape: number, class: Own,
                elements: Mixed, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            ShiftKeep shift_keep (x: Reals, axis: Int) -> Reals {
                doc: "`shift` along an axis, whose length becomes 1.",
                shape: keep_axis, class: Reduced,
                elements: Mixed, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            Softmax softmax (x: Reals, axis: Int) -> Reals {
                doc: "`exp x / sum exp x` along an axis.",
                shape: same_along, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: PerElement(4),
                value: own(),
            }
            Step step (a: EitherReal, b: EitherReal) -> Reals {
                doc: "1 where the first is at least the second, else 0; element by element.",
                shape: step, class: Broadcast,
                elements: Mixed, used: Nothing, derivative: Zero, failure: ByData, work: Free,
                value: own(),
            }
            // Random numbers.
            Uniform rand (key: Int, shape: Ints) -> Reals {
                doc: "`rand(key, shape)`: numbers in [0, 1), all as likely, which the key determines. They count as constants.",
                shape: random, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            Normal randn (key: Int, shape: Ints) -> Reals {
                doc: "`randn(key, shape)`: numbers of the normal distribution with mean 0 and variance 1, which the key determines. They count as constants.",
                shape: random, class: Own,
                elements: Absent, used: Nothing, derivative: Zero, failure: ByShapes, work: Free,
                value: own(),
            }
            // Products.
            Dot dot (a: Array, b: Array) -> Number {
                doc: "The sum of the products of the elements of two arrays of one shape; nothing is conjugated.",
                shape: dot, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: PerElement(2),
                value: own(),
            }
            MatMul matmul (a: Array, b: Array) -> Array {
                doc: "`A B` for matrices or stacks of them.",
                shape: matmul, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [1, 0] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), false, false)?),
                    |x, out| array::matmul(x.a(), x.b(), false, false, out)
                ),
            }
            MatMulNh matmul_nh (a: Array, b: Array) -> Array {
                doc: "`A B^H` for matrices or stacks of them.",
                shape: matmul_nh, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [1, 1] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), false, true)?),
                    |x, out| array::matmul(x.a(), x.b(), false, true, out)
                ),
            }
            MatMulHn matmul_hn (a: Array, b: Array) -> Array {
                doc: "`A^H B` for matrices or stacks of them.",
                shape: matmul_hn, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [0, 0] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), true, false)?),
                    |x, out| array::matmul(x.a(), x.b(), true, false, out)
                ),
            }
            TraceProduct trace_product (a: Array, b: Array) -> Number {
                doc: "`tr(A B)` without the product.",
                shape: trace_product, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: PerElement(2),
                value: own(),
            }
            Contract contract (a: Array, b: Array, labels: Ints) -> Array {
                doc: "The sum of products of elements of two arrays over the labels of their axes that the result lacks: `contract(a, b, [0, 1, 1, 2, 0, 2])` is `matmul(a, b)`. The labels are those of both arrays and of the result, one list after the other, or with the least integer between the lists, which then have to fit one by one; none occurs twice at one array.",
                shape: contract, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::Result),
                value: new(as_first, |x, out| contract(Contracted::Result, x, out)),
            }
            ContractFirst contract_first (y: Array, b: Array, a: Like, labels: Ints) -> Array {
                doc: "`contract_first(y, b, a, labels)`: what `contract` does with y in the place of the result, for its first operand, in the shape of a. For cotangents.",
                shape: as_third, class: Like(2),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::First),
                value: new(as_first, |x, out| contract(Contracted::First, x, out)),
            }
            ContractSecond contract_second (a: Array, y: Array, b: Like, labels: Ints) -> Array {
                doc: "`contract_second(a, y, b, labels)`: what `contract` does with y in the place of the result, for its second operand, in the shape of b. For cotangents.",
                shape: as_third, class: Like(2),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::Second),
                value: new(as_first, |x, out| contract(Contracted::Second, x, out)),
            }
            Convolve convolve (a: Array, b: Array) -> Array {
                doc: "The full convolution of two vectors.",
                shape: convolve, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Convolution,
                value: new(together, |x, out| array::convolve(x.a(), x.b(), out)),
            }
            Correlate correlate (a: Array, b: Array) -> Array {
                doc: "`y_k = sum_i a_(k+i) conj(b_i)` of two vectors, wherever the second fits into the first.",
                shape: correlate, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Correlation,
                value: new(as_first, |x, out| array::correlate(x.a(), x.b(), out)),
            }
            Fft fft (x: Complexes) -> Complexes {
                doc: "The discrete Fourier transform along the last axis, `sum_j x_j e^(-2 pi i j k / n)`.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Linear, failure: ByShapes, work: Fourier,
                value: own(),
            }
            FftBack fft_back (x: Complexes) -> Complexes {
                doc: "`sum_j x_j e^(2 pi i j k / n)` along the last axis: n times the inverse of `fft`.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Linear, failure: ByShapes, work: Fourier,
                value: own(),
            }
            // Linear algebra.
            Solve solve (a: Array, b: Array) -> Array {
                doc: "`A^-1 B` for a square matrix and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: LuSolution,
                value: new(as_second, |x, out| array::solve(x.a(), x.b(), false, out)),
            }
            SolveAdjoint solve_adjoint (a: Array, b: Array) -> Array {
                doc: "`(A^H)^-1 B` for a square matrix and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: LuSolution,
                value: new(as_second, |x, out| array::solve(x.a(), x.b(), true, out)),
            }
            SolveLower solve_lower (a: Array, b: Array) -> Array {
                doc: "`L^-1 B` for the lower triangle L of a square matrix, all that is read of it, and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: Only(&[1]), derivative: Curved, failure: ByData, work: TriangularSolution,
                value: new(as_second, |x, out| array::solve_triangular(x.a(), x.b(), false, out)),
            }
            SolveUpper solve_upper (a: Array, b: Array) -> Array {
                doc: "`U^-1 B` for the upper triangle U of a square matrix, all that is read of it, and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: Only(&[1]), derivative: Curved, failure: ByData, work: TriangularSolution,
                value: new(as_second, |x, out| array::solve_triangular(x.a(), x.b(), true, out)),
            }
            Lstsq lstsq (a: Array, b: Array) -> Array {
                doc: "The x that makes the norm of `A x - b` least, for a matrix A of any shape and a vector or the columns of a matrix b; where there are several, that of least norm. Singular values of A of at most `max(m, n)` times 2^-52 of the greatest count as 0; derivatives are those along which the rank of A stays.",
                shape: lstsq, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: LeastSquares,
                value: new(
                    |x| match (&*x.a().shape(), &*x.b().shape()) {
                        ([m, n], [l, k]) if m == l => x.count(&[*n, *k]),
                        _ => as_first(x),
                    },
                    |x, out| array::lstsq(x.a(), x.b(), out)
                ),
            }
            Inv inv (a: Array) -> Array {
                doc: "The inverse of a matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 1), cost: 4 },
                value: new(as_first, |x, out| array::inverse(x.a(), out)),
            }
            Pinv pinv (a: Array) -> Array {
                doc: "The pseudoinverse of a matrix `m x n`, `n x m`. Singular values of at most `max(m, n)` times 2^-52 of the greatest count as 0; derivatives are those along which the rank stays.",
                shape: pinv, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: SingularValues,
                value: new(as_first, |x, out| array::pinv(x.a(), out)),
            }
            Det det (a: Array) -> Number {
                doc: "The determinant.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
            }
            Cofactors cofactors (a: Array) -> Array {
                doc: "The derivatives of the determinant of a square matrix by its elements: `det A A^-T`, and what that is in the limit for a singular matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 1), cost: 30 },
                value: new(as_first, |x, out| array::cofactors(x.a(), out)),
            }
            CofactorsAlong cofactors_along (a: Array, e: Array) -> Array {
                doc: "The derivative of the cofactors of a square matrix A along another one E, `d/dt cofactors(A + t E)` at `t = 0`, of singular matrices too. Its own derivative by A needs the inverse.",
                shape: two_square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (4, 1), cost: 30 },
                value: new(as_first, |x, out| array::cofactors_along(x.a(), x.b(), out)),
            }
            SignDet signdet (a: Array) -> Number {
                doc: "`det A / |det A|`, so that `signdet(a) * exp(logabsdet(a))` is the determinant, without overflow; 0 for a singular matrix. Of a real matrix it counts as a constant.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: Nothing, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
            }
            LogAbsDet logabsdet (a: Array) -> Real {
                doc: "`ln |det A|`.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
            }
            Cholesky cholesky (a: Array) -> Array {
                doc: "The lower triangular L with `L L^H = A`; only the lower triangle of A is read.",
                shape: square, class: Like(0),
                elements: Mixed, used: Nothing, derivative: Curved, failure: ByData, work: Cubic { flops: (1, 3), cost: 1 },
                value: new(as_first, |x, out| array::cholesky(x.a(), out)),
            }
            Qr qr (a: Array) -> Array {
                doc: "For a matrix with at least as many rows as columns: the matrix Q of orthonormal columns, and below it the upper triangular R, whose diagonal is not negative, with `A = Q R`. Its derivative needs columns that are linearly independent.",
                shape: qr, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Orthogonal,
                value: new(|x| x.matrix(|m, n| [m + n, n]), |x, out| array::qr(x.a(), out)),
            }
            Svd svd (a: Array) -> Array {
                doc: "For `A = U diag(s) V^H` the singular values s, descending, as first row, and below them the columns of U and of V, as many as the shorter side of A is long. Vectors of equal singular values, or of 0, are some basis of a space and carry no derivatives of each other: a gradient that needs them, of `U f(s) V^H`, is NaN.",
                shape: svd, class: Own,
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: SingularValues,
                value: new(|x| x.matrix(|m, n| [1 + m + n, m.min(n)]), |x, out| array::svd(x.a(), out)),
            }
            SvdAlong svd_along (a: Array, e: Array) -> Array {
                doc: "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal singular values the vectors between which the Hermitian part of `U^H E V` is diagonal. By E it has no derivative.",
                shape: svd_along, class: Own,
                elements: Mixed, used: Only(&[0]), derivative: Curved, failure: ByData, work: SingularValues,
                value: new(|x| x.matrix(|m, n| [1 + m + n, m.min(n)]), |x, out| array::svd_along(x.a(), x.b(), out)),
            }
            Eigen eigen (a: Array) -> Array {
                doc: "Of the Hermitian part of a matrix: the eigenvalues, ascending, as first row, and below them the eigenvectors as columns. Eigenvectors of eigenvalues that are equal in all digits are some basis of a space, and carry no derivatives of each other: a gradient that needs them, of `V diag(g(w)) V^H`, is NaN.",
                shape: eigen, class: Own,
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: Cubic { flops: (9, 1), cost: 30 },
                value: new(
                    |x| x.matrix(|m, n| [m + 1, n]),
                    |x, out| values_and_vectors(out, |w, v| array::eigh(x.a(), w, v))
                ),
            }
            EigenAlong eigen_along (a: Array, e: Array) -> Array {
                doc: "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal eigenvalues the eigenvectors between which E is diagonal. By E it has no derivative.",
                shape: eigen_along, class: Own,
                elements: Mixed, used: Only(&[0]), derivative: Curved, failure: ByData, work: Cubic { flops: (9, 1), cost: 30 },
                value: new(
                    |x| x.matrix(|m, n| [m + 1, n]),
                    |x, out| values_and_vectors(out, |w, v| array::eigh_along(x.a(), x.b(), w, v))
                ),
            }
            Simple simple (x: Array, which: Int) -> Array {
                doc: "A decomposition as it is, of `eigen` or, if the number is odd, of `svd`. What leads back through it is NaN for vectors of equal values, of `svd` for those of 0, too: where something leads back to them, or wherever the number is above 1. For second derivatives.",
                shape: matrix, class: Like(0),
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: Free,
                value: own(),
            }
            Spectral spectral (product: Array, a: Array, both: Array, d: Array, slope: Array) -> Array {
                doc: "The first, which is `V diag(d) V^H`, as it is, with derivatives as a function `d = g(w)` of the Hermitian matrix that is the second, whose eigenvalues and eigenvectors the third holds. The fourth is d, the last `g'(w)`, which says what is derived between eigenvectors of equal eigenvalues.",
                shape: spectral, class: Like(0),
                elements: Mixed, used: Only(&[1, 3]), derivative: Curved, failure: ByData, work: Cubic { flops: (0, 1), cost: 4 },
                value: own(),
            }
            Expm expm (a: Array) -> Array {
                doc: "The exponential of a square matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (44, 3), cost: 30 },
                value: new(as_first, |x, out| array::expm(x.a(), out)),
            }
            ExpmAlong expm_along (a: Array, e: Array) -> Array {
                doc: "The derivative of the exponential of a square matrix A along another one E, `d/dt exp(A + t E)` at `t = 0`.",
                shape: two_square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (44, 1), cost: 100 },
                value: new(as_first, |x, out| array::expm_along(x.a(), x.b(), out)),
            }
        }
    };
}
