//! Prime fields as rings: circuits evaluated exactly, at a random point, at the price of a
//! simulation.
//!
//! The amplitudes of a circuit are Laurent polynomials in `z_k = e^{i theta_k / m_k}` over the
//! numbers that 1/2 and a root of unity `zeta = e^{2 pi i / N}` generate. A prime `p` with
//! `N | p - 1` has an element of order `N`. Sending `zeta` to it and each `z_k` to any element but
//! 0 keeps sums and products, so whatever identity holds between circuits holds among the residues
//! ([`Point`]), and circuits whose residues differ differ.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, field::{Fp, Goldilocks, Point}, simulate::Simulator};
//!
//! let circuit = Circuit::build(1, |c| { let t = c.param("t"); c.h(0)?.rz(0, &t)?.h(0)?.rx(0, -t) })?;
//! let point = Point::<Fp>::random(Goldilocks, 8, &[2], 1).ok_or("no such root")?;
//! let state = Simulator::new().run_bound(&circuit, &point)?;
//! assert_eq!(state.amplitudes()[0].residue(), 1); // H RZ(t) H = RX(t), for every t
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | ring | numbers modulo | |
//! |---|---|---|
//! | [`Fp`] | `2^64 - 2^32 + 1` | the fastest; one prime for all uses |
//! | [`Residue`] | a prime known at run time | what a bound on the error of a random prime needs |
//! | [`Bare`] | the same, kept by those that multiply | half the size, for long vectors |
//! | [`FloatResidue`] | a prime below `2^49` | a quarter of the time, where a larger bound will do |
//! | [`Star<R>`](Star) | pairs over `R` | has a conjugation, hence probabilities and expectation values |
//!
//! Fields have no square roots in general, no order and no conjugation: 1/sqrt 2 is
//! `(zeta_8 + 1/zeta_8) / 2`. Angles whose `e^{i angle}` no root gives are refused by name.

mod bare;
mod float;
mod goldilocks;
mod point;
mod prime;
mod star;

pub use bare::Bare;
pub use float::{FloatField, FloatResidue};
pub use goldilocks::{Fp, Goldilocks};
pub use point::Point;
pub use prime::{PrimeField, Residue, is_prime};

#[doc(hidden)]
pub use point::DYADIC;
#[doc(hidden)]
pub use prime::{STEP, lcm};
pub use star::{Star, Starred};

use std::fmt::Debug;

use rand_chacha::rand_core::Rng;

use crate::{kernel::ActsOn, scalar::Ring};

/// The numbers of a prime field: how they are made.
pub trait Modular: Ring + Copy + PartialEq {
    /// Field of the numbers.
    type Field: Copy + Debug + Send + Sync + 'static;
    /// Name in errors.
    const NAME: &'static str;
    /// Returns the prime.
    fn characteristic(field: &Self::Field) -> u64;
    /// Returns the residue of an integer.
    fn element(field: &Self::Field, x: u64) -> Self;

    /// Any residue, all with the same probability.
    #[must_use]
    fn draw(field: &Self::Field, rng: &mut impl Rng) -> Self {
        Self::element(field, below(Self::characteristic(field), rng))
    }

    /// Any residue but 0, all with the same probability.
    #[must_use]
    fn draw_unit(field: &Self::Field, rng: &mut impl Rng) -> Self {
        Self::element(field, 1 + below(Self::characteristic(field) - 1, rng))
    }

    /// Returns `x^e` by repeated squaring.
    #[must_use]
    fn power(self, mut e: u64) -> Self {
        // Numbers that know their field are not multiplied with a 1 that does not.
        let (mut square, mut out) = (self, None);
        while e > 0 {
            if e & 1 == 1 {
                out = Some(out.map_or(square, |x| x * square));
            }
            e >>= 1;
            if e > 0 {
                square *= square;
            }
        }
        out.unwrap_or_else(Self::one)
    }

    /// Returns `1 / x`; 0 for 0.
    #[must_use]
    fn inverse(self, field: &Self::Field) -> Self {
        self.power(Self::characteristic(field) - 2)
    }
}

/// Residues that act on vectors of numbers without their prime.
#[doc(hidden)]
pub trait Vectors: Modular + ActsOn<Self::Bare> {
    /// A residue without its prime.
    type Bare: Copy + Send + Sync;
    /// Returns the number with this prime, if it has met none yet.
    fn lifted(field: &Self::Field, x: Self) -> Self;
    /// Returns a residue of this field without its prime.
    fn bare(field: &Self::Field, x: Self) -> Self::Bare;
    /// Returns the residue that a bare one of this field is.
    fn residue(field: &Self::Field, x: &Self::Bare) -> Self;
}

/// Returns a number below `n`, all with the same probability.
fn below(n: u64, rng: &mut impl Rng) -> u64 {
    loop {
        // Drawn again above the last multiple of n.
        let x = rng.next_u64();
        if x < u64::MAX / n * n {
            return x % n;
        }
    }
}
