//! Random numbers from keys: the published answers of the cipher, distributions, independence of
//! shapes and number types, and gradients that pass by.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use ketgrad_core::{
    emit::{emit_rust, emit_text},
    exec::{Datum, Derivatives},
    scalar::{Real, threefry},
    text::parse_program,
};
use num_complex::Complex;
use num_dual::Dual64;

fn run<T: Real>(source: &str, args: &[Datum<T>]) -> Datum<T> {
    let program = parse_program(source).unwrap_or_else(|e| panic!("{source}: {}", e[0]));
    Derivatives::<T>::new(&program, "f").unwrap().value(args).unwrap()
}

fn numbers(d: &Datum<f64>) -> Vec<f64> {
    match d {
        Datum::Reals(x) => x.to_vec(),
        Datum::Real(x) => vec![*x],
        other => panic!("{other:?}"),
    }
}

fn block(words: [u32; 2]) -> i64 {
    (u64::from(words[0]) << 32 | u64::from(words[1])).cast_signed()
}

/// From `kat_vectors` of Random123: key, counter, block.
#[test]
fn the_cipher_gives_the_published_answers() {
    for (key, counter, answer) in [
        ([0, 0], [0, 0], [0x6b20_0159, 0x99ba_4efe]),
        ([u32::MAX; 2], [u32::MAX; 2], [0x1cb9_96fc, 0xbb00_2be7]),
        ([0x1319_8a2e, 0x0370_7344], [0x243f_6a88, 0x85a3_08d3], [0xc492_3a9c, 0x483d_f7a0]),
    ] {
        assert_eq!(threefry(block(key), block(counter)), block(answer));
        let args = [Datum::<f64>::Int(block(key)), Datum::Int(block(counter))];
        let source = "fn f(k: int, n: int) -> int { fold_in(k, n) }";
        assert_eq!(run(source, &args), Datum::Int(block(answer)));
    }
}

/// From the words of blocks, in integers.
#[test]
fn numbers_are_made_of_blocks() {
    let source = "fn f(n: int) -> array { let (a, b) = split(key(n)); concat(rand(a, [3]), rand(b, [2]), 0) }";
    let found = numbers(&run(source, &[Datum::Int(7)]));
    let uniform = |key: i64, k: i64| {
        let bits = threefry(threefry(key, -1), k).cast_unsigned() >> 11;
        bits as f64 / (1u64 << 53) as f64
    };
    let (a, b) = (threefry(7, 0), threefry(7, 1));
    assert_eq!(found, [uniform(a, 0), uniform(a, 1), uniform(a, 2), uniform(b, 0), uniform(b, 1)]);
    assert_ne!(a, b);
    // The same digits on every machine.
    let source = "fn f() -> array { randn(key(0), [3]) }";
    let normal = numbers(&run(source, &[]));
    let by_hand = |k: i64| {
        let key = threefry(0, -2);
        let [u, v] = [2 * k, 2 * k + 1]
            .map(|k| (threefry(key, k).cast_unsigned() >> 11) as f64 / (1u64 << 53) as f64);
        (-2.0 * (1.0 - u).ln()).sqrt() * (2.0 * std::f64::consts::PI * v).cos()
    };
    for (k, x) in (0..).zip(&normal) {
        assert!((x - by_hand(k)).abs() < 1e-14, "{x} {}", by_hand(k));
    }
}

#[test]
fn shapes_number_types_and_ways_to_run_do_not_matter() {
    let source = "fn f(k: int) -> array { reshape(randn(k, [4, 3]), [-1]) }";
    let longer = "fn f(k: int) -> array { slice(randn(k, [20]), 0, 0, 12) }";
    let args = [Datum::Int(-5)];
    assert_eq!(numbers(&run(source, &args)), numbers(&run(longer, &args)));
    let once = numbers(&run(source, &args));
    let Datum::Reals(single) = run::<f32>(source, &[Datum::Int(-5)]) else { panic!("an array") };
    assert!(single.iter().zip(&once).all(|(a, b)| *a == *b as f32));
    let Datum::Reals(dual) = run::<Dual64>(source, &[Datum::Int(-5)]) else { panic!("an array") };
    assert!(dual.iter().zip(&once).all(|(a, b)| a.re == *b && a.eps == 0.0));
    #[cfg(feature = "jit")]
    {
        let source = "fn f(k0: int, n: int) { let mut k = k0; let mut s = 0.0; for i in 0..n { k = fold_in(k, i); s += rand(k, [2])[1]; } s }";
        let program = parse_program(source).unwrap();
        let args = [Datum::Int(9), Datum::Int(20)];
        let plain = Derivatives::<f64>::new(&program, "f").unwrap().value(&args).unwrap();
        assert_eq!(
            Derivatives::<f64>::new(&program, "f").unwrap().with_jit().value(&args).unwrap(),
            plain
        );
    }
}

