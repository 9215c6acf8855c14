//! Folder of the cache of plugins that agreed.

use std::path::PathBuf;

/// Returns the folder of this program among the user's caches; `None` where the system names none.
pub(super) fn folder() -> Option<PathBuf> {
    let caches = if cfg!(windows) {
        absolute("LOCALAPPDATA")?
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?
    };
    Some(caches.join("ketgrad").join("plugins"))
}

/// Returns a path in the environment; a relative one counts for nothing, say the rules of XDG.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute())
}
