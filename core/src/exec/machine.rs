//! The register machine.
//!
//! A [`Machine`] holds the registers, the stack of calls and the tapes; it can be used again and again and
//! then allocates nothing. Calls of the program are frames on its own stack, so no program exhausts the
//! thread's.

use std::sync::Arc;

use crate::{
    ir::{Compare, Kind, Position},
    scalar::{Real, Scalar, Undecided},
};

use super::{
    Executable, Limits,
    bytecode::{BANKS, Bank, Bytecode, Code, Routine, Slot, Slots, Write},
    data::Datum,
    error::{CallError, RunError},
    host::{Host, HostError},
};

/// The state of a run.
#[derive(Debug)]
pub struct Machine<S: Scalar> {
    banks: Banks<S>,
    tapes: Vec<Tape<S>>,
    frames: Vec<Frame>,
    /// Whether the next run reads the tapes that the last one left.
    keep: bool,
}

/// The registers of all calls, one after the other.
#[derive(Debug)]
struct Banks<S: Scalar> {
    reals: Vec<S::Real>,
    complexes: Vec<S>,
    ints: Vec<i64>,
    arrays: Arrays<S>,
}

#[derive(Clone, Debug)]
struct Arrays<S: Scalar> {
    reals: Vec<Arc<Vec<S::Real>>>,
    complexes: Vec<Arc<Vec<S>>>,
    ints: Vec<Arc<Vec<i64>>>,
}

/// What a primal recorded and its adjoint has not yet read.
#[derive(Clone, Debug)]
struct Tape<S: Scalar> {
    reals: Vec<S::Real>,
    complexes: Vec<S>,
    ints: Vec<i64>,
    arrays: Arrays<S>,
}

/// What a primal left for its adjoint.
#[derive(Clone, Debug)]
pub(super) struct Tapes<S: Scalar>(Vec<Tape<S>>);

/// A call that waits for another.
#[derive(Clone, Copy, Debug)]
struct Frame {
    routine: usize,
    pc: usize,
    base: [usize; BANKS],
    results: Slots,
}

impl<S: Scalar> Default for Arrays<S> {
    fn default() -> Self {
        Arrays { reals: vec![], complexes: vec![], ints: vec![] }
    }
}

impl<S: Scalar> Default for Machine<S> {
    fn default() -> Self {
        Machine::new()
    }
}

impl<S: Scalar> Machine<S> {
    /// A machine without memory yet.
    #[must_use]
    pub fn new() -> Machine<S> {
        let banks = Banks { reals: vec![], complexes: vec![], ints: vec![], arrays: Arrays::default() };
        Machine { banks, tapes: vec![], frames: vec![], keep: false }
    }

    /// Hands over what the last run left on the tapes.
    pub(super) fn take_tapes(&mut self) -> Tapes<S> {
        Tapes(std::mem::take(&mut self.tapes))
    }

    /// Lets the next run read these tapes.
    pub(super) fn put_tapes(&mut self, tapes: &Tapes<S>) {
        self.tapes.clone_from(&tapes.0);
        self.keep = true;
    }

    fn prepare(&mut self, code: &Bytecode) {
        self.frames.clear();
        while self.tapes.len() < code.tapes {
            let arrays = Arrays::default();
            self.tapes.push(Tape { reals: vec![], complexes: vec![], ints: vec![], arrays });
        }
        // An error may have left something behind.
        let keep = std::mem::take(&mut self.keep);
        for tape in self.tapes.iter_mut().filter(|_| !keep) {
            tape.reals.clear();
            tape.complexes.clear();
            tape.ints.clear();
            tape.arrays.reals.clear();
            tape.arrays.complexes.clear();
            tape.arrays.ints.clear();
        }
        if let Some(routine) = code.routines.first() {
            self.banks.grow([0; BANKS], routine);
        }
    }
}

impl<S: Scalar> Banks<S> {
    /// Makes room for a routine's registers.
    fn grow(&mut self, base: [usize; BANKS], routine: &Routine) {
        fn to<T: Clone>(items: &mut Vec<T>, len: usize, zero: impl Fn() -> T) {
            if items.len() < len {
                items.resize(len, zero());
            }
        }
        let end = |bank: Bank| base[bank as usize] + routine.sizes[bank as usize] as usize;
        to(&mut self.reals, end(Bank::Real), num_traits::Zero::zero);
        to(&mut self.complexes, end(Bank::Complex), S::zero);
        to(&mut self.ints, end(Bank::Int), || 0);
        to(&mut self.arrays.reals, end(Bank::Reals), Arc::default);
        to(&mut self.arrays.complexes, end(Bank::Complexes), Arc::default);
        to(&mut self.arrays.ints, end(Bank::Ints), Arc::default);
    }

