//! The figures that prose quotes: each is in an output beside it, follows from one, or says where it was recorded.
//!
//! A section with an output (a block `console` or `text`, or a mark `<!-- output: COMMAND -->` whose command is run) may
//! contain only numbers of that output, numbers that a mark derives from it (`<!-- 72 = 37 + 35 -->`), and inputs
//! (`<!-- given: 16 -->`). A phrase such as "half" or "four times" needs a mark as well (`<!-- four times = 975 / 245 -->`),
//! and a claim can have one (`<!-- 92 < 118 -->`). Elsewhere a number with a unit, or alone in the cell of a table, must be in an
//! output of the page, follow from one, be in a passage of another file (`<!-- quoted: METHOD.md: quick runs saw 8.5 % -->`), or
//! be under `<!-- recorded: HOST, DATE -->`. A quoted passage outranks that: a page that quotes itself agrees with itself.

use crate::outputs::{is_simulated, printed};
use crate::pages::{self, Mark, Page};
use crate::root;
use regex::Regex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::LazyLock;

static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+(?:,\d{3})*(?:\.\d+)?").unwrap());
static NO_PROSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"`[^`]*`|\[[^]]*\]\([^)]*\)|https?://\S+|^\s*\d+\. |Linux \d\.\d+|\b20\d\d\b").unwrap()
});
static UNIT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^ ?(?:ns|µs|us|ms|%|cycles?|ticks|instructions)(?:\W|$)").unwrap());
static TOKEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d+(?:,\d{3})*(?:\.\d+)?|[-+*/()]").unwrap());
static CELL: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^[-+~]?[\d,.]+$").unwrap());
static WHEN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r", 20\d\d-\d\d").unwrap());

/// A number, and whether a unit of a measurement follows it.
#[derive(Debug, PartialEq)]
struct Figure {
    text: String,
    value: f64,
    has_unit: bool,
}

fn value(text: &str) -> Option<f64> {
    text.replace(',', "").parse().ok()
}

/// The numbers of a line of prose. It leaves out code, links, and numbers that are part of a name (`Sv39`, `x86-64`).
fn figures(line: &str) -> Vec<Figure> {
    if !line.contains(|c: char| c.is_ascii_digit()) {
        return Vec::new();
    }
    let line = NO_PROSE.replace_all(line, " ~ ");
    let mut found = Vec::new();
    for one in NUMBER.find_iter(&line) {
        let before = &line[..one.start()];
        let after = &line[one.end()..];
        let mut back = before.chars().rev();
        let glued = match back.next() {
            Some('-' | '.' | ':' | '/' | '+') => back.next().is_some_and(char::is_alphanumeric),
            Some(c) => c.is_alphanumeric() || c == '_',
            None => false,
        };
        let mut ahead = after.chars();
        let goes_on = match ahead.next() {
            Some('-' | '.' | ':' | '/') => ahead.next().is_some_and(char::is_alphanumeric),
            Some(c) => c.is_alphanumeric() || c == '_',
            None => false,
        };
        if !glued && !goes_on {
            let (text, has_unit) = (one.as_str().to_owned(), UNIT.is_match(after));
            found.push(Figure { value: value(&text).unwrap(), text, has_unit });
        }
    }
    found
}

/// Every number of an output.
fn output_numbers(text: &str) -> Vec<f64> {
    NUMBER.find_iter(text).filter_map(|one| value(one.as_str())).collect()
}

/// Phrases that are a ratio, in lower case.
const PHRASES: [(&str, f64); 14] = [
    ("three quarters", 0.75),
    ("two thirds", 2.0 / 3.0),
    ("quarter", 0.25),
    ("third", 1.0 / 3.0),
    ("half", 0.5),
    ("twice", 2.0),
    ("two times", 2.0),
    ("three times", 3.0),
    ("four times", 4.0),
    ("five times", 5.0),
    ("six times", 6.0),
    ("seven times", 7.0),
    ("eight times", 8.0),
    ("ten times", 10.0),
];

/// The phrases of a line that are a ratio, the longest first.
fn phrases(line: &str) -> Vec<&'static str> {
    let words = line.to_lowercase();
    let mut rest: String = words.chars().map(|c| if c.is_alphanumeric() { c } else { ' ' }).collect();
    rest = format!(" {} ", rest.split_whitespace().collect::<Vec<_>>().join(" "));
    let mut found = Vec::new();
    for (phrase, _) in PHRASES {
        for form in [format!(" {phrase} "), format!(" {phrase}s ")] {
            if rest.contains(&form) {
                found.push(phrase);
                rest = rest.replace(&form, " ");
            }
        }
    }
    found
}

