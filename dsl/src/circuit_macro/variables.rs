//! Classical variables in [`circuit!`](crate::circuit!): declarations, assignments, branches, and
//! what stands in conditions.

use ketgrad_core::{
    circuit::{BitRange, CircuitError, Condition, Relation},
    classical::{ClassicalOperand, PendingExpr, ScalarVariable},
};

/// Left side of a comparison in a condition: a register, which is compared with a number, or a
/// variable, which is compared with a formula.
#[doc(hidden)]
pub trait ComparedInCondition<V> {
    #[doc(hidden)]
    fn condition(self, relation: Relation, value: V) -> Result<Condition, CircuitError>;
}

#[doc(hidden)]
impl<N: TryInto<u128> + Copy + std::fmt::Display> ComparedInCondition<N> for BitRange {
    fn condition(self, relation: Relation, value: N) -> Result<Condition, CircuitError> {
        Condition::compare(&self.bits(..)?, relation, value)
    }
}

#[doc(hidden)]
impl<V: Into<PendingExpr>> ComparedInCondition<V> for ScalarVariable {
    fn condition(self, relation: Relation, value: V) -> Result<Condition, CircuitError> {
        Ok(self.compared(relation, value).into_result()?.into())
    }
}

/// `c type tokens`: declares variables.
#[doc(hidden)]
#[macro_export]
macro_rules! __declare {
    ($c:ident uint [$bits:expr] $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Int($crate::classical::IntType::unsigned($bits)))
            $name $($t)*
        }
    };
    ($c:ident uint $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Int($crate::classical::IntType::UINT))
            $name $($t)*
        }
    };
    ($c:ident int [$bits:expr] $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Int($crate::classical::IntType::signed($bits)))
            $name $($t)*
        }
    };
    ($c:ident int $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Int($crate::classical::IntType::INT))
            $name $($t)*
        }
    };
    ($c:ident float [32] $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Float($crate::classical::FloatType::F32))
            $name $($t)*
        }
    };
    ($c:ident float $([64])? $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Float($crate::classical::FloatType::F64))
            $name $($t)*
        }
    };
    ($c:ident angle [$bits:expr] $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Angle($bits))
            $name $($t)*
        }
    };
    ($c:ident angle $name:ident $($t:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: an angle has a number of bits: `angle[16] ",
            ::core::stringify!($name),
            ";`"
        ));
    };
    ($c:ident bool $name:ident $($t:tt)*) => {
        $crate::__declare! {
            @list $c ($crate::classical::ClassicalType::Bool)
            $name $($t)*
        }
    };
    (@list $c:ident ($ty:expr) $($name:ident $(= $value:expr)?),+ $(,)?) => {
        $(
            #[allow(unused_variables, reason = "a variable may be declared for its place in the results only")]
            let $name = $c.add_variable(::core::stringify!($name), $ty)?;
            #[allow(unused_variables, reason = "as above")]
            let $name = $c.scalar($name)?;
            $($c.store($name, $value)?;)?
        )+
    };
    (@list $c:ident $ty:tt $($t:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `name, …` or `name = value, …` after the type of variables, not `",
            ::core::stringify!($($t)*),
            "`"
        ));
    };
    ($c:ident $ty:ident $($t:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected variables such as `uint[8] n = 1;`, `int k;`, `float t;`, `bool b;`, `angle[16] a;`, not `",
            ::core::stringify!($ty $($t)*),
            "`"
        ));
    };
}

/// `c blocks`: what follows an `else`, which is in the circuit `c`.
#[doc(hidden)]
#[macro_export]
macro_rules! __otherwise {
    ($c:ident) => {};
    ($c:ident [] { $($body:tt)* }) => {
        $crate::__body! { $c $($body)* }
    };
    ($c:ident [when $($condition:tt)+] { $($body:tt)* } $($rest:tt)*) => {
        $c.if_else(
            $crate::__condition!(@or [] [] $($condition)+),
            |circuit| {
                $crate::__body! { circuit $($body)* }
                ::core::result::Result::Ok(circuit)
            },
            |circuit| {
                $crate::__otherwise! { circuit $($rest)* }
                ::core::result::Result::Ok(circuit)
            },
        )?;
    };
    ($c:ident $($rest:tt)*) => {
        ::core::compile_error!("circuit!: after the block of `when` comes `else { … }` or `else when condition { … }`");
    };
}
