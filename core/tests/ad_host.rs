//! A primitive with handles, on every scalar; memory of prepared gradients; speed of a prepared
//! gradient.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    adjoint,
    exec::{Batch, Bytecode, Datum, Derivatives, Executable, Host, HostError, Limits, Machine},
    ir::{Kind, Primitive, Program},
    rules::Rules,
    scalar::{Real, Scalar},
    text::{parse_program, parse_program_with},
};
use num_complex::Complex;
use num_dual::Dual64;
use support::requests::requests;

/// Tables of coefficients; a handle names one. `poly(h, x) = sum c_k x^k`.
struct Polynomials(Vec<Vec<f64>>);

impl Polynomials {
    fn value<T: Real>(&self, handle: u32, x: &T) -> Option<T> {
        let table = self.0.get(handle as usize)?;
        Some(table.iter().rev().fold(T::zero(), |y, c| y * x + T::lit(*c)))
    }
    fn slope<T: Real>(&self, handle: u32, x: &T) -> Option<T> {
        let table = self.0.get(handle as usize)?;
        let terms = table.iter().enumerate().skip(1).rev();
        Some(terms.fold(T::zero(), |y, (k, c)| y * x + T::lit(*c * k as f64)))
    }
}

impl Polynomials {
    fn curvature<T: Real>(&self, handle: u32, x: &T) -> Option<T> {
        let table = self.0.get(handle as usize)?;
        let terms = table.iter().enumerate().skip(2).rev();
        Some(terms.fold(T::zero(), |y, (k, c)| y * x + T::lit(*c * (k * (k - 1)) as f64)))
    }
}

impl<T: Real, S: Scalar<Real = T>> Host<S> for Polynomials {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        let known = match (primitive.name.as_str(), args) {
            ("poly", [Datum::Handle(h), Datum::Real(x)]) => self.value(*h, x).map(Datum::Real),
            ("poly_back", [Datum::Handle(h), Datum::Real(x), _, Datum::Real(y_bar)]) => {
                self.slope(*h, x).map(|d| Datum::Tuple(vec![Datum::Real(d * y_bar)]))
            }
            ("poly_dot", [Datum::Handle(h), Datum::Real(x), Datum::Real(x_dot)]) => {
                self.slope(*h, x).map(|d| Datum::Real(d * x_dot))
            }
            // The derivatives of the derivatives, by the same convention.
            (
                "poly_back_dot",
                [
                    Datum::Handle(h),
                    Datum::Real(x),
                    _,
                    Datum::Real(y_bar),
                    Datum::Real(x_dot),
                    _,
                    Datum::Real(y_bar_dot),
                ],
            ) => self
                .slope(*h, x)
                .zip(self.curvature(*h, x))
                .map(|(d, c)| Datum::Tuple(vec![Datum::Real(c * x_dot * y_bar + d * y_bar_dot)])),
            (
                "poly_back_back",
                [Datum::Handle(h), Datum::Real(x), _, Datum::Real(y_bar), _, Datum::Tuple(bars)],
            ) => {
                let (d, c) = self
                    .slope(*h, x)
                    .zip(self.curvature(*h, x))
                    .ok_or(HostError::unknown(primitive))?;
                let r_bar = bars[0].real().ok_or(HostError::unknown(primitive))?;
                let bars = [c * y_bar * r_bar, T::zero(), d * r_bar];
                Some(Datum::Tuple(bars.map(Datum::Real).to_vec()))
            }
            (
                "poly_dot_back",
                [Datum::Handle(h), Datum::Real(x), Datum::Real(x_dot), _, Datum::Real(y_bar)],
            ) => self.slope(*h, x).zip(self.curvature(*h, x)).map(|(d, c)| {
                Datum::Tuple(vec![Datum::Real(c * x_dot * y_bar), Datum::Real(d * y_bar)])
            }),
            (
                "poly_dot_dot",
                [
                    Datum::Handle(h),
                    Datum::Real(x),
                    Datum::Real(x_dot),
                    Datum::Real(dx),
                    Datum::Real(dx_dot),
                ],
            ) => self
                .slope(*h, x)
                .zip(self.curvature(*h, x))
                .map(|(d, c)| Datum::Real(c * x_dot * dx + d * dx_dot)),
            _ => None,
        };
        known.ok_or_else(|| HostError::unknown(primitive))
    }
}

