//! Program under construction: its functions, and the transforms of them that their bodies call.

use crate::{
    adjoint::{TransformError, TransformRegistry},
    entity::FuncId,
    ir::Program,
    staging::Builtin,
};

use super::super::{
    ast::{TextSpan, Transformed},
    error::TextErrorKind,
    lexer::error,
    limits::TextLimits,
};
use super::TextLowerResult;

pub(super) struct Module {
    pub(super) program: Program,
    /// Number of functions of the registry, which come first.
    pub(super) registered: usize,
    transforms: TransformRegistry,
    /// Spans at which they are requested.
    places: Vec<TextSpan>,
    pub(super) limits: TextLimits,
    /// Size of the functions built from the text so far.
    pub(super) size: usize,
}

impl Module {
    /// Creates a module. `registered`: number of functions before the text; `size`: size of those
    /// built before.
    pub(super) fn new(
        program: Program,
        registered: usize,
        limits: TextLimits,
        size: usize,
    ) -> Module {
        Module {
            program,
            registered,
            transforms: TransformRegistry::default(),
            places: Vec::new(),
            limits,
            size,
        }
    }

    /// Returns the function for `grad(f)`.
    pub(super) fn transformed(&mut self, written: &Transformed) -> TextLowerResult<FuncId> {
        let (name, span) = (&written.function, written.span);
        let Some(of) = self.program.lookup(&name.text) else {
            return Err(error(name.span, unknown(&name.text, &self.program)));
        };
        self.places.push(span);
        let (transforms, program) = (&mut self.transforms, &mut self.program);
        let one = |of, &transform| transforms.declare(program, of, transform, span.at);
        written.transforms.iter().try_fold(of, one).map_err(|e| error(span, told(e)))
    }

    /// Returns the program, with the bodies of the transforms.
    pub(super) fn complete(mut self) -> TextLowerResult<Program> {
        match self.transforms.define(&mut self.program) {
            Ok(()) => Ok(self.program),
            Err((at, e)) => {
                let span =
                    self.places.iter().find(|span| span.at == at).copied().unwrap_or_default();
                Err(error(span, told(e)))
            }
        }
    }
}

fn told(e: TransformError) -> TextErrorKind {
    let name = |function: &String| function.clone();
    match &e {
        TransformError::Signature { transform, given, expected } => {
            let expected = format!("{expected} in `{}`", transform.name());
            TextErrorKind::Kind { given: given.clone(), expected, hint: "" }
        }
        TransformError::Diff { function, source } => {
            TextErrorKind::Derivative { name: name(function), reason: source.to_string() }
        }
        TransformError::Circular { function } => {
            let reason = format!("`{function}` asks for this derivative itself");
            TextErrorKind::Derivative { name: name(function), reason }
        }
        TransformError::TooLarge { limit } => {
            TextErrorKind::TooDeep { what: "the instructions of derivatives are", limit: *limit }
        }
    }
}

/// Returns the error of a transform of a name that is not a function of the program.
fn unknown(name: &str, program: &Program) -> TextErrorKind {
    if Builtin::by_name(name).is_some() {
        let given = format!("`{name}`, which the language has");
        let expected = "a function of the text, such as `fn g(x) { … }`".to_owned();
        return TextErrorKind::Kind { given, expected, hint: ": let one call it" };
    }
    let known = program.functions.values().map(|f| f.name.as_str()).filter(|n| !n.contains('.'));
    TextErrorKind::unknown("function", name, known)
}
