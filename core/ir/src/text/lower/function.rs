//! Lowering of the body of a function: its scopes, its value, and the errors in it.

use std::collections::{HashMap, HashSet};

use crate::{
    entity::{Value, Variable},
    ir::{Function as IrFunction, Kind},
    staging::{StagedOperand, StagingBuilder, TypeMismatch},
};

use super::super::{
    ast::{BlockSyntax, ExprSyntax, ExprSyntaxKind, TextSpan},
    error::{TextError, TextErrorKind},
    lexer::error,
    limits::{is_full, is_too_large},
};
use super::{TextLowerResult, kinds::Fields, misfit, module::Module};

/// Structs that a body may refer to.
#[derive(Clone, Copy)]
pub(super) struct StructTable<'a> {
    pub(super) structs: &'a HashMap<String, Kind>,
    pub(super) fields: &'a Fields,
}

/// Variable in scope.
#[derive(Clone, Copy)]
pub(super) struct ScopedVariable {
    pub(super) variable: Variable,
    pub(super) mutable: bool,
}

/// Lowering of one body.
pub(super) struct BodyLowering<'a> {
    pub(super) known: StructTable<'a>,
    /// The module, whose functions it may call.
    pub(super) module: &'a mut Module,
    pub(super) errors: &'a mut Vec<TextError>,
    pub(super) stage: StagingBuilder,
    scopes: Vec<HashMap<String, ScopedVariable>>,
    /// Names whose definition is wrong.
    poisoned: HashSet<String>,
    /// Kinds of the inputs, to each of which the value has a cotangent, if this is a pullback.
    bars: Option<&'a [Kind]>,
}

impl<'a> BodyLowering<'a> {
    /// Lowers the body of a declared function. After errors, only the signature of the result is
    /// right.
    pub(super) fn lower(
        known: StructTable<'a>,
        module: &'a mut Module,
        errors: &'a mut Vec<TextError>,
        declared: &IrFunction,
        span: TextSpan,
        body: &BlockSyntax,
        bars: Option<&'a [Kind]>,
    ) -> IrFunction {
        let (name, result) = (declared.name.clone(), declared.result.clone());
        let mut stage = StagingBuilder::new(name, declared.params.clone(), result);
        stage.b.set_most(module.limits.size.saturating_sub(module.size));
        let scopes = vec![HashMap::new()];
        let mut l =
            BodyLowering { known, module, errors, stage, scopes, poisoned: HashSet::new(), bars };
        for (k, p) in declared.params.iter().enumerate() {
            let value = l.stage.b.param(k);
            l.bind(&p.name, value, false);
        }
        let errors_before = l.errors.len();
        l.scopes.push(HashMap::new());
        for statement in &body.statements {
            l.statement(statement);
        }
        let end = match &body.tail {
            Some(tail) => l.result_value(tail),
            None => Ok(None),
        };
        match end {
            Ok(_) if l.stage.b.is_closed() => {}
            Ok(Some(value)) => l.stage.b.ret(value),
            Ok(None) if l.errors.len() > errors_before => {}
            Ok(None) => {
                let name = declared.name.clone();
                l.errors.push(error(span, TextErrorKind::NoValue { name }));
            }
            Err(e) => l.complain(e),
        }
        l.module.size += l.stage.b.size();
        if l.module.size > l.module.limits.size {
            if l.errors.len() == errors_before {
                l.errors.push(l.module.limits.too_much_made(body.end));
            }
            // The function that was built is incomplete.
            return declared.clone();
        }
        l.stage.finish()
    }

    /// Lowers an expression as the function's result. `None`: the function returned before its end.
    pub(super) fn result_value(&mut self, e: &ExprSyntax) -> TextLowerResult<Option<Value>> {
        if self.bars.is_some() {
            return self.cotangents(e).map(Some);
        }
        let result = self.stage.result().clone();
        match self.expr(e, Some(&result))? {
            StagedOperand::Nothing => Ok(None),
            given => self.fit(given, &result, e.span).map(Some),
        }
    }

    /// Lowers the value of a pullback: one cotangent for each input.
    fn cotangents(&mut self, e: &ExprSyntax) -> TextLowerResult<Value> {
        let inputs = self.bars.unwrap_or(&[]);
        let mut fields = Vec::new();
        match &e.kind {
            ExprSyntaxKind::Tuple(items) if items.len() == inputs.len() => {
                for (item, input) in items.iter().zip(inputs) {
                    fields.extend(self.cotangent(item, input)?);
                }
            }
            _ if inputs.len() == 1 => fields.extend(self.cotangent(e, &inputs[0])?),
            _ => {
                let given = self.expr(e, None)?;
                let value = self.value(given, e.span)?;
                let kind = self.stage.b.kind(value);
                if kind.fields().len() != inputs.len() {
                    let expected = format!("one cotangent for each of the {} inputs", inputs.len());
                    return Err(misfit(TypeMismatch::new(kind, expected), &[e.span]));
                }
                for (k, input) in inputs.iter().enumerate() {
                    if let Some(kind) = input.tangent() {
                        let field = self.stage.b.field(value, k);
                        fields.push(self.fit(StagedOperand::Value(field), &kind, e.span)?);
                    }
                }
            }
        }
        let result = self.stage.result().clone();
        Ok(self.stage.b.tuple(&fields, result))
    }

