//! Everything of the front page imported at once hides nothing of the language, nor of the caller's
//! own dependencies.

use ketgrad::*;
use num_complex::Complex;
use num_dual::Dual64;

#[test]
#[allow(unused_qualifications, reason = "that the paths mean what they say is tested")]
fn a_glob_import_hides_nothing() {
    let largest: u8 = core::cmp::max(1, 2);
    assert_eq!((largest, size_of::<core::num::NonZero<u8>>()), (2, 1));
    assert_eq!(format!("{:?}", option_env!("NEVER_SET")), "None");
    // The crates in signatures are those of the caller.
    type Theirs = ketgrad::num_complex::Complex<ketgrad::num_dual::Dual64>;
    let state: Result<StateVector<Theirs>, _> = StateVector::zero(1);
    assert_eq!(
        state.map(|s| s.amplitudes()[0]).ok(),
        Some(Complex::new(Dual64::new(1.0, 0.0), Dual64::from(0.0)))
    );
}
