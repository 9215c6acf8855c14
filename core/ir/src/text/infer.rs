//! Type inference: the kinds that functions return, where they are not written.
//!
//! A result's kind follows from the kinds of the parameters, which are known; but functions call
//! each other in any order, so the kinds are found as a fixed point: at first all are unknown, and
//! each iteration derives what follows from the last one. A kind that depends on an unknown result
//! is unknown too, and does not contradict anything. A function whose kind remains unknown only
//! calls itself; unknown operands are ignored then, and if that does not help it counts as real.
//!
//! The kinds of results of operations are [those of `staging`](crate::staging::ResultKinds). Errors
//! are not reported here: lowering visits the same tree again with all kinds known.

use std::collections::{HashMap, HashSet};

use crate::{
    adjoint::Transform,
    ir::Kind,
    stack::deep,
    staging::{Builtin, InferredKind, ResultKinds, StagedOperation},
};

use super::ast::{
    BlockSyntax, ExprSyntax, ExprSyntaxKind, FunctionSyntax, KindExpr, PatternSyntax, Statement,
    StatementKind, Transformed,
};
use super::lower::{Fields, ON_COMPLEX, resolve};

/// Function or primitive that may be called.
pub(super) struct InferredCallee {
    pub(super) params: Vec<Kind>,
    pub(super) result: InferredKind,
    /// Kind of the result of a call with arrays, if it is registered and maps over them.
    pub(super) over_arrays: Option<Kind>,
}

/// Inference over one function.
pub(super) struct Infer<'a> {
    callees: &'a HashMap<String, InferredCallee>,
    structs: &'a HashMap<String, Kind>,
    fields: &'a Fields,
    results: &'a mut ResultKinds,
    /// True if unknown operands are ignored.
    ignores_unknown: bool,
    /// Functions whose results were looked up.
    pub(super) asked: HashSet<String>,
    scopes: Vec<HashMap<String, InferredKind>>,
    returned: InferredKind,
}

