//! Inputs: parameters of the circuit, and values that are given when the file is read.
//!
//! ```text
//! input float t;        a parameter: it has a value when the circuit runs
//! input uint[4] n;      known when the file is read: `n` in `QasmOptions::inputs`
//! input bit[4] mask;    the same, by its digits: 0101
//! ```
//! Values that are given are constant expressions, and cannot refer to the file.

use super::{
    Lower, QasmLowering, QasmValue,
    classical::Classical,
    duration::Duration,
    integer::{INT, IntegerType},
    names::SymbolEntry,
};
use crate::{
    param::{Angle, ParamId},
    qasm::{
        SourceText, Version,
        ast::{BaseType, Declaration, FileSpan, Ident, QasmExpr, QasmSpan, Type},
        diagnostic::{Diagnostic, QasmProblem},
        lexer::MAX_SOURCE,
        parser,
    },
};

/// Limit on the parameters of a file.
const MAX_PARAMETERS: u64 = 1 << 20;

/// Limit on the elements of an array that is given.
const MAX_GIVEN: i128 = 1 << 20;

/// Parses a text that is one constant expression; `what` is its expected meaning, with examples.
pub(super) fn lone<T>(
    text: &str,
    version: Version,
    [what, examples]: [&str; 2],
    value: impl FnOnce(&mut QasmLowering, &QasmExpr) -> Lower<T>,
) -> Result<T, Box<Diagnostic>> {
    let options = super::QasmOptions::default();
    let mut lowering = QasmLowering::new(&options);
    lowering.version = version;
    lowering.sources.push(SourceText { name: options.file.to_owned(), text: text.to_owned() });
    let whole = FileSpan { source: 0, span: lowering.whole(text) };
    let nothing = || {
        let (expected, given) = (format!("{what} such as {examples}"), "nothing".to_owned());
        Box::new(Diagnostic::error(QasmProblem::Expected { expected, given }).with_label(whole, ""))
    };
    if text.len() > MAX_SOURCE || text.trim().is_empty() {
        return Err(nothing());
    }
    // A comment would hide the rest: `1//2` is no 1.
    if let Some(at) = text.find("//").or_else(|| text.find("/*")) {
        let (expected, given) =
            (format!("{what} without comments"), format!("`{}`", &text[at..at + 2]));
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let place = FileSpan { source: 0, span: QasmSpan::new(number(at), number(at + 2)) };
        return Err(Box::new(
            Diagnostic::error(QasmProblem::Expected { expected, given }).with_label(place, ""),
        ));
    }
    let expr = parser::expression(text, version, &mut lowering.interner, &mut lowering.diagnostics);
    let value = expr.and_then(|expr| value(&mut lowering, &expr).ok());
    match (value, lowering.diagnostics.into_iter().next()) {
        (Some(value), None) => Ok(value),
        (_, Some(error)) => Err(Box::new(error)),
        (None, None) => Err(nothing()),
    }
}

