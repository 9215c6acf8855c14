//! Special functions as rules: values from well-kept crates, derivatives as programs.
//!
//! | rule | is | derivative |
//! |---|---|---|
//! | `erf(x)`, `erfc(x)` | 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x; 1 - erf | ±2/sqrt(pi) exp(-x^2) |
//! | `gamma(x)`, `lgamma(x)` | gamma function; ln of its modulus | gamma digamma; digamma |
//! | `digamma(x)`, `polygamma(n, x)` | derivatives of lgamma | polygamma(1, x); polygamma(n + 1, x) |
//! | `bessel_j(n, x)`, `bessel_y(n, x)` | Bessel functions of integer order | (f(n-1) - f(n+1)) / 2 |
//! | `lambert_w(x)`, `lambert_w_minus(x)` | w e^w = x: the upper branch; the lower one, x in [-1/e, 0) | e^-w / (1 + w) |
//! | `gamma_p(a, x)`, `gamma_q(a, x)` | regularised incomplete gamma functions, a > 0, x >= 0 | by x closed, by a a series |
//! | `beta_inc(a, b, x)` | regularised incomplete beta function, a, b > 0, x in \[0, 1\] | by x closed, by a and b series |
//!
//! `erf` and `erfc` are there for complex numbers too.

mod values;

use ketgrad_plugin_sdk::{C64, Plugin, Registrar, Result, RuleDef, export_plugin};

/// The plugin.
#[derive(Clone, Copy, Debug)]
pub struct Special;

export_plugin!(Special, "special", env!("CARGO_PKG_VERSION"));

impl Plugin for Special {
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
        rules().into_iter().try_for_each(|rule| registrar.rule(rule))
    }
}

/// All rules; a later one may call an earlier one.
fn rules() -> Vec<RuleDef> {
    let mut rules = error_functions();
    rules.extend(gamma_functions());
    rules.extend(bessel_functions());
    rules.extend(lambert_w());
    rules.extend(incomplete());
    rules
}

fn error_functions() -> Vec<RuleDef> {
    let derivative = |name: &str, kind: &str, sign: &str, conj: &str| {
        format!(
            "rule {name}(x: {kind}) {{ kernel(x) }}
             pullback(x, y, y_bar) {{ {sign}1.1283791670955126 * {conj}(exp(-x * x)) * y_bar }}"
        )
    };
    let real = |name, sign, f: fn(f64) -> f64| {
        RuleDef::new(name, 1).f64(move |x| f(x[0])).program(&derivative(name, "real", sign, ""))
    };
    let complex = |name, sign, f: fn(C64) -> C64| {
        RuleDef::new(name, 1).c64(move |x| f(x[0])).program(&derivative(name, "complex", sign, "conj"))
    };
    vec![
        real("erf", "", libm::erf),
        real("erfc", "-", libm::erfc),
        complex("erf", "", values::erf),
        complex("erfc", "-", values::erfc),
    ]
}

fn gamma_functions() -> Vec<RuleDef> {
    vec![
        RuleDef::new("polygamma", 2)
            .signature("(n: int, x) -> real")
            .f64(|x| values::polygamma(x[0], x[1]))
            .program(
                "rule polygamma(n: int, x) { kernel(n, x) }
                 pullback(n, x, y, y_bar) { (none, polygamma(n + 1, x) * y_bar) }",
            ),
        RuleDef::new("digamma", 1)
            .f64(|x| values::digamma(x[0]))
            .program("rule digamma(x) { kernel(x) } pullback(x, y, y_bar) { polygamma(1, x) * y_bar }"),
        RuleDef::new("gamma", 1)
            .f64(|x| libm::tgamma(x[0]))
            .program("rule gamma(x) { kernel(x) } pullback(x, y, y_bar) { y * digamma(x) * y_bar }"),
        RuleDef::new("lgamma", 1)
            .f64(|x| libm::lgamma(x[0]))
            .program("rule lgamma(x) { kernel(x) } pullback(x, y, y_bar) { digamma(x) * y_bar }"),
    ]
}

fn bessel_functions() -> Vec<RuleDef> {
    let one = |name: &str, f: fn(i32, f64) -> f64| {
        RuleDef::new(name, 2)
            .signature("(n: int, x) -> real")
            // An order beyond `i32` has no value in double precision other than 0 or an infinity; `as` keeps its sign.
            .f64(move |x| f(x[0] as i32, x[1]))
            .program(&format!(
                "rule {name}(n: int, x) {{ kernel(n, x) }}
                 pullback(n, x, y, y_bar) {{ (none, 0.5 * ({name}(n - 1, x) - {name}(n + 1, x)) * y_bar) }}"
            ))
    };
    vec![one("bessel_j", libm::jn), one("bessel_y", libm::yn)]
}

