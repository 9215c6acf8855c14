//! Distances of results from right ones, in numbers: a table instead of findings.
//!
//! ```text
//! cargo run --release -p ketgrad-attack -- --survey states --seed 0 --count 1000
//! cargo run --release -p ketgrad-attack -- --survey equivalent --seed 0 --count 10000
//! ```
//! With `--seconds` no seed is begun later than that; the last line says which ones the table is
//! of. `states` runs circuits of 50 to 2,000 gates on 15, 16 and 17 qubits as users run them,
//! `--count` of each pool, and says how far the worst amplitude is from [`support::dense`].
//! `equivalent` compares `--count` pairs on 16 and 17 qubits, every other one changed by a gate,
//! and says how often the verdict was wrong and how much of its bound the difference took.

use std::{
    collections::BTreeMap,
    fmt::Write,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

use ketgrad_core::{
    equivalent::{EquivalenceSettings, On, Verdict, equivalent},
    kernel::SimdFloat,
    scalar::Real,
    simulate::Simulator,
};
use num_complex::Complex;
use support::{
    dense::DenseState,
    pools::{Pool, PoolAngle, PoolCircuit, PoolGate},
    random::Rng,
};

/// Distances from which results are wrong, in double and in single precision.
const WRONG: [f64; 2] = [1e-11, 1e-4];
/// Number of pairs of which one has many phases of one sign.
const LONG: u64 = 333;
/// Number of those phases.
const PHASES: usize = 100_000;

/// The survey with this name, of these seeds, or of as many as are begun until then.
pub(crate) fn run(
    name: &str,
    seeds: Range<u64>,
    until: Option<Instant>,
    threads: usize,
) -> Result<(), String> {
    let next = AtomicU64::new(seeds.start);
    let late = || until.is_some_and(|t| Instant::now() >= t);
    let each = |f: &(dyn Fn(u64) -> Result<Vec<Row>, String> + Sync)| {
        let work = || {
            let mut table = Table::default();
            loop {
                if late() {
                    return Ok::<_, String>(table);
                }
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds.end {
                    return Ok(table);
                }
                f(seed)?.into_iter().for_each(|row| table.add(&row));
                if seed % 100 == 99 {
                    eprintln!("seed {seed}");
                }
            }
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(work)).collect();
            workers.into_iter().try_fold(Table::default(), |mut all, worker| {
                all.merge(worker.join().map_err(|_| "a survey panicked")??);
                Ok::<_, String>(all)
            })
        })
    };
    let table = match name {
        "states" => each(&states)?,
        "equivalent" => each(&pair)?,
        _ => return Err(format!("no survey {name}: states, equivalent")),
    };
    print!("{}", table.print());
    println!("seeds {} to {}", seeds.start, next.into_inner().min(seeds.end));
    if table.0.values().any(|line| line.wrong > 0) {
        Err("some results are wrong".into())
    } else {
        Ok(())
    }
}

/// One result.
struct Row {
    /// The line of the table that it belongs to.
    line: String,
    /// Distance from the right result.
    off: f64,
    /// Which input is wrong.
    wrong: Option<String>,
}

#[derive(Default)]
struct Line {
    count: usize,
    worst: f64,
    wrong: usize,
    first: Option<String>,
}

#[derive(Default)]
struct Table(BTreeMap<String, Line>);

impl Table {
    fn add(&mut self, row: &Row) {
        let line = self.0.entry(row.line.clone()).or_default();
        line.count += 1;
        // NaN is worse than all.
        line.worst = if row.off <= line.worst { line.worst } else { row.off };
        line.wrong += usize::from(row.wrong.is_some());
        line.first = line.first.take().or_else(|| row.wrong.clone());
    }

    fn merge(&mut self, other: Table) {
        for (name, new) in other.0 {
            let line = self.0.entry(name).or_default();
            line.count += new.count;
            line.worst = if new.worst <= line.worst { line.worst } else { new.worst };
            line.wrong += new.wrong;
            line.first = line.first.take().or(new.first);
        }
    }

