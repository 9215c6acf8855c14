//! The values that the staged body of a `program!` computes with: handles whose operators write instructions.
//!
//! While `f::ir()` runs, a [`Stage`] is under construction (one for each call in progress, on a stack of this
//! thread), and the body of `f` runs once, from top to bottom. An [`Ex`] is `Copy` and names what it stands
//! for: a variable, a field of another handle, or a value. It is read when an operator uses it, so that a
//! variable gives what it holds at that moment.
//!
//! What the language means is decided by [`Stage`], as for program text; the types here only let rustc see
//! kinds. They are those of the values on `f64`: `Ex<f64>` is a real number, `Ex<i64>` an int.
//!
//! Operators and methods are `#[track_caller]`: an instruction stands where the user's expression begins. What
//! the macro itself writes (a comparison, a loop's counter, a constant) takes the place of the instruction
//! before it, because rustc tells a macro no positions.

use std::{
    cell::RefCell,
    collections::HashMap,
    marker::PhantomData,
    ops::{Add, AddAssign, Div, DivAssign, Index, Mul, MulAssign, Neg, Rem, RemAssign, Sub, SubAssign},
    panic::Location,
};

use num_complex::Complex;

use crate::core::{
    entity::{FuncId, PrimitiveId, Value, Variable},
    ir::{Function, Kind, Number1, Number2, Op, Position, Real1, Real2},
    staging::{Builtin, Given, Misfit, Operator, Stage},
};

use super::shape::Shape;

/// A value of kind `K` of the function under construction.
#[derive(Debug)]
pub struct Ex<K> {
    node: u32,
    kind: PhantomData<fn() -> K>,
}
impl<K> Clone for Ex<K> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<K> Copy for Ex<K> {}

/// What a handle stands for.
#[derive(Clone, Copy, Debug)]
enum Node {
    Given(Given),
    Variable(Variable),
    /// A field of a tuple or a struct.
    Field(u32, usize),
}

/// What a call by name becomes.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function of the program.
    Function(FuncId),
    /// A primitive of it.
    Primitive(PrimitiveId),
}

/// What can be called, by the path of its definition.
pub type Callees = HashMap<&'static str, Callee>;

/// A function under construction.
pub(super) struct Building {
    pub(super) stage: Stage,
    nodes: Vec<Node>,
    callees: Callees,
}

thread_local! {
    static BUILDING: RefCell<Vec<Building>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the function under construction. Outside of `ir()` there are no handles, so none is asked for.
pub(super) fn with<T>(f: impl FnOnce(&mut Building) -> T) -> T {
    BUILDING.with_borrow_mut(|stack| {
        if stack.is_empty() {
            stack.push(Building::new(Stage::new("", vec![], Kind::Real), Callees::new()));
        }
        let top = stack.len() - 1;
        f(&mut stack[top])
    })
}

/// Writes a function: `body` runs once.
pub(super) fn build(stage: Stage, callees: Callees, body: impl FnOnce()) -> (Function, Callees) {
    BUILDING.with_borrow_mut(|stack| stack.push(Building::new(stage, callees)));
    body();
    match BUILDING.with_borrow_mut(Vec::pop) {
        Some(b) => (b.stage.finish(), b.callees),
        None => (Stage::new("", vec![], Kind::Real).finish(), Callees::new()),
    }
}

impl Building {
    fn new(stage: Stage, callees: Callees) -> Building {
        Building { stage, nodes: Vec::new(), callees }
    }
    fn node(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
    }
    /// The value that a handle stands for, here and now.
    fn read(&mut self, node: u32) -> Given {
        match self.nodes.get(node as usize) {
            Some(Node::Given(given)) => *given,
            Some(Node::Variable(v)) => self.stage.read(*v),
            Some(&Node::Field(of, k)) => {
                let of = self.read(of);
                sure(self.stage.field(of, k))
            }
            None => Given::Nothing,
        }
    }
    fn n_fields(&self, node: u32) -> usize {
        fn kind(b: &Building, node: u32) -> Option<Kind> {
            match b.nodes.get(node as usize)? {
                Node::Given(Given::Value(v)) => Some(b.stage.b.kind(*v).clone()),
                Node::Given(_) => None,
                Node::Variable(v) => Some(b.stage.b.variable_kind(*v).clone()),
                Node::Field(of, k) => kind(b, *of)?.fields().get(*k).map(|f| f.kind.clone()),
            }
        }
        kind(self, node).map_or(0, |k| k.fields().len())
    }
    /// `node = value` or `node op= value`, with an index if an element is meant.
    fn assign(&mut self, node: u32, index: Option<Given>, op: Option<Operator>, value: Given) {
        let (mut path, mut at) = (Vec::new(), node);
        while let Some(&Node::Field(of, k)) = self.nodes.get(at as usize) {
            path.push(k);
            at = of;
        }
        let Some(&Node::Variable(variable)) = self.nodes.get(at as usize) else { return };
        let mut place = self.stage.place(variable);
        for k in path.into_iter().rev() {
            sure(self.stage.into_field(&mut place, k));
        }
        if let Some(i) = index {
            sure(self.stage.into_element(&mut place, i));
        }
        sure(self.stage.assign(place, op, value));
    }
}

/// What stands for a value that is missing.
pub(super) trait Missing {
    fn missing() -> Self;
}
impl Missing for () {
    fn missing() {}
}
impl Missing for Given {
    fn missing() -> Given {
        Given::Nothing
    }
}

/// The types of handles leave nothing that does not fit.
pub(super) fn sure<T: Missing>(result: Result<T, Misfit>) -> T {
    result.unwrap_or_else(|misfit| {
        debug_assert!(false, "rustc let pass: {misfit}");
        T::missing()
    })
}

/// Says that what follows stands at the caller's.
#[track_caller]
pub(super) fn here() {
    let at = Location::caller();
    with(|b| b.stage.b.set_position(Position::new(at.line(), at.column())));
}

/// What can be used as a value: handles, literals, and tuples, arrays and structs of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of a program",
    label = "expected a number, an int, a bool, an array, a tuple or a struct of the program"
)]
pub trait Operand {
    /// Its value; `hint` is the kind it should have, for the literals in it.
    fn given(self, hint: Option<&Kind>) -> Given;
    /// The handle that it is.
    fn handle(&self) -> Option<u32>;
}

