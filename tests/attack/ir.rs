//! Programs as IR text: printed, read and printed again; and broken, where the parser and the
//! verifier must say so.

use ketgrad_core::{
    adjoint,
    exec::{Bytecode, Datum, Executable, Limits, Machine, NoHost},
    ir::{self, Kind, Program, verify},
    pass::{Level, optimize_all},
    text::parse_program,
};
use support::random::Rng;

use crate::{
    finding::{Checked, Finding, guarded, minimal_text},
    programs::Drawn,
};

const LIMITS: Limits = Limits::new()
    .with_steps(20_000)
    .with_work(1 << 32)
    .with_depth(50)
    .with_array(10_000)
    .with_memory(1 << 24);

/// One seed.
pub(crate) fn check(seed: u64) -> Checked {
    let mut rng = Rng::new(seed);
    let drawn = Drawn::draw(&mut rng);
    let source = drawn.to_string();
    let Ok(mut program) = parse_program(&source) else { return Ok(()) };
    let Some(f) = program.lookup("f") else { return Ok(()) };
    let optimised = rng.below(2) == 0;
    if optimised {
        optimize_all(&mut program, f, Level::Strict);
    }
    if rng.below(2) == 0
        && let Ok(g) = adjoint::gradient(&mut program, f)
        && optimised
    {
        optimize_all(&mut program, g, Level::Strict);
    }
    let text = printed(&program);
    whole(&text)?;
    let broken = mutated(&text, &mut rng);
    let laws = |text: &str| guarded(&text, || answered(text));
    laws(&broken).map_err(|found| minimal_text(&broken, found, 300, laws))
}

fn printed(program: &Program) -> String {
    let texts: Vec<String> = program.functions.keys().map(|f| program.print(f)).collect();
    texts.join("\n")
}

/// A text that was printed is read, is fine, and is printed the same.
fn whole(text: &str) -> Checked {
    let program = match ir::parse(text) {
        Ok(program) => program,
        Err(errors) => {
            let detail = errors.first().map(ToString::to_string).unwrap_or_default();
            return Err(Finding::new("printed IR is read", detail, text));
        }
    };
    let violations = verify(&program);
    if let Some(violation) = violations.first() {
        return Err(Finding::new("printed IR is valid", format!("{violation:?}"), text));
    }
    let again = printed(&program);
    if again != text {
        let differs = again.lines().zip(text.lines()).find(|(a, b)| a != b);
        return Err(Finding::new("printed IR is printed the same", format!("{differs:?}"), text));
    }
    Ok(())
}

fn mutated(text: &str, rng: &mut Rng) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + rng.below(3) {
        let (at, other) = (rng.below(lines.len()), rng.below(lines.len()));
        match rng.below(5) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            _ => {
                let mut words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
                let pieces = [
                    "v0",
                    "v1",
                    "v99999999",
                    "block0",
                    "9223372036854775807",
                    "-1",
                    "real",
                    "int",
                    "f0",
                    "(",
                    ",",
                ];
                let k = rng.below(words.len());
                let from = lines[other].split(' ').nth(rng.below(4)).unwrap_or("v2").to_owned();
                words[k] = if rng.below(2) == 0 {
                    pieces[rng.below(pieces.len())].to_owned()
                } else {
                    from
                };
                lines[at] = words.join(" ");
            }
        }
        if lines.is_empty() {
            lines.push(String::new());
        }
    }
    lines.join("\n")
}

/// A text that is no program is refused; one that is runs or gives a reason why not.
fn answered(text: &str) -> Checked {
    let Ok(program) = ir::parse(text) else { return Ok(()) };
    if !verify(&program).is_empty() {
        return Ok(());
    }
    // What the verifier lets pass must be fit for all that follows.
    for f in program.functions.keys() {
        let args = program.functions[f].params.iter().map(|p| match p.kind {
            Kind::Real => Some(Datum::<f64>::Real(0.5)),
            Kind::Int => Some(Datum::Int(2)),
            Kind::Array(ir::Element::Real) => Some(Datum::reals([0.5, 1.5])),
            _ => None,
        });
        let Some(args) = args.collect::<Option<Vec<_>>>() else { continue };
        if !program.functions[f].is_defined() {
            continue;
        }
        if let Ok(code) = Bytecode::compile(&program, f) {
            drop(code.call(&mut Machine::new(), &NoHost, &LIMITS, &args));
        }
        let mut better = program.clone();
        optimize_all(&mut better, f, Level::Strict);
        if let Some(violation) = verify(&better).first() {
            return Err(Finding::new("passes keep programs valid", format!("{violation:?}"), text));
        }
        drop(adjoint::gradient(&mut better, f));
    }
    Ok(())
}
