//! Noise: channels as records, as gates are ([`gate`](crate::gate)).
//!
//! A channel maps density matrices to density matrices, `rho -> sum_k w_k A_k rho A_k^dagger` with
//! `sum_k w_k A_k^dagger A_k = 1`. A [`ChannelKind`] is a line of the table in `table.rs`; a
//! [`Channel`] is a kind with its parameters, or a list of Kraus operators. A parameter is an
//! [`Angle`] taken as a number, so that it may be an input of the circuit, and circuits are
//! differentiated by it as by any other.
//!
//! ```
//! use ketgrad_core::{circuit::Circuit, simulate::Simulator};
//!
//! let mut bell = Circuit::new(2);
//! let p = bell.param("p");
//! bell.h(0)?.cx(0, 1)?.depolarizing(0..2, p)?;
//! let rho = Simulator::new().run_density(&bell, &[0.03])?;
//! let zz = rho.expectation(&"Z0 Z1".parse()?)?;
//! assert!((zz - (1.0 - 0.04 * 1.0f64).powi(2)).abs() < 1e-15); // each qubit loses 4/3 p of its Z
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! There are two ways to run them: density matrices of 4^n entries, exactly, on every number type
//! (`Simulator::run_density`), and trajectories of state
//! vectors, shot by shot (`Simulator::run_shots`).

mod table;

use std::{fmt, sync::Arc};

use num_complex::Complex;

use crate::{
    gate::count,
    matrix::Matrix,
    param::{Angle, BindError, Binding, Q},
    scalar::Ring,
};
use table::for_each_channel;

pub(crate) use table::for_each_channel as for_each_named_channel;

/// Tolerance of `sum K^dagger K` of given Kraus operators around the identity, entry by entry.
/// Files print 8 digits or more.
pub const KRAUS_TOLERANCE: f64 = 1e-7;

/// Limit on the qubits of a channel that is given by Kraus operators: on density matrices it is a
/// matrix of 16^k entries.
pub const MAX_KRAUS_QUBITS: usize = 4;

/// The terms `(w, A)` of a channel over a ring: `rho -> sum_k w_k A_k rho A_k^dagger`.
pub type Terms<R> = Vec<(R, Matrix<R>)>;

macro_rules! channels {
    ($(
        $(#[$doc:meta])*
        $KIND:ident $name:ident ($($q:ident),*) ($($p:ident),*) |$b:ident| $terms:expr, $mixture:literal, $kept:expr;
    )*) => {
        /// Named channels.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum ChannelKind {
            $($(#[$doc])* $KIND),*
        }

        impl ChannelKind {
            /// All channels of the table, in its order.
            pub const ALL: &[ChannelKind] = &[$(ChannelKind::$KIND),*];

            /// The name, which is also that of the method of `Circuit`.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(ChannelKind::$KIND => stringify!($name)),* }
            }

            /// The names of the parameters.
            #[must_use]
            pub fn param_names(self) -> &'static [&'static str] {
                match self { $(ChannelKind::$KIND => &[$(stringify!($p)),*]),* }
            }

            /// The number of qubits.
            #[must_use]
            pub fn n_qubits(self) -> usize {
                match self { $(ChannelKind::$KIND => { const NAMES: &[&str] = &[$(stringify!($q)),*]; NAMES.len() }),* }
            }

            /// Returns true if the channel is a mixture of unitaries: it applies one at random,
            /// with probabilities that do not depend on the state.
            pub(crate) fn is_mixture(self) -> bool {
                match self { $(ChannelKind::$KIND => $mixture),* }
            }

            fn terms<R: Ring>(self, params: &[Angle], binding: &impl Binding<R>) -> Result<Terms<R>, BindError> {
                // Each is between 0 and 1; an error names the parameter itself, not a value that is
                // computed from it.
                params.iter().try_for_each(|p| binding.probability(p).map(|_| ()))?;
                match (self, params) {
                    $((ChannelKind::$KIND, [$($p),*]) => {
                        let $b = binding;
                        Ok($terms)
                    })*
                    // `Channel::new` checks the number of parameters.
                    _ => Ok(vec![(R::one(), Matrix::identity(self.n_qubits()))]),
                }
            }

            fn kept<R: Ring>(self, params: &[Angle], binding: &impl Binding<R>) -> Result<Vec<(usize, R)>, BindError> {
                match (self, params) {
                    $((ChannelKind::$KIND, [$($p),*]) => {
                        let $b = binding;
                        // Few are named there.
                        let _ = ($b, $($p),*);
                        Ok(Vec::from($kept))
                    })*
                    _ => Ok(Vec::new()),
                }
            }
        }
    };
}
for_each_channel!(channels);

