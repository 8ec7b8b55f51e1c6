//! `tollgate import`: another tool's results as a run, saved beside our own.

use crate::args::{Destination, Usage, one_of};
use crate::session::Session;
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_record::file;
use tollgate_report::import::{IMPORTERS, Importer, MOST_BYTES, Told, check_foreign, import as read, told};

#[derive(clap::Args)]
#[command(
    after_help = "Facts that a file does not contain are absent: most tools give no interval, and no host. A round trip \
                        of two switches is halved, with a warning that says so.\n\nExamples:\n  tollgate import lmbench.txt\n  \
                        tollgate import matrix.csv --host epyc\n  tollgate import hyperfine.json --json --out run.json --no-save\n  \
                        tollgate import pipe.txt --format perf-bench --tell bench=sched/pipe --tell loops=1000000\n\nThe \
                        files and their rows: docs/reference/export.md"
)]
pub(crate) struct Args {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The tool that wrote the file [default: detected]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(IMPORTERS.iter().map(|it| (it.name, it, it.what)).collect::<Vec<_>>()))]
    format: Option<&'static Importer>,
    /// A fact that the file does not contain: loops=N and bench=NAME for `perf bench -f simple`, cpus=LIST for a table of cores
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    tell: Vec<(String, String)>,
    /// The name of the host that was measured, if the file has none
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    #[command(flatten)]
    destination: Destination,
}

pub(crate) fn import(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    let read_file = match args.file.to_str() {
        Some("-") => file::read_from(io::stdin(), MOST_BYTES),
        _ => file::read(&args.file, MOST_BYTES),
    };
    let bytes = read_file.map_err(|error| Usage::error(format!("cannot read {name}: {error}")))?;
    check_foreign(&args.file, &bytes).map_err(Usage::error)?;
    let told: Told = args.tell.iter().cloned().collect();
    let (importer, imported) = read(&bytes, args.format, &told)
        .map_err(|error| Usage::error(format!("cannot import {name}: {error}")))?;
    let warnings = imported.warnings(importer);
    let mut host = imported.host;
    if let Some(named) = &args.host {
        host.name.clone_from(named);
    }
    if host.name.is_empty() {
        host.name = "imported".into();
    }
    let mut session = Session::open(&args.destination, host, 0)?;
    session.run.complete = true;
    session.run.results = imported.results;
    session.run.warnings.extend(warnings);
    session.finish()
}
