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
    initial: HashMap<String, Macro>,
}

impl<'a> Preprocessor<'a> {
    pub(super) fn new(sources: &'a Sources, isa: &Isa, defines: &[(String, String)]) -> Self {
        let xlen = if isa.is_rv64() { "64" } else { "32" };
        let mut initial = vec![("__ASSEMBLER__", "1"), ("__riscv", "1"), ("__riscv_xlen", xlen)];
        let flags = [
            (Extension::C, "__riscv_compressed"),
            (Extension::M, "__riscv_mul"),
            (Extension::M, "__riscv_div"),
            (Extension::A, "__riscv_atomic"),
            (Extension::F, "__riscv_fdiv"),
            (Extension::F, "__riscv_fsqrt"),
        ];
        initial.extend(flags.iter().filter(|(e, _)| isa.has(*e)).map(|(_, name)| (*name, "1")));
        if isa.has(Extension::F) {
            initial.push(("__riscv_flen", if isa.has(Extension::D) { "64" } else { "32" }));
        }
        let given = defines.iter().map(|(name, body)| (name.as_str(), body.as_str()));
        let plain = |(name, body): (&str, &str)| (name.into(), Macro { params: None, body: body.into() });
        Self {
            sources,
            macros: HashMap::new(),
            conditions: Vec::new(),
            files: Vec::new(),
            faults: Vec::new(),
            copied: 0,
            read: 0,
            initial: initial.into_iter().chain(given).map(plain).collect(),
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
            if let Err(wrong) = self.line(&mut in_comment, line, at, preprocessed, out, depth) {
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

    fn line(
        &mut self,
        in_comment: &mut Option<Pos>,
        line: Cow<'a, str>,
        at: Pos,
        preprocessed: bool,
        out: &mut Vec<Line<'a>>,
        depth: usize,
    ) -> Result<(), Fault> {
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
            return self.directive(directive.trim(), at, out, depth);
        }
        if trimmed.is_empty() || !self.active() {
            return Ok(());
        }
        let line = if preprocessed {
            match self.expand(&line, &mut Vec::new())? {
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
        Ok(())
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
        let (params, body) = match rest.strip_prefix('(') {
            Some(rest) => {
                let Some((params, body)) = rest.split_once(')') else {
                    return fault(rest, "the parameters have no `)`");
                };
                let params = params.split(',').map(|p| p.trim().to_owned()).filter(|p| !p.is_empty());
                (Some(params.collect()), body)
            }
            None => (None, rest),
        };
        self.macros.insert(name, Macro { params, body: body.trim().to_owned() });
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
                Some(Macro { params: Some(_), .. }) => scan.arguments(),
                Some(_) => Some(Vec::new()),
                None => None,
            };
            let (Some(entry), Some(args)) = (entry, args) else {
                out.push_str(word);
                continue;
            };
            let entry = entry.clone();
            changed = true;
            if hidden.len() >= MAX_DEPTH {
                return fault(word, format!("more than {MAX_DEPTH} macros inside each other"));
            }
            let body = match &entry.params {
                Some(params) => self.substitute(word, &entry.body, params, &args, hidden)?,
                None => entry.body,
            };
            self.copied += body.len() + 16;
            if self.copied > MAX_EXPANSION || out.len() + body.len() > MAX_STATEMENT {
                return fault(word, format!("{} expands to too much text", quoted(word)));
            }
            hidden.push(word.to_owned());
            match self.expand(&body, hidden)? {
                Some(expanded) => out.push_str(&expanded),
                None => out.push_str(&body),
            }
            hidden.pop();
            if out.len() > MAX_STATEMENT {
                return fault(word, format!("{} expands to too much text", quoted(word)));
            }
        }
        Ok(changed.then_some(out))
    }

    /// The body of a macro with its arguments; `#` and `##` take them as they are written.
    fn substitute(
        &mut self,
        name: &str,
        body: &str,
        params: &[String],
        args: &[&str],
        hidden: &mut Vec<String>,
    ) -> Result<String, Fault> {
        let variadic = params.last().is_some_and(|p| p == "...");
        let fits = args.len() == params.len()
            || variadic && args.len() + 1 >= params.len()
            || params.is_empty() && args == [""];
        if !fits {
            let (takes, found) = (params.len(), args.len());
            return fault(name, format!("{} takes {takes} arguments, found {found}", quoted(name)));
        }
        let mut out = String::new();
        let mut scan = Scan::new(body);
        while let Some(word) = scan.token(&mut out) {
            let rest_of = |from: usize| args.get(from..).unwrap_or(&[]).join(", ");
            let raw = match params.iter().position(|p| p == word) {
                Some(index) => args.get(index).map(|a| (*a).to_owned()).unwrap_or_default(),
                None if variadic && word == "__VA_ARGS__" => rest_of(params.len() - 1),
                None => {
                    out.push_str(word);
                    continue;
                }
            };
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
