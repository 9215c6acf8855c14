//! The compiler of one function: the registers of its values, and its code in order.

use std::{collections::HashMap, sync::Arc};

use crate::{
    entity::{Block, FuncId, Inst, Value},
    ir::{AbstractValue, Function, InstData, Kind, Literal, Op, Position, Program},
    pass::order,
};

use super::{
    super::{
        bytecode::{DebugInfo, Routine},
        coalesce::coalesce,
        code::{BANKS, Bank, Code, Pc, Reg, RegisterSlot, SlotRange},
        inspect::Moment,
        jumps::thread_jumps,
        last_use::{mark_last_uses, moved_arrays},
    },
    fusion_groups::FusionGroups,
    small_regions::SmallRegions,
    superinstructions::Superinstructions,
    tape_checksums::checksum_updates,
};

/// The most instructions that are repeated in place of one jump.
const MAX_DUPLICATED: usize = 12;

/// Purpose of the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::exec) enum Style {
    /// Code to be run.
    Fast,
    /// Instrumented code, to be inspected and changed while it runs: each instruction is between
    /// two marks, and every value has a register of its own. Arrays are never moved out of a
    /// register, so writing to one copies it.
    Instrumented,
    /// Instrumented code in which equal constants share a register, a tuple has those of its
    /// fields, and a write to an element of an array that is not read again happens in place; so
    /// the array is gone after the instruction.
    InstrumentedInPlace,
}

/// Compiler of one function.
pub(super) struct Compiler<'a> {
    pub(super) program: &'a Program,
    pub(super) f: &'a Function,
    id: FuncId,
    pub(super) style: Style,
    marks: Vec<Moment>,
    /// The number of each function's routine.
    pub(super) numbers: &'a HashMap<FuncId, u32>,
    registers: Vec<Vec<RegisterSlot>>,
    pub(super) routine: Routine,
    /// Start of each block, once it is written, and the instructions that name blocks.
    starts: Vec<Option<Pc>>,
    pub(super) patches: Vec<(Patch, Block)>,
    /// Number of predecessors of each block, and number of uses of each value.
    pub(super) predecessor_counts: Vec<usize>,
    pub(super) uses: Vec<u32>,
    pub(super) known: &'a [AbstractValue],
    /// Lists of tapes whose checksums are computed.
    balanced: &'a [(u32, Bank)],
    pub(super) small_regions: SmallRegions,
    pub(super) superinstructions: Superinstructions,
    pub(super) fusion_groups: FusionGroups,
    constants: HashMap<Op, Reg>,
    pub(super) at: Position,
}

/// A target that is still a block.
pub(super) enum Patch {
    /// The one of an instruction if the condition holds, or its only one.
    Yes(usize),
    No(usize),
    /// An entry of the tables.
    Table(usize),
}

