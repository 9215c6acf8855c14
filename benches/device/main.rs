//! Times of a plugin's device backend for gates, circuits and gradients, beside the speed of
//! its memory.
//!
//! ```text
//! cargo build --release -p ketgrad-cuda
//! cargo run --release -p ketgrad-benches --bin device -- target/release/libketgrad_cuda.so [f32] [n=26] … \
//!     [conform] [check] [gates] [circuits] [gradient] [values] [moves] [qcbm] [qft] [qv] [hea] [key=value of the plugin] …
//! ```
//! One JSON object a line; without a name of a part, or of a circuit, all of them. Times are
//! medians, from the call until the device has done everything, planning included. `copy` is the
//! bytes that a copy of the state on the device reads and writes in a second, measured in the same
//! run. The floor of a gate is the amplitudes that it changes, read and written once at that speed;
//! `floor` of a circuit is the sum over its gates, which no way of doing one gate after the other
//! gets below. `from_zero` is with a new state |0…0> for each run. `stages_after=0` times kernels
//! that are compiled for each stage, which are there after two runs; with a large number they never
//! are. `conform` is the suite for every device. `check` compares with the built-in kernels on all
//! processors, and beyond `MAX_COMPARED` qubits undoes the circuit and looks at what is left of
//! |0>.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program for people")]

use std::{path::PathBuf, time::Instant};

use ketgrad_core::{
    hybrid::Expectation,
    kernel::{DeviceStateVector, DeviceStates, Executor, Executors, Operator, SimdFloat, Threads},
    observable::{Pauli, PauliString, PauliSum},
    simulate::Simulator,
    state::StateVector,
};
use ketgrad_plugin_host::{Device, Plugins, Request, Settings, conform};
use num_complex::Complex;
use workload::circuits::{NAMES as ALL, ansatz, bind, circuit, ising, single};

/// States of more qubits are not compared amplitude by amplitude.
const MAX_COMPARED: usize = 28;

/// Runs of which the median is taken.
const RUNS: usize = 7;

fn median(mut f: impl FnMut()) -> f64 {
    f();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed().as_secs_f64()
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[RUNS / 2]
}

/// Bytes of an amplitude.
fn size<E>() -> f64 {
    size_of::<Complex<E>>() as f64
}

/// Bytes that operators have to read and write, one after the other.
fn bytes<E: SimdFloat>(operators: &[Operator<Complex<E>>], n: usize) -> f64 {
    operators.iter().map(|o| 2.0 * size::<E>() * o.touched(n) as f64).sum()
}

struct Bench<'a, E: SimdFloat> {
    residents: &'a dyn DeviceStates<Complex<E>>,
    plugins: &'a Plugins,
    n: usize,
    head: String,
    /// The circuits.
    names: Vec<&'static str>,
    /// Bytes a second of a copy.
    copy: f64,
}