fn rules() -> Rules {
    let mut rules = Rules::new();
    let real = Kind::Real;
    rules.primitive("poly", &[Kind::Handle, Kind::Real], Kind::Real).unwrap();
    rules
        .primitive(
            "poly_back",
            &[Kind::Handle, real.clone(), real.clone(), real.clone()],
            Kind::tuple([real.clone()]),
        )
        .unwrap();
    rules.primitive("poly_dot", &[Kind::Handle, real.clone(), real.clone()], real).unwrap();
    rules.primitive_pullback("poly", "poly_back").unwrap();
    rules.primitive_pushforward("poly", "poly_dot").unwrap();
    rules
}

#[test]
fn a_primitive_with_a_handle_runs_on_every_scalar() {
    let p = parse_program_with("fn f(h: handle, x) { sin(poly(h, x)) }", &rules()).unwrap();
    let host = Polynomials(vec![vec![1.0, 0.5, 2.0], vec![0.0, 3.0]]);
    let (value, slope) = (1.0 + 0.5 * 0.3 + 2.0 * 0.09, 0.5 + 4.0 * 0.3);
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&host);
    let args = [Datum::Handle(0), Datum::Real(0.3)];
    let (y, g) = d.value_and_gradient(&args).unwrap();
    assert!((y - f64::sin(value)).abs() < 1e-15);
    assert!((g[0].real().unwrap() - slope * f64::cos(value)).abs() < 1e-15);
    let (_, dot) = d.jvp(&args, &[Datum::Real(1.0)]).unwrap();
    assert!((dot.real().unwrap() - g[0].real().unwrap()).abs() < 1e-15);

    let mut d = Derivatives::<Complex<f64>>::new(&p, "f").unwrap().with_host(&host);
    let (z, h) = d.value_and_gradient(&[Datum::Handle(0), Datum::Real(0.3)]).unwrap();
    assert_eq!((z, *h[0].real().unwrap()), (y, *g[0].real().unwrap()));

    let mut d = Derivatives::<Dual64>::new(&p, "f").unwrap().with_host(&host);
    let (z, h) =
        d.value_and_gradient(&[Datum::Handle(0), Datum::Real(Dual64::new(0.3, 1.0))]).unwrap();
    assert!((z.eps - g[0].real().unwrap()).abs() < 1e-15);
    let second = 4.0 * f64::cos(value) - slope * slope * f64::sin(value);
    assert!((h[0].real().unwrap().eps - second).abs() < 1e-14);
    // A handle that the host does not know, and a pushforward of the pullback, which does not
    // exist.
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&host);
    assert!(d.value(&[Datum::Handle(7), Datum::Real(0.3)]).is_err());
    let e = d.hvp(&args, &[Datum::Real(1.0)]).unwrap_err();
    assert!(e.to_string().contains("`poly_back`") && e.to_string().contains("pushforward"), "{e}");
}

