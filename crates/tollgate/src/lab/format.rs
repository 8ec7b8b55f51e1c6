//! A verdict as text, JSON, and the files that course systems and CIs read.

use std::fmt::Write;

use anyhow::Result;
use serde_json::json;
use tollgate_lab::exercise::{Check, RunReport, Verdict};
use tollgate_record::{document, text};

/// Columns of text.
const WIDTH: usize = 80;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Text,
    Json,
    Gradescope,
    Junit,
}

impl Format {
    pub(super) fn print(self, verdict: &Verdict) -> Result<String> {
        Ok(match self {
            Self::Text => text::inert(&as_text(verdict)).into_owned(),
            Self::Json => document::pretty(verdict)?,
            Self::Gradescope => document::pretty(&gradescope(verdict))?,
            Self::Junit => junit(verdict),
        })
    }
}

/// Words in lines of at most [`WIDTH`] columns: the first begins with `label`, and all are indented.
pub(super) fn labeled(words: &str, indent: usize, label: &str) -> String {
    let mut out = String::new();
    let mut line = format!("{:indent$}{label}", "");
    let hanging = indent + label.chars().count();
    let mut is_empty = true;
    for word in words.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            let _ = writeln!(out, "{}", line.trim_end());
            line = format!("{:hanging$}", "");
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line += word;
        is_empty = false;
    }
    let _ = writeln!(out, "{}", line.trim_end());
    out
}

/// Words in indented lines.
pub(super) fn wrapped(words: &str, indent: usize, label: &str) -> String {
    labeled(words, indent, label)
}

/// Markdown for a terminal: paragraphs and list items in lines of 80 columns, code as it is.
pub(super) fn paragraphs(markdown: &str) -> String {
    let mut out = String::new();
    let mut pending = String::new();
    let mut is_code = false;
    let flush = |pending: &mut String, out: &mut String| {
        let words = std::mem::take(pending);
        let start = words.trim_start();
        let marker = start.split_once(' ').map_or("", |(first, _)| first);
        let is_item =
            marker == "-" || marker.ends_with('.') && marker.trim_end_matches('.').parse::<u32>().is_ok();
        match is_item {
            _ if start.is_empty() => {}
            true => *out += &labeled(&start[marker.len()..], 0, &format!("{marker} ")),
            false => *out += &labeled(start, 0, ""),
        }
    };
    for line in markdown.lines() {
        let trimmed = line.trim_start();
        let begins_item = trimmed.starts_with("- ")
            || trimmed.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        if trimmed.starts_with("```") {
            flush(&mut pending, &mut out);
            is_code = !is_code;
        } else if is_code {
            let _ = writeln!(out, "    {line}");
        } else if trimmed.is_empty() {
            flush(&mut pending, &mut out);
            out.push('\n');
        } else {
            if begins_item {
                flush(&mut pending, &mut out);
            }
            pending.push_str(trimmed);
            pending.push(' ');
        }
    }
    flush(&mut pending, &mut out);
    out.replace("**", "")
}

fn as_text(verdict: &Verdict) -> String {
    let Verdict { exercise, title, seed, points, most_points, .. } = verdict;
    let mut out = format!("{title} ({exercise}, seed {seed})\n");
    let _ = writeln!(out, "{points} of {most_points} points\n");
    for error in &verdict.errors {
        let _ = writeln!(out, "{}", fault(error));
    }
    if !verdict.errors.is_empty() {
        let count = verdict.errors.len();
        let _ =
            writeln!(out, "{count} error{} in the source, so nothing ran", if count == 1 { "" } else { "s" });
        return out;
    }
    for check in &verdict.checks {
        let _ = writeln!(out, "{} {}", if check.passed { "ok    " } else { "FAILED" }, check.name);
        if !check.passed {
            out += &details(check, 7);
        }
    }
    for run in verdict.runs.iter().filter(|run| run.core.is_some() && !run.phases.is_empty()) {
        out.push('\n');
        out += &costs(run);
    }
    out
}

fn fault(error: &tollgate_lab::exercise::SourceFault) -> String {
    let mut out = format!("line {}: {}", error.line, error.message);
    if !error.text.is_empty() {
        let _ = write!(out, "\n{:5} | {}", error.line, error.text.replace('\t', " "));
        if error.column <= 200 {
            let _ = write!(out, "\n      | {:>width$}", '^', width = error.column as usize);
        }
    }
    out
}

/// What a check expected and found, and the hint.
fn details(check: &Check, indent: usize) -> String {
    let mut out = String::new();
    if !check.expected.is_empty() {
        out += &labeled(&check.expected, indent, "expected  ");
    }
    let run = check.run.as_ref().map_or(String::new(), |run| format!(" (run: {run})"));
    out += &labeled(&format!("{}{run}", check.found), indent, "found     ");
    if let Some(hint) = &check.hint {
        out += &labeled(hint, indent, "hint      ");
    }
    out
}

