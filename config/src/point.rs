//! The point of a program:
//! `--at a=1,b=2,xs=[1,2],m=[[1,2],[3,4]],p=(3,pi/4),n=5,z=1+2i,data=@data.npy`.
//!
//! A real number may be any constant expression, or `inf`, `-inf`, `nan`. A complex one is `1+2i`,
//! `-i`, or `complex(x, y)` of such expressions. Arrays are written in brackets, those of several
//! axes row by row, or in a NumPy file after `@`; tuples and structs in parentheses, field by
//! field. Or all values in a file: see [`arguments`].

use std::{ops::Range, path::Path};

use ketgrad_core::{
    exec::Datum,
    ir::{Element, Kind, Param},
    qasm::parse_angle,
};
use num_complex::Complex;
use num_traits::ToPrimitive;

use crate::{
    files::{cannot, open as open_file},
    given::{error_bar, is_npy, program_values},
    npy::{self, ItemKind, Number},
    report::Failure,
};

type PointValue<T> = Datum<Complex<T>>;

/// Largest number of axes of an array.
const MAX_AXES: usize = 32;

/// Returns the arguments of a function, in the order of its parameters: values by name, as `--at`
/// takes them, which win over those of a file, JSON by name or NumPy.
///
/// # Errors
/// [`Failure`] for a value that does not fit its kind, an unknown name, a name given twice, a file
/// that cannot be read or does not fit, or parameters without a value, all of which are listed.
pub(crate) fn arguments<T: Number>(
    params: &[Param],
    at: &[String],
    file: Option<&Path>,
) -> Result<Vec<PointValue<T>>, Failure> {
    let mut values = given(params, at)?;
    match file {
        Some(path) if is_npy(path) => table(params, path, &mut values)?,
        Some(path) => {
            let file = path.display().to_string();
            for (name, text) in program_values(path, params)? {
                if let Some(k) =
                    (0..params.len()).find(|k| params[*k].name == name && values[*k].is_none())
                {
                    let reader = Reader { text: &text, name: &name, origin: &file };
                    values[k] = Some(reader.value(0..text.len(), &params[k].kind)?);
                }
            }
        }
        None => {}
    }
    let unset: Vec<&str> = params
        .iter()
        .zip(&values)
        .filter(|(_, v)| v.is_none())
        .map(|(p, _)| p.name.as_str())
        .collect();
    if let Some(first) = unset.first() {
        let plural = if unset.len() == 1 { "parameter" } else { "parameters" };
        let list = unset.join(", ");
        return Err(Failure::input(format_args!("no value for {} {plural}: {list}", unset.len()))
            .help(format_args!("give it with --at {first}=… or --params FILE.json")));
    }
    Ok(values.into_iter().flatten().collect())
}

/// Returns the contents of a NumPy file: the real numbers that have no value yet, in order, or the
/// one array that has none.
fn table<T: Number>(
    params: &[Param],
    path: &Path,
    values: &mut [Option<PointValue<T>>],
) -> Result<(), Failure> {
    let file = path.display().to_string();
    let open: Vec<usize> = (0..params.len()).filter(|k| values[*k].is_none()).collect();
    if let [k] = open[..]
        && matches!(params[k].kind, Kind::Array(_))
    {
        let text = format!("@{file}");
        let reader = Reader { text: &text, name: &params[k].name, origin: "--params" };
        values[k] = Some(reader.value(0..text.len(), &params[k].kind)?);
        return Ok(());
    }
    if let Some(k) = open.iter().find(|k| params[**k].kind != Kind::Real) {
        let Param { name, kind, .. } = &params[*k];
        return Err(Failure::input(format_args!(
            "{file}: a NumPy file holds real numbers in the order of the parameters, or one array, but `{name}` is of kind {kind}"
        ))
        .help(format_args!("give it with --at {name}=… or with all in a JSON file")));
    }
    let items = npy::read_items(open_file(path).map_err(|e| cannot("read", &file, &e))?)
        .map_err(|e| Failure::input(format_args!("{file}: {e}")))?;
    if items.kind == ItemKind::Complex || items.shape != [open.len()] {
        return Err(Failure::input(format_args!(
            "{file} has the shape {:?}: expected {} real numbers, one for each parameter without a value",
            items.shape,
            open.len()
        )));
    }
    for (k, x) in open.into_iter().zip(&items.numbers) {
        values[k] = Some(Datum::Real(T::lit(*x)));
    }
    Ok(())
}