#[test]
fn second_derivatives_go_through_the_derivatives_of_a_primitive() {
    let (h, real) = (Kind::Handle, Kind::Real);
    let one = Kind::tuple([real.clone()]);
    let reals = |n: usize| std::iter::repeat_n(Kind::Real, n);
    let mut rules = rules();
    let with = |more: Vec<Kind>| [vec![h.clone()], more].concat();
    rules.primitive("poly_back_dot", &with(reals(6).collect()), one.clone()).unwrap();
    let back_back: Vec<Kind> = reals(3).chain([one.clone(), one]).collect();
    rules.primitive("poly_back_back", &with(back_back), Kind::tuple(reals(3))).unwrap();
    rules.primitive("poly_dot_dot", &with(reals(4).collect()), real.clone()).unwrap();
    rules.primitive("poly_dot_back", &with(reals(4).collect()), Kind::tuple(reals(2))).unwrap();
    rules.primitive_pushforward("poly_back", "poly_back_dot").unwrap();
    rules.primitive_pullback("poly_back", "poly_back_back").unwrap();
    rules.primitive_pushforward("poly_dot", "poly_dot_dot").unwrap();
    rules.primitive_pullback("poly_dot", "poly_dot_back").unwrap();
    let source =
        "fn f(h: handle, x) { let mut s = 0.0; for i in 0..3 { s += sin(poly(h, x)); } s }";
    let p = parse_program_with(source, &rules).unwrap();
    let host = Polynomials(vec![vec![1.0, 0.5, 2.0, -0.3]]);
    let x = 0.4;
    let [value, slope, curvature] =
        [host.value(0, &x), host.slope(0, &x), host.curvature(0, &x)].map(|y| y.unwrap());
    let expected = 3.0 * (curvature * f64::cos(value) - slope * slope * f64::sin(value));
    let f = p.lookup("f").unwrap();
    let (at, dot) = ([Datum::Handle(0), Datum::Real(x)], Datum::Real(1.0));
    let close = |d: &Datum<f64>| {
        assert!((d.real().unwrap() - expected).abs() < 1e-13, "{d:?} is not {expected}")
    };
    let call = |p: &Program, f, args: Vec<Datum<f64>>| {
        let code = Bytecode::compile(p, f).unwrap();
        code.call(&mut Machine::new(), &host, &Limits::default(), &args).unwrap()
    };
    let args = |more: Vec<Datum<f64>>| [at.to_vec(), more].concat();
    // Forward over reverse, and the same on dual numbers.
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&host);
    close(&d.hvp(&at, std::slice::from_ref(&dot)).unwrap().1[0]);
    // Reverse over reverse.
    let mut q = p.clone();
    let second = adjoint::second(&mut q, f).unwrap();
    let weights = Datum::Tuple(vec![Datum::Real(0.0), Datum::Real(1.0)]);
    close(&call(&q, second, args(vec![weights])).fields()[1]);
    // Forward over forward: x_dot = 1, then x changes by 1 and x_dot by nothing.
    let mut q = p.clone();
    let twice = adjoint::forward(&mut q, f).unwrap();
    let twice = adjoint::forward(&mut q, twice).unwrap();
    let changes = vec![dot.clone(), dot.clone(), Datum::Real(0.0)];
    close(&call(&q, twice, args(changes)).fields()[1].fields()[1]);
    // Reverse over forward: the weight is on the tangent.
    let mut q = p.clone();
    let forward = adjoint::forward(&mut q, f).unwrap();
    let mixed = adjoint::value_and_pullback(&mut q, forward).unwrap();
    let weights = Datum::Tuple(vec![Datum::Real(0.0), Datum::Real(1.0)]);
    close(&call(&q, mixed, args(vec![dot, weights])).fields()[1]);
    // What is missing for the third order is named, with what it takes and gives.
    let mut q = p.clone();
    let second = adjoint::hessian_vector(&mut q, f).unwrap();
    let e = adjoint::forward(&mut q, second).unwrap_err().to_string();
    assert!(e.contains("`poly_back_dot`") && e.contains("pushforward"), "{e}");
    assert!(
        e.contains(
            "(handle, real, real, real, real, real, real, real, real, real, real, real, real) -> (real,)"
        ),
        "{e}"
    );
}

#[test]
fn a_rule_without_a_pushforward_goes_forward_by_its_pullback() {
    let source =
        "rule clip(x) { x * x } pullback(x, y, y_bar) { 0.5 * y_bar }\nfn f(x) { 3 * clip(x) }";
    let p = parse_program(source).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap();
    assert_eq!(d.gradient(&[Datum::Real(2.0)]).unwrap(), vec![Datum::Real(1.5)]);
    assert_eq!(d.jvp(&[Datum::Real(2.0)], &[Datum::Real(1.0)]).unwrap().1, Datum::Real(1.5));
    // So nothing is asked of a primitive in its body, which has no derivatives.
    let mut rules = Rules::new();
    rules.primitive("poly", &[Kind::Handle, Kind::Real], Kind::Real).unwrap();
    let source =
        "rule wrapped(h: handle, x) { poly(h, x) } pullback(h, x, y, y_bar) { (none, 0.5 * y_bar) }
        fn f(h: handle, x) { wrapped(h, x) }";
    let p = parse_program_with(source, &rules).unwrap();
    let host = Polynomials(vec![vec![1.0, 0.5]]);
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&host);
    let at = [Datum::Handle(0), Datum::Real(2.0)];
    assert_eq!(d.gradient(&at).unwrap(), vec![Datum::Real(0.5)]);
    assert_eq!(d.jvp(&at, &[Datum::Real(3.0)]).unwrap().1, Datum::Real(1.5));
    // A pushforward that such a primitive computes cannot be run backwards: the error names both.
    let source =
        "rule two(h: handle, x, y) { x * y } pushforward(h, x, y, dx, dy) { poly(h, dx) + dy }
        fn f(h: handle, x, y) { two(h, x, y) }";
    let p = parse_program_with(source, &rules).unwrap();
    let mut d = Derivatives::<f64>::new(&p, "f").unwrap().with_host(&host);
    let at = [Datum::Handle(0), Datum::Real(2.0), Datum::Real(1.0)];
    let e = d.gradient(&at).unwrap_err().to_string();
    assert!(
        e.contains("`two` has no pullback") && e.contains("`poly` in `two.pushforward`"),
        "{e}"
    );
}

