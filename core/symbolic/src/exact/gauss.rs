//! Gaussian integers `a + b i`, of 128 bits each: the coefficients of products of sines and
//! cosines.
//!
//! Everything that can leave the 128 bits gives `None` then.

/// `re + im i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Gauss {
    pub(super) re: i128,
    pub(super) im: i128,
}

impl Gauss {
    pub(super) const ZERO: Gauss = Gauss { re: 0, im: 0 };
    pub(super) const ONE: Gauss = Gauss { re: 1, im: 0 };

    pub(super) fn is_zero(self) -> bool {
        self == Gauss::ZERO
    }

    /// Returns true if it is 1, i, -1 or -i.
    fn is_unit(self) -> bool {
        matches!((self.re, self.im), (1 | -1, 0) | (0, 1 | -1))
    }

    pub(super) fn plus(self, other: Gauss) -> Option<Gauss> {
        Some(Gauss { re: self.re.checked_add(other.re)?, im: self.im.checked_add(other.im)? })
    }

    pub(super) fn minus(self, other: Gauss) -> Option<Gauss> {
        Some(Gauss { re: self.re.checked_sub(other.re)?, im: self.im.checked_sub(other.im)? })
    }

    pub(super) fn scaled(self, by: i128) -> Option<Gauss> {
        Some(Gauss { re: self.re.checked_mul(by)?, im: self.im.checked_mul(by)? })
    }

    pub(super) fn times(self, other: Gauss) -> Option<Gauss> {
        match (other.re, other.im) {
            (1, 0) => return Some(self),
            (re, 0) => return self.scaled(re),
            _ => {}
        }
        self.scaled(other.re)?.plus(self.times_i()?.scaled(other.im)?)
    }

    pub(super) fn times_i(self) -> Option<Gauss> {
        Some(Gauss { re: self.im.checked_neg()?, im: self.re })
    }

    fn conj(self) -> Option<Gauss> {
        Some(Gauss { re: self.re, im: self.im.checked_neg()? })
    }

    fn norm(self) -> Option<i128> {
        self.re.checked_mul(self.re)?.checked_add(self.im.checked_mul(self.im)?)
    }

    /// Returns the quotient, if it is a Gaussian integer.
    pub(super) fn over(self, other: Gauss) -> Option<Gauss> {
        // Most are divided by units, and divisions of 128 bits are slow.
        if other.is_unit() {
            return self.times(other.conj()?);
        }
        let (scaled, norm) = (self.times(other.conj()?)?, other.norm()?);
        let whole = norm != 0 && scaled.re % norm == 0 && scaled.im % norm == 0;
        whole.then(|| Gauss { re: scaled.re / norm, im: scaled.im / norm })
    }

    /// Returns a greatest common divisor, by Euclid's algorithm with quotients rounded to the
    /// nearest.
    fn gcd(self, other: Gauss) -> Option<Gauss> {
        let (mut a, mut b) = (self, other);
        while !b.is_zero() {
            let (scaled, norm) = (a.times(b.conj()?)?, b.norm()?);
            let nearest = |x: i128| x.checked_add(norm / 2).map(|x| x.div_euclid(norm));
            let quotient = Gauss { re: nearest(scaled.re)?, im: nearest(scaled.im)? };
            (a, b) = (b, a.minus(quotient.times(b)?)?);
        }
        Some(a)
    }

    /// Returns the unit u for which `self / u` has a positive real part and an imaginary part that
    /// is not negative.
    fn unit(self) -> Gauss {
        let (re, im) = match (self.re, self.im) {
            (a, b) if a > 0 && b >= 0 => (1, 0),
            (a, b) if a <= 0 && b > 0 => (0, 1),
            (a, b) if a < 0 && b <= 0 => (-1, 0),
            _ => (0, -1),
        };
        Gauss { re, im }
    }

    /// Returns the greatest common divisor of the numbers, times a unit, so that the first one over
    /// it has a positive real part and an imaginary part that is not negative. There is at least
    /// one, and none is zero.
    pub(super) fn content(mut numbers: impl Iterator<Item = Gauss>) -> Option<Gauss> {
        let first = numbers.next()?;
        let mut common = first;
        for number in numbers {
            if common.is_unit() {
                break;
            }
            common = common.gcd(number)?;
        }
        common.times(first.over(common)?.unit())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gauss(re: i128, im: i128) -> Gauss {
        Gauss { re, im }
    }

    #[test]
    fn content_divides_and_leaves_nothing_in_common() {
        for (a, b) in
            [(gauss(-2, 4), gauss(6, 2)), (gauss(0, -3), gauss(9, 3)), (gauss(5, 0), gauss(2, 1))]
        {
            let content = Gauss::content([a, b].into_iter()).unwrap();
            let (x, y) = (a.over(content).unwrap(), b.over(content).unwrap());
            assert!(x.re > 0 && x.im >= 0, "{x:?}");
            assert!(x.gcd(y).unwrap().is_unit(), "{x:?} {y:?}");
        }
        assert_eq!(gauss(1, 0).over(gauss(2, 0)), None);
    }
}
