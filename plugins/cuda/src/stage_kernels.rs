//! Which stages get a kernel of their own.
//!
//! Compiling one takes longer than a stage by far, and pays only if the stage comes again often. It
//! is compiled once the stage has moved so many bytes that this took about as long: whatever comes
//! afterwards, the compiler has not taken longer than the stage has. A kernel that was kept by an
//! earlier process is loaded when a stage comes the third time. What comes once costs nothing here.
//!
//! Both kinds of kernels give the same numbers to the last bit, so that nobody sees when one takes
//! over.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use ketgrad_plugin_sdk::Precision;

use crate::{
    driver::Driver,
    program::{Form, Program, Stage},
    source::source,
    state::amplitude_bytes,
};

/// After so many bytes a kernel is compiled: a third of a second of the memory of an H100, about
/// what NVRTC takes.
pub(crate) const AFTER: u64 = 1_000_000_000_000;

/// Of so many stages at most kernels are kept apart.
const MOST: usize = 1024;

/// So many programs are known again, on one state and on two.
const RECENT: usize = 8;

/// The kernels of stages that there are.
#[derive(Default)]
pub(crate) struct StageKernels {
    /// The bytes after which one is compiled; without, there are none.
    after: Option<u64>,
    /// One for each precision.
    stores: [Mutex<Store>; 2],
}

#[derive(Default)]
struct Store {
    /// Stages by their source.
    numbers: HashMap<Arc<str>, usize>,
    stages: Vec<(Arc<str>, Standing)>,
    /// What came last, the newest first, on one state and on two.
    recent: [VecDeque<Known>; 2],
    /// What went wrong first.
    failed: Option<String>,
}

/// The words of a program and, if it has come again, the numbers of its stages.
struct Known {
    words: Vec<u32>,
    stages: Option<Vec<Option<usize>>>,
}

#[derive(Clone, Copy)]
enum Standing {
    /// So many bytes were moved without one; whether it was looked for among those that are kept.
    Without { moved: u64, looked: bool },
    /// The driver's number.
    Kernel(usize),
    /// There will be none.
    Never,
}

impl StageKernels {
    /// Kernels for stages that have moved so many bytes; none at all without a number.
    pub(crate) fn new(after: Option<u64>) -> StageKernels {
        StageKernels { after, ..StageKernels::default() }
    }

    /// What there is, for people; empty if there is nothing to say.
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

    /// The kernels of a program's stages, in their order, where there are some. The program is
    /// about to run, on `states` states.
    pub(crate) fn kernels(
        &self,
        driver: &dyn Driver,
        program: &Program,
        (precision, states): (Precision, usize),
        form: Form,
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
    /// The number of a source; none if there are too many.
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

    /// The kernel of a stage that is about to move so many bytes.
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
