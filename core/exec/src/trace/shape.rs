//! Arguments and results of recorded functions: numbers, and tuples, arrays and structs of them.

use num_complex::Complex;

use crate::{
    entity::Value,
    exec::Datum,
    ir::{Element, Kind, Op},
    scalar::{MapNumbers, NestedNumbers, NestedValues, Ordered, Scalar},
};

use super::{
    build,
    error::TraceError,
    expr::{ComplexExpr, Expr},
    lower::ExprLowering,
    node::Sym,
    traced::{PathLog, Traced},
};

/// Expressions in the shape of a value.
#[derive(Clone)]
pub struct Tree(pub(super) TreeNode);

#[derive(Clone)]
pub(super) enum TreeNode {
    Number(Sym),
    Array(Element, Vec<Sym>),
    Tuple { name: Option<String>, fields: Vec<(Option<String>, TreeNode)> },
}

impl std::fmt::Debug for Tree {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0.kind())
    }
}

impl Tree {
    /// Creates a tuple.
    #[must_use]
    pub fn tuple(fields: Vec<Tree>) -> Tree {
        Tree(TreeNode::Tuple {
            name: None,
            fields: fields.into_iter().map(|t| (None, t.0)).collect(),
        })
    }
    /// Creates a struct.
    #[must_use]
    pub fn structure(name: &str, fields: Vec<(&str, Tree)>) -> Tree {
        let fields = fields.into_iter().map(|(n, t)| (Some(n.to_owned()), t.0)).collect();
        Tree(TreeNode::Tuple { name: Some(name.to_owned()), fields })
    }
    /// Creates an array if all elements are numbers of one kind, else a tuple.
    #[must_use]
    pub fn array(elements: Vec<Tree>) -> Tree {
        let numbers: Option<Vec<Sym>> = elements
            .iter()
            .map(|t| match &t.0 {
                TreeNode::Number(sym) => Some(sym.clone()),
                _ => None,
            })
            .collect();
        let kind = |s: &Sym| Element::from_kind(&s.kind());
        match numbers {
            Some(all) if all.iter().all(|s| kind(s) == all.first().and_then(kind)) => {
                let element = all.first().and_then(kind).unwrap_or(Element::Real);
                Tree(TreeNode::Array(element, all))
            }
            _ => Tree::tuple(elements),
        }
    }
}

impl TreeNode {
    pub(super) fn kind(&self) -> Kind {
        match self {
            TreeNode::Number(sym) => sym.kind(),
            TreeNode::Array(element, _) => Kind::Array(*element),
            TreeNode::Tuple { name: Some(name), fields } => Kind::structure(
                name,
                fields
                    .iter()
                    .map(|(n, b)| (n.clone().unwrap_or_default(), b.kind()))
                    .collect::<Vec<_>>(),
            ),
            TreeNode::Tuple { name: None, fields } => {
                Kind::tuple(fields.iter().map(|(_, b)| b.kind()))
            }
        }
    }

    pub(super) fn leaves(&self) -> Vec<Sym> {
        match self {
            TreeNode::Number(sym) => vec![sym.clone()],
            TreeNode::Array(_, all) => all.clone(),
            TreeNode::Tuple { fields, .. } => fields.iter().flat_map(|(_, b)| b.leaves()).collect(),
        }
    }

    /// Binds the numbers in it to the parts of a value.
    pub(super) fn bind(&self, lowering: &mut ExprLowering, value: Value) {
        match self {
            TreeNode::Number(sym) => lowering.bind(sym, value),
            TreeNode::Array(_, all) => {
                for (k, sym) in all.iter().enumerate() {
                    let index = lowering.b.int(k as i64);
                    let v = lowering.b.get(value, index);
                    lowering.bind(sym, v);
                }
            }
            TreeNode::Tuple { fields, .. } => {
                for (k, (_, field)) in fields.iter().enumerate() {
                    let v = lowering.b.field(value, k);
                    field.bind(lowering, v);
                }
            }
        }
    }

    /// Lowers its numbers to a value.
    pub(super) fn lower(&self, lowering: &mut ExprLowering) -> Result<Value, TraceError> {
        match self {
            TreeNode::Number(sym) => lowering.value(sym),
            TreeNode::Array(_, all) => {
                let items = lowering.values(all)?;
                Ok(lowering.b.inst(Op::Array, &items, self.kind()))
            }
            TreeNode::Tuple { fields, .. } => {
                let items: Vec<Value> =
                    fields.iter().map(|(_, f)| f.lower(lowering)).collect::<Result<_, _>>()?;
                Ok(lowering.b.tuple(&items, self.kind()))
            }
        }
    }
}

