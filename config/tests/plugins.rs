//! `--config` with plugins, and the verb `plugins`.
#![allow(clippy::unwrap_used, reason = "a test ends where it cannot go on")]

use std::path::Path;

use ketgrad_config::terminal::Terminal;
use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Limits, Machine},
    ir::Program,
    text::parse_program_with,
    trace::{Callee, Expr, TraceError, trace},
};
use ketgrad_plugin_host::sha256_of;
use num_complex::Complex;
use num_dual::HyperDual64;

use crate::{libraries, support::Folder};

/// Rounding of a few operations.
const ROUNDING: f64 = 1e-13;

/// A path as a TOML string, without the ending of a library.
fn path(library: &Path) -> String {
    format!("'{}'", library.display())
}

/// A config with the special functions and a rule that is a program.
fn config(folder: &Folder) {
    let special = path(&libraries::plugin("ketgrad_special"));
    let text = format!(
        "[plugins]\ncheck = 'finite'\n\n[[plugin]]\nname = 'special'\npath = {special}\n\n[[rule]]\nprogram = '''\n\
         rule softplus(x) {{ ln(1.0 + exp(x)) }}\npullback(x, y, y_bar) {{ y_bar / (1.0 + exp(-x)) }}\n'''\n"
    );
    folder.file("c.toml", text);
}

#[test]
fn a_program_uses_a_plugin_and_a_rule_of_the_config() {
    let folder = Folder::new();
    config(&folder);
    let program = "fn f(a, b) { erf(a * b) + softplus(a) }";
    let args = [
        "diff",
        "--config",
        "c.toml",
        "-e",
        program,
        "--at",
        "a=0.7,b=-0.4",
        "--order",
        "2",
        "--json",
    ];
    let json = folder.run(&args).json();
    let (a, b): (f64, f64) = (0.7, -0.4);
    let slope = 2.0 / std::f64::consts::PI.sqrt() * (-(a * b) * (a * b)).exp();
    let sigmoid = 1.0 / (1.0 + (-a).exp());
    let close = |given: &serde_json::Value, expected: f64| {
        assert!((given.as_f64().unwrap() - expected).abs() < ROUNDING, "{given} {expected}");
    };
    close(&json["gradient"]["a"], slope * b + sigmoid);
    close(&json["gradient"]["b"], slope * a);
    close(&json["hessian"]["a"]["b"], slope - 2.0 * a * b * a * b * slope);
    close(&json["hessian"]["b"]["b"], -2.0 * a * b * slope * a * a);

    // Every engine agrees on it.
    folder.file("f.kg", program);
    let checked = folder
        .run(&["check", "f.kg", "--config", "c.toml", "--at", "a=0.7,b=-0.4", "--json"])
        .json();
    assert_eq!(checked["agree"], true, "{checked}");
    // Without the config the name is unknown.
    folder
        .run(&["diff", "-e", "fn f(x) { lambert_w(x) }", "--at", "x=0.7"])
        .fails(1, &["no function `lambert_w`"]);
}

#[test]
fn list_verify_and_hash() {
    let folder = Folder::new();
    config(&folder);
    let special = libraries::plugin("ketgrad_special");
    let listed = folder.run(&["plugins", "list", "--config", "c.toml", "--json"]).json();
    let plugin = &listed["plugins"][0];
    assert_eq!(
        (&plugin["name"], &plugin["loaded"], &plugin["reason"]),
        (&"special".into(), &true.into(), &"".into())
    );
    assert!(plugin["rules"].as_array().unwrap().iter().any(|r| r == "erf"), "{plugin}");
    assert!(
        folder
            .run(&["plugins", "list", "--config", "c.toml"])
            .done()
            .out
            .contains("special  special 0.1.0 from ")
    );
    assert!(folder.run(&["plugins", "list"]).done().out.starts_with("no plugins"));

    let verified = folder.run(&["plugins", "verify", "--config", "c.toml", "--json"]).json();
    let verdicts = verified["verdicts"].as_array().unwrap();
    assert!(verdicts.len() > 15 && verdicts.iter().all(|v| v["agrees"] == true), "{verified}");

    let sha256 = sha256_of(&special).unwrap();
    let file = special.display().to_string();
    assert_eq!(folder.run(&["plugins", "hash", &file]).done().out, format!("{sha256}  {file}\n"));
    let hashed = folder.run(&["plugins", "hash", "--config", "c.toml", "--json"]).json();
    assert_eq!(hashed["plugins"][0]["sha256"], *sha256);
    folder.run(&["plugins", "hash"]).fails(2, &["--config"]);
    folder.run(&["plugins", "hash", "nowhere.so"]).fails(1, &["nowhere.so"]);
    folder.run(&["plugins"]).fails(2, &["list"]);
}