/// Returns the values given by name.
fn given<T: Number>(
    params: &[Param],
    given: &[String],
) -> Result<Vec<Option<PointValue<T>>>, Failure> {
    let mut values: Vec<Option<PointValue<T>>> = params.iter().map(|_| None).collect();
    for text in given {
        for part in split(text, 0..text.len()) {
            if text[part.clone()].trim().is_empty() {
                continue;
            }
            let Some(equals) = text[part.clone()].find('=').map(|i| part.start + i) else {
                return Err(Failure::usage(format_args!(
                    "--at needs NAME=VALUE, not `{}`",
                    &text[part]
                )));
            };
            let name = text[part.start..equals].trim();
            let Some(k) = params.iter().position(|p| p.name == name) else {
                let failure =
                    Failure::input(format_args!("the function has no parameter `{name}`"));
                return Err(failure.nearest(name, params.iter().map(|p| p.name.as_str())));
            };
            let reader = Reader { text, name, origin: "--at" };
            if values[k].replace(reader.value(equals + 1..part.end, &params[k].kind)?).is_some() {
                return Err(Failure::input(format_args!("--at gives `{name}` twice")));
            }
        }
    }
    Ok(values)
}

/// Splits at the commas that are in no bracket.
fn split(text: &str, range: Range<usize>) -> Vec<Range<usize>> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0i32, range.start);
    for (i, c) in text[range.clone()].char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(start..range.start + i);
                start = range.start + i + 1;
            }
            _ => {}
        }
    }
    parts.push(start..range.end);
    parts
}

struct Reader<'a> {
    text: &'a str,
    name: &'a str,
    /// Option or file that gives the text.
    origin: &'a str,
}

