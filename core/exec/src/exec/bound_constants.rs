//! Parameters that are held at a value: no arguments any more, and nothing is differentiated by
//! them.
//!
//! ```text
//! fn f(x, w)                      fn f.held(x)
//! block0(v0: real, v1: array)  →  block0(v0: real)
//!     …                               v1: array = @f.w()       // a primitive, which the values held know
//! ```
//!
//! A value that depends on constants alone has no derivative, so its cotangents are never computed.

use smallvec::SmallVec;

use crate::{
    entity::FuncId,
    ir::{ENTRY, Function, FunctionBuilder, InstData, Op, Position, Primitive, Program},
    scalar::{Real, Scalar},
};

use super::{
    CallError, Derivatives, DeriveError, RunError, data::Datum,
    host_with_constants::HostWithConstants,
};

impl<T: Real, S: Scalar<Real = T>> Derivatives<'_, S> {
    /// Returns the host together with the bound constants.
    pub(super) fn host_with_constants(&self) -> HostWithConstants<'_, S> {
        HostWithConstants { host: &*self.host, constants: &self.constants }
    }

    /// Binds the parameter of that name to a value: it is no argument any more, and nothing is
    /// differentiated by it. For data, such as the points of a fit.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
    ///
    /// let source = "fn loss(a, b, x: array, y: array) { let r = a * x + b - y; sum(r * r) }";
    /// let program = parse_program(source)?;
    /// let mut loss = Derivatives::<f64>::new(&program, "loss")?
    ///     .with_constant("x", Datum::reals([0.0, 1.0, 2.0]))?
    ///     .with_constant("y", Datum::reals([1.0, 3.0, 5.0]))?;
    /// let gradient = loss.gradient(&[Datum::Real(2.0), Datum::Real(0.0)])?;
    /// assert_eq!(gradient, [Datum::Real(-6.0), Datum::Real(-6.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// There is no such parameter, or the value is of another kind.
    pub fn with_constant(mut self, name: &str, value: Datum<S>) -> Result<Self, DeriveError> {
        let function = &self.program.functions[self.f];
        let Some(k) = function.params.iter().position(|p| p.name == name) else {
            let (function, parameters) = (function.name.clone(), function.params.clone());
            let parameters = parameters.into_iter().map(|p| p.name).collect();
            return Err(DeriveError::NoParameter { name: name.to_owned(), function, parameters });
        };
        let kind = function.params[k].kind.clone();
        if !value.is(&kind) {
            let (function, parameter) = (function.name.clone(), name.to_owned());
            let given = value.describe();
            return Err(RunError::Call(CallError::Kind {
                function,
                parameter,
                expected: kind,
                given,
            })
            .into());
        }
        let primitive = self.program.fresh_name(&format!("{}.{name}", function.name));
        let held = Primitive {
            name: primitive.clone(),
            params: vec![],
            result: kind,
            pullback: None,
            pushforward: None,
        };
        let op = Op::Primitive(self.program.primitives.push(held));
        let mut f = entered(&self.program, self.f);
        let inst = InstData {
            op,
            args: SmallVec::new(),
            result: Some(f.blocks[ENTRY].params.remove(k)),
            at: Position::default(),
        };
        let inst = f.insts.push(inst);
        f.blocks[ENTRY].insts.insert(0, inst);
        f.params.remove(k);
        if self.constants.is_empty() {
            f.name = self.program.fresh_name(&format!("{}.held", f.name));
            self.f = self.program.add(f);
        } else {
            self.program.functions[self.f] = f;
        }
        self.constants.push((primitive, value));
        self.forget();
        Ok(self)
    }
}

/// Returns a function without a rule: a copy of `f`, or a caller of it.
fn entered(program: &Program, id: FuncId) -> Function {
    let f = &program.functions[id];
    let plain = f.is_defined() && program.rule(id).is_none();
    if plain {
        return f.clone();
    }
    FunctionBuilder::caller(f.name.clone(), f.params.clone(), f.result.clone(), Op::Call(id))
}
