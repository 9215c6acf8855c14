//! Expressions over classical bits, variables and parameters.
//!
//! An expression is a table in postfix order in which every step has the types that it works on:
//! they are found once, when the expression is built, and conversions are steps of their own.
//! Evaluation looks up no type, and cannot fail.

use super::{
    ClassicalError, Relation, VariableId,
    evaluate::{ExprBits, ExprStep, Nothing, ReadMemory, evaluate},
    operator::{self, Arithmetic, ClassicalFunction},
    types::{ClassicalType, IntType, MAX_WIDTH},
    typing::{self, Meeting, Typing},
    word::{self, Word},
};
use crate::param::Angle;

/// An expression over classical bits, variables and parameters.
///
/// An integer of Rust is one without a type, which takes that of the operand beside it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassicalExpr {
    pub(super) kind: ExprKind,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum ExprKind {
    /// An integer without a type.
    Literal(i128),
    Typed {
        ty: ClassicalType,
        steps: Vec<ExprStep>,
    },
}

/// A place that an expression reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ReadPlace<'a> {
    Bit(u32),
    Variable(VariableId),
    Angle(&'a Angle),
}

/// Other numbers for what an expression reads.
pub(crate) trait Renumber {
    fn bit(&self, bit: u32) -> u32;
    fn variable(&self, variable: VariableId) -> VariableId;
    fn angle(&self, angle: &Angle) -> Angle;
}

/// The type of the digits of an integer without a type.
const LITERAL: ClassicalType = ClassicalType::Int(IntType::signed(MAX_WIDTH));

impl From<bool> for ClassicalExpr {
    fn from(value: bool) -> ClassicalExpr {
        ClassicalExpr::constant(ClassicalType::Bool, Word::from(value))
    }
}

impl From<f64> for ClassicalExpr {
    fn from(value: f64) -> ClassicalExpr {
        ClassicalExpr::constant(ClassicalType::FLOAT, word::float_word(value))
    }
}

macro_rules! literals {
    ($($int:ty)*) => {$(
        /// An integer without a type, which takes that of the operand beside it.
        impl From<$int> for ClassicalExpr {
            fn from(value: $int) -> ClassicalExpr {
                ClassicalExpr::literal(i128::from(value))
            }
        }
    )*};
}

literals! { i8 i16 i32 i64 u8 u16 u32 u64 i128 }

/// Values and places.
impl ClassicalExpr {
    /// An integer without a type, which takes that of the operand beside it.
    #[must_use]
    pub fn literal(value: i128) -> ClassicalExpr {
        ClassicalExpr { kind: ExprKind::Literal(value) }
    }

    /// A value of a type.
    #[must_use]
    pub fn constant(ty: ClassicalType, value: Word) -> ClassicalExpr {
        ClassicalExpr::step(ty, ExprStep::Constant(ty, value))
    }

    /// The value of an angle over parameters of the circuit, a float.
    #[must_use]
    pub fn angle(angle: impl Into<Angle>) -> ClassicalExpr {
        let angle = angle.into();
        match angle.constant() {
            Some(value) => ClassicalExpr::from(value),
            None => ClassicalExpr::step(ClassicalType::FLOAT, ExprStep::Real(angle)),
        }
    }

    /// The number in some classical bits, the first least significant: a bit string of up to 128.
    ///
    /// # Errors
    /// [`ClassicalError::Width`] for no bits or more.
    pub fn bits(bits: &[u32]) -> Result<ClassicalExpr, ClassicalError> {
        let given = u32::try_from(bits.len()).unwrap_or(u32::MAX);
        let ty = valid(ClassicalType::Bits(given))?;
        Ok(ClassicalExpr::step(ty, ExprStep::Bits(ExprBits::new(bits.to_vec()))))
    }

    /// The value of a variable of that type.
    pub(crate) fn variable(variable: VariableId, ty: ClassicalType) -> ClassicalExpr {
        ClassicalExpr::step(ty, ExprStep::Variable(variable, ty))
    }