/// What an expression of numbers with `+ - * / ( )` is, and its numbers.
fn evaluate(text: &str) -> Option<(f64, Vec<f64>)> {
    let tokens: Vec<&str> = TOKEN.find_iter(text).map(|one| one.as_str()).collect();
    if tokens.concat() != text.replace(' ', "") {
        return None;
    }
    let mut at = 0;
    let result = sum(&tokens, &mut at)?;
    (at == tokens.len()).then(|| (result, tokens.iter().filter_map(|it| value(it)).collect()))
}

fn sum(tokens: &[&str], at: &mut usize) -> Option<f64> {
    let mut result = product(tokens, at)?;
    while let Some(sign @ (&"+" | &"-")) = tokens.get(*at) {
        *at += 1;
        let next = product(tokens, at)?;
        result += if *sign == "+" { next } else { -next };
    }
    Some(result)
}

fn product(tokens: &[&str], at: &mut usize) -> Option<f64> {
    let mut result = operand(tokens, at)?;
    while let Some(sign @ (&"*" | &"/")) = tokens.get(*at) {
        *at += 1;
        let next = operand(tokens, at)?;
        result = if *sign == "*" { result * next } else { result / next };
    }
    Some(result)
}

fn operand(tokens: &[&str], at: &mut usize) -> Option<f64> {
    let token = tokens.get(*at)?;
    *at += 1;
    if *token != "(" {
        return value(token);
    }
    let result = sum(tokens, at)?;
    (tokens.get(*at) == Some(&")")).then(|| *at += 1)?;
    Some(result)
}

/// What a mark states: `72 = 37 + 35`, `164 ~ 24776 / 151` (within 5 %), `half = 33 / 67` (within 15 %), `92 < 118`.
fn check(text: &str) -> Result<(String, Vec<f64>), String> {
    let unreadable = || format!("cannot read '{text}'");
    let sign =
        [" = ", " ~ ", " < ", " > "].into_iter().find(|sign| text.contains(sign)).ok_or_else(unreadable)?;
    let (left, right) = text.split_once(sign).ok_or_else(unreadable)?;
    let (right, mut operands) = evaluate(right).ok_or_else(unreadable)?;
    let phrase = PHRASES.iter().find(|(phrase, _)| *phrase == left);
    let holds = match (phrase, sign) {
        (Some((_, ratio)), _) => (right / ratio - 1.0).abs() <= 0.15,
        (None, " = ") => {
            let decimals = left.split_once('.').map_or(0, |(_, part)| part.len());
            let left = value(left).ok_or_else(unreadable)?;
            (left - right.abs()).abs() <= 0.5 * 10f64.powi(-(decimals as i32)) + 1e-9
        }
        (None, " ~ ") => (right.abs() / value(left).ok_or_else(unreadable)? - 1.0).abs() <= 0.05,
        (None, sign) => {
            let (left, more) = evaluate(left).ok_or_else(unreadable)?;
            operands.extend(more);
            if sign == " < " { left < right } else { left > right }
        }
    };
    if holds {
        Ok((left.to_owned(), operands))
    } else {
        Err(format!("'{text}' is false: the right side is {right}"))
    }
}

/// What a mark permits in its lines: numbers, and a phrase.
struct Permit<'a> {
    mark: &'a Mark,
    numbers: Vec<f64>,
    phrase: Option<String>,
}

impl<'a> Permit<'a> {
    fn of(mark: &'a Mark) -> Option<Self> {
        match mark.key.as_str() {
            "quoted" => {
                let (_, passage) = mark.text.split_once(": ")?;
                Some(Self { mark, numbers: output_numbers(passage), phrase: None })
            }
            "given" => {
                Some(Self { mark, numbers: mark.text.split(' ').filter_map(value).collect(), phrase: None })
            }
            "" => {
                let (left, _) = check(&mark.text).ok()?;
                Some(Self { mark, numbers: value(&left).into_iter().collect(), phrase: Some(left) })
            }
            _ => None,
        }
    }
}

type Outputs = HashMap<String, String>;