impl ChannelKind {
    /// The channel of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<ChannelKind> {
        ChannelKind::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// A channel with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Channel(ChannelForm);

#[derive(Clone, Debug, PartialEq)]
enum ChannelForm {
    Named { kind: ChannelKind, params: Box<[Angle]> },
    Kraus { operators: Arc<[Matrix<Complex<f64>>]>, mixture: bool },
}

/// Error of a channel: the reason why some numbers do not form one.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// The wrong number of parameters.
    #[error("{} takes {} ({}), not {given}", kind.name(), count(kind.param_names().len(), "parameter"), kind.param_names().join(", "))]
    Params {
        /// The channel.
        kind: ChannelKind,
        /// The number of parameters given.
        given: usize,
    },
    /// No Kraus operators, or on different or too many qubits.
    #[error(
        "a channel has Kraus operators that all act on the same 1 to {MAX_KRAUS_QUBITS} qubits, not {given:?}"
    )]
    Sizes {
        /// The qubits of each operator.
        given: Vec<usize>,
    },
    /// Times that are not those of a qubit.
    #[error(
        "a qubit at rest has a time of at least 0, T1 > 0 and 0 < T2 <= 2 T1, not {time}, {t1} and {t2}"
    )]
    Relaxation {
        /// Duration of the relaxation.
        time: f64,
        /// Time constant of the decay of |1>.
        t1: f64,
        /// Time constant of the loss of phase.
        t2: f64,
    },
    /// The operators do not keep the trace.
    #[error(
        "the Kraus operators do not keep the trace: entry ({row}, {column}) of the sum of K^dagger K is off by \
         {deviation:e}, more than {KRAUS_TOLERANCE:e}"
    )]
    Trace {
        /// Row of the worst entry.
        row: usize,
        /// Column of the worst entry.
        column: usize,
        /// Deviation from the identity.
        deviation: f64,
    },
}

impl Channel {
    /// Returns a named channel with its parameters, in the order of [`ChannelKind::param_names`].
    /// They are checked to be probabilities when they have values.
    ///
    /// # Errors
    /// [`ChannelError::Params`] if the number of parameters is not that of the channel.
    pub fn new(
        kind: ChannelKind,
        params: impl IntoIterator<Item = impl Into<Angle>>,
    ) -> Result<Channel, ChannelError> {
        let params: Box<[Angle]> = params.into_iter().map(Into::into).collect();
        if params.len() != kind.param_names().len() {
            return Err(ChannelError::Params { kind, given: params.len() });
        }
        Ok(Channel(ChannelForm::Named { kind, params }))
    }

    /// `rho -> sum_k K_k rho K_k^dagger`; bit j of a row number belongs to the j-th target.
    ///
    /// ```
    /// use ketgrad_core::{channel::Channel, matrix::Matrix};
    /// use num_complex::Complex;
    ///
    /// let keep = Matrix::identity(1).map(|x: &f64| Complex::new(x * 0.9f64.sqrt(), 0.0));
    /// let flip = Matrix::from_fn(1, |i, j| Complex::new(if i == j { 0.0 } else { 0.1f64.sqrt() }, 0.0));
    /// let channel = Channel::kraus([keep.clone(), flip])?;
    /// assert!(channel.is_mixture());
    /// let error = Channel::kraus([keep]).unwrap_err().to_string();
    /// assert!(error.contains("entry (1, 1) of the sum of K^dagger K is off by 1.0"), "{error}");
    /// # Ok::<(), ketgrad_core::channel::ChannelError>(())
    /// ```
    ///
    /// # Errors
    /// [`ChannelError`] unless they act on the same qubits and keep the trace to
    /// [`KRAUS_TOLERANCE`].
    pub fn kraus(
        operators: impl IntoIterator<Item = Matrix<Complex<f64>>>,
    ) -> Result<Channel, ChannelError> {
        let operators: Arc<[Matrix<Complex<f64>>]> = operators.into_iter().collect();
        let k = operators.first().map_or(0, Matrix::n_qubits);
        if !(1..=MAX_KRAUS_QUBITS).contains(&k) || operators.iter().any(|o| o.n_qubits() != k) {
            return Err(ChannelError::Sizes {
                given: operators.iter().map(Matrix::n_qubits).collect(),
            });
        }
        let squares: Vec<_> = operators.iter().map(|o| &o.dagger() * o).collect();
        let places = (0..1 << k).flat_map(|i| (0..1 << k).map(move |j| (i, j)));
        let off = |(i, j)| {
            let sum: Complex<f64> = squares.iter().map(|s| s[(i, j)]).sum();
            ((i, j), (sum - if i == j { 1.0 } else { 0.0 }).norm())
        };
        let worst = places.clone().map(off).max_by(|a, b| a.1.total_cmp(&b.1));
        match worst {
            // NaN is the largest of all.
            Some(((row, column), deviation))
                if deviation.is_nan() || deviation > KRAUS_TOLERANCE =>
            {
                return Err(ChannelError::Trace { row, column, deviation });
            }
            _ => {}
        }
        let multiple = |s: &Matrix<Complex<f64>>| {
            let one = |(i, j)| if i == j { s[(0, 0)] } else { Complex::new(0.0, 0.0) };
            places.clone().all(|at| (s[at] - one(at)).norm() < f64::EPSILON * 16.0)
        };
        let mixture = squares.iter().all(multiple);
        Ok(Channel(ChannelForm::Kraus { operators, mixture }))
    }

