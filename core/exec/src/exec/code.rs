//! The instructions of the register machine.
//!
//! A function has six banks of registers: real numbers, complex numbers, integers (with truth
//! values and handles), and arrays of each. A value of the IR is one register for each leaf of its
//! kind; making and opening tuples needs no instruction, the tuple *is* its fields' registers. That
//! is sound because registers are written where their value is defined and at edges only, all
//! arguments of an edge at once.
//!
//! The commonest arithmetic has instructions of its own, and superinstructions for two operations
//! of which the first has one reader; the rest of the op table goes through one instruction per
//! section. Nothing here rounds differently from the IR: `MulAdd` rounds the product and then the
//! sum.
//!
//! Operands are in the order `(destination, operands…)`; targets of jumps come last.

use std::cmp::Ordering;

use crate::{
    entity::PrimitiveId,
    ir::{ArrayOp, Compare, Element, Int1, Int2, Kind, Number1, Number2, Real1, Real2},
};

/// A register: its number in its bank.
pub(super) type Reg = u32;
/// An instruction: its number in its routine.
pub(super) type Pc = u32;
/// An entry of a routine's list of slots.
pub(super) type SlotId = u32;

/// Register bank of a leaf.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Bank {
    Real,
    Complex,
    Int,
    Reals,
    Complexes,
    Ints,
}

/// Number of banks.
pub(super) const BANKS: usize = 6;

impl Bank {
    /// Returns the bank of a leaf. Tuples have none: they are split first.
    pub(super) fn for_kind(leaf: &Kind) -> Bank {
        match leaf {
            Kind::Real => Bank::Real,
            Kind::Complex => Bank::Complex,
            Kind::Int | Kind::Bool | Kind::Handle | Kind::Tuple(_) => Bank::Int,
            Kind::Array(Element::Real) => Bank::Reals,
            Kind::Array(Element::Complex) => Bank::Complexes,
            Kind::Array(Element::Int) => Bank::Ints,
        }
    }
    /// Returns the bank of an array's elements.
    pub(super) fn element(self) -> Bank {
        match self {
            Bank::Complex | Bank::Complexes => Bank::Complex,
            Bank::Int | Bank::Ints => Bank::Int,
            Bank::Real | Bank::Reals => Bank::Real,
        }
    }
}

/// Register of a bank. `last` is true if it is not read afterwards, so an array may be moved out of
/// it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RegisterSlot {
    pub(super) bank: Bank,
    pub(super) reg: Reg,
    pub(super) last: bool,
}

/// Range of a routine's list of slots. No two instructions share one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct SlotRange {
    pub(super) start: SlotId,
    pub(super) len: u32,
}

impl SlotRange {
    pub(super) fn range(self) -> std::ops::Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }
}