    /// The element of an array of that type and shape; 0 outside of it. `None` for an index that is
    /// no integer, or another number of them.
    pub(crate) fn element(
        variable: VariableId,
        (ty, shape): (ClassicalType, &[u32]),
        indices: impl IntoIterator<Item = ClassicalExpr>,
    ) -> Option<ClassicalExpr> {
        let indices: Vec<ClassicalExpr> =
            indices.into_iter().map(ClassicalExpr::into_index).collect::<Option<_>>()?;
        if indices.len() != shape.len() {
            return None;
        }
        let mut steps: Vec<ExprStep> =
            indices.into_iter().flat_map(ClassicalExpr::into_steps).collect();
        steps.push(ExprStep::Element { variable, ty, shape: shape.into() });
        Some(ClassicalExpr { kind: ExprKind::Typed { ty, steps } })
    }

    fn step(ty: ClassicalType, step: ExprStep) -> ClassicalExpr {
        ClassicalExpr { kind: ExprKind::Typed { ty, steps: vec![step] } }
    }

    /// The type; `None` for an integer that takes that of the operand beside it.
    #[must_use]
    pub fn ty(&self) -> Option<ClassicalType> {
        match &self.kind {
            ExprKind::Literal(_) => None,
            ExprKind::Typed { ty, .. } => Some(*ty),
        }
    }

    /// The type of integers that two operands are converted to; `None` if one is no integer, or
    /// both have no type.
    #[doc(hidden)]
    #[must_use]
    pub fn common_int(&self, other: &ClassicalExpr) -> Option<IntType> {
        typing::common_int(self.typing(), other.typing())
    }

    /// The value, if it is the same whatever is read.
    #[must_use]
    pub fn value(&self) -> Option<Word> {
        match &self.kind {
            ExprKind::Typed { steps, .. } => match steps.as_slice() {
                [ExprStep::Constant(_, value)] => Some(*value),
                _ => None,
            },
            ExprKind::Literal(value) => Some(value.cast_unsigned()),
        }
    }

    /// The value, given what it reads.
    #[must_use]
    pub fn evaluate(&self, memory: &dyn ReadMemory) -> Word {
        match &self.kind {
            ExprKind::Literal(value) => value.cast_unsigned(),
            ExprKind::Typed { steps, .. } => evaluate(steps, memory),
        }
    }

