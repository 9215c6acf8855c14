//! Known names that are near to an unknown one.

use std::{cmp::Reverse, fmt::Display};

/// Maximum number of names that a name is compared with.
const MAX_NAMES: usize = 10_000;

/// Length of the longest name that is compared with others, in bytes.
const MAX_BYTES: usize = 64;

/// Returns the known name that was probably meant by another one, or `None` if none is near.
///
/// Near are names within a Damerau-Levenshtein distance (insertions, deletions, substitutions and
/// swaps of neighbours) of a third of the given name's length, at least 1, but not if no character
/// is left; names that differ in case; and those that begin with the given name, if it has at least
/// two characters or an index follows. Of several that are equally near, the name with more of the
/// first characters in common is returned, then the first in alphabetical order, so that the result
/// does not depend on the order of the names. Names of more than 64 bytes, and any after the first
/// 10,000, are not considered.
///
/// ```
/// use ketgrad_core::notation::nearest_name;
///
/// assert_eq!(nearest_name("thtea", ["phi", "theta"]), Some("theta"));
/// assert_eq!(nearest_name("w", ["v", "w[0]"]), Some("w[0]"));
/// assert_eq!(nearest_name("alpha", ["theta", "w[0]"]), None);
/// ```
#[must_use]
pub fn nearest_name<N: AsRef<str>>(given: &str, known: impl IntoIterator<Item = N>) -> Option<N> {
    let known = known.into_iter().take(MAX_NAMES);
    let near = known.filter_map(|name| Some((remoteness(given, name.as_ref())?, name)));
    near.min_by(|(a, x), (b, y)| a.cmp(b).then_with(|| x.as_ref().cmp(y.as_ref())))
        .map(|(_, name)| name)
}

/// Returns the distance of two names, and the number of first characters that they share, the more
/// the nearer; `None` if they are not near.
fn remoteness(given: &str, name: &str) -> Option<(usize, Reverse<usize>)> {
    if given == name || given.is_empty() || given.len().max(name.len()) > MAX_BYTES {
        return None;
    }
    let (length, other) = (given.chars().count(), name.chars().count());
    let bound = length.max(3) / 3;
    let begins = name.strip_prefix(given).is_some_and(|rest| length > 1 || rest.starts_with('['));
    let distance = if given.eq_ignore_ascii_case(name) {
        0
    } else if begins {
        other - length
    } else if length.abs_diff(other) <= bound {
        let distance = strsim::damerau_levenshtein(given, name);
        Some(distance).filter(|d| *d <= bound && *d < length.max(other))?
    } else {
        return None;
    };
    let common = given.chars().zip(name.chars()).take_while(|(a, b)| a == b).count();
    Some((distance, Reverse(common)))
}

/// Returns the hint after an unknown name.
///
/// ```
/// assert_eq!(ketgrad_core::notation::did_you_mean("theta"), "did you mean `theta`?");
/// ```
#[must_use]
pub fn did_you_mean(name: impl Display) -> String {
    format!("did you mean `{name}`?")
}

/// Returns [`did_you_mean`] as the end of a message, if a name is near.
#[doc(hidden)]
pub fn hint(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(": {}", did_you_mean(name))).unwrap_or_default()
}
