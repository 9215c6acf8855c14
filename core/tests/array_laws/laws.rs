//! Laws of derivatives of functions of arrays, at given shapes.

use ketgrad_core::{
    exec::{Datum, Derivatives},
    ir::Program,
    text::parse_program,
};
use num_complex::Complex;
use num_dual::Dual64;

use support::random::Rng;

/// Two ways of computing the same derivative.
const TOLERANCE: f64 = 1e-8;
/// Central differences with a step of 1e-5.
const DIFFERENCE: f64 = 1e-6;
const STEP: f64 = 1e-5;

type C = Complex<f64>;
type D = Complex<Dual64>;

pub(crate) fn kind(text: &str, complex: bool) -> Program {
    let (k, c) = if complex { ("array<complex>", "conj(a)") } else { ("array", "a") };
    parse_program(&text.replace("{k}", k).replace("{c}", c))
        .unwrap_or_else(|e| panic!("{}: {text}", e[0]))
}

/// The numbers of a value, real ones as complex.
fn numbers(d: &Datum<C>) -> Vec<C> {
    match d {
        Datum::Real(x) => vec![Complex::new(*x, 0.0)],
        Datum::Complex(z) => vec![*z],
        Datum::Reals(xs) => xs.iter().map(|x| Complex::new(*x, 0.0)).collect(),
        Datum::Complexes(zs) => zs.to_vec(),
        Datum::Tuple(fields) => fields.iter().flat_map(numbers).collect(),
        _ => vec![],
    }
}

/// The derivatives that dual numbers carry.
fn slopes(d: &Datum<D>) -> Vec<C> {
    let slope = |z: &D| Complex::new(z.re.eps, z.im.eps);
    match d {
        Datum::Real(x) => vec![Complex::new(x.eps, 0.0)],
        Datum::Complex(z) => vec![slope(z)],
        Datum::Reals(xs) => xs.iter().map(|x| Complex::new(x.eps, 0.0)).collect(),
        Datum::Complexes(zs) => zs.iter().map(slope).collect(),
        Datum::Tuple(fields) => fields.iter().flat_map(slopes).collect(),
        _ => vec![],
    }
}

/// A random value like another one.
fn random(d: &Datum<C>, rng: &mut Rng) -> Datum<C> {
    match d {
        Datum::Real(_) => Datum::Real(rng.signed()),
        Datum::Complex(_) => Datum::Complex(Complex::new(rng.signed(), rng.signed())),
        Datum::Reals(xs) => {
            Datum::reals_of(&xs.shape(), xs.iter().map(|_| rng.signed()).collect()).unwrap()
        }
        Datum::Complexes(zs) => {
            let items = zs.iter().map(|_| Complex::new(rng.signed(), rng.signed())).collect();
            Datum::complexes_of(&zs.shape(), items).unwrap()
        }
        other => other.clone(),
    }
}

fn combined(x: &Datum<C>, d: &Datum<C>, h: f64) -> Datum<C> {
    match (x, d) {
        (Datum::Reals(x), Datum::Reals(d)) => {
            Datum::reals_of(&x.shape(), x.iter().zip(d.iter()).map(|(x, d)| x + h * d).collect())
                .unwrap()
        }
        (Datum::Complexes(x), Datum::Complexes(d)) => Datum::complexes_of(
            &x.shape(),
            x.iter().zip(d.iter()).map(|(x, d)| x + d * h).collect(),
        )
        .unwrap(),
        _ => x.clone(),
    }
}

fn dual(x: &Datum<C>, d: &Datum<C>) -> Datum<D> {
    match (x, d) {
        (Datum::Reals(x), Datum::Reals(d)) => {
            let items = x.iter().zip(d.iter()).map(|(x, d)| Dual64::new(*x, *d)).collect();
            Datum::reals_of(&x.shape(), items).unwrap()
        }
        (Datum::Complexes(x), Datum::Complexes(d)) => {
            let part = |a, b| Dual64::new(a, b);
            let both = x.iter().zip(d.iter());
            let items =
                both.map(|(x, d)| Complex::new(part(x.re, d.re), part(x.im, d.im))).collect();
            Datum::complexes_of(&x.shape(), items).unwrap()
        }
        _ => Datum::Int(0),
    }
}

fn pairing(a: &[C], b: &[C]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| (a.conj() * b).re).sum()
}

#[track_caller]
fn close(a: &[C], b: &[C], tolerance: f64, what: &str) {
    assert_eq!(a.len(), b.len(), "{what}");
    for (x, y) in a.iter().zip(b) {
        let size = 1.0 + x.norm() + y.norm();
        assert!((x - y).norm() <= tolerance * size, "{what}:\n{a:?}\n{b:?}");
    }
}