    /// Calls a function with every place that is read.
    pub(crate) fn for_each_place(&self, f: &mut dyn FnMut(ReadPlace<'_>)) {
        let ExprKind::Typed { steps, .. } = &self.kind else { return };
        for step in steps {
            match step {
                ExprStep::Bits(ExprBits::Range { first, len }) => {
                    (*first..first.saturating_add(*len)).for_each(|bit| f(ReadPlace::Bit(bit)));
                }
                ExprStep::Bits(ExprBits::List(bits)) => {
                    bits.iter().for_each(|&bit| f(ReadPlace::Bit(bit)));
                }
                ExprStep::Variable(variable, _) | ExprStep::Element { variable, .. } => {
                    f(ReadPlace::Variable(*variable));
                }
                ExprStep::Real(angle) => f(ReadPlace::Angle(angle)),
                _ => {}
            }
        }
    }

    /// Returns the expression that reads other places.
    pub(crate) fn renumbered(&self, to: &dyn Renumber) -> ClassicalExpr {
        let ExprKind::Typed { ty, steps } = &self.kind else { return self.clone() };
        let steps = steps.iter().map(|step| match step {
            ExprStep::Bits(ExprBits::List(bits)) => {
                ExprStep::Bits(ExprBits::List(bits.iter().map(|&bit| to.bit(bit)).collect()))
            }
            ExprStep::Bits(ExprBits::Range { first, len }) => {
                ExprStep::Bits(ExprBits::new((0..*len).map(|k| to.bit(first + k)).collect()))
            }
            ExprStep::Variable(variable, ty) => ExprStep::Variable(to.variable(*variable), *ty),
            ExprStep::Element { variable, ty, shape } => {
                let (variable, shape) = (to.variable(*variable), shape.clone());
                ExprStep::Element { variable, ty: *ty, shape }
            }
            ExprStep::Real(angle) => {
                let angle = to.angle(angle);
                match angle.constant() {
                    Some(value) => {
                        ExprStep::Constant(ClassicalType::FLOAT, word::float_word(value))
                    }
                    None => ExprStep::Real(angle),
                }
            }
            other => other.clone(),
        });
        ClassicalExpr { kind: ExprKind::Typed { ty: *ty, steps: steps.collect() } }
    }

    fn typing(&self) -> Typing {
        match &self.kind {
            ExprKind::Literal(value) => Typing::Literal(*value),
            ExprKind::Typed { ty, .. } => Typing::Typed(*ty),
        }
    }

    /// Type or value, for errors.
    fn describe(&self) -> String {
        match self.typing() {
            Typing::Literal(value) => value.to_string(),
            Typing::Typed(ty) => ty.to_string(),
        }
    }

    /// The steps; a literal has the type `int[128]`.
    fn into_steps(self) -> Vec<ExprStep> {
        match self.kind {
            ExprKind::Typed { steps, .. } => steps,
            ExprKind::Literal(value) => vec![ExprStep::Constant(LITERAL, value.cast_unsigned())],
        }
    }

    /// Appends a step; if all is constant, it is taken at once.
    pub(super) fn then(self, ty: ClassicalType, step: ExprStep) -> ClassicalExpr {
        ClassicalExpr::of_steps(self.into_steps(), ty, step)
    }

    /// Appends the steps of another expression and one on both.
    pub(super) fn with(
        self,
        other: ClassicalExpr,
        ty: ClassicalType,
        step: ExprStep,
    ) -> ClassicalExpr {
        let mut steps = self.into_steps();
        steps.extend(other.into_steps());
        ClassicalExpr::of_steps(steps, ty, step)
    }

    fn of_steps(mut steps: Vec<ExprStep>, ty: ClassicalType, step: ExprStep) -> ClassicalExpr {
        let is_constant = steps.iter().all(|step| matches!(step, ExprStep::Constant(..)));
        steps.push(step);
        if is_constant {
            steps = vec![ExprStep::Constant(ty, evaluate(&steps, &Nothing))];
        }
        ClassicalExpr { kind: ExprKind::Typed { ty, steps } }
    }

    /// Converts without a check: the caller knows that the conversion exists.
    pub(super) fn converted(self, to: ClassicalType) -> ClassicalExpr {
        let from = self.typing().own();
        match &self.kind {
            ExprKind::Typed { .. } if from == to => self,
            _ => self.then(to, ExprStep::Cast { from, to }),
        }
    }

    /// Gives an integer without a type that of `int`, or of as many bits as it needs.
    fn alone(self) -> ClassicalExpr {
        let ty = self.typing().alone();
        self.converted(ty)
    }

    /// An index as an `int[128]`.
    pub(crate) fn into_index(self) -> Option<ClassicalExpr> {
        let ty = typing::integer(self.typing())?;
        let index = ClassicalType::Int(IntType::signed(MAX_WIDTH));
        match ty == IntType::unsigned(MAX_WIDTH) {
            true => Some(self.converted(ClassicalType::Int(ty)).then(index, ExprStep::Saturate)),
            false => Some(self.converted(index)),
        }
    }
}

/// Returns a type if it has a valid width.
fn valid(ty: ClassicalType) -> Result<ClassicalType, ClassicalError> {
    match ty.has_valid_width() {
        true => Ok(ty),
        false => Err(ClassicalError::Width { given: operator::width(ty) }),
    }
}

fn refused(operator: &str, left: &ClassicalExpr, right: &ClassicalExpr) -> ClassicalError {
    let (left, right) = (left.describe(), right.describe());
    ClassicalError::Operands { operator: operator.to_owned(), left, right }
}

fn not_for(operator: &str, given: &ClassicalExpr) -> ClassicalError {
    ClassicalError::Operand { operator: operator.to_owned(), given: given.describe() }
}

/// Operators. Operands are converted to one type first:
///
/// | operands | converted to |
/// |---|---|
/// | integers | that of more bits, or of as many the unsigned one; results wrap |
/// | an integer without a type | the type beside it if it fits, else both to an `int` that holds it and the values of that type, of 32 to 128 bits |
/// | `bool`, `bit[n]` | unsigned beside an integer, else an `int` of n + 1 bits, at least 32; `&`, `\|`, `^` of as many bits keep them, and of other numbers of bits do not exist |
/// | `**` of integers | the base to the common type, which is that of the power; the exponent keeps its own |
/// | a float | the longer type of floats |
/// | a complex number | complex numbers of the longer type |
/// | two angles | the wider angle for `+`, `-` and comparisons; `/` gives an unsigned integer |
/// | an angle and a number | the angle for `+`, `-`, `==` and `!=`; with an integer `*` and `/` give angles |
/// | an angle, else | its number of radians, from 0 to below 2 pi |
///
/// Nothing fails when it is evaluated. Of integers a quotient by 0 has all bits 1, its remainder is
/// the dividend, and a power with a negative exponent is the whole part of the quotient. An angle
/// by 0 has all bits 1. Floats follow IEEE 754: a quotient by 0 is infinite or NaN, and what is not
/// finite is the angle 0.
impl ClassicalExpr {
    /// `self op other`.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for types that have no such operator,
    /// [`ClassicalError::TooLong`] for two integers without a type whose result has more than 128
    /// bits, [`ClassicalError::DivisionByZero`] or [`ClassicalError::NegativePower`] of such.
    pub fn binary(
        self,
        op: Arithmetic,
        other: impl Into<ClassicalExpr>,
    ) -> Result<ClassicalExpr, ClassicalError> {
        let other = other.into();
        if let (ExprKind::Literal(x), ExprKind::Literal(y)) = (&self.kind, &other.kind) {
            return exact(op, *x, *y).map(ClassicalExpr::literal);
        }
        let Some(meeting) = typing::meeting(op, self.typing(), other.typing()) else {
            return Err(refused(op.symbol(), &self, &other));
        };
        let int = |ty| ClassicalType::Int(ty);
        let (left, right, step) = match meeting {
            Meeting::Both(ty) => (ty, ty, ExprStep::Arithmetic(op, ty)),
            Meeting::AngleTimes { width, by, angle_first } => {
                let step = ExprStep::AngleTimes { width, by };
                let (angle, by) = (ClassicalType::Angle(width), int(by));
                return Ok(match angle_first {
                    true => self.with(other.converted(by), angle, step),
                    false => other.with(self.converted(by), angle, step),
                });
            }
            Meeting::AngleOverInt { width, by } => {
                (ClassicalType::Angle(width), int(by), ExprStep::AngleOverInt { width, by })
            }
            Meeting::AngleOver { width } => {
                let angle = ClassicalType::Angle(width);
                (angle, angle, ExprStep::AngleOver { width })
            }
            Meeting::IntPower { base, exponent } => {
                (int(base), int(exponent), ExprStep::IntPower { ty: base, exponent })
            }
        };
        Ok(self.converted(left).with(other.converted(right), meeting.result(), step))
    }