/// Result of a recorded function: expressions, tuples, arrays, lists and structs of them, or a
/// `Result`.
pub trait Output {
    /// Returns the expressions in it.
    ///
    /// # Errors
    /// It is an error itself.
    fn tree(&self) -> Result<Tree, TraceError>;
}

/// Argument of a recorded function: expressions, and tuples, arrays and structs of them.
pub trait Input: Output + Sized {
    /// Creates inputs of that shape.
    fn fresh(name: &str) -> Self;
    /// Creates inputs under several names: a tuple gives one to each of its fields.
    fn fresh_all(names: &[&str]) -> Self {
        Self::fresh(names.first().copied().unwrap_or_default())
    }
}

/// Values at which a function is recorded: numbers, and tuples, arrays, lists and structs of them.
pub trait Valued<R: Ordered>: NestedNumbers<R> {
    /// Type of the same shape on [`Traced`] numbers.
    type Traced: Output;
    #[doc(hidden)]
    fn traced_all(&self, names: &[&str], session: &Session) -> Self::Traced;
    /// Returns the values as the arguments of a program.
    fn datum(&self) -> Datum<Complex<R>>;
}

impl<R: Ordered, V: NestedNumbers<R>> Valued<R> for V
where
    V::Map<Traced<R>>: Output,
{
    type Traced = V::Map<Traced<R>>;
    fn traced_all(&self, names: &[&str], session: &Session) -> V::Map<Traced<R>> {
        self.map_named(names, &mut Inputs(&session.0))
    }
    fn datum(&self) -> Datum<Complex<R>> {
        datum(self.values())
    }
}

/// Makes inputs of a recording out of numbers.
struct Inputs<'a>(&'a PathLog);

impl<R: Ordered> MapNumbers<R> for Inputs<'_> {
    type Out = Traced<R>;
    fn real(&mut self, x: &R, name: &str) -> Traced<R> {
        Traced::input(x.clone(), Expr::fresh(name), self.0)
    }
    fn complex(&mut self, z: &Complex<R>, name: &str) -> Complex<Traced<R>> {
        let e = Complex::<Expr>::fresh(name);
        let input = |x: &R, e| Traced::input(x.clone(), e, self.0);
        Complex::new(input(&z.re, e.re), input(&z.im, e.im))
    }
}

/// Returns numbers as the argument of a program.
fn datum<R: Ordered>(values: NestedValues<R>) -> Datum<Complex<R>> {
    match values {
        NestedValues::Real(x) => Datum::Real(x),
        NestedValues::Complex(z) => Datum::Complex(z),
        NestedValues::List(items) => data(items.into_iter().map(datum).collect()),
        NestedValues::Tuple(items) => Datum::Tuple(items.into_iter().map(datum).collect()),
    }
}

/// A recording that is going on.
#[derive(Clone, Default)]
#[doc(hidden)]
pub struct Session(pub(super) PathLog);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Session")
    }
}

fn one(sym: &Sym) -> Result<Tree, TraceError> {
    Ok(Tree(TreeNode::Number(sym.clone())))
}

impl Output for Expr {
    fn tree(&self) -> Result<Tree, TraceError> {
        one(&self.0)
    }
}
impl Input for Expr {
    fn fresh(name: &str) -> Expr {
        Expr(Sym::local(name, Kind::Real))
    }
}
impl Output for ComplexExpr {
    fn tree(&self) -> Result<Tree, TraceError> {
        one(&self.0)
    }
}
impl Input for ComplexExpr {
    fn fresh(name: &str) -> ComplexExpr {
        ComplexExpr(Sym::local(name, Kind::Complex))
    }
}

impl Output for Complex<Expr> {
    fn tree(&self) -> Result<Tree, TraceError> {
        one(&build::complex(self.re.0.clone(), self.im.0.clone()))
    }
}
/// Complex input, split at once: the rest is arithmetic on real numbers.
impl Input for Complex<Expr> {
    fn fresh(name: &str) -> Complex<Expr> {
        let z = ComplexExpr::fresh(name);
        Complex::new(z.re(), z.im())
    }
}

impl<R: Ordered> Output for Traced<R> {
    fn tree(&self) -> Result<Tree, TraceError> {
        self.expr().tree()
    }
}
impl<R: Ordered> Output for Complex<Traced<R>> {
    fn tree(&self) -> Result<Tree, TraceError> {
        Complex::new(self.re.expr().clone(), self.im.expr().clone()).tree()
    }
}

