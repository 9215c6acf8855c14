//! OpenQASM 3 with classical values: integers of a size that depend on measurements, conditions,
//! loops. The reference follows every outcome with the values that it has.

use std::{collections::BTreeMap, fmt::Write};

use ketgrad_core::{
    param::Values,
    print,
    qasm::{QasmOptions, parse},
    simulate::{BoundCircuit, Simulator},
};
use num_complex::Complex;
use support::{
    dense::{C, DenseState, named, pauli, product},
    pools::{Pool, PoolCircuit, PoolGate},
    random::Rng,
};

use crate::finding::{Checked, Finding, guarded, minimal};

const ROUNDING: f64 = 1e-10;
/// Largest number of branches, and of statements, that a case may take.
const MOST: usize = 300;

/// The integer type of all variables of a text.
#[derive(Clone, Copy, Debug)]
struct Type {
    signed: bool,
    width: u32,
}

impl Type {
    fn name(self) -> String {
        format!("{}[{}]", if self.signed { "int" } else { "uint" }, self.width)
    }
    /// The value of the type that differs by a multiple of `2^width`.
    fn wrap(self, x: i128) -> i128 {
        let turn = 1i128 << self.width;
        let x = x.rem_euclid(turn);
        if self.signed && x >= turn / 2 { x - turn } else { x }
    }
}

