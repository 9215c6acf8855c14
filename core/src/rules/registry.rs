//! The registry of rules: functions and primitives with derivatives of their own, under names.
//!
//! A registry is a value. Whoever reads program text or differentiates hands it over; nothing is
//! global. It holds a [`Program`]: reading text starts from a copy of it, so whatever it defines
//! can be called by name.
//!
//! ```
//! use ketgrad_core::{ir::{Kind, parse}, rules::Rules};
//!
//! let mut rules = Rules::new();
//! rules.primitive("energy", &[Kind::Handle, Kind::Real], Kind::Real).unwrap();
//! rules.primitive("energy_back", &[Kind::Handle, Kind::Real, Kind::Real, Kind::Real], Kind::tuple([Kind::Real])).unwrap();
//! rules.primitive_pullback("energy", "energy_back").unwrap();
//! assert!(rules.has_rule("energy") && rules.has_rule("mul") && !rules.has_rule("mystery"));
//! ```

use crate::{
    entity::FuncId,
    ir::{CustomRule, Kind, Op, Primitive, Program},
};

/// Rules under names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    program: Program,
}

/// A rule that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Nothing of that name is registered.
    #[error("no function or primitive `{name}` is registered")]
    Unknown {
        /// The name asked for.
        name: String,
    },
    /// The name belongs to something else.
    #[error("`{name}` is registered already")]
    Taken {
        /// The name.
        name: String,
    },
    /// A pullback or pushforward does not fit.
    #[error("`{name}` takes {given}, expected {expected}")]
    Signature {
        /// The rule.
        name: String,
        /// What it takes and gives.
        given: String,
        /// What it should.
        expected: String,
    },
    /// A derivative that a function of a program takes cannot be made.
    #[error("{reason}")]
    Transform {
        /// Of what, and why.
        reason: String,
    },
}

impl Rules {
    /// A registry that knows the op table only.
    #[must_use]
    pub fn new() -> Rules {
        Rules::default()
    }

    /// The functions and primitives registered.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// A registry of the functions of a program and their rules.
    #[must_use]
    pub fn from_program(program: Program) -> Rules {
        Rules { program }
    }

    /// Registers a primitive: a function that the [`Host`](crate::exec::Host) computes.
    ///
    /// # Errors
    /// The name is taken.
    pub fn primitive(
        &mut self,
        name: &str,
        params: &[Kind],
        result: Kind,
    ) -> Result<(), RuleError> {
        if self.program.lookup_primitive(name).is_some() || self.program.lookup(name).is_some() {
            return Err(RuleError::Taken { name: name.into() });
        }
        let (name, params) = (name.to_owned(), params.to_vec());
        self.program.primitives.push(Primitive {
            name,
            params,
            result,
            pullback: None,
            pushforward: None,
        });
        Ok(())
    }

    /// Names the primitive that pulls cotangents back:
    /// `(inputs…, result, cotangent) -> (cotangents of the inputs that have one…)`.
    ///
    /// # Errors
    /// An unknown name, or a primitive of another signature.
    pub fn primitive_pullback(&mut self, name: &str, pullback: &str) -> Result<(), RuleError> {
        let (id, rule) = (self.find(name)?, self.find(pullback)?);
        let p = &self.program.primitives[id];
        let more = [Some(p.result.clone()), p.result.tangent()].into_iter().flatten();
        let params = p.params.iter().cloned().chain(more).collect();
        self.check(rule, params, Kind::tuple(p.params.iter().filter_map(Kind::tangent)))?;
        self.program.primitives[id].pullback = Some(rule);
        Ok(())
    }

