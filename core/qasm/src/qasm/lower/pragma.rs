//! Pragmas: channels with their parameters on qubits, and readout errors of bits.
//!
//! If the number of operands is that of the channel's qubits, they are broadcast along registers as
//! those of gates are. Otherwise all their elements are the qubits, one by one, as Amazon Braket
//! has it: `two_qubit_depolarizing(0.1) q[{0, 2}]`.
//!
//! In a matrix of a pragma the first qubit is the most significant bit of a row number, in a
//! circuit it is the least: the qubits go in the opposite order.

use std::sync::Arc;

use num_complex::Complex;
use smallvec::SmallVec;

use super::{ExprScope, IndexSet, Lower, LoweredItem, QasmLowering, QasmValue};
use crate::{
    channel::{Channel, ChannelKind},
    circuit::{MAX_READOUT_BITS, UNITARY_TOLERANCE, n_readout_probabilities},
    matrix::Matrix,
    notation::{did_you_mean, nearest_name},
    param::{Angle, BindError, Binding, Values},
    qasm::{
        ast::{FileSpan, Pragma, PragmaKind, QasmExpr, QasmExprKind, QasmSpan},
        diagnostic::{Diagnostic, QasmProblem},
    },
};

/// The name of a channel that is given by its operators.
const KRAUS: &str = "kraus";

/// Name of a readout error, and its parameters.
const READOUT_ERROR: (&str, [&str; 2]) = ("readout_error", ["p0", "p1"]);

/// Earlier name of a readout error, which is still read.
const EARLIER_READOUT_ERROR: &str = "misread";

/// A channel along registers.
#[derive(Debug)]
pub(super) struct PlannedChannel {
    pub(super) applied: ChannelSpec,
    /// Qubits in the order of the circuit.
    pub(super) qubits: SmallVec<[IndexSet; 2]>,
    pub(super) times: u32,
    pub(super) place: FileSpan,
}

#[derive(Debug)]
pub(super) enum ChannelSpec {
    /// Values of all of its parameters.
    Named(ChannelKind, Box<[QasmValue]>),
    Kraus(Channel),
    Unitary(Arc<Matrix<Complex<f64>>>),
}

impl ChannelSpec {
    fn n_qubits(&self) -> usize {
        match self {
            ChannelSpec::Named(kind, _) => kind.n_qubits(),
            ChannelSpec::Kraus(channel) => channel.n_qubits(),
            ChannelSpec::Unitary(matrix) => matrix.n_qubits(),
        }
    }
}

