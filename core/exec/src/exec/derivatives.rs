//! Values and derivatives of one function of a program, on one scalar.
//!
//! ```
//! use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
//!
//! let program = parse_program("fn f(a, b) { a / (a + b * b) }")?;
//! let mut f = Derivatives::<f64>::new(&program, "f")?;
//! let (y, gradient) = f.value_and_gradient(&[Datum::Real(2.0), Datum::Real(3.0)])?;
//! assert_eq!((y, gradient[0].real()), (2.0 / 11.0, Some(&(9.0 / 121.0))));
//!
//! // Prepared once, called often: no allocation, no search.
//! let mut prepared = f.prepare()?;
//! let mut gradient = [0.0; 2];
//! assert_eq!(prepared.gradient(&[2.0, 3.0], &mut gradient)?, 2.0 / 11.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Everything is compiled when it is first used, and kept. The program is passed as it was written;
//! its functions are optimised before and after they are differentiated, at the [`Level`] given.

use std::sync::Arc;

use crate::{
    adjoint::{self, Reverse},
    array::{ArrayError, MAX_ELEMENTS, Shape},
    cancel::CancellationToken,
    entity::FuncId,
    ir::{Kind, Op, Position, Program, ShapeAssumptions, check_shapes, verify_reachable},
    notation::nearest_name,
    pass::{Level, optimize_all},
    scalar::{Real, Scalar},
};

use super::{
    Bytecode, CallError, DeriveError, Executable, Host, Limits, Machine, NoHost, RunError,
    batched_tangents::{BatchedTangents, MAX_BATCHED_BYTES, batches},
    compile::TapeProvenance,
    compiled_derivative::{CompileOptions, CompiledDerivative, Derive, ShapeCache, known},
    data::Datum,
    host_with_constants::{BoundConstants, HostWithConstants},
    prepared::Prepared,
    tangents::{check_cotangent, check_tangents, count, flatten, seeded, split, whole},
};

/// Largest difference between the two orders of a second derivative, relative to the largest one:
/// more than rounding in `f32` causes.
const ASYMMETRY: f64 = 1e-4;

/// Largest difference relative to the value and the first derivatives, for second derivatives that
/// cancel.
const ROUNDING: f64 = 1e-6;

/// A (co)tangent for each parameter that has one, in order.
pub type Gradient<S> = Vec<Datum<S>>;

/// A function of a program, its derivatives, and the memory to run them.
pub struct Derivatives<'h, S: Scalar> {
    pub(super) program: Program,
    pub(super) f: FuncId,
    pub(super) level: Level,
    pub(super) host: Arc<dyn Host<S> + 'h>,
    pub(super) constants: BoundConstants<S>,
    pub(super) limits: Limits,
    pub(super) machine: Machine<S>,
    value: Option<CompiledDerivative>,
    gradient: Option<CompiledDerivative>,
    pullback: Option<CompiledDerivative>,
    pushforward: Option<CompiledDerivative>,
    second: Option<CompiledDerivative>,
    gauss_newton: Option<CompiledDerivative>,
    pub(super) split: Option<Arc<(Bytecode, Bytecode)>>,
    /// Pushforwards in two parts.
    pub(super) linearized: ShapeCache<Option<Arc<[Bytecode; 2]>>>,
    pub(super) batched: BatchedTangents,
    #[cfg(feature = "jit")]
    jit: bool,
}

/// A copy shares the host and the code that was compiled so far; it has memory of its own, so that
/// each thread may have a copy.
impl<S: Scalar> Clone for Derivatives<'_, S> {
    fn clone(&self) -> Self {
        Derivatives {
            program: self.program.clone(),
            f: self.f,
            level: self.level,
            host: self.host.clone(),
            constants: self.constants.clone(),
            limits: self.limits,
            machine: self.machine.another(),
            value: self.value.clone(),
            gradient: self.gradient.clone(),
            pullback: self.pullback.clone(),
            pushforward: self.pushforward.clone(),
            second: self.second.clone(),
            gauss_newton: self.gauss_newton.clone(),
            split: self.split.clone(),
            linearized: self.linearized.clone(),
            batched: BatchedTangents::new(&self.machine),
            #[cfg(feature = "jit")]
            jit: self.jit,
        }
    }
}

impl<S: Scalar> std::fmt::Debug for Derivatives<'_, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Derivatives of {}", self.program.functions[self.f].name)
    }
}

