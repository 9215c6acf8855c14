//! Programs for a device: words and numbers, and the launches that read them.

use ketgrad_core::{
    kernel::{Operator, OperatorShape, OverlapProbe, SimdFloat, StateHint},
    plan::{self, BinaryAngle, Cut, Schedule},
};
use ketgrad_plugin_sdk::{C64, Precision};
use num_complex::Complex;

use crate::{
    bits::ones,
    stage,
    state::{CudaState, amplitude_bytes},
};

/// Launch geometry for one kind of number on one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LaunchGeometry {
    /// log2 of the amplitudes that a thread holds in registers: `ROWS` of the kernels.
    pub(crate) rows: usize,
    /// log2 of the amplitudes that share one access to the banks of shared memory.
    pub(crate) banks: usize,
    /// Qubits of a tile of one state.
    pub(crate) tile_qubits: usize,
    /// Number of the lowest qubits that are in every tile, so that memory accesses are coalesced.
    pub(crate) low_qubits: usize,
    /// True if a matrix on two qubits is a step of its own, for tensor cores.
    pub(crate) matrices: bool,
}

/// Threads of a block of a stage, as in the kernels.
pub(crate) const STAGE_THREADS: usize = 256;

/// Threads of a warp.
pub(crate) const WARP: usize = 32;

/// Compute capability from which tensor cores have double precision.
pub(crate) const TENSOR_CORES: (u32, u32) = (8, 0);

/// Number of qubits below which operators are applied one by one: a tile would not fill a warp.
pub(crate) const TILES_FROM: usize = 9;

/// Largest number of groups of phases of a stage; their factors are in shared memory beside the
/// tile.
pub(crate) const MAX_GROUPS: usize = 384;

/// Largest number of inner products of a stage, for the same reason.
pub(crate) const MAX_LOOKS: usize = 96;

impl LaunchGeometry {
    /// Returns the geometry for a precision, a compute capability, and that many bytes of shared
    /// memory for a block: tiles of 64 KiB, three of which fit a multiprocessor of 2020 and later,
    /// or smaller ones; made of runs of 128 bytes.
    pub(crate) fn new(
        precision: Precision,
        capability: (u32, u32),
        shared_per_block: u32,
    ) -> LaunchGeometry {
        let mut form = match precision {
            Precision::Single => LaunchGeometry {
                rows: 4,
                banks: 4,
                tile_qubits: 13,
                low_qubits: 4,
                matrices: false,
            },
            Precision::Double => {
                let matrices = capability >= TENSOR_CORES;
                LaunchGeometry { rows: 3, banks: 3, tile_qubits: 12, low_qubits: 3, matrices }
            }
        };
        let size = amplitude_bytes(precision);
        let beside = MAX_GROUPS * size + STAGE_THREADS / WARP * MAX_LOOKS * size_of::<f64>();
        while form.tile_qubits > TILES_FROM + 1
            && (size << form.tile_qubits) + beside > shared_per_block as usize
        {
            form.tile_qubits -= 1;
        }
        form
    }

    /// Returns the geometry for a state.
    pub(crate) fn for_state(state: &CudaState) -> LaunchGeometry {
        let properties = state.driver().properties();
        LaunchGeometry::new(state.precision(), properties.capability, properties.shared_per_block)
    }

    /// Returns the geometry for two states at once.
    fn for_pairs(self) -> LaunchGeometry {
        LaunchGeometry { tile_qubits: self.tile_qubits - 1, ..self }
    }
}

/// Launch of a kernel. `at` and the like are indices into the words, numbers of the program.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum KernelLaunch {
    /// Stage on tiles.
    Stage(Stage),
    /// Matrix on `targets` qubits for each of `groups` sets of amplitudes.
    Dense { targets: u32, at: u32, matrix: u32, groups: u64 },
    /// Factors of `count` offsets.
    Diagonal { at: u32, factors: u32, count: u32, groups: u64 },
    /// Cycle of `count` offsets.
    Cycle { at: u32, factors: u32, count: u32, groups: u64 },
    /// Inner product of two states without a tile: its number in the list.
    Inner { number: usize, x: u64, z: u64 },
}

/// A stage on tiles.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Stage {
    pub(crate) at: u32,
    /// Index of its first number.
    pub(crate) first_number: u32,
    /// log2 of the amplitudes of a tile.
    pub(crate) bits: u32,
    pub(crate) tiles: u32,
    /// Groups of phases.
    pub(crate) groups: u32,
    /// Inner products that it takes, in the order of its sums: (number in the list, factor).
    pub(crate) overlap_probes: Vec<(usize, f64)>,
}

/// Launches and the words and numbers that they read.
#[derive(Clone, Debug, Default)]
pub(crate) struct KernelProgram {
    pub(crate) words: Vec<u32>,
    pub(crate) numbers: Vec<f64>,
    pub(crate) launches: Vec<KernelLaunch>,
}

