//! Circuits that end with measurements, compared by the distributions of their classical bits.
//!
//! A circuit U that reads qubits into bits has an effect `E_b = U^+ P_b U` for each value b of the
//! bits: an input state r gives b with the probability `tr(r E_b)`. Two circuits give the same
//! distribution for every input if their effects are the same, and that is so if
//!
//! ```text
//! W(phi) = U^+ (product over the bits k of diag(1, e^{i phi_k}) on the qubit of k) U = sum_b e^{i phi . b} E_b
//! ```
//! is the same for all phi, since the exponentials are linearly independent. So effects are
//! compared as two more circuits are, with a parameter for each bit, and with all that is exact
//! there. Where ancillas start in |0>, only the entries of W count where they are 0 before and
//! after; from |0…0> that is the one entry which is the characteristic function of the bits.

use std::collections::{BTreeMap, HashMap, HashSet};

use num_complex::Complex;

use super::{
    ComparedEntries, EquivalenceReport, EquivalenceSettings, EquivalentError, On, Verdict, compare,
    numeric::Start,
};
use crate::{
    circuit::{Circuit, CircuitError, Compact},
    gate::{Gate, GateKind},
    param::Values,
    simulate::{BoundCircuit, SimulateError, Simulator, constants, final_measurements},
    state::StateVector,
};

/// The most names in a list.
const MOST_LISTED: usize = 4;
/// The most bits beyond the qubits for which distributions are computed.
const SPARE_BITS: usize = 2;
/// The difference of probabilities of a bit from which on it is told.
const TOLD_ALONE: f64 = 1e-6;

/// Source of a classical bit at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum BitSource {
    /// Outcome of a measurement of this qubit.
    Qubit(usize),
    /// 1.
    One,
    /// 0.
    Zero,
}

/// A bit of both circuits.
#[derive(Clone, Debug)]
struct ComparedBit {
    /// Name of the bit in the first circuit, or in the only one that has it.
    name: String,
    sources: [BitSource; 2],
}

/// The classical bits of two circuits, those that are 0 in both left out.
#[derive(Clone, Debug)]
pub(super) struct ReadoutBits {
    bits: Vec<ComparedBit>,
    /// The qubits by their numbers in the circuits as they were given, to speak of them.
    qubits: Vec<usize>,
}

/// A bit that shows.
struct VisibleBit<'a> {
    register: &'a str,
    /// Index in the register; `place` is the index among all bits that show.
    index: usize,
    place: usize,
    source: BitSource,
}

impl ReadoutBits {
    /// Returns `None` unless both circuits write bits; a note says what that leaves out.
    pub(super) fn new(
        a: &Circuit,
        b: &Circuit,
        notes: &mut Vec<String>,
    ) -> Result<Option<ReadoutBits>, EquivalentError> {
        match (a.has_results(), b.has_results()) {
            (true, true) => {}
            (false, false) => return Ok(None),
            (first, _) => {
                let which = if first { "first" } else { "second" };
                notes.push(format!(
                    "only the {which} circuit measures: the gates alone are compared"
                ));
                return Ok(None);
            }
        }
        let [first, second] = [visible_bits(a, "first")?, visible_bits(b, "second")?];
        let by_name = has_names(b, &first) || has_names(a, &second);
        if !by_name {
            notes.push(
                "the classical registers have other names: their bits are compared in order"
                    .to_owned(),
            );
        }
        let mut bits: Vec<ComparedBit> = Vec::new();
        let mut places = HashMap::new();
        for (which, bit) in
            first.iter().map(|bit| (0, bit)).chain(second.iter().map(|bit| (1, bit)))
        {
            let key = if by_name { (bit.register, bit.index) } else { ("", bit.place) };
            let at = *places.entry(key).or_insert_with(|| {
                let name = format!("{}[{}]", bit.register, bit.index);
                bits.push(ComparedBit { name, sources: [BitSource::Zero; 2] });
                bits.len() - 1
            });
            bits[at].sources[which] = bit.source;
        }
        Ok(Some(ReadoutBits { bits, qubits: Vec::new() }))
    }

