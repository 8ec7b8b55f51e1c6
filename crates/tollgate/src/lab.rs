//! `tollgate lab`: exercises that check themselves, and the lab's page. One file for each larger command.

mod check;
mod choice;
mod format;
mod package;
mod pages;
mod serve;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, Subcommand};
use tollgate_lab::exercise;

use choice::{Who, find, of_file};

use crate::args::Usage;
use crate::output::{Sink, say};

/// Exercises that check themselves, and the lab as a page in a browser
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate lab list\n  tollgate lab start fast --student ada@example.org\n  \
                        tollgate lab check solution.s\n  tollgate lab serve\n\nFor teachers: docs/howto/teach.md"
)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Subcommand)]
enum LabCommand {
    /// List the exercises
    List(ListArgs),
    /// Print an exercise's task and write the source to start from
    Start(StartArgs),
    /// Check a source as a solution, and say what is missing
    Check(check::CheckArgs),
    /// Write the archive with which Gradescope checks an exercise
    Autograder(package::AutograderArgs),
    /// Write the page as a SCORM package for Moodle and other course systems
    Scorm(package::ScormArgs),
    /// Open the lab's page from this program, on this computer only
    Serve(serve::ServeArgs),
}

/// `tollgate lab list`.
#[derive(Args)]
#[command(after_help = "Example:\n  tollgate lab list --json")]
struct ListArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

/// `tollgate lab start`.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tollgate lab start count\n  tollgate lab start save --student ada@example.org\n  \
                        tollgate lab start count --seed 7 --out mine.s\n  tollgate lab start my-exercise.toml --seed 1 --json"
)]
struct StartArgs {
    /// The exercise: a name of `lab list`, or the file of your own that ends in .toml
    #[arg(value_name = "EXERCISE")]
    exercise: String,
    #[command(flatten)]
    who: Who,
    /// Write the source to this file [default: EXERCISE.s]
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Print the exercise as JSON, and write no source
    #[arg(long, conflicts_with = "out")]
    json: bool,
}

/// Runs `tollgate lab`.
pub(crate) fn run(args: &LabArgs) -> Result<ExitCode> {
    match &args.command {
        LabCommand::List(args) => list(args),
        LabCommand::Start(args) => start(args),
        LabCommand::Check(args) => check::run(args),
        LabCommand::Autograder(args) => package::autograder(args),
        LabCommand::Scorm(args) => package::scorm(args),
        LabCommand::Serve(args) => serve::run(args),
    }
}

fn list(args: &ListArgs) -> Result<ExitCode> {
    let all = exercise::list()?;
    let sink = Sink::text(None, "")?;
    if args.json {
        return sink.deliver(tollgate_record::document::pretty(&all)?);
    }
    let width = all.iter().map(|it| it.id.len()).max().unwrap_or(0);
    let mut text = String::new();
    for it in &all {
        let core = it.core.as_ref().map_or(String::new(), |core| format!(", cycles on {core}"));
        text += &format!("{:width$}  {} ({} minutes{core})\n", it.id, it.title, it.minutes);
        text += &format::wrapped(&it.about, width + 2, "");
    }
    text += "\nBegin with: tollgate lab start NAME\n";
    sink.deliver(&text)
}

fn start(args: &StartArgs) -> Result<ExitCode> {
    let exercise = find(&args.exercise)?;
    let seed = args.who.seed().unwrap_or_else(|| rand::random::<u32>().into());
    let started = exercise.start(seed).map_err(|error| of_file(Path::new(&args.exercise), &error))?;
    let sink = Sink::text(None, "")?;
    if args.json {
        return sink.deliver(tollgate_record::document::pretty(&started)?);
    }
    let path = args.out.clone().unwrap_or_else(|| format!("{}.s", started.id).into());
    let taken = Usage::file(&path, "there is a file of that name already; choose another with --out FILE");
    if path.symlink_metadata().is_ok() {
        return Err(taken.into());
    }
    fs::write(&path, &started.starter).map_err(|error| Usage::file(&path, error))?;
    let mut text = format!("{}\n{}\n", started.title, "=".repeat(started.title.chars().count()));
    text += &format::paragraphs(&started.text);
    sink.deliver(&text)?;
    let name = tollgate_record::text::quoted(&path.to_string_lossy());
    say(format!(
        "{} is the source to start from (seed {seed}); check it with: tollgate lab check {name}",
        path.display()
    ));
    Ok(ExitCode::SUCCESS)
}
