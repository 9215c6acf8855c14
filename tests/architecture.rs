//! Which module may use which: the arrows of the house, checked line by line.
//!
//! Tables of ARCHITECTURE.md say which crates of core there are, what each depends on and has, and
//! what a module of core may name by `crate::…`; a table here, what a package may name by its
//! crate. A line that runs the wrong way is reported with file, line and the arrow it breaks.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

/// The rows of a table of ARCHITECTURE.md: the name in the first column, and the names in the next
/// ones.
fn rows(heading: &str) -> Vec<(String, Vec<Vec<String>>)> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = page.split_once(&format!("\n## {heading}")).unwrap();
    let names = |cell: &str| -> Vec<String> {
        cell.split(", ").filter(|name| !name.is_empty()).map(str::to_owned).collect()
    };
    let rows =
        table.lines().skip(1).take_while(|line| !line.starts_with("## ")).filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let name = cells.next()?.trim_end_matches('`').to_owned();
            Some((name, cells.map(names).collect()))
        });
    rows.collect()
}

/// Modules of core in reading order, each with the modules that it uses besides itself, as
/// ARCHITECTURE.md has them.
fn modules() -> Vec<(String, Vec<String>)> {
    rows("Modules of core").into_iter().map(|(name, mut cells)| (name, cells.remove(0))).collect()
}

/// A crate of core.
struct Part {
    name: String,
    /// The crates of core that it depends on.
    uses: Vec<String>,
    modules: Vec<String>,
}

/// The crates of core in the order in which they build, as ARCHITECTURE.md has them.
fn parts() -> Vec<Part> {
    let part = |(name, cells): (String, Vec<Vec<String>>)| Part {
        name,
        uses: cells[0].clone(),
        modules: cells[1].clone(),
    };
    rows("Crates of core").into_iter().map(part).collect()
}

/// The folders with the sources of a package; those of core's crates count as core's.
fn source_folders(package: &str) -> Vec<PathBuf> {
    let own = root().join(package).join("src");
    let parts = if package == "core" { parts() } else { vec![] };
    let of_part = |part: Part| root().join("core").join(part.name).join("src");
    std::iter::once(own).chain(parts.into_iter().map(of_part)).collect()
}

/// The sources of a package.
fn sources_of(package: &str) -> Vec<(PathBuf, String)> {
    source_folders(package).iter().flat_map(|folder| sources(folder)).collect()
}

/// Packages by folder, each with the packages of ours it may use.
const PACKAGES: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("dsl", &["ketgrad_core"]),
    ("config", &["ketgrad_core", "ketgrad_plugin_host"]),
    ("plugins/abi", &[]),
    ("plugins/sdk", &["ketgrad_plugin_abi"]),
    ("plugins/host", &["ketgrad_core", "ketgrad_plugin_abi"]),
    ("plugins/special", &["ketgrad_plugin_sdk"]),
    ("plugins/qkernels", &["ketgrad_plugin_sdk"]),
    ("plugins/cuda", &["ketgrad_core", "ketgrad_plugin_sdk"]),
    ("plugins/hostile", &["ketgrad_plugin_sdk"]),
];

/// Items that core must not use: files, environment, terminals, clocks, processes.
const OUTSIDE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::io",
    "std::net",
    "std::process",
    "std::time",
    "println!",
    "eprintln!",
    "print!(",
    "eprint!(",
    "dbg!(",
];

/// True if a line is a comment: prose may name anything.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The words that follow `start` in a line, up to what is no part of a name. After `start{` every
/// first word of the braces counts.
fn named(source: &str, start: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut text = String::new();
    // Comments become blanks, so that positions stay.
    for line in source.lines() {
        text += &if is_comment(line) { " ".repeat(line.len()) } else { line.to_owned() };
        text.push('\n');
    }
    while let Some(at) = text[offset..].find(start) {
        let begin = offset + at + start.len();
        let word = |s: &str| -> String {
            s.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()
        };
        let line_of = |position: usize| text[..position].matches('\n').count() + 1;
        if text[begin..].starts_with('{') {
            let mut depth = 0;
            let mut fresh = false;
            for (i, c) in text[begin..].char_indices() {
                match c {
                    '{' => depth += 1,
                    '}' => depth -= 1,
                    _ => {}
                }
                if depth == 0 {
                    break;
                }
                if depth == 1 && (c == '{' || c == ',') {
                    fresh = true;
                } else if fresh && !c.is_whitespace() {
                    found.push((line_of(begin + i), word(&text[begin + i..])));
                    fresh = false;
                }
            }
        } else {
            found.push((line_of(begin), word(&text[begin..])));
        }
        offset = begin;
    }
    found.retain(|(_, word)| !word.is_empty());
    found
}

