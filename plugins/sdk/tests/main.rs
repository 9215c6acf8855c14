//! What the kit tells authors of plugins.

mod check;
