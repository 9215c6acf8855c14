//! Contractions of two arrays whose axes carry labels.
//!
//! ```text
//! y_o = sum a_p b_q      over every label that is not in o
//! ```
//!
//! `p`, `q` and `o` are lists of labels, any integers, one for each axis. A label of both factors
//! pairs their axes, one of a single factor has no partner; either is summed if `o` lacks it. So
//! `[0, 1], [1, 2] -> [0, 2]` is the product of matrices, `[0, 1, 2], [0, 2, 3] -> [0, 1, 3]` a
//! stack of them, `[0, 1], [0, 1] -> [0]` dot products of rows.
//!
//! The axes are sorted into those of both factors and the result, of the first factor, of the
//! second, and what is summed between both; one [`matmul`](super::matmul()) of two stacks does the
//! rest. With `d` for the length of the axis of each label it takes as many products as the `d` of
//! all labels multiply to, less the sums within one factor, which come first.

use std::borrow::Cow;

use smallvec::SmallVec;

use crate::scalar::Conj;

use super::{
    Array, ArrayError, Shape, Strided,
    product::matmul_as,
    shape::{checked_count, row_major},
};

type Labels = SmallVec<[i64; 6]>;

/// Separates the three lists of labels where they are told apart by themselves, not by how
/// many axes the arrays have; no label.
#[doc(hidden)]
pub const BETWEEN: i64 = i64::MIN;

/// Error message if [`lists`] finds none.
#[doc(hidden)]
pub const LISTS: &str =
    "a label for each axis of both factors, then those of the result, none twice at one array";

/// Splits labels into those of two arrays of the given numbers of axes and of a third, each list
/// without a label twice.
#[doc(hidden)]
pub fn lists(labels: &[i64], first: usize, second: usize) -> Option<[&[i64]; 3]> {
    let lists = if labels.contains(&BETWEEN) {
        let mut parts = labels.split(|l| *l == BETWEEN);
        let lists = [parts.next()?, parts.next()?, parts.next()?];
        (parts.next().is_none() && lists[0].len() == first && lists[1].len() == second)
            .then_some(lists)?
    } else {
        let (p, rest) = labels.split_at_checked(first)?;
        let (q, o) = rest.split_at_checked(second)?;
        [p, q, o]
    };
    let once = |list: &[i64]| list.iter().enumerate().all(|(k, l)| !list[..k].contains(l));
    lists.into_iter().all(once).then_some(lists)
}

/// Returns the name of the operation as the labels were written: `einsum` has three lists.
#[doc(hidden)]
pub fn contraction(op: &'static str, labels: &[i64]) -> &'static str {
    if labels.contains(&BETWEEN) { "einsum" } else { op }
}

/// Labels as they were written: one list, or three.
pub(super) fn labels_text(labels: &[i64]) -> String {
    let parts: Vec<String> =
        labels.split(|l| *l == BETWEEN).map(|list| format!("{list:?}")).collect();
    parts.join(", ")
}

/// Array of a contraction that is computed from the other two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Contracted {
    /// The result, from both factors.
    Result,
    /// Contribution to the first factor, from the result and the second factor: repeated along
    /// labels that only it has.
    First,
    /// Contribution to the second factor, from the first factor and the result.
    Second,
}

impl Contracted {
    fn op(self) -> &'static str {
        match self {
            Contracted::Result => "contract",
            Contracted::First => "contract_first",
            Contracted::Second => "contract_second",
        }
    }
}

/// Returns the number of products of two elements that a contraction of arrays of these shapes adds
/// up, if it can be at all.
#[doc(hidden)]
pub fn contract_work(
    which: Contracted,
    a: &Shape,
    b: &Shape,
    like: Option<&Shape>,
    labels: &[i64],
) -> u64 {
    let like = like.map_or(0, |shape| shape.len());
    let split = match which {
        Contracted::Result => lists(labels, a.len(), b.len()).map(|[p, q, _]| [p, q]),
        Contracted::First => lists(labels, like, b.len()).map(|[_, q, o]| [o, q]),
        Contracted::Second => lists(labels, a.len(), like).map(|[p, _, o]| [p, o]),
    };
    // Wrong labels are told where they are used. All labels are those of both operands.
    let Some([p, q]) = split else { return 0 };
    let own = p.iter().zip(a).map(|(_, &n)| n);
    let others = q.iter().zip(b).filter(|(label, _)| !p.contains(label)).map(|(_, &n)| n);
    own.chain(others).fold(2, |work: u64, n| work.saturating_mul(n as u64))
}

