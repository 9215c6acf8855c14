//! Functions of arrays: the operations by their names, and functions that are composed of several
//! operations.

use crate::{
    entity::Value,
    ir::{ArrayOp, BETWEEN, Element, Kind, Mixed, Number1, Number2, Op},
};

use super::{Builtin, InfixOperator, StagedOperand, StagingBuilder, TypeMismatch};

macro_rules! composed {
    ($($f:ident $name:literal ($($hint:ident),*) $doc:literal;)*) => {
        /// Function of arrays that is composed of operations.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Composed { $(#[doc = $doc] $f,)* }

        impl Composed {
            /// All of them.
            pub const ALL: &'static [Composed] = &[$(Composed::$f),*];
            /// Returns the name in text.
            #[must_use]
            pub fn name(self) -> &'static str { match self { $(Composed::$f => $name,)* } }
            /// Returns a sentence that says what the function computes.
            #[must_use]
            pub fn doc(self) -> &'static str { match self { $(Composed::$f => $doc,)* } }
            /// Returns the function of the given name.
            pub(crate) fn by_name(name: &str) -> Option<Composed> {
                match name { $($name => Some(Composed::$f),)* _ => None }
            }
            fn hints(self) -> &'static [OperandHint] { match self { $(Composed::$f => &[$(OperandHint::$hint),*],)* } }
        }
    };
}
composed! {
    SumAxis "sum_axis" (Array, Int) "The sums along an axis, which is lost.";
    Mean "mean" (Array) "The mean of all elements.";
    MeanAxis "mean_axis" (Array, Int) "The means along an axis, which is lost.";
    LogSumExp "logsumexp" (Reals) "`ln sum exp x` over all elements, without overflow.";
    LogSumExpKeep "logsumexp_keep" (Reals, Int) "`ln sum exp x` along an axis, whose length becomes 1.";
    LogSoftmax "log_softmax" (Reals, Int) "`x - ln sum exp x` along an axis, the logarithm of `softmax` without overflow.";
    LogSumExpAxis "logsumexp_axis" (Reals, Int) "`ln sum exp x` along an axis, which is lost.";
    Var "var" (Array) "The variance of all elements: the mean of the squared distances from the mean. It is divided by their number n, as NumPy does by default; with n - 1 in its place it is `n / (n - 1)` times that.";
    VarAxis "var_axis" (Array, Int) "`var` along an axis, which is lost.";
    Std "std" (Array) "The standard deviation of all elements, the root of `var`; where all are equal its derivative is 0.";
    StdAxis "std_axis" (Array, Int) "`std` along an axis, which is lost.";
    NormAxis "norm_axis" (Array, Int) "`norm` along an axis, which is lost.";
    ProdAxis "prod_axis" (Array, Int) "The products along an axis, which is lost.";
    Cumprod "cumprod" (Array, Int) "The products up to each element along an axis.";
    MaximumAxis "maximum_axis" (Reals, Int) "The greatest elements along an axis, which is lost; the first one at a tie gets the cotangent.";
    MinimumAxis "minimum_axis" (Reals, Int) "The least elements along an axis, which is lost; the first one at a tie gets the cotangent.";
    Maximum "maximum" (Reals) "The greatest element; the first one at a tie gets the cotangent.";
    Minimum "minimum" (Reals) "The least element; the first one at a tie gets the cotangent.";
    Sort "sort" (Reals) "The elements of a vector in ascending order; each gets the cotangent of its place.";
    Trace "trace" (Array) "The sum of the diagonal of a matrix.";
    MatVec "matvec" (Array, Array) "The product of a matrix and a vector.";
    Outer "outer" (Array, Array) "`y_ij = a_i b_j` of two vectors; nothing is conjugated.";
    Einsum "einsum" (Array, Array, Ints, Ints, Ints) "`einsum(a, b, [0, 1], [1, 2], [0, 2])`: sums of products of elements of two arrays over the labels of axes that the last list lacks; the lists are written out.";
    Kron "kron" (Array, Array) "The Kronecker product of two matrices.";
    Row "row" (Array, Int) "The elements at an index along the first axis, which is lost.";
    WithRow "with_row" (Array, Array, Int) "`with_row(x, y, k)`: x, but for y at index k along the first axis.";
    Masked "masked" (Reals, Number, Number) "`masked(m, x, y)`: x where m is 1, as `step` gives it, and y where it is 0, element by element. What is not chosen has no part in values and derivatives, even if it is infinite or undefined.";
    Full "full" (Number, Ints) "An array of the given shape with one number everywhere.";
    Eye "eye" (Int) "The unit matrix.";
    EigenValues "eigvalsh" (Array) "The eigenvalues of the Hermitian part of a matrix, ascending.";
    EigenVectors "eigvecsh" (Array) "The eigenvectors of the Hermitian part of a matrix as columns, in the order of the eigenvalues.";
    Orthonormal "qr_q" (Array) "The matrix of orthonormal columns Q of `A = Q R`, as many as the shorter side of A is long.";
    Triangular "qr_r" (Array) "R of `A = Q R`, zero below its diagonal, which is not negative; it has as many rows as the shorter side of A is long.";
    SingularValues "svdvals" (Array) "The singular values of a matrix, descending.";
    LeftVectors "svd_u" (Array) "The left singular vectors as columns: U of `A = U diag(s) V^H`, as many as the shorter side of A is long.";
    RightVectors "svd_v" (Array) "The right singular vectors as columns: V of `A = U diag(s) V^H`, as many as the shorter side of A is long.";
    InverseFft "ifft" (Complexes) "The inverse of `fft`.";
}

