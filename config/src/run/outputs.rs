//! The classical variables of shots as results: `outputs`.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, BTreeSet},
};

use ketgrad_core::{
    circuit::{Circuit, Instruction, Operation},
    classical::{ClassicalType, ClassicalValue, FloatType, MemoryLayout, VariableId, VariableType},
    simulate::{Bits, ShotMemory},
};
use serde::{
    Serialize, Serializer,
    ser::{SerializeMap, SerializeSeq},
};

use super::{answer::Stream, shot_outcomes::ShotOutcomes};

/// An output of a circuit.
#[derive(Clone, Debug)]
pub(super) struct OutputSpec {
    pub(super) name: String,
    ty: VariableType,
    place: OutputPlace,
    /// True if no outcome changes its value.
    is_certain: bool,
}

#[derive(Clone, Copy, Debug)]
enum OutputPlace {
    /// A register: its first bit. Its size is that of the type.
    Register(u32),
    Variable(VariableId),
}

/// Values of an output in all shots.
pub(super) struct OutputValues {
    pub(super) name: String,
    ty: VariableType,
    values: ShotValues,
}

enum ShotValues {
    /// The value of every shot.
    Same(OutputValue),
    /// The values of the shots in order.
    InOrder(ShotMemory<OutputValue>),
    /// The values with the numbers of their shots, ascending.
    Counted(Vec<(OutputValue, u64)>),
}

/// A value: the bits of a register, or the elements of a variable in the order of rows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum OutputValue {
    Register(String),
    Elements(Vec<Element>),
}

/// An element of a variable.
#[derive(Clone, Copy, Debug)]
struct Element(ClassicalValue);

impl Element {
    /// The numbers that order the values of a type: integers by size, floats with NaN last.
    fn key(self) -> (u128, u64) {
        // The bits of a float, so that greater ones are greater integers.
        let float = |x: f64| {
            let bits = x.to_bits();
            if bits >> 63 == 1 { !bits } else { bits | 1 << 63 }
        };
        match self.0 {
            ClassicalValue::Bool(value) => (value.into(), 0),
            ClassicalValue::Bits(word, _) | ClassicalValue::Uint(word) => (word, 0),
            ClassicalValue::Int(value) => (value.cast_unsigned() ^ 1 << 127, 0),
            ClassicalValue::Angle(x) | ClassicalValue::Float(x, _) => (float(x).into(), 0),
            ClassicalValue::Complex(z, _) => (float(z.re).into(), float(z.im)),
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Element) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Element) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Element) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl OutputSpec {
    /// Returns the outputs of a circuit of which it is known what cannot happen: registers and
    /// variables that show. There are none where all of these are registers, which counts show, but
    /// for those that are `declared` as outputs.
    pub(super) fn all(circuit: &Circuit, declared: &[String]) -> Vec<OutputSpec> {
        let shown = || circuit.variables().iter().zip(0..).filter(|(variable, _)| !variable.hidden);
        if declared.is_empty() && shown().next().is_none() {
            return Vec::new();
        }
        let random = RandomPlaces::new(circuit);
        let mut specs = Vec::new();
        let mut first = 0u32;
        for register in circuit.registers() {
            // Bits have 32-bit numbers.
            let size = u32::try_from(register.size).unwrap_or(u32::MAX);
            let bits = first..first.saturating_add(size);
            if !register.hidden {
                specs.push(OutputSpec {
                    name: register.name.clone(),
                    ty: ClassicalType::Bits(size).into(),
                    place: OutputPlace::Register(first),
                    is_certain: random.bits.range(bits.clone()).next().is_none(),
                });
            }
            first = bits.end;
        }
        specs.extend(shown().map(|(variable, k)| {
            let id = VariableId::new(k);
            OutputSpec {
                name: variable.name.clone(),
                ty: variable.ty.clone(),
                place: OutputPlace::Variable(id),
                is_certain: !random.variables.contains(&id),
            }
        }));
        specs
    }

    fn value(&self, bits: &Bits, layout: &MemoryLayout) -> OutputValue {
        match (self.place, self.ty.scalar) {
            (OutputPlace::Register(first), ClassicalType::Bits(size)) => {
                let digit = |k| if bits.get(first + k) { '1' } else { '0' };
                OutputValue::Register((0..size).rev().map(digit).collect())
            }
            (OutputPlace::Register(_), _) => OutputValue::Register(String::new()),
            (OutputPlace::Variable(id), scalar) => {
                let element = |k| Element(scalar.value_of(bits.variable(layout, id, k)));
                OutputValue::Elements((0..self.ty.n_elements()).map(element).collect())
            }
        }
    }

    /// Returns the values in the outcomes of shots, of which there is one.
    pub(super) fn values(
        &self,
        outcomes: &ShotOutcomes<Bits>,
        layout: &MemoryLayout,
    ) -> OutputValues {
        let value = |bits: &Bits| self.value(bits, layout);
        let values = match outcomes {
            ShotOutcomes::Memory(memory) => ShotValues::InOrder(memory.map(value)),
            ShotOutcomes::Counts(counts) => {
                let mut sums = BTreeMap::new();
                for (bits, count) in counts {
                    *sums.entry(value(bits)).or_insert(0) += count;
                }
                match sums.first_key_value() {
                    Some((value, _)) if self.is_certain => ShotValues::Same(value.clone()),
                    _ => ShotValues::Counted(sums.into_iter().collect()),
                }
            }
        };
        OutputValues { name: self.name.clone(), ty: self.ty.clone(), values }
    }
}

