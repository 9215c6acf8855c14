//! Rust out: what is emitted compiles, without warnings, and computes what the executor computes,
//! bit by bit.
//!
//! All programs of the corpus and many random ones go, with their gradients, into one file that one
//! call of the compiler builds.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fmt::Write, path::Path, process::Command, sync::Arc};

use ketgrad_core::{
    adjoint,
    emit::emit_rust,
    entity::FuncId,
    exec::{Bytecode, Datum, Executable, Host, HostError, Limits, Machine},
    ir::{self, Element, Function, Kind, Op, Primitive, Program},
    pass::{Level, optimize_all},
    rules::Rules,
    text::{parse_program, parse_program_with},
};
use num_complex::Complex;

use crate::programs::{Dice, Generator};

type Value = Datum<Complex<f64>>;

/// Programs by what they show; the entry is `f`.
const CORPUS: &[(&str, &str, &str)] = &[
    // Cotangents shorter than their arrays, in results that have a name, and in fields.
    ("named", "fn f(x, a: array) { let y = sin(x) + x; x * sin(y) + x * x + a[0] }", "r0.5 a1,2,3"),
    (
        "fields",
        "struct P { w: array, b, n: int } fn g(p: P, x) { p.w[0] * x + p.b }
         fn f(w: array, c: array, x) { let p = P { w: w, b: x, n: 4 }; let y = sin(x) + x; g(p, x) * x * sin(y) + c[1] }",
        "a1,2,3 a0.5,0.7,0.9 r0.3",
    ),
    // Left from two loops at once, where the counter of the inner one is still asked for.
    (
        "counters",
        "fn f(x, n: int) { for i in 0..n { for j in 0..3 { if x > real(j) { if j > i { return x; } else { return 2.0 * x; } } } } x * x }",
        "r0.5 i3",
    ),
    ("signs", "fn f(x) { let y = -x; let q = if x > 1 { x } else { 2.0 }; -y * x * -2.0 }", "r0.5"),
    // Names of the small functions, integers of 64 bits, arrays of literals, powers by integers of
    // every size.
    ("own_names", "fn at_full_length(x, a: array) { x * a[0] } fn f(x, a: array) { at_full_length(x, a) * x }", "r0.5 a1,2"),
    (
        "own_types",
        "struct Clone { str, u64 } struct str { a: array } struct Vec { type, type_: int, f64 } struct Option { x } struct f64 { x }
         struct i32 { x: int } struct Default { z: complex } struct Array { x } struct Complex { re } struct Iterator { x } struct std { x }
         struct Box { x } struct Tape { x } struct Number { c: bool } struct Some { x } struct Self { x } struct usize { n: int }
         struct All { c: Clone, s: str, v: Vec, o: Option, f: f64, i: i32, d: Default, a: Array, z: Complex, t: Iterator, p: std,
             b: Box, k: Tape, w: Number, q: Some, u: Self, n: usize }
         fn drop(p: All, n: int) {
             if n < 1 { return p.c.str * p.s.a[0] + p.v.type * p.d.z.re() + p.o.x + p.f.x + p.a.x + p.z.re + p.t.x + p.p.x + p.b.x + p.k.x + p.q.x; }
             let mut q = p; q.c.str *= 0.5; q.s.a[1] += q.c.u64; q.v.type_ += q.i.x; drop(q, n - 1) * p.s.a[1]
         }
         fn f(x, a: array, i32: int) {
             let all = All { c: Clone { str: x, u64: 2 }, s: str { a: a }, v: Vec { type: x, type_: 1, f64: x }, o: Option { x: x }, f: f64 { x: x },
                 i: i32 { x: 1 }, d: Default { z: complex(x, 1) }, a: Array { x: x }, z: Complex { re: x }, t: Iterator { x: x }, p: std { x: x },
                 b: Box { x: x }, k: Tape { x: x }, w: Number { c: true }, q: Some { x: x }, u: Self { x: x }, n: usize { n: i32 } };
             drop(all, i32)
         }",
        "r0.5 a1,2 i3",
    ),
    ("long", "fn f(x, n: int) { if n < 3000000000 { real(5000000000) * x } else { powi(x, 4294967296 - 1) } }", "r0.5 i5"),
    ("literals", "fn f(x, n: int) { let a = [1.0, 2.0]; sin(a[n]) * x + sqrt([0.5][0]) * sqrt(sum(a)) }", "r0.5 i1"),
    (
        "powers",
        "fn f(x, y, n: int) { powi(x, n) + powi(y, 3) + powi(y, -2) + powi(x, 17) + powi(y, n - 7) + powi(0.99999999 + x * 1e-12, 2147483648) }",
        "r0.9 r1.3 i40",
    ),
    (
        "quotients",
        "fn f(x, y) { re(complex(x * 1e160, y) / complex(1e160, 2e160 * y)) + im(complex(x, y * 1e-170) / complex(1e-170 * x, y * 1e-170) / complex(1e170, 0)) }",
        "r0.9 r1.3",
    ),
    ("quotient", "fn f(a, b) { a / (1 + b * b) }", "r1 r2"),
    (
        "arith",
        "fn f(x, y, n: int) { let mut s = x; for i in 0..n { s = s * 0.999 + x * y; } s }",
        "r0.3 r0.7 i50",
    ),
    (
        "branchy",
        "fn f(x, y, n: int) { let mut s = x; for i in 0..n { if s > 1 { s *= 0.5; } else { s += x * y; } } s }",
        "r0.3 r0.7 i50",
    ),
    (
        "trig",
        "fn f(x, y, n: int) { let mut s = x; for i in 0..n { s = sin(s) * y + x; } s }",
        "r0.3 r0.7 i50",
    ),
    (
        "newton",
        "fn f(a) { let mut x = a; for i in 0..50 { let y = 0.5 * (x + a / x); let d = y - x; x = y; if d * d < 1e-24 { break; } } x }",
        "r2",
    ),
    (
        "early",
        "fn f(x) { for i in 0..10 { if real(i) * x > 3.5 { return x * x; } if i == 7 { continue; } } 10 * x }",
        "r1",
    ),
    (
        "nested",
        "fn f(x, n: int) { let mut s = x; for i in 0..n { for j in i..=n { if s > 100 { break; } if (i + j) % 3 == 0 { continue; } s += x * real(i * j); } if s > 50 { s *= 0.25; } } s }",
        "r1.5 i6",
    ),
    // No counted loops: the end moves, or the counter does.
    (
        "moving",
        "fn f(x, n: int) { let mut end = n; let mut s = x;
         for k in 0..3 { let mut i = 0; while i < end { i += 1; end = end - 1; s = s * 0.9 + x; } end = end + 2; }
         let mut k = 0; while k < n { s = s * x + 1; if s > 1 { k += 1; } k += 1; } s }",
        "r0.7 i6",
    ),
    (
        "moving_end",
        "fn f(x, n: int) { let mut end = n; let mut i = 0; let mut s = x; while i < end { s = s * 0.9 + x; end = end - 1; i += 1; } s }",
        "r0.7 i6",
    ),
    (
        "while",
        "fn f(x, n: int) { let mut r = 1.0; let mut k = n; while k > 0 { r *= x; k -= 1; } r }",
        "r3 i4",
    ),
    (
        "two_tests",
        "fn f(x, n: int) { let mut r = x; let mut k = 0; while k < n && r < 40 { r *= 1.5; k += 1; } r * real(k) }",
        "r1 i30",
    ),
    ("recursion", "fn f(x, n: int) { if n == 0 { 1.0 } else { x * f(x, n - 1) } }", "r3 i4"),
    (
        "mutual",
        "fn even(x, n: int) { if n == 0 { x } else { odd(x * x, n - 1) } } fn odd(x, n: int) { if n == 0 { x + 1 } else { even(sin(x), n - 1) } } fn f(x, n: int) { even(x, n) }",
        "r0.9 i5",
    ),
    (
        "arrays",
        "fn f(xs: array, n: int) { let mut ys = xs; for i in 1..n { ys[i] = ys[i - 1] * xs[i] + sin(ys[i]); } let zs = ys; ys[0] = 7; sum(ys) + zs[0] * ys[n - 1] + real(len(zs)) }",
        "a0.3,0.7,1.1 i3",
    ),
    ("trace", TRACE, "a0.3,0.7,1.1,-2 a5,0.2,-0.7,3 i2"),
    (
        "longer_arrays",
        "fn f(xs: array, ys: array, n: int) { let mut s = 0.0; for i in 0..n { if xs[i] > 0 { s += xs[i] * ys[0]; } } s * xs[3] }",
        "a0.3,-0.7,1.1,-2 a5,0.2 i3",
    ),
    (
        "matrix_vector",
        "fn f(a: array, x: array, n: int) { let mut y = [0.0; n]; for i in 0..n { let mut s = 0.0; for j in 0..n { s += a[i * n + j] * x[j]; } y[i] = tanh(s); } let mut t = 0.0; for i in 0..n { for j in 0..i { t += y[i] * y[j]; if t > 100 { break; } } t += y[i]; } t }",
        "a0.3,0.7,1.1,-2,0.1,0.9,-0.4,0.2,1.3 a0.3,0.1,-0.2 i3",
    ),
    (
        "array_calls",
        "fn scaled(xs: array, k) { let mut ys = xs; for i in 0..len(ys) { ys[i] *= k; } ys } fn f(xs: array, k) { let ys = scaled(xs, k); let zs = scaled(ys, 2 * k); sum(zs) * ys[0] + xs[1] }",
        "a0.3,0.7,1.1 r0.4",
    ),
    (
        "array_of_arrays",
        "fn f(n: int, x) { let mut a = [x; n]; let mut b = [0.5; n]; for i in 0..n { let t = a; a = b; b = t; a[i] += b[i] * x; } sum(a) - sum(b) }",
        "i5 r0.7",
    ),
    (
        "structs",
        "struct P { u, v } fn turn(p: P, k) { P { u: p.u * k - p.v, v: p.v * k + p.u } } fn f(p: P, n: int) { let mut q = p; for i in 0..n { q = turn(q, 0.9); } q.u * q.v }",
        "(r0.3,r0.7) i6",
    ),
    (
        "mixed_struct",
        "struct Q { k: int, x, on: bool } fn g(q: Q) { if q.on { q.x * real(q.k) } else { q.x } } fn f(q: Q, y) { g(q) * y + g(Q { k: q.k + 1, x: y, on: !q.on }) }",
        "(i3,r0.7,b1) r0.2",
    ),
    (
        "tuples",
        "fn g(a, b) { (a * b, a + b, 3) } fn f(a, b) { let (p, q, k) = g(a, b); let t = g(p, q); t.0 * real(k) + t.1 }",
        "r0.3 r0.7",
    ),
    (
        "swap",
        "fn f(a, b, n: int) { let mut x = a; let mut y = b; for i in 0..n { let t = x; x = y; y = t + 0.5 * y; } x * x - y }",
        "r0.3 r0.7 i5",
    ),
    (
        "every_op",
        "fn f(a, b) { cbrt(a) + exp_m1(a) + ln_1p(a) + log2(b) + log10(b) + tan(a) + asin(a) + acos(a) + atan(b) + sinh(a) + cosh(b) + tanh(a) + asinh(b) + acosh(1 + b) + atanh(a) + sqrt(b) + recip(b) + pow(b, a) + powi(b, 3) + powi(a, -2) + abs(-b) + sign(a) + floor(b) + ceil(a) + round(b) + trunc(b) + detach(a) * a + atan2(a, b) + hypot(a, b) + min(a, b) * max(a, b) + rem(b, a) + (-b) * -2.0 }",
        "r0.3 r0.7",
    ),
    (
        "edges",
        "fn f(a, b) { let c = abs(a) + sqrt(a) + hypot(a, a) + min(a, a) + select(a > 0, ln(a), b); c + pow(a, 0) + powi(a, 0) }",
        "r0 r0.7",
    ),
    (
        "ints",
        "fn f(x, n: int) { let mut k = 1; for i in 1..n { k = max(k * i % 1000, i) - min(i, 3) / 2; } x * real(k) + real(-k) }",
        "r0.3 i12",
    ),
    (
        "int_quotients",
        "fn f(x, n: int) { let (k, m, d) = (7, 0, 2); if n > 3 { real(k / m + k % m) * x } else { x * real(k / d - k % d + n / d + n % -1 + -k / 2) } }",
        "r0.3 i3",
    ),
    ("constants", "fn f(x) { sin(2.0) * x + exp(-0.5) + pow(2.0, 0.5) + 1e300 * x - 1e-300 }", "r0.3"),
    (
        "names",
        "fn fn_(a) { a } fn scale_(let_, i, sin_) { let_ * i + sin_ } fn f(i, y_bar, tape) { scale_(i, y_bar, tape) * fn_(tape) }",
        "r0.3 r0.7 r0.2",
    ),
    (
        "special",
        "fn f(x, y, n: int) { sigmoid(x) * softplus(y) + logaddexp(x, y) * digamma(x - 1) + polygamma(n, y) * polygamma(1, x) }",
        "r0.3 r1.7 i2",
    ),
    (
        "early_loop",
        "fn f(x, y) { let mut s = x; while true { s = s * y + 1; if s > 20 { return s * s; } if s < -5 { break; } } s - x }",
        "r1.3 r1.7",
    ),
    (
        "complex",
        "fn f(z: complex, x) { let w = z * z + x; let v = sin(w) / (exp(z) + ln(w) * sqrt(z)) - conj(z) * powi(z, 3) + pow(w, complex(0.3, 0.1)); abs2(v) + arg(w) + abs(z) + re(v) * im(w) }",
        "z0.3,0.7 r0.2",
    ),
    (
        "complex_ops",
        "fn f(z: complex) { let w = cbrt(z) + exp_m1(z) + ln_1p(z) + log2(z) + log10(z) + cos(z) + tan(z) + asin(z) + acos(z) + atan(z) + sinh(z) + cosh(z) + tanh(z) + asinh(z) + acosh(z) + atanh(z) + recip(z) + powi(z, -3); re(w * w) + im(w) }",
        "z0.3,0.7",
    ),
    (
        "complex_loop",
        "fn f(z: complex, n: int) { let mut w = z; let mut ws = [z; n]; for i in 0..n { w = w * z + complex(0.1, real(i)); ws[i] = w; } abs2(sum(ws)) }",
        "z0.3,0.7 i4",
    ),
    (
        "rules",
        "rule soft(x) { ln(1.0 + exp(x)) } pullback(x, y, y_bar) { y_bar / (1.0 + exp(-x)) } fn f(x, n: int) { let mut s = x; for i in 0..n { s = soft(s) * x; } s }",
        "r0.3 i4",
    ),
    (
        "select",
        "fn f(xs: array, ys: array, c: bool) { let zs = select(c, xs, ys); sum(zs) * select(c && xs[0] > 0, xs[1], ys[0]) }",
        "a0.3,0.7 a1,2 b1",
    ),
    (
        "return_at_the_end_of_a_loop",
        "fn g(a, b) { let n = len([0.0, 1.0]); let mut k = 0; while k < 1 && n == n { k += 1; for i in 0..2 { } } a } fn f(a, b) { for i in 0..2 { if b == g(a, b) { return a * b; } } g(a, b) - b }",
        "r0.3 r0.7",
    ),
    (
        "literals_of_no_type",
        "fn f(a, n: int) { let xs = [1.0, -2.0, 0.5]; let y = 0.1 + 0.2; let (p, q) = select(n > 0, (1.0, 2.0), (3.0, 4.0)); let z = select(n > 1, complex(0.1, 0.2), complex(1.0, 2.0)); abs(xs[n]) * a + pow(y, a) + sin(p) * cos(q) + abs(select(a > 1, 1.5, -2.5)) + sqrt([0.5; 3][n]) + abs(z) }",
        "r0.3 i2",
    ),
    (
        "own_elements",
        "fn f(x, n: int) { let mut p = [n, 0, 2]; p[p[0]] = 2; let mut q = [x, x, real(n) * x]; q[p[0]] = q[p[1]] * q[0]; let changed_at = q[0]; q[1] * changed_at + real(p[1]) * q[2] }",
        "r0.3 i1",
    ),
    ("from_a_length", "fn f(x) { let mut v = [x]; for i in len(v)..3 { v[0] *= x; } v[0] }", "r2"),
    (
        "counters_elsewhere",
        "struct S { u } fn f(x, z) { while z > x { if x < z { return x; } } let mut v = S { u: x }; for i in 0..3 { v.u = 1.0; for j in 1..2 { } } for w in 0..4 { v.u = 8.0; } v.u }",
        "r0.3 r0.2",
    ),
    (
        "one_element",
        "fn f(xs: array, i: int) { if i > 0 { xs[i] * xs[i] } else { 1.0 } }",
        "a0.3,0.7,1.1,2.5 i1",
    ),
    (
        "no_element",
        "fn f(xs: array, i: int) { if i > 0 { xs[i] * xs[i] } else { 1.0 } }",
        "a0.3,0.7,1.1,2.5 i0",
    ),
];