fn lambert_w() -> Vec<RuleDef> {
    let one = |name: &str, f: fn(f64) -> f64| {
        RuleDef::new(name, 1).f64(move |x| f(x[0])).program(&format!(
            "rule {name}(x) {{ kernel(x) }} pullback(x, y, y_bar) {{ exp(-y) / (1.0 + y) * y_bar }}"
        ))
    };
    vec![one("lambert_w", lambert_w::lambert_w0), one("lambert_w_minus", lambert_w::lambert_wm1)]
}

/// The derivative by `a` of the series `P(a, x) = sum of x^(a+k) e^-x / Gamma(a+k+1)`, term by term.
const GAMMA_BY_A: &str = "
fn gamma_p_by_a(a, x) -> real {
    if x <= 0.0 { return 0.0; }
    let mut term = exp(a * ln(x) - x - lgamma(a + 1.0));
    let mut psi = digamma(a + 1.0);
    let mut k = 0.0;
    let mut total = 0.0;
    while k < x + 20.0 || term > 1e-18 {
        total += term * (ln(x) - psi);
        k += 1.0;
        psi += 1.0 / (a + k);
        term *= x / (a + k);
    }
    total
}
fn gamma_p_by_x(a, x) -> real { exp((a - 1.0) * ln(x) - x - lgamma(a)) }
";

/// The derivatives of the series `I = sum of x^(a+k) (1-x)^b Gamma(a+b+k) / (Gamma(a+1+k) Gamma(b))`, term by term;
/// where it converges slowly, those of `I_x(a, b) = 1 - I_(1-x)(b, a)`.
const BETA_SERIES: &str = "
fn beta_series(a, b, x) -> (real, real) {
    let mut term = exp(a * ln(x) + b * ln(1.0 - x) + lgamma(a + b) - lgamma(a + 1.0) - lgamma(b));
    let mut upper = digamma(a + b);
    let mut lower = digamma(a + 1.0);
    let last = digamma(b);
    let mut k = 0.0;
    let mut by_a = 0.0;
    let mut by_b = 0.0;
    while k < 20.0 || term > 1e-18 {
        by_a += term * (ln(x) + upper - lower);
        by_b += term * (ln(1.0 - x) + upper - last);
        term *= x * (a + b + k) / (a + 1.0 + k);
        upper += 1.0 / (a + b + k);
        lower += 1.0 / (a + 1.0 + k);
        k += 1.0;
    }
    (by_a, by_b)
}
fn beta_by_parameters(a, b, x) -> (real, real) {
    if x <= 0.0 || x >= 1.0 { return (0.0, 0.0); }
    if x <= (a + 1.0) / (a + b + 2.0) { return beta_series(a, b, x); }
    let other = beta_series(b, a, 1.0 - x);
    (-other.1, -other.0)
}
fn beta_by_x(a, b, x) -> real {
    exp((a - 1.0) * ln(x) + (b - 1.0) * ln(1.0 - x) + lgamma(a + b) - lgamma(a) - lgamma(b))
}
";

fn incomplete() -> Vec<RuleDef> {
    vec![
        RuleDef::new("gamma_p", 2).f64(|x| values::gamma_p(x[0], x[1])).program(&format!(
            "{GAMMA_BY_A}
             rule gamma_p(a, x) {{ kernel(a, x) }}
             pullback(a, x, y, y_bar) {{ (gamma_p_by_a(a, x) * y_bar, gamma_p_by_x(a, x) * y_bar) }}"
        )),
        RuleDef::new("gamma_q", 2).f64(|x| values::gamma_q(x[0], x[1])).program(
            "rule gamma_q(a, x) { kernel(a, x) }
             pullback(a, x, y, y_bar) { (-gamma_p_by_a(a, x) * y_bar, -gamma_p_by_x(a, x) * y_bar) }",
        ),
        RuleDef::new("beta_inc", 3).f64(|x| values::beta_inc(x[0], x[1], x[2])).program(&format!(
            "{BETA_SERIES}
             rule beta_inc(a, b, x) {{ kernel(a, b, x) }}
             pullback(a, b, x, y, y_bar) {{
                 let by = beta_by_parameters(a, b, x);
                 (by.0 * y_bar, by.1 * y_bar, beta_by_x(a, b, x) * y_bar)
             }}"
        )),
    ]
}

#[cfg(test)]
mod tests {
    use ketgrad_plugin_sdk::assert_rule;

    #[test]
    fn kernels_are_sound() {
        for rule in super::rules() {
            if rule.name() == "lambert_w_minus" {
                // The branch between -1/e and 0.
                assert_rule!(rule, [[-0.3], [-0.1]]);
            } else {
                assert_rule!(rule, [[1.0, 0.5, 0.3], [2.0, 1.5, 0.9]]);
            }
        }
    }
}
