//! Fits the weights of two points so that their sum comes to lie at a third: gradient descent
//! through a program with a struct, once natively on dual numbers and once by reverse mode through
//! the IR.
//!
//! ```text
//! cargo run -p ketgrad-examples --example point_fit
//! ```
#![expect(clippy::print_stdout, reason = "an example prints")]

use ketgrad::program;
use ketgrad_core::exec::{Datum, Derivatives};
use num_dual::Dual64;

program! {
    struct Point { x, y }

    fn distance(p: Point, q: Point) {
        let dx = p.x - q.x;
        let dy = p.y - q.y;
        sqrt(dx * dx + dy * dy)
    }

    // How far k.x (2, 3) + k.y (-2, 0) is from (-1/3, 1).
    fn loss(k: Point) {
        let at = Point { x: 2.0 * k.x - 2.0 * k.y, y: 3.0 * k.x };
        distance(at, Point { x: -1.0 / 3.0, y: 1.0 })
    }
}

/// 1000 steps down the gradient.
fn descend<E>(mut gradient: impl FnMut(f64, f64) -> Result<[f64; 2], E>) -> Result<(f64, f64), E> {
    let (mut x, mut y) = (0.1, 0.1);
    for _ in 0..1000 {
        let [dx, dy] = gradient(x, y)?;
        (x, y) = (x - 1e-3 * dx, y - 1e-3 * dy);
    }
    Ok((x, y))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let native = descend(|x, y| {
        let along = |dx, dy| loss(Point { x: Dual64::new(x, dx), y: Dual64::new(y, dy) }).eps;
        Ok::<_, Box<dyn std::error::Error>>([along(1.0, 0.0), along(0.0, 1.0)])
    })?;
    println!("dual numbers: {native:?}");

    let program = loss::ir();
    let mut prepared = Derivatives::<f64>::new(&program, "loss")?.prepare()?;
    let reverse = descend(|x, y| {
        let mut gradient = [0.0; 2];
        prepared.gradient(&[x, y], &mut gradient)?;
        Ok::<_, Box<dyn std::error::Error>>(gradient)
    })?;
    println!("reverse mode: {reverse:?}");

    let k = Datum::Tuple(vec![Datum::Real(reverse.0), Datum::Real(reverse.1)]);
    let left = Derivatives::<f64>::new(&program, "loss")?.value(&[k])?;
    println!("left:         {left}");
    println!("\n{}", program.print(Derivatives::<f64>::new(&program, "loss")?.function()));
    Ok(())
}
