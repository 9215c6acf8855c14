//! `circuit!`: circuits as one writes them down.
//!
//! The forms stand at [`circuit!`](crate::circuit!). Its body is read in three steps, each a hidden macro that
//! writes plain statements side by side:
//!
//! 1. `__body!` cuts the body at the next `;` after every 48 tokens. The pieces are expanded one
//!    beside the other, so the depth of macro calls, which rustc limits to 128, grows by 2 or 3 for a
//!    dozen statements instead of by one for each.
//! 2. `__statements!` cuts a piece into statements: the tokens before a `;`, or a head and a block. It
//!    looks 8 tokens ahead at once, for the same reason.
//! 3. `__statement!` writes one statement, whose tokens it has to itself.
//!
//! `$c` is the variable of the circuit. It is handed down so that all steps mean the same one; the
//! user's expressions cannot see it.
//!
//! Invariant: no name of a gate occurs here. A gate is a method of `Circuit`, which the gate table
//! makes, so an unknown one is an error of rustc at the word itself.

/// Writes a [`Circuit`](crate::Circuit); the value is `Result<Circuit, CircuitError>`.
///
/// ```
/// use ketgrad::{PI, Simulator, circuit};
///
/// let n = 4;
/// let qft = circuit! {
///     qubits n;
///     for q in (0..n).rev() {
///         h q;
///         for k in 0..q { cp(PI / (1 << (q - k))) k, q; }
///     }
///     swap 0..n / 2, (n / 2..n).rev();
/// }?;
/// let ansatz = circuit! {
///     qubits n;
///     param theta[n], phi;
///     for q in 0..n { ry(theta[q]) q; }
///     cx 0..n - 1, 1..n;
///     rz(phi / 2 - PI / 4) ..;
///     dagger call(qft) ..;
/// }?;
/// assert_eq!(ansatz.inputs().count(), n + 1);
/// let state = Simulator::new().run(&ansatz, &[0.1, 0.2, 0.3, 0.4, 0.5])?;
/// # let norm: f64 = state.amplitudes().iter().map(|a| a.norm_sqr()).sum();
/// # assert!((norm - 1.0).abs() < 1e-12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The macro only rearranges words: a gate is the method of `Circuit` with its name, qubits and angles
/// are expressions of Rust, and every statement expands to calls that can be written by hand. The whole
/// is
///
/// ```
/// # use ketgrad::{Circuit, circuit};
/// # let n = 3;
/// let written = circuit! {
///     qubits n;
///     h 0;
///     cx 0, 1;
/// };
/// let called = Circuit::build(n, |circuit| {
///     circuit.h(0)?;
///     circuit.cx(0, 1)?;
///     Ok(circuit)
/// });
/// assert_eq!(written, called);
/// ```
///
/// so `?` in an expression ends the circuit, `return` does not reach the function around it, and the first
/// statement that does not fit (a qubit that is not there, lists of different lengths) is the error.
/// Operands and angles are borrowed: a `Vec` of qubits or an [`Angle`](crate::Angle) can be used again.
///
/// # Qubits
///
/// A body begins with one of
///
/// | form | meaning |
/// |---|---|
/// | `qubits n;` | qubits 0, …, n-1; `n` is any `usize` |
/// | `qubits data[3], flag[2];` | 5 qubits; `data` is the list `[0, 1, 2]` and `flag` is `[3, 4]`, so `data[1]` and `flag[0]` are qubits |
///
/// Operands of gates are anything that is an [`Operand`](crate::core::circuit::Operand): a number, a range
/// (`..` is all qubits, `2..` those from 2), a list, an iterator such as `(0..n).step_by(2)`. Lists stand
/// for one gate each; lists beside one another are paired, a number goes with every element of a list.
///
/// ```
/// # use ketgrad::{Circuit, circuit, core::circuit::CircuitError};
/// let written = circuit! {
///     qubits data[3], flag[2];
///     h ..;
///     cx data, flag[0];
///     cx data[..2], flag;
///     ccx 0, 1, [2, 3];
/// }?;
/// let mut called = Circuit::new(5);
/// called.h(..)?;
/// called.cx([0, 1, 2], 3)?;
/// called.cx([0, 1], [3, 4])?;
/// called.ccx(0, 1, 2)?.ccx(0, 1, 3)?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Gates
///
/// `gate qubit, …;` and `gate(angle, …) qubit, …;`, by the names of
/// [`NAMED_GATES`](crate::core::gate::NAMED_GATES), controls before targets. Parentheses directly after
/// the name hold angles (`x (a) - 1;` is no qubit `a - 1`; write `x a - 1;`). An angle is
/// whatever becomes an [`Angle`](crate::Angle): radians (`f64` or a whole number), a fraction of
/// [`PI`](crate::PI), a declared input, or a sum of such, multiplied or divided by numbers. Fractions of
/// `PI` stay exact. Further instructions:
///
/// | form | call |
/// |---|---|
/// | `unitary(matrix) q, …;` | `circuit.unitary(matrix.clone(), &[q, …], &[])?`; lists are joined, the first qubit is the least significant |
/// | `call(sub) q, …;` | `circuit.append(&sub, &[q, …])?`; inputs of the same name become one |
/// | `reset q;` | `circuit.reset(q)?` |
/// | `depolarizing(p) q;` … | noise: the methods of [`ChannelKind`](crate::core::channel::ChannelKind) by their names |
/// | `barrier;` `barrier q, …;` | `circuit.barrier(&[q, …])?`, without a list for all qubits |
///
/// ```
/// # use ketgrad::{Angle, Circuit, PI, circuit, core::circuit::CircuitError, core::matrix::Matrix};
/// # let x = Matrix::from_rows(vec![vec![0.0.into(), 1.0.into()], vec![1.0.into(), 0.0.into()]])?;
/// let bell = circuit! { qubits 2; h 0; cx 0, 1; }?;
/// let theta = 0.3;
/// let written = circuit! {
///     qubits 3;
///     rx(theta) 0;
///     u3(theta / 2.0, PI / 4, -3 * PI / 8) 1;
///     gphase(PI);
///     unitary(x) 2;
///     call(bell) 2, 0;
///     reset 0..2;
///     depolarizing(0.01) 0..2;
///     barrier 0, 2;
/// }?;
/// let mut called = Circuit::new(3);
/// called.rx(0, theta)?.u3(1, 0.15, Angle::pi(1, 4), Angle::pi(-3, 8))?.gphase(Angle::pi(1, 1))?;
/// called.unitary(x.clone(), &[2], &[])?.append(&bell, &[2, 0])?;
/// called.reset(0..2)?.depolarizing(0..2, 0.01)?.barrier(&[0, 2])?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Modifiers
///
/// Before a statement or a block, also several, the first one outermost:
///
/// | form | call |
/// |---|---|
/// | `ctrl(a, !b) …` | `circuit.under(a, true, …)` and `circuit.under(b, false, …)`: acts where `a` is 1 and `b` is 0; lists are allowed |
/// | `dagger …` | `circuit.undo(…)`: the inverse |
/// | `repeat(k) …` | `for _ in 0..k { … }` |
///
/// ```
/// # use ketgrad::{Circuit, circuit, core::circuit::CircuitError};
/// # let step = circuit! { qubits 2; h 0; s 1; }?;
/// let written = circuit! {
///     qubits 4;
///     ctrl(2, !3) x 0;
///     ctrl(0..3) { z 3; }
///     ctrl(3) dagger call(step) 0, 1;
///     repeat(2) { h 0; dagger t 0; }
/// }?;
/// let mut called = Circuit::new(4);
/// called.under(2, true, |c| c.under(3, false, |c| c.x(0)))?;
/// called.under(0..3, true, |c| c.z(3))?;
/// called.under(3, true, |c| c.undo(|c| c.append(&step, &[0, 1])))?;
/// called.h(0)?.tdg(0)?.h(0)?.tdg(0)?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Inputs
///
/// | form | meaning |
/// |---|---|
/// | `param phi;` | the input `phi`; from here on `phi` is an `&Angle` |
/// | `param w[n];` | the inputs `w[0]`, …; `w` is a `Vec<&Angle>` |
///
/// Several are separated by commas. Values are given in the order of declaration.
///
/// ```
/// # use ketgrad::{Circuit, PI, circuit, core::circuit::CircuitError};
/// let written = circuit! {
///     qubits 2;
///     param phi, w[2];
///     rz(phi - PI / 2) 0;
///     for (q, angle) in w.iter().enumerate() { ry(2 * *angle) q; }
/// }?;
/// let mut called = Circuit::new(2);
/// let phi = called.param("phi");
/// let w = called.param_list("w", 2);
/// called.rz(0, phi - PI / 2)?.ry(0, 2 * &w[0])?.ry(1, 2 * &w[1])?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Classical bits
///
/// | form | meaning or call |
/// |---|---|
/// | `bits c[2], flag;` | `let c = circuit.bit_register("c", 2)?`, and `flag` with one bit |
/// | `measure q -> c[i];` | `circuit.measure(q, c.bits(i)?)?` |
/// | `measure list -> c;` | one bit for each qubit; as many as the register has |
/// | `measure list -> c[0..2];` | the same into some bits of it |
/// | `measure ..;` | `circuit.measure_all()?`: all qubits into a new register `meas` |
/// | `assign c[i] = value;` | `circuit.assign(…)?` for the bit, a list of bits or, `assign c = value;`, all |
/// | `when condition { … }` | `circuit.when(condition, …)?`: the block where the condition holds, tested at each of its instructions at run time |
/// | `while_loop condition { … }` | `circuit.while_loop(condition, …)?`: the block again and again while the condition holds, tested at run time before each round |
///
/// A condition is `c == number` or with `!=`, `<`, `<=`, `>`, `>=`, where `c` is a register or some of its
/// bits (`c[0..2] == 3`) as an unsigned number, bit 0 least significant; `c[i]` or `c` alone is "a bit of it
/// is 1" and `!c[i]`, `!c` "none is"; `!(…)`, `&&`, `||` and parentheses join them; any other expression
/// must be a [`Condition`](crate::core::circuit::Condition). `when` has no `else`.
///
/// ```
/// # use ketgrad::{Circuit, circuit, core::circuit::{CircuitError, Condition, Relation}};
/// let written = circuit! {
///     qubits 3;
///     bits c[2], flag;
///     measure 0..2 -> c;
///     measure 2 -> flag;
///     when c == 2 { x 0; }
///     when !c[0] && flag { z 1; }
///     assign c[1] = false;
///     while_loop !flag { reset 2; h 2; measure 2 -> flag; }
/// }?;
/// let mut called = Circuit::new(3);
/// let c = called.bit_register("c", 2)?;
/// let flag = called.bit_register("flag", 1)?;
/// called.measure(0..2, c)?.measure(2, flag)?;
/// called.when(Condition::compare(&c.bits(..)?, Relation::Equal, 2)?, |c| c.x(0))?;
/// let not_c0 = Condition::Bit { bit: 0, value: false };
/// called.when(Condition::All(vec![not_c0, flag.into()]), |c| c.z(1))?;
/// called.assign(1, false)?;
/// let not_flag = Condition::Bit { bit: 2, value: false };
/// called.while_loop(not_flag, |c| c.reset(2)?.h(2)?.measure(2, flag))?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Rust inside
///
/// `for pattern in expression { … }`, `if condition { … } else if let … { … } else { … }` and `{ … }`
/// contain statements of the circuit and are decided while it is built. `let …;`, `break;`, `continue;` and calls
/// of macros (`assert!(n > 1);`) are Rust's own. Anything else fits between the braces of
/// `do |c| { … }`, a block of Rust in which `c` is the circuit so far, an `&mut Circuit`:
///
/// ```
/// # use ketgrad::{Circuit, circuit, core::circuit::CircuitError};
/// let n = 3;
/// let written = circuit! {
///     qubits n;
///     let last = n - 1;
///     for q in 0..last {
///         if q % 2 == 0 { h q; } else { s q; }
///     }
///     do |c| {
///         c.mcx(&[0, 1], last)?;
///     }
/// }?;
/// let mut called = Circuit::new(3);
/// called.h(0)?.s(1)?.mcx(&[0, 1], 2)?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # What is an error at compile time
///
/// Words that are no gate, missing or extra operands and angles (by rustc, at the word), statements that
/// end without `;` or are none of the above (by the macro, with the statement in the message):
///
/// ```compile_fail,E0599
/// # use ketgrad::circuit;
/// let c = circuit! { qubits 1; hadamard 0; }; // no method named `hadamard`
/// ```
///
/// ```compile_fail
/// # use ketgrad::circuit;
/// let c = circuit! { qubits 2; h 0 cx 0, 1; }; // is a `;` missing?
/// ```
///
/// A statement takes one level of rustc's limit of 128 nested macros, but statements are read in pieces,
/// so a body may have some 500 of them before `#![recursion_limit = "256"]` is needed.
#[macro_export]
macro_rules! circuit {
    (qubits $($name:ident [$size:expr]),+ $(,)? ; $($body:tt)*) => {{
        let mut n_qubits = 0;
        $(
            #[allow(unused_variables, reason = "a register may be there for others to name")]
            let $name: ::std::vec::Vec<usize> = {
                let first = n_qubits;
                n_qubits += $size;
                (first..n_qubits).collect()
            };
        )+
        $crate::core::circuit::Circuit::build(n_qubits, |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })
    }};
    (qubits $n:expr ; $($body:tt)*) => {
        $crate::core::circuit::Circuit::build($n, |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })
    };
    (qubits $($rest:tt)*) => {
        ::core::compile_error!("circuit!: expected `qubits n;` or `qubits name[size], …;`, then statements")
    };
    ($($rest:tt)*) => {
        ::core::compile_error!("circuit!: begins with `qubits n;` or `qubits name[size], …;`")
    };
}