    fn cotangent(&mut self, e: &ExprSyntax, input: &Kind) -> TextLowerResult<Option<Value>> {
        match (&e.kind, input.tangent()) {
            (ExprSyntaxKind::None, None) => Ok(None),
            (ExprSyntaxKind::None, Some(kind)) => Ok(Some(self.stage.b.zero(&kind))),
            (_, Some(kind)) => self.expect(e, &kind).map(Some),
            (_, None) => {
                let (given, expected) =
                    ("a cotangent".into(), format!("`none`: {input} has no cotangent"));
                Err(error(e.span, TextErrorKind::Kind { given, expected, hint: "" }))
            }
        }
    }

    // Scopes.

    /// Runs `f` in a scope of its own.
    pub(super) fn scoped<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        self.scopes.push(HashMap::new());
        let result = f(self);
        self.scopes.pop();
        result
    }

    /// Binds a value to a name in the current scope.
    pub(super) fn bind(&mut self, name: &str, value: Value, mutable: bool) {
        let b = &mut self.stage.b;
        let variable = if mutable {
            let kind = b.kind(value).clone();
            let variable = b.declare(kind);
            b.define(variable, value);
            variable
        } else {
            b.bind(value)
        };
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), ScopedVariable { variable, mutable });
        }
    }

    /// Returns the variable of a name.
    pub(super) fn local(&self, name: &str, span: TextSpan) -> TextLowerResult<ScopedVariable> {
        if let Some(local) = self.scopes.iter().rev().find_map(|s| s.get(name)) {
            return Ok(*local);
        }
        let names = self.scopes.iter().flat_map(|s| s.keys().map(String::as_str));
        let unknown = match name {
            "pi" | "PI" | "π" => TextErrorKind::Unknown {
                what: "variable",
                name: name.to_owned(),
                nearest: Some(std::f64::consts::PI.to_string()),
            },
            _ => TextErrorKind::unknown("variable", name, names),
        };
        Err(error(span, unknown))
    }

    // Errors.

    /// Poisons a name whose definition is wrong, so that its uses are not reported.
    pub(super) fn poison(&mut self, name: &str) {
        self.poisoned.insert(name.to_owned());
        for scope in &mut self.scopes {
            scope.remove(name);
        }
    }

    /// Checks that the size that was built is within the limit.
    pub(super) fn has_room(&self, span: TextSpan) -> TextLowerResult<()> {
        let limits = &self.module.limits;
        let full = self.stage.b.size() > limits.size.saturating_sub(self.module.size);
        if full { Err(limits.too_much_made(span)) } else { Ok(()) }
    }

    /// Returns true if nothing more is lowered: the size exceeds the limit, or there are too many
    /// errors.
    pub(super) fn is_over(&mut self) -> bool {
        is_full(self.errors) || matches!(self.errors.last(), Some(e) if is_too_large(e))
    }

    /// Reports an error, unless it follows from an earlier one.
    pub(super) fn complain(&mut self, e: TextError) {
        if self.is_over() {
            return;
        }
        let follows = matches!(&e.kind, TextErrorKind::Unknown { what: "variable", name, .. }
            if self.poisoned.contains(name));
        if !follows {
            self.errors.push(e);
        }
    }

    // Kinds, with places.

    /// Converts to a value; a literal is an int.
    pub(super) fn value(&mut self, given: StagedOperand, span: TextSpan) -> TextLowerResult<Value> {
        self.stage.value(given).map_err(|e| misfit(e, &[span]))
    }

    /// Converts to a value of the given kind.
    pub(super) fn fit(
        &mut self,
        given: StagedOperand,
        kind: &Kind,
        span: TextSpan,
    ) -> TextLowerResult<Value> {
        self.stage.fit(given, kind).map_err(|e| misfit(e, &[span]))
    }

    /// Lowers an expression of the given kind.
    pub(super) fn expect(&mut self, e: &ExprSyntax, kind: &Kind) -> TextLowerResult<Value> {
        let given = self.expr(e, Some(kind))?;
        self.fit(given, kind, e.span)
    }
}
