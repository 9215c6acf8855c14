//! NumPy files (`.npy`): states in and out, tables of parameters in, gradients out.
//!
//! The format (NumPy enhancement proposal 1): the magic `\x93NUMPY`, two bytes of version, the
//! length of the header (2 bytes in version 1, 4 in 2 and 3, little endian), the header, which is
//! the text of a Python dictionary, then the numbers in order.
//!
//! ```text
//! {'descr': '<c16', 'fortran_order': False, 'shape': (4,), }
//! ```
//!
//! The header is read by a scanner without recursion: no file can exhaust the stack, and no length
//! in a file makes this module allocate more than the caller said that it expects.

mod number;
mod write;

use std::io::{self, Read};

use ketgrad_core::state::{StateError, StateVector};
use num_complex::Complex;
use num_traits::ToPrimitive;

pub use number::Number;
use number::shape_text;
pub(crate) use write::{write_reals, write_states};

/// The longest header that is read. NumPy itself refuses more than 10,000 bytes.
const MAX_HEADER: usize = 1 << 16;

/// The most numbers in a table of parameters.
const MAX_TABLE: u64 = 1 << 28;

/// Error of a NumPy file: the reason why it cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NpyError {
    /// Reading or writing failed.
    #[error("{}", .0.to_string().split(" (os error").next().unwrap_or_default())]
    Io(#[from] io::Error),
    /// It does not begin as a NumPy file does.
    #[error("it is not a NumPy file: it does not begin with \\x93NUMPY")]
    Magic,
    /// A version that does not exist.
    #[error("version {major}.{minor} of the NumPy format is not known; 1.0, 2.0 and 3.0 are")]
    Version {
        /// The first number.
        major: u8,
        /// The second.
        minor: u8,
    },
    /// The header is not what NumPy writes.
    #[error("the header is damaged: {0}")]
    Header(String),
    /// Numbers of another type.
    #[error("the numbers are of type {given}, but {expected} is needed")]
    Type {
        /// NumPy's code of the type.
        given: String,
        /// Data types that would be accepted.
        expected: &'static str,
    },
    /// Another shape.
    #[error("the shape is {}, but {expected} is needed", shape_text(given))]
    Shape {
        /// The lengths.
        given: Vec<u64>,
        /// Shapes that would be accepted, in words.
        expected: String,
    },
    /// Fewer numbers than the header says.
    #[error("the file is cut off: it ends after {given} of {expected} numbers")]
    Truncated {
        /// Number of values found.
        given: u64,
        /// Number of values expected.
        expected: u64,
    },
    /// Something follows the numbers.
    #[error("more bytes follow the {expected} numbers that the header names")]
    Trailing {
        /// Number of values expected.
        expected: u64,
    },
    /// Numbers that are no state.
    #[error(transparent)]
    State(#[from] StateError),
}

/// Reads a state of n qubits: complex128 or complex64 of either byte order, norm 1.
///
/// # Errors
/// [`NpyError`] if the type, the length or the norm is wrong, or the file is damaged.
pub fn read_state<T: Number>(
    mut file: impl Read,
    n_qubits: usize,
) -> Result<StateVector<Complex<T>>, NpyError> {
    let header = Header::read(&mut file)?;
    let expected = "complex128 ('<c16') or complex64 ('<c8')";
    let code = header.code();
    if !matches!(code, "c16" | "c8") {
        return Err(NpyError::Type { given: header.descr, expected });
    }
    let dim = 1u64.checked_shl(u32::try_from(n_qubits).unwrap_or(u32::MAX)).unwrap_or(u64::MAX);
    if header.shape != [dim] {
        let expected = format!("({dim},) for {n_qubits} qubits");
        return Err(NpyError::Shape { given: header.shape, expected });
    }
    let length = usize::try_from(dim).unwrap_or(usize::MAX);
    let mut amplitudes: Vec<Complex<T>> = Vec::new();
    if amplitudes.try_reserve_exact(length).is_err() {
        let needed = u128::from(dim) * size_of::<Complex<T>>() as u128;
        return Err(StateError::Refused { n_qubits, needed }.into());
    }
    let mut re = None;
    header.numbers(file, 2, |x| match re.take() {
        None => re = Some(x),
        Some(re) => amplitudes.push(Complex::new(T::lit(re), T::lit(x))),
    })?;
    Ok(StateVector::from_amplitudes(amplitudes)?)
}

/// Rows of real numbers: a 1-D file is one row, a 2-D file several.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Number of rows.
    pub(crate) rows: usize,
    /// Number of values in each row.
    pub(crate) columns: usize,
    /// All numbers, row by row.
    pub(crate) numbers: Vec<f64>,
    /// True if the file is 2-D, even with a single row.
    pub(crate) two_dimensional: bool,
}

