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

use super::{Given, Known, Misfit, Stage, known::is_plain_tuple};

/// Untyped literal, by its number among those of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Open(usize);

/// Form in which it is written, and its position.
#[derive(Clone, Debug)]
pub(super) struct Written {
    form: Form,
    at: Position,
}

#[derive(Clone, Debug)]
enum Form {
    /// `[1, 2]`
    List(Vec<i64>),
    /// `[0; n]`
    Fill(i64, Value),
    /// `(1, x)`
    Tuple(Vec<Given>),
    /// A computed value whose literals are ints, and its inferred kind, which tells the parts that
    /// are literals.
    Computed(Value, Known),
}

impl Stage {
    /// Builds `[1, 2]`, if all are literals and there are some.
    pub(super) fn literal_list(&mut self, items: &[Given]) -> Option<Given> {
        let one = |g: &Given| match g {
            Given::Literal(n) => Some(*n),
            _ => None,
        };
        let list =
            items.iter().map(one).collect::<Option<Vec<i64>>>().filter(|list| !list.is_empty())?;
        Some(self.written(Form::List(list)))
    }

    /// Builds `[x; n]`.
    pub(super) fn literal_fill(&mut self, x: i64, n: Value) -> Given {
        self.written(Form::Fill(x, n))
    }

    /// Builds `(a, b)`, if one of the fields is untyped.
    pub(super) fn open_tuple(&mut self, items: &[Given]) -> Option<Given> {
        let open = items.iter().any(|g| self.known(*g).is_open());
        open.then(|| self.written(Form::Tuple(items.to_vec())))
    }

    /// Builds a computed value of which the parts that are known as literals may still become other
    /// numbers.
    pub(super) fn computed(&mut self, value: Value, known: Known) -> Given {
        if known.is_open() {
            self.written(Form::Computed(value, known))
        } else {
            Given::Value(value)
        }
    }

    fn written(&mut self, form: Form) -> Given {
        self.open.push(Written { form, at: self.b.position() });
        Given::Open(Open(self.open.len() - 1))
    }

    fn form(&self, open: Open) -> Option<&Form> {
        self.open.get(open.0).map(|written| &written.form)
    }

    /// Returns the inferred kind.
    pub(crate) fn known(&self, given: Given) -> Known {
        match given {
            Given::Literal(n) => Known::Literal(Some(n)),
            Given::Value(v) => Known::Kind(self.b.kind(v).clone()),
            Given::Nothing => Known::Nothing,
            Given::Open(open) => match self.form(open) {
                Some(Form::List(_) | Form::Fill(..)) => Known::Literals,
                Some(Form::Tuple(items)) => {
                    Known::Tuple(items.iter().map(|g| self.known(*g)).collect())
                }
                Some(Form::Computed(_, known)) => known.clone(),
                None => Known::Nothing,
            },
        }
    }

    /// Returns the kind that it has as the value of a variable.
    #[must_use]
    pub fn kind(&self, given: Given) -> Option<Kind> {
        self.known(given).settled().kind().cloned()
    }

    /// Returns true if it consists of literals, and is a number.
    pub(super) fn is_literal(&self, given: Given) -> bool {
        matches!(self.known(given), Known::Literal(_))
    }

    /// Negates an array of literals, if each result is an int.
    pub(super) fn negative_literals(&mut self, open: Open) -> Option<Given> {
        let form = match self.form(open)? {
            Form::List(list) => {
                Form::List(list.iter().map(|n| n.checked_neg()).collect::<Option<_>>()?)
            }
            Form::Fill(x, n) => Form::Fill(x.checked_neg()?, *n),
            Form::Tuple(_) | Form::Computed(..) => return None,
        };
        Some(self.written(form))
    }

    /// Returns the k-th field of an untyped tuple.
    pub(super) fn open_field(&mut self, open: Open, k: usize) -> Option<Given> {
        match self.form(open)?.clone() {
            Form::Tuple(items) => items.get(k).copied(),
            Form::Computed(tuple, Known::Tuple(parts)) => {
                let part = parts.into_iter().nth(k)?;
                let field = self.b.field(tuple, k);
                Some(self.computed(field, part))
            }
            _ => None,
        }
    }

    /// Converts to a value of the given kind. The instructions have the position at which the
    /// literal is written.
    pub(super) fn decide(&mut self, open: Open, kind: &Kind) -> Result<Value, Misfit> {
        let Some(Written { form, at }) = self.open.get(open.0).cloned() else {
            return Err(Misfit::nothing());
        };
        match (form, kind) {
            (Form::List(list), Kind::Array(element)) => Ok(self.written_at(at, |s| {
                let items: Vec<Value> =
                    list.into_iter().map(|n| s.element_of(n, *element)).collect();
                s.b.inst(Op::Array, &items, kind.clone())
            })),
            (Form::Fill(x, n), Kind::Array(element)) => Ok(self.written_at(at, |s| {
                let x = s.element_of(x, *element);
                s.b.inst(Op::Fill, &[x, n], kind.clone())
            })),
            (Form::Tuple(items), kind) if is_plain_tuple(kind, items.len()) => {
                self.written_at(at, |s| {
                    let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
                    let fields = s.fit_all(&items, &kinds)?;
                    Ok(s.b.plain_tuple(&fields))
                })
            }
            (Form::Computed(value, _), kind) if self.b.kind(value) == kind => Ok(value),
            (Form::Computed(value, Known::Literal(_)), Kind::Real | Kind::Complex)
            | (
                Form::Computed(value, Known::Literals),
                Kind::Array(Element::Real | Element::Complex),
            ) => {
                let real = self.b.mixed(Mixed::FromInt, &[value]);
                self.fit(Given::Value(real), kind)
            }
            (Form::Computed(_, Known::Tuple(parts)), kind) if is_plain_tuple(kind, parts.len()) => {
                let fields: Vec<Given> =
                    (0..parts.len()).filter_map(|k| self.open_field(open, k)).collect();
                let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
                let fields = self.fit_all(&fields, &kinds)?;
                Ok(self.b.plain_tuple(&fields))
            }
            _ => {
                let given =
                    self.kind(Given::Open(open)).map_or("nothing".into(), |k| k.to_string());
                Err(Misfit { operand: 0, given, expected: kind.to_string(), hint: "" })
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

    fn written_at<T>(&mut self, at: Position, write: impl FnOnce(&mut Stage) -> T) -> T {
        let here = self.b.position();
        self.b.set_position(at);
        let written = write(self);
        self.b.set_position(here);
        written
    }
}
