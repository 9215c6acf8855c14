//! The points of `plugins verify --at`.

use ketgrad_core::ir::Param;
use ketgrad_plugin_host::{NamedPoint, Plugins};

use crate::{point::arguments, report::Failure};

/// Returns the points with the rules that they are for. `erf: z=0` is for one rule, `z=0` for all
/// with these parameters.
///
/// # Errors
/// [`Failure`] for a point that fits no rule.
pub(super) fn read(
    given: &[String],
    plugins: &Plugins,
) -> Result<Vec<(String, NamedPoint)>, Failure> {
    let mut all = Vec::new();
    for text in given {
        let (rule, values) = match text.split_once(':') {
            // A name has no such sign in front of its colon.
            Some((rule, values)) if !rule.contains('=') => (Some(rule.trim()), values),
            _ => (None, &text[..]),
        };
        all.extend(parse_points(text, rule, values, plugins)?);
    }
    Ok(all)
}

fn parse_points(
    text: &str,
    only: Option<&str>,
    values: &str,
    plugins: &Plugins,
) -> Result<Vec<(String, NamedPoint)>, Failure> {
    let names = plugins.names();
    if let Some(rule) = only.filter(|rule| !names.iter().any(|name| is_of(name, rule))) {
        let failure = Failure::usage(format_args!("--at {text}: there is no rule `{rule}`"));
        return Err(failure.nearest(rule, names.iter().map(String::as_str)));
    }
    let program = plugins.rules().program();
    let (mut found, mut failures, mut rules) = (Vec::new(), Vec::new(), Vec::new());
    for name in names.iter().filter(|name| only.is_none_or(|rule| is_of(name, rule))) {
        let Some(f) = program.lookup(name) else { continue };
        let params = &program.functions[f].params;
        match arguments::<f64>(params, &[values.to_owned()], None) {
            Ok(x) => found.push((name.clone(), x)),
            // A value that is none, though the names are those of the rule.
            Err(failure) if only.is_some() || has(params, values) => failures.push(failure),
            Err(_) => rules.push(signature(name, params)),
        }
    }
    match (found.is_empty(), failures.into_iter().next()) {
        (false, _) => Ok(found),
        (true, Some(failure)) => Err(failure),
        (true, None) => Err(Failure::usage(format_args!(
            "--at {text}: no rule has these parameters, and no others"
        ))
        .help(format_args!("there is {}", rules.join(", ")))),
    }
}

/// Returns true if a rule has the name: one on complex numbers shares its name with one on real
/// ones.
fn is_of(name: &str, rule: &str) -> bool {
    name == rule || name.strip_suffix(".complex") == Some(rule)
}

/// Returns true if every parameter is given.
fn has(params: &[Param], values: &str) -> bool {
    let given: Vec<&str> =
        values.split('=').map(|part| part.rsplit(',').next().unwrap_or(part).trim()).collect();
    params.iter().all(|p| given.contains(&p.name.as_str()))
}

fn signature(name: &str, params: &[Param]) -> String {
    let params: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
    format!("{name}({})", params.join(", "))
}
