//! Reader of FCIDUMP files; for the format see [`Molecule`].

use std::{collections::BTreeMap, str::FromStr};

use super::{IntegralSymmetry, Molecule, MoleculeError, MoleculeProblem, descending};

/// Tolerance of repeated values of one integral, which are written with other digits.
const SAME: f64 = 1e-7;

/// Maximum number of orbitals in a file: all integrals of that many are a terabyte.
const MOST_ORBITALS: usize = 1000;

impl FromStr for Molecule {
    type Err = MoleculeError;

    fn from_str(text: &str) -> Result<Molecule, MoleculeError> {
        let (header, body) = split(text)?;
        let (mut molecule, momenta) = read_header(header)?;
        let first = lines(header);
        if let Some((momenta, line)) = momenta {
            molecule.symmetry =
                symmetry_of(integrals(body, first, molecule.n_orbitals), &momenta, line)?;
        }
        let symmetry = molecule.symmetry;
        let mut constant = None;
        for entry in integrals(body, first, molecule.n_orbitals) {
            let Integral { line, text, value, orbitals } = entry?;
            let at = |problem| MoleculeError { line: Some(line), problem };
            let given = match orbitals {
                // p is orbital p + 1 of the file.
                [Some(p), Some(q), Some(r), Some(t)] => {
                    molecule.two.insert(symmetry.canonical([p, q], [r, t]), value)
                }
                [Some(p), Some(q), None, None] => molecule.one.insert(descending([p, q]), value),
                [Some(_), None, None, None] => None,
                [None, None, None, None] => constant.replace(value),
                _ => {
                    let found = text.split_whitespace().skip(1).collect::<Vec<_>>().join(" ");
                    return Err(at(MoleculeProblem::Orbitals { found }));
                }
            };
            if let Some(first) = given.filter(|first| (first - value).abs() > SAME) {
                let equal = match symmetry {
                    IntegralSymmetry::Eightfold => {
                        "integrals of real orbitals are equal under i <-> j, k <-> l and ij <-> kl"
                    }
                    IntegralSymmetry::Fourfold => {
                        "integrals of orbitals with angular momenta (SYMLZ) are equal under ij <-> kl, and where both \
                         i <-> j and k <-> l"
                    }
                };
                return Err(at(MoleculeProblem::Contradiction { first, equal }));
            }
        }
        molecule.constant = constant.unwrap_or(0.0);
        Ok(molecule)
    }
}

impl Molecule {
    /// Returns true if a text begins as an FCIDUMP file does.
    #[must_use]
    pub fn is_fcidump(text: &str) -> bool {
        let begins = |word: &str| ["&FCI", "$FCI"].iter().any(|w| word.eq_ignore_ascii_case(w));
        text.trim_start().get(..4).is_some_and(begins)
    }
}

/// The header between `&FCI` and its end, and the body. The header begins with all lines before it,
/// the body with the end of the line in which the header ends: as in Fortran, the rest of that line
/// is not read, but an integral there is an error.
fn split(text: &str) -> Result<(&str, &str), MoleculeError> {
    let trimmed = text.trim_start();
    let start = text.len() - trimmed.len();
    if !Molecule::is_fcidump(text) {
        let word: String =
            trimmed.split_whitespace().next().unwrap_or_default().chars().take(20).collect();
        let found = if word.is_empty() { "nothing".to_owned() } else { format!("`{word}`") };
        let line = Some(lines(&text[..start]));
        return Err(MoleculeError { line, problem: MoleculeProblem::Beginning { found } });
    }
    let inside = start + 4;
    let is_end = |at: usize| {
        let word = text.get(at..at + 4);
        word.is_some_and(|s| ["&END", "$END"].iter().any(|w| s.eq_ignore_ascii_case(w)))
    };
    let mut is_comment = false;
    let end =
        text[inside..].match_indices(['/', '&', '$', '!', '\n']).find_map(|(at, c)| match c {
            "!" | "\n" => {
                is_comment = c == "!";
                None
            }
            _ if is_comment => None,
            "/" => Some((inside + at, 1)),
            _ => is_end(inside + at).then_some((inside + at, 4)),
        });
    let line = Some(lines(&text[..start]));
    let (end, length) = end.ok_or(MoleculeError { line, problem: MoleculeProblem::Unfinished })?;
    let (header, after) = (&text[..end], &text[end + length..]);
    let (rest, body) = after.split_at(after.find('\n').unwrap_or(after.len()));
    if rest
        .split_whitespace()
        .next()
        .is_some_and(|word| real(word).is_some() || word.starts_with('('))
    {
        let found = rest.trim().chars().take(60).collect();
        return Err(MoleculeError {
            line: Some(lines(header)),
            problem: MoleculeProblem::OnHeader { found },
        });
    }
    Ok((header, body))
}

