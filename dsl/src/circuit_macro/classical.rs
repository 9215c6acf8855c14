//! Measurements and conditions on classical bits in [`circuit!`](crate::circuit!).

/// `c [qubits so far] tokens`: finds the arrow.
#[doc(hidden)]
#[macro_export]
macro_rules! __measure {
    ($c:ident [] -> $($t:tt)*) => {
        ::core::compile_error!("circuit!: `measure` says not what: `measure qubit -> register[bit];`");
    };
    ($c:ident [$($q:tt)+] -> $($t:tt)*) => {
        $crate::__measure! { @to $c [$($q)+] $($t)* }
    };
    (@to $c:ident [$q:expr] $bits:ident) => {
        $c.measure(&$q, $bits)?;
    };
    (@to $c:ident [$q:expr] $bits:ident [$i:expr]) => {
        $c.measure(&$q, $bits.bits(&$i)?)?;
    };
    (@to $c:ident [$first:expr, $($q:expr),+ $(,)?] $($t:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: a list of qubits is in brackets: `measure [",
            ::core::stringify!($first, $($q),+),
            "] -> ",
            ::core::stringify!($($t)*),
            "`"
        ));
    };
    (@to $c:ident $q:tt $($t:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `measure qubit -> register[bit];` or `measure qubits -> register;`, not `-> ",
            ::core::stringify!($($t)*),
            "`"
        ));
    };
    ($c:ident [$($q:tt)*] $t:tt $($rest:tt)*) => {
        $crate::__measure! { $c [$($q)* $t] $($rest)* }
    };
    ($c:ident [$($q:tt)*]) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: `measure ",
            ::core::stringify!($($q)*),
            "` says not where to: `measure qubit -> register[bit];`"
        ));
    };
}

