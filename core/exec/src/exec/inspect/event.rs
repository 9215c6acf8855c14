//! What an interceptor is shown.

use crate::{
    entity::{FuncId, Value},
    ir::{CustomRule, Function, InstData, Kind, Op, Position, Target, Terminator},
    scalar::Scalar,
};

use super::{
    super::{
        Datum,
        bytecode::{DebugInfo, Routine},
        code::RegisterSlot,
        machine::{Banks, FrameBase},
    },
    moment::Moment,
};

/// A moment of a run with all that can be known about it.
#[derive(Debug)]
pub struct Event<'a, S: Scalar> {
    moment: Moment,
    mark: u32,
    source: &'a DebugInfo,
    banks: &'a Banks<S>,
    base: FrameBase,
    depth: usize,
}

impl<'a, S: Scalar> Event<'a, S> {
    pub(in crate::exec) fn new(
        routine: &'a Routine,
        mark: u32,
        banks: &'a Banks<S>,
        base: FrameBase,
        depth: usize,
    ) -> Option<Self> {
        let source = routine.source.as_deref()?;
        Some(Event { moment: *source.marks.get(mark as usize)?, mark, source, banks, base, depth })
    }

    /// Returns the moment.
    #[must_use]
    pub fn moment(&self) -> Moment {
        self.moment
    }
    /// Returns the function that runs.
    #[must_use]
    pub fn function(&self) -> &'a Function {
        &self.source.function
    }
    /// Returns the rule that gives its derivatives instead of its body.
    #[must_use]
    pub fn rule(&self) -> Option<&'a CustomRule> {
        self.source.rule.as_ref()
    }
    /// Returns the id of the function.
    #[must_use]
    pub fn id(&self) -> FuncId {
        self.source.id
    }
    /// Returns the call depth.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.depth
    }
    /// Returns the instruction, if the moment is about one.
    #[must_use]
    pub fn inst(&self) -> Option<&'a InstData> {
        match self.moment {
            Moment::Before(i) | Moment::After(i) => Some(&self.source.function.insts[i]),
            Moment::Edge(..) | Moment::Return(_) => None,
        }
    }
    /// Returns the position in the source.
    #[must_use]
    pub fn position(&self) -> Position {
        match self.moment {
            Moment::Before(i) | Moment::After(i) => self.source.function.insts[i].at,
            Moment::Edge(b, _) | Moment::Return(b) => self.source.function.blocks[b].end_at,
        }
    }
    /// Returns the target of an edge.
    #[must_use]
    pub fn target(&self) -> Option<&'a Target> {
        match self.moment {
            Moment::Edge(b, k) => self.source.function.blocks[b].end.targets().get(k).copied(),
            _ => None,
        }
    }
    /// Returns the value that the function returns.
    #[must_use]
    pub fn returned(&self) -> Option<Value> {
        match self.moment {
            Moment::Return(b) => match self.source.function.blocks[b].end {
                Terminator::Return(v) => Some(v),
                _ => None,
            },
            _ => None,
        }
    }
    /// Returns the current content of a value of the function. A value that has not been defined in
    /// this call may have any content.
    #[must_use]
    pub fn value(&self, v: Value) -> Datum<S> {
        let mut slots = self.source.registers[v.index()].iter().copied();
        self.banks.assemble(&self.source.function.kinds[v], &mut slots, self.base)
    }
    /// Returns true if the instruction or edge moves the array out of this value, which is not read
    /// again.
    pub(super) fn takes_array_of(&self, v: Value) -> bool {
        let before = u32::from(matches!(self.moment, Moment::After(_)));
        let given = self
            .source
            .moved_arrays
            .get(self.mark.wrapping_sub(before) as usize)
            .into_iter()
            .flatten();
        let registers = &self.source.registers[v.index()];
        given
            .into_iter()
            .any(|g| matches!(registers[..], [slot] if (slot.bank, slot.reg) == (g.bank, g.reg)))
    }
    /// Returns the current content of the parameter of this name, or of the value written `v3` in
    /// the printed function.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Datum<S>> {
        let f = self.function();
        let param = f.params.iter().position(|p| p.name == name);
        let value = match param {
            Some(k) => f.param_values().get(k).copied(),
            None => {
                let number = name
                    .strip_prefix('v')
                    .and_then(|n| n.parse().ok())
                    .filter(|&n| n < f.kinds.len());
                number.map(Value::new)
            }
        };
        value.map(|v| self.value(v))
    }
    /// Returns the operands' values.
    #[must_use]
    pub fn operands(&self) -> Vec<Datum<S>> {
        self.inst().map(|i| i.args.iter().map(|&v| self.value(v)).collect()).unwrap_or_default()
    }
    /// Returns the result; only after the instruction.
    #[must_use]
    pub fn result(&self) -> Option<Datum<S>> {
        match self.moment {
            Moment::After(i) => self.source.function.insts[i].result.map(|v| self.value(v)),
            _ => None,
        }
    }
    /// Returns the registers of the result of the instruction, and its kind.
    pub(in crate::exec) fn defined(&self) -> Option<(&'a [RegisterSlot], &'a Kind)> {
        let v = self.inst()?.result?;
        Some((&self.source.registers[v.index()], &self.source.function.kinds[v]))
    }
    /// Returns the line of the printed function: `v3: real = mul v1, v2`.
    #[must_use]
    pub fn text(&self) -> String {
        let Some(inst) = self.inst() else { return String::new() };
        let args: Vec<String> = inst.args.iter().map(ToString::to_string).collect();
        let op = match inst.op {
            Op::Call(f) => format!("call {f}"),
            op => op.to_string(),
        };
        let call = format!("{op} {}", args.join(", "));
        match inst.result {
            Some(v) => format!("{v}: {} = {}", self.source.function.kinds[v], call.trim_end()),
            None => call,
        }
    }
}
