//! The verb `info`.

use crate::support::{Folder, keys};

#[test]
fn everything_is_there() {
    let folder = Folder::new();
    let ran = folder.run(&["info", "--json", "--threads", "3", "--memory-limit", "2GiB"]).done();
    let expected =
        ["version", "cpu_features", "threads", "memory", "backends", "features", "seconds"];
    assert_eq!(keys(&ran.out), expected);
    let json = ran.json();
    assert_eq!(json["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(json["threads"], 3);
    assert_eq!(json["memory"]["limit"], 2u64 << 30);
    assert_eq!(json["backends"][0]["name"], "fast");
    let names = |key: &str| -> Vec<String> {
        let list = json["cpu_features"][key].as_array().unwrap();
        list.iter().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let (detected, in_use) = (names("detected"), names("in_use"));
    assert!(in_use.iter().all(|name| detected.contains(name)), "{in_use:?} of {detected:?}");
    let has = |list: &[String], name: &str| list.iter().any(|n| n == name);
    assert_eq!(has(&in_use, "avx2"), has(&detected, "avx2") && has(&detected, "fma"));
    if cfg!(target_os = "linux") {
        let memory = |key: &str| json["memory"][key].as_u64().unwrap();
        assert!(memory("available") <= memory("total"));
    }
}

#[test]
fn text_names_the_same() {
    let out = Folder::new().run(&["info"]).done().out;
    for word in ["version", "processor", "threads", "memory", "fast", "built with"] {
        assert!(out.contains(word), "{out}");
    }
}
