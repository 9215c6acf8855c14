//! Lowering of a plugin's rule to functions of the program.
//!
//! ```text
//! erf              its function: what programs call. Its body calls the kernel, or is the program
//! erf.kernel       the primitive that the host computes
//! erf.program      the value as a program, where there is a kernel too
//! erf.complex      the rule of the same name on complex numbers
//! ```
//!
//! A rule with a kernel and a pullback gets a pushforward from it, so that both modes work.

use ketgrad_core::{
    adjoint,
    entity::{FuncId, PrimitiveId},
    ir::{CustomRule, FunctionBuilder, Kind, Mixed, Number2, Op, Param, Primitive, Program},
    rules::Rules,
    staging::{Builtin, is_name},
    text::{self, TextError},
};

use crate::{error::placeless, limits::RULE_TEXT, plugins::is_complex};

/// Name of the kernel in a program.
const KERNEL: &str = "kernel";

/// Suffix of the name of a rule on complex numbers.
const COMPLEX: &str = ".complex";

/// Rule to be lowered.
pub(crate) struct Source<'a> {
    pub(crate) name: &'a str,
    pub(crate) params: &'a [Kind],
    pub(crate) result: &'a Kind,
    pub(crate) program: &'a str,
    pub(crate) has_kernel: bool,
    /// True if the kernel has a pullback.
    pub(crate) has_pullback: bool,
}

/// Rule after lowering: its functions in the program.
#[derive(Clone, Debug)]
pub(crate) struct LoweredRule {
    /// Name of its function.
    pub(crate) base: String,
    /// Function that programs call.
    pub(crate) function: FuncId,
    /// Function of the value as a program, if the rule has a kernel too.
    pub(crate) value: Option<FuncId>,
    /// True if its derivatives are programs.
    pub(crate) has_program: bool,
}

impl Source<'_> {
    /// Returns the name of its function.
    pub(crate) fn base(&self) -> String {
        if self.params.iter().chain([self.result]).any(is_complex) {
            format!("{}{COMPLEX}", self.name)
        } else {
            self.name.to_owned()
        }
    }
}

/// Checks that a program can call it: a name of the language that the language does not use itself,
/// but for special functions.
pub(crate) fn check_name(name: &str) -> Result<(), String> {
    if !name.is_ascii() || !is_name(name) {
        return Err(
            "its name is not one of the program language: letters, digits and _, and no word such as `let`"
                .to_owned(),
        );
    }
    if name == KERNEL || Builtin::by_name(name).is_some_and(|f| !f.is_replaceable()) {
        return Err("the program language has a function of that name".to_owned());
    }
    Ok(())
}

/// Adds a rule to the registry.
pub(crate) fn lower(rules: &mut Rules, rule: &Source<'_>) -> Result<LoweredRule, String> {
    check_name(rule.name)?;
    let base = rule.base();
    let mut program = rules.program().clone();
    let hidden = program.lookup(rule.name);
    let kernel = rule.has_kernel.then(|| primitives(&mut program, rule, &base));
    let lowered = match (rule.program.trim(), kernel) {
        ("", None) => {
            return Err("it has neither a kernel for its kind of number nor a program".to_owned());
        }
        ("", Some(kernel)) => {
            let function = program.add(calls(&base, rule, Op::Primitive(kernel)));
            LoweredRule { base: base.clone(), function, value: None, has_program: false }
        }
        (source, kernel) => with_program(&mut program, rule, &base, source, kernel)?,
    };
    if let Some(value) = lowered.value {
        program.rename(value, &format!("{base}.program"));
    }
    program.rename(lowered.function, &base);
    // A text's own names hide others: `name` goes back to what had it.
    if let Some(before) = hidden.filter(|_| base != rule.name) {
        program.rename(before, rule.name);
    }
    *rules = Rules::from_program(program);
    Ok(lowered)
}

