//! Numbers in memory: their types and sizes, and the flags of accesses to them.

use cranelift_codegen::ir::{self, MemFlags, types};

use super::super::super::code::Bank;

/// Flags of memory accesses: all memory is mapped and aligned.
pub(super) const FLAGS: MemFlags = MemFlags::trusted();

/// Returns the kind of a bank's numbers, or of their parts.
pub(super) fn kind(bank: Bank) -> ir::Type {
    if bank == Bank::Int { types::I64 } else { types::F64 }
}

/// Returns the number of parts of a number.
pub(super) fn parts(bank: Bank) -> usize {
    if bank == Bank::Complex { 2 } else { 1 }
}

/// Returns the bytes of a number.
pub(super) fn width(bank: Bank) -> i64 {
    8 * parts(bank) as i64
}