impl Reader<'_> {
    fn value<T: Number>(&self, range: Range<usize>, kind: &Kind) -> Result<PointValue<T>, Failure> {
        Ok(match kind {
            Kind::Real => Datum::Real(self.real(range, kind)?),
            Kind::Int => Datum::Int(self.int(range)?),
            Kind::Bool => match self.text[range.clone()].trim() {
                "true" => Datum::Bool(true),
                "false" => Datum::Bool(false),
                _ => return Err(self.wrong(range, kind, "`true` or `false`")),
            },
            Kind::Complex => Datum::Complex(self.complex(range, kind)?),
            Kind::Array(element) if self.text[range.clone()].trim_start().starts_with('@') => {
                self.file(range, kind, *element)?
            }
            Kind::Array(element) => {
                let (mut shape, mut items) = (Vec::new(), Vec::new());
                self.elements(range.clone(), kind, 0, &mut shape, &mut items)?;
                let array = match element {
                    Element::Real => {
                        Datum::reals_of(&shape, self.all(items, |r| self.real(r, kind))?)
                    }
                    Element::Complex => {
                        Datum::complexes_of(&shape, self.all(items, |r| self.complex(r, kind))?)
                    }
                    Element::Int => Datum::ints_of(&shape, self.all(items, |r| self.int(r))?),
                };
                array
                    .map_err(|e| Failure::input(e).with_label(self.origin, self.text, range, ""))?
            }
            Kind::Tuple(tuple) => {
                let fields =
                    self.inside(&range, '(', ')').filter(|f| f.len() == tuple.fields.len());
                let fields = fields.ok_or_else(|| {
                    let list: Vec<String> =
                        tuple.fields.iter().map(|f| f.kind.to_string()).collect();
                    self.wrong(range, kind, &format!("({})", list.join(", ")))
                })?;
                let fields =
                    fields.into_iter().zip(&tuple.fields).map(|(r, f)| self.value(r, &f.kind));
                Datum::Tuple(fields.collect::<Result<_, _>>()?)
            }
            Kind::Handle => {
                return Err(self.wrong(range, kind, "a handle, which the host alone can make"));
            }
        })
    }

    /// Returns an array from a NumPy file.
    fn file<T: Number>(
        &self,
        range: Range<usize>,
        kind: &Kind,
        element: Element,
    ) -> Result<PointValue<T>, Failure> {
        let path = self.text[range.clone()].trim();
        let path = path.strip_prefix('@').unwrap_or(path);
        let file = open_file(Path::new(path)).map_err(|e| cannot("read", path, &e))?;
        let items =
            npy::read_items(file).map_err(|e| Failure::input(format_args!("{path}: {e}")))?;
        let unfit = |expected: &str| {
            Failure::input(format_args!(
                "`{}` is of kind {kind}: expected {expected}, which {path} does not hold",
                self.name
            ))
        };
        if items.shape.is_empty() {
            return Err(unfit("an array"));
        }
        let (shape, numbers) = (&items.shape, items.numbers.iter());
        let array = match (element, items.kind) {
            (Element::Complex, ItemKind::Complex) => {
                let (pairs, _) = items.numbers.as_chunks();
                Datum::complexes_of(
                    shape,
                    pairs.iter().map(|[x, y]| Complex::new(T::lit(*x), T::lit(*y))).collect(),
                )
            }
            (Element::Complex, _) => {
                Datum::complexes_of(shape, numbers.map(|x| Complex::from(T::lit(*x))).collect())
            }
            (Element::Real, ItemKind::Real | ItemKind::Int) => {
                Datum::reals_of(shape, numbers.map(|x| T::lit(*x)).collect())
            }
            (Element::Int, ItemKind::Int) => {
                // Beyond, floats have no room for every integer.
                let whole =
                    |x: &f64| x.to_i64().filter(|n| n.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS);
                let whole: Option<Vec<i64>> = numbers.map(whole).collect();
                Datum::ints_of(shape, whole.ok_or_else(|| unfit("integers of at most 2^53"))?)
            }
            (Element::Real, ItemKind::Complex) => return Err(unfit("real numbers")),
            (Element::Int, _) => return Err(unfit("integers")),
        };
        array.map_err(|e| Failure::input(e).with_label(self.origin, self.text, range, ""))
    }

    /// Reads the elements of an array along the given axis and all after it. The first part along
    /// an axis says its length for all.
    fn elements(
        &self,
        range: Range<usize>,
        kind: &Kind,
        axis: usize,
        shape: &mut Vec<usize>,
        items: &mut Vec<Range<usize>>,
    ) -> Result<(), Failure> {
        let parts = self.inside(&range, '[', ']').filter(|_| axis < MAX_AXES);
        let Some(parts) = parts else {
            return Err(self.wrong(range, kind, "`[1, 2]`, `[[1, 2], [3, 4]]` or `@file.npy`"));
        };
        let is_first = shape.len() == axis;
        if is_first {
            shape.push(parts.len());
        } else if shape[axis] != parts.len() {
            let expected = format!("{} elements here, as in the row before", shape[axis]);
            return Err(self.wrong(range, kind, &expected));
        }
        let nested = |r: &Range<usize>| self.text[r.clone()].trim_start().starts_with('[');
        let rows =
            if is_first { parts.first().is_some_and(nested) } else { shape.len() > axis + 1 };
        for part in parts {
            if rows {
                self.elements(part, kind, axis + 1, shape, items)?;
            } else if nested(&part) {
                return Err(self.wrong(part, kind, "a number, like its neighbours"));
            } else {
                items.push(part);
            }
        }
        Ok(())
    }

    fn all<V>(
        &self,
        items: Vec<Range<usize>>,
        read: impl Fn(Range<usize>) -> Result<V, Failure>,
    ) -> Result<Vec<V>, Failure> {
        items.into_iter().map(read).collect()
    }

    /// Returns the parts between brackets.
    fn inside(&self, range: &Range<usize>, open: char, close: char) -> Option<Vec<Range<usize>>> {
        let text = &self.text[range.clone()];
        let inner = text.trim().strip_prefix(open)?.strip_suffix(close)?;
        let start = range.start + text.find(open)? + 1;
        let parts = split(self.text, start..start + inner.len());
        Some(if inner.trim().is_empty() { Vec::new() } else { parts })
    }

    /// Returns a real number, in an argument of some kind.
    fn real<T: Number>(&self, range: Range<usize>, within: &Kind) -> Result<T, Failure> {
        let text = self.text[range.clone()].trim();
        if error_bar(text).is_some() {
            return Err(self.wrong(
                range,
                within,
                "a number without an error bar, which programs do not carry",
            ));
        }
        // Angles have no sign of zero.
        let plain = text.parse().ok();
        let in_words = matches!(text, "inf" | "-inf" | "nan");
        match plain.or_else(|| parse_angle(text).ok()?.constant()) {
            Some(x) if x.is_finite() || in_words => Ok(T::lit(x)),
            _ => Err(self.wrong(
                range,
                within,
                match within {
                    Kind::Complex => "a number, or `1+2i`, or `complex(1, 2)`",
                    Kind::Array(Element::Complex) => "a list of numbers such as `[1, 1+2i]`",
                    Kind::Array(_) => "a list of numbers such as `[1, 2]`",
                    _ => "a number such as `0.5` or `pi/4`",
                },
            )),
        }
    }

    fn int(&self, range: Range<usize>) -> Result<i64, Failure> {
        let text = self.text[range.clone()].trim();
        text.parse().map_err(|_| self.wrong(range, &Kind::Int, "a whole number"))
    }

    fn complex<T: Number>(
        &self,
        range: Range<usize>,
        within: &Kind,
    ) -> Result<Complex<T>, Failure> {
        let text = &self.text[range.clone()];
        let Some(rest) = text.trim_start().strip_prefix("complex") else {
            let zero = <T as num_traits::Zero>::zero();
            let Some(at) = imaginary(text).map(|at| range.start + at) else {
                return Ok(Complex::new(self.real(range, within)?, zero));
            };
            let end = range.start + text.trim_end().len() - 1;
            let re = if self.text[range.start..at].trim().is_empty() {
                zero
            } else {
                self.real(range.start..at, within)?
            };
            let im = match self.text[at..end].trim() {
                "" | "+" => T::one(),
                "-" => -T::one(),
                _ => self.real(at + usize::from(self.text[at..].starts_with('+'))..end, within)?,
            };
            return Ok(Complex::new(re, im));
        };
        let start = range.end - rest.len();
        match self.inside(&(start..range.end), '(', ')').as_deref() {
            Some([re, im]) => {
                Ok(Complex::new(self.real(re.clone(), within)?, self.real(im.clone(), within)?))
            }
            _ => Err(self.wrong(range, within, "a number, or `1+2i`, or `complex(1, 2)`")),
        }
    }

    fn wrong(&self, range: Range<usize>, kind: &Kind, expected: &str) -> Failure {
        Failure::input(format_args!("`{}` is of kind {kind}: expected {expected}", self.name))
            .with_label(self.origin, self.text, range, "")
    }
}

/// Returns the position at which the imaginary part of a number such as `1+2i` begins, with its
/// sign; `None` if it has none, as `pi`.
fn imaginary(text: &str) -> Option<usize> {
    let text = text.trim_end();
    let number = text.strip_suffix(['i', 'j']).filter(|n| {
        !n.ends_with(char::is_alphanumeric) || n.ends_with(|c: char| c.is_ascii_digit())
    })?;
    let bytes = number.as_bytes();
    let is_exponent = |at: usize| {
        at > 1
            && matches!(bytes[at - 1], b'e' | b'E')
            && (bytes[at - 2].is_ascii_digit() || bytes[at - 2] == b'.')
    };
    let sign =
        (0..number.len()).rev().find(|&at| matches!(bytes[at], b'+' | b'-') && !is_exponent(at));
    Some(sign.unwrap_or(number.len() - number.trim_start().len()))
}
