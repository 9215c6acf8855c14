//! Reads FCIDUMP files; what they are says [`Molecule`].

use std::{collections::BTreeMap, str::FromStr};

use super::{Molecule, MoleculeError, MoleculeProblem, canonical, descending};

/// Values of one integral that differ by no more are the same, written with other digits.
const SAME: f64 = 1e-7;

/// The most orbitals that a file may have: all integrals of so many are a terabyte.
const MOST_ORBITALS: usize = 1000;

impl FromStr for Molecule {
    type Err = MoleculeError;

    fn from_str(text: &str) -> Result<Molecule, MoleculeError> {
        let (header, body) = split(text)?;
        let mut molecule = read_header(header)?;
        let n = molecule.n_orbitals;
        let first = lines(header);
        let mut constant = None;
        for (k, line) in body.lines().enumerate() {
            let at = |problem| MoleculeError { line: Some(first + k), problem };
            let line = line.trim();
            if line.is_empty() {
                continue;
            }
            let (value, orbitals) = read_line(line, n).map_err(at)?;
            let given = match orbitals {
                // p is orbital p + 1 of the file.
                [Some(p), Some(q), Some(r), Some(t)] => molecule.two.insert(canonical([p, q], [r, t]), value),
                [Some(p), Some(q), None, None] => molecule.one.insert(descending([p, q]), value),
                [Some(_), None, None, None] => None,
                [None, None, None, None] => constant.replace(value),
                _ => {
                    let found = line.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
                    return Err(at(MoleculeProblem::Orbitals { found }));
                }
            };
            if let Some(first) = given.filter(|first| (first - value).abs() > SAME) {
                return Err(at(MoleculeProblem::Contradiction { first }));
            }
        }
        molecule.constant = constant.unwrap_or(0.0);
        Ok(molecule)
    }
}

impl Molecule {
    /// Whether a text begins as an FCIDUMP does.
    #[must_use]
    pub fn is_fcidump(text: &str) -> bool {
        let begins = |word: &str| ["&FCI", "$FCI"].iter().any(|w| word.eq_ignore_ascii_case(w));
        text.trim_start().get(..4).is_some_and(begins)
    }
}

/// The header between `&FCI` and its end, and what comes after it. The header begins with all lines before it, the body
/// in the line in which the header ends.
fn split(text: &str) -> Result<(&str, &str), MoleculeError> {
    let trimmed = text.trim_start();
    let start = text.len() - trimmed.len();
    if !Molecule::is_fcidump(text) {
        let word: String = trimmed.split_whitespace().next().unwrap_or_default().chars().take(20).collect();
        let found = if word.is_empty() { "nothing".to_owned() } else { format!("`{word}`") };
        let line = Some(lines(&text[..start]));
        return Err(MoleculeError { line, problem: MoleculeProblem::Beginning { found } });
    }
    let inside = start + 4;
    let is_end = |at: usize| {
        let word = text.get(at..at + 4);
        word.is_some_and(|s| ["&END", "$END"].iter().any(|w| s.eq_ignore_ascii_case(w)))
    };
    let end = text[inside..].match_indices(['/', '&', '$']).find_map(|(at, c)| match c {
        "/" => Some((inside + at, 1)),
        _ => is_end(inside + at).then_some((inside + at, 4)),
    });
    let line = Some(lines(&text[..start]));
    let (end, length) = end.ok_or(MoleculeError { line, problem: MoleculeProblem::Unfinished })?;
    Ok((&text[..end], &text[end + length..]))
}

/// A value of the header and its line.
type Word<'a> = (&'a str, usize);

