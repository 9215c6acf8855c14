//! Transposition of rules: the missing direction of a rule, from the given one.
//!
//! Both are linear in their (co)tangents, and each is the other's transpose in the pairing of
//! [cotangents with tangents](crate::rules#complex-numbers):
//!
//! ```text
//! <y_bar, pushforward(x…, x_dot…)> = <pullback(x…, y, y_bar), x_dot…>
//! ```
//!
//! For a result that is one real number the pullback of 1 is the gradient, so the pushforward is
//! its product with the tangents; for one real parameter the pushforward of 1 is the derivative.
//! Otherwise the rule is reversed: reverse mode of a linear function is its transpose. A rule that
//! is not linear in its (co)tangents is linearized at zero, or, on one number, replaced by its
//! value for 1.

use smallvec::SmallVec;

use crate::{
    entity::{FuncId, Value},
    ir::{
        CustomRule, ENTRY, Element, Function, FunctionBuilder, Kind, Mixed, Number2, Op, Param,
        Position, Primitive, Program,
    },
};

use super::{
    error::{DiffError, Mode},
    leaves::{close, make_whole, open, tangent_leaves},
    reverse::{Reverse, reverse_within},
};

/// Rule of a callee.
#[derive(Clone, Debug)]
pub(super) struct DerivativeRule {
    /// Op that calls the rule.
    pub call: Op,
    /// Kind of the result.
    pub result: Kind,
    /// True if the rule is one in the direction that is asked for; false if it is one in the other.
    pub is_given: bool,
}

/// Returns the rule of a function or a primitive for a direction, if it has one.
pub(super) fn rule(program: &Program, callee: Op, mode: Mode) -> Option<DerivativeRule> {
    fn in_order<T>(mode: Mode, pullback: T, pushforward: T) -> [T; 2] {
        match mode {
            Mode::Reverse => [pullback, pushforward],
            Mode::Forward => [pushforward, pullback],
        }
    }
    let (call, result, is_given) = match callee {
        Op::Call(g) => {
            let rule = program.rule(g)?;
            let [given, other] = in_order(mode, rule.pullback, rule.pushforward);
            let f = given.or(other)?;
            (Op::Call(f), program.functions[f].result.clone(), given.is_some())
        }
        Op::Primitive(p) => {
            let primitive = &program.primitives[p];
            let [given, other] = in_order(mode, primitive.pullback, primitive.pushforward);
            let p = given.or(other)?;
            (Op::Primitive(p), program.primitives[p].result.clone(), given.is_some())
        }
        _ => return None,
    };
    Some(DerivativeRule { call, result, is_given })
}

/// Returns the name of the callee of an op.
pub(super) fn name_of(program: &Program, callee: Op) -> String {
    match callee {
        Op::Call(g) => program.functions[g].name.clone(),
        Op::Primitive(p) => program.primitives[p].name.clone(),
        op => op.to_string(),
    }
}

/// Callee with a rule in one direction, from which the other is derived.
pub(super) struct OneWayRule<'a> {
    pub name: &'a str,
    pub params: &'a [Kind],
    pub result: &'a Kind,
    /// Op that calls the existing rule.
    pub rule: Op,
    /// Rules that are being transposed at the same time: one of them that needs its own transpose
    /// has none.
    pub pending: &'a [String],
}

