//! Phases of the Pauli group, `i^k`.

use std::ops::{Mul, Neg};

use num_complex::Complex;

/// A phase of the Pauli group, `i^k`.
///
/// ```
/// use ketgrad_core::{num_complex::Complex, pauli::PauliPhase};
///
/// assert_eq!(PauliPhase::I * PauliPhase::I, PauliPhase::MINUS_ONE);
/// assert_eq!(PauliPhase::from_exponent(7), PauliPhase::I.conj());
/// assert_eq!(PauliPhase::I.times(Complex::new(2.0, 3.0)), Complex::new(-3.0, 2.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PauliPhase(u8);

impl PauliPhase {
    /// `1`.
    pub const ONE: PauliPhase = PauliPhase(0);
    /// `i`.
    pub const I: PauliPhase = PauliPhase(1);
    /// `-1`.
    pub const MINUS_ONE: PauliPhase = PauliPhase(2);
    /// `-i`.
    pub const MINUS_I: PauliPhase = PauliPhase(3);

    /// Returns `i^k` for any k.
    #[inline]
    #[must_use]
    pub const fn from_exponent(k: u32) -> PauliPhase {
        PauliPhase((k % 4) as u8)
    }

    /// Returns `1`, or `-1` if `negative`.
    #[inline]
    #[must_use]
    pub const fn from_sign(negative: bool) -> PauliPhase {
        PauliPhase(2 * negative as u8)
    }

    /// The k of `i^k`, from 0 to 3.
    #[inline]
    #[must_use]
    pub const fn exponent(self) -> u32 {
        self.0 as u32
    }

    /// The complex conjugate, which is the inverse: `i^-k`.
    #[inline]
    #[must_use]
    pub const fn conj(self) -> PauliPhase {
        PauliPhase((4 - self.0) % 4)
    }

    /// True for `i` and `-i`.
    #[inline]
    #[must_use]
    pub const fn is_imaginary(self) -> bool {
        self.0 % 2 == 1
    }

    /// True for `-1` and `-i`.
    #[inline]
    #[must_use]
    pub const fn is_negative(self) -> bool {
        self.0 >= 2
    }

    /// Returns `i^k z`, without rounding: its parts are exchanged and negated.
    #[inline]
    #[must_use]
    pub fn times<T: Neg<Output = T>>(self, z: Complex<T>) -> Complex<T> {
        let Complex { re, im } = z;
        match self.0 {
            0 => Complex { re, im },
            1 => Complex { re: -im, im: re },
            2 => Complex { re: -re, im: -im },
            _ => Complex { re: im, im: -re },
        }
    }
}

impl Mul for PauliPhase {
    type Output = PauliPhase;

    #[inline]
    fn mul(self, other: PauliPhase) -> PauliPhase {
        PauliPhase((self.0 + other.0) % 4)
    }
}
