//! Untyped literals, which consist of literal integers and have no kind yet: `[1, 2]`, `[0; n]`,
//! `(1, x)`, `if c { 1 } else { 2 }`, `[1, 2][i]`.
//!
//! Like a single literal they take the kind that fits: real numbers in `sum([1, 2])`, in
//! `sqrt(if c { 1 } else { 2 })` and with `0.5`, complex ones with complex ones, ints where nothing
//! else is expected. A written literal is kept as written until its kind is known, and only then
//! becomes instructions; a computed one is an int, which a promotion converts to another number.

use crate::{
    entity::Value,
    ir::{Element, Kind, Mixed, Op, Position},
};

use super::{InferredKind, StagedOperand, StagingBuilder, TypeMismatch, known::is_plain_tuple};

/// Untyped literal, by its number among those of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct UntypedLiteral(usize);

/// Form in which it is written, and its position.
#[derive(Clone, Debug)]
pub(super) struct WrittenLiteral {
    form: LiteralForm,
    at: Position,
}

#[derive(Clone, Debug)]
enum LiteralForm {
    /// `[1, 2]`
    List(Vec<i64>),
    /// `[0; n]`
    Fill(i64, Value),
    /// `(1, x)`
    Tuple(Vec<StagedOperand>),
    /// A computed value whose literals are ints, and its inferred kind, which tells the parts that
    /// are literals.
    Computed(Value, InferredKind),
}

impl StagingBuilder {
    /// Builds `[1, 2]`, if all are literals and there are some.
    pub(super) fn literal_list(&mut self, items: &[StagedOperand]) -> Option<StagedOperand> {
        let one = |g: &StagedOperand| match g {
            StagedOperand::Literal(n) => Some(*n),
            _ => None,
        };
        let list =
            items.iter().map(one).collect::<Option<Vec<i64>>>().filter(|list| !list.is_empty())?;
        Some(self.written(LiteralForm::List(list)))
    }

    /// Builds `[x; n]`.
    pub(super) fn literal_fill(&mut self, x: i64, n: Value) -> StagedOperand {
        self.written(LiteralForm::Fill(x, n))
    }

    /// Builds `(a, b)`, if one of the fields is untyped.
    pub(super) fn open_tuple(&mut self, items: &[StagedOperand]) -> Option<StagedOperand> {
        let open = items.iter().any(|g| self.known(*g).is_open());
        open.then(|| self.written(LiteralForm::Tuple(items.to_vec())))
    }

    /// Builds a computed value of which the parts that are known as literals may still become other
    /// numbers.
    pub(super) fn computed(&mut self, value: Value, known: InferredKind) -> StagedOperand {
        if known.is_open() {
            self.written(LiteralForm::Computed(value, known))
        } else {
            StagedOperand::Value(value)
        }
    }

    fn written(&mut self, form: LiteralForm) -> StagedOperand {
        self.open.push(WrittenLiteral { form, at: self.b.position() });
        StagedOperand::Untyped(UntypedLiteral(self.open.len() - 1))
    }

    fn form(&self, open: UntypedLiteral) -> Option<&LiteralForm> {
        self.open.get(open.0).map(|written| &written.form)
    }

    /// Returns the inferred kind.
    pub(crate) fn known(&self, given: StagedOperand) -> InferredKind {
        match given {
            StagedOperand::Literal(n) => InferredKind::Literal(Some(n)),
            StagedOperand::Value(v) => InferredKind::Kind(self.b.kind(v).clone()),
            StagedOperand::Nothing => InferredKind::Nothing,
            StagedOperand::Untyped(open) => match self.form(open) {
                Some(LiteralForm::List(_) | LiteralForm::Fill(..)) => InferredKind::Literals(true),
                Some(LiteralForm::Tuple(items)) => {
                    InferredKind::Tuple(items.iter().map(|g| self.known(*g)).collect())
                }
                Some(LiteralForm::Computed(_, known)) => known.clone(),
                None => InferredKind::Nothing,
            },
        }
    }

    /// Returns the kind that it has as the value of a variable.
    #[must_use]
    pub fn kind(&self, given: StagedOperand) -> Option<Kind> {
        self.known(given).settled().kind().cloned()
    }

