//! The command line of [`attack`]: see there.

fn main() -> Result<(), String> {
    attack::run(&std::env::args().skip(1).collect::<Vec<_>>())
}
