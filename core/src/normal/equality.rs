//! Whether two expressions are equal, decided at random points of prime fields.
//!
//! The difference is computed gate by gate, so to speak: every instruction of its function is carried out once modulo
//! a random prime, with random residues for the inputs. Sines, cosines and exponentials of sums `sum_j q_j m_j + a pi`
//! are there too: each product `m_j` gets a residue for `e^{i m_j / d}` of its own, d being the common denominator of its
//! coefficients, and multiples of pi are roots of unity. (Exponentials of different products, and the products, are
//! algebraically independent functions: the theorem of Ax.) Square roots of fractions are roots modulo a prime
//! that has them. Any other function of a normal form is a residue of its own.
//!
//! Residues that agree err with a probability that is bounded as for circuits ([`crate::equivalent`]). Residues that
//! differ prove a difference if nothing was left independent that is not; in any case numbers have to show it.

use std::collections::{BTreeMap, HashMap, HashSet};

use num_rational::Ratio;
use num_traits::{Signed, ToPrimitive};
use rand_chacha::rand_core::Rng;

use super::{
    NormalError,
    atoms::{Atom, Product, Wave},
    read::Line,
    sum::{Algebra, Q, Sum},
};
use crate::{
    entity::Value,
    field::{Modular, Point, PrimeField, Residue},
    ir::{InstData, Literal, Mixed, Number1, Number2, Op},
    param::{self, Angle, Binding},
    scalar::Ring,
    state::stream,
    trace::Expr,
};

/// The error up to which expressions are called equal.
const BOUND: f64 = 1e-9;
/// Trials, each with a prime of its own.
const TRIALS: u64 = 4;
/// Primes drawn until one has all roots.
const DRAWS: u64 = 64;
/// Arguments of functions with more terms are not taken apart.
const TERMS: usize = 256;
/// Points tried in numbers, and the relative difference that counts there.
const POINTS: usize = 24;
const TELLING: f64 = 1e-9;

/// What is true of two expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Equality {
    /// They are equal wherever both are defined.
    Equal {
        /// The probability that they are not.
        error_bound: f64,
    },
    /// They differ.
    Different {
        /// Inputs by name where they do.
        at: Vec<(String, f64)>,
        /// By how much there.
        difference: f64,
    },
    /// It could not be decided.
    Unknown {
        /// Why.
        reason: String,
    },
}

impl Expr {
    /// Whether two expressions are equal as functions of their inputs. O(size) for each of at most four trials, however
    /// large they would be multiplied out.
    ///
    /// ```
    /// use ketgrad_core::{normal::Equality, scalar::Scalar, trace::Expr};
    ///
    /// let (x, y) = (Expr::symbol("x"), Expr::symbol("y"));
    /// let left = (&x - &y).cos() * (&x + &y).cos();
    /// let right = x.cos().powi(2) - y.sin().powi(2);
    /// assert!(matches!(left.equality(&right, 1)?, Equality::Equal { error_bound } if error_bound < 1e-9));
    /// assert!(matches!(left.equality(&x.cos().powi(2), 1)?, Equality::Different { .. }));
    /// # Ok::<(), ketgrad_core::normal::NormalError>(())
    /// ```
    ///
    /// # Errors
    /// [`NormalError::Unsupported`] for a branch or a complex number; [`NormalError::Trace`].
    pub fn equality(&self, other: &Expr, seed: u64) -> Result<Equality, NormalError> {
        if self == other {
            return Ok(Equality::Equal { error_bound: 0.0 });
        }
        let line = Line::new(&(self - other))?;
        let plan = match Plan::new(&line) {
            Ok(plan) => plan,
            Err(NormalError::Unsupported { what }) => return Err(NormalError::Unsupported { what }),
            Err(e) => return confirm(self, other, seed, e.to_string()),
        };
        let mut bound = 1.0;
        for trial in 0..TRIALS {
            let seed = stream(seed, trial).next_u64();
            match plan.trial(&line, seed) {
                Ok((true, error)) => bound *= error,
                Ok((false, _)) => {
                    let reason = "they differ where functions are taken for independent";
                    return confirm(self, other, seed, reason.to_owned());
                }
                Err(reason) => return confirm(self, other, seed, reason),
            }
            if bound <= BOUND {
                break;
            }
        }
        Ok(Equality::Equal { error_bound: bound })
    }
}

