//! Stages that get a kernel of their own.
//!
//! Compiling a kernel takes far longer than a stage, and pays only if the stage returns often. It
//! is compiled once the bytes that the stage has moved took about as long: whatever happens
//! afterwards, the compiler has not taken longer than the stage has. A kernel that an earlier
//! process kept is loaded when a stage appears for the third time. A stage that appears once costs
//! nothing here.
//!
//! Both kinds of kernels give the same numbers to the last bit, so a user cannot see when one takes
//! over.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use ketgrad_plugin_sdk::Precision;

use crate::{
    driver::Driver,
    program::{KernelProgram, LaunchGeometry, Stage},
    source::source,
    state::amplitude_bytes,
};

/// Bytes moved after which a kernel is compiled: a third of a second of the memory of an H100,
/// about the time that NVRTC takes.
pub(crate) const AFTER: u64 = 1_000_000_000_000;

/// Largest number of stages that are tracked.
const MOST: usize = 1024;

/// Number of recent programs that are recognized, on one state and on two.
const RECENT: usize = 8;

/// Kernels of single stages.
#[derive(Default)]
pub(crate) struct StageKernels {
    /// Number of bytes moved after which a stage's kernel is compiled; `None` for no such kernels.
    after: Option<u64>,
    /// Store of each precision.
    stores: [Mutex<Store>; 2],
}

#[derive(Default)]
struct Store {
    /// Stages by their source.
    numbers: HashMap<Arc<str>, usize>,
    stages: Vec<(Arc<str>, Standing)>,
    /// Most recent programs, the newest first, on one state and on two.
    recent: [VecDeque<Known>; 2],
    /// First error.
    failed: Option<String>,
}

/// Words of a program and, if it has appeared again, the numbers of its stages.
struct Known {
    words: Vec<u32>,
    stages: Option<Vec<Option<usize>>>,
}

#[derive(Clone, Copy)]
enum Standing {
    /// No kernel yet: the bytes moved so far, and true in `looked` if the cache was searched for
    /// it.
    Without { moved: u64, looked: bool },
    /// Number of the kernel in the driver.
    Kernel(usize),
    /// No kernel will be made.
    Never,
}

impl StageKernels {
    /// Returns kernels for stages that have moved that many bytes; none at all for `None`.
    pub(crate) fn new(after: Option<u64>) -> StageKernels {
        StageKernels { after, ..StageKernels::default() }
    }

    /// Notes for people; empty if there are none.
    pub(crate) fn notes(&self) -> String {
        let (mut count, mut failed) = (0, None);
        for store in &self.stores {
            let store = store.lock().unwrap_or_else(PoisonError::into_inner);
            count += store.stages.iter().filter(|s| matches!(s.1, Standing::Kernel(_))).count();
            failed = failed.or_else(|| store.failed.clone());
        }
        let made = (count > 0).then(|| format!("kernels of single stages: {count}"));
        let failed = failed.map(|e| format!("no kernel of a stage: {e}"));
        made.into_iter().chain(failed).collect::<Vec<_>>().join("; ")
    }

    /// Returns the kernels of a program's stages, in their order, where some exist. The program is
    /// about to run, on `states` states.
    pub(crate) fn kernels(
        &self,
        driver: &dyn Driver,
        program: &KernelProgram,
        (precision, states): (Precision, usize),
        form: LaunchGeometry,
    ) -> Vec<Option<usize>> {
        let Some(after) = self.after else { return Vec::new() };
        let store = &self.stores[usize::from(precision == Precision::Single)];
        let mut store = store.lock().unwrap_or_else(PoisonError::into_inner);
        let slot = usize::from(states > 1);
        let recent = &mut store.recent[slot];
        let place = recent.iter().position(|known| known.words == program.words);
        let Some(mut known) = place.and_then(|place| recent.remove(place)) else {
            recent.truncate(RECENT - 1);
            recent.push_front(Known { words: program.words.clone(), stages: None });
            return Vec::new();
        };
        let mut number = |stage| store.number(source(&program.words, stage, form, states > 1));
        let numbers =
            known.stages.get_or_insert_with(|| program.stages().map(&mut number).collect()).clone();
        store.recent[slot].push_front(known);
        let bytes = |stage: &Stage| {
            2 * (u64::from(stage.tiles) << stage.bits)
                * (states * amplitude_bytes(precision)) as u64
        };
        let with = program.stages().zip(numbers);
        with.map(|(stage, number)| store.kernel(driver, precision, number?, after, bytes(stage)))
            .collect()
    }
}

impl Store {
    /// Returns the number of a source; `None` if too many are tracked.
    fn number(&mut self, source: String) -> Option<usize> {
        if let Some(number) = self.numbers.get(source.as_str()) {
            return Some(*number);
        }
        let (number, source) = (self.stages.len(), Arc::<str>::from(source));
        (number < MOST).then(|| {
            self.stages.push((source.clone(), Standing::Without { moved: 0, looked: false }));
            self.numbers.insert(source, number);
            number
        })
    }

    /// Returns the kernel of a stage that is about to move that many bytes.
    fn kernel(
        &mut self,
        driver: &dyn Driver,
        precision: Precision,
        number: usize,
        after: u64,
        bytes: u64,
    ) -> Option<usize> {
        let (source, standing) = &mut self.stages[number];
        if let Standing::Without { moved, looked } = *standing {
            let due = moved >= after;
            let may = due || (moved > 0 && !looked);
            let added = if may { driver.add(source, precision, !due) } else { Ok(None) };
            *standing = match added {
                Ok(Some(kernel)) => Standing::Kernel(kernel),
                Ok(None) => {
                    Standing::Without { moved: moved.saturating_add(bytes), looked: moved > 0 }
                }
                Err(e) => {
                    self.failed.get_or_insert_with(|| e.to_string());
                    Standing::Never
                }
            };
        }
        if let Standing::Kernel(kernel) = *standing { Some(kernel) } else { None }
    }
}
