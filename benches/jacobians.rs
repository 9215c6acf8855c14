//! Jacobians of two of ADBench's problems, one JSON row each, to be put beside other tools.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin jacobians
//! ```
//! Bundle adjustment (49 cameras, 7,776 points, 31,843 observations: a sparse matrix of 95,529 x
//! 55,710, 14 entries in each of two rows of three and one in the third) and a hand (26 angles, 22
//! bones, 544 points of the skin, 100 of them compared: dense, 300 x 26). Formulas: Srajer,
//! Kukelova and Fitzgibbon, *A benchmark of selected algorithmic differentiation tools on some
//! problems in computer vision and machine learning*, 2018. `sum` is that of all entries, to
//! compare results by.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a measurement stops at the first surprise"
)]

use std::hint::black_box;

use ketgrad_core::{
    exec::{Colouring, Datum, Derivatives, Sparse},
    text::parse_program,
};
use workload::timing::{noise, time};

const CAMERAS: usize = 49;
const POINTS: usize = 7_776;
const OBSERVATIONS: usize = 31_843;

/// All observations at once: a vector for each number of a camera and of a point. By the parameters
/// of each observation the Jacobian has three rows for each and nothing else.
const AT_ONCE: &str = "
fn of_each(c: array, p: array, w: array, seen: array) {
    let (a, b, c3) = (row(c, 0), row(c, 1), row(c, 2));
    let theta = sqrt(a * a + b * b + c3 * c3);
    let (a, b, g) = (a / theta, b / theta, c3 / theta);
    let (x, y, z) = (row(p, 0) - row(c, 3), row(p, 1) - row(c, 4), row(p, 2) - row(c, 5));
    let (s, k) = (sin(theta), cos(theta));
    let along = (a * x + b * y + g * z) * (1 - k);
    let depth = z * k + (a * y - b * x) * s + g * along;
    let u = (x * k + (b * z - g * y) * s + a * along) / depth;
    let v = (y * k + (g * x - a * z) * s + b * along) / depth;
    let q = u * u + v * v;
    let f = (1 + row(c, 9) * q + row(c, 10) * q * q) * row(c, 6);
    [w * (u * f + row(c, 7) - row(seen, 0)), w * (v * f + row(c, 8) - row(seen, 1)), 1 - w * w]
}
fn errors(cameras: array, points: array, w: array, seen: array, camera_of: array<int>, point_of: array<int>) {
    of_each(transpose(take(cameras, camera_of)), transpose(take(points, point_of)), w, seen)
}";

fn tensor(shape: &[usize], seed: f64, scale: f64, shift: f64) -> Datum<f64> {
    let items = noise(shape.iter().product(), seed).into_iter().map(|x| shift + scale * x);
    Datum::reals_of(shape, items.collect()).unwrap()
}

fn bundle() -> ([Datum<f64>; 3], Datum<f64>, [Datum<f64>; 2]) {
    let mut cameras = noise(CAMERAS * 11, 0.1);
    for c in cameras.chunks_exact_mut(11) {
        c[..3].iter_mut().for_each(|x| *x *= 0.1);
        c[5] -= 5.0;
        c[6] = 500.0 + 10.0 * c[6];
        c[9] *= 0.01;
        c[10] *= 0.001;
    }
    let at = [
        Datum::reals_of(&[CAMERAS, 11], cameras).unwrap(),
        tensor(&[POINTS, 3], 0.2, 1.0, 0.0),
        tensor(&[OBSERVATIONS], 0.3, 0.1, 1.0),
    ];
    let of = |step: usize, n: usize| Datum::ints((0..OBSERVATIONS).map(|i| (i * step % n) as i64));
    (at, tensor(&[OBSERVATIONS, 2], 0.4, 100.0, 0.0), [of(1, CAMERAS), of(7, POINTS)])
}

fn row(name: &str, products: usize, sum: f64, (least, median): (f64, f64)) {
    println!(
        "{{\"workload\": \"{name}\", \"peer\": \"ketgrad\", \"products\": {products}, \"seconds_min\": {least:.3e}, \"seconds_median\": {median:.3e}, \"sum\": {sum:.12e}}}"
    );
}

