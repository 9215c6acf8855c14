//! The largest cut of the icosahedron by the quantum approximate optimization algorithm: deeper
//! circuits cut more.
//!
//! ```text
//! cargo run -p ketgrad-examples --example qaoa_max_cut
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{
    Simulator, ansatz,
    basis::bitstring,
    hybrid::Expectation,
    optimize::{Lbfgs, Optimizer, Stopping, minimize},
    problem::{self, Graph},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let graph: Graph = include_str!("jobs/icosahedron.txt").parse()?;
    let (largest, side) = graph.largest_cut().ok_or("too many vertices to try all cuts")?;
    println!(
        "{} edges; the largest cut has {largest}, as {}",
        graph.edges().len(),
        bitstring(side, 12)
    );

    let optimizer = Optimizer::from(Lbfgs::default());
    let mut angles = vec![0.3, 0.3];
    for layers in 1..=4 {
        let circuit = ansatz::qaoa(&graph, layers)?;
        let energy = Expectation::new(circuit.clone(), [problem::max_cut(&graph)?])?;
        let (end, _) = minimize(&energy, &angles, &optimizer, &Stopping::default())?;

        let state = Simulator::new().run(&circuit, &end.x)?;
        let (best, amplitude) = state
            .amplitudes()
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.norm().total_cmp(&b.1.norm()))
            .ok_or("no amplitudes")?;
        println!(
            "{layers} layers: expected cut {:.4}; {} cuts {} and has probability {:.4}",
            -end.value,
            bitstring(best, 12),
            graph.cut(best),
            amplitude.norm_sqr()
        );
        // The next circuit begins where this one ended: its last layer does little.
        let (gamma, beta) = end.x.split_at(layers);
        angles = [gamma, &gamma[layers - 1..], beta, &[0.5 * beta[layers - 1]]].concat();
    }
    Ok(())
}
