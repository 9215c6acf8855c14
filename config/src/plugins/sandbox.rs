//! `plugins verify --sandboxed`: each plugin in a process of its own, with limits.
//!
//! The process that was started loads nothing. For each plugin of the config, in the order of
//! loading, it starts itself again with a [`SandboxTask`]: that process sets its limits, loads the
//! plugin after those that were right so far, compares what it brings, and writes what it found as
//! the last line of its standard output. A process that ends without that line, or not in time, is
//! one more finding about its plugin. A last process does the same for the rules that are programs
//! alone.
//!
//! The limits contain a plugin that crashes, loops or takes memory without end. They are no wall
//! against malice: it may read and write what the user may, and start processes and connections.

use std::{
    env,
    io::{self, Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};

use super::{
    found::{Found, Row},
    verify::{self, Part},
};
use crate::{
    options::Common,
    plugins_table::{PluginEntry, PluginsTable},
    report::{Failure, Status},
    terminal::{Answer, write_error},
};

/// The address space of a process, unless `--memory-limit` says otherwise: 4 GiB.
const MEMORY: u64 = 4 << 30;

/// The longest file that it may write: 1 GiB. Its copy of a library is one.
#[cfg(unix)]
const FILE: u64 = 1 << 30;

/// The most files that it may have open.
#[cfg(unix)]
const FILES: u64 = 1024;

/// Number of bytes of its standard output and error that are kept, the last ones.
const OUTPUT: usize = 16 << 20;
const ERRORS: usize = 64 << 10;

/// Time that its standard output is waited for once it has ended: processes that it has started may
/// hold that open.
const PATIENCE: Duration = Duration::from_secs(1);

/// Work of a process in the sandbox.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct SandboxTask {
    /// Prefix of the line with its answer. A plugin's own output does not have it.
    mark: String,
    /// Plugins that are not loaded.
    without: Vec<String>,
    /// The plugin that is compared; without one the rules of the config are.
    of: Option<String>,
    /// Bytes of address space.
    memory: u64,
    /// Seconds of processor time, of all threads together.
    seconds: u64,
}

/// Answer of a process.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Said {
    Found(Found),
    /// The input is at fault, as a message for people.
    Failed {
        is_usage: bool,
        message: String,
    },
}

/// Compares everything, each plugin in a process of its own that has so long.
pub(super) fn verify(limit: Duration, at: &[String], common: &Common) -> Result<Found, Failure> {
    if !cfg!(unix) {
        return Err(Failure::usage(
            "--sandboxed needs the limits of processes that Unix systems have",
        ));
    }
    let table = &common.plugins;
    let cores = thread::available_parallelism().map_or(1, usize::from) as u64;
    let mut task = SandboxTask {
        mark: format!("ketgrad-found-{:x}:", std::process::id()),
        without: vec![],
        of: None,
        memory: common.memory_limit.unwrap_or(MEMORY),
        seconds: limit.as_secs().saturating_add(1).saturating_mul(cores),
    };
    let mut found =
        Found { owner: table.owner(), compared: Some(Default::default()), ..Found::default() };
    for entry in table.order() {
        let name = &entry.request.name;
        task.of = Some(name.clone());
        let part = run(&task, limit)?.unwrap_or_else(|reason| died(entry, reason));
        if part.plugins.iter().any(|row| !row.loaded) {
            task.without.push(name.clone());
        }
        found.join(part);
    }
    found.plugins.extend(verify::disabled(table));
    task.of = None;
    if !table.rules.is_empty() || !at.is_empty() {
        let part = run(&task, limit)?;
        let failed = |reason| Failure::input(format_args!("the rules of {}: {reason}", table.name));
        found.join(part.map_err(failed)?);
    }
    found.sort();
    Ok(found)
}

/// Returns the findings about a plugin whose process did not answer.
fn died(entry: &PluginEntry, reason: String) -> Found {
    let path = entry
        .request
        .candidates
        .iter()
        .find(|c| c.is_file())
        .map(|path| path.display().to_string());
    let row = Row { name: entry.request.name.clone(), path, reason, ..Row::default() };
    Found { plugins: vec![row], ..Found::default() }
}

/// Runs a task in another process, and returns its findings, or the reason for which there are
/// none.
fn run(task: &SandboxTask, limit: Duration) -> Result<Result<Found, String>, Failure> {
    let failed = |e: io::Error| {
        Failure::input(format_args!("no process can be started for the sandbox: {e}"))
    };
    let json = serde_json::to_string(task).map_err(|e| failed(e.into()))?;
    let mut command = Command::new(env::current_exe().map_err(failed)?);
    command.args(env::args_os().skip(1)).arg("--task").arg(json);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // To be ended with what it has started.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut child = command.spawn().map_err(failed)?;
    let (out, errors) = (tail(child.stdout.take(), OUTPUT), tail(child.stderr.take(), ERRORS));
    let status = wait(&mut child, limit).map_err(failed)?;
    let text = |end: Receiver<Vec<u8>>| end.recv_timeout(PATIENCE).unwrap_or_default();
    let (out, errors) = (text(out), text(errors));
    let out = String::from_utf8_lossy(&out);
    let answer = out.lines().rev().find_map(|line| line.strip_prefix(&task.mark));
    match answer.map(serde_json::from_str) {
        Some(Ok(Said::Found(found))) => Ok(Ok(found)),
        Some(Ok(Said::Failed { is_usage, message })) => {
            write_error(&message);
            let status = if is_usage { Status::Usage } else { Status::Input };
            Err(Failure { status, remarks: vec![], sources: vec![] })
        }
        Some(Err(_)) | None => Ok(Err(ended(status, limit, &String::from_utf8_lossy(&errors)))),
    }
}

