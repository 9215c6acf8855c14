//! Looking inside a run: interceptors and their users, and one program over a batch.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    exec::{
        Batch, Bytecode, Datum, Derivatives, RunError,
        inspect::{
            Command, Debugger, Event, Find, Finder, Inspection, Interceptor, Interrupt, Moment,
            OpCounter, Reason, hessian_pattern, jacobian_pattern,
        },
    },
    ir::{self, Op, Program},
    scalar::{Lanes, Ring, Scalar},
    text::parse_program,
};
use num_dual::Dual64;

const PROGRAMS: &str = "fn power(x, n: int) { if n == 0 { 1.0 } else { x * power(x, n - 1) } }
    fn f(a, b) {
        let mut s = a; let mut xs = [a, b, a * b];
        for i in 0..20 {
            if s > 1 { s = s * 0.5; } else { s = s + power(b, 3) + xs[i % 3]; }
            xs[i % 3] = sin(s);
            if i == 15 { break; }
        }
        s + xs[0] * xs[1] - xs[2]
    }";

fn program(source: &str) -> Program {
    parse_program(source).unwrap()
}

fn real<S: Scalar<Real = f64>>(x: f64) -> Datum<S> {
    Datum::Real(x)
}

/// Sees everything and keeps what it sees of one operation.
#[derive(Default)]
struct Products(Vec<(u32, f64, f64, f64)>);
impl Interceptor<f64> for Products {
    fn see(&mut self, event: &Event<'_, f64>) -> Result<(), Interrupt> {
        if let (Moment::After(_), Some(inst)) = (event.moment(), event.inst())
            && inst.op.name() == "mul"
        {
            let x = |d: Option<&Datum<f64>>| *d.unwrap().real().unwrap();
            let operands = event.operands();
            let result = event.result();
            self.0.push((
                event.position().line,
                x(operands.first()),
                x(operands.get(1)),
                x(result.as_ref()),
            ));
        }
        Ok(())
    }
}

#[test]
fn an_interceptor_sees_each_instruction_with_its_values() {
    let p = program("fn f(x) {\n  let y = x * x;\n  y * 3\n}");
    let mut seen = Products::default();
    Inspection::new(&p, "f").unwrap().run(&[real(2.0)], &mut seen).unwrap();
    assert_eq!(seen.0, [(2, 2.0, 2.0, 4.0), (3, 4.0, 3.0, 12.0)]);
}

/// Counts moments and follows the edges.
#[derive(Default)]
struct Moments {
    before: usize,
    after: usize,
    deepest: usize,
    calls: usize,
    returns: usize,
}
impl<S: Scalar> Interceptor<S> for Moments {
    fn see(&mut self, event: &Event<'_, S>) -> Result<(), Interrupt> {
        self.deepest = self.deepest.max(event.depth());
        match event.moment() {
            Moment::Before(_) => {
                self.before += 1;
                self.calls += usize::from(matches!(event.inst().unwrap().op, Op::Call(_)));
            }
            Moment::After(_) => self.after += 1,
            Moment::Edge(..) => assert!(event.target().is_some()),
            Moment::Return(_) => {
                self.returns += 1;
                assert!(event.returned().is_some());
            }
        }
        Ok(())
    }
}

#[test]
fn a_watched_run_gives_the_same_bits_on_every_scalar() {
    let p = program(PROGRAMS);
    for (a, b) in [(0.3, 0.7), (1.5, -0.4), (-2.0, 0.1), (0.0, f64::NAN)] {
        let mut seen = Moments::default();
        let watched =
            Inspection::<f64>::new(&p, "f").unwrap().run(&[real(a), real(b)], &mut seen).unwrap();
        let plain = Derivatives::<f64>::new(&p, "f").unwrap().value(&[real(a), real(b)]).unwrap();
        assert_eq!(watched.real().unwrap().to_bits(), plain.real().unwrap().to_bits());
        assert_eq!((seen.before, seen.returns), (seen.after, seen.calls + 1));
        assert!(seen.calls == 0 || seen.deepest >= 4, "power(b, 3) is four calls deep");

        let dual = |x: f64| Datum::Real(Dual64::new(x, 1.0));
        let mut seen = Moments::default();
        let args = [dual(a), dual(b)];
        let watched = Inspection::<Dual64>::new(&p, "f").unwrap().run(&args, &mut seen).unwrap();
        let plain = Derivatives::<Dual64>::new(&p, "f").unwrap().value(&args).unwrap();
        assert_eq!(watched.real().unwrap().eps.to_bits(), plain.real().unwrap().eps.to_bits());
    }
}