/// The last crossing of a run, by phase.
fn costs(run: &RunReport) -> String {
    let core = run.core.as_deref().unwrap_or_default();
    let mut out = format!("The last trap on {core} (run: {})\n", run.name);
    let _ = writeln!(out, "{:<18}{:>13}{:>8}{:>8}  causes", "", "instructions", "stores", "cycles");
    for it in &run.phases {
        let mut causes: Vec<_> = it.causes.clone();
        causes.sort_by_key(|(_, cycles)| std::cmp::Reverse(*cycles));
        let causes: Vec<_> = causes.iter().take(3).map(|(name, cycles)| format!("{name} {cycles}")).collect();
        let cycles = it.cycles.unwrap_or(0);
        let line = format!(
            "  {:<16}{:>13}{:>8}{:>8}  {}",
            it.phase,
            it.instructions,
            it.stores,
            cycles,
            causes.join(", ")
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    let sum =
        |value: fn(&tollgate_lab::exercise::PhaseCost) -> u64| run.phases.iter().map(value).sum::<u64>();
    let _ = writeln!(
        out,
        "  {:<16}{:>13}{:>8}{:>8}",
        "total",
        sum(|it| it.instructions),
        sum(|it| it.stores),
        sum(|it| it.cycles.unwrap_or(0))
    );
    out
}

/// Gradescope's results.json (gradescope-autograders.readthedocs.io, Autograder Specifications).
fn gradescope(verdict: &Verdict) -> serde_json::Value {
    let tests: Vec<_> = verdict
        .checks
        .iter()
        .map(|check| {
            json!({
                "name": check.name,
                "score": if check.passed { check.points } else { 0 },
                "max_score": check.points,
                "status": if check.passed { "passed" } else { "failed" },
                "output": if check.passed { String::new() } else { details(check, 0) },
                "visibility": "visible",
            })
        })
        .collect();
    let mut output = format!("{} (seed {})\n", verdict.title, verdict.seed);
    for error in &verdict.errors {
        let _ = writeln!(output, "{}", fault(error));
    }
    json!({ "output": output, "output_format": "text", "tests": tests })
}

/// The same where nothing could be checked.
pub(super) fn gradescope_failure(why: &str) -> String {
    let result =
        json!({ "score": 0, "output": format!("Nothing was checked: {why}\n"), "output_format": "text" });
    format!("{result:#}\n")
}

/// JUnit's XML, as Jenkins and GitLab read it.
fn junit(verdict: &Verdict) -> String {
    let Verdict { exercise, seed, checks, .. } = verdict;
    let failures = checks.iter().filter(|check| !check.passed).count();
    let name = xml(&format!("{exercise}, seed {seed}"));
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{}\" failures=\"{failures}\"", checks.len());
    let _ = writeln!(out, "<testsuites {counts}>\n  <testsuite name=\"{name}\" {counts}>");
    for check in checks {
        let case = format!(
            "    <testcase classname=\"tollgate.lab.{}\" name=\"{}\"",
            xml(exercise),
            xml(&check.name)
        );
        if check.passed {
            let _ = writeln!(out, "{case}/>");
            continue;
        }
        let mut text = details(check, 0);
        for error in &verdict.errors {
            let _ = writeln!(text, "{}", fault(error));
        }
        let message = match check.expected.as_str() {
            "" => check.found.clone(),
            expected => format!("expected {expected}, found {}", check.found),
        };
        let message = xml(&message);
        let _ = writeln!(
            out,
            "{case}>\n      <failure message=\"{message}\">{}</failure>\n    </testcase>",
            xml(&text)
        );
    }
    out += "  </testsuite>\n</testsuites>\n";
    out
}

/// Text in XML 1.0, which has no control characters but tab and the ends of lines (section 2.2).
fn xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' | '\n' | '\r' => out.push(c),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_at_most_80_columns_and_hang_below_their_label() {
        let text = labeled(&"word ".repeat(40), 4, "hint  ");
        assert!(text.lines().all(|line| line.len() <= WIDTH && line.starts_with("    ")));
        assert!(text.lines().skip(1).all(|line| line.starts_with("          word")), "{text}");
    }

    #[test]
    fn markdown_keeps_its_lists_and_paragraphs() {
        let text = paragraphs("One\ntwo **three**.\n\n- a\n- b\n  c\n\n1. x\n2. y\n");
        assert_eq!(text, "One two three.\n\n- a\n- b c\n\n1. x\n2. y\n");
    }

    #[test]
    fn xml_has_no_markup_and_no_control_characters() {
        assert_eq!(xml("<a b=\"c\">&\u{1b}[2J\0"), "&lt;a b=&quot;c&quot;&gt;&amp;\u{fffd}[2J\u{fffd}");
    }
}
