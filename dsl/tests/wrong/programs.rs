//! Wrong programs, one a module, with a part of the message that is expected there. Not compiled by
//! cargo.
#![allow(unused)]
use ketgrad::program;

mod a01 { ketgrad::program! { fn f(x) { sine(x) } } } //~ cannot find function `sine`
mod a02 { ketgrad::program! { fn f(x) { x * y } } } //~ cannot find value `y`
mod a03 { ketgrad::program! { fn f(x, n: int) { x * n } } } //~ cannot multiply
mod a04 { ketgrad::program! { fn f(x) { let y = 1.0; y = x; y } } } //~ cannot borrow `y` as mutable
mod a05 { ketgrad::program! { fn f(x) { match x { _ => x } } } } //~ there is no `match`
mod a06 { ketgrad::program! { fn f(x) { loop { return x; } } } } //~ there is no `loop`: write `while true
mod a07 { ketgrad::program! { fn f(a, b) { let c = a < b; a } } } //~ can't compare
mod a08 { ketgrad::program! { fn f(n: integer) { 1.0 } } } //~ cannot find type `integer`
mod a09 { ketgrad::program! { struct P { x, y } fn f(p: P) { p.z } } } //~ no field `z`
mod a10 { ketgrad::program! { fn g(x, n: int) { x } fn f(x) { g(x) } } } //~ takes 2 arguments but 1 argument was supplied
mod a11 { ketgrad::program! { fn g(x, n: int) { x } fn f(x) { g(x, x) } } } //~ this is `ketgrad::program::staged::Ex<f64>`
mod a12 { ketgrad::program! { fn f(x) { if x { 1.0 } else { 2.0 } } } } //~ this is `ketgrad::program::staged::Ex<f64>`
mod a13 { ketgrad::program! { fn f(z: complex) { if z < 1.0 { 1.0 } else { 2.0 } } } } //~ cannot be compared in a program
mod a14 { ketgrad::program! { fn f(x) { (x, x) } } } //~ this is `(ketgrad::program::staged::Ex<f64>, ketgrad::program::staged::Ex<f64>)`
mod a15 { ketgrad::program! { fn f(z: complex) { z } } } //~ this is `ketgrad::program::staged::Ex<ketgrad::num_complex::Complex<f64>>`
mod a16 { ketgrad::program! { fn f(xs: array) { for x in xs { } 1.0 } } } //~ a loop runs over a range `a..b` or `a..=b`
mod a17 { ketgrad::program! { fn f(x) { let y = if x > 0.0 { x }; y } } } //~ an `if` that is a value needs an `else`
mod a18 { ketgrad::program! { fn f(x) { let y; y } } } //~ `let y;` has no value
mod a19 { ketgrad::program! { fn f(x) { return; } } } //~ `return` needs a value
mod a20 { ketgrad::program! { fn f(x) { break; x } } } //~ `break` outside of a loop
mod a21 { ketgrad::program! { fn f(xs: array) { xs[0.5] } } } //~ expected a value of kind
mod a22 { ketgrad::program! { fn f(n: int) { sin(n) } } } //~ is no real or complex number
mod a23 { ketgrad::program! { rule f(x, n: int) { x } pullback(x, n, y, b) { (b, b) } } } //~ expected a cotangent
mod a24 { ketgrad::program! { rule f(x) { x } pullback(x, b) { b } } } //~ a pullback takes the inputs, the result and its cotangent
mod a25 { ketgrad::program! { let x = 1.0; } } //~ expected `fn name(x, n: int) -> kind
mod a26 { ketgrad::program! {} } //~ expected a function such as
mod a27 { ketgrad::program! { fn f(x) { x ^ 2 } } } //~ no implementation for
mod a28 { ketgrad::program! { fn f(x) { let y = if x > 0.0 { x } else { true }; y } } } //~ type mismatch resolving
mod a29 { ketgrad::program! { fn f(x) { x.sine() } } } //~ no method named `sine`
mod a30 { ketgrad::program! { fn f(x) { let mut xs = [x, 1.0]; xs[0] = true; xs[0] } } } //~ mismatched types
mod a31 { ketgrad::program! { fn f(x) { let y: int = x; 1.0 } } } //~ this is `ketgrad::program::staged::Ex<f64>`
mod a32 { ketgrad::program! { fn f(x) { let y = x } } } //~ is a `;` missing?
mod a33 { ketgrad::program! { fn f(x) { x * (1 / 2) } } } //~ a quotient of int literals such as `1 / 2` is 0 in Rust
mod a34 { ketgrad::program! { fn f(a, b) { let c = a == 1; a } } } //~ a comparison is allowed only in the condition of an `if` or a `while`
mod a35 { ketgrad::program! { fn f(x) { if x > 0.0 x } } } //~ expected a block `{ … }` after
mod a36 { ketgrad::program! { use geometry::{a, b}; fn f(x) { x } } } //~ expected `use path::to::function;`
mod a37 { ketgrad::program! { fn f(x) { abs({ let mut t = x; t += 1.0; t }) } } } //~ a block inside an expression
mod a38 { ketgrad::program! { fn f(a: array) -> array { matmul(a, 2.0) } } } //~ is no array of real or complex numbers
mod a39 { ketgrad::program! { fn f(a: array, n: int) -> array { a + n } } } //~ is no real or complex number
mod a40 { ketgrad::program! { fn f(a: array<complex>) { maximum(a) } } } //~ expected a value of kind
mod a41 { ketgrad::program! { fn f(a: array) { a + 1.0 } } } //~ expected a value of kind
mod a42 { ketgrad::program! { fn f(a: array) { let mut b = a; sum(b) + b[0] } } } //~ borrow of moved value
mod a43 { ketgrad::program! { fn g(n: int, x) { x } fn f(x) { g::grad(1, x) } } } //~ `i64` has no derivative
mod a44 { ketgrad::program! { fn g(x) -> (real, real) { (x, x) } fn f(x) { g::grad(x) } } } //~ take functions that return a real number
mod a45 { ketgrad::program! { fn g(x: complex) { re(x) } fn f(x) { g::hessian(x) } } } //~ whose first parameter is a real number or an array
mod a46 { ketgrad::program! { fn g(x, n: int) { x } fn f(x) { g::jvp(x, 1, x, x).0 } } } //~ this function takes 3 arguments but 4 arguments were supplied
mod a47 { ketgrad::program! { fn g(x, y) { x } fn f(x) { g::vjp(x, x, 1.0) + x } } } //~ cannot add
mod a48 { ketgrad::program! { fn g(x) { x } fn f(x) { g::gradient(x) } } } //~ cannot find function `gradient` in module `g`
mod a49 { ketgrad::program! { struct P { n: int, x } fn g(p: P) { p.x } fn f(x) { let p = P { n: 1, x }; g::grad(p).x } } } //~ has no derivative
mod a50 { ketgrad::program! { fn f(x: array<) { x } } } //~ expected
mod a51 { ketgrad::program! { fn f(x = 1) { x } } } //~ expected parameters such as `(x, n: int)`
mod a52 { ketgrad::program! { fn g(n: int) -> int { n } fn f(x) { g::jvp(1, 1) } } } //~ cannot find function `jvp` in module `g`
