//! Emulated device: the kernels compiled for the processor, on ordinary memory.
//!
//! ```text
//! cc -std=c11 -O2 -shared -fPIC -DKETGRAD_EMULATE -DREAL=double -x c kernels.cu -o kernels_f64.so
//! cc -std=c11 -O2 -shared -fPIC -DKETGRAD_EMULATE -DREAL=float -x c kernels.cu -o kernels_f32.so
//! ```
//!
//! give libraries with a function `emu_NAME(grid, block, shared, params)` for each kernel, which
//! runs it block by block and, between barriers, thread by thread. It is a test aid: slow, small,
//! and strict where a device is lax: fresh memory holds no numbers, and who writes past the end of
//! an allocation hears of it at the next wait after it was given back.
#![expect(unsafe_code, reason = "a library is opened and memory allocated by hand")]

use std::{
    alloc::{Layout, alloc, dealloc},
    collections::HashMap,
    ffi::{CString, c_uint, c_void},
    path::{Path, PathBuf},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use ketgrad_plugin_sdk::{Error, Precision, Result};

use super::{Driver, KernelId, ONE_STAGE, Properties, too_little};

/// Bytes of memory that it pretends to have.
const TOTAL_MEMORY: u64 = 1 << 30;
/// Alignment of its allocations, as on a device.
const ALIGN: usize = 256;
/// Number of guard bytes after an allocation, which must not be written.
const GUARD: usize = 256;
/// Byte that fills fresh memory and the guard: amplitudes made of it are NaN.
const FRESH: u8 = 0xff;

type Kernel = unsafe extern "C" fn(c_uint, c_uint, *mut c_void, *mut *mut c_void);

/// Emulated device.
pub(crate) struct Emulated {
    properties: Properties,
    double: Option<libloading::Library>,
    single: Option<libloading::Library>,
    compiler: Option<CompileFn>,
    state: Mutex<EmulatedState>,
}

/// Function that compiles a text, which follows `kernels.cu`, to a library.
pub(crate) type CompileFn = fn(&str, Precision) -> Result<PathBuf>;

#[derive(Default)]
struct EmulatedState {
    /// Bytes allocated.
    used: u64,
    /// First error of queued work.
    failed: Option<Error>,
    /// Kernels that were looked up.
    kernels: HashMap<(bool, &'static str), Kernel>,
    /// Kernels that were added, with their libraries.
    added: Vec<(Kernel, libloading::Library)>,
}

impl Emulated {
    /// Opens the libraries for double and single precision, those that are given.
    ///
    /// # Errors
    /// A library cannot be opened.
    pub(crate) fn open(double: Option<&str>, single: Option<&str>) -> Result<Emulated> {
        let open = |path: &str| open(Path::new(path));
        Ok(Emulated {
            properties: Properties {
                name: "emulated device".into(),
                total_memory: TOTAL_MEMORY,
                multiprocessors: 4,
                shared_per_block: 96 << 10,
                shared_per_multiprocessor: 96 << 10,
                capability: (8, 0),
                bandwidth: 0.0,
                driver_version: 0,
            },
            double: double.map(open).transpose()?,
            single: single.map(open).transpose()?,
            compiler: None,
            state: Mutex::default(),
        })
    }

    /// Sets another compute capability.
    #[cfg(test)]
    pub(crate) fn with_capability(mut self, capability: (u32, u32)) -> Emulated {
        self.properties.capability = capability;
        self
    }

    /// Sets the compiler of kernels that are added.
    #[cfg(test)]
    pub(crate) fn with_compiler(self, compiler: CompileFn) -> Emulated {
        Emulated { compiler: Some(compiler), ..self }
    }

    fn state(&self) -> MutexGuard<'_, EmulatedState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kernel(
        &self,
        state: &mut EmulatedState,
        kernel: KernelId,
        precision: Precision,
    ) -> Result<Kernel> {
        let name = match kernel {
            KernelId::Named(name) => name,
            KernelId::Added(number) => {
                let added = state.added.get(number).map(|added| added.0);
                return added.ok_or_else(|| Error::new(format!("there is no kernel {kernel}")));
            }
        };
        let is_double = precision == Precision::Double;
        if let Some(kernel) = state.kernels.get(&(is_double, name)) {
            return Ok(*kernel);
        }
        let (library, option) =
            if is_double { (&self.double, "emulate_f64") } else { (&self.single, "emulate_f32") };
        let library = library.as_ref().ok_or_else(|| {
            Error::unsupported(format!("kernel {name}: the option {option} is not given"))
        })?;
        let kernel = look_up(library, name)?;
        state.kernels.insert((is_double, name), kernel);
        Ok(kernel)
    }
}

fn open(path: &Path) -> Result<libloading::Library> {
    // SAFETY: a library of C functions without initialisers.
    unsafe { libloading::Library::new(path) }
        .map_err(|e| Error::new(format!("{}: {e}", path.display())))
}

fn look_up(library: &libloading::Library, name: &str) -> Result<Kernel> {
    let symbol = CString::new(format!("emu_{name}"))
        .map_err(|e| Error::new(format!("kernel {name}: {e}")))?;
    // SAFETY: every `emu_` function of these libraries has this signature.
    let kernel = unsafe { library.get::<Kernel>(symbol.as_bytes_with_nul()) };
    Ok(*kernel.map_err(|e| Error::new(format!("kernel {name}: {e}")))?)
}

/// Layout of an allocation and the guard after it.
fn layout(bytes: usize) -> Option<Layout> {
    Layout::from_size_align(bytes.checked_add(GUARD)?, ALIGN).ok()
}

/// Converts an address to a pointer of the host, which it is here.
fn here(at: u64) -> *mut u8 {
    ptr::with_exposed_provenance_mut(at as usize)
}

impl Driver for Emulated {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    fn is_emulated(&self) -> bool {
        true
    }
    fn notes(&self) -> String {
        "kernels run on the processor, for tests".into()
    }
    fn alloc(&self, bytes: usize) -> Result<u64> {
        let mut state = self.state();
        let free = TOTAL_MEMORY - state.used;
        let (Some(layout), true) = (layout(bytes), bytes as u64 <= free) else {
            return Err(too_little(bytes, free as usize, &self.properties));
        };
        // SAFETY: the layout is of at least one byte.
        let at = unsafe { alloc(layout) };
        if at.is_null() {
            return Err(Error::new(format!("{bytes} bytes: the host has no memory for them")));
        }
        // SAFETY: just allocated with this length.
        unsafe { at.write_bytes(FRESH, layout.size()) };
        state.used += bytes as u64;
        Ok(at.expose_provenance() as u64)
    }
    unsafe fn free(&self, at: u64, bytes: usize) {
        let mut state = self.state();
        if let Some(layout) = layout(bytes) {
            // SAFETY: allocated with this layout, all of which was written.
            let guard = unsafe { std::slice::from_raw_parts(here(at).add(bytes), GUARD) };
            if guard.iter().any(|byte| *byte != FRESH) {
                let said = format!(
                    "{}: something wrote past the end of {bytes} bytes",
                    self.properties.name
                );
                state.failed.get_or_insert(Error::new(said));
            }
            // SAFETY: allocated with this layout, and not used again.
            unsafe { dealloc(here(at), layout) };
            state.used -= bytes as u64;
        }
    }
    unsafe fn to_device(&self, to: u64, from: &[u8]) -> Result<()> {
        let _one = self.state();
        // SAFETY: the caller guarantees that the device memory is valid; the host's is another.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), here(to), from.len()) };
        Ok(())
    }
    unsafe fn to_host(&self, from: u64, to: &mut [u8]) -> Result<()> {
        let mut state = self.state();
        // SAFETY: the caller guarantees that the device memory is valid; the host's is another.
        unsafe { ptr::copy_nonoverlapping(here(from).cast_const(), to.as_mut_ptr(), to.len()) };
        state.failed.take().map_or(Ok(()), Err)
    }
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        let _one = self.state();
        // SAFETY: the caller guarantees that both are valid.
        unsafe { ptr::copy_nonoverlapping(here(from).cast_const(), here(to), bytes) };
        Ok(())
    }
    unsafe fn fill(&self, at: u64, byte: u8, bytes: usize) -> Result<()> {
        let _one = self.state();
        // SAFETY: the caller guarantees that the memory is valid.
        unsafe { here(at).write_bytes(byte, bytes) };
        Ok(())
    }
    fn add(&self, source: &str, precision: Precision, kept: bool) -> Result<Option<usize>> {
        if kept {
            return Ok(None);
        }
        let compiler =
            self.compiler.ok_or_else(|| Error::unsupported("nothing compiles kernels here"))?;
        let library = open(&compiler(source, precision)?)?;
        let mut state = self.state();
        state.added.push((look_up(&library, ONE_STAGE)?, library));
        Ok(Some(state.added.len() - 1))
    }
    unsafe fn launch(
        &self,
        kernel: KernelId,
        precision: Precision,
        grid: u32,
        block: u32,
        shared_bytes: u32,
        params: &mut [*mut c_void],
    ) -> Result<()> {
        let most = self.properties.shared_per_block;
        if grid == 0 || block == 0 || block > 1024 || shared_bytes > most {
            return Err(Error::new(format!(
                "kernel {kernel}: {grid} blocks of {block} threads with {shared_bytes} shared bytes; \
                 at most 1024 threads and {most} bytes, and not none"
            )));
        }
        let mut state = self.state();
        let run = self.kernel(&mut state, kernel, precision)?;
        // Sixteen bytes each, for the alignment; all ones are no number.
        let mut shared = vec![u128::MAX; (shared_bytes as usize).div_ceil(16)];
        // SAFETY: the caller guarantees that the parameters match the function; the shared memory
        // has the length asked for. The lock keeps others out, as the order of a stream does.
        unsafe { run(grid, block, shared.as_mut_ptr().cast(), params.as_mut_ptr()) };
        Ok(())
    }
    fn sync(&self) -> Result<()> {
        self.state().failed.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Buffer;
    use crate::testing::device;

    #[test]
    fn who_writes_past_the_end_hears_of_it_at_the_next_wait() {
        let device = device();
        let buffer = Buffer::<u8>::from_slice(&device, &[1, 2, 3]).unwrap();
        // SAFETY: the byte after the buffer is one of the guard.
        unsafe { device.fill(buffer.address() + 3, 0, 1) }.unwrap();
        drop(buffer);
        let other = Buffer::<u8>::from_slice(&device, &[4]).unwrap();
        let said = other.read(0, &mut [0]).unwrap_err().to_string();
        assert_eq!(said, "emulated device: something wrote past the end of 3 bytes");
        device.sync().unwrap();
    }
}
