//! Calls of a plugin's code: they record the callee, for a signal handler or the deadline, and
//! restore the processor's modes.
//!
//! A function of a plugin may leave the processor in another mode: rounding up, or flushing
//! denormal numbers to zero, as code built for speed does. All later results of the host would be
//! wrong, so control words are read before and after each call, and restored if they differ. That
//! costs two reads of a register; writing one is slow and rare.
#![expect(unsafe_code, reason = "the processor's control words")]

use std::{
    cell::Cell,
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

/// Plugin, and rule or kernel, whose code is called.
pub(crate) struct Callee {
    /// Description: "plugin `a`, rule `b`".
    words: Box<str>,
    /// True if a call has returned with another floating-point mode.
    changes_modes: AtomicBool,
}

thread_local! {
    /// Callee whose code this thread runs. Without a destructor, so that it can be read at any
    /// time, also while a thread ends or a signal is handled.
    static CURRENT: Cell<*const Callee> = const { Cell::new(ptr::null()) };
}

impl Callee {
    /// Callee for loading a plugin, or a part of it.
    pub(crate) fn plugin(plugin: &str, what: &str) -> Callee {
        Callee::new(format!("plugin `{plugin}`, {what}"))
    }

    /// Callee for a rule or kernel of a plugin.
    pub(crate) fn for_item(plugin: &str, what: &str, name: &str) -> Callee {
        Callee::new(format!("plugin `{plugin}`, {what} `{name}`"))
    }

    fn new(words: String) -> Callee {
        Callee { words: words.into(), changes_modes: AtomicBool::new(false) }
    }

    /// Calls its code, and restores the modes.
    #[inline]
    pub(crate) fn call<R>(&self, code: impl FnOnce() -> R) -> R {
        let outer = CURRENT.replace(self);
        let modes = Modes::now();
        let result = code();
        if modes.put_back() {
            self.changes_modes.store(true, Ordering::Relaxed);
        }
        CURRENT.set(outer);
        result
    }

    /// Returns true if a call has returned with another floating-point mode so far.
    pub(crate) fn changes_modes(&self) -> bool {
        self.changes_modes.load(Ordering::Relaxed)
    }
}

/// Returns the description of the callee that this thread runs, valid while that call lasts. Safe
/// in a signal handler.
#[cfg_attr(not(unix), allow(dead_code, reason = "there is no handler"))]
pub(crate) fn current() -> Option<*const str> {
    let callee = CURRENT.get();
    // SAFETY: the caller of a plugin's code borrows the callee until the call returns.
    (!callee.is_null()).then(|| unsafe { ptr::from_ref(&*(*callee).words) })
}

/// Note on a rule or kernel whose calls return with another mode.
pub(crate) fn changes_modes(what: &str, name: &str) -> String {
    format!(
        "warning: {what} `{name}` leaves the processor in another floating-point mode (rounding, denormal numbers); it \
         is put back after each call"
    )
}

/// Floating-point modes of the processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Modes {
    /// MXCSR: rounding, flushing denormals, and which exceptions trap.
    #[cfg(target_arch = "x86_64")]
    vector: u32,
    /// The control word of the x87 unit: rounding and precision of `long double`.
    #[cfg(target_arch = "x86_64")]
    x87: u16,
    /// FPCR.
    #[cfg(target_arch = "aarch64")]
    fpcr: u64,
}

impl Modes {
    #[cfg(target_arch = "x86_64")]
    #[inline]
    fn now() -> Modes {
        /// Mask of the bits of MXCSR that are modes; the others are flags of past events.
        const CONTROL: u32 = 0xffc0;
        let (mut vector, mut x87) = (0u32, 0u16);
        // SAFETY: stores two control words where they fit; every x86-64 processor has them.
        unsafe {
            std::arch::asm!(
                "stmxcsr [{vector}]",
                "fnstcw [{x87}]",
                vector = in(reg) &raw mut vector,
                x87 = in(reg) &raw mut x87,
                options(nostack, preserves_flags),
            );
        }
        Modes { vector: vector & CONTROL, x87 }
    }

    #[cfg(target_arch = "x86_64")]
    #[cold]
    fn set(self) {
        // SAFETY: loads what the processor itself stored, without its flags.
        unsafe {
            std::arch::asm!(
                "ldmxcsr [{vector}]",
                "fldcw [{x87}]",
                vector = in(reg) &raw const self.vector,
                x87 = in(reg) &raw const self.x87,
                options(nostack, preserves_flags, readonly),
            );
        }
    }

    #[cfg(target_arch = "aarch64")]
    #[inline]
    fn now() -> Modes {
        let fpcr: u64;
        // SAFETY: reads a control register that every such processor has.
        unsafe {
            std::arch::asm!("mrs {}, fpcr", out(reg) fpcr, options(nomem, nostack, preserves_flags))
        };
        Modes { fpcr }
    }

    #[cfg(target_arch = "aarch64")]
    #[cold]
    fn set(self) {
        // SAFETY: writes what was read there.
        unsafe {
            std::arch::asm!("msr fpcr, {}", in(reg) self.fpcr, options(nomem, nostack, preserves_flags))
        };
    }

    /// Reads no modes: on other processors they are left alone.
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    #[inline]
    fn now() -> Modes {
        Modes {}
    }

    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    fn set(self) {}

    /// Restores the modes if they differ now, and returns true if they did.
    #[inline]
    fn put_back(self) -> bool {
        let changed = Modes::now() != self;
        if changed {
            self.set();
        }
        changed
    }
}
