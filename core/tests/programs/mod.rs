//! Random programs, for tests of whatever reads, runs or writes programs.
#![allow(dead_code, reason = "each test file uses a part")]

use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Seeded random numbers.
pub(crate) struct Dice(ChaCha8Rng);
impl Dice {
    pub(crate) fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }
    fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }
    pub(crate) fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * f64::from(self.0.next_u32()) / f64::from(u32::MAX)
    }
}

/// A random program with loops, branches, recursion and arrays. It terminates, and its values stay small:
/// every assignment goes through a bounded function.
pub(crate) struct Generator {
    dice: Dice,
    text: String,
    variables: Vec<String>,
    ints: Vec<String>,
    fresh: u32,
    depth: u32,
}

impl Generator {
    pub(crate) fn program(seed: u64) -> String {
        let dice = Dice::new(seed);
        let mut g =
            Generator { dice, text: String::new(), variables: vec![], ints: vec![], fresh: 0, depth: 0 };
        g.text.push_str(
            "fn helper(x, n: int) { if n <= 0 { x } else { sin(x) + 0.5 * helper(x * 0.7 + 0.1, n - 1) } }\n",
        );
        g.text.push_str("struct P { u, v }\nfn norm(p: P) { sqrt(p.u * p.u + p.v * p.v + 0.5) }\n");
        g.text.push_str("fn f(a, b, c) {\nlet mut xs = [a, b, c, a * b];\n");
        g.variables = ["a", "b", "c"].map(String::from).to_vec();
        for _ in 0..3 {
            let name = g.name("m");
            let e = g.expr(2);
            g.text.push_str(&format!("let mut {name} = {e};\n"));
            g.variables.push(name);
        }
        for _ in 0..2 + g.dice.below(4) {
            g.statement();
        }
        let e = g.expr(3);
        g.text.push_str(&format!("{e} + xs[0] * xs[3] + m1\n}}\n"));
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
                0 => format!("{:.3}", self.dice.between(-2.0, 2.0)),
                1 => {
                    let i = self.index();
                    format!("xs[{i}]")
                }
                _ => self.pick(),
            };
        }
        let (x, y) = (self.expr(depth - 1), self.expr(depth - 1));
        match self.dice.below(13) {
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
            _ => format!("(if {x} < {y} {{ {y} }} else {{ 0.5 * ({x}) }})"),
        }
    }
    fn assignment(&mut self) {
        let e = self.expr(2);
        if self.dice.below(3) == 0 {
            let i = self.index();
            let op = ["=", "+=", "*="][self.dice.below(3) as usize];
            self.text.push_str(&format!("xs[{i}] {op} tanh({e});\n"));
        } else {
            let mutable: Vec<String> =
                self.variables.iter().filter(|v| v.starts_with('m')).cloned().collect();
            let k = self.dice.below(mutable.len() as u32) as usize;
            let op = ["=", "+=", "-=", "*="][self.dice.below(4) as usize];
            self.text.push_str(&format!("{} {op} tanh({e});\n", mutable[k]));
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
                self.text.push_str(&format!("let {name} = {e};\n"));
                self.variables.push(name);
            }
            4 | 5 => {
                let (x, y) = (self.expr(1), self.expr(1));
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
                        self.text.push_str(&format!("if {x} > 0.9 && {i} > 0 {{ break; }}\n"));
                    }
                    1 => self.text.push_str(&format!("if {i} == 1 {{ continue; }}\n")),
                    2 => {
                        let (x, y) = (self.pick(), self.pick());
                        self.text.push_str(&format!("if {x} > 1.7 {{ return {y} * {x}; }}\n"));
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