/// What variables hold: a handle, or a tuple or a struct of them.
pub trait Handle: Operand + Copy {
    /// The handle to a node.
    fn of(node: u32) -> Self;
    /// Its kind.
    fn kind() -> Kind;
}

/// What a variable that is initialised with it holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of a program",
    label = "expected a number, an int, a bool, an array, a tuple or a struct of the program"
)]
pub trait Bind: Operand {
    /// The kind of the variable.
    type Out: Handle;
}

/// What can stand where a value of kind `T` is expected.
#[diagnostic::on_unimplemented(
    message = "expected a value of kind `{T}`, given `{Self}`",
    label = "this is `{Self}`",
    note = "an int meets a real number through `real(n)`; `re`, `im`, `abs` or `abs2` make a complex number real",
    note = "`Ex<f64>` is a real number, `Ex<i64>` an int; a function that returns something else says it: `fn f(x) -> (real, int) {{ … }}`"
)]
pub trait Fit<T>: Operand {}

impl<K: Shape<Staged = Ex<K>>> Operand for Ex<K> {
    fn given(self, _: Option<&Kind>) -> Given {
        with(|b| b.read(self.node))
    }
    fn handle(&self) -> Option<u32> {
        Some(self.node)
    }
}
impl<K: Shape<Staged = Ex<K>>> Operand for &Ex<K> {
    fn given(self, hint: Option<&Kind>) -> Given {
        (*self).given(hint)
    }
    fn handle(&self) -> Option<u32> {
        Some(self.node)
    }
}
impl<K: Shape<Staged = Ex<K>>> Handle for Ex<K> {
    fn of(node: u32) -> Self {
        Ex { node, kind: PhantomData }
    }
    fn kind() -> Kind {
        K::kind()
    }
}
impl<K: Shape<Staged = Ex<K>>> Bind for Ex<K> {
    type Out = Ex<K>;
}
impl<K: Shape<Staged = Ex<K>>> Bind for &Ex<K> {
    type Out = Ex<K>;
}
impl<K: Shape<Staged = Ex<K>>> Fit<Ex<K>> for Ex<K> {}
impl<K: Shape<Staged = Ex<K>>> Fit<Ex<K>> for &Ex<K> {}
impl Fit<Ex<Complex<f64>>> for Ex<f64> {}

