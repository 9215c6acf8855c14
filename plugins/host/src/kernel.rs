//! Compiled part of a rule, with checks around every call.
#![expect(unsafe_code, reason = "the plugin's functions are called here")]

use std::{
    ffi::c_void,
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicBool, Ordering},
};

use ketgrad_core::{
    exec::Datum,
    ir::{Element, Kind},
    scalar::Scalar,
};
use ketgrad_plugin_abi::{self as abi, Shape};
use num_complex::Complex;

use crate::{
    array::{Array, Number, Values},
    border::{CallFailure, called},
    call::changes_modes,
    init::RawRule,
    plugins::is_complex,
    request::Check,
};

/// Number of guard elements before and after a result: they show if a kernel writes beside it.
const GUARD: usize = 8;

/// Largest number of elements of a result.
const MOST: u64 = 100_000_000;

/// Number of guard numbers before and after the result of a kernel on numbers.
const AROUND: (usize, usize) = (2, 4);

/// Largest number of inputs of a kernel on numbers.
pub(crate) const MAX_NUMBERS: usize = 16;

/// Kernel of a rule.
pub(crate) struct Kernel {
    raw: RawRule,
    pub(crate) params: Vec<Kind>,
    pub(crate) results: Vec<Kind>,
    numbers: NumberKinds,
    /// True if it takes numbers and gives one, all of one kind.
    is_scalar: bool,
    check: Check,
    /// True if it gave a tape that has no function to free it.
    keeps_tapes: AtomicBool,
}

/// Tape of a kernel for its pullback.
pub(crate) struct Tape<'k> {
    kernel: &'k Kernel,
    ptr: *mut c_void,
}

impl Drop for Tape<'_> {
    fn drop(&mut self) {
        if let (Some(free), false) = (self.kernel.raw.raw.free_tape, self.ptr.is_null()) {
            // SAFETY: the tape came from this rule's `forward` and is not used again.
            self.kernel.raw.callee.call(|| unsafe { free(self.kernel.raw.raw.user, self.ptr) });
        }
    }
}

/// Kinds of numbers of a kernel's inputs and results, without ints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NumberKinds {
    Real,
    Complex,
    /// Real and complex numbers.
    Mixed,
}

impl NumberKinds {
    fn from_signature(params: &[Kind], results: &[Kind]) -> NumberKinds {
        let all = || params.iter().chain(results);
        let is_real = |k: &Kind| matches!(k, Kind::Real | Kind::Array(Element::Real));
        match (all().any(is_complex), all().any(is_real)) {
            (false, _) => NumberKinds::Real,
            (true, false) => NumberKinds::Complex,
            (true, true) => NumberKinds::Mixed,
        }
    }

    /// Returns the kinds as a mask.
    fn dtypes(self) -> u32 {
        match self {
            NumberKinds::Real => 1 << abi::F64,
            NumberKinds::Complex => 1 << abi::C64,
            NumberKinds::Mixed => 1 << abi::F64 | 1 << abi::C64,
        }
    }
}

fn is_array(kind: &Kind) -> bool {
    matches!(kind, Kind::Array(_))
}

impl Kernel {
    /// Makes the kernel of a rule of this signature; `None` if it has none.
    pub(crate) fn new(
        raw: RawRule,
        params: Vec<Kind>,
        results: Vec<Kind>,
        check: Check,
    ) -> Result<Option<Kernel>, String> {
        let r = &raw.raw;
        let numbers = NumberKinds::from_signature(&params, &results);
        let arrays = params.iter().chain(&results).any(is_array);
        let scalar = match numbers {
            NumberKinds::Real => r.scalar_f64.is_some(),
            NumberKinds::Complex => r.scalar_c64.is_some(),
            NumberKinds::Mixed => false,
        };
        let is_scalar = !arrays && results.len() == 1 && numbers != NumberKinds::Mixed;
        if !(scalar && is_scalar) && r.forward.is_none() {
            if !arrays && (r.scalar_f64.is_some() || r.scalar_c64.is_some()) && results.len() > 1 {
                let given = results.len();
                return Err(format!(
                    "{given} results; a kernel on numbers has one, several need `forward`"
                ));
            }
            return Ok(None);
        }
        if is_scalar && params.len() > MAX_NUMBERS {
            return Err(format!(
                "{} inputs; a kernel on numbers has at most {MAX_NUMBERS}",
                params.len()
            ));
        }
        if r.dtypes & numbers.dtypes() != numbers.dtypes()
            || !results.iter().all(Kind::is_differentiable)
        {
            return Err("its kernel is of another kind of number than its signature".to_owned());
        }
        let keeps_tapes = AtomicBool::new(false);
        Ok(Some(Kernel { raw, params, results, numbers, is_scalar, check, keeps_tapes }))
    }