/// Cuts the body of [`circuit!`] into pieces.
#[doc(hidden)]
#[macro_export]
macro_rules! __body {
    ($c:ident
        $a0:tt $a1:tt $a2:tt $a3:tt $a4:tt $a5:tt $b0:tt $b1:tt $b2:tt $b3:tt $b4:tt $b5:tt $c0:tt $c1:tt
        $c2:tt $c3:tt $c4:tt $c5:tt $d0:tt $d1:tt $d2:tt $d3:tt $d4:tt $d5:tt $e0:tt $e1:tt $e2:tt $e3:tt
        $e4:tt $e5:tt $f0:tt $f1:tt $f2:tt $f3:tt $f4:tt $f5:tt $g0:tt $g1:tt $g2:tt $g3:tt $g4:tt $g5:tt
        $h0:tt $h1:tt $h2:tt $h3:tt $h4:tt $h5:tt
        $($rest:tt)+
    ) => {
        $crate::__cut! {
            $c
            [$a0 $a1 $a2 $a3 $a4 $a5 $b0 $b1 $b2 $b3 $b4 $b5 $c0 $c1 $c2 $c3 $c4 $c5 $d0 $d1 $d2 $d3 $d4 $d5
            $e0 $e1 $e2 $e3 $e4 $e5 $f0 $f1 $f2 $f3 $f4 $f5 $g0 $g1 $g2 $g3 $g4 $g5 $h0 $h1 $h2 $h3 $h4 $h5]
            $($rest)+
        }
    };
    ($c:ident $($rest:tt)*) => {
        $crate::__statements! { $c [] $($rest)* }
    };
}

