//! Passes and analyses that stop at a limit: what they leave undone changes no result, and what
//! they find is true.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;

use ketgrad_core::{
    adjoint,
    array::Shape,
    entity::FuncId,
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost},
    ir::{Program, check_shapes, check_shapes_within, verify},
    pass::{InlineLimits, Level, inline_once, optimize_all, optimize_all_within},
    text::parse_program,
};
use num_complex::Complex;

use crate::{
    programs::{Dice, Generator},
    reference::{self, Val, Why},
};

type C = Complex<f64>;

/// Limits from those under which nothing is inlined to those that no program here meets, in every
/// combination.
fn all_limits() -> Vec<InlineLimits> {
    let mut all = Vec::new();
    for callee in [0, 40, usize::MAX] {
        for function in [60, usize::MAX] {
            for program in [1, 50, usize::MAX] {
                let limits = InlineLimits::new().with_callee(callee).with_function(function);
                all.push(limits.with_program(program));
            }
        }
    }
    all
}

fn run(p: &Program, f: FuncId, args: &[Datum<C>]) -> Datum<C> {
    let code = Bytecode::compile(p, f).unwrap();
    code.call(&mut Machine::new(), &NoHost, &Limits::new(), args).unwrap()
}

/// Inlines callees that a function calls once, up to every size, or for a large program up to one
/// of `SIZES` that are evenly apart: values and sizes are right. Returns the number of different
/// programs.
fn inlined_once(program: &Program, root: FuncId, check: &dyn Fn(&Program, &InlineLimits)) -> usize {
    const SIZES: usize = 200;
    let reachable = program.reachable(root);
    let all: usize = reachable.iter().map(|&g| program.functions[g].size()).sum();
    let (mut count, mut last) = (1, program.clone());
    for once in (0..=2 * all).step_by(1 + 2 * all / SIZES).chain([usize::MAX]) {
        let (mut better, limits) = (program.clone(), InlineLimits::new().with_once(once));
        let changed = inline_once(&mut better, root, &limits);
        assert_eq!(changed, better != *program, "{once}");
        assert!(!changed || better.functions[root].size() < once, "{once}");
        if better != last {
            check(&better, &limits);
            (count, last) = (count + 1, better);
        }
    }
    count
}

fn calls(p: &Program, f: FuncId) -> usize {
    p.reachable(f).iter().map(|&g| p.functions[g].callees().len()).sum()
}

#[test]
fn what_is_inlined_changes_no_bit() {
    let (mut sizes, mut known) = (HashSet::new(), 0);
    for seed in 0..9 {
        let complex = seed % 3 == 2;
        let source = if complex { Generator::complex(seed) } else { Generator::real(seed) };
        let mut program = parse_program(&source).unwrap();
        let f = program.lookup(if complex { "loss" } else { "f" }).unwrap();
        let back = adjoint::value_and_pullback(&mut program, f).unwrap();
        let mut dice = Dice::new(seed);
        let mut number = || {
            let (x, y) = (dice.between(-2.0, 2.0), dice.between(-2.0, 2.0));
            if complex { Datum::Complex(Complex::new(x, y)) } else { Datum::Real(x) }
        };
        let mut args = vec![number(), number(), number()];
        for (root, more) in [(f, None), (back, Some(Datum::Real(1.0)))] {
            args.extend(more);
            let expected = run(&program, root, &args);
            let values = args.iter().map(Val::of).collect();
            match reference::run(&program, root, values, 1_000_000, 1000) {
                Ok(x) => {
                    known += 1;
                    assert!(
                        x.is_close(&Val::of(&expected), 1e-9),
                        "{expected:?}, not {x:?}\n{source}"
                    );
                }
                // An operation that the interpreter lacks.
                Err(why) => assert_eq!(why, Why::Unknown, "{source}"),
            }
            let check = |better: &Program, limits: &InlineLimits| {
                assert_eq!(verify(better), [], "{limits:?}\n{source}");
                let value = run(better, root, &args);
                let same = Val::of(&value).is_close(&Val::of(&expected), 0.0);
                assert!(same, "{limits:?}: {value:?}, not {expected:?}\n{source}");
            };
            for limits in all_limits() {
                let mut better = program.clone();
                optimize_all_within(&mut better, root, Level::Strict, &limits);
                check(&better, &limits);
                sizes.insert((seed, calls(&better, root)));
            }
            inlined_once(&program, root, &check);
        }
    }
    assert!(known >= 6, "{known} of 18");
    // The limits do make a difference.
    assert!(sizes.len() > 3 * 9, "{sizes:?}");
}