    /// The remainder of a division with the sign of the divisor: of integers, or else of floats.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for what is no real number.
    pub fn modulo(self, other: impl Into<ClassicalExpr>) -> Result<ClassicalExpr, ClassicalError> {
        let other = other.into();
        if let (ExprKind::Literal(x), ExprKind::Literal(y)) = (&self.kind, &other.kind) {
            let rest = exact(Arithmetic::Rem, *x, *y)?;
            let has_other_sign = rest != 0 && (rest < 0) != (*y < 0);
            return Ok(ClassicalExpr::literal(if has_other_sign { rest + y } else { rest }));
        }
        match typing::meeting(Arithmetic::Rem, self.typing(), other.typing()) {
            Some(Meeting::Both(ty @ (ClassicalType::Int(_) | ClassicalType::Float(_)))) => {
                Ok(self.converted(ty).with(other.converted(ty), ty, ExprStep::Modulo(ty)))
            }
            _ => Err(refused("mod", &self, &other)),
        }
    }

    /// `self relation other`, a truth value. Floats are compared as those of 64 bits, and NaN is
    /// different from every number.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for types that cannot be compared, or complex numbers by order.
    pub fn compare(
        self,
        relation: Relation,
        other: impl Into<ClassicalExpr>,
    ) -> Result<ClassicalExpr, ClassicalError> {
        let other = other.into();
        if let (ExprKind::Literal(x), ExprKind::Literal(y)) = (&self.kind, &other.kind) {
            return Ok(ClassicalExpr::from(relation.holds(x.cmp(y))));
        }
        match typing::comparison(relation, self.typing(), other.typing()) {
            Some(ty) => {
                let step = ExprStep::Compare(relation, ty);
                Ok(self.converted(ty).with(other.converted(ty), ClassicalType::Bool, step))
            }
            None => Err(refused(relation.symbol(), &self, &other)),
        }
    }

