//! Checks around every call: the memory beside results, inputs, the processor's modes, and
//! what is never freed.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{hint::black_box, path::Path};

use ketgrad_core::{
    exec::{Bytecode, Datum, Derivatives, Executable, Host, HostError, Limits, Machine, RunError},
    ir::{Kind, Primitive},
    kernel::{Executor, Operator, Threads},
    matrix::Matrix,
    text::parse_program_with,
};
use ketgrad_plugin_host::{Check, Plugins, Request, Selection, Settings};
use num_complex::Complex;

use crate::support;

type C = Complex<f64>;

/// The plugin with definitions and options; its kernels are checked so.
fn wreck(definitions: &[&str], options: &[(&str, &str)], check: Check) -> Plugins {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wreck.c");
    let path = support::c_plugin(&source, "wreck", definitions);
    let mut plugins = Plugins::new(Settings::default().with_check(check).with_verify(false));
    let options = options.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    plugins
        .load(
            &Request::default()
                .with_name("it".to_owned())
                .with_candidates(vec![path])
                .with_options(options),
        )
        .unwrap();
    plugins
}

fn call<S: ketgrad_core::scalar::Scalar>(
    plugins: &Plugins,
    source: &str,
    x: Datum<S>,
) -> Result<Datum<S>, RunError>
where
    Bytecode: Executable<S>,
    ketgrad_plugin_host::Loaded: Host<S>,
{
    let program = parse_program_with(source, plugins.rules()).unwrap();
    let code = Bytecode::compile(&program, program.lookup("f").unwrap()).unwrap();
    code.call(&mut Machine::new(), &*plugins.host(), &Limits::default(), &[x])
}

const REAL: &str = "fn f(x) { square(x) }";
const COMPLEX: &str = "fn f(z: complex) { square_complex(z) }";
const ARRAY: &str = "fn f(xs: array) { twice(xs) }";

/// A kernel that writes two numbers where there is room for one, or to what it is to read.
#[test]
fn kernels_on_numbers_that_write_too_much() {
    let z = C::new(1.0, 2.0);
    for (definition, words) in [
        ("BEHIND", "it wrote beside its result, which is one number"),
        ("BEFORE", "it wrote beside its result, which is one number"),
        ("INPUT", "it wrote to its inputs, which are the host's"),
    ] {
        let plugins = wreck(&[definition], &[], Check::Shape);
        let real = call::<f64>(&plugins, REAL, Datum::Real(3.0)).unwrap_err().to_string();
        let complex = call::<C>(&plugins, COMPLEX, Datum::Complex(z)).unwrap_err().to_string();
        for (error, rule) in [(real, "square"), (complex, "square_complex")] {
            let named = error.contains("plugin `it`") && error.contains(&format!("`{rule}`"));
            assert!(named && error.contains(words), "{definition}: {error}");
        }
    }
    // That it failed, too, does not hide it.
    let plugins = wreck(&["BEHIND_AND_ERROR"], &[], Check::Shape);
    let error = call::<f64>(&plugins, REAL, Datum::Real(3.0)).unwrap_err().to_string();
    assert!(error.contains("it wrote beside its result"), "{error}");
    // What is right passes, whatever is checked.
    for check in [Check::Off, Check::Shape, Check::Finite] {
        let plugins = wreck(&[], &[], check);
        assert_eq!(call::<f64>(&plugins, REAL, Datum::Real(3.0)).unwrap(), Datum::Real(9.0));
        let squared = call::<C>(&plugins, COMPLEX, Datum::Complex(z)).unwrap();
        assert_eq!(squared, Datum::Complex(C::new(-3.0, 4.0)));
        assert_eq!(
            call::<f64>(&plugins, ARRAY, Datum::reals(vec![1.0, 2.0])).unwrap(),
            Datum::reals(vec![2.0, 4.0])
        );
    }
}

/// Looking at all of an array costs as much as a kernel that adds it up: only where all is looked
/// at anyway.
#[test]
fn kernels_on_arrays_that_write_to_their_inputs() {
    let xs = || Datum::reals(vec![1.0, 2.0]);
    let error =
        call::<f64>(&wreck(&["INPUT"], &[], Check::Finite), ARRAY, xs()).unwrap_err().to_string();
    assert!(error.contains("it wrote to its inputs"), "{error}");
    // A copy is all that it has.
    let given = xs();
    assert_eq!(
        call::<f64>(&wreck(&["INPUT"], &[], Check::Shape), ARRAY, given.clone()).unwrap(),
        Datum::reals(vec![2.0, 4.0])
    );
    assert_eq!(given, xs());
}

/// Bits that the processor makes of a third, of its negative, and of a denormal number.
fn modes() -> [u64; 3] {
    let (one, three) = (black_box(1.0f64), black_box(3.0f64));
    let tiny = black_box(f64::MIN_POSITIVE);
    [(one / three).to_bits(), (-one / three).to_bits(), (tiny / 4.0).to_bits()]
}

