//! Device memory that is freed when dropped.
#![expect(
    unsafe_code,
    reason = "numbers are seen as bytes, and addresses of device memory are used"
)]

use std::{fmt, marker::PhantomData, sync::Arc};

use ketgrad_plugin_sdk::{Error, Result};

use super::Driver;

/// Numbers that have the same bytes on the device.
///
/// # Safety
/// Every pattern of bytes is a value, and the type has no padding.
pub(crate) unsafe trait Plain: Copy + 'static {}
// SAFETY: plain numbers.
unsafe impl Plain for u8 {}
// SAFETY: plain numbers.
unsafe impl Plain for u32 {}
// SAFETY: plain numbers.
unsafe impl Plain for u64 {}
// SAFETY: plain numbers.
unsafe impl Plain for f32 {}
// SAFETY: plain numbers.
unsafe impl Plain for f64 {}

fn bytes<T: Plain>(numbers: &[T]) -> &[u8] {
    // SAFETY: numbers without padding, seen as the bytes that they are.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

fn bytes_mut<T: Plain>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: numbers without padding, seen as the bytes that they are; any bytes are a value.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// Array of numbers in device memory, freed when dropped.
pub(crate) struct Buffer<T: Plain> {
    driver: Arc<dyn Driver>,
    at: u64,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Plain> Buffer<T> {
    /// Allocates memory for that many numbers, uninitialised.
    ///
    /// # Errors
    /// The memory does not suffice.
    pub(crate) fn new(driver: &Arc<dyn Driver>, len: usize) -> Result<Buffer<T>> {
        let bytes = len
            .checked_mul(size_of::<T>())
            .ok_or_else(|| Error::new(format!("{len} numbers: beyond any memory")))?;
        let at = driver.alloc(bytes.max(1))?;
        Ok(Buffer { driver: driver.clone(), at, len, of: PhantomData })
    }
    /// Copies numbers of the host to the device.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    pub(crate) fn from_slice(driver: &Arc<dyn Driver>, numbers: &[T]) -> Result<Buffer<T>> {
        let mut buffer = Buffer::new(driver, numbers.len())?;
        buffer.write(0, numbers)?;
        Ok(buffer)
    }
    /// Address of the first number in device memory.
    pub(crate) fn address(&self) -> u64 {
        self.at
    }
    /// Number of numbers.
    pub(crate) fn len(&self) -> usize {
        self.len
    }
    /// Device of the memory.
    pub(crate) fn driver(&self) -> &Arc<dyn Driver> {
        &self.driver
    }
    /// Returns the address of `count` numbers from `first`, if they are in bounds.
    fn part(&self, first: usize, count: usize) -> Result<u64> {
        if first.checked_add(count).is_none_or(|end| end > self.len) {
            return Err(Error::new(format!(
                "{count} numbers from {first} of a buffer of {}",
                self.len
            )));
        }
        Ok(self.at + (first * size_of::<T>()) as u64)
    }
    /// Writes numbers from `first` on.
    ///
    /// # Errors
    /// They are out of bounds, or the device fails.
    pub(crate) fn write(&mut self, first: usize, numbers: &[T]) -> Result<()> {
        let at = self.part(first, numbers.len())?;
        // SAFETY: inside this allocation.
        unsafe { self.driver.to_device(at, bytes(numbers)) }
    }
    /// Reads numbers from `first` on, and waits for them.
    ///
    /// # Errors
    /// They are out of bounds, or the device fails, also in earlier work.
    pub(crate) fn read(&self, first: usize, numbers: &mut [T]) -> Result<()> {
        let at = self.part(first, numbers.len())?;
        // SAFETY: inside this allocation.
        unsafe { self.driver.to_host(at, bytes_mut(numbers)) }
    }
    /// Sets every byte to zero.
    ///
    /// # Errors
    /// The device fails.
    pub(crate) fn zero(&mut self) -> Result<()> {
        // SAFETY: this allocation.
        unsafe { self.driver.fill(self.at, 0, self.len * size_of::<T>()) }
    }
    /// Returns a copy.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    pub(crate) fn copied(&self) -> Result<Buffer<T>> {
        let to = Buffer::new(&self.driver, self.len)?;
        // SAFETY: two allocations of this length.
        unsafe { self.driver.copy(self.at, to.at, self.len * size_of::<T>()) }?;
        Ok(to)
    }
}

impl<T: Plain> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this many bytes; later uses would need the buffer.
        unsafe { self.driver.free(self.at, (self.len * size_of::<T>()).max(1)) }
    }
}

impl<T: Plain> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} numbers of {} bytes at {:#x}", self.len, size_of::<T>(), self.at)
    }
}

/// Lists of numbers that are copied to the device in one piece.
#[derive(Default)]
pub(crate) struct Packed {
    bytes: Vec<u8>,
}

impl Packed {
    /// Adds a list, and returns its offset in bytes from the beginning of the piece: a multiple of
    /// 256, as for an allocation of its own.
    pub(crate) fn push<T: Plain>(&mut self, numbers: &[T]) -> u64 {
        let start = self.bytes.len().next_multiple_of(256);
        self.bytes.resize(start, 0);
        self.bytes.extend_from_slice(bytes(numbers));
        start as u64
    }
    /// Copies all lists to the device.
    ///
    /// # Errors
    /// The memory does not suffice, or the device fails.
    pub(crate) fn upload(&self, driver: &Arc<dyn Driver>) -> Result<Buffer<u8>> {
        Buffer::from_slice(driver, &self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::devices;

    #[test]
    fn numbers_go_there_and_back() {
        for device in devices() {
            let mut buffer = Buffer::from_slice(&device, &[1.5, -2.0, 3.0, 4.0]).unwrap();
            buffer.write(2, &[7.0]).unwrap();
            let copy = buffer.copied().unwrap();
            buffer.zero().unwrap();
            let read = |from: &Buffer<f64>| {
                let mut out = [1.0; 4];
                from.read(0, &mut out).unwrap();
                out
            };
            assert_eq!(read(&copy), [1.5, -2.0, 7.0, 4.0]);
            assert_eq!(read(&buffer), [0.0; 4]);
            let mut part = [0.0];
            copy.read(3, &mut part).unwrap();
            assert_eq!(part, [4.0]);
        }
    }

    #[test]
    fn what_lies_outside_is_refused() {
        for device in devices() {
            let mut buffer = Buffer::<u32>::from_slice(&device, &[1, 2, 3]).unwrap();
            assert_eq!(
                buffer.write(2, &[0, 0]).unwrap_err().to_string(),
                "2 numbers from 2 of a buffer of 3"
            );
            assert!(buffer.read(usize::MAX, &mut [0]).is_err());
            assert!(Buffer::<u64>::new(&device, usize::MAX).is_err());
        }
    }

    #[test]
    fn packed_lists_start_as_memory_of_their_own() {
        for device in devices() {
            let mut packed = Packed::default();
            let starts = [
                packed.push(&[1u32, 2, 3]),
                packed.push(&[4.0f64]),
                packed.push::<u8>(&[]),
                packed.push(&[5u32]),
            ];
            assert_eq!(starts, [0, 256, 512, 512]);
            let buffer = packed.upload(&device).unwrap();
            let mut bytes = vec![0; buffer.len()];
            buffer.read(0, &mut bytes).unwrap();
            let at = |start: usize, len: usize| &bytes[start..start + len];
            assert_eq!(
                (bytes.len(), at(256, 8), at(512, 4)),
                (516, &4f64.to_ne_bytes()[..], &5u32.to_ne_bytes()[..])
            );
        }
    }
}
