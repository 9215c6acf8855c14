//! Resolution of the kinds that a file names: structs, and the kinds written after a `:`.

use std::collections::{HashMap, HashSet};

use crate::{
    ir::{Element, Field, Kind, MAX_KIND_DEPTH},
    notation::nearest_name,
    stack::deep,
    staging::{MAX_LEAVES, TypeMismatch},
};

use super::super::{
    ast::{Items, KindExpr, KindSyntax, Struct},
    error::{TextError, TextErrorKind},
    lexer::error,
    limits::{TextLimits, is_full},
    parser::own_name,
};

/// Names of the kinds of the language itself.
const BASIC: [&str; 6] = ["real", "complex", "int", "bool", "array", "handle"];

/// Resolves the kinds of all structs. A struct that contains itself, or is too large, is an error.
pub(super) fn structs(
    items: &Items,
    limits: &TextLimits,
    errors: &mut Vec<TextError>,
) -> HashMap<String, Kind> {
    let mut known: HashMap<String, Kind> = HashMap::new();
    let mut names = HashSet::new();
    for s in &items.structs {
        if is_full(errors) {
            return known;
        }
        if !names.insert(s.name.text.as_str()) {
            let (what, name) = ("struct", s.name.text.clone());
            errors.push(error(s.name.span, TextErrorKind::Duplicate { what, name }));
        }
        if BASIC.contains(&s.name.text.as_str()) {
            let (what, name) = ("kind", s.name.text.clone());
            errors.push(error(s.name.span, TextErrorKind::Duplicate { what, name }));
        }
        let mut fields = HashSet::new();
        for (field, _) in &s.fields {
            if !fields.insert(&field.text) {
                let (what, name) = ("field", field.text.clone());
                errors.push(error(field.span, TextErrorKind::Duplicate { what, name }));
            }
        }
    }
    // Structs whose fields are known, and after each those that depended on it (a topological
    // order).
    let mut waiting: HashMap<&str, Vec<&Struct>> = HashMap::new();
    let mut size = 0;
    let mut ready: Vec<&Struct> = items.structs.iter().rev().collect();
    while let Some(s) = ready.pop() {
        if known.contains_key(&s.name.text) {
            continue;
        }
        if s.fields.len() > MAX_LEAVES {
            let (what, limit) = ("fields of a struct:", MAX_LEAVES);
            errors.push(error(s.name.span, TextErrorKind::TooDeep { what, limit }));
            return known;
        }
        if let Some(other) = unsettled(s, &known).filter(|other| names.contains(other)) {
            waiting.entry(other).or_default().push(s);
            continue;
        }
        let fields: Result<Vec<Field>, TextError> = (s.fields.iter())
            .map(|(n, k)| {
                let kind = k.as_ref().map_or(Ok(Kind::Real), |k| resolve(k, &known))?;
                Ok(Field { name: Some(n.text.clone()), kind })
            })
            .collect();
        let Ok(fields) = fields else { continue };
        let kind = Kind::structure(
            &s.name.text,
            fields.into_iter().filter_map(|f| Some((f.name?, f.kind))),
        );
        let deep = (kind.depth() > MAX_KIND_DEPTH)
            .then_some(("structs inside each other:", MAX_KIND_DEPTH));
        let large = (kind.extent() > MAX_LEAVES).then_some(("numbers in a struct:", MAX_LEAVES));
        if let Some((what, limit)) = deep.or(large) {
            errors.push(error(s.name.span, TextErrorKind::TooDeep { what, limit }));
            return known;
        }
        size += kind.extent();
        if size > limits.size {
            errors.push(limits.too_much_made(s.name.span));
            return known;
        }
        known.insert(s.name.text.clone(), kind);
        ready.extend(waiting.remove(s.name.text.as_str()).into_iter().flatten());
    }
    unknown(items, &names, &known, errors);
    known
}

/// Returns the first struct that a field refers to and that is not known yet.
fn unsettled<'a>(s: &'a Struct, known: &HashMap<String, Kind>) -> Option<&'a str> {
    let is_new = |name: &str| !BASIC.contains(&name) && !known.contains_key(name);
    s.fields.iter().filter_map(|(_, kind)| kind.as_ref()).find_map(|kind| named(kind, &is_new))
}

