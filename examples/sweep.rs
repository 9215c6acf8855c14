//! A parameter sweep, plotted: the expected cut of a ring under QAOA with one layer, over the angle
//! gamma, beside its closed form `1/2 + sin(4 beta) sin(2 gamma) / 4` per edge.
//! (Z. Wang, S. Hadfield, Z. Jiang, E. Rieffel, Phys. Rev. A 97, 022304 (2018), equation 16.)
//!
//! ```text
//! cargo run -p ketgrad-examples --example sweep > sweep.svg
//! ```
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example prints")]

use std::f64::consts::PI;

use ketgrad::{Simulator, circuit, kernel::Threads, pauli};

const N: usize = 8;
const POINTS: usize = 81;
const BETA: f64 = PI / 8.0;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let qaoa = circuit! {
        qubits N;
        param gamma;
        h ..;
        for q in 0..N { rzz(-gamma) q, (q + 1) % N; }
        rx(2.0 * BETA) ..;
    }?;
    let edge = pauli!(0.5 - 0.5 * Z0 Z1)?;

    let gammas: Vec<f64> = (0..POINTS).map(|k| PI * k as f64 / (POINTS - 1) as f64).collect();
    let points: Vec<Vec<f64>> = gammas.iter().map(|&gamma| vec![gamma]).collect();
    let simulator = Simulator::new().with_threads(Threads::new(2)?);
    let mut curve = Vec::new();
    let mut worst = 0.0f64;
    for (gamma, state) in gammas.iter().zip(simulator.run_points(&qaoa, &points)?) {
        let cut = state.expectation(&edge, &simulator.threads)?;
        worst = worst.max((cut - 0.5 - (4.0 * BETA).sin() * (2.0 * gamma).sin() / 4.0).abs());
        curve.push((*gamma, cut));
    }
    eprintln!("largest difference from the closed form: {worst:.1e}");
    print!("{}", plot(&curve));
    Ok(())
}

/// The curve with its axes: gamma from 0 to pi, the cut per edge from 0 to 1.
fn plot(curve: &[(f64, f64)]) -> String {
    let at = |(x, y): &(f64, f64)| format!("{:.1},{:.1}", 60.0 + x / PI * 520.0, 340.0 - y * 300.0);
    let line: Vec<String> = curve.iter().map(at).collect();
    let text = |x: u32, y: u32, text: &str| format!("<text x=\"{x}\" y=\"{y}\">{text}</text>\n");
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"620\" height=\"400\" font-family=\"sans-serif\" \
         font-size=\"14\" text-anchor=\"middle\">\n<rect width=\"620\" height=\"400\" fill=\"white\"/>\n\
         <path d=\"M60 40V340H580\" fill=\"none\" stroke=\"black\"/>\n\
         <polyline points=\"{}\" fill=\"none\" stroke=\"#1f6fb2\" stroke-width=\"2\"/>\n{}{}{}{}{}</svg>\n",
        line.join(" "),
        text(40, 345, "0"),
        text(40, 45, "1"),
        text(580, 360, "π"),
        text(320, 385, "gamma"),
        text(320, 25, "expected cut per edge of a ring of 8, beta = π/8"),
    )
}