fn point(shape: &[usize], complex: bool, case: &Case, rng: &mut Rng) -> Datum<C> {
    let n: usize = shape.iter().product();
    let square = case.diagonal && shape.len() == 2 && shape[0] == shape[1];
    let moved = |k: usize| match square {
        true if k % shape[1] != k / shape[1] => 0.0,
        true => case.shift + shape[1] as f64,
        false => case.shift,
    };
    if complex {
        let items = (0..n).map(|k| Complex::new(rng.signed() + moved(k), rng.signed())).collect();
        Datum::complexes_of(shape, items).unwrap()
    } else {
        Datum::reals_of(shape, (0..n).map(|k| rng.signed() + moved(k)).collect()).unwrap()
    }
}

/// The shapes of the arguments, several times.
pub(crate) type Shapes = &'static [&'static [&'static [usize]]];

/// A function of arrays. `{k}` in the source stands for the kind of the arrays, `{c}` for the
/// conjugate of `a`.
#[derive(Clone, Copy)]
pub(crate) struct Case {
    pub(crate) source: &'static str,
    /// Shapes of the arguments to try it on.
    pub(crate) shapes: Shapes,
    /// True if it has a meaning on complex numbers.
    pub(crate) complex: bool,
    /// Added to all elements, or to the diagonal of square matrices, and their order besides: keeps
    /// them in the domain.
    pub(crate) shift: f64,
    pub(crate) diagonal: bool,
}

/// The function, and a loss made of it, on each number type.
struct Tried {
    f: Derivatives<'static, C>,
    loss: Derivatives<'static, C>,
    f_on_duals: Derivatives<'static, D>,
    loss_on_duals: Derivatives<'static, D>,
}

/// Checks a case at the given shapes of its arguments.
pub(crate) fn laws(case: &Case, shapes: &[Vec<Vec<usize>>], complex: bool) {
    let program = kind(case.source, complex);
    let loss = kind(
        &format!("{}\nfn loss(PARAMS) {{ let y = f(ARGS); sum(sin(abs2(y * 1.0))) }}", case.source)
            .replace("PARAMS", &params(case.source))
            .replace("ARGS", &names(case.source).join(", ")),
        complex,
    );
    let mut tried = Tried {
        f: Derivatives::new(&program, "f").unwrap(),
        loss: Derivatives::new(&loss, "loss").unwrap(),
        f_on_duals: Derivatives::new(&program, "f").unwrap(),
        loss_on_duals: Derivatives::new(&loss, "loss").unwrap(),
    };
    for (k, shapes) in shapes.iter().enumerate() {
        let what = format!("{} on {shapes:?}, complex: {complex}", case.source);
        let mut rng = Rng::new(k as u64 + 17);
        let args: Vec<Datum<C>> =
            shapes.iter().map(|s| point(s, complex, case, &mut rng)).collect();
        tried.at(&args, &mut rng, &what);
    }
}

/// The complex program on real numbers gives what the real one does.
pub(crate) fn complex_programs_contain_real_ones(case: &Case, shapes: &[Vec<Vec<usize>>]) {
    let [mut real, mut complex] = [false, true]
        .map(|complex| Derivatives::<C>::new(&kind(case.source, complex), "f").unwrap());
    for (k, shapes) in shapes.iter().enumerate() {
        let what = format!("{} on {shapes:?}", case.source);
        let mut rng = Rng::new(k as u64 + 17);
        let args: Vec<Datum<C>> = shapes.iter().map(|s| point(s, false, case, &mut rng)).collect();
        let promoted: Vec<Datum<C>> =
            args.iter().map(|x| Datum::complexes_of(&shape(x), numbers(x)).unwrap()).collect();
        let (x, z) = (real.value(&args).unwrap(), complex.value(&promoted).unwrap());
        assert_eq!(shape(&x), shape(&z), "{what}");
        close(&numbers(&x), &numbers(&z), TOLERANCE, &what);
    }
}

impl Tried {
    fn at(&mut self, args: &[Datum<C>], rng: &mut Rng, what: &str) {
        let dots: Vec<Datum<C>> = args.iter().map(|x| random(x, rng)).collect();
        let (y, y_dot) = self.f.jvp(args, &dots).unwrap_or_else(|e| panic!("{e}: {what}"));
        let y_bar = random(&y, rng);
        let (again, bars) =
            self.f.vjp(args, y_bar.clone()).unwrap_or_else(|e| panic!("{e}: {what}"));
        assert_eq!(y, again, "{what}");
        for (bar, x) in bars.iter().zip(args) {
            assert_eq!(shape(bar), shape(x), "a cotangent has the shape of its argument: {what}");
        }
        let flat = |all: &[Datum<C>]| all.iter().flat_map(numbers).collect::<Vec<_>>();
        let (left, right) =
            (pairing(&numbers(&y_bar), &numbers(&y_dot)), pairing(&flat(&bars), &flat(&dots)));
        assert!((left - right).abs() <= TOLERANCE * (1.0 + left.abs()), "{what}: {left} {right}");
        // Dual numbers and differences.
        let duals: Vec<Datum<D>> = args.iter().zip(&dots).map(|(x, d)| dual(x, d)).collect();
        let by_duals = self.f_on_duals.value(&duals).unwrap_or_else(|e| panic!("{e}: {what}"));
        close(&slopes(&by_duals), &numbers(&y_dot), TOLERANCE, what);
        let mut moved = |h: f64| {
            let args: Vec<Datum<C>> =
                args.iter().zip(&dots).map(|(x, d)| combined(x, d, h)).collect();
            numbers(&self.f.value(&args).unwrap())
        };
        let (plus, minus) = (moved(STEP), moved(-STEP));
        let quotient: Vec<C> =
            plus.iter().zip(&minus).map(|(a, b)| (a - b) / (2.0 * STEP)).collect();
        close(&quotient, &numbers(&y_dot), DIFFERENCE, what);
        // Second derivatives: forward over reverse, and dual numbers through the gradient.
        let (_, along) = self.loss.hvp(args, &dots).unwrap_or_else(|e| panic!("{e}: {what}"));
        let gradient =
            self.loss_on_duals.gradient(&duals).unwrap_or_else(|e| panic!("{e}: {what}"));
        let gradient: Vec<C> = gradient.iter().flat_map(slopes).collect();
        close(&gradient, &flat(&along), TOLERANCE * 100.0, what);
    }
}

/// `a: {k}, b: {k}` and `a, b`.
fn params(source: &str) -> String {
    source[source.find('(').unwrap() + 1..source.find(')').unwrap()].to_owned()
}
fn names(source: &str) -> Vec<String> {
    params(source).split(", ").map(|p| p.split(':').next().unwrap().to_owned()).collect()
}

fn shape(d: &Datum<C>) -> Vec<usize> {
    match d {
        Datum::Reals(xs) => xs.shape().to_vec(),
        Datum::Complexes(zs) => zs.shape().to_vec(),
        _ => vec![],
    }
}

/// A product of `k` terms is off by little more than its rounding, however long `k` is: also of
/// numbers that have no product in blocks, for every side that may be transposed.
#[test]
fn long_products_are_summed_in_parts() {
    let k = 300_000;
    let (a, b): (Vec<f32>, Vec<f32>) =
        (0..k).map(|l| (0.1 + (l % 7) as f32 * 0.01, 0.3 + (l % 5) as f32 * 0.02)).unzip();
    let exact: f64 = a.iter().zip(&b).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let row = ketgrad_core::array::Array::new(&[1, k], a.clone()).unwrap();
    let column = ketgrad_core::array::Array::new(&[k, 1], b.clone()).unwrap();
    let (tall, wide) = (
        ketgrad_core::array::Array::new(&[k, 1], a).unwrap(),
        ketgrad_core::array::Array::new(&[1, k], b).unwrap(),
    );
    let mut y = ketgrad_core::array::Array::default();
    for (x, z, first, second) in
        [(&row, &column, false, false), (&tall, &column, true, false), (&row, &wide, false, true)]
    {
        ketgrad_core::array::matmul(x, z, first, second, &mut y).unwrap();
        assert!(
            (f64::from(y[0]) - exact).abs() < 1e-6 * exact,
            "{first} {second}: {} for {exact}",
            y[0]
        );
    }
    // Of whole numbers every sum is exact, at all lengths around those at which it is cut.
    let whole = |n: usize, seed: usize| {
        (0..n).map(|k| ((k * 7 + seed) % 11) as f32 - 5.0).collect::<Vec<_>>()
    };
    for k in [1, 2, 510, 511, 512, 513, 514, 767, 1023, 1024, 1025, 1536, 1537, 2049, 3001] {
        let (m, n) = (3, 2);
        let (a, b) = (whole(m * k, 1), whole(k * n, 4));
        let right: Vec<f32> =
            (0..m * n).map(|e| (0..k).map(|l| a[e / n * k + l] * b[l * n + e % n]).sum()).collect();
        let turned = |x: &[f32], rows: usize, columns: usize| -> Vec<f32> {
            (0..rows * columns).map(|e| x[e % rows * columns + e / rows]).collect()
        };
        let new = |shape: &[usize], x: Vec<f32>| ketgrad_core::array::Array::new(shape, x).unwrap();
        let (plain_a, plain_b) = (new(&[m, k], a.clone()), new(&[k, n], b.clone()));
        let (turned_a, turned_b) = (new(&[k, m], turned(&a, m, k)), new(&[n, k], turned(&b, k, n)));
        for (x, z, first, second) in [
            (&plain_a, &plain_b, false, false),
            (&turned_a, &plain_b, true, false),
            (&plain_a, &turned_b, false, true),
        ] {
            ketgrad_core::array::matmul(x, z, first, second, &mut y).unwrap();
            assert_eq!(y.items(), right, "{k}, {first} {second}");
        }
    }
}