/// The lines of a file of a module of core that use what the table does not say. What it does use
/// is added to `used`.
fn module_faults(
    module: &str,
    table: &[(String, Vec<String>)],
    (file, source): (&str, &str),
    used: &mut BTreeSet<String>,
) -> Vec<String> {
    let allowed = table.iter().find(|row| row.0 == module).map_or(&[][..], |row| &row.1);
    let mut faults = Vec::new();
    for (line, word) in named(source, "crate::") {
        let known = table.iter().any(|row| row.0 == word);
        if !known || word == module {
            continue;
        }
        if !allowed.contains(&word) {
            faults.push(format!("{file}:{line}: {module} must not use {word}"));
        }
        used.insert(word);
    }
    for (i, line) in source.lines().enumerate().filter(|(_, line)| !is_comment(line)) {
        for outside in OUTSIDE.iter().filter(|o| line.contains(**o)) {
            faults.push(format!("{file}:{}: core must not use {outside}", i + 1));
        }
    }
    faults
}

/// The lines of a file of a package that name a package it must not use.
fn package_faults(folder: &str, allowed: &[&str], file: &str, source: &str) -> Vec<String> {
    let own = format!("ketgrad_{}", folder.replace("plugins/", "plugin_"));
    let mut faults = Vec::new();
    for (line, rest) in named(source, "ketgrad_") {
        let name = format!("ketgrad_{rest}");
        let ours = PACKAGES
            .iter()
            .any(|p| name == format!("ketgrad_{}", p.0.replace("plugins/", "plugin_")));
        if ours && name != own && !allowed.contains(&name.as_str()) {
            faults.push(format!("{file}:{line}: {folder} must not use {name}"));
        }
    }
    faults
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files below a folder, with their text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut out = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            out.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push((path.clone(), fs::read_to_string(&path).unwrap()));
        }
    }
    out.sort();
    out
}

#[test]
fn modules_of_core_use_what_the_table_says() {
    let table = modules();
    let mut faults = Vec::new();
    let mut used = BTreeMap::<String, BTreeSet<String>>::new();
    for part in parts() {
        let folder = root().join("core").join(&part.name).join("src");
        for (path, source) in sources(&folder) {
            let relative = path.strip_prefix(&folder).unwrap();
            let first = relative.components().next().unwrap().as_os_str().to_string_lossy();
            let module = first.trim_end_matches(".rs");
            if module == "lib" {
                continue;
            }
            let file = format!("core/{}/src/{}", part.name, relative.display());
            if !table.iter().any(|row| row.0 == module) {
                faults.push(format!("{file}:1: the module {module} is not in the table"));
                continue;
            }
            let used = used.entry(module.to_owned()).or_default();
            faults.extend(module_faults(module, &table, (&file, &source), used));
        }
    }
    for (module, allowed) in &table {
        let used = used.remove(module).unwrap_or_default();
        let needless = allowed.iter().filter(|name| !used.contains(*name));
        faults
            .extend(needless.map(|name| format!("ARCHITECTURE.md: {module} does not use {name}")));
    }
    assert!(table.len() > 20, "the table is read");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The packages of ours that a manifest has under `[dependencies]`.
fn dependencies(folder: &str) -> Vec<String> {
    let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
    let (_, section) = manifest.split_once("\n[dependencies]\n").unwrap();
    let lines = section.lines().take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.strip_prefix("ketgrad-")?.split(['.', ' ']).next());
    names.map(str::to_owned).collect()
}

#[test]
fn crates_of_core_are_those_of_the_table() {
    let parts = parts();
    let sorted = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
    for (i, part) in parts.iter().enumerate() {
        let (name, folder) = (&part.name, format!("core/{}", part.name));
        assert_eq!(sorted(&dependencies(&folder)), sorted(&part.uses), "{name} depends on");
        for used in &part.uses {
            let before = parts[..i].iter().any(|part| part.name == *used);
            assert!(before, "{name} uses {used}, which is not before it");
        }
        let library = fs::read_to_string(root().join(folder).join("src/lib.rs")).unwrap();
        let modules = library.lines().filter_map(|line| line.strip_prefix("pub mod "));
        let modules: BTreeSet<String> =
            modules.map(|name| name.trim_end_matches(';').to_owned()).collect();
        assert_eq!(modules, sorted(&part.modules), "modules of {name}");
    }
    let all: Vec<String> = parts.iter().map(|part| part.name.clone()).collect();
    assert_eq!(sorted(&dependencies("core")), sorted(&all), "ketgrad-core re-exports all");
    let of_parts: BTreeSet<String> = parts.into_iter().flat_map(|part| part.modules).collect();
    let listed: BTreeSet<String> = modules().into_iter().map(|row| row.0).collect();
    // What is private in several crates.
    assert_eq!(listed, &of_parts | &BTreeSet::from(["interop".to_owned()]));
}

