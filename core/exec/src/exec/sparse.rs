//! Jacobians and Hessians with many zeros, from few products.
//!
//! Structurally orthogonal columns, which share no row, can be found together: one product with the
//! sum of their unit vectors gives all of them, since each row holds at most one of their entries
//! (Curtis, Powell and Reid, *On the estimation of sparse Jacobian matrices*, 1974). A
//! [`Colouring`] partitions columns, or rows for products from the left, into as few such groups as
//! a greedy colouring finds. A complex number is two, its real part and its imaginary part. Pattern
//! and colouring hold for every point that takes the same path through the program, so they are
//! found once and used often.
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
//! let program = parse_program(source)?;
//! let u = [Datum::reals((0..100).map(|k| 0.01 * k as f64))];
//! let mut f = Derivatives::<f64>::new(&program, "f")?;
//! let colouring = Colouring::new(f.jacobian_pattern(&u)?);
//! assert_eq!((colouring.pattern().len(), colouring.products()), (294, 3));
//! let jacobian = f.sparse_jacobian(&u, &colouring)?;
//! assert_eq!(jacobian.row(10).collect::<Vec<_>>(), [(10, &1.0), (11, &-0.44), (12, &1.0)]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::sync::Arc;

use crate::scalar::{Real, Scalar};

use super::{
    CallError, Derivatives, DeriveError, RunError,
    batched_tangents::batches,
    data::Datum,
    inspect::{Inspection, Pattern, hessian_of, jacobian_of},
    tangents::{count, flatten, seeded},
};

/// Colouring: groups of columns, or of rows, that one product finds together.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Colouring {
    pattern: Arc<Pattern>,
    /// The group of each column, or of each row.
    groups: Vec<usize>,
    products: usize,
    by_rows: bool,
}

impl Colouring {
    /// Colours columns or rows, whichever takes fewer products. O(sum of the squared lengths of the
    /// lines), at worst.
    #[must_use]
    pub fn new(pattern: Pattern) -> Colouring {
        let columns = transposed(&pattern);
        let (by_columns, by_rows) = (longest(&pattern.rows), longest(&columns));
        // If the longest line of one direction takes more products than the other direction, this
        // is enough.
        if by_columns <= by_rows {
            let groups = colour(&columns, &pattern.rows);
            if products(&groups) <= by_rows {
                return Colouring::from_groups(pattern, groups, false);
            }
            let others = colour(&pattern.rows, &columns);
            let by_rows = products(&others) < products(&groups);
            return Colouring::from_groups(pattern, if by_rows { others } else { groups }, by_rows);
        }
        let groups = colour(&pattern.rows, &columns);
        if products(&groups) < by_columns {
            return Colouring::from_groups(pattern, groups, true);
        }
        let others = colour(&columns, &pattern.rows);
        let by_rows = products(&groups) < products(&others);
        Colouring::from_groups(pattern, if by_rows { groups } else { others }, by_rows)
    }

    /// Colours columns: products with tangents, and the choice for Hessians.
    #[must_use]
    pub fn by_columns(pattern: Pattern) -> Colouring {
        let groups = colour(&transposed(&pattern), &pattern.rows);
        Colouring::from_groups(pattern, groups, false)
    }

    /// Colours rows: products with cotangents.
    #[must_use]
    pub fn by_rows(pattern: Pattern) -> Colouring {
        let groups = colour(&pattern.rows, &transposed(&pattern));
        Colouring::from_groups(pattern, groups, true)
    }

    /// Creates the colouring of a matrix without zeros: each line by itself.
    fn dense(rows: usize, columns: usize) -> Colouring {
        let by_rows = columns > rows;
        let pattern = Pattern { rows: vec![(0..columns).collect(); rows], columns };
        Colouring::from_groups(
            pattern,
            (0..if by_rows { rows } else { columns }).collect(),
            by_rows,
        )
    }

    fn from_groups(pattern: Pattern, groups: Vec<usize>, by_rows: bool) -> Colouring {
        Colouring { products: products(&groups), groups, pattern: pattern.into(), by_rows }
    }

    /// Returns the number of products with a vector that give the whole matrix.
    #[must_use]
    pub fn products(&self) -> usize {
        self.products
    }

    /// Returns the pattern it was made for.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }
}

/// Returns the rows in which each column has an entry.
fn transposed(pattern: &Pattern) -> Vec<Vec<usize>> {
    let mut columns = vec![Vec::new(); pattern.columns];
    for (r, row) in pattern.rows.iter().enumerate() {
        row.iter().for_each(|&c| columns[c].push(r));
    }
    columns
}

fn longest(lines: &[Vec<usize>]) -> usize {
    lines.iter().map(Vec::len).max().unwrap_or(0)
}

fn products(groups: &[usize]) -> usize {
    groups.iter().max().map_or(0, |g| g + 1)
}

