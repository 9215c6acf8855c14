//! Registry of rules: functions and primitives with derivatives of their own, by their names.
//!
//! A registry is a value. Callers pass it when they parse program text or differentiate; nothing
//! is global. It holds a [`Program`]: parsing starts from a copy of it, so whatever it defines
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

/// Registry of rules, by their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rules {
    program: Program,
}

/// Error of a rule that cannot be registered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleError {
    /// Nothing of that name is registered.
    #[error("no function or primitive `{name}` is registered")]
    Unknown {
        /// Name that was looked up.
        name: String,
    },
    /// The name is registered already.
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
        /// Signature that was given.
        given: String,
        /// Signature that is expected.
        expected: String,
    },
    /// A derivative that a function of a program takes cannot be made.
    #[error("{reason}")]
    Transform {
        /// Function and reason.
        reason: String,
    },
}

impl Rules {
    /// Creates a registry that knows the op table only.
    #[must_use]
    pub fn new() -> Rules {
        Rules::default()
    }

    /// Returns the registered functions and primitives.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Creates a registry of the functions of a program and their rules.
    #[must_use]
    pub fn from_program(program: Program) -> Rules {
        Rules { program }
    }

    /// Registers a primitive: a function that the `Host` computes.
    ///
    /// # Errors
    /// If the name is taken.
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

    /// Registers a primitive as the pullback of another:
    /// `(inputs…, result, cotangent) -> (cotangents of the inputs that have one…)`.
    ///
    /// # Errors
    /// If a name is unknown, or the primitive has another signature.
    pub fn primitive_pullback(&mut self, name: &str, pullback: &str) -> Result<(), RuleError> {
        let (id, rule) = (self.find(name)?, self.find(pullback)?);
        let p = &self.program.primitives[id];
        let more = [Some(p.result.clone()), p.result.tangent()].into_iter().flatten();
        let params = p.params.iter().cloned().chain(more).collect();
        self.check(rule, params, Kind::tuple(p.params.iter().filter_map(Kind::tangent)))?;
        self.program.primitives[id].pullback = Some(rule);
        Ok(())
    }

    /// Registers a primitive as the pushforward of another:
    /// `(inputs…, tangents of those that have one…) -> tangent of the result`.
    ///
    /// # Errors
    /// If a name is unknown, or the primitive has another signature.
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

    /// Returns true if the name has a derivative rule: an op of the table, or a registered function
    /// or primitive with a pullback. A function without is differentiated through its body.
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

    /// Removes the rule of a function: its derivative is that of its body again.
    ///
    /// # Errors
    /// If the name is unknown.
    pub fn no_rrule(&mut self, name: &str) -> Result<(), RuleError> {
        let f = self.function(name)?;
        self.program.remove_rule(f);
        Ok(())
    }

    /// Marks a function as non-differentiable: no derivative flows through it, and its result
    /// counts as constant.
    ///
    /// # Errors
    /// If the name is unknown.
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
    /// Returns true if a cotangent can flow through it.
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
