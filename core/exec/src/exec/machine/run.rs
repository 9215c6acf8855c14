//! The loop that runs instructions.
//!
//! One generic loop over the scalar. Steps are counted at backward jumps and calls, by the length
//! of the code that is jumped over or entered; straight-line code counts nothing. Work on arrays is
//! counted separately. Every 2^20 steps the memory of the recorded
//! numbers is counted too. Marks are the only instructions that an interceptor sees, and only code
//! compiled for one has them, so running without one costs nothing.

use crate::{
    ir::Compare,
    scalar::{Real, Scalar},
};

#[cfg(feature = "jit")]
use super::enter_jit::{JitFrame, enter_jit};
use super::{
    super::{
        Limits,
        bytecode::Bytecode,
        call_frame::CallFrame,
        code::{BANKS, Bank, ChecksumUpdate, Code, SlotRange},
        error::RunError,
        host::Host,
        inspect::{Event, Interceptor, Interrupt},
    },
    arrays::{HostBudget, structural},
    banks::{FrameBase, TapeStorage},
    code_location::CodeLocation,
    memory_budget::CHECK_INTERVAL,
    replace::Replacement,
    state::Machine,
};

/// Runs the first routine; its arguments are in its registers. Gives the slots of its result.
pub(super) fn run_routine<T: Real, S: Scalar<Real = T>, I: Interceptor<S>>(
    code: &Bytecode,
    machine: &mut Machine<S>,
    host: &dyn Host<S>,
    limits: &Limits,
    interceptor: &mut I,
) -> Result<SlotRange, RunError> {
    let Machine {
        banks,
        tapes,
        frames,
        cancellation,
        steps,
        #[cfg(feature = "jit")]
        cells,
        ..
    } = machine;
    let mut current = 0;
    let mut base: FrameBase = [0; BANKS];
    let mut pc = 0;
    // Steps until the memory is counted, and after that.
    let mut fuel = CHECK_INTERVAL.min(limits.steps);
    let mut later = limits.steps - fuel;
    'frame: loop {
        let routine = &code.routines[current];
        let program = &routine.code[..];
        let bank =
            |b: Bank| base[b as usize]..base[b as usize] + routine.sizes[b as usize] as usize;
        let r = &mut banks.reals[bank(Bank::Real)];
        let c = &mut banks.complexes[bank(Bank::Complex)];
        let n = &mut banks.ints[bank(Bank::Int)];
        macro_rules! place {
            () => {
                CodeLocation { routine, pc: pc - 1 }
            };
        }
        macro_rules! spend {
            ($cost:expr) => {
                let cost = $cost as u64;
                match fuel.checked_sub(cost) {
                    Some(rest) => fuel = rest,
                    None => {
                        let rest = (fuel + later).checked_sub(cost);
                        let rest = rest.ok_or_else(|| place!().steps(limits.steps))?;
                        cancellation.check().map_err(|e| place!().cancelled(e))?;
                        place!().count_memory(base, tapes, &mut banks.arrays.budget)?;
                        (fuel, later) =
                            (rest.min(CHECK_INTERVAL), rest.saturating_sub(CHECK_INTERVAL));
                    }
                }
            };
        }
        // A backward jump costs the instructions that it jumps over.
        macro_rules! go {
            ($to:expr) => {{
                let to = $to as usize;
                if to < pc {
                    spend!(pc - to);
                }
                pc = to;
            }};
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
        macro_rules! order {
            ($op:expr, $a:expr, $b:expr) => {
                get!(r[$a]).try_cmp(get!(r[$b])).map_err(|e| place!().undecided($op.name(), e))?
            };
        }
        macro_rules! add {
            ($a:expr, $b:expr) => {{
                let (x, y) = (*get!(n[$a]), *get!(n[$b]));
                match x.checked_add(y) {
                    Some(sum) => sum,
                    None => return Err(place!().integer("iadd", &[x, y])),
                }
            }};
        }
        macro_rules! subtract {
            ($x:expr, $y:expr) => {{
                let (x, y) = ($x, $y);
                match x.checked_sub(y) {
                    Some(difference) => difference,
                    None => return Err(place!().integer("isub", &[x, y])),
                }
            }};
        }
        macro_rules! pop {
            ($tape:expr, $bank:ident) => {
                match tapes[$tape as usize].$bank.pop() {
                    Some(x) => x,
                    None => return Err(place!().empty()),
                }
            };
        }
        macro_rules! switch {
            ($index:expr, $first:expr, $len:expr) => {{
                let index = $index;
                if index < 0 || index >= i64::from($len) {
                    return Err(place!().switch(index));
                }
                go!(routine.tables[$first as usize + index as usize]);
            }};
        }
        loop {
            // By reference: a copy of the whole instruction would go through memory.
            let instruction = &program[pc];
            pc += 1;
            match *instruction {
                Code::Real(d, x) => set!(r[d] = T::literal(x)),
                Code::RealInt(d, k) => set!(r[d] = T::int(k)),
                Code::Int(d, k) => set!(n[d] = k),

                Code::AddR(d, a, b) => set!(r[d] = get!(r[a]) + get!(r[b])),
                Code::SubR(d, a, b) => set!(r[d] = get!(r[a]) - get!(r[b])),
                Code::MulR(d, a, b) => set!(r[d] = get!(r[a]) * get!(r[b])),
                Code::DivR(d, a, b) => set!(r[d] = get!(r[a]) / get!(r[b])),
                Code::NegR(d, a) => set!(r[d] = -get!(r[a])),
                Code::AddAdd(d, a, b, c) => set!(r[d] = (get!(r[a]) + get!(r[b])) + get!(r[c])),
                Code::AddSub(d, a, b, c) => set!(r[d] = (get!(r[a]) + get!(r[b])) - get!(r[c])),
                Code::AddMul(d, a, b, c) => set!(r[d] = (get!(r[a]) + get!(r[b])) * get!(r[c])),
                Code::SubAdd(d, a, b, c) => set!(r[d] = (get!(r[a]) - get!(r[b])) + get!(r[c])),
                Code::SubSub(d, a, b, c) => set!(r[d] = (get!(r[a]) - get!(r[b])) - get!(r[c])),
                Code::SubMul(d, a, b, c) => set!(r[d] = (get!(r[a]) - get!(r[b])) * get!(r[c])),
                Code::MulAdd(d, a, b, c) => set!(r[d] = (get!(r[a]) * get!(r[b])) + get!(r[c])),
                Code::MulSub(d, a, b, c) => set!(r[d] = (get!(r[a]) * get!(r[b])) - get!(r[c])),
                Code::MulMul(d, a, b, c) => set!(r[d] = (get!(r[a]) * get!(r[b])) * get!(r[c])),
                Code::AddAddBack(d, a, b, c) => set!(r[d] = get!(r[c]) + (get!(r[a]) + get!(r[b]))),
                Code::AddSubBack(d, a, b, c) => set!(r[d] = get!(r[c]) - (get!(r[a]) + get!(r[b]))),
                Code::AddMulBack(d, a, b, c) => set!(r[d] = get!(r[c]) * (get!(r[a]) + get!(r[b]))),
                Code::SubAddBack(d, a, b, c) => set!(r[d] = get!(r[c]) + (get!(r[a]) - get!(r[b]))),
                Code::SubSubBack(d, a, b, c) => set!(r[d] = get!(r[c]) - (get!(r[a]) - get!(r[b]))),
                Code::SubMulBack(d, a, b, c) => set!(r[d] = get!(r[c]) * (get!(r[a]) - get!(r[b]))),
                Code::MulAddBack(d, a, b, c) => set!(r[d] = get!(r[c]) + (get!(r[a]) * get!(r[b]))),
                Code::MulSubBack(d, a, b, c) => set!(r[d] = get!(r[c]) - (get!(r[a]) * get!(r[b]))),
                Code::MulMulBack(d, a, b, c) => set!(r[d] = get!(r[c]) * (get!(r[a]) * get!(r[b]))),

                Code::AddC(d, a, b) => set!(c[d] = get!(c[a]) + get!(c[b])),
                Code::SubC(d, a, b) => set!(c[d] = get!(c[a]) - get!(c[b])),
                Code::MulC(d, a, b) => set!(c[d] = get!(c[a]) * get!(c[b])),

                Code::Number1R(op, d, a) => set!(r[d] = op.value(get!(r[a]))),
                Code::Number1C(op, d, a) => set!(c[d] = op.value(get!(c[a]))),
                Code::Number2R(op, d, a, b) => set!(r[d] = op.value(get!(r[a]), get!(r[b]))),
                Code::Number2C(op, d, a, b) => set!(c[d] = op.value(get!(c[a]), get!(c[b]))),
                Code::Real1(op, d, a) => {
                    set!(
                        r[d] = op.value(get!(r[a])).map_err(|e| place!().undecided(op.name(), e))?
                    );
                }
                Code::Real2(op, d, a, b) => {
                    let value = op.value(get!(r[a]), get!(r[b]));
                    set!(r[d] = value.map_err(|e| place!().undecided(op.name(), e))?);
                }
                Code::AddI(d, a, b) => set!(n[d] = add!(a, b)),
                Code::Int1(op, d, a) => {
                    let x = *get!(n[a]);
                    set!(n[d] = op.value(x).ok_or_else(|| place!().integer(op.name(), &[x]))?);
                }
                Code::Int2(op, d, a, b) => {
                    let (x, y) = (*get!(n[a]), *get!(n[b]));
                    set!(
                        n[d] = op.value(x, y).ok_or_else(|| place!().integer(op.name(), &[x, y]))?
                    );
                }
                Code::CompareR(op, d, a, b) => set!(n[d] = i64::from(op.holds(order!(op, a, b)))),
                Code::Expect(expected, a, b) => {
                    let (x, y) = (get!(r[a]), get!(r[b]));
                    let order = x.try_cmp(y).map_err(|e| place!().undecided("expect", e))?;
                    if order != expected {
                        return Err(place!().path(expected, x, y));
                    }
                }
                Code::CompareI(op, d, a, b) => {
                    set!(n[d] = i64::from(op.holds(Some(get!(n[a]).cmp(get!(n[b]))))));
                }
                Code::Not(d, a) => set!(n[d] = 1 - *get!(n[a])),
                Code::And(d, a, b) => set!(n[d] = *get!(n[a]) & *get!(n[b])),
                Code::Or(d, a, b) => set!(n[d] = *get!(n[a]) | *get!(n[b])),
                Code::Promote(d, a) => set!(c[d] = S::from_real(get!(r[a]).clone())),
                Code::Complex(d, a, b) => {
                    match S::from_parts(get!(r[a]).clone(), get!(r[b]).clone()) {
                        Some(z) => set!(c[d] = z),
                        None => return Err(place!().needs_complex()),
                    }
                }
                Code::Re(d, a) => set!(r[d] = get!(c[a]).re()),
                Code::Im(d, a) => set!(r[d] = get!(c[a]).im()),
                Code::Abs2(d, a) => set!(r[d] = get!(c[a]).abs2()),
                Code::Modulus(d, a) => set!(r[d] = get!(c[a]).re().hypot(&get!(c[a]).im())),
                Code::Arg(d, a) => set!(r[d] = get!(c[a]).im().atan2(&get!(c[a]).re())),
                Code::Conj(d, a) => set!(c[d] = get!(c[a]).conj()),
                Code::Cmp(d, a, b) => set!(r[d] = T::int(get!(n[a]).cmp(get!(n[b])) as i64)),
                Code::FromInt(d, a) => set!(r[d] = T::int(*get!(n[a]))),
                Code::PowiR(d, a, k) => set!(r[d] = get!(r[a]).powi(*get!(n[k]))),
                Code::Polygamma(d, a, k) => set!(r[d] = get!(r[a]).polygamma(*get!(n[k]))),
                Code::PowiC(d, a, k) => set!(c[d] = get!(c[a]).powi(*get!(n[k]))),

                Code::MoveR(d, a) => set!(r[d] = get!(r[a]).clone()),
                Code::MoveC(d, a) => set!(c[d] = get!(c[a]).clone()),
                Code::MoveI(d, a) => set!(n[d] = *get!(n[a])),

                Code::PushR(tape, a) => tapes[tape as usize].reals.push(get!(r[a]).clone()),
                Code::PushC(tape, a) => tapes[tape as usize].complexes.push(get!(c[a]).clone()),
                Code::PushI(tape, a) => tapes[tape as usize].ints.push(*get!(n[a])),
                Code::PopR(tape, d) => set!(r[d] = pop!(tape, reals)),
                Code::PopC(tape, d) => set!(c[d] = pop!(tape, complexes)),
                Code::PopI(tape, d) => set!(n[d] = pop!(tape, ints)),

                Code::UpdateChecksums(first, entries) => {
                    for track in &routine.checksum_updates[ChecksumUpdate::range(first, entries)] {
                        let sum = &mut tapes[track.tape as usize].checksums[track.bank as usize];
                        *sum = sum.wrapping_mul(track.factor).wrapping_add(track.summand);
                    }
                }

                Code::Jump(to) => go!(to),
                Code::Branch(condition, yes, no) => {
                    go!(if *get!(n[condition]) != 0 { yes } else { no })
                }
                Code::LtR(op, a, b, yes, no) => {
                    go!(if Compare::Lt.holds(order!(op, a, b)) { yes } else { no });
                }
                Code::LeR(op, a, b, yes, no) => {
                    go!(if Compare::Le.holds(order!(op, a, b)) { yes } else { no });
                }
                Code::EqR(op, a, b, yes, no) => {
                    go!(if Compare::Eq.holds(order!(op, a, b)) { yes } else { no });
                }
                Code::TestR(op, d, a, b, yes, no) => {
                    let holds = op.holds(order!(op, a, b));
                    set!(n[d] = i64::from(holds));
                    go!(if holds { yes } else { no });
                }
                Code::TestPush(op, tape, d, a, b, yes, no) => {
                    let holds = op.holds(order!(op, a, b));
                    set!(n[d] = i64::from(holds));
                    tapes[tape as usize].ints.push(i64::from(holds));
                    go!(if holds { yes } else { no });
                }
                Code::PopBranch(tape, yes, no) => go!(if pop!(tape, ints) != 0 { yes } else { no }),
                Code::LtI(a, b, yes, no) => go!(if *get!(n[a]) < *get!(n[b]) { yes } else { no }),
                Code::EqI(a, b, yes, no) => go!(if *get!(n[a]) == *get!(n[b]) { yes } else { no }),
                Code::StepLt(i, k, limit, yes, no) => {
                    let count = add!(i, k);
                    set!(n[i] = count);
                    go!(if count < *get!(n[limit]) { yes } else { no });
                }
                Code::StepGt(i, k, limit, yes, no) => {
                    let count = add!(i, k);
                    set!(n[i] = count);
                    go!(if *get!(n[limit]) < count { yes } else { no });
                }
                Code::StepEq(i, k, limit, yes, no) => {
                    let count = add!(i, k);
                    set!(n[i] = count);
                    go!(if count == *get!(n[limit]) { yes } else { no });
                }
                Code::BackEq(i, k, limit, yes, no) => {
                    let count = subtract!(*get!(n[i]), *get!(n[k]));
                    set!(n[i] = count);
                    go!(if count == *get!(n[limit]) { yes } else { no });
                }
                Code::EqBack(i, k, limit, yes, no) => {
                    let (x, y) = (*get!(n[i]), *get!(n[k]));
                    if x == *get!(n[limit]) {
                        go!(yes);
                    } else {
                        set!(n[i] = subtract!(x, y));
                        go!(no);
                        // An iteration of an adjoint starts with the branch that the primal took:
                        // no need to dispatch it.
                        if let Code::PopBranch(tape, yes, no) = program[pc] {
                            pc += 1;
                            go!(if pop!(tape, ints) != 0 { yes } else { no });
                        }
                    }
                }
                Code::Switch(i, first, len) => switch!(*get!(n[i]), first, len),
                Code::PopSwitch(tape, first, len) => switch!(pop!(tape, ints), first, len),

                Code::Call(function, args, _) => {
                    let callee = &code.routines[function as usize];
                    if frames.len() >= limits.depth {
                        return Err(place!().depth(limits.depth, callee));
                    }
                    spend!(callee.code.len());
                    let next = std::array::from_fn(|b| base[b] + routine.sizes[b] as usize);
                    banks.grow(next, callee);
                    banks.transfer(&routine.slots[args.range()], base, &callee.params, next);
                    frames.push(CallFrame::new(current, pc));
                    (current, base, pc) = (function as usize, next, 0);
                    continue 'frame;
                }
                Code::Return(values) => {
                    let Some(frame) = frames.pop() else {
                        *steps = limits.steps.saturating_sub(fuel + later);
                        return code.check_tapes(tapes).map(|()| values);
                    };
                    let caller = &code.routines[frame.routine()];
                    let below = std::array::from_fn(|b| base[b] - caller.sizes[b] as usize);
                    let to = caller.result_slots(frame.pc());
                    banks.transfer(&routine.slots[values.range()], base, to, below);
                    banks.clear(base, routine);
                    (current, base, pc) = (frame.routine(), below, frame.pc());
                    continue 'frame;
                }
                Code::Mark(k) => {
                    if let Some(event) = Event::new(routine, k, banks, base, frames.len()) {
                        let seen = interceptor.see(&event);
                        let replaced = seen.and_then(|()| interceptor.replace(&event));
                        let stopped = |stop: Interrupt| RunError::Intercepted {
                            at: place!().position(),
                            reason: stop.0,
                        };
                        if let Some(value) = replaced.map_err(stopped)? {
                            let place = Replacement::new(&event, &value).map_err(stopped)?;
                            place.store(banks, base, &value).map_err(|e| place!().full(e))?;
                            // Instructions that need not run are passed over, up to the mark after
                            // them.
                            let is_next =
                                |code: &Code| matches!(code, Code::Mark(m) if *m == k + 1);
                            let skipped =
                                program[pc..].iter().position(is_next).filter(|_| place.is_before);
                            pc += skipped.unwrap_or(0);
                        }
                    }
                    continue 'frame;
                }
                #[cfg(feature = "jit")]
                Code::Native(part, entry_point) => {
                    let part = code.native.as_deref().and_then(|native| native.part(current, part));
                    let from = JitFrame { routine, base, depth: limits.depth };
                    let memory = (&mut *banks, &mut tapes[..], &mut *frames);
                    let to = part.and_then(|part| {
                        enter_jit(part, entry_point, from, memory, cells, &mut fuel)
                    });
                    (pc, base) = to.unwrap_or((pc, base));
                    continue 'frame;
                }
                _ => {
                    // Arrays and primitives: rarer, and worth a call.
                    let place = CodeLocation { routine, pc: pc - 1 };
                    let mut below =
                        HostBudget { limits, steps: fuel + later, cancellation, used: 0 };
                    structural(code, banks, tapes, host, &mut below, &place, base, *instruction)?;
                    if below.used > 0 {
                        spend!(below.used);
                    }
                    cancellation.check().map_err(|e| place.cancelled(e))?;
                    if banks.arrays.budget.is_overworked() {
                        return Err(place.work(limits.work));
                    }
                    continue 'frame;
                }
            }
        }
    }
}

impl Bytecode {
    /// Checks that each pop took the value that the push of its slot left, on the tapes that are
    /// popped to the end.
    fn check_tapes<S: Scalar>(&self, tapes: &[TapeStorage<S>]) -> Result<(), RunError> {
        match self
            .checked_tapes
            .iter()
            .find(|(tape, bank)| tapes[*tape as usize].checksums[*bank as usize] != 0)
        {
            None => Ok(()),
            Some(&(tape, _)) => {
                let function = self.routines.first().map(|r| r.name.clone()).unwrap_or_default();
                Err(RunError::TapeOrder { function, tape })
            }
        }
    }
}