/// Refused by `verify`: a rule whose program is not the derivative of its kernel.
#[test]
fn a_rule_that_disagrees_is_status_3() {
    let folder = Folder::new();
    let hostile = path(&libraries::plugin("ketgrad_hostile"));
    folder.file("c.toml", format!("[[plugin]]\nname = 'bad'\npath = {hostile}\n"));
    let ran = folder.run(&["plugins", "verify", "--config", "c.toml"]);
    assert_eq!(ran.status, Some(3), "{ran:#?}");
    // Its pushforward comes from the pullback.
    assert!(ran.out.contains("liar") && ran.out.contains("its pullback gives"), "{ran:#?}");
    assert!(ran.out.contains("its kernel gives no finite number, its program 0."), "{ran:#?}");
    // Anything else does not start with it, unless the config says that it may be left out.
    let diff = ["diff", "-e", "fn f(x) { x }", "--at", "x=1", "--config", "c.toml"];
    folder.run(&diff).fails(1, &["plugin `bad`", "rule `liar`", "[c.toml:3:8]"]);
    folder.file("c.toml", format!("[[plugin]]\nname = 'bad'\npath = {hostile}\noptional = true\n"));
    let ran = folder.run(&diff).done();
    assert!(ran.err.contains("plugin `bad` is left out"), "{ran:#?}");
    let listed = folder.run(&["plugins", "list", "--config", "c.toml", "--json"]).json();
    assert_eq!(listed["plugins"][0]["loaded"], false);
    // A panic in a rule names rule, plugin and place.
    folder.file(
        "c.toml",
        format!("[[plugin]]\nname = 'bad'\npath = {hostile}\nrules = {{ only = ['panics'] }}\n"),
    );
    let panics =
        ["diff", "-e", "fn f(x) { 1.0 + 0.0 * panics(x) }", "--at", "x=7", "--config", "c.toml"];
    folder.run(&panics).fails(1, &["panics"]);
}

/// A gradient passed straight through a rounding, where differences are 0.
#[test]
fn a_rule_that_is_not_the_derivative_says_so() {
    let folder = Folder::new();
    let rule =
        "[[rule]]\nprogram = 'rule rounded(x) { round(x) } pullback(x, y, y_bar) { y_bar }'\n";
    folder.file("c.toml", rule);
    let diff = [
        "diff",
        "--config",
        "c.toml",
        "-e",
        "fn f(x) { 3.0 * rounded(x) }",
        "--at",
        "x=1.3",
        "--json",
    ];
    folder
        .run(&diff)
        .fails(1, &["rule `rounded`", "pullback gives", "`verify = false`", "[c.toml:1:"]);
    folder.file("c.toml", format!("{rule}verify = false\n"));
    let given = folder.run(&diff).json();
    assert_eq!(
        (given["value"].as_f64(), given["gradient"]["x"].as_f64()),
        (Some(3.0), Some(3.0)),
        "{given}"
    );
    let verified = folder.run(&["plugins", "verify", "--config", "c.toml"]).done();
    assert!(verified.out.contains("rounded  not compared: it is not meant to be"), "{verified:#?}");
}

