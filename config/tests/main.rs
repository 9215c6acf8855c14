//! The command line from outside, a module for each command and topic.

mod amplitudes;
mod backend;
mod check;
mod crashes;
mod diff;
mod equivalent;
mod faults;
mod grad;
mod grad_several;
mod idle;
mod info;
#[path = "../../plugins/host/tests/support/mod.rs"]
mod libraries;
mod marginals;
mod memory;
mod noise;
mod npy;
mod observable_params;
mod observables;
mod optimize;
mod params;
mod plugin_trust;
mod plugins;
mod promises;
mod run;
mod sandbox;
mod show;
mod sources;
mod support;
mod symbols;
mod variances;
