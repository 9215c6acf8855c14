//! Three problems of ADBench, the benchmark of Srajer, Kukelova and Fitzgibbon (*A benchmark of
//! selected algorithmic differentiation tools on some problems in computer vision and machine
//! learning*, 2018): values and derivatives as jax 0.10.2 gives them in double precision, for
//! programs as users write them.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{Colouring, Datum, Derivatives},
    text::parse_program,
};

const BUNDLE: &str = include_str!("../../examples/programs/bundle_adjustment.kg");
const LSTM: &str = include_str!("../../examples/programs/lstm.kg");
const HAND: &str = include_str!("../../examples/programs/hand.kg");

/// Fractions that look random and have the same bits everywhere.
fn noise(n: usize, seed: usize) -> Vec<f64> {
    (0..n).map(|k| (((37 * k + seed) % 101) as f64 - 50.0) / 64.0).collect()
}

fn tensor(shape: &[usize], seed: usize, scale: f64, shift: f64) -> Datum<f64> {
    let items = noise(shape.iter().product(), seed).into_iter().map(|x| shift + scale * x);
    Datum::reals_of(shape, items.collect()).unwrap()
}

fn of(source: &str, name: &str, constants: &[(&str, Datum<f64>)]) -> Derivatives<'static, f64> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{}", e[0]));
    let f = Derivatives::<f64>::new(&program, name).unwrap();
    constants.iter().fold(f, |f, (name, value)| f.with_constant(name, value.clone()).unwrap())
}

fn items(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(xs) => xs.to_vec(),
        other => panic!("{other} is no array"),
    }
}

/// Equal to rounding.
#[track_caller]
fn near(given: &[f64], expected: &[f64]) {
    assert_eq!(given.len(), expected.len());
    for (a, b) in given.iter().zip(expected) {
        assert!((a - b).abs() <= 1e-13 * b.abs().max(1e-2), "{given:?} is not {expected:?}");
    }
}

#[test]
fn a_recurrent_network() {
    let constants =
        [("init", tensor(&[4, 3], 3, 1.0, 0.0)), ("sequence", tensor(&[5, 3], 4, 1.0, 0.0))];
    let args = [tensor(&[4, 4, 3], 1, 1.0, 0.0), tensor(&[3, 3], 2, 1.0, 0.0)];
    let (value, gradient) = of(LSTM, "loss", &constants).value_and_gradient(&args).unwrap();
    near(&[value], &[-0.08954295606465566]);
    let (params, extra) = (items(&gradient[0]), items(&gradient[1]));
    let found = [params.iter().sum(), extra.iter().sum(), params[0], params[47], extra[1]];
    near(
        &found,
        &[
            -0.010896652474115167,
            -0.021681337332895817,
            -1.4883499089546032e-05,
            0.001432498370378522,
            1.1387538638786614e-07,
        ],
    );
}

#[test]
fn bundle_adjustment() {
    let mut cameras = noise(22, 5);
    for camera in cameras.chunks_exact_mut(11) {
        camera.iter_mut().for_each(|x| *x *= 0.25);
        camera[5] -= 4.0;
        camera[6] += 8.0;
    }
    let args = [
        Datum::reals_of(&[2, 11], cameras).unwrap(),
        tensor(&[3, 3], 6, 1.0, 0.0),
        tensor(&[4], 7, 0.25, 1.0),
    ];
    let constants = [
        ("seen", tensor(&[4, 2], 8, 1.0, 0.0)),
        ("camera_of", Datum::ints([0, 1, 0, 1])),
        ("point_of", Datum::ints([0, 1, 2, 2])),
    ];
    let mut f = of(BUNDLE, "errors", &constants);
    let errors = items(&f.value(&args).unwrap());
    // A coordinate depends on all of its camera but the other one of the middle, on the point and
    // on the weight.
    let colouring = Colouring::new(f.jacobian_pattern(&args).unwrap());
    assert_eq!(colouring.pattern().len(), 4 * (2 * 14 + 1));
    let j = f.sparse_jacobian(&args, &colouring).unwrap().dense();
    assert_eq!(j, f.jacobian(&args).unwrap());
    let sum = |columns: std::ops::Range<usize>| {
        j.iter().flat_map(|row| &row[columns.clone()]).sum::<f64>()
    };
    let sums = [errors.iter().sum(), errors[7], sum(0..22), sum(22..31), sum(31..35)];
    let entries = [j[0][0], j[10][20], j[6][22 + 8]];
    near(
        &[&sums[..], &entries].concat(),
        &[
            2.248920958101237,
            1.3625748469287589,
            -8.239199494277278,
            13.940637210891337,
            -5.510784465222435,
            0.5048992165317105,
            0.06446914903176673,
            0.1104395877219605,
        ],
    );
}

/// Without a rotation, where an angle is a root of zero: `d(R x)/dr = -[x]×`.
#[test]
fn a_camera_that_is_not_turned() {
    let f = "fn turned(r: array) { rotate(r, [1.0, 2.0, 3.0]) }";
    let source = format!("{BUNDLE}{f}");
    let j = of(&source, "turned", &[]).jacobian(&[Datum::reals([0.0; 3])]).unwrap();
    assert_eq!(j, [[0.0, 3.0, -2.0], [-3.0, 0.0, 1.0], [2.0, -1.0, 0.0]]);
}

#[test]
fn a_hand() {
    let bones = |seed: usize| {
        let mut m = noise(22 * 16, seed);
        m.chunks_exact_mut(16).for_each(|m| m[12..].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]));
        Datum::reals_of(&[22, 4, 4], m).unwrap()
    };
    let fingers = (0..5).flat_map(|k| [1, 2 + 4 * k, 3 + 4 * k, 4 + 4 * k]);
    let skin = [noise(15, 4), vec![1.0; 5]].concat();
    let model = Datum::Tuple(vec![
        bones(1),
        bones(2),
        Datum::ints([-1, 0].into_iter().chain(fingers)),
        tensor(&[22, 5], 3, 0.0625, 0.0625),
        Datum::reals_of(&[4, 5], skin).unwrap(),
    ]);
    let constants = [
        ("hand", model),
        ("points", tensor(&[3, 4], 5, 1.0, 0.0)),
        ("chosen", Datum::ints([0, 2, 4, 1])),
    ];
    let mut f = of(HAND, "errors", &constants);
    let theta = [tensor(&[26], 6, 0.25, 0.0)];
    let errors = items(&f.value(&theta).unwrap());
    let j = f.jacobian(&theta).unwrap();
    let sum = j.iter().flatten().sum();
    near(
        &[errors.iter().sum(), errors[11], sum, j[0][0], j[6][13], j[11][25]],
        &[
            5.6114772282212355,
            -1.2153860381528068,
            -13.99328857771987,
            -0.012904087463486048,
            0.01477415557358436,
            -0.10047821477248851,
        ],
    );
}