fn bundle_adjustment(name: &str, source: &str, seen: Datum<f64>) {
    let (at, _, [camera_of, point_of]) = bundle();
    let program = parse_program(source).unwrap();
    let mut f = Derivatives::<f64>::new(&program, "errors").unwrap();
    for (name, value) in [("seen", seen), ("camera_of", camera_of), ("point_of", point_of)] {
        f = f.with_constant(name, value).unwrap();
    }
    let colouring = Colouring::new(f.jacobian_pattern(&at).unwrap());
    let sum = total(&f.sparse_jacobian(&at, &colouring).unwrap());
    row(
        name,
        colouring.products(),
        sum,
        time(|| drop(black_box(f.sparse_jacobian(black_box(&at), &colouring).unwrap()))),
    );
}

/// By the parameters of each observation, as if there were a camera and a point for each.
fn blocks(seen: Datum<f64>) {
    let ([cameras, points, w], _, [camera_of, point_of]) = bundle();
    let program = parse_program("fn f(x: array, k: array<int>) { transpose(take(x, k)) }").unwrap();
    let mut gather = Derivatives::<f64>::new(&program, "f").unwrap();
    let c = gather.value(&[cameras, camera_of]).unwrap();
    let at = [c, gather.value(&[points, point_of]).unwrap(), w];
    let mut f = Derivatives::<f64>::new(&parse_program(AT_ONCE).unwrap(), "of_each").unwrap();
    f = f.with_constant("seen", seen).unwrap();
    let colouring = Colouring::new(f.jacobian_pattern(&at).unwrap());
    let j = f.sparse_jacobian(&at, &colouring).unwrap();
    row(
        "bundle-blocks",
        colouring.products(),
        total(&j),
        time(|| drop(black_box(f.sparse_jacobian(black_box(&at), &colouring).unwrap()))),
    );
}

fn total(j: &Sparse<f64>) -> f64 {
    (0..3 * OBSERVATIONS).map(|k| j.row(k).map(|(_, x)| x).sum::<f64>()).sum()
}

fn hand() {
    const SKIN: usize = 544;
    let bone = |seed: f64| {
        let mut m = noise(22 * 16, seed);
        m.chunks_exact_mut(16).for_each(|m| m[12..].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]));
        Datum::reals_of(&[22, 4, 4], m).unwrap()
    };
    let fingers = (0..5).flat_map(|k| [1, 2 + 4 * k, 3 + 4 * k, 4 + 4 * k]);
    let mut skin = noise(4 * SKIN, 0.5);
    skin[3 * SKIN..].fill(1.0);
    let model = Datum::Tuple(vec![
        bone(0.1),
        bone(0.2),
        Datum::ints([-1, 0].into_iter().chain(fingers)),
        tensor(&[22, SKIN], 0.4, 0.04, 0.045),
        Datum::reals_of(&[4, SKIN], skin).unwrap(),
    ]);
    let program = parse_program(include_str!("../examples/programs/hand.kg")).unwrap();
    let chosen = Datum::ints((0..100).map(|i| i * 37 % SKIN as i64));
    let mut f = Derivatives::<f64>::new(&program, "errors").unwrap();
    for (name, value) in
        [("hand", model), ("points", tensor(&[3, 100], 0.6, 1.0, 0.0)), ("chosen", chosen)]
    {
        f = f.with_constant(name, value).unwrap();
    }
    let at = [tensor(&[26], 0.7, 0.3, 0.0)];
    let sum = f.jacobian(&at).unwrap().iter().flatten().sum();
    row("hand", 26, sum, time(|| drop(black_box(f.jacobian(black_box(&at)).unwrap()))));
}

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let is_wanted = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let (_, seen, _) = bundle();
    if is_wanted("bundle") {
        let Datum::Reals(rows) = &seen else { return };
        let columns: Vec<f64> =
            (0..2).flat_map(|k| rows.iter().skip(k).step_by(2).copied()).collect();
        let columns = Datum::reals_of(&[2, OBSERVATIONS], columns).unwrap();
        bundle_adjustment("bundle", AT_ONCE, columns.clone());
        blocks(columns);
    }
    if is_wanted("bundle-loop") {
        bundle_adjustment(
            "bundle-loop",
            include_str!("../examples/programs/bundle_adjustment.kg"),
            seen,
        );
    }
    if is_wanted("hand") {
        hand();
    }
}
