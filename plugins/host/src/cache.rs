//! Cache of what agreed before: a start need not compare again what has not changed.
//!
//! An entry is a small file whose name is a hash of all that a verdict depends on: the library or
//! the program, the plugins loaded before it, its options, the checks of calls, this crate's
//! version and that of its checks, and the processor. Libraries that a library loads itself are not
//! included. An entry lists the items that may be loaded: those that agreed, and those with nothing
//! to compare. Disagreements, and comparisons that ran out of time, are not kept. A damaged entry
//! is ignored and written anew, to a temporary file that is then renamed; a folder that cannot be
//! written is no error.

use std::{
    collections::BTreeSet,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU32, Ordering},
    time::SystemTime,
};

use sha2::{Digest, Sha256};

use crate::{conform, verify};

/// First line of an entry.
const HEADER: &str = "ketgrad plugins that agree, 1";

/// Largest number of entries; beyond it, the oldest half is removed.
const MOST_ENTRIES: usize = 1000;

/// Returns the hash of several texts, in hexadecimal.
pub(crate) fn hash(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        // With its length, so that two texts are not another two.
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    let mut hex = String::new();
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Environment that verdicts depend on beside plugins and settings.
pub(crate) fn surroundings() -> String {
    let versions =
        format!("{} {} {}", env!("CARGO_PKG_VERSION"), verify::VERSION, conform::VERSION);
    format!("{versions} {} {} {}", std::env::consts::OS, std::env::consts::ARCH, processor())
}

/// Returns the instruction sets by which kernels are chosen.
fn processor() -> String {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        format!("{} {} {} {}", has!("avx"), has!("avx2"), has!("fma"), has!("avx512f"))
    }
    #[cfg(not(target_arch = "x86_64"))]
    String::new()
}

/// Items of a plugin or a program that are known to agree.
pub(crate) struct Entry {
    path: Option<PathBuf>,
    known: BTreeSet<String>,
    is_new: bool,
}

impl Entry {
    /// Reads the entry of a hash; empty if it or the folder is missing.
    pub(crate) fn read(folder: Option<&Path>, hash: &str) -> Entry {
        let path = folder.map(|folder| folder.join(format!("{hash}.txt")));
        let text = path.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let known = text.and_then(|text| parsed(&text)).unwrap_or_default();
        Entry { path, known, is_new: false }
    }

    pub(crate) fn knows(&self, what: &str) -> bool {
        self.known.contains(what)
    }

    /// Adds an item that agrees.
    pub(crate) fn add(&mut self, what: String) {
        self.is_new |= self.known.insert(what);
    }

    /// Writes the entry if an item was added.
    pub(crate) fn write(&self) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let (Some(path), true) = (&self.path, self.is_new) else { return };
        let Some(folder) = path.parent() else { return };
        let _ = fs::create_dir_all(folder);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let fresh = path.with_extension(format!("{}.{number}.new", std::process::id()));
        // Without a cache everything works, and is compared again.
        if fs::write(&fresh, text(&self.known)).and_then(|()| fs::rename(&fresh, path)).is_err() {
            let _ = fs::remove_file(&fresh);
            return;
        }
        forget_oldest(folder);
    }
}

/// Serialises an entry: a line for each item, and a hash of all at the end.
fn text(known: &BTreeSet<String>) -> String {
    let mut text = format!("{HEADER}\n");
    known.iter().for_each(|what| text += &format!("{what}\n"));
    let sum = hash(&[&text]);
    text + &sum + "\n"
}

fn parsed(text: &str) -> Option<BTreeSet<String>> {
    let (body, sum) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    if hash(&[&format!("{body}\n")]) != sum {
        return None;
    }
    let mut lines = body.lines();
    (lines.next()? == HEADER).then(|| lines.map(str::to_owned).collect())
}

/// Removes the oldest entries, to keep the folder small.
fn forget_oldest(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let entries =
        entries.filter_map(Result::ok).filter(|e| e.path().extension().is_some_and(|x| x == "txt"));
    let mut all: Vec<PathBuf> = entries.map(|e| e.path()).collect();
    if all.len() <= MOST_ENTRIES {
        return;
    }
    all.sort_by_key(|path| {
        fs::metadata(path).and_then(|m| m.modified()).unwrap_or(SystemTime::UNIX_EPOCH)
    });
    for path in &all[..all.len() / 2] {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        let folder = std::env::temp_dir().join(format!("ketgrad-cache-{}", std::process::id()));
        let mut entry = Entry::read(Some(&folder), "key");
        assert!(!entry.knows("rule a"));
        ["rule a", "rule b"].into_iter().for_each(|what| entry.add(what.to_owned()));
        entry.write();
        let again = Entry::read(Some(&folder), "key");
        assert!(again.knows("rule a") && again.knows("rule b") && !again.knows("rule"));
        assert!(!Entry::read(Some(&folder), "other").knows("rule a"));
        // A damaged entry says nothing, and is written anew.
        let path = folder.join("key.txt");
        let whole = fs::read_to_string(&path).unwrap();
        for damaged in [&whole[..whole.len() - 3], "", "\n", &whole.replace("rule a", "rule c")] {
            fs::write(&path, damaged).unwrap();
            let mut entry = Entry::read(Some(&folder), "key");
            assert!(!entry.knows("rule a") && !entry.knows("rule c"), "{damaged:?}");
            entry.add("rule a".to_owned());
            entry.write();
            assert!(Entry::read(Some(&folder), "key").knows("rule a"));
        }
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        fs::remove_dir_all(folder).unwrap();
        // No folder, and one that cannot be.
        for folder in [None, Some(Path::new("/dev/null/cache"))] {
            let mut entry = Entry::read(folder, "key");
            entry.add("rule a".to_owned());
            entry.write();
        }
    }
}