    /// The truth value: of a number, whether it is not 0.
    #[must_use]
    pub fn truth(self) -> ClassicalExpr {
        self.converted(ClassicalType::Bool)
    }

    /// `self && other`; `other` is evaluated only if `self` is true.
    #[must_use]
    pub fn and(self, other: impl Into<ClassicalExpr>) -> ClassicalExpr {
        self.short_circuit(false, other.into())
    }

    /// `self || other`; `other` is evaluated only if `self` is false.
    #[must_use]
    pub fn or(self, other: impl Into<ClassicalExpr>) -> ClassicalExpr {
        self.short_circuit(true, other.into())
    }

    fn short_circuit(self, on: bool, other: ClassicalExpr) -> ClassicalExpr {
        let (left, right) = (self.truth(), other.truth());
        match left.value() {
            Some(value) if (value == 1) == on => left,
            Some(_) => right,
            None => {
                let (mut steps, right) = (left.into_steps(), right.into_steps());
                let skipped = u32::try_from(right.len()).unwrap_or(u32::MAX);
                steps.push(ExprStep::Skip { on, steps: skipped });
                steps.extend(right);
                ClassicalExpr { kind: ExprKind::Typed { ty: ClassicalType::Bool, steps } }
            }
        }
    }

    /// `!self`.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "`!` of a number is that of its truth value")]
    pub fn not(self) -> ClassicalExpr {
        self.truth().then(ClassicalType::Bool, ExprStep::Invert(1))
    }

    /// `-self`.
    ///
    /// # Errors
    /// [`ClassicalError::TooLong`] for the least integer without a type.
    pub fn negate(self) -> Result<ClassicalExpr, ClassicalError> {
        match self.typing() {
            Typing::Literal(value) => {
                value.checked_neg().map(ClassicalExpr::literal).ok_or(ClassicalError::TooLong)
            }
            Typing::Typed(ClassicalType::Bool | ClassicalType::Bits(_)) => {
                ClassicalExpr::literal(0).binary(Arithmetic::Sub, self)
            }
            Typing::Typed(ty) => Ok(self.then(ty, ExprStep::Negate(ty))),
        }
    }

    /// `~self`: all bits flipped. An integer without a type is an `int`.
    ///
    /// # Errors
    /// [`ClassicalError::Operand`] for a float or a complex number.
    pub fn invert(self) -> Result<ClassicalExpr, ClassicalError> {
        let this = self.alone();
        let ty = this.typing().own();
        match operator::width(ty) {
            0 => Err(not_for("~", &this)),
            width => Ok(this.then(ty, ExprStep::Invert(width))),
        }
    }

    /// The explicit conversion `type(self)`.
    ///
    /// | from | to | value |
    /// |---|---|---|
    /// | any | `bool` | whether it is not 0 |
    /// | `bool`, `bit[n]`, an integer | an integer | wraps |
    /// | a float | an integer | the whole part; beyond the range its end, NaN is 0 |
    /// | a number, `bool`, an angle | a float, complex | the nearest; of an angle its radians |
    /// | a number | `angle[n]` | the nearest of `2^n` parts of a turn, a tie to the even one |
    /// | `angle[m]` | `angle[n]` | zeros appended, or rounded likewise |
    /// | `bool`, an integer | `bit[n]` | the lowest bits |
    /// | `bit[n]`, `angle[n]` | `bit[n]`, `angle[n]` | the same bits |
    ///
    /// # Errors
    /// [`ClassicalError::Cast`] for any other conversion, [`ClassicalError::Width`] for a type that
    /// does not exist.
    pub fn cast(self, to: ClassicalType) -> Result<ClassicalExpr, ClassicalError> {
        let to = valid(to)?;
        match typing::can_cast(self.typing().own(), to) {
            true => Ok(self.converted(to)),
            false => Err(ClassicalError::Cast { from: self.describe(), to }),
        }
    }

