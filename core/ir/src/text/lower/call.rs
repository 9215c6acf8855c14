//! Lowering of names that are used: functions, primitives, built-ins, structs.

use std::collections::HashMap;

use crate::{
    adjoint::Transform,
    entity::FuncId,
    ir::{Function, Kind, Op},
    notation::nearest_name,
    staging::{Builtin, StagedOperand, TypeMismatch, elementwise_result},
};

use super::super::{
    ast::{ExprSyntax, ExprSyntaxKind, NameSyntax, TextSpan, Transformed},
    error::TextErrorKind,
    lexer::error,
    parser::own_name,
};
use super::{TextLowerResult, function::BodyLowering, misfit};

/// Suffix of the name of a registered function's version for complex numbers.
pub(in crate::text) const ON_COMPLEX: &str = ".complex";

/// Hint for rows of a matrix.
const ROW: &str = ": `a[i]` is the i-th number in an array, `row(a, i)` a row of a matrix";

/// Callee: its signature, and the op that calls it.
struct CalleeSignature {
    params: Vec<Kind>,
    result: Kind,
    op: Op,
}

impl CalleeSignature {
    fn function(id: FuncId, f: &Function) -> CalleeSignature {
        let params = f.params.iter().map(|p| p.kind.clone()).collect();
        CalleeSignature { params, result: f.result.clone(), op: Op::Call(id) }
    }
}

