//! The op table: one line for every operation on numbers.
//!
//! A line defines everything about an op; its enum variant, its name in text, the executor's
//! dispatch, both derivative rules and the law tests are derived by macros that read the table
//! ("readers").
//!
//! ```text
//! Div "div" (a, b) -> y: singular = a.quotient(b), [b.recip(), -(y / b)], "The quotient.";
//! │   │      │        │  │          │      │                      └ documentation
//! │   │      │        │  │          │      └ partial derivatives by the operands
//! │   │      │        │  │          └ value: operands are references to numbers
//! │   │      │        │  └ singular: a partial may be infinite or undefined where the value is not
//! │   │      │        └ the name of the value inside the partials
//! │   │      └ operands
//! │   └ name in text
//! └ variant
//! ```
//!
//! | section | operands -> result | value is generic over |
//! |---|---|---|
//! | `number1`, `number2` | real or complex, all the same -> that | `S: Scalar` |
//! | `real1`, `real2` | real -> real; may need an order | `T: Real`, returns `Result<_, Undecided>` |
//! | `int1`, `int2` | int -> int; `None` on overflow and division by zero | |
//! | `mixed` | as written | (the executor's one match) |
//!
//! Partials are written over references to "numbers that mix with float literals". Two readers
//! expand them: one over [`N<S>`](crate::scalar::N), which evaluates them on every scalar, and one
//! over [`Ex`](crate::rules::Ex), which appends instructions to a function under construction.
//! Functions that fix no number type (`lit`, `sign`, `step`, `trunc`, `sigmoid`) come from
//! [`rules::Piecewise`](crate::rules::Piecewise).
//!
//! # Subgradients and edges
//! These hold for every executor and every number type:
//!
//! | where | derivative |
//! |---|---|
//! | `abs`, `sign` at 0 | 0 |
//! | `abs` of a complex 0, `hypot` at the origin, `norm` of zeros | 0; of higher order infinite or NaN |
//! | `min`, `max` at a tie | all to the first operand |
//! | `min`, `max` with a NaN | the value is NaN |
//! | `floor`, `ceil`, `round`, `trunc`, `sign` | 0 everywhere, also at the jumps |
//! | `detach` | 0 |
//! | `rem(a, b)` | `(1, -trunc(a/b))` everywhere; at b = 0 NaN or infinite by b |
//! | `sqrt`, `cbrt` at 0 | infinity |
//! | `pow(x, y)` at x = 0, y > 0 | by x: `y 0^(y-1)`; by y: 0 |
//! | `pow(x, 0)` | by x: 0, also at x = 0 |
//! | `powi(x, 0)` | 0, also at x = 0 |
//! | `atan2` at the origin, `arg` of 0 | NaN |
//! | `lgamma`, `polygamma` at poles | infinity where both sides agree, else NaN |
//! | `logaddexp` of equal infinities | NaN |
//! | outside the real domain | that of the formula: NaN of `sqrt(-1)`, `1/a` of `ln(-1)`, whose value is NaN |
//! | on a branch cut | the derivative of the side that the value is taken from |
//! | `select(c, a, b)` | all to the chosen operand, 0 to the other, even where its own derivative is infinite |
//!
//! The sign of a zero imaginary part is the side of a branch cut, and adding a promoted constant
//! loses it (`-0 + 0 = 0`): so roots in partials are taken of differences, `a - -1` and not
//! `1 + a`.
//!
//! A (co)tangent may be zero because no data flow leads there: from the side of an `if` or `select`
//! that was not taken, from elements that are not read, from inputs that are constant. Such a zero
//! is never multiplied, however large the slope is, so that `select(x > 0, y ln(x), 0)` has the
//! gradient 0 at 0. A zero that is due to a slope of 0 is an ordinary number, and 0 times infinity
//! is NaN: `cos(sqrt(x))` has no derivative at 0 here, though it has a limit. Which of the two a
//! zero is, is known statically or carried along ([`rules::Reach`](crate::rules::Reach));
//! `guard(p d, reach)` makes the zero. Where neither is possible, `scale(p, d)` decides by the
//! number: through tapes, and for arrays and tuples that are results of calls.