impl<'h, T: Real, S: Scalar<Real = T>> Derivatives<'h, S> {
    /// Creates the derivatives of the function of the given name. It and all it reaches is
    /// [verified](verify_reachable), and shapes are [checked](check_shapes) as far as they are
    /// known.
    ///
    /// # Errors
    /// There is no function of that name, the program is not well formed, or shapes in it do not
    /// fit.
    pub fn new(program: &Program, name: &str) -> Result<Derivatives<'h, S>, DeriveError> {
        let f = find(program, name)?;
        verify_reachable(program, f).map_err(Box::new)?;
        if let Some(error) = check_shapes(program, f, &[]).into_iter().next() {
            return Err(error.into());
        }
        Ok(Derivatives {
            program: program.clone(),
            f,
            level: Level::default(),
            host: Arc::new(NoHost),
            constants: Vec::new(),
            limits: Limits::default(),
            machine: Machine::new(),
            value: None,
            gradient: None,
            pullback: None,
            pushforward: None,
            second: None,
            gauss_newton: None,
            split: None,
            linearized: ShapeCache::new(),
            batched: BatchedTangents::new(&Machine::<S>::new()),
            #[cfg(feature = "jit")]
            jit: false,
        })
    }

    /// Checks the shapes of the parameters, as far as they are known; `None` for a number too.
    ///
    /// # Errors
    /// Shapes that follow from them do not fit: the first place, in the words of the error at run
    /// time.
    pub fn with_shapes(self, shapes: &[Option<&[usize]>]) -> Result<Self, DeriveError> {
        let shapes: Vec<Option<Shape>> = shapes.iter().map(|s| s.map(Shape::from_slice)).collect();
        match check_shapes(&self.program, self.f, &shapes).into_iter().next() {
            Some(error) => Err(error.into()),
            None => Ok(self),
        }
    }

    /// Sets the host that computes the program's primitives: a reference to one, or an [`Arc`] of
    /// it, with which nothing is borrowed.
    #[must_use]
    pub fn with_host(mut self, host: impl Host<S> + 'h) -> Self {
        self.host = Arc::new(host);
        self
    }

    /// Sets the limits.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        if limits.array != self.limits.array {
            // Specialised code depends on it.
            self.forget();
        }
        self.limits = limits;
        self
    }

    /// Sets a token that ends runs early: it is checked before each run and, during a run, every
    /// 2^20 steps and after each operation on arrays. The work of a host has a token of its own.
    ///
    /// ```
    /// use ketgrad_core::{cancel::{CancellationToken, is_cancelled}, exec::Derivatives, text::parse_program};
    ///
    /// let program = parse_program("fn f() { let mut x = 1.0; while x > 0 { x = 1 / x; } x }")?;
    /// let looks = std::sync::atomic::AtomicUsize::new(0);
    /// let token = CancellationToken::when(move || looks.fetch_add(1, std::sync::atomic::Ordering::Relaxed) > 3);
    /// let error = Derivatives::<f64>::new(&program, "f")?.with_cancellation(token).value(&[]).unwrap_err();
    /// assert!(is_cancelled(&error));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Self {
        self.machine = self.machine.with_cancellation(token);
        self.batched = BatchedTangents::new(&self.machine);
        self
    }

    /// Sets the level of optimisation.
    #[must_use]
    pub fn with_level(mut self, level: Level) -> Self {
        self.level = level;
        self
    }

    /// Compiles everything from now on to [machine code](Bytecode::jit); if real numbers are not
    /// `f64`, nothing changes. It pays its compilation (half a millisecond for a short function,
    /// about ten for a thousand instructions) for functions that are called often or loop over
    /// numbers.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
    ///
    /// let source = "fn f(x, n: int) { let mut y = x; for i in 0..n { y = y * y - 0.5; } y }";
    /// let program = parse_program(source)?;
    /// let mut f = Derivatives::<f64>::new(&program, "f")?.with_jit();
    /// let (y, gradient) = f.value_and_gradient(&[Datum::Real(0.5), Datum::Int(2)])?;
    /// assert_eq!((y, gradient[0].real()), (-0.4375, Some(&-0.5)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[cfg(feature = "jit")]
    #[must_use]
    pub fn with_jit(mut self) -> Self {
        self.jit = std::any::TypeId::of::<T>() == std::any::TypeId::of::<f64>();
        self
    }

    /// Creates the derivatives of another function of such a program, with the same host, level and
    /// limits, but `times` as many steps.
    pub(super) fn sibling(
        &self,
        program: &Program,
        name: &str,
        times: usize,
    ) -> Result<Self, DeriveError> {
        let times = u64::try_from(times).unwrap_or(u64::MAX);
        let Limits { steps, work, .. } = self.limits;
        let (steps, work) = (steps.saturating_mul(times), work.saturating_mul(times));
        let limits = Limits { steps, work, ..self.limits };
        let new = Derivatives::new(program, name)?;
        let new = new.with_level(self.level).with_limits(limits);
        #[cfg(feature = "jit")]
        let new = Derivatives { jit: self.jit, ..new };
        let machine = self.machine.another();
        Ok(Derivatives {
            host: self.host.clone(),
            constants: self.constants.clone(),
            machine,
            ..new
        })
    }

    /// Drops the compiled code.
    pub(super) fn forget(&mut self) {
        (self.value, self.gradient, self.pullback, self.pushforward) = (None, None, None, None);
        (self.second, self.gauss_newton, self.split) = (None, None, None);
        self.linearized = ShapeCache::new();
        self.batched.forget();
    }

    /// Returns the bytes that are kept from call to call: registers, and the trace that a pullback
    /// reads. They grow as a run needs it and are used again.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.machine.memory()
    }

    /// Gives that memory back.
    pub(super) fn release(&mut self) {
        self.machine = self.machine.another();
    }

    /// Returns the program, with the derivatives that were made so far.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the function.
    #[must_use]
    pub fn function(&self) -> FuncId {
        self.f
    }

    /// Returns the text of the function, optimised at the level given.
    #[must_use]
    pub fn ir(&self) -> String {
        let mut program = self.program.clone();
        optimize_all(&mut program, self.f, self.level);
        program.print(self.f)
    }

    /// Returns the texts of the primal and the adjoint, and of the gradient (or pullback) made of
    /// both, optimised.
    ///
    /// # Errors
    /// It cannot be differentiated.
    pub fn adjoint(&self) -> Result<Vec<String>, DeriveError> {
        let mut program = self.optimized();
        let Reverse { primal, adjoint } = adjoint::reverse(&mut program, self.f)?;
        let whole = match program.functions[self.f].result {
            Kind::Real => adjoint::gradient(&mut program, self.f)?,
            _ => adjoint::value_and_pullback(&mut program, self.f)?,
        };
        Ok([primal, adjoint, whole]
            .map(|id| {
                optimize_all(&mut program, id, self.level);
                program.print(id)
            })
            .into())
    }

    /// Returns the optimised program with the function and its gradient (or pullback, where the
    /// result is no real number) for an emitter.
    ///
    /// # Errors
    /// It cannot be differentiated.
    pub fn derivative(&self) -> Result<(Program, FuncId), DeriveError> {
        let mut program = self.optimized();
        let derivative = match program.functions[self.f].result {
            Kind::Real => adjoint::gradient(&mut program, self.f)?,
            _ => adjoint::value_and_pullback(&mut program, self.f)?,
        };
        optimize_all(&mut program, derivative, self.level);
        Ok((program, derivative))
    }

    /// Returns the program of [`derivative`](Derivatives::derivative) of a real function, and its
    /// second derivative along a direction:
    /// `(x…, x_dot…) -> ((value, gradients…), their change along x_dot)`.
    ///
    /// # Errors
    /// The result is no real number, or it cannot be differentiated twice.
    pub fn second_derivative(&self) -> Result<(Program, [FuncId; 2]), DeriveError> {
        let mut program = self.optimized();
        let gradient = adjoint::gradient(&mut program, self.f)?;
        let both = [gradient, adjoint::forward(&mut program, gradient)?];
        both.iter().for_each(|id| optimize_all(&mut program, *id, self.level));
        Ok((program, both))
    }

    /// Computes the value.
    ///
    /// # Errors
    /// The arguments do not fit, or the program fails.
    pub fn value(&mut self, args: &[Datum<S>]) -> Result<Datum<S>, DeriveError> {
        self.run(|d| &mut d.value, |_, f| Ok(f), args)
    }

    /// Computes the value and the gradient by each parameter that has one.
    ///
    /// # Errors
    /// The result is no real number, an op has no rule, the arguments do not fit, or the program
    /// fails.
    pub fn value_and_gradient(
        &mut self,
        args: &[Datum<S>],
    ) -> Result<(T, Vec<Datum<S>>), DeriveError> {
        let result = self.run(|d| &mut d.gradient, adjoint::gradient, args)?;
        let (value, gradient) = split(result, args)?;
        match value {
            Datum::Real(y) => Ok((y, gradient)),
            other => Err(CallError::Undefined { name: other.describe() }.into()),
        }
    }

    /// Computes the gradient by each parameter that has one.
    ///
    /// # Errors
    /// Those of [`value_and_gradient`](Derivatives::value_and_gradient).
    pub fn gradient(&mut self, args: &[Datum<S>]) -> Result<Vec<Datum<S>>, DeriveError> {
        Ok(self.value_and_gradient(args)?.1)
    }

    /// Computes the value, and the cotangents of the parameters for a cotangent `y_bar` of the
    /// result.
    ///
    /// # Errors
    /// An op has no rule, the arguments do not fit, or the program fails.
    pub fn vjp(
        &mut self,
        args: &[Datum<S>],
        y_bar: Datum<S>,
    ) -> Result<(Datum<S>, Vec<Datum<S>>), DeriveError> {
        let mut all = args.to_vec();
        all.push(y_bar);
        let result = self.run(|d| &mut d.pullback, adjoint::value_and_pullback, &all)?;
        let (value, bars) = split(result, args)?;
        if let Some(y_bar) = all.last() {
            check_cotangent(y_bar, &value)?;
        }
        Ok((value, bars))
    }

    /// Computes the value, and its tangent for tangents of the parameters that have one.
    ///
    /// # Errors
    /// An op has no rule, the arguments do not fit, or the program fails.
    pub fn jvp(
        &mut self,
        args: &[Datum<S>],
        dots: &[Datum<S>],
    ) -> Result<(Datum<S>, Datum<S>), DeriveError> {
        check_tangents(args, dots)?;
        let all: Vec<Datum<S>> = args.iter().chain(dots).cloned().collect();
        let result = self.run(|d| &mut d.pushforward, adjoint::forward, &all)?;
        let mut fields = result.fields().to_vec();
        let value = if fields.is_empty() { Datum::Tuple(vec![]) } else { fields.remove(0) };
        let dot = whole(fields.pop().unwrap_or(Datum::Tuple(vec![])), &value)?;
        Ok((value, dot))
    }

    /// Computes the same as [`jvp`](Derivatives::jvp).
    ///
    /// # Errors
    /// Those of [`jvp`](Derivatives::jvp).
    pub fn pushforward(
        &mut self,
        args: &[Datum<S>],
        dots: &[Datum<S>],
    ) -> Result<(Datum<S>, Datum<S>), DeriveError> {
        self.jvp(args, dots)
    }

    /// Computes the gradient and its change along tangents of the parameters: a Hessian-vector
    /// product, by forward over reverse.
    ///
    /// # Errors
    /// Those of [`value_and_gradient`](Derivatives::value_and_gradient).
    pub fn hvp(
        &mut self,
        args: &[Datum<S>],
        dots: &[Datum<S>],
    ) -> Result<(Gradient<S>, Gradient<S>), DeriveError> {
        check_tangents(args, dots)?;
        let all: Vec<Datum<S>> = args.iter().chain(dots).cloned().collect();
        let result = self.run(|d| &mut d.second, adjoint::hessian_vector, &all)?;
        self.gradients(args, result)
    }

    /// Products with several tangents.
    pub(super) fn hvps(
        &mut self,
        args: &[Datum<S>],
        sets: &[Vec<Datum<S>>],
    ) -> Result<Vec<Gradient<S>>, DeriveError> {
        // After its first run there is code, and its memory is known.
        if let Some(mut code) = self.second.take() {
            let all: Vec<Datum<S>> =
                args.iter().chain(sets.first().into_iter().flatten()).cloned().collect();
            let found = code.code(&all);
            self.second = Some(code);
            if let Some(results) = self.run_batched(&*found?, false, args, sets) {
                return results.into_iter().map(|y| Ok(self.gradients(args, y)?.1)).collect();
            }
        }
        sets.iter().map(|dots| Ok(self.hvp(args, dots)?.1)).collect()
    }

    fn gradients(
        &self,
        args: &[Datum<S>],
        result: Datum<S>,
    ) -> Result<(Gradient<S>, Gradient<S>), DeriveError> {
        let part =
            |k: usize| split(result.fields().get(k).cloned().unwrap_or(Datum::Tuple(vec![])), args);
        Ok((part(0)?.1, part(1)?.1))
    }

    /// Computes `J^H J` times tangents of the parameters, with the Jacobian `J` of the function:
    /// the Gauss-Newton product, which takes the place of the Hessian of `|f|^2 / 2` where
    /// residuals are small. One pushforward and one pullback.
    ///
    /// ```
    /// use ketgrad_core::{exec::{Datum, Derivatives}, text::parse_program};
    ///
    /// let program = parse_program("fn residuals(a, b) { [a * b, a - 1, 2 * b] }")?;
    /// let mut f = Derivatives::<f64>::new(&program, "residuals")?;
    /// // J = [[b, a], [1, 0], [0, 2]] at (2, 3)
    /// let products = f.gauss_newton(&[Datum::Real(2.0), Datum::Real(3.0)], &[Datum::Real(1.0), Datum::Real(0.0)])?;
    /// assert_eq!(products, [Datum::Real(10.0), Datum::Real(6.0)]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`vjp`](Derivatives::vjp).
    pub fn gauss_newton(
        &mut self,
        args: &[Datum<S>],
        dots: &[Datum<S>],
    ) -> Result<Vec<Datum<S>>, DeriveError> {
        check_tangents(args, dots)?;
        let all: Vec<Datum<S>> = args.iter().chain(dots).cloned().collect();
        let result = self.run(|d| &mut d.gauss_newton, adjoint::gauss_newton, &all)?;
        Ok(split(result, args)?.1)
    }

    /// Computes the Hessian by all real numbers among the arguments, in order, those in arrays and
    /// tuples included, a complex number as two: n Hessian-vector products.
    ///
    /// # Errors
    /// Those of [`value_and_gradient`](Derivatives::value_and_gradient), and
    /// [`DeriveError::Asymmetric`] if a rule makes second derivatives depend on their order.
    pub fn hessian(&mut self, args: &[Datum<S>]) -> Result<Vec<Vec<T>>, DeriveError> {
        let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
        let n: usize = zeros.iter().map(count).sum();
        let (bytes, limit) =
            (n.saturating_mul(n).saturating_mul(size_of::<T>()), self.limits.memory);
        if bytes > limit {
            let source = ArrayError::Memory { bytes, used: 0, limit };
            return Err(RunError::Array { at: Position::default(), source }.into());
        }
        let mut rows = Vec::with_capacity(n);
        for columns in batches(n, true) {
            let seeds = |k: usize| {
                let mut members = (0..n).map(|j| j == k);
                zeros.iter().map(|d| seeded(d, &mut members)).collect()
            };
            let sets: Vec<Vec<Datum<S>>> = columns.map(seeds).collect();
            for column in self.hvps(args, &sets)? {
                let mut row = Vec::with_capacity(n);
                column.iter().for_each(|d| flatten(d, &mut row));
                rows.push(row);
            }
        }
        let below = (0..rows.len()).flat_map(|i| (0..=i).map(move |j| (i, j)));
        self.check_symmetry(args, below, |i, j| rows.get(i).and_then(|row| row.get(j)))?;
        Ok(rows)
    }

    /// Returns an error if rules in the program make second derivatives depend on their order, at
    /// some entries of a Hessian, of which `known` returns those that are known. Otherwise it costs
    /// one comparison for each entry.
    pub(super) fn check_symmetry<'t>(
        &mut self,
        args: &[Datum<S>],
        places: impl Iterator<Item = (usize, usize)>,
        known: impl Fn(usize, usize) -> Option<&'t T>,
    ) -> Result<(), DeriveError>
    where
        T: 't,
    {
        let (mut largest, mut worst) = (0f64, (0.0, 0, 0));
        for (row, column) in places {
            let value = |i, j| known(i, j).and_then(T::primal).filter(|x| x.is_finite());
            let (Some(one), Some(other)) = (value(row, column), value(column, row)) else {
                continue;
            };
            largest = largest.max(one.abs()).max(other.abs());
            if (one - other).abs() > worst.0 {
                worst = ((one - other).abs(), row, column);
            }
        }
        let (apart, row, column) = worst;
        if apart <= f64::EPSILON + ASYMMETRY * largest {
            return Ok(());
        }
        let rules = self.rules();
        // Rounding errors of second derivatives that cancel are small compared with the gradient
        // and the value.
        let (value, gradient) = self.value_and_gradient(args)?;
        let mut first = vec![value];
        gradient.iter().for_each(|d| flatten(d, &mut first));
        let first = first.iter().filter_map(T::primal).filter(|x| x.is_finite());
        if rules.is_empty() || apart <= ROUNDING * first.map(f64::abs).fold(0.0, f64::max) {
            return Ok(());
        }
        let shown =
            |i, j| known(i, j).and_then(T::primal).map(|x| format!("{x:?}")).unwrap_or_default();
        let (one, other) = (shown(row, column), shown(column, row));
        Err(DeriveError::Asymmetric { row, column, one, other, rules })
    }

    /// Returns the names of the functions and primitives whose derivatives are not those of a body.
    fn rules(&self) -> Vec<String> {
        let mut names = Vec::new();
        for f in self.program.reachable(self.f) {
            let function = &self.program.functions[f];
            if self.program.rule(f).is_some_and(|r| r.pullback.or(r.pushforward).is_some()) {
                names.push(function.name.clone());
            }
            for inst in function.insts.values() {
                if let Op::Primitive(p) = inst.op
                    && let primitive = &self.program.primitives[p]
                    && primitive.pullback.or(primitive.pushforward).is_some()
                    && !names.contains(&primitive.name)
                {
                    names.push(primitive.name.clone());
                }
            }
        }
        names
    }

    /// Prepares a gradient to be called often.
    ///
    /// # Errors
    /// The result is no real number, or an op has no rule.
    pub fn prepare(&mut self) -> Result<Prepared<'h, S>, DeriveError> {
        let mut code = self.derived(adjoint::gradient);
        let general = code.general()?;
        let parts =
            (self.host.clone(), self.constants.clone(), self.limits, self.machine.another());
        Ok(Prepared::new(code, general, parts))
    }

    /// Returns the program with the function and all it calls optimised. A function with a rule of
    /// its own keeps it.
    pub(super) fn optimized(&self) -> Program {
        let mut program = self.program.clone();
        optimize_all(&mut program, self.f, self.level);
        program
    }

    pub(super) fn derived(&self, derive: Derive) -> CompiledDerivative {
        let held = self.program.primitives.iter().filter_map(|(id, p)| {
            let (_, value) = self.constants.iter().find(|(name, _)| *name == p.name)?;
            Some((id, known(value)))
        });
        let limit = self.limits.array.min(MAX_ELEMENTS);
        let given =
            ShapeAssumptions { limit, primitives: held.collect(), ..ShapeAssumptions::default() };
        CompiledDerivative::new(&self.program, self.f, derive, self.compile_options(), given)
    }

    pub(super) fn compile_options(&self) -> CompileOptions {
        CompileOptions {
            level: self.level,
            order: T::ORDER,
            tapes: TapeProvenance::Unknown,
            #[cfg(feature = "jit")]
            jit: self.jit,
        }
    }

    /// Runs a derivative, which is compiled at its first use.
    fn run(
        &mut self,
        place: fn(&mut Self) -> &mut Option<CompiledDerivative>,
        derive: Derive,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, DeriveError> {
        if place(self).is_none() {
            *place(self) = Some(self.derived(derive));
        }
        let Some(derived) = place(self) else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        let code = derived.code(args)?;
        let host = HostWithConstants { host: &*self.host, constants: &self.constants };
        Ok(code.call(&mut self.machine, &host, &self.limits, args)?)
    }

    /// Runs code for several tangents or cotangents [at once](BatchedTangents::run), if the memory
    /// of a single run allows that.
    pub(super) fn run_batched(
        &mut self,
        code: &Bytecode,
        reads: bool,
        args: &[Datum<S>],
        sets: &[Vec<Datum<S>>],
    ) -> Option<Vec<Datum<S>>> {
        if self.machine.memory() > MAX_BATCHED_BYTES {
            return None;
        }
        self.batched.run(code, reads, &self.constants, &self.limits, args, sets)
    }
}

/// Returns the function of the given name.
pub(super) fn find(program: &Program, name: &str) -> Result<FuncId, DeriveError> {
    program.lookup(name).ok_or_else(|| {
        let nearest = nearest_name(name, program.functions.values().map(|f| &f.name));
        DeriveError::Unknown { name: name.into(), nearest: nearest.cloned() }
    })
}
