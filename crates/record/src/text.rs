//! Strings from outside (files, the kernel, other programs) made safe to show.

use crate::number::plural;
use std::borrow::Cow;

/// The text as one line that cannot move a cursor, change a color or turn the direction of writing.
///
/// Line breaks and tabs become spaces; other control characters, and the invisible characters that
/// reorder or join their neighbors, become `?`. Everything else stays.
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

/// The lines of a text, each [`printable`], in which colors remain: sequences that set them cannot do more.
pub fn inert(text: &str) -> Cow<'_, str> {
    if text.chars().all(|c| c == '\n' || !is_unsafe(c)) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let len = color(rest).unwrap_or(0);
        if len > 0 || c == '\n' {
            let (kept, behind) = rest.split_at(len.max(1));
            safe.push_str(kept);
            rest = behind;
        } else {
            safe.push_str(&printable(&rest[..c.len_utf8()]));
            rest = &rest[c.len_utf8()..];
        }
    }
    Cow::Owned(safe)
}

/// The length of the sequence that sets a color at the beginning of a text (ECMA-48, 8.3.117).
fn color(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("\u{1b}[")?;
    let end = digits.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    digits[end..].starts_with('m').then_some(2 + end + 1)
}

/// JSON text in which no character steers a terminal or turns the direction of writing: control and formatting characters
/// beyond ASCII are escaped. What is read back is the same.
pub fn inert_json(json: &str) -> Cow<'_, str> {
    if json.chars().all(|c| c == '\n' || !is_unsafe(c)) {
        return Cow::Borrowed(json);
    }
    let mut safe = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        if c == '\n' || !is_unsafe(c) {
            safe.push(c);
        } else {
            // Only strings can hold them: the serializer has escaped what is ASCII.
            c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| safe.push_str(&format!("\\u{unit:04x}")));
        }
    }
    Cow::Owned(safe)
}

/// [`printable`], cut to `most` characters so that a hostile string cannot fill a screen.
pub fn short(text: &str, most: usize) -> String {
    let mut short: String = printable(text).chars().take(most).collect();
    if short.len() < text.len() && text.chars().count() > most {
        short.push_str("...");
    }
    short
}

/// `a`, `a and b`, `a, b and c`; beyond `most` the number of others.
pub fn list(items: &[String], most: usize) -> String {
    let (shown, others) = items.split_at(items.len().min(most));
    let others = (!others.is_empty()).then(|| plural(others.len(), "other", "others"));
    let parts: Vec<String> = shown.iter().cloned().chain(others).collect();
    match parts.split_last() {
        None => String::new(),
        Some((only, [])) => only.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
    }
}

/// A name for the n-th of several: `A` to `Z`, then `AA`.
pub fn letter(n: usize) -> String {
    let last = char::from(b'A' + (n % 26) as u8);
    if n < 26 { last.to_string() } else { format!("{}{last}", letter(n / 26 - 1)) }
}

/// The name among `known` that `typed` most likely means, or none when nothing is like it.
///
/// A name is like it when `typed` is its beginning, or when at most a third of the letters (at least one) must be
/// changed, added, left out or swapped with their neighbor to get from one to the other. Case does not count. Of equally
/// like names the one with the longer common beginning wins, then the shorter, then the first.
///
/// ```
/// use tollgate_record::text::nearest;
/// assert_eq!(nearest("rnu", ["ring", "runs", "run"]), Some("run"));
/// assert_eq!(nearest("nosuch/*", ["null", "thread"]), None);
/// ```
pub fn nearest<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let typed = typed.trim().to_lowercase();
    let letters = typed.chars().count();
    // The distance takes the product of both lengths; nobody mistypes a kilobyte.
    if letters == 0 || typed.len() > 200 {
        return None;
    }
    let likeness = |name: &'a str| {
        let lower = name.to_lowercase();
        let common = lower.chars().zip(typed.chars()).take_while(|(a, b)| a == b).count();
        let distance = match common == letters && letters > 1 {
            true => 1,
            false => strsim::damerau_levenshtein(&lower, &typed),
        };
        let least_letters = letters.min(lower.chars().count());
        (distance <= (least_letters / 3).max(1) && distance < least_letters)
            .then_some(((distance, std::cmp::Reverse(common), lower.len()), name))
    };
    known
        .into_iter()
        .filter(|name| name.len() <= 200)
        .filter_map(likeness)
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, name)| name)
}

