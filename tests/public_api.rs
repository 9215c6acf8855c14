//! The public interface of the packages that others depend on, listed from their sources and
//! compared with the lists in `tests/public_api`: a change of it is seen where it is reviewed.
//! `KETGRAD_BLESS=1` writes the lists anew.
//!
//! A list has the items of each public module, those that a module re-exports from private ones at
//! the place where users find them, and below them what is implemented for types. What macros write
//! is not in it, nor what is hidden. The modules of core's parts are listed as those of
//! `ketgrad_core`, which re-exports them.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use quote::ToTokens;
use syn::{Attribute, Fields, ImplItem, Item, TraitItem, Type, UseTree, Visibility};

/// Packages with the folders of their sources.
const PACKAGES: [(&str, &str); 5] = [
    ("ketgrad_core", "core"),
    ("ketgrad", "dsl"),
    ("ketgrad_plugin_abi", "plugins/abi"),
    ("ketgrad_plugin_sdk", "plugins/sdk"),
    ("ketgrad_plugin_host", "plugins/host"),
];

#[test]
fn the_public_interface_is_the_listed_one() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut changed = Vec::new();
    for (name, folder) in PACKAGES {
        let mut source = Module::read(&root.join(folder).join("src/lib.rs"), &[name.to_owned()]);
        source.take_parts(&root.join(folder));
        let found = list(&source);
        let file = root.join("tests/public_api").join(format!("{name}.txt"));
        if std::env::var_os("KETGRAD_BLESS").is_some() {
            fs::write(&file, found).unwrap();
            continue;
        }
        let listed = fs::read_to_string(&file).unwrap_or_default();
        let (now, before): (BTreeSet<&str>, BTreeSet<&str>) =
            (found.lines().collect(), listed.lines().collect());
        changed.extend(before.difference(&now).map(|line| format!("- {line}")));
        changed.extend(now.difference(&before).map(|line| format!("+ {line}")));
    }
    let lines = changed.join("\n");
    assert!(
        changed.is_empty(),
        "KETGRAD_BLESS=1 writes the lists anew, if this is meant:\n{lines}"
    );
}