/// `c [head] tokens`: ends a piece at the next `;`.
#[doc(hidden)]
#[macro_export]
macro_rules! __cut {
    ($c:ident [$($h:tt)*] ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 $t6 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 ; }
        $crate::__body! { $c $($rest)* }
    };
    ($c:ident [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__cut! { $c [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident [$($h:tt)*] $($rest:tt)*) => {
        $crate::__statements! { $c [] $($h)* $($rest)* }
    };
}

/// `c [modifiers] tokens`: cuts a piece into statements.
#[doc(hidden)]
#[macro_export]
macro_rules! __statements {
    ($c:ident []) => {};
    ($c:ident [] ; $($rest:tt)*) => {
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] ctrl ( $($q:tt)+ ) $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* ctrl ($($q)+)] $($rest)* }
    };
    ($c:ident [$($m:tt)*] repeat ( $($n:tt)+ ) $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* repeat ($($n)+)] $($rest)* }
    };
    ($c:ident [$($m:tt)*] dagger $($rest:tt)*) => {
        $crate::__statements! { $c [$($m)* dagger] $($rest)* }
    };
    ($c:ident $m:tt for $($rest:tt)*) => {
        $crate::__block! { $c $m [] [for] $($rest)* }
    };
    ($c:ident $m:tt if $($rest:tt)*) => {
        $crate::__block! { $c $m [] [if] $($rest)* }
    };
    ($c:ident $m:tt when $($rest:tt)*) => {
        $crate::__block! { $c $m [] [when] $($rest)* }
    };
    ($c:ident $m:tt while_loop $($rest:tt)*) => {
        $crate::__block! { $c $m [] [while_loop] $($rest)* }
    };
    ($c:ident $m:tt while $($rest:tt)*) => {
        $crate::__no_statement! { while }
    };
    ($c:ident $m:tt loop $($rest:tt)*) => {
        $crate::__no_statement! { loop }
    };
    ($c:ident $m:tt match $($rest:tt)*) => {
        $crate::__no_statement! { match }
    };
    ($c:ident $m:tt return $($rest:tt)*) => {
        $crate::__no_statement! { return }
    };
    ($c:ident $m:tt do | $v:ident | $body:block $($rest:tt)*) => {
        $crate::__statement! { $c $m @do $v $body }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 $t7 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident [$($m:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c [$($m)*] $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)+) => {
        $crate::__long! { $c $m [$t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)+ }
    };
    ($c:ident [$($m:tt)*] $($s:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `;` at the end of `",
            ::core::stringify!($($m)* $($s)*),
            "`"
        ));
    };
}