    /// Returns the thermal relaxation of an idle qubit over a time: it decays to |0> at the rate
    /// `1/T1`, and loses its phase at `1/T2`, where T2 is at most twice T1; times in any unit. It
    /// is amplitude damping by `1 - e^{-t/T1}`, then phase damping by `1 - e^{t/T1 - 2 t/T2}`.
    ///
    /// ```
    /// use ketgrad_core::channel::Channel;
    /// let [fall, dephase] = Channel::relaxation(50.0, 80e3, 100e3)?; // nanoseconds
    /// assert_eq!((fall.name(), dephase.name()), ("amplitude_damping", "phase_damping"));
    /// assert!(Channel::relaxation(1.0, 10.0, 21.0).is_err());
    /// # Ok::<(), ketgrad_core::channel::ChannelError>(())
    /// ```
    ///
    /// # Errors
    /// [`ChannelError::Relaxation`] for a negative time, for T1 or T2 that is not positive, or if
    /// T2 is more than twice T1.
    pub fn relaxation(time: f64, t1: f64, t2: f64) -> Result<[Channel; 2], ChannelError> {
        if !(time >= 0.0 && t1 > 0.0 && t2 > 0.0 && t2 <= 2.0 * t1) {
            return Err(ChannelError::Relaxation { time, t1, t2 });
        }
        let (fall, dephase) =
            (-(-time / t1).exp_m1(), -(time / t1 - 2.0 * time / t2).min(0.0).exp_m1());
        Ok([
            Channel::new(ChannelKind::AmplitudeDamping, [fall])?,
            Channel::new(ChannelKind::PhaseDamping, [dephase])?,
        ])
    }

    /// Returns the row of the channel table; `None` for Kraus operators.
    #[must_use]
    pub fn kind(&self) -> Option<ChannelKind> {
        match &self.0 {
            ChannelForm::Named { kind, .. } => Some(*kind),
            ChannelForm::Kraus { .. } => None,
        }
    }

