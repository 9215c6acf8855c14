//! Gates on states.
#![expect(unsafe_code, reason = "kernels are launched with addresses of device memory")]

use std::sync::{Mutex, PoisonError};

use ketgrad_core::{
    kernel::{Operator, OverlapProbe, SimdFloat, StateHint},
    matrix::Matrix,
    plan::Schedule,
};
use ketgrad_plugin_sdk::{C64, Error, Gates, PauliTerm, Precision, Result};
use num_complex::Complex;

use crate::{
    bits::ones,
    driver::{self, Arg, Buffer, Driver, KernelId, LaunchConfig as Kernel, Packed},
    paulis,
    program::{KernelLaunch, KernelProgram, LaunchGeometry, STAGE_THREADS, Stage, WARP},
    stage_kernels::StageKernels,
    state::{CudaState, amplitude_bytes},
};

/// Threads of a block of a single operator.
const THREADS: u32 = 256;

/// Number of tiles, for each block that runs at a time, from which the first passes from |0…0>
/// visit few of them.
const WAVES: u64 = 4;

/// Cache of earlier runs: a circuit that returns with other angles is not divided into stages
/// again, and its stages may have kernels of their own.
#[derive(Default)]
pub(crate) struct Schedules {
    /// Schedules on one state and on two, for each precision.
    kept: [[Mutex<Option<Schedule>>; 2]; 2],
    stage_kernels: StageKernels,
}

impl Schedules {
    /// Returns an empty cache; with kernels for stages that have moved that many bytes, if a number
    /// is given.
    pub(crate) fn new(stages_after: Option<u64>) -> Schedules {
        Schedules { stage_kernels: StageKernels::new(stages_after), ..Schedules::default() }
    }

    /// Notes on the kernels of stages, for people.
    pub(crate) fn notes(&self) -> String {
        self.stage_kernels.notes()
    }

    /// Applies operators in order.
    ///
    /// # Errors
    /// An operator does not fit the state, or the device fails.
    pub(crate) fn apply(&self, state: &mut CudaState, gates: Gates<'_>) -> Result<()> {
        self.operate(state, &operators(gates, state.n_qubits())?)
    }

    fn operate(&self, state: &mut CudaState, operators: &[Operator<C64>]) -> Result<()> {
        let program = self.program(state, operators, None);
        self.run(state, &program, 1)?.all(state)
    }

    /// Applies operators to both states, and computes the inner products between them.
    ///
    /// # Errors
    /// The same as for [`Schedules::apply`].
    pub(crate) fn apply_pair(
        &self,
        psi: &mut CudaState,
        lambda: &mut CudaState,
        gates: Gates<'_>,
        inners: &[ketgrad_plugin_sdk::Inner],
        values: &mut [f64],
    ) -> Result<()> {
        let of = |inner: &ketgrad_plugin_sdk::Inner| OverlapProbe {
            before: usize::try_from(inner.before).unwrap_or(usize::MAX),
            x: inner.x as usize,
            z: inner.z as usize,
        };
        let inners: Vec<OverlapProbe> = inners.iter().map(of).collect();
        self.operate_pair(psi, lambda, &operators(gates, psi.n_qubits())?, &inners, values)
    }

    fn operate_pair(
        &self,
        psi: &mut CudaState,
        lambda: &mut CudaState,
        operators: &[Operator<C64>],
        inners: &[OverlapProbe],
        values: &mut [f64],
    ) -> Result<()> {
        let program = self.program(psi, operators, Some(inners));
        self.run(psi, &program, 2)?.pair(psi, lambda, values)
    }

    fn run<'a>(
        &self,
        state: &CudaState,
        program: &'a KernelProgram,
        states: usize,
    ) -> Result<Run<'a>> {
        let kind = (state.precision(), states);
        let own = self.stage_kernels.kernels(
            state.driver().as_ref(),
            program,
            kind,
            LaunchGeometry::for_state(state),
        );
        Run::new(state, program, own)
    }

    /// Compiles a program. In single precision matrices are rounded first, so that a matrix that is
    /// unitary up to that rounding counts as unitary.
    fn program(
        &self,
        state: &CudaState,
        operators: &[Operator<C64>],
        inners: Option<&[OverlapProbe]>,
    ) -> KernelProgram {
        match state.precision() {
            Precision::Double => self.compile_program(state, operators, inners),
            Precision::Single => {
                let rounded = |o: &Operator<C64>| o.map(|z| Complex::new(z.re as f32, z.im as f32));
                let operators: Vec<Operator<Complex<f32>>> =
                    operators.iter().map(rounded).collect();
                self.compile_program(state, &operators, inners)
            }
        }
    }

    fn compile_program<E: SimdFloat>(
        &self,
        state: &CudaState,
        operators: &[Operator<Complex<E>>],
        inners: Option<&[OverlapProbe]>,
    ) -> KernelProgram {
        let form = LaunchGeometry::for_state(state);
        let hint = if inners.is_some() { StateHint::Arbitrary } else { state_hint(state, form) };
        let kept = &self.kept[usize::from(inners.is_some())]
            [usize::from(state.precision() == Precision::Single)];
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        KernelProgram::new(state.n_qubits() as usize, operators, inners, (form, hint), &mut kept)
    }
}

