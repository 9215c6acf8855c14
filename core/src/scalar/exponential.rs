//! The exponential without branches, so that a compiler can compute several at a time.
//!
//! `x = n ln 2 + r` with an integer `n` and `|r| <= ln(2)/2`; `e^r` is its Taylor polynomial of degree 13, whose error
//! is below 5e-18, and `2^n` is written into the exponent of a float: as two factors, so that results near the ends of
//! the range come out right. `ln 2` is two floats, of which the first has few digits, so that `n` times it is exact
//! (Cody and Waite, *Software Manual for the Elementary Functions*, 1980, chapter 6).

/// The first digits of ln 2, and the rest.
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
/// Added to a float and subtracted again, it rounds to an integer, which stands in its last digits.
const ROUND: f64 = 6_755_399_441_055_744.0;

/// `e^x`
#[inline]
pub(super) fn exponential(x: f64) -> f64 {
    // Beyond these it overflows or vanishes; a NaN stays what it is.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    let marked = x * std::f64::consts::LOG2_E + ROUND;
    let n = marked - ROUND;
    let r = (x - n * LN_2[0]) - n * LN_2[1];
    let half = n * 0.5 + ROUND;
    let first = half.to_bits().wrapping_sub(ROUND.to_bits());
    let second = marked.to_bits().wrapping_sub(ROUND.to_bits()).wrapping_sub(first);
    let power = |n: u64| f64::from_bits(n.wrapping_add(1023) << 52);
    let mut p = 1.0 / 6_227_020_800.0;
    for c in [
        1.0 / 479_001_600.0,
        1.0 / 39_916_800.0,
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40_320.0,
        1.0 / 5_040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
    ] {
        p = p * r + c;
    }
    // e^r = 1 + (r + r^2 p): the last sum rounds once.
    (1.0 + (r + r * r * p)) * power(first) * power(second)
}

#[cfg(test)]
mod tests {
    use super::exponential;

    #[test]
    fn it_is_the_exponential_to_the_last_digit_or_the_one_before() {
        let mut x = -745.0;
        while x < 709.7 {
            let (a, b) = (exponential(x), x.exp());
            // Below the normal range digits are lost one by one.
            let digit = (b * f64::EPSILON).max(f64::from_bits(1));
            assert!((a - b).abs() <= digit, "{x}: {a} {b}");
            x += 0.037_191;
        }
        assert_eq!(
            [0.0, f64::NEG_INFINITY, f64::INFINITY, 1000.0, -1000.0].map(exponential),
            [1.0, 0.0, f64::INFINITY, f64::INFINITY, 0.0]
        );
        assert!(exponential(f64::NAN).is_nan());
    }
}
