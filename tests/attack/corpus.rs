//! Inputs that went wrong once, each in a file that says what is right.
//!
//! Lines that begin with `//!` hold for the rest of the file:
//!
//! | of a circuit (`.qasm`) | says that |
//! |---|---|
//! | `mean X0 Z2 = 0.5 within 1e-12` | an expectation value is this, by default and on `f64` in a plan |
//! | `density Z0 = 1 within 1e-12` | the same of the density matrix |
//! | `distribution 10 1 = 0.5` | an outcome of the registers has this probability |
//! | `reference` | the state is that of [`support::dense`] |
//! | `set a = 0.3, b = 1` | inputs have these values |
//! | `gradient X0 = 1, 2`, `hessian X0 = …` | derivatives by every method, rows in order |
//! | `equal other.qasm`, `different …`, `inexact …` | the verdict on the states of both; not an exact one |
//! | `refused words` | it is refused with these words |
//! | `answers` | there is a circuit or an error |
//! | `shots 1000` | shots are taken, or refused |
//! | `max_gates 1000` | the limit |
//!
//! | of a program (`.kg`), whose entry is `f` | says that |
//! |---|---|
//! | `at x=1, a=[1,2], n=3` | arguments |
//! | `value = 1`, `gradient = 1, 2` | at every level, by both modes |
//! | `fails` | a run fails at every level |
//! | `emitted` | the emitted gradient says the same |

use std::{fmt::Display, fs, path::Path};

use ketgrad_core::{
    circuit::{Circuit, Operation},
    equivalent::{EquivalenceSettings, On, Verdict, equivalent},
    exec::{Datum, Derivatives},
    hybrid::{Expectation, Method},
    ir::Kind,
    observable::PauliSum,
    param::Values,
    pass::Level,
    qasm::{QasmOptions, parse},
    rules::Rules,
    simulate::{BoundCircuit, Simulator},
    text::{entry, parse_program},
};
use num_complex::Complex;
use support::dense::{DenseState, named};

use crate::{
    finding::{Checked, Finding, guarded},
    programs::LIMITS,
};

/// Error of numbers unless a file says something else, at most.
const ROUNDING: f64 = 1e-9;

/// Checks a file.
pub(crate) fn check(path: &Path) -> Checked {
    let name = path.display().to_string();
    guarded(&name, || {
        let text = fs::read_to_string(path)
            .map_err(|e| Finding::new("files are read", e.to_string(), &name))?;
        let claims: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//! ")).collect();
        if claims.is_empty() {
            return Err(Finding::new(
                "files say what is right",
                "no line begins with `//! `",
                &name,
            ));
        }
        let checked = match path.extension().and_then(|e| e.to_str()) {
            Some("kg") => program(&text, &claims),
            _ => circuit(path, &text, &claims),
        };
        checked.map_err(|found| Finding { detail: format!("{name}: {}", found.detail), ..found })
    })
}

fn wrong(claim: &str, given: impl Display) -> Finding {
    Finding::new(format!("`{claim}`"), format!("given {given}"), "the file")
}

fn numbers(text: &str) -> Vec<f64> {
    text.split([',', '[', ']']).filter_map(|word| word.trim().parse().ok()).collect()
}

fn near(claim: &str, given: &[f64], right: &[f64], tolerance: f64) -> Checked {
    let close = |(a, b): (&f64, &f64)| (a - b).abs() <= tolerance * b.abs().max(1.0);
    let fine = given.len() == right.len() && given.iter().zip(right).all(close);
    if fine { Ok(()) } else { Err(wrong(claim, format!("{given:?}"))) }
}

fn read(text: &str, claims: &[&str]) -> Result<Circuit, String> {
    let limit = claims.iter().find_map(|c| c.strip_prefix("max_gates ")?.parse().ok());
    let options = QasmOptions::default().with_max_gates(limit.unwrap_or(1_000_000));
    parse(text, &options).map(|parsed| parsed.circuit).map_err(|e| e.to_string())
}

fn circuit(path: &Path, text: &str, claims: &[&str]) -> Checked {
    let circuit = read(text, claims);
    let inputs: Vec<f64> = claims
        .iter()
        .filter_map(|claim| claim.strip_prefix("set "))
        .flat_map(|set| {
            set.split(',').filter_map(|pair| pair.split_once('=')?.1.trim().parse().ok())
        })
        .collect();
    for claim in claims {
        let (verb, rest) = claim.split_once(' ').unwrap_or((claim, ""));
        if verb == "refused" {
            match &circuit {
                Err(message) if message.contains(rest) => continue,
                Err(message) => return Err(wrong(claim, message)),
                Ok(_) => return Err(wrong(claim, "a circuit")),
            }
        }
        if matches!(verb, "answers" | "set" | "max_gates") {
            continue;
        }
        let circuit = circuit.as_ref().map_err(|e| wrong(claim, e))?;
        claimed(path, circuit, claim, &inputs)?;
    }
    Ok(())
}

