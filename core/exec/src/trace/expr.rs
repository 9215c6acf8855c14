//! [`Expr`] and [`ComplexExpr`]: numbers that are still formulas.

use std::{cmp::Ordering, collections::HashMap, fmt};

use num_rational::Ratio;
use num_traits::{One, Zero};

use crate::{
    ir::{Compare, Kind, Mixed, Number1, Number2, Real1, Real2},
    scalar::{Conj, Real, Ring, Scalar, Undecided},
};

use super::{
    build,
    callee::{Callee, Record},
    constant::Constant,
    error::TraceError,
    node::{NodeKind, Sym, visit},
    print,
};

/// A real expression.
///
/// Cloning copies a handle. `==` compares the formulas, up to the order of sums and products:
/// `x + y` is `y + x`, but `x * (y + z)` is not `x * y + x * z`. It costs O(1): keys of 128 bits
/// are compared, and two different formulas share one with a probability of about 2^-128.
#[derive(Clone)]
pub struct Expr(pub(super) Sym);

/// A complex expression: its parts are [`Expr`]s.
#[derive(Clone)]
pub struct ComplexExpr(pub(super) Sym);

impl Expr {
    /// Creates a free input. Two of the same name are the same.
    #[must_use]
    pub fn symbol(name: &str) -> Expr {
        Expr(Sym::symbol(name, Kind::Real))
    }

    /// Returns the absolute value.
    #[must_use]
    pub fn abs(&self) -> Expr {
        Expr(build::real1(Real1::Abs, &self.0))
    }
    /// Returns 1, -1, or 0 at 0.
    #[must_use]
    pub fn sign(&self) -> Expr {
        Expr(build::real1(Real1::Sign, &self.0))
    }
    /// Applies any operation of the table on one real number, such as rounding.
    #[must_use]
    pub fn real1(&self, op: Real1) -> Expr {
        Expr(build::real1(op, &self.0))
    }
    /// Returns the lesser one.
    #[must_use]
    pub fn min(&self, other: &Expr) -> Expr {
        Expr(build::real2(Real2::Min, &self.0, &other.0))
    }
    /// Returns the greater one.
    #[must_use]
    pub fn max(&self, other: &Expr) -> Expr {
        Expr(build::real2(Real2::Max, &self.0, &other.0))
    }
    /// Returns `yes` if `self op other` holds, else `no`: the branch of a program without branches.
    #[must_use]
    pub fn select(&self, op: Compare, other: &Expr, yes: &Expr, no: &Expr) -> Expr {
        let condition = build::compare(op, &self.0, &other.0);
        Expr(build::select(&condition, &yes.0, &no.0))
    }
    /// Returns the float nearest to a constant; `None` of anything else.
    #[must_use]
    pub fn constant(&self) -> Option<f64> {
        self.0.constant().map(Constant::value)
    }
}

impl ComplexExpr {
    /// Creates a free complex input. Two of the same name are the same.
    #[must_use]
    pub fn symbol(name: &str) -> ComplexExpr {
        ComplexExpr(Sym::symbol(name, Kind::Complex))
    }
    /// Returns `re + i im`.
    #[must_use]
    pub fn new(re: Expr, im: Expr) -> ComplexExpr {
        ComplexExpr(build::complex(re.0, im.0))
    }
    /// Returns the imaginary unit.
    #[must_use]
    pub fn i() -> ComplexExpr {
        ComplexExpr::new(Expr::zero(), Expr::one())
    }
    /// Returns the modulus.
    #[must_use]
    pub fn modulus(&self) -> Expr {
        Expr(build::of_complex(Mixed::Modulus, &self.0))
    }
    /// Returns the angle in (-pi, pi].
    #[must_use]
    pub fn arg(&self) -> Expr {
        Expr(build::of_complex(Mixed::Arg, &self.0))
    }
}

