//! Noise: which channel, with which numbers, on which qubits.
//!
//! As many operands as the channel has qubits go along registers as those of gates do. Otherwise all their elements
//! are the qubits, one by one, as Amazon Braket has it: `two_qubit_depolarizing(0.1) q[{0, 2}]`.
//!
//! In a Kraus operator of a pragma the first qubit is the most significant bit of a row number, in a circuit it is
//! the least: the qubits go in the opposite order.

use num_complex::Complex;
use smallvec::SmallVec;

use super::{Item, Lower, Lowering, Picks, Scope, Value};
use crate::{
    channel::{Channel, ChannelKind},
    matrix::Matrix,
    param::{Angle, BindError, Binding, Values},
    qasm::{
        ast::{Expr, ExprKind, Noise, Place, Span},
        diagnostic::{Diagnostic, Problem},
    },
};

/// The name of a channel that is given by its operators.
const KRAUS: &str = "kraus";

/// A channel along registers.
#[derive(Debug)]
pub(super) struct PlannedNoise {
    pub(super) channel: PlannedChannel,
    /// In the order of the circuit.
    pub(super) qubits: SmallVec<[Picks; 2]>,
    pub(super) times: u32,
    pub(super) place: Place,
}

#[derive(Debug)]
pub(super) enum PlannedChannel {
    /// As many values as it has parameters.
    Named(ChannelKind, Box<[Value]>),
    Kraus(Channel),
}

impl PlannedChannel {
    fn n_qubits(&self) -> usize {
        match self {
            PlannedChannel::Named(kind, _) => kind.n_qubits(),
            PlannedChannel::Kraus(channel) => channel.n_qubits(),
        }
    }
}

