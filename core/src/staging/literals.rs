//! Arrays of literal integers: `[1, 2]`, `[0; n]`.
//!
//! Like a literal alone, they take the kind that fits: real numbers in `sum([1, 2])` and beside `[0.5, 1.0]`, complex ones
//! beside complex ones, ints where nothing else is asked for. So they are kept as written until that is known, and only
//! then become instructions.

use crate::{
    entity::Value,
    ir::{Element, Kind, Op, Position},
};

use super::{Given, Stage};

/// An array of literal integers, by its number among those of a function.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Literals(usize);

/// How it is written, and where.
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
}

impl Stage {
    /// `[1, 2]`, if all are literals and there are some.
    pub(super) fn literal_list(&mut self, items: &[Given]) -> Option<Given> {
        let one = |g: &Given| match g {
            Given::Literal(n) => Some(*n),
            _ => None,
        };
        let list = items.iter().map(one).collect::<Option<Vec<i64>>>().filter(|list| !list.is_empty())?;
        Some(self.written(Form::List(list)))
    }

    /// `[x; n]`
    pub(super) fn literal_fill(&mut self, x: i64, n: Value) -> Given {
        self.written(Form::Fill(x, n))
    }

    fn written(&mut self, form: Form) -> Given {
        self.literals.push(Written { form, at: self.b.position() });
        Given::Literals(Literals(self.literals.len() - 1))
    }

    /// With the other sign, if that is an int for each.
    pub(super) fn negative_literals(&mut self, all: Literals) -> Option<Given> {
        let form = match &self.literals.get(all.0)?.form {
            Form::List(list) => Form::List(list.iter().map(|n| n.checked_neg()).collect::<Option<_>>()?),
            Form::Fill(x, n) => Form::Fill(x.checked_neg()?, *n),
        };
        Some(self.written(form))
    }

    /// As an array of such elements. It stands where it was written.
    pub(super) fn literals(&mut self, all: Literals, element: Element) -> Value {
        let here = self.b.position();
        let written = self.literals.get(all.0).cloned();
        let Written { form, at } = written.unwrap_or(Written { form: Form::List(Vec::new()), at: here });
        self.b.set_position(at);
        let kind = element.kind();
        let mut one =
            |n: i64| if element == Element::Int { self.b.int(n) } else { self.b.number(n as f64, &kind) };
        let (op, args) = match form {
            Form::List(list) => (Op::Array, list.into_iter().map(one).collect()),
            Form::Fill(x, n) => (Op::Fill, vec![one(x), n]),
        };
        let array = self.b.inst(op, &args, Kind::Array(element));
        self.b.set_position(here);
        array
    }
}
