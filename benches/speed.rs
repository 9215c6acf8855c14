//! Times single gates and circuits: one JSON object a line.
//!
//! ```text
//! cargo run --release -p ketgrad-benches --bin speed -- circuits <n> [threads=1] [f32]
//! cargo run --release -p ketgrad-benches --bin speed -- gates <n> [threads=1] [f32]
//! cargo run --release -p ketgrad-benches --bin speed -- plan <n>
//! cargo run --release -p ketgrad-benches --bin speed -- memory <n> [threads=1] [f32]
//! cargo run --release -p ketgrad-benches --bin speed -- readout <n> [threads=1] [f32]
//! cargo run --release -p ketgrad-benches --bin speed -- points <n> [threads=1] [f32]
//! cargo run --release -p ketgrad-benches --bin speed -- excitations <n> [threads=1] [f32] [gates | strings]
//! ```
//! `memory` runs a circuit and takes 10^5 shots, and prints the most memory that the process had,
//! over that of the state (Linux). `readout` times norms, probabilities of some qubits and
//! collapse; their `floor` is half a pass for each time that the state is read, and for each that
//! it is written. `points` runs a circuit at 16 points. `excitations` runs UCCSD with as many
//! electrons as empty spin orbitals, and the gradient of the sum of all Z, everything that a call
//! does included; with the word `gates` the circuit has gates of the table instead of rotations
//! about strings; `strings` prints parameter, factor and string of each exponential instead
//! (`compare/excitations.py`). `gates` with the word `targets` also prints each target's time.
//! `seconds` of a circuit is binding, planning and running on |0…0>, or with the word `given` on
//! whatever the state holds, in memory allocated before. `floor` is what the plan's bytes take at
//! the speed of a pass that scales the state in place.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::{hint::black_box, time::Instant};

use ketgrad_core::{
    ansatz,
    circuit::Circuit,
    hybrid::Expectation,
    kernel::{Executor, InstructionSet, SimdFloat, StateHint, Threads},
    observable::{Pauli, PauliSum},
    plan::{Fast, Plan, PlanOptions},
    scalar::Real,
    simulate::Simulator,
    state::StateVector,
};
use num_complex::Complex;
use workload::circuits::{NAMES, bind, circuit, single};

/// The median and the least of some times.
fn median(f: impl FnMut() -> f64, budget: f64) -> f64 {
    median_and_least(f, budget).0
}

fn median_and_least(mut f: impl FnMut() -> f64, budget: f64) -> (f64, f64) {
    f();
    let start = Instant::now();
    let mut times = Vec::new();
    while times.len() < 5 || (start.elapsed().as_secs_f64() < budget && times.len() < 2000) {
        times.push(f());
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[0])
}

/// Seconds of wall clock, or of this thread on a processor if the environment says
/// `SPEED_CLOCK=cpu` (for machines that do other things meanwhile; one thread only).
fn timed(f: impl FnOnce()) -> f64 {
    if std::env::var_os("SPEED_CLOCK").is_some() {
        let used = || -> f64 {
            let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
            text.split(' ').next().unwrap().parse::<f64>().unwrap() * 1e-9
        };
        let start = used();
        f();
        return used() - start;
    }
    let start = Instant::now();
    f();
    start.elapsed().as_secs_f64()
}

fn floor<E: SimdFloat>(
    state: &mut StateVector<Complex<E>>,
    threads: &Threads,
    set: InstructionSet,
) -> f64 {
    let mut c = Circuit::new(state.n_qubits());
    c.gphase(0.3).unwrap();
    let operators = bind::<E>(&c);
    let fast = Fast::with(set).unwrap();
    median(|| timed(|| fast.run(&operators, state.amplitudes_mut(), threads).unwrap()), 0.3)
}