/// *Different* if numbers show it, else unknown.
fn confirm(a: &Expr, b: &Expr, seed: u64, reason: String) -> Result<Equality, NormalError> {
    let mut names = a.symbols();
    names.extend(b.symbols().into_iter().filter(|name| !a.symbols().contains(name)));
    let mut rng = stream(seed, 1 << 32);
    for k in 0..POINTS {
        // Both signs first, then positive numbers, where logarithms and roots are defined.
        let mut draw = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let at: Vec<(String, f64)> = names
            .iter()
            .map(|name| (name.clone(), if k % 2 == 0 { 4.0 * draw() - 2.0 } else { 2.0 * draw() }))
            .collect();
        let values: Vec<(&str, f64)> = at.iter().map(|(name, x)| (name.as_str(), *x)).collect();
        let (x, y) = (a.evaluate(&values)?, b.evaluate(&values)?);
        let difference = (x - y).abs();
        if difference > TELLING * (1.0 + x.abs().max(y.abs())) {
            return Ok(Equality::Different { at, difference });
        }
    }
    Ok(Equality::Unknown { reason: format!("{reason}, but numbers show no difference") })
}

/// What gets a residue of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Free {
    Atom(Atom),
    /// `e^{i m / d}` for a product m.
    Turn(Product),
    /// `e^{m / d}`.
    Growth(Product),
}

/// What the field must have, and the normal forms of what is not arithmetic.
struct Plan {
    forms: HashMap<Value, Sum>,
    /// The common denominators of the coefficients of the products in arguments.
    steps: BTreeMap<Free, i128>,
    order: u64,
    roots: Vec<i128>,
}

/// The function of an instruction that is no arithmetic.
fn is_function(op: Op) -> bool {
    use Number1 as F;
    match op {
        Op::Number1(f) => !matches!(f, F::Neg | F::Recip),
        Op::Number2(f) => f == Number2::Pow,
        Op::Real1(_) | Op::Real2(_) => true,
        _ => false,
    }
}

impl Plan {
    fn new(line: &Line) -> Result<Plan, NormalError> {
        let functions = line.instructions().filter(|(_, inst)| is_function(inst.op)).map(|(v, _)| v);
        let functions: HashSet<Value> = functions.collect();
        let needed = line.needed(&functions);
        let mut known = line.read(Algebra { limit: TERMS }, |v| needed.contains(&v));
        let mut plan = Plan { forms: HashMap::new(), steps: BTreeMap::new(), order: 8, roots: Vec::new() };
        for value in functions {
            let form = known.remove(&value).unwrap_or(Ok(Sum::zero()))?;
            plan.note(&form)?;
            plan.forms.insert(value, form);
        }
        // Arithmetic that no field can do is found before any is done.
        for (_, inst) in line.instructions().filter(|(_, inst)| !is_function(inst.op)) {
            if !matches!(
                inst.op,
                Op::Real(_)
                    | Op::Int(_)
                    | Op::Number1(_)
                    | Op::Number2(_)
                    | Op::Mixed(Mixed::FromInt | Mixed::PowiReal)
            ) {
                return Err(super::read::unsupported(format!("`{}`", inst.op)));
            }
        }
        Ok(plan)
    }

    /// Collects what a normal form needs.
    fn note(&mut self, form: &Sum) -> Result<(), NormalError> {
        for product in form.terms().keys() {
            for (atom, _) in &product.powers {
                match atom {
                    Atom::Root(n) if !self.roots.contains(n) => self.roots.push(*n),
                    Atom::Call("exp", args) => self.note_argument(&args[0], Free::Growth)?,
                    Atom::Call("cos" | "sin", args) => self.note_argument(&args[0], Free::Turn)?,
                    Atom::Inverse(sum) => self.note(sum)?,
                    _ => {}
                }
            }
            if let Wave::Cos(x) | Wave::Sin(x) = &product.wave {
                self.note_argument(x, Free::Turn)?;
            }
        }
        Ok(())
    }

