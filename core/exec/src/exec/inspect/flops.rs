//! Floating-point operations: how many each operation of a program counts for.
//!
//! On real numbers a sum, a product, a quotient and an elementary function are one each. On complex
//! numbers a sum or difference is 2, a product 6, a quotient 11, and anything else 1; so formulas
//! of sums and products, below, are four times as many. Moves, comparisons and counters are none.
//!
//! | operation | operations, for real numbers |
//! |---|---|
//! | elementwise on arrays | those on numbers, for each element of the result |
//! | `sum`, `sum_keep`, `sum_like`, `cumsum`, `scatter`, `add_at`, `accumulate` | 1 for each element that is added |
//! | `prod` | n |
//! | `exclusive_prod`, `prod_pairs`, `linear_recurrence` | 3 n, 11 n, 2 n |
//! | `dot`, `norm`, `norm_keep`, `trace_product` | 2 n, the elements of one operand |
//! | `softmax` | 4 n |
//! | `matmul` of m x k and k x n | 2 m k n, for each of a stack |
//! | `contract` | 2 for each combination of values of all labels |
//! | `convolve`, `correlate` of n and m | 2 n m, 2 m (n - m + 1) |
//! | `fft` of a line of n | 5 n log2 n, of complex numbers |
//! | `solve` with m right sides | 2/3 n^3 + 2 n^2 m |
//! | `solve_lower`, `solve_upper` | n^2 m |
//! | `inv`, `cofactors`; `cofactors_along` | 2 n^3; 4 n^3 |
//! | `det`, `signdet`, `logabsdet` | 2/3 n^3 |
//! | `cholesky` | 1/3 n^3 |
//! | `qr` of m x n, with Q | 4 m n^2 - 4/3 n^3 |
//! | `svd`, `pinv`, `lstsq` of m x n, the longer side first | 14 m n^2 + 8 n^3 |
//! | `eigen` with vectors | 9 n^3 |
//! | `expm`; `expm_along` | 44/3 n^3 without squarings; three times as many |
//!
//! Those of decompositions are the counts of textbooks (G. Golub, C. Van Loan, "Matrix
//! computations", 4th edition; N. Higham, "The scaling and squaring method for the matrix
//! exponential revisited", 2005), whatever algorithm runs here.

use crate::{
    array::{BETWEEN, Contracted, Shape},
    ir::{ArrayOp, Mixed, Number2, Op, WorkFormula},
    scalar::Scalar,
};

use super::super::Datum;

/// An operand or a result: its shape, without axes if it is a number.
struct OperandSize {
    shape: Shape,
    complex: bool,
}

impl OperandSize {
    fn from_datum<S: Scalar>(d: &Datum<S>) -> OperandSize {
        let (shape, complex) = match d {
            Datum::Reals(a) => (a.shape(), false),
            Datum::Complexes(a) => (a.shape(), true),
            Datum::Ints(a) => (a.shape(), false),
            d => (Shape::new(), matches!(d, Datum::Complex(_))),
        };
        OperandSize { shape, complex }
    }
    fn count(&self) -> u64 {
        self.shape.iter().map(|&n| n as u64).product()
    }
    /// Returns the length of an axis, counted from the last.
    fn axis_from_last(&self, k: usize) -> u64 {
        self.shape.len().checked_sub(k + 1).map_or(1, |axis| self.shape[axis] as u64)
    }
}

