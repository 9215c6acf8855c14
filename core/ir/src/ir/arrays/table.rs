//! The table of array operations: an entry for each.
//!
//! It hands out tokens, and the names in a closure are those of the module whose reader expands it:
//! of `values.rs` in `value`, of `rules/arrays.rs` in `pull` and `push`.

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
                pull: [|r, bar| r.array_op(ReshapeLike, &[bar, x])],
            }
            ReshapeLike reshape_like (x: Array, like: Form) -> Array, earlier like {
                doc: "The elements of the first in the shape of the second, or in this shape, in row-major order, cut off or followed by zeros. For (co)tangents.",
                shape: as_second, class: Like(1),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| {
                    array::reshape_like(out, &x.form(0)?);
                    Ok(())
                }),
                pull: [|r, bar| r.array_op(ReshapeLike, &[bar, x]), zero],
            }
            InsertAxis insert_axis (x: Array, axis: Int) -> Array {
                doc: "With a new axis of length 1 at the given place.",
                shape: insert_axis, class: Undoes(ArrayOp::DropAxis, &[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::insert_axis(out, x.int(0))),
                pull: [|r, bar| r.array_op(ReshapeLike, &[bar, x])],
            }
            DropAxis drop_axis (x: Array, axis: Int) -> Array {
                doc: "Without an axis, whose length must be 1.",
                shape: drop_axis, class: Undoes(ArrayOp::InsertAxis, &[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::drop_axis(out, x.int(0))),
                pull: [|r, bar| r.array_op(ReshapeLike, &[bar, x])],
            }
            Transpose transpose (x: Array) -> Array {
                doc: "The last two axes change places.",
                shape: transpose, class: Rearranged(&[]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::transpose(x.a(), out)),
                pull: [|r, bar| r.array_op(Transpose, &[bar])],
            }
            Permute permute (x: Array, axes: Ints) -> Array {
                doc: "Axis k of the result is axis `p[k]` of the array.",
                shape: permute, class: Rearranged(&[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::permute(x.a(), x.list(), false, out)),
                pull: [|r, bar| r.array_op(Unpermute, &[bar, axes])],
            }
            Unpermute unpermute (x: Array, axes: Ints) -> Array {
                doc: "Axis `p[k]` of the result is axis k of the array.",
                shape: unpermute, class: Computed(&[1]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::permute(x.a(), x.list(), true, out)),
                pull: [|r, bar| r.array_op(Permute, &[bar, axes])],
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
                pull: [|r, bar| r.array_op(Pad, &[bar, x, axis, start])],
            }
            Pad pad (part: Array, x: Form, axis: Int, start: Int) -> Array, earlier embed {
                doc: "`pad(part, x, axis, start)`: a part in its place among zeros, in the shape of x, or in the shape x.",
                shape: place_part, class: Like(1),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(given, |x, out| array::pad(x.a(), &x.form(1)?, x.int(0), x.int(1), out)),
                pull: [|r, bar| r.slice_like(bar, part, axis, start), zero],
            }
            DynamicUpdateSlice dynamic_update_slice (part: Array, x: Array, axis: Int, start: Int) -> Array, earlier paste {
                doc: "`dynamic_update_slice(part, x, axis, start)`: x, but for a part in its place.",
                shape: place_part, class: Like(1),
                elements: Moved, used: Only(&[1]), derivative: Joint, failure: ByShapes, work: Free,
                value: own(),
                pull: [
                    |r, bar| r.slice_like(bar, part, axis, start),
                    |r, bar| {
                        let blank = r.lit(0.0, part);
                        let blank = r.array_op(BroadcastTo, &[blank, part]);
                        r.array_op(DynamicUpdateSlice, &[blank, bar, axis, start])
                    },
                ],
            }
            Concat concat (a: Array, b: Array, axis: Int) -> Array {
                doc: "Two arrays joined along an axis.",
                shape: concat, class: Computed(&[2]),
                elements: Moved, used: All, derivative: Joint, failure: ByShapes, work: Free,
                value: new(together, |x, out| array::concat(x.a(), x.b(), x.int(0), out)),
                pull: |r, k, bar| {
                    let (zero, m) = (r.b.int(0), r.dim(a, axis));
                    let (start, n) = if k == 0 { (zero, m) } else { (m, r.dim(b, axis)) };
                    r.array_op(Slice, &[bar, axis, start, n])
                },
            }
            Gather gather (x: Array, indices: Ints) -> Array, earlier take {
                doc: "`x[i_0], x[i_1], …` along the first axis.",
                shape: gather, class: Own,
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(
                    |x| x.count(&[x.list().len(), x.a().len() / x.a().shape()[0].max(1)]),
                    |x, out| array::gather(x.a(), x.list(), out)
                ),
                pull: [|r, bar| r.array_op(Scatter, &[bar, x, indices])],
            }
            Scatter scatter (y: Array, x: Like, indices: Ints) -> Array {
                doc: "`scatter(y, x, i)`: the rows of y added to the rows i of zeros in the shape of x.",
                shape: scatter, class: Like(1),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(as_second, |x, out| array::scatter(x.a(), &x.b().shape(), x.list(), out)),
                pull: [
                    |r, bar| {
                        let rows = r.array_op(Gather, &[bar, indices]);
                        r.array_op(ReshapeLike, &[rows, y])
                    },
                    zero,
                ],
            }
            BroadcastTo broadcast_to (x: Either, like: Form) -> Array, earlier spread {
                doc: "Repeated to the shape of the second; an array also to this shape.",
                shape: broadcast_to, class: Like(1),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(given, |x, out| array::broadcast_to(x.a(), &x.form(1)?, out)),
                pull: [|r, bar| summed_like(r.b, bar, x), zero],
            }
            SumLike sum_like (x: Array, like: Form) -> Array {
                doc: "The sums over the repeated elements, in the shape of the second, or in this shape.",
                shape: sum_like, class: Like(1),
                elements: Reduced, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(given, |x, out| array::sum_like(x.a(), &x.form(1)?, out)),
                pull: [|r, bar| r.array_op(BroadcastTo, &[bar, x]), zero],
            }
            Flip flip (x: Array, axis: Int) -> Array {
                doc: "The elements along an axis in the opposite order.",
                shape: same_along, class: Like(0),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_first, |x, out| array::flip(x.a(), x.int(0), out)),
                pull: [|r, bar| r.array_op(Flip, &[bar, axis])],
            }
            GatherAlong gather_along (x: Array, indices: Ints, axis: Int) -> Array, earlier take_along {
                doc: "`gather_along(x, indices, axis)`: the element of each line along an axis at its index; the axis is lost.",
                shape: gather_along, class: Own,
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(lines, |x, out| array::gather_along(x.a(), &x.indices(), x.int(0), out)),
                pull: [|r, bar| r.array_op(ScatterAlong, &[bar, x, indices, axis])],
            }
            ScatterAlong scatter_along (y: Array, x: Array, indices: Ints, axis: Int) -> Array {
                doc: "`scatter_along(y, x, indices, axis)`: zeros in the shape of x, but for an element of y in each line along an axis at its index.",
                shape: scatter_along, class: Like(1),
                elements: Moved, used: Only(&[0]), derivative: Linear, failure: ByShapes, work: Free,
                value: new(as_second, |x, out| array::scatter_along(x.a(), &x.b().shape(), &x.indices(), x.int(0), out)),
                pull: [|r, bar| r.array_op(GatherAlong, &[bar, indices, axis]), zero],
            }
            Tril tril (x: Array, k: Int) -> Array {
                doc: "The elements on and below the k-th diagonal of matrices; the others are 0.",
                shape: matrices, class: Like(0),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::triangle(out, x.int(0), false)),
                pull: [|r, bar| r.array_op(Tril, &[bar, k])],
            }
            Triu triu (x: Array, k: Int) -> Array {
                doc: "The elements on and above the k-th diagonal of matrices; the others are 0.",
                shape: matrices, class: Like(0),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: in_place(|x, out| array::triangle(out, x.int(0), true)),
                pull: [|r, bar| r.array_op(Triu, &[bar, k])],
            }
            Diagonal diagonal (x: Array) -> Array {
                doc: "The main diagonal of a matrix.",
                shape: diagonal, class: Computed(&[]),
                elements: Moved, used: Nothing, derivative: Linear, failure: ByShapes, work: Free,
                value: new(
                    |x| Ok(x.a().shape().iter().copied().min().unwrap_or(0)),
                    |x, out| array::diagonal(x.a(), out)
                ),
                pull: [|r, bar| r.array_op(DiagonalMatrix, &[bar])],
            }
            DiagonalMatrix diagonal_matrix (x: Array) -> Array {
                doc: "The square matrix with the given diagonal.",
                shape: diagonal_matrix, class: Computed(&[]),
                elements: Moved, used: All, derivative: Linear, failure: ByShapes, work: Free,
                value: new(|x| x.count(&[x.a().len(), x.a().len()]), |x, out| array::diagonal_matrix(x.a(), out)),
                pull: [|r, bar| r.array_op(Diagonal, &[bar])],
            }
            // Reductions.
            SumKeep sum_keep (x: Array, axis: Int) -> Array {
                doc: "The sums along an axis, whose length becomes 1.",
                shape: keep_axis, class: Reduced,
                elements: Reduced, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: new(lines, |x, out| array::sum_keep(x.a(), x.int(0), out)),
                pull: [|r, bar| r.array_op(BroadcastTo, &[bar, x])],
            }
            Cumsum cumsum (x: Array, axis: Int) -> Array {
                doc: "The sums up to each element along an axis.",
                shape: same_along, class: Like(0),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: in_place(|x, out| array::cumulative_sum(out, x.int(0), false)),
                pull: [|r, bar| r.array_op(ReverseCumsum, &[bar, axis])],
            }
            ReverseCumsum reverse_cumsum (x: Array, axis: Int) -> Array, earlier cumsum_back {
                doc: "The sums from each element on along an axis.",
                shape: same_along, class: Like(0),
                elements: Summed, used: All, derivative: Linear, failure: ByShapes, work: Sums,
                value: in_place(|x, out| array::cumulative_sum(out, x.int(0), true)),
                pull: [|r, bar| r.array_op(Cumsum, &[bar, axis])],
            }
            LinearRecurrence linear_recurrence (a: Array, b: Array, axis: Int) -> Array {
                doc: "`y_0 = 0, y_(k+1) = a_k y_k + b_k` along an axis, which is one longer than those of a and b.",
                shape: linear_recurrence, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(2),
                value: new(
                    |x| x.count(&[x.a().len() + x.lines()]),
                    |x, out| array::linear_recurrence(x.a(), x.b(), x.int(0), out)
                ),
                pull: [
                    |r, bar| {
                        let along = adjoint_recurrence(r, a, bar, axis);
                        let before = before_last(r, r.y, a, axis);
                        let before = r.conj(before);
                        r.mul(before, along)
                    },
                    |r, bar| adjoint_recurrence(r, a, bar, axis),
                ],
                push: |r, [a_dot, b_dot, _]| {
                    let moved = a_dot.map(|dot| {
                        let before = before_last(r, r.y, a, axis);
                        r.mul(dot, before)
                    });
                    let change = r.sum(moved, b_dot)?;
                    Some(r.array_op(LinearRecurrence, &[a, change, axis]))
                },
            }
            Prod prod (x: Array) -> Number {
                doc: "The product of all elements; 1 for none.",
                shape: number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(1),
                value: own(),
                pull: [|r, bar| {
                    let others = r.array_op(ExclusiveProd, &[x]);
                    let others = r.conj(others);
                    r.mul(others, bar)
                }],
                push: [|r, dot| {
                    let others = r.array_op(ExclusiveProd, &[x]);
                    r.array_op(Dot, &[others, dot])
                }],
            }
            ExclusiveProd exclusive_prod (x: Array) -> Array, earlier prod_others {
                doc: "For each element the product of all others.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(3),
                value: new(as_first, |x, out| {
                    array::exclusive_products(x.a(), out);
                    Ok(())
                }),
                pull: [|r, bar| {
                    let x = r.conj(x);
                    r.array_op(ProdPairs, &[x, bar])
                }],
                push: [|r, dot| r.array_op(ProdPairs, &[x, dot])],
            }
            ProdPairs prod_pairs (x: Array, v: Array) -> Array {
                doc: "`y_i = sum_(j != i) v_j prod_(k != i, j) x_k`: the second derivative of the product of x, times v. Its derivative by x takes systems of equations, O(n^2).",
                shape: both_same, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByShapes, work: PerElement(11),
                value: new(as_first, |x, out| array::product_pairs(x.a(), x.b(), out)),
                pull: [
                    |r, bar| {
                        let (x, v) = (r.conj(x), r.conj(v));
                        products::triples(r, x, v, bar)
                    },
                    |r, bar| {
                        let x = r.conj(x);
                        r.array_op(ProdPairs, &[x, bar])
                    },
                ],
                push: [
                    |r, dot| products::triples(r, x, v, dot),
                    |r, dot| r.array_op(ProdPairs, &[x, dot]),
                ],
            }
            Norm norm (x: Array) -> Real {
                doc: "The square root of the sum of the squared moduli of all elements.",
                shape: number, class: Own,
                elements: Mixed, used: All, derivative: Steep, failure: ByShapes, work: PerElement(2),
                value: own(),
                pull: [|r, bar| norms::pull_norm(r, x, bar)],
                push: [|r, dot| norms::push_norm(r, x, dot)],
            }
            NormKeep norm_keep (x: Reals, axis: Int) -> Reals {
                doc: "`norm` along an axis, whose length becomes 1.",
                shape: keep_axis, class: Reduced,
                elements: Mixed, used: All, derivative: Steep, failure: ByShapes, work: PerElement(2),
                value: own(),
                pull: [|r, bar| norms::pull_norm_keep(r, x, bar)],
                push: [|r, dot| norms::push_norm_keep(r, x, axis, dot)],
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
                pull: [|r, bar| softmax_slope(r, axis, bar)],
                push: [|r, dot| softmax_slope(r, axis, dot)],
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
                pull: [
                    |r, bar| {
                        let b = r.conj(b);
                        r.mul(b, bar)
                    },
                    |r, bar| {
                        let a = r.conj(a);
                        r.mul(a, bar)
                    },
                ],
            }
            MatMul matmul (a: Array, b: Array) -> Array {
                doc: "`A B` for matrices or stacks of them.",
                shape: matmul, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [1, 0] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), false, false)?),
                    |x, out| array::matmul(x.a(), x.b(), false, false, out)
                ),
                pull: [
                    |r, bar| r.product_like(MatMulNh, [bar, b], a),
                    |r, bar| r.product_like(MatMulHn, [a, bar], b),
                ],
            }
            MatMulNh matmul_nh (a: Array, b: Array) -> Array {
                doc: "`A B^H` for matrices or stacks of them.",
                shape: matmul_nh, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [1, 1] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), false, true)?),
                    |x, out| array::matmul(x.a(), x.b(), false, true, out)
                ),
                pull: [
                    |r, bar| r.product_like(MatMul, [bar, b], a),
                    |r, bar| r.product_like(MatMulHn, [bar, a], b),
                ],
            }
            MatMulHn matmul_hn (a: Array, b: Array) -> Array {
                doc: "`A^H B` for matrices or stacks of them.",
                shape: matmul_hn, class: Computed(&[]),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: MatMul { free: [0, 0] },
                value: new(
                    |x| x.count(&array::matmul_shape(x.a(), x.b(), true, false)?),
                    |x, out| array::matmul(x.a(), x.b(), true, false, out)
                ),
                pull: [
                    |r, bar| r.product_like(MatMulNh, [b, bar], a),
                    |r, bar| r.product_like(MatMul, [a, bar], b),
                ],
            }
            TraceProduct trace_product (a: Array, b: Array) -> Number {
                doc: "`tr(A B)` without the product.",
                shape: trace_product, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: PerElement(2),
                value: own(),
                pull: [
                    |r, bar| {
                        let b = r.adjoint(b);
                        r.mul(b, bar)
                    },
                    |r, bar| {
                        let a = r.adjoint(a);
                        r.mul(a, bar)
                    },
                ],
            }
            Contract contract (a: Array, b: Array, labels: Ints) -> Array {
                doc: "The sum of products of elements of two arrays over the labels of their axes that the result lacks: `contract(a, b, [0, 1, 1, 2, 0, 2])` is `matmul(a, b)`. The labels are those of both arrays and of the result, one list after the other, or with the least integer between the lists, which then have to fit one by one; none occurs twice at one array.",
                shape: contract, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::Result),
                value: new(as_first, |x, out| contract(Contracted::Result, x, out)),
                pull: [
                    |r, bar| {
                        let b = r.conj(b);
                        r.array_op(ContractFirst, &[bar, b, a, labels])
                    },
                    |r, bar| {
                        let a = r.conj(a);
                        r.array_op(ContractSecond, &[a, bar, b, labels])
                    },
                ],
            }
            ContractFirst contract_first (y: Array, b: Array, a: Like, labels: Ints) -> Array {
                doc: "`contract_first(y, b, a, labels)`: what `contract` does with y in the place of the result, for its first operand, in the shape of a. For cotangents.",
                shape: as_third, class: Like(2),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::First),
                value: new(as_first, |x, out| contract(Contracted::First, x, out)),
                pull: [
                    |r, bar| {
                        let b = r.conj(b);
                        r.array_op(Contract, &[bar, b, labels])
                    },
                    |r, bar| {
                        let y = r.conj(y);
                        r.array_op(ContractSecond, &[bar, y, b, labels])
                    },
                    zero,
                ],
            }
            ContractSecond contract_second (a: Array, y: Array, b: Like, labels: Ints) -> Array {
                doc: "`contract_second(a, y, b, labels)`: what `contract` does with y in the place of the result, for its second operand, in the shape of b. For cotangents.",
                shape: as_third, class: Like(2),
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Contraction(Contracted::Second),
                value: new(as_first, |x, out| contract(Contracted::Second, x, out)),
                pull: [
                    |r, bar| {
                        let y = r.conj(y);
                        r.array_op(ContractFirst, &[y, bar, a, labels])
                    },
                    |r, bar| {
                        let a = r.conj(a);
                        r.array_op(Contract, &[a, bar, labels])
                    },
                    zero,
                ],
            }
            Convolve convolve (a: Array, b: Array) -> Array {
                doc: "The full convolution of two vectors.",
                shape: convolve, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Convolution,
                value: new(together, |x, out| array::convolve(x.a(), x.b(), out)),
                pull: [
                    |r, bar| r.array_op(Correlate, &[bar, b]),
                    |r, bar| r.array_op(Correlate, &[bar, a]),
                ],
            }
            Correlate correlate (a: Array, b: Array) -> Array {
                doc: "`y_k = sum_i a_(k+i) conj(b_i)` of two vectors, wherever the second fits into the first.",
                shape: correlate, class: Own,
                elements: Mixed, used: All, derivative: Bilinear, failure: ByShapes, work: Correlation,
                value: new(as_first, |x, out| array::correlate(x.a(), x.b(), out)),
                pull: [
                    |r, bar| r.array_op(Convolve, &[bar, b]),
                    |r, bar| r.array_op(Correlate, &[a, bar]),
                ],
            }
            Fft fft (x: Complexes) -> Complexes {
                doc: "The discrete Fourier transform along the last axis, `sum_j x_j e^(-2 pi i j k / n)`.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Linear, failure: ByShapes, work: Fourier,
                value: own(),
                pull: [|r, bar| r.array_op(FftBack, &[bar])],
            }
            FftBack fft_back (x: Complexes) -> Complexes {
                doc: "`sum_j x_j e^(2 pi i j k / n)` along the last axis: n times the inverse of `fft`.",
                shape: same, class: Like(0),
                elements: Mixed, used: All, derivative: Linear, failure: ByShapes, work: Fourier,
                value: own(),
                pull: [|r, bar| r.array_op(Fft, &[bar])],
            }
            // Linear algebra.
            Solve solve (a: Array, b: Array) -> Array {
                doc: "`A^-1 B` for a square matrix and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: LuSolution,
                value: new(as_second, |x, out| array::solve(x.a(), x.b(), false, out)),
                pull: [
                    |r, bar| {
                        let b_bar = r.array_op(SolveAdjoint, &[a, bar]);
                        let t = r.outer(b_bar, r.y, a);
                        r.neg(t)
                    },
                    |r, bar| r.array_op(SolveAdjoint, &[a, bar]),
                ],
                push: |r, dots| factors::push_solve(r, Solve, a, dots),
            }
            SolveAdjoint solve_adjoint (a: Array, b: Array) -> Array {
                doc: "`(A^H)^-1 B` for a square matrix and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: LuSolution,
                value: new(as_second, |x, out| array::solve(x.a(), x.b(), true, out)),
                pull: [
                    |r, bar| {
                        let b_bar = r.array_op(Solve, &[a, bar]);
                        let t = r.outer(r.y, b_bar, a);
                        r.neg(t)
                    },
                    |r, bar| r.array_op(Solve, &[a, bar]),
                ],
                push: |r, dots| factors::push_solve(r, SolveAdjoint, a, dots),
            }
            SolveLower solve_lower (a: Array, b: Array) -> Array {
                doc: "`L^-1 B` for the lower triangle L of a square matrix, all that is read of it, and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: Only(&[1]), derivative: Curved, failure: ByData, work: TriangularSolution,
                value: new(as_second, |x, out| array::solve_triangular(x.a(), x.b(), false, out)),
                pull: |r, k, bar| factors::pull_triangular(r, SolveLower, a, k, bar),
                push: |r, dots| factors::push_solve(r, SolveLower, a, dots),
            }
            SolveUpper solve_upper (a: Array, b: Array) -> Array {
                doc: "`U^-1 B` for the upper triangle U of a square matrix, all that is read of it, and a vector or matrix.",
                shape: solve, class: Own,
                elements: Mixed, used: Only(&[1]), derivative: Curved, failure: ByData, work: TriangularSolution,
                value: new(as_second, |x, out| array::solve_triangular(x.a(), x.b(), true, out)),
                pull: |r, k, bar| factors::pull_triangular(r, SolveUpper, a, k, bar),
                push: |r, dots| factors::push_solve(r, SolveUpper, a, dots),
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
                pull: |r, k, bar| least::pull_lstsq(r, [a, b], k, bar),
                push: [
                    |r, dot| least::push_lstsq(r, [a, b], dot),
                    |r, dot| r.array_op(Lstsq, &[a, dot]),
                ],
            }
            Inv inv (a: Array) -> Array {
                doc: "The inverse of a matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 1), cost: 4 },
                value: new(as_first, |x, out| array::inverse(x.a(), out)),
                pull: [|r, bar| {
                    let t = r.array_op(MatMulHn, &[r.y, bar]);
                    let t = r.array_op(MatMulNh, &[t, r.y]);
                    r.neg(t)
                }],
                push: [|r, dot| {
                    let t = r.array_op(MatMul, &[r.y, dot]);
                    let t = r.array_op(MatMul, &[t, r.y]);
                    r.neg(t)
                }],
            }
            Pinv pinv (a: Array) -> Array {
                doc: "The pseudoinverse of a matrix `m x n`, `n x m`. Singular values of at most `max(m, n)` times 2^-52 of the greatest count as 0; derivatives are those along which the rank stays.",
                shape: pinv, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: SingularValues,
                value: new(as_first, |x, out| array::pinv(x.a(), out)),
                pull: [|r, bar| least::pull_pinv(r, a, bar)],
                push: [|r, dot| least::push_pinv(r, a, dot)],
            }
            Det det (a: Array) -> Number {
                doc: "The determinant.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
                pull: [|r, bar| {
                    let cofactors = r.array_op(Cofactors, &[a]);
                    let cofactors = r.conj(cofactors);
                    r.mul(cofactors, bar)
                }],
                push: [|r, dot| {
                    let cofactors = r.array_op(Cofactors, &[a]);
                    r.array_op(Dot, &[cofactors, dot])
                }],
            }
            Cofactors cofactors (a: Array) -> Array {
                doc: "The derivatives of the determinant of a square matrix by its elements: `det A A^-T`, and what that is in the limit for a singular matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 1), cost: 30 },
                value: new(as_first, |x, out| array::cofactors(x.a(), out)),
                pull: [|r, bar| {
                    let a = r.conj(a);
                    r.array_op(CofactorsAlong, &[a, bar])
                }],
                push: [|r, dot| r.array_op(CofactorsAlong, &[a, dot])],
            }
            CofactorsAlong cofactors_along (a: Array, e: Array) -> Array {
                doc: "The derivative of the cofactors of a square matrix A along another one E, `d/dt cofactors(A + t E)` at `t = 0`, of singular matrices too. Its own derivative by A needs the inverse.",
                shape: two_square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (4, 1), cost: 30 },
                value: new(as_first, |x, out| array::cofactors_along(x.a(), x.b(), out)),
                pull: [
                    |r, bar| {
                        let of = [a, e, r.y].map(|x| r.conj(x));
                        factors::cofactors_twice(r, of, bar)
                    },
                    |r, bar| {
                        let a = r.conj(a);
                        r.array_op(CofactorsAlong, &[a, bar])
                    },
                ],
                push: [
                    |r, dot| factors::cofactors_twice(r, [a, e, r.y], dot),
                    |r, dot| r.array_op(CofactorsAlong, &[a, dot]),
                ],
            }
            SignDet signdet (a: Array) -> Number {
                doc: "`det A / |det A|`, so that `signdet(a) * exp(logabsdet(a))` is the determinant, without overflow; 0 for a singular matrix. Of a real matrix it counts as a constant.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: Nothing, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
                pull: [|r, bar| factors::pull_sign_det(r, a, bar)],
                push: [|r, dot| factors::push_sign_det(r, a, dot)],
            }
            LogAbsDet logabsdet (a: Array) -> Real {
                doc: "`ln |det A|`.",
                shape: square_to_number, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (2, 3), cost: 1 },
                value: own(),
                pull: [|r, bar| {
                    let inverse = r.array_op(Inv, &[a]);
                    let inverse = r.adjoint(inverse);
                    let factor = r.as_in(bar, a);
                    r.mul(inverse, factor)
                }],
                push: [|r, dot| {
                    let inverse = r.array_op(Inv, &[a]);
                    let trace = r.array_op(TraceProduct, &[inverse, dot]);
                    r.real(trace)
                }],
            }
            Cholesky cholesky (a: Array) -> Array {
                doc: "The lower triangular L with `L L^H = A`; only the lower triangle of A is read.",
                shape: square, class: Like(0),
                elements: Mixed, used: Nothing, derivative: Curved, failure: ByData, work: Cubic { flops: (1, 3), cost: 1 },
                value: new(as_first, |x, out| array::cholesky(x.a(), out)),
                pull: [|r, bar| factors::pull_cholesky(r, bar)],
                push: [|r, dot| factors::push_cholesky(r, dot)],
            }
            Qr qr (a: Array) -> Array {
                doc: "For a matrix with at least as many rows as columns: the matrix Q of orthonormal columns, and below it the upper triangular R, whose diagonal is not negative, with `A = Q R`. Its derivative needs columns that are linearly independent.",
                shape: qr, class: Own,
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Orthogonal,
                value: new(|x| x.matrix(|m, n| [m + n, n]), |x, out| array::qr(x.a(), out)),
                pull: [|r, bar| factors::pull_qr(r, a, bar)],
                push: [|r, dot| factors::push_qr(r, a, dot)],
            }
            Svd svd (a: Array) -> Array {
                doc: "For `A = U diag(s) V^H` the singular values s, descending, as first row, and below them the columns of U and of V, as many as the shorter side of A is long. Vectors of equal singular values, or of 0, are some basis of a space and carry no derivatives of each other: a gradient that needs them, of `U f(s) V^H`, is NaN.",
                shape: svd, class: Own,
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: SingularValues,
                value: new(|x| x.matrix(|m, n| [1 + m + n, m.min(n)]), |x, out| array::svd(x.a(), out)),
                pull: [|r, bar| {
                    let there = r.reach_of(bar);
                    factors::pull_svd(r, a, bar, Some(there))
                }],
                push: [|r, dot| factors::push_svd(r, a, dot, false)],
            }
            SvdAlong svd_along (a: Array, e: Array) -> Array {
                doc: "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal singular values the vectors between which the Hermitian part of `U^H E V` is diagonal. By E it has no derivative.",
                shape: svd_along, class: Own,
                elements: Mixed, used: Only(&[0]), derivative: Curved, failure: ByData, work: SingularValues,
                value: new(|x| x.matrix(|m, n| [1 + m + n, m.min(n)]), |x, out| array::svd_along(x.a(), x.b(), out)),
                pull: [|r, bar| factors::pull_svd(r, a, bar, None), zero],
                push: [|r, dot| factors::push_svd(r, a, dot, true), zero],
            }
            Eigen eigen (a: Array) -> Array {
                doc: "Of the Hermitian part of a matrix: the eigenvalues, ascending, as first row, and below them the eigenvectors as columns. Eigenvectors of eigenvalues that are equal in all digits are some basis of a space, and carry no derivatives of each other: a gradient that needs them, of `V diag(g(w)) V^H`, is NaN.",
                shape: eigen, class: Own,
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: Cubic { flops: (9, 1), cost: 30 },
                value: new(
                    |x| x.matrix(|m, n| [m + 1, n]),
                    |x, out| values_and_vectors(out, |w, v| array::eigh(x.a(), w, v))
                ),
                pull: [|r, bar| {
                    let there = r.reach_of(bar);
                    eigen::pull_eigen(r, a, bar, Some(there))
                }],
                push: [|r, dot| eigen::push_eigen(r, a, dot, false)],
            }
            EigenAlong eigen_along (a: Array, e: Array) -> Array {
                doc: "The same of `A + t E`, for small `t > 0` as `t` falls to 0: of equal eigenvalues the eigenvectors between which E is diagonal. By E it has no derivative.",
                shape: eigen_along, class: Own,
                elements: Mixed, used: Only(&[0]), derivative: Curved, failure: ByData, work: Cubic { flops: (9, 1), cost: 30 },
                value: new(
                    |x| x.matrix(|m, n| [m + 1, n]),
                    |x, out| values_and_vectors(out, |w, v| array::eigh_along(x.a(), x.b(), w, v))
                ),
                pull: [|r, bar| eigen::pull_eigen(r, a, bar, None), zero],
                push: [|r, dot| eigen::push_eigen(r, a, dot, true), zero],
            }
            Simple simple (x: Array, which: Int) -> Array {
                doc: "A decomposition as it is, of `eigen` or, if the number is odd, of `svd`. What leads back through it is NaN for vectors of equal values, of `svd` for those of 0, too: where something leads back to them, or wherever the number is above 1. For second derivatives.",
                shape: matrix, class: Like(0),
                elements: Mixed, used: All, derivative: Degenerate, failure: ByData, work: Free,
                value: own(),
                pull: [|r, bar| eigen::pull_simple(r, [x, which], bar)],
                push: [|_, dot| dot],
            }
            Spectral spectral (product: Array, a: Array, both: Array, d: Array, slope: Array) -> Array {
                doc: "The first, which is `V diag(d) V^H`, as it is, with derivatives as a function `d = g(w)` of the Hermitian matrix that is the second, whose eigenvalues and eigenvectors the third holds. The fourth is d, the last `g'(w)`, which says what is derived between eigenvectors of equal eigenvalues.",
                shape: spectral, class: Like(0),
                elements: Mixed, used: Only(&[1, 3]), derivative: Curved, failure: ByData, work: Cubic { flops: (0, 1), cost: 4 },
                value: own(),
                pull: |r, k, bar| eigen::pull_spectral(r, [a, both, d, slope], k, bar),
                push: |r, [_, a_dot, _, d_dot, _]| {
                    eigen::push_spectral(r, [a, both, d, slope], [a_dot, d_dot])
                },
            }
            Expm expm (a: Array) -> Array {
                doc: "The exponential of a square matrix.",
                shape: square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (44, 3), cost: 30 },
                value: new(as_first, |x, out| array::expm(x.a(), out)),
                pull: [|r, bar| {
                    let a = r.adjoint(a);
                    r.array_op(ExpmAlong, &[a, bar])
                }],
                push: [|r, dot| r.array_op(ExpmAlong, &[a, dot])],
            }
            ExpmAlong expm_along (a: Array, e: Array) -> Array {
                doc: "The derivative of the exponential of a square matrix A along another one E, `d/dt exp(A + t E)` at `t = 0`.",
                shape: two_square, class: Like(0),
                elements: Mixed, used: All, derivative: Curved, failure: ByData, work: Cubic { flops: (44, 1), cost: 100 },
                value: new(as_first, |x, out| array::expm_along(x.a(), x.b(), out)),
                pull: [
                    |r, bar| {
                        let (a, e) = (r.adjoint(a), r.adjoint(e));
                        factors::twice_along(r, a, e, bar)
                    },
                    |r, bar| {
                        let a = r.adjoint(a);
                        r.array_op(ExpmAlong, &[a, bar])
                    },
                ],
                push: [
                    |r, dot| factors::twice_along(r, a, e, dot),
                    |r, dot| r.array_op(ExpmAlong, &[a, dot]),
                ],
            }
        }
    };
}
