//! Type inference: the kinds that functions return, where they are not written.
//!
//! A result's kind follows from the kinds of the parameters, which are known; but functions call
//! each other in any order, so the kinds are found as a fixed point: at first all are unknown, and
//! each iteration derives what follows from the last one. A kind that depends on an unknown result
//! is unknown too, and does not contradict anything. A function whose kind remains unknown only
//! calls itself; it counts as real.
//!
//! Errors are not reported here: lowering visits the same text again with all kinds known.

use std::collections::{HashMap, HashSet};

use crate::{
    adjoint::Transform,
    ir::{Element, Kind},
    stack::deep,
    staging::{Builtin, InferredKind, InfixOperator},
};

use super::ast::{
    BlockSyntax, ExprSyntax, ExprSyntaxKind, FunctionSyntax, PatternSyntax, Statement,
    StatementKind, Transformed,
};
use super::lower::{Fields, ON_COMPLEX};

impl InferredKind {
    /// Returns the kind as that of an operand of an operator: arrays of literals are real there.
    fn operand(self) -> InferredKind {
        if self == InferredKind::Literals {
            InferredKind::Kind(Kind::Array(Element::Real))
        } else {
            self
        }
    }
    /// Returns the kind of the result of an operator on two numbers or arrays.
    fn meet(self, op: InfixOperator, other: InferredKind) -> InferredKind {
        match (self.operand(), other.operand()) {
            // An inexact quotient of literals is a real number; one of computed literals is that of
            // ints.
            (InferredKind::Literal(Some(a)), InferredKind::Literal(Some(b))) => op
                .on_literals(a, b)
                .map_or(InferredKind::Kind(Kind::Real), |n| InferredKind::Literal(Some(n))),
            (InferredKind::Literal(_), InferredKind::Literal(_)) if op == InfixOperator::Div => {
                InferredKind::Kind(Kind::Int)
            }
            (InferredKind::Kind(a), InferredKind::Kind(b))
                if [&a, &b].iter().any(|k| matches!(k, Kind::Array(_))) =>
            {
                let complex = |k: &Kind| matches!(k, Kind::Complex | Kind::Array(Element::Complex));
                InferredKind::Kind(Kind::Array(if complex(&a) || complex(&b) {
                    Element::Complex
                } else {
                    Element::Real
                }))
            }
            (a, b) => a.join(b),
        }
    }
    fn anonymous(self) -> InferredKind {
        match self {
            InferredKind::Literal(_) => InferredKind::Literal(None),
            InferredKind::Tuple(_) => self.settled(),
            known => known,
        }
    }
    /// Returns the kind of an element of an array.
    fn element(self) -> InferredKind {
        match self {
            InferredKind::Literals => InferredKind::Literal(None),
            InferredKind::Kind(Kind::Array(e)) => InferredKind::Kind(e.kind()),
            _ => InferredKind::Nothing,
        }
    }
}

/// Inference over one function.
pub(super) struct Infer<'a> {
    pub(super) results: &'a HashMap<String, InferredKind>,
    /// The kinds of the parameters of each function.
    params: &'a HashMap<String, Vec<Kind>>,
    /// Registered functions of numbers, with the kind of their result when they are called with
    /// arrays.
    elementwise: &'a HashMap<String, Kind>,
    pub(super) structs: &'a HashMap<String, Kind>,
    pub(super) fields: &'a Fields,
    /// Functions whose results were looked up.
    pub(super) asked: HashSet<String>,
    scopes: Vec<HashMap<String, InferredKind>>,
    returned: InferredKind,
}

