//! Expansion of statements: variables, assignment, parameters, `return`, calls.

use super::*;

/// Returns the value of an expression as a handle that no assignment changes.
pub fn bind<X: Bind>(x: X) -> X::Out {
    let given = x.given(None);
    X::Out::of(with(|b| {
        let v = sure(b.stage.value(given).map(StagedOperand::Value));
        b.node(Node::Given(v))
    }))
}

/// Writes `let x = e;`.
pub fn declare<X: Bind>(x: X) -> X::Out {
    let given = x.given(None);
    variable(given)
}

/// Writes `let x: T = e;`.
pub fn declare_as<T: Handle, X: Fit<T>>(x: X) -> T {
    let given = fitted::<T>(x);
    variable(given)
}

fn variable<T: Handle>(given: StagedOperand) -> T {
    T::of(with(|b| match b.stage.declare(given) {
        Ok(v) => b.node(Node::Variable(v)),
        Err(_) => b.node(Node::Given(StagedOperand::Nothing)),
    }))
}

/// Returns a value as one of kind `T`.
pub(in crate::program) fn fitted<T: Handle>(x: impl Fit<T>) -> StagedOperand {
    let kind = T::kind();
    let given = x.given(Some(&kind));
    with(|b| sure(b.stage.fit(given, &kind).map(StagedOperand::Value)))
}

/// The value to be assigned: computed before the place it goes to.
#[derive(Clone, Copy, Debug)]
pub struct New<T>(StagedOperand, PhantomData<fn() -> T>);

/// `… = e`, of kind `T`.
pub fn new<T: Handle>(x: impl Fit<T>) -> New<T> {
    New(x.given(Some(&T::kind())), PhantomData)
}

/// Assignment to a variable or a field. It borrows mutably, so that rustc asks for `let mut` where
/// that is missing.
pub trait Assign: Handle {
    /// Writes `x = new`.
    fn __assign(&mut self, new: New<Self>) {
        if let Some(node) = self.handle() {
            with(|b| b.assign(node, &[], None, new.0));
        }
    }
}
impl<T: Handle> Assign for T {}

impl<E: Shape<Staged = Ex<E>>> Ex<Array<E>> {
    /// Writes `xs[i] = new` or `xs[i] op= new`; `xs[(i, j)]` is meant by indices.
    pub fn __assign_element(
        &mut self,
        i: impl Indices,
        op: Option<InfixOperator>,
        new: New<Ex<E>>,
    ) {
        let i = i.indices();
        with(|b| b.assign(self.node, &i, op, new.0));
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

/// Bound that a `match` fails.
#[diagnostic::on_unimplemented(
    message = "program!: there is no `match`: write `if … {{ … }} else if … {{ … }} else {{ … }}`",
    label = "no `match` over this"
)]
pub trait Matched {}
/// Marks the location of a `match`.
pub fn there_is_no_match(_: impl Matched) {}

/// Returns a parameter of the function under construction.
pub fn param<K: Shape>(k: usize) -> K::Staged {
    let value = with(|b| b.stage.b.param(k));
    variable(StagedOperand::Value(value))
}

/// Writes `return e;`, and the value of the body.
pub fn give<T: Handle>(x: impl Fit<T>) {
    let given = fitted::<T>(x);
    with(|b| {
        if let StagedOperand::Value(v) = given {
            b.stage.b.ret(v);
        }
    });
}

/// Writes a call of a function or a primitive of the program.
#[track_caller]
pub fn call<T: Handle>(path: &'static str, args: &[StagedOperand]) -> T {
    here();
    T::of(with(|b| {
        let op = b.module.callees.get(path).map(|callee| match callee {
            Callee::Function(f) => Op::Call(*f),
            Callee::Primitive(p) => Op::Primitive(*p),
        });
        let value = op.map_or(StagedOperand::Nothing, |op| called(b, op, args, &T::kind()));
        b.node(Node::Given(value))
    }))
}

/// Writes a call of a transform of a function, which gives a `K`.
#[track_caller]
pub fn transform<K: Shape>(
    path: &'static str,
    transform: Transform,
    args: &[StagedOperand],
) -> K::Staged {
    here();
    let at = Location::caller();
    K::Staged::of(with(|b| {
        let at = Position::new(at.line(), at.column());
        let f = b.module.transformed(path, transform, at);
        let value = f.map_or(StagedOperand::Nothing, |f| called(b, Op::Call(f), args, &K::kind()));
        b.node(Node::Given(value))
    }))
}

fn called(b: &mut Building, op: Op, args: &[StagedOperand], result: &Kind) -> StagedOperand {
    let values: Vec<Value> = args
        .iter()
        .filter_map(|a| match a {
            StagedOperand::Value(v) => Some(*v),
            _ => None,
        })
        .collect();
    StagedOperand::Value(b.stage.b.inst(op, &values, result.clone()))
}

/// The argument of a call: its value now; it is fitted when all are known.
#[derive(Debug)]
pub struct Argument(StagedOperand, Kind);

/// Returns an argument for a parameter of kind `T`.
pub fn argument<T: Handle>(x: impl Fit<T>) -> Argument {
    let kind = T::kind();
    Argument(x.given(Some(&kind)), kind)
}

/// Returns all arguments, each of the kind of its parameter.
#[track_caller]
pub fn arguments(all: &[Argument]) -> Vec<StagedOperand> {
    here();
    all.iter().map(|a| with(|b| sure(b.stage.fit(a.0, &a.1).map(StagedOperand::Value)))).collect()
}