/// Passes the table to the macro `$reader`.
#[doc(hidden)]
#[macro_export]
macro_rules! for_each_op {
    ($reader:path) => {
        $reader! {
            number1 {
                Neg "neg" (a) -> y: regular = -a, [a.lit(-1.0)], "The negative.";
                Recip "recip" (a) -> y: singular = a.recip(), [-(y * y)], "`1/a`.";
                Sqrt "sqrt" (a) -> y: singular = a.sqrt(), [(y + y).recip()], "The principal square root.";
                Cbrt "cbrt" (a) -> y: singular = a.cbrt(), [(3.0 * (y * y)).recip()], "The cube root: real for a real number, principal for a complex one.";
                Exp "exp" (a) -> y: regular = a.exp(), [y.clone()], "`e^a`.";
                ExpM1 "exp_m1" (a) -> y: regular = a.exp_m1(), [a.exp()], "`e^a - 1`, accurate near 0.";
                Ln "ln" (a) -> y: singular = a.ln(), [a.recip()], "The natural logarithm.";
                Ln1p "ln_1p" (a) -> y: singular = a.ln_1p(), [(1.0 + a).recip()], "`ln(1 + a)`, accurate near 0.";
                Log2 "log2" (a) -> y: singular = a.log2(), [(a * a.lit(2.0).ln()).recip()], "The logarithm to base 2.";
                Log10 "log10" (a) -> y: singular = a.log10(), [(a * a.lit(10.0).ln()).recip()], "The logarithm to base 10.";
                Sin "sin" (a) -> y: regular = a.sin(), [a.cos()], "The sine.";
                Cos "cos" (a) -> y: regular = a.cos(), [-a.sin()], "The cosine.";
                Tan "tan" (a) -> y: regular = a.tan(), [1.0 + y * y], "The tangent.";
                Asin "asin" (a) -> y: singular = a.asin(), [((-a - -1.0).sqrt() * (a - -1.0).sqrt()).recip()], "The inverse sine.";
                Acos "acos" (a) -> y: singular = a.acos(), [-((-a - -1.0).sqrt() * (a - -1.0).sqrt()).recip()], "The inverse cosine.";
                Atan "atan" (a) -> y: singular = a.atan(), [(1.0 + a * a).recip()], "The inverse tangent.";
                Sinh "sinh" (a) -> y: regular = a.sinh(), [a.cosh()], "The hyperbolic sine.";
                Cosh "cosh" (a) -> y: regular = a.cosh(), [a.sinh()], "The hyperbolic cosine.";
                Tanh "tanh" (a) -> y: regular = a.tanh(), [(1.0 - y) * (1.0 + y)], "The hyperbolic tangent.";
                Asinh "asinh" (a) -> y: singular = a.asinh(), [(a * a - -1.0).sqrt().recip()], "The inverse hyperbolic sine.";
                Acosh "acosh" (a) -> y: singular = a.acosh(), [((a - 1.0).sqrt() * (a - -1.0).sqrt()).recip()], "The inverse hyperbolic cosine.";
                Atanh "atanh" (a) -> y: singular = a.atanh(), [((1.0 - a) * (1.0 + a)).recip()], "The inverse hyperbolic tangent.";
            }
            number2 {
                Add "add" (a, b) -> y: regular = a + b, [a.lit(1.0), a.lit(1.0)], "The sum.";
                Sub "sub" (a, b) -> y: regular = a - b, [a.lit(1.0), a.lit(-1.0)], "The difference.";
                Mul "mul" (a, b) -> y: regular = a * b, [b.clone(), a.clone()], "The product.";
                Div "div" (a, b) -> y: singular = a.quotient(b), [b.recip(), -(y / b)], "The quotient.";
                Pow "pow" (a, b) -> y: singular = a.pow(b), [a.pow(&(b - 1.0)).scale(b), a.ln().scale(y)], "`a^b`: on reals as `powf`, on complex numbers `exp(b ln a)`.";
                Scale "scale" (a, b) -> y: singular = scale(a, b), [b.clone(), a.clone()], "`a b`, but 0 where `b` is exactly zero, even if `a` is infinite or undefined.";
                Guard "guard" (a, b) -> y: regular = guard(a, b), [a.lit(1.0).guard(b), a.lit(0.0)], "`a`, but 0 where `b` is exactly zero, even if `a` is infinite or undefined.";
            }
            real1 {
                Abs "abs" (a) -> y: regular = Piece::Abs.eval(a, a), [a.abs_slope()], "The absolute value; its derivative at 0 is 0.";
                AbsSlope "abs_slope" (a) -> y: singular = Piece::AbsSlope.eval(a, a), [a.lit(0.0) / a], "`sign` as the derivative of `abs`: at 0 it has no derivative, which is NaN.";
                Sign "sign" (a) -> y: regular = Piece::Sign.eval(a, a), [a.lit(0.0)], "1, -1, or 0 at 0.";
                Floor "floor" (a) -> y: regular = Piece::Floor.eval(a, a), [a.lit(0.0)], "The greatest integer that is not greater.";
                Ceil "ceil" (a) -> y: regular = Piece::Ceil.eval(a, a), [a.lit(0.0)], "The least integer that is not less.";
                Round "round" (a) -> y: regular = Piece::Round.eval(a, a), [a.lit(0.0)], "The nearest integer; halves away from 0.";
                Trunc "trunc" (a) -> y: regular = Piece::Trunc.eval(a, a), [a.lit(0.0)], "The integer part.";
                Detach "detach" (a) -> y: regular = Piece::Detach.eval(a, a), [a.lit(0.0)], "The number itself as a constant: no derivative passes.";
                Beyond "beyond" (a) -> y: regular = Ok(a.beyond()), [a.lit(1.0)], "The part of the number beside its value: 0 of a plain number, the derivatives of a dual one.";
                Erf "erf" (a) -> y: regular = Ok(a.erf()), [(-(a * a)).exp() * FRAC_2_SQRT_PI], "The error function.";
                Erfc "erfc" (a) -> y: regular = Ok(a.erfc()), [(-(a * a)).exp() * -FRAC_2_SQRT_PI], "`1 - erf(a)`, accurate where that is small.";
                Lgamma "lgamma" (a) -> y: singular = Ok(a.lgamma()), [a.polygamma(0)], "The logarithm of the modulus of the gamma function.";
                Sigmoid "sigmoid" (a) -> y: regular = Ok(a.sigmoid()), [y * (-a).sigmoid()], "The logistic function `1 / (1 + e^-a)`.";
                Softplus "softplus" (a) -> y: regular = Ok(a.softplus()), [a.sigmoid()], "`ln(1 + e^a)` without overflow.";
            }
            real2 {
                Atan2 "atan2" (a, b) -> y: singular = Ok(a.atan2(b)), [b / a.hypot(b) / a.hypot(b), -(a / a.hypot(b) / a.hypot(b))], "The angle of the point (b, a) in (-pi, pi].";
                Hypot "hypot" (a, b) -> y: singular = Ok(a.hypot(b)), [a.ratio(y), b.ratio(y)], "`sqrt(a^2 + b^2)` without overflow in between.";
                Min "min" (a, b) -> y: regular = Piece::Min.eval(a, b), [b.step(a), 1.0 - b.step(a)], "The lesser one; the first at a tie, NaN if one is NaN.";
                Max "max" (a, b) -> y: regular = Piece::Max.eval(a, b), [a.step(b), 1.0 - a.step(b)], "The greater one; the first at a tie, NaN if one is NaN.";
                Ratio "ratio" (a, b) -> y: singular = Ok(a.over(b)), [b.recip(), -(y / b)], "The quotient `a/b`, but 0 where both are 0: there it has no derivatives.";
                LogAddExp "logaddexp" (a, b) -> y: regular = Ok(a.logaddexp(b)), [(a - b).sigmoid(), (b - a).sigmoid()], "`ln(e^a + e^b)` without overflow.";
                Rem "rem" (a, b) -> y: singular = rem(a, b), [a.lit(1.0), -(a / b).trunc()], "The remainder `a - b trunc(a/b)`, with the sign of `a`.";
            }
            int1 {
                Neg "ineg" (a) = a.checked_neg(), "The negative of an integer.";
            }
            int2 {
                Add "iadd" (a, b) = a.checked_add(b), "The sum of integers.";
                Sub "isub" (a, b) = a.checked_sub(b), "The difference of integers.";
                Mul "imul" (a, b) = a.checked_mul(b), "The product of integers.";
                Div "idiv" (a, b) = a.checked_div(b), "The quotient of integers, rounded towards 0.";
                Rem "irem" (a, b) = a.checked_rem(b), "The remainder of integers, with the sign of the first.";
                Min "imin" (a, b) = Some(a.min(b)), "The lesser integer.";
                Max "imax" (a, b) = Some(a.max(b)), "The greater integer.";
                FoldIn "fold_in" (a, b) = Some(threefry(a, b)), "The key that a key and an integer make: the block of the counter b under the key a.";
            }
            compare {
                Lt "lt" "ilt" (order) = order == Some(Ordering::Less), "True if `a < b`.";
                Le "le" "ile" (order) = matches!(order, Some(Ordering::Less | Ordering::Equal)), "True if `a <= b`.";
                Gt "gt" "igt" (order) = order == Some(Ordering::Greater), "True if `a > b`.";
                Ge "ge" "ige" (order) = matches!(order, Some(Ordering::Greater | Ordering::Equal)), "True if `a >= b`.";
                Eq "eq" "ieq" (order) = order == Some(Ordering::Equal), "True if `a == b`.";
                Ne "ne" "ine" (order) = order != Some(Ordering::Equal), "True if `a != b`.";
            }
            mixed {
                Promote "promote" (Real) -> Complex, "The complex number with this real part.";
                Complex "complex" (Real, Real) -> Complex, "`a + b i`.";
                Re "re" (Complex) -> Real, "The real part.";
                Im "im" (Complex) -> Real, "The imaginary part.";
                Abs2 "abs2" (Complex) -> Real, "The squared modulus.";
                Modulus "modulus" (Complex) -> Real, "The modulus.";
                Arg "arg" (Complex) -> Real, "The angle in (-pi, pi].";
                Conj "conj" (Complex) -> Complex, "The complex conjugate.";
                FromInt "real_of_int" (Int) -> Real, "The integer as a real number.";
                Cmp "cmp" (Int, Int) -> Real, "-1, 0 or 1 as the first integer is less than the second, equal to it, or greater.";
                PowiReal "powi" (Real, Int) -> Real, "`a^n`; `a^0 = 1` everywhere.";
                PowiComplex "cpowi" (Complex, Int) -> Complex, "`a^n` of a complex number.";
                Polygamma "polygamma" (Real, Int) -> Real, "The n-th derivative of digamma; of order 0 digamma, the derivative of `lgamma`.";
                Not "not" (Bool) -> Bool, "The negation.";
                And "and" (Bool, Bool) -> Bool, "True if both are.";
                Or "or" (Bool, Bool) -> Bool, "True if one of them is, or both.";
            }
        }
    };
}
