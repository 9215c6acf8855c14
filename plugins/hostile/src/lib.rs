//! Plugin that misbehaves on request, to test the host. Worse misbehaviour, of a C plugin, is in
//! `plugins/host/tests/hostile.c`.
//!
//! Option `init`: `panic` or `error` after a rule was added. Option `device`: `ok`, or the call of
//! a device that panics. Option `breaks`: rules that fail in every call, one named by it or `all`.
//! Option `kernel`: `ok`, or how gate kernels misbehave; `kernel_name`: their name.

mod device;
mod kernels;

use ketgrad_plugin_sdk::{
    C64, Dense, Operation, Plugin, Registrar, Result, RuleDef, Value, ValueMut, View, ViewMut,
    export_plugin,
};

struct Hostile;

export_plugin!(Hostile, "hostile", env!("CARGO_PKG_VERSION"));

impl Plugin for Hostile {
    fn register(&self, registrar: &mut Registrar<'_>) -> Result<()> {
        // Every number below 1 works.
        registrar.rule(RuleDef::new("panics", 1).f64(|x| {
            assert!(x[0] < 1.0, "a panic at {}", x[0]);
            x[0]
        }))?;
        match registrar.option("init").as_deref() {
            Some("panic") => panic!("a panic while it registers"),
            Some("error") => return Err("no licence".into()),
            _ => {}
        }
        registrar.rule(
            RuleDef::new("liar", 1)
                .f64(|x| x[0] * x[0])
                .program("rule liar(x) { kernel(x) } pullback(x, y, y_bar) { 3.0 * x * y_bar }"),
        )?;
        registrar.rule(RuleDef::new("infinite", 1).f64(|x| x[0] / 0.0))?;
        registrar.rule(
            RuleDef::new("nowhere", 1).f64(|_| f64::NAN).program("rule nowhere(x) { x * x }"),
        )?;
        registrar.rule(
            RuleDef::new("cube", 1)
                .f64(|x| x[0] * x[0] * x[0])
                .program("rule cube(x) { x * x * x }"),
        )?;
        registrar.rule(RuleDef::new("scan", 1).signature("(xs: array) -> array").dense(Scan))?;
        registrar.rule(RuleDef::new("norm2", 1).signature("(xs: array) -> real").dense(Norm2))?;
        registrar.rule(
            RuleDef::new("root", 2)
                .try_f64(|x| match x[0] * x[1] {
                    y if y <= 0.0 => Err(format!("no smooth root of {y}").into()),
                    y => Ok(y.sqrt()),
                })
                .program("rule root(a, b) { kernel(a, b) } pullback(a, b, y, y_bar) { let d = 0.5 * y_bar / y; (b * d, a * d) }"),
        )?;
        registrar.rule(
            RuleDef::new("croot", 1)
                .try_c64(
                    |z| if z[0].re <= 0.0 { Err("a root left of the cut".into()) } else { Ok(z[0].sqrt()) },
                )
                .program(
                    "rule croot(z: complex) { kernel(z) } pullback(z, y, y_bar) { conj(0.5 / y) * y_bar }",
                ),
        )?;
        registrar
            .rule(RuleDef::new("vander", 1).signature("(xs: array) -> array").dense(Vander))?;
        registrar.rule(polar())?;
        if let Some(breaks) = registrar.option("breaks") {
            for name in BREAKS.iter().filter(|name| breaks == "all" || breaks == **name) {
                registrar.rule(
                    RuleDef::new(name, 1).signature("(xs: array) -> array").dense(Breaks(name)),
                )?;
            }
        }
        if let Some(how) = registrar.option("kernel") {
            let name = registrar.option("kernel_name").unwrap_or_else(|| "plain_here".to_owned());
            registrar.kernels(kernels::MisbehavingKernels { how, name })?;
        }
        if let Some(panics) = registrar.option("device") {
            registrar.device(device::MisbehavingDevice(panics))?;
        }
        registrar.info("registered");
        Ok(())
    }
}

/// Failures of a kernel on arrays in every call, but for the last, whose error names what it needs.
const BREAKS: [&str; 6] = [
    "forward_panics",
    "no_number",
    "many_dimensions",
    "pullback_panics",
    "pullback_errs",
    "needs_hundred",
];

