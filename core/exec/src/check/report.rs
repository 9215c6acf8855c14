//! What a comparison of engines found.

use super::settings::Settings;

/// Result of one engine.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Engine {
    /// `reverse`, `reverse, not optimized`, `forward`, `dual` or `difference`; of a circuit the
    /// name of a method.
    pub name: &'static str,
    /// The value.
    pub value: f64,
    /// The derivatives by all real numbers among the arguments, in order.
    pub gradient: Vec<f64>,
    /// Largest difference between its gradient and that of the first engine.
    pub max_difference: f64,
}

/// Result of a comparison of engines.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The names of the real numbers among the arguments: `a`, `xs[0]`, `p.x`, `z.re`.
    pub names: Vec<String>,
    /// Engines; the others are compared with the first one.
    pub engines: Vec<Engine>,
    /// True if the gradient computed a second time had the same bits.
    pub reentrant: bool,
    /// True if all values and derivatives are equal, and [`reentrant`](Report::reentrant). NaN,
    /// which all engines give at a kink such as that of `sqrt(x * x)` at 0, equals nothing.
    /// Differences may be off by their own error, as shorter steps and the rounding of values show
    /// it: for `x + 1e16`, or `sin(x * x)` at 100 in single precision.
    pub agree: bool,
}

impl std::fmt::Display for Report {
    /// Writes a line for each engine, and if they agree.
    ///
    /// ```
    /// use ketgrad_core::{check::{Settings, gradcheck}, exec::{Datum, NoHost}, text::parse_program};
    ///
    /// let program = parse_program("fn f(x, y) { x * x * y }")?;
    /// let at = [Datum::Real(3.0), Datum::Real(0.5)];
    /// let report = gradcheck(&program, "f", &at, &NoHost, Settings::default())?.to_string();
    /// assert!(report.starts_with("reverse                 value 4.5, x 3.0, y 9.0; off by 0.0e0\n"), "{report}");
    /// assert!(report.ends_with("\nall agree"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let width = self.engines.iter().map(|e| e.name.len()).max().unwrap_or(0);
        for Engine { name, value, gradient, max_difference } in &self.engines {
            let one = |(name, x): (&String, &f64)| format!("{name} {x:?}");
            let gradient: Vec<String> = self.names.iter().zip(gradient).map(one).collect();
            let gradient = gradient.join(", ");
            writeln!(f, "{name:width$}  value {value:?}, {gradient}; off by {max_difference:.1e}")?;
        }
        let nan = |e: &Engine| e.gradient.iter().map(|x| x.is_nan()).collect::<Vec<_>>();
        let mut all = self.engines.iter().map(nan);
        let first = all.next().unwrap_or_default();
        f.write_str(match self.agree {
            true => "all agree",
            false if first.contains(&true) && all.all(|other| other == first) => {
                "they do not agree: where all say NaN there is no derivative"
            }
            false => "they do not agree",
        })
    }
}

impl Report {
    /// Compares the results of engines, a name, a value and a gradient each, with the first of
    /// them, each by its own settings.
    #[must_use]
    pub fn new(
        names: Vec<String>,
        engines: Vec<(&'static str, f64, Vec<f64>)>,
        reentrant: bool,
        settings: impl Fn(&str) -> Settings,
    ) -> Report {
        Report::compared(names, engines, reentrant, |engine, _| settings(engine))
    }

    /// Compares engines like [`new`](Report::new), with settings for each derivative by its number
    /// and for the value.
    pub(super) fn compared(
        names: Vec<String>,
        engines: Vec<(&'static str, f64, Vec<f64>)>,
        reentrant: bool,
        settings: impl Fn(&str, Option<usize>) -> Settings,
    ) -> Report {
        let (value, reference) = engines.first().map_or((0.0, Vec::new()), |e| (e.1, e.2.clone()));
        let engines: Vec<Engine> = (engines.into_iter())
            .map(|(name, value, gradient)| {
                let off = gradient
                    .iter()
                    .zip(&reference)
                    .map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
                let max_difference =
                    off.fold(
                        0.0,
                        |m: f64, d| if m.is_nan() || d.is_nan() { f64::NAN } else { m.max(d) },
                    );
                Engine { name, value, gradient, max_difference }
            })
            .collect();
        let agree = reentrant
            && engines.iter().all(|e| {
                let mut pairs = e.gradient.iter().zip(&reference).enumerate();
                let same = pairs.all(|(k, (a, b))| settings(e.name, Some(k)).close(*a, *b));
                same && settings(e.name, None).close(e.value, value)
                    && e.gradient.len() == reference.len()
            });
        Report { names, engines, reentrant, agree }
    }
}
