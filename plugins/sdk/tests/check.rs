//! `check_rule` calls kernels as the host does.

use ketgrad_plugin_sdk::{Dense, Result, RuleDef, View, ViewMut, assert_rule, check_rule};

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
    RuleDef::new("scaled", n).signature(signature).dense(Scaled { shapes, result: vec![], factor: 1.0 })
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
    let error = |rule: &RuleDef, point: &[f64]| check_rule(rule, point).map_err(|e| e.to_string()).err();
    for (rule, point, words) in [
        (rule(1, "(a) -> real", &[&[]]), &[2.0, 0.3][..], "takes 1 numbers, and arrays where"),
        (rule(2, "(a, xs: array)", &[&[], &[2]]), &[], "takes 1 numbers and 1 arrays"),
        (rule(2, "(xs: array, ys: array)", &[]), &[1.0, 2.0, 3.0], "2 arrays of one length"),
        (rule(2, "(a) -> real", &[]), &[1.0], "has 1 inputs, the rule 2"),
        (rule(1, "a -> real", &[]), &[1.0], "is not of the form"),
        (rule(2, "(n: int, a)", &[&[], &[]]), &[1.5, 2.0], "takes an int where the point has 1.5"),
        (
            RuleDef::new("scaled", 1).dense(Scaled { shapes: &[&[]], result: vec![1], factor: 1.0 }),
            &[2.0],
            "its result has 1 dimensions; its signature says 0",
        ),
        (
            rule(1, "(a) -> real", &[&[]]).dense(Scaled { shapes: &[&[]], result: vec![], factor: 1.1 }),
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