/// Each of the functions of a plugin leaves another rounding mode and denormal numbers flushed.
#[test]
fn modes_of_the_processor_are_put_back_after_every_call() {
    let usual = modes();
    for at in ["init", "scalar", "complex", "infer", "forward", "pullback", "free_tape", "*"] {
        let plugins = wreck(&[], &[("at", at), ("how", "modes")], Check::Shape);
        assert_eq!(modes(), usual, "{at}");
        // Primitives one by one, so that no later call puts back what an earlier one left.
        let host = plugins.host();
        let primitive = |name: &str| {
            let program = plugins.rules().program();
            program.primitives.values().find(|p| p.name == name).unwrap().clone()
        };
        let number: Option<Result<f64, HostError>> =
            Host::<f64>::number(&*host, &primitive("square.kernel"), &[3.0]);
        assert_eq!((number, modes()), (Some(Ok(9.0)), usual), "{at}");
        let z: Datum<C> = Datum::Complex(C::new(0.0, 2.0));
        let of = |p: &Primitive, args: &[Datum<C>]| Host::<C>::call(&*host, p, args).unwrap();
        assert_eq!(
            of(&primitive("square_complex.complex.kernel"), &[z]),
            Datum::Complex(C::new(-4.0, 0.0))
        );
        assert_eq!(modes(), usual, "{at}");
        let xs = Datum::<f64>::reals(vec![1.0, 2.0]);
        Host::<f64>::call(&*host, &primitive("twice.kernel"), std::slice::from_ref(&xs)).unwrap();
        assert_eq!(modes(), usual, "{at}");
        let pullback = primitive("twice.kernel.pullback");
        assert_eq!(pullback.params[0], Kind::Array(ketgrad_core::ir::Element::Real));
        Host::<f64>::call(&*host, &pullback, &[xs.clone(), xs.clone(), xs]).unwrap();
        assert_eq!(modes(), usual, "{at}");
        // What a program calls, too, and the note that names the rule.
        let program = parse_program_with("fn f(x) { square(x) }", plugins.rules()).unwrap();
        let (y, slope) = Derivatives::<f64>::new(&program, "f")
            .unwrap()
            .with_host(&*host)
            .value_and_gradient(&[Datum::Real(3.0)])
            .unwrap();
        assert_eq!((y, &slope[0], modes()), (9.0, &Datum::Real(6.0), usual), "{at}");
        let noticed = plugins.noticed();
        let names = |rule: &str| {
            noticed.iter().any(|n| {
                n.starts_with("plugin `it`") && n.contains(&format!("rule `{rule}` leaves"))
            })
        };
        assert_eq!(names("square"), at == "scalar" || at == "*", "{at}: {noticed:?}");
        assert_eq!(
            names("twice"),
            !["init", "scalar", "complex"].contains(&at),
            "{at}: {noticed:?}"
        );
        drop((host, plugins));
        assert_eq!(modes(), usual, "{at}: dropped");
    }
}

/// The same of gate kernels and devices, and of what a kernel runs on the host's threads.
#[test]
fn modes_of_the_processor_are_put_back_after_calls_of_backends() {
    let usual = modes();
    let h = Matrix::from_fn(1, |r, c| {
        C::new(if r + c == 2 { -0.5f64.sqrt() } else { 0.5f64.sqrt() }, 0.0)
    });
    let operators = [Operator::new(&h, &[0], &[]).unwrap()];
    let mut functions =
        vec!["score", "describe", "apply_host", "body", "state_new", "state_free", "upload"];
    functions.extend(["download", "sync", "apply", "*"]);
    for at in functions {
        let plugins = wreck(&[], &[("at", at), ("how", "modes")], Check::Shape);
        let known = plugins.known(3, 1);
        assert_eq!((known.len(), modes()), (2, usual), "{at}");
        for threads in [Threads::serial(), Threads::new(3).unwrap()] {
            let on_threads =
                |threads: &Threads| threads.map(12, |_| modes()).iter().all(|m| *m == usual);
            let mut amplitudes = vec![C::new(0.0, 0.0); 8];
            let here = &plugins.host_kernels()[0];
            here.run(&operators, &mut amplitudes, &threads).unwrap();
            assert!(modes() == usual && on_threads(&threads), "{at}");
            let device = &plugins.devices()[0];
            Executor::<C>::run(device, &operators, &mut amplitudes, &threads).unwrap();
            assert!(modes() == usual && on_threads(&threads), "{at}");
        }
        let noticed = plugins.noticed();
        assert!(
            noticed.iter().any(|n| n.starts_with("plugin `it`: warning: kernel `")),
            "{at}: {noticed:?}"
        );
    }
}

/// One note each, of what nobody will free.
#[test]
fn memory_that_is_never_freed_is_noted() {
    let load = |definitions: &[&str]| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wreck.c");
        let candidates = vec![support::c_plugin(&source, "wreck", definitions)];
        let kernels = Selection::Only(vec![]);
        let mut plugins = Plugins::new(Settings::default());
        plugins
            .load(
                &Request::default()
                    .with_name("it".into())
                    .with_candidates(candidates)
                    .with_kernels(kernels),
            )
            .unwrap();
        plugins.reports()[0].notes.clone()
    };
    assert_eq!(load(&[]), Vec::<String>::new());
    let notes = load(&["LEAKS"]);
    for (rule, words) in [
        ("rule `square` has a `user` and no `drop_user`", "nobody frees it"),
        ("kernel `here` has a `user` and no `drop_user`", "nobody frees it"),
        ("rule `twice` gives a tape and has no `free_tape`", "each gradient keeps memory"),
    ] {
        let found = notes.iter().filter(|n| n.contains(rule) && n.contains(words)).count();
        assert_eq!(found, 1, "{rule}: {notes:?}");
    }
}