#[test]
fn the_first_nan_is_found_with_its_line_and_operands() {
    let source =
        "fn g(x) {\n  let y = x - 3;\n  sqrt(y)\n}\nfn f(x) {\n  let a = x * 2;\n  a + g(a)\n}";
    let p = program(source);
    let mut finder = Finder::<f64>::new(Find::Nan);
    let e = Inspection::new(&p, "f").unwrap().run(&[real(1.0)], &mut finder).unwrap_err();
    let found = finder.found().unwrap();
    assert_eq!((found.function.as_str(), found.at.line, found.op), ("g", 3, "sqrt"));
    assert_eq!((found.operands[0].1.clone(), found.inherited), (real(-1.0), false));
    assert!(e.to_string().contains("3:3") && e.to_string().contains("sqrt gave NaN"), "{e}");
    // Nothing to find.
    let mut finder = Finder::<f64>::new(Find::NonFinite);
    assert_eq!(
        Inspection::new(&p, "f").unwrap().run(&[real(2.0)], &mut finder).unwrap(),
        real(5.0)
    );
    assert!(finder.found().is_none());
    // The derivative of sqrt at 0 is infinite where the value is fine, and the line is that of the
    // root.
    let mut finder = Finder::<f64>::new(Find::NonFinite);
    assert!(Inspection::of_gradient(&p, "f").unwrap().run(&[real(1.5)], &mut finder).is_err());
    assert_eq!(finder.found().unwrap().at.line, 3);
    // A NaN that comes in as an argument is inherited.
    let mut finder = Finder::<f64>::new(Find::Nan);
    assert!(Inspection::new(&p, "f").unwrap().run(&[real(f64::NAN)], &mut finder).is_err());
    assert!(finder.found().unwrap().inherited);
}

#[test]
fn the_debugger_steps_breaks_and_shows_values() {
    let source = "fn g(x) {\n  let y = x * x;\n  y + 1\n}\nfn f(a, n: int) {\n  let mut s = a;\n  for i in 0..n {\n    s = g(s);\n  }\n  s\n}";
    let p = program(source);
    let args = [real(2.0), Datum::Int(3)];
    let run = |commands: &[Command], breakpoint: Option<u32>| {
        let mut log = Vec::new();
        let mut commands = commands.iter().cloned();
        let mut debugger = Debugger::new(|pause: &ketgrad_core::exec::inspect::Pause<'_, f64>| {
            let x = pause.event.named("x");
            log.push((
                pause.event.position().line,
                pause.reason,
                x.and_then(|x| x.real().copied()),
            ));
            commands.next().unwrap_or(Command::Continue)
        });
        debugger = match breakpoint {
            Some(line) => debugger.with_breakpoint(line),
            None => debugger.from_start(),
        };
        let result = Inspection::<f64>::new(&p, "f").unwrap().run(&args, &mut debugger);
        drop(debugger);
        (log, result)
    };
    // A breakpoint in a function called three times, with its parameter.
    let (log, result) = run(&[], Some(2));
    let stops: Vec<_> = [2.0, 5.0, 26.0].map(|x| (2, Reason::Breakpoint, Some(x))).into();
    assert_eq!((log, result.unwrap()), (stops, real(677.0)));
    // Out of the function, then its breakpoint is cleared.
    let (log, _) = run(&[Command::Out, Command::Clear(2), Command::Continue], Some(2));
    assert!(log.len() >= 2 && log[1].2.is_none() && log[1].1 == Reason::Step, "{log:?}");
    assert_eq!(log.iter().filter(|l| l.0 == 2).count(), 1);
    // Steps go into calls, `next` does not.
    let (log, _) = run(&vec![Command::Step; 40], None);
    let lines: Vec<u32> = log.iter().map(|l| l.0).collect();
    assert_eq!(lines.iter().filter(|&&l| l == 2).count(), 3, "{lines:?}");
    let (log, _) = run(&vec![Command::Next; 40], None);
    assert!(log.iter().all(|l| l.0 > 4) && log.iter().filter(|l| l.0 == 8).count() == 3, "{log:?}");
    // Stopping is an error that says so.
    let (log, result) = run(&[Command::Stop], Some(8));
    assert_eq!(log.len(), 1);
    let e = result.unwrap_err();
    assert!(e.to_string().contains("stopped: by the debugger"), "{e}");
}