    /// Returns true if it takes numbers and gives one, all of one kind.
    pub(crate) fn is_scalar(&self) -> bool {
        self.is_scalar
    }

    /// Returns true if all its numbers are complex, but for ints.
    pub(crate) fn is_complex(&self) -> bool {
        self.numbers == NumberKinds::Complex
    }

    /// Returns true if an input of that kind crosses as complex numbers. Ints are numbers of the
    /// rule's kind; real ones if it has both.
    pub(crate) fn crosses_complex(&self, kind: &Kind) -> bool {
        is_complex(kind) || self.is_complex()
    }

    pub(crate) fn has_pullback(&self) -> bool {
        self.raw.raw.pullback.is_some() && self.raw.raw.forward.is_some()
    }

    /// Computes the value at real numbers, ints among them as numbers.
    #[inline]
    pub(crate) fn real(&self, x: &[f64]) -> Result<f64, CallFailure> {
        let Some(f) = self.raw.raw.scalar_f64 else { return self.number(x) };
        let y = self.watched(x, |user, x, y, err| {
            // SAFETY: `x` has the rule's number of inputs, `y` room for one, and `user` belongs to
            // the function.
            unsafe { f(user, x, y, err) }
        })?;
        if self.check == Check::Finite && !y.is_finite() && x.iter().all(|x| x.is_finite()) {
            return Err(CallFailure::broke(format!("it gives {y} although every input is finite")));
        }
        Ok(y)
    }

    /// Computes the value at complex numbers.
    #[inline]
    pub(crate) fn complex(&self, x: &[Complex<f64>]) -> Result<Complex<f64>, CallFailure> {
        let Some(f) = self.raw.raw.scalar_c64 else { return self.number(x) };
        let y = self.watched(x, |user, x, y, err| {
            // SAFETY: `x` has the rule's number of inputs, `y` room for one, complex numbers being
            // pairs of `f64`; `user` is the function's.
            unsafe { f(user, x.cast(), y.cast(), err) }
        })?;
        if self.check == Check::Finite
            && !Number::is_finite(y)
            && x.iter().all(|x| Number::is_finite(*x))
        {
            return Err(CallFailure::broke(format!("it gives {y} although every input is finite")));
        }
        Ok(y)
    }

    /// Computes the value of a kernel on numbers, with guards around it and a copy of the inputs.
    #[inline]
    fn watched<E: Number>(
        &self,
        x: &[E],
        call: impl FnOnce(*mut c_void, *const E, *mut E, *mut abi::Err) -> abi::Status,
    ) -> Result<E, CallFailure> {
        debug_assert_eq!(x.len(), self.params.len());
        if self.check == Check::Off {
            let mut y = E::default();
            called(&self.raw.callee, |err| call(self.raw.raw.user, x.as_ptr(), &raw mut y, err))?;
            return Ok(y);
        }
        // A copy: writes of the kernel to it are discarded.
        let mut given = [MaybeUninit::<E>::uninit(); MAX_NUMBERS];
        for (given, x) in given.iter_mut().zip(x) {
            given.write(*x);
        }
        let mut room = [E::CANARY; AROUND.0 + 1 + AROUND.1];
        room[AROUND.0] = E::default();
        let (from, to) = (given.as_mut_ptr().cast_const().cast(), room[AROUND.0..].as_mut_ptr());
        let result = called(&self.raw.callee, |err| call(self.raw.raw.user, from, to, err));
        let around = room[..AROUND.0].iter().chain(&room[AROUND.0 + 1..]);
        if !around.fold(true, |whole, x| whole & x.is_same(E::CANARY)) {
            return Err(CallFailure::broke("it wrote beside its result, which is one number"));
        }
        let same =
            // SAFETY: one was written for each number of `x`, and no more are looked at.
            given.iter().zip(x).fold(true, |same, (a, b)| same & unsafe { a.assume_init() }.is_same(*b));
        if !same {
            return Err(CallFailure::broke("it wrote to its inputs, which are the host's"));
        }
        result.map(|()| room[AROUND.0])
    }