/// Arrays changed by what is read from them, as in derivatives.
const CHANGES: &[(&str, &str, &str)] = &[
    (
        "grown_by_itself",
        "fn f(xs, n) -> real {
        block0(v0: array<real>, v1: int):
            v2: real = get v0, v1
            v3: int = int 5
            v4: array<real> = fill v2, v1
            v5: real = peek v4, v1
            v6: array<real> = add_at v4, v3, v5
            v7: int = int 0
            v8: real = peek v6, v7
            v9: array<real> = put v6, v1, v8
            v10: real = sum v9
            return v10
        }",
        "a0.3,0.7,1.1 i2",
    ),
    (
        "complex_by_itself",
        "fn f(zs, n) -> real {
        block0(v0: array<complex>, v1: int):
            v2: complex = get v0, v1
            v3: int = len v0
            v4: array<complex> = fill v2, v3
            v5: complex = get v4, v1
            v6: array<complex> = add_at v4, v1, v5
            v7: complex = sum v6
            v8: real = abs2 v7
            return v8
        }",
        "c0.3,0.7,1.1 i2",
    ),
];

/// The trace of a product of matrices.
const TRACE: &str = "fn f(a: array, b: array, n: int) { let mut s = 0.0; for i in 0..n { for j in 0..n { s += a[i * n + j] * b[j * n + i]; } } s }";

