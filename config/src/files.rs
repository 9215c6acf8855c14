//! Files in and out. What is read has a limit; what is written appears whole or not at all.

use std::{
    fs,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

use crate::report::Failure;

/// The largest text that is read: far above any circuit that a person or a compiler writes.
const MAX_TEXT: u64 = 1 << 30;

/// Mark that some editors put before a text.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// Returns the text of a file, without a byte order mark, or of the standard input for `-`, and the
/// name to call it by.
///
/// # Errors
/// [`Failure`] if it cannot be read, is larger than 1 GiB, or is not UTF-8; the first byte that is
/// not is underlined.
pub(crate) fn read_text(path: &Path) -> Result<(String, String), Failure> {
    let (name, bytes) = if path == Path::new("-") {
        let name = "<stdin>".to_owned();
        let bytes = read_limited(io::stdin().lock());
        (name, bytes)
    } else {
        (path.display().to_string(), open(path).and_then(read_limited))
    };
    let bytes = bytes.map_err(|e| cannot("read", &name, &e))?;
    let mut text = utf8(&name, bytes)?;
    if text.starts_with(BYTE_ORDER_MARK) {
        text.drain(..BYTE_ORDER_MARK.len_utf8());
    }
    Ok((name, text))
}

/// Returns the text of a file that another file names: a regular one, so that nothing waits or goes
/// on without an end.
///
/// # Errors
/// Fails when [`read_text`] does.
pub(crate) fn read_included(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    let refused = |why: &str| Failure::input(format_args!("cannot read {name}: {why}"));
    let data = fs::metadata(path).map_err(|e| cannot("read", &name, &e))?;
    if data.is_dir() {
        return Err(refused("it is a directory"));
    }
    if !data.is_file() {
        return Err(refused("it is no regular file"));
    }
    if data.len() > MAX_TEXT {
        return Err(refused("it is larger than 1 GiB"));
    }
    // The standard input has no name here.
    let path = if path == Path::new("-") { Path::new("./-") } else { path };
    read_text(path).map(|(_, text)| text)
}

/// Returns true if a path means the standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// Opens a file; a directory is an error at once.
///
/// # Errors
/// Fails with the error of the operating system.
pub(crate) fn open(path: &Path) -> io::Result<fs::File> {
    let file = fs::File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
    }
    Ok(file)
}

fn read_limited(file: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(MAX_TEXT + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_TEXT {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB"));
    }
    Ok(bytes)
}

fn utf8(name: &str, bytes: Vec<u8>) -> Result<String, Failure> {
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let bytes = e.as_bytes();
        // Enough to draw the line.
        let text = String::from_utf8_lossy(&bytes[..bytes.len().min(at + 200)]).into_owned();
        let message =
            format!("byte {at} is not UTF-8 text (0x{:02x})", bytes.get(at).copied().unwrap_or(0));
        let end = at + char::REPLACEMENT_CHARACTER.len_utf8();
        Failure::input(message).with_label(name, &text, at..end, "not a character")
    })
}

/// "cannot read x: why".
pub(crate) fn cannot(what: &str, name: &str, error: &io::Error) -> Failure {
    // "Is a directory (os error 21)" without the number.
    let why = error.to_string();
    let why = why.split(" (os error").next().unwrap_or_default();
    Failure::input(format_args!("cannot {what} {name}: {why}"))
}

/// Finds out whether a file can be written, before the work whose result it shall hold.
///
/// # Errors
/// [`Failure`] with what the system says.
pub(crate) fn check_writable(path: &Path) -> Result<(), Failure> {
    let name = path.display().to_string();
    let check = || match destination(path)? {
        Destination::Direct(path) => fs::OpenOptions::new().write(true).open(path).map(|_| ()),
        Destination::Rename(path) => Temporary::create(&path).map(|_| ()),
    };
    check().map_err(|e| cannot("write", &name, &e))
}

/// Writes a file beside its place and renames it, so that no reader ever sees half of it.
///
/// # Errors
/// [`Failure`] with what the system says; the old file is then as it was.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let name = path.display().to_string();
    let run = || match destination(path)? {
        Destination::Direct(path) => {
            let mut out = BufWriter::new(fs::OpenOptions::new().write(true).open(path)?);
            write(&mut out)?;
            out.flush()
        }
        Destination::Rename(path) => {
            let mut temporary = Temporary::create(&path)?;
            let mut out = BufWriter::new(&temporary.file);
            write(&mut out)?;
            out.flush()?;
            drop(out);
            fs::rename(&temporary.path, &path)?;
            temporary.kept = true;
            Ok(())
        }
    };
    run().map_err(|e| cannot("write", &name, &e))
}

enum Destination {
    /// A device or a pipe, which must not be replaced.
    Direct(PathBuf),
    /// A file, or nothing yet.
    Rename(PathBuf),
}

fn destination(path: &Path) -> io::Result<Destination> {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => {
            Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"))
        }
        // A link keeps pointing at its file.
        Ok(meta) if meta.is_file() => {
            fs::OpenOptions::new().append(true).open(path)?;
            Ok(Destination::Rename(fs::canonicalize(path)?))
        }
        Ok(_) => Ok(Destination::Direct(path.to_owned())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Destination::Rename(path.to_owned())),
        Err(e) => Err(e),
    }
}

/// A file beside another, gone again unless it was kept.
struct Temporary {
    file: fs::File,
    path: PathBuf,
    kept: bool,
}

impl Temporary {
    fn create(beside: &Path) -> io::Result<Temporary> {
        let Some(name) = beside.file_name() else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it has no file name"));
        };
        for attempt in 0.. {
            let mut hidden = std::ffi::OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{attempt}.tmp", std::process::id()));
            let path = beside.with_file_name(hidden);
            match fs::OpenOptions::new().write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => {}
                Err(e) => return Err(e),
                Ok(file) => return Ok(Temporary { file, path, kept: false }),
            }
        }
        Err(io::Error::other("no free name beside it"))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing more can be done about a file that will not go.
            let _ = fs::remove_file(&self.path);
        }
    }
}
