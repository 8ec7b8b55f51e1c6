//! `tollgate export`: a saved run in another tool's format.

use crate::args::{Output, StoreArgs, Usage};
use crate::output::{Sink, existing_store, say};
use anyhow::Context;
use clap::builder::PossibleValue;
use clap::builder::PossibleValuesParser;
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_report::export::{FORMATS, Format};

#[derive(clap::Args)]
#[command(
    after_help = "Rows that were skipped or failed are absent or marked as such, never zero. What a format cannot \
                        hold is printed on standard error.\n\nExamples:\n  tollgate export latest --format csv\n  \
                        tollgate export latest --format markdown --out table.md\n  \
                        tollgate export ./run.json --format benchstat >> old.txt\n\nHow each format is filled: \
                        docs/reference/export.md"
)]
pub(crate) struct Args {
    /// A run's id, the beginning of one, 'latest', or the path of a record
    #[arg(value_name = "RUN")]
    run: String,
    /// The format
    #[arg(long, value_name = "FORMAT", value_parser = formats())]
    format: String,
    /// Write to a file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    store: StoreArgs,
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| PossibleValue::new(format.name).help(format.what)))
}

pub(crate) fn export(args: &Args) -> anyhow::Result<ExitCode> {
    let output = Output { json: false, out: args.out.clone() };
    let format = Format::named(&args.format).context("the command line let an unknown format through")?;
    let sink = Sink::named(&output, &format!("run.{}", format.extension))?;
    sink.keeps(&[&args.run])?;
    let store = existing_store(&args.store)?;
    let run = store.load(&args.run).map_err(Usage::error)?;
    let exported = format.export(&run)?;
    sink.deliver(&exported.text)?;
    for (row, why) in &exported.left_out {
        say(format!("tollgate: {row} is not in it: {why}"));
    }
    Ok(ExitCode::SUCCESS)
}
