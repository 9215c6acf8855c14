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
    staging::{Builtin, Known, Operator},
};

use super::ast::{Block, Expr, ExprKind, Function, Pattern, Statement, StatementKind, Transformed};
use super::lower::{Fields, ON_COMPLEX};

impl Known {
    /// Returns the kind as that of an operand of an operator: arrays of literals are real there.
    fn operand(self) -> Known {
        if self == Known::Literals { Known::Kind(Kind::Array(Element::Real)) } else { self }
    }
    /// Returns the kind of the result of an operator on two numbers or arrays.
    fn meet(self, op: Operator, other: Known) -> Known {
        match (self.operand(), other.operand()) {
            // An inexact quotient of literals is a real number; one of computed literals is that of
            // ints.
            (Known::Literal(Some(a)), Known::Literal(Some(b))) => {
                op.on_literals(a, b).map_or(Known::Kind(Kind::Real), |n| Known::Literal(Some(n)))
            }
            (Known::Literal(_), Known::Literal(_)) if op == Operator::Div => Known::Kind(Kind::Int),
            (Known::Kind(a), Known::Kind(b))
                if [&a, &b].iter().any(|k| matches!(k, Kind::Array(_))) =>
            {
                let complex = |k: &Kind| matches!(k, Kind::Complex | Kind::Array(Element::Complex));
                Known::Kind(Kind::Array(if complex(&a) || complex(&b) {
                    Element::Complex
                } else {
                    Element::Real
                }))
            }
            (a, b) => a.join(b),
        }
    }
    fn anonymous(self) -> Known {
        match self {
            Known::Literal(_) => Known::Literal(None),
            Known::Tuple(_) => self.settled(),
            known => known,
        }
    }
    /// Returns the kind of an element of an array.
    fn element(self) -> Known {
        match self {
            Known::Literals => Known::Literal(None),
            Known::Kind(Kind::Array(e)) => Known::Kind(e.kind()),
            _ => Known::Nothing,
        }
    }
}

/// Inference over one function.
pub(super) struct Infer<'a> {
    pub(super) results: &'a HashMap<String, Known>,
    /// The kinds of the parameters of each function.
    params: &'a HashMap<String, Vec<Kind>>,
    /// Registered functions of numbers, with the kind of their result when they are called with
    /// arrays.
    elementwise: &'a HashMap<String, Kind>,
    pub(super) structs: &'a HashMap<String, Kind>,
    pub(super) fields: &'a Fields,
    /// Functions whose results were looked up.
    pub(super) asked: HashSet<String>,
    scopes: Vec<HashMap<String, Known>>,
    returned: Known,
}