/// Each half of core can be used by a package that knows nothing else of ours.
#[test]
fn each_half_has_an_example_that_depends_on_it_alone() {
    for (folder, half) in [("examples/only_programs", "exec"), ("examples/only_circuits", "sim")] {
        assert_eq!(dependencies(folder), [half], "{folder}");
        let readme = fs::read_to_string(root().join(format!("core/{half}/README.md"))).unwrap();
        assert!(readme.contains(folder), "core/{half}/README.md names {folder}");
    }
}

/// The files and folders in the first column of a table of ARCHITECTURE.md.
fn listed(heading: &str) -> Vec<String> {
    let page = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, table) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    let rows = table
        .lines()
        .take_while(|line| !line.starts_with("## "))
        .filter(|line| line.starts_with("| `"));
    let cells = rows.map(|line| line.split('|').nth(1).unwrap_or_default().to_owned());
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Files that are in no line of a table, and lines without a file.
fn unlisted(listed: &[String], files: &[String]) -> Vec<String> {
    let within =
        |file: &str, place: &str| file == place || place.ends_with('/') && file.starts_with(place);
    let missing = files.iter().filter(|file| !listed.iter().any(|place| within(file, place)));
    let needless = listed.iter().filter(|place| !files.iter().any(|file| within(file, place)));
    let missing = missing.map(|file| format!("{file} is in no line"));
    missing.chain(needless.map(|place| format!("{place} has nothing of the kind"))).collect()
}

/// Files of `src` with such a line of code.
fn files_with(packages: &[&str], is_such: impl Fn(&str) -> bool) -> Vec<String> {
    let mut files = Vec::new();
    for package in packages {
        for (path, source) in sources_of(package) {
            if source.lines().filter(|line| !is_comment(line)).any(&is_such) {
                let path = path.strip_prefix(root()).unwrap();
                files.push(path.display().to_string());
            }
        }
    }
    files
}

#[test]
fn unsafe_code_and_statics_stand_where_the_page_says() {
    let packages: Vec<&str> = PACKAGES.iter().map(|p| p.0).collect();
    let kinds =
        ["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern", "unsafe trait", "unsafe("];
    let is_unsafe = |line: &str| kinds.iter().any(|kind| line.contains(kind));
    let is_static = |line: &str| {
        let item = line.trim_start().trim_start_matches("pub ").trim_start_matches("pub(crate) ");
        item.starts_with("static ") || item.starts_with("thread_local!")
    };
    let mut faults = unlisted(&listed("Unsafe code"), &files_with(&packages, is_unsafe));
    faults.extend(unlisted(&listed("Statics of core"), &files_with(&["core"], is_static)));
    assert!(faults.is_empty(), "ARCHITECTURE.md:\n{}", faults.join("\n"));
}

/// True if a line gives the reason of unsafe code by pointing at another one's: code moves, and
/// then it points at nothing.
fn points_elsewhere(line: &str) -> bool {
    let reason = line.trim_start().strip_prefix("// SAFETY:");
    reason.is_some_and(|reason| {
        ["as ", "see ", "same "].iter().any(|start| reason.trim_start().starts_with(start))
    })
}

