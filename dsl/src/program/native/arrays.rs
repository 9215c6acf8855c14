//! Functions of arrays on native values. What does not fit panics with the operation and the
//! shapes, as an index beyond the end does.

use std::sync::Arc;

use super::{
    call::{Value, call},
    *,
};
use ketgrad_core::{
    array::{ArrayError, checked_axis, flat_index as place_of},
    exec::Datum,
    scalar::threefry,
};

/// A number that an array holds.
pub trait Element: Copy {
    /// The numbers that it is made of.
    type Number: Number;
    /// Returns the array as a value of the executor.
    fn datum(array: Array<Self>) -> Value<Self::Number>;
    /// Converts a value of the executor to an array.
    fn array(value: Value<Self::Number>) -> Arr<Self>;
    /// Returns the number that a value of the executor is.
    fn number(value: Value<Self::Number>) -> Self;
}

fn owned<T: Clone>(array: Arc<Array<T>>) -> Array<T> {
    Arc::try_unwrap(array).unwrap_or_else(|shared| (*shared).clone())
}

impl<S: Number> Element for N<S> {
    type Number = S;
    fn datum(array: Array<N<S>>) -> Value<S> {
        Datum::Reals(Arc::new(array.map_into(|x| x.0)))
    }
    fn array(value: Value<S>) -> Arr<N<S>> {
        match value {
            Datum::Reals(array) => Arr(owned(array).map_into(N)),
            _ => Arr::default(),
        }
    }
    fn number(value: Value<S>) -> N<S> {
        match value {
            Datum::Real(x) => N(x),
            _ => N(S::lit(f64::NAN)),
        }
    }
}
impl<S: Number> Element for Z<S> {
    type Number = S;
    fn datum(array: Array<Z<S>>) -> Value<S> {
        Datum::Complexes(Arc::new(array.map_into(|z| z.0)))
    }
    fn array(value: Value<S>) -> Arr<Z<S>> {
        match value {
            Datum::Complexes(array) => Arr(owned(array).map_into(Z)),
            _ => Arr::default(),
        }
    }
    fn number(value: Value<S>) -> Z<S> {
        match value {
            Datum::Complex(z) => Z(z),
            _ => Z(complex(S::lit(f64::NAN))),
        }
    }
}

fn int<S: Number>(value: Value<S>) -> i64 {
    match value {
        Datum::Int(n) => n,
        _ => 0,
    }
}
fn ints<S: Number>(value: Value<S>) -> Arr<i64> {
    match value {
        Datum::Ints(list) => Arr(owned(list)),
        _ => Arr::default(),
    }
}
fn list<S: Number>(list: Arr<i64>) -> Value<S> {
    Datum::Ints(Arc::new(list.0))
}

/// Stacks arrays of one shape along a new first axis.
#[track_caller]
pub(super) fn stack<E: Element>(items: Vec<Arr<E>>) -> Arr<E> {
    let mut all: Option<Value<E::Number>> = None;
    for item in items {
        let item = call("insert_axis", &[E::datum(item.0), Datum::Int(0)]);
        all = Some(match all {
            Some(all) => call("concat", &[all, item, Datum::Int(0)]),
            None => item,
        });
    }
    all.map_or_else(Arr::default, E::array)
}

/// Repeats the row `n` times along a new first axis.
#[track_caller]
pub(super) fn rows<E: Element>(row: Arr<E>, n: i64) -> Arr<E> {
    let row = call("insert_axis", &[E::datum(row.0), Datum::Int(0)]);
    E::array(call("gather", &[row, list(fill(0, n))]))
}

/// An array of numbers of the kind `S`, where a function takes one: by value, by reference, or
/// written out.
pub trait Numbers<S: Number> {
    /// Element of the array.
    type Element: Element<Number = S>;
    /// Converts to a value of the executor.
    fn value(self) -> Value<S>;
}
impl<S: Number, E: Element<Number = S>> Numbers<S> for Arr<E> {
    type Element = E;
    fn value(self) -> Value<S> {
        E::datum(self.0)
    }
}
impl<S: Number, E: Element<Number = S>> Numbers<S> for &Arr<E> {
    type Element = E;
    fn value(self) -> Value<S> {
        E::datum(self.0.clone())
    }
}
impl<S: Number, X: Entry<S>, const M: usize> Numbers<S> for [X; M] {
    type Element = X::Element;
    fn value(self) -> Value<S> {
        Element::datum(X::together(self.into()).0)
    }
}