/// `r0.5 i3 b1 z1,2 a1,2,3 (r1,r2)`.
fn datum(text: &str) -> Value {
    let number = |s: &str| s.parse::<f64>().unwrap();
    let rest = &text[1..];
    match &text[..1] {
        "r" => Datum::Real(number(rest)),
        "i" => Datum::Int(rest.parse().unwrap()),
        "b" => Datum::Bool(rest == "1"),
        "z" => {
            let (re, im) = rest.split_once(',').unwrap();
            Datum::Complex(Complex::new(number(re), number(im)))
        }
        "a" => Datum::reals(rest.split(',').map(number)),
        "c" => Datum::complexes(rest.split(',').map(|x| Complex::new(number(x), 0.3 - number(x)))),
        "m" => {
            let (shape, items) = rest.split_once(':').unwrap();
            let shape: Vec<usize> = shape.split('x').map(|n| n.parse().unwrap()).collect();
            Datum::reals_of(&shape, items.split(',').map(number).collect()).unwrap()
        }
        _ => Datum::Tuple(rest.trim_end_matches(')').split(',').map(datum).collect()),
    }
}

/// A value in Rust.
fn rust(value: &Value, kind: &Kind, param: bool, shaped: bool) -> String {
    if shaped {
        let (shape, items) = match value {
            Datum::Reals(xs) => (xs.shape(), rust(value, kind, false, false)),
            Datum::Complexes(zs) => (zs.shape(), rust(value, kind, false, false)),
            Datum::Ints(ns) => (ns.shape(), rust(value, kind, false, false)),
            _ => return rust(value, kind, param, false),
        };
        return format!(
            "{}Array::new(&{:?}, {items})",
            if param { "&" } else { "" },
            shape.as_slice()
        );
    }
    match (value, kind) {
        (Datum::Real(x), _) => format!("f64::from_bits({})", x.to_bits()),
        (Datum::Complex(z), _) => {
            format!(
                "Complex::new(f64::from_bits({}), f64::from_bits({}))",
                z.re.to_bits(),
                z.im.to_bits()
            )
        }
        (Datum::Int(n), _) => n.to_string(),
        (Datum::Bool(b), _) => b.to_string(),
        (Datum::Handle(h), _) => h.to_string(),
        (Datum::Reals(xs), _) => {
            let items: Vec<String> =
                xs.iter().map(|x| format!("f64::from_bits({})", x.to_bits())).collect();
            format!("{}[{}]", if param { "&" } else { "vec!" }, items.join(", "))
        }
        (Datum::Complexes(xs), _) => {
            let items: Vec<String> =
                xs.iter().map(|z| rust(&Datum::Complex(*z), kind, false, false)).collect();
            format!("{}[{}]", if param { "&" } else { "vec!" }, items.join(", "))
        }
        (Datum::Ints(xs), _) => format!("{}{:?}", if param { "&" } else { "vec!" }, xs.items()),
        (Datum::Tuple(fields), Kind::Tuple(t)) => {
            let items = fields.iter().zip(&t.fields).map(|(v, f)| {
                let value = rust(v, &f.kind, false, false);
                f.name.as_ref().map_or(value.clone(), |n| format!("{n}: {value}"))
            });
            let items: Vec<String> = items.collect();
            match &t.name {
                Some(name) => format!("{name} {{ {} }}", items.join(", ")),
                None => format!("({},)", items.join(", ")),
            }
        }
        other => panic!("{other:?}"),
    }
}

