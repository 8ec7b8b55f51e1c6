//! The modules of a crate, and which file uses an item of which other file.
//!
//! The source is read as tokens, without a parser: this finds definitions, imports and paths, also inside macros. Code for
//! tests is left out. A re-export (`pub use`) is followed to the file that defines the item; it does not count as a use. A
//! name that no module defines counts as an item of the module that the path names.

use super::tree::Tree;
use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};

/// Each use of one file's items by another file of the crate: the line of its first use.
pub(super) type Uses<'a> = BTreeMap<(&'a str, &'a str), usize>;

/// The uses between the files of the crate whose root file this is.
pub(super) fn uses_between_files<'a>(tree: &'a Tree, root: &'a str) -> Uses<'a> {
    let mut krate = Krate::default();
    krate.read_file(tree, root, None, false);
    let mut uses = Uses::new();
    for module in 0..krate.modules.len() {
        let from = krate.modules[module].file;
        let imports = krate.modules[module].imports.values().filter(|import| !import.exported);
        let globs = krate.modules[module].globs.iter();
        for reference in imports.map(|import| &import.target).chain(globs).chain(&krate.modules[module].paths)
        {
            if let Some(Place::ItemOf(used)) = krate.resolve(module, &reference.path, MAX_HOPS) {
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

#[derive(Default)]
struct Krate<'a> {
    modules: Vec<Module<'a>>,
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

#[derive(Clone)]
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
    /// Reads a file-level module with its children. The children of `a.rs` are in `a/`, those of a root beside it.
    fn read_file(&mut self, tree: &'a Tree, file: &'a str, parent: Option<usize>, in_folder: bool) -> usize {
        let module = self.modules.len();
        self.modules.push(Module { file, parent, ..Module::default() });
        let folder = if in_folder {
            file.trim_end_matches(".rs").to_owned()
        } else {
            file.rsplit_once('/').map_or_else(String::new, |(folder, _)| folder.to_owned())
        };
        // What is not Rust the compiler refuses.
        let tokens = tree.text(file).and_then(|text| text.parse::<TokenStream>().ok()).unwrap_or_default();
        self.read(tree, &folder, module, tokens, true);
        module
    }

    fn read(&mut self, tree: &'a Tree, folder: &str, module: usize, tokens: TokenStream, items: bool) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let Some(after) = after_test_only(&tokens, at) {
                at = after;
                continue;
            }
            match &tokens[at] {
                TokenTree::Group(group) => self.read(tree, folder, module, group.stream(), false),
                TokenTree::Ident(word) if is_start_of_path(&tokens, at) => {
                    let name = ident(&tokens, at + 1);
                    match (word.to_string().as_str(), name) {
                        ("use", _) => {
                            let end = end_of_statement(&tokens, at);
                            let exported = is_exported(&tokens, at);
                            self.import(module, Vec::new(), &tokens[at + 1..end], exported);
                            at = end;
                        }
                        ("mod", Some(name)) => {
                            self.read_child(tree, folder, module, name, tokens.get(at + 2));
                            at += 2;
                        }
                        (
                            "fn" | "struct" | "enum" | "union" | "trait" | "const" | "static" | "type",
                            Some(name),
                        ) if items => {
                            self.modules[module].items.insert(name.to_string());
                            // In `const fn name`, `fn` is next.
                            at += usize::from(name != "fn" && name != "unsafe" && name != "extern");
                        }
                        ("macro_rules", _) => {
                            let name = ident(&tokens, at + 2).map(Ident::to_string);
                            self.modules[module].items.extend(name);
                            at += 2;
                        }
                        _ => {
                            let (path, end) = path(&tokens, at);
                            let line = word.span().start().line;
                            self.modules[module].paths.push(Reference { path, line });
                            at = end;
                            continue;
                        }
                    }
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn read_child(
        &mut self,
        tree: &'a Tree,
        folder: &str,
        parent: usize,
        name: &Ident,
        body: Option<&TokenTree>,
    ) {
        let name = name.to_string();
        let inside = format!("{folder}/{name}");
        let child = if let Some(TokenTree::Group(body)) = body {
            let child = self.modules.len();
            let file = self.modules[parent].file;
            self.modules.push(Module { file, parent: Some(parent), ..Module::default() });
            self.read(tree, &inside, child, body.stream(), true);
            child
        } else if let Some((file, _)) = tree.files.get_key_value(&format!("{inside}.rs")) {
            self.read_file(tree, file, Some(parent), true)
        } else if let Some((file, _)) = tree.files.get_key_value(&format!("{inside}/mod.rs")) {
            self.read_file(tree, file, Some(parent), false)
        } else {
            return;
        };
        self.modules[parent].children.insert(name, child);
    }

    /// Takes in one tree of a `use`.
    fn import(&mut self, module: usize, mut path: Vec<String>, tokens: &[TokenTree], exported: bool) {
        let mut line = 0;
        let mut name = None;
        for token in tokens {
            line = token.span().start().line;
            match token {
                TokenTree::Ident(word) if word == "as" => name = Some(String::new()),
                TokenTree::Ident(word) if name.is_some() => name = Some(word.to_string()),
                TokenTree::Ident(word) => path.push(word.to_string()),
                TokenTree::Punct(mark) if mark.as_char() == '*' => {
                    return self.modules[module].globs.push(Reference { path, line });
                }
                TokenTree::Group(group) => {
                    let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                    for part in inner.split(|token| is_mark(Some(token), ',')).filter(|part| !part.is_empty())
                    {
                        self.import(module, path.clone(), part, exported);
                    }
                    return;
                }
                _ => {}
            }
        }
        if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let last = path.last().cloned().unwrap_or_default();
        let mut name = name.unwrap_or(last);
        if name == "_" {
            name = format!("_{}", path.join("_"));
        }
        self.modules[module].imports.insert(name, Import { target: Reference { path, line }, exported });
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

/// Where the source goes on when an item for tests only starts here.
fn after_test_only(tokens: &[TokenTree], at: usize) -> Option<usize> {
    let TokenTree::Group(attribute) = tokens.get(at + 1)? else { return None };
    let is_attribute = is_mark(tokens.get(at), '#') && attribute.delimiter() == Delimiter::Bracket;
    if !is_attribute || !is_for_tests(attribute.stream()) {
        return None;
    }
    let mut end = at + 2;
    while is_mark(tokens.get(end), '#') {
        end += 2;
    }
    let is_item = (end..tokens.len())
        .map_while(|at| ident(tokens, at).map(Ident::to_string).or_else(|| visibility(tokens, at)))
        .find(|word| ITEMS.contains(&word.as_str()));
    let only_semicolon = matches!(is_item.as_deref(), Some("use" | "const" | "static" | "type"));
    while let Some(token) = tokens.get(end) {
        end += 1;
        let body = matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Brace);
        let comma = is_item.is_none() && is_mark(Some(token), ',');
        if is_mark(Some(token), ';') || comma || (body && !only_semicolon) {
            break;
        }
    }
    Some(end)
}

const ITEMS: [&str; 11] =
    ["use", "const", "static", "type", "fn", "mod", "struct", "enum", "impl", "trait", "macro_rules"];

/// The group of `pub(crate)`.
fn visibility(tokens: &[TokenTree], at: usize) -> Option<String> {
    let TokenTree::Group(group) = tokens.get(at)? else { return None };
    (group.delimiter() == Delimiter::Parenthesis).then(String::new)
}

/// Whether an attribute is `test`, `cfg(test)` or `cfg(all(test, ..))`.
fn is_for_tests(attribute: TokenStream) -> bool {
    let text: String = attribute.to_string().split_whitespace().collect();
    text == "test" || text.starts_with("cfg(test)") || text.starts_with("cfg(all(test")
}

fn is_mark(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == mark)
}

fn ident(tokens: &[TokenTree], at: usize) -> Option<&Ident> {
    match tokens.get(at) {
        Some(TokenTree::Ident(word)) => Some(word),
        _ => None,
    }
}

/// Whether the name here is the first of its path: no field, no lifetime, no later part.
fn is_start_of_path(tokens: &[TokenTree], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let is_range = is_mark(before(1), '.') && is_mark(before(2), '.');
    let is_part = (is_mark(before(1), '.') && !is_range)
        || is_mark(before(1), '\'')
        || (is_mark(before(1), ':') && is_mark(before(2), ':'));
    !is_part
}

fn path(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(word) = ident(tokens, at) {
        path.push(word.to_string());
        at += 1;
        if !(is_mark(tokens.get(at), ':') && is_mark(tokens.get(at + 1), ':')) {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn end_of_statement(tokens: &[TokenTree], at: usize) -> usize {
    (at..tokens.len()).find(|at| is_mark(tokens.get(*at), ';')).unwrap_or(tokens.len())
}

/// Whether `pub` or `pub(..)` is before the `use` here.
fn is_exported(tokens: &[TokenTree], at: usize) -> bool {
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let is_pub = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Ident(word)) if word == "pub");
    is_pub(before(1)) || (matches!(before(1), Some(TokenTree::Group(_))) && is_pub(before(2)))
}