/// An integer.
#[derive(Clone, Debug)]
enum Expr {
    Lit(i128),
    Var(usize),
    /// A loop variable.
    Counter(usize),
    /// A bit, cast.
    Bit(usize),
    Infix(&'static str, Box<Expr>, Box<Expr>),
    Flip(Box<Expr>),
    Neg(Box<Expr>),
}

#[derive(Clone, Debug)]
enum Cond {
    Bit(usize),
    Compare(&'static str, Expr, Expr),
    Both(&'static str, Box<Cond>, Box<Cond>),
    Not(Box<Cond>),
}

#[derive(Clone, Debug)]
enum Stmt {
    Gate(PoolGate),
    /// A rotation by a multiple of pi/8.
    Turn(&'static str, Expr, usize),
    Measure(usize, usize),
    Reset(usize),
    Assign(usize, &'static str, Expr),
    SetBit(usize, bool),
    If(Cond, Vec<Stmt>, Vec<Stmt>),
    /// A loop variable by its number, and its bounds.
    For(usize, i128, i128, Vec<Stmt>),
    Switch(Expr, Vec<(i128, Vec<Stmt>)>, Vec<Stmt>),
}

#[derive(Clone, Debug)]
struct Text {
    ty: Type,
    n_qubits: usize,
    n_bits: usize,
    start: Vec<i128>,
    stmts: Vec<Stmt>,
}

struct Drawing<'a> {
    rng: &'a mut Rng,
    ty: Type,
    n_qubits: usize,
    n_bits: usize,
    n_vars: usize,
    counters: usize,
    /// Loop variables in scope.
    live: Vec<usize>,
}

impl Drawing<'_> {
    fn literal(&mut self) -> i128 {
        self.ty.wrap(i128::from(self.rng.bits() >> 16))
    }

    /// An expression of the type, not a literal.
    fn typed(&mut self, depth: usize) -> Expr {
        if depth == 0 || self.rng.below(3) == 0 {
            return match self.rng.below(5) {
                0 => Expr::Bit(self.rng.below(self.n_bits)),
                1 if !self.live.is_empty() => {
                    Expr::Counter(self.live[self.rng.below(self.live.len())])
                }
                _ => Expr::Var(self.rng.below(self.n_vars)),
            };
        }
        let left = Box::new(self.typed(depth - 1));
        match self.rng.below(10) {
            0 => Expr::Flip(left),
            1 if self.ty.signed => Expr::Neg(left),
            2 | 3 => {
                // By numbers that are not 0 and fit.
                let by = 1 + self.rng.below(
                    if self.ty.signed { 1 << (self.ty.width - 1) } else { 1 << self.ty.width } - 1,
                );
                Expr::Infix(["/", "%"][self.rng.below(2)], left, Expr::Lit(by as i128).into())
            }
            4 => {
                let by = self.rng.below(self.ty.width as usize) as i128;
                Expr::Infix(["<<", ">>"][self.rng.below(2)], left, Expr::Lit(by).into())
            }
            _ => {
                let op = ["+", "-", "*", "&", "|", "^", "+"][self.rng.below(7)];
                let right = if self.rng.below(2) == 0 {
                    Expr::Lit(self.literal())
                } else {
                    self.typed(depth - 1)
                };
                Expr::Infix(op, left, right.into())
            }
        }
    }

    fn cond(&mut self, depth: usize) -> Cond {
        match self.rng.below(6) {
            0 | 1 => Cond::Bit(self.rng.below(self.n_bits)),
            2 if depth > 0 => Cond::Not(self.cond(depth - 1).into()),
            3 if depth > 0 => {
                let op = ["&&", "||"][self.rng.below(2)];
                Cond::Both(op, self.cond(depth - 1).into(), self.cond(depth - 1).into())
            }
            _ => {
                let op = ["==", "!=", "<", "<=", ">", ">="][self.rng.below(6)];
                let left = self.typed(1);
                let right =
                    if self.rng.below(2) == 0 { Expr::Lit(self.literal()) } else { self.typed(1) };
                Cond::Compare(op, left, right)
            }
        }
    }

    fn block(&mut self, len: usize, depth: usize) -> Vec<Stmt> {
        (0..len).map(|_| self.stmt(depth)).collect()
    }

    fn stmt(&mut self, depth: usize) -> Stmt {
        let len = 1 + self.rng.below(3);
        let q = self.rng.below(self.n_qubits);
        match self.rng.below(if depth == 0 { 8 } else { 12 }) {
            0 | 1 => {
                let gates =
                    PoolCircuit::draw(Pool::CliffordT, self.n_qubits, 1, self.rng.bits() | 1).gates;
                gates.last().cloned().map_or(Stmt::Reset(q), Stmt::Gate)
            }
            2 => Stmt::Turn(["rx", "ry", "p"][self.rng.below(3)], self.typed(1), q),
            3 => Stmt::Measure(q, self.rng.below(self.n_bits)),
            4 if self.rng.below(2) == 0 => Stmt::Reset(q),
            4 => Stmt::SetBit(self.rng.below(self.n_bits), self.rng.below(2) == 0),
            5..8 => {
                let op = ["=", "+=", "-=", "*=", "^=", "&=", "|=", "="][self.rng.below(8)];
                let value =
                    if self.rng.below(4) == 0 { Expr::Lit(self.literal()) } else { self.typed(2) };
                Stmt::Assign(self.rng.below(self.n_vars), op, value)
            }
            8 | 9 => {
                let cond = self.cond(1);
                let yes = self.block(len, depth - 1);
                let count = self.rng.below(3);
                Stmt::If(cond, yes, self.block(count, depth - 1))
            }
            10 => {
                let counter = self.counters;
                self.counters += 1;
                // What every type holds: `int[2]` ends at 1.
                let (from, rounds) = (-(self.rng.below(2) as i128), self.rng.below(3) as i128);
                let from = if self.ty.signed { from } else { -from };
                self.live.push(counter);
                let body = self.block(len, depth - 1);
                self.live.pop();
                let last = if self.ty.signed { 1 } else { 3 };
                Stmt::For(counter, from, (from + rounds).min(last), body)
            }
            _ => {
                let of = self.typed(1);
                let mut labels: Vec<i128> =
                    (0..1 + self.rng.below(3)).map(|_| self.literal()).collect();
                labels.sort_unstable();
                labels.dedup();
                let cases =
                    labels.into_iter().map(|label| (label, self.block(1, depth - 1))).collect();
                Stmt::Switch(of, cases, self.block(1, depth - 1))
            }
        }
    }
}

impl Text {
    fn draw(rng: &mut Rng) -> Text {
        let ty = Type { signed: rng.below(2) == 0, width: [2, 3, 4, 5, 8][rng.below(5)] };
        let (n_qubits, n_bits, n_vars) = (1 + rng.below(3), 1 + rng.below(3), 1 + rng.below(2));
        let mut drawing =
            Drawing { rng, ty, n_qubits, n_bits, n_vars, counters: 0, live: Vec::new() };
        let start = (0..n_vars).map(|_| drawing.literal()).collect();
        let mut stmts = vec![Stmt::Gate(PoolGate::new("h", &[], &[0])), Stmt::Measure(0, 0)];
        let len = 2 + drawing.rng.below(8);
        stmts.extend(drawing.block(len, 2));
        Text { ty, n_qubits, n_bits, start, stmts }
    }

    fn source(&self) -> String {
        let ty = self.ty.name();
        let mut out = format!(
            "OPENQASM 3.0;\ninclude \"stdgates.inc\";\nqubit[{}] q;\nbit[{}] c;\n",
            self.n_qubits, self.n_bits
        );
        for (k, value) in self.start.iter().enumerate() {
            let _ = writeln!(out, "{ty} v{k} = {value};");
        }
        self.write_block(&mut out, &self.stmts, 0);
        for k in 0..self.start.len() {
            let width = self.ty.width;
            let _ = writeln!(out, "bit[{width}] o{k} = bit[{width}](v{k});");
        }
        out
    }

    fn expr(&self, expr: &Expr) -> String {
        match expr {
            Expr::Lit(n) if *n < 0 => format!("({n})"),
            Expr::Lit(n) => n.to_string(),
            Expr::Var(k) => format!("v{k}"),
            Expr::Counter(k) => format!("i{k}"),
            Expr::Bit(k) => format!("{}(c[{k}])", self.ty.name()),
            Expr::Infix(op, a, b) => format!("({} {op} {})", self.expr(a), self.expr(b)),
            Expr::Flip(a) => format!("(~{})", self.expr(a)),
            Expr::Neg(a) => format!("(-{})", self.expr(a)),
        }
    }

    fn cond(&self, cond: &Cond) -> String {
        match cond {
            Cond::Bit(k) => format!("c[{k}]"),
            Cond::Compare(op, a, b) => format!("({} {op} {})", self.expr(a), self.expr(b)),
            Cond::Both(op, a, b) => format!("({} {op} {})", self.cond(a), self.cond(b)),
            Cond::Not(a) => format!("!{}", self.cond(a)),
        }
    }

    fn write_block(&self, out: &mut String, stmts: &[Stmt], depth: usize) {
        let pad = "  ".repeat(depth);
        for stmt in stmts {
            let _ = match stmt {
                Stmt::Gate(gate) => writeln!(out, "{pad}{gate}"),
                Stmt::Turn(name, by, q) => {
                    writeln!(out, "{pad}{name}({} * pi / 8) q[{q}];", self.expr(by))
                }
                Stmt::Measure(q, bit) => writeln!(out, "{pad}c[{bit}] = measure q[{q}];"),
                Stmt::Reset(q) => writeln!(out, "{pad}reset q[{q}];"),
                Stmt::Assign(k, op, value) => writeln!(out, "{pad}v{k} {op} {};", self.expr(value)),
                Stmt::SetBit(bit, value) => writeln!(out, "{pad}c[{bit}] = {};", u8::from(*value)),
                Stmt::If(cond, yes, no) => {
                    let _ = writeln!(out, "{pad}if ({}) {{", self.cond(cond));
                    self.write_block(out, yes, depth + 1);
                    if !no.is_empty() {
                        let _ = writeln!(out, "{pad}}} else {{");
                        self.write_block(out, no, depth + 1);
                    }
                    writeln!(out, "{pad}}}")
                }
                Stmt::For(k, from, to, body) => {
                    let _ = writeln!(out, "{pad}for {} i{k} in [{from}:{to}] {{", self.ty.name());
                    self.write_block(out, body, depth + 1);
                    writeln!(out, "{pad}}}")
                }
                Stmt::Switch(of, cases, otherwise) => {
                    let _ = writeln!(out, "{pad}switch ({}) {{", self.expr(of));
                    for (label, body) in cases {
                        let _ = writeln!(out, "{pad}  case {label} {{");
                        self.write_block(out, body, depth + 2);
                        let _ = writeln!(out, "{pad}  }}");
                    }
                    let _ = writeln!(out, "{pad}  default {{");
                    self.write_block(out, otherwise, depth + 2);
                    writeln!(out, "{pad}  }}\n{pad}}}")
                }
            };
        }
    }
}

/// State of one outcome.
#[derive(Clone, Debug)]
struct Branch {
    state: DenseState,
    bits: Vec<bool>,
    vars: Vec<i128>,
    counters: BTreeMap<usize, i128>,
}

struct Run {
    ty: Type,
    steps: usize,
}

impl Run {
    fn expr(&self, expr: &Expr, branch: &Branch) -> i128 {
        let of = |e: &Expr| self.expr(e, branch);
        let exact = match expr {
            Expr::Lit(n) => *n,
            Expr::Var(k) => branch.vars[*k],
            Expr::Counter(k) => branch.counters.get(k).copied().unwrap_or(0),
            // One bit of an `int[1]`-like cast: 0 or 1.
            Expr::Bit(k) => i128::from(branch.bits[*k]),
            Expr::Flip(a) => !of(a),
            Expr::Neg(a) => -of(a),
            Expr::Infix(op, a, b) => {
                let (a, b) = (of(a), of(b));
                match *op {
                    "+" => a + b,
                    "-" => a - b,
                    "*" => a * b,
                    "/" => a / b,
                    "%" => a % b,
                    "&" => a & b,
                    "|" => a | b,
                    "^" => a ^ b,
                    "<<" => a << b,
                    _ => a >> b,
                }
            }
        };
        self.ty.wrap(exact)
    }

    fn cond(&self, cond: &Cond, branch: &Branch) -> bool {
        match cond {
            Cond::Bit(k) => branch.bits[*k],
            Cond::Compare(op, a, b) => {
                let order = self.expr(a, branch).cmp(&self.expr(b, branch));
                match *op {
                    "==" => order.is_eq(),
                    "!=" => order.is_ne(),
                    "<" => order.is_lt(),
                    "<=" => order.is_le(),
                    ">" => order.is_gt(),
                    _ => order.is_ge(),
                }
            }
            Cond::Both("&&", a, b) => self.cond(a, branch) && self.cond(b, branch),
            Cond::Both(_, a, b) => self.cond(a, branch) || self.cond(b, branch),
            Cond::Not(a) => !self.cond(a, branch),
        }
    }

    fn block(&mut self, stmts: &[Stmt], branches: Vec<Branch>) -> Option<Vec<Branch>> {
        let mut branches = branches;
        for stmt in stmts {
            let mut after = Vec::new();
            for branch in branches {
                self.steps += 1;
                after.extend(self.stmt(stmt, branch)?);
            }
            branches = after;
            if branches.len() > MOST || self.steps > 20 * MOST {
                return None;
            }
        }
        Some(branches)
    }

    fn stmt(&mut self, stmt: &Stmt, mut branch: Branch) -> Option<Vec<Branch>> {
        let to = [vec![C::ONE, C::ZERO, C::ZERO, C::ZERO], vec![C::ZERO, C::ZERO, C::ZERO, C::ONE]];
        match stmt {
            Stmt::Gate(gate) => gate.apply(&mut branch.state),
            Stmt::Turn(name, by, q) => {
                let angle = self.expr(by, &branch) as f64 * std::f64::consts::PI / 8.0;
                branch.state.apply(&named(name, &[angle]).matrix, &[*q], &[]);
            }
            Stmt::Measure(q, bit) => {
                let mut parts = [branch.clone(), branch];
                for (value, part) in parts.iter_mut().enumerate() {
                    part.state.apply(&to[value], &[*q], &[]);
                    part.bits[*bit] = value == 1;
                }
                return Some(parts.into_iter().filter(|b| b.state.norm2() > 1e-14).collect());
            }
            Stmt::Reset(q) => {
                let mut parts = [branch.clone(), branch];
                let lower = product(&pauli('X'), &to[1]);
                parts[0].state.apply(&to[0], &[*q], &[]);
                parts[1].state.apply(&lower, &[*q], &[]);
                return Some(parts.into_iter().filter(|b| b.state.norm2() > 1e-14).collect());
            }
            Stmt::Assign(k, op, value) => {
                let (old, x) = (branch.vars[*k], self.expr(value, &branch));
                branch.vars[*k] = self.ty.wrap(match *op {
                    "=" => x,
                    "+=" => old + x,
                    "-=" => old - x,
                    "*=" => old * x,
                    "^=" => old ^ x,
                    "&=" => old & x,
                    _ => old | x,
                });
            }
            Stmt::SetBit(bit, value) => branch.bits[*bit] = *value,
            Stmt::If(cond, yes, no) => {
                let body = if self.cond(cond, &branch) { yes } else { no };
                return self.block(body, vec![branch]);
            }
            Stmt::For(k, from, to, body) => {
                let mut branches = vec![branch];
                for i in *from..=*to {
                    let value = self.ty.wrap(i);
                    branches.iter_mut().for_each(|b| _ = b.counters.insert(*k, value));
                    branches = self.block(body, branches)?;
                }
                return Some(branches);
            }
            Stmt::Switch(of, cases, otherwise) => {
                let value = self.expr(of, &branch);
                let case = cases.iter().find(|case| case.0 == value);
                return self.block(case.map_or(otherwise, |case| &case.1), vec![branch]);
            }
        }
        Some(vec![branch])
    }
}

/// One seed.
pub(crate) fn check(rng: &mut Rng) -> Checked {
    let drawn = Text::draw(rng);
    let of = |stmts: &[Stmt]| {
        let text = Text { stmts: stmts.to_vec(), ..drawn.clone() };
        guarded(&text.source(), || laws(&text))
    };
    of(&drawn.stmts).map_err(|found| minimal(&drawn.stmts, found, 200, of))
}

fn digits(value: i128, width: u32) -> String {
    (0..width).rev().map(|k| if value >> k & 1 == 1 { '1' } else { '0' }).collect()
}

fn laws(text: &Text) -> Checked {
    let mut run = Run { ty: text.ty, steps: 0 };
    let start = Branch {
        state: DenseState::zero(text.n_qubits),
        bits: vec![false; text.n_bits],
        vars: text.start.clone(),
        counters: BTreeMap::new(),
    };
    let Some(branches) = run.block(&text.stmts, vec![start]) else { return Ok(()) };
    let mut right: BTreeMap<String, f64> = BTreeMap::new();
    for branch in &branches {
        let mut parts: Vec<String> =
            branch.vars.iter().rev().map(|v| digits(*v, text.ty.width)).collect();
        parts.push(branch.bits.iter().rev().map(|b| if *b { '1' } else { '0' }).collect());
        *right.entry(parts.join(" ")).or_insert(0.0) += branch.state.norm2();
    }
    let source = text.source();
    let failed = |law: &str, detail: String| Finding::new(law, detail, &source);
    let read = |source: &str| {
        let parsed = parse(source, &QasmOptions::default().with_max_gates(200_000));
        parsed.map(|p| p.circuit).map_err(|e| e.to_string())
    };
    let simulator = Simulator::new().with_memory_limit(1 << 28);
    let distribution = |source: &str| -> Result<BTreeMap<String, f64>, String> {
        let circuit = read(source)?;
        let bound = BoundCircuit::<Complex<f64>>::new(&circuit, &Values::<f64>(&[]))
            .map_err(|e| e.to_string())?;
        let given = simulator.distribution::<f64, _>(&bound, 1 << 12).map_err(|e| e.to_string())?;
        let mut sums = BTreeMap::new();
        given.iter().for_each(|(bits, p)| *sums.entry(bits.text(&circuit)).or_insert(0.0) += p);
        Ok(sums)
    };
    let given =
        distribution(&source).map_err(|e| failed(&format!("texts are read: {}", wordy(&e)), e))?;
    same(&given, &right).map_err(|detail| failed("classical values are right", detail))?;
    let circuit = read(&source).map_err(|e| failed("texts are read", e))?;
    let printed =
        print::to_qasm3(&circuit).map_err(|e| failed("circuits are printed", e.to_string()))?;
    let again = distribution(&printed)
        .map_err(|e| failed("printed texts are read", format!("{e}\n{printed}")))?;
    same(&again, &right)
        .map_err(|detail| failed("printed texts mean the same", format!("{detail}\n{printed}")))?;
    let shots = simulator
        .run_shots::<f64>(&circuit, &[], 500, 1)
        .map_err(|e| failed("shots are taken", e.to_string()))?;
    match shots.keys().find(|key| right.get(*key).is_none_or(|p| *p < 1e-9)) {
        Some(key) => {
            Err(failed("shots give what can be", format!("{key} in {shots:?}, not in {right:?}")))
        }
        None => Ok(()),
    }
}

fn same(given: &BTreeMap<String, f64>, right: &BTreeMap<String, f64>) -> Result<(), String> {
    for key in given.keys().chain(right.keys()) {
        let (p, r) = (given.get(key).unwrap_or(&0.0), right.get(key).unwrap_or(&0.0));
        if (p - r).abs() > ROUNDING || p.is_nan() {
            return Err(format!("{key} has {p} instead of {r}: {given:?} instead of {right:?}"));
        }
    }
    Ok(())
}

/// A message without what changes from text to text.
fn wordy(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let after = first.splitn(4, ':').last().unwrap_or_default();
    after.chars().filter(|c| !c.is_ascii_digit()).collect()
}
