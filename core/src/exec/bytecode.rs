//! The instructions of the register machine.
//!
//! A function has six banks of registers: real numbers, complex numbers, integers (with truth values and
//! handles), and arrays of each. A value of the IR is one register for each leaf of its kind; making and
//! opening tuples needs no instruction, the tuple *is* its fields' registers. That is sound because registers
//! are written where their value is defined and at edges only, all arguments of an edge at once.
//!
//! The commonest arithmetic has instructions of its own; the rest of the op table goes through one
//! instruction per section. A jump carries how many instructions its block has executed, which is how steps
//! are counted at no cost per instruction.

use crate::{
    entity::PrimitiveId,
    ir::{Compare, Int1, Int2, Kind, Number1, Number2, Param, Position, Primitive, Real1, Real2},
};

/// A register: its number in its bank.
pub(super) type Reg = u32;

/// Which bank a leaf lives in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Bank {
    Real,
    Complex,
    Int,
    Reals,
    Complexes,
    Ints,
}

/// How many banks there are.
pub(super) const BANKS: usize = 6;

impl Bank {
    /// The bank of a leaf. Tuples have none: they are opened first.
    pub(super) fn of(leaf: &Kind) -> Bank {
        use crate::ir::Element;
        match leaf {
            Kind::Real => Bank::Real,
            Kind::Complex => Bank::Complex,
            Kind::Int | Kind::Bool | Kind::Handle | Kind::Tuple(_) => Bank::Int,
            Kind::Array(Element::Real) => Bank::Reals,
            Kind::Array(Element::Complex) => Bank::Complexes,
            Kind::Array(Element::Int) => Bank::Ints,
        }
    }
}

/// A register of a bank. `last`: nobody reads it afterwards, so an array may be taken out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slot {
    pub(super) bank: Bank,
    pub(super) reg: Reg,
    pub(super) last: bool,
}

/// A stretch of a function's list of slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Slots {
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Slots {
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// An instruction. `d` is where its result goes, `a`, `b`, `c` are operands.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Code {
    Real {
        d: Reg,
        x: f64,
    },
    RealInt {
        d: Reg,
        n: i64,
    },
    Int {
        d: Reg,
        n: i64,
    },
    AddR {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SubR {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulR {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    DivR {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    NegR {
        d: Reg,
        a: Reg,
    },
    AddC {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    SubC {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    MulC {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Number1R {
        op: Number1,
        d: Reg,
        a: Reg,
    },
    Number1C {
        op: Number1,
        d: Reg,
        a: Reg,
    },
    Number2R {
        op: Number2,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Number2C {
        op: Number2,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Real1 {
        op: Real1,
        d: Reg,
        a: Reg,
    },
    Real2 {
        op: Real2,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    AddI {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Int1 {
        op: Int1,
        d: Reg,
        a: Reg,
    },
    Int2 {
        op: Int2,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    CompareR {
        op: Compare,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    CompareI {
        op: Compare,
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Not {
        d: Reg,
        a: Reg,
    },
    And {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Or {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Promote {
        d: Reg,
        a: Reg,
    },
    Complex {
        d: Reg,
        a: Reg,
        b: Reg,
    },
    Re {
        d: Reg,
        a: Reg,
    },
    Im {
        d: Reg,
        a: Reg,
    },
    Abs2 {
        d: Reg,
        a: Reg,
    },
    Modulus {
        d: Reg,
        a: Reg,
    },
    Arg {
        d: Reg,
        a: Reg,
    },
    Conj {
        d: Reg,
        a: Reg,
    },
    FromInt {
        d: Reg,
        a: Reg,
    },
    PowiR {
        d: Reg,
        a: Reg,
        n: Reg,
    },
    PowiC {
        d: Reg,
        a: Reg,
        n: Reg,
    },
    MoveR {
        d: Reg,
        a: Reg,
    },
    MoveC {
        d: Reg,
        a: Reg,
    },
    MoveI {
        d: Reg,
        a: Reg,
    },
    /// Copies an array: a slot.
    MoveA {
        d: Reg,
        a: u32,
    },
    /// `d = c ? a : b` for a leaf: the slots `a` and `a + 1`.
    Select {
        bank: Bank,
        d: Reg,
        c: Reg,
        a: u32,
    },
    /// An array of the slots' values.
    Array {
        bank: Bank,
        d: Reg,
        items: Slots,
    },
    Fill {
        bank: Bank,
        d: Reg,
        x: Reg,
        n: Reg,
    },
    /// Ops with an array operand, which is a slot.
    Sum {
        d: Reg,
        a: u32,
    },
    Len {
        d: Reg,
        a: u32,
    },
    Get {
        d: Reg,
        a: u32,
        i: Reg,
        strict: bool,
    },
    Set {
        d: Reg,
        a: u32,
        i: Reg,
        x: Reg,
        how: Write,
    },
    /// `d = a + b`, the slots `a` and `a + 1`.
    Accumulate {
        d: Reg,
        a: u32,
    },
    PushR {
        tape: u32,
        a: Reg,
    },
    PushC {
        tape: u32,
        a: Reg,
    },
    PushI {
        tape: u32,
        a: Reg,
    },
    PushA {
        tape: u32,
        a: u32,
    },
    PopR {
        tape: u32,
        d: Reg,
    },
    PopC {
        tape: u32,
        d: Reg,
    },
    PopI {
        tape: u32,
        d: Reg,
    },
    PopA {
        tape: u32,
        d: u32,
    },
    Call {
        function: u32,
        args: Slots,
        results: Slots,
    },
    Primitive {
        primitive: PrimitiveId,
        args: Slots,
        results: Slots,
    },
    Jump {
        to: u32,
        cost: u32,
    },
    Branch {
        c: Reg,
        yes: u32,
        no: u32,
        cost: u32,
    },
    /// A comparison of integers whose only reader is the branch after it.
    BranchI {
        op: Compare,
        a: Reg,
        b: Reg,
        to: u32,
        cost: u32,
    },
    /// The way when the comparison before failed.
    Else {
        to: u32,
    },
    Switch {
        i: Reg,
        table: u32,
        len: u32,
        cost: u32,
    },
    Return {
        values: Slots,
        cost: u32,
    },
}

/// How an array is written to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Write {
    /// The index must be there.
    Set,
    /// Extends the array.
    Put,
    /// Extends the array and adds.
    Add,
}

/// A compiled function.
#[derive(Clone, Debug)]
pub(super) struct Routine {
    pub(super) name: String,
    pub(super) code: Vec<Code>,
    pub(super) at: Vec<Position>,
    pub(super) slots: Vec<Slot>,
    pub(super) tables: Vec<u32>,
    /// How many registers of each bank.
    pub(super) sizes: [u32; BANKS],
    /// Where the leaves of the parameters go.
    pub(super) params: Vec<Slot>,
    /// The kinds of all of them are real.
    pub(super) flat: bool,
}

/// A function and all it calls, compiled.
#[derive(Clone, Debug)]
pub struct Bytecode {
    pub(super) routines: Vec<Routine>,
    pub(super) primitives: Vec<Primitive>,
    pub(super) params: Vec<Param>,
    pub(super) result: Kind,
    pub(super) tapes: usize,
}

impl Bytecode {
    /// What it returns.
    #[must_use]
    pub fn result(&self) -> &Kind {
        &self.result
    }
    /// Its parameters.
    #[must_use]
    pub fn params(&self) -> &[Param] {
        &self.params
    }
    /// How many instructions it has, with all it calls.
    #[must_use]
    pub fn len(&self) -> usize {
        self.routines.iter().map(|r| r.code.len()).sum()
    }
    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
