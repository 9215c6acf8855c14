//! Context, stream and memory pool of a device, made by its first work.
#![expect(unsafe_code, reason = "the driver is called here")]

use std::{ffi::c_int, ptr};

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute as Attribute, CUmemAllocationHandleType,
    CUmemAllocationType, CUmemLocation, CUmemLocationType, CUmemPool_attribute as PoolAttribute,
    CUmemPoolProps, CUmemoryPool, CUstream, CUstream_flags,
};
use ketgrad_plugin_sdk::Result;

use super::api::Api;

/// Status of an allocation that does not fit.
const OUT_OF_MEMORY: u32 = 2;
/// Size from which allocations are first compared with the free memory; smaller ones come from the
/// pool in a microsecond, which is less than the query costs.
const LARGE: usize = 1 << 20;

/// Primary context of a device, with a stream and a memory pool of this plugin. It is current in
/// the calling thread.
pub(crate) struct Context {
    api: &'static Api,
    device: CUdevice,
    /// The context.
    pub(crate) handle: CUcontext,
    /// Stream of all work.
    pub(crate) stream: CUstream,
    pool: Option<CUmemoryPool>,
}

// SAFETY: contexts, streams and pools may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: contexts, streams and pools may be used from several threads at once: the driver locks.
unsafe impl Sync for Context {}

/// Guard that keeps the context current in this thread; the context that was current before is
/// restored when it is dropped.
pub(crate) struct Current {
    api: &'static Api,
}

impl Current {
    /// Makes a context current.
    pub(crate) fn push(api: &'static Api, context: CUcontext) -> Result<Current> {
        // SAFETY: a context that is retained.
        api.check("cuCtxPushCurrent", unsafe { (api.cuCtxPushCurrent_v2)(context) })?;
        Ok(Current { api })
    }
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut context: CUcontext = ptr::null_mut();
        // SAFETY: this thread pushed the context. A failure would come out at the next call.
        unsafe { (self.api.cuCtxPopCurrent_v2)(&raw mut context) };
    }
}

impl Context {
    /// Retains the context, and makes stream and pool.
    pub(crate) fn new(api: &'static Api, device: CUdevice) -> Result<Context> {
        let mut handle: CUcontext = ptr::null_mut();
        // SAFETY: the driver writes the handle; `drop` releases it.
        let status = unsafe { (api.cuDevicePrimaryCtxRetain)(&raw mut handle, device) };
        api.check("cuDevicePrimaryCtxRetain", status)?;
        let mut context = Context { api, device, handle, stream: ptr::null_mut(), pool: None };
        let _current = Current::push(api, handle)?;
        // One that does not wait for the null stream, which others in the process may use.
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING as u32;
        // SAFETY: the driver writes the stream; `drop` destroys it.
        api.check("cuStreamCreate", unsafe {
            (api.cuStreamCreate)(&raw mut context.stream, flags)
        })?;
        context.pool = pool(api, device)?;
        Ok(context)
    }