/// Bits and variables whose values depend on outcomes.
#[derive(Default)]
struct RandomPlaces {
    bits: BTreeSet<u32>,
    variables: BTreeSet<VariableId>,
}

impl RandomPlaces {
    /// Passes over a circuit until nothing is added.
    fn new(circuit: &Circuit) -> RandomPlaces {
        let mut random = RandomPlaces::default();
        while random.pass(circuit.instructions()) {}
        random
    }

    /// Adds what depends on what is known to be random; returns true if that is more.
    fn pass(&mut self, instructions: &[Instruction]) -> bool {
        let before = (self.bits.len(), self.variables.len());
        // The ends of the blocks around, and if their runs are random.
        let mut blocks: Vec<(usize, bool)> = Vec::new();
        let (mut last_is_random, mut exits) = (false, false);
        for (at, instruction) in instructions.iter().enumerate() {
            while let Some((_, is_random)) = blocks.pop_if(|(end, _)| *end <= at) {
                last_is_random = is_random;
            }
            let operation = &instruction.operation;
            let mut is_random = blocks.last().is_some_and(|(_, is_random)| *is_random)
                || matches!(operation, Operation::Measure { .. } | Operation::ReadoutError { .. })
                || matches!(operation, Operation::Else { .. }) && last_is_random;
            instruction.for_each_bit_read(&mut |bit| is_random |= self.bits.contains(&bit));
            instruction.for_each_variable_read(&mut |id| is_random |= self.variables.contains(&id));
            if let Some(body) = operation.body() {
                blocks.push((at + 1 + body as usize, is_random));
            }
            let leaves = matches!(
                operation,
                Operation::Break { .. } | Operation::Continue { .. } | Operation::End
            );
            exits |= leaves && is_random;
            if is_random {
                self.add_written(instruction);
            }
        }
        // An exit decides what runs before it in the next round, and after it.
        if exits {
            instructions.iter().for_each(|instruction| self.add_written(instruction));
        }
        before != (self.bits.len(), self.variables.len())
    }

    fn add_written(&mut self, instruction: &Instruction) {
        self.bits.extend(instruction.operation.written());
        self.variables.extend(instruction.operation.written_variable());
    }
}

impl OutputValues {
    /// Returns the values that are there.
    fn all(&self) -> impl Iterator<Item = &OutputValue> {
        let (same, in_order, counted) = match &self.values {
            ShotValues::Same(value) => (Some(value), &[][..], &[][..]),
            ShotValues::InOrder(memory) => (None, memory.outcomes(), &[][..]),
            ShotValues::Counted(counted) => (None, &[][..], counted.as_slice()),
        };
        same.into_iter().chain(in_order).chain(counted.iter().map(|(value, _)| value))
    }

