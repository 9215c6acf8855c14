//! Gates as records: their names, matrices and inverses.
//!
//! A [`GateKind`] is a line of the table in `table.rs`; a [`Gate`] is a kind with its angles.
//! Controls are not part of a gate: they belong to the instruction that applies it, so `CX` is the
//! name of "`X` with one control" ([`NamedGate`]).
//!
//! ```
//! use ketgrad_core::{gate::{Gate, GateKind}, param::{Angle, Values}};
//! use num_complex::Complex;
//!
//! let gate = Gate::new(GateKind::RX, [Angle::pi(1, 2)])?;
//! let u = gate.matrix::<Complex<f64>>(&Values::<f64>(&[]))?;
//! assert_eq!(u[(0, 1)], Complex::new(0.0, -0.5f64.sqrt()));
//! assert_eq!(gate.dagger().to_string(), "rx(-pi/2)");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod table;

use std::fmt;

use crate::{
    matrix::Matrix,
    param::{Angle, BindError, Binding, Q},
    scalar::Ring,
};
use table::{for_each_gate, for_each_name};

pub(crate) use table::for_each_name as for_each_named_gate;

/// Dependence of a gate on its one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Generator {
    /// `exp(-i theta/2 P)`: letter j of the string is the Pauli operator on target j.
    Pauli(&'static str),
    /// `exp(i theta |1…1><1…1|)`.
    Projector,
}

macro_rules! generator {
    (none) => {
        None
    };
    (projector) => {
        Some(Generator::Projector)
    };
    (pauli $letters:literal) => {
        Some(Generator::Pauli($letters))
    };
}

macro_rules! gates {
    ($(
        $(#[$doc:meta])*
        $KIND:ident $name:literal ($($q:ident),*) ($($p:ident),*) |$b:ident| $matrix:expr,
            dagger $DAGGER:ident($($d:expr),*), $generator:ident $($letters:literal)?;
    )*) => {
        /// Gates that have a matrix of their own.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum GateKind {
            $($(#[$doc])* $KIND),*
        }

        impl GateKind {
            /// All gates of the table, in its order.
            pub const ALL: &[GateKind] = &[$(GateKind::$KIND),*];

            /// The name, lower-case but for OpenQASM's `U`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(GateKind::$KIND => $name),* }
            }

            /// The names of the parameters.
            #[must_use]
            pub fn param_names(self) -> &'static [&'static str] {
                match self { $(GateKind::$KIND => &[$(stringify!($p)),*]),* }
            }

            /// The number of qubits that the matrix acts on.
            #[must_use]
            pub fn n_qubits(self) -> usize {
                match self { $(GateKind::$KIND => { const NAMES: &[&str] = &[$(stringify!($q)),*]; NAMES.len() }),* }
            }

            /// Returns the generator of the gate, if its parameter generates a one-parameter group.
            #[must_use]
            pub fn generator(self) -> Option<Generator> {
                match self { $(GateKind::$KIND => generator!($generator $($letters)?)),* }
            }
        }

        impl Gate {
            /// The matrix over any ring: 2^k x 2^k, bit j of a row number belonging to target j.
            ///
            /// # Errors
            /// [`BindError`] if a parameter has no value or the ring no such number.
            pub fn matrix<R: Ring>(&self, binding: &impl Binding<R>) -> Result<Matrix<R>, BindError> {
                match (self.kind, &*self.params) {
                    $((GateKind::$KIND, [$($p),*]) => {
                        let $b = binding;
                        let _ = $b;
                        Ok(Matrix::from_array($matrix))
                    })*
                    // `Gate::new` checks the number of parameters.
                    _ => Ok(Matrix::identity(self.kind.n_qubits())),
                }
            }

            /// The inverse gate.
            #[must_use]
            pub fn dagger(&self) -> Gate {
                match (self.kind, &*self.params) {
                    $((GateKind::$KIND, [$($p),*]) => Gate {
                        kind: GateKind::$DAGGER,
                        params: Box::new([$(Angle::from($d)),*]),
                    },)*
                    _ => self.clone(),
                }
            }
        }
    };
}
for_each_gate!(gates);

