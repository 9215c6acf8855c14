//! Operations on whole arrays in Rust: calls of support functions that are emitted along with the
//! code.
//!
//! ```text
//! tanh(matmul(x, w) + b)      let xs = array_matmul(x, w);
//!                             let xs = array_zip("add", &xs, b, |a, b| a + b);
//!                             array_map(&xs, |a| a.tanh())
//! ```
//!
//! A file in which a function uses such an operation defines a type of its own, `Array`, and all
//! its arrays are of that type.

use std::collections::BTreeSet;

use crate::{
    ir::{ArrayOp, Element, Function, Kind, Mixed, Number1, Number2, Op, Real2},
    scalar::is_product,
};

use super::{
    ast::EmitExpr,
    rust::calls,
    rust_expr::{function, integer, is_method, number},
    rust_stmt::RustWriter,
};

/// Support functions, each with its name; first the part that all of them need.
pub(super) const ARRAYS: &str = concat!(
    include_str!("support/arrays.rs"),
    include_str!("support/reductions.rs"),
    include_str!("support/products.rs"),
    include_str!("support/linear.rs"),
    include_str!("support/spectra.rs"),
    include_str!("support/transforms.rs"),
);
/// Implementation of the number trait for complex numbers.
const COMPLEX: &str = include_str!("support/complex_arrays.rs");

/// All texts that may be emitted along with the code.
pub(super) const TEXTS: [&str; 2] = [ARRAYS, COMPLEX];

/// Returns true if a function uses operations on whole arrays, other than extending one to the
/// length of another.
pub(super) fn is_shaped(f: &Function) -> bool {
    f.insts.values().any(|inst| {
        let array = |v: &crate::entity::Value| matches!(f.kinds[*v], Kind::Array(_));
        matches!(inst.op, Op::OnArrays(op) if op != ArrayOp::ReshapeLike)
            || inst.op.is_elementwise() && inst.args.iter().any(array)
    })
}

/// Returns the type, and the functions that a text calls, with their callees.
pub(super) fn support(text: &str, complex: bool) -> String {
    let helpers: Vec<&str> = ARRAYS.split("//-\n").collect();
    let name =
        |h: &str| h.split("fn ").nth(1).and_then(|s| s.split(['(', '<']).next()).map(str::to_owned);
    let mut wanted: BTreeSet<usize> = BTreeSet::from([0]);
    let mut new: Vec<&str> = vec![text];
    while let Some(text) = new.pop() {
        for (k, helper) in helpers.iter().enumerate().skip(2) {
            if name(helper).is_some_and(|n| calls(text, &n)) && wanted.insert(k) {
                new.push(helper);
            }
        }
    }
    if wanted.iter().any(|&k| helpers[k].contains(": Number")) {
        wanted.insert(1);
    }
    let mut out: String = wanted.iter().map(|&k| format!("\n{}", helpers[k])).collect();
    if complex && wanted.contains(&1) {
        out.push_str(&format!("\n{COMPLEX}"));
    }
    out
}

impl RustWriter<'_, '_> {
    fn is_array(&self, e: &EmitExpr) -> bool {
        matches!(self.body.kind(e), Kind::Array(_))
    }

    /// Emits an operation element by element, where an operand is an array.
    pub(super) fn elementwise(&mut self, op: Op, args: &[EmitExpr]) -> Option<String> {
        let arrays: Vec<bool> = args.iter().map(|a| self.is_array(a)).collect();
        if !op.is_elementwise() || !arrays.contains(&true) {
            return None;
        }
        let element =
            match args.iter().map(|a| self.body.kind(a)).find(|k| matches!(k, Kind::Array(_)))? {
                Kind::Array(e) => e.kind(),
                other => other,
            };
        Some(match (args, arrays.as_slice()) {
            ([x], _) => {
                let x = self.borrow(x);
                format!("array_map({x}, |a| {})", on_elements(op, "a", "", &element))
            }
            ([x, y], [true, true]) => {
                let (x, y) = (self.borrow(x), self.borrow(y));
                format!(
                    "array_zip(\"{}\", {x}, {y}, |a, b| {})",
                    op.name(),
                    on_elements(op, "a", "b", &element)
                )
            }
            ([x, y], [first, _]) => {
                let (array, one) = if *first { (x, y) } else { (y, x) };
                let array = self.borrow(array);
                let (name, given) =
                    (if *first { "b" } else { "a" }, if *first { "a" } else { "b" });
                let one = match (one, op) {
                    (EmitExpr::Real(x), _) => {
                        return Some(self.beside(op, &array, given, number(*x), *first, &element));
                    }
                    (EmitExpr::Int(n), Op::Mixed(_)) => {
                        return Some(self.beside(op, &array, given, integer(*n), *first, &element));
                    }
                    (e, _) => self.expr(e),
                };
                let text = self.beside(op, &array, given, name.to_owned(), *first, &element);
                let text = text.replacen(
                    &format!("|{given}| "),
                    &format!("{{ let {name} = {one}; move |{given}| "),
                    1,
                );
                format!("{} }})", text.strip_suffix(')').unwrap_or(&text))
            }
            _ => return None,
        })
    }