    /// Returns the qubits that are read, in either circuit.
    pub(super) fn qubits(&self) -> impl Iterator<Item = usize> {
        self.bits.iter().flat_map(|bit| bit.sources).filter_map(|source| match source {
            BitSource::Qubit(qubit) => Some(qubit),
            BitSource::One | BitSource::Zero => None,
        })
    }

    /// Restricts the readout to circuits on some of the qubits.
    pub(super) fn on_qubits(mut self, on: &Compact) -> ReadoutBits {
        for source in self.bits.iter_mut().flat_map(|bit| &mut bit.sources) {
            if let BitSource::Qubit(qubit) = source {
                *qubit = on.position_of(*qubit).unwrap_or(*qubit);
            }
        }
        self.qubits = on.qubits().to_vec();
        self
    }

    /// Compares two circuits of gates before what is read.
    pub(super) fn compare(
        &self,
        a: &Circuit,
        b: &Circuit,
        settings: &EquivalenceSettings,
        simulator: &Simulator,
    ) -> Result<EquivalenceReport, EquivalentError> {
        // Equal gates are the usual case, and say more.
        let mut notes = None;
        if let Some(outputs) = self.outputs(a.n_qubits()) {
            let moved = with_outputs(b, &outputs).map_err(SimulateError::from)?;
            let mut report = compare(a, &moved, settings, ComparedEntries::Vectors, simulator)?;
            if matches!(report.verdict, Verdict::Equal | Verdict::EqualUpToPhase) {
                report.notes.extend(self.note_of_moved());
                return Ok(report);
            }
            notes = Some(report.notes);
        }
        let names = self.phase_names(a, b);
        let [first, second] =
            [(0, a), (1, b)].map(|(which, c)| self.characteristic(which, c, &names));
        let (first, second) =
            (first.map_err(SimulateError::from)?, second.map_err(SimulateError::from)?);
        let mut report = compare(&first, &second, settings, ComparedEntries::Returned, simulator)?;
        report.by_readout = true;
        // Without those about angles of inverse gates, which no circuit has.
        report.notes = notes.unwrap_or(report.notes);
        if let Some(witness) = &mut report.witness {
            witness.params.retain(|(name, _)| !names.contains(name));
        }
        match report.verdict {
            Verdict::Equal => report.notes.push(
                "the bits have the same distribution for every input, though the states before they are read differ"
                    .to_owned(),
            ),
            Verdict::Different => self.tell_difference([a, b], settings, simulator, &mut report)?,
            _ => {}
        }
        Ok(report)
    }

    /// Returns the qubit of the first circuit that is read as each of the second is; `None` if they
    /// are not read alike. Qubits that are not read keep their places where they can.
    fn outputs(&self, n_qubits: usize) -> Option<Vec<usize>> {
        let mut to = vec![None; n_qubits];
        let mut taken = vec![false; n_qubits];
        for bit in &self.bits {
            match bit.sources {
                [BitSource::Qubit(first), BitSource::Qubit(second)] => {
                    let to = to.get_mut(second)?;
                    let taken = taken.get_mut(first)?;
                    match *to {
                        Some(known) if known == first => {}
                        None if !*taken => (*to, *taken) = (Some(first), true),
                        _ => return None,
                    }
                }
                [first, second] if first == second => {}
                _ => return None,
            }
        }
        for (qubit, to) in to.iter_mut().enumerate() {
            if to.is_none() && !taken[qubit] {
                (*to, taken[qubit]) = (Some(qubit), true);
            }
        }
        let mut free = (0..n_qubits).filter(|qubit| !taken[*qubit]);
        to.into_iter().map(|to| to.or_else(|| free.next())).collect()
    }

    /// Returns a note about the bits that are read from other qubits, if any.
    fn note_of_moved(&self) -> Option<String> {
        let number = |qubit: usize| self.qubits.get(qubit).copied().unwrap_or(qubit);
        let moved = self.bits.iter().filter_map(|bit| match bit.sources {
            [BitSource::Qubit(first), BitSource::Qubit(second)] if first != second => {
                Some(format!("{} from qubit {} and {}", bit.name, number(first), number(second)))
            }
            _ => None,
        });
        let listed = listed(moved);
        (!listed.is_empty()).then(|| format!("equal as they are read: {listed}"))
    }

