//! Registration: the table that a plugin receives, and the items that it adds through it.
#![expect(unsafe_code, reason = "the host's table is called from C")]

use std::{
    ffi::c_void,
    panic::{AssertUnwindSafe, catch_unwind},
    ptr,
};

use ketgrad_core::kernel::Threads;
use ketgrad_plugin_abi::{self as abi, Backend, Body, Err, Host, Rule, Status, Str};

use crate::{
    border::{answer, asked, copied, text},
    call::Callee,
    error::Fault,
    library::Library,
};

/// Rule as a plugin registered it.
pub(crate) struct RawRule {
    pub(crate) raw: Rule,
    /// Callee of its functions, for messages.
    pub(crate) callee: Callee,
    pub(crate) name: String,
    pub(crate) signature: String,
    pub(crate) program: String,
}

/// Backend as a plugin registered it.
pub(crate) struct RawBackend {
    pub(crate) raw: Backend,
    /// Callee of its functions, for messages.
    pub(crate) callee: Callee,
    pub(crate) name: String,
}

// SAFETY: what a plugin adds may be called from any thread, says the interface.
unsafe impl Send for RawRule {}
// SAFETY: what a plugin adds may be called from several threads at once, says the interface.
unsafe impl Sync for RawRule {}
// SAFETY: what a plugin adds may be called from any thread, says the interface.
unsafe impl Send for RawBackend {}
// SAFETY: what a plugin adds may be called from several threads at once, says the interface.
unsafe impl Sync for RawBackend {}

impl Drop for RawRule {
    fn drop(&mut self) {
        if let Some(drop_user) = self.raw.drop_user {
            // SAFETY: the rule goes away, so this is the last call with its `user`.
            self.callee.call(|| unsafe { drop_user(self.raw.user) });
        }
    }
}
impl Drop for RawBackend {
    fn drop(&mut self) {
        if let Some(drop_user) = self.raw.drop_user {
            // SAFETY: the backend goes away, so this is the last call with its `user`.
            self.callee.call(|| unsafe { drop_user(self.raw.user) });
        }
    }
}

/// Rules, backends and notes that a plugin has added so far.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) rules: Vec<RawRule>,
    pub(crate) backends: Vec<RawBackend>,
    pub(crate) notes: Vec<String>,
    /// Name of the plugin.
    plugin: String,
    options: Vec<(String, String)>,
}

impl Collected {
    /// Notes on what was handed over and is never freed.
    pub(crate) fn leftovers(&self) -> Vec<String> {
        let rules =
            self.rules.iter().map(|r| ("rule", &r.name, r.raw.user, r.raw.drop_user.is_some()));
        let kernels = self
            .backends
            .iter()
            .map(|b| ("kernel", &b.name, b.raw.user, b.raw.drop_user.is_some()));
        let kept = rules.chain(kernels).filter(|(_, _, user, freed)| !user.is_null() && !freed);
        let said = |(what, name, ..): (&str, &String, _, _)| {
            format!(
                "{what} `{name}` has a `user` and no `drop_user`: nobody frees it, which is right for a constant alone"
            )
        };
        kept.map(said).collect()
    }
}

/// Runs a plugin's registration. If it fails, none of its items is kept.
pub(crate) fn init(
    plugin: &str,
    library: &Library,
    options: &[(String, String)],
    threads: &Threads,
) -> Result<Collected, Fault> {
    let Some(init) = library.desc.init else {
        return Err(Fault::Init { reason: "it has no `init`".to_owned() });
    };
    let mut collected =
        Collected { plugin: plugin.to_owned(), options: options.to_vec(), ..Collected::default() };
    let host = Host {
        struct_size: size_of::<Host>() as u32,
        major: abi::MAJOR,
        minor: abi::MINOR,
        threads: u32::try_from(threads.count()).unwrap_or(u32::MAX),
        ctx: ptr::from_mut(&mut collected).cast(),
        log: Some(log),
        option: Some(option),
        add_rule: Some(add_rule),
        add_backend: Some(add_backend),
        parallel_for: None,
        get_extension: Some(get_extension),
    };
    let callee = Callee::plugin(plugin, "its registration");
    // SAFETY: the table and what its `ctx` points to outlive the call; nothing else touches
    // `collected` meanwhile.
    let result = asked(&callee, |err| unsafe { init(&host, err) });
    match result {
        Ok(()) => Ok(collected),
        // Dropping what was collected hands it back to the plugin.
        Err(reason) => Err(Fault::Init { reason }),
    }
}

/// # Safety
/// `ctx` is that of the table in [`init`], and this is a call during it.
unsafe fn collected<'a>(ctx: *mut c_void) -> &'a mut Collected {
    // SAFETY: the caller promises that `ctx` is of the table; a plugin registers from one thread,
    // so this is the only reference.
    unsafe { &mut *ctx.cast::<Collected>() }
}

unsafe extern "C" fn log(ctx: *mut c_void, level: u32, said: Str) {
    // SAFETY: a plugin calls the table of `init` during it, with its `ctx` and texts that can be
    // read.
    let (to, said) = unsafe { (collected(ctx), text(&said)) };
    let what = match level {
        abi::LOG_ERROR => "error: ",
        abi::LOG_WARN => "warning: ",
        _ => "",
    };
    to.notes.push(format!("{what}{}", said.unwrap_or_else(|e| e)));
}

