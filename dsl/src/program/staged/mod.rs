//! The values that the staged body of a `program!` computes with: handles whose operators write
//! instructions.
//!
//! While `f::ir()` runs, a [`StagingBuilder`] is under construction (one for each call in progress,
//! on a stack of this thread), and the body of `f` runs once, from top to bottom. An [`Ex`] is
//! `Copy` and names what it represents: a variable, a field of another handle, or a value. It is
//! read when an operator uses it, so that a variable gives what it holds at that moment.
//!
//! The meaning of the language is decided by [`StagingBuilder`], as for program text; the types
//! here only let rustc see kinds. They are those of the values on `f64`: `Ex<f64>` is a real
//! number, `Ex<i64>` an int.
//!
//! Operators and methods are `#[track_caller]`: an instruction has the position where the user's
//! expression begins. What the macro itself writes (a comparison, a new element, a loop's counter,
//! a constant) takes the place of the instruction before it: rustc gives a call the place of its
//! words only if all of them, the operator too, are the user's; else that of `program!`. A
//! comparison cannot be pasted as the user wrote it, because Rust's `<` gives a `bool`, which could
//! not be told from `true` where a comparison is not allowed.

mod arrays;
mod builtins;
mod operators;
mod rules;
mod statements;

pub use arrays::*;
pub use builtins::*;
pub use operators::*;
pub use rules::*;
pub use statements::*;

use std::{cell::RefCell, collections::HashMap, marker::PhantomData, panic::Location};

use num_complex::Complex;