    /// Returns true if it consists of literals, and is a number.
    pub(super) fn is_literal(&self, given: StagedOperand) -> bool {
        matches!(self.known(given), InferredKind::Literal(_))
    }

    /// Returns true if it consists of literals, and is an array.
    pub(super) fn is_literal_array(&self, given: StagedOperand) -> bool {
        matches!(self.known(given), InferredKind::Literals(_))
    }

    /// Negates an array of literals, if each result is an int.
    pub(super) fn negative_literals(&mut self, open: UntypedLiteral) -> Option<StagedOperand> {
        let form = match self.form(open)? {
            LiteralForm::List(list) => {
                LiteralForm::List(list.iter().map(|n| n.checked_neg()).collect::<Option<_>>()?)
            }
            LiteralForm::Fill(x, n) => LiteralForm::Fill(x.checked_neg()?, *n),
            LiteralForm::Tuple(_) | LiteralForm::Computed(..) => return None,
        };
        Some(self.written(form))
    }

    /// Returns the k-th field of an untyped tuple.
    pub(super) fn open_field(&mut self, open: UntypedLiteral, k: usize) -> Option<StagedOperand> {
        match self.form(open)?.clone() {
            LiteralForm::Tuple(items) => items.get(k).copied(),
            LiteralForm::Computed(tuple, InferredKind::Tuple(parts)) => {
                let part = parts.into_iter().nth(k)?;
                let field = self.b.field(tuple, k);
                Some(self.computed(field, part))
            }
            _ => None,
        }
    }

    /// Converts to a value of the given kind. The instructions have the position at which the
    /// literal is written.
    pub(super) fn decide(
        &mut self,
        open: UntypedLiteral,
        kind: &Kind,
    ) -> Result<Value, TypeMismatch> {
        let Some(WrittenLiteral { form, at }) = self.open.get(open.0).cloned() else {
            return Err(TypeMismatch::nothing());
        };
        match (form, kind) {
            (LiteralForm::List(list), Kind::Array(element)) => Ok(self.written_at(at, |s| {
                let items: Vec<Value> =
                    list.into_iter().map(|n| s.element_of(n, *element)).collect();
                s.b.inst(Op::Array, &items, kind.clone())
            })),
            (LiteralForm::Fill(x, n), Kind::Array(element)) => Ok(self.written_at(at, |s| {
                let x = s.element_of(x, *element);
                s.b.inst(Op::Fill, &[x, n], kind.clone())
            })),
            (LiteralForm::Tuple(items), kind) if is_plain_tuple(kind, items.len()) => self
                .written_at(at, |s| {
                    let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
                    let fields = s.fit_all(&items, &kinds)?;
                    Ok(s.b.plain_tuple(&fields))
                }),
            (LiteralForm::Computed(value, _), kind) if self.b.kind(value) == kind => Ok(value),
            (
                LiteralForm::Computed(value, InferredKind::Literal(_)),
                Kind::Real | Kind::Complex,
            )
            | (
                LiteralForm::Computed(value, InferredKind::Literals(_)),
                Kind::Array(Element::Real | Element::Complex),
            ) => {
                let real = self.b.mixed(Mixed::FromInt, &[value]);
                self.fit(StagedOperand::Value(real), kind)
            }
            (LiteralForm::Computed(_, InferredKind::Tuple(parts)), kind)
                if is_plain_tuple(kind, parts.len()) =>
            {
                let fields: Vec<StagedOperand> =
                    (0..parts.len()).filter_map(|k| self.open_field(open, k)).collect();
                let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
                let fields = self.fit_all(&fields, &kinds)?;
                Ok(self.b.plain_tuple(&fields))
            }
            _ => {
                let given = self
                    .kind(StagedOperand::Untyped(open))
                    .map_or("nothing".into(), |k| k.to_string());
                Err(TypeMismatch { operand: 0, given, expected: kind.to_string(), hint: "" })
            }
        }
    }

    fn element_of(&mut self, n: i64, element: Element) -> Value {
        if element == Element::Int {
            self.b.int(n)
        } else {
            self.b.number(n as f64, &element.kind())
        }
    }

    fn written_at<T>(&mut self, at: Position, write: impl FnOnce(&mut StagingBuilder) -> T) -> T {
        let here = self.b.position();
        self.b.set_position(at);
        let written = write(self);
        self.b.set_position(here);
        written
    }
}
