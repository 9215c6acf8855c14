//! The Hamiltonian of a job.

use ketgrad_core::{
    ansatz,
    basis::MAX_QUBITS,
    circuit::{Circuit, CircuitError},
    observable::PauliSum,
    problem::{self, FermionError, Graph, Mapping, Molecule, Tapering},
    simulate::Simulator,
};

use super::inputs::Inputs;
use crate::{
    files::read_text, observables, report::Failure, section::Section, toml_values::integer,
};

/// The electrons of a molecule and how they become qubits.
#[derive(Clone, Debug)]
pub(super) struct Electrons {
    pub(super) molecule: Molecule,
    pub(super) mapping: Mapping,
    /// Hamiltonian of the molecule on two qubits for each orbital.
    mapped: PauliSum,
    /// Weight of [`Molecule::penalty`].
    weight: f64,
    /// Tapering, if qubits are taken off.
    tapering: Option<Tapering>,
}

impl Electrons {
    /// Returns the number of qubits.
    pub(super) fn n_qubits(&self) -> usize {
        self.tapering.as_ref().map_or(2 * self.molecule.n_orbitals(), Tapering::n_qubits)
    }

    /// Unitary coupled cluster; with qubits taken off, of the excitations that keep the symmetries.
    ///
    /// # Errors
    /// Fails when [`ansatz::uccsd_from`] does.
    pub(super) fn uccsd(&self) -> Result<Circuit, CircuitError> {
        let (n, occupied) = (2 * self.molecule.n_orbitals(), self.molecule.occupied());
        let Some(tapering) = &self.tapering else {
            return ansatz::uccsd_from(n, &occupied, self.mapping);
        };
        let all = ansatz::excitations_from(n, &occupied, self.mapping)?;
        let kept: Vec<PauliSum> =
            all.iter().filter_map(|generator| tapering.taper(generator)).collect();
        let ones: Vec<usize> =
            (0..tapering.n_qubits()).filter(|q| tapering.state() >> q & 1 == 1).collect();
        ansatz::exponentials(tapering.n_qubits(), &ones, &kept)
    }

    /// Returns the Hamiltonian, with a penalty of some weight.
    fn hamiltonian(&self, weight: f64) -> Result<PauliSum, FermionError> {
        let mut sum = self.mapped.clone();
        if weight > 0.0 {
            let n_orbitals = 2 * self.molecule.n_orbitals();
            let all = sum + self.mapping.map(&self.molecule.penalty(weight)?, n_orbitals)?;
            sum = all.collected().unwrap_or(all);
        }
        // The penalty conserves all that the Hamiltonian does: it is a sum of products of Z.
        Ok(self.tapering.as_ref().and_then(|tapering| tapering.taper(&sum)).unwrap_or(sum))
    }

    /// Returns the lowest level of the electrons, without a penalty: of all states that have as
    /// many of each spin, and with qubits taken off also the symmetries of the reference state.
    /// `None` if it is not found.
    pub(super) fn lowest(&self, simulator: &Simulator) -> Option<f64> {
        let n_orbitals = 2 * self.molecule.n_orbitals();
        let keeps = |state: usize| {
            let state = self.tapering.as_ref().map_or(state, |tapering| tapering.untapered(state));
            self.mapping
                .decode(n_orbitals, state)
                .is_ok_and(|occupations| self.molecule.holds(occupations))
        };
        let hamiltonian = self.hamiltonian(0.0).ok()?;
        let levels = simulator.lowest_among(&hamiltonian, self.n_qubits(), 1, &keeps).ok()?;
        levels.first().map(|level| level.energy)
    }

    /// Returns the electrons in words: their number, and what else [`Electrons::lowest`] keeps that
    /// is not true of the lowest level anyway. Spins that are as equal as they can be are, as a
    /// multiplet has a state of each `MS2`.
    pub(super) fn words(&self) -> String {
        let (count, ms2) = (self.molecule.n_electrons(), self.molecule.ms2());
        let plural = if count == 1 { "" } else { "s" };
        let spin = if ms2.abs() > 1 { format!(", MS2 = {ms2}") } else { String::new() };
        let parities = if self.tapering.is_some() { ", symmetries of the reference" } else { "" };
        format!("{count} electron{plural}{spin}{parities}")
    }

