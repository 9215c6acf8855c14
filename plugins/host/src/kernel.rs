//! The compiled part of a rule, with checks around every call.
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
    array::{Array, Number},
    border::{Failed, called},
    call::changes_modes,
    init::RawRule,
    plugins::Check,
};

/// How many elements stand before and behind a result to see whether a kernel writes beside it.
const GUARD: usize = 8;

/// The most elements of a result.
const MOST: u64 = 100_000_000;

/// How many numbers stand before and behind the result of a kernel on numbers.
const AROUND: (usize, usize) = (2, 4);

/// The most inputs of a kernel on numbers.
pub(crate) const MAX_NUMBERS: usize = 16;

/// A kernel.
pub(crate) struct Kernel {
    raw: RawRule,
    pub(crate) params: Vec<Kind>,
    pub(crate) result: Kind,
    check: Check,
    /// Whether a tape came that nobody frees.
    keeps_tapes: AtomicBool,
}

/// What a kernel kept for its pullback.
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

impl Kernel {
    /// The kernel of a rule of this signature; `None` if it has none.
    pub(crate) fn new(
        raw: RawRule,
        params: Vec<Kind>,
        result: Kind,
        check: Check,
    ) -> Result<Option<Kernel>, String> {
        let r = &raw.raw;
        let numbers = params.iter().chain([&result]).all(|k| !matches!(k, Kind::Array(_)));
        let complex = matches!(result, Kind::Complex | Kind::Array(Element::Complex));
        let scalar = if complex { r.scalar_c64.is_some() } else { r.scalar_f64.is_some() };
        if !(scalar && numbers) && r.forward.is_none() {
            return Ok(None);
        }
        if numbers && params.len() > MAX_NUMBERS {
            return Err(format!("{} inputs; a kernel on numbers has at most {MAX_NUMBERS}", params.len()));
        }
        let (dtype, fits): (u32, fn(&Kind) -> bool) = if complex {
            (abi::C64, |k| matches!(k, Kind::Complex | Kind::Int | Kind::Array(Element::Complex)))
        } else {
            (abi::F64, |k| matches!(k, Kind::Real | Kind::Int | Kind::Array(Element::Real)))
        };
        if r.dtypes >> dtype & 1 == 0 || !params.iter().chain([&result]).all(fits) || result == Kind::Int {
            return Err("its kernel is of another kind of number than its signature".to_owned());
        }
        Ok(Some(Kernel { raw, params, result, check, keeps_tapes: AtomicBool::new(false) }))
    }

    /// Whether it takes numbers and gives one.
    pub(crate) fn is_scalar(&self) -> bool {
        !self.params.iter().chain([&self.result]).any(|k| matches!(k, Kind::Array(_)))
    }

    pub(crate) fn is_complex(&self) -> bool {
        matches!(self.result, Kind::Complex | Kind::Array(Element::Complex))
    }

    pub(crate) fn has_pullback(&self) -> bool {
        self.raw.raw.pullback.is_some() && self.raw.raw.forward.is_some()
    }

    /// The value at real numbers, ints among them as numbers.
    #[inline]
    pub(crate) fn real(&self, x: &[f64]) -> Result<f64, Failed> {
        let Some(f) = self.raw.raw.scalar_f64 else { return self.number(x) };
        let y = self.watched(x, |user, x, y, err| {
            // SAFETY: `x` has the rule's number of inputs, `y` room for one, and `user` belongs to the function.
            unsafe { f(user, x, y, err) }
        })?;
        if self.check == Check::Finite && !y.is_finite() && x.iter().all(|x| x.is_finite()) {
            return Err(Failed::broke(format!("it gives {y} although every input is finite")));
        }
        Ok(y)
    }

    /// The value at complex numbers.
    #[inline]
    pub(crate) fn complex(&self, x: &[Complex<f64>]) -> Result<Complex<f64>, Failed> {
        let Some(f) = self.raw.raw.scalar_c64 else { return self.number(x) };
        let y = self.watched(x, |user, x, y, err| {
            // SAFETY: `x` has the rule's number of inputs, `y` room for one, complex numbers being pairs of `f64`; `user` is the function's.
            unsafe { f(user, x.cast(), y.cast(), err) }
        })?;
        if self.check == Check::Finite && !Number::is_finite(y) && x.iter().all(|x| Number::is_finite(*x)) {
            return Err(Failed::broke(format!("it gives {y} although every input is finite")));
        }
        Ok(y)
    }

