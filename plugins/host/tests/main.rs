//! The host with plugins that work, that break and that are of other versions.

mod attacks;
mod caller_limits;
mod chapter;
mod cuda;
mod devices;
mod failures;
mod rule_elements;
mod rule_results;
mod rules;
mod support;
mod versions;
mod watched;
mod wrong_kernels;
mod wrong_rules;
