//! Partials of the op table, expanded twice: once over numbers, once over instructions.
//!
//! ```
//! use ketgrad_core::{ir::Number2, rules::number2, scalar::N};
//! use num_complex::Complex;
//!
//! // d(a b)/da = b and d(a b)/db = a, on any scalar
//! let [da, db] = number2(Number2::Mul, &N(3.0), &N(4.0), &N(12.0));
//! assert_eq!((da.0, db.0), (4.0, 3.0));
//! let i = N(Complex::new(0.0, 1.0));
//! let [da, _] = number2(Number2::Mul, &i, &i, &N(Complex::new(-1.0, 0.0)));
//! assert_eq!(da, i);
//! ```

use std::f64::consts::FRAC_2_SQRT_PI;

use crate::{
    entity::Value,
    ir::{FunctionBuilder, Number1, Number2, Op, Real1, Real2},
    scalar::{N, Real, Scalar},
};

use super::{Emitter, Ex, Piecewise};

macro_rules! readers {
    (
        number1 { $($n1:ident $n1_name:literal ($n1_a:ident) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, [$n1_d:expr], $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($n2_a:ident, $n2_b:ident) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, [$n2_d:expr, $n2_e:expr], $n2_doc:literal;)* }
        real1 { $($r1:ident $r1_name:literal ($r1_a:ident) -> $r1_y:ident: $r1_s:ident = $r1_v:expr, [$r1_d:expr], $r1_doc:literal;)* }
        real2 { $($r2:ident $r2_name:literal ($r2_a:ident, $r2_b:ident) -> $r2_y:ident: $r2_s:ident = $r2_v:expr, [$r2_d:expr, $r2_e:expr], $r2_doc:literal;)* }
        int1 $int1:tt int2 $int2:tt compare $compare:tt mixed $mixed:tt
    ) => {
        /// Computes the partial of an op on one number `a` whose value is `y`.
        #[allow(unused_variables, reason = "a partial need not mention the operands")]
        pub fn number1<T: Real, S: Scalar<Real = T>>(op: Number1, a: &N<S>, y: &N<S>) -> N<S> {
            match op { $(Number1::$n1 => { let ($n1_a, $n1_y) = (a, y); $n1_d })* }
        }
        /// Computes the partials of an op on two numbers.
        #[allow(unused_variables, reason = "a partial need not mention the operands")]
        pub fn number2<T: Real, S: Scalar<Real = T>>(op: Number2, a: &N<S>, b: &N<S>, y: &N<S>) -> [N<S>; 2] {
            match op { $(Number2::$n2 => { let ($n2_a, $n2_b, $n2_y) = (a, b, y); [$n2_d, $n2_e] })* }
        }
        /// Computes the partial of an op on one real number.
        #[allow(unused_variables, reason = "a partial need not mention the operands")]
        pub fn real1<T: Real>(op: Real1, a: &N<T>, y: &N<T>) -> N<T> {
            match op { $(Real1::$r1 => { let ($r1_a, $r1_y) = (a, y); $r1_d })* }
        }
        /// Computes the partials of an op on two real numbers.
        #[allow(unused_variables, reason = "a partial need not mention the operands")]
        pub fn real2<T: Real>(op: Real2, a: &N<T>, b: &N<T>, y: &N<T>) -> [N<T>; 2] {
            match op { $(Real2::$r2 => { let ($r2_a, $r2_b, $r2_y) = (a, b, y); [$r2_d, $r2_e] })* }
        }

        /// Emits the partial by the `k`-th operand as instructions.
        #[allow(unused_variables, reason = "a partial need not mention the operands")]
        fn emit<'e, 'b>(op: Op, k: usize, a: &Ex<'e, 'b>, b: &Ex<'e, 'b>, y: &Ex<'e, 'b>) -> Option<Ex<'e, 'b>> {
            Some(match (op, k) {
                $((Op::Number1(Number1::$n1), _) => { let ($n1_a, $n1_y) = (a, y); $n1_d })*
                $(
                    (Op::Number2(Number2::$n2), 0) => { let ($n2_a, $n2_b, $n2_y) = (a, b, y); $n2_d }
                    (Op::Number2(Number2::$n2), _) => { let ($n2_a, $n2_b, $n2_y) = (a, b, y); $n2_e }
                )*
                $((Op::Real1(Real1::$r1), _) => { let ($r1_a, $r1_y) = (a, y); $r1_d })*
                $(
                    (Op::Real2(Real2::$r2), 0) => { let ($r2_a, $r2_b, $r2_y) = (a, b, y); $r2_d }
                    (Op::Real2(Real2::$r2), _) => { let ($r2_a, $r2_b, $r2_y) = (a, b, y); $r2_e }
                )*
                _ => return None,
            })
        }
    };
}
for_each_op!(readers);

/// Emits the partial of an op of the table by its `k`-th operand; `None` for other ops.
pub fn partial(
    b: &mut FunctionBuilder,
    op: Op,
    k: usize,
    args: &[Value],
    y: Value,
) -> Option<Value> {
    let emitter = Emitter::new(b);
    let first = emitter.ex(*args.first()?);
    let second = emitter.ex(*args.last()?);
    emit(op, k, &first, &second, &emitter.ex(y)).map(|e| e.value())
}

/// Returns true if a partial of the op may be infinite or undefined where the value is not.
pub(crate) fn is_singular(op: Op) -> bool {
    match op {
        Op::Number1(op) => op.is_singular(),
        Op::Number2(op) => op.is_singular(),
        Op::Real1(op) => op.is_singular(),
        Op::Real2(op) => op.is_singular(),
        _ => false,
    }
}
