//! The results of `run`, as JSON and as text. Neither makes a copy of the state.

use std::{
    collections::BTreeMap,
    io::{self, Write},
};

use ketgrad_core::{
    circuit::{Circuit, Compact},
    scalar::Scalar,
    simulate::ShotMemory,
    state::StateVector,
};
use num_complex::Complex;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::Value;

use super::{marginal::Marginal, outputs::OutputValues};
use crate::{npy::Number, report::Failure, terminal::Answer};

/// An expectation value.
pub(crate) struct Expectation<T> {
    pub(crate) value: T,
    /// The standard error, if it is a mean over shots.
    pub(crate) stderr: Option<T>,
}

/// The results of one run.
pub(crate) struct RunResult<T> {
    pub(crate) counts: Option<BTreeMap<String, u64>>,
    /// The outcome of each shot, if they are asked for in order.
    pub(crate) memory: Option<ShotMemory<String>>,
    /// The classical variables of the shots.
    pub(crate) outputs: Vec<OutputValues>,
    pub(crate) expectations: Vec<Expectation<T>>,
    /// The state, if it is asked for in any form.
    pub(crate) state: Option<StateVector<Complex<T>>>,
    /// The probabilities of basis states, where they are asked for and there is no state, or of
    /// outcomes of some qubits.
    pub(crate) diagonal: Option<Vec<T>>,
    /// The variance of each observable, if they are asked for.
    pub(crate) variances: Vec<T>,
    /// The covariances of the observables, a row for each, if they are asked for.
    pub(crate) covariances: Vec<Vec<T>>,
    /// The covariances of the errors of the expectation values, where inputs have error bars and
    /// there are several.
    pub(crate) error_covariances: Option<Value>,
}

impl<T> RunResult<T> {
    /// Returns a point without any result.
    pub(crate) fn new() -> RunResult<T> {
        let (variances, covariances, expectations) = (Vec::new(), Vec::new(), Vec::new());
        let (counts, state, diagonal, error_covariances) = (None, None, None, None);
        let (memory, outputs) = (None, Vec::new());
        RunResult {
            counts,
            memory,
            outputs,
            expectations,
            state,
            diagonal,
            variances,
            covariances,
            error_covariances,
        }
    }
}

/// The results of all runs.
pub(crate) struct Results<T> {
    pub(crate) n_qubits: usize,
    pub(crate) precision: &'static str,
    pub(crate) backend: String,
    pub(crate) observables: Vec<String>,
    pub(crate) points: Vec<RunResult<T>>,
    /// True if results are lists over the runs.
    pub(crate) sweep: bool,
    pub(crate) shots: Option<u64>,
    pub(crate) amplitudes: bool,
    pub(crate) probabilities: bool,
    pub(crate) variance: bool,
    pub(crate) covariance: bool,
    /// The qubits that counts and probabilities are of, if not of all.
    pub(crate) marginal: Option<Marginal>,
    pub(crate) seconds: f64,
    pub(crate) json: bool,
    /// The circuit that was run: what the basis states of states and probabilities are in the
    /// whole.
    pub(crate) compact: Compact,
}

impl<T: Number> Results<T> {
    /// Puts states and probabilities in their places among those of all qubits.
    ///
    /// # Errors
    /// The system does not give the memory.
    pub(crate) fn spread(&mut self) -> Result<(), Failure> {
        let compact = &self.compact;
        for point in &mut self.points {
            if let Some(state) = &mut point.state {
                let mut whole = StateVector::zero(self.n_qubits).map_err(Failure::input)?;
                let amplitudes = whole.amplitudes_mut();
                amplitudes[0] = Complex::new(T::lit(0.0), T::lit(0.0));
                let each = state.amplitudes().iter().enumerate();
                each.for_each(|(index, a)| amplitudes[compact.spread(index)] = *a);
                *state = whole;
            }
            if let Some(diagonal) = &mut point.diagonal {
                let mut whole = vec![T::lit(0.0); 1 << self.n_qubits];
                diagonal
                    .iter()
                    .enumerate()
                    .for_each(|(index, p)| whole[compact.spread(index)] = *p);
                *diagonal = whole;
            }
        }
        self.compact = Compact::whole(Circuit::new(self.n_qubits));
        Ok(())
    }

