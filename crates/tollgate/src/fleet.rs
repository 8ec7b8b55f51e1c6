//! `tollgate fleet`: the records of many hosts, and which of them differ from similar ones.

use crate::args::{Output, Usage};
use crate::output::{Sink, say};
use std::path::PathBuf;
use std::process::ExitCode;
use tollgate_record::number::plural;

#[derive(clap::Args)]
#[command(
    after_help = "A host is compared with the hosts that have its processor, kernel and mitigations and were measured \
                        with the same effort and clock; at least 3 are needed. Runs of one host are pooled.\n\nExit status: 0 \
                        done; 2 the command line is wrong, or there is no complete run.\n\nExamples:\n  tollgate fleet \
                        records/\n  tollgate fleet records/ --out hosts.html --json > hosts.json\n\nHow a difference is \
                        found: docs/howto/fleet.md"
)]
pub(crate) struct Args {
    /// The directory with the records of all hosts
    #[arg(value_name = "DIR")]
    dir: PathBuf,
    /// Where to write the HTML page; replaces an existing file
    #[arg(short, long, value_name = "FILE", default_value = "fleet.html")]
    out: PathBuf,
    /// Print one JSON document instead of the table
    #[arg(long)]
    json: bool,
    /// Print Markdown, for an issue or a pull request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

pub(crate) fn fleet(args: &Args) -> anyhow::Result<ExitCode> {
    let page = Sink::text(Some(args.out.clone()), "fleet.html")?;
    let (runs, unreadable) = crate::compare::load_directory(&args.dir)?;
    let found = tollgate_judge::fleet(&runs, unreadable).map_err(Usage::error)?;
    let text = tollgate_report::fleet_html(&found);
    page.deliver(&text)?;
    let hosts = plural(found.hosts.len(), "host", "hosts");
    say(format!("{} has {hosts} in {} KB", args.out.display(), text.len().div_ceil(1000)));
    let sink = Sink::open(&Output { json: args.json, markdown: args.markdown, out: None })?;
    sink.deliver_either(&found, |style| tollgate_report::fleet_table(&found, style))
}
