//! Operators on fermions as text, as OpenFermion prints and reads them: `0.5 [2^ 0] +`, a term a
//! line or all in one.
//!
//! A term is a coefficient, 1 if there is none, and a product in brackets, empty for a constant. A
//! coefficient is real, `-0.5`, or complex as Python writes it, `2j`, `(0.5-2j)`.

use std::{fmt, str::FromStr};

use num_complex::Complex;

use super::{FermionError, FermionOperator, FermionProblem, Ladder, MAX_QUBITS};

impl fmt::Display for Ladder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ladder::Create(p) => write!(f, "{p}^"),
            Ladder::Annihilate(p) => write!(f, "{p}"),
        }
    }
}

impl fmt::Display for FermionOperator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.terms.is_empty() {
            return f.write_str("0");
        }
        for (i, (c, product)) in self.terms.iter().enumerate() {
            let ladders: Vec<String> = product.iter().map(ToString::to_string).collect();
            let join = if i == 0 { "" } else { " +\n" };
            write!(f, "{join}{} [{}]", coefficient(*c), ladders.join(" "))?;
        }
        Ok(())
    }
}

/// A complex number as Python writes it.
pub(super) fn coefficient(c: Complex<f64>) -> String {
    if c.im == 0.0 { c.re.to_string() } else { format!("({}{:+}j)", c.re, c.im) }
}

impl FromStr for FermionOperator {
    type Err = FermionError;

    fn from_str(text: &str) -> Result<FermionOperator, FermionError> {
        let mut sum = FermionOperator::default();
        let at = |at: usize, problem| FermionError {
            column: Some(text[..at].chars().count() + 1),
            problem,
        };
        let mut rest = text;
        if rest.trim() == "0" {
            return Ok(sum);
        }
        while !rest.trim().is_empty() || sum.terms.is_empty() {
            let start = text.len() - rest.len();
            let expected = |expected, from: usize| {
                let found = text[from..].trim();
                let word = |s: &str| format!("`{}`", s.chars().take(20).collect::<String>());
                let found = if found.is_empty() { "the end".to_owned() } else { word(found) };
                let from = from + text[from..].len() - text[from..].trim_start().len();
                at(from, FermionProblem::Unexpected { expected, found })
            };
            let open =
                rest.find('[').ok_or_else(|| expected("a term such as `0.5 [2^ 0]`", start))?;
            let close = rest[open..].find(']').ok_or_else(|| expected("`]`", text.len()))? + open;
            let mut words = rest[..open].trim();
            if !sum.terms.is_empty() {
                // The separator between terms is a sign; a minus belongs to the term, too.
                if !words.starts_with(['+', '-']) {
                    return Err(expected("`+`, `-` or the end", start));
                }
                words = words.strip_prefix('+').unwrap_or(words).trim_start();
            }
            let c = read_coefficient(words).ok_or_else(|| {
                expected("a coefficient such as `-0.5` or `(0.5-2j)`, then `[`", start)
            })?;
            if !c.is_finite() {
                return Err(at(start, FermionProblem::Coefficient { text: words.to_owned() }));
            }
            let mut product = Vec::new();
            let inside = &rest[open + 1..close];
            for word in inside.split_whitespace() {
                let place = word.as_ptr() as usize - text.as_ptr() as usize;
                product.push(read_ladder(word).map_err(|problem| at(place, problem))?);
            }
            sum.terms.push((c, product));
            rest = &rest[close + 1..];
        }
        Ok(sum)
    }
}

fn read_ladder(word: &str) -> Result<Ladder, FermionProblem> {
    let (digits, creates) = word.strip_suffix('^').map_or((word, false), |digits| (digits, true));
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        let expected = "an orbital such as `2^` or `0`";
        return Err(FermionProblem::Unexpected { expected, found: format!("`{word}`") });
    }
    let orbital = digits.parse().ok().filter(|p| *p < MAX_QUBITS);
    let orbital = orbital.ok_or_else(|| FermionProblem::Orbital { text: digits.to_owned() })?;
    Ok(if creates { Ladder::Create(orbital) } else { Ladder::Annihilate(orbital) })
}

/// A number as Python writes it, with a sign or none before it; 1 if there is no more than that.
fn read_coefficient(words: &str) -> Option<Complex<f64>> {
    let (sign, size) = match words.strip_prefix('-') {
        Some(size) => (-1.0, size.trim_start()),
        None => (1.0, words.strip_prefix('+').unwrap_or(words).trim_start()),
    };
    if size.is_empty() {
        return Some(sign.into());
    }
    let inner = size.strip_prefix('(').and_then(|s| s.strip_suffix(')')).unwrap_or(size).trim();
    let Some(imaginary) = inner.strip_suffix(['j', 'J']) else {
        return Some((sign * real(inner)?).into());
    };
    // The sign that is not the first character and not that of an exponent begins the imaginary
    // part.
    let bytes = imaginary.as_bytes();
    let is_join = |i: &usize| b"+-".contains(&bytes[*i]) && !b"eE".contains(&bytes[*i - 1]);
    let (re, im) = imaginary.split_at((1..bytes.len()).rev().find(is_join).unwrap_or(0));
    let re = if re.is_empty() { 0.0 } else { real(re)? };
    let im = match im {
        "" | "+" => 1.0,
        "-" => -1.0,
        im => real(im)?,
    };
    Some(Complex::new(re, im) * sign)
}

/// A float in digits; Rust reads words such as `inf`, too.
fn real(text: &str) -> Option<f64> {
    let is_number = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    text.parse().ok().filter(|_| is_number)
}
