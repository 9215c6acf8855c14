//! Operators, comparisons and `xs[i]` on handles: which kinds meet, and what they make.

use std::ops::{
    Add, AddAssign, Div, DivAssign, Index, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign,
};

use super::*;

#[track_caller]
pub(super) fn binary<K: Shape<Staged = Ex<K>>>(
    op: InfixOperator,
    a: impl Operand,
    b: impl Operand,
) -> Ex<K> {
    here();
    let (x, y) = (a.given(None), b.given(None));
    value_of(with(|b| sure(b.stage.binary(op, x, y))))
}

#[track_caller]
pub(super) fn builtin<K: Shape<Staged = Ex<K>>>(op: Builtin, args: &[StagedOperand]) -> Ex<K> {
    here();
    value_of(with(|b| sure(b.stage.builtin(op, args))))
}

/// Two real numbers, or two ints.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` cannot be compared in a program",
    label = "expected two real numbers or two ints",
    note = "an int meets a real number through `real(n)`; compare `re`, `im` or `abs2` of complex numbers"
)]
pub trait Alike<R>: Operand {
    /// The kind of them.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}

macro_rules! operators {
    (($A:ty, $B:ty) $K:ty: $($Op:ident $f:ident)+) => {$(
        impl $Op<$B> for $A {
            type Output = Ex<$K>;
            #[track_caller]
            fn $f(self, b: $B) -> Ex<$K> {
                binary(InfixOperator::$Op, self, b)
            }
        }
    )+};
}
macro_rules! assigning {
    (($A:ty, $B:ty): $($Op:ident $f:ident $by:ident)+) => {$(
        impl $Op<$B> for $A {
            #[track_caller]
            fn $f(&mut self, b: $B) {
                here();
                let given = b.given(Some(&<$A as Handle>::kind()));
                with(|b| b.assign(self.node, &[], Some(InfixOperator::$by), given));
            }
        }
    )+};
}
macro_rules! numbers {
    ($(($A:ty, $B:ty) $K:ty;)*) => {$(
        operators! { ($A, $B) $K: Add add Sub sub Mul mul Div div }
    )*};
}
pub(super) type C = Complex<f64>;
numbers! {
    (Ex<f64>, Ex<f64>) f64; (Ex<f64>, f64) f64; (f64, Ex<f64>) f64; (Ex<f64>, i64) f64; (i64, Ex<f64>) f64;
    (Ex<C>, Ex<C>) C; (Ex<C>, Ex<f64>) C; (Ex<f64>, Ex<C>) C;
    (Ex<C>, f64) C; (f64, Ex<C>) C; (Ex<C>, i64) C; (i64, Ex<C>) C;
}
macro_rules! on_ints {
    ($(($A:ty, $B:ty);)*) => {$(
        operators! { ($A, $B) i64: Add add Sub sub Mul mul Div div Rem rem }
    )*};
}
on_ints! { (Ex<i64>, Ex<i64>); (Ex<i64>, i64); (i64, Ex<i64>); }
macro_rules! assign_numbers {
    ($(($A:ty, $B:ty);)*) => {$(
        assigning! {
            ($A, $B): AddAssign add_assign Add SubAssign sub_assign Sub MulAssign mul_assign Mul
                DivAssign div_assign Div
        }
    )*};
}
assign_numbers! {
    (Ex<f64>, Ex<f64>); (Ex<f64>, f64); (Ex<f64>, i64); (Ex<i64>, Ex<i64>); (Ex<i64>, i64);
    (Ex<C>, Ex<C>); (Ex<C>, Ex<f64>); (Ex<C>, f64); (Ex<C>, i64);
}
assigning! { (Ex<i64>, Ex<i64>): RemAssign rem_assign Rem }
assigning! { (Ex<i64>, i64): RemAssign rem_assign Rem }

macro_rules! negative {
    ($($K:ty)*) => {$(
        impl Neg for Ex<$K> {
            type Output = Ex<$K>;
            #[track_caller]
            fn neg(self) -> Ex<$K> {
                here();
                let a = self.given(None);
                value_of(with(|b| sure(b.stage.negative(a))))
            }
        }
    )*};
}
negative! { f64 Complex<f64> i64 }

impl std::ops::Not for Ex<bool> {
    type Output = Ex<bool>;
    #[track_caller]
    fn not(self) -> Ex<bool> {
        here();
        let a = self.given(None);
        value_of(with(|b| sure(b.stage.not(a))))
    }
}

macro_rules! pairs {
    ($Trait:ident: $(($A:ty, $B:ty) $K:ty;)*) => {$(
        impl $Trait<$B> for $A {
            type Kind = $K;
        }
    )*};
}
pairs! {
    Alike: (Ex<f64>, Ex<f64>) f64; (Ex<f64>, f64) f64; (f64, Ex<f64>) f64; (Ex<f64>, i64) f64;
    (i64, Ex<f64>) f64; (Ex<i64>, Ex<i64>) i64; (Ex<i64>, i64) i64; (i64, Ex<i64>) i64;
    (f64, f64) f64; (f64, i64) f64; (i64, f64) f64; (i64, i64) i64;
}

/// Bound that a comparison outside of a condition fails: there it would have to be a `bool` of
/// Rust.
#[diagnostic::on_unimplemented(
    message = "program!: a comparison is allowed only in the condition of an `if` or a `while`",
    label = "compared outside of a condition",
    note = "write `let c = if a < b {{ true }} else {{ false }};`"
)]
pub trait ComparisonsStandOnlyInConditions {}
impl<K, R: ComparisonsStandOnlyInConditions> PartialEq<R> for Ex<K> {
    fn eq(&self, _: &R) -> bool {
        false
    }
}
impl<K, R: ComparisonsStandOnlyInConditions> PartialOrd<R> for Ex<K> {
    fn partial_cmp(&self, _: &R) -> Option<std::cmp::Ordering> {
        None
    }
}