    fn note_argument(&mut self, x: &Sum, free: fn(Product) -> Free) -> Result<(), NormalError> {
        for (product, q) in x.terms() {
            let turn = matches!(free(Product::ONE), Free::Turn(_));
            let d = *q.denom();
            if turn && *product == Product::of(Atom::Pi) {
                let d = u64::try_from(d).ok().and_then(|d| d.checked_mul(2));
                self.order =
                    d.and_then(|d| crate::field::lcm(self.order, d)).ok_or(NormalError::Coefficient)?;
                continue;
            }
            let step = self.steps.entry(free(product.clone())).or_insert(1);
            *step = *Ratio::new(*step, d).denom() * *step;
            if *step > 1 << 40 || q.numer().abs() > 1 << 40 {
                return Err(NormalError::Coefficient);
            }
        }
        Ok(())
    }

    /// Whether the line is zero at one random point, and the probability that it is only there.
    fn trial(&self, line: &Line, seed: u64) -> Result<(bool, f64), String> {
        let (field, roots) = (0..DRAWS)
            .find_map(|draw| {
                let field = PrimeField::random(self.order, stream(seed, draw).next_u64())?;
                let roots: Option<BTreeMap<i128, Residue>> =
                    self.roots.iter().map(|n| Some((*n, square_root(&field, *n)?))).collect();
                Some((field, roots?))
            })
            .ok_or("no prime has all the roots that occur")?;
        let point = Point::random(field, self.order, &[], seed).ok_or("no root of unity was found")?;
        let mut run =
            Run { plan: self, field, roots, point, rng: stream(seed, 1 << 33), drawn: BTreeMap::new() };
        let x = run.line(line)?;
        let step = crate::field::lcm(self.order, crate::field::STEP).unwrap_or(u64::MAX) as f64;
        // As for circuits; roots halve the primes that will do.
        let roots = (self.roots.len() as f64).exp2();
        let primes = 61f64.exp2() / (step / 2.0) / (62.0 * std::f64::consts::LN_2) / roots;
        let error =
            2.0 * x.degree() / (Residue::characteristic(&field) - 1) as f64 + x.bits() / 61.0 / primes;
        Ok((x.residue.is_exact_zero(), error.min(1.0)))
    }
}

/// A residue with the degrees and the sizes of the polynomials above and below the line that it comes from.
#[derive(Clone, Copy)]
struct Number {
    residue: Residue,
    degrees: [f64; 2],
    bits: [f64; 2],
}

impl Number {
    fn new(residue: Residue, degree: f64, bits: f64) -> Number {
        Number { residue, degrees: [degree, 0.0], bits: [bits, 0.0] }
    }
    fn degree(self) -> f64 {
        self.degrees[0] + self.degrees[1]
    }
    fn bits(self) -> f64 {
        self.bits[0] + self.bits[1]
    }
    fn plus(self, y: Number, residue: Residue) -> Number {
        let over = |x: [f64; 2], y: [f64; 2]| {
            if x[1] == 0.0 && y[1] == 0.0 {
                [x[0].max(y[0]), 0.0]
            } else {
                [(x[0] + y[1]).max(y[0] + x[1]), x[1] + y[1]]
            }
        };
        let mut bits = over(self.bits, y.bits);
        bits[0] += 1.0;
        Number { residue, degrees: over(self.degrees, y.degrees), bits }
    }
    fn times(self, y: Number) -> Number {
        let add = |x: [f64; 2], y: [f64; 2]| [x[0] + y[0], x[1] + y[1]];
        Number {
            residue: self.residue * y.residue,
            degrees: add(self.degrees, y.degrees),
            bits: add(self.bits, y.bits),
        }
    }
}

/// One trial.
struct Run<'a> {
    plan: &'a Plan,
    field: PrimeField,
    roots: BTreeMap<i128, Residue>,
    point: Point<Residue>,
    rng: rand_chacha::ChaCha8Rng,
    drawn: BTreeMap<Free, Residue>,
}

type Tried<T> = Result<T, String>;

