//! The picture in LaTeX, for the package quantikz.
//!
//! ```text
//! \begin{quantikz}
//! \lstick{$q_{0}$} & \gate{H} & \control{}\vqw{1} & \qw \\
//! \lstick{$q_{1}$} & \qw & \targ{} & \qw
//! \end{quantikz}
//! ```
//!
//! There is a row for each qubit, and a column for each column of the layout. A gate on
//! neighbouring qubits is one box, numbered if it has several; any other gate on several qubits has
//! a box for each run of neighbours, numbered, and a line that joins them.

use std::fmt::Write;

use super::layout::{CellShape, DiagramCell, DiagramLayout};
use crate::{
    circuit::Circuit,
    exact::latex_name_beside,
    notation::{latex_escaped, latex_function, latex_letter},
};

/// Returns the circuit as environments `quantikz`. `columns` is the maximum number of columns of
/// one; the rest follows in others.
///
/// ```
/// use ketgrad_core::{circuit::Circuit, draw, param::Angle};
///
/// let mut bell = Circuit::new(2);
/// let theta = bell.param("theta");
/// bell.ry(0, theta)?.cx(0, 1)?;
/// assert_eq!(draw::latex(&bell, None), r"% \usetikzlibrary{quantikz}
/// \begin{quantikz}
/// \lstick{$q_{0}$} & \gate{R_{Y}(\theta)} & \control{}\vqw{1} & \qw \\
/// \lstick{$q_{1}$} & \qw & \targ{} & \qw
/// \end{quantikz}
/// ");
/// # Ok::<(), ketgrad_core::circuit::CircuitError>(())
/// ```
#[must_use]
pub fn latex(circuit: &Circuit, columns: Option<usize>) -> String {
    let layout = DiagramLayout::new(circuit, "π");
    let names: Vec<&str> = circuit.params().iter().map(|p| p.name.as_str()).collect();
    let mut out = "% \\usetikzlibrary{quantikz}\n".to_owned();
    let per_line = columns.unwrap_or(usize::MAX).max(1);
    let lines: Vec<&[Vec<DiagramCell>]> = match layout.columns.is_empty() {
        true => vec![&[]],
        false => layout.columns.chunks(per_line).collect(),
    };
    for (k, line) in lines.into_iter().enumerate() {
        // Each is a paragraph, below the last one.
        if k > 0 {
            out.push('\n');
        }
        let mut grid = Grid::new(&layout, line.len());
        for (column, cells) in line.iter().enumerate() {
            cells.iter().for_each(|cell| grid.draw_cell(column, cell, &names));
        }
        grid.write(&layout, &mut out);
    }
    out
}

/// Returns a bound on the bytes of [`latex`], without those of its labels.
#[must_use]
pub fn latex_bytes(circuit: &Circuit) -> u128 {
    const BYTES_PER_CELL: u128 = 80;
    let layout = DiagramLayout::new(circuit, "π");
    (layout.columns.len() as u128 + 2)
        .saturating_mul(layout.n_rows as u128)
        .saturating_mul(BYTES_PER_CELL)
}

/// A barrier: a narrow box.
const BARRIER: &str = "style={dashed,fill=black!10,minimum width=1pt,inner xsep=1pt}";

/// Text of each column of each row.
struct Grid {
    rows: Vec<Vec<String>>,
}

impl Grid {
    fn new(layout: &DiagramLayout, columns: usize) -> Grid {
        let wire = |row| if row < layout.n_qubits { "\\qw" } else { "" };
        Grid { rows: (0..layout.n_rows).map(|row| vec![wire(row).to_owned(); columns]).collect() }
    }

