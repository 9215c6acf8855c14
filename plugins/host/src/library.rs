//! Files: found, read once, hashed, and loaded from a copy of the bytes that were hashed.
#![expect(unsafe_code, reason = "loading a library runs its code")]

use std::{
    collections::HashMap,
    fmt::Write,
    fs::File,
    io::Read,
    mem::ManuallyDrop,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use ketgrad_plugin_abi::{self as abi, Desc};
use object::{
    Endianness, FileKind,
    elf::{FileHeader32, FileHeader64, PT_LOAD},
    read::elf::{FileHeader, ProgramHeader},
};
use sha2::{Digest, Sha256};

use crate::{
    border::text,
    call::Callee,
    error::Fault,
    sealed::{CopyMethod, is_refusal},
};

/// Size of the largest file that is read: 2 GiB.
const LARGEST: u64 = 1 << 31;

/// Header: the frozen part of a descriptor.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) build: String,
}

/// Library in memory. It is never unloaded: other threads may be in its code, and the functions
/// that it registered point into it.
pub(crate) struct Library {
    pub(crate) desc: &'static Desc,
    pub(crate) header: Header,
}

/// File that was read and hashed.
pub(crate) struct Opened {
    /// Path under which it was found.
    pub(crate) given: PathBuf,
    /// Canonical path.
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    bytes: Vec<u8>,
    /// Identity of the file, whatever its name.
    identity: Identity,
    file: File,
}

/// Identity of a file: the device and its number there, or its path.
type Identity = (u64, u64, PathBuf);

/// Returns the sha256 of a file in hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    hash(&mut file)
}

fn hash(file: &mut impl Read) -> std::io::Result<String> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0u8; 1 << 16];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            n => hasher.update(&buffer[..n]),
        }
    }
    let mut hex = String::new();
    for byte in hasher.finalize() {
        let _ = write!(hex, "{byte:02x}");
    }
    Ok(hex)
}

#[cfg(unix)]
fn identity(file: &File, _: &Path) -> std::io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    let meta = file.metadata()?;
    Ok((meta.dev(), meta.ino(), PathBuf::new()))
}

#[cfg(not(unix))]
fn identity(_: &File, path: &Path) -> std::io::Result<Identity> {
    Ok((0, 0, path.to_owned()))
}

impl Opened {
    /// Opens the first of the paths that exists.
    pub(crate) fn first(paths: Vec<PathBuf>) -> Result<Opened, Fault> {
        let Some(given) = paths.iter().find(|p| p.is_file()) else {
            return Err(match paths.iter().find(|p| p.is_dir()) {
                Some(path) => Fault::Directory { path: path.clone() },
                None => Fault::Missing { looked: paths },
            });
        };
        let unreadable =
            |e: std::io::Error| Fault::Unreadable { path: given.clone(), reason: e.to_string() };
        // An absolute path: one without a slash would be looked for in the system's folders.
        let path = given.canonicalize().map_err(unreadable)?;
        let unreadable =
            |e: std::io::Error| Fault::Unreadable { path: path.clone(), reason: e.to_string() };
        let mut file = File::open(&path).map_err(unreadable)?;
        let len = file.metadata().map_err(unreadable)?.len();
        if len > LARGEST {
            let reason = format!("it has {len} bytes; a library has at most {LARGEST}");
            return Err(Fault::Unreadable { path, reason });
        }
        // Once: what is hashed is what runs.
        let mut bytes = Vec::new();
        (&mut file).take(LARGEST).read_to_end(&mut bytes).map_err(unreadable)?;
        let sha256 = hash(&mut &bytes[..]).map_err(unreadable)?;
        let identity = identity(&file, &path).map_err(unreadable)?;
        Ok(Opened { given: given.clone(), path, sha256, bytes, identity, file })
    }

