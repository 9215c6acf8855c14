//! Implicit differentiation: derivatives of a solution by the equation that it solves.
//!
//! A function `x = root(p…)` that iterates until `residual(x, p…) = 0` need not be differentiated
//! through its iterations. If the Jacobian `A = d residual / d x` is regular, the implicit function
//! theorem yields
//!
//! ```text
//! pushforward:  x_dot = - A^-1 (d residual / d p) p_dot
//! pullback:     p_bar = - (d residual / d p)^T A^-T x_bar
//! ```
//!
//! at the solution, independently of the iterations: no tape of them, and no truncation error of
//! the last step. Both are functions of the program again, so derivatives of any order follow.

use crate::{
    entity::{FuncId, Value},
    ir::{ArrayOp, CustomRule, Element, Kind, Number1, Number2, Op, Param, Program},
    staging::{StagedOperand, StagingBuilder},
};

use super::{DiffError, error::check, forward, value_and_pullback};

/// Makes `root` a function whose calls are differentiated by the equation
/// `residual(root(p…), p…) = 0`, instead of through its body.
///
/// `residual` takes the solution and then the parameters of `root`, and returns as many numbers as
/// the solution has. The solution is a real number or an array of real numbers; for an array of `n`
/// numbers the Jacobian takes `n` pullbacks of the residual, and a system of `n` equations is
/// solved.
///
/// ```
/// use ketgrad_core::{adjoint::implicit, exec::{Datum, Derivatives}, text::parse_program};
///
/// // Kepler's equation E - e sin E = M, by bisection: through the loop it has no derivative at all.
/// let source = "
///     fn kepler(e, m) {
///         let mut low = m - 1; let mut high = m + 1;
///         for k in 0..60 {
///             let mid = 0.5 * (low + high);
///             if mid - e * sin(mid) > m { high = mid; } else { low = mid; }
///         }
///         0.5 * (low + high)
///     }
///     fn residual(x, e, m) { x - e * sin(x) - m }
///     fn height(e, m) { sin(kepler(e, m)) }";
/// let mut program = parse_program(source)?;
/// let (root, residual) = (program.lookup("kepler").unwrap(), program.lookup("residual").unwrap());
/// implicit(&mut program, root, residual)?;
///
/// let mut height = Derivatives::<f64>::new(&program, "height")?;
/// let (y, gradient) = height.value_and_gradient(&[Datum::Real(0.5), Datum::Real(1.0)])?;
/// let x = y.asin(); // dE/de = sin E / (1 - e cos E)
/// let by_e = x.cos() * x.sin() / (1.0 - 0.5 * x.cos());
/// assert!((gradient[0].real().unwrap() - by_e).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the signatures do not fit together, the solution is neither a real number nor an array of
/// real numbers, or the residual cannot be differentiated. The program is then unchanged.
pub fn implicit(program: &mut Program, root: FuncId, residual: FuncId) -> Result<(), DiffError> {
    check(program, root)?;
    check(program, residual)?;
    let mut changed = program.clone();
    let equation = Equation::new(&mut changed, root, residual)?;
    let pullback = equation.pullback(&mut changed);
    let pushforward = equation.pushforward(&mut changed);
    let rule = CustomRule {
        pullback: Some(pullback),
        pushforward: Some(pushforward),
        non_differentiable: false,
    };
    changed.set_rule(root, rule);
    *program = changed;
    Ok(())
}

/// `residual(x, p…) = 0`, with its derivatives.
struct Equation {
    root: FuncId,
    /// The parameters of the root.
    params: Vec<Param>,
    solution: Kind,
    /// `(x, p…, r_bar) -> (r, x_bar, p_bar…)`
    back: FuncId,
    /// `(x, p…, x_dot, p_dot…) -> (r, r_dot)`
    along: FuncId,
}

impl Equation {
    fn new(program: &mut Program, root: FuncId, residual: FuncId) -> Result<Equation, DiffError> {
        let (f, g) = (&program.functions[root], &program.functions[residual]);
        let solution = f.result.clone();
        let params = f.params.clone();
        let expected = std::iter::once(&solution).chain(params.iter().map(|p| &p.kind));
        let fits = g.result == solution && g.params.iter().map(|p| &p.kind).eq(expected);
        if !fits || !matches!(solution, Kind::Real | Kind::Array(Element::Real)) {
            let signature =
                |kinds: Vec<Kind>, result: &Kind| format!("{} -> {result}", Kind::tuple(kinds));
            let given = signature(g.params.iter().map(|p| p.kind.clone()).collect(), &g.result);
            let of_root = signature(params.iter().map(|p| p.kind.clone()).collect(), &solution);
            let (root, residual) = (f.name.clone(), g.name.clone());
            return Err(DiffError::Equation { root, of_root, residual, given });
        }
        if !params.iter().any(|p| p.kind.is_differentiable()) {
            return Err(DiffError::NoInputs { function: f.name.clone() });
        }
        let back = value_and_pullback(program, residual)?;
        let along = forward(program, residual)?;
        Ok(Equation { root, params, solution, back, along })
    }

    fn tangents(&self) -> impl Iterator<Item = (&Param, Kind)> {
        self.params.iter().filter_map(|p| Some((p, p.kind.tangent()?)))
    }