impl Table {
    /// Returns the numbers of a row; empty beyond the last.
    pub(crate) fn row(&self, row: usize) -> &[f64] {
        self.numbers.chunks(self.columns.max(1)).nth(row).unwrap_or_default()
    }
}

/// Reads a 1-D or 2-D file of floats or integers, by rows or by columns (Fortran order).
///
/// # Errors
/// [`NpyError`] if the type or the shape is wrong, or the file is damaged.
pub fn read_table(mut file: impl Read) -> Result<Table, NpyError> {
    let header = Header::read(&mut file)?;
    if !matches!(header.code(), "f8" | "f4" | "i1" | "i2" | "i4" | "i8" | "u1" | "u2" | "u4" | "u8")
    {
        let expected =
            "real numbers, float64 ('<f8') or float32 ('<f4'), or integers ('<i8' and the like),";
        return Err(NpyError::Type { given: header.descr, expected });
    }
    let two_dimensional = match header.shape.len() {
        1 => false,
        2 => true,
        _ => {
            let expected = "one dimension (a point) or two (a row for each point)".to_owned();
            return Err(NpyError::Shape { given: header.shape, expected });
        }
    };
    let Items { shape, numbers, .. } = header.items(file, ItemKind::Real)?;
    let columns = shape.last().copied().unwrap_or(0);
    let rows = if two_dimensional { shape[0] } else { 1 };
    Ok(Table { rows, columns, numbers, two_dimensional })
}

/// An array of any number of axes.
#[derive(Clone, Debug, PartialEq)]
pub struct Items {
    /// The lengths along the axes; none for one number.
    pub(crate) shape: Vec<usize>,
    /// The numbers, the last axis fastest: integers and floats as they are, of complex numbers the
    /// real and the imaginary part.
    pub(crate) numbers: Vec<f64>,
    /// Type of the numbers.
    pub(crate) kind: ItemKind,
}

/// Type of the numbers of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// Integers.
    Int,
    /// Floats.
    Real,
    /// Complex numbers.
    Complex,
}

/// Reads an array of floats, integers or complex numbers, by rows or by columns (Fortran order).
///
/// # Errors
/// [`NpyError`] if the type is another, there are more than 2^28 numbers, or the file is damaged.
pub fn read_items(mut file: impl Read) -> Result<Items, NpyError> {
    let header = Header::read(&mut file)?;
    let kind = match header.code() {
        "c16" | "c8" => ItemKind::Complex,
        "f8" | "f4" => ItemKind::Real,
        "i1" | "i2" | "i4" | "i8" | "u1" | "u2" | "u4" | "u8" => ItemKind::Int,
        _ => {
            let expected = "floats ('<f8'), integers ('<i8') or complex numbers ('<c16')";
            return Err(NpyError::Type { given: header.descr, expected });
        }
    };
    header.items(file, kind)
}

/// Numbers of some parts each whose first axis is fastest as those whose last axis is.
fn by_rows(numbers: &[f64], parts: usize, shape: &[usize]) -> Vec<f64> {
    let (mut places, mut step) = (vec![0], parts);
    for &length in shape {
        // Each further axis is faster than those before it in the result.
        places =
            places.iter().flat_map(|place| (0..length).map(move |k| place + k * step)).collect();
        step *= length;
    }
    places.into_iter().flat_map(|place| &numbers[place..place + parts]).copied().collect()
}

