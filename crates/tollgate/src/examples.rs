//! `tollgate examples` (hidden): the examples of every help text as JSON, for the test that runs them all.
//!
//! They are taken from the command line's own description, so that a command without an example shows.

use crate::args::Output;
use crate::output::Sink;
use clap::Command;
use serde_json::{Value, json};
use std::process::ExitCode;

pub(crate) fn examples(mut whole: Command) -> anyhow::Result<ExitCode> {
    whole.build();
    let mut commands = Vec::new();
    collect(&whole, &mut Vec::new(), &mut commands);
    Sink::open(&Output { json: true, out: None })?.deliver(&format!("{:#}\n", Value::from(commands)))?;
    Ok(ExitCode::SUCCESS)
}

/// This command and those below it, each with its options and examples.
fn collect(command: &Command, path: &mut Vec<String>, commands: &mut Vec<Value>) {
    let help = command.get_after_long_help().or(command.get_after_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    let options: Vec<&str> = command.get_arguments().filter_map(|option| option.get_long()).collect();
    commands.push(json!({ "command": path.join(" "), "options": options, "examples": lines(&help) }));
    for below in command.get_subcommands() {
        if !below.is_hide_set() && below.get_name() != "help" {
            path.push(below.get_name().to_owned());
            collect(below, path, commands);
            path.pop();
        }
    }
}

/// The lines below `Example:` or `Examples:`.
pub(crate) fn lines(help: &str) -> Vec<&str> {
    help.lines()
        .skip_while(|line| !matches!(line.trim(), "Example:" | "Examples:"))
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(str::trim)
        .collect()
}