/// Entry of a literal array of numbers of the kind `S`, where one is asked for: int literals
/// are real there.
pub trait Entry<S: Number>: Sized {
    /// Element of the array.
    type Element: Element<Number = S>;
    /// Returns the array.
    fn together(items: Vec<Self>) -> Arr<Self::Element>;
}
macro_rules! entries {
    ($($X:ty => $E:ty;)*) => {$(
        impl<S: Number> Entry<S> for $X {
            type Element = $E;
            fn together(items: Vec<$X>) -> Arr<$E> {
                Arr(items.into_iter().map(Fit::<$E>::fit).collect())
            }
        }
    )*};
}
entries! { i64 => N<S>; f64 => N<S>; N<S> => N<S>; Z<S> => Z<S>; }
impl<S: Number, E: Element<Number = S>> Entry<S> for Arr<E> {
    type Element = E;
    fn together(items: Vec<Arr<E>>) -> Arr<E> {
        stack(items)
    }
}
impl<S: Number, E: Element<Number = S>> Entry<S> for &Arr<E> {
    type Element = E;
    fn together(items: Vec<&Arr<E>>) -> Arr<E> {
        stack(items.into_iter().cloned().collect())
    }
}
impl<S: Number, X: Entry<S>, const M: usize> Entry<S> for [X; M] {
    type Element = X::Element;
    fn together(items: Vec<[X; M]>) -> Arr<X::Element> {
        stack(items.into_iter().map(|row| X::together(row.into())).collect())
    }
}

// The staged body refuses these; here they pass, so that what is wrong is told once. They never
// run.
macro_rules! refused {
    ($($X:ty)*) => {$(
        impl<S: Number> Numbers<S> for $X {
            type Element = N<S>;
            fn value(self) -> Value<S> {
                Datum::reals([])
            }
        }
    )*};
}
refused! { f64 i64 N<S> Z<S> }

/// Operand beside an array of `E`: another one, or a number.
pub trait Beside<E: Element> {
    /// Element of the result.
    type Out: Element<Number = E::Number>;
    /// Converts to a value of the executor.
    fn operand(self) -> Value<E::Number>;
}
macro_rules! beside {
    ($([$($g:tt)*] $R:ty, $E:ty => $Out:ty: |$x:ident| $e:expr;)*) => {$(
        impl<$($g)*> Beside<$E> for $R {
            type Out = $Out;
            fn operand(self) -> Value<S> {
                let $x = self;
                $e
            }
        }
    )*};
}
beside! {
    [S: Number] Arr<N<S>>, N<S> => N<S>: |x| Element::datum(x.0);
    [S: Number] Arr<N<S>>, Z<S> => Z<S>: |x| Element::datum(x.0);
    [S: Number] Arr<Z<S>>, N<S> => Z<S>: |x| Element::datum(x.0);
    [S: Number] Arr<Z<S>>, Z<S> => Z<S>: |x| Element::datum(x.0);
    [S: Number] &Arr<N<S>>, N<S> => N<S>: |x| Element::datum(x.0.clone());
    [S: Number] &Arr<N<S>>, Z<S> => Z<S>: |x| Element::datum(x.0.clone());
    [S: Number] &Arr<Z<S>>, N<S> => Z<S>: |x| Element::datum(x.0.clone());
    [S: Number] &Arr<Z<S>>, Z<S> => Z<S>: |x| Element::datum(x.0.clone());
    [S: Number] N<S>, N<S> => N<S>: |x| Datum::Real(x.0);
    [S: Number] N<S>, Z<S> => Z<S>: |x| Datum::Real(x.0);
    [S: Number] Z<S>, N<S> => Z<S>: |z| Datum::Complex(z.0);
    [S: Number] Z<S>, Z<S> => Z<S>: |z| Datum::Complex(z.0);
    [S: Number] f64, N<S> => N<S>: |x| Datum::Real(S::literal(x));
    [S: Number] f64, Z<S> => Z<S>: |x| Datum::Real(S::literal(x));
    [S: Number] i64, N<S> => N<S>: |n| Datum::Real(S::lit(n as f64));
    [S: Number] i64, Z<S> => Z<S>: |n| Datum::Real(S::lit(n as f64));
}
impl<S: Number, E: Element<Number = S>, X: Entry<S>, const M: usize> Beside<E> for [X; M]
where
    Arr<X::Element>: Beside<E>,
{
    type Out = <Arr<X::Element> as Beside<E>>::Out;
    fn operand(self) -> Value<S> {
        self.value()
    }
}

