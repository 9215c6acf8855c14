//! Compiled kernels for a device.
//!
//! The kernels are checked in as PTX for compute capability 7.0, which the driver turns into code
//! of its device. Where NVIDIA's run-time compiler (NVRTC) is found, and the option `nvrtc` does
//! not say `off`, it compiles the source for the very architecture instead; the result is kept in
//! the user's cache folder, under a name that is a hash of source, flags, compiler and
//! architecture, so that happens once. Whatever goes wrong there, the PTX is used, and the
//! description of the backend says what went wrong. Kernels of single stages (`stage_kernels`) are
//! compiled and kept in the same way.
#![expect(unsafe_code, reason = "the compiler is a C library")]

use std::{
    env,
    ffi::{CString, c_char, c_int},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use cudarc::nvrtc::sys::{self, nvrtcProgram};
use ketgrad_plugin_sdk::{Error, Precision, Result};
use sha2::{Digest, Sha256};

use crate::{
    driver::{Image, Images, functions},
    program::TENSOR_CORES,
};

/// The kernels.
const SOURCE: &str = include_str!("../kernels/kernels.cu");
/// The kernels as PTX; of those for a precision the last that a device can run is the best.
const PTX: [Ptx; 3] = [
    Ptx {
        precision: Precision::Double,
        capability: (7, 0),
        file: "kernels_f64.ptx",
        text: include_str!("../kernels/kernels_f64.ptx"),
    },
    Ptx {
        precision: Precision::Double,
        capability: TENSOR_CORES,
        file: "kernels_f64_sm80.ptx",
        text: include_str!("../kernels/kernels_f64_sm80.ptx"),
    },
    Ptx {
        precision: Precision::Single,
        capability: (7, 0),
        file: "kernels_f32.ptx",
        text: include_str!("../kernels/kernels_f32.ptx"),
    },
];

/// Kernels as PTX.
struct Ptx {
    precision: Precision,
    /// The compute capability that it needs.
    capability: (u32, u32),
    file: &'static str,
    text: &'static str,
}

functions! { Functions:
    nvrtcVersion(*mut c_int, *mut c_int);
    nvrtcCreateProgram(*mut nvrtcProgram, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char);
    nvrtcCompileProgram(nvrtcProgram, c_int, *const *const c_char);
    nvrtcDestroyProgram(*mut nvrtcProgram);
    nvrtcGetProgramLogSize(nvrtcProgram, *mut usize);
    nvrtcGetProgramLog(nvrtcProgram, *mut c_char);
    nvrtcGetPTXSize(nvrtcProgram, *mut usize);
    nvrtcGetPTX(nvrtcProgram, *mut c_char);
    nvrtcGetCUBINSize(nvrtcProgram, *mut usize);
    nvrtcGetCUBIN(nvrtcProgram, *mut c_char);
}

/// The kernels of this plugin.
pub(crate) struct Kernels {
    compile: bool,
    folder: Option<PathBuf>,
}

impl Kernels {
    /// Returns the kernels, compiled for the device where that can be done, if `compile` is set.
    pub(crate) fn new(compile: bool) -> Kernels {
        Kernels { compile, folder: cache_folder() }
    }

    /// Compiles a source for an architecture, or takes it from the cache; with `kept` only the
    /// latter.
    fn cubin(
        &self,
        source: &str,
        flags: &[String],
        kept: bool,
        note: &mut dyn FnMut(String),
    ) -> Result<Option<Vec<u8>>> {
        let compiler = Nvrtc::get()?;
        let make = || {
            if kept { Ok(None) } else { compiler.compile(source, flags, Output::Cubin).map(Some) }
        };
        let Some(folder) = &self.folder else { return make() };
        let key = hex(&[source, &flags.join(" "), &compiler.name()]);
        let (code, kept) = cached(&folder.join(format!("{key}.cubin")), make)?;
        if let Err(e) = kept {
            note(format!("compiled kernels are not kept in {}: {e}", folder.display()));
        }
        Ok(code)
    }
}

impl Images for Kernels {
    fn images(
        &self,
        precision: Precision,
        capability: (u32, u32),
        note: &mut dyn FnMut(String),
    ) -> Vec<Image> {
        let mut images = Vec::new();
        if self.compile {
            let architecture = architecture(capability);
            match self.cubin(SOURCE, &flags(precision, &architecture), false, note) {
                Ok(code) => {
                    let what = format!("kernels compiled by NVRTC for {architecture}");
                    images.extend(code.map(|code| Image { what, code }));
                }
                Err(e) => note(format!("kernels not compiled for {architecture}: {e}")),
            }
        }
        let known = PTX
            .iter()
            .rev()
            .filter(|ptx| ptx.precision == precision && ptx.capability <= capability);
        images.extend(known.map(|ptx| Image {
            what: format!("{}, compiled by the driver", ptx.file),
            code: [ptx.text.as_bytes(), b"\0"].concat(),
        }));
        images
    }

    fn one_stage(
        &self,
        source: &str,
        precision: Precision,
        capability: (u32, u32),
        kept: bool,
    ) -> Result<Option<Image>> {
        let mut flags = flags(precision, &architecture(capability));
        flags.push(ONE_STAGE.to_owned());
        // Notes on the folder are given for the other kernels.
        let code = self.cubin(&with_source(source), &flags, kept, &mut |_| ())?;
        Ok(code.map(|code| Image { what: "a kernel of a stage".into(), code }))
    }
}

/// Definition that leaves out the kernels of the source, and adds what the text after it needs.
pub(crate) const ONE_STAGE: &str = "-DKETGRAD_ONE_STAGE=1";

/// Returns the source and a text after it.
pub(crate) fn with_source(text: &str) -> String {
    format!("{SOURCE}\n{text}")
}

fn architecture(capability: (u32, u32)) -> String {
    format!("sm_{}{}", capability.0, capability.1)
}

/// Flags of the compiler.
fn flags(precision: Precision, architecture: &str) -> Vec<String> {
    let mut flags =
        vec![format!("--gpu-architecture={architecture}"), "-DKETGRAD_DEVICE=1".to_owned()];
    flags.push(definition(precision));
    flags
}

/// Returns the definition of the type of a real number.
pub(crate) fn definition(precision: Precision) -> String {
    let real = match precision {
        Precision::Double => "double",
        Precision::Single => "float",
    };
    format!("-DREAL={real}")
}

/// Returns the hash of texts, each ended by a zero byte.
pub(crate) fn hex(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update(text.as_bytes());
        hash.update([0]);
    }
    in_hex(&hash.finalize())
}

