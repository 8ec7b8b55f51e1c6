//! Strings from outside (files, the kernel, other programs) made safe to show.

use std::borrow::Cow;

/// The text as one line that cannot move a cursor, change a colour or turn the direction of writing.
///
/// Line breaks and tabs become spaces; other control characters, and the invisible characters that
/// reorder or join their neighbours, become `?`. Everything else stays.
pub fn printable(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| !is_unsafe(c)) {
        return Cow::Borrowed(text);
    }
    let safe = text.chars().map(|c| match c {
        '\t' | '\n' | '\r' | '\u{2028}' | '\u{2029}' => ' ',
        c if is_unsafe(c) => '?',
        c => c,
    });
    Cow::Owned(safe.collect())
}

fn is_unsafe(c: char) -> bool {
    // C0, DEL and C1; then the zero-width, direction, joining and tagging characters.
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// [`printable`], cut to `most` characters so that a hostile string cannot fill a screen.
pub(crate) fn short(text: &str, most: usize) -> String {
    let mut short: String = printable(text).chars().take(most).collect();
    if short.len() < text.len() && text.chars().count() > most {
        short.push_str("...");
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_text_stays() {
        assert!(matches!(printable("Xeon, 3.0 GHz, 日本"), Cow::Borrowed("Xeon, 3.0 GHz, 日本")));
    }

    #[test]
    fn nothing_that_steers_a_terminal_stays() {
        assert_eq!(printable("\u{1b}[31mred\u{7}\n\u{9b}2J\u{202e}x"), "?[31mred? ?2J?x");
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(short("abcdef", 3), "abc...");
        assert_eq!(short("äöü", 3), "äöü");
    }
}
