//! Comparison of derivatives element by element: for unit seeds with differences, for others with
//! their sums.

use ketgrad_core::{
    check::numbers::{direction, filled, flat, names},
    exec::{Datum, DeriveError},
};

use crate::shown::shown;

use super::{
    compare::{
        Comparison, DerivativeMode, DifferencedPoint, PROJECTIONS, largest, mixed, seeded, unit,
    },
    points::PointScalar,
    slopes::{FiniteDifference, TOLERANCE, confirming},
};

/// Largest allowed distance of a pullback of a sum from the sum of pullbacks.
const LINEAR_TOLERANCE: f64 = 1e-7;

/// Number of seeds that are tried beside the unit ones.
const SEEDS: usize = 3;

impl Comparison<'_> {
    /// Compares the pullback for each unit cotangent, and for sums of them.
    pub(super) fn rows(
        &mut self,
        known: &DifferencedPoint<'_>,
    ) -> Result<Option<String>, DeriveError> {
        let DifferencedPoint { x, x0, y, y0, .. } = *known;
        let ones = std::slice::from_ref(y);
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(known.outputs.len());
        for &i in &known.outputs {
            let Some(y_bar) = direction(ones, i).pop() else { return Ok(None) };
            let row = flat(&self.f.vjp(x, y_bar.clone())?.1);
            if row.len() != x0.len() {
                return Ok(Some(counted(x, DerivativeMode::Pullback, row.len(), x0.len())));
            }
            let seed = match y0.len() {
                1 => None,
                _ => Some(format!(" for the cotangent {}", shown(&[y_bar]))),
            };
            for (j, column) in &known.columns {
                if let Some(said) = self.off(
                    DerivativeMode::Pullback,
                    known,
                    (*j, column),
                    i,
                    row[*j],
                    seed.as_deref(),
                ) {
                    return Ok(Some(said));
                }
            }
            rows.push(row);
        }
        // Mixed seeds, of other magnitudes and signs.
        for round in 0..SEEDS {
            let r = mixed(y0.len(), round);
            let Some(y_bar) = seeded(ones, &r) else { return Ok(None) };
            let given = flat(&self.f.vjp(x, y_bar.clone())?.1);
            if given.len() != x0.len() {
                return Ok(Some(counted(x, DerivativeMode::Pullback, given.len(), x0.len())));
            }
            if rows.len() < y0.len() {
                continue;
            }
            let seed = format!(" for the cotangent {}", shown(&[y_bar]));
            if let Some(said) =
                self.nonlinear(DerivativeMode::Pullback, x, &given, (&rows, &r), &seed)
            {
                return Ok(Some(said));
            }
        }
        if known.is_whole() { Ok(None) } else { self.projected(known) }
    }

    /// Compares the pushforward for each unit direction, and for sums of them.
    pub(super) fn columns(
        &mut self,
        known: &DifferencedPoint<'_>,
    ) -> Result<Option<String>, DeriveError> {
        let DifferencedPoint { x, x0, y0, .. } = *known;
        let zeros: Vec<Datum<PointScalar>> = x.iter().filter_map(Datum::zero_tangent).collect();
        let mut given: Vec<Vec<f64>> = Vec::with_capacity(known.columns.len());
        for (j, column) in &known.columns {
            let dots = direction(x, *j);
            let dot = flat(&[self.f.jvp(x, &dots)?.1]);
            if dot.len() != y0.len() {
                return Ok(Some(counted(x, DerivativeMode::Pushforward, dot.len(), y0.len())));
            }
            for (i, given) in dot.iter().enumerate() {
                if let Some(said) =
                    self.off(DerivativeMode::Pushforward, known, (*j, column), i, *given, None)
                {
                    return Ok(Some(said));
                }
            }
            given.push(dot);
        }
        if given.len() < x0.len() {
            return Ok(None);
        }
        for round in 0..SEEDS {
            let r = mixed(x0.len(), round);
            let dots = filled(&zeros, &mut r.iter().copied());
            let dot = flat(&[self.f.jvp(x, &dots)?.1]);
            if dot.len() != y0.len() {
                return Ok(Some(counted(x, DerivativeMode::Pushforward, dot.len(), y0.len())));
            }
            let seed = format!(" for the direction {}", shown(&dots));
            if let Some(said) =
                self.nonlinear(DerivativeMode::Pushforward, x, &dot, (&given, &r), &seed)
            {
                return Ok(Some(said));
            }
        }
        Ok(None)
    }

    /// Compares many numbers at once along some directions, by the dot-product test
    /// `<y_bar, J d> = <J^T y_bar, d>` with `J d` by differences.
    fn projected(&mut self, known: &DifferencedPoint<'_>) -> Result<Option<String>, DeriveError> {
        let DifferencedPoint { x, x0, y, y0, .. } = *known;
        for round in 0..PROJECTIONS {
            let (d, r) = (mixed(x0.len(), 3 * round), mixed(y0.len(), 3 * round + 1));
            let d: Vec<f64> = d.iter().map(|d| 0.1 * d).collect();
            let slopes = self.directional_differences(x, x0, y0, &d, largest(x0));
            let Some(slopes) = slopes.into_iter().collect::<Option<Vec<FiniteDifference>>>() else {
                continue;
            };
            let Some(y_bar) = seeded(std::slice::from_ref(y), &r) else { continue };
            let bars = flat(&self.f.vjp(x, y_bar)?.1);
            let given: f64 = bars.iter().zip(&d).map(|(b, d)| b * d).sum();
            let expected: f64 = slopes.iter().zip(&r).map(|(s, r)| s.value * r).sum();
            let size: f64 = bars.iter().zip(&d).map(|(b, d)| (b * d).abs()).sum();
            let tolerance: f64 = slopes.iter().zip(&r).map(|(s, r)| s.tolerance * r.abs()).sum();
            self.comparisons += 1;
            let near = (given - expected).abs() <= tolerance + TOLERANCE * size;
            if !near {
                let at = shown(x);
                return Ok(Some(format!(
                    "at {at} its pullback gives {given} along a direction of all inputs, differences give {expected}"
                )));
            }
        }
        Ok(None)
    }

    /// Checks an element of a derivative, if differences know it: that by input `j` of number `i`
    /// of the result. Returns the disagreement.
    fn off(
        &mut self,
        way: DerivativeMode,
        known: &DifferencedPoint<'_>,
        (j, column): (usize, &[Option<FiniteDifference>]),
        i: usize,
        given: f64,
        seed: Option<&str>,
    ) -> Option<String> {
        let slope = column[i]?;
        if !given.is_finite() && !known.is_smooth(column, i) {
            return None;
        }
        self.comparisons += 1;
        if slope.fits(given) {
            return None;
        }
        let DifferencedPoint { x, x0, y0, .. } = *known;
        // Another step says so, too, or nothing is known.
        let d = unit(x0.len(), j);
        let other =
            confirming(&mut |h| self.moved(x, x0, &d, h), y0, x0[j]).get(i).copied().flatten();
        if other.is_none_or(|other| other.fits(given)) && given.is_finite() {
            return None;
        }
        let (at, word, expected, by) = (shown(x), way.word(), slope.value, self.name(x, j));
        let of = match way {
            DerivativeMode::Pushforward if y0.len() > 1 => format!(" for number {i} of the result"),
            _ => String::new(),
        };
        let given =
            if given.is_finite() { given.to_string() } else { "no finite number".to_owned() };
        let seed = seed.unwrap_or_default();
        Some(format!(
            "at {at} its {word} gives {given} by `{by}`{of}{seed}, differences give {expected}"
        ))
    }

    /// Checks that the derivative of a sum is the sum of the parts, each times its factor. Returns
    /// the disagreement.
    fn nonlinear(
        &mut self,
        way: DerivativeMode,
        x: &[Datum<PointScalar>],
        given: &[f64],
        (parts, factors): (&[Vec<f64>], &[f64]),
        seed: &str,
    ) -> Option<String> {
        let greatest =
            parts.iter().zip(factors).map(|(part, r)| largest(part) * r.abs()).fold(0.0, f64::max);
        for (k, &given) in given.iter().enumerate() {
            let terms = parts.iter().zip(factors).map(|(part, r)| part[k] * r);
            let (sum, size) =
                terms.fold((0.0, 0.0), |(sum, size), t| (sum + t, size + f64::abs(t)));
            if !size.is_finite() {
                continue;
            }
            self.comparisons += 1;
            let near = (given - sum).abs() <= LINEAR_TOLERANCE * size + 1e-10 * greatest;
            if !near {
                let (at, word) = (shown(x), way.word());
                let by = match way {
                    DerivativeMode::Pullback => format!("by `{}`", self.name(x, k)),
                    DerivativeMode::Pushforward => format!("for number {k} of the result"),
                };
                return Some(format!(
                    "at {at} its {word} gives {given} {by}{seed}, and {sum} as the sum of what it gives for the parts: \
                     it is not linear"
                ));
            }
        }
        None
    }

    /// Returns the name of a number of the arguments.
    fn name(&self, x: &[Datum<PointScalar>], j: usize) -> String {
        let params = &self.f.program().functions[self.f.function()].params;
        names(params, x).into_iter().nth(j).unwrap_or_else(|| j.to_string())
    }
}

fn counted(x: &[Datum<PointScalar>], way: DerivativeMode, given: usize, expected: usize) -> String {
    format!("at {} its {} gives {given} numbers; expected {expected}", shown(x), way.word())
}