/// The condition of `when` and `while_loop`: `@or` and `@and` split it, `@one` reads what is
/// between, `@is` compares.
#[doc(hidden)]
#[macro_export]
macro_rules! __condition {
    (@or [$($done:tt)*] [$($one:tt)+] || $($rest:tt)+) => {
        $crate::__condition!(@or [$($done)* ($($one)+)] [] $($rest)+)
    };
    (@or $done:tt [$($one:tt)*] $t:tt $($rest:tt)*) => {
        $crate::__condition!(@or $done [$($one)* $t] $($rest)*)
    };
    (@or [] [$($one:tt)+]) => {
        $crate::__condition!(@and [] [] $($one)+)
    };
    (@or [$(($($done:tt)+))+] [$($one:tt)+]) => {
        $crate::circuit::Condition::Any(::std::vec![
            $($crate::__condition!(@and [] [] $($done)+),)+
            $crate::__condition!(@and [] [] $($one)+)
        ])
    };

    (@and [$($done:tt)*] [$($one:tt)+] && $($rest:tt)+) => {
        $crate::__condition!(@and [$($done)* ($($one)+)] [] $($rest)+)
    };
    (@and $done:tt [$($one:tt)*] $t:tt $($rest:tt)*) => {
        $crate::__condition!(@and $done [$($one)* $t] $($rest)*)
    };
    (@and [] [$($one:tt)+]) => {
        $crate::__condition!(@one $($one)+)
    };
    (@and [$(($($done:tt)+))+] [$($one:tt)+]) => {
        $crate::circuit::Condition::All(::std::vec![
            $($crate::__condition!(@one $($done)+),)+
            $crate::__condition!(@one $($one)+)
        ])
    };

    (@one ($($t:tt)+)) => {
        $crate::__condition!(@or [] [] $($t)+)
    };
    (@one ! ($($t:tt)+)) => {
        $crate::circuit::Condition::Not(::std::boxed::Box::new($crate::__condition!(@or [] [] $($t)+)))
    };
    (@one ! $bits:ident [$i:expr]) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) == 0)
    };
    (@one ! $($t:tt)+) => {
        $crate::circuit::IntoCondition::into_condition($($t)+)?.negated()
    };
    (@one $bits:ident [$i:expr]) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) != 0)
    };
    (@one $bits:ident [$i:expr] $op:tt $value:expr) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) $op $value)
    };
    (@one $name:ident == $value:expr) => {
        $crate::__condition!(@name $name, Equal, $value)
    };
    (@one $name:ident != $value:expr) => {
        $crate::__condition!(@name $name, NotEqual, $value)
    };
    (@one $name:ident < $value:expr) => {
        $crate::__condition!(@name $name, Less, $value)
    };
    (@one $name:ident <= $value:expr) => {
        $crate::__condition!(@name $name, LessEqual, $value)
    };
    (@one $name:ident > $value:expr) => {
        $crate::__condition!(@name $name, Greater, $value)
    };
    (@one $name:ident >= $value:expr) => {
        $crate::__condition!(@name $name, GreaterEqual, $value)
    };
    (@one $name:ident :: $($t:tt)+) => {
        $crate::circuit::IntoCondition::into_condition($name::$($t)+)?
    };
    (@one $($t:tt)+) => {
        $crate::__condition!(@formula [] $($t)+)
    };
    (@name $name:ident, $relation:ident, $value:expr) => {
        $crate::ComparedInCondition::condition(
            $name,
            $crate::circuit::Relation::$relation,
            $value,
        )?
    };

    (@formula [$($left:tt)+] == $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) Equal ($($right)+))
    };
    (@formula [$($left:tt)+] != $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) NotEqual ($($right)+))
    };
    (@formula [$($left:tt)+] < $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) Less ($($right)+))
    };
    (@formula [$($left:tt)+] <= $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) LessEqual ($($right)+))
    };
    (@formula [$($left:tt)+] > $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) Greater ($($right)+))
    };
    (@formula [$($left:tt)+] >= $($right:tt)+) => {
        $crate::__condition!(@formulas ($($left)+) GreaterEqual ($($right)+))
    };
    (@formula [$($left:tt)*] = $($rest:tt)*) => {
        $crate::__condition!(@)
    };
    (@formula [$($left:tt)*] $t:tt $($rest:tt)*) => {
        $crate::__condition!(@formula [$($left)* $t] $($rest)*)
    };
    (@formula [$condition:expr]) => {
        $crate::circuit::IntoCondition::into_condition($condition)?
    };
    (@formulas ($left:expr) $relation:ident ($right:expr)) => {
        $crate::circuit::IntoCondition::into_condition($crate::classical::ClassicalOperand::compared(
            $left,
            $crate::circuit::Relation::$relation,
            $right,
        ))?
    };

    (@is ($bits:expr) == $value:expr) => {
        $crate::__condition!(@compare $bits, Equal, $value)
    };
    (@is ($bits:expr) != $value:expr) => {
        $crate::__condition!(@compare $bits, NotEqual, $value)
    };
    (@is ($bits:expr) < $value:expr) => {
        $crate::__condition!(@compare $bits, Less, $value)
    };
    (@is ($bits:expr) <= $value:expr) => {
        $crate::__condition!(@compare $bits, LessEqual, $value)
    };
    (@is ($bits:expr) > $value:expr) => {
        $crate::__condition!(@compare $bits, Greater, $value)
    };
    (@is ($bits:expr) >= $value:expr) => {
        $crate::__condition!(@compare $bits, GreaterEqual, $value)
    };
    (@compare $bits:expr, $relation:ident, $value:expr) => {
        $crate::circuit::Condition::compare(
            $bits,
            $crate::circuit::Relation::$relation,
            $value,
        )?
    };

    (@$($t:tt)*) => {
        ::core::compile_error!(
            "circuit!: expected a condition such as `c == 2`, `c[0]`, `!c[0]`, `c[0..2] < 3`, `n + 1 < m`, joined by `&&` and `||`"
        )
    };
}