/// Returns the number of floating-point operations of an operation, given its operands and its
/// result.
pub(super) fn flops<S: Scalar>(op: Op, args: &[Datum<S>], result: &Datum<S>) -> u64 {
    let y = OperandSize::from_datum(result);
    let sizes: Vec<OperandSize> = args.iter().map(OperandSize::from_datum).collect();
    let zero = OperandSize { shape: Shape::new(), complex: false };
    let arg = |k: usize| sizes.get(k).unwrap_or(&zero);
    let complex = sizes.iter().any(|s| s.complex);
    let (sum, product) = if complex { (2, 6) } else { (1, 1) };
    match op {
        Op::Number1(_) | Op::Real1(_) | Op::Real2(_) => y.count(),
        Op::Number2(Number2::Add | Number2::Sub) => sum * y.count(),
        Op::Number2(Number2::Mul) => product * y.count(),
        Op::Number2(Number2::Div) if complex => 11 * y.count(),
        Op::Number2(_) => y.count(),
        Op::Mixed(Mixed::Abs2) => 3 * y.count(),
        Op::Mixed(
            Mixed::Modulus | Mixed::Arg | Mixed::PowiReal | Mixed::PowiComplex | Mixed::Polygamma,
        ) => y.count(),
        Op::Sum => sum * arg(0).count(),
        Op::AddAt => sum,
        Op::Accumulate => sum * arg(0).count().min(arg(1).count()),
        Op::OnArrays(op) => {
            let (a, b) = (arg(0), arg(1));
            let labels = match args.last() {
                Some(Datum::Ints(labels)) => labels.items(),
                _ => &[],
            };
            let pairs = on_arrays(op, a, b, arg(2), &y, labels);
            pairs.map_or_else(|pairs| pairs * (sum + product) / 2, |alone| alone * sum)
        }
        _ => 0,
    }
}

/// Returns the number of sums and products together (`Err`), or of sums alone (`Ok`), as if of real
/// numbers.
fn on_arrays(
    op: ArrayOp,
    a: &OperandSize,
    b: &OperandSize,
    c: &OperandSize,
    y: &OperandSize,
    labels: &[i64],
) -> Result<u64, u64> {
    use WorkFormula as W;
    let n = a.axis_from_last(0);
    let cube = n * n * n;
    // The right sides of a system: columns, or a vector.
    let sides = || if b.shape.len() < 2 { 1 } else { b.axis_from_last(0) };
    let (long, short) = (
        a.axis_from_last(0).max(a.axis_from_last(1)),
        a.axis_from_last(0).min(a.axis_from_last(1)),
    );
    Err(match op.work() {
        W::Free | W::Sort => 0,
        W::Sums => return Ok(a.count()),
        W::PerElement(k) => k * a.count(),
        W::MatMul { free: [row, _] } => 2 * y.count() * a.axis_from_last(1 - row),
        W::Contraction(Contracted::Result) => 2 * combinations(a, b, labels),
        W::Contraction(Contracted::First) => 2 * combinations(c, b, labels),
        W::Contraction(Contracted::Second) => 2 * combinations(a, c, labels),
        W::Convolution => 2 * a.count() * b.count(),
        W::Correlation => 2 * b.count() * y.count(),
        // These are of complex numbers already.
        W::Fourier => {
            let log = (n.max(1) as f64).log2();
            return Ok((5.0 * a.count() as f64 * log).round() as u64 / 2);
        }
        W::Cubic { flops: (p, q), .. } => p * cube / q,
        W::LuSolution => 2 * cube / 3 + 2 * n * n * sides(),
        W::TriangularSolution => n * n * sides(),
        W::Orthogonal => 4 * a.axis_from_last(1) * n * n - 4 * cube / 3,
        W::SingularValues | W::LeastSquares => {
            14 * long * short * short + 8 * short * short * short
        }
    })
}

/// Returns the number of combinations of values of the labels of two arrays.
fn combinations(a: &OperandSize, b: &OperandSize, labels: &[i64]) -> u64 {
    let lengths = a.shape.iter().chain(b.shape.iter()).map(|&n| n as u64);
    let mut seen: Vec<i64> = Vec::new();
    let mut count = 1;
    for (&label, n) in labels.iter().filter(|l| **l != BETWEEN).zip(lengths) {
        if !seen.contains(&label) {
            seen.push(label);
            count *= n;
        }
    }
    count
}