    /// Copies the values of slots of one call to the slots of another.
    fn transfer(&mut self, from: &[Slot], from_base: [usize; BANKS], to: &[Slot], to_base: [usize; BANKS]) {
        for (a, d) in from.iter().zip(to) {
            let (i, j) =
                (a.reg as usize + from_base[a.bank as usize], d.reg as usize + to_base[d.bank as usize]);
            match a.bank {
                Bank::Real => self.reals[j] = self.reals[i].clone(),
                Bank::Complex => self.complexes[j] = self.complexes[i].clone(),
                Bank::Int => self.ints[j] = self.ints[i],
                Bank::Reals => self.arrays.reals[j] = read(&mut self.arrays.reals[i], a.last),
                Bank::Complexes => self.arrays.complexes[j] = read(&mut self.arrays.complexes[i], a.last),
                Bank::Ints => self.arrays.ints[j] = read(&mut self.arrays.ints[i], a.last),
            }
        }
    }

    /// Lets go of the arrays of a call that has ended.
    fn clear(&mut self, base: [usize; BANKS], routine: &Routine) {
        let range = |bank: Bank| {
            let start = base[bank as usize];
            start..start + routine.sizes[bank as usize] as usize
        };
        self.arrays.reals[range(Bank::Reals)].iter_mut().for_each(|a| *a = Arc::default());
        self.arrays.complexes[range(Bank::Complexes)].iter_mut().for_each(|a| *a = Arc::default());
        self.arrays.ints[range(Bank::Ints)].iter_mut().for_each(|a| *a = Arc::default());
    }

    fn load(&self, slot: Slot, base: [usize; BANKS]) -> Datum<S> {
        let i = slot.reg as usize + base[slot.bank as usize];
        match slot.bank {
            Bank::Real => Datum::Real(self.reals[i].clone()),
            Bank::Complex => Datum::Complex(self.complexes[i].clone()),
            Bank::Int => Datum::Int(self.ints[i]),
            Bank::Reals => Datum::Reals(self.arrays.reals[i].clone()),
            Bank::Complexes => Datum::Complexes(self.arrays.complexes[i].clone()),
            Bank::Ints => Datum::Ints(self.arrays.ints[i].clone()),
        }
    }

    fn store(&mut self, slot: Slot, base: [usize; BANKS], value: &Datum<S>) {
        let i = slot.reg as usize + base[slot.bank as usize];
        match value {
            Datum::Real(x) => self.reals[i] = x.clone(),
            Datum::Complex(x) => self.complexes[i] = x.clone(),
            Datum::Int(n) => self.ints[i] = *n,
            Datum::Bool(b) => self.ints[i] = i64::from(*b),
            Datum::Handle(h) => self.ints[i] = i64::from(*h),
            Datum::Reals(xs) => self.arrays.reals[i] = xs.clone(),
            Datum::Complexes(xs) => self.arrays.complexes[i] = xs.clone(),
            Datum::Ints(xs) => self.arrays.ints[i] = xs.clone(),
            Datum::Tuple(_) => {}
        }
    }

    /// Puts a value of the kind together from its leaves.
    fn assemble(
        &self,
        kind: &Kind,
        slots: &mut impl Iterator<Item = Slot>,
        base: [usize; BANKS],
    ) -> Datum<S> {
        if let Kind::Tuple(t) = kind {
            return Datum::Tuple(t.fields.iter().map(|f| self.assemble(&f.kind, slots, base)).collect());
        }
        let value = slots.next().map_or(Datum::Int(0), |s| self.load(s, base));
        match (kind, value) {
            (Kind::Bool, Datum::Int(n)) => Datum::Bool(n != 0),
            (Kind::Handle, Datum::Int(n)) => Datum::Handle(u32::try_from(n).unwrap_or(u32::MAX)),
            (_, value) => value,
        }
    }
}

/// The array in a register: taken out of it if it is read for the last time.
fn read<T>(register: &mut Arc<Vec<T>>, last: bool) -> Arc<Vec<T>> {
    if last { std::mem::take(register) } else { register.clone() }
}

