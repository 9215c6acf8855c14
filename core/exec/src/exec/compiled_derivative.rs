//! Code for one derivative of a function: for arguments of any shapes, and for those of the shapes
//! that it is called with.
//!
//! ```text
//! first call, arrays of [14]     compiled for [14]
//! a call with [14]               the same code
//! a call with [15]               compiled for any shapes; for [15] when it has been asked for a few times
//! ```
//!
//! If shapes are known before a program is compiled, it need not compare them, nor keep arrays of
//! which the reverse pass reads the shape alone: on arrays of a few numbers that is most of the
//! time. Errors are the same: a call whose shapes do not fit is not specialised. Values are the
//! same to the last bit but for signs of zeros; derivatives to rounding, since values that known
//! shapes make equal have one cotangent, which is summed in another order.

use std::sync::Arc;

use crate::{
    adjoint::{self, DiffError, Linear, linear},
    array::Array,
    entity::FuncId,
    ir::{AbstractValue, Element, Kind, Op, Program, ShapeAssumptions, known_values},
    pass::{Level, keep_shapes, optimize_all, optimize_for},
    scalar::Scalar,
};

use super::{Bytecode, DeriveError, compile::TapeProvenance, data::Datum};

/// Transform that makes a derivative of a function.
pub(super) type Derive = fn(&mut Program, FuncId) -> Result<FuncId, DiffError>;

/// Maximum number of tuples of shapes that have code of their own.
const MAX_SPECIALIZED: usize = 4;
/// Number of calls with another tuple of shapes before it gets code of its own.
const SPECIALIZE_AFTER: usize = 4;

/// A derivative of a function, compiled as it is needed.
#[derive(Clone, Debug)]
pub(super) struct CompiledDerivative {
    program: Arc<Program>,
    f: FuncId,
    derive: Derive,
    options: CompileOptions,
    /// Facts that are known in addition to the arguments: constants.
    given: Arc<ShapeAssumptions>,
    /// True if arguments have shapes.
    shaped: bool,
    general: Option<Arc<Bytecode>>,
    specialized: ShapeCache<Arc<Bytecode>>,
}

/// Cache of code for arguments of certain shapes.
#[derive(Clone, Debug)]
pub(super) struct ShapeCache<C> {
    /// Entries by the known facts about their arguments, most recently used first.
    entries: Vec<(Vec<AbstractValue>, C)>,
    /// Other facts that were looked up, and how often.
    misses: Vec<(Vec<AbstractValue>, usize)>,
}

/// Result of a lookup in the cache.
pub(super) enum CacheLookup<C> {
    Hit(C),
    /// Not cached, but worth being made for arguments with these known facts.
    Compile(Vec<AbstractValue>),
    /// Not cached, and not worth being made yet.
    Miss,
}

impl<C: Clone> ShapeCache<C> {
    pub(super) fn new() -> ShapeCache<C> {
        ShapeCache { entries: Vec::new(), misses: Vec::new() }
    }

    pub(super) fn find<S: Scalar>(&mut self, args: &[Datum<S>]) -> CacheLookup<C> {
        let fits = |of: &[AbstractValue]| {
            of.len() == args.len() && of.iter().zip(args).all(|(k, d)| matches_known(d, k))
        };
        if let Some(k) = self.entries.iter().position(|s| fits(&s.0)) {
            self.entries[..=k].rotate_right(1);
            return CacheLookup::Hit(self.entries[0].1.clone());
        }
        let known: Vec<AbstractValue> = args.iter().map(known).collect();
        if self.entries.is_empty() {
            return CacheLookup::Compile(known);
        }
        let count = match self.misses.iter().position(|(asked, _)| *asked == known) {
            Some(k) => self.misses.remove(k).1 + 1,
            None => 1,
        };
        if count >= SPECIALIZE_AFTER {
            return CacheLookup::Compile(known);
        }
        self.misses.truncate(MAX_SPECIALIZED - 1);
        self.misses.insert(0, (known, count));
        CacheLookup::Miss
    }

    pub(super) fn keep(&mut self, known: Vec<AbstractValue>, made: C) {
        self.entries.truncate(MAX_SPECIALIZED - 1);
        self.entries.insert(0, (known, made));
    }
}

/// Options of the compilation.
#[derive(Clone, Copy, Debug)]
pub(super) struct CompileOptions {
    pub(super) level: Level,
    /// The order of the derivatives that the numbers carry.
    pub(super) order: usize,
    pub(super) tapes: TapeProvenance,
    #[cfg(feature = "jit")]
    pub(super) jit: bool,
}

impl CompiledDerivative {
    pub(super) fn new(
        program: &Program,
        f: FuncId,
        derive: Derive,
        how: CompileOptions,
        given: ShapeAssumptions,
    ) -> CompiledDerivative {
        let reachable = program.reachable(f);
        let pushes = |op| matches!(op, Op::Push { .. } | Op::Pop { .. });
        let is_own =
            !(reachable.iter()).any(|&g| program.functions[g].insts.values().any(|i| pushes(i.op)));
        let how = CompileOptions {
            tapes: if is_own { TapeProvenance::Derived } else { TapeProvenance::Unknown },
            ..how
        };
        let shaped = how.level != Level::None
            && (reachable.iter()).any(|&g| program.functions[g].kinds.values().any(is_shaped));
        CompiledDerivative {
            program: Arc::new(program.clone()),
            f,
            derive,
            options: how,
            given: Arc::new(given),
            shaped,
            general: None,
            specialized: ShapeCache::new(),
        }
    }