/// Adds the primitives that the host computes for a kernel.
fn primitives(program: &mut Program, rule: &Source<'_>, base: &str) -> PrimitiveId {
    let mut add = |name: String, params: Vec<Kind>, result: Kind| {
        program.primitives.push(Primitive {
            name,
            params,
            result,
            pullback: None,
            pushforward: None,
        })
    };
    let name = format!("{base}.{KERNEL}");
    let kernel = add(name.clone(), rule.params.to_vec(), rule.result.clone());
    if rule.has_pullback {
        let tangents: Vec<Kind> = rule.params.iter().filter_map(Kind::tangent).collect();
        let with = |more: &[Kind]| rule.params.iter().chain(more).cloned().collect::<Vec<Kind>>();
        let (back, y) = (with(&[rule.result.clone(), rule.result.clone()]), rule.result.clone());
        let pullback = add(format!("{name}.pullback"), back, Kind::tuple(tangents.clone()));
        let pushforward = add(format!("{name}.pushforward"), with(&tangents), y);
        let kernel = &mut program.primitives[kernel];
        (kernel.pullback, kernel.pushforward) = (Some(pullback), Some(pushforward));
    }
    kernel
}

fn with_program(
    program: &mut Program,
    rule: &Source<'_>,
    base: &str,
    source: &str,
    kernel: Option<PrimitiveId>,
) -> Result<LoweredRule, String> {
    let name = |program: &mut Program, to: &str| {
        if let Some(kernel) = kernel {
            to.clone_into(&mut program.primitives[kernel].name);
        }
    };
    name(program, KERNEL);
    let parsed =
        text::parse_program_within(source, &Rules::from_program(program.clone()), &RULE_TEXT);
    *program = parsed.map_err(|errors| in_words(&errors))?;
    name(program, &format!("{base}.{KERNEL}"));
    let written = program.lookup(rule.name).filter(|f| program.functions[*f].is_defined());
    let written = written.ok_or_else(|| format!("its program defines no `{}`", rule.name))?;
    let f = &program.functions[written];
    if !f.params.iter().map(|p| &p.kind).eq(rule.params) || f.result != *rule.result {
        let given = Kind::tuple(f.params.iter().map(|p| p.kind.clone()));
        let expected = Kind::tuple(rule.params.to_vec());
        let (result, y) = (&f.result, rule.result);
        return Err(format!(
            "its program is of {given} -> {result}, its signature {expected} -> {y}"
        ));
    }
    let Some(kernel) = kernel else {
        return Ok(LoweredRule {
            base: base.to_owned(),
            function: written,
            value: None,
            has_program: true,
        });
    };
    let own = f.insts.values().any(|i| i.op == Op::Primitive(kernel));
    let mut custom = program.rule(written).cloned().unwrap_or_default();
    if custom.pullback.is_none() {
        if own {
            if !rule.has_pullback {
                return Err(
                    "its program calls the kernel and has no pullback, and the kernel has none"
                        .to_owned(),
                );
            }
        } else {
            custom.pullback = Some(derived_pullback(program, rule, base, written)?);
        }
    }
    // With a program for the value too, the function that programs call still computes by the
    // kernel.
    let (function, value) = match own {
        true => (written, None),
        false => {
            let function =
                program.add(calls(&format!("{base}.by_{KERNEL}"), rule, Op::Primitive(kernel)));
            (function, Some(written))
        }
    };
    if custom.pushforward.is_none()
        && let Some(pullback) = custom.pullback
    {
        custom.pushforward = pushforward(program, rule, base, function, pullback);
    }
    if custom != CustomRule::default() {
        program.set_rule(function, custom);
    }
    Ok(LoweredRule { base: base.to_owned(), function, value, has_program: true })
}