/// Rust that prints the bits of a value.
fn show(path: &str, kind: &Kind, out: &mut String) {
    match kind {
        Kind::Real => writeln!(out, "bits({path});").unwrap(),
        Kind::Complex => writeln!(out, "bits({path}.re); bits({path}.im);").unwrap(),
        Kind::Int | Kind::Bool | Kind::Handle => {
            writeln!(out, "println!(\"{{}}\", {path} as i64);").unwrap()
        }
        Kind::Array(e) => {
            writeln!(out, "println!(\"{{}}\", {path}.len()); for &x in {path}.iter() {{").unwrap();
            show("x", &e.kind(), out);
            out.push_str("}\n");
        }
        Kind::Tuple(t) => {
            for (k, f) in t.fields.iter().enumerate() {
                let name = f.name.clone().unwrap_or_else(|| k.to_string());
                show(&format!("{path}.{name}"), &f.kind, out);
            }
        }
    }
}

/// The same lines from the executor's value.
fn expected(value: &Value, out: &mut Vec<String>) {
    let mut bits =
        |x: f64| out.push(if x.is_nan() { "NaN".into() } else { x.to_bits().to_string() });
    match value {
        Datum::Real(x) => bits(*x),
        Datum::Complex(z) => [z.re, z.im].into_iter().for_each(bits),
        Datum::Int(n) => out.push(n.to_string()),
        Datum::Bool(b) => out.push(i64::from(*b).to_string()),
        Datum::Handle(h) => out.push(h.to_string()),
        Datum::Reals(xs) => {
            out.push(xs.len().to_string());
            xs.iter().for_each(|x| expected(&Datum::Real(*x), out));
        }
        Datum::Complexes(xs) => {
            out.push(xs.len().to_string());
            xs.iter().for_each(|x| expected(&Datum::Complex(*x), out));
        }
        Datum::Ints(xs) => {
            out.push(xs.len().to_string());
            xs.iter().for_each(|x| expected(&Datum::Int(*x), out));
        }
        Datum::Tuple(fields) => fields.iter().for_each(|f| expected(f, out)),
    }
}

/// Extends the cotangents of arrays, which may be shorter than these, with zeros.
fn at_full_length(gradient: &mut Value, f: &Function, args: &[Value]) {
    let Datum::Tuple(fields) = gradient else { panic!("{gradient:?}") };
    let of = args.iter().zip(&f.params).filter(|(_, p)| p.kind.is_differentiable());
    fields[1..].iter_mut().zip(of).for_each(|(bar, (x, p))| lengthen(bar, x, &p.kind));
}

fn lengthen(bar: &mut Value, of: &Value, kind: &Kind) {
    match (&mut *bar, of, kind) {
        (Datum::Reals(bars), Datum::Reals(x), _) => {
            let zeros = std::iter::repeat_n(0.0, x.len() - bars.len());
            *bar = Datum::reals(bars.iter().copied().chain(zeros));
        }
        (Datum::Complexes(bars), Datum::Complexes(x), _) => {
            let zeros = std::iter::repeat_n(Complex::default(), x.len() - bars.len());
            let all: Vec<Complex<f64>> = bars.iter().copied().chain(zeros).collect();
            *bar = Datum::Complexes(Arc::new(all.into()));
        }
        (Datum::Tuple(bars), Datum::Tuple(xs), Kind::Tuple(t)) => {
            let of = xs.iter().zip(&t.fields).filter(|(_, f)| f.kind.is_differentiable());
            bars.iter_mut().zip(of).for_each(|(bar, (x, f))| lengthen(bar, x, &f.kind));
        }
        _ => {}
    }
}

/// `energy(h, x) = (h + 2) x^2` and its pullback, outside of the program.
struct Energy;
impl Host<Complex<f64>> for Energy {
    fn call(&self, p: &Primitive, args: &[Value]) -> Result<Value, HostError> {
        match (p.name.as_str(), args) {
            ("energy", [Datum::Handle(h), Datum::Real(x)]) => {
                Ok(Datum::Real(f64::from(*h + 2) * x * x))
            }
            ("energy_back", [Datum::Handle(h), Datum::Real(x), _, Datum::Real(y)]) => {
                Ok(Datum::Tuple(vec![Datum::Real(2.0 * f64::from(*h + 2) * x * y)]))
            }
            _ => Err(HostError::unknown(p)),
        }
    }
}
const ENERGY: &str = "struct Energy;
impl Primitives for Energy {
    fn energy(&self, h: u32, x: f64) -> f64 { f64::from(h + 2) * x * x }
    fn energy_back(&self, h: u32, x: f64, _: f64, y: f64) -> (f64,) { (2.0 * f64::from(h + 2) * x * y,) }
}\n";

/// One file: a module for each program, and the lines it should print.
#[derive(Default)]
struct File {
    modules: String,
    main: String,
    expected: Vec<(String, Vec<String>)>,
    /// Arrays have shapes, and numbers may differ in the last digits: sums are taken in another
    /// order.
    shaped: bool,
}

impl File {
    fn add(
        &mut self,
        name: &str,
        program: &Program,
        args: &[Value],
        levels: &[Level],
        second: bool,
    ) {
        for (k, &level) in levels.iter().enumerate() {
            let module = format!("{name}_{k}");
            let mut p = program.clone();
            let f = p.lookup("f").unwrap();
            let g = adjoint::gradient(&mut p, f).unwrap();
            let mut roots = vec![f, g];
            if second {
                roots.push(adjoint::hessian_vector(&mut p, f).unwrap());
                roots.push(adjoint::second(&mut p, f).unwrap());
            }
            roots.iter().for_each(|&r| optimize_all(&mut p, r, level));
            let text = emit_rust(&p, &roots).unwrap_or_else(|e| panic!("{module}: {e}\n{p}"));
            let host = text.contains("trait Primitives");
            writeln!(self.modules, "mod {module} {{\n{text}").unwrap();
            if host {
                self.modules.push_str(ENERGY);
            }
            self.modules.push_str("use super::bits;\npub fn run() {\n");
            let mut lines = Vec::new();
            for &root in &roots {
                self.call(&p, root, args, host, &mut lines);
            }
            self.modules.push_str("}\n}\n");
            writeln!(self.main, "println!(\"#{module}\"); {module}::run();").unwrap();
            self.expected.push((module, lines));
        }
    }

