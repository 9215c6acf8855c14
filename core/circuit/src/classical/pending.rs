//! Formulas with Rust's operators: an expression, or the reason why it has no meaning.

use super::{
    Arithmetic, ClassicalError, ClassicalExpr, ClassicalFunction, ClassicalType, Relation,
    VariableId,
};

/// A formula: an expression, or the reason why it has none, which is the error of what uses it.
///
/// So a formula is written without `?` between its operators:
///
/// ```
/// use ketgrad_core::{circuit::Circuit, classical::{ClassicalOperand, ClassicalType, IntType}};
/// let mut c = Circuit::new(1);
/// let n = c.add_variable("n", ClassicalType::Int(IntType::unsigned(8)))?;
/// let t = c.add_variable("t", ClassicalType::FLOAT)?;
/// let (n, t) = (c.scalar(n)?, c.scalar(t)?);
/// c.store(n, n * 2 + 1)?.store(t, -t / 2)?;
/// c.while_loop(n.less_than(100), |c| c.h(0)?.store(n, n << 1))?;
/// let text = "n = n * 2 + 1\nt = -t / 2.0\nwhile (n < 100) {\n  h q[0]\n  n = n << 1\n}\n";
/// assert_eq!(c.to_string(), text);
/// // A float has no bits.
/// let error = c.store(n, (t << 1) + 1).unwrap_err().to_string();
/// assert_eq!(error, "`<<` does not work on float[64] and 1");
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct PendingExpr(Result<ClassicalExpr, ClassicalError>);

/// A variable with its type, for formulas: `Circuit::scalar` returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScalarVariable {
    id: VariableId,
    ty: ClassicalType,
}

impl ScalarVariable {
    pub(crate) fn new(id: VariableId, ty: ClassicalType) -> ScalarVariable {
        ScalarVariable { id, ty }
    }

    /// The variable.
    #[must_use]
    pub fn id(self) -> VariableId {
        self.id
    }

    /// Its type.
    #[must_use]
    pub fn ty(self) -> ClassicalType {
        self.ty
    }
}

impl From<ScalarVariable> for VariableId {
    fn from(variable: ScalarVariable) -> VariableId {
        variable.id
    }
}

/// The value of the variable.
impl From<ScalarVariable> for ClassicalExpr {
    fn from(variable: ScalarVariable) -> ClassicalExpr {
        ClassicalExpr::variable(variable.id, variable.ty)
    }
}

impl<T: Into<ClassicalExpr>> From<T> for PendingExpr {
    fn from(expr: T) -> PendingExpr {
        PendingExpr(Ok(expr.into()))
    }
}

impl PendingExpr {
    pub(crate) fn new(expr: Result<ClassicalExpr, ClassicalError>) -> PendingExpr {
        PendingExpr(expr)
    }

    /// Returns the expression.
    ///
    /// # Errors
    /// The error of the first operator that has no meaning.
    pub fn into_result(self) -> Result<ClassicalExpr, ClassicalError> {
        self.0
    }

    pub(crate) fn then(
        self,
        f: impl FnOnce(ClassicalExpr) -> Result<ClassicalExpr, ClassicalError>,
    ) -> PendingExpr {
        PendingExpr(self.0.and_then(f))
    }

    pub(crate) fn with(
        self,
        other: impl Into<PendingExpr>,
        f: impl FnOnce(ClassicalExpr, ClassicalExpr) -> Result<ClassicalExpr, ClassicalError>,
    ) -> PendingExpr {
        let other = other.into().0;
        self.then(|left| f(left, other?))
    }
}

