//! Device in Rust that computes correctly, but for one call that panics if the option `device`
//! names it.

use ketgrad_plugin_sdk::{
    C64, DeviceKernels, Error, Gate, Gates, Inner, PauliTerm, Precision, Query, Result, gate_kinds,
};

/// Device with the name of the call that panics, or an empty one.
pub(crate) struct MisbehavingDevice(pub(crate) String);

/// State in the plugin's own memory.
pub(crate) struct State {
    precision: Precision,
    amplitudes: Vec<C64>,
}

impl State {
    /// Rounds a number to the precision of the state.
    fn held(&self, z: C64) -> C64 {
        match self.precision {
            Precision::Double => z,
            Precision::Single => C64::new(f64::from(z.re as f32), f64::from(z.im as f32)),
        }
    }
    fn apply(&mut self, gate: &Gate<'_>) {
        let (mask, value) = (gate.control_mask as usize, gate.control_value as usize);
        let offsets = gate.offsets();
        let dim = offsets.len();
        for base in 0..self.amplitudes.len() {
            if base & offsets[dim - 1] != 0 || base & mask != value {
                continue;
            }
            let old: Vec<C64> =
                offsets.iter().map(|offset| self.amplitudes[base | offset]).collect();
            for (row, offset) in offsets.iter().enumerate() {
                let new = match gate.is_diagonal {
                    true => gate.matrix[row] * old[row],
                    false => {
                        (0..dim).map(|column| gate.matrix[row * dim + column] * old[column]).sum()
                    }
                };
                self.amplitudes[base | offset] = self.held(new);
            }
        }
    }
    /// Returns `sum of terms |self>`.
    fn observed(&self, terms: &[PauliTerm]) -> Vec<C64> {
        let mut out = vec![C64::default(); self.amplitudes.len()];
        for term in terms {
            let turn = C64::new(0.0, 1.0).powu((term.x & term.z).count_ones()) * term.coefficient;
            for (i, a) in self.amplitudes.iter().enumerate() {
                let sign =
                    if (i as u64 & term.z).count_ones().is_multiple_of(2) { 1.0 } else { -1.0 };
                out[i ^ term.x as usize] += turn * a * sign;
            }
        }
        out
    }
    fn inner(&self, right: &[C64]) -> C64 {
        self.amplitudes.iter().zip(right).map(|(a, b)| a.conj() * b).sum()
    }
}

impl MisbehavingDevice {
    fn called(&self, what: &str) {
        assert!(self.0 != what, "a panic of the device in {what}");
    }
}

impl DeviceKernels for MisbehavingDevice {
    type State = State;