    /// Returns the number of values with a part that is not finite.
    pub(super) fn n_nonfinite(&self) -> usize {
        let is_finite = |element: &Element| match element.0 {
            ClassicalValue::Float(x, _) => x.is_finite(),
            ClassicalValue::Complex(z, _) => z.is_finite(),
            _ => true,
        };
        let has_other = |value: &&OutputValue| match value {
            OutputValue::Register(_) => false,
            OutputValue::Elements(elements) => !elements.iter().all(is_finite),
        };
        self.all().filter(has_other).count()
    }

    /// A value of the type of the output, for JSON.
    fn json<'a>(&'a self, value: &'a OutputValue) -> JsonValue<'a> {
        match value {
            OutputValue::Register(bits) => JsonValue::Text(bits),
            OutputValue::Elements(elements) => JsonValue::Rows(&self.ty.shape, elements),
        }
    }
}

impl Serialize for OutputValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", &self.ty.to_string())?;
        match &self.values {
            ShotValues::Same(value) => map.serialize_entry("value", &self.json(value))?,
            ShotValues::InOrder(memory) => {
                map.serialize_entry("values", &Stream(memory.iter().map(|v| self.json(v))))?
            }
            ShotValues::Counted(counted) => {
                let pairs = counted.iter().map(|(value, count)| (self.json(value), count));
                map.serialize_entry("distribution", &Stream(pairs))?;
            }
        }
        map.end()
    }
}

/// A value as JSON.
enum JsonValue<'a> {
    Text(&'a str),
    /// Elements of these axes, in the order of rows.
    Rows(&'a [u32], &'a [Element]),
}

impl Serialize for JsonValue<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            JsonValue::Text(text) => serializer.serialize_str(text),
            JsonValue::Rows([], elements) => match elements.first() {
                Some(element) => element.serialize(serializer),
                None => serializer.serialize_unit(),
            },
            JsonValue::Rows([size, inner @ ..], elements) => {
                let stride = elements.len() / (*size as usize).max(1);
                let mut rows = serializer.serialize_seq(Some(*size as usize))?;
                for k in 0..*size as usize {
                    let row = elements.get(k * stride..(k + 1) * stride).unwrap_or_default();
                    rows.serialize_element(&JsonValue::Rows(inner, row))?;
                }
                rows.end()
            }
        }
    }
}