/// An instruction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Code {
    // Constants. Integers are exact on every scalar.
    Real(Reg, f64),
    RealInt(Reg, i64),
    Int(Reg, i64),

    // Real numbers.
    AddR(Reg, Reg, Reg),
    SubR(Reg, Reg, Reg),
    MulR(Reg, Reg, Reg),
    DivR(Reg, Reg, Reg),
    NegR(Reg, Reg),
    // `d = (a first b) second c` …
    AddAdd(Reg, Reg, Reg, Reg),
    AddSub(Reg, Reg, Reg, Reg),
    AddMul(Reg, Reg, Reg, Reg),
    SubAdd(Reg, Reg, Reg, Reg),
    SubSub(Reg, Reg, Reg, Reg),
    SubMul(Reg, Reg, Reg, Reg),
    MulAdd(Reg, Reg, Reg, Reg),
    MulSub(Reg, Reg, Reg, Reg),
    MulMul(Reg, Reg, Reg, Reg),
    // … and `d = c second (a first b)`.
    AddAddBack(Reg, Reg, Reg, Reg),
    AddSubBack(Reg, Reg, Reg, Reg),
    AddMulBack(Reg, Reg, Reg, Reg),
    SubAddBack(Reg, Reg, Reg, Reg),
    SubSubBack(Reg, Reg, Reg, Reg),
    SubMulBack(Reg, Reg, Reg, Reg),
    MulAddBack(Reg, Reg, Reg, Reg),
    MulSubBack(Reg, Reg, Reg, Reg),
    MulMulBack(Reg, Reg, Reg, Reg),

    // Complex numbers.
    AddC(Reg, Reg, Reg),
    SubC(Reg, Reg, Reg),
    MulC(Reg, Reg, Reg),

    // The rest of the op table.
    Number1R(Number1, Reg, Reg),
    Number1C(Number1, Reg, Reg),
    Number2R(Number2, Reg, Reg, Reg),
    Number2C(Number2, Reg, Reg, Reg),
    Real1(Real1, Reg, Reg),
    Real2(Real2, Reg, Reg, Reg),
    AddI(Reg, Reg, Reg),
    Int1(Int1, Reg, Reg),
    Int2(Int2, Reg, Reg, Reg),
    CompareR(Compare, Reg, Reg, Reg),
    CompareI(Compare, Reg, Reg, Reg),
    /// Goes on if the numbers compare so.
    Expect(Option<Ordering>, Reg, Reg),
    Not(Reg, Reg),
    And(Reg, Reg, Reg),
    Or(Reg, Reg, Reg),
    Promote(Reg, Reg),
    Complex(Reg, Reg, Reg),
    Re(Reg, Reg),
    Im(Reg, Reg),
    Abs2(Reg, Reg),
    Modulus(Reg, Reg),
    Arg(Reg, Reg),
    Conj(Reg, Reg),
    FromInt(Reg, Reg),
    Cmp(Reg, Reg, Reg),
    PowiR(Reg, Reg, Reg),
    Polygamma(Reg, Reg, Reg),
    PowiC(Reg, Reg, Reg),

    // Copies. `a` of an array is a slot.
    MoveR(Reg, Reg),
    MoveC(Reg, Reg),
    MoveI(Reg, Reg),
    MoveA(Reg, SlotId),
    /// `d = c ? a : b` for a leaf: `(bank, d, c, slot a)`, and `b` is the slot after `a`.
    Select(Bank, Reg, Reg, SlotId),

    // Arrays. `Array`, `Fill` and `Select` have the bank of their result.
    Array(Bank, Reg, SlotRange),
    Fill(Bank, Reg, Reg, Reg),
    Len(Reg, SlotId),
    /// `(d, array, index)`: an error if the index is out of bounds.
    Get(Reg, SlotId, Reg),
    /// `(d, array, index)`: 0 beyond the end.
    Peek(Reg, SlotId, Reg),
    /// `(how, d, array, index, element)`.
    Set(WriteMode, Reg, SlotId, Reg, Reg),
    /// `d = a + b`, the slots `a` and `a + 1`.
    Accumulate(Reg, SlotId),
    /// `d = sum + embed(part, whole, axis, start)`, those five slots: only the part is looked at.
    AccumulatePart(Reg, SlotRange),
    /// An operation on whole arrays: operands, and the one result.
    OnArrays(ArrayOp, SlotRange, SlotRange),
    /// Elementwise operations, fused: the number of their kernel, operands, and results.
    Elements(u32, SlotRange, SlotRange),
    /// Straight code on small arrays: its number, operands, and results.
    Small(u32, SlotRange, SlotRange),

    // Tapes: `(tape, register)`, or a slot for arrays.
    PushR(u32, Reg),
    PushC(u32, Reg),
    PushI(u32, Reg),
    PushA(u32, SlotId),
    PopR(u32, Reg),
    PopC(u32, Reg),
    PopI(u32, Reg),
    PopA(u32, SlotId),

    /// Updates the checksums of tapes for the code up to the next call: `(first, entries)` of the
    /// routine's tracks.
    UpdateChecksums(u32, u32),

    /// `(routine, arguments, results)`.
    Call(u32, SlotRange, SlotRange),
    Primitive(PrimitiveId, SlotRange, SlotRange),
    Return(SlotRange),

    /// Shows the run to an interceptor: the mark of this number.
    Mark(u32),
    /// Entry point of machine code: if there is some, it runs from here. `(part, entry point)`.
    #[cfg(feature = "jit")]
    Native(u32, u32),

    Jump(Pc),
    /// `(condition, if it holds, if not)`.
    Branch(Reg, Pc, Pc),
    // A comparison whose only reader is the branch after it. The `Compare` is the op that errors
    // name.
    LtR(Compare, Reg, Reg, Pc, Pc),
    LeR(Compare, Reg, Reg, Pc, Pc),
    EqR(Compare, Reg, Reg, Pc, Pc),
    LtI(Reg, Reg, Pc, Pc),
    EqI(Reg, Reg, Pc, Pc),
    /// A comparison that others read too, and the branch after it: `(op, destination, a, b, …)`.
    TestR(Compare, Reg, Reg, Reg, Pc, Pc),
    /// `TestR` that also pushes its result: `(op, tape, destination, a, b, …)`.
    TestPush(Compare, u16, Reg, Reg, Reg, Pc, Pc),
    /// Branch on a value popped from a tape: `(tape, if it holds, if not)`.
    PopBranch(u32, Pc, Pc),
    /// `i += k`, then as `LtI(i, n)`: `(i, k, n, …)`.
    StepLt(Reg, Reg, Reg, Pc, Pc),
    /// `i += k`, then as `LtI(n, i)`.
    StepGt(Reg, Reg, Reg, Pc, Pc),
    /// `i += k`, then as `EqI(i, n)`.
    StepEq(Reg, Reg, Reg, Pc, Pc),
    /// `i -= k`, then as `EqI(i, n)`.
    BackEq(Reg, Reg, Reg, Pc, Pc),
    /// `EqI(i, n)`, then `i -= k` if they differ.
    EqBack(Reg, Reg, Reg, Pc, Pc),
    /// `(index, first entry of the table, entries)`.
    Switch(Reg, u32, u32),
    /// Switch on a value popped from a tape: `(tape, first entry, entries)`.
    PopSwitch(u32, u32, u32),
}