/// Rules without plugins are verified as those of plugins are.
#[test]
fn a_config_of_rules_alone_is_verified() {
    let folder = Folder::new();
    let rule = |factor: &str| {
        format!(
            "[[rule]]\nprogram = 'rule square(x) {{ x * x }} pullback(x, y, y_bar) {{ {factor} * x * y_bar }}'\n"
        )
    };
    folder.file("c.toml", rule("2.0"));
    let verified = folder.run(&["plugins", "verify", "--config", "c.toml"]).done();
    let rules = "[[rule]] of c.toml\n  rules    square\n";
    assert!(verified.out.starts_with(&format!("{rules}square  agrees in ")), "{verified:#?}");
    let listed = folder.run(&["plugins", "list", "--config", "c.toml"]).done();
    assert_eq!(listed.out, rules);
    folder.file("c.toml", rule("3.0"));
    let refused = folder.run(&["plugins", "verify", "--config", "c.toml"]);
    assert_eq!(refused.status, Some(3), "{refused:#?}");
    assert!(
        refused.out.contains("\nsquare  at ") && refused.out.contains("pullback gives"),
        "{refused:#?}"
    );
}

/// A rule that is wrong is said whatever became of the plugins, and with what it may be for.
#[test]
fn a_wrong_rule_is_not_hidden_by_plugins() {
    let folder = Folder::new();
    let special = path(&libraries::plugin("ketgrad_special"));
    let plugins = format!(
        "[[plugin]]\nname = 's'\npath = {special}\n[[plugin]]\nname = 't'\npath = 'none'\noptional = true\n"
    );
    folder.file("c.toml", format!("{plugins}[[rule]]\nprogram = 'fn twice(x) {{ sine(x) }}'\n"));
    for verb in ["list", "verify"] {
        folder
            .run(&["plugins", verb, "--config", "c.toml"])
            .fails(1, &["no function `sine`", "help: plugin `t` is not loaded: no such file"]);
    }
}

/// A rule has places of another text: what goes wrong in it is where the program calls it.
#[test]
fn an_error_in_a_rule_is_where_it_is_called() {
    let folder = Folder::new();
    for body in ["{ xs[5] }", "{ if len(xs) > 9 { third(xs) } else { xs[5] } }"] {
        let rule =
            format!("rule third(xs: array) -> real {body} pullback(xs, y, y_bar) {{ [y_bar] }}");
        folder.file("c.toml", format!("[[rule]]\nverify = false\nprogram = '{rule}'\n"));
        folder.file("f.kg", "fn f(xs: array) {\n  2.0 * third(xs)\n}\n");
        folder.run(&["diff", "f.kg", "--config", "c.toml", "--at", "xs=[1,2]"]).fails(
            1,
            &["  × index 5 of an array of 2 elements", "[f.kg:2:9]", "2 │   2.0 * third(xs)", "─"],
        );
    }
}

