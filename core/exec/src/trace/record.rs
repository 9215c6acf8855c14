//! [`trace`] and [`trace_at`]: a Rust function becomes a program.

use std::{collections::HashMap, fmt::Write};

use num_complex::Complex;

use crate::{
    entity::FuncId,
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost},
    ir::{Compare, Function, Kind, Mixed, Op, Param, Position, Program},
    scalar::{Ordered, Real, Scalar},
};

use super::{
    error::TraceError,
    lower::ExprLowering,
    node::{NodeKind, Sym, visit},
    print::{Printed, print},
    shape::{Input, Output, Session, TreeNode, Valued},
    traced::PathCondition,
};

/// A recorded function: a program, and how it came about.
#[derive(Clone)]
pub struct Recording {
    program: Program,
    function: FuncId,
    params: Vec<(String, TreeNode)>,
    result: TreeNode,
    conditions: Vec<PathCondition>,
    /// The real inputs in order, as floats.
    values: HashMap<u128, f64>,
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.compact())
    }
}

/// Records a function on symbols.
///
/// `names` names its parameters: with one name the argument is the parameter; with several the
/// argument is a tuple of as many. Functions that it calls are inlined, captured values are
/// constants; options are plain Rust values that it captures. A comparison has no result, see
/// [`trace_at`].
///
/// ```
/// use ketgrad_core::{exec::Datum, scalar::Scalar, trace::{Expr, trace}};
///
/// fn damped<S: Scalar>(x: &S, rate: &S, periods: i64) -> S {
///     (-(x * rate)).exp() * (x * S::int(periods)).cos()
/// }
/// let f = trace("damped", &["x", "rate"], |(x, rate): (Expr, Expr)| damped(&x, &rate, 3))?;
/// assert_eq!(f.compact(), "damped(x, rate) = exp(-x*rate)*cos(3*x)");
/// let (y, gradient) = f.derivatives::<f64>()?.value_and_gradient(&[Datum::Real(0.0), Datum::Real(2.0)])?;
/// assert_eq!((y, gradient), (1.0, vec![Datum::Real(-2.0), Datum::Real(0.0)]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// The names do not fit the argument, the function gives an error, or its result holds an input of
/// another recording.
pub fn trace<I: Input, O: Output>(
    name: &str,
    names: &[&str],
    f: impl FnOnce(I) -> O,
) -> Result<Recording, TraceError> {
    let input = I::fresh_all(names);
    let params = split(input.tree()?.0, name, names)?;
    let result = f(input).tree()?.0;
    Recording::new(name, params, result, Vec::new())
}

/// Records a function at given values: it may compare, and takes the branches that the values take.
///
/// The recording holds for all inputs for which its [conditions](Recording::conditions) do. It
/// checks them when it runs: elsewhere there is an error, never the value of the other branch.
/// `min`, `max` and `abs` are operations and no comparisons.
///
/// ```
/// use ketgrad_core::{exec::Datum, scalar::{Ordered, Scalar}, trace::{Traced, trace_at}};
///
/// fn clipped<T: Ordered>(x: &T) -> T {
///     x.min(&T::int(4))
/// }
/// let f = trace_at("f", &["x"], 1.5_f64, |x| clipped(&(&x * &x)))?;
/// assert_eq!(f.compact(), "f(x) = min(x*x, 4)");
/// assert_eq!(f.derivatives::<f64>()?.value(&[Datum::Real(3.0)])?, Datum::Real(4.0));
///
/// let f = trace_at("f", &["x"], 1.5_f64, |x: Traced<f64>| if x > Traced::lit(0.0) { &x * &x } else { -x })?;
/// assert_eq!(f.conditions()[0].to_string(), "x > 0");
/// assert!(f.holds(&0.5)? && !f.holds(&-0.5)?);
/// let error = f.derivatives::<f64>()?.gradient(&[Datum::Real(-0.5)]).unwrap_err().to_string();
/// assert!(error.contains("went on as a > b; now a is -0.5 and b is 0.0"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Those of [`trace`].
pub fn trace_at<R: Ordered, V: Valued<R>, O: Output>(
    name: &str,
    names: &[&str],
    values: V,
    f: impl FnOnce(V::Traced) -> O,
) -> Result<Recording, TraceError> {
    let session = Session::default();
    let input = values.traced_all(names, &session);
    let params = split(input.tree()?.0, name, names)?;
    let mut floats = Vec::new();
    flatten(&values.datum(), &mut floats);
    let result = f(input).tree()?.0;
    let mut recording = Recording::new(name, params, result, session.0.conditions())?;
    let leaves = recording.params.iter().flat_map(|(_, b)| b.leaves());
    recording.values = leaves.zip(floats).filter_map(|(s, x)| Some((s.key(), x?))).collect();
    Ok(recording)
}

