//! Source of a specialised kernel for one stage.
//!
//! The kernels `stage` and `stage_pair` are interpreters: they read their words as they run. This
//! module specialises them for one stage: no word is read, no kind is tested, vectors and offsets
//! are constants. Numbers stay data: a circuit with other angles runs on the same kernels, as long
//! as no rotation comes to be written with a Pauli operator before it (the tangent of half its
//! angle is at most 1).
//!
//! The text that is written calls the functions of `kernels.cu`, so that both do the same
//! arithmetic in the same order.

use std::fmt::{self, Write};

use crate::{
    program::{LaunchGeometry, STAGE_THREADS, Stage},
    stage::{DENSE, END, LOOK, MATRIX, PHASES, TURN, header},
};

/// Number of loads of a thread in flight at a time.
const AT_ONCE: usize = 8;

/// Returns the source of a stage of a program, on one state or on two. It is the same for stages
/// that differ in their numbers only.
pub(crate) fn source(words: &[u32], stage: &Stage, form: LaunchGeometry, pair: bool) -> String {
    let source =
        StageSource { words, at: stage.at as usize, first: stage.first_number, form, pair };
    let mut text = String::new();
    // A string takes all that is written to it.
    let _ = source.kernel(&mut text);
    text
}

struct StageSource<'a> {
    words: &'a [u32],
    /// Index of the first word of the stage,
    at: usize,
    /// and of its first number.
    first: u32,
    form: LaunchGeometry,
    pair: bool,
}