impl<E: SimdFloat> Bench<'_, E> {
    fn zero(&self) -> Box<dyn DeviceStateVector<Complex<E>>> {
        self.residents.basis(self.n, 0).unwrap()
    }

    fn line(&self, suite: &str, workload: &str, rest: &str) {
        println!("{{\"suite\": \"{suite}\", \"workload\": \"{workload}\", {}, {rest}}}", self.head);
    }

    /// The speed of the memory, where there is room for two states.
    fn measure_copy(&mut self) {
        let state = self.zero();
        if state.copy().and_then(|c| c.wait()).is_err() {
            return self.line("copy", "state", "\"no room\": 2");
        }
        let seconds = median(|| state.copy().unwrap().wait().unwrap());
        self.copy = 2.0 * size::<E>() * (self.n as f64).exp2() / seconds;
        self.line(
            "copy",
            "state",
            &format!("\"seconds\": {seconds:.4e}, \"bytes_per_second\": {:.4e}", self.copy),
        );
    }

    fn check(&self) {
        for &name in &self.names {
            let operators = bind::<E>(&circuit(name, self.n));
            let start = Instant::now();
            let mut state = self.zero();
            state.apply(&operators).unwrap();
            state.wait().unwrap();
            let seconds = start.elapsed().as_secs_f64();
            let (off, built_in) = match self.n <= MAX_COMPARED {
                true => self.compared(&operators, &*state),
                false => (self.undone(name), 0.0),
            };
            self.line(
                "check",
                name,
                &format!(
                    "\"error\": {off:.2e}, \"first\": {seconds:.4e}, \"built_in\": {built_in:.4e}"
                ),
            );
        }
    }

    /// The largest difference from the built-in kernels, and the seconds that these take.
    fn compared(
        &self,
        operators: &[Operator<Complex<E>>],
        state: &dyn DeviceStateVector<Complex<E>>,
    ) -> (f64, f64) {
        let threads =
            Threads::new(std::thread::available_parallelism().map_or(1, usize::from)).unwrap();
        let mut expected = StateVector::<Complex<E>>::zero(self.n).unwrap();
        let executors = Executors::fast();
        let executor = executors.best::<Complex<E>>(self.n, operators.len());
        let start = Instant::now();
        executor.run(operators, expected.amplitudes_mut(), &threads).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        let mut given = vec![Complex::new(E::zero(), E::zero()); 1 << self.n];
        state.download(&mut given).unwrap();
        let pairs = given.iter().zip(expected.amplitudes());
        let off =
            pairs.map(|(a, b)| Into::<f64>::into((*a - *b).norm_sqr()).sqrt()).fold(0.0, f64::max);
        (off, seconds)
    }

    /// Distance from |0> of the state after the circuit and its inverse.
    fn undone(&self, name: &str) -> f64 {
        let circuit = circuit(name, self.n);
        let mut state = self.zero();
        state.apply(&bind::<E>(&circuit)).unwrap();
        state.apply(&bind::<E>(&circuit.dagger().unwrap())).unwrap();
        let zero = PauliSum::new(
            (0..self.n)
                .map(|q| (1.0 / self.n as f64, PauliString::new([(q, Pauli::Z)]).unwrap()))
                .collect::<Vec<_>>(),
        )
        .unwrap();
        (1.0 - state.expectation(&zero).unwrap()).abs()
    }

    fn gates(&self) {
        let n = self.n;
        let mut state = self.zero();
        for name in ["X", "H", "T", "CNOT", "RX", "CRX", "CCX"] {
            let all = bind::<E>(&single(name, n));
            for target in [0, 1, 3, n / 2, n - 1] {
                let one = std::slice::from_ref(&all[target]);
                let repeat = 8;
                let seconds = median(|| {
                    (0..repeat).for_each(|_| state.apply(one).unwrap());
                    state.wait().unwrap();
                }) / f64::from(repeat);
                let floor = bytes(one, n) / self.copy;
                let share = floor / seconds;
                self.line(
                    "gates",
                    name,
                    &format!("\"target\": {target}, \"seconds\": {seconds:.4e}, \"floor\": {floor:.4e}, \"share\": {share:.3}"),
                );
            }
        }
    }

    fn circuits(&self) {
        let mut state = self.zero();
        for &name in &self.names {
            let operators = bind::<E>(&circuit(name, self.n));
            let seconds = median(|| {
                state.apply(&operators).unwrap();
                state.wait().unwrap();
            });
            let floor = bytes(&operators, self.n) / self.copy;
            let from_zero = median(|| {
                let mut state = self.zero();
                state.apply(&operators).unwrap();
                state.wait().unwrap();
            });
            self.line(
                "circuits",
                name,
                &format!(
                    "\"gates\": {}, \"seconds\": {seconds:.5e}, \"floor\": {floor:.5e}, \"ratio\": {:.4}, \
                     \"from_zero\": {from_zero:.5e}",
                    operators.len(),
                    seconds / floor
                ),
            );
        }
    }

    fn gradient(&self) {
        let n = self.n;
        let simulator = Simulator::new().with_executors(self.plugins.executors());
        let energy = Expectation::new(ansatz(n, 4), [ising(n)]).unwrap().with_simulator(simulator);
        let at: Vec<f64> = (0..8 * n).map(|k| (1.0 + k as f64).sin() * 3.0).collect();
        let value = median(|| drop(energy.values(&at).unwrap()));
        let gradient = median(|| drop(energy.value_and_gradient(&at).unwrap()));
        self.line(
            "gradient",
            "hea-4",
            &format!(
                "\"parameters\": {}, \"value\": {value:.5e}, \"gradient\": {gradient:.5e}, \"ratio\": {:.2}",
                at.len(),
                gradient / value
            ),
        );
    }

    fn values(&self) {
        let n = self.n;
        let mut state = self.zero();
        state.apply(&bind::<E>(&circuit("hea", n))).unwrap();
        let terms: Vec<(f64, PauliString)> = (0..100)
            .map(|k| {
                let pauli = |j: usize| [Pauli::X, Pauli::Y, Pauli::Z][(k / 3 + j) % 3];
                let qubit = |j: usize| (k * 7 + j * 5 + k / 20) % n;
                let mut factors: Vec<(usize, Pauli)> =
                    (0..4).map(|j| (qubit(j), pauli(j))).collect();
                factors.sort_by_key(|f| f.0);
                factors.dedup_by_key(|f| f.0);
                (0.1 * k as f64, PauliString::new(factors).unwrap())
            })
            .collect();
        let sum = PauliSum::new(terms).unwrap();
        let seconds = median(|| {
            state.expectation(&sum).unwrap();
        });
        self.line(
            "values",
            "100 Pauli terms",
            &format!(
                "\"seconds\": {seconds:.4e}, \"passes\": {:.2}",
                seconds * self.copy / (size::<E>() * (n as f64).exp2())
            ),
        );
        let uniforms: Vec<f64> = (0..100_000).map(|k| (f64::from(k) + 0.5) / 1e5).collect();
        let seconds = median(|| drop(state.sample(&uniforms).unwrap()));
        self.line(
            "values",
            "100000 shots",
            &format!(
                "\"seconds\": {seconds:.4e}, \"passes\": {:.2}",
                seconds * self.copy / (size::<E>() * (n as f64).exp2())
            ),
        );
    }

    /// The host's amplitudes to the device and back: what a state that stays does not pay.
    fn moves(&self) {
        let mut amplitudes = vec![Complex::new(E::zero(), E::zero()); 1 << self.n];
        let mut state = None;
        let up = median(|| {
            state = None;
            state = Some(self.residents.upload(&amplitudes).unwrap());
        });
        let state = state.unwrap();
        let down = median(|| state.download(&mut amplitudes).unwrap());
        let bytes = size::<E>() * (self.n as f64).exp2();
        self.line(
            "moves",
            "state",
            &format!("\"up\": {:.4e}, \"down\": {:.4e}", bytes / up, bytes / down),
        );
    }
}

