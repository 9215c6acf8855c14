//! Conversions to and from the types of other crates, each under the feature of its name.
//!
//! | feature | is |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize`: arrays, matrices, states, Pauli sums, states and settings of optimizations, limits; circuits as OpenQASM by `qasm::serde` |
//! | `faer` | [`Array`](crate::array::Array) and [`Matrix`](crate::matrix::Matrix) from and to `Mat`, arrays and states from and to `Col` |
//! | `nalgebra` | [`Array`](crate::array::Array) and [`Matrix`](crate::matrix::Matrix) from and to `DMatrix`, arrays and states from and to `DVector` |
//! | `ndarray` | [`Array`](crate::array::Array) from and to `ArrayD`, of any order in memory |
//!
//! Numbers are moved, or copied where the order in memory is another one; nothing is rounded.