/// Type of an operand in Rust.
macro_rules! operand {
    (Int) => { i64 };
    (Ints) => { Arr<i64> };
}
/// An operand as a value of the executor.
macro_rules! given {
    (Int $x:ident) => {
        Datum::Int($x.fit())
    };
    (Ints $x:ident) => {
        list($x.fit())
    };
}
/// Type of the result of a function, of elements `E`.
macro_rules! result {
    (Array $S:ty, $E:ty) => { Arr<$E> };
    (Number $S:ty, $E:ty) => { $E };
    (Real $S:ty, $E:ty) => { N<$S> };
    (Reals $S:ty, $E:ty) => { Arr<N<$S>> };
    (Complexes $S:ty, $E:ty) => { Arr<Z<$S>> };
    (Int $S:ty, $E:ty) => { i64 };
    (Ints $S:ty, $E:ty) => { Arr<i64> };
}
macro_rules! taken {
    (Array $value:expr) => {
        Element::array($value)
    };
    (Number $value:expr) => {
        Element::number($value)
    };
    (Real $value:expr) => {
        Element::number($value)
    };
    (Reals $value:expr) => {
        Element::array($value)
    };
    (Complexes $value:expr) => {
        Element::array($value)
    };
    (Int $value:expr) => {
        int($value)
    };
    (Ints $value:expr) => {
        ints($value)
    };
}

type ElementOf<S, A> = <A as Numbers<S>>::Element;
type JoinedElement<S, A, B> = <Arr<ElementOf<S, B>> as Beside<ElementOf<S, A>>>::Out;

