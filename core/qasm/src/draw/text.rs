//! The picture in characters.
//!
//! There is one line per qubit, and one between neighbours for connections. Columns are as wide as
//! their widest cell, with one `─` before each; a picture that exceeds the width continues below,
//! from `»` to `«`.

use super::layout::{CellShape, DiagramCell, DiagramLayout};
use crate::circuit::Circuit;

/// The circuit in box-drawing characters.
///
/// Lines take at most `width` characters, unless a single column is wider. All lines between two
/// empty ones are equally long. The text ends with a new line, unless the circuit has no rows.
#[must_use]
pub fn text(circuit: &Circuit, width: Option<usize>) -> String {
    let layout = DiagramLayout::new(circuit, "pi");
    let names: Vec<String> = (0..layout.n_rows).map(|row| layout.row_name(row)).collect();
    let name_width = name_width(&layout);
    let widths = column_widths(&layout);
    let mut out = String::new();
    let mut first = 0;
    loop {
        let last = line_end(&widths, first, name_width, width);
        let (continues, continued) = (last < widths.len(), first > 0);
        let total = widths[first..last].iter().map(|w| w + 1).sum::<usize>();
        let mut canvas = Canvas::new(
            layout.n_rows,
            name_width + usize::from(continued) + total + 1 + usize::from(continues),
        );
        for (row, name) in names.iter().enumerate() {
            let label = if name.is_empty() { String::new() } else { format!("{name}: ") };
            canvas.write(2 * row, 0, &label);
            if row < layout.n_qubits {
                (name_width..canvas.width).for_each(|x| canvas.set(2 * row, x, '─'));
            }
            if continued && row < layout.n_qubits {
                canvas.set(2 * row, name_width, '«');
            }
            if continues && row < layout.n_qubits {
                canvas.set(2 * row, canvas.width - 1, '»');
            }
        }
        let mut x = name_width + usize::from(continued);
        for (cells, &width) in layout.columns[first..last].iter().zip(&widths[first..last]) {
            cells.iter().for_each(|cell| draw(&mut canvas, cell, x + 1, width));
            x += width + 1;
        }
        canvas.append_to(&mut out);
        if !continues {
            return out;
        }
        out.push('\n');
        first = last;
    }
}

/// Returns a bound on the bytes of [`text`], without those of its rows.
#[must_use]
pub fn text_bytes(circuit: &Circuit, width: Option<usize>) -> u128 {
    // A character takes four bytes while it is drawn and at most three in the text, which grows by
    // doubling.
    const BYTES_PER_CHARACTER: u128 = 10;
    let layout = DiagramLayout::new(circuit, "pi");
    let (name_width, widths) = (name_width(&layout), column_widths(&layout));
    let (mut characters, mut first) = (0, 0);
    loop {
        let last = line_end(&widths, first, name_width, width);
        // The name, the last stroke and two marks.
        characters += name_width as u128 + 3;
        characters += widths[first..last].iter().map(|w| *w as u128 + 1).sum::<u128>();
        if last == widths.len() {
            return characters
                .saturating_mul(2 * layout.n_rows as u128)
                .saturating_mul(BYTES_PER_CHARACTER);
        }
        first = last;
    }
}

/// The circuit in ASCII characters: `*` and `o` for controls, `[H]` for boxes, `X` for `⊕`.
#[must_use]
pub fn ascii(circuit: &Circuit, width: Option<usize>) -> String {
    let plain = |c| match c {
        '─' => '-',
        '│' => '|',
        '┼' => '+',
        '┤' => '[',
        '├' => ']',
        '●' => '*',
        '○' => 'o',
        '⊕' => 'X',
        '✕' => 'x',
        '░' => ':',
        '†' => '\'',
        '→' | '»' => '>',
        '«' => '<',
        c if c.is_ascii() => c,
        _ => '?',
    };
    text(circuit, width).chars().map(plain).collect()
}

/// Returns the width of the labels of the rows, with the space after them.
fn name_width(layout: &DiagramLayout) -> usize {
    // Of rows that are qubits, the last one has the longest label.
    layout.name_width() + 2
}

fn column_widths(layout: &DiagramLayout) -> Vec<usize> {
    layout.columns.iter().map(|cells| cells.iter().map(cell_width).max().unwrap_or(0)).collect()
}

