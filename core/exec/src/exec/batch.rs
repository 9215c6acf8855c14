//! One program over many arguments at once ("single program, multiple data").
//!
//! `N` sets of arguments run side by side on [`Lanes`]: each instruction is fetched once for all of
//! them, and its arithmetic is a loop over lanes that the compiler turns into vector instructions.
//! If the lanes disagree at a comparison they diverge: those that take one branch run again
//! together, and so do the others.
//!
//! ```
//! use ketgrad_core::{exec::{Batch, Bytecode, Datum}, text::parse_program};
//!
//! let program = parse_program("fn f(x) { if x > 0 { x * x } else { 0.0 - x } }")?;
//! let f = program.lookup("f").ok_or("no f")?;
//! let mut batch = Batch::<f64, 4>::new(Bytecode::compile(&program, f)?);
//! let arguments = [-1.0, 1.0, -2.0, 2.0].map(|x| vec![Datum::Real(x)]);
//! let results: Result<Vec<_>, _> = batch.call(&arguments).into_iter().collect();
//! assert_eq!(results?, [1.0, 1.0, 2.0, 4.0].map(Datum::Real));
//! assert_eq!(batch.runs(), 3); // together to the comparison, then two by two
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Invariants
//! - Every set of arguments gets the result that it gets alone, bit by bit.
//! - Lanes that run together have the same integers, truth values, handles and lengths of arrays.
//! - A group runs at most as often as it has lanes that diverge, plus once for each lane if a
//!   number must be rounded (`floor` and its like need a value that several lanes do not have). A
//!   run that diverges starts again from the arguments.

use crate::{
    array::Array,
    scalar::{Lanes, Real},
};

use super::{Bytecode, Datum, Executable, Host, Limits, Machine, NoHost, RunError};

/// Runs one compiled function over many sets of arguments, `N` at once. `N` is at most 64; 4 to 16
/// pay.
#[derive(Debug)]
pub struct Batch<T: Real, const N: usize> {
    code: Bytecode,
    limits: Limits,
    lanes: Machine<Lanes<T, N>>,
    alone: Machine<T>,
    runs: usize,
}

impl<T: Real, const N: usize> Batch<T, N> {
    /// Creates a batch of a compiled function.
    #[must_use]
    pub fn new(code: Bytecode) -> Self {
        const { assert!(N >= 1 && N <= 64, "one to 64 lanes") };
        Batch {
            code,
            limits: Limits::default(),
            lanes: Machine::new(),
            alone: Machine::new(),
            runs: 0,
        }
    }

    /// Sets the limits of each run.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Returns the number of runs of the program, alone or with several lanes.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs
    }

    /// Returns the result for each set of arguments, in order.
    pub fn call(&mut self, arguments: &[Vec<Datum<T>>]) -> Vec<Result<Datum<T>, RunError>> {
        self.call_with(&NoHost, arguments)
    }

    /// Runs the sets like [`call`](Batch::call), with the host that computes the program's
    /// primitives.
    pub fn call_with<H>(
        &mut self,
        host: &H,
        arguments: &[Vec<Datum<T>>],
    ) -> Vec<Result<Datum<T>, RunError>>
    where
        H: Host<T> + Host<Lanes<T, N>>,
    {
        let mut results: Vec<Option<Result<Datum<T>, RunError>>> =
            arguments.iter().map(|_| None).collect();
        let mut work = groups(arguments, N);
        while let Some(group) = work.pop() {
            if let [one] = group[..] {
                results[one] = Some(self.alone(host, &arguments[one]));
                continue;
            }
            match self.together(host, arguments, &group) {
                Ok(result) => {
                    for (lane, &k) in group.iter().enumerate() {
                        results[k] = Some(Ok(unpack(&result, lane)));
                    }
                }
                Err(RunError::Undecided { source, .. }) if source.agreeing != 0 => {
                    let agrees = |lane: usize| source.agreeing & (1 << lane) != 0;
                    let lanes = group.iter().enumerate();
                    let (first, others): (Vec<_>, Vec<_>) =
                        lanes.partition(|(lane, _)| agrees(*lane));
                    work.push(first.into_iter().map(|(_, &k)| k).collect());
                    work.push(others.into_iter().map(|(_, &k)| k).collect());
                }
                // Lanes run alone if one of them fails, or if the operation cannot run on lanes.
                Err(_) => work.extend(group.into_iter().map(|k| vec![k])),
            }
        }
        let mut alone = |k: usize| self.alone(host, &arguments[k]);
        results.into_iter().enumerate().map(|(k, r)| r.unwrap_or_else(|| alone(k))).collect()
    }

    fn alone(&mut self, host: &dyn Host<T>, arguments: &[Datum<T>]) -> Result<Datum<T>, RunError> {
        self.runs += 1;
        self.code.call(&mut self.alone, host, &self.limits, arguments)
    }

    /// Runs a group in lanes; lanes beyond the group repeat its first member.
    fn together(
        &mut self,
        host: &dyn Host<Lanes<T, N>>,
        arguments: &[Vec<Datum<T>>],
        group: &[usize],
    ) -> Result<Datum<Lanes<T, N>>, RunError> {
        self.runs += 1;
        let of = |lane: usize| &arguments[group.get(lane).copied().unwrap_or(group[0])];
        let packed: Vec<_> = (0..of(0).len()).map(|k| pack(&|lane| &of(lane)[k])).collect();
        self.code.call(&mut self.lanes, host, &self.limits, &packed)
    }
}

