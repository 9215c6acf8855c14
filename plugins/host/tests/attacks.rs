//! Rules as data that are written to keep the host busy, or to fill its memory: each is loaded at
//! once, or refused in words.
//!
//! An attack runs in a thread of its own, one at a time, with a deadline and a bound on the memory
//! of the process. A rule that is loaded and never ends is stopped by the limits of the run that
//! calls it.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::{Duration, Instant},
};

use ketgrad_core::{
    exec::{Datum, Derivatives, DeriveError, Limits, RunError},
    text::parse_program_with,
};
use ketgrad_plugin_host::{Plugins, ProgramFault, Settings};

/// Time that an attack may take without optimization, with other tests beside it. With optimization
/// it takes a twentieth.
const DEADLINE: Duration = Duration::from_secs(60);

/// Bytes that the process may grow by; other tests run in it too.
const MEMORY: usize = 1 << 30;

/// Fate of a rule.
enum Fate {
    /// It is loaded: it is short, or takes too long to be compared.
    Loaded,
    /// It is refused with these words.
    Refused(&'static str),
}
use Fate::{Loaded, Refused};

/// The bytes of memory that the process has now; 0 where nobody says.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse::<usize>().ok());
    number.unwrap_or(0) << 10
}

/// Result of an attack, if it stays within time and memory.
fn survived<T: Send + 'static>(name: &str, attack: impl FnOnce() -> T + Send + 'static) -> T {
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    let (send, receive) = mpsc::channel();
    let (begin, before) = (Instant::now(), resident());
    thread::spawn(move || send.send(attack()));
    loop {
        let given = receive.recv_timeout(Duration::from_millis(10));
        assert!(
            resident().saturating_sub(before) < MEMORY,
            "{name} takes more than {} MiB",
            MEMORY >> 20
        );
        assert!(begin.elapsed() < DEADLINE, "{name} takes more than {} s", DEADLINE.as_secs());
        match given {
            Ok(given) => return given,
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Err(mpsc::RecvTimeoutError::Disconnected) => panic!("{name} panics"),
        }
    }
}

/// Loads a rule, with all that is checked then.
fn load(text: &str) -> Result<Plugins, ProgramFault> {
    let mut plugins = Plugins::new(Settings::default());
    plugins.add_program("an attacker", text)?;
    Ok(plugins)
}