    fn call(
        &mut self,
        p: &Program,
        root: FuncId,
        args: &[Value],
        host: bool,
        lines: &mut Vec<String>,
    ) {
        let function = &p.functions[root];
        let mut args = args.to_vec();
        // Directions and weights of second derivatives: one everywhere.
        for param in &function.params[args.len()..] {
            args.push(ones(&param.kind));
        }
        let code = Bytecode::compile(p, root).unwrap();
        let mut value = code.call(&mut Machine::new(), &Energy, &Limits::default(), &args).unwrap();
        match &mut value {
            // The pushforward of a gradient gives two of them.
            Datum::Tuple(both) if function.name.ends_with(".pushforward") => {
                both.iter_mut().for_each(|part| at_full_length(part, function, &args));
            }
            _ if function.name.ends_with(".gradient") || function.name.ends_with(".pullback") => {
                at_full_length(&mut value, function, &args);
            }
            _ => {}
        }
        expected(&value, lines);
        let given =
            args.iter().zip(&function.params).map(|(a, q)| rust(a, &q.kind, true, self.shaped));
        let given: Vec<String> =
            host.then(|| "&Energy".to_owned()).into_iter().chain(given).collect();
        let mut name: String = function.name.replace('.', "_");
        // A name of the language is not taken for another function.
        if Op::by_name(&name).is_some_and(|op| !matches!(op, Op::OnArrays(_))) {
            name.push('_');
        }
        writeln!(self.modules, "let r = {name}({});", given.join(", ")).unwrap();
        show("r", &function.result, &mut self.modules);
    }

    /// Compiles the file and compares what it prints.
    fn check(&self, name: &str) {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let (source, binary) = (folder.join(format!("{name}.rs")), folder.join(name));
        let bits = "fn bits(x: f64) { if x.is_nan() { println!(\"NaN\") } else { println!(\"{}\", x.to_bits()) } }";
        let text = format!(
            "#![deny(warnings)]\n#![allow(dead_code)]\n{bits}\n{}\nfn main() {{\n{}}}\n",
            self.modules, self.main
        );
        std::fs::write(&source, text).unwrap();
        let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
        let mut build = Command::new(rustc);
        build
            .args(["--edition", "2021", "-C", "opt-level=0", "-C", "debug-assertions=off", "-o"])
            .arg(&binary)
            .arg(&source);
        let built = build.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        let ran = Command::new(&binary).output().unwrap();
        let out = String::from_utf8(ran.stdout).unwrap();
        assert!(ran.status.success(), "{}\n{out}", String::from_utf8_lossy(&ran.stderr));
        let mut given = out.lines();
        for (module, lines) in &self.expected {
            assert_eq!(given.next(), Some(format!("#{module}").as_str()));
            for line in lines {
                let next = given.next();
                if self.shaped && next.is_some_and(|next| near(next, line)) {
                    continue;
                }
                assert_eq!(next, Some(line.as_str()), "{module} in {}", source.display());
            }
        }
    }
}

/// True if these are the bits of numbers that differ by rounding.
fn near(a: &str, b: &str) -> bool {
    let number = |s: &str| s.parse().ok().filter(|bits| *bits > 1 << 32).map(f64::from_bits);
    number(a).zip(number(b)).is_some_and(|(a, b)| (a - b).abs() <= 1e-12 * b.abs().max(1.0))
}

