//! The laws that every derivative obeys, over the op table and over random programs.
//!
//! - `<y_bar, J x_dot> = <J^T y_bar, x_dot>`: pullback and pushforward are adjoint to each other.
//! - The adjoint is what dual numbers and differences say.
//! - Every pass keeps the value. Printing and parsing are inverse.
//! - Reverse over reverse is forward over reverse.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    exec::{
        Batch, Bytecode, Datum, Derivatives, Executable, Limits, Machine, NoHost,
        inspect::{Counter, Inspection, jacobian_pattern},
    },
    ir::{self, Program},
    pass::{Level, optimize_all},
    scalar::{Real, Scalar},
    text::parse_program,
};
use num_dual::Dual64;
use rand_chacha::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};

/// Two ways of summing the same terms.
const TOLERANCE: f64 = 1e-9;

struct Dice(ChaCha8Rng);
impl Dice {
    fn new(seed: u64) -> Dice {
        Dice(ChaCha8Rng::seed_from_u64(seed))
    }
    fn below(&mut self, n: u32) -> u32 {
        self.0.next_u32() % n
    }
    fn between(&mut self, a: f64, b: f64) -> f64 {
        a + (b - a) * f64::from(self.0.next_u32()) / f64::from(u32::MAX)
    }
}

/// A random program with loops, branches, recursion and arrays. It terminates, and its values stay small:
/// every assignment goes through a bounded function.
struct Generator {
    dice: Dice,
    text: String,
    variables: Vec<String>,
    ints: Vec<String>,
    fresh: u32,
    depth: u32,
}

