//! Curves as SVG: values against their index.

use std::fmt::Write;

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 96.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 40.0;
const BOTTOM: f64 = 56.0;
/// Approximate number of ticks of an axis.
const TICKS: f64 = 6.0;
/// Largest value in a picture: a range must not overflow.
const LARGEST: f64 = 1e300;

/// Returns the values as a curve over 0, 1, 2, … with axes and a title, as a standalone SVG image.
/// A value that is not finite, or beyond 1e300, is a gap. O(values).
///
/// ```
/// let svg = ketgrad_core::draw::curve(&[1.0, 0.5, 0.25], "halves", "iteration", "value");
/// assert!(svg.starts_with("<svg") && svg.ends_with("</svg>\n") && svg.contains(">halves</text>"));
/// ```
#[must_use]
pub fn curve(values: &[f64], title: &str, x_name: &str, y_name: &str) -> String {
    let drawn = |y: &f64| y.abs() <= LARGEST;
    let finite = || values.iter().copied().filter(drawn);
    let (mut low, mut high) =
        (finite().fold(f64::INFINITY, f64::min), finite().fold(f64::NEG_INFINITY, f64::max));
    if low > high {
        (low, high) = (0.0, 1.0);
    }
    // Values that are all equal still have a scale.
    let least = 1e-9 * low.abs().max(high.abs()).max(1e-3);
    if high - low < least {
        (low, high) = (low - least, high + least);
    }
    let last = values.len().saturating_sub(1).max(1) as f64;
    let x_at = |x: f64| LEFT + x / last * (WIDTH - LEFT - RIGHT);
    let y_at = |y: f64| {
        HEIGHT - BOTTOM - (y / (high - low) - low / (high - low)) * (HEIGHT - TOP - BOTTOM)
    };

    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\" fill=\"#1f2937\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    let mut put = |line: std::fmt::Arguments<'_>| {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{line}");
    };
    let (bottom, right) = (HEIGHT - BOTTOM, WIDTH - RIGHT);
    let (y_step, y_digits) = step(high - low);
    for k in multiples(low, high, y_step) {
        let (y, label) = (y_at(k * y_step), k * y_step);
        put(format_args!("<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e5e7eb\"/>"));
        put(format_args!(
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label:.y_digits$}</text>",
            LEFT - 8.0,
            y + 4.0
        ));
    }
    // Numbers of values are whole.
    let (x_step, _) = step(last);
    let x_step = x_step.max(1.0);
    for k in multiples(0.0, last, x_step) {
        let (x, label) = (x_at(k * x_step), k * x_step);
        put(format_args!("<path d=\"M{x:.1} {bottom}v5\" stroke=\"#1f2937\"/>"));
        put(format_args!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label:.0}</text>",
            bottom + 20.0
        ));
    }
    put(format_args!(
        "<path d=\"M{LEFT} {TOP}V{bottom}H{right}\" fill=\"none\" stroke=\"#1f2937\"/>"
    ));
    let pen = "fill=\"none\" stroke=\"#1f6fb2\" stroke-width=\"2\" stroke-linejoin=\"round\"";
    let numbered: Vec<(usize, f64)> = values.iter().copied().enumerate().collect();
    for run in numbered.split(|(_, y)| !drawn(y)).filter(|run| !run.is_empty()) {
        let points: Vec<String> =
            run.iter().map(|(k, y)| format!("{:.1},{:.1}", x_at(*k as f64), y_at(*y))).collect();
        put(format_args!("<polyline points=\"{}\" {pen}/>", points.join(" ")));
    }
    let middle = 0.5 * (LEFT + right);
    put(format_args!(
        "<text x=\"{middle:.1}\" y=\"24\" text-anchor=\"middle\" font-size=\"15\">{}</text>",
        escaped(title)
    ));
    put(format_args!(
        "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
        HEIGHT - 14.0,
        escaped(x_name)
    ));
    put(format_args!(
        "<text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
        0.5 * (TOP + bottom),
        escaped(y_name)
    ));
    out.push_str("</svg>\n");
    out
}

/// The distance of ticks, 1, 2 or 5 times a power of ten, and its decimals.
fn step(range: f64) -> (f64, usize) {
    let rough = range / TICKS;
    let power = rough.log10().floor();
    let unit = 10f64.powf(power);
    let factor = [1.0, 2.0, 5.0].into_iter().find(|f| f * unit >= rough).unwrap_or(10.0);
    let digits = if factor >= 10.0 { -power - 1.0 } else { -power };
    (factor * unit, digits.clamp(0.0, 17.0) as usize)
}

/// The whole multiples of a step from low to high.
fn multiples(low: f64, high: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (low / step).ceil();
    let count = ((high / step + 1e-9).floor() - first).clamp(-1.0, 1000.0);
    (0..=count as i64).map(move |k| first + k as f64).take(if count < 0.0 { 0 } else { usize::MAX })
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_numbers() {
        let close =
            |(a, d): (f64, usize), (b, e): (f64, usize)| (a / b - 1.0).abs() < 1e-12 && d == e;
        assert!(
            close(step(6.0), (1.0, 0))
                && close(step(0.7), (0.2, 1))
                && close(step(290.0), (50.0, 0))
        );
        assert!(close(step(0.0585), (0.01, 2)));
        assert_eq!(multiples(-0.25, 0.5, 0.25).collect::<Vec<_>>(), [-1.0, 0.0, 1.0, 2.0]);
        assert_eq!(multiples(0.1, 0.2, 1.0).count(), 0);
    }

    #[test]
    fn any_values_make_a_picture() {
        let lists: [&[f64]; 7] = [
            &[],
            &[1.0],
            &[2.0, 2.0, 2.0],
            &[f64::NAN, 1.0, f64::INFINITY, 2.0, 1.0],
            &[f64::MAX, f64::MIN],
            &[1e-300, 2e-300],
            &[0.0, -0.0],
        ];
        for values in lists {
            let svg = curve(values, "<a & b>", "x", "y");
            assert!(
                svg.ends_with("</svg>\n") && !svg.contains("NaN") && !svg.contains("inf"),
                "{values:?}\n{svg}"
            );
            assert!(svg.contains("&lt;a &amp; b&gt;"));
        }
        assert_eq!(curve(lists[3], "", "", "").matches("<polyline").count(), 2);
    }
}