    /// Returns a penalty that is enough for the lowest level to be that of the electrons, rounded
    /// up.
    pub(super) fn sufficient_penalty(&self) -> Option<f64> {
        let weight = self.molecule.sufficient_penalty().ok()?;
        let unit = 10f64.powf(weight.log10().floor() - 1.0);
        Some((weight / unit).ceil() * unit).filter(|weight| weight.is_finite())
    }
}

/// Source of the Hamiltonian, its file read.
pub(super) struct HamiltonianSource<'a, 'i> {
    section: Section<'a, 'i>,
    /// The name and the text.
    file: Option<(String, String)>,
    electrons: Option<Electrons>,
}

impl<'a, 'i> HamiltonianSource<'a, 'i> {
    /// Reads the file, so that the ansatz can be that of a molecule.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong, in whichever file it is.
    pub(super) fn read(
        mut section: Section<'a, 'i>,
        inputs: &mut Inputs<'_>,
    ) -> Result<Self, Failure> {
        let Some(path) = section.string("file")? else {
            return Ok(HamiltonianSource { section, file: None, electrons: None });
        };
        let caused = |e| section.caused("file", e);
        let (name, text) = read_text(&inputs.path(path)).map_err(caused)?;
        let electrons = if Molecule::is_fcidump(&text) {
            let molecule = observables::read_molecule(&name, &text).map_err(caused)?;
            Some(read_space(&mut section, molecule)?)
        } else {
            None
        };
        Ok(HamiltonianSource { section, file: Some((name, text)), electrons })
    }

    /// Returns the electrons, if it is a molecule.
    pub(super) fn electrons(&self) -> Option<&Electrons> {
        self.electrons.as_ref()
    }

    /// Returns the Hamiltonian for an ansatz of n qubits.
    ///
    /// # Errors
    /// [`Failure`] that underlines what is wrong, in whichever file it is.
    pub(super) fn sum(self, inputs: &mut Inputs<'_>, n_qubits: usize) -> Result<PauliSum, Failure> {
        let HamiltonianSource { mut section, file, electrons } = self;
        let (terms, name) = (section.string("terms")?, section.string("name")?);
        let one_or = |number: Option<f64>| number.unwrap_or(1.0);
        let made = match (file, terms, name.as_deref()) {
            (Some((file, text)), None, None) => {
                section.finish()?;
                let Some(electrons) = electrons else {
                    return observables::read_terms(&file, &text, n_qubits)
                        .map_err(|e| section.caused("file", e));
                };
                let needed = electrons.n_qubits();
                if needed != n_qubits {
                    let orbitals = electrons.molecule.n_orbitals();
                    let way =
                        if electrons.tapering.is_some() { ", tapered," } else { " of two spins" };
                    let message = format!(
                        "{orbitals} orbitals{way} need {needed} qubits, but the circuit has {n_qubits}"
                    );
                    return Err(section.wrong("file", message));
                }
                return electrons
                    .hamiltonian(electrons.weight)
                    .map_err(|e| section.wrong("file", e));
            }
            (None, Some(terms), None) => {
                section.finish()?;
                return match section.place_of("terms", &terms) {
                    Some((name, whole, start)) => {
                        observables::parse(name, whole, start, &terms, n_qubits)
                    }
                    None => observables::read_text_of("hamiltonian.terms", &terms, n_qubits)
                        .map_err(|e| section.caused("terms", e)),
                };
            }
            (None, None, Some("ising")) => {
                let qubits = section.qubits("qubits")?;
                let coupling = one_or(section.number("coupling")?);
                let field = one_or(section.number("field")?);
                problem::ising(qubits, coupling, field, section.flag("periodic")?)
            }
            (None, None, Some("heisenberg")) => {
                let qubits = section.qubits("qubits")?;
                let given = section.numbers("couplings")?;
                let couplings = match given.as_deref() {
                    None => [1.0; 3],
                    Some(&[x, y, z]) => [x, y, z],
                    Some(_) => {
                        return Err(
                            section.wrong("couplings", "expected three numbers, of X, Y and Z")
                        );
                    }
                };
                problem::heisenberg(qubits, couplings, section.flag("periodic")?)
            }
            (None, None, Some("max_cut")) => problem::max_cut(&read_graph(&mut section, inputs)?),
            (None, None, Some("h2")) => Ok(problem::h2()),
            (None, None, Some("lih")) => Ok(problem::lih()),
            (None, None, Some(other)) => {
                return Err(section.unknown_name(
                    "name",
                    other,
                    &["ising", "heisenberg", "max_cut", "h2", "lih"],
                ));
            }
            (None, None, None) => {
                return Err(section
                    .incomplete("`file` with one term a line or an FCIDUMP, `terms`, or `name`"));
            }
            _ => {
                let key = if name.is_some() { "name" } else { "terms" };
                return Err(
                    section.wrong(key, "a Hamiltonian has one of `file`, `terms` and `name`")
                );
            }
        };
        section.finish()?;
        let sum = made.map_err(|e| section.wrong("name", e))?;
        if sum.n_qubits() > n_qubits {
            let message =
                format!("it acts on {} qubits, but the ansatz has {n_qubits}", sum.n_qubits());
            return Err(section.wrong("name", message));
        }
        Ok(sum)
    }
}