fn in_hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Folder of this user's caches.
fn cache_folder() -> Option<PathBuf> {
    let from = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        from("LOCALAPPDATA")
    } else {
        from("XDG_CACHE_HOME").or_else(|| from("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("ketgrad").join("cuda"))
}

/// Returns the content of the cache file, or else that of `make`, which is then written to the
/// file, and the result of that write. A file is the hash of the code and the code: a damaged one
/// is made anew.
fn cached(
    path: &Path,
    make: impl FnOnce() -> Result<Option<Vec<u8>>>,
) -> Result<(Option<Vec<u8>>, std::io::Result<()>)> {
    if let Ok(file) = fs::read(path)
        && let Some((hash, code)) = file.split_at_checked(32)
        && Sha256::digest(code).as_slice() == hash
    {
        return Ok((Some(code.to_vec()), Ok(())));
    }
    let code = make()?;
    let kept = code.as_ref().map_or(Ok(()), |code| keep(path, code));
    Ok((code, kept))
}

/// Writes a file of the cache atomically: to a temporary file, which is then renamed.
fn keep(path: &Path, code: &[u8]) -> std::io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_extension(format!("{}-{number}.tmp", process::id()));
    let written = fs::write(&beside, [Sha256::digest(code).as_slice(), code].concat())
        .and_then(|()| fs::rename(&beside, path));
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Format of the compiled code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Output {
    #[cfg_attr(not(test), expect(dead_code, reason = "the PTX is checked in; a test makes it"))]
    Ptx,
    Cubin,
}

/// NVIDIA's run-time compiler.
struct Nvrtc {
    functions: Functions,
    version: (c_int, c_int),
}

impl Nvrtc {
    /// Returns the compiler, if its library is found.
    fn get() -> Result<&'static Nvrtc> {
        static COMPILER: OnceLock<Result<Nvrtc>> = OnceLock::new();
        COMPILER.get_or_init(Nvrtc::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Nvrtc> {
        // SAFETY: opening the library runs its initialisers, as in every program that uses it.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::no_hardware("the library libnvrtc is not found"));
        }
        // SAFETY: the library is loaded, as was just checked, and stays so; its functions have
        // these signatures.
        let functions = unsafe { Functions::of(sys::culib()) }
            .map_err(|name| Error::new(format!("NVRTC is too old: it has no {name}")))?;
        let mut version = (0, 0);
        // SAFETY: the library writes two numbers.
        let status = unsafe { (functions.nvrtcVersion)(&raw mut version.0, &raw mut version.1) };
        check("nvrtcVersion", status)?;
        Ok(Nvrtc { functions, version })
    }

    fn name(&self) -> String {
        format!("NVRTC {}.{}", self.version.0, self.version.1)
    }

    /// Compiles a text; the error contains the compiler's log.
    fn compile(&self, source: &str, flags: &[String], output: Output) -> Result<Vec<u8>> {
        let text = |text: &str| {
            CString::new(text).map_err(|e| Error::new(format!("a text for NVRTC: {e}")))
        };
        let source = text(source)?;
        let flags = flags.iter().map(|flag| text(flag)).collect::<Result<Vec<_>>>()?;
        let mut program = CompilationUnit { compiler: self, handle: ptr::null_mut() };
        // SAFETY: two texts that end with a zero byte, and no headers; the library writes the
        // handle.
        check("nvrtcCreateProgram", unsafe {
            (self.functions.nvrtcCreateProgram)(
                &raw mut program.handle,
                source.as_ptr(),
                c"kernels.cu".as_ptr(),
                0,
                ptr::null(),
                ptr::null(),
            )
        })?;
        let flags: Vec<*const c_char> = flags.iter().map(|flag| flag.as_ptr()).collect();
        // SAFETY: the number of texts that is passed, each of which ends with a zero byte.
        let status = unsafe {
            (self.functions.nvrtcCompileProgram)(
                program.handle,
                flags.len() as c_int,
                flags.as_ptr(),
            )
        };
        check("nvrtcCompileProgram", status)
            .map_err(|e| Error::new(format!("{e}: {}", program.log())))?;
        let f = &self.functions;
        let (size, get) = match output {
            Output::Ptx => (f.nvrtcGetPTXSize, f.nvrtcGetPTX),
            Output::Cubin => (f.nvrtcGetCUBINSize, f.nvrtcGetCUBIN),
        };
        program.text(size, get)
    }
}

fn check(call: &str, status: u32) -> Result<()> {
    if status == 0 { Ok(()) } else { Err(Error::new(format!("{call}: status {status}"))) }
}

/// Program handle of the compiler, destroyed when dropped.
struct CompilationUnit<'a> {
    compiler: &'a Nvrtc,
    handle: nvrtcProgram,
}

impl CompilationUnit<'_> {
    /// Returns the output of a pair of functions: one gives the number of bytes, the other the
    /// bytes.
    fn text(
        &self,
        size: unsafe extern "C" fn(nvrtcProgram, *mut usize) -> u32,
        get: unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> u32,
    ) -> Result<Vec<u8>> {
        let mut bytes = 0;
        // SAFETY: the program is alive; the library writes the number.
        check("the size of NVRTC's output", unsafe { size(self.handle, &raw mut bytes) })?;
        let mut out = vec![0u8; bytes];
        // SAFETY: there is room for that many bytes.
        check("NVRTC's output", unsafe { get(self.handle, out.as_mut_ptr().cast()) })?;
        Ok(out)
    }
    fn log(&self) -> String {
        let f = &self.compiler.functions;
        let log = self.text(f.nvrtcGetProgramLogSize, f.nvrtcGetProgramLog).unwrap_or_default();
        String::from_utf8_lossy(&log)
            .trim_matches(|c: char| c == '\0' || c.is_whitespace())
            .to_owned()
    }
}

