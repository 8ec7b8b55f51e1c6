//! The modules of a crate, and which file uses an item of which other file.
//!
//! The source is parsed; inside macros and attributes, paths are found among the words. Code for tests is left out. A re-export
//! (`pub use`) is followed to the file that defines the item; it does not count as a use. A name that no module defines
//! counts as an item of the module that the path names.

use super::tree::Tree;
use proc_macro2::{Spacing, TokenStream, TokenTree};
use regex::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::mem::replace;
use std::sync::LazyLock;
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Field, ImplItemFn, Item, ItemMod, Macro, MetaList, UseTree, Visibility};

/// Each use of one file's items by another file of the crate: the line of its first use.
pub(super) type Uses<'a> = BTreeMap<(&'a str, &'a str), usize>;

/// The uses between the files of the crate whose root file this is.
pub(super) fn uses_between_files<'a>(tree: &'a Tree, root: &'a str) -> Uses<'a> {
    let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut krate = Krate { tree, modules: Vec::new(), current: 0, folder: String::new(), in_body: false };
    krate.read_file(root, None, folder.to_owned());
    let mut uses = Uses::new();
    for module in 0..krate.modules.len() {
        let from = krate.modules[module].file;
        let Module { imports, globs, paths, .. } = &krate.modules[module];
        let imports = imports.values().filter(|import| !import.exported);
        let imports = imports.map(|import| (&import.target, true));
        let others = globs.iter().chain(paths).map(|reference| (reference, false));
        for (reference, is_import) in imports.chain(others) {
            let used = match krate.resolve(module, &reference.path, MAX_HOPS) {
                Some(Place::ItemOf(used)) => Some(used),
                // An attribute can use an imported module by its name in a string.
                Some(Place::Module(used)) => Some(used).filter(|_| is_import),
                None => None,
            };
            if let Some(used) = used {
                let to = krate.modules[used].file;
                if from != to {
                    let line = uses.entry((from, to)).or_insert(reference.line);
                    *line = reference.line.min(*line);
                }
            }
        }
    }
    uses
}

/// Re-exports of re-exports end after this many; globs may run in circles.
const MAX_HOPS: usize = 12;

struct Krate<'a> {
    tree: &'a Tree,
    modules: Vec<Module<'a>>,
    /// The module that is being read, and the folder of its children.
    current: usize,
    folder: String,
    /// Whether a function is being read, whose items are its own.
    in_body: bool,
}

/// A module, in a file of its own or inside another.
#[derive(Default)]
struct Module<'a> {
    file: &'a str,
    parent: Option<usize>,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: BTreeMap<String, Import>,
    globs: Vec<Reference>,
    paths: Vec<Reference>,
}

struct Import {
    target: Reference,
    exported: bool,
}

struct Reference {
    path: Vec<String>,
    line: usize,
}

/// What a path names.
enum Place {
    Module(usize),
    ItemOf(usize),
}

impl<'a> Krate<'a> {
    fn read_file(&mut self, file: &'a str, parent: Option<usize>, folder: String) -> usize {
        // What is not Rust the compiler refuses.
        let items = self.tree.text(file).and_then(|text| Some(syn::parse_file(text).ok()?.items));
        self.read(file, parent, folder, &items.unwrap_or_default())
    }

    fn read(&mut self, file: &'a str, parent: Option<usize>, folder: String, items: &[Item]) -> usize {
        let module = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        let outer = (replace(&mut self.current, module), replace(&mut self.folder, folder));
        items.iter().for_each(|item| self.visit_item(item));
        (self.current, self.folder) = outer;
        module
    }

    fn read_child(&mut self, item: &ItemMod) {
        let (tree, parent, name) = (self.tree, self.current, item.ident.to_string());
        let inside = format!("{}/{name}", self.folder);
        let known = |path: String| tree.files.get_key_value(&path).map(|(path, _)| path.as_str());
        let child = if let Some((_, items)) = &item.content {
            self.read(self.modules[parent].file, Some(parent), inside, items)
        } else if let Some(file) = known(format!("{inside}.rs")).or(known(format!("{inside}/mod.rs"))) {
            self.read_file(file, Some(parent), inside)
        } else {
            return;
        };
        self.modules[parent].children.insert(name, child);
    }