/// A change of the checksum of a tape's list: `h -> factor h + summand`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChecksumUpdate {
    pub(super) tape: u32,
    pub(super) bank: Bank,
    pub(super) factor: u64,
    pub(super) summand: u64,
}

impl ChecksumUpdate {
    pub(super) fn range(first: u32, entries: u32) -> std::ops::Range<usize> {
        first as usize..(first + entries) as usize
    }
}

/// Mode of a write to an array.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WriteMode {
    /// Fails if the index is out of bounds.
    Set,
    /// Extends the array.
    Put,
    /// Extends the array and adds.
    Add,
}

impl Code {
    /// Returns its targets, except for the next instruction and those in a table.
    pub(super) fn targets_mut(&mut self) -> (Option<&mut Pc>, Option<&mut Pc>) {
        match self {
            Code::Jump(to) => (Some(to), None),
            Code::Branch(_, yes, no)
            | Code::LtI(_, _, yes, no)
            | Code::EqI(_, _, yes, no)
            | Code::LtR(_, _, _, yes, no)
            | Code::LeR(_, _, _, yes, no)
            | Code::EqR(_, _, _, yes, no)
            | Code::TestR(_, _, _, _, yes, no)
            | Code::TestPush(_, _, _, _, _, yes, no)
            | Code::PopBranch(_, yes, no)
            | Code::StepLt(_, _, _, yes, no)
            | Code::StepGt(_, _, _, yes, no)
            | Code::StepEq(_, _, _, yes, no)
            | Code::BackEq(_, _, _, yes, no)
            | Code::EqBack(_, _, _, yes, no) => (Some(yes), Some(no)),
            _ => (None, None),
        }
    }

    /// Returns the range of the tables that it uses.
    pub(super) fn table(self) -> std::ops::Range<usize> {
        match self {
            Code::Switch(_, first, len) | Code::PopSwitch(_, first, len) => {
                first as usize..(first + len) as usize
            }
            _ => 0..0,
        }
    }

    /// Returns true if control never falls through to the next instruction.
    pub(super) fn ends(self) -> bool {
        let mut code = self;
        let (jumps, _) = code.targets_mut();
        jumps.is_some() || matches!(self, Code::Return(_) | Code::Switch(..) | Code::PopSwitch(..))
    }
}
