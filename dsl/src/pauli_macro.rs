//! `pauli!`: sums of Pauli strings as one writes them down.
//!
//! The forms are listed at [`pauli!`](crate::pauli!). Each term becomes one call of
//! `PauliSum::push`, by way of `factor.rs`. As the body of `circuit!`, a long sum is cut in pieces
//! (here before a `+` or `-`) that are expanded one beside the other, to stay below rustc's limit
//! of nested macros.
//!
//! `$sum` is the variable of the sum, `$base` the factors of all its terms, `[…]` those of one
//! term.

/// Writes a [`PauliSum`](crate::PauliSum); the value is `Result<PauliSum, ObservableError>`.
///
/// ```
/// use ketgrad::pauli;
///
/// let (n, j, h) = (3, 1.0, 0.5);
/// let ising = pauli!(-j * sum(q in 0..n - 1) { Z[q] Z[q + 1] } - h * sum(q in 0..n) { X[q] })?;
/// assert_eq!(ising.to_string(), "-Z0 Z1 - Z1 Z2 - 0.5*X0 - 0.5*X1 - 0.5*X2");
/// assert_eq!(pauli!(0.5 * Z0 Z1 - 1.5 * X2 + 2)?, "0.5*Z0 Z1 - 1.5*X2 + 2".parse()?);
/// # Ok::<(), ketgrad::observable::ObservableError>(())
/// ```
///
/// A sum of terms joined by `+` and `-`, with or without a sign before the first. A term is a
/// product of coefficients, each followed by `*`, and of operators, with or without a `*` between
/// them, or a coefficient alone:
///
/// | form | meaning |
/// |---|---|
/// | `Z0`, `X12`, `Y3` | an operator and its qubit, read at compile time |
/// | `Z[q]`, `X[2 * q + 1]` | the same with any `usize` for the qubit |
/// | `I`, `I7`, `I[q]` | the identity |
/// | `0.5 *`, `2 *`, `j *`, `w[q] *`, `(a + b) *` | a coefficient: a number, a variable, an element, an expression in parentheses; an `f64` or a number that `f64::from` takes. `Z0 *` is an operator all the same |
/// | `2`, `(a + b)` | a constant. (A name alone would be an operator.) |
/// | `sum(pattern in expression) { … }` | a sum inside for each element; coefficients before it belong to all its terms |
///
/// Each term expands to one call:
///
/// ```
/// # use ketgrad::{PauliSum, observable::Pauli, pauli};
/// # let (a, q) = (0.25, 2);
/// let written = pauli!(2 * a * Z0 X[q] - 1)?;
/// let mut called = PauliSum::default();
/// called.push(2.0 * a, [(0, Pauli::Z), (q, Pauli::X)])?;
/// called.push(-1.0, [])?;
/// assert_eq!(written, called);
/// # Ok::<(), ketgrad::observable::ObservableError>(())
/// ```
///
/// Errors at run time are a qubit that comes twice in a term (`Z0 Z[0]`), one beyond any circuit,
/// and a coefficient that is not finite. Words that are no operator are errors at compile time:
///
/// ```compile_fail
/// # use ketgrad::pauli;
/// let sum = pauli!(Z0 W1);
/// ```
#[macro_export]
macro_rules! pauli {
    () => {
        ::core::compile_error!("pauli!: expected a sum such as `0.5 * Z0 Z1 - X[q]`")
    };
    ($($t:tt)+) => {{
        let build = || {
            #[allow(unused_imports, reason = "operators before a `*`")]
            use $crate::factor::names::*;
            let mut sum = $crate::observable::PauliSum::default();
            $crate::__pauli! { sum [] $($t)+ }
            ::core::result::Result::<_, $crate::observable::ObservableError>::Ok(sum)
        };
        build()
    }};
}