impl Drop for CompilationUnit<'_> {
    fn drop(&mut self) {
        if !self.handle.is_null() {
            // SAFETY: created by this library, and not used again.
            unsafe { (self.compiler.functions.nvrtcDestroyProgram)(&raw mut self.handle) };
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::process::Command;

    use super::*;

    fn kernels() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("kernels")
    }

    /// Compiles the kernel of a stage to code for devices, where the compiler is found.
    pub(crate) fn compiled(
        text: &str,
        precision: Precision,
        capability: (u32, u32),
    ) -> Option<Result<Vec<u8>>> {
        Nvrtc::get().ok()?;
        let image =
            Kernels { compile: true, folder: None }.one_stage(text, precision, capability, false);
        Some(image.map(|image| image.expect("compiled").code))
    }

    /// Flags of the compiler for a PTX file.
    fn flags_of(ptx: &Ptx) -> Vec<String> {
        flags(ptx.precision, &format!("compute_{}{}", ptx.capability.0, ptx.capability.1))
    }

    /// Returns the PTX of a text after header lines with its origin.
    fn with_header(ptx: &Ptx, compiler: &str, text: &str) -> String {
        format!(
            "// Of kernels.cu, sha256 {}\n// by {compiler} {}\n// KETGRAD_BLESS=1 cargo test -p ketgrad-cuda makes it \
             anew; sha256 of what follows: {}\n{text}",
            in_hex(&Sha256::digest(SOURCE)),
            flags_of(ptx).join(" "),
            in_hex(&Sha256::digest(text)),
        )
    }

    fn made_anew(ptx: &Ptx) -> String {
        let compiler = Nvrtc::get().expect("KETGRAD_BLESS needs NVRTC");
        let made = compiler.compile(SOURCE, &flags_of(ptx), Output::Ptx).unwrap();
        let text = String::from_utf8(made).unwrap();
        with_header(ptx, &compiler.name(), text.trim_end_matches('\0'))
    }

    /// Compares the headers of the files: the compiler need not write the same text twice.
    #[test]
    fn source_and_ptx_belong_together() {
        for ptx in &PTX {
            let Ptx { file: name, text: given, .. } = *ptx;
            if env::var_os("KETGRAD_BLESS").is_some() {
                fs::write(kernels().join(name), made_anew(ptx)).unwrap();
                continue;
            }
            let mut lines = given.splitn(4, '\n').skip(1);
            let compiler = lines.next().and_then(|l| l.strip_prefix("// by ")?.split(" --").next());
            let expected =
                with_header(ptx, compiler.unwrap_or("?"), lines.nth(1).unwrap_or_default());
            assert!(
                given == expected,
                "{name} is not of this kernels.cu: KETGRAD_BLESS=1 cargo test -p ketgrad-cuda where NVRTC is found"
            );
        }
    }

    #[test]
    fn every_kernel_of_the_source_is_in_the_ptx() {
        let names = [
            "stage",
            "stage_pair",
            "dense5",
            "diagonal",
            "cycle",
            "pauli_sum",
            "pauli_apply",
            "norms",
            "pick",
        ];
        for Ptx { capability, file, text, .. } in &PTX {
            // Versions that `driver::cuda` requires of a driver and a device.
            let target = format!(".version 7.8\n.target sm_{}{}\n", capability.0, capability.1);
            assert!(text.contains(&target), "{file}: NVRTC 11.8 makes PTX 7.8");
            for name in names {
                assert!(text.contains(&format!(".entry {name}(")), "{file}: {name}");
            }
        }
    }

    /// NVIDIA's assembler, where it is found, accepts the PTX for old and new devices.
    #[test]
    fn the_ptx_assembles() {
        let ptxas = env::var("KETGRAD_PTXAS").unwrap_or_else(|_| "ptxas".to_owned());
        if Command::new(&ptxas).arg("--version").output().is_err() {
            return;
        }
        for Ptx { capability, file: name, .. } in &PTX {
            for (number, architecture) in [((7, 0), "sm_70"), ((8, 0), "sm_80"), ((9, 0), "sm_90")]
            {
                if number < *capability {
                    continue;
                }
                let out = Command::new(&ptxas)
                    .args([
                        "-arch",
                        architecture,
                        "-o",
                        if cfg!(windows) { "nul" } else { "/dev/null" },
                    ])
                    .arg(kernels().join(name))
                    .output()
                    .unwrap();
                let said = String::from_utf8_lossy(&out.stderr);
                // One that is newer than the device.
                let unknown = said.contains("is not defined for option 'gpu-name'");
                assert!(out.status.success() || unknown, "{name} for {architecture}: {said}");
            }
        }
    }

    #[test]
    fn there_is_always_the_ptx() {
        for (precision, best) in
            [(Precision::Double, "kernels_f64_sm80.ptx"), (Precision::Single, "kernels_f32.ptx")]
        {
            let mut notes = Vec::new();
            let kernels = Kernels { compile: true, folder: None };
            let images = kernels.images(precision, (99, 9), &mut |note| notes.push(note));
            // No compiler, or one that does not know the architecture.
            assert!(notes[0].starts_with("kernels not compiled for sm_999: "), "{notes:?}");
            assert!(images[0].what.starts_with(best), "{}", images[0].what);
            assert_eq!(images[0].code.last(), Some(&0));
            let off = Kernels { compile: false, folder: None };
            assert_eq!(off.images(precision, (7, 0), &mut |note| panic!("{note}")).len(), 1);
        }
    }

    /// The compiler, where it is found, makes code for an architecture and reports the errors of a
    /// source.
    #[test]
    fn the_compiler_compiles() {
        let Ok(compiler) = Nvrtc::get() else { return };
        let flags = flags(Precision::Single, "sm_80");
        assert!(compiler.compile(SOURCE, &flags, Output::Cubin).unwrap().starts_with(b"\x7fELF"));
        let said = compiler.compile("nonsense", &flags, Output::Cubin).unwrap_err().to_string();
        assert!(said.contains("nonsense") || said.contains("error"), "{said}");
    }

    #[test]
    fn the_cache_makes_once_and_mends_what_is_damaged() {
        let folder = crate::testing::folder().join(format!("cache-{}", process::id()));
        let path = folder.join("key.cubin");
        let get = |made: &[u8]| {
            let mut asked = false;
            let (code, kept) = cached(&path, || {
                asked = true;
                Ok(Some(made.to_vec()))
            })
            .unwrap();
            kept.unwrap();
            (code.unwrap(), asked)
        };
        assert_eq!(get(b"first"), (b"first".to_vec(), true));
        assert_eq!(get(b"second"), (b"first".to_vec(), false));
        let mut file = fs::read(&path).unwrap();
        *file.last_mut().unwrap() ^= 1;
        fs::write(&path, &file).unwrap();
        assert_eq!(get(b"third"), (b"third".to_vec(), true));
        fs::write(&path, b"short").unwrap();
        assert_eq!(get(b"fourth"), (b"fourth".to_vec(), true));
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing is left beside it");
        assert!(cached(&folder.join("none"), || Err(Error::new("no"))).is_err());
        assert_eq!(cached(&folder.join("none"), || Ok(None)).unwrap().0, None);
        assert!(!folder.join("none").exists());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn other_flags_are_another_key() {
        assert_ne!(hex(&["a", "bc"]), hex(&["ab", "c"]));
        assert_eq!(hex(&["a"]), hex(&["a"]));
    }
}
