//! Seeds in a process of their own, so that an abort, a hang and a hunger for memory are findings
//! like others.
//!
//! The parent starts itself with `--child`; the child says on stdout which seed it is at and what
//! it finds, a line each. A child that dies, or is silent for longer than the limit, is a finding
//! of the seed that it was at.

use std::{
    io::{BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use crate::finding::{Check, Finding};

/// The memory of a child, in KiB of address space.
const MEMORY: u64 = 6 << 20;

/// Bytes of a child's stderr that are told: an overflowed stack or a lack of
/// memory in words.
const LAST_WORDS: usize = 400;

/// The longest time for one seed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// Runs seeds and says so; the child's side.
pub(crate) fn serve(check: Check, seeds: std::ops::Range<u64>) {
    let mut out = std::io::stdout().lock();
    let mut tell = |line: String| {
        // A parent that is gone needs nothing more.
        if writeln!(out, "{line}").and_then(|()| out.flush()).is_err() {
            std::process::exit(0);
        }
    };
    for seed in seeds {
        tell(format!("at {seed}"));
        if let Err(found) = crate::finding::guarded(&format!("seed {seed}"), || check(seed)) {
            let parts = [found.law, found.detail, found.input];
            tell(format!("found {}", parts.map(|part| part.escape_debug().to_string()).join("\t")));
        }
    }
    tell("done".to_owned());
}

/// Runs seeds of a target in a child and calls `report` with each finding and its seed.
///
/// Gives the seed to go on with: the end, or the one after a seed that killed its child.
pub(crate) fn watch(
    target: &str,
    seeds: std::ops::Range<u64>,
    until: Instant,
    report: &mut dyn FnMut(u64, Finding),
) -> std::io::Result<u64> {
    let mut child = start(target, &seeds)?;
    let (sender, lines) = channel();
    if let Some(out) = child.stdout.take() {
        thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    let words = child.stderr.take().map(|err| thread::spawn(move || last_words(err)));
    let told = |detail: String| match words.and_then(|words| words.join().ok()) {
        Some(words) if !words.is_empty() => format!("{detail}: {words}"),
        _ => detail,
    };
    let (mut seed, mut since) = (seeds.start, Instant::now());
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) if line == "done" => {
                child.wait()?;
                return Ok(seeds.end);
            }
            Ok(line) => {
                if let Some(at) = line.strip_prefix("at ").and_then(|at| at.parse().ok()) {
                    (seed, since) = (at, Instant::now());
                } else if let Some(found) = line.strip_prefix("found ") {
                    let mut parts = found.split('\t').map(unescaped);
                    let mut part = || parts.next().unwrap_or_default();
                    report(seed, Finding { law: part(), detail: part(), input: part() });
                }
            }
            Err(RecvTimeoutError::Disconnected) => {
                let status = child.wait()?;
                let detail = told(format!("the process ended with {status}"));
                report(seed, Finding::new("no abort", detail, "run the seed by itself"));
                return Ok(seed + 1);
            }
            Err(RecvTimeoutError::Timeout) if since.elapsed() > PATIENCE => {
                let detail = format!("no result after {} s", since.elapsed().as_secs());
                stop(child)?;
                report(seed, Finding::new("no hang", told(detail), "run the seed by itself"));
                return Ok(seed + 1);
            }
            Err(RecvTimeoutError::Timeout) if Instant::now() > until => {
                stop(child)?;
                return Ok(seed);
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

/// The end of what is written, on one line.
fn last_words(mut from: impl Read) -> String {
    let (mut last, mut chunk) = (Vec::new(), [0; LAST_WORDS]);
    while let Ok(n @ 1..) = from.read(&mut chunk) {
        last.extend_from_slice(&chunk[..n]);
        last.drain(..last.len().saturating_sub(LAST_WORDS));
    }
    String::from_utf8_lossy(&last).split_whitespace().collect::<Vec<_>>().join(" ")
}

fn stop(mut child: Child) -> std::io::Result<()> {
    child.kill()?;
    child.wait().map(|_| ())
}

fn start(target: &str, seeds: &std::ops::Range<u64>) -> std::io::Result<Child> {
    let own = std::env::current_exe()?;
    let mut command = if cfg!(unix) {
        let mut shell = Command::new("sh");
        shell
            .args(["-c", "ulimit -v \"$1\"; shift; exec \"$@\"", "sh", &MEMORY.to_string()])
            .arg(own);
        shell
    } else {
        Command::new(own)
    };
    let (first, count) = (seeds.start.to_string(), (seeds.end - seeds.start).to_string());
    command.args(["--child", target, &first, &count]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()
}

/// The inverse of `str::escape_debug`.
fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some('0') => out.push('\0'),
            Some('u') => {
                let digits: String = chars.by_ref().skip(1).take_while(|c| *c != '}').collect();
                out.extend(u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_end_of_stderr_is_kept() {
        let text = "x".repeat(1000) + "\nmemory allocation of 9 bytes failed\n";
        let kept = super::last_words(text.as_bytes());
        assert!(
            kept.len() < 400 && kept.ends_with("x memory allocation of 9 bytes failed"),
            "{kept}"
        );
        assert_eq!(super::last_words("".as_bytes()), "");
    }

    #[test]
    fn what_is_escaped_comes_back() {
        let text = "a\tb\n\\ \"x\" \u{7} é '\0";
        assert_eq!(super::unescaped(&text.escape_debug().to_string()), text);
    }
}
