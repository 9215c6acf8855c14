//! Teleportation with feed-forward: what Alice measures decides what Bob does.
//!
//! ```text
//! cargo run -p ketgrad-examples --example teleportation
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{Simulator, circuit, draw};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let angle = 1.1;
    let teleport = circuit! {
        qubits 3;
        bits alice[2], bob;
        ry(angle) 0; // the state to send
        h 1;
        cx 1, 2; // a pair: 1 is Alice's, 2 is Bob's
        cx 0, 1;
        h 0;
        measure 0..2 -> alice;
        when alice[1] { x 2; }
        when alice[0] { z 2; }
        measure 2 -> bob;
    }?;
    print!("{}", draw::text(&teleport, Some(100)));

    // Registers print last declared leftmost: Bob's bit, then Alice's two.
    let shots = 10_000;
    let counts = Simulator::new().run_shots::<f64>(&teleport, &[], shots, 1)?;
    for (outcome, count) in &counts {
        println!("{outcome}: {count}");
    }
    let ones: u64 =
        counts.iter().filter(|(outcome, _)| outcome.starts_with('1')).map(|(_, n)| n).sum();
    println!("Bob sees 1 with frequency {:.3}", ones as f64 / shots as f64);
    println!("sin^2(angle / 2)        = {:.3}", (angle / 2.0f64).sin().powi(2));
    Ok(())
}