impl Run<'_> {
    fn line(&mut self, line: &Line) -> Tried<Number> {
        let mut values: HashMap<Value, Number> = HashMap::new();
        let mut exponents: HashMap<Value, i64> = HashMap::new();
        for (value, name) in line.params() {
            let x = self.free(Free::Atom(Atom::Symbol(name.clone())));
            values.insert(value, x);
        }
        for (value, inst) in line.instructions() {
            if let Op::Int(n) = inst.op {
                exponents.insert(value, n);
            }
            let x = match (self.plan.forms.get(&value), inst.op) {
                (Some(form), _) => self.form(form)?,
                (None, Op::Mixed(Mixed::PowiReal)) => {
                    let n = exponents.get(&inst.args[1]).ok_or("an exponent is no constant")?;
                    let x = *values.get(&inst.args[0]).ok_or("an operand is missing")?;
                    powered(if *n < 0 { self.inverse(x)? } else { x }, n.unsigned_abs())
                }
                _ => self.arithmetic(inst, &values)?,
            };
            values.insert(value, x);
        }
        values.get(&line.result).copied().ok_or_else(|| "no result".to_owned())
    }

    fn arithmetic(&mut self, inst: &InstData, values: &HashMap<Value, Number>) -> Tried<Number> {
        let args: Option<Vec<Number>> = inst.args.iter().map(|a| values.get(a).copied()).collect();
        let args = args.ok_or("an operand is missing")?;
        Ok(match (inst.op, args.as_slice()) {
            (Op::Real(Literal(x)), []) => self.float(x)?,
            (Op::Int(n), []) => self.integer(n.into()),
            (Op::Mixed(Mixed::FromInt), [x]) => *x,
            (Op::Number1(Number1::Neg), [x]) => Number { residue: -x.residue, ..*x },
            (Op::Number1(Number1::Recip), [x]) => self.inverse(*x)?,
            (Op::Number2(Number2::Add), [x, y]) => x.plus(*y, x.residue + y.residue),
            (Op::Number2(Number2::Sub), [x, y]) => x.plus(*y, x.residue - y.residue),
            (Op::Number2(Number2::Mul | Number2::Scale), [x, y]) => x.times(*y),
            (Op::Number2(Number2::Div), [x, y]) => x.times(self.inverse(*y)?),
            _ => return Err("an operation that no field has".to_owned()),
        })
    }

    fn integer(&self, n: i128) -> Number {
        let p = i128::from(Residue::characteristic(&self.field));
        // Below p.
        let residue = Residue::element(&self.field, n.rem_euclid(p) as u64);
        Number::new(residue, 0.0, (n.unsigned_abs() as f64 + 1.0).log2())
    }

    /// A float is a whole number times a power of 2.
    fn float(&self, x: f64) -> Tried<Number> {
        if !x.is_finite() {
            return Err(format!("the number {x} is in no field"));
        }
        let bits = x.to_bits();
        let raw = (bits >> 52 & 0x7ff) as i32;
        let mantissa = (bits & ((1 << 52) - 1)) | if raw == 0 { 0 } else { 1 << 52 };
        let exponent = raw.max(1) - 1075;
        let sign = if x < 0.0 { -1 } else { 1 };
        let n = self.integer(sign * i128::from(mantissa));
        let two = powered(self.integer(2), u64::from(exponent.unsigned_abs()));
        if exponent < 0 { Ok(n.times(self.inverse(two)?)) } else { Ok(n.times(two)) }
    }

    fn inverse(&self, x: Number) -> Tried<Number> {
        if x.residue.is_exact_zero() {
            return Err("a denominator is zero".to_owned());
        }
        let turned = |[a, b]: [f64; 2]| [b, a];
        Ok(Number {
            residue: x.residue.inverse(&self.field),
            degrees: turned(x.degrees),
            bits: turned(x.bits),
        })
    }

    /// Anything but 0.
    fn free(&mut self, what: Free) -> Number {
        let (field, rng) = (&self.field, &mut self.rng);
        let residue = *self.drawn.entry(what).or_insert_with(|| {
            loop {
                let x = Residue::draw(field, rng.next_u64());
                if !x.is_exact_zero() {
                    break x;
                }
            }
        });
        Number::new(residue, 1.0, 0.0)
    }

    /// A normal form.
    fn form(&mut self, form: &Sum) -> Tried<Number> {
        let mut out = self.integer(0);
        for (product, q) in form.terms() {
            let mut term = self.integer(*q.numer()).times(self.inverse(self.integer(*q.denom()))?);
            for (atom, e) in &product.powers {
                let base = self.atom(atom)?;
                let base = if *e < 0 { self.inverse(base)? } else { base };
                term = term.times(powered(base, e.unsigned_abs().into()));
            }
            match &product.wave {
                Wave::None => {}
                Wave::Cos(x) => term = term.times(self.wave(x, false)?),
                Wave::Sin(x) => term = term.times(self.wave(x, true)?),
            }
            out = out.plus(term, out.residue + term.residue);
        }
        Ok(out)
    }

    fn atom(&mut self, atom: &Atom) -> Tried<Number> {
        match atom {
            Atom::Root(n) => {
                let root = self.roots.get(n).ok_or("a root is missing")?;
                Ok(Number::new(*root, 0.0, (*n as f64).log2()))
            }
            Atom::Float(bits) => self.float(f64::from_bits(*bits)),
            Atom::Inverse(sum) => {
                let sum = self.form(sum)?;
                self.inverse(sum)
            }
            Atom::Call("exp", args) => self.exponential(&args[0], Free::Growth),
            Atom::Call("cos", args) => self.wave(&args[0], false),
            Atom::Call("sin", args) => self.wave(&args[0], true),
            other => Ok(self.free(Free::Atom(other.clone()))),
        }
    }

    /// `(z + 1/z) / 2` or `(z - 1/z) / 2i` for `z = e^{i x}`.
    fn wave(&mut self, x: &Sum, sine: bool) -> Tried<Number> {
        let z = self.exponential(x, Free::Turn)?;
        let inverse = self.inverse(z)?;
        let mut below = self.integer(2);
        let sum = if sine {
            let i = self.point.i().map_err(|e| e.to_string())?;
            below = below.times(Number::new(i, 0.0, 0.0));
            z.plus(inverse, z.residue - inverse.residue)
        } else {
            z.plus(inverse, z.residue + inverse.residue)
        };
        Ok(sum.times(self.inverse(below)?))
    }

    fn exponential(&mut self, x: &Sum, free: fn(Product) -> Free) -> Tried<Number> {
        let mut out = self.integer(1);
        for (product, q) in x.terms() {
            let key = free(product.clone());
            if matches!(key, Free::Turn(_)) && *product == Product::of(Atom::Pi) {
                let parts =
                    q.numer().to_i64().zip(q.denom().to_i64()).ok_or("a fraction of pi is too fine")?;
                let angle = Angle::zero() + Angle::pi(1, 1) * param::Q::new(parts.0, parts.1);
                out = out.times(Number::new(self.point.cis(&angle).map_err(|e| e.to_string())?, 0.0, 0.0));
                continue;
            }
            let step = self.plan.steps.get(&key).copied().unwrap_or(1);
            let e = q * Q::from_integer(step);
            let size = e
                .numer()
                .unsigned_abs()
                .to_u64()
                .filter(|_| e.is_integer())
                .ok_or("an exponent is too large")?;
            let z = powered(self.free(key), size);
            out = out.times(if e.is_negative() { self.inverse(z)? } else { z });
        }
        Ok(out)
    }
}