    /// Loads it and reads its descriptor; no code of it runs but its initialisers, which the system
    /// runs. Also returns a note for the user, if any.
    pub(crate) fn load(self, plugin: &str) -> Result<(Library, Option<String>), Fault> {
        /// Loaded libraries, by file and hash, with the address of their symbol. The same file
        /// again is the same library, with its one set of variables, as for the system's loader.
        static LOADED: Mutex<Option<HashMap<(Identity, String), usize>>> = Mutex::new(None);

        let Opened { path, sha256, bytes, identity, file, .. } = self;
        let key = (identity, sha256);
        let known = || LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let before = known().as_ref().and_then(|loaded| loaded.get(&key)).copied();
        if let Some(address) = before {
            // SAFETY: that of the same bytes, which were looked at.
            let (desc, header) =
                unsafe { descriptor(std::ptr::with_exposed_provenance(address), path)? };
            return Ok((Library { desc, header }, None));
        }
        whole(&bytes).map_err(|reason| Fault::NotALibrary { path: path.clone(), reason })?;
        // A library built for speed may switch the processor to flushing denormals when it is
        // loaded.
        let callee = Callee::plugin(plugin, "while it is loaded");
        let (library, note) = callee.call(|| open(&path, &bytes, file))?;
        let library = ManuallyDrop::new(library);
        // SAFETY: the symbol is data; only the address is taken here.
        let symbol = unsafe { library.get::<*const u8>(abi::ENTRY) };
        let address = match &symbol {
            Ok(symbol) => (**symbol).cast::<Desc>(),
            Err(_) => return Err(Fault::NotAPlugin { path }),
        };
        known().get_or_insert_default().insert(key, address.expose_provenance());
        // SAFETY: the library stays for ever; that the symbol is a descriptor is what `descriptor`
        // finds out.
        let (desc, header) = unsafe { descriptor(address, path)? };
        Ok((Library { desc, header }, note))
    }
}

/// Reads a descriptor from its frozen part on.
///
/// # Safety
/// `address` points to at least 32 readable bytes, and if they are a descriptor of this major
/// version, to as many as it says.
unsafe fn descriptor(
    address: *const Desc,
    path: PathBuf,
) -> Result<(&'static Desc, Header), Fault> {
    // SAFETY: the frozen part has these fields in every version.
    let (magic, major, size, needs) = unsafe {
        let d = address;
        (
            (&raw const (*d).magic).read_unaligned(),
            (&raw const (*d).abi_major).read_unaligned(),
            (&raw const (*d).struct_size).read_unaligned(),
            (&raw const (*d).min_host_minor).read_unaligned(),
        )
    };
    if magic != abi::MAGIC {
        return Err(Fault::BadMagic { path });
    }
    if major != abi::MAJOR {
        return Err(Fault::Major { given: major, expected: abi::MAJOR });
    }
    if needs > abi::MINOR {
        return Err(Fault::Minor { major, given: needs, have: abi::MINOR });
    }
    if (size as usize) < size_of::<Desc>() {
        return Err(Fault::Size { what: "descriptor", given: size, least: size_of::<Desc>() });
    }
    // SAFETY: it is a descriptor of this major version, long enough, and libraries are never
    // unloaded.
    let desc = unsafe { &*address };
    let read = |s: &abi::Str| {
        // SAFETY: a descriptor's texts are constants of its library.
        unsafe { text(s) }.map_err(|reason| Fault::Init { reason })
    };
    let header = Header {
        name: read(&desc.name)?,
        version: read(&desc.version)?,
        build: read(&desc.build)?,
    };
    Ok((desc, header))
}

/// Checks that the file holds all that its segments claim. The system maps a truncated file, too,
/// and kills the process when it touches the missing part. For ELF only: other systems check
/// themselves, and so does the loader where headers are invalid.
fn whole(bytes: &[u8]) -> Result<(), String> {
    let len = bytes.len() as u64;
    let end = match FileKind::parse(bytes) {
        Ok(FileKind::Elf64) => segments_end::<FileHeader64<Endianness>>(bytes),
        Ok(FileKind::Elf32) => segments_end::<FileHeader32<Endianness>>(bytes),
        _ => None,
    };
    match end {
        Some(end) if end > len => {
            Err(format!("it is truncated: the file has {len} bytes, its segments reach {end}"))
        }
        _ => Ok(()),
    }
}