impl Generator {
    fn program(seed: u64) -> String {
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

fn reals<S: Scalar>(xs: &[f64]) -> Vec<Datum<S>> {
    xs.iter().map(|&x| Datum::Real(S::Real::lit_of(x))).collect()
}
trait Lit: Sized {
    fn lit_of(x: f64) -> Self;
}
impl<T: Real> Lit for T {
    fn lit_of(x: f64) -> T {
        T::lit(x)
    }
}

fn numbers(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Real(x) => vec![*x],
        Datum::Reals(xs) => xs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

#[track_caller]
fn close(a: f64, b: f64, context: &str) {
    assert!((a - b).abs() <= TOLERANCE * (1.0 + a.abs() + b.abs()), "{a} is not {b}\n{context}");
}

fn run<T: Real, S: Scalar<Real = T>>(
    program: &Program,
    f: ketgrad_core::entity::FuncId,
    args: &[Datum<S>],
) -> Datum<S> {
    let code = Bytecode::compile(program, f).unwrap();
    code.call(&mut Machine::new(), &NoHost, &Limits::default(), args).unwrap()
}

/// How many random programs in each of two tests, which run side by side.
const PROGRAMS: u64 = 500;
/// Every so many programs the other ways to the same gradient are compared too.
const OTHER_WAYS: u64 = 4;
/// Every so many programs the second derivatives are compared too.
const SECOND_ORDER: u64 = 20;

#[test]
fn random_programs_obey_the_laws() {
    check(0..PROGRAMS);
}

#[test]
fn more_random_programs_obey_the_laws() {
    check(PROGRAMS..2 * PROGRAMS);
}

fn check(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let source = Generator::program(seed);
        let program = parse_program(&source).unwrap_or_else(|e| panic!("{seed}: {}\n{source}", e[0]));
        assert!(ir::verify(&program).is_empty(), "{seed}: {:?}\n{source}\n{program}", ir::verify(&program));
        // Text and back.
        let text = program.to_string();
        let again = ir::parse(&text).unwrap_or_else(|e| panic!("{seed}: {}\n{text}", e[0]));
        assert_eq!(again.to_string(), text, "{seed}");
        assert_eq!(again, program, "{seed}");
        let mut dice = Dice::new(seed + 1_000_000);
        let x: Vec<f64> = (0..3).map(|_| dice.between(-1.5, 1.5)).collect();
        let dots: Vec<f64> = (0..3).map(|_| dice.between(-1.0, 1.0)).collect();
        let f = program.lookup("f").unwrap();
        let value = run::<f64, f64>(&program, f, &reals::<f64>(&x));
        let context = format!("seed {seed}\n{source}");

        let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
        let (y, g) = d.value_and_gradient(&reals::<f64>(&x)).unwrap();
        let g: Vec<f64> = g.iter().flat_map(numbers).collect();
        close(y, numbers(&value)[0], &context);
        // Forward and reverse are adjoint to each other.
        let (_, dot) = d.jvp(&reals::<f64>(&x), &reals::<f64>(&dots)).unwrap();
        close(numbers(&dot)[0], g.iter().zip(&dots).map(|(a, b)| a * b).sum(), &context);
        // Dual numbers through the function itself.
        let dual: Vec<Datum<Dual64>> =
            x.iter().zip(&dots).map(|(&x, &d)| Datum::Real(Dual64::new(x, d))).collect();
        let Datum::Real(by_dual) = run::<Dual64, Dual64>(&program, f, &dual) else { panic!("{context}") };
        close(by_dual.eps, numbers(&dot)[0], &context);
        // Without optimisation, and with the separate pullback.
        if seed % OTHER_WAYS != 0 {
            continue;
        }
        let mut plain = Derivatives::<f64>::new(&program, "f").unwrap().with_level(Level::None);
        let (y0, g0) = plain.value_and_gradient(&reals::<f64>(&x)).unwrap();
        close(y0, y, &context);
        g0.iter().flat_map(numbers).zip(&g).for_each(|(a, b)| close(a, *b, &context));
        let mut pulled = d.pullback(&reals::<f64>(&x)).unwrap();
        for _ in 0..2 {
            let bars = pulled.call(Datum::Real(1.0)).unwrap();
            bars.iter().flat_map(numbers).zip(&g).for_each(|(a, b)| close(a, *b, &context));
        }
        // Watched and side by side the bits are the same; what moves the result is in the pattern.
        let bits = |d: &Datum<f64>| numbers(d)[0].to_bits();
        let mut inspection = Inspection::<f64>::new(&program, "f").unwrap();
        let watched = inspection.run(&reals::<f64>(&x), &mut Counter::default()).unwrap();
        assert_eq!(bits(&watched), bits(&value), "{context}");
        let pattern = jacobian_pattern(&program, "f", &reals::<f64>(&x)).unwrap();
        let missing = (0..3).find(|k| g[*k] != 0.0 && !pattern.rows[0].contains(k));
        assert_eq!(missing, None, "{context}");
        let points: Vec<_> = (0..5).map(|k| reals::<f64>(&[x[0] + 0.3 * f64::from(k), x[1], x[2]])).collect();
        let mut batch = Batch::<f64, 4>::new(Bytecode::compile(&program, f).unwrap());
        for (point, y) in points.iter().zip(batch.call(&points)) {
            assert_eq!(bits(&y.unwrap()), bits(&run::<f64, f64>(&program, f, point)), "{context}");
        }
        // Second order: forward over reverse, reverse over reverse, and duals through the gradient.
        if seed % SECOND_ORDER == 0 {
            let (_, hv) = d.hvp(&reals::<f64>(&x), &reals::<f64>(&dots)).unwrap();
            let hv: Vec<f64> = hv.iter().flat_map(numbers).collect();
            let mut p = program.clone();
            let second = adjoint::second(&mut p, f).unwrap();
            assert!(ir::verify(&p).is_empty(), "{:?}\n{context}", ir::verify(&p).first());
            optimize_all(&mut p, second, Level::Strict);
            let mut args = reals::<f64>(&x);
            args.push(Datum::Tuple(
                std::iter::once(0.0).chain(dots.iter().copied()).map(Datum::Real).collect(),
            ));
            let rr = run::<f64, f64>(&p, second, &args);
            let rr: Vec<f64> = rr.fields()[1..].iter().flat_map(numbers).collect();
            hv.iter().zip(&rr).for_each(|(a, b)| close(*a, *b, &context));
            let mut over = Derivatives::<Dual64>::new(&program, "f").unwrap();
            let by_dual = over.gradient(&dual).unwrap();
            for (d, h) in by_dual.iter().zip(&hv) {
                let Datum::Real(d) = d else { panic!("{context}") };
                close(d.eps, *h, &context);
            }
        }
    }
}
