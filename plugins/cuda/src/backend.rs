//! The backend that the host sees.

use std::sync::Arc;

use ketgrad_plugin_sdk::{
    C64, DeviceKernels, Error, Gates, Inner, Memory, PauliTerm, Precision, Query, Result,
    gate_kinds,
};

use crate::{
    driver::{Driver, Properties},
    paulis,
    run::Schedules,
    sampling,
    state::{CudaState, amplitude_bytes, state_bytes},
};

/// The score where the device does better than the built-in kernels, which are 100, and where it
/// does worse.
const BETTER: i32 = 200;
const WORSE: i32 = 50;

/// Largest number of qubits for which an index fits.
const MOST_QUBITS: u32 = 63;

/// Device, or the error that left the backend without one.
pub(crate) struct Backend {
    number: u32,
    from_qubits: u32,
    device: Result<Arc<dyn Driver>>,
    schedules: Schedules,
}

impl Backend {
    /// Returns the device of this number, which does better than the built-in kernels from that
    /// many qubits on.
    pub(crate) fn new(
        number: u32,
        from_qubits: u32,
        device: Result<Arc<dyn Driver>>,
        schedules: Schedules,
    ) -> Backend {
        Backend { number, from_qubits, device, schedules }
    }

    fn device(&self) -> Result<&Arc<dyn Driver>> {
        self.device.as_ref().map_err(Clone::clone)
    }
}

/// Description of a device in one line, for people.
pub(crate) fn in_words(properties: &Properties) -> String {
    let mut parts =
        vec![properties.name.clone(), format!("{:.1} GB", properties.total_memory as f64 / 1e9)];
    if properties.bandwidth > 0.0 {
        parts.push(format!("{:.0} GB/s", properties.bandwidth / 1e9));
    }
    parts.push(format!(
        "compute capability {}.{}",
        properties.capability.0, properties.capability.1
    ));
    if properties.driver_version > 0 {
        let version = properties.driver_version;
        parts.push(format!("driver for CUDA {}.{}", version / 1000, version % 1000 / 10));
    }
    let most = |precision| most_qubits(properties.total_memory, precision);
    parts.push(format!(
        "up to {} qubits, {} in single precision",
        most(Precision::Double),
        most(Precision::Single)
    ));
    parts.join(", ")
}

/// Returns the number of qubits of the largest state in that many bytes.
fn most_qubits(bytes: u64, precision: Precision) -> u32 {
    (bytes / amplitude_bytes(precision) as u64).checked_ilog2().unwrap_or(0)
}

impl DeviceKernels for Backend {
    type State = CudaState;