    /// The name; `kraus` for one that is given by its operators.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.kind().map_or("kraus", ChannelKind::name)
    }

    /// Returns the parameters; an empty slice for Kraus operators.
    #[must_use]
    pub fn params(&self) -> &[Angle] {
        match &self.0 {
            ChannelForm::Named { params, .. } => params,
            ChannelForm::Kraus { .. } => &[],
        }
    }

    /// Returns the Kraus operators, if it is given by them.
    #[must_use]
    pub fn operators(&self) -> &[Matrix<Complex<f64>>] {
        match &self.0 {
            ChannelForm::Named { .. } => &[],
            ChannelForm::Kraus { operators, .. } => operators,
        }
    }

    /// Returns the channel with each parameter replaced.
    #[must_use]
    pub fn map_params(&self, f: impl FnMut(&Angle) -> Angle) -> Channel {
        match &self.0 {
            ChannelForm::Named { kind, params } => {
                Channel(ChannelForm::Named { kind: *kind, params: params.iter().map(f).collect() })
            }
            ChannelForm::Kraus { .. } => self.clone(),
        }
    }

    /// The number of qubits.
    #[must_use]
    pub fn n_qubits(&self) -> usize {
        match &self.0 {
            ChannelForm::Named { kind, .. } => kind.n_qubits(),
            ChannelForm::Kraus { operators, .. } => operators.first().map_or(0, Matrix::n_qubits),
        }
    }

    /// Returns true if it is a mixture of unitaries: it applies one of them at random, whatever the
    /// state is, and its weights are probabilities.
    #[must_use]
    pub fn is_mixture(&self) -> bool {
        match &self.0 {
            ChannelForm::Named { kind, .. } => kind.is_mixture(),
            ChannelForm::Kraus { mixture, .. } => *mixture,
        }
    }

    /// The terms `(w, A)` over a ring. Those of a mixture are unitary.
    ///
    /// # Errors
    /// [`BindError`] if a parameter has no value or is not a probability, or the ring holds no such
    /// numbers.
    pub fn terms<R: Ring>(&self, binding: &impl Binding<R>) -> Result<Terms<R>, BindError> {
        match &self.0 {
            ChannelForm::Named { kind, params } => kind.terms(params, binding),
            ChannelForm::Kraus { operators, mixture } => {
                let number = |x: f64| binding.number(Complex::new(x, 0.0));
                let term = |operator: &Matrix<Complex<f64>>| {
                    // If an operator is a multiple of a unitary, the factor is the weight.
                    let norm2: f64 =
                        (0..operator.dim()).map(|row| operator[(row, 0)].norm_sqr()).sum();
                    let (weight, scale) = if *mixture && norm2 > 0.0 {
                        (norm2, norm2.sqrt().recip())
                    } else {
                        (1.0, 1.0)
                    };
                    Ok((number(weight)?, operator.try_map(|z| binding.number(z * scale))?))
                };
                let terms: Result<Terms<R>, BindError> = operators.iter().map(term).collect();
                Ok(terms?
                    .into_iter()
                    .filter(|(_, a)| a.entries().iter().any(|z| !z.is_exact_zero()))
                    .collect())
            }
        }
    }

    /// Returns the weight of `|i><i|` that the channel keeps, for the basis states i for which the
    /// terms give it as the square of a root: pairs of i and `sum_k w_k |A_k[i, i]|^2`. The
    /// derivative of a root is infinite at 0, that of its square is not.
    ///
    /// # Errors
    /// Those of [`Channel::terms`].
    #[doc(hidden)]
    pub fn kept<R: Ring>(&self, binding: &impl Binding<R>) -> Result<Vec<(usize, R)>, BindError> {
        match &self.0 {
            ChannelForm::Named { kind, params } => kind.kept(params, binding),
            ChannelForm::Kraus { .. } => Ok(Vec::new()),
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        if self.params().is_empty() {
            return Ok(());
        }
        let params: Vec<String> = self.params().iter().map(ToString::to_string).collect();
        write!(f, "({})", params.join(", "))
    }
}

// Helpers that the table's terms are written with.

/// `1 - p`.
fn rest(p: &Angle) -> Angle {
    Angle::rad(1.0) - p.clone()
}

/// One n-th of p.
fn share(p: &Angle, n: i64) -> Angle {
    p.clone() * Q::new(1, n)
}

/// Returns the terms of Pauli strings with their probabilities, letter j on target j, and of the
/// identity with the rest.
fn paulis<R: Ring>(b: &impl Binding<R>, strings: &[(&str, &Angle)]) -> Result<Terms<R>, BindError> {
    let none = strings.iter().fold(Angle::rad(1.0), |none, (_, p)| none - (*p).clone());
    let k = strings.first().map_or(0, |(letters, _)| letters.len());
    let mut terms = vec![(b.probability(&none)?, Matrix::identity(k))];
    for (letters, p) in strings {
        let matrix =
            letters.chars().map(pauli).fold(Matrix::identity(0), |low, high| high.kron(&low));
        terms.push((b.probability(p)?, matrix));
    }
    Ok(terms)
}

/// Returns a Pauli matrix, except for Y, which is `[[0, -1], [1, 0]]`: the factor i cancels in
/// `A rho A^dagger`.
fn pauli<R: Ring>(letter: char) -> Matrix<R> {
    let (zero, one) = (R::zero, R::one);
    Matrix::from_array(match letter {
        'X' => [[zero(), one()], [one(), zero()]],
        'Y' => [[zero(), -one()], [one(), zero()]],
        'Z' => [[one(), zero()], [zero(), -one()]],
        _ => [[one(), zero()], [zero(), one()]],
    })
}

fn diagonal<R: Ring>(first: R, second: R) -> Matrix<R> {
    Matrix::from_array([[first, R::zero()], [R::zero(), second]])
}

/// `|to><from|`.
fn transition<R: Ring>(to: usize, from: usize) -> Matrix<R> {
    Matrix::from_fn(1, |row, column| if (row, column) == (to, from) { R::one() } else { R::zero() })
}
