//! The thread pool that kernels are given.

use std::ops::Range;

use crate::cancel::{CancellationToken, Cancelled};

/// Work on fewer amplitudes than this stays on one thread: waking a pool costs 5 to 10 us, which is
/// what 2^13 amplitudes take.
pub const SERIAL_BELOW: usize = 1 << 13;

/// Number of amplitudes of a state below which one of many states is worked on by one thread: four
/// of them still fit the last cache.
pub const SHARED_BELOW: usize = 1 << 17;

/// Number of pieces that each thread gets, so that a slow one does not hold up the rest.
#[cfg(feature = "parallel")]
const PIECES_PER_THREAD: usize = 4;

/// Execution resources of a computation: a thread pool or none, and a [`CancellationToken`]. It is
/// handed to whatever computes; there is no global one.
///
/// ```
/// use ketgrad_core::kernel::Threads;
///
/// let own = Threads::new(2)?;
/// assert_eq!((own.count(), own.to_serial().count()), (2, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Threads {
    #[cfg(feature = "parallel")]
    pool: Option<PoolHandle>,
    token: CancellationToken,
}

#[cfg(feature = "parallel")]
#[derive(Clone, Debug)]
enum PoolHandle {
    /// A pool of its own, shared by its clones.
    Shared(std::sync::Arc<rayon::ThreadPool>),
    /// The pool of the calling thread.
    Current,
}

/// The system refused to start threads.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {given} threads: {reason}")]
pub struct ThreadError {
    /// Number requested.
    pub given: usize,
    /// Message of the system.
    pub reason: String,
}

impl Threads {
    /// Returns no threads: everything runs on the calling thread.
    #[must_use]
    pub fn serial() -> Threads {
        Threads::default()
    }

    /// Creates a pool of n threads; 1 is [`Threads::serial`]. Without the feature `parallel`
    /// everything is serial.
    ///
    /// # Errors
    /// [`ThreadError`] if the system cannot start them.
    pub fn new(n: usize) -> Result<Threads, ThreadError> {
        if n <= 1 {
            return Ok(Threads::serial());
        }
        #[cfg(feature = "parallel")]
        {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(n).build();
            let pool = pool.map_err(|e| ThreadError { given: n, reason: e.to_string() })?;
            Ok(Threads::in_pool(std::sync::Arc::new(pool)))
        }
        #[cfg(not(feature = "parallel"))]
        Ok(Threads::serial())
    }

    /// Returns a pool of the caller's.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn in_pool(pool: std::sync::Arc<rayon::ThreadPool>) -> Threads {
        Threads { pool: Some(PoolHandle::Shared(pool)), token: CancellationToken::never() }
    }

    /// Returns the pool of the calling thread ([`rayon::ThreadPool::install`]), elsewhere rayon's
    /// global one.
    #[cfg(feature = "parallel")]
    #[must_use]
    pub fn current() -> Threads {
        Threads { pool: Some(PoolHandle::Current), token: CancellationToken::never() }
    }

    /// Replaces the token. It is checked before each gate, or each pass over a state where gates
    /// are taken together, and not within a pass: on n qubits a pass takes about 2^n ns. A device
    /// is given all gates at once.
    #[must_use]
    pub fn with_cancellation(mut self, token: CancellationToken) -> Threads {
        self.token = token;
        self
    }

    /// Sets the token unless the threads have one.
    pub(crate) fn or_cancelled_by(self, token: &CancellationToken) -> Threads {
        if self.token.is_never() { self.with_cancellation(token.clone()) } else { self }
    }

    /// Returns no threads, with the same token.
    #[must_use]
    pub fn to_serial(&self) -> Threads {
        Threads::serial().with_cancellation(self.token.clone())
    }

    /// Returns the token.
    #[must_use]
    pub fn cancellation(&self) -> &CancellationToken {
        &self.token
    }

    /// Returns an error if the work is cancelled.
    ///
    /// # Errors
    /// [`Cancelled`].
    pub fn check(&self) -> Result<(), Cancelled> {
        self.token.check()
    }

    /// Returns the number of threads.
    #[must_use]
    pub fn count(&self) -> usize {
        #[cfg(feature = "parallel")]
        match &self.pool {
            Some(PoolHandle::Shared(pool)) => return pool.current_num_threads(),
            Some(PoolHandle::Current) => return rayon::current_num_threads(),
            None => {}
        }
        1
    }

    /// Calls `f` with parts that together cover `0..n`, on all threads.
    pub(crate) fn split(&self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            let pieces = (self.count() * PIECES_PER_THREAD).min(n);
            let bound = |k: usize| k * (n / pieces) + k.min(n % pieces);
            each(pool, pieces, &|k| f(bound(k)..bound(k + 1)));
            return;
        }
        f(0..n);
    }

    /// Returns the values of `f` at `0..n`, in order, computed on all threads.
    pub fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            return values(pool, n, &f);
        }
        (0..n).map(f).collect()
    }

    /// Works through a task and those that it hands on, in any order, until none is left. Tasks
    /// wait on the heap, not on the stack.
    pub(crate) fn work_through<B: Send>(&self, first: B, work: &(impl Fn(B, &dyn Fn(B)) + Sync)) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            fn spawn<'s, B: Send + 's, W: Fn(B, &dyn Fn(B)) + Sync>(
                scope: &rayon::Scope<'s>,
                task: B,
                work: &'s W,
            ) {
                scope.spawn(move |scope| work(task, &|next| spawn(scope, next, work)));
            }
            match pool {
                PoolHandle::Shared(pool) => pool.scope(|scope| spawn(scope, first, work)),
                PoolHandle::Current => rayon::scope(|scope| spawn(scope, first, work)),
            }
            return;
        }
        let waiting = std::cell::RefCell::new(vec![first]);
        loop {
            let Some(task) = waiting.borrow_mut().pop() else { break };
            work(task, &|next| waiting.borrow_mut().push(next));
        }
    }

    /// Calls `f` with each chunk of a slice and its number.
    #[doc(hidden)]
    pub fn chunks<T: Send>(
        &self,
        slice: &mut [T],
        size: usize,
        f: impl Fn(usize, &mut [T]) + Sync,
    ) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            each_chunk(pool, slice, size, &f);
            return;
        }
        slice.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
    }
}

#[cfg(feature = "parallel")]
impl PoolHandle {
    /// Runs a loop on it.
    fn install<T: Send>(&self, f: impl FnOnce() -> T + Send) -> T {
        match self {
            PoolHandle::Shared(pool) => pool.install(f),
            PoolHandle::Current => f(),
        }
    }
}

// The work is a pointer here, so that the pool's machinery is compiled once and not for each loop:
// a call for each piece of thousands of numbers.

#[cfg(feature = "parallel")]
fn each(pool: &PoolHandle, n: usize, f: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    pool.install(|| (0..n).into_par_iter().for_each(f));
}

#[cfg(feature = "parallel")]
fn values<T: Send>(pool: &PoolHandle, n: usize, f: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    use rayon::prelude::*;
    pool.install(|| (0..n).into_par_iter().map(f).collect())
}

#[cfg(feature = "parallel")]
fn each_chunk<T: Send>(
    pool: &PoolHandle,
    slice: &mut [T],
    size: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    use rayon::prelude::*;
    pool.install(|| slice.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)));
}