#[test]
fn operations_are_counted() {
    let p =
        program("fn f(z: complex, n: int) { let mut w = z; for i in 0..n { w = w * w + z; } w }");
    let mut counter = OpCounter::default();
    let args = [Datum::Complex(num_complex::Complex::new(0.1, 0.2)), Datum::Int(5)];
    Inspection::<num_complex::Complex<f64>>::new(&p, "f")
        .unwrap()
        .run(&args, &mut counter)
        .unwrap();
    assert_eq!((counter.count("mul"), counter.count("add"), counter.flops), (5, 5, 5 * (6 + 2)));
    assert_eq!(counter.count("sin"), 0);
    // Horner's rule saves half of the products.
    let p = program(
        "fn plain(x) { 1 + x + x * x + x * x * x } fn horner(x) { 1 + x * (1 + x * (1 + x)) }",
    );
    let flops = |name: &str| {
        let mut counter = OpCounter::default();
        Inspection::<f64>::new(&p, name).unwrap().run(&[real(0.5)], &mut counter).unwrap();
        counter.flops
    };
    assert_eq!((flops("plain"), flops("horner")), (6, 5));
}

/// Gives what a closure does in place of results.
struct Instead<F>(F);
impl<S: Scalar, F: FnMut(&Event<'_, S>) -> Option<Datum<S>>> Interceptor<S> for Instead<F> {
    fn see(&mut self, _: &Event<'_, S>) -> Result<(), Interrupt> {
        Ok(())
    }
    fn replace(&mut self, event: &Event<'_, S>) -> Result<Option<Datum<S>>, Interrupt> {
        Ok((self.0)(event))
    }
}

#[test]
fn an_interceptor_replaces_what_an_instruction_gives() {
    let before = |e: &Event<'_, f64>, name: &str| {
        matches!(e.moment(), Moment::Before(_)) && e.inst().is_some_and(|i| i.op.name() == name)
    };
    let after = |e: &Event<'_, f64>, name: &str| {
        matches!(e.moment(), Moment::After(_)) && e.inst().is_some_and(|i| i.op.name() == name)
    };
    // A result is clipped, each time round.
    let p = program("fn f(x, n: int) { let mut s = x; for i in 0..n { s = s * 3; } s }");
    let mut f = Inspection::<f64>::new(&p, "f").unwrap();
    let args = [real(1.0), Datum::Int(4)];
    let clip = |e: &Event<'_, f64>| {
        let y = e.result().filter(|_| after(e, "mul"))?;
        Some(Datum::Real(y.real()?.min(5.0)))
    };
    assert_eq!(f.run(&args, &mut Instead(clip)).unwrap(), real(5.0));
    assert_eq!(f.run(&args, &mut Instead(|_: &Event<'_, f64>| None)).unwrap(), real(81.0));
    // A constant by itself, and not its equals: 2 x + 2.
    let text = "fn f(x) -> real {\nblock0(v0: real):\n    v1: real = real 2.0\n    v2: real = mul v1, v0\n    v3: real = real 2.0 @2:1\n    v4: real = add v2, v3\n    return v4\n}";
    let p = ir::parse(text).unwrap();
    let mut f = Inspection::<f64>::new(&p, "f").unwrap();
    let second =
        |e: &Event<'_, f64>| (after(e, "real") && e.position().line == 2).then(|| real(100.0));
    assert_eq!(f.run(&[real(3.0)], &mut Instead(second)).unwrap(), real(106.0));
    // A tuple by itself, and not what it was made of.
    let p = program("fn g(x, y) { (x, y) } fn f(x, y) { let (a, b) = g(x, y); a * 10 + b + x }");
    let mut f = Inspection::<f64>::new(&p, "f").unwrap();
    let swap = |e: &Event<'_, f64>| {
        let pair = e.result().filter(|_| after(e, "call"))?;
        Some(Datum::Tuple(pair.fields().iter().rev().cloned().collect()))
    };
    assert_eq!(f.run(&[real(1.0), real(2.0)], &mut Instead(swap)).unwrap(), real(22.0));
    // Another function: what is replaced before does not run.
    let p = program(
        "fn slow(x) { let mut s = x; while s > 0 { s = s + 1; } s } fn f(x) { slow(x) + 1 }",
    );
    let mut f = Inspection::<f64>::new(&p, "f").unwrap();
    let other = |e: &Event<'_, f64>| {
        let x = e.operands().first()?.clone();
        before(e, "call").then(|| Datum::Real(x.real().copied().unwrap_or(0.0) * 2.0))
    };
    assert_eq!(f.run(&[real(4.0)], &mut Instead(other)).unwrap(), real(9.0));
    // Arrays.
    let p = program("fn f(xs: array) { let ys = xs * 2; sum(ys) + sum(xs) }");
    let mut f = Inspection::<f64>::new(&p, "f").unwrap();
    let longer = |e: &Event<'_, f64>| after(e, "mul").then(|| Datum::reals([1.0, 2.0, 3.0]));
    assert_eq!(f.run(&[Datum::reals([1.0, 1.0])], &mut Instead(longer)).unwrap(), real(8.0));
    // Of the right kind, and only where there is a result.
    let wrong = |e: &Event<'_, f64>| after(e, "mul").then(|| real(1.0));
    let e = f.run(&[Datum::reals([1.0])], &mut Instead(wrong)).unwrap_err().to_string();
    assert!(e.contains("= mul v0, v1` is replaced by real, expected array<real>"), "{e}");
    let edge = |e: &Event<'_, f64>| matches!(e.moment(), Moment::Return(_)).then(|| real(1.0));
    let e = f.run(&[Datum::reals([1.0])], &mut Instead(edge)).unwrap_err().to_string();
    assert!(e.contains("the end of a block gives nothing to be replaced"), "{e}");
}

