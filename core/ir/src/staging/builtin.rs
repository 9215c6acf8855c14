//! Built-in functions of the language: every op of the [table](crate::ir::table) by its name, and
//! functions that choose an op by the kinds of their operands.

use crate::{
    entity::Value,
    ir::{ArrayOp, Compare, Element, Int1, Int2, Kind, Mixed, Number1, Number2, Op, Real1, Real2},
};

use super::{Composed, InferredKind, StagedOperand, StagingBuilder, TypeMismatch};

/// Built-in function of the language.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Builtin {
    /// An op on one number.
    Number1(Number1),
    /// An op on two numbers.
    Number2(Number2),
    /// An op on one real number.
    Real1(Real1),
    /// An op on two real numbers.
    Real2(Real2),
    /// An op on one int.
    Int1(Int1),
    /// An op on two ints.
    Int2(Int2),
    /// A comparison of reals by its name.
    Compare(Compare),
    /// A comparison of ints by its name.
    CompareInt(Compare),
    /// An op between kinds that has no syntax of its own in the language.
    Mixed(Mixed),
    /// An operation on whole arrays.
    OnArrays(ArrayOp),
    /// A function of arrays that is made of operations.
    Composed(Composed),
    /// An op on two reals or two ints.
    MinMax(Real2, Int2),
    /// `abs`, of a real or a complex number.
    Abs,
    /// `abs2`, of a real or a complex number.
    Abs2,
    /// `re`, of a real or a complex number.
    Re,
    /// `im(z)`
    Im,
    /// `arg(z)`
    Arg,
    /// `conj(z)`
    Conj,
    /// `complex(a, b)`
    Complex,
    /// `real(n)`
    Real,
    /// `powi(x, n)`
    Powi,
    /// `digamma(x)`
    Digamma,
    /// `polygamma(n, x)`
    Polygamma,
    /// `key(n)`
    Key,
    /// `split(key)`
    Split,
    /// `select(c, a, b)`
    Select,
    /// `len(xs)`
    Len,
    /// `sum(xs)`
    Sum,
}

impl Builtin {
    /// Returns true if a plugin may bring a function of this name, which programs then call
    /// instead: special functions, of which there are several conventions and accuracies.
    #[must_use]
    pub fn is_replaceable(self) -> bool {
        matches!(
            self,
            Builtin::Digamma
                | Builtin::Polygamma
                | Builtin::Real1(
                    Real1::Erf | Real1::Erfc | Real1::Lgamma | Real1::Sigmoid | Real1::Softplus
                )
                | Builtin::Real2(Real2::LogAddExp)
        )
    }

