//! Statements, and how texts are split into them and into their parts.

use std::borrow::Cow;

use super::error::Pos;

/// One statement, without comments, and where it is.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    pub(super) text: Cow<'a, str>,
    pub(super) at: Pos,
}

/// Whether the byte can be in a name of the assembler.
pub(super) fn is_name(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'$') || b >= 0x80
}

pub(super) fn is_name_start(b: u8) -> bool {
    is_name(b) && !b.is_ascii_digit()
}

/// How many bytes at the start of `text` are part of a name.
pub(super) fn name_length(text: &str) -> usize {
    match text.bytes().next() {
        Some(b) if is_name_start(b) => text.bytes().position(|b| !is_name(b)).unwrap_or(text.len()),
        _ => 0,
    }
}

/// Where a quoted string or character that begins at `start` ends; a character may have no second quote.
pub(super) fn quote_end(text: &[u8], start: usize) -> usize {
    let quote = text[start];
    let mut at = start + 1;
    if quote == b'\'' {
        at += if text.get(at) == Some(&b'\\') { 2 } else { 1 };
        return (at + usize::from(text.get(at) == Some(&b'\''))).min(text.len());
    }
    while at < text.len() && text[at] != quote {
        at += if text[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(text.len())
}

/// The first place outside quotes where the predicate holds of the rest.
pub(super) fn outside_quotes(text: &str, found: impl Fn(&[u8]) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if found(&bytes[at..]) {
            return Some(at);
        }
        at = if matches!(bytes[at], b'"' | b'\'') { quote_end(bytes, at) } else { at + 1 };
    }
    None
}

/// Where a comment begins that `//` or `/*` starts; if `hash`, one that `#` starts hides it.
pub(super) fn comment_start(text: &str, hash: bool) -> Option<usize> {
    outside_quotes(text, |rest| rest.starts_with(b"//") || rest.starts_with(b"/*") || hash && rest[0] == b'#')
}

/// Splits a line at `;` and adds its statements, without the comment behind `#`.
pub(super) fn split<'a>(line: Cow<'a, str>, at: Pos, out: &mut Vec<Line<'a>>) {
    let ends = |text: &str| outside_quotes(text, |rest| matches!(rest[0], b';' | b'#'));
    match line {
        Cow::Borrowed(text) => {
            let mut rest = text;
            loop {
                let end = ends(rest);
                let statement = rest[..end.unwrap_or(rest.len())].trim();
                if !statement.is_empty() {
                    out.push(Line { text: Cow::Borrowed(statement), at });
                }
                match end {
                    Some(end) if rest.as_bytes()[end] == b';' => rest = &rest[end + 1..],
                    _ => return,
                }
            }
        }
        Cow::Owned(text) => {
            let mut parts = Vec::new();
            split(Cow::Borrowed(text.as_str()), at, &mut parts);
            out.extend(parts.into_iter().map(|p| Line { text: Cow::Owned(p.text.into_owned()), at }));
        }
    }
}

/// The parts between commas outside of parentheses, braces and quotes, without spaces around them.
pub(super) fn operands(text: &str) -> Vec<&str> {
    let mut out = Vec::with_capacity(4);
    let text = text.trim();
    if text.is_empty() {
        return out;
    }
    let bytes = text.as_bytes();
    let (mut at, mut start, mut depth) = (0, 0, 0usize);
    while at < bytes.len() {
        match bytes[at] {
            b'"' | b'\'' => {
                at = quote_end(bytes, at);
                continue;
            }
            b'(' | b'{' => depth += 1,
            b')' | b'}' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => {
                out.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    out.push(text[start..].trim());
    out
}

/// Reads C tokens.
pub(super) struct Scan<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scan<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self { text, at: 0 }
    }

    pub(super) fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    /// The next name, or nothing.
    pub(super) fn name(&mut self) -> &'t str {
        let rest = self.rest().trim_start();
        self.at = self.text.len() - rest.len();
        let length = match rest.bytes().next() {
            Some(b) if b.is_ascii_alphabetic() || b == b'_' => {
                rest.bytes().position(|b| !(b.is_ascii_alphanumeric() || b == b'_')).unwrap_or(rest.len())
            }
            _ => 0,
        };
        self.at += length;
        &rest[..length]
    }

    pub(super) fn skip(&mut self, c: char) -> bool {
        let rest = self.rest().trim_start();
        match rest.strip_prefix(c) {
            Some(rest) => {
                self.at = self.text.len() - rest.len();
                true
            }
            None => false,
        }
    }

    /// Copies what is before the next name, then returns the name.
    pub(super) fn token(&mut self, out: &mut String) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while self.at < bytes.len() {
            match bytes[self.at] {
                b'"' | b'\'' => self.at = quote_end(bytes, self.at),
                b if b.is_ascii_digit() => {
                    let rest = &bytes[self.at..];
                    self.at += rest
                        .iter()
                        .position(|b| !b.is_ascii_alphanumeric() && *b != b'_')
                        .unwrap_or(rest.len());
                }
                b if b.is_ascii_alphabetic() || b == b'_' => {
                    out.push_str(&self.text[start..self.at]);
                    return Some(self.name());
                }
                _ => self.at += 1,
            }
        }
        // A quoted character may end inside a UTF-8 sequence.
        while !self.text.is_char_boundary(self.at) {
            self.at += 1;
        }
        out.push_str(&self.text[start..]);
        None
    }

    /// The arguments of a macro, if there is a `(`.
    pub(super) fn arguments(&mut self) -> Option<Vec<&'t str>> {
        let rest = self.rest();
        let inside = rest.trim_start().strip_prefix('(')?;
        let bytes = inside.as_bytes();
        let (mut at, mut start, mut depth) = (0, 0, 0);
        let mut args = Vec::new();
        while at < bytes.len() {
            match bytes[at] {
                b'"' | b'\'' => {
                    at = quote_end(bytes, at);
                    continue;
                }
                b'(' => depth += 1,
                b')' if depth > 0 => depth -= 1,
                b')' => {
                    args.push(inside[start..at].trim());
                    self.at = self.text.len() - inside.len() + at + 1;
                    return Some(args);
                }
                b',' if depth == 0 => {
                    args.push(inside[start..at].trim());
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
        None
    }
}
