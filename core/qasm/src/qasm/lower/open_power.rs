//! Powers of gates whose exponent is a parameter: `pow(t) @ x`.
//!
//! They are principal powers, as those of `power`: the eigenvalues `e^{i a}`, a in (-pi, pi],
//! become `e^{i t a}`. A gate whose square is 1 has the eigenvalues 1 and -1, so
//! `X^t = e^{i pi t/2} exp(-i pi t/2 X)`; of rotations and phases the angle is multiplied. Controls
//! and powers commute.

use super::{
    Lower, QasmLowering, QasmValue, SourceText,
    arithmetic::multiply,
    call::Resolved,
    names::GateCallee,
    power::{self, Exponent, PoweredGate},
};
use crate::{
    gate::{Gate, GateKind},
    param::Angle,
    qasm::{
        Version,
        ast::QasmSpan,
        diagnostic::{Diagnostic, QasmProblem},
        parser,
    },
};

/// Powers that take more than one gate of the table, each with its name.
const POWERS: [(GateKind, &str, &str); 6] = [
    (GateKind::X, "x_to_the", "gate x_to_the(t) a { gphase(pi*t/2); rx(pi*t) a; }"),
    (GateKind::Y, "y_to_the", "gate y_to_the(t) a { gphase(pi*t/2); ry(pi*t) a; }"),
    // H = RY(pi/4) Z RY(-pi/4)
    (GateKind::H, "h_to_the", "gate h_to_the(t) a { ry(-pi/4) a; p(pi*t) a; ry(pi/4) a; }"),
    (GateKind::SX, "sx_to_the", "gate sx_to_the(t) a { gphase(pi*t/4); rx(pi*t/2) a; }"),
    (GateKind::SXDG, "sxdg_to_the", "gate sxdg_to_the(t) a { gphase(-pi*t/4); rx(-pi*t/2) a; }"),
    // The middle one of three CNOTs, raised to the power.
    (
        GateKind::SWAP,
        "swap_to_the",
        "gate swap_to_the(t) a, b { cx a, b; crx(pi*t) b, a; p(pi*t/2) b; cx a, b; }",
    ),
];

impl QasmLowering<'_> {
    /// Raises a gate to these exponents, one of which has parameters.
    pub(super) fn raise_open(
        &mut self,
        gate: &mut Resolved,
        exponents: &[Exponent],
        span: QasmSpan,
    ) -> Lower<()> {
        let args = std::mem::take(&mut gate.args);
        let (callee, args, controls) = match self.open_power(gate.callee, args, exponents) {
            Ok(raised) => raised,
            Err(QasmProblem::OpenPower { .. }) => {
                let problem = QasmProblem::OpenPower { gate: self.name(gate.name) };
                let error = Diagnostic::error(problem).with_label(self.file_span(span), "");
                let help = "gates that have such a power: id, x, y, z, h, s, t, sx, swap, their inverses, rotations, phases, \
                            and these with controls; write others by rotations";
                return Err(self.report(error.help(help)));
            }
            Err(problem) => return self.fail(problem, span),
        };
        (gate.callee, gate.args) = (callee, args);
        if controls > 0 {
            let modifiers = gate.modifiers.get_or_insert_default();
            modifiers.controls.extend(std::iter::repeat_n(true, controls));
        }
        Ok(())
    }

    /// Returns a gate raised to exponents, innermost first, one of which has parameters: the
    /// resulting gate, its arguments and the number of its first qubits that control it.
    ///
    /// # Errors
    /// [`QasmProblem::OpenPower`] if it is not known in closed form.
    fn open_power(
        &mut self,
        callee: GateCallee,
        args: Box<[QasmValue]>,
        exponents: &[Exponent],
    ) -> Result<(GateCallee, Box<[QasmValue]>, usize), QasmProblem> {
        let refused = || QasmProblem::OpenPower { gate: String::new() };
        let GateCallee::Table(mut kind, controls) = callee else { return Err(refused()) };
        let mut args = args;
        let at = exponents.iter().position(|e| matches!(e, Exponent::Open(_)));
        let Some((at, &Exponent::Open(number))) = at.map(|at| (at, &exponents[at])) else {
            return Err(refused());
        };
        let mut exponent = self.exponents.get(number).cloned().ok_or_else(refused)?;
        for outer in &exponents[at + 1..] {
            // (U^t)^k = U^(kt) for integers k alone.
            let Exponent::Integer(k) = outer else { return Err(refused()) };
            exponent = multiply(exponent, QasmValue::int(i128::from(*k)))?;
        }
        let is_constant = args.iter().all(|arg| arg.constant().is_some());
        if is_constant {
            // Within half a turn, and with constant exponents before.
            let angles = args.iter().map(|arg| arg.angle().ok_or(QasmProblem::NotFinite));
            let angles = angles.collect::<Result<Vec<_>, _>>()?;
            let gate = Gate::new(kind, angles)
                .map_err(|e| QasmProblem::Circuit { reason: e.to_string() })?;
            let PoweredGate::Gate(gate, times) = power::raise(gate, &exponents[..at])? else {
                return Err(refused());
            };
            if times != 1 {
                return Err(refused());
            }
            let gate = power::principal(gate).ok_or_else(refused)?;
            kind = gate.kind();
            args =
                gate.params().iter().cloned().map(QasmValue::linear).collect::<Result<_, _>>()?;
        } else if at > 0 {
            return Err(refused());
        }
        let phase = |numerator, denominator| -> Result<_, QasmProblem> {
            let angle =
                multiply(QasmValue::linear(Angle::pi(numerator, denominator))?, exponent.clone())?;
            Ok((GateCallee::Table(GateKind::P, 0), [angle].into(), controls))
        };
        match kind {
            GateKind::I => Ok((GateCallee::Table(kind, 0), args, controls)),
            GateKind::Z => phase(1, 1),
            GateKind::S => phase(1, 2),
            GateKind::SDG => phase(-1, 2),
            GateKind::T => phase(1, 4),
            GateKind::TDG => phase(-1, 4),
            _ if kind.generator().is_some() => {
                let mut raised = args.into_vec();
                for arg in &mut raised {
                    *arg = multiply(arg.clone(), exponent.clone())?;
                }
                Ok((GateCallee::Table(kind, 0), raised.into(), controls))
            }
            _ => {
                let (_, name, line) =
                    POWERS.iter().find(|power| power.0 == kind).ok_or_else(refused)?;
                let callee = self.lent_definition(name, line).ok_or_else(refused)?;
                Ok((callee, [exponent].into(), controls))
            }
        }
    }

    /// Returns the definition of a line of OpenQASM 3 over the gates of the table, made once. Its
    /// name is not visible in the file.
    fn lent_definition(&mut self, name: &'static str, line: &str) -> Option<GateCallee> {
        if let Some(&number) = self.special.get(name) {
            return Some(GateCallee::Defined(number));
        }
        let source = u32::try_from(self.sources.len()).unwrap_or(u32::MAX);
        let program = parser::program(
            line,
            source,
            Some(Version::V3),
            &mut self.interner,
            &mut self.diagnostics,
        );
        self.sources.push(SourceText { name: "powers.inc".to_owned(), text: line.to_owned() });
        let symbol = self.interner.intern(name);
        let Some(GateCallee::Defined(number)) = self.define_apart(source, &program, symbol) else {
            return None;
        };
        self.special.insert(name.to_owned(), number);
        Some(GateCallee::Defined(number))
    }
}
