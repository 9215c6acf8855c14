//! One cycle of the three-qubit code: two parities find any single bit flip and undo it.
//!
//! ```text
//! cargo run -p ketgrad-examples --example bit_flip_code
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::{Simulator, circuit};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let encode = circuit! { qubits 3; ry(0.9) 0; cx 0, 1..; }?;
    for errors in [vec![], vec![0], vec![1], vec![2], vec![0, 2]] {
        let cycle = circuit! {
            qubits data[3], check[2];
            bits syndrome[2], left[3];
            call(encode) data;
            x &errors;
            cx data[..2], check[0];
            cx data[1..], check[1];
            measure check -> syndrome;
            when syndrome == 0b01 { x data[0]; }
            when syndrome == 0b11 { x data[1]; }
            when syndrome == 0b10 { x data[2]; }
            dagger call(encode) data;
            measure data -> left;
        }?;
        let counts = Simulator::new().run_shots::<f64>(&cycle, &[], 1000, 3)?;
        let kept: u64 =
            counts.iter().filter(|(text, _)| text.starts_with("000")).map(|(_, n)| n).sum();
        println!("flips on {errors:?}: the state survived {kept} of 1000 cycles");
    }
    Ok(())
}