    /// Returns code for any arguments.
    pub(super) fn general(&mut self) -> Result<Arc<Bytecode>, DeriveError> {
        if let Some(code) = &self.general {
            return Ok(code.clone());
        }
        let mut program = self.optimized();
        let id = (self.derive)(&mut program, self.f)?;
        optimize_all(&mut program, id, self.options.level);
        if self.options.level != Level::None {
            keep_shapes(&mut program, id);
        }
        let code = Arc::new(self.options.code(&program, id, &[])?);
        self.general = Some(code.clone());
        Ok(code)
    }

    /// Returns code for these arguments.
    pub(super) fn code<S: Scalar>(
        &mut self,
        args: &[Datum<S>],
    ) -> Result<Arc<Bytecode>, DeriveError> {
        if !self.shaped {
            return self.general();
        }
        match self.specialized.find(args) {
            CacheLookup::Hit(code) => Ok(code),
            CacheLookup::Miss => self.general(),
            CacheLookup::Compile(known) => {
                let code = Arc::new(self.specialize(&known)?);
                self.specialized.keep(known, code.clone());
                Ok(code)
            }
        }
    }

    /// Compiles it for arguments with these known facts.
    fn specialize(&self, args: &[AbstractValue]) -> Result<Bytecode, DeriveError> {
        let (mut program, id) = self.specialized_program(args)?;
        keep_shapes(&mut program, id);
        let facts = known_values(&program, id, args.to_vec(), &self.given).unwrap_or_default();
        self.options.code(&program, id, &facts.values)
    }

    /// Returns the program with the derivative, optimised for arguments with these known facts.
    fn specialized_program(
        &self,
        args: &[AbstractValue],
    ) -> Result<(Program, FuncId), DeriveError> {
        let (level, mut program) = (self.options.level, self.optimized());
        let n = program.functions[self.f].params.len().min(args.len());
        optimize_for(&mut program, self.f, &args[..n], &self.given, level);
        let id = (self.derive)(&mut program, self.f)?;
        optimize_all(&mut program, id, level);
        optimize_for(&mut program, id, args, &self.given, level);
        Ok((program, id))
    }

    /// Splits a pushforward into the part that is the same for all tangents and the one that is
    /// linear in them; `None` if it cannot be split.
    pub(super) fn linearize(
        &self,
        args: &[AbstractValue],
        dots: &[AbstractValue],
    ) -> Option<[Bytecode; 2]> {
        let level = self.options.level;
        let (mut program, id) = self.specialized_program(&[args, dots].concat()).ok()?;
        let Linear { primal, tangent } = linear(&mut program, id, args.len())?;
        let mut part = |id: FuncId, args: &[AbstractValue], given: &ShapeAssumptions| {
            optimize_all(&mut program, id, level);
            optimize_for(&mut program, id, args, given, level);
            let facts = known_values(&program, id, args.to_vec(), given)?;
            Some((self.options.code(&program, id, &facts.values).ok()?, facts.slots))
        };
        let (primal, slots) = part(primal, args, &self.given)?;
        let given = ShapeAssumptions { slots, ..(*self.given).clone() };
        Some([primal, part(tangent, dots, &given)?.0])
    }

    fn optimized(&self) -> Program {
        let mut program = (*self.program).clone();
        optimize_all(&mut program, self.f, self.options.level);
        program
    }
}

impl CompileOptions {
    /// Compiles a function to bytecode or machine code, with the known facts about its values.
    pub(super) fn code(
        self,
        program: &Program,
        id: FuncId,
        known: &[AbstractValue],
    ) -> Result<Bytecode, DeriveError> {
        let code = match adjoint::on_duals(program, id, self.order)? {
            Some((program, id)) => Bytecode::compile_for(&program, id, known, self.tapes)?,
            None => Bytecode::compile_for(program, id, known, self.tapes)?,
        };
        #[cfg(feature = "jit")]
        let code = if self.jit { code.jit()? } else { code };
        Ok(code)
    }
}

/// Returns true if a value of the kind has a shape.
fn is_shaped(kind: &Kind) -> bool {
    match kind {
        Kind::Array(Element::Real | Element::Complex) => true,
        Kind::Tuple(t) => t.fields.iter().any(|f| is_shaped(&f.kind)),
        _ => false,
    }
}

/// Returns the facts about an argument that hold for all arguments of its shapes.
pub(super) fn known<S: Scalar>(d: &Datum<S>) -> AbstractValue {
    fn of<T>(array: &Array<T>) -> AbstractValue {
        AbstractValue::Array(array.shape())
    }
    match d {
        Datum::Reals(a) => of(a),
        Datum::Complexes(a) => of(a),
        Datum::Ints(a) => of(a),
        Datum::Tuple(fields) => AbstractValue::Tuple(fields.iter().map(known).collect()),
        _ => AbstractValue::Any,
    }
}

/// Returns true if an argument matches the known facts.
fn matches_known<S: Scalar>(d: &Datum<S>, known: &AbstractValue) -> bool {
    match (d, known) {
        (Datum::Reals(a), AbstractValue::Array(shape)) => a.is_of(shape),
        (Datum::Complexes(a), AbstractValue::Array(shape)) => a.is_of(shape),
        (Datum::Ints(a), AbstractValue::Array(shape)) => a.is_of(shape),
        (Datum::Tuple(fields), AbstractValue::Tuple(all)) => {
            fields.len() == all.len() && fields.iter().zip(all).all(|(d, k)| matches_known(d, k))
        }
        (Datum::Reals(_) | Datum::Complexes(_) | Datum::Ints(_) | Datum::Tuple(_), _) => false,
        (_, known) => *known == AbstractValue::Any,
    }
}