fn powered(x: Number, e: u64) -> Number {
    let scaled = |list: [f64; 2]| list.map(|y| y * e as f64);
    Number { residue: x.residue.power(e), degrees: scaled(x.degrees), bits: scaled(x.bits) }
}

/// A square root modulo the prime, if there is one: Tonelli and Shanks.
fn square_root(field: &PrimeField, n: i128) -> Option<Residue> {
    let p = Residue::characteristic(field);
    let element = |x| Residue::element(field, x);
    let is_square = |x: Residue| (x.power((p - 1) / 2) - element(1)).is_exact_zero();
    let x = element(u64::try_from(n).ok()?);
    if !is_square(x) {
        return None;
    }
    let odd = (p - 1) >> (p - 1).trailing_zeros();
    let other = (2..1000).map(element).find(|z| !is_square(*z))?;
    let (mut m, mut c) = ((p - 1).trailing_zeros(), other.power(odd));
    let (mut t, mut root) = (x.power(odd), x.power(odd.div_ceil(2)));
    while !(t - element(1)).is_exact_zero() {
        let (mut i, mut square) = (0, t);
        while !(square - element(1)).is_exact_zero() {
            square *= square;
            i += 1;
            if i >= m {
                return None;
            }
        }
        let b = c.power(1 << (m - i - 1));
        (m, c) = (i, b * b);
        t *= c;
        root *= b;
    }
    Some(root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn square_roots_modulo_a_prime() {
        for seed in 0..3 {
            let field = PrimeField::random(24, seed).unwrap();
            // 2 and 3 are squares where 24 divides p - 1.
            for n in [2, 3, 4, 6] {
                let root = square_root(&field, n).unwrap();
                assert_eq!((root * root).residue(), n as u64);
            }
        }
    }
}
