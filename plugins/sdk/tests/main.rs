//! Messages of the kit to authors of plugins.

mod check;