use ketgrad_core::{
    adjoint::{Transform, TransformError, TransformRegistry},
    array::Array,
    entity::{FuncId, PrimitiveId, Value, Variable},
    ir::{Function, Kind, Mixed, Number1, Number2, Op, Position, Program, Real1, Real2},
    staging::{Builtin, InfixOperator, StagedOperand, StagingBuilder, TypeMismatch},
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

/// Node that a handle refers to.
#[derive(Clone, Copy, Debug)]
enum Node {
    Given(StagedOperand),
    Variable(Variable),
    /// A field of a tuple or a struct.
    Field(u32, usize),
}

/// Target of a call by name.
#[derive(Clone, Copy, Debug)]
pub enum Callee {
    /// A function of the program.
    Function(FuncId),
    /// A primitive of it.
    Primitive(PrimitiveId),
}

/// The program on its way.
#[derive(Debug, Default)]
pub struct Module {
    /// Program that holds the functions.
    pub program: Program,
    /// Functions that can be called, by the path of their definition.
    pub callees: HashMap<&'static str, Callee>,
    /// The transforms of functions that bodies call.
    pub transforms: TransformRegistry,
    /// The first of them that a function does not have.
    pub error: Option<TransformError>,
}

impl Module {
    /// Returns a transform of the function with that path.
    pub fn transformed(
        &mut self,
        path: &str,
        transform: Transform,
        at: Position,
    ) -> Option<FuncId> {
        let Some(&Callee::Function(of)) = self.callees.get(path) else { return None };
        match self.transforms.declare(&mut self.program, of, transform, at) {
            Ok(id) => Some(id),
            Err(e) => {
                self.error.get_or_insert(e);
                None
            }
        }
    }
}

/// A function under construction.
pub(super) struct Building {
    pub(super) stage: StagingBuilder,
    nodes: Vec<Node>,
    module: Module,
}

thread_local! {
    static BUILDING: RefCell<Vec<Building>> = const { RefCell::new(Vec::new()) };
}

/// Runs `f` on the function under construction. Outside of `ir()` there are no handles, so none is
/// asked for.
pub(super) fn with<T>(f: impl FnOnce(&mut Building) -> T) -> T {
    BUILDING.with_borrow_mut(|stack| {
        if stack.is_empty() {
            stack.push(Building::new(
                StagingBuilder::new("", vec![], Kind::Real),
                Module::default(),
            ));
        }
        let top = stack.len() - 1;
        f(&mut stack[top])
    })
}

/// Writes a function: `body` runs once.
pub(super) fn build(stage: StagingBuilder, module: &mut Module, body: impl FnOnce()) -> Function {
    BUILDING.with_borrow_mut(|stack| stack.push(Building::new(stage, std::mem::take(module))));
    body();
    match BUILDING.with_borrow_mut(Vec::pop) {
        Some(b) => {
            *module = b.module;
            b.stage.finish()
        }
        None => StagingBuilder::new("", vec![], Kind::Real).finish(),
    }
}

impl Building {
    fn new(stage: StagingBuilder, module: Module) -> Building {
        Building { stage, nodes: Vec::new(), module }
    }
    fn node(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).unwrap_or(u32::MAX)
    }
    /// Returns the current value of a handle.
    fn read(&mut self, node: u32) -> StagedOperand {
        match self.nodes.get(node as usize) {
            Some(Node::Given(given)) => *given,
            Some(Node::Variable(v)) => self.stage.read(*v),
            Some(&Node::Field(of, k)) => {
                let of = self.read(of);
                sure(self.stage.field(of, k))
            }
            None => StagedOperand::Nothing,
        }
    }
    fn n_fields(&self, node: u32) -> usize {
        fn kind(b: &Building, node: u32) -> Option<Kind> {
            match b.nodes.get(node as usize)? {
                Node::Given(given) => b.stage.kind(*given),
                Node::Variable(v) => Some(b.stage.b.variable_kind(*v).clone()),
                Node::Field(of, k) => kind(b, *of)?.fields().get(*k).map(|f| f.kind.clone()),
            }
        }
        kind(self, node).map_or(0, |k| k.fields().len())
    }
    /// `node = value` or `node op= value`, with an index if an element is meant.
    fn assign(
        &mut self,
        node: u32,
        index: &[StagedOperand],
        op: Option<InfixOperator>,
        value: StagedOperand,
    ) {
        let (mut path, mut at) = (Vec::new(), node);
        while let Some(&Node::Field(of, k)) = self.nodes.get(at as usize) {
            path.push(k);
            at = of;
        }
        let Some(&Node::Variable(variable)) = self.nodes.get(at as usize) else { return };
        let mut place = self.stage.assignment_target(variable);
        for k in path.into_iter().rev() {
            sure(self.stage.into_field(&mut place, k));
        }
        match index {
            [] => {}
            [i] => sure(self.stage.into_element(&mut place, *i)),
            indices => sure(self.stage.into_element_at(&mut place, indices)),
        }
        sure(self.stage.assign(place, op, value));
    }
}

/// Placeholder for a value that is missing.
pub(super) trait Missing {
    fn missing() -> Self;
}
impl Missing for () {
    fn missing() {}
}
impl Missing for StagedOperand {
    fn missing() -> StagedOperand {
        StagedOperand::Nothing
    }
}

/// The types of handles leave nothing that does not fit.
pub(super) fn sure<T: Missing>(result: Result<T, TypeMismatch>) -> T {
    result.unwrap_or_else(|misfit| {
        debug_assert!(false, "rustc let pass: {misfit}");
        T::missing()
    })
}

/// Sets the location of what follows to that of the caller.
#[track_caller]
pub(super) fn here() {
    let at = Location::caller();
    with(|b| b.stage.b.set_position(Position::new(at.line(), at.column())));
}

/// Type that can be used as a value: handles, literals, and tuples, arrays and structs of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of a program",
    label = "expected a number, an int, a bool, an array, a tuple or a struct of the program"
)]
pub trait Operand {
    /// Returns the value; `hint` is the kind that it should have, for the literals in it.
    fn given(self, hint: Option<&Kind>) -> StagedOperand;
    /// Returns the handle that it is.
    fn handle(&self) -> Option<u32>;
    /// Returns the elements of what is written out, in row-major order, each of the kind `hint`,
    /// and their shape; itself, and no shape, if it is not.
    fn written(self, hint: Option<&Kind>) -> (Vec<StagedOperand>, Vec<usize>)
    where
        Self: Sized,
    {
        (vec![self.given(hint)], vec![])
    }
}