    /// Names the primitive that pushes tangents forward:
    /// `(inputs…, tangents of those that have one…) -> tangent of the result`.
    ///
    /// # Errors
    /// An unknown name, or a primitive of another signature.
    pub fn primitive_pushforward(
        &mut self,
        name: &str,
        pushforward: &str,
    ) -> Result<(), RuleError> {
        let (id, rule) = (self.find(name)?, self.find(pushforward)?);
        let p = &self.program.primitives[id];
        let params =
            p.params.iter().cloned().chain(p.params.iter().filter_map(Kind::tangent)).collect();
        let result = p.result.tangent().unwrap_or(Kind::tuple([]));
        self.check(rule, params, result)?;
        self.program.primitives[id].pushforward = Some(rule);
        Ok(())
    }

    /// Whether the name has a derivative rule: an op of the table, or a registered function or
    /// primitive with a pullback. A function without is differentiated through its body.
    #[must_use]
    pub fn has_rule(&self, name: &str) -> bool {
        let primitive = || self.program.lookup_primitive(name).map(|p| &self.program.primitives[p]);
        let function = || self.program.lookup(name).and_then(|f| self.program.rule(f));
        match Op::by_name(name) {
            Some(op) => op.has_rule(),
            None => {
                primitive().is_some_and(|p| p.pullback.is_some())
                    || function().is_some_and(|r| r.pullback.is_some() || r.non_differentiable)
            }
        }
    }

    /// Forgets the own rule of a function: its derivative is that of its body again.
    ///
    /// # Errors
    /// An unknown name.
    pub fn no_rrule(&mut self, name: &str) -> Result<(), RuleError> {
        let f = self.function(name)?;
        self.program.remove_rule(f);
        Ok(())
    }

    /// Says that nothing flows back through a function: it counts as constant.
    ///
    /// # Errors
    /// An unknown name.
    pub fn non_differentiable(&mut self, name: &str) -> Result<(), RuleError> {
        let f = self.function(name)?;
        let rule = CustomRule {
            non_differentiable: true,
            ..self.program.rule(f).cloned().unwrap_or_default()
        };
        self.program.set_rule(f, rule);
        Ok(())
    }

    fn function(&self, name: &str) -> Result<FuncId, RuleError> {
        self.program.lookup(name).ok_or_else(|| RuleError::Unknown { name: name.into() })
    }

    fn find(&self, name: &str) -> Result<crate::entity::PrimitiveId, RuleError> {
        self.program.lookup_primitive(name).ok_or_else(|| RuleError::Unknown { name: name.into() })
    }

    fn check(
        &self,
        rule: crate::entity::PrimitiveId,
        params: Vec<Kind>,
        result: Kind,
    ) -> Result<(), RuleError> {
        let given = &self.program.primitives[rule];
        let shown = |params: &[Kind], result: &Kind| {
            format!("{} -> {result}", Kind::tuple(params.to_vec()))
        };
        if given.params == params && given.result == result {
            return Ok(());
        }
        Err(RuleError::Signature {
            name: given.name.clone(),
            given: shown(&given.params, &given.result),
            expected: shown(&params, &result),
        })
    }
}

impl Op {
    /// Whether a cotangent can flow through it.
    #[must_use]
    pub fn has_rule(self) -> bool {
        use crate::ir::Mixed;
        match self {
            Op::Number1(_) | Op::Number2(_) | Op::Real1(_) | Op::Real2(_) => true,
            Op::Mixed(m) => {
                !matches!(m, Mixed::FromInt | Mixed::Cmp | Mixed::Not | Mixed::And | Mixed::Or)
            }
            Op::Select | Op::Tuple | Op::Field(_) | Op::Array | Op::Fill | Op::Sum => true,
            Op::OnArrays(op) => op.is_differentiable(),
            Op::Get | Op::Set | Op::Peek | Op::Put | Op::AddAt | Op::Accumulate => true,
            Op::Push { .. } | Op::Pop { .. } => true,
            Op::Real(_) | Op::Int(_) | Op::Bool(_) | Op::Int1(_) | Op::Int2(_) => false,
            Op::Expect(_)
            | Op::Compare(_)
            | Op::CompareInt(_)
            | Op::Len
            | Op::Call(_)
            | Op::Primitive(_) => false,
        }
    }
}
