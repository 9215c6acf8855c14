// Written by ketgrad. Edition 2021 or later.

/// Record of a primal for its adjoint.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    bools: Vec<bool>,
    reals: Vec<f64>,
}

#[allow(unused_assignments, unused_mut, unused_parens, unused_variables, nonstandard_style)]
pub fn arith_gradient(x: f64, c: f64) -> (f64, f64, f64) {
    let tape = &mut Tape::default();
    let a = 0.5 * x;
    let mut y = x;
    for kept_reals in room(&mut tape.reals, 0..1000, 2) {
        let a2 = a / (1.0 + y * y);
        kept_reals[0] = y;
        kept_reals[1] = a2;
        y = y * c + a2;
    }
    let mut a3: f64 = 1.0;
    let mut a4: f64 = 0.0;
    let mut c_bar: f64 = 0.0;
    for _ in 0..1000 {
        let a5 = pop(&mut tape.reals);
        let a6 = pop(&mut tape.reals);
        let a7 = 1.0 + a6 * a6;
        let a8 = a6 * (-(a5 / a7) * a3);
        a4 += 0.5 * (1.0 / a7 * a3);
        c_bar += a6 * a3;
        a3 = a8 + a8 + c * a3;
    }
    (y, a4 + a3, c_bar)
}

#[allow(unused_assignments, unused_mut, unused_parens, unused_variables, nonstandard_style)]
pub fn branchy_gradient(x: f64, c: f64) -> (f64, f64, f64) {
    let tape = &mut Tape::default();
    let mut y = x;
    for kept_bools in room(&mut tape.bools, 0..1000, 1) {
        let is = y > 1.0;
        let y2: f64;
        if is {
            y2 = y * 0.5 + c * x;
        } else {
            y2 = y * 1.3 + c;
        }
        kept_bools[0] = is;
        y = y2;
    }
    let mut a: f64 = 1.0;
    let mut n: i64 = 1000;
    let mut a2: f64 = 0.0;
    let mut c_bar: f64 = 0.0;
    while n != 0 {
        let n2 = int_sub(n, 1);
        if pop(&mut tape.bools) {
            n = n2;
            a2 += c * a;
            c_bar += x * a;
            a = 0.5 * a;
        } else {
            n = n2;
            c_bar += a;
            a = 1.3 * a;
        }
    }
    (y, a2 + a, c_bar)
}

#[allow(unused_assignments, unused_mut, unused_parens, unused_variables, nonstandard_style)]
pub fn trig_gradient(x: f64, c: f64) -> (f64, f64, f64) {
    let tape = &mut Tape::default();
    let mut y = x;
    for kept_reals in room(&mut tape.reals, 0..1000, 2) {
        let a = y.sin();
        kept_reals[0] = y;
        kept_reals[1] = a;
        y = c * a + 0.5 * (x * y).cos();
    }
    let mut a2: f64 = 1.0;
    let mut a3: f64 = 0.0;
    let mut c_bar: f64 = 0.0;
    for _ in 0..1000 {
        let a4 = pop(&mut tape.reals);
        let a5 = pop(&mut tape.reals);
        let a6 = -(x * a5).sin() * (0.5 * a2);
        a3 += a5 * a6;
        c_bar += a4 * a2;
        a2 = x * a6 + a5.cos() * (c * a2);
    }
    (y, a3 + a2, c_bar)
}

#[allow(unused_assignments, unused_mut, unused_parens, unused_variables, nonstandard_style)]
pub fn trace_gradient(a: &[f64], b: &[f64], n: i64) -> (f64, Vec<f64>, Vec<f64>) {
    let mut y: f64 = 0.0;
    for i in 0..n {
        for j in 0..n {
            y += a[int_add(int_mul(i, n), j) as usize] * b[int_add(int_mul(j, n), i) as usize];
        }
    }
    let n2 = i64::max(0, n);
    let mut n3 = n2;
    let mut b_bar = vec![0.0; b.len()];
    let mut a_bar = vec![0.0; a.len()];
    while n3 != 0 {
        let n4 = int_sub(n3, 1);
        let mut n5 = n2;
        while n5 != 0 {
            let n6 = int_sub(n5, 1);
            let n7 = int_add(int_mul(n4, n), n6);
            let n8 = int_add(int_mul(n6, n), n4);
            b_bar[n8 as usize] += a[n7 as usize];
            a_bar[n7 as usize] += b[n8 as usize];
            n5 = n6;
        }
        n3 = n4;
    }
    (y, at_full_length(a_bar, a.len()), at_full_length(b_bar, b.len()))
}

/// The sum of integers.
fn int_add(a: i64, b: i64) -> i64 {
    a.checked_add(b).expect("an integer sum overflows")
}

/// The difference of integers.
fn int_sub(a: i64, b: i64) -> i64 {
    a.checked_sub(b).expect("an integer difference overflows")
}

/// The product of integers.
fn int_mul(a: i64, b: i64) -> i64 {
    a.checked_mul(b).expect("an integer product overflows")
}

/// An array of the given number of elements: those after its own are 0.
fn at_full_length<T: Copy + Default>(mut xs: Vec<T>, n: usize) -> Vec<T> {
    xs.resize(n, T::default());
    xs
}

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

/// Takes back what was recorded last.
fn pop<T>(tape: &mut Vec<T>) -> T {
    tape.pop().expect("nothing is left on the tape")
}
