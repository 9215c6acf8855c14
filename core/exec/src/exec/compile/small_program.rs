//! Code of a small-array region.

use std::{collections::HashMap, sync::Arc};

use crate::{
    array::{Repeated, Shape, Strided},
    entity::{Block, Inst, Value},
    ir::{ArrayOp, Element, InstData, Kind, Op, Position},
};

use super::{
    super::{
        code::{Code, WriteMode},
        small_program::{
            SmallBase, SmallIndex, SmallOffset, SmallOp, SmallProgram, SmallResult, SmallSlice,
            SmallStep,
        },
    },
    compiler::Compiler,
    small_regions::KnownSizes,
};

impl Compiler<'_> {
    /// Emits the small-array region that is due before an instruction.
    pub(super) fn small_before(&mut self, i: Inst) {
        if let Some(region) = self.small_regions.before(i).map(<[Inst]>::to_vec) {
            self.small_program(&region);
        }
    }

    /// Emits the small-array region that is due at the end of a block.
    pub(super) fn small_at_end(&mut self, b: Block) {
        if let Some(region) = self.small_regions.at_end(b).map(<[Inst]>::to_vec) {
            self.small_program(&region);
        }
    }

    fn small_program(&mut self, region: &[Inst]) {
        let f = self.f;
        let mut writer = SmallBuilder::new(KnownSizes { f, known: self.known });
        let mut left: HashMap<Value, u32> = HashMap::new();
        for &i in region {
            let inst = &f.insts[i];
            for v in &inst.args {
                if let Some(uses) = left.get_mut(v) {
                    *uses -= 1;
                }
            }
            left.extend(inst.result.map(|v| (v, self.uses[v.index()])));
            writer.at = inst.at;
            writer.instruction(inst);
        }
        // Values that are read outside of the region.
        let mut results = Vec::new();
        for v in region.iter().filter_map(|&i| f.insts[i].result) {
            let Some(&place) =
                writer.places.get(&v).filter(|_| left.get(&v).is_some_and(|n| *n > 0))
            else {
                continue;
            };
            results.push(v);
            writer.code.results.push(match writer.sizes.shape(v) {
                Some(shape) => SmallResult::Array(place, shape),
                None => SmallResult::Number(place),
            });
        }
        let SmallBuilder { args, code, .. } = writer;
        let (args, results) = (self.leaves(&args), self.leaves(&results));
        let (args, results) = (self.slots(&args), self.slots(&results));
        self.at = region.first().map_or(self.at, |&i| f.insts[i].at);
        self.routine.small_programs.push(Arc::new(code));
        self.emit(Code::Small(self.routine.small_programs.len() as u32 - 1, args, results));
    }
}

struct SmallBuilder<'a> {
    sizes: KnownSizes<'a>,
    code: SmallProgram,
    args: Vec<Value>,
    /// Location of each value.
    places: HashMap<Value, SmallSlice>,
    at: Position,
}

