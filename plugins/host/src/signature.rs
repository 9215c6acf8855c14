//! Parser of signatures, `(x, n: int, xs: array) -> array`: the kinds of a rule's inputs and
//! results, in the words of the program language.

use ketgrad_core::ir::{Element, Kind};

/// Parses the kinds of `n` inputs and of `m` results. Empty text: all of them numbers. Several
/// results are in parentheses: `(xs: array) -> (real, array<complex>)`.
pub(crate) fn parse(
    text: &str,
    n: usize,
    m: usize,
    number: &Kind,
) -> Result<(Vec<Kind>, Vec<Kind>), String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok((vec![number.clone(); n], vec![number.clone(); m]));
    }
    let wrong = || format!("the signature `{text}` is not of the form `(x, n: int) -> real`");
    let (inputs, result) =
        text.split_once("->").map_or((text, None), |(i, r)| (i.trim_end(), Some(r)));
    let inputs = inputs.strip_prefix('(').and_then(|t| t.strip_suffix(')')).ok_or_else(wrong)?;
    let inputs = inputs.split(',').map(str::trim).filter(|t| !t.is_empty());
    let inputs = inputs.map(|input| match input.split_once(':') {
        Some((_, k)) => kind(k.trim()).ok_or_else(wrong),
        None => Ok(number.clone()),
    });
    let inputs: Vec<Kind> = inputs.collect::<Result<_, _>>()?;
    if inputs.len() != n {
        return Err(format!("the signature `{text}` has {} inputs, the rule {n}", inputs.len()));
    }
    let results: Vec<Kind> = match result.map(str::trim) {
        None => vec![number.clone()],
        Some(r) => {
            let several = r.strip_prefix('(').and_then(|r| r.strip_suffix(')'));
            let all = several.map_or(vec![r], |r| r.split(',').collect());
            all.into_iter().map(|r| kind(r).ok_or_else(wrong)).collect::<Result<_, _>>()?
        }
    };
    if results.len() != m {
        return Err(format!("the signature `{text}` has {} results, the rule {m}", results.len()));
    }
    Ok((inputs, results))
}

fn kind(text: &str) -> Option<Kind> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Some(match compact.as_str() {
        "real" => Kind::Real,
        "complex" => Kind::Complex,
        "int" => Kind::Int,
        "array" | "array<real>" => Kind::Array(Element::Real),
        "array<complex>" => Kind::Array(Element::Complex),
        "array<int>" => Kind::Array(Element::Int),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read() {
        let array = Kind::Array(Element::Real);
        assert_eq!(
            parse("", 2, 1, &Kind::Real),
            Ok((vec![Kind::Real, Kind::Real], vec![Kind::Real]))
        );
        let given = parse("(x, n: int, xs: array) -> array<real>", 3, 1, &Kind::Real);
        assert_eq!(given, Ok((vec![Kind::Real, Kind::Int, array.clone()], vec![array.clone()])));
        assert_eq!(
            parse("(z)", 1, 1, &Kind::Complex),
            Ok((vec![Kind::Complex], vec![Kind::Complex]))
        );
        let given = parse("(n: array<int>) -> (array, complex)", 1, 2, &Kind::Real);
        assert_eq!(given, Ok((vec![Kind::Array(Element::Int)], vec![array, Kind::Complex])));
        assert!(
            parse("(x) -> (real, real)", 1, 1, &Kind::Real).is_err_and(|e| e.contains("2 results"))
        );
        for bad in ["x", "(x: matrix)", "(x, y)", "(x -> real", "(x) -> "] {
            assert!(parse(bad, 1, 1, &Kind::Real).is_err(), "{bad}");
        }
    }
}
