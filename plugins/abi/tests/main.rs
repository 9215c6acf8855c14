//! The interface against its C header.

mod cpp;
mod layout;