impl KernelProgram {
    /// Compiles operators on states of n qubits, one after the other or in stages, with inner
    /// products between them if there are two states. From |0…0> the first stages visit few tiles.
    /// `schedule` is one of earlier operators: it is reused if these are another binding of the
    /// same circuit with the same inner products, and replaced if not.
    pub(crate) fn new<E: SimdFloat>(
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: Option<&[OverlapProbe]>,
        (form, hint): (LaunchGeometry, StateHint),
        schedule: &mut Option<Schedule>,
    ) -> KernelProgram {
        let mut program = KernelProgram::default();
        let few = operators.len() < 2 && inners.is_none_or(<[OverlapProbe]>::is_empty);
        let form = if inners.is_some() { form.for_pairs() } else { form };
        let wide = |inner: &OverlapProbe| inner.x.count_ones() as usize > form.tile_qubits;
        if n_qubits < TILES_FROM || few || inners.is_some_and(|inners| inners.iter().any(wide)) {
            program.one_by_one(n_qubits, operators, inners.unwrap_or_default());
            return program;
        }
        // A matrix is one operation of the tensor cores.
        let (tile_qubits, low_qubits) = (form.tile_qubits, form.low_qubits);
        let (tolerance, lookahead) = (Cut::TOLERANCE, Cut::LOOKAHEAD);
        let cut = Cut {
            tile_qubits,
            low_qubits,
            factor_blocks: false,
            state_hint: hint,
            tolerance,
            lookahead,
        };
        let between = inners.unwrap_or_default();
        let same = |s: &mut Schedule| {
            s.n_qubits() == n_qubits && s.cut() == cut && s.bind(operators, between)
        };
        if !schedule.as_mut().is_some_and(same) {
            *schedule = Some(Schedule::new(n_qubits, operators, between, cut));
        }
        if let Some(schedule) = schedule {
            program.staged(schedule, operators, form);
        }
        program
    }

    /// Returns the stages among the launches.
    pub(crate) fn stages(&self) -> impl Iterator<Item = &Stage> {
        self.launches.iter().filter_map(|launch| match launch {
            KernelLaunch::Stage(stage) => Some(stage),
            _ => None,
        })
    }

    fn staged<E: SimdFloat>(
        &mut self,
        schedule: &Schedule,
        operators: &[Operator<Complex<E>>],
        form: LaunchGeometry,
    ) {
        let n_qubits = schedule.n_qubits();
        let mut angle = schedule.angle();
        for stage in schedule.stages() {
            match stage {
                plan::Stage::Plain { operator, .. } => self.plain(n_qubits, &operators[*operator]),
                plan::Stage::Tile { qubits, active_qubits, ops } => {
                    self.tiled(schedule, (*qubits, *active_qubits), ops, form, &mut angle);
                }
            }
        }
    }

    /// Compiles a stage; operators that are too many for one become two.
    fn tiled(
        &mut self,
        schedule: &Schedule,
        (qubits, active_qubits): (usize, usize),
        ops: &[usize],
        form: LaunchGeometry,
        angle: &mut BinaryAngle,
    ) {
        let layout = schedule.layout(qubits, ops);
        match stage::compile(self, layout, active_qubits, form, *angle) {
            Some(stage) => {
                *angle = BinaryAngle::ZERO;
                self.launches.push(KernelLaunch::Stage(stage));
            }
            None => {
                let (first, second) = ops.split_at(ops.len() / 2);
                self.tiled(schedule, (qubits, active_qubits), first, form, angle);
                self.tiled(schedule, (qubits, active_qubits), second, form, angle);
            }
        }
    }

    fn one_by_one<E: SimdFloat>(
        &mut self,
        n_qubits: usize,
        operators: &[Operator<Complex<E>>],
        inners: &[OverlapProbe],
    ) {
        let mut waiting: Vec<(usize, &OverlapProbe)> = inners.iter().enumerate().collect();
        waiting.sort_by_key(|(_, inner)| inner.before);
        let mut waiting = waiting.into_iter().peekable();
        let look = |(number, inner): (usize, &OverlapProbe)| KernelLaunch::Inner {
            number,
            x: inner.x as u64,
            z: inner.z as u64,
        };
        for (k, operator) in operators.iter().enumerate() {
            while let Some(next) = waiting.next_if(|(_, inner)| inner.before <= k) {
                self.launches.push(look(next));
            }
            self.plain(n_qubits, operator);
        }
        self.launches.extend(waiting.map(look));
    }

