//! `tollgate import`: another tool's results as a run, saved beside our own.

use crate::args::{Destination, Usage};
use crate::session::Session;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use tollgate_lab::plan::one_of;
use tollgate_record::document::{self, DocumentError};
use tollgate_report::import::{IMPORTERS, Importer, MOST_BYTES, Told, import as read};

#[derive(clap::Args)]
#[command(
    after_help = "What a file does not tell is absent: most tools give no interval, and no host. A round trip of two \
                        switches is halved, with a warning that says so.\n\nExamples:\n  tollgate import lmbench.txt\n  \
                        tollgate import matrix.csv --host epyc\n  tollgate import hyperfine.json --json --out run.json --no-save\n  \
                        tollgate import pipe.txt --format perf-bench --tell bench=sched/pipe --tell loops=1000000\n\nWhat is \
                        read, and as what: docs/reference/export.md"
)]
pub(crate) struct Args {
    /// The file, or - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Whose file it is [default: found out]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(IMPORTERS.iter().map(|it| (it.name, it, it.what)).collect::<Vec<_>>()))]
    format: Option<&'static Importer>,
    /// What the file does not tell: loops=N and bench=NAME for `perf bench -f simple`
    #[arg(long, value_name = "KEY=VALUE", value_parser = told)]
    tell: Vec<(String, String)>,
    /// The name of the host that was measured, where the file has none
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    #[command(flatten)]
    destination: Destination,
}

fn told(text: &str) -> Result<(String, String), String> {
    let known = |key: &str| ["loops", "bench"].contains(&key);
    match text.split_once('=') {
        Some((key, value)) if known(key) && !value.is_empty() => Ok((key.into(), value.into())),
        _ => Err("it is loops=N or bench=NAME, for example loops=1000000".into()),
    }
}

pub(crate) fn import(args: &Args) -> anyhow::Result<ExitCode> {
    let name = args.file.display();
    let bytes = contents(&args.file)?;
    refuse_own_record(&args.file, &bytes)?;
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

/// A run of ours is not imported.
fn refuse_own_record(file: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let name = file.display();
    match document::from_json(bytes) {
        Ok(_) => {
            let file = if file.as_os_str() == "-" { Path::new("FILE") } else { file };
            let place = if file.components().count() > 1 { "" } else { "./" };
            Err(Usage::error(format!(
                "{name} is a tollgate run already and needs no import; to print it: tollgate show {place}{}",
                file.display()
            )))
        }
        Err(DocumentError::Empty | DocumentError::NotJson(..) | DocumentError::NotARecord) => Ok(()),
        // Cut JSON may be of another tool.
        Err(DocumentError::Truncated(_)) => Ok(()),
        Err(error) => Err(Usage::error(format!("cannot import {name}: {error}"))),
    }
}

/// The bytes of the file, but no more than any such file has.
fn contents(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = match path.to_str() {
        Some("-") => io::stdin().take(MOST_BYTES + 1).read_to_end(&mut bytes),
        _ => File::open(path).and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes)),
    };
    read.map_err(|error| Usage::error(format!("cannot read {}: {error}", path.display())))?;
    if bytes.len() as u64 > MOST_BYTES {
        let most = MOST_BYTES >> 20;
        let text = format!(
            "{} is larger than {most} MiB, which no results are; is it the right file?",
            path.display()
        );
        return Err(Usage::error(text));
    }
    Ok(bytes)
}
