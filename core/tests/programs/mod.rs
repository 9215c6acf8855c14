//! Random programs with loops, branches, recursion, arrays and structs.
//!
//! They terminate, and their values stay small: every assignment goes through a bounded function.
//! The same seed gives the same program everywhere.

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Header of all programs on real numbers.
const REAL: &str =
    "fn helper(x, n: int) { if n <= 0 { x } else { sin(x) + 0.5 * helper(x * 0.7 + 0.1, n - 1) } }
struct P { u, v }
fn norm(p: P) { sqrt(p.u * p.u + p.v * p.v + 0.5) }
";

/// The same on complex numbers. `q` is bounded by a half, so the functions after it stay off their
/// cuts.
const COMPLEX: &str = "fn q(z: complex) { z / (1 + abs2(z)) }
fn helper(x: complex, n: int) -> complex { if n <= 0 { x } else { sin(q(x)) + 0.5 * helper(x * complex(0.5, 0.4) + 0.1, n - 1) } }
struct P { u: complex, v: complex }
fn norm(p: P) { sqrt(q(p.u) * q(p.v) + 1.5) }
";

/// A stream of random numbers.
pub(crate) struct Dice(ChaCha8Rng);
impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }
    pub(crate) fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }
    pub(crate) fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * f64::from(self.0.next_u32()) / f64::from(u32::MAX)
    }
}

/// Writes one program.
pub(crate) struct Generator {
    dice: Dice,
    text: String,
    variables: Vec<String>,
    ints: Vec<String>,
    fresh: u32,
    depth: u32,
    complex: bool,
}