/// Computes `y_o = sum a_p b_q` over the labels that are not in `o`. `labels` are those of the
/// first factor, of the second and of the result, one list after the other. `which` is the array
/// that is computed: for the result, `a` and `b` are the factors; for the first factor they are the
/// result and the second factor; for the second factor, the first factor and the result. `like` has
/// the shape of a factor that is computed. Nothing is conjugated.
///
/// ```
/// use ketgrad_core::array::{Array, Contracted, contract};
///
/// let a = Array::new(&[2, 2], vec![1.0, 2.0, 3.0, 4.0])?;
/// let b = Array::from(vec![1.0, 10.0]);
/// let mut y = Array::default();
/// contract(Contracted::Result, &a, &b, None, &[0, 1, 1, 0], usize::MAX, &mut y)?; // sum_1 a_01 b_1
/// assert_eq!(y.to_string(), "[21.0, 43.0]");
/// # Ok::<(), ketgrad_core::array::ArrayError>(())
/// ```
///
/// # Errors
/// The labels do not fit the axes, one occurs twice at one array, the result has none or one of
/// nobody, the lengths of one label differ, or there would be more than `limit` elements.
pub fn contract<S: Conj>(
    which: Contracted,
    a: &Array<S>,
    b: &Array<S>,
    like: Option<&Array<S>>,
    labels: &[i64],
    limit: usize,
    out: &mut Array<S>,
) -> Result<(), ArrayError> {
    let op = contraction(which.op(), labels);
    let [first, second, result] = split(which, a, b, like, labels)?;
    let (p, q, o) = match which {
        Contracted::Result => (first, second, result),
        Contracted::First => (result, second, first),
        Contracted::Second => (first, result, second),
    };
    // The length of each label.
    let (a_shape, b_shape, like_shape) =
        (a.shape(), b.shape(), like.map(Array::shape).unwrap_or_default());
    let wrong = || {
        let given: [&[usize]; 3] = [&a_shape, &b_shape, &like_shape];
        ArrayError::shape(
            op,
            "axes of one length for each label",
            &given[..2 + usize::from(like.is_some())],
        )
    };
    let mut known = Lengths::default();
    for (labels, shape) in [(p, &a_shape), (q, &b_shape), (o, &like_shape)] {
        for (&label, &length) in labels.iter().zip(shape) {
            known.fit(label, length).ok_or_else(wrong)?;
        }
    }
    let shape: Option<Shape> = o.iter().map(|&l| known.length_of(l)).collect();
    let Some(shape) = shape.filter(|s| !s.is_empty()) else {
        let expected = "at least one label for the result, and none that no factor has";
        return Err(ArrayError::Labels {
            op,
            labels: labels.to_vec(),
            expected,
            given: [p.len(), q.len()],
        });
    };
    checked_count(&shape, limit)?;

    // Sorted: those that stay in both, in one factor, and those summed between both.
    let has = |labels: &[i64], l: &i64| labels.contains(l);
    let pick = |labels: &[i64], wanted: &dyn Fn(&i64) -> bool| -> Labels {
        labels.iter().filter(|l| wanted(l)).copied().collect()
    };
    let stack = pick(p, &|l| has(q, l) && has(o, l));
    let rows = pick(p, &|l| !has(q, l) && has(o, l));
    let columns = pick(q, &|l| !has(p, l) && has(o, l));
    let between = pick(p, &|l| has(q, l) && !has(o, l));
    let size =
        |labels: &[i64]| labels.iter().filter_map(|&l| known.length_of(l)).product::<usize>();
    let (s, m, k, n) = (size(&stack), size(&rows), size(&between), size(&columns));
    let left = sorted(a, p, &[&stack, &rows, &between])?;
    let right = sorted(b, q, &[&stack, &between, &columns])?;
    let mut product = Array::default();
    matmul_as([&left, &right], [&[s, m, k], &[s, k, n]], false, false, &mut product)?;

    // Labels that it lacks are repeated.
    let order: Labels = [stack, rows, columns].concat().into();
    let lengths: Shape = order.iter().filter_map(|&l| known.length_of(l)).collect();
    let steps = row_major(&lengths);
    let strides: Shape =
        o.iter().map(|l| order.iter().position(|x| x == l).map_or(0, |k| steps[k])).collect();
    out.start(&shape).extend(Strided::new(&shape, &strides).map(|k| product[k].clone()));
    Ok(())
}