/// Returns the parameters in an argument.
fn split(
    input: TreeNode,
    function: &str,
    names: &[&str],
) -> Result<Vec<(String, TreeNode)>, TraceError> {
    if let [name] = names {
        return Ok(vec![((*name).to_owned(), input)]);
    }
    let fields = match input {
        TreeNode::Tuple { fields, .. } => fields,
        one => vec![(None, one)],
    };
    if fields.len() != names.len() {
        let (name, given, expected) = (function.to_owned(), names.len(), fields.len());
        return Err(TraceError::Arity { name, given, expected });
    }
    Ok(names.iter().map(|n| (*n).to_owned()).zip(fields.into_iter().map(|f| f.1)).collect())
}

/// Collects the floats of a value, one for each leaf; `None` for a leaf that is not real.
fn flatten<R: Real>(d: &Datum<Complex<R>>, out: &mut Vec<Option<f64>>) {
    match d {
        Datum::Real(x) => out.push(x.primal()),
        Datum::Reals(xs) => out.extend(xs.iter().map(Real::primal)),
        Datum::Complexes(zs) => out.extend(zs.iter().map(|_| None)),
        Datum::Tuple(fields) => fields.iter().for_each(|f| flatten(f, out)),
        _ => out.push(None),
    }
}

impl Recording {
    fn new(
        name: &str,
        params: Vec<(String, TreeNode)>,
        result: TreeNode,
        conditions: Vec<PathCondition>,
    ) -> Result<Recording, TraceError> {
        let mut lowering = begin(name, &params)?;
        for c in &conditions {
            let sides = lowering.values(&[c.left.0.clone(), c.right.0.clone()])?;
            lowering.b.set_position(c.at);
            lowering.b.effect(Op::Expect(c.order), &sides);
            lowering.b.set_position(Position::default());
        }
        let value = result.lower(&mut lowering)?;
        let (program, function) = lowering.finish(value);
        Ok(Recording { program, function, params, result, conditions, values: HashMap::new() })
    }

    /// Returns the program: the function, and those that it calls.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Returns the program, to be edited with a [`Editor`](crate::ir::Editor).
    #[must_use]
    pub fn into_program(self) -> Program {
        self.program
    }

    /// Returns the function.
    #[must_use]
    pub fn function(&self) -> &Function {
        &self.program.functions[self.function]
    }

    /// Returns the comparisons that were decided during the recording, each once. The recording
    /// holds if they are decided the same; otherwise a run of it, or of its derivatives, is an
    /// error ([`RunError::Path`](crate::exec::RunError::Path)) at the first that is not.
    #[must_use]
    pub fn conditions(&self) -> &[PathCondition] {
        &self.conditions
    }

