//! From a text to statements: comments, and in `.S` files the directives and macros of the C preprocessor.

use std::borrow::Cow;
use std::collections::HashMap;

use super::error::{Fault, Pos, fault, quoted};
use super::expr;
use super::input::{MAX_DEPTH, MAX_EXPANSION, MAX_STATEMENT, MAX_STATEMENTS, Sources};
use super::statement::{Line, Scan, comment_start, split};
use crate::isa::{Extension, Isa};

#[derive(Clone)]
struct Macro {
    params: Option<Vec<String>>,
    /// The last parameter takes all arguments that are left.
    variadic: bool,
    body: String,
}

struct Condition {
    /// Whether the lines around are used.
    outer: bool,
    /// Whether a branch was used.
    taken: bool,
    /// Whether this branch is used.
    active: bool,
    ended: bool,
    at: Pos,
}

pub(super) struct Preprocessor<'a> {
    sources: &'a Sources,
    macros: HashMap<String, Macro>,
    conditions: Vec<Condition>,
    /// The files so far, by their index.
    pub(super) files: Vec<&'a str>,
    pub(super) faults: Vec<(Pos, Fault)>,
    /// Bytes that macros produced.
    pub(super) copied: usize,
    /// Lines that were read.
    read: usize,
    /// A macro's arguments go on in the next line.
    unfinished: bool,
    initial: HashMap<String, Macro>,
}

impl<'a> Preprocessor<'a> {
    pub(super) fn new(sources: &'a Sources, isa: &Isa, defines: &[(String, String)]) -> Self {
        let given = defines.iter().map(|(name, body)| (name.as_str(), body.as_str()));
        let plain = |(name, body): (&str, &str)| {
            (name.into(), Macro { params: None, variadic: false, body: body.into() })
        };
        Self {
            sources,
            macros: HashMap::new(),
            conditions: Vec::new(),
            files: Vec::new(),
            faults: Vec::new(),
            copied: 0,
            read: 0,
            unfinished: false,
            initial: predefined(isa).into_iter().chain(given).map(plain).collect(),
        }
    }