/// Header, which precedes the numbers.
struct Header {
    descr: String,
    fortran: bool,
    shape: Vec<u64>,
}

impl Header {
    fn read(file: &mut impl Read) -> Result<Header, NpyError> {
        let mut start = [0; 8];
        file.read_exact(&mut start).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => NpyError::Magic,
            _ => NpyError::Io(e),
        })?;
        if !start.starts_with(b"\x93NUMPY") {
            return Err(NpyError::Magic);
        }
        let cut = |e: io::Error| match e.kind() {
            io::ErrorKind::UnexpectedEof => NpyError::Header("the file ends within it".to_owned()),
            _ => NpyError::Io(e),
        };
        let mut length = [0; 4];
        match (start[6], start[7]) {
            (1, 0) => file.read_exact(&mut length[..2]).map_err(cut)?,
            (2 | 3, 0) => file.read_exact(&mut length).map_err(cut)?,
            (major, minor) => return Err(NpyError::Version { major, minor }),
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_HEADER {
            return Err(NpyError::Header(format!("it is {length} bytes long")));
        }
        let mut text = vec![0; length];
        file.read_exact(&mut text).map_err(cut)?;
        let text =
            String::from_utf8(text).map_err(|_| NpyError::Header("it is not text".to_owned()))?;
        Header::parse(&text)
    }

    /// Reads the dictionary: three keys in any order, of known types.
    fn parse(text: &str) -> Result<Header, NpyError> {
        let mut scan = Scan { rest: text };
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        scan.expect('{')?;
        while !scan.eat('}') {
            let key = scan.string()?;
            scan.expect(':')?;
            match key {
                "descr" => descr = Some(scan.descr()?),
                "fortran_order" => fortran = Some(scan.boolean()?),
                "shape" => shape = Some(scan.shape()?),
                other => {
                    return Err(NpyError::Header(format!(
                        "unknown key '{}'",
                        other.escape_default()
                    )));
                }
            }
            if !scan.eat(',') {
                scan.expect('}')?;
                break;
            }
        }
        let missing = |key: &str| NpyError::Header(format!("'{key}' is missing"));
        Ok(Header {
            descr: descr.ok_or_else(|| missing("descr"))?,
            fortran: fortran.ok_or_else(|| missing("fortran_order"))?,
            shape: shape.ok_or_else(|| missing("shape"))?,
        })
    }

    /// Returns the type without its byte order.
    fn code(&self) -> &str {
        self.descr.trim_start_matches(['<', '>', '=', '|'])
    }

    /// Reads an array of numbers of a kind.
    fn items(self, file: impl Read, kind: ItemKind) -> Result<Items, NpyError> {
        // An axis of length 0 leaves the others as long as they are.
        let fits = self.shape.iter().try_fold(1u64, |n, length| n.checked_mul((*length).max(1)));
        let shape: Result<Vec<usize>, _> = self.shape.iter().map(|&n| usize::try_from(n)).collect();
        let (Some(_), Ok(shape)) = (fits.filter(|&n| n <= MAX_TABLE), shape) else {
            let expected = format!("at most {MAX_TABLE} numbers in all");
            return Err(NpyError::Shape { given: self.shape, expected });
        };
        let parts = if kind == ItemKind::Complex { 2 } else { 1 };
        let mut numbers = Vec::new();
        self.numbers(file, parts as u64, |x| numbers.push(x))?;
        if self.fortran && shape.len() > 1 && !numbers.is_empty() {
            numbers = by_rows(&numbers, parts, &shape);
        }
        Ok(Items { shape, numbers, kind })
    }

    /// Reads all numbers, of `parts` floats or integers each.
    fn numbers(
        &self,
        mut file: impl Read,
        parts: u64,
        mut each: impl FnMut(f64),
    ) -> Result<(), NpyError> {
        let big = self.descr.starts_with('>');
        let (width, kind) = match self.code() {
            "c8" | "f4" => (4, 'f'),
            "c16" | "f8" => (8, 'f'),
            // A letter and the number of bytes.
            code => {
                let width = code.get(1..).and_then(|bytes| bytes.parse().ok()).unwrap_or(8);
                (width, if code.starts_with('u') { 'u' } else { 'i' })
            }
        };
        let expected: u64 = self.shape.iter().product();
        let mut left = expected * parts * width as u64;
        let mut buffer = vec![0; 1 << 16];
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let mut have = 0;
            while have < wanted {
                match file.read(&mut buffer[have..wanted]) {
                    Ok(0) => {
                        let missing = (left - have as u64).div_ceil(parts * width as u64);
                        return Err(NpyError::Truncated { given: expected - missing, expected });
                    }
                    Ok(n) => have += n,
                    Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                    Err(e) => return Err(e.into()),
                }
            }
            for bytes in buffer[..wanted].chunks_exact_mut(width) {
                if big {
                    bytes.reverse();
                }
                each(match (kind, &*bytes) {
                    ('f', &[a, b, c, d]) => f32::from_le_bytes([a, b, c, d]).into(),
                    ('f', &[a, b, c, d, e, f, g, h]) => {
                        f64::from_le_bytes([a, b, c, d, e, f, g, h])
                    }
                    (_, bytes) => integer(bytes, kind == 'i'),
                });
            }
            left -= wanted as u64;
        }
        match file.read(&mut buffer[..1])? {
            0 => Ok(()),
            _ => Err(NpyError::Trailing { expected }),
        }
    }
}

