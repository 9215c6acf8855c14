//! Jacobians and Hessians with many zeros, from few products.
//!
//! Columns that share no row can be found together: one product with the sum of their unit vectors gives all of them,
//! since each row holds at most one of their entries (Curtis, Powell and Reid, *On the estimation of sparse Jacobian
//! matrices*, 1974). A [`Colouring`] puts columns, or rows for products from the left, into as few such groups as a
//! greedy choice finds. Pattern and colouring hold for every point that takes the same way through the program, so
//! they are found once and used often.
//!
//! ```
//! use ketgrad_core::{exec::{Colouring, Datum, Derivatives}, text::parse_program};
//!
//! // Differences of neighbours: three entries in each row.
//! let source = "fn f(u: array) {
//!     let mut y = [0.0; 98];
//!     for i in 0..98 { y[i] = u[i] - 2 * u[i + 1] * u[i + 1] + u[i + 2]; }
//!     y
//! }";
//! let program = parse_program(source).map_err(|e| e[0].clone())?;
//! let u = [Datum::reals((0..100).map(|k| 0.01 * k as f64))];
//! let mut f = Derivatives::<f64>::new(&program, "f")?;
//! let colouring = Colouring::new(f.jacobian_pattern(&u)?);
//! assert_eq!((colouring.pattern().len(), colouring.products()), (294, 3));
//! let jacobian = f.sparse_jacobian(&u, &colouring)?;
//! assert_eq!(jacobian.row(10).collect::<Vec<_>>(), [(10, &1.0), (11, &-0.44), (12, &1.0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::{collections::BTreeSet, sync::Arc};

use crate::scalar::{Real, Scalar};

use super::{
    CallError, Derivatives, DeriveError, RunError,
    data::Datum,
    derivatives::{count, flatten, seeded},
    inspect::{Inspection, Pattern, hessian_of, jacobian_of},
};

/// Groups of columns, or of rows, that one product finds together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Colouring {
    pattern: Arc<Pattern>,
    /// The group of each column, or of each row.
    groups: Vec<usize>,
    products: usize,
    by_rows: bool,
}

impl Colouring {
    /// By columns or by rows, whichever takes fewer products. O(entries x the longest row).
    #[must_use]
    pub fn new(pattern: Pattern) -> Colouring {
        let rows = Colouring::by_rows(pattern.clone());
        let columns = Colouring::by_columns(pattern);
        if rows.products < columns.products { rows } else { columns }
    }

    /// By columns: products with tangents, and the way for Hessians.
    #[must_use]
    pub fn by_columns(pattern: Pattern) -> Colouring {
        let groups = greedy(&transposed(&pattern), &pattern.rows);
        Colouring {
            products: groups.iter().max().map_or(0, |g| g + 1),
            groups,
            pattern: pattern.into(),
            by_rows: false,
        }
    }

    /// By rows: products with cotangents.
    #[must_use]
    pub fn by_rows(pattern: Pattern) -> Colouring {
        let groups = greedy(&pattern.rows, &transposed(&pattern));
        Colouring {
            products: groups.iter().max().map_or(0, |g| g + 1),
            groups,
            pattern: pattern.into(),
            by_rows: true,
        }
    }

    /// How many products with a vector give the whole matrix.
    #[must_use]
    pub fn products(&self) -> usize {
        self.products
    }