impl<'a> Infer<'a> {
    pub(super) fn new(
        results: &'a HashMap<String, Known>,
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
            returned: Known::Nothing,
        }
    }

    /// Infers the kind of the result of a function, as far as it is known.
    pub(super) fn function(
        &mut self,
        f: &Function,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> Known {
        let mut scope = HashMap::new();
        for (name, kind) in &f.params {
            let kind = kind.as_ref().map_or(Some(Kind::Real), kinds);
            scope.insert(name.text.clone(), kind.map_or(Known::Nothing, Known::Kind));
        }
        self.scopes = vec![scope];
        self.returned = Known::Nothing;
        let tail = self.block(&f.body, kinds);
        let returned = std::mem::replace(&mut self.returned, Known::Nothing);
        // The value of a literal is not propagated: callers get an int.
        returned.join(tail).anonymous()
    }

    fn block(
        &mut self,
        block: &Block,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> Known {
        self.scopes.push(HashMap::new());
        for statement in &block.statements {
            self.statement(statement, kinds);
        }
        let tail = block.tail.as_ref().map_or(Known::Nothing, |t| self.expr(t, kinds));
        self.scopes.pop();
        tail
    }

    fn define(&mut self, name: &str, known: Known) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name.to_owned(), known.settled());
        }
    }

    fn statement(&mut self, s: &Statement, kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>) {
        match &s.kind {
            StatementKind::Let { pattern, kind, value } => {
                let given = kind.as_ref().and_then(kinds).map(Known::Kind);
                let known = self.expr(value, kinds);
                let known = given.unwrap_or(known).settled();
                match pattern {
                    Pattern::Name { name, .. } => self.define(&name.text, known),
                    Pattern::Tuple(names) => {
                        for (k, (name, _)) in names.iter().enumerate() {
                            let field = known
                                .kind()
                                .and_then(|t| t.fields().get(k))
                                .map(|f| f.kind.clone());
                            self.define(&name.text, field.map_or(Known::Nothing, Known::Kind));
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
                self.define(&variable.text, Known::Kind(Kind::Int));
                self.block(body, kinds);
                self.scopes.pop();
            }
            StatementKind::Return(value) => {
                let known = value.as_ref().map_or(Known::Nothing, |v| self.expr(v, kinds));
                let before = std::mem::replace(&mut self.returned, Known::Nothing);
                self.returned = before.join(known);
            }
            StatementKind::Expr(e) => {
                self.expr(e, kinds);
            }
        }
    }

    fn expr(&mut self, e: &Expr, kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>) -> Known {
        deep(|| self.deep_expr(e, kinds))
    }

    fn deep_expr(
        &mut self,
        e: &Expr,
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> Known {
        let known = Known::Kind;
        match &e.kind {
            ExprKind::Int(n) => Known::Literal(Some(*n)),
            ExprKind::Real(_) => known(Kind::Real),
            ExprKind::Bool(_) | ExprKind::Not(_) | ExprKind::Logic(..) => known(Kind::Bool),
            ExprKind::None => Known::Nothing,
            ExprKind::Name(n) => {
                self.scopes.iter().rev().find_map(|s| s.get(n).cloned()).unwrap_or(Known::Nothing)
            }
            ExprKind::Neg(e) => match self.expr(e, kinds) {
                Known::Literal(n) => Known::Literal(n.and_then(i64::checked_neg)),
                known => known,
            },
            ExprKind::Chain(first, more) => match more.first() {
                Some((Operator::Compare(_), _, second)) => {
                    let both =
                        [self.expr(first, kinds), self.expr(second, kinds)].map(Known::operand);
                    let is_array = |known: &Known| matches!(known, Known::Kind(Kind::Array(_)));
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
            ExprKind::Call(name, args) => self.call(&name.text, args, kinds),
            ExprKind::Apply(transformed, args) => {
                args.iter().for_each(|a| drop(self.expr(a, kinds)));
                self.transformed(transformed).map_or(Known::Nothing, known)
            }
            ExprKind::Index(xs, _) | ExprKind::Element(xs, _) => self.expr(xs, kinds).element(),
            ExprKind::Field(e, name) => {
                let fields = self.expr(e, kinds).settled();
                let find = |k: &Kind| {
                    self.fields.number(k, &name.text).map(|number| k.fields()[number].kind.clone())
                };
                fields.kind().and_then(find).map_or(Known::Nothing, known)
            }
            ExprKind::TupleField(e, k) => {
                let tuple = match self.expr(e, kinds) {
                    Known::Tuple(items) => {
                        return items.into_iter().nth(*k).unwrap_or(Known::Nothing);
                    }
                    tuple => tuple,
                };
                let field = tuple.kind().and_then(|t| t.fields().get(*k)).map(|f| f.kind.clone());
                field.map_or(Known::Nothing, known)
            }
            ExprKind::Array(items) => {
                let items: Vec<Known> = items.iter().map(|e| self.expr(e, kinds)).collect();
                // Real arrays are promoted if others are complex.
                let complex = Known::Kind(Kind::Array(Element::Complex));
                if items.contains(&complex) {
                    return complex;
                }
                let empty = items.is_empty();
                self.array(items.into_iter().fold(Known::Nothing, Known::join), empty)
            }
            ExprKind::Repeat(x, _) => {
                let element = self.expr(x, kinds);
                self.array(element, false)
            }
            ExprKind::Tuple(items) => {
                Known::tuple(items.iter().map(|e| self.expr(e, kinds)).collect())
            }
            ExprKind::Struct(name, _) => {
                self.structs.get(&name.text).cloned().map_or(Known::Nothing, known)
            }
            ExprKind::If(arms, last) => {
                let mut sum = Known::Nothing;
                for (_, body) in arms {
                    sum = sum.join(self.block(body, kinds));
                }
                match last {
                    Some(body) => sum.join(self.block(body, kinds)),
                    None => Known::Nothing,
                }
            }
            ExprKind::Block(body) => self.block(body, kinds),
        }
    }

    /// Returns the kind of an array of such elements; an empty one is of real numbers.
    fn array(&self, element: Known, empty: bool) -> Known {
        match element {
            Known::Kind(k @ Kind::Array(Element::Real | Element::Complex)) => Known::Kind(k),
            // Rows of literals are real numbers.
            Known::Literals | Known::Kind(Kind::Array(Element::Int)) => {
                Known::Kind(Kind::Array(Element::Real))
            }
            Known::Kind(k) => {
                Element::of(&k).map_or(Known::Nothing, |e| Known::Kind(Kind::Array(e)))
            }
            Known::Literal(_) => Known::Literals,
            Known::Nothing if empty => Known::Kind(Kind::Array(Element::Real)),
            Known::Tuple(_) | Known::Nothing => Known::Nothing,
        }
    }

    /// Infers the result of a transform, from the known kinds of the function.
    fn transformed(&mut self, of: &Transformed) -> Option<Kind> {
        let name = &of.function.text;
        self.asked.insert(name.clone());
        let result = self.results.get(name).cloned().map(Known::settled);
        // A gradient requires a real result.
        let gives_real = !matches!(of.transforms.first()?, Transform::Jvp | Transform::Vjp);
        let real = gives_real.then_some(Kind::Real);
        let mut result = result.as_ref().and_then(Known::kind).cloned().or(real)?;
        let mut params = self.params.get(name).cloned().unwrap_or_default();
        for transform in &of.transforms {
            (params, result) = transform.signature(&params, &result).ok()?;
        }
        Some(result)
    }

    fn call(
        &mut self,
        name: &str,
        args: &[Expr],
        kinds: &dyn Fn(&super::ast::KindExpr) -> Option<Kind>,
    ) -> Known {
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
        let args: Vec<Known> = args.iter().map(|a| self.expr(a, kinds)).collect();
        if known.is_some() || on_complex.is_some() {
            let is_complex =
                |k: &Known| matches!(k, Known::Kind(Kind::Complex | Kind::Array(Element::Complex)));
            let is_array = |k: &Known| matches!(k, Known::Literals | Known::Kind(Kind::Array(_)));
            let complex = known.is_none() || args.iter().any(is_complex);
            let (name, known) = match (known, on_complex) {
                (_, Some(on_complex)) if complex => (complex_name.as_str(), on_complex),
                (known, on_complex) => (name, known.or(on_complex).unwrap_or(&Known::Nothing)),
            };
            let over = self.elementwise.get(name).filter(|_| args.iter().any(is_array));
            return over.map_or_else(|| known.clone(), |kind| Known::Kind(kind.clone()));
        }
        if let Some(builtin) = Builtin::by_name(name) {
            // Literals are real numbers if they are combined with an array.
            let kind = |(k, known): (usize, &Known)| match (known, builtin.hint(k)) {
                (Known::Kind(kind), _) => Some(kind.clone()),
                (Known::Literal(_), hint) => {
                    Some(if hint.is_none() { Kind::Real } else { Kind::Int })
                }
                (Known::Literals, Some(hint @ Kind::Array(_))) => Some(hint),
                (Known::Literals, _) => Some(Kind::Array(Element::Real)),
                (Known::Tuple(_) | Known::Nothing, _) => None,
            };
            let kinds: Option<Vec<Kind>> = args.iter().enumerate().map(kind).collect();
            if let Some(kind) = kinds.and_then(|kinds| builtin.on_arrays(&kinds)) {
                return Known::Kind(kind);
            }
        }
        let joined = || args.iter().cloned().fold(Known::Nothing, Known::join);
        let real =
            |k: Known| if matches!(k, Known::Literal(_)) { Known::Kind(Kind::Real) } else { k };
        match Builtin::by_name(name) {
            Some(Builtin::Number1(_) | Builtin::Number2(_)) => real(joined()),
            Some(Builtin::MinMax(..)) => joined(),
            Some(Builtin::Powi) => real(args.first().cloned().unwrap_or(Known::Nothing)),
            Some(Builtin::Select) => args.into_iter().skip(1).fold(Known::Nothing, Known::join),
            Some(Builtin::Sum) => match args.first().cloned().map(Known::operand) {
                Some(Known::Kind(Kind::Array(e))) => Known::Kind(e.kind()),
                _ => Known::Nothing,
            },
            Some(Builtin::Len) => Known::Kind(Kind::Int),
            Some(Builtin::Complex | Builtin::Conj) => Known::Kind(Kind::Complex),
            Some(Builtin::Mixed(op)) => Known::Kind(op.signature().1),
            Some(Builtin::Int1(_) | Builtin::Int2(_) | Builtin::Key) => Known::Kind(Kind::Int),
            Some(Builtin::Split) => Known::Kind(Kind::tuple([Kind::Int, Kind::Int])),
            Some(Builtin::OnArrays(_) | Builtin::Composed(_)) => Known::Nothing,
            Some(Builtin::Compare(_) | Builtin::CompareInt(_)) => Known::Kind(Kind::Bool),
            Some(_) => Known::Kind(Kind::Real),
            None => Known::Nothing,
        }
    }
}