fn readout<E: SimdFloat>(n: usize, threads: usize, set: InstructionSet) {
    let threads = Threads::new(threads).unwrap();
    let mut state = StateVector::<Complex<E>>::zero(n).unwrap();
    Fast::with(set)
        .unwrap()
        .run(&bind::<E>(&circuit("hea", n)), state.amplitudes_mut(), &threads)
        .unwrap();
    let half = 0.5 * floor(&mut state, &threads, set);
    let line = |name: String, seconds: f64, halves: f64| {
        println!(
            "{{\"suite\": \"readout\", \"workload\": \"{name}\", \"n\": {n}, \"threads\": {}, \"seconds\": {seconds:.4e}, \
             \"floor\": {:.4e}}}",
            threads.count(),
            half * halves
        );
    };
    line(
        "norm2".to_owned(),
        median(
            || {
                timed(|| {
                    black_box(state.norm2(&threads));
                })
            },
            0.2,
        ),
        1.0,
    );
    let some = [
        vec![0],
        vec![n / 2],
        vec![n - 1],
        (0..10).collect(),
        (n - 10..n).collect(),
        (0..n).collect(),
    ];
    for qubits in some {
        let seconds =
            median(|| timed(|| drop(state.probabilities_of(&qubits, &threads).unwrap())), 0.2);
        line(format!("probabilities of {qubits:?}"), seconds, 1.0);
    }
    for qubit in [0, n / 2, n - 1] {
        let mut collapsed = state.clone();
        let seconds = median(
            || {
                timed(|| {
                    black_box(collapsed.collapse(qubit, true, &threads).unwrap());
                })
            },
            0.2,
        );
        line(format!("collapse of {qubit}"), seconds, 3.0);
    }
}

fn points<T: Real>(n: usize, threads: usize) {
    let simulator = Simulator::new().with_threads(Threads::new(threads).unwrap());
    let mut c = Circuit::new(n);
    let theta = c.param("theta");
    for q in (0..4 * n).map(|k| k % n) {
        c.ry(q, theta.clone()).unwrap().rz(q, 0.7).unwrap().cx(q, (q + 1) % n).unwrap();
    }
    let points: Vec<Vec<T>> = (0..16).map(|k| vec![T::lit(0.1 * f64::from(k))]).collect();
    let seconds = median(|| timed(|| drop(simulator.run_points(&c, &points).unwrap())), 0.5);
    println!(
        "{{\"suite\": \"points\", \"n\": {n}, \"threads\": {threads}, \"seconds\": {seconds:.4e}}}"
    );
}

fn excitations<T: Real>(n: usize, threads: usize, gates: bool) {
    let simulator = Simulator::new().with_threads(Threads::new(threads).unwrap());
    let strings = ansatz::uccsd(n, n / 2).unwrap();
    let c = if gates { strings.decomposed() } else { strings };
    let count = c.instructions().len();
    let at: Vec<T> = (0..c.inputs().count()).map(|k| T::lit(0.01 * k as f64)).collect();
    let run = median(|| timed(|| drop(simulator.run(&c, &at).unwrap())), 2.0);
    let mut sum = PauliSum::default();
    for q in 0..n {
        sum.push(1.0, [(q, Pauli::Z)]).unwrap();
    }
    let energy = Expectation::new(c, [sum]).unwrap().with_simulator(simulator);
    let gradient = median(|| timed(|| drop(energy.value_and_gradient(&at).unwrap())), 2.0);
    println!(
        "{{\"suite\": \"excitations\", \"n\": {n}, \"threads\": {threads}, \"instructions\": {count}, \"run\": {run:.4e}, \"gradient\": {gradient:.4e}}}"
    );
}