impl<'a> Compiler<'a> {
    pub(super) fn new(
        program: &'a Program,
        id: FuncId,
        numbers: &'a HashMap<FuncId, u32>,
        style: Style,
        known: &'a [AbstractValue],
        alone: bool,
        balanced: &'a [(u32, Bank)],
    ) -> Compiler<'a> {
        let f = &program.functions[id];
        let uses = uses(f);
        let fast = style == Style::Fast;
        let small_regions =
            if fast { SmallRegions::find(f, known, alone) } else { SmallRegions::default() };
        let superinstructions = if fast {
            Superinstructions::select(f, &uses, &small_regions)
        } else {
            Superinstructions::none(f)
        };
        let fusion_groups = if fast {
            FusionGroups::find(f, known, &small_regions)
        } else {
            FusionGroups::default()
        };
        let routine = Routine {
            name: f.name.clone(),
            code: vec![],
            at: vec![],
            slots: vec![],
            kernels: vec![],
            small_programs: vec![],
            checksum_updates: vec![],
            tables: vec![],
            sizes: [0; BANKS],
            params: vec![],
            is_all_real: f.params.iter().all(|p| p.kind.leaves().iter().all(|k| *k == Kind::Real)),
            source: None,
        };
        Compiler {
            program,
            f,
            id,
            style,
            marks: vec![],
            numbers,
            registers: vec![vec![]; f.kinds.len()],
            routine,
            starts: vec![None; f.blocks.len()],
            patches: vec![],
            predecessor_counts: f.predecessors().iter().map(Vec::len).collect(),
            known,
            balanced,
            small_regions,
            superinstructions,
            fusion_groups,
            uses,
            constants: HashMap::new(),
            at: Position::default(),
        }
    }

    pub(super) fn routine(mut self) -> Routine {
        let f = self.f;
        self.allocate();
        // The header of a loop comes before its body, which then ends with the header's own test.
        for b in order(f) {
            self.starts[b.index()] = Some(self.here());
            self.body(b);
            self.terminator(b, &f.blocks[b].end, MAX_DUPLICATED);
        }
        for (patch, block) in std::mem::take(&mut self.patches) {
            let Some(start) = self.starts[block.index()] else { continue };
            match patch {
                Patch::Table(entry) => self.routine.tables[entry] = start,
                Patch::Yes(pc) => {
                    self.routine.code[pc].targets_mut().0.into_iter().for_each(|to| *to = start);
                }
                Patch::No(pc) => {
                    self.routine.code[pc].targets_mut().1.into_iter().for_each(|to| *to = start);
                }
            }
        }
        if self.style != Style::Fast {
            let (function, registers, marks) = (f.clone(), self.registers, self.marks);
            let given = if self.style == Style::InstrumentedInPlace {
                moved_arrays(&mut self.routine)
            } else {
                vec![]
            };
            let rule = self.program.rule(self.id).filter(|rule| !rule.is_empty()).cloned();
            let source =
                DebugInfo { id: self.id, function, rule, registers, marks, moved_arrays: given };
            self.routine.source = Some(Arc::new(source));
            return self.routine;
        }
        coalesce(&mut self.routine);
        thread_jumps(&mut self.routine);
        mark_last_uses(&mut self.routine);
        self.routine
    }

    /// Emits the instructions of a block.
    pub(super) fn body(&mut self, id: Block) {
        let f = self.f;
        let block = &f.blocks[id];
        self.track(&block.insts);
        for (k, &i) in block.insts.iter().enumerate() {
            self.small_before(i);
            self.at = f.insts[i].at;
            let last = k + 1 == block.insts.len();
            let joined = last && self.fuses_with_terminator(i, &block.end);
            let absorbed =
                self.superinstructions.is_absorbed(i) || self.fusion_groups.is_absorbed(i);
            if !joined && !absorbed && !self.small_regions.contains(i) {
                self.mark(Moment::Before(i));
                self.instruction(i);
                self.mark(Moment::After(i));
            }
            if matches!(f.insts[i].op, Op::Call(_)) {
                self.track(&block.insts[k + 1..]);
            }
        }
        self.small_at_end(id);
        self.at = block.end_at;
    }

    /// Emits the updates of the checksums of tapes by the instructions up to the first call among
    /// them.
    fn track(&mut self, insts: &[Inst]) {
        if self.balanced.is_empty() {
            return;
        }
        let f = self.f;
        let call = insts.iter().position(|&i| matches!(f.insts[i].op, Op::Call(_)));
        let tracks = checksum_updates(f, &insts[..call.unwrap_or(insts.len())], self.balanced);
        if !tracks.is_empty() {
            let (first, entries) =
                (self.routine.checksum_updates.len() as u32, tracks.len() as u32);
            self.routine.checksum_updates.extend(tracks);
            self.emit(Code::UpdateChecksums(first, entries));
        }
    }

    /// Lets an interceptor see the run here.
    pub(super) fn mark(&mut self, moment: Moment) {
        if self.style != Style::Fast {
            self.emit(Code::Mark(self.marks.len() as u32));
            self.marks.push(moment);
        }
    }

    pub(super) fn here(&self) -> Pc {
        self.routine.code.len() as Pc
    }

    /// Gives every value its registers.
    fn allocate(&mut self) {
        let f = self.f;
        for &p in f.param_values() {
            self.define(p);
            let slots = self.registers[p.index()].clone();
            self.routine.params.extend(slots);
        }
        for block in f.blocks.values() {
            for &p in &block.params {
                if self.registers[p.index()].is_empty() {
                    self.define(p);
                }
            }
            for &i in &block.insts {
                self.allocate_result(&f.insts[i]);
            }
        }
        // Tuples are the registers of their fields. A field may be defined in a later block than
        // its tuple, so repeat until all are known; each iteration resolves one level of nesting.
        for _ in 0..f.insts.len().max(1) {
            let mut open = false;
            for block in f.blocks.values() {
                for &i in &block.insts {
                    open |= !self.alias(&f.insts[i]);
                }
            }
            if !open {
                break;
            }
        }
    }

    pub(super) fn fresh(&mut self, bank: Bank) -> Reg {
        let size = &mut self.routine.sizes[bank as usize];
        *size += 1;
        *size - 1
    }

    fn define(&mut self, v: Value) {
        let leaves = self.f.kinds[v].leaves();
        let slots = leaves
            .iter()
            .map(|leaf| {
                let bank = Bank::for_kind(leaf);
                RegisterSlot { bank, reg: self.fresh(bank), last: false }
            })
            .collect();
        self.registers[v.index()] = slots;
    }

    /// Gives the result of an instruction its registers; of a constant, those of its first
    /// appearance.
    fn allocate_result(&mut self, inst: &InstData) {
        let Some(v) = inst.result else { return };
        if self.style == Style::Instrumented {
            self.define(v);
        } else if inst.op.is_constant() {
            if let Some(&reg) = self.constants.get(&inst.op) {
                let bank = Bank::for_kind(&self.f.kinds[v]);
                self.registers[v.index()] = vec![RegisterSlot { bank, reg, last: false }];
                return;
            }
            self.define(v);
            let d = self.registers[v.index()][0].reg;
            self.constants.insert(inst.op, d);
            self.constant(inst.op, d);
        } else if !matches!(inst.op, Op::Tuple | Op::Field(_)) {
            self.define(v);
        }
    }

    fn constant(&mut self, op: Op, d: Reg) {
        self.emit(match op {
            Op::Real(Literal(x))
                if x.fract() == 0.0 && x.abs() < 9e15 && (x != 0.0 || x.is_sign_positive()) =>
            {
                Code::RealInt(d, x as i64)
            }
            Op::Real(Literal(x)) => Code::Real(d, x),
            Op::Int(n) => Code::Int(d, n),
            op => Code::Int(d, i64::from(op == Op::Bool(true))),
        });
    }

    /// Emits the moves of constants, tuples and fields in instrumented code; where values share
    /// registers they need none.
    pub(super) fn own(&mut self, inst: &InstData) {
        let Some(v) = inst.result.filter(|_| self.style == Style::Instrumented) else { return };
        let to = self.registers[v.index()].clone();
        match (inst.op, to.as_slice()) {
            (Op::Tuple, _) => {
                let from = self.leaves(&inst.args);
                to.into_iter().zip(from).for_each(|(to, from)| self.copy(to, from));
            }
            (Op::Field(k), _) => {
                let from =
                    self.registers[inst.args[0].index()][self.field(inst.args[0], k)].to_vec();
                to.into_iter().zip(from).for_each(|(to, from)| self.copy(to, from));
            }
            (op, [slot]) => self.constant(op, slot.reg),
            _ => {}
        }
    }

    /// Returns the range of the leaves of a field among those of a tuple.
    fn field(&self, tuple: Value, k: u32) -> std::ops::Range<usize> {
        let fields = self.f.kinds[tuple].fields();
        let start: usize = fields[..k as usize].iter().map(|f| f.kind.n_leaves()).sum();
        start..start + fields[k as usize].kind.n_leaves()
    }

    /// Aliases the registers of tuples and fields; returns false while those of an operand are not
    /// known.
    fn alias(&mut self, inst: &InstData) -> bool {
        let Some(v) = inst.result else { return true };
        let known = |v: &Value| self.f.kinds[*v].n_leaves() == self.registers[v.index()].len();
        if !matches!(inst.op, Op::Tuple | Op::Field(_)) || known(&v) {
            return true;
        }
        if !inst.args.iter().all(known) {
            return false;
        }
        self.registers[v.index()] = match inst.op {
            Op::Field(k) => {
                self.registers[inst.args[0].index()][self.field(inst.args[0], k)].to_vec()
            }
            _ => inst.args.iter().flat_map(|a| self.registers[a.index()].clone()).collect(),
        };
        true
    }

    pub(super) fn emit(&mut self, code: Code) {
        self.routine.code.push(code);
        self.routine.at.push(self.at);
    }

    pub(super) fn slots(&mut self, slots: &[RegisterSlot]) -> SlotRange {
        let start = self.routine.slots.len() as u32;
        self.routine.slots.extend_from_slice(slots);
        SlotRange { start, len: slots.len() as u32 }
    }

    /// Adds the first leaf of a value to the list of slots.
    pub(super) fn slot(&mut self, v: Value) -> u32 {
        let slot = self.first(v);
        self.slots(&[slot]).start
    }

    pub(super) fn first(&self, v: Value) -> RegisterSlot {
        let none = RegisterSlot { bank: Bank::Int, reg: 0, last: false };
        self.registers[v.index()].first().copied().unwrap_or(none)
    }

    pub(super) fn reg(&self, v: Value) -> Reg {
        self.first(v).reg
    }

    pub(super) fn leaves(&self, values: &[Value]) -> Vec<RegisterSlot> {
        values.iter().flat_map(|v| self.registers[v.index()].clone()).collect()
    }
}

/// Returns the number of uses of each value.
fn uses(f: &Function) -> Vec<u32> {
    let mut uses = vec![0; f.kinds.len()];
    for block in f.blocks.values() {
        let args = block.insts.iter().flat_map(|&i| &f.insts[i].args).copied();
        let targets = block.end.targets().into_iter().flat_map(|t| t.args.iter().copied());
        for v in args.chain(block.end.operand()).chain(targets) {
            uses[v.index()] += 1;
        }
    }
    uses
}
