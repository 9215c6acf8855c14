//! Device of the NVIDIA driver.
//!
//! Looking at a device makes no context; the first work does: the primary context of the device,
//! which the process shares with whatever else uses CUDA, one stream, and a memory pool that keeps
//! what is freed for the next state. The context is current in a thread only during a call. Kernels
//! are loaded for a precision when it is first used.
#![expect(unsafe_code, reason = "the driver is called here")]

use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::{Mutex, MutexGuard, OnceLock, PoisonError},
};

use cudarc::driver::sys::{CUdevice, CUdevice_attribute as Attribute};
use ketgrad_plugin_sdk::{Error, Precision, Result};

use super::{
    Driver, KernelId, Properties,
    api::Api,
    context::{Context, Current},
    module::{Images, Modules},
    too_little,
};

/// The oldest compute capability that the kernels are compiled for.
const LEAST_CAPABILITY: (u32, u32) = (7, 0);
/// The oldest driver that reads the kernels, as CUDA's version number: PTX 7.8 came with 11.8.
const LEAST_DRIVER: u32 = 11080;

/// Device of the NVIDIA driver.
pub(crate) struct Cuda {
    api: &'static Api,
    device: CUdevice,
    properties: Properties,
    images: Box<dyn Images>,
    started: OnceLock<Context>,
    starting: Mutex<()>,
    modules: Modules,
    /// Error of a call that could not return one.
    failed: Mutex<Option<Error>>,
}

impl Cuda {
    /// Opens the device of this number.
    ///
    /// # Errors
    /// The driver or the device is missing, or one of them is too old.
    pub(crate) fn open(ordinal: u32, images: Box<dyn Images>) -> Result<Cuda> {
        let api = Api::get()?;
        let mut count: c_int = 0;
        // SAFETY: the driver writes the number.
        api.check("cuDeviceGetCount", unsafe { (api.cuDeviceGetCount)(&raw mut count) })?;
        let number = c_int::try_from(ordinal).ok().filter(|number| *number < count);
        let number = number.ok_or_else(|| {
            Error::no_hardware(format!(
                "no device {ordinal}: the driver has {count}, counted from 0"
            ))
        })?;
        let mut device: CUdevice = 0;
        // SAFETY: the driver writes the handle.
        api.check("cuDeviceGet", unsafe { (api.cuDeviceGet)(&raw mut device, number) })?;
        let properties = properties(api, device)?;
        suffices(&properties)?;
        Ok(Cuda {
            api,
            device,
            properties,
            images,
            started: OnceLock::new(),
            starting: Mutex::new(()),
            modules: Modules::default(),
            failed: Mutex::new(None),
        })
    }

    /// Makes context, stream and pool if that is not done, and makes the context current until the
    /// guard is dropped.
    fn enter(&self) -> Result<(&Context, Current)> {
        if let Some(started) = self.started.get() {
            return Ok((started, Current::push(self.api, started.handle)?));
        }
        let _one = self.starting.lock().unwrap_or_else(PoisonError::into_inner);
        if self.started.get().is_none() {
            let started = Context::new(self.api, self.device)?;
            let _ = self.started.set(started);
        }
        let started = self.started.get().ok_or_else(|| Error::new("no context"))?;
        Ok((started, Current::push(self.api, started.handle)?))
    }

    fn failed(&self) -> MutexGuard<'_, Option<Error>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, and returns the pending error.
    fn wait(&self, context: &Context) -> Result<()> {
        let waited = context.synchronize();
        match self.failed().take() {
            Some(earlier) => Err(earlier),
            None => waited,
        }
    }
}

/// Checks that a device and its driver can be used.
fn suffices(properties: &Properties) -> Result<()> {
    let Properties { name, capability, driver_version, .. } = properties;
    if *capability < LEAST_CAPABILITY {
        return Err(Error::no_hardware(format!(
            "{name} has compute capability {}.{}; at least {}.{} is needed",
            capability.0, capability.1, LEAST_CAPABILITY.0, LEAST_CAPABILITY.1
        )));
    }
    if *driver_version < LEAST_DRIVER {
        let version = |v: u32| format!("{}.{}", v / 1000, v % 1000 / 10);
        return Err(Error::no_hardware(format!(
            "the NVIDIA driver is too old: it knows CUDA {}; at least {} is needed",
            version(*driver_version),
            version(LEAST_DRIVER)
        )));
    }
    Ok(())
}

