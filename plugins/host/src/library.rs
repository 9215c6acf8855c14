//! Files: found, opened once, hashed, and loaded through the descriptor that was hashed.
#![expect(unsafe_code, reason = "loading a library runs its code")]

use std::{
    fmt::Write,
    fs::File,
    io::{Read, Seek, SeekFrom},
    mem::ManuallyDrop,
    path::{Path, PathBuf},
};

use ketgrad_plugin_abi::{self as abi, Desc};
use object::{
    Endianness, FileKind,
    elf::{FileHeader32, FileHeader64, PT_LOAD},
    read::{
        ReadCache,
        elf::{FileHeader, ProgramHeader},
    },
};
use sha2::{Digest, Sha256};

use crate::{border::text, call::Callee, error::Fault};

/// What the frozen part of a descriptor says.
#[derive(Clone, Debug)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) build: String,
}

/// A library in memory. It is never unloaded: other threads may be in its code, and what it registered points
/// into it.
pub(crate) struct Library {
    pub(crate) desc: &'static Desc,
    pub(crate) header: Header,
}

/// A file that was opened and hashed.
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) sha256: String,
    file: File,
}

/// The sha256 of a file in hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn sha256_of(path: &Path) -> std::io::Result<String> {
    hash(&mut File::open(path)?)
}

