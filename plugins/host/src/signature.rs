//! `(x, n: int, xs: array) -> array`: what a rule takes and gives, in the words of the program language.

use ketgrad_core::ir::{Element, Kind};

/// The kinds of the inputs and of the result. Empty text: `n` numbers to one.
pub(crate) fn parse(text: &str, n: usize, number: &Kind) -> Result<(Vec<Kind>, Kind), String> {
    let text = text.trim();
    if text.is_empty() {
        return Ok((vec![number.clone(); n], number.clone()));
    }
    let wrong = || format!("the signature `{text}` is not of the form `(x, n: int) -> real`");
    let (inputs, result) = text.split_once("->").map_or((text, None), |(i, r)| (i.trim_end(), Some(r)));
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
    let result = match result {
        None => number.clone(),
        Some(r) => kind(r.trim()).ok_or_else(wrong)?,
    };
    Ok((inputs, result))
}

fn kind(text: &str) -> Option<Kind> {
    let compact: String = text.chars().filter(|c| !c.is_whitespace()).collect();
    Some(match compact.as_str() {
        "real" => Kind::Real,
        "complex" => Kind::Complex,
        "int" => Kind::Int,
        "array" | "array<real>" => Kind::Array(Element::Real),
        "array<complex>" => Kind::Array(Element::Complex),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_read() {
        let array = Kind::Array(Element::Real);
        assert_eq!(parse("", 2, &Kind::Real), Ok((vec![Kind::Real, Kind::Real], Kind::Real)));
        let given = parse("(x, n: int, xs: array) -> array<real>", 3, &Kind::Real);
        assert_eq!(given, Ok((vec![Kind::Real, Kind::Int, array.clone()], array)));
        assert_eq!(parse("(z)", 1, &Kind::Complex), Ok((vec![Kind::Complex], Kind::Complex)));
        for bad in ["x", "(x: matrix)", "(x, y)", "(x -> real", "(x) -> "] {
            assert!(parse(bad, 1, &Kind::Real).is_err(), "{bad}");
        }
    }
}