    fn print(&self) -> String {
        let mut text = String::from("| what | count | worst | wrong |\n|---|---|---|---|\n");
        for (name, line) in &self.0 {
            let _ =
                writeln!(text, "| {name} | {} | {:.1e} | {} |", line.count, line.worst, line.wrong);
        }
        for (name, line) in &self.0 {
            if let Some(first) = &line.first {
                let _ = writeln!(text, "wrong ({name}): {first}");
            }
        }
        text
    }
}

/// One circuit of each pool in both precisions.
fn states(seed: u64) -> Result<Vec<Row>, String> {
    let mut rng = Rng::new(seed);
    let mut rows = Vec::new();
    for pool in Pool::ALL {
        let n = 15 + (seed % 3) as usize;
        // As many short ones as long ones.
        let len = (50.0 * 40f64.powf(rng.unit())) as usize;
        let drawn = PoolCircuit::draw(pool, n, len, rng.bits());
        let single = drawn.in_single_precision();
        let reference = drawn.reference();
        let off = [
            off::<f64>(&drawn, &reference)?,
            off::<f32>(&single, &if single == drawn { reference } else { single.reference() })?,
        ];
        for ((off, wrong), name) in off.into_iter().zip(WRONG).zip(["f64", "f32"]) {
            let fine = off <= wrong;
            let input =
                (!fine).then(|| format!("seed {seed}, {n} qubits, {len} gates: off by {off:e}"));
            rows.push(Row { line: format!("{pool:?} in {name}"), off, wrong: input });
        }
    }
    Ok(rows)
}

/// Distance of the simulator's state from the reference.
fn off<E: SimdFloat + Real>(drawn: &PoolCircuit, reference: &DenseState) -> Result<f64, String> {
    let state = Simulator::new().run::<E>(&drawn.circuit(), &[]).map_err(|e| e.to_string())?;
    let wide = |z: &Complex<E>| Complex::new(Into::<f64>::into(z.re), z.im.into());
    Ok(reference.distance(&state.amplitudes().iter().map(wide).collect::<Vec<_>>()))
}

/// A pair of circuits and its verdict.
fn pair(seed: u64) -> Result<Vec<Row>, String> {
    let mut rng = Rng::new(seed);
    let n = 16 + rng.below(2);
    let pool = Pool::ALL[rng.below(Pool::ALL.len())];
    let long = seed % LONG == LONG - 1;
    let len = if long { 20 } else { 20 + rng.below(80) };
    let mut one = PoolCircuit::draw(pool, n, len, rng.bits());
    // A decimal, so that numbers decide.
    one.gates.push(PoolGate::new(
        "ry",
        &[PoolAngle::Radians(0.123_456_789_012_345_6)],
        &[rng.below(n)],
    ));
    let mut other = PoolCircuit { n_qubits: n, gates: rewritten(&one.gates, &mut rng) };
    let changed = seed % 2 == 1;
    if changed {
        let q = rng.below(n);
        let at = rng.below(other.gates.len() + 1);
        let angle = PoolAngle::Radians(10f64.powf(-3.0 * rng.unit()));
        other.gates.insert(at, PoolGate::new(["rx", "ry", "rz"][rng.below(3)], &[angle], &[q]));
    }
    // Both end with the same phases, which change no distance.
    let (short_one, short_other) = (one.clone(), other.clone());
    if long {
        many_phases(&mut one, &mut other, &mut rng);
    }
    let settings = EquivalenceSettings::default()
        .with_on(On::State)
        .with_exact_ring(rng.below(2) == 0)
        .with_seed(seed);
    let report = equivalent(&one.circuit(), &other.circuit(), &settings, &Simulator::new());
    let report = report.map_err(|e| format!("seed {seed}: {e}"))?;
    // Whether a change shows at all is the reference's to say.
    let apart = if changed { up_to_phase(&short_one, &short_other) } else { 0.0 };
    let equal = matches!(report.verdict, Verdict::Equal | Verdict::EqualUpToPhase);
    let right = match report.verdict {
        Verdict::Different => apart > 1e-9,
        Verdict::Unknown => true,
        _ => equal && apart < 1e-9,
    };
    let kind = if long { "100,000 phases" } else { "" };
    let name = |what: &str| format!("{what} {kind}").trim().to_owned();
    let input =
        || format!("seed {seed}, {pool:?}, {n} qubits, reference {apart:e} apart: {report:?}");
    let mut rows = vec![Row {
        line: name(match report.verdict {
            Verdict::Unknown => "unknown",
            _ if apart > 1e-9 => "different",
            _ => "equal",
        }),
        off: apart,
        wrong: (!right).then(input),
    }];
    if let Some(difference) = report.max_difference.filter(|_| apart == 0.0 && !report.exact) {
        let part = difference / report.error_bound;
        let input = (part.is_nan() || part > 1.0).then(input);
        rows.push(Row { line: name("difference / bound"), off: part, wrong: input });
    }
    Ok(rows)
}

