//! The thread pool that kernels are given.

use std::ops::Range;

/// Work on fewer amplitudes than this stays on one thread: waking a pool costs 5 to 10 us, which is
/// what 2^13 amplitudes take.
pub const SERIAL_BELOW: usize = 1 << 13;

/// Of many states with fewer amplitudes than this, each one is worked on by one thread: four of them still fit the last
/// cache.
pub const SHARED_BELOW: usize = 1 << 17;

/// How many pieces each thread gets, so that a slow one does not hold up the rest.
#[cfg(feature = "parallel")]
const PIECES_PER_THREAD: usize = 4;

/// A thread pool, or none. It is handed to whatever computes; there is no global one.
#[derive(Clone, Debug, Default)]
pub struct Threads {
    #[cfg(feature = "parallel")]
    pool: Option<std::sync::Arc<rayon::ThreadPool>>,
}

/// The system refused to start threads.
#[derive(Debug, thiserror::Error)]
#[error("cannot start {given} threads: {reason}")]
pub struct ThreadError {
    /// The number asked for.
    pub given: usize,
    /// What the system says.
    pub reason: String,
}

impl Threads {
    /// No threads: everything runs where it is called.
    #[must_use]
    pub fn serial() -> Threads {
        Threads::default()
    }

    /// A pool of so many threads; 1 is [`Threads::serial`]. Without the feature `parallel`
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
            Ok(Threads { pool: Some(std::sync::Arc::new(pool)) })
        }
        #[cfg(not(feature = "parallel"))]
        Ok(Threads::serial())
    }

    /// The number of threads.
    #[must_use]
    pub fn count(&self) -> usize {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            return pool.current_num_threads();
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

    /// The values of `f` at `0..n`, in order, computed on all threads.
    pub fn map<T: Send>(&self, n: usize, f: impl Fn(usize) -> T + Sync + Send) -> Vec<T> {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            return values(pool, n, &f);
        }
        (0..n).map(f).collect()
    }

    /// Works through a task and those that it hands on, in any order, until none is left. Tasks wait
    /// on the heap, not on the stack.
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
            pool.scope(|scope| spawn(scope, first, work));
            return;
        }
        let waiting = std::cell::RefCell::new(vec![first]);
        loop {
            let Some(task) = waiting.borrow_mut().pop() else { break };
            work(task, &|next| waiting.borrow_mut().push(next));
        }
    }

    /// Calls `f` with each chunk of a slice and its number.
    pub(crate) fn chunks<T: Send>(&self, slice: &mut [T], size: usize, f: impl Fn(usize, &mut [T]) + Sync) {
        #[cfg(feature = "parallel")]
        if let Some(pool) = &self.pool {
            each_chunk(pool, slice, size, &f);
            return;
        }
        slice.chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk));
    }
}

// The work is a pointer here, so that the pool's machinery is compiled once and not for each loop: a call for each piece of
// thousands of numbers.

#[cfg(feature = "parallel")]
fn each(pool: &rayon::ThreadPool, n: usize, f: &(dyn Fn(usize) + Sync)) {
    use rayon::prelude::*;
    pool.install(|| (0..n).into_par_iter().for_each(f));
}

#[cfg(feature = "parallel")]
fn values<T: Send>(pool: &rayon::ThreadPool, n: usize, f: &(dyn Fn(usize) -> T + Sync)) -> Vec<T> {
    use rayon::prelude::*;
    pool.install(|| (0..n).into_par_iter().map(f).collect())
}

#[cfg(feature = "parallel")]
fn each_chunk<T: Send>(
    pool: &rayon::ThreadPool,
    slice: &mut [T],
    size: usize,
    f: &(dyn Fn(usize, &mut [T]) + Sync),
) {
    use rayon::prelude::*;
    pool.install(|| slice.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| f(i, chunk)));
}