/// Returns the active space of a molecule, and how it becomes qubits.
fn read_space(section: &mut Section<'_, '_>, molecule: Molecule) -> Result<Electrons, Failure> {
    let weight = section.size("penalty")?.unwrap_or(0.0);
    let mapping = match section.string("mapping")?.as_deref() {
        None => Mapping::default(),
        Some(name) => Mapping::named(name).ok_or_else(|| {
            section.unknown_name("mapping", name, &Mapping::ALL.map(Mapping::name))
        })?,
    };
    let mut orbitals = |key| section.values(key, |value| integer(value, 0, u64::from(u16::MAX)));
    let (frozen, active) = (orbitals("frozen")?, orbitals("active")?);
    let usize_of =
        |list: Vec<u64>| list.into_iter().map(|orbital| orbital as usize).collect::<Vec<_>>();
    let key = if active.is_some() { "active" } else { "frozen" };
    let molecule = if frozen.is_some() || active.is_some() {
        let frozen = usize_of(frozen.unwrap_or_default());
        let rest =
            || (0..molecule.n_orbitals()).filter(|orbital| !frozen.contains(orbital)).collect();
        let active = active.map_or_else(rest, usize_of);
        molecule.active_space(&frozen, &active).map_err(|e| section.wrong(key, e))?
    } else {
        molecule
    };
    let (given, most) = (molecule.n_orbitals(), MAX_QUBITS / 2);
    if given > most {
        let message = format!("{given} orbitals of two spins: a state has room for {most}");
        return Err(section.wrong("file", message).help("`active` keeps some of them"));
    }
    let mapped = molecule.hamiltonian(mapping).map_err(|e| section.wrong("file", e))?;
    let tapering = if section.flag("taper")? {
        let state = molecule.reference(mapping).map_err(|e| section.wrong("file", e))?;
        let tapering = Tapering::new(&mapped, 2 * molecule.n_orbitals(), state);
        Some(tapering.map_err(|e| section.wrong("taper", e))?)
    } else {
        None
    };
    Ok(Electrons { molecule, mapping, mapped, weight, tapering })
}

/// Returns the graph of a section.
pub(super) fn read_graph(
    section: &mut Section<'_, '_>,
    inputs: &mut Inputs<'_>,
) -> Result<Graph, Failure> {
    let Some(path) = section.string("graph")? else {
        return Err(section.incomplete("`graph` with a file of edges, or one of Gset or DIMACS"));
    };
    let (name, text) = read_text(&inputs.path(path)).map_err(|e| section.caused("graph", e))?;
    text.parse().map_err(|e: problem::GraphError| {
        Failure::input(e.problem).at_line(&name, &text, e.line.unwrap_or(1))
    })
}
