//! Nelder and Mead's simplex: n + 1 corners, of which the worst is moved in each iteration. No
//! derivatives.
//!
//! The worst corner is reflected at the middle of the others, further if that is the best so far,
//! less far if it is still the worst; if nothing helps, the simplex shrinks towards its best
//! corner. The factors depend on the number of inputs, which keeps the simplex from collapsing
//! where there are many.
//!
//! Source: F. Gao, L. Han, Comput. Optim. Appl. 51, 259 (2012).

use super::{
    Memory, Objective, OptimizeError, State,
    error::{InvalidSetting, positive},
    vector::{largest, minus, step_along},
};

/// The simplex method by values alone.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct NelderMead {
    /// Distance of the corners of the first simplex from the start, one along each input.
    pub step: f64,
}

impl Default for NelderMead {
    /// 0.25.
    fn default() -> NelderMead {
        NelderMead { step: 0.25 }
    }
}

impl NelderMead {
    /// Sets [`step`](field@NelderMead::step).
    #[must_use]
    pub fn with_step(self, step: f64) -> NelderMead {
        NelderMead { step, ..self }
    }
}

type Corner = (Vec<f64>, f64);

impl NelderMead {
    pub(super) fn check(&self) -> Result<(), InvalidSetting> {
        positive("step", self.step)
    }

    pub(super) fn start<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let at = |k: usize| {
            let mut x = state.x.clone();
            if let Some(x) = k.checked_sub(1).and_then(|k| x.get_mut(k)) {
                *x += self.step;
            }
            x
        };
        let points: Vec<Vec<f64>> = (0..=state.x.len()).map(at).collect();
        let mut corners = Vec::with_capacity(points.len());
        for x in points {
            let value = state.value_at(f, &x)?;
            corners.push((x, value));
        }
        finish_iteration(state, corners);
        Ok(())
    }

    pub(super) fn step<F: Objective>(
        &self,
        f: &F,
        state: &mut State,
    ) -> Result<(), OptimizeError<F::Error>> {
        let Memory::Simplex(mut corners) = std::mem::replace(&mut state.memory, Memory::Nothing)
        else {
            return self.start(f, state);
        };
        let n = corners.len() - 1;
        if n == 0 {
            finish_iteration(state, corners);
            return Ok(());
        }
        // From two inputs on; one is treated as two.
        let inputs = n.max(2) as f64;
        let (expand, contract, shrink) =
            (1.0 + 2.0 / inputs, 0.75 - 0.5 / inputs, 1.0 - 1.0 / inputs);
        let (best, second, worst) = (corners[0].1, corners[n - 1].1, corners[n].clone());
        let mut middle = vec![0.0; n];
        for (x, _) in &corners[..n] {
            middle = step_along(&middle, (n as f64).recip(), x);
        }
        let away = minus(&middle, &worst.0);
        let mut at = |t: f64| -> Result<Corner, OptimizeError<F::Error>> {
            let x = step_along(&middle, t, &away);
            match state.value_at(f, &x) {
                // Beyond where the function has a value: worse than any corner.
                Err(OptimizeError::NotFinite { value, .. }) if value != f64::NEG_INFINITY => {
                    Ok((x, f64::INFINITY))
                }
                value => Ok((x, value?)),
            }
        };
        let reflected = at(1.0)?;
        let new = if reflected.1 < best {
            let further = at(expand)?;
            Some(if further.1 < reflected.1 { further } else { reflected })
        } else if reflected.1 < second {
            Some(reflected)
        } else {
            let outside = reflected.1 < worst.1;
            let nearer = at(if outside { contract } else { -contract })?;
            let enough = if outside { nearer.1 <= reflected.1 } else { nearer.1 < worst.1 };
            enough.then_some(nearer)
        };
        match new {
            Some(corner) => corners[n] = corner,
            None => {
                let centre = corners[0].0.clone();
                for (x, value) in &mut corners[1..] {
                    *x = step_along(&centre, shrink, &minus(x, &centre));
                    *value = state.value_at(f, x)?;
                }
            }
        }
        finish_iteration(state, corners);
        Ok(())
    }
}

/// Sorts the corners and moves to the best.
fn finish_iteration(state: &mut State, mut corners: Vec<Corner>) {
    corners.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (x, value) = corners[0].clone();
    let values = corners[corners.len() - 1].1 - value;
    let size = corners.iter().map(|corner| largest(&minus(&corner.0, &x))).fold(0.0, f64::max);
    state.spread = Some(values.max(size * size));
    state.go(x, value, Vec::new());
    state.memory = Memory::Simplex(corners);
}
