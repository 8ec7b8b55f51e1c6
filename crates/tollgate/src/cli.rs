//! The command line.

use crate::args::{COMMON, Sampling};
use crate::generate::example_lines;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, ArgAction, CommandFactory, Parser, Subcommand};
use tollgate_record::text::nearest;

#[derive(Parser)]
#[command(
    version,
    max_term_width = 80,
    about = "Measures and explains what it costs to cross an execution boundary",
    long_about = "Measures and explains what it costs to cross an execution boundary: a call, a fiber \
                  switch, a system call, a fault, a signal, a thread or process switch, a wake-up on \
                  another core, a VM exit.\n\nWithout a command it measures every boundary of this machine \
                  and prints one table.",
    after_help = "Exit status: 0 done; 1 something that was asked for failed, or the run could not be saved in its store (without a home \
                  directory it is printed and not saved, which is not a failure); \
                  2 the command line or an input file is wrong, or nothing can be saved in --store DIR.\n\nTopics: tollgate help quote (which figure to quote, and whether a difference is real).\n\nExamples:\n  tollgate --quick\n  tollgate run 'thread/*' --cpu 0\n  \
                  tollgate --json --quick > run.json",
    args_conflicts_with_subcommands = true,
    disable_version_flag = true,
    override_usage = "tollgate [OPTIONS] [COMMAND]"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) ladder: Sampling,
    /// Print the version
    #[arg(short = 'V', long, hide_short_help = true, help_heading = COMMON)]
    pub(crate) version: bool,
    /// With --version: print what this build contains
    #[arg(long, requires = "version", hide_short_help = true, help_heading = COMMON)]
    pub(crate) verbose: bool,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure some of the probes, or compare with another program
    Run(crate::run::Args),
    /// Context switches around a ring of tasks, over sizes and counts
    Ring(crate::ring::Args),
    /// The command line and the output of lmbench's lat_ctx
    #[command(name = "lat_ctx")]
    LatCtx(crate::lat_ctx::Args),
    /// The parts of a system call, a page fault and a signal
    Crossing(crate::crossing::Args),
    /// Page faults by kind, and a scan of a file larger than memory
    Fault(crate::fault::Args),
    /// Fibers, coroutines and threads of other runtimes in one table
    Switch(crate::switch::Args),
    /// The toll of a program: what it pays at boundaries, as one bill
    Exec(crate::exec::Args),
    /// List the probes, and whether each can run here
    List(crate::list::Args),
    /// Find what on this host spoils a measurement; changes nothing
    Doctor(crate::doctor::Args),
    /// Print a saved run; list or delete the saved runs
    Show(crate::show::Args),
    /// Write saved runs as one HTML page
    Report(crate::report::Args),
    /// The saved runs of this host over time, and when a figure changed
    History(crate::history::Args),
    /// Find the hosts among many that differ from similar ones
    Fleet(crate::fleet::Args),
    /// Print the protocol of this program's worker
    #[command(hide = true)]
    Protocol,
    /// Compare runs: better, worse, same, or too noisy to tell
    Compare(crate::compare::Args),
    /// Write a saved run in another format: CSV, benchstat, a trace, ...
    Export(crate::export::Args),
    /// Read results of lmbench, perf bench, hyperfine and others as a run
    Import(crate::import::Args),
    /// Traps, programs and kernels on a simulated RISC-V machine
    Riscv(crate::riscv::RiscvArgs),
    /// Exercises that check themselves, and the lab as a page in a browser
    Lab(crate::lab::LabArgs),
    /// Write completions of a shell, or the manual pages
    Generate(crate::generate::Args),
    /// The examples of every help as JSON
    #[command(hide = true)]
    Examples,
    /// Answers the requests of the process that started it
    #[command(hide = true)]
    Worker(crate::worker::Args),
}

/// The command line. `-h` fits on one screen: it names the options that only `--help` explains, and has few examples.
pub(crate) fn command() -> clap::Command {
    shortened(Cli::command())
}

fn shortened(command: clap::Command) -> clap::Command {
    // At the end of what commands share.
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help_heading(COMMON);
    let help = help
        .help("Print this summary; --help prints all of it")
        .long_help("Print all of this; -h prints a summary");
    let command = command.disable_help_flag(true).arg(help).mut_subcommands(shortened);
    let Some(after) = command.get_after_help().map(ToString::to_string) else { return command };
    let only_long = command.get_arguments().filter(|it| it.is_hide_short_help_set() && !it.is_hide_set());
    let names: Vec<String> = only_long.filter_map(|it| Some(format!("--{}", it.get_long()?))).collect();
    let more = match names.is_empty() {
        true => String::new(),
        false => format!("More options, which --help explains: {}\n\n", names.join(", ")),
    };
    let examples: String = example_lines(&after).iter().take(SHOWN).map(|it| format!("\n  {it}")).collect();
    command.after_long_help(after).after_help(format!("{more}Examples:{examples}"))
}

/// Examples that `-h` prints.
const SHOWN: usize = 2;

/// Commands of earlier versions, and their replacements.
const RENAMED: [(&str, &str); 4] = [
    ("runs", "tollgate show"),
    ("completions", "tollgate generate completions SHELL"),
    ("man", "tollgate generate man DIR"),
    ("profile", "tollgate riscv run PROGRAM --core CORE"),
];

/// A sentence about a command that has another name now.
pub(crate) fn renamed(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let (old, new) = RENAMED.iter().find(|(old, _)| old == name)?;
    Some(format!("'{old}' is now '{new}'"))
}

/// The error of a wrong command line, with the name that was most likely meant and a tip where clap has none.
pub(crate) fn improved(mut error: clap::Error) -> clap::Error {
    if let Some(usage) = crate::lat_ctx::usage() {
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage.into()));
    }
    if let Some(tip) = crate::exec::tip(&error) {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    let Some(ContextValue::String(name)) = error.get(ContextKind::InvalidSubcommand).cloned() else {
        return error;
    };
    let tip = if error.kind() == ErrorKind::ArgumentConflict {
        Some("options come after the command: tollgate run null --quick".into())
    } else if tollgate_boundary::select(std::slice::from_ref(&name)).is_ok() {
        Some(format!("'{name}' names probes; to measure them: tollgate run '{name}'"))
    } else {
        None
    };
    if error.kind() == ErrorKind::InvalidSubcommand {
        let known = siblings(std::env::args().take_while(|word| *word != name));
        let meant = nearest(&name, known.iter().map(String::as_str));
        // Nothing in its place would be an empty tip.
        error.remove(ContextKind::SuggestedSubcommand);
        if let Some(meant) = meant {
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![meant.into()]));
        }
    }
    if let Some(tip) = tip {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// The commands among which the one after these words is.
fn siblings(words: impl Iterator<Item = String>) -> Vec<String> {
    let mut parent = Cli::command();
    for word in words {
        if let Some(command) = parent.find_subcommand(&word) {
            parent = command.clone();
        }
    }
    let known = parent.get_subcommands().filter(|command| !command.is_hide_set());
    known.map(|command| command.get_name().to_owned()).collect()
}

#[test]
fn the_command_line_holds_together() {
    Cli::command().debug_assert();
}
