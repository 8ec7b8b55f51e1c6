//! Every command that a page shows is accepted by the real parser.

use crate::pages::{self, Page};
use crate::{root, shell};
use regex::Regex;

/// The calls of the program that a page shows: in blocks, indented, and within sentences.
fn calls(page: &Page) -> Vec<(usize, String)> {
    let mut calls = Vec::new();
    for block in page.blocks() {
        let shown = matches!(block.mark.as_str(), "sh" | "console");
        for (number, line) in (block.line..).zip(&block.lines).filter(|_| shown) {
            let line = line.trim();
            let line = if block.mark == "console" { line.strip_prefix("$ ") } else { Some(line) };
            calls.extend(line.map(|line| (number, line.to_owned())));
        }
    }
    let inline = Regex::new("`(tollgate [^`]*)`").unwrap();
    for (number, line) in page.prose() {
        if let Some(line) = line.strip_prefix("    ") {
            calls.push((number, line.to_owned()));
        }
        calls.extend(inline.captures_iter(line).map(|found| (number, found[1].to_owned())));
    }
    calls.retain(|(_, line)| line == "tollgate" || line.starts_with("tollgate "));
    calls
}

/// The call with `--help` behind it, which the parser reaches only after it has accepted everything before.
fn asking_for_help(call: &str) -> String {
    let ends = [" #", " > ", " >> ", " | ", " && ", "  "].iter().filter_map(|end| call.find(end)).min();
    let call = call[..ends.unwrap_or(call.len())].trim();
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
        for (number, call) in calls(page) {
            // A synopsis, not a call.
            if call.contains(['[', '|', '*']) && !call.contains('\'') && !call.contains(" | ")
                || call.contains("...")
                || call.contains("ID")
            {
                continue;
            }
            let line = asking_for_help(&call);
            let output = shell(&line, home.path());
            count += 1;
            let said = String::from_utf8_lossy(&output.stderr);
            // A sentence may name an option without its value.
            let is_name = said.contains("a value is required for")
                && call.rsplit(' ').next().unwrap().starts_with("--");
            if !output.status.success() && !is_name {
                let said = said.lines().next().unwrap_or_default().to_owned();
                refused.push(format!("{}:{number}: {call}\n  {said}", page.name));
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