impl StageSource<'_> {
    fn header(&self, which: usize) -> usize {
        self.words[self.at + which] as usize
    }

    /// Returns the number of amplitudes of a tile.
    fn size(&self) -> usize {
        1 << self.header(header::BITS)
    }

    /// Returns the words from an index of the program on.
    fn from(&self, index: usize) -> &[u32] {
        &self.words[index..]
    }

    /// Returns the names of the states' tiles and of a thread's amplitudes of them.
    fn states(&self) -> &[[&str; 3]] {
        const BOTH: [[&str; 3]; 2] =
            [["on_psi", "parts", "psi"], ["on_lambda", "others", "lambda"]];
        &BOTH[..1 + usize::from(self.pair)]
    }

    fn kernel(&self, out: &mut String) -> fmt::Result {
        let kernel = if self.pair { "ONE_STAGE_PAIR" } else { "ONE_STAGE" };
        write!(out, "{kernel}({}u", self.size())?;
        if self.pair {
            write!(out, ", {}u, {}u", self.header(header::GROUPS), self.header(header::LOOKS))?;
        }
        writeln!(out, ")")?;
        writeln!(out, "const u64 start = {};", self.spread("tile", header::TILE_RUNS))?;
        self.gather(out)?;
        let mut step = self.header(header::FIRST_STEP);
        for _ in 0..self.header(header::STEPS) {
            self.step(self.from(step), out)?;
            step += self.words[step] as usize;
        }
        self.scatter(out)?;
        writeln!(out, "{kernel}_END")
    }

    /// Returns the expression that scatters bits to the places of an index.
    fn spread(&self, bits: &str, runs: usize) -> String {
        let (count, at) = (self.header(runs), self.header(runs + 1));
        let run = |run: &[u32]| {
            let mask = (1u64 << run[1]) - 1;
            format!("((u64)({bits} >> {}u & {mask}u) << {}u)", run[0], run[2])
        };
        let all: Vec<String> = self.from(at).chunks(3).take(count).map(run).collect();
        if all.is_empty() { "0u".into() } else { all.join(" | ") }
    }

    /// Returns a thread's places after its first: offset of the index, slot, slot at the end.
    fn high(&self) -> impl Iterator<Item = (u64, u32, u32)> {
        let count = self.size() / STAGE_THREADS;
        let place = |w: &[u32]| (u64::from(w[0]) | u64::from(w[1]) << 32, w[2], w[3]);
        self.from(self.header(header::HIGH)).chunks(4).take(count).map(place)
    }

    fn gather(&self, out: &mut String) -> fmt::Result {
        let high: Vec<_> = self.high().collect();
        writeln!(
            out,
            "FOR_THREADS(t) {{\nconst u64 index = start + ({});",
            self.spread("t", header::PLACE_RUNS)
        )?;
        writeln!(out, "const u32 slot = slot_of(t);")?;
        for [state, parts, _] in self.states() {
            writeln!(out, "{{\nconst REAL2 *const from = {state} + index;")?;
            for some in high.chunks(AT_ONCE) {
                writeln!(out, "{{\nREAL2 some[{}];", some.len())?;
                for (k, (index, ..)) in some.iter().enumerate() {
                    writeln!(out, "some[{k}] = from[{index}u];")?;
                }
                for (k, (_, slot, _)) in some.iter().enumerate() {
                    writeln!(out, "{parts}[slot ^ {slot}u] = some[{k}];")?;
                }
                writeln!(out, "}}")?;
            }
            writeln!(out, "}}")?;
        }
        writeln!(out, "tile_phases(z, words, numbers, stage, tile, t);\n}}\nSYNC();")
    }

    fn scatter(&self, out: &mut String) -> fmt::Result {
        writeln!(
            out,
            "FOR_THREADS(t) {{\nconst u64 index = start + ({});",
            self.spread("t", header::PLACE_RUNS)
        )?;
        writeln!(out, "const u32 slot = exit_slot(words, stage, tile, t);")?;
        writeln!(out, "const REAL2 scale = tile_scale(z, words, numbers, stage);")?;
        for [state, parts, _] in self.states() {
            writeln!(out, "{{\nREAL2 *const to = {state} + index;")?;
            for (index, _, slot) in self.high() {
                writeln!(out, "to[{index}u] = times(scale, {parts}[slot ^ {slot}u]);")?;
            }
            writeln!(out, "}}")?;
        }
        writeln!(out, "}}\nSYNC();")
    }

    fn step(&self, step: &[u32], out: &mut String) -> fmt::Result {
        let table = step[1] as usize - self.at;
        let (vectors, mut actions) = step[2..].split_at(self.form.rows);
        let size = self.size();
        writeln!(out, "FOR_THREADS(t) {{\nconst u32 *const table = tables + {table};")?;
        if let [MATRIX, low, high, number, ..] = *actions {
            for [_, parts, _] in self.states() {
                let matrix = number - self.first;
                writeln!(
                    out,
                    "matrix_on({parts}, table, {low}u, {high}u, (const REAL2 *)(own + {matrix}u), {size}u, t);"
                )?;
            }
            return writeln!(out, "}}\nSYNC();");
        }
        writeln!(out, "FOR_SETS({}u) {{", size >> self.form.rows)?;
        writeln!(out, "const u32 b = table[c] & 0xffffu, slot = table[c] >> 16;")?;
        let list: Vec<String> = vectors.iter().map(|v| format!("{v}u")).collect();
        writeln!(out, "const u32 vectors[] = {{{}}};", list.join(", "))?;
        for [_, parts, here] in self.states() {
            writeln!(out, "REAL2 {here}[LOCALS];\nload({here}, {parts}, slot, vectors);")?;
        }
        while actions[0] != END {
            actions = self.action(actions, out)?;
        }
        for [_, parts, here] in self.states() {
            writeln!(out, "store({here}, {parts}, slot, vectors);")?;
        }
        writeln!(out, "}}\n}}\nSYNC();")
    }

    /// Writes an action, and gives back the words after it.
    fn action<'w>(&self, words: &'w [u32], out: &mut String) -> Result<&'w [u32], fmt::Error> {
        let (kind, w) = (words[0], &words[1..]);
        Ok(match kind {
            TURN => {
                let [mask, pattern, inner, outer, number] =
                    [w[0], w[1], w[2], w[3], w[4] - self.first];
                writeln!(
                    out,
                    "{{\nconst REAL by = negated(own[{number}u], {});",
                    sign(inner, outer)
                )?;
                for [_, _, here] in self.states() {
                    writeln!(out, "turn({here}, {mask}u, {pattern}u, by);")?;
                }
                writeln!(out, "}}")?;
                &w[5..]
            }
            PHASES => {
                let patterns = w[2] as usize;
                let moving = w[3..].chunks(3).take(patterns);
                writeln!(out, "{{\nREAL2 even, odd;")?;
                let whole = (w[0] < w[1]).then(|| self.phase(w[0], w[1]));
                if let Some(whole) = &whole {
                    writeln!(out, "const REAL2 whole = {whole};")?;
                }
                for (k, group) in moving.enumerate() {
                    writeln!(
                        out,
                        "even = {};\nodd = conjugated(even, 1);",
                        self.phase(group[1], group[2])
                    )?;
                    if k == 0 && whole.is_some() {
                        writeln!(out, "even = times(even, whole), odd = times(odd, whole);")?;
                    }
                    self.multiply(["even", "odd"], group[0], out)?;
                }
                if patterns == 0 && whole.is_some() {
                    self.multiply(["whole", "whole"], 0, out)?;
                    writeln!(out, "(void)even, (void)odd;")?;
                }
                writeln!(out, "}}")?;
                &w[3 + 3 * patterns..]
            }
            DENSE => {
                for [_, _, here] in self.states() {
                    writeln!(out, "block({here}, {}u, MATRIX_AT({}u));", w[0], w[1] - self.first)?;
                }
                &w[2..]
            }
            LOOK => {
                let [mask, pattern, inner, outer, real, which] =
                    [w[0], w[1], w[2], w[3], w[4], w[5]];
                let odd = sign(inner, outer);
                writeln!(out, "ADD_LOOK({mask}u, {pattern}u, {odd}, {real}u, {which}u)")?;
                &w[6..]
            }
            // Nothing else is written for a kernel; what is not known ends the step.
            _ => &[END],
        })
    }

    fn multiply(&self, [even, odd]: [&str; 2], pattern: u32, out: &mut String) -> fmt::Result {
        for [_, _, here] in self.states() {
            writeln!(out, "multiply({here}, {even}, {odd}, {pattern}u);")?;
        }
        Ok(())
    }

    /// Returns the expression for the product of the phases of some groups.
    fn phase(&self, first: u32, end: u32) -> String {
        let groups = self.from(self.header(header::FIRST_GROUP));
        let one = |g: u32| format!("conjugated(z[{g}u], PARITY({}u & b))", groups[3 * g as usize]);
        (first + 1..end).fold(one(first), |product, g| format!("times({product}, {})", one(g)))
    }
}

