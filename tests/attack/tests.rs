//! A few seconds of each target, the same on every run.

use super::{TARGETS, child::PATIENCE, finding, shown};

/// Seeds of each target: about a second of each with optimisation.
const SEEDS: [(&str, u64); 9] = [
    ("states", 60),
    ("gradients", 60),
    ("equivalent", 60),
    ("dynamic", 60),
    ("qasm", 100),
    ("hostile", 200),
    ("angles", 2000),
    ("programs", 60),
    ("ir", 60),
];

/// No seed of the first ones finds anything.
#[test]
fn a_few_seeds_of_each_target_hold() {
    assert!(PATIENCE.as_secs() > 0);
    let mut found = Vec::new();
    for (name, count) in SEEDS {
        let Some((_, check)) = TARGETS.iter().find(|t| t.0 == name) else { panic!("no target {name}") };
        for seed in 0..count {
            if let Err(finding) = finding::guarded(&"the seed", || check(seed)) {
                found.push(shown(name, seed, &finding));
            }
        }
    }
    assert_eq!(SEEDS.len(), TARGETS.len(), "each target has its seeds");
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n\n"));
}