/// Programs with operations on whole arrays, each family with its gradient.
const WHOLE: &[(&str, &str, &str)] = &[
    (
        "network",
        "fn f(x: array, w: array, b: array) { let y = tanh(matmul(x, w) + b); mean(y * y) }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 m3x2:0.5,0.1,-0.2,0.7,0.3,0.9 a0.1,-0.3",
    ),
    (
        "elementwise",
        "fn f(a: array, b: array, k) { sum((2 * a - b / (1 + b * b)) * -a + 3 / b - k) + sum(pow(2, a) + powi(b, 3) * max(a, k) + hypot(a, 2) + atan2(k, b) + abs(a) + sqrt(exp(a)) + recip(b)) }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 a1.3,0.6,-0.8 r0.7",
    ),
    (
        "shapes",
        "fn f(a: array, b: array) { let c = concat(transpose(a), reshape(b, [3, -1]), 1); let d = slice(c, 1, 1, 2) * permute(row(insert_axis(a, 0), 0), [1, 0]); sum(d * d) + sum(gather(c, [2, 0, 2]) * 0.5) * sum(tril(matmul(a, transpose(b)), 0)) + sum(triu(d, 1)) + real(dim(c, 1) + len(shape(c))) + c[1, 2] }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 m2x3:1.3,0.6,-0.8,0.25,-1.2,0.5",
    ),
    (
        "reductions",
        "fn f(a: array, b: array) { let s = sum(sum_axis(a, 0) * mean_axis(b, 0)) + prod(a) + norm(b) + logsumexp(a * b); s + sum(softmax(a, 1) * cumsum(b, 0)) + sum(logsumexp_axis(b, 1)) * maximum(a) - minimum(b) + sum(sort(row(a, 0)) * b) + real(argmax(a)) }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 m2x3:1.3,0.6,-0.8,0.25,-1.2,0.5",
    ),
    (
        "compared",
        "fn f(x, a: array) {
             let k = argsort(a); let n = [9007199254740993, 9007199254740992, 3];
             sum(masked(k >= 1, a * x, a)) + sum((n == 9007199254740992) * a) + sum((a < x) * a) + x * cmp(n[0], n[1])
         }",
        "r0.5 a1,0.25,3",
    ),
    (
        "random",
        "fn f(x: array, n: int) { let (a, b) = split(key(n)); sum(x * randn(a, [3])) + sum(rand(fold_in(b, n), [2, n]) * sum(x * x)) }",
        "a0.3,-0.7,1.1 i4",
    ),
    (
        "axes",
        "fn f(a: array, b: array) { let c = cumprod(a, 1) * flip(b, 0) + linear_recurrence(slice(a, 1, 0, 2), slice(b, 1, 1, 2), 1); sum(c * c) + sum(prod_axis(a, 0) * maximum_axis(b, 0)) + sum(minimum_axis(a, 1) * norm_axis(b, 1)) + var(a) * std(b) + sum(var_axis(a, 0) * std_axis(b, 0)) + sum(gather_along(a, [2, 0], 1) * gather_along(b, argmin_axis(a, 1), 1)) + real(argmax_axis(b, 0)[1]) + sum(scatter_along([a[0], b[1]], a, [1, 2], 1) * b) }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 m2x3:1.3,0.6,-0.8,0.25,-1.2,0.5",
    ),
    (
        "products",
        "fn f(a: array, b: array) { let c = einsum(a, b, [0, 1], [2, 1], [0, 2]); dot(a, b) * trace(c) + sum(kron(a, c)) + sum(outer(row(a, 0), row(b, 1)) * 2) + trace(matmul(c, c)) + sum(matvec(a, row(b, 0))) }",
        "m2x3:0.3,-0.7,1.1,0.9,0.2,-0.4 m2x3:1.3,0.6,-0.8,0.25,-1.2,0.5",
    ),
    (
        "linear",
        "fn f(m: array, v: array) { let spd = matmul(m, transpose(m)) + eye(2); dot(solve(spd, v), v) + det(m) * logabsdet(spd) + sum(cholesky(spd)) + sum(matvec(inv(spd), v)) + sum(diagonal(spd) * v) }",
        "m2x2:0.8,-0.3,0.4,1.2 a0.7,-0.2",
    ),
    ("singular", "fn f(m: array, a: array) { det(m) * a[0] + a[1] }", "m3x3:4,2,1,2,5,3.5,2,3,2 a1.5,0.25"),
    (
        "bent",
        "fn f(m: array) { let c = cofactors(m); sum(c * c) + sum(cofactors_along(m, m * m)) + det(m * m) }",
        "m3x3:4,2,1,2,5,3.5,1,3,2",
    ),
    ("bent_pair", "fn f(m: array) { sum(cofactors_along(m, m * m)) * det(m) }", "m2x2:4,2,1,2.5"),
    (
        "signals",
        "fn f(a: array, b: array) { let c = convolve(a, b); dot(c, c) + sum(correlate(a, b) * step(row([c, c], 0), 0.1)[0]) }",
        "a0.5,-1,2 a1,0.3",
    ),
    (
        "complex",
        "fn f(z: array<complex>, x: array) { let m = reshape(z * x, [2, 2]); let y = matmul(m, conj(m)) / complex(0.5, 2); sum(abs2(y)) + norm(z) + re(det(m)) + sum(abs(solve(m, z[0] * full(1, [2])))) + sum(im(exp(complex(x, 0.5)))) }",
        "c0.5,-1,2,0.7 a0.3,0.9,-0.4,1",
    ),
    (
        "spectra",
        "fn f(m: array, v: array) { let h = m + transpose(m); sum(eigvalsh(h) * v) + sum(matmul(eigvecsh(h), m) * m) + sum(expm(m) * m) }",
        "m3x3:0.8,-0.3,0.4,1.2,0.1,-0.7,0.5,0.9,2.5 a0.7,-0.2,1.1",
    ),
    (
        "complex_spectra",
        "fn f(z: array<complex>, v: array) { let m = reshape(z, [3, 3]); sum(eigvalsh(m) * v) + sum(abs2(eigvecsh(m)) * v) + sum(abs2(qr(m)) * v) + sum(abs2(svd(m)) * v) + sum(svdvals(m) * v) }",
        "c0.8,-0.3,0.4,1.2,0.1,-0.7,0.5,0.9,2.5 a0.7,-0.2,1.1",
    ),
    (
        "orthogonal",
        "fn f(m: array, v: array) { let x = lstsq(m, v); let q = qr_q(m); dot(x, x) + sum(svdvals(m)) + sum(matmul(svd_v(transpose(m)), transpose(svd_u(m))) * matmul(m, transpose(m))) + sum(q * m) + sum(qr_r(m) * matmul(transpose(m), q)) }",
        "m3x2:0.8,-0.3,0.4,1.2,0.1,-0.7 a0.7,-0.2,1.1",
    ),
    (
        "factored",
        "fn f(m: array, v: array) { let w = transpose(m); let x = solve_lower(qr_r(w) + eye(2), lstsq(w, v)); sum(solve_upper(qr_r(w), x)) + sum(pinv(m) * w) + sum(lstsq(m, x)) + signdet(matmul(m, w)) + sum(qr_q(m)) + sum(qr_r(m) * m) + sum(pinv(matmul(m, w)) * m[0, 1]) }",
        "m2x3:0.8,-0.3,0.4,1.2,0.1,-0.7 a0.7,-0.2,1.1",
    ),
    (
        "complex_factored",
        "fn f(z: array<complex>, v: array) { let m = reshape(z, [3, 2]); let s = matmul_hn(m, m); sum(abs2(lstsq(m, v))) + sum(abs2(pinv(m))) + re(signdet(s * z[0])) + sum(abs2(expm_along(s / 4.0, s * s))) + sum(abs2(solve_upper(s, solve_lower(s, s * z[0])))) }",
        "c0.8,-0.3,0.4,1.2,0.1,-0.7 a0.7,-0.2,1.1",
    ),
    (
        "transforms",
        "fn f(z: array<complex>, x: array) { let y = fft(reshape(z, [2, 6]) * x); sum(abs2(y * y)) + sum(re(ifft(y) * fft_back(y))) }",
        "c0.5,-1,2,0.7,0.1,-0.3,0.9,1.1,-0.6,0.2,0.4,1.3 a0.3,0.9,-0.4,1,0.2,0.6",
    ),
    (
        "prime_transforms",
        "fn f(x: array) { let t = cumsum(full(x[0], [74]), 0); let y = fft(complex(sin(t), x[1] * t)); let z = ifft(complex(cos(slice(t, 0, 0, 37)), 0.5)); sum(abs2(y) * t) / 1e6 + sum(re(z * fft_back(z)) * slice(t, 0, 3, 37)) }",
        "a0.13,0.01",
    ),
    (
        "equal_values",
        "fn f(m: array, e: array) { let x = m + 0.0 * e; let y = eigen_along(x, e); let z = svd_along(x, e); let w = svd_along(0.0 * m, e); let u = svd_along(0.0 * slice(m, 0, 0, 2), slice(e, 0, 0, 2)); sum(abs2(complex(y, 0.0)) * [1.0, 2.0, 4.0]) + sum(abs2(complex(z, 0.0)) * [1.0, 2.0, 4.0]) + sum(w * [1.0, 2.0, 4.0]) + sum(u * [1.0, 2.0]) + sum(exp(eigvalsh(x))) }",
        "m3x3:2,0,0,0,2,0,0,0,2 m3x3:0.3,1.0,-0.4,1.0,-0.2,0.7,-0.4,0.7,0.5",
    ),
    (
        "matrix_functions",
        "fn f(z: array<complex>) { let a = reshape(z, [2, 2]); let v = eigvecsh(a); let m = matmul_nh(v * exp(eigvalsh(a)), v); sum(abs2(m)) + re(m[0, 1]) }",
        "c2,0,0,2",
    ),
    (
        "special",
        "fn f(xs: array, ys: array) { let z = erf(xs) * erfc(ys * 2) + lgamma(ys) * lgamma(xs - 0.2) + erfc(xs * ys) * lgamma(ys * 9) + erf(ys); sum(log_softmax(z, 0) * digamma(xs)) + sum(sigmoid(z) + logaddexp(z, softplus(polygamma(2, ys)))) }",
        "a0.5,-1.3,2.1 a0.7,2.4,1.1",
    ),
    (
        "greater",
        "fn f(xs: array, ys: array) { sum(max(xs, ys) * sin([1.0, 2.0, 3.0])) + sum(min(xs, ys)) + norm([0.5, 1]) * sum(powi(xs, 20) + powi(ys, -1)) }",
        "a0.5,-1,2 a0.7,-2,1",
    ),
    (
        "loops",
        "fn f(m: array, n: int) { let mut v = full(1, [2]); for i in 0..n { let w = matvec(m, v); v = w / norm(w); if v[0] > 0.9 { v[1] *= 0.5; } } let mut c = m; c[0, 1] = v[0] * c[1, 0]; sum(c * [[1.0, 2.0], [3.0, 4.0]]) + dot(v, matvec(m, v)) }",
        "m2x2:0.8,-0.3,0.4,1.2 i4",
    ),
    (
        "called",
        "struct Layer { w: array, b: array } fn layer(l: Layer, x: array) -> array { tanh(matmul(x, l.w) + l.b) } fn f(w: array, b: array, x: array) { let l = Layer { w: w, b: b }; let mut y = x; for i in 0..3 { y = layer(l, y); } sum(y) }",
        "m2x2:0.8,-0.3,0.4,1.2 a0.1,0.2 m3x2:0.5,0.1,-0.2,0.7,0.3,0.9",
    ),
];