impl<'a> Infer<'a> {
    pub(super) fn new(
        callees: &'a HashMap<String, InferredCallee>,
        structs: &'a HashMap<String, Kind>,
        fields: &'a Fields,
        results: &'a mut ResultKinds,
        ignores_unknown: bool,
    ) -> Infer<'a> {
        Infer {
            callees,
            structs,
            fields,
            results,
            ignores_unknown,
            asked: HashSet::new(),
            scopes: vec![],
            returned: InferredKind::Nothing,
        }
    }

    /// Infers the kind of the result of a function, as far as it is known.
    pub(super) fn function(&mut self, f: &FunctionSyntax) -> InferredKind {
        let mut scope = HashMap::new();
        for (name, kind) in &f.params {
            let kind = kind.as_ref().map_or(InferredKind::Kind(Kind::Real), |k| self.written(k));
            scope.insert(name.text.clone(), kind);
        }
        self.scopes = vec![scope];
        self.returned = InferredKind::Nothing;
        let tail = self.block(&f.body);
        self.returns(tail);
        // The value of a literal is not propagated: callers get an int.
        match std::mem::replace(&mut self.returned, InferredKind::Nothing) {
            InferredKind::Literal(_) => InferredKind::Literal(None),
            InferredKind::Literals(_) => InferredKind::Literals(false),
            known @ InferredKind::Tuple(_) => known.settled(),
            known => known,
        }
    }

    fn returns(&mut self, known: InferredKind) {
        let before = std::mem::replace(&mut self.returned, InferredKind::Nothing);
        self.returned = before.join(known);
    }

    /// Returns a written kind; a wrong one is unknown.
    fn written(&self, kind: &KindExpr) -> InferredKind {
        resolve(kind, self.structs).map_or(InferredKind::Nothing, InferredKind::Kind)
    }

    fn block(&mut self, block: &BlockSyntax) -> InferredKind {
        self.scopes.push(HashMap::new());
        for statement in &block.statements {
            self.statement(statement);
        }
        let tail = block.tail.as_ref().map_or(InferredKind::Nothing, |t| self.expr(t));
        self.scopes.pop();
        tail
    }

    fn define(&mut self, name: &str, known: InferredKind) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), known.settled());
        }
    }

    fn statement(&mut self, s: &Statement) {
        match &s.kind {
            StatementKind::Let { pattern, kind, value } => {
                let given = kind.as_ref().map_or(InferredKind::Nothing, |k| self.written(k));
                let known = match (given, self.expr(value)) {
                    (InferredKind::Nothing, known) => known.settled(),
                    (given, _) => given,
                };
                match pattern {
                    PatternSyntax::Name { name, .. } => self.define(&name.text, known),
                    PatternSyntax::Tuple(names) => {
                        for (k, (name, _)) in names.iter().enumerate() {
                            self.define(&name.text, known.clone().field(k));
                        }
                    }
                }
            }
            StatementKind::Assign { target, value, .. } => self.visit([target, value]),
            StatementKind::Break | StatementKind::Continue => {}
            StatementKind::While { condition, body } => {
                self.visit([condition]);
                self.block(body);
            }
            StatementKind::For { variable, from, to, body, .. } => {
                self.visit([from, to]);
                self.scopes.push(HashMap::new());
                self.define(&variable.text, InferredKind::Kind(Kind::Int));
                self.block(body);
                self.scopes.pop();
            }
            StatementKind::Return(value) => {
                let known = value.as_ref().map_or(InferredKind::Nothing, |v| self.expr(v));
                self.returns(known);
            }
            StatementKind::Expr(e) => self.visit([e]),
        }
    }

    /// Visits expressions whose kinds do not matter, for the `return` in their blocks.
    fn visit<'e>(&mut self, all: impl IntoIterator<Item = &'e ExprSyntax>) {
        all.into_iter().for_each(|e| drop(self.expr(e)));
    }

    fn all<'e>(&mut self, all: impl IntoIterator<Item = &'e ExprSyntax>) -> Vec<InferredKind> {
        all.into_iter().map(|e| self.expr(e)).collect()
    }

    /// Returns the kind of the result of an operation.
    fn result(&mut self, operation: StagedOperation, operands: Vec<InferredKind>) -> InferredKind {
        if !operands.contains(&InferredKind::Nothing) {
            self.results.result(operation, operands)
        } else if self.ignores_unknown {
            InferredKind::common(operands)
        } else {
            InferredKind::Nothing
        }
    }

    fn expr(&mut self, e: &ExprSyntax) -> InferredKind {
        deep(|| self.deep_expr(e))
    }

    fn deep_expr(&mut self, e: &ExprSyntax) -> InferredKind {
        match &e.kind {
            ExprSyntaxKind::Int(n) => InferredKind::Literal(Some(*n)),
            ExprSyntaxKind::Real(_) => InferredKind::Kind(Kind::Real),
            ExprSyntaxKind::Bool(_) => InferredKind::Kind(Kind::Bool),
            ExprSyntaxKind::None => InferredKind::Nothing,
            ExprSyntaxKind::Name(n) => {
                let known = self.scopes.iter().rev().find_map(|s| s.get(n).cloned());
                known.unwrap_or(InferredKind::Nothing)
            }
            ExprSyntaxKind::Neg(x) => {
                let x = self.expr(x);
                self.result(StagedOperation::Negative, vec![x])
            }
            ExprSyntaxKind::Not(x) => {
                self.visit([x.as_ref()]);
                InferredKind::Kind(Kind::Bool)
            }
            ExprSyntaxKind::Logic(first, more) => {
                self.visit([first.as_ref()].into_iter().chain(more.iter().map(|(_, _, e)| e)));
                InferredKind::Kind(Kind::Bool)
            }
            ExprSyntaxKind::Chain(first, more) => {
                let first = self.expr(first);
                more.iter().fold(first, |left, (op, _, e)| {
                    let right = self.expr(e);
                    self.result(StagedOperation::Infix(*op), vec![left, right])
                })
            }
            ExprSyntaxKind::Call(name, args) => self.call(&name.text, args),
            ExprSyntaxKind::Apply(transformed, args) => {
                self.visit(args);
                self.transformed(transformed).map_or(InferredKind::Nothing, InferredKind::Kind)
            }
            ExprSyntaxKind::Index(xs, i) => self.element(xs, [i.as_ref()]),
            ExprSyntaxKind::Element(xs, indices) => self.element(xs, indices),
            ExprSyntaxKind::Field(of, name) => {
                let of = self.expr(of).settled();
                let number = of.kind().and_then(|kind| self.fields.number(kind, &name.text));
                number.map_or(InferredKind::Nothing, |k| of.field(k))
            }
            ExprSyntaxKind::TupleField(of, k) => self.expr(of).field(*k),
            ExprSyntaxKind::Array(items) => {
                let items = self.all(items);
                self.result(StagedOperation::Array, items)
            }
            ExprSyntaxKind::Repeat(x, n) => {
                let x = self.expr(x);
                self.visit([n.as_ref()]);
                self.result(StagedOperation::Repeat, vec![x])
            }
            ExprSyntaxKind::Tuple(items) => InferredKind::tuple(self.all(items)),
            ExprSyntaxKind::Struct(name, fields) => {
                self.visit(fields.iter().map(|(_, value)| value));
                let known = self.structs.get(&name.text).cloned();
                known.map_or(InferredKind::Nothing, InferredKind::Kind)
            }
            ExprSyntaxKind::If(arms, last) => self.if_else(arms, last.as_ref()),
            ExprSyntaxKind::Block(body) => self.block(body),
        }
    }

    /// Infers an element of an array.
    fn element<'e>(
        &mut self,
        xs: &ExprSyntax,
        indices: impl IntoIterator<Item = &'e ExprSyntax>,
    ) -> InferredKind {
        let xs = self.expr(xs);
        self.visit(indices);
        self.result(StagedOperation::Element, vec![xs])
    }

    /// Infers an `if`, which has a value if there is an `else`.
    fn if_else(
        &mut self,
        arms: &[(ExprSyntax, BlockSyntax)],
        last: Option<&BlockSyntax>,
    ) -> InferredKind {
        let mut sum = InferredKind::Nothing;
        for (condition, body) in arms {
            self.visit([condition]);
            sum = sum.join(self.block(body));
        }
        last.map_or(InferredKind::Nothing, |body| sum.join(self.block(body)))
    }

    /// Infers the result of a transform, from the known kinds of the function.
    fn transformed(&mut self, of: &Transformed) -> Option<Kind> {
        let callee = self.callee(&of.function.text);
        let result = callee.map(|callee| callee.result.clone().settled());
        // A gradient requires a real result.
        let gives_real = !matches!(of.transforms.first()?, Transform::Jvp | Transform::Vjp);
        let real = gives_real.then_some(Kind::Real);
        let mut result = result.as_ref().and_then(InferredKind::kind).cloned().or(real)?;
        let mut params = callee.map(|callee| callee.params.clone()).unwrap_or_default();
        for transform in &of.transforms {
            (params, result) = transform.signature(&params, &result).ok()?;
        }
        Some(result)
    }

    /// Returns the function of a name, and remembers that it was asked for.
    fn callee(&mut self, name: &str) -> Option<&'a InferredCallee> {
        let callee = self.callees.get(name)?;
        if !self.asked.contains(name) {
            self.asked.insert(name.to_owned());
        }
        Some(callee)
    }

    fn call(&mut self, name: &str, args: &[ExprSyntax]) -> InferredKind {
        let args = self.all(args);
        let (plain, on_complex) = (self.callee(name), self.callee(&format!("{name}{ON_COMPLEX}")));
        let is_complex = || args.iter().any(InferredKind::is_complex);
        if let Some(callee) = on_complex.filter(|_| plain.is_none() || is_complex()).or(plain) {
            let over_arrays = callee.over_arrays.clone().map(InferredKind::Kind);
            let over_arrays = over_arrays.filter(|_| args.iter().any(InferredKind::is_array));
            return over_arrays.unwrap_or_else(|| callee.result.clone());
        }
        match Builtin::by_name(name) {
            // One of its values, like those of an `if`.
            Some(Builtin::Select) => InferredKind::common(args.into_iter().skip(1)),
            Some(builtin) => self.result(StagedOperation::Builtin(builtin), args),
            None => InferredKind::Nothing,
        }
    }
}
