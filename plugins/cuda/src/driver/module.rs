//! Kernels on the device: loaded for a precision when it is first used, looked up by name.
#![expect(unsafe_code, reason = "the driver is called here")]

use std::{
    collections::HashMap,
    ffi::{CString, c_int, c_void},
    ptr,
    sync::{Mutex, MutexGuard, PoisonError},
};

use cudarc::driver::sys::{CUfunction, CUfunction_attribute as Attribute, CUjit_option, CUmodule};
use ketgrad_plugin_sdk::{Error, Precision, Result};

use super::{KernelId, ONE_STAGE, Properties, api::Api};

/// Size of the log of the driver's compiler.
const LOG: usize = 4096;
/// Dynamic shared memory that a kernel may have without opting in.
const SHARED_UNASKED: u32 = 48 << 10;

/// Compiled kernels.
pub(crate) struct Image {
    /// Description of the kernels, for people.
    pub(crate) what: String,
    /// A CUBIN, or a PTX text that ends with a zero byte.
    pub(crate) code: Vec<u8>,
}

/// Source of compiled kernels.
pub(crate) trait Images: Send + Sync {
    /// Returns the images to try for a device of this compute capability, in this order; `note`
    /// receives messages for people.
    fn images(
        &self,
        precision: Precision,
        capability: (u32, u32),
        note: &mut dyn FnMut(String),
    ) -> Vec<Image>;

    /// Compiles the kernel of a text that follows the source; with `kept` only if it is cached.
    ///
    /// # Errors
    /// The text cannot be compiled.
    fn one_stage(
        &self,
        source: &str,
        precision: Precision,
        capability: (u32, u32),
        kept: bool,
    ) -> Result<Option<Image>>;
}

/// Modules that are loaded.
#[derive(Default)]
pub(crate) struct Modules(Mutex<Loaded>);

#[derive(Default)]
struct Loaded {
    /// Modules by precision: double, single.
    modules: [Option<Module>; 2],
    /// Modules of kernels that were added.
    added: Vec<Module>,
    notes: Vec<String>,
}

struct Module {
    handle: CUmodule,
    functions: HashMap<String, Function>,
}

#[derive(Clone, Copy)]
struct Function {
    handle: CUfunction,
    /// Dynamic shared memory that it may have.
    shared: u32,
}

// SAFETY: modules and functions may be used from any thread.
unsafe impl Send for Module {}

impl Modules {
    fn loaded(&self) -> MutexGuard<'_, Loaded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes on the modules that are loaded and on those tried before, for people.
    pub(crate) fn notes(&self) -> String {
        self.loaded().notes.join("; ")
    }

    /// Adds a kernel, and returns its number. The context is current.
    pub(crate) fn add(&self, api: &Api, image: &Image) -> Result<usize> {
        let handle = load_image(api, image)?;
        let mut loaded = self.loaded();
        loaded.added.push(Module { handle, functions: HashMap::new() });
        Ok(loaded.added.len() - 1)
    }

    /// Returns a kernel, which may have that much dynamic shared memory. The context is current.
    pub(crate) fn function(
        &self,
        api: &Api,
        images: &dyn Images,
        properties: &Properties,
        kernel: KernelId,
        precision: Precision,
        shared_bytes: u32,
    ) -> Result<CUfunction> {
        let mut loaded = self.loaded();
        let Loaded { modules, added, notes } = &mut *loaded;
        let slot = &mut modules[usize::from(precision == Precision::Single)];
        let (module, name) = match (kernel, slot) {
            (KernelId::Added(number), _) => {
                let missing = || Error::new(format!("there is no kernel {kernel}"));
                (added.get_mut(number).ok_or_else(missing)?, ONE_STAGE)
            }
            (KernelId::Named(name), Some(module)) => (module, name),
            (KernelId::Named(name), slot) => {
                (slot.insert(load(api, images, properties, precision, notes)?), name)
            }
        };
        let function = match module.functions.get_mut(name) {
            Some(function) => function,
            None => {
                let handle = look_up(api, module.handle, name)?;
                module
                    .functions
                    .entry(name.to_owned())
                    .or_insert(Function { handle, shared: SHARED_UNASKED })
            }
        };
        if shared_bytes > function.shared {
            function.shared = ask_for_shared(api, function.handle, name, shared_bytes, properties)?;
        }
        Ok(function.handle)
    }

