//! `tollgate generate`: completions of shells and manual pages. `tollgate examples` (hidden): the examples of every help as
//! JSON, for the test that runs them all.

use crate::args::Usage;
use crate::output::Sink;
use anyhow::Context;
use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate generate completions bash --out tollgate.bash\n  \
                  tollgate generate completions fish > tollgate.fish\n  tollgate generate man man1")]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// The file that completes this command line in a shell
    #[command(after_help = "Examples:\n  tollgate generate completions bash --out tollgate.bash\n  \
                      tollgate generate completions zsh --out _tollgate\n  tollgate generate completions fish > tollgate.fish")]
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
        /// Write to a file instead of standard output
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// The manual pages, one of each command
    #[command(after_help = "Example:\n  tollgate generate man man1")]
    Man {
        /// The directory for the pages; it is made if it does not exist
        dir: PathBuf,
    },
}

pub(crate) fn generate(args: Args, mut whole: Command) -> anyhow::Result<ExitCode> {
    match args.what {
        What::Completions { shell, out } => {
            let sink = Sink::text(out, "tollgate.bash")?;
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut whole, "tollgate", &mut script);
            sink.deliver(&script)
        }
        What::Man { dir } => man(&dir, whole),
    }
}

fn man(directory: &Path, mut whole: Command) -> anyhow::Result<ExitCode> {
    std::fs::create_dir_all(directory).map_err(|error| {
        let path = directory.display();
        Usage::error(format!(
            "cannot make the directory '{path}': {error}; give a directory that can be written"
        ))
    })?;
    // Gives each command its place in the tree: without it a page is called `scan` and not `tollgate fault scan`.
    whole.build();
    for (path, command) in visible(&whole) {
        let name = path.join("-");
        let file = directory.join(format!("{name}.1"));
        Sink::text(Some(file), "tollgate.1")?.deliver(&page(command, &name)?)?;
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
        json!({ "command": path[1..].join(" "), "options": options, "examples": example_lines(&help) })
    });
    Sink::text(None, "")?.deliver(format!("{:#}\n", described.collect::<serde_json::Value>()))
}

/// The lines of a help below `Example:` or `Examples:`.
pub(crate) fn example_lines(help: &str) -> Vec<&str> {
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