#[test]
fn reasons_of_unsafe_code_stand_beside_it() {
    let mut faults = Vec::new();
    for (folder, _) in PACKAGES {
        for (path, source) in sources_of(folder) {
            let lines = source.lines().enumerate().filter(|(_, line)| points_elsewhere(line));
            faults.extend(
                lines.map(|(k, line)| format!("{}:{}: {}", path.display(), k + 1, line.trim())),
            );
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
    assert!(points_elsewhere("        // SAFETY: as above."));
    assert!(!points_elsewhere("// SAFETY: rows are below the number of rows."));
}

/// Comments that are longer than a line of code may be, outside of examples, tables and commands.
/// Rustfmt sees to the code.
#[test]
fn comments_end_at_100_columns() {
    let mut faults = Vec::new();
    for folder in ["core", "dsl", "config", "plugins", "examples", "tests", "benches"] {
        for (path, source) in sources(&root().join(folder)) {
            let mut is_example = false;
            for (k, line) in source.lines().enumerate() {
                let text = line.trim_start().trim_start_matches('/').trim_start_matches('!');
                is_example =
                    is_comment(line) && (is_example ^ text.trim_start().starts_with("```"));
                let is_prose = is_comment(line)
                    && !is_example
                    && !text.starts_with(" |")
                    && !text.starts_with("     ");
                if is_prose && line.chars().count() > 100 {
                    faults.push(format!("{}:{}: {}", path.display(), k + 1, line.trim()));
                }
            }
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Functions of more than 100 lines: interpreters of a table of operations, with an arm for each.
/// Who looks for what is done about an operation finds it in one place.
const LONG_FUNCTIONS: &[(&str, &str)] = &[
    // What an instruction does: bytecode, arrays, small programs, machine code.
    ("core/exec/src/exec/machine/run.rs", "run_routine"),
    ("core/exec/src/exec/machine/arrays.rs", "structural"),
    ("core/exec/src/exec/machine/elements.rs", "run_chunk"),
    ("core/exec/src/exec/machine/small_program.rs", "run_small"),
    ("core/exec/src/exec/machine/whole.rs", "on_arrays"),
    ("core/exec/src/exec/jit/lower/instruction.rs", "instruction"),
    // What a step of a classical expression does.
    ("core/circuit/src/classical/evaluate.rs", "evaluate"),
    // The registers that an instruction names.
    ("core/exec/src/exec/registers.rs", "visit"),
    // The meaning and the derivatives of an operation.
    ("core/ir/src/staging/arrays.rs", "composed"),
    ("core/ir/src/staging/builtin.rs", "builtin"),
    ("core/ir/src/adjoint/pullbacks.rs", "instruction"),
    ("core/ir/src/adjoint/forward.rs", "instruction"),
];

/// The functions of a file with their numbers of lines, those of functions inside them left out.
fn function_lengths(source: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let mut found: Vec<(String, usize)> = Vec::new();
    // The functions that a line is in, by the indentation of their ends.
    let mut open: Vec<(usize, String, usize)> = Vec::new();
    for (k, line) in lines.iter().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        let within = code.strip_prefix("pub(").and_then(|rest| rest.split_once(") "));
        let words = within.map_or(code, |part| part.1).split('(').next().unwrap_or_default();
        if let Some((before, name)) = words.split_once("fn ") {
            let qualifiers = ["pub", "const", "unsafe", "async", "extern", "\"C\"", ""];
            let name = name.split('<').next().unwrap_or_default();
            let is_body = lines[k..]
                .iter()
                .find(|line| line.ends_with('{') || line.ends_with(';') || line.ends_with('}'))
                .is_some_and(|line| line.ends_with('{'));
            if is_body && before.split(' ').all(|word| qualifiers.contains(&word)) {
                open.push((indent, name.to_owned(), 0));
            }
        }
        if let Some(innermost) = open.last_mut() {
            innermost.2 += 1;
            if code == "}" && indent == innermost.0 {
                let (_, name, length) = open.pop().unwrap();
                found.push((name, length));
            }
        }
    }
    found
}

#[test]
fn functions_are_short_but_for_interpreters() {
    let mut long = BTreeSet::new();
    for (folder, _) in PACKAGES {
        for (path, source) in sources_of(folder) {
            let file = path.strip_prefix(root()).unwrap().display().to_string();
            for (name, length) in function_lengths(&source) {
                if length > 100 {
                    long.insert((file.clone(), name));
                }
            }
        }
    }
    let listed = LONG_FUNCTIONS.iter().map(|(file, name)| ((*file).to_owned(), (*name).to_owned()));
    assert_eq!(long, listed.collect());
    let nested =
        "pub(in crate::a) fn outer(\n    x: u8,\n) {\n    fn inner() {\n        x\n    }\n}\n";
    assert_eq!(function_lengths(nested), [("inner".to_owned(), 3), ("outer".to_owned(), 4)]);
}

/// Names that several types of one crate have on purpose, with the reason.
const SHARED_NAMES: &[(&str, &[&str], &str)] = &[(
    "dsl",
    &[
        "Alike", "Bind", "Either", "Entry", "Fill", "Fit", "Handle", "Item", "Numbers", "Numeric",
        "Ordinal", "Rows", "Whole",
    ],
    "`program!` writes one call for native values and for handles: both modules have each name",
)];

/// Types that a line of code defines: name, or none.
fn defined_type(line: &str) -> Option<&str> {
    let code = line.trim_start();
    let is_alias = |code: &str| code.starts_with("type ") && !line.starts_with(' ');
    let code = match code.strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None => code,
    };
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let rest =
        ["struct ", "enum ", "union ", "trait "].iter().find_map(|word| code.strip_prefix(word));
    let rest = rest.or_else(|| code.strip_prefix("type ").filter(|_| is_alias(code)))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    Some(&rest[..end]).filter(|name| name.starts_with(char::is_uppercase))
}

/// Somebody who searches for a name finds one type.
#[test]
fn types_of_a_crate_have_different_names() {
    let mut faults = Vec::new();
    for (folder, _) in PACKAGES {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (path, source) in sources_of(folder) {
            // What `emit` writes into Rust programs is text here.
            if !path.to_string_lossy().contains("/emit/support/") {
                for (k, line) in source.lines().enumerate() {
                    if let Some(name) = defined_type(line) {
                        let place = format!("{}:{}", path.display(), k + 1);
                        places.entry(name.to_owned()).or_default().push(place);
                    }
                }
            }
        }
        for (name, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
            let shared = SHARED_NAMES.iter().find(|shared| shared.0 == *folder);
            if !shared.is_some_and(|shared| shared.1.contains(&&*name)) {
                faults.push(format!("{name}: {}", places.join(", ")));
            }
        }
    }
    assert!(faults.is_empty(), "several types of one name:\n{}", faults.join("\n"));
    assert_eq!(defined_type("    pub(crate) struct Place<'a> {"), Some("Place"));
    assert_eq!(defined_type("pub unsafe trait Step: Send {"), Some("Step"));
    assert_eq!(defined_type("    type Real = f64;"), None);
}

#[test]
fn packages_point_inward() {
    let mut faults = Vec::new();
    for (folder, allowed) in PACKAGES {
        for (path, source) in sources_of(folder) {
            faults.extend(package_faults(folder, allowed, &path.display().to_string(), &source));
        }
    }
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// Modules of a folder of tests that no `mod` of its program declares: cargo would build and run
/// none of them.
fn undeclared(program: &str, files: impl Iterator<Item = String>) -> Vec<String> {
    let declared = |name: &str| program.lines().any(|line| line == format!("mod {name};"));
    files.filter(|name| name != "main" && !declared(name)).collect()
}

#[test]
fn every_file_of_tests_belongs_to_a_program() {
    let beside = ["core", "dsl", "config", "plugins/abi", "plugins/sdk", "plugins/host"];
    for folder in
        beside.map(|package| format!("{package}/tests")).into_iter().chain(["tests".to_owned()])
    {
        let at = root().join(&folder);
        let paths = fs::read_dir(&at).unwrap().map(|entry| entry.unwrap().path());
        let modules = paths.filter(|path| {
            path.extension().is_some_and(|e| e == "rs") || path.join("mod.rs").is_file()
        });
        // The one test program beside another.
        let modules = modules.filter(|path| !path.ends_with("tests/memory.rs"));
        let names = modules.map(|path| path.file_stem().unwrap().to_string_lossy().into_owned());
        let missing = undeclared(&fs::read_to_string(at.join("main.rs")).unwrap(), names);
        assert!(missing.is_empty(), "{folder}/main.rs does not declare {missing:?}");
    }
}

/// Files and folders that a page names in backticks, but for patterns (`core/tests/NAME.rs`).
fn named_paths(page: &str) -> Vec<&str> {
    let first = ["core", "dsl", "config", "plugins", "examples", "tests", "benches"];
    let is_path = |name: &&str| {
        let plain = name.chars().all(|c| c.is_ascii_lowercase() || "0123456789_-./".contains(c));
        plain && name.split_once('/').is_some_and(|(folder, _)| first.contains(&folder))
    };
    page.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn files_that_the_pages_name_are_there() {
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let paths = named_paths(&text);
        assert!(paths.len() > 20, "{page} names {} files", paths.len());
        let lost: Vec<&&str> = paths.iter().filter(|path| !root().join(path).exists()).collect();
        assert!(lost.is_empty(), "{page} names {lost:?}");
    }
}

/// The lock file of the package that no build here touches must still be one that `--locked` takes.
#[test]
fn the_lock_file_beside_the_workspace_has_what_core_uses() {
    let read = |file: &str| fs::read_to_string(root().join(file)).unwrap();
    let section = |text: &str, start: &str, end: &str| {
        let from = text.find(start).unwrap() + start.len();
        text[from..].split(end).next().unwrap().to_owned()
    };
    let lock = read("plugins/symbolica/Cargo.lock");
    let mut found = BTreeSet::new();
    for folder in parts().iter().map(|part| format!("core/{}", part.name)).chain(["core".into()]) {
        let text = read(&format!("{folder}/Cargo.toml"));
        let manifest = section(&text, "\n[dependencies]\n", "\n[");
        let package = section(&text, "\nname = \"", "\"");
        let locked = section(&lock, &format!("\nname = \"{package}\"\n"), "\n]");
        // Items of a feature that is not enabled are absent.
        let features = if text.contains("\n[features]\n") {
            section(&text, "\n[features]\n", "\n[")
        } else {
            String::new()
        };
        let default = features.lines().find(|line| line.starts_with("default =")).unwrap_or("");
        let on =
            |line: &&str| default.contains(&format!("\"{}\"", line.split(' ').next().unwrap()));
        let on: Vec<&str> = features.lines().filter(on).collect();
        let name = |line: &str| line.split(['.', ' ']).next().unwrap_or_default().to_owned();
        let asked = |line: &&str| {
            let dependency = format!("\"dep:{}\"", name(line));
            !line.contains("optional = true")
                || on.iter().any(|feature| feature.contains(&dependency))
        };
        let used: Vec<String> = manifest.lines().filter(asked).map(name).collect();
        let missing: Vec<&String> = used
            .iter()
            .filter(|name| !locked.contains(&format!("\n \"{name}")) && !name.is_empty())
            .collect();
        assert!(
            missing.is_empty(),
            "run `cargo update --workspace` in plugins/symbolica: {missing:?}"
        );
        found.extend(used);
    }
    assert!(["num-traits", "rayon"].iter().all(|name| found.contains(*name)), "{found:?}");
}

#[test]
fn the_table_has_no_cycles() {
    let table = modules();
    for (i, (module, used)) in table.iter().enumerate() {
        for used in used {
            let before = table[..i].iter().any(|row| row.0 == *used);
            assert!(before, "{module} uses {used}, which is not before it");
        }
    }
}

#[test]
fn the_check_itself_can_fail() {
    let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let mut table: Vec<_> = ["basis", "matrix", "scalar", "gate", "state", "simulate"]
        .map(|name| (name.to_owned(), vec![]))
        .into();
    table.push(("kernel".to_owned(), names(&["basis", "matrix", "scalar"])));
    let faults =
        |source: &str| module_faults("kernel", &table, ("kernel.rs", source), &mut BTreeSet::new());
    assert_eq!(faults("use crate::scalar::Ring;\nuse crate::kernel::place;\n"), [""; 0]);
    assert_eq!(faults("\nuse crate::gate::Gate;\n"), ["kernel.rs:2: kernel must not use gate"]);
    let nested = "use crate::{\n    basis::{deposit, circuit},\n    // state is only prose\n    state::StateVector,\n};\n";
    assert_eq!(faults(nested), ["kernel.rs:4: kernel must not use state"]);
    assert_eq!(
        faults("fn f() { crate::simulate::run() }"),
        ["kernel.rs:1: kernel must not use simulate"]
    );
    assert_eq!(faults("use std::fs;\n"), ["kernel.rs:1: core must not use std::fs"]);
    assert_eq!(faults("//! println!(\"prose\") of crate::state\n"), [""; 0]);
    let faults = package_faults(
        "core",
        &[],
        "a.rs",
        "use num_complex::Complex;\nuse ketgrad_config::Options;\n",
    );
    assert_eq!(faults, ["a.rs:2: core must not use ketgrad_config"]);
    let found = unlisted(&names(&["a/b.rs", "c/", "d/"]), &names(&["a/b.rs", "c/d.rs", "e.rs"]));
    assert_eq!(found, ["e.rs is in no line", "d/ has nothing of the kind"]);
    let files = ["main", "array", "jit"].map(str::to_owned);
    assert_eq!(undeclared("mod array;\n// mod jit;\n", files.into_iter()), ["jit"]);
}
