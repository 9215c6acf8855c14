//! Operations: the opcodes of instructions.
//!
//! The operations on numbers come from the [table](super::table), those on whole arrays from
//! [another](super::arrays); the others are structural and listed in [`Op`]. An operation on
//! numbers takes arrays too: it works element by element, and shapes are [broadcast](crate::array).
//! [`Op::result`] checks the kinds of an operation's operands and returns the kind of its result.

use std::{cmp::Ordering, fmt};

use crate::entity::{FuncId, PrimitiveId};

use super::{
    arrays::ArrayOp,
    kind::{Element, Kind},
};

/// Writes the enums of the table with their names, docs and lookup.
macro_rules! op_enums {
    (
        number1 { $($n1:ident $n1_name:literal ($($n1_a:ident),*) -> $n1_y:ident: $n1_s:ident = $n1_v:expr, [$($n1_d:expr),*], $n1_doc:literal;)* }
        number2 { $($n2:ident $n2_name:literal ($($n2_a:ident),*) -> $n2_y:ident: $n2_s:ident = $n2_v:expr, [$($n2_d:expr),*], $n2_doc:literal;)* }
        real1 { $($r1:ident $r1_name:literal ($($r1_a:ident),*) -> $r1_y:ident: $r1_s:ident = $r1_v:expr, [$($r1_d:expr),*], $r1_doc:literal;)* }
        real2 { $($r2:ident $r2_name:literal ($($r2_a:ident),*) -> $r2_y:ident: $r2_s:ident = $r2_v:expr, [$($r2_d:expr),*], $r2_doc:literal;)* }
        int1 { $($i1:ident $i1_name:literal ($($i1_a:ident),*) = $i1_v:expr, $i1_doc:literal;)* }
        int2 { $($i2:ident $i2_name:literal ($($i2_a:ident),*) = $i2_v:expr, $i2_doc:literal;)* }
        compare { $($c:ident $c_name:literal $c_int:literal ($c_o:ident) = $c_v:expr, $c_doc:literal;)* }
        mixed { $($m:ident $m_name:literal ($($m_a:ident),*) -> $m_r:ident, $m_doc:literal;)* }
    ) => {
        op_enums! { @enum "An operation on one number, real or complex." Number1 { $($n1 $n1_name $n1_doc)* } }
        op_enums! { @enum "An operation on two numbers, both real or both complex." Number2 { $($n2 $n2_name $n2_doc)* } }
        op_enums! { @enum "An operation on one real number." Real1 { $($r1 $r1_name $r1_doc)* } }
        op_enums! { @enum "An operation on two real numbers." Real2 { $($r2 $r2_name $r2_doc)* } }
        op_enums! { @enum "An operation on one integer." Int1 { $($i1 $i1_name $i1_doc)* } }
        op_enums! { @enum "An operation on two integers." Int2 { $($i2 $i2_name $i2_doc)* } }
        op_enums! { @enum "A comparison of real numbers or of integers." Compare { $($c $c_name $c_doc)* } }
        op_enums! { @enum "An operation between kinds." Mixed { $($m $m_name $m_doc)* } }

        impl Number1 {
            /// Returns true if a partial may be infinite or undefined where the value is not.
            #[must_use]
            pub fn is_singular(self) -> bool { match self { $(Number1::$n1 => op_enums!(@singular $n1_s),)* } }
        }
        impl Number2 {
            /// Returns true if a partial may be infinite or undefined where the value is not.
            #[must_use]
            pub fn is_singular(self) -> bool { match self { $(Number2::$n2 => op_enums!(@singular $n2_s),)* } }
        }
        impl Real1 {
            /// Returns true if a partial may be infinite or undefined where the value is not.
            #[must_use]
            pub fn is_singular(self) -> bool { match self { $(Real1::$r1 => op_enums!(@singular $r1_s),)* } }
        }
        impl Real2 {
            /// Returns true if a partial may be infinite or undefined where the value is not.
            #[must_use]
            pub fn is_singular(self) -> bool { match self { $(Real2::$r2 => op_enums!(@singular $r2_s),)* } }
        }
        impl Compare {
            /// Returns the name of the comparison of integers.
            pub(crate) fn int_name(self) -> &'static str { match self { $(Compare::$c => $c_int,)* } }
        }
        impl Mixed {
            /// Returns the kinds of the operands and of the result.
            #[must_use]
            pub fn signature(self) -> (&'static [Kind], Kind) {
                match self { $(Mixed::$m => (&[$(Kind::$m_a),*], Kind::$m_r),)* }
            }
            /// Returns the number of operands.
            pub(crate) const fn n_operands(self) -> usize {
                match self { $(Mixed::$m => [$(stringify!($m_a)),*].len(),)* }
            }
        }
    };
    (@singular singular) => { true };
    (@singular regular) => { false };
    (@enum $what:literal $Name:ident { $($variant:ident $name:literal $doc:literal)* }) => {
        #[doc = $what]
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $Name { $(#[doc = $doc] $variant,)* }

        impl $Name {
            /// All of them, in the order of the table.
            pub const ALL: &'static [$Name] = &[$($Name::$variant),*];
            /// Returns the name in text.
            #[must_use]
            pub const fn name(self) -> &'static str { match self { $($Name::$variant => $name,)* } }
            /// Returns a sentence that says what the operation computes.
            #[must_use]
            pub fn doc(self) -> &'static str { match self { $($Name::$variant => $doc,)* } }
            /// Returns the operation of the given name.
            #[must_use]
            pub fn by_name(name: &str) -> Option<$Name> {
                match name { $($name => Some($Name::$variant),)* _ => None }
            }
        }
    };
}
for_each_op!(op_enums);

/// Constant real number. Two are equal if their bits are.
#[derive(Clone, Copy, Debug)]
pub struct Literal(pub f64);

impl PartialEq for Literal {
    fn eq(&self, other: &Literal) -> bool {
        self.0.to_bits() == other.0.to_bits()
    }
}
impl Eq for Literal {}
impl std::hash::Hash for Literal {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.to_bits().hash(state);
    }
}

/// Operation of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    /// A real constant.
    Real(Literal),
    /// An integer constant.
    Int(i64),
    /// A truth value.
    Bool(bool),
    /// An op on one number.
    Number1(Number1),
    /// An op on two numbers.
    Number2(Number2),
    /// An op on one real number.
    Real1(Real1),
    /// An op on two real numbers.
    Real2(Real2),
    /// An op on one integer.
    Int1(Int1),
    /// An op on two integers.
    Int2(Int2),
    /// A comparison of real numbers.
    Compare(Compare),
    /// A comparison of integers.
    CompareInt(Compare),
    /// An op between kinds.
    Mixed(Mixed),
    /// `select(c, a, b)`: `a` if `c`, else `b`; any kind.
    Select,
    /// Calls a function.
    Call(FuncId),
    /// Calls a primitive, which the host computes.
    Primitive(PrimitiveId),
    /// Makes a tuple of its operands.
    Tuple,
    /// The k-th field of a tuple.
    Field(u32),
    /// Makes an array of its operands.
    Array,
    /// `fill(x, n)`: an array of n times x.
    Fill,
    /// The sum of an array of real or complex numbers.
    Sum,
    /// The length of an array.
    Len,
    /// `get(xs, i)`; `i` must be less than the length.
    Get,
    /// `set(xs, i, x)`: the array with its i-th element replaced.
    Set,
    /// `peek(xs, i)`: like `get`, but 0 beyond the end. For (co)tangents.
    Peek,
    /// `put(xs, i, x)`: like `set`, but the array is first extended with zeros where needed. For
    /// (co)tangents.
    Put,
    /// `add_at(xs, i, x)`: like `put`, but adds. For (co)tangents.
    AddAt,
    /// An operation on whole arrays.
    OnArrays(ArrayOp),
    /// `accumulate(xs, ys)`: the sum of arrays, the shorter one being extended with zeros. For
    /// (co)tangents.
    Accumulate,
    /// Pushes a value to tape `tape`. Has no result. `slot` pairs it with its pop: on a tape that
    /// is pushed to and popped from, a run in which a pop takes the value of another slot, or after
    /// which a value is left on the tape, fails with
    /// `RunError::TapeOrder`. Programs that are written in Rust
    /// (`emit`) do not check slots.
    Push {
        /// Number of the tape.
        tape: u32,
        /// Number of the push within the function; the pop of the adjoint has the same.
        slot: u32,
    },
    /// Guard: continues only if the ordering of two real numbers is the given one; `None` if one is
    /// NaN. Has no result. A recording uses it to stay on the path on which it was recorded.
    Expect(Option<Ordering>),
    /// Pops the last value of its kind from tape `tape`: the value of the latest push of the same
    /// slot.
    Pop {
        /// Number of the tape.
        tape: u32,
        /// Slot of the push that it undoes.
        slot: u32,
    },
}

