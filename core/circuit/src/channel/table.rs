//! Channel table: one line per named channel.
//!
//! ```text
//! NAME name (targets) (parameters) |b| terms, is_mixture, kept;   /// doc
//! ```
//! - `b` is the [`Binding`](crate::param::Binding); the terms are pairs `(w, A)` of a weight and a
//!   matrix over any ring `R`: the channel is `rho -> sum_k w_k A_k rho A_k^dagger`. Parameters are
//!   `&Angle`.
//! - Bit j of a row or column number belongs to the j-th target.
//! - `true` says that every A is unitary, so that the weights are probabilities that no state
//!   changes.
//! - Where an A holds a root, the last list says without it how much of `|i><i|` stays: pairs of i
//!   and `sum_k w_k |A_k[i, i]|^2`.
//!
//! Parameters are in the weights where they can be: these are polynomials, whose derivatives are
//! finite at 0, where those of the Kraus operators `sqrt(w) A` are not. The derivative of
//! `sqrt(1 - gamma)` is not finite at gamma = 1, but that of its square, which is on the diagonal,
//! is.
//!
//! Names and formulas are those of Amazon Braket's noise instructions, which Cirq and PennyLane
//! share.

/// Calls `$reader! { … }` with the named channels.
macro_rules! for_each_channel {
    ($reader:ident) => {
        $reader! {
            /// X with probability p: `(1 - p) rho + p X rho X`.
            BitFlip bit_flip (q) (p) |b| paulis(b, &[("X", p)])?, true, [];
            /// Z with probability p: `(1 - p) rho + p Z rho Z`.
            PhaseFlip phase_flip (q) (p) |b| paulis(b, &[("Z", p)])?, true, [];
            /// Y with probability p: `(1 - p) rho + p Y rho Y`.
            BitPhaseFlip bit_phase_flip (q) (p) |b| paulis(b, &[("Y", p)])?, true, [];
            /// X, Y and Z with their probabilities:
            /// `(1 - px - py - pz) rho + px X rho X + py Y rho Y + pz Z rho Z`.
            PauliChannel pauli_channel (q) (px, py, pz) |b| paulis(b, &[("X", px), ("Y", py), ("Z", pz)])?, true, [];
            /// One of X, Y, Z with probability p:
            /// `(1 - p) rho + p/3 (X rho X + Y rho Y + Z rho Z)`. At p = 3/4 the result is the
            /// maximally mixed state; Qiskit's parameter is 4/3 of this one.
            Depolarizing depolarizing (q) (p) |b| {
                let third = share(p, 3);
                paulis(b, &[("X", &third), ("Y", &third), ("Z", &third)])?
            }, true, [];
            /// One of the 15 products of Pauli operators on two qubits with probability p, each
            /// with p/15.
            TwoQubitDepolarizing two_qubit_depolarizing (first, second) (p) |b| {
                let part = share(p, 15);
                let strings = ["XI", "YI", "ZI", "IX", "XX", "YX", "ZX", "IY", "XY", "YY", "ZY", "IZ", "XZ", "YZ", "ZZ"];
                paulis(b, &strings.map(|s| (s, &part)))?
            }, true, [];
            /// Z on the first, on the second or on both with probability p, each with p/3.
            TwoQubitDephasing two_qubit_dephasing (first, second) (p) |b| {
                let third = share(p, 3);
                paulis(b, &[("ZI", &third), ("IZ", &third), ("ZZ", &third)])?
            }, true, [];
            /// |1> falls to |0> with probability gamma: `A_0 = diag(1, sqrt(1 - gamma))`, `A_1 = sqrt(gamma) |0><1|`.
            AmplitudeDamping amplitude_damping (q) (gamma) |b| {
                let (gamma, kept) = (b.probability(gamma)?, b.root(b.probability(&rest(gamma))?)?);
                vec![(R::one(), diagonal(R::one(), kept)), (gamma, transition(0, 1))]
            }, false, [(1, b.probability(&rest(gamma))?)];
            /// Damping towards |0> with probability p, towards |1> else: gamma is the probability
            /// of damping, p the final population of |0>.
            GeneralizedAmplitudeDamping generalized_amplitude_damping (q) (gamma, p) |b| {
                let (gamma, kept) = (b.probability(gamma)?, b.root(b.probability(&rest(gamma))?)?);
                let (down, up) = (b.probability(p)?, b.probability(&rest(p))?);
                vec![
                    (down.clone(), diagonal(R::one(), kept.clone())),
                    (down * &gamma, transition(0, 1)),
                    (up.clone(), diagonal(kept, R::one())),
                    (up * &gamma, transition(1, 0)),
                ]
            }, false, {
                let (down, up) = (b.probability(p)?, b.probability(&rest(p))?);
                let kept = b.probability(&rest(gamma))?;
                [(0, down.clone() + up.clone() * &kept), (1, down * &kept + up)]
            };
            /// The phase is lost with probability gamma: `A_0 = diag(1, sqrt(1 - gamma))`,
            /// `A_1 = diag(0, sqrt(gamma))`.
            PhaseDamping phase_damping (q) (gamma) |b| {
                let (gamma, kept) = (b.probability(gamma)?, b.root(b.probability(&rest(gamma))?)?);
                vec![(R::one(), diagonal(R::one(), kept)), (gamma, diagonal(R::zero(), R::one()))]
            }, false, [(1, R::one())];
        }
    };
}

pub(crate) use for_each_channel;
