//! The command line described by itself: `tollgate completions`, `tollgate man`, and `tollgate examples` (hidden), the
//! examples of every help text as JSON, for the test that runs them all.

use crate::args::Usage;
use crate::output::Sink;
use anyhow::Context;
use clap::Command;
use clap_complete::{Shell, generate};
use clap_mangen::Man;
use serde_json::json;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate completions bash --out tollgate.bash\n  tollgate completions zsh --out _tollgate\n  \
                        tollgate completions fish > tollgate.fish"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
    /// Write to a file instead of standard output
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn completions(args: &CompletionsArgs, mut whole: Command) -> anyhow::Result<ExitCode> {
    let sink = Sink::text(args.out.clone(), "run.json")?;
    let mut script = Vec::new();
    generate(args.shell, &mut whole, "tollgate", &mut script);
    sink.deliver(&String::from_utf8(script)?)
}

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate man > tollgate.1\n  tollgate man --out man1")]
pub(crate) struct ManArgs {
    /// A directory for one page of each command [default: the program's own page on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &ManArgs, mut whole: Command) -> anyhow::Result<ExitCode> {
    // Gives each command its place in the tree: without it a page is called `scan` and not `tollgate fault scan`.
    whole.build();
    let Some(directory) = &args.out else {
        return Sink::text(None, "")?.deliver(&page(&whole, "tollgate")?);
    };
    std::fs::create_dir_all(directory).map_err(|error| {
        Usage::error(format!("--out {} cannot be made a directory: {error}", directory.display()))
    })?;
    for (path, command) in visible(&whole) {
        let name = path.join("-");
        let file = directory.join(format!("{name}.1"));
        Sink::text(Some(file), "run.json")?.deliver(&page(command, &name)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(command: &Command, name: &str) -> anyhow::Result<String> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(name).render(&mut text).context("the page cannot be written")?;
    Ok(String::from_utf8(text)?)
}

/// They are taken from the command line's own description, so that a command without an example shows.
pub(crate) fn examples(mut whole: Command) -> anyhow::Result<ExitCode> {
    whole.build();
    let described = visible(&whole).into_iter().map(|(path, command)| {
        let help = command.get_after_long_help().or(command.get_after_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        let options: Vec<&str> = command.get_arguments().filter_map(|option| option.get_long()).collect();
        json!({ "command": path[1..].join(" "), "options": options, "examples": lines(&help) })
    });
    Sink::text(None, "")?.deliver(format!("{:#}\n", described.collect::<serde_json::Value>()))
}

/// The lines below `Example:` or `Examples:`.
fn lines(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| !matches!(line.trim(), "Example:" | "Examples:"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(str::trim)
        .collect()
}

/// Every command that a user calls, with the words that call it.
fn visible(whole: &Command) -> Vec<(Vec<&str>, &Command)> {
    let mut all = vec![(vec![whole.get_name()], whole)];
    for below in whole.get_subcommands().filter(|it| !it.is_hide_set() && it.get_name() != "help") {
        let deeper = visible(below).into_iter();
        all.extend(deeper.map(|(path, command)| ([vec![whole.get_name()], path].concat(), command)));
    }
    all
}