#[test]
fn faults_of_the_config_are_underlined() {
    let folder = Folder::new();
    let special = path(&libraries::plugin("ketgrad_special"));
    let zeros = "0".repeat(64);
    for (text, words) in [
        (
            "[[plugin]]\npth = 'a'\n".to_owned(),
            vec!["unknown key `plugin.pth`", "[c.toml:2:1]", "`path`"],
        ),
        ("[plugins]\nchek = 'off'\n".to_owned(), vec!["unknown key `plugins.chek`", "`check`"]),
        ("[[plugn]]\npath = 'a'\n".to_owned(), vec!["unknown key `plugn`", "`plugin`"]),
        ("[[plugin]]\nname = 'a'\n".to_owned(), vec!["needs `path`", "[c.toml:1:"]),
        (
            "[[plugin]]\nname = 'a'\npath = '.'\n".to_owned(),
            vec!["the path `", "names no file", "[c.toml:1:"],
        ),
        (
            "[[plugin]]\npath = 'a'\n[[plugin]]\npath = 'more/a'\n".to_owned(),
            vec!["a plugin `a` already", "`name = \"…\"`", "[c.toml:4:8]"],
        ),
        ("[plugin]\npath = 'a'\n".to_owned(), vec!["each begun by [[plugin]]"]),
        (
            "[plugins]\ncache = 3\n".to_owned(),
            vec!["`plugins.cache`: expected true, false or a folder", "[c.toml:2:9]"],
        ),
        ("[plugins]\ncheck = 'all'\n".to_owned(), vec!["\"shape\"", "[c.toml:2:9]"]),
        ("[[plugin]]\npath = 'a'\nsha256 = 'abc'\n".to_owned(), vec!["64 hexadecimal digits"]),
        ("[[plugin]]\npath = 'a'\nrules = { onyl = ['f'] }\n".to_owned(), vec!["{ only = [...] }"]),
        (
            "[[plugin]]\npath = 'a'\npriority = 99999999999\n".to_owned(),
            vec!["a whole number of 32 bits", "[c.toml:3:"],
        ),
        ("[[rule]]\n".to_owned(), vec!["either `program` or `file`"]),
        ("\n[[rule]]\nfile = 'no.kg'\n".to_owned(), vec!["no.kg", "[c.toml:2:"]),
        (
            "[[rule]]\nprogram = 'fn let(x) { x }'\n".to_owned(),
            vec!["`let`", "program of a [[rule]]"],
        ),
        (
            "[[rule]]\nprogram = 'fn f(x) { sine(x) }'\n".to_owned(),
            vec!["no function `sine`: did you mean `sin`?"],
        ),
        (
            "[[rule]]\nprogram = 'fn sin(x) { x }'\n".to_owned(),
            vec!["has a function of that name", "[c.toml:1:"],
        ),
        (
            "[[rule]]\nprogram = 'rule f(x) { x * x } pullback(x, y, y_bar) { y_bar }'\n"
                .to_owned(),
            vec![
                "rule `f`",
                "pullback gives",
                "differences give",
                "`verify = false`",
                "[c.toml:1:",
            ],
        ),
        (
            "[plugins]\nsearch = ['more']\n[[plugin]]\npath = 'foo'\n".to_owned(),
            vec!["no such file", "more/", "foo"],
        ),
        (
            format!("[[plugin]]\nname = 's'\npath = {special}\nsha256 = '{zeros}'\n"),
            vec!["sha256", &zeros],
        ),
        (
            format!("[plugins]\nrequire_sha256 = true\n[[plugin]]\nname = 's'\npath = {special}\n"),
            vec!["require_sha256 is set"],
        ),
        (
            format!("[[plugin]]\nname = 's'\npath = {special}\nrules = {{ only = ['erv'] }}\n"),
            vec!["names the rule `erv`", "`erf`"],
        ),
        (
            format!(
                "[[plugin]]\nname = 's'\npath = {special}\n[[plugin]]\nname = 't'\npath = {special}\n"
            ),
            vec!["already there, from plugin `s`", "[c.toml:6:8]"],
        ),
    ] {
        folder.file("c.toml", &text);
        let ran = folder.run(&["diff", "-e", "fn f(x) { x }", "--at", "x=1", "--config", "c.toml"]);
        ran.fails(1, &words);
    }
}

