//! One statement of [`circuit!`](crate::circuit!): what it is written to, or what is said if it is
//! none.

/// `c [modifiers] statement`: writes one statement.
#[doc(hidden)]
#[macro_export]
macro_rules! __statement {
    // Modifiers, outermost first.
    ($c:ident [ctrl ($($q:tt)+) $($m:tt)*] $($s:tt)*) => {
        $crate::__controls! { $c ($($q)+) [$($m)*] $($s)* }
    };
    ($c:ident [dagger $($m:tt)*] $($s:tt)*) => {
        $c.undo(|circuit| {
            $crate::__statement! { circuit [$($m)*] $($s)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident [repeat ($n:expr) $($m:tt)*] $($s:tt)*) => {
        for _ in 0..$n {
            $crate::__statement! { $c [$($m)*] $($s)* }
        }
    };

    // Blocks.
    ($c:ident [] { $($body:tt)* }) => {
        {
            $crate::__body! { $c $($body)* }
        }
    };
    ($c:ident [] @do $v:ident $body:block) => {
        {
            let $v = &mut *$c;
            $body;
        }
    };
    ($c:ident [] @block [for $p:pat in $($e:tt)+] { $($body:tt)* }) => {
        for $p in $($e)+ {
            $crate::__body! { $c $($body)* }
        }
    };
    ($c:ident [] @block [when $($condition:tt)+] { $($body:tt)* }) => {
        $c.when($crate::__condition!(@or [] [] $($condition)+), |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident [] @block [while_loop $($condition:tt)+] { $($body:tt)* }) => {
        $c.while_loop($crate::__condition!(@or [] [] $($condition)+), |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident [] @block $([if $($condition:tt)+] { $($body:tt)* })+ $([] { $($last:tt)* })?) => {
        $(if $($condition)+ {
            $crate::__body! { $c $($body)* }
        } else)+ {
            $($crate::__body! { $c $($last)* })?
        }
    };
    ($c:ident [] @block [when $($condition:tt)+] $($rest:tt)+) => {
        $crate::__otherwise! { $c [when $($condition)+] $($rest)+ }
    };
    ($c:ident [] @block [for_loop $k:ident in $first:expr, $last:expr] { $($body:tt)* }) => {
        $c.for_range($k, $first, $last, |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident [] @block [for_loop $($head:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(
            "circuit!: expected `for_loop k in first, last { … }` with a variable `int k;`, which gets both ends, too"
        );
    };
    ($c:ident [] @block [for $($head:tt)*] { $($body:tt)* }) => {
        ::core::compile_error!("circuit!: expected `for pattern in expression { … }`");
    };
    ($c:ident [] @block [$($head:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: a block or an `else` is out of place after `",
            ::core::stringify!($($head)*),
            "`"
        ));
    };

    // Declarations.
    ($c:ident [] bits $($name:ident $([$size:expr])?),+ $(,)?) => {
        $(
            #[allow(unused_variables, reason = "a register may be written through its numbers only")]
            let $name = $c.bit_register(::core::stringify!($name), [$($size,)? 1][0])?;
        )+
    };
    ($c:ident [] bits $($rest:tt)*) => {
        ::core::compile_error!("circuit!: expected `bits name[size], …;` or `bits name, …;`");
    };
    ($c:ident [] param $($name:ident $([$size:expr])?),+ $(,)?) => {
        $($crate::__statement! { $c [] @param $name $([$size])? })+
    };
    ($c:ident [] param $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `param name, …;` or `param name[size], …;`, not `param ",
            ::core::stringify!($($rest)*),
            "`; values are given where the circuit runs"
        ));
    };
    ($c:ident [] @param $name:ident) => {
        #[allow(unused_variables, reason = "an input may be declared for its place in the list only")]
        let $name = &$c.param(::core::stringify!($name));
    };
    ($c:ident [] @param $name:ident [$size:expr]) => {
        let $name = $c.param_list(::core::stringify!($name), $size);
        #[allow(unused_variables, reason = "an input may be declared for its place in the list only")]
        let $name: ::std::vec::Vec<&$crate::param::Angle> = $name.iter().collect();
    };
    ($c:ident [] qubits $($rest:tt)*) => {
        ::core::compile_error!("circuit!: `qubits` is written once, at the beginning");
    };

    ($c:ident [] uint $($t:tt)+) => {
        $crate::__declare! { $c uint $($t)+ }
    };
    ($c:ident [] int $($t:tt)+) => {
        $crate::__declare! { $c int $($t)+ }
    };
    ($c:ident [] float $($t:tt)+) => {
        $crate::__declare! { $c float $($t)+ }
    };
    ($c:ident [] bool $($t:tt)+) => {
        $crate::__declare! { $c bool $($t)+ }
    };
    ($c:ident [] angle [$($bits:tt)*] $($t:tt)+) => {
        $crate::__declare! { $c angle [$($bits)*] $($t)+ }
    };
    ($c:ident [] angle $name:ident $($t:tt)*) => {
        $crate::__declare! { $c angle $name $($t)* }
    };

    // Words of others.
    ($c:ident $m:tt params $($rest:tt)*) => {
        $crate::__instead! { params "param name, …;" or "param name[size], …;" }
    };
    ($c:ident $m:tt input $($rest:tt)*) => {
        $crate::__instead! { input "param name, …;" or "param name[size], …;" }
    };
    ($c:ident $m:tt qubit $($rest:tt)*) => {
        $crate::__instead! { qubit "qubits name[size], …;` at the beginning, `qubits n;" }
    };
    ($c:ident $m:tt qreg $($rest:tt)*) => {
        $crate::__instead! { qreg "qubits name[size], …;` at the beginning, `qubits n;" }
    };
    ($c:ident $m:tt bit $($rest:tt)*) => {
        $crate::__instead! { bit "bits name[size], …;" or "bits name, …;" }
    };
    ($c:ident $m:tt creg $($rest:tt)*) => {
        $crate::__instead! { creg "bits name[size], …;" or "bits name, …;" }
    };
    ($c:ident $m:tt measure_all $($rest:tt)*) => {
        $crate::__instead! { measure_all "measure ..;" }
    };
    ($c:ident $m:tt $register:ident = measure $($rest:tt)*) => {
        ::core::compile_error!("circuit!: a measurement is written `measure qubits -> register;`");
    };
    ($c:ident $m:tt control $($rest:tt)*) => {
        $crate::__instead! { control "ctrl(0, !1) x 2;" }
    };
    ($c:ident $m:tt controlled $($rest:tt)*) => {
        $crate::__instead! { controlled "ctrl(0, !1) x 2;" }
    };
    ($c:ident $m:tt negctrl $($rest:tt)*) => {
        $crate::__instead! { negctrl "ctrl(!0) x 2;" }
    };
    ($c:ident $m:tt inv $($rest:tt)*) => {
        $crate::__instead! { inv "dagger h 0;" }
    };
    ($c:ident $m:tt inverse $($rest:tt)*) => {
        $crate::__instead! { inverse "dagger h 0;" }
    };
    ($c:ident $m:tt adjoint $($rest:tt)*) => {
        $crate::__instead! { adjoint "dagger h 0;" }
    };

    // Statements of Rust.
    ($c:ident [] let $($t:tt)+) => {
        let $($t)+;
    };
    ($c:ident [] break) => {
        break;
    };
    ($c:ident [] continue) => {
        continue;
    };
    ($c:ident [] $name:ident ! $arguments:tt) => {
        $name! $arguments;
    };

    // Assignments and exits of loops.
    ($c:ident [] $name:ident = $value:expr) => {
        $c.store($name, $value)?;
    };
    ($c:ident [] $name:ident += $value:expr) => {
        $c.store($name, $name + $value)?;
    };
    ($c:ident [] $name:ident -= $value:expr) => {
        $c.store($name, $name - $value)?;
    };
    ($c:ident [] $name:ident *= $value:expr) => {
        $c.store($name, $name * $value)?;
    };
    ($c:ident [] $name:ident /= $value:expr) => {
        $c.store($name, $name / $value)?;
    };
    ($c:ident [] $name:ident %= $value:expr) => {
        $c.store($name, $name % $value)?;
    };
    ($c:ident [] $name:ident &= $value:expr) => {
        $c.store($name, $name & $value)?;
    };
    ($c:ident [] $name:ident |= $value:expr) => {
        $c.store($name, $name | $value)?;
    };
    ($c:ident [] $name:ident ^= $value:expr) => {
        $c.store($name, $name ^ $value)?;
    };
    ($c:ident [] $name:ident <<= $value:expr) => {
        $c.store($name, $name << $value)?;
    };
    ($c:ident [] $name:ident >>= $value:expr) => {
        $c.store($name, $name >> $value)?;
    };
    ($c:ident [] break_loop) => {
        $c.break_out(1)?;
    };
    ($c:ident [] continue_loop) => {
        $c.continue_loop(1)?;
    };
    ($c:ident [] break_loop $($t:tt)+) => {
        ::core::compile_error!("circuit!: `break_loop;` leaves the innermost loop of the run");
    };
    ($c:ident [] continue_loop $($t:tt)+) => {
        ::core::compile_error!("circuit!: `continue_loop;` goes on with the innermost loop of the run");
    };

    // Instructions that are not gates of the table.
    ($c:ident [] measure ..) => {
        $c.measure_all()?;
    };
    ($c:ident [] measure $($t:tt)*) => {
        $crate::__measure! { $c [] $($t)* }
    };
    ($c:ident [] assign $bits:ident = $value:expr) => {
        for bit in $bits.bits(..)? {
            $c.assign(bit, $value)?;
        }
    };
    ($c:ident [] assign $bits:ident [$i:expr] = $value:expr) => {
        for bit in $bits.bits(&$i)? {
            $c.assign(bit, $value)?;
        }
    };
    ($c:ident [] assign $($t:tt)*) => {
        ::core::compile_error!("circuit!: expected `assign register[bit] = value;`");
    };
    ($c:ident [] barrier) => {
        $c.barrier(&$c.qubits(..)?)?;
    };
    ($c:ident [] barrier $($q:expr),+ $(,)?) => {
        $c.barrier(&[$($c.qubits(&$q)?),+].concat())?;
    };
    ($c:ident [] call ($sub:expr) $($q:expr),+ $(,)?) => {
        $c.append(&$sub, &[$($c.qubits(&$q)?),+].concat())?;
    };
    ($c:ident [] call $($t:tt)*) => {
        ::core::compile_error!("circuit!: expected `call(circuit) qubit, …;`");
    };
    ($c:ident [] unitary ($matrix:expr) $($q:expr),+ $(,)?) => {
        $c.unitary(
            $crate::matrix::Matrix::clone(&$matrix),
            &[$($c.qubits(&$q)?),+].concat(),
            &[],
        )?;
    };
    ($c:ident [] unitary $($t:tt)*) => {
        ::core::compile_error!("circuit!: expected `unitary(matrix) qubit, …;`");
    };

    ($c:ident [] pauli_rotation ($angle:expr $(,)?) $($word:ident $([$q:expr])?)+) => {
        $c.pauli_rotation(
            &$crate::observable::PauliString::new(
                [$($crate::__pauli!(@factor $word $([$q])?)),+].into_iter().flatten(),
            )?,
            &$angle,
        )?;
    };

    // Gates, by the names of the methods of `Circuit`.
    ($c:ident [] $name:ident ($($angle:expr),* $(,)?) $($q:expr),+ $(,)?) => {
        $c.$name($(&$q,)+ $(&$angle),*)?;
    };
    ($c:ident [] $name:ident ($($angle:expr),* $(,)?)) => {
        $c.$name($(&$angle),*)?;
    };
    ($c:ident [] $name:ident $($q:expr),+ $(,)?) => {
        $c.$name($(&$q),+)?;
    };
    ($c:ident [] $name:ident) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: `",
            ::core::stringify!($name),
            "` needs qubits: `",
            ::core::stringify!($name),
            " 0;`"
        ));
    };
    ($c:ident $m:tt $($s:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: `",
            ::core::stringify!($($s)*),
            "` is no statement: expected `gate qubit, …;` or `gate(angle, …) qubit, …;`; is a `;` missing?"
        ));
    };
}

/// A word of another language: what is written here instead.
#[doc(hidden)]
#[macro_export]
macro_rules! __instead {
    ($word:ident $form:literal $(or $other:literal)?) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: there is no `",
            ::core::stringify!($word),
            "`: write `",
            $form
            $(, "` or `", $other)?,
            "`"
        ));
    };
}

/// A statement of Rust that a circuit does not have.
#[doc(hidden)]
#[macro_export]
macro_rules! __no_statement {
    ($name:ident) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: `",
            ::core::stringify!($name),
            "` is no statement: write Rust inside `do |circuit| { … }`"
        ));
    };
}

/// `c (controls) [modifiers] statement`: one call of `under` for each control.
#[doc(hidden)]
#[macro_export]
macro_rules! __controls {
    ($c:ident () $m:tt $($s:tt)*) => {
        $crate::__statement! { $c $m $($s)* }
    };
    ($c:ident (! $q:expr $(, $($rest:tt)*)?) $m:tt $($s:tt)*) => {
        $c.under(&$q, false, |circuit| {
            $crate::__controls! { circuit ($($($rest)*)?) $m $($s)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident ($q:expr $(, $($rest:tt)*)?) $m:tt $($s:tt)*) => {
        $c.under(&$q, true, |circuit| {
            $crate::__controls! { circuit ($($($rest)*)?) $m $($s)* }
            ::core::result::Result::Ok(circuit)
        })?;
    };
    ($c:ident $q:tt $m:tt $($s:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected controls such as `ctrl(0, !1)`, not `",
            ::core::stringify!($q),
            "`"
        ));
    };
}
