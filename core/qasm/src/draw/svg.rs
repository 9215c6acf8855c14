//! The picture as SVG.
//!
//! A self-contained file: no scripts, no fonts of its own, a white background so that it can be
//! read in light and in dark themes. Lengths are in pixels; texts are monospaced, so that their
//! width is known.

use std::fmt::Write;

use super::layout::{CellShape, DiagramCell, DiagramLayout};
use crate::circuit::Circuit;

const ROW: f64 = 46.0;
const BOX: f64 = 34.0;
const GAP: f64 = 14.0;
const MARGIN: f64 = 16.0;
const DOT: f64 = 4.5;
/// The width of a character of a label and of a note.
const CHARACTER: f64 = 8.4;
const SMALL: f64 = 6.1;

const INK: &str = "#1f2937";

/// Returns the circuit as a standalone SVG image. `columns` is the maximum number of columns in one
/// line of the picture; the rest goes below.
#[must_use]
pub fn svg(circuit: &Circuit, columns: Option<usize>) -> String {
    let layout = DiagramLayout::new(circuit, "π");
    let names: Vec<String> = (0..layout.n_rows).map(|row| layout.row_name(row)).collect();
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let start = MARGIN + longest as f64 * CHARACTER + 10.0;
    let widths: Vec<f64> = layout
        .columns
        .iter()
        .map(|cells| cells.iter().map(cell_width).fold(DOT * 4.0, f64::max) + GAP)
        .collect();
    let per_line = columns.unwrap_or(usize::MAX).max(1);
    let lines: Vec<(usize, usize)> = (0..widths.len().div_ceil(per_line).max(1))
        .map(|i| (i * per_line, (i.saturating_add(1)).saturating_mul(per_line).min(widths.len())))
        .collect();
    let line_width = |&(a, b): &(usize, usize)| widths[a..b].iter().sum::<f64>() + GAP;
    let width = start + lines.iter().map(line_width).fold(0.0, f64::max) + MARGIN;
    let line_height = layout.n_rows as f64 * ROW + MARGIN;
    let height = lines.len() as f64 * line_height + MARGIN;
    let mut pen = Pen { out: String::new() };
    pen.write_element(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"'DejaVu Sans Mono', Menlo, Consolas, monospace\" font-size=\"14\" fill=\"{INK}\">"
    ));
    pen.write_element(format_args!("<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"));
    for (i, line) in lines.iter().enumerate() {
        let top = MARGIN + i as f64 * line_height + ROW / 2.0;
        let end = start + line_width(line);
        for (row, name) in names.iter().enumerate().take(layout.n_qubits) {
            let y = top + row as f64 * ROW;
            pen.text(start - 8.0, y, name, "text-anchor=\"end\"");
            pen.line((start, y), (end, y), "stroke-width=\"1.2\"");
            let mark = "text-anchor=\"middle\" fill=\"#6b7280\"";
            if i > 0 {
                pen.text(start + 2.0, y - 10.0, "«", mark);
            }
            if i + 1 < lines.len() {
                pen.text(end - 2.0, y - 10.0, "»", mark);
            }
        }
        let mut x = start + GAP / 2.0;
        for (cells, width) in layout.columns[line.0..line.1].iter().zip(&widths[line.0..line.1]) {
            cells.iter().for_each(|cell| draw(&mut pen, cell, x + width / 2.0, top));
            x += width;
        }
    }
    pen.write_element(format_args!("</svg>"));
    pen.out
}

/// Returns a bound on the bytes of the rows of [`svg`], each time they are drawn.
#[must_use]
pub fn svg_bytes(circuit: &Circuit, columns: Option<usize>) -> u128 {
    // The name of a row, its line and two marks.
    const BYTES_PER_ROW: u128 = 500;
    let layout = DiagramLayout::new(circuit, "π");
    let lines = columns.map_or(1, |columns| layout.columns.len().div_ceil(columns.max(1)).max(1));
    (lines as u128).saturating_mul(layout.n_rows as u128).saturating_mul(BYTES_PER_ROW)
}

