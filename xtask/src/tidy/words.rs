//! Phrases that are read twice, each with a plain one.

use super::tree::{Finding, Tree};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A pattern of whole words, the words before and after it with which it is plain English, and what to write instead.
type Phrase = (&'static str, &'static [&'static str], &'static [&'static str], &'static str);

const PHRASES: &[Phrase] = &[
    (r"(?:is|are|was|were) (?:no|none) of", &["here"], &[], "is not part of, is not one of"),
    // With a capital it is the value of Python.
    (r"(?:is|are|was|were) (?-i:none)", &["here"], &[], "is not one"),
    (r"none of (?:ours|its|UTF-8)", &[], &[], "not part of, invalid"),
    (
        r"(?:is|are|was|were|be) no",
        &["here"],
        &[
            "longer", "more", "less", "better", "slower", "faster", "worse", "larger", "smaller", "higher",
            "lower", "later",
        ],
        "is not a",
    ),
    (r"no finite", &[], &[], "not finite"),
    (r"(?:is|are|was|were|be|been) told", &[], &["apart", "from"], "receives, prints, reports"),
    (r"(?:is|are|was|were|be|been) said", &[], &[], "prints, reports, warns"),
    (r"(?:is|are|was|were|be|been) had", &[], &[], "is available, is known"),
    (r"knows? (?:of|no|nothing)", &[], &[], "has, supports, does not depend on"),
    (r"lack(?:s|ed|ing)?", &[], &[], "does not have, is missing"),
    (r"(?:stands?|stood)", &[], &["for"], "is"),
    (r"(?:lies|lay)", &[], &[], "is, is in"),
    (r"tak(?:e|es|en|ing) away", &[], &[], "removes"),
    (r"hand(?:s|ed|ing)? on", &[], &[], "passes"),
    (r"by nobody", &[], &[], "not .. by anything"),
    (r"mend(?:s|ed|ing)?", &[], &[], "fix"),
    (r"by way of", &[], &[], "through"),
    (r"the own", &[], &[], "its own"),
    (r"so many-th", &[], &[], "n-th"),
    (r"asks? no", &[], &[], "does not ask for"),
    (r"what (?:came|comes) of", &[], &[], "the result of"),
    (r"sisters?", &[], &[], "sibling"),
    (r"likewise", &[], &[], "also"),
    (r"dear(?:er|est)?", &[], &[], "expensive, slow"),
    (r"for nothing", &[], &[], "unnecessarily"),
    (r"for good", &[], &[], "permanently"),
    (r"the one of (?:these|those)", &[], &[], "the first, the largest: name it"),
];

/// Parts of words as they are spelled in Britain, and in America.
const SPELLINGS: &[(&str, &str)] = &[
    ("colour", "color"),
    ("behaviour", "behavior"),
    ("neighbour", "neighbor"),
    ("favour", "favor"),
    ("optimis", "optimiz"),
    ("recognis", "recogniz"),
    ("summaris", "summariz"),
    ("normalis", "normaliz"),
    ("serialis", "serializ"),
    ("initialis", "initializ"),
    ("minimis", "minimiz"),
    ("organis", "organiz"),
    ("synchronis", "synchroniz"),
    ("randomis", "randomiz"),
    ("virtualis", "virtualiz"),
    ("modelled", "modeled"),
    ("modelling", "modeling"),
    ("labelled", "labeled"),
    ("cancelled", "canceled"),
    ("signalled", "signaled"),
    ("signalling", "signaling"),
    ("catalogue", "catalog"),
    ("licence", "license"),
    ("artefact", "artifact"),
    ("learnt", "learned"),
];

/// One group for each phrase.
static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let groups: Vec<String> = PHRASES.iter().map(|(phrase, ..)| format!("({phrase})")).collect();
    Regex::new(&format!(r"(?i-u)\b(?:{})\b", groups.join("|"))).expect("a valid pattern")
});

const PROSE: &[&str] = &[
    ".rs", ".md", ".toml", ".mjs", ".js", ".css", ".c", ".h", ".S", ".s", ".py", ".go", ".java", ".sh",
    ".ci/run",
];

/// What begins a line of a comment, and what ends a line of a long string.
const AROUND: &[char] = &[' ', '/', '!', '#', '*', '|', ';', '>', '\\'];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    // This file has all of the phrases.
    let is_ours = |path: &str| path.ends_with("tidy/words.rs");
    let mut findings = Vec::new();
    for (path, text) in tree.texts_ending(PROSE).filter(|(path, _)| !is_ours(path)) {
        let mut found: BTreeMap<usize, String> = BTreeMap::new();
        let mut prose = String::new();
        let mut starts = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            starts.push(prose.len());
            prose += line.trim_matches(AROUND);
            prose.push(' ');
            // The attribute of HTML is spelled as in Britain.
            let line = line.to_lowercase().replace("aria-labelledby", "");
            for (britain, america) in SPELLINGS.iter().filter(|(britain, _)| line.contains(britain)) {
                found.insert(number, format!("'{britain}': spell it '{america}'"));
            }
        }
        for groups in PATTERN.captures_iter(&prose) {
            let Some((phrase, (_, before, after, better))) =
                groups.iter().skip(1).zip(PHRASES).find_map(|(group, phrase)| Some((group?, phrase)))
            else {
                continue;
            };
            let is_plain = before.iter().any(|word| prose[..phrase.start()].trim_end().ends_with(word))
                || after.iter().any(|word| prose[phrase.end()..].trim_start().starts_with(word));
            if !is_plain {
                let line = starts.partition_point(|start| *start <= phrase.start());
                found.insert(line, format!("'{}': write for example: {better}", phrase.as_str()));
            }
        }
        findings.extend(found.into_iter().map(|(line, text)| Finding::at(path, line, text)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::{Finding, Tree, check};

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&Tree::of(&[(path, text)]))
    }

    #[test]
    fn plain_english_and_recorded_output_pass() {
        for text in [
            "there is no run in this folder, and there are none\nof these",
            "a rule that is no longer true; it is no slower",
            "two rows are told apart by their ids; `add` stands for one instruction",
            "return if value is None else",
            "the standard, a blackboard, an amendment; it understands",
        ] {
            assert_eq!(found("a.md", text), [], "{text}");
        }
        assert_eq!(found("screen.snap", "it lacks a figure"), []);
    }

    #[test]
    fn each_phrase_fails_on_its_line_also_over_two_lines() {
        for text in [
            "byte 3 is none of UTF-8",
            "//! A core\n//! that is none",
            "/// a name that is\n    /// told to the caller",
            "# this is no figure",
            "the sampler knows of no clock",
            "let text = \"nobody mends it\";",
            "the Colours of a row, then the behaviour",
        ] {
            let lines: Vec<_> =
                found("a.rs", &format!("\n{text}\n")).iter().map(|finding| finding.line).collect();
            let line = 2 + usize::from(text.starts_with("//!"));
            assert_eq!(lines, [Some(line)], "{text}");
        }
    }
}
