//! Sealed copies of libraries: the bytes that were hashed are those that run.
//!
//! A file that is open can still be written to, so the bytes that were hashed are loaded from a
//! copy: on Linux from memory with seals against every change, whose name is that of the library
//! (`/proc/self/maps` shows it), elsewhere, and where the system executes nothing from memory, from
//! a file in a folder that only this user may enter, which is removed once it is loaded. Where no
//! copy can be executed at all, the file itself is loaded, and a note says so.
//!
//! A library that is loaded from a copy finds no libraries beside it: `$ORIGIN` in its search path
//! is another folder.

use std::{
    env, fs,
    io::{self, Write},
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
};

/// Copy of a library.
pub(crate) enum Sealed {
    /// Copy in memory (memfd with seals), open for ever: the system remembers a library by its
    /// path, which contains the number of the descriptor.
    #[cfg(target_os = "linux")]
    Memory(PathBuf),
    /// Copy in a folder of its own.
    File(PrivateFile),
}

impl Sealed {
    /// Path by which the system finds it.
    pub(crate) fn path(&self) -> &Path {
        match self {
            #[cfg(target_os = "linux")]
            Sealed::Memory(path) => path,
            Sealed::File(file) => &file.path,
        }
    }
}

/// Method of copying a library, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CopyMethod {
    #[cfg(target_os = "linux")]
    Memory,
    File,
}

impl CopyMethod {
    pub(crate) const ALL: &[CopyMethod] = &[
        #[cfg(target_os = "linux")]
        CopyMethod::Memory,
        CopyMethod::File,
    ];

    /// Copies a library of that file name.
    pub(crate) fn copy(self, name: &str, bytes: &[u8]) -> io::Result<Sealed> {
        match self {
            #[cfg(target_os = "linux")]
            CopyMethod::Memory => memory::sealed(name, bytes).map(Sealed::Memory),
            CopyMethod::File => PrivateFile::new(name, bytes).map(Sealed::File),
        }
    }
}

/// File in a folder of its own, which is removed with it.
pub(crate) struct PrivateFile {
    folder: PathBuf,
    path: PathBuf,
}

impl PrivateFile {
    fn new(name: &str, bytes: &[u8]) -> io::Result<PrivateFile> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        let begin = std::process::id();
        // An existing folder belongs to another user or process.
        let folder = loop {
            let folder = env::temp_dir()
                .join(format!("ketgrad-{begin}-{}", NEXT.fetch_add(1, Ordering::Relaxed)));
            match builder.create(&folder) {
                Ok(()) => break folder,
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        };
        let made = PrivateFile { path: folder.join(name), folder };
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o500);
        options.open(&made.path)?.write_all(bytes)?;
        Ok(made)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        // Some systems keep what is loaded: then it stays until somebody clears the folder of
        // temporary files.
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_dir(&self.folder);
    }
}

#[cfg(target_os = "linux")]
mod memory {
    #![expect(unsafe_code, reason = "the system's calls for sealed memory")]

    use std::{
        ffi::CString,
        fs::File,
        io::{self, Write},
        os::fd::{AsRawFd, FromRawFd, IntoRawFd},
        path::PathBuf,
    };

    /// Writes bytes to memory, seals it against every change, and returns its path.
    pub(super) fn sealed(name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
        let name = CString::new(name).unwrap_or_default();
        let create = |flags: libc::c_uint| {
            // SAFETY: the name ends with 0; the descriptor is ours alone.
            match unsafe { libc::memfd_create(name.as_ptr(), flags) } {
                -1 => Err(io::Error::last_os_error()),
                // SAFETY: the descriptor was just made.
                fd => Ok(unsafe { File::from_raw_fd(fd) }),
            }
        };
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // Older kernels do not know that it may be asked for.
        let mut file = create(flags | libc::MFD_EXEC).or_else(|_| create(flags))?;
        file.write_all(bytes)?;
        let seals =
            libc::F_SEAL_WRITE | libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;
        // SAFETY: seals a file of ours.
        if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) } == -1 {
            return Err(io::Error::last_os_error());
        }
        let path = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if !path.exists() {
            return Err(io::Error::other("no /proc"));
        }
        let _ = file.into_raw_fd();
        Ok(path)
    }
}

/// Returns true if the system refuses to execute from that place, whatever the library is.
pub(crate) fn is_refusal(reason: &str) -> bool {
    ["failed to map segment", "cannot map", "Permission denied", "Operation not permitted"]
        .iter()
        .any(|words| reason.contains(words))
}