/// `c [modifiers] [statement so far] tokens`: a statement of more than 8 tokens.
#[doc(hidden)]
#[macro_export]
macro_rules! __long {
    ($c:ident $m:tt [$($s:tt)*] ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 $t6 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt ; $($rest:tt)*) => {
        $crate::__statement! { $c $m $($s)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__long! { $c $m [$($s)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident $m:tt [$($s:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `;` at the end of `",
            ::core::stringify!($($s)* $($rest)*),
            "`"
        ));
    };
}

/// `c [modifiers] [blocks so far] [head so far] tokens`: a head and a block, with what follows `else`.
#[doc(hidden)]
#[macro_export]
macro_rules! __block {
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* ] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* ] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt { $($body:tt)* } else $($rest:tt)*) => {
        $crate::__block! { $c $m [$($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7] { $($body)* }] [] $($rest)* }
    };
    ($c:ident $m:tt [$($done:tt)*] [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt { $($body:tt)* } $($rest:tt)*) => {
        $crate::__statement! { $c $m @block $($done)* [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7] { $($body)* } }
        $crate::__statements! { $c [] $($rest)* }
    };
    ($c:ident $m:tt $done:tt [$($h:tt)*] $t1:tt $t2:tt $t3:tt $t4:tt $t5:tt $t6:tt $t7:tt $t8:tt $($rest:tt)*) => {
        $crate::__block! { $c $m $done [$($h)* $t1 $t2 $t3 $t4 $t5 $t6 $t7 $t8] $($rest)* }
    };
    ($c:ident $m:tt $done:tt [$($h:tt)*] $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected a block `{ … }` after `",
            ::core::stringify!($($h)* $($rest)*),
            "`"
        ));
    };
}

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
    ($c:ident [] @block [when $($condition:tt)+] $($rest:tt)*) => {
        ::core::compile_error!(
            "circuit!: `when` has no `else`, since its block may change the bits: write a second `when`"
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
        ::core::compile_error!("circuit!: expected `param name, …;` or `param name[size], …;`");
    };
    ($c:ident [] @param $name:ident) => {
        #[allow(unused_variables, reason = "an input may be declared for its place in the list only")]
        let $name = &$c.param(::core::stringify!($name));
    };
    ($c:ident [] @param $name:ident [$size:expr]) => {
        let $name = $c.param_list(::core::stringify!($name), $size);
        #[allow(unused_variables, reason = "an input may be declared for its place in the list only")]
        let $name: ::std::vec::Vec<&$crate::core::param::Angle> = $name.iter().collect();
    };
    ($c:ident [] qubits $($rest:tt)*) => {
        ::core::compile_error!("circuit!: `qubits` stands once, at the beginning");
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
            $crate::core::matrix::Matrix::clone(&$matrix),
            &[$($c.qubits(&$q)?),+].concat(),
            &[],
        )?;
    };
    ($c:ident [] unitary $($t:tt)*) => {
        ::core::compile_error!("circuit!: expected `unitary(matrix) qubit, …;`");
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

/// The condition of `when` and `while_loop`: `@or` and `@and` split it, `@one` reads what is between, `@is` compares.
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
        $crate::core::circuit::Condition::Any(::std::vec![
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
        $crate::core::circuit::Condition::All(::std::vec![
            $($crate::__condition!(@one $($done)+),)+
            $crate::__condition!(@one $($one)+)
        ])
    };

    (@one ($($t:tt)+)) => {
        $crate::__condition!(@or [] [] $($t)+)
    };
    (@one ! ($($t:tt)+)) => {
        $crate::core::circuit::Condition::Not(::std::boxed::Box::new($crate::__condition!(@or [] [] $($t)+)))
    };
    (@one ! $bits:ident) => {
        $crate::__condition!(@is (&$bits.bits(..)?) == 0)
    };
    (@one ! $bits:ident [$i:expr]) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) == 0)
    };
    (@one $bits:ident [$i:expr]) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) != 0)
    };
    (@one $bits:ident [$i:expr] $op:tt $value:expr) => {
        $crate::__condition!(@is (&$bits.bits(&$i)?) $op $value)
    };
    (@one $name:ident . $($t:tt)+) => {
        $crate::core::circuit::Condition::from($name.$($t)+)
    };
    (@one $name:ident :: $($t:tt)+) => {
        $crate::core::circuit::Condition::from($name::$($t)+)
    };
    (@one $bits:ident $op:tt $value:expr) => {
        $crate::__condition!(@is (&$bits.bits(..)?) $op $value)
    };
    (@one $condition:expr) => {
        $crate::core::circuit::Condition::from($condition)
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
        $crate::core::circuit::Condition::compare(
            $bits,
            $crate::core::circuit::Relation::$relation,
            $value,
        )?
    };

    (@$($t:tt)*) => {
        ::core::compile_error!(
            "circuit!: expected a condition such as `c == 2`, `c[0]`, `!c[0]`, `c[0..2] < 3`, joined by `&&` and `||`"
        )
    };
}
