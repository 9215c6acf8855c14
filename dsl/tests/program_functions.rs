//! Functions of the language as the macro and the text have them: native values on floats and
//! duals, the IR of the macro and that of the text give the same bits, and the gradients in reverse
//! mode are the slopes on duals.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use ketgrad::{
    array::Array,
    exec::{Datum, Derivatives},
    ir::Program,
    pass::Level,
    program,
    scalar::Real,
    text::parse_program,
};
use num_dual::Dual64;

/// Slopes in two modes, which round differently.
const TOLERANCE: f64 = 1e-11;

/// A program, and its text.
macro_rules! both {
    ($($tokens:tt)*) => {
        program! { $($tokens)* }
        const TEXT: &str = stringify!($($tokens)*);
    };
}

mod special {
    use super::*;
    both! {
        fn numbers(x) {
            erf(x) + x.erfc() * lgamma(x + 2.5) + digamma(x + 3) * polygamma(2, x + 3.0) + sigmoid(x) * x.softplus()
                + logaddexp(x, 0.5) + x.logaddexp(1) * x.digamma() + sigmoid(2) + digamma(3) * polygamma(1, 0.5)
        }
        fn arrays(a: array) {
            let z = erf(a) + a.erfc() * lgamma(a + 2.5) + digamma(a) * polygamma(1, a * 2.0) + a.digamma();
            let n = 2;
            sum(log_softmax(z, 1) * sigmoid(a)) + sum(logaddexp(z, softplus(a))) + sum(logaddexp(2.0, z))
                + sum(z.log_softmax(0) * polygamma(n, a))
        }
    }

    #[test]
    fn numbers_and_arrays() {
        let (program, text) = (numbers::ir(), parse_program(TEXT).unwrap());
        for x in [-0.7, 0.3, 4.0] {
            same(&program, &text, "numbers", &[x], None, numbers(x), |x| numbers(x[0]));
        }
        let at = [0.5, -0.3, 1.25, 2.0, 0.1, 3.5];
        let native = arrays(Array::new(&[2, 3], at.to_vec()).unwrap());
        same(&program, &text, "arrays", &at, Some(&[2, 3]), native, |x| {
            arrays(Array::new(&[2, 3], x.to_vec()).unwrap())
        });
    }
}

mod axes {
    use super::*;
    both! {
        fn along(a: array) {
            let c = cumprod(a, 1) * flip(a, 0) + linear_recurrence(a, a * 0.5, 1).slice(1, 1, 3);
            let m = maximum_axis(c, 0) * minimum_axis(a, 0) + a.prod_axis(0);
            let k = argmax_axis(a, 1);
            sum(m) + sum(norm_axis(c, 1) * gather_along(a, k, 1)) + var(a) * std(c) + sum(var_axis(c, 0) * a.std_axis(0))
                + sum(scatter_along(row(a, 0), transpose(a), [1, 0, 1], 1)) * sum(norm_keep(a, 0)) + sum(gather_along(a, argmin_axis(c, 0), 0))
        }
    }

    #[test]
    fn functions_along_axes() {
        let (program, text) = (along::ir(), parse_program(TEXT).unwrap());
        let at = [0.5, -0.3, 1.25, 2.0, 0.1, 3.5];
        let native = along(Array::new(&[2, 3], at.to_vec()).unwrap());
        same(&program, &text, "along", &at, Some(&[2, 3]), native, |x| {
            along(Array::new(&[2, 3], x.to_vec()).unwrap())
        });
    }
}

mod random {
    use super::*;
    both! {
        fn noisy(x, s) {
            let (a, b) = split(key(7));
            let k = fold_in(b, 3);
            let e = x + s * randn(a, [2, 3]);
            mean(e * e) + s * sum(rand(k, [4]))
        }
    }

    #[test]
    fn numbers_from_keys() {
        let (program, text) = (noisy::ir(), parse_program(TEXT).unwrap());
        same(&program, &text, "noisy", &[0.5, 2.0], None, noisy(0.5, 2.0), |x| noisy(x[0], x[1]));
    }
}

