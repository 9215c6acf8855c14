//! Numbers of bytes in words.

/// Formats a number of bytes with a binary unit: `16 TiB`.
#[must_use]
pub fn bytes_text(bytes: u128) -> String {
    let mut value = bytes as f64;
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value >= 1e6 {
        return format!("{value:.1e} {}", units[unit]);
    }
    let digits = usize::from(value.fract() != 0.0 && value < 100.0);
    format!("{value:.digits$} {}", units[unit])
}