    fn draw_cell(&mut self, column: usize, cell: &DiagramCell, names: &[&str]) {
        let runs = cell.runs();
        let top = runs.first().map_or(cell.rows.0, |run| run.0);
        for &(row, value) in &cell.controls {
            self.rows[row][column] = if value { "\\control{}" } else { "\\ocontrol{}" }.to_owned();
        }
        match cell.shape {
            CellShape::Barrier => {
                for (first, last) in runs {
                    self.put_box(column, (first, last), BARRIER, "");
                }
                return;
            }
            CellShape::Not => self.rows[top][column] = "\\targ{}".to_owned(),
            CellShape::Swap => {
                cell.targets
                    .iter()
                    .for_each(|&row| self.rows[row][column] = "\\targX{}".to_owned());
            }
            CellShape::Dot { value } => {
                let dot = if value { "\\bullet" } else { "\\circ" };
                self.rows[top][column] = format!("\\gate{{{dot}\\;{}}}", words(cell, names));
            }
            CellShape::Measure => {
                self.rows[top][column] = format!("\\meter{{{}}}", plain(&cell.note))
            }
            // On the row without a qubit: a word without a wire.
            CellShape::Box | CellShape::Call | CellShape::Block
                if self.rows[top][column].is_empty() =>
            {
                self.rows[top][column] = words(cell, names);
            }
            CellShape::Box | CellShape::Call | CellShape::Block => {
                for &(first, last) in &runs {
                    let words = words(cell, names);
                    let words = match cell.number(first) {
                        None => words,
                        Some(number) if first == last => format!("{number}\\;{words}"),
                        // With room for the numbers.
                        Some(_) => format!("\\quad {words}"),
                    };
                    self.put_box(column, (first, last), "", &words);
                    for row in (first..=last).filter(|_| first < last) {
                        if let Some(number) = cell.number(row) {
                            self.rows[row][column] += &format!("\\gateinput{{${number}$}}");
                        }
                    }
                }
            }
        }
        // From row to row, except for rows within a box.
        let inside = |row: usize| runs.iter().any(|&(first, last)| first <= row && row < last);
        for row in
            (cell.rows.0..cell.rows.1).filter(|&row| cell.shape == CellShape::Swap || !inside(row))
        {
            self.rows[row][column] += "\\vqw{1}";
        }
    }

    /// A box from row to row.
    fn put_box(&mut self, column: usize, (first, last): (usize, usize), style: &str, words: &str) {
        let wires =
            if first < last { format!("wires={}", last + 1 - first) } else { String::new() };
        let options: Vec<&str> =
            [wires.as_str(), style].into_iter().filter(|text| !text.is_empty()).collect();
        let options =
            if options.is_empty() { String::new() } else { format!("[{}]", options.join(",")) };
        for row in first..=last {
            self.rows[row][column] =
                if row == first { format!("\\gate{options}{{{words}}}") } else { String::new() };
        }
    }

    fn write(&self, layout: &DiagramLayout, out: &mut String) {
        out.push_str("\\begin{quantikz}\n");
        for (row, cells) in self.rows.iter().enumerate() {
            let qubit = row < layout.n_qubits;
            if let Some((name, number)) = layout.qubit(row) {
                let name = match number {
                    // One index, as `a_1[0]` is `a_{1,0}`.
                    Some(number) => format!("{name}[{number}]"),
                    None => name.to_owned(),
                };
                let _ =
                    write!(out, "\\lstick{{${}$}}", latex_name_beside(&name, std::iter::empty()));
            }
            for cell in cells {
                let _ = write!(out, " & {cell}");
            }
            let end = if row + 1 < self.rows.len() { " \\\\" } else { "" };
            let _ = writeln!(out, " & {}{end}", if qubit { "\\qw" } else { "" });
        }
        out.push_str("\\end{quantikz}\n");
    }
}

/// The words in a box, for math mode.
fn words(cell: &DiagramCell, names: &[&str]) -> String {
    let label = match cell.shape {
        CellShape::Block => plain(&cell.label),
        CellShape::Call => called(&cell.label, names),
        _ => label(&cell.label, names),
    };
    match cell.note.is_empty() {
        true => label,
        false => format!("{label}\\;{}", plain(&cell.note)),
    }
}

