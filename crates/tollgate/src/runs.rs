//! The saved runs.

use crate::args::{Detail, Output, StoreArgs, Usage};
use crate::output::{Sink, existing_store, say};
use std::process::ExitCode;
use tollgate_record::parse::day;
use tollgate_record::store::{Entry, Filter};

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate runs\n  tollgate runs --command ring --since 2026-11-01\n  tollgate runs --delete 01M7WS4P"
)]
pub(crate) struct RunsArgs {
    /// Only runs whose command has this text
    #[arg(long, value_name = "TEXT")]
    command: Option<String>,
    /// Only runs of hosts whose name has this text
    #[arg(long, value_name = "TEXT")]
    host: Option<String>,
    /// Only runs of this day (UTC) or later
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    since: Option<String>,
    /// Only runs of this day (UTC) or earlier
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    until: Option<String>,
    /// Delete these runs, by their ids or the beginnings of them
    #[arg(long, value_name = "ID", num_args = 1.., conflicts_with_all = ["command", "host", "since", "until"])]
    delete: Vec<String>,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate show latest\n  tollgate show 01M7WS4P --json\n  tollgate show ./run.json"
)]
pub(crate) struct ShowArgs {
    /// A run's id, the beginning of one, 'latest', or the path of a record
    #[arg(value_name = "ID")]
    id: String,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    detail: Detail,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn runs(args: &RunsArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?;
    let store = existing_store(&args.store)?;
    for id in &args.delete {
        let path = store.remove(id).map_err(Usage::error)?;
        say(format!("deleted {}", path.display()));
    }
    if !args.delete.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let mut entries = store.list()?;
    let (command, host) = (args.command.clone(), args.host.clone());
    let wanted = Filter { command, host, since: args.since.clone(), until: args.until.clone() };
    entries.retain(|entry| wanted.wants(entry));
    let rows: Vec<_> = entries.iter().map(Entry::document).collect();
    sink.deliver_either(&rows, |style| tollgate_report::runs(&entries, style))
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?.with(args.detail);
    let store = existing_store(&args.store)?;
    sink.deliver_run(&store.load(&args.id).map_err(Usage::error)?)
}