fn properties(api: &Api, device: CUdevice) -> Result<Properties> {
    let mut name = [0u8; 256];
    // SAFETY: the driver writes at most this many bytes.
    api.check("cuDeviceGetName", unsafe {
        (api.cuDeviceGetName)(name.as_mut_ptr().cast(), 256, device)
    })?;
    let mut total_memory = 0usize;
    // SAFETY: the driver writes the number.
    api.check("cuDeviceTotalMem", unsafe {
        (api.cuDeviceTotalMem_v2)(&raw mut total_memory, device)
    })?;
    let mut version: c_int = 0;
    // SAFETY: the driver writes the number.
    api.check("cuDriverGetVersion", unsafe { (api.cuDriverGetVersion)(&raw mut version) })?;
    let get = |which: Attribute| -> Result<u32> {
        let mut value: c_int = 0;
        // SAFETY: the driver writes the number.
        let status = unsafe { (api.cuDeviceGetAttribute)(&raw mut value, which, device) };
        api.check("cuDeviceGetAttribute", status)?;
        Ok(u32::try_from(value).unwrap_or(0))
    };
    // Kilohertz and bits; two transfers a cycle.
    let clock = get(Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE).unwrap_or(0);
    let width = get(Attribute::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH).unwrap_or(0);
    Ok(Properties {
        name: CStr::from_bytes_until_nul(&name)
            .map_or(String::new(), |n| n.to_string_lossy().into_owned()),
        total_memory: total_memory as u64,
        multiprocessors: get(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
        shared_per_block: get(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
        shared_per_multiprocessor: get(
            Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR,
        )?,
        capability: (
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            get(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        bandwidth: 2.0 * f64::from(clock) * 1e3 * f64::from(width) / 8.0,
        driver_version: u32::try_from(version).unwrap_or(0),
    })
}

impl Drop for Cuda {
    fn drop(&mut self) {
        if self.started.get().is_some()
            && let Ok((_, _current)) = self.enter()
        {
            self.modules.unload(self.api);
        }
    }
}

impl Driver for Cuda {
    fn properties(&self) -> &Properties {
        &self.properties
    }
    fn is_emulated(&self) -> bool {
        false
    }
    fn notes(&self) -> String {
        self.modules.notes()
    }
    fn alloc(&self, bytes: usize) -> Result<u64> {
        let (context, _current) = self.enter()?;
        context.alloc(bytes)?.ok_or_else(|| match context.free_memory() {
            Ok(free) => too_little(bytes, free, &self.properties),
            Err(e) => e,
        })
    }
    unsafe fn free(&self, at: u64, _: usize) {
        // SAFETY: the caller guarantees that the address is valid.
        let freed = self.enter().and_then(|(context, _current)| unsafe { context.free(at) });
        if let Err(e) = freed {
            self.failed().get_or_insert(e);
        }
    }
    unsafe fn to_device(&self, to: u64, from: &[u8]) -> Result<()> {
        let (context, _current) = self.enter()?;
        let source = from.as_ptr().cast::<c_void>();
        // SAFETY: the caller guarantees that the device memory is valid; ordinary host memory has
        // been read when this returns.
        let status =
            unsafe { (self.api.cuMemcpyHtoDAsync_v2)(to, source, from.len(), context.stream) };
        self.api.check("cuMemcpyHtoDAsync", status)
    }
    unsafe fn to_host(&self, from: u64, to: &mut [u8]) -> Result<()> {
        let (context, _current) = self.enter()?;
        let target = to.as_mut_ptr().cast::<c_void>();
        // SAFETY: the caller guarantees that the device memory is valid; the host's stays borrowed
        // until the wait below.
        let status =
            unsafe { (self.api.cuMemcpyDtoHAsync_v2)(target, from, to.len(), context.stream) };
        let copied = self.api.check("cuMemcpyDtoHAsync", status);
        // Also if the copy was refused: what failed before it says more.
        self.wait(context)?;
        copied
    }
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()> {
        let (context, _current) = self.enter()?;
        // SAFETY: the caller guarantees that both are valid.
        let status = unsafe { (self.api.cuMemcpyDtoDAsync_v2)(to, from, bytes, context.stream) };
        self.api.check("cuMemcpyDtoDAsync", status)
    }
    unsafe fn fill(&self, at: u64, byte: u8, bytes: usize) -> Result<()> {
        let (context, _current) = self.enter()?;
        // SAFETY: the caller guarantees that the memory is valid.
        let status = unsafe { (self.api.cuMemsetD8Async)(at, byte, bytes, context.stream) };
        self.api.check("cuMemsetD8Async", status)
    }
    fn add(&self, source: &str, precision: Precision, kept: bool) -> Result<Option<usize>> {
        let (_, _current) = self.enter()?;
        let image = self.images.one_stage(source, precision, self.properties.capability, kept)?;
        image.map(|image| self.modules.add(self.api, &image)).transpose()
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
        let (context, _current) = self.enter()?;
        let function = self.modules.function(
            self.api,
            &*self.images,
            &self.properties,
            kernel,
            precision,
            shared_bytes,
        )?;
        // SAFETY: the function is loaded in this context; the caller guarantees that the parameters
        // match the function.
        let status = unsafe {
            (self.api.cuLaunchKernel)(
                function,
                grid,
                1,
                1,
                block,
                1,
                1,
                shared_bytes,
                context.stream,
                params.as_mut_ptr(),
                ptr::null_mut(),
            )
        };
        self.api.check("cuLaunchKernel", status).map_err(|e| {
            Error::new(format!(
                "{e}, of {kernel}: {grid} blocks of {block} threads, {shared_bytes} shared bytes"
            ))
        })
    }
    fn sync(&self) -> Result<()> {
        if self.started.get().is_none() {
            return Ok(());
        }
        let (context, _current) = self.enter()?;
        self.wait(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(capability: (u32, u32), driver_version: u32) -> Properties {
        Properties {
            name: "a device".into(),
            total_memory: 1 << 34,
            multiprocessors: 80,
            shared_per_block: 98304,
            shared_per_multiprocessor: 98304,
            capability,
            bandwidth: 9e11,
            driver_version,
        }
    }

    #[test]
    fn old_hardware_and_old_drivers_are_declined_in_words() {
        assert_eq!(suffices(&device((7, 0), 11080)), Ok(()));
        assert_eq!(suffices(&device((9, 0), 13000)), Ok(()));
        let said = |d: &Properties| suffices(d).unwrap_err().to_string();
        assert_eq!(
            said(&device((6, 1), 12080)),
            "a device has compute capability 6.1; at least 7.0 is needed"
        );
        assert_eq!(
            said(&device((8, 0), 11040)),
            "the NVIDIA driver is too old: it knows CUDA 11.4; at least 11.8 is needed"
        );
    }
}