impl<T: Output> Output for Result<T, TraceError> {
    fn tree(&self) -> Result<Tree, TraceError> {
        self.as_ref().map_err(Clone::clone)?.tree()
    }
}

fn array<T: Output>(items: &[T]) -> Result<Tree, TraceError> {
    Ok(Tree::array(items.iter().map(Output::tree).collect::<Result<_, _>>()?))
}

/// Returns the values of an array: of a program's own array kind where they are numbers, else of a
/// tuple.
fn data<R: Ordered>(items: Vec<Datum<Complex<R>>>) -> Datum<Complex<R>> {
    let reals: Option<Vec<R>> = items.iter().map(|d| d.real().cloned()).collect();
    let complexes: Option<Vec<Complex<R>>> = items.iter().map(|d| d.complex().cloned()).collect();
    match (reals, complexes) {
        (Some(xs), _) => Datum::reals(xs),
        (None, Some(zs)) => Datum::complexes(zs),
        _ => Datum::Tuple(items),
    }
}

impl<T: Output, const N: usize> Output for [T; N] {
    fn tree(&self) -> Result<Tree, TraceError> {
        array(self)
    }
}
impl<T: Input, const N: usize> Input for [T; N] {
    fn fresh(name: &str) -> [T; N] {
        std::array::from_fn(|k| T::fresh(&format!("{name}[{k}]")))
    }
}
impl<T: Output> Output for Vec<T> {
    fn tree(&self) -> Result<Tree, TraceError> {
        array(self)
    }
}

macro_rules! tuples {
    ($($(($T:ident $k:tt))+;)*) => {$(
        impl<$($T: Output),+> Output for ($($T,)+) {
            fn tree(&self) -> Result<Tree, TraceError> { Ok(Tree::tuple(vec![$(self.$k.tree()?),+])) }
        }
        impl<$($T: Input),+> Input for ($($T,)+) {
            fn fresh(name: &str) -> Self { ($($T::fresh(&format!("{name}.{}", $k)),)+) }
            fn fresh_all(names: &[&str]) -> Self {
                match names {
                    [one] => Self::fresh(one),
                    _ => ($($T::fresh(names.get($k).copied().unwrap_or_default()),)+),
                }
            }
        }
    )*};
}
tuples! {
    (A 0);
    (A 0) (B 1);
    (A 0) (B 1) (C 2);
    (A 0) (B 1) (C 2) (D 3);
    (A 0) (B 1) (C 2) (D 3) (E 4);
    (A 0) (B 1) (C 2) (D 3) (E 4) (F 5);
}

/// Lets a struct that is generic over its numbers be an input and a result of recorded functions.
///
/// ```
/// use ketgrad_core::{recordable, scalar::Scalar, trace::{Expr, trace}};
///
/// struct Point<S> { x: S, y: S }
/// recordable!(Point { x, y });
///
/// let swap = trace("swap", &["p"], |p: Point<Expr>| Point { x: p.y, y: p.x })?;
/// assert_eq!(swap.program().functions.values().next().map(|f| f.result.to_string()),
///     Some("Point{x: real, y: real}".into()));
/// # Ok::<(), ketgrad_core::trace::TraceError>(())
/// ```
#[macro_export]
macro_rules! recordable {
    ($Name:ident { $($field:ident),+ $(,)? }) => {
        impl<S: $crate::trace::Output> $crate::trace::Output for $Name<S> {
            fn tree(&self) -> Result<$crate::trace::Tree, $crate::trace::TraceError> {
                let fields = vec![$((stringify!($field), self.$field.tree()?)),+];
                Ok($crate::trace::Tree::structure(stringify!($Name), fields))
            }
        }
        impl<S: $crate::trace::Input> $crate::trace::Input for $Name<S> {
            fn fresh(name: &str) -> Self {
                $Name { $($field: S::fresh(&format!("{name}.{}", stringify!($field)))),+ }
            }
        }
        impl<R: $crate::scalar::Ordered, S: $crate::scalar::NestedNumbers<R>> $crate::scalar::NestedNumbers<R> for $Name<S> {
            type Map<U> = $Name<S::Map<U>>;
            fn map_numbers<F: $crate::scalar::MapNumbers<R>>(&self, name: &str, f: &mut F) -> Self::Map<F::Out> {
                $Name { $($field: self.$field.map_numbers(&format!("{name}.{}", stringify!($field)), f)),+ }
            }
            fn values(&self) -> $crate::scalar::NestedValues<R> {
                $crate::scalar::NestedValues::Tuple(vec![$(self.$field.values()),+])
            }
        }
    };
}