    /// Emits `array_map(array, |a| a op one)`, or with the number first.
    fn beside(
        &self,
        op: Op,
        array: &str,
        given: &str,
        one: String,
        first: bool,
        element: &Kind,
    ) -> String {
        let (a, b) = if first { (given, one.as_str()) } else { (one.as_str(), given) };
        format!("array_map({array}, |{given}| {})", on_elements(op, a, b, element))
    }

    /// Emits an operation on whole arrays.
    pub(super) fn on_arrays(&mut self, op: ArrayOp, args: &[EmitExpr]) -> String {
        if op == ArrayOp::Step {
            let element = Kind::Real;
            let arrays: Vec<bool> = args.iter().map(|a| self.is_array(a)).collect();
            let (x, y) = (&args[0], &args[1]);
            return match arrays.as_slice() {
                [true, true] => {
                    let (x, y) = (self.borrow(x), self.borrow(y));
                    format!("array_zip(\"step\", {x}, {y}, |a, b| array_step(a, b))")
                }
                [true, _] => {
                    let (x, y) = (self.borrow(x), self.expr(y));
                    format!(
                        "array_map({x}, {{ let b: {} = {y}; move |a| array_step(a, b) }})",
                        self.file.kind(&element)
                    )
                }
                _ => {
                    let (x, y) = (self.expr(x), self.borrow(y));
                    format!(
                        "array_map({y}, {{ let a: {} = {x}; move |b| array_step(a, b) }})",
                        self.file.kind(&element)
                    )
                }
            };
        }
        let number_first = op == ArrayOp::BroadcastTo && !self.is_array(&args[0]);
        let name = if number_first { "broadcast_to_number" } else { op.name() };
        let list =
            |k: usize, kind: Kind| op.takes_shape() && k == 1 && kind == Kind::Array(Element::Int);
        let args: Vec<String> = (args.iter().enumerate())
            .map(|(k, e)| match self.is_array(e) {
                true if list(k, self.body.kind(e)) => format!("&array_form({})", self.borrow(e)),
                true => self.borrow(e),
                false => self.expr(e),
            })
            .collect();
        format!("array_{name}({})", args.join(", "))
    }
}

/// Emits an operation on elements, or on an element and a number.
fn on_elements(op: Op, a: &str, b: &str, element: &Kind) -> String {
    let real = *element == Kind::Real;
    // A literal before the dot would be parsed otherwise.
    let of = |x: &str| {
        if x.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
            format!("f64::from({x})")
        } else {
            x.to_owned()
        }
    };
    match op {
        Op::Number1(Number1::Neg) => format!("-{a}"),
        Op::Number1(Number1::Recip) if real => format!("1.0 / {a}"),
        Op::Number1(n @ (Number1::Asinh | Number1::Acosh | Number1::Atanh)) if real => {
            format!("{}({a})", n.name())
        }
        Op::Number1(n) => format!("{a}.{}()", n.name()),
        Op::Number2(Number2::Add) => format!("{a} + {b}"),
        Op::Number2(Number2::Sub) => format!("{a} - {b}"),
        Op::Number2(Number2::Mul) => format!("{a} * {b}"),
        Op::Number2(Number2::Div) => format!("{a} / {b}"),
        Op::Number2(Number2::Pow) => format!("{}.powf({b})", of(a)),
        Op::Number2(n @ (Number2::Scale | Number2::Guard)) if real => {
            format!("{}({a}, {b})", n.name())
        }
        Op::Number2(n @ (Number2::Scale | Number2::Guard)) => format!("{a}.{}({b})", n.name()),
        Op::Real1(r) if is_method(r) => format!("{a}.{}()", r.name()),
        Op::Real1(r) => format!("{}({a})", function(r)),
        Op::Real2(r @ (Real2::Atan2 | Real2::Hypot)) => format!("{}.{}({b})", of(a), r.name()),
        Op::Real2(r) => format!("{}({a}, {b})", r.name()),
        Op::Mixed(Mixed::Promote) => format!("Complex::new({a}, 0.0)"),
        Op::Mixed(Mixed::Complex) => format!("Complex::new({a}, {b})"),
        Op::Mixed(m @ (Mixed::Re | Mixed::Im)) => format!("{a}.{}", m.name()),
        Op::Mixed(Mixed::FromInt) => format!("{a} as f64"),
        Op::Mixed(Mixed::Cmp) => format!("cmp({a}, {b})"),
        Op::Mixed(Mixed::PowiReal) if !b.parse().is_ok_and(is_product) => format!("powi({a}, {b})"),
        Op::Mixed(Mixed::PowiReal | Mixed::PowiComplex) => format!("{a}.powi({b})"),
        Op::Mixed(Mixed::Polygamma) => format!("polygamma({a}, {b})"),
        op => format!("{a}.{}()", op.name()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operation_on_arrays_has_its_function() {
        for op in ArrayOp::ALL {
            let name = format!("fn array_{}", op.name());
            let starts = |rest: &str| rest.starts_with(['(', '<']);
            let found =
                ARRAYS.match_indices(&name).any(|(at, _)| starts(&ARRAYS[at + name.len()..]));
            assert!(found, "{name} is missing");
        }
    }
}