    /// Names for the phase of each bit that neither circuit has.
    fn phase_names(&self, a: &Circuit, b: &Circuit) -> Vec<String> {
        let taken =
            |name: &String| [a, b].iter().any(|c| c.params().iter().any(|p| p.name == *name));
        let mut name = |k: usize| {
            let mut name = format!("phase of bit {k}");
            while taken(&name) {
                name.push('\'');
            }
            name
        };
        (0..self.bits.len()).map(&mut name).collect()
    }

    /// Returns the circuit W, whose entries are the characteristic functions of the bits.
    fn characteristic(
        &self,
        which: usize,
        gates: &Circuit,
        names: &[String],
    ) -> Result<Circuit, CircuitError> {
        let mut circuit = gates.clone();
        for (bit, name) in self.bits.iter().zip(names) {
            let phi = circuit.param(name);
            match bit.sources[which] {
                BitSource::Qubit(qubit) => drop(circuit.p(qubit, phi)?),
                BitSource::One => drop(circuit.gphase(phi)?),
                BitSource::Zero => {}
            }
        }
        let back = gates.dagger()?;
        for instruction in back.instructions() {
            circuit.push(instruction.clone())?;
        }
        Ok(circuit)
    }

    /// Says at the witness which bit differs, and by how much.
    fn tell_difference(
        &self,
        circuits: [&Circuit; 2],
        settings: &EquivalenceSettings,
        simulator: &Simulator,
        report: &mut EquivalenceReport,
    ) -> Result<(), EquivalentError> {
        let Some(witness) = &mut report.witness else { return Ok(()) };
        // Bits that are read alike have one value.
        let mut bits: Vec<&ComparedBit> = Vec::new();
        let mut seen = HashSet::new();
        bits.extend(self.bits.iter().filter(|bit| seen.insert(bit.sources)));
        // Two states while one is made, and both distributions, of twice as many real numbers as
        // SPARE_BITS says.
        let n_qubits = circuits[0].n_qubits();
        let fits =
            simulator.check_memory_of::<Complex<f64>>(n_qubits, 2 + (1 << SPARE_BITS)).is_ok();
        if bits.len() > n_qubits + SPARE_BITS || !fits {
            return Ok(());
        }
        // An input that people can name says more than a random one.
        let starts = match settings.on {
            On::State => vec![(On::State, "from |0...0>")],
            unitary @ On::Unitary { .. } => {
                vec![(On::State, "from |0...0>"), (unitary, "from a random state")]
            }
        };
        for (on, from) in starts {
            let start = Start::new(
                n_qubits,
                &EquivalenceSettings { on, ..*settings },
                ComparedEntries::Vectors,
            );
            let run = |which: usize| -> Result<StateVector<Complex<f64>>, EquivalentError> {
                let circuit = circuits[which];
                let value = |name: &str| {
                    witness.params.iter().find(|(known, _)| known == name).map_or(0.0, |p| p.1)
                };
                let inputs: Vec<f64> = circuit.inputs().map(value).collect();
                let values = circuit.param_values(&inputs).map_err(SimulateError::from)?;
                let bound = BoundCircuit::new(circuit, &Values(&values))?;
                let mut state = start.state(settings.seed, simulator)?;
                simulator.execute(bound.operators().unwrap_or(&[]), &mut state, &mut |_, _| {})?;
                Ok(state)
            };
            let [p, q] = [distribution(&bits, 0, &run(0)?), distribution(&bits, 1, &run(1)?)];
            let apart = 0.5 * p.iter().zip(&q).map(|(p, q)| (p - q).abs()).sum::<f64>();
            if apart <= settings.tolerance + 2.0 * witness.error {
                if matches!(settings.on, On::Unitary { .. }) && on == On::State {
                    report.notes.push(
                        "no difference is seen from |0...0>, where states are compared".to_owned(),
                    );
                }
                continue;
            }
            (witness.distance, report.max_difference) = (apart, Some(apart));
            let told = most_different(&bits, &p, &q);
            report.reason = Some(format!("{from}, {told}"));
            return Ok(());
        }
        Ok(())
    }
}