/// An integral of a file.
struct Integral<'a> {
    line: usize,
    text: &'a str,
    value: f64,
    orbitals: [Option<u16>; 4],
}

/// The lines of a body that begins in a line.
fn integrals(
    body: &str,
    first: usize,
    n_orbitals: usize,
) -> impl Iterator<Item = Result<Integral<'_>, MoleculeError>> {
    let lines = (first..).zip(body.lines().map(str::trim)).filter(|(_, text)| !text.is_empty());
    lines.map(move |(line, text)| {
        let (value, orbitals) = read_line(text, n_orbitals)
            .map_err(|problem| MoleculeError { line: Some(line), problem })?;
        Ok(Integral { line, text, value, orbitals })
    })
}

/// The symmetry of integrals of orbitals with angular momenta m, which are labels alone if the
/// orbitals are real.
///
/// Complex orbitals conserve m: `(pq|rt)` is zero unless `m_p + m_r = m_q + m_t`. Real ones are
/// made of those of m and -m, and one sign stands for the orbitals that change theirs in a mirror
/// through the axis: there, such orbitals come in even numbers, and m is not conserved.
///
/// # Errors
/// [`MoleculeError`] at the line of the momenta if the integrals are neither, and that of a line
/// that is no integral.
fn symmetry_of<'a>(
    integrals: impl Iterator<Item = Result<Integral<'a>, MoleculeError>>,
    momenta: &[i32],
    line: usize,
) -> Result<IntegralSymmetry, MoleculeError> {
    if momenta.iter().all(|m| *m == 0) {
        return Ok(IntegralSymmetry::Eightfold);
    }
    // The first integral that is not of complex orbitals, and of real ones.
    let (mut not_complex, mut not_real) = (None, None);
    for integral in integrals {
        let Integral { line, value, orbitals, .. } = integral?;
        if value.abs() <= SAME || orbitals[1].is_none() {
            continue;
        }
        let of = orbitals.map(|orbital| orbital.map_or(0, |p| momenta[usize::from(p)]));
        if i64::from(of[0]) + i64::from(of[2]) != i64::from(of[1]) + i64::from(of[3]) {
            not_complex.get_or_insert(line);
        }
        if of.iter().filter(|m| **m < 0).count() % 2 == 1 {
            not_real.get_or_insert(line);
        }
    }
    match (not_complex, not_real) {
        (None, _) => Ok(IntegralSymmetry::Fourfold),
        (Some(_), None) => Ok(IntegralSymmetry::Eightfold),
        (Some(complex), Some(real)) => Err(MoleculeError {
            line: Some(line),
            problem: MoleculeProblem::Momenta { complex, real },
        }),
    }
}

/// A value of the header and its line.
type HeaderValue<'a> = (&'a str, usize);

/// Angular momenta of orbitals, and the line of the header that gives them.
type Momenta = (Vec<i32>, usize);

/// Keys of the header in capitals, each with itself and its values.
type HeaderKeys<'a> = BTreeMap<String, Vec<HeaderValue<'a>>>;

