//! Functions and operators of arrays on handles.

use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::*;
use ketgrad_core::{ir::Int2, staging::Composed};

/// An array of real or complex numbers, where a function takes one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no array of real or complex numbers",
    label = "expected an array of real or complex numbers"
)]
pub trait NumberArray: Operand {
    /// Kind of the element.
    type Element: Single;
}
/// Kinds of the elements of arrays of numbers.
pub trait Single: NumberKind {
    /// The kind of the array.
    type Array: Numbers;
}
impl Single for f64 {
    type Array = Array<f64>;
}
impl Single for C {
    type Array = Array<C>;
}
impl<E: Single> NumberArray for Ex<Array<E>>
where
    Array<E>: Shape<Staged = Ex<Array<E>>>,
{
    type Element = E;
}
impl<E: Single> NumberArray for &Ex<Array<E>>
where
    Array<E>: Shape<Staged = Ex<Array<E>>>,
{
    type Element = E;
}
impl<X: Entry, const M: usize> NumberArray for [X; M] {
    type Element = X::Element;
}

/// Entry of a literal array of real or complex numbers, where one is asked for: int literals
/// are real there.
pub trait Entry: Operand {
    /// Kind of the element of the array.
    type Element: Single;
}
macro_rules! entries {
    ($($X:ty => $E:ty;)*) => {$( impl Entry for $X { type Element = $E; } )*};
}
entries! {
    i64 => f64; f64 => f64; Ex<f64> => f64; Ex<C> => C; Ex<Array<f64>> => f64; Ex<Array<C>> => C;
    &Ex<Array<f64>> => f64; &Ex<Array<C>> => C;
}
impl<X: Entry, const M: usize> Entry for [X; M] {
    type Element = X::Element;
}

