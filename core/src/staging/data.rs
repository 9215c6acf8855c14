//! Arrays, tuples and structs.

use crate::ir::{Element, Kind, Op};

use super::{Given, MAX_LEAVES, Misfit, Stage};

impl Stage {
    /// `[a, b, …]`. The elements are of kind `hint` if given; else complex if one is, ints if one is or all
    /// are literals, and real otherwise.
    ///
    /// # Errors
    /// An element does not fit.
    pub fn array(&mut self, items: &[Given], hint: Option<Element>) -> Result<Given, Misfit> {
        let kind = match hint {
            Some(element) => element.kind(),
            None if items.is_empty() => Kind::Real,
            None if items.iter().any(|g| self.is(*g, &Kind::Int)) => Kind::Int,
            None => self.common(items, None),
        };
        let element = Element::of(&kind);
        let kinds = vec![kind; items.len()];
        let values = self.fit_all(items, &kinds)?;
        let Some(element) = element else {
            return Err(Misfit::new(&kinds[0], "a number"));
        };
        Ok(Given::Value(self.b.inst(Op::Array, &values, Kind::Array(element))))
    }

    /// `[x; n]`, with elements of kind `hint` if given.
    ///
    /// # Errors
    /// The element does not fit, or `n` is no int.
    pub fn fill(&mut self, x: Given, n: Given, hint: Option<Element>) -> Result<Given, Misfit> {
        let x = match hint {
            Some(element) => self.fit(x, &element.kind())?,
            None => self.value(x)?,
        };
        let kind = self.b.kind(x);
        let element = Element::of(kind).ok_or_else(|| Misfit::new(kind, "a number"))?;
        let n = self.fit(n, &Kind::Int).map_err(|e| e.of(1))?;
        Ok(Given::Value(self.b.inst(Op::Fill, &[x, n], Kind::Array(element))))
    }

    /// `xs[i]`
    ///
    /// # Errors
    /// There is no array, or the index is no int.
    pub fn index(&mut self, xs: Given, i: Given) -> Result<Given, Misfit> {
        let xs = self.value(xs)?;
        if !matches!(self.b.kind(xs), Kind::Array(_)) {
            return Err(Misfit::new(self.b.kind(xs), "an array"));
        }
        let i = self.fit(i, &Kind::Int).map_err(|e| e.of(1))?;
        Ok(Given::Value(self.b.get(xs, i)))
    }

    /// `(a, b, …)`, the fields of the kinds of `hint` if given.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn tuple(&mut self, items: &[Given], hint: Option<&Kind>) -> Result<Given, Misfit> {
        let mut values = Vec::with_capacity(items.len());
        for (k, item) in items.iter().enumerate() {
            let value = match hint.and_then(|h| h.fields().get(k)) {
                Some(field) => self.fit(*item, &field.kind),
                None => self.value(*item),
            };
            values.push(value.map_err(|e| e.of(k))?);
        }
        let leaves: usize = values.iter().map(|v| self.b.kind(*v).n_leaves()).sum();
        if leaves > MAX_LEAVES {
            let given = format!("a tuple of {leaves} values");
            let expected = format!("at most {MAX_LEAVES}: put numbers of one kind in an array");
            return Err(Misfit { operand: 0, given, expected, hint: "" });
        }
        Ok(Given::Value(self.b.plain_tuple(&values)))
    }

    /// `Point { x: a, y: b }`: the fields of a struct kind, in its order.
    ///
    /// # Errors
    /// A field does not fit.
    pub fn structure(&mut self, kind: &Kind, fields: &[Given]) -> Result<Given, Misfit> {
        let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
        let values = self.fit_all(fields, &kinds)?;
        Ok(Given::Value(self.b.tuple(&values, kind.clone())))
    }

    /// The k-th field of a tuple or struct.
    ///
    /// # Errors
    /// There is none.
    pub fn field(&mut self, tuple: Given, k: usize) -> Result<Given, Misfit> {
        let tuple = self.value(tuple)?;
        let kind = self.b.kind(tuple);
        if k >= kind.fields().len() {
            return Err(Misfit::new(kind, format!("a tuple with a field {k}")));
        }
        Ok(Given::Value(self.b.field(tuple, k)))
    }
}