/// Returns the hint on a state that the schedule can use. From |0…0> a circuit takes more passes
/// over fewer tiles, and a pass takes at least the time of one tile: this gains where a pass over
/// the whole state takes many times that.
fn state_hint(state: &CudaState, form: LaunchGeometry) -> StateHint {
    let tiles = state.count() >> form.tile_qubits.min(state.n_qubits() as usize);
    let shared_bytes = (amplitude_bytes(state.precision()) << form.tile_qubits) as u32;
    match state.is_new()
        && tiles
            >= WAVES * u64::from(state.driver().properties().blocks_at_once(u32::MAX, shared_bytes))
    {
        true => StateHint::StartsAtZero,
        false => StateHint::Arbitrary,
    }
}

/// Converts the operators of a list.
fn operators(gates: Gates<'_>, n_qubits: u32) -> Result<Vec<Operator<C64>>> {
    let one = |gate: ketgrad_plugin_sdk::Gate<'_>| {
        let targets: Vec<usize> = gate.targets.iter().map(|q| *q as usize).collect();
        let (mask, value) = (gate.control_mask as usize, gate.control_value as usize);
        let controls: Vec<(usize, bool)> = ones(mask).map(|q| (q, value >> q & 1 == 1)).collect();
        let zero = C64::new(0.0, 0.0);
        let matrix = Matrix::from_fn(targets.len(), |row, column| match gate.is_diagonal {
            true if row != column => zero,
            true => gate.matrix[row],
            false => gate.matrix[row << targets.len() | column],
        });
        let operator =
            Operator::new(&matrix, &targets, &controls).map_err(|e| Error::new(e.to_string()))?;
        if operator.n_qubits() > n_qubits as usize {
            let needed = operator.n_qubits();
            return Err(Error::new(format!(
                "an operator on {needed} qubits, a state of {n_qubits}"
            )));
        }
        Ok(operator)
    };
    gates.iter().map(one).collect()
}

/// Program on its device.
struct Run<'a> {
    program: &'a KernelProgram,
    precision: Precision,
    /// Words and numbers in device memory, for as long as this lives.
    data: Buffer<u8>,
    numbers: u64,
    /// Kernels of single stages, in the order of the stages; empty if none exist.
    own: Vec<Option<usize>>,
}

