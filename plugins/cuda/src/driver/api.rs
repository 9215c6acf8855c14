//! Functions of the CUDA driver, looked up once by name.
//!
//! cudarc's own wrappers panic where the library or a function of it is missing, and take every
//! status for one that they know. Here a missing function is an error that names it, and a status
//! stays the number that it is: a driver that is newer than this crate may return others. Of cudarc
//! remain the library's file names, the constants and the structs.
#![expect(unsafe_code, reason = "C functions are looked up and called here")]

use std::{
    ffi::{CStr, c_char, c_int, c_uint, c_void},
    ptr,
    sync::OnceLock,
};

use cudarc::driver::sys::{
    self, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUfunction, CUfunction_attribute,
    CUjit_option, CUmemPool_attribute, CUmemPoolProps, CUmemoryPool, CUmodule, CUstream,
};
use ketgrad_plugin_sdk::{Error, Result};

/// Declares a table of C functions that return a status, and the function that fills it from a
/// library.
macro_rules! functions {
    ($table:ident: $($name:ident($($arg:ty),*);)*) => {
        /// Functions of a library by name.
        #[allow(non_snake_case, reason = "the library's names")]
        pub(crate) struct $table {
            $(pub(crate) $name: unsafe extern "C" fn($($arg),*) -> u32,)*
        }
        impl $table {
            /// Looks all of them up; the error names the first that is missing.
            ///
            /// # Safety
            /// The functions of the library have these signatures, and it stays loaded.
            pub(crate) unsafe fn of(library: &libloading::Library) -> Result<$table, String> {
                Ok($table {
                    // SAFETY: the caller guarantees that the signatures match the function.
                    $($name: unsafe {
                        *library
                            .get::<unsafe extern "C" fn($($arg),*) -> u32>(concat!(stringify!($name), "\0").as_bytes())
                            .map_err(|_| stringify!($name).to_owned())?
                    },)*
                })
            }
        }
    };
}
pub(crate) use functions;

functions! { Api:
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuGetErrorName(u32, *mut *const c_char);
    cuGetErrorString(u32, *mut *const c_char);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuDevicePrimaryCtxRelease_v2(CUdevice);
    cuCtxPushCurrent_v2(CUcontext);
    cuCtxPopCurrent_v2(*mut CUcontext);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamSynchronize(CUstream);
    cuStreamDestroy_v2(CUstream);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemPoolCreate(*mut CUmemoryPool, *const CUmemPoolProps);
    cuMemPoolDestroy(CUmemoryPool);
    cuMemPoolSetAttribute(CUmemoryPool, CUmemPool_attribute, *mut c_void);
    cuMemPoolGetAttribute(CUmemoryPool, CUmemPool_attribute, *mut c_void);
    cuMemPoolTrimTo(CUmemoryPool, usize);
    cuMemAllocFromPoolAsync(*mut CUdeviceptr, usize, CUmemoryPool, CUstream);
    cuMemFreeAsync(CUdeviceptr, CUstream);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemcpyDtoDAsync_v2(CUdeviceptr, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void);
    cuModuleUnload(CUmodule);
    cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
    cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
    cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
    cuLaunchKernel(CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
        *mut *mut c_void);
}

impl Api {
    /// Returns the driver's functions, after the driver was initialised.
    ///
    /// # Errors
    /// The driver is missing or too old, or it finds no device.
    pub(crate) fn get() -> Result<&'static Api> {
        static API: OnceLock<Result<Api>> = OnceLock::new();
        API.get_or_init(Api::load).as_ref().map_err(Clone::clone)
    }

    fn load() -> Result<Api> {
        // SAFETY: opening the driver's library runs its initialisers, as in every program that uses
        // it.
        if !unsafe { sys::is_culib_present() } {
            return Err(Error::no_hardware("no NVIDIA driver: the library libcuda is not found"));
        }
        // SAFETY: the library is loaded, as was just checked, and stays so; its functions have
        // these signatures.
        let api = unsafe { Api::of(sys::culib()) }.map_err(|name| {
            Error::no_hardware(format!("the NVIDIA driver is too old: it has no {name}"))
        })?;
        // SAFETY: the call takes no pointer.
        api.check("cuInit", unsafe { (api.cuInit)(0) })
            .map_err(|e| Error::no_hardware(e.to_string()))?;
        Ok(api)
    }

    /// Converts the status of a call; the error names the call and the failure.
    pub(crate) fn check(&self, call: &str, status: u32) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        let text = |of: unsafe extern "C" fn(u32, *mut *const c_char) -> u32| {
            let mut text = ptr::null();
            // SAFETY: the driver writes a pointer to a text of its own, or null.
            unsafe { of(status, &raw mut text) };
            // SAFETY: such a text ends with a zero byte and lives as long as the driver.
            (!text.is_null())
                .then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = text(self.cuGetErrorName).unwrap_or_else(|| format!("status {status}"));
        let what = text(self.cuGetErrorString).map_or(String::new(), |what| format!(" ({what})"));
        Err(Error::new(format!("{call}: {name}{what}")))
    }
}
