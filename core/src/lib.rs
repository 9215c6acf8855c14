//! The computing heart of ketgrad: numbers, circuits, kernels and states.
//!
//! This crate is pure computation: it reads no files and no environment, and holds no global state
//! but one counter. Threads, memory limits and kernels are handed in.
//!
//! Modules in reading order: [`scalar`] (numbers), [`param`] (angles of gates), [`basis`] (bits),
//! [`matrix`], [`gate`] (the table), [`circuit`], [`qasm`] (circuits from text), [`observable`],
//! [`kernel`] (loops over amplitudes), [`plan`] (many gates in one pass), [`state`], [`simulate`].

pub mod scalar;

pub mod param;

pub mod basis;
pub mod matrix;

pub mod gate;

pub mod circuit;
pub mod observable;
pub mod qasm;

pub mod kernel;
pub mod plan;
pub mod state;

pub mod simulate;