    /// The value of a kernel on numbers, with guards around it and inputs of its own.
    #[inline]
    fn watched<E: Number>(
        &self,
        x: &[E],
        call: impl FnOnce(*mut c_void, *const E, *mut E, *mut abi::Err) -> abi::Status,
    ) -> Result<E, Failed> {
        debug_assert_eq!(x.len(), self.params.len());
        if self.check == Check::Off {
            let mut y = E::default();
            called(&self.raw.callee, |err| call(self.raw.raw.user, x.as_ptr(), &raw mut y, err))?;
            return Ok(y);
        }
        // A copy: what is written to it is nobody's.
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
            return Err(Failed::broke("it wrote beside its result, which is one number"));
        }
        let same =
            // SAFETY: one was written for each number of `x`, and no more are looked at.
            given.iter().zip(x).fold(true, |same, (a, b)| same & unsafe { a.assume_init() }.is_same(*b));
        if !same {
            return Err(Failed::broke("it wrote to its inputs, which are the host's"));
        }
        result.map(|()| room[AROUND.0])
    }

    /// The value at numbers, by the kernel on arrays.
    fn number<E: Number>(&self, x: &[E]) -> Result<E, Failed> {
        let x: Vec<Array<E>> = x.iter().map(|x| Array::number(*x)).collect();
        let (y, _) = self.forward(&x)?;
        y.data.first().copied().ok_or_else(|| Failed::broke("no value"))
    }

    /// The result, and what the kernel keeps for its pullback.
    pub(crate) fn forward<E: Number>(&self, x: &[Array<E>]) -> Result<(Array<E>, Tape<'_>), Failed> {
        let r = &self.raw.raw;
        let (Some(forward), true) = (r.forward, x.len() == self.params.len()) else {
            return Err(Failed::said("it has no kernel on arrays"));
        };
        let shape = self.infer(x)?;
        let n = shape.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).filter(|n| *n <= MOST);
        let n = n.ok_or_else(|| {
            Failed::broke(format!("it says that its result has the shape {shape:?}; at most {MOST} elements"))
        })?;
        let mut y = Guarded::new(shape, n as usize, self.guard());
        let mut tape = Tape { kernel: self, ptr: ptr::null_mut() };
        let inputs: Vec<abi::Array> = x.iter().map(borrowed).collect();
        let result = y.array();
        let sum = self.sum(x);
        // SAFETY: the arrays are good for the call, the result is ours alone and as large as it says.
        let called = called(&self.raw.callee, |err| unsafe {
            forward(r.user, inputs.as_ptr(), &raw const result, &raw mut tape.ptr, err)
        });
        if r.free_tape.is_none() && !tape.ptr.is_null() {
            self.keeps_tapes.store(true, Ordering::Relaxed);
        }
        let y = y.checked("result")?;
        called?;
        unchanged(x, sum)?;
        self.finite(x, &y)?;
        Ok((y, tape))
    }

    /// The cotangents of the inputs.
    pub(crate) fn pullback<E: Number>(
        &self,
        tape: &Tape<'_>,
        x: &[Array<E>],
        y: &Array<E>,
        y_bar: &Array<E>,
    ) -> Result<Vec<Array<E>>, Failed> {
        let r = &self.raw.raw;
        let Some(pullback) = r.pullback else { return Err(Failed::said("it has no pullback")) };
        let inputs: Vec<abi::Array> = x.iter().map(borrowed).collect();
        let (value, cotangent) = (borrowed(y), borrowed(y_bar));
        let guard = self.guard();
        let mut bars: Vec<Guarded<E>> =
            x.iter().map(|x| Guarded::new(x.shape.clone(), x.data.len(), guard)).collect();
        let results: Vec<abi::Array> = bars.iter_mut().map(Guarded::array).collect();
        let sum = self.sum(x);
        // SAFETY: the arrays are good for the call, the results are ours alone and as large as they say; the tape is of this kernel.
        called(&self.raw.callee, |err| unsafe {
            let (value, cotangent) = (&raw const value, &raw const cotangent);
            pullback(r.user, tape.ptr, inputs.as_ptr(), value, cotangent, results.as_ptr(), err)
        })?;
        unchanged(x, sum)?;
        let bars: Vec<Array<E>> =
            bars.into_iter().map(|b| b.checked("cotangent")).collect::<Result<_, _>>()?;
        if y_bar.is_finite() {
            for bar in &bars {
                self.finite(x, bar)?;
            }
        }
        Ok(bars)
    }

    /// Whether its value at a point is finite.
    pub(crate) fn has_value<S: Scalar>(&self, x: &[Datum<S>]) -> Result<bool, Failed> {
        match self.is_complex() {
            true => self.finite_at::<Complex<f64>, S>(x, Kernel::complex),
            false => self.finite_at::<f64, S>(x, Kernel::real),
        }
    }

    fn finite_at<E: Number, S: Scalar>(
        &self,
        x: &[Datum<S>],
        by_numbers: fn(&Kernel, &[E]) -> Result<E, Failed>,
    ) -> Result<bool, Failed> {
        let x: Option<Vec<Array<E>>> = x.iter().map(E::read).collect();
        let x = x.ok_or_else(|| Failed::said("an input of another kind"))?;
        if self.is_scalar() {
            let numbers: Vec<E> = x.iter().filter_map(|x| x.data.first().copied()).collect();
            return by_numbers(self, &numbers).map(Number::is_finite);
        }
        Ok(self.forward(&x)?.0.is_finite())
    }

    /// What its calls have left behind so far: memory that nobody frees, modes of the processor.
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

    /// A sum over the bits of the inputs, if it is looked at whether a kernel writes to them: a pass over all of them.
    fn sum<E: Number>(&self, x: &[Array<E>]) -> Option<u64> {
        (self.check == Check::Finite).then(|| sum_of(x))
    }

    fn guard(&self) -> usize {
        if self.check == Check::Off { 0 } else { GUARD }
    }

    fn finite<E: Number>(&self, x: &[Array<E>], y: &Array<E>) -> Result<(), Failed> {
        if self.check != Check::Finite || y.is_finite() || !x.iter().all(Array::is_finite) {
            return Ok(());
        }
        let at = y.data.iter().position(|y| !y.is_finite()).unwrap_or(0);
        Err(Failed::broke(format!("element {at} of what it gives is not finite although every input is")))
    }

    /// The shape of the result as the kernel says it, of any number of dimensions for an array; believed only as far as it fits
    /// the signature.
    fn infer<E: Number>(&self, x: &[Array<E>]) -> Result<Vec<u64>, Failed> {
        let r = &self.raw.raw;
        let shape = match r.infer {
            None => x.first().map_or(vec![], |x| x.shape.clone()),
            Some(infer) => {
                let mut shape = Shape { ndim: 0, reserved: 0, dim: [0; abi::MAX_NDIM] };
                let inputs: Vec<abi::Array> = x.iter().map(borrowed).collect();
                // SAFETY: the arrays are good for the call; the shape is ours.
                called(&self.raw.callee, |err| unsafe {
                    infer(r.user, inputs.as_ptr(), &raw mut shape, err)
                })?;
                let ndim = shape.ndim as usize;
                if ndim > abi::MAX_NDIM {
                    return Err(Failed::broke(format!(
                        "it says that its result has {ndim} dimensions; at most {}",
                        abi::MAX_NDIM
                    )));
                }
                shape.dim[..ndim].to_vec()
            }
        };
        let (least, most) = match self.result {
            Kind::Array(_) => (1, abi::MAX_NDIM),
            _ => (0, 0),
        };
        if !(least..=most).contains(&shape.len()) {
            let expected = if most == 0 { "none".to_owned() } else { format!("{least} to {most}") };
            return Err(Failed::broke(format!(
                "it says that its result has {} dimensions; {} has {expected}",
                shape.len(),
                self.result
            )));
        }
        Ok(shape)
    }
}

