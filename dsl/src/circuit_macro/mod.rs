//! `circuit!`: circuits as one writes them down.
//!
//! The forms are listed at [`circuit!`](crate::circuit!). Its body is read in three steps, each a
//! hidden macro that writes plain statements side by side:
//!
//! 1. `__body!` (`cut.rs`) cuts the body at the next `;` after every 48 tokens. The pieces are
//!    expanded one beside the other, so the depth of macro calls, which rustc limits to 128, grows
//!    by 2 or 3 for twelve statements instead of by one for each.
//! 2. `__statements!` cuts a piece into statements: the tokens before a `;`, or a head and a block.
//!    It looks 8 tokens ahead at once, for the same reason.
//! 3. `__statement!` (`statement.rs`) writes one statement, whose tokens it has to itself;
//!    measurements and conditions are read in `classical.rs`, declarations of variables and `else`
//!    in `variables.rs`.
//!
//! `$c` is the variable of the circuit. It is handed down so that all steps mean the same one; the
//! user's expressions cannot see it.
//!
//! Invariant: no name of a gate occurs here. A gate is a method of `Circuit`, which the gate table
//! makes, so an unknown one is an error of rustc at the word itself.

mod classical;
mod cut;
mod statement;
mod variables;

#[doc(hidden)]
pub use variables::ComparedInCondition;

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
/// The macro only rearranges words: a gate is the method of `Circuit` with its name, qubits and
/// angles are expressions of Rust, and every statement expands to calls that can be written by
/// hand. The whole is
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
/// so `?` in an expression ends the circuit, `return` does not reach the function around it, and
/// the first statement that does not fit (a qubit that is not there, lists of different lengths) is
/// the error. Operands and angles are borrowed: a `Vec` of qubits or an [`Angle`](crate::Angle) can
/// be used again.
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
/// Operands of gates are anything that is an [`Operand`](ketgrad_core::circuit::Operand): a number,
/// a range (`..` is all qubits, `2..` those from 2), a list, an iterator such as
/// `(0..n).step_by(2)`. Lists mean one gate each; lists beside one another are paired, a
/// number goes with every element of a list.
///
/// ```
/// # use ketgrad::{Circuit, circuit, circuit::CircuitError};
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
/// [`NAMED_GATES`](ketgrad_core::gate::NAMED_GATES), controls before targets. Parentheses directly
/// after the name hold angles (`x (a) - 1;` is no qubit `a - 1`; write `x a - 1;`). An angle is
/// whatever becomes an [`Angle`](crate::Angle): radians (`f64` or a whole number), a fraction of
/// [`PI`](crate::PI), a declared input, or a sum of such, multiplied or divided by numbers.
/// Fractions of `PI` stay exact. It may be computed from [variables](#classical-variables), too.
/// Further instructions:
///
/// | form | call |
/// |---|---|
/// | `unitary(matrix) q, …;` | `circuit.unitary(matrix.clone(), &[q, …], &[])?`; lists are joined, the first qubit is the least significant |
/// | `pauli_rotation(angle) X0 Y[q] Z2;` | `circuit.pauli_rotation(&string, angle)?`: `exp(-i angle/2 P)` for the Pauli string P, as [`pauli!`](crate::pauli!) writes it, or `(string)` |
/// | `call(sub) q, …;` | `circuit.append(&sub, &[q, …])?`; inputs of the same name become one |
/// | `reset q;` | `circuit.reset(q)?` |
/// | `depolarizing(p) q;` … | noise: the methods of [`ChannelKind`](ketgrad_core::channel::ChannelKind) by their names |
/// | `barrier;` `barrier q, …;` | `circuit.barrier(&[q, …])?`, without a list for all qubits |
///
/// ```
/// # use ketgrad::{Angle, Circuit, PI, circuit, circuit::CircuitError, matrix::Matrix};
/// # use ketgrad::observable::{Pauli, PauliString};
/// # let x = Matrix::from_rows(vec![vec![0.0.into(), 1.0.into()], vec![1.0.into(), 0.0.into()]])?;
/// let bell = circuit! { qubits 2; h 0; cx 0, 1; }?;
/// let theta = 0.3;
/// let written = circuit! {
///     qubits 3;
///     rx(theta) 0;
///     u3(theta / 2.0, PI / 4, -3 * PI / 8) 1;
///     gphase(PI);
///     unitary(x) 2;
///     pauli_rotation(PI / 8) X0 Z[2];
///     call(bell) 2, 0;
///     reset 0..2;
///     depolarizing(0.01) 0..2;
///     barrier 0, 2;
/// }?;
/// let mut called = Circuit::new(3);
/// called.rx(0, theta)?.u3(1, 0.15, Angle::pi(1, 4), Angle::pi(-3, 8))?.gphase(Angle::pi(1, 1))?;
/// called.unitary(x.clone(), &[2], &[])?;
/// called.pauli_rotation(&PauliString::new([(0, Pauli::X), (2, Pauli::Z)])?, Angle::pi(1, 8))?.append(&bell, &[2, 0])?;
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
/// # use ketgrad::{Circuit, circuit, circuit::CircuitError};
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
/// # use ketgrad::{Circuit, PI, circuit, circuit::CircuitError};
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
/// A condition is `c == number` or with `!=`, `<`, `<=`, `>`, `>=`, where `c` is a register or some
/// of its bits (`c[0..2] == 3`) as an unsigned number, bit 0 least significant; `c[i]` or `c` alone
/// is "a bit of it is 1" and `!c[i]`, `!c` "none is"; `!(…)`, `&&`, `||` and parentheses join them;
/// any other expression must be a [`Condition`](ketgrad_core::circuit::Condition) or compare
/// [formulas](#classical-variables).
///
/// ```
/// # use ketgrad::{Circuit, circuit, circuit::{CircuitError, Condition, Relation}};
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
/// # Classical variables
///
/// Variables have values of their own in each run, which start at 0; those at its end are results.
///
/// | form | meaning or call |
/// |---|---|
/// | `uint[8] n = 1;` `int k;` `bool b;` | a variable with a first value or without; several are separated by commas. `uint` and `int` have 32 bits |
/// | `float t;` `float[32] t;` | a float of 64 bits, or of 32 |
/// | `angle[16] a;` | a fraction of a turn in 16 bits |
/// | `n = formula;` `n += formula;` … | `circuit.store(n, formula)?`, `circuit.store(n, n + formula)?`; `-=`, `*=`, `/=`, `%=`, `&=`, `\|=`, `^=`, `<<=`, `>>=` |
/// | `gate(formula) q;` | a gate whose angle is computed when it runs: a float or an integer in radians, an `angle[n]` as it is |
/// | `when c { … } else when d { … } else { … }` | `circuit.if_else(c, …, …)?`: unlike a `when` alone it tests each condition once |
/// | `for_loop k in first, last { … }` | `circuit.for_range(k, first, last, …)?`: the block in a run once for each value of `k`, both ends included |
/// | `break_loop;` `continue_loop;` | `circuit.break_out(1)?`, `circuit.continue_loop(1)?`: out of the innermost loop of the run, on with its next round |
///
/// A formula has variables, numbers, registers (`c`, an unsigned number) and their bits
/// (`c.bit(0)`), joined by the operators and methods of
/// [`ClassicalOperand`](ketgrad_core::classical::ClassicalOperand). In conditions formulas are
/// compared: `n + 1 < 2 * k`, `t >= 0.5`; `b` alone is "not 0".
///
/// ```
/// # use ketgrad::{Circuit, circuit, circuit::CircuitError};
/// # use ketgrad::classical::{ClassicalOperand, ClassicalType, IntType};
/// let written = circuit! {
///     qubits 1;
///     bits c[2];
///     uint[8] n = 1;
///     int k;
///     float t;
///     for_loop k in 1, n + 3 {
///         h 0;
///         measure 0 -> c[0];
///         when c[0] { n += 2; } else when k == 3 { break_loop; } else { t = t - 0.5; }
///         rz(-t / 2) 0;
///     }
/// }?;
/// let mut called = Circuit::new(1);
/// let c = called.bit_register("c", 2)?;
/// let n = called.add_variable("n", ClassicalType::Int(IntType::unsigned(8)))?;
/// let n = called.scalar(n)?;
/// called.store(n, 1)?;
/// let k = called.add_variable("k", ClassicalType::Int(IntType::INT))?;
/// let t = called.add_variable("t", ClassicalType::FLOAT)?;
/// let (k, t) = (called.scalar(k)?, called.scalar(t)?);
/// let one = ketgrad::circuit::Condition::Bit { bit: 0, value: true };
/// called.for_range(k, 1, n + 3, |circuit| {
///     circuit.h(0)?.measure(0, 0)?;
///     circuit.if_else(one, |circuit| circuit.store(n, n + 2), |circuit| {
///         circuit.if_else(k.equals(3), |circuit| circuit.break_out(1), |circuit| circuit.store(t, t - 0.5))
///     })?;
///     circuit.rz(0, -t / 2)
/// })?;
/// assert_eq!(written, called);
/// # Ok::<(), CircuitError>(())
/// ```
///
/// # Rust inside
///
/// `for pattern in expression { … }`, `if condition { … } else if let … { … } else { … }` and
/// `{ … }` contain statements of the circuit and are decided while it is built. `let …;`, `break;`,
/// `continue;` and calls of macros (`assert!(n > 1);`) are Rust's own. Anything else fits between
/// the braces of `do |c| { … }`, a block of Rust in which `c` is the circuit so far, an
/// `&mut Circuit`:
///
/// ```
/// # use ketgrad::{Circuit, circuit, circuit::CircuitError};
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
/// Words that are no gate, missing or extra operands and angles (by rustc, at the word), statements
/// that end without `;` or are none of the above (by the macro, with the statement in the message):
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
/// A statement takes one level of rustc's limit of 128 nested macros, but statements are read in
/// pieces, so a body may have some 500 of them before `#![recursion_limit = "256"]` is needed.
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
        $crate::circuit::Circuit::build(n_qubits, |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })
    }};
    (qubits $n:expr ; $($body:tt)*) => {
        $crate::circuit::Circuit::build($n, |circuit| {
            $crate::__body! { circuit $($body)* }
            ::core::result::Result::Ok(circuit)
        })
    };
    (qubits $($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: expected `qubits n;` or `qubits name[size], …;`, then statements, not `qubits ",
            ::core::stringify!($($rest)*),
            "`"
        ))
    };
    ($($rest:tt)*) => {
        ::core::compile_error!(::core::concat!(
            "circuit!: begins with `qubits n;` or `qubits name[size], …;`, not `",
            ::core::stringify!($($rest)*),
            "`"
        ))
    };
}
