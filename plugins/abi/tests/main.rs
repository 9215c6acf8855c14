//! The interface against its C header.

mod layout;
