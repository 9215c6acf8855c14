//! Examples of ketgrad. Run one with `cargo run -p ketgrad-examples --example ghz`.

/// Linear congruential generator modulo 2^64, with the constants of D. Knuth's MMIX: data that look
/// random and are the same on every run.
#[derive(Clone, Debug)]
pub struct Lcg(pub u64);

impl Lcg {
    /// Returns the upper 53 bits of the next state.
    fn bits(&mut self) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 11
    }

    /// Returns a number in (0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.bits() as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Returns a number in [-1, 1).
    pub fn signed(&mut self) -> f64 {
        self.bits() as f64 / (1u64 << 52) as f64 - 1.0
    }
}
