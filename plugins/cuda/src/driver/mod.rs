//! Driver interface: the functions of a device that the plugin needs: memory, copies, launches and
//! waiting.
//!
//! It has two implementations: [`Cuda`] over the NVIDIA driver, and [`Emulated`], the same kernels
//! compiled for the processor, to test all layers above without a GPU. Work is queued in one order;
//! only [`Driver::to_host`] and [`Driver::sync`] wait, and they also return the error of anything
//! that failed since.
#![expect(unsafe_code, reason = "addresses of device memory are used here")]

mod api;
mod buffer;
mod context;
mod cuda;
mod emulated;
mod module;

use std::{ffi::c_void, fmt};

use ketgrad_plugin_sdk::{Error, Precision, Result};

pub(crate) use api::functions;
pub(crate) use buffer::{Buffer, Packed};
pub(crate) use cuda::Cuda;
pub(crate) use emulated::Emulated;
pub(crate) use module::{Image, Images};

/// Properties of a device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Properties {
    /// Its name.
    pub(crate) name: String,
    /// Its memory in bytes.
    pub(crate) total_memory: u64,
    /// Number of multiprocessors.
    pub(crate) multiprocessors: u32,
    /// Largest shared memory of a block in bytes, after opting in.
    pub(crate) shared_per_block: u32,
    /// The shared memory of a multiprocessor in bytes.
    pub(crate) shared_per_multiprocessor: u32,
    /// The compute capability, major and minor.
    pub(crate) capability: (u32, u32),
    /// The peak of its memory in bytes per second, from clock and bus width; 0 if the driver does
    /// not say.
    pub(crate) bandwidth: f64,
    /// The newest CUDA that the driver knows, 1000 major + 10 minor; 0 without one.
    pub(crate) driver_version: u32,
}

/// Shared memory that the system takes of each block.
const RESERVED_SHARED: u32 = 1 << 10;

impl Properties {
    /// Returns the number of blocks for that many tiles, of which each takes several if need be: as
    /// many as are resident at the same time with that much shared memory.
    pub(crate) fn blocks_at_once(&self, tiles: u32, shared_bytes: u32) -> u32 {
        let each = (self.shared_per_multiprocessor / (shared_bytes + RESERVED_SHARED)).max(1);
        tiles.min(self.multiprocessors * each)
    }
}

/// A device. Addresses are those of its own memory.
pub(crate) trait Driver: Send + Sync {
    /// Properties of the device.
    fn properties(&self) -> &Properties;
    /// Returns true if it is the device for tests.
    fn is_emulated(&self) -> bool;
    /// Further notes on its kernels, for people.
    fn notes(&self) -> String;
    /// Allocates that many bytes, at least 1, aligned to 256 bytes. They are uninitialised.
    ///
    /// # Errors
    /// The memory does not suffice: the error names the bytes needed and the bytes free.
    fn alloc(&self, bytes: usize) -> Result<u64>;
    /// Frees memory after all work that was queued before. An error is returned by the next wait.
    ///
    /// # Safety
    /// The memory is from `alloc` with these bytes, and nothing that is queued later uses it.
    unsafe fn free(&self, at: u64, bytes: usize);
    /// Copies to the device. Ordinary memory may change once this returns; page-locked memory only
    /// after the next wait.
    ///
    /// # Safety
    /// The device memory is allocated.
    unsafe fn to_device(&self, to: u64, from: &[u8]) -> Result<()>;
    /// Waits for all that was queued, and copies to the host.
    ///
    /// # Safety
    /// The device memory is allocated.
    unsafe fn to_host(&self, from: u64, to: &mut [u8]) -> Result<()>;
    /// Copies on the device.
    ///
    /// # Safety
    /// Both memories are allocated and do not overlap.
    unsafe fn copy(&self, from: u64, to: u64, bytes: usize) -> Result<()>;
    /// Sets bytes.
    ///
    /// # Safety
    /// The device memory is allocated.
    unsafe fn fill(&self, at: u64, byte: u8, bytes: usize) -> Result<()>;
    /// Adds the kernel `one_stage` of a text that follows `kernels.cu`, and gives its number. With
    /// `kept`, only if it need not be compiled: if not, `None`.
    ///
    /// # Errors
    /// It cannot be compiled or loaded.
    fn add(&self, source: &str, precision: Precision, kept: bool) -> Result<Option<usize>>;
    /// Queues a kernel: `grid` blocks of `block` threads with `shared_bytes` of dynamic shared
    /// memory. Each of `params` points to a parameter, as for `cuLaunchKernel`.
    ///
    /// # Errors
    /// The kernel does not exist or does not fit, or the device has failed before.
    ///
    /// # Safety
    /// The parameters are those of the kernel's signature, and what it reads and writes is
    /// allocated.
    unsafe fn launch(
        &self,
        kernel: KernelId,
        precision: Precision,
        grid: u32,
        block: u32,
        shared_bytes: u32,
        params: &mut [*mut c_void],
    ) -> Result<()>;
    /// Waits for all that was queued.
    ///
    /// # Errors
    /// An error of queued work since the last call.
    fn sync(&self) -> Result<()>;
}

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arg {
    /// An address of device memory.
    At(u64),
    /// A number of 64 bits.
    U64(u64),
    /// A number of 32 bits.
    U32(u32),
}

