//! A network that learns to tell two interleaved half circles apart.
//!
//! ```text
//! cargo run -p ketgrad-examples --example two_moons -- moons.svg
//! ```
//! The loss is a formula over matrices in the program language; its gradient is prepared once and
//! called in each step. With a file name, the curve of the loss and the learnt boundary are drawn.
#![expect(clippy::print_stdout, reason = "an example prints")]

use std::fmt::Write;

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::Program,
    text::parse_program,
};
use ketgrad_examples::Lcg;

const POINTS: usize = 200;
const STEPS: usize = 400;
const RATE: f64 = 0.5;

/// Two layers of 16; `margin` is positive where the network says "upper moon".
const NETWORK: &str = "
fn margin(x: array, w1: array, b1: array, w2: array, b2: array, w3: array, b3: array) {
    let h = tanh(matmul(tanh(matmul(x, w1) + b1), w2) + b2);
    matvec(h, w3) + b3
}
// The mean of -ln of the probability 1 / (1 + exp(-sign z)) of the right answer.
fn loss(w1: array, b1: array, w2: array, b2: array, w3: array, b3: array) {
    let z = SIGNS * margin(POINTS, w1, b1, w2, b2, w3, b3);
    mean(ln_1p(exp(-abs(z))) + max(-z, 0))
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (points, signs) = moons();
    // The data is part of the program: only the weights have a gradient.
    let source =
        NETWORK.replace("SIGNS", &format!("{signs:?}")).replace("POINTS", &format!("{points:?}"));
    let program = parse_program(&source)?;
    let mut random = Lcg(1);
    let mut layer =
        |shape: &[usize], size: f64| -> Result<Datum<f64>, Box<dyn std::error::Error>> {
            let items = (0..shape.iter().product()).map(|_| size * random.signed()).collect();
            Ok(Datum::reals_of(shape, items)?)
        };
    let mut weights = vec![
        layer(&[2, 16], 1.0)?,
        layer(&[16], 0.1)?,
        layer(&[16, 16], 0.5)?,
        layer(&[16], 0.1)?,
        layer(&[16], 0.5)?,
        layer(&[1], 0.1)?,
    ];
    let mut loss = Derivatives::<f64>::new(&program, "loss")?.prepare()?;
    let (mut gradient, mut speed) =
        (Vec::new(), weights.iter().map(numbers).map(|w| vec![0.0; w.len()]).collect::<Vec<_>>());
    let mut curve = Vec::new();
    for _ in 0..STEPS {
        curve.push(loss.value_and_gradient(&weights, &mut gradient)?);
        for ((w, g), v) in weights.iter_mut().zip(&gradient).zip(&mut speed) {
            let moved = numbers(w).iter().zip(numbers(g)).zip(v).map(|((w, g), v)| {
                *v = 0.9 * *v - 0.1 * RATE * g;
                w + *v
            });
            *w = Datum::reals_of(&shape(w), moved.collect())?;
        }
    }
    let answers = margins(&program, &points, &weights)?;
    let right = answers.iter().zip(&signs).filter(|(z, s)| *z * *s > 0.0).count();
    println!("loss {:.3} at the start, {:.4} after {STEPS} steps", curve[0], curve[STEPS - 1]);
    println!("accuracy: {:.1} %", 100.0 * right as f64 / POINTS as f64);
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(&path, picture(&program, &points, &signs, &weights, &curve)?)?;
        println!("drawn to {path}");
    }
    Ok(())
}

/// Points on two half circles, with noise, and which of them each is on.
fn moons() -> (Vec<[f64; 2]>, Vec<f64>) {
    let mut random = Lcg(7);
    let point = |k: usize| {
        let angle = std::f64::consts::PI * (k / 2) as f64 / (POINTS / 2 - 1) as f64;
        let (x, y) = (angle.cos(), angle.sin());
        let upper = k.is_multiple_of(2);
        let (x, y) = if upper { (x, y) } else { (1.0 - x, 0.5 - y) };
        ([x + 0.1 * random.signed(), y + 0.1 * random.signed()], if upper { 1.0 } else { -1.0 })
    };
    (0..POINTS).map(point).unzip()
}

fn margins(
    program: &Program,
    points: &[[f64; 2]],
    weights: &[Datum<f64>],
) -> Result<Vec<f64>, Box<dyn std::error::Error>> {
    let x = Datum::reals_of(&[points.len(), 2], points.concat())?;
    let args: Vec<Datum<f64>> = std::iter::once(x).chain(weights.iter().cloned()).collect();
    Ok(numbers(&Derivatives::new(program, "margin")?.value(&args)?).to_vec())
}

fn numbers(d: &Datum<f64>) -> &[f64] {
    match d {
        Datum::Reals(xs) => xs,
        _ => &[],
    }
}

fn shape(d: &Datum<f64>) -> Vec<usize> {
    match d {
        Datum::Reals(xs) => xs.shape().to_vec(),
        _ => vec![],
    }
}

/// The plane coloured by the answers, the points, and the curve of the loss beside them.
fn picture(
    program: &Program,
    points: &[[f64; 2]],
    signs: &[f64],
    weights: &[Datum<f64>],
    curve: &[f64],
) -> Result<String, Box<dyn std::error::Error>> {
    const CELLS: usize = 60;
    let colour = |s: f64| if s > 0.0 { "#c2562d" } else { "#2d6ec2" };
    let place = |p: &[f64; 2]| ((p[0] + 1.5) * 100.0, (1.5 - p[1]) * 100.0);
    let cell = |k: usize| {
        [
            -1.5 + 4.0 * (k % CELLS) as f64 / CELLS as f64,
            1.5 - 2.5 * (k / CELLS) as f64 / CELLS as f64,
        ]
    };
    let grid: Vec<[f64; 2]> = (0..CELLS * CELLS).map(cell).collect();
    let mut svg =
        String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 250\">\n");
    for (p, z) in grid.iter().zip(margins(program, &grid, weights)?) {
        let ((x, y), p) = (place(p), 1.0 / (1.0 + (-z.abs()).exp()));
        let (fill, opacity) = (colour(z), 0.6 * (p - 0.5) * 2.0);
        writeln!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"6.8\" height=\"4.3\" fill=\"{fill}\" opacity=\"{opacity:.2}\"/>"
        )?;
    }
    for (p, s) in points.iter().zip(signs) {
        let (x, y) = place(p);
        writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2.5\" fill=\"{}\"/>", colour(*s))?;
    }
    let top = curve.iter().copied().fold(0.0, f64::max);
    let step = |(k, l): (usize, &f64)| {
        format!("{:.1},{:.1}", 430.0 + 270.0 * k as f64 / STEPS as f64, 230.0 - 210.0 * l / top)
    };
    let line: Vec<String> = curve.iter().enumerate().map(step).collect();
    writeln!(svg, "<polyline points=\"{}\" fill=\"none\" stroke=\"black\"/>", line.join(" "))?;
    writeln!(
        svg,
        "<text x=\"430\" y=\"14\" font-size=\"12\">loss, from {top:.2}, over {STEPS} steps</text>\n</svg>"
    )?;
    Ok(svg)
}