/// Writes a comparison in a condition.
pub fn compare<A: Alike<B>, B: Operand>(op: ketgrad_core::ir::Compare, a: A, b: B) -> Ex<bool> {
    let (x, y) = (a.given(None), b.given(None));
    value_of(with(|b| sure(b.stage.binary(InfixOperator::Compare(op), x, y))))
}

/// `!c` in a condition. It has the location of the instruction before it: as an operator of
/// the macro it would be at the `program!`.
pub fn not(c: Ex<bool>) -> Ex<bool> {
    let c = c.given(None);
    value_of(with(|b| sure(b.stage.not(c))))
}

/// Returns a truth value in a condition.
pub fn truth(x: impl Fit<Ex<bool>>) -> Ex<bool> {
    value_of(x.given(None))
}

// Arrays.

/// `xs[i]` is a reference in Rust. A handle is its number, and numbers start anew in each function,
/// so a leaked handle for each number is all there will ever be: 4 bytes for an instruction of the
/// largest one.
fn leaked<K: Shape<Staged = Ex<K>>>(
    table: &RefCell<HashMap<u32, &'static Ex<K>>>,
    node: u32,
) -> &'static Ex<K> {
    table.borrow_mut().entry(node).or_insert_with(|| Box::leak(Box::new(Ex::of(node))))
}

/// Returns an element.
fn element<E: Shape<Staged = Ex<E>>>(
    table: &RefCell<HashMap<u32, &'static Ex<E>>>,
    xs: &Ex<Array<E>>,
    i: impl Indices,
) -> &'static Ex<E>
where
    Array<E>: Shape<Staged = Ex<Array<E>>>,
{
    let (xs, i) = (xs.given(None), i.indices());
    let x: Ex<E> = value_of(with(|b| {
        sure(match i.as_slice() {
            [i] => b.stage.index(xs, *i),
            indices => b.stage.element(xs, indices),
        })
    }));
    leaked(table, x.node)
}

/// The indices of an element: one in row-major order, or one for each axis.
pub trait Indices {
    /// Returns all of them.
    fn indices(self) -> Vec<StagedOperand>;
}
impl<I: Fit<Ex<i64>>> Indices for I {
    fn indices(self) -> Vec<StagedOperand> {
        vec![self.given(None)]
    }
}
macro_rules! indices {
    ($(($($I:ident $i:tt)+))*) => {$(
        impl<$($I: Fit<Ex<i64>>),+> Indices for ($($I,)+) {
            fn indices(self) -> Vec<StagedOperand> {
                vec![$(self.$i.given(None)),+]
            }
        }
    )*};
}
indices! { (I 0 J 1) (I 0 J 1 K 2) (I 0 J 1 K 2 L 3) }

macro_rules! elements {
    ($($E:ty)*) => {$(
        elements! { @one $E [I: Fit<Ex<i64>>] I }
        elements! { @one $E [I: Fit<Ex<i64>>, J: Fit<Ex<i64>>] (I, J) }
        elements! { @one $E [I: Fit<Ex<i64>>, J: Fit<Ex<i64>>, K: Fit<Ex<i64>>] (I, J, K) }
        elements! { @one $E [I: Fit<Ex<i64>>, J: Fit<Ex<i64>>, K: Fit<Ex<i64>>, L: Fit<Ex<i64>>] (I, J, K, L) }
    )*};
    (@one $E:ty [$($g:tt)*] $I:ty) => {
        impl<$($g)*> Index<$I> for Ex<Array<$E>> {
            type Output = Ex<$E>;
            #[track_caller]
            fn index(&self, i: $I) -> &Ex<$E> {
                thread_local! {
                    static TABLE: RefCell<HashMap<u32, &'static Ex<$E>>> = RefCell::default();
                }
                here();
                TABLE.with(|t| element(t, self, i))
            }
        }
    };
}
elements! { f64 Complex<f64> i64 }
