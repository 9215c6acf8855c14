//! Atoms, trigonometric factors, and products of them.

use super::sum::NormalSum;

/// A factor that is not taken apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Atom {
    /// An input.
    Symbol(String),
    /// A function of normal forms, by its name in programs.
    Call(&'static str, Vec<NormalSum>),
    /// `1 / sum`, where the sum has several terms or a trigonometric factor; its first coefficient
    /// is 1.
    Inverse(NormalSum),
    /// The circle constant.
    Pi,
    /// A float that is no short binary fraction, by its bits.
    Float(u64),
    /// The square root of a prime.
    Root(i128),
}

impl Atom {
    /// Returns true if it is the same number for all inputs.
    pub(super) fn is_constant(&self) -> bool {
        match self {
            Atom::Symbol(_) => false,
            Atom::Call(_, args) => args.iter().all(NormalSum::is_constant),
            Atom::Inverse(sum) => sum.is_constant(),
            Atom::Pi | Atom::Float(_) | Atom::Root(_) => true,
        }
    }
}

/// A sine or a cosine, or neither. Arguments have a positive first coefficient and no multiple of
/// pi alone.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TrigFactor {
    /// 1.
    None,
    /// A cosine.
    Cos(NormalSum),
    /// A sine.
    Sin(NormalSum),
}

/// Product of powers and a trigonometric factor.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct AtomProduct {
    /// Powers in the order of the atoms, no exponent 0.
    pub(super) powers: Vec<(Atom, i32)>,
    pub(super) trig: TrigFactor,
}

impl AtomProduct {
    pub(super) const ONE: AtomProduct = AtomProduct { powers: Vec::new(), trig: TrigFactor::None };

    pub(super) fn from_atom(atom: Atom) -> AtomProduct {
        AtomProduct { powers: vec![(atom, 1)], trig: TrigFactor::None }
    }

    /// Returns the exponent of an atom.
    pub(super) fn exponent(&self, atom: &Atom) -> i32 {
        self.powers.iter().find(|p| p.0 == *atom).map_or(0, |p| p.1)
    }

    /// Returns the product without an atom.
    pub(super) fn without(&self, atom: &Atom) -> AtomProduct {
        let powers = self.powers.iter().filter(|p| p.0 != *atom).cloned().collect();
        AtomProduct { powers, trig: self.trig.clone() }
    }

    pub(super) fn is_constant(&self) -> bool {
        let wave = match &self.trig {
            TrigFactor::None => true,
            TrigFactor::Cos(sum) | TrigFactor::Sin(sum) => sum.is_constant(),
        };
        wave && self.powers.iter().all(|p| p.0.is_constant())
    }

    /// Returns the sum of the exponents of what is not constant.
    pub(super) fn degree(&self) -> i64 {
        self.powers.iter().filter(|p| !p.0.is_constant()).map(|p| i64::from(p.1)).sum()
    }
}

/// Exponents added; `None` beyond 32 bits.
pub(super) fn joined(a: &[(Atom, i32)], b: &[(Atom, i32)]) -> Option<Vec<(Atom, i32)>> {
    let mut out: Vec<(Atom, i32)> = Vec::with_capacity(a.len() + b.len());
    let (mut i, mut j) = (0, 0);
    while i < a.len() || j < b.len() {
        match (a.get(i), b.get(j)) {
            (Some(x), Some(y)) if x.0 == y.0 => {
                let e = x.1.checked_add(y.1)?;
                if e != 0 {
                    out.push((x.0.clone(), e));
                }
                (i, j) = (i + 1, j + 1);
            }
            (Some(x), Some(y)) if x.0 < y.0 => {
                out.push(x.clone());
                i += 1;
            }
            (Some(x), None) => {
                out.push(x.clone());
                i += 1;
            }
            (_, Some(y)) => {
                out.push(y.clone());
                j += 1;
            }
            (None, None) => break,
        }
    }
    Some(out)
}