impl OneWayRule<'_> {
    /// Adds `(x…, y, x_dot…) -> y_dot`, from a pullback.
    pub(super) fn pushforward(&self, program: &mut Program) -> Result<FuncId, DiffError> {
        let back = self.reversed(program, Mode::Forward)?;
        let dots: Vec<Kind> = self.params.iter().filter_map(Kind::tangent).collect();
        let kinds = self.params.iter().chain([self.result]).chain(&dots).cloned();
        let gives = self.result.tangent().unwrap_or(Kind::tuple([]));
        let mut b = builder(program, self.name, "pushforward", kinds, gives.clone());
        let mut given = b.params().to_vec();
        let dots = given.split_off(self.params.len() + 1);
        let y = given[self.params.len()];
        let zero = zeros(&mut b, y);
        let args: Vec<Value> = given.into_iter().chain([zero]).collect();
        let seed = b.plain_tuple(&dots);
        let bars = back.run(&mut b, program, &args, seed);
        let last = b.kind(bars).fields().len().saturating_sub(1);
        let bar = b.field(bars, last);
        let mut leaves = open(&mut b, bar);
        make_whole(&mut b, y, &mut leaves);
        let dot = close(&mut b, &gives, &mut leaves.into_iter());
        b.ret(dot);
        Ok(program.add(b.finish()))
    }

    /// Adds `(x…, y, y_bar) -> (x_bar…)`, from a pushforward.
    pub(super) fn pullback(&self, program: &mut Program) -> Result<FuncId, DiffError> {
        let back = self.reversed(program, Mode::Reverse)?;
        let bars: Vec<Kind> = self.params.iter().filter_map(Kind::tangent).collect();
        let seed = self.result.tangent();
        let kinds = self.params.iter().chain([self.result]).chain(&seed).cloned();
        let mut b = builder(program, self.name, "pullback", kinds, Kind::tuple(bars.clone()));
        let given = b.params().to_vec();
        let xs = &given[..self.params.len()];
        let numbers: Vec<Value> = (xs.iter().zip(self.params))
            .filter(|(_, k)| k.is_differentiable())
            .map(|(x, _)| *x)
            .collect();
        let zeros: Vec<Value> = numbers.iter().map(|&x| zeros(&mut b, x)).collect();
        let args: Vec<Value> = xs.iter().copied().chain(zeros).collect();
        let seed = given.get(self.params.len() + 1).copied();
        let seed = seed.unwrap_or_else(|| b.plain_tuple(&[]));
        let all = back.run(&mut b, program, &args, seed);
        // First the parameters, then their tangents.
        let parts: Vec<Value> = (numbers.iter().zip(numbers.len()..))
            .map(|(&x, k)| {
                let bar = b.field(all, k);
                let (kind, mut leaves) = (b.kind(bar).clone(), open(&mut b, bar));
                make_whole(&mut b, x, &mut leaves);
                close(&mut b, &kind, &mut leaves.into_iter())
            })
            .collect();
        let parts = b.tuple(&parts, Kind::tuple(bars));
        b.ret(parts);
        Ok(program.add(b.finish()))
    }

    /// Reverses the rule. Its first operands, the parameters and perhaps the result, are held
    /// constant: it is linear in the rest.
    fn reversed(&self, program: &mut Program, mode: Mode) -> Result<TransposedRule, DiffError> {
        let failed = |source| DiffError::Transpose {
            rule: self.name.to_owned(),
            mode,
            source: Box::new(source),
        };
        if self.pending.iter().any(|name| name == self.name) {
            return Err(failed(DiffError::Circular { rule: self.name.to_owned() }));
        }
        let held = self.params.len() + usize::from(mode == Mode::Forward);
        let mut holds = Vec::new();
        let (f, original) = match self.rule {
            // The body of the rule, in which the held parameters are constants.
            Op::Call(f) => {
                let mut body = program.functions[f].clone();
                if !body.is_defined() {
                    return Err(failed(DiffError::Undefined { function: body.name }));
                }
                let original = body.name.clone();
                body.name = program.fresh_name(&format!("{original}.linear"));
                holds.extend((0..held).filter_map(|k| hold_constant(program, &mut body, k)));
                (body, original)
            }
            op => {
                let Op::Primitive(p) = op else {
                    return Err(failed(DiffError::Undefined { function: op.to_string() }));
                };
                let Primitive { params, result, .. } = program.primitives[p].clone();
                let name = program.fresh_name(&format!("{}.linear", self.name));
                (FunctionBuilder::caller(name, named(params), result, op), self.name.to_owned())
            }
        };
        let (result, copy) = (f.result.clone(), f.name.clone());
        let f = program.add(f);
        let pending: Vec<String> =
            self.pending.iter().cloned().chain([self.name.to_owned()]).collect();
        let pair = reverse_within(program, f, pending)
            .map_err(|e| failed(e.of_original(&copy, &original)))?;
        // The transpose itself is differentiated by all its operands.
        for g in holds {
            program.remove_rule(g);
        }
        Ok(TransposedRule { pair, result })
    }
}