/// A gate with its angles, an assignment, or the state that a qubit is reset to.
fn label(text: &str, names: &[&str]) -> String {
    if text == "|0>" {
        return "|0\\rangle".to_owned();
    }
    let (name, params) = text.split_at(text.find('(').unwrap_or(text.len()));
    // Words: an assignment, or a bit with a readout error.
    if name.contains(['=', ' ']) {
        return format!("{}{}", plain(name), formula(params, names));
    }
    let (base, dagger) = name.strip_suffix('†').map_or((name, ""), |base| (base, "^{\\dagger}"));
    let base = match base.split_at_checked(1) {
        Some((_, "")) => base.to_owned(),
        Some(("R", axes)) if axes.bytes().all(|c| b"XYZ".contains(&c)) => format!("R_{{{axes}}}"),
        _ => format!("\\mathrm{{{}}}", latex_escaped(base)),
    };
    format!("{base}{dagger}{}", formula(params, names))
}

/// Returns the label of a gate that the source of the circuit defines: its name, upright.
fn called(text: &str, names: &[&str]) -> String {
    let (name, params) = text.split_at(text.find('(').unwrap_or(text.len()));
    let (base, dagger) = name.strip_suffix('†').map_or((name, ""), |base| (base, "^{\\dagger}"));
    let letters = base.chars().map(|c| match latex_letter(c.encode_utf8(&mut [0; 4])) {
        Some(greek) => format!("{{{greek}}}"),
        None if c.is_ascii_alphanumeric() || c == '_' => latex_escaped(c.encode_utf8(&mut [0; 4])),
        None => plain(c.encode_utf8(&mut [0; 4])),
    });
    format!("\\mathrm{{{}}}{dagger}{}", letters.collect::<String>(), formula(params, names))
}

/// Angles: names of parameters as in formulas, the rest as it is.
fn formula(text: &str, names: &[&str]) -> String {
    let starts_name = |c: char| c == '_' || c.is_alphabetic() && c != 'π';
    let mut out = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(operand) = rest.strip_prefix("**") {
            let (exponent, after) = operand.split_at(operand_end(operand));
            rest = after;
            let _ = write!(out, "^{{{}}}", formula(exponent, names));
            continue;
        }
        let is_number = c.is_ascii_digit() || c == '.';
        let end = match c {
            _ if starts_name(c) => {
                rest.find(|c: char| !(starts_name(c) || c.is_ascii_digit() || "[]".contains(c)))
            }
            _ if is_number => rest.find(|c: char| !(c.is_ascii_digit() || c == '.')),
            _ => Some(c.len_utf8()),
        };
        let (token, tail) = rest.split_at(end.unwrap_or(rest.len()));
        rest = tail;
        match token {
            "π" => out.push_str("\\pi "),
            "*" => out.push_str("\\,"),
            _ if starts_name(c) && rest.starts_with('(') => out.push_str(&latex_function(token)),
            _ if starts_name(c) => out.push_str(&latex_name_beside(token, names.iter().copied())),
            _ if is_number => out.push_str(token),
            // These signs are written in formulas without a change.
            "<" | ">" | "|" => out.push_str(token),
            _ => out.push_str(&latex_escaped(token)),
        }
    }
    out
}

/// Returns the end of the first operand of a formula: a name or a number with its sign, a call, or
/// a group in parentheses.
fn operand_end(text: &str) -> usize {
    let after = |from: usize, is_part: fn(char) -> bool| {
        text[from..].find(|c: char| !is_part(c)).map_or(text.len(), |n| from + n)
    };
    let end = after(after(0, |c| c == '-'), |c| c.is_alphanumeric() || "_.[]".contains(c));
    if !text[end..].starts_with('(') {
        return end;
    }
    let mut depth = 0;
    let close = text[end..].char_indices().find(|&(_, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0
    });
    close.map_or(text.len(), |(at, _)| end + at + 1)
}

/// Words that are no formula.
fn plain(text: &str) -> String {
    format!("\\mbox{{{}}}", latex_escaped(text))
}