/// A kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum KernelId {
    /// Kernel of `kernels.cu`.
    Named(&'static str),
    /// Kernel that was added, by its number.
    Added(usize),
}

impl fmt::Display for KernelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KernelId::Named(name) => f.write_str(name),
            KernelId::Added(number) => write!(f, "{ONE_STAGE} {number}"),
        }
    }
}

/// The name of a kernel that is added, in its source.
const ONE_STAGE: &str = "one_stage";

/// Kernel to launch and its configuration: grid, block, shared memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LaunchConfig {
    /// The kernel.
    pub(crate) kernel: KernelId,
    /// The kind of amplitudes.
    pub(crate) precision: Precision,
    /// Number of blocks.
    pub(crate) grid: u32,
    /// Number of threads of a block.
    pub(crate) block: u32,
    /// Dynamic shared memory of a block.
    pub(crate) shared_bytes: u32,
}

/// Largest number of parameters of a kernel.
const MAX_ARGS: usize = 16;

/// Queues a kernel, as [`Driver::launch`].
///
/// # Safety
/// The same as for [`Driver::launch`].
pub(crate) unsafe fn launch(driver: &dyn Driver, launch: LaunchConfig, args: &[Arg]) -> Result<()> {
    if args.len() > MAX_ARGS {
        return Err(Error::new(format!(
            "{} parameters of {}; at most {MAX_ARGS}",
            args.len(),
            launch.kernel
        )));
    }
    let mut words = [0u64; MAX_ARGS];
    for (word, arg) in words.iter_mut().zip(args) {
        *word = match *arg {
            Arg::At(value) | Arg::U64(value) => value,
            // The kernel reads 4 bytes at the beginning of the word.
            Arg::U32(value) => {
                let [a, b, c, d] = value.to_ne_bytes();
                u64::from_ne_bytes([a, b, c, d, 0, 0, 0, 0])
            }
        };
    }
    let mut params = words.each_mut().map(|word| std::ptr::from_mut(word).cast::<c_void>());
    let LaunchConfig { kernel, precision, grid, block, shared_bytes } = launch;
    // SAFETY: each parameter points to a word that holds it; the caller answers for the rest.
    unsafe {
        driver.launch(kernel, precision, grid, block, shared_bytes, &mut params[..args.len()])
    }
}

/// Returns the error of an allocation that does not fit.
fn too_little(needed: usize, free: usize, properties: &Properties) -> Error {
    Error::new(format!(
        "{}: {needed} bytes of memory needed, {free} of {} free",
        properties.name, properties.total_memory
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::devices;

    fn try_launch(
        device: &dyn Driver,
        kernel: &'static str,
        shared_bytes: u32,
        args: &[Arg],
    ) -> Result<()> {
        let kernel = KernelId::Named(kernel);
        let what =
            LaunchConfig { kernel, precision: Precision::Double, grid: 1, block: 32, shared_bytes };
        // SAFETY: none of these launches gets as far as the kernel.
        unsafe { launch(device, what, args) }
    }

    #[test]
    fn launches_that_cannot_be_are_refused_by_name() {
        for device in devices() {
            let refused = |kernel, shared, args: &[Arg]| {
                let said = try_launch(&*device, kernel, shared, args).unwrap_err().to_string();
                assert!(said.contains(kernel), "{said}");
            };
            refused("no_such_kernel", 0, &[]);
            refused("a\0b", 0, &[]);
            refused("norms", device.properties().shared_per_block + 1, &[]);
            refused("norms", 0, &[Arg::U32(0); MAX_ARGS + 1]);
            device.sync().unwrap();
        }
    }

    #[test]
    fn a_number_of_32_bits_is_read_as_one() {
        for device in devices() {
            // One chunk of 2^1 amplitudes, whose squares are 1, 4, 9 and 16.
            let amplitudes = Buffer::from_slice(&device, &[1.0f64, 2.0, 3.0, 4.0]).unwrap();
            let sums = Buffer::<f64>::new(&device, 1).unwrap();
            let args =
                [Arg::At(amplitudes.address()), Arg::U64(2), Arg::U32(1), Arg::At(sums.address())];
            let what = LaunchConfig {
                kernel: KernelId::Named("norms"),
                precision: Precision::Double,
                grid: 1,
                block: 256,
                shared_bytes: 4096,
            };
            // SAFETY: two amplitudes, and room for the sum of one chunk.
            unsafe { launch(&*device, what, &args) }.unwrap();
            let mut sum = [0.0];
            sums.read(0, &mut sum).unwrap();
            assert_eq!(sum, [30.0]);
        }
    }
}