/// Returns the first name in a kind for which the predicate holds.
fn named<'a>(kind: &'a KindExpr, is: &dyn Fn(&str) -> bool) -> Option<&'a str> {
    match &kind.kind {
        KindSyntax::Name(name) => is(name).then_some(name),
        KindSyntax::Array(element) => deep(|| named(element, is)),
        KindSyntax::Tuple(kinds) => kinds.iter().find_map(|kind| deep(|| named(kind, is))),
    }
}

/// Reports structs with fields of unknown kinds, and those that contain themselves.
fn unknown(
    items: &Items,
    names: &HashSet<&str>,
    known: &HashMap<String, Kind>,
    errors: &mut Vec<TextError>,
) {
    for s in items.structs.iter().filter(|s| !known.contains_key(&s.name.text)) {
        for kind in s.fields.iter().filter_map(|(_, k)| k.as_ref()) {
            if is_full(errors) {
                return;
            }
            if let Err(mut e) = resolve(kind, known) {
                let itself = |name: &String| names.contains(name.as_str());
                if let TextErrorKind::Unknown { name, .. } = &e.kind
                    && itself(name)
                {
                    let given = format!("`{name}` inside itself");
                    e.kind = TextErrorKind::Kind {
                        given,
                        expected: "a kind of known size".into(),
                        hint: "",
                    };
                }
                errors.push(e);
            }
        }
    }
}

/// Indices of the fields of structs by their names, so that reading one of thousands needs no
/// search.
pub(in crate::text) struct Fields(HashMap<String, HashMap<String, usize>>);

impl Fields {
    pub(super) fn new(structs: &HashMap<String, Kind>) -> Fields {
        let numbers = |kind: &Kind| {
            let names =
                kind.fields().iter().enumerate().filter_map(|(k, f)| Some((f.name.clone()?, k)));
            names.collect()
        };
        Fields(structs.iter().map(|(name, kind)| (name.clone(), numbers(kind))).collect())
    }

    /// Returns the index of a field. A struct of the same name may have others: a cotangent lacks
    /// those that have none.
    pub(in crate::text) fn number(&self, kind: &Kind, name: &str) -> Option<usize> {
        let is = |field: &Field| field.name.as_deref() == Some(name);
        let known = match kind {
            Kind::Tuple(t) => t.name.as_ref().and_then(|of| self.0.get(of)?.get(name)).copied(),
            _ => None,
        };
        let fields = kind.fields();
        known.filter(|&k| fields.get(k).is_some_and(is)).or_else(|| fields.iter().position(is))
    }
}

/// Resolves a written kind.
pub(in crate::text) fn resolve(
    kind: &KindExpr,
    structs: &HashMap<String, Kind>,
) -> Result<Kind, TextError> {
    Ok(match &kind.kind {
        KindSyntax::Name(name) => match name.as_str() {
            "real" => Kind::Real,
            "complex" => Kind::Complex,
            "int" => Kind::Int,
            "bool" => Kind::Bool,
            "handle" => Kind::Handle,
            name => match structs.get(name) {
                Some(kind) => kind.clone(),
                None => {
                    let names = BASIC.into_iter().chain(structs.keys().map(String::as_str));
                    let nearest = own_name(name).or_else(|| nearest_name(name, names));
                    let (what, name) = ("kind", name.to_owned());
                    let nearest = nearest.map(str::to_owned);
                    return Err(error(kind.span, TextErrorKind::Unknown { what, name, nearest }));
                }
            },
        },
        KindSyntax::Array(element) => {
            let given = resolve(element, structs)?;
            match Element::from_kind(&given) {
                Some(e) => Kind::Array(e),
                None => {
                    let misfit = TypeMismatch::new(&given, "real, complex or int elements");
                    return Err(super::misfit(misfit, &[element.span]));
                }
            }
        }
        KindSyntax::Tuple(kinds) => {
            let kinds = kinds.iter().map(|k| resolve(k, structs)).collect::<Result<Vec<_>, _>>()?;
            if kinds.iter().map(Kind::extent).sum::<usize>() > MAX_LEAVES {
                let what = "values in a tuple:";
                return Err(error(kind.span, TextErrorKind::TooDeep { what, limit: MAX_LEAVES }));
            }
            if kinds.iter().any(|kind| kind.depth() >= MAX_KIND_DEPTH) {
                let what = "tuples inside each other:";
                return Err(error(
                    kind.span,
                    TextErrorKind::TooDeep { what, limit: MAX_KIND_DEPTH },
                ));
            }
            Kind::tuple(kinds)
        }
    })
}