#[test]
fn operations_on_whole_arrays_and_their_gradients_give_the_same_values() {
    let mut file = File { shaped: true, ..File::default() };
    for (name, source, point) in WHOLE {
        let program = parse_program(source).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        let args: Vec<Value> = point.split(' ').map(datum).collect();
        file.add(name, &program, &args, &[Level::Strict, Level::None], false);
    }
    file.check("whole");
}

/// True if a function, or one that it calls, does something with arrays as wholes: that has tests
/// of its own.
fn whole(program: &Program, f: FuncId, depth: usize) -> bool {
    let function = &program.functions[f];
    function.insts.values().any(|i| {
        let array = i.args.iter().any(|v| matches!(function.kinds[*v], Kind::Array(_)));
        let called = matches!(i.op, Op::Call(g) if depth < 8 && whole(program, g, depth + 1));
        called || matches!(i.op, Op::OnArrays(_)) || array && i.op.is_elementwise()
    })
}

/// The programs that `program!` and the text parser share.
const SHARED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../dsl/tests/program/corpus.rs");

#[test]
fn every_function_of_the_shared_corpus_and_its_gradient_give_the_same_bits() {
    let source = std::fs::read_to_string(SHARED).unwrap();
    let start = source.find("program! {").unwrap() + "program! {".len();
    let text = &source[start..source.rfind('}').unwrap()];
    let mut program = parse_program(text).unwrap_or_else(|e| panic!("{}", e[0]));
    let functions: Vec<FuncId> = program.functions.keys().collect();
    // What a function is and runs at, and its gradient where it has one.
    let mut roots = Vec::new();
    let mut gradients = 0;
    for f in functions {
        if whole(&program, f, 0) {
            continue;
        }
        let args: Vec<Value> =
            program.functions[f].params.iter().map(|p| sample(&p.kind, &mut 0)).collect();
        if Bytecode::compile(&program, f).is_ok_and(|code| {
            code.call(&mut Machine::new(), &Energy, &Limits::default(), &args).is_err()
        }) {
            continue;
        }
        roots.push((f, args.clone()));
        if let Ok(g) = adjoint::gradient(&mut program, f) {
            roots.push((g, args));
            gradients += 1;
        }
    }
    assert!(roots.len() > 80 && gradients > 30, "{} roots, {gradients} gradients", roots.len());
    let mut file = File::default();
    roots.iter().for_each(|r| optimize_all(&mut program, r.0, Level::Strict));
    let ids: Vec<FuncId> = roots.iter().map(|r| r.0).collect();
    let text = emit_rust(&program, &ids).unwrap();
    // It is put into a module by `include!`.
    std::fs::write(Path::new(env!("CARGO_TARGET_TMPDIR")).join("shared_programs.rs"), text)
        .unwrap();
    let start =
        "mod shared {\ninclude!(\"shared_programs.rs\");\nuse super::bits;\npub fn run() {\n";
    file.modules.push_str(start);
    let mut lines = Vec::new();
    for (root, args) in &roots {
        file.call(&program, *root, args, false, &mut lines);
    }
    file.modules.push_str("}\n}\n");
    file.main.push_str("println!(\"#shared\"); shared::run();\n");
    file.expected.push(("shared".to_owned(), lines));
    file.check("shared");
}

/// Some value of a kind, another one each time.
fn sample(kind: &Kind, count: &mut i32) -> Value {
    *count += 1;
    let x = 0.3 + 0.35 * f64::from(*count);
    match kind {
        Kind::Complex => Datum::Complex(Complex::new(x, 0.2 - x)),
        Kind::Int => Datum::Int(3),
        Kind::Bool => Datum::Bool(true),
        Kind::Handle => Datum::Handle(1),
        Kind::Array(Element::Real) => Datum::reals((0..5).map(|k| x + 0.1 * f64::from(k))),
        Kind::Array(Element::Complex) => {
            Datum::complexes((0..5).map(|k| Complex::new(x, 0.1 * f64::from(k))))
        }
        Kind::Array(Element::Int) => Datum::ints([2, 0, 1, 3, 1]),
        Kind::Tuple(t) => Datum::Tuple(t.fields.iter().map(|f| sample(&f.kind, count)).collect()),
        Kind::Real => Datum::Real(x),
    }
}

/// A tangent of ones.
fn ones(kind: &Kind) -> Value {
    match kind {
        Kind::Complex => Datum::Complex(Complex::new(1.0, 1.0)),
        Kind::Array(Element::Real) => Datum::reals([1.0, 1.0]),
        Kind::Tuple(t) => Datum::Tuple(t.fields.iter().map(|f| ones(&f.kind)).collect()),
        _ => Datum::Real(1.0),
    }
}

#[test]
fn emitted_programs_and_gradients_give_the_same_bits() {
    let mut file = File::default();
    for (name, source, point) in CORPUS {
        let program = parse_program(source).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        let args: Vec<Value> = point.split(' ').map(datum).collect();
        let second = SECOND.contains(name);
        let levels: &[Level] =
            if second { &[Level::Strict] } else { &[Level::Strict, Level::None] };
        file.add(name, &program, &args, levels, second);
    }
    let mut rules = Rules::new();
    rules.primitive("energy", &[Kind::Handle, Kind::Real], Kind::Real).unwrap();
    let back = [Kind::Handle, Kind::Real, Kind::Real, Kind::Real];
    rules.primitive("energy_back", &back, Kind::tuple([Kind::Real])).unwrap();
    rules.primitive_pullback("energy", "energy_back").unwrap();
    let source = "fn g(h: handle, x, n: int) { if n == 0 { x } else { energy(h, g(h, x, n - 1)) } } fn f(h: handle, x) { g(h, x, 3) }";
    let program = parse_program_with(source, &rules).unwrap();
    file.add(
        "primitives",
        &program,
        &[Datum::Handle(1), Datum::Real(0.4)],
        &[Level::Strict],
        false,
    );
    for seed in 0..RANDOM {
        let program = parse_program(&Generator::real(seed)).unwrap();
        let mut dice = Dice::new(seed + 1_000_000);
        let args: Vec<Value> = (0..3).map(|_| Datum::Real(dice.between(-1.5, 1.5))).collect();
        file.add(&format!("random{seed}"), &program, &args, &[Level::Strict], false);
    }
    for (name, source, args) in CHANGES {
        let program = ir::parse(source).unwrap_or_else(|e| panic!("{name}: {}", e[0]));
        let args: Vec<Value> = args.split(' ').map(datum).collect();
        file.add(name, &program, &args, &[Level::Strict, Level::None], false);
    }
    file.check("emitted");
}

/// Programs whose second derivatives are emitted too.
const SECOND: &[&str] = &["named", "fields", "arith", "branchy", "newton", "recursion", "quotient"];
/// Number of random programs.
const RANDOM: u64 = 4;