/// A function, by the arrays that it takes.
macro_rules! function {
    (one $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<S: Number, A: Numbers<S>>(
            a: A, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r S, A::Element) {
            taken!($r call::<S>(stringify!($f), &[a.value(), $(given!($t $p)),*]))
        }
    };
    (two $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<S: Number, A: Numbers<S>, B: Numbers<S>>(
            a: A, b: B, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r S, JoinedElement<S, A, B>)
        where
            Arr<B::Element>: Beside<A::Element, Out: Element<Number = S>>,
        {
            let args = [a.value(), b.value(), $(given!($t $p)),*];
            taken!($r by_labels::<S>(stringify!($f), &args))
        }
    };
    (three $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<S: Number, A: Numbers<S>>(
            a: A,
            b: impl Numbers<S, Element = A::Element>,
            c: impl Numbers<S, Element = A::Element>,
            $($p: impl Fit<operand!($t)>),*
        ) -> result!($r S, A::Element) {
            taken!($r call::<S>(stringify!($f), &[a.value(), b.value(), c.value(), $(given!($t $p)),*]))
        }
    };
    (real $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<S: Number>(
            a: impl Fit<Arr<N<S>>>, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r S, N<S>) {
            taken!($r call::<S>(stringify!($f), &[N::datum(a.fit().0), $(given!($t $p)),*]))
        }
    };
    (complex $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<S: Number>(
            a: impl Fit<Arr<Z<S>>>, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r S, Z<S>) {
            taken!($r call::<S>(stringify!($f), &[Z::datum(a.fit().0), $(given!($t $p)),*]))
        }
    };
    (other $f:ident) => {};
}
/// The method of arrays of real or complex numbers that is such a function.
macro_rules! method {
    (one $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(&self, $($p: impl Fit<operand!($t)>),*) -> result!($r E::Number, E) {
            array_functions::$f::<E::Number, _>(self, $($p),*)
        }
    };
    (two $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f<B: Numbers<E::Number>>(
            &self, b: B, $($p: impl Fit<operand!($t)>),*
        ) -> result!($r E::Number, <Arr<B::Element> as Beside<E>>::Out)
        where
            Arr<B::Element>: Beside<E, Out: Element<Number = E::Number>>,
        {
            array_functions::$f::<E::Number, _, B>(self, b, $($p),*)
        }
    };
    (three $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(
            &self,
            b: impl Numbers<E::Number, Element = E>,
            c: impl Numbers<E::Number, Element = E>,
            $($p: impl Fit<operand!($t)>),*
        ) -> result!($r E::Number, E) {
            array_functions::$f::<E::Number, _>(self, b, c, $($p),*)
        }
    };
    ($($other:tt)*) => {};
}
macro_rules! real_method {
    (real $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(&self, $($p: impl Fit<operand!($t)>),*) -> result!($r S, N<S>) {
            array_functions::$f::<S>(self, $($p),*)
        }
    };
    ($($other:tt)*) => {};
}
macro_rules! complex_method {
    (complex $f:ident($($p:ident: $t:ident),*) -> $r:ident) => {
        #[track_caller]
        pub fn $f(&self, $($p: impl Fit<operand!($t)>),*) -> result!($r S, Z<S>) {
            array_functions::$f::<S>(self, $($p),*)
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
            pub fn shape(x: impl Items) -> Arr<i64> {
                Arr(x.shape().iter().map(|&n| length(n)).collect())
            }
            #[track_caller]
            pub fn dim(x: impl Items, axis: impl Fit<i64>) -> i64 {
                let shape = x.shape();
                let axis = sure(checked_axis("dim", axis.fit(), &shape));
                length(shape[axis])
            }
            #[track_caller]
            pub fn ravel_multi_index(x: impl Items, indices: impl Fit<Arr<i64>>) -> i64 {
                sure(place_of(&x.shape(), indices.fit().0.items()))
            }
            #[track_caller]
            pub fn count(lengths: impl Fit<Arr<i64>>) -> i64 {
                int(call::<f64>("count", &[list(lengths.fit())]))
            }
            pub fn key(n: impl Fit<i64>) -> i64 {
                n.fit()
            }
            pub fn fold_in(key: impl Fit<i64>, n: impl Fit<i64>) -> i64 {
                threefry(key.fit(), n.fit())
            }
            /// Returns two keys of one.
            pub fn split(key: impl Fit<i64>) -> (i64, i64) {
                let key = key.fit();
                (threefry(key, 0), threefry(key, 1))
            }
            /// Numbers in [0, 1).
            #[track_caller]
            pub fn rand<S: Number>(key: impl Fit<i64>, lengths: impl Fit<Arr<i64>>) -> Arr<N<S>> {
                N::array(call::<S>("rand", &[Datum::Int(key.fit()), list(lengths.fit())]))
            }
            /// Normal numbers.
            #[track_caller]
            pub fn randn<S: Number>(key: impl Fit<i64>, lengths: impl Fit<Arr<i64>>) -> Arr<N<S>> {
                N::array(call::<S>("randn", &[Datum::Int(key.fit()), list(lengths.fit())]))
            }
            /// Returns an array of one number.
            #[track_caller]
            pub fn full<S: Number, X: Bind<S, Out: Element<Number = S>>>(
                x: X,
                lengths: impl Fit<Arr<i64>>,
            ) -> Arr<X::Out> {
                let one = <X::Out as Element>::datum(Array::from(vec![x.bind()]));
                let one = match one {
                    Datum::Reals(x) => Datum::Real(x[0]),
                    Datum::Complexes(z) => Datum::Complex(z[0]),
                    other => other,
                };
                Element::array(call::<S>("full", &[one, list(lengths.fit())]))
            }
            #[track_caller]
            pub fn eye<S: Number>(n: impl Fit<i64>) -> Arr<N<S>> {
                N::array(call::<S>("eye", &[Datum::Int(n.fit())]))
            }
            #[track_caller]
            pub fn broadcast_to<S: Number, B: Numbers<S>, A: Beside<B::Element>>(a: A, b: B) -> Arr<A::Out> {
                Element::array(call::<S>("broadcast_to", &[a.operand(), b.value()]))
            }
            #[track_caller]
            pub fn step<A: Stepped<B>, B>(a: A, b: B) -> A::Out {
                a.stepped(b)
            }
        }
        impl<E: Element> Arr<E> {
            $(by_operands! { method $f $operands -> $r })*
        }
        impl<S: Number> Arr<N<S>> {
            $(by_operands! { real_method $f $operands -> $r })*
        }
        impl<S: Number> Arr<Z<S>> {
            $(by_operands! { complex_method $f $operands -> $r })*
        }
    };
}
for_each_array_function!(functions);

/// `einsum` has its labels written out in the language: here they are values, which `contract`
/// takes as one list.
#[track_caller]
fn by_labels<S: Number>(name: &'static str, args: &[Value<S>]) -> Value<S> {
    if name != "einsum" {
        return call(name, args);
    }
    let mut labels = Vec::new();
    for arg in &args[2..] {
        if let Datum::Ints(list) = arg {
            labels.extend_from_slice(list);
        }
    }
    call("contract", &[args[0].clone(), args[1].clone(), Datum::ints(labels)])
}

pub(super) fn length(n: usize) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Returns the result, or panics at the caller.
#[track_caller]
pub(super) fn sure<T>(result: Result<T, ArrayError>) -> T {
    match result {
        Ok(value) => value,
        #[expect(clippy::panic, reason = "as an index beyond the end")]
        Err(reason) => panic!("{reason}"),
    }
}
