//! Checks that run when something is loaded, unless it is known to be right.

use std::sync::Arc;

use ketgrad_core::ir::Program;

use crate::{
    cache::{self, Entry},
    conform::{Finding, device_at_load, kernels_at_load},
    device::Device,
    error::Fault,
    executor::{Backend, HostKernels},
    host::Loaded,
    limits::TimeBudget,
    verify::examined,
};

/// Checks that a rule agrees with itself, if that is not known; an error says what does not agree.
pub(crate) fn agrees(
    program: &Program,
    host: &Loaded,
    name: &str,
    known: &mut Entry,
    budget: &TimeBudget,
) -> Result<(), String> {
    let item = format!("rule {name}");
    if known.knows(&item) {
        return Ok(());
    }
    let (verdict, is_final) = examined(program, host, name, &[], budget);
    if let Some(reason) = verdict.disagreement {
        return Err(reason);
    }
    if is_final {
        known.add(item);
    }
    Ok(())
}

/// Checks that a backend computes the results of the built-in kernels, if that is not known. One
/// that declines all sizes is not checked.
pub(crate) fn conforms(
    backend: &Arc<Backend>,
    known: &mut Entry,
    notes: &mut Vec<String>,
) -> Result<(), Fault> {
    /// Numbers of qubits for which the backend is asked whether it would run anything.
    const SIZES: [usize; 7] = [2, 4, 6, 10, 14, 20, 26];
    let (name, what) =
        (backend.name().to_owned(), if backend.is_device() { "device" } else { "kernel" });
    let item = format!("{what} {}", cache::hash(&[&name, &backend.describe()]));
    let runs = |n: &usize| backend.score::<f64>(*n, 100) > 0 || backend.score::<f32>(*n, 100) > 0;
    if known.knows(&item) || !SIZES.iter().any(runs) {
        return Ok(());
    }
    let (findings, all) = match backend.is_device() {
        true => device_at_load(&Device::new(backend.clone(), false)),
        false => kernels_at_load(&HostKernels { backend: backend.clone(), first: true }),
    };
    let (no_room, findings): (Vec<_>, Vec<_>) =
        findings.into_iter().partition(Finding::had_no_room);
    if let Some(wrong) = findings.iter().find(|finding| !finding.holds()) {
        return Err(Fault::Nonconforming { what, name, law: wrong.to_string() });
    }
    if let Some(finding) = no_room.first() {
        notes.push(format!("warning: {what} `{name}` was checked in part only: {finding}"));
    } else if all {
        known.add(item);
    } else {
        notes.push(format!("warning: {what} `{name}` is so slow that it was checked in part only"));
    }
    Ok(())
}
