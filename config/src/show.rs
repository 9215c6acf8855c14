//! The verbs that print a circuit itself: `convert` as OpenQASM, `draw` as a picture.
//!
//! Parameters without a value stay open; OpenQASM 2, which has none, says which it misses.

use std::{
    io::{self, IsTerminal, Write},
    time::Instant,
};

use ketgrad_core::{draw, print};
use serde::Serialize;

use crate::{
    files::{check_writable, write_whole},
    memory::Needs,
    noise::{Unwritten, read_noisy},
    options::{Common, Convert, Draw, Language, Picture},
    params::Points,
    report::Failure,
    terminal::{Answer, Terminal},
};

/// Bytes that a row of a picture takes besides what is drawn on it: its label, its lines and where
/// it is free.
const BYTES_PER_ROW: u128 = 150;

/// Bytes that an instruction takes in the layout of a picture.
const BYTES_PER_CELL: u128 = 400;

/// Bytes that an instruction takes in a text, which grows by doubling.
const BYTES_PER_STATEMENT: u128 = 100;

/// A text as the result.
#[derive(Debug, Serialize)]
struct Text {
    text: String,
    seconds: f64,
    #[serde(skip)]
    json: bool,
    /// True if the text went to a file, so that only JSON repeats it.
    #[serde(skip)]
    written: bool,
}

impl Answer for Text {
    fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        if self.json {
            serde_json::to_writer(&mut *out, self)?;
            return writeln!(out);
        }
        if self.written { Ok(()) } else { out.write_all(self.text.as_bytes()) }
    }
}

/// Prints a circuit as OpenQASM.
///
/// # Errors
/// [`Failure`] if the circuit is at fault or the language has no words for it.
pub(crate) fn convert(
    args: &Convert,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let (circuit, given) = read_noisy(&args.file, &args.values, Unwritten::None, common, terminal)?;
    given.refuse_errors("`convert`")?;
    let circuit = Points::read_some(&circuit, &given)?;
    let mut needs = Needs::default();
    needs.add("its statements", circuit.instructions().len() as u128 * BYTES_PER_STATEMENT);
    needs.check("the text", common.memory_limit)?;
    let start = Instant::now();
    let text = match args.to {
        Language::Qasm2 => print::to_qasm2(&circuit),
        Language::Qasm3 => print::to_qasm3(&circuit),
    };
    let text = text.map_err(|e| {
        let failure = Failure::input(&e);
        match e {
            print::PrintError::OpenParameters { .. } => {
                failure.help("give values with --set or --params")
            }
            _ => failure,
        }
    })?;
    let renamed = match args.to {
        Language::Qasm2 => print::renamed_in_qasm2(&circuit),
        Language::Qasm3 => print::renamed_in_qasm3(&circuit),
    };
    for (old, new) in renamed {
        terminal.note(&format!(
            "note: `{old}` is called `{new}` there, since the language does not take its name"
        ));
    }
    Ok(Box::new(Text {
        text,
        seconds: start.elapsed().as_secs_f64(),
        json: common.json,
        written: false,
    }))
}

/// Draws a circuit.
///
/// # Errors
/// [`Failure`] if the circuit is at fault or the file cannot be written.
pub(crate) fn draw(
    args: &Draw,
    common: &Common,
    terminal: &Terminal,
) -> Result<Box<dyn Answer>, Failure> {
    let format = args.settle()?;
    let (circuit, given) = read_noisy(&args.file, &args.values, Unwritten::None, common, terminal)?;
    given.refuse_errors("`draw`")?;
    let circuit = Points::read_some(&circuit, &given)?;
    let circuit = if args.expand { circuit.expanded() } else { circuit };
    if let Some(path) = &args.output {
        check_writable(path)?;
    }
    let width =
        args.width.or_else(|| terminal_width().filter(|_| args.output.is_none() && !common.json));
    // Rows are compared first: finding out the size of the picture takes memory for each of them.
    let mut needs = Needs::default();
    needs.add("its rows", circuit.n_qubits() as u128 * BYTES_PER_ROW);
    needs.add("its cells", circuit.instructions().len() as u128 * BYTES_PER_CELL);
    needs.check("the picture", common.memory_limit)?;
    let start = Instant::now();
    let bytes = match format {
        Picture::Text => draw::text_bytes(&circuit, width),
        Picture::Svg => draw::svg_bytes(&circuit, args.width),
        Picture::Latex => draw::latex_bytes(&circuit),
    };
    needs.add("what is drawn", bytes);
    needs.check("the picture", common.memory_limit)?;
    let text = match format {
        Picture::Text => draw::text(&circuit, width),
        Picture::Svg => draw::svg(&circuit, args.width),
        Picture::Latex => draw::latex(&circuit, args.width),
    };
    let seconds = start.elapsed().as_secs_f64();
    if let Some(path) = &args.output {
        write_whole(path, |out| out.write_all(text.as_bytes()))?;
    }
    Ok(Box::new(Text { text, seconds, json: common.json, written: args.output.is_some() }))
}

/// Returns the width of the terminal that the picture goes to, if it is one.
fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| usize::from(width.0))
}