fn store_leaves<S: Scalar>(
    banks: &mut Banks<S>,
    slots: &mut impl Iterator<Item = Slot>,
    base: [usize; BANKS],
    value: &Datum<S>,
) {
    match value {
        Datum::Tuple(fields) => fields.iter().for_each(|f| store_leaves(banks, slots, base, f)),
        leaf => {
            if let Some(slot) = slots.next() {
                banks.store(slot, base, leaf);
            }
        }
    }
}

impl<T: Real, S: Scalar<Real = T>> Executable<S> for Bytecode {
    fn call(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[Datum<S>],
    ) -> Result<Datum<S>, RunError> {
        let function = || self.routines.first().map(|r| r.name.clone()).unwrap_or_default();
        if args.len() != self.params.len() {
            let (expected, given) = (self.params.len(), args.len());
            return Err(CallError::Arity { function: function(), expected, given }.into());
        }
        for (arg, param) in args.iter().zip(&self.params) {
            if !arg.is(&param.kind) {
                let (parameter, expected) = (param.name.clone(), param.kind.clone());
                let given = arg.describe();
                return Err(CallError::Kind { function: function(), parameter, expected, given }.into());
            }
        }
        machine.prepare(self);
        let Some(root) = self.routines.first() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        let mut slots = root.params.iter().copied();
        for arg in args {
            store_leaves(&mut machine.banks, &mut slots, [0; BANKS], arg);
        }
        let values = run(self, machine, host, limits)?;
        let mut slots = root.slots[values.range()].iter().copied();
        let result = machine.banks.assemble(&self.result, &mut slots, [0; BANKS]);
        machine.banks.clear([0; BANKS], root);
        Ok(result)
    }

    fn call_flat(
        &self,
        machine: &mut Machine<S>,
        host: &dyn Host<S>,
        limits: &Limits,
        args: &[T],
        results: &mut [T],
    ) -> Result<(), RunError> {
        let Some(root) = self.routines.first() else {
            return Err(CallError::Undefined { name: String::new() }.into());
        };
        if !root.flat || root.params.len() != args.len() || self.result.n_leaves() != results.len() {
            let (function, expected, given) = (root.name.clone(), root.params.len(), args.len());
            return Err(CallError::Arity { function, expected, given }.into());
        }
        machine.prepare(self);
        for (slot, x) in root.params.iter().zip(args) {
            machine.banks.reals[slot.reg as usize].clone_from(x);
        }
        let values = run(self, machine, host, limits)?;
        for (slot, y) in root.slots[values.range()].iter().zip(results) {
            if slot.bank == Bank::Real {
                y.clone_from(&machine.banks.reals[slot.reg as usize]);
            }
        }
        Ok(())
    }
}

/// Where the run stands, for errors.
struct Place<'a> {
    routine: &'a Routine,
    pc: usize,
}

impl Place<'_> {
    fn at(&self) -> Position {
        self.routine.at.get(self.pc).copied().unwrap_or_default()
    }
    #[cold]
    fn index(&self, index: i64, len: usize) -> RunError {
        RunError::Index { index, len, at: self.at() }
    }
    #[cold]
    fn undecided(&self, op: &'static str, source: Undecided) -> RunError {
        RunError::Undecided { op, at: self.at(), source }
    }
    #[cold]
    fn integer(&self, op: &'static str, operands: &[i64]) -> RunError {
        let operands = operands.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        RunError::Integer { op, operands, at: self.at() }
    }
    #[cold]
    fn empty(&self) -> RunError {
        RunError::EmptyTape { at: self.at() }
    }
    #[cold]
    fn steps(&self, limit: u64) -> RunError {
        RunError::Steps { limit, at: self.at() }
    }
}