    /// Returns the number of results that are infinite or NaN, and a sentence for the first.
    pub(crate) fn nonfinite(&self) -> Option<(usize, String)> {
        let mut count = 0;
        let mut first = None;
        let mut found = |text: &dyn Fn() -> String| {
            count += 1;
            first.get_or_insert_with(text);
        };
        for point in &self.points {
            for (Expectation { value, stderr }, text) in
                point.expectations.iter().zip(&self.observables)
            {
                if !(value.finite() && stderr.is_none_or(Number::finite)) {
                    found(&|| format!("the expectation value of `{text}` is {value:?}"));
                }
            }
            for (variance, text) in point.variances.iter().zip(&self.observables) {
                if !variance.finite() {
                    found(&|| format!("the variance of `{text}` is {variance:?}"));
                }
            }
            for (row, a) in point.covariances.iter().zip(&self.observables) {
                for (covariance, b) in
                    row.iter().zip(&self.observables).filter(|(x, _)| !x.finite())
                {
                    found(&|| format!("the covariance of `{a}` and `{b}` is {covariance:?}"));
                }
            }
            for output in &point.outputs {
                match output.n_nonfinite() {
                    0 => {}
                    n => {
                        found(&|| format!("{n} of the values of `{}` are not finite", output.name))
                    }
                }
            }
            for (i, a) in point.all().enumerate() {
                if !(a.re.finite() && a.im.finite()) {
                    found(&|| format!("the amplitude of {} is {a:?}", self.compact.bitstring(i)));
                }
            }
        }
        first.map(|first| (count, first))
    }

    /// Writes an entry whose value is that of the one run, or the list over all runs.
    fn entry<'a, M: SerializeMap, V: Serialize>(
        &'a self,
        map: &mut M,
        key: &str,
        value: impl Fn(&'a RunResult<T>) -> V,
    ) -> Result<(), M::Error> {
        match self.points.as_slice() {
            [point] if !self.sweep => map.serialize_entry(key, &value(point)),
            points => map.serialize_entry(key, &Stream(points.iter().map(&value))),
        }
    }
}

/// A list that is serialized while it is made.
pub(super) struct Stream<I>(pub(super) I);

impl<V: Serialize, I: Iterator<Item = V> + Clone> Serialize for Stream<I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.clone())
    }
}

/// Outputs by their names.
struct Outputs<'a>(&'a [OutputValues]);

impl Serialize for Outputs<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|output| (&output.name, output)))
    }
}

/// An observable and a value.
#[derive(Serialize)]
struct ObservableEntry<'a, T> {
    observable: &'a str,
    value: T,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr: Option<T>,
}

impl<T: Number> Serialize for Results<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("n_qubits", &self.n_qubits)?;
        map.serialize_entry("precision", self.precision)?;
        map.serialize_entry("backend", &self.backend)?;
        if let Some(marginal) = &self.marginal {
            map.serialize_entry("qubits", marginal.qubits())?;
        }
        if self.shots.is_some() {
            self.entry(&mut map, "counts", |p| p.counts.as_ref())?;
        }
        if self.points.iter().any(|p| p.memory.is_some()) {
            self.entry(&mut map, "memory", |p| {
                Stream(p.memory.as_ref().into_iter().flat_map(ShotMemory::iter))
            })?;
        }
        if self.points.iter().any(|p| !p.outputs.is_empty()) {
            self.entry(&mut map, "outputs", |p| Outputs(&p.outputs))?;
        }
        if !self.observables.is_empty() {
            self.entry(&mut map, "expectations", |p| {
                let pairs = self.observables.iter().zip(&p.expectations);
                Stream(pairs.map(|(observable, e)| ObservableEntry {
                    observable,
                    value: e.value,
                    stderr: e.stderr,
                }))
            })?;
        }
        if self.points.iter().any(|p| p.error_covariances.is_some()) {
            self.entry(&mut map, "stderr_covariance", |p| p.error_covariances.as_ref())?;
        }
        if self.variance {
            self.entry(&mut map, "variances", |p| {
                let pairs = self.observables.iter().zip(&p.variances);
                Stream(pairs.map(|(observable, value)| ObservableEntry {
                    observable,
                    value: *value,
                    stderr: None,
                }))
            })?;
        }
        if self.covariance {
            self.entry(&mut map, "covariances", |p| &p.covariances)?;
        }
        if self.amplitudes {
            self.entry(&mut map, "amplitudes", |p| Stream(p.all().map(|a| [a.re, a.im])))?;
        }
        if self.probabilities {
            self.entry(&mut map, "probabilities", |p| Stream(p.probabilities()))?;
        }
        map.serialize_entry("seconds", &self.seconds)?;
        map.end()
    }
}

