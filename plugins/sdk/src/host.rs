//! Services of the host for a plugin.

use ketgrad_plugin_abi as abi;

use crate::{
    backend::HostKernels,
    device::DeviceKernels,
    error::{Error, Result},
    glue,
    rule::RuleDef,
    services,
};

/// Registrar of a plugin's rules, kernels and devices.
#[derive(Debug)]
pub struct Registrar<'h> {
    pub(crate) host: &'h abi::Host,
}

impl Registrar<'_> {
    /// Adds a rule.
    ///
    /// # Errors
    /// The name is taken, or the program or the signature is invalid.
    pub fn rule(&mut self, rule: RuleDef) -> Result<()> {
        glue::add_rule(self.host, rule)
    }
    /// Adds kernels for states.
    ///
    /// # Errors
    /// The name is taken.
    pub fn kernels(&mut self, kernels: impl HostKernels) -> Result<()> {
        glue::add_kernels(self.host, kernels)
    }
    /// Adds a device with memory of its own.
    ///
    /// # Errors
    /// The name is taken, or the device has no precision.
    pub fn device(&mut self, device: impl DeviceKernels) -> Result<()> {
        glue::device::add_device(self.host, device)
    }
    /// Returns an option from `[plugin.options]` of the config.
    #[must_use]
    pub fn option(&self, key: &str) -> Option<String> {
        services::option(self.host, key)
    }
    /// Prints a line for people, through the host.
    pub fn info(&self, text: &str) {
        services::log(self.host, abi::LOG_INFO, text);
    }
    /// Prints a warning for people, through the host.
    pub fn warn(&self, text: &str) {
        services::log(self.host, abi::LOG_WARN, text);
    }
}

/// Thread pool of the host. A plugin must not bring its own.
#[derive(Clone, Copy, Debug)]
pub struct Par<'h> {
    pub(crate) host: Option<&'h abi::Host>,
}

impl Par<'_> {
    /// Pool without threads.
    #[must_use]
    pub fn serial() -> Par<'static> {
        Par { host: None }
    }
    /// Number of threads.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.host.map_or(1, |h| h.threads.max(1) as usize)
    }
    /// Calls `body(from, to)` for parts of `0..count` of about `grain`, on all threads, and waits.
    ///
    /// # Errors
    /// A call of `body` panicked.
    pub fn run(
        &self,
        count: usize,
        grain: usize,
        body: impl Fn(usize, usize) + Sync,
    ) -> Result<()> {
        match self.host {
            Some(host) if count > grain && self.threads() > 1 => {
                services::parallel(host, count, grain, &body)
            }
            _ => {
                body(0, count);
                Ok(())
            }
        }
    }
    /// Calls `body(start, part)` for the parts of a slice of `chunk` elements each, on all threads,
    /// and waits.
    ///
    /// # Errors
    /// A call of `body` panicked.
    pub fn chunks_mut<T: Send>(
        &self,
        all: &mut [T],
        chunk: usize,
        body: impl Fn(usize, &mut [T]) + Sync,
    ) -> Result<()> {
        if chunk == 0 {
            return Err(Error::new("parts of 0 elements"));
        }
        let parts = services::DisjointChunks::new(all, chunk);
        self.run(parts.count(), 1, |from, to| {
            (from..to).for_each(|k| parts.with(k, |start, part| body(start, part)));
        })
    }
}
