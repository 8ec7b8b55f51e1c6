//! Developer commands: `cargo xtask <command>`. This file only parses and dispatches.
//!
//! A command is one file with a struct `Args` (its doc comment is the help) that has
//! `fn run(&self) -> anyhow::Result<()>`, and one line in `commands!` below.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "these commands print for the developer")]

mod bench;
mod bless;
mod book;
mod fuzz;
mod guests;
mod page;
mod pictures;
mod python;
mod test;
mod tidy;
mod tool;

use clap::{Parser, Subcommand};
use std::process::ExitCode;
use tollgate_testkit::Missing;

macro_rules! commands {
    ($($name:ident => $($file:ident)::+),+ $(,)?) => {
        #[derive(Subcommand)]
        enum Command {
            $($name($($file)::+::Args)),+
        }

        impl Command {
            fn run(&self) -> anyhow::Result<()> {
                if matches!(self, Self::Rtl(_)) {
                    test::setup::provide(test::setup::RTL)?;
                }
                match self {
                    $(Self::$name(args) => args.run()),+
                }
            }
        }
    };
}

commands! {
    Bench => bench,
    Bless => bless,
    Book => book,
    Cross => machines::cross,
    Dist => machines::dist,
    Fuzz => fuzz,
    Guests => guests,
    Installs => machines::installs,
    Page => page,
    Pictures => pictures,
    Python => python,
    Rtl => rtl,
    Test => test,
    Tidy => tidy,
    Vm => machines::vm,
}

/// Developer commands of tollgate.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::parse().command.run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.is::<Missing>() { ExitCode::from(test::process::MISSING) } else { ExitCode::FAILURE }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_valid_and_each_command_has_help() {
        let mut cli = Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for command in cli.get_subcommands() {
            assert!(command.get_about().is_some(), "{} has no help", command.get_name());
        }
    }
}