fn hash(file: &mut File) -> std::io::Result<String> {
    file.seek(SeekFrom::Start(0))?;
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

impl Opened {
    /// Opens the first of the paths that exists.
    pub(crate) fn first(paths: Vec<PathBuf>) -> Result<Opened, Fault> {
        let Some(path) = paths.iter().find(|p| p.is_file()) else {
            return Err(match paths.iter().find(|p| p.is_dir()) {
                Some(path) => Fault::Directory { path: path.clone() },
                None => Fault::Missing { looked: paths },
            });
        };
        let unreadable = |e: std::io::Error| Fault::Unreadable { path: path.clone(), reason: e.to_string() };
        // An absolute path: one without a slash would be looked for in the system's folders.
        let path = path.canonicalize().map_err(unreadable)?;
        let unreadable = |e: std::io::Error| Fault::Unreadable { path: path.clone(), reason: e.to_string() };
        let mut file = File::open(&path).map_err(unreadable)?;
        let sha256 = hash(&mut file).map_err(unreadable)?;
        Ok(Opened { path, sha256, file })
    }

    /// Loads it and reads its descriptor; none of its own code runs but what the system runs at load.
    pub(crate) fn load(self, plugin: &str) -> Result<Library, Fault> {
        let Opened { path, file, .. } = self;
        // Open for ever, whatever comes: the system remembers a library by its path, and this one's path holds the
        // number of the descriptor.
        let file = ManuallyDrop::new(file);
        whole(&file).map_err(|reason| Fault::NotALibrary { path: path.clone(), reason })?;
        // A library built for speed may switch the processor to flushing denormals when it is loaded.
        let callee = Callee::plugin(plugin, "while it is loaded");
        let library = ManuallyDrop::new(callee.call(|| open(&path, &file))?);
        // SAFETY: the symbol is data; only the address is taken here.
        let symbol = unsafe { library.get::<*const u8>(abi::ENTRY) };
        let address = match &symbol {
            Ok(symbol) => (**symbol).cast::<Desc>(),
            Err(_) => return Err(Fault::NotAPlugin { path }),
        };
        // SAFETY: the library stays for ever; that the symbol is a descriptor is what `descriptor` finds out.
        let (desc, header) = unsafe { descriptor(address, path)? };
        Ok(Library { desc, header })
    }
}

/// Reads a descriptor from its frozen part on.
///
/// # Safety
/// At least 32 bytes can be read at `address`, and if they are a descriptor of this major version, as many as it says.
unsafe fn descriptor(address: *const Desc, path: PathBuf) -> Result<(&'static Desc, Header), Fault> {
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
    // SAFETY: it is a descriptor of this major version, long enough, and libraries are never unloaded.
    let desc = unsafe { &*address };
    let read = |s: &abi::Str| {
        // SAFETY: a descriptor's texts are constants of its library.
        unsafe { text(s) }.map_err(|reason| Fault::Init { reason })
    };
    let header = Header { name: read(&desc.name)?, version: read(&desc.version)?, build: read(&desc.build)? };
    Ok((desc, header))
}

/// Whether the file holds all that its segments say. The system maps a file that is cut short, too, and kills the
/// process where it touches what is not there. Of ELF: other systems look themselves, and so does the loader where
/// headers make no sense.
fn whole(file: &File) -> Result<(), String> {
    let Ok(len) = file.metadata().map(|m| m.len()) else { return Ok(()) };
    let cache = ReadCache::new(file);
    let end = match FileKind::parse(&cache) {
        Ok(FileKind::Elf64) => segments_end::<FileHeader64<Endianness>>(&cache),
        Ok(FileKind::Elf32) => segments_end::<FileHeader32<Endianness>>(&cache),
        _ => None,
    };
    match end {
        Some(end) if end > len => {
            Err(format!("it is truncated: the file has {len} bytes, its segments reach {end}"))
        }
        _ => Ok(()),
    }
}

/// Where the last segment that is loaded ends in the file.
fn segments_end<H: FileHeader<Endian = Endianness>>(file: &ReadCache<&File>) -> Option<u64> {
    let header = H::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let loaded = header.program_headers(endian, file).ok()?.iter().filter(|p| p.p_type(endian) == PT_LOAD);
    // An end beyond any file is one beyond this file.
    loaded
        .map(|p| {
            let (offset, size): (u64, u64) = (p.p_offset(endian).into(), p.p_filesz(endian).into());
            offset.saturating_add(size)
        })
        .max()
}

#[cfg(unix)]
fn open(path: &Path, file: &File) -> Result<libloading::Library, Fault> {
    use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

    /// Keeps the library when it is closed; the same number on Linux and the BSDs, another on macOS.
    #[cfg(target_os = "macos")]
    const RTLD_NODELETE: i32 = 0x80;
    #[cfg(not(target_os = "macos"))]
    const RTLD_NODELETE: i32 = 0x1000;

    // Through the descriptor that was hashed: a file that was put in its place since then is another one.
    #[cfg(target_os = "linux")]
    let through = {
        use std::os::fd::AsRawFd;
        let link = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
        if link.exists() { link } else { path.to_owned() }
    };
    #[cfg(not(target_os = "linux"))]
    let (through, _) = (path.to_owned(), file);
    // SAFETY: this runs the library's initialisers: whoever names a plugin in a config trusts it with that.
    unsafe { Library::open(Some(&through), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE) }
        .map(Into::into)
        .map_err(|e| not_a_library(path, &e, &through))
}

#[cfg(not(unix))]
fn open(path: &Path, _: &File) -> Result<libloading::Library, Fault> {
    // SAFETY: this runs the library's initialisers: whoever names a plugin in a config trusts it with that; the path is
    // absolute.
    unsafe { libloading::Library::new(path) }.map_err(|e| not_a_library(path, &e, path))
}

fn not_a_library(path: &Path, e: &libloading::Error, through: &Path) -> Fault {
    let source = std::error::Error::source(e).map_or_else(|| e.to_string(), ToString::to_string);
    let reason = source.replace(&*through.to_string_lossy(), &path.to_string_lossy());
    let reason = reason.strip_prefix(&format!("{}: ", path.display())).unwrap_or(&reason).to_owned();
    Fault::NotALibrary { path: path.to_owned(), reason }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::{fs, process::Command};

    use super::*;

    /// A plugin of that name, compiled.
    #[allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]
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
        let status =
            cc.arg("-I").arg(include).args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status();
        assert!(status.unwrap().success());
        library
    }

    /// What was hashed is what runs, also if another file takes its place in between.
    #[test]
    fn a_file_put_in_place_is_another_one() {
        let folder = std::env::temp_dir().join(format!("ketgrad-swap-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (first, second) = (compiled(&folder, "first"), compiled(&folder, "second"));
        let opened = Opened::first(vec![first.clone()]).unwrap();
        let pin = opened.sha256.clone();
        fs::rename(&second, &first).unwrap();
        assert_eq!(opened.load("it").unwrap().header.name, "first");
        assert_ne!(sha256_of(&first).unwrap(), pin);
        assert_eq!(Opened::first(vec![first]).unwrap().load("it").unwrap().header.name, "second");
        fs::remove_dir_all(folder).unwrap();
    }
}