/// Returns groups of lines without common crossings, the fewer of those that two orders of a greedy
/// colouring give: that of the lines, which is best for regular grids, and, if that is not optimal,
/// that of most neighbours chosen (*incidence degree*: Coleman and Moré, *Estimation of sparse
/// Jacobian matrices and graph coloring problems*, 1983). `lines[k]` are the crossings of line k,
/// `back` the lines of each crossing.
fn colour(lines: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<usize> {
    let first = greedy(lines, back, 0..lines.len());
    if products(&first) <= longest(back).max(1) {
        return first;
    }
    let second = greedy(lines, back, most_neighbours_chosen(lines, back));
    if products(&second) < products(&first) { second } else { first }
}

/// Gives each line in turn the first group in which no line crosses one of its own crossings.
fn greedy(
    lines: &[Vec<usize>],
    back: &[Vec<usize>],
    order: impl IntoIterator<Item = usize>,
) -> Vec<usize> {
    let mut groups: Vec<Option<usize>> = vec![None; lines.len()];
    // The last line for which each group was taken.
    let mut taken: Vec<Option<usize>> = Vec::new();
    for k in order {
        let neighbours = lines[k].iter().flat_map(|&c| &back[c]);
        neighbours.filter_map(|&other| groups[other]).for_each(|g| taken[g] = Some(k));
        let free = taken.iter().position(|t| *t != Some(k)).unwrap_or(taken.len());
        taken.resize(taken.len().max(free + 1), None);
        groups[k] = Some(free);
    }
    groups.into_iter().map(Option::unwrap_or_default).collect()
}

/// Returns the lines in an order in which the next one has the most crossings with those before it;
/// among equals, the one that reached that number last.
fn most_neighbours_chosen(lines: &[Vec<usize>], back: &[Vec<usize>]) -> Vec<usize> {
    let mut chosen = vec![false; lines.len()];
    let mut counts = vec![0; lines.len()];
    // The lines by their counts, also those that they had before.
    let mut by_count: Vec<Vec<usize>> = vec![(0..lines.len()).rev().collect()];
    let mut order = Vec::with_capacity(lines.len());
    while let Some(mut last) = by_count.pop() {
        let count = by_count.len();
        let next = last.pop();
        if !last.is_empty() {
            by_count.push(last);
        }
        let Some(k) = next.filter(|&k| !chosen[k] && counts[k] == count) else { continue };
        chosen[k] = true;
        order.push(k);
        for &other in lines[k].iter().flat_map(|&c| &back[c]).filter(|&&other| !chosen[other]) {
            counts[other] += 1;
            by_count.resize(by_count.len().max(counts[other] + 1), vec![]);
            by_count[counts[other]].push(other);
        }
    }
    order
}

/// Sparse matrix: only the entries of a pattern are stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Sparse<T> {
    pattern: Arc<Pattern>,
    /// Values of each row, in the order of the pattern, row after row.
    values: Vec<T>,
    /// Start of each row among the values.
    starts: Vec<usize>,
}

impl<T: Real> Sparse<T> {
    /// Returns the columns and values of a row; nothing beyond the last one.
    pub fn row(&self, k: usize) -> impl Iterator<Item = (usize, &T)> {
        let columns = self.pattern.rows.get(k).into_iter().flatten().copied();
        columns.zip(&self.values[self.starts.get(k).copied().unwrap_or(self.values.len())..])
    }

    /// Returns the pattern of the entries that may be other than zero.
    #[must_use]
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    /// Returns an entry that may be other than zero. O(log of the row's length).
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> Option<&T> {
        let k = self.pattern.rows.get(row)?.binary_search(&column).ok()?;
        self.values.get(self.starts.get(row)? + k)
    }

    /// Returns the matrix with all its zeros.
    #[must_use]
    pub fn dense(&self) -> Vec<Vec<T>> {
        let mut rows = vec![
            vec![<T as num_traits::Zero>::zero(); self.pattern.columns];
            self.pattern.rows.len()
        ];
        for (k, row) in rows.iter_mut().enumerate() {
            self.row(k).for_each(|(c, x)| row[c] = x.clone());
        }
        rows
    }
}

