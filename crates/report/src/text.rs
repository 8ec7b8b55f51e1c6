//! Strings of a document as pieces of a line: clean, measured in columns, cut, padded, wrapped.

use crate::style::Style;
use textwrap::{Options, WordSplitter};
use tollgate_record::text::printable;
pub(crate) use tollgate_record::text::{letter, list};
use unicode_width::UnicodeWidthChar;

/// No reason or name is longer; anything longer is not for a terminal.
const MOST: usize = 1000;

/// The string as one printable line, in ASCII where nothing else can be shown.
pub(crate) fn clean(text: &str, style: &Style) -> String {
    let mut text: String = printable(text).chars().take(MOST).collect();
    if !style.unicode && !text.is_ascii() {
        text = text.replace('±', "+-").chars().map(ascii).collect();
    }
    text.trim().to_owned()
}

fn ascii(c: char) -> char {
    match c {
        c if c.is_ascii() => c,
        'µ' | 'μ' => 'u',
        '–' | '—' | '−' => '-',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '×' => 'x',
        _ => '?',
    }
}

/// The columns that clean text takes: the sum over its characters, as terminals and the wrapping count.
pub(crate) fn width(text: &str) -> usize {
    text.chars().filter_map(UnicodeWidthChar::width).sum()
}

/// The text in at most `most` columns, with a mark where something was cut.
pub(crate) fn cut(text: &str, most: usize, style: &Style) -> String {
    if width(text) <= most {
        return text.into();
    }
    let mut cut = String::new();
    let mut columns = 0;
    for c in text.chars() {
        columns += c.width().unwrap_or(0);
        if columns + 1 > most {
            break;
        }
        cut.push(c);
    }
    cut.push_str(style.pick("…", "~"));
    cut
}

/// Spaces after the text up to `columns`.
pub(crate) fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text in lines of at most `columns`, the first after `first`, the others below it.
pub(crate) fn wrap(text: &str, columns: usize, first: &str) -> Vec<String> {
    let rest = " ".repeat(width(first));
    let options = Options::new(columns)
        .initial_indent(first)
        .subsequent_indent(&rest)
        // A hyphen in an id or an option is not a place to break.
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::wrap(text, options).into_iter().map(|line| line.trim_end().to_owned()).collect()
}

/// The pieces side by side with a gap between, in as many lines as they take; a piece that is too long is wrapped.
pub(crate) fn flow(pieces: impl IntoIterator<Item = String>, columns: usize) -> Vec<String> {
    const GAP: &str = "   ";
    let mut lines: Vec<String> = Vec::new();
    for piece in pieces {
        match lines.last_mut() {
            Some(line) if width(line) + GAP.len() + width(&piece) <= columns => {
                *line += &(GAP.to_owned() + &piece)
            }
            _ => lines.extend(wrap(&piece, columns, "")),
        }
    }
    lines
}

/// A character for each share of the whole, the later ones of `marks` for the larger.
pub(crate) fn marked(shares: impl Iterator<Item = f64>, marks: &str, whole: fn(f64) -> f64) -> String {
    let marks: Vec<char> = marks.chars().collect();
    let most = marks.len() - 1;
    shares.map(|share| marks[(whole(share.clamp(0.0, 1.0) * most as f64) as usize).min(most)]).collect()
}

/// The lines as one text with a newline after each.
pub(crate) fn lines(lines: impl IntoIterator<Item = String>) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_has_a_form_for_the_signs_of_warnings() {
        let text = "for 61 ± 10 % of 3 µs";
        assert_eq!(clean(text, &Style::default()), "for 61 +- 10 % of 3 us");
        assert_eq!(clean(text, &Style { unicode: true, ..Style::default() }), text);
    }
}
