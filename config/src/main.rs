//! The program `ketgrad`. Everything is in the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    ketgrad_config::main(std::env::args_os())
}
