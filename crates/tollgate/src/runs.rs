//! The saved runs.

use crate::args::{Detail, Output, StoreArgs, Usage};
use crate::output::{Sink, existing_store};
use std::process::ExitCode;
use tollgate_record::store::Entry;

#[derive(clap::Args)]
#[command(after_help = "Example:\n  tollgate runs")]
pub(crate) struct RunsArgs {
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
    let entries = store.list()?;
    let rows: Vec<_> = entries.iter().map(row).collect();
    sink.deliver_either(&rows, |style| tollgate_report::runs(&entries, style))
}

fn row(entry: &Entry) -> serde_json::Value {
    match &entry.content {
        Ok(summary) => serde_json::json!({
            "id": entry.id, "started": summary.started, "command": summary.command, "host": summary.host,
            "measured": summary.measured, "skipped": summary.skipped, "failed": summary.failed,
            "complete": summary.complete,
        }),
        Err(error) => serde_json::json!({ "id": entry.id, "error": error.to_string() }),
    }
}

pub(crate) fn show(args: &ShowArgs) -> anyhow::Result<ExitCode> {
    let sink = Sink::open(&args.output)?.with(args.detail);
    let store = existing_store(&args.store)?;
    sink.deliver_run(&store.load(&args.id).map_err(Usage::error)?)
}