impl From<i64> for Expr {
    fn from(n: i64) -> Expr {
        Expr::int(n)
    }
}
impl From<f64> for Expr {
    fn from(x: f64) -> Expr {
        Expr::lit(x)
    }
}
impl From<Ratio<i64>> for Expr {
    fn from(q: Ratio<i64>) -> Expr {
        Expr::from_ratio(q)
    }
}
impl From<Expr> for ComplexExpr {
    fn from(x: Expr) -> ComplexExpr {
        ComplexExpr::from_real(x)
    }
}

fn binary(op: Number2, a: &Sym, b: &Sym) -> Sym {
    build::number2(op, a, b)
}

ring_ops!(Expr {
    Add add AddAssign add_assign = |a: &Expr, b: &Expr| Expr(binary(Number2::Add, &a.0, &b.0));
    Sub sub SubAssign sub_assign = |a: &Expr, b: &Expr| Expr(binary(Number2::Sub, &a.0, &b.0));
    Mul mul MulAssign mul_assign = |a: &Expr, b: &Expr| Expr(binary(Number2::Mul, &a.0, &b.0));
    Div div DivAssign div_assign = |a: &Expr, b: &Expr| Expr(binary(Number2::Div, &a.0, &b.0));
    Rem rem RemAssign rem_assign = |a: &Expr, b: &Expr| Expr(build::real2(Real2::Rem, &a.0, &b.0));
    - = |a: &Expr| Expr(build::number1(Number1::Neg, &a.0));
});
num_for_complex!(Expr);
ring_ops!(ComplexExpr {
    Add add AddAssign add_assign = |a: &ComplexExpr, b: &ComplexExpr| ComplexExpr(binary(Number2::Add, &a.0, &b.0));
    Sub sub SubAssign sub_assign = |a: &ComplexExpr, b: &ComplexExpr| ComplexExpr(binary(Number2::Sub, &a.0, &b.0));
    Mul mul MulAssign mul_assign = |a: &ComplexExpr, b: &ComplexExpr| ComplexExpr(binary(Number2::Mul, &a.0, &b.0));
    Div div DivAssign div_assign = |a: &ComplexExpr, b: &ComplexExpr| ComplexExpr(binary(Number2::Div, &a.0, &b.0));
    - = |a: &ComplexExpr| ComplexExpr(build::number1(Number1::Neg, &a.0));
});

/// Implementations that both kinds of expressions share.
macro_rules! expression {
    ($($E:ident $kind:ident;)*) => {$(
        impl PartialEq for $E {
            fn eq(&self, other: &$E) -> bool { self.0.key() == other.0.key() }
        }
        impl Eq for $E {}
        impl Zero for $E {
            fn zero() -> $E { $E(build::like(Constant::ZERO, &Kind::$kind)) }
            fn is_zero(&self) -> bool { self.is_exact_zero() }
        }
        impl One for $E {
            fn one() -> $E { $E(build::like(Constant::ONE, &Kind::$kind)) }
        }
        /// Prints infix, see [the module](super).
        impl fmt::Display for $E {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(&print::print(std::slice::from_ref(&self.0)).block())
            }
        }
        impl fmt::Debug for $E {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
        /// A constant is zero or not; anything else is not *exactly* zero, whatever its values.
        impl Ring for $E {
            const PARALLEL: bool = false;
            fn is_exact_zero(&self) -> bool { build::is_zero(&self.0) }
        }
        impl $E {
            /// Returns the number of different nodes.
            #[must_use]
            pub fn size(&self) -> usize { size(&self.0) }
            /// Returns the names of its inputs, in the order of their first use.
            #[must_use]
            pub fn symbols(&self) -> Vec<String> { symbols(&self.0).into_iter().map(|(n, _)| n).collect() }
            /// Returns the expression with inputs replaced by constants or other expressions.
            #[must_use]
            pub fn substitute(&self, values: &[(&str, $E)]) -> $E {
                let values: Vec<_> = values.iter().map(|(n, e)| (*n, &e.0)).collect();
                $E(substitute(&self.0, &values))
            }
        }
    )*};
}
expression! { Expr Real; ComplexExpr Complex; }

impl Conj for Expr {
    fn conj(&self) -> Expr {
        self.clone()
    }
}
impl Conj for ComplexExpr {
    fn conj(&self) -> ComplexExpr {
        ComplexExpr(build::of_complex(Mixed::Conj, &self.0))
    }
}