    /// The statements of a unit.
    pub(super) fn unit(&mut self, name: &str) -> Vec<Line<'a>> {
        self.macros = self.initial.clone();
        let mut out = Vec::new();
        if let Some((name, text)) = self.sources.find("", name) {
            self.text(name, text, &mut out, 0);
        }
        out
    }

    /// The statements of a file that `.include` names.
    pub(super) fn include(&mut self, from: u32, name: &str) -> Result<Vec<Line<'a>>, Fault> {
        let Some((name, text)) = self.sources.find(self.files[from as usize], name) else {
            return fault(name, format!("there is no file {}", quoted(name)));
        };
        let mut out = Vec::new();
        self.text(name, text, &mut out, 0);
        Ok(out)
    }

    fn text(&mut self, name: &'a str, text: &'a str, out: &mut Vec<Line<'a>>, depth: usize) {
        let file = self.files.iter().position(|f| *f == name).unwrap_or_else(|| {
            self.files.push(name);
            self.files.len() - 1
        }) as u32;
        let preprocessed = depth > 0 || name.ends_with(".S");
        let open = self.conditions.len();
        let mut in_comment = None;
        let mut lines = text.split('\n').zip(1..);
        while let Some((line, number)) = lines.next() {
            let at = Pos { file, line: number };
            self.read += 1;
            if self.read > MAX_STATEMENTS || out.len() > MAX_STATEMENTS {
                let message = format!("the program is longer than {MAX_STATEMENTS} lines");
                self.faults.push((at, Fault { token: String::new(), message }));
                break;
            }
            let mut line = Cow::Borrowed(line.strip_suffix('\r').unwrap_or(line));
            while preprocessed && line.ends_with('\\') {
                let Some((next, _)) = lines.next() else { break };
                self.read += 1;
                let mut joined = line.into_owned();
                joined.pop();
                joined.push_str(next.strip_suffix('\r').unwrap_or(next));
                line = Cow::Owned(joined);
            }
            let mut done = self.line(&mut in_comment, line, at, preprocessed, out, depth);
            let mut joined_lines = 0;
            while let Ok(Some(open)) = done {
                // Each line expands the text again from its start, so both are bounded.
                joined_lines += 1;
                let next = lines.next().filter(|_| joined_lines < MAX_DEPTH && open.len() <= MAX_STATEMENT);
                let Some((next, _)) = next else {
                    done = fault("", "the arguments of a macro have no `)`");
                    break;
                };
                self.read += 1;
                let next =
                    without_comments(next.strip_suffix('\r').unwrap_or(next), &mut in_comment, at, false);
                let joined = format!("{} {next}", open.trim_end_matches('\\'));
                done = self.line(&mut None, Cow::Owned(joined), at, preprocessed, out, depth);
            }
            if let Err(wrong) = done {
                self.faults.push((at, wrong));
            }
        }
        if let Some(at) = in_comment {
            self.faults.push((at, Fault { token: "/*".into(), message: "this comment has no end".into() }));
        }
        for condition in self.conditions.drain(open.min(self.conditions.len())..) {
            let message = "this condition has no `#endif`".to_owned();
            self.faults.push((condition.at, Fault { token: "#".into(), message }));
        }
    }

    fn active(&self) -> bool {
        self.conditions.last().is_none_or(|c| c.active)
    }

    /// Adds the statements of a line; returns its text if arguments of a macro go on in the next line.
    fn line(
        &mut self,
        in_comment: &mut Option<Pos>,
        line: Cow<'a, str>,
        at: Pos,
        preprocessed: bool,
        out: &mut Vec<Line<'a>>,
        depth: usize,
    ) -> Result<Option<String>, Fault> {
        if line.contains('\0') {
            return fault("\0", "the line contains a NUL byte");
        }
        let line = match line {
            Cow::Borrowed(text) => without_comments(text, in_comment, at, !preprocessed),
            Cow::Owned(text) => {
                Cow::Owned(without_comments(&text, in_comment, at, !preprocessed).into_owned())
            }
        };
        let trimmed = line.trim_start();
        if preprocessed && let Some(directive) = trimmed.strip_prefix('#') {
            return self.directive(directive.trim(), at, out, depth).map(|()| None);
        }
        if trimmed.is_empty() || !self.active() {
            return Ok(None);
        }
        let line = if preprocessed {
            self.unfinished = false;
            match self.expand(&line, &mut Vec::new())? {
                _ if self.unfinished => return Ok(Some(line.into_owned())),
                Some(expanded) => Cow::Owned(expanded),
                None => line,
            }
        } else {
            line
        };
        if line.len() > MAX_STATEMENT {
            return fault("", format!("the line is longer than {MAX_STATEMENT} bytes"));
        }
        split(line, at, out);
        Ok(None)
    }

    fn directive(&mut self, text: &str, at: Pos, out: &mut Vec<Line<'a>>, depth: usize) -> Result<(), Fault> {
        let mut scan = Scan::new(text);
        let word = scan.name();
        let rest = scan.rest().trim();
        let active = self.active();
        match word {
            "ifdef" | "ifndef" | "if" => {
                let value = active
                    && match word {
                        "if" => self.condition(rest)?,
                        _ => self.macros.contains_key(Scan::new(rest).name()) == (word == "ifdef"),
                    };
                if self.conditions.len() >= MAX_DEPTH {
                    return fault(word, format!("more than {MAX_DEPTH} conditions inside each other"));
                }
                self.conditions.push(Condition {
                    outer: active,
                    taken: value,
                    active: value,
                    ended: false,
                    at,
                });
            }
            "elif" | "else" => {
                let value = match word {
                    "elif" if self.conditions.last().is_some_and(|c| c.outer && !c.taken) => {
                        self.condition(rest)?
                    }
                    _ => true,
                };
                let Some(last) = self.conditions.last_mut().filter(|c| !c.ended) else {
                    return fault(word, format!("`#{word}` without `#if`"));
                };
                last.active = last.outer && !last.taken && value;
                last.taken |= last.active;
                last.ended = word == "else";
            }
            "endif" if self.conditions.pop().is_some() => {}
            "endif" => return fault(word, "`#endif` without `#if`"),
            _ if !active => {}
            "define" => return self.define(rest),
            "undef" => {
                self.macros.remove(Scan::new(rest).name());
            }
            "include" => {
                let name = rest.trim_matches(['"', '<', '>']);
                if depth >= MAX_DEPTH {
                    return fault(rest, format!("more than {MAX_DEPTH} files include each other"));
                }
                let Some((name, text)) = self.sources.find(self.files[at.file as usize], name) else {
                    return fault(name, format!("there is no file {}", quoted(name)));
                };
                self.text(name, text, out, depth + 1);
            }
            "error" => return fault(word, if rest.is_empty() { "`#error` in the source" } else { rest }),
            // `# 12 "file"`, `#pragma`, `#warning`, or a comment of the assembler.
            _ => {}
        }
        Ok(())
    }

    fn define(&mut self, text: &str) -> Result<(), Fault> {
        let mut scan = Scan::new(text);
        let name = scan.name().to_owned();
        if name.is_empty() {
            return fault(text, "`#define` without a name");
        }
        let rest = scan.rest();
        let mut variadic = false;
        let (params, body) = match rest.strip_prefix('(') {
            Some(rest) => {
                let Some((params, body)) = rest.split_once(')') else {
                    return fault(rest, "the parameters have no `)`");
                };
                let params = params.split(',').map(str::trim).filter(|p| !p.is_empty());
                let mut params: Vec<String> = params.map(str::to_owned).collect();
                if let Some(last) = params.last_mut()
                    && let Some(name) = last.strip_suffix("...")
                {
                    variadic = true;
                    *last = if name.is_empty() { "__VA_ARGS__".to_owned() } else { name.trim().to_owned() };
                }
                (Some(params), body)
            }
            None => (None, rest),
        };
        self.macros.insert(name, Macro { params, variadic, body: body.trim().to_owned() });
        Ok(())
    }

    fn condition(&mut self, text: &str) -> Result<bool, Fault> {
        // `defined` is resolved before its operand could be expanded.
        let mut resolved = String::new();
        let mut scan = Scan::new(text);
        while let Some(word) = scan.token(&mut resolved) {
            if word != "defined" {
                resolved.push_str(word);
                continue;
            }
            let inside = scan.skip('(');
            let known = self.macros.contains_key(scan.name());
            if inside && !scan.skip(')') {
                return fault(text, "`defined(` without `)`");
            }
            resolved.push_str(if known { "1" } else { "0" });
        }
        let expanded = self.expand(&resolved, &mut Vec::new())?.unwrap_or(resolved);
        // A name that is left is zero.
        let mut numbers = String::new();
        let mut scan = Scan::new(&expanded);
        while scan.token(&mut numbers).is_some() {
            numbers.push('0');
        }
        match expr::constant(&numbers) {
            Some(value) => Ok(value != 0),
            None => fault(text, format!("{} is not a condition", quoted(text))),
        }
    }

    /// The text with its macros expanded, or `None` if there are none.
    fn expand(&mut self, text: &str, hidden: &mut Vec<String>) -> Result<Option<String>, Fault> {
        let mut out = String::new();
        let mut scan = Scan::new(text);
        let mut changed = false;
        while let Some(word) = scan.token(&mut out) {
            let entry = self.macros.get(word).filter(|_| !hidden.iter().any(|h| h == word));
            let args = match entry {
                Some(Macro { params: Some(_), .. }) => {
                    let args = scan.arguments();
                    // Comments behind `#` are still part of the text: nothing in them is left open.
                    let open =
                        args.is_none() && hidden.is_empty() && scan.rest().trim_start().starts_with('(');
                    self.unfinished |= open && !out.contains('#');
                    args
                }
                Some(_) => Some(Vec::new()),
                None => None,
            };
            let (Some(entry), Some(args)) = (entry, args) else {
                if self.unfinished {
                    return Ok(None);
                }
                out.push_str(word);
                continue;
            };
            let entry = entry.clone();
            changed = true;
            let mut text = self.replacement(word, &entry, &args, hidden)?;
            // A macro may end with the name of another one, whose arguments follow in the source.
            while scan.rest().trim_start().starts_with('(')
                && let Some((name, entry)) = self.function_at_end(&text, word, hidden)
            {
                let Some(args) = scan.arguments() else {
                    self.unfinished |= hidden.is_empty() && !out.contains('#');
                    break;
                };
                text.truncate(text.trim_end().len() - name.len());
                text.push_str(&self.replacement(&name, &entry, &args, hidden)?);
            }
            out.push_str(&text);
            if out.len() > MAX_STATEMENT {
                return fault(word, format!("{} expands to too much text", quoted(word)));
            }
        }
        Ok(changed.then_some(out))
    }

    /// The macro with arguments whose name the text ends with.
    fn function_at_end(&self, text: &str, expanded: &str, hidden: &[String]) -> Option<(String, Macro)> {
        let text = text.trim_end();
        let start = text.rfind(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).map_or(0, |at| at + 1);
        let name = text.get(start..).filter(|name| *name != expanded && !hidden.iter().any(|h| h == name))?;
        let entry = self.macros.get(name).filter(|entry| entry.params.is_some())?;
        Some((name.to_owned(), entry.clone()))
    }

    /// The expansion of a macro with these arguments.
    fn replacement(
        &mut self,
        word: &str,
        entry: &Macro,
        args: &[&str],
        hidden: &mut Vec<String>,
    ) -> Result<String, Fault> {
        if hidden.len() >= MAX_DEPTH {
            return fault(word, format!("more than {MAX_DEPTH} macros inside each other"));
        }
        let body = match &entry.params {
            Some(_) => self.substitute(word, entry, args, hidden)?,
            None => entry.body.clone(),
        };
        self.copied += body.len() + 16;
        if self.copied > MAX_EXPANSION || body.len() > MAX_STATEMENT {
            return fault(word, format!("{} expands to too much text", quoted(word)));
        }
        hidden.push(word.to_owned());
        let expanded = self.expand(&body, hidden)?;
        hidden.pop();
        Ok(expanded.unwrap_or(body))
    }

    /// The body of a macro with its arguments; `#` and `##` take them as they are written.
    fn substitute(
        &mut self,
        name: &str,
        entry: &Macro,
        args: &[&str],
        hidden: &mut Vec<String>,
    ) -> Result<String, Fault> {
        let params = entry.params.as_deref().unwrap_or(&[]);
        let fits = args.len() == params.len()
            || entry.variadic && args.len() + 1 >= params.len()
            || params.is_empty() && args == [""];
        if !fits {
            let (takes, found) = (params.len(), args.len());
            return fault(name, format!("{} takes {takes} arguments, found {found}", quoted(name)));
        }
        let mut out = String::new();
        let mut scan = Scan::new(&entry.body);
        while let Some(word) = scan.token(&mut out) {
            let Some(index) = params.iter().position(|p| p == word) else {
                out.push_str(word);
                continue;
            };
            let rest = entry.variadic && index + 1 == params.len();
            let args = args.get(index..).unwrap_or(&[]);
            let raw =
                if rest { args.join(", ") } else { args.first().copied().unwrap_or_default().to_owned() };
            // `, ## REST`: without further arguments the comma goes as well, and with some it stays.
            if let Some(before) = out.trim_end().strip_suffix("##").map(str::trim_end)
                && rest
                && before.ends_with(',')
            {
                let length = before.len();
                out.truncate(length - usize::from(raw.is_empty()));
            }
            let before = out.trim_end();
            if scan.rest().trim_start().starts_with("##") || before.ends_with("##") {
                out.push_str(&raw);
            } else if before.ends_with('#') {
                out.truncate(before.len() - 1);
                out.push_str(&format!("{raw:?}"));
            } else {
                let expanded = self.expand(&raw, hidden)?;
                out.push_str(expanded.as_ref().unwrap_or(&raw));
            }
            if out.len() > MAX_STATEMENT {
                return fault(name, format!("{} expands to too much text", quoted(name)));
            }
        }
        let pasted: Vec<&str> = out.split("##").collect();
        Ok(match pasted.len() {
            1 => out,
            _ => {
                let last = pasted.len() - 1;
                let trimmed = pasted.iter().enumerate().map(|(i, part)| {
                    let part = if i > 0 { part.trim_start() } else { part };
                    if i < last { part.trim_end() } else { part }
                });
                trimmed.collect()
            }
        })
    }
}

