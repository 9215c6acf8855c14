//! Evaluation of an expression modulo a prime, at a random sample point.

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigInt;
use num_integer::Integer;
use num_traits::{Signed, ToPrimitive};

use super::{
    atoms::{Atom, AtomProduct, TrigFactor},
    equality::SamplePlan,
    read::StraightLineProgram,
    sum::{NormalSum, whole},
};
use crate::{
    entity::Value,
    field::{Modular, Point, PrimeField, Residue},
    ir::{InstData, Literal, Mixed, Number1, Number2, Op, Real2},
    param::{self, Angle, Binding},
    scalar::Ring,
};

/// Independent quantity that gets a residue of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Indeterminate {
    Atom(Atom),
    /// `e^{i m / d}` for a product m.
    Phase(AtomProduct),
    /// `e^{m / d}`.
    Growth(AtomProduct),
}

/// A residue with the degrees and the sizes of the polynomials above and below the line that it
/// comes from.
#[derive(Clone, Copy)]
pub(super) struct TrackedResidue {
    pub(super) residue: Residue,
    degrees: [f64; 2],
    bits: [f64; 2],
}

impl TrackedResidue {
    fn new(residue: Residue, degree: f64, bits: f64) -> TrackedResidue {
        TrackedResidue { residue, degrees: [degree, 0.0], bits: [bits, 0.0] }
    }
    pub(super) fn degree(self) -> f64 {
        self.degrees[0] + self.degrees[1]
    }
    pub(super) fn bits(self) -> f64 {
        self.bits[0] + self.bits[1]
    }
    fn plus(self, y: TrackedResidue, residue: Residue) -> TrackedResidue {
        let over = |x: [f64; 2], y: [f64; 2]| {
            if x[1] == 0.0 && y[1] == 0.0 {
                [x[0].max(y[0]), 0.0]
            } else {
                [(x[0] + y[1]).max(y[0] + x[1]), x[1] + y[1]]
            }
        };
        let mut bits = over(self.bits, y.bits);
        bits[0] += 1.0;
        TrackedResidue { residue, degrees: over(self.degrees, y.degrees), bits }
    }
    fn times(self, y: TrackedResidue) -> TrackedResidue {
        let add = |x: [f64; 2], y: [f64; 2]| [x[0] + y[0], x[1] + y[1]];
        TrackedResidue {
            residue: self.residue * y.residue,
            degrees: add(self.degrees, y.degrees),
            bits: add(self.bits, y.bits),
        }
    }
}

/// Random sample point modulo a prime.
pub(super) struct SamplePoint<'a> {
    plan: &'a SamplePlan,
    field: PrimeField,
    roots: BTreeMap<i128, Residue>,
    point: Point<Residue>,
    rng: rand_chacha::ChaCha8Rng,
    drawn: BTreeMap<Indeterminate, Residue>,
}

pub(super) type SampleResult<T> = Result<T, String>;

