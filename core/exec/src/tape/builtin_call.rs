//! Calls of functions of the language, by their names.

use smallvec::SmallVec;

use crate::{
    entity::Value,
    ir::{Element, Kind, Op},
    staging::{Builtin, StagedOperand, StagingBuilder},
};

/// An operand that is known: an axis, a shape.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum StaticOperand {
    Int(i64),
    Ints(Vec<i64>),
}

/// A function of the language with its last operands.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct BuiltinCall {
    pub(super) name: &'static str,
    pub(super) fixed: SmallVec<[StaticOperand; 1]>,
}

/// The element of an array at a place in row-major order.
pub(super) const GET: &str = "get";
/// A range along an axis.
pub(super) const SLICE: &str = "slice";
/// An array of numbers.
pub(super) const VECTOR: &str = "vector";
/// The n-th derivative of digamma.
pub(super) const POLYGAMMA: &str = "polygamma";

impl BuiltinCall {
    pub(super) fn new(name: &'static str) -> BuiltinCall {
        BuiltinCall { name, fixed: SmallVec::new() }
    }

    /// Adds a static operand.
    pub(super) fn with(mut self, fixed: StaticOperand) -> BuiltinCall {
        self.fixed.push(fixed);
        self
    }

    /// Returns the static operands that are ints.
    pub(super) fn ints(&self) -> SmallVec<[i64; 3]> {
        let int =
            |fixed: &StaticOperand| if let StaticOperand::Int(n) = fixed { Some(*n) } else { None };
        self.fixed.iter().filter_map(int).collect()
    }

    /// Appends the call to a function; `complex` is true if the numbers of the tape are complex.
    pub(super) fn stage(
        &self,
        s: &mut StagingBuilder,
        args: &[Value],
        complex: bool,
    ) -> Result<Value, String> {
        let element = if complex { Element::Complex } else { Element::Real };
        let mut all: SmallVec<[Value; 4]> = SmallVec::from_slice(args);
        for fixed in &self.fixed {
            let value = match fixed {
                StaticOperand::Int(n) => s.b.int(*n),
                StaticOperand::Ints(list) => {
                    let items: Vec<Value> = list.iter().map(|n| s.b.int(*n)).collect();
                    s.b.inst(Op::Array, &items, Kind::Array(Element::Int))
                }
            };
            all.push(value);
        }
        let value = match self.name {
            GET => s.b.get(all[0], all[1]),
            VECTOR => s.b.inst(Op::Array, &all, Kind::Array(element)),
            name => {
                // Its order is its first operand.
                if name == POLYGAMMA {
                    all.rotate_right(1);
                }
                let builtin = Builtin::by_name(name).ok_or("it is no operation of a tape")?;
                let given: SmallVec<[StagedOperand; 4]> =
                    all.into_iter().map(StagedOperand::Value).collect();
                let given = s.builtin(builtin, &given).map_err(|e| e.to_string())?;
                s.value(given).map_err(|e| e.to_string())?
            }
        };
        // On a tape of complex numbers all are.
        s.fit_element(StagedOperand::Value(value), &element.kind()).map_err(|e| e.to_string())
    }
}