/// Expected kind of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OperandHint {
    Array,
    Reals,
    Complexes,
    Number,
    Int,
    Ints,
}

impl Composed {
    /// Returns the number of operands.
    pub(crate) fn arity(self) -> usize {
        self.hints().len()
    }

    /// Returns the expected kind of the k-th operand, where that does not depend on the others.
    pub(crate) fn hint(self, k: usize) -> Option<Kind> {
        match self.hints().get(k)? {
            OperandHint::Array | OperandHint::Number => None,
            OperandHint::Reals => Some(Kind::Array(Element::Real)),
            OperandHint::Complexes => Some(Kind::Array(Element::Complex)),
            OperandHint::Int => Some(Kind::Int),
            OperandHint::Ints => Some(Kind::Array(Element::Int)),
        }
    }
}

impl StagingBuilder {
    /// Appends an operation on whole arrays. Real arrays and numbers are promoted if others are
    /// complex.
    pub(super) fn on_arrays(
        &mut self,
        op: ArrayOp,
        args: &[StagedOperand],
    ) -> Result<Value, TypeMismatch> {
        let complex = args.iter().any(|g| self.is_complex(*g));
        let mut values = Vec::with_capacity(op.arity());
        for k in 0..op.arity() {
            let given = args.get(k).copied().unwrap_or(StagedOperand::Nothing);
            let value = match (op.hint(k), given) {
                (Some(kind), _) => self.fit(given, &kind),
                (None, StagedOperand::Literal(_) | StagedOperand::Untyped(_)) => {
                    self.fit_element(given, if complex { &Kind::Complex } else { &Kind::Real })
                }
                (None, StagedOperand::Value(v)) => match self.b.kind(v) {
                    Kind::Real | Kind::Array(Element::Real) if complex => {
                        self.fit_element(given, &Kind::Complex)
                    }
                    _ => Ok(v),
                },
                (None, StagedOperand::Nothing) => Err(TypeMismatch::nothing()),
            };
            values.push(value.map_err(|e| e.at_operand(k))?);
        }
        let kinds: Vec<Kind> = values.iter().map(|&v| self.b.kind(v).clone()).collect();
        match op.result(&kinds) {
            Ok(_) => {
                let y = self.b.on_arrays(op, &values);
                Ok(self.marked(op, &values, y))
            }
            Err(expected) => {
                let odd = |k: &Kind| !matches!(k, Kind::Array(Element::Real | Element::Complex));
                let operand = kinds
                    .iter()
                    .enumerate()
                    .position(|(k, kind)| op.hint(k).is_none() && odd(kind));
                let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
                let given = format!("({})", kinds.join(", "));
                Err(TypeMismatch { operand: operand.unwrap_or(0), given, expected, hint: "" })
            }
        }
    }