macro_rules! operators {
    ($($Op:ident $f:ident $Assign:ident $assign:ident;)*) => {$(
        operators! { @arrays $Op $f f64 }
        operators! { @arrays $Op $f C }
        operators! { @assign $Op $Assign $assign f64 }
        operators! { @assign $Op $Assign $assign C }
        operators! { @first $Op $f [] Ex<f64> }
        operators! { @first $Op $f [] Ex<C> }
        operators! { @first $Op $f [] f64 }
        operators! { @first $Op $f [] i64 }
        operators! { @first $Op $f [X, const M: usize] [X; M] }
    )*};
    (@arrays $Op:ident $f:ident $E:ty) => {
        operators! { @one $Op $f $E, Ex<Array<$E>> }
        operators! { @one $Op $f $E, &Ex<Array<$E>> }
    };
    (@one $Op:ident $f:ident $E:ty, $A:ty) => {
        impl<R: Numeric> $Op<R> for $A
        where
            Array<$E>: Join<R::Kind>,
        {
            type Output = Ex<<Array<$E> as Join<R::Kind>>::Out>;
            #[track_caller]
            fn $f(self, b: R) -> Self::Output {
                binary(InfixOperator::$Op, self, b)
            }
        }
    };
    (@assign $Op:ident $Assign:ident $assign:ident $E:ty) => {
        impl<R: Numeric> $Assign<R> for Ex<Array<$E>>
        where
            Array<$E>: Join<R::Kind, Out = Array<$E>>,
        {
            #[track_caller]
            fn $assign(&mut self, b: R) {
                here();
                let given = b.given(None);
                with(|b| b.assign(self.node, &[], Some(InfixOperator::$Op), given));
            }
        }
    };
    (@first $Op:ident $f:ident [$($g:tt)*] $A:ty) => {
        operators! { @second $Op $f [] [$($g)*] $A, Ex<Array<E>> }
        operators! { @second $Op $f ['l,] [$($g)*] $A, &'l Ex<Array<E>> }
    };
    (@second $Op:ident $f:ident [$($l:tt)*] [$($g:tt)*] $A:ty, $B:ty) => {
        impl<$($l)* E, $($g)*> $Op<$B> for $A
        where
            $A: Numeric<Kind: Join<Array<E>>>,
            $B: Operand,
        {
            type Output = Ex<<KindOf<$A> as Join<Array<E>>>::Out>;
            #[track_caller]
            fn $f(self, b: $B) -> Self::Output {
                binary(InfixOperator::$Op, self, b)
            }
        }
    };
}
operators! {
    Add add AddAssign add_assign;
    Sub sub SubAssign sub_assign;
    Mul mul MulAssign mul_assign;
    Div div DivAssign div_assign;
}

macro_rules! negative {
    ($($A:ty => $K:ty;)*) => {$(
        impl Neg for $A {
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
negative! {
    Ex<Array<f64>> => Array<f64>; &Ex<Array<f64>> => Array<f64>;
    Ex<Array<C>> => Array<C>; &Ex<Array<C>> => Array<C>;
}

/// Writes a call of a function of the language by its name.
#[track_caller]
fn named<K: Shape<Staged = Ex<K>>>(name: &str, args: &[StagedOperand]) -> Ex<K> {
    match Builtin::by_name(name) {
        Some(f) => builtin(f, args),
        None => value_of(StagedOperand::Nothing),
    }
}

/// An operand as a handle.
macro_rules! operand {
    (Int) => { Ex<i64> };
    (Ints) => { Ex<Array<i64>> };
}
/// An operand, with its kind as hint.
macro_rules! given {
    (Int $x:ident) => {
        $x.given(Some(&Kind::Int))
    };
    (Ints $x:ident) => {
        $x.given(Some(&<Array<i64> as Shape>::kind()))
    };
}
/// Kind of the result of a function, of elements `E`.
macro_rules! result {
    (Array $E:ty) => { Ex<<$E as Single>::Array> };
    (Number $E:ty) => { Ex<$E> };
    (Real $E:ty) => { Ex<f64> };
    (Reals $E:ty) => { Ex<Array<f64>> };
    (Complexes $E:ty) => { Ex<Array<C>> };
    (Int $E:ty) => { Ex<i64> };
    (Ints $E:ty) => { Ex<Array<i64>> };
}

/// The element kind of two arrays together.
pub type Joined<A, B> = <<A as NumberArray>::Element as Join<<B as NumberArray>::Element>>::Out;

/// A function, by the arrays that it takes.
macro_rules! function {
    (one $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<A: NumberArray>(a: A, $($p: impl Fit<operand!($t)>),*) -> result!($r A::Element) {
            named(stringify!($f), &[a.given(None), $(given!($t $p)),*])
        }
    };
    (two $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<A: NumberArray, B: NumberArray>(
            a: A, b: B, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r Joined<A, B>)
        where
            A::Element: Join<B::Element, Out: Single>,
        {
            named(stringify!($f), &[a.given(None), b.given(None), $(given!($t $p)),*])
        }
    };
    (three $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<A: NumberArray>(
            a: A,
            b: impl NumberArray<Element = A::Element>,
            c: impl NumberArray<Element = A::Element>,
            $($p: impl Fit<operand!($t)>),*
        ) -> result!($r A::Element) {
            let args = [a.given(None), b.given(None), c.given(None), $(given!($t $p)),*];
            named(stringify!($f), &args)
        }
    };
    (real $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(
            a: impl Fit<Ex<Array<f64>>>, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r f64) {
            let a = a.given(Some(&<Array<f64> as Shape>::kind()));
            named(stringify!($f), &[a, $(given!($t $p)),*])
        }
    };
    (complex $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(
            a: impl Fit<Ex<Array<C>>>, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r C) {
            let a = a.given(Some(&<Array<C> as Shape>::kind()));
            named(stringify!($f), &[a, $(given!($t $p)),*])
        }
    };
    (other $f:ident) => {};
}
/// The method of arrays of real or complex numbers that is such a function.
macro_rules! method {
    (one $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(self, $($p: impl Fit<operand!($t)>),*) -> result!($r E) {
            array_functions::$f(self, $($p),*)
        }
    };
    (two $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<B: NumberArray>(
            self, b: B, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r <E as Join<B::Element>>::Out)
        where
            E: Join<B::Element, Out: Single>,
        {
            array_functions::$f(self, b, $($p),*)
        }
    };
    (three $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(
            self,
            b: impl NumberArray<Element = E>,
            c: impl NumberArray<Element = E>,
            $($p: impl Fit<operand!($t)>),*
        ) -> result!($r E) {
            array_functions::$f(self, b, c, $($p),*)
        }
    };
    ($($other:tt)*) => {};
}
macro_rules! real_method {
    (real $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(self, $($p: impl Fit<operand!($t)>),*) -> result!($r f64) {
            array_functions::$f(self, $($p),*)
        }
    };
    ($($other:tt)*) => {};
}
macro_rules! complex_method {
    (complex $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(self, $($p: impl Fit<operand!($t)>),*) -> result!($r C) {
            array_functions::$f(self, $($p),*)
        }
    };
    ($($other:tt)*) => {};
}

macro_rules! functions {
    ($($f:ident $operands:tt -> $r:ident;)*) => {
        /// The functions of arrays, for the body of a program.
        pub mod array_functions {
            use super::*;
            $(by_operands! { function $f $operands -> $r })*
            #[track_caller]
            pub fn shape<E>(x: impl Bind<Out = Ex<Array<E>>>) -> Ex<Array<i64>> {
                named("shape", &[x.given(None)])
            }
            #[track_caller]
            pub fn dim<E>(x: impl Bind<Out = Ex<Array<E>>>, axis: impl Fit<Ex<i64>>) -> Ex<i64> {
                named("dim", &[x.given(None), axis.given(None)])
            }
            #[track_caller]
            pub fn ravel_multi_index<E>(x: impl Bind<Out = Ex<Array<E>>>, indices: impl Fit<Ex<Array<i64>>>) -> Ex<i64> {
                named("ravel_multi_index", &[x.given(None), given!(Ints indices)])
            }
            #[track_caller]
            pub fn count(lengths: impl Fit<Ex<Array<i64>>>) -> Ex<i64> {
                named("count", &[given!(Ints lengths)])
            }
            #[track_caller]
            pub fn key(n: impl Fit<Ex<i64>>) -> Ex<i64> {
                builtin(Builtin::Key, &[n.given(None)])
            }
            #[track_caller]
            pub fn fold_in(key: impl Fit<Ex<i64>>, n: impl Fit<Ex<i64>>) -> Ex<i64> {
                builtin(Builtin::Int2(Int2::FoldIn), &[key.given(None), n.given(None)])
            }
            /// Returns two keys of one.
            #[track_caller]
            pub fn split(key: impl Fit<Ex<i64>>) -> (Ex<i64>, Ex<i64>) {
                let key: Ex<i64> = builtin(Builtin::Key, &[key.given(None)]);
                (fold_in(key, 0), fold_in(key, 1))
            }
            /// Numbers in [0, 1).
            #[track_caller]
            pub fn rand(key: impl Fit<Ex<i64>>, lengths: impl Fit<Ex<Array<i64>>>) -> Ex<Array<f64>> {
                named("rand", &[key.given(None), given!(Ints lengths)])
            }
            /// Normal numbers.
            #[track_caller]
            pub fn randn(key: impl Fit<Ex<i64>>, lengths: impl Fit<Ex<Array<i64>>>) -> Ex<Array<f64>> {
                named("randn", &[key.given(None), given!(Ints lengths)])
            }
            /// Returns an array of one number.
            #[track_caller]
            pub fn full<X: Numeric<Kind: Single>>(
                x: X,
                lengths: impl Fit<Ex<Array<i64>>>,
            ) -> Ex<<X::Kind as Single>::Array> {
                builtin(Builtin::Composed(Composed::Full), &[x.given(None), given!(Ints lengths)])
            }
            #[track_caller]
            pub fn eye(n: impl Fit<Ex<i64>>) -> Ex<Array<f64>> {
                builtin(Builtin::Composed(Composed::Eye), &[n.given(None)])
            }
            #[track_caller]
            pub fn broadcast_to<A: Numeric, B: Numeric + NumberArray>(a: A, b: B) -> Ex<Together<A, B>>
            where
                A::Kind: Join<B::Kind>,
            {
                named("broadcast_to", &[a.given(None), b.given(None)])
            }
            #[track_caller]
            pub fn step<X: Numeric, Y: Numeric<Kind: RealNumbers>>(x: X, y: Y) -> Ex<Together<X, Y>>
            where
                X::Kind: RealNumbers + Join<Y::Kind>,
            {
                named("step", &[x.given(None), y.given(None)])
            }
        }
        impl<E: Single> Ex<Array<E>>
        where
            Array<E>: Shape<Staged = Ex<Array<E>>>,
        {
            $(by_operands! { method $f $operands -> $r })*
        }
        impl Ex<Array<f64>> {
            $(by_operands! { real_method $f $operands -> $r })*
        }
        impl Ex<Array<C>> {
            $(by_operands! { complex_method $f $operands -> $r })*
        }
    };
}
for_each_array_function!(functions);

impl<E> Ex<Array<E>>
where
    Array<E>: Shape<Staged = Ex<Array<E>>>,
{
    #[track_caller]
    pub fn shape(self) -> Ex<Array<i64>> {
        array_functions::shape(self)
    }
    #[track_caller]
    pub fn dim(self, axis: impl Fit<Ex<i64>>) -> Ex<i64> {
        array_functions::dim(self, axis)
    }
}
