//! Variables of a circuit, and the values of bits and variables during a run.

use std::fmt;

use smallvec::SmallVec;

use super::{ClassicalError, ClassicalType, ReadMemory, Word, evaluate::element, operator};
use crate::param::Angle;

/// A variable of a circuit, by its position in the list of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(u32);

impl VariableId {
    /// Returns the variable at a position.
    #[must_use]
    pub fn new(position: u32) -> VariableId {
        VariableId(position)
    }

    /// Returns the variable that many positions further.
    pub(crate) fn moved(self, by: u32) -> VariableId {
        VariableId(self.0.saturating_add(by))
    }

    /// The position.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Type of a variable: that of a value, or of the elements of an array.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariableType {
    /// Type of the value, or of each element.
    pub scalar: ClassicalType,
    /// Sizes of the axes of an array; none for a single value.
    pub shape: SmallVec<[u32; 2]>,
}

/// A classical variable of a circuit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassicalVariable {
    /// The name.
    pub name: String,
    /// The type.
    pub ty: VariableType,
    /// True if it is no result: it is left out where outcomes are shown.
    pub hidden: bool,
}

/// As in OpenQASM: `uint[8]`, `array[float[64], 2, 3]`.
impl fmt::Display for VariableType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shape.is_empty() {
            return self.scalar.fmt(f);
        }
        write!(f, "array[{}", self.scalar)?;
        self.shape.iter().try_for_each(|size| write!(f, ", {size}"))?;
        f.write_str("]")
    }
}

/// A single value.
impl From<ClassicalType> for VariableType {
    fn from(scalar: ClassicalType) -> VariableType {
        VariableType { scalar, shape: SmallVec::new() }
    }
}

impl VariableType {
    /// Returns the type of arrays of these sizes.
    #[must_use]
    pub fn array(scalar: ClassicalType, shape: &[u32]) -> VariableType {
        VariableType { scalar, shape: shape.into() }
    }

    pub(crate) fn check(&self) -> Result<(), ClassicalError> {
        match self.scalar.has_valid_width() {
            true => Ok(()),
            false => Err(ClassicalError::Width { given: operator::width(self.scalar) }),
        }
    }

    /// The number of elements, 1 for a single value.
    #[must_use]
    pub fn n_elements(&self) -> usize {
        self.shape.iter().fold(1, |n, &size| n.saturating_mul(size as usize))
    }

    /// The number of words of 64 bits.
    pub(crate) fn words(&self) -> usize {
        self.element_words().saturating_mul(self.n_elements())
    }

    /// The number of words of 64 bits for one element.
    fn element_words(&self) -> usize {
        match self.scalar {
            ClassicalType::Float(_) => 1,
            ClassicalType::Complex(_) => 2,
            other if operator::width(other) <= 64 => 1,
            _ => 2,
        }
    }
}

/// Places of the variables in a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryLayout {
    places: Vec<VariablePlace>,
    n_words: usize,
}

/// Place of a variable: its first word, and the words of an element.
#[derive(Clone, Debug, PartialEq, Eq)]
struct VariablePlace {
    first: usize,
    words: usize,
    shape: SmallVec<[u32; 2]>,
}

impl MemoryLayout {
    /// Lays out variables one after the other.
    #[must_use]
    pub fn new<'v>(variables: impl IntoIterator<Item = &'v ClassicalVariable>) -> MemoryLayout {
        let mut layout = MemoryLayout::default();
        for variable in variables {
            layout.add(&variable.ty);
        }
        layout
    }

    /// Adds a variable of a type after all others.
    pub fn add(&mut self, ty: &VariableType) -> VariableId {
        let id = VariableId(u32::try_from(self.places.len()).unwrap_or(u32::MAX));
        let words = ty.element_words();
        self.places.push(VariablePlace { first: self.n_words, words, shape: ty.shape.clone() });
        self.n_words = self.n_words.saturating_add(ty.words());
        id
    }

    /// True if there are no variables.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The place of an element in the order of rows, if it exists; negative indices count from the
    /// end.
    #[must_use]
    pub fn element(&self, variable: VariableId, indices: &[Word]) -> Option<usize> {
        element(&self.places.get(variable.index())?.shape, indices)
    }

    fn place(&self, variable: VariableId, element: usize) -> Option<(usize, bool)> {
        let place = self.places.get(variable.index())?;
        Some((place.first + element * place.words, place.words == 2))
    }
}

/// The values of a circuit's classical bits and variables.
///
/// Memory: that of the words up to the last bit that is 1, and of the words of all variables.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClassicalMemory {
    /// 64 bits each; the last word is not 0.
    bits: SmallVec<[u64; 2]>,
    n: usize,
    /// Variables, at the places of a [`MemoryLayout`].
    variables: SmallVec<[u64; 2]>,
}

impl ClassicalMemory {
    /// Returns n bits and no variables, all 0.
    #[must_use]
    pub fn zero(n: usize) -> ClassicalMemory {
        ClassicalMemory { bits: SmallVec::new(), n, variables: SmallVec::new() }
    }

    /// Returns n bits and the variables of a layout, all 0.
    #[must_use]
    pub fn with_variables(n: usize, layout: &MemoryLayout) -> ClassicalMemory {
        let variables = SmallVec::from_elem(0, layout.n_words);
        ClassicalMemory { variables, ..ClassicalMemory::zero(n) }
    }