#[test]
fn a_prepared_gradient_allocates_nothing_when_called_again() {
    let source = "fn f(a, b) { a / (a + b * b) }
        fn g(a, b) { let mut s = 0.0; for i in 0..100 { if s > 3 { s -= a; } s += sin(s * b) * a; } s }
        fn power(x, n: int) { if n == 0 { 1.0 } else { x * power(x, n - 1) } }
        fn h(a, b) { power(a, 5) * b }";
    let p = parse_program(source).unwrap();
    for f in ["f", "g", "h"] {
        let mut prepared = Derivatives::<f64>::new(&p, f).unwrap().prepare().unwrap();
        let mut gradient = [0.0; 2];
        let first = prepared.gradient(&[1.2, 0.7], &mut gradient).unwrap();
        let mut second = 0.0;
        let asked = requests(|| second = prepared.gradient(&[1.2, 0.7], &mut gradient).unwrap());
        assert_eq!((asked, first), (0, second), "{f}");
    }
}

#[test]
fn prepared_gradients_of_arrays_and_complex_numbers_allocate_nothing_either() {
    let source = "struct P { z: complex, w: array<complex> }
        fn reals(xs: array<real>, a) {
            let mut s = a; let mut ys = [0.0; len(xs)];
            for i in 0..len(xs) { ys[i] = xs[i] * s; s = s + sin(ys[i]); }
            s + sum(ys) * sum(xs)
        }
        fn complexes(p: P, k: int) {
            let mut z = p.z; let mut w = p.w;
            for i in 0..k { z = z * z * 0.5 + w[i]; w[i] = exp(z * 0.1); }
            abs2(z) + re(sum(w))
        }
        fn helper(xs: array<real>, n: int) { if n == 0 { xs[0] } else { helper(xs, n - 1) * xs[n] } }
        fn calls(xs: array<real>) { helper(xs, len(xs) - 1) }
        fn layers(x: array<real>, w: array<real>, b: array<real>) {
            let h = tanh(matmul(x, w) + b);
            let c = sum_axis(h * h, 0);
            logsumexp(h) + sum(exp(h) * c) + sum(transpose(w) * 0.5) + sum(tanh(b) * b)
        }";
    let p = parse_program(source).unwrap();
    let z = |re: f64| Complex::new(re, 0.1);
    let zs = Datum::complexes([z(0.1), z(0.2), z(0.3)]);
    let xs = Datum::reals([0.1, 0.2, 0.3, 0.4]);
    let array = |shape: &[usize]| {
        let n: usize = shape.iter().product();
        Datum::reals_of(shape, (0..n).map(|k| (0.7 * k as f64).sin()).collect()).unwrap()
    };
    let layers = vec![array(&[30, 3]), array(&[3, 5]), array(&[5])];
    let cases: [(&str, Vec<Datum<Complex<f64>>>); 4] = [
        ("reals", vec![xs.clone(), Datum::Real(0.5)]),
        ("complexes", vec![Datum::Tuple(vec![Datum::Complex(z(0.4)), zs]), Datum::Int(3)]),
        ("calls", vec![xs]),
        ("layers", layers),
    ];
    for (f, args) in cases {
        let mut derivatives = Derivatives::<Complex<f64>>::new(&p, f).unwrap();
        let (value, expected) = derivatives.value_and_gradient(&args).unwrap();
        let mut prepared = derivatives.prepare().unwrap();
        let mut gradient = Vec::new();
        // Buffers change places between calls; after two each has been long enough for every use.
        for _ in 0..2 {
            prepared.value_and_gradient(&args, &mut gradient).unwrap();
        }
        let mut again = None;
        let asked =
            requests(|| again = Some(prepared.value_and_gradient(&args, &mut gradient).unwrap()));
        assert_eq!(asked, 0, "{f}");
        assert_eq!((again, &gradient), (Some(value), &expected), "{f}");
        // What an error leaves is no gradient, and the next call makes one.
        assert!(
            prepared.value_and_gradient(&[], &mut gradient).is_err() && gradient.is_empty(),
            "{f}"
        );
        prepared.value_and_gradient(&args, &mut gradient).unwrap();
        assert_eq!(gradient, expected, "{f}");
    }
}

