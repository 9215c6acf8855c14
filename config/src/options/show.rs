//! The options of the verbs that print a circuit itself: `convert` and `draw`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::values::ValueArgs;
use crate::{parse::choose, report::Failure};

/// A language to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Language {
    /// OpenQASM 2.0.
    Qasm2,
    /// OpenQASM 3.0.
    Qasm3,
}

/// The verb `convert`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Convert {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub(crate) file: PathBuf,
    /// The language to print
    #[arg(
        long,
        value_name = "qasm2|qasm3",
        allow_hyphen_values = true,
        hide_possible_values = true
    )]
    pub(crate) to: Language,
    /// Options that give parameters a value; without one they stay open
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

/// A kind of picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// Lines of characters.
    Text,
    /// Scalable vector graphics.
    Svg,
    /// The LaTeX package quantikz.
    Latex,
}

/// The verb `draw`.
#[derive(Clone, Debug, Args)]
pub(crate) struct Draw {
    /// The circuit; - reads it from the standard input
    #[arg(value_name = "FILE.qasm")]
    pub(crate) file: PathBuf,
    /// The kind of picture
    #[arg(long, value_name = "text|svg|latex", allow_hyphen_values = true, default_value = "text")]
    pub(crate) format: String,
    /// Write the picture to a file instead of the standard output
    #[arg(short, long, value_name = "FILE", allow_hyphen_values = true)]
    pub(crate) output: Option<PathBuf>,
    /// Wrap the picture to this number of columns [default: the terminal's width; else no wrapping]
    #[arg(long, value_name = "N", allow_hyphen_values = true)]
    pub(crate) width: Option<usize>,
    /// Draw what is in gates that the file defines, where each is a box with its name
    #[arg(long)]
    pub(crate) expand: bool,
    /// Options that give parameters a value; without one they stay open
    #[command(flatten)]
    pub(crate) values: ValueArgs,
}

impl Draw {
    /// Returns the kind of picture.
    ///
    /// # Errors
    /// [`Failure`] for one that does not exist.
    pub(crate) fn settle(&self) -> Result<Picture, Failure> {
        let names = [("text", Picture::Text), ("svg", Picture::Svg), ("latex", Picture::Latex)];
        choose("--format", "text, svg or latex", &self.format, &names)
    }
}
