//! `tollgate export`: a saved run in another tool's format.

use crate::args::{StoreArgs, Usage, one_of};
use crate::output::{Sink, existing_store, say};
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_report::export::{FORMATS, Format};

#[derive(clap::Args)]
#[command(
    after_help = "Rows that were skipped or failed are absent or marked as such, never zero. Rows that a format \
                        cannot represent are named on standard error.\n\nExamples:\n  tollgate export latest --format csv\n  \
                        tollgate export latest --format markdown --out table.md\n  \
                        tollgate export ./run.json --format benchstat >> old.txt\n\nHow each format is filled: \
                        docs/reference/export.md"
)]
pub(crate) struct Args {
    /// A run's id, the beginning of one, 'latest', or the path of a record
    #[arg(value_name = "RUN")]
    run: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = one_of(FORMATS.iter().map(|it| (it.name, it, it.what)).collect::<Vec<_>>()))]
    format: &'static Format,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn export(args: &Args) -> anyhow::Result<ExitCode> {
    let sink = Sink::text(args.out.clone(), &format!("run.{}", args.format.extension))?;
    sink.keeps(&[&args.run])?;
    let run = existing_store(&args.store)?.load(&args.run).map_err(Usage::error)?;
    let exported = args.format.export(&run)?;
    sink.deliver(&exported.bytes)?;
    for (row, why) in &exported.left_out {
        say(format!("tollgate: {row} is not in it: {why}"));
    }
    Ok(ExitCode::SUCCESS)
}