/// Builds `fn name(x…) { op(x…) }`.
fn calls(name: &str, rule: &Source<'_>, op: Op) -> ketgrad_core::ir::Function {
    let mut b = FunctionBuilder::new(name, named(rule.params), rule.result.clone());
    let args = b.params().to_vec();
    let y = b.inst(op, &args, rule.result.clone());
    b.ret(y);
    b.finish()
}

/// Adds a function that calls another one: a function's rule applies at its calls.
pub(crate) fn caller(program: &mut Program, f: FuncId) -> FuncId {
    let of = &program.functions[f];
    let name = program.fresh_name(&format!("{}.called", of.name));
    let caller = FunctionBuilder::caller(name, of.params.clone(), of.result.clone(), Op::Call(f));
    program.add(caller)
}

fn named(kinds: &[Kind]) -> Vec<Param> {
    kinds.iter().enumerate().map(|(k, kind)| Param::new(format!("x{k}"), kind.clone())).collect()
}

/// Derives the pullback of the program, as `(x…, y, y_bar) -> (x_bar…)`.
fn derived_pullback(
    program: &mut Program,
    rule: &Source<'_>,
    base: &str,
    f: FuncId,
) -> Result<FuncId, String> {
    let both = adjoint::value_and_pullback(program, f).map_err(|e| placeless(&e))?;
    let whole = program.functions[both].result.clone();
    let result = Kind::tuple(rule.params.iter().filter_map(Kind::tangent));
    let mut params = named(rule.params);
    params.push(Param::new("y", rule.result.clone()));
    params.push(Param::new("y_bar", rule.result.clone()));
    let mut b = FunctionBuilder::new(format!("{base}.pullback"), params, result.clone());
    let mut args = b.params().to_vec();
    args.remove(rule.params.len());
    let all = b.inst(Op::Call(both), &args, whole.clone());
    let bars: Vec<_> = (1..whole.fields().len()).map(|k| b.field(all, k)).collect();
    let bars = b.tuple(&bars, result);
    b.ret(bars);
    Ok(program.add(b.finish()))
}

/// Builds `y_dot = sum of conj(x_bar at y_bar = 1) x_dot`, for a rule on numbers.
fn pushforward(
    program: &mut Program,
    rule: &Source<'_>,
    base: &str,
    f: FuncId,
    pullback: FuncId,
) -> Option<FuncId> {
    let tangents: Vec<Kind> = rule.params.iter().filter_map(Kind::tangent).collect();
    if tangents.is_empty()
        || tangents.iter().any(|k| k != rule.result)
        || matches!(rule.result, Kind::Array(_))
    {
        return None;
    }
    let mut params = named(rule.params);
    params
        .extend(tangents.iter().enumerate().map(|(k, t)| Param::new(format!("dot{k}"), t.clone())));
    let mut b = FunctionBuilder::new(format!("{base}.pushforward"), params, rule.result.clone());
    let (x, dots) = b.params().split_at(rule.params.len());
    let (x, dots) = (x.to_vec(), dots.to_vec());
    let y = b.inst(Op::Call(f), &x, rule.result.clone());
    let one = b.number(1.0, rule.result);
    let args: Vec<_> = x.into_iter().chain([y, one]).collect();
    let bars = b.inst(Op::Call(pullback), &args, program.functions[pullback].result.clone());
    let mut sum = None;
    for (k, dot) in dots.into_iter().enumerate() {
        let mut slope = b.field(bars, k);
        if *rule.result == Kind::Complex {
            slope = b.mixed(Mixed::Conj, &[slope]);
        }
        let term = b.number2(Number2::Scale, slope, dot);
        sum = Some(sum.map_or(term, |sum| b.number2(Number2::Add, sum, term)));
    }
    b.ret(sum?);
    Some(program.add(b.finish()))
}

/// Describes the first errors of a text.
pub(crate) fn in_words(errors: &[TextError]) -> String {
    let shown: Vec<String> = errors.iter().take(3).map(TextError::to_string).collect();
    format!("its program is wrong at {}", shown.join("; "))
}
