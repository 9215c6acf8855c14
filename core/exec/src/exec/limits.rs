//! Limits of a run.

/// Limits of a run. Exceeding a limit is an error that names it.
///
/// ```
/// use ketgrad_core::exec::Limits;
///
/// const FEW: Limits = Limits::new().with_steps(1000).with_memory(1 << 20);
/// assert_eq!((FEW.steps, FEW.depth), (1000, Limits::default().depth));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Limits {
    /// Number of instructions executed, approximately: a backward jump costs the length of the
    /// loop's code, a call that of the function's, and code that runs once costs nothing.
    pub steps: u64,
    /// Number of operations on elements of arrays: an elementwise operation and any other that
    /// makes an array counts the elements, a product of matrices `2 m n k`, linear algebra some n³.
    /// Large costs are counted before the operation runs.
    pub work: u64,
    /// Calls inside calls.
    pub depth: usize,
    /// Elements of one array.
    pub array: usize,
    /// Bytes that a run holds: arrays, spare buffers included, numbers in registers, and values
    /// recorded for the reverse pass. Temporary memory of an operation is not counted, nor the heap
    /// memory of numbers (symbols), nor the arguments. Arrays are counted before they are made,
    /// numbers every 2^20 steps.
    pub memory: usize,
}

impl Default for Limits {
    /// Returns [`Limits::new`].
    fn default() -> Limits {
        Limits::new()
    }
}

impl Limits {
    /// Creates the default limits: 10^9 steps, 10^12 operations on elements, 10^5 calls deep, 10^8
    /// elements of an array, any number of bytes.
    #[must_use]
    pub const fn new() -> Limits {
        Limits {
            steps: 1_000_000_000,
            work: 1_000_000_000_000,
            depth: 100_000,
            array: 100_000_000,
            memory: usize::MAX,
        }
    }

    /// Sets the number of [`steps`](Limits::steps).
    #[must_use]
    pub const fn with_steps(self, steps: u64) -> Limits {
        Limits { steps, ..self }
    }

    /// Sets the amount of [`work`](Limits::work).
    #[must_use]
    pub const fn with_work(self, work: u64) -> Limits {
        Limits { work, ..self }
    }

    /// Sets the [`depth`](Limits::depth) of calls.
    #[must_use]
    pub const fn with_depth(self, depth: usize) -> Limits {
        Limits { depth, ..self }
    }

    /// Sets the number of elements of an [`array`](Limits::array).
    #[must_use]
    pub const fn with_array(self, array: usize) -> Limits {
        Limits { array, ..self }
    }

    /// Sets the number of bytes of [`memory`](Limits::memory).
    #[must_use]
    pub const fn with_memory(self, memory: usize) -> Limits {
        Limits { memory, ..self }
    }
}