    /// Computes the value at numbers, by the kernel on arrays.
    fn number<E: Number>(&self, x: &[E]) -> Result<E, CallFailure> {
        let x: Vec<Values> = x.iter().map(|x| E::values(Array::number(*x))).collect();
        let (y, _) = self.forward(&x)?;
        let number = y.first().and_then(E::of_values).and_then(|y| y.data.first().copied());
        number.ok_or_else(|| CallFailure::broke("no value"))
    }

    /// Computes the results and the tape.
    pub(crate) fn forward(&self, x: &[Values]) -> Result<(Vec<Values>, Tape<'_>), CallFailure> {
        let r = &self.raw.raw;
        let (Some(forward), true) = (r.forward, x.len() == self.params.len()) else {
            return Err(CallFailure::said("it has no kernel on arrays"));
        };
        let shapes = self.infer(x)?;
        let mut y = Vec::with_capacity(shapes.len());
        for (k, shape) in shapes.into_iter().enumerate() {
            let n = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST);
            let n = n.ok_or_else(|| {
                let result = self.result(k);
                CallFailure::broke(format!(
                    "it says that {result} has the shape {shape:?}; at most {MOST} elements"
                ))
            })?;
            y.push(Guarded::new(is_complex(&self.results[k]), shape, n as usize, self.guard()));
        }
        let mut tape = Tape { kernel: self, ptr: ptr::null_mut() };
        let inputs: Vec<abi::Array> = x.iter().map(borrowed).collect();
        let results: Vec<abi::Array> = y.iter_mut().map(Guarded::array).collect();
        let sum = self.sum(x);
        // SAFETY: the arrays are valid for the call, the results are ours alone and as large as
        // they say.
        let called = called(&self.raw.callee, |err| unsafe {
            forward(r.user, inputs.as_ptr(), results.as_ptr(), &raw mut tape.ptr, err)
        });
        if r.free_tape.is_none() && !tape.ptr.is_null() {
            self.keeps_tapes.store(true, Ordering::Relaxed);
        }
        let checked = |(k, y): (usize, Guarded)| y.checked(&self.result(k));
        let y: Vec<Values> = y.into_iter().enumerate().map(checked).collect::<Result<_, _>>()?;
        called?;
        unchanged(x, sum)?;
        y.iter().try_for_each(|y| self.finite(x, y))?;
        Ok((y, tape))
    }

    /// Computes the cotangents of the inputs.
    pub(crate) fn pullback(
        &self,
        tape: &Tape<'_>,
        x: &[Values],
        y: &[Values],
        y_bar: &[Values],
    ) -> Result<Vec<Values>, CallFailure> {
        let r = &self.raw.raw;
        let Some(pullback) = r.pullback else {
            return Err(CallFailure::said("it has no pullback"));
        };
        let n = self.results.len();
        if x.len() != self.params.len() || y.len() != n || y_bar.len() != n {
            return Err(CallFailure::said("another number of arrays"));
        }
        let lists =
            [x, y, y_bar].map(|list| list.iter().map(borrowed).collect::<Vec<abi::Array>>());
        let [inputs, values, cotangents] = &lists;
        let guard = self.guard();
        let mut bars: Vec<Guarded> = x
            .iter()
            .map(|x| Guarded::new(x.is_complex(), x.shape().to_vec(), x.len(), guard))
            .collect();
        let results: Vec<abi::Array> = bars.iter_mut().map(Guarded::array).collect();
        let sum = self.sum(x);
        // SAFETY: the arrays are valid for the call, the results are ours alone and as large as
        // they say; the tape is of this kernel.
        called(&self.raw.callee, |err| unsafe {
            let (x, y, y_bar) = (inputs.as_ptr(), values.as_ptr(), cotangents.as_ptr());
            pullback(r.user, tape.ptr, x, y, y_bar, results.as_ptr(), err)
        })?;
        unchanged(x, sum)?;
        let bars: Vec<Values> =
            bars.into_iter().map(|b| b.checked("its cotangent")).collect::<Result<_, _>>()?;
        if y_bar.iter().all(Values::is_finite) {
            for bar in &bars {
                self.finite(x, bar)?;
            }
        }
        Ok(bars)
    }

    /// Describes the k-th result.
    fn result(&self, k: usize) -> String {
        if self.results.len() == 1 { "its result".to_owned() } else { format!("its result {k}") }
    }

    /// Returns true if its value at a point is finite.
    pub(crate) fn has_value<S: Scalar>(&self, x: &[Datum<S>]) -> Result<bool, CallFailure> {
        let read = |(x, kind): (&Datum<S>, &Kind)| Values::read(x, self.crosses_complex(kind));
        let x: Option<Vec<Values>> = x.iter().zip(&self.params).map(read).collect();
        let x = x.ok_or_else(|| CallFailure::said("an input of another kind"))?;
        match (self.is_scalar(), self.is_complex()) {
            (true, false) => self.real(&numbers(&x)).map(f64::is_finite),
            (true, true) => self.complex(&numbers(&x)).map(Number::is_finite),
            (false, _) => Ok(self.forward(&x)?.0.iter().all(Values::is_finite)),
        }
    }

    /// Notes on what its calls have left in the process so far: memory that is never freed, modes
    /// of the processor.
    pub(crate) fn noticed(&self) -> Vec<String> {
        let (mut notes, name) = (Vec::new(), &self.raw.name);
        if self.raw.callee.changes_modes() {
            notes.push(changes_modes("rule", name));
        }
        if self.keeps_tapes.load(Ordering::Relaxed) {
            notes.push(format!(
                "rule `{name}` gives a tape and has no `free_tape`: each gradient keeps memory for ever"
            ));
        }
        notes
    }

    /// Returns a checksum of the inputs, if writes of a kernel to them are checked: a pass over all
    /// of them.
    fn sum(&self, x: &[Values]) -> Option<u64> {
        (self.check == Check::Finite).then(|| sum_of(x))
    }

    fn guard(&self) -> usize {
        if self.check == Check::Off { 0 } else { GUARD }
    }

    fn finite(&self, x: &[Values], y: &Values) -> Result<(), CallFailure> {
        if self.check != Check::Finite || y.is_finite() || !x.iter().all(Values::is_finite) {
            return Ok(());
        }
        let each = if y.is_complex() { 2 } else { 1 };
        let at = y.parts().iter().position(|y| !y.is_finite()).unwrap_or(0) / each;
        Err(CallFailure::broke(format!(
            "element {at} of what it gives is not finite although every input is"
        )))
    }

    /// Returns the shapes of the results that the kernel infers, of any number of dimensions for an
    /// array; checked against the signature.
    fn infer(&self, x: &[Values]) -> Result<Vec<Vec<u64>>, CallFailure> {
        let r = &self.raw.raw;
        let Some(infer) = r.infer else {
            let shape = x.first().map_or(vec![], |x| x.shape().to_vec());
            return (0..self.results.len()).map(|k| self.fitting(k, shape.clone())).collect();
        };
        let mut shapes =
            vec![Shape { ndim: 0, reserved: 0, dim: [0; abi::MAX_NDIM] }; self.results.len()];
        let inputs: Vec<abi::Array> = x.iter().map(borrowed).collect();
        // SAFETY: the arrays are valid for the call; the shapes are ours, one for each result.
        called(&self.raw.callee, |err| unsafe {
            infer(r.user, inputs.as_ptr(), shapes.as_mut_ptr(), err)
        })?;
        let one = |(k, shape): (usize, &Shape)| {
            let ndim = shape.ndim as usize;
            if ndim > abi::MAX_NDIM {
                let (result, most) = (self.result(k), abi::MAX_NDIM);
                return Err(CallFailure::broke(format!(
                    "it says that {result} has {ndim} dimensions; at most {most}"
                )));
            }
            self.fitting(k, shape.dim[..ndim].to_vec())
        };
        shapes.iter().enumerate().map(one).collect()
    }

    /// Checks that a shape fits the kind of the k-th result.
    fn fitting(&self, k: usize, shape: Vec<u64>) -> Result<Vec<u64>, CallFailure> {
        let kind = &self.results[k];
        let (fits, expected) = match is_array(kind) {
            true => (!shape.is_empty(), format!("1 to {}", abi::MAX_NDIM)),
            false => (shape.is_empty(), "none".to_owned()),
        };
        let (result, given) = (self.result(k), shape.len());
        let wrong =
            || format!("it says that {result} has {given} dimensions; {kind} has {expected}");
        if fits { Ok(shape) } else { Err(CallFailure::broke(wrong())) }
    }
}