/// Kernel that doubles an array.
struct Breaks(&'static str);

impl Dense<f64> for Breaks {
    type Tape = ();
    fn shape(&self, x: &[View<'_, f64>]) -> Result<Vec<u64>> {
        match self.0 {
            "many_dimensions" => Ok(vec![1; 100]),
            "needs_hundred" if x[0].data.len() != 100 => Err("expected 100 elements".into()),
            _ => Ok(x[0].shape.to_vec()),
        }
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
        assert!(self.0 != "forward_panics", "a panic in forward");
        let factor = if self.0 == "no_number" { f64::NAN } else { 2.0 };
        y.data.iter_mut().zip(x[0].data).for_each(|(y, x)| *y = factor * x);
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        _: &[View<'_, f64>],
        _: View<'_, f64>,
        y_bar: View<'_, f64>,
        x_bar: &mut [ViewMut<'_, f64>],
    ) -> Result<()> {
        assert!(self.0 != "pullback_panics", "a panic in the pullback");
        if self.0 == "pullback_errs" {
            return Err("no pullback today".into());
        }
        x_bar[0].data.iter_mut().zip(y_bar.data).for_each(|(x_bar, y_bar)| *x_bar = 2.0 * y_bar);
        Ok(())
    }
}

/// Kernel of prefix sums.
struct Scan;

impl Dense<f64> for Scan {
    type Tape = ();
    fn shape(&self, x: &[View<'_, f64>]) -> Result<Vec<u64>> {
        Ok(x[0].shape.to_vec())
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
        let mut sum = 0.0;
        for (y, x) in y.data.iter_mut().zip(x[0].data) {
            sum += x;
            *y = sum;
        }
        Ok(())
    }
    fn pullback(
        &self,
        (): &(),
        _: &[View<'_, f64>],
        _: View<'_, f64>,
        y_bar: View<'_, f64>,
        x_bar: &mut [ViewMut<'_, f64>],
    ) -> Result<()> {
        let mut sum = 0.0;
        for (x_bar, y_bar) in x_bar[0].data.iter_mut().zip(y_bar.data).rev() {
            sum += y_bar;
            *x_bar = sum;
        }
        Ok(())
    }
}

/// Kernel of the squared length, with its square root on the tape for show.
struct Norm2;

impl Dense<f64> for Norm2 {
    type Tape = Vec<f64>;
    fn shape(&self, _: &[View<'_, f64>]) -> Result<Vec<u64>> {
        Ok(vec![])
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<Vec<f64>> {
        y.data[0] = x[0].data.iter().map(|x| x * x).sum();
        Ok(x[0].data.iter().map(|x| 2.0 * x).collect())
    }
    fn pullback(
        &self,
        slopes: &Vec<f64>,
        _: &[View<'_, f64>],
        _: View<'_, f64>,
        y_bar: View<'_, f64>,
        x_bar: &mut [ViewMut<'_, f64>],
    ) -> Result<()> {
        x_bar[0].data.iter_mut().zip(slopes).for_each(|(d, slope)| *d = slope * y_bar.data[0]);
        Ok(())
    }
}

/// Kernel of the powers 1, x and x^2 of each element, as rows of a matrix (Vandermonde).
struct Vander;

impl Dense<f64> for Vander {
    type Tape = ();
    fn shape(&self, x: &[View<'_, f64>]) -> Result<Vec<u64>> {
        Ok(x[0].shape.iter().copied().chain([3]).collect())
    }
    fn forward(&self, x: &[View<'_, f64>], y: ViewMut<'_, f64>) -> Result<()> {
        for (row, x) in y.data.chunks_exact_mut(3).zip(x[0].data) {
            row.copy_from_slice(&[1.0, *x, x * x]);
        }
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
        let rows = y_bar.data.chunks_exact(3).zip(x[0].data);
        x_bar[0]
            .data
            .iter_mut()
            .zip(rows)
            .for_each(|(bar, (row, x))| *bar = row[1] + 2.0 * x * row[2]);
        Ok(())
    }
}

/// Returns the rule `r_i e^(i n_i a)` for lengths r, an angle a and ints n, and the sum of the
/// lengths.
fn polar() -> RuleDef {
    RuleDef::new("polar", 3)
        .signature("(rs: array, a, ns: array<int>) -> (array<complex>, real)")
        .operation(Polar)
}

struct Polar;

impl Operation for Polar {
    /// Unit numbers.
    type Tape = Vec<C64>;
    fn shapes(&self, x: &[Value<'_>]) -> Result<Vec<Vec<u64>>> {
        if x[0].shape() != x[2].shape() {
            return Err(
                format!("lengths of shape {:?}, ints of {:?}", x[0].shape(), x[2].shape()).into()
            );
        }
        Ok(vec![x[0].shape().to_vec(), vec![]])
    }
    fn forward(&self, x: &[Value<'_>], y: &mut [ValueMut<'_>]) -> Result<Vec<C64>> {
        let (rs, a, ns) = (x[0].real()?, x[1].real()?.data[0], x[2].real()?);
        let units: Vec<C64> = ns.data.iter().map(|n| C64::cis(n * a)).collect();
        for ((z, unit), r) in y[0].complex()?.data.iter_mut().zip(&units).zip(rs.data) {
            *z = unit * r;
        }
        y[1].real()?.data[0] = rs.data.iter().sum();
        Ok(units)
    }
    fn pullback(
        &self,
        units: &Vec<C64>,
        x: &[Value<'_>],
        y: &[Value<'_>],
        y_bar: &[Value<'_>],
        x_bar: &mut [ValueMut<'_>],
    ) -> Result<()> {
        let (ns, z) = (x[2].real()?.data, y[0].complex()?.data);
        let (z_bar, sum_bar) = (y_bar[0].complex()?.data, y_bar[1].real()?.data[0]);
        // dz = e^(i n a) dr + i n z da, and the pairing of a cotangent is re(conj(z_bar) dz).
        for ((r_bar, unit), z_bar) in x_bar[0].real()?.data.iter_mut().zip(units).zip(z_bar) {
            *r_bar = (z_bar.conj() * unit).re + sum_bar;
        }
        let by_angle = z_bar.iter().zip(z).zip(ns).map(|((bar, z), n)| -n * (bar.conj() * z).im);
        x_bar[1].real()?.data[0] = by_angle.sum();
        Ok(())
    }
}