/// The molecule without its integrals.
fn read_header(header: &str) -> Result<Molecule, MoleculeError> {
    let values = read_keys(header);
    let fault = |key: &str, (found, line): Word<'_>, expected: &str| MoleculeError {
        line: Some(line),
        problem: MoleculeProblem::Header {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: format!("`{found}`"),
        },
    };
    let number = |key: &'static str, least: i64, most: usize| -> Result<Option<i64>, MoleculeError> {
        let Some(words) = values.get(key) else { return Ok(None) };
        let expected = format!("a whole number from {least} to {most}");
        match words[..] {
            [(_, line)] => Err(fault(key, ("", line), &expected)),
            [_, word] => {
                let number = word.0.parse().ok().filter(|x| (least..=most as i64).contains(x));
                number.map(Some).ok_or_else(|| fault(key, word, &expected))
            }
            [_, _, more, ..] => Err(fault(key, more, "one number")),
            [] => Ok(None),
        }
    };
    let needed = |key, least, most| {
        let missing = MoleculeError { line: Some(lines(header)), problem: MoleculeProblem::Missing { key } };
        number(key, least, most)?.ok_or(missing)
    };
    for (key, what) in [
        ("IUHF", "orbitals of unrestricted Hartree–Fock (IUHF)"),
        ("UHF", "orbitals of unrestricted Hartree–Fock (UHF)"),
        ("TREL", "relativistic orbitals (TREL)"),
    ] {
        let is_no =
            |word: &str| ["0", "F", "FALSE"].iter().any(|no| word.trim_matches('.').eq_ignore_ascii_case(no));
        let yes = values.get(key).and_then(|words| words[1..].iter().find(|word| !is_no(word.0)));
        if let Some(&(_, line)) = yes {
            return Err(MoleculeError { line: Some(line), problem: MoleculeProblem::Unsupported { what } });
        }
    }
    let n_orbitals = needed("NORB", 1, MOST_ORBITALS)? as usize;
    let electrons = needed("NELEC", 0, 2 * n_orbitals)?;
    let ms2 = number("MS2", -electrons, electrons as usize)?.unwrap_or(electrons % 2);
    if (electrons + ms2) % 2 != 0 {
        let expected =
            if electrons % 2 == 0 { "an even number: NELEC is even" } else { "an odd number: NELEC is odd" };
        return Err(fault("MS2", values["MS2"][1], expected));
    }
    if let Some(symmetries) = values.get("ORBSYM") {
        let count = symmetries[1..].iter().map(|word| repeats(word.0)).fold(0, usize::saturating_add);
        if count != n_orbitals {
            let found = (&*format!("{count} numbers"), symmetries[0].1);
            return Err(fault("ORBSYM", found, &format!("{n_orbitals}, one an orbital")));
        }
    }
    let up = ((electrons + ms2) / 2) as usize;
    let line = values["NELEC"][0].1;
    Molecule::of(n_orbitals, [up, electrons as usize - up])
        .map_err(|problem| MoleculeError { line: Some(line), problem })
}

/// The keys of a namelist in capitals, each with itself and its values.
fn read_keys(header: &str) -> BTreeMap<String, Vec<Word<'_>>> {
    let begin = header.find(['&', '$']).map_or(0, |at| at + 4);
    let first = lines(&header[..begin]);
    let mut words: Vec<Word<'_>> = Vec::new();
    for (line, text) in (first..).zip(header[begin..].lines()) {
        let text = text.split('!').next().unwrap_or_default();
        for word in text.split_inclusive(|c: char| c.is_whitespace() || c == ',' || c == '=') {
            let name = word.trim_end_matches(|c: char| c.is_whitespace() || c == ',' || c == '=');
            words.extend([name, if word.ends_with('=') { "=" } else { "" }].map(|word| (word, line)));
        }
    }
    words.retain(|word| !word.0.is_empty());
    let mut values: BTreeMap<String, Vec<Word<'_>>> = BTreeMap::new();
    let mut key = String::new();
    for (k, &word) in words.iter().enumerate() {
        if words.get(k + 1).is_some_and(|next| next.0 == "=") {
            key = word.0.to_ascii_uppercase();
            values.insert(key.clone(), vec![word]);
        } else if let Some(list) = values.get_mut(&key).filter(|_| word.0 != "=") {
            list.push(word);
        }
    }
    values
}

/// The number of the line that comes after a text.
fn lines(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// How many values a word of a list is: `8*1` is eight.
fn repeats(word: &str) -> usize {
    word.split_once('*').map_or(Some(1), |(count, _)| count.parse().ok()).unwrap_or(1)
}

/// A value and its orbitals, counted from 0; `None` for the 0 of the file.
fn read_line(line: &str, n_orbitals: usize) -> Result<(f64, [Option<u16>; 4]), MoleculeProblem> {
    if line.starts_with('(') {
        return Err(MoleculeProblem::Unsupported { what: "complex integrals" });
    }
    let syntax = || MoleculeProblem::Syntax { found: line.chars().take(60).collect() };
    let mut words = line.split_whitespace();
    let word = words.next().ok_or_else(syntax)?;
    let value = real(word).ok_or_else(syntax)?;
    if !value.is_finite() {
        return Err(MoleculeProblem::Value { text: word.to_owned() });
    }
    let mut orbitals = [None; 4];
    for place in &mut orbitals {
        let word = words.next().filter(|word| word.bytes().all(|b| b.is_ascii_digit())).ok_or_else(syntax)?;
        *place = match word.parse::<usize>() {
            Ok(0) => None,
            // There are no more than a u16 counts.
            Ok(orbital) if orbital <= n_orbitals => Some((orbital - 1) as u16),
            _ => return Err(MoleculeProblem::BeyondLast { orbital: word.to_owned(), n_orbitals }),
        };
    }
    if words.next().is_some() { Err(syntax()) } else { Ok((value, orbitals)) }
}

/// A number as Fortran writes it: `1.0D-03`, and `1.0-100`, where the exponent leaves no room for its letter.
fn real(word: &str) -> Option<f64> {
    if let Ok(value) = word.parse() {
        return Some(value);
    }
    let mut word = word.replace(['d', 'D'], "e");
    if !word.contains(['e', 'E']) {
        let exponent = word.rfind(['+', '-']).filter(|at| *at > 0)?;
        word.insert(exponent, 'e');
    }
    word.parse().ok()
}