fn cell_width(cell: &DiagramCell) -> f64 {
    let length = |text: &str| text.chars().count() as f64;
    match cell.shape {
        CellShape::Not | CellShape::Swap => 4.0 * DOT,
        CellShape::Barrier => 10.0,
        CellShape::Measure => (length(&cell.note) * SMALL + 10.0).max(BOX),
        CellShape::Box | CellShape::Call | CellShape::Dot { .. } | CellShape::Block => {
            let numbered = matches!(cell.shape, CellShape::Dot { .. }) || is_numbered(cell);
            let numbers = if numbered { 16.0 } else { 0.0 };
            let label = length(&cell.label) * CHARACTER + 14.0;
            (label.max(length(&cell.note) * SMALL + 10.0) + numbers).max(BOX)
        }
    }
}

/// Returns true if the targets have their numbers in the box.
fn is_numbered(cell: &DiagramCell) -> bool {
    cell.targets.len() > 1 && cell.shape != CellShape::Block
}

/// Draws a cell around the line at `x`; `top` is the height of the first wire.
fn draw(pen: &mut Pen, cell: &DiagramCell, x: f64, top: f64) {
    let y = |row: usize| top + row as f64 * ROW;
    if cell.shape == CellShape::Barrier {
        for (first, last) in cell.runs() {
            let (up, height) = (y(first) - ROW / 2.0, y(last) - y(first) + ROW);
            pen.rect((x - 3.0, up), (6.0, height), "fill=\"#9ca3af\" fill-opacity=\"0.45\"");
            pen.line((x, up), (x, up + height), "stroke-dasharray=\"4 3\" stroke=\"#6b7280\"");
        }
        return;
    }
    if cell.rows.0 < cell.rows.1 {
        pen.line((x, y(cell.rows.0)), (x, y(cell.rows.1)), "stroke-width=\"1.6\"");
    }
    match cell.shape {
        CellShape::Not => cell.targets.iter().for_each(|&row| {
            let (r, y) = (2.2 * DOT, y(row));
            pen.circle((x, y), r, "fill=\"#ffffff\" stroke-width=\"1.6\"");
            pen.line((x - r, y), (x + r, y), "stroke-width=\"1.6\"");
            pen.line((x, y - r), (x, y + r), "stroke-width=\"1.6\"");
        }),
        CellShape::Swap => cell.targets.iter().for_each(|&row| {
            let (r, y) = (1.5 * DOT, y(row));
            pen.line((x - r, y - r), (x + r, y + r), "stroke-width=\"1.8\"");
            pen.line((x - r, y + r), (x + r, y - r), "stroke-width=\"1.8\"");
        }),
        _ => cell.runs().into_iter().for_each(|rows| draw_box(pen, cell, rows, x, &y)),
    }
    for &(row, value) in &cell.controls {
        dot(pen, (x, y(row)), value);
    }
}

fn dot(pen: &mut Pen, at: (f64, f64), value: bool) {
    pen.circle(
        at,
        DOT,
        if value { "fill=\"#1f2937\"" } else { "fill=\"#ffffff\" stroke-width=\"1.6\"" },
    );
}

