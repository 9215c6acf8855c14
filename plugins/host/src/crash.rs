//! Reports on a process that ends inside a plugin.
//!
//! A mistake of a library may be a signal (a wild pointer, a division by zero, `abort`, a stack
//! overflow), and a library may call `exit`. Neither returns to the host, so the user would see a
//! process that ended, perhaps with status 0, and no message. On request, this module writes a line
//! to the standard error with the plugin and the rule or kernel that the thread was in, and lets
//! the process end as it would have, but never with status 0.
//!
//! It cannot see `_exit` and a kill, which end a process without a last word, and a thread that a
//! plugin started itself, which is in no call.
#![cfg_attr(unix, expect(unsafe_code, reason = "handlers of signals"))]

/// Writes a line to the standard error if the process ends inside a plugin: by SIGSEGV, SIGBUS,
/// SIGFPE, SIGILL or SIGABRT, by `exit` or `quick_exit`. Handlers that were installed before are
/// called afterwards. Signal handlers belong to the whole process, so this is for programs, not for
/// libraries; one call is enough.
///
/// On systems other than Unix it does nothing.
pub fn report_on_stderr() {
    #[cfg(unix)]
    unix::report_on_stderr();
}

#[cfg(unix)]
mod unix {
    use std::{
        mem::MaybeUninit,
        sync::{
            Once, OnceLock,
            atomic::{AtomicBool, Ordering},
        },
        time::Duration,
    };

    use libc::{c_int, c_void, sigaction, siginfo_t};

    use crate::call::current;

    /// Exit status of a process that a plugin ends by `exit`: the plugin is at fault.
    const AT_FAULT: c_int = 1;

    /// How often [`at_exit`] is registered: the number of threads that may call `exit` at once. A C
    /// library without a lock around `exit` (glibc before 2.41) calls each registered function once
    /// for the whole process, so a second thread that finds none left would end the process with
    /// its own status, which may be 0, while the first still writes.
    const EXITS_AT_ONCE: usize = 1024;

    const SIGNALS: [(c_int, &str); 5] = [
        (libc::SIGSEGV, "it crashed (SIGSEGV)"),
        (libc::SIGBUS, "it crashed (SIGBUS)"),
        (libc::SIGFPE, "it crashed (SIGFPE)"),
        (libc::SIGILL, "it crashed (SIGILL)"),
        (libc::SIGABRT, "it aborted (SIGABRT)"),
    ];

    /// Handlers that were installed before. Written once, before the handlers are.
    static BEFORE: OnceLock<[sigaction; SIGNALS.len()]> = OnceLock::new();

    /// True if a thread writes the line, or did: one signal may lead to another.
    static SAID: AtomicBool = AtomicBool::new(false);

    /// True if the line was written.
    static WRITTEN: AtomicBool = AtomicBool::new(false);

    /// Milliseconds that a thread which ends the process waits for the line of another one.
    const PATIENCE: u32 = 1000;

    pub(super) fn report_on_stderr() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let before = SIGNALS.map(|(signal, _)| {
                let mut action = MaybeUninit::<sigaction>::zeroed();
                // SAFETY: asks for the action of a signal; all-zero bytes are an action.
                unsafe {
                    sigaction(signal, std::ptr::null(), action.as_mut_ptr());
                    action.assume_init()
                }
            });
            let _ = BEFORE.set(before);
            for (signal, _) in SIGNALS {
                // SAFETY: all-zero bytes are an action, with an empty mask.
                let mut action = unsafe { MaybeUninit::<sigaction>::zeroed().assume_init() };
                action.sa_sigaction = on_signal as *const () as usize;
                // On the stack that the standard library has for it: the thread's own may be what
                // overflowed.
                action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
                // SAFETY: the handler does nothing but what a handler may.
                unsafe { sigaction(signal, &raw const action, std::ptr::null_mut()) };
            }
            for _ in 0..EXITS_AT_ONCE {
                // SAFETY: the functions stay for ever.
                unsafe {
                    libc::atexit(at_exit);
                    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
                    at_quick_exit(at_exit);
                }
            }
        });
    }

    #[cfg(any(target_os = "linux", target_os = "freebsd"))]
    unsafe extern "C" {
        fn at_quick_exit(function: extern "C" fn()) -> c_int;
    }

    extern "C" fn on_signal(signal: c_int, info: *mut siginfo_t, _: *mut c_void) {
        let known = SIGNALS.iter().position(|(known, _)| *known == signal);
        let Some((k, before)) = known.zip(BEFORE.get()) else { return };
        say(SIGNALS[k].1);
        // SAFETY: restores the former handlers. A fault occurs again afterwards, and reaches the
        // handler that it would have reached without us. A signal that was sent does not: it is
        // raised again, for the system's default action, since a handler that inspects addresses
        // would find none.
        unsafe {
            let sent = info.is_null() || (*info).si_code <= 0;
            if sent {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            } else {
                sigaction(signal, &raw const before[k], std::ptr::null_mut());
            }
        }
    }

    extern "C" fn at_exit() {
        if say("it ended the process") {
            // Another thread may be about to write.
            for _ in 0..PATIENCE {
                if WRITTEN.load(Ordering::Acquire) {
                    break;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            // SAFETY: ends the process.
            unsafe { libc::_exit(AT_FAULT) }
        }
    }

    /// Writes the callee of this thread and the event; returns true if the thread is in a call.
    /// Uses only functions that are safe in a signal handler.
    fn say(what: &str) -> bool {
        let Some(callee) = current() else { return false };
        if SAID.swap(true, Ordering::Relaxed) {
            return true;
        }
        // SAFETY: this thread is in the call of that callee.
        let callee = unsafe { &*callee };
        // In one piece, as far as that goes: other threads may write, too.
        let mut line = [0u8; 512];
        let mut len = 0;
        for part in ["ketgrad: ", callee, ": ", what] {
            let n = part.len().min(line.len() - 1 - len);
            line[len..len + n].copy_from_slice(&part.as_bytes()[..n]);
            len += n;
        }
        line[len] = b'\n';
        // SAFETY: the bytes are ours.
        unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), len + 1) };
        WRITTEN.store(true, Ordering::Release);
        true
    }
}