/// The lines between headings, and the numbers of the outputs among them.
fn sections(page: &Page, home: &Path, outputs: &mut Outputs) -> Vec<(std::ops::Range<usize>, Vec<f64>)> {
    let prose = page.prose();
    let mut starts: Vec<usize> =
        prose.iter().filter(|(_, line)| line.starts_with('#')).map(|(number, _)| *number).collect();
    starts.insert(0, 1);
    let end = page.text.lines().count() + 1;
    let ends = starts.iter().skip(1).copied().chain([end]);
    let mut sections: Vec<_> =
        starts.iter().copied().zip(ends).map(|(from, to)| (from..to, Vec::new())).collect();
    for block in page.blocks().into_iter().filter(|block| matches!(block.mark.as_str(), "console" | "text")) {
        let lines = block.lines.iter().filter(|line| !line.starts_with("$ "));
        let numbers = output_numbers(&lines.map(|line| format!("{line}\n")).collect::<String>());
        if let Some((_, pool)) = sections.iter_mut().find(|(lines, _)| lines.contains(&block.line)) {
            pool.extend(numbers);
        }
    }
    for mark in page.marks().into_iter().filter(|mark| mark.key == "output") {
        assert!(is_simulated(&mark.text), "{}:{}: its output changes from run to run", page.name, mark.line);
        let text = outputs.entry(mark.text.clone()).or_insert_with(|| printed(&mark.text, home).join("\n"));
        let numbers = output_numbers(text);
        if let Some((_, pool)) = sections.iter_mut().find(|(lines, _)| lines.contains(&mark.line)) {
            pool.extend(numbers);
        }
    }
    sections
}

/// Lines that a test of their own compares.
fn is_generated(marks: &[Mark], line: usize) -> bool {
    if marks.iter().any(|mark| mark.text.starts_with("Made by `cargo xtask bless ")) {
        return true;
    }
    let last =
        marks.iter().rev().find(|mark| mark.line < line && mark.text.starts_with("cargo xtask bless "));
    last.is_some_and(|mark| mark.text.ends_with(": begin"))
}

/// Figures of a line of a page without an output beside it.
fn measured(line: &str) -> Vec<Figure> {
    let mut found: Vec<Figure> = figures(line).into_iter().filter(|figure| figure.has_unit).collect();
    if line.starts_with('|') {
        for cell in line.split('|').map(str::trim).filter(|cell| CELL.is_match(cell)) {
            found.extend(figures(cell));
        }
    }
    found
}

/// What is wrong with the figures of a page.
fn findings(page: &Page, home: &Path, outputs: &mut Outputs) -> Vec<String> {
    let sections = sections(page, home, outputs);
    let marks = page.marks();
    let permits: Vec<Permit<'_>> = marks.iter().filter_map(Permit::of).collect();
    let permitted = |line: usize| permits.iter().filter(move |permit| permit.mark.lines.contains(&line));
    let all: Vec<f64> = sections.iter().flat_map(|(_, numbers)| numbers).copied().collect();
    let mut findings = Vec::new();
    let mut say = |line: usize, text: String| findings.push(format!("{}:{line}: {text}", page.name));
    for mark in marks.iter().filter(|mark| mark.key == "recorded" && !WHEN.is_match(&mark.text)) {
        say(mark.line, "say on which host and when it was recorded: 'HOST, 2026-11'".to_owned());
    }
    for mark in marks.iter().filter(|mark| mark.key == "quoted") {
        let (file, passage) = mark.text.split_once(": ").unwrap_or((&mark.text, ""));
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let other = Page::at(&root(), file);
        let prose: Vec<&str> = other.prose().into_iter().map(|(_, line)| line).collect();
        if passage.is_empty() || !words(&prose.join(" ")).contains(&words(passage)) {
            say(mark.line, format!("{file} does not say '{passage}'"));
        }
    }
    for (number, line) in page.prose() {
        let (lines, own) = sections.iter().find(|(lines, _)| lines.contains(&number)).unwrap();
        if is_generated(&marks, number) || line.starts_with('#') {
            continue;
        }
        let is_strict = !own.is_empty();
        // Beside an output only what is marked there.
        let here = |mark: &&Mark| !is_strict || lines.contains(&mark.line) && lines.start > 1;
        let mut records = marks.iter().filter(|mark| mark.key == "recorded" && mark.lines.contains(&number));
        let is_quoted = permitted(number).any(|permit| permit.mark.key == "quoted");
        if !is_quoted && records.any(|mark| here(&mark)) {
            continue;
        }
        let known = |value: f64| {
            let pool = if is_strict { own } else { &all };
            pool.contains(&value) || permitted(number).any(|permit| permit.numbers.contains(&value))
        };
        let quoted = if is_strict { figures(line) } else { measured(line) };
        for figure in quoted.iter().filter(|figure| !known(figure.value)) {
            say(number, format!("{} is in no output beside it: {}", figure.text, line.trim()));
        }
        for phrase in phrases(line).into_iter().filter(|_| is_strict) {
            if !permitted(number).any(|permit| permit.phrase.as_deref() == Some(phrase)) {
                say(number, format!("'{phrase}' follows from nothing: {}", line.trim()));
            }
        }
    }
    for mark in marks.iter().filter(|mark| mark.key.is_empty() && !mark.text.contains("cargo xtask bless ")) {
        match check(&mark.text) {
            Err(reason) => say(mark.line, reason),
            Ok((_, operands)) => {
                let others = permitted(mark.line).filter(|permit| permit.mark.line != mark.line);
                let mut known: Vec<f64> = others.flat_map(|permit| &permit.numbers).copied().collect();
                known.extend(all.iter().chain(&[1.0, 2.0, 100.0, 1000.0]));
                for operand in operands.iter().filter(|operand| !known.contains(operand)) {
                    say(mark.line, format!("{operand} of '{}' is in no output of the page", mark.text));
                }
            }
        }
    }
    findings
}