/// Returns the first number of each value.
fn numbers<E: Number>(x: &[Values]) -> Vec<E> {
    x.iter().filter_map(|x| E::of_values(x)?.data.first().copied()).collect()
}

fn sum_of(x: &[Values]) -> u64 {
    /// An odd number whose bits look random.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    fn words<E: Number>(x: &Array<E>, sum: u64) -> u64 {
        x.data.iter().fold(sum, |sum, x| sum.wrapping_mul(FACTOR).wrapping_add(x.word()))
    }
    x.iter().fold(0, |sum, x| match x {
        Values::Reals(x) => words(x, sum),
        Values::Complexes(x) => words(x, sum),
    })
}

fn unchanged(x: &[Values], sum: Option<u64>) -> Result<(), CallFailure> {
    match sum {
        Some(sum) if sum != sum_of(x) => {
            Err(CallFailure::broke("it wrote to its inputs, which are the host's"))
        }
        _ => Ok(()),
    }
}

/// Borrows a value as an array for a kernel to read.
fn borrowed(values: &Values) -> abi::Array {
    match values {
        Values::Reals(x) => lent(&x.shape, x.data.as_ptr().cast_mut()),
        Values::Complexes(x) => lent(&x.shape, x.data.as_ptr().cast_mut()),
    }
}