fn run<E: SimdFloat>(
    what: &str,
    n: usize,
    threads: usize,
    set: InstructionSet,
    tile: Option<usize>,
    way: StateHint,
) {
    let threads = Threads::new(threads).unwrap();
    let mut state = StateVector::<Complex<E>>::zero(n).unwrap();
    if what == "memory" {
        let operators = bind::<E>(&circuit("hea", n));
        Fast::with(set).unwrap().run(&operators, state.amplitudes_mut(), &threads).unwrap();
        let outcomes = state.sample_counts(100_000, 1, &threads).unwrap().len();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
        let peak = 1024.0 * peak.trim().trim_end_matches(" kB").parse::<f64>().unwrap();
        let bytes = size_of_val(state.amplitudes());
        println!(
            "{{\"suite\": \"memory\", \"n\": {n}, \"threads\": {}, \"state\": {bytes}, \"peak\": {peak}, \
             \"peak_over_state\": {:.4}, \"outcomes\": {outcomes}}}",
            threads.count(),
            peak / bytes as f64
        );
        return;
    }
    let precision = if size_of::<E>() == 4 { "single" } else { "double" };
    let mut options = PlanOptions::new(set, n).with_state_hint(way);
    if let Some(tile) = tile {
        options.tile_qubits = tile;
    }
    let pass = floor(&mut state, &threads, set);
    let head = format!(
        "\"n\": {n}, \"threads\": {}, \"precision\": \"{precision}\", \"set\": \"{set}\"",
        threads.count()
    );
    if what == "gates" {
        for name in ["X", "H", "T", "CNOT", "RX", "CRX", "CCX"] {
            let c = single(name, n);
            let operators = bind::<E>(&c);
            let fast = Fast::with(set).unwrap();
            let repeat = (1usize << 16 >> n.min(16)).max(1);
            let seconds = median(
                || {
                    timed(|| {
                        for _ in 0..repeat {
                            for operator in &operators {
                                fast.run(
                                    std::slice::from_ref(operator),
                                    state.amplitudes_mut(),
                                    &threads,
                                )
                                .unwrap();
                            }
                        }
                    }) / (repeat * operators.len()) as f64
                },
                0.2,
            );
            let touched = match name {
                "T" | "CNOT" | "CRX" => 0.5,
                "CCX" => 0.25,
                _ => 1.0,
            };
            if std::env::args().any(|a| a == "targets") {
                for (target, operator) in operators.iter().enumerate() {
                    let operator = std::slice::from_ref(operator);
                    let seconds = median(
                        || timed(|| fast.run(operator, state.amplitudes_mut(), &threads).unwrap()),
                        0.0,
                    );
                    println!("{name} on {target}: {seconds:.4e}");
                }
            }
            println!(
                "{{\"suite\": \"gates\", \"workload\": \"{name}\", {head}, \"seconds\": {seconds:.4e}, \"floor\": {:.4e}}}",
                pass * touched
            );
        }
        return;
    }
    let only: Vec<String> = std::env::args().filter(|a| NAMES.contains(&a.as_str())).collect();
    for (name, c) in NAMES.into_iter().map(|name| (name, circuit(name, n))) {
        if !only.is_empty() && !only.iter().any(|o| o == name) {
            continue;
        }
        if what == "plan" {
            println!("{name}\n{}\n", Plan::new(n, &bind::<E>(&c), options));
            continue;
        }
        let amplitudes = state.amplitudes_mut();
        let (seconds, least) = median_and_least(
            || {
                timed(|| {
                    let operators = bind::<E>(&c);
                    Plan::run_once(&operators, options, amplitudes, &threads, &mut |_, _| {});
                })
            },
            1.0,
        );
        let operators = bind::<E>(&c);
        let binding = median(|| timed(|| drop(bind::<E>(&c))), 0.1);
        let planning = median(|| timed(|| drop(Plan::new(n, &operators, options))), 0.1);
        let plan = Plan::new(n, &operators, options);
        println!(
            "{{\"suite\": \"circuits\", \"workload\": \"{name}\", {head}, \"tile\": {}, \"seconds\": {seconds:.5}, \"least\": {least:.5}, \"binding\": {binding:.5}, \
             \"planning\": {planning:.5}, \"passes\": {}, \"floor\": {:.5}}}",
            options.tile_qubits,
            plan.passes(),
            plan.floor(2.0 * size_of_val(state.amplitudes()) as f64 / pass)
        );
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize| arguments.get(i).and_then(|a| a.parse().ok());
    let what = arguments.first().map_or("circuits", String::as_str);
    let (n, threads) = (number(1).unwrap_or(20), number(2).unwrap_or(1));
    let has = |word: &str| arguments.iter().any(|a| a == word);
    let set = InstructionSet::ALL
        .into_iter()
        .find(|s| has(&s.to_string()))
        .unwrap_or(InstructionSet::detect());
    let tile = arguments.iter().find_map(|a| a.strip_prefix("tile=").and_then(|t| t.parse().ok()));
    if what == "readout" {
        return if has("f32") {
            readout::<f32>(n, threads, set)
        } else {
            readout::<f64>(n, threads, set)
        };
    }
    if what == "points" {
        return if has("f32") { points::<f32>(n, threads) } else { points::<f64>(n, threads) };
    }
    if what == "excitations" && has("strings") {
        for (k, generator) in ansatz::excitations(n, n / 2).unwrap().iter().enumerate() {
            generator.terms().iter().for_each(|(factor, string)| println!("{k};{factor};{string}"));
        }
        return;
    }
    if what == "excitations" {
        let excitations = if has("f32") { excitations::<f32> } else { excitations::<f64> };
        return excitations(n, threads, has("gates"));
    }
    let way = if has("given") { StateHint::Arbitrary } else { StateHint::StartsAtZero };
    if has("f32") {
        run::<f32>(what, n, threads, set, tile, way);
    } else {
        run::<f64>(what, n, threads, set, tile, way);
    }
}