/// Returns the nearest float of an integer of at most eight bytes, the least significant first.
fn integer(bytes: &[u8], signed: bool) -> f64 {
    let value = bytes.iter().rev().fold(0i128, |value, byte| value << 8 | i128::from(*byte));
    let negative = signed && bytes.last().is_some_and(|byte| *byte >= 0x80);
    let value = if negative { value - (1i128 << (8 * bytes.len())) } else { value };
    value.to_f64().unwrap_or(f64::NAN)
}

/// Reads the little Python that a header is made of.
struct Scan<'a> {
    rest: &'a str,
}

impl<'a> Scan<'a> {
    fn eat(&mut self, c: char) -> bool {
        let rest = self.rest.trim_start();
        self.rest = rest.strip_prefix(c).unwrap_or(rest);
        self.rest.len() < rest.len()
    }

    fn expect(&mut self, c: char) -> Result<(), NpyError> {
        if self.eat(c) { Ok(()) } else { Err(self.error(&format!("`{c}`"))) }
    }

    fn error(&self, expected: &str) -> NpyError {
        let found: String = self.rest.chars().take(12).flat_map(char::escape_default).collect();
        NpyError::Header(format!("expected {expected}, found `{found}`"))
    }

    fn string(&mut self) -> Result<&'a str, NpyError> {
        for quote in ['\'', '"'] {
            if self.eat(quote) {
                let (text, rest) =
                    self.rest.split_once(quote).ok_or_else(|| self.error("a closing quote"))?;
                self.rest = rest;
                return Ok(text);
            }
        }
        Err(self.error("a string"))
    }

    /// Returns a type: a string; anything else is a structure, whose text stands for it.
    fn descr(&mut self) -> Result<String, NpyError> {
        let rest = self.rest.trim_start();
        if rest.starts_with('[') {
            let expected = "a plain array of numbers";
            return Err(NpyError::Type { given: "a structure".to_owned(), expected });
        }
        Ok(self.string()?.escape_default().to_string())
    }

    fn boolean(&mut self) -> Result<bool, NpyError> {
        let rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(after) = rest.strip_prefix(word) {
                self.rest = after;
                return Ok(value);
            }
        }
        Err(self.error("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>, NpyError> {
        let mut shape = Vec::new();
        self.expect('(')?;
        while !self.eat(')') {
            let digits =
                self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, rest) = self.rest.split_at(digits);
            shape.push(number.parse().map_err(|_| self.error("a length"))?);
            // Python 2 wrote long integers with an L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.eat(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(shape)
    }
}