/// Runs the first routine; its arguments are in its registers. Gives the slots of its result.
fn run<T: Real, S: Scalar<Real = T>>(
    code: &Bytecode,
    machine: &mut Machine<S>,
    host: &dyn Host<S>,
    limits: &Limits,
) -> Result<Slots, RunError> {
    let Machine { banks, tapes, frames, .. } = machine;
    let mut current = 0;
    let mut base = [0usize; BANKS];
    let mut pc = 0;
    let mut fuel = limits.steps;
    'frame: loop {
        let routine = &code.routines[current];
        let program = &routine.code[..];
        let bank = |b: Bank| base[b as usize]..base[b as usize] + routine.sizes[b as usize] as usize;
        let r = &mut banks.reals[bank(Bank::Real)];
        let c = &mut banks.complexes[bank(Bank::Complex)];
        let n = &mut banks.ints[bank(Bank::Int)];
        macro_rules! at {
            () => {
                Place { routine, pc: pc - 1 }
            };
        }
        macro_rules! spend {
            ($cost:expr) => {
                match fuel.checked_sub(u64::from($cost)) {
                    Some(rest) => fuel = rest,
                    None => return Err(at!().steps(limits.steps)),
                }
            };
        }
        macro_rules! set {
            ($bank:ident[$d:expr] = $value:expr) => {{
                let value = $value;
                $bank[$d as usize] = value;
            }};
        }
        macro_rules! get {
            ($bank:ident[$a:expr]) => {
                &$bank[$a as usize]
            };
        }
        loop {
            let instruction = program[pc];
            pc += 1;
            match instruction {
                Code::Real { d, x } => set!(r[d] = T::lit(x)),
                Code::RealInt { d, n: k } => set!(r[d] = T::int(k)),
                Code::Int { d, n: k } => set!(n[d] = k),
                Code::AddR { d, a, b } => set!(r[d] = get!(r[a]) + get!(r[b])),
                Code::SubR { d, a, b } => set!(r[d] = get!(r[a]) - get!(r[b])),
                Code::MulR { d, a, b } => set!(r[d] = get!(r[a]) * get!(r[b])),
                Code::DivR { d, a, b } => set!(r[d] = get!(r[a]) / get!(r[b])),
                Code::NegR { d, a } => set!(r[d] = -get!(r[a])),
                Code::AddC { d, a, b } => set!(c[d] = get!(c[a]) + get!(c[b])),
                Code::SubC { d, a, b } => set!(c[d] = get!(c[a]) - get!(c[b])),
                Code::MulC { d, a, b } => set!(c[d] = get!(c[a]) * get!(c[b])),
                Code::Number1R { op, d, a } => set!(r[d] = op.value(get!(r[a]))),
                Code::Number1C { op, d, a } => set!(c[d] = op.value(get!(c[a]))),
                Code::Number2R { op, d, a, b } => set!(r[d] = op.value(get!(r[a]), get!(r[b]))),
                Code::Number2C { op, d, a, b } => set!(c[d] = op.value(get!(c[a]), get!(c[b]))),
                Code::Real1 { op, d, a } => {
                    let value = op.value(get!(r[a])).map_err(|e| at!().undecided(op.name(), e))?;
                    set!(r[d] = value);
                }
                Code::Real2 { op, d, a, b } => {
                    let value =
                        op.value(get!(r[a]), get!(r[b])).map_err(|e| at!().undecided(op.name(), e))?;
                    set!(r[d] = value);
                }
                Code::AddI { d, a, b } => {
                    let (x, y) = (*get!(n[a]), *get!(n[b]));
                    set!(n[d] = x.checked_add(y).ok_or_else(|| at!().integer("iadd", &[x, y]))?);
                }
                Code::Int1 { op, d, a } => {
                    let x = *get!(n[a]);
                    set!(n[d] = op.value(x).ok_or_else(|| at!().integer(op.name(), &[x]))?);
                }
                Code::Int2 { op, d, a, b } => {
                    let (x, y) = (*get!(n[a]), *get!(n[b]));
                    set!(n[d] = op.value(x, y).ok_or_else(|| at!().integer(op.name(), &[x, y]))?);
                }
                Code::CompareR { op, d, a, b } => {
                    let order = get!(r[a]).try_cmp(get!(r[b])).map_err(|e| at!().undecided(op.name(), e))?;
                    set!(n[d] = i64::from(op.holds(order)));
                }
                Code::CompareI { op, d, a, b } => set!(n[d] = i64::from(holds(op, *get!(n[a]), *get!(n[b])))),
                Code::Not { d, a } => set!(n[d] = 1 - *get!(n[a])),
                Code::And { d, a, b } => set!(n[d] = *get!(n[a]) & *get!(n[b])),
                Code::Or { d, a, b } => set!(n[d] = *get!(n[a]) | *get!(n[b])),
                Code::Promote { d, a } => set!(c[d] = S::from_real(get!(r[a]).clone())),
                Code::Complex { d, a, b } => {
                    let z = S::from_parts(get!(r[a]).clone(), get!(r[b]).clone())
                        .ok_or_else(|| RunError::NeedsComplex { at: at!().at() });
                    set!(c[d] = z?);
                }
                Code::Re { d, a } => set!(r[d] = get!(c[a]).re()),
                Code::Im { d, a } => set!(r[d] = get!(c[a]).im()),
                Code::Abs2 { d, a } => set!(r[d] = get!(c[a]).abs2()),
                Code::Modulus { d, a } => set!(r[d] = get!(c[a]).re().hypot(&get!(c[a]).im())),
                Code::Arg { d, a } => set!(r[d] = get!(c[a]).im().atan2(&get!(c[a]).re())),
                Code::Conj { d, a } => set!(c[d] = get!(c[a]).conj()),
                Code::FromInt { d, a } => set!(r[d] = T::int(*get!(n[a]))),
                Code::PowiR { d, a, n: k } => set!(r[d] = get!(r[a]).powi(exponent(*get!(n[k])))),
                Code::PowiC { d, a, n: k } => set!(c[d] = get!(c[a]).powi(exponent(*get!(n[k])))),
                Code::MoveR { d, a } => set!(r[d] = get!(r[a]).clone()),
                Code::MoveC { d, a } => set!(c[d] = get!(c[a]).clone()),
                Code::MoveI { d, a } => set!(n[d] = *get!(n[a])),
                Code::PushR { tape, a } => tapes[tape as usize].reals.push(get!(r[a]).clone()),
                Code::PushC { tape, a } => tapes[tape as usize].complexes.push(get!(c[a]).clone()),
                Code::PushI { tape, a } => tapes[tape as usize].ints.push(*get!(n[a])),
                Code::PopR { tape, d } => match tapes[tape as usize].reals.pop() {
                    Some(x) => set!(r[d] = x),
                    None => return Err(at!().empty()),
                },
                Code::PopC { tape, d } => match tapes[tape as usize].complexes.pop() {
                    Some(x) => set!(c[d] = x),
                    None => return Err(at!().empty()),
                },
                Code::PopI { tape, d } => match tapes[tape as usize].ints.pop() {
                    Some(x) => set!(n[d] = x),
                    None => return Err(at!().empty()),
                },
                Code::Jump { to, cost } => {
                    spend!(cost);
                    pc = to as usize;
                }
                Code::Branch { c: condition, yes, no, cost } => {
                    spend!(cost);
                    pc = if *get!(n[condition]) != 0 { yes } else { no } as usize;
                }
                Code::BranchI { op, a, b, to, cost } => {
                    spend!(cost);
                    if holds(op, *get!(n[a]), *get!(n[b])) {
                        pc = to as usize;
                    }
                }
                Code::Else { to } => pc = to as usize,
                Code::Switch { i, table, len, cost } => {
                    spend!(cost);
                    let index = *get!(n[i]);
                    if index < 0 || index >= i64::from(len) {
                        return Err(RunError::Switch { index, at: at!().at() });
                    }
                    pc = routine.tables[table as usize + index as usize] as usize;
                }
                Code::Call { function, args, results } => {
                    let callee = &code.routines[function as usize];
                    if frames.len() >= limits.depth {
                        let (limit, function) = (limits.depth, callee.name.clone());
                        return Err(RunError::Depth { limit, function, at: at!().at() });
                    }
                    let mut next = base;
                    next.iter_mut().zip(routine.sizes).for_each(|(b, size)| *b += size as usize);
                    banks.grow(next, callee);
                    banks.transfer(&routine.slots[args.range()], base, &callee.params, next);
                    frames.push(Frame { routine: current, pc, base, results });
                    (current, base, pc) = (function as usize, next, 0);
                    continue 'frame;
                }
                Code::Return { values, cost } => {
                    spend!(cost);
                    let Some(frame) = frames.pop() else { return Ok(values) };
                    let caller = &code.routines[frame.routine];
                    let (from, to) = (&routine.slots[values.range()], &caller.slots[frame.results.range()]);
                    banks.transfer(from, base, to, frame.base);
                    banks.clear(base, routine);
                    (current, base, pc) = (frame.routine, frame.base, frame.pc);
                    continue 'frame;
                }
                other => {
                    // Arrays and primitives: rarer, and worth a call.
                    structural(
                        code,
                        banks,
                        tapes,
                        host,
                        limits,
                        &Place { routine, pc: pc - 1 },
                        base,
                        other,
                    )?;
                    continue 'frame;
                }
            }
        }
    }
}