/// A gate of the table with its angles.
#[derive(Clone, Debug, PartialEq)]
pub struct Gate {
    kind: GateKind,
    params: Box<[Angle]>,
}

/// A gate was given the wrong number of parameters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} takes {} ({}), not {given}", kind.name(), count(kind.param_names().len(), "parameter"), kind.param_names().join(", "))]
pub struct ParamCountError {
    /// The gate.
    pub kind: GateKind,
    /// The number of parameters given.
    pub given: usize,
}

#[doc(hidden)]
pub fn count(n: usize, noun: &str) -> String {
    match n {
        0 => format!("no {noun}s"),
        1 => format!("1 {noun}"),
        _ => format!("{n} {noun}s"),
    }
}

impl Gate {
    /// A gate with its angles, in the order of [`GateKind::param_names`].
    ///
    /// # Errors
    /// [`ParamCountError`] if the number of angles is not that of the gate's parameters.
    pub fn new(
        kind: GateKind,
        params: impl IntoIterator<Item = Angle>,
    ) -> Result<Gate, ParamCountError> {
        let params: Box<[Angle]> = params.into_iter().collect();
        if params.len() != kind.param_names().len() {
            return Err(ParamCountError { kind, given: params.len() });
        }
        Ok(Gate { kind, params })
    }

    /// Returns the row of the gate table.
    #[must_use]
    pub fn kind(&self) -> GateKind {
        self.kind
    }

    /// The angles.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        &self.params
    }

    /// Returns the gate with each angle replaced.
    #[must_use]
    pub fn map_params(&self, f: impl FnMut(&Angle) -> Angle) -> Gate {
        Gate { kind: self.kind, params: self.params.iter().map(f).collect() }
    }

    /// Returns the gate raised to a real power, if that is a gate of the table again: the angle of
    /// a rotation or a phase is multiplied. Returns `None` for other gates.
    #[must_use]
    pub fn power(&self, exponent: Q) -> Option<Gate> {
        self.kind.generator().map(|_| self.map_params(|a| a.clone() * exponent))
    }
}

impl fmt::Display for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if self.params.is_empty() {
            return Ok(());
        }
        let params: Vec<String> = self.params.iter().map(ToString::to_string).collect();
        write!(f, "({})", params.join(", "))
    }
}

/// A name that circuits use for a gate with controls, such as `ccx` for `X` with two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedGate {
    /// The name in this library, also that of the method of `Circuit`.
    pub name: &'static str,
    /// The gate that is controlled.
    pub kind: GateKind,
    /// The number of controls, which come first among the qubits.
    pub n_controls: usize,
    /// Its names in the extended `qelib1.inc` of OpenQASM 2; the first one is printed.
    pub qasm2: &'static [&'static str],
    /// Its names in OpenQASM 3 and its `stdgates.inc`; the first one is printed.
    pub qasm3: &'static [&'static str],
}

impl NamedGate {
    /// The number of qubits, controls included.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        self.n_controls + self.kind.n_qubits()
    }

    /// The gate called `name` here.
    #[must_use]
    pub fn find(name: &str) -> Option<&'static NamedGate> {
        NAMED_GATES.iter().find(|g| g.name == name)
    }

    /// Returns all its names: here, in OpenQASM 2, in OpenQASM 3. A name may be repeated.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        [self.name].into_iter().chain(self.qasm2.iter().chain(self.qasm3).copied())
    }

    /// The gates that are called `name` here or in any OpenQASM, in order of the table: more than
    /// one where the languages differ.
    ///
    /// ```
    /// use ketgrad_core::gate::{GateKind, NamedGate};
    /// let kinds = |name| NamedGate::called(name).map(|gate| (gate.kind, gate.n_controls)).collect::<Vec<_>>();
    /// assert_eq!(kinds("CX"), [(GateKind::X, 1)]);
    /// assert_eq!(kinds("U"), [(GateKind::U, 0), (GateKind::U3, 0)]);
    /// assert_eq!(kinds("nobody"), []);
    /// ```
    pub fn called(name: &str) -> impl Iterator<Item = &'static NamedGate> {
        NAMED_GATES.iter().filter(move |gate| gate.names().any(|own| own == name))
    }
}