mod compared {
    use super::*;
    both! {
        fn signs(x, n: int) {
            let mut list = [x, x, x];
            list[1] = 3.0;
            list[2] = 2.0;
            let k = argsort(&list);
            let big = 9007199254740993;
            let others = [0, 1, 1];
            x * cmp(n, 2) + sum(cmp(k, n) * x) * 10.0 + sum(cmp(1, k)) * 100.0 + sum(cmp(k, others)) * 1000.0
                + cmp(big, 9007199254740992) * 1e4 * x
        }
    }

    #[test]
    fn ints_exactly() {
        // k = 0, 2, 1.
        let right = |x: f64, n: i64| {
            let sign = |a: i64, b: i64| (a - b).signum() as f64;
            let k: f64 = [0, 2, 1].iter().map(|k| sign(*k, n)).sum();
            x * sign(n, 2) + 10.0 * k * x + 1000.0 + 1e4 * x
        };
        for n in [0, 1, 2, 5] {
            assert_eq!(signs(0.5, n), right(0.5, n), "{n}");
            assert_eq!(f64::from(signs(0.5f32, n)), right(0.5, n), "{n}, single");
            for program in [signs::ir(), parse_program(TEXT).unwrap()] {
                let mut d = Derivatives::<f64>::new(&program, "signs").unwrap();
                assert_eq!(
                    d.value(&[Datum::Real(0.5), Datum::Int(n)]).unwrap(),
                    Datum::Real(right(0.5, n))
                );
            }
        }
    }
}

mod earlier_names {
    use super::*;
    both! {
        fn earlier(a: array) {
            let b = spread(2.0, a) * cumsum_back(a, 0) + prod_others(a) + a.take([2, 1, 0]) * like(a, a);
            let c = paste(slice(b, 0, 0, 2), b, 0, 1) + embed(slice(b, 0, 1, 1), a, 0, place(a, [1]));
            sum(c) + sum(take_along(reshape(a, [1, 3]), [1], 1))
        }
    }
    mod now {
        use super::*;
        program! {
            fn earlier(a: array) {
                let b = broadcast_to(2.0, a) * reverse_cumsum(a, 0) + exclusive_prod(a)
                    + a.gather([2, 1, 0]) * reshape_like(a, a);
                let c = dynamic_update_slice(slice(b, 0, 0, 2), b, 0, 1)
                    + pad(slice(b, 0, 1, 1), a, 0, ravel_multi_index(a, [1]));
                sum(c) + sum(gather_along(reshape(a, [1, 3]), [1], 1))
            }
        }
    }

    #[test]
    fn mean_what_the_names_of_today_mean() {
        let text = parse_program(TEXT).unwrap();
        let at = [0.5, -0.3, 1.25];
        let native = now::earlier(Array::new(&[3], at.to_vec()).unwrap());
        same(&earlier::ir(), &text, "earlier", &at, Some(&[3]), native, |x| {
            earlier(Array::new(&[3], x.to_vec()).unwrap())
        });
    }
}

/// All ways to the value and the gradient at a point, of numbers or of one array.
#[track_caller]
fn same(
    program: &Program,
    text: &Program,
    name: &str,
    at: &[f64],
    shape: Option<&[usize]>,
    native: f64,
    on_duals: impl Fn(&[Dual64]) -> Dual64,
) {
    let data: Vec<Datum<f64>> = match shape {
        Some(shape) => vec![Datum::reals_of(shape, at.to_vec()).unwrap()],
        None => at.iter().map(|x| Datum::Real(*x)).collect(),
    };
    for p in [program, text] {
        let mut d = Derivatives::<f64>::new(p, name).unwrap().with_level(Level::None);
        let (value, gradient) = d.value_and_gradient(&data).unwrap();
        assert_eq!(value.to_bits(), native.to_bits(), "{name}: {value} {native}");
        let gradient: Vec<f64> = gradient
            .iter()
            .flat_map(|g| match g {
                Datum::Real(x) => vec![*x],
                Datum::Reals(xs) => xs.to_vec(),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(gradient.len(), at.len());
        for (k, g) in gradient.iter().enumerate() {
            let one = |j: usize| f64::from(u8::from(j == k));
            let duals: Vec<Dual64> =
                at.iter().enumerate().map(|(j, x)| Dual64::new(*x, one(j))).collect();
            let y = on_duals(&duals);
            assert_eq!(y.primal(), Some(native), "{name}");
            assert!((y.eps - g).abs() <= TOLERANCE * (1.0 + g.abs()), "{name}, {k}: {} {g}", y.eps);
        }
    }
}
