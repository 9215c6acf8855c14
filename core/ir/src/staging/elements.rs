//! Elementwise application of a function of numbers that is called with arrays.
//!
//! ```text
//! f(xs, y)   becomes   let mut zs = zeros in the shape of xs;
//!                      for i in 0..len(xs) { zs[i] = f(xs[i], y); }
//! ```
//!
//! Arrays of different shapes are broadcast to their common one, like the operands of `+`; an int
//! is the same for all elements, like the exponent of `powi`. The loop is an ordinary one, so that
//! all derivatives of `f` exist.

use crate::{
    entity::{FuncId, Value},
    ir::{ArrayOp, Element, Kind, Mixed, Op, Param, Program},
};

use super::{StagedOperand, StagingBuilder, TypeMismatch};

/// Returns the kind of the result of a function of numbers where some of its arguments are arrays;
/// `None` for a function whose parameters or result are not numbers.
#[must_use]
pub(crate) fn elementwise_result(params: &[Kind], result: &Kind) -> Option<Kind> {
    let is_number = |kind: &Kind| Element::from_kind(kind).is_some();
    let element = Element::from_kind(result).filter(|e| *e != Element::Int)?;
    (!params.is_empty() && params.iter().all(is_number)).then_some(Kind::Array(element))
}

/// Adds a function that maps a function of numbers over arrays, for parameters of the given kinds:
/// arrays in place of real or complex numbers. `None` if the kinds are not of that form.
///
/// ```
/// use ketgrad_core::{exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost}, ir::{Element, Kind}, staging, text::parse_program};
///
/// let mut program = parse_program("fn f(x, y) { x / (1.0 + y * y) }")?;
/// let f = program.lookup("f").unwrap();
/// let over = staging::over_arrays(&mut program, f, &[Kind::Array(Element::Real), Kind::Real]).unwrap();
/// let code = Bytecode::compile(&program, over)?;
/// let y = code.call(&mut Machine::<f64>::new(), &NoHost, &Limits::default(), &[Datum::reals([2.0, 3.0]), Datum::Real(1.0)])?;
/// assert_eq!(y, Datum::reals([1.0, 1.5]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn over_arrays(program: &mut Program, f: FuncId, params: &[Kind]) -> Option<FuncId> {
    let of = &program.functions[f];
    let numbers: Vec<Kind> = of.params.iter().map(|p| p.kind.clone()).collect();
    let result = elementwise_result(&numbers, &of.result)?;
    let fits = |(number, given): (&Kind, &Kind)| given == number || is_array_of(given, number);
    let all = numbers.len() == params.len() && numbers.iter().zip(params).all(fits);
    if !all || numbers == params {
        return None;
    }
    let named =
        of.params.iter().zip(params).map(|(p, kind)| Param::new(&p.name, kind.clone())).collect();
    let (name, number) = (format!("{}.over", of.name), of.result.clone());
    let mut stage = StagingBuilder::new(program.fresh_name(&name), named, result);
    let args: Vec<StagedOperand> =
        stage.b.params().iter().map(|v| StagedOperand::Value(*v)).collect();
    let value = stage.elementwise(Op::Call(f), &numbers, &number, &args).ok()?;
    stage.b.ret(value);
    Some(program.add(stage.finish()))
}

/// Returns true for an array of real or complex numbers of the kind.
fn is_array_of(kind: &Kind, number: &Kind) -> bool {
    *number != Kind::Int && Element::from_kind(number).is_some_and(|e| *kind == Kind::Array(e))
}

impl StagingBuilder {
    /// Calls a function of numbers once for each element of the arrays among its arguments, which
    /// are numbers or arrays of the kinds of `params`. Its result must be a real or complex number.
    ///
    /// # Errors
    /// If an argument is neither a number nor an array of the kind.
    pub(crate) fn elementwise(
        &mut self,
        op: Op,
        params: &[Kind],
        result: &Kind,
        args: &[StagedOperand],
    ) -> Result<Value, TypeMismatch> {
        let mut values = Vec::with_capacity(params.len());
        for (k, (given, kind)) in args.iter().zip(params).enumerate() {
            let value = if *kind == Kind::Int {
                self.fit(*given, kind)
            } else {
                self.fit_element(*given, kind)
            };
            values.push(value.map_err(|e| e.at_operand(k))?);
        }
        let mut args = values;
        let arrays: Vec<usize> =
            (0..args.len()).filter(|&k| matches!(self.b.kind(args[k]), Kind::Array(_))).collect();
        let form = self.common_shape(&arrays.iter().map(|&k| args[k]).collect::<Vec<_>>())?;
        if arrays.len() > 1 {
            for &k in &arrays {
                args[k] = self.spread(args[k], form);
            }
        }
        let zero = self.b.zero(result);
        let zeros = self.spread(zero, form);
        let whole = self.b.kind(zeros).clone();
        let sum = self.b.declare(whole.clone());
        self.b.define(sum, zeros);
        let count = self.b.inst(Op::Len, &[form], Kind::Int);
        let counter =
            self.begin_for(StagedOperand::Literal(0), StagedOperand::Value(count), false)?;
        let i = counter.value;
        let mut numbers = args.clone();
        for &k in &arrays {
            numbers[k] = self.b.get(args[k], i);
        }
        let y = self.b.inst(op, &numbers, result.clone());
        let so_far = self.b.use_variable(sum);
        let next = self.b.inst(Op::Set, &[so_far, i, y], whole);
        self.b.define(sum, next);
        self.end_for(counter);
        Ok(self.b.use_variable(sum))
    }

    /// Returns an array of real numbers of the broadcast shape of all these arrays; its elements do
    /// not matter.
    fn common_shape(&mut self, arrays: &[Value]) -> Result<Value, TypeMismatch> {
        let mut form: Option<Value> = None;
        for &array in arrays {
            let real = match self.b.kind(array) {
                Kind::Array(Element::Complex) => self.b.mixed(Mixed::Re, &[array]),
                _ => array,
            };
            // A comparison: it has no derivative, and accepts numbers that are not finite.
            form = Some(form.map_or(real, |form| self.b.on_arrays(ArrayOp::Step, &[form, real])));
        }
        form.ok_or_else(TypeMismatch::nothing)
    }

    /// Broadcasts a number or an array, real or complex, to the shape of a real array.
    fn spread(&mut self, x: Value, form: Value) -> Value {
        let is_complex = matches!(self.b.kind(x), Kind::Complex | Kind::Array(Element::Complex));
        let form = if is_complex { self.b.mixed(Mixed::Promote, &[form]) } else { form };
        self.b.on_arrays(ArrayOp::BroadcastTo, &[x, form])
    }
}
