//! `.macro`, `.rept`, `.irp` and `.irpc`: bodies that are collected, copied with their arguments, and read as statements.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use super::error::{Fault, fault, quoted};
use super::input::{MAX_DEPTH, MAX_EXPANSION, MAX_STATEMENT, MAX_STATEMENTS};
use super::nesting::{Frame, Macro, Param};
use super::state::{Assembler, lower_case};
use super::statement::{Line, is_name, name_length, quote_end, split};

/// The first word of a statement and the rest.
fn first_word(text: &str) -> (&str, &str) {
    let length = text.bytes().position(|b| !is_name(b)).unwrap_or(text.len());
    (&text[..length], text[length..].trim_start())
}

impl<'a> Assembler<'a> {
    /// The statements up to the directive that ends the body.
    fn body(&mut self, start: &str) -> Result<Vec<Line<'a>>, Fault> {
        let mut body = Vec::new();
        let mut depth = 0usize;
        let frame = self.frames.len();
        // Only this text can end it.
        while self.frames.len() == frame
            && let Some((lines, index)) = self.frames.last_mut().and_then(Frame::next)
        {
            self.statements += 1;
            let (word, _) = first_word(&lines[index].text);
            match &*lower_case(word) {
                ".macro" | ".rept" | ".irp" | ".irpc" => depth += 1,
                ".endm" | ".endmacro" | ".endr" if depth == 0 => return Ok(body),
                ".endm" | ".endmacro" | ".endr" => depth -= 1,
                _ => {}
            }
            body.push(lines[index].clone());
        }
        let end = if start == ".macro" { ".endm" } else { ".endr" };
        fault(start, format!("`{start}` without `{end}`"))
    }

    /// `.macro NAME PARAMETER[=DEFAULT|:req|:vararg]...`
    pub(super) fn define_macro(&mut self, rest: &str) -> Result<(), Fault> {
        let at = self.at;
        let body = self.body(".macro")?;
        let (name, rest) = first_word(rest);
        if name_length(name) != name.len() || name.is_empty() {
            return fault(name, format!("{} cannot be the name of a macro", quoted(name)));
        }
        let key = lower_case(name);
        if let Some(old) = self.macros.get(&*key) {
            let (file, line) = (self.preprocessor.files[old.at.file as usize], old.at.line);
            return fault(name, format!("the macro {} is already defined at {file}:{line}", quoted(name)));
        }
        let mut params = Vec::new();
        let mut rest = rest.trim_start_matches([',', ' ', '\t']);
        while !rest.is_empty() {
            let (word, after) = first_word(rest);
            if word.is_empty() {
                return fault(rest, format!("{} cannot be a parameter", quoted(rest)));
            }
            let mut param =
                Param { name: word.to_owned(), default: String::new(), required: false, vararg: false };
            rest = after;
            if let Some(after) = rest.strip_prefix(':') {
                let (kind, after) = first_word(after.trim_start());
                match kind {
                    "req" => param.required = true,
                    "vararg" => param.vararg = true,
                    _ => return fault(kind, "a parameter is `:req` or `:vararg`"),
                }
                rest = after;
            }
            if let Some(after) = rest.strip_prefix('=') {
                let (default, after) = argument(after.trim_start(), self.alternate);
                param.default = unquoted(default).to_owned();
                rest = after;
            }
            rest = rest.trim_start_matches([',', ' ', '\t']);
            params.push(param);
        }
        self.macros.insert(key.into_owned(), Rc::new(Macro { params, body: Rc::new(body), at }));
        Ok(())
    }

    /// Reads the body of a macro next, with these arguments.
    pub(super) fn invoke(&mut self, name: &str, definition: &Macro<'a>, rest: &str) -> Result<(), Fault> {
        let params = &definition.params;
        let mut values: Vec<Option<String>> = vec![None; params.len()];
        let (mut rest, mut next) = (rest.trim(), 0);
        while !rest.is_empty() {
            let (word, after) = first_word(rest);
            let named = after.strip_prefix('=').filter(|after| !after.starts_with('='));
            if let Some(after) = named
                && let Some(index) = params.iter().position(|p| p.name == word)
            {
                let (value, after) = argument(after.trim_start(), self.alternate);
                values[index] = Some(self.argument_value(value)?);
                rest = after.trim_start_matches([' ', '\t']);
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
                continue;
            }
            let Some(param) = params.get(next) else {
                let count = params.len();
                return fault(rest, format!("{} takes {count} arguments, found more", quoted(name)));
            };
            if param.vararg {
                values[next] = Some(rest.to_owned());
                break;
            }
            let (value, after) = argument(rest, self.alternate);
            values[next] = Some(self.argument_value(value)?).filter(|v| !v.is_empty());
            next += 1;
            rest = after.trim_start_matches([' ', '\t']);
            rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
        }
        let mut bound = HashMap::new();
        for (param, value) in params.iter().zip(values) {
            if param.required && value.is_none() {
                return fault(name, format!("{} needs its argument `{}`", quoted(name), param.name));
            }
            bound.insert(param.name.as_str(), value.unwrap_or_else(|| param.default.clone()));
        }
        let body = match self.alternate {
            true => &self.without_locals(&definition.body, &mut bound),
            false => &*definition.body,
        };
        // `\@` of the first one is 0.
        let lines = self.copies(body, &[bound])?;
        self.expansions += 1;
        self.enter(name, lines)
    }

    /// The text of an argument; after `.altmacro` also `%EXPRESSION` and `<TEXT>`, in which `!` quotes a character.
    fn argument_value(&mut self, text: &str) -> Result<String, Fault> {
        if !self.alternate {
            return Ok(unquoted(text).to_owned());
        }
        if let Some(expression) = text.strip_prefix('%') {
            return Ok(self.number(expression)?.to_string());
        }
        let Some(inside) = text.strip_prefix('<').and_then(|t| t.strip_suffix('>')) else {
            return Ok(unquoted(text).to_owned());
        };
        let (mut out, mut chars) = (String::new(), inside.chars());
        while let Some(c) = chars.next() {
            out.extend(if c == '!' { chars.next() } else { Some(c) });
        }
        Ok(out)
    }

    /// The body of a macro without its lines `LOCAL NAME...`, whose names get others of their own.
    fn without_locals<'d>(
        &mut self,
        body: &'d [Line<'a>],
        bound: &mut HashMap<&'d str, String>,
    ) -> Vec<Line<'a>> {
        let mut out = Vec::with_capacity(body.len());
        for line in body {
            let (word, names) = first_word(&line.text);
            if !word.eq_ignore_ascii_case("local") {
                out.push(line.clone());
                continue;
            }
            for name in names.split([',', ' ', '\t']).filter(|name| !name.is_empty()) {
                self.locals += 1;
                bound.insert(name, format!(".LL{:04x}", self.locals));
            }
        }
        out
    }

    /// `.rept COUNT`
    pub(super) fn repeat(&mut self, rest: &str) -> Result<(), Fault> {
        let count = self.number(rest);
        let body = self.body(".rept")?;
        let count = count?;
        if count < 0 {
            return fault(rest, format!("`.rept` cannot repeat {count} times"));
        }
        if body.is_empty() || count == 0 {
            return Ok(());
        }
        let statements = (count as u64).saturating_mul(body.len() as u64);
        if statements > MAX_STATEMENTS as u64 {
            return fault(rest, format!("`.rept` makes more than {MAX_STATEMENTS} statements"));
        }
        let mut frame = Frame::new(body, Some((".rept".into(), self.at)));
        frame.again = count as u64 - 1;
        self.enter_frame(".rept", frame)
    }

    /// `.irp NAME, VALUES...` and `.irpc NAME, CHARACTERS`
    pub(super) fn repeat_with(&mut self, directive: &str, rest: &str) -> Result<(), Fault> {
        let body = self.body(directive)?;
        let (name, rest) = first_word(rest);
        let mut rest = rest.trim_start_matches([',', ' ', '\t']).trim_end();
        let mut values = Vec::new();
        if directive == ".irpc" {
            values.extend(unquoted(rest).chars().map(String::from));
        } else {
            while !rest.is_empty() {
                let (value, after) = argument(rest, self.alternate);
                values.push(self.argument_value(value)?);
                let after = after.trim_start_matches([' ', '\t']);
                rest = after.strip_prefix(',').unwrap_or(after).trim_start();
            }
            if values.is_empty() {
                values.push(String::new());
            }
        }
        let bindings: Vec<_> = values.into_iter().map(|value| HashMap::from([(name, value)])).collect();
        let lines = self.copies(&body, &bindings)?;
        self.enter(directive, lines)
    }

    fn enter(&mut self, name: &str, lines: Vec<Line<'a>>) -> Result<(), Fault> {
        let frame = Frame::new(lines, Some((name.to_owned(), self.at)));
        self.enter_frame(name, frame)
    }

    pub(super) fn enter_frame(&mut self, name: &str, mut frame: Frame<'a>) -> Result<(), Fault> {
        if self.frames.len() > MAX_DEPTH {
            // What is left of the frames would fail in the same way, each of them as often as it is used.
            self.frames.truncate(1);
            let message = format!("macros or files are more than {MAX_DEPTH} inside each other: {name}");
            return fault(name, message);
        }
        frame.conditions = self.conditions.len();
        self.frames.push(frame);
        Ok(())
    }

    /// `.exitm`
    pub(super) fn leave_macro(&mut self) -> Result<(), Fault> {
        while let Some(frame) = self.frames.pop() {
            let Some((name, _)) = &frame.used else {
                self.frames.push(frame);
                break;
            };
            if !name.starts_with('.') {
                self.conditions.truncate(frame.conditions);
                return Ok(());
            }
        }
        fault(".exitm", "`.exitm` outside of a macro")
    }

    /// The body once for each binding.
    fn copies(
        &mut self,
        body: &[Line<'a>],
        bindings: &[HashMap<&str, String>],
    ) -> Result<Vec<Line<'a>>, Fault> {
        let mut lines = Vec::with_capacity(body.len() * bindings.len().min(1000));
        for bound in bindings {
            for line in body {
                self.preprocessor.copied += line.text.len() + 16;
                let text = self.substitute(&line.text, bound)?;
                match text {
                    Some(text) => {
                        self.preprocessor.copied += text.len();
                        split(Cow::Owned(text), line.at, &mut lines);
                    }
                    None => lines.push(line.clone()),
                }
                if self.preprocessor.copied > MAX_EXPANSION || lines.len() > MAX_STATEMENTS {
                    let message = format!("macros make more than {} MiB of text", MAX_EXPANSION >> 20);
                    return fault("", message);
                }
            }
        }
        Ok(lines)
    }

    /// The text with its parameters replaced; `None` if there are none.
    fn substitute(&self, text: &str, bound: &HashMap<&str, String>) -> Result<Option<String>, Fault> {
        // After `.altmacro` a parameter needs no backslash, and `&` joins it with what is beside it.
        let plain = |text: &str| self.alternate && bound.keys().any(|name| text.contains(name));
        if !text.contains('\\') && !plain(text) {
            return Ok(None);
        }
        let mut out = String::with_capacity(text.len() + 16);
        let mut rest = text;
        loop {
            let Some(at) = rest.find('\\') else {
                self.substitute_plain(rest, bound, &mut out);
                break;
            };
            self.substitute_plain(&rest[..at], bound, &mut out);
            rest = &rest[at + 1..];
            if let Some(after) = rest.strip_prefix("()") {
                rest = after;
                continue;
            }
            if let Some(after) = rest.strip_prefix('@') {
                out.push_str(&self.expansions.to_string());
                rest = after;
                continue;
            }
            let length = rest.bytes().position(|b| !is_name(b)).unwrap_or(rest.len());
            match bound.get(&rest[..length]) {
                Some(value) => {
                    out.push_str(value);
                    rest = &rest[length..];
                }
                None => {
                    out.push('\\');
                    let skipped = if rest.starts_with('\\') { 1 } else { length };
                    out.push_str(&rest[..skipped]);
                    rest = &rest[skipped..];
                }
            }
            if out.len() > MAX_STATEMENT {
                return fault("", format!("the statement is longer than {MAX_STATEMENT} bytes"));
            }
        }
        Ok(Some(out))
    }

    /// Copies a text without backslashes; after `.altmacro` with its parameters replaced.
    fn substitute_plain(&self, text: &str, bound: &HashMap<&str, String>, out: &mut String) {
        let mut rest = text;
        while self.alternate && !rest.is_empty() {
            let start = rest.bytes().position(is_name).unwrap_or(rest.len());
            let length = rest[start..].bytes().position(|b| !is_name(b)).unwrap_or(rest.len() - start);
            let (before, word) = (&rest[..start], &rest[start..start + length]);
            rest = &rest[start + length..];
            match bound.get(word) {
                Some(value) => {
                    out.push_str(before.strip_suffix('&').unwrap_or(before));
                    out.push_str(value);
                    rest = rest.strip_prefix('&').unwrap_or(rest);
                }
                None => out.extend([before, word]),
            }
        }
        out.push_str(rest);
    }
}