macro_rules! names {
    ($($name:literal $method:ident ($($q:ident),*) $KIND:ident($($p:ident),*) $controls:literal
        qasm2[$($two:literal),*] qasm3[$($three:literal),*];)*) => {
        /// Every named gate, in the order of the table.
        pub const NAMED_GATES: &[NamedGate] = &[$(NamedGate {
            name: $name,
            kind: GateKind::$KIND,
            n_controls: $controls,
            qasm2: &[$($two),*],
            qasm3: &[$($three),*],
        }),*];
    };
}
for_each_name!(names);

// Helpers that the table's matrices are written with.

fn half(angle: &Angle) -> Angle {
    angle.clone() * Q::new_raw(1, 2)
}

/// `(cos t/2, i sin t/2)`.
fn half_angle<R: Ring>(b: &impl Binding<R>, t: &Angle) -> Result<(R, R), BindError> {
    b.cos_i_sin(&half(t))
}

/// `(1 + e^{i t}) / 2`.
fn half_one_plus<R: Ring>(b: &impl Binding<R>, t: &Angle) -> Result<R, BindError> {
    Ok((R::one() + b.cis(t)?) * b.half())
}

/// `[[e^{i a} cos t/2, -e^{i b} sin t/2], [e^{i c} sin t/2, e^{i d} cos t/2]]`, where a, b, c, d
/// are sums of angles by their numbers.
fn with_phases<R: Ring>(
    bind: &impl Binding<R>,
    t: &Angle,
    angles: &[&Angle],
    sums: [&[usize]; 4],
) -> Result<[[R; 2]; 2], BindError> {
    let (cos, i_sin) = half_angle(bind, t)?;
    let sin = -i_sin * &bind.i()?;
    let [a, b, c, d] = bind.cis_of_sums(angles, sums)?;
    Ok([[a * &cos, -(b * &sin)], [c * sin, d * cos]])
}

/// `e^{i g} [[cos t/2, -e^{i l} sin t/2], [e^{i p} sin t/2, e^{i(p+l)} cos t/2]]`.
fn textbook_u<R: Ring>(
    b: &impl Binding<R>,
    t: &Angle,
    p: &Angle,
    l: &Angle,
    g: &Angle,
) -> Result<[[R; 2]; 2], BindError> {
    with_phases(b, t, &[g, p, l], [&[0], &[0, 2], &[0, 1], &[0, 1, 2]])
}

/// Returns the matrix of U with `g = -(p + l)/2`, which makes its determinant 1.
fn special_u<R: Ring>(
    b: &impl Binding<R>,
    t: &Angle,
    p: &Angle,
    l: &Angle,
) -> Result<[[R; 2]; 2], BindError> {
    let (p, l) = (half(p), half(l));
    with_phases(b, t, &[&p, &l, &-&p, &-&l], [&[2, 3], &[2, 1], &[0, 3], &[0, 1]])
}

/// The matrix that moves column `j` to row `rows[j]`.
fn permutation<R: Ring, const D: usize>(rows: [usize; D]) -> [[R; D]; D] {
    std::array::from_fn(|i| {
        std::array::from_fn(|j| if rows[j] == i { R::one() } else { R::zero() })
    })
}

/// `c` on the diagonal and `x` on the other one, from the top.
fn cross<R: Ring>(c: R, [x0, x1, x2, x3]: [R; 4]) -> [[R; 4]; 4] {
    [
        [c.clone(), R::zero(), R::zero(), x0],
        [R::zero(), c.clone(), x1, R::zero()],
        [R::zero(), x2, c.clone(), R::zero()],
        [x3, R::zero(), R::zero(), c],
    ]
}
