//! Arrays, tuples and structs.

use crate::{
    entity::Value,
    ir::{ArrayOp, Element, Kind, MAX_KIND_DEPTH, Op},
};

use super::{InferredKind, MAX_LEAVES, StagedOperand, StagingBuilder, TypeMismatch};

impl StagingBuilder {
    /// Builds `[a, b, …]`. The elements are of kind `hint` if given; else complex if one is, ints
    /// if one is, and real otherwise; literals alone take the kind that fits. Arrays are stacked
    /// along a new first axis.
    ///
    /// # Errors
    /// If an element does not fit.
    pub fn array(
        &mut self,
        items: &[StagedOperand],
        hint: Option<Element>,
    ) -> Result<StagedOperand, TypeMismatch> {
        if items.iter().any(|g| self.is_array(*g)) {
            return self.stack(items);
        }
        if hint.is_none()
            && let Some(literals) = self.literal_list(items)
        {
            return Ok(literals);
        }
        let kind = match hint {
            Some(element) => element.kind(),
            None if items.is_empty() => Kind::Real,
            None if items.iter().any(|g| self.has_kind(*g, &Kind::Int)) => Kind::Int,
            None => self.common(items, None).1,
        };
        let literals =
            hint.is_none() && !items.is_empty() && items.iter().all(|g| self.is_literal(*g));
        let element = Element::from_kind(&kind);
        let kinds = vec![kind; items.len()];
        let values = self.fit_all(items, &kinds)?;
        let Some(element) = element else {
            return Err(TypeMismatch::new(&kinds[0], "a number"));
        };
        let array = self.b.inst(Op::Array, &values, Kind::Array(element));
        Ok(if literals {
            self.computed(array, InferredKind::Literals(false))
        } else {
            StagedOperand::Value(array)
        })
    }

    /// Stacks arrays of the same shape along a new first axis.
    ///
    /// # Errors
    /// If one is not an array of numbers, or there are none.
    pub(crate) fn stack(&mut self, items: &[StagedOperand]) -> Result<StagedOperand, TypeMismatch> {
        let complex = items.iter().any(|g| self.is_complex(*g));
        let kind = Kind::Array(if complex { Element::Complex } else { Element::Real });
        let items = self.fit_all(items, &vec![kind; items.len()])?;
        let zero = self.b.int(0);
        let mut all: Option<Value> = None;
        for item in items {
            let item = self.b.on_arrays(ArrayOp::InsertAxis, &[item, zero]);
            all = Some(match all {
                Some(all) => self.b.on_arrays(ArrayOp::Concat, &[all, item, zero]),
                None => item,
            });
        }
        all.map(StagedOperand::Value).ok_or_else(TypeMismatch::nothing)
    }

    /// Builds `[[a, b], [c, d]]`: elements in row-major order, and the length along each axis;
    /// otherwise like [`array`](StagingBuilder::array).
    ///
    /// # Errors
    /// If an element does not fit.
    pub fn matrix(
        &mut self,
        items: &[StagedOperand],
        shape: &[usize],
        hint: Option<Element>,
    ) -> Result<StagedOperand, TypeMismatch> {
        let hint =
            hint.or_else(|| items.iter().all(|g| self.is_literal(*g)).then_some(Element::Real));
        let StagedOperand::Value(flat) = self.array(items, hint)? else {
            return Err(TypeMismatch::nothing());
        };
        if *self.b.kind(flat) == Kind::Array(Element::Int) {
            return Err(TypeMismatch::new(&Kind::Int, "real"));
        }
        let lengths: Vec<Value> = shape.iter().map(|&n| self.b.int(n as i64)).collect();
        let shape = self.b.inst(Op::Array, &lengths, Kind::Array(Element::Int));
        Ok(StagedOperand::Value(self.b.on_arrays(ArrayOp::Reshape, &[flat, shape])))
    }

    /// Reads `xs[i, j]`: the element with the given indices, one for each axis.
    ///
    /// # Errors
    /// If the value is not an array (operand 0), or an index is not an int (operand 1 and on).
    pub fn element(
        &mut self,
        xs: StagedOperand,
        indices: &[StagedOperand],
    ) -> Result<StagedOperand, TypeMismatch> {
        let known = self.known(xs);
        let xs = self.value(xs)?;
        let flat = self.place_of(StagedOperand::Value(xs), indices)?;
        Ok(self.element_at(xs, flat, &known))
    }

    pub(super) fn place_of(
        &mut self,
        xs: StagedOperand,
        indices: &[StagedOperand],
    ) -> Result<Value, TypeMismatch> {
        let xs = self.value(xs)?;
        if !matches!(self.b.kind(xs), Kind::Array(_)) {
            return Err(TypeMismatch::new(self.b.kind(xs), "an array"));
        }
        let mut values = Vec::with_capacity(indices.len());
        for (k, index) in indices.iter().enumerate() {
            values.push(self.fit(*index, &Kind::Int).map_err(|e| e.at_operand(k + 1))?);
        }
        let list = self.b.inst(Op::Array, &values, Kind::Array(Element::Int));
        Ok(self.b.on_arrays(ArrayOp::RavelMultiIndex, &[xs, list]))
    }