/// The optimised function and its gradient in Rust.
fn emitted(source: &str) -> String {
    let mut program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let g = adjoint::gradient(&mut program, f).unwrap();
    optimize_all(&mut program, f, Level::Strict);
    optimize_all(&mut program, g, Level::Strict);
    emit_rust(&program, &[f, g]).unwrap()
}

#[test]
fn cotangents_of_arrays_are_made_once_and_added_to_in_place() {
    let text = emitted(TRACE);
    assert!(
        text.contains("= vec![0.0; a.len()];") && text.contains("= vec![0.0; b.len()];"),
        "{text}"
    );
    assert!(
        !text.contains("add_at") && !text.contains("clone") && !text.contains("to_vec"),
        "{text}"
    );
    assert!(text.contains("a_bar") && text.contains(" as usize] += "), "{text}");
    assert!(!text.contains("'l"), "{text}");
}

#[test]
fn loops_one_after_the_other_are_no_deeper_than_one() {
    let one = "for i in 0..n { if s > x { s *= 0.5; } s += x; } ";
    let text = emitted(&format!("fn f(x, n: int) {{ let mut s = x; {} s }}", one.repeat(300)));
    let deepest = text.lines().map(|line| line.len() - line.trim_start().len()).max().unwrap();
    assert!(text.matches("for ").count() >= 600 && deepest <= 16, "{deepest}");
}

#[test]
fn cotangents_in_fields_of_parameters_are_as_long_as_their_arrays() {
    let types = "struct P { w: array, b, n: int }";
    let plain = "fn g(p: P, x) { p.w[0] * x + p.b }
        fn f(p: P, t: (int, array, real), x) { let y = sin(x) + x; g(p, x) * x * sin(y) + y * y + t.1[1] * t.2 }";
    // Structs are given away to functions that call themselves, and to adjoints.
    let recursive = "fn g(p: P, x) { if x < 0 { return x * p.w[0]; } g(p, x - 1) * p.b }
        fn f(p: P, t: (int, array, real), x) { g(p, x) * t.2 + t.1[1] * t.2 }";
    let shaped =
        "fn f(p: P, t: (int, array, real), x) { sum(sin(p.w)) * p.b * x * x + t.1[1] * t.2 }";
    let mut file = File { main: "println!(\"#fields\");\n".to_owned(), ..File::default() };
    let mut lines = Vec::new();
    for (name, source) in [("plain", plain), ("recursive", recursive), ("shaped", shaped)] {
        for level in [Level::None, Level::Strict] {
            let module = format!("{name}_{level:?}").to_lowercase();
            let mut program = parse_program(&format!("{types} {source}")).unwrap();
            let f = program.lookup("f").unwrap();
            let g = adjoint::gradient(&mut program, f).unwrap();
            let along = adjoint::forward(&mut program, g).unwrap();
            [f, g, along].into_iter().for_each(|id| optimize_all(&mut program, id, level));
            let text = emit_rust(&program, &[f, g, along]).unwrap();
            writeln!(file.modules, "mod {module} {{\n{text}\n}}").unwrap();
            // What a function that calls itself carries beside its cotangents has a shape.
            let vector = if name == "plain" { "" } else { "Array::from" };
            writeln!(
                file.main,
                "{{ use {module}::*; let p = P {{ w: {vector}(vec![1.0, 2.0, 3.0]), b: 0.5, n: 4 }};
                let t = (3, {vector}(vec![1.0, 2.0, 4.0]), 2.0);
                let (_, p_bar, t_bar, _) = f_gradient(p.clone(), t.clone(), 0.5);
                let dots = (PTangent {{ w: p.w.clone(), b: 1.0 }}, (t.1.clone(), 1.0), 1.0);
                let (one, two) = f_gradient_pushforward(p, t, 0.5, dots.0, dots.1, dots.2);
                assert_eq!((&one.1, &one.2), (&p_bar, &t_bar));
                println!(\"{{}} {{}} {{}} {{}}\", p_bar.w.len(), t_bar.0.len(), two.1.w.len(), two.2.0.len()); }}"
            )
            .unwrap();
            lines.push("3 3 3 3".to_owned());
        }
    }
    file.expected.push(("fields".into(), lines));
    file.check("fields");
}

#[test]
fn what_a_loop_is_left_to_from_several_places_stands_behind_it() {
    let source = "struct P { w, b }
        fn g(x) { for v in 0..2 { if x < 1 { if v == 3 { return if x > 1 || x < 3 { 0.0 } else { x }; } } } x }
        fn f(x, p: P, n: int) {
            if x < x { if n > 0 { if x < g(p.w) { return sin(p.b); } } for k in 1..3 {} }
            if p.b > 0 { p.b } else { p.w }
        }";
    let mut file = File::default();
    writeln!(file.modules, "mod left {{\n{}\n}}", emitted(source)).unwrap();
    file.main = "println!(\"#left\");
        let (y, _, p, ) = left::f_gradient(0.5, left::P { w: 0.7, b: -0.3 }, 2);
        println!(\"{y} {} {}\", p.w, p.b);\n"
        .to_owned();
    file.expected.push(("left".into(), vec!["0.7 1 0".to_owned()]));
    file.check("left");
}

#[test]
fn an_index_out_of_range_is_a_panic() {
    let source =
        "fn f(xs: array, n: int) { let mut s = 0.0; for i in 0..n { s += xs[i - 1] * xs[i]; } s }";
    let mut file = File::default();
    let text = emitted(&source.replace("i - 1", "i"));
    writeln!(file.modules, "mod beyond {{\n{text}\n}}\nmod below {{\n{}\n}}", emitted(source))
        .unwrap();
    // The derivative by an element that is not there is no reason to make an array as long.
    let last =
        "fn f(xs: array, i: int) { let mut ys = xs; ys[i] = ys[i] * ys[i]; ys[i + 1000000000000] }";
    writeln!(file.modules, "mod far {{\n{}\n}}", emitted(last)).unwrap();
    let fails =
        |call: &str| format!("println!(\"{{}}\", std::panic::catch_unwind(|| {call}).is_err());\n");
    file.main = "println!(\"#range\");\n".to_owned();
    for call in [
        "beyond::f(&[1.0], 2)",
        "beyond::f_gradient(&[1.0], 2)",
        "below::f_gradient(&[1.0, 2.0], 2)",
        "far::f_gradient(&[1.0, 2.0], 1)",
    ] {
        file.main.push_str(&fails(call));
    }
    file.main.push_str(&fails("beyond::f_gradient(&[1.0, 2.0], 2)"));
    file.expected.push((
        "range".into(),
        ["true", "true", "true", "true", "false"].map(String::from).to_vec(),
    ));
    file.check("range");
}

#[test]
fn the_adjoint_of_a_loop_with_a_break_has_one_entry_and_structure() {
    // Run backwards it is entered where it was left: at its head and in the middle.
    let source = CORPUS.iter().find(|c| c.0 == "newton").unwrap().1;
    let text = emitted(source);
    assert!(
        text.contains("if a5 * a5 < 1e-24 {\n            a3 = a4;\n            break;"),
        "{text}"
    );
    assert!(text.contains("pub fn f_gradient(a: f64) -> (f64, f64) {"), "{text}");
    assert!(!text.contains("match "), "{text}");
}
