//! A planted NaN, found twice: by the finder, which names the line and the operands, and by hand in
//! the debugger, which this program drives.
//!
//! ```text
//! cargo run -p ketgrad-examples --example debugger
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    exec::{
        Datum, Derivatives,
        inspect::{Command, Debugger, Find, Finder, Inspection, OpCounter, Pause},
    },
    text::parse_program,
};

/// The logarithms of how far a point is outside of three circles. Inside of one there is none: the
/// mistake.
const SOURCE: &str = "fn distance(x, y, r) {
  let d = x * x + y * y - r * r;
  d
}
fn energy(x, y) {
  let mut e = 0.0;
  for i in 1..4 {
    let r = real(i);
    let d = distance(x, y, r);
    e = e + ln(d) / r;
  }
  e
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let program = parse_program(SOURCE)?;
    let point = [Datum::Real(1.5), Datum::Real(1.0)];
    println!("energy = {}", Derivatives::<f64>::new(&program, "energy")?.value(&point)?);

    // Where was the first NaN made, and of what?
    let mut finder = Finder::new(Find::Nan);
    let mut energy = Inspection::<f64>::new(&program, "energy")?;
    if energy.run(&point, &mut finder).is_err()
        && let Some(found) = finder.found()
    {
        println!("found: {found}");
    }

    // How did the logarithm come to see that number? Stop at each call of `distance` and look.
    let mut debugger = Debugger::new(|pause: &Pause<'_, f64>| {
        let parameters: Vec<String> =
            pause.parameters().iter().map(|(name, value)| format!("{name} = {value}")).collect();
        println!("line {}: {}", pause.event.position().line, parameters.join(", "));
        Command::Continue
    })
    .with_breakpoint(2);
    energy.run(&point, &mut debugger)?;

    // What did it cost?
    let mut counter = OpCounter::default();
    energy.run(&point, &mut counter)?;
    println!("{} logarithms, {} floating-point operations", counter.count("ln"), counter.flops);
    Ok(())
}