/// The macros that GNU's compiler defines for assembly.
fn predefined(isa: &Isa) -> Vec<(&'static str, &'static str)> {
    let mut out = vec![("__ASSEMBLER__", "1"), ("__riscv", "1"), ("__riscv_i", "2001000")];
    out.push(("__riscv_xlen", if isa.is_rv64() { "64" } else { "32" }));
    let flags = [
        (Extension::C, "__riscv_compressed", "1"),
        (Extension::C, "__riscv_c", "2000000"),
        (Extension::M, "__riscv_mul", "1"),
        (Extension::M, "__riscv_div", "1"),
        (Extension::M, "__riscv_muldiv", "1"),
        (Extension::M, "__riscv_m", "2000000"),
        (Extension::A, "__riscv_atomic", "1"),
        (Extension::A, "__riscv_a", "2001000"),
        (Extension::F, "__riscv_fdiv", "1"),
        (Extension::F, "__riscv_fsqrt", "1"),
        (Extension::F, "__riscv_f", "2002000"),
        (Extension::D, "__riscv_d", "2002000"),
        (Extension::V, "__riscv_vector", "1"),
        (Extension::V, "__riscv_v", "1000000"),
    ];
    out.extend(flags.iter().filter(|(e, ..)| isa.has(*e)).map(|(_, name, value)| (*name, *value)));
    if isa.has(Extension::F) {
        out.push(("__riscv_flen", if isa.has(Extension::D) { "64" } else { "32" }));
    }
    out.push(("__SIZEOF_INT__", "4"));
    if isa.is_rv64() {
        out.extend([("_LP64", "1"), ("__LP64__", "1")]);
        out.extend([("__SIZEOF_LONG__", "8"), ("__SIZEOF_POINTER__", "8")]);
    } else {
        out.extend([("__SIZEOF_LONG__", "4"), ("__SIZEOF_POINTER__", "4")]);
    }
    out
}

/// The line without its comments; `//` and `/* */` are comments in both kinds of files. If `hash`, nothing behind a `#` is looked at.
fn without_comments<'t>(line: &'t str, in_comment: &mut Option<Pos>, at: Pos, hash: bool) -> Cow<'t, str> {
    if in_comment.is_none() && !line.contains('/') {
        return Cow::Borrowed(line);
    }
    let mut out = String::new();
    let mut rest = line;
    loop {
        if in_comment.is_some() {
            let Some(end) = rest.find("*/") else { return Cow::Owned(out) };
            *in_comment = None;
            out.push(' ');
            rest = &rest[end + 2..];
        }
        match comment_start(rest, hash) {
            Some(start) if rest[start..].starts_with("/*") => {
                out.push_str(&rest[..start]);
                *in_comment = Some(at);
                rest = &rest[start + 2..];
            }
            Some(start) if out.is_empty() => return Cow::Borrowed(&rest[..start]),
            Some(start) => {
                out.push_str(&rest[..start]);
                return Cow::Owned(out);
            }
            None if out.is_empty() && rest.len() == line.len() => return Cow::Borrowed(line),
            None => {
                out.push_str(rest);
                return Cow::Owned(out);
            }
        }
    }
}