#[inline]
fn holds(op: Compare, a: i64, b: i64) -> bool {
    match op {
        Compare::Lt => a < b,
        Compare::Le => a <= b,
        Compare::Gt => a > b,
        Compare::Ge => a >= b,
        Compare::Eq => a == b,
        Compare::Ne => a != b,
    }
}

/// Exponents beyond the range of `i32` give what that range's end gives.
fn exponent(n: i64) -> i32 {
    i32::try_from(n).unwrap_or(if n < 0 { i32::MIN } else { i32::MAX })
}

/// Instructions on arrays, and primitives.
#[allow(clippy::clone_on_copy, reason = "one of the three banks holds plain integers")]
#[allow(clippy::too_many_arguments, reason = "the state of the machine, taken apart")]
#[inline(never)]
fn structural<T: Real, S: Scalar<Real = T>>(
    code: &Bytecode,
    banks: &mut Banks<S>,
    tapes: &mut [Tape<S>],
    host: &dyn Host<S>,
    limits: &Limits,
    place: &Place<'_>,
    base: [usize; BANKS],
    instruction: Code,
) -> Result<(), RunError> {
    let slots = &place.routine.slots;
    let slot = |k: u32| slots[k as usize];
    let on = |bank: Bank, reg: u32| base[bank as usize] + reg as usize;
    let Banks { reals: r, complexes: c, ints: n, arrays } = &mut *banks;
    // One arm for each bank of arrays, with its bank of elements.
    macro_rules! by_bank {
        ($bank:expr, |$arrays:ident, $items:ident, $Item:ident| $body:expr) => {
            match $bank {
                Bank::Complexes => {
                    let ($arrays, $items) = (&mut arrays.complexes, &mut *c);
                    const $Item: Bank = Bank::Complex;
                    $body
                }
                Bank::Ints => {
                    let ($arrays, $items) = (&mut arrays.ints, &mut *n);
                    const $Item: Bank = Bank::Int;
                    $body
                }
                _ => {
                    let ($arrays, $items) = (&mut arrays.reals, &mut *r);
                    const $Item: Bank = Bank::Real;
                    $body
                }
            }
        };
    }
    match instruction {
        Code::MoveA { d, a } => {
            let s = slot(a);
            by_bank!(s.bank, |arrays, _items, ITEM| {
                let _ = ITEM;
                arrays[on(s.bank, d)] = read(&mut arrays[on(s.bank, s.reg)], s.last);
            });
        }
        Code::Select { bank, d, c: condition, a } => {
            let chosen = if n[on(Bank::Int, condition)] != 0 { slot(a) } else { slot(a + 1) };
            let to = Slot { bank, reg: d, last: false };
            banks.transfer(&[Slot { last: false, ..chosen }], base, &[to], base);
        }
        Code::Array { bank, d, items: list } => {
            by_bank!(bank, |arrays, items, ITEM| {
                let values = slots[list.range()].iter().map(|s| items[on(ITEM, s.reg)].clone());
                arrays[on(bank, d)] = Arc::new(values.collect());
            });
        }
        Code::Fill { bank, d, x, n: len } => {
            let len = n[on(Bank::Int, len)];
            let count = usize::try_from(len).ok().filter(|&k| k <= limits.array);
            let count = count.ok_or(RunError::Length { len, limit: limits.array, at: place.at() })?;
            by_bank!(bank, |arrays, items, ITEM| {
                let value = items[on(ITEM, x)].clone();
                arrays[on(bank, d)] = Arc::new(vec![value; count]);
            });
        }
        Code::Sum { d, a } => {
            let s = slot(a);
            match s.bank {
                Bank::Complexes => {
                    c[on(Bank::Complex, d)] = S::sum(arrays.complexes[on(s.bank, s.reg)].iter().cloned());
                }
                _ => r[on(Bank::Real, d)] = T::sum(arrays.reals[on(s.bank, s.reg)].iter().cloned()),
            }
        }
        Code::Len { d, a } => {
            let s = slot(a);
            let len = by_bank!(s.bank, |arrays, _items, ITEM| {
                let _ = ITEM;
                arrays[on(s.bank, s.reg)].len()
            });
            n[on(Bank::Int, d)] = i64::try_from(len).unwrap_or(i64::MAX);
        }
        Code::Get { d, a, i, strict } => {
            let s = slot(a);
            let index = n[on(Bank::Int, i)];
            by_bank!(s.bank, |arrays, items, ITEM| {
                let array = &arrays[on(s.bank, s.reg)];
                let item = usize::try_from(index).ok().and_then(|k| array.get(k));
                items[on(ITEM, d)] = match item {
                    Some(item) => item.clone(),
                    None if strict || index < 0 => return Err(place.index(index, array.len())),
                    None => num_traits::Zero::zero(),
                };
            });
        }
        Code::Set { d, a, i, x, how } => {
            let s = slot(a);
            let index = n[on(Bank::Int, i)];
            by_bank!(s.bank, |arrays, items, ITEM| {
                let mut array = read(&mut arrays[on(s.bank, s.reg)], s.last);
                let value = items[on(ITEM, x)].clone();
                let len = array.len();
                let k = usize::try_from(index).ok().filter(|&k| match how {
                    Write::Set => k < len,
                    Write::Put | Write::Add => k < limits.array,
                });
                let k = k.ok_or_else(|| place.index(index, len))?;
                let elements = Arc::make_mut(&mut array);
                if k >= len {
                    elements.resize_with(k + 1, num_traits::Zero::zero);
                }
                if how == Write::Add {
                    elements[k] += value;
                } else {
                    elements[k] = value;
                }
                arrays[on(s.bank, d)] = array;
            });
        }
        Code::Accumulate { d, a } => {
            let (s, t) = (slot(a), slot(a + 1));
            by_bank!(s.bank, |arrays, _items, ITEM| {
                let _ = ITEM;
                let x = read(&mut arrays[on(s.bank, s.reg)], s.last);
                let y = read(&mut arrays[on(t.bank, t.reg)], t.last);
                let (mut long, short) = if x.len() >= y.len() { (x, y) } else { (y, x) };
                if !short.is_empty() {
                    let elements = Arc::make_mut(&mut long);
                    elements.iter_mut().zip(short.iter()).for_each(|(a, b)| *a += b.clone());
                }
                arrays[on(s.bank, d)] = long;
            });
        }
        Code::PushA { tape, a } => {
            let s = slot(a);
            let tape = &mut tapes[tape as usize].arrays;
            match s.bank {
                Bank::Complexes => {
                    tape.complexes.push(read(&mut arrays.complexes[on(s.bank, s.reg)], s.last))
                }
                Bank::Ints => tape.ints.push(read(&mut arrays.ints[on(s.bank, s.reg)], s.last)),
                _ => tape.reals.push(read(&mut arrays.reals[on(s.bank, s.reg)], s.last)),
            }
        }
        Code::PopA { tape, d } => {
            let s = slot(d);
            let tape = &mut tapes[tape as usize].arrays;
            let empty = || place.empty();
            match s.bank {
                Bank::Complexes => {
                    arrays.complexes[on(s.bank, s.reg)] = tape.complexes.pop().ok_or_else(empty)?;
                }
                Bank::Ints => arrays.ints[on(s.bank, s.reg)] = tape.ints.pop().ok_or_else(empty)?,
                _ => arrays.reals[on(s.bank, s.reg)] = tape.reals.pop().ok_or_else(empty)?,
            }
        }
        Code::Primitive { primitive, args, results } => {
            let Some(primitive) = code.primitives.get(primitive.index()) else {
                return Err(CallError::Undefined { name: primitive.to_string() }.into());
            };
            let mut from = slots[args.range()].iter().copied();
            let values: Vec<Datum<S>> =
                primitive.params.iter().map(|kind| banks.assemble(kind, &mut from, base)).collect();
            let fail = |source| RunError::Host { at: place.at(), source };
            let value = host.call(primitive, &values).map_err(fail)?;
            if !value.is(&primitive.result) {
                let (name, given) = (primitive.name.clone(), value.describe());
                let expected = primitive.result.to_string();
                return Err(fail(HostError::Kind { name, given, expected }));
            }
            let mut to = slots[results.range()].iter().copied();
            store_leaves(banks, &mut to, base, &value);
        }
        // Everything else is run by the loop.
        _ => {}
    }
    Ok(())
}
