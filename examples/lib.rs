//! Examples of ketgrad. Run one with `cargo run -p ketgrad-examples --example ghz`.