impl<T: Number> RunResult<T> {
    /// Returns all amplitudes that are asked for.
    fn all(&self) -> std::slice::Iter<'_, Complex<T>> {
        self.state.as_ref().map_or(&[][..], StateVector::amplitudes).iter()
    }

    /// Returns all probabilities that are asked for.
    fn probabilities(&self) -> impl Iterator<Item = T> + Clone + '_ {
        let diagonal = self.diagonal.as_deref().unwrap_or_default();
        self.all().map(Scalar::abs2).chain(diagonal.iter().copied())
    }

    fn write_text(&self, results: &Results<T>, out: &mut dyn Write) -> io::Result<()> {
        let name = |index| match &results.marginal {
            Some(marginal) => marginal.name(index),
            None => results.compact.bitstring(index),
        };
        let of = results.marginal.as_ref().map_or(String::new(), Marginal::title);
        if let (Some(counts), Some(shots)) = (&self.counts, results.shots) {
            writeln!(out, "counts of {shots} shots{of}")?;
            let width = counts.values().max().map_or(1, |c| c.to_string().len());
            for (bits, count) in counts {
                let share = 100.0 * *count as f64 / shots as f64;
                writeln!(out, "  {bits}  {count:>width$}  {share:6.2} %")?;
            }
        }
        if let Some(memory) = &self.memory {
            writeln!(out, "memory of {} shots{of}", memory.len())?;
            memory.iter().try_for_each(|bits| writeln!(out, "  {bits}"))?;
        }
        if !self.expectations.is_empty() {
            writeln!(out, "expectation values")?;
            let width = results.observables.iter().map(|o| o.chars().count()).max().unwrap_or(0);
            for (text, e) in results.observables.iter().zip(&self.expectations) {
                let error = e.stderr.map_or(String::new(), |s| format!(" +- {}", number(s)));
                writeln!(out, "  {text:width$}  {}{error}", number(e.value))?;
            }
        }
        let width = results.observables.iter().map(|o| o.chars().count()).max().unwrap_or(0);
        if let Some(errors) = &self.error_covariances {
            writeln!(out, "covariances of their errors\n  {errors}")?;
        }
        if results.variance {
            writeln!(out, "variances")?;
            for (text, variance) in results.observables.iter().zip(&self.variances) {
                writeln!(out, "  {text:width$}  {}", number(*variance))?;
            }
        }
        if results.covariance {
            writeln!(out, "covariances")?;
            for (text, row) in results.observables.iter().zip(&self.covariances) {
                let row: Vec<String> = row.iter().map(|x| number(*x)).collect();
                writeln!(out, "  {text:width$}  {}", row.join("  "))?;
            }
        }
        if results.amplitudes {
            writeln!(out, "amplitudes (zeros left out)")?;
            for (i, a) in self
                .all()
                .enumerate()
                .filter(|(_, a)| !(a.re.is_exact_zero() && a.im.is_exact_zero()))
            {
                writeln!(out, "  {}  {:>24} {:>25}", name(i), number(a.re), number(a.im) + "i")?;
            }
        }
        if results.probabilities {
            writeln!(out, "probabilities{of} (zeros left out)")?;
            for (i, p) in self.probabilities().enumerate().filter(|(_, p)| !p.is_exact_zero()) {
                writeln!(out, "  {}  {}", name(i), number(p))?;
            }
        }
        Ok(())
    }
}

/// Returns the shortest text that reads back the same, without a needless `.0`.
fn number<T: Number>(x: T) -> String {
    let text = format!("{x:?}");
    text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
}

impl<T: Number> Answer for Results<T> {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            // The error of a writer comes back as it was; a struct of numbers and texts has no
            // other.
            serde_json::to_writer(&mut *out, self).map_err(io::Error::from)?;
            return writeln!(out);
        }
        for (row, point) in self.points.iter().enumerate() {
            if self.sweep {
                writeln!(out, "row {row}")?;
            }
            point.write_text(self, out)?;
        }
        Ok(())
    }

    fn note(&self) -> Option<String> {
        let (n, s) = (self.n_qubits, if self.n_qubits == 1 { "" } else { "s" });
        let text =
            format!("{n} qubit{s}, {}, {}, {:.3} s", self.precision, self.backend, self.seconds);
        (!self.json).then_some(text)
    }
}