    /// Appends the operations of a composed function.
    pub(super) fn composed(
        &mut self,
        f: Composed,
        args: &[StagedOperand],
    ) -> Result<StagedOperand, TypeMismatch> {
        let arg = |k: usize| args.get(k).copied().unwrap_or(StagedOperand::Nothing);
        // An array of real or complex numbers.
        let array =
            |s: &mut StagingBuilder, k: usize| -> Result<Value, TypeMismatch> {
                if s.is_literal_array(arg(k)) {
                    return s.fit(arg(k), &Kind::Array(Element::Real));
                }
                let v = s.value(arg(k)).map_err(|e| e.at_operand(k))?;
                match s.b.kind(v) {
                    Kind::Array(Element::Real | Element::Complex) => Ok(v),
                    other => Err(TypeMismatch::new(other, "an array of real or complex numbers")
                        .at_operand(k)),
                }
            };
        let on = |s: &mut StagingBuilder, op: ArrayOp, args: &[Value]| s.b.on_arrays(op, args);
        let value = match f {
            Composed::LogSumExp
            | Composed::LogSumExpKeep
            | Composed::LogSumExpAxis
            | Composed::LogSoftmax => {
                let x = self.fit(arg(0), &Kind::Array(Element::Real))?;
                let axis = match f {
                    Composed::LogSumExp => None,
                    _ => Some(self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?),
                };
                let shift = match axis {
                    Some(axis) => on(self, ArrayOp::ShiftKeep, &[x, axis]),
                    None => on(self, ArrayOp::Shift, &[x]),
                };
                let exponents = self.b.number2(Number2::Sub, x, shift);
                let terms = self.b.number1(Number1::Exp, exponents);
                let sum = match axis {
                    Some(axis) => on(self, ArrayOp::SumKeep, &[terms, axis]),
                    None => self.b.inst(Op::Sum, &[terms], Kind::Real),
                };
                let log = self.b.number1(Number1::Ln, sum);
                if f == Composed::LogSoftmax {
                    return Ok(StagedOperand::Value(self.b.number2(Number2::Sub, exponents, log)));
                }
                let y = self.b.number2(Number2::Add, log, shift);
                match axis.filter(|_| f == Composed::LogSumExpAxis) {
                    Some(axis) => on(self, ArrayOp::DropAxis, &[y, axis]),
                    None => y,
                }
            }
            Composed::SumAxis | Composed::MeanAxis => {
                let x = array(self, 0)?;
                let axis = self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?;
                let y = on(self, ArrayOp::SumKeep, &[x, axis]);
                let y = on(self, ArrayOp::DropAxis, &[y, axis]);
                if f == Composed::MeanAxis {
                    let n = on(self, ArrayOp::Dim, &[x, axis]);
                    let n = self.b.mixed(Mixed::FromInt, &[n]);
                    return self.binary(
                        InfixOperator::Div,
                        StagedOperand::Value(y),
                        StagedOperand::Value(n),
                    );
                }
                y
            }
            Composed::Mean => {
                let x = array(self, 0)?;
                let sum = self.builtin(Builtin::Sum, &[StagedOperand::Value(x)])?;
                let n = self.b.inst(Op::Len, &[x], Kind::Int);
                let n = self.b.mixed(Mixed::FromInt, &[n]);
                return self.binary(InfixOperator::Div, sum, StagedOperand::Value(n));
            }
            Composed::Var | Composed::Std | Composed::VarAxis | Composed::StdAxis => {
                let x = array(self, 0)?;
                let axis = match f {
                    Composed::Var | Composed::Std => None,
                    _ => Some(self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?),
                };
                return self.spread_of(x, axis, matches!(f, Composed::Std | Composed::StdAxis));
            }
            Composed::NormAxis => {
                let x = array(self, 0)?;
                let axis = self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?;
                let lengths = self.lengths(x, axis)?;
                on(self, ArrayOp::DropAxis, &[lengths, axis])
            }
            Composed::ProdAxis | Composed::Cumprod => {
                let x = array(self, 0)?;
                let axis = self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?;
                self.products_along(x, axis, f == Composed::Cumprod)
            }
            Composed::MaximumAxis | Composed::MinimumAxis => {
                let x = self.fit(arg(0), &Kind::Array(Element::Real))?;
                let axis = self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?;
                let op = if f == Composed::MaximumAxis {
                    ArrayOp::ArgMaxAxis
                } else {
                    ArrayOp::ArgMinAxis
                };
                let places = on(self, op, &[x, axis]);
                on(self, ArrayOp::GatherAlong, &[x, places, axis])
            }
            Composed::Maximum | Composed::Minimum => {
                let x = self.fit(arg(0), &Kind::Array(Element::Real))?;
                let op = if f == Composed::Maximum { ArrayOp::ArgMax } else { ArrayOp::ArgMin };
                let place = on(self, op, &[x]);
                self.b.get(x, place)
            }
            Composed::Sort => {
                let x = self.fit(arg(0), &Kind::Array(Element::Real))?;
                let order = on(self, ArrayOp::ArgSort, &[x]);
                on(self, ArrayOp::Gather, &[x, order])
            }
            Composed::Trace => {
                let x = array(self, 0)?;
                // The trace of a product needs no product.
                let factors = match self.b.maker(x) {
                    Some((Op::OnArrays(ArrayOp::MatMul), &[a, b])) => Some([a, b]),
                    _ => None,
                };
                if let Some(factors) = factors {
                    on(self, ArrayOp::TraceProduct, &factors)
                } else {
                    let diagonal = on(self, ArrayOp::Diagonal, &[x]);
                    return self.builtin(Builtin::Sum, &[StagedOperand::Value(diagonal)]);
                }
            }
            Composed::MatVec => {
                let (a, x) = (array(self, 0)?, array(self, 1)?);
                let (a, x) =
                    match self.numbers(&[StagedOperand::Value(a), StagedOperand::Value(x)])?[..] {
                        [a, x] => (a, x),
                        _ => return Err(TypeMismatch::nothing()),
                    };
                let one = self.b.int(1);
                let column = on(self, ArrayOp::InsertAxis, &[x, one]);
                let y = on(self, ArrayOp::MatMul, &[a, column]);
                on(self, ArrayOp::DropAxis, &[y, one])
            }
            Composed::Outer => {
                let (a, b) = (array(self, 0)?, array(self, 1)?);
                let (zero, one) = (self.b.int(0), self.b.int(1));
                let a = on(self, ArrayOp::InsertAxis, &[a, one]);
                let b = on(self, ArrayOp::InsertAxis, &[b, zero]);
                return self.binary(
                    InfixOperator::Mul,
                    StagedOperand::Value(a),
                    StagedOperand::Value(b),
                );
            }
            Composed::Kron => {
                // y[i p + k, j q + l] = a[i, j] b[k, l]: [m, 1, n, 1] times [p, 1, q].
                let (a, b) = (array(self, 0)?, array(self, 1)?);
                let (zero, one) = (self.b.int(0), self.b.int(1));
                let [m, n, p, q] = [(a, zero), (a, one), (b, zero), (b, one)]
                    .map(|(x, k)| on(self, ArrayOp::Dim, &[x, k]));
                let lengths = Kind::Array(Element::Int);
                let left = self.b.inst(Op::Array, &[m, one, n, one], lengths.clone());
                let right = self.b.inst(Op::Array, &[p, one, q], lengths.clone());
                let a = on(self, ArrayOp::Reshape, &[a, left]);
                let b = on(self, ArrayOp::Reshape, &[b, right]);
                let product = self.binary(
                    InfixOperator::Mul,
                    StagedOperand::Value(a),
                    StagedOperand::Value(b),
                )?;
                let product = self.value(product)?;
                let multiply = |s: &mut StagingBuilder, x, y| {
                    s.binary(InfixOperator::Mul, StagedOperand::Value(x), StagedOperand::Value(y))
                };
                let (rows, columns) = (multiply(self, m, p)?, multiply(self, n, q)?);
                let (rows, columns) = (self.value(rows)?, self.value(columns)?);
                let shape = self.b.inst(Op::Array, &[rows, columns], lengths);
                on(self, ArrayOp::Reshape, &[product, shape])
            }
            Composed::Einsum => {
                let mut labels = Vec::new();
                for k in 2..5 {
                    if k > 2 {
                        labels.push(self.b.int(BETWEEN));
                    }
                    let list = self
                        .fit(arg(k), &Kind::Array(Element::Int))
                        .map_err(|e| e.at_operand(k))?;
                    match self.b.maker(list) {
                        Some((Op::Array, items)) => labels.extend_from_slice(items),
                        _ => {
                            let expected = "labels that are written out, as in `[0, 1]`";
                            return Err(TypeMismatch::new(&Kind::Array(Element::Int), expected)
                                .at_operand(k));
                        }
                    }
                }
                let labels = self.b.inst(Op::Array, &labels, Kind::Array(Element::Int));
                let operands = [arg(0), arg(1), StagedOperand::Value(labels)];
                self.on_arrays(ArrayOp::Contract, &operands)?
            }
            Composed::Row => {
                let x = array(self, 0)?;
                let k = self.fit(arg(1), &Kind::Int).map_err(|e| e.at_operand(1))?;
                let (zero, one) = (self.b.int(0), self.b.int(1));
                let y = on(self, ArrayOp::Slice, &[x, zero, k, one]);
                on(self, ArrayOp::DropAxis, &[y, zero])
            }
            Composed::WithRow => {
                let (x, y) = (array(self, 0)?, array(self, 1)?);
                let k = self.fit(arg(2), &Kind::Int).map_err(|e| e.at_operand(2))?;
                let zero = self.b.int(0);
                let part = on(self, ArrayOp::InsertAxis, &[y, zero]);
                self.on_arrays(
                    ArrayOp::DynamicUpdateSlice,
                    &[part, x, zero, k].map(StagedOperand::Value),
                )?
            }
            Composed::Masked => {
                let mask = self.fit(arg(0), &Kind::Array(Element::Real))?;
                let one = self.b.real(1.0);
                let rest = self.b.number2(Number2::Sub, one, mask);
                let mut part = |k: usize, mask: Value| {
                    let part = self.builtin(
                        Builtin::Number2(Number2::Scale),
                        &[arg(k), StagedOperand::Value(mask)],
                    );
                    part.map_err(|e| e.at_operand(k))
                };
                let (x, y) = (part(1, mask)?, part(2, rest)?);
                return self.binary(InfixOperator::Add, x, y);
            }
            Composed::Full => {
                let x = match arg(0) {
                    given if self.is_literal(given) => self.fit(given, &Kind::Real)?,
                    given => self.value(given)?,
                };
                let shape =
                    self.fit(arg(1), &Kind::Array(Element::Int)).map_err(|e| e.at_operand(1))?;
                let Some(element @ (Element::Real | Element::Complex)) =
                    Element::from_kind(self.b.kind(x))
                else {
                    return Err(TypeMismatch::new(self.b.kind(x), "a real or complex number"));
                };
                let n = on(self, ArrayOp::Count, &[shape]);
                let flat = self.b.inst(Op::Fill, &[x, n], Kind::Array(element));
                on(self, ArrayOp::Reshape, &[flat, shape])
            }
            Composed::Eye => {
                let n = self.fit(arg(0), &Kind::Int)?;
                let one = self.b.real(1.0);
                let diagonal = self.b.inst(Op::Fill, &[one, n], Kind::Array(Element::Real));
                on(self, ArrayOp::DiagonalMatrix, &[diagonal])
            }
            Composed::EigenValues | Composed::EigenVectors => {
                let x = array(self, 0)?;
                return self.spectrum(x, f == Composed::EigenVectors);
            }
            Composed::Orthonormal | Composed::Triangular => {
                let x = array(self, 0)?;
                self.orthogonal(x, f == Composed::Orthonormal)
            }
            Composed::SingularValues | Composed::LeftVectors | Composed::RightVectors => {
                let x = array(self, 0)?;
                return self.singular(f, x);
            }
            Composed::InverseFft => {
                let x = self.fit(arg(0), &Kind::Array(Element::Complex))?;
                let y = on(self, ArrayOp::FftBack, &[x]);
                // The length of the last axis, whose index is the rank minus 1.
                let shape = on(self, ArrayOp::Shape, &[x]);
                let rank = self.b.inst(Op::Len, &[shape], Kind::Int);
                let one = self.b.int(1);
                let last = self.binary(
                    InfixOperator::Sub,
                    StagedOperand::Value(rank),
                    StagedOperand::Value(one),
                )?;
                let last = self.value(last)?;
                let n = on(self, ArrayOp::Dim, &[x, last]);
                let n = self.b.mixed(Mixed::FromInt, &[n]);
                return self.binary(
                    InfixOperator::Div,
                    StagedOperand::Value(y),
                    StagedOperand::Value(n),
                );
            }
        };
        Ok(StagedOperand::Value(value))
    }
}
