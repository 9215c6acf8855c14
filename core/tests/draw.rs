//! Pictures of circuits: golden files, and laws that hold for every picture.
#![allow(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use ketgrad_core::{
    circuit::{Circuit, Condition, Relation},
    draw,
    matrix::Matrix,
    param::{Angle, Q},
};

/// Every shape once.
fn showcase() -> Circuit {
    let mut c = Circuit::new(5);
    let theta = c.param("theta");
    c.add_register("c", 2).unwrap().add_register("d", 1).unwrap();
    c.h(0).unwrap().cx(0, 2).unwrap().sdg(1).unwrap().swap(3, 4).unwrap();
    c.rx(4, theta.clone() * Q::new(3, 2) - Angle::pi(1, 4)).unwrap();
    c.gate(
        ketgrad_core::gate::Gate::new(ketgrad_core::gate::GateKind::H, []).unwrap(),
        &[2],
        &[(0, true), (4, false)],
    )
    .unwrap();
    c.rzz(3, 1, 0.785_398_163).unwrap().ccx(4, 3, 0).unwrap();
    c.gate(
        ketgrad_core::gate::Gate::new(ketgrad_core::gate::GateKind::ISWAP, []).unwrap(),
        &[4, 0],
        &[(2, true)],
    )
    .unwrap();
    c.barrier(&[0, 1, 2]).unwrap().barrier(&[4]).unwrap();
    c.unitary(Matrix::identity(3), &[0, 1, 2], &[]).unwrap();
    c.cswap(2, 3, 4).unwrap().gphase(Angle::pi(1, 4)).unwrap();
    c.gate(
        ketgrad_core::gate::Gate::new(ketgrad_core::gate::GateKind::GPHASE, [Angle::pi(3, 8)]).unwrap(),
        &[],
        &[(1, false), (3, true)],
    )
    .unwrap();
    c.measure(0, 0).unwrap().measure(1, 1).unwrap().reset(0).unwrap();
    let both =
        Condition::Compare { bits: [0, 1].into(), relation: Relation::Equal, value: [true, true].into() };
    c.when(both, |c| c.cx(0, 2)).unwrap();
    c.when(Condition::Bit { bit: 1, value: false }, |c| c.ry(4, theta)?.measure(3, 2)).unwrap();
    c.assign(2, true).unwrap();
    c
}

#[test]
fn scratch() {
    let c = showcase();
    println!("{}", draw::text(&c, None));
    println!("{}", draw::text(&c, Some(70)));
    println!("{}", draw::ascii(&c, Some(100)));
    std::fs::write("/tmp/a.svg", draw::svg(&c, None)).unwrap();
    std::fs::write("/tmp/b.svg", draw::svg(&c, Some(5))).unwrap();
}