/// Returns the expression for the parity of the place and the tile at which a sign changes.
fn sign(inner: u32, outer: u32) -> String {
    format!("PARITY(({inner}u & b) ^ ({outer}u & tile))")
}

#[cfg(test)]
mod tests {
    use ketgrad_core::{
        kernel::{Operator, OverlapProbe, StateHint},
        matrix::Matrix,
    };
    use ketgrad_plugin_sdk::{C64, Precision};

    use super::*;
    use crate::{nvrtc, program::KernelProgram};

    /// Layers of rotations and controlled gates, with angles from `angle` on.
    fn operators(n: usize, angle: f64) -> Vec<Operator<C64>> {
        let (zero, one) = (C64::new(0.0, 0.0), C64::new(1.0, 0.0));
        let not = Matrix::from_fn(1, |r, c| if r == c { zero } else { one });
        let mut operators = Vec::new();
        let mut angle = angle;
        for layer in 0..3 {
            for q in 0..n {
                angle += 0.01;
                let (s, c) = angle.sin_cos();
                let turn =
                    Matrix::from_fn(1, |row, column| C64::new([[c, -s], [s, c]][row][column], 0.0));
                let phase = Matrix::from_fn(1, |r, c| match (r == c, r) {
                    (true, 0) => one,
                    (true, _) => C64::cis(angle),
                    _ => zero,
                });
                operators.push(Operator::new(&turn, &[q], &[]).unwrap());
                operators
                    .push(Operator::new(&phase, &[q], &[((q + 1 + layer) % n, true)]).unwrap());
            }
            for q in 0..n {
                operators.push(Operator::new(&not, &[(q + 1) % n], &[(q, true)]).unwrap());
            }
        }
        operators
    }

    fn sources(precision: Precision, angle: f64, pair: bool) -> Vec<String> {
        let n = 20;
        let form = LaunchGeometry::new(precision, (8, 0), 227 << 10);
        let inners: Vec<OverlapProbe> =
            (0..n).map(|q| OverlapProbe { before: 3 * q, x: 1 << q, z: 1 }).collect();
        let inners = pair.then_some(inners.as_slice());
        let program = KernelProgram::new(
            n,
            &operators(n, angle),
            inners,
            (form, StateHint::Arbitrary),
            &mut None,
        );
        program.stages().map(|stage| source(&program.words, stage, form, pair)).collect()
    }

    #[test]
    fn other_angles_have_the_same_source() {
        for pair in [false, true] {
            let first = sources(Precision::Double, 0.1, pair);
            assert!(first.len() > 1);
            assert_eq!(first, sources(Precision::Double, -0.7, pair));
        }
    }

    /// Runs where NVIDIA's compiler is found.
    #[test]
    fn the_sources_compile_for_devices() {
        for precision in [Precision::Double, Precision::Single] {
            for pair in [false, true] {
                for capability in [(7, 0), (8, 0), (9, 0)] {
                    let text = &sources(precision, 0.1, pair)[0];
                    let Some(code) = nvrtc::tests::compiled(text, precision, capability) else {
                        return;
                    };
                    match code {
                        Ok(code) => assert!(code.starts_with(b"\x7fELF")),
                        // A compiler that is newer than the device.
                        Err(e) => {
                            assert!(
                                e.to_string().contains("invalid value for --gpu-architecture"),
                                "{e}"
                            )
                        }
                    }
                }
            }
        }
    }
}