    /// Returns the function of the given name. `log` is `ln`.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Builtin> {
        Some(match name {
            "log" => Builtin::Number1(Number1::Ln),
            "abs" | "modulus" => Builtin::Abs,
            "abs2" => Builtin::Abs2,
            "re" => Builtin::Re,
            "im" => Builtin::Im,
            "arg" => Builtin::Arg,
            "conj" => Builtin::Conj,
            "complex" => Builtin::Complex,
            "real" => Builtin::Real,
            "powi" => Builtin::Powi,
            "digamma" => Builtin::Digamma,
            "key" => Builtin::Key,
            "split" => Builtin::Split,
            "polygamma" => Builtin::Polygamma,
            "select" => Builtin::Select,
            "len" => Builtin::Len,
            "sum" => Builtin::Sum,
            "min" => Builtin::MinMax(Real2::Min, Int2::Min),
            "max" => Builtin::MinMax(Real2::Max, Int2::Max),
            _ => {
                let compare_int =
                    |name| Compare::ALL.iter().copied().find(|c| c.int_name() == name);
                Number1::by_name(name)
                    .map(Builtin::Number1)
                    .or_else(|| Number2::by_name(name).map(Builtin::Number2))
                    .or_else(|| Real1::by_name(name).map(Builtin::Real1))
                    .or_else(|| Real2::by_name(name).map(Builtin::Real2))
                    .or_else(|| Int1::by_name(name).map(Builtin::Int1))
                    .or_else(|| Int2::by_name(name).map(Builtin::Int2))
                    .or_else(|| Compare::by_name(name).map(Builtin::Compare))
                    .or_else(|| compare_int(name).map(Builtin::CompareInt))
                    .or_else(|| Mixed::by_name(name).map(Builtin::Mixed))
                    .or_else(|| ArrayOp::by_name(name).map(Builtin::OnArrays))
                    .or_else(|| Composed::by_name(name).map(Builtin::Composed))?
            }
        })
    }

    /// Returns the names of all of them.
    pub fn names() -> impl Iterator<Item = &'static str> {
        let numbers =
            (Number1::ALL.iter().map(|o| o.name())).chain(Number2::ALL.iter().map(|o| o.name()));
        let reals =
            (Real1::ALL.iter().map(|o| o.name())).chain(Real2::ALL.iter().map(|o| o.name()));
        let ints = (Int1::ALL.iter().map(|o| o.name())).chain(Int2::ALL.iter().map(|o| o.name()));
        let compare = (Compare::ALL.iter().map(|o| o.name()))
            .chain(Compare::ALL.iter().map(|o| o.int_name()));
        let mixed = Mixed::ALL.iter().map(|o| o.name());
        let more = ["log", "real", "digamma", "key", "split", "select", "len", "sum"];
        let arrays =
            (ArrayOp::ALL.iter().map(|o| o.name())).chain(Composed::ALL.iter().map(|o| o.name()));
        numbers.chain(reals).chain(mixed).chain(more).chain(ints).chain(compare).chain(arrays)
    }

    /// Returns the number of operands.
    #[must_use]
    pub fn arity(self) -> usize {
        match self {
            Builtin::Number2(_)
            | Builtin::Real2(_)
            | Builtin::Int2(_)
            | Builtin::Compare(_)
            | Builtin::CompareInt(_)
            | Builtin::MinMax(..)
            | Builtin::Complex
            | Builtin::Polygamma
            | Builtin::Powi => 2,
            Builtin::Mixed(op) => op.signature().0.len(),
            Builtin::OnArrays(op) => op.arity(),
            Builtin::Composed(op) => op.arity(),
            Builtin::Select => 3,
            _ => 1,
        }
    }

    /// Returns the expected kind of the k-th operand, where that does not depend on the others.
    pub(crate) fn hint(self, k: usize) -> Option<Kind> {
        match (self, k) {
            (Builtin::Key | Builtin::Split, _) | (Builtin::Polygamma, 0) => Some(Kind::Int),
            (Builtin::Real1(_) | Builtin::Real2(_) | Builtin::Compare(_) | Builtin::Complex, _)
            | (Builtin::Digamma | Builtin::Polygamma, _) => Some(Kind::Real),
            (Builtin::Int1(_) | Builtin::Int2(_) | Builtin::CompareInt(_), _) => Some(Kind::Int),
            (Builtin::OnArrays(op), k) => op.hint(k),
            (Builtin::Composed(op), k) => op.hint(k),
            (Builtin::Mixed(op), k) => op.signature().0.get(k).cloned(),
            (Builtin::Im | Builtin::Arg | Builtin::Conj, _) => Some(Kind::Complex),
            (Builtin::Powi, 1) => Some(Kind::Int),
            (Builtin::Select, 0) => Some(Kind::Bool),
            _ => None,
        }
    }
}