/// Literals: their type, what they are to the stage, the kind of a variable that is one, and what they fit.
macro_rules! literals {
    ($($T:ty: |$x:ident, $b:ident| $given:expr, $($Kind:ty),+;)*) => {$(
        impl Operand for $T {
            fn given(self, _: Option<&Kind>) -> Given {
                let $x = self;
                with(|$b| $given)
            }
            fn handle(&self) -> Option<u32> {
                None
            }
        }
        impl Bind for $T {
            type Out = Ex<$T>;
        }
        $(impl Fit<Ex<$Kind>> for $T {})+
    )*};
}
literals! {
    f64: |x, b| Given::Value(b.stage.b.real(x)), f64, Complex<f64>;
    i64: |x, _b| Given::Literal(x), i64, f64, Complex<f64>;
    bool: |x, b| Given::Value(b.stage.b.boolean(x)), bool;
}

impl<X: Operand, const M: usize> Operand for [X; M] {
    fn given(self, hint: Option<&Kind>) -> Given {
        let element = match hint {
            Some(Kind::Array(e)) => Some(*e),
            _ => None,
        };
        let kind = element.map(|e| e.kind());
        let items = self.map(|x| x.given(kind.as_ref()));
        with(|b| sure(b.stage.array(&items, element)))
    }
    fn handle(&self) -> Option<u32> {
        None
    }
}
impl<E, X: Bind<Out = Ex<E>>, const M: usize> Bind for [X; M]
where
    Ex<Vec<E>>: Handle,
{
    type Out = Ex<Vec<E>>;
}
impl<E, X: Fit<Ex<E>>, const M: usize> Fit<Ex<Vec<E>>> for [X; M] {}

/// `[x; n]`
#[derive(Clone, Copy, Debug)]
pub struct Fill<X, M>(pub X, pub M);
impl<X: Operand, M: Fit<Ex<i64>>> Operand for Fill<X, M> {
    fn given(self, hint: Option<&Kind>) -> Given {
        let element = match hint {
            Some(Kind::Array(e)) => Some(*e),
            _ => None,
        };
        let kind = element.map(|e| e.kind());
        let (x, n) = (self.0.given(kind.as_ref()), self.1.given(None));
        with(|b| sure(b.stage.fill(x, n, element)))
    }
    fn handle(&self) -> Option<u32> {
        None
    }
}
impl<E, X: Bind<Out = Ex<E>>, M: Fit<Ex<i64>>> Bind for Fill<X, M>
where
    Ex<Vec<E>>: Handle,
{
    type Out = Ex<Vec<E>>;
}
impl<E, X: Fit<Ex<E>>, M: Fit<Ex<i64>>> Fit<Ex<Vec<E>>> for Fill<X, M> {}

/// The whole whose fields these handles are, in order and all of them.
pub fn whole(parts: &[Option<u32>]) -> Option<u32> {
    with(|b| {
        let mut of = None;
        for (k, part) in parts.iter().enumerate() {
            match b.nodes.get((*part)? as usize) {
                Some(Node::Field(p, field)) if *field == k && of.is_none_or(|o| o == *p) => of = Some(*p),
                _ => return None,
            }
        }
        of.filter(|p| b.n_fields(*p) == parts.len())
    })
}

/// The value of a handle.
pub fn read(node: u32) -> Given {
    with(|b| b.read(node))
}

/// The handle to a field.
#[must_use]
pub fn field(node: u32, k: usize) -> u32 {
    with(|b| b.node(Node::Field(node, k)))
}

/// A struct of its fields, in the order of its kind.
pub fn structure(kind: &Kind, fields: &[Given]) -> Given {
    with(|b| sure(b.stage.structure(kind, fields)))
}

macro_rules! tuples {
    ($(($($T:ident $U:ident $k:tt)+))*) => {$(
        impl<$($T: Operand),+> Operand for ($($T,)+) {
            fn given(self, hint: Option<&Kind>) -> Given {
                if let Some(node) = self.handle() {
                    return read(node);
                }
                let kind = |k: usize| hint.and_then(|h| h.fields().get(k)).map(|f| &f.kind);
                let items = [$(self.$k.given(kind($k))),+];
                with(|b| sure(b.stage.tuple(&items, hint)))
            }
            fn handle(&self) -> Option<u32> {
                whole(&[$(self.$k.handle()),+])
            }
        }
        impl<$($T: Handle),+> Handle for ($($T,)+) {
            fn of(node: u32) -> Self {
                ($($T::of(field(node, $k)),)+)
            }
            fn kind() -> Kind {
                Kind::tuple([$($T::kind()),+])
            }
        }
        impl<$($T: Bind),+> Bind for ($($T,)+) {
            type Out = ($($T::Out,)+);
        }
        impl<$($T: Fit<$U>, $U),+> Fit<($($U,)+)> for ($($T,)+) {}
    )*};
}
tuples! {
    (A T 0) (A T 0 B U 1) (A T 0 B U 1 C V 2) (A T 0 B U 1 C V 2 D W 3) (A T 0 B U 1 C V 2 D W 3 E X 4)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5) (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5 G Z 6)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5 G Z 6 H S 7)
}