#[test]
fn derivatives_of_replaced_values_are_as_documented() {
    let p = program("fn f(x) { let y = exp(x); y * y }");
    let is_exp = |i: Option<&ir::InstData>| i.is_some_and(|i| i.op.name() == "exp");
    // On numbers with derivatives that of the number given: of min(exp x, 2) it is 0 where it is
    // clipped.
    let clip = |e: &Event<'_, Dual64>| {
        let y = *e.result().filter(|_| is_exp(e.inst()))?.real()?;
        Some(Datum::Real(if y.re > 2.0 { Dual64::from(2.0) } else { y }))
    };
    let mut f = Inspection::<Dual64>::new(&p, "f").unwrap();
    let y = f.run(&[Datum::Real(Dual64::new(3.0, 1.0))], &mut Instead(clip)).unwrap();
    assert_eq!(y, Datum::Real(Dual64::new(4.0, 0.0)));
    let y = f.run(&[Datum::Real(Dual64::new(0.0, 1.0))], &mut Instead(clip)).unwrap();
    assert_eq!(y, Datum::Real(Dual64::new(1.0, 2.0)));
    // In a gradient that of the instruction, straight through at the new value: d(y^2) = 2 y * y.
    let clip = |e: &Event<'_, f64>| {
        let y = *e.result().filter(|_| is_exp(e.inst()))?.real()?;
        Some(Datum::Real(y.min(2.0)))
    };
    let mut g = Inspection::<f64>::of_gradient(&p, "f").unwrap();
    let y = g.run(&[real(3.0)], &mut Instead(clip)).unwrap();
    assert_eq!(y, Datum::Tuple(vec![real(4.0), real(2.0 * 2.0 * 2.0)]));
}