/// The list sees what it is for: items of each sort, re-exports, methods; and passes over what is
/// private or hidden.
#[test]
fn lists_show_what_is_public() {
    let folder = std::env::temp_dir().join(format!("ketgrad-public-api-{}", std::process::id()));
    fs::create_dir_all(folder.join("inner")).unwrap();
    let lib = "mod inner; pub mod open { pub const N: usize = 3; fn no() {} }
        pub use inner::{Shown, deep::Deep as Renamed};
        #[doc(hidden)] pub fn hidden() {}
        #[cfg(test)] mod tests { pub fn never() {} }
        mod written { #[macro_export] macro_rules! seen { () => {} } macro_rules! unseen { () => {} } }
        pub use inner::Gone;
        mod all { pub fn every() {} pub(super) fn near() {} #[doc(hidden)] pub fn unlisted() {} }
        pub use all::*;
        pub trait Walks { fn walk(&self) -> bool { true } }";
    fs::write(folder.join("lib.rs"), lib).unwrap();
    let inner = "pub mod deep; pub struct Shown { pub a: f64, b: u8 } pub struct Other;
        impl Shown { pub fn new(a: f64) -> Self { todo!() } fn secret(&self) {} }
        pub(crate) struct Kept; impl Kept { pub fn kept() {} } impl crate::Walks for Kept {}
        impl crate::Walks for Shown {}";
    fs::write(folder.join("inner/mod.rs"), inner).unwrap();
    fs::write(folder.join("inner/deep.rs"), "pub enum Deep { A, B(u8), C { x: f64 } }").unwrap();
    let found = list(&Module::read(&folder.join("lib.rs"), &["p".to_owned()]));
    fs::remove_dir_all(folder).unwrap();
    let expected = "p: enum Renamed { A, B(u8), C { x: f64 } }
p: fn every()
p: macro seen!
p: struct Shown { a: f64, .. }
p: trait Walks
p: trait Walks: fn walk(&self) -> bool { .. }
p: use inner::Gone
p::open: const N: usize
impl Shown: fn new(a: f64) -> Self
impl crate::Walks for Shown
";
    assert_eq!(found, expected);
}

/// A module with its items.
struct Module {
    path: Vec<String>,
    items: Vec<Item>,
    children: BTreeMap<String, (bool, Module)>,
}

impl Module {
    fn read(file: &Path, path: &[String]) -> Module {
        let text = fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let items =
            syn::parse_file(&text).unwrap_or_else(|e| panic!("{}: {e}", file.display())).items;
        let name = file.file_stem().unwrap().to_str().unwrap();
        let parent = file.parent().unwrap();
        let folder =
            if ["lib", "mod"].contains(&name) { parent.to_owned() } else { parent.join(name) };
        Module::of(items, path, &folder)
    }

    fn of(items: Vec<Item>, path: &[String], folder: &Path) -> Module {
        let mut children = BTreeMap::new();
        for item in &items {
            let Item::Mod(module) = item else { continue };
            if is_hidden(&module.attrs) {
                continue;
            }
            let name = module.ident.to_string();
            let path = [path, std::slice::from_ref(&name)].concat();
            let child = match &module.content {
                Some((_, items)) => Module::of(items.clone(), &path, &folder.join(&name)),
                None => {
                    let files =
                        [folder.join(format!("{name}.rs")), folder.join(&name).join("mod.rs")];
                    let file: &PathBuf = files.iter().find(|file| file.exists()).unwrap();
                    Module::read(file, &path)
                }
            };
            children.insert(name, (is_public(&module.vis), child));
        }
        Module { path: path.to_vec(), items, children }
    }

    /// Takes in the modules of the crates that this one re-exports whole: `pub use ketgrad_num::…`
    /// for the one in the folder `num`. The others of that crate are private here.
    fn take_parts(&mut self, folder: &Path) {
        let mut parts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        self.items.retain(|item| {
            let Item::Use(used) = item else { return true };
            let mut is_part = false;
            uses(&used.tree, &mut Vec::new(), &mut |path, name, _| {
                let part = path.first().and_then(|first| first.strip_prefix("ketgrad_"));
                if let Some(part) = part.filter(|part| folder.join(part).is_dir()) {
                    parts.entry(part.to_owned()).or_default().insert(name.to_owned());
                    is_part = true;
                }
            });
            !is_part
        });
        for (part, shown) in parts {
            let file = folder.join(&part).join("src/lib.rs");
            for (name, (_, child)) in Module::read(&file, &self.path).children {
                // Each of several may have a private `interop`.
                let is_taken = self.children.contains_key(&name);
                let key = if is_taken { format!("{part}_{name}") } else { name.clone() };
                self.children.insert(key, (shown.contains(&name), child));
            }
        }
    }

    /// The module of a path that begins here or at the root.
    fn find<'m>(&'m self, root: &'m Module, path: &[String]) -> Option<&'m Module> {
        let Some((first, rest)) = path.split_first() else { return Some(self) };
        match first.as_str() {
            "self" => self.find(root, rest),
            "crate" => root.find(root, rest),
            "super" => root.find(root, &self.path[1..self.path.len() - 1])?.find(root, rest),
            name => self.children.get(name)?.1.find(root, rest),
        }
    }
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// True for what documentation leaves out, and tests.
fn is_hidden(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let text = a.to_token_stream().to_string().replace(' ', "");
        text.starts_with("#[cfg(test")
            || text.starts_with("#[cfg(all(test")
            || text == "#[doc(hidden)]"
    })
}

fn list(root: &Module) -> String {
    let mut lines = BTreeSet::new();
    items_of(root, root, &mut lines);
    macros_of(root, &root.path[0], &mut lines);
    let (mut implemented, mut private) = (BTreeSet::new(), BTreeSet::new());
    private_types(root, &mut private);
    impls_of(root, &private, &mut implemented);
    lines.into_iter().chain(implemented).map(|line| line + "\n").collect()
}

/// The items that users find at a public module, and at those inside it.
fn items_of(module: &Module, root: &Module, lines: &mut BTreeSet<String>) {
    items_at(&module.path.join("::"), module, root, lines);
    for (is_public, child) in module.children.values() {
        if *is_public {
            items_of(child, root, lines);
        }
    }
}

/// The items of a module, which users find at this place.
fn items_at(at: &str, module: &Module, root: &Module, lines: &mut BTreeSet<String>) {
    for item in &module.items {
        if let Item::Use(used) = item {
            if is_public(&used.vis) && !is_hidden(&used.attrs) {
                uses(&used.tree, &mut Vec::new(), &mut |path, name, shown| {
                    let from = module.find(root, path);
                    if let (Some(from), "*") = (from, name) {
                        return items_at(at, from, root, lines);
                    }
                    // From another crate or a public module: that it is here. From a private one:
                    // what it is.
                    match from.and_then(|m| {
                        m.items.iter().find(|item| name_of(item).as_deref() == Some(name))
                    }) {
                        Some(item) => describe(item, shown, at, lines),
                        None => {
                            let renamed =
                                if name == shown { String::new() } else { format!(" as {shown}") };
                            let path = [path, &[name.to_owned()]].concat().join("::");
                            lines.insert(format!("{at}: use {path}{renamed}"));
                        }
                    }
                });
            }
        } else {
            describe(item, "", at, lines);
        }
    }
}

/// The exported macros, which users find at the root wherever they are written.
fn macros_of(module: &Module, root: &str, lines: &mut BTreeSet<String>) {
    for item in &module.items {
        let Item::Macro(x) = item else { continue };
        let is_exported = x.attrs.iter().any(|a| a.path().is_ident("macro_export"));
        if is_exported && !is_hidden(&x.attrs) {
            lines.insert(format!("{root}: macro {}!", x.ident.as_ref().unwrap()));
        }
    }
    module.children.values().for_each(|(_, child)| macros_of(child, root, lines));
}

/// Calls for each name that a use brings in: the path of its module, its name, and under what name.
fn uses(tree: &UseTree, path: &mut Vec<String>, each: &mut impl FnMut(&[String], &str, &str)) {
    match tree {
        UseTree::Path(part) => {
            path.push(part.ident.to_string());
            uses(&part.tree, path, each);
            path.pop();
        }
        UseTree::Name(name) => each(path, &name.ident.to_string(), &name.ident.to_string()),
        UseTree::Rename(name) => each(path, &name.ident.to_string(), &name.rename.to_string()),
        UseTree::Glob(_) => each(path, "*", "*"),
        UseTree::Group(group) => group.items.iter().for_each(|tree| uses(tree, path, each)),
    }
}

fn name_of(item: &Item) -> Option<String> {
    Some(match item {
        Item::Fn(x) => x.sig.ident.to_string(),
        Item::Struct(x) => x.ident.to_string(),
        Item::Enum(x) => x.ident.to_string(),
        Item::Trait(x) => x.ident.to_string(),
        Item::Type(x) => x.ident.to_string(),
        Item::Const(x) => x.ident.to_string(),
        Item::Static(x) => x.ident.to_string(),
        _ => return None,
    })
}

/// The lines of an item, if it is public, under its name or another one.
fn describe(item: &Item, shown: &str, at: &str, lines: &mut BTreeSet<String>) {
    let mut add = |line: String| {
        lines.insert(format!("{at}: {}", tidy(&line)));
    };
    let named =
        |name: &syn::Ident| if shown.is_empty() { name.to_string() } else { shown.to_owned() };
    let text = |x: &dyn ToTokens| x.to_token_stream().to_string();
    match item {
        Item::Fn(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            let mut signature = x.sig.clone();
            signature.ident = syn::Ident::new(&named(&x.sig.ident), x.sig.ident.span());
            add(text(&signature));
        }
        Item::Struct(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            let growing = growing(&x.attrs);
            let fields = fields(&x.fields, true);
            add(format!("{growing}struct {}{}{fields}", named(&x.ident), text(&x.generics)));
        }
        Item::Enum(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            let variants: Vec<String> = x
                .variants
                .iter()
                .map(|v| format!("{}{}", v.ident, fields(&v.fields, false)))
                .collect();
            let growing = growing(&x.attrs);
            let name = format!("{growing}enum {}{}", named(&x.ident), text(&x.generics));
            add(format!("{name} {{ {} }}", variants.join(", ")));
        }
        Item::Trait(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            let name = format!("trait {}{}", named(&x.ident), text(&x.generics));
            let bounds = text(&x.supertraits);
            add(if bounds.is_empty() { name.clone() } else { format!("{name}: {bounds}") });
            for item in &x.items {
                let (line, attributes) = match item {
                    TraitItem::Fn(f) => {
                        let provided = if f.default.is_some() { " { .. }" } else { "" };
                        (format!("{}{provided}", text(&f.sig)), &f.attrs)
                    }
                    TraitItem::Const(c) => {
                        (format!("const {}: {}", c.ident, text(&c.ty)), &c.attrs)
                    }
                    TraitItem::Type(t) => (format!("type {}", t.ident), &t.attrs),
                    _ => continue,
                };
                if !is_hidden(attributes) {
                    add(format!("trait {}: {line}", named(&x.ident)));
                }
            }
        }
        Item::Type(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            add(format!("type {}{} = {}", named(&x.ident), text(&x.generics), text(&x.ty)));
        }
        Item::Const(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            add(format!("const {}: {}", named(&x.ident), text(&x.ty)));
        }
        Item::Static(x) if is_public(&x.vis) && !is_hidden(&x.attrs) => {
            add(format!("static {}: {}", named(&x.ident), text(&x.ty)));
        }
        _ => {}
    }
}

/// The word for what may grow.
fn growing(attributes: &[Attribute]) -> &'static str {
    if attributes.iter().any(|a| a.path().is_ident("non_exhaustive")) {
        "non_exhaustive "
    } else {
        ""
    }
}

