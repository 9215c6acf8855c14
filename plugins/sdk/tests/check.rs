//! `check_rule` calls kernels as the host does.

use std::sync::atomic::{AtomicU32, Ordering};

use ketgrad_plugin_sdk::{
    C64, Dense, Element, Operation, Result, RuleDef, Value, ValueMut, View, ViewMut, assert_rule,
    check_rule,
};

/// `a` times the sum of an array, at inputs of these shapes only; its pullback is off by a factor.
struct Scaled {
    shapes: &'static [&'static [u64]],
    result: Vec<u64>,
    factor: f64,
}

impl Dense<f64> for Scaled {
    type Tape = ();
    fn shape(&self, x: &[View<'_, f64>]) -> Result<Vec<u64>> {
        let given: Vec<&[u64]> = x.iter().map(|x| x.shape).collect();
        if given != self.shapes {
            return Err(format!("shapes {given:?}").into());
        }
        Ok(self.result.clone())
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
        y.data[0] = x.iter().map(|x| x.data.iter().sum::<f64>()).product();
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        x: &[View<'_, f64>],
        y: View<'_, f64>,
        y_bar: View<'_, f64>,
        x_bar: &mut [ViewMut<'_, f64>],
    ) -> Result<()> {
        for (bar, x) in x_bar.iter_mut().zip(x) {
            let rest = y.data[0] / x.data.iter().sum::<f64>();
            bar.data.fill(self.factor * rest * y_bar.data[0]);
        }
        Ok(())
    }
}

fn rule(n: u32, signature: &str, shapes: &'static [&'static [u64]]) -> RuleDef {
    RuleDef::new("scaled", n).signature(signature).dense(Scaled {
        shapes,
        result: vec![],
        factor: 1.0,
    })
}

#[test]
fn inputs_are_those_of_the_signature() {
    assert_rule!(rule(2, "(a, xs: array) -> real", &[&[], &[2]]), [[2.0, 0.3, 0.5]]);
    assert_rule!(rule(2, "(xs: array, a) -> real", &[&[2], &[]]), [[0.3, 0.5, 2.0]]);
    assert_rule!(rule(2, "(xs: array, ys: array<real>)", &[&[2], &[2]]), [[0.3, 0.5, 2.0, 1.0]]);
    assert_rule!(rule(1, "(a) -> real", &[&[]]), [[2.0]]);
    assert_rule!(rule(2, "", &[&[], &[]]), [[2.0, 0.3]]);
}

#[test]
fn what_does_not_fit_is_said() {
    let error =
        |rule: &RuleDef, point: &[f64]| check_rule(rule, point).map_err(|e| e.to_string()).err();
    for (rule, point, words) in [
        (rule(1, "(a) -> real", &[&[]]), &[2.0, 0.3][..], "takes 1 numbers, and arrays where"),
        (rule(2, "(a, xs: array)", &[&[], &[2]]), &[], "takes 1 numbers and 1 arrays"),
        (rule(2, "(xs: array, ys: array)", &[]), &[1.0, 2.0, 3.0], "2 arrays of one length"),
        (rule(2, "(a) -> real", &[]), &[1.0], "has 1 inputs, the rule 2"),
        (rule(1, "a -> real", &[]), &[1.0], "is not of the form"),
        (rule(2, "(n: int, a)", &[&[], &[]]), &[1.5, 2.0], "takes an int where the point has 1.5"),
        (
            RuleDef::new("scaled", 1).dense(Scaled {
                shapes: &[&[]],
                result: vec![1],
                factor: 1.0,
            }),
            &[2.0],
            "its result has 1 dimensions; its signature says 0",
        ),
        (
            rule(1, "(a) -> real", &[&[]]).dense(Scaled {
                shapes: &[&[]],
                result: vec![],
                factor: 1.1,
            }),
            &[2.0],
            "differences give",
        ),
    ] {
        let said = error(&rule, point);
        assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{words}: {said:?}");
    }
    // There is no derivative by an int.
    assert_eq!(error(&rule(2, "(n: int, a) -> real", &[&[], &[]]), &[3.0, 2.0]), None);
}

/// Change of a pullback's cotangent, at one place of a number of places.
type Back<T> = fn(&[T], T, usize, usize) -> T;

/// The squares of an array; the pullback says what is at each place.
struct Squares<T> {
    back: Back<T>,
    calls: AtomicU32,
    drifts: bool,
}

impl<T: Element + std::ops::Mul<Output = T>> Dense<T> for Squares<T> {
    type Tape = ();
    fn shape(&self, x: &[View<'_, T>]) -> Result<Vec<u64>> {
        Ok(x[0].shape.to_vec())
    }
    fn forward(&self, x: &[View<'_, T>], y: ViewMut<'_, T>) -> Result<()> {
        y.data.iter_mut().zip(x[0].data).for_each(|(y, x)| *y = *x * *x);
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        x: &[View<'_, T>],
        _: View<'_, T>,
        y_bar: View<'_, T>,
        x_bar: &mut [ViewMut<'_, T>],
    ) -> Result<()> {
        let n = y_bar.data.len();
        for (k, bar) in x_bar[0].data.iter_mut().enumerate() {
            *bar = (self.back)(y_bar.data, x[0].data[k], k, n);
        }
        if self.drifts && self.calls.fetch_add(1, Ordering::Relaxed) % 4 == 3 {
            x_bar[0].data[0] = T::default();
        }
        Ok(())
    }
}

fn squares<T: Element + std::ops::Mul<Output = T>>(back: Back<T>, drifts: bool) -> RuleDef {
    let dense = Squares { back, calls: AtomicU32::new(0), drifts };
    RuleDef::new("squares", 1).signature("(xs: array) -> array").dense(dense)
}

#[test]
fn wrong_pullbacks_are_refused() {
    let point = [0.3, -1.2, 2.0];
    let error = |rule: &RuleDef| check_rule(rule, &point).map_err(|e| e.to_string()).err();
    let right: Back<f64> = |b, x, k, _| 2.0 * x * b[k];
    assert_eq!(error(&squares(right, false)), None);
    let wrong: [(Back<f64>, &str); 6] = [
        (|_, x, _, _| 2.0 * x, "for the cotangent [1.0, 0.0, 0.0]"),
        (|b, x, k, _| 2.0 * x * b[k] * b[k], "it is not linear"),
        (|b, x, k, _| 2.0 * x * b[k].abs(), "it is not linear"),
        (|b, x, k, n| 2.0 * x * b[n - 1 - k], "gives 0 for element 0 of input 0"),
        (|b, x, _, _| 2.0 * x * b.iter().sum::<f64>(), "element 1 of input 0"),
        (|b, x, k, n| if k + 1 == n { 0.0 } else { 2.0 * x * b[k] }, "element 2 of input 0"),
    ];
    for (k, (back, words)) in wrong.into_iter().enumerate() {
        let said = error(&squares(back, false));
        assert!(said.as_ref().is_some_and(|said| said.contains(words)), "{k}: {said:?}");
    }
    let said = error(&squares(right, true)).unwrap_or_default();
    assert!(!said.is_empty(), "answers that change");
}

#[test]
fn complex_pullbacks_are_compared() {
    let point = [0.3, -1.2, 2.0];
    let error = |back: Back<C64>| {
        check_rule(&squares(back, false), &point).map_err(|e| e.to_string()).err()
    };
    assert_eq!(error(|b, z, k, _| 2.0 * z.conj() * b[k]), None);
    for (k, back) in [
        (|b, z, k, _| 2.0 * z * b[k]) as Back<C64>,
        |b, z, k, _| 2.0 * z.conj() * b[k].re,
        |b, z, k, _| C64::from((2.0 * z.conj() * b[k]).re),
    ]
    .into_iter()
    .enumerate()
    {
        assert!(error(back).is_some_and(|said| said.contains("differences give")), "{k}");
    }
}

#[test]
fn kernels_that_remember_are_refused() {
    let calls = AtomicU32::new(0);
    let drifts = RuleDef::new("drifts", 1)
        .c64(move |z| z[0] + f64::from(calls.fetch_add(1, Ordering::Relaxed)));
    assert!(check_rule(&drifts, &[1.0]).is_err_and(|e| e.to_string().contains("gives two values")));
    // Where it has a kink nothing can be compared.
    let at_a_kink =
        check_rule(&RuleDef::new("size", 1).signature("(a) -> real").dense(Size), &[0.00001]);
    assert!(at_a_kink.is_err_and(|e| e.to_string().contains("is not smooth")));
}

struct Size;

impl Dense<f64> for Size {
    type Tape = ();
    fn shape(&self, _: &[View<'_, f64>]) -> Result<Vec<u64>> {
        Ok(vec![])
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
        y.data[0] = x[0].data[0].abs();
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        x: &[View<'_, f64>],
        _: View<'_, f64>,
        y_bar: View<'_, f64>,
        x_bar: &mut [ViewMut<'_, f64>],
    ) -> Result<()> {
        x_bar[0].data[0] = x[0].data[0].signum() * y_bar.data[0];
        Ok(())
    }
}

/// `a conj(z)` for each z of an array, and the sum of the squared moduli; with a fault.
struct Moments(&'static str);

impl Operation for Moments {
    type Tape = ();
    fn shapes(&self, x: &[Value<'_>]) -> Result<Vec<Vec<u64>>> {
        let all = vec![x[1].shape().to_vec(), vec![]];
        Ok(match self.0 {
            "one shape" => all[..1].to_vec(),
            "a row" => vec![all[0].clone(), vec![1]],
            _ => all,
        })
    }
    fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<()> {
        let (a, z) = (x[0].real()?.data[0], x[1].complex()?.data);
        y[0].complex()?.data.iter_mut().zip(z).for_each(|(y, z)| *y = a * z.conj());
        let squares = z.iter().map(C64::norm_sqr).sum();
        if self.0 == "kind" {
            y[1].complex()?;
        }
        y[1].real()?.data[0] = if self.0 == "infinite" { f64::INFINITY } else { squares };
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        x: &[Value<'_>],
        _: &[Value<'_>],
        y_bar: &[Value<'_>],
        x_bar: &mut [ValueMut<'_>],
    ) -> Result<()> {
        let (a, z) = (x[0].real()?.data[0], x[1].complex()?.data);
        let (rows, squares) = (y_bar[0].complex()?.data, y_bar[1].real()?.data[0]);
        let squares = if self.0 == "forgets" { 1.0 } else { squares };
        x_bar[0].real()?.data[0] = rows.iter().zip(z).map(|(b, z)| (b * z).re).sum();
        for ((bar, b), z) in x_bar[1].complex()?.data.iter_mut().zip(rows).zip(z) {
            let row = if self.0 == "holomorphic" { *b } else { b.conj() };
            *bar = a * row + 2.0 * squares * z;
        }
        Ok(())
    }
}

#[test]
fn operations_are_checked_for_every_result() {
    let rule = |fault: &'static str| {
        let signature = "(a, zs: array<complex>) -> (array<complex>, real)";
        RuleDef::new("moments", 2).signature(signature).operation(Moments(fault))
    };
    let points = [[0.7, 0.3, -0.5], [-1.2, 0.4, 2.0]];
    assert_rule!(rule(""), points);
    for (fault, words) in [
        ("one shape", "1 shapes; its signature has 2 results"),
        ("a row", "its result 1 has 1 dimensions; its signature says a number"),
        ("kind", "expected complex numbers, given real ones"),
        ("infinite", "result 1 of `moments` is not finite"),
        ("forgets", "of input 1, differences give"),
        ("holomorphic", "of input 1, differences give"),
    ] {
        let error = check_rule(&rule(fault), &points[0]).unwrap_err().to_string();
        assert!(error.contains(words), "{fault}: {error}");
    }
}
