//! Programs from the papers, written natively.

use ketgrad::{
    exec::{Datum, Derivatives, Host, HostError},
    ir::{Kind, Primitive, Program},
    program,
    rules::Rules,
    scalar::{Real, Scalar},
    text::parse_program,
};
use num_dual::Dual64;

/// Points of the plane, used by the programs below.
mod geometry {
    ketgrad::program! {
        struct Point { x, y }
        fn distance(p: Point, q: Point) {
            let dx = p.x - q.x;
            let dy = p.y - q.y;
            sqrt(dx * dx + dy * dy)
        }
    }
}
use geometry::Point;

#[path = "program/long.rs"]
mod long;

program! {
    use geometry::distance;

    // How far k1 p1 + k2 p2 is from (-1/3, 1).
    fn loss(k: Point) {
        let p1 = Point { x: 2.0, y: 3.0 };
        let p2 = Point { x: -2.0, y: 0.0 };
        let at = Point { x: k.x * p1.x + k.y * p2.x, y: k.x * p1.y + k.y * p2.y };
        distance(at, Point { x: -1.0 / 3.0, y: 1.0 })
    }
}

/// Paths of every kind lead to other programs, and a program is taken once however often it is
/// used.
mod paths {
    ketgrad::program! {
        use crate::program_seeds::geometry::distance;
        use super::loss;
        use self::inner::twice;
        fn all(k: crate::program_seeds::Point) { twice(loss(k)) + distance(k, crate::program_seeds::Point { x: 0.0, y: 0.0 }) }
    }
    mod inner {
        ketgrad::program! {
            fn twice(x) { 2 * x }
        }
    }
}

#[test]
fn programs_use_programs() {
    let program = paths::all::ir();
    let names: Vec<&str> = program.functions.values().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["distance", "loss", "twice", "all"]);
    let k = Datum::Tuple(vec![Datum::Real(0.5), Datum::Real(0.75)]);
    let value = Derivatives::<f64>::new(&program, "all").unwrap().value(&[k]).unwrap();
    assert_eq!(value.real(), Some(&paths::all(Point { x: 0.5, y: 0.75 })));
}

/// 1000 steps of 1e-3 down the gradient, from (0.1, 0.1).
fn fit(mut gradient: impl FnMut(f64, f64) -> (f64, f64)) -> (f64, f64) {
    let (mut x, mut y) = (0.1, 0.1);
    for _ in 0..1000 {
        let (dx, dy) = gradient(x, y);
        (x, y) = (x - 1e-3 * dx, y - 1e-3 * dy);
    }
    (x, y)
}

/// As printed in the paper, to the last digit.
const FITTED: (f64, f64) = (0.33427804653861276, 0.4996408206795386);

#[test]
fn a_point_is_fitted_on_dual_numbers() {
    let native = fit(|x, y| {
        let slope = |dx, dy| loss(Point { x: Dual64::new(x, dx), y: Dual64::new(y, dy) }).eps;
        (slope(1.0, 0.0), slope(0.0, 1.0))
    });
    assert_eq!(native, FITTED);
}

#[test]
fn a_point_is_fitted_through_the_ir() {
    let mut derivatives = Derivatives::<f64>::new(&loss::ir(), "loss").unwrap();
    let through_ir = fit(|x, y| {
        let k = Datum::Tuple(vec![Datum::Real(x), Datum::Real(y)]);
        let (_, gradient) = derivatives.value_and_gradient(&[k]).unwrap();
        let parts = gradient[0].fields();
        (*parts[0].real().unwrap(), *parts[1].real().unwrap())
    });
    assert_eq!(through_ir, FITTED);
}

/// A gradient prepared once takes no memory later; the allocations themselves are counted where the
/// executor is tested.
#[test]
fn the_gradient_of_a_program_is_prepared_once() {
    let mut prepared = Derivatives::<f64>::new(&loss::ir(), "loss").unwrap().prepare().unwrap();
    let prepared = fit(|x, y| {
        let mut gradient = [0.0; 2];
        prepared.gradient(&[x, y], &mut gradient).unwrap();
        (gradient[0], gradient[1])
    });
    assert_eq!(prepared, FITTED);
}

#[test]
fn macro_and_text_give_the_same_numbers() {
    let text = "
        struct Point { x, y }
        fn distance(p: Point, q: Point) { let dx = p.x - q.x; let dy = p.y - q.y; sqrt(dx * dx + dy * dy) }
        fn loss(k: Point) {
            let p1 = Point { x: 2.0, y: 3.0 };
            let p2 = Point { x: -2.0, y: 0.0 };
            let at = Point { x: k.x * p1.x + k.y * p2.x, y: k.x * p1.y + k.y * p2.y };
            distance(at, Point { x: -1.0 / 3.0, y: 1.0 })
        }";
    let at = |program: &Program| {
        let k = Datum::Tuple(vec![Datum::Real(0.1), Datum::Real(0.7)]);
        format!(
            "{:?}",
            Derivatives::<f64>::new(program, "loss").unwrap().value_and_gradient(&[k]).unwrap()
        )
    };
    assert_eq!(at(&loss::ir()), at(&parse_program(text).unwrap()));
}

/// Something opaque: the program does not look into it.
fn opaque<S: Scalar>(x: S, n: i64) -> S {
    x.exp() * S::int(n)
}