#[test]
fn every_figure_of_prose_is_in_an_output_or_recorded() {
    let root = root();
    let home = tempfile::tempdir().unwrap();
    let mut outputs = Outputs::new();
    let mut wrong = Vec::new();
    for page in pages::all(&root).iter().filter(|page| page.name != "CHANGELOG.md") {
        wrong.extend(findings(page, home.path(), &mut outputs));
    }
    assert!(
        wrong.is_empty(),
        "{} figures; CONTRIBUTING.md (The book) says how to state where a figure is from:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// The findings of a page, each without its place and the line.
fn found(text: &str) -> Vec<String> {
    let page = Page { name: "page".to_owned(), text: text.to_owned() };
    let all = findings(&page, Path::new("."), &mut Outputs::new());
    let short = |it: String| it.splitn(3, ':').nth(2).unwrap().trim().split(':').next().unwrap().to_owned();
    all.into_iter().map(short).collect()
}

const OUTPUT: &str = "# A\n\n```text\ntotal 98 245\nsave 37 restore 35\n```\n\n";

#[test]
fn a_stale_figure_is_found() {
    for prose in [
        "It takes 134 cycles.",
        "Of 98, 11 are flushes.",
        "<!-- 71 = 37 + 35 -->\n71 move registers.",
        "<!-- 72 = 36 + 36 -->\n72 move registers.",
        "It is three times as long.",
        "<!-- three times = 98 / 245 -->\nIt is three times as long.",
        "<!-- 98 > 245 -->\nIt is cheaper.",
    ] {
        assert_ne!(found(&format!("{OUTPUT}{prose}\n")), Vec::<String>::new(), "{prose}");
    }
    for page in [
        "# A\n\nIt takes 134 ns.\n",
        "# A\n\n| a | 134 |\n",
        "# A\n\n<!-- recorded: here -->\n\nIt takes 1 ns.\n",
        "# A\n\n<!-- recorded: here, 2026-11 -->\n\n<!-- quoted: METHOD.md: quick runs saw 8.5 % -->\nThey saw 8.6 %.\n",
        "# A\n\n<!-- quoted: METHOD.md: given: 117 1.6 95 -->\nA mark of 117 ns says nothing.\n",
    ] {
        assert_ne!(found(page), Vec::<String>::new(), "{page}");
    }
}

#[test]
fn a_figure_that_is_in_an_output_or_follows_from_one_passes() {
    for prose in [
        "It takes 245 cycles of `rv64gc` with `--calls 7`, on Sv39 and x86-64.",
        "<!-- 72 = 37 + 35 -->\n<!-- three quarters = 72 / 98 -->\nThree quarters, 72, move registers.",
        "<!-- given: 1,024 -->\nThe loop makes 1,024 turns.",
        "<!-- 2.5 = 245 / 98 -->\nIt takes 2.5 each.",
        "<!-- 98 < 245 -->\nIt takes fewer instructions than cycles.",
        "## B\n\nThat is 245 cycles, on Linux 6.18 in 64 KiB.",
    ] {
        assert_eq!(found(&format!("{OUTPUT}{prose}\n")), Vec::<String>::new(), "{prose}");
    }
    let page = "# A\n\n<!-- recorded: an EPYC, 2026-11 -->\n\nIt takes 134 ns.\n\n## B\n\n| a | 134 |\n";
    assert_eq!(found(page), Vec::<String>::new());
    let page = "# A\n\n<!-- recorded: here, 2026-11 -->\n\n<!-- quoted: METHOD.md: quick runs saw 8.5 % -->\nThey saw 8.5 %.\n";
    assert_eq!(found(page), Vec::<String>::new());
}

#[test]
fn numbers_of_prose_are_told_from_names() {
    let texts = |line| figures(line).into_iter().map(|figure| figure.text).collect::<Vec<_>>();
    assert_eq!(
        texts("1. Of 1,024 turns -3.5 % are 64 (128) on rv64, Sv39, x86-64, 16-bit, 64K, `8`"),
        ["1,024", "3.5", "64", "128"]
    );
    assert_eq!(texts("[16](a1.md) on Linux 6.18 at 0x1000, 2.6 GHz: 12 ns"), ["2.6", "12"]);
}