impl QasmLowering<'_> {
    pub(super) fn pragma(&mut self, pragma: &Pragma, span: QasmSpan) -> Lower<()> {
        let applied = match pragma.kind {
            PragmaKind::Noise => self.noise(pragma),
            PragmaKind::Unitary => self.unitary(pragma),
            PragmaKind::ReadoutError => return self.readout_error(pragma, span),
        };
        // Both may be wrong.
        let qubits = self.all_qubits(&pragma.operands);
        let (applied, mut qubits) = (applied?, qubits?);
        let mut places: SmallVec<[QasmSpan; 4]> = pragma.operands.iter().map(|o| o.span).collect();
        let expected = applied.n_qubits();
        if qubits.len() != expected {
            let lengths = qubits.iter().map(|p| p.len().unwrap_or(1) as usize);
            let given = lengths.clone().fold(0, usize::saturating_add);
            if given != expected {
                let (gate, expected) = (self.name(pragma.name.symbol), expected as u64);
                let problem = QasmProblem::QubitCount { gate, given, expected };
                return self.fail(problem, around(&places, pragma.name.span));
            }
            places = lengths
                .zip(&places)
                .flat_map(|(n, place)| std::iter::repeat_n(*place, n))
                .collect();
            qubits = qubits.iter().flat_map(IndexSet::iter).map(IndexSet::One).collect();
        }
        let length = self.common_length(&qubits, &places)?;
        let times = length.unwrap_or(1);
        self.check_distinct(&qubits, &places, times, pragma.name.symbol)?;
        if !matches!(applied, ChannelSpec::Named(..)) {
            qubits.reverse();
        }
        self.add_count(u64::from(times), span);
        self.push(LoweredItem::Channel(PlannedChannel {
            applied,
            qubits,
            times,
            place: self.file_span(span),
        }));
        Ok(())
    }

    fn noise(&mut self, pragma: &Pragma) -> Lower<ChannelSpec> {
        let name = self.name(pragma.name.symbol);
        if name == KRAUS {
            let operators =
                pragma.args.iter().map(|arg| self.matrix(arg)).collect::<Lower<Vec<_>>>()?;
            let channel = Channel::kraus(operators).map_err(|error| QasmProblem::Channel { error });
            return self.check(channel, args_span(pragma)).map(ChannelSpec::Kraus);
        }
        let Some(kind) = ChannelKind::find(&name) else {
            let known = ChannelKind::ALL.iter().map(|kind| kind.name()).chain([KRAUS]);
            let help = nearest_name(&name, known.clone())
                .map_or_else(|| known.collect::<Vec<_>>().join(", "), did_you_mean);
            let place = self.file_span(pragma.name.span);
            let error =
                Diagnostic::error(QasmProblem::UnknownChannel { name }).with_label(place, "");
            return Err(self.report(error.help(help)));
        };
        let names = kind.param_names();
        let values = self.probabilities(pragma, kind.name(), names)?;
        // A combination of the numbers is a probability, too.
        let constants: Vec<Angle> = values.iter().filter_map(constant).collect();
        if constants.len() == values.len()
            && let Ok(channel) = Channel::new(kind, constants)
        {
            let terms = channel.terms::<Complex<f64>>(&Values::<f64>(&[]));
            let what = || format!("what {} leave in `{name}`", names.join(", "));
            self.check_probability(&terms, what, args_span(pragma))?;
        }
        Ok(ChannelSpec::Named(kind, values.into()))
    }

    fn unitary(&mut self, pragma: &Pragma) -> Lower<ChannelSpec> {
        let [arg] = &*pragma.args else {
            return self.wrong_count(pragma, "unitary", &["[[0, 1], [1, 0]]"]);
        };
        let matrix = self.matrix(arg)?;
        let unitary =
            matrix.check_unitary(UNITARY_TOLERANCE).map_err(|error| QasmProblem::Matrix { error });
        self.check(unitary, arg.span)?;
        Ok(ChannelSpec::Unitary(Arc::new(matrix)))
    }

    fn readout_error(&mut self, pragma: &Pragma, span: QasmSpan) -> Lower<()> {
        let (name, (known, params)) = (self.name(pragma.name.symbol), READOUT_ERROR);
        if name != known && name != EARLIER_READOUT_ERROR {
            let place = self.file_span(pragma.name.span);
            let error =
                Diagnostic::error(QasmProblem::UnknownPragma { name }).with_label(place, "");
            return Err(
                self.report(error.help(format!("`{known}({}) …` is one", params.join(", "))))
            );
        }
        let n_bits =
            (1..=MAX_READOUT_BITS).find(|&n| n_readout_probabilities(n) == pragma.args.len());
        if let Some(n_bits) = n_bits.filter(|&n| n > 1) {
            return self.readout_matrix(pragma, n_bits, span);
        }
        let chances: Box<[QasmValue]> = self.probabilities(pragma, known, &params)?.into();
        for operand in &pragma.operands {
            let bits = self.bits(operand)?;
            self.add_count(u64::from(bits.len().unwrap_or(1)), span);
            let (chances, place) = (chances.clone(), self.file_span(span));
            self.push(LoweredItem::ReadoutError {
                probabilities: chances,
                bits,
                together: false,
                place,
            });
        }
        Ok(())
    }

    /// Plans a readout matrix: for each outcome of all the bits the probabilities of all others.
    fn readout_matrix(&mut self, pragma: &Pragma, n_bits: usize, span: QasmSpan) -> Lower<()> {
        let names: Vec<String> =
            (0..pragma.args.len()).map(|k| off_diagonal_entry(k, n_bits)).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let chances = self.probabilities(pragma, READOUT_ERROR.0, &names)?;
        let rows = pragma.args.chunks((1 << n_bits) - 1).zip(chances.chunks((1 << n_bits) - 1));
        for (args, row) in rows {
            let sum = row.iter().filter_map(constant).fold(Angle::zero(), |sum, p| sum + p);
            let what = || "the sum of the probabilities of one outcome".to_owned();
            self.check_probability(
                &probability(&sum),
                what,
                args[0].span.to(args[args.len() - 1].span),
            )?;
        }
        let mut bits: Vec<u32> = Vec::new();
        for operand in &pragma.operands {
            let of = self.bits(operand)?;
            if bits.len().saturating_add(of.len().unwrap_or(1) as usize) > n_bits {
                return self.wrong_bits(pragma, n_bits);
            }
            bits.extend(of.iter());
        }
        let is_distinct = (1..bits.len()).all(|k| !bits[..k].contains(&bits[k]));
        if bits.len() != n_bits || !is_distinct {
            return self.wrong_bits(pragma, n_bits);
        }
        self.add_count(n_bits as u64, span);
        let (chances, bits, place) =
            (chances.into(), IndexSet::List(bits.into()), self.file_span(span));
        self.push(LoweredItem::ReadoutError {
            probabilities: chances,
            bits,
            together: true,
            place,
        });
        Ok(())
    }

    fn wrong_bits<T>(&mut self, pragma: &Pragma, n_bits: usize) -> Lower<T> {
        let places: SmallVec<[QasmSpan; 4]> = pragma.operands.iter().map(|o| o.span).collect();
        let problem = QasmProblem::ReadoutBits { probabilities: pragma.args.len(), n_bits };
        self.fail(problem, around(&places, pragma.name.span))
    }

    /// Returns the values of all `names`, of which known ones are from 0 to 1.
    fn probabilities(
        &mut self,
        pragma: &Pragma,
        name: &str,
        names: &[&str],
    ) -> Lower<Vec<QasmValue>> {
        if pragma.args.len() != names.len() {
            return self.wrong_count(pragma, name, names);
        }
        let mut values = Vec::with_capacity(names.len());
        for (arg, param) in pragma.args.iter().zip(names) {
            let value = self.real_for(arg, ExprScope::Global, "a probability")?;
            if let Some(angle) = constant(&value) {
                let what = || format!("`{param}` of `{name}`");
                self.check_probability(&probability(&angle), what, arg.span)?;
            }
            values.push(value);
        }
        Ok(values)
    }

    fn wrong_count<T>(&mut self, pragma: &Pragma, name: &str, names: &[&str]) -> Lower<T> {
        let (gate, given, expected) =
            (self.name(pragma.name.symbol), pragma.args.len(), names.len());
        let place = self.file_span(args_span(pragma));
        let error = Diagnostic::error(QasmProblem::ParameterCount { gate, given, expected });
        let help = format!("`{name}({}) …`", names.join(", "));
        Err(self.report(error.with_label(place, "").help(help)))
    }

    fn check_probability<T>(
        &mut self,
        result: &Result<T, BindError>,
        what: impl FnOnce() -> String,
        span: QasmSpan,
    ) -> Lower<()> {
        match result {
            Err(BindError::NoProbability { value, .. }) => {
                self.fail(QasmProblem::Probability { what: what(), given: *value }, span)
            }
            _ => Ok(()),
        }
    }

    /// A list of rows.
    fn matrix(&mut self, arg: &QasmExpr) -> Lower<Matrix<Complex<f64>>> {
        let mut rows = Vec::new();
        for row in self.items(arg, "a matrix such as `[[0, 1], [1, 0]]`")? {
            let mut entries = Vec::new();
            for entry in self.items(row, "a row of numbers such as `[0, 1]`")? {
                entries.push(self.entry(entry)?);
            }
            rows.push(entries);
        }
        let matrix = Matrix::from_rows(rows).map_err(|error| QasmProblem::Matrix { error });
        self.check(matrix, arg.span)
    }

    /// The items of a list.
    fn items<'e>(&mut self, expr: &'e QasmExpr, expected: &str) -> Lower<&'e [QasmExpr]> {
        if let QasmExprKind::List(items) = &expr.kind {
            return Ok(items);
        }
        let given = self.evaluate(expr, ExprScope::Global)?.describe().to_owned();
        self.fail(QasmProblem::WrongType { given, expected: expected.to_owned() }, expr.span)
    }

    /// An entry of a matrix.
    fn entry(&mut self, expr: &QasmExpr) -> Lower<Complex<f64>> {
        let value = self.evaluate(expr, ExprScope::Global)?;
        match value.complex() {
            // A zero has no sign.
            Some(z) => Ok(z + Complex::new(0.0, 0.0)),
            None if value.is_real() || value == QasmValue::COMPLEX => {
                let what = "an entry of a matrix".to_owned();
                self.fail(QasmProblem::NotConstant { what }, expr.span)
            }
            None => {
                let (given, expected) = (value.describe().to_owned(), "a number".to_owned());
                self.fail(QasmProblem::WrongType { given, expected }, expr.span)
            }
        }
    }
}

/// Returns the name of probability `k` of a readout matrix of several bits, for messages.
fn off_diagonal_entry(k: usize, n_bits: usize) -> String {
    let others = (1 << n_bits) - 1;
    let (row, column) = (k / others, k % others);
    let column = column + usize::from(column >= row);
    format!("p({column:0n_bits$b} for {row:0n_bits$b})")
}

/// A number that does not depend on inputs.
fn constant(value: &QasmValue) -> Option<Angle> {
    value.constant().and_then(|_| value.angle())
}

/// A constant as a probability.
fn probability(angle: &Angle) -> Result<Complex<f64>, BindError> {
    Values::<f64>(&[]).probability(angle)
}

/// Returns the span of the arguments; that of the name if there are none.
fn args_span(pragma: &Pragma) -> QasmSpan {
    let places: SmallVec<[QasmSpan; 4]> = pragma.args.iter().map(|arg| arg.span).collect();
    around(&places, pragma.name.span)
}

/// Returns the span from the first to the last.
fn around(places: &[QasmSpan], otherwise: QasmSpan) -> QasmSpan {
    match places {
        [first, .., last] => first.to(*last),
        [only] => *only,
        [] => otherwise,
    }
}