fn fields(fields: &Fields, only_public: bool) -> String {
    let shown: Vec<String> = fields
        .iter()
        .filter(|f| !only_public || is_public(&f.vis))
        .map(|f| {
            let ty = f.ty.to_token_stream();
            f.ident.as_ref().map_or_else(|| ty.to_string(), |name| format!("{name}: {ty}"))
        })
        .chain((only_public && fields.iter().any(|f| !is_public(&f.vis))).then(|| "..".to_owned()))
        .collect();
    match fields {
        Fields::Unit => String::new(),
        Fields::Named(_) => format!(" {{ {} }}", shown.join(", ")),
        Fields::Unnamed(_) => format!("({})", shown.join(", ")),
    }
}

/// The names of the types that their own crate alone can name. No two types share a name.
fn private_types(module: &Module, names: &mut BTreeSet<String>) {
    for item in &module.items {
        let visibility = match item {
            Item::Struct(item) => &item.vis,
            Item::Enum(item) => &item.vis,
            _ => continue,
        };
        if !is_public(visibility) {
            names.extend(name_of(item));
        }
    }
    module.children.values().for_each(|(_, child)| private_types(child, names));
}

/// Lists the implementations for types that are not private: methods that are public, and traits.
fn impls_of(module: &Module, private: &BTreeSet<String>, lines: &mut BTreeSet<String>) {
    for item in &module.items {
        let Item::Impl(block) = item else { continue };
        let is_private = match &*block.self_ty {
            Type::Path(of) => {
                of.path.segments.last().is_some_and(|s| private.contains(&s.ident.to_string()))
            }
            _ => false,
        };
        if is_private || is_hidden(&block.attrs) {
            continue;
        }
        let (of, generics) = (block.self_ty.to_token_stream(), block.generics.to_token_stream());
        if let Some((_, path, _)) = &block.trait_ {
            lines.insert(tidy(&format!("impl{generics} {} for {of}", path.to_token_stream())));
            continue;
        }
        for item in &block.items {
            let (visibility, attributes, line) = match item {
                ImplItem::Fn(f) => (&f.vis, &f.attrs, f.sig.to_token_stream().to_string()),
                ImplItem::Const(c) => {
                    (&c.vis, &c.attrs, format!("const {}: {}", c.ident, c.ty.to_token_stream()))
                }
                _ => continue,
            };
            if is_public(visibility) && !is_hidden(attributes) {
                lines.insert(tidy(&format!("impl{generics} {of}: {line}")));
            }
        }
    }
    module.children.values().for_each(|(_, child)| impls_of(child, private, lines));
}

/// Tokens as one writes them.
fn tidy(tokens: &str) -> String {
    let mut text = tokens.to_owned();
    for (spaced, close) in [
        (" :: ", "::"),
        (":: ", "::"),
        (" < ", "<"),
        ("< ", "<"),
        (" >", ">"),
        (" ,", ","),
        (" (", "("),
        ("( ", "("),
        (" )", ")"),
        ("[ ", "["),
        (" ]", "]"),
        (" ;", ";"),
        ("& ", "&"),
        (" : ", ": "),
        (" . . ", " .. "),
        ("- >", "->"),
        ("->(", "-> ("),
        (" !", "!"),
    ] {
        text = text.replace(spaced, close);
    }
    // Whether a method changes its own copy of `self` is its business.
    text.replace("(mut self", "(self").replace("->", " -> ").replace("  ", " ").trim().to_owned()
}
