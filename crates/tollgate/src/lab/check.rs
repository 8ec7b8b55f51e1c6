//! `tollgate lab check`: a source as a solution of an exercise, for a student, a course system or a CI.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use serde::Deserialize;
use tollgate_lab::exercise::{self, Exercise, Verdict};
use tollgate_record::file;

use super::choice::{Who, find, of_file};
use super::format::{self, Format};
use crate::args::{Usage, one_of};
use crate::output::{Sink, say};

/// The longest file that is read at all; a longer source than the exercise permits is part of the verdict.
const LONGEST: u64 = 16 << 20;

const FORMATS: [(&str, Format, &str); 4] = [
    ("text", Format::Text, "For people"),
    ("json", Format::Json, "The whole verdict"),
    ("gradescope", Format::Gradescope, "results.json of a Gradescope autograder"),
    ("junit", Format::Junit, "XML of test results, for a CI"),
];

/// `tollgate lab check`.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 every check passed; 1 a check failed; 2 the command line or a file is wrong.\n\nExamples:\n  \
                        tollgate lab check solution.s\n  \
                        tollgate lab check solution.s --exercise count --seed 7\n  \
                        tollgate lab check solution.s --format junit --out results.xml\n\nNothing that a source contains is trusted: everything runs again here, and the seed of \
                        --seed, --student or --metadata is used, not that in the source."
)]
pub(super) struct CheckArgs {
    /// The source, or a folder with one source
    #[arg(value_name = "FILE")]
    source: PathBuf,
    /// The exercise, or its file [default: the one that the source's first line names]
    #[arg(long, value_name = "EXERCISE")]
    exercise: Option<String>,
    #[command(flatten)]
    who: Who,
    /// Gradescope's submission_metadata.json, whose student decides about the seed
    #[arg(long, value_name = "FILE", hide_short_help = true, conflicts_with_all = ["seed", "student"])]
    metadata: Option<PathBuf>,
    /// How to print the verdict
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = one_of(FORMATS))]
    format: Format,
    /// Write to a file instead of standard output
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is used of Gradescope's file.
#[derive(Deserialize)]
struct Metadata {
    users: Vec<User>,
}

#[derive(Deserialize)]
struct User {
    email: String,
}

pub(super) fn run(args: &CheckArgs) -> Result<ExitCode> {
    let sink = Sink::text(args.out.clone(), "verdict.json")?;
    let verdict = match check(args) {
        Ok(verdict) => verdict,
        // The student sees the reason where the points would be.
        Err(error) if args.format == Format::Gradescope => {
            sink.deliver(format::gradescope_failure(&tollgate_record::text::sentence(error.as_ref())))?;
            return Err(error);
        }
        Err(error) => return Err(error),
    };
    sink.deliver(args.format.print(&verdict)?)?;
    Ok(if verdict.passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn check(args: &CheckArgs) -> Result<Verdict> {
    let path = the_source(&args.source)?;
    let bytes = file::read(&path, LONGEST).map_err(|error| Usage::file(&path, error))?;
    let Ok(source) = String::from_utf8(bytes) else {
        return Err(Usage::file(&path, "not a source: it is not UTF-8 text").into());
    };
    let header = exercise::header(&source);
    let named = args.exercise.as_deref().or(header.map(|(id, _)| id));
    let Some(named) = named else {
        let why = "its first line names no exercise; name one with --exercise NAME (tollgate lab list)";
        return Err(Usage::file(&path, why).into());
    };
    let exercise = find(named)?;
    let seed = seed(args, header)?;
    let Some(seed) = seed.or(header.map(|(_, seed)| seed)) else {
        let why = "its first line names no seed; give --seed N or --student NAME";
        return Err(Usage::file(&path, why).into());
    };
    notes(&exercise, seed, header);
    exercise.check(seed, &source).map_err(|error| of_file(Path::new(named), &error))
}

/// A word about a source that was begun for somebody else.
fn notes(exercise: &Exercise, seed: u64, header: Option<(&str, u64)>) {
    let id = exercise.listing().id;
    match header {
        Some((other, _)) if other != id => {
            say(format!("the source was begun for '{other}' and is checked as '{id}'"))
        }
        Some((_, other)) if other != seed => {
            say(format!("the source was begun with seed {other} and is checked with seed {seed}"));
        }
        _ => {}
    }
}

/// The seed that the command line decides.
fn seed(args: &CheckArgs, header: Option<(&str, u64)>) -> Result<Option<u64>> {
    let Some(path) = &args.metadata else { return Ok(args.who.seed()) };
    let bytes = file::read(path, LONGEST).map_err(|error| Usage::file(path, error))?;
    let metadata: Metadata = serde_json::from_slice(&bytes)
        .map_err(|error| Usage::file(path, format!("not Gradescope's metadata: {error}")))?;
    let seeds: Vec<u64> = metadata.users.iter().map(|user| exercise::seed_of(&user.email)).collect();
    // In a group one of them began the exercise.
    let begun = header.map(|(_, seed)| seed).filter(|seed| seeds.contains(seed));
    let seed = begun.or(seeds.first().copied());
    seed.map(Some).ok_or_else(|| Usage::file(path, "it names no student").into())
}

/// The file itself, or the only source in a folder.
fn the_source(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_owned());
    }
    let entries = fs::read_dir(path).map_err(|error| Usage::file(path, error))?;
    let is_source =
        |path: &PathBuf| path.extension().is_some_and(|end| end == "s" || end == "S" || end == "asm");
    let mut sources: Vec<_> = entries.flatten().map(|entry| entry.path()).filter(is_source).collect();
    match (sources.pop(), sources.is_empty()) {
        (Some(source), true) => Ok(source),
        (None, _) => Err(Usage::file(path, "no file there ends in .s; hand in one source").into()),
        (Some(_), false) => {
            Err(Usage::file(path, "several files there end in .s; hand in one source").into())
        }
    }
}
