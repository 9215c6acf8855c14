//! Numbers and shapes as NumPy files hold them.

use std::io::{self, Write};

use ketgrad_core::kernel::SimdFloat;

/// A real number as files hold it.
pub trait Number: SimdFloat + serde::Serialize {
    /// NumPy's name of the complex type, without the byte order.
    const COMPLEX: &'static str;
    /// NumPy's name of the type itself.
    const REAL: &'static str;
    /// Writes the number, least significant byte first.
    ///
    /// # Errors
    /// Fails with the error of the operating system.
    fn write_to(self, out: &mut dyn Write) -> io::Result<()>;
    /// Returns true if it is neither infinite nor NaN.
    fn finite(self) -> bool;
}

macro_rules! number {
    ($($F:ident $code:literal $real:literal)*) => {$(
        impl Number for $F {
            const COMPLEX: &'static str = $code;
            const REAL: &'static str = $real;
            fn write_to(self, out: &mut dyn Write) -> io::Result<()> {
                out.write_all(&self.to_le_bytes())
            }
            fn finite(self) -> bool {
                self.is_finite()
            }
        }
    )*};
}
number!(f32 "c8" "f4" f64 "c16" "f8");

/// Formats a shape as Python does a tuple.
pub(super) fn shape_text(shape: &[u64]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => format!("({})", shape.iter().map(u64::to_string).collect::<Vec<_>>().join(", ")),
    }
}