impl<T: Real, S: Scalar<Real = T>> Derivatives<'_, S> {
    /// Computes the [pattern](super::inspect::jacobian_pattern()) of the Jacobian at these
    /// arguments, and at all others that take the same path through the program. The result of a
    /// primitive depends on all its arguments.
    ///
    /// # Errors
    /// The arguments do not fit, or the program fails.
    pub fn jacobian_pattern(&self, args: &[Datum<S>]) -> Result<Pattern, DeriveError> {
        let f = Inspection::instrumented_in_place(&self.program, self.f)?;
        jacobian_of(f.with_host(self.host_with_constants()).with_limits(self.limits), args)
    }

    /// Computes the [pattern](super::inspect::hessian_pattern()) of the Hessian.
    ///
    /// # Errors
    /// Those of [`jacobian_pattern`](Derivatives::jacobian_pattern); the function must have a
    /// gradient.
    pub fn hessian_pattern(&self, args: &[Datum<S>]) -> Result<Pattern, DeriveError> {
        let gradient = Inspection::gradient_in_place(&self.program, self.f)?;
        hessian_of(gradient.with_host(self.host_with_constants()).with_limits(self.limits), args)
    }

    /// Computes the Jacobian, a row for each real number of the result and a column for each of the
    /// arguments, in order, where a complex number is two, its real part and its imaginary part; by
    /// tangents or cotangents, whichever are fewer.
    ///
    /// # Errors
    /// It cannot be differentiated or run.
    pub fn jacobian(&mut self, args: &[Datum<S>]) -> Result<Vec<Vec<T>>, DeriveError> {
        let y = self.value(args)?;
        let columns: usize = args.iter().filter_map(Datum::zero_tangent).map(|d| count(&d)).sum();
        let rows = count(&y);
        Ok(self.sparse_jacobian(args, &Colouring::dense(rows, columns))?.dense())
    }

    /// Computes the Jacobian from as many products as the colouring of its
    /// [pattern](super::inspect::jacobian_pattern) has groups.
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
            // One run for all rows, and the pullback for each group of them.
            let mut pulled = self.pullback(args)?;
            let zeros = pulled.value.zero_tangent();
            compressed(colouring, &function, zeros.as_slice(), false, |seeds| {
                pulled.call_all(seeds)
            })
        } else {
            let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
            // One run for all columns, and the linear map for each group of them.
            if colouring.products > 1
                && let Some(mut pushed) = self.linearize(args)?
            {
                return compressed(colouring, &function, &zeros, false, |seeds| {
                    Ok(pushed.call_all(&seeds)?.into_iter().map(|dot| vec![dot]).collect())
                });
            }
            compressed(colouring, &function, &zeros, true, |seeds| {
                seeds.iter().map(|dots| Ok(vec![self.jvp(args, dots)?.1])).collect()
            })
        }
    }

    /// Computes the Hessian of a function with a real result from as many products as the colouring
    /// of its [pattern](super::inspect::hessian_pattern), by columns or rows, has groups.
    ///
    /// # Errors
    /// It cannot be differentiated or run, or the pattern is one of another function; or
    /// [`DeriveError::Asymmetric`], as of [`hessian`](Derivatives::hessian).
    pub fn sparse_hessian(
        &mut self,
        args: &[Datum<S>],
        colouring: &Colouring,
    ) -> Result<Sparse<T>, DeriveError> {
        let function = self.program().functions[self.function()].name.clone();
        let zeros: Vec<Datum<S>> = args.iter().filter_map(Datum::zero_tangent).collect();
        let found =
            compressed(colouring, &function, &zeros, true, |seeds| self.hvps(args, &seeds))?;
        let rows = found.pattern().rows.iter().enumerate();
        let below =
            rows.flat_map(|(i, row)| row.iter().map(move |&j| (i, j)).filter(|(i, j)| j <= i));
        self.check_symmetry(args, below, |i, j| found.get(i, j))?;
        Ok(found)
    }
}

/// Computes one product for each group, and stores each number of it in its entry; the first
/// product is `alone`, as in [`batches`].
fn compressed<T: Real, S: Scalar<Real = T>>(
    Colouring { pattern, groups, products, by_rows }: &Colouring,
    function: &str,
    zeros: &[Datum<S>],
    alone: bool,
    mut products_with: impl FnMut(Vec<Vec<Datum<S>>>) -> Result<Vec<Vec<Datum<S>>>, DeriveError>,
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
    for turn in batches(*products, alone) {
        let seeds = |group: usize| {
            let mut members = groups.iter().map(|g| *g == group);
            zeros.iter().map(|d| seeded(d, &mut members)).collect()
        };
        for product in products_with(turn.map(seeds).collect())? {
            let mut line = Vec::with_capacity(expected);
            product.iter().for_each(|d| flatten(d, &mut line));
            if line.len() != expected {
                return Err(misfit(expected, line.len()));
            }
            lines.push(line);
        }
    }
    let mut starts = Vec::with_capacity(pattern.rows.len());
    let mut values = Vec::with_capacity(pattern.len());
    for (r, row) in pattern.rows.iter().enumerate() {
        starts.push(values.len());
        values.extend(row.iter().map(|&c| {
            if *by_rows { lines[groups[r]][c].clone() } else { lines[groups[c]][r].clone() }
        }));
    }
    Ok(Sparse { values, starts, pattern: pattern.clone() })
}