/// Errors of a library or of a rule of it, by config and command line.
#[test]
fn faults_of_plugins_are_said_in_words() {
    let folder = Folder::new();
    let source = libraries::workspace().join("plugins/host/tests/hostile.c");
    let in_c = |definition: &str| {
        let name = format!("cli_{}", definition.replace('=', ""));
        path(&libraries::c_plugin(&source, &name, &[definition]))
    };
    let hostile = path(&libraries::plugin("ketgrad_hostile"));
    folder.file("text.so", "not a library");
    let plugin = |path: &str, more: &str| format!("[[plugin]]\nname = 'it'\npath = {path}\n{more}");
    let (twice, idle) = ("fn f(x) { let y = twice([x, x]); y[0] + y[1] }", "fn f(x) { x }");
    for (config, program, words) in [
        // The file.
        (plugin("'text.so'", ""), idle, vec!["text.so is not a library", "[c.toml:5:8]"]),
        (
            plugin(&in_c("NOT_A_PLUGIN"), ""),
            idle,
            vec!["is a library but not a plugin", "[c.toml:5:8]"],
        ),
        (plugin(&in_c("BAD_MAGIC"), ""), idle, vec!["not a plugin's descriptor"]),
        (
            plugin(&in_c("THIS_MAJOR=2"), ""),
            idle,
            vec!["version 2 of the plugin interface", "has version 1"],
        ),
        (plugin(&in_c("NEEDS=9"), ""), idle, vec!["needs version 1.9"]),
        // Registration.
        (
            plugin(&hostile, "[plugin.options]\ninit = 'panic'\n"),
            idle,
            vec!["it panicked: a panic while it registers at ", "lib.rs:", "[c.toml:5:8]"],
        ),
        (plugin(&hostile, "[plugin.options]\ninit = 'error'\n"), idle, vec!["no licence"]),
        (
            plugin(&hostile, "kernels = { only = ['k'] }\n"),
            idle,
            vec!["names the kernel `k`", "it has none"],
        ),
        (plugin(&in_c("BAD_PROGRAM"), ""), idle, vec!["rule `square`", "did you mean `kernel`"]),
        // Calls.
        (plugin(&in_c("RANK"), ""), twice, vec!["twice", "1000 dimensions", "plugin `it`"]),
        (plugin(&in_c("HUGE_SHAPE"), ""), twice, vec!["at most 100000000 elements"]),
        (plugin(&in_c("OVERRUN"), ""), twice, vec!["wrote past the end of its result, 2 elements"]),
    ] {
        // What a call shows is not to be found when the plugin is loaded.
        let config = format!("[plugins]\nverify = false\n{config}");
        folder.file("c.toml", &config);
        folder.run(&["diff", "-e", program, "--at", "x=7", "--config", "c.toml"]).fails(1, &words);
    }
}