    /// Takes in one tree of a `use`.
    fn import(&mut self, mut path: Vec<String>, tree: &UseTree, exported: bool) {
        let (ident, name) = match tree {
            UseTree::Path(start) => {
                path.push(start.ident.to_string());
                return self.import(path, &start.tree, exported);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.import(path.clone(), tree, exported));
            }
            UseTree::Glob(glob) => {
                let line = glob.star_token.spans[0].start().line;
                return self.modules[self.current].globs.push(Reference { path, line });
            }
            UseTree::Name(name) => (&name.ident, None),
            UseTree::Rename(renamed) => (&renamed.ident, Some(renamed.rename.to_string())),
        };
        if ident != "self" || path.is_empty() {
            path.push(ident.to_string());
        }
        let name = match name {
            Some(name) if name == "_" => format!("_{}", path.join("_")),
            Some(name) => name,
            None => path.last().cloned().unwrap_or_default(),
        };
        let target = Reference { path, line: ident.span().start().line };
        self.modules[self.current].imports.insert(name, Import { target, exported });
    }

    /// Finds the paths in the tokens of a macro or attribute.
    fn read_tokens(&mut self, tokens: TokenStream, line: usize) {
        static PATH: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r"(?:^|\.\.|[^.':\w])((?:\w+::)*[A-Za-z_]\w*)").expect("a valid pattern")
        });
        let words = words(tokens);
        let paths = PATH.captures_iter(&words).map(|found| found[1].split("::").map(str::to_owned).collect());
        self.modules[self.current].paths.extend(paths.map(|path| Reference { path, line }));
    }

    /// What a path names that a module writes; `None` for what is not of this crate.
    fn resolve(&self, from: usize, path: &[String], hops: usize) -> Option<Place> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.walk(0, rest, hops),
            "self" => self.walk(from, rest, hops),
            "super" => {
                let parent = self.modules[from].parent?;
                if rest.first().is_some_and(|next| next == "super") {
                    self.resolve(parent, rest, hops)
                } else {
                    self.walk(parent, rest, hops)
                }
            }
            name => self.lookup(from, name, rest, hops),
        }
    }

    /// What a path names that starts in this module.
    fn walk(&self, module: usize, path: &[String], hops: usize) -> Option<Place> {
        match path.split_first() {
            None => Some(Place::Module(module)),
            Some((name, rest)) => {
                Some(self.lookup(module, name, rest, hops).unwrap_or(Place::ItemOf(module)))
            }
        }
    }

    fn lookup(&self, module: usize, name: &str, rest: &[String], hops: usize) -> Option<Place> {
        let hops = hops.checked_sub(1)?;
        let scope = &self.modules[module];
        if let Some(child) = scope.children.get(name) {
            return self.walk(*child, rest, hops);
        }
        if scope.items.contains(name) {
            return Some(Place::ItemOf(module));
        }
        if let Some(import) = scope.imports.get(name) {
            // `use name;` may name a crate of the same name.
            if import.target.path.first().is_some_and(|first| first == name) {
                return None;
            }
            let path = [&import.target.path, rest].concat();
            return self.resolve(module, &path, hops);
        }
        scope.globs.iter().find_map(|glob| match self.resolve(module, &glob.path, hops)? {
            Place::Module(inner) => self.lookup(inner, name, rest, hops),
            Place::ItemOf(_) => None,
        })
    }
}

impl<'ast> Visit<'ast> for Krate<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = match item {
            Item::Const(item) => (&item.attrs, Some(&item.ident)),
            Item::Enum(item) => (&item.attrs, Some(&item.ident)),
            Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
            Item::Impl(item) => (&item.attrs, None),
            Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
            Item::Mod(item) => (&item.attrs, None),
            Item::Static(item) => (&item.attrs, Some(&item.ident)),
            Item::Struct(item) => (&item.attrs, Some(&item.ident)),
            Item::Trait(item) => (&item.attrs, Some(&item.ident)),
            Item::Type(item) => (&item.attrs, Some(&item.ident)),
            Item::Union(item) => (&item.attrs, Some(&item.ident)),
            Item::Use(item) => (&item.attrs, None),
            _ => return visit::visit_item(self, item),
        };
        if are_for_tests(attributes) {
            return;
        }
        if !self.in_body || matches!(item, Item::Macro(_)) {
            self.modules[self.current].items.extend(name.map(ToString::to_string));
        }
        match item {
            Item::Use(item) => {
                let exported = !matches!(item.vis, Visibility::Inherited);
                self.import(Vec::new(), &item.tree, exported);
            }
            Item::Mod(item) => self.read_child(item),
            _ => visit::visit_item(self, item),
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !are_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast Field) {
        if !are_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_block(&mut self, block: &'ast Block) {
        let outer = replace(&mut self.in_body, true);
        visit::visit_block(self, block);
        self.in_body = outer;
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if let (None, Some(first)) = (path.leading_colon, path.segments.first()) {
            let line = first.ident.span().start().line;
            let path = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            self.modules[self.current].paths.push(Reference { path, line });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, it: &'ast Macro) {
        self.visit_path(&it.path);
        self.read_tokens(it.tokens.clone(), it.delimiter.span().open().start().line);
    }

    fn visit_meta_list(&mut self, list: &'ast MetaList) {
        self.read_tokens(list.tokens.clone(), list.delimiter.span().open().start().line);
    }
}

/// The tokens as text, without literals, and with spaces between words only.
fn words(tokens: TokenStream) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) => text += &format!("({})", words(group.stream())),
            // A colon by itself is not a part of a path.
            TokenTree::Punct(mark) if mark.as_char() == ':' && mark.spacing() == Spacing::Alone => {
                text += if text.ends_with(':') { ":" } else { ": " };
            }
            TokenTree::Punct(mark) => text.push(mark.as_char()),
            TokenTree::Literal(_) => text.push(';'),
            TokenTree::Ident(word) => {
                if text.ends_with(|last: char| last.is_alphanumeric() || last == '_') {
                    text.push(' ');
                }
                text += &word.to_string();
            }
        }
    }
    text
}

/// Whether one is `test`, `cfg(test)` or `cfg(all(test, ..))`.
fn are_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let condition = attribute.meta.require_list().map(|list| words(list.tokens.clone()));
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg")
                && condition.is_ok_and(|it| it == "test" || it.starts_with("all(test"))
    })
}