fn claimed(path: &Path, circuit: &Circuit, claim: &str, inputs: &[f64]) -> Checked {
    let simulator = Simulator::new().with_memory_limit(1 << 30);
    let failed = |e: &dyn Display| wrong(claim, e);
    let (verb, rest) = claim.split_once(' ').unwrap_or((claim, ""));
    let (what, values) = rest.split_once('=').unwrap_or((rest, ""));
    let (values, within) = values.split_once("within").unwrap_or((values, ""));
    let tolerance = within.trim().parse().unwrap_or(ROUNDING);
    let right = numbers(values);
    let observable = || what.trim().parse::<PauliSum>().map_err(|e| failed(&e));
    match verb {
        "mean" => {
            let energy =
                Expectation::new(circuit.clone(), [observable()?]).map_err(|e| failed(&e))?;
            let value = energy.value(inputs).map_err(|e| failed(&e))?;
            near(claim, &[value], &right, tolerance)
        }
        "density" => {
            let rho = simulator.run_density(circuit, inputs).map_err(|e| failed(&e))?;
            let value = rho.expectation(&observable()?).map_err(|e| failed(&e))?;
            near(claim, &[value], &right, tolerance)
        }
        "distribution" => {
            let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[]))
                .map_err(|e| failed(&e))?;
            let all = simulator.distribution::<f64, _>(&bound, 1 << 12).map_err(|e| failed(&e))?;
            let ours = all.iter().filter(|(bits, _)| bits.text(circuit) == what.trim());
            near(claim, &[ours.map(|(_, p)| p).sum()], &right, tolerance)
        }
        "gradient" | "hessian" => {
            let energy =
                Expectation::new(circuit.clone(), [observable()?]).map_err(|e| failed(&e))?;
            for method in Method::ALL {
                let tolerance = if method == Method::Difference { 1e-6 } else { tolerance };
                let given = match verb {
                    "gradient" => energy.gradient_by(method, inputs).map_err(|e| failed(&e))?.1,
                    _ => energy.hessian_by(method, inputs).map_err(|e| failed(&e))?.concat(),
                };
                near(&format!("{claim}, by {method}"), &given, &right, tolerance)?;
            }
            let mut prepared = energy.prepare::<f64>().map_err(|e| failed(&e))?;
            let mut gradient = vec![0.0; inputs.len()];
            if verb == "gradient" {
                prepared.value_and_gradient(inputs, &mut gradient).map_err(|e| failed(&e))?;
                near(&format!("{claim}, prepared"), &gradient, &right, tolerance)?;
            }
            Ok(())
        }
        "reference" => {
            let state = simulator.run(circuit, inputs).map_err(|e| failed(&e))?;
            let off = dense(circuit, inputs).map_err(|e| failed(&e))?.distance(state.amplitudes());
            if off <= tolerance { Ok(()) } else { Err(wrong(claim, format!("{off:e} off"))) }
        }
        "equal" | "different" | "inexact" => {
            let other = path.with_file_name(rest);
            let other = fs::read_to_string(&other).map_err(|e| failed(&e))?;
            let other = read(&other, &[]).map_err(|e| failed(&e))?;
            let settings = EquivalenceSettings::default().with_on(On::State);
            let report =
                equivalent(circuit, &other, &settings, &simulator).map_err(|e| failed(&e))?;
            let fine = match verb {
                "equal" => report.verdict == Verdict::Equal,
                "different" => report.verdict == Verdict::Different,
                _ => !(report.exact && report.verdict == Verdict::Equal),
            };
            if fine { Ok(()) } else { Err(wrong(claim, format!("{report:?}"))) }
        }
        "shots" => {
            let shots = rest.parse().map_err(|e| failed(&e))?;
            // Refused is an answer, too.
            drop(simulator.run_shots(circuit, inputs, shots, 1));
            Ok(())
        }
        _ => Err(wrong(claim, "a claim that means nothing")),
    }
}

/// The state of a circuit by the reference.
fn dense(circuit: &Circuit, inputs: &[f64]) -> Result<DenseState, String> {
    let values = circuit.param_values(inputs).map_err(|e| e.to_string())?;
    let mut state = DenseState::zero(circuit.n_qubits());
    for instruction in circuit.instructions() {
        let Operation::Gate(gate) = &instruction.operation else {
            return Err(format!("the reference knows no {:?}", instruction.operation));
        };
        let angles = gate.params().iter().map(|a| Values(&values).radians(a));
        let angles: Vec<f64> = angles.collect::<Result<_, _>>().map_err(|e| e.to_string())?;
        // The general gate under its control is known by name.
        let name = if gate.kind().name() == "ug" { "cu" } else { gate.kind().name() };
        let targets: Vec<usize> = instruction.targets.iter().map(|&q| q as usize).collect();
        let controls: Vec<_> =
            instruction.controls.iter().map(|c| (c.qubit as usize, c.value)).collect();
        state.apply(&named(name, &angles).matrix, &targets, &controls);
    }
    Ok(state)
}