impl Op {
    /// Returns the op on numbers or integers that has the given name in text.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Op> {
        let compare_int = || Compare::ALL.iter().copied().find(|c| c.int_name() == name);
        Number1::by_name(name)
            .map(Op::Number1)
            .or_else(|| Number2::by_name(name).map(Op::Number2))
            .or_else(|| Real1::by_name(name).map(Op::Real1))
            .or_else(|| Real2::by_name(name).map(Op::Real2))
            .or_else(|| Int1::by_name(name).map(Op::Int1))
            .or_else(|| Int2::by_name(name).map(Op::Int2))
            .or_else(|| Compare::by_name(name).map(Op::Compare))
            .or_else(|| compare_int().map(Op::CompareInt))
            .or_else(|| Mixed::by_name(name).map(Op::Mixed))
            .or_else(|| ArrayOp::by_name(name).map(Op::OnArrays))
            .or(match name {
                "select" => Some(Op::Select),
                "tuple" => Some(Op::Tuple),
                "array" => Some(Op::Array),
                "fill" => Some(Op::Fill),
                "sum" => Some(Op::Sum),
                "len" => Some(Op::Len),
                "get" => Some(Op::Get),
                "set" => Some(Op::Set),
                "peek" => Some(Op::Peek),
                "put" => Some(Op::Put),
                "add_at" => Some(Op::AddAt),
                "accumulate" => Some(Op::Accumulate),
                _ => None,
            })
    }

    /// Returns the name in text, without its own data.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Op::Real(_) => "real",
            Op::Int(_) => "int",
            Op::Bool(_) => "bool",
            Op::Number1(op) => op.name(),
            Op::Number2(op) => op.name(),
            Op::Real1(op) => op.name(),
            Op::Real2(op) => op.name(),
            Op::Int1(op) => op.name(),
            Op::Int2(op) => op.name(),
            Op::Compare(op) => op.name(),
            Op::CompareInt(op) => op.int_name(),
            Op::Mixed(op) => op.name(),
            Op::OnArrays(op) => op.name(),
            Op::Select => "select",
            Op::Call(_) => "call",
            Op::Primitive(_) => "primitive",
            Op::Tuple => "tuple",
            Op::Field(_) => "field",
            Op::Array => "array",
            Op::Fill => "fill",
            Op::Sum => "sum",
            Op::Len => "len",
            Op::Get => "get",
            Op::Set => "set",
            Op::Peek => "peek",
            Op::Put => "put",
            Op::AddAt => "add_at",
            Op::Accumulate => "accumulate",
            Op::Expect(_) => "expect",
            Op::Push { .. } => "push",
            Op::Pop { .. } => "pop",
        }
    }

    /// Returns true if it only computes its result, so that it may be dropped if the result is
    /// unused, and computed once for several uses. It may still fail (an index out of range).
    #[must_use]
    pub fn is_pure(self) -> bool {
        !matches!(
            self,
            Op::Call(_) | Op::Primitive(_) | Op::Expect(_) | Op::Push { .. } | Op::Pop { .. }
        )
    }

    /// Returns true if it is a constant.
    #[must_use]
    pub fn is_constant(self) -> bool {
        matches!(self, Op::Real(_) | Op::Int(_) | Op::Bool(_))
    }

    /// Returns true if it may work element by element on arrays.
    #[must_use]
    pub fn is_elementwise(self) -> bool {
        match self {
            Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) => true,
            Op::Mixed(op) => !matches!(op, Mixed::Not | Mixed::And | Mixed::Or),
            _ => false,
        }
    }

    /// Returns the kind of the result of an op on numbers where an operand is an array: an array of
    /// the results for the elements.
    fn lifted(self, operands: &[Kind]) -> Option<Result<Option<Kind>, String>> {
        if !self.is_elementwise() || !operands.iter().any(|k| matches!(k, Kind::Array(_))) {
            return None;
        }
        // An exponent or order is one number for all.
        let power =
            matches!(self, Op::Mixed(Mixed::PowiReal | Mixed::PowiComplex | Mixed::Polygamma));
        if power && matches!(operands.get(1), Some(Kind::Array(_))) {
            let what = if self == Op::Mixed(Mixed::Polygamma) { "order" } else { "exponent" };
            return Some(Err(format!("one int as {what} for all elements")));
        }
        let elements: Vec<Kind> = (operands.iter().enumerate())
            .map(|(k, kind)| match kind {
                Kind::Array(e) if !(power && k == 1) => e.kind(),
                other => other.clone(),
            })
            .collect();
        let element =
            |kind: Option<Kind>| kind.as_ref().and_then(Element::from_kind).map(Kind::Array);
        Some(
            self.result(&elements)
                .map(element)
                .map_err(|words| format!("{words}, or arrays of such")),
        )
    }

    /// Returns the kind of the result for operands of the given kinds, or the expected operands. A
    /// result of `None` means that it has no result. Calls, primitives, pops, tuples and empty
    /// arrays are not decided here: their result is the one that the program states.
    ///
    /// # Errors
    /// The operands that are expected, in words, if the given ones do not fit.
    pub fn result(self, operands: &[Kind]) -> Result<Option<Kind>, String> {
        use Kind::{Bool, Complex, Int, Real};
        if let Some(result) = self.lifted(operands) {
            return result;
        }
        let expect = |kinds: &[Kind], result: Kind| {
            if operands == kinds { Ok(Some(result)) } else { Err(join(kinds)) }
        };
        let array = |k: usize| match operands.get(k) {
            Some(Kind::Array(e)) => Ok(*e),
            _ => Err("an array".to_owned()),
        };
        match self {
            Op::Real(_) => expect(&[], Real),
            Op::Int(_) => expect(&[], Int),
            Op::Bool(_) => expect(&[], Bool),
            Op::Number1(_) => match operands {
                [Real] => Ok(Some(Real)),
                [Complex] => Ok(Some(Complex)),
                _ => Err("a real or complex number".into()),
            },
            Op::Number2(_) => match operands {
                [Real, Real] => Ok(Some(Real)),
                [Complex, Complex] => Ok(Some(Complex)),
                _ => Err("two real or two complex numbers".into()),
            },
            Op::Real1(_) => expect(&[Real], Real),
            Op::Real2(_) => expect(&[Real, Real], Real),
            Op::Int1(_) => expect(&[Int], Int),
            Op::Int2(_) => expect(&[Int, Int], Int),
            Op::Compare(_) => expect(&[Real, Real], Bool),
            Op::CompareInt(_) => expect(&[Int, Int], Bool),
            Op::Mixed(op) => {
                let (kinds, result) = op.signature();
                expect(kinds, result)
            }
            Op::OnArrays(op) => op.result(operands).map(Some),
            Op::Select => match operands {
                [Bool, a, b] if a == b => Ok(Some(a.clone())),
                _ => Err("a bool and two values of one kind".into()),
            },
            Op::Field(k) => match operands {
                [t] => match t.fields().get(k as usize) {
                    Some(field) => Ok(Some(field.kind.clone())),
                    None => Err(format!("a tuple of more than {k} fields")),
                },
                _ => Err("a tuple".into()),
            },
            Op::Array => match operands {
                [] => Ok(None),
                [first, rest @ ..] if rest.iter().all(|k| k == first) => {
                    match Element::from_kind(first) {
                        Some(e) => Ok(Some(Kind::Array(e))),
                        None => Err("elements that are numbers".into()),
                    }
                }
                _ => Err("elements of one kind".into()),
            },
            Op::Fill => match operands {
                [x, Int] => match Element::from_kind(x) {
                    Some(e) => Ok(Some(Kind::Array(e))),
                    None => Err("an element that is a number".into()),
                },
                _ => Err("an element and a length".into()),
            },
            Op::Sum => match operands {
                [Kind::Array(Element::Real)] => Ok(Some(Real)),
                [Kind::Array(Element::Complex)] => Ok(Some(Complex)),
                _ => Err("an array of real or complex numbers".into()),
            },
            Op::Len => array(0).and_then(|e| expect(&[Kind::Array(e)], Int)),
            Op::Get | Op::Peek => array(0).and_then(|e| expect(&[Kind::Array(e), Int], e.kind())),
            Op::Set | Op::Put | Op::AddAt => {
                array(0).and_then(|e| expect(&[Kind::Array(e), Int, e.kind()], Kind::Array(e)))
            }
            Op::Accumulate => {
                array(0).and_then(|e| expect(&[Kind::Array(e), Kind::Array(e)], Kind::Array(e)))
            }
            Op::Expect(_) => match operands {
                [Real, Real] => Ok(None),
                _ => Err(join(&[Real, Real])),
            },
            Op::Push { .. } => match operands {
                [_] => Ok(None),
                _ => Err("one value".into()),
            },
            Op::Call(_) | Op::Primitive(_) | Op::Tuple | Op::Pop { .. } => Ok(None),
        }
    }
}