    /// The value as one of a type, as an assignment converts it: as [`cast`](ClassicalExpr::cast)
    /// does, but an integer without a type must be one of the type.
    ///
    /// # Errors
    /// Those of a cast, [`ClassicalError::Literal`] for an integer that does not fit.
    pub fn assigned_to(self, to: ClassicalType) -> Result<ClassicalExpr, ClassicalError> {
        if let (ExprKind::Literal(value), ClassicalType::Int(ty)) = (&self.kind, to)
            && !ty.holds(*value)
        {
            return Err(ClassicalError::Literal { value: *value, ty });
        }
        self.cast(to)
    }
}

/// Bits and functions.
impl ClassicalExpr {
    /// `self << places`, or `>>` if not `left`. The type is that of `self`. By its width or more,
    /// or a negative number of places, nothing is left: 0, or -1 of a negative integer to the
    /// right.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for what has no bits, or a number of places that is no integer.
    pub fn shift(
        self,
        left: bool,
        places: impl Into<ClassicalExpr>,
    ) -> Result<ClassicalExpr, ClassicalError> {
        let operator = if left { "<<" } else { ">>" };
        self.moved(operator, places.into(), |ty, places| ExprStep::Shift { left, ty, places })
    }

    /// The bits of `self` moved up by that many places, those beyond the end moved to the start;
    /// moved down if not `left`.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for what has no bits, or a number of places that is no integer.
    pub fn rotate(
        self,
        left: bool,
        places: impl Into<ClassicalExpr>,
    ) -> Result<ClassicalExpr, ClassicalError> {
        let operator = if left { "rotl" } else { "rotr" };
        self.moved(operator, places.into(), |ty, places| ExprStep::Rotate { left, ty, places })
    }

    fn moved(
        self,
        operator: &str,
        places: ClassicalExpr,
        step: impl FnOnce(ClassicalType, IntType) -> ExprStep,
    ) -> Result<ClassicalExpr, ClassicalError> {
        match typing::moved(self.typing(), places.typing()) {
            Some((ty, by)) => {
                let places = places.converted(ClassicalType::Int(by));
                Ok(self.converted(ty).with(places, ty, step(ty, by)))
            }
            None => Err(refused(operator, &self, &places)),
        }
    }

    /// The number of bits that are 1, a `uint`.
    ///
    /// # Errors
    /// [`ClassicalError::Operand`] for what has no bits.
    pub fn popcount(self) -> Result<ClassicalExpr, ClassicalError> {
        let this = self.alone();
        match operator::width(this.typing().own()) {
            0 => Err(not_for("popcount", &this)),
            _ => Ok(this.then(ClassicalType::Int(IntType::UINT), ExprStep::Popcount)),
        }
    }

    /// `self ++ other`: bit 0 is that of `self`, and the bits of `other` come above its last one.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for what is no bit string, [`ClassicalError::Width`] for more
    /// than 128 bits together.
    pub fn concat(self, other: ClassicalExpr) -> Result<ClassicalExpr, ClassicalError> {
        match (self.typing().own(), other.typing().own()) {
            (ClassicalType::Bits(low), ClassicalType::Bits(high)) => {
                let ty = valid(ClassicalType::Bits(high.saturating_add(low)))?;
                Ok(self.with(other, ty, ExprStep::Concat(low)))
            }
            _ => Err(refused("++", &self, &other)),
        }
    }

    /// The bit at an index, negative ones counting from the end; 0 where there is none.
    ///
    /// # Errors
    /// [`ClassicalError::Operands`] for what has no bits, or an index that is no integer.
    pub fn bit(self, index: impl Into<ClassicalExpr>) -> Result<ClassicalExpr, ClassicalError> {
        let index = index.into();
        match (self.ty().map_or(0, operator::width), index.clone().into_index()) {
            (width @ 1.., Some(index)) => {
                Ok(self.with(index, ClassicalType::Bits(1), ExprStep::BitAt { width }))
            }
            _ => Err(refused("[]", &self, &index)),
        }
    }