fn sum_of<E: Number>(x: &[Array<E>]) -> u64 {
    /// An odd number whose bits look random.
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let all = x.iter().flat_map(|x| &x.data);
    all.fold(0, |sum: u64, x| sum.wrapping_mul(FACTOR).wrapping_add(x.word()))
}

fn unchanged<E: Number>(x: &[Array<E>], sum: Option<u64>) -> Result<(), Failed> {
    match sum {
        Some(sum) if sum != sum_of(x) => Err(Failed::broke("it wrote to its inputs, which are the host's")),
        _ => Ok(()),
    }
}

/// An array of ours for a kernel to read.
fn borrowed<E: Number>(array: &Array<E>) -> abi::Array {
    lent::<E>(&array.shape, array.data.as_ptr().cast_mut())
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

/// A result between two guards.
struct Guarded<E> {
    shape: Vec<u64>,
    data: Vec<E>,
    /// Elements of each guard.
    guard: usize,
}

impl<E: Number> Guarded<E> {
    fn new(shape: Vec<u64>, len: usize, guard: usize) -> Guarded<E> {
        let mut data = Vec::with_capacity(len + 2 * guard);
        data.resize(guard, E::CANARY);
        data.resize(guard + len, E::default());
        data.resize(guard + len + guard, E::CANARY);
        Guarded { shape, data, guard }
    }
    fn array(&mut self) -> abi::Array {
        lent::<E>(&self.shape, self.data[self.guard..].as_mut_ptr())
    }
    fn checked(mut self, what: &str) -> Result<Array<E>, Failed> {
        let len = self.data.len() - 2 * self.guard;
        let whole = |guard: &[E]| guard.iter().all(|x| x.is_same(E::CANARY));
        if !whole(&self.data[self.guard + len..]) {
            return Err(Failed::broke(format!("it wrote past the end of its {what}, {len} elements")));
        }
        if !whole(&self.data[..self.guard]) {
            return Err(Failed::broke(format!("it wrote before the start of its {what}, {len} elements")));
        }
        self.data.truncate(self.guard + len);
        self.data.drain(..self.guard);
        Ok(Array { shape: self.shape, data: self.data })
    }
}