impl QasmLowering<'_> {
    pub(super) fn declare_input(&mut self, declaration: &Declaration, span: QasmSpan) -> Lower<()> {
        let name = declaration.name;
        let result = self.new_input(declaration, span);
        result.inspect_err(|_| self.names.break_name(name.symbol, self.file_span(name.span)))
    }

    fn new_input(&mut self, declaration: &Declaration, span: QasmSpan) -> Lower<()> {
        let Declaration { ty, name, value } = declaration;
        self.only_in_file("an input", span)?;
        if let Some(value) = value {
            let (expected, given) = ("`;`".to_owned(), "an initial value".to_owned());
            let help = "an input gets its value from outside; a constant is declared with `const`";
            let error = Diagnostic::error(QasmProblem::Expected { expected, given });
            return Err(self.report(error.with_label(self.file_span(value.span), "").help(help)));
        }
        match ty.base {
            BaseType::Float | BaseType::Angle => {
                let value = self.parameters(ty, *name, span)?;
                self.declare_name(*name, SymbolEntry::Input(value))
            }
            BaseType::Qubit => {
                let (given, expected) =
                    ("a qubit".to_owned(), "an input of a classical type".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, ty.span)
            }
            _ => {
                let value = self.given_input(ty, *name)?;
                match (ty.base, &ty.dims) {
                    (BaseType::Bit, None) if self.assigned.contains(&name.symbol) => {
                        let bits = self.declare_bits(*name, ty.size.as_ref(), span)?;
                        self.store(bits, Classical::Value(value), name.span, name.span, true)
                    }
                    (BaseType::Bit, None) => self.declare_name(*name, SymbolEntry::Input(value)),
                    _ => {
                        self.declare_variable(*name, ty, Some((Classical::Value(value), name.span)))
                    }
                }
            }
        }
    }

    /// Parameters of the circuit: one, or those of an array.
    fn parameters(&mut self, ty: &Type, name: Ident, span: QasmSpan) -> Lower<QasmValue> {
        self.check_width(ty)?;
        let text = self.name(name.symbol);
        match ty.dims.as_deref() {
            None => Ok(self.parameter(text)),
            Some([dim]) => {
                let size = self.array_size(dim)?;
                Ok(QasmValue::Array(
                    (0..size).map(|i| self.parameter(format!("{text}[{i}]"))).collect(),
                ))
            }
            Some(_) => self.refuse("an input array of several dimensions", span),
        }
    }

    fn array_size(&mut self, dim: &QasmExpr) -> Lower<u64> {
        let size = self.integer(dim, "the size of an array")?;
        match u64::try_from(size) {
            Ok(size) => {
                let given = size.saturating_add(self.inputs.len() as u64);
                if given > MAX_PARAMETERS {
                    return self.fail(
                        QasmProblem::TooManyParameters { given, limit: MAX_PARAMETERS },
                        dim.span,
                    );
                }
                Ok(size)
            }
            Err(_) => {
                let given = self.text(dim.span).chars().take(40).collect();
                self.fail(QasmProblem::RegisterSize { given, limit: MAX_PARAMETERS }, dim.span)
            }
        }
    }

    /// Adds a parameter to the circuit.
    fn parameter(&mut self, name: String) -> QasmValue {
        // At most MAX_PARAMETERS, or one for each of at most 2^32 bytes.
        let id = ParamId::new(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX));
        self.inputs.push(name);
        QasmValue::Angle(Angle::theta(id))
    }

    /// The value that an input was given.
    fn given_input(&mut self, ty: &Type, name: Ident) -> Lower<QasmValue> {
        let mut sizes = Vec::new();
        for dim in ty.dims.as_deref().unwrap_or_default() {
            sizes.push(self.integer(dim, "the size of an array")?);
        }
        let all = sizes.iter().try_fold(1i128, |n, &size| n.checked_mul(size).filter(|_| size > 0));
        if all.is_none_or(|n| n > MAX_GIVEN) {
            let given = sizes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" x ");
            return self.fail(
                QasmProblem::ArraySize { given, limit: MAX_GIVEN.unsigned_abs() as u64 },
                ty.span,
            );
        }
        let element = Type { dims: None, ..ty.clone() };
        let given = GivenInput { ty: &element, whole: ty, name };
        self.given_part(given, &self.name(name.symbol), &sizes, false)
    }

    /// Returns the value of a name, or those of its elements; `within` an array of which others
    /// have a value.
    fn given_part(
        &mut self,
        given: GivenInput<'_>,
        name: &str,
        sizes: &[i128],
        within: bool,
    ) -> Lower<QasmValue> {
        if let Some(text) = self.given.get(name).copied() {
            self.read_for.push(name.to_owned());
            return self.given_text(given, name, text, sizes);
        }
        let prefix = format!("{name}[");
        if let Some((&size, rest)) = sizes.split_first()
            && (within || self.given.keys().any(|of| of.starts_with(&prefix)))
        {
            let items =
                (0..size).map(|i| self.given_part(given, &format!("{name}[{i}]"), rest, true));
            return Ok(QasmValue::Array(items.collect::<Lower<_>>()?));
        }
        if let BaseType::Duration | BaseType::Stretch = given.ty.base {
            return Ok(QasmValue::Duration(Duration::Unknown));
        }
        let whole = self.text(given.whole.span);
        // `int[8]` of `array[int[8], 3, 2]`.
        let element =
            || whole.strip_prefix("array").map(|rest| rest.trim_start().trim_start_matches('['));
        let rank = given.whole.dims.as_ref().map_or(0, |dims| dims.len());
        let ty = match within
            .then(element)
            .flatten()
            .and_then(|rest| rest.rsplitn(rank + 1, ',').last())
        {
            Some(element) => element.trim().to_owned(),
            None => whole.to_owned(),
        };
        let problem = QasmProblem::MissingInput { name: name.to_owned(), ty };
        let place = self.file_span(given.name.span);
        let help = "give its value in `Options::inputs`";
        Err(self.report(Diagnostic::error(problem).with_label(place, "declared here").help(help)))
    }

    /// Parses the value in a text.
    fn given_text(
        &mut self,
        given: GivenInput<'_>,
        name: &str,
        text: &str,
        sizes: &[i128],
    ) -> Lower<QasmValue> {
        let digits = text.trim().trim_matches('"');
        let is_digits =
            !digits.is_empty() && digits.bytes().all(|b| matches!(b, b'0' | b'1' | b'_'));
        let value = match u128::from_str_radix(&digits.replace('_', ""), 2) {
            Ok(bits) if is_digits && given.ty.base == BaseType::Bit && sizes.is_empty() => {
                let width = u32::try_from(digits.replace('_', "").len()).unwrap_or(u32::MAX);
                Ok(QasmValue::Bits { width, bits })
            }
            Err(_) if is_digits && given.ty.base == BaseType::Bit && sizes.is_empty() => {
                let place = self.file_span(given.name.span);
                let what = "a known bit string of more than 128 digits".to_owned();
                let error = Diagnostic::error(QasmProblem::IntegerOverflow { what });
                return Err(self.report(error.with_label(place, "the input")));
            }
            _ => lone(text, Version::V3, ["a value", "`4` or `true`"], |lowering, expr| {
                lowering.evaluate(expr, super::ExprScope::Global)
            }),
        };
        let value = match value {
            Ok(value) => value,
            Err(mut error) => {
                let source = self.given_source(name, text);
                error.labels.iter_mut().for_each(|label| label.source = source as usize);
                let place = self.file_span(given.name.span);
                return Err(self.report(error.with_label(place, "the input")));
            }
        };
        self.given_value(given, name, value, sizes, text)
    }

    /// Casts a value to the type of an input.
    fn given_value(
        &mut self,
        given: GivenInput<'_>,
        name: &str,
        value: QasmValue,
        sizes: &[i128],
        text: &str,
    ) -> Lower<QasmValue> {
        if let Some((&size, rest)) = sizes.split_first() {
            let QasmValue::Array(items) = &value else {
                let expected =
                    format!("an array of {}", crate::gate::count(size as usize, "element"));
                return self.bad_input(given, name, text, expected, value.describe());
            };
            if items.len() as i128 != size {
                let expected =
                    format!("an array of {}", crate::gate::count(size as usize, "element"));
                let found = format!("one of {}", items.len());
                return self.bad_input(given, name, text, expected, &found);
            }
            let each =
                items.iter().map(|item| self.given_value(given, name, item.clone(), rest, text));
            return Ok(QasmValue::Array(each.collect::<Lower<_>>()?));
        }
        let shown = || format!("`{}`", text.trim());
        let whole = match &value {
            QasmValue::Int(i, _) => Some(*i),
            QasmValue::Number(n) => {
                n.exact().filter(|q| *q.denom() == 1).map(|q| i128::from(*q.numer()))
            }
            _ => None,
        };
        match given.ty.base {
            BaseType::Int | BaseType::Uint => {
                let ty = self.integer_type(given.ty)?.unwrap_or(INT);
                match whole.filter(|i| ty.holds(*i)) {
                    Some(i) => Ok(QasmValue::Int(i, Some(ty))),
                    None => self.bad_input(given, name, text, range(ty), &shown()),
                }
            }
            BaseType::Bool => match (&value, whole) {
                (QasmValue::Bool(_), _) => Ok(value),
                (_, Some(i @ 0..=1)) => Ok(QasmValue::Bool(i == 1)),
                _ => self.bad_input(given, name, text, "`true` or `false`".to_owned(), &shown()),
            },
            BaseType::Bit => {
                let n = match &given.ty.size {
                    Some(size) => self.integer(size, "the size of a register")?,
                    None => 1,
                };
                let value = match value {
                    QasmValue::Bool(holds) => QasmValue::Bits { width: 1, bits: u128::from(holds) },
                    other => other,
                };
                match value {
                    QasmValue::Bits { width, .. } if i128::from(width) == n => Ok(value),
                    _ => {
                        let count =
                            crate::gate::count(usize::try_from(n).unwrap_or_default(), "digit");
                        let expected = format!("{count} 0 or 1");
                        self.bad_input(given, name, text, expected, &shown())
                    }
                }
            }
            _ => {
                let expected = match given.ty.base {
                    BaseType::Complex => "a complex number",
                    _ => "a duration",
                };
                match (given.ty.base, value.complex()) {
                    (BaseType::Complex, Some(z)) => Ok(QasmValue::Complex(z)),
                    (BaseType::Duration | BaseType::Stretch, _)
                        if matches!(value, QasmValue::Duration(_)) =>
                    {
                        Ok(value)
                    }
                    _ => self.bad_input(given, name, text, expected.to_owned(), &shown()),
                }
            }
        }
    }

    /// Adds the text of a value as a source of its own, for labels.
    fn given_source(&mut self, name: &str, text: &str) -> u32 {
        self.sources
            .push(SourceText { name: format!("the value of {name}"), text: text.to_owned() });
        u32::try_from(self.sources.len() - 1).unwrap_or(u32::MAX)
    }

    fn bad_input(
        &mut self,
        given: GivenInput<'_>,
        name: &str,
        text: &str,
        expected: String,
        found: &str,
    ) -> Lower<QasmValue> {
        let place = self.file_span(given.name.span);
        let at = FileSpan { source: self.given_source(name, text), span: self.whole(text) };
        let problem =
            QasmProblem::BadInput { name: name.to_owned(), given: found.to_owned(), expected };
        Err(self.report(
            Diagnostic::error(problem).with_label(at, "").with_label(place, "declared here"),
        ))
    }
}

/// Given input: the type of its elements, that of the whole, and its name.
#[derive(Clone, Copy)]
struct GivenInput<'a> {
    ty: &'a Type,
    whole: &'a Type,
    name: Ident,
}

/// Returns the range of a type in words.
fn range(ty: IntegerType) -> String {
    let (least, most) = ty.range();
    format!("an integer from {least} to {most}")
}
