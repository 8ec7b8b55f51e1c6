//! Every command that a page shows is accepted by the real parser.

use crate::pages::{self, Page};
use crate::{root, shell};
use regex::Regex;

/// A line that a page shows.
pub(crate) struct Call {
    pub line: usize,
    pub text: String,
    /// In a sentence or a table, not in a block.
    pub is_inline: bool,
}

/// Whether a line calls the program.
fn is_ours(line: &str) -> bool {
    line == "tollgate" || line.starts_with("tollgate ") || line.contains("| tollgate ")
}

/// The commands that a page shows: in blocks, indented, and within sentences. Of blocks marked `sh` all lines, otherwise
/// those that call the program.
pub(crate) fn calls(page: &Page) -> Vec<Call> {
    let mut calls = Vec::new();
    for block in page.blocks() {
        for (line, text) in (block.line..).zip(&block.lines) {
            let text = text.trim();
            let (shown, text) = match block.mark.as_str() {
                "sh" => (!text.is_empty() && !text.starts_with('#'), text),
                "console" => (text.starts_with("$ "), text.trim_start_matches("$ ")),
                "text" | "" => (is_ours(text), text),
                _ => (false, text),
            };
            if shown {
                let text = text.to_owned();
                calls.push(Call { line, text, is_inline: false });
            }
        }
    }
    let inline = Regex::new("`(tollgate(?: [^`]*)?)`").unwrap();
    for (line, text) in page.prose() {
        if let Some(text) = text.strip_prefix("    ").filter(|text| is_ours(text)) {
            // A gap ends the call; its explanation follows.
            let text = text.split("  ").next().unwrap_or(text).to_owned();
            calls.push(Call { line, text, is_inline: false });
            continue;
        }
        for found in inline.captures_iter(text) {
            calls.push(Call { line, text: found[1].to_owned(), is_inline: true });
        }
    }
    calls.sort_by_key(|call| call.line);
    calls
}

/// Where a call ends, and a comment, a redirection or the next command begins.
pub(crate) fn end_of_call(line: &str) -> usize {
    let from = line.find("tollgate").unwrap_or(0);
    let ends = [" #", " > ", " >> ", " 2> ", " | ", " && ", "  "].iter();
    ends.filter_map(|end| line[from..].find(end)).min().map_or(line.len(), |at| from + at)
}

/// The call with `--help` behind it, which the parser reaches only after it has accepted everything before.
fn asking_for_help(call: &str) -> String {
    let call = &call[call.find("tollgate").unwrap_or(0)..];
    let call = call[..end_of_call(call)].trim();
    // What follows is another program's.
    let place =
        call.find(" -- ").or_else(|| call.starts_with("tollgate lat_ctx ").then(|| first_number(call)));
    let (own, rest) = call.split_at(place.unwrap_or(call.len()));
    format!("{own} --help{rest}")
}

/// Where the numbers of tasks of `lat_ctx` begin: behind its options, each of which has a value.
fn first_number(call: &str) -> usize {
    let mut at = "tollgate lat_ctx".len();
    let mut is_value = false;
    for word in call[at..].split(' ').skip(1) {
        if !is_value && !word.starts_with('-') {
            break;
        }
        is_value = !is_value && word.starts_with('-');
        at += 1 + word.len();
    }
    at
}

#[test]
fn every_command_of_every_page_is_accepted() {
    let root = root();
    let home = tempfile::tempdir().unwrap();
    let mut refused = Vec::new();
    let mut count = 0;
    // The change log names commands of other versions.
    for page in pages::all(&root).iter().filter(|page| page.name != "CHANGELOG.md") {
        for Call { line, text, .. } in calls(page) {
            // A synopsis, not a call.
            if text.contains(['[', '|', '*']) && !text.contains('\'') && !text.contains(" | ")
                || text.contains("...")
                || text.contains("ID")
                || !is_ours(&text)
            {
                continue;
            }
            let output = shell(&asking_for_help(&text), home.path());
            count += 1;
            let said = String::from_utf8_lossy(&output.stderr);
            // A sentence may name an option without its value.
            let is_name = said.contains("a value is required for")
                && text.rsplit(' ').next().unwrap().starts_with("--");
            if !output.status.success() && !is_name {
                let said = said.lines().next().unwrap_or_default().to_owned();
                refused.push(format!("{}:{line}: {text}\n  {said}", page.name));
            }
        }
    }
    assert!(refused.is_empty(), "{} of {count} commands are refused:\n{}", refused.len(), refused.join("\n"));
    assert!(count > 100, "{count} commands");
}

#[test]
fn help_is_asked_for_behind_what_is_parsed() {
    for (call, line) in [
        ("tollgate", "tollgate --help"),
        ("tollgate run x > y", "tollgate run x --help"),
        ("tollgate compare OLD NEW      two runs", "tollgate compare OLD NEW --help"),
        ("tollgate crossing   # 20 seconds", "tollgate crossing --help"),
        ("tollgate exec -- ls -l", "tollgate exec --help -- ls -l"),
        ("tollgate lat_ctx -s 64 2 4", "tollgate lat_ctx -s 64 --help 2 4"),
        ("tollgate lat_ctx 8", "tollgate lat_ctx --help 8"),
    ] {
        assert_eq!(asking_for_help(call), line);
    }
}

#[test]
fn a_wrong_command_is_refused() {
    let home = tempfile::tempdir().unwrap();
    for call in ["tollgate rnu", "tollgate riscv trap --bogus 1", "tollgate export latest --format cvs"] {
        assert!(!shell(&asking_for_help(call), home.path()).status.success(), "{call}");
    }
}