    /// Returns value, gradient and all other derivatives, on any scalar.
    ///
    /// # Errors
    /// Never for a recording as it was made.
    pub fn derivatives<S: Scalar>(&self) -> Result<Derivatives<'static, S>, TraceError> {
        Ok(Derivatives::new(&self.program, &self.function().name)?)
    }

    /// Returns true if all conditions hold at other values, so that the function would take the
    /// same path there.
    ///
    /// # Errors
    /// The values have another shape.
    pub fn holds<R: Ordered, V: Valued<R>>(&self, values: &V) -> Result<bool, TraceError> {
        let args = self.arguments(values)?;
        self.holds_at(&args)
    }

    pub(super) fn holds_at<R: Ordered>(
        &self,
        args: &[Datum<Complex<R>>],
    ) -> Result<bool, TraceError> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let (program, f) = self.path()?;
        let code = Bytecode::compile(&program, f).map_err(|e| TraceError::Run(e.into()))?;
        match code.call(&mut Machine::new(), &NoHost, &Limits::default(), args)? {
            Datum::Bool(holds) => Ok(holds),
            _ => Ok(false),
        }
    }

    /// Converts values to the arguments of the function.
    ///
    /// # Errors
    /// They have another shape.
    pub fn arguments<R: Ordered, V: Valued<R>>(
        &self,
        values: &V,
    ) -> Result<Vec<Datum<Complex<R>>>, TraceError> {
        let datum = values.datum();
        let args = match (self.params.len(), datum) {
            (1, one) => vec![one],
            (_, Datum::Tuple(fields)) => fields,
            (_, one) => vec![one],
        };
        if self.fits(&args) {
            return Ok(args);
        }
        let shape = |parts: Vec<String>| format!("({})", parts.join(", "));
        let given = shape(args.iter().map(Datum::describe).collect());
        let name = self.function().name.clone();
        Err(TraceError::Signature {
            name,
            given,
            expected: "values of the shape it was recorded with",
        })
    }

    /// Returns true if arguments have the shape of the parameters, lengths of arrays included.
    pub(super) fn fits<R: Real>(&self, args: &[Datum<Complex<R>>]) -> bool {
        args.len() == self.params.len()
            && args.iter().zip(&self.params).all(|(a, (_, b))| fits(a, b))
    }

    /// Builds the function that returns true if all conditions hold.
    fn path(&self) -> Result<(Program, FuncId), TraceError> {
        let mut lowering = begin("path", &self.params)?;
        let mut all = None;
        for c in &self.conditions {
            let (left, right) = (lowering.value(&c.left.0)?, lowering.value(&c.right.0)?);
            let b = &mut lowering.b;
            let mut compare = |op: Compare| b.inst(Op::Compare(op), &[left, right], Kind::Bool);
            let holds = match c.order {
                Some(std::cmp::Ordering::Less) => compare(Compare::Lt),
                Some(std::cmp::Ordering::Equal) => compare(Compare::Eq),
                Some(std::cmp::Ordering::Greater) => compare(Compare::Gt),
                None => {
                    let (lt, ge) = (compare(Compare::Lt), compare(Compare::Ge));
                    let comparable = b.mixed(Mixed::Or, &[lt, ge]);
                    b.mixed(Mixed::Not, &[comparable])
                }
            };
            all = Some(all.map_or(holds, |before| b.mixed(Mixed::And, &[before, holds])));
        }
        let result = all.unwrap_or_else(|| lowering.b.boolean(true));
        Ok(lowering.finish(result))
    }

    /// Returns the recording as one formula: `f(x1, x2) = x1*x2 + sin(x1)`. Parts used more than
    /// once have names if the formula would be long.
    #[must_use]
    pub fn compact(&self) -> String {
        let Printed { names, results } = print(&self.result.leaves());
        let mut results = results.into_iter();
        let result = shown(&self.result, &mut results);
        let lets: String = names.iter().map(|(n, t)| format!("let {n} = {t}; ")).collect();
        let body = if lets.is_empty() { result } else { format!("{{ {lets}{result} }}") };
        format!("{} = {body}", self.head())
    }

    /// Returns the recording line by line, with values if it was recorded at values:
    ///
    /// ```text
    /// f(x1, x2)
    ///   x1 = 2.0
    ///   x2 = 3.0
    ///   t1 = mul(x1, x2) = 6.0
    ///   t2 = sin(x1) = 0.9092974268256817
    ///   t3 = add(t1, t2) = 6.909297426825682
    ///   return t3
    /// ```
    #[must_use]
    pub fn plain(&self) -> String {
        let mut text = format!("{}\n", self.head());
        let mut names: HashMap<u128, String> = HashMap::new();
        let mut values = self.values.clone();
        for leaf in self.params.iter().flat_map(|(_, branch)| branch.leaves()) {
            let name = print(std::slice::from_ref(&leaf)).block();
            if let Some(x) = values.get(&leaf.key()) {
                // Writing to a String cannot fail.
                let _ = writeln!(text, "  {name} = {x:?}");
            }
            names.insert(leaf.key(), name);
        }
        let mut count = 0;
        let leaves = self.result.leaves();
        let _ = visit(&leaves, |sym| {
            if names.contains_key(&sym.key()) {
                return Ok(());
            }
            if sym.constant().is_some() {
                names.insert(sym.key(), print(std::slice::from_ref(sym)).block());
                return Ok(());
            }
            let Some(node) = sym.node() else { return Ok(()) };
            let op = match &node.node_kind {
                NodeKind::Op(op) => op.to_string(),
                NodeKind::Call(c) => c.name.clone(),
                NodeKind::Symbol(s) => s.name.to_string(),
            };
            let args: Vec<&str> =
                node.args.iter().map(|a| names.get(&a.key()).map_or("", String::as_str)).collect();
            count += 1;
            let name = format!("t{count}");
            let _ = write!(text, "  {name} = {op}({})", args.join(", "));
            if let Some(x) = value_of(sym, &values) {
                let _ = write!(text, " = {x:?}");
                values.insert(sym.key(), x);
            }
            text.push('\n');
            names.insert(sym.key(), name);
            Ok::<(), std::convert::Infallible>(())
        });
        let mut results = leaves
            .iter()
            .map(|s| names.get(&s.key()).cloned().unwrap_or_default())
            .collect::<Vec<_>>()
            .into_iter();
        let _ = writeln!(text, "  return {}", shown(&self.result, &mut results));
        text
    }

    fn head(&self) -> String {
        let params: Vec<&str> = self.params.iter().map(|(n, _)| n.as_str()).collect();
        format!("{}({})", self.function().name, params.join(", "))
    }
}