/// Returns the labels of the first factor, of the second and of the result.
fn split<'a, S>(
    which: Contracted,
    a: &Array<S>,
    b: &Array<S>,
    like: Option<&Array<S>>,
    labels: &'a [i64],
) -> Result<[&'a [i64]; 3], ArrayError> {
    let rank = like.map_or(0, Array::rank);
    let (first, second) = match which {
        Contracted::Result => (a.rank(), b.rank()),
        Contracted::First => (rank, b.rank()),
        Contracted::Second => (a.rank(), rank),
    };
    let result = match which {
        Contracted::Result => None,
        Contracted::First => Some(a.rank()),
        Contracted::Second => Some(b.rank()),
    };
    let lists =
        lists(labels, first, second).filter(|[.., o]| result.is_none_or(|rank| o.len() == rank));
    lists.ok_or_else(|| ArrayError::Labels {
        op: contraction(which.op(), labels),
        labels: labels.to_vec(),
        expected: LISTS,
        given: [first, second],
    })
}

/// The length along the axes of each label.
#[derive(Default)]
struct Lengths(SmallVec<[(i64, usize); 8]>);

impl Lengths {
    fn length_of(&self, label: i64) -> Option<usize> {
        self.0.iter().find(|(l, _)| *l == label).map(|(_, n)| *n)
    }
    /// Notes a length; `None` if it was another one before.
    fn fit(&mut self, label: i64, length: usize) -> Option<()> {
        match self.length_of(label) {
            Some(known) => (known == length).then_some(()),
            None => {
                self.0.push((label, length));
                Some(())
            }
        }
    }
}

/// Returns the axes in the order of the groups, all others summed; the array itself where it is in
/// order.
fn sorted<'a, S: Conj>(
    a: &'a Array<S>,
    labels: &[i64],
    groups: &[&Labels],
) -> Result<Cow<'a, Array<S>>, ArrayError> {
    let a_shape = a.shape();
    let steps = row_major(&a_shape);
    let kept: Labels = groups.iter().flat_map(|g| g.iter().copied()).collect();
    let alone = labels.iter().filter(|l| !kept.contains(l));
    let axes: SmallVec<[usize; 6]> =
        kept.iter().chain(alone).filter_map(|l| labels.iter().position(|x| x == l)).collect();
    let lengths: Shape = axes.iter().map(|&k| a_shape[k]).collect();
    let strides: Shape = axes.iter().map(|&k| steps[k]).collect();
    let each: usize = lengths[kept.len()..].iter().product();
    let count = lengths[..kept.len()].iter().product();
    if each != 1 {
        let mut places = Strided::new(&lengths, &strides).map(|k| &a[k]);
        let sums = (0..count).map(|_| S::sum(places.by_ref().take(each).cloned())).collect();
        return Array::new(&[count], sums).map(Cow::Owned);
    }
    // The last axes are runs where they stay as they are.
    let (mut run, mut lead) = (1, lengths.len());
    while lead > 0 && (strides[lead - 1] == run || lengths[lead - 1] == 1) {
        lead -= 1;
        run *= lengths[lead];
    }
    if lead == 0 {
        return Ok(Cow::Borrowed(a));
    }
    let mut items = Vec::with_capacity(count);
    if count > 0 {
        let starts = Strided::new(&lengths[..lead], &strides[..lead]);
        starts.for_each(|k| items.extend_from_slice(&a[k..k + run]));
    }
    Array::new(&[count], items).map(Cow::Owned)
}