/// Turns the name of a function into its op.
macro_rules! op_of {
    (recip) => {
        Number1::Recip
    };
    (sqrt) => {
        Number1::Sqrt
    };
    (cbrt) => {
        Number1::Cbrt
    };
    (exp) => {
        Number1::Exp
    };
    (exp_m1) => {
        Number1::ExpM1
    };
    (ln) => {
        Number1::Ln
    };
    (ln_1p) => {
        Number1::Ln1p
    };
    (log2) => {
        Number1::Log2
    };
    (log10) => {
        Number1::Log10
    };
    (sin) => {
        Number1::Sin
    };
    (cos) => {
        Number1::Cos
    };
    (tan) => {
        Number1::Tan
    };
    (asin) => {
        Number1::Asin
    };
    (acos) => {
        Number1::Acos
    };
    (atan) => {
        Number1::Atan
    };
    (sinh) => {
        Number1::Sinh
    };
    (cosh) => {
        Number1::Cosh
    };
    (tanh) => {
        Number1::Tanh
    };
    (asinh) => {
        Number1::Asinh
    };
    (acosh) => {
        Number1::Acosh
    };
    (atanh) => {
        Number1::Atanh
    };
}
#[cfg(feature = "tape")]
pub(crate) use op_of;

/// Turns the name of a special function into its op.
macro_rules! special_op_of {
    (erf) => {
        Real1::Erf
    };
    (erfc) => {
        Real1::Erfc
    };
    (lgamma) => {
        Real1::Lgamma
    };
    (sigmoid) => {
        Real1::Sigmoid
    };
    (softplus) => {
        Real1::Softplus
    };
}
#[cfg(feature = "tape")]
pub(crate) use special_op_of;

macro_rules! special {
    ($($f:ident)*) => {$(
        fn $f(&self) -> Expr { Expr(build::real1(special_op_of!($f), &self.0)) }
    )*};
}
macro_rules! functions {
    ($E:ident: $($f:ident)*) => {$(
        fn $f(&self) -> $E { $E(build::number1(op_of!($f), &self.0)) }
    )*};
}
macro_rules! real_functions { ($($f:ident)*) => { functions!(Expr: $($f)*); } }
macro_rules! complex_functions { ($($f:ident)*) => { functions!(ComplexExpr: $($f)*); } }

impl Scalar for Expr {
    type Real = Expr;
    fn from_real(re: Expr) -> Expr {
        re
    }
    fn re(&self) -> Expr {
        self.clone()
    }
    fn im(&self) -> Expr {
        Expr::zero()
    }
    fn abs2(&self) -> Expr {
        self * self
    }
    fn lit(x: f64) -> Expr {
        Expr(Sym::Const(Constant::from_f64(x)))
    }
    fn ratio(n: i64, d: i64) -> Expr {
        Expr(Sym::Const(Constant::ratio(n, d)))
    }
    fn powi(&self, n: i64) -> Expr {
        Expr(build::powi(&self.0, n))
    }
    fn pow(&self, y: &Expr) -> Expr {
        Expr(binary(Number2::Pow, &self.0, &y.0))
    }
    unary_functions!(real_functions);
}

impl Scalar for ComplexExpr {
    type Real = Expr;
    fn from_real(re: Expr) -> ComplexExpr {
        ComplexExpr::new(re, Expr::zero())
    }
    fn re(&self) -> Expr {
        Expr(build::of_complex(Mixed::Re, &self.0))
    }
    fn im(&self) -> Expr {
        Expr(build::of_complex(Mixed::Im, &self.0))
    }
    fn abs2(&self) -> Expr {
        Expr(build::of_complex(Mixed::Abs2, &self.0))
    }
    fn lit(x: f64) -> ComplexExpr {
        ComplexExpr(build::like(Constant::from_f64(x), &Kind::Complex))
    }
    fn ratio(n: i64, d: i64) -> ComplexExpr {
        ComplexExpr(build::like(Constant::ratio(n, d), &Kind::Complex))
    }
    fn powi(&self, n: i64) -> ComplexExpr {
        ComplexExpr(build::powi(&self.0, n))
    }
    fn pow(&self, y: &ComplexExpr) -> ComplexExpr {
        ComplexExpr(binary(Number2::Pow, &self.0, &y.0))
    }
    unary_functions!(complex_functions);
}