/// Reads the molecule without its integrals, and the momenta of its orbitals, if it has some.
fn read_header(header: &str) -> Result<(Molecule, Option<Momenta>), MoleculeError> {
    let values = read_keys(header);
    let needed = |key, least, most| {
        let missing =
            MoleculeError { line: Some(lines(header)), problem: MoleculeProblem::Missing { key } };
        header_number(&values, key, least, most)?.ok_or(missing)
    };
    check_supported(&values)?;
    let n_orbitals = needed("NORB", 1, MOST_ORBITALS)? as usize;
    let electrons = needed("NELEC", 0, 2 * n_orbitals)?;
    let ms2 = header_number(&values, "MS2", -electrons, electrons as usize)?;
    let ms2 = ms2.unwrap_or(electrons % 2);
    if (electrons + ms2) % 2 != 0 {
        let expected = if electrons % 2 == 0 {
            "an even number: NELEC is even"
        } else {
            "an odd number: NELEC is odd"
        };
        return Err(header_fault("MS2", values["MS2"][1], expected));
    }
    check_symmetry_labels(&values, n_orbitals)?;
    let momenta = read_momenta(&values, n_orbitals)?;
    let up = ((electrons + ms2) / 2) as usize;
    let line = values["NELEC"][0].1;
    let molecule = Molecule::without_integrals(n_orbitals, [up, electrons as usize - up])
        .map_err(|problem| MoleculeError { line: Some(line), problem })?;
    Ok((molecule, momenta))
}

/// Returns the error of a value of the header.
fn header_fault(key: &str, (found, line): HeaderValue<'_>, expected: &str) -> MoleculeError {
    MoleculeError {
        line: Some(line),
        problem: MoleculeProblem::Header {
            key: key.to_owned(),
            expected: expected.to_owned(),
            found: format!("`{found}`"),
        },
    }
}

/// Returns a whole number of the header within limits; `None` if the header does not give it.
fn header_number(
    values: &HeaderKeys<'_>,
    key: &str,
    least: i64,
    most: usize,
) -> Result<Option<i64>, MoleculeError> {
    let Some(words) = values.get(key) else { return Ok(None) };
    let expected = format!("a whole number from {least} to {most}");
    match words[..] {
        [(_, line)] => Err(header_fault(key, ("", line), &expected)),
        [_, word] => {
            let number = word.0.parse().ok().filter(|x| (least..=most as i64).contains(x));
            number.map(Some).ok_or_else(|| header_fault(key, word, &expected))
        }
        [_, _, more, ..] => Err(header_fault(key, more, "one number")),
        [] => Ok(None),
    }
}

/// Returns an error if the header is that of a kind of file that is not read.
fn check_supported(values: &HeaderKeys<'_>) -> Result<(), MoleculeError> {
    let restricted = "write the file after restricted Hartree–Fock";
    for (key, what, way) in [
        ("IUHF", "orbitals of unrestricted Hartree–Fock (IUHF)", restricted),
        ("UHF", "orbitals of unrestricted Hartree–Fock (UHF)", restricted),
        (
            "TREL",
            "relativistic orbitals (TREL)",
            "write the file after a calculation without spin-orbit coupling",
        ),
    ] {
        let is_no = |word: &str| {
            ["0", "F", "FALSE"].iter().any(|no| word.trim_matches('.').eq_ignore_ascii_case(no))
        };
        let yes = values.get(key).and_then(|words| words[1..].iter().find(|word| !is_no(word.0)));
        if let Some(&(_, line)) = yes {
            let problem = MoleculeProblem::Unsupported { what, way };
            return Err(MoleculeError { line: Some(line), problem });
        }
    }
    // One lattice point is a molecule.
    let cells = values
        .get("NPROP")
        .and_then(|words| words[1..].iter().find(|word| word.0.rsplit('*').next() != Some("1")));
    if let Some(&(_, line)) = cells {
        let (what, way) =
            ("orbitals of a crystal (NPROP)", "write a file of one cell, with NPROP=1,1,1");
        return Err(MoleculeError {
            line: Some(line),
            problem: MoleculeProblem::Unsupported { what, way },
        });
    }
    Ok(())
}