impl<'a> SmallBuilder<'a> {
    fn new(sizes: KnownSizes<'a>) -> SmallBuilder<'a> {
        let code =
            SmallProgram { steps: vec![], size: 0, offsets: 0, arrays: vec![], results: vec![] };
        SmallBuilder { sizes, code, args: vec![], places: HashMap::new(), at: Position::default() }
    }

    /// Returns the number of an operand.
    fn operand(&mut self, v: Value) -> usize {
        self.args.iter().position(|w| *w == v).unwrap_or_else(|| {
            self.args.push(v);
            self.args.len() - 1
        })
    }

    /// Returns the location of a value.
    fn slice_of(&mut self, v: Value) -> SmallSlice {
        if let Some(&place) = self.places.get(&v) {
            return place;
        }
        let k = self.operand(v);
        let place = match self.sizes.shape(v) {
            Some(shape) => {
                let len = shape.iter().product();
                self.code.arrays.push((k, len));
                SmallSlice { base: SmallBase::Operand(k), at: 0, offset: None, len }
            }
            None => self.step(SmallOp::LoadNumber(k), 1),
        };
        self.places.insert(v, place);
        place
    }

    /// Adds a step.
    fn step(&mut self, what: SmallOp, len: usize) -> SmallSlice {
        let to = self.code.size;
        self.code.size += len;
        self.code.steps.push(SmallStep { op: what, to, len, at: self.at });
        SmallSlice { base: SmallBase::Memory, at: to, offset: None, len }
    }

    /// Changes the result of a step.
    fn change(&mut self, place: SmallSlice, what: SmallOp) {
        self.code.steps.push(SmallStep { op: what, to: place.at, len: place.len, at: self.at });
    }

    /// Returns a slice that begins at an int, times `inner`.
    fn offset(
        &mut self,
        place: SmallSlice,
        start: Value,
        inner: usize,
        most: usize,
        of: SmallIndex,
    ) -> SmallSlice {
        if let Some(start) = self.sizes.int(start).and_then(|n| usize::try_from(n).ok()) {
            return SmallSlice { at: place.at + start * inner, ..place };
        }
        // A place has one offset.
        let place = if place.offset.is_some() { self.copy(place) } else { place };
        let number = self.code.offsets;
        self.code.offsets += 1;
        let operand = self.operand(start);
        self.code.steps.push(SmallStep {
            op: SmallOp::Offset(SmallOffset { number, operand, inner, most, index: of }),
            to: self.code.size,
            len: 0,
            at: self.at,
        });
        SmallSlice { offset: Some(number), ..place }
    }

    fn copy(&mut self, place: SmallSlice) -> SmallSlice {
        self.step(SmallOp::Concat(vec![place]), place.len)
    }

    /// Broadcasts a value to a shape of `len` elements.
    fn repeated(&mut self, v: Value, to: &Shape) -> SmallSlice {
        let (place, len) = (self.slice_of(v), to.iter().product());
        match self.sizes.shape(v) {
            Some(from) if place.len != len && place.len != 1 => {
                self.gather(place, Strided::broadcast(&from, to), len)
            }
            _ => place,
        }
    }

    fn gather(
        &mut self,
        from: SmallSlice,
        places: impl Iterator<Item = usize>,
        len: usize,
    ) -> SmallSlice {
        let places: Arc<[u32]> = places.map(|k| k as u32).collect();
        self.step(SmallOp::Gather(from, places), len)
    }

    fn instruction(&mut self, inst: &InstData) {
        let args = &inst.args;
        let place = match (inst.op, inst.result) {
            (Op::Push { tape, .. }, _) => {
                let from = self.slice_of(args[0]);
                self.code.steps.push(SmallStep {
                    op: SmallOp::Push(tape, from),
                    to: self.code.size,
                    len: 0,
                    at: self.at,
                });
                return;
            }
            (_, None) => return,
            (op, Some(v)) => self.value(op, args, v),
        };
        self.places.extend(inst.result.map(|v| (v, place)));
    }

    fn value(&mut self, op: Op, args: &[Value], v: Value) -> SmallSlice {
        let shape = self.sizes.shape(v);
        let len = shape.as_ref().map_or(1, |s| s.iter().product());
        match (op, &shape) {
            (Op::Pop { tape, .. }, _) => self.step(SmallOp::Pop(tape), len),
            (Op::Number1(_) | Op::Number2(_), None) => {
                let (a, b) = (self.slice_of(args[0]), self.slice_of(args[args.len() - 1]));
                self.step(SmallOp::Scalar(op, [a, b]), 1)
            }
            (Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_), Some(shape)) => {
                let (a, b) =
                    (self.repeated(args[0], shape), self.repeated(args[args.len() - 1], shape));
                self.step(SmallOp::Elementwise(op, [a, b]), len)
            }
            (Op::Array, _) => {
                let all = args.iter().map(|&v| self.slice_of(v)).collect();
                self.step(SmallOp::Concat(all), len)
            }
            (Op::Fill, _) => {
                let from = self.slice_of(args[0]);
                self.step(SmallOp::Fill(from), len)
            }
            (Op::Sum, _) => {
                let from = self.slice_of(args[0]);
                self.step(SmallOp::Sum(from), 1)
            }
            (Op::Accumulate, _) => self.accumulate(args, len),
            (Op::Get, _) => {
                let from = self.slice_of(args[0]);
                let place =
                    self.offset(from, args[1], 1, from.len - 1, SmallIndex::Element(from.len));
                SmallSlice { len: 1, ..place }
            }
            (Op::Peek, _) => {
                let from = self.slice_of(args[0]);
                if self.sizes.int(args[1]).is_some() {
                    return SmallSlice {
                        len: 1,
                        ..self.offset(from, args[1], 1, 0, SmallIndex::Element(from.len))
                    };
                }
                let index = self.operand(args[1]);
                self.step(SmallOp::Peek(from, index), 1)
            }
            (Op::Set | Op::Put | Op::AddAt, _) => {
                let (from, x) = (self.slice_of(args[0]), self.slice_of(args[2]));
                let index = self.operand(args[1]);
                let place = self.copy(from);
                let how = if op == Op::AddAt { WriteMode::Add } else { WriteMode::Set };
                self.change(place, SmallOp::Set(how, index, x));
                place
            }
            (Op::OnArrays(op), _) => self.on_arrays(op, args, shape.unwrap_or_default(), len),
            _ => self.step(SmallOp::Zeros, len),
        }
    }

    fn accumulate(&mut self, args: &[Value], len: usize) -> SmallSlice {
        let (a, b) = (self.slice_of(args[0]), self.slice_of(args[1]));
        let add = Op::Number2(crate::ir::Number2::Add);
        self.step(SmallOp::Elementwise(add, [a, b]), len)
    }