/// Operations that run element by element count as their elements do one by one, whatever shapes
/// are broadcast.
#[test]
fn arrays_count_as_their_elements() {
    type C = num_complex::Complex<f64>;
    let count = |source: &str, args: &[Datum<C>]| {
        let mut counter = OpCounter::default();
        Inspection::<C>::new(&program(source), "f").unwrap().run(args, &mut counter).unwrap();
        counter.flops
    };
    let reals =
        |shape: &[usize]| Datum::reals_of(shape, vec![0.5; shape.iter().product()]).unwrap();
    let complexes = |shape: &[usize]| {
        Datum::complexes_of(shape, vec![C::new(0.5, 0.25); shape.iter().product()]).unwrap()
    };
    let shapes: [[&[usize]; 2]; 5] =
        [[&[3], &[3]], [&[2, 3], &[3]], [&[2, 1], &[4]], [&[0], &[1]], [&[2, 3, 4], &[1, 3, 1]]];
    for ([a, b], n) in shapes.into_iter().zip([3, 6, 8, 0, 24]) {
        for op in ["x + y", "x - y", "x * y", "x / y", "pow(x, y)", "atan2(x, y)", "max(x, y)"] {
            let each = count(&format!("fn f(x, y) {{ {op} }}"), &[real(0.5), real(0.25)]);
            let all = format!("fn f(x: array, y: array) {{ {op} }}");
            assert_eq!(count(&all, &[reals(a), reals(b)]), each * n, "{op} of {a:?} and {b:?}");
        }
        let m = a.iter().product::<usize>() as u64;
        for op in ["-x", "sin(x)", "1 / x", "powi(x, 3)", "abs(x)", "exp(x)", "x * x", "x - 1"] {
            let each = count(&format!("fn f(x) {{ {op} }}"), &[real(0.5)]);
            assert_eq!(
                count(&format!("fn f(x: array) {{ {op} }}"), &[reals(a)]),
                each * m,
                "{op} of {a:?}"
            );
        }
        for (op, each) in [("x + y", 2), ("x - y", 2), ("x * y", 6), ("x / y", 11)] {
            let all = format!("fn f(x: array<complex>, y: array<complex>) {{ {op} }}");
            assert_eq!(
                count(&all, &[complexes(a), complexes(b)]),
                each * n,
                "{op} of {a:?} and {b:?}"
            );
        }
    }
    // Products and reductions as loops over numbers count.
    let matmul = "fn f(a: array, b: array) { matmul(a, b) }";
    let loops = "fn f(m: int, k: int, n: int) { let mut s = 0.0; for i in 0..m { for j in 0..n { s = 0.0; for l in 0..k { s = s + 0.5 * 0.25; } } } s }";
    for (m, k, n) in [(2, 3, 4), (5, 1, 2), (1, 7, 1)] {
        let ints = [m, k, n].map(|n| Datum::Int(n as i64));
        assert_eq!(
            count(matmul, &[reals(&[m, k]), reals(&[k, n])]),
            count(loops, &ints),
            "{m} {k} {n}"
        );
        let labels = "fn f(a: array, b: array) { einsum(a, b, [0, 1], [1, 2], [0, 2]) }";
        assert_eq!(
            count(labels, &[reals(&[m, k]), reals(&[k, n])]),
            count(loops, &ints),
            "{m} {k} {n}"
        );
        let stack = reals(&[3, m, k]);
        assert_eq!(count(matmul, &[stack, reals(&[k, n])]), 3 * count(loops, &ints), "{m} {k} {n}");
    }
    assert_eq!(count("fn f(a: array) { sum(a) }", &[reals(&[6, 7])]), 42);
    assert_eq!(count("fn f(a: array, b: array) { dot(a, b) }", &[reals(&[9]), reals(&[9])]), 18);
    let eye = Datum::reals_of(&[6, 6], (0..36).map(|k| f64::from(u8::from(k % 7 == 0))).collect())
        .unwrap();
    assert_eq!(
        count("fn f(a: array, b: array) { solve(a, b) }", &[eye, reals(&[6, 2])]),
        144 + 144
    );
    assert_eq!(count("fn f(a: array<complex>) { sum(a) }", &[complexes(&[5])]), 10);
}

#[test]
fn jacobian_and_hessian_patterns_hold_every_nonzero() {
    // A chain: each result depends on its neighbours.
    let source = "fn chain(xs: array<real>) {
            let n = len(xs); let mut ys = [0.0; n];
            for i in 1..n - 1 { ys[i] = xs[i - 1] - 2 * xs[i] + xs[i + 1]; }
            ys
        }
        fn rosenbrock(xs: array<real>) {
            let mut s = 0.0;
            for i in 1..len(xs) {
                let d = xs[i] - xs[i - 1] * xs[i - 1];
                s = s + 100 * d * d + (1 - xs[i - 1]) * (1 - xs[i - 1]);
            }
            s
        }";
    let p = program(source);
    let xs = Datum::<f64>::reals([0.1, 0.2, 0.3, 0.4, 0.5]);
    let pattern = jacobian_pattern(&p, "chain", std::slice::from_ref(&xs)).unwrap();
    assert_eq!(pattern.rows, [vec![], vec![0, 1, 2], vec![1, 2, 3], vec![2, 3, 4], vec![]]);
    // The Hessian is tridiagonal, and the pattern holds whatever is not zero.
    let pattern = hessian_pattern(&p, "rosenbrock", std::slice::from_ref(&xs)).unwrap();
    let hessian = Derivatives::<f64>::new(&p, "rosenbrock").unwrap().hessian(&[xs]).unwrap();
    for (i, row) in hessian.iter().enumerate() {
        for (j, h) in row.iter().enumerate() {
            assert!(*h == 0.0 || pattern.rows[i].contains(&j), "H[{i}][{j}] = {h}");
            assert_eq!(pattern.rows[i].contains(&j), i.abs_diff(j) <= 1, "[{i}][{j}]");
        }
    }
    // Through calls, branches and recursion, at the point given.
    let p = program(
        "fn pick(a, b, n: int) { if n == 0 { a } else { pick(b, a, n - 1) } }
        fn f(a, b, c) { (pick(a, b, 3), if c > 0 { a * c } else { b }) }",
    );
    let rows =
        |c: f64| jacobian_pattern(&p, "f", &[real::<f64>(1.0), real(2.0), real(c)]).unwrap().rows;
    assert_eq!((rows(1.0), rows(-1.0)), (vec![vec![1], vec![0, 2]], vec![vec![1], vec![1]]));
}