impl Serialize for Element {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ClassicalValue::Bool(value) => serializer.serialize_bool(value),
            ClassicalValue::Bits(..) => serializer.collect_str(&self.0),
            ClassicalValue::Int(value) => serializer.serialize_i128(value),
            ClassicalValue::Uint(value) => serializer.serialize_u128(value),
            ClassicalValue::Angle(x) | ClassicalValue::Float(x, FloatType::F64) => {
                serializer.serialize_f64(x)
            }
            // The shortest text that reads back the same of its own type.
            ClassicalValue::Float(x, FloatType::F32) => serializer.serialize_f32(x as f32),
            ClassicalValue::Complex(z, FloatType::F64) => [z.re, z.im].serialize(serializer),
            ClassicalValue::Complex(z, FloatType::F32) => {
                [z.re as f32, z.im as f32].serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ketgrad_core::{
        circuit::{CircuitError, Condition},
        classical::{ClassicalExpr, IntType},
        param::Values,
        simulate::{BoundCircuit, Simulator},
    };
    use num_complex::Complex;

    use super::*;

    const INT: ClassicalType = ClassicalType::Int(IntType::INT);

    /// A qubit in |+>, measured into a register of one bit.
    fn coin() -> Circuit {
        let mut c = Circuit::new(1);
        c.add_register("c", 1).unwrap();
        c.h(0).unwrap().measure(0, 0).unwrap();
        c
    }

    fn one() -> Condition {
        Condition::Bit { bit: 0, value: true }
    }

    /// The outputs of some shots as JSON.
    fn outputs(circuit: &Circuit, in_order: bool) -> String {
        let bound = BoundCircuit::<Complex<f64>>::new(circuit, &Values::<f64>(&[])).unwrap();
        let memory = Simulator::new().trajectory_memory(&bound, 6, 1).unwrap();
        let drawn = match in_order {
            true => ShotOutcomes::Memory(memory),
            false => {
                ShotOutcomes::Counts(memory.counts().map(|(bits, n)| (bits.clone(), n)).collect())
            }
        };
        let layout = MemoryLayout::new(circuit.variables());
        let specs = OutputSpec::all(circuit, &[]);
        let all = specs.iter().map(|spec| (spec.name.clone(), spec.values(&drawn, &layout)));
        let all: Vec<String> =
            all.map(|(name, v)| format!("{name} {}", serde_json::to_string(&v).unwrap())).collect();
        all.join("\n")
    }

    #[test]
    fn values_of_every_type_are_written() {
        let mut c = Circuit::new(1);
        let values: [(&str, ClassicalType, u128); 12] = [
            ("t", ClassicalType::Bool, 1),
            ("b", ClassicalType::Bits(4), 5),
            ("i", ClassicalType::Int(IntType::signed(128)), i128::MIN.cast_unsigned()),
            ("u", ClassicalType::Int(IntType::unsigned(128)), u128::MAX),
            ("j", ClassicalType::Int(IntType::signed(8)), 0xff),
            ("a", ClassicalType::Angle(2), 1),
            ("x", ClassicalType::FLOAT, 0.1f64.to_bits().into()),
            ("y", ClassicalType::Float(FloatType::F32), f64::from(0.1f32).to_bits().into()),
            ("n", ClassicalType::FLOAT, f64::NAN.to_bits().into()),
            ("z", ClassicalType::Complex(FloatType::F64), u128::from((-0.5f64).to_bits()) << 64),
            ("w", ClassicalType::Int(IntType::unsigned(60)), (1 << 53) + 1),
            ("e", ClassicalType::Float(FloatType::F64), 1e300f64.to_bits().into()),
        ];
        for (name, ty, word) in values {
            let id = c.add_variable(name, ty).unwrap();
            c.store(id, ClassicalExpr::constant(ty, word)).unwrap();
        }
        let array = VariableType::array(INT, &[2, 3]);
        let array = c.add_variable("m", array).unwrap();
        c.store_element(array, [1.into(), 2.into()], -7).unwrap();
        c.add_variable("none", VariableType::array(INT, &[2, 0])).unwrap();
        c.hidden_variable("hidden", INT).unwrap();
        let expected = [
            r#"t {"type":"bool","value":true}"#,
            r#"b {"type":"bit[4]","value":"0101"}"#,
            r#"i {"type":"int[128]","value":-170141183460469231731687303715884105728}"#,
            r#"u {"type":"uint[128]","value":340282366920938463463374607431768211455}"#,
            r#"j {"type":"int[8]","value":-1}"#,
            r#"a {"type":"angle[2]","value":1.5707963267948966}"#,
            r#"x {"type":"float[64]","value":0.1}"#,
            r#"y {"type":"float[32]","value":0.1}"#,
            r#"n {"type":"float[64]","value":null}"#,
            r#"z {"type":"complex[float[64]]","value":[0.0,-0.5]}"#,
            r#"w {"type":"uint[60]","value":9007199254740993}"#,
            r#"e {"type":"float[64]","value":1e+300}"#,
            r#"m {"type":"array[int[32], 2, 3]","value":[[0,0,0],[0,0,-7]]}"#,
            r#"none {"type":"array[int[32], 2, 0]","value":[[],[]]}"#,
        ];
        assert_eq!(outputs(&c, false).lines().collect::<Vec<_>>(), expected);
        let bound = BoundCircuit::<Complex<f64>>::new(&c, &Values::<f64>(&[])).unwrap();
        let shots = Simulator::new().trajectory_counts(&bound, 2, 1).unwrap();
        let layout = MemoryLayout::new(c.variables());
        let drawn = ShotOutcomes::Counts(shots.into_iter().collect());
        let specs = OutputSpec::all(&c, &[]);
        let infinite = specs.iter().filter(|spec| spec.values(&drawn, &layout).n_nonfinite() > 0);
        assert_eq!(infinite.map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["n"]);
    }

    #[test]
    fn values_are_in_order_or_counted_ascending() {
        let mut c = coin();
        let n = c.add_variable("n", INT).unwrap();
        let x = c.add_variable("x", ClassicalType::FLOAT).unwrap();
        let fixed = c.add_variable("k", INT).unwrap();
        c.store(fixed, 4).unwrap();
        c.if_else(one(), |c| c.store(n, -3)?.store(x, -0.5), |c| c.store(n, 2)?.store(x, 1.5))
            .unwrap();
        let ordered = outputs(&c, true);
        let of = |name: &str| -> serde_json::Value {
            let line = ordered.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            serde_json::from_str(line).unwrap()
        };
        let bits = of("c ")["values"].as_array().unwrap().clone();
        let as_n = bits.iter().map(|bit| if bit == "1" { -3 } else { 2 });
        assert_eq!(of("n ")["values"], serde_json::json!(as_n.collect::<Vec<_>>()));
        assert_eq!(of("k ")["values"], serde_json::json!([4, 4, 4, 4, 4, 4]));
        let ones = bits.iter().filter(|bit| *bit == "1").count();
        assert!((1..6).contains(&ones));
        let zeros = 6 - ones;
        let expected = [
            format!(r#"c {{"type":"bit[1]","distribution":[["0",{zeros}],["1",{ones}]]}}"#),
            format!(r#"n {{"type":"int[32]","distribution":[[-3,{ones}],[2,{zeros}]]}}"#),
            format!(r#"x {{"type":"float[64]","distribution":[[-0.5,{ones}],[1.5,{zeros}]]}}"#),
            r#"k {"type":"int[32]","value":4}"#.to_owned(),
        ];
        assert_eq!(outputs(&c, false).lines().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn what_outcomes_decide_is_not_certain() {
        type Build = fn(&mut Circuit, [VariableId; 3]) -> Result<&mut Circuit, CircuitError>;
        let cases: [(Build, &[&str]); 7] = [
            (|c, [n, ..]| c.store(n, 1), &[]),
            (|c, [n, ..]| c.when(one(), |c| c.store(n, 1)), &["n"]),
            // The branch of an `else`, and blocks in blocks.
            (
                |c, [n, m, _]| {
                    c.if_else(one(), |c| Ok(c), |c| c.block(|c| c.store(n, 1)))?.store(m, 1)
                },
                &["n"],
            ),
            // By another variable, which is written later in the loop.
            (
                |c, [n, m, i]| {
                    c.for_loop(i, [1.into(), 1.into(), 3.into()], |c| {
                        let value = c.value_of(m)?;
                        c.store(n, value)?.when(one(), |c| c.store(m, 1))
                    })
                },
                &["n", "m"],
            ),
            // An exit decides how often all else runs.
            (
                |c, [n, m, i]| {
                    c.store(m, 1)?.for_loop(i, [1.into(), 1.into(), 3.into()], |c| {
                        let value = c.value_of(i)?;
                        c.store(n, value)?.when(one(), |c| c.break_out(1))
                    })
                },
                &["n", "m", "i"],
            ),
            (
                |c, [n, ..]| {
                    let subject = ClassicalExpr::bits(&[0]).unwrap().cast(INT)?;
                    c.switch(subject, |s| s.case([1], |c| c.store(n, 1)))
                },
                &["n"],
            ),
            // It is not seen that the bit is known again.
            (|c, [n, ..]| c.assign(0, false)?.when(one(), |c| c.store(n, 1)), &["n"]),
        ];
        for (build, random) in cases {
            let mut c = coin();
            let ids = ["n", "m", "i"].map(|name| c.add_variable(name, INT).unwrap());
            build(&mut c, ids).unwrap();
            let specs = OutputSpec::all(&c, &[]);
            let found = specs.iter().filter(|spec| !spec.is_certain && spec.name != "c");
            let found: Vec<&str> = found.map(|spec| spec.name.as_str()).collect();
            assert_eq!(found, random, "{c}");
        }
    }
}