unsafe extern "C" fn option(ctx: *mut c_void, key: Str, value: *mut Str) -> Status {
    // SAFETY: a plugin calls the table of `init` during it, with its `ctx` and a text that can be
    // read.
    let (to, key) = unsafe { (collected(ctx), text(&key)) };
    let found = key.ok().and_then(|key| to.options.iter().find(|o| o.0 == key));
    // SAFETY: the plugin gives a place for the value; the text lives as long as `init`.
    match (found, unsafe { value.as_mut() }) {
        (Some((_, text)), Some(value)) => {
            *value = Str::new(text);
            abi::OK
        }
        _ => abi::UNSUPPORTED,
    }
}

/// Smallest size of a rule: up to `user`. Missing functions after it are null.
const RULE_LEAST: usize = std::mem::offset_of!(Rule, infer);
/// Smallest size of a backend.
const BACKEND_LEAST: usize = std::mem::offset_of!(Backend, score);

unsafe extern "C" fn add_rule(ctx: *mut c_void, rule: *const Rule, err: *mut Err) -> Status {
    let result = || -> Result<(), String> {
        if rule.is_null() {
            return Err("a rule that is null".to_owned());
        }
        // SAFETY: the plugin hands over a rule that begins with its size, and texts that can be
        // read. Zero bytes are null slots.
        let raw = unsafe { copied(rule, 0, RULE_LEAST) };
        let raw: Rule = raw
            .map_err(|given| format!("a rule of {given} bytes; expected at least {RULE_LEAST}"))?;
        // SAFETY: the plugin hands over texts that can be read.
        let [name, signature, program] =
            unsafe { [text(&raw.name), text(&raw.signature), text(&raw.program)] };
        // Until it is pushed, the plugin keeps its `user`.
        let (name, signature, program) = (name?, signature?, program?);
        // SAFETY: a plugin calls the table of `init` during it, with its `ctx`.
        let to = unsafe { collected(ctx) };
        let callee = Callee::for_item(&to.plugin, "rule", &name);
        to.rules.push(RawRule { raw, callee, name, signature, program });
        Ok(())
    };
    // SAFETY: `err` is the plugin's buffer.
    unsafe { answer(err, result()) }
}

unsafe extern "C" fn add_backend(
    ctx: *mut c_void,
    backend: *const Backend,
    err: *mut Err,
) -> Status {
    let result = || -> Result<(), String> {
        if backend.is_null() {
            return Err("a backend that is null".to_owned());
        }
        // SAFETY: the plugin hands over a backend that begins with its size. Zero bytes are null
        // slots.
        let raw = unsafe { copied(backend, 0, BACKEND_LEAST) };
        let raw: Backend = raw.map_err(|given| {
            format!("a backend of {given} bytes; expected at least {BACKEND_LEAST}")
        })?;
        // SAFETY: the plugin hands over a name that can be read.
        let name = unsafe { text(&raw.name) }?;
        // SAFETY: a plugin calls the table of `init` during it, with its `ctx`.
        let to = unsafe { collected(ctx) };
        let callee = Callee::for_item(&to.plugin, "kernel", &name);
        to.backends.push(RawBackend { raw, callee, name });
        Ok(())
    };
    // SAFETY: `err` is the plugin's buffer.
    unsafe { answer(err, result()) }
}

unsafe extern "C" fn get_extension(_: *mut c_void, _: Str) -> *const c_void {
    ptr::null()
}

// While kernels run.

/// Thread pool that a kernel may use, and the callee of the kernel.
pub(crate) struct Pool<'a> {
    pub(crate) threads: &'a Threads,
    pub(crate) callee: &'a Callee,
}

/// Returns the table that kernels receive: threads, and no registration.
pub(crate) fn running(pool: &Pool<'_>) -> Host {
    Host {
        struct_size: size_of::<Host>() as u32,
        major: abi::MAJOR,
        minor: abi::MINOR,
        threads: u32::try_from(pool.threads.count()).unwrap_or(u32::MAX),
        ctx: ptr::from_ref(pool).cast_mut().cast(),
        log: None,
        option: None,
        add_rule: None,
        add_backend: None,
        parallel_for: Some(parallel_for),
        get_extension: Some(get_extension),
    }
}

/// Pointer that may be sent between threads.
#[derive(Clone, Copy)]
struct Shared(*mut c_void);
// SAFETY: a plugin's loop body may be called from several threads at once.
unsafe impl Send for Shared {}
// SAFETY: a plugin's loop body may be called from several threads at once.
unsafe impl Sync for Shared {}
impl Shared {
    fn get(self) -> *mut c_void {
        self.0
    }
}

unsafe extern "C" fn parallel_for(
    ctx: *mut c_void,
    count: usize,
    grain: usize,
    body: Option<Body>,
    user: *mut c_void,
) -> Status {
    let Some(body) = body else { return abi::INVALID };
    // SAFETY: the `ctx` of `running` is the pool, which outlives the call.
    let pool = unsafe { &*ctx.cast::<Pool<'_>>() };
    let grain = grain.max(1);
    let user = Shared(user);
    let part = |k: usize| {
        let from = k * grain;
        // SAFETY: the plugin's body takes its `user` and parts of `0..count`, from any thread.
        pool.callee.call(|| unsafe { body(user.get(), from, (from + grain).min(count)) })
    };
    let parts = count.div_ceil(grain);
    let run = catch_unwind(AssertUnwindSafe(|| pool.threads.map(parts, part)));
    match run {
        Ok(all) => all.into_iter().find(|s| *s != abi::OK).unwrap_or(abi::OK),
        Err(payload) => {
            std::mem::forget(payload);
            abi::PANIC
        }
    }
}