    /// Compiles one operator by itself.
    fn plain<E: SimdFloat>(&mut self, n_qubits: usize, operator: &Operator<Complex<E>>) {
        if let Some(operators) = operator.without_string() {
            return operators.iter().for_each(|operator| self.plain(n_qubits, operator));
        }
        let operator = &operator.map(|z| C64::new(z.re.into(), z.im.into()));
        let (fixed, value) = operator.controls();
        let groups = 1u64 << (n_qubits - fixed.count_ones() as usize);
        match operator.shape() {
            // Strings are other operators by now.
            OperatorShape::Identity
            | OperatorShape::Parity { .. }
            | OperatorShape::PauliString { .. } => {}
            OperatorShape::Phase(factor) => self.diagonal(fixed, value, &[(0, *factor)], groups),
            OperatorShape::Diagonal(factors) => self.diagonal(fixed, value, factors, groups),
            OperatorShape::Swap(a, b) => {
                let one = C64::new(1.0, 0.0);
                self.cycle(fixed, value, &[(*a, one), (*b, one)], groups);
            }
            OperatorShape::Cycles(cycles) => {
                cycles.iter().for_each(|c| self.cycle(fixed, value, c, groups))
            }
            OperatorShape::Dense { matrix, offsets } => {
                let at = self.operator(fixed, value, offsets.iter().copied());
                let matrix = self.complex(matrix.iter().copied());
                let targets = offsets.len().trailing_zeros();
                self.launches.push(KernelLaunch::Dense { targets, at, matrix, groups });
            }
        }
    }

    fn diagonal(&mut self, fixed: usize, value: usize, factors: &[(usize, C64)], groups: u64) {
        let at = self.operator(fixed, value, factors.iter().map(|f| f.0));
        let count = factors.len() as u32;
        let factors = self.complex(factors.iter().map(|f| f.1));
        self.launches.push(KernelLaunch::Diagonal { at, factors, count, groups });
    }

    fn cycle(&mut self, fixed: usize, value: usize, cycle: &[(usize, C64)], groups: u64) {
        if let [(offset, factor)] = cycle {
            return self.diagonal(fixed, value, &[(*offset, *factor)], groups);
        }
        let at = self.operator(fixed, value, cycle.iter().map(|f| f.0));
        let factors = self.complex(cycle.iter().map(|f| f.1));
        self.launches.push(KernelLaunch::Cycle { at, factors, count: cycle.len() as u32, groups });
    }

    /// Writes the words of a single operator.
    fn operator(
        &mut self,
        fixed: usize,
        value: usize,
        offsets: impl Iterator<Item = usize>,
    ) -> u32 {
        let at = self.words.len() as u32;
        self.words.push(fixed.count_ones());
        self.words.extend(ones(fixed).map(|bit| bit as u32));
        self.long(value as u64);
        offsets.for_each(|offset| self.long(offset as u64));
        at
    }

    /// Writes a number of 64 bits, the low half first.
    pub(crate) fn long(&mut self, value: u64) {
        self.words.extend([value as u32, (value >> 32) as u32]);
    }

    /// Writes complex numbers, from an even index on: they are read as pairs.
    pub(crate) fn complex(&mut self, numbers: impl Iterator<Item = C64>) -> u32 {
        self.numbers.resize(self.numbers.len().next_multiple_of(2), 0.0);
        let at = self.numbers.len() as u32;
        self.numbers.extend(numbers.flat_map(|z| [z.re, z.im]));
        at
    }
}

#[cfg(test)]
mod tests {
    use ketgrad_core::matrix::Matrix;

    use super::*;

    #[test]
    fn from_zero_the_first_stages_go_over_few_tiles() {
        let n = 22;
        let (c, s) = (C64::new(0.8, 0.0), C64::new(0.6, 0.0));
        let turn = Matrix::from_fn(1, |row, column| [[c, -s], [s, c]][row][column]);
        let phases = Matrix::from_fn(1, |row, column| {
            [[1.0.into(), 0.0.into()], [0.0.into(), C64::cis(0.4)]][row][column]
        });
        let mut operators = Vec::new();
        for _ in 0..4 {
            for q in 0..n {
                operators.push(Operator::new(&turn, &[q], &[]).unwrap());
                operators.push(Operator::new(&phases, &[q], &[((q + 1) % n, true)]).unwrap());
            }
        }
        let form = LaunchGeometry::new(Precision::Double, (8, 0), 227 << 10);
        let tiles = |hint| {
            let program = KernelProgram::new(n, &operators, None, (form, hint), &mut None);
            let of = |launch: &KernelLaunch| {
                if let KernelLaunch::Stage(stage) = launch {
                    stage.tiles
                } else {
                    panic!("{launch:?}")
                }
            };
            program.launches.iter().map(of).collect::<Vec<u32>>()
        };
        let (given, from_zero) = (tiles(StateHint::Arbitrary), tiles(StateHint::StartsAtZero));
        let all = 1 << (n - form.tile_qubits);
        assert!(given.iter().all(|tiles| *tiles == all), "{given:?}");
        assert_eq!((from_zero[0], from_zero.last()), (1, Some(&all)), "{from_zero:?}");
        assert!(from_zero.iter().sum::<u32>() < given.iter().sum(), "{from_zero:?} {given:?}");
    }

    #[test]
    fn tiles_fit_the_shared_memory_of_a_block() {
        let form =
            |precision, kib: u32| LaunchGeometry::new(precision, (8, 0), kib << 10).tile_qubits;
        assert_eq!((form(Precision::Double, 227), form(Precision::Single, 227)), (12, 13));
        assert_eq!((form(Precision::Double, 96), form(Precision::Single, 96)), (12, 13));
        assert_eq!((form(Precision::Double, 64), form(Precision::Single, 64)), (11, 12));
    }
}
