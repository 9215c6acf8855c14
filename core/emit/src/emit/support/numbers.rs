/// `a b`, but 0 where `b` is exactly zero.
fn scale(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a * b }
}
//-
/// `a`, but 0 where `b` is exactly zero.
fn guard(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a }
}
//-
/// `a / b`, but 0 where both are 0.
fn ratio(a: f64, b: f64) -> f64 {
    if a == 0.0 && b == 0.0 { 0.0 } else { a / b }
}
//-
/// The number itself, which was a constant to derivatives.
fn detach(a: f64) -> f64 {
    a
}
//-
/// The part of a number beside its value: nothing.
fn beyond(_: f64) -> f64 {
    0.0
}
//-
/// -1, 0 or 1 as the first integer is less, equal, or greater.
fn cmp(a: i64, b: i64) -> f64 {
    f64::from(a.cmp(&b) as i8)
}
//-
/// 1, -1, or 0 at 0.
fn sign(a: f64) -> f64 {
    if a > 0.0 {
        1.0
    } else if a < 0.0 {
        -1.0
    } else if a == 0.0 {
        0.0
    } else {
        f64::NAN
    }
}
//-
/// The lesser one; NaN if one is NaN.
fn min(a: f64, b: f64) -> f64 {
    if a <= b {
        a
    } else if b < a {
        b
    } else {
        a + b
    }
}
//-
/// The greater one; NaN if one is NaN.
fn max(a: f64, b: f64) -> f64 {
    if a >= b {
        a
    } else if b > a {
        b
    } else {
        a + b
    }
}
//-
/// The remainder, with the sign of `a`.
fn rem(a: f64, b: f64) -> f64 {
    a % b
}
//-
/// The inverse hyperbolic sine; that of the library overflows.
fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let y = if a < 268_435_456.0 {
        (a + a * a / (1.0 + (1.0 + a * a).sqrt())).ln_1p()
    } else {
        a.ln() + std::f64::consts::LN_2
    };
    y.copysign(x)
}
//-
/// The inverse hyperbolic cosine; that of the library loses digits near 1.
fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    if x < 1.0 {
        f64::NAN
    } else if t < 268_435_456.0 {
        (t + (t * (t + 2.0)).sqrt()).ln_1p()
    } else {
        x.ln() + std::f64::consts::LN_2
    }
}
//-
/// The inverse hyperbolic tangent; that of the library loses digits near -1.
fn atanh(x: f64) -> f64 {
    let a = x.abs();
    (0.5 * (2.0 * a / (1.0 - a)).ln_1p()).copysign(x)
}
//-
/// `x^n`: a product for few factors, else a power of floats; the exponent is never rounded.
fn powi(x: f64, n: i64) -> f64 {
    if n.unsigned_abs() <= 16 {
        let product = x.powi(n.unsigned_abs() as i32);
        if n >= 0 {
            return product;
        }
        if product.is_normal() {
            return 1.0 / product;
        }
    }
    let low = if n.unsigned_abs() < 1 << 53 { 0 } else { n % 4096 };
    x.powf((n - low) as f64) * x.powf(low as f64)
}
//-
/// The sum of integers.
fn int_add(a: i64, b: i64) -> i64 {
    a.checked_add(b).expect("an integer sum overflows")
}
//-
/// The difference of integers.
fn int_sub(a: i64, b: i64) -> i64 {
    a.checked_sub(b).expect("an integer difference overflows")
}
//-
/// The product of integers.
fn int_mul(a: i64, b: i64) -> i64 {
    a.checked_mul(b).expect("an integer product overflows")
}
//-
/// The quotient of integers, towards 0.
fn int_div(a: i64, b: i64) -> i64 {
    a.checked_div(b).expect("an integer is divided by 0, or its quotient overflows")
}
//-
/// The remainder of integers, with the sign of the first.
fn int_rem(a: i64, b: i64) -> i64 {
    a.checked_rem(b).expect("an integer is divided by 0, or its quotient overflows")
}
//-
/// The negative of an integer.
fn int_neg(a: i64) -> i64 {
    a.checked_neg().expect("an integer negation overflows")
}
//-
/// The element at an index, 0 beyond the end.
fn peek<T: Copy + Default>(xs: &[T], i: i64) -> T {
    let i = usize::try_from(i).expect("an index is negative");
    xs.get(i).copied().unwrap_or_default()
}
//-
/// Replaces an element of an array that is first extended with zeros where needed.
fn put<T: Copy + Default>(xs: &mut Vec<T>, i: i64, x: T) {
    // Taken out and put back, so that the vector itself may stay in registers.
    #[cold]
    fn grown<T: Copy + Default>(mut xs: Vec<T>, i: i64) -> Vec<T> {
        xs.resize(usize::try_from(i).expect("an index is negative") + 1, T::default());
        xs
    }
    if i as usize >= xs.len() {
        *xs = grown(std::mem::take(xs), i);
    }
    xs[i as usize] = x;
}
//-
/// Adds to an element of an array that is first extended with zeros where needed.
fn add_at<T: Copy + Default + std::ops::AddAssign>(xs: &mut Vec<T>, i: i64, x: T) {
    // Taken out and put back, so that the vector itself may stay in registers.
    #[cold]
    fn grown<T: Copy + Default>(mut xs: Vec<T>, i: i64) -> Vec<T> {
        xs.resize(usize::try_from(i).expect("an index is negative") + 1, T::default());
        xs
    }
    if i as usize >= xs.len() {
        *xs = grown(std::mem::take(xs), i);
    }
    xs[i as usize] += x;
}
//-
/// An array of the given number of elements: those after its own are 0.
fn at_full_length<T: Copy + Default>(mut xs: Vec<T>, n: usize) -> Vec<T> {
    xs.resize(n, T::default());
    xs
}
//-
/// The sum of two arrays; the shorter one counts as extended with zeros.
fn accumulate<T: Copy + std::ops::AddAssign>(mut xs: Vec<T>, ys: &[T]) -> Vec<T> {
    for (x, y) in xs.iter_mut().zip(ys) {
        *x += *y;
    }
    if xs.len() < ys.len() {
        xs.extend_from_slice(&ys[xs.len()..]);
    }
    xs
}
//-
/// The sum: blocks of 512, each in 32 columns.
fn sum<T: Copy + Default + std::ops::Add<Output = T>>(xs: &[T]) -> T {
    let mut total = T::default();
    for block in xs.chunks(512) {
        let (whole, rest) = block.split_at(block.len() / 8 * 8);
        let rest = rest.iter().fold(T::default(), |s, x| s + *x);
        if whole.is_empty() {
            total = total + rest;
            continue;
        }
        let mut c = [T::default(); 32];
        for line in whole.chunks(32) {
            c.iter_mut().zip(line).for_each(|(s, x)| *s = *s + *x);
        }
        let c: [T; 8] = std::array::from_fn(|k| (c[k] + c[k + 8]) + (c[k + 16] + c[k + 24]));
        total = total + (((c[0] + c[1]) + (c[2] + c[3])) + ((c[4] + c[5]) + (c[6] + c[7])) + rest);
    }
    total
}
//-
/// Records a value.
fn push<T>(tape: &mut Vec<T>, x: T) {
    // Taken out and put back, so that the vector itself may stay in registers.
    #[cold]
    fn grown<T>(mut tape: Vec<T>) -> Vec<T> {
        tape.reserve(64);
        tape
    }
    if tape.len() == tape.capacity() {
        *tape = grown(std::mem::take(tape));
    }
    tape.push(x);
}
//-
/// Room for what the iterations of a loop record, `each` values an iteration.
fn room<T: Clone + Default>(
    tape: &mut Vec<T>,
    rounds: std::ops::Range<i64>,
    each: usize,
) -> std::slice::ChunksExactMut<'_, T> {
    let from = tape.len();
    let rounds = usize::try_from(rounds.end.saturating_sub(rounds.start)).unwrap_or(0);
    tape.resize(from.saturating_add(rounds.saturating_mul(each)), T::default());
    tape[from..].chunks_exact_mut(each)
}
//-
/// Takes back what was recorded last.
fn pop<T>(tape: &mut Vec<T>) -> T {
    tape.pop().expect("nothing is left on the tape")
}