fn program(text: &str, claims: &[&str]) -> Checked {
    let at = claims.iter().find_map(|claim| claim.strip_prefix("at ")).unwrap_or_default();
    let program = parse_program(text)
        .map_err(|e| e.first().map_or_else(|| wrong("a program", ""), |e| wrong("a program", e)))?;
    let Some(f) = program.lookup("f") else { return Err(wrong("a function `f`", "none")) };
    let args = program.functions[f].params.iter().map(|p| {
        let given =
            at.split_once(&format!("{}=", p.name)).map(|(_, rest)| rest).unwrap_or_default();
        // Up to the next argument.
        let given = given.split_once('=').map_or(given, |(own, _)| own);
        argument(given, &p.kind)
    });
    let args: Option<Vec<Datum<f64>>> = args.collect();
    let Some(args) = args else { return Err(wrong("at", "arguments that cannot be read")) };
    for claim in claims {
        let (verb, rest) = claim.split_once(' ').unwrap_or((claim, ""));
        let right = numbers(rest.trim_start_matches('='));
        for level in [Level::None, Level::Strict, Level::Algebraic] {
            let claim = format!("{claim}, at level {level:?}");
            let mut derivatives = Derivatives::<f64>::new(&program, "f")
                .map_err(|e| wrong(&claim, e))?
                .with_limits(LIMITS)
                .with_level(level);
            match verb {
                // The tape of what is not optimised goes from function to function.
                "emitted" if level == Level::None => {}
                "at" => {}
                "fails" => {
                    if let Ok(value) = derivatives.value(&args) {
                        return Err(wrong(&claim, value));
                    }
                }
                "value" => {
                    let value = derivatives.value(&args).map_err(|e| wrong(&claim, e))?;
                    near(&claim, &flat(&value), &right, ROUNDING)?;
                }
                "gradient" => {
                    let gradient = derivatives.gradient(&args).map_err(|e| wrong(&claim, e))?;
                    near(
                        &claim,
                        &gradient.iter().flat_map(flat).collect::<Vec<_>>(),
                        &right,
                        ROUNDING,
                    )?;
                }
                "emitted" => {
                    let (derived, g) = derivatives.derivative().map_err(|e| wrong(&claim, e))?;
                    let source =
                        ketgrad_core::emit::emit_text(&derived, g).map_err(|e| wrong(&claim, e))?;
                    let again = parse_program(&source).map_err(|_| wrong(&claim, &source))?;
                    let name = entry(&again, &Rules::new()).unwrap_or_default();
                    let value = Derivatives::<f64>::new(&again, name)
                        .and_then(|mut d| d.value(&args))
                        .map_err(|e| wrong(&claim, format!("{e}\n{source}")))?;
                    let (y, gradient) =
                        derivatives.value_and_gradient(&args).map_err(|e| wrong(&claim, e))?;
                    let expected: Vec<Datum<f64>> =
                        std::iter::once(Datum::Real(y)).chain(gradient).collect();
                    if format!("{value}") != format!("{}", Datum::Tuple(expected)) {
                        return Err(wrong(&claim, format!("{value}\n{source}")));
                    }
                }
                _ => return Err(wrong(&claim, "a claim that means nothing")),
            }
        }
    }
    Ok(())
}

fn flat(datum: &Datum<f64>) -> Vec<f64> {
    match datum {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.items().to_vec(),
        Datum::Tuple(parts) => parts.iter().flat_map(flat).collect(),
        _ => Vec::new(),
    }
}

/// A number, or a list of numbers, or a list of lists of one length.
fn argument(text: &str, kind: &Kind) -> Option<Datum<f64>> {
    // Without the name of the next argument.
    let text =
        text.rsplit_once(']').map_or(text.split(',').next().unwrap_or(text), |(list, _)| list);
    let items = numbers(text);
    let rows = text.matches('[').count().saturating_sub(1);
    let shape = if rows == 0 { vec![items.len()] } else { vec![rows, items.len() / rows] };
    let ints = || text.split([',', '[', ']']).filter_map(|word| word.trim().parse::<i64>().ok());
    match kind {
        Kind::Real => Some(Datum::Real(*items.first()?)),
        Kind::Int => Some(Datum::Int(ints().next()?)),
        Kind::Array(ketgrad_core::ir::Element::Int) => {
            Datum::ints_of(&shape, ints().collect()).ok()
        }
        Kind::Array(_) => Datum::reals_of(&shape, items).ok(),
        _ => None,
    }
}