/// Returns groups of sets of arguments that may run together, at most `most` each, in order.
fn groups<T: Real>(arguments: &[Vec<Datum<T>>], most: usize) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    // The groups that still have room.
    let mut open: Vec<usize> = Vec::new();
    for (k, args) in arguments.iter().enumerate() {
        let fits = |g: &usize| {
            let other = &arguments[groups[*g][0]];
            other.len() == args.len() && other.iter().zip(args).all(|(a, b)| alike(a, b))
        };
        match open.iter().position(fits) {
            Some(place) => {
                groups[open[place]].push(k);
                if groups[open[place]].len() == most {
                    open.swap_remove(place);
                }
            }
            None => {
                if most > 1 {
                    open.push(groups.len());
                }
                groups.push(vec![k]);
            }
        }
    }
    groups
}

/// Returns true if two arguments differ in numbers only.
fn alike<T: Real>(a: &Datum<T>, b: &Datum<T>) -> bool {
    match (a, b) {
        (Datum::Real(_), Datum::Real(_)) | (Datum::Complex(_), Datum::Complex(_)) => true,
        (Datum::Int(a), Datum::Int(b)) => a == b,
        (Datum::Bool(a), Datum::Bool(b)) => a == b,
        (Datum::Handle(a), Datum::Handle(b)) => a == b,
        (Datum::Reals(a), Datum::Reals(b)) | (Datum::Complexes(a), Datum::Complexes(b)) => {
            a.same_shape(b)
        }
        (Datum::Ints(a), Datum::Ints(b)) => a == b,
        (Datum::Tuple(a), Datum::Tuple(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| alike(a, b))
        }
        _ => false,
    }
}

/// Packs arguments that are alike into lanes.
pub(super) fn pack<'a, T: Real, const N: usize>(
    of: &dyn Fn(usize) -> &'a Datum<T>,
) -> Datum<Lanes<T, N>> {
    let number = |lane: usize| match of(lane) {
        Datum::Real(x) | Datum::Complex(x) => x.clone(),
        _ => T::zero(),
    };
    let element = |lane: usize, k: usize| match of(lane) {
        Datum::Reals(xs) | Datum::Complexes(xs) => xs.get(k).cloned().unwrap_or_else(T::zero),
        _ => T::zero(),
    };
    let elements = |like: &Array<T>| {
        let mut k = 0..;
        std::sync::Arc::new(like.map(|_| {
            let k = k.next().unwrap_or(0);
            Lanes(std::array::from_fn(|lane| element(lane, k)))
        }))
    };
    match of(0) {
        Datum::Real(_) => Datum::Real(Lanes(std::array::from_fn(number))),
        Datum::Complex(_) => Datum::Complex(Lanes(std::array::from_fn(number))),
        Datum::Int(n) => Datum::Int(*n),
        Datum::Bool(b) => Datum::Bool(*b),
        Datum::Handle(h) => Datum::Handle(*h),
        Datum::Reals(xs) => Datum::Reals(elements(xs)),
        Datum::Complexes(xs) => Datum::Complexes(elements(xs)),
        Datum::Ints(xs) => Datum::Ints(xs.clone()),
        Datum::Tuple(fields) => {
            let field = |lane: usize, k: usize| of(lane).fields().get(k).unwrap_or(of(lane));
            Datum::Tuple((0..fields.len()).map(|k| pack(&|lane| field(lane, k))).collect())
        }
    }
}

/// Unpacks one lane of a result.
pub(super) fn unpack<T: Real, const N: usize>(value: &Datum<Lanes<T, N>>, lane: usize) -> Datum<T> {
    let items = |xs: &Array<Lanes<T, N>>| std::sync::Arc::new(xs.map(|x| x.0[lane].clone()));
    match value {
        Datum::Real(x) => Datum::Real(x.0[lane].clone()),
        Datum::Complex(x) => Datum::Complex(x.0[lane].clone()),
        Datum::Int(n) => Datum::Int(*n),
        Datum::Bool(b) => Datum::Bool(*b),
        Datum::Handle(h) => Datum::Handle(*h),
        Datum::Reals(xs) => Datum::Reals(items(xs)),
        Datum::Complexes(xs) => Datum::Complexes(items(xs)),
        Datum::Ints(xs) => Datum::Ints(xs.clone()),
        Datum::Tuple(fields) => Datum::Tuple(fields.iter().map(|f| unpack(f, lane)).collect()),
    }
}
