//! A few seconds of each target, the same on every run.

use std::path::{Path, PathBuf};

use attack::{check_file, check_seed, targets};

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

/// No seed of the first ones finds anything new.
#[test]
fn a_few_seeds_of_each_target_hold() {
    let found: Vec<String> = SEEDS
        .into_iter()
        .flat_map(|(name, count)| (0..count).filter_map(move |seed| check_seed(name, seed).err()))
        .collect();
    let names = SEEDS.map(|seeds| seeds.0);
    assert!(targets().eq(names), "each target has its seeds");
    assert!(found.is_empty(), "{} findings:\n{}", found.len(), found.join("\n\n"));
}

#[test]
fn every_file_of_the_corpus_is_as_it_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let entries = std::fs::read_dir(&folder).map(|all| all.flatten().map(|e| e.path()).collect());
    let mut files: Vec<PathBuf> = entries.unwrap_or_default();
    files.sort();
    assert!(files.len() > 30, "the corpus exists");
    let wrong: Vec<String> = files.iter().filter_map(|file| check_file(file).err()).collect();
    assert!(wrong.is_empty(), "{} of {} files:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

/// A file with a wrong claim is found.
#[test]
fn the_corpus_can_fail() {
    let file = std::env::temp_dir().join(format!("ketgrad_corpus_{}.kg", std::process::id()));
    let claim = |value: &str| format!("//! at x=3\n//! value = {value}\nfn f(x) {{ x * x }}\n");
    let check = |text: String| std::fs::write(&file, text).map(|()| check_file(&file));
    assert!(check(claim("9")).is_ok_and(|checked| checked.is_ok()));
    assert!(check(claim("8")).is_ok_and(|checked| checked.is_err()));
    assert!(check("fn f(x) { x }\n".to_owned()).is_ok_and(|checked| checked.is_err()));
    assert!(std::fs::remove_file(&file).is_ok());
}
