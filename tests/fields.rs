//! Prime fields as rings: their laws, points, and conjugation.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    circuit::Circuit,
    field::{
        FloatField, FloatResidue, Fp, Goldilocks, Modular, Point, PrimeField, Residue, Star,
        Starred, is_prime,
    },
    kernel::Threads,
    param::{Angle, BindError, Binding, PI, ParamId, Q},
    scalar::{Conj, Ring},
    simulate::Simulator,
};
use num_complex::Complex;
use num_traits::{One, Zero};
use support::random::Rng;

fn product(a: u64, b: u64, p: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(p)) as u64
}

/// Sums, differences, products against integers of 128 bits; edges first.
fn integers<R: Modular>(field: &R::Field, residue: fn(R) -> u64) {
    let p = R::characteristic(field);
    let mut rng = Rng::new(7);
    let edges = [0, 1, 2, p / 2, p - 2, p - 1, 0xffff_ffff, 1 << 32, 1 << 60];
    let numbers: Vec<u64> =
        edges.into_iter().chain((0..40).map(|_| rng.bits())).map(|x| x % p).collect();
    for &x in &numbers {
        for &y in &numbers {
            let (a, b) = (R::element(field, x), R::element(field, y));
            let sum = ((u128::from(x) + u128::from(y)) % u128::from(p)) as u64;
            assert_eq!(residue(a + b), sum);
            assert_eq!(
                residue(a - b),
                ((u128::from(x) + u128::from(p - y)) % u128::from(p)) as u64
            );
            assert_eq!(residue(a * b), product(x, y, p));
            let two = ((u128::from(product(x, y, p)) + u128::from(product(y, p - 1, p)))
                % u128::from(p)) as u64;
            assert_eq!(residue(R::dot2(&a, &b, &b, &R::element(field, p - 1))), two);
            assert_eq!(a == b, x == y);
        }
        let a = R::element(field, x);
        assert_eq!(residue(a + R::zero()), x);
        assert_eq!(residue(R::one() * a), x);
        assert_eq!(
            residue(a - R::one() - R::one()),
            ((u128::from(x) + u128::from(p) - 2) % u128::from(p)) as u64
        );
        assert!((a + -a).is_exact_zero());
        assert_eq!((a * a.inverse(field)).is_exact_one(), x != 0);
    }
}

#[test]
fn fields_compute_modulo_their_prime() {
    integers::<Fp>(&Goldilocks, Fp::residue);
    for seed in 0..4 {
        let field = PrimeField::random(3 * 5 * 64, seed).unwrap();
        assert_eq!(Residue::characteristic(&field) % (3 * 5 * 65_536), 1);
        integers::<Residue>(&field, Residue::residue);
        let field = FloatField::random(3 * 5 * 64, seed).unwrap();
        let p = FloatResidue::characteristic(&field);
        assert!(p % (3 * 5 * 64) == 1 && p >> 48 == 1 && is_prime(p));
        integers::<FloatResidue>(&field, FloatResidue::residue);
    }
    assert!(FloatField::new(65_537).is_none() && FloatField::random(1 << 32, 0).is_none());
}

#[test]
fn primes() {
    let sieve = |n: u64| n > 1 && (2..n).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    assert!((0..5000).all(|n| is_prime(n) == sieve(n)));
    // A strong pseudoprime to the first nine bases, a Carmichael number, the Goldilocks prime.
    assert!(
        !is_prime(3_825_123_056_546_413_051) && !is_prime(561) && is_prime(0xffff_ffff_0000_0001)
    );
    assert!(PrimeField::new(65_537).is_none() && PrimeField::random(1 << 40, 0).is_none());
}

#[test]
fn a_point_is_a_homomorphism_of_angles() {
    let field = PrimeField::random(48, 1).unwrap();
    let point = Point::<Residue>::random(field, 48, &[4, 6], 1).unwrap();
    let theta = |k| Angle::theta(ParamId::new(k));
    let angles =
        [PI / 4, PI / 24, theta(0) * Q::new(3, 4), theta(1) * Q::new(-5, 6) + PI / 3, -theta(0)];
    for a in &angles {
        for b in &angles {
            assert_eq!(point.cis(&(a + b)).unwrap(), point.cis(a).unwrap() * point.cis(b).unwrap());
        }
        assert!((point.cis(a).unwrap() * point.cis(&-a).unwrap()).is_exact_one());
    }
    assert!((point.cis(&PI).unwrap() + Residue::one()).is_exact_zero());
    for a in &angles {
        let x = point.cis(a).unwrap();
        assert_eq!(field.residue(field.bare(x)), x, "without its prime and back");
    }
    assert!(field.residue(field.bare(Residue::one())).is_exact_one());
    assert!((point.sqrt_half() * point.sqrt_half() - point.half()).is_exact_zero());
    assert_eq!(point.number(Complex::new(0.5, -1.0)).unwrap(), point.half() - point.i().unwrap());
}

#[test]
fn angles_without_an_image_are_refused() {
    let point = Point::<Fp>::random(Goldilocks, 8, &[2], 1).unwrap();
    let refused =
        |a: Angle| assert!(matches!(point.cis(&a), Err(BindError::NotInRing { .. })), "{a}");
    refused(PI / 8);
    refused(Angle::rad(0.1));
    refused(Angle::theta(ParamId::new(0)) / 4);
    assert!(matches!(point.cis(&Angle::theta(ParamId::new(1))), Err(BindError::Unbound { .. })));
    assert!(matches!(point.number(Complex::new(0.1, 0.0)), Err(BindError::NumberNotInRing { .. })));
    assert!(Point::<Fp>::random(Goldilocks, 7 * 8, &[], 1).is_none(), "7 does not divide p - 1");
    assert!(Point::<Fp>::random(Goldilocks, 12, &[], 1).is_none(), "no square root of 2");
}

#[test]
fn stars_have_norms_and_expectation_values() {
    let circuit = Circuit::build(3, |c| {
        let (a, b) = (c.param("a"), c.param("b"));
        c.ry(0, &a)?.cx(0, 1)?.rx(1, &b)?.cz(1, 2)?.h(2)?.rzz(0, 2, a - b)
    })
    .unwrap();
    let field = PrimeField::random(8, 5).unwrap();
    let point = Point::<Residue>::random(field, 8, &[2, 2], 5).unwrap();
    let starred = Starred(&point);
    let state = Simulator::new().run_bound(&circuit, &starred).unwrap();
    assert_eq!(state.inner(&state, &Threads::serial()).unwrap(), Star::one());
    // <Z0> = cos a.
    let z: Star<Residue> =
        state.amplitudes().iter().enumerate().fold(Star::zero(), |sum, (i, x)| {
            let p = x * x.conj();
            if i & 1 == 0 { sum + p } else { sum - p }
        });
    assert_eq!(z, starred.cos(&Angle::theta(ParamId::new(0))).unwrap());
}