/// What formulas are made of: variables, expressions and formulas.
///
/// The operators `+ - * / % & | ^ << >>` and `-x` are those of [`ClassicalExpr`], and `!x` is true
/// if x is 0 or false.
pub trait ClassicalOperand: Into<PendingExpr> {
    /// `self == other`.
    #[must_use]
    fn equals(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::Equal, other)
    }

    /// `self != other`.
    #[must_use]
    fn differs_from(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::NotEqual, other)
    }

    /// `self < other`.
    #[must_use]
    fn less_than(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::Less, other)
    }

    /// `self <= other`.
    #[must_use]
    fn at_most(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::LessEqual, other)
    }

    /// `self > other`.
    #[must_use]
    fn greater_than(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::Greater, other)
    }

    /// `self >= other`.
    #[must_use]
    fn at_least(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.compared(Relation::GreaterEqual, other)
    }

    /// `self relation other`, a truth value.
    #[must_use]
    fn compared(self, relation: Relation, other: impl Into<PendingExpr>) -> PendingExpr {
        self.into().with(other, |left, right| left.compare(relation, right))
    }

    /// `self && other`.
    #[must_use]
    fn and_also(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.into().with(other, |left, right| Ok(left.and(right)))
    }

    /// `self || other`.
    #[must_use]
    fn or_else(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.into().with(other, |left, right| Ok(left.or(right)))
    }

    /// `self ** other`.
    #[must_use]
    fn to_power(self, other: impl Into<PendingExpr>) -> PendingExpr {
        self.into().with(other, |left, right| left.binary(Arithmetic::Power, right))
    }

    /// The value as one of a type: [`ClassicalExpr::cast`].
    #[must_use]
    fn cast_to(self, ty: ClassicalType) -> PendingExpr {
        self.into().then(|expr| expr.cast(ty))
    }

    /// A function of the value: [`ClassicalExpr::call`].
    #[must_use]
    fn apply(self, function: ClassicalFunction) -> PendingExpr {
        self.into().then(|expr| expr.call(function))
    }
}

impl ClassicalOperand for PendingExpr {}
impl ClassicalOperand for ScalarVariable {}
impl ClassicalOperand for ClassicalExpr {}

/// Implements the operators of formulas for types that become one.
macro_rules! formula_operators {
    ($($T:ty)*) => {
        $crate::classical::formula_operators! { @each [$($T)*]
            Add add |x, y| x.binary(Arithmetic::Add, y);
            Sub sub |x, y| x.binary(Arithmetic::Sub, y);
            Mul mul |x, y| x.binary(Arithmetic::Mul, y);
            Div div |x, y| x.binary(Arithmetic::Div, y);
            Rem rem |x, y| x.binary(Arithmetic::Rem, y);
            BitAnd bitand |x, y| x.binary(Arithmetic::BitAnd, y);
            BitOr bitor |x, y| x.binary(Arithmetic::BitOr, y);
            BitXor bitxor |x, y| x.binary(Arithmetic::BitXor, y);
            Shl shl |x, y| x.shift(true, y);
            Shr shr |x, y| x.shift(false, y);
        }
        $(
            impl std::ops::Neg for $T {
                type Output = PendingExpr;

                fn neg(self) -> PendingExpr {
                    PendingExpr::from(self).then(ClassicalExpr::negate)
                }
            }

            /// True if the value is 0 or false.
            impl std::ops::Not for $T {
                type Output = PendingExpr;

                fn not(self) -> PendingExpr {
                    PendingExpr::from(self).then(|expr| Ok(expr.not()))
                }
            }
        )*
    };
    (@each $types:tt $($Op:ident $op:ident |$x:ident, $y:ident| $made:expr;)*) => {$(
        $crate::classical::formula_operators! { @one $types $Op $op |$x, $y| $made }
    )*};
    (@one [$($T:ty)*] $Op:ident $op:ident |$x:ident, $y:ident| $made:expr) => {$(
        impl<R: Into<PendingExpr>> std::ops::$Op<R> for $T {
            type Output = PendingExpr;

            fn $op(self, other: R) -> PendingExpr {
                PendingExpr::from(self).with(other, |$x, $y| $made)
            }
        }

        impl std::ops::$Op<$T> for i32 {
            type Output = PendingExpr;

            fn $op(self, other: $T) -> PendingExpr {
                PendingExpr::from(self).with(other, |$x, $y| $made)
            }
        }

        impl std::ops::$Op<$T> for f64 {
            type Output = PendingExpr;

            fn $op(self, other: $T) -> PendingExpr {
                PendingExpr::from(self).with(other, |$x, $y| $made)
            }
        }
    )*};
}
pub(crate) use formula_operators;

formula_operators! { PendingExpr ScalarVariable ClassicalExpr }