impl Lowering<'_> {
    pub(super) fn noise(&mut self, noise: &Noise, span: Span) -> Lower<()> {
        let channel = self.channel(noise);
        // Both may be wrong.
        let qubits = self.all_qubits(&noise.operands);
        let (channel, mut qubits) = (channel?, qubits?);
        let mut places: SmallVec<[Span; 4]> = noise.operands.iter().map(|o| o.span).collect();
        let expected = channel.n_qubits();
        if qubits.len() != expected {
            let lengths = qubits.iter().map(|p| p.len().unwrap_or(1) as usize);
            let given = lengths.clone().fold(0, usize::saturating_add);
            if given != expected {
                let (gate, expected) = (self.name(noise.name.symbol), expected as u64);
                let problem = Problem::QubitCount { gate, given, expected };
                return self.fail(problem, around(&places, noise.name.span));
            }
            places = lengths.zip(&places).flat_map(|(n, place)| std::iter::repeat_n(*place, n)).collect();
            qubits = qubits.iter().flat_map(Picks::iter).map(Picks::One).collect();
        }
        let length = self.common_length(&qubits, &places)?;
        let times = length.unwrap_or(1);
        self.check_distinct(&qubits, &places, times, noise.name.symbol)?;
        if let PlannedChannel::Kraus(_) = channel {
            qubits.reverse();
        }
        self.add_count(u64::from(times), span);
        self.push(Item::Noise(PlannedNoise { channel, qubits, times, place: self.place(span) }));
        Ok(())
    }

    fn channel(&mut self, noise: &Noise) -> Lower<PlannedChannel> {
        let name = self.name(noise.name.symbol);
        if name == KRAUS {
            return self.kraus(noise).map(PlannedChannel::Kraus);
        }
        let Some(kind) = ChannelKind::find(&name) else {
            let known = ChannelKind::ALL.iter().map(|kind| kind.name()).chain([KRAUS]);
            let help = super::names::nearest(&name, known.clone()).map_or_else(
                || known.collect::<Vec<_>>().join(", "),
                |name| format!("did you mean `{name}`?"),
            );
            let place = self.place(noise.name.span);
            let error = Diagnostic::error(Problem::UnknownChannel { name }).at(place, "");
            return Err(self.report(error.help(help)));
        };
        let names = kind.param_names();
        let (given, expected) = (noise.args.len(), names.len());
        if given != expected {
            let place = self.place(args_span(noise));
            let error = Diagnostic::error(Problem::ParameterCount { gate: name, given, expected });
            let help = format!("`{}({}) …`", kind.name(), names.join(", "));
            return Err(self.report(error.at(place, "").help(help)));
        }
        let mut values = Vec::with_capacity(expected);
        let mut constants = Vec::with_capacity(expected);
        for (arg, param) in noise.args.iter().zip(names) {
            let value = self.real_for(arg, Scope::Global, "a probability")?;
            if let Some(angle) = value.constant().and_then(|_| value.angle()) {
                let what = || format!("`{param}` of `{name}`");
                self.check_probability(&probability(&angle), what, arg.span)?;
                constants.push(angle);
            }
            values.push(value);
        }
        // What is made of the numbers is a probability, too.
        if constants.len() == expected
            && let Ok(channel) = Channel::new(kind, constants)
        {
            let terms = channel.terms::<Complex<f64>>(&Values::<f64>(&[]));
            let what = || format!("what {} leave in `{name}`", names.join(", "));
            self.check_probability(&terms, what, args_span(noise))?;
        }
        Ok(PlannedChannel::Named(kind, values.into()))
    }

    fn check_probability<T>(
        &mut self,
        result: &Result<T, BindError>,
        what: impl FnOnce() -> String,
        span: Span,
    ) -> Lower<()> {
        match result {
            Err(BindError::NoProbability { value, .. }) => {
                self.fail(Problem::Probability { what: what(), given: *value }, span)
            }
            _ => Ok(()),
        }
    }

    fn kraus(&mut self, noise: &Noise) -> Lower<Channel> {
        let mut operators = Vec::with_capacity(noise.args.len());
        for arg in &noise.args {
            let mut rows = Vec::new();
            for row in self.items(arg, "a matrix such as `[[0, 1], [1, 0]]`")? {
                let mut entries = Vec::new();
                for entry in self.items(row, "a row of numbers such as `[0, 1]`")? {
                    entries.push(self.entry(entry)?);
                }
                rows.push(entries);
            }
            let matrix = Matrix::from_rows(rows).map_err(|error| Problem::Matrix { error });
            operators.push(self.check(matrix, arg.span)?);
        }
        let channel = Channel::kraus(operators).map_err(|error| Problem::Channel { error });
        self.check(channel, args_span(noise))
    }

    /// The items of a list.
    fn items<'e>(&mut self, expr: &'e Expr, expected: &str) -> Lower<&'e [Expr]> {
        if let ExprKind::List(items) = &expr.kind {
            return Ok(items);
        }
        let given = self.evaluate(expr, Scope::Global)?.describe().to_owned();
        self.fail(Problem::WrongType { given, expected: expected.to_owned() }, expr.span)
    }

    /// An entry of a Kraus operator.
    fn entry(&mut self, expr: &Expr) -> Lower<Complex<f64>> {
        let value = self.evaluate(expr, Scope::Global)?;
        match value.complex() {
            // A zero has no sign.
            Some(z) => Ok(z + Complex::new(0.0, 0.0)),
            None if value.is_real() || value == Value::COMPLEX => {
                let what = "an entry of a Kraus operator".to_owned();
                self.fail(Problem::NotConstant { what }, expr.span)
            }
            None => {
                let (given, expected) = (value.describe().to_owned(), "a number".to_owned());
                self.fail(Problem::WrongType { given, expected }, expr.span)
            }
        }
    }
}

/// A constant as a probability.
fn probability(angle: &Angle) -> Result<Complex<f64>, BindError> {
    Values::<f64>(&[]).probability(angle)
}

/// Where the arguments stand; the name where there are none.
fn args_span(noise: &Noise) -> Span {
    let places: SmallVec<[Span; 4]> = noise.args.iter().map(|arg| arg.span).collect();
    around(&places, noise.name.span)
}

/// From the first place to the last.
fn around(places: &[Span], otherwise: Span) -> Span {
    match places {
        [first, .., last] => first.to(*last),
        [only] => *only,
        [] => otherwise,
    }
}
