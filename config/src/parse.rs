//! Values of options as text: counts, sizes, names.

use crate::report::Failure;

/// Largest number of threads.
pub(crate) const MAX_THREADS: usize = 1024;

/// The units of a size in text, with their bytes.
const UNITS: [(&str, u64); 10] = [
    ("", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
];

/// A size that cannot be read.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error(
    "`{given}` is no size: write a number and KiB, MiB, GiB, TiB, KB, MB, GB, TB or nothing (bytes)"
)]
pub(crate) struct SizeError {
    /// The text given.
    pub(crate) given: String,
}

/// Reads a size such as `8GiB`, `1.5 GB` or `4096`.
///
/// # Errors
/// [`SizeError`] for anything else.
pub(crate) fn parse_size(text: &str) -> Result<u64, SizeError> {
    let error = || SizeError { given: text.to_owned() };
    let trimmed = text.trim();
    let split = trimmed.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(trimmed.len());
    let (number, unit) = trimmed.split_at(split);
    let unit = unit.trim();
    let (_, factor) =
        UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).ok_or_else(error)?;
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(*factor).ok_or_else(error);
    }
    let bytes = number.parse::<f64>().map_err(|_| error())? * *factor as f64;
    // 2^64: what u64 cannot hold is refused rather than cut.
    if bytes >= 18_446_744_073_709_551_616.0 { Err(error()) } else { Ok(bytes as u64) }
}

/// Reads a number of threads.
///
/// # Errors
/// In words, for anything else.
pub(crate) fn parse_threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(n @ 1..=MAX_THREADS) => Ok(n),
        _ => Err(format!("expected a whole number from 1 to {MAX_THREADS}")),
    }
}

/// Reads a number of shots.
///
/// # Errors
/// In words, for 0 and anything else.
pub(crate) fn parse_shots(text: &str) -> Result<u64, String> {
    match parse_count(text) {
        Ok(0) => Err("at least one shot is needed".to_owned()),
        other => other,
    }
}

/// Reads a whole number such as `1000`, `1_000` or `1e9`.
///
/// # Errors
/// In words, for anything else.
pub(crate) fn parse_count(text: &str) -> Result<u64, String> {
    let error = || "expected a whole number that is not negative, such as 1000 or 1e9".to_owned();
    let (digits, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    if !digits.starts_with(|c: char| c.is_ascii_digit()) || exponent.starts_with('+') {
        return Err(error());
    }
    let digits: u64 = digits.replace('_', "").parse().map_err(|_| error())?;
    let exponent: u32 = exponent.parse().map_err(|_| error())?;
    10u64.checked_pow(exponent).and_then(|p| digits.checked_mul(p)).ok_or_else(error)
}

/// Returns the value that a name stands for; `list` says the names in words.
///
/// # Errors
/// [`Failure`] for a name of none, with the nearest one.
pub(crate) fn choose<T: Copy>(
    option: &str,
    list: &str,
    given: &str,
    values: &[(&str, T)],
) -> Result<T, Failure> {
    match values.iter().find(|(name, _)| *name == given) {
        Some((_, value)) => Ok(*value),
        None => Err(Failure::usage(format_args!("{option} is {list}, not `{given}`"))
            .nearest(given, values.iter().map(|(name, _)| *name))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_whole() {
        assert_eq!(parse_count("1e9"), Ok(1_000_000_000));
        assert_eq!(parse_count("12_000"), Ok(12_000));
        for bad in ["-1", "", "1.5", "1e99", "e3", "+1", "0x10", "1e+3", "nan"] {
            assert!(parse_count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("8GiB"), Ok(8 << 30));
        assert_eq!(parse_size("1.5 KB"), Ok(1500));
        assert!(parse_size("8 parsecs").is_err());
    }
}
