//! The operators and elementary functions.

use ketgrad_core::scalar::{ParseScalarError, Scalar};
use num_traits::{Num, Zero};
use symbolica::{
    atom::{Atom, AtomCore, Symbol},
    coefficient::Coefficient,
    transcendental,
};

use crate::Symbolic;

/// Each operator by value and by reference, and assigning.
macro_rules! operators {
    ($($Op:ident $op:ident $Assign:ident $assign:ident = $f:expr;)*) => {$(
        impl std::ops::$Op for Symbolic {
            type Output = Symbolic;
            fn $op(self, y: Symbolic) -> Symbolic { $f(&self, &y) }
        }
        impl std::ops::$Op<&Symbolic> for Symbolic {
            type Output = Symbolic;
            fn $op(self, y: &Symbolic) -> Symbolic { $f(&self, y) }
        }
        impl std::ops::$Op<Symbolic> for &Symbolic {
            type Output = Symbolic;
            fn $op(self, y: Symbolic) -> Symbolic { $f(self, &y) }
        }
        impl std::ops::$Op for &Symbolic {
            type Output = Symbolic;
            fn $op(self, y: &Symbolic) -> Symbolic { $f(self, y) }
        }
        impl std::ops::$Assign for Symbolic {
            fn $assign(&mut self, y: Symbolic) { *self = $f(self, &y); }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign = |x: &Symbolic, y: &Symbolic| Symbolic(&x.0 + &y.0);
    Sub sub SubAssign sub_assign = |x: &Symbolic, y: &Symbolic| Symbolic(&x.0 - &y.0);
    Mul mul MulAssign mul_assign = |x: &Symbolic, y: &Symbolic| Symbolic(&x.0 * &y.0);
    Div div DivAssign div_assign = |x: &Symbolic, y: &Symbolic| Symbolic(&x.0 / &y.0);
    Rem rem RemAssign rem_assign = remainder;
}

/// There for num_complex alone, which asks for it and does not use it.
fn remainder(_: &Symbolic, _: &Symbolic) -> Symbolic {
    panic!("a symbolic expression has no remainder: the operator exists for num_complex's bounds only")
}

impl std::ops::Neg for Symbolic {
    type Output = Symbolic;
    fn neg(self) -> Symbolic {
        -&self
    }
}
impl std::ops::Neg for &Symbolic {
    type Output = Symbolic;
    fn neg(self) -> Symbolic {
        Symbolic(-&self.0)
    }
}

impl Num for Symbolic {
    type FromStrRadixErr = ParseScalarError;
    fn from_str_radix(text: &str, radix: u32) -> Result<Symbolic, ParseScalarError> {
        if radix != 10 {
            return Err(ParseScalarError::Radix { radix });
        }
        Ok(Symbolic::lit(text.parse()?))
    }
}

/// Functions that Symbolica has under a symbol.
macro_rules! functions {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Symbolic { Symbolic::function(transcendental::$f(), self) }
    )*};
}

/// The largest whole number up to which every whole f64 is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Scalar for Symbolic {
    type Real = Symbolic;

    fn from_real(re: Symbolic) -> Symbolic {
        re
    }
    fn re(&self) -> Symbolic {
        self.clone()
    }
    fn im(&self) -> Symbolic {
        Symbolic::zero()
    }
    fn abs2(&self) -> Symbolic {
        self * self
    }
    /// Whole numbers are exact, others floating-point numbers of Symbolica's; what is not finite is
    /// indeterminate.
    fn lit(x: f64) -> Symbolic {
        if !x.is_finite() {
            Symbolic(Atom::num(Coefficient::indeterminate()))
        } else if x.fract() == 0.0 && x.abs() <= EXACT {
            Symbolic::int(x as i64)
        } else {
            Symbolic(Atom::num(x))
        }
    }
    fn ratio(n: i64, d: i64) -> Symbolic {
        // As a quotient: what is divided by zero is then Symbolica's to say.
        if d == 1 { Symbolic(Atom::num(n)) } else { Symbolic(Atom::num(n) / Atom::num(d)) }
    }

    fn recip(&self) -> Symbolic {
        self.powi(-1)
    }
    fn sqrt(&self) -> Symbolic {
        Symbolic(self.0.sqrt())
    }
    /// As `x (x^2)^(-1/3)`, which is real for both signs; 0 at the number 0.
    fn cbrt(&self) -> Symbolic {
        if self.0.is_zero() { Symbolic::zero() } else { self * (self * self).pow(&Symbolic::ratio(-1, 3)) }
    }
    fn exp(&self) -> Symbolic {
        Symbolic(self.0.exp())
    }
    fn exp_m1(&self) -> Symbolic {
        self.exp() - Symbolic::int(1)
    }
    fn ln(&self) -> Symbolic {
        Symbolic(self.0.log())
    }
    fn ln_1p(&self) -> Symbolic {
        (self + Symbolic::int(1)).ln()
    }
    fn log2(&self) -> Symbolic {
        self.ln() / Symbolic::int(2).ln()
    }
    fn log10(&self) -> Symbolic {
        self.ln() / Symbolic::int(10).ln()
    }
    fn sin(&self) -> Symbolic {
        Symbolic::function(Symbol::SIN, self)
    }
    fn cos(&self) -> Symbolic {
        Symbolic::function(Symbol::COS, self)
    }
    functions! { tan asin acos atan sinh cosh tanh asinh acosh atanh }
    fn powi(&self, n: i64) -> Symbolic {
        Symbolic(self.0.pow(Atom::num(n)))
    }
    fn pow(&self, y: &Symbolic) -> Symbolic {
        Symbolic(self.0.pow(&y.0))
    }
}