impl<'a> Run<'a> {
    fn new(
        state: &CudaState,
        program: &'a KernelProgram,
        own: Vec<Option<usize>>,
    ) -> Result<Run<'a>> {
        let mut packed = Packed::default();
        packed.push(&program.words);
        let numbers = match state.precision() {
            Precision::Double => packed.push(&program.numbers),
            Precision::Single => {
                packed.push(&program.numbers.iter().map(|x| *x as f32).collect::<Vec<f32>>())
            }
        };
        let data = packed.upload(state.driver())?;
        Ok(Run { program, precision: state.precision(), data, numbers, own })
    }

    fn words_at(&self) -> Arg {
        Arg::At(self.data.address())
    }

    fn numbers_at(&self) -> Arg {
        Arg::At(self.data.address() + self.numbers)
    }

    fn all(&self, state: &mut CudaState) -> Result<()> {
        let mut of_their_own = self.own.iter();
        for launch in &self.program.launches {
            let KernelLaunch::Stage(stage) = launch else {
                self.plain(state, launch)?;
                continue;
            };
            let own = of_their_own.next().copied().flatten();
            let shared_bytes = self.shared(stage.bits, stage.groups, 1);
            let grid = state.driver().properties().blocks_at_once(stage.tiles, shared_bytes);
            let mut args = vec![Arg::At(state.address_mut())];
            args.extend(self.of_stage(stage, own));
            self.stage(state, ("stage", own), (grid, shared_bytes), &args)?;
        }
        Ok(())
    }

    fn pair(&self, psi: &mut CudaState, lambda: &mut CudaState, values: &mut [f64]) -> Result<()> {
        values.fill(0.0);
        // Each block of a stage gives a sum for each of its inner products.
        let sums = |stage: &Stage| self.of_pair(psi, stage).0 as usize * stage.overlap_probes.len();
        let sums: Vec<usize> = self.program.stages().map(sums).collect();
        let out = Buffer::<f64>::new(psi.driver(), sums.iter().sum::<usize>().max(1))?;
        let (mut at, mut next, mut of_their_own) = (out.address(), sums.iter(), self.own.iter());
        for launch in &self.program.launches {
            match launch {
                KernelLaunch::Stage(stage) => {
                    let (grid, shared_bytes) = self.of_pair(psi, stage);
                    let own = of_their_own.next().copied().flatten();
                    let mut args = vec![Arg::At(psi.address_mut()), Arg::At(lambda.address_mut())];
                    args.extend(self.of_stage(stage, own));
                    args.push(Arg::At(at));
                    self.stage(psi, ("stage_pair", own), (grid, shared_bytes), &args)?;
                    at += (next.next().unwrap_or(&0) * size_of::<f64>()) as u64;
                }
                KernelLaunch::Inner { number, x, z } => {
                    let term = PauliTerm { coefficient: 1.0, x: *x, z: *z };
                    values[*number] += paulis::inner(lambda, &[term], psi)?.im;
                }
                plain => {
                    self.plain(psi, plain)?;
                    self.plain(lambda, plain)?;
                }
            }
        }
        let mut all = vec![0.0; sums.iter().sum()];
        out.read(0, &mut all)?;
        let mut rest = all.as_slice();
        for (stage, count) in self.program.stages().zip(sums) {
            let (these, others) = rest.split_at(count);
            rest = others;
            for block in these.chunks(stage.overlap_probes.len().max(1)) {
                let weighted = block.iter().zip(&stage.overlap_probes);
                weighted.for_each(|(sum, (number, weight))| values[*number] += weight * sum);
            }
        }
        Ok(())
    }

    /// Returns the parameters of a stage between the states and the sums; a kernel of a single
    /// stage also receives the index of its first number.
    fn of_stage(&self, stage: &Stage, own: Option<usize>) -> impl Iterator<Item = Arg> {
        let first = own.map(|_| Arg::U32(stage.first_number));
        [self.words_at(), self.numbers_at(), Arg::U32(stage.at)]
            .into_iter()
            .chain(first)
            .chain([Arg::U32(stage.tiles)])
    }

    fn stage(
        &self,
        state: &CudaState,
        (kernel, own): (&'static str, Option<usize>),
        (grid, shared_bytes): (u32, u32),
        args: &[Arg],
    ) -> Result<()> {
        let kernel = own.map_or(KernelId::Named(kernel), KernelId::Added);
        self.launch(state, kernel, (grid, STAGE_THREADS as u32, shared_bytes), args)
    }

    /// Returns the number of blocks and the shared memory of a stage on two states.
    fn of_pair(&self, state: &CudaState, stage: &Stage) -> (u32, u32) {
        let sums = STAGE_THREADS / WARP * stage.overlap_probes.len() * size_of::<f64>();
        let shared_bytes =
            self.shared(stage.bits, stage.groups.next_multiple_of(2), 2) + sums as u32;
        (state.driver().properties().blocks_at_once(stage.tiles, shared_bytes), shared_bytes)
    }

    /// Returns the bytes of the tiles of that many states and of the factors of groups.
    fn shared(&self, bits: u32, groups: u32, states: u32) -> u32 {
        ((states << bits) + groups) * amplitude_bytes(self.precision) as u32
    }

    fn plain(&self, state: &mut CudaState, launch: &KernelLaunch) -> Result<()> {
        let (kernel, middle, groups) = match *launch {
            KernelLaunch::Dense { targets, at, matrix, groups } => {
                const DENSE: [&str; 5] = ["dense1", "dense2", "dense3", "dense4", "dense5"];
                let kernel = targets.checked_sub(1).and_then(|k| DENSE.get(k as usize));
                let kernel = *kernel.ok_or_else(|| {
                    Error::unsupported(format!("a matrix on {targets} qubits; at most 5"))
                })?;
                (kernel, vec![Arg::U32(at), Arg::U32(matrix)], groups)
            }
            KernelLaunch::Diagonal { at, factors, count, groups } => {
                ("diagonal", vec![Arg::U32(at), Arg::U32(factors), Arg::U32(count)], groups)
            }
            KernelLaunch::Cycle { at, factors, count, groups } => {
                ("cycle", vec![Arg::U32(at), Arg::U32(factors), Arg::U32(count)], groups)
            }
            KernelLaunch::Stage(_) | KernelLaunch::Inner { .. } => return Ok(()),
        };
        let mut args = vec![Arg::At(state.address_mut()), self.words_at(), self.numbers_at()];
        args.extend(middle);
        args.push(Arg::U64(groups));
        let block =
            THREADS.min(groups.next_power_of_two().clamp(WARP as u64, u64::from(THREADS)) as u32);
        let grid = u32::try_from(groups.div_ceil(u64::from(block))).map_err(|_| {
            Error::new(format!("{groups} sets of amplitudes: more than a device counts"))
        })?;
        self.launch(state, KernelId::Named(kernel), (grid, block, 0), &args)
    }

    fn launch(
        &self,
        state: &CudaState,
        kernel: KernelId,
        (grid, block, shared_bytes): (u32, u32, u32),
        args: &[Arg],
    ) -> Result<()> {
        let launch = Kernel { kernel, precision: self.precision, grid, block, shared_bytes };
        // SAFETY: the states hold 2^n amplitudes each, the program was written for n qubits, and
        // its words and numbers are on the device; the arguments are those of the kernels'
        // signatures.
        unsafe { driver::launch(state.driver().as_ref() as &dyn Driver, launch, args) }
    }
}

#[cfg(test)]
mod tests;