/// A config with `special` and a rule, and one function of both on every kind of number: closed
/// forms.
#[test]
fn a_config_serves_every_scalar() {
    let folder = Folder::new();
    config(&folder);
    let file = folder.path("c.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let document = toml::de::DeTable::parse(&text).unwrap();
    let table =
        ketgrad_config::plugins_table::read(&file.display().to_string(), &text, document.get_ref())
            .unwrap();
    let plugins = table.load(&Terminal::new(true)).unwrap();
    let host = plugins.host();
    let (a, b) = (0.7f64, -0.4f64);

    // f = erf(a b) + softplus(a)
    let slope = |t: f64| 2.0 / std::f64::consts::PI.sqrt() * (-t * t).exp();
    let sigmoid = 1.0 / (1.0 + (-a).exp());
    let (first, second) = (slope(a * b), -2.0 * a * b * slope(a * b));
    // The series of erf.
    let (mut term, mut erf) = (a * b, 0.0);
    for k in 0..25 {
        erf += term / f64::from(2 * k + 1);
        term *= -(a * b).powi(2) / f64::from(k + 1);
    }
    let value = erf * 2.0 / std::f64::consts::PI.sqrt() + a.exp().ln_1p();
    let gradient = [first * b + sigmoid, first * a];
    let hessian = [
        [second * b * b + sigmoid * (1.0 - sigmoid), second * a * b + first],
        [0.0, second * a * a],
    ];
    let close = |given: f64, expected: f64| {
        assert!((given - expected).abs() < ROUNDING, "{given} {expected}")
    };

    let source = "fn f(a, b) { erf(a * b) + softplus(a) }";
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let whole = |program: &Program| {
        let at = [Datum::Real(a), Datum::Real(b)];
        let mut f = Derivatives::<f64>::new(program, "f").unwrap().with_host(&*host);
        let (y, by) = f.value_and_gradient(&at).unwrap();
        let second = f.hessian(&at).unwrap();
        close(y, value);
        (0..2).for_each(|k| close(*by[k].real().unwrap(), gradient[k]));
        [(0, 0), (0, 1), (1, 1)].iter().for_each(|&(i, j)| close(second[i][j], hessian[i][j]));
    };
    whole(&program);

    // Complex scalars: the real program, and one through the complex rule, |erf(a + i b)|^2 +
    // softplus(a).
    let at = [Datum::Real(a), Datum::Real(b)];
    let mut f = Derivatives::<Complex<f64>>::new(&program, "f").unwrap().with_host(&*host);
    close(*f.gradient(&at).unwrap()[1].real().unwrap(), gradient[1]);
    let source = "fn g(a, b) { abs2(erf(complex(a, b))) + softplus(a) }";
    let on_complex = parse_program_with(source, plugins.rules()).unwrap();
    let mut g = Derivatives::<Complex<f64>>::new(&on_complex, "g").unwrap().with_host(&*host);
    let z = Complex::new(a, b);
    let (mut term, mut w) = (z, Complex::new(0.0, 0.0));
    for k in 0..40 {
        w += term / f64::from(2 * k + 1);
        term *= -z * z / f64::from(k + 1);
    }
    let w = w * 2.0 / std::f64::consts::PI.sqrt();
    let first = (-z * z).exp() * 2.0 / std::f64::consts::PI.sqrt();
    let second = -2.0 * z * first;
    let (y, by) = g.value_and_gradient(&at).unwrap();
    close(y, w.norm_sqr() + a.exp().ln_1p());
    // w' conj(w), and by b i times that: 2 re, -2 im.
    let mixed = first * w.conj();
    close(*by[0].real().unwrap(), 2.0 * mixed.re + sigmoid);
    close(*by[1].real().unwrap(), -2.0 * mixed.im);
    let curved = second * w.conj();
    let given = g.hessian(&at).unwrap();
    close(given[0][0], 2.0 * (first.norm_sqr() + curved.re) + sigmoid * (1.0 - sigmoid));
    close(given[0][1], -2.0 * curved.im);
    close(given[1][1], 2.0 * (first.norm_sqr() - curved.re));

    // Numbers that carry derivatives.
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    let number = |re, by_a, by_b| Datum::Real(HyperDual64::new(re, by_a, by_b, 0.0));
    let at = [number(a, 1.0, 0.0), number(b, 0.0, 1.0)];
    let y = code.call(&mut Machine::<HyperDual64>::new(), &*host, &Limits::default(), &at).unwrap();
    let y: HyperDual64 = *y.real().unwrap();
    close(y.re, value);
    close(y.eps1, gradient[0]);
    close(y.eps2, gradient[1]);
    close(y.eps1eps2, hessian[0][1]);

    // Symbols: recorded, printed, differentiated.
    let rule =
        |name: &str| Callee::registered(plugins.rules(), name).unwrap().with_host(plugins.host());
    let (erf, softplus) = (rule("erf"), rule("softplus"));
    let f = |(a, b): (Expr, Expr)| {
        Ok::<_, TraceError>(erf.call(&[a.clone() * &b])? + softplus.call(&[a])?)
    };
    let recorded = trace("f", &["a", "b"], |x| f(x).unwrap()).unwrap();
    assert_eq!(recorded.compact(), "f(a, b) = erf(a*b) + softplus(a)");
    whole(recorded.program());
}

/// A rule that fails in every call is no rule that could not be compared.
#[test]
fn a_rule_that_always_fails_is_status_3() {
    let folder = Folder::new();
    let source = libraries::workspace().join("plugins/host/tests/hostile.c");
    let verify = ["plugins", "verify", "--config", "c.toml"];
    for (definition, words) in [("OVERRUN", "wrote past the end"), ("NAMELESS_ERROR", "status 77")]
    {
        let library =
            path(&libraries::c_plugin(&source, &format!("verify_{definition}"), &[definition]));
        folder.file("c.toml", format!("[[plugin]]\nname = 'it'\npath = {library}\n"));
        let ran = folder.run(&verify);
        assert_eq!(ran.status, Some(3), "{ran:#?}");
        assert!(
            ran.out.contains("twice   at [0.35, 0.8, 1.7] its kernel fails")
                && ran.out.contains(words),
            "{ran:#?}"
        );
        let json: serde_json::Value =
            serde_json::from_str(&folder.run(&[&verify[..], &["--json"]].concat()).out).unwrap();
        let twice =
            json["verdicts"].as_array().unwrap().iter().find(|v| v["rule"] == "twice").unwrap();
        assert_eq!(twice["agrees"], false, "{json}");
        let diff = ["diff", "-e", "fn f(x) { x }", "--at", "x=1", "--config", "c.toml"];
        folder.run(&diff).fails(1, &["plugin `it`", "rule `twice`", words]);
    }
}

/// A kernel on numbers without a program: the rule, its plugin and what to do.
#[test]
fn a_rule_without_a_derivative_is_named() {
    let folder = Folder::new();
    let hostile = path(&libraries::plugin("ketgrad_hostile"));
    let text =
        format!("[[plugin]]\nname = 'bad'\npath = {hostile}\nrules = {{ only = ['panics'] }}\n");
    folder.file("c.toml", text);
    folder.file("f.kg", "fn f(x) { panics(x) }\n");
    for verb in ["diff", "check"] {
        let ran = folder.run(&[verb, "f.kg", "--at", "x=0.5", "--config", "c.toml"]);
        ran.fails(
            1,
            &["the rule `panics`", "the plugin `bad` has a kernel and no derivative", ".program("],
        );
    }
    let verified = folder.run(&["plugins", "verify", "--config", "c.toml"]).done();
    assert!(verified.out.contains("panics  not compared: the rule `panics`"), "{verified:#?}");
}

/// Kernels and devices run circuits, and `info` says who was chosen.
#[test]
fn circuits_run_on_the_kernels_of_the_config() {
    let folder = Folder::new();
    let device = path(&libraries::mock_device());
    folder.file("c.toml", format!("[[plugin]]\nname = 'mock'\npath = {device}\npriority = 1\n"));
    folder.file("low.toml", format!("[[plugin]]\nname = 'mock'\npath = {device}\n"));
    let values = ["--set", "theta=0.3", "--set", "w[0]=0.2", "--set", "w[1]=-0.5"];
    let with = |verb: &[&str], config: &str| {
        let args: Vec<&str> =
            verb.iter().chain(&values).copied().chain(["--config", config, "--json"]).collect();
        folder.run(&args).json()
    };
    let run = ["run", "ansatz.qasm", "--observable", "Z0 Z1"];
    let (on_device, built_in) = (with(&run, "c.toml"), with(&run, "low.toml"));
    assert_eq!(
        (on_device["backend"].as_str(), built_in["backend"].as_str()),
        (Some("mock"), Some("fast"))
    );
    let value = |json: &serde_json::Value| json["expectations"][0]["value"].as_f64().unwrap();
    assert!((value(&on_device) - value(&built_in)).abs() < ROUNDING);
    let grad = ["grad", "ansatz.qasm", "--observable", "Z0 + X1"];
    let (on_device, built_in) = (with(&grad, "c.toml"), with(&grad, "low.toml"));
    for name in ["theta", "w[0]", "w[1]"] {
        let of = |json: &serde_json::Value| json["gradient"][name].as_f64().unwrap();
        assert!((of(&on_device) - of(&built_in)).abs() < ROUNDING, "{name}");
    }
    let info = folder.run(&["info", "--config", "c.toml", "--json"]).json();
    let mock = info["backends"].as_array().unwrap().iter().find(|b| b["name"] == "mock").unwrap();
    assert_eq!(mock["chosen"], true);
    let info = folder.run(&["info", "--config", "low.toml"]).done().out;
    assert!(info.contains("mock (not chosen)"), "{info}");
}

/// A rule that gives no number anywhere was not compared, and the reason says what it gave.
#[test]
fn a_rule_without_values_is_not_said_to_agree() {
    let folder = Folder::new();
    let rule = "[[rule]]\nprogram = 'rule far(x) { ln(x - 100.0) } pullback(x, y, y_bar) { y_bar / (x - 100.0) }'\n";
    folder.file("c.toml", rule);
    let verify = ["plugins", "verify", "--config", "c.toml"];
    let text = folder.run(&verify).done().out;
    assert!(
        text.contains("far  not compared: it has no value at any point that was tried: at 0.35"),
        "{text}"
    );
    let json = folder.run(&[&verify[..], &["--json"]].concat()).json().to_string();
    assert!(json.contains(r#""agrees":null"#) && json.contains(r#""comparisons":0"#), "{json}");
}
