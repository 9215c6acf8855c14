//! Serde: an array as its shape and its elements. What is read is checked as if it had been built
//! by hand.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::array::Array;

#[derive(Serialize)]
#[serde(rename = "Array")]
struct ArrayRef<'a, T> {
    shape: &'a [usize],
    items: &'a [T],
}

#[derive(Deserialize)]
#[serde(rename = "Array", deny_unknown_fields)]
struct ArrayData<T> {
    shape: Vec<usize>,
    items: Vec<T>,
}

impl<T: Serialize> Serialize for Array<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        ArrayRef { shape: &self.shape(), items: self.items() }.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Array<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Array<T>, D::Error> {
        let ArrayData { shape, items } = ArrayData::deserialize(deserializer)?;
        Array::new(&shape, items).map_err(D::Error::custom)
    }
}
