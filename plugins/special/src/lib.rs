//! Special functions as rules: values from well-kept crates, derivatives as programs.
//!
//! | rule | is | derivative |
//! |---|---|---|
//! | `erf(z)`, `erfc(z)` | 2/sqrt(pi) times the integral of exp(-t^2) from 0 to z; 1 - erf | ±2/sqrt(pi) exp(-z^2) |
//! | `gamma(z)`, `lgamma(z)` | gamma function; its logarithm (of real numbers that of its modulus) | gamma digamma; digamma |
//! | `digamma(z)`, `polygamma(n, z)` | derivatives of lgamma | polygamma(1, z); polygamma(n + 1, z) |
//! | `bessel_j(n, z)`, `bessel_y(n, z)` | Bessel functions of integer order | (f(n-1) - f(n+1)) / 2 |
//! | `lambert_w(z)`, `lambert_w_minus(z)` | w e^w = z: branch 0; branch -1, real for z in [-1/e, 0) | e^-w / (1 + w) |
//! | `gamma_p(a, x)`, `gamma_q(a, x)` | regularised incomplete gamma functions, a > 0, x >= 0 | by x closed, by a a series |
//! | `beta_inc(a, b, x)` | regularised incomplete beta function, a, b > 0, x in \[0, 1\] | by x closed, by a and b series |
//!
//! The language has the first six on real numbers itself; if the plugin is loaded, its own are
//! called. Those of `z` exist for real and for complex numbers: a program that calls one with a
//! complex number gets the latter. A value that does not exist, at a pole or outside the ranges of
//! the table, is NaN or an infinity.

mod complex;
mod values;

use ketgrad_plugin_sdk::{C64, Plugin, Registrar, Result, RuleDef, export_plugin};

/// Plugin of special functions.
#[derive(Clone, Copy, Debug)]
pub struct Special;

export_plugin!(Special, "special", env!("CARGO_PKG_VERSION"));

impl Plugin for Special {
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
        rules().into_iter().try_for_each(|rule| registrar.rule(rule))
    }
}

/// Returns all rules; a later one may call an earlier one.
fn rules() -> Vec<RuleDef> {
    let mut rules = error_functions();
    rules.extend(gamma_functions());
    rules.extend(bessel_functions());
    rules.extend(lambert_w());
    rules.extend(incomplete());
    rules
}

/// Returns the rules of a function of one number, on real and on complex numbers. The derivative is
/// a formula in `z` and `y`, the value.
fn both(
    name: &str,
    real: fn(f64) -> f64,
    complex: fn(C64) -> C64,
    derivative: &str,
) -> [RuleDef; 2] {
    let program = |kind: &str, conj: &str| {
        format!(
            "rule {name}(z: {kind}) {{ kernel(z) }}
             pullback(z, y, y_bar) {{ {conj}({derivative}) * y_bar }}"
        )
    };
    [
        RuleDef::new(name, 1).f64(move |x| real(x[0])).program(&program("real", "")),
        RuleDef::new(name, 1).c64(move |z| complex(z[0])).program(&program("complex", "conj")),
    ]
}

/// Returns the rules of a function of an integer order and a number, on real and on complex
/// numbers.
fn both_of_order(
    name: &str,
    real: fn(f64, f64) -> f64,
    complex: fn(f64, C64) -> C64,
    derivative: &str,
) -> [RuleDef; 2] {
    let (signature, program) = (
        |kind: &str| format!("(n: int, z: {kind}) -> {kind}"),
        |kind: &str, conj: &str| {
            format!(
                "rule {name}(n: int, z: {kind}) {{ kernel(n, z) }}
                 pullback(n, z, y, y_bar) {{ (none, {conj}({derivative}) * y_bar) }}"
            )
        },
    );
    let rule = |kind: &str, conj: &str| {
        RuleDef::new(name, 2).signature(&signature(kind)).program(&program(kind, conj))
    };
    [
        rule("real", "").f64(move |x| real(x[0], x[1])),
        rule("complex", "conj").c64(move |z| complex(z[0].re, z[1])),
    ]
}

fn error_functions() -> Vec<RuleDef> {
    const SLOPE: &str = "1.1283791670955126 * exp(-z * z)";
    let erf = both("erf", libm::erf, values::erf, SLOPE);
    let erfc = both("erfc", libm::erfc, values::erfc, &format!("-{SLOPE}"));
    erf.into_iter().chain(erfc).collect()
}

fn gamma_functions() -> Vec<RuleDef> {
    let polygamma =
        both_of_order("polygamma", values::polygamma, complex::polygamma, "polygamma(n + 1, z)");
    let digamma = both("digamma", values::digamma, complex::digamma, "polygamma(1, z)");
    let gamma = both("gamma", libm::tgamma, complex::gamma, "y * digamma(z)");
    let lgamma = both("lgamma", libm::lgamma, complex::lgamma, "digamma(z)");
    [polygamma, digamma, gamma, lgamma].into_iter().flatten().collect()
}

fn bessel_functions() -> Vec<RuleDef> {
    let slope = |name: &str| format!("0.5 * ({name}(n - 1, z) - {name}(n + 1, z))");
    // An order beyond `i32` has no value in double precision other than 0 or an infinity; `as`
    // keeps its sign.
    let j = both_of_order(
        "bessel_j",
        |n, x| libm::jn(n as i32, x),
        values::bessel_j,
        &slope("bessel_j"),
    );
    let y = both_of_order(
        "bessel_y",
        |n, x| libm::yn(n as i32, x),
        values::bessel_y,
        &slope("bessel_y"),
    );
    j.into_iter().chain(y).collect()
}

fn lambert_w() -> Vec<RuleDef> {
    const SLOPE: &str = "exp(-y) / (1.0 + y)";
    let upper = both("lambert_w", lambert_w::lambert_w0, |z| values::lambert_w(0, z), SLOPE);
    let lower =
        both("lambert_w_minus", lambert_w::lambert_wm1, |z| values::lambert_w(-1, z), SLOPE);
    upper.into_iter().chain(lower).collect()
}

/// Derivative by `a` of the series `P(a, x) = sum of x^(a+k) e^-x / Gamma(a+k+1)`, term by term.
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

/// Derivatives of the series `I = sum of x^(a+k) (1-x)^b Gamma(a+b+k) / (Gamma(a+1+k) Gamma(b))`,
/// term by term; where it converges slowly, those of `I_x(a, b) = 1 - I_(1-x)(b, a)`.
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
                let inputs = |point: [f64; 3]| point[..rule.n_in()].to_vec();
                assert_rule!(rule, [[1.0, 0.5, 0.3], [2.0, 1.5, 0.9]].map(inputs));
            }
        }
    }
}
