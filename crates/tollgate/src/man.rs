//! `tollgate man`: the manual pages, made from the command line itself.

use crate::args::{Output, Usage};
use crate::output::Sink;
use anyhow::Context;
use clap::Command;
use clap_mangen::Man;
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(clap::Args)]
#[command(after_help = "Examples:\n  tollgate man > tollgate.1\n  tollgate man --out man1")]
pub(crate) struct Args {
    /// A directory for one page of each command [default: the program's own page on standard output]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn man(args: &Args, mut whole: Command) -> anyhow::Result<ExitCode> {
    // Gives each command its place in the tree: without it a page is called `scan` and not `tollgate fault scan`.
    whole.build();
    let Some(directory) = &args.out else {
        let output = Output { json: false, out: None };
        Sink::open(&output)?.deliver(&page(&whole, "tollgate")?)?;
        return Ok(ExitCode::SUCCESS);
    };
    std::fs::create_dir_all(directory).map_err(|error| {
        Usage::error(format!("--out {} cannot be made a directory: {error}", directory.display()))
    })?;
    let mut pages = Vec::new();
    collect(&whole, "tollgate", &mut pages);
    for (name, command) in pages {
        let output = Output { json: false, out: Some(directory.join(format!("{name}.1"))) };
        Sink::open(&output)?.deliver(&page(command, &name)?)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Every command that a user calls, with the name of its page.
fn collect<'a>(command: &'a Command, name: &str, pages: &mut Vec<(String, &'a Command)>) {
    pages.push((name.to_owned(), command));
    for below in command.get_subcommands() {
        if !below.is_hide_set() && below.get_name() != "help" {
            collect(below, &format!("{name}-{}", below.get_name()), pages);
        }
    }
}

fn page(command: &Command, name: &str) -> anyhow::Result<String> {
    let mut text = Vec::new();
    Man::new(command.clone()).title(name).render(&mut text).context("the page cannot be written")?;
    Ok(String::from_utf8(text)?)
}