/// Draws the box of a cell from row to row.
fn draw_box(
    pen: &mut Pen,
    cell: &DiagramCell,
    (first, last): (usize, usize),
    x: f64,
    y: &dyn Fn(usize) -> f64,
) {
    let width = cell_width(cell);
    let (left, up) = (x - width / 2.0, y(first) - BOX / 2.0);
    let fill = match cell.shape {
        CellShape::Measure | CellShape::Block => "#e5e7eb",
        CellShape::Dot { .. } => "#fef3c7",
        CellShape::Call => "#dcfce7",
        _ if cell.label.contains('(') => "#fef3c7",
        _ if cell.label.contains(['|', '=']) => "#e5e7eb",
        _ => "#dbeafe",
    };
    let height = y(last) - y(first) + BOX;
    pen.rect(
        (left, up),
        (width, height),
        &format!("rx=\"3\" fill=\"{fill}\" stroke=\"{INK}\" stroke-width=\"1.2\""),
    );
    let numbered = is_numbered(cell);
    for row in first..=last {
        if let Some(number) = cell.number(row) {
            pen.text(left + 4.0, y(row), &number.to_string(), "font-size=\"10\" fill=\"#4b5563\"");
        }
    }
    let middle = f64::midpoint(y(first), y(last));
    let center = x + if numbered { 6.0 } else { 0.0 };
    let anchor = "text-anchor=\"middle\"";
    let small = "text-anchor=\"middle\" font-size=\"10\" fill=\"#4b5563\"";
    match cell.shape {
        CellShape::Measure => {
            pen.write_element(format_args!(
                "<path d=\"M{:.1} {:.1}a9 9 0 0 1 18 0M{x:.1} {:.1}l7 -10\" fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.3\"/>",
                x - 9.0,
                middle + 1.0,
                middle + 1.0,
            ));
            pen.text(x, middle + 10.0, &cell.note, small);
        }
        CellShape::Dot { value } => {
            dot(pen, (left + 12.0, middle), value);
            let up = if cell.note.is_empty() { 0.0 } else { 6.0 };
            pen.text(x + 8.0, middle - up, &cell.label, anchor);
            pen.text(x + 8.0, middle + 9.0, &cell.note, small);
        }
        _ if cell.note.is_empty() => pen.text(center, middle, &cell.label, anchor),
        _ => {
            pen.text(center, middle - 6.0, &cell.label, anchor);
            pen.text(center, middle + 9.0, &cell.note, small);
        }
    }
}

/// Writer of elements. Writing to a `String` cannot fail.
struct Pen {
    out: String,
}

impl Pen {
    fn write_element(&mut self, element: std::fmt::Arguments) {
        let _ = writeln!(self.out, "{element}");
    }

    fn line(&mut self, a: (f64, f64), b: (f64, f64), style: &str) {
        let stroke =
            if style.contains("stroke=") { String::new() } else { format!(" stroke=\"{INK}\"") };
        self.write_element(format_args!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"{stroke} {style}/>",
            a.0, a.1, b.0, b.1
        ));
    }

    fn rect(&mut self, at: (f64, f64), size: (f64, f64), style: &str) {
        self.write_element(format_args!(
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" {style}/>",
            at.0, at.1, size.0, size.1
        ));
    }

    fn circle(&mut self, at: (f64, f64), r: f64, style: &str) {
        self.write_element(format_args!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{r:.1}\" stroke=\"{INK}\" {style}/>",
            at.0, at.1
        ));
    }

    /// A text, centred vertically on `y`.
    fn text(&mut self, x: f64, y: f64, text: &str, style: &str) {
        if text.is_empty() {
            return;
        }
        let mut escaped = String::with_capacity(text.len());
        for c in text.chars() {
            match c {
                '&' => escaped.push_str("&amp;"),
                '<' => escaped.push_str("&lt;"),
                '>' => escaped.push_str("&gt;"),
                '"' => escaped.push_str("&quot;"),
                '\'' => escaped.push_str("&apos;"),
                // XML has no other control characters.
                c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {
                    escaped.push('\u{fffd}')
                }
                c => escaped.push(c),
            }
        }
        // A third of the height below the middle: not all readers know dominant-baseline.
        let down = if style.contains("font-size=\"10\"") { 3.5 } else { 4.8 };
        self.write_element(format_args!(
            "<text x=\"{x:.1}\" y=\"{:.1}\" {style}>{escaped}</text>",
            y + down
        ));
    }
}
