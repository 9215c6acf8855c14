//! A rule of one's own, and the check that finds a mistake in it.
//!
//! ```text
//! cargo run -p ketgrad-examples --example custom_rule
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    check::{Settings, test_rule},
    exec::{Datum, Derivatives, NoHost},
    text::parse_program,
};

/// `ln(1 + e^x)`, whose derivative by the table, `e^x / (1 + e^x)`, is infinity over infinity for
/// large x.
const RIGHT: &str = "
    rule softplus(x) { max(x, 0.0) + ln_1p(exp(-abs(x))) }
    pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) }
    fn loss(x, w) { softplus(w * x) }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(RIGHT)?;
    let mut loss = Derivatives::<f64>::new(&program, "loss")?;
    let gradient = loss.gradient(&[Datum::Real(1000.0), Datum::Real(2.0)])?;
    println!("by w at x = 1000, w = 2: {}", gradient[1]);

    let at = [Datum::Real(0.5)];
    let faults = test_rule(&program, "softplus", &at, &NoHost, Settings::default())?;
    println!("the rule has {} faults", faults.len());

    let wrong = RIGHT.replace("exp(-x)) }\n    fn", "exp(x)) }\n    fn");
    let program = parse_program(&wrong)?;
    for fault in test_rule(&program, "softplus", &at, &NoHost, Settings::default())? {
        println!("with a wrong sign, {fault}");
    }
    Ok(())
}