impl<'a> Infer<'a> {
    pub(super) fn new(
        results: &'a HashMap<String, InferredKind>,
        params: &'a HashMap<String, Vec<Kind>>,
        elementwise: &'a HashMap<String, Kind>,
        structs: &'a HashMap<String, Kind>,
        fields: &'a Fields,
    ) -> Infer<'a> {
        Infer {
            results,
            params,
            elementwise,
            structs,
            fields,
            asked: HashSet::new(),
            scopes: vec![],
            returned: InferredKind::Nothing,
        }
    }

    /// Infers the kind of the result of a function, as far as it is known.
    pub(super) fn function(
        &mut self,
        f: &FunctionSyntax,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> InferredKind {
        let mut scope = HashMap::new();
        for (name, kind) in &f.params {
            let kind = kind.as_ref().map_or(Some(Kind::Real), kinds);
            scope.insert(name.text.clone(), kind.map_or(InferredKind::Nothing, InferredKind::Kind));
        }
        self.scopes = vec![scope];
        self.returned = InferredKind::Nothing;
        let tail = self.block(&f.body, kinds);
        let returned = std::mem::replace(&mut self.returned, InferredKind::Nothing);
        // The value of a literal is not propagated: callers get an int.
        returned.join(tail).anonymous()
    }

    fn block(
        &mut self,
        block: &BlockSyntax,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> InferredKind {
        self.scopes.push(HashMap::new());
        for statement in &block.statements {
            self.statement(statement, kinds);
        }
        let tail = block.tail.as_ref().map_or(InferredKind::Nothing, |t| self.expr(t, kinds));
        self.scopes.pop();
        tail
    }

    fn define(&mut self, name: &str, known: InferredKind) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), known.settled());
        }
    }

    fn statement(&mut self, s: &Statement, kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>) {
        match &s.kind {
            StatementKind::Let { pattern, kind, value } => {
                let given = kind.as_ref().and_then(kinds).map(InferredKind::Kind);
                let known = self.expr(value, kinds);
                let known = given.unwrap_or(known).settled();
                match pattern {
                    PatternSyntax::Name { name, .. } => self.define(&name.text, known),
                    PatternSyntax::Tuple(names) => {
                        for (k, (name, _)) in names.iter().enumerate() {
                            let field = known
                                .kind()
                                .and_then(|t| t.fields().get(k))
                                .map(|f| f.kind.clone());
                            self.define(
                                &name.text,
                                field.map_or(InferredKind::Nothing, InferredKind::Kind),
                            );
                        }
                    }
                }
            }
            StatementKind::Assign { .. } | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::While { body, .. } => {
                self.block(body, kinds);
            }
            StatementKind::For { variable, body, .. } => {
                self.scopes.push(HashMap::new());
                self.define(&variable.text, InferredKind::Kind(Kind::Int));
                self.block(body, kinds);
                self.scopes.pop();
            }
            StatementKind::Return(value) => {
                let known = value.as_ref().map_or(InferredKind::Nothing, |v| self.expr(v, kinds));
                let before = std::mem::replace(&mut self.returned, InferredKind::Nothing);
                self.returned = before.join(known);
            }
            StatementKind::Expr(e) => {
                self.expr(e, kinds);
            }
        }
    }

    fn expr(
        &mut self,
        e: &ExprSyntax,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> InferredKind {
        deep(|| self.deep_expr(e, kinds))
    }

    fn deep_expr(
        &mut self,
        e: &ExprSyntax,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> InferredKind {
        let known = InferredKind::Kind;
        match &e.kind {
            ExprSyntaxKind::Int(n) => InferredKind::Literal(Some(*n)),
            ExprSyntaxKind::Real(_) => known(Kind::Real),
            ExprSyntaxKind::Bool(_) | ExprSyntaxKind::Not(_) | ExprSyntaxKind::Logic(..) => {
                known(Kind::Bool)
            }
            ExprSyntaxKind::None => InferredKind::Nothing,
            ExprSyntaxKind::Name(n) => self
                .scopes
                .iter()
                .rev()
                .find_map(|s| s.get(n).cloned())
                .unwrap_or(InferredKind::Nothing),
            ExprSyntaxKind::Neg(e) => match self.expr(e, kinds) {
                InferredKind::Literal(n) => InferredKind::Literal(n.and_then(i64::checked_neg)),
                known => known,
            },
            ExprSyntaxKind::Chain(first, more) => match more.first() {
                Some((InfixOperator::Compare(_), _, second)) => {
                    let both = [self.expr(first, kinds), self.expr(second, kinds)]
                        .map(InferredKind::operand);
                    let is_array =
                        |known: &InferredKind| matches!(known, InferredKind::Kind(Kind::Array(_)));
                    known(if both.iter().any(is_array) {
                        Kind::Array(Element::Real)
                    } else {
                        Kind::Bool
                    })
                }
                _ => more.iter().fold(self.expr(first, kinds), |left, (op, _, e)| {
                    let right = self.expr(e, kinds);
                    left.meet(*op, right)
                }),
            },
            ExprSyntaxKind::Call(name, args) => self.call(&name.text, args, kinds),
            ExprSyntaxKind::Apply(transformed, args) => {
                args.iter().for_each(|a| drop(self.expr(a, kinds)));
                self.transformed(transformed).map_or(InferredKind::Nothing, known)
            }
            ExprSyntaxKind::Index(xs, _) | ExprSyntaxKind::Element(xs, _) => {
                self.expr(xs, kinds).element()
            }
            ExprSyntaxKind::Field(e, name) => {
                let fields = self.expr(e, kinds).settled();
                let find = |k: &Kind| {
                    self.fields.number(k, &name.text).map(|number| k.fields()[number].kind.clone())
                };
                fields.kind().and_then(find).map_or(InferredKind::Nothing, known)
            }
            ExprSyntaxKind::TupleField(e, k) => {
                let tuple = match self.expr(e, kinds) {
                    InferredKind::Tuple(items) => {
                        return items.into_iter().nth(*k).unwrap_or(InferredKind::Nothing);
                    }
                    tuple => tuple,
                };
                let field = tuple.kind().and_then(|t| t.fields().get(*k)).map(|f| f.kind.clone());
                field.map_or(InferredKind::Nothing, known)
            }
            ExprSyntaxKind::Array(items) => {
                let items: Vec<InferredKind> = items.iter().map(|e| self.expr(e, kinds)).collect();
                // Real arrays are promoted if others are complex.
                let complex = InferredKind::Kind(Kind::Array(Element::Complex));
                if items.contains(&complex) {
                    return complex;
                }
                let empty = items.is_empty();
                self.array(items.into_iter().fold(InferredKind::Nothing, InferredKind::join), empty)
            }
            ExprSyntaxKind::Repeat(x, _) => {
                let element = self.expr(x, kinds);
                self.array(element, false)
            }
            ExprSyntaxKind::Tuple(items) => {
                InferredKind::tuple(items.iter().map(|e| self.expr(e, kinds)).collect())
            }
            ExprSyntaxKind::Struct(name, _) => {
                self.structs.get(&name.text).cloned().map_or(InferredKind::Nothing, known)
            }
            ExprSyntaxKind::If(arms, last) => {
                let mut sum = InferredKind::Nothing;
                for (_, body) in arms {
                    sum = sum.join(self.block(body, kinds));
                }
                match last {
                    Some(body) => sum.join(self.block(body, kinds)),
                    None => InferredKind::Nothing,
                }
            }
            ExprSyntaxKind::Block(body) => self.block(body, kinds),
        }
    }

    /// Returns the kind of an array of such elements; an empty one is of real numbers.
    fn array(&self, element: InferredKind, empty: bool) -> InferredKind {
        match element {
            InferredKind::Kind(k @ Kind::Array(Element::Real | Element::Complex)) => {
                InferredKind::Kind(k)
            }
            // Rows of literals are real numbers.
            InferredKind::Literals | InferredKind::Kind(Kind::Array(Element::Int)) => {
                InferredKind::Kind(Kind::Array(Element::Real))
            }
            InferredKind::Kind(k) => Element::from_kind(&k)
                .map_or(InferredKind::Nothing, |e| InferredKind::Kind(Kind::Array(e))),
            InferredKind::Literal(_) => InferredKind::Literals,
            InferredKind::Nothing if empty => InferredKind::Kind(Kind::Array(Element::Real)),
            InferredKind::Tuple(_) | InferredKind::Nothing => InferredKind::Nothing,
        }
    }

    /// Infers the result of a transform, from the known kinds of the function.
    fn transformed(&mut self, of: &Transformed) -> Option<Kind> {
        let name = &of.function.text;
        self.asked.insert(name.clone());
        let result = self.results.get(name).cloned().map(InferredKind::settled);
        // A gradient requires a real result.
        let gives_real = !matches!(of.transforms.first()?, Transform::Jvp | Transform::Vjp);
        let real = gives_real.then_some(Kind::Real);
        let mut result = result.as_ref().and_then(InferredKind::kind).cloned().or(real)?;
        let mut params = self.params.get(name).cloned().unwrap_or_default();
        for transform in &of.transforms {
            (params, result) = transform.signature(&params, &result).ok()?;
        }
        Some(result)
    }

    fn call(
        &mut self,
        name: &str,
        args: &[ExprSyntax],
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> InferredKind {
        let (known, complex_name) = (self.results.get(name), format!("{name}{ON_COMPLEX}"));
        let on_complex = self.results.get(&complex_name);
        for (asked, is_there) in [(name, known.is_some()), (&complex_name, on_complex.is_some())] {
            if is_there && !self.asked.contains(asked) {
                self.asked.insert(asked.to_owned());
            }
        }
        if let (Some(known), None, None) = (known, on_complex, self.elementwise.get(name)) {
            return known.clone();
        }
        let args: Vec<InferredKind> = args.iter().map(|a| self.expr(a, kinds)).collect();
        if known.is_some() || on_complex.is_some() {
            let is_complex = |k: &InferredKind| {
                matches!(k, InferredKind::Kind(Kind::Complex | Kind::Array(Element::Complex)))
            };
            let is_array = |k: &InferredKind| {
                matches!(k, InferredKind::Literals | InferredKind::Kind(Kind::Array(_)))
            };
            let complex = known.is_none() || args.iter().any(is_complex);
            let (name, known) = match (known, on_complex) {
                (_, Some(on_complex)) if complex => (complex_name.as_str(), on_complex),
                (known, on_complex) => {
                    (name, known.or(on_complex).unwrap_or(&InferredKind::Nothing))
                }
            };
            let over = self.elementwise.get(name).filter(|_| args.iter().any(is_array));
            return over.map_or_else(|| known.clone(), |kind| InferredKind::Kind(kind.clone()));
        }
        if let Some(builtin) = Builtin::by_name(name) {
            // Literals are real numbers if they are combined with an array.
            let kind = |(k, known): (usize, &InferredKind)| match (known, builtin.hint(k)) {
                (InferredKind::Kind(kind), _) => Some(kind.clone()),
                (InferredKind::Literal(_), hint) => {
                    Some(if hint.is_none() { Kind::Real } else { Kind::Int })
                }
                (InferredKind::Literals, Some(hint @ Kind::Array(_))) => Some(hint),
                (InferredKind::Literals, _) => Some(Kind::Array(Element::Real)),
                (InferredKind::Tuple(_) | InferredKind::Nothing, _) => None,
            };
            let kinds: Option<Vec<Kind>> = args.iter().enumerate().map(kind).collect();
            if let Some(kind) = kinds.and_then(|kinds| builtin.on_arrays(&kinds)) {
                return InferredKind::Kind(kind);
            }
        }
        let joined = || args.iter().cloned().fold(InferredKind::Nothing, InferredKind::join);
        let real = |k: InferredKind| {
            if matches!(k, InferredKind::Literal(_)) { InferredKind::Kind(Kind::Real) } else { k }
        };
        match Builtin::by_name(name) {
            Some(Builtin::Number1(_) | Builtin::Number2(_)) => real(joined()),
            Some(Builtin::MinMax(..)) => joined(),
            Some(Builtin::Powi) => real(args.first().cloned().unwrap_or(InferredKind::Nothing)),
            Some(Builtin::Select) => {
                args.into_iter().skip(1).fold(InferredKind::Nothing, InferredKind::join)
            }
            Some(Builtin::Sum) => match args.first().cloned().map(InferredKind::operand) {
                Some(InferredKind::Kind(Kind::Array(e))) => InferredKind::Kind(e.kind()),
                _ => InferredKind::Nothing,
            },
            Some(Builtin::Len) => InferredKind::Kind(Kind::Int),
            Some(Builtin::Complex | Builtin::Conj) => InferredKind::Kind(Kind::Complex),
            Some(Builtin::Mixed(op)) => InferredKind::Kind(op.signature().1),
            Some(Builtin::Int1(_) | Builtin::Int2(_) | Builtin::Key) => {
                InferredKind::Kind(Kind::Int)
            }
            Some(Builtin::Split) => InferredKind::Kind(Kind::tuple([Kind::Int, Kind::Int])),
            Some(Builtin::OnArrays(_) | Builtin::Composed(_)) => InferredKind::Nothing,
            Some(Builtin::Compare(_) | Builtin::CompareInt(_)) => InferredKind::Kind(Kind::Bool),
            Some(_) => InferredKind::Kind(Kind::Real),
            None => InferredKind::Nothing,
        }
    }
}
