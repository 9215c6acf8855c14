//! Scalar loops as programs, and their gradients as one writes them by hand.
//!
//! Each loop runs 1,000 rounds on two numbers. The hand-written gradient keeps one number a round,
//! as little as the reverse sweep needs, and does no work that the program does not.

/// Rounds of each loop.
pub const ROUNDS: usize = 1000;

/// A gradient written by hand: `(x, c)` to the value and the slopes; the slice holds a number a
/// round.
pub type ByHand = fn([f64; 2], &mut [f64; ROUNDS]) -> (f64, [f64; 2]);

/// A loop in both forms.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Its name, also that of the function in the text.
    pub name: &'static str,
    /// The program.
    pub source: &'static str,
    /// Its gradient by hand.
    pub by_hand: ByHand,
}

/// Sums, products and a quotient; comparisons and short arms; sines and cosines.
pub const LOOPS: [Loop; 3] = [
    Loop {
        name: "arith",
        source: "fn arith(x, c) { let mut y = x; for i in 0..1000 { y = y * c + 0.5 * x / (1.0 + y * y); } y }",
        by_hand: arith,
    },
    Loop {
        name: "branchy",
        source: "fn branchy(x, c) { let mut y = x; for i in 0..1000 { if y > 1.0 { y = y * 0.5 + c * x; } else { y = y * 1.3 + c; } } y }",
        by_hand: branchy,
    },
    Loop {
        name: "trig",
        source: "fn trig(x, c) { let mut y = x; for i in 0..1000 { y = c * sin(y) + 0.5 * cos(x * y); } y }",
        by_hand: trig,
    },
];

/// Rows of the matrices of [`TRACE`].
pub const ROWS: usize = 30;

/// The trace of a product of two matrices.
pub const TRACE: &str = "fn trace(a: array, b: array, n: int) { let mut s = 0.0; for i in 0..n { for j in 0..n { s += a[i * n + j] * b[j * n + i]; } } s }";

/// [`TRACE`] and its gradients, which are the transposed matrices.
pub fn trace(a: &[f64], b: &[f64], n: usize) -> (f64, Vec<f64>, Vec<f64>) {
    let mut s = 0.0;
    for i in 0..n {
        for j in 0..n {
            s += a[i * n + j] * b[j * n + i];
        }
    }
    let (mut a_bar, mut b_bar) = (vec![0.0; n * n], vec![0.0; n * n]);
    for i in 0..n {
        for j in 0..n {
            a_bar[i * n + j] = b[j * n + i];
            b_bar[j * n + i] = a[i * n + j];
        }
    }
    (s, a_bar, b_bar)
}

/// Calls of [`TREE`] from this `n`.
pub const TREE_CALLS: usize = 21_891;
/// Depth of the recursion.
pub const DEPTH: i64 = 20;

/// A function that calls itself twice.
pub const TREE: &str = "fn tree(x, n: int) { if n < 2 { 0.5 * x * x + x } else { let u = tree(x, n - 1); let v = tree(0.5 * x, n - 2); 0.9 * u + v * x } }";

/// [`TREE`] and its slope.
pub fn tree(x: f64, n: i64) -> [f64; 2] {
    if n < 2 {
        return [0.5 * x * x + x, x + 1.0];
    }
    let ([u, du], [v, dv]) = (tree(x, n - 1), tree(0.5 * x, n - 2));
    [0.9 * u + v * x, 0.9 * du + 0.5 * dv * x + v]
}

fn arith([x, c]: [f64; 2], tape: &mut [f64; ROUNDS]) -> (f64, [f64; 2]) {
    let mut y = x;
    for t in tape.iter_mut() {
        *t = y;
        y = y * c + 0.5 * x / (1.0 + y * y);
    }
    let (mut y_bar, mut x_bar, mut c_bar) = (1.0, 0.0, 0.0);
    for y in tape.iter().rev() {
        let d = 1.0 / (1.0 + y * y);
        x_bar += y_bar * 0.5 * d;
        c_bar += y_bar * y;
        y_bar *= c - x * y * d * d;
    }
    (y, [x_bar + y_bar, c_bar])
}

fn branchy([x, c]: [f64; 2], tape: &mut [f64; ROUNDS]) -> (f64, [f64; 2]) {
    let mut y = x;
    for t in tape.iter_mut() {
        *t = y;
        y = if y > 1.0 { y * 0.5 + c * x } else { y * 1.3 + c };
    }
    let (mut y_bar, mut x_bar, mut c_bar) = (1.0, 0.0, 0.0);
    for y in tape.iter().rev() {
        if *y > 1.0 {
            x_bar += y_bar * c;
            c_bar += y_bar * x;
            y_bar *= 0.5;
        } else {
            c_bar += y_bar;
            y_bar *= 1.3;
        }
    }
    (y, [x_bar + y_bar, c_bar])
}

fn trig([x, c]: [f64; 2], tape: &mut [f64; ROUNDS]) -> (f64, [f64; 2]) {
    let mut y = x;
    for t in tape.iter_mut() {
        *t = y;
        y = c * y.sin() + 0.5 * (x * y).cos();
    }
    let (mut y_bar, mut x_bar, mut c_bar) = (1.0, 0.0, 0.0);
    for y in tape.iter().rev() {
        let s = -0.5 * (x * y).sin() * y_bar;
        x_bar += s * y;
        c_bar += y_bar * y.sin();
        y_bar = y_bar * c * y.cos() + s * x;
    }
    (y, [x_bar + y_bar, c_bar])
}