    /// The pattern it was made for.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// The rows in which each column has an entry.
fn transposed(pattern: &Pattern) -> Vec<Vec<usize>> {
    let mut columns = vec![Vec::new(); pattern.columns];
    for (r, row) in pattern.rows.iter().enumerate() {
        row.iter().for_each(|&c| columns[c].push(r));
    }
    columns
}

/// Gives each line the first group in which no line crosses one of its own crossings. `lines[k]` are the crossings of
/// line k, `back` the lines of each crossing. Lines without entries are in the first group.
fn greedy(lines: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<usize> {
    let mut groups: Vec<Option<usize>> = vec![None; lines.len()];
    for (k, crossings) in lines.iter().enumerate() {
        let taken: BTreeSet<usize> =
            crossings.iter().flat_map(|&c| &back[c]).filter_map(|&other| groups[other]).collect();
        groups[k] = (0..).find(|g| !taken.contains(g));
    }
    groups.into_iter().map(Option::unwrap_or_default).collect()
}

/// A matrix of which only some entries are kept.
#[derive(Clone, PartialEq, Debug)]
pub struct Sparse<T> {
    pattern: Arc<Pattern>,
    /// The values of each row, in the order of the pattern, one row behind the other.
    values: Vec<T>,
    /// Where each row begins.
    starts: Vec<usize>,
}

impl<T: Real> Sparse<T> {
    /// The columns and values of a row; nothing beyond the last one.
    pub fn row(&self, k: usize) -> impl Iterator<Item = (usize, &T)> {
        let columns = self.pattern.rows.get(k).into_iter().flatten().copied();
        columns.zip(&self.values[self.starts.get(k).copied().unwrap_or(self.values.len())..])
    }

    /// Where it may be other than zero.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// The matrix with all its zeros.
    #[must_use]
    pub fn dense(&self) -> Vec<Vec<T>> {
        let mut rows =
            vec![vec![<T as num_traits::Zero>::zero(); self.pattern.columns]; self.pattern.rows.len()];
        for (k, row) in rows.iter_mut().enumerate() {
            self.row(k).for_each(|(c, x)| row[c] = x.clone());
        }
        rows
    }
}

impl<T: Real, S: Scalar<Real = T>> Derivatives<'_, S> {
    /// The [pattern](super::inspect::jacobian_pattern()) of the Jacobian at these arguments, and at all others that take the same way
    /// through the program. What a primitive gives depends on all it is given.
    ///
    /// # Errors
    /// The arguments do not fit, or the program fails.
    pub fn jacobian_pattern(&self, args: &[Datum<S>]) -> Result<Pattern, DeriveError> {
        let f = Inspection::of(&self.program, self.f)?;
        jacobian_of(f.with_host(&self.holding()).with_limits(self.limits), args)
    }

    /// The [pattern](super::inspect::hessian_pattern()) of the Hessian.
    ///
    /// # Errors
    /// As [`jacobian_pattern`](Derivatives::jacobian_pattern); the function must have a gradient.
    pub fn hessian_pattern(&self, args: &[Datum<S>]) -> Result<Pattern, DeriveError> {
        let name = &self.program.functions[self.f].name;
        let gradient = Inspection::of_gradient(&self.program, name)?;
        hessian_of(gradient.with_host(&self.holding()).with_limits(self.limits), args)
    }

    /// The Jacobian, a row for each real number of the result and a column for each of the arguments, in order, where a complex
    /// number is two, its real part and its imaginary part; by tangents or cotangents, whichever are fewer.
    ///
    /// # Errors
    /// It cannot be differentiated or run.
    pub fn jacobian(&mut self, args: &[Datum<S>]) -> Result<Vec<Vec<T>>, DeriveError> {
        let y = self.value(args)?;
        let columns: usize = args.iter().filter_map(Datum::zero_tangent).map(|d| count(&d)).sum();
        let rows = count(&y);
        let whole = |n: usize, m: usize| vec![(0..m).collect::<Vec<usize>>(); n];
        let pattern = Pattern { rows: whole(rows, columns), columns };
        let full = if columns <= rows { Colouring::by_columns(pattern) } else { Colouring::by_rows(pattern) };
        Ok(self.sparse_jacobian(args, &full)?.dense())
    }

    /// The Jacobian from as many products as the colouring of its [pattern](super::inspect::jacobian_pattern) has
    /// groups.
    ///
    /// # Errors
    /// It cannot be differentiated or run, or the pattern is one of another function.
    pub fn sparse_jacobian(
        &mut self,
        args: &[Datum<S>],
        colouring: &Colouring,
    ) -> Result<Sparse<T>, DeriveError> {
        let function = self.program().functions[self.function()].name.clone();
        if colouring.by_rows {
            // One run for all rows, and the way back for each group of them.
            let mut pulled = self.pullback(args)?;
            let zeros = pulled.value.zero_tangent();
            compressed(colouring, &function, zeros.as_slice(), |seeds| {
                pulled.call(seeds.into_iter().next().unwrap_or(Datum::Int(0)))
            })
        } else {
            let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
            // One run for all columns, and what is linear in tangents for each group of them.
            if colouring.products > 1
                && let Some(mut pushed) = self.along(args)?
            {
                return compressed(colouring, &function, &zeros, |seeds| Ok(vec![pushed.call(&seeds)?]));
            }
            compressed(colouring, &function, &zeros, |seeds| Ok(vec![self.jvp(args, &seeds)?.1]))
        }
    }

    /// The Hessian of a function with a real result from as many products as the colouring of its
    /// [pattern](super::inspect::hessian_pattern), by columns or rows, has groups.
    ///
    /// # Errors
    /// It cannot be differentiated or run, or the pattern is one of another function.
    pub fn sparse_hessian(
        &mut self,
        args: &[Datum<S>],
        colouring: &Colouring,
    ) -> Result<Sparse<T>, DeriveError> {
        let function = self.program().functions[self.function()].name.clone();
        let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
        compressed(colouring, &function, &zeros, |seeds| Ok(self.hvp(args, &seeds)?.1))
    }
}

/// One product for each group, and each number of it to its place.
fn compressed<T: Real, S: Scalar<Real = T>>(
    Colouring { pattern, groups, products, by_rows }: &Colouring,
    function: &str,
    zeros: &[Datum<S>],
    mut product: impl FnMut(Vec<Datum<S>>) -> Result<Vec<Datum<S>>, DeriveError>,
) -> Result<Sparse<T>, DeriveError> {
    let seeds: usize = zeros.iter().map(count).sum();
    let misfit = |expected: usize, given: usize| {
        let function = function.to_owned();
        DeriveError::Run(RunError::Call(CallError::Arity { function, expected, given }))
    };
    if seeds != groups.len() {
        return Err(misfit(groups.len(), seeds));
    }
    let expected = if *by_rows { pattern.columns } else { pattern.rows.len() };
    let mut lines: Vec<Vec<T>> = Vec::with_capacity(*products);
    for group in 0..*products {
        let mut members = groups.iter().map(|g| *g == group);
        let seeds = zeros.iter().map(|d| seeded(d, &mut members)).collect();
        let mut line = Vec::with_capacity(expected);
        product(seeds)?.iter().for_each(|d| flatten(d, &mut line));
        if line.len() != expected {
            return Err(misfit(expected, line.len()));
        }
        lines.push(line);
    }
    let mut starts = Vec::with_capacity(pattern.rows.len());
    let mut values = Vec::with_capacity(pattern.len());
    for (r, row) in pattern.rows.iter().enumerate() {
        starts.push(values.len());
        values.extend(
            row.iter()
                .map(|&c| if *by_rows { lines[groups[r]][c].clone() } else { lines[groups[c]][r].clone() }),
        );
    }
    Ok(Sparse { values, starts, pattern: pattern.clone() })
}