/// Returns the probability of each value of some bits, the first of them least significant.
fn distribution(
    bits: &[&ComparedBit],
    which: usize,
    state: &StateVector<Complex<f64>>,
) -> Vec<f64> {
    let mut probabilities = vec![0.0; 1 << bits.len()];
    for (index, amplitude) in state.amplitudes().iter().enumerate() {
        let value = |source: BitSource| match source {
            BitSource::Qubit(qubit) => index >> qubit & 1,
            BitSource::One => 1,
            BitSource::Zero => 0,
        };
        let bits = bits.iter().enumerate();
        let outcome = bits.fold(0, |outcome, (k, bit)| outcome | value(bit.sources[which]) << k);
        probabilities[outcome] += amplitude.norm_sqr();
    }
    probabilities
}

/// Returns the bit with the most different probabilities, or where all bits alone are alike, the
/// value of all.
fn most_different(bits: &[&ComparedBit], p: &[f64], q: &[f64]) -> String {
    let one = |of: &[f64], k: usize| -> f64 {
        of.iter().enumerate().filter(|(outcome, _)| outcome >> k & 1 == 1).map(|(_, p)| p).sum()
    };
    let told = |what: String, [p, q]: [f64; 2]| {
        format!("{what} with probability {p:.6} in the first circuit, {q:.6} in the second")
    };
    let alone = bits.iter().enumerate().map(|(k, bit)| (bit, [one(p, k), one(q, k)]));
    let apart = |[p, q]: [f64; 2]| (p - q).abs();
    // The first of those that differ most.
    if let Some((bit, of)) = alone.rev().max_by(|a, b| apart(a.1).total_cmp(&apart(b.1)))
        && apart(of) > TOLD_ALONE
    {
        return told(format!("{} is 1", bit.name), of);
    }
    let outcomes = p.iter().zip(q).map(|(p, q)| [*p, *q]).enumerate();
    let Some((outcome, of)) = outcomes.rev().max_by(|a, b| apart(a.1).total_cmp(&apart(b.1)))
    else {
        return String::new();
    };
    let names = listed(bits.iter().rev().map(|bit| bit.name.clone()));
    let width = bits.len();
    told(format!("{names} are {outcome:0width$b}"), of)
}

/// Returns the bits of a circuit that show and may be 1, in order of declaration. O(what is
/// written), whatever is declared.
fn visible_bits<'a>(
    circuit: &'a Circuit,
    which: &'static str,
) -> Result<Vec<VisibleBit<'a>>, EquivalentError> {
    let finals = final_measurements(circuit).map_err(|_| EquivalentError::Dynamic { which })?;
    let mut sources: BTreeMap<usize, BitSource> = constants(circuit)
        .into_iter()
        .filter(|one| one.1)
        .map(|one| (one.0 as usize, BitSource::One))
        .collect();
    // A measurement comes after all constants.
    sources.extend(
        finals.into_iter().map(|(bit, qubit)| (bit as usize, BitSource::Qubit(qubit as usize))),
    );
    let (mut first, mut place) = (0, 0);
    let mut all = Vec::new();
    for register in circuit.registers() {
        if !register.hidden {
            let bits = sources.range(first..first + register.size);
            all.extend(bits.map(|(&bit, &source)| VisibleBit {
                register: &register.name,
                index: bit - first,
                place: place + bit - first,
                source,
            }));
            place += register.size;
        }
        first += register.size;
    }
    Ok(all)
}

/// Returns true if all registers that some bits are of have namesakes in a circuit.
fn has_names(circuit: &Circuit, bits: &[VisibleBit<'_>]) -> bool {
    let is_there = |name: &str| circuit.registers().iter().any(|r| !r.hidden && r.name == name);
    bits.chunk_by(|a, b| a.register == b.register).all(|bits| is_there(bits[0].register))
}

/// Returns the circuit with its output qubits in other places.
fn with_outputs(circuit: &Circuit, to: &[usize]) -> Result<Circuit, CircuitError> {
    let mut circuit = circuit.clone();
    // Target of the content of each qubit.
    let mut held = to.to_vec();
    for qubit in 0..held.len() {
        while held[qubit] != qubit {
            let other = held[qubit];
            circuit.gate(Gate::new(GateKind::SWAP, [])?, &[qubit, other], &[])?;
            held.swap(qubit, other);
        }
    }
    Ok(circuit)
}

/// Returns the first few of some names.
pub(super) fn listed(names: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = names.collect();
    let first = all.iter().take(MOST_LISTED).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(MOST_LISTED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