    /// Returns the free bytes, with those that the pool caches.
    pub(crate) fn free_memory(&self) -> Result<usize> {
        let (mut free, mut total) = (0usize, 0usize);
        // SAFETY: the driver writes the numbers; the context is current.
        let status = unsafe { (self.api.cuMemGetInfo_v2)(&raw mut free, &raw mut total) };
        self.api.check("cuMemGetInfo", status)?;
        let of_pool = |which| -> u64 {
            let mut value = 0u64;
            let Some(pool) = self.pool else { return 0 };
            // SAFETY: these attributes are numbers of 64 bits.
            let status =
                unsafe { (self.api.cuMemPoolGetAttribute)(pool, which, (&raw mut value).cast()) };
            if status == 0 { value } else { 0 }
        };
        let reserved = of_pool(PoolAttribute::CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
        let used = of_pool(PoolAttribute::CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
        Ok(free.saturating_add(usize::try_from(reserved.saturating_sub(used)).unwrap_or(0)))
    }

    /// Trims the pool: waits until freed memory is free, and returns it to the device.
    fn reclaim(&self) -> Result<()> {
        self.synchronize()?;
        match self.pool {
            Some(pool) => {
                // SAFETY: the pool is ours; what is in use stays.
                self.api.check("cuMemPoolTrimTo", unsafe { (self.api.cuMemPoolTrimTo)(pool, 0) })
            }
            None => Ok(()),
        }
    }

    /// Waits for the stream.
    pub(crate) fn synchronize(&self) -> Result<()> {
        // SAFETY: the stream is ours.
        self.api
            .check("cuStreamSynchronize", unsafe { (self.api.cuStreamSynchronize)(self.stream) })
    }

    /// Allocates memory; `None` if it does not suffice.
    pub(crate) fn alloc(&self, bytes: usize) -> Result<Option<u64>> {
        if bytes >= LARGE && self.free_memory()? < bytes {
            self.reclaim()?;
            if self.free_memory()? < bytes {
                return Ok(None);
            }
        }
        match self.allocated(bytes)? {
            Some(at) => Ok(Some(at)),
            None => {
                self.reclaim()?;
                self.allocated(bytes)
            }
        }
    }

    fn allocated(&self, bytes: usize) -> Result<Option<u64>> {
        let mut at = 0;
        let (call, status) = match self.pool {
            // SAFETY: pool and stream are ours, the driver writes the address.
            Some(pool) => ("cuMemAllocFromPoolAsync", unsafe {
                (self.api.cuMemAllocFromPoolAsync)(&raw mut at, bytes, pool, self.stream)
            }),
            // SAFETY: the driver writes the address.
            None => ("cuMemAlloc", unsafe { (self.api.cuMemAlloc_v2)(&raw mut at, bytes) }),
        };
        if status == OUT_OF_MEMORY {
            return Ok(None);
        }
        self.api.check(call, status)?;
        Ok(Some(at))
    }

    /// Frees memory, in stream order: after all queued work.
    ///
    /// # Safety
    /// It is from `alloc`, and is not used any more.
    pub(crate) unsafe fn free(&self, at: u64) -> Result<()> {
        let (call, status) = match self.pool {
            // SAFETY: the caller guarantees that the address is valid; all work is in this stream.
            Some(_) => ("cuMemFreeAsync", unsafe { (self.api.cuMemFreeAsync)(at, self.stream) }),
            // SAFETY: the caller guarantees that the address is valid; this waits for all work of
            // the device.
            None => ("cuMemFree", unsafe { (self.api.cuMemFree_v2)(at) }),
        };
        self.api.check(call, status)
    }
}

/// Makes a pool that caches all freed memory; `None` for a device without pools.
fn pool(api: &Api, device: CUdevice) -> Result<Option<CUmemoryPool>> {
    let mut has_pools: c_int = 0;
    let which = Attribute::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED;
    // SAFETY: the driver writes the number.
    let status = unsafe { (api.cuDeviceGetAttribute)(&raw mut has_pools, which, device) };
    if status != 0 || has_pools == 0 {
        return Ok(None);
    }
    // SAFETY: a struct of numbers and null pointers, whose reserved bytes must be zero.
    let mut wanted: CUmemPoolProps = unsafe { std::mem::zeroed() };
    wanted.allocType = CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED;
    wanted.handleTypes = CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_NONE;
    wanted.location =
        CUmemLocation { type_: CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE, id: device };
    let mut pool: CUmemoryPool = ptr::null_mut();
    // SAFETY: the driver reads the struct and writes the handle.
    api.check("cuMemPoolCreate", unsafe {
        (api.cuMemPoolCreate)(&raw mut pool, &raw const wanted)
    })?;
    let mut keep = u64::MAX;
    let which = PoolAttribute::CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
    // SAFETY: this attribute is a number of 64 bits.
    let status = unsafe { (api.cuMemPoolSetAttribute)(pool, which, (&raw mut keep).cast()) };
    api.check("cuMemPoolSetAttribute", status)?;
    Ok(Some(pool))
}

impl Drop for Context {
    fn drop(&mut self) {
        let Ok(current) = Current::push(self.api, self.handle) else { return };
        // SAFETY: stream and pool are ours and not used any more. At the end of the process the
        // driver may be gone, which it reports by a status.
        unsafe {
            if !self.stream.is_null() {
                (self.api.cuStreamSynchronize)(self.stream);
            }
            if let Some(pool) = self.pool {
                (self.api.cuMemPoolDestroy)(pool);
            }
            if !self.stream.is_null() {
                (self.api.cuStreamDestroy_v2)(self.stream);
            }
        }
        drop(current);
        // SAFETY: retained once, by us.
        unsafe { (self.api.cuDevicePrimaryCtxRelease_v2)(self.device) };
    }
}