    fn name(&self) -> String {
        "plain".to_owned()
    }
    fn describe(&self) -> String {
        self.called("describe");
        "a device in Rust\nin the plugin's own memory".to_owned()
    }
    fn score(&self, query: &Query) -> i32 {
        self.called("score");
        if query.n_qubits < 2 { 0 } else { 50 }
    }
    fn precisions(&self) -> &[Precision] {
        &[Precision::Double, Precision::Single]
    }
    fn gates(&self) -> u32 {
        gate_kinds::DIAGONAL
    }
    fn max_qubits(&self) -> u32 {
        20
    }
    fn max_targets(&self) -> u32 {
        3
    }
    fn zeros(&self, precision: Precision, n_qubits: u32) -> Result<State> {
        self.called("zeros");
        if n_qubits > 18 {
            return Err(Error::new("no room on the device"));
        }
        Ok(State { precision, amplitudes: vec![C64::default(); 1 << n_qubits] })
    }
    fn basis(&self, state: &mut State, index: u64) -> Result<()> {
        state.amplitudes.fill(C64::default());
        state.amplitudes[index as usize] = C64::new(1.0, 0.0);
        Ok(())
    }
    fn copy(&self, from: &State) -> Result<State> {
        self.called("copy");
        Ok(State { precision: from.precision, amplitudes: from.amplitudes.clone() })
    }
    fn upload(&self, state: &mut State, amplitudes: &[u8]) -> Result<()> {
        let parts: Vec<f64> = match state.precision {
            Precision::Double => {
                amplitudes.as_chunks().0.iter().map(|b| f64::from_ne_bytes(*b)).collect()
            }
            Precision::Single => {
                amplitudes.as_chunks().0.iter().map(|b| f64::from(f32::from_ne_bytes(*b))).collect()
            }
        };
        for (a, [re, im]) in state.amplitudes.iter_mut().zip(parts.as_chunks().0) {
            *a = C64::new(*re, *im);
        }
        Ok(())
    }
    fn download(&self, state: &State, amplitudes: &mut [u8]) -> Result<()> {
        self.called("download");
        let parts = state.amplitudes.iter().flat_map(|a| [a.re, a.im]);
        match state.precision {
            Precision::Double => {
                amplitudes
                    .as_chunks_mut()
                    .0
                    .iter_mut()
                    .zip(parts)
                    .for_each(|(b, x)| *b = x.to_ne_bytes());
            }
            Precision::Single => amplitudes
                .as_chunks_mut()
                .0
                .iter_mut()
                .zip(parts)
                .for_each(|(b, x)| *b = (x as f32).to_ne_bytes()),
        }
        Ok(())
    }
    fn sync(&self, _: &State) -> Result<()> {
        self.called("sync");
        Ok(())
    }
    fn apply(&self, state: &mut State, gates: Gates<'_>) -> Result<()> {
        self.called("apply");
        gates.iter().for_each(|gate| state.apply(&gate));
        Ok(())
    }
    fn apply_pair(
        &self,
        psi: &mut State,
        lambda: &mut State,
        gates: Gates<'_>,
        inners: &[Inner],
        values: &mut [f64],
    ) -> Result<()> {
        self.called("apply_pair");
        let mut rest = inners.iter().zip(values).peekable();
        let mut take = |before: u64, psi: &State, lambda: &State| {
            while let Some((inner, value)) = rest.next_if(|(inner, _)| inner.before <= before) {
                let term = PauliTerm { coefficient: 1.0, x: inner.x, z: inner.z };
                *value = lambda.inner(&psi.observed(&[term])).im;
            }
        };
        for (k, gate) in gates.iter().enumerate() {
            take(k as u64, psi, lambda);
            psi.apply(&gate);
            lambda.apply(&gate);
        }
        take(u64::MAX, psi, lambda);
        Ok(())
    }
    fn expectation(&self, state: &State, terms: &[PauliTerm]) -> Result<f64> {
        self.called("expectation");
        Ok(state.inner(&state.observed(terms)).re)
    }
    fn inner(&self, a: &State, b: &State) -> Result<C64> {
        self.called("inner");
        Ok(a.inner(&b.amplitudes))
    }
    fn inner_paulis(&self, a: &State, terms: &[PauliTerm], b: &State) -> Result<C64> {
        Ok(a.inner(&b.observed(terms)))
    }
    fn apply_paulis(&self, terms: &[PauliTerm], from: &State, to: &mut State) -> Result<()> {
        self.called("apply_paulis");
        to.amplitudes = from.observed(terms).into_iter().map(|z| to.held(z)).collect();
        Ok(())
    }
    fn sample(&self, state: &State, uniforms: &[f64], indices: &mut [u64]) -> Result<()> {
        self.called("sample");
        let total: f64 = state.amplitudes.iter().map(|a| a.norm_sqr()).sum();
        let last =
            state.amplitudes.iter().rposition(|a| a.norm_sqr() > 0.0).ok_or("a state of zeros")?;
        let (mut sum, mut at) = (state.amplitudes[0].norm_sqr(), 0);
        for (u, index) in uniforms.iter().zip(indices) {
            while sum <= u * total && at < last {
                at += 1;
                sum += state.amplitudes[at].norm_sqr();
            }
            *index = at as u64;
        }
        Ok(())
    }
}
