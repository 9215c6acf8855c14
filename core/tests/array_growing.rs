//! Arrays that grow at their end and are cut off there: worked on in place where nothing else has
//! them, against rows that are copied.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use ketgrad_core::{
    array::Array,
    exec::{Datum, Derivatives},
    pass::Level,
    scalar::Real,
    text::parse_program,
};
use support::random::Rng;

/// Layout of units, rows or numbers, in an array: the shape of n of them, and their text.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// `[n]`
    Vector,
    /// `[n, 3]`, along the first axis
    Rows,
    /// `[1, n]`, along the second
    Line,
    /// `[2, n]`, along the second, where nothing is done in place: a unit is a column.
    Columns,
}

impl Form {
    fn width(self) -> usize {
        match self {
            Form::Vector | Form::Line => 1,
            Form::Rows => 3,
            Form::Columns => 2,
        }
    }
    fn axis(self) -> usize {
        usize::from(matches!(self, Form::Line | Form::Columns))
    }
    /// The coefficients of x in the order of the array.
    fn items(self, units: &[Vec<f64>]) -> Vec<f64> {
        match self {
            Form::Columns => (0..2).flat_map(|k| units.iter().map(move |u| u[k])).collect(),
            _ => units.concat(),
        }
    }
    /// An array of some units, each number a multiple of x.
    fn text(self, units: &[Vec<f64>]) -> String {
        let number = |c: &f64| format!("{c:?} * x");
        let list = |items: Vec<f64>| {
            format!("[{}]", items.iter().map(number).collect::<Vec<_>>().join(", "))
        };
        match self {
            Form::Vector => list(self.items(units)),
            Form::Line => format!("[{}]", list(self.items(units))),
            Form::Rows => {
                let rows: Vec<String> = units.iter().map(|u| list(u.clone())).collect();
                format!("[{}]", rows.join(", "))
            }
            Form::Columns => {
                let row = |k: usize| list(units.iter().map(|u| u[k]).collect());
                format!("[{}, {}]", row(0), row(1))
            }
        }
    }
}

/// A program that changes arrays a, b, c in loops and gives all three, and what they are:
/// coefficients of x.
fn random(rng: &mut Rng, form: Form) -> (String, [Vec<Vec<f64>>; 3]) {
    let names = ["a", "b", "c"];
    let unit = |rng: &mut Rng| -> Vec<f64> {
        (0..form.width()).map(|_| (rng.signed() * 64.0).round() / 8.0).collect()
    };
    let mut text = String::from("fn f(x) { ");
    let mut model = [const { Vec::new() }; 3];
    for (name, units) in names.iter().zip(&mut model) {
        *units = vec![unit(rng)];
        write!(text, "let mut {name} = {}; ", form.text(units)).unwrap();
    }
    let axis = form.axis();
    for _ in 0..2 + rng.below(4) {
        // Some are long: buffers of few elements are as long as these.
        let rounds = if rng.below(6) == 0 { 300 } else { 1 + rng.below(9) };
        let mut steps: Vec<(usize, usize, usize, Vec<Vec<f64>>)> = Vec::new();
        let mut body = String::new();
        for _ in 0..1 + rng.below(3) {
            let (to, from) = (rng.below(3), rng.below(3));
            let (t, o) = (names[to], names[from]);
            let new: Vec<Vec<f64>> = (0..1 + rng.below(2)).map(|_| unit(rng)).collect();
            let kind = rng.below(6);
            body += &match kind {
                0..=2 => format!("{t} = concat({t}, {}, {axis}); ", form.text(&new)),
                // The first that there are, at most 5, the last two, and those of another.
                3 => format!(
                    "if len({t}) > 5 * {} {{ {t} = slice({t}, {axis}, 0, 5); }} ",
                    form.width()
                ),
                4 => format!("if len({t}) < 40 {{ {t} = concat({t}, {o}, {axis}); }} "),
                _ => format!("{t} = {o}; "),
            };
            steps.push((kind, to, from, new));
        }
        write!(text, "for i in 0..{rounds} {{ {body} }} ").unwrap();
        for _ in 0..rounds {
            for (kind, to, from, new) in &steps {
                let other = model[*from].clone();
                let units = &mut model[*to];
                match kind {
                    0..=2 => units.extend(new.iter().cloned()),
                    3 => {
                        if units.len() > 5 {
                            units.truncate(5);
                        }
                    }
                    4 => {
                        if units.len() * form.width() < 40 {
                            units.extend(other);
                        }
                    }
                    _ => *units = other,
                }
            }
        }
    }
    (text + "(a, b, c) }", model)
}

fn check<T: Real>(
    text: &str,
    form: Form,
    model: &[Vec<Vec<f64>>; 3],
    level: Level,
    weight: &dyn Fn(usize) -> f64,
) {
    let program = parse_program(text).unwrap_or_else(|e| panic!("{text}: {}", e[0]));
    let mut f = Derivatives::<T>::new(&program, "f").unwrap().with_level(level);
    let x = 0.5;
    let (mut bars, mut slope, mut numbers) = (Vec::new(), 0.0, 0);
    for units in model {
        let items = form.items(units);
        let weights: Vec<f64> = (0..items.len()).map(|k| weight(numbers + k)).collect();
        numbers += items.len();
        slope += items.iter().zip(&weights).map(|(c, w)| c * w).sum::<f64>();
        let shape: &[usize] = match form {
            Form::Vector => &[units.len()],
            Form::Rows => &[units.len(), 3],
            Form::Line => &[1, units.len()],
            Form::Columns => &[2, units.len()],
        };
        bars.push(Datum::reals_of(shape, weights.into_iter().map(T::lit).collect()).unwrap());
    }
    for _ in 0..2 {
        let (y, x_bar) = f.vjp(&[Datum::Real(T::lit(x))], Datum::Tuple(bars.clone())).unwrap();
        for (given, units) in y.fields().iter().zip(model) {
            let Datum::Reals(given) = given else { panic!("{given:?}") };
            let given: &Array<T> = given;
            let expected: Vec<T> = form.items(units).iter().map(|c| T::lit(c * x)).collect();
            assert!(given.items() == expected, "{text}: {given:?} {expected:?}");
        }
        let given = x_bar[0].real().and_then(Real::primal).unwrap();
        assert!((given - slope).abs() <= 1e-4 * (1.0 + slope.abs()), "{text}: {given} {slope}");
    }
}

#[test]
fn growing_and_cutting_in_place_gives_what_copies_give() {
    let mut rng = Rng::new(7);
    for round in 0..30 {
        for form in [Form::Vector, Form::Rows, Form::Line, Form::Columns] {
            let (text, model) = random(&mut rng, form);
            // Sums of eighths are exact.
            let weight = |k: usize| ((k * 37 + round) % 11) as f64 / 8.0 - 0.5;
            for level in [Level::None, Level::Strict] {
                check::<f64>(&text, form, &model, level, &weight);
            }
            check::<f32>(&text, form, &model, Level::Strict, &weight);
        }
    }
}