    fn on_arrays(&mut self, op: ArrayOp, args: &[Value], shape: Shape, len: usize) -> SmallSlice {
        use ArrayOp as A;
        let number = self.sizes.f.kinds[args[0]] != Kind::Array(Element::Real);
        let x = self.slice_of(args[0]);
        let from = self.sizes.shape(args[0]).unwrap_or_default();
        match op {
            A::ReshapeLike | A::Reshape | A::InsertAxis | A::DropAxis => x,
            A::SumLike | A::SumKeep if x.len == len => x,
            A::BroadcastTo if number || x.len == 1 => self.step(SmallOp::Fill(x), len),
            A::BroadcastTo if x.len == len => x,
            A::BroadcastTo => self.gather(x, Strided::broadcast(&from, &shape), len),
            A::SumLike | A::SumKeep => {
                self.step(SmallOp::Sums(x, Repeated::new(&shape, &from)), len)
            }
            A::Dot => {
                let y = self.slice_of(args[1]);
                self.step(SmallOp::Dot(x, y), 1)
            }
            A::Slice => {
                let Some((outer, along, inner)) = self.sizes.split(&from, args[1]) else {
                    return x;
                };
                let (axis, count) =
                    (self.sizes.int(args[1]).unwrap_or(0), self.sizes.int(args[3]).unwrap_or(0));
                let body = usize::try_from(count).unwrap_or(0);
                let of = SmallIndex::Slice(from.clone(), axis, count);
                let start = self.offset(x, args[2], inner, along.saturating_sub(body), of);
                if outer == 1 {
                    return SmallSlice { len, ..start };
                }
                // Of the elements from there to the end of its last line, these are read.
                let lines =
                    (0..outer).flat_map(|k| (0..body * inner).map(move |j| k * along * inner + j));
                let last = (outer - 1) * along * inner + body * inner;
                self.gather(SmallSlice { len: last, ..start }, lines, len)
            }
            A::Pad => {
                let place = self.step(SmallOp::Zeros, len);
                self.write_part("pad", [args[0], args[2], args[3]], place, &shape)
            }
            A::DynamicUpdateSlice => {
                let whole = self.slice_of(args[1]);
                let place = self.copy(whole);
                self.write_part("dynamic_update_slice", [args[0], args[2], args[3]], place, &shape)
            }
            A::Transpose => {
                let rank = from.len();
                let mut strides: Shape = row_major(&from);
                strides.swap(rank - 2, rank - 1);
                self.gather(x, Strided::new(&shape, &strides), len)
            }
            A::Permute | A::Unpermute => {
                let axes: Vec<usize> = self
                    .sizes
                    .ints(args[1])
                    .unwrap_or_default()
                    .iter()
                    .map(|&k| k as usize)
                    .collect();
                let strides = row_major(&from);
                let mut moved = Shape::from_elem(0, from.len());
                for (k, &axis) in axes.iter().enumerate() {
                    let (to, of) = if op == A::Permute { (k, axis) } else { (axis, k) };
                    moved[to] = strides[of];
                }
                self.gather(x, Strided::new(&shape, &moved), len)
            }
            A::Concat => {
                let y = self.slice_of(args[1]);
                let other = self.sizes.shape(args[1]).unwrap_or_default();
                let (Some((outer, a, inner)), Some((_, b, _))) =
                    (self.sizes.split(&from, args[2]), self.sizes.split(&other, args[2]))
                else {
                    return x;
                };
                let line = |of: SmallSlice, k: usize, n: usize| SmallSlice {
                    at: of.at + k * n * inner,
                    len: n * inner,
                    ..of
                };
                let all = (0..outer).flat_map(|k| [line(x, k, a), line(y, k, b)]).collect();
                self.step(SmallOp::Concat(all), len)
            }
            _ => {
                let y = self.slice_of(args[1]);
                let other = self.sizes.shape(args[1]).unwrap_or_default();
                self.step(SmallOp::MatMul(op, [(x, from), (y, other)]), len)
            }
        }
    }

    /// Writes a part along an axis into a slice that was made for it.
    fn write_part(
        &mut self,
        name: &'static str,
        [part, axis, start]: [Value; 3],
        place: SmallSlice,
        whole: &Shape,
    ) -> SmallSlice {
        let from = self.sizes.shape(part).unwrap_or_default();
        let (part, Some((_, along, inner))) = (self.slice_of(part), self.sizes.split(whole, axis))
        else {
            return place;
        };
        let k = self.sizes.int(axis).unwrap_or(0);
        let body = from.get(k as usize).copied().unwrap_or(0);
        let of = SmallIndex::Within(name, from, whole.clone(), k);
        let nowhere = SmallSlice { at: 0, ..place };
        let at = self.offset(nowhere, start, inner, along.saturating_sub(body), of);
        let (lead, offset, body) = (at.at, at.offset, body * inner);
        self.change(
            place,
            SmallOp::WritePart { part, lead, offset, run: along * inner, body, add: false },
        );
        place
    }
}

fn row_major(shape: &[usize]) -> Shape {
    let mut strides = Shape::from_elem(1, shape.len());
    for k in (1..shape.len()).rev() {
        strides[k - 1] = strides[k] * shape[k];
    }
    strides
}