    fn name(&self) -> String {
        format!("cuda:{}", self.number)
    }
    fn describe(&self) -> String {
        let device = match &self.device {
            Ok(device) => device,
            Err(e) => return format!("not used: {e}"),
        };
        let lines = [in_words(device.properties()), device.notes(), self.schedules.notes()];
        lines
            .iter()
            .filter(|line| !line.is_empty())
            .map(String::as_str)
            .collect::<Vec<_>>()
            .join("\n")
    }
    fn score(&self, query: &Query) -> i32 {
        let Ok(device) = &self.device else { return 0 };
        let needed = state_bytes(query.precision, query.n_qubits);
        if needed.is_none_or(|bytes| bytes as u64 > device.properties().total_memory) {
            return 0;
        }
        if query.n_qubits >= self.from_qubits { BETTER } else { WORSE }
    }
    fn precisions(&self) -> &[Precision] {
        &[Precision::Double, Precision::Single]
    }
    fn gates(&self) -> u32 {
        gate_kinds::DIAGONAL
    }
    /// Returns the largest possible number without a device: the score declines, and the
    /// description says why.
    fn max_qubits(&self) -> u32 {
        self.device.as_ref().map_or(MOST_QUBITS, |device| {
            most_qubits(device.properties().total_memory, Precision::Single)
        })
    }
    fn max_targets(&self) -> u32 {
        5
    }
    fn memory(&self) -> Memory {
        match &self.device {
            Ok(device) if device.is_emulated() => Memory::Opaque,
            _ => Memory::Cuda,
        }
    }
    fn zeros(&self, precision: Precision, n_qubits: u32) -> Result<CudaState> {
        CudaState::zeros(self.device()?, precision, n_qubits)
    }
    fn basis(&self, state: &mut CudaState, index: u64) -> Result<()> {
        state.basis(index)
    }
    fn copy(&self, from: &CudaState) -> Result<CudaState> {
        from.copied()
    }
    fn upload(&self, state: &mut CudaState, amplitudes: &[u8]) -> Result<()> {
        state.upload(amplitudes)
    }
    fn download(&self, state: &CudaState, amplitudes: &mut [u8]) -> Result<()> {
        state.download(amplitudes)
    }
    fn sync(&self, state: &CudaState) -> Result<()> {
        state.driver().sync()
    }
    fn apply(&self, state: &mut CudaState, gates: Gates<'_>) -> Result<()> {
        self.schedules.apply(state, gates)
    }
    fn apply_pair(
        &self,
        psi: &mut CudaState,
        lambda: &mut CudaState,
        gates: Gates<'_>,
        inners: &[Inner],
        values: &mut [f64],
    ) -> Result<()> {
        psi.expect_alike(lambda)?;
        if inners.len() != values.len() {
            return Err(Error::new(format!(
                "{} inner products, room for {}",
                inners.len(),
                values.len()
            )));
        }
        self.schedules.apply_pair(psi, lambda, gates, inners, values)
    }
    fn expectation(&self, state: &CudaState, terms: &[PauliTerm]) -> Result<f64> {
        paulis::real_inner(state, terms, state)
    }
    fn inner(&self, a: &CudaState, b: &CudaState) -> Result<C64> {
        paulis::inner(a, &[PauliTerm { coefficient: 1.0, x: 0, z: 0 }], b)
    }
    fn inner_paulis(&self, a: &CudaState, terms: &[PauliTerm], b: &CudaState) -> Result<C64> {
        paulis::inner(a, terms, b)
    }
    fn apply_paulis(
        &self,
        terms: &[PauliTerm],
        from: &CudaState,
        to: &mut CudaState,
    ) -> Result<()> {
        paulis::apply(terms, from, to)
    }
    fn sample(&self, state: &CudaState, uniforms: &[f64], indices: &mut [u64]) -> Result<()> {
        sampling::sample(state, uniforms, indices)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{driver::Cuda, nvrtc::Kernels, testing::device};

    fn query(n_qubits: u32, precision: Precision) -> Query {
        Query { n_qubits, threads: 1, n_gates: 100, precision }
    }

    #[test]
    fn without_a_device_it_declines_and_says_why() {
        let none =
            Backend::new(1, 18, Err(Error::no_hardware("no NVIDIA driver")), Schedules::default());
        assert_eq!(none.name(), "cuda:1");
        assert_eq!(none.describe(), "not used: no NVIDIA driver");
        assert_eq!(none.score(&query(20, Precision::Double)), 0);
        assert_eq!(none.zeros(Precision::Double, 2).unwrap_err().to_string(), "no NVIDIA driver");
    }

    #[test]
    fn the_score_is_by_size() {
        let some = Backend::new(0, 18, Ok(device()), Schedules::default());
        let score = |n, precision| some.score(&query(n, precision));
        assert!(score(17, Precision::Double) < 100 && score(17, Precision::Double) > 0);
        assert!(score(18, Precision::Double) > 100);
        // The pretended memory is 2^30 bytes.
        assert!(score(26, Precision::Double) > 100);
        assert_eq!(score(27, Precision::Double), 0);
        assert!(score(27, Precision::Single) > 100);
        assert_eq!(score(28, Precision::Single), 0);
        assert_eq!(score(64, Precision::Single), 0);
        assert_eq!(some.max_qubits(), 27);
    }

    #[test]
    fn a_device_is_described() {
        let some = Backend::new(0, 18, Ok(device()), Schedules::default());
        assert_eq!(
            some.describe(),
            "emulated device, 1.1 GB, compute capability 8.0, up to 26 qubits, 27 in single precision\n\
             kernels run on the processor, for tests"
        );
    }

    /// Looking for a device ends in one or in an error, whatever the machine has.
    #[test]
    fn a_device_that_is_not_there_is_an_error_in_words() {
        let Err(e) = Cuda::open(u32::MAX, Box::new(Kernels::new(false))) else {
            panic!("device {}", u32::MAX)
        };
        let said = e.to_string();
        assert!(said.contains("driver") || said.starts_with("cuInit: "), "{said}");
    }
}