impl BodyLowering<'_> {
    /// Lowers a call: of a function or primitive, else of a built-in.
    pub(super) fn call(
        &mut self,
        name: &NameSyntax,
        args: &[ExprSyntax],
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let on_complex = format!("{}{ON_COMPLEX}", name.text);
        if let Some(callee) = self.callee(&name.text).or_else(|| self.callee(&on_complex)) {
            return self.call_of(name, callee, &on_complex, args, span);
        }
        let Some(builtin) = Builtin::by_name(&name.text) else {
            if Transform::by_name(&name.text).is_some() {
                let given = format!("`{}` without a call", name.text);
                let expected = format!(
                    "a call of the derivative, `{}(f)(x)` of a function f of the text",
                    name.text
                );
                return Err(error(span, TextErrorKind::Kind { given, expected, hint: "" }));
            }
            let functions = self.module.program.functions.values().map(|f| f.name.as_str());
            let primitives = self.module.program.primitives.values().map(|p| p.name.as_str());
            let known = functions.chain(primitives).chain(Builtin::names().map(|n: &str| n));
            let nearest = own_name(&name.text).or_else(|| nearest_name(&name.text, known));
            let (what, name, nearest) = ("function", name.text.clone(), nearest.map(str::to_owned));
            return Err(error(span, TextErrorKind::Unknown { what, name, nearest }));
        };
        self.arity(name, builtin.arity(), args, span)?;
        let hints: Vec<_> = (0..args.len()).map(|k| builtin.hint(k)).collect();
        let (given, spans) = self.operands(args, &hints)?;
        self.stage.b.set_position(span.at);
        self.stage.builtin(builtin, &given).map_err(|m| {
            let element =
                args.get(m.operand).is_some_and(|a| matches!(a.kind, ExprSyntaxKind::Index(..)));
            let hint = if element && m.expected.starts_with("an array") { ROW } else { m.hint };
            misfit(TypeMismatch { hint, ..m }, &spans)
        })
    }

    /// Lowers a call of a function or a primitive; with a complex argument, of the version for
    /// complex numbers if there is one.
    fn call_of(
        &mut self,
        name: &NameSyntax,
        callee: CalleeSignature,
        on_complex: &str,
        args: &[ExprSyntax],
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let CalleeSignature { mut params, mut result, mut op } = callee;
        self.arity(name, params.len(), args, span)?;
        let hints: Vec<_> = params.iter().cloned().map(Some).collect();
        let (given, spans) = self.operands(args, &hints)?;
        if given.iter().any(|g| self.stage.is_complex(*g))
            && let Some(other) = self.callee(on_complex).filter(|c| c.params.len() == args.len())
        {
            CalleeSignature { params, result, op } = other;
        }
        self.stage.b.set_position(span.at);
        // Registered functions map over arrays like the functions of the language.
        let is_registered = match op {
            Op::Call(id) => id.index() < self.module.registered,
            _ => true,
        };
        let value = if is_registered
            && given.iter().any(|g| self.stage.is_array(*g))
            && elementwise_result(&params, &result).is_some()
        {
            self.stage.elementwise(op, &params, &result, &given)
        } else {
            self.stage.fit_all(&given, &params).map(|values| self.stage.b.inst(op, &values, result))
        };
        value.map(StagedOperand::Value).map_err(|m| misfit(m, &spans))
    }

    /// Lowers a call of a transform.
    pub(super) fn apply(
        &mut self,
        transformed: &Transformed,
        args: &[ExprSyntax],
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let id = self.module.transformed(transformed)?;
        let callee = CalleeSignature::function(id, &self.module.program.functions[id]);
        let on_complex = format!("{}{ON_COMPLEX}", self.module.program.functions[id].name);
        let name = NameSyntax { text: transformed.written(), span: transformed.span };
        self.call_of(&name, callee, &on_complex, args, span)
    }

    fn callee(&self, name: &str) -> Option<CalleeSignature> {
        let program = &self.module.program;
        if let Some(id) = program.lookup(name) {
            return Some(CalleeSignature::function(id, &program.functions[id]));
        }
        let id = program.lookup_primitive(name)?;
        let p = &program.primitives[id];
        Some(CalleeSignature {
            params: p.params.clone(),
            result: p.result.clone(),
            op: Op::Primitive(id),
        })
    }

    /// Lowers `Point { x: a, y: b }`, with the fields in any order. If a cotangent of the struct is
    /// expected, the fields that have none are omitted.
    pub(super) fn structure(
        &mut self,
        name: &NameSyntax,
        fields: &[(NameSyntax, ExprSyntax)],
        hint: Option<&Kind>,
        span: TextSpan,
    ) -> TextLowerResult<StagedOperand> {
        let known = self.known.structs.get(&name.text);
        let cotangent = known.and_then(Kind::tangent).filter(|tangent| hint == Some(tangent));
        let Some(kind) = cotangent.as_ref().or(known) else {
            let known = self.known.structs.keys().map(String::as_str);
            return Err(error(span, TextErrorKind::unknown("struct", &name.text, known)));
        };
        let names = || kind.fields().iter().filter_map(|f| f.name.as_deref());
        let numbers: HashMap<&str, usize> = names().zip(0..).collect();
        let mut values: Vec<Option<(StagedOperand, TextSpan)>> = vec![None; kind.fields().len()];
        for (field, value) in fields {
            let Some(&k) = numbers.get(field.text.as_str()) else {
                let unknown = TextErrorKind::unknown("field", &field.text, names());
                return Err(error(field.span, unknown));
            };
            if values[k].is_some() {
                let (what, name) = ("field", field.text.clone());
                return Err(error(field.span, TextErrorKind::Duplicate { what, name }));
            }
            values[k] = Some((self.expr(value, Some(&kind.fields()[k].kind))?, value.span));
        }
        if let Some(k) = values.iter().position(Option::is_none) {
            let (name, field) = (name.text.clone(), names().nth(k).unwrap_or_default().to_owned());
            return Err(error(span, TextErrorKind::MissingField { name, field }));
        }
        let (given, spans): (Vec<StagedOperand>, Vec<TextSpan>) =
            values.iter().flatten().copied().unzip();
        self.stage.b.set_position(span.at);
        self.stage.structure(kind, &given).map_err(|m| misfit(m, &spans))
    }

    /// Reports a wrong number of arguments; for `m.sin(x)` without an `m` that `m` is unknown.
    fn arity(
        &self,
        name: &NameSyntax,
        expected: usize,
        args: &[ExprSyntax],
        span: TextSpan,
    ) -> TextLowerResult<()> {
        if expected == args.len() {
            return Ok(());
        }
        if let Some(ExprSyntax { span, kind: ExprSyntaxKind::Name(first) }) = args.first() {
            self.local(first, *span)?;
        }
        let (name, given) = (name.text.clone(), args.len());
        Err(error(span, TextErrorKind::Arity { name, expected, given }))
    }
}