    /// Some of the bits, as a bit string: the first becomes bit 0.
    ///
    /// # Errors
    /// [`ClassicalError::NoSuchBit`] for a bit that it does not have, [`ClassicalError::Width`] for
    /// none or more than 128.
    pub fn pick(self, bits: &[u32]) -> Result<ClassicalExpr, ClassicalError> {
        let width = self.ty().map_or(0, operator::width);
        if let Some(&given) = bits.iter().find(|&&bit| bit >= width) {
            return Err(ClassicalError::NoSuchBit { given, width });
        }
        let ty = valid(ClassicalType::Bits(u32::try_from(bits.len()).unwrap_or(u32::MAX)))?;
        // Bits of bits are bits.
        if let ExprKind::Typed { steps, .. } = &self.kind
            && let [ExprStep::Bits(source)] = steps.as_slice()
        {
            let source = source.to_vec();
            let picked = bits.iter().filter_map(|&bit| source.get(bit as usize).copied());
            return ClassicalExpr::bits(&picked.collect::<Vec<_>>());
        }
        // Below 128.
        let places = bits.iter().map(|&bit| bit as u8).collect();
        Ok(self.then(ty, ExprStep::Pick(places)))
    }

    /// A function of a number, of an angle in radians, or of a complex number.
    ///
    /// # Errors
    /// [`ClassicalError::Operand`] for any other value.
    pub fn call(self, function: ClassicalFunction) -> Result<ClassicalExpr, ClassicalError> {
        use ClassicalType::*;
        let ty = match (self.typing(), function) {
            (Typing::Literal(value), ClassicalFunction::Abs) => {
                return if value < 0 { self.negate() } else { Ok(self) };
            }
            (Typing::Typed(Complex(float)), ClassicalFunction::Abs) => {
                return Ok(self.then(Float(float), ExprStep::Norm(float)));
            }
            (Typing::Typed(ty @ Complex(_)), _) if function.takes_complex() => ty,
            (Typing::Typed(ty @ Float(_)), _) => ty,
            (Typing::Typed(ty @ (Int(_) | Angle(_))), ClassicalFunction::Abs) => ty,
            (
                Typing::Literal(_) | Typing::Typed(Int(_)),
                ClassicalFunction::Floor | ClassicalFunction::Ceiling,
            ) => {
                return Ok(self);
            }
            (Typing::Literal(_) | Typing::Typed(Int(_) | Angle(_)), _) => ClassicalType::FLOAT,
            _ => return Err(not_for(function.name(), &self)),
        };
        Ok(self.converted(ty).then(ty, ExprStep::Call(function, ty)))
    }

    /// The real part of a number, or the imaginary one.
    ///
    /// # Errors
    /// [`ClassicalError::Operand`] for what is no number.
    pub fn part(self, imaginary: bool) -> Result<ClassicalExpr, ClassicalError> {
        match self.typing().own() {
            ClassicalType::Complex(float) => {
                Ok(self.then(ClassicalType::Float(float), ExprStep::Part(imaginary)))
            }
            ClassicalType::Int(_) | ClassicalType::Float(_) => {
                Ok(if imaginary { ClassicalExpr::literal(0) } else { self })
            }
            _ => Err(not_for(if imaginary { "imag" } else { "real" }, &self)),
        }
    }
}

/// `x op y` among all integers.
fn exact(op: Arithmetic, x: i128, y: i128) -> Result<i128, ClassicalError> {
    let result = match op {
        Arithmetic::Add => x.checked_add(y),
        Arithmetic::Sub => x.checked_sub(y),
        Arithmetic::Mul => x.checked_mul(y),
        Arithmetic::Div | Arithmetic::Rem if y == 0 => return Err(ClassicalError::DivisionByZero),
        Arithmetic::Div => x.checked_div(y),
        Arithmetic::Rem => x.checked_rem(y).or(Some(0)),
        Arithmetic::Power if y < 0 => return Err(ClassicalError::NegativePower { exponent: y }),
        Arithmetic::Power => match (x, u32::try_from(y)) {
            (0 | 1, _) => Some(if y == 0 { 1 } else { x }),
            (-1, _) => Some(if y % 2 == 0 { 1 } else { -1 }),
            (_, Ok(y)) => x.checked_pow(y),
            (_, Err(_)) => None,
        },
        Arithmetic::BitAnd => Some(x & y),
        Arithmetic::BitOr => Some(x | y),
        Arithmetic::BitXor => Some(x ^ y),
    };
    result.ok_or(ClassicalError::TooLong)
}
