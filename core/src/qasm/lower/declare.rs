//! Declarations: registers, inputs and constants; measurements, which declare the bits they fill.

use super::{Item, Lower, Lowering, Picks, Register, Scope, Stop, Value, names::Entry};
use crate::{
    param::{Angle, ParamId},
    qasm::{
        ast::{Assignment, BaseType, Declaration, Expr, ExprKind, Ident, Operand, Span},
        diagnostic::{Diagnostic, Problem},
    },
};

/// The largest register: qubits and bits are numbered in 32 bits.
const MAX_SIZE: u32 = u32::MAX;

/// The most parameters of a file.
const MAX_PARAMETERS: u64 = 1 << 20;

impl Lowering<'_> {
    /// The size in a designator; `None` without one.
    fn register_size(&mut self, size: Option<&Expr>) -> Lower<Option<u32>> {
        let Some(expr) = size else { return Ok(None) };
        let given = match expr.kind {
            // More digits than any integer has are a size too large, not an overflow.
            ExprKind::Int(None) => i128::MAX,
            _ => self.integer(expr, "the size of a register")?,
        };
        match u32::try_from(given) {
            Ok(size) if size > 0 => Ok(Some(size)),
            _ => {
                let given = self.text(expr.span).chars().take(40).collect();
                self.fail(Problem::RegisterSize { given, limit: u64::from(MAX_SIZE) }, expr.span)
            }
        }
    }

    /// The register for a declaration, numbered behind those before.
    fn register(&mut self, name: Ident, size: Option<&Expr>, before: u32) -> Lower<Register> {
        let place = self.place(name.span);
        let (size, single) = match self.register_size(size) {
            Ok(size) => (size.unwrap_or(1), size.is_none()),
            Err(Stop) => {
                self.names.break_name(name.symbol, place);
                return Err(Stop);
            }
        };
        if before.checked_add(size).is_none() {
            self.names.break_name(name.symbol, place);
            let given = u64::from(before) + u64::from(size);
            return self.fail(Problem::TooManyQubits { given, limit: u64::from(MAX_SIZE) }, name.span);
        }
        Ok(Register { name: name.symbol, first: before, size, single })
    }

    pub(super) fn declare_qubits(&mut self, name: Ident, size: Option<&Expr>, span: Span) -> Lower<()> {
        let register = self.register(name, size, self.n_qubits)?;
        self.declare_name(name, Entry::Qubits(register))?;
        self.n_qubits += register.size;
        self.qubits.push(register);
        let place = self.place(span);
        self.declared.get_or_insert(place);
        Ok(())
    }

    pub(super) fn declare_bits(&mut self, name: Ident, size: Option<&Expr>, _: Span) -> Lower<Picks> {
        let register = self.register(name, size, self.n_bits)?;
        self.declare_name(name, Entry::Bits(register))?;
        self.n_bits += register.size;
        self.bits.push(register);
        Ok(if register.single {
            Picks::One(register.first)
        } else {
            Picks::Range { first: register.first, step: 1, len: register.size }
        })
    }

    pub(super) fn declare(&mut self, declaration: &Declaration, span: Span) -> Lower<()> {
        let Declaration { ty, name, value } = declaration;
        let place = self.place(name.span);
        match (ty.base, &ty.dims, value) {
            (BaseType::Qubit, None, None) => self.declare_qubits(*name, ty.size.as_ref(), span),
            (BaseType::Bit, None, None) => self.declare_bits(*name, ty.size.as_ref(), span).map(|_| ()),
            (BaseType::Bit, None, Some(Expr { kind: ExprKind::Measure(operand), .. })) => {
                let bits = self.declare_bits(*name, ty.size.as_ref(), span)?;
                let qubits = self.qubits(operand)?;
                self.measure_into(qubits, bits, operand.span, name.span, span)
            }
            (BaseType::Qubit, ..) => {
                self.names.break_name(name.symbol, place);
                let (expected, given) = ("`;`".to_owned(), "an initial value".to_owned());
                self.fail(Problem::Expected { expected, given }, span)
            }
            (_, _, value) => {
                self.names.break_name(name.symbol, place);
                let what = "a classical variable".to_owned();
                let mut error =
                    Diagnostic::error(Problem::NotInThisVersion { what }).at(self.place(span), "");
                if value.is_some() {
                    error = error.help("if it never changes, declare it `const`");
                }
                Err(self.report(error))
            }
        }
    }

    pub(super) fn declare_const(&mut self, declaration: &Declaration) -> Lower<()> {
        let Declaration { ty, name, value } = declaration;
        let result = match value {
            Some(expr) => self.constant_value(declaration, expr),
            None => {
                let (expected, given) = ("`= value`".to_owned(), "`;`".to_owned());
                self.fail(Problem::Expected { expected, given }, name.span.to(ty.span))
            }
        };
        match result {
            Ok(value) => self.declare_name(*name, Entry::Const(value)),
            Err(Stop) => {
                self.names.break_name(name.symbol, self.place(name.span));
                Err(Stop)
            }
        }
    }

    fn constant_value(&mut self, declaration: &Declaration, expr: &Expr) -> Lower<Value> {
        let value = self.evaluate(expr, Scope::Global)?;
        if value.is_real() && value.constant().is_none() {
            let what = format!("`{}`", self.interner.name(declaration.name.symbol));
            return self.fail(Problem::NotConstant { what }, expr.span);
        }
        self.cast(&declaration.ty, value, expr.span)
    }

    pub(super) fn declare_input(&mut self, declaration: &Declaration, span: Span) -> Lower<()> {
        let Declaration { ty, name, .. } = declaration;
        let place = self.place(name.span);
        let real = matches!(ty.base, BaseType::Float | BaseType::Angle);
        let what = match &ty.dims {
            _ if !real => "an input that is neither `float` nor `angle`",
            Some(dims) if dims.len() != 1 => "an input array of several dimensions",
            _ => "",
        };
        if !what.is_empty() {
            self.names.break_name(name.symbol, place);
            return self.refuse(what, span);
        }
        let text = self.name(name.symbol);
        let value = match ty.dims.as_deref() {
            Some([dim]) => match self.array_size(dim) {
                Ok(size) => Value::Array((0..size).map(|i| self.input(format!("{text}[{i}]"))).collect()),
                Err(Stop) => {
                    self.names.break_name(name.symbol, place);
                    return Err(Stop);
                }
            },
            _ => Value::Array([self.input(text)].into()),
        };
        let value = match (value, &ty.dims) {
            (Value::Array(items), None) => items[0].clone(),
            (value, _) => value,
        };
        self.declare_name(*name, Entry::Input(value))
    }

    fn array_size(&mut self, dim: &Expr) -> Lower<u64> {
        let size = self.integer(dim, "the size of an array")?;
        match u64::try_from(size) {
            Ok(size) if size > 0 => {
                let given = size.saturating_add(self.inputs.len() as u64);
                if given > MAX_PARAMETERS {
                    return self.fail(Problem::TooManyParameters { given, limit: MAX_PARAMETERS }, dim.span);
                }
                Ok(size)
            }
            _ => {
                let given = self.text(dim.span).chars().take(40).collect();
                self.fail(Problem::RegisterSize { given, limit: MAX_PARAMETERS }, dim.span)
            }
        }
    }

    /// A new parameter of the circuit.
    fn input(&mut self, name: String) -> Value {
        // At most MAX_PARAMETERS, or one for each of at most 2^32 bytes.
        let id = ParamId(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX));
        self.inputs.push(name);
        Value::Angle(Angle::theta(id))
    }

    pub(super) fn measure(&mut self, qubits: &Operand, bits: Option<&Operand>, span: Span) -> Lower<()> {
        let picked = self.qubits(qubits)?;
        let Some(bits) = bits else {
            let place = self.place(span);
            let help = "write `c = measure …;` with a register declared `bit[n] c;`";
            self.warning(Diagnostic::warning(Problem::UnusedMeasurement).at(place, "").help(help));
            self.plan.push(Item::Measure { qubits: picked, bits: None, place });
            return Ok(());
        };
        let into = self.bits(bits)?;
        self.measure_into(picked, into, qubits.span, bits.span, span)
    }

    pub(super) fn assign(&mut self, assignment: &Assignment, span: Span) -> Lower<()> {
        match &assignment.value.kind {
            ExprKind::Measure(operand) if !assignment.compound => {
                self.measure(operand, Some(&assignment.target), span)
            }
            _ => self.refuse("an assignment", span),
        }
    }

    fn measure_into(&mut self, qubits: Picks, bits: Picks, from: Span, to: Span, span: Span) -> Lower<()> {
        let (n, m) = (qubits.len().unwrap_or(1), bits.len().unwrap_or(1));
        if n != m {
            let problem = Problem::LengthMismatch { first: u64::from(n), second: u64::from(m) };
            let (from, to) = (self.place(from), self.place(to));
            let error = Diagnostic::error(problem).at(from, format!("{n}")).at(to, format!("{m}"));
            return Err(self.report(error));
        }
        self.add_count(u64::from(n), span);
        self.plan.push(Item::Measure { qubits, bits: Some(bits), place: self.place(span) });
        Ok(())
    }

    pub(super) fn barrier(&mut self, operands: &[Operand], span: Span) -> Lower<()> {
        let mut qubits = Vec::with_capacity(operands.len());
        for operand in operands {
            qubits.push(self.qubits(operand)?);
        }
        if operands.is_empty() {
            let len = self.hardware.map_or(self.n_qubits, |(largest, _)| largest.saturating_add(1));
            qubits.push(Picks::Range { first: 0, step: 1, len });
        }
        let size: u64 = qubits.iter().map(|p| u64::from(p.len().unwrap_or(1))).sum();
        // A barrier lists its qubits, so that is what it costs.
        self.add_count(size.max(1), span);
        self.plan.push(Item::Barrier { qubits });
        Ok(())
    }
}
