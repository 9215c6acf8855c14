//! Textbook identities proved for all angles, and a wrong optimisation caught with angles that show
//! it.
//!
//! ```text
//! cargo run -p ketgrad-examples --example equivalence
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad_core::{
    circuit::{Circuit, CircuitError},
    equivalent::{EquivalenceReport, EquivalenceSettings, equivalent},
    param::PI,
    simulate::Simulator,
};

/// Appends one side of an identity.
type Side = fn(&mut Circuit) -> Result<&mut Circuit, CircuitError>;

const IDENTITIES: &[(&str, usize, Side, Side)] = &[
    ("SWAP is three CX", 2, |c| c.swap(0, 1), |c| c.cx(0, 1)?.cx(1, 0)?.cx(0, 1)),
    (
        "CCX from Clifford+T",
        3,
        |c| c.ccx(0, 1, 2),
        |c| {
            c.h(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?.t(2)?.cx(1, 2)?.tdg(2)?.cx(0, 2)?;
            c.t(1)?.t(2)?.h(2)?.cx(0, 1)?.t(0)?.tdg(1)?.cx(0, 1)
        },
    ),
    (
        "RZZ from CX and RZ",
        2,
        |c| {
            let theta = c.param("theta");
            c.rzz(0, 1, theta)
        },
        |c| {
            let theta = c.param("theta");
            c.cx(0, 1)?.rz(1, theta)?.cx(0, 1)
        },
    ),
    (
        "RX from H and RZ",
        1,
        |c| {
            let theta = c.param("theta");
            c.rx(0, theta)
        },
        |c| {
            let theta = c.param("theta");
            c.h(0)?.rz(0, theta)?.h(0)
        },
    ),
    (
        "P is RZ up to a phase",
        1,
        |c| {
            let theta = c.param("theta");
            c.rz(0, theta)
        },
        |c| {
            let theta = c.param("theta");
            c.p(0, theta)
        },
    ),
    (
        "controlled RZ from CX and RZ",
        2,
        |c| {
            let theta = c.param("theta");
            c.crz(0, 1, theta)
        },
        |c| {
            let theta = c.param("theta");
            c.rz(1, &theta / 2)?.cx(0, 1)?.rz(1, -theta / 2)?.cx(0, 1)
        },
    ),
];

fn compare(
    n: usize,
    left: Side,
    right: Side,
) -> Result<EquivalenceReport, Box<dyn std::error::Error>> {
    let (left, right) = (Circuit::build(n, left)?, Circuit::build(n, right)?);
    Ok(equivalent(&left, &right, &EquivalenceSettings::default(), &Simulator::new())?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (what, n, left, right) in IDENTITIES {
        let report = compare(*n, *left, *right)?;
        let phase = report.phase.map(|p| format!(", {}", p.text)).unwrap_or_default();
        println!("{what}: {}{phase}", report.verdict.name());
    }

    // Rotations about different axes do not merge, however small the one between them is.
    let report = compare(
        1,
        |c| {
            let (a, b) = (c.param("a"), c.param("b"));
            c.rz(0, a)?.rx(0, PI / 64)?.rz(0, b)
        },
        |c| {
            let (a, b) = (c.param("a"), c.param("b"));
            c.rz(0, a + b)?.rx(0, PI / 64)
        },
    )?;
    println!("the wrong optimisation: {}", report.verdict.name());
    let witness = report.witness.ok_or("no witness")?;
    let at: Vec<String> =
        witness.params.iter().map(|(name, x)| format!("{name} = {x:.3}")).collect();
    println!("at {} the two are apart by {:.4}", at.join(", "), witness.distance);
    Ok(())
}
