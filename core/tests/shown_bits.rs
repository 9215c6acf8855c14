//! The bits of outcomes, apart from the variables that are shown after them.

use std::collections::BTreeMap;

use ketgrad_core::{circuit::Circuit, simulate::Bits};

/// The text of the registers of an outcome, without that of variables.
pub(crate) fn text(bits: &Bits, circuit: &Circuit) -> String {
    let text = bits.text(circuit);
    let variables = text.find('=').map(|at| text[..at].rfind(' ').unwrap_or(0));
    text[..variables.unwrap_or(text.len())].to_owned()
}

/// The probabilities of the registers.
pub(crate) fn distribution<'b>(
    outcomes: impl IntoIterator<Item = (&'b Bits, f64)>,
    circuit: &Circuit,
) -> BTreeMap<String, f64> {
    let mut shown = BTreeMap::new();
    for (bits, probability) in outcomes {
        *shown.entry(text(bits, circuit)).or_insert(0.0) += probability;
    }
    shown
}