/// Makes a parameter of a function a constant: its uses are replaced by uses of a call that no
/// derivative passes through. Returns the function that is called.
fn hold_constant(program: &mut Program, f: &mut Function, k: usize) -> Option<FuncId> {
    let p = *f.param_values().get(k)?;
    let kind = f.kinds[p].clone();
    if !kind.is_differentiable() {
        return None;
    }
    let name = program.fresh_name(&format!("{}.hold", f.name));
    let mut b = FunctionBuilder::new(name, vec![Param::new("x", kind.clone())], kind.clone());
    let x = b.param(0);
    b.ret(x);
    let g = program.add(b.finish());
    program.set_rule(g, CustomRule { non_differentiable: true, ..CustomRule::default() });
    let (inst, held) = f.new_inst(Op::Call(g), &[p], Some(kind), Position::default());
    let held = held?;
    f.map_uses(|v| if v == p { held } else { v });
    f.insts[inst].args = SmallVec::from_slice(&[p]);
    f.blocks[ENTRY].insts.insert(0, inst);
    Some(g)
}

/// Rule and its transpose.
struct TransposedRule {
    pair: Reverse,
    result: Kind,
}

impl TransposedRule {
    /// Appends calls that compute the cotangents of all operands of the rule.
    fn run(
        &self,
        b: &mut FunctionBuilder,
        program: &Program,
        args: &[Value],
        seed: Value,
    ) -> Value {
        b.inst(Op::Call(self.pair.primal), args, self.result.clone());
        let bars = program.functions[self.pair.adjoint].result.clone();
        b.inst(Op::Call(self.pair.adjoint), &[seed], bars)
    }
}

fn builder(
    program: &Program,
    name: &str,
    suffix: &str,
    kinds: impl Iterator<Item = Kind>,
    result: Kind,
) -> FunctionBuilder {
    FunctionBuilder::new(
        program.fresh_name(&format!("{name}.transposed.{suffix}")),
        named(kinds),
        result,
    )
}

fn named(kinds: impl IntoIterator<Item = Kind>) -> Vec<Param> {
    kinds.into_iter().enumerate().map(|(k, kind)| Param::new(format!("p{k}"), kind)).collect()
}

/// Appends a (co)tangent of a value that is zero everywhere.
fn zeros(b: &mut FunctionBuilder, x: Value) -> Value {
    let kinds = tangent_leaves(&b.kind(x).clone());
    let mut leaves: Vec<Value> = kinds.iter().map(|kind| b.zero(kind)).collect();
    make_whole(b, x, &mut leaves);
    let kind = b.kind(x).tangent().unwrap_or(Kind::tuple([]));
    close(b, &kind, &mut leaves.into_iter())
}

/// Pairs a leaf of a cotangent with one of a tangent, which is a real number: `re(conj(bar) dot)`,
/// summed over arrays. It is zero where `there` is, whatever the factors are.
pub(super) fn paired(b: &mut FunctionBuilder, bar: Value, dot: Value, there: Value) -> Value {
    let is_complex = matches!(b.kind(bar), Kind::Complex | Kind::Array(Element::Complex));
    let bar = if is_complex { b.mixed(Mixed::Conj, &[bar]) } else { bar };
    let mut product = b.number2(Number2::Mul, bar, dot);
    product = b.number2(Number2::Guard, product, there);
    if let Kind::Array(element) = b.kind(product) {
        let kind = element.kind();
        product = b.inst(Op::Sum, &[product], kind);
    }
    if is_complex { b.mixed(Mixed::Re, &[product]) } else { product }
}