/// Mean, variance, third and fourth moments within five standard errors, and no correlation between
/// neighbours or keys.
#[test]
fn distributions_are_what_they_are_called() {
    let n = 20_000;
    let moments = |x: &[f64]| {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let central = |k: i32| x.iter().map(|x| (x - mean).powi(k)).sum::<f64>() / x.len() as f64;
        [mean, central(2), central(3), central(4)]
    };
    let error = (n as f64).sqrt().recip();
    let uniform = numbers(&run(&format!("fn f() -> array {{ rand(key(3), [{n}]) }}"), &[]));
    assert!(uniform.iter().all(|x| (0.0..1.0).contains(x)));
    for (found, (right, deviation)) in moments(&uniform).into_iter().zip([
        (0.5, 0.29),
        (1.0 / 12.0, 0.075),
        (0.0, 0.03),
        (1.0 / 80.0, 0.02),
    ]) {
        assert!((found - right).abs() < 5.0 * deviation * error, "{found} {right}");
    }
    let normal = numbers(&run(&format!("fn f() -> array {{ randn(key(3), [{n}]) }}"), &[]));
    for (found, (right, deviation)) in
        moments(&normal).into_iter().zip([(0.0, 1.0), (1.0, 1.42), (0.0, 3.9), (3.0, 9.8)])
    {
        assert!((found - right).abs() < 5.0 * deviation * error, "{found} {right}");
    }
    let source =
        format!("fn f() {{ let (a, b) = split(key(3)); mean(randn(a, [{n}]) * randn(b, [{n}])) }}");
    assert!(numbers(&run(&source, &[]))[0].abs() < 5.0 * error);
    let neighbours = normal.windows(2).map(|w| w[0] * w[1]).sum::<f64>() * error * error;
    assert!(neighbours.abs() < 5.0 * error, "{neighbours}");
    // In the tails as often as it should be: |x| > 3 with probability .0027.
    let far = normal.iter().filter(|x| x.abs() > 3.0).count() as f64 * error * error;
    assert!((far - 0.0027).abs() < 5.0 * 0.052 * error, "{far}");
}

/// The reparametrised gradient of `E (m + s e)^2` is that of the numbers drawn; none passes through
/// the key. This key's number is nearer to 1 than single precision tells.
#[test]
fn single_precision_stays_below_one() {
    let source = "fn f() { rand(key(1825420), [1])[0] }";
    let double = run::<f64>(source, &[]);
    assert!(*double.real().unwrap() > 1.0 - 1e-9 && *double.real().unwrap() < 1.0);
    assert_eq!(run::<f32>(source, &[]), Datum::Real(1.0_f32.next_down()));
}

#[test]
fn gradients_pass_by_the_numbers() {
    let source = "fn f(m, s, k: int) { let x = m + s * randn(k, [50]); mean(x * x) }";
    let program = parse_program(source).unwrap();
    let args = [Datum::Real(0.5), Datum::Real(2.0), Datum::Int(11)];
    let drawn = numbers(&run("fn f(k: int) -> array { randn(k, [50]) }", &args[2..]));
    let mean = |f: &dyn Fn(f64) -> f64| drawn.iter().map(|e| f(*e)).sum::<f64>() / 50.0;
    let right = [mean(&|e| 2.0 * (0.5 + 2.0 * e)), mean(&|e| 2.0 * (0.5 + 2.0 * e) * e)];
    let mut d = Derivatives::<f64>::new(&program, "f").unwrap();
    let g = d.gradient(&args).unwrap();
    assert_eq!(g.len(), 2);
    for (g, right) in g.iter().zip(right) {
        assert!((g.real().unwrap() - right).abs() < 1e-13);
    }
    let h = d.hessian(&args).unwrap();
    assert!((h[1][1] - mean(&|e| 2.0 * e * e)).abs() < 1e-13 && (h[0][0] - 2.0).abs() < 1e-13);
    let mut z = Derivatives::<Complex<f64>>::new(&program, "f").unwrap();
    let args = [Datum::Real(0.5), Datum::Real(2.0), Datum::Int(11)];
    assert!((z.gradient(&args).unwrap()[1].real().unwrap() - right[1]).abs() < 1e-13);
}

#[test]
fn wrong_uses_are_errors() {
    for (source, words) in [
        ("fn f(x) { rand(x, [2])[0] }", "expected int, given real"),
        ("fn f() { rand(key(1.5), [2])[0] }", "expected int"),
        ("fn f() { rand(key(1), 2)[0] }", "array<int>"),
    ] {
        let errors = parse_program(source).unwrap_err();
        assert!(errors[0].to_string().contains(words), "{source}: {}", errors[0]);
    }
    let program = parse_program("fn f(n: int) { sum(rand(key(1), [n, n])) }").unwrap();
    let error =
        Derivatives::<f64>::new(&program, "f").unwrap().value(&[Datum::Int(-2)]).unwrap_err();
    assert!(error.to_string().contains("a shape of [-2, -2]"), "{error}");
    let error =
        Derivatives::<f64>::new(&program, "f").unwrap().value(&[Datum::Int(1 << 31)]).unwrap_err();
    assert!(error.to_string().starts_with("1:"), "{error}");
}

#[test]
fn written_out_they_are_read_again() {
    let source = "fn f(x, k: int) { let (a, b) = split(k); x * sum(rand(a, [3])) + randn(fold_in(b, 4), [2, 2])[1, 0] }";
    let program = parse_program(source).unwrap();
    let f = program.lookup("f").unwrap();
    let text = emit_text(&program, f).unwrap();
    let args = [Datum::<f64>::Real(0.8), Datum::Int(2)];
    assert_eq!(run(&text, &args), run(source, &args), "{text}");
    let rust = emit_rust(&program, &[f]).unwrap();
    for helper in ["fold_in", "array_rand", "array_randn"] {
        assert_eq!(rust.matches(&format!("\nfn {helper}(")).count(), 1, "{helper}");
    }
}