/// Returns the end in the file of the last segment that is loaded.
fn segments_end<H: FileHeader<Endian = Endianness>>(file: &[u8]) -> Option<u64> {
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let loaded =
        header.program_headers(endian, file).ok()?.iter().filter(|p| p.p_type(endian) == PT_LOAD);
    // An end beyond any file is one beyond this file.
    loaded
        .map(|p| {
            let (offset, size): (u64, u64) = (p.p_offset(endian).into(), p.p_filesz(endian).into());
            offset.saturating_add(size)
        })
        .max()
}

/// Loads a copy of the bytes of a file. Also returns a note for the user, if any.
fn open(
    path: &Path,
    bytes: &[u8],
    file: File,
) -> Result<(libloading::Library, Option<String>), Fault> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut reason = String::new();
    for way in CopyMethod::ALL {
        let copy = match way.copy(&name, bytes) {
            Ok(copy) => copy,
            Err(e) => {
                reason = e.to_string();
                continue;
            }
        };
        match from(copy.path()) {
            Ok(library) => return Ok((library, None)),
            Err(e) => {
                reason = in_words(&e, path, copy.path());
                if !is_refusal(&reason) {
                    return Err(not_a_library(path, bytes, reason));
                }
            }
        }
    }
    let note = format!(
        "warning: loaded from its file, which somebody may have changed since it was hashed: no copy of it can be executed \
         ({reason})"
    );
    let through = itself(path, file);
    let library =
        from(&through).map_err(|e| not_a_library(path, bytes, in_words(&e, path, &through)));
    library.map(|library| (library, Some(note)))
}

/// Returns the path of a file, by its descriptor where that is possible.
#[cfg(target_os = "linux")]
fn itself(path: &Path, file: File) -> PathBuf {
    use std::os::fd::IntoRawFd;
    // Open for ever, as the copies are.
    let link = PathBuf::from(format!("/proc/self/fd/{}", file.into_raw_fd()));
    if link.exists() { link } else { path.to_owned() }
}

#[cfg(not(target_os = "linux"))]
fn itself(path: &Path, _: File) -> PathBuf {
    path.to_owned()
}

#[cfg(unix)]
fn from(path: &Path) -> Result<libloading::Library, libloading::Error> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

    /// Keeps the library when it is closed; the same number on Linux and the BSDs, another on
    /// macOS.
    #[cfg(target_os = "macos")]
    const RTLD_NODELETE: i32 = 0x80;
    #[cfg(not(target_os = "macos"))]
    const RTLD_NODELETE: i32 = 0x1000;

    // SAFETY: this runs the library's initialisers: the user who names a plugin in a config trusts
    // it with that.
    unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) }.map(Into::into)
}

#[cfg(not(unix))]
fn from(path: &Path) -> Result<libloading::Library, libloading::Error> {
    // SAFETY: this runs the library's initialisers: the user who names a plugin in a config trusts
    // it with that; the path is absolute.
    unsafe { libloading::Library::new(path) }
}

/// Describes an error of the system, with the path of the file and not of its copy.
fn in_words(e: &libloading::Error, path: &Path, through: &Path) -> String {
    let source = std::error::Error::source(e).map_or_else(|| e.to_string(), ToString::to_string);
    let reason = source.replace(&*through.to_string_lossy(), &path.to_string_lossy());
    reason.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&reason).to_owned()
}

