//! Typed numbers for the parts of a program, and tables indexed by them.
//!
//! A [`Value`] is not a [`Block`], so neither can index the other's table. An id prints as it does
//! in the text of a program:
//!
//! ```
//! use ketgrad_core::entity::{Block, Value, Table};
//!
//! assert_eq!(Value::new(3).to_string(), "v3");
//! let mut names: Table<Block, &str> = Table::new();
//! let entry = names.push("entry");
//! assert_eq!((entry.to_string().as_str(), names[entry]), ("block0", "entry"));
//! ```
//!
//! A property that only one algorithm needs is not a field of the entity but is stored in a
//! [`SideTable`] of that algorithm.
//!
//! Invariant: ids are dense. The first item pushed has index 0, the next 1.

use std::{
    fmt,
    hash::Hash,
    marker::PhantomData,
    ops::{Index, IndexMut},
};

/// Id of an entity in a table.
pub trait Entity: Copy + Eq + Hash + Ord + fmt::Display {
    /// Creates the id with the given index.
    fn new(index: usize) -> Self;
    /// Returns the index.
    fn index(self) -> usize;
}

macro_rules! entities {
    ($($(#[$doc:meta])* $Name:ident $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $Name(u32);

        impl $Name {
            /// Creates the id with the given index. Indices from 2^32 on never occur: tables are
            /// smaller.
            #[must_use]
            pub const fn new(index: usize) -> $Name { $Name(index as u32) }
            /// Returns the index.
            #[must_use]
            pub const fn index(self) -> usize { self.0 as usize }
        }
        impl Entity for $Name {
            fn new(index: usize) -> $Name { $Name::new(index) }
            fn index(self) -> usize { self.0 as usize }
        }
        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "{}{}", $prefix, self.0) }
        }
        impl fmt::Debug for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { fmt::Display::fmt(self, f) }
        }
    )*};
}

entities! {
    /// Value: it is defined by an instruction or is a block parameter.
    Value "v";
    /// A basic block.
    Block "block";
    /// An instruction.
    Inst "inst";
    /// A function of a program.
    FuncId "fn";
    /// A primitive of a program: a function that the host computes.
    PrimitiveId "primitive";
    /// A variable of a function under construction.
    Variable "var";
}

/// A vector indexed by ids of one kind.
#[derive(Clone, PartialEq, Eq)]
pub struct Table<K, V> {
    items: Vec<V>,
    keys: PhantomData<K>,
}

impl<K: Entity, V> Table<K, V> {
    /// Returns an empty table.
    #[must_use]
    pub fn new() -> Table<K, V> {
        Table { items: Vec::new(), keys: PhantomData }
    }
    /// Adds an item and returns its id.
    pub fn push(&mut self, item: V) -> K {
        self.items.push(item);
        K::new(self.items.len() - 1)
    }
    /// Removes an item. The ids of the items after it decrease by one.
    pub(crate) fn remove(&mut self, key: K) -> V {
        self.items.remove(key.index())
    }
    /// Returns the id that the next [`push`](Table::push) will return.
    pub(crate) fn next_key(&self) -> K {
        K::new(self.items.len())
    }
    /// Returns the number of items.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Returns true if the table is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// Returns the item, if the id belongs to this table.
    #[must_use]
    pub fn get(&self, key: K) -> Option<&V> {
        self.items.get(key.index())
    }
    /// Returns all ids in order.
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = K> + use<K, V> {
        (0..self.items.len()).map(K::new)
    }
    /// Returns all items in order.
    pub fn values(&self) -> std::slice::Iter<'_, V> {
        self.items.iter()
    }
    /// Returns all items in order, mutably.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, V> {
        self.items.iter_mut()
    }
    /// Returns all ids and items in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (K, &V)> {
        self.items.iter().enumerate().map(|(k, v)| (K::new(k), v))
    }
}

impl<K: Entity, V> Default for Table<K, V> {
    fn default() -> Table<K, V> {
        Table::new()
    }
}

impl<K: Entity, V> Index<K> for Table<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        &self.items[key.index()]
    }
}

impl<K: Entity, V> IndexMut<K> for Table<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        &mut self.items[key.index()]
    }
}

impl<K: Entity + fmt::Debug, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.items.iter().enumerate().map(|(k, v)| (K::new(k).to_string(), v)))
            .finish()
    }
}

/// Property of entities of another table. An entry that was never set has the default value.
#[derive(Clone, Debug)]
pub struct SideTable<K, V> {
    items: Vec<V>,
    default: V,
    keys: PhantomData<K>,
}

impl<K: Entity, V: Clone> SideTable<K, V> {
    /// Creates a table in which every entry has the value `default`.
    #[must_use]
    pub fn new(default: V) -> SideTable<K, V> {
        SideTable { items: Vec::new(), default, keys: PhantomData }
    }
}

impl<K: Entity, V: Clone> Index<K> for SideTable<K, V> {
    type Output = V;
    fn index(&self, key: K) -> &V {
        self.items.get(key.index()).unwrap_or(&self.default)
    }
}

impl<K: Entity, V: Clone> IndexMut<K> for SideTable<K, V> {
    fn index_mut(&mut self, key: K) -> &mut V {
        if self.items.len() <= key.index() {
            self.items.resize(key.index() + 1, self.default.clone());
        }
        &mut self.items[key.index()]
    }
}