/// Returns an error unless the header has no symmetries of orbitals (ORBSYM), or one an orbital.
fn check_symmetry_labels(values: &HeaderKeys<'_>, n_orbitals: usize) -> Result<(), MoleculeError> {
    if let Some(symmetries) = values.get("ORBSYM") {
        let count =
            symmetries[1..].iter().map(|word| repeats(word.0)).fold(0, usize::saturating_add);
        if count != n_orbitals {
            let found = (&*format!("{count} numbers"), symmetries[0].1);
            return Err(header_fault("ORBSYM", found, &format!("{n_orbitals}, one an orbital")));
        }
    }
    Ok(())
}

/// Reads the angular momenta of the orbitals (SYMLZ), if the header has some.
fn read_momenta(
    values: &HeaderKeys<'_>,
    n_orbitals: usize,
) -> Result<Option<Momenta>, MoleculeError> {
    let Some(words) = values.get("SYMLZ") else { return Ok(None) };
    let (mut momenta, line) = (Vec::new(), words[0].1);
    for &word in &words[1..] {
        let (count, momentum) = word.0.split_once('*').unwrap_or(("1", word.0));
        let read = count.parse::<usize>().ok().zip(momentum.parse::<i32>().ok());
        let Some((count, momentum)) = read.filter(|(count, _)| *count <= MOST_ORBITALS) else {
            return Err(header_fault("SYMLZ", word, "a whole number for each orbital"));
        };
        momenta.extend(std::iter::repeat_n(momentum, count));
    }
    if momenta.len() != n_orbitals {
        let found = (&*format!("{} numbers", momenta.len()), line);
        return Err(header_fault("SYMLZ", found, &format!("{n_orbitals}, one an orbital")));
    }
    Ok(Some((momenta, line)))
}

/// Returns the keys of a namelist in capitals, each with itself and its values.
fn read_keys(header: &str) -> HeaderKeys<'_> {
    let begin = header.find(['&', '$']).map_or(0, |at| at + 4);
    let first = lines(&header[..begin]);
    let mut words: Vec<HeaderValue<'_>> = Vec::new();
    for (line, text) in (first..).zip(header[begin..].lines()) {
        let text = text.split('!').next().unwrap_or_default();
        for word in text.split_inclusive(|c: char| c.is_whitespace() || c == ',' || c == '=') {
            let name = word.trim_end_matches(|c: char| c.is_whitespace() || c == ',' || c == '=');
            words.extend(
                [name, if word.ends_with('=') { "=" } else { "" }].map(|word| (word, line)),
            );
        }
    }
    words.retain(|word| !word.0.is_empty());
    let mut values: HeaderKeys<'_> = BTreeMap::new();
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

/// Returns the number of the line after a text.
fn lines(text: &str) -> usize {
    text.matches('\n').count() + 1
}

/// Returns the number of values that a word of a list stands for: `8*1` is eight.
fn repeats(word: &str) -> usize {
    word.split_once('*').map_or(Some(1), |(count, _)| count.parse().ok()).unwrap_or(1)
}

/// A value and its orbitals, counted from 0; `None` for the 0 of the file.
fn read_line(line: &str, n_orbitals: usize) -> Result<(f64, [Option<u16>; 4]), MoleculeProblem> {
    if line.starts_with('(') {
        let way = "write those of real orbitals";
        return Err(MoleculeProblem::Unsupported { what: "complex integrals", way });
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
        let word = words
            .next()
            .filter(|word| word.bytes().all(|b| b.is_ascii_digit()))
            .ok_or_else(syntax)?;
        *place = match word.parse::<usize>() {
            Ok(0) => None,
            // The number fits in a u16.
            Ok(orbital) if orbital <= n_orbitals => Some((orbital - 1) as u16),
            _ => return Err(MoleculeProblem::BeyondLast { orbital: word.to_owned(), n_orbitals }),
        };
    }
    if words.next().is_some() { Err(syntax()) } else { Ok((value, orbitals)) }
}

/// A number as Fortran writes it: `1.0D-03`, and `1.0-100`, where the exponent leaves no room for
/// its letter.
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