/// The norm of the difference of the final states, with the best phase.
fn up_to_phase(one: &PoolCircuit, other: &PoolCircuit) -> f64 {
    let (a, b) = (one.reference(), other.reference());
    let overlap: Complex<f64> =
        a.amplitudes.iter().zip(&b.amplitudes).map(|(x, y)| x.conj() * y).sum();
    let phase = overlap.conj() / overlap.norm();
    let square = |(x, y): (&Complex<f64>, &Complex<f64>)| (x - y * phase).norm_sqr();
    a.amplitudes.iter().zip(&b.amplitudes).map(square).sum::<f64>().sqrt()
}

/// Gates as others that do the same.
fn rewritten(gates: &[PoolGate], rng: &mut Rng) -> Vec<PoolGate> {
    let gate = PoolGate::new;
    let mut new = Vec::new();
    for old in gates {
        let plain = old.controls.is_empty() && old.matrix.is_none();
        match (old.name, &old.angles[..], &old.qubits[..]) {
            ("cx", _, &[a, b]) if plain && rng.below(2) == 0 => {
                new.extend([gate("h", &[], &[b]), gate("cz", &[], &[b, a]), gate("h", &[], &[b])]);
            }
            ("swap", _, &[a, b]) if plain => {
                new.extend([
                    gate("cx", &[], &[a, b]),
                    gate("cx", &[], &[b, a]),
                    gate("cx", &[], &[a, b]),
                ]);
            }
            ("rx", &[t], &[q]) if plain => {
                new.extend([gate("h", &[], &[q]), gate("rz", &[t], &[q]), gate("h", &[], &[q])]);
            }
            ("rzz", &[t], &[a, b]) if plain => {
                new.extend([
                    gate("cx", &[], &[a, b]),
                    gate("rz", &[t], &[b]),
                    gate("cx", &[], &[a, b]),
                ]);
            }
            ("x", _, &[q]) if plain => new.extend([gate("sx", &[], &[q]), gate("sx", &[], &[q])]),
            ("t", _, &[q]) if plain => new.push(gate("p", &[PoolAngle::Pi(1, 4)], &[q])),
            _ => new.push(old.clone()),
        }
        if rng.below(8) == 0 {
            let q = old.qubits.first().copied().unwrap_or(0);
            let angle = 3.0 * rng.signed();
            let name = ["rx", "ry", "p"][rng.below(3)];
            new.extend([angle, -angle].map(|x| gate(name, &[PoolAngle::Radians(x)], &[q])));
        }
    }
    new
}

/// Many phases of one sign on a pair of qubits: one after another in the first, with a swap between
/// in the second.
fn many_phases(one: &mut PoolCircuit, other: &mut PoolCircuit, rng: &mut Rng) {
    let angle = PoolAngle::Radians(1.0 + rng.unit());
    let order = rng.permutation(one.n_qubits);
    let (a, b) = (order[0], order[1]);
    for k in 0..PHASES {
        one.gates.push(PoolGate::new("cp", &[angle], &[a, b]));
        let qubits = if k % 2 == 0 { [a, b] } else { [b, a] };
        other.gates.push(PoolGate::new("cp", &[angle], &qubits));
        if k == PHASES / 2 {
            other.gates.extend([PoolGate::new("z", &[], &[a]), PoolGate::new("z", &[], &[a])]);
        }
    }
}
