//! Libraries that others can replace.

use std::path::Path;

/// Warning on a library that everyone may write to, or whose folders, from the name that was
/// given or from where the file lies, everyone may put others into. Folders in which each may
/// remove only what is his (the sticky bit, as of `/tmp`) are no fault. On systems other than Unix
/// nothing is known.
pub(crate) fn warning(given: &Path, file: &Path) -> Option<String> {
    let given = std::path::absolute(given).ok();
    let folders =
        file.ancestors().skip(1).chain(given.iter().flat_map(|path| path.ancestors().skip(1)));
    let place = std::iter::once(file).chain(folders).find(|path| is_open_to_all(path))?;
    Some(format!(
        "warning: everyone may write to {}, so anyone can have another library loaded; `chmod o-w` it, or pin the plugin with \
         `sha256`",
        place.display()
    ))
}

#[cfg(unix)]
fn is_open_to_all(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;

    const OTHERS_WRITE: u32 = 0o002;
    const STICKY: u32 = 0o1000;
    let Ok(metadata) = path.metadata() else { return false };
    let mode = metadata.permissions().mode();
    mode & OTHERS_WRITE != 0 && !(metadata.is_dir() && mode & STICKY != 0)
}

#[cfg(not(unix))]
fn is_open_to_all(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

    use std::{
        fs::{self, Permissions},
        os::unix::fs::{PermissionsExt, symlink},
        path::PathBuf,
    };

    use super::*;

    #[test]
    fn what_everyone_may_write_to_is_found() {
        let folder = std::env::temp_dir().join(format!("ketgrad-writable-{}", std::process::id()));
        let inner = folder.join("inner");
        fs::create_dir_all(&inner).unwrap();
        let (file, link) = (inner.join("a.so"), folder.join("link.so"));
        fs::write(&file, "").unwrap();
        symlink(&file, &link).unwrap();
        let mode =
            |path: &PathBuf, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        let all = |outer: u32, within: u32, library: u32| {
            mode(&folder, outer);
            mode(&inner, within);
            mode(&file, library);
        };
        let file = fs::canonicalize(&file).unwrap();
        let named = |given: &Path| warning(given, &file);
        all(0o755, 0o755, 0o644);
        assert_eq!((named(&file), named(&link)), (None, None));
        // Others of the group are no strangers; in a folder like /tmp each has his own.
        all(0o1777, 0o775, 0o664);
        assert_eq!((named(&file), named(&link)), (None, None));
        for (modes, place) in [
            ((0o755, 0o755, 0o646), &file),
            ((0o755, 0o777, 0o644), &inner),
            ((0o777, 0o755, 0o644), &folder),
        ] {
            all(modes.0, modes.1, modes.2);
            let said = named(&link).unwrap();
            let name = place.file_name().unwrap().to_string_lossy();
            assert!(said.contains(&format!("{name}, so anyone")), "{said}");
        }
        // Only the link can be replaced.
        all(0o755, 0o755, 0o644);
        let open = folder.join("open");
        fs::create_dir(&open).unwrap();
        mode(&open, 0o777);
        symlink(&file, open.join("b.so")).unwrap();
        assert!(named(&open.join("b.so")).is_some() && named(&file).is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}
