//! The command line.

use crate::args::Sampling;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
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
                  2 the command line or an input file is wrong, or nothing can be saved in --store DIR.\n\nExamples:\n  tollgate --quick\n  tollgate run 'thread/*' --cpu 0\n  \
                  tollgate --json --quick > run.json",
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) ladder: Sampling,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure some of the probes
    Run(crate::run::Args),
    /// Context switches around a ring of tasks, over sizes and process counts, each taken apart
    Ring(crate::ring::Args),
    /// What lmbench's lat_ctx prints, called as it is called
    #[command(name = "lat_ctx")]
    LatCtx(crate::lat_ctx::Args),
    /// The user/kernel crossing taken apart: system call, page fault, signal
    Crossing(crate::crossing::Args),
    /// Page faults: what each kind costs, and a scan of a file that does not fit into memory
    Fault(crate::fault::Args),
    /// Fibers, coroutines and threads of other runtimes in one table, and how they grow
    Switch(crate::switch::Args),
    /// The toll of a program: what a command pays at boundaries, as one bill
    Exec(crate::exec::Args),
    /// List every probe, and whether it can run here
    List(crate::list::Args),
    /// What on this host spoils a measurement, and what would fix it (changes nothing)
    Doctor(crate::doctor::Args),
    /// List the saved runs
    Runs(crate::runs::RunsArgs),
    /// Print a saved run
    Show(crate::runs::ShowArgs),
    /// Saved runs as one HTML page that needs nothing else
    Report(crate::report::Args),
    /// The saved runs of this host over time, and where a probe's figure changed
    History(crate::history::Args),
    /// Records of many hosts: which of them differ from their like, as a table and a page
    Fleet(crate::fleet::Args),
    /// What this program's worker understands
    #[command(hide = true)]
    Protocol,
    /// Compare runs: better, worse, same, or too noisy to tell
    Compare(crate::compare::Args),
    /// A saved run in another tool's format: CSV, benchstat, OpenMetrics, a trace and others
    Export(crate::export::Args),
    /// Another tool's results (lmbench, perf bench, hyperfine) as a run beside our own
    Import(crate::import::Args),
    /// The bill of a trap, and programs, on a RISC-V machine in which every instruction is seen
    Riscv(crate::riscv::RiscvArgs),
    /// What a shell needs to complete this command line
    Completions(crate::described::CompletionsArgs),
    /// The manual pages
    Man(crate::described::ManArgs),
    /// The examples of every help as JSON
    #[command(hide = true)]
    Examples,
    /// Answers the requests of the process that started it
    #[command(hide = true)]
    Worker(crate::worker::Args),
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