/// The column after the last one of a line that starts with column `first`.
fn line_end(widths: &[usize], first: usize, name_width: usize, width: Option<usize>) -> usize {
    let Some(width) = width else { return widths.len() };
    // The name, a mark and a stroke at both ends.
    let mut used = name_width + usize::from(first > 0) + 1;
    for (i, w) in widths.iter().enumerate().skip(first) {
        used += w + 1;
        let mark = usize::from(i + 1 < widths.len());
        if used + mark > width && i > first {
            return i;
        }
    }
    widths.len()
}

/// The words in a box.
fn words(cell: &DiagramCell) -> String {
    match cell.shape {
        CellShape::Measure => format!("M→{}", cell.note),
        CellShape::Dot { value } => {
            let dot = if value { '●' } else { '○' };
            let space = if cell.note.is_empty() { "" } else { " " };
            format!("{dot} {}{space}{}", cell.label, cell.note)
        }
        _ if cell.note.is_empty() => cell.label.clone(),
        _ => format!("{} {}", cell.label, cell.note),
    }
}

/// Returns the width of the numbers of the targets, with the space after them.
fn numbers_width(cell: &DiagramCell) -> usize {
    match cell.targets.len() {
        0 | 1 => 0,
        _ if cell.shape == CellShape::Block => 0,
        n => (n - 1).to_string().len() + 1,
    }
}

fn cell_width(cell: &DiagramCell) -> usize {
    match cell.shape {
        CellShape::Not | CellShape::Swap | CellShape::Barrier => 1,
        _ => words(cell).chars().count() + numbers_width(cell) + 2,
    }
}

/// Draws a cell into a column that starts at `x`.
fn draw(canvas: &mut Canvas, cell: &DiagramCell, x: usize, width: usize) {
    let middle = x + (width - 1) / 2;
    if cell.shape == CellShape::Barrier {
        for &row in &cell.targets {
            canvas.set(2 * row, middle, '░');
            if cell.targets.contains(&(row + 1)) {
                canvas.set(2 * row + 1, middle, '░');
            }
        }
        return;
    }
    for y in 2 * cell.rows.0 + 1..2 * cell.rows.1 {
        canvas.set(y, middle, if y % 2 == 0 { '┼' } else { '│' });
    }
    for &(row, value) in &cell.controls {
        canvas.set(2 * row, middle, if value { '●' } else { '○' });
    }
    match cell.shape {
        CellShape::Not | CellShape::Swap => {
            let mark = if cell.shape == CellShape::Not { '⊕' } else { '✕' };
            cell.targets.iter().for_each(|&row| canvas.set(2 * row, middle, mark));
        }
        _ => draw_box(canvas, cell, x, width),
    }
}

fn draw_box(canvas: &mut Canvas, cell: &DiagramCell, x: usize, width: usize) {
    let own = cell_width(cell);
    let left = x + (width - own) / 2;
    let (numbers, right) = (numbers_width(cell), left + own - 1);
    for (top, bottom) in cell.runs() {
        for y in 2 * top..=2 * bottom {
            (left + 1..right).for_each(|x| canvas.set(y, x, ' '));
            canvas.set(y, left, if y % 2 == 0 { '┤' } else { '│' });
            canvas.set(y, right, if y % 2 == 0 { '├' } else { '│' });
        }
        for row in top..=bottom {
            if let Some(number) = cell.number(row) {
                canvas.write(2 * row, left + 1, &number.to_string());
            }
        }
        canvas.write(2 * top, left + 1 + numbers, &words(cell));
    }
}

/// Lines of characters.
struct Canvas {
    width: usize,
    lines: Vec<Vec<char>>,
}

impl Canvas {
    fn new(n_rows: usize, width: usize) -> Canvas {
        Canvas { width, lines: vec![vec![' '; width]; (2 * n_rows).saturating_sub(1)] }
    }

    fn set(&mut self, y: usize, x: usize, c: char) {
        if let Some(place) = self.lines.get_mut(y).and_then(|line| line.get_mut(x)) {
            *place = c;
        }
    }

    fn write(&mut self, y: usize, x: usize, text: &str) {
        text.chars().enumerate().for_each(|(i, c)| self.set(y, x + i, c));
    }

    fn append_to(&self, out: &mut String) {
        for line in &self.lines {
            out.extend(line);
            out.push('\n');
        }
    }
}