    /// Builds `(p…, x, x_bar) -> p_bar…`.
    fn pullback(&self, program: &mut Program) -> FuncId {
        let name = program.fresh_name(&format!("{}.pullback", program.functions[self.root].name));
        let n = self.params.len();
        let mut params = self.params.clone();
        params.extend(["x", "x_bar"].map(|name| Param::new(name, self.solution.clone())));
        let bars = Kind::tuple(self.tangents().map(|(_, kind)| kind));
        let mut s = StagingBuilder::new(name, params, bars.clone());
        let inputs = s.b.params().to_vec();
        let (args, x, x_bar) = (&inputs[..n], inputs[n], inputs[n + 1]);
        let r_bar = self.solved(program, &mut s, x, args, x_bar, true);
        let all = self.pulled(program, &mut s, x, args, r_bar);
        let parts: Vec<Value> =
            (0..self.tangents().count()).map(|k| s.b.field(all, k + 2)).collect();
        let result = s.b.tuple(&parts, bars);
        s.b.ret(result);
        program.add(s.finish())
    }

    /// Builds `(p…, p_dot…) -> x_dot`.
    fn pushforward(&self, program: &mut Program) -> FuncId {
        let name =
            program.fresh_name(&format!("{}.pushforward", program.functions[self.root].name));
        let n = self.params.len();
        let mut params = self.params.clone();
        params.extend(self.tangents().map(|(p, kind)| Param::new(format!("{}_dot", p.name), kind)));
        let mut s = StagingBuilder::new(name, params, self.solution.clone());
        let inputs = s.b.params().to_vec();
        let (args, dots) = inputs.split_at(n);
        let x = s.b.inst(Op::Call(self.root), args, self.solution.clone());
        let zero = s.b.zero(&self.solution);
        let all: Vec<Value> = std::iter::once(x)
            .chain(args.iter().copied())
            .chain([zero])
            .chain(dots.iter().copied())
            .collect();
        let kind = program.functions[self.along].result.clone();
        let both = s.b.inst(Op::Call(self.along), &all, kind);
        let r_dot = s.b.field(both, 1);
        let x_dot = self.solved(program, &mut s, x, args, r_dot, false);
        s.b.ret(x_dot);
        program.add(s.finish())
    }

    /// Calls the pullback of the residual: `(r, x_bar, p_bar…)`.
    fn pulled(
        &self,
        program: &Program,
        s: &mut StagingBuilder,
        x: Value,
        args: &[Value],
        r_bar: Value,
    ) -> Value {
        let all: Vec<Value> =
            std::iter::once(x).chain(args.iter().copied()).chain([r_bar]).collect();
        s.b.inst(Op::Call(self.back), &all, program.functions[self.back].result.clone())
    }

    /// Computes `- A^-1 y`, or `- A^-T y`.
    fn solved(
        &self,
        program: &Program,
        s: &mut StagingBuilder,
        x: Value,
        args: &[Value],
        y: Value,
        transposed: bool,
    ) -> Value {
        if self.solution == Kind::Real {
            let one = s.b.real(1.0);
            let all = self.pulled(program, s, x, args, one);
            let slope = s.b.field(all, 1);
            let quotient = s.b.number2(Number2::Div, y, slope);
            return s.b.number1(Number1::Neg, quotient);
        }
        // Row i of A is the pullback of the i-th unit vector.
        let kind = self.solution.clone();
        let empty = s.b.zero(&kind);
        let rows = s.b.declare(kind.clone());
        s.b.define(rows, empty);
        let n = s.b.inst(Op::Len, &[x], Kind::Int);
        // Two ints bound a counted loop.
        if let Ok(counter) = s.begin_for(StagedOperand::Literal(0), StagedOperand::Value(n), false)
        {
            let one = s.b.real(1.0);
            let unit = s.b.inst(Op::AddAt, &[empty, counter.value, one], kind);
            let unit = s.b.on_arrays(ArrayOp::ReshapeLike, &[unit, x]);
            let all = self.pulled(program, s, x, args, unit);
            let row = s.b.field(all, 1);
            let row = s.b.on_arrays(ArrayOp::ReshapeLike, &[row, x]);
            let row = flat(s, row, &[n]);
            let zero = s.b.int(0);
            let before = s.b.use_variable(rows);
            let after = s.b.on_arrays(ArrayOp::Concat, &[before, row, zero]);
            s.b.define(rows, after);
            s.end_for(counter);
        }
        let rows = s.b.use_variable(rows);
        let jacobian = flat(s, rows, &[n, n]);
        let y = s.b.on_arrays(ArrayOp::ReshapeLike, &[y, x]);
        let y = flat(s, y, &[n]);
        let op = if transposed { ArrayOp::SolveAdjoint } else { ArrayOp::Solve };
        let solved = s.b.on_arrays(op, &[jacobian, y]);
        let negative = s.b.number1(Number1::Neg, solved);
        s.b.on_arrays(ArrayOp::ReshapeLike, &[negative, x])
    }
}

/// Reshapes the elements.
fn flat(s: &mut StagingBuilder, x: Value, lengths: &[Value]) -> Value {
    let shape = s.b.inst(Op::Array, lengths, Kind::Array(Element::Int));
    s.b.on_arrays(ArrayOp::Reshape, &[x, shape])
}