/// Prints times; run it with `--release -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[expect(clippy::print_stdout, reason = "a measurement is there to be read")]
fn speed() {
    let source = "fn f(a, b) { a / (a + b * b) }
        fn arith(x, y) { let mut s = x; for i in 0..1000 { s = s * 0.999 + x * y; } s }
        fn branchy(x, y) { let mut s = x; for i in 0..1000 { if s > 1 { s = s * 0.5; } else { s = s + x * y; } } s }
        fn trig(x, y) { let mut s = x; for i in 0..1000 { s = sin(s) * y + x; } s }";
    let p = parse_program(source).unwrap();
    for f in ["f", "arith", "branchy", "trig"] {
        let start = std::time::Instant::now();
        let mut prepared = Derivatives::<f64>::new(&p, f).unwrap().prepare().unwrap();
        let mut gradient = [0.0; 2];
        prepared.gradient(&[1.2, 0.7], &mut gradient).unwrap();
        let first = start.elapsed();
        let n = if f == "f" { 1_000_000 } else { 2_000 };
        let start = std::time::Instant::now();
        for _ in 0..n {
            prepared.gradient(std::hint::black_box(&[1.2, 0.7]), &mut gradient).unwrap();
        }
        println!("{f}: first {first:?}, then {:?} each", start.elapsed() / n);
    }
    // The same gradient of many arguments, one by one and side by side.
    let mut derived = p.clone();
    let arith = p.lookup("arith").unwrap();
    let gradient = adjoint::gradient(&mut derived, arith).unwrap();
    ketgrad_core::pass::optimize_all(&mut derived, gradient, ketgrad_core::pass::Level::default());
    let code = Bytecode::compile(&derived, gradient).unwrap();
    let points: Vec<Vec<Datum<f64>>> =
        (0..512).map(|k| vec![Datum::Real(1.0 + f64::from(k) * 1e-4), Datum::Real(0.7)]).collect();
    let mut alone = Batch::<f64, 1>::new(code.clone());
    let mut together = Batch::<f64, 8>::new(code);
    for round in 0..3 {
        let start = std::time::Instant::now();
        std::hint::black_box(alone.call(&points));
        let one = start.elapsed() / 512;
        let start = std::time::Instant::now();
        std::hint::black_box(together.call(&points));
        println!(
            "batch {round}: {one:?} each alone, {:?} each of eight together",
            start.elapsed() / 512
        );
    }
    let hand = |x: f64, y: f64| {
        let mut tape = Vec::with_capacity(1000);
        let mut s = x;
        for _ in 0..1000 {
            tape.push(s);
            s = s.sin() * y + x;
        }
        let (mut s_bar, mut x_bar, mut y_bar) = (1.0, 0.0, 0.0);
        while let Some(s) = tape.pop() {
            x_bar += s_bar;
            y_bar += s_bar * s.sin();
            s_bar *= y * s.cos();
        }
        (s, x_bar + s_bar, y_bar)
    };
    let arith = |x: f64, y: f64| {
        let mut s = x;
        for _ in 0..1000 {
            s = s * 0.999 + x * y;
        }
        let (mut s_bar, mut x_bar, mut y_bar) = (1.0, 0.0, 0.0);
        for _ in 0..1000 {
            x_bar += s_bar * y;
            y_bar += s_bar * x;
            s_bar *= 0.999;
        }
        (s, x_bar + s_bar, y_bar)
    };
    let branchy = |x: f64, y: f64| {
        let mut tape = Vec::with_capacity(1000);
        let mut s = x;
        for _ in 0..1000 {
            tape.push(s > 1.0);
            s = if s > 1.0 { s * 0.5 } else { s + x * y };
        }
        let (mut s_bar, mut x_bar, mut y_bar) = (1.0, 0.0, 0.0);
        while let Some(greater) = tape.pop() {
            if greater {
                s_bar *= 0.5;
            } else {
                x_bar += s_bar * y;
                y_bar += s_bar * x;
            }
        }
        (s, x_bar + s_bar, y_bar)
    };
    for (name, f) in [
        ("branchy", &branchy as &dyn Fn(f64, f64) -> (f64, f64, f64)),
        ("trig", &hand),
        ("arith", &arith),
    ] {
        let start = std::time::Instant::now();
        for _ in 0..2000 {
            std::hint::black_box(f(std::hint::black_box(1.2), std::hint::black_box(0.7)));
        }
        println!("{name} by hand: {:?} each", start.elapsed() / 2000);
    }
}