/// Type that variables hold: a handle, or a tuple or a struct of them.
pub trait Handle: Operand + Copy {
    /// Returns the handle to a node.
    fn of(node: u32) -> Self;
    /// Returns the kind of the value.
    fn kind() -> Kind;
}

/// Type that a variable initialised with it holds.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no value of a program",
    label = "expected a number, an int, a bool, an array, a tuple or a struct of the program"
)]
pub trait Bind: Operand {
    /// The kind of the variable.
    type Out: Handle;
}

/// Type that is accepted where a value of kind `T` is expected.
#[diagnostic::on_unimplemented(
    message = "expected a value of kind `{T}`, given `{Self}`",
    label = "this is `{Self}`",
    note = "an int meets a real number through `real(n)`; `re`, `im`, `abs` or `abs2` make a complex number real",
    note = "`Ex<f64>` is a real number, `Ex<i64>` an int; a function that returns something else says it: `fn f(x) -> (real, int) {{ … }}`"
)]
pub trait Fit<T>: Operand {}

impl<K: Shape<Staged = Ex<K>>> Operand for Ex<K> {
    fn given(self, _: Option<&Kind>) -> StagedOperand {
        with(|b| b.read(self.node))
    }
    fn handle(&self) -> Option<u32> {
        Some(self.node)
    }
}
impl<K: Shape<Staged = Ex<K>>> Operand for &Ex<K> {
    fn given(self, hint: Option<&Kind>) -> StagedOperand {
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
impl Fit<Ex<Array<Complex<f64>>>> for Ex<Array<f64>> {}
impl Fit<Ex<Array<Complex<f64>>>> for &Ex<Array<f64>> {}

/// Literals: their type, what they are to the stage, the kind of a variable that is one, and what
/// they fit.
macro_rules! literals {
    ($($T:ty: |$x:ident, $b:ident| $given:expr, $($Kind:ty),+;)*) => {$(
        impl Operand for $T {
            fn given(self, _: Option<&Kind>) -> StagedOperand {
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
    f64: |x, b| StagedOperand::Value(b.stage.b.real(x)), f64, Complex<f64>;
    i64: |x, _b| StagedOperand::Literal(x), i64, f64, Complex<f64>;
    bool: |x, b| StagedOperand::Value(b.stage.b.boolean(x)), bool;
}

impl<X: Operand, const M: usize> Operand for [X; M] {
    fn given(self, hint: Option<&Kind>) -> StagedOperand {
        let element = match hint {
            Some(Kind::Array(e)) => Some(*e),
            _ => None,
        };
        let (items, shape) = self.written(element.map(|e| e.kind()).as_ref());
        with(|b| {
            sure(match shape.as_slice() {
                [_] => b.stage.array(&items, element),
                shape => b.stage.matrix(&items, shape, element),
            })
        })
    }
    fn handle(&self) -> Option<u32> {
        None
    }
    fn written(self, hint: Option<&Kind>) -> (Vec<StagedOperand>, Vec<usize>) {
        let (mut items, mut shape) = (Vec::new(), vec![M]);
        for (k, x) in self.into_iter().enumerate() {
            let (more, inner) = x.written(hint);
            items.extend(more);
            if k == 0 {
                shape.extend(inner);
            }
        }
        (items, shape)
    }
}
impl<X: Bind<Out: Item>, const M: usize> Bind for [X; M] {
    type Out = <X::Out as Item>::Array;
}

/// Entry of a literal array: numbers, and arrays, which are stacked.
pub trait Item: Handle {
    /// The array.
    type Array: Handle;
}
macro_rules! items {
    ($($X:ty => $Array:ty;)*) => {$( impl Item for Ex<$X> { type Array = Ex<$Array>; } )*};
}
items! {
    f64 => Array<f64>; Complex<f64> => Array<Complex<f64>>; i64 => Array<i64>;
    Array<f64> => Array<f64>; Array<Complex<f64>> => Array<Complex<f64>>;
}
macro_rules! written {
    ($($E:ty)*) => {$(
        impl<X: Fit<Ex<$E>>, const M: usize> Fit<Ex<Array<$E>>> for [X; M] {}
    )*};
}
macro_rules! nested {
    ($($E:ty)*) => {$(
        impl<X: Fit<Ex<$E>>, const K: usize, const M: usize> Fit<Ex<Array<$E>>> for [[X; K]; M] {}
        impl<const M: usize> Fit<Ex<Array<$E>>> for [Ex<Array<$E>>; M] {}
    )*};
}
written! { f64 Complex<f64> i64 }
nested! { f64 Complex<f64> }

/// `[x; n]`
#[derive(Clone, Copy, Debug)]
pub struct Fill<X, M>(pub X, pub M);
impl<X: Operand, M: Fit<Ex<i64>>> Operand for Fill<X, M> {
    fn given(self, hint: Option<&Kind>) -> StagedOperand {
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
impl<X: Bind<Out: Item>, M: Fit<Ex<i64>>> Bind for Fill<X, M> {
    type Out = <X::Out as Item>::Array;
}
impl<E, X: Fit<Ex<E>>, M: Fit<Ex<i64>>> Fit<Ex<Array<E>>> for Fill<X, M> {}

/// `[row; n]`, where the row is written out.
#[derive(Clone, Copy, Debug)]
pub struct Rows<X, M>(pub X, pub M);
impl<X: Operand, M: Fit<Ex<i64>>> Operand for Rows<X, M> {
    fn given(self, hint: Option<&Kind>) -> StagedOperand {
        let element = match hint {
            Some(Kind::Array(e)) => Some(*e),
            _ => None,
        };
        let (row, n) = (self.0.given(None), self.1.given(None));
        with(|b| sure(b.stage.fill(row, n, element)))
    }
    fn handle(&self) -> Option<u32> {
        None
    }
}
impl<E: Single, X: Bind<Out = Ex<Array<E>>>, M: Fit<Ex<i64>>> Bind for Rows<X, M>
where
    Ex<Array<E>>: Handle,
{
    type Out = Ex<Array<E>>;
}
impl<E: Single, X: Fit<Ex<Array<E>>>, M: Fit<Ex<i64>>> Fit<Ex<Array<E>>> for Rows<X, M> {}

/// Returns the whole whose fields these handles are, in order and all of them.
pub fn whole(parts: &[Option<u32>]) -> Option<u32> {
    with(|b| {
        let mut of = None;
        for (k, part) in parts.iter().enumerate() {
            match b.nodes.get((*part)? as usize) {
                Some(Node::Field(p, field)) if *field == k && of.is_none_or(|o| o == *p) => {
                    of = Some(*p)
                }
                _ => return None,
            }
        }
        of.filter(|p| b.n_fields(*p) == parts.len())
    })
}

/// Returns the value of a handle.
pub fn read(node: u32) -> StagedOperand {
    with(|b| b.read(node))
}

/// Returns the handle to a field.
#[must_use]
pub fn field(node: u32, k: usize) -> u32 {
    with(|b| b.node(Node::Field(node, k)))
}

/// Returns a struct of its fields, in the order of its kind.
pub fn structure(kind: &Kind, fields: &[StagedOperand]) -> StagedOperand {
    with(|b| sure(b.stage.structure(kind, fields)))
}

macro_rules! tuples {
    ($(($($T:ident $U:ident $k:tt)+))*) => {$(
        impl<$($T: Operand),+> Operand for ($($T,)+) {
            fn given(self, hint: Option<&Kind>) -> StagedOperand {
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

/// Returns the node of a value.
pub(super) fn node(given: StagedOperand) -> u32 {
    with(|b| b.node(Node::Given(given)))
}

/// Returns the handle to a value.
pub(super) fn value_of<K: Shape<Staged = Ex<K>>>(given: StagedOperand) -> Ex<K> {
    Ex::of(node(given))
}