/// Reason why there is no answer.
fn ended(status: Option<ExitStatus>, limit: Duration, errors: &str) -> String {
    let Some(how) = status else {
        return format!("in a process of its own it did not end within {} s", limit.as_secs_f64());
    };
    // The plugin that was called when it ended, or else its last words.
    let named = errors.lines().rev().find_map(|line| line.strip_prefix("ketgrad: "));
    match named.or_else(|| errors.lines().rev().find(|line| !line.trim().is_empty())) {
        Some(line) => format!("in a process of its own it gave no answer ({how}): {line}"),
        None => format!("in a process of its own it gave no answer ({how})"),
    }
}

/// Waits for the end of a process, so long at most; then it is ended, with all of its group.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let Some(left) = limit.checked_sub(start.elapsed()) else { break };
        thread::sleep(pause.min(left));
        pause = (2 * pause).min(Duration::from_millis(50));
    }
    #[cfg(unix)]
    // It is not waited for yet, so its number is its own.
    let _ = rustix::process::kill_process_group(
        rustix::process::Pid::from_child(child),
        rustix::process::Signal::KILL,
    );
    // One that has ended meanwhile cannot be ended.
    let _ = child.kill();
    child.wait()?;
    Ok(None)
}

/// Returns the last bytes of a stream once it ends, from a thread that reads all of it.
fn tail(stream: Option<impl Read + Send + 'static>, most: usize) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let Some(mut stream) = stream else { return };
        let (mut all, mut buffer) = (Vec::new(), vec![0; 1 << 16]);
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => break,
                Ok(n) => all.extend_from_slice(&buffer[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => break,
            }
            if all.len() > 2 * most {
                all.drain(..all.len() - most);
            }
        }
        all.drain(..all.len().saturating_sub(most));
        // Nobody may be waiting any more.
        let _ = sender.send(all);
    });
    receiver
}

// Inside.

/// Runs a task in this process.
pub(super) fn inside(
    task: &str,
    at: &[String],
    common: &Common,
) -> Result<Box<dyn Answer>, Failure> {
    let unread = |e| Failure::usage(format_args!("--task is for this program itself: {e}"));
    let task: SandboxTask = serde_json::from_str(task).map_err(unread)?;
    limits(&task)
        .map_err(|e| Failure::input(format_args!("the sandbox cannot set its limits: {e}")))?;
    let part = task.of.clone().map_or(Part::Rules, Part::Plugin);
    let said = match verify::verify(&some(&common.plugins, &task), &part, at) {
        Ok(found) => Said::Found(found),
        Err(failure) => Said::Failed {
            is_usage: failure.status == Status::Usage,
            message: failure.render(false),
        },
    };
    Ok(Box::new(Line { mark: task.mark, said }))
}

/// Returns the part of the config that is loaded: the plugins up to the one of the task, or all
/// with the rules that are programs.
fn some(table: &PluginsTable, task: &SandboxTask) -> PluginsTable {
    let mut some = table.clone();
    let order = table.order();
    let of = |name: &str| order.iter().position(|entry| entry.request.name == name);
    let last = task.of.as_deref().and_then(of);
    some.plugins.retain(|entry| {
        let name = &entry.request.name;
        !task.without.contains(name) && last.is_none_or(|last| of(name).is_some_and(|k| k <= last))
    });
    if task.of.is_some() {
        some.rules.clear();
    }
    some
}

struct Line {
    mark: String,
    said: Said,
}

impl Answer for Line {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        // A plugin may have left an unfinished line.
        write!(out, "\n{}", self.mark)?;
        serde_json::to_writer(&mut *out, &self.said)?;
        writeln!(out)
    }
}

/// Limits that nothing in this process can lift again.
#[cfg(unix)]
fn limits(task: &SandboxTask) -> io::Result<()> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let all = [
        (Resource::As, task.memory),
        (Resource::Cpu, task.seconds),
        (Resource::Fsize, FILE),
        (Resource::Nofile, FILES),
        (Resource::Core, 0),
    ];
    for (resource, most) in all {
        // A stricter limit stays.
        let most = getrlimit(resource).maximum.map_or(most, |before| before.min(most));
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?;
    }
    #[cfg(target_os = "linux")]
    {
        rustix::thread::set_no_new_privs(true)?;
        // The process that started it may be ended itself.
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
    }
    Ok(())
}

#[cfg(not(unix))]
fn limits(_: &SandboxTask) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}