    /// Unloads all. The context is current, and nothing runs.
    pub(crate) fn unload(&self, api: &Api) {
        let Loaded { modules, added, .. } = &mut *self.loaded();
        for module in modules.iter_mut().filter_map(Option::take).chain(added.drain(..)) {
            // SAFETY: loaded here once; its functions are forgotten with it.
            unsafe { (api.cuModuleUnload)(module.handle) };
        }
    }
}

fn load(
    api: &Api,
    images: &dyn Images,
    properties: &Properties,
    precision: Precision,
    notes: &mut Vec<String>,
) -> Result<Module> {
    let candidates = images.images(precision, properties.capability, &mut |note| notes.push(note));
    let mut refused = Vec::new();
    for image in candidates {
        match load_image(api, &image) {
            Ok(handle) => {
                notes.extend(refused);
                notes.push(format!("{precision} precision: {}", image.what));
                return Ok(Module { handle, functions: HashMap::new() });
            }
            Err(e) => refused.push(format!("{}: {e}", image.what)),
        }
    }
    Err(Error::new(format!("no kernels could be loaded: {}", refused.join("; "))))
}

fn load_image(api: &Api, image: &Image) -> Result<CUmodule> {
    let mut log = vec![0u8; LOG];
    let mut options =
        [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    // The size is handed over in place of a pointer.
    let mut values = [log.as_mut_ptr().cast::<c_void>(), ptr::without_provenance_mut(LOG)];
    let mut handle: CUmodule = ptr::null_mut();
    // SAFETY: the image is a CUBIN, which says how long it is, or a text that ends with a zero
    // byte; the log is as long as said.
    let status = unsafe {
        (api.cuModuleLoadDataEx)(
            &raw mut handle,
            image.code.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    api.check("cuModuleLoadDataEx", status).map_err(|e| {
        let said = String::from_utf8_lossy(&log);
        let said = said.trim_matches(|c: char| c == '\0' || c.is_whitespace());
        if said.is_empty() { e } else { Error::new(format!("{e}: {said}")) }
    })?;
    Ok(handle)
}

fn look_up(api: &Api, module: CUmodule, name: &str) -> Result<CUfunction> {
    let symbol = CString::new(name).map_err(|e| Error::new(format!("kernel {name}: {e}")))?;
    let mut handle: CUfunction = ptr::null_mut();
    // SAFETY: the module is loaded; the driver writes the handle.
    let status = unsafe { (api.cuModuleGetFunction)(&raw mut handle, module, symbol.as_ptr()) };
    api.check("cuModuleGetFunction", status).map_err(|e| Error::new(format!("{e}, of {name}")))?;
    Ok(handle)
}

/// Opts a kernel in to more dynamic shared memory than the default.
fn ask_for_shared(
    api: &Api,
    function: CUfunction,
    name: &str,
    bytes: u32,
    properties: &Properties,
) -> Result<u32> {
    let mut fixed: c_int = 0;
    // SAFETY: the driver writes the number.
    let status = unsafe {
        (api.cuFuncGetAttribute)(
            &raw mut fixed,
            Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
            function,
        )
    };
    api.check("cuFuncGetAttribute", status)?;
    let most = properties.shared_per_block.saturating_sub(u32::try_from(fixed).unwrap_or(0));
    if bytes > most {
        return Err(Error::new(format!(
            "kernel {name}: {bytes} bytes of shared memory; the device has {most}"
        )));
    }
    let wanted = c_int::try_from(bytes).unwrap_or(c_int::MAX);
    let which = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    // SAFETY: the call takes no pointer.
    api.check("cuFuncSetAttribute", unsafe { (api.cuFuncSetAttribute)(function, which, wanted) })?;
    Ok(bytes)
}