    /// The value of a bit; 0 beyond the end.
    #[must_use]
    pub fn get(&self, bit: u32) -> bool {
        let bit = bit as usize;
        self.bits.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// Sets a bit to a value; beyond the end nothing happens.
    pub fn set(&mut self, bit: u32, value: bool) {
        let (place, mask) = (bit as usize / 64, 1u64 << (bit % 64));
        if bit as usize >= self.n {
            return;
        }
        if value {
            if self.bits.len() <= place {
                self.bits.resize(place + 1, 0);
            }
            self.bits[place] |= mask;
        } else if let Some(word) = self.bits.get_mut(place) {
            *word &= !mask;
            while self.bits.last() == Some(&0) {
                self.bits.pop();
            }
        }
    }

    /// Flips a bit.
    #[doc(hidden)]
    pub fn flip(&mut self, bit: u32) {
        self.set(bit, !self.get(bit));
    }

    /// The value of a variable, or of an element of an array in the order of its rows; 0 where
    /// there is none.
    #[must_use]
    pub fn variable(&self, layout: &MemoryLayout, variable: VariableId, element: usize) -> Word {
        let Some((at, is_long)) = layout.place(variable, element) else { return 0 };
        let word = |at: usize| Word::from(self.variables.get(at).copied().unwrap_or(0));
        word(at) | if is_long { word(at + 1) << 64 } else { 0 }
    }

    /// Sets the value of a variable, or of an element of an array, if there is one.
    pub fn set_variable(
        &mut self,
        layout: &MemoryLayout,
        variable: VariableId,
        element: usize,
        value: Word,
    ) {
        let Some((at, is_long)) = layout.place(variable, element) else { return };
        // The low and the high half.
        let halves = [value as u64, (value >> 64) as u64];
        let places = self.variables.iter_mut().skip(at);
        for (place, half) in places.zip(&halves[..1 + usize::from(is_long)]) {
            *place = *half;
        }
    }

    /// Drops all variables but the first ones.
    #[doc(hidden)]
    pub fn truncate(&mut self, layout: &MemoryLayout, n_variables: usize) {
        if let Some(place) = layout.places.get(n_variables) {
            self.variables.truncate(place.first);
        }
    }

    /// Appends the variables of a layout that are missing, all 0.
    #[doc(hidden)]
    pub fn extend(&mut self, layout: &MemoryLayout) {
        self.variables.resize(layout.n_words.max(self.variables.len()), 0);
    }

    /// Returns what an expression reads here.
    #[doc(hidden)]
    #[must_use]
    pub fn read<'m>(&'m self, layout: &'m MemoryLayout) -> MemoryReader<'m> {
        MemoryReader { memory: self, layout }
    }

    /// Bytes on the heap.
    #[doc(hidden)]
    #[must_use]
    pub fn heap_bytes(&self) -> u128 {
        let heap = |words: &SmallVec<[u64; 2]>| {
            if words.spilled() { 8 * words.capacity() as u128 } else { 0 }
        };
        heap(&self.bits) + heap(&self.variables)
    }

    /// The value of a variable as text, the elements of an array in brackets.
    #[must_use]
    pub fn variable_text(
        &self,
        layout: &MemoryLayout,
        variable: VariableId,
        ty: &VariableType,
    ) -> String {
        let value = |at: usize| ty.scalar.value_of(self.variable(layout, variable, at)).to_string();
        rows(&ty.shape, 0, &value)
    }
}

/// The elements of an array from one on, in brackets; a single value.
fn rows(shape: &[u32], first: usize, value: &dyn Fn(usize) -> String) -> String {
    let Some((&size, inner)) = shape.split_first() else { return value(first) };
    let stride = inner.iter().fold(1usize, |n, &size| n.saturating_mul(size as usize));
    let row = |k: u32| rows(inner, first.saturating_add(stride.saturating_mul(k as usize)), value);
    format!("[{}]", (0..size).map(row).collect::<Vec<_>>().join(", "))
}

/// Bits and variables of a run. Parameters are bound before it: here they are NaN.
#[doc(hidden)]
pub struct MemoryReader<'m> {
    memory: &'m ClassicalMemory,
    layout: &'m MemoryLayout,
}

impl ReadMemory for MemoryReader<'_> {
    fn bit(&self, bit: u32) -> bool {
        self.memory.get(bit)
    }

    fn word(&self, variable: VariableId, element: usize) -> Word {
        self.memory.variable(self.layout, variable, element)
    }

    fn real(&self, _: &Angle) -> f64 {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_and_ordered_as_rows_of_words() {
        let n = 300;
        let with = |ones: &[u32]| {
            let mut bits = ClassicalMemory::zero(n);
            ones.iter().for_each(|&bit| bits.set(bit, true));
            bits
        };
        let mut cleared = with(&[3, 200, 299]);
        cleared.set(299, false);
        cleared.set(200, false);
        assert_eq!(cleared, with(&[3]));
        let mut beyond = with(&[3]);
        beyond.set(300, true);
        assert_eq!(beyond, with(&[3]));
        let row = |bits: &ClassicalMemory| {
            (0..5).map(|k| bits.bits.get(k).copied().unwrap_or(0)).collect::<Vec<_>>()
        };
        let all =
            [with(&[]), with(&[0]), with(&[299]), with(&[0, 299]), with(&[64]), with(&[63, 128])];
        for a in &all {
            for b in &all {
                assert_eq!(a.cmp(b), row(a).cmp(&row(b)), "{a:?} {b:?}");
            }
        }
    }
}