/// The first argument and what is behind it. A space ends an argument between two operands, as in `8 a0`, but not in `8 * 4`.
fn argument(text: &str, alternate: bool) -> (&str, &str) {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                at = quote_end(bytes, at);
                continue;
            }
            b'<' if alternate && at == 0 => {
                at = angle_end(bytes);
                continue;
            }
            b'(' => depth += 1,
            b')' => depth = depth.saturating_sub(1),
            b',' => break,
            b' ' | b'\t' if depth == 0 => {
                let rest = text[at..].trim_start().as_bytes();
                let ends_operand = at > 0 && (is_name(bytes[at - 1]) || matches!(bytes[at - 1], b')' | b'"'));
                let begins_operand = rest.first().is_none_or(|b| is_name(*b) || matches!(b, b'\\' | b'"'));
                if ends_operand && begins_operand {
                    break;
                }
            }
            _ => {}
        }
        at += 1;
    }
    (text[..at].trim_end(), &text[at..])
}

/// Where the text in `<>` ends that `text` begins with.
fn angle_end(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0usize);
    while at < text.len() {
        match text[at] {
            b'!' => at += 1,
            b'<' => depth += 1,
            b'>' if depth == 1 => return at + 1,
            b'>' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|t| t.strip_suffix('"')).unwrap_or(text)
}