fn begin(name: &str, params: &[(String, TreeNode)]) -> Result<ExprLowering, TraceError> {
    let list = params.iter().map(|(n, b)| Param::new(n.clone(), b.kind())).collect();
    let mut lowering = ExprLowering::new(name, list)?;
    for (k, (_, branch)) in params.iter().enumerate() {
        let value = lowering.b.param(k);
        branch.bind(&mut lowering, value);
    }
    Ok(lowering)
}

fn fits<R: Real>(datum: &Datum<Complex<R>>, branch: &TreeNode) -> bool {
    match (datum, branch) {
        (Datum::Reals(xs), TreeNode::Array(_, all)) => {
            xs.len() == all.len() && datum.is(&branch.kind())
        }
        (Datum::Complexes(xs), TreeNode::Array(_, all)) => {
            xs.len() == all.len() && datum.is(&branch.kind())
        }
        (Datum::Tuple(values), TreeNode::Tuple { fields, .. }) => {
            values.len() == fields.len() && values.iter().zip(fields).all(|(v, (_, b))| fits(v, b))
        }
        (one, branch) => one.is(&branch.kind()),
    }
}

/// Returns a result with its parts as text.
fn shown(branch: &TreeNode, parts: &mut dyn Iterator<Item = String>) -> String {
    let list = |items: Vec<String>| items.join(", ");
    match branch {
        TreeNode::Number(_) => parts.next().unwrap_or_default(),
        TreeNode::Array(_, all) => {
            format!("[{}]", list(all.iter().map(|_| parts.next().unwrap_or_default()).collect()))
        }
        TreeNode::Tuple { name, fields } => {
            let items = fields.iter().map(|(n, b)| {
                let value = shown(b, parts);
                n.as_ref().map_or(value.clone(), |n| format!("{n}: {value}"))
            });
            let items = list(items.collect());
            match name {
                Some(name) => format!("{name} {{ {items} }}"),
                None => format!("({items})"),
            }
        }
    }
}

/// Returns the value of an operation on real numbers whose operands are known.
fn value_of(sym: &Sym, values: &HashMap<u128, f64>) -> Option<f64> {
    let node = sym.node()?;
    let known = |k: usize| {
        let arg: &Sym = node.args.get(k)?;
        arg.constant()
            .map(super::constant::Constant::value)
            .or_else(|| values.get(&arg.key()).copied())
    };
    match node.node_kind {
        NodeKind::Op(Op::Number1(op)) if node.kind == Kind::Real => Some(op.value(&known(0)?)),
        NodeKind::Op(Op::Number2(op)) if node.kind == Kind::Real => {
            Some(op.value(&known(0)?, &known(1)?))
        }
        NodeKind::Op(Op::Real1(op)) => op.value(&known(0)?).ok(),
        NodeKind::Op(Op::Real2(op)) => op.value(&known(0)?, &known(1)?).ok(),
        NodeKind::Op(Op::Mixed(Mixed::PowiReal)) => {
            let n = super::build::integer(node.args.get(1)?)?;
            Some(Scalar::powi(&known(0)?, n))
        }
        NodeKind::Op(Op::Mixed(Mixed::Polygamma)) => {
            let n = super::build::integer(node.args.get(1)?)?;
            Some(Real::polygamma(&known(0)?, n))
        }
        _ => None,
    }
}