/// Returns the word of the text for the ordering of two numbers.
pub(super) fn order_name(order: Option<Ordering>) -> &'static str {
    match order {
        Some(Ordering::Less) => "less",
        Some(Ordering::Equal) => "equal",
        Some(Ordering::Greater) => "greater",
        None => "unordered",
    }
}

/// Returns the sign for the ordering of two numbers.
#[doc(hidden)]
pub fn order_sign(order: Option<Ordering>) -> &'static str {
    match order {
        Some(Ordering::Less) => "<",
        Some(Ordering::Equal) => "==",
        Some(Ordering::Greater) => ">",
        None => "is not comparable to",
    }
}

/// Formats kinds: `(real, int)`.
pub(super) fn join(kinds: &[Kind]) -> String {
    let kinds: Vec<String> = kinds.iter().map(Kind::to_string).collect();
    format!("({})", kinds.join(", "))
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The bits of the NaN, unless it is the usual one.
            Op::Real(Literal(x)) if x.is_nan() && x.to_bits() != f64::NAN.to_bits() => {
                write!(f, "real nan0x{:x}", x.to_bits())
            }
            Op::Real(Literal(x)) => write!(f, "real {x:?}"),
            Op::Int(n) => write!(f, "int {n}"),
            Op::Bool(b) => write!(f, "bool {b}"),
            Op::Field(k) => write!(f, "field.{k}"),
            Op::Expect(order) => write!(f, "expect.{}", order_name(*order)),
            Op::Push { tape, slot } => write!(f, "push.{tape}.{slot}"),
            Op::Pop { tape, slot } => write!(f, "pop.{tape}.{slot}"),
            op => f.write_str(op.name()),
        }
    }
}