fn try_all(attacks: Vec<(&'static str, String, Fate)>) {
    for (name, text, fate) in attacks {
        let result = survived(name, move || load(&text).map(drop));
        match (fate, result.map_err(|e| e.to_string())) {
            (Loaded, Ok(())) => {}
            (Refused(words), Err(said)) => {
                assert!(said.contains(words) && said.len() < 1000, "{name}: {said}");
            }
            (Loaded, Err(said)) => panic!("{name} is refused: {said}"),
            (Refused(words), Ok(())) => panic!("{name} is loaded, and not refused with {words:?}"),
        }
    }
}

fn lines(n: usize, line: impl Fn(usize) -> String) -> String {
    (0..n).map(line).collect()
}

/// `x` between `depth` copies of `before` and of `after`.
fn nested(before: &str, after: &str, depth: usize) -> String {
    format!("fn f(x) {{ {}x{} }}", before.repeat(depth), after.repeat(depth))
}

#[test]
fn what_never_ends_is_loaded_and_stopped_where_it_runs() {
    let loops = lines(6, |k| format!("for i{k} in 0..1000000 {{ "));
    let chain = |kind: &str| {
        let double = |k: usize| format!("fn f{}(x{kind}) {{ f{k}(f{k}(x)) }} ", k + 1);
        format!("fn f0(x{kind}) {{ 0.5 * x }} {} fn f(x{kind}) {{ f60(x) }}", lines(60, double))
    };
    let attacks = vec![
        ("a loop", "fn f(x) { let mut y = x; while y == y { y = 0.5 * y; } y }".to_owned()),
        ("loops in loops", format!("fn f(x) {{ let mut y = x; {loops} y = y + 1.0; {} y }}", "} ".repeat(6))),
        ("recursion", "fn f(x) { 1.0 + f(x + 1.0) }".to_owned()),
        (
            "calls that double",
            "fn fib(n: int) -> real { if n < 2 { 1.0 } else { fib(n - 1) + fib(n - 2) } } fn f(x) { x * fib(80) }".to_owned(),
        ),
        ("a chain of calls", chain("")),
        ("a chain of calls with arrays", chain(": array")),
        ("a loop that is slow", "fn f(x) { let mut y = x; for i in 0..90000000 { y = 0.999 * y; } y }".to_owned()),
        ("a loop of arrays", "fn f(x: array) { let mut y = x; for i in 0..900000000 { y = 0.999 * y; } y }".to_owned()),
        ("products", "fn f(x) { let mut a = full(x, [300, 300]); while x == x { a = matmul(a, a); } sum(a) }".to_owned()),
        ("memory", "fn f(x) { let mut a = [x, x]; for i in 0..60 { a = concat(a, a, 0); } sum(a) }".to_owned()),
        ("outer products", "fn f(x) { sum(full(x, [100000, 1]) * full(x, [1, 100000])) }".to_owned()),
        ("an array", "fn f(x) { sum([x; 1099511627776]) }".to_owned()),
        ("a constant array", "fn f(x) { x * sum(full(1.0, [1048576, 1048576])) }".to_owned()),
        ("random numbers", "fn f(x) { x * sum(rand(key(7), [1099511627776])) }".to_owned()),
    ];
    let few = Limits::new()
        .with_steps(1_000_000)
        .with_work(10_000_000)
        .with_memory(100 << 20)
        .with_depth(1000);
    for (name, text) in attacks {
        let error = survived(name, move || {
            let plugins = load(&text).unwrap();
            let program = parse_program_with("fn g(x) { f(x) }", plugins.rules());
            let program = program
                .or_else(|_| parse_program_with("fn g(x: array) { f(x) }", plugins.rules()))
                .unwrap();
            let array = program.functions[program.lookup("g").unwrap()].params[0].kind.to_string()
                != "real";
            let x = if array { Datum::reals([0.5, 0.25]) } else { Datum::Real(0.5) };
            let mut g = Derivatives::<f64>::new(&program, "g")
                .unwrap()
                .with_host(plugins.host())
                .with_limits(few);
            let value = g.value(std::slice::from_ref(&x)).map(drop).unwrap_err();
            let gradient = g.vjp(std::slice::from_ref(&x), x.clone()).map(drop).unwrap_err();
            (value, gradient)
        });
        for error in [error.0, error.1] {
            let DeriveError::Run(said) = &error else { panic!("{name}: {error}") };
            let limit = matches!(
                said,
                RunError::Steps { .. }
                    | RunError::Work { .. }
                    | RunError::Depth { .. }
                    | RunError::Memory { .. }
                    | RunError::Length { .. }
                    | RunError::Array { .. }
            );
            assert!(limit, "{name}: {error}");
        }
    }
}

/// Fast wherever it is compared, endless elsewhere.
#[test]
fn the_limits_of_the_caller_count_where_nothing_was_compared() {
    let value = "fn f(x) { let mut y = x; while y > 1000.0 { y = y * 2.0; } y }";
    let back = "rule f(x) { x * x }
        pullback(x, y, b) { let mut z = 2.0 * x * b; while x > 1000.0 { z = 0.5 * z; } z }";
    for text in [value, back] {
        let limits = Limits::new().with_steps(100_000);
        let (near, far) = survived(text, move || {
            let plugins = load(text).unwrap();
            let program = parse_program_with("fn g(x) { f(x) }", plugins.rules()).unwrap();
            let mut g = Derivatives::<f64>::new(&program, "g")
                .unwrap()
                .with_host(plugins.host())
                .with_limits(limits);
            (g.gradient(&[Datum::Real(3.0)]), g.gradient(&[Datum::Real(2000.0)]))
        });
        assert!(near.is_ok(), "{near:?}");
        assert!(
            matches!(far, Err(DeriveError::Run(RunError::Steps { limit: 100_000, .. }))),
            "{far:?}"
        );
    }
}

#[test]
fn derivatives_that_never_end_or_grow_for_ever() {
    let growing = |f: &str, n: usize| {
        format!(
            "fn g(x) {{ sin(x * exp(x)) }} fn f(x) {{ {}g{}(x) }}",
            format!("{f}(").repeat(n),
            ")".repeat(n)
        )
    };
    let tangents = lines(31, |k| {
        let of = if k == 0 { "g".to_owned() } else { format!("h{}", k - 1) };
        format!("fn h{k}(x) {{ jvp({of})(x, 1.0).1 }}\n")
    });
    let deep = format!("fn g(x) {{ sin(x * exp(x)) }} {tangents} fn f(x) {{ h30(x) }}");
    let large = "the instructions of derivatives are more than 200000";
    try_all(vec![
        ("gradients of gradients", growing("grad", 12), Refused(large)),
        ("gradients of gradients of gradients", growing("grad", 800), Refused(large)),
        ("tangents of tangents", deep, Refused(large)),
        (
            "a pullback",
            "rule f(x) { x * x } pullback(x, y, b) { let mut z = b; while z == z { z = 0.5 * z; } z }".into(),
            Loaded,
        ),
        (
            "a pushforward",
            "rule f(x) { x * x } pushforward(x, d) { let mut z = d; while z == z { z = 0.5 * z; } z }".into(),
            Loaded,
        ),
        (
            "a pullback with memory",
            "rule f(x) { x * x } pullback(x, y, b) { sum(full(b, [100000000])) }".into(),
            Refused("its pullback fails"),
        ),
    ]);
}

#[test]
fn texts_that_are_long_or_deep() {
    let deep = "nested more than 1000";
    let tokens = "more than 100000 tokens of text";
    try_all(vec![
        ("parentheses", nested("(", ")", 30_000), Refused(deep)),
        ("blocks", nested("{", "}", 30_000), Refused(deep)),
        ("tuples", nested("(", ",)", 30_000), Refused(deep)),
        ("arrays", nested("[", "]", 30_000), Refused(deep)),
        ("minus", nested("-", "", 30_000), Refused(deep)),
        ("calls", nested("sin(", ")", 30_000), Refused(deep)),
        ("methods", nested("", ".sin()", 24_000), Refused("nested more than 1100")),
        (
            "kinds",
            format!("fn f(x: {}real{}) {{ 1.0 }}", "(".repeat(9_000), ",)".repeat(9_000)),
            Refused(deep),
        ),
        ("a sum", nested("", " + x", 2_500_000), Refused(tokens)),
        (
            "a million lines",
            format!("fn f(x) {{ let mut y = x;\n{} y }}", "y = y + x;\n".repeat(1_000_000)),
            Refused(tokens),
        ),
        (
            "a comment",
            format!("fn f(x) {{ x }} {}", "// /* ".repeat(1_000_000)),
            Refused("more than 1048576 bytes of text"),
        ),
        (
            "an open comment",
            format!("/* fn f(x) {{ x }} {}", "/*".repeat(10_000)),
            Refused("comments start with `//`"),
        ),
        (
            "a name",
            format!("fn f(x) {{ {} }}", "a".repeat(900_000)),
            Refused("more than 2000 bytes in a name"),
        ),
        (
            "a number",
            format!("fn f(x) {{ x * 0.{} }}", "1".repeat(900_000)),
            Refused("more than 2000 digits in a number"),
        ),
        ("no tokens", "$".repeat(900_000), Refused("found `$`")),
        ("no functions", "fn ".repeat(300_000), Refused(tokens)),
    ]);
}

#[test]
fn texts_that_become_more_than_they_are() {
    let fields = vec!["x"; 1000].join(", ");
    let (set, sum) = (
        |k: usize| format!("v{k} = 2.0 * x; "),
        (0..1000).map(|k| format!("v{k}")).collect::<Vec<_>>().join(" + "),
    );
    let variables = lines(1000, |k| format!("let mut v{k} = x; "));
    let large = "more than 100000 instructions and operands";
    let of_arrays = |k: usize| format!("fn f{}(x: array) {{ f{k}(f{k}(x)) }}\n", k + 1);
    try_all(vec![
        (
            "a tuple",
            format!(
                "fn f(x) {{ let mut t = ({fields}); {} t.0 }}",
                lines(1000, |k| format!("t.{k} = x; "))
            ),
            Refused(large),
        ),
        (
            "tuples of a tuple",
            format!(
                "fn f(x) {{ let t = ({fields}); {} x }}",
                lines(1000, |k| format!("let a{k} = (t,); "))
            ),
            Refused(large),
        ),
        (
            "ways that meet",
            format!(
                "fn f(x) {{ {variables} {} {sum} }}",
                lines(1000, |k| format!("if x > {k}.0 {{ {} }} ", set(k)))
            ),
            Refused(large),
        ),
        (
            "ways out of a loop",
            format!(
                "fn f(x) {{ {variables} while x > 0.0 {{ {} {} }} {sum} }}",
                lines(1000, set),
                lines(1000, |k| format!("if x > {k}.0 {{ break; }} "))
            ),
            Refused(large),
        ),
        (
            "ways out of a function",
            format!(
                "fn f(x) {{ {variables} {} {sum} }}",
                lines(1000, |k| format!("if x > {k}.0 {{ return x; }} "))
            ),
            Refused(large),
        ),
        (
            "structs",
            format!(
                "struct S0 {{ }} {} fn f(s: S30) -> real {{ 1.0 }}",
                lines(30, |k| format!("struct S{} {{ a: S{k}, b: S{k} }}\n", k + 1))
            ),
            Refused("numbers in a struct: more than 10000"),
        ),
        ("functions", lines(4000, |k| format!("fn f{k}(x) {{ x * x }}\n")), Loaded),
        (
            "functions of functions",
            "fn f0(x: array) { x * x } ".to_owned() + &lines(2000, of_arrays),
            Loaded,
        ),
        (
            "calls of one",
            format!(
                "fn a(x) {{ x {} }} {}",
                "* x".repeat(190),
                lines(150, |k| format!("fn f{k}(x) {{ a(x) {} }}\n", "+ a(x)".repeat(100)))
            ),
            Loaded,
        ),
        (
            "lines",
            format!("fn f(x) {{ let mut y = x;\n{} y }}", "y = y * x + sin(y);\n".repeat(9_000)),
            Loaded,
        ),
        (
            "conditions",
            format!(
                "fn f(x) {{ {} {{ x }} }}",
                lines(3000, |k| format!("if x > {k}.0 {{ x }} else "))
            ),
            Loaded,
        ),
        (
            "shapes",
            {
                let line = "y = y * x;\n".repeat(6_000);
                let call = |k: usize| format!("let a{k} = g(full(0.0, [{k}]));\n");
                let calls = lines(800, call);
                let caller = |k: usize| format!("fn f{k}(x) {{ {calls} x }}\n");
                format!("fn g(x: array) {{ let mut y = x;\n{line} y }} {}", lines(4, caller))
            },
            Loaded,
        ),
        (
            "decompositions",
            format!(
                "fn f(x) {{ let mut y = x;\n{} y }}",
                "y = det([[y]]) + sum(eigvalsh([[y]]));\n".repeat(3_000)
            ),
            Loaded,
        ),
        ("parameters", format!("fn f({}) {{ a0 }}", lines(10_000, |k| format!("a{k},"))), Loaded),
        ("an array of many", format!("fn f(x) {{ sum([{}]) }}", "x, ".repeat(30_000)), Loaded),
        (
            "rules that are slow",
            lines(300, |k| {
                format!("fn f{k}(x) {{ let mut y = x; while y == y {{ y = 0.5 * y; }} y }}\n")
            }),
            Loaded,
        ),
    ]);
}