fn run<E: SimdFloat>(
    device: &Device,
    plugins: &Plugins,
    n: usize,
    is_selected: impl Fn(&str) -> bool,
) {
    let precision = if size_of::<E>() == 4 { "single" } else { "double" };
    let Some(residents) = Executor::<Complex<E>>::device_states(device) else { return };
    let head = format!("\"n\": {n}, \"precision\": \"{precision}\"");
    let named: Vec<&str> = ALL.into_iter().filter(|name| is_selected(name)).collect();
    let names = if named.is_empty() || named.len() == ALL.len() { ALL.to_vec() } else { named };
    if is_selected("conform") {
        for finding in conform(device, n) {
            println!("{}{finding}", if finding.holds() { "" } else { "WRONG " });
        }
    }
    let mut bench = Bench { residents, plugins, n, head, names, copy: 2e12 };
    bench.measure_copy();
    if is_selected("check") {
        bench.check();
    }
    if is_selected("gates") {
        bench.gates();
    }
    if is_selected("circuits") {
        bench.circuits();
    }
    // Expectation values are computed in double precision.
    if is_selected("gradient") && size_of::<E>() == size_of::<f64>() {
        bench.gradient();
    }
    if is_selected("values") {
        bench.values();
    }
    if is_selected("moves") {
        bench.moves();
    }
}

const PARTS: [&str; 7] = ["conform", "check", "gates", "circuits", "gradient", "values", "moves"];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let path = arguments
        .first()
        .map_or_else(|| "target/release/libketgrad_cuda.so".to_owned(), Clone::clone);
    let pairs = || arguments.iter().skip(1).filter_map(|a| a.split_once('='));
    let options =
        pairs().filter(|(key, _)| *key != "n").map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
    let mut plugins = Plugins::new(Settings::default());
    let request = Request::default()
        .with_name("device".into())
        .with_candidates(vec![PathBuf::from(path)])
        .with_priority(1)
        .with_options(options);
    plugins.load(&request).unwrap();
    let devices = plugins.devices();
    let Some(device) = devices.first() else { return println!("the plugin has no device") };
    println!("{{\"device\": {:?}}}", device.describe());
    let has = |word: &str| arguments.iter().any(|a| a == word);
    let all = !PARTS.iter().any(|part| has(part));
    let sizes: Vec<usize> =
        pairs().filter(|(key, _)| *key == "n").filter_map(|(_, n)| n.parse().ok()).collect();
    for n in if sizes.is_empty() { vec![20] } else { sizes } {
        let is_selected = |word: &str| has(word) || (all && PARTS.contains(&word));
        if has("f32") {
            run::<f32>(device, &plugins, n, is_selected);
        } else {
            run::<f64>(device, &plugins, n, is_selected);
        }
    }
}
