//! Costs of plugins: a call of a rule over the same maths written inline, and loaded kernels
//! beside built-in ones.
//!
//! ```text
//! cargo build --release -p ketgrad-plugin-hostile -p ketgrad-plugin-qkernels
//! cargo run --release -p ketgrad-benches --bin plugins -- target/release [n=20]
//! ```
//! Both sides of a row take turns in one run; medians.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::{cell::RefCell, path::Path, time::Instant};

use ketgrad_core::{
    exec::{Bytecode, Datum, Executable, Limits, Machine},
    kernel::{Executor, Executors, Operator, Threads},
    matrix::Matrix,
    pass::{Level, optimize_all},
    text::parse_program_with,
};
use ketgrad_plugin_host::{Plugins, Request, Selection, Settings, file_name};
use num_complex::Complex;

type C = Complex<f64>;

/// Turns that each side gets.
const TURNS: usize = 61;

fn load(folder: &Path, name: &str, rules: Selection) -> Plugins {
    let candidates = vec![file_name(&folder.join(name))];
    let mut plugins = Plugins::new(Settings::default());
    plugins
        .load(
            &Request::default()
                .with_name(name.into())
                .with_candidates(candidates)
                .with_rules(rules)
                .with_priority(1),
        )
        .unwrap();
    plugins
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The medians of both, in turns.
fn both(mut first: impl FnMut(), mut second: impl FnMut()) -> (f64, f64) {
    let time = |f: &mut dyn FnMut()| {
        let start = Instant::now();
        f();
        start.elapsed().as_secs_f64()
    };
    let mut times = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        times.0.push(time(&mut first));
        times.1.push(time(&mut second));
    }
    (median(times.0), median(times.1))
}

fn rules(folder: &Path) {
    const CALLS: i64 = 200_000;
    let plugins = load(folder, "ketgrad_hostile", Selection::Only(vec!["cube".into()]));
    let host = plugins.host();
    let compiled = |body: &str| {
        let source = format!(
            "fn f(x, n: int) {{ let mut s = 0.0; for i in 0..n {{ s = 0.5 * {body} + 0.1; }} s }}"
        );
        // As `Derivatives` and the command line run programs.
        let mut program = parse_program_with(&source, plugins.rules()).unwrap();
        let f = program.lookup("f").unwrap();
        optimize_all(&mut program, f, Level::Strict);
        Bytecode::compile(&program, f).unwrap()
    };
    let (inline, rule) = (compiled("(s * s * s + x)"), compiled("(cube(s) + x)"));
    let args = [Datum::Real(0.3), Datum::Int(CALLS)];
    let run = |code: &Bytecode| {
        let mut machine = Machine::<f64>::new();
        code.call(&mut machine, &*host, &Limits::default(), &args).unwrap();
    };
    let (inline, rule) = both(|| run(&inline), || run(&rule));
    let each = |seconds: f64| seconds / CALLS as f64 * 1e9;
    println!(
        "rule    inline {:.1} ns, called {:.1} ns: {:.1} ns a call over inline maths",
        each(inline),
        each(rule),
        each(rule) - each(inline)
    );
}

fn kernels(folder: &Path, n: usize) {
    let (plugins, built_in) = (load(folder, "ketgrad_qkernels", Selection::All), Executors::fast());
    let executors = plugins.executors();
    let root = 0.5f64.sqrt();
    let i = |im| C::new(0.0, im);
    let h = Matrix::from_fn(1, |r, c| C::new(if r == 1 && c == 1 { -root } else { root }, 0.0));
    let rx = Matrix::from_fn(1, |r, c| if r == c { C::new(root, 0.0) } else { i(-root) });
    let threads = Threads::serial();
    for (name, matrix) in [("H", &h), ("RX", &rx)] {
        for target in [n / 4, n / 2, n - 2] {
            let operator = [Operator::new(matrix, &[target], &[]).unwrap()];
            // The same memory for both: which pages a state gets makes a difference of some
            // percent.
            let amplitudes = vec![C::new((0.5f64.powi(n as i32)).sqrt(), 0.0); 1 << n];
            let amplitudes = RefCell::new(amplitudes);
            let (ours, theirs) = (built_in.best::<C>(n, 1), executors.best::<C>(n, 1));
            let run = |e: &dyn Executor<C>| {
                let mut amplitudes = amplitudes.borrow_mut();
                (0..4).for_each(|_| e.run(&operator, &mut amplitudes, &threads).unwrap())
            };
            let (ours_time, theirs_time) = both(|| run(ours), || run(theirs));
            println!(
                "kernel  {name} on qubit {target} of {n}: {} {:.3} ms, {} {:.3} ms, ratio {:.3}",
                ours.name(),
                ours_time / 4.0 * 1e3,
                theirs.name(),
                theirs_time / 4.0 * 1e3,
                theirs_time / ours_time
            );
        }
    }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let folder = args.next().unwrap_or_else(|| "target/release".to_owned());
    let n = args.next().map_or(20, |n| n.parse().unwrap());
    rules(Path::new(&folder));
    kernels(Path::new(&folder), n);
}