program! {
    primitive scaled_exp(x, n: int) -> real = super::opaque;
    rule cube(x) { x * x * x }
    pullback(x, y, y_bar) { 3.0 * x * x * y_bar }
    pushforward(x, x_dot) { 3.0 * x * x * x_dot }

    fn foreign(x) { scaled_exp(x * x, 2) + cube(x) }
    fn in_place(xs: array, c) {
        let mut ys = xs;
        for i in 0..ys.len() { ys[i] *= c; }
        ys[0] = ys[0] * ys[1];
        sum(ys)
    }
}

/// The host of `scaled_exp` and of its pullback.
struct Opaque;
impl<T: Real, S: Scalar<Real = T>> Host<S> for Opaque {
    fn call(&self, primitive: &Primitive, args: &[Datum<S>]) -> Result<Datum<S>, HostError> {
        match (primitive.name.as_str(), args) {
            ("scaled_exp", [Datum::Real(x), Datum::Int(n)]) => {
                Ok(Datum::Real(opaque(x.clone(), *n)))
            }
            ("scaled_exp_back", [_, _, Datum::Real(y), Datum::Real(bar)]) => {
                Ok(Datum::Tuple(vec![Datum::Real(y.clone() * bar)]))
            }
            _ => Err(HostError::unknown(primitive)),
        }
    }
}

#[test]
fn foreign_calls_rules_and_changes_in_place_are_differentiated() {
    let mut rules = Rules::new();
    let (real, int) = (Kind::Real, Kind::Int);
    rules.primitive("scaled_exp", &[real.clone(), int.clone()], real.clone()).unwrap();
    let back = [real.clone(), int, real.clone(), real];
    rules.primitive("scaled_exp_back", &back, Kind::tuple([Kind::Real])).unwrap();
    rules.primitive_pullback("scaled_exp", "scaled_exp_back").unwrap();
    let program = foreign::ir_with(&rules).unwrap();

    let mut f = Derivatives::<f64>::new(&program, "foreign").unwrap().with_host(&Opaque);
    let (y, gradient) = f.value_and_gradient(&[Datum::Real(0.5)]).unwrap();
    let dual = foreign(Dual64::new(0.5, 1.0));
    // Both compute 2 exp(x^2) + x^3 and 4 x exp(x^2) + 3 x^2, in different orders.
    assert_eq!(y, dual.re);
    assert!((gradient[0].real().unwrap() - dual.eps).abs() < 1e-15);

    // The rule's own pushforward: 3 x^2 x_dot.
    let mut f = Derivatives::<f64>::new(&program, "cube").unwrap();
    let (_, tangent) = f.pushforward(&[Datum::Real(0.5)], &[Datum::Real(2.0)]).unwrap();
    assert_eq!(tangent.real(), Some(&1.5));
    let cube = program.rule(program.lookup("cube").unwrap()).unwrap();
    assert!(cube.pullback.is_some() && cube.pushforward.is_some());

    let mut f = Derivatives::<f64>::new(&program, "in_place").unwrap();
    let args = [Datum::reals([2.0, 3.0, 5.0]), Datum::Real(0.5)];
    let (y, gradient) = f.value_and_gradient(&args).unwrap();
    // c x0 c x1 + c x1 + c x2.
    assert_eq!((y, in_place([2.0, 3.0, 5.0].into(), 0.5)), (5.5, 5.5));
    assert_eq!(format!("{}, {}", gradient[0], gradient[1]), "[0.75, 1.0, 0.5], 14.0");
}

#[test]
fn a_primitive_registered_with_other_kinds_is_an_error() {
    let mut rules = Rules::new();
    rules.primitive("scaled_exp", &[Kind::Real], Kind::Real).unwrap();
    let error = foreign::ir_with(&rules).unwrap_err().to_string();
    assert_eq!(error, "`scaled_exp` takes (real,) -> real, expected (real, int) -> real");
}

#[test]
fn a_long_function_fits_the_recursion_limit() {
    let mut x: f64 = 0.3;
    (0..120).for_each(|_| x = 0.5 * x + x.sin());
    assert_eq!(long::long(0.3), x);
    let mut ir = Derivatives::<f64>::new(&long::long::ir(), "long").unwrap();
    assert_eq!(ir.value(&[Datum::Real(0.3)]).unwrap().real(), Some(&x));
}

mod keywords {
    ketgrad::program! {
        struct Pair { r#in, r#loop }
        fn r#type(r#fn, r#match: int) {
            let p = Pair { r#in: r#fn, r#loop: 2.0 };
            p.r#in * p.r#loop * real(r#match)
        }
    }
}

/// A function that Rust has to mark is called as it is written in program text.
#[test]
fn keywords_are_names_without_their_mark() {
    let program = keywords::r#type::ir();
    let text = program.to_string();
    assert!(!text.contains('#'), "{text}");
    assert_eq!(ketgrad::ir::parse(&text).unwrap(), program);
    let mut f = Derivatives::<f64>::new(&program, "type").unwrap();
    let (y, gradient) = f.value_and_gradient(&[Datum::Real(1.5), Datum::Int(3)]).unwrap();
    assert_eq!((y, gradient), (9.0, vec![Datum::Real(6.0)]));
    assert_eq!(keywords::r#type(1.5, 3), 9.0);
}