    /// Builds `[x; n]`, with elements of kind `hint` if given; else a literal takes the kind that
    /// fits. An array is repeated along a new first axis.
    ///
    /// # Errors
    /// If the element does not fit, or `n` is not an int.
    pub fn fill(
        &mut self,
        x: StagedOperand,
        n: StagedOperand,
        hint: Option<Element>,
    ) -> Result<StagedOperand, TypeMismatch> {
        if self.is_array(x) {
            return self.repeat(x, n, hint);
        }
        if let (StagedOperand::Literal(x), None) = (x, hint) {
            let n = self.fit(n, &Kind::Int).map_err(|e| e.at_operand(1))?;
            return Ok(self.literal_fill(x, n));
        }
        let literal = hint.is_none() && self.is_literal(x);
        let x = match hint {
            Some(element) => self.fit(x, &element.kind())?,
            None => self.value(x)?,
        };
        let kind = self.b.kind(x);
        let element =
            Element::from_kind(kind).ok_or_else(|| TypeMismatch::new(kind, "a number"))?;
        let n = self.fit(n, &Kind::Int).map_err(|e| e.at_operand(1))?;
        let array = self.b.inst(Op::Fill, &[x, n], Kind::Array(element));
        Ok(if literal {
            self.computed(array, InferredKind::Literals(false))
        } else {
            StagedOperand::Value(array)
        })
    }

    /// Builds `[row; n]`: the row repeated n times.
    fn repeat(
        &mut self,
        row: StagedOperand,
        n: StagedOperand,
        hint: Option<Element>,
    ) -> Result<StagedOperand, TypeMismatch> {
        let complex = hint == Some(Element::Complex) || self.is_complex(row);
        let kind = Kind::Array(if complex { Element::Complex } else { Element::Real });
        let row = self.fit(row, &kind)?;
        let n = self.fit(n, &Kind::Int).map_err(|e| e.at_operand(1))?;
        let zero = self.b.int(0);
        let rows = self.b.on_arrays(ArrayOp::InsertAxis, &[row, zero]);
        let firsts = self.b.inst(Op::Fill, &[zero, n], Kind::Array(Element::Int));
        Ok(StagedOperand::Value(self.b.on_arrays(ArrayOp::Gather, &[rows, firsts])))
    }

    /// Reads `xs[i]`.
    ///
    /// # Errors
    /// If the value is not an array, or the index is not an int.
    pub fn index(
        &mut self,
        xs: StagedOperand,
        i: StagedOperand,
    ) -> Result<StagedOperand, TypeMismatch> {
        let known = self.known(xs);
        let xs = self.value(xs)?;
        if !matches!(self.b.kind(xs), Kind::Array(_)) {
            return Err(TypeMismatch::new(self.b.kind(xs), "an array"));
        }
        let i = self.fit(i, &Kind::Int).map_err(|e| e.at_operand(1))?;
        Ok(self.element_at(xs, i, &known))
    }

    /// Reads an element of an array.
    fn element_at(&mut self, xs: Value, i: Value, known: &InferredKind) -> StagedOperand {
        let element = self.b.get(xs, i);
        if matches!(known, InferredKind::Literals(_)) {
            self.computed(element, InferredKind::Literal(None))
        } else {
            StagedOperand::Value(element)
        }
    }

    /// Builds `(a, b, …)`, with the fields of the kinds of `hint` if given.
    ///
    /// # Errors
    /// If a field does not fit.
    pub fn tuple(
        &mut self,
        items: &[StagedOperand],
        hint: Option<&Kind>,
    ) -> Result<StagedOperand, TypeMismatch> {
        let leaves: usize =
            items.iter().filter_map(|g| self.kind(*g)).map(|kind| kind.extent()).sum();
        if leaves > MAX_LEAVES {
            let given = format!("a tuple of {leaves} values");
            let expected = format!("at most {MAX_LEAVES}: put numbers of one kind in an array");
            return Err(TypeMismatch { operand: 0, given, expected, hint: "" });
        }
        if items.iter().filter_map(|g| self.kind(*g)).any(|kind| kind.depth() >= MAX_KIND_DEPTH) {
            let given = "more tuples inside each other".to_owned();
            return Err(TypeMismatch {
                operand: 0,
                given,
                expected: format!("at most {MAX_KIND_DEPTH}"),
                hint: "",
            });
        }
        let fields = hint.map_or(&[][..], Kind::fields);
        if fields.is_empty()
            && let Some(open) = self.open_tuple(items)
        {
            return Ok(open);
        }
        let mut values = Vec::with_capacity(items.len());
        for (k, item) in items.iter().enumerate() {
            let value = match fields.get(k) {
                Some(field) => self.fit(*item, &field.kind),
                None => self.value(*item),
            };
            values.push(value.map_err(|e| e.at_operand(k))?);
        }
        Ok(StagedOperand::Value(self.b.plain_tuple(&values)))
    }

    /// Builds `Point { x: a, y: b }`: the fields of a struct kind, in its order.
    ///
    /// # Errors
    /// If a field does not fit.
    pub fn structure(
        &mut self,
        kind: &Kind,
        fields: &[StagedOperand],
    ) -> Result<StagedOperand, TypeMismatch> {
        let kinds: Vec<Kind> = kind.fields().iter().map(|f| f.kind.clone()).collect();
        let values = self.fit_all(fields, &kinds)?;
        Ok(StagedOperand::Value(self.b.tuple(&values, kind.clone())))
    }

    /// Reads the k-th field of a tuple or struct.
    ///
    /// # Errors
    /// If there is no such field.
    pub fn field(&mut self, tuple: StagedOperand, k: usize) -> Result<StagedOperand, TypeMismatch> {
        if let StagedOperand::Untyped(open) = tuple
            && let Some(field) = self.open_field(open, k)
        {
            return Ok(field);
        }
        let tuple = self.value(tuple)?;
        let kind = self.b.kind(tuple);
        if k >= kind.fields().len() {
            return Err(TypeMismatch::new(kind, format!("a tuple with a field {k}")));
        }
        Ok(StagedOperand::Value(self.b.field(tuple, k)))
    }
}