impl Generator {
    /// A program on real numbers, with the function `f(a, b, c)`.
    pub(crate) fn real(seed: u64) -> String {
        Generator::program(seed, false, REAL)
    }
    /// A program on complex numbers, with the function `f(a, b, c)` and the real `loss(a, b, c)`.
    pub(crate) fn complex(seed: u64) -> String {
        Generator::program(seed, true, COMPLEX)
    }
    fn program(seed: u64, complex: bool, prelude: &str) -> String {
        let (dice, text) = (Dice::new(seed), prelude.to_owned());
        let mut g =
            Generator { dice, text, variables: vec![], ints: vec![], fresh: 0, depth: 0, complex };
        let params = if complex { "a: complex, b: complex, c: complex" } else { "a, b, c" };
        g.text.push_str(&format!("fn f({params}) {{\nlet mut xs = [a, b, c, a * b];\n"));
        g.variables = ["a", "b", "c"].map(String::from).to_vec();
        for _ in 0..3 {
            let name = g.name("m");
            let e = g.expr(2);
            // A sum with a complex number is one, whatever the expression.
            let e = if complex { format!("{e} + 0.0 * a") } else { e };
            g.text.push_str(&format!("let mut {name} = {e};\n"));
            g.variables.push(name);
        }
        for _ in 0..2 + g.dice.below(4) {
            g.statement();
        }
        let e = g.expr(3);
        g.text.push_str(&format!("{e} + xs[0] * xs[3] + m1\n}}\n"));
        if complex {
            g.text.push_str(&format!("fn loss({params}) {{ abs2(f(a, b, c)) }}\n"));
        }
        g.text
    }
    fn name(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }
    fn pick(&mut self) -> String {
        let k = self.dice.below(self.variables.len() as u32) as usize;
        self.variables[k].clone()
    }
    fn index(&mut self) -> String {
        match self.ints.last() {
            Some(i) if self.dice.below(2) == 0 => format!("{i} % 4"),
            _ => self.dice.below(4).to_string(),
        }
    }
    fn expr(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.dice.below(4) {
                0 if self.complex => {
                    format!(
                        "complex({:.3}, {:.3})",
                        self.dice.between(-2.0, 2.0),
                        self.dice.between(-2.0, 2.0)
                    )
                }
                0 => format!("{:.3}", self.dice.between(-2.0, 2.0)),
                1 => {
                    let i = self.index();
                    format!("xs[{i}]")
                }
                _ => self.pick(),
            };
        }
        let (x, y) = (self.expr(depth - 1), self.expr(depth - 1));
        if self.complex { self.complex_expr(x, y) } else { self.real_expr(x, y) }
    }
    fn real_expr(&mut self, x: String, y: String) -> String {
        match self.dice.below(15) {
            0 | 1 => format!("({x} + {y})"),
            2 => format!("({x} - {y})"),
            3 | 4 => format!("({x} * {y})"),
            5 => format!("({x} / (1.5 + ({y}) * ({y})))"),
            6 => format!("sin({x})"),
            7 => format!("tanh({x})"),
            8 => format!("exp(-({x}) * ({x}))"),
            9 => format!("select({x} > {y}, {x}, sin({y}))"),
            10 => format!("norm(P {{ u: {x}, v: {y} }})"),
            11 => format!("helper({x}, {})", self.dice.below(4)),
            // Nothing flows back to these.
            12 => format!("({x} + {}({}))", self.stepwise(), self.pick()),
            13 => format!("({y} - 0.0 * {})", self.pick()),
            _ => format!("(if {x} < {y} {{ {y} }} else {{ 0.5 * ({x}) }})"),
        }
    }
    fn complex_expr(&mut self, x: String, y: String) -> String {
        match self.dice.below(17) {
            0 | 1 => format!("({x} + {y})"),
            2 => format!("({x} - {y})"),
            3 | 4 => format!("({x} * {y})"),
            5 => format!("({x} / (1.5 + abs2({y})))"),
            6 => format!("sin(q({x}))"),
            7 => format!("tanh(q({x}))"),
            8 => format!("exp(-q({x}))"),
            9 => format!("select(re({x}) > im({y}), {x}, conj({y}))"),
            10 => format!("norm(P {{ u: {x}, v: {y} }})"),
            11 => format!("helper({x}, {})", self.dice.below(4)),
            12 => format!("complex(re({x}), abs(q({y}) + 2.0))"),
            13 => format!("(arg(q({x}) + 1.0) * {y})"),
            14 => format!("pow(q({x}) + 1.0, q({y}))"),
            15 => format!("(im({x}) + powi({y}, 2))"),
            _ => format!("(if re({x}) < re({y}) {{ {y} + 0.0 * a }} else {{ 0.5 * ({x}) }})"),
        }
    }
    /// A function whose derivative is 0.
    fn stepwise(&mut self) -> &'static str {
        ["floor", "ceil", "round", "trunc", "sign"][self.dice.below(5) as usize]
    }
    /// A bounded function.
    fn bounded(&self) -> &'static str {
        if self.complex { "q" } else { "tanh" }
    }
    /// A real number of a value.
    fn real_of(&self, x: String) -> String {
        if self.complex { format!("re({x})") } else { x }
    }
    fn assignment(&mut self) {
        let e = self.expr(2);
        if self.dice.below(3) == 0 {
            let i = self.index();
            let op = ["=", "+=", "*="][self.dice.below(3) as usize];
            let bounded = self.bounded();
            self.text.push_str(&format!("xs[{i}] {op} {bounded}({e});\n"));
        } else {
            let mutable: Vec<String> =
                self.variables.iter().filter(|v| v.starts_with('m')).cloned().collect();
            let k = self.dice.below(mutable.len() as u32) as usize;
            let op = ["=", "+=", "-=", "*="][self.dice.below(4) as usize];
            let bounded = self.bounded();
            self.text.push_str(&format!("{} {op} {bounded}({e});\n", mutable[k]));
        }
    }
    fn block(&mut self) {
        self.depth += 1;
        let (n, known) = (1 + self.dice.below(3), self.variables.len());
        for _ in 0..n {
            self.statement();
        }
        self.variables.truncate(known);
        self.depth -= 1;
    }
    fn statement(&mut self) {
        match if self.depth >= 3 { 0 } else { self.dice.below(8) } {
            0..=2 => self.assignment(),
            3 => {
                let (name, e) = (self.name("l"), self.expr(2));
                let e = if self.complex { format!("{e} + 0.0 * a") } else { e };
                self.text.push_str(&format!("let {name} = {e};\n"));
                self.variables.push(name);
            }
            4 | 5 => {
                let (x, y) = (self.expr(1), self.expr(1));
                let (x, y) = (self.real_of(x), self.real_of(y));
                self.text.push_str(&format!("if {x} < {y} {{\n"));
                self.block();
                self.text.push_str("} else {\n");
                self.block();
                self.text.push_str("}\n");
            }
            _ => {
                let (i, n) = (self.name("i"), 1 + self.dice.below(4));
                self.text.push_str(&format!("for {i} in 0..{n} {{\n"));
                self.ints.push(i.clone());
                self.block();
                match self.dice.below(4) {
                    0 => {
                        let x = self.pick();
                        let x = self.real_of(x);
                        self.text.push_str(&format!("if {x} > 0.9 && {i} > 0 {{ break; }}\n"));
                    }
                    1 => self.text.push_str(&format!("if {i} == 1 {{ continue; }}\n")),
                    2 => {
                        let (x, y) = (self.pick(), self.pick());
                        let c = self.real_of(x.clone());
                        self.text.push_str(&format!("if {c} > 1.7 {{ return {y} * {x}; }}\n"));
                    }
                    _ => {}
                }
                self.assignment();
                self.ints.pop();
                self.text.push_str("}\n");
            }
        }
    }
}
