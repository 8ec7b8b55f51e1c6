//! `tollgate report`: saved runs as one HTML page.

use crate::args::{StoreArgs, Usage};
use crate::output::{Sink, existing_store, say};
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_record::Run;
use tollgate_record::number::plural;

#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  tollgate report latest\n  tollgate report ./before.json ./after.json -o both.html\n\nHow to \
                  read it: docs/reference/report.md"
)]
pub(crate) struct Args {
    /// Runs: ids, beginnings of one, 'latest', or paths of records; several are drawn over each other
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<String>,
    /// Where to write the page; replaces an existing file
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    out: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
}

/// Reads every run before anything is written, so that a page is of all that was asked for or of nothing.
pub(crate) fn report(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::text(Some(args.out.clone()), "report.html")?;
    sink.keeps(&args.runs)?;
    let store = existing_store(&args.store)?;
    let load = |wanted: &String| store.load(wanted).map_err(Usage::error);
    let runs: Vec<Run> = args.runs.iter().map(load).collect::<anyhow::Result<_>>()?;
    let page = tollgate_report::html(&runs);
    sink.deliver(&page)?;
    let runs = plural(runs.len(), "run", "runs");
    say(format!("{} has {runs} in {} KB", args.out.display(), page.len().div_ceil(1000)));
    Ok(ExitCode::SUCCESS)
}