// Operators.

/// The node of a value.
pub(super) fn node(given: Given) -> u32 {
    with(|b| b.node(Node::Given(given)))
}

/// The handle to a value.
pub(super) fn value_of<K: Shape<Staged = Ex<K>>>(given: Given) -> Ex<K> {
    Ex::of(node(given))
}

#[track_caller]
fn binary<K: Shape<Staged = Ex<K>>>(op: Operator, a: impl Operand, b: impl Operand) -> Ex<K> {
    here();
    let (x, y) = (a.given(None), b.given(None));
    value_of(with(|b| sure(b.stage.binary(op, x, y))))
}

#[track_caller]
fn builtin<K: Shape<Staged = Ex<K>>>(op: Builtin, args: &[Given]) -> Ex<K> {
    here();
    value_of(with(|b| sure(b.stage.builtin(op, args))))
}

/// The number that two numbers make together, complex if one is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` and `{R}` do not meet in a program",
    label = "expected two real or complex numbers",
    note = "an int meets a real number through `real(n)`"
)]
pub trait Common<R>: Operand {
    /// The kind of it.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
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
                binary(Operator::$Op, self, b)
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
                with(|b| b.assign(self.node, None, Some(Operator::$by), given));
            }
        }
    )+};
}
macro_rules! numbers {
    ($(($A:ty, $B:ty) $K:ty;)*) => {$(
        operators! { ($A, $B) $K: Add add Sub sub Mul mul Div div }
        impl Common<$B> for $A {
            type Kind = $K;
        }
    )*};
}
type C = Complex<f64>;
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
pairs! { Common: (f64, f64) f64; (f64, i64) f64; (i64, f64) f64; (i64, i64) f64; }
pairs! {
    Alike: (Ex<f64>, Ex<f64>) f64; (Ex<f64>, f64) f64; (f64, Ex<f64>) f64; (Ex<f64>, i64) f64;
    (i64, Ex<f64>) f64; (Ex<i64>, Ex<i64>) i64; (Ex<i64>, i64) i64; (i64, Ex<i64>) i64;
    (f64, f64) f64; (f64, i64) f64; (i64, f64) f64; (i64, i64) i64;
}

/// What a comparison outside of a condition would need: there it would have to be a `bool` of Rust.
#[diagnostic::on_unimplemented(
    message = "program!: a comparison stands only in the condition of an `if` or a `while`",
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

/// A comparison in a condition.
pub fn compare<A: Alike<B>, B: Operand>(op: crate::core::ir::Compare, a: A, b: B) -> Ex<bool> {
    let (x, y) = (a.given(None), b.given(None));
    value_of(with(|b| sure(b.stage.binary(Operator::Compare(op), x, y))))
}

/// A truth value in a condition.
pub fn truth(x: impl Fit<Ex<bool>>) -> Ex<bool> {
    value_of(x.given(None))
}

// Arrays.

/// `xs[i]` is a reference in Rust. A handle is its number, and numbers start anew in each function, so a
/// leaked handle for each number is all there will ever be: 4 bytes for an instruction of the largest one.
fn leaked<K: Shape<Staged = Ex<K>>>(
    table: &RefCell<HashMap<u32, &'static Ex<K>>>,
    node: u32,
) -> &'static Ex<K> {
    table.borrow_mut().entry(node).or_insert_with(|| Box::leak(Box::new(Ex::of(node))))
}

macro_rules! elements {
    ($($E:ty)*) => {$(
        impl<I: Fit<Ex<i64>>> Index<I> for Ex<Vec<$E>> {
            type Output = Ex<$E>;
            #[track_caller]
            fn index(&self, i: I) -> &Ex<$E> {
                thread_local! {
                    static TABLE: RefCell<HashMap<u32, &'static Ex<$E>>> = RefCell::default();
                }
                here();
                let (xs, i) = (self.given(None), i.given(None));
                let x: Ex<$E> = value_of(with(|b| sure(b.stage.index(xs, i))));
                TABLE.with(|t| leaked(t, x.node))
            }
        }
    )*};
}
elements! { f64 Complex<f64> i64 }

