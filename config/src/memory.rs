//! Memory: what a run needs and what there is, compared before anything is allocated.

use std::fmt;

use ketgrad_core::state::bytes_text;

use crate::report::Failure;

/// The memory of the system, as far as it tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SystemMemory {
    /// All of it, in bytes.
    pub(crate) total: Option<u64>,
    /// Bytes that a new process can have without swapping, the limits of its control groups and of
    /// its address space (`ulimit -v`) included.
    pub(crate) available: Option<u64>,
}

impl SystemMemory {
    /// Asks the system: `/proc/meminfo`, the control groups and the limits of the process on Linux,
    /// nothing elsewhere.
    #[must_use]
    pub(crate) fn read() -> SystemMemory {
        let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let field = |name: &str| {
            let line = info.lines().find_map(|l| l.strip_prefix(name)?.strip_prefix(':'))?;
            line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
        };
        let (limit, free) = control_group();
        let least = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
        let free = least(free, address_space());
        SystemMemory {
            total: least(field("MemTotal"), limit),
            available: least(field("MemAvailable"), free),
        }
    }
}

/// Returns the bytes that are left of the address space that this process may have.
fn address_space() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|l| l.strip_prefix("Max address space"))?;
    let most = line.split_whitespace().next()?.parse::<u64>().ok()?;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let used = status.lines().find_map(|l| l.strip_prefix("VmSize:"))?;
    let used = used.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)?;
    Some(most.saturating_sub(used))
}

/// Returns the smallest limit and the least free memory of this process's control groups (version
/// 2, then 1).
fn control_group() -> (Option<u64>, Option<u64>) {
    let number = |path: String| std::fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let (mut limit, mut free) = (None, None);
    let mut see = |most: Option<u64>, used: Option<u64>, stat: String| {
        // Version 1 says "no limit" with a number near 2^63.
        let Some(most) = most.filter(|&m| m < 1 << 60) else { return };
        let stat = std::fs::read_to_string(stat).unwrap_or_default();
        let cache = stat
            .lines()
            .find_map(|l| l.strip_prefix("inactive_file ")?.trim().parse::<u64>().ok())
            .unwrap_or(0);
        let used = used.unwrap_or(0).saturating_sub(cache);
        let left = most.saturating_sub(used);
        limit = Some(limit.map_or(most, |l: u64| l.min(most)));
        free = Some(free.map_or(left, |f: u64| f.min(left)));
    };
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, max, current) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max", "memory.current"),
            c if c.split(',').any(|c| c == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes")
            }
            _ => continue,
        };
        let mut path = path.trim_end_matches('/');
        loop {
            let at = format!("{root}{path}");
            see(
                number(format!("{at}/{max}")),
                number(format!("{at}/{current}")),
                format!("{at}/memory.stat"),
            );
            match path.rfind('/') {
                Some(cut) => path = &path[..cut],
                None => break,
            }
        }
    }
    (limit, free)
}

/// Memory that a run will allocate, item by item.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    items: Vec<(String, u128)>,
}

impl Needs {
    /// Adds an item, for people ("the state"), and its bytes. What takes nothing is left out.
    pub(crate) fn add(&mut self, what: impl fmt::Display, bytes: u128) {
        if bytes > 0 {
            self.items.push((what.to_string(), bytes));
        }
    }

    /// Returns all of them.
    #[must_use]
    pub(crate) fn total(&self) -> u128 {
        self.items.iter().fold(0, |sum, item| u128::saturating_add(sum, item.1))
    }

    /// Compares with what there is, and gives that.
    ///
    /// # Errors
    /// [`Failure`] that names the bytes needed, for what, and the bytes available.
    pub(crate) fn check(&self, what: &str, limit: Option<u64>) -> Result<u64, Failure> {
        let (available, why) = available(limit);
        if self.total() <= u128::from(available) {
            return Ok(available);
        }
        let parts: Vec<String> =
            self.items.iter().map(|(w, n)| format!("{w}: {}", size(*n))).collect();
        Err(Failure::input(format_args!(
            "{what} needs {}, but {} are available ({why})",
            size(self.total()),
            size(available.into())
        ))
        .help(parts.join("; ")))
    }
}

/// Returns the bytes that there are, under a limit or without one, and what bounds them.
#[must_use]
pub(crate) fn available(limit: Option<u64>) -> (u64, &'static str) {
    let system = SystemMemory::read();
    let candidates = [
        (limit, "the memory limit"),
        (system.available, "the memory of this machine that is free"),
    ];
    let least = candidates.into_iter().filter_map(|(n, why)| Some((n?, why))).min_by_key(|c| c.0);
    // Without any answer: no address space holds more.
    least.unwrap_or((1 << 47, "all that a process can address"))
}

/// Returns the bytes that the arrays and numbers of a program may fill while it runs, under a limit
/// or without one: of what is free, one part in sixteen is left for all else.
pub(crate) fn program(limit: Option<u64>) -> usize {
    let free = available(None).0 / 16 * 15;
    usize::try_from(limit.map_or(free, |limit| limit.min(free))).unwrap_or(usize::MAX)
}

/// Formats a number of bytes; the largest number denotes everything beyond it.
fn size(bytes: u128) -> String {
    if bytes == u128::MAX { "more than 2^128 bytes".to_owned() } else { bytes_text(bytes) }
}