/// The end of an error sentence that suggests a name: `; the nearest is 'run'`, or nothing.
pub fn suggestion(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |name| format!("; the nearest is '{}'", short(name, 100)))
}

/// A word as a shell reads it.
pub fn quoted(word: &str) -> String {
    if word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-+:@".contains(&byte)) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// An error and its causes in one line, without the words that a cause repeats.
pub fn sentence(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    causes.map(ToString::to_string).fold(error.to_string(), |said, cause| {
        if said.contains(&cause) { said } else { format!("{said}: {cause}") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_of_the_finger_finds_the_name_that_was_meant() {
        let commands = ["run", "ring", "runs", "list", "doctor", "switch", "crossing", "compare", "history"];
        for (typed, meant) in [
            ("rnu", Some("run")),
            ("rin", Some("ring")),
            ("rnig", Some("ring")),
            ("RUNS", Some("runs")),
            ("runss", Some("runs")),
            ("doc", Some("doctor")),
            ("docter", Some("doctor")),
            ("comprae", Some("compare")),
            ("swithc", Some("switch")),
            ("nosuch/*", None),
            ("x", None),
            ("", None),
            ("frobnicate", None),
            ("hardware", None),
        ] {
            assert_eq!(nearest(typed, commands), meant, "{typed}");
        }
        assert_eq!(nearest("nosuch/*", ["null", "thread/futex", "syscall"]), None);
        assert_eq!(nearest("anything", []), None);
        assert_eq!(suggestion(Some("run")), "; the nearest is 'run'");
        assert_eq!(suggestion(None), "");
        assert_eq!(nearest(&"a".repeat(10_000), ["a"]), None);
    }

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 51, 52, 701, 702].map(letter), ["A", "Z", "AA", "AZ", "BA", "ZZ", "AAA"]);
    }

    #[test]
    fn plain_text_stays() {
        assert!(matches!(printable("Xeon, 3.0 GHz, 日本"), Cow::Borrowed("Xeon, 3.0 GHz, 日本")));
    }

    #[test]
    fn nothing_that_steers_a_terminal_stays() {
        assert_eq!(printable("\u{1b}[31mred\u{7}\n\u{9b}2J\u{202e}x"), "?[31mred? ?2J?x");
    }

    #[test]
    fn lines_and_colors_stay_and_nothing_else_that_steers() {
        let text = "a\u{1b}[1;31mred\u{1b}[0m\n\u{1b}[2Jb\u{1b}]0;title\u{7}\u{202e}c\u{9b}31m\0\td\r\n";
        assert_eq!(inert(text), "a\u{1b}[1;31mred\u{1b}[0m\n?[2Jb?]0;title??c?31m? d \n");
        assert_eq!(inert("\u{1b}[31"), "?[31");
        assert!(matches!(inert("a\nb\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_is_escaped_and_reads_back_the_same() {
        let hostile = "\u{9b}2J\u{202e}x\u{e0041}\u{feff}\u{1b}\u{7f}é日\n";
        let json = serde_json::to_string_pretty(&[hostile]).unwrap();
        let safe = inert_json(&json);
        assert!(safe.chars().all(|c| c == '\n' || !is_unsafe(c)), "{safe}");
        assert!(safe.contains("\\u009b2J\\u202ex\\udb40\\udc41"), "{safe}");
        assert!(safe.contains("é日"), "what can be read stays: {safe}");
        assert_eq!(serde_json::from_str::<Vec<String>>(&safe).unwrap(), [hostile]);
        assert!(matches!(inert_json("{\n  \"a\": 1\n}\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn long_text_is_cut() {
        assert_eq!(short("abcdef", 3), "abc...");
        assert_eq!(short("äöü", 3), "äöü");
    }
}