fn lent<E: Number>(shape: &[u64], data: *mut E) -> abi::Array {
    abi::Array {
        dtype: E::DTYPE,
        ndim: shape.len() as u32,
        shape: shape.as_ptr(),
        strides: ptr::null(),
        data: data.cast(),
        mem: abi::MEM_HOST,
        device: 0,
    }
}

/// Result buffer between two guards.
enum Guarded {
    Reals(GuardedBuffer<f64>),
    Complexes(GuardedBuffer<Complex<f64>>),
}

impl Guarded {
    fn new(is_complex: bool, shape: Vec<u64>, len: usize, guard: usize) -> Guarded {
        match is_complex {
            false => Guarded::Reals(GuardedBuffer::new(shape, len, guard)),
            true => Guarded::Complexes(GuardedBuffer::new(shape, len, guard)),
        }
    }
    fn array(&mut self) -> abi::Array {
        match self {
            Guarded::Reals(x) => x.array(),
            Guarded::Complexes(x) => x.array(),
        }
    }
    fn checked(self, what: &str) -> Result<Values, CallFailure> {
        match self {
            Guarded::Reals(x) => x.checked(what).map(Values::Reals),
            Guarded::Complexes(x) => x.checked(what).map(Values::Complexes),
        }
    }
}

/// Elements between two guards.
struct GuardedBuffer<E> {
    shape: Vec<u64>,
    data: Vec<E>,
    /// Number of elements of each guard.
    guard: usize,
}

impl<E: Number> GuardedBuffer<E> {
    fn new(shape: Vec<u64>, len: usize, guard: usize) -> GuardedBuffer<E> {
        let mut data = Vec::with_capacity(len + 2 * guard);
        data.resize(guard, E::CANARY);
        data.resize(guard + len, E::default());
        data.resize(guard + len + guard, E::CANARY);
        GuardedBuffer { shape, data, guard }
    }
    fn array(&mut self) -> abi::Array {
        lent::<E>(&self.shape, self.data[self.guard..].as_mut_ptr())
    }
    fn checked(mut self, what: &str) -> Result<Array<E>, CallFailure> {
        let len = self.data.len() - 2 * self.guard;
        let whole = |guard: &[E]| guard.iter().all(|x| x.is_same(E::CANARY));
        if !whole(&self.data[self.guard + len..]) {
            return Err(CallFailure::broke(format!(
                "it wrote past the end of {what}, {len} elements"
            )));
        }
        if !whole(&self.data[..self.guard]) {
            return Err(CallFailure::broke(format!(
                "it wrote before the start of {what}, {len} elements"
            )));
        }
        self.data.truncate(self.guard + len);
        self.data.drain(..self.guard);
        Ok(Array { shape: self.shape, data: self.data })
    }
}