fn not_a_library(path: &Path, bytes: &[u8], reason: String) -> Fault {
    /// The folder of the library, in a path to look for others.
    const BESIDE: &[u8] = b"$ORIGIN";
    let beside = bytes.windows(BESIDE.len()).any(|part| part == BESIDE);
    let hint = match beside && reason.contains("cannot open shared object file") {
        true => {
            "; libraries beside it (`$ORIGIN`) are not looked for, since a copy of it is loaded: LD_LIBRARY_PATH may name their folder"
        }
        false => "",
    };
    Fault::NotALibrary { path: path.to_owned(), reason: reason + hint }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

    use std::{fs, process::Command};

    use super::*;

    /// Compiles a plugin of that name.
    fn compiled(folder: &Path, name: &str) -> PathBuf {
        let source = folder.join(format!("{name}.c"));
        let text = format!(
            "#include \"ketgrad_plugin.h\"
             KETGRAD_EXPORT const ketgrad_desc ketgrad_plugin = {{ KETGRAD_MAGIC, KETGRAD_MAJOR, KETGRAD_MINOR,
                 sizeof(ketgrad_desc), 0, 0, KETGRAD_STR(\"{name}\"), KETGRAD_STR(\"1\"), KETGRAD_STR(\"\"), 0 }};"
        );
        fs::write(&source, text).unwrap();
        let library = folder.join(format!("{name}.so"));
        let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi/include");
        let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
        let mut cc = Command::new(compiler);
        let status = cc
            .arg("-I")
            .arg(include)
            .args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(source)
            .status();
        assert!(status.unwrap().success());
        library
    }

    fn name(opened: Opened) -> String {
        opened.load("it").unwrap().0.header.name
    }

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ketgrad-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    /// The bytes that were hashed are run, also if another file takes the place in between.
    #[test]
    fn a_file_put_in_place_is_another_one() {
        let folder = folder("moved");
        let (first, second) = (compiled(&folder, "first"), compiled(&folder, "second"));
        let opened = Opened::first(vec![first.clone()]).unwrap();
        let pin = opened.sha256.clone();
        fs::rename(&second, &first).unwrap();
        assert_eq!(name(opened), "first");
        assert_ne!(sha256_of(&first).unwrap(), pin);
        assert_eq!(name(Opened::first(vec![first]).unwrap()), "second");
        fs::remove_dir_all(folder).unwrap();
    }

    /// Other bytes, written over a file that was hashed, are not run.
    #[test]
    fn bytes_written_over_a_file_are_not_run() {
        let folder = folder("written");
        let (first, second) = (compiled(&folder, "before"), compiled(&folder, "after"));
        let other = fs::read(&second).unwrap();
        let opened = Opened::first(vec![first.clone()]).unwrap();
        let pin = opened.sha256.clone();
        fs::write(&first, &other).unwrap();
        assert_eq!(name(opened), "before");
        assert_ne!(sha256_of(&first).unwrap(), pin);
        // It is another library from now on, though the file is the same one, and what is loaded
        // stays what it is.
        assert_eq!(name(Opened::first(vec![first.clone()]).unwrap()), "after");
        fs::write(&first, "no library").unwrap();
        assert!(Opened::first(vec![first]).unwrap().load("it").is_err());
        fs::remove_dir_all(folder).unwrap();
    }

    /// Every method of copying gives the same library, which cannot be written to.
    #[test]
    fn copies_cannot_be_changed() {
        use std::os::unix::fs::PermissionsExt;

        let folder = folder("copies");
        let bytes = fs::read(compiled(&folder, "copied")).unwrap();
        for way in CopyMethod::ALL {
            let copy = way.copy("copied.so", &bytes).unwrap();
            let path = copy.path().to_owned();
            assert_eq!(fs::read(&path).unwrap(), bytes, "{way:?}");
            from(&path).unwrap();
            match way {
                CopyMethod::Memory => {
                    let written = fs::OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .and_then(|file| std::os::unix::fs::FileExt::write_at(&file, b"x", 0));
                    let longer = fs::OpenOptions::new()
                        .write(true)
                        .open(&path)
                        .and_then(|file| file.set_len(9));
                    assert!(written.is_err() && longer.is_err(), "{written:?} {longer:?}");
                }
                CopyMethod::File => {
                    let mode =
                        |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
                    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o500, 0o700));
                    drop(copy);
                    assert!(!path.exists() && !path.parent().unwrap().exists());
                }
            }
        }
        fs::remove_dir_all(folder).unwrap();
    }
}