impl StagingBuilder {
    /// Calls a function of the language. Operands beyond its arity are ignored.
    ///
    /// # Errors
    /// If an operand is missing or of the wrong kind.
    pub fn builtin(
        &mut self,
        builtin: Builtin,
        args: &[StagedOperand],
    ) -> Result<StagedOperand, TypeMismatch> {
        let arg = |k: usize| args.get(k).copied().unwrap_or(StagedOperand::Nothing);
        let complex = self.is_complex(arg(0));
        let number = if complex { Kind::Complex } else { Kind::Real };
        let value = match builtin {
            Builtin::Number1(op) => {
                let args = self.numbers(&[arg(0)])?;
                self.b.number1(op, args[0])
            }
            Builtin::Number2(op) => {
                let args = self.numbers(&[arg(0), arg(1)])?;
                self.b.number2(op, args[0], args[1])
            }
            Builtin::Real1(op) => self.uniform(Op::Real1(op), &[arg(0)], Kind::Real, Kind::Real)?,
            Builtin::Real2(op) => {
                self.uniform(Op::Real2(op), &[arg(0), arg(1)], Kind::Real, Kind::Real)?
            }
            Builtin::Int1(op) => self.uniform(Op::Int1(op), &[arg(0)], Kind::Int, Kind::Int)?,
            Builtin::Int2(op) => {
                self.uniform(Op::Int2(op), &[arg(0), arg(1)], Kind::Int, Kind::Int)?
            }
            Builtin::Compare(op) => {
                self.uniform(Op::Compare(op), &[arg(0), arg(1)], Kind::Real, Kind::Bool)?
            }
            Builtin::CompareInt(op) => {
                self.uniform(Op::CompareInt(op), &[arg(0), arg(1)], Kind::Int, Kind::Bool)?
            }
            Builtin::Mixed(op) => self.mixed(op, &[arg(0), arg(1)])?,
            Builtin::MinMax(on_reals, on_ints) => {
                return self.min_max(on_reals, on_ints, arg(0), arg(1));
            }
            Builtin::Abs | Builtin::Abs2 | Builtin::Re => {
                let a = self.fit_element(arg(0), &number)?;
                match (builtin, complex) {
                    (Builtin::Abs, true) => self.b.mixed(Mixed::Modulus, &[a]),
                    (Builtin::Abs, false) => self.b.lifted(Op::Real1(Real1::Abs), &[a], Kind::Real),
                    (Builtin::Abs2, true) => self.b.mixed(Mixed::Abs2, &[a]),
                    (Builtin::Abs2, false) => self.b.number2(Number2::Mul, a, a),
                    (_, true) => self.b.mixed(Mixed::Re, &[a]),
                    (_, false) => a,
                }
            }
            Builtin::Im => self.mixed(Mixed::Im, &[arg(0)])?,
            Builtin::Arg => self.mixed(Mixed::Arg, &[arg(0)])?,
            Builtin::Conj => self.mixed(Mixed::Conj, &[arg(0)])?,
            Builtin::Complex => self.mixed(Mixed::Complex, &[arg(0), arg(1)])?,
            Builtin::Real => match arg(0) {
                StagedOperand::Value(n)
                    if matches!(self.b.kind(n), Kind::Int | Kind::Array(Element::Int)) =>
                {
                    self.b.mixed(Mixed::FromInt, &[n])
                }
                given => self.fit_element(given, &Kind::Real)?,
            },
            Builtin::Powi => self.mixed(
                if complex { Mixed::PowiComplex } else { Mixed::PowiReal },
                &[arg(0), arg(1)],
            )?,
            Builtin::Key => self.fit(arg(0), &Kind::Int)?,
            Builtin::Split => {
                let key = self.fit(arg(0), &Kind::Int)?;
                let keys = [0, 1].map(|k| {
                    let k = self.b.int(k);
                    self.b.inst(Op::Int2(Int2::FoldIn), &[key, k], Kind::Int)
                });
                self.b.plain_tuple(&keys)
            }
            Builtin::Digamma => {
                let x = self.fit_element(arg(0), &Kind::Real)?;
                let zero = self.b.int(0);
                self.b.mixed(Mixed::Polygamma, &[x, zero])
            }
            Builtin::Polygamma => {
                let n = self.fit(arg(0), &Kind::Int)?;
                let x = self.fit_element(arg(1), &Kind::Real).map_err(|e| e.at_operand(1))?;
                self.b.mixed(Mixed::Polygamma, &[x, n])
            }
            Builtin::OnArrays(op) => self.on_arrays(op, args)?,
            // Errors of contractions name `einsum` themselves.
            Builtin::Composed(Composed::Einsum) => return self.composed(Composed::Einsum, args),
            Builtin::Composed(f) => {
                let here = self.b.position();
                self.b.set_position(here.within(f.name()));
                let result = self.composed(f, args);
                self.b.set_position(here);
                return result;
            }
            Builtin::Select => return self.select(arg(0), arg(1), arg(2)),
            Builtin::Len | Builtin::Sum => {
                let literals = builtin == Builtin::Sum && self.is_literal_array(arg(0));
                let xs = match arg(0) {
                    given if literals => self.fit(given, &Kind::Array(Element::Real))?,
                    given => self.value(given)?,
                };
                match (builtin, self.b.kind(xs).clone()) {
                    (Builtin::Len, Kind::Array(_)) => self.b.inst(Op::Len, &[xs], Kind::Int),
                    (Builtin::Sum, Kind::Array(e @ (Element::Real | Element::Complex))) => {
                        self.b.inst(Op::Sum, &[xs], e.kind())
                    }
                    (Builtin::Len, kind) => return Err(TypeMismatch::new(&kind, "an array")),
                    (_, kind) => {
                        return Err(TypeMismatch::new(
                            &kind,
                            "an array of real or complex numbers",
                        ));
                    }
                }
            }
        };
        Ok(StagedOperand::Value(value))
    }