#[test]
fn a_batch_gives_what_each_of_its_points_gives() {
    let p = program(PROGRAMS);
    let f = p.lookup("f").unwrap();
    let arguments: Vec<Vec<Datum<f64>>> = (0..50)
        .map(|k| vec![real(f64::from(k) * 0.13 - 3.0), real(0.9 - f64::from(k) * 0.05)])
        .collect();
    let code = Bytecode::compile(&p, f).unwrap();
    let mut batch = Batch::<f64, 8>::new(code.clone());
    let together = batch.call(&arguments);
    let mut alone = Derivatives::<f64>::new(&p, "f").unwrap();
    for (args, y) in arguments.iter().zip(&together) {
        let expected = alone.value(args).unwrap();
        assert_eq!(
            y.as_ref().unwrap().real().unwrap().to_bits(),
            expected.real().unwrap().to_bits()
        );
    }
    // Zero is decided lane by lane.
    let scaled = Ring::scale(&Lanes([f64::INFINITY, 2.0]), &Lanes([0.0, 3.0]));
    assert_eq!(scaled, Lanes([0.0, 6.0]));
    // Where all agree, eight cost one run.
    let same: Vec<_> = (0..50).map(|k| vec![real(2.1 + f64::from(k) * 1e-9), real(0.5)]).collect();
    let mut batch = Batch::<f64, 8>::new(code);
    assert!(batch.call(&same).iter().all(Result::is_ok));
    assert_eq!(batch.runs(), 7);
    // Gradients, other lengths, other integers; errors belong to who made them.
    let p = program(
        "fn f(xs: array<real>, n: int) { let mut s = 0.0; for i in 0..n { s = s + sqrt(abs(xs[i])); } s }",
    );
    let mut q = p.clone();
    let gradient = ketgrad_core::adjoint::gradient(&mut q, p.lookup("f").unwrap()).unwrap();
    let mut batch = Batch::<f64, 4>::new(Bytecode::compile(&q, gradient).unwrap());
    let set = |xs: &[f64], n: i64| vec![Datum::reals(xs.iter().copied()), Datum::Int(n)];
    let sets = [
        set(&[1.0, 0.25], 2),
        set(&[4.0, -9.0], 2),
        set(&[1.0], 1),
        set(&[2.0, 3.0], 3),
        set(&[16.0, 0.25], 2),
    ];
    let results = batch.call(&sets);
    let mut alone = Derivatives::<f64>::new(&p, "f").unwrap();
    for (args, result) in sets.iter().zip(results) {
        match alone.value_and_gradient(args) {
            Ok((y, g)) => {
                let Datum::Tuple(fields) = result.unwrap() else { panic!("a tuple") };
                assert_eq!((fields[0].clone(), &fields[1..]), (Datum::Real(y), &g[..]));
            }
            Err(_) => assert!(matches!(result, Err(RunError::Index { .. })), "{result:?}"),
        }
    }
}

/// Numbers beside each other may differ in value, ints may not: they are indices and lengths.
#[test]
fn points_whose_lists_of_ints_differ_keep_their_own() {
    let p = program("fn f(xs: array, order: array<int>) { xs[order[0]] - 2 * xs[order[1]] }");
    let code = Bytecode::compile(&p, p.lookup("f").unwrap()).unwrap();
    let set = |order: [i64; 2]| vec![Datum::reals([1.0, 10.0, 100.0]), Datum::ints(order)];
    let sets = [[0, 1], [1, 0], [0, 1], [2, 2], [1, 2]].map(set);
    let found = Batch::<f64, 4>::new(code).call(&sets);
    let found = found.into_iter().map(|y| y.unwrap().real().copied().unwrap());
    assert_eq!(found.collect::<Vec<f64>>(), [-19.0, 8.0, -19.0, -100.0, -190.0]);
}