// Built-in functions.

/// A number, or a literal that is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no real or complex number",
    label = "expected a real or complex number",
    note = "an int becomes a real number by `real(n)`"
)]
pub trait Numeric: Operand {
    /// Its kind.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
impl Numeric for Ex<f64> {
    type Kind = f64;
}
impl Numeric for Ex<C> {
    type Kind = C;
}
impl Numeric for f64 {
    type Kind = f64;
}
impl Numeric for i64 {
    type Kind = f64;
}
/// The kinds of numbers: real and complex.
pub trait NumberKind: Shape<Staged = Ex<Self>> + Sized {}
impl NumberKind for f64 {}
impl NumberKind for C {}

/// Two values of which `select` chooses one.
#[diagnostic::on_unimplemented(message = "`select` cannot choose between `{Self}` and `{R}`")]
pub trait Either<R>: Operand {
    /// What it gives.
    type Kind: Shape<Staged = Ex<Self::Kind>>;
}
macro_rules! either {
    ($(($A:ty, $B:ty) $K:ty;)*) => {$( impl Either<$B> for $A { type Kind = $K; } )*};
}
either! {
    (Ex<f64>, Ex<f64>) f64; (Ex<f64>, f64) f64; (f64, Ex<f64>) f64; (Ex<f64>, i64) f64; (i64, Ex<f64>) f64;
    (f64, f64) f64; (f64, i64) f64; (i64, f64) f64; (i64, i64) i64; (Ex<i64>, Ex<i64>) i64; (Ex<i64>, i64) i64;
    (i64, Ex<i64>) i64; (Ex<C>, Ex<C>) C; (Ex<C>, Ex<f64>) C; (Ex<f64>, Ex<C>) C; (Ex<C>, f64) C;
    (f64, Ex<C>) C; (Ex<C>, i64) C; (i64, Ex<C>) C; (Ex<bool>, Ex<bool>) bool; (Ex<bool>, bool) bool;
    (bool, Ex<bool>) bool; (bool, bool) bool; (Ex<Vec<f64>>, Ex<Vec<f64>>) Vec<f64>;
    (Ex<Vec<C>>, Ex<Vec<C>>) Vec<C>; (Ex<Vec<i64>>, Ex<Vec<i64>>) Vec<i64>;
}

macro_rules! functions {
    (
        number1 { $($n1:ident $N1:ident)* }
        real1 { $($r1:ident $R1:ident)* }
        real2 { $($r2:ident $R2:ident)* }
    ) => {
        /// The functions of the language, for the body of a program.
        pub mod functions {
            use super::*;
            $(
                #[track_caller]
                pub fn $n1<X: Numeric>(x: X) -> Ex<X::Kind> {
                    builtin(Builtin::Number1(Number1::$N1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r1(x: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real1(Real1::$R1), &[x.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2(x: impl Fit<Ex<f64>>, y: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real2(Real2::$R2), &[x.given(None), y.given(None)])
                }
            )*
            #[track_caller]
            pub fn log<X: Numeric>(x: X) -> Ex<X::Kind> {
                ln(x)
            }
            #[track_caller]
            pub fn abs(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Abs, &[x.given(None)])
            }
            #[track_caller]
            pub fn abs2(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Abs2, &[x.given(None)])
            }
            #[track_caller]
            pub fn re(x: impl Numeric) -> Ex<f64> {
                builtin(Builtin::Re, &[x.given(None)])
            }
            #[track_caller]
            pub fn im(z: impl Fit<Ex<C>>) -> Ex<f64> {
                builtin(Builtin::Im, &[z.given(None)])
            }
            #[track_caller]
            pub fn arg(z: impl Fit<Ex<C>>) -> Ex<f64> {
                builtin(Builtin::Arg, &[z.given(None)])
            }
            #[track_caller]
            pub fn conj(z: impl Fit<Ex<C>>) -> Ex<C> {
                builtin(Builtin::Conj, &[z.given(None)])
            }
            #[track_caller]
            pub fn complex(a: impl Fit<Ex<f64>>, b: impl Fit<Ex<f64>>) -> Ex<C> {
                builtin(Builtin::Complex, &[a.given(None), b.given(None)])
            }
            #[track_caller]
            pub fn real(n: impl Whole) -> Ex<f64> {
                builtin(Builtin::Real, &[n.given(None)])
            }
            #[track_caller]
            pub fn pow<X: Common<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Number2(Number2::Pow), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn scale<X: Common<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Number2(Number2::Scale), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn powi<X: Numeric>(x: X, n: impl Fit<Ex<i64>>) -> Ex<X::Kind> {
                builtin(Builtin::Powi, &[x.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn min<X: Alike<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn max<X: Alike<Y>, Y: Operand>(x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn select<X: Either<Y>, Y: Operand>(c: impl Fit<Ex<bool>>, x: X, y: Y) -> Ex<X::Kind> {
                builtin(Builtin::Select, &[c.given(None), x.given(None), y.given(None)])
            }
            #[track_caller]
            pub fn len<E>(xs: impl Bind<Out = Ex<Vec<E>>>) -> Ex<i64> {
                builtin(Builtin::Len, &[xs.given(None)])
            }
            #[track_caller]
            pub fn sum<E: NumberKind>(xs: impl Bind<Out = Ex<Vec<E>>>) -> Ex<E> {
                builtin(Builtin::Sum, &[xs.given(None)])
            }
        }
        use crate::core::ir::Int2;

        impl<K: NumberKind> Ex<K> {
            $(
                #[track_caller]
                pub fn $n1(self) -> Ex<K> {
                    builtin(Builtin::Number1(Number1::$N1), &[self.given(None)])
                }
            )*
            #[track_caller]
            pub fn log(self) -> Ex<K> {
                self.ln()
            }
            #[track_caller]
            pub fn abs(self) -> Ex<f64> {
                builtin(Builtin::Abs, &[self.given(None)])
            }
            #[track_caller]
            pub fn abs2(self) -> Ex<f64> {
                builtin(Builtin::Abs2, &[self.given(None)])
            }
            #[track_caller]
            pub fn re(self) -> Ex<f64> {
                builtin(Builtin::Re, &[self.given(None)])
            }
            #[track_caller]
            pub fn powi(self, n: impl Fit<Ex<i64>>) -> Ex<K> {
                builtin(Builtin::Powi, &[self.given(None), n.given(None)])
            }
            #[track_caller]
            pub fn pow<Y: Operand>(self, y: Y) -> Ex<<Self as Common<Y>>::Kind> where Self: Common<Y> {
                builtin(Builtin::Number2(Number2::Pow), &[self.given(None), y.given(None)])
            }
        }
        impl Ex<f64> {
            $(
                #[track_caller]
                pub fn $r1(self) -> Ex<f64> {
                    builtin(Builtin::Real1(Real1::$R1), &[self.given(None)])
                }
            )*
            $(
                #[track_caller]
                pub fn $r2(self, y: impl Fit<Ex<f64>>) -> Ex<f64> {
                    builtin(Builtin::Real2(Real2::$R2), &[self.given(None), y.given(None)])
                }
            )*
        }
    };
}
for_each_function!(functions);

impl Ex<C> {
    #[track_caller]
    pub fn im(self) -> Ex<f64> {
        builtin(Builtin::Im, &[self.given(None)])
    }
    #[track_caller]
    pub fn arg(self) -> Ex<f64> {
        builtin(Builtin::Arg, &[self.given(None)])
    }
    #[track_caller]
    pub fn conj(self) -> Ex<C> {
        builtin(Builtin::Conj, &[self.given(None)])
    }
}
impl<K> Ex<K> {
    #[track_caller]
    pub fn min<Y: Operand>(self, y: Y) -> Ex<<Self as Alike<Y>>::Kind>
    where
        Self: Alike<Y>,
    {
        builtin(Builtin::MinMax(Real2::Min, Int2::Min), &[self.given(None), y.given(None)])
    }
    #[track_caller]
    pub fn max<Y: Operand>(self, y: Y) -> Ex<<Self as Alike<Y>>::Kind>
    where
        Self: Alike<Y>,
    {
        builtin(Builtin::MinMax(Real2::Max, Int2::Max), &[self.given(None), y.given(None)])
    }
}
impl<E> Ex<Vec<E>>
where
    Vec<E>: Shape<Staged = Ex<Vec<E>>>,
{
    #[track_caller]
    pub fn len(self) -> Ex<i64> {
        builtin(Builtin::Len, &[self.given(None)])
    }
    #[track_caller]
    pub fn sum(self) -> Ex<E>
    where
        E: NumberKind,
    {
        builtin(Builtin::Sum, &[self.given(None)])
    }
}
/// What `real(n)` takes: an int, or a number that is real already.
pub trait Whole: Operand {}
impl Whole for Ex<i64> {}
impl Whole for Ex<f64> {}
impl Whole for i64 {}
impl Whole for f64 {}

// Statements, for the macro.

/// The value of an expression as a handle that no assignment changes.
pub fn bind<X: Bind>(x: X) -> X::Out {
    let given = x.given(None);
    X::Out::of(with(|b| {
        let v = sure(b.stage.value(given).map(Given::Value));
        b.node(Node::Given(v))
    }))
}

/// An element of an array: as it is, literals included.
pub fn item<X: Operand>(x: X) -> X {
    x
}

/// `let x = e;`
pub fn declare<X: Bind>(x: X) -> X::Out {
    let given = x.given(None);
    variable(given)
}

/// `let x: T = e;`
pub fn declare_as<T: Handle, X: Fit<T>>(x: X) -> T {
    let given = fitted::<T>(x);
    variable(given)
}

fn variable<T: Handle>(given: Given) -> T {
    T::of(with(|b| match b.stage.declare(given) {
        Ok(v) => b.node(Node::Variable(v)),
        Err(_) => b.node(Node::Given(Given::Nothing)),
    }))
}

/// A value as one of kind `T`.
pub(super) fn fitted<T: Handle>(x: impl Fit<T>) -> Given {
    let kind = T::kind();
    let given = x.given(Some(&kind));
    with(|b| sure(b.stage.fit(given, &kind).map(Given::Value)))
}

/// The value to be assigned: computed before the place it goes to.
#[derive(Clone, Copy, Debug)]
pub struct New<T>(Given, PhantomData<fn() -> T>);

/// `… = e`, of kind `T`.
pub fn new<T: Handle>(x: impl Fit<T>) -> New<T> {
    New(x.given(Some(&T::kind())), PhantomData)
}

/// Assignment to a variable or a field. It borrows mutably, so that rustc asks for `let mut` where that is missing.
pub trait Assign: Handle {
    /// `x = new`
    fn __assign(&mut self, new: New<Self>) {
        if let Some(node) = self.handle() {
            with(|b| b.assign(node, None, None, new.0));
        }
    }
}
impl<T: Handle> Assign for T {}

impl<E: Shape<Staged = Ex<E>>> Ex<Vec<E>> {
    /// `xs[i] = new`, `xs[i] op= new`.
    pub fn __assign_element(&mut self, i: impl Fit<Ex<i64>>, op: Option<Operator>, new: New<Ex<E>>) {
        let i = i.given(None);
        with(|b| b.assign(self.node, Some(i), op, new.0));
    }
}

/// There is no operator for powers.
pub trait PowersAreWrittenAsPowOrPowi {}
impl<K: PowersAreWrittenAsPowOrPowi, R> std::ops::BitXor<R> for Ex<K> {
    type Output = Ex<K>;
    fn bitxor(self, _: R) -> Ex<K> {
        self
    }
}

/// What `match` would need.
#[diagnostic::on_unimplemented(
    message = "program!: there is no `match`: write `if … {{ … }} else if … {{ … }} else {{ … }}`",
    label = "no `match` over this"
)]
pub trait Matched {}
/// Where a `match` stands.
pub fn there_is_no_match(_: impl Matched) {}

/// A parameter of the function under construction.
pub fn param<K: Shape>(k: usize) -> K::Staged {
    let value = with(|b| b.stage.b.param(k));
    variable(Given::Value(value))
}

/// `return e;`, and the value of the body.
pub fn give<T: Handle>(x: impl Fit<T>) {
    let given = fitted::<T>(x);
    with(|b| {
        if let Given::Value(v) = given {
            b.stage.b.ret(v);
        }
    });
}

/// A call of a function or a primitive of the program.
#[track_caller]
pub fn call<T: Handle>(path: &'static str, args: &[Given]) -> T {
    here();
    T::of(with(|b| {
        let value = match b.callees.get(path) {
            Some(Callee::Function(f)) => {
                let f = *f;
                called(b, Op::Call(f), args, &T::kind())
            }
            Some(Callee::Primitive(p)) => {
                let p = *p;
                called(b, Op::Primitive(p), args, &T::kind())
            }
            None => Given::Nothing,
        };
        b.node(Node::Given(value))
    }))
}

fn called(b: &mut Building, op: Op, args: &[Given], result: &Kind) -> Given {
    let values: Vec<Value> = args
        .iter()
        .filter_map(|a| match a {
            Given::Value(v) => Some(*v),
            _ => None,
        })
        .collect();
    Given::Value(b.stage.b.inst(op, &values, result.clone()))
}

/// The argument of a call: its value now; it is fitted when all are there.
#[derive(Debug)]
pub struct Argument(Given, Kind);

/// An argument for a parameter of kind `T`.
pub fn argument<T: Handle>(x: impl Fit<T>) -> Argument {
    let kind = T::kind();
    Argument(x.given(Some(&kind)), kind)
}

/// All arguments, each of the kind of its parameter.
#[track_caller]
pub fn arguments(all: &[Argument]) -> Vec<Given> {
    here();
    all.iter().map(|a| with(|b| sure(b.stage.fit(a.0, &a.1).map(Given::Value)))).collect()
}

// Rules.

/// `none`, in the value of a pullback.
#[derive(Clone, Copy, Debug)]
#[allow(non_camel_case_types, reason = "a word of the language")]
pub struct none;

/// The cotangent of what has none.
#[derive(Clone, Copy, Debug)]
pub struct NoCotangent;

/// A cotangent for an input whose cotangent is `B`.
#[diagnostic::on_unimplemented(
    message = "expected a cotangent `{B}`, given `{Self}`",
    label = "this is `{Self}`",
    note = "an input that has no cotangent (an int, a bool, a handle) gets `none`"
)]
pub trait Cotangent<B> {
    /// Its value; nothing where there is none.
    fn push(self, to: &mut Vec<Given>);
}
impl Cotangent<NoCotangent> for none {
    fn push(self, _: &mut Vec<Given>) {}
}
impl<K: Shape<Staged = Ex<K>>> Cotangent<Ex<K>> for none {
    fn push(self, to: &mut Vec<Given>) {
        to.push(Given::Value(with(|b| b.stage.b.zero(&K::kind()))));
    }
}
macro_rules! cotangents {
    ($($X:ty => $K:ty;)*) => {$(
        impl Cotangent<Ex<$K>> for $X {
            fn push(self, to: &mut Vec<Given>) {
                to.push(fitted::<Ex<$K>>(self));
            }
        }
    )*};
}
cotangents! {
    Ex<f64> => f64; f64 => f64; i64 => f64; Ex<C> => C; Ex<f64> => C; f64 => C; i64 => C;
    Ex<Vec<f64>> => Vec<f64>; Ex<Vec<C>> => Vec<C>;
}
macro_rules! cotangent_tuples {
    ($(($($T:ident $U:ident $k:tt)+))*) => {$(
        impl<$($T: Cotangent<$U>, $U),+> Cotangent<Inputs<($($U,)+)>> for ($($T,)+) {
            fn push(self, to: &mut Vec<Given>) {
                $(self.$k.push(to);)+
            }
        }
        impl<$($T: Cotangent<$U>, $U: Handle),+> Cotangent<($($U,)+)> for ($($T,)+) {
            fn push(self, to: &mut Vec<Given>) {
                let mut fields = Vec::new();
                $(self.$k.push(&mut fields);)+
                let kind = Kind::tuple([$($U::kind()),+]);
                to.push(with(|b| sure(b.stage.tuple(&fields, Some(&kind)))));
            }
        }
    )*};
}
cotangent_tuples! {
    (A T 0) (A T 0 B U 1) (A T 0 B U 1 C V 2) (A T 0 B U 1 C V 2 D W 3) (A T 0 B U 1 C V 2 D W 3 E X 4)
    (A T 0 B U 1 C V 2 D W 3 E X 4 F Y 5)
}

/// The cotangents of all inputs of a rule with several.
#[derive(Debug)]
pub struct Inputs<T>(PhantomData<fn() -> T>);

/// The value of a pullback.
pub fn give_cotangents<B>(x: impl Cotangent<B>) {
    let mut fields = Vec::new();
    x.push(&mut fields);
    with(|b| {
        let values: Vec<Value> = fields
            .iter()
            .filter_map(|g| match g {
                Given::Value(v) => Some(*v),
                _ => None,
            })
            .collect();
        let kind = b.stage.result().clone();
        let tuple = b.stage.b.tuple(&values, kind);
        b.stage.b.ret(tuple);
    });
}