impl Real for Expr {
    fn pi() -> Expr {
        Expr(Sym::Const(Constant::PI))
    }
    fn atan2(&self, x: &Expr) -> Expr {
        Expr(build::real2(Real2::Atan2, &self.0, &x.0))
    }
    fn hypot(&self, y: &Expr) -> Expr {
        Expr(build::real2(Real2::Hypot, &self.0, &y.0))
    }
    special_functions!(special);
    fn polygamma(&self, n: i64) -> Expr {
        Expr(build::polygamma(&self.0, n))
    }
    fn logaddexp(&self, y: &Expr) -> Expr {
        Expr(build::real2(Real2::LogAddExp, &self.0, &y.0))
    }
    /// Returns the value of a constant, and `None` of anything else.
    fn primal(&self) -> Option<f64> {
        self.constant()
    }
    /// Compares constants; anything else is [`Undecided`].
    fn try_cmp(&self, other: &Expr) -> Result<Option<Ordering>, Undecided> {
        match (self.0.constant(), other.0.constant()) {
            (Some(a), Some(b)) => Ok(a.compare(b)),
            _ => Err(Undecided::new("symbolic expression")),
        }
    }
}

/// Recorded, not run.
macro_rules! records {
    ($($E:ident $kind:ident;)*) => {$(
        impl Record for $E {
            fn record(callee: &Callee, args: &[$E]) -> Result<$E, TraceError> {
                let given = Kind::$kind;
                if callee.0.result != given {
                    let (name, expected) = (callee.0.name.clone(), callee.0.result.clone());
                    return Err(TraceError::Kind { name, given, expected });
                }
                let args: Vec<Sym> = args.iter().map(|x| x.0.clone()).collect();
                Ok($E(Sym::call(callee.0.clone(), &args, given)))
            }
        }
    )*};
}
records! { Expr Real; ComplexExpr Complex; }

/// Returns the inputs of an expression with their kinds.
pub(super) fn symbols(root: &Sym) -> Vec<(String, Sym)> {
    let mut found = Vec::new();
    let _ = visit([root], |sym| {
        if let Sym::Node(node) = sym
            && let NodeKind::Symbol(s) = &node.node_kind
        {
            found.push((s.name.to_string(), sym.clone()));
        }
        Ok::<(), std::convert::Infallible>(())
    });
    found
}

fn size(root: &Sym) -> usize {
    let mut n = 0;
    let _ = visit([root], |_| {
        n += 1;
        Ok::<(), std::convert::Infallible>(())
    });
    n
}

/// Rebuilds an expression from its inputs up.
fn substitute(root: &Sym, values: &[(&str, &Sym)]) -> Sym {
    let mut done: HashMap<u128, Sym> = HashMap::new();
    let _ = visit([root], |sym| {
        let new = match sym {
            Sym::Const(_) => sym.clone(),
            Sym::Node(node) => {
                let args: Vec<Sym> =
                    node.args.iter().map(|a| done.get(&a.key()).unwrap_or(a).clone()).collect();
                match &node.node_kind {
                    NodeKind::Symbol(s) => {
                        let value =
                            values.iter().find(|(n, v)| *n == &*s.name && v.kind() == node.kind);
                        value.map_or(sym, |v| v.1).clone()
                    }
                    NodeKind::Call(callee) => Sym::call(callee.clone(), &args, node.kind.clone()),
                    NodeKind::Op(op) => build::apply(*op, &args, &node.kind)
                        .unwrap_or_else(|| Sym::op(*op, &args, node.kind.clone())),
                }
            }
        };
        done.insert(sym.key(), new);
        Ok::<(), std::convert::Infallible>(())
    });
    done.remove(&root.key()).unwrap_or_else(|| root.clone())
}