impl<'a> SamplePoint<'a> {
    /// Creates a sample point of a field, with the roots that occur.
    pub(super) fn new(
        plan: &'a SamplePlan,
        point: Point<Residue>,
        roots: BTreeMap<i128, Residue>,
        rng: rand_chacha::ChaCha8Rng,
    ) -> SamplePoint<'a> {
        SamplePoint { plan, field: *point.field(), roots, point, rng, drawn: BTreeMap::new() }
    }

    /// Returns the value of an expression.
    pub(super) fn line(&mut self, line: &StraightLineProgram) -> SampleResult<TrackedResidue> {
        let mut values: HashMap<Value, TrackedResidue> = HashMap::new();
        let mut exponents: HashMap<Value, i64> = HashMap::new();
        for (value, name) in line.params() {
            let x = self.free(Indeterminate::Atom(Atom::Symbol(name.clone())));
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

    fn arithmetic(
        &mut self,
        inst: &InstData,
        values: &HashMap<Value, TrackedResidue>,
    ) -> SampleResult<TrackedResidue> {
        let args: Option<Vec<TrackedResidue>> =
            inst.args.iter().map(|a| values.get(a).copied()).collect();
        let args = args.ok_or("an operand is missing")?;
        Ok(match (inst.op, args.as_slice()) {
            (Op::Real(Literal(x)), []) => self.float(x)?,
            (Op::Int(n), []) => self.small(n),
            (Op::Mixed(Mixed::FromInt), [x]) => *x,
            (Op::Number1(Number1::Neg), [x]) => TrackedResidue { residue: -x.residue, ..*x },
            (Op::Number1(Number1::Recip), [x]) => self.inverse(*x)?,
            (Op::Number2(Number2::Add), [x, y]) => x.plus(*y, x.residue + y.residue),
            (Op::Number2(Number2::Sub), [x, y]) => x.plus(*y, x.residue - y.residue),
            (Op::Number2(Number2::Mul | Number2::Scale), [x, y]) => x.times(*y),
            (Op::Number2(Number2::Guard), [x, _]) => *x,
            (Op::Number2(Number2::Div) | Op::Real2(Real2::Ratio), [x, y]) => {
                x.times(self.inverse(*y)?)
            }
            _ => return Err("an operation that no field has".to_owned()),
        })
    }

    fn integer(&self, n: &BigInt) -> TrackedResidue {
        let p = BigInt::from(Residue::characteristic(&self.field));
        // Below p.
        let residue = n.mod_floor(&p).to_u64().unwrap_or_default();
        TrackedResidue::new(Residue::element(&self.field, residue), 0.0, n.bits() as f64)
    }

    fn small(&self, n: i64) -> TrackedResidue {
        self.integer(&n.into())
    }

    /// Evaluates a float: a whole number times a power of 2.
    fn float(&self, x: f64) -> SampleResult<TrackedResidue> {
        if !x.is_finite() {
            return Err(format!("the number {x} is in no field"));
        }
        let bits = x.to_bits();
        let raw = (bits >> 52 & 0x7ff) as i32;
        let mantissa = (bits & ((1 << 52) - 1)) | if raw == 0 { 0 } else { 1 << 52 };
        let exponent = raw.max(1) - 1075;
        let sign = if x < 0.0 { -1 } else { 1 };
        let n = self.small(sign * mantissa as i64);
        let two = powered(self.small(2), u64::from(exponent.unsigned_abs()));
        if exponent < 0 { Ok(n.times(self.inverse(two)?)) } else { Ok(n.times(two)) }
    }

    fn inverse(&self, x: TrackedResidue) -> SampleResult<TrackedResidue> {
        if x.residue.is_exact_zero() {
            return Err("a denominator is zero".to_owned());
        }
        let turned = |[a, b]: [f64; 2]| [b, a];
        Ok(TrackedResidue {
            residue: x.residue.inverse(&self.field),
            degrees: turned(x.degrees),
            bits: turned(x.bits),
        })
    }

    /// Anything but 0.
    fn free(&mut self, what: Indeterminate) -> TrackedResidue {
        let (field, rng) = (&self.field, &mut self.rng);
        let residue = *self.drawn.entry(what).or_insert_with(|| Residue::draw_unit(field, rng));
        TrackedResidue::new(residue, 1.0, 0.0)
    }

    /// Returns a normal form.
    fn form(&mut self, form: &NormalSum) -> SampleResult<TrackedResidue> {
        let mut out = self.small(0);
        for (product, q) in form.terms() {
            let mut term = self.integer(q.numer()).times(self.inverse(self.integer(q.denom()))?);
            for (atom, e) in &product.powers {
                let base = self.atom(atom)?;
                let base = if *e < 0 { self.inverse(base)? } else { base };
                term = term.times(powered(base, e.unsigned_abs().into()));
            }
            match &product.trig {
                TrigFactor::None => {}
                TrigFactor::Cos(x) => term = term.times(self.wave(x, false)?),
                TrigFactor::Sin(x) => term = term.times(self.wave(x, true)?),
            }
            out = out.plus(term, out.residue + term.residue);
        }
        Ok(out)
    }

    fn atom(&mut self, atom: &Atom) -> SampleResult<TrackedResidue> {
        match atom {
            Atom::Root(n) => {
                let root = self.roots.get(n).ok_or("a root is missing")?;
                Ok(TrackedResidue::new(*root, 0.0, (*n as f64).log2()))
            }
            Atom::Float(bits) => self.float(f64::from_bits(*bits)),
            Atom::Inverse(sum) => {
                let sum = self.form(sum)?;
                self.inverse(sum)
            }
            Atom::Call("exp", args) => self.exponential(&args[0], Indeterminate::Growth),
            Atom::Call("tanh", args) => {
                let z = self.exponential(&args[0], Indeterminate::Growth)?;
                let (square, one) = (z.times(z), self.small(1));
                let above = square.plus(one, square.residue - one.residue);
                Ok(above.times(self.inverse(square.plus(one, square.residue + one.residue))?))
            }
            Atom::Call("cos", args) => self.wave(&args[0], false),
            Atom::Call("sin", args) => self.wave(&args[0], true),
            other => Ok(self.free(Indeterminate::Atom(other.clone()))),
        }
    }

    /// `(z + 1/z) / 2` or `(z - 1/z) / 2i` for `z = e^{i x}`.
    fn wave(&mut self, x: &NormalSum, sine: bool) -> SampleResult<TrackedResidue> {
        let z = self.exponential(x, Indeterminate::Phase)?;
        let inverse = self.inverse(z)?;
        let mut below = self.small(2);
        let sum = if sine {
            let i = self.point.i().map_err(|e| e.to_string())?;
            below = below.times(TrackedResidue::new(i, 0.0, 0.0));
            z.plus(inverse, z.residue - inverse.residue)
        } else {
            z.plus(inverse, z.residue + inverse.residue)
        };
        Ok(sum.times(self.inverse(below)?))
    }

    fn exponential(
        &mut self,
        x: &NormalSum,
        free: fn(AtomProduct) -> Indeterminate,
    ) -> SampleResult<TrackedResidue> {
        let mut out = self.small(1);
        for (product, q) in x.terms() {
            let key = free(product.clone());
            if matches!(key, Indeterminate::Phase(_))
                && *product == AtomProduct::from_atom(Atom::Pi)
            {
                let parts = q
                    .numer()
                    .to_i64()
                    .zip(q.denom().to_i64())
                    .ok_or("a fraction of pi is too fine")?;
                let angle = Angle::zero() + Angle::pi(1, 1) * param::Q::new(parts.0, parts.1);
                out = out.times(TrackedResidue::new(
                    self.point.cis(&angle).map_err(|e| e.to_string())?,
                    0.0,
                    0.0,
                ));
                continue;
            }
            let step = self.plan.steps.get(&key).copied().unwrap_or(1);
            let e = q * whole(step);
            let size = e
                .numer()
                .magnitude()
                .to_u64()
                .filter(|_| e.is_integer())
                .ok_or("an exponent is too large")?;
            let z = powered(self.free(key), size);
            out = out.times(if e.is_negative() { self.inverse(z)? } else { z });
        }
        Ok(out)
    }
}

fn powered(x: TrackedResidue, e: u64) -> TrackedResidue {
    let scaled = |list: [f64; 2]| list.map(|y| y * e as f64);
    TrackedResidue { residue: x.residue.power(e), degrees: scaled(x.degrees), bits: scaled(x.bits) }
}

/// Returns the positive square root of a prime n, which is 2 or divides the order of the point's
/// root of unity: Gauss's sum `sum_a e^{2 pi i a^2 / n}` is `sqrt n` or `i sqrt n`. O(n).
pub(super) fn root_by_unity(point: &Point<Residue>, n: i128) -> Option<Residue> {
    if n == 2 {
        return Some(point.sqrt_half() + point.sqrt_half());
    }
    let n = i64::try_from(n).ok()?;
    let zeta = point.cis(&Angle::pi(2, n)).ok()?;
    // (a + 1)^2 = a^2 + (2 a + 1)
    let (mut term, mut step, square) = (Residue::element(point.field(), 1), zeta, zeta * zeta);
    let mut sum = Residue::element(point.field(), 0);
    for _ in 0..n {
        sum += term;
        term *= step;
        step *= square;
    }
    Some(if n % 4 == 1 { sum } else { sum * point.cis(&Angle::pi(-1, 2)).ok()? })
}

/// Returns a square root modulo the prime, if there is one: Tonelli and Shanks.
pub(super) fn square_root(field: &PrimeField, n: i128) -> Option<Residue> {
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
    fn square_roots_by_roots_of_unity() {
        for seed in 0..3 {
            let field = PrimeField::random(8 * 3 * 5 * 7, seed).unwrap();
            let point = Point::random(field, 8 * 3 * 5 * 7, &[], seed).unwrap();
            let cos = |n, d| point.cos(&Angle::pi(n, d)).unwrap();
            let two = |x: Residue| x + x;
            for n in [2, 3, 5, 7] {
                let root = root_by_unity(&point, n).unwrap();
                assert_eq!((root * root).residue(), n as u64);
            }
            // 2 cos(pi/4) = sqrt 2, 2 cos(pi/6) = sqrt 3, 2 cos(pi/5) - 2 cos(2 pi/5) = 1, 4
            // cos(pi/5) = 1 + sqrt 5.
            assert_eq!(root_by_unity(&point, 2), Some(two(cos(1, 4))));
            assert_eq!(root_by_unity(&point, 3), Some(two(cos(1, 6))));
            let one = Residue::element(point.field(), 1);
            assert_eq!(root_by_unity(&point, 5), Some(two(two(cos(1, 5))) - one));
        }
    }

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
