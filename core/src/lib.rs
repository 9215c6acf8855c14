//! The computing heart of ketgrad: numbers, circuits, kernels and states.
//!
//! This crate is pure computation: it reads no files and no environment, and holds no global state
//! but one counter. Threads, memory limits and kernels are handed in.
//!
//! Modules in reading order: [`entity`] (typed ids), [`scalar`] (numbers); programs and their derivatives:
//! [`ir`] (functions as data), [`rules`] (what an operation means for derivatives), [`text`] (the program
//! language), [`adjoint`] (reverse and forward mode), [`pass`] (optimisation), [`exec`] (running); circuits:
//! [`param`] (angles of gates), [`basis`] (bits), [`matrix`], [`gate`] (the table), [`circuit`],
//! [`observable`], [`kernel`] (loops over amplitudes), [`state`], [`simulate`].

pub mod entity;
pub mod scalar;

#[macro_use]
pub mod ir;
pub mod rules;
pub mod text;

pub mod adjoint;
pub mod pass;

pub mod exec;

pub mod param;

pub mod basis;
pub mod matrix;

pub mod gate;

pub mod circuit;
pub mod observable;

pub mod kernel;
pub mod state;

pub mod simulate;