#[test]
fn callees_that_are_called_once_are_inlined_up_to_every_size() {
    let mut source = String::from("fn f0(x) { sin(x) + 1 }\n");
    for k in 1..8 {
        source.push_str(&format!("fn f{k}(x) {{ f{}(x * 0.5) * x + cos(x) }}\n", k - 1));
    }
    let program = parse_program(&source).unwrap();
    let f = program.lookup("f7").unwrap();
    let args: [Datum<C>; 1] = [Datum::Real(0.7)];
    let expected = Val::of(&run(&program, f, &args));
    let check = |better: &Program, limits: &InlineLimits| {
        assert_eq!(verify(better), [], "{limits:?}");
        assert!(Val::of(&run(better, f, &args)).is_close(&expected, 0.0), "{limits:?}");
    };
    // One after the other, from none to all seven.
    assert_eq!(inlined_once(&program, f, &check), 8);
}

#[test]
fn limits_of_inlining_are_kept() {
    // Each calls the one before twice: 2^k additions without limits.
    let mut source = String::from("fn f0(x) { sin(x) + 1 }\n");
    for k in 1..16 {
        source.push_str(&format!("fn f{k}(x) {{ f{}(x) + f{}(x * 0.5) }}\n", k - 1, k - 1));
    }
    let program = parse_program(&source).unwrap();
    let f = program.lookup("f15").unwrap();
    let grown = |limits: &InlineLimits| {
        let mut better = program.clone();
        optimize_all_within(&mut better, f, Level::Strict, limits);
        better.functions.values().map(|f| f.size()).max().unwrap()
    };
    for most in [0, 30, 100, 1000] {
        // One more function is put in after the last look.
        let free = InlineLimits::new().with_callee(most);
        let size = grown(&free);
        assert!(size <= 3 * most + 20, "callees of {most} give a function of {size}");
        let size = grown(&InlineLimits::new().with_callee(usize::MAX).with_function(most));
        assert!(size <= 3 * most + 20, "functions of {most} give one of {size}");
        let size = grown(&InlineLimits::new().with_callee(usize::MAX).with_program(most));
        assert!(size <= 3 * most + 40, "a growth of {most} gives a function of {size}");
    }
    let mut default = program.clone();
    optimize_all(&mut default, f, Level::Strict);
    let mut within = program.clone();
    optimize_all_within(&mut within, f, Level::Strict, &InlineLimits::default());
    assert_eq!(default, within);
}

/// Programs of several functions whose matrices fit or not, with loops around.
fn mistaken(seed: u64) -> String {
    let mut dice = Dice::new(seed);
    let mut source = String::new();
    let count = 3 + dice.below(4);
    for k in 0..count {
        source.push_str(&format!("fn g{k}(x: array) -> array<real> {{\n let mut y = x;\n"));
        for _ in 0..1 + dice.below(3) {
            let (rows, columns) = (1 + dice.below(3), 1 + dice.below(3));
            let step = match dice.below(4) {
                0 => format!("y = matmul(y, full(2, [{rows}, {columns}]));"),
                1 => format!("for i in 0..3 {{ y = y + full(1, [{rows}, {columns}]); }}"),
                2 if k > 0 => format!("y = g{}(y);", dice.below(k)),
                _ => format!("y = reshape(y, [{rows}, {columns}]);"),
            };
            source.push_str(&format!(" {step}\n"));
        }
        source.push_str(" y\n}\n");
    }
    source.push_str(&format!("fn f(x: array) -> array<real> {{ g{}(x) }}\n", count - 1));
    source
}

#[test]
fn shapes_looked_at_for_less_time_give_no_other_errors() {
    let (mut wrong, mut cut) = (0, 0);
    for seed in 0..300 {
        // Errors in text that are known from the text alone are refused when it is read.
        let Ok(program) = parse_program(&mistaken(seed)) else { continue };
        let f = program.lookup("f").unwrap();
        for shape in [[1, 1], [2, 2], [3, 2]] {
            let params = [Some(Shape::from_slice(&shape))];
            let full = check_shapes(&program, f, &params);
            wrong += usize::from(!full.is_empty());
            assert_eq!(check_shapes_within(&program, f, &params, 0), []);
            for work in [1, 5, 20, 40, 60, 80, 100, 150, 200, 400, 1000] {
                let found = check_shapes_within(&program, f, &params, work);
                assert!(
                    found.iter().all(|e| full.contains(e)),
                    "{work}: {found:?}, {full:?}\n{program}"
                );
                cut += usize::from(found.len() < full.len());
            }
            assert_eq!(check_shapes_within(&program, f, &params, usize::MAX), full);
        }
    }
    assert!(wrong > 50 && cut > 50, "{wrong} {cut}");
}