    /// Appends an op on operands of one kind.
    fn uniform(
        &mut self,
        op: Op,
        args: &[StagedOperand],
        kind: Kind,
        result: Kind,
    ) -> Result<Value, TypeMismatch> {
        if !op.is_elementwise() {
            let args = self.fit_all(args, &vec![kind; args.len()])?;
            return Ok(self.b.inst(op, &args, result));
        }
        let args = self.fit_elements(args, &vec![kind; args.len()])?;
        Ok(self.b.lifted(op, &args, result))
    }

    /// Appends an op between kinds; surplus operands are ignored.
    pub(super) fn mixed(
        &mut self,
        op: Mixed,
        args: &[StagedOperand],
    ) -> Result<Value, TypeMismatch> {
        let kinds = op.signature().0;
        let args = match op {
            Mixed::Not | Mixed::And | Mixed::Or => self.fit_all(args, kinds)?,
            // The exponent is the same for all elements.
            Mixed::PowiReal | Mixed::PowiComplex | Mixed::Polygamma => {
                let args = [args.first(), args.get(1)]
                    .map(|g| g.copied().unwrap_or(StagedOperand::Nothing));
                vec![
                    self.fit_element(args[0], &kinds[0])?,
                    self.fit(args[1], &kinds[1]).map_err(|e| e.at_operand(1))?,
                ]
            }
            _ => self.fit_elements(args, kinds)?,
        };
        Ok(match op {
            Mixed::PowiReal => self.power(args[0], args[1]),
            _ => self.b.mixed(op, &args),
        })
    }

    /// Converts to numbers of the given kinds, or arrays of such.
    fn fit_elements(
        &mut self,
        given: &[StagedOperand],
        kinds: &[Kind],
    ) -> Result<Vec<Value>, TypeMismatch> {
        let all = given.iter().zip(kinds).enumerate();
        all.map(|(k, (g, kind))| self.fit_element(*g, kind).map_err(|e| e.at_operand(k))).collect()
    }

    fn min_max(
        &mut self,
        on_reals: Real2,
        on_ints: Int2,
        a: StagedOperand,
        b: StagedOperand,
    ) -> Result<StagedOperand, TypeMismatch> {
        let literals = self.is_literal(a) && self.is_literal(b);
        let ints = literals || self.has_kind(a, &Kind::Int) || self.has_kind(b, &Kind::Int);
        let (op, kind) = match ints {
            true => (Op::Int2(on_ints), Kind::Int),
            false => (Op::Real2(on_reals), Kind::Real),
        };
        if ints {
            let args = self.fit_all(&[a, b], &[kind.clone(), kind.clone()])?;
            let value = self.b.inst(op, &args, kind.clone());
            let known =
                if literals { InferredKind::Literal(None) } else { InferredKind::Kind(kind) };
            return Ok(self.computed(value, known));
        }
        let args = self.fit_elements(&[a, b], &[kind.clone(), kind.clone()])?;
        Ok(StagedOperand::Value(self.b.lifted(op, &args, kind)))
    }

    fn select(
        &mut self,
        c: StagedOperand,
        a: StagedOperand,
        b: StagedOperand,
    ) -> Result<StagedOperand, TypeMismatch> {
        let (known, kind) = self.common(&[a, b], None);
        let args = self.fit_all(&[c, a, b], &[Kind::Bool, kind.clone(), kind.clone()])?;
        let value = self.b.inst(Op::Select, &args, kind);
        Ok(self.computed(value, known))
    }

    /// Returns the inferred kind of a value that is one of several, and its kind: complex if one
    /// is, else that of the first value; if all are literals that of `hint`, else they are ints.
    /// The same holds for arrays and tuples.
    pub(super) fn common(
        &self,
        given: &[StagedOperand],
        hint: Option<&Kind>,
    ) -> (InferredKind, Kind) {
        let mut known = InferredKind::common(given.iter().map(|g| self.known(*g)));
        if let Some(hint) = hint {
            known = known.expected(hint);
        }
        let kind = known.clone().settled().kind().cloned().unwrap_or(Kind::Int);
        (known, kind)
    }
}