#[test]
fn arrays_in_a_batch_have_the_bits_that_they_have_alone() {
    let functions = [
        "sum(exp(a))",
        "sum(sin(a))",
        "sum(tanh(a))",
        "dot(cos(a), a)",
        "sum(pow(a * a, 0.3))",
        "sum(atan2(a, 2.0 + a))",
        "sum(hypot(a, 1.0 + a))",
        "det([[x, 1.0], [2.0, x * x]])",
        "sum(solve([[x, 1.0], [1.0, 2.0]], [1.0, 2.0]))",
        "logsumexp([x, 2.0 * x, 1.0])",
        "sum(cholesky([[x, 0.0], [0.0, 1.0 + x]]))",
    ];
    for f in functions {
        let p = program(&format!("fn f(x, a: array) {{ {f} }}"));
        let code = Bytecode::compile(&p, p.lookup("f").unwrap()).unwrap();
        // From numbers that are no pivots to numbers that are.
        let arguments: Vec<Vec<Datum<f64>>> = (0..32)
            .map(|k| {
                let x = 10f64.powi(k - 20);
                vec![real(x), Datum::reals((0..3).map(|j| (x * 0.7 + f64::from(j)).sin()))]
            })
            .collect();
        let together = Batch::<f64, 8>::new(code.clone()).call(&arguments);
        for (args, y) in arguments.iter().zip(together) {
            let alone =
                Batch::<f64, 1>::new(code.clone()).call(std::slice::from_ref(args)).remove(0);
            let bits = |y: &Datum<f64>| y.real().unwrap().to_bits();
            assert_eq!(bits(&y.unwrap()), bits(&alone.unwrap()), "{f} {args:?}");
        }
    }
}

/// Text, arguments, order of the derivative; line and column of what is not finite, and the
/// operation.
type Origin = (&'static str, &'static [f64], usize, Option<(u32, u32, &'static str)>);

#[test]
fn what_makes_a_derivative_nan_is_named() {
    let cases: &[Origin] = &[
        ("fn f(x) { sqrt(x) * sqrt(x) }", &[0.0], 1, Some((1, 21, "mul"))),
        ("fn f(x) { sqrt(x) * sqrt(x) }", &[0.0], 0, None),
        ("fn f(x) { let y = 1 / x;\n 1 / y }", &[0.0], 1, Some((1, 21, "mul"))),
        ("fn f(x) { let y = 1 / x;\n x + y }", &[0.0], 0, Some((1, 21, "div"))),
        ("fn f(x, y) { x * y + y / (x - 1) }", &[1.0, 0.0], 0, Some((1, 24, "div"))),
        ("fn f(x) { let r = hypot(x, 0 * x);\n cosh(r) }", &[0.0], 2, Some((1, 19, "div"))),
        // Of a result that is no number, along the second parameter alone.
        ("fn f(x, y) { [x * x,\n sqrt(y) * x] }", &[0.0, 0.0], 1, Some((2, 10, "mul"))),
        // A function that is called, in a loop.
        (
            "fn g(x) { ln(x) }\nfn f(x) { let mut s = 0.0; for i in 0..3 { s += g(x - real(i)) * 2.0; } s }",
            &[1.0],
            0,
            Some((1, 11, "ln")),
        ),
        // What a choice or a mask drops is none of it.
        (
            "fn f(x) { select(x > 0, ln(x), 0.0) + sum(masked(step([x], 1e-300), [x] * ln([x]), 0.0)) }",
            &[0.0],
            0,
            None,
        ),
    ];
    for (text, at, order, expected) in cases {
        let program = parse_program(text).unwrap();
        let f = Derivatives::<f64>::new(&program, "f").unwrap();
        let at: Vec<_> = at.iter().map(|x| Datum::Real(*x)).collect();
        let found = f.origin_of_nan(&at, *order).unwrap();
        let found = found.as_ref().map(|found| (found.at.line, found.at.column, found.op));
        assert_eq!(found, *expected, "{text}, order {order}");
    }
}