#[doc(hidden)]
#[macro_export]
macro_rules! __pauli {
    // One factor.
    (@factor I $([$q:expr])?) => {
        ::core::option::Option::None
    };
    (@factor $pauli:ident [$q:expr]) => {
        ::core::option::Option::Some(($q, $crate::observable::Pauli::$pauli))
    };
    (@factor $word:ident) => {
        const { $crate::observable::Pauli::named(::core::stringify!($word)) }
    };
    (@push $sum:ident [$($k:expr),*] $($word:ident $([$q:expr])?)+) => {
        {
            let mut term = $crate::factor::Term::new();
            $($crate::factor::Factor::times($k, &mut term);)*
            $($crate::factor::Factor::times(
                $crate::factor::Operator($crate::__pauli!(@factor $word $([$q])?)),
                &mut term,
            );)+
            term.push(&mut $sum)?;
        }
    };

    // A sum begins with a term, with or without a sign.
    (@sum $sum:ident [$($base:expr),*] - $($rest:tt)+) => {
        $crate::__pauli! { @term $sum [$($base),*] [-1.0 $(, $base)*] $($rest)+ }
    };
    (@sum $sum:ident [$($base:expr),*] + $($rest:tt)+) => {
        $crate::__pauli! { @term $sum [$($base),*] [$($base),*] $($rest)+ }
    };
    (@sum $sum:ident [$($base:expr),*] $($rest:tt)+) => {
        $crate::__pauli! { @term $sum [$($base),*] [$($base),*] $($rest)+ }
    };

    // A term: factors before `*`, then operators.
    (@term $sum:ident $base:tt [$($k:expr),*] sum ($p:pat in $($e:tt)+) { $($t:tt)+ } $($rest:tt)*) => {
        for $p in $($e)+ {
            $crate::__pauli! { $sum [$($k),*] $($t)+ }
        }
        $crate::__pauli! { @next $sum $base $($rest)* }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] $number:literal * $($rest:tt)+) => {
        $crate::__pauli! { @term $sum $base [$($k,)* $number] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] $name:ident * $($rest:tt)+) => {
        $crate::__pauli! { @term $sum $base [$($k,)* $name] $($rest)+ }
    };
    // An operator and its qubit, or an element of a list.
    (@term $sum:ident $base:tt [$($k:expr),*] I [$q:expr] * $($rest:tt)+) => {
        $crate::__pauli! { @term $sum $base [$($k),*] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] X [$q:expr] * $($rest:tt)+) => {
        $crate::__pauli! { @operator $sum $base [$($k),*] X [$q] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] Y [$q:expr] * $($rest:tt)+) => {
        $crate::__pauli! { @operator $sum $base [$($k),*] Y [$q] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] Z [$q:expr] * $($rest:tt)+) => {
        $crate::__pauli! { @operator $sum $base [$($k),*] Z [$q] $($rest)+ }
    };
    (@operator $sum:ident $base:tt [$($k:expr),*] $pauli:ident [$q:expr] $($rest:tt)+) => {
        $crate::__pauli! {
            @term $sum $base
            [$($k,)* $crate::factor::Operator($crate::__pauli!(@factor $pauli [$q]))]
            $($rest)+
        }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] $list:ident [$i:expr] * $($rest:tt)+) => {
        $crate::__pauli! { @term $sum $base [$($k,)* $list[$i]] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] ($number:expr) * $($rest:tt)+) => {
        $crate::__pauli! { @term $sum $base [$($k,)* $number] $($rest)+ }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] $number:literal $($rest:tt)*) => {
        $crate::__pauli! { @push $sum [$($k,)* $number] I }
        $crate::__pauli! { @next $sum $base $($rest)* }
    };
    (@term $sum:ident $base:tt [$($k:expr),*] ($number:expr) $($rest:tt)*) => {
        $crate::__pauli! { @push $sum [$($k,)* $number] I }
        $crate::__pauli! { @next $sum $base $($rest)* }
    };
    (@term $sum:ident $base:tt $k:tt $($word:ident $([$q:expr])?)+) => {
        $crate::__pauli! { @push $sum $k $($word $([$q])?)+ }
    };
    (@term $sum:ident $base:tt $k:tt $($word:ident $([$q:expr])?)+ + $($rest:tt)*) => {
        $crate::__pauli! { @push $sum $k $($word $([$q])?)+ }
        $crate::__pauli! { @next $sum $base + $($rest)* }
    };
    (@term $sum:ident $base:tt $k:tt $($word:ident $([$q:expr])?)+ - $($rest:tt)*) => {
        $crate::__pauli! { @push $sum $k $($word $([$q])?)+ }
        $crate::__pauli! { @next $sum $base - $($rest)* }
    };
    (@term $sum:ident $base:tt $k:tt sum $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "pauli!: expected `sum(q in 0..n) { Z[q] }`, not `sum ",
            ::core::stringify!($($rest)*),
            "`"
        ));
    };
    (@term $sum:ident $base:tt $k:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "pauli!: expected operators such as `Z0 Z[q]` or a coefficient and `*`, not `",
            ::core::stringify!($($rest)*),
            "`; a coefficient that is no number, name or product of these needs parentheses"
        ));
    };

    // After a term.
    (@next $sum:ident $base:tt) => {};
    (@next $sum:ident $base:tt + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($rest)+ }
    };
    (@next $sum:ident $base:tt - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base - $($rest)+ }
    };
    (@next $sum:ident $base:tt $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "pauli!: expected `+` or `-` and a term, not `",
            ::core::stringify!($($rest)*),
            "`; between a coefficient and operators there is a `*`, and a quotient needs parentheses"
        ));
    };

    // Cuts a long sum before a sign.
    (@cut $sum:ident $base:tt [$($h:tt)*] + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)*  }
        $crate::__pauli! { $sum $base + $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)*  }
        $crate::__pauli! { $sum $base - $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 }
        $crate::__pauli! { $sum $base + $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 }
        $crate::__pauli! { $sum $base - $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 }
        $crate::__pauli! { $sum $base + $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 }
        $crate::__pauli! { $sum $base - $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 $t3 }
        $crate::__pauli! { $sum $base + $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 $t3 }
        $crate::__pauli! { $sum $base - $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt + $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 $t3 $t4 }
        $crate::__pauli! { $sum $base + $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt - $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($h)* $t1 $t2 $t3 $t4 }
        $crate::__pauli! { $sum $base - $($rest)+ }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $($rest:tt)*) => {
        $crate::__pauli! { @cut $sum $base [$($h)* $t1 $t2 $t3 $t4 $t5] $($rest)* }
    };
    (@cut $sum:ident $base:tt [$($h:tt)*] $($rest:tt)*) => {
        $crate::__pauli! { @sum $sum $base $($h)* $($rest)* }
    };
    ($sum:ident $base:tt
        $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $b0:tt $b1:tt $b2:tt $b3:tt $b4:tt $b5:tt $c0:tt $c1:tt
        $c2:tt $c3:tt $c4:tt $c5:tt $d0:tt $d1:tt $d2:tt $d3:tt $d4:tt $d5:tt $e0:tt $e1:tt $e2:tt $e3:tt
        $e4:tt $e5:tt $f0:tt $f1:tt $f2:tt $f3:tt $f4:tt $f5:tt $g0:tt $g1:tt $g2:tt $g3:tt $g4:tt $g5:tt
        $h0:tt $h1:tt $h2:tt $h3:tt $h4:tt $h5:tt
        $($rest:tt)+
    ) => {
        $crate::__pauli! {
            @cut $sum $base
            [$a0 $a1 $a2 $a3 $a4 $a5 $b0 $b1 $b2 $b3 $b4 $b5 $c0 $c1 $c2 $c3 $c4 $c5 $d0 $d1 $d2 $d3 $d4 $d5
            $e0 $e1 $e2 $e3 $e4 $e5 $f0 $f1 $f2 $f3 $f4 $f5 $g0 $g1 $g2 $g3 $g4 $g5 $h0 $h1 $h2 $h3 $h4 $h5]
            $($rest)+
        }
    };
    ($sum:ident $base:tt $($rest:tt)+) => {
        $crate::__pauli! { @sum $sum $base $($rest)+ }
    };
}
