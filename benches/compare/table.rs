//! The result: a table for people, and JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::work::Suite;

/// The times of one contender.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) precision: String,
    /// Seconds of each run; of a peer, medians of its process.
    pub(crate) samples: Vec<f64>,
    pub(crate) least: f64,
}

impl Times {
    pub(crate) fn new(name: &str, version: &str, precision: &str) -> Times {
        let [name, version, precision] = [name, version, precision].map(str::to_owned);
        Times { name, version, precision, samples: Vec::new(), least: f64::INFINITY }
    }

    pub(crate) fn add(&mut self, seconds: f64) {
        self.samples.push(seconds);
        self.least = self.least.min(seconds);
    }

    fn median(&self) -> f64 {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

/// One workload at one size and number of threads.
pub(crate) struct Row {
    suite: Suite,
    pub(crate) workload: String,
    n: usize,
    threads: usize,
    peer_rounds: usize,
    pub(crate) floor: Option<f64>,
    /// By precision.
    pub(crate) ours: BTreeMap<&'static str, Times>,
    pub(crate) peers: BTreeMap<String, Times>,
}

impl Row {
    pub(crate) fn new(
        suite: Suite,
        workload: &str,
        n: usize,
        (threads, peer_rounds): (usize, usize),
    ) -> Row {
        let (ours, peers) = (BTreeMap::new(), BTreeMap::new());
        Row {
            suite,
            workload: workload.to_owned(),
            n,
            threads,
            peer_rounds,
            floor: None,
            ours,
            peers,
        }
    }

    fn ours(&self, precision: &str) -> f64 {
        self.ours.get(precision).map_or(f64::NAN, Times::median)
    }

    /// The fastest peer of a precision, the plain C apart.
    fn best(&self, precision: &str) -> Option<(&str, f64)> {
        let rivals =
            self.peers.iter().filter(|(name, t)| *name != "c-ref" && t.precision == precision);
        let times = rivals.map(|(name, t)| (name.as_str(), t.median()));
        times.filter(|t| t.1 > 0.0).min_by(|a, b| a.1.total_cmp(&b.1))
    }

    /// Ratios: name, value.
    fn ratios(&self) -> Vec<(&'static str, f64)> {
        let over = |ours: &str, other: Option<f64>| {
            other.map(|t| self.ours(ours) / t).filter(|r| r.is_finite())
        };
        let c = self.peers.get("c-ref").map(Times::median);
        let all = [
            ("double / best double", over("double", self.best("double").map(|b| b.1))),
            ("double / C", over("double", c)),
            ("double / best single", over("double", self.best("single").map(|b| b.1))),
            ("single / best single", over("single", self.best("single").map(|b| b.1))),
            ("double / floor", over("double", self.floor)),
        ];
        all.into_iter().filter_map(|(name, ratio)| Some((name, ratio?))).collect()
    }

    /// The row for people.
    pub(crate) fn line(&self) -> String {
        let (suite, workload, n, threads) =
            (self.suite.name(), &self.workload, self.n, self.threads);
        let peer =
            |name: &str| self.peers.get(name).map_or("-".to_owned(), |t| seconds(t.median()));
        let ratio = |name: &str| {
            let found = self.ratios().into_iter().find(|r| r.0 == name);
            found.map_or("-".to_owned(), |r| format!("{:.2}", r.1))
        };
        let mut cells =
            vec![suite.to_owned(), workload.clone(), n.to_string(), threads.to_string()];
        cells.extend([self.floor.map_or("-".to_owned(), seconds), peer("c-ref")]);
        cells.extend(crate::PEERS.map(peer));
        cells.extend([seconds(self.ours("double")), seconds(self.ours("single"))]);
        cells.extend(RATIOS.map(|(name, _)| ratio(name)));
        format!("| {} |", cells.join(" | "))
    }
}

/// Ratios in the table, with the heads of their columns.
const RATIOS: [(&str, &str); 5] = [
    ("double / best double", "f64/best f64"),
    ("double / C", "f64/C"),
    ("double / best single", "f64/best f32"),
    ("single / best single", "f32/best f32"),
    ("double / floor", "f64/floor"),
];

fn seconds(t: f64) -> String {
    if t.is_nan() {
        return "-".to_owned();
    }
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "us")];
    match units.into_iter().find(|u| t >= u.0) {
        Some((unit, name)) => format!("{:.3} {name}", t / unit),
        None => format!("{:.1} ns", t * 1e9),
    }
}

/// Prints the table.
pub(crate) fn print(rows: &[Row]) {
    println!(
        "Medians. C and peers as the harness gives them; qsim computes in single precision.\n"
    );
    let heads = RATIOS.map(|r| r.1).join(" | ");
    println!(
        "| suite | workload | n | threads | floor | C | {} | f64 | f32 | {heads} |",
        crate::PEERS.join(" | ")
    );
    println!("|{}", "---|".repeat(8 + crate::PEERS.len() + RATIOS.len()));
    rows.iter().for_each(|row| println!("{}", row.line()));
}

/// All rows with everything that was measured, after those that were written before.
pub(crate) fn json(rows: &[Row], before: &[Value]) -> Value {
    let times = |t: &Times| {
        json!({
            "name": t.name, "version": t.version, "precision": t.precision, "seconds_median": t.median(),
            "seconds_min": if t.least.is_finite() { t.least } else { t.median() }, "samples": t.samples,
        })
    };
    let row = |row: &Row| {
        let ratios: serde_json::Map<_, _> =
            row.ratios().into_iter().map(|(name, ratio)| (name.to_owned(), json!(ratio))).collect();
        json!({
            "suite": row.suite.name(), "workload": row.workload, "n": row.n, "threads": row.threads,
            "peer_rounds": row.peer_rounds, "floor_seconds": row.floor, "ketgrad": row.ours.values().map(times).collect::<Vec<_>>(),
            "peers": row.peers.values().map(times).collect::<Vec<_>>(), "ratios": ratios,
        })
    };
    json!({ "rows": before.iter().cloned().chain(rows.iter().map(row)).collect::<Vec<_>>() })
}
